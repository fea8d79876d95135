//! The linear-cost scheme (eqs. 49–56), here with O(n) additions, too.
//!
//! **Inside a body.** I¹, I², I³ and the unit sphere leave three unknowns y of the eight Δp, Δs. With π = p·p and u the dependent
//! parameter,
//!
//! ```text
//! Δp = c₀ p + Gᵀ y,                                c₀ = I¹/(2π)
//! Δs = σ Δp + w − e_u (ω·y)/(2p_u),                 w_v = I³,  p·w = I² − c₀(σπ + p·s)
//! ```
//!
//! satisfies those equations for every y (the paper solves them for ΔP instead, and keeps four unknowns). Because G Gᵀ = π 1,
//! E ā Gᵀ = −A ã and G z⁺ Gᵀ = (Aᵀz)~ hold for any p, the 3×4 blocks of the paper become 3×3 blocks of vector algebra. For a vector b
//! fixed in the body
//!
//! ```text
//! δ(A b) = A (2c₀ b + 2y × b)
//! δ(Ȧ b) = B_b y + A (ρ b + θ × b),                 ρ = 2I²/π,  θ = (c₀ ω + 2Gw)/π
//! B_b = A { ((b×ω)/π − 2(σ + p·s/π) b)~ + (b·ω)/π 1 − (b − b×g) ωᵀ/π },        g = G_u/p_u
//! ```
//!
//! and the balance of moments F_P Δp + F_S Δs + F_V ΔV = F is, with Q = ω̃I − ψ̃ + σI and c = a − r,
//!
//! ```text
//! J_F y + C z_i + R z_{i+1} = f = F − c₀(2F₀ + Iω̇) + 2QGw,      C = σc̃Aᵀ,  R = σr̃Aᵀ                     (55)
//! J_F = 2(p·ṡ − σ²π) I + 2(p·s − σπ)(ω̃I − ψ̃) − I ω̇~ − (ω̃I − ψ̃) ω̃ + 2 c̃(Aᵀτ_i)~ + 2 r̃(Aᵀτ_{i+1})~ + (Q g) ωᵀ
//! ```
//!
//! F₀ is F where J was taken.
//!
//! **Between the bodies.** The paper's J_R ΔV = E_R (eq. 54) is a full matrix of prefix sums. Take instead the suffix sums
//! z_i = Σ_{k≥i} M_k ΔV_k as unknowns (corrections of the joint forces, over σ) and subtract row i−1 from row i: all sums cancel, and
//! the remaining system is block tridiagonal with local blocks, K = J_F⁻¹,
//!
//! ```text
//! L_i z_{i−1} + D_i z_i + U_i z_{i+1} = e_i
//! D_i = 1/M_i − B_c K C|_i + 1/M_{i−1} − B_r K R|_{i−1}      U_i = −1/M_i − B_c K R|_i      L_i = −1/M_{i−1} − B_r K C|_{i−1}
//! e_i = ᵗĠ_i − t_c|_i − ᵗĠ_{i−1} − t_r|_{i−1},               t_b = B_b K f + A(ρ b + θ × b)
//! ```
//!
//! (terms with index 0 are absent). It is eliminated from the free end to the pivot, in the pass that sums the joint
//! forces, and substituted from the pivot outwards, in the pass that sums the positions: ΔV_i = (z_i − z_{i+1})/M_i, then y,
//! Δp, Δs, and ΔR_i (eq. 56). For σ → ∞ the system is symmetric and positive definite.

use super::euler::{Four, dot, g_columns, g_times, g_transpose_times, rotation};
use super::residual::{Equations, independent};
use super::unknowns::Unknowns;
use super::{Link, Pendulum};
use crate::dense::Lu3;
use crate::matrix::Matrix;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Mat3, Vec3};

/// Workspace of the linear-cost scheme: a fixed number of numbers per body.
#[derive(Clone, Debug)]
pub struct Linear<S> {
    bodies: Vec<Factors<S>>,
    sigma: S,
}

/// Contribution of a body to J, before elimination.
#[derive(Clone, Copy, Debug)]
struct Local<S> {
    known: Known<S>,
    /// B_c.
    inner: Mat3<S>,
    /// B_r.
    outer: Mat3<S>,
    /// J_F.
    moment: Mat3<S>,
    /// C.
    inner_force: Mat3<S>,
    /// R.
    outer_force: Mat3<S>,
}

