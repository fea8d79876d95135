//! Laws that any model must satisfy, checked on random states by independent methods.
//!
//! Each law compares two computations of a quantity that share as little code as possible, or a conservation law whose two
//! sides come from different algorithms. `catena check MODEL` prints the table; the test suite runs it on hundreds of random
//! trees.
//!
//! Tolerances are relative to the magnitude of what is compared. A law that only multiplies and adds must hold to 1e-11: a few
//! thousand roundings of 1e-16 each. Where a linear system is solved the result cannot be better than its condition number
//! allows, and the tolerance is 1e-13 times Skeel's ‖|I⁻¹| |I|‖ (which does not depend on units), never below 1e-11; where
//! large wrenches cancel, their rounding errors times |I⁻¹| are allowed as well. Efforts recovered through
//! articulated inertias of very unequal bodies lose more than 1e-13: 30 times their change under a perturbation of the model's
//! last digits is allowed.

use crate::algorithm::elements;
use crate::algorithm::energy::mechanical_state;
use crate::algorithm::factorization::{Factorization, reverse_gaussian_elimination};
use crate::algorithm::forward_dynamics::{
    ForwardDynamics, WalkerOrin, forward_dynamics, forward_dynamics_walker_orin,
};
use crate::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics, frame_jacobian};
use crate::algorithm::passive;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::random::Random;
use crate::residual::{difference, larger, largest, largest_of, ratio, within};
use crate::scalar::{Dual, Scalar};
use crate::spatial::{AngularRate, Force, Mat3, Motion, Pose, Vec3};
use crate::state::{Base, State};
use crate::{Cpu, Dynamics};

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

