//! Changes of sign of event functions within a step, including pairs of them, located to round-off on the dense output.
//!
//! A part of a step is sampled at the five points x = −1, −√½, 0, √½, 1 of its own scale. Every function g is interpolated there by
//! the Chebyshev polynomial Σ cₖ Tₖ(x), with
//!
//! ```text
//! ε = m₃₄ min(1, m₃₄ / m₁₂),   m₁₂ = max(|c₁|, |c₂|),  m₃₄ = max(|c₃|, |c₄|)      truncation error             (1)
//! |c₀| > |c₁| + |c₂| + |c₃| + |c₄| + 4 ε                                            g has no zero                (2)
//! |c₁ + 3c₃| > |4c₂ + 8c₄| + |6c₃| + |8c₄| + 50 ε                                   g is monotonic               (3)
//! |4c₂ + 32c₄| > |24c₃| + |48c₄| + 400 ε                                            g is convex or concave       (4)
//! ```
//!
//! if m₃₄ ≤ ½ m₁₂, where (3) and (4) bound the first and the second derivative in the same way as (2) bounds g. A part in which
//! a function satisfies none of them is halved, as long as the function changes by more than round-off there, and so is one whose polynomial does not
//! predict g at two further points; for a step far from zero this test is omitted. What remains is simple: a monotonic function changes sign once if
//! the signs at its ends differ, and so does a convex one; a convex one with equal signs at its ends has one extremum, which is searched for by
//! Brent's method (Brent 1973, ch. 5) where the polynomial comes near zero, until the other sign is found. The functions are also evaluated at the
//! times of output samples, so that a change of sign that the samples show is found in any case.
//!
//! The bracket [a, b] of a change of sign shrinks by the Illinois form of the secant rule; whenever that has not halved it in
//! three evaluations, it is bisected. The iteration ends when a and b are neighbouring numbers, or the function
//! is exactly zero at b. The event time is b: the first number at which the function no longer has the old sign, so that a
//! run continued from there does not find the same event again.

use crate::error::{Error, ErrorKind, Result};

/// A change of sign of an event function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Which function.
    pub index: usize,
    /// When, s: within 4 units in the last place, on the far side.
    pub time: f64,
    /// Whether from negative to positive.
    pub rising: bool,
}

/// Maximum number of parts of a step where dense output costs no evaluation of the dynamics.
pub(super) const MOST_PARTS: usize = 4096;
/// The parts of a step are not halved more often than this.
const DEEPEST: usize = 20;
/// Smallest bracket of an extremum, relative to the part it is in: the values there differ by round-off only.
const SMALLEST_BRACKET: f64 = 1e-8;

/// A step to be searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub begin: f64,
    pub end: f64,
    /// Initial number of parts; none if only its end and the samples are examined.
    pub parts: usize,
    /// Maximum number of parts, including halved ones.
    pub most: usize,
    /// Time between samples, s: their times are multiples of it.
    pub interval: f64,
    /// Round-off of the functions.
    pub noise: f64,
}

/// Round-off of functions of these numbers, which are of the order of the numbers or of 1.
pub(super) fn noise(numbers: &[&[f64]]) -> f64 {
    let largest = numbers
        .iter()
        .copied()
        .flatten()
        .fold(1.0, |size: f64, x| size.max(x.abs()));
    32.0 * f64::EPSILON * largest
}

impl Step {
    /// The first sample after a time.
    fn next_sample(&self, t: f64) -> f64 {
        let count = (t / self.interval).floor();
        // samples closer than the resolution of time: none to examine
        if !self.interval.is_finite() || count.abs() >= 2f64.powi(52) {
            return f64::INFINITY;
        }
        [count, count + 1.0, count + 2.0]
            .map(|k| k * self.interval)
            .into_iter()
            .find(|&sample| sample > t)
            .unwrap_or(f64::INFINITY)
    }
}

/// The values of the event functions at the beginning of a step, and a workspace for finding their changes of sign.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    pub values: Vec<f64>,
    points: Points,
    parts: Vec<Part>,
    order: Vec<usize>,
    work: Vec<f64>,
}

/// Times in a step and the values of all functions there, in the order of evaluation.
#[derive(Clone, Debug, Default)]
struct Points {
    functions: usize,
    times: Vec<f64>,
    values: Vec<f64>,
}

/// A part of a step: its ends, as indices of points, and how often the step was halved to make it.
#[derive(Clone, Copy, Debug)]
struct Part {
    ends: [usize; 2],
    depth: usize,
}

impl Points {
    fn add(
        &mut self,
        t: f64,
        evaluate: &mut impl FnMut(f64, &mut [f64]) -> Result<()>,
    ) -> Result<usize> {
        let first = self.values.len();
        self.values.resize(first + self.functions, 0.0);
        evaluate(t, &mut self.values[first..])?;
        check(t, &self.values[first..])?;
        self.times.push(t);
        Ok(self.times.len() - 1)
    }

