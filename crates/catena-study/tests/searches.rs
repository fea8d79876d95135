//! Searches of an optimum: what they find, how they end, what an experiment that fails does to them, and which requests are refused.

use catena::error::{Error, ErrorKind, Result};
use catena_study::{Experiment, Limit, Optimum, Study, optimize};
use std::ops::ControlFlow;
use std::path::Path;

fn parsed(goal: &str, rest: &str) -> Result<Study> {
    let text = format!(
        r#"format = "catena-study/1"
model = "stanford"
[[parameter]]
name = "x"
path = "q.a"
uniform = [-3, 3]
[[parameter]]
name = "y"
path = "q.b"
loguniform = [0.1, 10]
[[measure]]
name = "bowl"
value = "last(q.a)"
[[measure]]
name = "sum"
value = "last(q.b)"
[optimize]
{goal}
{rest}"#
    );
    Study::parse(&text, Path::new("study.toml"))
}

fn study(goal: &str, rest: &str) -> Study {
    parsed(goal, rest).expect("a study")
}

const COBYLA: &str = "minimise = \"bowl\"\ntolerance = 1e-6";
const SLSQP: &str = "minimise = \"bowl\"\nmethod = \"slsqp\"\ntolerance = 1e-6";
/// The nearest point of the line x + y = 2 to (1, 2) is (0.5, 1.5).
const LINE: &str = "[[constraint]]\nmeasure = \"sum\"\nhigh = 2";

/// A bowl about (1, 2) and the sum x + y, with derivatives of a kind.
struct Bowl {
    slopes: fn(&[f64]) -> Result<Vec<Vec<f64>>>,
    /// Beyond this x nothing can be computed.
    end: f64,
}

const BOWL: Bowl = Bowl {
    slopes: exact,
    end: f64::INFINITY,
};
/// The bottom can be computed, a part of the range cannot.
const BROKEN: Bowl = Bowl { end: 1.5, ..BOWL };

fn exact(values: &[f64]) -> Result<Vec<Vec<f64>>> {
    let (x, y) = (values[0], values[1]);
    Ok(vec![vec![2.0 * (x - 1.0), 2.0 * (y - 2.0)], vec![1.0, 1.0]])
}

impl Experiment for Bowl {
    fn measure(&self, values: &[f64]) -> Result<Vec<f64>> {
        let &[x, y] = values else {
            return Err(Error::new(ErrorKind::Input, "two values"));
        };
        if x > self.end {
            return Err(Error::new(ErrorKind::Input, "too far"));
        }
        Ok(vec![5.0 + (x - 1.0).powi(2) + (y - 2.0).powi(2), x + y])
    }

    fn slopes(&self, values: &[f64], measures: &[usize]) -> Result<Vec<Vec<f64>>> {
        let all = (self.slopes)(values)?;
        Ok(measures.iter().map(|&m| all[m].clone()).collect())
    }
}

/// The bowl without derivatives of its own: the trait's default says that there are none.
struct Plain;

impl Experiment for Plain {
    fn measure(&self, values: &[f64]) -> Result<Vec<f64>> {
        BOWL.measure(values)
    }
}

fn best(optimum: &Optimum) -> &[f64] {
    &optimum.history[optimum.best].values
}

fn found(experiment: &dyn Experiment, goal: &str, rest: &str) -> Optimum {
    optimize(&study(goal, rest), experiment, |_| {
        Ok(ControlFlow::Continue(()))
    })
    .expect("an optimum")
}

fn expect_best(optimum: &Optimum, wanted: [f64; 2], allowed: f64) {
    assert!(optimum.is_feasible);
    for (found, wanted) in best(optimum).iter().zip(wanted) {
        assert!((found - wanted).abs() < allowed, "{:?}", best(optimum));
    }
}

#[test]
fn the_bottom_of_a_bowl() {
    let optimum = found(&BROKEN, COBYLA, "");
    expect_best(&optimum, [1.0, 2.0], 1e-4);
    assert!(optimum.history.len() < 200, "{}", optimum.history.len());
    // part of the range cannot be computed, and was tried
    assert!(optimum.history.iter().any(|point| point.measures.is_err()));
}

#[test]
fn the_bottom_on_a_constraint() {
    expect_best(&found(&BROKEN, COBYLA, LINE), [0.5, 1.5], 1e-3);
}

#[test]
fn constraints_that_exclude_each_other_are_told() {
    let rest = format!("{LINE}\n[[constraint]]\nmeasure = \"sum\"\nlow = 3");
    let optimum = found(&BROKEN, "minimise = \"bowl\"\nevaluations = 50", &rest);
    assert!(!optimum.is_feasible);
    assert!(optimum.history.len() <= 51);
}

