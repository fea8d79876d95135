//! The implicit midpoint rule on the manifold.
//!
//! ```text
//! q_m = q ⊕ h/2 v_m,   v_m = (v + v₁)/2                                                            (1)
//! v₁  = v + h a(t + h/2, q_m, v_m)                                                                 (2)
//! q₁  = q ⊕ h v_m                                                                                  (3)
//! ```
//!
//! Order 2, symmetric: the energy error of a conservative system is of order h² and does not grow. (1)–(2) are a fixed point
//! of x = a(t + h/2, q ⊕ h/2 (v + h/2 x), v + h/2 x), found by Anderson's acceleration of depth 1 from the acceleration
//! extrapolated from the previous two steps, to 10⁻¹⁵ of v_m or until the changes stagnate at round-off: at 10⁻¹³ of v_m, or, where v_m is
//! small, at a change that moves no coordinate by more than its own round-off within the step.

use super::Mechanical;
use super::stages::{Motion, Workspace, accelerate, combine, weigh};
use crate::card::Card;
use crate::error::{Error, ErrorKind, Result};

/// Implicit midpoint.
pub const CARD: Card = Card {
    name: "Implicit midpoint on the manifold",
    question: "integration in time",
    call: "Fixed",
    file: "integrate/implicit_midpoint.rs",
    order: "one evaluation per iteration, about 5",
    source: "Hairer, Lubich & Wanner 2006, sec. II.1, VI.4; Anderson 1965",
};

const MOST_ITERATIONS: usize = 100;
/// Change of v_m, relative to v_m, at which the iteration ends.
const DONE: f64 = 1e-15;
/// Change of v_m, relative to v_m, at which an iteration that no longer converges ends: round-off.
const STALLED: f64 = 1e-13;

pub(super) fn step<S: Mechanical + ?Sized>(
    system: &mut S,
    t: f64,
    h: f64,
    motion: &mut Motion,
    work: &mut Workspace,
) -> Result<()> {
    let Workspace {
        q: q_middle,
        v: [v_middle, residual, residual_before, _],
        a: [x, image, image_before, _],
        delta,
        evaluations,
        memory,
        ..
    } = work;
    let half = 0.5 * h;
    match memory.steps {
        0 => accelerate(system, t, &motion.q, &motion.v, x, evaluations)?,
        1 => x.copy_from_slice(&memory.last),
        _ => weigh(x, [(2.0, &memory.last), (-1.0, &memory.before)]),
    }
    // largest coordinate; angles and quaternions are of order 1
    let farthest = motion.q.iter().fold(1.0f64, |m, q| m.max(q.abs()));
    let mut change_before = f64::INFINITY;
    for iteration in 0..MOST_ITERATIONS {
        combine(v_middle, &motion.v, [(half, x)]);
        q_middle.copy_from_slice(&motion.q);
        weigh(delta, [(half, v_middle)]);
        system.step(q_middle, delta);
        accelerate(system, t + half, q_middle, v_middle, image, evaluations)?;

        let mut change: f64 = 0.0;
        let mut size: f64 = 0.0;
        for (((r, g), x), v) in residual.iter_mut().zip(&*image).zip(&*x).zip(&*v_middle) {
            *r = g - x;
            change = change.max(half * r.abs());
            size = size.max(v.abs()).max(half * g.abs());
        }
        let stalled = (STALLED * size).max(f64::EPSILON * farthest / h.abs());
        if change <= DONE * size || (change >= change_before && change <= stalled) {
            combine(v_middle, &motion.v, [(half, image)]);
            weigh(delta, [(h, v_middle)]);
            system.step(&mut motion.q, delta);
            for (v, a) in motion.v.iter_mut().zip(&*image) {
                *v += h * a;
            }
            std::mem::swap(&mut memory.before, &mut memory.last);
            memory.last.copy_from_slice(image);
            memory.steps = (memory.steps + 1).min(2);
            return Ok(());
        }
        change_before = change;

        // x ← g − γ (g − g₋), where γ minimises the residual r − γ (r − r₋)
        let mut gamma = 0.0;
        if iteration > 0 {
            let (mut along, mut squares) = (0.0, 0.0);
            for (r, r_before) in residual.iter().zip(&*residual_before) {
                along += r * (r - r_before);
                squares += (r - r_before) * (r - r_before);
            }
            if squares > 0.0 && (along / squares).is_finite() {
                gamma = along / squares;
            }
        }
        for ((x, g), g_before) in x.iter_mut().zip(&*image).zip(&*image_before) {
            *x = g - gamma * (g - g_before);
        }
        std::mem::swap(image, image_before);
        std::mem::swap(residual, residual_before);
    }
    Err(Error::new(
        ErrorKind::Integration,
        format!(
            "the implicit step did not converge in {MOST_ITERATIONS} iterations; the velocity at its middle still changes by \
             {change_before:.3e}"
        ),
    )
    .hint("use a smaller step: it must resolve the oscillations of the stiffest force"))
}
