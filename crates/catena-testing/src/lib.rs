//! What several test files share: random vectors and wrenches, runs to their end, comparison, records, and tests that a processor cannot run.
//!
//! Integration tests of every crate may use it, those of `catena` too. Unit tests of `catena` cannot: the `catena` that this crate
//! depends on is not the one under test, and their types differ.

pub mod accounts;
pub mod closed;
pub mod draw;
pub mod elements;
pub mod runs;

pub use closed::random_closed;

use catena::residual::{largest, relative, within};
use catena::{Cpu, Model, State};

/// Do two lists agree within `allowed`, relative to the largest entry of `b`, or to 1 if that is larger?
#[track_caller]
pub fn assert_close(a: &[f64], b: &[f64], allowed: f64, what: &str) {
    let apart = relative(a, b, largest(b).max(1.0));
    assert!(within(apart, allowed), "{what}: {apart:.1e}\n{a:?}\n{b:?}");
}

/// Array and index of a symbol of a traced program: `tau[3]`.
#[track_caller]
pub fn entry(symbol: &str) -> (&str, usize) {
    let (array, index) = symbol
        .trim_end_matches(']')
        .split_once('[')
        .expect("an entry of an array");
    (array, index.parse().expect("a number"))
}

/// Reports that a test is skipped where `cpu`, detected or requested, is the baseline.
pub fn skipped_on_baseline(cpu: Cpu) -> bool {
    let skipped = cpu == Cpu::Baseline;
    if skipped {
        let test = std::thread::current();
        let name = test.name().unwrap_or("a test").to_string();
        eprintln!(
            "skipped: {name} needs AVX2, which this processor lacks or `CATENA_CPU` disables"
        );
    }
    skipped
}

/// The state of a row of four-bars (`four-bar-N`) in which all are parallelograms, the cranks at `phi`.
pub fn parallelogram(model: &Model, phi: f64, rate: f64) -> State {
    let alternating = |x: f64| -> Vec<f64> {
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..model.nv()).map(|k| sign(k) * x).collect()
    };
    State::new(model, &alternating(phi), &alternating(rate)).expect("finite")
}
