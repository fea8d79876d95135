//! Samples on several threads.

use crate::study::Study;
use catena::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// What is done with the values of a sample.
///
/// The measures may depend on the values only: not on the thread, on other samples, or on time.
pub trait Experiment: Sync {
    /// The measures, one for each of the study's; or why there are none.
    fn measure(&self, values: &[f64]) -> Result<Vec<f64>>;
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
    /// Computes a sample. A measure that is not finite is a failure.
    pub fn compute(study: &Study, experiment: &dyn Experiment, index: usize) -> Sample {
        let values = study.values(index);
        let measures = experiment.measure(&values).and_then(|measures| {
            let named = study.measures.iter().zip(&measures);
            match named.into_iter().find(|(_, value)| !value.is_finite()) {
                None => Ok(measures),
                Some((measure, value)) => {
                    let message = format!("measure `{}` is {value}", measure.name);
                    Err(Error::new(ErrorKind::Input, message))
                }
            }
        });
        Sample {
            index,
            values,
            measures: measures.map_err(|error| error.message().to_string()),
        }
    }
}

/// Computes the samples of these indices on so many threads, and gives each to `take` as soon as it is there. An error of `take` ends the study.
pub fn carry_out(
    study: &Study,
    experiment: &dyn Experiment,
    indices: &[usize],
    threads: usize,
    mut take: impl FnMut(Sample) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    // results that wait for a slow disk are few
    let (sender, receiver) = mpsc::sync_channel::<Sample>(4 * threads);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, indices.len().max(1)) {
            let sender = sender.clone();
            let (next, is_over) = (&next, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let Some(&index) = indices.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        return;
                    };
                    if sender
                        .send(Sample::compute(study, experiment, index))
                        .is_err()
                    {
                        return;
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
