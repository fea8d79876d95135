//! Accelerations v̇ from efforts τ in O(n): the UDUᵀ factorization and the bias forces in the same sweeps.
//!
//! Saha (1999), section 5.2, eqs. 33–37 and appendix B, merged with the bias so that one sweep inward does both (the
//! classical articulated-body form). Reference points are on the joints, accelerations are those of the bodies' origins:
//!
//! ```text
//! base to tips   ωᵢ = Rᵢᵀ ωₚ + Pᵢ v                                                     (1)
//!                βᵢ = twist rate of body i when v̇ᵢ = 0 and the parent does not accelerate (2)
//!                zᵢ = (ω × Ī ω;  ω × (ω × h)) − w(ext)                                   (3)
//! tips to base   ψ, 1/m̂, M̂' of joint i                                       (Factorization)
//!                τ̂ = τ − Pᵀ z,   z' = z + ψ τ̂ + M̂' β                                     (4)
//!                M̂ₚ += Bᵀ M̂' B,   zₚ += Bᵀ z'                                            (5)
//! base to tips   ṫᵢ = B ṫₚ + βᵢ,   v̇ᵢ = τ̂/m̂ − ψᵀ ṫᵢ,   ṫᵢ += Pᵢ v̇ᵢ        ṫ₀ = (ω̇₀; r̈₀ − g)  (6)
//! ```
//!
//! In (4) the component of z' along the joint is written as τ (less the rotor's share), not summed, and M̂' has exact zeros
//! there: that keeps chains of hundreds of spherical joints right to round-off.

use crate::algorithm::factorization::Factorization;
use crate::algorithm::{Card, passive};
use crate::model::Model;
use crate::model::joint::{Joint, Pivots, PivotsMut, with_joint};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Motion, Vec3};
use crate::state::Base;

/// Articulated bodies.
pub const CARD: Card = Card {
    name: "Articulated bodies through UDUᵀ (RFDSIM)",
    question: "forward dynamics",
    call: "forward_dynamics",
    file: "algorithm/forward_dynamics/articulated_bodies.rs",
    order: "O(n)",
    source: "Saha 1999, sec. 5.2, eqs. 33–37; Featherstone 1983",
};

/// Workspace of [`forward_dynamics`].
#[derive(Clone, Debug)]
#[doc(alias = "ABA")]
#[doc(alias = "RFDSIM")]
pub struct ForwardDynamics<S> {
    /// The factorization of I(q), complete after a call: solve with it at no further cost.
    pub factors: Factorization<S>,
    omega: Vec<Vec3<S>>,  // (1), kept where the tree branches
    beta: Vec<Motion<S>>, // (2)
    z: Vec<Force<S>>,     // (3), then gathers (5)
    effort: Vec<S>,       // τ less passive forces
    freed: Vec<S>,        // τ̂/m̂
    rate: Vec<Motion<S>>, // (6), kept where the tree branches
}

impl<S: Scalar> ForwardDynamics<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        ForwardDynamics {
            factors: Factorization::new(model),
            omega: vec![Vec3::zero(); n],
            beta: vec![Motion::zero(); n],
            z: vec![Force::zero(); n],
            effort: vec![S::zero(); nv],
            freed: vec![S::zero(); nv],
            rate: vec![Motion::zero(); n],
        }
    }
}

/// v̇ with I v̇ + C v + gravity + passive = τ + Jᵀ w(ext).
///
/// `external` holds a wrench on every body 0…n, in body axes about the body's origin (entry 0 is not used), or nothing.
pub fn forward_dynamics<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    tau: &[S],
    base: &Base<S>,
    external: &[Force<S>],
    work: &mut ForwardDynamics<S>,
    vdot: &mut [S],
) {
    kernel(model, q, v, tau, base, external, work, vdot);
}

