//! `catena linearize MODEL`: an equilibrium, the linear equations about it, eigenvalues and modes; for rolling or rotating systems, about a
//! steady motion.

mod steady;

use crate::commands::info::one_line;
use crate::commands::inverse::quaternion_lines;
use crate::coordinates::position_of_freedom;
use crate::model_argument::ModelArgument;
use crate::number::{counted, rough, six};
use crate::outcome::Outcome;
use crate::situation::{self, Situation};
use crate::state_argument::{EffortArgument, StateArgument};
use crate::table::{self, Table};
use crate::{json, limits, output};
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::residual::larger;
use catena::{Dynamics, Matrix, Model, State};
use catena_mechanism::{Behaviour, Linearisation, Mode, Modes};
use catena_plot::{View, strip};
use clap::Args;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::path::PathBuf;

/// Eigenvalues are those of dense matrices.
const MOST_FREEDOMS: usize = 500;
/// Larger matrices are printed only as JSON.
const WIDE: usize = 12;
/// Modes whose shapes are printed and drawn.
const SHOWN: usize = 6;
/// Difference quotients are computed up to this many degrees of freedom.
const COMPARED: usize = 100;
/// Allowed differences: of A and difference quotients, and of A x and λ x.
const QUOTIENTS: f64 = 1e-5;
const EIGENVECTORS: f64 = 1e-9;
/// Amplitudes of drawings: rad, and a fraction of the size of the mechanism for slides.
const TURNED: f64 = 0.35;
const SLID: f64 = 0.15;

/// Which model, where to look for the equilibrium, and under which efforts.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    effort: EffortArgument,

    /// Linearize about the given positions, under the efforts that hold them, instead of looking for an equilibrium
    #[arg(long, conflicts_with = "tau")]
    hold: bool,

    /// Linearize about a steady motion: find positions at which the velocities stay constant. Velocities given by --v imply this option; without --v they are
    /// the model's initial ones
    #[arg(long, conflicts_with = "hold")]
    steady: bool,

    /// File for a drawing of the mode shapes, SVG
    #[arg(short, long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
}

/// Results from one guess.
struct Found {
    situation: Situation,
    linear: Linearisation,
    modes: Modes,
    /// Difference between A and difference quotients.
    quotients: Option<f64>,
}

/// Finds equilibria and their modes.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let given = arguments.model.model()?;
    let model = given.clone().with_couplings_as_constraints();
    limits::freedoms(&model, "linearize", MOST_FREEDOMS)?;
    if model.nv() == 0 {
        return Err(Error::new(
            ErrorKind::Model,
            format!("`{}` has no freedoms: nothing can move", model.name()),
        ));
    }
    if let Some(path) = &arguments.output {
        output::expect_folder(path)?;
        if path
            .extension()
            .is_none_or(|e| !e.eq_ignore_ascii_case("svg"))
        {
            return Err(Error::new(
                ErrorKind::Input,
                format!("-o {}: mode shapes are drawn as SVG", path.display()),
            )
            .hint("end the name of the file with .svg"));
        }
    }
    let situations = arguments
        .state
        .situations(&given, None, arguments.effort.tau.as_ref())?
        .iter()
        .map(|situation| situation.of_tree(&given))
        .collect::<Vec<_>>();
    if arguments.output.is_some() && situations.len() > 1 {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "-o: a drawing is of one equilibrium; these are {} states",
                situations.len()
            ),
        ));
    }
    limits::memory("states", situations.len(), 12 * model.nv() * model.nv())?;
    let given = arguments.state.gives_velocities();
    let moves = given && (situations.iter()).any(|s| s.state.v.iter().any(|&v| v != 0.0));
    if model.velocity_rows() > 0 || moves || arguments.steady {
        if arguments.hold {
            return Err(steady::holds_nothing());
        }
        // a rolling system is linearized about the given motion, unless a search is requested
        let search = model.velocity_rows() == 0 || arguments.steady;
        let picture = arguments.output.as_deref();
        return steady::run(&model, situations, search, picture, as_json);
    }
    let random = arguments.state.seed().is_some();
    let mut has_start = false;
    let found = situations
        .into_iter()
        .map(|mut situation| {
            // of a random state, and of the model's initial state, only the positions are used
            if !arguments.state.gives_velocities() {
                has_start |= !random && situation.state.v.iter().any(|&v| v != 0.0);
                situation.state.v.fill(0.0);
            }
            if random && arguments.effort.tau.is_none() {
                situation.effort.fill(0.0);
            }
            find(&model, arguments.hold, situation)
        })
        .collect::<Result<Vec<Found>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, &found)),
        false => to_text(&model, &found),
    });
    if has_start {
        outcome = outcome.note("an equilibrium is a state at rest: the model's initial velocities are left out (--steady uses them)");
    }
    if let (Some(path), [one]) = (&arguments.output, &found[..]) {
        let (linear, modes) = (&one.linear, &one.modes.list);
        let displaced = |mode: &Mode, by| linear.displaced(mode, by);
        output::write_file(path, drawing(&model, &linear.state, modes, displaced)?)?;
        outcome = outcome.note(format!("wrote {}", path.display()));
    }
    for (index, one) in found.iter().enumerate() {
        let checks = [
            (
                "difference quotients disagree with A",
                one.quotients,
                QUOTIENTS,
            ),
            (
                "eigenvectors do not solve A x = λ x",
                Some(one.modes.residual),
                EIGENVECTORS,
            ),
        ];
        for (words, difference, allowed) in checks {
            if let Some(difference) = difference {
                outcome.require(index, words, difference, allowed);
            }
        }
    }
    Ok(outcome)
}

