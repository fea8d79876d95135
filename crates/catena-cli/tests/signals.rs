//! Signals and full disks: what was computed is kept, and the message says so. Memory and open files of a long-lived process stay.
#![cfg(unix)]

mod common;

use catena_io::run::read_run;
use common::{Folder, good};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn start(folder: &Folder, arguments: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_catena"))
        .args(arguments.split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits until a condition holds, a minute at most.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signalled(child: Child, signal: &str) -> (Output, String) {
    let sent = Command::new("kill")
        .args(["-s", signal, &child.id().to_string()])
        .status()
        .expect("kill is there");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// Bytes of a run, or of its parts.
fn written(folder: &Folder, name: &str) -> u64 {
    let length = |path: &Path| path.metadata().map_or(0, |data| data.len());
    let parts = folder.path().join(format!("{name}.parts"));
    let in_parts = std::fs::read_dir(parts).map_or(0, |all| {
        all.flatten().map(|entry| length(&entry.path())).sum()
    });
    length(&folder.path().join(name)) + in_parts
}

#[test]
fn a_signal_ends_a_run_that_can_be_resumed() {
    for (signal, name, code) in [
        ("INT", "run.csv", 130),
        ("TERM", "run.mcap", 143),
        ("HUP", "run.parquet", 129),
    ] {
        let folder = Folder::new(&format!("signal-{signal}"));
        let command = format!("simulate pendulum-10 --duration 2000 -o {name}");
        let written = || written(&folder, name);
        if signal == "HUP" && ignores_hang_up() {
            eprintln!("skipped: the tests run under nohup");
            continue;
        }
        let child = start(&folder, &command);
        wait_until("rows", || written() > 100_000);
        let (output, said) = signalled(child, signal);
        assert_eq!(output.status.code(), Some(code), "{signal}: {said}");
        assert!(said.contains("a signal has ended the command"), "{said}");
        assert!(
            said.contains("--resume") && said.contains("keeps"),
            "{said}"
        );
        // it continues from there, and can be ended again
        let before = written();
        let child = start(&folder, &format!("{command} --resume"));
        wait_until("more rows", || written() > before + 100_000);
        let (output, said) = signalled(child, signal);
        assert_eq!(output.status.code(), Some(code), "{signal}: {said}");
    }
}

/// A run that signals have ended twice has the numbers of an uninterrupted one; a Parquet file has its bytes.
#[test]
fn a_signal_changes_no_bit() {
    for name in ["run.csv", "run.parquet"] {
        let [whole, ended] =
            ["whole", "ended"].map(|kind| Folder::new(&format!("bits-{kind}-{name}")));
        let command =
            format!("simulate pendulum-10 --random 3 --duration 4 --interval 0.0005 -o {name}");
        assert_eq!(whole.run(&command).code, 0);
        let mut again = String::new();
        for code in [143, 130] {
            let child = start(&ended, &format!("{command}{again}"));
            let before = written(&ended, name);
            wait_until("rows", || written(&ended, name) > before + 50_000);
            let signal = if code == 143 { "TERM" } else { "INT" };
            let (output, said) = signalled(child, signal);
            assert_eq!(output.status.code(), Some(code), "{said}");
            again = " --resume".into();
        }
        let run = ended.run(&format!("{command} --resume"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let rows = |folder: &Folder| match name {
            "run.csv" => {
                let text = folder.read(name);
                let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
                rows.join("\n").into_bytes()
            }
            _ => std::fs::read(folder.path().join(name)).expect("the run"),
        };
        assert!(rows(&whole) == rows(&ended), "{name} differs");
    }
}

/// Does this process ignore SIGHUP, and so every program that it starts?
fn ignores_hang_up() -> bool {
    let status = Command::new("sh").args(["-c", "kill -HUP $$"]).status();
    status.expect("a shell").success()
}

/// A run that was started to outlive its terminal does, and still ends by the signals that are meant for it.
#[test]
fn nohup_is_respected() {
    let folder = Folder::new("signal-nohup");
    let child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_catena"))
        .args("simulate pendulum-10 --duration 2000 -o run.csv".split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("nohup is there");
    let written = || written(&folder, "run.csv");
    wait_until("rows", || written() > 100_000);
    let before = written();
    let sent = Command::new("kill")
        .args(["-s", "HUP", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill is there").success());
    wait_until("more rows", || written() > before + 200_000);
    let (output, said) = signalled(child, "TERM");
    assert_eq!(output.status.code(), Some(143), "{said}");
}

#[test]
fn a_signal_ends_a_study_that_can_be_resumed() {
    let folder = Folder::new("signal-study");
    folder.write("study.toml", STUDY);
    let written = || {
        let names = folder.files();
        let of_results = names.iter().filter(|name| name.contains("results.csv"));
        let lengths = of_results.map(|name| folder.path().join(name).metadata());
        lengths.flatten().map(|data| data.len()).sum::<u64>()
    };
    let child = start(&folder, "sweep study.toml --jobs 1 -o results.csv");
    wait_until("samples", || written() > 10_000);
    let (output, said) = signalled(child, "TERM");
    assert_eq!(output.status.code(), Some(143), "{said}");
    assert!(said.contains("a signal has ended the command"), "{said}");
    assert!(said.contains("results.csv.journal keeps"), "{said}");
    let child = start(&folder, "sweep study.toml --jobs 1 -o results.csv --resume");
    std::thread::sleep(Duration::from_millis(500));
    let (output, said) = signalled(child, "INT");
    assert_eq!(output.status.code(), Some(130), "{said}");
}

/// A search that is ended has a result, the best of its runs, on stdout and in its file.
#[test]
fn a_signal_ends_a_search_with_its_best_point() {
    let folder = Folder::new("signal-search");
    let study = STUDY.replace("duration = 1\n", "duration = 1000\n");
    let search = |evaluations| {
        format!("{study}[optimize]\nminimise = \"end\"\nevaluations = {evaluations}\n")
    };
    // the whole search has eleven runs: it is ended after about three
    folder.write("start.toml", &search(3));
    let began = Instant::now();
    let child = start(&folder, "optimize start.toml --json -o start.json");
    child.wait_with_output().expect("the end of three runs");
    let three = began.elapsed();
    folder.write("search.toml", &search(1000));
    let child = start(&folder, "optimize search.toml --json -o best.json");
    std::thread::sleep(three);
    let (output, said) = signalled(child, "TERM");
    assert_eq!(output.status.code(), Some(143), "{said}");
    assert!(said.contains("a signal has ended the command"), "{said}");
    assert!(said.contains("the result is the best of "), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a result");
    assert_eq!(found["end"], "the search was ended before that");
    assert_eq!(folder.read("best.json").into_bytes(), output.stdout);
}

/// Some minutes of work.
const STUDY: &str = r#"
format = "catena-study/1"
model = "pendulum-3"
[design]
kind = "random"
samples = 20000
seed = 1
[[parameter]]
name = "g"
path = "gravity"
uniform = [9, 10]
[run]
duration = 1
rtol = "1e-10"
audit = "report"
[[measure]]
name = "end"
value = "last(kinetic)"
"#;

/// A file that must not grow beyond its limit stands for a disk that is full.
#[test]
fn a_full_disk_keeps_what_was_written() {
    for name in ["run.csv", "run.mcap", "run.parquet"] {
        let folder = Folder::new(&format!("full-{name}"));
        let program = env!("CARGO_BIN_EXE_catena");
        let line = format!(
            "ulimit -f 600; exec '{program}' simulate pendulum-10 --duration 2000 -o {name}"
        );
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(folder.path())
            .output()
            .expect("sh is there");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot be written: File too large"), "{said}");
        assert!(said.contains("keeps") || said.contains("rows"), "{said}");
    }
}

/// Starts a run that takes minutes, waits until the folder has some of it, and returns what is printed after its files were disturbed.
fn disturbed(folder: &Folder, name: &str, disturb: impl Fn(&Path)) -> String {
    let child = start(
        folder,
        &format!("simulate pendulum-10 --duration 2000 -o {name}"),
    );
    let path = folder.path().join(name);
    let parts = folder.path().join(format!("{name}.parts"));
    wait_until("rows", || {
        let is_filled = |path: &Path| path.metadata().is_ok_and(|data| data.len() > 100_000);
        is_filled(&path) || is_filled(&parts.join("part-00000001.parquet"))
    });
    disturb(&path);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("was removed, moved or replaced while the run was being written"),
        "{said}"
    );
    said
}

#[test]
fn a_file_that_is_removed_is_written_again() {
    for name in ["run.csv", "run.mcap"] {
        let folder = Folder::new(&format!("removed-{name}"));
        let said = disturbed(&folder, name, |path| {
            std::fs::remove_file(path).expect("it is there");
        });
        assert!(said.contains("were written again, to "), "{said}");
        assert!(said.contains("resume the run there"), "{said}");
        let run = read_run(&folder.path().join(name)).expect("a run");
        assert!(!run.finished && run.row_count() > 100);
        assert!(
            said.contains(&format!("its {} rows", run.row_count())),
            "{said}"
        );
        assert_eq!(folder.files(), [name]);
    }
}

#[test]
fn a_file_that_is_replaced_is_written_beside() {
    for (name, beside) in [
        ("run.csv", "run.rescued.csv"),
        ("run.mcap", "run.rescued.mcap"),
    ] {
        let folder = Folder::new(&format!("replaced-{name}"));
        let said = disturbed(&folder, name, |path| {
            let other = path.with_extension("other");
            std::fs::write(&other, "somebody's").expect("a file");
            std::fs::rename(other, path).expect("replaced");
        });
        assert!(said.contains(beside), "{said}");
        assert_eq!(folder.read(name), "somebody's");
        let run = read_run(&folder.path().join(beside)).expect("a run");
        assert!(!run.finished && run.row_count() > 100);
    }
}

/// Where nothing is left, nothing is claimed.
#[test]
fn parts_that_are_gone_are_not_claimed() {
    let folder = Folder::new("parts-moved");
    let parts = folder.path().join("run.parquet.parts");
    let away = folder.path().join("away");
    let said = disturbed(&folder, "run.parquet", |_| {
        std::fs::rename(&parts, &away).expect("moved");
    });
    assert!(said.contains("the folder run.parquet.parts was"), "{said}");
    assert!(said.contains("if it was moved, put it back"), "{said}");
    assert!(!said.contains("holds") && !said.contains("\\n"), "{said}");
    std::fs::rename(&away, &parts).expect("put back");
    let run = read_run(&folder.path().join("run.parquet")).expect("a run");
    assert!(
        said.contains(&format!("its {} rows", run.row_count())),
        "{said}"
    );

    let folder = Folder::new("part-removed");
    let part = folder
        .path()
        .join("run.parquet.parts/part-00000001.parquet");
    let said = disturbed(&folder, "run.parquet", |_| {
        std::fs::remove_file(&part).expect("it is there");
    });
    assert!(said.contains("part-00000001.parquet was"), "{said}");
    assert!(!said.contains("holds") && !said.contains("\\n"), "{said}");
}

/// A command as a user who must heed permissions: root need not. None, and why, where there is no way to become one.
fn without_privileges(folder: &Folder, arguments: &str) -> Result<Command, String> {
    let program = env!("CARGO_BIN_EXE_catena");
    let user = Command::new("id").arg("-u").output().expect("id is there");
    let mut command = match String::from_utf8_lossy(&user.stdout).trim() {
        "0" => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
            std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534))
                .map_err(|error| format!("the folder cannot be given away: {error}"))?;
            match command.arg("--version").output() {
                Ok(output) if output.status.success() => {}
                Ok(output) => return Err(String::from_utf8_lossy(&output.stderr).into_owned()),
                Err(error) => return Err(format!("setpriv: {error}")),
            }
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
            command
        }
        _ => Command::new(program),
    };
    command
        .args(arguments.split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// A folder that can no longer be written ends the run, its rows are kept, and it continues once the folder can be written again.
#[test]
fn a_folder_that_becomes_read_only_keeps_what_was_written() {
    use std::os::unix::fs::PermissionsExt;
    const RUN: &str = "simulate pendulum-10 --random 3 --duration 60 --interval 0.005 --rtol 1e-10 -o run.parquet";
    let folder = Folder::new("read-only");
    let mut command = match without_privileges(&folder, RUN) {
        Ok(command) => command,
        Err(why) => {
            println!("skipped: root writes everywhere, and there is no other user: {why}");
            return;
        }
    };
    let parts = folder.path().join("run.parquet.parts");
    let permit = |mode: u32| {
        for path in [&parts, folder.path()] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, permissions).expect("permissions can be set");
        }
    };
    let child = command.spawn().expect("the program starts");
    wait_until("rows", || parts.join("part-00000002.parquet").exists());
    permit(0o555);
    let output = child.wait_with_output().expect("it ends");
    permit(0o755);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("Permission denied"), "{said}");
    let kept = read_run(&folder.path().join("run.parquet")).expect("a run");
    assert!(!kept.finished && kept.row_count() > 0);
    let holds = format!("the file holds {} rows", kept.row_count());
    assert!(
        said.contains(&holds) && said.contains("resume the run"),
        "{said}"
    );

    let resumed = without_privileges(&folder, &format!("{RUN} --resume")).expect("as before");
    let output = { resumed }.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let whole = read_run(&folder.path().join("run.parquet")).expect("a run");
    assert!(whole.finished && whole.row_count() > kept.row_count());
    for k in 0..kept.row_count() {
        assert_eq!(whole.row(k), kept.row(k), "row {k}");
    }
}

/// Memory and open files stay constant while `catena soak` runs commands in one process for some seconds; for hours by `catena soak --seconds 14400`.
#[test]
fn memory_and_open_files_stay() {
    let told = good("soak --seconds 4 --json").json();
    assert_eq!(told["format"], "catena-soak/1");
    assert!(told["rounds"].as_u64().is_some_and(|rounds| rounds >= 1));
    assert_eq!(told["handles"]["first"], told["handles"]["last"]);
}
