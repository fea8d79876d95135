//! The known word closest to a mistyped one.

/// The closest of the known words, if any is close.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (edits(word, candidate), *candidate))
        .filter(|&(edits, candidate)| {
            let letters = candidate.chars().count();
            edits < letters && edits <= 1 + letters / 4
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// What to do about an unknown word: the nearest known one, or all of them.
pub fn advice(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected one of: {}", known.join(", ")),
    }
}

/// Letters to change, add, drop or swap with their neighbour.
fn edits(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(100).collect();
    let to: Vec<char> = to.chars().collect();
    let mut table = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(from[i - 1] != to[j - 1]);
                let mut fewest = (table[i - 1][j - 1] + change)
                    .min(table[i - 1][j] + 1)
                    .min(table[i][j - 1] + 1);
                if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                    fewest = fewest.min(table[i - 2][j - 2] + 1);
                }
                fewest
            };
        }
    }
    table[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["axis", "origin", "damping"];
        assert_eq!(nearest("axsi", &known), Some("axis"));
        assert_eq!(nearest("orgin", &known), Some("origin"));
        assert_eq!(nearest("dampening", &known), Some("damping"));
        assert_eq!(nearest("colour", &known), None);
        assert_eq!(nearest("d", &["a", "b"]), None);
    }
}
