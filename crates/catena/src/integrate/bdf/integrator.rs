//! The steps: their error, their size and their order.
//!
//! With e the correction of a step of order k (`history`), weights wᵢ = 1/(atolᵢ + rtol |xᵢ|) and ‖·‖ the weighted root mean square
//!
//! ```text
//! C ‖e‖ ≤ 1                            the step is accepted                                          (1)
//! Eₖ = σₖ ‖e‖,   Eₖ₋₁ = σₖ₋₁ ‖φ*ₖ + e‖,   Eₖ₋₂ = σₖ₋₂ ‖φ*ₖ₋₁ + φ*ₖ + e‖                               (2)
//! Eₖ₊₁ = ‖e − e₋‖/(k + 2)              after k + 2 steps of one size; e₋ is e of the step before       (3)
//! Tⱼ = (j + 1) Eⱼ                      size of the first term that the formula of order j leaves out   (4)
//! ```
//!
//! The order falls if max(Tₖ₋₁, Tₖ₋₂) ≤ Tₖ (for k = 2 if T₁ ≤ T₂/2) or Tₖ₋₁ ≤ min(Tₖ, Tₖ₊₁), and rises if Tₖ₊₁ < Tₖ (for k = 1 if
//! T₂ < T₁/2). The size is then multiplied by r = (2 E + 10⁻⁴)^(−1/(k+1)): by 2 if r ≥ 2, by something between 0.5 and 0.9 if r ≤ 1, and is kept
//! otherwise, because equal steps keep the matrix of Newton's method. After a start order and size grow with every step until
//! one of these tests or a failure prevents it. (Brenan, Campbell & Petzold 1996, sec. 5.2 and 5.3.)

use super::failure::{Failure, Tried};
use super::history::{Coefficients, History};
use super::{BdfOptions, BdfStatistics, Implicit, MAX_ORDER, Role};
use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::StepOutcome;
use crate::integrate::events::{Event, MOST_PARTS, Step, Watched, noise, spacing};
use crate::state::check_length;

/// The run ends after this many failures in one step.
const MAX_FAILURES: usize = 25;

/// An implicit integrator with variable step and order. It owns its buffers and does not allocate after
/// [`start`](Self::start), except for the list of events in a step that has some and for messages.
#[derive(Clone, Debug)]
pub struct Bdf {
    pub(super) options: BdfOptions,
    pub(super) absolute: Vec<f64>,
    pub(super) roles: Vec<Role>,
    pub(super) tested: Vec<bool>,
    pub(super) history: History,
    pub(super) t_old: f64,
    pub(super) t: f64,
    pub(super) x: Vec<f64>,
    pub(super) xdot: Vec<f64>,
    pub(super) x_next: Vec<f64>,
    pub(super) xdot_next: Vec<f64>,
    /// e of the trial step.
    pub(super) correction: Vec<f64>,
    pub(super) work: Vec<f64>,
    /// w for all unknowns, scaled by their index; and for those tested, zero for the others.
    pub(super) weights_all: Vec<f64>,
    pub(super) weights_tested: Vec<f64>,
    pub(super) tested_count: usize,
    /// Order and size of the next step; no size before the first.
    pub(super) next_order: usize,
    pub(super) next_size: f64,
    /// Order and size of the last step.
    pub(super) used_order: usize,
    pub(super) used_size: f64,
    /// Number of steps of this size and order, including the present one, counted only as far as needed.
    pub(super) steady: usize,
    /// Whether order and size still grow with every step.
    pub(super) starting: bool,
    /// Whether no step has been taken since the start, so that the history is only a derivative.
    pub(super) fresh: bool,
    pub(super) matrix: Linearization,
    pub(super) caution: f64,
    pub(super) last_leading: f64,
    pub(super) watched: Watched,
    pub(super) statistics: BdfStatistics,
    pub(super) worst: Option<usize>,
}

/// The point at which the problem was last linearized.
#[derive(Clone, Debug)]
pub(super) struct Linearization {
    pub(super) valid: bool,
    pub(super) t: f64,
    pub(super) sigma: f64,
    pub(super) x: Vec<f64>,
    pub(super) xdot: Vec<f64>,
}

impl Linearization {
    pub(super) fn new(n: usize) -> Self {
        Linearization {
            valid: false,
            t: 0.0,
            sigma: 0.0,
            x: vec![0.0; n],
            xdot: vec![0.0; n],
        }
    }
}

