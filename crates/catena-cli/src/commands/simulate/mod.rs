//! `catena simulate MODEL`: motion in time, written during the run, with an audit at the end.

mod base;
mod chosen;
mod drive;
mod limits;
mod origin;
mod process;
mod progress;
mod record;
mod report;
mod trial;

pub use base::motion as base_motion;
pub use chosen::{Chosen, matches};
pub use limits::description as stops_description;
pub use origin::arithmetic;
pub use record::Layout;
pub use report::{stored, violated};
pub use trial::{Columns, Rest, RunArguments, Started, Trial};

use crate::formulation_argument::{FormulationArgument, described};
use crate::interrupt;
use crate::json;
use crate::model_argument::{Loaded, ModelArgument};
use crate::number::{counted, rough, six};
use crate::outcome::Outcome;
use crate::output;
use crate::referee;
use crate::situation::{self, Moved, Situation};
use crate::state_argument::StateArgument;
use catena::ClosedChain;
use catena::algorithm::body_coordinates;
use catena::algorithm::constrained::Stabilisation;
use catena::algorithm::pendulum::Scheme;
use catena::error::{Error, ErrorKind, Result};
use catena::integrate::bdf::MAX_ORDER;
use catena::integrate::{FixedMethod, Method, Tolerances};
use catena::native::Compiler;
use catena::residual::{larger, within};
use catena::simulate::{
    Drift, FastDamping, Integrator, NewtonMatrix, Sample, Simulation, SimulationOptions,
    fastest_damping, verified_error,
};
use catena::{Cpu, Dynamics, Model, thresholds};
use catena_mechanism::{ByFormulation, Formulation};
use clap::{Args, ValueEnum};
use drive::Drive;
use limits::LimitKind;
use progress::Progress;
use record::Recorder;
use report::Report;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Default time between samples, s.
const INTERVAL: f64 = 0.01;
/// Default step of fixed-step methods, s.
const STEP: f64 = 0.001;

/// If projection onto the constraints moves the initial state by more than this, it is reported.
const NUDGED: f64 = 1e-10;

/// How strict the audit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Strictness {
    /// A violated law makes the exit code 1
    Strict,
    /// Print it; the exit code only says whether the run was completed
    Report,
}

/// Where accelerations come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Accelerations {
    /// Machine code generated for the model, where possible: up to 100 freedoms, explicit methods, no loops
    Compiled,
    /// The recursion for any model
    General,
}

/// How loops are kept closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Closing {
    /// Every step is projected onto the constraints.
    Projection,
    /// Violations decay: ξ̈ + α ξ̇ + β ξ = 0.
    Baumgarte,
}

/// What drives the joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ControllerKind {
    /// Gravity compensation.
    Gravity,
    /// Spring and damper toward a motion.
    Pd,
    /// Inverse dynamics of a motion, with feedback.
    ComputedTorque,
}

