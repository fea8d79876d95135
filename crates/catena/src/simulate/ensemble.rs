//! Many simulations of one structure: in lanes where the equations of motion allow it, else one by one.
//!
//! Lanes support trees with springs and damping in their joints, driven by constant efforts and linear feedback ([`Feedback`]), with
//! explicit methods. Everything else (dry friction, stops, events, actuators, sampled controllers, loops, couplings, force elements,
//! implicit methods) is run by [`Simulation`], member by member on all threads; [`EnsembleRun::one_by_one`] says why.

use super::control::Law;
use super::inputs::{Controller, Inputs, controlled};
use super::options::{Integrator, SimulationOptions, check};
use super::run::{Happened, Sample, Simulation};
use super::tree_system::EventFunction;
use crate::Cpu;
use crate::algorithm::energy::mechanical_state;
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::doors::native::{Compiled, FamilyCode};
use crate::doors::{Failure, Feedback, Stepping, Trajectories, each};
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{FixedMethod, IntegratorOptions, Statistics};
use crate::model::Model;
use crate::state::{State, check_length};
use crate::trajectory::Reference;

/// Initial states and inputs of the members of an ensemble, member after member.
#[derive(Clone, Copy, Debug, Default)]
pub struct Members<'a> {
    /// Initial positions, nq per member.
    pub q: &'a [f64],
    /// Initial velocities, nv per member.
    pub v: &'a [f64],
    /// Efforts at the joints.
    pub feedback: Feedback<'a>,
    /// In place of `feedback`, the full inputs of a single run, as [`Simulation`] takes them: one for each member, one for all, or none.
    /// A controller with internal state is copied for each member.
    pub inputs: &'a [Inputs],
    /// Events to look for in each member.
    pub events: &'a [EventFunction],
    /// A model for each member, with the bodies and joints of the ensemble's model and different numbers; or none.
    pub models: &'a [Model],
}

/// Many simulations of one structure, with different states, inputs and model parameters.
///
/// Each member is computed independently: its bits do not depend on the numbers of the other members nor on the number of
/// threads. Where one member cannot run in lanes, all run one by one ([`for_members`](Ensemble::for_members)).
///
/// ```
/// use catena::integrate::FixedMethod;
/// use catena::model::embedded;
/// use catena::simulate::{Ensemble, Integrator, Members, SimulationOptions};
///
/// let model = embedded::model("chain-7")?;
/// let options = SimulationOptions {
///     integrator: Integrator::Fixed { method: FixedMethod::RungeKutta4, step: 1e-3 },
///     duration: 0.1,
///     interval: 0.05,
/// };
/// let ensemble = Ensemble::new(&model, options)?.threads(0);
/// let count = 100;
/// let q: Vec<f64> = (0..7 * count).map(|k| (k as f64).sin()).collect();
/// let v = vec![0.0; 7 * count];
/// let run = ensemble.run(&Members { q: &q, v: &v, ..Members::default() })?;
/// assert_eq!(run.times, [0.0, 0.05, 0.1]);
/// assert!(run.failures.is_empty());
/// assert!(run.energy_errors.iter().all(|error| error.abs() < 1e-6));
/// let last = run.q(17, 2);
/// assert_eq!(last.len(), 7);
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ensemble {
    model: Model,
    options: SimulationOptions,
    threads: usize,
    cpu: Cpu,
    code: Option<Compiled>,
    family: Option<FamilyCode>,
    /// Why no member runs in lanes, whatever its own model and inputs.
    alone: Option<String>,
}

/// Results of an ensemble.
#[derive(Clone, Debug)]
pub struct EnsembleRun {
    /// When states were recorded, s.
    pub times: Vec<f64>,
    /// q, v, work and dissipated energy at each of these times, member after member. NaN for a member that has failed.
    pub records: Vec<f64>,
    /// Cost of each member.
    pub statistics: Vec<Statistics>,
    /// Energy at the end − energy at the start − work + dissipated of each member, J; NaN for one that has failed.
    pub energy_errors: Vec<f64>,
    /// The members that failed, with reasons.
    pub failures: Vec<Failure>,
    /// Events of each member, in order: event functions, dry friction, stops.
    pub events: Vec<Vec<Happened>>,
    /// Why the members were not computed in lanes; none if they were.
    pub one_by_one: Option<String>,
    nq: usize,
    nv: usize,
}

