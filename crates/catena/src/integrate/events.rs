//! Changes of sign of event functions, located to round-off on the dense output.
//!
//! The bracket [a, b] of a change of sign shrinks by the Illinois form of the secant rule; whenever that has not halved it in
//! three evaluations, it is halved at the middle. The end is reached when a and b are neighbouring numbers, or the function
//! is exactly zero at b. What is reported is b: the first number at which the function no longer has the old sign, so that a
//! run continued from there does not meet the same event again.

/// A change of sign of an event function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Which function.
    pub index: usize,
    /// When, s: within 4 units in the last place, on the far side.
    pub time: f64,
    /// From negative to positive?
    pub rising: bool,
}

/// The values of the event functions at the beginning of a step, and what [`find`] needs besides.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    pub values: Vec<f64>,
    next: Vec<f64>,
    work: Vec<f64>,
}

impl Watched {
    /// Room for so many functions.
    pub fn resize(&mut self, count: usize) {
        for list in [&mut self.values, &mut self.next, &mut self.work] {
            list.resize(count, 0.0);
        }
    }

    /// All changes of sign in a step: see [`find`].
    pub fn find<E>(
        &mut self,
        step: (f64, f64, usize),
        evaluate: impl FnMut(f64, &mut [f64]) -> Result<(), E>,
    ) -> Result<Vec<Event>, E> {
        let Watched { values, next, work } = self;
        find(step, values, next, evaluate, work)
    }
}

/// Does the function leave the sign it has at the beginning? A zero at the beginning was an event before.
pub(super) fn changes(before: f64, after: f64) -> bool {
    before != 0.0 && (after == 0.0 || (before < 0.0) != (after < 0.0))
}

/// The far end of a bracket shrunk to round-off; `value` is the function.
pub(super) fn locate<E>(
    (mut a, mut at_a): (f64, f64),
    (mut b, mut at_b): (f64, f64),
    mut value: impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    let sign = at_a.signum();
    // numbers close to time 0 are finer than anything the dense output resolves
    let coarse = 1e-3 * (b - a);
    let mut width = b - a;
    let mut since_halved = 0;
    let mut moved_a = None;
    // the true values decide signs; these, halved for an end that stays, decide where to look
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
        // a little inside, so that both ends come in
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

/// All changes of sign in a step, cut into equal parts, by increasing time. `before` holds the values at the beginning and gets
/// those at the end; `evaluate` gives the values at a time.
pub(super) fn find<E>(
    (begin, end, parts): (f64, f64, usize),
    before: &mut [f64],
    after: &mut [f64],
    mut evaluate: impl FnMut(f64, &mut [f64]) -> Result<(), E>,
    values: &mut [f64],
) -> Result<Vec<Event>, E> {
    let mut found = Vec::new();
    let mut from = begin;
    for part in 1..=parts {
        let to = if part == parts {
            end
        } else {
            begin + (end - begin) * (part as f64 / parts as f64)
        };
        evaluate(to, after)?;
        let first = found.len();
        for index in 0..before.len() {
            if changes(before[index], after[index]) {
                let ends = ((from, before[index]), (to, after[index]));
                let time = locate(ends.0, ends.1, |t| {
                    evaluate(t, values)?;
                    Ok(values[index])
                })?;
                found.push(Event {
                    index,
                    time,
                    rising: before[index] < 0.0,
                });
            }
        }
        found[first..].sort_by(|a, b| a.time.total_cmp(&b.time));
        before.copy_from_slice(after);
        from = to;
    }
    Ok(found)
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
            Ok::<f64, ()>(f(t))
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
}
