//! docs/dependencies.md names every direct dependency with its reason and the version used, and none that is gone; all come from the registry.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_dependency_has_a_reason() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let run = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let found: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut used = BTreeSet::new();
    for package in list(&found["packages"]) {
        for dependency in list(&package["dependencies"]) {
            if dependency["path"].is_string() {
                // `cargo package` takes no dependency without a version, except for tests
                let (package, name) = (&package["name"], &dependency["name"]);
                let has_version = dependency["req"] != "*" || dependency["kind"] == "dev";
                assert!(has_version, "{package} needs a version of {name}");
                continue;
            }
            let source = dependency["source"].as_str().unwrap_or_default();
            assert!(source.starts_with("registry+"), "{dependency}");
            used.insert(dependency["name"].as_str().unwrap_or_default().to_string());
        }
    }
    let page = include_str!("../../../docs/dependencies.md");
    let (reasons, upkeep) = page.split_once("## Upkeep").expect("the part on upkeep");
    let cells = reasons
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let explained: BTreeSet<String> = cells
        .flat_map(|cell| cell.split(", "))
        .map(|name| name.trim_matches('`').to_string())
        .collect();
    assert_eq!(used, explained);

    let (_, table) = upkeep.split_once("| crate |").expect("a table of crates");
    let (table, _) = table.split_once("\n\n").expect("the end of the table");
    let rows: BTreeSet<(String, String)> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once(" | "))
        .map(|(name, rest)| {
            (
                name.trim_matches('`').into(),
                rest.split(" |").next().unwrap_or_default().into(),
            )
        })
        .collect();
    let listed: BTreeSet<String> = rows.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(used, listed, "`.ci/upkeep --write` renews the table");
    let lock = include_str!("../../../Cargo.lock");
    for (name, version) in rows {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(
            lock.contains(&entry),
            "Cargo.lock has no {name} {version}; `.ci/upkeep --write` renews the table"
        );
    }
}

/// Every crate that is published carries the texts of its licences.
#[test]
fn published_crates_have_their_licences() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut count = 0;
    for entry in std::fs::read_dir(&crates).expect("crates").flatten() {
        let folder = entry.path();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        if manifest.contains("publish = false") {
            continue;
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let own = std::fs::read(folder.join(name));
            let own = own.unwrap_or_else(|error| panic!("{}: {name}: {error}", folder.display()));
            assert!(own == std::fs::read(crates.join("..").join(name)).expect("a licence"));
        }
        count += 1;
    }
    assert!(count >= 9, "{count} crates");
}
