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

/// The layers of the crate, lowest first; modules of one layer do not use each other. A module without a layer of its own is in that of the
/// module that contains it.
const LAYERS: &[&[&str]] = &[
    &["elementary", "thresholds", "card", "arch/memory"],
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

#[test]
fn layers_use_only_what_is_below() {
    let rank = |module: &[String]| {
        let layer = |path: String| LAYERS.iter().position(|layer| layer.contains(&&path[..]));
        let found = (1..=module.len())
            .rev()
            .find_map(|k| layer(module[..k].join("/")));
        found.unwrap_or_else(|| panic!("{module:?} has no layer"))
    };
    let all = Crate::read(&root());
    let mut found = 0;
    for one in all.uses() {
        let (Some(own), Some(other)) = (one.from.first(), one.to.first()) else {
            continue;
        };
        found += 1;
        let (file, line) = &one.place;
        assert!(
            own == other || rank(&one.to) < rank(&one.from),
            "{file}:{line} uses `{other}`, which is not below `{own}`"
        );
    }
    assert!(found > 2000, "only {found} uses were recognised");
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
    for ((folder, a, b), place) in &places {
        let back = places.get(&(folder.clone(), b.clone(), a.clone()));
        if let Some(back) = back {
            panic!("in {folder}, `{a}` uses `{b}` ({place:?}), which uses `{a}` ({back:?})");
        }
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
fn only_arch_knows_the_processor() {
    let all = Crate::read(&root());
    let words = [
        "target_arch",
        "target_feature",
        "is_x86_feature_detected",
        "std::arch",
        "core::arch",
    ];
    let (arch, others): (Vec<&str>, Vec<&str>) =
        all.files().partition(|file| file.starts_with("arch/"));
    for file in others {
        for word in words {
            assert!(!code(file).contains(word), "{file} mentions `{word}`");
        }
    }
    let knows = |file: &&str| words.iter().any(|word| code(file).contains(word));
    assert!(
        arch.iter().any(knows),
        "the words of this test are outdated"
    );
}

/// Operations of registers are sound only on a processor that has the instructions: other modules use those of `arch` that detect them.
#[test]
fn registers_are_used_in_arch_only() {
    let open = [
        "choice",
        "code",
        "cpu",
        "derivatives",
        "inertia",
        "memory",
        "one_state",
    ];
    let all = Crate::read(&root());
    let mut found = 0;
    for one in all.uses() {
        if let [top, module, ..] = &one.to[..]
            && top == "arch"
            && !one.from.is_empty()
            && one.from[0] != "arch"
        {
            let (file, line) = &one.place;
            assert!(
                open.contains(&&module[..]),
                "{file}:{line} uses arch/{module}.rs"
            );
            found += 1;
        }
    }
    assert!(found > 20, "only {found} uses of `arch`");
}
