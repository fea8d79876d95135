//! `catena verify CASE.json…`: comparison with conformance cases.

use crate::json;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::table::Table;
use catena::Error;
use catena_conformance::Report;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Which cases.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Conformance cases
    #[arg(value_name = "CASE.json", required = true)]
    cases: Vec<PathBuf>,
}

/// Compares every quantity of every case. A case that cannot be used does not prevent the comparison of the others.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome, Error> {
    let results: Vec<(&PathBuf, Result<Report, Error>)> = arguments
        .cases
        .iter()
        .map(|path| (path, catena_conformance::verify_file(path)))
        .collect();
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&json!({
            "format": "catena-verify/1",
            "cases": results.iter().map(|(path, result)| case_json(path, result)).collect::<Value>(),
        })),
        false => to_text(&results),
    });
    for (path, result) in &results {
        match result {
            Err(error) => outcome.refusals.push(error.to_string()),
            Ok(report) if report.passed() => {}
            Ok(report) => outcome.failures.push(failure(path, report)),
        }
    }
    Ok(outcome)
}

fn to_text(results: &[(&PathBuf, Result<Report, Error>)]) -> String {
    let reports: Vec<&Report> = results.iter().flat_map(|(_, result)| result).collect();
    let texts: Vec<String> = reports.iter().map(|report| case_text(report)).collect();
    let passed = reports.iter().filter(|report| report.passed()).count();
    let mut text = texts.join("\n");
    if results.len() > 1 {
        text += &format!(
            "\n  {passed} of {} cases passed, {} off, {} not usable\n",
            results.len(),
            reports.len() - passed,
            results.len() - reports.len()
        );
    }
    text
}

fn failure(path: &Path, report: &Report) -> String {
    let off: Vec<String> = report
        .quantities
        .iter()
        .filter(|quantity| !quantity.ok)
        .map(|quantity| format!("`{}` at {}", quantity.name, quantity.where_))
        .collect();
    let what = match off.is_empty() {
        true => "nothing was compared".to_string(),
        false => format!("{} off", off.join(", ")),
    };
    format!("{}: {what}\n  --> {}", report.id, path.display())
}

fn case_text(report: &Report) -> String {
    let quantities = &report.quantities;
    let table = Table::new()
        .text("quantity", quantities.iter().map(|q| q.name.clone()))
        .text("difference", quantities.iter().map(|q| rough(q.worst)))
        .text("of", quantities.iter().map(|q| rough(q.scale)))
        .text("relative", quantities.iter().map(|q| rough(q.relative)))
        .text("allowed", quantities.iter().map(|q| rough(q.tolerance)))
        .text(
            "",
            quantities.iter().map(|q| match q.ok {
                true => "ok".to_string(),
                false => format!("OFF at {}", q.where_),
            }),
        );
    let routes = match &report.routes[..] {
        [] => String::new(),
        routes => format!("  by {}\n", routes.join(", ")),
    };
    format!(
        "{} ({}, {}): {}\n{}{routes}",
        report.id,
        report.kind,
        counted(report.samples, "sample", "samples"),
        report.title,
        table.render()
    )
}

fn case_json(path: &Path, result: &Result<Report, Error>) -> Value {
    match result {
        Err(error) => json!({
            "file": path.display().to_string(),
            "passed": false,
            "error": error.to_string(),
        }),
        Ok(report) => {
            let quantities: Value = report
                .quantities
                .iter()
                .map(|q| {
                    json!({
                        "name": q.name,
                        "difference": q.worst,
                        "scale": q.scale,
                        "relative": q.relative,
                        "tolerance": q.tolerance,
                        "where": q.where_,
                        "ok": q.ok,
                    })
                })
                .collect();
            json!({
                "file": path.display().to_string(),
                "id": report.id,
                "kind": report.kind,
                "title": report.title,
                "samples": report.samples,
                "passed": report.passed(),
                "routes": report.routes,
                "quantities": quantities,
            })
        }
    }
}