/// The part of a body's contribution that is needed for every right-hand side.
#[derive(Clone, Copy, Debug)]
struct Known<S> {
    parameters: Four<S>,
    omega: Vec3<S>,
    /// 1/π.
    inverse_square: S,
    /// σπ + p·s.
    stretch: S,
    /// 1/p_u.
    inverse_dependent: S,
    /// A.
    turn: Mat3<S>,
    /// Q.
    gyration: Mat3<S>,
    /// ∂F/∂p p = 2F₀ + Iω̇.
    along: Vec3<S>,
}

/// A body after elimination.
#[derive(Clone, Copy, Debug)]
struct Factors<S> {
    known: Known<S>,
    /// K.
    moment: Lu3<S>,
    /// B_c K and B_r K.
    inner: Mat3<S>,
    outer: Mat3<S>,
    /// D_i after the rows beyond it are eliminated.
    pivot: Lu3<S>,
}

impl<S: Scalar<Mask = bool>> Linear<S> {
    /// A workspace for this number of bodies.
    pub fn new(bodies: usize) -> Self {
        let (zero, vector, matrix) = (S::zero(), Vec3::zero(), Mat3::zero());
        let known = Known {
            parameters: [zero; 4],
            omega: vector,
            inverse_square: zero,
            stretch: zero,
            inverse_dependent: zero,
            turn: matrix,
            gyration: matrix,
            along: vector,
        };
        let factors = Factors {
            known,
            moment: Lu3::identity(),
            inner: matrix,
            outer: matrix,
            pivot: Lu3::identity(),
        };
        Linear {
            bodies: vec![factors; bodies],
            sigma: zero,
        }
    }

    /// Bytes used per body.
    pub fn bytes_per_body() -> usize {
        size_of::<Factors<S>>()
    }

    /// Linearizes at (X, Ẋ) and eliminates; the body without a pivot is the error.
    pub fn factorize<P: Parameter<S>>(
        &mut self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
        x: &[S],
        xdot: &[S],
        sigma: S,
    ) -> Result<(), usize> {
        self.sigma = sigma;
        let gravity: Vec3<S> = pendulum.gravity.lift();
        let n = pendulum.bodies();
        let mut beyond = Vec3::zero();
        let (mut diagonal, mut row_beyond) = (Mat3::zero(), n);
        for body in (0..n).rev() {
            let link: Link<S> = pendulum.rods[body].lift();
            let (own, rate) = (Unknowns::of(x, body), Unknowns::of(xdot, body));
            let force = (rate.velocity - gravity).scale_add(link.rod.mass, beyond);
            let u = dependent[body];
            let local = Local::new(&link, &own, rate.rates, u, (force, beyond), sigma);
            beyond = force;
            let moment = Lu3::new(local.moment).ok_or(body)?;
            let inner = moment.solve_rows(local.inner);
            let outer = moment.solve_rows(local.outer);
            let inverse_mass = link.inverse_mass;
            let mut own = minus_product(plain(inverse_mass), inner, local.inner_force); // D_i, this body's half
            if row_beyond < n {
                // row i+1 now has all its terms, and is subtracted from row i
                let row = &mut self.bodies[row_beyond];
                let full = add_plain(diagonal, inverse_mass);
                let full = minus_product(full, outer, local.outer_force);
                let lower = minus_product(plain(-inverse_mass), outer, local.inner_force); // L_{i+1}
                let upper = minus_product(plain(-inverse_mass), inner, local.outer_force); // U_i
                row.pivot = Lu3::new(full).ok_or(row_beyond)?;
                let solved = Mat3 {
                    x: row.pivot.solve(lower.x),
                    y: row.pivot.solve(lower.y),
                    z: row.pivot.solve(lower.z),
                };
                own = minus_product(own, upper, solved);
            }
            let factors = &mut self.bodies[body];
            factors.known = local.known;
            factors.moment = moment;
            factors.inner = inner;
            factors.outer = outer;
            (diagonal, row_beyond) = (own, body);
        }
        self.bodies[0].pivot = Lu3::new(diagonal).ok_or(0usize)?;
        Ok(())
    }

