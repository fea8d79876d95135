//! `catena compare MODEL`: accelerations and loads by every formulation, side by side; their cost against size.

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation};
use crate::state_argument::{EffortArgument, StateArgument};
use crate::table::Table;
use crate::{json, limits, output};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, within};
use catena::spatial::Force;
use catena::{Dynamics, Model, State};
use catena_mechanism::laws::{AGREEMENT as TOLERANCE, ROUND_OFF, differences};
use catena_mechanism::made_again::{loads_side_by_side, side_by_side, state_side_by_side};
use catena_mechanism::{Formulation, Mechanism, Solution};
use catena_plot::{Chart, Figure};
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// A formulation that takes longer than this is not tried at larger sizes, s.
const LONG: f64 = 0.3;

/// Maximum number of bodies, and of rows of constraints: dense formulations stop far below, sparse ones take seconds here.
const MOST_BODIES: usize = 5000;
const MOST_ROWS: usize = 5000;

/// Which model and states.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    effort: EffortArgument,

    /// Measure the time of each formulation, too (the best of several calls)
    #[arg(long)]
    time: bool,

    /// Cost against size: numbers of copies of the mechanism
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    sizes: Vec<usize>,

    /// Write cost against size as a picture (.svg); sizes 1,2,4,8,16,32 unless given
    #[arg(short, long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
}

/// The result of one formulation.
struct Answer {
    formulation: Formulation,
    solution: Result<Solution>,
    /// Relative difference of motions and of loads from those of cut loops.
    differences: [f64; 2],
    seconds: Option<f64>,
}

/// The cost of the formulations at one size: multiplications and seconds, where they have a result.
struct Cost {
    size: usize,
    bodies: usize,
    freedoms: usize,
    rows: usize,
    of: Vec<Option<[f64; 2]>>,
}

/// Solves by every formulation.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let given = arguments.model.model()?;
    let model = given.clone().with_couplings_as_constraints();
    for &size in arguments.sizes.iter().chain(&[1]) {
        limits::rows(&model, "compare", size, MOST_ROWS)?;
        let bodies = size.saturating_mul(model.body_count());
        if bodies > MOST_BODIES {
            let message = match size {
                1 => format!(
                    "`compare` takes models with up to {MOST_BODIES} bodies; `{}` has {bodies}",
                    model.name()
                ),
                _ => format!(
                    "--sizes: {size} copies have {bodies} bodies; at most {MOST_BODIES} are compared"
                ),
            };
            return Err(Error::new(ErrorKind::Input, message)
                .hint("`inverse`, `forward` and `simulate` take models of any size"));
        }
    }
    if let Some(path) = &arguments.output {
        output::expect_folder(path)?;
    }
    let situations = arguments
        .state
        .situations(&given, None, arguments.effort.tau.as_ref())?
        .into_iter()
        .map(|situation| situation.of_tree(&given));
    let mut mechanism = Mechanism::new(&model);
    let mut dynamics = Dynamics::new(&model.clone().open_tree());
    let mut found = Vec::new();
    let mut moved = Vec::new();
    for mut situation in situations {
        let time = situation.time.unwrap_or(0.0);
        moved.push(match model.constraints().is_empty() {
            true => None,
            false => situation::close(mechanism.chain(), time, &mut situation)?,
        });
        let external = situation.external(&mut dynamics)?;
        let (state, tau) = (&situation.state, &situation.effort);
        let answers = answers(&mut mechanism, time, state, tau, &external, arguments.time)?;
        found.push((situation, answers));
    }
    let sizes = match (&arguments.sizes[..], &arguments.output) {
        ([], None) => Vec::new(),
        ([], Some(_)) => vec![1, 2, 4, 8, 16, 32],
        (given, _) => given.to_vec(),
    };
    let mut costs = Vec::new();
    if !sizes.is_empty() {
        let (situation, _) = &found[0];
        let external = situation.external(&mut dynamics)?;
        costs = measured(&model, situation, &external, &sizes)?;
    }
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, &found, &moved, &costs)),
        false => to_text(&model, &found, &moved, &costs, mechanism.choice()),
    });
    if let Some(path) = &arguments.output {
        output::write_file(path, figure(&model, &costs).svg(1000, 460))?;
        outcome = outcome.note(format!("wrote {}", path.display()));
    }
    for (_, answers) in &found {
        let allowed = allowed(answers);
        for answer in answers.iter().filter(|answer| answer.solution.is_ok()) {
            let worst = larger(answer.differences[0], answer.differences[1]);
            if !within(worst, allowed) {
                outcome.failures.push(format!(
                    "{} differs by {}, allowed {}",
                    answer.formulation.name(),
                    rough(worst),
                    rough(allowed)
                ));
            }
        }
    }
    Ok(outcome)
}

/// Allowed difference of formulations: near a singular position, round-off times the condition κ of J^(−1/2) H.
fn allowed(answers: &[Answer]) -> f64 {
    let svd = answers
        .iter()
        .find(|answer| answer.formulation == Formulation::RankBySvd);
    match svd.and_then(|answer| answer.solution.as_ref().ok()) {
        Some(solution) => TOLERANCE.max(ROUND_OFF * solution.condition),
        None => TOLERANCE,
    }
}

