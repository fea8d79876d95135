//! Samples on several threads.

use crate::study::Study;
use catena::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Computation of a sample from its values.
///
/// The measures may depend on the values only: not on the thread, on other samples, or on time.
pub trait Experiment: Sync {
    /// The measures, one for each of the study's; or why there are none.
    fn measure(&self, values: &[f64]) -> Result<Vec<f64>>;

    /// The measures of several samples, bit for bit those of each sample alone.
    fn measure_all(&self, values: &[Vec<f64>]) -> Vec<Result<Vec<f64>>> {
        values.iter().map(|values| self.measure(values)).collect()
    }

    /// The derivatives of some measures with respect to each value. An error of the kind [`ErrorKind::Unsupported`] says why these measures,
    /// or these parameters, have no known derivatives.
    fn slopes(&self, _values: &[f64], _measures: &[usize]) -> Result<Vec<Vec<f64>>> {
        let message = "the experiment gives no derivatives";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Number of samples that are best computed together.
    fn together(&self) -> usize {
        1
    }
}

/// A sample that was computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its index.
    pub index: usize,
    /// Values of the parameters.
    pub values: Vec<f64>,
    /// The measures, or why there are none.
    pub measures: std::result::Result<Vec<f64>, String>,
}

impl Sample {
    /// Computes samples together. A non-finite measure is a failure.
    pub fn compute(study: &Study, experiment: &dyn Experiment, indices: &[usize]) -> Vec<Sample> {
        let values: Vec<Vec<f64>> = indices.iter().map(|&index| study.values(index)).collect();
        let measured = experiment.measure_all(&values);
        let samples = indices.iter().zip(values).zip(measured);
        samples
            .map(|((&index, values), measures)| Sample {
                index,
                values,
                measures: measures
                    .and_then(|measures| finite(study, measures))
                    .map_err(|error| error.message().to_string()),
            })
            .collect()
    }
}

/// The measures, if they are finite.
pub(crate) fn finite(study: &Study, measures: Vec<f64>) -> Result<Vec<f64>> {
    let mut named = study.measures.iter().zip(&measures);
    match named.find(|(_, value)| !value.is_finite()) {
        None => Ok(measures),
        Some((measure, value)) => {
            let message = format!("measure `{}` is {value}", measure.name);
            Err(Error::new(ErrorKind::Input, message))
        }
    }
}

/// Computes the samples of these indices on the given number of threads, and passes each to `take` as soon as it is computed. An error of `take`
/// ends the study.
pub fn carry_out(
    study: &Study,
    experiment: &dyn Experiment,
    indices: &[usize],
    threads: usize,
    mut take: impl FnMut(Sample) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    // shares small enough that all threads are busy to the end
    let share = indices.len().div_ceil(2 * threads.max(1)).max(1);
    let together = experiment.together().clamp(1, share);
    let is_over = AtomicBool::new(false);
    // few results are queued for a slow disk
    let (sender, receiver) = mpsc::sync_channel::<Sample>(4 * threads);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, indices.len().max(1)) {
            let sender = sender.clone();
            let (next, is_over) = (&next, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let first = next.fetch_add(together, Ordering::Relaxed);
                    let last = (first + together).min(indices.len());
                    let Some(part) = indices.get(first..last).filter(|part| !part.is_empty())
                    else {
                        return;
                    };
                    for sample in Sample::compute(study, experiment, part) {
                        if sender.send(sample).is_err() {
                            return;
                        }
                    }
                }
            });
        }
        drop(sender);
        // the receiver is dropped at an error, which wakes threads that wait to send
        let taken = receiver.into_iter().try_for_each(&mut take);
        is_over.store(true, Ordering::Relaxed);
        taken
    })
}
