//! The numbers of docs/validation.md are those of the tests, of the records that commands of `.ci/` leave in docs/validation, and of docs/peers:
//! `CATENA_UPDATE=1 cargo test -p catena-cli --test validation` writes them into the page.

mod common;

use catena_mechanism::Formulation;
use common::{compare_tables, good, repository, text};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Rust files below a folder, or the file itself.
fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder").flatten() {
            sources(&entry.path(), found);
        }
    } else if path.extension().is_some_and(|ending| ending == "rs") {
        found.push(path.to_path_buf());
    }
}

/// Number of tests in files and folders.
fn tests(paths: &[&str]) -> usize {
    let mut files = Vec::new();
    for path in paths {
        let path = repository().join(path);
        assert!(path.exists(), "{}", path.display());
        sources(&path, &mut files);
    }
    let count = |file: &PathBuf| {
        let text = fs::read_to_string(file).expect("a source file");
        text.lines().filter(|line| line.trim() == "#[test]").count()
    };
    files.iter().map(count).sum()
}

fn files_below(path: &str) -> usize {
    let mut folders = vec![repository().join(path)];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => count += 1,
            }
        }
    }
    count
}

/// The value of a constant in a source file.
fn constant(path: &str, name: &str) -> usize {
    let source = text(path);
    let line = source
        .lines()
        .find(|line| line.starts_with(&format!("const {name}: ")))
        .unwrap_or_else(|| panic!("{path} has no constant {name}"));
    let value = line.split(['=', ';']).nth(1).expect("a value");
    value.trim().parse().expect("a number")
}

/// What a reader may hold at most: MiB, and bytes for each byte of its file.
fn memory_bound() -> [usize; 2] {
    let source = text("crates/catena-fuzz/tests/inputs.rs");
    let value = source
        .lines()
        .find_map(|line| line.strip_prefix("const MEMORY: (usize, usize) = ("))
        .expect("a bound");
    let (fixed, each) = value.split_once(" << 20, ").expect("MiB and bytes");
    let each = each.strip_suffix(");").expect("the end");
    [fixed, each].map(|number| number.parse().expect("a number"))
}

/// SECURITY.md promises what the tests hold readers to.
#[test]
fn the_promised_bound_is_the_tested_one() {
    let [fixed, each] = memory_bound();
    let promise = format!("{fixed} MiB and {each} bytes for each byte of the file");
    let page = text("SECURITY.md").replace('\n', " ");
    assert!(
        page.contains(&promise),
        "SECURITY.md does not say: {promise}"
    );
}

/// Smallest and largest number of damaged files that a reader is tried with.
fn damaged_files() -> [u64; 2] {
    let source = text("crates/catena-fuzz/tests/inputs.rs");
    let counts: Vec<u64> = source
        .lines()
        .filter_map(|line| {
            let call = line.trim().strip_prefix("damage(\"")?;
            let count = call.split(", ").nth(1)?.strip_suffix(");")?;
            Some(count.parse().expect("a number"))
        })
        .collect();
    let least = counts.iter().min().expect("readers");
    [*least, *counts.iter().max().expect("readers")]
}

/// The largest number in the first column of the tables of a page whose head begins with a word.
fn largest(page: &str, head: &str) -> f64 {
    let page = text(page);
    let mut is_inside = false;
    let mut largest = f64::NEG_INFINITY;
    for line in page.lines() {
        let cell = line.split('|').nth(1).map(str::trim);
        match cell {
            None => is_inside = false,
            Some(cell) if cell == head => is_inside = true,
            Some(cell) if is_inside => {
                // the number, or the one at the end of a name
                let number = cell
                    .rsplit_once("chain-")
                    .map_or(cell, |(_, number)| number);
                largest = largest.max(number.parse().unwrap_or(f64::NEG_INFINITY));
            }
            Some(_) => {}
        }
    }
    assert!(largest.is_finite(), "no table of {head}");
    largest
}

/// Headings of the second level.
fn sections(page: &str) -> usize {
    let page = text(page);
    page.lines().filter(|line| line.starts_with("## ")).count()
}

