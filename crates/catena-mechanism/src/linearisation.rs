//! An equilibrium, the linear equations of motion about it, and its modes; for trees and closed chains.
//!
//! At rest (v = 0) under constant efforts τ the accelerations v̇(q) vanish. With δ the increments of [`State::step`] (for a
//! quaternion: a small rotation about the child's axes), y those of the independent freedoms and δ = Z y, J Z = 0:
//!
//! ```text
//! ÿ = (∂v̇/∂q Z) y + (∂v̇/∂v Z) ẏ + (∂v̇/∂τ) δτ             rows of the independent freedoms              (1)
//! M ÿ + D ẏ + K y = Zᵀ δτ,   M = Zᵀ I Z                    the same, multiplied by M                    (2)
//! x = (y; ẏ):   ẋ = A x + B δτ,   A = [0 1; −M⁻¹K −M⁻¹D],   B = [0; M⁻¹Zᵀ]                               (3)
//! A x = λ x,   y(t) = Re(x e^(λ t))                         modes                                        (4)
//! ```
//!
//! In a tree Z = 1. In a closed chain the derivatives are those of the accelerations with their multipliers, so K contains the contribution of
//! the loop loads. The independent freedoms are chosen by pivoting: those on which the others depend least strongly.
//!
//! The equilibrium is found by Newton's method on the residual efforts, with Levenberg-Marquardt damping. A guess from which it does not converge is
//! replaced by the position where the mechanism settles in overdamped motion, then by others around the guess. Where D = 0 and K is symmetric the
//! modes are those of K x = ω² M x, with real ω²; otherwise those of A.

use crate::dense::RANK_TOLERANCE;
use crate::linear::{Mat, Svd};
use catena::ClosedChain;
use catena::dense::Lu;
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::random::Random;
use catena::residual::{larger, largest, largest_of, within};
use catena::{Base, Dynamics, Matrix, Model, State};

/// Newton iterations from one guess.
const ITERATIONS: usize = 100;
/// Steps of the overdamped motion, and the largest, in rad or m.
const SETTLING: usize = 400;
const SLOW: f64 = 0.2;
/// Random guesses in addition to the given one, and their distance from it, in rad or m.
const GUESSES: u64 = 12;
const REACHES: [f64; 2] = [0.1, 0.7];
/// Residual efforts at an equilibrium, relative to those of a displacement by 1 rad or m.
const EQUILIBRIUM: f64 = 1e-9;
/// ω² below this fraction of the largest is zero, a free motion, in the symmetric problem.
const FREE: f64 = 1e-10;
/// ω² below this fraction of the terms whose difference it is counts as round-off.
const ROUNDING: f64 = 1e-15;
/// |λ| below this fraction of the largest is zero in the general problem: a double zero is found to √ε only.
const FREE_GENERAL: f64 = 1e-7;
/// |D| and |K − Kᵀ| below this fraction of their scale are zero.
const SYMMETRIC: f64 = 1e-9;
/// Step of the difference quotients, in rad or m and rad/s or m/s.
const STEP: f64 = 1e-5;

/// The linear equations of motion about an equilibrium.
#[derive(Clone, Debug)]
pub struct Linearisation {
    model: Model,
    /// The equilibrium, at rest.
    pub state: State,
    /// The efforts that act there.
    pub effort: Vec<f64>,
    /// Largest residual acceleration, m/s² or rad/s².
    pub residual: f64,
    /// Newton iterations.
    pub iterations: usize,
    /// Whether the guess itself led to it.
    pub from_guess: bool,
    /// The freedoms of y, ascending.
    pub independent: Vec<usize>,
    /// Z, nv × f.
    pub spread: Matrix,
    /// M, D and K, f × f.
    pub mass: Matrix,
    /// D.
    pub damping: Matrix,
    /// K.
    pub stiffness: Matrix,
    /// A, 2f × 2f.
    pub a: Matrix,
    /// B, 2f × nv.
    pub b: Matrix,
}

/// A pair of conjugate eigenvalues, or a real one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Real and imaginary part (not negative) of λ, 1/s.
    pub value: [f64; 2],
    /// Amplitudes of all freedoms, real and imaginary part; the largest is 1.
    pub shape: Vec<[f64; 2]>,
}

/// Behaviour of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// λ = 0: a motion that nothing opposes.
    Free,
    /// It oscillates with constant amplitude.
    Undamped,
    /// It oscillates and decays.
    Damped,
    /// It decays without oscillation.
    Decaying,
    /// It grows, with or without oscillation.
    Growing,
}

impl Mode {
    /// |λ|, the natural angular frequency, rad/s.
    pub fn frequency(&self) -> f64 {
        elementary::hypot(self.value[0], self.value[1])
    }

    /// −Re λ / |λ|: 0 undamped, 1 no oscillation, negative for one that grows; none for λ = 0.
    pub fn damping_ratio(&self) -> Option<f64> {
        let frequency = self.frequency();
        (frequency > 0.0).then(|| -self.value[0] / frequency + 0.0)
    }

    /// Its behaviour. Real parts below 10⁻⁹ |λ| are round-off.
    pub fn behaviour(&self) -> Behaviour {
        let [real, imaginary] = self.value;
        match self.damping_ratio() {
            None => Behaviour::Free,
            Some(ratio) if ratio.abs() < 1e-9 => Behaviour::Undamped,
            Some(_) if real > 0.0 => Behaviour::Growing,
            Some(_) if imaginary > 0.0 => Behaviour::Damped,
            Some(_) => Behaviour::Decaying,
        }
    }
}

/// All modes, slowest first, and how well they solve the equations.
#[derive(Clone, Debug)]
pub struct Modes {
    /// One per conjugate pair, per real λ, and per free motion.
    pub list: Vec<Mode>,
    /// Whether they were found from K x = ω² M x.
    pub symmetric: bool,
    /// Largest |A x − λ x| relative to |A| |x|; of the symmetric problem |K x − ω² M x|, relative to the terms of K x.
    pub residual: f64,
}

/// Accelerations, their derivatives, and the motions that the constraints allow, at a state at rest.
struct Local {
    vdot: Vec<f64>,
    derivatives: [Matrix; 3],
    inertia: Matrix,
    spread: Mat,
    independent: Vec<usize>,
}

/// Residual efforts at a state at rest, their slope ∂r/∂y, the diagonal of M, and the motions that the constraints allow.
struct Statics {
    left: Vec<f64>,
    slope: Mat,
    inertia: Vec<f64>,
    spread: Mat,
    independent: Vec<usize>,
}

