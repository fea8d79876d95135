//! `catena sweep STUDY`: many runs of one model, each with other values, their measures in one file, and what they say together.

mod experiment;
mod measure;
mod progress;
mod report;

pub use experiment::Simulations;

use crate::number::counted;
use crate::outcome::Outcome;
use crate::{json, limits, output};
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
    let experiment = Simulations::new(Study::read(&arguments.study)?)?;
    let study = experiment.study();
    let origin = experiment.origin()?;
    let mut notes = Vec::new();
    let (mut journal, mut samples) = match &arguments.output {
        None => (None, Vec::new()),
        Some(path) if arguments.resume => {
            let (journal, samples, cut) = Journal::resume(path, &origin)?;
            let mut note = format!(
                "resumed: {} of {} were there",
                samples.len(),
                counted(study.sample_count(), "sample", "samples")
            );
            if cut > 0 {
                note += &format!(
                    "; left out {} of an incomplete line",
                    counted(cut, "byte", "bytes")
                );
            }
            notes.push(note);
            (Some(journal), samples)
        }
        Some(path) => {
            let journal = Journal::create(path, &origin, arguments.overwrite)?;
            (Some(journal), Vec::new())
        }
    };
    let missing = missing(study, &samples);
    let mut progress = Progress::new(samples.len(), study.sample_count());
    carry_out(study, &experiment, &missing, threads, |sample| {
        if let Some(journal) = &mut journal {
            journal.note(&sample)?;
        }
        progress.note(sample.measures.is_err());
        samples.push(sample);
        Ok(())
    })?;
    drop(progress);
    samples.sort_by_key(|sample| sample.index);
    if let (Some(path), Some(journal)) = (&arguments.output, journal) {
        write_results(path, study, &origin, &samples)?;
        journal.remove()?;
        notes.push(format!(
            "wrote {} to {}",
            counted(samples.len(), "row", "rows"),
            path.display()
        ));
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
