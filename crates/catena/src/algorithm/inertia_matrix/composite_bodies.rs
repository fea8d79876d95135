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
//! body inward, a row of I is the projection of the wrenches of all freedoms beyond, which are numbered one after another. Cost
//! O(n d). For single states the entries are made several of a row at a time (`entries.rs`).

use super::Part;
use super::entries::{self, Entries, Numbers};
#[cfg(target_arch = "x86_64")]
use crate::algorithm::pack::Register;
use crate::algorithm::pack::{GROUP, Sink, write_force, write_motion, write_vec};
use crate::algorithm::{Angles, Card};
use crate::model::joint::{Joint, with_joint};
use crate::model::{JointKind, Model};
#[cfg(target_arch = "x86_64")]
use crate::quad::{QuadComposite, SMALL};
#[cfg(target_arch = "x86_64")]
use crate::scalar::{Fused, Vector, Wide};
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

/// Workspace of [`inertia_matrix`].
#[derive(Clone, Debug)]
#[doc(alias = "CRBA")]
pub struct CompositeBodies<S> {
    angles: Angles<S>,
    /// Axes of every body in those of the base.
    axes: Vec<Mat3<S>>,
    /// From the parent's joint to the body's, and from that of the root of the tree.
    arm: Vec<Vec3<S>>,
    origin: Vec<Vec3<S>>,
    /// Pₖ by freedom.
    along: Vec<Motion<S>>,
    /// M̃ᵢ about the body's origin.
    composite: Vec<RigidInertia<S>>,
    /// M̃ᵢPᵢ by freedom, about its own joint.
    own: Vec<Force<S>>,
    /// The same on the way to the base: a column joins in when the others have reached its joint.
    wrenches: Vec<Force<S>>,
    /// One past the last freedom of the subtree on each body.
    end: Vec<usize>,
}

impl<S: Scalar> CompositeBodies<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        let tree = model.tree();
        CompositeBodies {
            angles: Angles::new(tree),
            axes: vec![Mat3::identity(); n],
            arm: vec![Vec3::zero(); n],
            origin: vec![Vec3::zero(); n],
            along: vec![Motion::zero(); nv],
            composite: vec![RigidInertia::zero(); n],
            own: vec![Force::zero(); nv],
            wrenches: vec![Force::zero(); nv],
            end: tree.ends(),
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
    kernel(model, q, work, Part::Whole, inertia);
}

/// The recursion itself, inlined into the caller so that it is compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    work: &mut CompositeBodies<S>,
    part: Part,
    inertia: &mut [S],
) {
    bodies(model, q, work);
    rows(model, work, part, inertia);
}

/// Directions, arms and wrenches of all freedoms.
#[inline(always)]
fn bodies<S: Scalar, P: Parameter<S>>(model: &Model<P>, q: &[S], work: &mut CompositeBodies<S>) {
    work.angles.fill(model.tree(), q);
    for i in 1..=model.body_count() {
        place(model, q, work, i);
    }
    for i in (1..=model.body_count()).rev() {
        gather(model, work, i);
    }
}