    fn of(&self, point: usize) -> &[f64] {
        &self.values[point * self.functions..][..self.functions]
    }
}

/// Rejects NaN, which has no sign.
fn check(t: f64, values: &[f64]) -> Result<()> {
    match values.iter().position(|x| x.is_nan()) {
        None => Ok(()),
        Some(k) => Err(Error::new(
            ErrorKind::Integration,
            format!("at t = {t} s: event function {k} is not a number"),
        )
        .hint("event functions must have a value wherever the motion goes")),
    }
}

impl Watched {
    /// A workspace for this number of functions.
    pub fn resize(&mut self, count: usize) {
        self.values.resize(count, 0.0);
        self.work.resize(count, 0.0);
        self.points.functions = count;
        self.points.times.reserve(64);
        self.points.values.reserve(64 * count);
        self.order.reserve(64);
        self.parts.reserve(16);
    }

    /// All changes of sign in a step by increasing time. `values` are those at the beginning, and are overwritten with
    /// those at the end.
    /// `evaluate` gives the values at a time.
    pub fn find(
        &mut self,
        step: Step,
        mut evaluate: impl FnMut(f64, &mut [f64]) -> Result<()>,
    ) -> Result<Vec<Event>> {
        let Step { begin, end, .. } = step;
        check(begin, &self.values)?;
        self.points.times.clear();
        self.points.values.clear();
        self.points.times.push(begin);
        self.points.values.extend_from_slice(&self.values);
        self.resolve(step, &mut evaluate)?;
        let mut sample = step.next_sample(begin);
        while sample < end {
            self.points.add(sample, &mut evaluate)?;
            sample = step.next_sample(sample);
        }
        let Watched {
            values,
            points,
            order,
            work,
            ..
        } = self;
        order.clear();
        order.extend(0..points.times.len());
        order.sort_unstable_by(|&a, &b| points.times[a].total_cmp(&points.times[b]));
        let mut found = Vec::new();
        for pair in order.windows(2) {
            let (from, to) = (points.times[pair[0]], points.times[pair[1]]);
            let (before, after) = (points.of(pair[0]), points.of(pair[1]));
            for index in 0..before.len() {
                if !changes(before[index], after[index]) {
                    continue;
                }
                let time = locate((from, before[index]), (to, after[index]), |t| {
                    evaluate(t, work)?;
                    check(t, work)?;
                    Ok(work[index])
                })?;
                found.push(Event {
                    index,
                    time,
                    rising: before[index] < 0.0,
                });
            }
        }
        found.sort_by(|a, b| a.time.total_cmp(&b.time));
        // the end is the last point in time
        if let Some(&last) = order.last() {
            values.copy_from_slice(points.of(last));
        }
        Ok(found)
    }

