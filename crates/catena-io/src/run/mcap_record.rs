//! The records of MCAP as bytes, little-endian: an operation code, the length of the body, the body.
//!
//! The `mcap` crate writes whole files only; a run must be continued. Reading is left to the crate.

use mcap::records::op;

/// A record being put together.
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

/// Appends the end of a file whose data have this length: end of data, summary if there is one, a footer that tells where,
/// and the signature.
pub(super) fn put_end(buffer: &mut Vec<u8>, data_length: u64, summary: &[u8]) {
    Record::new(op::DATA_END).u32(0).put(buffer);
    let (start, check) = match summary {
        [] => (0, 0),
        _ => {
            let start = data_length + PREFIX + 4;
            // The footer is part of what is checked, up to the checksum itself.
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
