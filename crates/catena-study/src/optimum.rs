//! The values of parameters that minimise a measure, under bounds on others.
//!
//! Two methods. Powell's COBYLA (1994): objective and constraints are interpolated linearly at n + 1 points, in a region whose size shrinks
//! from a quarter of the ranges to the tolerance; it needs no derivatives. Kraft's SLSQP (1988): each step minimises a quadratic model of the
//! Lagrangian under linear models of the constraints, from gradients. Both get objective and all constraints from one run.
//!
//! ```text
//! x = F⁻¹(u), 0 ≤ u ≤ 1       values of the parameters over their ranges, logarithmic ones by their logarithms           (1)
//! minimise f(u)/|f(u₀)|   subject to   (high − m(u))/s ≥ 0,  (m(u) − low)/s ≥ 0,  s = max(|bound|, |m(u₀)|)              (2)
//! ∂m/∂u = ∂m/∂x dx/du,   or   (m(u + h) − m(u − h)) / 2h                                                                  (3)
//! ```
//!
//! Gradients come from the experiment where it provides them ([`Experiment::slopes`]), otherwise from differences.
//!
//! A point that cannot be computed counts as worse than all others, so that the method turns back. The result is the best of all
//! points tried that satisfy the constraints, to a fraction of their bounds: s is for the search only.

use crate::runner::{Experiment, finite};
use crate::study::{Goal, Limit, Search, Study};
use catena::error::{Error, ErrorKind, Result};
use cobyla::RhoBeg;
use slsqp::Func;
use std::cell::RefCell;
use std::ops::ControlFlow;

/// Fraction of its bound by which a constraint may be violated: round-off of the linear models.
const SLACK: f64 = 1e-6;

/// By how much a constraint may be violated whose bound is 0.
const SLACK_AT_ZERO: f64 = 1e-9;

/// First change of the parameters, as a fraction of their ranges.
const FIRST_CHANGE: f64 = 0.25;

/// h of (3): the error of runs at the default tolerance, divided by h, and h² are of the same order.
const DIFFERENCE: f64 = 1e-3;

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
    /// Amount by which these measures violate it; 0 where they do not.
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

/// Result of the search.
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
    /// Source of the gradients; none if the method needs none.
    pub gradients: Option<Gradients>,
}

/// The gradients of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gradients {
    /// Number of them.
    pub count: usize,
    /// Runs for differences, in addition to those of the points.
    pub runs: usize,
    /// Why they are differences; none if the experiment provides derivatives.
    pub because: Option<String>,
}

/// The state of a search.
struct Tried<'a> {
    study: &'a Study,
    goal: &'a Goal,
    experiment: &'a dyn Experiment,
    noted: &'a mut dyn FnMut(&Evaluation) -> Result<ControlFlow<()>>,
    history: Vec<Evaluation>,
    /// u of each.
    points: Vec<Vec<f64>>,
    /// The gradients of (2) at each, where they are known.
    slopes: Vec<Option<Vec<Vec<f64>>>>,
    gradients: Gradients,
    /// Scales of the objective and of every constraint.
    scales: Vec<f64>,
    /// What `noted` said if it has ended the search: an error, or nothing.
    stopped: Option<Result<()>>,
}

