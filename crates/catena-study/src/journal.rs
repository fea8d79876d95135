//! The journal of a study: every sample as soon as it is computed, in a file that survives a kill.
//!
//! A line of text for each sample, after one that identifies the study: the CRC-32 of the rest in eight digits, a space, and JSON. A line
//! is written in one piece; when the process is killed, the file ends with a whole line or with a part of one, which is truncated when the study
//! is resumed. The file is locked while it is written.

use crate::runner::Sample;
use catena::error::{Error, ErrorKind, Place, Result};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Everything that determines the results: names and texts. A study is resumed only with the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Name shown in messages and content of every input.
    pub entries: Vec<(String, String)>,
}

/// A journal being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

fn about(path: &Path, kind: ErrorKind, message: impl Into<String>) -> Error {
    Error::new(kind, message).at(Place {
        file: Some(path.display().to_string().into()),
        line: None,
    })
}

/// The journal of the results of this name.
fn journal_of(results: &Path) -> PathBuf {
    let mut name = OsString::from(results);
    name.push(".journal");
    PathBuf::from(name)
}

fn is_taken(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() || metadata.len() > 0)
}

fn line(value: &Value) -> String {
    let text = value.to_string();
    format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes()))
}

/// The value of a line without its end, if it is whole.
fn value(line: &str) -> Option<Value> {
    let (check, text) = line.split_at_checked(8)?;
    let text = text.strip_prefix(' ')?;
    let is_whole = u32::from_str_radix(check, 16) == Ok(crc32fast::hash(text.as_bytes()));
    serde_json::from_str(text).ok().filter(|_| is_whole)
}

fn to_json(sample: &Sample) -> Value {
    let mut object = Map::new();
    object.insert("sample".into(), sample.index.into());
    object.insert("values".into(), sample.values.as_slice().into());
    match &sample.measures {
        Ok(measures) => object.insert("measures".into(), measures.as_slice().into()),
        Err(failure) => object.insert("failure".into(), failure.as_str().into()),
    };
    object.into()
}

fn from_json(value: &Value) -> Option<Sample> {
    let numbers = |key: &str| -> Option<Vec<f64>> {
        value[key].as_array()?.iter().map(Value::as_f64).collect()
    };
    Some(Sample {
        index: usize::try_from(value["sample"].as_u64()?).ok()?,
        values: numbers("values")?,
        measures: match value["failure"].as_str() {
            Some(failure) => Err(failure.into()),
            None => Ok(numbers("measures")?),
        },
    })
}

/// Samples as lines of a journal, for transfer between machines.
pub fn lines_of(samples: &[Sample]) -> String {
    samples
        .iter()
        .map(|sample| line(&to_json(sample)))
        .collect()
}

/// The samples of such lines; an error if a line is damaged.
pub fn samples_of(lines: &[u8]) -> Result<Vec<Sample>> {
    let damaged = || {
        let message = "samples have arrived damaged: a checksum is wrong";
        Error::new(ErrorKind::Syntax, message)
            .hint("give the command again with --resume: finished samples are kept")
    };
    let text = std::str::from_utf8(lines).map_err(|_| damaged())?;
    let sample = |line: &str| value(line).as_ref().and_then(from_json);
    let samples = text.lines().map(sample).collect::<Option<Vec<Sample>>>();
    samples.ok_or_else(damaged)
}

impl Journal {
    /// Begins the journal of a study whose results will be in this file. If there are results, or a journal of some, that is an error of the kind
    /// [`ErrorKind::Exists`] unless they may be overwritten; results stay until the new ones are complete.
    pub fn create(results: &Path, origin: &Origin, overwrite: bool) -> Result<Journal> {
        let path = journal_of(results);
        if !overwrite {
            if is_taken(&path) {
                let error = about(
                    results,
                    ErrorKind::Exists,
                    "the study was begun and is not finished",
                );
                return Err(error.hint("choose another name, or give --resume or --overwrite"));
            }
            if is_taken(results) {
                let error = about(results, ErrorKind::Exists, "the results already exist");
                return Err(error.hint("choose another name, or give --overwrite"));
            }
        }
        let mut journal = Journal::open(path, results)?;
        let entries: Map<String, Value> = origin
            .entries
            .iter()
            .map(|(name, text)| (name.clone(), text.as_str().into()))
            .collect();
        journal
            .file
            .set_len(0)
            .map_err(|error| journal.failed(&error))?;
        journal.write(&line(
            &json!({ "format": "catena-journal/1", "origin": entries }),
        ))?;
        Ok(journal)
    }

