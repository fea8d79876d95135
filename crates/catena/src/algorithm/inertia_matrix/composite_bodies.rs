//! The generalized inertia matrix by composite bodies.
//!
//! Saha (1999), eqs. 23b and 24, for trees and joints with several freedoms:
//!
//! ```text
//! M̃ᵢ = Mᵢ + Σ_children Bᵀ M̃_child B       composite body i: body i and all beyond it, frozen     (23b)
//! Iᵢⱼ = Pᵢᵀ M̃ᵢ Bᵢⱼ Pⱼ                      for j on the path from body i to the base             (24)
//! ```
//!
//! M̃ᵢ is stored as its ten moments: composites of rigid bodies are rigid. Entries between different branches are zero.
//!
//! M̃ᵢ and M̃ᵢPᵢ are formed in the axes of body i. There the moment of a slender body about its own axis is a separate number; in
//! other axes it would be a small difference of large ones. The wrenches M̃ᵢPᵢ are then rotated, as vectors, into the axes of the
//! base: on its way to the base a wrench costs six multiply-adds per joint (and three for the entry) instead of twenty-four.
//! Everything is about the joint it belongs to, so no digits are lost to a distant origin. Body by body inward, a row of I is the
//! projection of the wrenches of all freedoms beyond, which are numbered one after another. Cost O(n d). For single states
//! several entries of a row are computed at a time (`entries.rs`).

use super::Part;
use super::entries::{self, EntryRecord, add_rotors};
use crate::algorithm::pack::{GROUP, Sink};
use crate::card::Card;
use crate::model::Angles;
use crate::model::{JointKind, Model};
use crate::scalar::{Parameter, Scalar};
use crate::space::{Components, Constants, JointIn, Space, in_space};
use crate::spatial::{Force, Pose, RigidInertia};

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
pub struct CompositeBodies<S: Scalar> {
    recursion: Composites<Components<S>>,
    /// M̃ᵢPᵢ by freedom, carried to the base: a column is added when the others have reached its joint.
    wrenches: Vec<Force<S>>,
    /// One past the last freedom of the subtree on each body.
    end: Vec<usize>,
}

impl<S: Scalar> CompositeBodies<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        CompositeBodies {
            recursion: Composites::new(model),
            wrenches: vec![Force::zero(); model.nv()],
            end: model.tree().ends(),
        }
    }

    /// Body i and everything beyond it as one rigid body, in body axes about the body's origin; after a call.
    pub fn composite(&self, body: usize) -> RigidInertia<S> {
        self.recursion.frame[body].composite
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
    let recursion = &mut work.recursion;
    recursion.outward::<P, false>(model, model, q, &mut ());
    let mut passed = RigidInertia::zero();
    for i in (1..=model.body_count()).rev() {
        recursion.inward(model, i, &mut passed);
    }
    rows(model, work, part, inertia);
}

/// Action at every freedom in the outward pass.
pub(crate) trait Placed<E: Space> {
    fn freedom(&mut self, k: usize, along: &E::Motion, origin: E::Vector);
}

/// Nothing.
impl<E: Space> Placed<E> for () {
    #[inline(always)]
    fn freedom(&mut self, _k: usize, _along: &E::Motion, _origin: E::Vector) {}
}

/// A body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<E: Space> {
    /// Pose in its parent.
    pose: E::Kept,
    /// Axes of the body in those of the base.
    axes: E::Matrix,
    /// From the parent's joint to the body's, in the axes of the base.
    arm: E::Vector,
    /// The body's joint from that of the root of its tree, in the axes of the base, if requested.
    pub origin: E::Vector,
    /// M̃ᵢ in body axes about the body's origin: the contributions of children that are not numbered directly after it, then all
    /// of it where it is kept (`Space::KEEPS_INERTIAS`).
    composite: E::Moments,
}

/// Workspace of the recursion from body to body, in a space.
#[derive(Clone, Debug)]
pub(crate) struct Composites<E: Space> {
    angles: Angles<E::Number>,
    pub frame: Vec<Frame<E>>,
    /// Pₖ by freedom.
    pub along: Vec<E::Motion>,
    /// M̃ᵢPᵢ by freedom, about its own joint.
    pub own: Vec<E::Wrench>,
}

