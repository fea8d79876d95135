//! Runs as text with commas.
//!
//! Lines that start with `#` hold format, columns, metadata, ends of blocks, end of the run, and checksums. The header, each
//! block and the end of the run are followed by a checksum, the CRC-32 of everything before it in the file. A block is appended in
//! two steps. First all its rows are written with `#` in place of their first character, then the same bytes again with the true
//! characters. A process killed in between leaves comments and whole rows, never a piece of a row.

use super::header::{self, words_from_text, words_to_text};
use super::storage::{self, RunFile, file_error, finished_error, nothing_begun, read_error};
use super::{Column, Contents, Header, Progress, Resumed, Sink};
use catena::error::{Error, ErrorKind, Place, Result};
use crc32fast::Hasher;
use serde_json::Value;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::Path;

const FORMAT_LINE: &str = "# ";
const COLUMNS_LINE: &str = "# columns: ";
const METADATA_LINE: &str = "# metadata: ";
const BLOCK_LINE: &str = "# block: ";
const FINISHED_LINE: &str = "# finished: ";
const CHECK_LINE: &str = "# check: ";

/// The line with the checksum of what was written before it.
fn check_line(check: &Hasher) -> String {
    format!("{CHECK_LINE}{:08x}\n", check.clone().finalize())
}

/// Adds the checksum to a text that is appended to a file with the given checksum.
fn close(text: &mut String, mut check: Hasher) -> Hasher {
    check.update(text.as_bytes());
    let line = check_line(&check);
    check.update(line.as_bytes());
    *text += &line;
    check
}

pub(super) struct Writer {
    file: RunFile,
    width: usize,
    /// Length of the file up to the end of the last block.
    length: u64,
    /// Checksum of the file up to there.
    check: Hasher,
    /// Whether anything follows it that does not belong to the run.
    has_tail: bool,
}

impl Writer {
    pub(super) fn create(path: &Path, header: &Header, overwrite: bool) -> Result<Self> {
        let mut text = format!(
            "{FORMAT_LINE}{}\n{COLUMNS_LINE}{}\n{METADATA_LINE}{}\n{}",
            header::FORMAT,
            header::columns_to_text(&header.columns),
            header.metadata,
            titles(&header.columns),
        );
        let check = close(&mut text, Hasher::new());
        Ok(Writer {
            width: header.columns.len(),
            length: text.len() as u64,
            check,
            has_tail: false,
            file: RunFile::create(path, text.into_bytes(), &[], overwrite)?,
        })
    }

    /// Writes bytes to the end of the file, first with `#` at the start of rows. If that fails, removes the bytes written.
    fn append(&mut self, hidden: &[u8], bytes: &[u8]) -> io::Result<()> {
        if self.file.is_waiting() {
            return self.file.begin(bytes);
        }
        if self.has_tail {
            self.file.cut(self.length)?;
            self.has_tail = false;
        }
        let place = self.length;
        let result = self
            .file
            .write_at(place, hidden)
            .and_then(|()| self.file.write_at(place, bytes));
        if result.is_err() {
            self.take_back();
        }
        result
    }

    fn take_back(&mut self) {
        // If this fails, the reader skips the piece.
        let _ = self.file.cut(self.length);
    }
}

impl Sink for Writer {
    fn block(&mut self, rows: &[f64], checkpoint: &[u64], progress: Progress) -> io::Result<()> {
        self.file.require_name(false)?;
        let mut text = String::with_capacity(20 * rows.len());
        let mut starts = Vec::with_capacity(rows.len() / self.width);
        for row in rows.chunks_exact(self.width) {
            starts.push(text.len());
            for (index, value) in row.iter().enumerate() {
                let separator = if index == 0 { "" } else { "," };
                // Writing to a string cannot fail.
                let _ = write!(text, "{separator}{value:?}");
            }
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "{BLOCK_LINE}{} rows {} checkpoint {}",
            progress.blocks,
            progress.rows,
            words_to_text(checkpoint)
        );
        let check = close(&mut text, self.check.clone());
        let whole = text.into_bytes();
        let mut hidden = whole.clone();
        for start in starts {
            hidden[start] = b'#';
        }
        self.append(&hidden, &whole)?;
        self.length += whole.len() as u64;
        self.check = check;
        Ok(())
    }

    fn finish(&mut self, audit: &Value) -> io::Result<()> {
        let mut text = format!("{FINISHED_LINE}{audit}\n");
        close(&mut text, self.check.clone());
        self.append(&[], text.as_bytes())?;
        self.file.synchronize().inspect_err(|_| self.take_back())?;
        self.file.require_name(true)
    }
}

/// The line with the names of the columns.
fn titles(columns: &[Column]) -> String {
    let title = |column: &Column| {
        let title = match column.unit.as_str() {
            "" => column.name.clone(),
            unit => format!("{} [{unit}]", column.name),
        };
        match title.contains(['"', ',', '#']) {
            true => format!("\"{}\"", title.replace('"', "\"\"")),
            false => title,
        }
    };
    let titles: Vec<String> = columns.iter().map(title).collect();
    titles.join(",") + "\n"
}

