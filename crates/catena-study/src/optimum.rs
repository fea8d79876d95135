//! The values of parameters for which a measure is least, under bounds on others.
//!
//! Powell's COBYLA (1994): objective and constraints are interpolated linearly at n + 1 points, in a region whose size shrinks from a
//! quarter of the ranges to the tolerance. It needs no derivatives, and one run of the experiment gives the objective and all constraints.
//!
//! ```text
//! x = F⁻¹(u), 0 ≤ u ≤ 1       values of the parameters over their ranges, logarithmic ones by their logarithms           (1)
//! minimise f(u)/|f(u₀)|   subject to   (high − m(u))/s ≥ 0,  (m(u) − low)/s ≥ 0,  s = max(|bound|, |m(u₀)|)              (2)
//! ```
//!
//! What cannot be computed counts as worse than all that was seen: the method turns back. The result is the best of all points that
//! were tried and satisfy the constraints, to a part of their bounds: s is for the search only.

use crate::runner::{Experiment, finite};
use crate::study::{Goal, Limit, Study};
use catena::error::{Error, ErrorKind, Result};
use cobyla::{FailStatus, RhoBeg, StopTols, SuccessStatus, minimize};
use std::cell::RefCell;

/// Part of its bound by which a constraint may be violated: round-off of the linear models.
const SLACK: f64 = 1e-6;

/// By how much a constraint may be violated whose bound is 0.
const SLACK_AT_ZERO: f64 = 1e-9;

/// First change of the parameters, as a part of their ranges.
const FIRST_CHANGE: f64 = 0.25;

/// A point that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Values of the parameters.
    pub values: Vec<f64>,
    /// The measures, or why there are none.
    pub measures: std::result::Result<Vec<f64>, String>,
    /// The largest violation of a constraint over what is allowed; 0 where none is violated, infinite where nothing could be computed.
    pub violation: f64,
}

impl Evaluation {
    /// Does it satisfy the constraints?
    pub fn is_feasible(&self) -> bool {
        self.violation <= 1.0
    }
}

impl Limit {
    /// By how much these measures violate it; 0 where they do not.
    pub fn excess(&self, measures: &[f64]) -> f64 {
        (self.sign * (measures[self.measure] - self.bound)).max(0.0)
    }

