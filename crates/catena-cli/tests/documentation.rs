//! The transcripts of README.md and of docs/ are run, and their output is compared with the page.
//!
//! A ```` ```console ```` block holds commands after `$ ` and their output. A block without any output is a list of commands,
//! which must succeed; comments after ` # ` are left out, and so are commands with placeholders (`MODEL`, `…`) and those of
//! other programs. A block whose first line is ```` ```json NAME ````, ```` ```toml NAME ```` or the like is written to that file first, and so is
//! `<!-- file NAME … -->`; with `+NAME` it is added to the file. A command of the page must read it. No other block may hold a `$ catena` line.
//! Blocks of other kinds are compared by other tests, and a kind that none looks at is refused.
//! `CATENA_UPDATE=1 cargo test -p catena-cli --test documentation` writes the output of today into the pages, where it differs by more than it may.
//!
//! What may differ, because it depends on the processor or its load:
//! - spacing, and lines of plots (`┤`) and of times (`µs`);
//! - numbers by 2e-5 of their size or 1e-12;
//! - steps and evaluations after `audit` and in the table of `benchmark` by a fifth, rejected steps by half, and both by 5;
//! - residuals (lines that end in `ok` or begin with `check: `) by a factor of 1000 or below 1e-10, and when they were worst;
//! - errors and drifts in the table of `benchmark` in the same way; its times are not compared.

mod common;

use common::{Folder, repository, run_in};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// README.md and every page below docs/.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md")];
    let mut folders = vec![repository().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("docs").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn transcripts_are_what_the_program_prints() {
    let (mut wrong, mut count) = (String::new(), 0);
    for path in pages() {
        let page = Page::run(&path);
        count += page.count;
        if !page.wrong.is_empty() {
            let _ = writeln!(wrong, "=== {}\n{}", path.display(), page.wrong);
        }
        if std::env::var_os("CATENA_UPDATE").is_some() {
            std::fs::write(&path, page.written).expect("the page can be written");
        }
    }
    if std::env::var_os("CATENA_UPDATE").is_none() {
        assert!(wrong.is_empty(), "{wrong}");
    }
    assert!(count >= 50, "only {count} examples");
}

/// Targets of the links `[text](target)` of a page outside of code blocks.
fn links(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        for part in line.split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                found.push(target.to_string());
            }
        }
    }
    found
}

/// The name by which a link reaches a heading: letters and digits in lower case, spaces as hyphens.
fn anchor_of(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

/// The anchors of the headings of a page. A heading that comes again has a number.
fn anchors(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found: Vec<String> = Vec::new();
    let mut plain: Vec<String> = Vec::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let name = anchor_of(heading.trim());
        found.push(match plain.iter().filter(|other| **other == name).count() {
            0 => name.clone(),
            before => format!("{name}-{before}"),
        });
        plain.push(name);
    }
    found
}

