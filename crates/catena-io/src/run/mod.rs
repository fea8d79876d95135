//! Runs: the results of a simulation as a file of CSV, Parquet or MCAP, safe against being killed.
//!
//! A run is a table of doubles, one row per recorded time, with a header (columns with units, metadata). Rows are written in
//! blocks. Each block carries a checkpoint: words from which the writing program can resume the run. After a kill at any
//! moment the file holds every block whose [`RunWriter::block`] had returned; [`RunWriter::resume`] continues from there.
//! The formats on disk, and how other programs read them, are described in `docs/run-files.md`.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("catena-run-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let path = folder.join("run.csv");
//! use catena_io::run::{Column, Header, RunWriter, read_run};
//!
//! let header = Header {
//!     columns: vec![Column::new("time", "s"), Column::new("q.hinge", "rad")],
//!     metadata: serde_json::json!({ "model": "rod" }),
//! };
//! let mut writer = RunWriter::create(&path, &header, false)?;
//! writer.block(&[0.0, 0.5, 0.1, 0.4], &[7])?;
//! drop(writer); // killed here
//!
//! let (mut writer, _, checkpoint) = RunWriter::resume(&path)?;
//! assert_eq!(checkpoint, [7]);
//! writer.block(&[0.2, 0.3], &[8])?;
//! writer.finish(&serde_json::json!({ "energy": "kept" }))?;
//!
//! let run = read_run(&path)?;
//! assert!(run.finished);
//! assert_eq!(run.column("q.hinge"), Some(&[0.5, 0.4, 0.3][..]));
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), catena::error::Error>(())
//! ```

mod csv_file;
mod header;
mod mcap_file;
mod mcap_message;
mod mcap_record;
mod parquet_file;
mod parquet_table;
mod storage;

use catena::error::{Error, ErrorKind, Result};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use storage::{Lost, Outcome, file_error};

/// A column of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the quantity, as `q.shoulder`.
    pub name: String,
    /// Their unit, as `rad`; empty for numbers without one.
    pub unit: String,
}

impl Column {
    /// A column of this name and unit.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Column {
            name: name.into(),
            unit: unit.into(),
        }
    }
}

/// The header of a run, which precedes the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The columns. The first is `time` in `s`; names are unique.
    pub columns: Vec<Column>,
    /// Origin of the run: model, version, method, tolerances, seed, command.
    pub metadata: Value,
}

/// The file formats of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text with commas, `.csv`.
    Csv,
    /// Apache Parquet, `.parquet`.
    Parquet,
    /// MCAP, the container of robotics logs, `.mcap`.
    Mcap,
}

impl Format {
    /// The format given by the extension of a file name.
    pub fn from_path(path: &Path) -> Result<Format> {
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(Format::Csv),
            Some("parquet") => Ok(Format::Parquet),
            Some("mcap") => Ok(Format::Mcap),
            Some("parts") => Err(file_error(
                ErrorKind::Unsupported,
                path,
                "this is the folder of an unfinished Parquet run, not the run itself",
            )
            .hint("give the name without `.parts`")),
            _ => Err(file_error(
                ErrorKind::Unsupported,
                path,
                "the format of the run cannot be determined from the file's name",
            )
            .hint("runs are named .csv, .parquet or .mcap")),
        }
    }
}

/// A run as read from its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Columns and metadata.
    pub header: Header,
    /// The numbers, column by column, in the order of the header. All have the same length.
    pub columns: Vec<Vec<f64>>,
    /// Whether the run is finished. An unfinished run ends with its last complete block; one that was saved after it had been stopped has
    /// `finished: false` in its metadata.
    pub finished: bool,
    /// Result of the run's own audit; a run that was cut off in its file has none.
    pub audit: Option<Value>,
    /// Bytes after the last complete block that were left out: a block that was being written when the process was killed, or
    /// a corrupt one.
    pub dropped: u64,
}

impl Run {
    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// The numbers of the column of this name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let columns = &self.header.columns;
        let index = columns.iter().position(|column| column.name == name)?;
        self.columns.get(index).map(Vec::as_slice)
    }

    /// One row, in the order of the header. The index must be below [`Run::row_count`].
    pub fn row(&self, index: usize) -> Vec<f64> {
        self.columns.iter().map(|column| column[index]).collect()
    }
}