impl EnsembleRun {
    /// Number of members.
    pub fn count(&self) -> usize {
        self.statistics.len()
    }

    fn record(&self, member: usize, time: usize) -> &[f64] {
        let width = self.nq + self.nv + 2;
        &self.records[(member * self.times.len() + time) * width..][..width]
    }

    /// Positions of a member at one of the times.
    pub fn q(&self, member: usize, time: usize) -> &[f64] {
        &self.record(member, time)[..self.nq]
    }

    /// Velocities of a member at one of the times.
    pub fn v(&self, member: usize, time: usize) -> &[f64] {
        &self.record(member, time)[self.nq..self.nq + self.nv]
    }

    /// Work of the efforts on a member up to one of the times, and energy that it has dissipated, J.
    pub fn integrals(&self, member: usize, time: usize) -> [f64; 2] {
        let record = self.record(member, time);
        [record[self.nq + self.nv], record[self.nq + self.nv + 1]]
    }
}

impl Ensemble {
    /// Simulations of this model. Settings that [`Simulation`] rejects are rejected here.
    pub fn new(model: &Model, options: SimulationOptions) -> Result<Self> {
        check(&options)?;
        if let Integrator::Adaptive {
            tolerances,
            max_step,
            ..
        } = options.integrator
        {
            let settings = IntegratorOptions {
                tolerances,
                max_step,
                ..IntegratorOptions::default()
            };
            settings.check()?;
        }
        Ok(Ensemble {
            model: model.clone(),
            options,
            threads: 1,
            cpu: Cpu::detect(),
            code: None,
            family: None,
            alone: None,
        })
    }