/// A start that is far from a bound does not widen it: x² = 250000 at the start, and at most 0.1 is wanted.
#[test]
fn a_bound_is_kept_from_a_distant_start() {
    /// Measures x and x².
    struct Square;
    impl Experiment for Square {
        fn measure(&self, values: &[f64]) -> Result<Vec<f64>> {
            Ok(vec![values[0], values[0] * values[0]])
        }
    }
    let text = r#"format = "catena-study/1"
model = "stanford"
[[parameter]]
name = "x"
path = "q.a"
uniform = [0, 1000]
[[measure]]
name = "x_found"
value = "last(q.a)"
[[measure]]
name = "square"
value = "last(q.b)"
[optimize]
maximise = "x_found"
tolerance = 1e-9
[[constraint]]
measure = "square"
high = 0.1
"#;
    let study = Study::parse(text, Path::new("study.toml")).expect("a study");
    let optimum = optimize(&study, &Square, |_| Ok(ControlFlow::Continue(()))).expect("an optimum");
    for point in &optimum.history {
        let measures = point.measures.as_ref().expect("measures");
        let is_kept = measures[1] - 0.1 <= 1e-7;
        assert_eq!(point.is_feasible(), is_kept, "{point:?}");
    }
    let best = best(&optimum)[0];
    assert!(optimum.is_feasible, "{best}");
    assert!((best - 0.1f64.sqrt()).abs() < 1e-4, "{best}");
}

#[test]
fn a_bound_of_zero_has_a_tolerance_of_its_own() {
    let limit = |bound, sign| Limit {
        measure: 0,
        bound,
        sign,
    };
    assert_eq!(limit(0.0, 1.0).allowed(), 1e-9);
    assert_eq!(limit(-2.0, -1.0).allowed(), 2e-6);
    assert_eq!(limit(0.0, 1.0).excess(&[0.5]), 0.5);
    assert_eq!(limit(0.0, 1.0).excess(&[-0.5]), 0.0);
    assert_eq!(limit(-2.0, -1.0).excess(&[-3.0]), 1.0);
}

#[test]
fn gradients_of_the_experiment_lead_to_the_bottom() {
    for (rest, wanted) in [("", [1.0, 2.0]), (LINE, [0.5, 1.5])] {
        let optimum = found(&BOWL, SLSQP, rest);
        expect_best(&optimum, wanted, 1e-4);
        let gradients = optimum.gradients.expect("SLSQP needs them");
        assert!(gradients.count > 1);
        assert_eq!((gradients.runs, gradients.because), (0, None));
        assert!(optimum.history.len() < 60, "{}", optimum.history.len());
    }
}

/// Where there are no derivatives, or they are no numbers, differences lead there as well, and the reason is kept.
#[test]
fn differences_replace_what_is_missing() {
    let infinite = Bowl {
        slopes: |_| Ok(vec![vec![f64::NAN; 2]; 2]),
        end: f64::INFINITY,
    };
    let unknown = Bowl {
        slopes: |_| Err(Error::new(ErrorKind::Unsupported, "an event has no slope")),
        end: f64::INFINITY,
    };
    let experiments: [(&dyn Experiment, &str); 3] = [
        (&infinite, "a derivative is not finite"),
        (&unknown, "an event has no slope"),
        (&Plain, "the experiment gives no derivatives"),
    ];
    for (experiment, reason) in experiments {
        let optimum = found(experiment, SLSQP, LINE);
        expect_best(&optimum, [0.5, 1.5], 1e-3);
        let gradients = optimum.gradients.expect("SLSQP needs them");
        assert_eq!(gradients.because.as_deref(), Some(reason));
        // two runs for each of two parameters
        assert_eq!(gradients.runs, 4 * gradients.count);
    }
}

/// The bottom lies where nothing can be computed: the search turns back, and ends near the edge.
#[test]
fn a_bottom_beyond_the_edge_is_approached() {
    for slopes in [exact, |_: &[f64]| {
        Err(Error::new(ErrorKind::Unsupported, "none"))
    }] {
        let cliff = Bowl { slopes, end: 0.5 };
        let optimum = found(&cliff, SLSQP, "");
        let failed = optimum
            .history
            .iter()
            .filter(|point| point.measures.is_err());
        assert!(failed.clone().count() > 0);
        assert!(failed.clone().all(|point| point.violation == f64::INFINITY));
        assert!(failed.clone().all(|point| !point.is_feasible()));
        let start = optimum.history[0].measures.as_ref().expect("the start");
        let end = optimum.history[optimum.best].measures.as_ref();
        assert!(end.expect("the best was computed")[0] < start[0]);
        assert!(best(&optimum)[0] <= 0.5);
    }
}

/// A search that may not run any longer says so; COBYLA as well.
#[test]
fn a_search_ends_when_its_runs_are_used_up() {
    for method in ["cobyla", "slsqp"] {
        let goal = format!(
            "minimise = \"bowl\"\nmethod = \"{method}\"\ntolerance = 1e-12\nevaluations = 4"
        );
        let optimum = found(&BOWL, &goal, "");
        assert_eq!(
            optimum.end, "the limit of evaluations is reached",
            "{method}"
        );
        assert!(
            optimum.history.len() <= 6,
            "{method}: {}",
            optimum.history.len()
        );
        assert_eq!(optimum.gradients.is_some(), method == "slsqp");
    }
}

