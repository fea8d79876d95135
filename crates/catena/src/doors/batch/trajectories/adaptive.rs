//! Steps that satisfy a tolerance, with a separate size in every lane: the methods of [`crate::integrate::Adaptive`].
//!
//! Lanes try a step together, each from its own time with its own size, and accept or reject it independently. A lane whose trajectory
//! has ended takes the next one. The initial derivatives and step sizes of trajectories are computed a register at a time, before lanes
//! need them.

use super::super::lanes::non_finite;
use super::{Failure, Piece, Runs, record};
use crate::error::{Error, ErrorKind};
use crate::integrate::{
    Method, Rows, Statistics, StepSize, Tolerances, Trial, first_size, joined, probing_size, ratio,
    smallest,
};
use crate::scalar::{Scalar, Task, Vector, Wide};
use crate::state::position_rates;

/// Maximum number of lanes of a register.
const MOST: usize = 8;

/// Trial steps considered together to detect a trajectory without progress.
const STRETCH: u64 = 2_000;

/// The trajectory in a lane.
#[derive(Clone, Copy)]
struct Lane {
    /// Its number within the piece.
    index: usize,
    t: f64,
    next: StepSize,
    /// Index of the next record.
    record: usize,
    statistics: Statistics,
    /// Steps tried before the current stretch, and the time at which it began.
    stretch: (u64, f64),
    /// The step that is tried.
    trial: Option<Trial>,
    /// The error of the last trial step in units of the tolerance; NaN where its derivative failed.
    error: f64,
}

/// Trajectories that have not begun, with their first derivative and step.
struct Starts<V: Vector> {
    /// How many of the piece are prepared, and where the last register of them begins.
    prepared: usize,
    first: usize,
    y: Vec<Wide<V>>,
    dy: Vec<Wide<V>>,
    sizes: [f64; MOST],
}

/// The integrator.
struct Uneven<V: Vector> {
    method: Method,
    rows: Rows,
    tolerances: Tolerances,
    max_step: f64,
    end: f64,
    /// Numbers of y = (q, v, W, D).
    size: usize,
    lanes: [Option<Lane>; MOST],
    starts: Starts<V>,
    /// Stages one after another: those of the step, its end, and those of dense output.
    k: Vec<Wide<V>>,
    y: Vec<Wide<V>>,
    y_next: Vec<Wide<V>>,
    work: Vec<Wide<V>>,
    dense: Vec<Wide<V>>,
}

/// Computes the trajectories of a piece; `starters` holds those that have not begun.
pub(super) fn run<V: Vector>(
    (runs, starters): (&mut Runs<'_, V>, &mut Runs<'_, V>),
    method: Method,
    tolerances: Tolerances,
    max_step: f64,
    mut piece: Piece<'_>,
) -> Vec<Failure> {
    let size = runs.all.width();
    let tableau = method.tableau();
    let rows = Rows::new(tableau);
    let stages = tableau.stage_count() + 1 + rows.extra.len();
    let zeros = vec![Wide::zero(); size];
    let mut uneven = Uneven {
        method,
        tolerances,
        max_step,
        end: *runs.all.times.last().unwrap_or(&0.0),
        size,
        lanes: [None; MOST],
        starts: Starts {
            prepared: 0,
            first: 0,
            y: zeros.clone(),
            dy: zeros.clone(),
            sizes: [0.0; MOST],
        },
        k: vec![Wide::zero(); stages * size],
        y: zeros.clone(),
        y_next: zeros.clone(),
        work: zeros,
        dense: vec![Wide::zero(); rows.dense.len() * size],
        rows,
    };
    let mut failures = Vec::new();
    let mut taken = 0;
    loop {
        taken = uneven.refill((&mut *runs, &mut *starters), &mut piece, taken);
        if uneven.lanes.iter().all(Option::is_none) {
            return failures;
        }
        uneven.choose_sizes(runs, &piece, &mut failures);
        let outcome = V::apart(Attempt {
            uneven: &mut uneven,
            runs,
        });
        let accepted = uneven.judge(&outcome);
        let unreadable = uneven.record(runs, &mut piece, accepted);
        V::apart(Accept {
            uneven: &mut uneven,
            accepted,
        });
        uneven.end_lanes(runs, &mut piece, unreadable, &mut failures);
    }
}