    /// Sets the number of threads; 0 is the number of processors.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        self
    }

    /// Sets the instruction set to use, or the best below it that the processor has.
    #[must_use]
    pub fn with_cpu(mut self, cpu: Cpu) -> Self {
        self.cpu = cpu.min(Cpu::best());
        self
    }

    /// Decides for all of these members together whether they run in lanes. For members that are run in several parts: results then do not
    /// depend on which part a member is in.
    pub fn for_members(mut self, members: &Members<'_>) -> Result<Self> {
        let count = self.check_members(members)?;
        self.alone = self.lanes(members, count).err();
        Ok(self)
    }

    /// Initial states of members with these seeds, positions and velocities member after member: the [random states](State::random) of
    /// single runs. Each depends on its own seed only.
    pub fn random_starts(&self, seeds: &[u64]) -> (Vec<f64>, Vec<f64>) {
        let states = seeds.iter().map(|&seed| State::random(&self.model, seed));
        let (q, v): (Vec<_>, Vec<_>) = states.map(|state| (state.q, state.v)).unzip();
        (q.concat(), v.concat())
    }

    /// Uses the forward dynamics of this code, generated for the model in lanes, where members have no models of their own.
    pub fn with_code(mut self, code: &Compiled) -> Result<Self> {
        code.expect_model(&self.model)?;
        self.code = Some(code.clone());
        Ok(self)
    }

    /// Uses the forward dynamics of this code, generated for a family of models in lanes, where members have models of their own. A run rejects
    /// members that the code was not generated for.
    pub fn with_family_code(mut self, code: &FamilyCode) -> Result<Self> {
        if code.family().nominal().fingerprint() != self.model.fingerprint() {
            let name = self.model.name();
            return Err(Error::new(
                ErrorKind::Input,
                format!("the code was made for a family of another model than `{name}`"),
            )
            .hint("a model that was changed must be compiled again"));
        }
        self.family = Some(code.clone());
        Ok(self)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Runs all members to the end. A member that fails does not stop the others: see [`EnsembleRun::failures`].
    pub fn run(&self, members: &Members<'_>) -> Result<EnsembleRun> {
        let count = self.check_members(members)?;
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let times = Simulation::sample_times(&self.options);
        let width = nq + nv + 2;
        let numbers = (count * times.len()).checked_mul(width);
        if numbers.is_none_or(|numbers| numbers > MOST_NUMBERS) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "{count} members with {} samples each do not fit into memory",
                    times.len()
                ),
            )
            .hint("take samples farther apart, or run the members in parts"));
        }
        let mut run = EnsembleRun {
            records: vec![f64::NAN; count * times.len() * width],
            statistics: vec![Statistics::default(); count],
            energy_errors: vec![f64::NAN; count],
            failures: Vec::new(),
            events: vec![Vec::new(); count],
            one_by_one: None,
            times,
            nq,
            nv,
        };
        match self.lanes(members, count) {
            Ok((stepping, numbers)) => {
                let models: Vec<&Model> = members.models.iter().collect();
                let parameters = self.parameters(&models)?;
                let feedback = match &numbers {
                    None => members.feedback,
                    Some(numbers) => feedback_of(numbers),
                };
                let trajectories = Trajectories {
                    model: &self.model,
                    models: &models,
                    q: members.q,
                    v: members.v,
                    feedback,
                    stepping,
                    times: &run.times,
                    code: self.code.as_ref(),
                    family: self.family.as_ref().zip(parameters.as_deref()),
                    cpu: self.cpu,
                    threads: self.threads,
                };
                run.failures = trajectories.run(&mut run.records, &mut run.statistics, &mut []);
                self.audit(members, &mut run);
            }
            Err(reason) => {
                run.one_by_one = Some(reason);
                self.run_one_by_one(members, &mut run);
            }
        }
        Ok(run)
    }

    /// How lanes step these members, and with which feedback if they have inputs; or why they cannot.
    fn lanes(
        &self,
        members: &Members<'_>,
        count: usize,
    ) -> std::result::Result<(Stepping, Option<Numbers>), String> {
        if let Some(reason) = &self.alone {
            return Err(reason.clone());
        }
        let models: Vec<&Model> = members.models.iter().collect();
        let stepping = in_lanes(&self.options, &self.model, &models)?;
        if !members.events.is_empty() {
            return Err("events are looked for".into());
        }
        if members.inputs.is_empty() {
            return Ok((stepping, None));
        }
        let mut all = Numbers::default();
        for member in 0..count {
            let model = self.model_of(members, member);
            let own = linear_feedback(model, inputs_of(members, member), &self.options)?;
            append(&mut all, own);
        }
        Ok((stepping, Some(all)))
    }

    /// The parameters of members with models of their own, where there is code for these.
    fn parameters(&self, models: &[&Model]) -> Result<Option<Vec<f64>>> {
        let Some(code) = self.family.as_ref().filter(|_| !models.is_empty()) else {
            return Ok(None);
        };
        let mut parameters = Vec::new();
        for (member, model) in models.iter().enumerate() {
            let own = code.family().parameters(model);
            parameters.extend(own.map_err(|error| of_member(member, &error))?);
        }
        Ok(Some(parameters))
    }

    /// Checks lengths and numbers of the members; returns how many there are.
    fn check_members(&self, members: &Members<'_>) -> Result<usize> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        if nv == 0 {
            return Err(Error::new(
                ErrorKind::Input,
                format!("model `{}` has no freedoms to simulate", self.model.name()),
            ));
        }
        let count = members.q.len() / nq;
        check_length("positions of the members", members.q.len(), count * nq)?;
        check_length("velocities of the members", members.v.len(), count * nv)?;
        let names = ["efforts", "targets", "stiffness", "damping"];
        for (name, part) in names.into_iter().zip(members.feedback.parts()) {
            if part.is_empty() {
                continue;
            }
            check_length(&format!("{name} of the members"), part.len(), count * nv)?;
            if let Some(at) = part.iter().position(|x| !x.is_finite()) {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("member {}: {name} are not finite numbers", at / nv),
                ));
            }
        }
        if !members.inputs.is_empty() {
            self.check_inputs(members, count)?;
        }
        if !members.models.is_empty() {
            let what = "models of the members";
            check_length(what, members.models.len(), count)?;
            let unlike =
                |model: &Model| !self.model.is_alike(model) || (model.nq(), model.nv()) != (nq, nv);
            if let Some(member) = members.models.iter().position(unlike) {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "member {member}: its model has other bodies or joints than `{}`",
                        self.model.name()
                    ),
                )
                .hint("members may differ in numbers only; make an ensemble for each structure"));
            }
        }
        for member in 0..count {
            let (q, v) = (
                &members.q[member * nq..(member + 1) * nq],
                &members.v[member * nv..(member + 1) * nv],
            );
            State::new(&self.model, q, v).map_err(|error| of_member(member, &error))?;
        }
        Ok(count)
    }

    /// Checks the inputs of a single run for each member, or for all.
    fn check_inputs(&self, members: &Members<'_>, count: usize) -> Result<()> {
        if members.feedback.parts().iter().any(|part| !part.is_empty()) {
            return Err(
                Error::new(ErrorKind::Input, "members have feedback and inputs")
                    .hint("give one of them; a controller of the inputs can do what feedback does"),
            );
        }
        if members.inputs.len() != 1 {
            check_length("inputs of the members", members.inputs.len(), count)?;
        }
        let whole = self.model.clone().with_couplings_as_constraints();
        for (member, inputs) in members.inputs.iter().enumerate() {
            let checked = inputs.check(&whole);
            checked.map_err(|error| of_member(member, &error))?;
        }
        Ok(())
    }

    fn model_of<'m>(&'m self, members: &Members<'m>, member: usize) -> &'m Model {
        members.models.get(member).unwrap_or(&self.model)
    }

    /// Members one by one, on all threads.
    fn run_one_by_one(&self, members: &Members<'_>, run: &mut EnsembleRun) {
        // an empty ensemble has no numbers
        let size = (run.records.len() / run.count().max(1)).max(1);
        let chunk = run.count().div_ceil(self.threads.max(1)).max(1);
        struct Part<'a> {
            first: usize,
            records: &'a mut [f64],
            statistics: &'a mut [Statistics],
            energy_errors: &'a mut [f64],
            events: &'a mut [Vec<Happened>],
            failures: Vec<Failure>,
        }
        let mut parts: Vec<Part<'_>> = run
            .records
            .chunks_mut(chunk * size)
            .zip(run.statistics.chunks_mut(chunk))
            .zip(run.energy_errors.chunks_mut(chunk))
            .zip(run.events.chunks_mut(chunk))
            .enumerate()
            .map(
                |(k, (((records, statistics), energy_errors), events))| Part {
                    first: k * chunk,
                    records,
                    statistics,
                    energy_errors,
                    events,
                    failures: Vec::new(),
                },
            )
            .collect();
        each(&mut parts, |part| {
            for (k, records) in part.records.chunks_mut(size).enumerate() {
                let member = part.first + k;
                match self.run_member(members, member, records) {
                    Ok(done) => {
                        part.statistics[k] = done.statistics;
                        part.energy_errors[k] = done.energy_error;
                        part.events[k] = done.events;
                    }
                    Err(error) => {
                        records.fill(f64::NAN);
                        part.failures.push(Failure {
                            state: member,
                            error,
                        });
                    }
                }
            }
        });
        let failures = parts.into_iter().flat_map(|part| part.failures).collect();
        run.failures = failures;
    }

    fn run_member(
        &self,
        members: &Members<'_>,
        member: usize,
        records: &mut [f64],
    ) -> Result<Done> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let model = self.model_of(members, member);
        let state = State::new(
            model,
            &members.q[member * nq..(member + 1) * nq],
            &members.v[member * nv..(member + 1) * nv],
        )?;
        let inputs = match members.inputs.is_empty() {
            true => inputs(model, &members.feedback, member),
            false => inputs_of(members, member).clone(),
        };
        let (events, options) = (members.events.to_vec(), self.options.clone());
        let mut simulation = Simulation::new(model, &state, inputs, events, options)?;
        let mut samples = Vec::new();
        while !simulation.finished() {
            simulation.advance(&mut samples)?;
        }
        for (sample, record) in samples.iter().zip(records.chunks_mut(nq + nv + 2)) {
            let (q, rest) = record.split_at_mut(nq);
            let (v, integrals) = rest.split_at_mut(nv);
            match model.couplings() {
                None => {
                    q.copy_from_slice(&sample.state.q);
                    v.copy_from_slice(&sample.state.v);
                }
                Some(couplings) => {
                    for (q, &k) in q.iter_mut().zip(couplings.positions()) {
                        *q = sample.state.q[k];
                    }
                    for (v, &k) in v.iter_mut().zip(couplings.freedoms()) {
                        *v = sample.state.v[k];
                    }
                }
            }
            integrals.copy_from_slice(&[sample.work, sample.dissipated]);
        }
        let energy = |sample: Option<&Sample>| sample.map_or(f64::NAN, |s| s.energies.iter().sum());
        let [work, dissipated] = match samples.last() {
            Some(last) => [last.work, last.dissipated],
            None => [f64::NAN; 2],
        };
        let events = simulation.events();
        let audit = simulation.finish();
        Ok(Done {
            statistics: Statistics {
                steps: audit.steps,
                rejected: audit.rejected,
                evaluations: audit.evaluations,
            },
            energy_error: energy(samples.last()) - energy(samples.first()) - work + dissipated,
            events,
        })
    }

    /// The balance of energy of every member in lanes.
    fn audit(&self, members: &Members<'_>, run: &mut EnsembleRun) {
        let last = run.times.len() - 1;
        let chunk = run.count().div_ceil(self.threads.max(1)).max(1);
        let mut errors = std::mem::take(&mut run.energy_errors);
        let whole = &*run;
        let mut parts: Vec<(usize, &mut [f64])> = errors.chunks_mut(chunk).enumerate().collect();
        each(&mut parts, |(k, errors)| {
            let mut work = Kinematics::new(&self.model);
            let mut state = State::neutral(&self.model);
            let still = vec![0.0; self.model.nv()];
            for (j, error) in errors.iter_mut().enumerate() {
                let member = *k * chunk + j;
                let model = self.model_of(members, member);
                let mut energy = |time: usize| {
                    state.q.copy_from_slice(whole.q(member, time));
                    state.v.copy_from_slice(whole.v(member, time));
                    energy(model, &state, &still, &mut work)
                };
                let [work, dissipated] = whole.integrals(member, last);
                *error = energy(last) - energy(0) - work + dissipated;
            }
        });
        drop(parts);
        run.energy_errors = errors;
    }
}

