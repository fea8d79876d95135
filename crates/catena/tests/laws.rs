//! Every law of `catena::laws` on the embedded models and on random trees of up to 60 bodies with all joints and bases.

use catena::laws;
use catena::model::embedded;

// docs/validation.md states these numbers
const SMALL_TREES: u64 = 400;
const LARGE_TREES: u64 = 100;

fn assert_laws(name: &str, states: usize, seed: u64) {
    let model = embedded::model(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    for result in laws::run(&model, states, seed) {
        assert!(
            result.holds(),
            "{name}: {} ({}): residual {:.2e}, allowed {:.2e}",
            result.law,
            result.routes,
            result.residual,
            result.tolerance
        );
    }
}

#[test]
fn embedded_models() {
    for name in [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "pendulum-1",
        "pendulum-12",
        "chain-1",
        "chain-7",
        "chain-40",
        "floating-chain-9",
        "spherical-chain-12",
    ] {
        assert_laws(name, 4, 11);
    }
}

#[test]
fn small_random_trees() {
    for seed in 1..=SMALL_TREES {
        assert_laws(&format!("random-{}-{seed}", 1 + seed % 12), 2, seed);
    }
}

#[test]
fn large_random_trees() {
    for seed in 1..=LARGE_TREES {
        assert_laws(&format!("random-{}-{seed}", 25 + (seed * 7) % 36), 1, seed);
    }
}

#[test]
fn every_law_is_reported() {
    let model = embedded::model("zoo").unwrap();
    assert_eq!(laws::run(&model, 1, 1).len(), 22);
}

/// A law that is broken by a part in 10⁹ does not hold, and neither does one with a residual that is not a number.
#[test]
fn a_wrong_number_is_detected() {
    let result = laws::LawResult {
        law: "",
        routes: "",
        residual: 1e-9,
        tolerance: 1e-11,
    };
    assert!(!result.holds());
    let result = laws::LawResult {
        residual: f64::NAN,
        ..result
    };
    assert!(!result.holds());
}
