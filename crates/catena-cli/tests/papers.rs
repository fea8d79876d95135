//! docs/papers/equations.md has every number of the five papers, with commands, files and tests that exist.

mod common;

use common::run;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The numbers of each paper, counted in its text: equations, then tables and figures.
const PAPERS: [(&str, &str, usize); 5] = [
    ("Saha, space robot", "1–30, Fig. 1", 31),
    (
        "Saha 1995",
        "1, 2a, 2b, 3–8, 9a–9c, 10–14, 15a–15c, 16–21, 22a, 22b, 23–39, Fig. 1, Fig. 2",
        47,
    ),
    (
        "Saha 1999",
        "1–5, 6a, 6b, 7–10, 11a, 11b, 12–22, 23a, 23b, 24–38, 39a, 39b, 40–55, Fig. 1–10, Table 1, Table 2, Table 3",
        72,
    ),
    ("Chou", "1–63, Fig. 1, Fig. 2, Table 1", 66),
    (
        "Mufti",
        "1–39, 40-a, 40-b, 40-c, 40-d, 41–73, A-1–A-12, Remark 1–5, Fig. 1a, Fig. 1b, Fig. 2, Fig. 3a, Fig. 3b, Fig. 4, Fig. 5, Fig. 6",
        101,
    ),
];

struct Row {
    numbers: Vec<String>,
    places: Vec<String>,
    tests: Vec<String>,
    line: usize,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `1–3, 9a–9c, Fig. 1–3, A-1–A-4` one by one.
fn expanded(list: &str) -> Vec<String> {
    let mut all = Vec::new();
    for item in list.split(", ") {
        let Some((first, last)) = item.split_once('–') else {
            all.push(item.to_string());
            continue;
        };
        // what is before the number, the number, and a letter behind it
        let split = |text: &str| -> (String, usize, Option<char>) {
            let letter = text.chars().last().filter(char::is_ascii_lowercase);
            let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
            let at = digits
                .rfind(|c: char| !c.is_ascii_digit())
                .map_or(0, |k| k + 1);
            let number = digits[at..].parse().unwrap_or_else(|_| panic!("{item}"));
            (digits[..at].to_string(), number, letter)
        };
        let (prefix, low, low_letter) = split(first);
        let (_, high, high_letter) = split(last);
        match (low_letter, high_letter) {
            (Some(a), Some(b)) => all.extend((a..=b).map(|c| format!("{prefix}{low}{c}"))),
            _ => all.extend((low..=high).map(|k| format!("{prefix}{k}"))),
        }
    }
    all
}

/// What a cell has between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}

fn rows() -> BTreeMap<String, Vec<Row>> {
    let page = include_str!("../../../docs/papers/equations.md");
    let mut papers: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut paper = String::new();
    for (line, text) in (1..).zip(page.lines()) {
        if let Some(title) = text.strip_prefix("## ") {
            paper = title.to_string();
        }
        let cells: Vec<&str> = text.trim_matches('|').split(" | ").map(str::trim).collect();
        if !text.starts_with("| ") || cells[0] == "number" {
            continue;
        }
        assert_eq!(cells.len(), 4, "line {line} has not four cells");
        papers.entry(paper.clone()).or_default().push(Row {
            numbers: expanded(cells[0]),
            places: quoted(cells[2]),
            tests: quoted(cells[3]),
            line,
        });
    }
    papers
}

#[test]
fn every_number_of_the_papers_has_its_row() {
    let rows = rows();
    let known: BTreeSet<&str> = PAPERS.iter().map(|paper| paper.0).collect();
    let told: BTreeSet<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(told, known);
    for (paper, list, count) in PAPERS {
        let expected = expanded(list);
        assert_eq!(expected.len(), count, "{paper}");
        let mut found = BTreeSet::new();
        for number in rows[paper].iter().flat_map(|row| &row.numbers) {
            assert!(
                found.insert(number.clone()),
                "{paper}: {number} has two rows"
            );
        }
        let expected: BTreeSet<String> = expected.into_iter().collect();
        let missing: Vec<&String> = expected.difference(&found).collect();
        let invented: Vec<&String> = found.difference(&expected).collect();
        assert!(missing.is_empty(), "{paper}: no row for {missing:?}");
        assert!(invented.is_empty(), "{paper} has no {invented:?}");
    }
}

#[test]
fn every_row_names_what_exists() {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    for (paper, rows) in &rows() {
        for row in rows {
            let at = format!("line {} ({paper})", row.line);
            assert!(!row.places.is_empty(), "{at} names no command or file");
            assert!(!row.tests.is_empty(), "{at} names no test");
            for place in &row.places {
                let Some(command) = place.strip_prefix("catena ") else {
                    assert!(crates().join(place).is_file(), "{at}: no file {place}");
                    continue;
                };
                let words: Vec<&str> = command.split(' ').collect();
                let help = helps.entry(words[0].into()).or_insert_with(|| {
                    let run = run(&format!("{} --help", words[0]));
                    assert_eq!(run.code, 0, "{at}: no command {command}");
                    run.stdout
                });
                for word in &words[1..] {
                    let is_known = match words[0] {
                        "study" => help.contains(word),
                        _ => !word.starts_with("--") || help.contains(word),
                    };
                    assert!(is_known, "{at}: `catena {}` has no {word}", words[0]);
                }
            }
            for test in &row.tests {
                let (file, name) = test.split_once("::").expect("FILE::TEST");
                let text = std::fs::read_to_string(crates().join(file));
                let text = text.unwrap_or_else(|_| panic!("{at}: no file {file}"));
                let is_there = text.contains(&format!("    #[test]\n    fn {name}()"))
                    || text.contains(&format!("#[test]\nfn {name}()"));
                assert!(is_there, "{at}: no test {name} in {file}");
            }
        }
    }
}

#[test]
fn lists_are_expanded() {
    assert_eq!(expanded("1–3, 9a–9c"), ["1", "2", "3", "9a", "9b", "9c"]);
    assert_eq!(expanded("A-1–A-3, 40-a"), ["A-1", "A-2", "A-3", "40-a"]);
    assert_eq!(
        expanded("Fig. 1–2, Fig. 3a"),
        ["Fig. 1", "Fig. 2", "Fig. 3a"]
    );
}
