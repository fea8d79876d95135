//! `catena inverse MODEL`: the efforts that produce given accelerations.

use crate::commands::closed_inverse;
use crate::commands::info::one_line;
use crate::coordinates::{Quantity, position_of_freedom, position_place};
use crate::formulation_argument::FormulationArgument;
use crate::model_argument::ModelArgument;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Situation};
use crate::state_argument::{AccelerationArgument, StateArgument};
use crate::table::Table;
use crate::trajectory_argument::TrajectoryArgument;
use crate::{json, names, output, plot, referee};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, largest, largest_of, relative, within};
use catena::{Dynamics, Model};
use catena_mechanism::{Formulation, Mechanism};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Instants of a trajectory that are shown.
const SHOWN_ROWS: usize = 21;
/// Freedoms of a trajectory that are shown.
const SHOWN_COLUMNS: usize = 6;
/// Single states that are shown in full.
const SHOWN_STATES: usize = 20;

/// Which model, states or motion.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    acceleration: AccelerationArgument,
    #[command(flatten)]
    trajectory: TrajectoryArgument,

    /// Freedoms with actuators, separated by commas, of a model with loops [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    actuators: Vec<String>,

    #[command(flatten)]
    formulation: FormulationArgument,

    /// Draw the effort of this freedom over time; may be repeated
    #[arg(
        long,
        value_name = "FREEDOM",
        requires = "trajectory",
        help_heading = "Trajectory"
    )]
    plot: Vec<String>,

    /// Write time, q, v, a and tau to this CSV file
    #[arg(short, long, value_name = "FILE.csv")]
    output: Option<PathBuf>,
}

/// A situation with the efforts found, and how well forward dynamics returns the accelerations.
struct Solved {
    situation: Situation,
    returned: Option<f64>,
    /// Error of the efforts by double-double arithmetic, where forward dynamics did not return the accelerations.
    sharp: Option<f64>,
    /// If a formulation was requested: the relative difference from the efforts by recursion.
    by: Option<(Formulation, f64)>,
}

/// Forward dynamics must return the accelerations at least this well. Where it does not, because the inertia matrix is
/// ill-conditioned, efforts with a larger error make the exit code 1.
const TOLERANCE: f64 = 1e-9;

/// Computes the efforts.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    let wanted = plotted(&model, &arguments.plot)?;
    let formulation = arguments.formulation.formulation()?;
    let trajectory = arguments.trajectory.situations(&model)?;
    let is_trajectory = trajectory.is_some();
    let typed = arguments
        .state
        .situations(&model, arguments.acceleration.a.as_ref(), None)?;
    if !model.constraints().is_empty() {
        return arguments.closed(&model, typed, is_trajectory, as_json);
    }
    if model.couplings().is_some() && (!arguments.actuators.is_empty() || formulation.is_some()) {
        // which joints drive the others is determined by the multipliers
        let all = typed.iter().map(|one| one.of_tree(&model)).collect();
        let whole = model.with_couplings_as_constraints();
        return arguments.closed(&whole, all, is_trajectory, as_json);
    }
    if !arguments.actuators.is_empty() {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "--actuators: every freedom of `{}` has its own effort, there are no loops",
                model.name()
            ),
        ));
    }
    let situations = match trajectory {
        None => typed,
        // wrenches given with a trajectory act at all its instants
        Some(mut along) => {
            for situation in &mut along {
                situation.wrenches.clone_from(&typed[0].wrenches);
            }
            along
        }
    };
    let mut dynamics = Dynamics::new(&model);
    let mut other = match formulation {
        Some(formulation) => {
            let all: Vec<usize> = (0..model.nv()).collect();
            Some((formulation, Mechanism::driving(&model, &all)?))
        }
        None => None,
    };
    let solved = situations
        .into_iter()
        .map(|situation| solve(&mut dynamics, other.as_mut(), situation))
        .collect::<Result<Vec<Solved>>>()?;
    let mut outcome = Outcome::text(match (as_json, is_trajectory) {
        (true, _) => json::text(&to_json(&model, &solved)),
        (false, true) => trajectory_text(&model, &solved, &wanted),
        (false, false) => states_text(&model, &solved),
    });
    let worst = largest_of(solved.iter().filter_map(|one| one.sharp));
    if !within(worst, TOLERANCE) {
        outcome.failures.push(format!(
            "the efforts are wrong: double-double arithmetic differs by {}, allowed {}",
            rough(worst),
            rough(TOLERANCE)
        ));
    }
    if let Some(path) = &arguments.output {
        output::write_file(path, &to_csv(&model, &solved)?)?;
        outcome = outcome.note(format!(
            "wrote {} to {}",
            counted(solved.len(), "row", "rows"),
            path.display()
        ));
    }
    Ok(outcome)
}

impl Arguments {
    /// A model with loops.
    fn closed(
        &self,
        model: &Model,
        situations: Vec<Situation>,
        is_trajectory: bool,
        as_json: bool,
    ) -> Result<Outcome> {
        if is_trajectory || self.output.is_some() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "inverse dynamics of closed chains takes states, and prints them",
            )
            .hint(
                "give states and accelerations with --q, --v and --a or in a file with --state",
            ));
        }
        let formulation = self.formulation.formulation()?;
        closed_inverse::run(model, situations, &self.actuators, formulation, as_json)
    }
}

