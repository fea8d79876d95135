//! `catena study SUBJECT`: measurements of a paper repeated.

mod linpen;
mod work_precision;

use crate::outcome::Outcome;
use catena::error::Result;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What can be studied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// Chou's n-body pendulum: operations (Table 1), times (Figure 2), motions by implicit integration.
    Linpen,
    /// What accuracy costs: explicit and implicit methods on chains with loose and stiff joints; a Newton step in body coordinates.
    WorkPrecision,
}

/// Which study, how long, and where its files go.
#[derive(Args, Debug)]
pub struct Arguments {
    /// linpen: four Newton schemes of the n-body pendulum (Chou); work-precision: what accuracy costs, explicit and implicit
    #[arg(value_name = "SUBJECT")]
    subject: Subject,

    /// Folder for the tables (Markdown) and pictures (SVG); without it the tables are printed only
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Bodies of the longest pendulum or chain, from 10 to 100000
    #[arg(long, value_name = "N", default_value_t = 1000)]
    bodies: usize,

    /// Count operations only: nothing is timed or simulated
    #[arg(long)]
    count: bool,
}

/// Runs the study.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    match arguments.subject {
        Subject::Linpen => linpen::run(arguments, as_json),
        Subject::WorkPrecision => work_precision::run(arguments, as_json),
    }
}
