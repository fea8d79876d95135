//! Runs as MCAP.
//!
//! The file is complete after every block: data, then an end without summary. The next block overwrites that end. Its
//! bytes beyond the old end are written first, then those over it, so that a killed process leaves either the old end, after
//! which readers stop, or the new block. Only [`Writer::finish`] adds the summary.
//!
//! The header, each block and the audit are followed by a record with a checksum, the CRC-32 of everything before it in the file.

use super::header::{self, words_from_text, words_to_text};
use super::mcap_message::{Layout, schema};
use super::mcap_record::{PREFIX, Record, is_plain_chunk, plain_end, put_end, read_metadata};
use super::storage::{
    self, RunFile, damaged, file_error, finished_error, nothing_begun, read_error,
};
use super::{Contents, Header, Progress, Resumed, Sink};
use catena::error::{ErrorKind, Result};
use crc32fast::Hasher;
use mcap::records::{Record as ReadRecord, op};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

const HEADER: &str = "catena.header";
const CHECKPOINT: &str = "catena.checkpoint";
const AUDIT: &str = "catena.audit";
const CHECK: &str = "catena.check";
const TOPIC: &str = "/run";
/// Number of the only schema and of the only channel.
const ID: u16 = 1;

/// Location of a chunk, for the summary.
struct Chunk {
    times: (u64, u64),
    place: u64,
    length: u64,
    data_length: u64,
    index_place: u64,
    index_length: u64,
}

/// Location of a metadata record, for the summary.
struct Metadata {
    name: &'static str,
    place: u64,
    length: u64,
}

/// The record with the checksum of what was written before it.
fn check_record(check: &Hasher) -> Vec<u8> {
    let mut bytes = Vec::new();
    let digits = format!("{:08x}", check.clone().finalize());
    Record::new(op::METADATA)
        .text(CHECK)
        .map(&[("crc32", &digits)])
        .put(&mut bytes);
    bytes
}

/// Adds the checksum to bytes that are appended to a file with the given checksum.
fn close(bytes: &mut Vec<u8>, mut check: Hasher) -> Hasher {
    check.update(bytes);
    let record = check_record(&check);
    check.update(&record);
    bytes.extend(record);
    check
}

/// A text as MCAP writes it: its length, then its bytes.
fn counted_text(text: &str) -> Vec<u8> {
    let length = text.len() as u32;
    [&length.to_le_bytes()[..], text.as_bytes()].concat()
}

pub(super) struct Writer {
    file: RunFile,
    layout: Layout,
    width: usize,
    /// Schema and channel, to be repeated in the summary.
    description: Vec<u8>,
    header: Metadata,
    chunks: Vec<Chunk>,
    progress: Progress,
    /// Length of the data; the end of the file follows.
    length: u64,
    /// Checksum of the data.
    check: Hasher,
    /// Whether anything other than the end follows.
    has_tail: bool,
}

/// Schema and channel of a run.
fn description(header: &Header) -> Vec<u8> {
    let mut bytes = Vec::new();
    Record::new(op::SCHEMA)
        .u16(ID)
        .text("catena.run")
        .text("jsonschema")
        .text(schema(&header.columns))
        .put(&mut bytes);
    Record::new(op::CHANNEL)
        .u16(ID)
        .u16(ID)
        .text(TOPIC)
        .text("json")
        .map(&[])
        .put(&mut bytes);
    bytes
}