impl<E: Space> Composites<E> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let (n, nv) = (model.body_count() + 1, model.nv());
        let still = E::pose(Pose::identity());
        let frame = Frame {
            pose: *E::kept(&still),
            axes: E::rotation(E::kept(&still)),
            arm: E::zero(),
            origin: E::zero(),
            composite: E::no_moments(),
        };
        Composites {
            angles: E::angles(model.tree()),
            frame: vec![frame; n],
            along: vec![E::motion(E::zero(), E::zero()); nv],
            own: vec![E::wrench(E::zero(), E::zero()); nv],
        }
    }

    /// Base to tips: poses, and axes, arms and directions in the axes of the base, and `ORIGINS` of the joints.
    #[inline(always)]
    pub fn outward<P, const ORIGINS: bool>(
        &mut self,
        model: &Model<P>,
        constants: &impl Constants<E>,
        q: &[E::Number],
        placed: &mut impl Placed<E>,
    ) {
        let n = model.body_count();
        E::fill(&mut self.angles, model.tree(), q);
        let frames = &mut self.frame[..=n];
        for i in 1..=n {
            let info = constants.node(i);
            let setting = constants.setting(i, &self.angles);
            in_space!(E, info.kind, joint => {
                let pose = joint.pose(info.q, setting, q);
                let kept = E::kept(&pose);
                let (axes, arm) = match info.parent {
                    0 => (E::rotation(kept), E::zero()),
                    parent => {
                        let parent = &frames[parent].axes;
                        let arm = E::times(parent, E::spread(E::translation(kept)));
                        (E::times_rotation(parent, kept), arm)
                    }
                };
                if ORIGINS {
                    frames[i].origin = match info.parent {
                        0 => E::zero(),
                        parent => frames[parent].origin + arm,
                    };
                }
                (frames[i].pose, frames[i].axes, frames[i].arm) = (*kept, axes, arm);
                joint.directions(info.v, setting, kept, &axes, &mut self.along);
                for k in info.v..info.v + info.kind.nv() {
                    placed.freedom(k, &self.along[k], frames[i].origin);
                }
            });
            if info.gathers {
                frames[i].composite = E::no_moments();
            }
        }
    }

    /// Tips to base: body i and all beyond it, passed on to its parent, and the wrenches of its freedoms. `passed` is the
    /// contribution of the body processed before.
    #[inline(always)]
    pub fn inward(&mut self, constants: &impl Constants<E>, i: usize, passed: &mut E::Moments) {
        let info = constants.node(i);
        let frame = &mut self.frame[i];
        let mut composite = E::add_moments(E::own_moments(constants.inertia(i)), *passed);
        if info.gathers {
            composite = E::add_moments(composite, frame.composite);
        }
        if E::KEEPS_INERTIAS {
            frame.composite = composite;
        }
        *passed = E::no_moments();
        if info.parent != 0 {
            let seen = E::moments_seen(composite, &frame.pose); // (23b)
            if info.parent + 1 == i {
                *passed = seen;
            } else {
                let parent = &mut self.frame[info.parent].composite;
                *parent = E::add_moments(*parent, seen);
            }
        }
        let (frame, setting) = (&self.frame[i], constants.setting(i, &self.angles));
        in_space!(E, info.kind, joint => {
            joint.momenta(info.v, setting, &frame.pose, &composite, &frame.axes, &mut self.own);
        });
    }
}

/// Data from which the entries are computed, freedom by freedom, about the reference points of their groups.
#[inline(always)]
pub(crate) fn records<S: Scalar, P: Parameter<S>, T: Sink<EntryRecord<S>>>(
    model: &Model<P>,
    q: &[S],
    work: &mut CompositeBodies<S>,
    sink: &mut T,
) {
    let (nodes, dofs) = (&model.tree().nodes, &model.tree().dofs);
    let work = &mut work.recursion;
    work.outward::<P, true>(model, model, q, &mut ());
    let mut passed = RigidInertia::zero();
    for i in (1..=model.body_count()).rev() {
        work.inward(model, i, &mut passed);
        for k in (nodes[i].v..nodes[i].v + nodes[i].kind.nv()).rev() {
            let mut record = EntryRecord {
                axis: work.along[k].to_array(),
                moment: work.own[k].moment.to_array(),
                force: work.own[k].force.to_array(),
                origin: work.frame[i].origin.to_array(),
            };
            let reference = work.frame[dofs[k / GROUP * GROUP].body].origin;
            entries::refer(&mut record, reference.to_array());
            *sink.room(k) = record;
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
        let (end, arm) = (work.end[i], work.recursion.frame[i].arm);
        for k in info.v..info.v + info.kind.nv() {
            work.wrenches[k] = work.recursion.own[k];
        }
        for (k, &(_, turns)) in (info.v..).zip(info.kind.freedoms()) {
            let along = work.recursion.along[k];
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
