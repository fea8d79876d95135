//! Derivatives of a motion with respect to parameters of its setup: numbers of the model, the initial state, gains and other inputs.
//!
//! ```text
//! ẏ = f(t, y; p),   y = (q, v, W, D)
//! S = ∂y/∂p,        Ṡ = ∂f/∂y S + ∂f/∂p,   S(0) = ∂y₀/∂p                                  (1)
//! ∂x/∂p = Σ wᵢ (x(pᵢ) − x(p))                                                              (2)
//! ```
//!
//! S is integrated together with y, by the method of the run. ∂f/∂y are the analytic derivatives of forward dynamics, the same for all
//! parameters; where a parameter changes the model, ∂f/∂p is forward dynamics in dual numbers. For fixed steps S is the derivative of the
//! discrete motion itself: the derivative of a Runge–Kutta step is the step of (1).
//!
//! Numbers of the set-up, the efforts of controllers among them, are differentiated by (2) from set-ups with neighbouring values
//! of the parameter. Weights of fourth order make that exact for the polynomials that most of them are; no motion is differentiated that
//! way. The dependence of efforts on the state is found likewise, from states along S.

use super::inputs::Controller;
use super::options::Integrator;
use super::run::{Sample, Simulation};
use super::tree_system::TreeSystem;
use crate::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{Adaptive, Fixed, FixedMethod, IntegratorOptions, Mechanical, System};
use crate::model::Model;
use crate::scalar::{Dual, Scalar};
use crate::state::{Base, State, StateView, position_rates, step_kernel};

type Number = Dual<f64, 1>;

/// A run set up with another value of a parameter, and its weight in (2): ∂x/∂p = Σ weight · (x there − x).
pub struct Neighbour {
    /// The value of the parameter there minus that of the run.
    pub offset: f64,
    /// Its weight.
    pub weight: f64,
    /// The run, not begun.
    pub run: Simulation,
}

/// Offsets and weights of the central difference of fourth order: x′ ≈ Σ weight · (x(p + offset h) − x(p)) / h.
pub const CENTRAL: [(f64, f64); 4] = [
    (-2.0, 1.0 / 12.0),
    (-1.0, -2.0 / 3.0),
    (1.0, 2.0 / 3.0),
    (2.0, -1.0 / 12.0),
];

/// Offsets and weights of the one-sided difference of fourth order.
pub const ONE_SIDED: [(f64, f64); 4] = [(1.0, 4.0), (2.0, -3.0), (3.0, 4.0 / 3.0), (4.0, -0.25)];

/// Largest change of a coordinate or velocity in differences along the motion: truncation is of its fourth power, round-off of its
/// reciprocal.
const REACH: f64 = 1e-3;

/// Largest such change if a parameter changes with it.
const FAR: f64 = 4.0 * REACH;

/// A motion and its derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivities {
    /// q, v, the work done and the energy dissipated at the times of the samples, one after another.
    pub motion: Vec<f64>,
    /// The derivatives of these numbers with respect to each parameter.
    pub slopes: Vec<Vec<f64>>,
    /// Numbers per sample.
    pub width: usize,
}

impl Sensitivities {
    /// States near the motion in the direction of a parameter, and the weights with which numbers there, minus those of the motion, add
    /// up to a derivative. The weights differ from sample to sample.
    pub fn beside(&self, parameter: usize) -> [(Vec<f64>, Vec<f64>); 4] {
        let slopes = &self.slopes[parameter];
        CENTRAL.map(|(offset, weight)| {
            let mut motion = self.motion.clone();
            let mut weights = Vec::new();
            for (y, slope) in motion.chunks_mut(self.width).zip(slopes.chunks(self.width)) {
                let h = reach(&slope[..self.width - 2]);
                for (y, slope) in y.iter_mut().zip(slope) {
                    *y += offset * h * slope;
                }
                weights.push(weight / h);
            }
            (motion, weights)
        })
    }
}

