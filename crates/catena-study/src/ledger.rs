//! Record of a running study: which samples exist and which are missing.
//!
//! Threads or other machines that compute samples get the missing indices here and hand in their results. A sample that already exists is
//! not accepted again, so that each is in the results once.

use crate::journal::{Journal, Origin, samples_of};
use crate::results::{ResultFormat, write_results};
use crate::runner::Sample;
use crate::study::Study;
use catena::error::{Error, ErrorKind, Result};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Treatment of existing results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are an error.
    New,
    /// They are replaced.
    Overwrite,
    /// Missing samples are computed.
    Resume,
}

/// A completed study.
#[derive(Clone, Debug)]
pub struct Carried {
    /// All samples, in order.
    pub samples: Vec<Sample>,
    /// Number that existed before.
    pub before: usize,
    /// Bytes of an incomplete line of the journal that were left out.
    pub cut: usize,
    /// Whether the journal was removed in the meantime. The results are complete nevertheless.
    pub lost_journal: bool,
}

/// The samples of a study so far, and the file that keeps them.
#[derive(Debug)]
pub struct Ledger {
    origin: Origin,
    output: Option<(PathBuf, Journal)>,
    samples: Vec<Sample>,
    is_there: Vec<bool>,
    before: usize,
    cut: usize,
}

impl Ledger {
    /// Begins or continues a study, whose results go to this file, if one is given.
    pub fn open(study: &Study, origin: Origin, output: Option<&Path>, mode: Mode) -> Result<Self> {
        let mut ledger = Ledger {
            origin,
            output: None,
            samples: Vec::new(),
            is_there: vec![false; study.sample_count()],
            before: 0,
            cut: 0,
        };
        let Some(path) = output else {
            return Ok(ledger);
        };
        ResultFormat::from_path(path)?;
        let journal = match mode {
            Mode::Resume => {
                let (journal, samples, cut) = Journal::resume(path, &ledger.origin)?;
                for sample in samples {
                    ledger.enter(study, &sample)?;
                    ledger.samples.push(sample);
                }
                ledger.cut = cut;
                journal
            }
            _ => Journal::create(path, &ledger.origin, mode == Mode::Overwrite)?,
        };
        ledger.before = ledger.samples.len();
        ledger.output = Some((path.to_path_buf(), journal));
        Ok(ledger)
    }

    /// Number of samples that existed when it was opened.
    pub fn before(&self) -> usize {
        self.before
    }

    /// Indices of the missing samples.
    pub fn missing(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (k, _) in self
            .is_there
            .iter()
            .enumerate()
            .filter(|(_, there)| !**there)
        {
            match ranges.last_mut() {
                Some(last) if last.end == k => last.end += 1,
                _ => ranges.push(k..k + 1),
            }
        }
        ranges
    }

    /// Marks a sample as present; false if it already was. Its values must be those of its index.
    fn enter(&mut self, study: &Study, sample: &Sample) -> Result<bool> {
        let Some(there) = self.is_there.get_mut(sample.index) else {
            return Err(foreign(sample));
        };
        let is_ours = sample.values == study.values(sample.index)
            && (sample.measures.as_ref()).map_or(true, |found| found.len() == study.measures.len());
        match is_ours {
            true => Ok(!std::mem::replace(there, true)),
            false => Err(foreign(sample)),
        }
    }

    /// Takes computed samples, and appends them to the journal; returns those that were new.
    pub fn take(&mut self, study: &Study, samples: Vec<Sample>) -> Result<&[Sample]> {
        let first = self.samples.len();
        for sample in samples {
            if self.enter(study, &sample)? {
                self.samples.push(sample);
            }
        }
        let new = &self.samples[first..];
        if let Some((_, journal)) = &mut self.output {
            journal.note(new)?;
        }
        Ok(new)
    }

    /// Takes samples as [`lines_of`](crate::lines_of) has written them elsewhere.
    pub fn take_lines(&mut self, study: &Study, lines: &[u8]) -> Result<&[Sample]> {
        self.take(study, samples_of(lines)?)
    }

