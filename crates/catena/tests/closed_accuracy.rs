//! Errors of accelerations of closed chains, as they are estimated, against four-bars whose exact motion is known by another way.
//!
//! The other way: three absolute angles φ of a planar chain with its end at (d, 0). With A and B from masses and lengths,
//!
//! ```text
//! Mᵢⱼ = Aᵢⱼ cos(φᵢ − φⱼ)       hᵢ = Σ Aᵢⱼ sin(φᵢ − φⱼ) φ̇ⱼ²       Qᵢ = τᵢ − τᵢ₊₁ − g Bᵢ cos φᵢ
//! nᵀ M φ̈ = nᵀ (Q − h)           G φ̈ = −Ġ φ̇                         n = g₁ × g₂, the rows of G
//! ```
//!
//! solved by Cramer's rule in double-double arithmetic, at the closed state that is nearest to the one given in the metric of M.

use catena::algorithm::constrained::Route;
use catena::closed_chain::{Accuracy, ClosedChain};
use catena::model::{ConstraintSpec, Inertial, JointKind, JointSpec, RuleSpec};
use catena::random::Random;
use catena::scalar::{DoubleDouble, Scalar};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Model, ModelBuilder, State};

type Dd = DoubleDouble;

/// The error is at most this many times its estimate: the nearest closed states of both ways differ in second order of the violation.
const FACTOR: f64 = 1.01;

/// Nothing is claimed below round-off.
const ROUND_OFF: f64 = f64::EPSILON;

struct FourBar {
    lengths: [f64; 3],
    masses: [f64; 3],
    ground: f64,
}

