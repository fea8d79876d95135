//! Laws that any model must satisfy, checked on random states by independent methods.
//!
//! Each law compares two computations of a quantity that share as little code as possible, or a conservation law whose two
//! sides come from different algorithms. `catena check MODEL` prints the table; the test suite runs it on hundreds of random
//! trees.
//!
//! Tolerances are relative to the magnitude of the compared quantities. A law that only multiplies and adds must hold to
//! 1e-11: a few thousand roundings of 1e-16 each. Where a linear system is solved the result cannot be better than its
//! condition number allows, and the tolerance is 1e-13 times Skeel's ‖|I⁻¹| |I|‖ (which does not depend on units), never below
//! 1e-11; where large wrenches cancel, their rounding errors times |I⁻¹| are allowed as well. Efforts recovered through
//! articulated inertias of very unequal bodies lose more than 1e-13: 30 times their change under a perturbation of the model's
//! last digits is allowed.
//!
//! A tolerance above [`DECIDED`] means that the model is too ill-conditioned for a law to be decided in `f64`: a residual between the two is neither
//! a confirmation nor a failure ([`Verdict`]).

mod energy_and_momentum;
mod force_elements;
mod inverse_and_forward;
mod jacobian;
mod kinematics;
mod matrices;
mod paths;
mod rotated_world;

use crate::algorithm::factorization::Factorization;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::random::Random;
use crate::residual::{difference, larger, largest, ratio, within};
use crate::scalar::{Dual, Scalar};
use crate::spatial::{AngularRate, Force, Mat3, Motion, Pose, Vec3};
use crate::state::{Base, State, StateView};

/// The outcome of one law: its worst residual over all states.
#[derive(Clone, Debug)]
pub struct LawResult {
    /// The law.
    pub law: &'static str,
    /// The two methods compared.
    pub routes: &'static str,
    /// Worst relative residual.
    pub residual: f64,
    /// The limit, at the state of the worst residual.
    pub tolerance: f64,
}

/// What the residual of a law says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The law holds, to [`DECIDED`] at least.
    Holds,
    /// The model is so ill-conditioned that round-off may explain the residual, or a missing result: the law is neither confirmed nor refuted.
    Undecided,
    /// The law does not hold.
    Fails,
}

/// Largest residual that confirms a law, even where the condition number of the model allows a larger one.
pub const DECIDED: f64 = 1e-6;

impl LawResult {
    /// Whether the law holds.
    pub fn verdict(&self) -> Verdict {
        if within(self.residual, self.tolerance.min(DECIDED)) {
            Verdict::Holds
        } else if self.is_ill_conditioned()
            && (!self.residual.is_finite() || within(self.residual, self.tolerance))
        {
            Verdict::Undecided
        } else {
            Verdict::Fails
        }
    }

    /// Is the verdict that the law holds? Neither a law that fails nor one that is undecided does.
    pub fn holds(&self) -> bool {
        self.verdict() == Verdict::Holds
    }

    /// Whether the model is so ill-conditioned that a residual is inconclusive; never, if the condition number is unknown.
    fn is_ill_conditioned(&self) -> bool {
        self.tolerance > DECIDED && self.tolerance.is_finite()
    }

    /// The residual in units of the limit; infinite where either is NaN or unusable.
    fn excess(&self) -> f64 {
        let excess = self.residual / self.tolerance;
        if self.tolerance.is_finite() && !excess.is_nan() {
            excess
        } else {
            f64::INFINITY
        }
    }
}

/// Laws that need dense matrices are left out for models with more freedoms than this.
pub const DENSE_LIMIT: usize = 400;

/// A law that only multiplies and adds.
const ROUNDING: f64 = 1e-11;

/// Allowed error of recovered efforts, in units of their change under a perturbation of the model's last digits.
const ROUNDINGS: f64 = 30.0;

type D1 = Dual<f64, 1>;

/// Runs every law on `states` random states.
pub fn run(model: &Model, states: usize, seed: u64) -> Vec<LawResult> {
    let mut results = Results::default();
    // the laws are those of trees: loops are open, and force elements have a separate law
    let whole = &model.clone().open_tree();
    let model = &whole.clone().without_forces();
    let rigid = model.clone().without_passive_forces();
    for k in 0..states.max(1) {
        let mut case = Case::random(model, seed.wrapping_add(k as u64 * 7919));
        case.inverse_and_forward(&mut results);
        case.paths(&mut results);
        case.kinematics(&mut results);
        case.energy_and_momentum(&mut results);
        case.rotated_world(&mut results);
        if !whole.forces().is_empty() {
            case.of(whole).force_elements(&mut results);
        }
        if model.nv() <= DENSE_LIMIT {
            case.base_at_rest();
            case.matrices(&rigid, &mut results);
            case.jacobian(&rigid, &mut results);
        }
    }
    results.0
}

