//! Derivatives against dual numbers, finite differences and the laws they obey.
//!
//! Differences are relative to the largest entry of the matrix. A dual number carries a derivative with the rounding errors
//! of the computation it differentiates, a few thousand times 1e-16; so does the recursion.

use catena::algorithm::derivatives::{
    CentroidalMomentum, InverseDerivatives, InverseDerivativesWork, centroidal_momentum,
    inverse_dynamics_derivatives,
};
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inertial_parameters, inverse_dynamics};
use catena::model::embedded;
use catena::random::Random;
use catena::residual::larger;
use catena::scalar::{Dual, Scalar};
use catena::spatial::{Force, Mat3, Motion, Pose, Vec3};
use catena::{Base, Batch, Cpu, Dynamics, Matrix, Model, State};
use catena_testing::draw::{motion, vector, wrenches};

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

impl Case {
    fn new(name: &str, seed: u64) -> Self {
        let model = embedded::model(name).unwrap();
        let mut random = Random::new(seed);
        let mut state = State::random(&model, seed);
        state.base = Base {
            pose: Pose::new(
                Mat3::from_quaternion(random.quaternion()),
                vector(&mut random, 1.0),
            ),
            velocity: motion(&mut random),
            acceleration: motion(&mut random),
        };
        let vdot = (0..model.nv()).map(|_| random.uniform(-1.0, 1.0)).collect();
        let external = wrenches(&mut random, &model, 1.0);
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
                state.view(),
                &vdot,
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
                state.view(),
                &tau,
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
            self.state.view(),
            &self.vdot,
            &self.external,
            &mut work,
            &mut derivatives,
        );
        derivatives
    }
}

fn size(matrix: &Matrix) -> f64 {
    matrix
        .as_slice()
        .iter()
        .fold(0.0, |m, x| larger(m, x.abs()))
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

/// Both paths of `Dynamics` agree with the generic function and with the inertia matrix of composite bodies.
#[test]
fn paths() {
    for (name, seed) in models() {
        let case = Case::new(&name, seed);
        let generic = case.inverse_derivatives();
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
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
            for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
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
        let by_q = case.dual_accelerations(true, &tau);
        let by_v = case.dual_accelerations(false, &tau);
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut dynamics = Dynamics::with_cpu(&case.model, cpu);
            let d = dynamics
                .forward_derivatives(&case.state, &tau, &[])
                .unwrap();
            assert_close(&d.dq, &by_q, TOLERANCE, name);
            assert_close(&d.dv, &by_v, TOLERANCE, name);
            let inverse = d.dtau.clone();
            let mut factors = dynamics.factorization(&case.state).unwrap();
            let expected = factors.inverse_matrix(&case.model);
            assert_close(&inverse, &expected, TOLERANCE, name);
        }
    }
}

/// Central differences: no dual number takes part. Their own error is 1e-6 squared and 1e-16 over 1e-6, times derivatives.
#[test]
fn finite_differences() {
    let step = 1e-6;
    for name in ["zoo", "space-robot", "random-9-11"] {
        let mut case = Case::new(name, 8);
        let nv = case.model.nv();
        let analytic = case.inverse_derivatives();
        let mut dynamics = Dynamics::new(&case.model);
        let mut dq = Matrix::zeros(nv, nv);
        let state = case.state.clone();
        for k in 0..nv {
            let mut efforts = [1.0, -1.0].map(|sign| {
                let mut delta = vec![0.0; nv];
                delta[k] = sign * step;
                case.state = state.clone();
                case.state.step(&case.model, &delta);
                dynamics
                    .inverse(&case.state, &case.vdot, &case.external)
                    .unwrap()
                    .to_vec()
            });
            for i in 0..nv {
                efforts[0][i] -= efforts[1][i];
                dq[(i, k)] = efforts[0][i] / (2.0 * step);
            }
        }
        assert_close(&analytic.dq, &dq, 1e-7, name);
    }
}