impl FourBar {
    fn model(&self) -> Model {
        let mut builder = ModelBuilder::new("four-bar");
        builder.gravity = Vec3::new(0.0, -9.81, 0.0);
        let at = |x: f64| Pose::shift(Vec3::new(x, 0.0, 0.0));
        let mut parent = ("world".to_string(), 0.0);
        for k in 0..3 {
            let (length, mass) = (self.lengths[k], self.masses[k]);
            let across = self.own_inertia(k);
            let name = format!("rod{k}");
            builder.link(
                &name,
                Inertial {
                    mass,
                    centre: Vec3::new(0.5 * length, 0.0, 0.0),
                    tensor: Sym3::new(0.01 * across, across, across, 0.0, 0.0, 0.0),
                },
            );
            builder.joint(JointSpec {
                parent_from_joint: at(parent.1),
                ..JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent.0, &name)
            });
            parent = (name, length);
        }
        builder.constraint(ConstraintSpec {
            name: "pin".into(),
            rule: RuleSpec::Joint(Box::new(JointSpec {
                parent_from_joint: at(parent.1),
                joint_from_child: at(-self.ground),
                ..JointSpec::new("pin", JointKind::Revolute, &parent.0, "world")
            })),
            place: Default::default(),
        });
        builder.build().expect("a four-bar is a model")
    }

    /// About the centre of mass.
    fn own_inertia(&self, k: usize) -> f64 {
        self.masses[k] * self.lengths[k] * self.lengths[k] / 16.0
    }

    /// The gap of the loop, and the rows of its Jacobian matrix.
    fn gap(&self, angles: [Dd; 3]) -> ([Dd; 2], [[Dd; 3]; 2]) {
        let mut gap = [-Dd::from(self.ground), Dd::zero()];
        let mut rows = [[Dd::zero(); 3]; 2];
        for (k, angle) in angles.into_iter().enumerate() {
            let (sine, cosine) = angle.sin_cos();
            let length = Dd::from(self.lengths[k]);
            gap[0] += length * cosine;
            gap[1] += length * sine;
            rows[0][k] = -(length * sine);
            rows[1][k] = length * cosine;
        }
        (gap, rows)
    }

    /// Closes the loop by moving two angles, all but the one that is held; from too far away it may not find the way.
    fn closed(&self, mut angles: [Dd; 3], held: usize) -> Option<[Dd; 3]> {
        let [i, j] = [(held + 1) % 3, (held + 2) % 3];
        for _ in 0..60 {
            let (gap, rows) = self.gap(angles);
            let determinant = rows[0][i] * rows[1][j] - rows[0][j] * rows[1][i];
            angles[i] -= (gap[0] * rows[1][j] - gap[1] * rows[0][j]) / determinant;
            angles[j] -= (rows[0][i] * gap[1] - rows[1][i] * gap[0]) / determinant;
        }
        let (gap, _) = self.gap(angles);
        gap.iter()
            .all(|x| x.value().abs() < 1e-26)
            .then_some(angles)
    }

    /// The inertia matrix A of straight rods, and the moments B.
    fn inertias(&self) -> ([[Dd; 3]; 3], [Dd; 3]) {
        let (length, mass) = (self.lengths.map(Dd::from), self.masses.map(Dd::from));
        let beyond = |k: usize| {
            let masses = mass[k + 1..].iter();
            masses.fold(Dd::zero(), |sum, &m| sum + m)
        };
        let half = Dd::from(0.5);
        let moments = [0, 1, 2].map(|k| (mass[k] * half + beyond(k)) * length[k]);
        let own = |k: usize| {
            let around = (mass[k] * half * half + beyond(k)) * length[k] * length[k];
            Dd::from(self.own_inertia(k)) + around
        };
        let matrix = [0, 1, 2].map(|i: usize| {
            [0, 1, 2].map(|j: usize| match i == j {
                true => own(i),
                false => length[i.min(j)] * moments[i.max(j)],
            })
        });
        (matrix, moments)
    }

    /// nᵀ M and the rows of G: what is along the motion, and what opens the loop.
    fn equations(&self, angles: [Dd; 3]) -> [[Dd; 3]; 3] {
        let (inertia, _) = self.inertias();
        let (_, [g, h]) = self.gap(angles);
        let n = cross(g, h);
        let along = [0, 1, 2].map(|j| {
            let column = [0, 1, 2].map(|i| inertia[i][j] * (angles[i] - angles[j]).sin_cos().1);
            dot(n, column)
        });
        [along, g, h]
    }

    /// The accelerations of the joints at the closed state that is nearest to this one in the metric of the kinetic energy.
    fn exact(&self, state: &State, tau: &[f64]) -> [Dd; 3] {
        let sums = |x: &[f64]| {
            let mut sum = Dd::zero();
            [0, 1, 2].map(|k| {
                sum += Dd::from(x[k]);
                sum
            })
        };
        let (mut angles, mut speeds) = (sums(&state.q), sums(&state.v));
        for _ in 0..20 {
            let ([x, y], _) = self.gap(angles);
            let step = cramer(self.equations(angles), [Dd::zero(), -x, -y]);
            (0..3).for_each(|k| angles[k] += step[k]);
        }
        let equations = self.equations(angles);
        let slip = [1, 2].map(|row| -dot(equations[row], speeds));
        let change = cramer(equations, [Dd::zero(), slip[0], slip[1]]);
        (0..3).for_each(|k| speeds[k] += change[k]);
        let (inertia, moments) = self.inertias();
        let torque = |k: usize| Dd::from(tau.get(k).copied().unwrap_or(0.0));
        let forces = [0, 1, 2].map(|i| {
            let weight = Dd::from(-9.81) * moments[i] * angles[i].sin_cos().1;
            (0..3).fold(torque(i) - torque(i + 1) + weight, |force, j| {
                let (sine, _) = (angles[i] - angles[j]).sin_cos();
                force - inertia[i][j] * sine * speeds[j] * speeds[j]
            })
        });
        let squares = speeds.map(|speed| speed * speed);
        // derivatives of (−sin φ, cos φ) are each the other one, up to a sign
        let [_, g, h] = equations;
        let right = [dot(cross(g, h), forces), dot(h, squares), -dot(g, squares)];
        let absolute = cramer(equations, right);
        [
            absolute[0],
            absolute[1] - absolute[0],
            absolute[2] - absolute[1],
        ]
    }
}

