//! A table of doubles in one Parquet file, with key-value texts.
//!
//! The last text is a checksum: the CRC-32 of the whole file with zeros in place of its own digits. Parquet itself has
//! checksums of pages only, which leave the rest of the file unprotected.

use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::data_type::DoubleType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// Key of the checksum.
const CHECK: &str = "catena.check";
/// Key and beginning of the checksum as stored in the file: a Thrift field of eight bytes follows.
const BEFORE_DIGITS: &[u8] = b"catena.check\x18\x08";
/// Digits before the checksum is known.
const NO_DIGITS: &str = "00000000";
/// Signature at the end of a file, after its texts and the length of the footer in four bytes.
const SIGNATURE: &[u8; 4] = b"PAR1";

/// Writes a table, group of rows by group of rows.
pub(super) struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<Hashing<W>>,
}

/// Passes bytes on and computes their checksum.
struct Hashing<W> {
    target: W,
    check: crc32fast::Hasher,
}

impl<W> Hashing<W> {
    fn new(target: W) -> Self {
        Hashing {
            target,
            check: crc32fast::Hasher::new(),
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.target.write(bytes)?;
        self.check.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

impl<W: Read + Write + Seek + Send> TableWriter<W> {
    /// Starts a table with columns of these names.
    pub(super) fn new(target: W, names: &[&str]) -> Result<Self> {
        let field = |name: &&str| {
            let field = Type::primitive_type_builder(name, PhysicalType::DOUBLE)
                .with_repetition(Repetition::REQUIRED);
            Ok(Arc::new(field.build()?))
        };
        let fields = names.iter().map(field).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("run")
            .with_fields(fields)
            .build()?;
        // Doubles of a simulation rarely repeat: a dictionary would make the file larger.
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let target = Hashing::new(target);
        let writer = SerializedFileWriter::new(target, Arc::new(schema), Arc::new(properties))?;
        Ok(TableWriter { writer })
    }

    /// Appends rows, given column by column.
    pub(super) fn rows(&mut self, columns: &[Vec<f64>]) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            writer
                .typed::<DoubleType>()
                .write_batch(column, None, None)?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Adds a key-value text to the table.
    pub(super) fn text(&mut self, key: &str, value: &str) {
        let entry = KeyValue::new(key.to_string(), value.to_string());
        self.writer.append_key_value_metadata(entry);
    }

    /// Ends the table.
    pub(super) fn finish(mut self) -> Result<W> {
        self.text(CHECK, NO_DIGITS);
        let Hashing { mut target, check } = self.writer.into_inner()?;
        let Some(place) = digits(&mut target)? else {
            return Err(ParquetError::General("no place for the checksum".into()));
        };
        target.seek(SeekFrom::Start(place))?;
        write!(target, "{:08x}", check.finalize())?;
        target.flush()?;
        Ok(target)
    }
}

/// Offset of the digits of the checksum, if the file has one.
fn digits(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut end = [0; 8];
    let Some(before_end) = length.checked_sub(end.len() as u64) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(before_end))?;
    file.read_exact(&mut end)?;
    let [a, b, c, d, signature @ ..] = end;
    let footer_length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(place) = before_end.checked_sub(footer_length) else {
        return Ok(None);
    };
    if signature != *SIGNATURE {
        return Ok(None);
    }
    let mut footer = Vec::new();
    file.seek(SeekFrom::Start(place))?;
    file.take(footer_length).read_to_end(&mut footer)?;
    let found = footer
        .windows(BEFORE_DIGITS.len())
        .rposition(|part| part == BEFORE_DIGITS);
    Ok(found
        .map(|found| found + BEFORE_DIGITS.len())
        .filter(|start| start + NO_DIGITS.len() <= footer.len())
        .map(|start| place + start as u64))
}

/// Result of verifying the checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// The file is unchanged.
    Whole,
    /// The file is corrupt.
    Broken,
    /// There is no checksum.
    Absent,
}

impl Seal {
    /// Reads a file and compares it with its checksum.
    pub(super) fn of(file: &mut File) -> io::Result<Seal> {
        let Some(place) = digits(file)? else {
            return Ok(Seal::Absent);
        };
        let mut bytes = Hashing::new(io::sink());
        file.rewind()?;
        // half a gigabyte is read in large pieces
        let mut file = io::BufReader::with_capacity(1 << 18, file);
        io::copy(&mut Read::take(&mut file, place), &mut bytes)?;
        let mut found = [0; NO_DIGITS.len()];
        file.read_exact(&mut found)?;
        bytes.write_all(NO_DIGITS.as_bytes())?;
        io::copy(&mut file, &mut bytes)?;
        let expected = format!("{:08x}", bytes.check.finalize());
        Ok(match found == expected.as_bytes() {
            true => Seal::Whole,
            false => Seal::Broken,
        })
    }
}

/// A table in a file.
pub(super) struct Table {
    reader: SerializedFileReader<File>,
    /// Bytes of the file.
    length: u64,
}

impl Table {
    pub(super) fn open(file: File) -> Result<Self> {
        let length = file.metadata()?.len();
        let reader = SerializedFileReader::new(file)?;
        Ok(Table { reader, length })
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> u64 {
        let rows = self.reader.metadata().file_metadata().num_rows();
        u64::try_from(rows).unwrap_or(0)
    }

    /// The key-value texts of the table.
    pub(super) fn texts(&self) -> HashMap<&str, &str> {
        let metadata = self.reader.metadata().file_metadata();
        let entries = metadata.key_value_metadata().into_iter().flatten();
        entries
            .filter_map(|entry| Some((entry.key.as_str(), entry.value.as_deref()?)))
            .collect()
    }

    /// Whether the columns are doubles without gaps and have these names.
    pub(super) fn has_columns(&self, names: &[&str]) -> bool {
        let metadata = self.reader.metadata().file_metadata();
        let columns = metadata.schema_descr().columns();
        let fits = |(column, name): (&parquet::schema::types::ColumnDescPtr, &&str)| {
            column.name() == *name
                && column.physical_type() == PhysicalType::DOUBLE
                && column.max_def_level() == 0
                && column.max_rep_level() == 0
        };
        columns.len() == names.len() && columns.iter().zip(names).all(fits)
    }

    /// Appends the numbers of each column, group of rows by group of rows.
    pub(super) fn read_into(&self, columns: &mut [Vec<f64>]) -> Result<()> {
        // room for all of them, if the file is as long as it says
        let rows = usize::try_from(self.rows()).unwrap_or(usize::MAX);
        let most = usize::try_from(self.length / 8).unwrap_or(usize::MAX) / columns.len().max(1);
        columns
            .iter_mut()
            .for_each(|column| column.reserve(rows.min(most)));
        for index in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(index)?;
            let rows = usize::try_from(group.metadata().num_rows())
                .map_err(|error| ParquetError::External(Box::new(error)))?;
            for (index, column) in columns.iter_mut().enumerate() {
                let reader = group.get_column_reader(index)?;
                let parquet::column::reader::ColumnReader::DoubleColumnReader(mut reader) = reader
                else {
                    return Err(ParquetError::General("a column is not of doubles".into()));
                };
                let before = column.len();
                while column.len() < before + rows {
                    let missing = before + rows - column.len();
                    let (_, count, _) = reader.read_records(missing, None, None, column)?;
                    if count == 0 {
                        return Err(ParquetError::General("a column is too short".into()));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The I/O error behind an error of the table.
pub(super) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}
