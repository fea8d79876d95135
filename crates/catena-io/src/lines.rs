//! From a position in a text to its line.

use catena::error::Place;
use std::sync::Arc;

/// A text, the file it came from, and where its lines start.
pub struct Lines {
    file: Arc<str>,
    starts: Vec<usize>,
    last: usize,
}

impl Lines {
    /// The lines of a text that came from this file.
    pub fn new(file: &str, text: &str) -> Self {
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut lines = Lines {
            file: file.into(),
            starts: std::iter::once(0).chain(after_newline).collect(),
            last: 1,
        };
        lines.last = lines.line(text.trim_end().len().saturating_sub(1));
        lines
    }

    /// Name of the file.
    pub fn file(&self) -> Arc<str> {
        Arc::clone(&self.file)
    }

    /// Line of a byte position, counted from 1.
    pub fn line(&self, position: usize) -> usize {
        self.starts.partition_point(|&start| start <= position)
    }

    /// The last line that is not blank.
    pub fn last(&self) -> usize {
        self.last
    }

    /// Place of a byte position.
    pub fn place(&self, position: usize) -> Place {
        Place::new(self.file(), self.line(position))
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_count_from_one() {
        let lines = Lines::new("x", "ab\n\nc");
        let found: Vec<_> = (0..5).map(|at| lines.line(at)).collect();
        assert_eq!(found, [1, 1, 1, 2, 3]);
        assert_eq!(lines.last(), 3);
        assert_eq!(Lines::new("x", "ab\n\n").last(), 1);
    }
}
