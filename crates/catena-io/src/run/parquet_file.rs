//! Runs as Parquet.
//!
//! A Parquet file cannot be read before its end is written, so an unfinished run is a folder `run.parquet.parts` of complete
//! files, `part-00000001.parquet` and so on. A block is added by writing the last part anew, with the rows it had, under
//! another name and renaming it: each part exists as it was or as it becomes. After some blocks a new part is begun. The end of
//! the run merges the parts into `run.parquet`, again by renaming, and removes the folder.

use super::header::{self, words_from_text, words_to_text};
use super::parquet_table::{Table, TableWriter, io_error};
use super::storage::{
    self, create_error, exists_error, file_error, finished_error, read_error, with_suffix,
};
use super::{Contents, Header, Progress, Resumed, Sink};
use catena::error::{Error, ErrorKind, Result};
use parquet::errors::ParquetError;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A part with this many blocks, or rows, is complete: each block is written again that often at most.
const BLOCKS_OF_PART: u64 = 16;
const ROWS_OF_PART: usize = 1 << 14;
/// Rows and numbers in a row group of the merged file.
const ROWS_OF_GROUP: usize = 1 << 16;
const NUMBERS_OF_GROUP: usize = 1 << 22;

/// Names that readers of folders of Parquet files pass over, because of the underscore.
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
    /// Held until the writer is dropped.
    _lock: File,
}

impl Writer {
    pub(super) fn create(path: &Path, header: &Header, overwrite: bool) -> Result<Self> {
        let parts = parts_of(path);
        let failed = |error| create_error(path, &error);
        // A folder without parts is all that a run killed at its very beginning leaves.
        let begun = parts.exists() && count_parts(path, &parts).map_or(true, |count| count > 0);
        if !overwrite && (path.exists() || begun) {
            return Err(exists_error(path));
        }
        if path.is_dir() {
            return Err(read_error(path, &io::ErrorKind::IsADirectory.into()));
        }
        match fs::create_dir(&parts) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.map_err(failed)?,
        }
        let lock = take_lock(path, &parts)?;
        remove_if_there(path).map_err(failed)?;
        remove_parts(path, &parts)?;
        let writer = Writer {
            path: path.to_path_buf(),
            parts,
            header: header.clone(),
            number: 1,
            blocks: 0,
            columns: vec![Vec::new(); header.columns.len()],
            _lock: lock,
        };
        writer
            .write_part(&writer.columns, 1, &[], Progress::default())
            .map_err(failed)?;
        Ok(writer)
    }

    /// Starts a table with the columns and texts of the run.
    fn table<W: io::Write + Send>(&self, target: W) -> io::Result<TableWriter<W>> {
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
        let mut table = self.table(Vec::new())?;
        if !columns[0].is_empty() {
            table.rows(columns).map_err(io_error)?;
        }
        table.text("catena.checkpoint", &words_to_text(checkpoint));
        table.text("catena.blocks", &progress.blocks.to_string());
        table.text("catena.rows", &progress.rows.to_string());
        let bytes = table.finish().map_err(io_error)?;
        let fresh = self.parts.join(FRESH_PART);
        let result = fs::write(&fresh, bytes)
            .and_then(|()| fs::rename(&fresh, part_path(&self.parts, number)));
        if result.is_err() {
            // Nothing of value is in it; the error that counts is the first one.
            let _ = fs::remove_file(&fresh);
        }
        result
    }

    /// Writes all rows into one file.
    fn merge(&self, target: &Path, audit: &Value) -> io::Result<()> {
        let width = self.header.columns.len();
        let rows_of_group = (NUMBERS_OF_GROUP / width).clamp(1, ROWS_OF_GROUP);
        let mut table = self.table(File::create(target)?)?;
        let mut group: Vec<Vec<f64>> = vec![Vec::new(); width];
        let mut last = Part::default();
        for number in 1..=self.number {
            let path = part_path(&self.parts, number);
            let part = Table::open(File::open(path)?).map_err(io_error)?;
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
        let result = self.write_part(&columns, number, checkpoint, progress);
        if result.is_ok() {
            (self.number, self.blocks, self.columns) = (number, blocks + 1, columns);
        } else if !full {
            columns.iter_mut().for_each(|column| column.truncate(kept));
            self.columns = columns;
        }
        result
    }

    fn finish(&mut self, audit: &Value) -> io::Result<()> {
        let merged = self.parts.join(MERGED);
        self.merge(&merged, audit)
            .and_then(|()| fs::rename(&merged, &self.path))
            .inspect_err(|_| {
                let _ = fs::remove_file(&merged);
            })?;
        storage::synchronize_names(&self.path);
        // The run is complete. Parts that cannot be removed are in nobody's way: readers look at the file first.
        let _ = remove_parts(&self.path, &self.parts);
        remove_folder(&self.parts);
        Ok(())
    }
}