pub(super) fn read(path: &Path) -> Result<Contents> {
    let file = File::open(path).map_err(|error| read_error(path, &error))?;
    let scan = Scan::run(path, &file, true)?;
    Ok(Contents {
        header: scan.header,
        columns: scan.columns,
        audit: scan.audit,
        dropped: scan.dropped,
    })
}

pub(super) fn read_text(path: &Path) -> Result<(String, u64)> {
    let file = File::open(path).map_err(|error| read_error(path, &error))?;
    let scan = Scan::run(path, &file, false)?;
    let bytes = storage::tail(&file, path, 0, scan.length)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| file_error(ErrorKind::Syntax, path, "the run is not UTF-8 text"))?;
    Ok((text, scan.dropped))
}

pub(super) fn resume(path: &Path) -> Result<Resumed> {
    let file = RunFile::resume(path)?;
    let scan = Scan::run(path, file.file(), false)?;
    if scan.audit.is_some() {
        return Err(finished_error(path));
    }
    let writer = Writer {
        file,
        width: scan.header.columns.len(),
        length: scan.length,
        check: scan.check,
        has_tail: scan.dropped > 0,
    };
    Ok(Resumed {
        sink: Box::new(writer),
        header: scan.header,
        progress: scan.progress,
        checkpoint: scan.checkpoint,
        dropped: scan.dropped,
    })
}

/// The contents of a file up to its last complete block.
struct Scan {
    header: Header,
    columns: Vec<Vec<f64>>,
    audit: Option<Value>,
    progress: Progress,
    checkpoint: Vec<u64>,
    length: u64,
    check: Hasher,
    /// Bytes after the last complete block that are left out.
    dropped: u64,
}

impl Scan {
    /// Reads a file; its numbers are kept if requested.
    fn run(path: &Path, file: &File, keep: bool) -> Result<Scan> {
        let mut lines = Lines::new(path, file)?;
        let header = read_header(&mut lines)?;
        let width = header.columns.len();
        let mut scan = Scan {
            columns: vec![Vec::new(); width],
            header,
            audit: None,
            progress: Progress::default(),
            checkpoint: Vec::new(),
            length: lines.length,
            check: lines.check_with_line(),
            dropped: 0,
        };
        let mut piece = Piece::new(width);
        while scan.audit.is_none() && lines.next()? {
            match lines.is_right_check() {
                None => piece.line(&lines),
                Some(false) => break,
                Some(true) => {
                    if scan.take(&piece, keep).is_none() {
                        let what = "the piece that ends here is neither a block nor the end";
                        return Err(lines.damaged(what));
                    }
                    scan.length = lines.length;
                    scan.check = lines.check_with_line();
                    piece = Piece::new(width);
                }
            }
        }
        let tail = storage::tail(file, path, scan.length, lines.file_length)?;
        if scan.audit.is_some() && !tail.is_empty() {
            lines.number += 1;
            return Err(lines.damaged("the run ends before this line"));
        }
        // A killed process leaves a single incomplete block at most.
        if storage::occurrences(&tail, format!("\n{CHECK_LINE}").as_bytes()) > 1 {
            return Err(lines.damaged("the block that ends here was changed"));
        }
        scan.dropped = tail.len() as u64;
        Ok(scan)
    }

    /// Takes a block or the end of the run.
    fn take(&mut self, piece: &Piece, keep: bool) -> Option<()> {
        if let Some(audit) = &piece.audit {
            self.audit = Some(audit.clone());
            return piece.numbers.is_empty().then_some(());
        }
        let (blocks, rows, checkpoint) = piece.end.as_ref()?;
        let width = self.columns.len();
        self.progress = self.progress.after(&piece.numbers, width);
        self.checkpoint.clone_from(checkpoint);
        if keep {
            for row in piece.numbers.chunks_exact(width) {
                for (column, &value) in self.columns.iter_mut().zip(row) {
                    column.push(value);
                }
            }
        }
        let same = (self.progress.blocks, self.progress.rows) == (*blocks, *rows);
        (piece.is_sound && same).then_some(())
    }
}

