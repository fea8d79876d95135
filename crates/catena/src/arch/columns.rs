//! The entries of small inertia matrices in registers: each column is propagated to the base separately.
//!
//! Composite bodies are those of `algorithm::inertia_matrix::composite_bodies`; only (24) is computed in another order, one
//! entry after another, without a dependency chain.

use super::motions::{QuadMotion, QuadWrench};
use super::quad::Quad;
use super::registers::Registers;
use crate::algorithm::inertia_matrix::Part;
use crate::algorithm::inertia_matrix::composite_bodies::Placed;
use crate::model::Model;
use crate::scalar::Fused;

/// A freedom on the path to the base.
#[derive(Clone, Copy, Debug)]
struct Direction {
    /// Angular part of P, permuted cyclically (`zxy`), and linear part.
    turned: Quad,
    linear: Quad,
    /// Its joint, and that permuted cyclically (`yzx`).
    origin: Quad,
    origin_yzx: Quad,
    /// The next freedom on the path to the base, itself if there is none.
    next: usize,
}

/// The freedoms of a model.
#[derive(Clone, Debug)]
pub(crate) struct Columns(Vec<Direction>);

impl Columns {
    /// A workspace for this model.
    pub fn new(model: &Model) -> Self {
        let tree = model.tree();
        let zero = Quad::zero();
        let direction = |k: usize| {
            let body = tree.dofs[k].body;
            let parent = tree.nodes[body].parent;
            let next = match (k - tree.nodes[body].v, parent) {
                (0, 0) => k,
                (0, parent) => tree.nodes[parent].v + tree.nodes[parent].kind.nv() - 1,
                _ => k - 1,
            };
            Direction {
                turned: zero,
                linear: zero,
                origin: zero,
                origin_yzx: zero,
                next,
            }
        };
        Columns((0..model.nv()).map(direction).collect())
    }

    /// Column k, from its wrench M̃P.
    #[inline(always)]
    pub fn walk(&self, k: usize, wrench: &QuadWrench, part: Part, inertia: &mut [Fused]) {
        let nv = self.0.len();
        let (moment, force, force_yzx) = (wrench.moment.zxy(), wrench.force, wrench.force.yzx());
        let Direction {
            origin, origin_yzx, ..
        } = self.0[k];
        // Pᵀ (moment + arm × force; force), the arm recomputed for every joint: the products are independent
        let mut row = k;
        loop {
            let at = &self.0[row];
            let (arm, arm_yzx) = (origin - at.origin, origin_yzx - at.origin_yzx);
            let there = arm.mul_add(force_yzx, arm_yzx.taken_from(force, moment));
            let entry = at.turned.mul_add(there, at.linear * force);
            let entry = Fused(entry.sum()); // (24)
            inertia[row * nv + k] = entry;
            if part == Part::Whole {
                inertia[k * nv + row] = entry;
            }
            if at.next == row {
                break;
            }
            row = at.next;
        }
    }
}

impl Placed<Registers> for Columns {
    #[inline(always)]
    fn freedom(&mut self, k: usize, along: &QuadMotion, origin: Quad) {
        let direction = &mut self.0[k];
        direction.turned = along.angular.zxy();
        direction.linear = along.linear;
        (direction.origin, direction.origin_yzx) = (origin, origin.yzx());
    }
}
