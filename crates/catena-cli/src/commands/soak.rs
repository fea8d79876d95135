//! `catena soak`: simulations and commands in one process for a given time, monitoring memory, open files and drift.

use super::simulate::violated;
use crate::number::{counted, rough, six};
use crate::outcome::Outcome;
use crate::{json, output, program};
use catena::error::{Error, ErrorKind, Result};
use catena::integrate::{Method, Tolerances};
use catena::model::embedded;
use catena::residual::largest_of;
use catena::simulate::{Inputs, Integrator, Sample, Simulation, SimulationOptions};
use catena::{Model, State};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Duration, s
    #[arg(long, value_name = "T", default_value_t = 60.0)]
    seconds: f64,
}

/// Models of a round; the next rounds use the others.
const SEEDS: usize = 8;
/// Simulated time of the long run per round, s.
const STRETCH: f64 = 2.0;
/// Memory growth between the middle and the last third of the time that is not a leak: pages of the allocator.
const GROWTH: f64 = 8e6;

/// Resident memory in bytes and number of open files of this process, where the system reports them.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    memory: Option<f64>,
    handles: Option<usize>,
}

impl Use {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok());
        let handles = std::fs::read_dir("/proc/self/fd").ok();
        Use {
            memory: kilobytes.map(|kilobytes: f64| 1024.0 * kilobytes),
            // the folder that is read is one of them
            handles: handles.map(|all| all.count().saturating_sub(1)),
        }
    }
}

/// Runs to the end of the time.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    crate::limits::positive("--seconds", arguments.seconds)?;
    let patience = Duration::try_from_secs_f64(arguments.seconds)
        .map_err(|_| Error::new(ErrorKind::Input, "--seconds: too long for a clock"))?;
    let folder = Folder::new()?;
    let model = embedded::model("planar3")?;
    let mut long = long_run(&model)?;
    let mut samples: Vec<Sample> = Vec::new();
    let begin = Instant::now();
    let (mut rounds, mut commands) = (0, 0);
    let mut first = Use::default();
    let mut last = Use::default();
    // largest memory of each third of the time
    let mut thirds = [0.0f64; 3];
    while begin.elapsed() < patience {
        while long.time() < STRETCH * (rounds + 1) as f64 && !long.finished() {
            samples.clear();
            long.advance(&mut samples)?;
        }
        for words in round(rounds, &folder.path) {
            output::forget_inputs();
            let done = output::quietly(|| program::run_words(&words))
                .and_then(|outcome| outcome.expect_success());
            done.map_err(|error| {
                let command = words.join(" ");
                Error::new(
                    error.kind(),
                    format!("`catena {command}`: {}", error.message()),
                )
            })?;
            commands += 1;
        }
        last = Use::now();
        if rounds == 0 {
            first = last;
        }
        let third = 3.0 * begin.elapsed().as_secs_f64() / arguments.seconds;
        let third = &mut thirds[(third as usize).min(2)];
        *third = third.max(last.memory.unwrap_or(0.0));
        rounds += 1;
    }
    let simulated = long.time();
    let audit = long.finish();
    let breach = audit.breaches().next();
    let drift = largest_of(audit.findings.iter().map(|finding| finding.worst));
    let growth = match (thirds, last.memory) {
        ([_, middle, end], Some(_)) if middle > 0.0 && end > 0.0 => Some(end - middle),
        _ => None,
    };
    let record = Record {
        seconds: begin.elapsed().as_secs_f64(),
        rounds,
        commands,
        simulated,
        first,
        last,
        growth,
        drift,
    };
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&record.json()),
        false => record.text(),
    });
    if let Some(growth) = growth.filter(|growth| *growth > GROWTH) {
        outcome.failures.push(format!(
            "memory grew by {} MB in the last third of the time, allowed {}",
            rough(growth * 1e-6),
            rough(GROWTH * 1e-6)
        ));
    }
    if first.handles < last.handles {
        outcome.failures.push(format!(
            "open files grew from {:?} to {:?}",
            first.handles, last.handles
        ));
    }
    if let Some(breach) = breach {
        let violated = violated(breach);
        outcome.failures.push(format!("the long run: {violated}"));
    }
    Ok(outcome)
}