impl<V: Vector> Uneven<V> {
    fn motion(&self) -> usize {
        self.size - 2
    }

    /// Empty lanes take the next trajectories of the piece. Returns how many have been taken.
    fn refill(
        &mut self,
        (runs, starters): (&mut Runs<'_, V>, &mut Runs<'_, V>),
        piece: &mut Piece<'_>,
        taken: usize,
    ) -> usize {
        let (nq, times) = (runs.all.model.nq(), runs.all.times);
        let mut taken = taken;
        for lane in 0..V::LANES {
            if self.lanes[lane].is_some() || taken == piece.count {
                continue;
            }
            if taken == self.starts.prepared {
                self.prepare(starters, piece);
            }
            let (q, rest) = self.y.split_at_mut(nq);
            runs.place(lane, piece.first + taken, q, rest);
            let at = taken - self.starts.first;
            for c in 0..self.size {
                self.y[c].0.lanes_mut()[lane] = self.starts.y[c].lane(at);
                self.k[c].0.lanes_mut()[lane] = self.starts.dy[c].lane(at);
            }
            let mut record_next = 0;
            if times[0] == 0.0 {
                record(piece, taken * times.len(), lane, &[&self.y]);
                record_next = 1;
            }
            self.lanes[lane] = Some(Lane {
                index: taken,
                t: 0.0,
                next: StepSize::new(self.starts.sizes[at]),
                record: record_next,
                statistics: Statistics {
                    evaluations: 2,
                    ..Statistics::default()
                },
                stretch: (0, 0.0),
                trial: None,
                error: 0.0,
            });
            taken += 1;
        }
        taken
    }

    /// The derivative at the start of the next trajectories, and their first step by Hairer's rule.
    fn prepare(&mut self, starters: &mut Runs<'_, V>, piece: &Piece<'_>) {
        let (size, nq) = (self.size, starters.all.model.nq());
        let first = self.starts.prepared;
        let count = V::LANES.min(piece.count - first);
        self.starts.first = first;
        self.starts.prepared = first + count;
        for lane in 0..V::LANES {
            // unused lanes repeat the last trajectory
            let trajectory = piece.first + first + lane.min(count - 1);
            let (q, rest) = self.starts.y.split_at_mut(nq);
            starters.place(lane, trajectory, q, rest);
        }
        self.starts.y[size - 2..].fill(Wide::zero());
        V::apart(Derivative {
            runs: starters,
            y: &self.starts.y,
            dy: &mut self.starts.dy,
            bad: Wide::zero(),
        });
        let mut probes = [(0.0, 0.0); MOST];
        for lane in 0..V::LANES {
            let Starts { y, dy, .. } = &self.starts;
            let d0 = self.norm(lane, y, None);
            let d1 = self.norm(lane, dy, None);
            let h0 = probing_size(d0, d1, self.max_step);
            probes[lane] = (h0, d1);
            for c in 0..size {
                let (y, f) = (y[c].lane(lane), dy[c].lane(lane));
                self.work[c].0.lanes_mut()[lane] = y + h0 * f;
            }
        }
        // the end of the last step is not needed any more
        let bad = V::apart(Derivative {
            runs: starters,
            y: &self.work,
            dy: &mut self.y_next,
            bad: Wide::zero(),
        });
        for lane in 0..V::LANES {
            let (h0, d1) = probes[lane];
            let change = self.norm(lane, &self.y_next, Some(&self.starts.dy));
            let first = match bad.lane(lane).is_nan() || !change.is_finite() {
                true => h0,
                false => first_size(h0, d1, change, self.method.order(), self.max_step),
            };
            self.starts.sizes[lane] = first.max(smallest(0.0, 0.0));
        }
    }

    /// Root mean square of the motion's part of x − `less` in a lane, in units of the tolerance at the start.
    fn norm(&self, lane: usize, x: &[Wide<V>], less: Option<&[Wide<V>]>) -> f64 {
        let Tolerances { relative, absolute } = self.tolerances;
        let mut squares = 0.0;
        for c in 0..self.motion() {
            let subtracted = less.map_or(0.0, |less| less[c].lane(lane));
            let scale = absolute + relative * self.starts.y[c].lane(lane).abs();
            squares += ratio(x[c].lane(lane) - subtracted, scale).powi(2);
        }
        (squares / self.motion().max(1) as f64).sqrt()
    }