/// A base 10⁶ m away and as fast as a satellite: the same derivatives. Where it is does not enter at all.
#[test]
fn far_and_fast_base() {
    for name in ["space-robot", "floating-chain-9", "random-8-2"] {
        let mut near = Case::at_rest(name, 4);
        let reference = near.inverse_derivatives();
        near.state.base.pose.translation = Vec3::new(1e6, -2e6, 3e6);
        near.state.base.velocity.linear = Vec3::new(7e3, 1e3, -2e3);
        let far = near.inverse_derivatives();
        assert_close(&far.dq, &reference.dq, 1e-13, name);
        assert_close(&far.dv, &reference.dv, 1e-13, name);
    }
    // the free joint itself far out
    let mut case = Case::at_rest("floating-chain-9", 4);
    let reference = case.inverse_derivatives();
    for k in 0..3 {
        case.state.q[k] += 1e6;
    }
    let far = case.inverse_derivatives();
    assert_close(&far.dq, &reference.dq, 1e-13, "floating-chain-9");
    assert_close(&far.dv, &reference.dv, 1e-13, "floating-chain-9");
    let mut dynamics = Dynamics::new(&case.model);
    let a = dynamics
        .centroidal_momentum(&case.state)
        .unwrap()
        .matrix
        .clone();
    for k in 0..3 {
        case.state.q[k] -= 1e6;
    }
    let b = &dynamics.centroidal_momentum(&case.state).unwrap().matrix;
    assert_close(&a, b, 1e-13, "A_G");
}

/// Second derivatives: the analytic first ones run in dual numbers, against nested dual numbers through inverse dynamics, and
/// symmetric where δ are coordinates.
#[test]
fn second_derivatives() {
    type D2 = Dual<Dual<f64, 1>, 1>;
    for (name, coordinates) in [("chain-5", true), ("space-robot", false)] {
        let case = Case::at_rest(name, 9);
        let model = &case.model;
        let nv = model.nv();
        let state = case.dual_state(0, true);
        let mut work = InverseDerivativesWork::new(model);
        let mut derivatives = InverseDerivatives::new(model);
        let vdot: Vec<D> = case.vdot.iter().map(|&x| D::constant(x)).collect();
        inverse_dynamics_derivatives(model, state.view(), &vdot, &[], &mut work, &mut derivatives);
        let size = derivatives
            .dq
            .as_slice()
            .iter()
            .fold(1.0f64, |m, x| m.max(x.derivative[0].abs()));
        for j in 0..DIRECTIONS {
            for k in 0..nv {
                // ∂/∂q_j of column k: first the step along j, then along k
                let mut nested: State<D2> = case.state.lift();
                let mut delta = vec![D2::constant(0.0); nv];
                delta[j].derivative[0].value = 1.0;
                nested.step(model, &delta);
                let mut delta = vec![D2::constant(0.0); nv];
                delta[k].value.derivative[0] = 1.0;
                nested.step(model, &delta);
                let vdot: Vec<D2> = case.vdot.iter().map(|&x| D2::constant(x)).collect();
                let mut tau = vec![D2::constant(0.0); nv];
                let mut recursion = InverseDynamics::new(model);
                inverse_dynamics(model, nested.view(), &vdot, &[], &mut recursion, &mut tau);
                for i in 0..nv {
                    let found = derivatives.dq[(i, k)].derivative[j];
                    let known = tau[i].derivative[0].derivative[0];
                    assert!(
                        (found - known).abs() <= 1e-11 * size,
                        "{name}: {found} {known}"
                    );
                    if coordinates {
                        let mirrored = derivatives.dq[(i, j)].derivative;
                        if k < DIRECTIONS {
                            assert!((found - mirrored[k]).abs() <= 1e-11 * size, "{name}");
                        }
                    }
                }
            }
        }
    }
}

