//! Files that are removed while a run is being written: what was in them is written again, and the error says where.
#![cfg(unix)]

mod run_support;

use catena_io::run::{RunWriter, read_run};
use run_support::{Folder, Simulation, audit, bits, expected, header};
use std::fs;

const BLOCKS: u64 = 3;
const LARGEST: u64 = 20;

#[test]
fn a_run_removed_before_its_end_is_complete_again() {
    let folder = Folder::new("removed");
    for format in ["csv", "mcap"] {
        let path = folder.file(&format!("run.{format}"));
        let mut writer = RunWriter::create(&path, &header(), false).unwrap();
        let mut simulation = Simulation::from_checkpoint(&[]);
        for _ in 0..BLOCKS {
            let (rows, checkpoint) = simulation.block(LARGEST);
            writer.block(&rows, &checkpoint).unwrap();
        }
        fs::remove_file(&path).unwrap();
        let error = writer.finish(&audit()).unwrap_err().to_string();
        assert!(error.contains("was removed, moved or replaced"), "{error}");
        assert!(error.contains("the run is complete there"), "{error}");
        let run = read_run(&path).unwrap();
        assert!(run.finished);
        assert!(bits(&run.columns) == expected(BLOCKS, LARGEST).0);
    }
}

#[test]
fn a_run_whose_folder_is_gone_is_written_elsewhere() {
    let folder = Folder::new("removed-folder");
    for format in ["csv", "mcap"] {
        let inner = folder.file(format);
        fs::create_dir(&inner).unwrap();
        let name = format!("catena-removed-{}.{format}", std::process::id());
        let path = inner.join(&name);
        let mut writer = RunWriter::create(&path, &header(), false).unwrap();
        let mut simulation = Simulation::from_checkpoint(&[]);
        let (rows, checkpoint) = simulation.block(LARGEST);
        writer.block(&rows, &checkpoint).unwrap();
        fs::remove_dir_all(&inner).unwrap();
        let (rows, checkpoint) = simulation.block(LARGEST);
        let error = writer.block(&rows, &checkpoint).unwrap_err().to_string();
        let rescued = std::env::temp_dir().join(&name);
        assert!(error.contains(&rescued.display().to_string()), "{error}");
        // the block that failed may be tried again
        writer.block(&rows, &checkpoint).unwrap();
        writer.finish(&audit()).unwrap();
        let run = read_run(&rescued).unwrap();
        fs::remove_file(&rescued).unwrap();
        assert!(run.finished);
        assert!(bits(&run.columns) == expected(2, LARGEST).0);
    }
}