    /// Each lane chooses the step it tries; a lane that cannot choose one ends.
    fn choose_sizes(&mut self, runs: &Runs<'_, V>, piece: &Piece<'_>, failures: &mut Vec<Failure>) {
        for lane in 0..V::LANES {
            let Some(state) = &mut self.lanes[lane] else {
                continue;
            };
            let least = smallest(state.t, 0.0);
            state.trial = state.next.trial(state.t, self.end, self.max_step, least);
            let tried = state.statistics.steps + state.statistics.rejected;
            let mut stuck = false;
            if tried - state.stretch.0 >= STRETCH {
                stuck = state.t - state.stretch.1 < 2e-6 * self.end;
                if !stuck {
                    state.stretch = (tried, state.t);
                }
            }
            if state.trial.is_none() || stuck {
                let state = *state;
                let error = match stuck {
                    true => Error::new(
                        ErrorKind::Integration,
                        format!(
                            "the run makes no progress: {STRETCH} trial steps went from {} s to {:?} s",
                            state.stretch.1, state.t
                        ),
                    )
                    .hint("stiff damping needs an implicit method (bdf), which single runs have; or loosen the tolerance"),
                    false => underflow(&state),
                };
                failures.push(self.failure(runs, piece, lane, &state, error));
                self.lanes[lane] = None;
            }
        }
    }

    fn failure(
        &self,
        runs: &Runs<'_, V>,
        piece: &Piece<'_>,
        lane: usize,
        state: &Lane,
        error: Error,
    ) -> Failure {
        let y: Vec<f64> = self.y.iter().map(|x| x.lane(lane)).collect();
        let (q, v) = y.split_at(runs.all.model.nq());
        let v = &v[..runs.all.model.nv()];
        runs.explain(piece.first + state.index, state.t, q, v, error)
    }

    /// Which lanes accept their step.
    fn judge(&mut self, outcome: &Outcome<V>) -> [bool; MOST] {
        let tableau = self.method.tableau();
        let exponent = 1.0 / (tableau.estimate_order as f64 + 1.0);
        let counts = [self.motion(), 2];
        let has_second = !self.rows.second_error.is_empty();
        let mut accepted = [false; MOST];
        for lane in 0..V::LANES {
            let Some(state) = &mut self.lanes[lane] else {
                continue;
            };
            let Some(trial) = state.trial else {
                continue;
            };
            let of = |x: [Wide<V>; 2]| [x[0].lane(lane), x[1].lane(lane)];
            let second = has_second.then(|| of(outcome.second));
            let error = joined(trial.size, of(outcome.first), second, counts);
            let failed = outcome.bad.lane(lane).is_nan() || error.is_nan();
            // the derivative at the end of a rejected step is of no use
            let failed_at_end = outcome.bad_end.lane(lane).is_nan()
                && (tableau.first_same_as_last() || error <= 1.0);
            state.statistics.evaluations += tableau.stage_count() as u64 - 1;
            if tableau.first_same_as_last() || error <= 1.0 {
                state.statistics.evaluations += 1;
            }
            if failed || failed_at_end {
                state.error = f64::NAN;
                state.next.fail(trial);
            } else {
                state.error = error;
                accepted[lane] = state.next.judge(trial, error, exponent);
            }
            match accepted[lane] {
                true => state.statistics.steps += 1,
                false => state.statistics.rejected += 1,
            }
        }
        accepted
    }