/// Model, start, drive, method and where the run goes.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,

    /// Row of the --state file to start from: a time in s, or `end`
    #[arg(
        long,
        value_name = "T",
        requires = "state",
        allow_hyphen_values = true,
        help_heading = "State"
    )]
    at: Option<String>,

    /// Where accelerations come from
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value = "compiled",
        help_heading = "Method"
    )]
    accelerations: Accelerations,

    #[command(flatten)]
    formulation: FormulationArgument,

    /// Duration in s
    #[arg(
        long,
        value_name = "T",
        default_value_t = 10.0,
        allow_negative_numbers = true
    )]
    duration: f64,

    /// Time between samples in s; the duration is a multiple of it [default: 0.01]
    #[arg(long, value_name = "DT", allow_negative_numbers = true)]
    interval: Option<f64>,

    /// dop853, verner9, verner6, tsit5, dopri5 (adaptive); bdf (adaptive, implicit, for stiff joints); rk4, semi-implicit-euler, implicit-midpoint (fixed step) [default: dop853, bdf where the damping of a joint is too fast for it]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = |name: &str| Ok::<String, std::convert::Infallible>(name.to_lowercase()),
        help_heading = "Method"
    )]
    method: Option<String>,

    /// Coordinates that bdf integrates: joints (trees), bodies (redundant coordinates, loops too) [default: joints, bodies if there are loops]
    #[arg(long, value_name = "NAME", help_heading = "Method")]
    coordinates: Option<String>,

    /// How bdf solves its linear systems: tree, dense; index-2, index-3, stabilised (in body coordinates, with the constraints of that index); numerical-full, exact-full, reduced, linear (chains of ball joints, Chou)
    #[arg(long, value_name = "NAME", help_heading = "Method")]
    newton: Option<String>,

    /// Relative tolerance of adaptive methods
    #[arg(
        long,
        value_name = "TOL",
        default_value = "1e-8",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    rtol: f64,

    /// Absolute tolerance [default: a hundredth of the relative one]
    #[arg(
        long,
        value_name = "TOL",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    atol: Option<f64>,

    /// Largest step of adaptive methods, or the step of fixed-step methods (0.001 by default), in s
    #[arg(
        long,
        value_name = "H",
        help_heading = "Method",
        allow_negative_numbers = true
    )]
    step: Option<f64>,

    /// How loops are kept closed
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value = "projection",
        help_heading = "Method"
    )]
    closing: Closing,

    /// α of Baumgarte's equations, 1/s [default: critical damping, α = 2 √β; without both β = 1/T², T five fixed steps or 0.05 s]
    #[arg(long, value_name = "ALPHA", help_heading = "Method")]
    alpha: Option<f64>,

    /// β of Baumgarte's equations, 1/s² [default: critical damping, β = α²/4]
    #[arg(long, value_name = "BETA", help_heading = "Method")]
    beta: Option<f64>,

    /// Constant efforts, in N·m and N
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, conflicts_with_all = ["efforts", "controller"], help_heading = "Drive")]
    tau: Option<String>,

    /// Efforts over time: CSV with t and tau columns, linear between its rows
    #[arg(
        long,
        value_name = "FILE.csv",
        conflicts_with = "controller",
        help_heading = "Drive"
    )]
    efforts: Option<PathBuf>,

    /// Controller of the joints
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Drive")]
    controller: Option<ControllerKind>,

    /// Efforts as a formula of t, q.NAME and v.NAME: `shoulder=2*sin(3*t)-0.5*v.shoulder`; may be repeated
    #[arg(
        long,
        value_name = "JOINT=FORMULA",
        allow_hyphen_values = true,
        conflicts_with_all = ["tau", "efforts", "controller", "controller_command"],
        help_heading = "Drive"
    )]
    effort: Vec<String>,

    /// A process as the controller: it reads and writes JSON lines
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "rate",
        conflicts_with_all = ["tau", "efforts", "controller", "verify"],
        help_heading = "Drive"
    )]
    controller_command: Option<String>,

    /// How long the process may take to answer, in s
    #[arg(
        long,
        value_name = "T",
        default_value_t = 10.0,
        allow_negative_numbers = true,
        requires = "controller_command",
        help_heading = "Drive"
    )]
    controller_timeout: f64,

    /// How often the controller runs, in Hz, with its efforts held in between [default: it is continuous]
    #[arg(
        long,
        value_name = "HZ",
        allow_negative_numbers = true,
        conflicts_with_all = ["tau", "efforts"],
        help_heading = "Drive"
    )]
    rate: Option<f64>,

    /// Ignore the effort limits of the actuators
    #[arg(long, conflicts_with_all = ["tau", "efforts"], help_heading = "Drive")]
    unlimited: bool,

    /// Positions the controller moves the joints to, along a cycloid: all without a quaternion in order, or some by name
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        requires = "controller",
        help_heading = "Drive"
    )]
    to: Option<String>,

    /// Time the controller takes for that, in s [default: the duration]
    #[arg(
        long,
        value_name = "T",
        allow_negative_numbers = true,
        requires = "controller",
        help_heading = "Drive"
    )]
    move_time: Option<f64>,

    /// Gain on the position error: for all joints, or by name (`shoulder=80,elbow=40`, others as by default) [default: 100]
    #[arg(
        long,
        value_name = "K",
        alias = "stiffness",
        allow_hyphen_values = true,
        requires = "controller",
        help_heading = "Drive"
    )]
    kp: Option<String>,

    /// Gain on the velocity error, likewise [default: 20]
    #[arg(
        long,
        value_name = "D",
        alias = "damping",
        allow_hyphen_values = true,
        requires = "controller",
        help_heading = "Drive"
    )]
    kd: Option<String>,

    /// Motion the controller follows instead: CSV with t, q, v and a, or a run
    #[arg(
        long,
        value_name = "FILE.csv",
        requires = "controller",
        conflicts_with_all = ["to", "move_time"],
        help_heading = "Drive"
    )]
    trajectory: Option<PathBuf>,

    /// Motion of the base: FILE.csv of poses, move:vx,vy,vz, accelerate:ax,ay,az, turn:wx,wy,wz, shake:dx,dy,dz,HZ or
    /// swing:rx,ry,rz,HZ; all but files may be repeated, and add
    #[arg(
        long,
        value_name = "MOTION",
        allow_hyphen_values = true,
        help_heading = "Drive"
    )]
    base: Vec<String>,

    /// Report when the origin of a frame crosses the plane n·x = d; may be repeated
    #[arg(
        long,
        value_name = "FRAME:nx,ny,nz,d",
        allow_hyphen_values = true,
        help_heading = "Events"
    )]
    plane: Vec<String>,

    /// What joint limits do
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value = "report",
        help_heading = "Limits"
    )]
    limits: LimitKind,

    /// Short for `--limits ignore`
    #[arg(long, conflicts_with = "limits", help_heading = "Limits")]
    no_limits: bool,

    /// Speed after an impact on a rigid limit over that before, 0 to 1: for all joints, or by name (`elbow=0.5`) [default: as in the model, else 0]
    #[arg(
        long,
        value_name = "E",
        allow_hyphen_values = true,
        help_heading = "Limits"
    )]
    restitution: Option<String>,

    /// Stiffness of soft limits, in N·m/rad or N/m, likewise [default: as in the model]
    #[arg(
        long,
        value_name = "K",
        allow_hyphen_values = true,
        help_heading = "Limits"
    )]
    stop_stiffness: Option<String>,

    /// Damping of soft limits, in N·m·s/rad or N·s/m, likewise [default: as in the model, else 0]
    #[arg(
        long,
        value_name = "D",
        allow_hyphen_values = true,
        help_heading = "Limits"
    )]
    stop_damping: Option<String>,

    /// Write the run to this file: .csv, .parquet or .mcap
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Further columns for the file, by name with wildcards: frame.tool.*, frame.*.x, centre.*, momentum.*, angular_momentum.*,
    /// joint.*, constraint.*, actuator.*, force.*, sensor.*; may be repeated
    #[arg(long, value_name = "NAMES", requires = "output", value_delimiter = ',')]
    record: Vec<String>,

    /// The loads of every joint and constraint over time as further columns: --record joint.*,constraint.*
    #[arg(long, requires = "output")]
    loads: bool,

    /// Replace an existing file
    #[arg(long, requires = "output", conflicts_with = "resume")]
    overwrite: bool,

    /// Continue a run that was stopped; give the same command again with this option
    #[arg(long, requires = "output")]
    resume: bool,

    /// Estimate the error at the end by a second run at a hundredth of the tolerance, and compare it with this relative limit
    /// [default: 0.01]
    #[arg(
        long,
        value_name = "LIMIT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.01"
    )]
    verify: Option<f64>,

    /// What to do with the audit
    #[arg(long, value_enum, value_name = "HOW", default_value = "strict")]
    audit: Strictness,
}

