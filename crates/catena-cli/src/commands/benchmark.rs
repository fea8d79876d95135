//! `catena benchmark`: the field's benchmark problems, their cost and the error at the end relative to the reference.

use crate::number::{rough, six};
use crate::outcome::Outcome;
use crate::table::Table;
use crate::{json, limits};
use catena::ClosedChain;
use catena::benchmark::{PROBLEMS, Problem, Report, problem};
use catena::error::{Error, ErrorKind, Result};
use catena::integrate::Method;
use catena::simulate::Drift;
use clap::Args;
use serde_json::{Value, json};
use std::time::Instant;

/// Allowed error of the energy balance, relative to the energy exchanged.
const ENERGY: f64 = 1e-8;
/// Drift of constraints that is allowed.
const DRIFT: f64 = 1e-10;
/// Allowed difference from the reference at tight tolerances.
const ERROR: f64 = 1e-8;
/// Tolerances up to this are tight.
const SHARP: f64 = 1e-11;

/// Which problems, and how.
#[derive(Args, Debug)]
pub struct Arguments {
    /// pendulum, four-bar-N, squeezer, bricard, governor, slider-crank, stewart; all of them if none is named
    #[arg(value_name = "PROBLEM")]
    problems: Vec<String>,

    /// Loops of the four-bar where no number is named
    #[arg(long, value_name = "N", default_value_t = 2)]
    loops: usize,

    /// dop853, verner9, verner6, tsit5, dopri5
    #[arg(long, value_name = "NAME", default_value = "verner9")]
    method: String,

    /// Relative tolerance; the absolute one is a hundredth of it
    #[arg(
        long,
        value_name = "TOL",
        default_value = "1e-12",
        allow_negative_numbers = true
    )]
    rtol: f64,
}

struct Ran {
    problem: Problem,
    report: Report,
    seconds: f64,
    route: Option<String>,
}

/// Runs the problems.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    limits::count("--loops", arguments.loops as u64, 10_000)?;
    let Ok(method) = arguments.method.to_lowercase().parse::<Method>() else {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "--method: there is no adaptive method `{}`",
                arguments.method
            ),
        )
        .hint("methods are dop853, verner9, verner6, tsit5, dopri5"));
    };
    let names: Vec<String> = match arguments.problems.is_empty() {
        true => PROBLEMS.iter().map(|name| (*name).to_string()).collect(),
        false => arguments.problems.clone(),
    };
    let mut ran = Vec::new();
    for name in names {
        let name = match name.as_str() {
            "four-bar-N" | "four-bar" => format!("four-bar-{}", arguments.loops),
            _ => name,
        };
        let problem = problem(&name)?;
        let closed = !problem.model.constraints().is_empty();
        let route = closed.then(|| ClosedChain::new(&problem.model).route_reason());
        let before = Instant::now();
        let report = problem
            .run(method, arguments.rtol, Drift::default())
            .map_err(|error| {
                let message = format!("{name}: {}", error.message());
                let mut named = Error::new(error.kind(), message);
                if let Some(advice) = error.advice() {
                    named = named.hint(advice);
                }
                named
            })?;
        ran.push(Ran {
            problem,
            report,
            seconds: before.elapsed().as_secs_f64(),
            route,
        });
    }
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(arguments, &ran)),
        false => to_text(arguments, &ran),
    });
    for one in &ran {
        outcome.failures.extend(faults(one, arguments.rtol));
    }
    Ok(outcome)
}

/// Violated limits.
fn faults(one: &Ran, tolerance: f64) -> Vec<String> {
    let Report {
        error,
        energy,
        drift,
        ..
    } = &one.report;
    let mut faults = Vec::new();
    let mut judge = |what: &str, found: f64, allowed: f64| {
        if found.is_nan() || found > allowed {
            faults.push(format!(
                "{}: {what} {}, allowed {}",
                one.problem.name,
                rough(found),
                rough(allowed)
            ));
        }
    };
    if tolerance <= SHARP {
        judge("error", *error, ERROR);
        judge("energy off by", *energy, ENERGY);
    }
    for (level, found) in ["positions", "velocities", "accelerations"]
        .iter()
        .zip(drift)
    {
        judge(
            &format!("constraints drift at the level of {level}:"),
            *found,
            DRIFT,
        );
    }
    faults
}

fn to_text(arguments: &Arguments, ran: &[Ran]) -> String {
    let each = |cell: fn(&Ran) -> String| ran.iter().map(cell).collect::<Vec<String>>();
    let drift = |level: usize| {
        ran.iter()
            .map(|one| match one.route {
                Some(_) => rough(one.report.drift[level]),
                None => String::new(),
            })
            .collect::<Vec<String>>()
    };
    let table = Table::new()
        .text("problem", each(|one| one.problem.name.clone()))
        .written(
            "rows",
            each(|one| one.problem.model.constraint_rows().to_string()),
        )
        .written("s", each(|one| six(one.problem.duration)))
        .written("steps", each(|one| one.report.steps[0].to_string()))
        .written("rejected", each(|one| one.report.steps[1].to_string()))
        .written("evaluations", each(|one| one.report.steps[2].to_string()))
        .written("time s", each(|one| format!("{:.3}", one.seconds)))
        .written("error", each(|one| rough(one.report.error)))
        .written("energy", each(|one| rough(one.report.energy)))
        .written("drift q", drift(0))
        .written("v", drift(1))
        .written("a", drift(2))
        .text("reference", each(|one| one.problem.source.to_string()));
    let mut text = format!(
        "benchmark problems by {} at a relative tolerance of {}\n\n{}\n",
        arguments.method,
        rough(arguments.rtol),
        table.render()
    );
    text += "  error: largest difference from the reference at the end, relative to it where it is above 1\n";
    text += "  energy: largest error of the energy balance, including the work of motors, springs and dampers\n";
    for one in ran {
        if let Some(route) = &one.route {
            text += &format!("  {}: {route}\n", one.problem.name);
        }
    }
    text
}

fn to_json(arguments: &Arguments, ran: &[Ran]) -> Value {
    let problems: Value = ran
        .iter()
        .map(|one| {
            let Report {
                values,
                error,
                energy,
                drift,
                steps,
            } = &one.report;
            let quantities: Value = one
                .problem
                .quantities
                .iter()
                .zip(values)
                .map(|(quantity, value)| {
                    json!({
                        "name": quantity.name,
                        "value": value,
                        "reference": quantity.reference,
                    })
                })
                .collect();
            json!({
                "name": one.problem.name,
                "rows": one.problem.model.constraint_rows(),
                "duration": one.problem.duration,
                "steps": steps[0],
                "rejected": steps[1],
                "evaluations": steps[2],
                "seconds": one.seconds,
                "error": error,
                "energy": energy,
                "drift": json::numbers(drift),
                "conservative": one.problem.conservative,
                "reference": one.problem.source,
                "reference_error": one.problem.reference_error,
                "route": one.route,
                "quantities": quantities,
            })
        })
        .collect();
    json!({
        "format": "catena-benchmark/1",
        "method": arguments.method,
        "rtol": arguments.rtol,
        "problems": problems,
    })
}