impl Tried<'_> {
    /// The point u, which is evaluated if it is new.
    fn index(&mut self, u: &[f64]) -> usize {
        let known = self.points.iter().position(|point| point == u);
        known.unwrap_or_else(|| self.try_out(u))
    }

    /// Values of (2) at u, the objective first.
    fn at(&mut self, u: &[f64]) -> Vec<f64> {
        if self.stopped.is_some() {
            // nothing changes any more, and the method ends
            let mut level = vec![1.0; 1 + self.goal.limits.len()];
            level[0] = 0.0;
            return level;
        }
        let index = self.index(u);
        match &self.history[index].measures {
            Ok(measures) => self.numbers(measures),
            Err(_) => self.worse_than_all(),
        }
    }

    /// Gradients of (2) at u, the objective first; zero where nothing can be computed.
    fn slopes_at(&mut self, u: &[f64]) -> Vec<Vec<f64>> {
        let flat = vec![vec![0.0; u.len()]; 1 + self.goal.limits.len()];
        if self.stopped.is_some() {
            return flat;
        }
        let index = self.index(u);
        if let Some(known) = &self.slopes[index] {
            return known.clone();
        }
        let slopes = match (&self.history[index].measures, &self.stopped) {
            (Ok(_), None) => self.new_slopes(u, index),
            _ => flat,
        };
        self.slopes[index] = Some(slopes.clone());
        slopes
    }

    /// (3), of the numbers of (2).
    fn new_slopes(&mut self, u: &[f64], index: usize) -> Vec<Vec<f64>> {
        self.gradients.count += 1;
        let mut wanted = vec![self.goal.measure];
        wanted.extend(self.goal.limits.iter().map(|limit| limit.measure));
        let values = self.history[index].values.clone();
        let of_measures = match &self.gradients.because {
            Some(_) => None,
            None => match self.experiment.slopes(&values, &wanted) {
                Ok(slopes) if slopes.iter().flatten().all(|x| x.is_finite()) => Some(slopes),
                Ok(_) => {
                    self.gradients.because = Some("a derivative is not finite".into());
                    None
                }
                Err(error) => {
                    self.gradients.because = Some(error.message().to_string());
                    None
                }
            },
        };
        let mut slopes = match of_measures {
            Some(mut slopes) => {
                let parameters = self.study.parameters.iter().zip(&values).enumerate();
                for (k, (parameter, value)) in parameters {
                    let by_u = parameter.spread.slope(*value).unwrap_or_default();
                    slopes.iter_mut().for_each(|slope| slope[k] *= by_u);
                }
                slopes
            }
            None => self.differences(u, &wanted),
        };
        let limits = self.goal.limits.iter().map(|limit| -limit.sign);
        let signs = std::iter::once(self.goal.sign).chain(limits);
        for ((slope, sign), scale) in slopes.iter_mut().zip(signs).zip(&self.scales) {
            slope.iter_mut().for_each(|x| *x *= sign / scale);
        }
        slopes
    }

    /// ∂m/∂u by differences; those of a parameter are zero where runs fail.
    fn differences(&mut self, u: &[f64], wanted: &[usize]) -> Vec<Vec<f64>> {
        let mut points = Vec::new();
        let mut widths = Vec::new();
        for k in 0..u.len() {
            let ends = [u[k] - DIFFERENCE, u[k] + DIFFERENCE].map(|x| x.clamp(0.0, 1.0));
            widths.push(ends[1] - ends[0]);
            for end in ends {
                let mut point = u.to_vec();
                point[k] = end;
                points.push(self.values(&point));
            }
        }
        self.gradients.runs += points.len();
        let found = self.experiment.measure_all(&points);
        let pairs: Vec<_> = found.chunks(2).zip(widths).collect();
        let slope = |measure: usize| {
            let parts = pairs.iter().map(|(ends, width)| match ends {
                [Ok(low), Ok(high)] => {
                    Some((high[measure] - low[measure]) / width).filter(|x| x.is_finite())
                }
                _ => None,
            });
            parts.map(Option::unwrap_or_default).collect()
        };
        wanted.iter().map(|&measure| slope(measure)).collect()
    }

    /// Whether the last two moves were below the tolerance, and the last point satisfies the constraints. SLSQP itself requires them to be
    /// satisfied to the last bit, and continues.
    fn rests(&self) -> bool {
        let [.., a, b, c] = &self.points[..] else {
            return false;
        };
        let near = |a: &[f64], b: &[f64]| {
            let mut moves = a.iter().zip(b);
            moves.all(|(a, b)| (a - b).abs() <= self.goal.tolerance)
        };
        near(a, b) && near(b, c) && self.history.last().is_some_and(Evaluation::is_feasible)
    }

    /// Values of the parameters at u.
    fn values(&self, u: &[f64]) -> Vec<f64> {
        let parameters = self.study.parameters.iter().zip(u);
        parameters
            .filter_map(|(parameter, u)| parameter.spread.quantile(*u))
            .collect()
    }

    fn try_out(&mut self, u: &[f64]) -> usize {
        let values = self.values(u);
        let measured = self.experiment.measure(&values);
        let measured = measured.and_then(|found| finite(self.study, found));
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
        self.stopped = match (self.noted)(&new) {
            Ok(ControlFlow::Continue(())) => None,
            Ok(ControlFlow::Break(())) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        self.history.push(new);
        self.points.push(u.to_vec());
        self.slopes.push(None);
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

/// Searches for the optimum of a study. `noted` receives every point as it is tried, and may end the search: the result is then the best point so
/// far, or its error.
pub fn optimize(
    study: &Study,
    experiment: &dyn Experiment,
    mut noted: impl FnMut(&Evaluation) -> Result<ControlFlow<()>>,
) -> Result<Optimum> {
    let goal = study.expect_goal()?;
    let tried = RefCell::new(Tried {
        study,
        goal,
        experiment,
        noted: &mut noted,
        history: Vec::new(),
        points: Vec::new(),
        slopes: Vec::new(),
        gradients: Gradients::default(),
        scales: Vec::new(),
        stopped: None,
    });
    tried.borrow_mut().try_out(&goal.start);
    if let Err(reason) = &tried.borrow().history[0].measures {
        let message = format!("the start cannot be computed: {reason}");
        let error = Error::new(ErrorKind::Input, message).at(goal.place.clone());
        return Err(error.hint("give another one: `start` of [optimize]"));
    }
    let ended = match goal.search {
        Search::Cobyla => by_cobyla(goal, &tried),
        Search::Slsqp => by_slsqp(goal, &tried),
    };
    let tried = tried.into_inner();
    let end = match tried.stopped {
        Some(Err(error)) => return Err(error),
        Some(Ok(())) => ENDED,
        None => ended.map_err(|status| {
            let message = format!("the search failed: {status}");
            Error::new(ErrorKind::Input, message).at(goal.place.clone())
        })?,
    };
    let mut best = 0;
    for k in 1..tried.history.len() {
        if tried.is_better(&tried.history[k], &tried.history[best]) {
            best = k;
        }
    }
    Ok(Optimum {
        is_feasible: tried.history[best].is_feasible(),
        best,
        end,
        gradients: (goal.search == Search::Slsqp).then_some(tried.gradients),
        history: tried.history,
    })
}

const ENDED: &str = "the search was ended before that";
const USED_UP: &str = "the limit of evaluations is reached";
const FOUND: &str = "the parameters have converged to the tolerance";
const ROUND_OFF: &str = "round-off prevents further progress";

/// Why a search ended, or the status with which it failed.
type Ended = std::result::Result<&'static str, String>;

fn by_cobyla(goal: &Goal, tried: &RefCell<Tried<'_>>) -> Ended {
    let start = &goal.start;
    let objective = |u: &[f64], (): &mut ()| tried.borrow_mut().at(u)[0];
    let constraint = |k: usize| move |u: &[f64], (): &mut ()| tried.borrow_mut().at(u)[k];
    let constraints: Vec<_> = (1..=goal.limits.len()).map(constraint).collect();
    let tolerances = cobyla::StopTols {
        xtol_abs: vec![goal.tolerance; start.len()],
        ..cobyla::StopTols::default()
    };
    let ended = cobyla::minimize(
        objective,
        start,
        &vec![(0.0, 1.0); start.len()],
        &constraints,
        (),
        goal.evaluations,
        RhoBeg::All(FIRST_CHANGE),
        Some(tolerances),
    );
    match ended {
        Ok((cobyla::SuccessStatus::MaxEvalReached, ..)) => Ok(USED_UP),
        Ok(_) => Ok(FOUND),
        Err((cobyla::FailStatus::RoundoffLimited, ..)) => Ok(ROUND_OFF),
        Err((status, ..)) => Err(format!("{status:?}")),
    }
}

fn by_slsqp(goal: &Goal, tried: &RefCell<Tried<'_>>) -> Ended {
    let start = &goal.start;
    // number k of (2), which SLSQP minimises: constraints with the opposite sign
    let number = |k: usize| {
        let sign = if k == 0 { 1.0 } else { -1.0 };
        move |u: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| {
            let u: Vec<f64> = u.iter().map(|u| u.clamp(0.0, 1.0)).collect();
            let mut tried = tried.borrow_mut();
            if tried.rests() {
                // no further progress, and it ends
                gradient.into_iter().for_each(|gradient| gradient.fill(0.0));
                return if k == 0 { 0.0 } else { -1.0 };
            }
            if let Some(gradient) = gradient {
                let slopes = tried.slopes_at(&u);
                for (into, slope) in gradient.iter_mut().zip(&slopes[k]) {
                    *into = sign * slope;
                }
            }
            sign * tried.at(&u)[k]
        }
    };
    let constraints: Vec<_> = (1..=goal.limits.len()).map(number).collect();
    let constraints: Vec<&dyn Func<()>> = constraints.iter().map(|c| c as &dyn Func<()>).collect();
    let tolerances = slsqp::StopTols {
        xtol_abs: vec![goal.tolerance; start.len()],
        ..slsqp::StopTols::default()
    };
    let ended = slsqp::minimize(
        number(0),
        start,
        &vec![(0.0, 1.0); start.len()],
        &constraints,
        (),
        goal.evaluations,
        Some(tolerances),
    );
    match ended {
        Ok((slsqp::SuccessStatus::MaxEvalReached, ..)) => Ok(USED_UP),
        Ok(_) => Ok(FOUND),
        Err((slsqp::FailStatus::RoundoffLimited, ..)) => Ok(ROUND_OFF),
        Err((status, ..)) => Err(format!("{status:?}")),
    }
}
