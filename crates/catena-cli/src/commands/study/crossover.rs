//! `catena study crossover`: from which n on Saha's O(n) scheme is faster than Walker and Orin's O(n³) one.
//!
//! The papers count operations, and find 12 joints. Here the processor's time is measured, too.

use super::{Arguments, FORMAT, Found, best_of, markdown_table};
use crate::commands::count::subject::{Algorithm, Axes, both, chain, recursion};
use catena::error::Result;
use catena::{Model, State};
use catena_plot::{Chart, Figure};
use catena_study::accelerations::{Accelerations, Scheme};
use serde_json::json;
use std::time::Duration;

/// Longest chain.
const LONGEST: usize = 30;
/// Time spent on each scheme and length.
const PATIENCE: Duration = Duration::from_millis(15);

/// Cost of one scheme for the chains of all lengths.
struct Line {
    scheme: Scheme,
    /// Multiplications and additions.
    operations: Vec<i64>,
    /// µs, where they are measured.
    times: Vec<f64>,
}

/// Counts, and measures unless only counts are requested.
pub fn find(arguments: &Arguments) -> Result<Found> {
    let mut lines = Vec::new();
    for (scheme, algorithm) in [
        (Scheme::ArticulatedBodies, Algorithm::Articulated),
        (Scheme::Factorization, Algorithm::Factorization),
        (Scheme::Elimination, Algorithm::WalkerOrin),
    ] {
        let mut line = Line {
            scheme,
            operations: Vec::new(),
            times: Vec::new(),
        };
        for n in 1..=LONGEST {
            let model = chain(n, Axes::Anywhere)?;
            let counts = both(recursion(&model, None, algorithm));
            line.operations.push(counts.iter().sum());
            if !arguments.count {
                line.times.push(1e6 * seconds(&model, scheme)?);
            }
        }
        lines.push(line);
    }
    let page = page(&lines);
    let record = lines.iter().map(|line| {
        json!({
            "scheme": line.scheme.name(),
            "operations": line.operations,
            "microseconds": line.times,
        })
    });
    Ok(Found {
        text: page.clone(),
        files: vec![
            ("crossover.md".into(), page),
            ("crossover.svg".into(), figure(&lines).svg(900, 420)),
        ],
        record: json!({
            "format": FORMAT,
            "study": "crossover",
            "joints": (1..=LONGEST).collect::<Vec<_>>(),
            "schemes": record.collect::<Vec<_>>(),
        }),
    })
}

fn seconds(model: &Model, scheme: Scheme) -> Result<f64> {
    let mut accelerations = Accelerations::new(model);
    let state = State::random(model, 1);
    let (tau, mut vdot) = (vec![0.1; model.nv()], vec![0.0; model.nv()]);
    best_of(PATIENCE, || {
        accelerations.find(scheme, &state, &tau, &mut vdot)
    })
}

/// The smallest n from which one list does not exceed the other, up to the end.
fn from(linear: &[f64], cubic: &[f64]) -> String {
    let below = linear.iter().zip(cubic).rev();
    match below.take_while(|(a, b)| a <= b).count() {
        0 => format!("not up to {LONGEST} joints"),
        count if count == linear.len() => "for every number of joints".into(),
        count => format!("from {} joints on", linear.len() - count + 1),
    }
}

fn numbers(counts: &[i64]) -> Vec<f64> {
    counts.iter().map(|&x| x as f64).collect()
}

fn page(lines: &[Line]) -> String {
    let [linear, factors, cubic] = lines else {
        return String::new();
    };
    let timed = !cubic.times.is_empty();
    let mut text = String::from(
        "# From which n on O(n) forward dynamics pays off\n\n\
         Made by `catena study crossover`. Chains of n revolute joints with axes, mass centres and inertias anywhere. Saha's scheme is Newton–Euler \
         at v̇ = 0, I = U D Uᵀ by recursion and two substitutions; Walker and Orin's the same Newton–Euler, the inertia matrix by composite bodies, and \
         Cholesky's factors of it. Operations are multiplications, divisions, additions and subtractions, counted. The papers find 12 joints by their own counts.\n\n",
    );
    for line in [factors, linear] {
        text += &format!(
            "* {} takes fewer operations than Walker–Orin {}",
            line.scheme.name(),
            from(&numbers(&line.operations), &numbers(&cubic.operations))
        );
        text += &match timed {
            true => format!(", and less time {}.\n", from(&line.times, &cubic.times)),
            false => ".\n".into(),
        };
    }
    let mut head = vec!["n"];
    let names: Vec<String> = lines
        .iter()
        .map(|line| format!("{}: operations", line.scheme.name()))
        .collect();
    head.extend(names.iter().map(String::as_str));
    let times: Vec<String> = lines
        .iter()
        .map(|line| format!("{}: µs", line.scheme.name()))
        .collect();
    if timed {
        head.extend(times.iter().map(String::as_str));
        text += "\nTimes are the best of many calls through the library's entry points, on one core of the machine it ran on.\n";
    }
    text += "\n![Operations and times](crossover.svg)\n\n";
    let rows: Vec<Vec<String>> = (0..LONGEST)
        .map(|k| {
            let mut row = vec![format!("{}", k + 1)];
            row.extend(lines.iter().map(|line| line.operations[k].to_string()));
            if timed {
                row.extend(lines.iter().map(|line| format!("{:.2}", line.times[k])));
            }
            row
        })
        .collect();
    text + &markdown_table(&head, &rows)
}

fn figure(lines: &[Line]) -> Figure {
    let joints: Vec<f64> = (1..=LONGEST).map(|n| n as f64).collect();
    let mut counted = Chart::new("operations", "joints", "operations").log(false, true);
    let mut timed = Chart::new("processor time", "joints", "time (µs)").log(false, true);
    for line in lines {
        let name = line.scheme.name();
        counted = counted.series(name, joints.clone(), numbers(&line.operations));
        if !line.times.is_empty() {
            timed = timed.series(name, joints.clone(), line.times.clone());
        }
    }
    let is_timed = lines.iter().all(|line| !line.times.is_empty());
    Figure {
        title: "Forward dynamics of chains of revolute joints".into(),
        charts: match is_timed {
            true => vec![counted, timed],
            false => vec![counted],
        },
        columns: if is_timed { 2 } else { 1 },
    }
}
