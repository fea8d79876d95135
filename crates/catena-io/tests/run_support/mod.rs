//! A stand-in for a simulation: rows from a generator whose state is the checkpoint.
#![allow(dead_code)] // Each test uses some of it.

use catena::error::ErrorKind;
use catena_io::run::{Column, Header, RunWriter, read_run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub const FORMATS: [&str; 3] = ["csv", "parquet", "mcap"];
pub const WIDTH: usize = 7;

/// A folder that is removed at the end of a test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("catena-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn header() -> Header {
    let columns = [
        ("time", "s"),
        ("q.shoulder", "rad"),
        ("q.elbow, left #2", "rad"),
        ("v.shoulder", "rad/s"),
        ("energy", "J"),
        ("energy.kinetic", "J"),
        ("ratio \"r\"", ""),
    ];
    Header {
        columns: columns.map(|(name, unit)| Column::new(name, unit)).into(),
        metadata: json!({ "model": "arm\nof # two", "rtol": 1e-12, "seed": 7, "odd": 0.1 + 0.2 }),
    }
}

pub fn audit() -> Value {
    json!({ "energy drift": 3.0e-13, "verdict": "kept" })
}

/// The simulation.
#[derive(Clone, Copy)]
pub struct Simulation {
    state: u64,
    row: u64,
    block: u64,
}

impl Simulation {
    pub fn from_checkpoint(words: &[u64]) -> Self {
        match *words {
            [state, row, block] => Simulation { state, row, block },
            [] => Simulation {
                state: 0x9e37_79b9_7f4a_7c15,
                row: 0,
                block: 0,
            },
            _ => panic!("checkpoint of {} words", words.len()),
        }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// Rows of the next block, of sizes that vary, some empty.
    pub fn block(&mut self, largest: u64) -> (Vec<f64>, Vec<u64>) {
        let count = self.random() % (largest + 1);
        let mut rows = Vec::new();
        for _ in 0..count {
            rows.push(self.row as f64 * 1e-3);
            self.row += 1;
            for _ in 1..WIDTH {
                let value = f64::from_bits(self.random());
                rows.push(if value.is_finite() { value } else { -0.0 });
            }
        }
        self.block += 1;
        (rows, vec![self.state, self.row, self.block])
    }
}

/// Starts or continues a run and brings it to its end.
pub fn simulate(path: &Path, blocks: u64, largest: u64) -> catena::error::Result<()> {
    let (mut writer, checkpoint) = match RunWriter::resume(path) {
        Ok((writer, _, checkpoint)) => (writer, checkpoint),
        Err(error) if error.kind() == ErrorKind::Missing => {
            (RunWriter::create(path, &header(), false)?, Vec::new())
        }
        Err(_) if read_run(path)?.finished => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut simulation = Simulation::from_checkpoint(&checkpoint);
    while simulation.block < blocks {
        let (rows, checkpoint) = simulation.block(largest);
        writer.block(&rows, &checkpoint)?;
    }
    writer.finish(&audit())
}

/// The bits of a table, column by column.
pub fn bits(columns: &[Vec<f64>]) -> Vec<Vec<u64>> {
    let of_column = |column: &Vec<f64>| column.iter().map(|value| value.to_bits()).collect();
    columns.iter().map(of_column).collect()
}

/// The bits of what the first blocks of the simulation give, and the number of rows after each block.
pub fn expected(blocks: u64, largest: u64) -> (Vec<Vec<u64>>, Vec<usize>) {
    let mut simulation = Simulation::from_checkpoint(&[]);
    let mut columns = vec![Vec::new(); WIDTH];
    let mut ends = vec![0];
    for _ in 0..blocks {
        let (rows, _) = simulation.block(largest);
        for row in rows.chunks_exact(WIDTH) {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value.to_bits());
            }
        }
        ends.push(columns[0].len());
    }
    (columns, ends)
}

/// Panics unless these are the first rows of the simulation, up to the end of a block. Returns the number of rows.
pub fn assert_prefix(
    columns: &[Vec<f64>],
    (all, ends): &(Vec<Vec<u64>>, Vec<usize>),
    what: &str,
) -> usize {
    let count = columns[0].len();
    assert!(ends.contains(&count), "{what}: {count} rows end no block");
    for (column, all) in bits(columns).iter().zip(all) {
        assert_eq!(column[..], all[..count], "{what}");
    }
    count
}