impl LawResult {
    /// Does the law hold?
    pub fn holds(&self) -> bool {
        within(self.residual, self.tolerance)
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
    // the laws are those of trees: loops are open, and force elements have one of their own
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
            tolerance,
        };
        match self
            .0
            .iter_mut()
            .find(|r| r.law == law && r.routes == routes)
        {
            Some(known) if found.excess() > known.excess() => *known = found,
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
            &s.q,
            &s.v,
            vdot,
            &s.base,
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
            &s.q,
            &s.v,
            tau,
            &s.base,
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

    /// That sum for every freedom.
    fn effort_bounds(&self, vdot: &[f64]) -> Vec<f64> {
        let (model, s) = (self.model, &self.state);
        let mut work = Kinematics::new(model);
        forward_kinematics(model, &s.q, &s.v, vdot, &s.base, &mut work);
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

    fn inverse_and_forward(&mut self, results: &mut Results) {
        let model = self.model;
        // efforts → accelerations → efforts, in units of the wrenches that pass through the joints
        let tau: Vec<f64> = self.vdot.iter().map(|x| 10.0 * x).collect();
        let vdot = self.forward(&tau);
        let (back, _) = self.inverse(&vdot);
        let scale = self.effort_scale(&vdot);
        let changed = model.with_other_last_digits(1);
        let changed = self.of(&changed);
        let (moved, _) = self.inverse(&changed.forward(&tau));
        results.add(
            "inverse dynamics returns the efforts",
            "forward (UDUᵀ), then inverse",
            ratio(difference(&back, &tau), scale),
            (1e-13f64).max(ROUNDINGS * ratio(difference(&moved, &back), scale)),
        );
        if model.nv() <= DENSE_LIMIT {
            let mut factors = Factorization::new(model);
            factors.factorize(model, &self.state.q);
            let condition = skeel_condition(model, &self.state.q, &mut factors);
            let (tau, _) = self.inverse(&self.vdot);
            let again = self.forward(&tau);
            // where large wrenches cancel, accelerations cannot be better than their rounding errors times I⁻¹
            let rounding =
                absolute(&factors.inverse_matrix(model)).times(&self.effort_bounds(&self.vdot));
            let tolerance =
                solving(condition).max(1e-14 * largest(&rounding) / largest(&self.vdot));
            results.add(
                "forward dynamics returns the accelerations",
                "inverse, then forward (UDUᵀ)",
                relative(&again, &self.vdot),
                tolerance,
            );
            let mut work = WalkerOrin::new(model);
            let mut twin = vec![0.0; model.nv()];
            let s = &self.state;
            forward_dynamics_walker_orin(
                model,
                &s.q,
                &s.v,
                &tau,
                &s.base,
                &self.external,
                &mut work,
                &mut twin,
            );
            results.add(
                "accelerations",
                "UDUᵀ and Walker–Orin",
                relative(&again, &twin),
                tolerance,
            );
        }
    }

    /// All compiled paths agree.
    fn paths(&mut self, results: &mut Results) {
        let tau: Vec<f64> = self.vdot.iter().map(|x| 3.0 * x).collect();
        let mut plain = Dynamics::with_cpu(self.model, Cpu::Baseline);
        let mut best = Dynamics::new(self.model);
        let (a, b) = (
            plain.inverse(&self.state, &self.vdot, &self.external),
            best.inverse(&self.state, &self.vdot, &self.external),
        );
        let residual = match (a, b) {
            (Ok(a), Ok(b)) => relative(a, b),
            _ => f64::INFINITY,
        };
        results.add(
            "efforts",
            "baseline and this processor's path",
            residual,
            ROUNDING,
        );
        let (a, b) = (
            plain
                .forward(&self.state, &tau, &self.external)
                .map(<[f64]>::to_vec),
            best.forward(&self.state, &tau, &self.external)
                .map(<[f64]>::to_vec),
        );
        // compared through inverse dynamics: in units of effort the condition number does not enter
        let residual = match (a, b) {
            (Ok(a), Ok(b)) => {
                let (ta, _) = self.inverse(&a);
                let (tb, _) = self.inverse(&b);
                ratio(difference(&ta, &tb), self.effort_scale(&a))
            }
            _ => f64::INFINITY,
        };
        results.add(
            "accelerations",
            "baseline and this processor's path",
            residual,
            ROUNDING,
        );
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
        forward_kinematics(model, &moving.q, &moving.v, &still, &moving.base, &mut work);
        (moving, work)
    }

    fn kinematics(&mut self, results: &mut Results) {
        let model = self.model;
        let s = &self.state;
        let mut work = Kinematics::new(model);
        forward_kinematics(model, &s.q, &s.v, &self.vdot, &s.base, &mut work);
        let (_, dual_work) = self.moving_kinematics();
        let (mut velocity, mut acceleration) = (0.0f64, 0.0f64);
        let (mut v_size, mut a_size) = (1e-3f64, 1e-3f64);
        for frame in &model.tree().frames {
            let pose = dual_work.frame_pose(frame);
            let rate = derivative(pose.translation);
            let spin = derivative_matrix(pose.rotation) * value_matrix(pose.rotation).transpose();
            let known = work.frame_velocity(frame);
            let omega = Vec3::new(spin.y.z, spin.z.x, spin.x.y);
            velocity = largest_of([
                velocity,
                (rate - known.linear).norm(),
                (omega - known.angular).norm(),
            ]);
            v_size = v_size.max(known.linear.norm()).max(known.angular.norm());
            let rate = dual_work.frame_velocity(frame);
            let known = work.frame_acceleration(frame);
            acceleration = largest_of([
                acceleration,
                (derivative(rate.linear) - known.linear).norm(),
                (derivative(rate.angular) - known.angular).norm(),
            ]);
            a_size = a_size.max(known.linear.norm()).max(known.angular.norm());
        }
        results.add(
            "velocities of all frames",
            "recursion and rate of the poses",
            ratio(velocity, v_size),
            ROUNDING,
        );
        results.add(
            "accelerations of all frames",
            "recursion and rate of the velocities",
            ratio(acceleration, a_size),
            ROUNDING,
        );
    }

    fn energy_and_momentum(&mut self, results: &mut Results) {
        let model = self.model;
        let (tau, work) = self.inverse(&self.vdot);
        let s = &self.state;
        let mut kinematics = Kinematics::new(model);
        forward_kinematics(model, &s.q, &s.v, &self.vdot, &s.base, &mut kinematics);
        let (moving, dual_work) = self.moving_kinematics();
        let energies = mechanical_state(model, &moving.q, &moving.v, &dual_work);

        // power of the motors, minus dissipation by damping and friction, plus base and external wrenches
        let base_twist = kinematics.velocity[0];
        let mut power = work.base_reaction().dot(base_twist);
        let mut size = power.abs();
        for k in 0..model.nv() {
            power += (tau[k] - passive::dissipative_force(model, &s.v, k)) * s.v[k];
            size = size.max((tau[k] * s.v[k]).abs());
        }
        for i in model.bodies() {
            let term = self.external[i].dot(kinematics.velocity[i]);
            power += term;
            size = size.max(term.abs());
        }
        let rate = (energies.kinetic + energies.gravitational + energies.elastic).derivative[0];
        size = size.max(energies.kinetic.derivative[0].abs());
        results.add(
            "energy rate = power",
            "energies by dual numbers, efforts by inverse dynamics",
            ratio((rate - power).abs(), size),
            ROUNDING,
        );

        let mut wrench = kinematics.world_from_body[0].force_out(work.base_reaction());
        let mut total = crate::spatial::RigidInertia::zero();
        for i in model.bodies() {
            wrench += kinematics.world_from_body[i].force_out(self.external[i]);
            total = total
                + model
                    .inertia::<f64>(i)
                    .seen_from(kinematics.world_from_body[i]);
        }
        let weight = Force::new(
            total.first.cross(model.gravity()),
            model.gravity() * total.mass,
        );
        wrench += weight;
        let rate = energies.momentum;
        let residual = larger(
            (derivative(rate.moment) - wrench.moment).norm(),
            (derivative(rate.force) - wrench.force).norm(),
        );
        let loads = self.external.iter().map(|f| f.force.norm());
        let size = largest_of(loads.chain([wrench.moment.norm(), wrench.force.norm()]));
        results.add(
            "momentum rate = external wrenches",
            "momentum by dual numbers, reaction by inverse dynamics",
            ratio(residual, size),
            ROUNDING,
        );
    }

    /// What an element's wrenches do comes from its energy, or from outside, or is dissipated.
    fn force_elements(&self, results: &mut Results) {
        let (model, s) = (self.model, &self.state);
        let mut kinematics = Kinematics::new(model);
        forward_kinematics(model, &s.q, &s.v, &self.vdot, &s.base, &mut kinematics);
        let (_, moving) = self.moving_kinematics();
        for element in model.forces() {
            let mut wrenches = vec![Force::zero(); model.body_count() + 1];
            let action = elements::act(element, model, &kinematics, &mut wrenches);
            let mut unused = vec![Force::zero(); model.body_count() + 1];
            let rate = elements::act(element, model, &moving, &mut unused)
                .energy
                .derivative[0];
            let powers = wrenches.iter().zip(&kinematics.velocity);
            let powers: Vec<f64> = powers.map(|(wrench, v)| wrench.dot(*v)).collect();
            let residual = powers.iter().sum::<f64>() + rate + action.dissipated - action.work;
            let others = [rate, action.dissipated, action.work];
            let size = larger(largest(&powers), largest(&others));
            results.add(
                "power of force elements = work − energy rate − dissipation",
                "wrenches and velocities, energies by dual numbers",
                ratio(residual.abs(), size),
                ROUNDING,
            );
        }
    }

    fn rotated_world(&mut self, results: &mut Results) {
        let (tau, _) = self.inverse(&self.vdot);
        let turn = Mat3::from_quaternion(self.random.quaternion());
        let g = turn * self.model.gravity();
        let rotated = self.model.clone().with_gravity(g.to_array());
        let b = &self.state.base;
        let turned = |m: Motion<f64>| Motion::new(turn * m.angular, turn * m.linear);
        let base = Base {
            pose: Pose::new(turn * b.pose.rotation, turn * b.pose.translation),
            velocity: turned(b.velocity),
            acceleration: turned(b.acceleration),
        };
        let s = &self.state;
        let mut work = InverseDynamics::new(&rotated);
        let mut again = vec![0.0; rotated.nv()];
        inverse_dynamics(
            &rotated,
            &s.q,
            &s.v,
            &self.vdot,
            &base,
            &self.external,
            &mut work,
            &mut again,
        );
        results.add(
            "efforts do not change",
            "the world rotated",
            relative(&again, &tau),
            ROUNDING,
        );
    }

    fn matrices(&mut self, rigid: &Model, results: &mut Results) {
        let (model, s) = (self.model, &self.state);
        let nv = model.nv();
        let mut inertia = Matrix::zeros(nv, nv);
        inertia_matrix(
            model,
            &s.q,
            &mut CompositeBodies::new(model),
            inertia.as_mut_slice(),
        );
        let size_of_inertia = largest(inertia.as_slice());

        let by_dual = inertia_by_dual_numbers(rigid, s);
        results.add(
            "inertia matrix",
            "composite bodies and ∂τ/∂v̇ by dual numbers",
            ratio(
                difference(inertia.as_slice(), by_dual.as_slice()),
                size_of_inertia,
            ),
            ROUNDING,
        );

        let mut factors = Factorization::new(model);
        factors.factorize(model, &s.q);
        let (u, d) = (factors.u(model), factors.d());
        let product = udu(&u, &d);
        results.add(
            "inertia matrix",
            "composite bodies and U D Uᵀ",
            ratio(
                difference(inertia.as_slice(), product.as_slice()),
                size_of_inertia,
            ),
            ROUNDING,
        );
        results.add(
            "inertia matrix is positive",
            "smallest pivot m̂ of U D Uᵀ",
            if d.iter().all(|&m| m > 0.0) { 0.0 } else { 1.0 },
            0.5,
        );

        let condition = skeel_condition(model, &s.q, &mut factors);
        let steps = reverse_gaussian_elimination(&inertia);
        let pivots = largest_of(d.iter().zip(&steps.d).map(|(a, b)| (a - b).abs() / a.abs()));
        results.add(
            "pivots m̂",
            "recursion and reverse Gaussian elimination",
            pivots,
            solving(condition),
        );
        let b: Vec<f64> = self.vdot.clone();
        let mut x = b.clone();
        factors.solve(model, &mut x);
        results.add(
            "I x = b",
            "U D Uᵀ recursion and reverse Gaussian elimination",
            relative(&x, &steps.solve(&b)),
            solving(condition),
        );
        let magnitude = absolute(&inertia).times(&x.iter().map(|x| x.abs()).collect::<Vec<_>>());
        let residual = difference(&inertia.times(&x), &b);
        results.add(
            "I x = b",
            "U D Uᵀ recursion, put back into composite bodies",
            ratio(residual, largest(&magnitude)),
            ROUNDING,
        );

        // kinetic energy, Coriolis and gravity terms
        let mut kinematics = Kinematics::new(model);
        let still = vec![0.0; nv];
        forward_kinematics(model, &s.q, &s.v, &still, &s.base, &mut kinematics);
        let energies = mechanical_state(model, &s.q, &s.v, &kinematics);
        let half: f64 = inertia
            .times(&s.v)
            .iter()
            .zip(&s.v)
            .map(|(p, v)| 0.5 * p * v)
            .sum();
        results.add(
            "kinetic energy",
            "½ vᵀ I v and sum over bodies",
            ratio((half - energies.kinetic).abs(), energies.kinetic.abs()),
            ROUNDING,
        );

        let mut coriolis = Matrix::zeros(nv, nv);
        coriolis_matrix(
            rigid,
            &s.q,
            &s.v,
            &s.base,
            &mut CoriolisMatrix::new(rigid),
            &mut coriolis,
        );
        let zero_gravity = rigid.clone().with_gravity([0.0; 3]);
        let convective = plain_inverse(&zero_gravity, &s.q, &s.v, &still);
        let speeds: Vec<f64> = s.v.iter().map(|v| v.abs()).collect();
        let scale = largest(&absolute(&inertia).times(&speeds)) * largest(&speeds);
        results.add(
            "C v",
            "C matrix and inverse dynamics",
            ratio(difference(&coriolis.times(&s.v), &convective), scale),
            ROUNDING,
        );

        let mut moving: State<D1> = s.lift();
        let rates: Vec<D1> = s.v.iter().map(|&v| dual(0.0, v)).collect();
        moving.step(model, &rates);
        let mut dual_inertia = vec![D1::constant(0.0); nv * nv];
        inertia_matrix(
            model,
            &moving.q,
            &mut CompositeBodies::new(model),
            &mut dual_inertia,
        );
        let mut skew = 0.0f64;
        let mut rate_size = size_of_inertia * largest(&speeds);
        for i in 0..nv {
            for j in 0..nv {
                let rate = |i: usize, j: usize| dual_inertia[i * nv + j].derivative[0];
                let entry =
                    rate(i, j) - 2.0 * coriolis[(i, j)] + rate(j, i) - 2.0 * coriolis[(j, i)];
                skew = larger(skew, entry.abs());
                rate_size = rate_size.max(rate(i, j).abs()).max(coriolis[(i, j)].abs());
            }
        }
        results.add(
            "İ − 2C is skew-symmetric",
            "İ by dual numbers and C matrix",
            ratio(skew, rate_size),
            ROUNDING,
        );

        let gravity = plain_inverse(rigid, &s.q, &still, &still);
        let slope = potential_slope(rigid, s);
        let weight = model.mass() * model.gravity().norm();
        if weight > 0.0 {
            results.add(
                "gravity efforts = ∂V/∂q",
                "inverse dynamics and dual numbers",
                ratio(
                    difference(&gravity, &slope),
                    largest(&gravity).max(1e-3 * weight),
                ),
                ROUNDING,
            );
        }
    }

    fn jacobian(&mut self, rigid: &Model, results: &mut Results) {
        let s = &self.state;
        let nv = rigid.nv();
        let still = vec![0.0; nv];
        let mut kinematics = Kinematics::new(rigid);
        forward_kinematics(rigid, &s.q, &s.v, &still, &s.base, &mut kinematics);
        let mut jacobian = Matrix::zeros(6, nv);
        let (mut worst, mut worst_load) = (0.0f64, 0.0f64);
        let unloaded = plain_inverse(rigid, &s.q, &s.v, &still);
        let frames = &rigid.tree().frames;
        let step = frames.len().div_ceil(12);
        for frame in frames.iter().step_by(step) {
            frame_jacobian(rigid, &kinematics, frame, &mut jacobian);
            let known = kinematics.frame_velocity(frame).to_array();
            let scale = largest(
                &absolute(&jacobian).times(&s.v.iter().map(|v| v.abs()).collect::<Vec<_>>()),
            )
            .max(1e-3);
            worst = larger(
                worst,
                ratio(difference(&jacobian.times(&s.v), &known), scale),
            );
            if frame.body == 0 {
                continue;
            }
            // a wrench at the frame changes the efforts by −Jᵀ w
            let load = Force::new(vector(&mut self.random), vector(&mut self.random));
            let origin = kinematics.frame_pose(frame).translation;
            let about_world = Force::new(origin.cross_add(load.force, load.moment), load.force);
            let mut external = vec![Force::zero(); rigid.body_count() + 1];
            external[frame.body] = kinematics.world_from_body[frame.body].force_into(about_world);
            let mut tau = vec![0.0; nv];
            inverse_dynamics(
                rigid,
                &s.q,
                &s.v,
                &still,
                &s.base,
                &external,
                &mut InverseDynamics::new(rigid),
                &mut tau,
            );
            let pushed = jacobian.transpose().times(&load.to_array());
            let residual = largest_of((0..nv).map(|k| (unloaded[k] - tau[k] - pushed[k]).abs()));
            let scale = largest_of([largest(&unloaded), largest(&pushed), 1.0]);
            worst_load = larger(worst_load, ratio(residual, scale));
        }
        results.add("J v = velocity", "Jacobian and recursion", worst, ROUNDING);
        results.add(
            "Jᵀ w = efforts of a wrench",
            "Jacobian and inverse dynamics",
            worst_load,
            ROUNDING,
        );
    }
}

fn plain_inverse(model: &Model, q: &[f64], v: &[f64], vdot: &[f64]) -> Vec<f64> {
    let mut tau = vec![0.0; model.nv()];
    inverse_dynamics(
        model,
        q,
        v,
        vdot,
        &Base::fixed(),
        &[],
        &mut InverseDynamics::new(model),
        &mut tau,
    );
    tau
}

/// ∂τ/∂v̇, six columns at a time.
fn inertia_by_dual_numbers(model: &Model, s: &State) -> Matrix {
    let nv = model.nv();
    let state: State<Dual<f64, 6>> = s.lift();
    let mut work = InverseDynamics::new(model);
    let mut tau = vec![Dual::constant(0.0); nv];
    let mut inertia = Matrix::zeros(nv, nv);
    for start in (0..nv).step_by(6) {
        let mut vdot = vec![Dual::<f64, 6>::constant(0.0); nv];
        for k in start..(start + 6).min(nv) {
            vdot[k] = Dual::variable(0.0, k - start);
        }
        inverse_dynamics(
            model,
            &state.q,
            &state.v,
            &vdot,
            &state.base,
            &[],
            &mut work,
            &mut tau,
        );
        for i in 0..nv {
            for k in start..(start + 6).min(nv) {
                inertia[(i, k)] = tau[i].derivative[k - start];
            }
        }
    }
    inertia
}

/// ∂V/∂q along each freedom.
fn potential_slope(model: &Model, s: &State) -> Vec<f64> {
    let nv = model.nv();
    let mut work = Kinematics::<Dual<f64, 6>>::new(model);
    let still = vec![Dual::constant(0.0); nv];
    let mut slope = vec![0.0; nv];
    for start in (0..nv).step_by(6) {
        let mut state: State<Dual<f64, 6>> = s.lift();
        let mut step = still.clone();
        for k in start..(start + 6).min(nv) {
            step[k] = Dual::variable(0.0, k - start);
        }
        state.step(model, &step);
        forward_kinematics(model, &state.q, &still, &still, &state.base, &mut work);
        let potential = mechanical_state(model, &state.q, &still, &work).gravitational;
        let end = (start + 6).min(nv);
        slope[start..end].copy_from_slice(&potential.derivative[..end - start]);
    }
    slope
}

fn udu(u: &Matrix, d: &[f64]) -> Matrix {
    let n = d.len();
    let mut scaled = u.clone();
    for i in 0..n {
        for (x, d) in scaled.row_mut(i).iter_mut().zip(d) {
            *x *= d;
        }
    }
    scaled.product(&u.transpose())
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

fn derivative_matrix(m: Mat3<D1>) -> Mat3<f64> {
    Mat3::from_columns(derivative(m.x), derivative(m.y), derivative(m.z))
}

fn value_matrix(m: Mat3<D1>) -> Mat3<f64> {
    let value = |v: Vec3<D1>| v.map(|x| x.value);
    Mat3::from_columns(value(m.x), value(m.y), value(m.z))
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