/// Simulated time in nanoseconds; times before zero count as zero.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl Writer {
    pub(super) fn create(path: &Path, header: &Header, overwrite: bool) -> Result<Self> {
        let mut bytes = mcap::MAGIC.to_vec();
        Record::new(op::HEADER)
            .text("")
            .text(concat!("catena ", env!("CARGO_PKG_VERSION")))
            .put(&mut bytes);
        let place = bytes.len() as u64;
        Record::new(op::METADATA)
            .text(HEADER)
            .map(&[
                ("columns", &header::columns_to_text(&header.columns)),
                ("format", header::FORMAT),
                ("metadata", &header.metadata.to_string()),
            ])
            .put(&mut bytes);
        let header_record = Metadata {
            name: HEADER,
            place,
            length: bytes.len() as u64 - place,
        };
        bytes.extend(description(header));
        let check = close(&mut bytes, Hasher::new());
        Ok(Writer {
            layout: Layout::new(&header.columns),
            width: header.columns.len(),
            description: description(header),
            header: header_record,
            chunks: Vec::new(),
            progress: Progress::default(),
            length: bytes.len() as u64,
            check,
            has_tail: false,
            file: RunFile::create(path, bytes, &plain_end(), overwrite)?,
        })
    }

    /// Overwrites the end of the file with bytes that include a new end. If something fails, the file is as before.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_waiting() {
            return self.file.begin(bytes);
        }
        if self.has_tail {
            self.put_plain_end()?;
            self.has_tail = false;
        }
        let length_of_end = plain_end().len();
        let (over, beyond) = bytes.split_at(length_of_end);
        let place = self.length;
        let result = self
            .file
            .write_at(place + length_of_end as u64, beyond)
            .and_then(|()| self.file.write_at(place, over));
        if result.is_err() {
            self.take_back();
        }
        result
    }

    /// Ends the file after its data.
    fn put_plain_end(&mut self) -> io::Result<()> {
        let end = plain_end();
        self.file.write_at(self.length, &end)?;
        self.file.cut(self.length + end.len() as u64)
    }

    fn take_back(&mut self) {
        // If this fails, the reader skips the remainder.
        let _ = self.put_plain_end();
    }

    /// The messages of a block and their offsets.
    fn messages(&self, rows: &[f64]) -> (Vec<u8>, Vec<(u64, u64)>) {
        let mut messages = Vec::with_capacity(40 * rows.len());
        let mut index = Vec::with_capacity(rows.len() / self.width);
        for (number, row) in (self.progress.rows..).zip(rows.chunks_exact(self.width)) {
            let time = nanoseconds(row[0]);
            index.push((time, messages.len() as u64));
            Record::new(op::MESSAGE)
                .u16(ID)
                .u32(number as u32)
                .u64(time)
                .u64(time)
                .bytes(self.layout.write(row).as_bytes())
                .put(&mut messages);
        }
        (messages, index)
    }

    /// Appends the chunk of a block to a buffer that will be written at the end of the data.
    fn put_chunk(&self, rows: &[f64], buffer: &mut Vec<u8>) -> Chunk {
        let (messages, index) = self.messages(rows);
        let times = index.iter().map(|&(time, _)| time);
        let times = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let data_length = messages.len() as u64;
        let place = self.length + buffer.len() as u64;
        Record::new(op::CHUNK)
            .u64(times.0)
            .u64(times.1)
            .u64(data_length)
            .u32(crc32fast::hash(&messages))
            .text("")
            .u64(data_length)
            .bytes(&messages)
            .put(buffer);
        let index_place = self.length + buffer.len() as u64;
        let mut entries = Record::new(op::MESSAGE_INDEX)
            .u16(ID)
            .u32(16 * index.len() as u32);
        for (time, offset) in index {
            entries = entries.u64(time).u64(offset);
        }
        entries.put(buffer);
        Chunk {
            times,
            place,
            length: index_place - place,
            data_length,
            index_place,
            index_length: self.length + buffer.len() as u64 - index_place,
        }
    }
}

/// The summary of a finished run, which allows random access.
struct Summary<'a> {
    description: &'a [u8],
    progress: Progress,
    chunks: &'a [Chunk],
    header: &'a Metadata,
    audit: Metadata,
}

impl Summary<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.description.to_vec();
        let start = self.chunks.iter().map(|chunk| chunk.times.0).min();
        let end = self.chunks.iter().map(|chunk| chunk.times.1).max();
        Record::new(op::STATISTICS)
            .u64(self.progress.rows)
            .u16(1)
            .u32(1)
            .u32(0)
            // Header, a checkpoint for each block, audit; each with its checksum.
            .u32(2 * self.progress.blocks as u32 + 4)
            .u32(self.chunks.len() as u32)
            .u64(start.unwrap_or(0))
            .u64(end.unwrap_or(0))
            .u32(10)
            .u16(ID)
            .u64(self.progress.rows)
            .put(&mut bytes);
        for chunk in self.chunks {
            Record::new(op::CHUNK_INDEX)
                .u64(chunk.times.0)
                .u64(chunk.times.1)
                .u64(chunk.place)
                .u64(chunk.length)
                .u32(10)
                .u16(ID)
                .u64(chunk.index_place)
                .u64(chunk.index_length)
                .text("")
                .u64(chunk.data_length)
                .u64(chunk.data_length)
                .put(&mut bytes);
        }
        for record in [self.header, &self.audit] {
            Record::new(op::METADATA_INDEX)
                .u64(record.place)
                .u64(record.length)
                .text(record.name)
                .put(&mut bytes);
        }
        bytes
    }
}

