//! The records of MCAP as bytes, little-endian: an operation code, the length of the body, the body.
//!
//! The `mcap` crate writes whole files only; a run must be appendable. Messages are read by the crate; lengths are read here,
//! since the crate would allocate the 4 GB that a corrupt length may specify.

use mcap::records::op;
use std::collections::BTreeMap;

/// A record being built.
pub(super) struct Record {
    code: u8,
    body: Vec<u8>,
}

impl Record {
    pub(super) fn new(code: u8) -> Self {
        Record {
            code,
            body: Vec::new(),
        }
    }

    pub(super) fn u16(mut self, value: u16) -> Self {
        self.body.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.body.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.body.extend(value.to_le_bytes());
        self
    }

    /// Bytes as they are.
    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.body.extend(bytes);
        self
    }

    /// A text or bytes, after their length in four bytes.
    pub(super) fn text(self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        self.u32(text.len() as u32).bytes(text)
    }

    /// A map of texts, after its length in bytes.
    pub(super) fn map(self, entries: &[(&str, &str)]) -> Self {
        let mut inner = Record::new(0);
        for (key, value) in entries {
            inner = inner.text(key).text(value);
        }
        self.text(inner.body)
    }

    /// Appends the record to a buffer.
    pub(super) fn put(self, buffer: &mut Vec<u8>) {
        buffer.push(self.code);
        buffer.extend((self.body.len() as u64).to_le_bytes());
        buffer.extend(self.body);
    }
}

/// Bytes before the body of a record.
pub(super) const PREFIX: u64 = 9;

/// Appends the end of a file whose data have this length: end of data, summary if there is one, a footer with its position,
/// and the signature.
pub(super) fn put_end(buffer: &mut Vec<u8>, data_length: u64, summary: &[u8]) {
    Record::new(op::DATA_END).u32(0).put(buffer);
    let (start, check) = match summary {
        [] => (0, 0),
        _ => {
            let start = data_length + PREFIX + 4;
            // The checksum covers the footer up to the checksum itself.
            let mut checked = summary.to_vec();
            checked.push(op::FOOTER);
            checked.extend(20_u64.to_le_bytes());
            checked.extend(start.to_le_bytes());
            checked.extend(0_u64.to_le_bytes());
            (start, crc32fast::hash(&checked))
        }
    };
    buffer.extend(summary);
    Record::new(op::FOOTER)
        .u64(start)
        .u64(0)
        .u32(check)
        .put(buffer);
    buffer.extend(mcap::MAGIC);
}

/// The end of a file without summary.
pub(super) fn plain_end() -> Vec<u8> {
    let mut end = Vec::new();
    put_end(&mut end, 0, &[]);
    end
}

/// Takes this many bytes off the front, if present.
fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = rest;
    Some(taken)
}

/// Takes bytes after their length in four bytes off the front.
fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
    take(bytes, length.into())
}

/// Name and entries of the body of a metadata record.
pub(super) fn read_metadata(mut body: &[u8]) -> Option<(String, BTreeMap<String, String>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let name = text(take_text(&mut body)?)?;
    let mut inside = take_text(&mut body)?;
    let mut entries = BTreeMap::new();
    while !inside.is_empty() {
        let key = text(take_text(&mut inside)?)?;
        let value = text(take_text(&mut inside)?)?;
        if entries.insert(key, value).is_some() {
            return None;
        }
    }
    Some((name, entries))
}

/// Is this the body of a chunk without compression that contains complete messages only?
pub(super) fn is_plain_chunk(body: &[u8]) -> bool {
    let mut rest = body;
    let head = |rest: &mut &[u8]| {
        take(rest, 28)?; // times, size and checksum of the data
        take_text(rest)?.is_empty().then_some(())?;
        take(rest, 8).map(|_| ())
    };
    let message = |rest: &mut &[u8]| {
        let code = take(rest, 1)?[0];
        let length = u64::from_le_bytes(take(rest, 8)?.try_into().ok()?);
        take(rest, length)?;
        (code == op::MESSAGE).then_some(())
    };
    if head(&mut rest).is_none() {
        return false;
    }
    while !rest.is_empty() {
        if message(&mut rest).is_none() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_are_not_there_are_refused() {
        let mut buffer = Vec::new();
        let entries = [("block", "1"), ("rows", "2")];
        let record = Record::new(op::METADATA).text("name").map(&entries);
        record.put(&mut buffer);
        let body = &buffer[PREFIX as usize..];
        let (name, found) = read_metadata(body).expect("it is whole");
        assert_eq!((name.as_str(), found["rows"].as_str()), ("name", "2"));
        for at in 0..body.len() {
            let mut changed = body.to_vec();
            changed[at] = 0xff;
            // no call may allocate for data that do not exist
            if let Some((_, entries)) = read_metadata(&changed) {
                assert!(entries.values().all(|value| value.len() < body.len()));
            }
            assert!(read_metadata(&body[..at]).is_none());
        }
        let mut huge = body.to_vec();
        huge[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(read_metadata(&huge).is_none());
    }

    #[test]
    fn chunks_hold_nothing_but_messages() {
        let chunk = |compression: &str, inside: &[u8]| {
            let mut buffer = Vec::new();
            let record = Record::new(op::CHUNK).u64(0).u64(0).u64(0).u32(0);
            record
                .text(compression)
                .u64(0)
                .bytes(inside)
                .put(&mut buffer);
            buffer.split_off(PREFIX as usize)
        };
        let mut message = Vec::new();
        Record::new(op::MESSAGE).u16(1).put(&mut message);
        let mut schema = Vec::new();
        Record::new(op::SCHEMA)
            .u16(1)
            .u32(u32::MAX)
            .put(&mut schema);
        assert!(is_plain_chunk(&chunk("", &message)));
        assert!(!is_plain_chunk(&chunk("zstd", &message)));
        assert!(!is_plain_chunk(&chunk("", &schema)));
        assert!(!is_plain_chunk(&chunk("", &message[..message.len() - 1])));
        let mut huge = chunk("", &message);
        huge[28..32].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(!is_plain_chunk(&huge));
    }
}
