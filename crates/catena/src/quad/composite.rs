//! Composite bodies: the part of `algorithm::inertia_matrix::composite_bodies` that goes body by body, with a vector per register.
//!
//! ```text
//! base to tips   axes Wᵢ = Wₚ Rᵢ, arm rᵢ = Wₚ (from the parent's joint to the body's)
//! tips to base   M̃ᵢ = Mᵢ + Σ_children M̃ shifted by its arm,   M̃ᵢPᵢ                    (23b)
//! ```
//!
//! All in axes of the base, about the body's joint. The entries of large matrices are then made by
//! `algorithm::inertia_matrix::entries`, a register of columns at a time; in a small matrix each column walks down to the base on its own ([`QuadComposite::by_columns`]).

use crate::algorithm::Angles;
use crate::algorithm::inertia_matrix::Part;
use crate::algorithm::inertia_matrix::entries::Numbers;
use crate::arch::{Link, Registers};
use crate::arch::{Quad, QuadMat};
use crate::model::Model;
use crate::model::joint::{Joint, JointKind, with_joint};
use crate::scalar::{Fused, Vector, Wide};
use crate::space::Space;
use crate::spatial::{Pose, Vec3};

/// Mass (in all lanes), first and second moments.
#[derive(Clone, Copy, Debug)]
struct Moments {
    mass: Quad,
    first: Quad,
    second: QuadMat,
}