impl Sink for Writer {
    fn block(&mut self, rows: &[f64], checkpoint: &[u64], progress: Progress) -> io::Result<()> {
        self.file.require_name(false)?;
        let mut bytes = Vec::new();
        let chunk = (!rows.is_empty()).then(|| self.put_chunk(rows, &mut bytes));
        Record::new(op::METADATA)
            .text(CHECKPOINT)
            .map(&[
                ("block", &progress.blocks.to_string()),
                ("rows", &progress.rows.to_string()),
                ("words", &words_to_text(checkpoint)),
            ])
            .put(&mut bytes);
        let check = close(&mut bytes, self.check.clone());
        let data_length = bytes.len() as u64;
        bytes.extend(plain_end());
        self.append(&bytes)?;
        self.length += data_length;
        self.check = check;
        self.chunks.extend(chunk);
        self.progress = progress;
        Ok(())
    }

    fn finish(&mut self, audit: &Value) -> io::Result<()> {
        let mut bytes = Vec::new();
        Record::new(op::METADATA)
            .text(AUDIT)
            .map(&[("audit", &audit.to_string())])
            .put(&mut bytes);
        let audit = Metadata {
            name: AUDIT,
            place: self.length,
            length: bytes.len() as u64,
        };
        close(&mut bytes, self.check.clone());
        let summary = Summary {
            description: &self.description,
            progress: self.progress,
            chunks: &self.chunks,
            header: &self.header,
            audit,
        };
        let data_length = self.length + bytes.len() as u64;
        put_end(&mut bytes, data_length, &summary.bytes());
        self.append(&bytes)?;
        self.file.synchronize().inspect_err(|_| self.take_back())?;
        self.file.require_name(true)
    }
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

pub(super) fn resume(path: &Path) -> Result<Resumed> {
    let file = RunFile::resume(path)?;
    let scan = Scan::run(path, file.file(), false)?;
    if scan.audit.is_some() {
        return Err(finished_error(path));
    }
    let writer = Writer {
        file,
        layout: Layout::new(&scan.header.columns),
        width: scan.header.columns.len(),
        description: description(&scan.header),
        header: scan.header_record,
        chunks: scan.chunks,
        progress: scan.progress,
        length: scan.length,
        check: scan.check,
        has_tail: scan.dropped > 0,
    };
    Ok(Resumed {
        progress: scan.progress,
        sink: Box::new(writer),
        header: scan.header,
        checkpoint: scan.checkpoint,
        dropped: scan.dropped,
    })
}

/// The contents of a file up to its last complete block.
struct Scan {
    header: Header,
    header_record: Metadata,
    columns: Vec<Vec<f64>>,
    audit: Option<Value>,
    progress: Progress,
    checkpoint: Vec<u64>,
    chunks: Vec<Chunk>,
    length: u64,
    check: Hasher,
    /// Bytes after the last complete block that are left out.
    dropped: u64,
}

impl Scan {
    /// Reads a file; its numbers are kept if requested.
    fn run(path: &Path, file: &File, keep: bool) -> Result<Scan> {
        let mut records = Records::new(path, file)?;
        let mut scan = Scan::start(&mut records)?;
        let layout = Layout::new(&scan.header.columns);
        let mut piece = Piece::default();
        // The audit, where its record is, and where the data end.
        let mut finish: Option<(Value, Metadata, u64)> = None;
        while finish.is_none() && records.next()? && records.code != op::DATA_END {
            match records.is_right_check() {
                None => piece.record(&records, &layout),
                Some(false) => break,
                Some(true) => {
                    if let (Some((audit, record)), true) = (piece.audit.take(), piece.is_sound) {
                        finish = Some((audit, record, records.end));
                    } else if scan.take(&piece, keep).is_some() {
                        scan.length = records.end;
                        scan.check = records.check_with_record();
                    } else {
                        let what = "the piece that ends at byte";
                        let what = format!("{what} {} is not as it was written", records.end);
                        return Err(damaged(path, &what));
                    }
                    piece = Piece::default();
                }
            }
        }
        let tail = storage::tail(file, path, scan.length, records.file_length)?;
        // A killed process leaves a single incomplete block at most.
        if storage::occurrences(&tail, &counted_text(CHECK)) > 1 {
            let what = format!("the block at byte {} was changed", scan.length);
            return Err(damaged(path, &what));
        }
        if let Some((audit, record, data_length)) = finish {
            let mut end = Vec::new();
            let summary = Summary {
                description: &description(&scan.header),
                progress: scan.progress,
                chunks: &scan.chunks,
                header: &scan.header_record,
                audit: record,
            };
            put_end(&mut end, data_length, &summary.bytes());
            if tail[(data_length - scan.length) as usize..] == end {
                scan.audit = Some(audit);
                return Ok(scan);
            }
        }
        if tail != plain_end() {
            scan.dropped = tail.len() as u64;
        }
        Ok(scan)
    }