/// A run that is about to start, and its settings.
struct Begun {
    simulation: Simulation,
    start: Situation,
    /// The method of integration, and the damping that chose it.
    method: String,
    stiff: Option<FastDamping>,
    options: SimulationOptions,
    drive: Drive,
    events: Vec<String>,
    moved: Option<Moved>,
    /// The requested formulation, how often another had to take over, and the number of evaluations.
    by: Option<(Formulation, Arc<[AtomicUsize; 2]>)>,
}

impl Arguments {
    /// Names of the additional columns, including those of `--loads`.
    fn recorded(&self, model: &Model) -> Vec<String> {
        let mut names = self.record.clone();
        if self.loads {
            names.push("joint.*".into());
            if !model.constraints().is_empty() {
                names.push("constraint.*".into());
            }
        }
        names
    }

    /// Sets a run up from a state in independent coordinates, and opens the model's couplings: the run has all coordinates of the tree.
    /// `option` names in messages the source of additional columns.
    fn begin(
        &self,
        loaded: &mut Loaded,
        start: &Situation,
        compiler: Option<Compiler>,
    ) -> Result<Begun> {
        let mut start = start.of_tree(&loaded.model);
        let has_loops = !loaded.model.constraints().is_empty();
        loaded.model = loaded.model.clone().with_couplings_as_constraints();
        let model = &loaded.model;
        let mut moved = None;
        if has_loops {
            let chain = &mut ClosedChain::new(model);
            moved = situation::close(chain, 0.0, &mut start)?;
        }
        let stiff = self.stiff_damping(model, &start);
        let method = self.method(stiff.as_ref()).to_string();
        let options = self.options(&method)?;
        self.check_limit()?;
        let drive = self.drive(model, &start)?;
        let events = self.events(model)?;
        let names = events.iter().map(|event| event.name().to_string());
        let names: Vec<String> = names.collect();
        let drift = self.drift(&options)?;
        let (state, inputs) = (&start.state, drive.inputs.clone());
        let mut by = None;
        let simulation = match self.formulation.formulation()? {
            None => {
                let options = options.clone();
                Simulation::with_compiler(model, state, inputs, events, options, drift, compiler)
            }
            Some(formulation) => {
                let equations = ByFormulation::new(model, formulation, drift);
                by = Some((formulation, equations.counts()));
                let (options, equations) = (options.clone(), Box::new(equations));
                Simulation::with_equations(model, state, inputs, events, options, drift, equations)
            }
        }?;
        Ok(Begun {
            simulation,
            start,
            method,
            stiff,
            options,
            drive,
            events: names,
            moved,
            by,
        })
    }
}

