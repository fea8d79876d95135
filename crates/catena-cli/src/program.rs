//! The arguments of the program, and which command they call.

use crate::commands::{
    algorithms, assemble, barycentres, benchmark, check, compare, completions, convert, count,
    denoc, derivatives, derive, doctor, evaluate, export_case, factor, forward, generate, ik, info,
    inverse, linearize, man, models, optimize, plot, regressor, render, report, simulate, soak,
    space, study, sweep, tour, verify, view,
};
use crate::outcome::Outcome;
use catena::error::{Error, ErrorKind, Result};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::sync::OnceLock;

const ABOUT: &str =
    "Rigid multibody dynamics of trees and closed mechanisms: I(q) v̇ + C(q, v) v + g(q) = τ";

const AFTER_HELP: &str = "\
Without a command, catena shows what it does on the Stanford arm.

A model is a file (.toml, .json, .urdf, .sdf, .xml) or an embedded name such as `stanford`,
`space-robot` or `chain-7`. Units are SI and radians; `90deg` and `pi/2` are
accepted for angles. Results go to stdout, messages to stderr.

Exit codes: 0 done, 1 a check or verification failed, 2 bad usage or bad input,
3 internal error. The JSON of --json is described in docs/cli.md.";

/// The arguments of the program.
#[derive(Parser, Debug)]
#[command(name = "catena", version, about = ABOUT, after_help = AFTER_HELP)]
pub struct Program {
    #[command(subcommand)]
    command: Option<Command>,

    /// Print exact numbers as JSON
    #[arg(long, global = true)]
    json: bool,

    /// Same bits on every x86-64 processor: no fused multiply-add, no wide registers; slower
    #[arg(long, global = true)]
    portable: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Show a model: tree, masses, freedoms, frames, assumptions
    Info(info::Arguments),
    /// Efforts that produce given accelerations, at states or along a trajectory
    Inverse(inverse::Arguments),
    /// Accelerations that given efforts produce, with two independent checks
    Forward(forward::Arguments),
    /// The factorization I = U D Uᵀ of the inertia matrix
    Factor(factor::Arguments),
    /// The natural orthogonal complement N = N_l N_d (DeNOC), and the matrices built from it
    Denoc(denoc::Arguments),
    /// A floating robot in the papers' variables: I_e, I_em, I_m, Î_e, α_e, L; generalized Jacobian, Λ, A_G
    Space(space::Arguments),
    /// Augmented bodies of a floating tree: barycentres, D and K
    Barycentres(barycentres::Arguments),
    /// Inverse kinematics: joint positions that bring frames to target poses
    Ik(ik::Arguments),
    /// A closed state near a guess, for models with loops, couplings or drivers
    Assemble(assemble::Arguments),
    /// Derivatives of efforts or accelerations with respect to positions, velocities, efforts
    Derivatives(derivatives::Arguments),
    /// Find an equilibrium, the linear equations about it, and its modes
    Linearize(linearize::Arguments),
    /// The regressor Y with τ = Y π, linear in the bodies' inertias
    Regressor(regressor::Arguments),
    /// Diagnose a mechanism: freedoms, dependent rows, indeterminate loads, what to change
    Doctor(doctor::Arguments),
    /// Accelerations and loads by every formulation of the equations of motion, compared
    Compare(compare::Arguments),
    /// Everything at given states: frames, Jacobians, matrices, energies, both dynamics
    Evaluate(evaluate::Arguments),
    /// Simulate a model, write the run, and audit it
    Simulate(Box<simulate::Arguments>),
    /// Run a model many times with varied parameters: results in one file, statistics, sensitivities
    Sweep(sweep::Arguments),
    /// Find the parameters that minimise a measure of a run, within bounds and under constraints
    Optimize(optimize::Arguments),
    /// Draw a run: coordinates, efforts, energies, the mechanism in motion
    Plot(plot::Arguments),
    /// Look at a model or at runs in a browser: motion, curves, audit, sliders, live
    View(view::Arguments),
    /// Write a run as one page to share: animation, curves, audit, model
    Report(report::Arguments),
    /// Draw a run as a picture or a movie: PNG, GIF, MP4
    Render(render::Arguments),
    /// Check every law and every pair of methods on random states of a model
    Check(check::Arguments),
    /// The field's benchmark problems: cost, and error against the reference
    Benchmark(benchmark::Arguments),
    /// Compare with conformance cases
    Verify(verify::Arguments),
    /// Write a conformance case of a model
    ExportCase(export_case::Arguments),
    /// Repeat the measurements of a paper, and write tables and figures
    Study(study::Arguments),
    /// Source code of a model's dynamics: C, Rust, Python, MATLAB
    Generate(generate::Arguments),
    /// Equations of motion as formulas: Markdown, LaTeX, HTML, SymPy
    Derive(derive::Arguments),
    /// Operations of the algorithms, compared with Saha's Tables 1 and 2
    Count(count::Arguments),
    /// Run simulations and commands for a long time, and watch memory, open files and drift
    Soak(soak::Arguments),
    /// Write a model in another format: TOML, JSON, URDF, SDF, MJCF
    Convert(convert::Arguments),
    /// List the embedded models
    Models,
    /// List the algorithms, with source, cost and file
    Algorithms,
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Print a manual page
    Man(man::Arguments),
}