/// A planar arm that swings for a day and more.
fn long_run(model: &Model) -> Result<Simulation> {
    let tolerances = Tolerances {
        relative: 1e-10,
        absolute: 1e-12,
    };
    let options = SimulationOptions {
        integrator: Integrator::Adaptive {
            method: Method::Dop853,
            tolerances,
            max_step: f64::INFINITY,
        },
        duration: 1e5,
        interval: 0.1,
    };
    let start = State::start(model);
    Simulation::new(model, &start, Inputs::default(), Vec::new(), options)
}

/// The commands of a round.
fn round(number: usize, folder: &Path) -> Vec<Vec<String>> {
    let seed = 1 + number % SEEDS;
    let tree = format!("random-{}-{seed}", 2 + seed);
    let file = |name: &str| folder.join(name).display().to_string();
    let runs = ["run.csv", "run.parquet", "run.mcap"].map(file);
    let lines = [
        format!("check {tree}"),
        format!("forward {tree} --random {seed}"),
        format!("derivatives {tree} --random {seed}"),
        format!(
            "simulate stanford --duration 0.5 -o {} --overwrite",
            runs[0]
        ),
        format!(
            "simulate space-robot --duration 0.5 -o {} --overwrite",
            runs[1]
        ),
        format!(
            "simulate slider-crank --duration 0.2 -o {} --overwrite",
            runs[2]
        ),
        format!(
            "simulate pendulum-5 --method bdf --duration 0.1 -o {} --overwrite",
            runs[0]
        ),
        format!("plot {} -o {}", runs[1], file("run.svg")),
        format!("report {} -o {}", runs[2], file("run.html")),
        format!("doctor four-bar-{seed}"),
        "compare bricard".to_string(),
        format!("generate stanford --language c -o {}", file("code")),
        format!("convert {tree} -o {}", file("model.json")),
    ];
    let words = |line: &String| line.split(' ').map(String::from).collect();
    lines.iter().map(words).collect()
}

/// A separate folder, removed at the end.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("catena-soak-{}", std::process::id()));
        output::make_folder(&path)?;
        Ok(Folder { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // files that cannot be removed are left to the system
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Observations.
struct Record {
    seconds: f64,
    rounds: usize,
    commands: usize,
    /// Time reached by the long run, s.
    simulated: f64,
    /// After the first round and after the last.
    first: Use,
    last: Use,
    /// Memory in the last third of the time over that in the middle one, where all are known.
    growth: Option<f64>,
    /// Largest error of the laws in the long run.
    drift: f64,
}

impl Record {
    fn json(&self) -> Value {
        json!({
            "format": "catena-soak/1",
            "seconds": self.seconds,
            "rounds": self.rounds,
            "commands": self.commands,
            "simulated": self.simulated,
            "memory": { "first": self.first.memory, "last": self.last.memory, "growth": self.growth },
            "handles": { "first": self.first.handles, "last": self.last.handles },
            "drift": self.drift,
        })
    }

    fn text(&self) -> String {
        let unknown = || "not known".to_string();
        let megabytes = |bytes: Option<f64>| {
            bytes.map_or_else(unknown, |bytes| format!("{:.1} MB", bytes * 1e-6))
        };
        let handles = |count: Option<usize>| count.map_or_else(unknown, |count| count.to_string());
        format!(
            "{}, {} in {:.1} s, and a run of {} s at the same time\n\n  \
             memory      {} after the first round, {} after the last\n  \
             growth      {} from the middle third of the time to the last\n  \
             open files  {} after the first round, {} after the last\n  \
             drift       {}, the largest relative error of a law in the long run\n",
            counted(self.rounds, "round", "rounds"),
            counted(self.commands, "command", "commands"),
            self.seconds,
            six(self.simulated),
            megabytes(self.first.memory),
            megabytes(self.last.memory),
            megabytes(self.growth),
            handles(self.first.handles),
            handles(self.last.handles),
            rough(self.drift),
        )
    }
}