impl Begun {
    /// The columns of the run; `record` chooses some in addition to those of every run, and `option` names it in messages.
    fn layout(&self, model: &Model, option: &str, record: &[String]) -> Result<Layout> {
        let stops = self.drive.inputs.stops.iter();
        let layout = Layout {
            momentum: self.simulation.knows_momentum(),
            base: !self.drive.base.is_null() || self.start.state.base != catena::Base::fixed(),
            stopped: stops.map(|stop| stop.freedom).collect(),
            chosen: Chosen::default(),
        };
        Ok(Layout {
            chosen: Chosen::new(model, &layout.columns(model), option, record)?,
            ..layout
        })
    }
}

/// Simulates.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    interrupt::watch();
    let mut loaded = arguments.model.load()?;
    let start = arguments.start(&loaded)?;
    let compiler = arguments.compiler(&loaded.model);
    let begun = arguments.begin(&mut loaded, &start, compiler)?;
    let model = &loaded.model;
    let layout = begun.layout(model, "--record", &arguments.recorded(model))?;
    let Begun {
        mut simulation,
        start,
        method,
        stiff,
        options,
        drive,
        events,
        moved,
        by,
    } = begun;
    let inputs = drive.inputs.clone();
    let nudged = simulation.start_moved();
    let source = match (&by, simulation.is_compiled()) {
        (Some((formulation, _)), _) => formulation.name(),
        (None, true) => "compiled",
        (None, false) => "general",
    };
    let origin = arguments.origin(
        &loaded, &start, &options, &method, &drive, &events, &layout, source,
    )?;
    let mut recorder = Recorder::new(model, options.duration, layout);
    if let Some(path) = &arguments.output {
        match arguments.resume {
            true => recorder.resume(path, &origin, &mut simulation)?,
            false => recorder.create(path, &origin, arguments.overwrite)?,
        }
    }
    let mut digits = Digits::default();
    let mut error = to_the_end(
        model,
        &mut simulation,
        &mut recorder,
        options.duration,
        &mut digits,
    )
    .err();
    let happened = simulation.events();
    let actuators = simulation.actuator_uses().to_vec();
    let mut audit = simulation.finish();
    if let (Some(limit), None, Some(last)) = (arguments.verify, &error, &recorder.shown.last) {
        match verified_error(model, &start.state, &inputs, &options, &last.state) {
            Ok(found) => audit.verify(found, limit, last.time),
            Err(failure) => error = Some(recorder.kept(failure)),
        }
    }
    if error.is_none() {
        error = recorder
            .finish(&report::stored(model, &audit, &happened, &actuators))
            .err();
    }
    // without a single sample there is nothing to show
    if let (Some(error), 0) = (&error, recorder.shown.count) {
        return Err(error.clone());
    }
    let report = Report {
        model,
        shown: &recorder.shown,
        happened: &happened,
        audit: &audit,
        actuators: &actuators,
        error: error.as_ref().map(Error::message),
    };
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&report.json()),
        false => report.text(),
    });
    if let Some([first, last]) = &recorder.ends {
        digits.look(model, first)?;
        digits.look(model, last)?;
    }
    if let Some(lost) = digits.lost() {
        match arguments.audit {
            Strictness::Strict => outcome.failures.push(lost),
            Strictness::Report => outcome.notes.push(lost),
        }
    }
    if let Some(damping) = stiff {
        outcome = outcome.note(format!(
            "the damping of `{}` has a time constant of {} s: the implicit method bdf is used (--method)",
            damping.name,
            rough(damping.rate.recip())
        ));
    }
    if let Some((formulation, counts)) = &by {
        let [others, all] = [0, 1].map(|k| counts[k].load(Ordering::Relaxed));
        let handed_over = match others {
            0 => String::new(),
            _ => format!("; at {others} of them another formulation took over"),
        };
        outcome = outcome.note(format!(
            "accelerations by {}, {}{handed_over}",
            described(*formulation),
            counted(all, "evaluation", "evaluations")
        ));
    }
    if let Some(moved) = moved {
        outcome = outcome.note(moved.sentence());
    } else if nudged.iter().any(|moved| *moved > NUDGED) {
        let [positions, velocities] = nudged;
        let moved = Moved {
            positions,
            velocities,
        };
        outcome = outcome.note(format!(
            "the initial state was projected onto the constraints: {}",
            moved.words()
        ));
    }
    if let Some(error) = error {
        outcome.refusals.push(error.to_string());
    } else if let Some(path) = &arguments.output {
        let rows = counted(recorder.shown.count, "row", "rows");
        outcome = outcome.note(format!("wrote {rows} to {}", path.display()));
    }
    if arguments.audit == Strictness::Strict {
        outcome.failures.extend(audit.breaches().map(violated));
    }
    Ok(outcome)
}