/// Maximum number of values that an ensemble records: 8 GB.
const MOST_NUMBERS: usize = 1 << 30;

/// Result of a member that ran on its own.
struct Done {
    statistics: Statistics,
    energy_error: f64,
    events: Vec<Happened>,
}

/// Efforts, targets, stiffness and damping, nv each and member after member.
type Numbers = [Vec<f64>; 4];

fn append(all: &mut Numbers, own: Numbers) {
    for (all, own) in all.iter_mut().zip(own) {
        all.extend(own);
    }
}

fn feedback_of([efforts, targets, stiffness, damping]: &Numbers) -> Feedback<'_> {
    Feedback {
        efforts,
        targets,
        stiffness,
        damping,
    }
}

/// An error that names its member.
fn of_member(member: usize, error: &Error) -> Error {
    let message = format!("member {member}: {}", error.message());
    let new = Error::new(error.kind(), message);
    match error.advice() {
        Some(hint) => new.hint(hint),
        None => new,
    }
}

/// The inputs of a member, its own or those of all.
fn inputs_of<'m>(members: &Members<'m>, member: usize) -> &'m Inputs {
    match members.inputs {
        [all] => all,
        each => &each[member],
    }
}

/// Energy of a tree at a state; `still` are as many zeros as it has freedoms.
fn energy(model: &Model, state: &State, still: &[f64], work: &mut Kinematics<f64>) -> f64 {
    forward_kinematics(model, state.view(), still, work);
    let found = mechanical_state(model, &state.q, &state.v, work);
    found.kinetic + found.gravitational + found.elastic
}

