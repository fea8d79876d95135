//! Runs as Parquet.
//!
//! A Parquet file cannot be read before its end is written, so an unfinished run is a folder `run.parquet.parts` of complete
//! files, `part-00000001.parquet` and so on. A block is added by rewriting the last part, with the rows it had, under
//! another name and renaming it: each part exists either in its old or in its new form. After some blocks a new part is begun. The
//! end of the run merges the parts into `run.parquet`, again by renaming, and removes the folder. Every file carries a checksum of
//! all its bytes.

use super::header::{self, words_from_text, words_to_text};
use super::parquet_table::{Seal, Table, TableWriter, io_error};
use super::storage::{
    self, Lost, Outcome, create_error, damaged, exists_error, file_error, finished_error, is_taken,
    nothing_begun, read_error, with_suffix,
};
use super::{Contents, Header, Progress, Resumed, Sink};
use catena::error::{Error, ErrorKind, Result};
use parquet::errors::ParquetError;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A part with this many blocks, or rows, is complete: each block is written again that often at most.
const BLOCKS_OF_PART: u64 = 16;
const ROWS_OF_PART: usize = 1 << 14;
/// Rows and numbers in a row group of the merged file.
const ROWS_OF_GROUP: usize = 1 << 16;
const NUMBERS_OF_GROUP: usize = 1 << 22;

/// Names that readers of folders of Parquet files skip, because of the underscore.
const LOCK: &str = "_lock";
const FRESH_PART: &str = "_part.new";
const MERGED: &str = "_merged.new";

pub(super) struct Writer {
    path: PathBuf,
    parts: PathBuf,
    header: Header,
    /// Number of the part being filled, counted from 1.
    number: u64,
    /// Blocks in it.
    blocks: u64,
    /// Rows in it, column by column.
    columns: Vec<Vec<f64>>,
    /// Whether an older run is at the name: it stays there until the first block.
    is_waiting: bool,
    /// Held until the writer is dropped.
    lock: File,
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.is_waiting {
            remove_folder(&self.parts);
        }
    }
}

impl Writer {
    pub(super) fn create(path: &Path, header: &Header, overwrite: bool) -> Result<Self> {
        let parts = parts_of(path);
        let failed = |error| create_error(path, &error);
        // A run killed at its very beginning leaves only a folder without parts.
        let is_begun = || part_numbers(path, &parts).is_ok_and(|numbers| !numbers.is_empty());
        if !overwrite && (is_taken(path) || is_begun()) {
            return Err(exists_error(path));
        }
        if path.is_dir() {
            return Err(read_error(path, &io::ErrorKind::IsADirectory.into()));
        }
        let lock = take_lock(path, &parts, true)?;
        // Another process may have come first.
        let is_waiting = is_taken(path) || is_begun();
        if is_waiting && !overwrite {
            remove_folder(&parts);
            return Err(exists_error(path));
        }
        let writer = Writer {
            path: path.to_path_buf(),
            header: header.clone(),
            number: 1,
            blocks: 0,
            columns: vec![Vec::new(); header.columns.len()],
            is_waiting,
            lock,
            parts,
        };
        if !is_waiting {
            // An empty file, if one is there.
            remove_if_there(path).map_err(failed)?;
            writer
                .write_part(&writer.columns, 1, &[], Progress::default())
                .map_err(failed)?;
        }
        Ok(writer)
    }

    /// Checks that the folder of parts exists, and the part being filled, or with `all` every part.
    fn require_parts(&self, all: bool) -> io::Result<()> {
        let lost = |what: String| {
            let outcome = Outcome::Away;
            Err(Lost { what, outcome }.into())
        };
        if !storage::bears(&self.lock, &self.parts.join(LOCK)) {
            return lost(format!("the folder {}", self.parts.display()));
        }
        let first = if all { 1 } else { self.number };
        let mut parts = (first..=self.number).map(|number| part_path(&self.parts, number));
        match parts.find(|part| !part.is_file()) {
            Some(part) if !self.is_waiting => lost(format!("the file {}", part.display())),
            _ => Ok(()),
        }
    }

    /// Starts a table with the columns and texts of the run.
    fn table<W: Read + Write + Seek + Send>(&self, target: W) -> io::Result<TableWriter<W>> {
        let mut table = TableWriter::new(target, &names(&self.header)).map_err(io_error)?;
        let columns = header::columns_to_text(&self.header.columns);
        table.text("catena.format", header::FORMAT);
        table.text("catena.columns", &columns);
        table.text("catena.metadata", &self.header.metadata.to_string());
        Ok(table)
    }

