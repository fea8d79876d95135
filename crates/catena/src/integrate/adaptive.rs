//! Explicit Runge–Kutta integration with step size control.
//!
//! ```text
//! ε = rms( eᵢ / (atol + rtol max(|y₀ᵢ|, |y₁ᵢ|)) )        error of a step; accepted if ε ≤ 1         (1)
//! h ← h · clamp(0.9 ε^(−0.7/k) ε₋^(0.4/k), 0.2, 10)       after an accepted step (PI control)        (2)
//! h ← h · max(0.9 ε^(−1/k), 0.2)                          after a rejected one                       (3)
//! ```
//!
//! k is the order of the estimate plus one, ε₋ ≥ 10⁻⁴ the error of the step before (Gustafsson's constants; Hairer & Wanner
//! 1996, sec. IV.2). The step after a rejected one does not grow. A derivative that fails or is non-finite rejects the step
//! with h ← h/4. The first step is chosen by Hairer's rule (Hairer, Nørsett & Wanner 1993, sec. II.4).
//!
//! Where the system carries integrals along with its motion ([`System::integrals`]), ε is the larger of (1) over the motion and
//! (1) over the integrals: integrals with small errors do not dilute the mean of the motion.
//!
//! The end of a step is projected onto the manifold before the derivative is taken there, so that the next step, the error
//! estimate and the dense output all see the same point.

use super::events::{Event, MOST_PARTS, Step, Watched, noise, spacing};
use super::step_size::{self, StepSize, ratio};
use super::tableau::{ErrorEstimate, Tableau};
use super::{IntegratorOptions, Method, Statistics, System, Tolerances, Words, at_time};
use crate::error::{Error, ErrorKind, Result};
use crate::state::check_length;

/// Result of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOutcome {
    /// Time at the beginning, s.
    pub t_old: f64,
    /// Time at the end, s.
    pub t: f64,
    /// Its size, s.
    pub size: f64,
    events: Vec<Event>,
}

impl StepOutcome {
    pub(super) fn new(t_old: f64, t: f64, events: Vec<Event>) -> Self {
        StepOutcome {
            t_old,
            t,
            size: t - t_old,
            events,
        }
    }

    /// The changes of sign of event functions after the beginning and up to the end, by increasing time.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

/// An integrator with variable steps. It owns its buffers and does not allocate after [`start`](Self::start), except for
/// the list of events in a step that has some.
#[derive(Clone, Debug)]
pub struct Adaptive {
    method: Method,
    options: IntegratorOptions,
    dimension: usize,
    /// Number of trailing components that are integrals.
    integrals: usize,
    rows: Rows,
    stage: Stage,
    t_old: f64,
    t: f64,
    y_old: Vec<f64>,
    y: Vec<f64>,
    y_next: Vec<f64>,
    work: Vec<f64>,
    next: StepSize,
    /// Whether there is a previous step, with its stages.
    stepped: bool,
    /// Whether the extra stages and the coefficients of its dense output have been computed.
    dense_ready: bool,
    dense: Vec<f64>,
    watched: Watched,
    statistics: Statistics,
    worst: Option<usize>,
}

/// Values of the stages, one after another.
#[derive(Clone, Debug)]
struct Stage {
    dimension: usize,
    stride: usize,
    values: Vec<f64>,
}

/// The nonzero coefficients of a sum of stages.
pub(crate) type Terms = Vec<(usize, f64)>;

/// The rows of a tableau, without their zeros.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub stages: Vec<Terms>,
    pub weights: Terms,
    pub error: Terms,
    pub second_error: Terms,
    pub extra: Vec<Terms>,
    pub dense: Vec<Terms>,
}

fn terms(coefficients: impl IntoIterator<Item = f64>) -> Terms {
    coefficients
        .into_iter()
        .enumerate()
        .filter(|&(_, a)| a != 0.0)
        .collect()
}

impl Rows {
    pub fn new(tableau: &Tableau) -> Self {
        let row = |row: &&[f64]| terms(row.iter().copied());
        let (error, second_error) = match tableau.error {
            ErrorEstimate::Single(e) => (row(&e), Vec::new()),
            ErrorEstimate::Pair(e, second) => (row(&e), row(&second)),
        };
        let powers = tableau.dense[0].len();
        Rows {
            stages: tableau.stages.iter().map(row).collect(),
            weights: row(&tableau.weights),
            error,
            second_error,
            extra: tableau.extra_stages.iter().map(row).collect(),
            dense: (0..powers)
                .map(|j| terms(tableau.dense.iter().map(|row| row[j])))
                .collect(),
        }
    }
}