/// Reads a run of any format, finished or not. A run that is still being written can be read too.
pub fn read_run(path: &Path) -> Result<Run> {
    let contents = match Format::from_path(path)? {
        Format::Csv => csv_file::read(path)?,
        Format::Parquet => parquet_file::read(path)?,
        Format::Mcap => mcap_file::read(path)?,
    };
    let mut numbers = contents.columns.iter().zip(&contents.header.columns);
    if let Some((_, column)) = numbers.find(|(values, _)| !values.iter().all(|x| x.is_finite())) {
        let message = format!(
            "the run is damaged: a number of column `{}` is not finite",
            column.name
        );
        return Err(file_error(ErrorKind::Syntax, path, message));
    }
    let stopped = contents.header.metadata["finished"] == false;
    Ok(Run {
        header: contents.header,
        columns: contents.columns,
        finished: contents.audit.is_some() && !stopped,
        audit: contents.audit,
        dropped: contents.dropped,
    })
}

/// The text of a run in CSV up to the end of its last complete block, and the number of bytes left out after it. A corrupt run is
/// an error.
pub fn read_csv_text(path: &Path) -> Result<(String, u64)> {
    csv_file::read_text(path)
}

/// Everything a file contains about a run.
struct Contents {
    header: Header,
    columns: Vec<Vec<f64>>,
    audit: Option<Value>,
    dropped: u64,
}

/// How much of a run is safe in its file.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    blocks: u64,
    rows: u64,
    /// Time of the last row.
    time: Option<f64>,
}

impl Progress {
    /// The progress after another block of row-major numbers.
    fn after(self, rows: &[f64], width: usize) -> Progress {
        let last = rows.len().checked_sub(width);
        Progress {
            blocks: self.blocks + 1,
            rows: self.rows + (rows.len() / width) as u64,
            time: last.map(|start| rows[start]).or(self.time),
        }
    }
}

/// The part of a writer that differs between formats.
trait Sink {
    /// Appends one block. If this fails, the file is unchanged.
    fn block(&mut self, rows: &[f64], checkpoint: &[u64], progress: Progress) -> io::Result<()>;
    /// Marks the run as finished and makes it survive a power failure. If this fails, the run stays unfinished.
    fn finish(&mut self, audit: &Value) -> io::Result<()>;
}

/// A run being written. Rows are written in blocks; each block carries a checkpoint from which the run can be continued.
///
/// Dropping the writer without [`RunWriter::finish`] leaves an unfinished run, as a kill does.
pub struct RunWriter {
    path: PathBuf,
    columns: Vec<Column>,
    progress: Progress,
    dropped: u64,
    sink: Box<dyn Sink + Send>,
}

