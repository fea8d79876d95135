//! Why a step failed, and the error when no smaller one succeeds.

use super::{Implicit, Role};
use crate::error::{Error, ErrorKind};
use crate::integrate::at_time;

/// Why a step of some size and order cannot be taken.
#[derive(Debug)]
pub(super) enum Failure {
    /// The error in units of the tolerance, and the estimate from which the next size follows.
    TooInexact { error: f64, estimate: f64 },
    /// Newton's method does not converge; its rate, and the unknown that changed most.
    NoConvergence { rate: f64, component: usize },
    /// E or the solution of the linear system is non-finite at this component.
    NotFinite { component: usize, in_solution: bool },
    /// E cannot be evaluated, or its matrix cannot be used.
    Refused { error: Error, doing: &'static str },
}

/// Where steps fail.
pub(super) struct Tried {
    pub t: f64,
    /// The smallest of them.
    pub h: f64,
    /// Whether none has succeeded yet.
    pub at_start: bool,
    /// The unknown with the largest error.
    pub worst: Option<usize>,
}

impl Failure {
    pub(super) fn component(&self) -> Option<usize> {
        match self {
            Failure::NoConvergence { component, .. } | Failure::NotFinite { component, .. } => {
                Some(*component)
            }
            _ => None,
        }
    }

    /// The error when smaller steps do not help.
    pub(super) fn explain<P: Implicit + ?Sized>(&self, tried: Tried, problem: &P) -> Error {
        let Tried {
            t,
            h,
            at_start,
            worst,
        } = tried;
        let name = |component: Option<usize>| {
            component.map_or_else(|| "the problem".to_string(), |i| problem.name(i))
        };
        let inconsistent =
            "the initial values may not satisfy the equations: make them consistent first";
        match self {
            Failure::TooInexact { error, .. } => {
                let algebraic = worst.map(|i| problem.role(i)).filter(|role| *role != Role::Differential);
                let hint = match algebraic {
                    Some(Role::Algebraic { index: 1 }) if !at_start => {
                        "an algebraic unknown jumps here, or its index is higher than 1: say so by its role, or exclude \
                         algebraic unknowns from the error test"
                    }
                    _ if at_start => inconsistent,
                    _ => "loosen the tolerances, or look for a jump near this time",
                };
                Error::new(
                    ErrorKind::Integration,
                    format!(
                        "at t = {t} s: the step size fell to {h:.3e} s; the error of {} is {error:.3e} times the tolerance",
                        name(worst)
                    ),
                )
                .hint(hint)
            }
            Failure::NoConvergence { rate, component } => Error::new(
                ErrorKind::Integration,
                format!(
                    "at t = {t} s: Newton's method does not converge with steps down to {h:.3e} s; {} changes most, by \
                     {rate:.2} of the change before",
                    name(Some(*component))
                ),
            )
            .hint(if at_start {
                inconsistent
            } else {
                "the matrix of the linear system may be wrong, or the equations jump or lose rank near this time"
            }),
            Failure::NotFinite { component, in_solution } => Error::new(
                ErrorKind::Integration,
                if *in_solution {
                    format!("at t = {t} s: the correction of {} is not finite", name(Some(*component)))
                } else {
                    format!("at t = {t} s: equation {component} is not finite")
                },
            )
            .hint(format!(
                "steps down to {h:.3e} s do not help; look for a division by zero, or for a motion that reaches infinity"
            )),
            Failure::Refused { error, doing } => {
                let cause = at_time(error, t);
                let advice = cause.advice().map_or_else(String::new, |a| format!("; {a}"));
                Error::new(cause.kind(), format!("{} ({doing})", cause.message()))
                    .at(cause.place().clone())
                    .hint(format!("steps down to {h:.3e} s do not help{advice}"))
            }
        }
    }
}