/// The dynamics of a tree or of a closed chain.
enum Motion {
    Tree(Box<Dynamics>),
    Closed(Box<ClosedChain>),
}

impl Motion {
    fn new(model: &Model) -> Self {
        match model.constraints().is_empty() {
            true => Motion::Tree(Box::new(Dynamics::new(model))),
            false => Motion::Closed(Box::new(ClosedChain::new(model))),
        }
    }

    fn model(&self) -> &Model {
        match self {
            Motion::Tree(dynamics) => dynamics.model(),
            Motion::Closed(chain) => chain.model(),
        }
    }

    /// A state at rest that satisfies the constraints.
    fn closed(&mut self, mut state: State, held: &[usize]) -> Result<State> {
        state.v.fill(0.0);
        match self {
            Motion::Tree(_) => Ok(state),
            Motion::Closed(chain) => {
                let rows = chain.rows(0.0, &state)?;
                if largest(&rows.rate) > 0.0 {
                    return Err(Error::new(
                        ErrorKind::Input,
                        format!(
                            "`{}` has drivers that move: it has no equilibrium",
                            chain.model().name()
                        ),
                    )
                    .hint("leave the drivers out, or make them constant"));
                }
                if chain.require_closed(0.0, &state).is_err() {
                    state = chain.assemble(0.0, &state, held)?.state;
                    state.v.fill(0.0);
                }
                Ok(state)
            }
        }
    }

    fn accelerations(&mut self, state: &State, effort: &[f64]) -> Result<Vec<f64>> {
        Ok(match self {
            Motion::Tree(dynamics) => dynamics.forward(state, effort, &[])?.to_vec(),
            Motion::Closed(chain) => {
                let motion = chain.forward(0.0, state, effort, &[])?;
                motion.accelerations.to_vec()
            }
        })
    }

    /// The state moved by δ = Z y, loops closed.
    fn moved(&mut self, state: &State, spread: &Mat, y: &[f64]) -> Result<State> {
        let step: Vec<f64> = (0..spread.nrows())
            .map(|k| y.iter().enumerate().map(|(j, y)| spread[(k, j)] * y).sum())
            .collect();
        let mut next = state.clone();
        next.step(self.model(), &step);
        self.closed(next, &[])
    }

    /// Residual efforts at a state at rest: for a tree exactly, r = τ − ID(q, 0, 0); for a closed chain r = M ÿ, whose slope is that at
    /// an equilibrium.
    fn statics(&mut self, state: &State, effort: &[f64]) -> Result<Statics> {
        match self {
            Motion::Tree(dynamics) => {
                let still = vec![0.0; effort.len()];
                let inertia = dynamics.inertia(state)?;
                let inertia = (0..effort.len()).map(|k| inertia[(k, k)]).collect();
                let needed = dynamics.inverse(state, &still, &[])?;
                let left = effort.iter().zip(needed).map(|(a, b)| a - b).collect();
                let slope = &dynamics.inverse_derivatives(state, &still, &[])?.dq;
                let nv = still.len();
                Ok(Statics {
                    left,
                    slope: Mat::from_fn(nv, nv, |i, j| -slope[(i, j)]),
                    inertia,
                    spread: Mat::identity(nv),
                    independent: (0..nv).collect(),
                })
            }
            Motion::Closed(_) => {
                let local = self.local(state, effort)?;
                let (mass, f) = (local.mass(), local.independent.len());
                let rates = local.left();
                Ok(Statics {
                    left: (0..f)
                        .map(|i| (0..f).map(|j| mass[(i, j)] * rates[j]).sum())
                        .collect(),
                    slope: &mass * &local.reduced(0),
                    inertia: (0..f).map(|k| mass[(k, k)]).collect(),
                    spread: local.spread,
                    independent: local.independent,
                })
            }
        }
    }

    fn local(&mut self, state: &State, effort: &[f64]) -> Result<Local> {
        match self {
            Motion::Tree(dynamics) => {
                let inertia = dynamics.inertia(state)?.clone();
                let found = dynamics.forward_derivatives(state, effort, &[])?;
                let nv = found.vdot.len();
                Ok(Local {
                    vdot: found.vdot.clone(),
                    derivatives: [found.dq.clone(), found.dv.clone(), found.dtau.clone()],
                    inertia,
                    spread: Mat::identity(nv),
                    independent: (0..nv).collect(),
                })
            }
            Motion::Closed(chain) => {
                let found = chain.derivatives(0.0, state, effort, &[])?;
                let nv = found.vdot.len();
                let rows = chain.rows(0.0, state)?.dense(nv);
                let (spread, independent) = allowed_motions(&rows, nv)?;
                Ok(Local {
                    vdot: found.vdot,
                    derivatives: found.accelerations,
                    inertia: chain.tree().inertia(state)?.clone(),
                    spread,
                    independent,
                })
            }
        }
    }
}

/// Z with J Z = 0 and ones in the rows of the independent freedoms, and which these are.
pub(crate) fn allowed_motions(rows: &Matrix, nv: usize) -> Result<(Mat, Vec<usize>)> {
    // rows without effect: conditions that the joints already satisfy
    let least = RANK_TOLERANCE * largest(rows.as_slice()).max(1.0);
    let kept: Vec<usize> = (0..rows.rows())
        .filter(|&i| !within(largest(rows.row(i)), least))
        .collect();
    if kept.is_empty() {
        return Ok((Mat::identity(nv), (0..nv).collect()));
    }
    let transposed = Mat::from_fn(nv, kept.len(), |i, j| rows[(kept[j], i)]);
    let decomposed = transposed.pivoted_qr();
    let rank = decomposed.rank(RANK_TOLERANCE);
    let free = nv - rank;
    let z = decomposed.q().subcols(rank, free);
    let mut independent = z.transpose().pivoted_qr().order()[..free].to_vec();
    independent.sort_unstable();
    let spread = with_ones_at(&z, &independent);
    let bad = (0..nv).any(|i| (0..free).any(|j| !spread[(i, j)].is_finite()));
    match bad {
        true => Err(Error::new(
            ErrorKind::Singular,
            "the constraints leave no set of independent freedoms at this state",
        )
        .hint("`catena doctor` says what is wrong with the mechanism")),
        false => Ok((spread, independent)),
    }
}

