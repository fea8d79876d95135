//! catena's algorithms run symbolically, and straight-line code generated from them.
//!
//! [`Expr`] is a [`catena::Scalar`]: the recursions on trees run in it unchanged and give expressions instead of
//! numbers. They are simplified as they are created and shared by construction. [`Program`] extracts them from their
//! graph, optimised and in order.
//!
//! ```
//! use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
//! use catena::{Base, StateView, model::embedded};
//! use catena_symbolic::{Expr, Program, scope};
//!
//! let model = embedded::model("planar3")?;
//! let program = scope(|| {
//!     let [q, v, vdot] = ["q", "v", "vdot"].map(|name| Expr::symbols(name, 3));
//!     let mut tau = q.clone();
//!     let mut work = InverseDynamics::new(&model);
//!     let state = StateView { q: &q, v: &v, base: &Base::fixed() };
//!     inverse_dynamics(&model, state, &vdot, &[], &mut work, &mut tau);
//!     Program::new(&tau)
//! });
//! let tau = program.evaluate(|name| if name.starts_with('q') { 0.3 } else { 0.0 });
//! assert_eq!(tau.len(), 3);
//! # Ok::<(), catena::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod calculus;
pub mod derive;
mod expr;
mod formula;
mod function;
pub mod generate;
mod graph;
pub mod math;
#[cfg(target_arch = "x86_64")]
pub mod native;
mod number;
mod optimize;
mod program;
mod traffic;

pub use calculus::{evaluate, gradient, jacobian, rates, substitute};
pub use expr::{Comparison, Expr, node_count, scope};
pub use formula::Formula;
pub use function::{Function, Trace};
pub use program::Program;