    /// Continues a journal: returns the samples that it has, and how many bytes of an incomplete line were truncated.
    pub fn resume(results: &Path, origin: &Origin) -> Result<(Journal, Vec<Sample>, usize)> {
        let path = journal_of(results);
        if !is_taken(&path) {
            return Err(match is_taken(results) {
                true => about(
                    results,
                    ErrorKind::Input,
                    "the study is finished; there is nothing to resume",
                ),
                false => about(
                    results,
                    ErrorKind::Missing,
                    "no study was begun under this name",
                )
                .hint("leave out --resume to start it"),
            });
        }
        let mut journal = Journal::open(path, results)?;
        let mut bytes = Vec::new();
        let read = journal.file.read_to_end(&mut bytes);
        read.map_err(|error| journal.failed(&error))?;
        let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
        let whole = |line: &[u8]| {
            let line = line.strip_suffix(b"\n")?;
            value(std::str::from_utf8(line).ok()?)
        };
        let first = lines.next().unwrap_or_default();
        let Some(head) = whole(first) else {
            let error = about(
                &journal.path,
                ErrorKind::Syntax,
                "the journal of the study is damaged",
            );
            return Err(error.hint("start the study again with --overwrite"));
        };
        origin.refuse_another(results, &head["origin"])?;
        let mut good = first.len();
        let mut samples = Vec::new();
        for line in lines {
            let Some(sample) = whole(line).as_ref().and_then(from_json) else {
                break;
            };
            samples.push(sample);
            good += line.len();
        }
        let file = &mut journal.file;
        let cut = file
            .set_len(good as u64)
            .and_then(|()| file.seek(SeekFrom::End(0)));
        cut.map_err(|error| journal.failed(&error))?;
        Ok((journal, samples, bytes.len() - good))
    }

    fn open(path: PathBuf, results: &Path) -> Result<Journal> {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = opened.map_err(|error| {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            match folder.filter(|folder| !folder.is_dir()) {
                Some(folder) => {
                    let message = format!("the folder {} does not exist", folder.display());
                    about(results, ErrorKind::File, message).hint("create it first")
                }
                None => about(
                    &path,
                    ErrorKind::File,
                    format!("the journal cannot be written: {error}"),
                ),
            }
        })?;
        // where files cannot be locked, nothing is checked
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let error = about(
                results,
                ErrorKind::File,
                "another process is writing these results",
            );
            return Err(error.hint("wait until it ends, or choose another name"));
        }
        Ok(Journal { path, file })
    }

    fn failed(&self, error: &io::Error) -> Error {
        let message = format!("the journal cannot be written: {error}");
        about(&self.path, ErrorKind::File, message)
            .hint("remove the cause, then give the command again with --resume: finished samples are kept")
    }

    fn write(&mut self, lines: &str) -> Result<()> {
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|error| self.failed(&error))
    }

    /// Appends samples. When this returns, the operating system has them: killing the process cannot lose them.
    pub fn note(&mut self, samples: &[Sample]) -> Result<()> {
        self.write(&lines_of(samples))
    }

    /// Removes the journal, once the results are in their file; false if it no longer existed.
    pub fn remove(self) -> Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }
}

impl Origin {
    /// The first entry that differs from another origin: its name, the text here, the text there. A text that is missing is empty.
    pub fn difference<'a>(&'a self, other: &'a Origin) -> Option<(&'a str, &'a str, &'a str)> {
        let text = |origin: &'a Origin, name: &str| {
            let entry = origin.entries.iter().find(|(own, _)| own == name);
            entry.map_or("", |(_, text)| text.as_str())
        };
        let names = self.entries.iter().chain(&other.entries);
        names
            .map(|(name, _)| (name.as_str(), text(self, name), text(other, name)))
            .find(|(_, here, there)| here != there)
    }

    fn refuse_another(&self, results: &Path, old: &Value) -> Result<()> {
        let differs = |(name, text): &&(String, String)| old[name].as_str() != Some(text);
        let names: Vec<&str> = self
            .entries
            .iter()
            .filter(differs)
            .map(|(name, _)| name.as_str())
            .collect();
        let gone = |name: &&String| !self.entries.iter().any(|(own, _)| own == *name);
        let gone = old
            .as_object()
            .into_iter()
            .flat_map(|old| old.keys())
            .find(gone);
        let names = match (names.is_empty(), gone) {
            (true, None) => return Ok(()),
            (true, Some(gone)) => gone.clone(),
            (false, _) => names.join(", "),
        };
        let message = format!("the study was begun with another {names}");
        Err(about(results, ErrorKind::Input, message)
            .hint("samples of two studies are not mixed: restore it, choose another name, or start again with --overwrite"))
    }
}
