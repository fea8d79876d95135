//! Two processes that write one run at the same time: afterwards the file is one of the two runs, whole, and the process that
//! did not write it was told so.

mod run_support;

use catena_io::run::{Header, RunWriter};
use run_support::{FORMATS, Folder, Simulation, audit, header};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PAIRS: usize = 30;
const BLOCKS: u64 = 6;
const LARGEST: u64 = 20;
/// Tells a process that it is one of the two: the path, the number of the run, and whether it may overwrite.
const VARIABLES: [&str; 3] = [
    "CATENA_TEST_RUN_FOR_TWO",
    "CATENA_TEST_RUN_NUMBER",
    "CATENA_TEST_RUN_OVERWRITE",
];

fn numbered(number: &str) -> Header {
    let mut header = header();
    header.metadata["number"] = number.into();
    header
}

fn write(path: &Path, number: &str, overwrite: bool) -> catena::error::Result<()> {
    let mut writer = RunWriter::create(path, &numbered(number), overwrite)?;
    let mut simulation = Simulation::from_checkpoint(&[]);
    for _ in 0..BLOCKS {
        let (rows, checkpoint) = simulation.block(LARGEST);
        writer.block(&rows, &checkpoint)?;
    }
    writer.finish(&audit())
}

/// Both processes wait for this file, so that they begin together.
fn signal(path: &Path) -> PathBuf {
    path.with_file_name("go")
}

/// Not a test by itself: the processes that the test below starts.
#[test]
fn writer() {
    let [Some(path), Some(number), Some(overwrite)] = VARIABLES.map(std::env::var_os) else {
        return;
    };
    let path = Path::new(&path);
    let begin = Instant::now();
    while !signal(path).exists() && begin.elapsed() < Duration::from_secs(60) {
        std::hint::spin_loop();
    }
    let number = number.to_string_lossy();
    if let Err(error) = write(path, &number, overwrite == "true") {
        panic!("refused: {error}");
    }
}

fn start(path: &Path, number: &str, overwrite: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writer", "--nocapture"]);
    let values = [
        path.display().to_string(),
        number.into(),
        overwrite.to_string(),
    ];
    command
        .envs(VARIABLES.into_iter().zip(values))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn the_run_is_one_of_the_two_and_the_other_process_is_told() {
    for format in FORMATS {
        let name = format!("run.{format}");
        let whole = ["1", "2"].map(|number| {
            let folder = Folder::new(&format!("whole-{number}-{format}"));
            write(&folder.file(&name), number, false).unwrap();
            fs::read(folder.file(&name)).unwrap()
        });
        for overwrite in [false, true] {
            for pair in 0..PAIRS {
                let folder = Folder::new(&format!("two-{format}"));
                let path = folder.file(&name);
                if overwrite && pair % 2 == 0 {
                    write(&path, "0", false).unwrap();
                }
                let children = ["1", "2"].map(|number| start(&path, number, overwrite));
                fs::write(signal(&path), []).unwrap();
                let ends = children.map(|child| child.wait_with_output().unwrap());
                let said = ends.each_ref().map(|end| {
                    let text = String::from_utf8_lossy(&end.stderr);
                    text.contains("exists already") || text.contains("another process is writing")
                });
                let done = ends.each_ref().map(|end| end.status.success());
                let what = format!("{format}, overwrite {overwrite}, pair {pair}: {ends:?}");
                // Each process either wrote its run or says why not.
                assert!(done[0] != said[0] && done[1] != said[1], "{what}");
                let found = fs::read(&path).unwrap_or_else(|error| panic!("{error}: {what}"));
                let which = whole.iter().position(|whole| *whole == found);
                let which = which.unwrap_or_else(|| panic!("the run is spoilt: {what}"));
                assert!(done[which], "the run of a process that failed: {what}");
                assert!(overwrite || !(done[0] && done[1]), "{what}");
                // Nothing else is left.
                fs::remove_file(signal(&path)).unwrap();
                let files = fs::read_dir(&folder.0).unwrap();
                let files: Vec<_> = files.map(|entry| entry.unwrap().file_name()).collect();
                assert_eq!(files, [name.as_str()], "{what}");
            }
        }
    }
}
