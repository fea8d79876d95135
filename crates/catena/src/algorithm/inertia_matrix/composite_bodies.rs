//! The generalized inertia matrix by composite bodies.
//!
//! Saha (1999), eqs. 23b and 24, for trees and joints with several freedoms:
//!
//! ```text
//! M̃ᵢ = Mᵢ + Σ_children Bᵀ M̃_child B       composite body i: body i and all beyond it, frozen     (23b)
//! Iᵢⱼ = Pᵢᵀ M̃ᵢ Bᵢⱼ Pⱼ                      for j on the path from body i to the base             (24)
//! ```
//!
//! M̃ᵢ is kept by its ten moments: composites of rigid bodies are rigid. Entries between different branches are zero.
//!
//! Everything is in the axes of the base, about the joint it belongs to: no digits are lost to a distant origin, and a wrench
//! M̃ᵢPᵢ on its way down the path costs six multiply-adds per joint (and three for the entry) instead of twenty-four. Body by
//! body inward, a row of I is the projection of the wrenches of all freedoms beyond: those of a subtree are numbered one
//! after another, and several of them share a register. The other triangle is copied in squares. Cost O(n d).

use super::columns::{Separate, Wrenches};
use crate::algorithm::{Angles, Card};
use crate::model::joint::{Joint, with_joint};
use crate::model::{JointKind, Model};
#[cfg(target_arch = "x86_64")]
use crate::quad::{QuadComposite, SMALL};
#[cfg(target_arch = "x86_64")]
use crate::scalar::Fused;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Force, Mat3, Motion, RigidInertia, Vec3};

/// Composite bodies.
pub const CARD: Card = Card {
    name: "Composite bodies",
    question: "inertia matrix",
    call: "inertia_matrix",
    file: "algorithm/inertia_matrix/composite_bodies.rs",
    order: "O(n d)",
    source: "Saha 1999, eqs. 23–24; Walker & Orin 1982",
};

/// Rows that are mirrored together.
const STRIP: usize = 64;

/// Workspace of [`inertia_matrix`].
#[derive(Clone, Debug)]
#[doc(alias = "CRBA")]
pub struct CompositeBodies<S, W = Separate<S>> {
    angles: Angles<S>,
    /// Axes of every body in those of the base.
    axes: Vec<Mat3<S>>,
    /// From the parent's joint to the body's.
    arm: Vec<Vec3<S>>,
    /// Pₖ by freedom.
    along: Vec<Motion<S>>,
    /// M̃ᵢ about the body's origin.
    composite: Vec<RigidInertia<S>>,
    /// M̃ᵢPᵢ by freedom, about its own joint.
    own: Vec<Force<S>>,
    /// The same on the way to the base: a column joins in when the others have reached its joint.
    wrenches: W,
    /// One past the last freedom of the subtree on each body.
    end: Vec<usize>,
}

#[allow(private_bounds)]
impl<S: Scalar, W: Wrenches<S>> CompositeBodies<S, W> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        let tree = model.tree();
        let mut end = vec![0; n];
        for i in (1..n).rev() {
            let info = tree.nodes[i];
            end[i] = end[i].max(info.v + info.kind.nv());
            end[info.parent] = end[info.parent].max(end[i]);
        }
        CompositeBodies {
            angles: Angles::new(tree),
            axes: vec![Mat3::identity(); n],
            arm: vec![Vec3::zero(); n],
            along: vec![Motion::zero(); nv],
            composite: vec![RigidInertia::zero(); n],
            own: vec![Force::zero(); nv],
            wrenches: W::new(nv),
            end,
        }
    }

    /// Body i and everything beyond it as one rigid body, in body axes about the body's origin; after a call.
    pub fn composite(&self, body: usize) -> RigidInertia<S> {
        self.composite[body].turned(self.axes[body].transpose())
    }
}

/// I(q), with rotor inertias on its diagonal, into a slice of nv × nv numbers, row after row.
pub fn inertia_matrix<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    work: &mut CompositeBodies<S>,
    inertia: &mut [S],
) {
    kernel(model, q, work, inertia);
}

