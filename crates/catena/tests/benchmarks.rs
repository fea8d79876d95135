//! The field's benchmark problems: what comes out, energy to 1e-8 and drift to 1e-10.

use catena::benchmark::{Problem, Report, problem};
use catena::integrate::Method;
use catena::simulate::Drift;

fn run(name: &str, tolerance: f64) -> (Problem, Report) {
    let problem = problem(name).expect("there");
    let report = problem
        .run(Method::Verner9, tolerance, Drift::Project)
        .expect("it runs");
    println!("{name} at {tolerance:.0e}: {report:?}");
    assert!(report.energy < 1e-8, "energy {:.1e}", report.energy);
    assert!(report.drift[0] < 1e-10, "positions {:?}", report.drift);
    assert!(report.drift[1] < 1e-10, "velocities {:?}", report.drift);
    assert!(report.drift[2] < 1e-10, "accelerations {:?}", report.drift);
    (problem, report)
}

/// Runs at two tolerances by two methods agree.
fn converges(name: &str, allowed: f64) -> Vec<f64> {
    let (problem, one) = run(name, 1e-11);
    let two = problem
        .run(Method::Dop853, 1e-12, Drift::Project)
        .expect("it runs");
    for (a, b) in one.values.iter().zip(&two.values) {
        assert!((a - b).abs() < allowed, "{name}: {a} {b}");
    }
    println!("{name}: {:?}\n{name}: {:?}", one.values, two.values);
    two.values
}

#[test]
fn pendulum() {
    let (_, report) = run("pendulum", 1e-13);
    assert!(report.error < 1e-11, "{:.1e}", report.error);
}

#[test]
fn four_bars() {
    for n in [1, 2] {
        let (_, report) = run(&format!("four-bar-{n}"), 1e-12);
        assert!(report.error < 1e-9, "{:.1e}", report.error);
    }
}

/// The published values are good to 1e-9, relative.
#[test]
fn squeezer() {
    let (_, report) = run("squeezer", 1e-12);
    assert!(report.error < 1e-9, "{:.1e}", report.error);
}

#[test]
fn bricard() {
    converges("bricard", 1e-7);
    let (_, report) = run("bricard", 1e-12);
    assert!(report.error < 1e-8, "{:.1e}", report.error);
}

#[test]
fn slider_crank() {
    converges("slider-crank", 1e-8);
    let (_, report) = run("slider-crank", 1e-12);
    assert!(report.error < 1e-9, "{:.1e}", report.error);
}

#[test]
fn stewart() {
    converges("stewart", 1e-8);
    let (_, report) = run("stewart", 1e-12);
    assert!(report.error < 1e-9, "{:.1e}", report.error);
}

/// Two methods over the first half second: stiff, so more would take long.
#[test]
fn governor() {
    let mut problem = problem("governor").expect("there");
    problem.duration = 0.5;
    let one = problem
        .run(Method::Verner6, 1e-10, Drift::Project)
        .expect("it runs");
    let two = problem
        .run(Method::DormandPrince5, 1e-11, Drift::Project)
        .expect("it runs");
    assert!(
        (one.values[0] - two.values[0]).abs() < 1e-8,
        "{one:?} {two:?}"
    );
    assert!(one.energy < 1e-8, "{:.1e}", one.energy);
}

/// The whole run, as `catena benchmark` makes it. Steps are bound by stability.
#[test]
fn governor_to_the_end() {
    let (_, report) = run("governor", 1e-12);
    assert!(report.error < 1e-9, "{:.1e}", report.error);
}

#[test]
fn unknown_problems_are_refused() {
    let error = problem("five-bar").expect_err("unknown");
    assert!(error.message().contains("no benchmark problem `five-bar`"));
    assert!(problem("four-bar-x").is_err());
}
