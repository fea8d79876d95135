//! docs/dependencies.md names every direct dependency with its reason, and none that is gone; all come from the registry.

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
    let cells = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let told: BTreeSet<String> = cells
        .flat_map(|cell| cell.split(", "))
        .map(|name| name.trim_matches('`').to_string())
        .collect();
    assert_eq!(used, told);
}