    /// Linearizes without elimination and discards the result: the part of [`Linear::factorize`] that is counted separately.
    pub(super) fn only_linearize<P: Parameter<S>>(
        &self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
        x: &[S],
        xdot: &[S],
        sigma: S,
    ) {
        let gravity: Vec3<S> = pendulum.gravity.lift();
        let mut beyond = Vec3::zero();
        for body in (0..pendulum.bodies()).rev() {
            let link: Link<S> = pendulum.rods[body].lift();
            let (own, rate) = (Unknowns::of(x, body), Unknowns::of(xdot, body));
            let force = (rate.velocity - gravity).scale_add(link.rod.mass, beyond);
            let u = dependent[body];
            Local::new(&link, &own, rate.rates, u, (force, beyond), sigma);
            beyond = force;
        }
    }

    /// ΔX with J ΔX = E.
    ///
    /// U and L are not stored: U_i z = −z/M_i − B_c K (R z), L_{i+1} z = −z/M_i − B_r K (C z), and R z and C z are needed anyway.
    pub fn solve<P: Parameter<S>>(
        &self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
        e: &[S],
        correction: &mut [S],
    ) {
        let n = self.bodies.len();
        let sigma = self.sigma;
        let two = S::constant(2.0);
        // the corrections hold data for the outward pass: D⁻¹e in ΔV, w in Δp, f and c₀ in Δs
        let mut right = Vec3::zero();
        for body in (0..n).rev() {
            let factors = &self.bodies[body];
            let turn = factors.known.turn;
            let link: Link<S> = pendulum.rods[body].lift();
            let equations = Equations::of(e, body);
            let part = self.particular(body, &equations, dependent[body]);
            let (mut moment, mut own) = (part.moment, equations.joint_rate);
            if body + 1 < n {
                let outer = factors.outer * moment + turn * part.carry(link.rod.r);
                let row = &self.bodies[body + 1];
                let reduced = row.pivot.solve(right - equations.joint_rate - outer);
                let at = super::UNKNOWNS * (body + 1) + 3;
                correction[at..at + 3].copy_from_slice(&reduced.to_array());
                // − U_i D⁻¹e
                moment -= link.rod.r.cross(turn.transpose_times(reduced)) * sigma;
                own = reduced.scale_add(link.inverse_mass, own);
            }
            right = own - factors.inner * moment - turn * part.carry(link.c);
            let Vec3 { x, y, z } = part.moment;
            Unknowns {
                position: Vec3::zero(),
                velocity: Vec3::zero(),
                parameters: part.drift,
                rates: [x, y, z, part.stretch],
            }
            .store(correction, body);
        }
        let mut push = self.bodies[0].pivot.solve(right); // z_1
        let mut reach = Vec3::zero();
        for body in 0..n {
            let factors = &self.bodies[body];
            let known = &factors.known;
            let turn = known.turn;
            let link: Link<S> = pendulum.rods[body].lift();
            let part = Unknowns::of(correction, body);
            let [fx, fy, fz, stretch] = part.rates;
            let pushed = link.c.cross(turn.transpose_times(push)) * sigma; // C z_i
            let mut right = Vec3::new(fx, fy, fz) - pushed;
            let mut next = Vec3::zero();
            if body + 1 < n {
                // z_{i+1} = D⁻¹e − D⁻¹ L z_i
                let reduced = Unknowns::of(correction, body + 1).velocity;
                let lower = (factors.outer * pushed) + push * link.inverse_mass;
                next = reduced + self.bodies[body + 1].pivot.solve(lower);
                right -= link.rod.r.cross(turn.transpose_times(next)) * sigma;
            }
            let y = factors.moment.solve(right); //                                                     (55)
            let turned = g_transpose_times(known.parameters, y);
            let (mut dp, mut ds) = ([S::zero(); 4], [S::zero(); 4]);
            for k in 0..4 {
                dp[k] = stretch.mul_add(known.parameters[k], turned[k]);
                ds[k] = sigma.mul_add(dp[k], part.parameters[k]);
            }
            let u = dependent[body] as usize;
            let half = known.inverse_dependent * S::constant(0.5);
            ds[u] -= known.omega.dot(y) * half;
            // δ(A b) = A (2c₀ b + 2y × b)
            let (double, twice) = (stretch * two, y * two);
            reach += turn * twice.cross_add(link.c, link.c * double);
            Unknowns {
                position: Equations::of(e, body).joint - reach, //                                      (56)
                velocity: (push - next) * link.inverse_mass,
                parameters: dp,
                rates: ds,
            }
            .store(correction, body);
            reach += turn * twice.cross_add(link.rod.r, link.rod.r * double);
            push = next;
        }
    }

