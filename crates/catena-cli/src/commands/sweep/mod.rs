//! `catena sweep STUDY`: many runs of one model with different values, their measures in one file, and a summary.

mod computation;
mod experiment;
mod measure;
mod progress;
mod ray;
mod report;
mod shipment;
mod slopes;

pub use experiment::{Function, Simulations};
pub use shipment::Shipment;

use crate::number::counted;
use crate::outcome::Outcome;
use crate::{interrupt, json, limits, output};
use catena::error::{Error, ErrorKind, Result};
use catena_study::{Carried, Ledger, Mode, ResultFormat, Sample, carry_out, distributions};
use clap::{Args, ValueEnum};
use progress::Progress;
use report::Report;
use std::path::{Path, PathBuf};

/// Size of a chart of the figure, pixels.
const CHART: (u32, u32) = (320, 260);

/// The study, and where its results go.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Study file (.toml): what varies, what runs, what is measured
    #[arg(value_name = "STUDY")]
    study: PathBuf,

    /// Write the results to this file: .parquet or .csv
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Threads [default: all cores]; the results do not depend on them
    #[arg(long, value_name = "N", conflicts_with = "engine")]
    jobs: Option<u64>,

    /// Who computes the samples [default: threads of this process]; the results do not depend on it
    #[arg(long, value_enum, value_name = "ENGINE")]
    engine: Option<EngineName>,

    /// The cluster of Ray, HOST:PORT [default: the one that Ray finds, else a new one on this machine]
    #[arg(long, value_name = "HOST:PORT", requires = "engine")]
    address: Option<String>,

    /// Draw the distributions of the measures, and the measures over the parameters
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Replace existing results
    #[arg(long, requires = "output", conflicts_with = "resume")]
    overwrite: bool,

    /// Continue a study that was stopped: finished samples are not computed again
    #[arg(long, requires = "output")]
    resume: bool,
}

/// Engines other than threads.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum EngineName {
    /// A cluster of Ray, through the Python packages catena and ray
    Ray,
}

/// Runs the study.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    output::note_input(&arguments.study);
    let engine = arguments.engine()?;
    if let Some(path) = &arguments.output {
        ResultFormat::from_path(path)?;
        output::refuse_input(path)?;
    }
    if let Some(path) = &arguments.plot {
        expect_svg(path)?;
    }
    let experiment = Simulations::open(&arguments.study)?;
    let study = experiment.study();
    let mode = match (arguments.resume, arguments.overwrite) {
        (true, _) => Mode::Resume,
        (_, true) => Mode::Overwrite,
        _ => Mode::New,
    };
    interrupt::watch();
    let mut progress = Progress::new(study.sample_count());
    let output = arguments.output.as_deref();
    let (carried, work) = experiment.carry_out(output, mode, &engine, |before, sample| {
        progress.note(before, sample.measures.is_err());
        match interrupt::asked() {
            false => Ok(()),
            true => Err(stopped(output)),
        }
    })?;
    drop(progress);
    let samples = carried.samples;
    let mut notes = Vec::new();
    if arguments.resume {
        let mut note = format!(
            "resumed: {} of {} were already computed",
            carried.before,
            counted(study.sample_count(), "sample", "samples")
        );
        if carried.cut > 0 {
            let bytes = counted(carried.cut, "byte", "bytes");
            note += &format!("; left out {bytes} of an incomplete line");
        }
        notes.push(note);
    }
    if carried.lost_journal {
        notes.push("the journal was removed while the study ran; the results are complete".into());
    }
    notes.extend(experiment.lanes_used(samples.len() - carried.before));
    notes.extend(work.map(|work| work.in_words()));
    if let Some(path) = output {
        let rows = counted(samples.len(), "row", "rows");
        notes.push(format!("wrote {rows} to {}", path.display()));
    }
    if let Some(path) = &arguments.plot {
        let figure = distributions(study, &samples);
        let rows = figure.charts.len().div_ceil(figure.columns) as u32;
        let svg = figure.svg(CHART.0 * figure.columns as u32, CHART.1 * rows + 40);
        output::write_file(path, svg)?;
        notes.push(format!("drew {}", path.display()));
    }
    let report = Report {
        study,
        samples: &samples,
    };
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&report.json()),
        false => report.text(),
    });
    outcome.notes = notes;
    if samples.iter().all(|sample| sample.measures.is_err()) {
        outcome.failures.push("all samples failed".into());
    }
    Ok(outcome)
}

/// A signal has ended the study.
fn stopped(output: Option<&Path>) -> Error {
    match output {
        Some(path) => interrupt::error().hint(format!(
            "{}.journal keeps what was computed; the same command with `--resume` goes on",
            path.display()
        )),
        None => interrupt::error().hint("`-o FILE` keeps samples as they come"),
    }
}

/// Where samples are computed. The results do not depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This many threads of this process.
    Threads(usize),
    /// The cluster of Ray at this address; without one, the cluster that Ray finds, or a new one on this machine.
    Ray(Option<String>),
}

impl Simulations {
    /// Computes all samples and writes them to a file, if one is given. `noted` receives each new one, after the number of those that
    /// existed before.
    pub fn carry_out(
        &self,
        output: Option<&Path>,
        mode: Mode,
        engine: &Engine,
        mut noted: impl FnMut(usize, &Sample) -> Result<()>,
    ) -> Result<(Carried, Option<ray::Work>)> {
        let study = self.study();
        // checks that may reject the study come before its journal is begun
        let cluster = match engine {
            Engine::Threads(_) => None,
            Engine::Ray(address) => Some(ray::Cluster::join(self, address.as_deref())?),
        };
        let mut ledger = Ledger::open(study, self.origin()?, output, mode)?;
        let (before, missing) = (ledger.before(), ledger.missing());
        let mut note_all = |new: &[Sample]| new.iter().try_for_each(|new| noted(before, new));
        let work = match (engine, cluster) {
            (_, Some(cluster)) => Some(
                cluster.carry_out(&missing, |lines| note_all(ledger.take_lines(study, lines)?))?,
            ),
            (Engine::Threads(threads), None) => {
                let indices: Vec<usize> = missing.into_iter().flatten().collect();
                carry_out(study, self, &indices, *threads, |sample| {
                    note_all(ledger.take(study, vec![sample])?)
                })?;
                None
            }
            (Engine::Ray(_), None) => None,
        };
        Ok((ledger.finish(study)?, work))
    }
}

fn expect_svg(path: &Path) -> Result<()> {
    output::expect_folder(path)?;
    match path.extension().is_some_and(|extension| extension == "svg") {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Input,
            format!("--plot: {} is not named .svg", path.display()),
        )
        .hint("the figure is written as SVG")),
    }
}

impl Arguments {
    /// Can the same bits be promised on every processor?
    pub fn is_portable(&self) -> bool {
        self.plot.is_none() && self.engine.is_none()
    }

    fn engine(&self) -> Result<Engine> {
        match (self.engine, self.jobs) {
            (Some(EngineName::Ray), _) => Ok(Engine::Ray(self.address.clone())),
            (None, Some(jobs)) => {
                limits::count("--jobs", jobs, 1024)?;
                Ok(Engine::Threads(jobs as usize))
            }
            (None, None) => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                Ok(Engine::Threads(cores))
            }
        }
    }
}