/// Components summed at once; the stages are padded to a multiple of it.
const BLOCK: usize = 8;

impl Stage {
    fn new(count: usize, dimension: usize) -> Self {
        let stride = dimension.next_multiple_of(BLOCK);
        Stage {
            dimension,
            stride,
            values: vec![0.0; count * stride],
        }
    }

    fn get(&self, i: usize) -> &[f64] {
        &self.values[i * self.stride..][..self.dimension]
    }

    fn get_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.values[i * self.stride..][..self.dimension]
    }

    /// Σ aᵢ kᵢ for a block of components.
    #[inline(always)]
    fn block(&self, terms: &[(usize, f64)], first: usize) -> [f64; BLOCK] {
        let mut sum = [0.0; BLOCK];
        for &(i, a) in terms {
            let values = &self.values[i * self.stride + first..][..BLOCK];
            for (sum, x) in sum.iter_mut().zip(values) {
                *sum += a * x;
            }
        }
        sum
    }

    /// Σ aᵢ kᵢ.
    fn sum(&self, terms: &[(usize, f64)], sum: &mut [f64]) {
        for (k, part) in sum.chunks_mut(BLOCK).enumerate() {
            let block = self.block(terms, k * BLOCK);
            part.copy_from_slice(&block[..part.len()]);
        }
    }

    /// y + h Σ aᵢ kᵢ.
    fn point(&self, terms: &[(usize, f64)], y: &[f64], h: f64, point: &mut [f64]) {
        for (k, (part, y)) in point.chunks_mut(BLOCK).zip(y.chunks(BLOCK)).enumerate() {
            let block = self.block(terms, k * BLOCK);
            for ((p, y), sum) in part.iter_mut().zip(y).zip(block) {
                *p = y + h * sum;
            }
        }
    }
}

/// Why a derivative cannot be used.
enum Failure {
    Refused(Error),
    NotFinite(usize),
}

impl Failure {
    fn explain(&self, t: f64) -> Error {
        match self {
            Failure::Refused(error) => at_time(error, t),
            Failure::NotFinite(component) => Error::new(
                ErrorKind::Integration,
                format!("at t = {t} s: component {component} or its derivative is not finite"),
            )
            .hint("look for a force that divides by zero, or for a motion that reaches infinity"),
        }
    }
}

fn evaluate<S: System + ?Sized>(
    system: &mut S,
    t: f64,
    y: &[f64],
    dy: &mut [f64],
    statistics: &mut Statistics,
) -> std::result::Result<(), Failure> {
    statistics.evaluations += 1;
    system.derivative(t, y, dy).map_err(Failure::Refused)?;
    all_finite(dy)
}

fn all_finite(values: &[f64]) -> std::result::Result<(), Failure> {
    // without a branch per component
    if values.iter().fold(true, |finite, x| finite & x.is_finite()) {
        return Ok(());
    }
    let component = values.iter().position(|x| !x.is_finite());
    Err(Failure::NotFinite(component.unwrap_or(0)))
}