    /// The corrections of a body for y = 0, and f.
    #[inline(always)]
    fn particular(&self, body: usize, equations: &Equations<S>, u: u8) -> Particular<S> {
        let known = &self.bodies[body].known;
        let two = S::constant(2.0);
        let p = known.parameters;
        let stretch = equations.length * (known.inverse_square * S::constant(0.5)); // c₀
        let mut last = (-stretch).mul_add(known.stretch, equations.length_rate); // p·w
        let mut drift = [S::zero(); 4];
        for (k, v) in independent(u).into_iter().enumerate() {
            drift[v] = equations.rates[k];
            last = (-p[v]).mul_add(equations.rates[k], last);
        }
        drift[u as usize] = last * known.inverse_dependent;
        let turned = g_times(p, drift) * two; // 2Gw
        let moment = known
            .gyration
            .times_add(turned, known.along.scale_add(-stretch, equations.moment));
        Particular {
            stretch,
            drift,
            moment,
            swell: equations.length_rate * (two * known.inverse_square),
            turn: known.omega.scale_add(stretch, turned) * known.inverse_square,
        }
    }

    /// J_R and E_R of eq. 52 in full, for the ΔV of all bodies; for inspection, not for solving.
    pub fn velocity_system<P: Parameter<S>>(
        &self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
        e: &[S],
    ) -> VelocitySystem<S> {
        let n = self.bodies.len();
        let mut matrix = Matrix::identity(3 * n);
        let mut right = vec![S::zero(); 3 * n];
        // B K F_V of the bodies before i, for every column
        let mut sums = vec![Mat3::zero(); n];
        let mut reach = Vec3::zero();
        for i in 0..n {
            let factors = &self.bodies[i];
            let turn = factors.known.turn;
            let link: Link<S> = pendulum.rods[i].lift();
            let equations = Equations::of(e, i);
            let part = self.particular(i, &equations, dependent[i]);
            let inner = factors.inner * part.moment + turn * part.carry(link.c);
            let outer = factors.outer * part.moment + turn * part.carry(link.rod.r);
            let own = equations.joint_rate - (reach + inner);
            right[3 * i..3 * i + 3].copy_from_slice(&own.to_array());
            reach += inner + outer;
            let back = turn.transpose() * self.sigma;
            for j in 0..n {
                let mass: S = pendulum.rods[j].rod.mass.lift();
                let pushed = if j < i {
                    Mat3::zero()
                } else if j == i {
                    back.cross_columns(link.c) * mass
                } else {
                    back.cross_columns(link.rod.a) * mass
                };
                let entry = sums[j] + factors.inner * pushed;
                for (row, entries) in entry.rows().into_iter().enumerate() {
                    for (column, x) in entries.into_iter().enumerate() {
                        matrix[(3 * i + row, 3 * j + column)] -= x;
                    }
                }
                sums[j] = entry + factors.outer * pushed;
            }
        }
        VelocitySystem { matrix, right }
    }
}

/// J_R ΔV = E_R, eq. 54.
#[derive(Clone, Debug)]
pub struct VelocitySystem<S> {
    /// J_R.
    pub matrix: Matrix<S>,
    /// E_R.
    pub right: Vec<S>,
}

/// A solution of I¹, I², I³ in a body.
struct Particular<S> {
    /// c₀.
    stretch: S,
    /// w.
    drift: Four<S>,
    /// f.
    moment: Vec3<S>,
    /// ρ.
    swell: S,
    /// θ.
    turn: Vec3<S>,
}

impl<S: Scalar> Particular<S> {
    /// ρ b + θ × b.
    #[inline(always)]
    fn carry(&self, b: Vec3<S>) -> Vec3<S> {
        self.turn.cross_add(b, b * self.swell)
    }
}

