//! Semi-implicit (symplectic) Euler.
//!
//! ```text
//! v ← v + h a(t, q, v)                                                                            (1)
//! q ← q ⊕ h v                                                                                     (2)
//! ```
//!
//! Order 1. Symplectic if a does not depend on v: the energy error is of order h and does not grow.

use super::Mechanical;
use super::stages::{Motion, Workspace, accelerate, weigh};
use crate::card::Card;
use crate::error::Result;

/// Semi-implicit Euler.
pub const CARD: Card = Card {
    name: "Semi-implicit Euler",
    question: "integration in time",
    call: "Fixed",
    file: "integrate/semi_implicit_euler.rs",
    order: "1 evaluation per step",
    source: "de Vogelaere 1956; Hairer, Lubich & Wanner 2006, sec. I.1",
};

pub(super) fn step<S: Mechanical + ?Sized>(
    system: &mut S,
    t: f64,
    h: f64,
    motion: &mut Motion,
    work: &mut Workspace,
) -> Result<()> {
    let acceleration = &mut work.a[0];
    accelerate(
        system,
        t,
        &motion.q,
        &motion.v,
        acceleration,
        &mut work.evaluations,
    )?;
    for (v, a) in motion.v.iter_mut().zip(acceleration) {
        *v += h * *a;
    }
    weigh(&mut work.delta, [(h, &motion.v)]);
    system.step(&mut motion.q, &work.delta);
    Ok(())
}