    /// Records the output times within the accepted steps. Returns the lanes in which that failed.
    fn record(
        &mut self,
        runs: &mut Runs<'_, V>,
        piece: &mut Piece<'_>,
        accepted: [bool; MOST],
    ) -> [bool; MOST] {
        let times = runs.all.times;
        let mut failed = [false; MOST];
        let mut has_dense = false;
        loop {
            // the next record of every lane that lies within its step
            let mut theta = Wide::<V>::zero();
            let mut is_inside = [false; MOST];
            for lane in (0..V::LANES).filter(|&lane| accepted[lane] && !failed[lane]) {
                let Some(state) = &self.lanes[lane] else {
                    continue;
                };
                let (Some(trial), Some(&t)) = (state.trial, times.get(state.record)) else {
                    continue;
                };
                if t < trial.t_next {
                    is_inside[lane] = true;
                    theta.0.lanes_mut()[lane] = (t - state.t) / (trial.t_next - state.t);
                }
            }
            if !is_inside.contains(&true) {
                break;
            }
            if !has_dense {
                has_dense = true;
                let bad = V::apart(PrepareDense { uneven: self, runs });
                for lane in 0..V::LANES {
                    if !is_inside[lane] {
                        continue;
                    }
                    failed[lane] = bad.lane(lane).is_nan();
                    is_inside[lane] &= !failed[lane];
                    if let Some(state) = &mut self.lanes[lane] {
                        state.statistics.evaluations += self.rows.extra.len() as u64;
                    }
                }
            }
            V::apart(Interpolate {
                uneven: self,
                runs,
                theta,
            });
            for lane in (0..V::LANES).filter(|&lane| is_inside[lane]) {
                if let Some(state) = &mut self.lanes[lane] {
                    let at = state.index * times.len() + state.record;
                    record(piece, at, lane, &[&self.work]);
                    state.record += 1;
                }
            }
        }
        for lane in (0..V::LANES).filter(|&lane| accepted[lane] && !failed[lane]) {
            if let Some(state) = &mut self.lanes[lane]
                && let Some(trial) = state.trial
                && times.get(state.record) == Some(&trial.t_next)
            {
                let at = state.index * times.len() + state.record;
                record(piece, at, lane, &[&self.y_next]);
                state.record += 1;
            }
        }
        failed
    }

    /// Lanes at their end, or without dense output, become empty.
    fn end_lanes(
        &mut self,
        runs: &Runs<'_, V>,
        piece: &mut Piece<'_>,
        unreadable: [bool; MOST],
        failures: &mut Vec<Failure>,
    ) {
        for lane in 0..V::LANES {
            let Some(state) = self.lanes[lane] else {
                continue;
            };
            if unreadable[lane] {
                let message = format!("at t = {} s: states within a step are not finite", state.t);
                let error = Error::new(ErrorKind::Integration, message);
                failures.push(self.failure(runs, piece, lane, &state, error));
                self.lanes[lane] = None;
            } else if state.t >= self.end {
                piece.statistics[state.index] = state.statistics;
                self.lanes[lane] = None;
            }
        }
    }
}

/// Why steps cannot be made smaller.
fn underflow(state: &Lane) -> Error {
    let (t, h) = (state.t, state.next.proposal);
    let what = match state.error.is_nan() {
        true => "the derivative is not finite".to_string(),
        false => format!("the error is {:.3e} times the tolerance", state.error),
    };
    Error::new(
        ErrorKind::Integration,
        format!("at t = {t} s: the step size fell to {h:.3e} s; {what}"),
    )
    .hint("loosen the tolerances, or look for a jump or a stiff force near this time")
}

/// ẏ at y; the result has NaN in the lanes where it does not exist.
struct Derivative<'u, 'a, V: Vector> {
    runs: &'u mut Runs<'a, V>,
    y: &'u [Wide<V>],
    dy: &'u mut [Wide<V>],
    bad: Wide<V>,
}

impl<V: Vector> Task for Derivative<'_, '_, V> {
    type Output = Wide<V>;

    #[inline(always)]
    fn run(self) -> Wide<V> {
        let Derivative { runs, y, dy, bad } = self;
        let model = runs.all.model;
        let (nq, nv) = (model.nq(), model.nv());
        let (q, v) = (&y[..nq], &y[nq..nq + nv]);
        position_rates(model, q, v, &mut dy[..nq]);
        // stages are slightly off the manifold
        let mut on_manifold = std::mem::take(&mut runs.q);
        on_manifold.copy_from_slice(q);
        normalise(&runs.quaternions, &mut on_manifold);
        let bad = runs.accelerate(&on_manifold, v, &mut dy[nq..nq + nv], bad);
        runs.q = on_manifold;
        let powers = runs.powers(v);
        dy[nq + nv] = powers[0];
        dy[nq + nv + 1] = powers[1];
        non_finite(dy, bad)
    }
}