/// The error of the accelerations at the beginning and at the end of a run, the larger one with its time. The audit cannot detect it: for a chain
/// with a heavy hand inverse dynamics returns the right efforts for wrong accelerations.
#[derive(Default)]
struct Digits {
    /// Times of the samples examined.
    seen: Vec<f64>,
    error: f64,
    time: f64,
}

impl Digits {
    /// Examines a sample, once.
    fn look(&mut self, model: &Model, sample: &Sample) -> Result<()> {
        if self.seen.contains(&sample.time) {
            return Ok(());
        }
        let error = match model.constraints().is_empty() {
            true => {
                let mut dynamics = Dynamics::new(&model.clone().open_tree());
                let (state, external) = (&sample.state, &sample.external);
                referee::acceleration_error(&mut dynamics, state, &sample.tau, external)?
            }
            false => closed_error(&mut ClosedChain::new(model), sample)?,
        };
        self.seen.push(sample.time);
        if larger(self.error, error) != self.error {
            (self.error, self.time) = (error, sample.time);
        }
        Ok(())
    }

    /// The message about the error, if it exceeds what is allowed.
    fn lost(&self) -> Option<String> {
        (!within(self.error, referee::ALLOWED)).then(|| {
            format!(
                "the accelerations have lost digits at {} s: double-double arithmetic differs by {}, allowed {}",
                six(self.time),
                rough(self.error),
                rough(referee::ALLOWED)
            )
        })
    }
}