    /// Takes a block.
    fn take(&mut self, piece: &Piece, keep: bool) -> Option<()> {
        let (blocks, rows, checkpoint) = piece.end.as_ref()?;
        let width = self.columns.len();
        self.progress = self.progress.after(&piece.numbers, width);
        self.checkpoint.clone_from(checkpoint);
        self.chunks.extend(piece.place());
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

    /// Reads the header up to its checksum, where the first block begins.
    fn start(records: &mut Records<'_>) -> Result<Scan> {
        let path = records.path;
        let mut header = None;
        while records.next()? {
            if let Some(entries) = records.metadata(HEADER) {
                header::check_format(path, entries.get("format").map(String::as_str))?;
                let record = Metadata {
                    name: HEADER,
                    place: records.place,
                    length: records.length(),
                };
                header = Some((entries, record));
            }
            match (records.is_right_check(), header) {
                (Some(true), Some((entries, header_record))) => {
                    let text = |key| entries.get(key).map(String::as_str).unwrap_or_default();
                    let header = header::from_text(path, text("columns"), text("metadata"))?;
                    return Ok(Scan {
                        columns: vec![Vec::new(); header.columns.len()],
                        header,
                        header_record,
                        audit: None,
                        progress: Progress::default(),
                        checkpoint: Vec::new(),
                        chunks: Vec::new(),
                        length: records.end,
                        check: records.check_with_record(),
                        dropped: 0,
                    });
                }
                (Some(false), _) => break,
                (_, None) if [op::CHANNEL, op::MESSAGE, op::CHUNK].contains(&records.code) => {
                    return Err(header::no_run(path));
                }
                (_, found) => header = found,
            }
            if records.code == op::DATA_END {
                break;
            }
        }
        Err(file_error(
            ErrorKind::Syntax,
            path,
            "the header of the run is cut off or changed",
        )
        .hint("without it the rows cannot be read; repeat the run"))
    }
}

/// Records whose checksum has not been read yet: a block, or the audit.
struct Piece {
    numbers: Vec<f64>,
    /// Place and length of the chunk and of its data, and its times.
    chunk: Option<(u64, u64, u64, (u64, u64))>,
    /// Place and length of the index after it.
    index: Option<(u64, u64)>,
    /// Blocks and rows up to its end, and the checkpoint there.
    end: Option<(u64, u64, Vec<u64>)>,
    audit: Option<(Value, Metadata)>,
    /// Whether every record was understood.
    is_sound: bool,
}

impl Default for Piece {
    fn default() -> Self {
        Piece {
            numbers: Vec::new(),
            chunk: None,
            index: None,
            end: None,
            audit: None,
            is_sound: true,
        }
    }
}

impl Piece {
    fn record(&mut self, records: &Records<'_>, layout: &Layout) {
        let understood = if records.code == op::CHUNK {
            self.chunk.is_none() && self.read_chunk(records, layout).is_some()
        } else if records.code == op::MESSAGE_INDEX {
            self.index = Some((records.place, records.length()));
            true
        } else if let Some(entries) = records.metadata(CHECKPOINT) {
            self.end = block_end(&entries);
            self.end.is_some()
        } else if let Some(entries) = records.metadata(AUDIT) {
            let record = Metadata {
                name: AUDIT,
                place: records.place,
                length: records.length(),
            };
            let audit = entries.get("audit");
            let audit = audit.and_then(|text| serde_json::from_str(text).ok());
            self.audit = audit.map(|audit| (audit, record));
            self.audit.is_some()
        } else {
            false
        };
        self.is_sound &= understood;
    }