/// The recursion itself, inlined into the caller so that it is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>, W: Wrenches<S>>(
    model: &Model<P>,
    q: &[S],
    work: &mut CompositeBodies<S, W>,
    inertia: &mut [S],
) {
    let tree = model.tree();
    let n = model.body_count();
    work.angles.fill(tree, q);
    for i in 1..=n {
        let info = tree.nodes[i];
        let setting = model.setting(i, &work.angles);
        let pose = with_joint!(info.kind, J => { J::<S>::pose(setting, &q[info.q..]) });
        let (axes, arm) = match info.parent {
            0 => (pose.rotation, Vec3::zero()),
            parent => {
                let parent = work.axes[parent];
                (parent * pose.rotation, parent * pose.translation)
            }
        };
        (work.axes[i], work.arm[i]) = (axes, arm);
        work.composite[i] = model.inertia(i).turned(axes);
        with_joint!(info.kind, J => {
            let joint = J::<S>::at(setting, &pose);
            for k in 0..J::<S>::NV {
                work.along[info.v + k] = joint.column_in(k, axes);
            }
        });
    }
    for i in (1..=n).rev() {
        let info = tree.nodes[i];
        let composite = work.composite[i];
        if info.parent != 0 {
            work.composite[info.parent] =
                work.composite[info.parent] + composite.shifted(work.arm[i]); // (23b)
        }
        if let JointKind::Revolute | JointKind::Continuous = info.kind {
            let axis = work.along[info.v].angular;
            work.own[info.v] = composite.momentum_of_turning(axis);
            continue;
        }
        for (k, &(_, turns)) in (info.v..).zip(info.kind.freedoms()) {
            let along = work.along[k];
            work.own[k] = match (turns, info.kind) {
                (_, JointKind::Helical) => composite.momentum(along),
                (true, _) => composite.momentum_of_turning(along.angular),
                (false, _) => composite.momentum_of_sliding(along.linear),
            };
        }
    }
    rows(model, work, inertia);
}

/// The rows of I, when directions, arms and wrenches of all freedoms are known.
#[inline(always)]
fn rows<S: Scalar, P: Parameter<S>, W: Wrenches<S>>(
    model: &Model<P>,
    work: &mut CompositeBodies<S, W>,
    inertia: &mut [S],
) {
    let tree = model.tree();
    let (n, nv) = (model.body_count(), model.nv());
    // rows from here on are complete in both triangles
    let mut mirrored = nv;
    for i in (1..=n).rev() {
        let info = tree.nodes[i];
        let (end, arm) = (work.end[i], work.arm[i]);
        for k in info.v..info.v + info.kind.nv() {
            work.wrenches.set(k, work.own[k]);
        }
        if let JointKind::Revolute | JointKind::Continuous = info.kind {
            let row = &mut inertia[info.v * nv..(info.v + 1) * nv];
            let axis = work.along[info.v].angular;
            work.wrenches.turn_and_hop(info.v..end, axis, arm, row); // (24)
            finish_row(model, info.v, end, row);
        } else {
            for (k, &(_, turns)) in (info.v..).zip(info.kind.freedoms()) {
                let along = work.along[k];
                let row = &mut inertia[k * nv..(k + 1) * nv];
                if info.kind == JointKind::Helical {
                    work.wrenches.project::<true, true>(k..end, along, row); // (24)
                } else if turns {
                    work.wrenches.project::<true, false>(k..end, along, row);
                } else {
                    work.wrenches.project::<false, true>(k..end, along, row);
                }
                finish_row(model, k, end, row);
            }
            if info.parent != 0 {
                work.wrenches.hop(info.v..end, arm);
            }
        }
        // a strip of rows at a time: whole cache lines of the columns they become, while the rows are still near
        while mirrored > info.v {
            let first = (mirrored - 1) / STRIP * STRIP;
            if first < info.v {
                break;
            }
            W::mirror(inertia, nv, first..mirrored);
            mirrored = first;
        }
    }
}

/// Zeros for other branches, and the rotor.
#[inline(always)]
fn finish_row<S: Scalar, P: Parameter<S>>(model: &Model<P>, k: usize, end: usize, row: &mut [S]) {
    for entry in &mut row[end..] {
        *entry = S::zero();
    }
    if model.tree().has_rotors {
        row[k] += model.dofs[k].armature.lift();
    }
}

/// The recursion for one state, with a vector in each register where it goes body by body.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn quad_kernel<W: Wrenches<Fused>>(
    model: &Model,
    q: &[Fused],
    quads: &mut QuadComposite,
    work: &mut CompositeBodies<Fused, W>,
    inertia: &mut [Fused],
) {
    if model.nv() <= SMALL {
        return quads.by_columns(model, q, inertia);
    }
    let CompositeBodies {
        along, arm, own, ..
    } = work;
    quads.set_up(model, q, along, arm, own);
    rows(model, work, inertia);
}
