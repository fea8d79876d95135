//! Kept inputs and damaged files to every reader: each is refused or accepted without a panic, in bounded time and memory, and
//! what is accepted gives finite results or an error.
//!
//! The inputs are the same in every run. `CATENA_MUTATIONS=100000 cargo test -p catena-fuzz --release` tries so many for each
//! reader; `fuzz/run` searches with a coverage-guided fuzzer instead.

use catena::random::Random;
use catena_fuzz::memory::{Counting, measure};
use catena_fuzz::mutator::{self, inputs, survive};
use catena_fuzz::{TARGETS, Target, target};
use std::path::Path;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// No input may make its reader hold more than this many bytes, and so many for each byte of the input: workspaces of the
/// dynamics and tables of what is known come to less than the former, a body described in few words to less than the latter.
const MEMORY: (usize, usize) = (8 << 20, 4096);

/// Runs a target on one input. True if it was accepted.
fn try_input(target: &Target, seed: u64, input: &[u8]) -> bool {
    let (accepted, held) = measure(|| survive(target.name, seed, input, || (target.run)(input)));
    let allowed = MEMORY.0 + MEMORY.1 * input.len();
    assert!(
        held <= allowed,
        "{}, input {seed}: {held} bytes for {} of input",
        target.name,
        input.len()
    );
    accepted
}

/// `usual` damaged inputs in all, from the seeds in turn. At least a hundredth must be accepted where damage can be harmless, so
/// that more than parsers are tried; pages of Parquet and records of MCAP carry checksums.
fn damage(name: &str, usual: u64) {
    let target = target(name).expect("a target");
    let seeds = (target.seeds)();
    for seed in &seeds {
        try_input(&target, 0, seed);
    }
    let count = inputs(usual);
    let mut accepted = 0;
    for k in 0..count {
        let mut random = Random::new(k);
        let seed = &seeds[k as usize % seeds.len()];
        let input = match target.is_text {
            true => {
                let text = std::str::from_utf8(seed).expect("a seed of text");
                mutator::text(text, &mut random).into_bytes()
            }
            false => mutator::bytes(seed, &mut random),
        };
        accepted += u64::from(try_input(&target, k, &input));
    }
    assert!(
        !target.is_text || accepted > count / 100,
        "{name}: {accepted} of {count} accepted"
    );
}

#[test]
fn toml() {
    damage("toml", 750);
}

#[test]
fn json() {
    damage("json", 400);
}

#[test]
fn urdf() {
    damage("urdf", 500);
}

#[test]
fn mjcf() {
    damage("mjcf", 500);
}

#[test]
fn sdf() {
    damage("sdf", 500);
}

#[test]
fn study() {
    damage("study", 500);
}

#[test]
fn conformance() {
    damage("conformance", 400);
}

#[test]
fn run_csv() {
    damage("run_csv", 250);
}

#[test]
fn run_parquet() {
    damage("run_parquet", 250);
}

#[test]
fn run_mcap() {
    damage("run_mcap", 250);
}

#[test]
fn states() {
    damage("states", 500);
}

#[test]
fn study_list() {
    damage("study_list", 250);
}

#[test]
fn mesh_stl() {
    damage("mesh_stl", 150);
}

#[test]
fn mesh_obj() {
    damage("mesh_obj", 250);
}

#[test]
fn mesh_dae() {
    damage("mesh_dae", 250);
}

#[test]
fn mesh_gltf() {
    damage("mesh_gltf", 250);
}

/// Inputs that were worth keeping: those that once failed, and those by which the fuzzer reached new code.
#[test]
fn corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for target in TARGETS {
        let folder = corpus.join(target.name);
        let mut kept: Vec<_> = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .flatten()
            .map(|entry| entry.path())
            .collect();
        kept.sort();
        assert!(!kept.is_empty(), "{} is empty", folder.display());
        for (k, path) in kept.iter().enumerate() {
            let input = std::fs::read(path).expect("a kept input");
            try_input(&target, k as u64, &input);
        }
    }
}
