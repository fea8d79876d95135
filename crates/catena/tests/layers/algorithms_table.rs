//! `ALGORITHMS.md` says what the records beside the code say, and the files that it names run.

use crate::uses::{Crate, Module};
use crate::{code, root, sources};
use catena::catalogue::{ALL, Card};
use std::collections::BTreeSet;
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
}

/// The modules that those of a list use, directly or through others.
fn reached(all: &Crate, from: &[&str]) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let uses = all.uses();
    loop {
        let before = found.len();
        for one in uses.iter().filter(|one| !one.is_export) {
            let starts =
                from.contains(&&one.from.join("/")[..]) || from.contains(&&one.from[0][..]);
            if starts || found.contains(&one.from) {
                found.insert(one.to.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Every file of the table has the record that names it, and what is called: itself, or through files that use it. It runs: the checked
/// entry points, simulations, laws or another crate use it. (A call of the table is public, so that the compiler does not tell.)
#[test]
fn files_of_the_table_run() {
    let root = root();
    let text = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let all = Crate::read(&root);
    let runs = reached(&all, &["doors", "simulate", "laws", "building"]);
    let others = other_crates();
    for card in ALL {
        let (file, name) = (card.file, card.name);
        let module = all
            .module(file)
            .unwrap_or_else(|| panic!("{file} is no module"));
        let own = text(file);
        for line in ["pub const CARD".into(), format!("name: \"{name}\"")] {
            assert!(
                own.contains(&line),
                "{file} is not the file of {name}: no `{line}`"
            );
        }
        for call in card.call.split(", ") {
            let words: Vec<&str> = call.split("::").collect();
            let defines = |file: &str| {
                let code = code(file);
                ["fn", "struct", "enum", "trait"].iter().any(|kind| {
                    let starts = |word: &&str| {
                        [" ", "<", "("]
                            .iter()
                            .any(|end| code.contains(&format!("pub {kind} {word}{end}")))
                    };
                    words.iter().any(starts)
                })
            };
            let through = all.files().filter(|file| defines(file)).any(|other| {
                let other = all.module(other).expect("listed").join("/");
                other == module.join("/") || reached(&all, &[&other]).contains(module)
            });
            assert!(through, "`{call}` of {name} does not lead to {file}");
            let named = |text: &String| words.iter().any(|word| has_word(text, word));
            assert!(
                runs.contains(module) || module[0] == "doors" || others.iter().any(named),
                "nothing uses {file}: `{call}` does not run"
            );
        }
    }
}

/// Is there this word in a text?
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

/// The sources of all crates but `catena`, tests apart.
fn other_crates() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).expect("crates") {
        let folder = entry.expect("an entry").path();
        let is_own = folder.file_name().is_some_and(|name| name == "catena");
        if !is_own && folder.join("src").exists() {
            sources(&folder.join("src"), &mut files);
        }
    }
    assert!(files.len() > 100, "only {} files", files.len());
    (files.iter())
        .map(|file| std::fs::read_to_string(file).expect("text"))
        .collect()
}
