//! Running the program.
#![allow(dead_code, reason = "every test file uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The result of a run of the program.
pub struct Run {
    /// Exit code.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Run {
    /// What it printed, as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in:\n{}", self.stdout))
    }
}

/// Runs `catena` with these arguments in a folder.
pub fn run_in(folder: &Path, arguments: &[&str]) -> Run {
    run_with(folder, arguments, &[])
}

/// Runs `catena` with these arguments in a folder, with these variables of the environment besides the usual ones.
pub fn run_with(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_catena"))
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(folder)
        .output()
        .expect("the program can be started");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}

/// Runs `catena` with these arguments, separated by spaces.
pub fn run(arguments: &str) -> Run {
    run_in(
        Path::new("."),
        &arguments.split_whitespace().collect::<Vec<_>>(),
    )
}

/// Runs `catena` and expects exit code 0 and silence on stderr.
pub fn good(arguments: &str) -> Run {
    let run = run(arguments);
    assert_eq!(run.code, 0, "catena {arguments}\n{}", run.stderr);
    assert_eq!(run.stderr, "", "catena {arguments}");
    run
}

/// The numbers of a JSON list.
pub fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("not a list: {value}"))
        .iter()
        .map(|x| x.as_f64().unwrap_or_else(|| panic!("not a number: {x}")))
        .collect()
}

/// Are two lists equal within `tolerance`?
pub fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "entry {k}: {a} and {b}");
    }
}

/// A folder of its own for a test, removed when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    /// A new, empty folder.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("catena-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
        Folder(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a file can be written");
    }

    /// Reads a file from it.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("the file is there")
    }

    /// Runs `catena` in it.
    pub fn run(&self, arguments: &str) -> Run {
        run_in(&self.0, &arguments.split_whitespace().collect::<Vec<_>>())
    }

    /// Names of the files in it.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The root of this repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of this repository.
pub fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares the parts of a page between `<!-- NAME: written by a test -->` and `<!-- end of NAME -->`; with `CATENA_UPDATE` in the environment,
/// writes them.
pub fn compare_tables(page: &str, test: &str, tables: &[(&str, String)]) {
    let before = text(page);
    let mut after = before.clone();
    for (name, table) in tables {
        let begin = format!("<!-- {name}: written by a test -->\n");
        let end = format!("<!-- end of {name} -->\n");
        let (head, rest) = after
            .split_once(&begin)
            .unwrap_or_else(|| panic!("{page} has no {begin}"));
        let (_, tail) = rest
            .split_once(&end)
            .unwrap_or_else(|| panic!("{page} has no {end}"));
        after = format!("{head}{begin}\n{table}\n{end}{tail}");
    }
    if std::env::var_os("CATENA_UPDATE").is_some() {
        fs::write(repository().join(page), &after).expect("the page can be written");
    } else {
        assert_eq!(
            after, before,
            "{page} is not up to date; CATENA_UPDATE=1 cargo test -p catena-cli --test {test} writes it"
        );
    }
}