/// An objective that does not change has no scale, and every point is as good as the start.
#[test]
fn a_plain_has_its_bottom_everywhere() {
    struct Flat;
    impl Experiment for Flat {
        fn measure(&self, _: &[f64]) -> Result<Vec<f64>> {
            Ok(vec![0.0, 0.0])
        }
    }
    for method in ["cobyla", "slsqp"] {
        let goal = format!("minimise = \"bowl\"\nmethod = \"{method}\"");
        let optimum = found(&Flat, &goal, "[[constraint]]\nmeasure = \"sum\"\nhigh = 0");
        assert!(optimum.is_feasible);
        assert_eq!(optimum.best, 0, "{method}");
    }
}

/// Whoever notes the points may end the search, as a signal does: its error is the result, and no further point is computed.
#[test]
fn an_error_of_the_record_ends_the_search() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Counted(AtomicUsize);
    impl Experiment for Counted {
        fn measure(&self, values: &[f64]) -> Result<Vec<f64>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Plain.measure(values)
        }
    }
    for method in ["cobyla", "slsqp"] {
        let experiment = Counted(AtomicUsize::new(0));
        let goal = format!("maximise = \"bowl\"\nmethod = \"{method}\"");
        let mut points = 0;
        let ended = optimize(&study(&goal, LINE), &experiment, |_| {
            points += 1;
            match points {
                2 => Err(Error::new(ErrorKind::File, "the disk is full")),
                _ => Ok(ControlFlow::Continue(())),
            }
        });
        assert_eq!(ended.expect_err(method).message(), "the disk is full");
        assert_eq!(points, 2, "{method}");
        // those for differences, four for a gradient, are no points of the search
        assert!(experiment.0.into_inner() <= 2 + 2 * 4, "{method}");
    }
}

#[test]
fn a_start_that_fails_is_told() {
    let study = study("minimise = \"bowl\"\nstart = { x = 2 }", "");
    let error = optimize(&study, &BROKEN, |_| Ok(ControlFlow::Continue(()))).unwrap_err();
    assert_eq!(error.message(), "the start cannot be computed: too far");
}

#[test]
fn a_start_that_is_no_number_is_told() {
    struct Nowhere;
    impl Experiment for Nowhere {
        fn measure(&self, _: &[f64]) -> Result<Vec<f64>> {
            Ok(vec![f64::INFINITY, 0.0])
        }
    }
    let error = optimize(&study(SLSQP, ""), &Nowhere, |_| {
        Ok(ControlFlow::Continue(()))
    })
    .expect_err("no start");
    assert_eq!(
        error.message(),
        "the start cannot be computed: measure `bowl` is inf"
    );
}

/// Whoever notes the points may also end the search with what was found so far, before all its runs.
#[test]
fn a_search_that_is_ended_keeps_its_best_point() {
    for method in ["cobyla", "slsqp"] {
        let goal = format!(
            "minimise = \"bowl\"\nmethod = \"{method}\"\nevaluations = 1000000\ntolerance = 1e-12"
        );
        let mut points = 0;
        let ended = optimize(&study(&goal, LINE), &Plain, |_| {
            points += 1;
            match points {
                5 => Ok(ControlFlow::Break(())),
                _ => Ok(ControlFlow::Continue(())),
            }
        });
        let optimum = ended.expect(method);
        assert_eq!((points, optimum.history.len()), (5, 5), "{method}");
        assert_eq!(optimum.end, "the search was ended before that");
        let value = |k: usize| optimum.history[k].measures.as_ref().expect("a bowl")[0];
        let feasible = (0..5).filter(|&k| optimum.history[k].is_feasible());
        let least = feasible.map(value).fold(f64::INFINITY, f64::min);
        assert_eq!(value(optimum.best), least, "{method}");
    }
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (goal, rest, message) in [
        ("minimise = \"bwl\"", "", "is not a measure"),
        (
            "tolerance = 1e-3",
            "",
            "has one of `minimise` and `maximise`",
        ),
        (
            "minimise = \"bowl\"\nstart = { x = 4 }",
            "",
            "outside of its bounds",
        ),
        (
            "minimise = \"bowl\"\ntolerance = 3",
            "",
            "a part of the ranges",
        ),
        (
            "minimise = \"bowl\"",
            "[[constraint]]\nmeasure = \"sum\"",
            "has no bound",
        ),
        (
            "minimise = \"bowl\"",
            "[[constraint]]\nmeasure = \"sum\"\nlow = 3\nhigh = 2",
            "`low` is above `high`",
        ),
    ] {
        let error = parsed(goal, rest).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(error.place().line.is_some(), "{error}");
    }
}