/// Estimates of the error at the order of a step and at the one below, (2), and whether that one is to be preferred.
struct Estimates {
    here: f64,
    below: f64,
    lower: bool,
}

impl Bdf {
    /// An integrator for problems with this number of unknowns.
    pub fn new(dimension: usize, options: BdfOptions) -> Result<Self> {
        options.check()?;
        let zeros = vec![0.0; dimension];
        Ok(Bdf {
            options,
            absolute: vec![options.tolerances.absolute; dimension],
            roles: vec![Role::Differential; dimension],
            tested: vec![true; dimension],
            history: History::new(dimension),
            t_old: 0.0,
            t: 0.0,
            x: zeros.clone(),
            xdot: zeros.clone(),
            x_next: zeros.clone(),
            xdot_next: zeros.clone(),
            correction: zeros.clone(),
            work: zeros.clone(),
            weights_all: zeros.clone(),
            weights_tested: zeros,
            tested_count: dimension,
            next_order: 1,
            next_size: 0.0,
            used_order: 0,
            used_size: 0.0,
            steady: 0,
            starting: true,
            fresh: true,
            matrix: Linearization::new(dimension),
            caution: 0.0,
            last_leading: 0.0,
            watched: Watched::default(),
            statistics: BdfStatistics::default(),
            worst: None,
        })
    }

    fn tried(&self, h: f64) -> Tried {
        Tried {
            t: self.time(),
            h,
            at_start: self.statistics().steps == 0 || self.at_start(),
            worst: self.worst_component(),
        }
    }