fn answers(
    mechanism: &mut Mechanism,
    time: f64,
    state: &State,
    tau: &[f64],
    external: &[Force<f64>],
    timed: bool,
) -> Result<Vec<Answer>> {
    // cut loops on the tree first: an unusable state is rejected here
    let reference = mechanism.accelerations(Formulation::CutLoops, time, state, tau, external)?;
    let answers = Formulation::ALL.into_iter().map(|formulation| {
        let solution = mechanism.counted(formulation, time, state, tau, external);
        let mut solve = || mechanism.accelerations(formulation, time, state, tau, external);
        let seconds = (timed && solution.is_ok()).then(|| best_of(|| drop(solve())));
        let differences = match &solution {
            Ok(solution) => differences(solution, &reference),
            Err(_) => [0.0; 2],
        };
        Answer {
            formulation,
            solution,
            differences,
            seconds,
        }
    });
    Ok(answers.collect())
}

/// Seconds of the fastest of up to ten calls, fewer if they are long.
fn best_of(mut call: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed().as_secs_f64());
        if begin.elapsed().as_secs_f64() > LONG {
            break;
        }
    }
    best
}

/// Costs at all sizes.
fn measured(
    model: &Model,
    situation: &Situation,
    external: &[Force<f64>],
    sizes: &[usize],
) -> Result<Vec<Cost>> {
    let mut costs = Vec::new();
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut long = vec![false; Formulation::ALL.len()];
    for size in sizes {
        if size == 0 {
            return Err(Error::new(ErrorKind::Input, "--sizes: 0 is not a size")
                .hint("give numbers from 1 on"));
        }
        let time = situation.time.unwrap_or(0.0);
        let larger = side_by_side(model, size)?;
        let state = state_side_by_side(&situation.state, size);
        let tau = situation.effort.repeat(size);
        let loads = loads_side_by_side(external, size);
        let mut mechanism = Mechanism::new(&larger);
        let mut cost = Cost {
            size,
            bodies: larger.body_count(),
            freedoms: larger.nv(),
            rows: larger.constraint_rows(),
            of: Vec::new(),
        };
        for (formulation, long) in Formulation::ALL.into_iter().zip(&mut long) {
            if *long {
                cost.of.push(None);
                continue;
            }
            let counted = mechanism.counted(formulation, time, &state, &tau, &loads);
            let answer = counted.ok().filter(|solution| !solution.handed_over);
            let mut solve = || mechanism.accelerations(formulation, time, &state, &tau, &loads);
            cost.of.push(answer.and_then(|solution| {
                let seconds = best_of(|| drop(solve()));
                *long = seconds > LONG;
                Some([solution.operations?, seconds])
            }));
        }
        costs.push(cost);
    }
    Ok(costs)
}

fn figure(model: &Model, costs: &[Cost]) -> Figure {
    let mut charts = Vec::new();
    for (which, title, unit) in [
        (0, "Operations", "multiply-adds of decompositions"),
        (1, "Time", "time of one call (s)"),
    ] {
        let mut chart = Chart::new(title, "bodies", unit).log(true, true);
        for (k, formulation) in Formulation::ALL.into_iter().enumerate() {
            let points: Vec<(f64, f64)> = costs
                .iter()
                .filter_map(|cost| Some((cost.bodies as f64, cost.of[k]?[which])))
                .collect();
            if !points.is_empty() {
                let (x, y) = points.into_iter().unzip();
                chart = chart.marked_series(formulation.name(), x, y);
            }
        }
        charts.push(chart);
    }
    Figure {
        title: format!("Cost of the formulations: {}", model.name()),
        charts,
        columns: 2,
    }
}

fn to_text(
    model: &Model,
    found: &[(Situation, Vec<Answer>)],
    moved: &[Option<Moved>],
    costs: &[Cost],
    choice: (Formulation, String),
) -> String {
    let mut text = format!(
        "formulations of the equations of motion, compared with cut loops on the tree\n{}\n",
        one_line(model)
    );
    let (choice, why) = choice;
    text += &format!("the default is {}: {why}\n", choice.name());
    for (index, (_, answers)) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}", index + 1, found.len());
        }
        text += &format!("\n{}", table(answers).render());
        text += &notes(answers);
        let allowed = allowed(answers);
        if allowed > TOLERANCE {
            text += &format!(
                "  Near a singular position formulations may differ by {}.\n",
                rough(allowed)
            );
        }
        if let Some(moved) = moved[index] {
            text += &format!("  {}\n", moved.sentence());
        }
    }
    if !costs.is_empty() {
        text += &format!("\n{}", cost_text(costs));
    }
    text
}