impl<S: Scalar<Mask = bool>> Local<S> {
    #[inline(always)]
    fn new(
        link: &Link<S>,
        own: &Unknowns<S>,
        sdot: Four<S>,
        u: u8,
        (force, beyond): (Vec3<S>, Vec3<S>),
        sigma: S,
    ) -> Self {
        let two = S::constant(2.0);
        let (p, s) = (own.parameters, own.rates);
        let (c, r) = (link.c, link.rod.r);
        let inertia = link.rod.inertia.full();
        let turn = rotation(p);
        let omega = g_times(p, s) * two;
        let omega_rate = g_times(p, sdot) * two;
        let square = dot(p, p);
        let inverse_square = square.recip();
        let stretch = sigma.mul_add(square, dot(p, s));
        let inverse_dependent = p[u as usize].recip();
        let g = g_columns(p)[u as usize] * inverse_dependent;

        let psi = inertia * omega;
        let whirl = inertia.cross_columns(omega) - Mat3::skew(psi); // ω̃I − ψ̃
        let gyration = whirl + inertia * sigma; // Q
        let inertial = inertia * omega_rate;
        let (pull, pull_beyond) = (turn.transpose_times(force), turn.transpose_times(beyond));
        // F₀ = c × Aᵀτ_i + r × Aᵀτ_{i+1} − Iω̇ − ω × ψ
        let balance = c.cross_add(pull, r.cross_add(pull_beyond, -omega.cross(psi))) - inertial;
        let along = balance * two + inertial;

        // J_F
        let of_inertia = two * (dot(p, sdot) - sigma * sigma * square);
        let of_whirl = two * (dot(p, s) - sigma * square);
        let turned = cross_rows(inertia, omega_rate) + cross_rows(whirl, omega);
        let (twice, twice_beyond) = (pull * two, pull_beyond * two);
        let carried = outer_product(twice, c) + outer_product(twice_beyond, r);
        let trace = -(c.dot(twice) + r.dot(twice_beyond));
        let plain = inertia * of_inertia + whirl * of_whirl - turned + carried;
        let moment = add_outer(add_plain(plain, trace), gyration * g, omega);

        let scaled_omega = omega * inverse_square;
        let rate = two * stretch * inverse_square;
        let back = turn.transpose() * sigma;
        Local {
            inner: joint_rate_block(turn, c, scaled_omega, rate, g),
            outer: joint_rate_block(turn, r, scaled_omega, rate, g),
            moment,
            inner_force: back.cross_columns(c),
            outer_force: back.cross_columns(r),
            known: Known {
                parameters: p,
                omega,
                inverse_square,
                stretch,
                inverse_dependent,
                turn,
                gyration,
                along,
            },
        }
    }
}

/// B_b; `omega` is ω/π, `rate` is 2(σ + p·s/π).
#[inline(always)]
fn joint_rate_block<S: Scalar>(
    turn: Mat3<S>,
    b: Vec3<S>,
    omega: Vec3<S>,
    rate: S,
    g: Vec3<S>,
) -> Mat3<S> {
    let axis = b.cross_add(omega, b * -rate);
    let skewed = cross_rows(turn, axis) + turn * b.dot(omega);
    add_outer(skewed, turn * (b.cross(g) - b), omega)
}

/// M x̃: every row crossed with x.
#[inline(always)]
fn cross_rows<S: Scalar>(m: Mat3<S>, x: Vec3<S>) -> Mat3<S> {
    Mat3 {
        x: m.y.scale_add(x.z, m.z * -x.y),
        y: m.z.scale_add(x.x, m.x * -x.z),
        z: m.x.scale_add(x.y, m.y * -x.x),
    }
}

/// a bᵀ.
#[inline(always)]
fn outer_product<S: Scalar>(a: Vec3<S>, b: Vec3<S>) -> Mat3<S> {
    Mat3 {
        x: a * b.x,
        y: a * b.y,
        z: a * b.z,
    }
}

/// M + a bᵀ.
#[inline(always)]
fn add_outer<S: Scalar>(m: Mat3<S>, a: Vec3<S>, b: Vec3<S>) -> Mat3<S> {
    Mat3 {
        x: a.scale_add(b.x, m.x),
        y: a.scale_add(b.y, m.y),
        z: a.scale_add(b.z, m.z),
    }
}

/// x 1.
#[inline(always)]
fn plain<S: Scalar>(x: S) -> Mat3<S> {
    add_plain(Mat3::zero(), x)
}

/// M + x 1.
#[inline(always)]
fn add_plain<S: Scalar>(m: Mat3<S>, x: S) -> Mat3<S> {
    Mat3 {
        x: Vec3::new(m.x.x + x, m.x.y, m.x.z),
        y: Vec3::new(m.y.x, m.y.y + x, m.y.z),
        z: Vec3::new(m.z.x, m.z.y, m.z.z + x),
    }
}

/// M − A B.
#[inline(always)]
fn minus_product<S: Scalar>(m: Mat3<S>, a: Mat3<S>, b: Mat3<S>) -> Mat3<S> {
    Mat3 {
        x: a.times_add(-b.x, m.x),
        y: a.times_add(-b.y, m.y),
        z: a.times_add(-b.z, m.z),
    }
}