/// Lines of the tables of a page, without their heads.
fn table_lines(page: &str) -> usize {
    let page = text(page);
    let lines: Vec<&str> = page.lines().collect();
    let heads = lines
        .iter()
        .filter(|line| line.starts_with("|--") || line.starts_with("| --"));
    lines.iter().filter(|line| line.starts_with('|')).count() - 2 * heads.count()
}

/// What is printed in bold at the top of a page of comparisons: its result.
fn result_of(page: &str, which: usize) -> String {
    let page = text(page);
    let word = page.split("**").nth(2 * which + 1);
    word.expect("a result in bold").to_string()
}

fn laws(model: &str) -> usize {
    let found = good(&format!("check {model} --json")).json();
    found["laws"].as_array().expect("a list").len()
}

/// Blocks of a kind in all pages.
fn fences(kind: &str) -> usize {
    let mut folders = vec![repository().join("docs")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let page = fs::read_to_string(&path).expect("a page");
                count += page.lines().filter(|line| line.starts_with(kind)).count();
            }
        }
    }
    count
}

/// A line of the table: what, against what, how many, files with its tests, where to look.
type Line<'a> = (&'a str, &'a str, String, &'a [&'a str], &'a str);

fn evidence() -> String {
    let [fewest, most] = damaged_files();
    let [fixed, each] = memory_bound();
    let bound = format!(
        "damaged files: no panic, no hang, no more memory than {fixed} MiB and {each} bytes for each byte of the file"
    );
    let lines: Vec<Line<'_>> = vec![
        (
            "all algorithms of trees",
            "laws of mechanics and pairs of independent methods",
            format!(
                "{} laws, {} random trees",
                laws("chain-7"),
                constant("crates/catena/tests/laws.rs", "SMALL_TREES")
                    + constant("crates/catena/tests/laws.rs", "LARGE_TREES")
            ),
            &[
                "crates/catena/tests/laws.rs",
                "crates/catena/tests/scalars.rs",
                "crates/catena/tests/paths.rs",
            ],
            "`catena check MODEL`; [laws](../crates/catena/src/laws/mod.rs), [test](../crates/catena/tests/laws.rs)",
        ),
        (
            "closed chains",
            "every formulation, by itself and to 1e-9",
            format!(
                "{} formulations, {} laws, {} random mechanisms, with dependent rows",
                Formulation::ALL.len(),
                laws("four-bar-1"),
                constant("crates/catena-mechanism/tests/agreement.rs", "MECHANISMS")
            ),
            &[
                "crates/catena-mechanism/tests",
                "crates/catena/tests/closed_chains.rs",
                "crates/catena/tests/along_tree.rs",
            ],
            "`catena compare MODEL`; [test](../crates/catena-mechanism/tests/agreement.rs)",
        ),
        (
            "runs and efforts by a formulation",
            "the recursions",
            "trees, loops, wheels".into(),
            &["crates/catena-mechanism/tests/runs_and_efforts.rs"],
            "[test](../crates/catena-mechanism/tests/runs_and_efforts.rs)",
        ),
        (
            "decompositions",
            "their definitions, and another library",
            "random matrices".into(),
            &[
                "crates/catena-mechanism/src/linear",
                "crates/catena/src/algorithm/constrained/complete_orthogonal.rs",
            ],
            "[linear](../crates/catena-mechanism/src/linear/mod.rs)",
        ),
        (
            "known values of mechanical systems",
            "numbers that others computed",
            format!(
                "{} conformance cases",
                files_below("crates/catena-conformance/tests/cases")
            ),
            &["crates/catena-conformance/tests"],
            "`catena verify`; [cases](conformance.md)",
        ),
        (
            "the field's benchmark problems",
            "published solutions, exact laws, two explicit integrators",
            format!("{} problems", catena::benchmark::PROBLEMS.len()),
            &["crates/catena/tests/benchmarks.rs"],
            "`catena benchmark`; [test](../crates/catena/tests/benchmarks.rs)",
        ),
        (
            "robots",
            "Pinocchio, in the same process",
            format!(
                "{} models, worst difference {}",
                table_lines("docs/peers/agreement.md"),
                result_of("docs/peers/agreement.md", 0)
            ),
            &[],
            "[agreement](peers/agreement.md), [all commands](peers/robots.md)",
        ),
        (
            "MJCF files",
            "MuJoCo",
            format!(
                "{} files, {} of those with what catena has accepted, worst difference {}",
                table_lines("docs/peers/mjcf.md"),
                result_of("docs/peers/mjcf.md", 0),
                result_of("docs/peers/mjcf.md", 1)
            ),
            &["crates/catena-io/tests/mjcf"],
            "[table](peers/mjcf.md)",
        ),
        (
            "long chains of spherical joints",
            "50 digits",
            format!(
                "up to {} bodies, {} lines of tables",
                largest("docs/peers/spherical-chains.md", "joints"),
                table_lines("docs/peers/spherical-chains.md")
            ),
            &["crates/catena/tests/long_chains.rs"],
            "[record](peers/spherical-chains.md)",
        ),
        (
            "ill-conditioned systems",
            "double-double arithmetic; for loops the exact motion of four-bars, too",
            format!(
                "{} systems: mass ratios up to {:e}, needles, loops near singular positions, chains of {} bodies",
                table_lines("docs/accuracy.md"),
                largest("docs/accuracy.md", "ratio"),
                largest("docs/accuracy.md", "chain")
            ),
            &[
                "crates/catena/tests/ill_conditioned.rs",
                "crates/catena/tests/needles.rs",
                "crates/catena/tests/closed_accuracy.rs",
                "crates/catena/tests/double_double.rs",
            ],
            "[accuracy to expect](accuracy.md)",
        ),
        (
            "integrators",
            "orders by halving, closed forms, each other",
            "all methods".into(),
            &[
                "crates/catena/tests/integrators",
                "crates/catena/tests/bdf.rs",
                "crates/catena/tests/implicit_tree.rs",
            ],
            "[tests](../crates/catena/tests/integrators/main.rs), [work and precision](work-precision.md)",
        ),
        (
            "the papers",
            "every numbered equation, table and figure",
            format!(
                "{} entries of {} papers",
                table_lines("docs/papers/equations.md"),
                sections("docs/papers/equations.md")
            ),
            &[
                "crates/catena-cli/tests/papers.rs",
                "crates/catena/tests/misprints.rs",
            ],
            "[where they are](papers/equations.md)",
        ),
        (
            "generated code",
            "the library, after compilation",
            "C, Rust, Python, MATLAB; machine code by a disassembler".into(),
            &[
                "crates/catena-symbolic/tests",
                "crates/catena-symbolic/src/native",
            ],
            "[generated code](generated-code.md)",
        ),
        (
            "readers of files",
            &bound,
            format!(
                "{} targets, {} kept inputs, and {fewest} to {most} damaged files for each, equal in every run; [searched](#how-good-the-tests-are) by `fuzz/run`",
                files_below("fuzz/targets"),
                files_below("fuzz/corpus")
            ),
            &[
                "crates/catena-fuzz/tests",
                "crates/catena-io/tests/damaged.rs",
                "crates/catena-io/tests/bad_models.rs",
            ],
            "[targets](../crates/catena-fuzz/src/lib.rs)",
        ),
        (
            "bits",
            "threads, lanes, resumed runs, older processors",
            "commands of every kind".into(),
            &[
                "crates/catena-cli/tests/portable.rs",
                "crates/catena-io/tests/run_bits.rs",
            ],
            "[same bits](how-to/same-bits.md), [test](../crates/catena-cli/tests/portable.rs)",
        ),
        (
            "killed runs",
            "files that were never interrupted, byte for byte",
            "CSV, Parquet, MCAP".into(),
            &[
                "crates/catena-cli/tests/run_files.rs",
                "crates/catena-io/tests/run_kill.rs",
            ],
            "[test](../crates/catena-cli/tests/run_files.rs)",
        ),
        (
            "signals and full disks",
            "what was computed is on disk, and the message says how much",
            "SIGINT, SIGTERM, SIGHUP, a full disk, a read-only folder, a removed file".into(),
            &[
                "crates/catena-cli/tests/signals.rs",
                "crates/catena-io/tests/run_disk_full.rs",
                "crates/catena-io/tests/run_removed.rs",
            ],
            "[test](../crates/catena-cli/tests/signals.rs)",
        ),
        (
            "long-lived processes",
            "memory, open files and drift",
            format!(
                "seconds in the tests, [{} s](#how-good-the-tests-are) on record",
                soaked()
            ),
            &[],
            "`catena soak`",
        ),
        (
            "documents",
            "the program: every transcript is compared, every link followed",
            format!("{} transcripts", fences("```console")),
            &[
                "crates/catena-cli/tests/documentation.rs",
                "crates/catena-cli/tests/reference.rs",
                "crates/catena-cli/tests/validation.rs",
            ],
            "[test](../crates/catena-cli/tests/documentation.rs)",
        ),
    ];
    let mut table =
        String::from("| what | against | how many | tests | where |\n|---|---|---|---:|---|\n");
    for (what, against, many, files, place) in lines {
        let count = match tests(files) {
            0 => "–".into(),
            count => count.to_string(),
        };
        let _ = writeln!(table, "| {what} | {against} | {many} | {count} | {place} |");
    }
    let crates = fs::read_dir(repository().join("crates")).expect("crates");
    let mut names: Vec<String> = crates
        .flatten()
        .map(|entry| format!("crates/{}", entry.file_name().to_string_lossy()))
        .collect();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    table + &format!("\nTests in Rust: {}.\n", tests(&names))
}