/// Feedback as the inputs of a member that runs on its own.
fn inputs(model: &Model, feedback: &Feedback<'_>, member: usize) -> Inputs {
    let nv = model.nv();
    let whole = model.tree().nv;
    let of_tree = |part: &[f64]| {
        let mut all = vec![0.0; whole];
        if !part.is_empty() {
            let own = &part[member * nv..(member + 1) * nv];
            match model.couplings() {
                None => all.copy_from_slice(own),
                Some(couplings) => {
                    for (x, &k) in own.iter().zip(couplings.freedoms()) {
                        all[k] = *x;
                    }
                }
            }
        }
        all
    };
    let [efforts, targets, stiffness, damping] = feedback.parts().map(of_tree);
    let is_constant = feedback.stiffness.is_empty() && feedback.damping.is_empty();
    let controller = match (is_constant, feedback.efforts.is_empty()) {
        (true, true) => Controller::None,
        (true, false) => Controller::Constant(efforts),
        _ => {
            let scalars: Vec<(usize, usize)> = controlled(model).collect();
            Controller::Own(Law::function(move |_, q, v, tau| {
                tau.copy_from_slice(&efforts);
                for &(k, at) in &scalars {
                    tau[k] += stiffness[k] * (targets[k] - q[at]) - damping[k] * v[k];
                }
            }))
        }
    };
    Inputs {
        controller,
        ..Inputs::default()
    }
}