/// Base to tips: axes, arm, inertia and directions of body i in the axes of the base.
#[inline(always)]
fn place<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    work: &mut CompositeBodies<S>,
    i: usize,
) {
    let info = model.tree().nodes[i];
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

/// Tips to base: body i and all beyond it, passed on to its parent, and the wrenches of its freedoms.
#[inline(always)]
fn gather<S: Scalar, P: Parameter<S>>(model: &Model<P>, work: &mut CompositeBodies<S>, i: usize) {
    let info = model.tree().nodes[i];
    let composite = work.composite[i];
    if info.parent != 0 {
        work.composite[info.parent] = work.composite[info.parent] + composite.shifted(work.arm[i]); // (23b)
    }
    if let JointKind::Revolute | JointKind::Continuous = info.kind {
        let axis = work.along[info.v].angular;
        work.own[info.v] = composite.momentum_of_turning(axis);
        return;
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

/// What the entries are made from, freedom by freedom, about the reference points of their groups.
#[inline(always)]
pub(crate) fn numbers<S: Scalar, P: Parameter<S>, T: Sink<S, { entries::NUMBERS }>>(
    model: &Model<P>,
    q: &[S],
    work: &mut CompositeBodies<S>,
    sink: &mut T,
) {
    let (nodes, dofs) = (&model.tree().nodes, &model.tree().dofs);
    work.angles.fill(model.tree(), q);
    for i in 1..=model.body_count() {
        place(model, q, work, i);
        work.origin[i] = work.origin[nodes[i].parent] + work.arm[i];
    }
    for i in (1..=model.body_count()).rev() {
        gather(model, work, i);
        for k in (nodes[i].v..nodes[i].v + nodes[i].kind.nv()).rev() {
            let mut numbers = [S::zero(); entries::NUMBERS];
            write_motion(&mut numbers, entries::AXIS, work.along[k]);
            write_force(&mut numbers, entries::WRENCH, work.own[k]);
            write_vec(&mut numbers, entries::ORIGIN, work.origin[i]);
            let reference = work.origin[dofs[k / GROUP * GROUP].body];
            entries::refer(&mut numbers, reference.to_array());
            *sink.room(k) = numbers;
            sink.filled(k);
        }
    }
}

/// The rows of I, when directions, arms and wrenches of all freedoms are known.
#[inline(always)]
fn rows<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    work: &mut CompositeBodies<S>,
    part: Part,
    inertia: &mut [S],
) {
    let whole = part == Part::Whole;
    let tree = model.tree();
    let (n, nv) = (model.body_count(), model.nv());
    for i in (1..=n).rev() {
        let info = tree.nodes[i];
        let (end, arm) = (work.end[i], work.arm[i]);
        for k in info.v..info.v + info.kind.nv() {
            work.wrenches[k] = work.own[k];
        }
        for (k, &(_, turns)) in (info.v..).zip(info.kind.freedoms()) {
            let along = work.along[k];
            for column in k..end {
                let wrench = work.wrenches[column];
                let entry = match (turns, info.kind) {
                    (_, JointKind::Helical) => wrench.dot(along),
                    (true, _) => along.angular.dot(wrench.moment),
                    (false, _) => along.linear.dot(wrench.force),
                };
                inertia[k * nv + column] = entry; // (24)
                if whole {
                    inertia[column * nv + k] = entry;
                }
            }
            // other branches
            for column in end..nv {
                inertia[k * nv + column] = S::zero();
                if whole {
                    inertia[column * nv + k] = S::zero();
                }
            }
        }
        if info.parent != 0 {
            for column in info.v..end {
                let wrench = &mut work.wrenches[column];
                wrench.moment = arm.cross_add(wrench.force, wrench.moment);
            }
        }
    }
    add_rotors(model, inertia);
}

/// Rotor inertias, on the diagonal.
#[inline(always)]
pub(crate) fn add_rotors<S: Scalar, P: Parameter<S>>(model: &Model<P>, inertia: &mut [S]) {
    if model.tree().has_rotors {
        for k in 0..model.nv() {
            inertia[k * model.nv() + k] += model.dofs[k].armature.lift();
        }
    }
}

/// Workspace of the recursion for one state.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
pub(crate) struct OneState<V: Vector> {
    quads: QuadComposite,
    packs: Vec<Numbers<Wide<V>>>,
    entries: Entries<Wide<V>>,
}

#[cfg(target_arch = "x86_64")]
impl<V: Vector> OneState<V> {
    pub fn new(model: &Model) -> Self {
        OneState {
            quads: QuadComposite::new(model),
            packs: vec![[Wide::zero(); entries::NUMBERS]; model.nv().div_ceil(V::LANES)],
            entries: Entries::new::<Fused, Register<V>, f64>(model),
        }
    }

    /// I(q) for one state: with a vector in each register where it goes body by body, and several columns in each after that.
    #[inline(always)]
    pub fn inertia(&mut self, model: &Model, q: &[Fused], part: Part, inertia: &mut [Fused]) {
        if model.nv() <= SMALL {
            return self.quads.by_columns(model, q, part, inertia);
        }
        self.quads.set_up(model, q, &mut self.packs);
        Entries::refer::<Fused, Register<V>>(&mut self.packs);
        self.entries
            .run::<Fused, Register<V>, f64>(model, &self.packs, part, inertia);
    }
}
