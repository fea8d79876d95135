//! Runs killed at any moment lose nothing that was written, and resumed runs end with the same bits.
#![cfg(unix)]

mod run_support;

use catena::error::ErrorKind;
use catena_io::run::{RunWriter, read_run};
use run_support::{
    FORMATS, Folder, Simulation, assert_prefix, audit, bits, expected, header, simulate,
};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Instant, UNIX_EPOCH};

const BLOCKS: u64 = 250;
const LARGEST: u64 = 200;
const KILLS: usize = 25;
/// Tells the process that it is the one to be killed.
const VARIABLE: &str = "CATENA_TEST_RUN_TO_KILL";

/// Not a test by itself: the process that the test below starts and kills.
#[test]
fn victim() {
    if let Some(path) = std::env::var_os(VARIABLE) {
        simulate(Path::new(&path), BLOCKS, LARGEST).unwrap();
    }
}

fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--nocapture"])
        .env(VARIABLE, path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_and_resumed_runs_have_the_bits_of_uninterrupted_ones() {
    let folder = Folder::new("kill");
    let reference = expected(BLOCKS, LARGEST);
    let mut delays = random_numbers(17);
    for format in FORMATS {
        let whole = folder.file(&format!("whole.{format}"));
        let begin = Instant::now();
        assert!(start(&whole).wait().unwrap().success());
        let longest = begin.elapsed();

        let (mut kills, mut seen_inside, mut runs) = (0, 0, 0);
        while kills < KILLS || runs == 0 {
            let path = folder.file(&format!("killed-{runs}.{format}"));
            // On a busy machine the process may make no progress in the time it needed before: the time is increased.
            let mut patience = 0.6;
            loop {
                let mut child = start(&path);
                std::thread::sleep(longest.mul_f64(patience * delays()));
                patience *= 1.05;
                child.kill().unwrap();
                let status = child.wait().unwrap();
                if status.success() {
                    break;
                }
                assert_eq!(
                    status.code(),
                    None,
                    "{format}: the process failed by itself"
                );
                kills += 1;
                match read_run(&path) {
                    Ok(run) => {
                        assert_eq!(run.header, header());
                        let count = assert_prefix(&run.columns, &reference, format);
                        if count > 0 && !run.finished {
                            seen_inside += 1;
                        }
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Missing, "{format}: {error}");
                    }
                }
            }
            let run = read_run(&path).unwrap();
            assert!(run.finished);
            assert_eq!(run.audit, Some(audit()));
            assert!(bits(&run.columns) == reference.0, "{format}: other bits");
            assert!(
                fs::read(&path).unwrap() == fs::read(&whole).unwrap(),
                "{format}: other bytes"
            );
            // Whatever a kill after the merging of parts has left is gone after an attempt to resume.
            assert!(RunWriter::resume(&path).is_err());
            assert!(
                !folder
                    .file(&format!("killed-{runs}.{format}.parts"))
                    .exists()
            );
            runs += 1;
        }
        println!("{format}: {kills} kills, {seen_inside} of them inside, {runs} runs");
        assert!(seen_inside > 0, "{format}: no kill hit a run in the middle");
    }
}

/// Numbers between 0 and 1 for the moments of the kills.
fn random_numbers(mut state: u64) -> impl FnMut() -> f64 {
    state ^= u64::from(std::process::id()) << 20;
    state ^= UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Every state that a kill during the writing of one block can leave, byte by byte.
#[test]
fn every_torn_write_leaves_the_blocks_before_it() {
    let folder = Folder::new("torn");
    let (blocks, largest) = (4, 3);
    let reference = expected(blocks, largest);
    for format in ["csv", "mcap"] {
        let path = folder.file(&format!("run.{format}"));
        let torn = folder.file(&format!("torn.{format}"));
        let mut writer = RunWriter::create(&path, &header(), false).unwrap();
        let mut simulation = Simulation::from_checkpoint(&[]);
        let mut before = fs::read(&path).unwrap();
        for block in 1..=blocks as usize {
            let (rows, checkpoint) = simulation.block(largest);
            writer.block(&rows, &checkpoint).unwrap();
            let after = fs::read(&path).unwrap();
            for state in states(format, &before, &after) {
                write_anew(&torn, &state);
                let run = read_run(&torn).unwrap();
                let count = assert_prefix(&run.columns, &reference, format);
                assert!([reference.1[block - 1], reference.1[block]].contains(&count));
                assert!(!run.finished);
            }
            before = after;
        }
        writer.finish(&audit()).unwrap();
        let after = fs::read(&path).unwrap();
        for (number, state) in states(format, &before, &after).iter().enumerate() {
            write_anew(&torn, state);
            let run = read_run(&torn).unwrap();
            assert!(bits(&run.columns) == reference.0);
            // Finishing waits for the disk.
            if !run.finished && number % 10 == 0 {
                simulate(&torn, blocks, largest).unwrap();
                assert!(fs::read(&torn).unwrap() == after, "{format}");
            }
        }
    }
}

/// Writes a file. Some file systems wait for the disk when one is overwritten.
fn write_anew(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    fs::write(path, bytes).unwrap();
}

/// What a file may hold between two blocks.
fn states(format: &str, before: &[u8], after: &[u8]) -> Vec<Vec<u8>> {
    let mut states = Vec::new();
    if format == "csv" {
        let new = &after[before.len()..];
        let mut hidden = new.to_vec();
        let starts = (0..new.len()).filter(|&at| at == 0 || new[at - 1] == b'\n');
        starts.for_each(|at| hidden[at] = b'#');
        for cut in 0..=new.len() {
            states.push([before, &hidden[..cut]].concat());
            states.push([before, &new[..cut], &hidden[cut..]].concat());
        }
    } else {
        let end = 50;
        let data = before.len() - end;
        for cut in before.len()..=after.len() {
            states.push([before, &after[before.len()..cut]].concat());
        }
        for cut in data..=before.len() {
            let beyond = &after[before.len()..];
            states.push([&after[..cut], &before[cut..], beyond].concat());
        }
    }
    states
}