    /// Collects points between which no function changes its sign more than once.
    fn resolve(
        &mut self,
        step: Step,
        evaluate: &mut impl FnMut(f64, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        let (begin, end) = (step.begin, step.end);
        let Watched { points, parts, .. } = self;
        parts.clear();
        let mut from = 0;
        for part in 1..step.parts {
            let t = begin + (end - begin) * (part as f64 / step.parts as f64);
            let to = points.add(t, evaluate)?;
            parts.push(Part {
                ends: [from, to],
                depth: 0,
            });
            from = to;
        }
        let to = points.add(end, evaluate)?;
        if step.parts > 0 {
            parts.push(Part {
                ends: [from, to],
                depth: 0,
            });
        }
        // the list grows while it is traversed: all parts of one length before any shorter ones
        let mut next = 0;
        while next < parts.len() {
            let Part {
                ends: [from, to],
                depth,
            } = parts[next];
            next += 1;
            let (a, b) = (points.times[from], points.times[to]);
            let at = |x: f64| 0.5 * (a + b) + 0.5 * (b - a) * x;
            if !(at(-NODE) > a && at(-NODE) < at(0.0) && at(0.0) < at(NODE) && at(NODE) < b) {
                continue;
            }
            let mut nodes = [from, 0, 0, 0, to];
            for (node, x) in nodes[1..4].iter_mut().zip([-NODE, 0.0, NODE]) {
                *node = points.add(at(x), evaluate)?;
            }
            let series =
                |points: &Points, k: usize| Series::new(nodes.map(|n| points.of(n)[k]), step.noise);
            let functions = 0..points.functions;
            let mut is_clear = functions
                .clone()
                .all(|k| series(points, k).shape() != Shape::Unclear);
            // a part without zeros must predict further points, unless all of the step is far from zero
            let is_far = depth == 0 && functions.clone().all(|k| series(points, k).is_far());
            if is_clear && !is_far {
                for x in PROBES {
                    let probe = points.add(at(x), evaluate)?;
                    let foretold = |k| series(points, k).foretells(x, points.of(probe)[k]);
                    is_clear = is_clear && functions.clone().all(foretold);
                }
            }
            let may_halve = depth < DEEPEST && parts.len() + 2 <= step.most;
            if may_halve && !is_clear {
                for ends in [[from, nodes[2]], [nodes[2], to]] {
                    parts.push(Part {
                        ends,
                        depth: depth + 1,
                    });
                }
                continue;
            }
            for k in functions {
                let series = series(points, k);
                let values = nodes.map(|n| points.of(n)[k]);
                if let Some((sign, x)) = series.dip(values) {
                    search(points, k, sign, (a, b), at(x), evaluate)?;
                }
            }
        }
        Ok(())
    }

    /// Is no function near zero in a step, judged by a cheap approximation of the motion? `after` are the true values
    /// at the end; their difference from the approximation is the allowance everywhere.
    pub fn is_clear(
        &mut self,
        (begin, end): (f64, f64),
        noise: f64,
        after: &[f64],
        mut roughly: impl FnMut(f64, &mut [f64]) -> Result<()>,
    ) -> Result<bool> {
        let points = &mut self.points;
        points.times.clear();
        points.values.clear();
        for x in [-NODE, 0.0, NODE, 1.0] {
            let t = 0.5 * (begin + end) + 0.5 * (end - begin) * x;
            points.add(t, &mut roughly)?;
        }
        Ok((0..after.len()).all(|k| {
            let [left, middle, right, last] = [0, 1, 2, 3].map(|n| points.of(n)[k]);
            let values = [self.values[k], left, middle, right, after[k]];
            let series = Series::new(values, noise);
            series.is_flat() || series.has_no_zero(4.0 * (last - after[k]).abs())
        }))
    }
}

/// √½.
const NODE: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Points at which the polynomials are tested.
const PROBES: [f64; 2] = [-0.87, 0.39];

/// c₀ to c₄ and ε.
#[derive(Clone, Copy, Debug)]
struct Series {
    c: [f64; 5],
    rest: f64,
    noise: f64,
    /// Do the coefficients decrease, so that the truncation error is small?
    falls: bool,
}

/// Known shape of a function in a part of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    NoZero,
    Monotonic,
    /// Convex or concave.
    Curved,
    Unclear,
}

impl Series {
    /// The series through the values at the five points.
    fn new([f0, f1, f2, f3, f4]: [f64; 5], noise: f64) -> Self {
        let (sum, difference) = (0.5 * (f4 + f0), 0.5 * (f4 - f0));
        let inner = NODE * (f3 - f1);
        let c = [
            0.25 * (sum + f1 + f2 + f3),
            0.5 * (difference + inner),
            0.5 * (sum - f2),
            0.5 * (difference - inner),
            0.25 * (sum - f1 + f2 - f3),
        ];
        let low = c[1].abs().max(c[2].abs());
        let high = (c[3].abs().max(c[4].abs()) - noise).max(0.0);
        let rest = match high < low {
            true => high * (high / low),
            false => high,
        };
        let falls = high <= 0.5 * low;
        Series {
            c,
            rest,
            noise,
            falls,
        } // (1)
    }

    fn has_no_zero(&self, margin: f64) -> bool {
        let [c0, c1, c2, c3, c4] = self.c.map(f64::abs);
        c0 > c1 + c2 + c3 + c4 + 4.0 * self.rest + margin // (2)
    }

    /// Is zero so far away, or the change so small, that finer sampling gains nothing?
    fn is_far(&self) -> bool {
        let [c0, c1, c2, c3, c4] = self.c.map(f64::abs);
        self.is_flat() || c0 > 16.0 * (c1 + c2 + c3 + c4)
    }

    /// Does the function change by round-off only?
    fn is_flat(&self) -> bool {
        self.c[1..].iter().map(|c| c.abs()).sum::<f64>() <= 4.0 * self.noise
    }

    /// Does the polynomial predict this value at x as accurately as the shape requires?
    fn foretells(&self, x: f64, value: f64) -> bool {
        let [c0, c1, c2, c3, c4] = self.c.map(f64::abs);
        let size = c1 + c2 + c3 + c4;
        let margin = 0.05 * (c0 - size).max(0.0) + 4.0 * self.noise;
        (value - self.at(x)).abs() <= 2.0 * self.rest + margin
    }