/// Quaternions of unit length.
#[inline(always)]
fn normalise<V: Vector>(quaternions: &[usize], q: &mut [Wide<V>]) {
    for i in 0..quaternions.len() {
        let p = &mut q[quaternions[i]..quaternions[i] + 4];
        let squared = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
        let scale = squared.sqrt().recip();
        for k in 0..4 {
            p[k] *= scale;
        }
    }
}

/// Σ aᵢ kᵢ of a component.
#[inline(always)]
fn sum<V: Vector>(k: &[Wide<V>], size: usize, terms: &[(usize, f64)], component: usize) -> Wide<V> {
    let mut sum = Wide::zero();
    for i in 0..terms.len() {
        let (stage, a) = terms[i];
        sum = Wide::constant(a).mul_add(k[stage * size + component], sum);
    }
    sum
}

/// Result of a trial step.
struct Outcome<V: Vector> {
    /// NaN in the lanes where a stage, or the derivative at the end, failed.
    bad: Wide<V>,
    bad_end: Wide<V>,
    /// Sums of squares of both error estimates, of the motion and of the integrals.
    first: [Wide<V>; 2],
    second: [Wide<V>; 2],
}

/// The stages and the end of a step in every lane.
struct Attempt<'u, 'a, V: Vector> {
    uneven: &'u mut Uneven<V>,
    runs: &'u mut Runs<'a, V>,
}

impl<V: Vector> Task for Attempt<'_, '_, V> {
    type Output = Outcome<V>;

    #[inline(always)]
    fn run(self) -> Outcome<V> {
        let Attempt { uneven, runs } = self;
        let h = uneven.sizes();
        let size = uneven.size;
        let count = uneven.method.tableau().stage_count();
        let motion = size - 2;
        let Uneven {
            rows,
            tolerances,
            k,
            y,
            y_next,
            work,
            ..
        } = uneven;
        let mut bad = Wide::zero();
        for i in 1..=count {
            let terms = if i < count {
                &rows.stages[i]
            } else {
                &rows.weights
            };
            for c in 0..size {
                work[c] = h.mul_add(sum(k, size, terms, c), y[c]);
            }
            if i == count {
                normalise(&runs.quaternions, work);
                y_next.copy_from_slice(work);
                bad = non_finite(work, bad);
                break;
            }
            bad = V::apart(Derivative {
                runs,
                y: work,
                dy: &mut k[i * size..(i + 1) * size],
                bad,
            });
        }
        let bad_end = V::apart(Derivative {
            runs,
            y: y_next,
            dy: &mut k[count * size..(count + 1) * size],
            bad: Wide::zero(),
        });
        let relative = Wide::constant(tolerances.relative);
        let absolute = Wide::constant(tolerances.absolute);
        let (mut first, mut second) = ([Wide::zero(); 2], [Wide::zero(); 2]);
        for c in 0..size {
            let largest = larger(magnitude(y[c]), magnitude(y_next[c]));
            let scale = relative.mul_add(largest, absolute);
            let part = usize::from(c >= motion);
            let e = in_units(sum(k, size, &rows.error, c), scale);
            first[part] = e.mul_add(e, first[part]);
            if !rows.second_error.is_empty() {
                let e = in_units(sum(k, size, &rows.second_error, c), scale);
                second[part] = e.mul_add(e, second[part]);
            }
        }
        Outcome {
            bad,
            bad_end,
            first,
            second,
        }
    }
}

impl<V: Vector> Uneven<V> {
    /// The sizes of the steps that are tried; zero in empty lanes.
    fn sizes(&self) -> Wide<V> {
        let mut h = Wide::<V>::zero();
        for lane in 0..V::LANES {
            if let Some(Lane {
                trial: Some(trial), ..
            }) = &self.lanes[lane]
            {
                h.0.lanes_mut()[lane] = trial.size;
            }
        }
        h
    }
}

#[inline(always)]
fn magnitude<V: Vector>(x: Wide<V>) -> Wide<V> {
    Wide::select(x.less(Wide::zero()), -x, x)
}