/// τ = Y π, and ∂τ/∂w = −Jᵀ.
#[test]
fn regressor_and_wrenches() {
    for (name, seed) in models() {
        let mut case = Case::new(&name, seed);
        let mut dynamics = Dynamics::new(&case.model);
        let loaded = dynamics
            .inverse(&case.state, &case.vdot, &case.external)
            .unwrap()
            .to_vec();
        let free = dynamics
            .inverse(&case.state, &case.vdot, &[])
            .unwrap()
            .to_vec();
        // wrenches, through the Jacobians of the bodies
        let mut by_wrenches = free.clone();
        for body in case.model.bodies() {
            let j = dynamics.body_jacobian(&case.state, body).unwrap();
            let efforts = j.transpose().times(&case.external[body].to_array());
            for (tau, effort) in by_wrenches.iter_mut().zip(efforts) {
                *tau -= effort;
            }
        }
        let size = loaded.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        for (a, b) in by_wrenches.iter().zip(&loaded) {
            assert!((a - b).abs() <= 1e-12 * size, "{name}: {a} {b}");
        }
        // inertias, without what is not the inertia of a body
        case.model = case.model.clone().without_passive_forces();
        let mut dynamics = Dynamics::new(&case.model);
        let mut tau = dynamics
            .inverse(&case.state, &case.vdot, &[])
            .unwrap()
            .to_vec();
        for (k, tau) in tau.iter_mut().enumerate() {
            *tau -= case.model.dof(k).armature * case.vdot[k];
        }
        let parameters: Vec<f64> = inertial_parameters(&case.model);
        let y = dynamics.regressor(&case.state, &case.vdot).unwrap();
        for (a, b) in y.times(&parameters).iter().zip(&tau) {
            assert!((a - b).abs() <= 1e-12 * size, "{name}: {a} {b}");
        }
    }
}

/// A_G v is the momentum of the bodies, Ȧ_G the rate of A_G.
#[test]
fn centroidal() {
    for (name, seed) in models() {
        let mut case = Case::new(&name, seed);
        case.state.base.velocity = Motion::zero();
        case.state.base.acceleration = Motion::zero();
        let mut dynamics = Dynamics::new(&case.model);
        let known = dynamics.mechanical_state(&case.state).unwrap();
        let c = dynamics.centroidal_momentum(&case.state).unwrap().clone();
        let h = c.matrix.times(&case.state.v);
        let spin = known.momentum.moment - known.centre.cross(known.momentum.force);
        let size = h.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let expected = Force::new(spin, known.momentum.force).to_array();
        for (a, b) in h.iter().zip(expected) {
            assert!((a - b).abs() <= 1e-12 * size, "{name}: {a} {b}");
        }
        let bias = c.rate.times(&case.state.v);
        for (a, b) in bias.iter().zip(c.bias.to_array()) {
            assert!((a - b).abs() <= 1e-11 * size, "{name}: {a} {b}");
        }
        // the state moving in time: q ⊕ v t
        let mut moving: State<D> = case.state.lift();
        let mut delta = vec![D::constant(0.0); case.model.nv()];
        for (d, v) in delta.iter_mut().zip(&case.state.v) {
            d.derivative[0] = *v;
        }
        moving.step(&case.model, &delta);
        let mut dual = CentroidalMomentum::new(&case.model);
        centroidal_momentum(&case.model, moving.view(), &mut dual);
        let mut rate = Matrix::zeros(6, case.model.nv());
        for (to, from) in rate.as_mut_slice().iter_mut().zip(dual.matrix.as_slice()) {
            *to = from.derivative[0];
        }
        assert_close(&c.rate, &rate, TOLERANCE, &format!("rate of A_G of {name}"));
    }
}

