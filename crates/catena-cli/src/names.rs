//! The known name closest to a mistyped one.

use strsim::damerau_levenshtein;

/// The closest of the known names, if any is close.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (damerau_levenshtein(name, candidate), candidate))
        .filter(|&(edits, candidate)| edits <= 1 + candidate.chars().count() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The first few names, for a hint.
pub fn first_few<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const FEW: usize = 12;
    let mut names = names.into_iter();
    let mut few: Vec<&str> = names.by_ref().take(FEW).collect();
    if names.next().is_some() {
        few.push("…");
    }
    few.join(", ")
}
