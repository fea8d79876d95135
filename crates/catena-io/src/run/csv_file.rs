//! Runs as text with commas.
//!
//! Lines that start with `#` are ours: format, columns, metadata, ends of blocks, end of the run. A block is appended in
//! two steps. First all its rows go out with `#` in place of their first character, then the same bytes again with the true
//! characters. A process killed in between leaves comments and whole rows, never a piece of a row.

use super::header::{self, words_from_text, words_to_text};
use super::storage::{self, create_with, file_error, finished_error, read_error, write_at};
use super::{Column, Contents, Header, Progress, Resumed, Sink};
use catena::error::{Error, ErrorKind, Place, Result};
use serde_json::Value;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};

const FORMAT_LINE: &str = "# ";
const COLUMNS_LINE: &str = "# columns: ";
const METADATA_LINE: &str = "# metadata: ";
const BLOCK_LINE: &str = "# block: ";
const FINISHED_LINE: &str = "# finished: ";

pub(super) struct Writer {
    path: PathBuf,
    file: File,
    width: usize,
    /// Length of the file up to the end of the last block.
    length: u64,
}

impl Writer {
    pub(super) fn create(path: &Path, header: &Header, overwrite: bool) -> Result<Self> {
        let text = format!(
            "{FORMAT_LINE}{}\n{COLUMNS_LINE}{}\n{METADATA_LINE}{}\n{}",
            header::FORMAT,
            header::columns_to_text(&header.columns),
            header.metadata,
            titles(&header.columns),
        );
        Ok(Writer {
            path: path.to_path_buf(),
            file: create_with(path, text.as_bytes(), overwrite)?,
            width: header.columns.len(),
            length: text.len() as u64,
        })
    }

    /// Runs a step that appends to the file; if it fails, takes back what it wrote.
    fn append(&mut self, step: impl FnOnce(&mut Self) -> io::Result<u64>) -> io::Result<()> {
        match step(self) {
            Ok(length) => {
                self.length = length;
                Ok(())
            }
            Err(error) => {
                // If this fails too, the piece is left for the reader to pass over.
                let _ = self.file.set_len(self.length);
                Err(error)
            }
        }
    }
}

impl Sink for Writer {
    fn block(&mut self, rows: &[f64], checkpoint: &[u64], progress: Progress) -> io::Result<()> {
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
        let check = crc32fast::hash(text.as_bytes());
        let _ = writeln!(
            text,
            "{BLOCK_LINE}{} rows {} check {check:08x} checkpoint {}",
            progress.blocks,
            progress.rows,
            words_to_text(checkpoint)
        );
        let whole = text.into_bytes();
        let mut hidden = whole.clone();
        for start in starts {
            hidden[start] = b'#';
        }
        self.append(|writer| {
            write_at(&mut writer.file, writer.length, &hidden)?;
            write_at(&mut writer.file, writer.length, &whole)?;
            Ok(writer.length + whole.len() as u64)
        })
    }

    fn finish(&mut self, audit: &Value) -> io::Result<()> {
        let line = format!("{FINISHED_LINE}{audit}\n");
        self.append(|writer| {
            write_at(&mut writer.file, writer.length, line.as_bytes())?;
            storage::synchronize(&writer.file, &writer.path)?;
            Ok(writer.length + line.len() as u64)
        })
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
    })
}

pub(super) fn resume(path: &Path) -> Result<Resumed> {
    let file = storage::open_to_resume(path)?;
    let scan = Scan::run(path, &file, false)?;
    if scan.audit.is_some() {
        return Err(finished_error(path));
    }
    file.set_len(scan.length)
        .map_err(|error| storage::create_error(path, &error))?;
    let writer = Writer {
        path: path.to_path_buf(),
        file,
        width: scan.header.columns.len(),
        length: scan.length,
    };
    Ok(Resumed {
        sink: Box::new(writer),
        header: scan.header,
        progress: scan.progress,
        checkpoint: scan.checkpoint,
    })
}

/// What a file holds up to its last complete block.
struct Scan {
    header: Header,
    columns: Vec<Vec<f64>>,
    audit: Option<Value>,
    progress: Progress,
    checkpoint: Vec<u64>,
    length: u64,
}