/// A robot that floats with zero momentum: its end effector moves by J*, and the base conserves momentum.
#[test]
fn generalized_jacobian() {
    for name in ["space-robot", "floating-chain-9"] {
        let mut case = Case::at_rest(name, 6);
        let model = case.model.clone();
        let mut dynamics = Dynamics::new(&model);
        let frame = model.tree().frames.last().unwrap().clone();
        let star = dynamics
            .generalized_jacobian(&case.state, &frame)
            .unwrap()
            .clone();
        let rates: Vec<f64> = case.state.v[6..].to_vec();
        // base rates by the inertia matrix: its first rows are the momenta conjugate to the base
        let inertia = dynamics.inertia(&case.state).unwrap().clone();
        let mut conjugate = Matrix::zeros(6, 6);
        let mut rhs = [0.0; 6];
        for i in 0..6 {
            for j in 0..6 {
                conjugate[(i, j)] = inertia[(i, j)];
            }
            for (k, rate) in rates.iter().enumerate() {
                rhs[i] -= inertia[(i, k + 6)] * rate;
            }
        }
        let base = solve_positive(&conjugate, &rhs);
        case.state.v[..6].copy_from_slice(&base);
        let momentum = dynamics.mechanical_state(&case.state).unwrap().momentum;
        for x in momentum.to_array() {
            assert!(x.abs() < 1e-12, "{name}: momentum {x:e}");
        }
        let twist = dynamics
            .jacobian(&case.state, &frame)
            .unwrap()
            .times(&case.state.v);
        for (a, b) in star.times(&rates).iter().zip(&twist) {
            assert!((a - b).abs() < 1e-12, "{name}: {a} {b}");
        }
    }
    let chain = embedded::model("chain-3").unwrap();
    let error = Dynamics::new(&chain)
        .generalized_jacobian(&State::neutral(&chain), &chain.tree().frames[0].clone())
        .unwrap_err();
    assert!(
        error.to_string().contains("does not float freely"),
        "{error}"
    );
}

/// Gaussian elimination of a small positive definite system.
fn solve_positive(a: &Matrix, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let (mut a, mut x) = (a.clone(), b.to_vec());
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[(i, k)] / a[(k, k)];
            for j in k..n {
                a[(i, j)] -= factor * a[(k, j)];
            }
            x[i] -= factor * x[k];
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            x[k] -= a[(k, j)] * x[j];
        }
        x[k] /= a[(k, k)];
    }
    x
}

/// Λ J I⁻¹ Jᵀ = 1, a unit wrench at the frame gives the acceleration Λ⁻¹, and a singular task is refused.
#[test]
fn operational_space() {
    for name in ["chain-7", "space-robot", "floating-chain-9"] {
        let case = Case::at_rest(name, 12);
        let mut dynamics = Dynamics::new(&case.model);
        let frame = case.model.tree().frames.last().unwrap().clone();
        let found = dynamics.operational_inertia(&case.state, &frame).unwrap();
        assert_close(
            &found.inertia.product(&found.inverse),
            &Matrix::identity(6),
            1e-10,
            name,
        );
        let jacobian = dynamics.jacobian(&case.state, &frame).unwrap().clone();
        assert_close(
            &jacobian.product(&found.consistent_inverse),
            &Matrix::identity(6),
            1e-10,
            name,
        );
        let inverse = dynamics.inverse_inertia(&case.state).unwrap();
        let dense = jacobian.product(inverse).product(&jacobian.transpose());
        assert_close(&found.inverse, &dense, 1e-12, name);
    }
    // three joints cannot accelerate a frame in six directions
    let arm = embedded::model("planar3").unwrap();
    let mut dynamics = Dynamics::new(&arm);
    let frame = arm.tree().frames.last().unwrap().clone();
    let error = dynamics
        .operational_inertia(&State::random(&arm, 1), &frame)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("there is no operational-space inertia"),
        "{error}"
    );
}

