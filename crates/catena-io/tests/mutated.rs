//! Mutated inputs to every reader: each is refused or read, without a panic, in bounded time; and what is read gives finite
//! results or an error.
//!
//! The inputs are the same in every run. `CATENA_MUTATIONS=100000 cargo test -p catena-io --release --test mutated` tries
//! so many for each reader.

mod mutator;
mod run_support;

use catena::error::Result;
use catena::model::Model;
use catena::random::Random;
use catena::{Dynamics, State};
use catena_io::run::{RunWriter, read_run};
use catena_io::{ReadOptions, model_from_json, model_from_mjcf, model_from_toml, model_from_urdf};
use mutator::{inputs, survive};
use run_support::{FORMATS, Folder, WIDTH, audit, header};
use std::path::{Path, PathBuf};

type Reader = fn(&str, &str, &ReadOptions) -> Result<Model>;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Efforts, accelerations, energies and poses of an accepted model are finite, or refused.
fn expect_finite(what: &str, model: &Model) {
    let model = model.clone().open_tree();
    let mut dynamics = Dynamics::new(&model);
    for seed in 0..2 {
        let state = State::random(&model, seed);
        let ones = vec![1.0; model.nv()];
        let finite = |results: &[f64]| {
            assert!(results.iter().all(|x| x.is_finite()), "{what}: {results:?}");
        };
        if let Ok(tau) = dynamics.inverse(&state, &ones, &[]) {
            finite(tau);
        }
        if let Ok(vdot) = dynamics.forward(&state, &ones, &[]) {
            finite(vdot);
        }
        if let Ok(inertia) = dynamics.inertia(&state) {
            finite(inertia.as_slice());
        }
    }
}

fn mutate_models(files: &[(&str, Reader)], each: u64) {
    let mut accepted = 0;
    for (name, read) in files {
        let original = text(&folder("../../models").join(name));
        let count = inputs(each);
        for seed in 0..count {
            let mut random = Random::new(seed);
            let damaged = mutator::text(&original, &mut random);
            let what = format!("{name}, input {seed}");
            survive(name, seed, damaged.as_bytes(), || {
                if let Ok(model) = read(&damaged, name, &ReadOptions::default()) {
                    expect_finite(&what, &model);
                    accepted += 1;
                }
            });
        }
        // the damage must not be so great that nothing beyond the parser is reached
        assert!(
            accepted > count / 100,
            "{name}: {accepted} of {count} accepted"
        );
    }
}

#[test]
fn toml_models() {
    let files: [(&str, Reader); 2] = [
        ("space_robot.toml", model_from_toml),
        ("planar3.toml", model_from_toml),
    ];
    mutate_models(&files, 250);
}

#[test]
fn json_models() {
    mutate_models(&[("gripper.json", model_from_json)], 400);
}

#[test]
fn urdf_models() {
    mutate_models(&[("double_pendulum.urdf", model_from_urdf)], 500);
}

#[test]
fn mjcf_models() {
    mutate_models(&[("two_legs.xml", model_from_mjcf)], 500);
}

/// Loops, drivers, couplings and distances.
#[test]
fn models_with_constraints() {
    for name in ["four-bar-2", "slider-crank", "stewart", "particle-pendulum"] {
        let builder = catena::model::embedded::builder(name).expect("an embedded model");
        let original = catena_io::to_toml(&builder);
        for seed in 0..inputs(60) {
            let damaged = mutator::text(&original, &mut Random::new(seed));
            survive(name, seed, damaged.as_bytes(), || {
                if let Ok(model) = model_from_toml(&damaged, "x.toml", &ReadOptions::default()) {
                    expect_finite(&format!("{name}, input {seed}"), &model);
                }
            });
        }
    }
}

/// Two blocks and an end, in each format.
#[test]
fn run_files() {
    let folder = Folder::new("mutated");
    for format in FORMATS {
        let path = folder.file(&format!("run.{format}"));
        let mut writer = RunWriter::create(&path, &header(), false).expect("a run can be written");
        for block in 0..2u32 {
            let rows: Vec<f64> = (0..5 * WIDTH)
                .map(|k| 0.25 * k as f64 + f64::from(block) * 100.0)
                .collect();
            writer.block(&rows, &[1, 2, block.into()]).expect("a block");
        }
        writer.finish(&audit()).expect("an end");
        let original = std::fs::read(&path).expect("it is there");
        let damaged_path = folder.file(&format!("damaged.{format}"));
        for seed in 0..inputs(250) {
            let damaged = mutator::bytes(&original, &mut Random::new(seed));
            std::fs::write(&damaged_path, &damaged).expect("it can be written");
            survive(format, seed, &damaged, || {
                if let Ok(run) = read_run(&damaged_path) {
                    for k in 0..run.row_count() {
                        assert!(run.row(k).iter().all(|x| x.is_finite()), "row {k}");
                    }
                }
                let _ = RunWriter::resume(&damaged_path);
            });
        }
    }
}