/// Z own⁻¹, where `own` are these rows of Z; non-finite numbers if they are dependent.
pub(crate) fn with_ones_at(z: &Mat, rows: &[usize]) -> Mat {
    let free = rows.len();
    let mut lu = Lu::new(free);
    for i in 0..free {
        for j in 0..free {
            lu.matrix_mut()[(i, j)] = z[(rows[j], i)]; // own⁻ᵀ Zᵀ
        }
    }
    let is_regular = lu.factorize().is_ok();
    let mut spread = Mat::zeros(z.nrows(), free);
    let mut found = vec![f64::NAN; free];
    for i in 0..z.nrows() {
        if is_regular {
            lu.solve(z.row(i), &mut found);
        }
        for (j, x) in found.iter().enumerate() {
            spread[(i, j)] = *x;
        }
    }
    spread
}

impl Local {
    /// The rows of the independent freedoms of ∂v̇/∂… Z.
    fn reduced(&self, which: usize) -> Mat {
        let (from, nv) = (&self.derivatives[which], self.vdot.len());
        Mat::from_fn(self.independent.len(), self.spread.ncols(), |i, j| {
            (0..nv)
                .map(|k| from[(self.independent[i], k)] * self.spread[(k, j)])
                .sum()
        })
    }

    /// M = Zᵀ I Z.
    fn mass(&self) -> Mat {
        let nv = self.vdot.len();
        let inertia = Mat::from_fn(nv, nv, |i, j| self.inertia[(i, j)]);
        &self.spread.transpose() * &(&inertia * &self.spread)
    }

    /// Accelerations of the independent freedoms.
    fn left(&self) -> Vec<f64> {
        self.independent.iter().map(|&k| self.vdot[k]).collect()
    }
}

/// An equilibrium near a guess, or the guess that came nearest to one.
struct Search {
    state: State,
    /// Residual efforts at the independent freedoms.
    left: Vec<f64>,
    independent: Vec<usize>,
    /// Stiffness: efforts per rad or m.
    scale: f64,
    iterations: usize,
}

impl Search {
    fn succeeded(&self) -> bool {
        largest(&self.left) <= EQUILIBRIUM * self.scale
    }
}

