//! Run files and other outputs: what two processes, changed bytes, other arithmetic and equal names must not do.

mod common;

use catena_io::run::{Run, read_run};
use common::{Folder, good};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn program(folder: &Folder, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_catena"));
    command
        .args(arguments.split_whitespace())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn start(folder: &Folder, arguments: &str) -> Child {
    let child = program(folder, arguments).spawn();
    child.expect("the program can be started")
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    let path = folder.path().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn read(folder: &Folder, name: &str) -> Run {
    read_run(&folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const FORMATS: [&str; 3] = ["csv", "parquet", "mcap"];

#[test]
fn two_processes_leave_one_of_the_two_runs() {
    const PAIRS: usize = 10;
    let command = |q: &str, name: &str, option: &str| {
        format!("simulate planar3 --q {q} --duration 3 -o {name} {option}")
    };
    let starts = ["1,1,1", "0.123,0.987,1.5"];
    for format in FORMATS {
        let name = format!("run.{format}");
        let whole = starts.map(|q| {
            let folder = Folder::new("two-processes-whole");
            let done = folder.run(&command(q, &name, ""));
            assert_eq!(done.code, 0, "{}", done.stderr);
            (read(&folder, &name), bytes(&folder, &name))
        });
        for option in ["", "--overwrite"] {
            for pair in 0..PAIRS {
                let folder = Folder::new("two-processes");
                if !option.is_empty() {
                    std::fs::write(folder.path().join(&name), &whole[pair % 2].1).expect("a file");
                }
                let both = starts.map(|q| start(&folder, &command(q, &name, option)));
                let ends: [Output; 2] =
                    both.map(|child| child.wait_with_output().expect("it ends"));
                let what = format!("{format} {option}, pair {pair}: {ends:?}");
                let codes = ends.each_ref().map(|end| end.status.code());
                assert!(codes.contains(&Some(0)), "{what}");
                for end in &ends {
                    let stderr = String::from_utf8_lossy(&end.stderr);
                    let told = stderr.contains("exists already")
                        || stderr.contains("another process is writing");
                    assert_eq!(end.status.code(), Some(if told { 2 } else { 0 }), "{what}");
                }
                assert!(!option.is_empty() || codes != [Some(0); 2], "{what}");
                let found = read(&folder, &name);
                let which = whole.iter().position(|(whole, _)| *whole == found);
                let which = which.unwrap_or_else(|| panic!("the run is spoilt: {what}"));
                assert_eq!(codes[which], Some(0), "{what}");
                assert_eq!(folder.files(), [name.as_str()], "{what}");
            }
        }
    }
}

#[test]
fn a_run_that_does_not_begin_leaves_the_older_one() {
    let folder = Folder::new("does-not-begin");
    for format in FORMATS {
        let command = format!("simulate planar3 --q 1,1,1 --duration 1 -o run.{format}");
        assert_eq!(folder.run(&command).code, 0);
        let before = bytes(&folder, &format!("run.{format}"));
        let done = folder.run(&format!("{command} --overwrite --rtol 1e-300"));
        assert_eq!(done.code, 2, "{}{}", done.stdout, done.stderr);
        assert!(
            bytes(&folder, &format!("run.{format}")) == before,
            "{format}"
        );
    }
    assert_eq!(folder.files(), ["run.csv", "run.mcap", "run.parquet"]);
}

#[test]
fn an_empty_file_is_no_run() {
    let folder = Folder::new("empty-run");
    for format in FORMATS {
        let command = format!("simulate planar3 --duration 1 -o run.{format}");
        folder.write(&format!("run.{format}"), "");
        let resumed = folder.run(&format!("{command} --resume"));
        assert_eq!(
            (resumed.code, resumed.stderr),
            (
                2,
                format!(
                    "error: the run was stopped before its header was written\n  --> run.{format}\n\
                     hint: leave out --resume to start it\n"
                )
            )
        );
        let started = folder.run(&command);
        assert_eq!(started.code, 0, "{}", started.stderr);
        assert!(read(&folder, &format!("run.{format}")).finished);
    }
}

/// Cuts a run in CSV after a block.
fn cut_after_block(folder: &Folder, from: &str, to: &str, block: usize) {
    let text = folder.read(from);
    let (at, _) = text
        .match_indices("\n# check: ")
        .nth(block)
        .expect("so many blocks");
    let end = at + "\n# check: 01234567\n".len();
    folder.write(to, &text[..end]);
}

/// The text with one bit of a hexadecimal digit changed.
fn with_other_digit(text: &str, at: usize) -> String {
    let digit = text[at..]
        .chars()
        .next()
        .and_then(|digit| digit.to_digit(16));
    let other = digit.expect("a digit") ^ 1;
    format!("{}{other:x}{}", &text[..at], &text[at + 1..])
}

#[test]
fn a_changed_checkpoint_is_never_gone_on_from() {
    let folder = Folder::new("changed-checkpoint");
    let command = "simulate planar3 --q 1,1,1 --duration 15 --rtol 1e-10";
    assert_eq!(folder.run(&format!("{command} -o whole.csv")).code, 0);
    let whole = read(&folder, "whole.csv");
    cut_after_block(&folder, "whole.csv", "part.csv", 2);
    let part = folder.read("part.csv");
    let last = part.rfind("# block: ").expect("a block");
    let words = last + part[last..].find("checkpoint ").expect("a checkpoint") + 11;
    let count = part[words..].find('\n').expect("its end") / 16;
    assert!(count > 50, "{count} words");
    for word in (0..count).step_by(13) {
        folder.write("run.csv", &with_other_digit(&part, words + 16 * word + 3));
        let done = folder.run(&format!("{command} -o run.csv --resume"));
        assert!(
            done.stderr.starts_with("note: left out ") && done.stderr.contains("computed again"),
            "{}",
            done.stderr
        );
        assert_eq!(done.code, 0, "{}", done.stderr);
        let run = read(&folder, "run.csv");
        assert!(
            run.columns == whole.columns && run.audit == whole.audit,
            "word {word}"
        );
    }
    // without a change it continues from there
    folder.write("run.csv", &part);
    let done = folder.run(&format!("{command} -o run.csv --resume"));
    assert_eq!(done.stderr, "wrote 1501 rows to run.csv\n");
    assert!(read(&folder, "run.csv").columns == whole.columns);
    // a change before the last block is refused
    let first = part.find(" checkpoint ").expect("a checkpoint") + " checkpoint ".len();
    folder.write("run.csv", &with_other_digit(&part, first));
    let done = folder.run(&format!("{command} -o run.csv --resume"));
    assert_eq!(done.code, 2);
    assert!(
        done.stderr.contains("the block that ends here was changed"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_changed_run_is_not_read_as_states() {
    let folder = Folder::new("changed-states");
    assert_eq!(
        folder
            .run("simulate planar3 --duration 12 --q 1,1,1 -o run.csv")
            .code,
        0
    );
    let text = folder.read("run.csv");
    let at = text.find("\n0.01,").expect("a row") + "\n0.01,".len() + 3;
    folder.write("changed.csv", &with_other_digit(&text, at));
    for arguments in [
        "inverse planar3 --trajectory changed.csv",
        "inverse planar3 --state changed.csv",
        "simulate planar3 --efforts changed.csv",
        "simulate planar3 --state changed.csv --at end",
        "plot changed.csv",
    ] {
        let done = folder.run(arguments);
        assert_eq!(done.code, 2, "{arguments}");
        assert!(
            done.stderr.contains("the run is damaged"),
            "{arguments}: {}",
            done.stderr
        );
    }
    // rows behind the last complete block do not count
    cut_after_block(&folder, "run.csv", "cut.csv", 1);
    let rows = read(&folder, "cut.csv").row_count();
    let cut = folder.read("cut.csv");
    folder.write(
        "cut.csv",
        &format!("{cut}{}\n", text.lines().nth(20).expect("a row")),
    );
    let done = folder.run("inverse planar3 --trajectory cut.csv --json");
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stderr
            .contains("at the end of cut.csv: not a complete block"),
        "{}",
        done.stderr
    );
    assert_eq!(done.json()["states"].as_array().map(Vec::len), Some(rows));
}

#[test]
fn a_run_says_what_made_it_and_is_resumed_with_nothing_else() {
    let folder = Folder::new("other-arithmetic");
    let resumed = |arguments: &str, cpu: Option<&str>| {
        let mut command = program(&folder, &format!("{arguments} --resume"));
        command.env_remove("CATENA_CPU");
        if let Some(cpu) = cpu {
            command.env("CATENA_CPU", cpu);
        }
        let output = command.output().expect("the program can be started");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    let refused = |arguments: &str, cpu: Option<&str>, names: &[&str]| {
        let (code, stderr) = resumed(arguments, cpu);
        assert_eq!(code, Some(2), "{arguments}: {stderr}");
        assert!(
            stderr.starts_with("error: the run was made with another "),
            "{stderr}"
        );
        for name in names {
            assert!(stderr.contains(name), "{arguments}: {stderr}");
        }
    };
    let tree = "simulate planar3 --q 1,1,1 --duration 12 -o tree.csv";
    let mut first = program(&folder, tree);
    let done = first.env_remove("CATENA_CPU").output().expect("it ends");
    assert!(done.status.success());
    let metadata = read(&folder, "tree.csv").header.metadata;
    let (cpu, route) = (&metadata["cpu"], &metadata["accelerations"]);
    assert_eq!(*cpu, format!("{:?}", catena::Cpu::best()).to_lowercase());
    cut_after_block(&folder, "tree.csv", "tree.csv", 1);
    let before = folder.read("tree.csv");
    if route == "compiled" {
        refused(
            &format!("{tree} --accelerations general"),
            None,
            &["source of accelerations"],
        );
    }
    if cpu != "baseline" {
        let cpu = cpu.as_str().expect("a name");
        let hint = format!("with CATENA_CPU={cpu}");
        refused(tree, Some("baseline"), &["set of instructions", &hint]);
    }
    refused(
        &format!("{tree} --closing baumgarte"),
        None,
        &["way to keep loops closed"],
    );
    refused(
        &tree.replace("1,1,1", "1,-0.0,1"),
        None,
        &["another start\n"],
    );
    refused(
        &format!("{tree} --rtol 1e-9"),
        None,
        &["relative tolerance"],
    );
    assert_eq!(folder.read("tree.csv"), before, "a refusal changes nothing");
    assert_eq!(resumed(tree, None).0, Some(0));

    let stiff = "simulate planar3 --q 1,1,1 --method bdf --newton dense --duration 12 -o stiff.csv";
    assert_eq!(folder.run(stiff).code, 0);
    cut_after_block(&folder, "stiff.csv", "stiff.csv", 1);
    let tree_matrix = stiff.replace("dense", "tree");
    refused(&tree_matrix, None, &["another matrix of Newton's method\n"]);
    let joints = stiff.replace("--newton dense", "--newton dense --coordinates joints");
    refused(&joints, None, &["another choice of coordinates\n"]);
    assert_eq!(resumed(stiff, None).0, Some(0));
}

#[test]
fn no_output_replaces_an_input() {
    let folder = Folder::new("replace-input");
    folder.write("arm.toml", &good("convert planar3").stdout);
    folder.write("arm.json", &good("convert planar3 --json").stdout);
    let table = "t,q1,q2,q3,v1,v2,v3,a1,a2,a3,tau1,tau2,tau3\n\
                 0,1,1,1,0,0,0,0,0,0,0,0,0\n1,1,1,1,0,0,0,0,0,0,0,0,0\n";
    folder.write("k.csv", table);
    let run = folder.run("simulate planar3 --duration 1 -o run.csv");
    assert_eq!(run.code, 0);
    #[cfg(unix)]
    std::os::unix::fs::symlink("k.csv", folder.path().join("link.csv")).expect("a link");
    let names = folder.files();
    let before: Vec<Vec<u8>> = names.iter().map(|name| bytes(&folder, name)).collect();
    let mut commands = vec![
        "inverse planar3 --state k.csv -o k.csv",
        "inverse planar3 --state ./k.csv -o k.csv",
        "inverse planar3 --trajectory k.csv -o k.csv",
        "inverse planar3 --trajectory run.csv -o run.csv",
        "convert arm.toml -o arm.toml",
        "convert arm.json -o arm.json",
        "derive arm.toml -o arm.toml",
        "export-case arm.json -o arm.json",
        "simulate planar3 --duration 1 --state k.csv --at 0 -o k.csv --overwrite",
        "simulate planar3 --duration 1 --efforts k.csv -o k.csv --overwrite",
        "simulate planar3 --duration 1 --state run.csv --at end -o run.csv --overwrite",
        "simulate planar3 --duration 1 --controller pd --trajectory k.csv -o k.csv --overwrite",
    ];
    if Path::new(folder.path()).join("link.csv").exists() {
        commands.push("inverse planar3 --state k.csv -o link.csv");
        commands.push("inverse planar3 --state link.csv -o k.csv");
    }
    for arguments in commands {
        let done = folder.run(arguments);
        let message = "error: the output would replace the file that the command reads\n  --> ";
        assert!(
            done.stderr.contains(message),
            "{arguments}: {}",
            done.stderr
        );
        assert_eq!(done.code, 2, "{arguments}");
        let after: Vec<Vec<u8>> = names.iter().map(|name| bytes(&folder, name)).collect();
        assert!(after == before, "{arguments}");
        assert_eq!(folder.files(), names, "{arguments}");
    }
    // another file may be replaced
    assert_eq!(folder.run("convert arm.toml -o arm.json").code, 0);
}
