//! The order of the modules: which may use which, and what knows the processor.

mod algorithms_table;
mod uses;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use uses::Crate;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All Rust files in a folder.
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

/// The layers of the crate, lowest first; modules of one layer do not use each other.
const LAYERS: &[&[&str]] = &[
    &["elementary", "thresholds", "card"],
    &["residual", "random", "text", "scalar"],
    &["error", "matrix", "spatial"],
    &["dense", "skyline"],
    &["box_minimum"],
    &["model"],
    &["state"],
    &["space", "trajectory", "integrate"],
    &["algorithm"],
    &["arch", "building"],
    &["doors"],
    &["simulate", "laws", "catalogue"],
    &["benchmark"],
];

/// What uses a layer above its own, and why it may.
const UPWARD: &[(&str, &str, &str)] = &[];

/// Modules of one folder that use each other, and why they may.
const MUTUAL: &[(&str, &str, &str, &str)] = &[
    ("doors/batch", "advance", "coupled", ""),
    ("doors/batch", "advance", "lanes", ""),
    ("doors/batch", "derivatives", "lanes", ""),
    ("doors/batch", "lanes", "question", ""),
    (
        "model",
        "actuator",
        "tree",
        "a tree owns its actuators, which find their freedoms in it by name",
    ),
    (
        "model",
        "sensor",
        "tree",
        "a tree owns its sensors, which find their frames in it by name",
    ),
];

#[test]
fn layers_use_only_what_is_below() {
    let rank = |module: &str| {
        let found = LAYERS.iter().position(|layer| layer.contains(&module));
        found.unwrap_or_else(|| panic!("`{module}` has no layer"))
    };
    let all = Crate::read(&root());
    let mut needed = vec![false; UPWARD.len()];
    let mut found = 0;
    for one in all.uses() {
        let (Some(own), Some(other)) = (one.from.first(), one.to.first()) else {
            continue;
        };
        found += 1;
        if own == other || rank(other) < rank(own) {
            continue;
        }
        let (file, line) = &one.place;
        let exception = (UPWARD.iter()).position(|(place, to, _)| place == file && to == other);
        match exception {
            Some(k) => needed[k] = true,
            None => panic!("{file}:{line} uses `{other}`, which is not below `{own}`"),
        }
    }
    assert!(found > 2000, "only {found} uses were recognised");
    for (needed, exception) in needed.iter().zip(UPWARD) {
        assert!(needed, "the exception {exception:?} is no longer needed");
    }
}

#[test]
fn siblings_do_not_use_each_other() {
    let mut places = BTreeMap::new();
    for one in Crate::read(&root()).uses() {
        let depth = one.from.iter().zip(&one.to).take_while(|(a, b)| a == b);
        let depth = depth.count();
        let (Some(from), Some(to)) = (one.from.get(depth), one.to.get(depth)) else {
            continue; // a module and one that it contains
        };
        if depth > 0 {
            let folder = one.from[..depth].join("/");
            let pair = (folder, from.clone(), to.clone());
            places.entry(pair).or_insert(one.place);
        }
    }
    assert!(places.len() > 150, "only {} uses", places.len());
    let mut found = Vec::new();
    for ((folder, a, b), place) in &places {
        let back = places.get(&(folder.clone(), b.clone(), a.clone()));
        if let Some(back) = back
            && a < b
        {
            let known = |(f, x, y, _): &(&str, &str, &str, &str)| f == folder && x == a && y == b;
            found.push(MUTUAL.iter().position(known).unwrap_or_else(|| {
                panic!("in {folder}, `{a}` uses `{b}` ({place:?}), which uses `{a}` ({back:?})")
            }));
        }
    }
    for (k, exception) in MUTUAL.iter().enumerate() {
        let needed = found.contains(&k);
        assert!(needed, "the exception {exception:?} is no longer needed");
    }
}

/// Every file is part of the crate: one that no `mod` names would be neither compiled nor checked here.
#[test]
fn every_file_is_a_module() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    let all = Crate::read(&root());
    let modules: Vec<PathBuf> = all.files().map(|file| root().join(file)).collect();
    for file in files {
        assert!(modules.contains(&file), "{} is no module", file.display());
    }
}

/// The code of a file up to its unit tests, without comments.
fn code(file: &str) -> String {
    let text = std::fs::read_to_string(root().join(file)).expect(file);
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
    code.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn algorithms_and_spaces_know_no_processor() {
    let all = Crate::read(&root());
    for file in all.files() {
        let folder = file.split('/').next().unwrap_or("");
        if ["algorithm", "space", "spatial", "model"].contains(&folder) {
            for word in ["target_arch", "target_feature", "std::arch", "core::arch"] {
                assert!(!code(file).contains(word), "{file} mentions `{word}`");
            }
        }
    }
}