impl Linearisation {
    /// Finds an equilibrium near a guess under these efforts, and linearises about it. Velocities of the guess are not used. Dry friction
    /// is left out: its derivative is zero.
    pub fn new(model: &Model, guess: &State, effort: &[f64]) -> Result<Self> {
        refuse_velocity_rows(model)?;
        let mut motion = Motion::new(model);
        let start = prepared(&mut motion, guess)?;
        let first = search(&mut motion, start.clone(), effort)?;
        let (mut best, mut from_guess) = (first, true);
        if !best.succeeded() {
            let found = settle(&mut motion, start, effort)
                .and_then(|settled| search(&mut motion, settled, effort));
            if let Ok(found) = found
                && found.succeeded()
            {
                (best, from_guess) = (found, false);
            }
        }
        if !best.succeeded() {
            'others: for (level, reach) in REACHES.into_iter().enumerate() {
                for seed in 0..GUESSES {
                    let mut random = Random::new(1 + seed + GUESSES * level as u64);
                    let step: Vec<f64> = (0..model.nv())
                        .map(|_| random.uniform(-reach, reach))
                        .collect();
                    let mut other = guess.clone();
                    other.step(model, &step);
                    // a guess that cannot be closed, or is singular, is skipped
                    let found = motion
                        .closed(other, &[])
                        .and_then(|other| search(&mut motion, other, effort));
                    match found {
                        Ok(found) if found.succeeded() => {
                            (best, from_guess) = (found, false);
                            break 'others;
                        }
                        _ => {}
                    }
                }
            }
        }
        if !best.succeeded() {
            return Err(no_equilibrium(model, &best));
        }
        let mut made = about(&mut motion, best.state, effort)?;
        (made.iterations, made.from_guess) = (best.iterations, from_guess);
        Ok(made)
    }

    /// Linearises about a state at rest, under the efforts that hold it.
    pub fn held(model: &Model, state: &State) -> Result<Self> {
        refuse_velocity_rows(model)?;
        let mut motion = Motion::new(model);
        let state = prepared(&mut motion, state)?;
        let effort = match &mut motion {
            Motion::Tree(dynamics) => dynamics.gravity(&state)?.to_vec(),
            // the efforts that hold the open tree leave no loads in the loops
            Motion::Closed(chain) => chain.tree().gravity(&state)?.to_vec(),
        };
        about(&mut motion, state, &effort)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Size of the terms that cancel in M⁻¹ K: accelerations that the efforts alone would give, 1/s² per rad or m.
    fn terms(&self) -> f64 {
        largest(self.b.as_slice()) * largest(&self.effort)
    }

    /// Number of independent freedoms f.
    pub fn freedoms(&self) -> usize {
        self.independent.len()
    }

    /// The state displaced along a mode by its shape times an amplitude, loops closed, at rest.
    pub fn displaced(&self, mode: &Mode, amplitude: f64) -> Result<State> {
        let step: Vec<f64> = mode.shape.iter().map(|x| amplitude * x[0]).collect();
        let mut state = self.state.clone();
        state.step(&self.model, &step);
        Motion::new(&self.model).closed(state, &self.independent)
    }

    /// Largest difference between A and central differences of the accelerations, relative to the largest entries of its two
    /// blocks; none with dry friction, which jumps at v = 0.
    pub fn by_differences(&self) -> Result<Option<f64>> {
        let (model, f) = (&self.model, self.freedoms());
        if (0..model.nv()).any(|k| model.dof(k).friction != 0.0) {
            return Ok(None);
        }
        // 1/s² and 1/s: a block that is small compared with the other one is measured against that
        let size = |block: usize| {
            let entries = (0..f).flat_map(|i| (0..f).map(move |j| (f + i, block * f + j)));
            largest_of(entries.map(|at| self.a[at].abs()))
        };
        let (slope, rate) = (size(0), size(1));
        let slope = slope.max(self.terms());
        let scales = [slope.max(rate * rate), rate.max(slope.sqrt())];
        let scales = scales.map(|x| if x > 0.0 { x } else { 1.0 });
        let mut motion = Motion::new(model);
        let mut worst = 0.0f64;
        for block in 0..2 {
            let mut differences = Mat::zeros(f, f);
            for j in 0..f {
                for sign in [1.0, -1.0] {
                    let step: Vec<f64> = (0..model.nv())
                        .map(|k| sign * STEP * self.spread[(k, j)])
                        .collect();
                    let mut state = self.state.clone();
                    if block == 0 {
                        state.step(model, &step);
                        if let Motion::Closed(chain) = &mut motion {
                            let closed = chain.assemble(0.0, &state, &self.independent)?;
                            state = closed.state;
                            state.v.fill(0.0);
                        }
                    } else {
                        state.v = step;
                    }
                    let found = motion.accelerations(&state, &self.effort)?;
                    for (i, &k) in self.independent.iter().enumerate() {
                        differences[(i, j)] += sign * found[k] / (2.0 * STEP);
                    }
                }
            }
            let entry = |i: usize, j: usize| self.a[(f + i, block * f + j)];
            let pairs = || (0..f).flat_map(|i| (0..f).map(move |j| (i, j)));
            let off = largest_of(pairs().map(|(i, j)| (entry(i, j) - differences[(i, j)]).abs()));
            let scale = scales[block];
            worst = larger(worst, off / scale);
        }
        Ok(Some(worst))
    }

    /// Eigenvalues and mode shapes.
    pub fn modes(&self) -> Result<Modes> {
        let f = self.freedoms();
        if f == 0 {
            return Ok(Modes {
                list: Vec::new(),
                symmetric: true,
                residual: 0.0,
            });
        }
        let stiffness = largest(self.stiffness.as_slice());
        let mass = largest(self.mass.as_slice());
        let skew = largest_of((0..f).flat_map(|i| {
            (0..i).map(move |j| (self.stiffness[(i, j)] - self.stiffness[(j, i)]).abs())
        }));
        let damped = largest(self.damping.as_slice()) > SYMMETRIC * (stiffness * mass).sqrt();
        let mut modes = match damped || skew > SYMMETRIC * stiffness {
            true => self.general_modes()?,
            false => self.symmetric_modes()?,
        };
        modes
            .list
            .sort_by(|a, b| a.frequency().total_cmp(&b.frequency()));
        Ok(modes)
    }

    /// K x = ω² M x: with M = L Lᵀ the eigenvalues of L⁻¹ K L⁻ᵀ.
    fn symmetric_modes(&self) -> Result<Modes> {
        let f = self.freedoms();
        let mass = Mat::from_fn(f, f, |i, j| self.mass[(i, j)]);
        let factor = mass.cholesky().ok_or_else(no_inertia)?;
        let k = Mat::from_fn(f, f, |i, j| {
            0.5 * (self.stiffness[(i, j)] + self.stiffness[(j, i)])
        });
        let half = factor.lower_of(&k).transpose();
        let whole = factor.lower_of(&half);
        let whole = Mat::from_fn(f, f, |i, j| 0.5 * (whole[(i, j)] + whole[(j, i)]));
        let found = whole.symmetric_eigen().map_err(|_| diverged())?;
        let shapes = factor.upper_of(&found.w);
        let squares = found.values;
        let zero = (FREE * largest(&squares)).max(ROUNDING * self.terms());
        let (mut list, mut residual) = (Vec::new(), 0.0f64);
        for (at, &square) in squares.iter().enumerate() {
            let x: Vec<f64> = (0..f).map(|i| shapes[(i, at)]).collect();
            let shape = self.shape(&x.iter().map(|&x| [x, 0.0]).collect::<Vec<_>>());
            let square = if square.abs() <= zero { 0.0 } else { square };
            let (kx, mx) = (self.stiffness.times(&x), self.mass.times(&x));
            let off = largest_of(kx.iter().zip(&mx).map(|(k, m)| (k - square * m).abs()));
            let size = largest(&x)
                * (largest(self.stiffness.as_slice())
                    + (square.abs() + self.terms()) * largest(self.mass.as_slice()));
            residual = larger(residual, if size > 0.0 { off / size } else { 0.0 });
            let rate = square.abs().sqrt();
            let values = match square {
                s if s < 0.0 => vec![[-rate, 0.0], [rate, 0.0]],
                _ => vec![[0.0, rate]],
            };
            list.extend(values.into_iter().map(|value| Mode {
                value,
                shape: shape.clone(),
            }));
        }
        Ok(Modes {
            list,
            symmetric: true,
            residual,
        })
    }

    /// A x = λ x.
    fn general_modes(&self) -> Result<Modes> {
        let f = self.freedoms();
        let a = Mat::from_fn(2 * f, 2 * f, |i, j| self.a[(i, j)]);
        let found = a.eigen().map_err(|_| diverged())?;
        let values = found.values;
        let fastest = largest_of(values.iter().map(|x| elementary::hypot(x[0], x[1])));
        let size = largest(self.a.as_slice());
        let (mut list, mut residual) = (Vec::new(), 0.0f64);
        for (at, &[real, imaginary]) in values.iter().enumerate() {
            let x = &found.vectors[at];
            let parts = [0, 1].map(|p| x.iter().map(|x| x[p]).collect::<Vec<f64>>());
            let images = parts.clone().map(|part| self.a.times(&part));
            for i in 0..2 * f {
                let [re, im] = [parts[0][i], parts[1][i]];
                let off = elementary::hypot(
                    images[0][i] - (real * re - imaginary * im),
                    images[1][i] - (real * im + imaginary * re),
                );
                let long = largest_of(x.iter().map(|x| elementary::hypot(x[0], x[1])));
                residual = larger(residual, off / ((size + fastest) * long));
            }
            // one of each conjugate pair
            if imaginary < 0.0 {
                continue;
            }
            let is_free = elementary::hypot(real, imaginary) <= FREE_GENERAL * fastest;
            let value = if is_free { [0.0; 2] } else { [real, imaginary] };
            list.push(Mode {
                value,
                shape: self.shape(&x[..f]),
            });
        }
        Ok(Modes {
            list,
            symmetric: false,
            residual,
        })
    }

    /// The amplitudes of all freedoms, the largest 1.
    fn shape(&self, y: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let nv = self.model.nv();
        let mut shape = vec![[0.0; 2]; nv];
        for (k, x) in shape.iter_mut().enumerate() {
            for (j, y) in y.iter().enumerate() {
                let z = self.spread[(k, j)];
                *x = [x[0] + z * y[0], x[1] + z * y[1]];
            }
        }
        normalised(shape)
    }
}

/// A shape whose largest amplitude is 1.
pub(crate) fn normalised(mut shape: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let by_size = |a: &&[f64; 2], b: &&[f64; 2]| {
        elementary::hypot(a[0], a[1]).total_cmp(&elementary::hypot(b[0], b[1]))
    };
    let longest = shape.iter().max_by(by_size).copied().unwrap_or([1.0, 0.0]);
    let square = longest[0] * longest[0] + longest[1] * longest[1];
    if square > 0.0 {
        for x in &mut shape {
            // x / longest
            *x = [
                (x[0] * longest[0] + x[1] * longest[1]) / square,
                (x[1] * longest[0] - x[0] * longest[1]) / square,
            ];
        }
    }
    shape
}

