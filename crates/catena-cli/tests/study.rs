//! `catena study linpen` and the Newton schemes of `catena simulate`.

mod common;

use common::Folder;
use serde_json::Value;

#[test]
fn operations_are_counted_and_written() {
    let folder = Folder::new("study");
    let run = folder.run("study linpen --count -o .");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(folder.files().contains(&"chou-table-1.md".to_string()));
    let json = folder.run("study linpen --count --json");
    let record: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(record["format"], "catena-study/1");
    let rows = record["operations"].as_array().expect("a list");
    assert_eq!(rows.len(), 20);
    let refused = folder.run("study linpen --bodies 3");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--bodies: 3 is not from 10"));
}

#[test]
fn a_pendulum_is_simulated_by_every_scheme() {
    let folder = Folder::new("newton");
    let options = "--random 1 --duration 0.1 --method bdf --rtol 1e-7 --audit strict --newton";
    for scheme in [
        "linear",
        "reduced",
        "exact-full",
        "numerical-full",
        "tree",
        "dense",
    ] {
        let run = folder.run(&format!("simulate pendulum-3 {options} {scheme}"));
        assert_eq!(run.code, 0, "{scheme}: {}", run.stderr);
    }
    for (command, message) in [
        (
            "simulate stanford --method bdf --newton linear",
            "is not a pendulum",
        ),
        (
            "simulate pendulum-2 --newton linear",
            "does not use Newton's method",
        ),
        (
            "simulate pendulum-2 --method bdf --newton quick",
            "no Newton scheme `quick`",
        ),
        (
            "simulate pendulum-1 --method bdf --newton linear --tau 1,0,0",
            "is moved by its weight only",
        ),
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{command}: {}", run.stderr);
    }
}

#[test]
fn any_model_is_simulated_in_body_coordinates() {
    let folder = Folder::new("bodies");
    let options = "--duration 0.1 --method bdf --rtol 1e-7 --audit strict";
    for command in [
        "simulate zoo --random 1 --coordinates bodies",
        "simulate zoo --random 1 --newton stabilised",
        "simulate space-robot --random 1 --coordinates bodies --newton index-2",
        "simulate zoo --random 1 --coordinates joints",
        "simulate bricard",
        "simulate bricard --newton stabilised",
    ] {
        let run = folder.run(&format!("{command} {options}"));
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
    }
    for (command, message) in [
        (
            "simulate zoo --coordinates bodies",
            "integrates joint coordinates",
        ),
        (
            "simulate zoo --method bdf --coordinates joints --newton index-2",
            "is for body coordinates",
        ),
        (
            "simulate zoo --method bdf --coordinates bodies --newton tree",
            "body coordinates are not solved by `tree`",
        ),
        (
            "simulate zoo --method bdf --coordinates polar",
            "there are no coordinates `polar`",
        ),
        (
            "simulate bricard --method bdf --coordinates joints",
            "in body coordinates only",
        ),
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{command}: {}", run.stderr);
    }
}

#[test]
fn accuracy_and_its_cost_are_written() {
    let folder = Folder::new("work");
    let refused = folder.run("study work-precision --bodies 3");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--bodies: 3 is not from 10"));
    let run = folder.run("study work-precision --bodies 10 -o .");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let files = folder.files();
    assert!(files.contains(&"work-precision.md".to_string()));
    assert!(files.contains(&"work-precision.svg".to_string()));
    assert!(run.stdout.contains("| BDF, body coordinates | 1e-6 |"));
}