/// Assumptions, with the formulations that made them; and the formulations without a result.
fn notes(answers: &[Answer]) -> String {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for answer in answers {
        let own: Vec<&str> = match &answer.solution {
            Err(error) => vec![error.message()],
            Ok(solution) => solution.assumptions.iter().map(String::as_str).collect(),
        };
        for note in own {
            match notes.iter_mut().find(|(other, _)| *other == note) {
                Some((_, names)) => names.push(answer.formulation.name()),
                None => notes.push((note, vec![answer.formulation.name()])),
            }
        }
    }
    let mut text = String::new();
    for (note, names) in notes {
        text += &format!("  {}: {note}\n", names.join(", "));
    }
    text
}

fn table(answers: &[Answer]) -> Table {
    let of = |value: &dyn Fn(&Answer, &Solution) -> String| -> Vec<String> {
        answers
            .iter()
            .map(|answer| match &answer.solution {
                Ok(solution) => value(answer, solution),
                Err(_) => "–".into(),
            })
            .collect()
    };
    let names = answers.iter().map(|answer| {
        let name = answer.formulation.name();
        match &answer.solution {
            Ok(solution) if solution.handed_over => format!("{name} *"),
            _ => name.to_string(),
        }
    });
    let mut table = Table::new()
        .text("formulation", names)
        .text("Mufti", answers.iter().map(|a| a.formulation.source()))
        .text("motion", of(&|a, _| rough(a.differences[0])))
        .text("loads", of(&|a, _| rough(a.differences[1])))
        .text("residual", of(&|_, s| rough(s.residual)))
        .text(
            "condition",
            of(&|a, s| match a.formulation {
                // from the diagonal of R
                Formulation::RankByQr => format!("≈ {}", rough(s.condition)),
                _ => rough(s.condition),
            }),
        )
        .written(
            "rank",
            of(&|_, s| match s.rank {
                Some(rank) => format!("{rank} of {}", s.rows),
                None => String::new(),
            }),
        )
        .written(
            "operations",
            of(&|_, s| s.operations.map_or(String::new(), rough)),
        );
    if answers.iter().any(|a| a.seconds.is_some()) {
        table = table.numbers(
            "time µs",
            answers.iter().map(|a| a.seconds.map(|s| 1e6 * s)),
        );
    }
    table
}

fn cost_text(costs: &[Cost]) -> String {
    let mut table = Table::new().text(
        "multiply-adds | µs",
        Formulation::ALL.into_iter().map(Formulation::name),
    );
    for cost in costs {
        let cells = cost.of.iter().map(|of| match of {
            Some([operations, seconds]) => {
                format!("{} | {}", rough(*operations), rough(1e6 * seconds))
            }
            None => "–".to_string(),
        });
        table = table.written(&counted(cost.bodies, "body", "bodies"), cells);
    }
    format!("cost against size\n\n{}", table.render())
}

fn to_json(
    model: &Model,
    found: &[(Situation, Vec<Answer>)],
    moved: &[Option<Moved>],
    costs: &[Cost],
) -> Value {
    let states: Value = found
        .iter()
        .enumerate()
        .map(|(index, (situation, answers))| {
            let mut state = situation::to_json(situation);
            if let Some(moved) = moved[index] {
                state.insert("assembly_moved".into(), moved.to_json());
            }
            let mut all = Map::new();
            for answer in answers {
                all.insert(answer.formulation.name().into(), answer_json(answer));
            }
            state.insert("formulations".into(), Value::Object(all));
            Value::Object(state)
        })
        .collect();
    let costs: Value = costs
        .iter()
        .map(|cost| {
            let mut all = Map::new();
            for (formulation, of) in Formulation::ALL.into_iter().zip(&cost.of) {
                if let Some([operations, seconds]) = of {
                    let own = json!({ "operations": operations, "seconds": seconds });
                    all.insert(formulation.name().into(), own);
                }
            }
            json!({
                "size": cost.size, "bodies": cost.bodies, "freedoms": cost.freedoms, "rows": cost.rows,
                "formulations": all,
            })
        })
        .collect();
    json!({ "format": "catena-compare/1", "model": model.name(), "states": states, "costs": costs })
}

fn answer_json(answer: &Answer) -> Value {
    let solution = match &answer.solution {
        Ok(solution) => solution,
        Err(error) => return json!({ "refused": error.message() }),
    };
    let loads = |loads: &[Force<f64>]| -> Value {
        loads
            .iter()
            .map(|load| json!({ "force": json::vector(load.force), "torque": json::vector(load.moment) }))
            .collect()
    };
    json!({
        "a": json::numbers(&solution.accelerations),
        "joint_loads": loads(&solution.tree[1..]),
        "constraint_loads": loads(&solution.constraints),
        "multipliers": json::numbers(&solution.multipliers),
        "rows": solution.rows,
        "rank": solution.rank,
        "condition": solution.condition,
        "residual": solution.residual,
        "corrections": solution.corrections,
        "operations": solution.operations,
        "motion_difference": answer.differences[0],
        "load_difference": answer.differences[1],
        "seconds": answer.seconds,
        "handed_over": solution.handed_over,
        "assumptions": solution.assumptions,
    })
}