    fn shape(&self) -> Shape {
        if self.is_far() {
            return Shape::NoZero;
        }
        if !self.falls {
            return Shape::Unclear;
        }
        let [_, c1, c2, c3, c4] = self.c;
        let slope = (4.0 * c2 + 8.0 * c4).abs() + (6.0 * c3).abs() + (8.0 * c4).abs();
        let curvature = (24.0 * c3).abs() + (48.0 * c4).abs();
        if self.has_no_zero(0.0) {
            Shape::NoZero
        } else if (c1 + 3.0 * c3).abs() > slope + 50.0 * self.rest {
            Shape::Monotonic // (3)
        } else if (4.0 * c2 + 32.0 * c4).abs() > curvature + 400.0 * self.rest {
            Shape::Curved // (4)
        } else {
            Shape::Unclear
        }
    }

    fn at(&self, x: f64) -> f64 {
        let [c0, c1, c2, c3, c4] = self.c;
        let square = x * x;
        c0 - c2
            + c4
            + x * (c1 - 3.0 * c3)
            + square * (2.0 * c2 - 8.0 * c4)
            + square * x * 4.0 * c3
            + square * square * 8.0 * c4
    }

    /// Where a function that has one sign at all five points may reach the other one in between: that sign, and the point
    /// nearest to it. Zeros count as the sign of the other points: next to one there may be another.
    fn dip(&self, values: [f64; 5]) -> Option<(f64, f64)> {
        if matches!(self.shape(), Shape::NoZero | Shape::Monotonic) {
            return None;
        }
        let sign = values.iter().rev().find(|f| **f != 0.0)?.signum();
        if values.iter().any(|f| f * sign < 0.0) {
            return None;
        }
        const CUTS: usize = 32;
        let place = |k: usize| 2.0 * k as f64 / CUTS as f64 - 1.0;
        let (lowest, value) = (0..=CUTS)
            .map(|k| (k, sign * self.at(place(k))))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        // between two of these places the polynomial is lower by its curvature only
        let [_, c1, c2, c3, c4] = self.c;
        let bend = 2.0 * c2.abs() + 12.0 * c3.abs() + 40.0 * c4.abs();
        if value > bend * (2.0 / CUTS as f64).powi(2) + 4.0 * self.rest {
            return None;
        }
        // at an end, the function must fall inward, as far as that is known
        let (even, odd) = (4.0 * c2 + 16.0 * c4, c1 + 9.0 * c3);
        let inward = match lowest {
            0 => sign * (odd - even),
            CUTS => -sign * (odd + even),
            _ => f64::NEG_INFINITY,
        };
        let inside = place(lowest.clamp(1, CUTS - 1));
        (inward < 50.0 * self.rest).then_some((sign, inside))
    }
}

/// Brent's minimisation of sign · g in [a, b], from a guess, which ends as soon as it is negative: zero is not yet the other sign.
/// Evaluated points are recorded.
fn search(
    points: &mut Points,
    function: usize,
    sign: f64,
    (mut a, mut b): (f64, f64),
    guess: f64,
    evaluate: &mut impl FnMut(f64, &mut [f64]) -> Result<()>,
) -> Result<()> {
    const GOLDEN: f64 = 0.381_966_011_250_105;
    let mut value = |t: f64| -> Result<f64> {
        let point = points.add(t, evaluate)?;
        Ok(sign * points.of(point)[function])
    };
    let tolerance = (SMALLEST_BRACKET * (b - a)).max(2.0 * spacing(a.abs().max(b.abs())));
    // the best point, the second best and the one before that
    let mut best = (guess, value(guess)?);
    let (mut second, mut third) = (best, best);
    let (mut move_, mut move_before) = (0.0f64, 0.0f64);
    while best.1 >= 0.0 {
        let middle = 0.5 * (a + b);
        if (best.0 - middle).abs() + 0.5 * (b - a) <= 2.0 * tolerance {
            break;
        }
        // the vertex of the parabola through the three points, if the moves shrink
        let (r, q) = (
            (best.0 - second.0) * (best.1 - third.1),
            (best.0 - third.0) * (best.1 - second.1),
        );
        let over = (best.0 - third.0) * q - (best.0 - second.0) * r;
        let under = 2.0 * (q - r);
        let vertex = -over / under;
        let target = best.0 + vertex;
        let is_good = move_before.abs() > tolerance
            && vertex.abs() < 0.5 * move_before.abs()
            && target > a
            && target < b;
        if is_good {
            (move_before, move_) = (move_, vertex);
            if target - a < 2.0 * tolerance || b - target < 2.0 * tolerance {
                move_ = tolerance * (middle - best.0).signum();
            }
        } else {
            move_before = if best.0 < middle { b } else { a } - best.0;
            move_ = GOLDEN * move_before;
        }
        let t = best.0
            + if move_.abs() < tolerance {
                tolerance * move_.signum()
            } else {
                move_
            };
        let tried = (t, value(t)?);
        if tried.1 <= best.1 {
            *(if t < best.0 { &mut b } else { &mut a }) = best.0;
            (third, second, best) = (second, best, tried);
        } else {
            *(if t < best.0 { &mut a } else { &mut b }) = t;
            if tried.1 <= second.1 || second.0 == best.0 {
                (third, second) = (second, tried);
            } else if tried.1 <= third.1 || third.0 == best.0 || third.0 == second.0 {
                third = tried;
            }
        }
    }
    Ok(())
}

