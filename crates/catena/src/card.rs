//! What a file says about the algorithm in it.

/// Description of an algorithm: the record shown by `ALGORITHMS.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Usual name.
    pub name: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// The function or type to call.
    pub call: &'static str,
    /// The file it is in, below `crates/catena/src`.
    pub file: &'static str,
    /// Cost in the number of bodies n and depth d.
    pub order: &'static str,
    /// Where it was published.
    pub source: &'static str,
}
