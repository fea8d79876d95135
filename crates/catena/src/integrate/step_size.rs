//! How an explicit method with an error estimate chooses its steps: equations (1) to (3) of [`Adaptive`](super::Adaptive), for one
//! trajectory. Integrators of one trajectory and of many in lanes share it, so that both take the same steps.

use super::events::spacing;
use crate::elementary;

const SAFETY: f64 = 0.9;
const SHRINK_LIMIT: f64 = 0.2;
const GROW_LIMIT: f64 = 10.0;
const SMALLEST_REMEMBERED_ERROR: f64 = 1e-4;
const SHRINK_AFTER_FAILURE: f64 = 0.25;

/// State kept from step to step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepSize {
    /// Proposed size of the next step.
    pub proposal: f64,
    /// ε₋
    pub error_before: f64,
    /// Whether the last trial step was rejected.
    pub rejected_before: bool,
}

/// A step to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub size: f64,
    /// Time at its end.
    pub t_next: f64,
    /// The size that was proposed; the step may be shorter, to end in time.
    proposal: f64,
}

impl StepSize {
    /// The state before the first step, of this size.
    pub fn new(proposal: f64) -> Self {
        StepSize {
            proposal,
            error_before: SMALLEST_REMEMBERED_ERROR,
            rejected_before: false,
        }
    }

    /// The step to try from t, not beyond `t_end`. None if the step would have to be smaller than `smallest`.
    pub fn trial(&self, t: f64, t_end: f64, max_step: f64, smallest: f64) -> Option<Trial> {
        let proposal = self.proposal.min(max_step);
        if self.rejected_before && proposal < smallest {
            return None;
        }
        let remaining = t_end - t;
        // two equal steps rather than one and a tiny remainder; a remainder of the order of round-off belongs to the step
        let size = if remaining <= proposal * (1.0 + 1e-9) {
            remaining
        } else if remaining < 2.0 * proposal {
            0.5 * remaining
        } else {
            proposal
        };
        let t_next = if size == remaining { t_end } else { t + size };
        Some(Trial {
            size: t_next - t,
            t_next,
            proposal,
        })
    }

    /// Updates after a step whose derivative failed.
    pub fn fail(&mut self, trial: Trial) {
        self.rejected_before = true;
        self.proposal = trial.size * SHRINK_AFTER_FAILURE;
    }

    /// Updates after a step with this error in units of the tolerance. Returns whether it is accepted. `exponent` is 1/k.
    pub fn judge(&mut self, trial: Trial, error: f64, exponent: f64) -> bool {
        let size = trial.size;
        if error > 1.0 || error.is_nan() {
            self.rejected_before = true;
            self.proposal =
                size * (SAFETY * elementary::powf(error, -exponent)).clamp(SHRINK_LIMIT, SAFETY); // (3)
            return false;
        }
        let mut factor = (SAFETY
            * elementary::powf(error.max(1e-30), -0.7 * exponent)
            * elementary::powf(self.error_before, 0.4 * exponent))
        .clamp(SHRINK_LIMIT, GROW_LIMIT); // (2)
        if self.rejected_before {
            factor = factor.min(1.0);
        }
        // a step cut short by the end says little about the appropriate size
        let cut = size < trial.proposal;
        let next = size * factor;
        self.proposal = if cut { next.max(trial.proposal) } else { next };
        self.error_before = error.max(SMALLEST_REMEMBERED_ERROR);
        self.rejected_before = false;
        true
    }
}

/// The smallest reasonable step at a time.
pub(crate) fn smallest(t: f64, min_step: f64) -> f64 {
    min_step.max(16.0 * spacing(t))
}

/// ε of (1) from sums of squared errors per unit of time, in units of the tolerance: of the motion and of the integrals, by the first
/// estimate and, where there are two, by the second. NaN propagates.
pub(crate) fn joined(h: f64, first: [f64; 2], second: Option<[f64; 2]>, counts: [usize; 2]) -> f64 {
    let mut estimate: f64 = 0.0;
    for k in 0..2 {
        let mean = 1.0 / counts[k].max(1) as f64;
        let part = match second {
            None => h * (first[k] * mean).sqrt(),
            Some(second) => {
                let both = first[k] + 0.01 * second[k];
                if both == 0.0 {
                    0.0
                } else {
                    h * first[k] * (mean / both).sqrt()
                }
            }
        };
        if part > estimate || part.is_nan() {
            estimate = part;
        }
    }
    estimate
}

/// Hairer's rule, first half: the step with which the second derivative is tried, from the sizes of y and f.
pub(crate) fn probing_size(d0: f64, d1: f64, max_step: f64) -> f64 {
    let h0 = if d0 < 1e-5 || d1 < 1e-5 {
        1e-6
    } else {
        0.01 * d0 / d1
    };
    h0.min(max_step)
}

/// Hairer's rule, second half: the first step, from the sizes of f and of its change.
pub(crate) fn first_size(h0: f64, d1: f64, change: f64, order: usize, max_step: f64) -> f64 {
    let d2 = change / h0;
    let steepest = d1.max(d2);
    let h1 = if steepest <= 1e-15 {
        (1e-3 * h0).max(1e-6)
    } else {
        elementary::powf(0.01 / steepest, 1.0 / (order as f64))
    };
    (100.0 * h0).min(h1).min(max_step)
}

/// x / scale; infinite for a nonzero x and a scale of zero.
pub(crate) fn ratio(x: f64, scale: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors that grow as hᵏ: wherever it begins, the size becomes that at which (2) is 1, ε = 0.9^(k/0.3), and no step is rejected on the way; a
    /// rejected step is followed by one whose error is 0.9ᵏ.
    #[test]
    fn sizes_settle_where_the_error_is_as_wanted() {
        for k in [3.0, 5.0, 8.0] {
            let wanted = 0.9f64.powf(k / 0.3);
            for begin in [1e-6, 0.1, 0.9, 1.5, 4.0] {
                let error = |h: f64| h.powf(k);
                let mut next = StepSize::new(begin);
                let mut rejected = 0;
                for step in 0..80 {
                    let trial = next
                        .trial(0.0, 1e9, f64::INFINITY, 1e-12)
                        .expect("large enough");
                    assert_eq!(trial.size, next.proposal);
                    let own = error(trial.size);
                    let is_good = next.judge(trial, own, 1.0 / k);
                    assert_eq!(is_good, own <= 1.0);
                    if !is_good {
                        rejected += 1;
                        let again = error(next.proposal);
                        // not by more than a fifth at a time
                        let least = error(0.2 * trial.size);
                        assert!((again / least.max(0.9f64.powf(k)) - 1.0).abs() < 1e-9);
                    }
                    if step > 60 {
                        assert!((own / wanted - 1.0).abs() < 0.01, "{k}, {begin}: {own}");
                    }
                }
                assert_eq!(rejected > 0, begin > 1.0, "{k}, {begin}");
                assert!(rejected <= 1, "{k}, {begin}");
            }
        }
    }
}