fn refuse_wrenches(situation: &Situation) -> Result<()> {
    if situation.wrenches.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        "wrenches are not part of the linear equations",
    )
    .hint("leave them out; efforts of the joints are given by --tau"))
}

fn find(model: &Model, hold: bool, mut situation: Situation) -> Result<Found> {
    refuse_wrenches(&situation)?;
    let linear = match hold {
        true => Linearisation::held(model, &situation.state)?,
        false => Linearisation::new(model, &situation.state, &situation.effort)?,
    };
    situation.state.clone_from(&linear.state);
    situation.effort.clone_from(&linear.effort);
    let quotients = match linear.freedoms() <= COMPARED {
        true => linear.by_differences()?,
        false => None,
    };
    Ok(Found {
        modes: linear.modes()?,
        situation,
        linear,
        quotients,
    })
}

fn behaviour(mode: &Mode) -> &'static str {
    match mode.behaviour() {
        Behaviour::Free => "free: no restoring force",
        Behaviour::Undamped => "oscillates",
        Behaviour::Damped => "oscillates, decays",
        Behaviour::Decaying => "decays",
        Behaviour::Growing if mode.value[1] > 0.0 => "oscillates, GROWS",
        Behaviour::Growing => "GROWS",
    }
}

/// λ, both of a pair.
fn written(mode: &Mode) -> String {
    let [real, imaginary] = mode.value;
    // real parts that are round-off
    let real = match mode.behaviour() {
        Behaviour::Undamped | Behaviour::Free => String::new(),
        _ => six(real),
    };
    match (real.is_empty(), imaginary > 0.0) {
        (true, false) => "0".into(),
        (true, true) => format!("±{}i", six(imaginary)),
        (false, false) => real,
        (false, true) => format!("{real} ± {}i", six(imaginary)),
    }
}

/// A position without round-off about zero.
fn shown(x: f64) -> f64 {
    if x.abs() < 1e-12 { 0.0 } else { x }
}

fn names(model: &Model) -> Vec<String> {
    let dofs = model.tree().dofs.iter();
    dofs.map(|dof| dof.name.clone()).collect()
}

fn to_text(model: &Model, found: &[Found]) -> String {
    let mut text = format!(
        "linear equations about an equilibrium: M ÿ + D ẏ + K y = Zᵀ δτ\n{}\n",
        one_line(model)
    );
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        text += &equilibrium(model, one);
        text += &modes(model, &one.modes);
        text += &matrices(model, &one.linear);
        text += &format!(
            "\n  check: accelerations left at the equilibrium {} rad/s² or m/s²\n",
            rough(one.linear.residual)
        );
        text += &match one.quotients {
            Some(difference) => format!(
                "  check: difference quotients of the accelerations agree with A to {}\n",
                rough(difference)
            ),
            None => "  check: no difference quotients (dry friction, or a large model)\n".into(),
        };
        text += &format!(
            "  check: {} to {}\n",
            match one.modes.symmetric {
                true => "K x = ω² M x, symmetric, solved",
                false => "A x = λ x solved",
            },
            rough(one.modes.residual)
        );
    }
    text
}