/// Does the function change the sign it has at the beginning? A zero at the beginning was an event of the previous step.
fn changes(before: f64, after: f64) -> bool {
    before != 0.0 && (after == 0.0 || (before < 0.0) != (after < 0.0))
}

/// Shrinks a bracket to round-off and returns its far end; `value` is the function.
fn locate(
    (mut a, mut at_a): (f64, f64),
    (mut b, mut at_b): (f64, f64),
    mut value: impl FnMut(f64) -> Result<f64>,
) -> Result<f64> {
    let sign = at_a.signum();
    // near time 0 the spacing of numbers is finer than the dense output resolves
    let coarse = 1e-3 * (b - a);
    let mut width = b - a;
    let mut since_halved = 0;
    let mut moved_a = None;
    // the true values decide signs; these, halved for a retained end, determine where to evaluate next
    let (mut pull_a, mut pull_b) = (at_a, at_b);
    loop {
        let margin = spacing(a.abs().max(b.abs()).max(coarse));
        if at_b == 0.0 || b - a <= 2.0 * margin {
            return Ok(b);
        }
        let middle = 0.5 * (a + b);
        let mut guess = if since_halved < 3 {
            (a * pull_b - b * pull_a) / (pull_b - pull_a)
        } else {
            middle
        };
        if !(guess > a && guess < b) {
            guess = middle;
        }
        // a little inside, so that both ends converge
        guess = guess.clamp(a + margin, b - margin);
        let found = value(guess)?;
        if found * sign > 0.0 {
            (a, at_a) = (guess, found);
            pull_a = at_a;
            if moved_a == Some(true) {
                pull_b *= 0.5;
            }
            moved_a = Some(true);
        } else {
            (b, at_b) = (guess, found);
            pull_b = at_b;
            if moved_a == Some(false) {
                pull_a *= 0.5;
            }
            moved_a = Some(false);
        }
        since_halved += 1;
        if b - a <= 0.5 * width {
            width = b - a;
            since_halved = 0;
        }
    }
}

