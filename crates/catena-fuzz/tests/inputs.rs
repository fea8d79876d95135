//! Kept inputs and damaged files to every reader: each is refused or accepted without a panic, in bounded time and memory, and
//! what is accepted gives finite results or an error.
//!
//! The inputs are the same in every run. `CATENA_MUTATIONS=100000 cargo test -p catena-fuzz --release` tries this many for each
//! reader; `fuzz/run` searches with a coverage-guided fuzzer instead.

use catena::random::Random;
use catena_fuzz::memory::{Counting, measure};
use catena_fuzz::mutator::{self, inputs, survive};
use catena_fuzz::{TARGETS, Target, target};
use std::path::Path;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// No input may make its reader hold more than this many bytes, and this many for each byte of the input: workspaces of the
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
    for (k, seed) in seeds.iter().enumerate() {
        let accepted = try_input(&target, 0, seed);
        // numbers that are none must be refused
        let is_good = name != "states" || k == 0;
        assert_eq!(accepted, is_good, "{name}: seed {k}");
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

#[test]
fn mjcf_stl() {
    damage("mjcf_stl", 250);
}

#[test]
fn mjcf_obj() {
    damage("mjcf_obj", 250);
}

#[test]
fn mjcf_msh() {
    damage("mjcf_msh", 250);
}

#[test]
fn state_json() {
    damage("state_json", 250);
}

#[test]
fn state_csv() {
    damage("state_csv", 250);
}

#[test]
fn trajectory_csv() {
    damage("trajectory_csv", 250);
}

#[test]
fn journal() {
    damage("journal", 400);
}

#[test]
fn study_lines() {
    damage("study_lines", 250);
}

#[test]
fn checkpoint() {
    damage("checkpoint", 300);
}

/// `fuzz/` is no member of the workspace: no test compiles it, and it must not forget a target.
#[test]
fn the_fuzzer_knows_every_target() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut names: Vec<String> = TARGETS.iter().map(|target| target.name.into()).collect();
    names.sort();
    let mut programs = Vec::new();
    for entry in std::fs::read_dir(fuzz.join("targets"))
        .expect("a folder")
        .flatten()
    {
        let path = entry.path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let source = std::fs::read_to_string(&path).expect("a source file");
        assert_eq!(
            source,
            format!("#![no_main]\n\ncatena_fuzz_targets::target!(\"{name}\");\n"),
            "{}",
            path.display()
        );
        programs.push(name);
    }
    programs.sort();
    assert_eq!(programs, names, "fuzz/targets");
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("a manifest");
    let mut declared: Vec<String> = manifest
        .split("[[bin]]\n")
        .skip(1)
        .map(|table| {
            let value = |key: &str| {
                let line = table.lines().find_map(|line| line.strip_prefix(key));
                let line = line.unwrap_or_else(|| panic!("no `{key}` in {table}"));
                line.trim_matches('"').to_string()
            };
            let name = value("name = ");
            assert_eq!(value("path = "), format!("targets/{name}.rs"));
            name
        })
        .collect();
    declared.sort();
    assert_eq!(declared, names, "fuzz/Cargo.toml");
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
