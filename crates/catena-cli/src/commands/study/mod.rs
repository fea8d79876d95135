//! `catena study SUBJECT`: figures, tables, measurements and claims of the papers, repeated.

mod accuracy;
mod crossover;
mod elimination;
mod invertibility;
mod linpen;
mod mechanisms;
mod papers;
mod space_robot;
mod work_precision;

use crate::outcome::Outcome;
use crate::{json, output};
use catena::error::{Error, ErrorKind, Result};
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Format of the records.
const FORMAT: &str = "catena-paper-study/1";

/// Bodies of the longest pendulum or chain by default.
const BODIES: usize = 1000;

/// What can be studied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// All figures and tables of the papers, and all studies below except accuracy and work-precision.
    Papers,
    /// Chou's n-body pendulum: operations (Table 1), times (Figure 2), motions by implicit integration.
    Linpen,
    /// Chou's sec. 5.2: the moment block J_F as σ grows.
    Invertibility,
    /// From which n on U D Uᵀ is faster than Walker and Orin's elimination: processor time of chains of 1 to 30 joints.
    Crossover,
    /// Saha's claim that O(n) accelerations are smoother: noise, steps and evaluations of an adaptive integrator.
    Elimination,
    /// Operations of an n-joint arm on a free base, as formulas in n.
    SpaceRobot,
    /// Mufti's formulations on coupled mechanisms of growing size.
    Mechanisms,
    /// Errors on badly conditioned systems: mass ratios, needles, close axes, long chains, dead points.
    Accuracy,
    /// What accuracy costs: explicit and implicit methods on chains with loose and stiff joints; a Newton step in body coordinates.
    WorkPrecision,
}

/// Which study, how long, and where its files go.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What is studied
    #[arg(value_name = "SUBJECT")]
    subject: Subject,

    /// Folder for the tables (Markdown) and pictures (SVG); without it the tables are printed only
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Bodies of the longest pendulum or chain of linpen and work-precision, from 10 to 100000 [default: 1000]
    #[arg(long, value_name = "N")]
    bodies: Option<usize>,

    /// Leave out timings: the results are then reproducible
    #[arg(long)]
    count: bool,
}

/// Results of a study.
struct Found {
    /// The tables, to be printed.
    text: String,
    /// Names and contents of the files.
    files: Vec<(String, String)>,
    /// All numbers.
    record: Value,
}

/// Runs the study.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    arguments.expect_use()?;
    if let Some(folder) = &arguments.output {
        output::make_folder(folder)?;
    }
    let found = match arguments.subject {
        Subject::Papers => papers::find(arguments),
        Subject::Linpen => linpen::find(arguments),
        Subject::Invertibility => invertibility::find(),
        Subject::Crossover => crossover::find(arguments),
        Subject::Elimination => elimination::find(arguments),
        Subject::SpaceRobot => space_robot::find(),
        Subject::Mechanisms => mechanisms::find(arguments),
        Subject::Accuracy => accuracy::find(),
        Subject::WorkPrecision => work_precision::find(arguments),
    }?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&found.record),
        false => found.text,
    });
    if let Some(folder) = &arguments.output {
        for (name, contents) in found.files {
            let path = folder.join(name);
            output::write_file(&path, contents)?;
            outcome = outcome.note(format!("wrote {}", path.display()));
        }
    }
    Ok(outcome)
}

impl Arguments {
    fn bodies(&self) -> usize {
        self.bodies.unwrap_or(BODIES)
    }

    /// Checks that the options apply to the subject and the number of bodies is feasible.
    fn expect_use(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Input, message));
        if self.count && self.subject == Subject::WorkPrecision {
            return refuse("--count: all of work-precision is timed".into());
        }
        let Some(bodies) = self.bodies else {
            return Ok(());
        };
        let uses_bodies = matches!(
            self.subject,
            Subject::Papers | Subject::Linpen | Subject::WorkPrecision
        );
        if !uses_bodies {
            return refuse("--bodies: the size of this study is fixed".into());
        }
        match (10..=100_000).contains(&bodies) {
            true => Ok(()),
            false => refuse(format!("--bodies: {bodies} is not from 10 to 100000")),
        }
    }
}

/// A Markdown table: the first column text, the others numbers.
fn markdown_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|---|", head.join(" | "));
    text += &"---:|".repeat(head.len() - 1);
    text.push('\n');
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// Time of the fastest call, in seconds; calls repeat for `patience`, at least five times.
fn best_of(patience: Duration, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    let (mut best, mut calls) = (f64::INFINITY, 0);
    while calls < 5 || begin.elapsed() < patience {
        let start = Instant::now();
        call()?;
        best = best.min(start.elapsed().as_secs_f64());
        calls += 1;
    }
    Ok(best)
}