    /// Writes a part; it appears, or replaces the one before, when it is complete.
    fn write_part(
        &self,
        columns: &[Vec<f64>],
        number: u64,
        checkpoint: &[u64],
        progress: Progress,
    ) -> io::Result<()> {
        let mut table = self.table(Cursor::new(Vec::new()))?;
        if !columns[0].is_empty() {
            table.rows(columns).map_err(io_error)?;
        }
        table.text("catena.checkpoint", &words_to_text(checkpoint));
        table.text("catena.blocks", &progress.blocks.to_string());
        table.text("catena.rows", &progress.rows.to_string());
        let bytes = table.finish().map_err(io_error)?.into_inner();
        let fresh = self.parts.join(FRESH_PART);
        let result = fs::write(&fresh, bytes)
            .and_then(|()| self.remove_older(number))
            .and_then(|()| fs::rename(&fresh, part_path(&self.parts, number)));
        if result.is_err() {
            // It contains nothing of value; the first error is the one that counts.
            let _ = fs::remove_file(&fresh);
        }
        result
    }

    /// Before the first part of a run takes its name: removes the other parts of an older one, the last one first. A killed
    /// process leaves the beginning of the older run.
    fn remove_older(&self, number: u64) -> io::Result<()> {
        if self.is_waiting {
            let others = part_numbers(&self.path, &self.parts).map_err(in_one_line)?;
            for other in others.into_iter().rev().filter(|other| *other > number) {
                fs::remove_file(part_path(&self.parts, other))?;
            }
        }
        Ok(())
    }

    /// After the first part has its name: removes the older run, if it was finished.
    fn take_name(&mut self) -> io::Result<()> {
        if self.is_waiting {
            remove_if_there(&self.path)?;
            self.is_waiting = false;
        }
        Ok(())
    }

    /// Writes all rows into one file.
    fn merge(&self, target: &Path, audit: &Value) -> io::Result<()> {
        let width = self.header.columns.len();
        let rows_of_group = (NUMBERS_OF_GROUP / width).clamp(1, ROWS_OF_GROUP);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        let mut table = self.table(options.open(target)?)?;
        let mut group: Vec<Vec<f64>> = vec![Vec::new(); width];
        let mut last = Part::default();
        for number in 1..=self.number {
            let path = part_path(&self.parts, number);
            let (part, _) = open_table(&self.path, &path).map_err(in_one_line)?;
            last = Part::of(&part).ok_or_else(|| io::Error::other("a part was changed"))?;
            part.read_into(&mut group).map_err(io_error)?;
            while group[0].len() > rows_of_group {
                let rest = group
                    .iter_mut()
                    .map(|column| column.split_off(rows_of_group))
                    .collect();
                table.rows(&group).map_err(io_error)?;
                group = rest;
            }
        }
        if !group[0].is_empty() {
            table.rows(&group).map_err(io_error)?;
        }
        table.text("catena.checkpoint", &words_to_text(&last.checkpoint));
        table.text("catena.audit", &audit.to_string());
        table.finish().map_err(io_error)?.sync_all()
    }
}