impl Command {
    /// Whether everything this command prints or writes comes from arithmetic that `--portable` fixes.
    ///
    /// `check` compares the paths of this processor, `compare` and `benchmark` measure time; bytes of pictures are not compared with those of
    /// other machines, and workers of a cluster choose their arithmetic themselves.
    fn is_portable(&self) -> bool {
        if let Command::Sweep(arguments) = self {
            return arguments.is_portable();
        }
        matches!(
            self,
            Command::Info(_)
                | Command::Inverse(_)
                | Command::Forward(_)
                | Command::Factor(_)
                | Command::Denoc(_)
                | Command::Space(_)
                | Command::Barycentres(_)
                | Command::Ik(_)
                | Command::Assemble(_)
                | Command::Derivatives(_)
                | Command::Linearize(_)
                | Command::Regressor(_)
                | Command::Doctor(_)
                | Command::Evaluate(_)
                | Command::Simulate(_)
                | Command::Optimize(_)
                | Command::Generate(_)
                | Command::Convert(_)
        )
    }
}

/// The arguments of the program.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the arguments, the program's own name first. A process runs the program once.
pub fn remember(arguments: Vec<OsString>) {
    ARGUMENTS.get_or_init(|| arguments);
}

/// The arguments without the program's own name.
pub fn arguments() -> &'static [OsString] {
    ARGUMENTS
        .get()
        .map_or(&[], |all| all.get(1..).unwrap_or(&[]))
}

/// Reads the arguments and runs the command.
pub fn run() -> Result<Outcome> {
    let program = Program::parse_from(ARGUMENTS.get().into_iter().flatten());
    catena::Cpu::wanted()?;
    if program.portable {
        if !program.command.as_ref().is_some_and(Command::is_portable) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "--portable: not every number of this command has the same bits on every processor",
            )
            .hint("it can be given to info, inverse, forward, factor, denoc, space, barycentres, ik, assemble, derivatives, linearize, regressor, doctor, evaluate, simulate, sweep (without --plot and --engine), optimize, generate and convert"));
        }
        catena::Cpu::only_baseline();
    }
    program.carry_out()
}

/// Runs a command, typed as words without the program's own name, within this process.
pub fn run_words(words: &[String]) -> Result<Outcome> {
    let words = std::iter::once("catena").chain(words.iter().map(String::as_str));
    let program = Program::try_parse_from(words)
        .map_err(|error| Error::new(ErrorKind::Input, error.to_string()))?;
    program.carry_out()
}

/// The names of the options of a command, without dashes in front, and whether each takes a value.
pub fn options(command: &str) -> Vec<(String, bool)> {
    let program = Program::command();
    let found = program.find_subcommand(command).into_iter();
    let options = found.flat_map(|command| command.get_arguments());
    let named = options.filter_map(|option| {
        let name = option.get_long()?.to_string();
        Some((name, option.get_action().takes_values()))
    });
    named.collect()
}

impl Program {
    fn carry_out(&self) -> Result<Outcome> {
        let json = self.json;
        match &self.command {
            None if json => Err(Error::new(ErrorKind::Input, "--json needs a command")
                .hint("for example `catena inverse stanford --trajectory paper --json`")),
            None => tour::run(),
            Some(Command::Info(arguments)) => info::run(arguments, json),
            Some(Command::Inverse(arguments)) => inverse::run(arguments, json),
            Some(Command::Forward(arguments)) => forward::run(arguments, json),
            Some(Command::Factor(arguments)) => factor::run(arguments, json),
            Some(Command::Denoc(arguments)) => denoc::run(arguments, json),
            Some(Command::Space(arguments)) => space::run(arguments, json),
            Some(Command::Barycentres(arguments)) => barycentres::run(arguments, json),
            Some(Command::Ik(arguments)) => ik::run(arguments, json),
            Some(Command::Assemble(arguments)) => assemble::run(arguments, json),
            Some(Command::Derivatives(arguments)) => derivatives::run(arguments, json),
            Some(Command::Linearize(arguments)) => linearize::run(arguments, json),
            Some(Command::Regressor(arguments)) => regressor::run(arguments, json),
            Some(Command::Doctor(arguments)) => doctor::run(arguments, json),
            Some(Command::Compare(arguments)) => compare::run(arguments, json),
            Some(Command::Evaluate(arguments)) => evaluate::run(arguments, json),
            Some(Command::Simulate(arguments)) => simulate::run(arguments, json),
            Some(Command::Sweep(arguments)) => sweep::run(arguments, json),
            Some(Command::Optimize(arguments)) => optimize::run(arguments, json),
            Some(Command::Plot(arguments)) => plot::run(arguments, json),
            Some(Command::View(arguments)) => view::run(arguments, json),
            Some(Command::Report(arguments)) => report::run(arguments, json),
            Some(Command::Render(arguments)) => render::run(arguments, json),
            Some(Command::Check(arguments)) => check::run(arguments, json),
            Some(Command::Benchmark(arguments)) => benchmark::run(arguments, json),
            Some(Command::Verify(arguments)) => verify::run(arguments, json),
            Some(Command::ExportCase(arguments)) => export_case::run(arguments),
            Some(Command::Study(arguments)) => study::run(arguments, json),
            Some(Command::Soak(arguments)) => soak::run(arguments, json),
            Some(Command::Generate(arguments)) => generate::run(arguments, json),
            Some(Command::Derive(arguments)) => derive::run(arguments, json),
            Some(Command::Count(arguments)) => count::run(arguments, json),
            Some(Command::Convert(arguments)) => convert::run(arguments, json),
            Some(Command::Models) => Ok(models::run(json)),
            Some(Command::Algorithms) => Ok(algorithms::run(json)),
            Some(Command::Completions(arguments)) => completions::run(arguments),
            Some(Command::Man(arguments)) => man::run(arguments),
        }
    }
}

/// The clap command, for completions and manual pages.
pub fn description() -> clap::Command {
    Program::command()
}