/// x of three equations.
fn cramer(matrix: [[Dd; 3]; 3], right: [Dd; 3]) -> [Dd; 3] {
    let determinant = |[a, b, c]: [[Dd; 3]; 3]| dot(a, cross(b, c));
    [0, 1, 2].map(|k| {
        let mut with = matrix;
        (0..3).for_each(|row| with[row][k] = right[row]);
        determinant(with) / determinant(matrix)
    })
}

fn cross(a: [Dd; 3], b: [Dd; 3]) -> [Dd; 3] {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| a[i] * b[j] - a[j] * b[i])
}

fn dot(a: [Dd; 3], b: [Dd; 3]) -> Dd {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Relative to the largest acceleration, or to 1 rad/s².
fn error(found: &[f64], exact: [Dd; 3]) -> f64 {
    let scale = exact.iter().fold(1.0f64, |m, a| m.max(a.value().abs()));
    let off = found.iter().zip(exact);
    off.fold(0.0f64, |m, (&a, right)| {
        m.max((Dd::from(a) - right).value().abs())
    }) / scale
}

/// The true error of the accelerations, its estimate, and the state. None where rows count as dependent.
fn measured(bar: &FourBar, angle: f64, route: Route, tau: [f64; 3]) -> Option<(f64, Accuracy)> {
    let model = bar.model();
    let mut chain = ClosedChain::new(&model);
    chain.choose_route(route);
    // flat: two rods to the right, the third one back
    let flat = [0.0, 0.0, std::f64::consts::PI].map(Dd::from);
    let start = [
        flat[0] + Dd::from(angle),
        flat[1] - Dd::from(0.3 * angle),
        flat[2],
    ];
    let angles = bar.closed(start, 0)?;
    let (_, [g, h]) = bar.gap(angles);
    let n = cross(g, h);
    let size = n.iter().fold(0.0f64, |m, x| m.max(x.value().abs()));
    let relative = |x: [Dd; 3]| [x[0], x[1] - x[0], x[2] - x[1]].map(|x| x.value());
    let q = relative(angles);
    let v = relative(n.map(|x| x / Dd::from(size)));
    let state = State::new(&model, &q, &v).unwrap();
    let motion = chain.forward(0.0, &state, &tau, &[]).ok()?;
    if motion.rank < 2 {
        return None;
    }
    let found = motion.accelerations.to_vec();
    let estimate = chain.accuracy(0.0, &state, &tau, &[], &found).unwrap();
    Some((error(&found, bar.exact(&state, &tau)), estimate))
}

#[test]
fn estimates_bound_the_errors_of_four_bars() {
    let mut random = Random::new(21);
    let (mut seen, mut lossy, mut worst) = (0, 0, 0.0f64);
    let mut largest = 0.0f64;
    for case in 0..400 {
        // eighths and powers of two: the sums of moments that the model is reduced to have no more than 53 bits, so that both ways have the same numbers
        let lengths = [(); 3].map(|()| (4 + random.below(9)) as f64 / 8.0);
        let decades = [1, 20, 41][case % 3];
        let bar = FourBar {
            lengths,
            masses: [(); 3].map(|()| 2f64.powi(random.below(decades) as i32)),
            // two rods to the right and one back are as long as the ground: all four can lie flat
            ground: lengths[0] + lengths[1] - lengths[2],
        };
        if bar.ground < 0.3 {
            continue;
        }
        let angle = 10f64.powf(random.uniform(-3.5, 0.0));
        let route = [Route::CutLoops, Route::AlongTree][case % 2];
        let tau = [(); 3].map(|()| random.uniform(-5.0, 5.0));
        let Some((error, estimate)) = measured(&bar, angle, route, tau) else {
            continue;
        };
        seen += 1;
        largest = largest.max(error);
        lossy += usize::from(error > 1e-12);
        let ratio = (error - ROUND_OFF) / estimate.error();
        worst = worst.max(ratio);
    }
    assert!(seen > 100 && lossy > 20 && largest > 1e-6);
    assert!(worst < FACTOR);
}
