//! A full disk stops a run with a clear error, keeps what was written, and the run can be resumed.
//!
//! The limit of file sizes stands in for the disk: writing beyond it fails as writing to a full disk does.
#![cfg(unix)]

mod run_support;

use catena_io::run::{RunWriter, read_run};
use run_support::{FORMATS, Folder, Simulation, assert_prefix, bits, expected, header, simulate};
use std::fs;
use std::path::Path;
use std::process::Command;

const BLOCKS: u64 = 60;
const LARGEST: u64 = 200;
/// Tells the process that it is the one that finds no room.
const VARIABLE: &str = "CATENA_TEST_RUN_WITHOUT_ROOM";

/// Not a test by itself: the process that the test below starts with little room. Given a folder on a small file system, it
/// can also be started by hand.
#[test]
fn victim() {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return;
    };
    let mut writer = RunWriter::create(Path::new(&path), &header(), false).unwrap();
    let mut simulation = Simulation::from_checkpoint(&[]);
    for _ in 0..BLOCKS {
        let (rows, checkpoint) = simulation.block(LARGEST);
        if let Err(error) = writer.block(&rows, &checkpoint) {
            println!("{error}");
            let text = error.to_string();
            assert!(text.contains("the run cannot be written"), "{text}");
            assert!(
                text.contains("the file holds") && text.contains("resume"),
                "{text}"
            );
            // Trying again must not spoil anything.
            assert!(writer.block(&rows, &checkpoint).is_err());
            return;
        }
    }
    let error = writer.finish(&run_support::audit()).unwrap_err();
    println!("{error}");
}

#[test]
fn what_was_written_before_the_disk_was_full_is_kept() {
    let folder = Folder::new("full");
    let reference = expected(BLOCKS, LARGEST);
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        let test = std::env::current_exe().unwrap();
        // through pipes: the limit is on every file, also one that this test's output is written to
        let victim = Command::new("sh")
            .args([
                "-c",
                "trap '' XFSZ; ulimit -f 120; exec \"$0\" --exact victim --nocapture",
            ])
            .arg(test)
            .env(VARIABLE, &path)
            .output()
            .unwrap();
        assert!(
            victim.status.success(),
            "{format}: {}",
            String::from_utf8_lossy(&victim.stderr)
        );
        let run = read_run(&path).unwrap();
        assert!(!run.finished);
        let count = assert_prefix(&run.columns, &reference, format);
        assert!(0 < count && count < reference.0[0].len());

        let whole = folder.file(&format!("whole.{format}"));
        simulate(&path, BLOCKS, LARGEST).unwrap();
        simulate(&whole, BLOCKS, LARGEST).unwrap();
        assert!(
            bits(&read_run(&path).unwrap().columns) == reference.0,
            "{format}"
        );
        assert!(
            fs::read(&path).unwrap() == fs::read(&whole).unwrap(),
            "{format}"
        );
    }
}