/// Rejects nonholonomic rows: equations of second order in the independent freedoms do not describe such a motion.
fn refuse_velocity_rows(model: &Model) -> Result<()> {
    model
        .expect_position_rows("a linearisation in independent coordinates")
        .map_err(|error| {
            error.hint(
                "`SteadyMotion` has the linear equations of rolling systems, at rest and in motion",
            )
        })
}

/// The guess at rest, loops closed. Its base must be at rest, too.
fn prepared(motion: &mut Motion, guess: &State) -> Result<State> {
    if motion.model().couplings().is_some() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "couplings of `{}` are eliminated: linear equations are those of all freedoms of the tree",
                motion.model().name()
            ),
        )
        .hint("take `Model::with_couplings_as_constraints` and `State::of_tree`"));
    }
    let base = &guess.base;
    let still = Base::<f64>::fixed();
    if base.velocity != still.velocity || base.acceleration != still.acceleration {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the base moves: linear equations are those about a state at rest",
        )
        .hint("leave out the motion of the base"));
    }
    motion.closed(guess.clone(), &[])
}

/// The position where the mechanism comes to rest if every freedom yields slowly to the residual effort: approximately, and only where
/// one exists.
fn settle(motion: &mut Motion, start: State, effort: &[f64]) -> Result<State> {
    let (mut state, mut size) = (start, SLOW);
    let mut here = motion.statics(&state, effort)?;
    for _ in 0..SETTLING {
        let y: Vec<f64> = here
            .left
            .iter()
            .zip(&here.inertia)
            .map(|(r, m)| r / m)
            .collect();
        let longest = largest(&y);
        if longest == 0.0 || !longest.is_finite() {
            break;
        }
        let y: Vec<f64> = y.iter().map(|y| size / longest * y).collect();
        let next = motion.moved(&state, &here.spread, &y)?;
        let there = motion.statics(&next, effort)?;
        // is it still descending in this direction?
        let downward: f64 = there.left.iter().zip(&y).map(|(r, y)| r * y).sum();
        if downward > 0.0 && there.left.len() == y.len() {
            (state, here) = (next, there);
            size = (1.5 * size).min(SLOW);
        } else {
            size *= 0.5;
        }
    }
    Ok(state)
}

/// Newton's method on the residual efforts, damped where they do not decrease.
fn search(motion: &mut Motion, start: State, effort: &[f64]) -> Result<Search> {
    let mut state = start;
    let mut here = motion.statics(&state, effort)?;
    let (mut damping, mut scale, mut iterations) = (0.0, 0.0, 0);
    for iteration in 0..ITERATIONS {
        iterations = iteration;
        let residual = largest(&here.left);
        let Svd {
            u,
            values: sizes,
            v,
        } = here.slope.svd().map_err(|_| diverged())?;
        scale = largest(&sizes);
        if residual <= 1e-15 * scale || residual == 0.0 || scale == 0.0 {
            break;
        }
        let mut better = None;
        for _ in 0..12 {
            // y = −V (σ/(σ² + μ²)) Uᵀ r
            let mut y = vec![0.0; here.left.len()];
            for (k, &size) in sizes.iter().enumerate() {
                if size <= RANK_TOLERANCE * scale {
                    continue;
                }
                let along: f64 = (0..y.len()).map(|i| u[(i, k)] * here.left[i]).sum();
                let factor = size / (size * size + damping * damping);
                for (i, y) in y.iter_mut().enumerate() {
                    *y -= v[(i, k)] * factor * along;
                }
            }
            // no longer than a step for which the linear equations are meaningful
            let share = (0.5 / largest(&y)).min(1.0);
            y.iter_mut().for_each(|y| *y *= share);
            let tried = motion
                .moved(&state, &here.spread, &y)
                .and_then(|next| motion.statics(&next, effort).map(|there| (next, there)));
            if let Ok((next, there)) = tried
                && largest(&there.left) < residual
            {
                better = Some((next, there));
                damping *= 0.1;
                break;
            }
            damping = (10.0 * damping).max(1e-3 * scale);
        }
        match better {
            Some((next, there)) => (state, here) = (next, there),
            None => break,
        }
    }
    Ok(Search {
        left: here.left,
        independent: here.independent,
        state,
        scale,
        iterations,
    })
}

/// The linear equations about a state at rest whose accelerations vanish.
fn about(motion: &mut Motion, state: State, effort: &[f64]) -> Result<Linearisation> {
    refuse_singular(motion, &state)?;
    let local = motion.local(&state, effort)?;
    let model = motion.model().clone();
    let (f, nv) = (local.independent.len(), model.nv());
    let z = &local.spread;
    let mass = local.mass();
    let [slope, rate] = [0, 1].map(|which| local.reduced(which));
    let (stiffness, damping) = (&mass * &slope, &mass * &rate);
    let negative = |m: &Mat| matrix(m.nrows(), m.ncols(), |i, j| -m[(i, j)] + 0.0);
    let a = matrix(2 * f, 2 * f, |i, j| match (i < f, j < f) {
        (true, _) => f64::from(u8::from(j == f + i)),
        (false, true) => slope[(i - f, j)],
        (false, false) => rate[(i - f, j - f)],
    });
    let b = matrix(2 * f, nv, |i, j| match i < f {
        true => 0.0,
        false => local.derivatives[2][(local.independent[i - f], j)],
    });
    let made = Linearisation {
        residual: largest(&local.left()),
        iterations: 0,
        from_guess: true,
        spread: matrix(nv, f, |i, j| z[(i, j)]),
        mass: matrix(f, f, |i, j| mass[(i, j)]),
        damping: negative(&damping),
        stiffness: negative(&stiffness),
        independent: local.independent,
        effort: effort.to_vec(),
        model,
        state,
        a,
        b,
    };
    let parts = [&made.mass, &made.damping, &made.stiffness, &made.a, &made.b];
    if parts
        .iter()
        .any(|m| m.as_slice().iter().any(|x| !x.is_finite()))
    {
        return Err(Error::new(
            ErrorKind::Input,
            "the linear equations at this state overflow",
        )
        .hint("masses, stiffnesses or lengths are too large for double precision"));
    }
    Ok(made)
}

