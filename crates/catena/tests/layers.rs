//! Algorithms do not depend on the processor, nor on the entry points through which they are called.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn algorithms_and_spaces_know_no_processor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for folder in ["algorithm", "space", "spatial", "model"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 60, "only {} files", files.len());
    let forbidden = ["target_arch", "target_feature", "std::arch", "crate::arch"];
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text");
        for (line, code) in (1..).zip(text.lines()) {
            let code = code.split("//").next().unwrap_or("");
            for word in forbidden {
                let place = file.strip_prefix(&root).expect("below").display();
                assert!(!code.contains(word), "{place}:{line} mentions `{word}`");
            }
        }
    }
}

/// The layers of the crate, lowest first; modules of one layer do not use each other.
const LAYERS: &[&[&str]] = &[
    &["elementary", "thresholds"],
    &["residual", "random", "text", "scalar"],
    &["error", "matrix", "spatial"],
    &["dense", "skyline"],
    &["box_minimum"],
    &["model"],
    &["state"],
    &["space", "trajectory"],
    &["algorithm"],
    &["integrate", "arch"],
    &["doors"],
    &["simulate", "laws"],
    &["benchmark"],
];

/// What uses a layer above its own, and why it may.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "model/check/states.rs",
        "algorithm",
        "a model is accepted only if every freedom has inertia and wheels stay upright on wheels",
    ),
    (
        "model/check/states.rs",
        "state",
        "at random states, among others",
    ),
    (
        "model/closed_models.rs",
        "algorithm",
        "embedded mechanisms are assembled",
    ),
    (
        "model/closed_models.rs",
        "state",
        "in the state they are closed in",
    ),
    (
        "algorithm/mod.rs",
        "integrate",
        "the table of algorithms has the integrators",
    ),
    (
        "algorithm/mod.rs",
        "doors",
        "the table of algorithms has those of closed chains",
    ),
    (
        "algorithm/pendulum/implicit.rs",
        "integrate",
        "the equations of the pendulum are a system that BDF integrates",
    ),
];

/// Names that the crate's root gives to items of its modules.
const AT_ROOT: &[(&str, &str)] = &[
    ("Batch", "doors"),
    ("ClosedChain", "doors"),
    ("CompiledChain", "doors"),
    ("Cpu", "arch"),
    ("Drive", "doors"),
    ("Dynamics", "doors"),
    ("Error", "error"),
    ("ErrorKind", "error"),
    ("Failure", "doors"),
    ("Feedback", "doors"),
    ("Matrix", "matrix"),
    ("Model", "model"),
    ("ModelBuilder", "model"),
    ("Parameter", "scalar"),
    ("Place", "error"),
    ("Result", "error"),
    ("Scalar", "scalar"),
    ("State", "state"),
    ("Base", "state"),
    ("Warning", "error"),
    ("closed_chain", "doors"),
    ("inverse_kinematics", "doors"),
    ("native", "doors"),
];

/// The modules that a line of code names after `crate::`.
fn used(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = code;
    while let Some((_, after)) = rest.split_once("crate::") {
        rest = after;
        let names_here = match after.strip_prefix('{') {
            Some(group) => group,
            None => after,
        };
        let listed = if after.starts_with('{') {
            names_here.split('}').next()
        } else {
            None
        };
        for name in listed.unwrap_or(names_here).split(',') {
            let name = name.trim();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = &name[..end.unwrap_or(name.len())];
            names.push(
                AT_ROOT
                    .iter()
                    .find(|(item, _)| *item == name)
                    .map_or(name, |(_, module)| module),
            );
            if listed.is_none() {
                break;
            }
        }
    }
    names
}

#[test]
fn layers_use_only_what_is_below() {
    let rank = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut needed = vec![false; EXCEPTIONS.len()];
    for file in files {
        let place = file
            .strip_prefix(&root)
            .expect("below")
            .display()
            .to_string();
        let own = place
            .split('/')
            .next()
            .unwrap_or("")
            .trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let layer = rank(own).unwrap_or_else(|| panic!("{own} has no layer"));
        let text = std::fs::read_to_string(&file).expect("text");
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
        for (line, code) in (1..).zip(text.lines()) {
            for module in used(code.split("//").next().unwrap_or("")) {
                let Some(other) = rank(module) else { continue };
                if module == own || other < layer {
                    continue;
                }
                let exception = EXCEPTIONS
                    .iter()
                    .position(|(file, to, _)| *file == place && *to == module);
                match exception {
                    Some(k) => needed[k] = true,
                    None => panic!("{place}:{line} uses `{module}`, which is not below `{own}`"),
                }
            }
        }
    }
    for (needed, exception) in needed.iter().zip(EXCEPTIONS) {
        assert!(needed, "the exception {exception:?} is no longer needed");
    }
}
