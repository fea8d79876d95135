//! `ALGORITHMS.md` says what the records beside the code say.

use catena::catalogue::{ALL, Card};
use std::path::Path;

fn row(card: &Card) -> String {
    format!(
        "| {} | {} | `{}` | [`{}`](crates/catena/src/{}) | {} | {} |",
        card.question, card.name, card.call, card.file, card.file, card.order, card.source
    )
}

#[test]
fn the_table_is_the_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("ALGORITHMS.md")).expect("ALGORITHMS.md exists");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("](crates/catena/src/"))
        .collect();
    let expected: Vec<String> = ALL.iter().map(row).collect();
    assert_eq!(
        rows.join("\n"),
        expected.join("\n"),
        "the table of ALGORITHMS.md differs from the records; it should read:\n{}",
        expected.join("\n")
    );
    for card in ALL {
        assert!(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("src")
                .join(card.file)
                .exists(),
            "{} does not exist",
            card.file
        );
    }
}