impl Sink for Writer {
    fn block(&mut self, rows: &[f64], checkpoint: &[u64], progress: Progress) -> io::Result<()> {
        let full = self.blocks >= BLOCKS_OF_PART || self.columns[0].len() >= ROWS_OF_PART;
        self.require_parts(full)?;
        // A full part is on disk and will not be written again.
        let (number, blocks, mut columns) = match full {
            true => (self.number + 1, 0, vec![Vec::new(); self.columns.len()]),
            false => (self.number, self.blocks, std::mem::take(&mut self.columns)),
        };
        let kept = columns[0].len();
        for row in rows.chunks_exact(columns.len()) {
            for (column, &value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let result = self
            .write_part(&columns, number, checkpoint, progress)
            .and_then(|()| self.take_name())
            .or_else(|error| self.require_parts(true).and(Err(error)));
        if result.is_ok() {
            (self.number, self.blocks, self.columns) = (number, blocks + 1, columns);
        } else if !full {
            columns.iter_mut().for_each(|column| column.truncate(kept));
            self.columns = columns;
        }
        result
    }

    fn finish(&mut self, audit: &Value) -> io::Result<()> {
        if self.is_waiting {
            self.write_part(&self.columns, 1, &[], Progress::default())?;
            self.take_name()?;
        }
        self.require_parts(true)?;
        let merged = self.parts.join(MERGED);
        self.merge(&merged, audit)
            .and_then(|()| storage::rename_to_free(&merged, &self.path))
            .inspect_err(|_| {
                let _ = fs::remove_file(&merged);
            })?;
        storage::synchronize_names(&self.path);
        // The run is complete. Parts that cannot be removed do no harm: readers look at the file first.
        let _ = remove_parts(&self.path, &self.parts);
        remove_folder(&self.parts);
        Ok(())
    }
}

/// Contents of a part about the run up to its end.
#[derive(Default)]
struct Part {
    checkpoint: Vec<u64>,
    blocks: u64,
    rows: u64,
}

impl Part {
    fn of(table: &Table) -> Option<Part> {
        let texts = table.texts();
        Some(Part {
            checkpoint: words_from_text(texts.get("catena.checkpoint")?)?,
            blocks: texts.get("catena.blocks")?.parse().ok()?,
            rows: texts.get("catena.rows")?.parse().ok()?,
        })
    }
}

/// An error about a part, inside one about the run, which names the file and says what to do.
fn in_one_line(error: Error) -> io::Error {
    io::Error::other(error.message().to_string())
}

/// The folder of an unfinished run.
fn parts_of(path: &Path) -> PathBuf {
    with_suffix(path, ".parts")
}

fn part_path(parts: &Path, number: u64) -> PathBuf {
    parts.join(format!("part-{number:08}.parquet"))
}

fn names(header: &Header) -> Vec<&str> {
    let columns = header.columns.iter();
    columns.map(|column| column.name.as_str()).collect()
}

/// Takes the lock of a run. The process that finishes a run removes the folder with the lock in it; where the folder may be
/// created, it is created again.
fn take_lock(path: &Path, parts: &Path, make: bool) -> Result<File> {
    let name = parts.join(LOCK);
    let failed = |error| create_error(path, &error);
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    storage::lock_at(path, &name, || {
        match fs::create_dir(parts) {
            _ if !make => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.map_err(failed)?,
        }
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false);
        match options.open(&name) {
            Err(error) if make && is_gone(&error) => Ok(None),
            Err(error) if is_gone(&error) => Err(read_error(path, &error)),
            result => result.map(Some).map_err(failed),
        }
    })
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The numbers of the existing parts, in order.
fn part_numbers(path: &Path, parts: &Path) -> Result<Vec<u64>> {
    let failed = |error| read_error(path, &error);
    let mut numbers: Vec<u64> = Vec::new();
    for entry in fs::read_dir(parts).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("part-")?.strip_suffix(".parquet"))
            .and_then(|number| number.parse::<u64>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number of parts, of which none may be missing.
fn count_parts(path: &Path, parts: &Path) -> Result<u64> {
    let numbers = part_numbers(path, parts)?;
    match (1..)
        .zip(&numbers)
        .find(|(expected, number)| expected != *number)
    {
        None => Ok(numbers.len() as u64),
        Some((missing, _)) => Err(damaged(
            path,
            &format!("part {missing} of the unfinished run is missing"),
        )),
    }
}

/// Removes the parts of a run, the last one first: a killed process leaves the beginning of a run.
fn remove_parts(path: &Path, parts: &Path) -> Result<()> {
    let failed = |error| create_error(path, &error);
    for number in part_numbers(path, parts)?.into_iter().rev() {
        fs::remove_file(part_path(parts, number)).map_err(failed)?;
    }
    for name in [FRESH_PART, MERGED] {
        remove_if_there(&parts.join(name)).map_err(failed)?;
    }
    Ok(())
}

/// Removes the folder of a run that was killed after its parts had been merged.
fn remove_left_over(path: &Path, parts: &Path, merged: &Table, header: &Header) -> Result<()> {
    let _lock = take_lock(path, parts, false)?;
    for number in 1..=count_parts(path, parts)? {
        let (table, its_header) = open_table(path, &part_path(parts, number))?;
        if its_header != *header || Part::of(&table).is_none_or(|part| part.rows > merged.rows()) {
            return Err(exists_error(path));
        }
    }
    remove_parts(path, parts)?;
    remove_folder(parts);
    Ok(())
}

/// Removes the folder of parts, if only the lock is left in it.
fn remove_folder(parts: &Path) {
    let _ = fs::remove_file(parts.join(LOCK));
    let _ = fs::remove_dir(parts);
}

/// Opens one file of a run and verifies its checksum.
fn open_table(run: &Path, path: &Path) -> Result<(Table, Header)> {
    let failed = |error| read_error(run, &error);
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(read_error(run, &io::ErrorKind::IsADirectory.into()));
    }
    if metadata.len() == 0 {
        return Err(nothing_begun(run));
    }
    let changed = || {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        damaged(run, &format!("`{name}` was changed"))
    };
    let seal = Seal::of(&mut file).map_err(failed)?;
    if seal == Seal::Broken {
        return Err(changed());
    }
    let table = Table::open(file).map_err(|error| unreadable(run, error))?;
    let texts = table.texts();
    let text = |key| texts.get(key).copied();
    header::check_format(run, text("catena.format"))?;
    if seal == Seal::Absent {
        return Err(changed());
    }
    let columns = text("catena.columns").unwrap_or_default();
    let metadata = text("catena.metadata").unwrap_or_default();
    let header = header::from_text(run, columns, metadata)?;
    if !table.has_columns(&names(&header)) {
        return Err(damaged(run, "the columns are not those of its header"));
    }
    Ok((table, header))
}

fn unreadable(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(_) => read_error(path, &io_error(error)),
        other => file_error(
            ErrorKind::Syntax,
            path,
            format!("the file is not a complete Parquet file ({other})"),
        ),
    }
}

pub(super) fn read(path: &Path) -> Result<Contents> {
    let parts = parts_of(path);
    if !is_taken(path) && parts.is_dir() {
        match read_parts(path, &parts) {
            // The run may have been finished while its parts were being read.
            Err(_) if is_taken(path) => {}
            result => return result,
        }
    }
    let (table, header) = open_table(path, path)?;
    let mut columns = vec![Vec::new(); header.columns.len()];
    table
        .read_into(&mut columns)
        .map_err(|error| unreadable(path, error))?;
    let audit = match table.texts().get("catena.audit") {
        Some(audit) => serde_json::from_str(audit)
            .map_err(|error| damaged(path, &format!("its audit is not valid JSON ({error})")))?,
        None => return Err(damaged(path, "its audit is missing")),
    };
    Ok(Contents {
        header,
        columns,
        audit: Some(audit),
        dropped: 0,
    })
}

fn read_parts(path: &Path, parts: &Path) -> Result<Contents> {
    let mut all: Option<(Header, Vec<Vec<f64>>)> = None;
    for number in 1..=count_parts(path, parts)? {
        let (table, header) = open_table(path, &part_path(parts, number))?;
        let (first, columns) = all.get_or_insert_with(|| {
            let columns = vec![Vec::new(); header.columns.len()];
            (header.clone(), columns)
        });
        table
            .read_into(columns)
            .map_err(|error| unreadable(path, error))?;
        let rows = columns[0].len() as u64;
        if *first != header || Part::of(&table).is_none_or(|part| part.rows != rows) {
            let what = format!("part {number} does not belong to those before it");
            return Err(damaged(path, &what));
        }
    }
    let Some((header, columns)) = all else {
        return Err(nothing_begun(path));
    };
    Ok(Contents {
        header,
        columns,
        audit: None,
        dropped: 0,
    })
}

pub(super) fn resume(path: &Path) -> Result<Resumed> {
    let parts = parts_of(path);
    if is_taken(path) || !parts.is_dir() {
        return Err(not_resumable(path, &parts));
    }
    let lock = match take_lock(path, &parts, false) {
        // The run may have been finished in the meantime.
        Err(_) if is_taken(path) => return Err(not_resumable(path, &parts)),
        lock => lock?,
    };
    if is_taken(path) {
        drop(lock);
        return Err(not_resumable(path, &parts));
    }
    let number = count_parts(path, &parts)?;
    if number == 0 {
        return Err(nothing_begun(path));
    }
    // Parts that are not the last are needed at the end of the run only; it is better to detect errors in them now.
    for number in 1..number {
        open_table(path, &part_path(&parts, number))?;
    }
    let last = part_path(&parts, number);
    let (table, header) = open_table(path, &last).map_err(|error| match number {
        1 => error,
        _ => error.hint(format!(
            "remove {} to go on from the part before it",
            last.display()
        )),
    })?;
    let part = Part::of(&table).ok_or_else(|| damaged(path, "its last part has no checkpoint"))?;
    let mut columns = vec![Vec::new(); header.columns.len()];
    table
        .read_into(&mut columns)
        .map_err(|error| unreadable(path, error))?;
    for name in [FRESH_PART, MERGED] {
        remove_if_there(&parts.join(name)).map_err(|error| create_error(path, &error))?;
    }
    let writer = Writer {
        path: path.to_path_buf(),
        parts,
        header: header.clone(),
        number,
        // The distribution of blocks over the parts does not matter.
        blocks: part.blocks % BLOCKS_OF_PART,
        is_waiting: false,
        lock,
        columns,
    };
    let progress = Progress {
        blocks: part.blocks,
        rows: part.rows,
        time: writer.columns[0].last().copied(),
    };
    Ok(Resumed {
        sink: Box::new(writer),
        header,
        progress,
        checkpoint: part.checkpoint,
        dropped: 0,
    })
}

/// Why a run that is finished or missing is not resumed. Parts that a kill at its end has left are removed.
fn not_resumable(path: &Path, parts: &Path) -> Error {
    let (table, header) = match open_table(path, path) {
        Ok(opened) => opened,
        Err(error) => return error,
    };
    if parts.is_dir() {
        // A failure does no harm: readers look at the file first.
        let _ = remove_left_over(path, parts, &table, &header);
    }
    finished_error(path)
}