/// Lanes give what single calls give, for any number of states, on every path.
#[test]
fn batches() {
    for name in [
        "zoo",
        "chain-7",
        "random-30-5",
        "floating-chain-20",
        "spherical-chain-10",
        "random-40-9",
    ] {
        let model = embedded::model(name).unwrap();
        let nv = model.nv();
        let base = match name {
            "random-40-9" => Case::new(name, 2).state.base,
            _ => Base::fixed(),
        };
        let states: Vec<State> = (0..11)
            .map(|k| State {
                base,
                ..State::random(&model, k)
            })
            .collect();
        let input: Vec<f64> = (0..11 * nv).map(|k| (k as f64 * 0.7).sin()).collect();
        let mut dynamics = Dynamics::new(&model);
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut batch = Batch::with_cpu(&model, cpu).threads(2);
            batch.set_base(base).unwrap();
            for count in [1, 8, 11] {
                let q: Vec<f64> = states[..count].iter().flat_map(|s| s.q.clone()).collect();
                let v: Vec<f64> = states[..count].iter().flat_map(|s| s.v.clone()).collect();
                let size = nv * nv;
                let mut inverse = vec![f64::NAN; count * 2 * size];
                let mut forward = vec![f64::NAN; count * 3 * size];
                let x = &input[..count * nv];
                batch.inverse_derivatives(&q, &v, x, &mut inverse).unwrap();
                batch.forward_derivatives(&q, &v, x, &mut forward).unwrap();
                for (k, state) in states[..count].iter().enumerate() {
                    let x = &input[k * nv..(k + 1) * nv];
                    // matrix number `at` of the batch
                    let of = |matrices: &[f64], at: usize| {
                        let mut one = Matrix::zeros(nv, nv);
                        one.as_mut_slice()
                            .copy_from_slice(&matrices[at * size..(at + 1) * size]);
                        one
                    };
                    let single = dynamics.inverse_derivatives(state, x, &[]).unwrap();
                    assert_close(&of(&inverse, 2 * k), &single.dq, 1e-12, name);
                    assert_close(&of(&inverse, 2 * k + 1), &single.dv, 1e-12, name);
                    let single = dynamics.forward_derivatives(state, x, &[]).unwrap();
                    assert_close(&of(&forward, 3 * k), &single.dq, TOLERANCE, name);
                    assert_close(&of(&forward, 3 * k + 1), &single.dv, TOLERANCE, name);
                    assert_close(&of(&forward, 3 * k + 2), &single.dtau, TOLERANCE, name);
                }
            }
        }
    }
}

/// One freedom is so fast that its square overflows: every method refuses. It is the last one, in a register
/// that is not full, or on one branch of several.
#[test]
fn what_overflows_is_refused() {
    for name in ["chain-9", "chain-24", "random-30-5", "zoo"] {
        let model = embedded::model(name).unwrap();
        let nv = model.nv();
        let mut fast = State::random(&model, 1);
        fast.v[nv - 1] = 1e200;
        let x = vec![0.5; nv];
        let usual = State::random(&model, 2);
        let (q, v) = (
            [&usual.q[..], &fast.q].concat(),
            [&usual.v[..], &fast.v].concat(),
        );
        let many = [&x[..], &x].concat();
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let mut dynamics = Dynamics::with_cpu(&model, cpu);
            let told = |error: catena::Error| {
                let told = error.to_string();
                assert!(told.contains("overflows"), "{name} {cpu:?}: {told}");
            };
            told(
                dynamics
                    .inverse_derivatives(&fast, &x, &[])
                    .map(drop)
                    .unwrap_err(),
            );
            told(
                dynamics
                    .forward_derivatives(&fast, &x, &[])
                    .map(drop)
                    .unwrap_err(),
            );
            dynamics.inverse_derivatives(&usual, &x, &[]).unwrap();
            let mut batch = Batch::with_cpu(&model, cpu);
            let mut out = vec![0.0; 6 * nv * nv];
            let inverse = &mut out[..4 * nv * nv];
            told(
                batch
                    .inverse_derivatives(&q, &v, &many, inverse)
                    .unwrap_err(),
            );
            told(
                batch
                    .forward_derivatives(&q, &v, &many, &mut out)
                    .unwrap_err(),
            );
        }
    }
}