/// The step along a direction.
fn reach(direction: &[f64]) -> f64 {
    let largest = direction.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    match largest > 0.0 {
        true => REACH / largest,
        false => REACH,
    }
}

impl Simulation {
    /// Why the motion of this run has no derivatives with respect to parameters; none if it has.
    pub fn obstacle_to_sensitivities(&self) -> Option<String> {
        let (system, options, _) = self.parts();
        let (model, inputs) = (system.model(), system.inputs());
        let name = model.name();
        if !model.constraints().is_empty() {
            return Some(format!(
                "`{name}` has loops, couplings or other constraints"
            ));
        }
        if !model.forces().is_empty() {
            return Some(format!("`{name}` has force elements"));
        }
        if let Some(k) = model.dofs.iter().position(|dof| dof.friction != 0.0) {
            let dof = &model.tree().dofs[k].name;
            return Some(format!("`{dof}` has dry friction, which sticks and slips"));
        }
        let pushed =
            !inputs.wrenches.is_empty() || !inputs.loads.is_empty() || !inputs.springs.is_empty();
        let reasons = [
            (model.nv() == 0, "the model has no freedoms"),
            (
                matches!(options.integrator, Integrator::Bdf { .. }),
                "the method has steps and orders that depend on the past",
            ),
            (
                matches!(
                    options.integrator,
                    Integrator::Fixed {
                        method: FixedMethod::ImplicitMidpoint,
                        ..
                    }
                ),
                "the implicit midpoint rule iterates",
            ),
            (
                system.has_own_equations(),
                "its accelerations come from other equations of motion",
            ),
            (system.is_sampled(), "the controller is sampled"),
            (pushed, "wrenches act on bodies"),
            (!inputs.stops.is_empty(), "joint limits stop the motion"),
            (!inputs.base.is_fixed(), "the base has a motion or a pose"),
        ];
        let found = reasons.iter().find(|(applies, _)| *applies);
        found.map(|(_, reason)| (*reason).to_string())
    }

    /// The motion of this run, which has not begun, with its derivatives with respect to parameters. Each parameter has its set-ups with
    /// neighbouring values, which differ from this one in numbers only.
    pub fn sensitivities(&self, parameters: &[Vec<Neighbour>]) -> Result<Sensitivities> {
        let (system, options, start) = self.parts();
        let refuse = |reason: String| {
            let message = format!("the motion has no derivatives: {reason}");
            Err(Error::new(ErrorKind::Unsupported, message))
        };
        if let Some(reason) = self.obstacle_to_sensitivities() {
            return refuse(reason);
        }
        let neighbours = parameters.iter().flatten();
        for Neighbour { run, .. } in neighbours {
            let (other, own, _) = run.parts();
            if own != options {
                return refuse("a parameter changes how time is stepped".into());
            }
            if !system.model().is_alike(other.model()) {
                return refuse("a parameter changes bodies or joints".into());
            }
            if let Some(reason) = run.obstacle_to_sensitivities() {
                return refuse(reason);
            }
        }
        if parameters.is_empty() {
            return refuse("there is no parameter".into());
        }
        let mut variational = Variational::new(system, parameters);
        let start = variational.start(start, parameters);
        let times = Simulation::sample_times(options);
        let records = match options.integrator {
            Integrator::Fixed { method, step } => {
                variational.follow_fixed(method, step, &times, start)?
            }
            Integrator::Adaptive {
                method,
                tolerances,
                max_step,
            } => {
                let options = IntegratorOptions {
                    tolerances,
                    max_step,
                    ..IntegratorOptions::default()
                };
                let dimension = System::dimension(&variational);
                let engine = Adaptive::new(method, dimension, options)?;
                variational.follow_adaptive(engine, &times, start)?
            }
            Integrator::Bdf { .. } => return refuse("the method is implicit".into()),
        };
        Ok(variational.sorted(&records))
    }

