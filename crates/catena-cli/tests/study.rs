//! `catena study`, and the Newton schemes of `catena simulate`.

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
    assert_eq!(record["format"], "catena-paper-study/1");
    let rows = record["operations"].as_array().expect("a list");
    assert_eq!(rows.len(), 20);
    let refused = folder.run("study linpen --bodies 3");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--bodies: 3 is not from 10"));
}

/// Options that a study does not use are refused before anything is made.
#[test]
fn options_without_a_use_are_refused() {
    let folder = Folder::new("study-options");
    for (command, message) in [
        (
            "study work-precision --count -o made",
            "--count: all of work-precision is timed",
        ),
        (
            "study crossover --bodies 50 -o made",
            "--bodies: the size of this study is fixed",
        ),
        (
            "study papers --bodies 3 -o made",
            "--bodies: 3 is not from 10",
        ),
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{command}: {}", run.stderr);
        assert!(!folder.path().join("made").exists(), "{command}");
    }
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
    assert!(run.stdout.contains("| BDF, Chou's linear scheme | 1e-6 |"));
}

/// One command writes everything; what is not timed is the same every time, and the documentation has it.
#[test]
fn the_papers_figures_are_drawn() {
    let folder = Folder::new("papers");
    let run = folder.run("study papers --count -o .");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let written = folder.files();
    for name in [
        "saha-1999-fig-5.svg",
        "saha-1999-fig-6.svg",
        "saha-1999-fig-8.svg",
        "saha-1999-fig-9.svg",
        "saha-1999-fig-9-mirrored.svg",
        "chou-fig-1.svg",
        "chou-table-1.md",
        "saha-tables-1-2.md",
        "saha-space-robot-counts.md",
        "space-robot-strip.svg",
        "invertibility.md",
        "crossover.svg",
        "elimination.md",
        "mechanisms.svg",
    ] {
        assert!(written.contains(&name.to_string()), "{name} is missing");
    }
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers/");
    for name in &written {
        let known = std::fs::metadata(format!("{papers}{name}"));
        assert!(known.is_ok(), "docs/papers has no {name}");
    }
    for name in ["chou-table-1.md", "saha-space-robot-counts.md"] {
        let known = std::fs::read_to_string(format!("{papers}{name}")).expect("the page");
        assert!(folder.read(name) == known, "{name} has changed");
    }
    // falls are known to more digits than a picture shows
    for line in run
        .stdout
        .lines()
        .filter(|line| line.contains("changes positions by"))
    {
        let change = line.rsplit(' ').next().expect("a number");
        let change: f64 = change.parse().expect("a number");
        assert!(change < 1e-6, "{line}");
    }
    assert_eq!(run.stdout.matches("changes positions by").count(), 4);
}