/// The lines of a record with tabs, without its head.
fn record(name: &str) -> Vec<Vec<String>> {
    let text = text(&format!("docs/validation/{name}.tsv"));
    let cells = |line: &str| line.split('\t').map(String::from).collect();
    text.lines().skip(1).map(cells).collect()
}

fn mutations() -> String {
    let reasons: BTreeMap<String, String> = record("survivors")
        .into_iter()
        .map(|line| (line[0].clone(), line[1].clone()))
        .collect();
    let mut groups: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut survivors = Vec::new();
    for line in record("mutants") {
        let [group, _, outcome, name] = &line[..] else {
            panic!("docs/validation/mutants.tsv: {line:?}");
        };
        let column = ["caught", "survived", "does not compile"]
            .iter()
            .position(|known| known == outcome)
            .unwrap_or_else(|| panic!("docs/validation/mutants.tsv: {outcome}"));
        for group in [group.as_str(), "~all"] {
            groups.entry(group.into()).or_default()[column] += 1;
        }
        if column == 1 {
            survivors.push(name.clone());
        }
    }
    let mut table = String::from(
        "| group | tried | do not compile | caught | survived | of those that compile, caught |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for (group, [caught, survived, broken]) in groups {
        let viable = caught + survived;
        let _ = writeln!(
            table,
            "| {} | {} | {broken} | {caught} | {survived} | {} % |",
            group.replace("~all", "all"),
            viable + broken,
            (100 * caught + viable / 2) / viable.max(1)
        );
    }
    table += &last_samples();
    table += "\n| survivor | why |\n|---|---|\n";
    for name in &survivors {
        let why = reasons.get(name).unwrap_or_else(|| {
            panic!("docs/validation/survivors.tsv does not explain the survivor {name}")
        });
        let _ = writeln!(table, "| `{}` | {why} |", name.replace('|', "\\|"));
    }
    for name in reasons.keys() {
        assert!(
            survivors.contains(name),
            "docs/validation/survivors.tsv: {name} did not survive"
        );
    }
    table
}

