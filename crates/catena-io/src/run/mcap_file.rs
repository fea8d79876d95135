//! Runs as MCAP.
//!
//! The file is complete after every block: data, then an end without summary. The next block is put where that end is. Its
//! bytes beyond the old end go out first, then those over it, so that a killed process leaves either the old end, after which
//! nobody reads, or the new block. Only [`Writer::finish`] adds the summary.

use super::header::{self, words_from_text, words_to_text};
use super::mcap_message::{Layout, schema};
use super::mcap_record::{PREFIX, Record, is_plain_chunk, plain_end, put_end, read_metadata};
use super::storage::{self, create_with, file_error, finished_error, read_error, write_at};
use super::{Contents, Header, Progress, Resumed, Sink};
use catena::error::{Error, ErrorKind, Result};
use mcap::records::{Record as ReadRecord, op};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const HEADER: &str = "catena.header";
const CHECKPOINT: &str = "catena.checkpoint";
const AUDIT: &str = "catena.audit";
const TOPIC: &str = "/run";
/// Number of the only schema and of the only channel.
const ID: u16 = 1;

/// Where a chunk is, for the summary.
struct Chunk {
    times: (u64, u64),
    place: u64,
    length: u64,
    data_length: u64,
    index_place: u64,
    index_length: u64,
}

/// Where a metadata record is, for the summary.
struct Metadata {
    name: &'static str,
    place: u64,
    length: u64,
}

