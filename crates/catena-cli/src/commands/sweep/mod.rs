//! `catena sweep STUDY`: many runs of one model, each with other values, their measures in one file, and what they say together.

mod experiment;
mod measure;
mod progress;
mod report;

pub use experiment::Simulations;

use crate::number::counted;
use crate::outcome::Outcome;
use crate::{interrupt, json, limits, output};
use catena::error::{Error, ErrorKind, Result};
use catena_study::{Journal, ResultFormat, Sample, Study, carry_out, distributions, write_results};
use clap::Args;
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
    #[arg(long, value_name = "N")]
    jobs: Option<u64>,

    /// Draw the distributions of the measures, and the measures over the parameters
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Replace the results if they are there
    #[arg(long, requires = "output", conflicts_with = "resume")]
    overwrite: bool,

    /// Continue a study that was stopped: finished samples are not computed again
    #[arg(long, requires = "output")]
    resume: bool,
}

/// Carries the study out.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    output::note_input(&arguments.study);
    let threads = arguments.threads()?;
    if let Some(path) = &arguments.output {
        ResultFormat::from_path(path)?;
        output::refuse_input(path)?;
    }
    if let Some(path) = &arguments.plot {
        expect_svg(path)?;
    }
    let study = Study::read(&arguments.study)?;
    study.expect_design()?;
    let experiment = Simulations::new(study)?;
    let study = experiment.study();
    let mode = match (arguments.resume, arguments.overwrite) {
        (true, _) => Mode::Resume,
        (_, true) => Mode::Overwrite,
        _ => Mode::New,
    };
    interrupt::watch();
    let mut progress = Progress::new(study.sample_count());
    let output = arguments.output.as_deref();
    let carried = experiment.carry_out(output, mode, threads, |before, sample| {
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
            "resumed: {} of {} were there",
            carried.before,
            counted(study.sample_count(), "sample", "samples")
        );
        if carried.cut > 0 {
            let bytes = counted(carried.cut, "byte", "bytes");
            note += &format!("; left out {bytes} of an incomplete line");
        }
        notes.push(note);
    }
    notes.extend(experiment.lanes_used(samples.len() - carried.before));
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

/// What is done with results that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are refused.
    New,
    /// They are replaced.
    Overwrite,
    /// What is missing is computed.
    Resume,
}

/// A study that was carried out.
pub struct Carried {
    /// All samples, in order.
    pub samples: Vec<Sample>,
    /// How many were there before.
    pub before: usize,
    /// Bytes of an incomplete line of the journal that were left out.
    pub cut: usize,
}

impl Simulations {
    /// Computes all samples and writes them to a file, if one is given. `noted` gets each new one, after the number of those that were there
    /// before.
    pub fn carry_out(
        &self,
        output: Option<&Path>,
        mode: Mode,
        threads: usize,
        mut noted: impl FnMut(usize, &Sample) -> Result<()>,
    ) -> Result<Carried> {
        let study = self.study();
        let origin = self.origin()?;
        let (mut journal, mut samples, cut) = match output {
            None => (None, Vec::new(), 0),
            Some(path) => {
                ResultFormat::from_path(path)?;
                match mode {
                    Mode::Resume => {
                        let (journal, samples, cut) = Journal::resume(path, &origin)?;
                        (Some(journal), samples, cut)
                    }
                    _ => {
                        let overwrite = mode == Mode::Overwrite;
                        let journal = Journal::create(path, &origin, overwrite)?;
                        (Some(journal), Vec::new(), 0)
                    }
                }
            }
        };
        let before = samples.len();
        let missing = missing(study, &samples);
        carry_out(study, self, &missing, threads, |sample| {
            if let Some(journal) = &mut journal {
                journal.note(&sample)?;
            }
            noted(before, &sample)?;
            samples.push(sample);
            Ok(())
        })?;
        samples.sort_by_key(|sample| sample.index);
        if let (Some(path), Some(journal)) = (output, journal) {
            write_results(path, study, &origin, &samples)?;
            journal.remove()?;
        }
        Ok(Carried {
            samples,
            before,
            cut,
        })
    }
}

/// Indices of the samples that are not there.
fn missing(study: &Study, samples: &[Sample]) -> Vec<usize> {
    let mut is_there = vec![false; study.sample_count()];
    for sample in samples {
        if let Some(there) = is_there.get_mut(sample.index) {
            *there = true;
        }
    }
    (0..is_there.len()).filter(|&k| !is_there[k]).collect()
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
    fn threads(&self) -> Result<usize> {
        match self.jobs {
            Some(jobs) => {
                limits::count("--jobs", jobs, 1024)?;
                Ok(jobs as usize)
            }
            None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        }
    }
}