    /// The samples that this run, which has not begun, would have if this were its motion: q, v, work and dissipated energy at the
    /// times of its samples. The run is unchanged.
    pub fn samples_along(&mut self, motion: &[f64]) -> Result<Vec<Sample>> {
        let mut samples = Vec::new();
        self.look_along(motion, &mut samples)?;
        Ok(samples)
    }
}

/// A parameter of the set-up.
struct Varied {
    /// The model with the derivatives of its numbers, where it depends on the parameter.
    model: Option<Model<Number>>,
    /// Set-ups with neighbouring values: offsets of these, and weights.
    neighbours: Vec<([f64; 2], TreeSystem)>,
}

/// The system (1). A vector has the numbers of the motion first, then their derivatives with respect to each parameter.
struct Variational {
    system: TreeSystem,
    parameters: Vec<Varied>,
    /// Do efforts depend on the state?
    feeds_back: bool,
    /// First index of each quaternion, among positions and among velocities.
    quaternions: Vec<[usize; 2]>,
    /// The state, with quaternions of unit length.
    state: State,
    /// Efforts, and their derivatives with respect to each parameter.
    tau: Vec<f64>,
    tau_slopes: Vec<Vec<f64>>,
    forward: ForwardDynamics<Number>,
    vdot: Vec<Number>,
}

/// Σ weight · (x there − x here), number by number.
fn add_differences(slopes: &mut [f64], weight: f64, there: &[f64], here: &[f64]) {
    for ((slope, there), here) in slopes.iter_mut().zip(there).zip(here) {
        *slope += weight * (there - here);
    }
}

/// moved ← x + h dx.
fn shift(moved: &mut [f64], x: &[f64], h: f64, dx: &[f64]) {
    for ((moved, x), dx) in moved.iter_mut().zip(x).zip(dx) {
        *moved = x + h * dx;
    }
}

/// sum ← sum + x.
fn add(sum: &mut [f64], x: &[f64]) {
    sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
}

/// Numbers without derivatives.
fn constants(x: &[f64]) -> Vec<Number> {
    x.iter().map(|&x| Number::constant(x)).collect()
}

impl Variational {
    fn new(system: &TreeSystem, parameters: &[Vec<Neighbour>]) -> Self {
        let model = system.model();
        let numbers = model.numbers();
        let varied = parameters.iter().map(|neighbours| {
            let mut slopes = vec![0.0; numbers.len()];
            for Neighbour { weight, run, .. } in neighbours {
                add_differences(&mut slopes, *weight, &run.model().numbers(), &numbers);
            }
            let depends = slopes.iter().any(|slope| *slope != 0.0);
            let systems = neighbours.iter();
            Varied {
                model: depends.then(|| Model::varied(model, &slopes)),
                neighbours: systems
                    .map(
                        |Neighbour {
                             offset,
                             weight,
                             run,
                         }| { ([*offset, *weight], run.parts().0.clone()) },
                    )
                    .collect(),
            }
        });
        let bodies = model.bodies().map(|i| &model.tree().bodies[i]);
        let places = bodies.filter_map(|body| {
            let first = body.kind.quaternion()?;
            Some([body.q + first, body.v + first])
        });
        Variational {
            parameters: varied.collect(),
            feeds_back: !matches!(
                system.inputs().controller,
                Controller::None
                    | Controller::Constant(_)
                    | Controller::Sine { .. }
                    | Controller::Table(_)
            ),
            quaternions: places.collect(),
            state: State::neutral(model),
            tau: vec![0.0; model.nv()],
            tau_slopes: vec![vec![0.0; model.nv()]; parameters.len()],
            forward: ForwardDynamics::new(model),
            vdot: vec![Number::zero(); model.nv()],
            system: system.clone(),
        }
    }

    fn sizes(&self) -> (usize, usize) {
        (self.state.q.len(), self.state.v.len())
    }