#[inline(always)]
fn larger<V: Vector>(a: Wide<V>, b: Wide<V>) -> Wide<V> {
    Wide::select(a.less(b), b, a)
}

/// x / scale; zero where x is zero, whatever the scale.
#[inline(always)]
fn in_units<V: Vector>(x: Wide<V>, scale: Wide<V>) -> Wide<V> {
    // NaN is not less than anything, and is kept
    Wide::select(Wide::zero().less(magnitude(x)), x / scale, x)
}

/// The stages of dense output; the result has NaN in the lanes where one failed.
struct PrepareDense<'u, 'a, V: Vector> {
    uneven: &'u mut Uneven<V>,
    runs: &'u mut Runs<'a, V>,
}

impl<V: Vector> Task for PrepareDense<'_, '_, V> {
    type Output = Wide<V>;

    #[inline(always)]
    fn run(self) -> Wide<V> {
        let PrepareDense { uneven, runs } = self;
        let h = uneven.sizes();
        let size = uneven.size;
        let count = uneven.method.tableau().stage_count();
        let mut bad = Wide::zero();
        for i in 0..uneven.rows.extra.len() {
            let Uneven {
                rows, k, y, work, ..
            } = &mut *uneven;
            for c in 0..size {
                work[c] = h.mul_add(sum(k, size, &rows.extra[i], c), y[c]);
            }
            let at = (count + 1 + i) * size;
            bad = V::apart(Derivative {
                runs,
                y: work,
                dy: &mut k[at..at + size],
                bad,
            });
        }
        let Uneven { rows, k, dense, .. } = uneven;
        for j in 0..rows.dense.len() {
            for c in 0..size {
                dense[j * size + c] = sum(k, size, &rows.dense[j], c);
            }
        }
        bad
    }
}

/// `work` ← y at the fraction θ of the step of each lane.
struct Interpolate<'u, 'a, V: Vector> {
    uneven: &'u mut Uneven<V>,
    runs: &'u Runs<'a, V>,
    theta: Wide<V>,
}

impl<V: Vector> Task for Interpolate<'_, '_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Interpolate {
            uneven,
            runs,
            theta,
        } = self;
        let h = uneven.sizes();
        let size = uneven.size;
        let end = uneven.method.tableau().stage_count() * size;
        let powers = uneven.rows.dense.len();
        let rest = Wide::one() - theta;
        let two = Wide::constant(2.0);
        for c in 0..size {
            let mut high = uneven.dense[(powers - 1) * size + c];
            for j in (0..powers - 1).rev() {
                high = high.mul_add(theta, uneven.dense[j * size + c]);
            }
            let (f0, f1) = (uneven.k[c], uneven.k[end + c]);
            let change = uneven.y_next[c] - uneven.y[c];
            let left = h * f0 - change;
            let both = two * change - h * (f0 + f1);
            let inner = left + theta * (both + rest * h * high);
            uneven.work[c] = uneven.y[c] + theta * (change + rest * inner);
        }
        normalise(&runs.quaternions, &mut uneven.work);
    }
}

/// Lanes that accept their step continue from its end.
struct Accept<'u, V: Vector> {
    uneven: &'u mut Uneven<V>,
    accepted: [bool; MOST],
}

impl<V: Vector> Task for Accept<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Accept { uneven, accepted } = self;
        let mut moves = Wide::<V>::zero();
        for lane in 0..V::LANES {
            if !accepted[lane] {
                continue;
            }
            moves.0.lanes_mut()[lane] = 1.0;
            if let Some(state) = &mut uneven.lanes[lane]
                && let Some(trial) = state.trial
            {
                state.t = trial.t_next;
                state.next.proposal = state.next.proposal.max(smallest(state.t, 0.0));
            }
        }
        let mask = Wide::zero().less(moves);
        let size = uneven.size;
        let end = uneven.method.tableau().stage_count() * size;
        for c in 0..size {
            uneven.y[c] = Wide::select(mask, uneven.y_next[c], uneven.y[c]);
            uneven.k[c] = Wide::select(mask, uneven.k[end + c], uneven.k[c]);
        }
    }
}