/// What a part tells about the run up to its end.
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

fn take_lock(path: &Path, parts: &Path) -> Result<File> {
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(parts.join(LOCK))
        .map_err(|error| create_error(path, &error))?;
    storage::lock(&lock, path)?;
    Ok(lock)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The number of parts. They are counted by their names, of which none may be missing.
fn count_parts(path: &Path, parts: &Path) -> Result<u64> {
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

/// Removes the parts of a run, the last one first: what is left after a kill is the beginning of a run.
fn remove_parts(path: &Path, parts: &Path) -> Result<()> {
    let failed = |error| create_error(path, &error);
    for number in (1..=count_parts(path, parts)?).rev() {
        fs::remove_file(part_path(parts, number)).map_err(failed)?;
    }
    for name in [FRESH_PART, MERGED] {
        remove_if_there(&parts.join(name)).map_err(failed)?;
    }
    Ok(())
}

/// Removes the folder of a run that was killed after its parts had been merged.
fn remove_left_over(path: &Path, parts: &Path, merged: &Table, header: &Header) -> Result<()> {
    let _lock = take_lock(path, parts)?;
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

/// Removes the folder of parts, if nothing but the lock is left in it.
fn remove_folder(parts: &Path) {
    let _ = fs::remove_file(parts.join(LOCK));
    let _ = fs::remove_dir(parts);
}

fn damaged(path: &Path, what: &str) -> Error {
    file_error(
        ErrorKind::Syntax,
        path,
        format!("the run is damaged: {what}"),
    )
}

/// Opens one file of a run and checks that it is one.
fn open_table(run: &Path, path: &Path) -> Result<(Table, Header)> {
    let file = File::open(path).map_err(|error| read_error(run, &error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(read_error(run, &io::ErrorKind::IsADirectory.into()));
    }
    let table = Table::open(file).map_err(|error| unreadable(run, error))?;
    let texts = table.texts();
    let text = |key| texts.get(key).copied();
    header::check_format(run, text("catena.format"))?;
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
    if !path.exists() && parts.is_dir() {
        match read_parts(path, &parts) {
            // The run may have been finished while its parts were being read.
            Err(_) if path.exists() => {}
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
            .map_err(|error| damaged(path, &format!("its audit is no JSON ({error})")))?,
        None => return Err(damaged(path, "its audit is missing")),
    };
    Ok(Contents {
        header,
        columns,
        audit: Some(audit),
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
    })
}

fn nothing_begun(path: &Path) -> Error {
    file_error(
        ErrorKind::Syntax,
        path,
        "the run was stopped before its header was written",
    )
    .hint("there are no results; start the run anew")
}

pub(super) fn resume(path: &Path) -> Result<Resumed> {
    let parts = parts_of(path);
    if path.exists() || !parts.is_dir() {
        let (table, header) = open_table(path, path)?;
        if parts.is_dir() {
            // Of no importance if it does not succeed: readers look at the file first.
            let _ = remove_left_over(path, &parts, &table, &header);
        }
        return Err(finished_error(path));
    }
    let lock = take_lock(path, &parts)?;
    let number = count_parts(path, &parts)?;
    if number == 0 {
        return Err(nothing_begun(path));
    }
    let (table, header) = open_table(path, &part_path(&parts, number))?;
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
        // How the blocks were spread over the parts does not matter.
        blocks: part.blocks % BLOCKS_OF_PART,
        _lock: lock,
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
    })
}