    fn read_chunk(&mut self, records: &Records<'_>, layout: &Layout) -> Option<()> {
        if !is_plain_chunk(&records.body) {
            return None;
        }
        let Ok(ReadRecord::Chunk { header, data }) =
            mcap::parse_record(records.code, &records.body)
        else {
            return None;
        };
        let whole = header.compression.is_empty()
            && header.uncompressed_size == data.len() as u64
            && crc32fast::hash(&data) == header.uncompressed_crc;
        if !whole {
            return None;
        }
        let times = (header.message_start_time, header.message_end_time);
        self.chunk = Some((records.place, records.length(), data.len() as u64, times));
        for message in mcap::read::ChunkReader::new(header, &data).ok()? {
            if let ReadRecord::Message { data, .. } = message.ok()? {
                self.numbers.extend(layout.read(&data)?);
            }
        }
        Some(())
    }

    /// Chunk index entry for the summary section.
    fn place(&self) -> Option<Chunk> {
        let (place, length, data_length, times) = self.chunk?;
        let (index_place, index_length) = self.index?;
        Some(Chunk {
            times,
            place,
            length,
            data_length,
            index_place,
            index_length,
        })
    }
}

/// Blocks, rows and checkpoint from the record at the end of a block.
fn block_end(entries: &BTreeMap<String, String>) -> Option<(u64, u64, Vec<u64>)> {
    Some((
        entries.get("block")?.parse().ok()?,
        entries.get("rows")?.parse().ok()?,
        words_from_text(entries.get("words")?)?,
    ))
}

/// The records of a file, one at a time.
struct Records<'a> {
    path: &'a Path,
    reader: BufReader<&'a File>,
    /// Length of the file when it was opened.
    file_length: u64,
    /// Bytes of the file that have not been read.
    left: u64,
    code: u8,
    body: Vec<u8>,
    /// Where the last record read begins.
    place: u64,
    /// Where it ends.
    end: u64,
    /// Checksum of the file up to its beginning.
    check: Hasher,
}

impl<'a> Records<'a> {
    fn new(path: &'a Path, mut file: &'a File) -> Result<Self> {
        let failed = |error| read_error(path, &error);
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut signature = [0; mcap::MAGIC.len()];
        if length == 0 {
            return Err(nothing_begun(path));
        }
        match reader.read_exact(&mut signature) {
            Ok(()) if signature == mcap::MAGIC => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Err(failed(error));
            }
            _ => return Err(header::no_run(path)),
        }
        let mut check = Hasher::new();
        check.update(&signature);
        Ok(Records {
            path,
            reader,
            file_length: length,
            left: length.saturating_sub(signature.len() as u64),
            code: 0,
            body: Vec::new(),
            place: 0,
            end: signature.len() as u64,
            check,
        })
    }

    /// Reads the next record. False if no complete one is left.
    fn next(&mut self) -> Result<bool> {
        if self.place > 0 {
            self.check = self.check_with_record();
        }
        let Some(left) = self.left.checked_sub(PREFIX) else {
            return Ok(false);
        };
        let mut prefix = [0; PREFIX as usize];
        self.read(|reader| reader.read_exact(&mut prefix))?;
        let [code, length @ ..] = prefix;
        let length = u64::from_le_bytes(length);
        let Some(left) = left.checked_sub(length) else {
            self.left = 0;
            return Ok(false);
        };
        let mut body = std::mem::take(&mut self.body);
        body.resize(length as usize, 0);
        self.read(|reader| reader.read_exact(&mut body))?;
        self.body = body;
        self.left = left;
        self.code = code;
        self.place = self.end;
        self.end += PREFIX + length;
        Ok(true)
    }

    fn read(&mut self, step: impl FnOnce(&mut BufReader<&File>) -> io::Result<()>) -> Result<()> {
        step(&mut self.reader).map_err(|error| read_error(self.path, &error))
    }

    /// Length of the last record read.
    fn length(&self) -> u64 {
        self.end - self.place
    }

    /// The entries of the last record read, if it holds metadata of this name.
    fn metadata(&self, name: &str) -> Option<BTreeMap<String, String>> {
        if self.code != op::METADATA {
            return None;
        }
        let (found, entries) = read_metadata(&self.body)?;
        (found == name).then_some(entries)
    }

    /// If the record is a checksum: whether it matches everything before it.
    fn is_right_check(&self) -> Option<bool> {
        let is_check = self.code == op::METADATA && self.body.starts_with(&counted_text(CHECK));
        is_check.then(|| {
            let right = check_record(&self.check);
            right[PREFIX as usize..] == self.body
        })
    }

    /// Checksum of the file up to the end of the record.
    fn check_with_record(&self) -> Hasher {
        let mut check = self.check.clone();
        check.update(&[self.code]);
        check.update(&(self.body.len() as u64).to_le_bytes());
        check.update(&self.body);
        check
    }
}
