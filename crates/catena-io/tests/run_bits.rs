//! A bit changed anywhere in a run file is never taken for a result: the run is refused, or the last block is left out and the
//! reader says so.

mod run_support;

use catena_io::run::{RunWriter, read_run};
use run_support::{
    FORMATS, Folder, Simulation, assert_prefix, audit, bits, expected, header, simulate,
};
use std::fs;
use std::path::{Path, PathBuf};

const BLOCKS: u64 = 4;
const LARGEST: u64 = 6;

/// The changes to try: one bit of every byte, all bits of some.
fn changes(length: usize) -> impl Iterator<Item = (usize, u8)> {
    (0..length).flat_map(|at| {
        let is_full = at % 23 == 0;
        (0..8).filter_map(move |bit| {
            let wanted = is_full || bit == at % 8;
            wanted.then_some((at, 1_u8 << bit))
        })
    })
}

/// Writes a file. Some file systems wait for the disk when one is overwritten.
fn write_anew(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    fs::write(path, bytes).unwrap();
}

/// Tries all changes of one file of a run and asserts that none is accepted. Counts those after which a block was left out.
fn try_changes(run: &Path, file: &Path, finished: &[u8]) -> usize {
    let reference = expected(BLOCKS, LARGEST);
    let original = fs::read(file).unwrap();
    let mut dropped = 0;
    for (number, (at, bit)) in changes(original.len()).enumerate() {
        let mut changed = original.clone();
        changed[at] ^= bit;
        write_anew(file, &changed);
        let what = format!("{}, byte {at}, bit {bit:#x}", file.display());
        if let Ok(found) = read_run(run) {
            dropped += 1;
            assert!(found.dropped > 0, "{what}: no word about it");
            assert!(!found.finished, "{what}: taken for a finished run");
            assert_eq!(found.header, header(), "{what}");
            assert_prefix(&found.columns, &reference, &what);
        }
        match RunWriter::resume(run) {
            Err(error) => assert!(!error.message().contains("finished"), "{what}"),
            Ok((writer, found, checkpoint)) => {
                assert!(writer.dropped() > 0, "{what}: no word about it");
                assert_eq!(found, header(), "{what}");
                let rows = writer.row_count();
                let mut simulation = Simulation::from_checkpoint(&[]);
                let known = (0..BLOCKS).map(|_| simulation.block(LARGEST).1);
                let mut known = [Vec::new()].into_iter().chain(known);
                assert!(known.any(|words| words == checkpoint), "{what}");
                assert!(reference.1.contains(&(rows as usize)), "{what}");
                drop(writer);
                // Reading does not change the file.
                assert!(fs::read(file).unwrap() == changed, "{what}");
                if number % 50 == 0 {
                    simulate(run, BLOCKS, LARGEST).unwrap();
                    assert!(fs::read(run).unwrap() == finished, "{what}");
                }
            }
        }
    }
    write_anew(file, &original);
    dropped
}

#[test]
fn no_changed_bit_of_a_finished_run_is_accepted() {
    let folder = Folder::new("bits-finished");
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        simulate(&path, BLOCKS, LARGEST).unwrap();
        let finished = fs::read(&path).unwrap();
        let dropped = try_changes(&path, &path, &finished);
        println!(
            "{format}: {} bytes, {dropped} changes cost a block",
            finished.len()
        );
        let run = read_run(&path).unwrap();
        assert!(run.finished && run.dropped == 0 && run.audit == Some(audit()));
        assert!(bits(&run.columns) == expected(BLOCKS, LARGEST).0);
    }
}

#[test]
fn no_changed_bit_of_an_unfinished_run_is_accepted() {
    let folder = Folder::new("bits-unfinished");
    for format in FORMATS {
        let whole = folder.file(&format!("whole.{format}"));
        simulate(&whole, BLOCKS, LARGEST).unwrap();
        let finished = fs::read(&whole).unwrap();
        let path = folder.file(&format!("run.{format}"));
        let mut writer = RunWriter::create(&path, &header(), false).unwrap();
        let mut simulation = Simulation::from_checkpoint(&[]);
        for _ in 0..BLOCKS {
            let (rows, checkpoint) = simulation.block(LARGEST);
            writer.block(&rows, &checkpoint).unwrap();
        }
        drop(writer);
        let file: PathBuf = match format {
            "parquet" => folder.file("run.parquet.parts/part-00000001.parquet"),
            _ => path.clone(),
        };
        let dropped = try_changes(&path, &file, &finished);
        println!("{format}: {dropped} changes cost a block");
        // A change in the last block costs no more than that block, where blocks can be told apart.
        assert!(format == "parquet" || dropped > 0, "{format}");
        let run = read_run(&path).unwrap();
        assert!(!run.finished && run.dropped == 0);
    }
}