impl std::fmt::Debug for RunWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunWriter")
            .field("path", &self.path)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl RunWriter {
    /// Starts a run in a new file; the extension gives its format. A run that exists, finished or not, is an error of kind
    /// [`ErrorKind::Exists`] unless it may be overwritten; then it stays until the new one has its first block. An empty file is not a
    /// run. Only one process at a time can write a run.
    pub fn create(path: &Path, header: &Header, overwrite: bool) -> Result<Self> {
        let format = Format::from_path(path)?;
        header::check(header)?;
        let sink: Box<dyn Sink + Send> = match format {
            Format::Csv => Box::new(csv_file::Writer::create(path, header, overwrite)?),
            Format::Parquet => Box::new(parquet_file::Writer::create(path, header, overwrite)?),
            Format::Mcap => Box::new(mcap_file::Writer::create(path, header, overwrite)?),
        };
        Ok(RunWriter {
            path: path.to_path_buf(),
            columns: header.columns.clone(),
            progress: Progress::default(),
            dropped: 0,
            sink,
        })
    }

    /// Opens an unfinished run and returns its header and the checkpoint of the last complete block. Anything after that block
    /// is left out (see [`RunWriter::dropped`]) and removed when the next block is written. A run killed before its first block
    /// gives an empty checkpoint: start from the beginning. A finished run is an error, and so is one that another process is
    /// writing; where there is no run, the error is of kind [`ErrorKind::Missing`].
    pub fn resume(path: &Path) -> Result<(Self, Header, Vec<u64>)> {
        let resumed = match Format::from_path(path)? {
            Format::Csv => csv_file::resume(path)?,
            Format::Parquet => parquet_file::resume(path)?,
            Format::Mcap => mcap_file::resume(path)?,
        };
        let writer = RunWriter {
            path: path.to_path_buf(),
            columns: resumed.header.columns.clone(),
            progress: resumed.progress,
            dropped: resumed.dropped,
            sink: resumed.sink,
        };
        Ok((writer, resumed.header, resumed.checkpoint))
    }

    /// Appends a block of rows, row-major, and the checkpoint at its end. When this returns, the operating system has the
    /// block: a kill of the process cannot take it back. A block may have no rows.
    ///
    /// Numbers must be finite. After an error the run holds the blocks before; the same block may be tried again.
    pub fn block(&mut self, rows: &[f64], checkpoint: &[u64]) -> Result<()> {
        self.check(rows)?;
        let progress = self.progress.after(rows, self.columns.len());
        self.sink
            .block(rows, checkpoint, progress)
            .map_err(|error| self.write_error(&error))?;
        self.progress = progress;
        Ok(())
    }

    /// Ends the run, stores its audit with it and waits until the storage device has it.
    pub fn finish(mut self, audit: &Value) -> Result<()> {
        self.sink
            .finish(audit)
            .map_err(|error| self.write_error(&error))
    }

    /// The number of rows that are safe in the file, including those before a resume.
    pub fn row_count(&self) -> u64 {
        self.progress.rows
    }

    /// The time of the last row that is safe in the file.
    pub fn last_time(&self) -> Option<f64> {
        self.progress.time
    }

    /// Bytes after the last complete block that a resumed run leaves out: see [`Run::dropped`].
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn check(&self, rows: &[f64]) -> Result<()> {
        let width = self.columns.len();
        if !rows.len().is_multiple_of(width) {
            return Err(file_error(
                ErrorKind::Input,
                &self.path,
                format!(
                    "a block of {} numbers is not a whole number of rows of {width} columns",
                    rows.len()
                ),
            ));
        }
        let Some(index) = rows.iter().position(|value| !value.is_finite()) else {
            return Ok(());
        };
        let (row, column) = (index / width, index % width);
        let name = &self.columns[column].name;
        let when = match column {
            0 => String::new(),
            _ => format!(" (time {:?} s)", rows[row * width]),
        };
        Err(file_error(
            ErrorKind::Input,
            &self.path,
            format!(
                "column `{name}`, row {}{when} is {}; a run holds finite numbers only",
                self.progress.rows + row as u64 + 1,
                rows[index]
            ),
        )
        .hint(format!("{}; the block is not written", self.kept())))
    }

    fn write_error(&self, error: &io::Error) -> Error {
        let source = error.get_ref();
        if let Some(lost) = source.and_then(|source| source.downcast_ref::<Lost>()) {
            return self.lost_error(lost);
        }
        let advice = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room",
            io::ErrorKind::FileTooLarge => "raise the file size limit",
            _ => "remove the cause",
        };
        let next = match self.progress.blocks {
            0 => "start the run again",
            _ => "resume the run",
        };
        file_error(
            ErrorKind::File,
            &self.path,
            format!("the run cannot be written: {error}"),
        )
        .hint(format!("{}; {advice}, then {next}", self.kept()))
    }

    fn lost_error(&self, lost: &Lost) -> Error {
        let Progress { rows, time, .. } = self.progress;
        let rows = match time {
            Some(time) => format!("its {rows} rows, up to time {time:?} s,"),
            None => "its header".to_string(),
        };
        let hint = match &lost.outcome {
            Outcome::Rescued { path, is_finished } => {
                let next = if *is_finished {
                    "the run is complete there"
                } else {
                    "resume the run there"
                };
                format!("{rows} were written again, to {}; {next}", path.display())
            }
            Outcome::Away => format!(
                "{rows} were in it; if it was moved, put it back, then resume the run; if it was removed, start the run again"
            ),
            Outcome::Gone(error) => {
                format!("{rows} are lost: they cannot be written again ({error})")
            }
        };
        file_error(ErrorKind::File, &self.path, lost.to_string()).hint(hint)
    }

    fn kept(&self) -> String {
        let Progress { blocks, rows, time } = self.progress;
        match time {
            Some(time) => {
                format!("the file holds {rows} rows in {blocks} blocks, up to time {time:?} s")
            }
            None => "no rows had been written before".to_string(),
        }
    }
}

/// A reopened run.
struct Resumed {
    sink: Box<dyn Sink + Send>,
    header: Header,
    progress: Progress,
    checkpoint: Vec<u64>,
    dropped: u64,
}