/// Distance from |x| to the next number.
pub(super) fn spacing(x: f64) -> f64 {
    (x.abs().next_up() - x.abs()).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(a: f64, b: f64, f: impl Fn(f64) -> f64) -> (f64, usize) {
        let mut calls = 0;
        let t = locate((a, f(a)), (b, f(b)), |t| {
            calls += 1;
            Ok(f(t))
        })
        .unwrap();
        (t, calls)
    }

    #[test]
    fn roots_are_found_to_round_off() {
        let (t, calls) = root(3.0, 3.5, f64::sin);
        assert!((t - std::f64::consts::PI).abs() <= 4.0 * spacing(3.0));
        assert!(calls < 20, "{calls}");
        let (t, calls) = root(-1.0, 2.0, |t| t * t * t);
        assert!(t.abs() < 1e-17, "{t}");
        assert!(calls < 250, "{calls}");
        let (t, calls) = root(0.0, 1.0, |t| if t < 0.3 { -1e-9 } else { 1e9 });
        assert!((t - 0.3).abs() <= 4.0 * spacing(0.3));
        assert!(calls < 250, "{calls}");
    }

    #[test]
    fn zero_at_the_beginning_is_no_change() {
        assert!(!changes(0.0, 1.0));
        assert!(changes(1.0, 0.0));
        assert!(changes(-1.0, 1.0));
        assert!(!changes(-1.0, -2.0));
    }

    /// On a parabola that does not reach zero, the vertex of the parabola through three points is the minimum: it is evaluated after a few points,
    /// wherever it is in the bracket, and as often for either sign.
    #[test]
    fn the_search_jumps_to_the_vertex_of_a_parabola() {
        for minimum in [0.11, 0.3, 0.52, 0.87] {
            for sign in [1.0, -1.0] {
                let mut points = Points {
                    functions: 1,
                    ..Points::default()
                };
                let mut evaluate = |t: f64, values: &mut [f64]| {
                    values[0] = sign * (1.0 + (t - minimum).powi(2));
                    Ok(())
                };
                search(&mut points, 0, sign, (0.0, 1.0), 0.6, &mut evaluate).unwrap();
                let first = (points.times.iter()).position(|t| (t - minimum).abs() < 1e-7);
                assert!(
                    first.is_some_and(|k| k < 8),
                    "{minimum}: {:?}",
                    points.times
                );
            }
        }
    }

    /// The changes of sign of functions in fixed steps, and how often the functions were evaluated.
    fn events(
        functions: &[Box<dyn Fn(f64) -> f64>],
        duration: f64,
        steps: usize,
        interval: f64,
    ) -> (Vec<Event>, usize) {
        let mut watched = Watched::default();
        watched.resize(functions.len());
        for (value, f) in watched.values.iter_mut().zip(functions) {
            *value = f(0.0);
        }
        let mut calls = 0;
        let mut found = Vec::new();
        for k in 0..steps {
            let time = |k: usize| duration * k as f64 / steps as f64;
            let step = Step {
                begin: time(k),
                end: time(k + 1),
                parts: 1,
                most: MOST_PARTS,
                interval,
                noise: noise(&[]),
            };
            let in_step = watched.find(step, |t, values| {
                calls += 1;
                values
                    .iter_mut()
                    .zip(functions)
                    .for_each(|(value, f)| *value = f(t));
                Ok(())
            });
            found.extend(in_step.unwrap());
        }
        (found, calls)
    }

    /// Products of sines change sign where one of their factors does, and nowhere else: up to twenty times in a step, some of
    /// them very close together.
    #[test]
    fn every_zero_of_products_of_sines_is_found() {
        let mut random = crate::random::Random::new(3);
        let (mut closest, mut count, mut calls) = (f64::INFINITY, 0, 0);
        for trial in 0..2000 {
            let duration = 10.0;
            let factors: Vec<(f64, f64)> = (0..1 + trial % 4)
                .map(|_| (random.uniform(0.1, 6.0), random.uniform(-3.0, 3.0)))
                .collect();
            let mut zeros: Vec<f64> = Vec::new();
            for &(frequency, phase) in &factors {
                let last = ((frequency * duration + phase) / std::f64::consts::PI).floor() as i32;
                zeros.extend(
                    (-2..=last)
                        .map(|k| (f64::from(k) * std::f64::consts::PI - phase) / frequency)
                        .filter(|&t| t > 0.0 && t <= duration),
                );
            }
            zeros.sort_by(f64::total_cmp);
            for pair in zeros.windows(2) {
                closest = closest.min(pair[1] - pair[0]);
            }
            let product = move |t: f64| -> f64 {
                factors
                    .iter()
                    .map(|(w, phase)| (w * t + phase).sin())
                    .product()
            };
            let steps = 3 + trial % 50;
            let (found, asked) = events(&[Box::new(product)], duration, steps, f64::INFINITY);
            (count, calls) = (count + found.len(), calls + asked);
            assert_eq!(
                found.len(),
                zeros.len(),
                "trial {trial}: {found:?}, not {zeros:?}"
            );
            for (event, zero) in found.iter().zip(&zeros) {
                let error = (event.time - zero).abs();
                assert!(error < 1e-9, "trial {trial}: {} and {zero}", event.time);
            }
        }
        // some were close together
        assert!(closest < 1e-5, "{closest}");
        assert!(calls < 40 * count, "{calls} for {count} zeros");
    }

    /// Extrema just beyond zero are found down to the resolution of the numbers, those just before it are not.
    #[test]
    fn extrema_are_resolved_to_round_off() {
        let mut random = crate::random::Random::new(4);
        for trial in 0..2000 {
            let depth = 10f64.powf(random.uniform(-13.0, -1.0));
            let depth = if trial % 2 == 0 { depth } else { -depth };
            let at = random.uniform(0.1, 2.9);
            let turn = if trial % 3 == 0 { -1.0 } else { 1.0 };
            let f = move |t: f64| turn * (1.0 - (t - at).cos() - depth);
            let (found, asked) = events(&[Box::new(f)], 3.0, 1 + trial % 5, f64::INFINITY);
            let expected = match depth > 0.0 {
                true => 2,
                false => 0,
            };
            // where both zeros lie within the run
            let half = (1.0 - depth.max(0.0)).acos();
            if at - half > 0.0 && at + half < 3.0 {
                assert_eq!(found.len(), expected, "{depth} at {at}: {found:?}");
            }
            assert!(asked < 300, "{asked}");
        }
    }

    /// A function that is far from zero costs four evaluations in a step, and one for each sample.
    #[test]
    fn far_from_zero_little_is_asked() {
        let far = || -> Box<dyn Fn(f64) -> f64> { Box::new(|t: f64| 20.0 + t.sin()) };
        assert_eq!(events(&[far()], 10.0, 10, f64::INFINITY).1, 40);
        assert_eq!(events(&[far()], 10.0, 10, 0.25).1, 40 + 30);
    }

    /// Tₖ(x) = cos(k acos x) and its first two derivatives, by their recursion.
    fn chebyshev(k: usize, x: f64) -> [f64; 3] {
        let mut values = [[1.0, 0.0, 0.0], [x, 1.0, 0.0]];
        for _ in 1..k {
            let [before, last] = values;
            let next = [
                2.0 * x * last[0] - before[0],
                2.0 * last[0] + 2.0 * x * last[1] - before[1],
                4.0 * last[1] + 2.0 * x * last[2] - before[2],
            ];
            values = [last, next];
        }
        let found = if k == 0 { values[0] } else { values[1] };
        assert!((found[0] - (k as f64 * x.acos()).cos()).abs() < 1e-12);
        found
    }

    /// The polynomial interpolates its values, and the coefficients are recovered from values.
    #[test]
    fn polynomials_pass_through_their_points() {
        let mut random = crate::random::Random::new(6);
        for _ in 0..100 {
            let c = [0; 5].map(|_| random.uniform(-1.0, 1.0));
            let at = |x: f64| -> f64 { (0..5).map(|k| c[k] * chebyshev(k, x)[0]).sum() };
            let series = Series::new([-1.0, -NODE, 0.0, NODE, 1.0].map(at), 0.0);
            for (found, c) in series.c.into_iter().zip(c) {
                assert!((found - c).abs() < 1e-15, "{found} {c}");
            }
            for k in 0..=20 {
                let x = 0.1 * f64::from(k) - 1.0;
                assert!((series.at(x) - at(x)).abs() < 1e-14);
            }
        }
    }

    /// A shape is claimed of a polynomial only where it is true; with a single term besides the constant, linear or quadratic one it is claimed
    /// whenever true.
    #[test]
    fn shapes_are_those_of_the_polynomials() {
        let series = |c: [f64; 5]| Series {
            c,
            rest: 0.0,
            noise: 0.0,
            falls: true,
        };
        // does this derivative keep its sign?
        let keeps = |c: [f64; 5], derivative: usize| {
            let mut range = [f64::INFINITY, f64::NEG_INFINITY];
            for n in 0..=400 {
                let x = f64::from(n) / 200.0 - 1.0;
                let value: f64 = (0..5).map(|k| c[k] * chebyshev(k, x)[derivative]).sum();
                range = [range[0].min(value), range[1].max(value)];
            }
            range[0] > 0.0 || range[1] < 0.0
        };
        let shapes = [Shape::NoZero, Shape::Monotonic, Shape::Curved];
        let mut random = crate::random::Random::new(7);
        let mut seen = [0; 3];
        for trial in 0..3000 {
            let mut c = [0; 5].map(|_| random.uniform(-0.2, 0.2));
            c[trial % 3] += 1.0;
            let shape = series(c).shape();
            if let Some(k) = shapes.iter().position(|known| *known == shape) {
                seen[k] += 1;
                assert!(keeps(c, k), "{shape:?}: {c:?}");
            }
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        for (derivative, shape) in shapes.into_iter().enumerate() {
            for k in derivative + 1..5 {
                for sign in [1.0, -1.0] {
                    let with = |size: f64| {
                        let mut c = [0.0; 5];
                        (c[derivative], c[k]) = (1.0, sign * size);
                        c
                    };
                    // the largest one that changes no sign, by bisection
                    let (mut low, mut high) = (0.0, 2.0);
                    while high - low > 1e-6 {
                        let middle = 0.5 * (low + high);
                        match keeps(with(middle), derivative) {
                            true => low = middle,
                            false => high = middle,
                        }
                    }
                    assert_eq!(series(with(0.999 * low)).shape(), shape, "{derivative} {k}");
                    assert_ne!(
                        series(with(1.001 * high)).shape(),
                        shape,
                        "{derivative} {k}"
                    );
                }
            }
        }
    }

    /// A value counts as predicted if its error is less than a twentieth of the polynomial's distance from zero.
    #[test]
    fn values_are_foretold_as_exactly_as_zero_is_near() {
        for k in 1..5 {
            for clear in [0.02, 0.5] {
                let mut c = [1.0, 0.0, 0.0, 0.0, 0.0];
                c[k] = 1.0 - clear;
                let series = Series {
                    c,
                    rest: 0.0,
                    noise: 0.0,
                    falls: true,
                };
                for x in PROBES {
                    for sign in [1.0, -1.0] {
                        let off = |part: f64| series.at(x) + sign * part * clear;
                        assert!(series.foretells(x, off(0.049)), "{k} {clear} {x}");
                        assert!(!series.foretells(x, off(0.051)), "{k} {clear} {x}");
                    }
                }
            }
        }
    }

    /// A parabola that comes near zero and does not reach it is tested at two further points; no extremum is searched for.
    #[test]
    fn clear_of_zero_nothing_is_searched() {
        for (turn, at) in [(1.0, 0.65), (-1.0, 0.65), (1.0, 0.2), (-1.0, 0.35)] {
            let f = move |t: f64| turn * (4.0 * (t - at) * (t - at) + 0.05);
            let (found, asked) = events(&[Box::new(f)], 1.0, 1, f64::INFINITY);
            assert_eq!((found.len(), asked), (0, 6), "{turn} {at}");
        }
    }

    /// Two zeros close together are found anywhere in a step, near its ends, too, and whatever the unit of the function.
    #[test]
    fn units_of_functions_do_not_matter() {
        for unit in [1e-3, 1.0, 1e4, -1e-3, -1.0, -1e4] {
            for at in [0.001, 0.004, 0.02, 0.3, 0.5, 0.98, 0.996, 0.999] {
                let f = move |t: f64| unit * ((t - at) * (t - at) - 0.0005 * 0.0005);
                let (found, _) = events(&[Box::new(f)], 1.0, 1, f64::INFINITY);
                let times: Vec<f64> = found.iter().map(|event| event.time).collect();
                assert_eq!(times.len(), 2, "{unit}, {at}: {times:?}");
                for (time, zero) in times.iter().zip([at - 0.0005, at + 0.0005]) {
                    assert!((time - zero).abs() < 1e-12, "{unit}, {at}: {times:?}");
                }
            }
        }
    }

    /// A function that is exactly zero at one of the points of a step and has another zero next to it: both are found, in either order.
    #[test]
    fn zeros_at_the_points_of_a_step_hide_no_others() {
        let nodes = [-1.0, -NODE, 0.0, NODE, 1.0].map(|x| 0.5 * 1.0 + 0.5 * x);
        for (k, node) in nodes.into_iter().enumerate() {
            for beside in [-0.08, -0.01, 0.01, 0.08] {
                for turn in [1.0, -1.0] {
                    let other = node + beside;
                    if !(0.0..=1.0).contains(&other) {
                        continue;
                    }
                    let f = move |t: f64| turn * (t - node) * (t - other);
                    let (found, _) = events(&[Box::new(f)], 1.0, 1, f64::INFINITY);
                    // a zero at the beginning was an event before
                    let mut expected: Vec<f64> = [node, other]
                        .into_iter()
                        .skip(usize::from(k == 0))
                        .collect();
                    expected.sort_by(f64::total_cmp);
                    let times: Vec<f64> = found.iter().map(|event| event.time).collect();
                    assert_eq!(times.len(), expected.len(), "{node} {other}: {found:?}");
                    for (event, exact) in found.iter().zip(&expected) {
                        assert!(
                            (event.time - exact).abs() < 1e-14,
                            "{node} {other}: {found:?}"
                        );
                    }
                    // they alternate
                    let rising: Vec<bool> = found.iter().map(|event| event.rising).collect();
                    assert!(
                        rising.windows(2).all(|pair| pair[0] != pair[1]),
                        "{found:?}"
                    );
                }
            }
        }
    }

    /// A change of sign that the samples show is found even where a function is far too fast for the steps: here a spike at one sample.
    #[test]
    fn samples_show_no_change_that_is_missed() {
        let spike = |t: f64| if (t - 3.3).abs() < 1e-6 { -1.0 } else { 1.0 };
        let (found, _) = events(&[Box::new(spike)], 10.0, 2, 0.1);
        let times: Vec<f64> = found.iter().map(|event| event.time).collect();
        assert_eq!(times.len(), 2, "{times:?}");
        assert!((times[0] - (3.3 - 1e-6)).abs() < 1e-12, "{times:?}");
        assert!((times[1] - (3.3 + 1e-6)).abs() < 1e-12, "{times:?}");
    }

    /// A fast function in a long step is resolved; a function of round-off costs a bounded number of evaluations.
    #[test]
    fn fast_functions_are_resolved_and_noise_is_bounded() {
        let fast = |t: f64| (100.0 * t).sin() - 0.9;
        let (found, asked) = events(&[Box::new(fast)], 10.0, 1, f64::INFINITY);
        assert_eq!(found.len(), 2 * 159, "{asked}");
        let noise = |t: f64| 1e-17 * (1e9 * t).sin();
        let (_, asked) = events(&[Box::new(noise)], 10.0, 1, f64::INFINITY);
        assert!(asked < 500 * MOST_PARTS, "{asked}");
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        let mut watched = Watched::default();
        watched.resize(1);
        watched.values[0] = 1.0;
        let step = Step {
            begin: 0.0,
            end: 1.0,
            parts: 1,
            most: MOST_PARTS,
            interval: f64::INFINITY,
            noise: noise(&[]),
        };
        let refused = watched.find(step, |t, values| {
            values[0] = (0.5 - t).sqrt();
            Ok(())
        });
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("event function 0 is not a number"),
            "{message}"
        );
    }
}
