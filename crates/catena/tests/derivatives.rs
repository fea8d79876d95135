//! Derivatives against dual numbers, finite differences and the laws they obey.
//!
//! Differences are relative to the largest entry of the matrix. A dual number carries a derivative with the rounding errors
//! of the computation it differentiates, a few thousand times 1e-16; so does the recursion.

use catena::algorithm::derivatives::{
    InverseDerivatives, InverseDerivativesWork, inverse_dynamics_derivatives,
};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::model::embedded;
use catena::random::Random;
use catena::scalar::{Dual, Scalar};
use catena::spatial::{Force, Mat3, Motion, Pose, Vec3};
use catena::{Base, Matrix, Model, State};

const TOLERANCE: f64 = 1e-11;
const DIRECTIONS: usize = 4;
type D = Dual<f64, DIRECTIONS>;

/// A state, accelerations, wrenches on all bodies, and a base that moves in every way.
struct Case {
    model: Model,
    state: State,
    vdot: Vec<f64>,
    external: Vec<Force<f64>>,
}

fn vector(random: &mut Random) -> Vec3<f64> {
    Vec3::new(
        random.uniform(-1.0, 1.0),
        random.uniform(-1.0, 1.0),
        random.uniform(-1.0, 1.0),
    )
}

impl Case {
    fn new(name: &str, seed: u64) -> Self {
        let model = embedded::model(name).unwrap();
        let mut random = Random::new(seed);
        let mut state = State::random(&model, seed);
        let motion = |random: &mut Random| Motion::new(vector(random), vector(random));
        state.base = Base {
            pose: Pose::new(
                Mat3::from_quaternion(random.quaternion()),
                vector(&mut random),
            ),
            velocity: motion(&mut random),
            acceleration: motion(&mut random),
        };
        let vdot = (0..model.nv()).map(|_| random.uniform(-1.0, 1.0)).collect();
        let external = (0..=model.body_count())
            .map(|_| Force::new(vector(&mut random), vector(&mut random)))
            .collect();
        Case {
            model,
            state,
            vdot,
            external,
        }
    }

    fn at_rest(name: &str, seed: u64) -> Self {
        let mut case = Case::new(name, seed);
        case.state.base = Base::fixed();
        case.external.clear();
        case
    }

    fn lifted_wrenches<S: Scalar>(&self) -> Vec<Force<S>> {
        let lift = |v: Vec3<f64>| v.map(S::constant);
        self.external
            .iter()
            .map(|f| Force::new(lift(f.moment), lift(f.force)))
            .collect()
    }

    /// Efforts in dual numbers: (q ⊕ δ, v + ε), with the derivative along the freedoms from `first` on, of q or of v.
    fn dual_state(&self, first: usize, of_q: bool) -> State<D> {
        let nv = self.model.nv();
        let mut state: State<D> = self.state.lift();
        let mut delta = vec![D::constant(0.0); nv];
        for direction in 0..DIRECTIONS.min(nv - first) {
            delta[first + direction].derivative[direction] = 1.0;
        }
        if of_q {
            state.step(&self.model, &delta);
        } else {
            for (v, d) in state.v.iter_mut().zip(&delta) {
                *v += *d;
            }
        }
        state
    }

    /// The matrix whose columns are derivatives of `function` along q or v.
    fn by_duals(&self, of_q: bool, mut function: impl FnMut(&State<D>) -> Vec<D>) -> Matrix {
        let nv = self.model.nv();
        let mut matrix = Matrix::zeros(nv, nv);
        for first in (0..nv).step_by(DIRECTIONS) {
            let result = function(&self.dual_state(first, of_q));
            for (i, x) in result.iter().enumerate() {
                for direction in 0..DIRECTIONS.min(nv - first) {
                    matrix[(i, first + direction)] = x.derivative[direction];
                }
            }
        }
        matrix
    }

    fn dual_efforts(&self, of_q: bool) -> Matrix {
        let mut work = InverseDynamics::new(&self.model);
        let external = self.lifted_wrenches();
        let vdot: Vec<D> = self.vdot.iter().map(|&x| D::constant(x)).collect();
        self.by_duals(of_q, |state| {
            let mut tau = vec![D::constant(0.0); self.model.nv()];
            inverse_dynamics(
                &self.model,
                &state.q,
                &state.v,
                &vdot,
                &state.base,
                &external,
                &mut work,
                &mut tau,
            );
            tau
        })
    }

    fn inverse_derivatives(&self) -> InverseDerivatives {
        let mut work = InverseDerivativesWork::new(&self.model);
        let mut derivatives = InverseDerivatives::new(&self.model);
        inverse_dynamics_derivatives(
            &self.model,
            &self.state.q,
            &self.state.v,
            &self.vdot,
            &self.state.base,
            &self.external,
            &mut work,
            &mut derivatives,
        );
        derivatives
    }
}

fn size(matrix: &Matrix) -> f64 {
    matrix.as_slice().iter().fold(0.0f64, |m, x| m.max(x.abs()))
}

fn difference(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!(a.as_slice().len(), b.as_slice().len());
    let worst = a
        .as_slice()
        .iter()
        .zip(b.as_slice())
        .fold(0.0f64, |m, (a, b)| {
            // NaN must not look like a small difference
            if a.is_finite() && b.is_finite() {
                m.max((a - b).abs())
            } else {
                f64::INFINITY
            }
        });
    worst / size(b).max(1e-3)
}

fn assert_close(a: &Matrix, b: &Matrix, tolerance: f64, what: &str) {
    let difference = difference(a, b);
    assert!(difference <= tolerance, "{what}: {difference:.2e}");
}

/// Every joint and base: the embedded models, and random trees.
fn models() -> Vec<(String, u64)> {
    let mut names: Vec<(String, u64)> = [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "pendulum-5",
        "chain-1",
        "chain-7",
        "floating-chain-9",
        "spherical-chain-6",
    ]
    .map(|name| (name.to_string(), 5))
    .to_vec();
    for seed in 1..=120 {
        names.push((format!("random-{}-{seed}", 1 + seed % 17), seed));
    }
    names
}

#[test]
fn efforts() {
    for (name, seed) in models() {
        for case in [Case::new(&name, seed), Case::at_rest(&name, seed)] {
            let analytic = case.inverse_derivatives();
            let what = |matrix: &str| format!("{matrix} of {name}");
            assert_close(
                &analytic.dq,
                &case.dual_efforts(true),
                TOLERANCE,
                &what("∂τ/∂q"),
            );
            assert_close(
                &analytic.dv,
                &case.dual_efforts(false),
                TOLERANCE,
                &what("∂τ/∂v"),
            );
        }
    }
}