/// A table of the freedoms with their positions; more columns may follow.
fn freedoms_and_positions(model: &Model, q: &[f64]) -> Table {
    let dofs = model.tree().dofs.iter();
    let places = position_of_freedom(model).into_iter();
    Table::new()
        .text("freedom", names(model))
        .numbers("position", places.map(|at| at.map(|at| shown(q[at]))))
        .text(
            "in",
            dofs.map(|dof| dof.velocity_unit.trim_end_matches("/s")),
        )
}

fn equilibrium(model: &Model, one: &Found) -> String {
    let (linear, dofs) = (&one.linear, &model.tree().dofs);
    let closed = linear.freedoms() < model.nv();
    let mut table = freedoms_and_positions(model, &linear.state.q)
        .numbers("effort", linear.effort.iter().map(|&x| Some(x)))
        .text("in", dofs.iter().map(|dof| dof.force_unit));
    if closed {
        let independent = (0..model.nv()).map(|k| linear.independent.contains(&k));
        table = table.text(
            "y",
            independent.map(|is| if is { "independent" } else { "" }),
        );
    }
    let mut text = format!("\n{}", table.render());
    text += &quaternion_lines(model, &one.situation);
    text += &match (linear.iterations, linear.from_guess) {
        (0, _) => String::new(),
        (count, true) => format!("  found in {}\n", counted(count, "iteration", "iterations")),
        (count, false) => format!(
            "  found in {}, from another guess than the given positions\n",
            counted(count, "iteration", "iterations")
        ),
    };
    if (0..model.nv()).any(|k| model.dof(k).friction != 0.0) {
        text += "  dry friction is left out\n";
    }
    text
}

fn modes(model: &Model, modes: &Modes) -> String {
    let list = &modes.list;
    let number = || (1..=list.len()).map(|k| k.to_string());
    let table = Table::new()
        .text("mode", number())
        .written("λ 1/s", list.iter().map(written))
        .numbers(
            "|λ|/2π Hz",
            list.iter().map(|mode| Some(mode.frequency() / TAU)),
        )
        .numbers(
            "damping ratio",
            list.iter().map(|mode| {
                let undamped = mode.behaviour() == Behaviour::Undamped;
                mode.damping_ratio()
                    .map(|ratio| if undamped { 0.0 } else { ratio })
            }),
        )
        .text("", list.iter().map(behaviour));
    let mut text = format!("\n{}", table.render());
    if model.nv() > 4 * WIDE {
        return text + "\n  shapes of the modes: --json\n";
    }
    let mut table = Table::new().text("shape", names(model));
    for (k, mode) in list.iter().enumerate().take(SHOWN) {
        let real = |x: &[f64; 2]| x[1].abs() <= 1e-9;
        if mode.shape.iter().all(real) {
            let column = mode.shape.iter().map(|x| Some(x[0]));
            table = table.numbers(&format!("mode {}", k + 1), column);
        } else {
            let size = mode
                .shape
                .iter()
                .map(|x| Some(elementary::hypot(x[0], x[1])));
            let phase = mode
                .shape
                .iter()
                .map(|x| match elementary::hypot(x[0], x[1]) > 1e-9 {
                    true => Some(elementary::atan2(x[1], x[0]).to_degrees()),
                    false => None,
                });
            table = table
                .numbers(&format!("mode {}", k + 1), size)
                .numbers("phase °", phase);
        }
    }
    text += &format!("\n{}", table.render());
    if list.len() > SHOWN {
        text += &format!("  the other {} modes: --json\n", list.len() - SHOWN);
    }
    text
}