/// How the last sample of each group did when it was drawn.
fn last_samples() -> String {
    let mut last: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for line in record("samples") {
        let [group, numbers @ ..] = &line[..] else {
            panic!("docs/validation/samples.tsv: {line:?}");
        };
        let numbers: Vec<usize> = numbers
            .iter()
            .map(|word| word.parse().expect("a number"))
            .collect();
        last.insert(group.clone(), numbers.try_into().expect("three numbers"));
    }
    let mut table = String::from(
        "\nThe last sample of each group as it was drawn, before a test was written for what survived:\n\n\
         | group | seed | compiled | caught | % |\n|---|---:|---:|---:|---:|\n",
    );
    let mut sum = [0, 0];
    let mut write = |group: &str, seed: &str, [compiled, caught]: [usize; 2]| {
        let share = (100 * caught + compiled / 2) / compiled.max(1);
        let _ = writeln!(
            table,
            "| {group} | {seed} | {compiled} | {caught} | {share} |"
        );
    };
    for (group, [seed, compiled, caught]) in last {
        write(&group, &seed.to_string(), [compiled, caught]);
        sum = [sum[0] + compiled, sum[1] + caught];
    }
    write("all", "", sum);
    table
}

fn coverage() -> String {
    if !repository().join("docs/validation/coverage.tsv").exists() {
        return "Not measured on this version.\n".into();
    }
    let mut table = String::from("| library | lines | reached | % |\n|---|---:|---:|---:|\n");
    for line in record("coverage") {
        let [name, lines, reached] = &line[..] else {
            panic!("docs/validation/coverage.tsv: {line:?}");
        };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let share = 100.0 * number(reached) / number(lines);
        let _ = writeln!(table, "| {name} | {lines} | {reached} | {share:.1} |");
    }
    table
}

