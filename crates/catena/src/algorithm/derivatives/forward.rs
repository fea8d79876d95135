//! ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ = I⁻¹ of forward dynamics.
//!
//! Inverse dynamics of the accelerations that forward dynamics gives are the efforts it was given, whatever q and v:
//!
//! ```text
//! τ(q, v, v̇(q, v, τ)) = τ    ⇒    I ∂v̇/∂q = −∂τ/∂q,   I ∂v̇/∂v = −∂τ/∂v,   I ∂v̇/∂τ = 1        (at v̇ of this state)
//! ```
//!
//! (Carpentier & Mansard 2018.) The right-hand sides are those of [`inverse`]; they are solved together
//! through the factorization that forward dynamics leaves behind, in O(n) per column
//! ([`columns`](crate::algorithm::factorization::columns)), so that no product of two dense matrices is ever formed.
//!
//! External wrenches are constant in body axes. What a wrench w on body b adds, in body axes about the body's origin, is
//! ∂v̇/∂w = I⁻¹ Jᵀ with the body Jacobian J
//! ([`body_jacobian`](crate::algorithm::kinematics::body_jacobian)); ∂τ/∂w = −Jᵀ.

use super::inverse;
use super::pack::{One, Pack};
use crate::algorithm::Card;
use crate::algorithm::factorization::Factorization;
use crate::algorithm::factorization::columns::Columns;
use crate::algorithm::forward_dynamics::{ForwardDynamics, articulated_bodies};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Force;
use crate::state::Base;

/// Derivatives of forward dynamics.
pub const CARD: Card = Card {
    name: "Derivatives of forward dynamics",
    question: "derivatives of forward dynamics",
    call: "forward_dynamics_derivatives",
    file: "algorithm/derivatives/forward.rs",
    order: "O(n²)",
    source: "Carpentier & Mansard 2018; solved through UDUᵀ",
};

/// v̇ and its derivatives, nv × nv each. Row: acceleration; column: freedom.
#[derive(Clone, Debug)]
pub struct ForwardDerivatives<S = f64> {
    /// v̇.
    pub vdot: Vec<S>,
    /// ∂v̇/∂q, along the increments of [`State::step`](crate::State::step).
    pub dq: Matrix<S>,
    /// ∂v̇/∂v.
    pub dv: Matrix<S>,
    /// ∂v̇/∂τ, the inverse of the inertia matrix.
    pub dtau: Matrix<S>,
}

impl<S: Scalar> ForwardDerivatives<S> {
    /// Room for the derivatives of this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let nv = model.nv();
        ForwardDerivatives {
            vdot: vec![S::zero(); nv],
            dq: Matrix::zeros(nv, nv),
            dv: Matrix::zeros(nv, nv),
            dtau: Matrix::zeros(nv, nv),
        }
    }
}

/// Workspace of [`forward_dynamics_derivatives`].
#[derive(Clone, Debug)]
pub struct ForwardDerivativesWork<S: Scalar> {
    forward: ForwardDynamics<S>,
    inverse: inverse::Work<S, One>,
    columns: Columns<S, One>,
}

impl<S: Scalar> ForwardDerivativesWork<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        ForwardDerivativesWork {
            forward: ForwardDynamics::new(model),
            inverse: inverse::Work::new(model),
            columns: Columns::new(model),
        }
    }
}

/// v̇ of [`forward_dynamics`](crate::algorithm::forward_dynamics::forward_dynamics) and its derivatives at (q, v, τ).
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing. They
/// are taken as constant in body axes.
pub fn forward_dynamics_derivatives<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    tau: &[S],
    base: &Base<S>,
    external: &[Force<S>],
    work: &mut ForwardDerivativesWork<S>,
    derivatives: &mut ForwardDerivatives<S>,
) {
    articulated_bodies::kernel(
        model,
        q,
        v,
        tau,
        base,
        external,
        &mut work.forward,
        &mut derivatives.vdot,
    );
    kernel(
        model,
        [q, v, &derivatives.vdot],
        base,
        external,
        &work.forward.factors,
        (&mut work.inverse, &mut work.columns),
        [
            derivatives.dq.as_mut_slice(),
            derivatives.dv.as_mut_slice(),
            derivatives.dtau.as_mut_slice(),
        ],
    );
}

/// The derivatives at an acceleration already known, with the factors of the configuration. Inlined into the caller so that it
/// is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>, K: Pack<S>>(
    model: &Model<P>,
    state: [&[S]; 3],
    base: &Base<S>,
    external: &[Force<S>],
    factors: &Factorization<S>,
    (inverse, columns): (&mut inverse::Work<S, K>, &mut Columns<S, K>),
    out: [&mut [S]; 3],
) {
    recursion(model, state, base, external, factors, (inverse, columns));
    solve(model, (inverse, columns), out);
}

/// The first half of the kernel, linear in the number of bodies.
#[inline(always)]
pub(crate) fn recursion<S: Scalar, P: Parameter<S>, K: Pack<S>>(
    model: &Model<P>,
    state: [&[S]; 3],
    base: &Base<S>,
    external: &[Force<S>],
    factors: &Factorization<S>,
    (inverse, columns): (&mut inverse::Work<S, K>, &mut Columns<S, K>),
) {
    inverse::recursion(model, state, base, external, Some(factors), inverse);
    columns.prepare_at(model, factors, &inverse.body);
}

/// The second half: everything that has columns.
#[inline(always)]
pub(crate) fn solve<S: Scalar, P: Parameter<S>, K: Pack<S>>(
    model: &Model<P>,
    (inverse, columns): (&mut inverse::Work<S, K>, &mut Columns<S, K>),
    [dq, dv, dtau]: [&mut [S]; 3],
) {
    let nv = model.nv();
    if columns.written_out() {
        let packs = nv.div_ceil(K::WIDTH);
        let width = 3 * packs;
        columns.write_out();
        inverse::into_panel(model, inverse, columns.panel(width), width);
        columns.identity(width, 2 * packs);
        columns.substitute(width, 2 * packs, -S::one());
        columns.write(width, 0, nv, dq);
        columns.write(width, packs, nv, dv);
        columns.write(width, 2 * packs, nv, dtau);
    } else {
        inverse::sums_over_pairs::<S, P, K, false>(model, inverse, [dq, dv, &mut []]);
        columns.solve(model, [dq, dv], nv, -S::one());
        columns.inverse(model, dtau);
    }
}