fn matrices(model: &Model, linear: &Linearisation) -> String {
    let f = linear.freedoms();
    if 2 * f > WIDE || model.nv() > WIDE {
        return format!(
            "\nA is {0}×{0}, B {0}×{1}: see them with --json\n",
            2 * f,
            model.nv()
        );
    }
    let all = names(model);
    let y = linear.independent.iter().map(|&k| all[k].clone());
    let rates = linear.independent.iter().map(|&k| format!("{}'", all[k]));
    let labels: Vec<String> = y.chain(rates).collect();
    let show = |columns: &[String], m: &Matrix| table::matrix(&labels, columns, |i, j| m[(i, j)]);
    format!(
        "\nA, of (y; ẏ)\n{}\nB, per N·m or N\n{}",
        show(&labels, &linear.a),
        show(&all, &linear.b)
    )
}

/// Every mode at both ends of its oscillation: `displaced` gives these positions.
fn drawing(
    model: &Model,
    state: &State,
    modes: &[Mode],
    displaced: impl Fn(&Mode, f64) -> Result<State>,
) -> Result<String> {
    let mut dynamics = Dynamics::new(&model.clone().open_tree());
    let kinematics = dynamics.kinematics(state, &vec![0.0; model.nv()])?;
    let places = model.bodies().map(|i| kinematics.world_from_body[i]);
    let points: Vec<_> = places
        .zip(model.bodies())
        .flat_map(|(pose, i)| [pose.translation, pose.point(model.inertial(i).centre)])
        .collect();
    let mut size = 0.0;
    for a in &points {
        for b in &points {
            size = larger(size, (*a - *b).norm());
        }
    }
    let reach = if size > 0.0 { size } else { 1.0 };
    let (mut states, mut labels): (Vec<State>, Vec<String>) = (Vec::new(), Vec::new());
    for (k, mode) in modes.iter().enumerate().take(SHOWN) {
        let mut amplitude = f64::INFINITY;
        for (x, dof) in mode.shape.iter().zip(&model.tree().dofs) {
            let most = match dof.force_unit {
                "N" => SLID * reach,
                _ => TURNED,
            };
            if x[0].abs() > 1e-12 {
                amplitude = amplitude.min(most / x[0].abs());
            }
        }
        for (sign, end) in [(1.0, "+"), (-1.0, "−")] {
            states.push(displaced(mode, sign * amplitude)?);
            labels.push(format!("mode {} {end}: λ = {}", k + 1, written(mode)));
        }
    }
    let rows = states.len().div_ceil(4) as u32;
    let view = View {
        title: format!("{}: modes", model.name()),
        height: 120 + 260 * rows,
        ..View::of(model, &states)?
    };
    strip(model, &states, &labels, &view)
}

fn to_json(model: &Model, found: &[Found]) -> Value {
    let all = names(model);
    let states: Value = found
        .iter()
        .map(|one| {
            let linear = &one.linear;
            let mut state = situation::to_json(&one.situation);
            let mut put = |key: &str, value: Value| state.insert(key.into(), value);
            put("tau", json::numbers(&linear.effort));
            put(
                "independent",
                linear.independent.iter().map(|&k| all[k].clone()).collect(),
            );
            for (key, matrix) in [
                ("Z", &linear.spread),
                ("M", &linear.mass),
                ("D", &linear.damping),
                ("K", &linear.stiffness),
                ("A", &linear.a),
                ("B", &linear.b),
            ] {
                put(key, json::matrix(matrix));
            }
            put("modes", one.modes.list.iter().map(mode_json).collect());
            put(
                "checks",
                json!({
                    "iterations": linear.iterations,
                    "from_guess": linear.from_guess,
                    "accelerations_left": linear.residual,
                    "difference_quotients": one.quotients,
                    "eigenvectors": one.modes.residual,
                    "symmetric": one.modes.symmetric,
                }),
            );
            Value::Object(state)
        })
        .collect();
    json!({
        "format": "catena-linearize/1",
        "model": model.name(),
        "freedoms": all,
        "states": states,
    })
}

fn mode_json(mode: &Mode) -> Value {
    let part = |at: usize| mode.shape.iter().map(|x| x[at]).collect::<Vec<f64>>();
    json!({
        "value": json::numbers(&mode.value),
        "frequency": mode.frequency() / TAU,
        "damping_ratio": mode.damping_ratio(),
        "shape": json::numbers(&part(0)),
        "shape_imaginary": json::numbers(&part(1)),
    })
}