/// The error of the accelerations of a closed chain. Those of the sample may be better, where a run passed near a singular position with more digits,
/// or differ for another reason: dry friction, stops, open loops that are being closed. The audit reports open loops.
fn closed_error(chain: &mut ClosedChain, sample: &Sample) -> Result<f64> {
    let (time, state) = (sample.time, &sample.state);
    let (tau, external) = (&sample.tau, &sample.external);
    let Ok(motion) = chain.forward(time, state, tau, external) else {
        return Ok(0.0);
    };
    let found = motion.accelerations.to_vec();
    let mut error = f64::INFINITY;
    for found in [&found, &sample.vdot] {
        let accuracy = chain.accuracy(time, state, tau, external, found)?;
        if !referee::is_closed(accuracy) {
            return Ok(0.0);
        }
        error = error.min(referee::closed_error(accuracy));
        if within(error, referee::ALLOWED) {
            break;
        }
    }
    Ok(error)
}

/// Runs the simulation to its end. After an error, the results so far are in the recorder, and in its file.
fn to_the_end(
    model: &Model,
    simulation: &mut Simulation,
    recorder: &mut Recorder,
    end: f64,
    digits: &mut Digits,
) -> Result<()> {
    let mut progress = Progress::new(simulation.time(), end);
    let mut looked = false;
    while !simulation.finished() {
        recorder.advance(simulation)?;
        // a run without correct digits may take long: it is reported before
        if !looked
            && !simulation.finished()
            && let Some(first) = recorder.first()
        {
            looked = true;
            // a failed examination is an error only at the end, when there are results to keep
            if digits.look(model, first).is_ok()
                && let Some(lost) = digits.lost()
            {
                output::complain(&format!("note: {lost}"));
            }
        }
        if interrupt::asked() && !simulation.finished() {
            return Err(recorder.stop(simulation, interrupt::error()));
        }
        progress.show(simulation.time());
    }
    Ok(())
}

impl Arguments {
    /// Checks that the limit is positive and finite.
    fn check_limit(&self) -> Result<()> {
        match self.verify {
            Some(limit) if !(limit > 0.0 && limit.is_finite()) => Err(Error::new(
                ErrorKind::Input,
                format!("--verify: the limit must be positive, not {limit}"),
            )
            .hint("1e-6 allows an error of one millionth of the motion at its end; --verify alone, one hundredth")),
            _ => Ok(()),
        }
    }

    /// Damping that is too fast for the usual method, if no method was chosen. A sampled controller keeps the usual method:
    /// its steps restart at every instant.
    fn stiff_damping(&self, model: &Model, start: &Situation) -> Option<FastDamping> {
        let is_open = self.method.is_none() && self.rate.is_none() && self.step.is_none();
        let found = is_open.then(|| fastest_damping(model, &start.state).ok())?;
        found.flatten().filter(|d| d.is_stiff(self.duration))
    }

    /// The method chosen, or the usual one.
    fn method(&self, stiff: Option<&FastDamping>) -> &str {
        match (self.method.as_deref(), stiff) {
            (Some(method), _) => method,
            (None, Some(_)) => "bdf",
            (None, None) => "dop853",
        }
    }