/// The recursion itself, inlined into the caller so that it is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    v: &[S],
    tau: &[S],
    base: &Base<S>,
    external: &[Force<S>],
    work: &mut ForwardDynamics<S>,
    vdot: &mut [S],
) {
    let tree = model.tree();
    let n = model.body_count();
    let factors = &mut work.factors;
    factors.angles.fill(tree, q);
    work.effort.copy_from_slice(tau);
    if tree.has_passive_forces {
        for k in 0..model.nv() {
            work.effort[k] -= passive::passive_force(model, q, v, k);
        }
    }

    // base to tips
    let to_base = base.pose.rotation;
    let mut omega = to_base.transpose_times(base.velocity.angular);
    work.omega[0] = omega;
    for i in 1..=n {
        let info = tree.nodes[i];
        if info.parent + 1 != i {
            omega = work.omega[info.parent];
        }
        let setting = model.setting(i, &factors.angles);
        let pose = with_joint!(info.kind, J => { J::<S>::pose(setting, &q[info.q..]) });
        factors.pose[i] = pose;
        let carried = Motion::new(pose.rotation.transpose_times(omega), Vec3::zero());
        let centripetal = omega.cross(omega.cross(pose.translation));
        let mut beta = with_joint!(info.kind, J => {
            let v = &v[info.v..];
            let joint = J::<S>::at(setting, &pose);
            omega = joint.plus(carried, v).angular; // (1)
            joint.bias(carried.angular, v)
        });
        beta.linear += pose.rotation.transpose_times(centripetal); // (2)
        work.beta[i] = beta;
        if info.gathers {
            work.omega[i] = omega;
        }
        work.z[i] = model.inertia::<S>(i).gyroscopic(omega); // (3)
        if info.gathers {
            factors.articulated[i] = ArticulatedInertia::zero();
        }
    }
    if !external.is_empty() {
        for i in 1..=n {
            work.z[i] = work.z[i] - external[i];
        }
    }

    // tips to base
    let mut inertia_down = ArticulatedInertia::zero();
    let mut z_down = Force::zero();
    for i in (1..=n).rev() {
        let info = tree.nodes[i];
        let mut inertia = model.inertia::<S>(i).articulated() + inertia_down;
        if info.gathers {
            inertia = inertia + factors.articulated[i];
        }
        factors.articulated[i] = inertia;
        let z = work.z[i] + z_down;
        let setting = model.setting(i, &factors.angles);
        let (rest, through) = with_joint!(info.kind, J => {
            let range = info.v..info.v + J::<S>::NV;
            let joint = J::<S>::at(setting, &factors.pose[i]);
            let dofs = &model.dofs[range.clone()];
            let rest = joint.eliminate(inertia, PivotsMut {
                psi: &mut factors.psi[range.clone()],
                inverse: &mut factors.inverse[range.clone()],
                dofs,
            });
            let pivots = Pivots {
                psi: &factors.psi[range.clone()],
                inverse: &factors.inverse[range.clone()],
                dofs,
            };
            let through = joint.inward(z, &work.effort[range.clone()], pivots, &mut work.freed[range]);
            (rest, through)
        });
        let through = through + rest.times(work.beta[i]); // (4)
        if info.parent == 0 {
            inertia_down = ArticulatedInertia::zero();
            z_down = Force::zero();
        } else {
            inertia_down = rest.seen_from(factors.pose[i]); // (5)
            z_down = factors.pose[i].force_out(through);
            if info.parent + 1 != i {
                let parent = info.parent;
                factors.articulated[parent] = factors.articulated[parent] + inertia_down;
                work.z[parent] += z_down;
                inertia_down = ArticulatedInertia::zero();
                z_down = Force::zero();
            }
        }
    }

    // base to tips
    let mut rate = Motion::new(
        to_base.transpose_times(base.acceleration.angular),
        to_base.transpose_times(base.acceleration.linear - model.gravity.lift()),
    );
    work.rate[0] = rate;
    for i in 1..=n {
        let info = tree.nodes[i];
        if info.parent + 1 != i {
            rate = work.rate[info.parent];
        }
        let setting = model.setting(i, &factors.angles);
        let carried = factors.pose[i].motion_into(rate) + work.beta[i];
        rate = with_joint!(info.kind, J => {
            let range = info.v..info.v + J::<S>::NV;
            let joint = J::<S>::at(setting, &factors.pose[i]);
            let pivots = Pivots {
                psi: &factors.psi[range.clone()],
                inverse: &factors.inverse[range.clone()],
                dofs: &model.dofs[range.clone()],
            };
            joint.outward(carried, &work.freed[range.clone()], pivots, &mut vdot[range]) // (6)
        });
        if info.gathers {
            work.rate[i] = rate;
        }
    }
}
