//! `catena study mechanisms`: Mufti's formulations on mechanisms whose loops share bodies, of growing size.
//!
//! The report compares no costs "due to the lack of computational results". Operations of the method of chosen rows, of cut loops and
//! along the tree are counted in a counting scalar; the other formulations count the operations of their matrices and residuals.

use super::{Arguments, FORMAT, Found, best_of, markdown_table};
use crate::commands::count::subject::{both, closed};
use crate::number::counted;
use catena::ClosedChain;
use catena::State;
use catena::elementary;
use catena::error::Result;
use catena::model::embedded;
use catena_mechanism::{Formulation, Mechanism};
use catena_plot::{Chart, Figure};
use serde_json::json;
use std::time::Duration;

/// Numbers of four-bar linkages in a row.
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];
/// Angle of the uprights, rad.
const ANGLE: f64 = 1.0;
/// Time spent on each formulation and size.
const PATIENCE: Duration = Duration::from_millis(20);

/// One size.
struct Size {
    loops: usize,
    bodies: usize,
    rows: usize,
    /// Multiplications and additions of the method of chosen rows, counted.
    counted: [i64; 2],
    /// Multiplications, and µs where they are measured; none where a formulation has no result of its own.
    of: Vec<Option<(f64, Option<f64>)>>,
}

/// Measures.
pub fn find(arguments: &Arguments) -> Result<Found> {
    let sizes: Vec<Size> = SIZES
        .iter()
        .map(|&loops| Size::measure(loops, !arguments.count))
        .collect::<Result<_>>()?;
    let page = page(&sizes);
    let record = sizes.iter().map(|size| {
        let of = Formulation::ALL
            .iter()
            .zip(&size.of)
            .map(|(formulation, cost)| {
                json!({
                    "formulation": formulation.name(),
                    "multiplications": cost.map(|cost| cost.0),
                    "microseconds": cost.and_then(|cost| cost.1),
                })
            });
        json!({
            "loops": size.loops,
            "bodies": size.bodies,
            "rows": size.rows,
            "counted": size.counted,
            "formulations": of.collect::<Vec<_>>(),
        })
    });
    let record = record.collect::<Vec<_>>();
    Ok(Found {
        text: page.clone(),
        files: vec![
            ("mechanisms.md".into(), page),
            ("mechanisms.svg".into(), figure(&sizes).svg(1000, 460)),
        ],
        record: json!({ "format": FORMAT, "study": "mechanisms", "sizes": record }),
    })
}

impl Size {
    fn measure(loops: usize, timed: bool) -> Result<Self> {
        let model = embedded::model(&format!("four-bar-{loops}"))?;
        let mut chain = ClosedChain::new(&model);
        // away from the position in which all rods are aligned
        let mut bent = State::start(&model);
        for (q, dof) in bent.q.iter_mut().zip(&model.tree().dofs) {
            *q = if dof.name.starts_with("top") {
                -ANGLE
            } else {
                ANGLE
            };
        }
        let state = chain.assemble(0.0, &bent, &[])?.state;
        let chosen = chain.freedoms(0.0, &state)?.rows;
        let tau = vec![0.1; model.nv()];
        let mut mechanism = Mechanism::new(&model);
        let mut of = Vec::new();
        for formulation in Formulation::ALL {
            let counted = mechanism.counted(formulation, 0.0, &state, &tau, &[]);
            let own = counted.ok().filter(|solution| !solution.handed_over);
            let Some(operations) = own.and_then(|solution| solution.operations) else {
                of.push(None);
                continue;
            };
            let mut solve = || mechanism.accelerations(formulation, 0.0, &state, &tau, &[]);
            let seconds = match timed {
                true => Some(best_of(PATIENCE, || solve().map(drop))?),
                false => None,
            };
            of.push(Some((operations, seconds.map(|s| 1e6 * s))));
        }
        Ok(Size {
            loops,
            bodies: model.body_count(),
            rows: model.constraint_rows(),
            counted: both(closed(&model, &chosen)),
            of,
        })
    }
}

/// Exponent of the growth from the last size but one to the last.
fn exponent(values: &[Option<f64>]) -> String {
    match values {
        [.., Some(a), Some(b)] if *a > 0.0 => {
            let last = SIZES[SIZES.len() - 1] as f64 / SIZES[SIZES.len() - 2] as f64;
            format!("size^{:.1}", elementary::ln(b / a) / elementary::ln(last))
        }
        _ => "–".into(),
    }
}