fn read_header(lines: &mut Lines<'_>) -> Result<Header> {
    let path = lines.path;
    let cut = || {
        file_error(
            ErrorKind::Syntax,
            path,
            "the header of the run is cut off or changed",
        )
        .hint("without it the rows cannot be read; repeat the run")
    };
    let complete = lines.next()?;
    if lines.length == 0 {
        return Err(nothing_begun(path));
    }
    let format = lines.after(FORMAT_LINE);
    if !format.is_some_and(|format| format.starts_with("catena-run")) {
        return Err(header::no_run(path));
    }
    if !complete {
        return Err(cut());
    }
    header::check_format(path, format)?;
    let mut texts = [String::new(), String::new()];
    for (text, start) in texts.iter_mut().zip([COLUMNS_LINE, METADATA_LINE]) {
        if !lines.next()? {
            return Err(cut());
        }
        *text = lines.after(start).ok_or_else(cut)?.to_string();
    }
    let titles_read = match lines.next()? {
        true => lines.bytes.clone(),
        false => return Err(cut()),
    };
    if !lines.next()? || lines.is_right_check() != Some(true) {
        return Err(cut());
    }
    let [columns, metadata] = texts;
    let header = header::from_text(path, &columns, &metadata)?;
    match titles_read == titles(&header.columns).as_bytes() {
        true => Ok(header),
        false => Err(cut()),
    }
}

/// Lines whose checksum has not been read yet: a block, or the end of the run.
struct Piece {
    width: usize,
    numbers: Vec<f64>,
    /// Blocks and rows up to its end, and the checkpoint there.
    end: Option<(u64, u64, Vec<u64>)>,
    audit: Option<Value>,
    /// Whether every line was understood.
    is_sound: bool,
}

impl Piece {
    fn new(width: usize) -> Self {
        Piece {
            width,
            numbers: Vec::new(),
            end: None,
            audit: None,
            is_sound: true,
        }
    }

    fn line(&mut self, lines: &Lines<'_>) {
        // Only its checksum follows the end of a block or of a run.
        let is_first_end = self.end.is_none() && self.audit.is_none();
        let understood = if let Some(end) = lines.after(BLOCK_LINE) {
            self.end = block_end(end);
            self.end.is_some()
        } else if let Some(audit) = lines.after(FINISHED_LINE) {
            self.audit = serde_json::from_str(audit).ok();
            self.audit.is_some()
        } else {
            self.row(&lines.bytes)
        };
        self.is_sound &= is_first_end && understood;
    }

    /// Takes a line that should be a row.
    fn row(&mut self, line: &[u8]) -> bool {
        let before = self.numbers.len();
        let Ok(line) = std::str::from_utf8(line) else {
            return false;
        };
        for number in line.trim_end_matches('\n').split(',') {
            match number.parse::<f64>() {
                Ok(number) if number.is_finite() => self.numbers.push(number),
                _ => return false,
            }
        }
        self.numbers.len() == before + self.width
    }
}

/// Blocks, rows and checkpoint from the line at the end of a block.
fn block_end(line: &str) -> Option<(u64, u64, Vec<u64>)> {
    let (blocks, rest) = line.split_once(" rows ")?;
    let (rows, words) = rest.split_once(" checkpoint ")?;
    Some((
        blocks.parse().ok()?,
        rows.parse().ok()?,
        words_from_text(words)?,
    ))
}

/// The lines of a file, one at a time.
struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<&'a File>,
    /// Length of the file when it was opened.
    file_length: u64,
    /// The last line read, with its end.
    bytes: Vec<u8>,
    /// Its number, counted from 1.
    number: usize,
    /// Length of the file up to its end.
    length: u64,
    /// Checksum of the file up to its beginning.
    check: Hasher,
}

impl<'a> Lines<'a> {
    fn new(path: &'a Path, mut file: &'a File) -> Result<Self> {
        let failed = |error| read_error(path, &error);
        file.rewind().map_err(failed)?;
        Ok(Lines {
            path,
            file_length: file.metadata().map_err(failed)?.len(),
            reader: BufReader::with_capacity(1 << 16, file),
            bytes: Vec::new(),
            number: 0,
            length: 0,
            check: Hasher::new(),
        })
    }

    /// Reads the next line. False at the end of the file, or if the line has no end.
    fn next(&mut self) -> Result<bool> {
        self.check.update(&self.bytes);
        self.bytes.clear();
        let count = self
            .reader
            .read_until(b'\n', &mut self.bytes)
            .map_err(|error| read_error(self.path, &error))?;
        self.number += 1;
        self.length += count as u64;
        Ok(self.bytes.ends_with(b"\n"))
    }

    /// The rest of the line after this prefix.
    fn after(&self, start: &str) -> Option<&str> {
        let line = std::str::from_utf8(&self.bytes).ok()?;
        line.strip_prefix(start)
            .map(|rest| rest.trim_end_matches('\n'))
    }

    /// If the line is a checksum: whether it is that of the lines before it.
    fn is_right_check(&self) -> Option<bool> {
        let is_check = self.bytes.starts_with(CHECK_LINE.as_bytes());
        is_check.then(|| self.bytes == check_line(&self.check).as_bytes())
    }

    /// Checksum of the file up to the end of the line.
    fn check_with_line(&self) -> Hasher {
        let mut check = self.check.clone();
        check.update(&self.bytes);
        check
    }

    fn damaged(&self, what: &str) -> Error {
        Error::new(ErrorKind::Syntax, format!("the run is damaged: {what}"))
            .at(Place::new(self.path.display().to_string(), self.number))
    }
}