/// How lanes step, or why they cannot run these models.
fn in_lanes(
    options: &SimulationOptions,
    model: &Model,
    models: &[&Model],
) -> std::result::Result<Stepping, String> {
    for model in std::iter::once(&model).chain(models) {
        let name = model.name();
        if !model.constraints().is_empty() {
            return Err(format!("`{name}` has loops or other constraints"));
        }
        if model.couplings().is_some() {
            return Err(format!("`{name}` has coupled joints"));
        }
        if !model.forces().is_empty() {
            return Err(format!("`{name}` has force elements"));
        }
        if let Some(k) = model.dofs.iter().position(|dof| dof.friction != 0.0) {
            let dof = &model.tree().dofs[k].name;
            return Err(format!("`{dof}` has dry friction"));
        }
    }
    match options.integrator {
        Integrator::Fixed {
            method: FixedMethod::ImplicitMidpoint,
            ..
        } => Err("the implicit midpoint rule iterates".into()),
        Integrator::Fixed { method, step } => Ok(Stepping::Fixed { method, step }),
        Integrator::Adaptive {
            method,
            tolerances,
            max_step,
        } => Ok(Stepping::Adaptive {
            method,
            tolerances,
            max_step,
        }),
        Integrator::Bdf { .. } => Err("the method is implicit".into()),
    }
}

impl Simulation {
    /// Why this run cannot be computed in lanes together with others; none if it can. Event functions only report: a run in lanes has
    /// none of their events.
    pub fn obstacle_to_lanes(&self) -> Option<String> {
        self.feedback().err()
    }

    /// The numbers of its feedback.
    fn feedback(&self) -> std::result::Result<Numbers, String> {
        let (system, options, _) = self.parts();
        let model = system.model();
        in_lanes(options, model, &[])?;
        if model.nv() == 0 {
            return Err("the model has no freedoms".into());
        }
        if system.has_own_equations() {
            return Err("its accelerations come from other equations of motion".into());
        }
        linear_feedback(model, system.inputs(), options)
    }
}

/// The feedback equivalent to these inputs, if lanes support them; otherwise the reason.
fn linear_feedback(
    model: &Model,
    inputs: &Inputs,
    options: &SimulationOptions,
) -> std::result::Result<Numbers, String> {
    let reasons = [
        (inputs.actuators.is_some(), "actuators have limits"),
        (
            inputs.rate.is_some() && !matches!(inputs.controller, Controller::None),
            "the controller is sampled",
        ),
        (
            !inputs.wrenches.is_empty() || !inputs.loads.is_empty() || !inputs.springs.is_empty(),
            "wrenches act on bodies",
        ),
        (!inputs.stops.is_empty(), "joint limits stop the motion"),
        (!inputs.base.is_fixed(), "the base has a motion or a pose"),
    ];
    if let Some((_, reason)) = reasons.iter().find(|(applies, _)| *applies) {
        return Err((*reason).into());
    }
    let zeros = || vec![0.0; model.nv()];
    let mut feedback = [zeros(), zeros(), zeros(), zeros()];
    match &inputs.controller {
        Controller::None => {}
        Controller::Constant(tau) => feedback[0].copy_from_slice(tau),
        Controller::ProportionalDerivative {
            motion: Reference::PointToPoint(motion),
            stiffness,
            damping,
        } if motion.duration() >= options.duration
            && motion.at(0.0).q == motion.at(motion.duration()).q =>
        {
            let wanted = motion.at(0.0);
            for (k, (v, _)) in controlled(model).enumerate() {
                feedback[1][v] = wanted.q[k];
                feedback[2][v] = stiffness.at(k);
                feedback[3][v] = damping.at(k);
            }
        }
        Controller::ProportionalDerivative { .. } => {
            return Err("the motion to follow changes with time".into());
        }
        _ => return Err("efforts are neither constant nor linear feedback".into()),
    }
    Ok(feedback)
}

