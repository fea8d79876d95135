//! The classical method of order 4, on the manifold, commutator-free.
//!
//! ```text
//! v₁ = v                     a₁ = a(t, q, v₁)
//! v₂ = v + h/2 a₁            a₂ = a(t + h/2, q₂, v₂)      q₂ = q ⊕ h/2 v₁                           (1)
//! v₃ = v + h/2 a₂            a₃ = a(t + h/2, q₃, v₃)      q₃ = q ⊕ h/2 v₂                           (2)
//! v₄ = v + h a₃              a₄ = a(t + h, q₄, v₄)        q₄ = q₂ ⊕ h (v₃ − v₁/2)                   (3)
//! q ← q ⊕ h/12 (3v₁ + 2v₂ + 2v₃ − v₄) ⊕ h/12 (−v₁ + 2v₂ + 2v₃ + 3v₄)                              (4)
//! v ← v + h/6 (a₁ + 2a₂ + 2a₃ + a₄)                                                               (5)
//! ```
//!
//! In a vector space this is the classical method.

use super::Mechanical;
use super::stages::{Motion, Workspace, accelerate, combine, weigh};
use crate::card::Card;
use crate::error::Result;

/// Runge–Kutta 4 on the manifold.
pub const CARD: Card = Card {
    name: "Runge–Kutta 4 on the manifold",
    question: "integration in time",
    call: "Fixed",
    file: "integrate/runge_kutta4.rs",
    order: "4 evaluations per step",
    source: "Celledoni, Marthinsen & Owren 2003, commutator-free method of order 4",
};

pub(super) fn step<S: Mechanical + ?Sized>(
    system: &mut S,
    t: f64,
    h: f64,
    motion: &mut Motion,
    work: &mut Workspace,
) -> Result<()> {
    let Workspace {
        q: q2,
        q_other: q_stage,
        v: [v1, v2, v3, v4],
        a: [a1, a2, a3, a4],
        delta,
        evaluations,
        ..
    } = work;
    let middle = t + 0.5 * h;
    v1.copy_from_slice(&motion.v);
    accelerate(system, t, &motion.q, v1, a1, evaluations)?;

    q2.copy_from_slice(&motion.q);
    weigh(delta, [(0.5 * h, v1)]);
    system.step(q2, delta);
    combine(v2, v1, [(0.5 * h, a1)]);
    accelerate(system, middle, q2, v2, a2, evaluations)?;

    q_stage.copy_from_slice(&motion.q);
    weigh(delta, [(0.5 * h, v2)]);
    system.step(q_stage, delta);
    combine(v3, v1, [(0.5 * h, a2)]);
    accelerate(system, middle, q_stage, v3, a3, evaluations)?;

    q_stage.copy_from_slice(q2);
    weigh(delta, [(h, v3), (-0.5 * h, v1)]);
    system.step(q_stage, delta);
    combine(v4, v1, [(h, a3)]);
    accelerate(system, t + h, q_stage, v4, a4, evaluations)?;

    let (one, two, three) = (h / 12.0, h / 6.0, h / 4.0);
    weigh(delta, [(three, v1), (two, v2), (two, v3), (-one, v4)]);
    system.step(&mut motion.q, delta);
    weigh(delta, [(-one, v1), (two, v2), (two, v3), (three, v4)]);
    system.step(&mut motion.q, delta);
    let (sixth, third) = (h / 6.0, h / 3.0);
    combine(
        &mut motion.v,
        v1,
        [(sixth, a1), (third, a2), (third, a3), (sixth, a4)],
    );
    Ok(())
}