fn plotted(model: &Model, names: &[String]) -> Result<Vec<usize>> {
    let dofs = model.freedoms();
    names
        .iter()
        .map(|name| {
            dofs.iter()
                .position(|dof| dof.name == *name)
                .ok_or_else(|| {
                    let known = || dofs.iter().map(|dof| dof.name.as_str());
                    let hint = match names::nearest(name, known()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("the freedoms are {}", names::first_few(known())),
                    };
                    Error::new(
                        ErrorKind::Input,
                        format!("--plot: `{}` has no freedom `{name}`", model.name()),
                    )
                    .hint(hint)
                })
        })
        .collect()
}

fn solve(
    dynamics: &mut Dynamics,
    other: Option<&mut (Formulation, Mechanism)>,
    mut situation: Situation,
) -> Result<Solved> {
    let external = situation.external(dynamics)?;
    let state = &situation.state;
    situation.effort = dynamics
        .inverse(state, &situation.acceleration, &external)?
        .to_vec();
    let by = match other {
        Some((formulation, mechanism)) => {
            let time = situation.time.unwrap_or(0.0);
            let (a, by_recursion) = (&situation.acceleration, situation.effort);
            situation.effort = mechanism.efforts(*formulation, time, state, a, &external)?;
            let scale = larger(largest(&by_recursion), largest(&situation.effort));
            Some((
                *formulation,
                relative(&situation.effort, &by_recursion, scale),
            ))
        }
        None => None,
    };
    // inverse check; the scale is the larger of the accelerations and those of the system without efforts
    let nothing = vec![0.0; situation.effort.len()];
    let alone = dynamics.forward(state, &nothing, &external).map(largest);
    let returned = match (alone, dynamics.forward(state, &situation.effort, &external)) {
        (Ok(alone), Ok(found)) => {
            let scale = alone.max(largest(&situation.acceleration));
            Some(relative(found, &situation.acceleration, scale))
        }
        _ => None,
    };
    let sharp = match returned {
        Some(returned) if !within(returned, TOLERANCE) => {
            let right =
                referee::efforts(dynamics.model(), state, &situation.acceleration, &external);
            Some(referee::error(&situation.effort, &right))
        }
        _ => None,
    };
    Ok(Solved {
        situation,
        returned,
        sharp,
        by,
    })
}

fn states_text(model: &Model, solved: &[Solved]) -> String {
    let mut text = format!(
        "inverse dynamics: the efforts τ that produce the accelerations a\n{}\n",
        one_line(model)
    );
    for (index, one) in solved.iter().take(SHOWN_STATES).enumerate() {
        text += &state_block(model, &one.situation, index, solved.len());
    }
    if solved.len() > SHOWN_STATES {
        text += &format!(
            "\n  … and {} more states: --json or -o FILE.csv give them all\n",
            solved.len() - SHOWN_STATES
        );
    }
    text + &check_line(solved)
}

/// State number `index` of `count`: its freedoms and orientations.
pub fn state_block(model: &Model, situation: &Situation, index: usize, count: usize) -> String {
    let mut text = String::new();
    if count > 1 {
        text += &format!("\nstate {} of {count}", index + 1);
    }
    text += &format!("\n{}", state_table(model, situation).render());
    text + &quaternion_lines(model, situation)
}

/// A row per freedom: position, velocity, acceleration, effort.
fn state_table(model: &Model, situation: &Situation) -> Table {
    let dofs = model.freedoms();
    let q = position_of_freedom(model)
        .into_iter()
        .map(|position| position.map(|k| situation.state.q[k]));
    let some = |list: &[f64]| list.iter().map(|&x| Some(x)).collect::<Vec<_>>();
    Table::new()
        .text("freedom", dofs.iter().map(|dof| dof.name.clone()))
        .numbers("q", q)
        .numbers("v", some(&situation.state.v))
        .numbers("a", some(&situation.acceleration))
        .text(
            "in",
            dofs.iter().map(|dof| {
                if dof.force_unit == "N" {
                    "m, s"
                } else {
                    "rad, s"
                }
            }),
        )
        .numbers("τ", some(&situation.effort))
        .text("in", dofs.iter().map(|dof| dof.force_unit))
}

/// The orientations that a table of freedoms cannot show.
pub fn quaternion_lines(model: &Model, situation: &Situation) -> String {
    model.tree().bodies[1..]
        .iter()
        .filter_map(|body| {
            let k = position_place(model, body.q + body.kind.quaternion()?);
            let p = crate::number::list(&situation.state.q[k..k + 4]);
            Some(format!("  {}: quaternion (w, x, y, z) = {p}\n", body.joint))
        })
        .collect()
}