/// Every link of README.md, the documents beside it and docs/ leads to a file, and to a heading if it names one; every page of docs/ is in the manual's
/// table of contents.
#[test]
fn links_lead_somewhere() {
    let root = repository();
    let mut all = pages();
    for name in [
        "ARCHITECTURE",
        "ALGORITHMS",
        "NOTATION",
        "CONTRIBUTING",
        "CHANGELOG",
        "SECURITY",
        "peers/README",
        "viewer/README",
    ] {
        all.push(root.join(format!("{name}.md")));
    }
    let (mut wrong, mut count) = (String::new(), 0);
    for path in &all {
        let text = std::fs::read_to_string(path).expect("the page is there");
        for target in links(&text) {
            let file = target.split('#').next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || file.is_empty();
            let there = path.parent().expect("a folder").join(file);
            if !is_elsewhere && !there.exists() {
                let _ = writeln!(wrong, "{}: {target}", path.display());
            }
            let (Some((_, anchor)), false) = (target.split_once('#'), target.contains("://"))
            else {
                count += 1;
                continue;
            };
            let page = if file.is_empty() { path } else { &there };
            let headings = std::fs::read_to_string(page).map(|text| anchors(&text));
            if !headings.is_ok_and(|all| all.iter().any(|one| one == anchor)) {
                let _ = writeln!(wrong, "{}: {target}: no such heading", path.display());
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{wrong}");
    assert!(count > 100, "only {count} links");
    let docs = root.join("docs");
    let contents = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("a table of contents");
    let listed = links(&contents);
    for path in all.iter().filter(|path| path.starts_with(&docs)) {
        let name = path
            .strip_prefix(&docs)
            .expect("below docs")
            .to_string_lossy();
        assert!(
            name == "SUMMARY.md" || listed.iter().any(|target| *target == name),
            "docs/SUMMARY.md does not list {name}"
        );
    }
}

/// `docs/figures` makes every figure of the manual, and its list has no other.
#[test]
fn every_figure_can_be_made_anew() {
    let list = std::process::Command::new("bash")
        .args(["docs/figures", "--list"])
        .current_dir(repository())
        .output()
        .expect("bash is there");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let patterns: Vec<&str> = list
        .split_whitespace()
        .filter(|word| word.contains('/'))
        .collect();
    let is_made = |pattern: &str, name: &str| match pattern.split_once('*') {
        Some((start, end)) => {
            let inside = name
                .strip_prefix(start)
                .and_then(|rest| rest.strip_suffix(end));
            inside.is_some_and(|middle| !middle.contains('/'))
        }
        None => pattern == name,
    };
    let mut folders = vec![repository().join("docs")];
    let mut figures = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("docs").flatten() {
            let path = entry.path();
            let ending = path.extension().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if ["svg", "png", "gif", "html"].contains(&&*ending) {
                let name = path
                    .strip_prefix(repository())
                    .expect("below the repository");
                figures.push(name.to_string_lossy().into_owned());
            }
        }
    }
    for figure in &figures {
        assert!(
            patterns.iter().any(|pattern| is_made(pattern, figure)),
            "docs/figures does not make {figure}"
        );
    }
    for pattern in patterns {
        assert!(
            figures.iter().any(|figure| is_made(pattern, figure)),
            "there is no {pattern}"
        );
    }
}

/// What is not measured comes out of the command as it stands in the manual, byte for byte; on older processors last digits of round-off differ.
#[test]
fn figures_come_out_as_they_stand() {
    if catena_testing::skipped_on_baseline(catena::Cpu::detect()) {
        return;
    }
    let folder = Folder::new("figures");
    let made = std::process::Command::new("bash")
        .args(["docs/figures", "-o"])
        .arg(folder.path())
        .args(["accuracy", "study", "derive"])
        .env("CATENA", env!("CARGO_BIN_EXE_catena"))
        .env("CHROMIUM", "true") // no picture of the page
        .current_dir(repository())
        .output()
        .expect("bash is there");
    let told = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{told}");
    for name in [
        "accuracy.svg",
        "accuracy.md",
        "tutorials/torque-reserve.svg",
    ] {
        let kept = std::fs::read(repository().join("docs").join(name)).expect("a figure");
        let found = std::fs::read(folder.path().join(name)).expect("it was made");
        assert!(found == kept, "docs/{name} is not what docs/figures makes");
    }
}

/// A book is read without the repository: `docs/build` puts the files that pages refer to into it, and no link of its pages leads out.
#[test]
fn links_of_the_book_stay_in_it() {
    let folder = Folder::new("book");
    let sources = folder.path().join("src");
    let build = std::process::Command::new("python3")
        .arg(repository().join("docs/build"))
        .arg("--sources")
        .arg(&sources)
        .output()
        .expect("python3 is there");
    let said = String::from_utf8_lossy(&build.stderr);
    assert!(build.status.success(), "{said}");
    let sources = std::fs::canonicalize(sources).expect("a folder");
    let contents = std::fs::read_to_string(sources.join("SUMMARY.md")).expect("a list of pages");
    let chapters = links(&contents);
    let (mut wrong, mut count) = (String::new(), 0);
    for chapter in &chapters {
        let page = sources.join(chapter);
        let text = std::fs::read_to_string(&page).expect("the page is there");
        for target in links(&text) {
            let file = target.split('#').next().unwrap_or_default();
            if target.contains("://") || file.is_empty() {
                continue;
            }
            // pages that are not listed are not built
            let there = std::fs::canonicalize(page.parent().expect("a folder").join(file));
            let name = there.ok().filter(|file| file.is_file()).and_then(|file| {
                let name = file.strip_prefix(&sources).ok()?.to_string_lossy();
                Some(name.into_owned())
            });
            if !name.is_some_and(|name| !name.ends_with(".md") || chapters.contains(&name)) {
                let _ = writeln!(wrong, "{chapter}: {target}");
            }
            count += 1;
        }
    }
    assert!(
        wrong.is_empty(),
        "links that lead out of the book:\n{wrong}"
    );
    assert!(count > 200, "only {count} links");
}

/// A page whose commands were run.
#[derive(Default)]
struct Page {
    /// The page with the output of today.
    written: String,
    /// Where it says something else.
    wrong: String,
    /// Commands.
    count: usize,
}

impl Page {
    fn run(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the page is there");
        let mut page = Page::default();
        // most pages have nothing to run
        let folder = text.contains("```console").then(with_models);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let _ = writeln!(page.written, "{line}");
            if let Some(name) = line.strip_prefix("<!-- file ") {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "-->").collect();
                if let Some(folder) = &folder {
                    write_block(folder, name, &block);
                }
                page.keep(&block, "-->");
                continue;
            }
            let inside = line.trim_start();
            let indent = &line[..line.len() - inside.len()];
            let Some(kind) = inside.strip_prefix("```").filter(|kind| !kind.is_empty()) else {
                continue;
            };
            let end = format!("{indent}```");
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
            match (kind.split_once(' '), &folder) {
                (Some((_, name)), Some(folder)) => {
                    write_block(folder, name, &block);
                    page.keep(&block, &end);
                }
                (None, Some(folder)) if kind == "console" => page.console(folder, indent, &block),
                _ => {
                    let transcript = block
                        .iter()
                        .find(|l| l.trim_start().starts_with("$ catena"));
                    if let Some(line) = transcript {
                        let _ = writeln!(page.wrong, "not in a console block: {line}");
                    }
                    page.keep(&block, &end);
                }
            }
        }
        page
    }

    /// Lines that stay as they are.
    fn keep(&mut self, block: &[&str], end: &str) {
        for line in block {
            let _ = writeln!(self.written, "{line}");
        }
        let _ = writeln!(self.written, "{end}");
    }

    fn console(&mut self, folder: &Folder, indent: &str, block: &[&str]) {
        let bare: Vec<&str> = block
            .iter()
            .map(|line| line.strip_prefix(indent).unwrap_or(line))
            .collect();
        let end = format!("{indent}```");
        if bare.iter().all(|line| line.starts_with("$ ")) {
            for line in bare {
                self.listed(folder, line);
            }
            self.keep(block, &end);
            return;
        }
        for (command, expected) in examples(&bare) {
            let mut found = output_of(folder, command);
            match agree(command, &found, &expected) {
                // times and last digits differ from run to run; plots are not compared
                Ok(()) if !found.contains('┤') => found = expected,
                Ok(()) => {}
                Err(difference) => {
                    let _ = writeln!(
                        self.wrong,
                        "$ {command}\n{found}--- the page says\n{expected}--- {difference}\n"
                    );
                }
            }
            for line in format!("$ {command}\n{found}").lines() {
                let line = format!("{indent}{line}");
                let _ = writeln!(self.written, "{}", line.trim_end());
            }
            self.count += 1;
        }
        let _ = writeln!(self.written, "{end}");
    }

    /// A command without its output: it must succeed.
    fn listed(&mut self, folder: &Folder, line: &str) {
        let command = line
            .split(" # ")
            .next()
            .unwrap_or(line)
            .trim_start_matches("$ ");
        let words = words_of_command(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_template = words
            .iter()
            .any(|word| *word == "MODEL" || word.contains('…'));
        if words[0] != "catena" || is_template {
            return;
        }
        let run = run_in(folder.path(), &words[1..]);
        if run.code != 0 {
            let _ = writeln!(self.wrong, "{line}\nexit code {}\n{}", run.code, run.stderr);
        }
        self.count += 1;
    }
}

/// Writes a block to the file of this name, or adds it to the file (`+NAME`).
fn write_block(folder: &Folder, name: &str, block: &[&str]) {
    let text = format!("{}\n", block.join("\n"));
    match name.strip_prefix('+') {
        Some(name) => folder.write(name, &(folder.read(name) + &text)),
        None => folder.write(name, &text),
    }
}

/// What looks at a block of this kind on this page.
fn is_checked(page: &str, name: &str, kind: &str, text: &str) -> bool {
    let kept = |path: &str| std::fs::read_to_string(repository().join(path)).expect("a test");
    match kind.split_once(' ') {
        // run here, or written for a command of the page, or for a file that a command reads
        None if kind == "console" => true,
        Some((_, file)) => {
            let file = file.trim_start_matches('+');
            let blocks = text.split("\n```").filter(|block| !block.starts_with('\n'));
            let uses = blocks.filter(|block| {
                let (head, body) = block.split_once('\n').unwrap_or((block, ""));
                !head.ends_with(&format!(" {file}"))
                    && !head.ends_with(&format!(" +{file}"))
                    && body.contains(file)
            });
            uses.count() > 0
        }
        // python/tests/test_documents.py runs the blocks of the pages it lists
        None if kind == "python" => {
            kept("python/tests/test_documents.py").contains(&format!("\"{name}\""))
        }
        // docstrings, which are run
        None if kind == "pycon" => name == "docs/python-reference.md",
        // tests of the documentation in crates compile them, or a test compares them with a file
        None if ["rust", "rust,no_run"].contains(&kind) => [
            "crates/catena/src/lib.rs",
            "crates/catena-io/src/lib.rs",
            "crates/catena-cli/tests/simulate_control.rs",
        ]
        .iter()
        .any(|path| kept(path).contains(&format!("include_str!(\"../../../{name}\")"))),
        // --help, by the test `reference`
        None if kind == "text" => name.starts_with("docs/commands/"),
        // lines of the protocol, by the test `simulate_control`
        None if kind == "json" => {
            kept("crates/catena-cli/tests/simulate_control.rs").contains(name) && page.contains('{')
        }
        None => false,
    }
}

/// A block that no test runs, compiles, reads or compares is refused.
#[test]
fn no_block_goes_unchecked() {
    let (mut wrong, mut count) = (String::new(), 0);
    let root = repository();
    for path in pages() {
        let text = std::fs::read_to_string(&path).expect("the page is there");
        let name = path.strip_prefix(&root).expect("below the repository");
        let name = name.to_string_lossy().into_owned();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(kind) = line.trim_start().strip_prefix("```") else {
                continue;
            };
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|line| line.trim() != "```")
                .collect();
            if !is_checked(&block.join("\n"), &name, kind, &text) {
                let _ = writeln!(wrong, "{name}: ```{kind}");
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "no test looks at these blocks:\n{wrong}");
    assert!(count > 200, "only {count} blocks");
}

/// The table of exit codes has those of the program, and no other.
#[test]
fn exit_codes_are_those_of_the_program() {
    let source = |name: &str| {
        let path = repository().join("crates/catena-cli/src").join(name);
        std::fs::read_to_string(path).expect("a source file")
    };
    let code = |line: &str| -> Option<u32> {
        let (_, value) = line.split_once("const ")?.1.split_once(": u8 = ")?;
        Some(value.trim_end_matches(';').parse().expect("a number"))
    };
    let text = source("outcome.rs") + &source("interrupt.rs");
    let mut codes: Vec<u32> = text.lines().filter_map(code).collect();
    codes.sort_unstable();
    assert_eq!(codes.len(), 7, "{codes:?}");
    let page = std::fs::read_to_string(repository().join("docs/cli.md")).expect("the page");
    let (_, rest) = page.split_once("### Exit codes\n").expect("a heading");
    let (table, _) = rest.split_once("\n#").expect("the next heading");
    let listed: Vec<u32> = table
        .lines()
        .filter_map(|line| line.split('|').nth(1)?.trim().parse().ok())
        .collect();
    assert_eq!(listed, codes);
}

/// A folder with the models of the repository, `arm.urdf` and a conformance case.
fn with_models() -> Folder {
    let folder = Folder::new("documentation");
    let models = folder.path().join("models");
    std::fs::create_dir(&models).expect("a folder can be made");
    for entry in std::fs::read_dir(repository().join("models"))
        .expect("models")
        .flatten()
    {
        if entry.path().is_file() {
            let to = models.join(entry.file_name());
            std::fs::copy(entry.path(), to).expect("a model can be copied");
        }
    }
    let arm = std::fs::read_to_string(models.join("double_pendulum.urdf")).expect("it is there");
    folder.write("arm.urdf", &arm);
    let case = run_in(
        folder.path(),
        &["export-case", "planar3", "-o", "CASE.json"],
    );
    assert_eq!(case.code, 0, "{}", case.stderr);
    folder
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

/// What a command prints, stderr after stdout; `| head -n N` and `| tail -n N` keep the first and the last lines of stdout,
/// `; echo $?` adds the exit code.
/// Words are separated by spaces; those in double quotes may contain some.
fn words_of_command(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn output_of(folder: &Folder, command: &str) -> String {
    let (command, with_code) = match command.strip_suffix("; echo $?") {
        Some(command) => (command, true),
        None => (command, false),
    };
    let number = |text: &str| text.parse::<usize>().expect("a number of lines");
    let (command, first) = match command.split_once(" | head -n ") {
        Some((command, count)) => (command, number(count)),
        None => (command, usize::MAX),
    };
    let (command, last) = match command.split_once(" | tail -n ") {
        Some((command, count)) => (command, number(count)),
        None => (command, usize::MAX),
    };
    let words = words_of_command(command);
    assert_eq!(words[0], "catena", "{command}");
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let run = run_in(folder.path(), &words);
    assert!(
        run.code == 0 || with_code,
        "{command}: exit code {}\n{}",
        run.code,
        run.stderr
    );
    let lines: Vec<&str> = run.stdout.lines().collect();
    let kept = lines.len().saturating_sub(last)..lines.len().min(first);
    let mut output: String = lines[kept].iter().map(|line| format!("{line}\n")).collect();
    output += &run.stderr;
    if with_code {
        let _ = writeln!(output, "{}", run.code);
    }
    output
}

/// How the numbers of a line are compared.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// By their size.
    Numbers,
    /// Steps, rejected steps and evaluations.
    Steps,
    /// A residual, what is allowed, and when it was worst.
    Residuals,
    /// A row of the table of `benchmark`.
    Benchmark,
}

impl Rule {
    fn of(command: &str, line: &str) -> Self {
        if line.starts_with("audit ") {
            Rule::Steps
        } else if line.ends_with(" ok") || line.contains("check: ") {
            Rule::Residuals
        } else if command.starts_with("catena benchmark") && !line.contains(':') {
            Rule::Benchmark
        } else {
            Rule::Numbers
        }
    }

    /// Is the number at this place among those of its line as it should be?
    fn holds(self, place: usize, found: f64, expected: f64) -> bool {
        if !found.is_finite() {
            return found.to_string() == expected.to_string();
        }
        let within = |part: f64| {
            (found - expected).abs() <= part * found.abs().max(expected.abs()).max(5.0 / part)
        };
        let like = || {
            let (small, large) = (found.min(expected), found.max(expected));
            large < 1e-10 || (small > 0.0 && large <= 1e3 * small)
        };
        let close = || (found - expected).abs() <= 2e-5 * found.abs().max(expected.abs()) + 1e-12;
        match (self, place) {
            (Rule::Numbers, _) | (Rule::Residuals, 1) | (Rule::Benchmark, 0 | 1) => close(),
            (Rule::Steps, 1) | (Rule::Benchmark, 3) => within(0.5),
            (Rule::Steps, _) | (Rule::Benchmark, 2 | 4) => within(0.2),
            (Rule::Residuals, 0) | (Rule::Benchmark, 6..) => like(),
            (Rule::Residuals, _) | (Rule::Benchmark, 5) => true,
        }
    }
}

/// Do two outputs say the same?
fn agree(command: &str, found: &str, expected: &str) -> Result<(), String> {
    let (found, expected) = (lines(found), lines(expected));
    if found.len() != expected.len() {
        return Err(format!("{} lines, not {}", found.len(), expected.len()));
    }
    for (found, expected) in found.iter().zip(&expected) {
        let rule = Rule::of(command, expected);
        let (a, b) = (words(found), words(expected));
        let mut place = 0;
        let same = a.len() == b.len()
            && a.iter().zip(&b).all(|(a, b)| match (a.parse(), b.parse()) {
                (Ok(a), Ok(b)) => {
                    place += 1;
                    rule.holds(place - 1, a, b)
                }
                _ => a == b,
            });
        if !same {
            return Err(format!("`{}`, not `{}`", found.trim(), expected.trim()));
        }
    }
    Ok(())
}

/// The lines that are compared.
fn lines(text: &str) -> Vec<&str> {
    let is_rule = |line: &&str| line.chars().all(|c| c == '─' || c.is_whitespace());
    text.lines()
        .filter(|line| !is_rule(line) && !line.contains(" µs") && !line.contains('┤'))
        .collect()
}

fn words(line: &str) -> Vec<String> {
    line.split(|c: char| c.is_whitespace() || "[](),".contains(c))
        .filter(|word| !word.is_empty())
        .map(|word| word.replace('~', ""))
        .collect()
}

#[test]
fn a_wrong_count_or_number_is_noticed() {
    let same = |a: &str, b: &str| agree("catena simulate x", a, b).is_ok();
    let audit = "audit  7028 steps, 508 rejected, 90223 evaluations of the dynamics\n";
    assert!(same(audit, &audit.replace("7028", "7100")));
    assert!(!same(audit, &audit.replace("7028", "14175")));
    let law = "  energy balance   2.5e-14   1e-9   73   ok\n";
    assert!(same(
        law,
        &law.replace("2.5e-14", "7e-13").replace("73", "12")
    ));
    assert!(!same(law, &law.replace("2.5e-14", "2.5e-8")));
    assert!(!same(law, &law.replace("1e-9", "1e-6")));
    assert!(!same("tau 1.0001 N", "tau 1.0002 N"));
    assert!(!same("tau NaN N", "tau 1 N"));
    assert!(!same("one\n", "one\ntwo\n"));
}
