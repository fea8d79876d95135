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
//! Cost O(n d).

use crate::algorithm::{Angles, Card};
use crate::model::Model;
use crate::model::joint::{Joint, with_joint};
use crate::scalar::{Parameter, Scalar};
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
pub struct CompositeBodies<S> {
    angles: Angles<S>,
    pose: Vec<Pose<S>>,
    composite: Vec<RigidInertia<S>>,
}

impl<S: Scalar> CompositeBodies<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let n = model.body_count() + 1;
        CompositeBodies {
            angles: Angles::new(model.tree()),
            pose: vec![Pose::identity(); n],
            composite: vec![RigidInertia::zero(); n],
        }
    }

    /// Body i and everything beyond it as one rigid body, in body axes about the body's origin; after a call.
    pub fn composite(&self, body: usize) -> RigidInertia<S> {
        self.composite[body]
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
pub(crate) fn kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    work: &mut CompositeBodies<S>,
    inertia: &mut [S],
) {
    let tree = model.tree();
    let n = model.body_count();
    work.angles.fill(tree, q);
    let nv = model.nv();
    for entry in inertia.iter_mut() {
        *entry = S::zero();
    }
    for i in 1..=n {
        let info = tree.nodes[i];
        let setting = model.setting(i, &work.angles);
        work.pose[i] = with_joint!(info.kind, J => { J::<S>::pose(setting, &q[info.q..]) });
        work.composite[i] = model.inertia(i);
    }
    for i in (1..=n).rev() {
        let info = tree.nodes[i];
        let composite = work.composite[i];
        if info.parent != 0 {
            work.composite[info.parent] =
                work.composite[info.parent] + composite.seen_from(work.pose[i]); // (23b)
        }
        let mut columns = [Force::zero(); 6];
        let freedoms = info.kind.nv();
        let setting = model.setting(i, &work.angles);
        with_joint!(info.kind, J => {
            let joint = J::<S>::at(setting, &work.pose[i]);
            joint.momenta(composite, &mut columns[..J::<S>::NV]);
        });
        let columns = &mut columns[..freedoms];
        // walk down to the base, the wrenches M̃ᵢ Pᵢ in hand
        let mut j = i;
        loop {
            let at = tree.nodes[j];
            let setting = model.setting(j, &work.angles);
            with_joint!(at.kind, J => {
                let joint = J::<S>::at(setting, &work.pose[j]);
                for k in 0..freedoms {
                    let start = (info.v + k) * nv + at.v;
                    joint.project(columns[k], &mut inertia[start..start + J::<S>::NV]); // (24)
                }
            });
            if at.parent == 0 {
                break;
            }
            for column in columns.iter_mut() {
                *column = work.pose[j].force_out(*column);
            }
            j = at.parent;
        }
    }
    // the lower triangle was written; mirror it
    for i in 0..nv {
        for j in 0..i {
            inertia[j * nv + i] = inertia[i * nv + j];
        }
    }
    if tree.has_rotors {
        for k in 0..nv {
            inertia[k * nv + k] += model.dofs[k].armature.lift();
        }
    }
}