/// Results of laws, the worst of each.
#[derive(Clone, Debug, Default)]
pub struct Results(pub Vec<LawResult>);

impl Results {
    /// Adds the residual of a law at one state.
    pub fn add(&mut self, law: &'static str, routes: &'static str, residual: f64, tolerance: f64) {
        let found = LawResult {
            law,
            routes,
            // NaN must not look like a small residual
            residual: if residual.is_nan() {
                f64::INFINITY
            } else {
                residual
            },
            // a residual up to `DECIDED` confirms the law whatever the condition number; a yes-or-no law has the residual 0 or 1 and keeps its limit
            tolerance: match residual > 0.0 && residual <= DECIDED {
                true => tolerance.min(DECIDED),
                false => tolerance,
            },
        };
        match self
            .0
            .iter_mut()
            .find(|r| r.law == law && r.routes == routes)
        {
            Some(known)
                if (found.verdict(), found.excess()) > (known.verdict(), known.excess()) =>
            {
                *known = found;
            }
            Some(_) => {}
            None => self.0.push(found),
        }
    }
}

/// A model with a random state, motion of the base, efforts and external wrenches.
struct Case<'a> {
    model: &'a Model,
    state: State,
    vdot: Vec<f64>,
    external: Vec<Force<f64>>,
    random: Random,
}

impl<'a> Case<'a> {
    fn random(model: &'a Model, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xCA7E);
        let mut state = State::random(model, seed);
        state.base = random_base(&mut random);
        let vdot = (0..model.nv()).map(|_| random.uniform(-1.0, 1.0)).collect();
        // wrenches of the order of a body's weight, at arms of the order of the bodies
        let external = (0..=model.body_count())
            .map(|i| {
                let inertia = model.bodies[i].inertia;
                let arm = (inertia.second.trace() / inertia.mass.max(1e-300)).sqrt();
                let weight = 5.0 * inertia.mass;
                Force::new(
                    vector(&mut random) * (weight * arm),
                    vector(&mut random) * weight,
                )
            })
            .collect();
        Case {
            model,
            state,
            vdot,
            external,
            random,
        }
    }

    /// The situation transferred to another model.
    fn of<'b>(&self, model: &'b Model) -> Case<'b> {
        Case {
            model,
            state: self.state.clone(),
            vdot: self.vdot.clone(),
            external: self.external.clone(),
            random: Random::new(1),
        }
    }

    fn base_at_rest(&mut self) {
        self.state.base = Base::fixed();
    }

    fn inverse(&self, vdot: &[f64]) -> (Vec<f64>, InverseDynamics<f64>) {
        let mut work = InverseDynamics::new(self.model);
        let mut tau = vec![0.0; self.model.nv()];
        let s = &self.state;
        inverse_dynamics(
            self.model,
            s.view(),
            vdot,
            &self.external,
            &mut work,
            &mut tau,
        );
        (tau, work)
    }

    fn forward(&self, tau: &[f64]) -> Vec<f64> {
        let mut work = ForwardDynamics::new(self.model);
        let mut vdot = vec![0.0; self.model.nv()];
        let s = &self.state;
        forward_dynamics(
            self.model,
            s.view(),
            tau,
            &self.external,
            &mut work,
            &mut vdot,
        );
        vdot
    }

    /// Largest sum over the joints of the magnitudes of the wrenches of all bodies beyond. Rounding errors
    /// of an effort are of the order of 1e-16 times this, however much the sum itself cancels.
    fn effort_scale(&self, vdot: &[f64]) -> f64 {
        largest(&self.effort_bounds(vdot))
    }

    /// The bound of [`effort_scale`](Self::effort_scale) for every freedom.
    fn effort_bounds(&self, vdot: &[f64]) -> Vec<f64> {
        let (model, s) = (self.model, &self.state);
        let mut work = Kinematics::new(model);
        forward_kinematics(model, s.view(), vdot, &mut work);
        let n = model.body_count();
        let (mut moment, mut force) = (vec![0.0; n + 1], vec![0.0; n + 1]);
        for i in (1..=n).rev() {
            let gravity = work.world_from_body[i]
                .rotation
                .transpose_times(model.gravity());
            let (inertia, v, a) = (
                model.inertia::<f64>(i),
                work.velocity[i],
                work.acceleration[i],
            );
            let own =
                inertia.newton_euler(AngularRate::new(v.angular, a.angular), a.linear - gravity);
            moment[i] += own.moment.norm() + self.external[i].moment.norm();
            force[i] += own.force.norm() + self.external[i].force.norm();
            let parent = model.tree().parent(i);
            let arm = work.pose[i].translation.norm();
            moment[parent] += moment[i] + arm * force[i];
            force[parent] += force[i];
        }
        model
            .tree()
            .dofs
            .iter()
            .map(|dof| moment[dof.body].max(force[dof.body]))
            .collect()
    }

    /// The state moving in time, as dual numbers: derivative = rate of change.
    fn moving_state(&self, vdot: &[f64]) -> State<D1> {
        let s = &self.state;
        let mut moving: State<D1> = s.lift();
        let rates: Vec<D1> = s.v.iter().map(|&v| dual(0.0, v)).collect();
        moving.step(self.model, &rates);
        for (v, (&value, &rate)) in moving.v.iter_mut().zip(s.v.iter().zip(vdot)) {
            *v = dual(value, rate);
        }
        moving.base = moving_base(&s.base);
        moving
    }

    /// The state moving in time, and where it carries the bodies: derivatives of poses are velocities, those of velocities
    /// accelerations.
    fn moving_kinematics(&self) -> (State<D1>, Kinematics<D1>) {
        let model = self.model;
        let moving = self.moving_state(&self.vdot);
        let mut work = Kinematics::new(model);
        let still = vec![D1::constant(0.0); model.nv()];
        forward_kinematics(model, moving.view(), &still, &mut work);
        (moving, work)
    }
}

