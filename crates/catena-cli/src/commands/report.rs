//! `catena report RUN`: animation, curves, audit and model of a run as one file that opens offline.

use crate::number::{counted, six};
use crate::outcome::Outcome;
use crate::scene_argument::{self, Sight};
use crate::{json, output};
use catena::error::Result;
use catena_view::{Budget, page, scene};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Which runs, and where the report goes.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Runs written by `catena simulate -o`: .csv, .parquet or .mcap, finished or not; several are overlaid
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    /// The report [default: the first run's name with .html]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,

    /// URDF or MJCF file whose shapes and meshes are shown
    #[arg(long, value_name = "FILE")]
    visuals: Option<PathBuf>,
}

/// Writes the report.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let target = match &arguments.output {
        Some(path) => path.clone(),
        None => arguments.runs[0].with_extension("html"),
    };
    output::expect_folder(&target)?;
    let budget = Budget::REPORT.shared_by(arguments.runs.len());
    let mut outcome = Outcome::default();
    let mut subjects = Vec::new();
    let mut rows = Vec::new();
    for path in &arguments.runs {
        let sight = Sight::of_run(path, budget, arguments.visuals.as_deref())?;
        let run = sight.run.as_ref();
        rows.push(run.map_or(0, |run| run.row_count()));
        if let Some(run) = run.filter(|run| !run.finished) {
            let end = run.column("time").and_then(|time| time.last().copied());
            outcome = outcome.note(format!(
                "the run {} is not finished: the report shows its {}, up to {} s",
                path.display(),
                counted(run.row_count(), "row", "rows"),
                six(end.unwrap_or(0.0))
            ));
        }
        outcome.notes.extend(sight.notes);
        subjects.push(scene_argument::with_equations(sight.subject, &sight.model));
    }
    let html = page::html(&scene::scene(subjects, &[]));
    output::write_file(&target, html.as_bytes())?;
    let name = target.display().to_string();
    if as_json {
        outcome.text = json::text(&json!({
            "format": "catena-report/1",
            "file": name,
            "bytes": html.len(),
            "rows": rows,
        }));
        return Ok(outcome);
    }
    Ok(outcome.note(format!("wrote {name}, {} kB", html.len().div_ceil(1000))))
}
