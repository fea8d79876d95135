//! The history: modified divided differences, and the coefficients of the next step.
//!
//! With ψᵢ = tₙ − tₙ₋ᵢ and the divided differences x[tₙ … tₙ₋ⱼ] of the solution
//!
//! ```text
//! φⱼ = ψ₁ ψ₂ … ψⱼ x[tₙ, tₙ₋₁, …, tₙ₋ⱼ],   φ₀ = xₙ                                                    (1)
//! ```
//!
//! A step of size h from tₙ to tₙ₊₁ with order k has, with primes for the values at tₙ₊₁,
//!
//! ```text
//! ψ'₁ = h,  ψ'ᵢ₊₁ = ψᵢ + h,   αᵢ = h/ψ'ᵢ₊₁,   β₀ = 1,  βᵢ = βᵢ₋₁ ψ'ᵢ/ψᵢ,   φ*ⱼ = βⱼ φⱼ              (2)
//! γ₀ = 0,  γᵢ = γᵢ₋₁ + αᵢ₋₁/h,   σ₀ = 1,  σᵢ = i σᵢ₋₁ αᵢ                                             (3)
//! x⁰ = Σ φ*ⱼ,   ẋ⁰ = Σ γⱼ φ*ⱼ            the polynomial through the past, at tₙ₊₁                    (4)
//! x = x⁰ + e,   ẋ = ẋ⁰ + c e,   c = (1 + 1/2 + … + 1/k)/h     the formula: fixed leading coefficient  (5)
//! φ'ⱼ = φ*ⱼ + φ'ⱼ₊₁,  φ'ₖ = φ*ₖ + e       the past after the step                                     (6)
//! ```
//!
//! (Brenan, Campbell & Petzold 1996, sec. 5.2.) The order k at equal steps is that of the usual formula. A change δ of xₙ after
//! the step (projection) is a change of e, so it adds δ to every φ'ⱼ.

use super::MAX_ORDER;

/// Differences kept: orders 0…5, and one more to assess an increase of order.
pub(super) const LEVELS: usize = MAX_ORDER + 2;

/// Coefficients of a step, (2) and (3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Coefficients {
    pub(super) order: usize,
    pub(super) spans: [f64; LEVELS], // ψ'
    beta: [f64; LEVELS],
    gamma: [f64; LEVELS],
    pub(super) sigma: [f64; LEVELS],
    /// c of (5).
    pub(super) leading: f64,
    /// The error of a step is this times e.
    pub(super) error: f64,
}

/// Differences of the solution up to the present time.
#[derive(Clone, Debug)]
pub(super) struct History {
    n: usize,
    values: Vec<f64>,                // φ, one after another
    pub(super) spans: [f64; LEVELS], // ψᵢ at [i − 1]
}

impl History {
    pub(super) fn new(n: usize) -> Self {
        History {
            n,
            values: vec![0.0; LEVELS * n],
            spans: [0.0; LEVELS],
        }
    }

    pub(super) fn level(&self, j: usize) -> &[f64] {
        &self.values[j * self.n..(j + 1) * self.n]
    }