fn memory() -> String {
    let mut table = String::from("| tests | passed |\n|---|---:|\n");
    for line in record("memcheck") {
        let _ = writeln!(table, "| `{}` | {} |", line[0], line[1]);
    }
    table
}

/// Seconds of the last soak on record.
fn soaked() -> String {
    record("soak").last().expect("a soak")[2].clone()
}

fn soak() -> String {
    let mut table = String::from(
        "| version | date | s | commands | simulated s | memory at first, MB | at last | growth | open files at first | at last | drift |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for line in record("soak") {
        let cells: Vec<String> = line
            .iter()
            .enumerate()
            .map(|(k, cell)| match k {
                5..=7 => format!("{:.1}", 1e-6 * cell.parse::<f64>().expect("bytes")),
                _ => cell.clone(),
            })
            .collect();
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

/// Searches of each target so far, and targets without one.
fn fuzz() -> String {
    let mut targets: BTreeMap<String, (String, [u64; 3])> = BTreeMap::new();
    for entry in fs::read_dir(repository().join("fuzz/targets")).expect("a folder") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        targets.insert(name.into_owned(), Default::default());
    }
    for line in record("fuzz") {
        let [_, date, target, numbers @ ..] = &line[..] else {
            panic!("docs/validation/fuzz.tsv: {line:?}");
        };
        let entry = targets
            .get_mut(target)
            .unwrap_or_else(|| panic!("docs/validation/fuzz.tsv: no target {target}"));
        entry.0.clone_from(date);
        for (sum, number) in entry.1.iter_mut().zip(numbers) {
            *sum += number.parse::<u64>().expect("a number");
        }
    }
    let mut table = String::from(
        "| target | last searched | s | inputs | failures |\n|---|---|---:|---:|---:|\n",
    );
    let mut without = Vec::new();
    for (name, (date, [seconds, inputs, failures])) in targets {
        match seconds {
            0 => without.push(format!("`{name}`")),
            _ => {
                let _ = writeln!(
                    table,
                    "| `{name}` | {date} | {seconds} | {inputs} | {failures} |"
                );
            }
        }
    }
    if !without.is_empty() {
        let _ = writeln!(
            table,
            "\nNot searched since the record was begun: {}.",
            without.join(", ")
        );
    }
    table
}

/// What cargo-deny found, and crates that the lock file has in more than one version.
fn supply() -> String {
    let lock = text("Cargo.lock");
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            *versions.entry(name.trim_matches('"')).or_default() += 1;
        }
    }
    let twice: Vec<String> = versions
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|(name, count)| format!("`{name}` ({count})"))
        .collect();
    let crates: usize = versions.values().sum();
    let mut page = match repository().join("docs/validation/deny.tsv").exists() {
        false => String::from("`.ci/deny` was not run on this version.\n"),
        true => {
            let mut table = String::from("| date | by | check | result |\n|---|---|---|---|\n");
            for line in record("deny") {
                let _ = writeln!(table, "| {} |", line.join(" | "));
            }
            table
        }
    };
    let _ = writeln!(
        page,
        "\nCargo.lock has {crates} packages; {} are there in more than one version: {}.",
        twice.len(),
        twice.join(", ")
    );
    page
}

#[test]
fn numbers_are_those_of_tests_and_records() {
    compare_tables(
        "docs/validation.md",
        "validation",
        &[
            ("evidence", evidence()),
            ("mutations", mutations()),
            ("coverage", coverage()),
            ("memory", memory()),
            ("soak", soak()),
            ("fuzz", fuzz()),
            ("supply", supply()),
        ],
    );
}