fn check_line(solved: &[Solved]) -> String {
    let by = solved.iter().filter_map(|one| one.by);
    let by = by.reduce(|one, other| (one.0, larger(one.1, other.1)));
    let by = by.map_or(String::new(), |(formulation, apart)| {
        closed_inverse::by_line(formulation, apart)
    });
    by + &match worst(solved) {
        Some(worst) if within(worst, TOLERANCE) => format!(
            "\n  check: forward dynamics returns the accelerations, relative difference {}, allowed {}\n",
            rough(worst),
            rough(TOLERANCE)
        ),
        Some(worst) => format!(
            "\n  check: forward dynamics does not return the accelerations, relative difference {}, allowed {}\n  \
             check: double-double arithmetic differs by {} from the efforts above, allowed {}\n  \
             The inertia matrix is ill-conditioned: double precision loses digits of the accelerations.\n",
            rough(worst),
            rough(TOLERANCE),
            rough(largest_of(solved.iter().filter_map(|one| one.sharp))),
            rough(TOLERANCE)
        ),
        None => "\n  check: not possible, the system cannot be accelerated at this state\n".into(),
    }
}

fn worst(solved: &[Solved]) -> Option<f64> {
    solved.iter().try_fold(0.0, |worst, one| {
        one.returned.map(|found| larger(found, worst))
    })
}

fn trajectory_text(model: &Model, solved: &[Solved], wanted: &[usize]) -> String {
    let dofs = model.freedoms();
    let stride = (solved.len() - 1).div_ceil(SHOWN_ROWS - 1).max(1);
    let last = solved.len() - 1;
    let shown: Vec<&Solved> = solved
        .iter()
        .enumerate()
        .filter(|(k, _)| k % stride == 0 || *k == last)
        .map(|(_, one)| one)
        .collect();
    let mut table = Table::new().numbers("t\ns", shown.iter().map(|one| one.situation.time));
    for (k, dof) in dofs.iter().enumerate().take(SHOWN_COLUMNS) {
        table = table.numbers(
            &format!("{}\n{}", dof.name, dof.force_unit),
            shown.iter().map(|one| Some(one.situation.effort[k])),
        );
    }
    let mut text = format!(
        "inverse dynamics along a trajectory: the efforts τ of the joints\n{}\n\n{}",
        one_line(model),
        table.render()
    );
    let mut left_out = Vec::new();
    if shown.len() < solved.len() {
        left_out.push(format!("{} of {} instants", shown.len(), solved.len()));
    }
    if dofs.len() > SHOWN_COLUMNS {
        left_out.push(format!("{SHOWN_COLUMNS} of {} freedoms", dofs.len()));
    }
    if !left_out.is_empty() {
        text += &format!(
            "\n  shown: {}; -o FILE.csv and --json give them all\n",
            left_out.join(", ")
        );
    }
    let time: Vec<f64> = solved
        .iter()
        .map(|one| one.situation.time.unwrap_or(0.0))
        .collect();
    for &k in wanted {
        let curve: Vec<f64> = solved.iter().map(|one| one.situation.effort[k]).collect();
        text += &format!("\n  τ of {}\n", dofs[k].name);
        text += &plot::curve(&time, &curve, (60, 8), ("s", dofs[k].force_unit));
    }
    text + &check_line(solved)
}

fn to_json(model: &Model, solved: &[Solved]) -> Value {
    let states: Value = solved
        .iter()
        .map(|one| {
            let mut state = situation::to_json(&one.situation);
            state.insert("a".into(), json::numbers(&one.situation.acceleration));
            state.insert("tau".into(), json::numbers(&one.situation.effort));
            state.insert(
                "checks".into(),
                match one.by {
                    None => json!({ "forward_returns_a": one.returned }),
                    Some((formulation, apart)) => json!({
                        "forward_returns_a": one.returned,
                        "formulation": formulation.name(),
                        "differs_from_recursion": apart,
                    }),
                },
            );
            Value::Object(state)
        })
        .collect();
    json!({ "format": "catena-inverse/1", "model": model.name(), "states": states })
}

/// Time and all coordinates; the header names quantity, freedom and unit.
fn to_csv(model: &Model, solved: &[Solved]) -> Result<String> {
    let timed = solved.iter().any(|one| one.situation.time.is_some());
    let mut header = Vec::new();
    if timed {
        header.push("t [s]".to_string());
    }
    for quantity in Quantity::ALL {
        header.extend(
            quantity
                .coordinates(model)
                .into_iter()
                .map(|c| match c.unit {
                    "" => format!("{}:{}", quantity.key(), c.name),
                    unit => format!("{}:{} [{unit}]", quantity.key(), c.name),
                }),
        );
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let trouble = |error: csv::Error| Error::new(ErrorKind::File, format!("CSV: {error}"));
    writer.write_record(&header).map_err(trouble)?;
    for one in solved {
        let situation = &one.situation;
        let time = timed.then(|| situation.time.unwrap_or(f64::NAN));
        let numbers = time
            .iter()
            .chain(&situation.state.q)
            .chain(&situation.state.v)
            .chain(&situation.acceleration)
            .chain(&situation.effort);
        writer
            .write_record(numbers.map(|x| format!("{x:?}")))
            .map_err(trouble)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| Error::new(ErrorKind::File, format!("CSV: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