    pub(super) fn level_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.values[j * self.n..(j + 1) * self.n]
    }

    /// All numbers, for checkpoints.
    pub(super) fn numbers(&self) -> [&[f64]; 2] {
        [&self.values, &self.spans]
    }

    pub(super) fn numbers_mut(&mut self) -> [&mut [f64]; 2] {
        [&mut self.values, &mut self.spans]
    }

    /// Initial history: value and derivative, as if a step of size h had been taken before.
    pub(super) fn begin(&mut self, x: &[f64], xdot: &[f64], h: f64) {
        self.values.fill(0.0);
        self.spans = [0.0; LEVELS];
        self.level_mut(0).copy_from_slice(x);
        for (phi, rate) in self.level_mut(1).iter_mut().zip(xdot) {
            *phi = h * rate;
        }
        self.spans[0] = h;
    }

    /// Initial history from known points: times[0] is the present, the others are earlier.
    pub(super) fn begin_with(&mut self, times: &[f64], points: &[&[f64]]) {
        self.values.fill(0.0);
        self.spans = [0.0; LEVELS];
        for (j, point) in points.iter().enumerate() {
            self.level_mut(j).copy_from_slice(point);
        }
        for (span, t) in self.spans.iter_mut().zip(&times[1..]) {
            *span = times[0] - t;
        }
        // Newton's scheme of divided differences in place, then the products of (1)
        let n = self.n;
        for width in 1..points.len() {
            for j in (width..points.len()).rev() {
                let gap = times[j - width] - times[j];
                for i in 0..n {
                    let (later, earlier) = (self.values[(j - 1) * n + i], self.values[j * n + i]);
                    self.values[j * n + i] = (later - earlier) / gap;
                }
            }
        }
        let mut product = 1.0;
        for j in 1..points.len() {
            product *= self.spans[j - 1];
            for phi in self.level_mut(j) {
                *phi *= product;
            }
        }
    }

    /// (2) and (3).
    pub(super) fn coefficients(&self, h: f64, order: usize) -> Coefficients {
        let mut c = Coefficients {
            order,
            spans: self.spans,
            beta: [1.0; LEVELS],
            gamma: [0.0; LEVELS],
            sigma: [1.0; LEVELS],
            leading: 0.0,
            error: 0.0,
        };
        let mut alpha = [1.0; LEVELS];
        let mut span = h;
        for i in 1..=order {
            let old = self.spans[i - 1];
            c.spans[i - 1] = span;
            c.beta[i] = c.beta[i - 1] * span / old;
            span = old + h;
            alpha[i] = h / span;
            c.sigma[i] = i as f64 * c.sigma[i - 1] * alpha[i];
            c.gamma[i] = c.gamma[i - 1] + alpha[i - 1] / h;
        }
        c.spans[order] = span;
        let (mut harmonic, mut sum) = (0.0, 0.0);
        for (i, alpha) in alpha.iter().enumerate().take(order) {
            harmonic += 1.0 / (i as f64 + 1.0);
            sum += alpha;
        }
        c.leading = harmonic / h;
        // truncation error of the formula or of interpolation between the points, whichever is larger
        c.error = (alpha[order] + sum - harmonic).abs().max(alpha[order]);
        c
    }

    /// (4).
    pub(super) fn predict(&self, c: &Coefficients, x: &mut [f64], xdot: &mut [f64]) {
        x.copy_from_slice(self.level(0));
        xdot.fill(0.0);
        for j in 1..=c.order {
            let (beta, gamma) = (c.beta[j], c.gamma[j] * c.beta[j]);
            for ((x, xdot), phi) in x.iter_mut().zip(xdot.iter_mut()).zip(self.level(j)) {
                *x += beta * phi;
                *xdot += gamma * phi;
            }
        }
    }

    /// e + φ*ⱼ + … + φ*ₖ at component i: e as the formula of order j − 1 would have had it.
    pub(super) fn lowered(&self, c: &Coefficients, correction: f64, j: usize, i: usize) -> f64 {
        let mut sum = correction;
        for level in j..=c.order {
            sum += c.beta[level] * self.values[level * self.n + i];
        }
        sum
    }

    /// (6); the correction itself is stored after them, to assess an increase of order after the next step.
    pub(super) fn advance(&mut self, c: &Coefficients, correction: &[f64]) {
        let k = c.order;
        for j in 1..=k {
            let beta = c.beta[j];
            for phi in self.level_mut(j) {
                *phi *= beta;
            }
        }
        self.level_mut(k + 1).copy_from_slice(correction);
        let n = self.n;
        for j in (0..=k).rev() {
            for i in 0..n {
                self.values[j * n + i] += self.values[(j + 1) * n + i];
            }
        }
        self.spans = c.spans;
    }

    /// xₙ ← xₙ + δ after a step of this order, for the component i.
    pub(super) fn shift(&mut self, order: usize, i: usize, delta: f64) {
        for j in 0..=order + 1 {
            self.values[j * self.n + i] += delta;
        }
    }

    /// The polynomial through the last order + 1 points and its derivative, at a time `since` after the last of them.
    pub(super) fn interpolate(
        &self,
        order: usize,
        since: f64,
        x: &mut [f64],
        xdot: Option<&mut [f64]>,
    ) {
        let (mut value, mut rate) = (1.0, 0.0);
        let mut since_point = since;
        let mut rates = [0.0; LEVELS];
        x.copy_from_slice(self.level(0));
        for j in 1..=order {
            let ratio = since_point / self.spans[j - 1];
            since_point = since + self.spans[j - 1];
            rate = rate * ratio + value / self.spans[j - 1];
            value *= ratio;
            rates[j] = rate;
            for (x, phi) in x.iter_mut().zip(self.level(j)) {
                *x += value * phi;
            }
        }
        if let Some(xdot) = xdot {
            xdot.fill(0.0);
            for (j, rate) in rates.iter().enumerate().take(order + 1).skip(1) {
                for (xdot, phi) in xdot.iter_mut().zip(self.level(j)) {
                    *xdot += rate * phi;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of the last point of one component leaves the history that it would have had from the beginning.
    #[test]
    fn a_shift_is_a_change_of_the_last_point() {
        let times = [0.0, -0.1, -0.25, -0.3, -0.5];
        let at = |t: f64| [t.sin(), t.cos(), t.exp()];
        // with the level above, from which an increase of order is judged
        let order = times.len() - 2;
        for i in 0..3 {
            let mut points = times.map(at);
            let from = |points: &[[f64; 3]; 5]| {
                let mut history = History::new(3);
                history.begin_with(&times, &points.each_ref().map(|point| &point[..]));
                history
            };
            let mut shifted = from(&points);
            shifted.shift(order, i, 0.01);
            points[0][i] += 0.01;
            let expected = from(&points);
            for j in 0..=order + 1 {
                for (a, b) in shifted.level(j).iter().zip(expected.level(j)) {
                    assert!((a - b).abs() < 1e-14, "component {i}, level {j}: {a} {b}");
                }
            }
        }
    }
}