    /// The compiler of code for the model, if wanted.
    fn compiler(&self, model: &Model) -> Option<Compiler> {
        let is_fit = (1..=thresholds::COMPILED).contains(&model.nv());
        let wanted = self.accelerations == Accelerations::Compiled && is_fit;
        #[cfg(target_arch = "x86_64")]
        if wanted && Cpu::detect() != Cpu::Baseline {
            return Some(catena_symbolic::native::for_simulation);
        }
        let _ = wanted;
        None
    }

    fn start(&self, loaded: &Loaded) -> Result<Situation> {
        let mut states = self.state.situations(&loaded.model, None, None)?;
        match (&self.at, states.len()) {
            (None, 1) => Ok(states.remove(0)),
            (None, count) => Err(Error::new(
                ErrorKind::Input,
                format!("a simulation starts from one state, {count} are given"),
            )
            .hint("choose one by its time with `--at T`, or the last one with `--at end`")),
            (Some(at), count) if at == "end" => Ok(states.remove(count - 1)),
            (Some(at), _) => {
                let Some(time) = crate::number::parse(at).filter(|typed| !typed.is_angle) else {
                    return Err(crate::number::not_a_number("--at", at)
                        .hint("write a time in s, or `end` for the last row"));
                };
                let near = |t: f64| (t - time.value).abs() <= 1e-9 * t.abs().max(1.0);
                let times: Vec<f64> = states.iter().filter_map(|state| state.time).collect();
                match states.iter().position(|state| state.time.is_some_and(near)) {
                    Some(index) => Ok(states.remove(index)),
                    None => Err(Error::new(
                        ErrorKind::Input,
                        format!("--at: no state is at {} s", time.value),
                    )
                    .hint(match (times.first(), times.last()) {
                        (Some(first), Some(last)) => {
                            format!(
                                "there are {}, from {first} s to {last} s",
                                counted(times.len(), "time", "times")
                            )
                        }
                        _ => "the states have no times".into(),
                    })),
                }
            }
        }
    }

    /// How loops are kept closed.
    fn drift(&self, options: &SimulationOptions) -> Result<Drift> {
        let step = match options.integrator {
            Integrator::Fixed { step, .. } => Some(step),
            _ => None,
        };
        for (option, given) in [("--alpha", self.alpha), ("--beta", self.beta)] {
            let Some(given) = given else { continue };
            if self.closing != Closing::Baumgarte {
                let message = format!("{option} is a number of Baumgarte's equations");
                return Err(
                    Error::new(ErrorKind::Input, message).hint("give --closing baumgarte, too")
                );
            }
            crate::limits::positive(option, given)?;
        }
        let given = match (self.alpha, self.beta) {
            (None, None) => None,
            (Some(alpha), None) => Some((alpha, alpha * alpha / 4.0)),
            (None, Some(beta)) => Some((2.0 * beta.sqrt(), beta)),
            (Some(alpha), Some(beta)) => Some((alpha, beta)),
        };
        Ok(match (self.closing, given) {
            (Closing::Projection, _) => Drift::Project,
            (Closing::Baumgarte, None) => Drift::baumgarte(step),
            (Closing::Baumgarte, Some((alpha, beta))) => {
                Drift::Stabilise(Stabilisation { alpha, beta })
            }
        })
    }

