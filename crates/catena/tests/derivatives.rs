//! Derivatives against dual numbers, finite differences and the laws they obey.
//!
//! Differences are relative to the largest entry of the matrix. A dual number carries a derivative with the rounding errors
//! of the computation it differentiates, a few thousand times 1e-16; so does the recursion.

use catena::algorithm::derivatives::{
    InverseDerivatives, InverseDerivativesWork, inverse_dynamics_derivatives,
};
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::model::embedded;
use catena::random::Random;
use catena::scalar::{Dual, Scalar};
use catena::spatial::{Force, Mat3, Motion, Pose, Vec3};
use catena::{Base, Cpu, Dynamics, Matrix, Model, State};

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

    fn dual_accelerations(&self, of_q: bool, tau: &[f64]) -> Matrix {
        let mut work = ForwardDynamics::new(&self.model);
        let external = self.lifted_wrenches();
        let tau: Vec<D> = tau.iter().map(|&x| D::constant(x)).collect();
        self.by_duals(of_q, |state| {
            let mut vdot = vec![D::constant(0.0); self.model.nv()];
            forward_dynamics(
                &self.model,
                &state.q,
                &state.v,
                &tau,
                &state.base,
                &external,
                &mut work,
                &mut vdot,
            );
            vdot
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

/// Both paths of the checked door give what the generic function gives, and the inertia matrix of composite bodies.
#[test]
fn paths() {
    for (name, seed) in models() {
        let case = Case::new(&name, seed);
        let generic = case.inverse_derivatives();
        for cpu in [Cpu::Baseline, Cpu::Avx2] {
            let mut dynamics = Dynamics::with_cpu(&case.model, cpu);
            let inertia = dynamics.inertia(&case.state).unwrap().clone();
            let d = dynamics
                .inverse_derivatives(&case.state, &case.vdot, &case.external)
                .unwrap();
            assert_close(&d.dq, &generic.dq, 1e-12, &name);
            assert_close(&d.dv, &generic.dv, 1e-12, &name);
            assert_close(&d.inertia, &inertia, 1e-12, &name);
        }
    }
}

/// ∂v̇/∂q and ∂v̇/∂v against dual numbers through the articulated bodies. Accelerations are solved for, so that the condition
/// number of I enters both sides; that of these models is below 1e4.
#[test]
fn accelerations() {
    for (name, seed) in models() {
        for case in [Case::new(&name, seed), Case::at_rest(&name, seed)] {
            let tau: Vec<f64> = case.vdot.iter().map(|x| 3.0 * x).collect();
            let by_q = case.dual_accelerations(true, &tau);
            let by_v = case.dual_accelerations(false, &tau);
            for cpu in [Cpu::Baseline, Cpu::Avx2] {
                let mut dynamics = Dynamics::with_cpu(&case.model, cpu);
                let vdot = dynamics
                    .forward(&case.state, &tau, &case.external)
                    .unwrap()
                    .to_vec();
                let inertia = dynamics.inertia(&case.state).unwrap().clone();
                let alone = dynamics.inverse_inertia(&case.state).unwrap().clone();
                let d = dynamics
                    .forward_derivatives(&case.state, &tau, &case.external)
                    .unwrap();
                assert_eq!(d.vdot, vdot, "{name}");
                assert_close(&d.dq, &by_q, TOLERANCE, &format!("∂v̇/∂q of {name}"));
                assert_close(&d.dv, &by_v, TOLERANCE, &format!("∂v̇/∂v of {name}"));
                assert_close(&d.dtau, &alone, 1e-13, &format!("I⁻¹ of {name}"));
                assert_close(
                    &d.dtau.product(&inertia),
                    &Matrix::identity(case.model.nv()),
                    1e-10,
                    &format!("I⁻¹ I of {name}"),
                );
                assert_close(
                    &d.dtau,
                    &d.dtau.transpose(),
                    1e-13,
                    &format!("I⁻¹ of {name}"),
                );
            }
        }
    }
}

/// Long chains: recursions instead of factors written out, and a lever arm of many links.
#[test]
fn long_chains() {
    for name in [
        "chain-120",
        "floating-chain-50",
        "random-60-4",
        "spherical-chain-25",
    ] {
        let case = Case::at_rest(name, 3);
        let tau = vec![0.5; case.model.nv()];
        let analytic = case.inverse_derivatives();
        assert_close(&analytic.dq, &case.dual_efforts(true), TOLERANCE, name);
        assert_close(&analytic.dv, &case.dual_efforts(false), TOLERANCE, name);
        let mut dynamics = Dynamics::new(&case.model);
        let d = dynamics
            .forward_derivatives(&case.state, &tau, &[])
            .unwrap();
        assert_close(&d.dq, &case.dual_accelerations(true, &tau), TOLERANCE, name);
        assert_close(
            &d.dv,
            &case.dual_accelerations(false, &tau),
            TOLERANCE,
            name,
        );
        let inverse = d.dtau.clone();
        let mut factors = dynamics.factorization(&case.state).unwrap();
        assert_close(
            &inverse,
            &factors.inverse_matrix(&case.model),
            TOLERANCE,
            name,
        );
    }
}