    /// Blocks of a vector: the motion, and each parameter.
    fn blocks(&self) -> usize {
        1 + self.parameters.len()
    }

    /// Initial q, v, W, D, block after block.
    fn start(&self, y: &[f64], parameters: &[Vec<Neighbour>]) -> Vec<f64> {
        let mut all = y.to_vec();
        for neighbours in parameters {
            let mut slopes = vec![0.0; y.len()];
            for Neighbour { weight, run, .. } in neighbours {
                add_differences(&mut slopes, *weight, run.parts().2, y);
            }
            all.extend(slopes);
        }
        all
    }

    /// Loads the state, and computes efforts and their derivatives.
    fn drive(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<()> {
        let (nq, nv) = self.sizes();
        self.state.q.copy_from_slice(&q[..nq]);
        self.state.v.copy_from_slice(&v[..nv]);
        for &[k, _] in &self.quaternions {
            let p = &mut self.state.q[k..k + 4];
            let norm = p.iter().map(|x| x * x).sum::<f64>().sqrt();
            p.iter_mut().for_each(|x| *x /= norm);
        }
        if matches!(self.system.inputs().controller, Controller::None) {
            return Ok(());
        }
        let here = self.system.efforts_at(t, &q[..nq], &v[..nv])?;
        self.tau.copy_from_slice(here);
        let slopes = self.parameters.iter_mut().zip(&mut self.tau_slopes);
        let (mut near_q, mut near_v) = (vec![0.0; nq], vec![0.0; nv]);
        for (k, (parameter, change)) in slopes.enumerate() {
            change.fill(0.0);
            let (dq, dv) = (&q[(1 + k) * nq..][..nq], &v[(1 + k) * nv..][..nv]);
            let largest = dq.iter().chain(dv).fold(0.0, |m: f64, x| m.max(x.abs()));
            let offsets = parameter.neighbours.iter().map(|([offset, _], _)| offset);
            let farthest = offsets.fold(0.0, |m: f64, x| m.max(x.abs()));
            // the parameter and the state change together where the latter changes little, else one after the other
            let is_near = self.feeds_back && farthest * largest <= FAR;
            for ([offset, weight], neighbour) in &mut parameter.neighbours {
                let h = if is_near { *offset } else { 0.0 };
                shift(&mut near_q, &q[..nq], h, dq);
                shift(&mut near_v, &v[..nv], h, dv);
                let there = neighbour.efforts_at(t, &near_q, &near_v)?;
                add_differences(change, *weight, there, &self.tau);
            }
            if is_near || !self.feeds_back {
                continue;
            }
            let h = REACH / largest;
            for (offset, weight) in CENTRAL {
                shift(&mut near_q, &q[..nq], offset * h, dq);
                shift(&mut near_v, &v[..nv], offset * h, dv);
                let there = self.system.efforts_at(t, &near_q, &near_v)?;
                add_differences(change, weight / h, there, &self.tau);
            }
        }
        Ok(())
    }

    /// Converts a change of positions to an increment as [`State::step`] takes it.
    fn increment(&self, q: &[f64], dq: &[f64]) -> Vec<f64> {
        let mut delta = vec![0.0; self.state.v.len()];
        for i in self.system.model().bodies() {
            let body = &self.system.model().tree().bodies[i];
            let plain = body.kind.quaternion().unwrap_or(body.kind.nv());
            delta[body.v..body.v + plain].copy_from_slice(&dq[body.q..body.q + plain]);
        }
        for &[k, to] in &self.quaternions {
            // twice the vector part of p* ∘ ṗ / |p|²
            let (p, d) = (&q[k..k + 4], &dq[k..k + 4]);
            let scale = 2.0 / p.iter().map(|x| x * x).sum::<f64>();
            delta[to] = scale * (p[0] * d[1] - p[1] * d[0] - p[2] * d[3] + p[3] * d[2]);
            delta[to + 1] = scale * (p[0] * d[2] - p[2] * d[0] - p[3] * d[1] + p[1] * d[3]);
            delta[to + 2] = scale * (p[0] * d[3] - p[3] * d[0] - p[1] * d[2] + p[2] * d[1]);
        }
        delta
    }

    /// Computes v̇ and its derivatives, block after block.
    fn accelerate(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.drive(t, q, v)?;
        let (nq, nv) = self.sizes();
        let increments: Vec<Vec<f64>> = (1..self.blocks())
            .map(|block| self.increment(q, &q[block * nq..(block + 1) * nq]))
            .collect();
        let dynamics = self.system.dynamics();
        let found = dynamics.forward_derivatives(&self.state, &self.tau, &[])?;
        vdot[..nv].copy_from_slice(&found.vdot);
        for (k, delta) in increments.iter().enumerate() {
            let block = (1 + k) * nv..(2 + k) * nv;
            let slope = &mut vdot[block.clone()];
            slope.copy_from_slice(&found.dq.times(delta));
            add(slope, &found.dv.times(&v[block]));
            add(slope, &found.dtau.times(&self.tau_slopes[k]));
        }
        let base = Base::fixed();
        for (k, parameter) in self.parameters.iter().enumerate() {
            let Some(model) = &parameter.model else {
                continue;
            };
            let [q, v, tau] = [&self.state.q, &self.state.v, &self.tau].map(|x| constants(x));
            let state = StateView {
                q: &q,
                v: &v,
                base: &base,
            };
            let (forward, found) = (&mut self.forward, &mut self.vdot);
            forward_dynamics(model, state, &tau, &[], forward, found);
            let slope = &mut vdot[(1 + k) * nv..(2 + k) * nv];
            let changes = found.iter().map(|x| x.derivative[0]);
            slope.iter_mut().zip(changes).for_each(|(sum, x)| *sum += x);
        }
        Ok(())
    }

    /// Ẇ and Ḋ and their derivatives, block after block, under the efforts that [`drive`](Self::drive) found.
    fn powers(&self, v: &[f64]) -> Vec<f64> {
        let nv = self.state.v.len();
        let dofs = &self.system.model().dofs;
        let mut powers = vec![0.0; 2 * self.blocks()];
        for (k, dof) in dofs.iter().enumerate() {
            powers[0] += self.tau[k] * v[k];
            powers[1] += dof.damping * v[k] * v[k];
        }
        for (p, parameter) in self.parameters.iter().enumerate() {
            let dv = &v[(1 + p) * nv..(2 + p) * nv];
            let [work, lost] = [2 * (1 + p), 2 * (1 + p) + 1];
            for (k, dof) in dofs.iter().enumerate() {
                powers[work] += self.tau_slopes[p][k] * v[k] + self.tau[k] * dv[k];
                powers[lost] += 2.0 * dof.damping * v[k] * dv[k];
                if let Some(model) = &parameter.model {
                    powers[lost] += model.dofs[k].damping.derivative[0] * v[k] * v[k];
                }
            }
        }
        powers
    }

    /// Ẇ and Ḋ at an instant, block after block.
    fn powers_at(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<Vec<f64>> {
        self.drive(t, q, v)?;
        Ok(self.powers(v))
    }

    /// Quaternions of unit length, and directions that keep it.
    fn normalise(&self, q: &mut [f64]) {
        let nq = self.state.q.len();
        for &[k, _] in &self.quaternions {
            let norm = q[k..k + 4].iter().map(|x| x * x).sum::<f64>().sqrt();
            q[k..k + 4].iter_mut().for_each(|x| *x /= norm);
            for block in 1..q.len() / nq {
                let at = block * nq + k;
                let along: f64 = (0..4).map(|i| q[k + i] * q[at + i]).sum();
                for i in 0..4 {
                    q[at + i] = (q[at + i] - along * q[k + i]) / norm;
                }
            }
        }
    }

    /// Positions, velocities and integrals, block after block, of records q, v, W, D.
    fn parted(&self, records: &[f64]) -> [Vec<f64>; 3] {
        let (nq, nv) = self.sizes();
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        for record in records.chunks(nq + nv + 2) {
            parts[0].extend_from_slice(&record[..nq]);
            parts[1].extend_from_slice(&record[nq..nq + nv]);
            parts[2].extend_from_slice(&record[nq + nv..]);
        }
        parts
    }

    /// The inverse of [`parted`](Self::parted), appended.
    fn append(&self, parts: [&[f64]; 3], records: &mut Vec<f64>) {
        let (nq, nv) = self.sizes();
        let [q, v, integrals] = parts;
        for block in 0..self.blocks() {
            records.extend_from_slice(&q[block * nq..(block + 1) * nq]);
            records.extend_from_slice(&v[block * nv..(block + 1) * nv]);
            records.extend_from_slice(&integrals[2 * block..2 * block + 2]);
        }
    }

    /// Records of all times by variable steps.
    fn follow_adaptive(
        &mut self,
        mut engine: Adaptive,
        times: &[f64],
        start: Vec<f64>,
    ) -> Result<Vec<f64>> {
        let (nq, nv) = self.sizes();
        let mut y = Vec::new();
        for block in start.chunks(nq + nv + 2) {
            y.extend_from_slice(&block[..nq + nv]);
        }
        y.extend(self.parted(&start)[2].iter());
        self.project(0.0, &mut y);
        engine.start(self, 0.0, &y)?;
        let end = times.last().copied().unwrap_or_default();
        let mut records = Vec::new();
        for &time in times {
            while engine.time() < time {
                engine.step(self, end)?;
            }
            if time > 0.0 {
                engine.interpolate(self, time, &mut y)?;
            }
            let motion = self.blocks() * (nq + nv);
            for (block, integrals) in y[..motion].chunks(nq + nv).zip(y[motion..].chunks(2)) {
                records.extend_from_slice(block);
                records.extend_from_slice(integrals);
            }
        }
        Ok(records)
    }

    /// Records of all times by fixed steps; W and D by the trapezoidal rule.
    fn follow_fixed(
        &mut self,
        method: FixedMethod,
        step: f64,
        times: &[f64],
        start: Vec<f64>,
    ) -> Result<Vec<f64>> {
        let [mut q, mut v, mut integrals] = self.parted(&start);
        self.normalise(&mut q);
        let mut engine = Fixed::new(method, q.len(), v.len(), step)?;
        engine.start(0.0, &q, &v)?;
        let mut rates = self.powers_at(0.0, &q, &v)?;
        let mut before = (0.0, integrals.clone(), rates.clone());
        let advanced = |(begin, start, rates): &(f64, Vec<f64>, Vec<f64>), t: f64, now: &[f64]| {
            let numbers = start.iter().zip(rates).zip(now);
            let trapezoid =
                |((x, old), new): ((&f64, &f64), &f64)| x + 0.5 * (t - begin) * (old + new);
            numbers.map(trapezoid).collect::<Vec<f64>>()
        };
        let mut records = Vec::new();
        for &time in times {
            while engine.time() < time {
                before = (engine.time(), integrals, rates);
                engine.step(self)?;
                rates = self.powers_at(engine.time(), engine.q(), engine.v())?;
                integrals = advanced(&before, engine.time(), &rates);
            }
            if time == engine.time() {
                self.append([engine.q(), engine.v(), &integrals], &mut records);
                continue;
            }
            engine.interpolate(self, time, &mut q, &mut v)?;
            let now = self.powers_at(time, &q, &v)?;
            let within = advanced(&before, time, &now);
            self.append([&q, &v, &within], &mut records);
        }
        Ok(records)
    }

    /// Records of all times and blocks, by block.
    fn sorted(&self, records: &[f64]) -> Sensitivities {
        let (nq, nv) = self.sizes();
        let width = nq + nv + 2;
        let of = |block: usize| -> Vec<f64> {
            let times = records.chunks(self.blocks() * width);
            times
                .flat_map(|all| &all[block * width..(block + 1) * width])
                .copied()
                .collect()
        };
        Sensitivities {
            motion: of(0),
            slopes: (1..self.blocks()).map(of).collect(),
            width,
        }
    }
}

/// y = (q, v) of each block, then W and D of each block.
impl System for Variational {
    fn dimension(&self) -> usize {
        let (nq, nv) = self.sizes();
        self.blocks() * (nq + nv + 2)
    }

    fn integrals(&self) -> usize {
        2 * self.blocks()
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        let (nq, nv) = self.sizes();
        let motion = self.blocks() * (nq + nv);
        let (mut q, mut v) = (Vec::new(), Vec::new());
        for block in y[..motion].chunks(nq + nv) {
            q.extend_from_slice(&block[..nq]);
            v.extend_from_slice(&block[nq..]);
        }
        let mut vdot = vec![0.0; v.len()];
        self.accelerate(t, &q, &v, &mut vdot)?;
        let model = self.system.model();
        let mut other = vec![0.0; nq];
        let blocks = dy[..motion].chunks_mut(nq + nv).zip(vdot.chunks(nv));
        for (block, (dy, vdot)) in blocks.enumerate() {
            let (rates, accelerations) = dy.split_at_mut(nq);
            accelerations.copy_from_slice(vdot);
            let (own_q, own_v) = (&q[block * nq..][..nq], &v[block * nv..][..nv]);
            position_rates(model, &q[..nq], own_v, rates);
            if block > 0 && !self.quaternions.is_empty() {
                // rates of quaternions are bilinear in these and in velocities
                position_rates(model, own_q, &v[..nv], &mut other);
                for &[k, _] in &self.quaternions {
                    add(&mut rates[k..k + 4], &other[k..k + 4]);
                }
            }
        }
        dy[motion..].copy_from_slice(&self.powers(&v));
        Ok(())
    }

    fn project(&mut self, _t: f64, y: &mut [f64]) {
        if self.quaternions.is_empty() {
            return;
        }
        let (nq, nv) = self.sizes();
        let motion = self.blocks() * (nq + nv);
        let mut q = Vec::new();
        for block in y[..motion].chunks(nq + nv) {
            q.extend_from_slice(&block[..nq]);
        }
        self.normalise(&mut q);
        for (block, q) in y[..motion].chunks_mut(nq + nv).zip(q.chunks(nq)) {
            block[..nq].copy_from_slice(q);
        }
    }

    fn next_kink(&self, t: f64) -> f64 {
        self.system.next_kink(t)
    }
}

impl Mechanical for Variational {
    fn position_count(&self) -> usize {
        self.blocks() * self.state.q.len()
    }

    fn velocity_count(&self) -> usize {
        self.blocks() * self.state.v.len()
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.accelerate(t, q, v, vdot)
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        let (nq, nv) = self.sizes();
        let dual = |(x, dx): (&f64, &f64)| Dual {
            value: *x,
            derivative: [*dx],
        };
        let start = q[..nq].to_vec();
        for block in 1..self.blocks() {
            let (of_q, of_v) = (block * nq..(block + 1) * nq, block * nv..(block + 1) * nv);
            let mut moved: Vec<Number> = start.iter().zip(&q[of_q.clone()]).map(dual).collect();
            let by: Vec<Number> = delta[..nv].iter().zip(&delta[of_v]).map(dual).collect();
            step_kernel(self.system.model(), &mut moved, &by);
            for (k, number) in moved.iter().enumerate() {
                q[k] = number.value;
                q[of_q.start + k] = number.derivative[0];
            }
        }
    }
}