    /// How the linear systems of an implicit method are solved.
    fn newton(&self) -> Result<NewtonMatrix> {
        let in_bodies = match self.coordinates.as_deref() {
            None => None,
            Some("joints") => Some(false),
            Some("bodies") => Some(true),
            Some(name) => {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("--coordinates: there are no coordinates `{name}`"),
                )
                .hint("joints, bodies"));
            }
        };
        let formulation = match self.newton.as_deref() {
            None => None,
            Some(name) => body_coordinates::Formulation::from_name(name),
        };
        match (in_bodies, formulation, self.newton.as_deref()) {
            (Some(false), Some(_), Some(name)) => {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("--newton: `{name}` is for body coordinates"),
                )
                .hint("choose `--coordinates bodies`, or `--newton tree` or `dense`"));
            }
            (_, Some(formulation), _) => return Ok(NewtonMatrix::Bodies(formulation)),
            (Some(true), None, None) => {
                return Ok(NewtonMatrix::Bodies(
                    body_coordinates::Formulation::default(),
                ));
            }
            (Some(true), None, Some(name)) => {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("--newton: body coordinates are not solved by `{name}`"),
                )
                .hint("index-2, index-3, stabilised"));
            }
            _ => {}
        }
        match self.newton.as_deref() {
            None if in_bodies.is_none() => Ok(NewtonMatrix::Automatic),
            None => Ok(NewtonMatrix::Joints),
            Some("tree") => Ok(NewtonMatrix::Tree),
            Some("dense") => Ok(NewtonMatrix::Dense),
            Some(name) => Scheme::from_name(name)
                .map(NewtonMatrix::Pendulum)
                .map_err(|error| {
                    let hint = "tree, dense; in body coordinates index-2, index-3, stabilised; for a chain \
                                of ball joints in implicit equations numerical-full, exact-full, reduced, linear";
                    Error::new(ErrorKind::Input, format!("--newton: {}", error.message()))
                        .hint(hint)
                }),
        }
    }

    fn options(&self, method: &str) -> Result<SimulationOptions> {
        if self.coordinates.is_some() && method != "bdf" {
            return Err(Error::new(
                ErrorKind::Input,
                format!("--coordinates: `{method}` integrates joint coordinates"),
            )
            .hint("choose `--method bdf`, or leave out --coordinates"));
        }
        if self.newton.is_some() && method != "bdf" {
            return Err(Error::new(
                ErrorKind::Input,
                format!("--newton: `{method}` does not use Newton's method"),
            )
            .hint("choose `--method bdf`, or leave out --newton"));
        }
        let integrator = if let Ok(method) = method.parse::<Method>() {
            Integrator::Adaptive {
                method,
                tolerances: Tolerances {
                    relative: self.rtol,
                    absolute: self.atol.unwrap_or(0.01 * self.rtol),
                },
                max_step: self.step.unwrap_or(f64::INFINITY),
            }
        } else if method == "bdf" {
            Integrator::Bdf {
                tolerances: Tolerances {
                    relative: self.rtol,
                    absolute: self.atol.unwrap_or(0.01 * self.rtol),
                },
                max_step: self.step.unwrap_or(f64::INFINITY),
                max_order: MAX_ORDER,
                matrix: self.newton()?,
            }
        } else if let Ok(method) = method.parse::<FixedMethod>() {
            Integrator::Fixed {
                method,
                step: self.step.unwrap_or(STEP),
            }
        } else {
            return Err(Error::new(
                ErrorKind::Input,
                format!("--method: there is no method `{method}`"),
            )
            .hint(
                "methods are dop853, verner9, verner6, tsit5, dopri5, bdf, rk4, semi-implicit-euler, implicit-midpoint",
            ));
        };
        Ok(SimulationOptions {
            integrator,
            duration: self.duration,
            interval: self.interval()?,
        })
    }

    /// The interval must divide the duration, so that the last sample is the end. Where none is given, one that does is chosen.
    fn interval(&self) -> Result<f64> {
        let interval = self.interval.unwrap_or(INTERVAL);
        let count = self.duration / interval;
        let is_whole = (count - count.round()).abs() <= 1e-9 && count.round() >= 1.0;
        // the library rejects nonpositive times
        if is_whole || !count.is_finite() || count <= 0.0 {
            return Ok(interval);
        }
        match self.interval {
            None => Ok(self.duration / count.ceil()),
            Some(_) => Err(Error::new(
                ErrorKind::Input,
                format!(
                    "--interval: the duration ({} s) is not a multiple of the interval ({interval} s)",
                    self.duration
                ),
            )
            .hint("the last sample is the end of the run; choose another interval or duration")),
        }
    }
}