/// The reading of Figure 9 with the other sign of α₂ is the mirror image of ours.
#[test]
fn the_other_reading_of_figure_9_is_its_mirror_image() {
    let fall = |model: &str| -> Vec<f64> {
        let folder = Folder::new(&format!("mirror-{model}"));
        let options = "--q 0,90deg,0,0,0,0 --duration 0.5 --rtol 1e-10 -o fall.csv";
        let run = folder.run(&format!("simulate {model} {options}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = folder.read("fall.csv");
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
        let last: Vec<&str> = lines.next_back().expect("a row").split(',').collect();
        let at = |k: usize| {
            let name = format!("q.joint{k}");
            let column = head.iter().position(|cell| cell.starts_with(&name));
            last[column.expect("a column")].parse().expect("a number")
        };
        (1..=6).map(at).collect()
    };
    let (ours, other) = (fall("stanford"), fall("stanford-d"));
    let mirrored = [
        -ours[0],
        std::f64::consts::PI - ours[1],
        ours[2],
        -ours[3],
        ours[4],
        -ours[5],
    ];
    for (a, b) in other.iter().zip(mirrored) {
        assert!((a - b).abs() < 1e-6, "{other:?} {mirrored:?}");
    }
    assert!(ours[2].abs() > 0.1, "the arm slides");
}

/// J_F tends to −2σ diag(1, I) [pᵀ; G] as 1/σ (Chou, sec. 5.2).
#[test]
fn the_moment_block_tends_to_its_limit() {
    let run = Folder::new("invertibility").run("study invertibility --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines = run.json()["lines"].as_array().expect("a list").clone();
    let number = |line: &Value, key: &str| line[key].as_f64().expect("a number");
    for pair in lines
        .windows(2)
        .filter(|pair| number(&pair[0], "sigma") >= 1e3)
    {
        let ratio = number(&pair[0], "apart") / number(&pair[1], "apart");
        assert!((ratio - 10.0).abs() < 0.2, "{pair:?}");
    }
    let last = lines.last().expect("a line");
    for end in ["smallest", "largest"] {
        let determinant = last["determinant"][end].as_f64().expect("a number");
        assert!((determinant - 1.0).abs() < 1e-6, "{last}");
    }
}

#[test]
fn schemes_cross_where_their_operations_do() {
    let run = Folder::new("crossover").run("study crossover --count --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = run.json();
    let schemes = record["schemes"].as_array().expect("a list");
    let operations =
        |k: usize, n: usize| schemes[k]["operations"][n - 1].as_i64().expect("a count");
    // articulated bodies, U D Uᵀ, Walker–Orin
    assert!(operations(1, 12) > operations(2, 12) && operations(1, 20) < operations(2, 20));
    for n in 2..=30 {
        assert!(operations(0, n) < operations(1, n));
    }
}

/// More noise by elimination where the inertia matrix is ill-conditioned, and no difference of steps where it is not.
#[test]
fn elimination_is_noisier_where_inertias_differ() {
    let run = Folder::new("elimination").run("study elimination --count --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = run.json();
    let lines = record["lines"].as_array().expect("a list");
    let find = |model: &str, scheme: &str| {
        let is_it = |line: &&Value| {
            let name = line["scheme"].as_str().unwrap_or("");
            line["model"] == model && name.starts_with(scheme)
        };
        lines.iter().find(is_it).expect("the line")
    };
    let noise = |scheme| {
        find("heavy-tip-12", scheme)["noise"]
            .as_f64()
            .expect("a number")
    };
    assert!(noise("Walker") > 10.0 * noise("articulated"));
    let steps = |scheme| {
        find("stanford", scheme)["falls"][0]["steps"]
            .as_i64()
            .expect("a count")
    };
    assert!((steps("Walker") - steps("articulated")).abs() <= 2);
    // what is timed is left out
    assert!(!run.stdout.contains("seconds"), "{}", run.stdout);
}

/// The free base adds a fixed number of operations for every joint and freedom: formulas of first degree.
#[test]
fn an_arm_on_a_free_base_is_counted() {
    let run = Folder::new("free-base").run("study space-robot --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = run.json();
    for line in record["lines"].as_array().expect("a list") {
        let formula = line["formulas"][0].as_str().expect("a formula");
        let is_cubic = line["algorithm"]
            .as_str()
            .expect("a name")
            .contains("Walker");
        assert_eq!(formula.contains("n³"), is_cubic, "{line}");
        assert_ne!(formula, "–", "{line}");
    }
}

#[test]
fn coupled_mechanisms_are_counted() {
    let run = Folder::new("mechanisms").run("study mechanisms --count --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = run.json();
    let sizes = record["sizes"].as_array().expect("a list");
    let counted: Vec<i64> = sizes
        .iter()
        .map(|size| size["counted"][0].as_i64().expect("a count"))
        .collect();
    assert!(
        counted.windows(2).all(|pair| pair[1] > pair[0]),
        "{counted:?}"
    );
    // every formulation for loops has an answer of its own at some size
    let last = sizes[0]["formulations"].as_array().expect("a list");
    let answers = last.iter().filter(|one| one["multiplications"].is_number());
    assert!(answers.count() >= 8, "{last:?}");
}