    /// Sorts the samples and writes the results, once all exist.
    pub fn finish(mut self, study: &Study) -> Result<Carried> {
        let missing: usize = self.missing().iter().map(ExactSizeIterator::len).sum();
        if missing > 0 {
            let message = format!("{missing} of {} samples are missing", self.is_there.len());
            return Err(Error::new(ErrorKind::Missing, message)
                .hint("give the command again with --resume: finished samples are kept"));
        }
        self.samples.sort_by_key(|sample| sample.index);
        let mut lost_journal = false;
        if let Some((path, journal)) = self.output {
            write_results(&path, study, &self.origin, &self.samples)?;
            lost_journal = !journal.remove()?;
        }
        Ok(Carried {
            lost_journal,
            samples: self.samples,
            before: self.before,
            cut: self.cut,
        })
    }
}

fn foreign(sample: &Sample) -> Error {
    let message = format!("sample {} does not belong to this study", sample.index);
    Error::new(ErrorKind::Input, message).hint(
        "was it computed by another version of catena? start the study again with --overwrite",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::lines_of;

    const STUDY: &str = "format = \"catena-study/1\"\nmodel = \"x\"\n[[parameter]]\nname = \"a\"\npath = \"q.a\"\nvalues = [0.1, 0.2, 0.3, 0.4]\n[design]\nkind = \"grid\"\n[[measure]]\nname = \"f\"\nvalue = \"a\"\n";

    fn sample(study: &Study, index: usize) -> Sample {
        Sample {
            index,
            values: study.values(index),
            measures: match index {
                2 => Err("it is \"2\"\nand fails".into()),
                _ => Ok(vec![1.0 / (index as f64 + 3.0)]),
            },
        }
    }

    #[test]
    fn a_sample_is_taken_once_whoever_brings_it() {
        let study = Study::parse(STUDY, Path::new("study.toml")).expect("a study");
        let folder = std::env::temp_dir().join(format!("catena-ledger-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("results.csv");
        let open = |mode| Ledger::open(&study, Origin::default(), Some(&path), mode);
        let mut ledger = open(Mode::New).expect("a new study");
        assert_eq!(ledger.missing().first(), Some(&(0..4)));
        let lines = lines_of(&[sample(&study, 2), sample(&study, 1)]);
        let new = ledger.take_lines(&study, lines.as_bytes()).expect("lines");
        assert_eq!(new, [sample(&study, 2), sample(&study, 1)]);
        assert!(
            ledger
                .take_lines(&study, lines.as_bytes())
                .expect("again")
                .is_empty()
        );
        assert_eq!(ledger.missing(), [0..1, 3..4]);
        let changed = lines.replace("0.2", "0.3");
        assert!(ledger.take_lines(&study, changed.as_bytes()).is_err());
        let mut other = sample(&study, 0);
        other.values[0] = 0.5;
        assert!(ledger.take(&study, vec![other]).is_err());
        drop(ledger);

        let mut ledger = open(Mode::Resume).expect("it was begun");
        assert_eq!((ledger.before(), ledger.missing()), (2, vec![0..1, 3..4]));
        ledger
            .take(&study, vec![sample(&study, 3)])
            .expect("a sample");
        let error = ledger.finish(&study).expect_err("one is missing");
        assert_eq!(error.message(), "1 of 4 samples are missing");

        let mut ledger = open(Mode::Resume).expect("it was begun");
        ledger
            .take(&study, vec![sample(&study, 0)])
            .expect("the last");
        let carried = ledger.finish(&study).expect("all are there");
        let indices: Vec<usize> = carried.samples.iter().map(|sample| sample.index).collect();
        assert_eq!((indices, carried.before), (vec![0, 1, 2, 3], 3));
        assert!(!carried.lost_journal);
        let rows = std::fs::read_to_string(&path).expect("results");
        assert_eq!(
            rows.lines().filter(|line| !line.is_empty()).count(),
            6,
            "{rows}"
        );

        // without its journal a study cannot be resumed, but it can finish
        let mut ledger = open(Mode::Overwrite).expect("again");
        let all = (0..4).map(|k| sample(&study, k)).collect();
        ledger.take(&study, all).expect("samples");
        std::fs::remove_file(folder.join("results.csv.journal")).expect("it was there");
        let carried = ledger.finish(&study).expect("all are there");
        assert!(carried.lost_journal);
        assert_eq!(std::fs::read_to_string(&path).expect("results"), rows);
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