impl Moments {
    #[inline(always)]
    fn zero() -> Self {
        Moments {
            mass: Quad::zero(),
            first: Quad::zero(),
            second: QuadMat::zero(),
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Moments {
            mass: self.mass + b.mass,
            first: self.first + b.first,
            second: self.second.plus(b.second),
        }
    }

    /// A body's own, turned into these axes. What is constant is spread on its way from memory.
    #[inline(always)]
    fn of(link: &Link, axes: &QuadMat) -> Self {
        let half = QuadMat {
            x: axes.times(link.second.x.spread_from_memory()),
            y: axes.times(link.second.y.spread_from_memory()),
            z: axes.times(link.second.z.spread_from_memory()),
        };
        Moments {
            mass: link.mass,
            first: axes.times(link.first.spread_from_memory()),
            second: half.times_transposed(axes),
        }
    }

    /// About an origin from which the present one is reached by `arm`: Σ + h rᵀ + r (h + m r)ᵀ.
    #[inline(always)]
    fn shifted(self, arm: &Quad) -> Self {
        let r = arm.spread_from_memory();
        let first = arm.mul_add(self.mass, self.first);
        let f = first.spread();
        let (h, s) = (self.first, self.second);
        Moments {
            mass: self.mass,
            first,
            second: QuadMat {
                x: arm.mul_add(f[0], h.mul_add(r[0], s.x)),
                y: arm.mul_add(f[1], h.mul_add(r[1], s.y)),
                z: arm.mul_add(f[2], h.mul_add(r[2], s.z)),
            },
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    axes: QuadMat,
    /// From the parent's joint to the body's.
    arm: Quad,
    /// The body's joint from that of the root of its tree.
    origin: Quad,
    /// Of the children that do not follow at once.
    gathered: Moments,
}

/// Workspace.
#[derive(Clone, Debug)]
pub(crate) struct QuadComposite {
    links: Vec<Link>,
    angles: Angles<Fused>,
    frame: Vec<Frame>,
    direction: Vec<Direction>,
}

/// A freedom.
#[derive(Clone, Copy, Debug)]
struct Direction {
    /// Angular part of P, taken around (`zxy`), and linear part.
    turned: Quad,
    linear: Quad,
    /// Its joint, and that taken around (`yzx`).
    origin: Quad,
    origin_yzx: Quad,
    /// The next freedom on the way to the base, itself if there is none.
    next: usize,
}

/// Matrices up to this size are made column by column.
pub(crate) const SMALL: usize = 16;

impl QuadComposite {
    /// A workspace for this model.
    pub fn new(model: &Model) -> Self {
        let frame = Frame {
            axes: QuadMat::zero(),
            arm: Quad::zero(),
            origin: Quad::zero(),
            gathered: Moments::zero(),
        };
        let tree = model.tree();
        let direction = (0..model.nv())
            .map(|k| {
                let body = tree.dofs[k].body;
                let parent = tree.nodes[body].parent;
                let next = match (k - tree.nodes[body].v, parent) {
                    (0, 0) => k,
                    (0, parent) => tree.nodes[parent].v + tree.nodes[parent].kind.nv() - 1,
                    _ => k - 1,
                };
                Direction {
                    turned: Quad::zero(),
                    linear: Quad::zero(),
                    origin: Quad::zero(),
                    origin_yzx: Quad::zero(),
                    next,
                }
            })
            .collect();
        QuadComposite {
            links: Link::all(model),
            angles: Registers::angles(tree),
            frame: vec![frame; model.body_count() + 1],
            direction,
        }
    }

    /// Base to tips: axes, arms, directions.
    #[inline(always)]
    fn place(&mut self, model: &Model, q: &[Fused]) {
        let n = model.body_count();
        Registers::fill(&mut self.angles, model.tree(), q);
        let (links, frames) = (&self.links[..=n], &mut self.frame[..=n]);
        for i in 1..=n {
            let link = &links[i];
            let info = link.node;
            if info.gathers {
                frames[i].gathered = Moments::zero();
            }
            // in the parent's axes
            let (columns, translation) = match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    let sin = Quad::splat(self.angles.sin[info.angle].0);
                    let cos = Quad::splat(self.angles.cos[info.angle].0);
                    let (x, y) = (link.columns.x, link.columns.y);
                    let columns = QuadMat {
                        x: x.mul_add(cos, y * sin),
                        y: x.taken_from(sin, y * cos),
                        z: link.columns.z,
                    };
                    (columns, link.translation)
                }
                JointKind::Prismatic => {
                    let advance = Quad::splat(q[info.q].0);
                    let translation = link.columns.z.mul_add(advance, link.translation);
                    (link.columns, translation)
                }
                kind => {
                    let setting = model.setting(i, &self.angles);
                    let pose = with_joint!(kind, J => { J::<Fused>::pose(setting, &q[info.q..]) });
                    let columns = QuadMat::from_fused(pose.rotation);
                    (columns, Quad::from_fused(pose.translation))
                }
            };
            // in those of the base
            let (axes, arm, origin) = match info.parent {
                0 => (columns, Quad::zero(), Quad::zero()),
                parent => {
                    let parent = &frames[parent];
                    let arm = parent.axes.times(translation.spread());
                    let axes = QuadMat {
                        x: parent.axes.times(columns.x.spread()),
                        y: parent.axes.times(columns.y.spread()),
                        z: parent.axes.times(columns.z.spread()),
                    };
                    (axes, arm, parent.origin + arm)
                }
            };
            let frame = &mut frames[i];
            (frame.axes, frame.arm, frame.origin) = (axes, arm, origin);
            for k in info.v..info.v + info.kind.nv() {
                let direction = &mut self.direction[k];
                (direction.origin, direction.origin_yzx) = (origin, origin.yzx());
            }
            match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    self.direction[info.v].turned = axes.z.zxy();
                }
                JointKind::Prismatic => self.direction[info.v].linear = axes.z,
                kind => {
                    let pose = Pose::new(columns.to_fused(), translation.to_fused());
                    let setting = model.setting(i, &self.angles);
                    let axes = axes.to_fused();
                    with_joint!(kind, J => {
                        let joint = J::<Fused>::at(setting, &pose);
                        for k in 0..J::<Fused>::NV {
                            let along = joint.column_in(k, axes);
                            let direction = &mut self.direction[info.v + k];
                            direction.turned = Quad::from_fused(along.angular).zxy();
                            direction.linear = Quad::from_fused(along.linear);
                        }
                    });
                }
            }
        }
    }

    /// Tips to base: M̃ of body i, complete, and passed on to its parent. `passed` is what the last body passed to this one.
    #[inline(always)]
    fn composite(&mut self, i: usize, passed: &mut Moments) -> Moments {
        let link = &self.links[i];
        let info = link.node;
        let frame = &self.frame[i];
        let mut composite = Moments::of(link, &frame.axes).plus(*passed);
        if info.gathers {
            composite = composite.plus(frame.gathered);
        }
        let shifted = composite.shifted(&frame.arm); // (23b)
        if info.parent + 1 == i {
            *passed = shifted;
        } else {
            let parent = &mut self.frame[info.parent].gathered;
            *parent = parent.plus(shifted);
            *passed = Moments::zero();
        }
        composite
    }

    /// M̃P of freedom k of body i: moment and force.
    #[inline(always)]
    fn wrench(&self, i: usize, k: usize, composite: &Moments) -> [Quad; 2] {
        let s = composite.second;
        match self.links[i].node.kind {
            JointKind::Prismatic => {
                let axis = self.frame[i].axes.z;
                [composite.first.cross(axis), axis * composite.mass]
            }
            kind => {
                let Direction { turned, linear, .. } = self.direction[k];
                let axis = turned.yzx();
                let diagonal = s.x.blend::<0b0010>(s.y).blend::<0b0100>(s.z);
                let trace = Quad::splat(diagonal.sum());
                let moment = axis.mul_sub(trace, s.times(axis.spread()));
                let force = axis.cross(composite.first);
                if matches!(kind, JointKind::Revolute | JointKind::Continuous) {
                    [moment, force]
                } else {
                    [
                        moment + composite.first.cross(linear),
                        linear.mul_add(composite.mass, force),
                    ]
                }
            }
        }
    }

    /// The matrix, each column walking down to the base; for small matrices.
    #[inline(always)]
    pub fn by_columns(&mut self, model: &Model, q: &[Fused], part: Part, inertia: &mut [Fused]) {
        let (n, nv) = (model.body_count(), model.nv());
        self.place(model, q);
        if !model.tree().is_chain {
            inertia.fill(Fused(0.0));
        }
        let mut passed = Moments::zero();
        for i in (1..=n).rev() {
            let composite = self.composite(i, &mut passed);
            let first = self.links[i].node.v;
            for k in first..first + self.links[i].node.kind.nv() {
                let [moment, force] = self.wrench(i, k, &composite);
                let (moment, force_yzx) = (moment.zxy(), force.yzx());
                let Direction {
                    origin, origin_yzx, ..
                } = self.direction[k];
                // Pᵀ (moment + arm × force; force), the arm taken anew for every joint: no product waits for another
                let mut row = k;
                loop {
                    let at = &self.direction[row];
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
        if model.tree().has_rotors {
            for k in 0..nv {
                inertia[k * nv + k] += Fused(model.dofs[k].armature);
            }
        }
    }

    /// Directions P and wrenches M̃P of all freedoms about the origins of their bodies, and those.
    #[inline(always)]
    pub fn set_up<V: Vector>(
        &mut self,
        model: &Model,
        q: &[Fused],
        packs: &mut [Numbers<Wide<V>>],
    ) {
        self.place(model, q);
        let mut passed = Moments::zero();
        for i in (1..=model.body_count()).rev() {
            let composite = self.composite(i, &mut passed);
            let node = self.links[i].node;
            for k in node.v..node.v + node.kind.nv() {
                let Direction {
                    turned,
                    linear,
                    origin,
                    ..
                } = self.direction[k];
                let [moment, force] = self.wrench(i, k, &composite);
                let (pack, lane) = (&mut packs[k / V::LANES], k % V::LANES);
                let vectors = [turned.yzx(), linear, moment, force, origin];
                for (part, vector) in vectors.iter().enumerate() {
                    let Vec3 { x, y, z } = vector.to_fused();
                    pack[3 * part].0.lanes_mut()[lane] = x.0;
                    pack[3 * part + 1].0.lanes_mut()[lane] = y.0;
                    pack[3 * part + 2].0.lanes_mut()[lane] = z.0;
                }
            }
        }
    }
}