impl Scan {
    /// Reads a file; its numbers are kept if asked for.
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
        };
        let mut block = Block::new(width);
        while lines.next()? {
            if let Some(end) = lines.after(BLOCK_LINE) {
                let Some((progress, checkpoint)) = block.end(end, scan.progress) else {
                    // The last block of a killed run may be spoilt, none before it.
                    let number = lines.number;
                    if lines.next()? {
                        return Err(lines.damaged(number, "the block that ends here was changed"));
                    }
                    break;
                };
                scan.progress = progress;
                scan.checkpoint = checkpoint;
                scan.length = lines.length;
                if keep {
                    for row in block.numbers.chunks_exact(width) {
                        for (column, &value) in scan.columns.iter_mut().zip(row) {
                            column.push(value);
                        }
                    }
                }
                block = Block::new(width);
            } else if let Some(audit) = lines.after(FINISHED_LINE) {
                if !block.is_empty() {
                    let what = "the rows before the end of the run belong to no block";
                    return Err(lines.damaged(lines.number, what));
                }
                let audit = serde_json::from_str(audit).map_err(|error| {
                    lines.damaged(lines.number, &format!("the audit is no JSON ({error})"))
                })?;
                scan.audit = Some(audit);
                if lines.next()? {
                    return Err(lines.damaged(lines.number, "the run ends before this line"));
                }
            } else {
                block.line(&lines.bytes);
            }
        }
        Ok(scan)
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
        .hint("the file holds no results; start the run anew")
    };
    let complete = lines.next()?;
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
    let [columns, metadata] = texts;
    let header = header::from_text(path, &columns, &metadata)?;
    if !lines.next()? || lines.bytes != titles(&header.columns).as_bytes() {
        return Err(cut());
    }
    Ok(header)
}

/// Rows of which the end of the block has not been seen.
struct Block {
    width: usize,
    numbers: Vec<f64>,
    check: crc32fast::Hasher,
    /// Whether every line was a row.
    sound: bool,
}

impl Block {
    fn new(width: usize) -> Self {
        Block {
            width,
            numbers: Vec::new(),
            check: crc32fast::Hasher::new(),
            sound: true,
        }
    }

    fn is_empty(&self) -> bool {
        self.sound && self.numbers.is_empty()
    }

    /// Takes a line that should be a row.
    fn line(&mut self, line: &[u8]) {
        self.check.update(line);
        let before = self.numbers.len();
        let numbers = std::str::from_utf8(line)
            .into_iter()
            .flat_map(|line| line.trim_end_matches('\n').split(','));
        for number in numbers {
            match number.parse::<f64>() {
                Ok(number) if number.is_finite() => self.numbers.push(number),
                _ => self.sound = false,
            }
        }
        self.sound &= self.numbers.len() == before + self.width;
    }

    /// Progress and checkpoint after this block, from the line at its end; nothing if the block is not as it was written.
    fn end(&self, line: &str, before: Progress) -> Option<(Progress, Vec<u64>)> {
        let mut words = line.split(' ');
        let mut after = |title: Option<&str>| match title {
            Some(title) if words.next()? != title => None,
            _ => words.next(),
        };
        let blocks: u64 = after(None)?.parse().ok()?;
        let rows: u64 = after(Some("rows"))?.parse().ok()?;
        let check = u32::from_str_radix(after(Some("check"))?, 16).ok()?;
        let checkpoint = words_from_text(after(Some("checkpoint"))?)?;
        let progress = before.after(&self.numbers, self.width);
        let same = self.sound
            && (progress.blocks, progress.rows) == (blocks, rows)
            && self.check.clone().finalize() == check;
        same.then_some((progress, checkpoint))
    }
}

/// The lines of a file, one at a time.
struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<&'a File>,
    /// The last line read, with its end.
    bytes: Vec<u8>,
    /// Its number, counted from 1.
    number: usize,
    /// Length of the file up to its end.
    length: u64,
}

impl<'a> Lines<'a> {
    fn new(path: &'a Path, mut file: &'a File) -> Result<Self> {
        file.rewind().map_err(|error| read_error(path, &error))?;
        Ok(Lines {
            path,
            reader: BufReader::with_capacity(1 << 16, file),
            bytes: Vec::new(),
            number: 0,
            length: 0,
        })
    }

    /// Reads the next line. At the end of the file, or if the line has no end, the answer is no.
    fn next(&mut self) -> Result<bool> {
        self.bytes.clear();
        let count = self
            .reader
            .read_until(b'\n', &mut self.bytes)
            .map_err(|error| read_error(self.path, &error))?;
        self.number += 1;
        self.length += count as u64;
        Ok(self.bytes.ends_with(b"\n"))
    }

    /// What follows this start on the line.
    fn after(&self, start: &str) -> Option<&str> {
        let line = std::str::from_utf8(&self.bytes).ok()?;
        line.strip_prefix(start)
            .map(|rest| rest.trim_end_matches('\n'))
    }

    fn damaged(&self, number: usize, what: &str) -> Error {
        Error::new(ErrorKind::Syntax, format!("the run is damaged: {what}"))
            .at(Place::new(self.path.display().to_string(), number))
    }
}