/// Runs simulations that have not begun together to their end, in lanes on the given number of threads, and appends the samples of each. They
/// must have models of the same structure and the same options, and no [obstacle](Simulation::obstacle_to_lanes). With `code`, forward
/// dynamics generated in lanes, they must have its model.
///
/// The results, each with its audit to be [finished](Simulation::finish), are those of separate runs to round-off; a run that fails returns
/// its error.
pub fn advance_together(
    simulations: &mut [Simulation],
    samples: &mut [Vec<Sample>],
    code: Option<&Compiled>,
    threads: usize,
) -> Result<Vec<Result<()>>> {
    check_length("lists of samples", samples.len(), simulations.len())?;
    let Some(first) = simulations.first() else {
        return Ok(Vec::new());
    };
    let (system, options, _) = first.parts();
    let (model, options) = (system.model().clone(), options.clone());
    let refuse = |what: &str| Err(Error::new(ErrorKind::Input, what.to_string()));
    let mut feedback = Numbers::default();
    let (mut q, mut v) = (Vec::new(), Vec::new());
    for simulation in &*simulations {
        let (system, own, y) = simulation.parts();
        if *own != options || !model.is_alike(system.model()) {
            return refuse("runs together need the same options, bodies and joints");
        }
        if simulation.sample_count() > 0 {
            return refuse("a run has already begun");
        }
        match simulation.feedback() {
            Ok(own) => append(&mut feedback, own),
            Err(reason) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("a run cannot be computed in lanes: {reason}"),
                ));
            }
        }
        q.extend_from_slice(&y[..model.nq()]);
        v.extend_from_slice(&y[model.nq()..model.nq() + model.nv()]);
    }
    // the result of a run must not depend on whether others have the same numbers
    let owned: Vec<Model> = match code {
        Some(_) => Vec::new(),
        None => simulations
            .iter()
            .map(|simulation| simulation.model().clone())
            .collect(),
    };
    let models: Vec<&Model> = owned.iter().collect();
    if let Some(code) = code {
        for simulation in &*simulations {
            code.expect_model(simulation.model())?;
        }
    }
    let stepping = match in_lanes(&options, &model, &models) {
        Ok(stepping) => stepping,
        Err(reason) => return refuse(&reason),
    };
    let times = Simulation::sample_times(&options);
    let width = model.nq() + model.nv() + 2;
    let mut records = vec![0.0; simulations.len() * times.len() * width];
    let mut statistics = vec![Statistics::default(); simulations.len()];
    let trajectories = Trajectories {
        model: &model,
        models: &models,
        q: &q,
        v: &v,
        feedback: feedback_of(&feedback),
        stepping,
        times: &times,
        code,
        family: None,
        cpu: Cpu::detect(),
        threads,
    };
    // sums of the audit of fixed steps for each freedom
    let per_audit = match options.integrator {
        Integrator::Fixed { .. } => 3 * model.nv(),
        _ => 0,
    };
    let mut phases = vec![0.0; simulations.len() * per_audit];
    let failures = trajectories.run(&mut records, &mut statistics, &mut phases);
    let mut done: Vec<Result<()>> = Vec::new();
    let records = records.chunks(times.len() * width);
    for (k, ((simulation, samples), records)) in
        simulations.iter_mut().zip(samples).zip(records).enumerate()
    {
        let failure = failures.iter().find(|failure| failure.state == k);
        done.push(match failure {
            Some(failure) => Err(failure.error.clone()),
            None => {
                let phases = &phases[k * per_audit..(k + 1) * per_audit];
                simulation.take_over(records, statistics[k], phases, samples)
            }
        });
    }
    Ok(done)
}