/// Rejects a state where rows lose rank: the motion bifurcates there, and no linear equations describe it.
fn refuse_singular(motion: &mut Motion, state: &State) -> Result<()> {
    let Motion::Closed(chain) = motion else {
        return Ok(());
    };
    let (here, _) = chain.rank(0.0, state)?;
    let mut random = Random::new(7);
    let model = chain.model().clone();
    let step: Vec<f64> = (0..model.nv())
        .map(|_| random.uniform(-1e-2, 1e-2))
        .collect();
    let mut near = state.clone();
    near.step(&model, &step);
    let Ok(near) = chain.assemble_from(0.0, &near, &[]) else {
        return Ok(());
    };
    let (there, _) = chain.rank(0.0, &near.state)?;
    if here >= there {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Singular,
        format!(
            "the constraints of `{}` lose rank at this equilibrium ({here} independent rows, {there} beside it): \
             it can leave in several directions, and no linear equations describe that",
            model.name()
        ),
    )
    .hint("`catena doctor` shows the motions; change a length a little, or take another equilibrium"))
}

pub(crate) fn matrix(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Matrix {
    let mut made = Matrix::zeros(rows, columns);
    for i in 0..rows {
        for j in 0..columns {
            made[(i, j)] = entry(i, j);
        }
    }
    made
}

/// Why there is no equilibrium: the residual at the best state.
fn no_equilibrium(model: &Model, best: &Search) -> Error {
    let worst = (0..best.left.len())
        .max_by(|&a, &b| best.left[a].abs().total_cmp(&best.left[b].abs()))
        .unwrap_or(0);
    let dof = &model.tree().dofs[best.independent[worst]];
    Error::new(
        ErrorKind::Input,
        format!(
            "`{}` has no equilibrium near this state: {:.6e} {} are left at `{}` at the best state found",
            model.name(),
            best.left[worst].abs(),
            dof.force_unit,
            dof.name,
        ),
    )
    .hint("give other positions to begin with, efforts that hold it, or take those that hold the given positions (--hold)")
}

fn no_inertia() -> Error {
    Error::new(
        ErrorKind::Singular,
        "a freedom moves no inertia at this state: Zᵀ I Z is singular",
    )
    .hint("give the bodies it moves a mass, or the freedom a rotor")
}

pub(crate) fn diverged() -> Error {
    Error::new(
        ErrorKind::Input,
        "the eigenvalues of the linear equations do not converge",
    )
    .hint("masses, stiffnesses or lengths differ by too many orders of magnitude")
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::{Dof, Inertial, JointKind, JointSpec, ModelBuilder};
    use catena::spatial::{Sym3, Vec3};

    const G: f64 = 9.81;

    /// A point mass of 2 kg on a rod of half a metre that swings about y.
    fn pendulum(dof: Dof) -> Model {
        let mut builder = ModelBuilder::new("pendulum");
        let bob = Inertial {
            mass: 2.0,
            centre: Vec3::new(0.0, 0.0, -0.5),
            tensor: Sym3::zero(),
        };
        builder.link("bob", bob);
        let mut joint = JointSpec::new("hinge", JointKind::Revolute, "world", "bob");
        joint.axes.first = Vec3::new(0.0, 1.0, 0.0);
        joint.dofs = vec![dof];
        builder.joint(joint);
        builder.build().expect("sound")
    }

    fn at(model: &Model, q: f64) -> State {
        State::new(model, &[q], &[0.0]).expect("finite")
    }

    fn square(n: usize, entries: &[f64]) -> Matrix {
        matrix(n, n, |i, j| entries[n * i + j])
    }

    /// Equations with these matrices; the model is arbitrary.
    fn equations(mass: [f64; 2], damping: f64, stiffness: [f64; 4]) -> Linearisation {
        let model = catena::model::embedded::model("chain-2").expect("embedded");
        assert_eq!(model.nv(), 2);
        let stiffness = square(2, &stiffness);
        Linearisation {
            state: State::neutral(&model),
            model,
            effort: vec![0.0; 2],
            residual: 0.0,
            iterations: 0,
            from_guess: true,
            independent: vec![0, 1],
            spread: square(2, &[1.0, 0.0, 0.0, 1.0]),
            mass: square(2, &[mass[0], 0.0, 0.0, mass[1]]),
            damping: square(2, &[damping, 0.0, 0.0, 0.0]),
            a: matrix(4, 4, |i, j| match (i < 2, j < 2) {
                (true, _) => f64::from(u8::from(j == i + 2)),
                (false, true) => -stiffness[(i - 2, j)] / mass[i - 2],
                (false, false) => match (i, j) {
                    (2, 2) => -damping / mass[0],
                    _ => 0.0,
                },
            }),
            b: matrix(4, 2, |i, j| if i == j + 2 { 1.0 / mass[j] } else { 0.0 }),
            stiffness,
        }
    }

    fn frequencies(found: &Linearisation) -> Vec<[f64; 2]> {
        let modes = found.modes().expect("they converge");
        modes.list.iter().map(|mode| mode.value).collect()
    }

    #[test]
    fn behaviours_and_their_limits() {
        let of = |re: f64, im: f64| {
            let mode = Mode {
                value: [re, im],
                shape: Vec::new(),
            };
            (mode.behaviour(), mode.frequency(), mode.damping_ratio())
        };
        assert_eq!(of(0.0, 0.0), (Behaviour::Free, 0.0, None));
        assert_eq!(of(0.0, 2.0), (Behaviour::Undamped, 2.0, Some(0.0)));
        assert_eq!(of(-3.0, 4.0), (Behaviour::Damped, 5.0, Some(0.6)));
        assert_eq!(of(3.0, 4.0), (Behaviour::Growing, 5.0, Some(-0.6)));
        assert_eq!(of(-2.0, 0.0), (Behaviour::Decaying, 2.0, Some(1.0)));
        assert_eq!(of(2.0, 0.0), (Behaviour::Growing, 2.0, Some(-1.0)));
        for (ratio, behaviour) in [
            (0.9e-9, Behaviour::Undamped),
            (-0.9e-9, Behaviour::Undamped),
            (1.1e-9, Behaviour::Damped),
            (-1.1e-9, Behaviour::Growing),
        ] {
            assert_eq!(of(-ratio, 1.0).0, behaviour, "{ratio}");
        }
    }

    /// Damping below 10⁻⁹ √(k m) counts as none, and so does a difference between K and Kᵀ below 10⁻⁹ k.
    #[test]
    fn symmetric_up_to_round_off() {
        let is_symmetric = |damping: f64, skew: f64| {
            let found = equations([4.0, 3.0], damping, [400.0, skew, -skew, 300.0]);
            found.modes().expect("they converge").symmetric
        };
        // √(400 · 4) = 40
        assert!(is_symmetric(0.9e-9 * 40.0, 0.0) && !is_symmetric(1.1e-9 * 40.0, 0.0));
        assert!(is_symmetric(0.0, 0.45e-9 * 400.0) && !is_symmetric(0.0, 0.55e-9 * 400.0));
        let found = equations([4.0, 3.0], 0.0, [400.0, 0.0, 0.0, 300.0]);
        assert_eq!(frequencies(&found), [[0.0, 10.0], [0.0, 10.0]]);
    }

    /// The residual is the part of K that is not symmetric, relative to the largest terms: of the two modes e₁ and e₂ that of e₁ is larger.
    #[test]
    fn residuals_of_symmetric_modes() {
        let skew = 1e-7;
        let mut found = equations([2.0, 5.0], 0.0, [800.0, skew, -skew, 3000.0]);
        let residual = |found: &Linearisation| found.modes().expect("they converge").residual;
        let expected = skew / (3000.0 + 400.0 * 5.0);
        assert!((residual(&found) / expected - 1.0).abs() < 1e-6);
        // terms that cancel in K: efforts of 6 N with accelerations of up to 1/2 per newton
        found.effort = vec![-6.0, 1.0];
        let expected = skew / (3000.0 + (400.0 + 3.0) * 5.0);
        assert!((residual(&found) / expected - 1.0).abs() < 1e-6);
        // with the same derivatives, but frequencies indistinguishable from zero, only the terms are left as a scale
        let mut none = equations([1.0, 1.0], 0.0, [0.0; 4]);
        assert_eq!(residual(&none), 0.0);
        none.effort = vec![2.0, 0.0];
        assert_eq!(
            (residual(&none), frequencies(&none)),
            (0.0, vec![[0.0; 2]; 2])
        );
    }

    /// Squares below 10⁻¹⁰ of the largest are zero, and those below 10⁻¹⁵ of the terms whose difference they are.
    #[test]
    fn free_motions_of_symmetric_problems() {
        let slowest = |small: f64, effort: f64| {
            let mut found = equations([1.0, 1.0], 0.0, [1.0, 0.0, 0.0, small]);
            found.effort = vec![0.0, effort];
            frequencies(&found)
        };
        let unit = [0.0, 1.0];
        assert_eq!(slowest(0.9e-10, 0.0), [[0.0, 0.0], unit]);
        assert_eq!(slowest(-0.9e-10, 0.0), [[0.0, 0.0], unit]);
        assert_eq!(slowest(1.1e-10, 0.0), [[0.0, 1.1e-10f64.sqrt()], unit]);
        let rate = 1.1e-10f64.sqrt();
        assert_eq!(slowest(-1.1e-10, 0.0), [[-rate, 0.0], [rate, 0.0], unit]);
        assert_eq!(slowest(0.9e-5, -1e10), [[0.0, 0.0], unit]);
        assert_eq!(slowest(1.1e-5, -1e10), [[0.0, 1.1e-5f64.sqrt()], unit]);
    }

    /// A double zero of the general problem is zero up to 10⁻⁷ of the largest; one of each pair is listed.
    #[test]
    fn free_motions_of_general_problems() {
        // λ² + λ d + k = 0 combined with λ² = −ω²
        let of = |k: f64, d: f64| frequencies(&equations([1.0, 1.0], d, [k, 0.0, 0.0, 4.0]));
        let list = of(0.0, 1.0);
        assert_eq!(list.len(), 3, "{list:?}");
        assert_eq!(list[0], [0.0; 2]);
        assert!((list[1][0] + 1.0).abs() < 1e-14 && list[1][1] == 0.0);
        assert!((list[2][1] - 2.0).abs() < 1e-14 && list[2][0].abs() < 1e-14);
        // λ ≈ −k / d next to the fastest, 2
        assert_eq!(of(1.9e-7, 1.0)[0], [0.0; 2]);
        let slow = of(2.1e-7, 1.0)[0];
        assert!(
            (slow[0] + 2.1e-7).abs() < 1e-12 && slow[1] == 0.0,
            "{slow:?}"
        );
    }

    /// ω = 1 and |A| = 1: the residual is relative to their sum.
    #[test]
    fn residuals_of_general_modes_are_relative() {
        let found = equations([1.0, 1.0], 0.5, [1.0, 0.0, 0.0, 1.0]);
        let modes = found.modes().expect("they converge");
        assert!(!modes.symmetric && modes.list.len() == 2);
        assert!(modes.residual < 1e-15, "{:e}", modes.residual);
        let [first, ..] = &modes.list[..] else {
            panic!("two modes")
        };
        assert_eq!(first.shape.len(), 2);
        // it has no unit: rates that are all 1024 times as large leave it as it is
        let mut faster = equations([1.0, 3.0], 0.5, [2.0, 0.3, -0.7, 5.0]);
        let residual = |found: &Linearisation| found.modes().expect("they converge").residual;
        let before = residual(&faster);
        for x in faster.a.as_mut_slice() {
            *x *= 1024.0;
        }
        let ratio = residual(&faster) / before;
        assert!(before > 0.0 && ratio > 0.1 && ratio < 10.0, "{ratio:e}");
    }

    #[test]
    fn shapes_are_divided_by_their_largest_amplitude() {
        let shape = normalised(vec![[0.0, 0.0], [3.0, 4.0], [1.0, -2.0]]);
        let wanted = [[0.0, 0.0], [1.0, 0.0], [-0.2, -0.4]];
        for (found, wanted) in shape.iter().flatten().zip(wanted.iter().flatten()) {
            assert!((found - wanted).abs() < 1e-15, "{shape:?}");
        }
        assert_eq!(
            normalised(vec![[-2.0, 0.0], [1.0, 0.0]]),
            [[1.0, 0.0], [-0.5, 0.0]]
        );
        assert_eq!(normalised(vec![[0.0; 2]; 2]), [[0.0; 2]; 2]);
        assert!(normalised(Vec::new()).is_empty());
    }

    /// An error in A is reported relative to the entries of its block, or to the scale that the other block and the efforts give.
    #[test]
    fn errors_of_slopes_are_relative() {
        let linear = |damping: f64, effort: f64| {
            let dof = Dof {
                damping,
                ..Dof::default()
            };
            let model = pendulum(dof);
            Linearisation::new(&model, &at(&model, -0.2), &[effort]).expect("it hangs")
        };
        let told = |found: &Linearisation, place: (usize, usize), error: f64| {
            let mut wrong = found.clone();
            wrong.a[place] += error;
            wrong.by_differences().expect("finite").expect("smooth")
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let slope = G / 0.5;
        let hanging = linear(0.0, 0.0);
        assert!(told(&hanging, (1, 0), 0.0) < 1e-8);
        assert!(near(told(&hanging, (1, 0), 1.0), 1.0 / (slope - 1.0)));
        assert!(near(told(&hanging, (1, 0), -1.0), 1.0 / (slope + 1.0)));
        assert!(near(told(&hanging, (1, 1), 1.0), 1.0 / slope.sqrt()));
        // the scale is that of A as it is: a rate of 20, whose square is larger than the slope
        let damped = linear(20.0 * 0.5, 0.0);
        assert!(near(told(&damped, (1, 0), 1.0), 1.0 / 400.0));
        assert!(near(told(&damped, (1, 1), -1.0), 1.0 / 21.0));
        // held nearly horizontal by an effort of m g l sin q, two of which are an acceleration of 4 g sin q
        let held = linear(0.0, 2.0 * G * 0.5 * 0.99);
        assert!(near(told(&held, (1, 0), 1.0), 1.0 / (0.99 * 2.0 * G)));
        // nothing but the error could be a scale
        let free = pendulum(Dof::default()).with_gravity([0.0; 3]);
        let free = Linearisation::new(&free, &at(&free, 0.3), &[0.0]).expect("anywhere");
        assert!(near(told(&free, (1, 0), 0.25), 1.0) && near(told(&free, (1, 1), 0.25), 1.0));
        assert_eq!(told(&free, (1, 0), 0.0), 0.0);
        let rough = pendulum(Dof {
            friction: 0.1,
            ..Dof::default()
        });
        let rough = Linearisation::new(&rough, &at(&rough, 0.1), &[0.0]).expect("it hangs");
        assert_eq!(rough.by_differences().expect("finite"), None);
    }

    /// The scale is the largest entry of the block, whichever freedom it belongs to.
    #[test]
    fn errors_of_slopes_are_relative_to_the_largest_freedom() {
        let mut builder = ModelBuilder::new("carts");
        for (name, stiffness, damping) in [("soft", 0.25, 0.125), ("stiff", 100.0, 25.0)] {
            let cart = Inertial {
                mass: 1.0,
                centre: Vec3::zero(),
                tensor: Sym3::zero(),
            };
            builder.link(name, cart);
            let rail = format!("rail of {name}");
            let mut joint = JointSpec::new(&rail, JointKind::Prismatic, "world", name);
            joint.axes.first = Vec3::new(1.0, 0.0, 0.0);
            joint.dofs = vec![Dof {
                stiffness,
                damping,
                ..Dof::default()
            }];
            builder.joint(joint);
        }
        let model = builder.build().expect("sound");
        let rest = State::new(&model, &[0.0; 2], &[0.0; 2]).expect("finite");
        let found = Linearisation::new(&model, &rest, &[0.0; 2]).expect("at rest");
        let told = |place: (usize, usize)| {
            let mut wrong = found.clone();
            wrong.a[place] += 1.0;
            wrong.by_differences().expect("finite").expect("smooth")
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        // the square of the largest rate is larger than the largest slope
        for column in [0, 1] {
            assert!(
                near(told((2, column)), 1.0 / 625.0),
                "{}",
                told((2, column))
            );
            assert!(near(told((2, column + 2)), 1.0 / 25.0));
        }
    }

    /// Overdamped motion ends where the pendulum hangs, from either side, and does not leave an equilibrium.
    #[test]
    fn overdamped_motion_settles() {
        let model = pendulum(Dof::default());
        let mut motion = Motion::new(&model);
        for start in [2.0, -2.0, 3.0, 0.05] {
            let end = settle(&mut motion, at(&model, start), &[0.0]).expect("finite");
            assert!(end.q[0].abs() < 1e-3, "{start}: {}", end.q[0]);
        }
        let end = settle(&mut motion, at(&model, 0.0), &[0.0]).expect("finite");
        assert_eq!(end.q, [0.0]);
        // under an effort: m g l sin q = τ
        let end = settle(&mut motion, at(&model, 1.5), &[-G * 0.5]).expect("finite");
        let wanted = std::f64::consts::FRAC_PI_6;
        assert!((end.q[0].abs() - wanted).abs() < 1e-3, "{}", end.q[0]);
    }

    /// Newton's method doubles the digits in each step: from 0.3 rad to round-off in three, from an equilibrium in none.
    #[test]
    fn newton_converges_quadratically() {
        let model = pendulum(Dof::default());
        let mut motion = Motion::new(&model);
        for (start, most) in [(0.3, 4), (-0.3, 4), (0.05, 3), (0.0, 0)] {
            let found = search(&mut motion, at(&model, start), &[0.0]).expect("finite");
            assert!(found.succeeded() && found.state.q[0].abs() < 1e-15);
            assert!(found.iterations <= most, "{start}: {}", found.iterations);
            assert!(
                (found.scale - 2.0 * G * 0.5).abs() < 1e-9,
                "{}",
                found.scale
            );
        }
        // a long way: no step is longer than half a radian
        let found = search(&mut motion, at(&model, 1.2), &[0.0]).expect("finite");
        // 1.2, 0.7, 0.2, −0.003, 6·10⁻⁹, nothing
        assert!(found.succeeded() && found.iterations == 5);
        assert!(found.state.q[0].abs() < 1e-15);
    }

    /// Every rejection has its own message.
    #[test]
    fn refusals() {
        let told = |error: Error| error.to_string();
        let model = pendulum(Dof::default());
        let mut moving = at(&model, 0.0);
        moving.base.acceleration.linear.z = 1.0;
        let error = Linearisation::held(&model, &moving).expect_err("it moves");
        assert_eq!(
            told(error),
            "the base moves: linear equations are those about a state at rest\nhint: leave out the motion of the base"
        );
        let effort = 2.0 * G * 0.5 + 1.0;
        let error = Linearisation::new(&model, &at(&model, 0.1), &[effort]).expect_err("too much");
        let message = told(error);
        assert!(
            message.starts_with("`pendulum` has no equilibrium near this state: ")
                && message.contains(
                    " N·m are left at `hinge` at the best state found\nhint: give other positions"
                ),
            "{message}"
        );
        assert_eq!(
            told(no_inertia()),
            "a freedom moves no inertia at this state: Zᵀ I Z is singular\nhint: give the bodies it moves a mass, or the freedom a rotor"
        );
    }
}
