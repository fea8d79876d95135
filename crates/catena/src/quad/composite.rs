//! Composite bodies: the part of `algorithm::inertia_matrix::composite_bodies` that goes body by body, with a vector per register.
//!
//! ```text
//! base to tips   axes Wᵢ = Wₚ Rᵢ, arm rᵢ = Wₚ (from the parent's joint to the body's)
//! tips to base   M̃ᵢ = Mᵢ + Σ_children M̃ shifted by its arm,   M̃ᵢPᵢ                    (23b)
//! ```
//!
//! All in axes of the base, about the body's joint. Rows of large matrices are then made by the generic function, which takes a
//! register of columns at a time; in a small matrix each column walks down to the base on its own ([`QuadComposite::by_columns`]).

use super::links::Link;
use super::register::{Quad, QuadMat};
use crate::algorithm::Angles;
use crate::algorithm::inertia_matrix::columns::Wrenches;
use crate::model::Model;
use crate::model::joint::{Joint, JointKind, with_joint};
use crate::scalar::Fused;
use crate::spatial::{Force, Motion, Vec3};

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
    arm_yzx: Quad,
    /// Of the children that do not follow at once.
    gathered: Moments,
}

/// Workspace.
#[derive(Clone, Debug)]
pub(crate) struct QuadComposite {
    links: Vec<Link>,
    angles: Angles<Fused>,
    frame: Vec<Frame>,
    /// Pₖ by freedom: angular part, to be taken around once (`zxy`), and linear part.
    direction: Vec<[Quad; 2]>,
}

/// Matrices up to this size are made column by column.
pub(crate) const SMALL: usize = 24;

impl QuadComposite {
    /// A workspace for this model.
    pub fn new(model: &Model) -> Self {
        let frame = Frame {
            axes: QuadMat::zero(),
            arm: Quad::zero(),
            arm_yzx: Quad::zero(),
            gathered: Moments::zero(),
        };
        QuadComposite {
            links: Link::all(model),
            angles: Angles::padded(model.tree()),
            frame: vec![frame; model.body_count() + 1],
            direction: vec![[Quad::zero(); 2]; model.nv()],
        }
    }

    /// Base to tips: axes, arms, directions.
    #[inline(always)]
    fn place(&mut self, model: &Model, q: &[Fused]) {
        let n = model.body_count();
        self.angles.fill_by_four(model.tree(), q);
        let (links, frames) = (&self.links[..=n], &mut self.frame[..=n]);
        for i in 1..=n {
            let link = &links[i];
            let info = link.node;
            if info.gathers {
                frames[i].gathered = Moments::zero();
            }
            let placed = match info.parent {
                0 => link.columns,
                parent => {
                    let parent = frames[parent].axes;
                    frames[i].arm = parent.times(link.translation.spread_from_memory());
                    QuadMat {
                        x: parent.times(link.columns.x.spread_from_memory()),
                        y: parent.times(link.columns.y.spread_from_memory()),
                        z: parent.times(link.columns.z.spread_from_memory()),
                    }
                }
            };
            match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    let sin = Quad::splat(self.angles.sin[info.angle].0);
                    let cos = Quad::splat(self.angles.cos[info.angle].0);
                    frames[i].axes = QuadMat {
                        x: placed.x.mul_add(cos, placed.y * sin),
                        y: placed.x.taken_from(sin, placed.y * cos),
                        z: placed.z,
                    };
                    self.direction[info.v] = [placed.z.zxy(), Quad::zero()];
                }
                JointKind::Prismatic => {
                    frames[i].axes = placed;
                    let advance = Quad::splat(q[info.q].0);
                    frames[i].arm = placed.z.mul_add(advance, frames[i].arm);
                    self.direction[info.v] = [Quad::zero(), placed.z];
                }
                kind => {
                    let setting = model.setting(i, &self.angles);
                    let pose = with_joint!(kind, J => { J::<Fused>::pose(setting, &q[info.q..]) });
                    let columns = QuadMat::from_fused(pose.rotation);
                    frames[i].axes = match info.parent {
                        0 => columns,
                        parent => {
                            let parent = frames[parent].axes;
                            let translation = Quad::from_fused(pose.translation);
                            frames[i].arm = parent.times(translation.spread());
                            QuadMat {
                                x: parent.times(columns.x.spread()),
                                y: parent.times(columns.y.spread()),
                                z: parent.times(columns.z.spread()),
                            }
                        }
                    };
                    let axes = frames[i].axes.to_fused();
                    with_joint!(kind, J => {
                        let joint = J::<Fused>::at(setting, &pose);
                        for k in 0..J::<Fused>::NV {
                            let along = joint.column_in(k, axes);
                            self.direction[info.v + k] = [
                                Quad::from_fused(along.angular).zxy(),
                                Quad::from_fused(along.linear),
                            ];
                        }
                    });
                }
            }
            frames[i].arm_yzx = frames[i].arm.yzx();
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
                let [turned, linear] = self.direction[k];
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

    /// The whole matrix, each column walking down to the base; for small matrices.
    #[inline(always)]
    pub fn by_columns(&mut self, model: &Model, q: &[Fused], inertia: &mut [Fused]) {
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
                let force_yzx = force.yzx();
                // the moment is carried before its components are taken around
                let mut moment = moment.zxy();
                let mut j = i;
                loop {
                    let node = self.links[j].node;
                    for row in node.v..node.v + node.kind.nv() {
                        let [turned, linear] = &self.direction[row];
                        let entry = match node.kind {
                            JointKind::Revolute | JointKind::Continuous => *turned * moment,
                            JointKind::Prismatic => *linear * force,
                            _ => turned.mul_add(moment, *linear * force),
                        };
                        let entry = Fused(entry.sum()); // (24)
                        inertia[k * nv + row] = entry;
                        inertia[row * nv + k] = entry;
                    }
                    if node.parent == 0 {
                        break;
                    }
                    let frame = &self.frame[j];
                    moment = frame
                        .arm
                        .mul_add(force_yzx, frame.arm_yzx.taken_from(force, moment));
                    j = node.parent;
                }
            }
        }
        if model.tree().has_rotors {
            for k in 0..nv {
                inertia[k * nv + k] += Fused(model.dofs[k].armature);
            }
        }
    }

    /// Directions P and wrenches M̃P of all freedoms, arms of all bodies, as the generic rows take them.
    #[inline(always)]
    pub fn set_up<W: Wrenches<Fused>>(
        &mut self,
        model: &Model,
        q: &[Fused],
        along: &mut [Motion<Fused>],
        arms: &mut [Vec3<Fused>],
        wrenches: &mut W,
    ) {
        self.place(model, q);
        let mut passed = Moments::zero();
        for i in (1..=model.body_count()).rev() {
            let composite = self.composite(i, &mut passed);
            arms[i] = self.frame[i].arm.to_fused();
            let node = self.links[i].node;
            for k in node.v..node.v + node.kind.nv() {
                let [turned, linear] = self.direction[k];
                along[k] = Motion::new(turned.yzx().to_fused(), linear.to_fused());
                let [moment, force] = self.wrench(i, k, &composite);
                wrenches.set(k, Force::new(moment.to_fused(), force.to_fused()));
            }
        }
    }
}
