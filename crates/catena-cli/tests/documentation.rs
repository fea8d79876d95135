//! The examples of docs/cli.md are run, and their output is compared with the page.
//!
//! A ```` ```console ```` block holds commands after `$ ` and their output; a block whose first line is ```` ```json NAME ````
//! ```` ```toml NAME ```` or ```` ```csv NAME ```` is written to that file first.
//! `CATENA_UPDATE=1 cargo test -p catena-cli --test documentation` writes the output of today into the page.

mod common;

use common::{Folder, run_in};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn examples_of_the_page() {
    let page = repository().join("docs/cli.md");
    let text = std::fs::read_to_string(&page).expect("docs/cli.md is there");
    let folder = Folder::new("documentation");
    std::fs::create_dir(folder.path().join("models")).expect("a folder can be made");
    for entry in std::fs::read_dir(repository().join("models"))
        .expect("models")
        .flatten()
    {
        let to = folder.path().join("models").join(entry.file_name());
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to).expect("a model can be copied");
        }
    }
    let mut written = String::new();
    let mut wrong = String::new();
    let mut count = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let _ = writeln!(written, "{line}");
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some((_, name)) = kind.split_once(' ') {
            folder.write(name, &format!("{}\n", block.join("\n")));
        }
        if kind == "console" {
            for (command, expected) in examples(&block) {
                let found = output_of(&folder, command);
                if !agree(&found, &expected) {
                    let _ = writeln!(wrong, "$ {command}\n{found}\n--- the page says\n{expected}");
                }
                let _ = write!(written, "$ {command}\n{found}");
                count += 1;
            }
        } else {
            for line in &block {
                let _ = writeln!(written, "{line}");
            }
        }
        written.push_str("```\n");
    }
    if std::env::var_os("CATENA_UPDATE").is_some() {
        std::fs::write(&page, written).expect("docs/cli.md can be written");
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
    assert!(count >= 15, "only {count} examples");
}

/// The commands of a block, each with its output.
fn examples<'a>(block: &[&'a str]) -> Vec<(&'a str, String)> {
    let mut examples: Vec<(&str, String)> = Vec::new();
    for line in block {
        if let Some(command) = line.strip_prefix("$ ") {
            examples.push((command, String::new()));
        } else if let Some((_, output)) = examples.last_mut() {
            output.push_str(line);
            output.push('\n');
        }
    }
    examples
}

/// What a command prints, stderr after stdout; `| head -n N` keeps the first lines, `; echo $?` adds the exit code.
fn output_of(folder: &Folder, command: &str) -> String {
    let (command, with_code) = match command.strip_suffix("; echo $?") {
        Some(command) => (command, true),
        None => (command, false),
    };
    let (command, kept) = match command.split_once(" | head -n ") {
        Some((command, count)) => (command, count.parse().expect("a number of lines")),
        None => (command, usize::MAX),
    };
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("catena"), "{command}");
    let run = run_in(folder.path(), &words.collect::<Vec<_>>());
    assert!(
        run.code == 0 || with_code,
        "{command}: exit code {}\n{}",
        run.code,
        run.stderr
    );
    let mut output: String = run
        .stdout
        .lines()
        .take(kept)
        .map(|line| format!("{line}\n"))
        .collect();
    output += &run.stderr;
    if with_code {
        let _ = writeln!(output, "{}", run.code);
    }
    output
}

/// Do two outputs say the same? Spacing, the last digits of numbers, round-off, residuals, times, the dots of a plot and
/// the steps of an integrator depend on the processor.
fn agree(found: &str, expected: &str) -> bool {
    let (found, expected) = (words(found), words(expected));
    found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| same_word(a, b))
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for line in text.lines() {
        let is_residual = line.ends_with(" ok") || line.contains("check: ");
        if line.contains(" µs") || line.contains('┤') || line.starts_with("audit ") {
            continue;
        }
        let split = line.split(|c: char| c.is_whitespace() || "[](),".contains(c));
        for word in split.filter(|word| !word.trim_matches('─').is_empty()) {
            if !(is_residual && word.parse::<f64>().is_ok()) {
                words.push(word.replace('~', ""));
            }
        }
    }
    words
}

fn same_word(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 2e-5 * a.abs().max(b.abs()) + 1e-12,
        _ => a == b,
    }
}
