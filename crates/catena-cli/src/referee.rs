//! Where two methods in `f64` disagree, or where there is only one, the recursions in double-double arithmetic give the error.

use crate::number::rough;
use catena::algorithm::coupled::CoupledDynamics;
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::closed_chain::Accuracy;
use catena::error::Result;
use catena::residual::{larger, within};
use catena::scalar::DoubleDouble;
use catena::spatial::Force;
use catena::{Dynamics, Model, State};

/// Doubles as double-doubles, exactly.
pub fn lifted(numbers: &[f64]) -> Vec<DoubleDouble> {
    numbers.iter().map(|&x| x.into()).collect()
}

fn loads(external: &[Force<f64>]) -> Vec<Force<DoubleDouble>> {
    let load = |f: &Force<f64>| Force::new(f.moment.lift(), f.force.lift());
    external.iter().map(load).collect()
}

/// The efforts of a tree that give it these accelerations.
pub fn efforts(
    model: &Model,
    state: &State,
    acceleration: &[f64],
    external: &[Force<f64>],
) -> Vec<DoubleDouble> {
    let state = state.lift();
    let mut tau = lifted(acceleration);
    if let Some(couplings) = model.couplings() {
        let tree = model.clone().open_tree();
        let vdot = tau.clone();
        let external = loads(external);
        CoupledDynamics::new(&tree, couplings).inverse(
            &tree,
            couplings,
            state.view(),
            &vdot,
            &external,
            &mut tau,
        );
        return tau;
    }
    let mut work = InverseDynamics::new(model);
    inverse_dynamics(
        model,
        state.view(),
        &lifted(acceleration),
        &loads(external),
        &mut work,
        &mut tau,
    );
    tau
}

/// Accelerations that are wrong by more than this, relatively, make the exit code 1.
pub const ALLOWED: f64 = 1e-9;

/// Error of the accelerations of a tree under these efforts.
pub fn acceleration_error(
    dynamics: &mut Dynamics,
    state: &State,
    effort: &[f64],
    external: &[Force<f64>],
) -> Result<f64> {
    let found = dynamics.forward(state, effort, external)?.to_vec();
    dynamics.accuracy(state, effort, external, &found)
}

/// Message of the commands where the accelerations of a tree have lost digits.
pub const LOST: &str = "Large forces cancel here, or the inertia matrix is ill-conditioned: double precision loses digits.";

/// A state that violates its constraints by no more, m or rad, m/s or rad/s, is closed to round-off.
const ROUND_OFF: f64 = 1e-12;

/// Rows that count as dependent are dependent to round-off, or to this fraction of the largest.
const DEPENDENT: f64 = 1e-13;

/// Is the state closed to round-off?
pub fn is_closed(accuracy: Accuracy) -> bool {
    accuracy.violation <= ROUND_OFF
}

/// Which error of a closed chain must be within [`ALLOWED`]. For a state that its user closed to a few digits, only that of the arithmetic: the other
/// one shows the effect of these digits.
pub fn closed_error(accuracy: Accuracy) -> f64 {
    match is_closed(accuracy) {
        true => accuracy.error(),
        false => accuracy.arithmetic,
    }
}

/// The errors of a closed chain as lines of text.
pub fn closed_words(accuracy: Accuracy) -> String {
    let Accuracy {
        arithmetic,
        closing,
        violation,
        ignored,
    } = accuracy;
    let mut text = format!(
        "  check: double-double arithmetic differs by {} from the accelerations, {}; allowed {}",
        rough(arithmetic),
        match closing.is_finite() {
            true => format!("at the nearest closed state by {}", rough(closing)),
            false => "and finds no closed state nearby".into(),
        },
        rough(ALLOWED)
    );
    if violation > ROUND_OFF {
        text += &format!(
            " without closing: the state violates the constraints by {}",
            rough(violation)
        );
    }
    text.push('\n');
    if ignored > DEPENDENT {
        text += &format!(
            "  Remark: a row counts as dependent that differs from the others by {} of the largest row; whether it holds is not known.\n",
            rough(ignored)
        );
    } else if !within(closed_error(accuracy), ALLOWED) {
        text += "  Remark: double precision has too few digits here, near a singular position or with masses that differ by many powers of ten.\n";
    }
    text
}

/// Error of `f64` results, relative to the largest of the exact ones.
pub fn error(found: &[f64], right: &[DoubleDouble]) -> f64 {
    let scale = right.iter().fold(0.0, |m, x| larger(m, x.value().abs()));
    let off = found.iter().zip(right).fold(0.0, |m, (x, right)| {
        larger(m, (DoubleDouble::from(*x) - *right).value().abs())
    });
    // all numbers may be zero
    if off == 0.0 { 0.0 } else { off / scale }
}