    /// The violation that still counts as none: 1e-6 of the bound, 1e-9 where it is 0.
    pub fn allowed(&self) -> f64 {
        match self.bound {
            0.0 => SLACK_AT_ZERO,
            bound => SLACK * bound.abs(),
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Optimum {
    /// All points, in the order in which they were tried.
    pub history: Vec<Evaluation>,
    /// Which of them is the best.
    pub best: usize,
    /// Does it satisfy the constraints?
    pub is_feasible: bool,
    /// Why the search ended.
    pub end: &'static str,
}

/// The state of a search.
struct Search<'a> {
    study: &'a Study,
    goal: &'a Goal,
    experiment: &'a dyn Experiment,
    noted: &'a mut dyn FnMut(&Evaluation) -> Result<()>,
    history: Vec<Evaluation>,
    /// u of each.
    points: Vec<Vec<f64>>,
    /// Of the objective and of every constraint.
    scales: Vec<f64>,
    /// An error of `noted`.
    stopped: Option<Error>,
}

impl Search<'_> {
    /// Values of (2) at u, the objective first.
    fn at(&mut self, u: &[f64]) -> Vec<f64> {
        let known = self.points.iter().position(|point| point == u);
        let index = known.unwrap_or_else(|| self.try_out(u));
        match &self.history[index].measures {
            Ok(measures) => self.numbers(measures),
            Err(_) => self.worse_than_all(),
        }
    }

    fn try_out(&mut self, u: &[f64]) -> usize {
        let parameters = self.study.parameters.iter().zip(u);
        let values: Vec<f64> = parameters
            .filter_map(|(parameter, u)| parameter.spread.quantile(*u))
            .collect();
        let measured = match &self.stopped {
            Some(error) => Err(error.clone()),
            None => (self.experiment.measure(&values)).and_then(|found| finite(self.study, found)),
        };
        if let (true, Ok(measures)) = (self.scales.is_empty(), &measured) {
            self.scales = self.scales_at(measures);
        }
        let violation = match &measured {
            Ok(measures) => {
                let limits = self.goal.limits.iter();
                let parts = limits.map(|limit| limit.excess(measures) / limit.allowed());
                parts.fold(0.0, f64::max)
            }
            Err(_) => f64::INFINITY,
        };
        let new = Evaluation {
            values,
            measures: measured.map_err(|error| error.message().to_string()),
            violation,
        };
        if self.stopped.is_none() {
            self.stopped = (self.noted)(&new).err();
        }
        self.history.push(new);
        self.points.push(u.to_vec());
        self.history.len() - 1
    }

    fn scales_at(&self, measures: &[f64]) -> Vec<f64> {
        let size = |x: f64, y: f64| match x.abs().max(y.abs()) {
            0.0 => 1.0,
            size => size,
        };
        let mut scales = vec![size(measures[self.goal.measure], 0.0)];
        for limit in &self.goal.limits {
            scales.push(size(limit.bound, measures[limit.measure]));
        }
        scales
    }

    /// (2)
    fn numbers(&self, measures: &[f64]) -> Vec<f64> {
        let goal = self.goal;
        let mut numbers = vec![goal.sign * measures[goal.measure] / self.scales[0]];
        for (limit, scale) in goal.limits.iter().zip(&self.scales[1..]) {
            numbers.push(limit.sign * (limit.bound - measures[limit.measure]) / scale);
        }
        numbers
    }

    /// The largest violation in (2).
    fn scaled_violation(&self, point: &Evaluation) -> f64 {
        match &point.measures {
            Ok(measures) => {
                let constraints = &self.numbers(measures)[1..];
                constraints.iter().fold(0.0, |worst, c| (-c).max(worst))
            }
            Err(_) => f64::INFINITY,
        }
    }

    /// Numbers for a point that cannot be computed.
    fn worse_than_all(&self) -> Vec<f64> {
        let seen = (self.history.iter()).filter_map(|point| point.measures.as_ref().ok());
        let seen: Vec<Vec<f64>> = seen.map(|measures| self.numbers(measures)).collect();
        let of = |k: usize| seen.iter().map(move |numbers| numbers[k]);
        let mut worse = vec![1.0 + of(0).fold(0.0, f64::max)];
        for k in 1..self.scales.len() {
            worse.push(of(k).fold(0.0, f64::min) - 1.0);
        }
        worse
    }

    /// Is the first point better than the second?
    fn is_better(&self, a: &Evaluation, b: &Evaluation) -> bool {
        let objective = |point: &Evaluation| match &point.measures {
            Ok(measures) => self.goal.sign * measures[self.goal.measure],
            Err(_) => f64::INFINITY,
        };
        match (a.is_feasible(), b.is_feasible()) {
            (true, true) => objective(a) < objective(b),
            (false, false) => self.scaled_violation(a) < self.scaled_violation(b),
            (good, _) => good,
        }
    }
}

/// Searches the optimum that a study asks for. `noted` gets every point as it is tried; its error ends the search.
pub fn optimize(
    study: &Study,
    experiment: &dyn Experiment,
    mut noted: impl FnMut(&Evaluation) -> Result<()>,
) -> Result<Optimum> {
    let goal = study.expect_goal()?;
    let search = RefCell::new(Search {
        study,
        goal,
        experiment,
        noted: &mut noted,
        history: Vec::new(),
        points: Vec::new(),
        scales: Vec::new(),
        stopped: None,
    });
    let start = &goal.start;
    search.borrow_mut().try_out(start);
    if let Err(reason) = &search.borrow().history[0].measures {
        let message = format!("the start cannot be computed: {reason}");
        let error = Error::new(ErrorKind::Input, message).at(goal.place.clone());
        return Err(error.hint("give another one: `start` of [optimize]"));
    }
    let objective = |u: &[f64], (): &mut ()| search.borrow_mut().at(u)[0];
    let search_in = &search;
    let constraint = |k: usize| move |u: &[f64], (): &mut ()| search_in.borrow_mut().at(u)[k];
    let constraints: Vec<_> = (1..=goal.limits.len()).map(constraint).collect();
    let tolerances = StopTols {
        xtol_abs: vec![goal.tolerance; start.len()],
        ..StopTols::default()
    };
    let ended = minimize(
        objective,
        start,
        &vec![(0.0, 1.0); start.len()],
        &constraints,
        (),
        goal.evaluations,
        RhoBeg::All(FIRST_CHANGE),
        Some(tolerances),
    );
    drop(constraints);
    let search = search.into_inner();
    if let Some(error) = search.stopped {
        return Err(error);
    }
    let end = match ended {
        Ok((SuccessStatus::MaxEvalReached, ..)) => "the number of evaluations is used up",
        Ok(_) => "the parameters are found to the tolerance",
        Err((FailStatus::RoundoffLimited, ..)) => "round-off prevents further progress",
        Err((status, ..)) => {
            let message = format!("the search failed: {status:?}");
            return Err(Error::new(ErrorKind::Input, message).at(goal.place.clone()));
        }
    };
    let mut best = 0;
    for k in 1..search.history.len() {
        if search.is_better(&search.history[k], &search.history[best]) {
            best = k;
        }
    }
    Ok(Optimum {
        is_feasible: search.history[best].is_feasible(),
        best,
        end,
        history: search.history,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Measures x and y: a bowl about (1, 2), their sum, and nothing at all where x > 1.5.
    struct Bowl;

    impl Experiment for Bowl {
        fn measure(&self, values: &[f64]) -> Result<Vec<f64>> {
            let &[x, y] = values else {
                return Err(Error::new(ErrorKind::Input, "two values"));
            };
            if x > 1.5 {
                return Err(Error::new(ErrorKind::Input, "too far"));
            }
            Ok(vec![5.0 + (x - 1.0).powi(2) + (y - 2.0).powi(2), x + y])
        }
    }

    fn study(goal: &str, rest: &str) -> Result<Study> {
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

    fn found(goal: &str, rest: &str) -> (Optimum, Vec<f64>) {
        let study = study(goal, rest).expect("a study");
        let optimum = optimize(&study, &Bowl, |_| Ok(())).expect("an optimum");
        let best = optimum.history[optimum.best].values.clone();
        (optimum, best)
    }

    #[test]
    fn the_bottom_of_a_bowl() {
        let (optimum, best) = found("minimise = \"bowl\"\ntolerance = 1e-6", "");
        assert!(optimum.is_feasible);
        assert!(
            (best[0] - 1.0).abs() < 1e-4 && (best[1] - 2.0).abs() < 1e-4,
            "{best:?}"
        );
        assert!(optimum.history.len() < 200, "{}", optimum.history.len());
        // part of the range cannot be computed, and was tried
        assert!(optimum.history.iter().any(|point| point.measures.is_err()));
    }

    /// The nearest point of the line x + y = 2 to (1, 2) is (0.5, 1.5).
    #[test]
    fn the_bottom_on_a_constraint() {
        let rest = "[[constraint]]\nmeasure = \"sum\"\nhigh = 2";
        let (optimum, best) = found("minimise = \"bowl\"\ntolerance = 1e-6", rest);
        assert!(optimum.is_feasible);
        assert!(
            (best[0] - 0.5).abs() < 1e-3 && (best[1] - 1.5).abs() < 1e-3,
            "{best:?}"
        );
    }

    #[test]
    fn constraints_that_exclude_each_other_are_told() {
        let rest = "[[constraint]]\nmeasure = \"sum\"\nhigh = 2\n[[constraint]]\nmeasure = \"sum\"\nlow = 3";
        let (optimum, _) = found("minimise = \"bowl\"\nevaluations = 50", rest);
        assert!(!optimum.is_feasible);
        assert!(optimum.history.len() <= 51);
    }

    /// Measures x and x².
    struct Square;

    impl Experiment for Square {
        fn measure(&self, values: &[f64]) -> Result<Vec<f64>> {
            Ok(vec![values[0], values[0] * values[0]])
        }
    }

    /// A start that is far from a bound does not widen it: x² = 250000 at the start, and at most 0.1 is wanted.
    #[test]
    fn a_bound_is_kept_from_a_distant_start() {
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
        let optimum = optimize(&study, &Square, |_| Ok(())).expect("an optimum");
        for point in &optimum.history {
            let measures = point.measures.as_ref().expect("measures");
            let is_kept = measures[1] - 0.1 <= 1e-7;
            assert_eq!(point.is_feasible(), is_kept, "{point:?}");
        }
        let best = optimum.history[optimum.best].values[0];
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
    fn a_start_that_fails_is_told() {
        let study = study("minimise = \"bowl\"\nstart = { x = 2 }", "").expect("a study");
        let error = optimize(&study, &Bowl, |_| Ok(())).unwrap_err();
        assert_eq!(error.message(), "the start cannot be computed: too far");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (goal, rest, message) in [
            ("minimise = \"bwl\"", "", "is no measure"),
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
            let error = study(goal, rest).unwrap_err();
            assert!(error.message().contains(message), "{error}");
            assert!(error.place().line.is_some(), "{error}");
        }
    }
}