fn page(sizes: &[Size]) -> String {
    let mut head = vec!["formulation", "eqs."];
    let columns: Vec<String> = sizes
        .iter()
        .map(|s| counted(s.loops, "loop", "loops"))
        .collect();
    head.extend(columns.iter().map(String::as_str));
    head.push("grows as");
    let table = |which: fn(&(f64, Option<f64>)) -> Option<f64>, digits: usize| {
        let rows: Vec<Vec<String>> = Formulation::ALL
            .iter()
            .enumerate()
            .map(|(k, formulation)| {
                let values: Vec<Option<f64>> = sizes
                    .iter()
                    .map(|size| size.of[k].as_ref().and_then(which))
                    .collect();
                let mut row = vec![
                    formulation.name().to_string(),
                    formulation.source().to_string(),
                ];
                row.extend(values.iter().map(|value| match value {
                    Some(value) => format!("{value:.digits$}"),
                    None => "–".into(),
                }));
                row.push(exponent(&values));
                row
            })
            .collect();
        markdown_table(&head, &rows)
    };
    let mut text = String::from(
        "# Mufti's formulations on coupled mechanisms\n\n\
         Made by `catena study mechanisms`. Four-bar linkages in a row: neighbours share a rocker, so that all loops are coupled. Mufti's report \
         compares no costs. – where a formulation gives no result of its own: it is for trees only, or leaves redundant rows to another.\n\n\
         ![Cost against size](mechanisms.svg)\n\n## Counted operations\n\n\
         The route through chosen rows, which is what generated code does, run in a scalar that counts:\n\n",
    );
    let operations: Vec<Vec<String>> = sizes
        .iter()
        .map(|size| {
            let mut row = vec![
                size.loops.to_string(),
                size.bodies.to_string(),
                size.rows.to_string(),
            ];
            row.extend(size.counted.map(|x| x.to_string()));
            row
        })
        .collect();
    text += &markdown_table(
        &["loops", "bodies", "rows of constraints", "M", "A"],
        &operations,
    );
    text += "\n## Multiplications and divisions of all formulations\n\n\
         Counted as they are executed, iterations and corrections included: matrices, their decompositions, substitutions and residuals, without setting up the equations. \
         Zeros of the hinges' matrices cost nothing. `cut-loops` and `along-tree` are run a second time in the scalar that counts, the recursions of the tree \
         included; to them the rows of the constraints are given, which is their setting up: products with a number that is always 0 or ±1 cost nothing.\n\n";
    text += &table(|cost| Some(cost.0), 0);
    if sizes
        .iter()
        .flat_map(|size| &size.of)
        .flatten()
        .any(|cost| cost.1.is_some())
    {
        text += "\n## Time of one call, µs\n\nThe best of many, with the equations set up, on one core of the machine it ran on.\n\n";
        text += &table(|cost| cost.1, 1);
    }
    text
}

fn figure(sizes: &[Size]) -> Figure {
    let chart = |title: &str, unit: &str, which: fn(&(f64, Option<f64>)) -> Option<f64>| {
        let mut chart = Chart::new(title, "loops", unit).log(true, true);
        let mut any = false;
        for (k, formulation) in Formulation::ALL.into_iter().enumerate() {
            let points: Vec<(f64, f64)> = sizes
                .iter()
                .filter_map(|size| {
                    let cost = size.of[k].as_ref().and_then(which)?;
                    (cost > 0.0).then_some((size.loops as f64, cost))
                })
                .collect();
            if !points.is_empty() {
                any = true;
                let (x, y) = points.into_iter().unzip();
                chart = chart.marked_series(formulation.name(), x, y);
            }
        }
        any.then_some(chart)
    };
    let charts: Vec<Chart> = [
        chart("Operations", "multiplications", |cost| Some(cost.0)),
        chart("Time", "time of one call (µs)", |cost| cost.1),
    ]
    .into_iter()
    .flatten()
    .collect();
    Figure {
        title: "Cost of the formulations: four-bar linkages in a row".into(),
        columns: charts.len(),
        charts,
    }
}