fn plain_inverse(model: &Model, q: &[f64], v: &[f64], vdot: &[f64]) -> Vec<f64> {
    let mut tau = vec![0.0; model.nv()];
    inverse_dynamics(
        model,
        StateView {
            q,
            v,
            base: &Base::fixed(),
        },
        vdot,
        &[],
        &mut InverseDynamics::new(model),
        &mut tau,
    );
    tau
}

/// ‖|I⁻¹| |I|‖∞.
fn skeel_condition(model: &Model, q: &[f64], factors: &mut Factorization<f64>) -> f64 {
    let nv = model.nv();
    let mut inertia = Matrix::zeros(nv, nv);
    inertia_matrix(
        model,
        q,
        &mut CompositeBodies::new(model),
        inertia.as_mut_slice(),
    );
    let ones = vec![1.0; nv];
    let rows = absolute(&inertia).times(&ones);
    let inverse = absolute(&factors.inverse_matrix(model));
    largest(&inverse.times(&rows))
}

fn solving(condition: f64) -> f64 {
    (1e-13 * condition).max(ROUNDING)
}

fn absolute(m: &Matrix) -> Matrix {
    let mut a = m.clone();
    a.as_mut_slice().iter_mut().for_each(|x| *x = x.abs());
    a
}

/// The difference of two lists relative to the larger of them.
fn relative(a: &[f64], b: &[f64]) -> f64 {
    ratio(difference(a, b), larger(largest(a), largest(b)))
}

fn dual(value: f64, rate: f64) -> D1 {
    Dual {
        value,
        derivative: [rate],
    }
}

fn derivative(v: Vec3<D1>) -> Vec3<f64> {
    v.map(|x| x.derivative[0])
}

fn vector(random: &mut Random) -> Vec3<f64> {
    Vec3::new(
        random.uniform(-2.0, 2.0),
        random.uniform(-2.0, 2.0),
        random.uniform(-2.0, 2.0),
    )
}

fn random_base(random: &mut Random) -> Base<f64> {
    Base {
        pose: Pose::new(Mat3::from_quaternion(random.quaternion()), vector(random)),
        velocity: Motion::new(vector(random), vector(random)),
        acceleration: Motion::new(vector(random), vector(random)),
    }
}

/// The base moving in time: derivative = rate of change.
fn moving_base(base: &Base<f64>) -> Base<D1> {
    let pair =
        |a: Vec3<f64>, b: Vec3<f64>| Vec3::new(dual(a.x, b.x), dual(a.y, b.y), dual(a.z, b.z));
    let r = base.pose.rotation;
    let spin = r.cross_columns(base.velocity.angular);
    Base {
        pose: Pose::new(
            Mat3::from_columns(pair(r.x, spin.x), pair(r.y, spin.y), pair(r.z, spin.z)),
            pair(base.pose.translation, base.velocity.linear),
        ),
        velocity: Motion::new(
            pair(base.velocity.angular, base.acceleration.angular),
            pair(base.velocity.linear, base.acceleration.linear),
        ),
        acceleration: Motion::zero(),
    }
}
