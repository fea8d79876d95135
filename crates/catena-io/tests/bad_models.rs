//! Every broken model in `bad_models/` gives exactly the message in the file beside it.
//!
//! With `CATENA_WRITE_EXPECTED=1` in the environment the messages are written instead; read them before keeping them.

use catena_io::{ReadOptions, read_model};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_models")
}

#[test]
fn every_broken_model_is_refused_with_its_message() {
    let mut models: Vec<PathBuf> = fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_none_or(|e| e != "expected"))
        .collect();
    models.sort();
    assert!(models.len() >= 45, "only {} models", models.len());
    let write = std::env::var_os("CATENA_WRITE_EXPECTED").is_some();
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    let mut wrong = Vec::new();
    for path in models {
        let name = path.file_name().expect("a file").to_string_lossy();
        let Err(error) = read_model(&path, &strict) else {
            wrong.push(format!("{name}: accepted"));
            continue;
        };
        let full = path.display().to_string();
        let message = format!("{}\n", error.to_string().replace(&full, &name));
        let beside = PathBuf::from(format!("{full}.expected"));
        if write {
            fs::write(&beside, &message).expect("writable");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if message != expected {
            wrong.push(format!("{name}:\n{message}expected:\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_missing_file_is_told() {
    let error =
        read_model(Path::new("no/such/arm.toml"), &ReadOptions::default()).expect_err("missing");
    assert_eq!(
        error.to_string(),
        "the file does not exist\n  --> no/such/arm.toml"
    );
}