impl Adaptive {
    /// An integrator for systems of this dimension.
    pub fn new(method: Method, dimension: usize, options: IntegratorOptions) -> Result<Self> {
        options.check()?;
        let tableau = method.tableau();
        let zeros = vec![0.0; dimension];
        let stages = tableau.stage_count() + 1 + tableau.extra_nodes.len();
        let rows = Rows::new(tableau);
        Ok(Adaptive {
            method,
            options,
            dimension,
            integrals: 0,
            stage: Stage::new(stages, dimension),
            t_old: 0.0,
            t: 0.0,
            y_old: zeros.clone(),
            y: zeros.clone(),
            y_next: zeros.clone(),
            work: zeros,
            next: StepSize::new(0.0),
            stepped: false,
            dense_ready: false,
            dense: vec![0.0; rows.dense.len() * dimension],
            rows,
            watched: Watched::default(),
            statistics: Statistics::default(),
            worst: None,
        })
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The settings.
    pub fn options(&self) -> &IntegratorOptions {
        &self.options
    }

    /// Time reached, s.
    pub fn time(&self) -> f64 {
        self.t
    }

    /// The solution there.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The derivative there.
    pub fn derivative(&self) -> &[f64] {
        self.stage.get(self.current())
    }

    /// Proposed size of the next step, s.
    pub fn next_size(&self) -> f64 {
        self.next.proposal
    }

    /// Cost so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The component that had the largest error, or a non-finite derivative, in the last trial step.
    pub fn worst_component(&self) -> Option<usize> {
        self.worst
    }

    /// Index of the stage that is the derivative at the present time.
    fn current(&self) -> usize {
        if self.stepped {
            self.method.tableau().stage_count()
        } else {
            0
        }
    }

    /// Starts at this time and point, which is projected onto the manifold. Statistics are not reset, so that a run restarted
    /// after an event is counted as one.
    pub fn start<S: System + ?Sized>(&mut self, system: &mut S, t: f64, y: &[f64]) -> Result<()> {
        self.begin(system, t, y)?;
        let first = match self.options.initial_step {
            Some(step) => step,
            None => self.first_size(system),
        };
        self.next = StepSize::new(first.max(self.smallest()));
        Ok(())
    }

    /// Continues from a point within the last step where the derivative jumps but the time scale of the system is unchanged: with the
    /// previous step size.
    pub fn resume<S: System + ?Sized>(&mut self, system: &mut S, t: f64, y: &[f64]) -> Result<()> {
        self.begin(system, t, y)?;
        self.next.proposal = self.next.proposal.max(self.smallest());
        Ok(())
    }

    /// Sets a point, and evaluates its derivative and the event functions.
    fn begin<S: System + ?Sized>(&mut self, system: &mut S, t: f64, y: &[f64]) -> Result<()> {
        check_length("state of the system", system.dimension(), self.dimension)?;
        check_length("initial values y", y.len(), self.dimension)?;
        if let Some(component) = y.iter().position(|x| !x.is_finite()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "component {component} of the initial values is {}",
                    y[component]
                ),
            ));
        }
        if !t.is_finite() {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the initial time is {t}"),
            ));
        }
        self.integrals = system.integrals().min(self.dimension);
        self.t_old = t;
        self.t = t;
        self.y.copy_from_slice(y);
        system.project(t, &mut self.y);
        self.y_old.copy_from_slice(&self.y);
        self.stepped = false;
        self.dense_ready = false;
        self.next.rejected_before = false;
        self.worst = None;
        evaluate(
            system,
            t,
            &self.y,
            self.stage.get_mut(0),
            &mut self.statistics,
        )
        .map_err(|failure| failure.explain(t))?;
        let count = system.event_count();
        self.watched.resize(count);
        if count > 0 {
            system.events(t, &self.y, &mut self.watched.values);
        }
        Ok(())
    }

    /// Hairer's rule: a step for which an Euler step changes y and f little.
    fn first_size<S: System + ?Sized>(&mut self, system: &mut S) -> f64 {
        let motion = self.dimension - self.integrals;
        let d0 = self.size(&self.y[..motion]);
        let d1 = self.size(&self.stage.get(0)[..motion]);
        let h0 = step_size::probing_size(d0, d1, self.options.max_step);
        for ((work, y), f) in self.work.iter_mut().zip(&self.y).zip(self.stage.get(0)) {
            *work = y + h0 * f;
        }
        let probe = evaluate(
            system,
            self.t + h0,
            &self.work,
            self.stage.get_mut(1),
            &mut self.statistics,
        );
        if probe.is_err() {
            return h0;
        }
        let (f0, f1) = (self.stage.get(0), self.stage.get(1));
        for ((work, f0), f1) in self.work.iter_mut().zip(f0).zip(f1) {
            *work = f1 - f0;
        }
        let change = self.size(&self.work[..motion]);
        step_size::first_size(h0, d1, change, self.method.order(), self.options.max_step)
    }

    /// Root mean square of the first components, in units of the tolerance at the present point.
    fn size(&self, x: &[f64]) -> f64 {
        let Tolerances { relative, absolute } = self.options.tolerances;
        let squares: f64 = x
            .iter()
            .zip(&self.y)
            .map(|(x, y)| ratio(*x, absolute + relative * y.abs()).powi(2))
            .sum();
        (squares / x.len().max(1) as f64).sqrt()
    }

    /// One accepted step, not beyond `t_end` and not across a kink that the system reports.
    ///
    /// On an error the time and the solution reached are kept, and so is the proposed size of the next step: the caller may
    /// correct the system and call again.
    pub fn step<S: System + ?Sized>(&mut self, system: &mut S, t_end: f64) -> Result<StepOutcome> {
        if t_end.is_nan() || t_end <= self.t {
            return Err(Error::new(
                ErrorKind::Input,
                format!("cannot step from t = {} s to t = {t_end} s", self.t),
            ));
        }
        // a kink within round-off counts as passed
        let t_end = t_end.min(system.next_kink(self.t + 8.0 * spacing(self.t)));
        check_length(
            "event functions",
            system.event_count(),
            self.watched.values.len(),
        )?;
        if self.stepped {
            let last = self.current() * self.stage.stride;
            self.stage
                .values
                .copy_within(last..last + self.dimension, 0);
            self.stepped = false;
            self.dense_ready = false;
        }
        let exponent = 1.0 / (self.method.tableau().estimate_order as f64 + 1.0);
        let hopeful = self.next.proposal;
        let mut failure = None;
        let mut error = 0.0;
        loop {
            let max_step = self.options.max_step;
            let Some(trial) = (self.next).trial(self.t, t_end, max_step, self.smallest()) else {
                let complaint = self.underflow(failure, error);
                self.next.proposal = hopeful;
                self.next.rejected_before = false;
                return Err(complaint);
            };
            match self.attempt(system, trial.t_next, trial.size) {
                Err(reason) => {
                    if let Failure::NotFinite(component) = reason {
                        self.worst = Some(component);
                    }
                    failure = Some(reason);
                    self.statistics.rejected += 1;
                    self.next.fail(trial);
                }
                Ok(estimate) if self.next.judge(trial, estimate, exponent) => {
                    self.statistics.steps += 1;
                    let outcome = self.accept(system, trial.t_next, trial.size);
                    self.next.proposal = self.next.proposal.max(self.smallest());
                    return outcome;
                }
                Ok(estimate) => {
                    failure = None;
                    error = estimate;
                    self.statistics.rejected += 1;
                }
            }
        }
    }

    /// The smallest reasonable step at the present time.
    fn smallest(&self) -> f64 {
        step_size::smallest(self.t, self.options.min_step)
    }

    /// Computes the stages and the end of a step and returns the error in units of the tolerance.
    fn attempt<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        t_next: f64,
        h: f64,
    ) -> std::result::Result<f64, Failure> {
        let tableau = self.method.tableau();
        let count = tableau.stage_count();
        for i in 1..count {
            self.stage
                .point(&self.rows.stages[i], &self.y, h, &mut self.work);
            evaluate(
                system,
                self.t + tableau.nodes[i] * h,
                &self.work,
                self.stage.get_mut(i),
                &mut self.statistics,
            )?;
        }
        self.stage
            .point(&self.rows.weights, &self.y, h, &mut self.y_next);
        system.project(t_next, &mut self.y_next);
        all_finite(&self.y_next)?;
        if tableau.first_same_as_last() {
            self.evaluate_end(system, t_next)?;
        }
        let estimate = self.estimate(h);
        if estimate.is_nan() {
            let component = self.y_next.iter().position(|x| !x.is_finite());
            return Err(Failure::NotFinite(component.unwrap_or(0)));
        }
        if !tableau.first_same_as_last() && estimate <= 1.0 {
            self.evaluate_end(system, t_next)?;
        }
        Ok(estimate)
    }

    fn evaluate_end<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        t_next: f64,
    ) -> std::result::Result<(), Failure> {
        let count = self.method.tableau().stage_count();
        evaluate(
            system,
            t_next,
            &self.y_next,
            self.stage.get_mut(count),
            &mut self.statistics,
        )
    }

    fn estimate(&mut self, h: f64) -> f64 {
        let motion = self.dimension - self.integrals;
        let mut worst = (0, -1.0);
        self.stage.sum(&self.rows.error, &mut self.work);
        let first = self.squares(motion, &mut worst);
        let mut second = [0.0; 2];
        if !self.rows.second_error.is_empty() {
            self.stage.sum(&self.rows.second_error, &mut self.work);
            second = self.squares(motion, &mut (0, f64::INFINITY));
        }
        let counts = [motion, self.integrals];
        let second = (!self.rows.second_error.is_empty()).then_some(second);
        let estimate = step_size::joined(h, first, second, counts);
        self.worst = (worst.1 >= 0.0).then_some(worst.0);
        estimate
    }

    /// Sums of squares of the errors in `work`, in units of the tolerance: of the motion and of the integrals.
    fn squares(&self, motion: usize, worst: &mut (usize, f64)) -> [f64; 2] {
        let Tolerances { relative, absolute } = self.options.tolerances;
        let mut sums = [0.0; 2];
        for (i, ((e, y0), y1)) in self.work.iter().zip(&self.y).zip(&self.y_next).enumerate() {
            let scale = absolute + relative * y0.abs().max(y1.abs());
            let scaled = ratio(*e, scale);
            if scaled.abs() > worst.1 {
                *worst = (i, scaled.abs());
            }
            sums[usize::from(i >= motion)] += scaled * scaled;
        }
        sums
    }

    fn accept<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        t_next: f64,
        size: f64,
    ) -> Result<StepOutcome> {
        std::mem::swap(&mut self.y_old, &mut self.y);
        std::mem::swap(&mut self.y, &mut self.y_next);
        self.t_old = self.t;
        self.t = t_next;
        self.stepped = true;
        self.dense_ready = false;
        let events = if self.watched.values.is_empty() {
            Vec::new()
        } else {
            self.find_events(system)?
        };
        Ok(StepOutcome {
            t_old: self.t_old,
            t: self.t,
            size,
            events,
        })
    }

    fn find_events<S: System + ?Sized>(&mut self, system: &mut S) -> Result<Vec<Event>> {
        let mut watched = std::mem::take(&mut self.watched);
        let mut point = std::mem::take(&mut self.y_next);
        let step = Step {
            begin: self.t_old,
            end: self.t,
            parts: self.options.event_parts,
            most: MOST_PARTS,
            interval: system.sample_interval(),
            noise: noise(&[&self.y[..self.dimension - self.integrals]]),
        };
        let found = watched.find(step, |t, values| {
            self.interpolate(system, t, &mut point)?;
            system.events(t, &point, values);
            Ok(())
        });
        self.watched = watched;
        self.y_next = point;
        found
    }

    fn underflow(&self, failure: Option<Failure>, error: f64) -> Error {
        let (t, h) = (self.t, self.next.proposal);
        match failure {
            Some(failure) => {
                let cause = failure.explain(t);
                let hint = cause
                    .advice()
                    .map_or_else(String::new, |advice| format!("; {advice}"));
                Error::new(cause.kind(), cause.message().to_string())
                    .at(cause.place().clone())
                    .hint(format!(
                        "steps down to {h:.3e} s from there do not help{hint}"
                    ))
            }
            None => Error::new(
                ErrorKind::Integration,
                format!(
                    "at t = {t} s: the step size fell to {h:.3e} s; the error of component {} is {error:.3e} times the \
                     tolerance",
                    self.worst.unwrap_or(0)
                ),
            )
            .hint("loosen the tolerances, or look for a jump or a stiff force near this time"),
        }
    }

    /// Limits the proposed size of the next step, s.
    pub fn limit_next_size(&mut self, size: f64) {
        self.next.proposal = self.next.proposal.min(size).max(self.smallest());
    }

    /// Time and solution at the beginning of the last step.
    pub fn before(&self) -> (f64, &[f64]) {
        (self.t_old, &self.y_old)
    }

    /// The solution at a time within the last step, projected onto the manifold.
    ///
    /// The first call in a step computes the extra stages of the method, if it has any; further calls cost no evaluation.
    pub fn interpolate<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        t: f64,
        y: &mut [f64],
    ) -> Result<()> {
        check_length("interpolated values y", y.len(), self.dimension)?;
        if t == self.t {
            y.copy_from_slice(&self.y);
            return Ok(());
        }
        if !(self.stepped && t >= self.t_old && t < self.t) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "t = {t} s is not within the last step, from {} s to {} s",
                    self.t_old, self.t
                ),
            ));
        }
        if t == self.t_old {
            y.copy_from_slice(&self.y_old);
            return Ok(());
        }
        let h = self.t - self.t_old;
        self.prepare_dense(system, h)?;
        let theta = (t - self.t_old) / h;
        let rest = 1.0 - theta;
        let n = self.dimension;
        let powers = self.rows.dense.len();
        let f0 = self.stage.get(0);
        let f1 = self.stage.get(self.method.tableau().stage_count());
        for i in 0..n {
            let mut high = self.dense[(powers - 1) * n + i];
            for j in (0..powers - 1).rev() {
                high = high * theta + self.dense[j * n + i];
            }
            let change = self.y[i] - self.y_old[i];
            let left = h * f0[i] - change;
            let both = 2.0 * change - h * (f0[i] + f1[i]);
            y[i] =
                self.y_old[i] + theta * (change + rest * (left + theta * (both + rest * h * high)));
        }
        system.project(t, y);
        Ok(())
    }

    fn prepare_dense<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<()> {
        if self.dense_ready {
            return Ok(());
        }
        let tableau = self.method.tableau();
        for (i, terms) in self.rows.extra.iter().enumerate() {
            let t = self.t_old + tableau.extra_nodes[i] * h;
            self.stage.point(terms, &self.y_old, h, &mut self.work);
            evaluate(
                system,
                t,
                &self.work,
                self.stage.get_mut(tableau.stage_count() + 1 + i),
                &mut self.statistics,
            )
            .map_err(|failure| failure.explain(t))?;
        }
        for (terms, dense) in self
            .rows
            .dense
            .iter()
            .zip(self.dense.chunks_exact_mut(self.dimension.max(1)))
        {
            self.stage.sum(terms, dense);
        }
        self.dense_ready = true;
        Ok(())
    }

    /// Everything needed to resume bit for bit, including dense output of the last step: numbers as their bits.
    pub fn checkpoint(&self) -> Vec<u64> {
        let mut words = self.identity(self.watched.values.len()).to_vec();
        words.extend([
            self.statistics.steps,
            self.statistics.rejected,
            self.statistics.evaluations,
            u64::from(self.next.rejected_before),
            u64::from(self.stepped),
            u64::from(self.dense_ready),
            self.integrals as u64,
        ]);
        let scalars = [
            self.t_old,
            self.t,
            self.next.proposal,
            self.next.error_before,
        ];
        let numbers = [
            &scalars[..],
            &self.y_old,
            &self.y,
            &self.stage.values,
            &self.dense,
            &self.watched.values,
        ];
        words.extend(numbers.into_iter().flatten().map(|x| x.to_bits()));
        words
    }

    /// Returns to a checkpoint made by an integrator with the same method, dimension and settings; no
    /// [`start`](Self::start) is needed. On an error this integrator must be started again.
    pub fn restore(&mut self, checkpoint: &[u64]) -> Result<()> {
        let mut words = Words::new(checkpoint);
        let events = checkpoint.get(3).map_or(0, |&count| count as usize);
        words.expect(&self.identity(events))?;
        if events > checkpoint.len() {
            return Err(Words::foreign());
        }
        self.statistics = Statistics {
            steps: words.count()?,
            rejected: words.count()?,
            evaluations: words.count()?,
        };
        self.next.rejected_before = words.word()? != 0;
        self.stepped = words.word()? != 0;
        self.dense_ready = words.word()? != 0;
        self.integrals = words.word()? as usize;
        if self.integrals > self.dimension {
            return Err(Words::foreign());
        }
        self.t_old = words.number()?;
        self.t = words.number()?;
        self.next.proposal = words.number()?;
        self.next.error_before = words.number()?;
        self.watched.resize(events);
        for into in [
            &mut self.y_old,
            &mut self.y,
            &mut self.stage.values,
            &mut self.dense,
            &mut self.watched.values,
        ] {
            words.numbers(into)?;
        }
        self.worst = None;
        words.end()
    }

    /// Header of a checkpoint.
    fn identity(&self, events: usize) -> [u64; 10] {
        let IntegratorOptions {
            tolerances,
            max_step,
            min_step,
            initial_step,
            event_parts,
        } = self.options;
        [
            u64::from_be_bytes(*b"catenaA2"),
            self.method as u64,
            self.dimension as u64,
            events as u64,
            tolerances.relative.to_bits(),
            tolerances.absolute.to_bits(),
            max_step.to_bits(),
            min_step.to_bits(),
            initial_step.unwrap_or(0.0).to_bits(),
            event_parts as u64,
        ]
    }
}
