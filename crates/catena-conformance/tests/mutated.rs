//! Mutated cases: each is refused or computed, without a panic, in bounded time.
//!
//! The inputs are the same in every run. `CATENA_MUTATIONS=100000 cargo test -p catena-conformance --release --test mutated`
//! tries so many for each case.

#[path = "../../catena-io/tests/mutator/mod.rs"]
mod mutator;

use catena::random::Random;
use catena_conformance::verify_text;
use mutator::{inputs, survive};
use std::path::{Path, PathBuf};

#[test]
fn conformance_cases() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"))
            .expect("the cases are there")
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect();
    files.sort();
    for path in files {
        let original = std::fs::read_to_string(&path).expect("the case is there");
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // motions take longer, and those whose end was moved far away a thousand steps
        let usual = if original.contains("_sim\"") { 5 } else { 20 };
        for seed in 0..inputs(usual) {
            let damaged = mutator::text(&original, &mut Random::new(seed));
            survive(&name, seed, damaged.as_bytes(), || {
                let _ = verify_text(&damaged, &name);
            });
        }
    }
}