    /// Sets absolute tolerances of the unknowns one by one, instead of the one in the settings.
    pub fn set_absolute_tolerances(&mut self, absolute: &[f64]) -> Result<()> {
        check_length("absolute tolerances", absolute.len(), self.absolute.len())?;
        if let Some(i) = absolute.iter().position(|a| {
            !(a.is_finite() && *a >= 0.0 && (*a > 0.0 || self.options.tolerances.relative > 0.0))
        }) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the absolute tolerance of unknown {i} cannot be {}",
                    absolute[i]
                ),
            ));
        }
        self.absolute.copy_from_slice(absolute);
        Ok(())
    }

    /// The settings.
    pub fn options(&self) -> &BdfOptions {
        &self.options
    }

    /// Time reached, s.
    pub fn time(&self) -> f64 {
        self.t
    }

    /// The solution there.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// Its derivative there, by the formula.
    pub fn xdot(&self) -> &[f64] {
        &self.xdot
    }

    /// Order of the last step; 0 before the first.
    pub fn order(&self) -> usize {
        self.used_order
    }

    /// Proposed size of the next step, s; 0 before the first, unless the settings give one.
    pub fn next_size(&self) -> f64 {
        self.next_size
    }

    /// Limits the next step, s.
    pub fn limit_next_size(&mut self, size: f64) {
        if self.next_size == 0.0 {
            self.weigh(1.0);
            self.next_size = self.first_size(f64::INFINITY);
        }
        self.next_size = self.next_size.min(size).max(self.smallest());
    }

    /// Time at the beginning of the last step, s; the solution there is written.
    pub fn before(&self, x: &mut [f64]) -> f64 {
        match self.fresh {
            true => x.copy_from_slice(&self.x),
            false => self
                .history
                .interpolate(self.used_order, self.t_old - self.t, x, None),
        }
        self.t_old
    }

    /// Cost so far.
    pub fn statistics(&self) -> BdfStatistics {
        self.statistics
    }

    /// The unknown that had the largest error, or caused a failure, in the last trial step.
    pub fn worst_component(&self) -> Option<usize> {
        self.worst
    }

    pub(super) fn at_start(&self) -> bool {
        self.fresh
    }

    pub(super) fn learn_roles<P: Implicit + ?Sized>(&mut self, problem: &P) {
        for i in 0..self.roles.len() {
            self.roles[i] = problem.role(i);
            self.tested[i] = problem.tested(i)
                && !(self.options.exclude_algebraic && self.roles[i] != Role::Differential);
        }
        self.tested_count = self.tested.iter().filter(|tested| **tested).count();
    }

    /// Starts at this time with these values and derivatives, which should be consistent
    /// ([`make_consistent`](Self::make_consistent)). Statistics are not reset, so that a run restarted after an event is counted as
    /// one.
    pub fn start<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t: f64,
        x: &[f64],
        xdot: &[f64],
    ) -> Result<()> {
        let n = self.x.len();
        check_length("unknowns of the problem", problem.dimension(), n)?;
        check_length("initial values x", x.len(), n)?;
        check_length("initial derivatives", xdot.len(), n)?;
        check_numbers(t, x, xdot)?;
        self.t = t;
        self.x.copy_from_slice(x);
        self.xdot.copy_from_slice(xdot);
        problem.project(t, &mut self.x);
        self.next_size = self.options.initial_step.unwrap_or(0.0);
        self.begin(problem);
        Ok(())
    }

    /// Starts at `times[0]` with known points of the past: `times[j]` decreases, `points[j]` is the solution there. With k + 1
    /// points the first step may have order k. `size` is that of the first step, s.
    pub fn start_with_history<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        times: &[f64],
        points: &[&[f64]],
        size: f64,
    ) -> Result<()> {
        let n = self.x.len();
        check_length("unknowns of the problem", problem.dimension(), n)?;
        check_length("points of the past", points.len(), times.len())?;
        if !(2..=MAX_ORDER + 1).contains(&points.len()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "a past of {} points cannot be used; give 2 to {}",
                    points.len(),
                    MAX_ORDER + 1
                ),
            ));
        }
        for (t, point) in times.iter().zip(points) {
            check_length("values of the past", point.len(), n)?;
            check_numbers(*t, point, point)?;
        }
        if times.windows(2).any(|pair| pair[0] <= pair[1]) {
            return Err(Error::new(
                ErrorKind::Input,
                "the times of the past must decrease, the present first",
            ));
        }
        if !(size > 0.0 && size.is_finite()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the first step cannot be {size} s"),
            ));
        }
        self.t = times[0];
        self.x.copy_from_slice(points[0]);
        self.next_size = size;
        self.begin(problem);
        self.history.begin_with(times, points);
        let order = points.len() - 1;
        let (past, mut rate) = (&self.history, std::mem::take(&mut self.xdot));
        past.interpolate(order, 0.0, &mut self.x_next, Some(&mut rate));
        self.xdot = rate;
        self.next_order = order.min(self.options.max_order);
        self.used_order = order;
        self.used_size = times[0] - times[1];
        self.t_old = times[1];
        self.steady = 1;
        self.starting = false;
        self.fresh = false;
        Ok(())
    }

    /// Common part of both ways to start.
    fn begin<P: Implicit + ?Sized>(&mut self, problem: &mut P) {
        self.learn_roles(problem);
        self.t_old = self.t;
        self.next_order = 1;
        self.used_order = 0;
        self.used_size = 0.0;
        self.steady = 0;
        self.starting = true;
        self.fresh = true;
        self.matrix.valid = false;
        self.last_leading = 0.0;
        self.worst = None;
        let count = problem.event_count();
        self.watched.resize(count);
        if count > 0 {
            problem.events(self.t, &self.x, &mut self.watched.values);
        }
    }

    /// w at the present solution, for a step of size h.
    pub(super) fn weigh(&mut self, h: f64) {
        let relative = self.options.tolerances.relative;
        let h = h.min(1.0);
        let all = 1.0 / (self.x.len().max(1) as f64).sqrt();
        let tested = 1.0 / (self.tested_count.max(1) as f64).sqrt();
        for i in 0..self.x.len() {
            let scale = self.absolute[i] + relative * self.x[i].abs();
            let mut weight = if scale > 0.0 {
                1.0 / scale
            } else {
                f64::MAX.sqrt()
            };
            if let Role::Algebraic { index } = self.roles[i] {
                for _ in 1..index {
                    weight *= h;
                }
            }
            self.weights_all[i] = all * weight;
            self.weights_tested[i] = if self.tested[i] { tested * weight } else { 0.0 };
        }
    }

    /// A first step that changes the differential unknowns by half the tolerance, and is short compared with the remaining time.
    fn first_size(&self, ahead: f64) -> f64 {
        let mut speed = 0.0;
        for i in 0..self.x.len() {
            if self.roles[i] == Role::Differential {
                speed += (self.xdot[i] * self.weights_all[i]).powi(2);
            }
        }
        let by_speed = 0.5 / speed.sqrt();
        let by_time = if ahead.is_finite() { 1e-3 * ahead } else { 1.0 };
        by_speed.min(by_time)
    }

    /// One accepted step, not beyond `t_end`. To avoid short steps at output times give an end far away, or infinity, and
    /// [`interpolate`](Self::interpolate).
    ///
    /// On an error the time and the solution reached are kept.
    pub fn step<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t_end: f64,
    ) -> Result<StepOutcome> {
        if t_end.is_nan() || t_end <= self.t {
            return Err(Error::new(
                ErrorKind::Input,
                format!("cannot step from t = {} s to t = {t_end} s", self.t),
            ));
        }
        self.check_problem(problem)?;
        self.weigh(1.0);
        let resolution = f64::EPSILON * rms(&self.x, &self.weights_tested);
        if resolution > 1.0 {
            return Err(Error::new(
                ErrorKind::Integration,
                format!(
                    "at t = {} s: the tolerances are below the resolution of double precision",
                    self.t
                ),
            )
            .hint(format!("make them larger by a factor of {resolution:.0}")));
        }
        if self.next_size == 0.0 {
            self.next_size = self.first_size(t_end - self.t).max(self.smallest());
        }
        let mut failures = 0;
        let mut error_failures = 0;
        loop {
            let proposal = self.next_size.min(self.options.max_step);
            let remaining = t_end - self.t;
            // a remainder of the order of round-off belongs to the step
            let t_next = if remaining <= proposal * (1.0 + 1e-9) {
                t_end
            } else {
                self.t + proposal
            };
            let h = t_next - self.t;
            self.settle(h, self.next_order);
            let c = self.history.coefficients(h, self.next_order);
            let failure = match self.attempt(problem, t_next, &c) {
                Ok(estimates) => {
                    self.choose(&c, h, &estimates);
                    if h < proposal {
                        // a step cut short by the end says little about the appropriate size
                        self.next_size = self.next_size.max(proposal);
                    }
                    return self.accept(problem, t_next, h, &c);
                }
                Err(failure) => failure,
            };
            failures += 1;
            self.starting = false;
            if let Some(component) = failure.component() {
                self.worst = Some(component);
            }
            if let Failure::TooInexact { estimate, .. } = failure {
                self.statistics.error_failures += 1;
                error_failures += 1;
                self.shrink(h, estimate, error_failures);
            } else {
                self.statistics.convergence_failures += 1;
                self.next_size = 0.25 * h;
            }
            if failures >= MAX_FAILURES || self.next_size < self.smallest() {
                return Err(failure.explain(self.tried(self.next_size), problem));
            }
        }
    }

    /// One step of this size and order, whatever its error; the order may exceed that of the step before by one, and after
    /// [`start_with_history`](Self::start_with_history) it is at most the number of points of the past.
    pub fn step_of<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        size: f64,
        order: usize,
    ) -> Result<StepOutcome> {
        self.check_problem(problem)?;
        // a step leaves one more point behind than its order needs, a given past does not
        let is_given = self.history.spans[self.used_order] == 0.0;
        let highest = match () {
            () if self.fresh => 1,
            () if is_given => self.used_order,
            () => (self.used_order + 1).min(MAX_ORDER),
        };
        if !(1..=highest).contains(&order) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("a step of order {order} is not possible here; the highest is {highest}"),
            ));
        }
        let t_next = self.t + size;
        if !(t_next > self.t && t_next.is_finite()) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("cannot take a step of {size} s from t = {} s", self.t),
            ));
        }
        self.settle(size, order);
        let c = self.history.coefficients(size, order);
        self.weigh(size);
        if let Err(failure) = self.newton(problem, t_next, &c) {
            self.statistics.convergence_failures += 1;
            self.worst = failure.component();
            return Err(failure.explain(self.tried(size), problem));
        }
        self.next_order = order;
        self.next_size = size;
        self.starting = false;
        self.accept(problem, t_next, size, &c)
    }

    fn check_problem<P: Implicit + ?Sized>(&self, problem: &P) -> Result<()> {
        check_length("unknowns of the problem", problem.dimension(), self.x.len())?;
        check_length(
            "event functions",
            problem.event_count(),
            self.watched.values.len(),
        )
    }

    /// Prepares the history for a step of size h and order k.
    fn settle(&mut self, h: f64, order: usize) {
        if self.fresh {
            self.history.begin(&self.x, &self.xdot, h);
        }
        if h != self.used_size || order != self.used_order {
            self.steady = 0;
        }
        self.steady = (self.steady + 1).min(self.used_order + 2);
    }

    /// The smallest reasonable step at the present time.
    fn smallest(&self) -> f64 {
        self.options.min_step.max(16.0 * spacing(self.t))
    }

    /// Solves for the end of a step and tests its error.
    fn attempt<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t_next: f64,
        c: &Coefficients,
    ) -> std::result::Result<Estimates, Failure> {
        self.weigh(t_next - self.t);
        self.newton(problem, t_next, c)?;
        let k = c.order;
        let norm = rms(&self.correction, &self.weights_tested);
        let mut estimates = Estimates {
            here: c.sigma[k] * norm, // (2)
            below: 0.0,
            lower: false,
        };
        let here = (k + 1) as f64 * estimates.here; // (4)
        if k > 1 {
            estimates.below = c.sigma[k - 1] * self.lowered_norm(c, k);
            let below = k as f64 * estimates.below;
            if k > 2 {
                let further = (k - 1) as f64 * c.sigma[k - 2] * self.lowered_norm(c, k - 1);
                estimates.lower = below.max(further) <= here;
            } else {
                estimates.lower = below <= 0.5 * here;
            }
        }
        self.find_worst();
        let error = c.error * norm; // (1)
        if error <= 1.0 {
            Ok(estimates)
        } else {
            // the order is chosen for the next attempt too
            self.next_order = if estimates.lower { k - 1 } else { k };
            let estimate = if estimates.lower {
                estimates.below
            } else {
                estimates.here
            };
            Err(Failure::TooInexact { error, estimate })
        }
    }

    /// ‖e + φ*ⱼ + … + φ*ₖ‖
    fn lowered_norm(&self, c: &Coefficients, j: usize) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.x.len() {
            let value = self.history.lowered(c, self.correction[i], j, i) * self.weights_tested[i];
            sum += value * value;
        }
        sum.sqrt()
    }

    fn find_worst(&mut self) {
        let mut worst = (None, 0.0);
        for (i, (e, weight)) in self.correction.iter().zip(&self.weights_tested).enumerate() {
            let scaled = (e * weight).abs();
            if scaled > worst.1 {
                worst = (Some(i), scaled);
            }
        }
        self.worst = worst.0;
    }

    /// Size and order after an error that was too large.
    fn shrink(&mut self, h: f64, estimate: f64, failures: usize) {
        match failures {
            1 => {
                let power = -1.0 / (self.next_order as f64 + 1.0);
                let factor = 0.9 * elementary::powf(2.0 * estimate + 1e-4, power);
                self.next_size = h * factor.clamp(0.25, 0.9);
            }
            2 => self.next_size = 0.25 * h,
            _ => {
                self.next_order = 1;
                self.next_size = 0.25 * h;
            }
        }
    }

    /// Order and size of the next step, after an accepted one.
    fn choose(&mut self, c: &Coefficients, h: f64, estimates: &Estimates) {
        let k = c.order;
        let raised = !self.fresh && k == self.used_order + 1;
        if estimates.lower || k == self.options.max_order {
            self.starting = false;
        }
        if self.starting {
            if !self.fresh {
                self.next_order = k + 1;
                self.next_size = 2.0 * h;
            } else {
                self.next_size = h;
            }
            return;
        }
        let mut estimate = estimates.here;
        let mut order = k;
        if estimates.lower {
            order = k - 1;
            estimate = estimates.below;
        } else if k < self.options.max_order && self.steady > k + 1 && !raised {
            let mut sum = 0.0;
            let before = self.history.level(k + 1);
            for i in 0..self.x.len() {
                let change = (self.correction[i] - before[i]) * self.weights_tested[i];
                sum += change * change;
            }
            let above = sum.sqrt() / (k + 2) as f64; // (3)
            let here = (k + 1) as f64 * estimates.here;
            let up = (k + 2) as f64 * above;
            let down = k as f64 * estimates.below;
            if k > 1 && down <= here.min(up) {
                order = k - 1;
                estimate = estimates.below;
            } else if up < if k == 1 { 0.5 * here } else { here } {
                order = k + 1;
                estimate = above;
            }
        }
        let factor = elementary::powf(2.0 * estimate + 1e-4, -1.0 / (order as f64 + 1.0));
        self.next_order = order;
        self.next_size = if factor >= 2.0 {
            2.0 * h
        } else if factor <= 1.0 {
            h * factor.clamp(0.5, 0.9)
        } else {
            h
        };
    }

    fn accept<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        t_next: f64,
        h: f64,
        c: &Coefficients,
    ) -> Result<StepOutcome> {
        self.history.advance(c, &self.correction);
        self.statistics.steps += 1;
        self.t_old = self.t;
        self.t = t_next;
        self.used_order = c.order;
        self.used_size = h;
        self.fresh = false;
        std::mem::swap(&mut self.xdot, &mut self.xdot_next);
        self.x.copy_from_slice(self.history.level(0));
        problem.project(t_next, &mut self.x);
        for i in 0..self.x.len() {
            let delta = self.x[i] - self.history.level(0)[i];
            if delta != 0.0 {
                self.history.shift(c.order, i, delta);
                self.history.level_mut(0)[i] = self.x[i];
            }
        }
        let events = if self.watched.values.is_empty() {
            Vec::new()
        } else {
            self.find_events(problem)?
        };
        Ok(StepOutcome::new(self.t_old, self.t, events))
    }

    fn find_events<P: Implicit + ?Sized>(&mut self, problem: &mut P) -> Result<Vec<Event>> {
        let mut watched = std::mem::take(&mut self.watched);
        let mut point = std::mem::take(&mut self.x_next);
        let step = Step {
            begin: self.t_old,
            end: self.t,
            parts: self.options.event_parts,
            most: MOST_PARTS,
            interval: problem.sample_interval(),
            noise: noise(&[&self.x]),
        };
        let found = watched.find(step, |t, values| {
            self.interpolate(problem, t, &mut point)?;
            problem.events(t, &point, values);
            Ok(())
        });
        self.watched = watched;
        self.x_next = point;
        found
    }

    /// The solution at a time within the last step, projected onto the manifold: the polynomial through the last order + 1
    /// points.
    pub fn interpolate<P: Implicit + ?Sized>(
        &self,
        problem: &mut P,
        t: f64,
        x: &mut [f64],
    ) -> Result<()> {
        self.polynomial(t, x, None)?;
        if t != self.t {
            problem.project(t, x);
        }
        Ok(())
    }

    /// The solution at a time within the last step, with its derivative, which is that of the polynomial: one order lower, and not projected.
    pub fn interpolate_with_rate<P: Implicit + ?Sized>(
        &self,
        problem: &mut P,
        t: f64,
        x: &mut [f64],
        xdot: &mut [f64],
    ) -> Result<()> {
        check_length("interpolated derivatives", xdot.len(), self.x.len())?;
        self.polynomial(t, x, Some(xdot))?;
        if t != self.t {
            problem.project(t, x);
        }
        Ok(())
    }

    fn polynomial(&self, t: f64, x: &mut [f64], xdot: Option<&mut [f64]>) -> Result<()> {
        check_length("interpolated values x", x.len(), self.x.len())?;
        if t == self.t {
            x.copy_from_slice(&self.x);
            if let Some(xdot) = xdot {
                xdot.copy_from_slice(&self.xdot);
            }
            return Ok(());
        }
        if self.fresh || !(t >= self.t_old && t < self.t) {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "t = {t} s is not within the last step, from {} s to {} s",
                    self.t_old, self.t
                ),
            ));
        }
        self.history
            .interpolate(self.used_order, t - self.t, x, xdot);
        Ok(())
    }
}

/// ‖x‖ with weights that contain the mean.
pub(super) fn rms(x: &[f64], weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (x, weight) in x.iter().zip(weights) {
        let scaled = x * weight;
        sum += scaled * scaled;
    }
    sum.sqrt()
}

/// Checks that all numbers are finite; the error is the index of the first that is not.
pub(super) fn all_finite(values: &[f64]) -> std::result::Result<(), usize> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(component) => Err(component),
    }
}

pub(super) fn check_numbers(t: f64, x: &[f64], xdot: &[f64]) -> Result<()> {
    let refuse = |what: String| Err(Error::new(ErrorKind::Input, what));
    if !t.is_finite() {
        return refuse(format!("the initial time is {t}"));
    }
    for (i, (x, xdot)) in x.iter().zip(xdot).enumerate() {
        if !x.is_finite() {
            return refuse(format!("component {i} of the initial values is {x}"));
        }
        if !xdot.is_finite() {
            return refuse(format!(
                "component {i} of the initial derivatives is {xdot}"
            ));
        }
    }
    Ok(())
}