pub(super) struct Writer {
    path: PathBuf,
    file: File,
    layout: Layout,
    width: usize,
    /// Schema and channel, to be repeated in the summary.
    description: Vec<u8>,
    header: Metadata,
    chunks: Vec<Chunk>,
    progress: Progress,
    /// Length of the data; the end of the file follows.
    length: u64,
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
        let length = bytes.len() as u64;
        bytes.extend(plain_end());
        let file = create_with(path, &bytes, overwrite)?;
        Ok(Writer::new(path, file, header, header_record, length))
    }

    fn new(path: &Path, file: File, header: &Header, header_record: Metadata, length: u64) -> Self {
        Writer {
            path: path.to_path_buf(),
            file,
            layout: Layout::new(&header.columns),
            width: header.columns.len(),
            description: description(header),
            header: header_record,
            chunks: Vec::new(),
            progress: Progress::default(),
            length,
        }
    }

    /// Puts bytes, the end of the file included, where the end of the file is now, then does the rest. If something
    /// fails, the file is as before.
    fn append(
        &mut self,
        bytes: &[u8],
        rest: impl FnOnce(&File, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let old_end = plain_end();
        let (over, beyond) = bytes.split_at(old_end.len());
        let file_length = self.length + old_end.len() as u64;
        let result = write_at(&mut self.file, file_length, beyond)
            .and_then(|()| write_at(&mut self.file, self.length, over))
            .and_then(|()| rest(&self.file, &self.path));
        if result.is_err() {
            // If this fails too, the reader passes over what is left.
            let _ = write_at(&mut self.file, self.length, &old_end);
            let _ = self.file.set_len(file_length);
        }
        result
    }

    /// The messages of a block and where each is.
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

    fn summary(&self, audit: &Metadata) -> Vec<u8> {
        let mut bytes = self.description.clone();
        let start = self.chunks.iter().map(|chunk| chunk.times.0).min();
        let end = self.chunks.iter().map(|chunk| chunk.times.1).max();
        Record::new(op::STATISTICS)
            .u64(self.progress.rows)
            .u16(1)
            .u32(1)
            .u32(0)
            // Header, a checkpoint for each block, audit.
            .u32(self.progress.blocks as u32 + 2)
            .u32(self.chunks.len() as u32)
            .u64(start.unwrap_or(0))
            .u64(end.unwrap_or(0))
            .u32(10)
            .u16(ID)
            .u64(self.progress.rows)
            .put(&mut bytes);
        for chunk in &self.chunks {
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
        for record in [&self.header, audit] {
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
        let data_length = bytes.len() as u64;
        bytes.extend(plain_end());
        self.append(&bytes, |_, _| Ok(()))?;
        self.length += data_length;
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
        let length = bytes.len() as u64;
        let audit = Metadata {
            name: AUDIT,
            place: self.length,
            length,
        };
        put_end(&mut bytes, self.length + length, &self.summary(&audit));
        self.append(&bytes, storage::synchronize)
    }
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
    let mut writer = Writer::new(path, file, &scan.header, scan.header_record, scan.length);
    writer.chunks = scan.chunks;
    writer.progress = scan.progress;
    let end = plain_end();
    write_at(&mut writer.file, scan.length, &end)
        .and_then(|()| writer.file.set_len(scan.length + end.len() as u64))
        .map_err(|error| storage::create_error(path, &error))?;
    Ok(Resumed {
        progress: scan.progress,
        sink: Box::new(writer),
        header: scan.header,
        checkpoint: scan.checkpoint,
    })
}

/// What a file holds up to its last complete block.
struct Scan {
    header: Header,
    header_record: Metadata,
    columns: Vec<Vec<f64>>,
    audit: Option<Value>,
    progress: Progress,
    checkpoint: Vec<u64>,
    chunks: Vec<Chunk>,
    length: u64,
}

impl Scan {
    /// Reads a file; its numbers are kept if asked for.
    fn run(path: &Path, file: &File, keep: bool) -> Result<Scan> {
        let mut records = Records::new(path, file)?;
        let mut scan = Scan::start(&mut records)?;
        let layout = Layout::new(&scan.header.columns);
        let width = scan.header.columns.len();
        let mut block = Block::default();
        // The last block of a killed run may be spoilt, none before it.
        let mut spoilt = false;
        while records.next()? && records.code != op::DATA_END {
            if records.code == op::CHUNK {
                block.chunk(&records, &layout);
            } else if records.code == op::MESSAGE_INDEX {
                block.index = Some((records.place, records.length()));
            } else if let Some(entries) = records.metadata(CHECKPOINT) {
                if spoilt {
                    return Err(records.damaged());
                }
                let Some((progress, checkpoint)) = block.end(&entries, scan.progress, width) else {
                    spoilt = true;
                    continue;
                };
                scan.chunks.extend(block.place());
                if keep {
                    for row in block.numbers.chunks_exact(width) {
                        for (column, &value) in scan.columns.iter_mut().zip(row) {
                            column.push(value);
                        }
                    }
                }
                block = Block::default();
                scan.progress = progress;
                scan.checkpoint = checkpoint;
                scan.length = records.end;
            } else if let Some(entries) = records.metadata(AUDIT) {
                if spoilt {
                    return Err(records.damaged());
                }
                // If the audit is spoilt, the run was killed while it was being finished.
                let audit = entries.get("audit");
                scan.audit = audit.and_then(|text| serde_json::from_str(text).ok());
            }
        }
        Ok(scan)
    }

    /// Reads up to the channel, where the first block begins.
    fn start(records: &mut Records<'_>) -> Result<Scan> {
        let path = records.path;
        let mut header = None;
        while records.next()? {
            if let Some(entries) = records.metadata(HEADER) {
                let entry = |key| entries.get(key).map(String::as_str);
                header::check_format(path, entry("format"))?;
                let columns = entry("columns").unwrap_or_default();
                let metadata = entry("metadata").unwrap_or_default();
                let record = Metadata {
                    name: HEADER,
                    place: records.place,
                    length: records.length(),
                };
                header = Some((header::from_text(path, columns, metadata)?, record));
            }
            match (records.code, header) {
                (op::CHANNEL, Some((header, header_record))) => {
                    return Ok(Scan {
                        columns: vec![Vec::new(); header.columns.len()],
                        header,
                        header_record,
                        audit: None,
                        progress: Progress::default(),
                        checkpoint: Vec::new(),
                        chunks: Vec::new(),
                        length: records.end,
                    });
                }
                (op::CHANNEL | op::MESSAGE | op::CHUNK | op::DATA_END, None) => {
                    return Err(header::no_run(path));
                }
                (_, found) => header = found,
            }
        }
        Err(
            file_error(ErrorKind::Syntax, path, "the header of the run is cut off")
                .hint("the file holds no results; start the run anew"),
        )
    }
}

/// A block of which the checkpoint has not been seen.
#[derive(Default)]
struct Block {
    numbers: Vec<f64>,
    /// Place and length of the chunk and of its data, and its times.
    chunk: Option<(u64, u64, u64, (u64, u64))>,
    /// Place and length of the index after it.
    index: Option<(u64, u64)>,
    /// Whether something was not as it was written.
    spoilt: bool,
}

impl Block {
    fn chunk(&mut self, records: &Records<'_>, layout: &Layout) {
        self.spoilt |= self.chunk.is_some() || self.read_chunk(records, layout).is_none();
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

    /// Progress and checkpoint after this block; nothing if the block is not as it was written.
    fn end(
        &self,
        entries: &BTreeMap<String, String>,
        before: Progress,
        width: usize,
    ) -> Option<(Progress, Vec<u64>)> {
        let blocks: u64 = entries.get("block")?.parse().ok()?;
        let rows: u64 = entries.get("rows")?.parse().ok()?;
        let checkpoint = words_from_text(entries.get("words")?)?;
        let progress = before.after(&self.numbers, width);
        let same = !self.spoilt && (progress.blocks, progress.rows) == (blocks, rows);
        same.then_some((progress, checkpoint))
    }

    /// Where the chunk is, for the summary.
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

/// The records of a file, one at a time.
struct Records<'a> {
    path: &'a Path,
    reader: BufReader<&'a File>,
    /// Bytes of the file that have not been read.
    left: u64,
    code: u8,
    body: Vec<u8>,
    /// Where the last record read begins.
    place: u64,
    /// Where it ends.
    end: u64,
}

impl<'a> Records<'a> {
    fn new(path: &'a Path, mut file: &'a File) -> Result<Self> {
        let failed = |error| read_error(path, &error);
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut signature = [0; mcap::MAGIC.len()];
        match reader.read_exact(&mut signature) {
            Ok(()) if signature == mcap::MAGIC => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Err(failed(error));
            }
            _ => return Err(header::no_run(path)),
        }
        Ok(Records {
            path,
            reader,
            left: length.saturating_sub(signature.len() as u64),
            code: 0,
            body: Vec::new(),
            place: 0,
            end: signature.len() as u64,
        })
    }

    /// Reads the next record. If no whole one is left, the answer is no.
    fn next(&mut self) -> Result<bool> {
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

    fn damaged(&self) -> Error {
        let message = format!("the run is damaged before byte {}", self.place);
        file_error(ErrorKind::Syntax, self.path, message)
    }
}
