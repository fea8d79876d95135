//! Inverse dynamics: `algorithm::inverse_dynamics::recursive_newton_euler` with a vector per register.
//!
//! ```text
//! base to tips   ωᵢ = Rᵢᵀ ωₚ + Pᵢ v                                        (1)
//!                ω̇ᵢ = Rᵢᵀ ω̇ₚ + Pᵢ v̇ + bias                                 (2)
//!                aᵢ = Rᵢᵀ (aₚ + Ωₚ rᵢ) + Pᵢ v̇ + bias        a₀ = r̈₀ − g      (3)
//!                fᵢ = m aᵢ + Ωᵢ h − fᵢ(ext)                                (4)
//!                nᵢ = h × aᵢ + Σⱼ σⱼ × Ωⱼ − nᵢ(ext)                        (5)
//! tips to base   τᵢ = Pᵢᵀ (nᵢ; fᵢ) + J v̇ + passive                         (6)
//!                fₚ += Rᵢ fᵢ,   nₚ += Rᵢ nᵢ + rᵢ × Rᵢ fᵢ                     (7)
//! ```
//!
//! σⱼ and Ωⱼ are columns of the second moment Σ and of Ω = ω̃̇ + ω̃ ω̃.

use super::forward::Wrench;
use super::links::{Link, QuadPose, along_z, cross_z, fused_pair};
use super::register::{Quad, QuadMat};
use crate::algorithm::inverse_dynamics::recursive_newton_euler;
use crate::algorithm::{Angles, passive};
use crate::model::Model;
use crate::model::joint::{Joint, JointKind, with_joint};
use crate::scalar::{Fused, Parameter};
use crate::spatial::{Force, Motion, Pose, Vec3};
use crate::state::Base;

/// What a body passes on to its children.
#[derive(Clone, Copy, Debug)]
struct Moving {
    /// Components of ω, spread.
    omega: [Quad; 3],
    alpha: Quad,
    linear: Quad,
    /// Ω = ω̃̇ + ω̃ ω̃.
    turning: QuadMat,
}

impl Moving {
    #[inline(always)]
    fn new(omega: Quad, alpha: Quad, linear: Quad) -> Self {
        let spread = omega.spread();
        let turning = turning(omega, spread, alpha);
        Moving {
            omega: spread,
            alpha,
            linear,
            turning,
        }
    }
}

/// Ω = ω̃̇ + ω̃ ω̃.
#[inline(always)]
pub(super) fn turning(omega: Quad, [x, y, z]: [Quad; 3], alpha: Quad) -> QuadMat {
    let squared = x.mul_add(x, y.mul_add(y, z * z));
    let skew = QuadMat::skew(alpha, 1.0);
    QuadMat {
        x: squared.taken_from(Quad::new(1.0, 0.0, 0.0), omega.mul_add(x, skew.x)),
        y: squared.taken_from(Quad::new(0.0, 1.0, 0.0), omega.mul_add(y, skew.y)),
        z: squared.taken_from(Quad::new(0.0, 0.0, 1.0), omega.mul_add(z, skew.z)),
    }
}

/// Workspace.
#[derive(Clone, Debug)]
pub(crate) struct QuadInverse {
    angles: Angles<Fused>,
    rotation: Vec<QuadMat>,
    translation: Vec<Quad>, // not of revolute joints: theirs are constant
    moving: Vec<Moving>,    // written only for bodies whose children do not follow at once
    wrench: Vec<Wrench>,    // (4, 5), then (7)
}

impl QuadInverse {
    /// A workspace for this model.
    pub fn new(model: &Model) -> Self {
        let n = model.body_count() + 1;
        let zero = Quad::zero();
        QuadInverse {
            angles: Angles::padded(model.tree()),
            rotation: vec![QuadMat::zero(); n],
            translation: vec![zero; n],
            moving: vec![Moving::new(zero, zero, zero); n],
            wrench: vec![
                Wrench {
                    moment: zero,
                    force: zero
                };
                n
            ],
        }
    }

    /// Wrench through the joint that carries a body (0: on the ground), after a call.
    pub fn joint_wrench(&self, body: usize) -> Force<Fused> {
        let (moment, force) = fused_pair(self.wrench[body].moment, self.wrench[body].force);
        Force::new(moment, force)
    }

    /// τ; the arguments are those of the generic recursion.
    #[inline(always)]
    pub fn run(
        &mut self,
        model: &Model,
        links: &[Link],
        [q, v, vdot]: [&[Fused]; 3],
        base: &Base<Fused>,
        external: &[Force<Fused>],
        tau: &mut [Fused],
    ) {
        let tree = model.tree();
        let n = model.body_count();
        self.angles.fill_by_four(tree, q);
        let links = &links[..=n];
        let (rotations, translations) = (&mut self.rotation[..=n], &mut self.translation[..=n]);
        let wrenches = &mut self.wrench[..=n];

        // base to tips
        let at_base = recursive_newton_euler::Moving::base(base, model.gravity.lift());
        let mut before = Moving::new(
            Quad::from_fused(at_base.omega),
            Quad::from_fused(at_base.rate.angular),
            Quad::from_fused(at_base.rate.linear),
        );
        self.moving[0] = before;
        for i in 1..=n {
            let link = &links[i];
            let info = link.node;
            if info.parent + 1 != i {
                before = self.moving[info.parent];
            }
            let (omega, alpha, linear) = match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    let pose = QuadPose::revolute(
                        link,
                        self.angles.sin[info.angle],
                        self.angles.cos[info.angle],
                    );
                    rotations[i] = pose.columns;
                    let at_joint =
                        before.turning.times(link.translation.spread_from_memory()) + before.linear;
                    let rate = v[info.v];
                    let omega = pose.rows.times_add(before.omega, along_z(rate)); // (1)
                    let bias = cross_z(omega, rate) + along_z(vdot[info.v]);
                    (
                        omega,
                        pose.rows.times_add(before.alpha.spread(), bias), // (2)
                        pose.rows.times(at_joint.spread()),               // (3)
                    )
                }
                JointKind::Prismatic => {
                    let pose = QuadPose::prismatic(link, q[info.q]);
                    rotations[i] = pose.columns;
                    translations[i] = pose.translation;
                    let at_joint = before.turning.times(pose.translation.spread()) + before.linear;
                    let rate = v[info.v];
                    let omega = pose.rows.times(before.omega);
                    let bias = cross_z(omega, rate + rate) + along_z(vdot[info.v]);
                    (
                        omega,
                        pose.rows.times(before.alpha.spread()),
                        pose.rows.times_add(at_joint.spread(), bias),
                    )
                }
                kind => {
                    let setting = model.setting(i, &self.angles);
                    let parent_from_body =
                        with_joint!(kind, J => { J::<Fused>::pose(setting, &q[info.q..]) });
                    let pose = QuadPose::general(parent_from_body);
                    rotations[i] = pose.columns;
                    translations[i] = pose.translation;
                    let at_joint = before.turning.times(pose.translation.spread()) + before.linear;
                    let carried = pose.rows.times(before.omega).to_fused();
                    let rate = Motion::new(
                        pose.rows.times(before.alpha.spread()).to_fused(),
                        pose.rows.times(at_joint.spread()).to_fused(),
                    );
                    with_joint!(kind, J => {
                        let (v, vdot) = (&v[info.v..], &vdot[info.v..]);
                        let joint = J::<Fused>::at(setting, &parent_from_body);
                        let bias = joint.bias(carried, v);
                        let twist = joint.plus(Motion::new(carried, Vec3::zero()), v);
                        let rate = joint.plus(rate + bias, vdot);
                        (
                            Quad::from_fused(twist.angular),
                            Quad::from_fused(rate.angular),
                            Quad::from_fused(rate.linear),
                        )
                    })
                }
            };
            before = Moving::new(omega, alpha, linear);
            if info.gathers {
                self.moving[i] = before;
            }
            let turning = before.turning;
            let force = turning.times_add(link.first.spread_from_memory(), linear * link.mass); // (4)
            let moment = around(link.first, link.first_yzx, linear, Quad::zero());
            let moment = around(link.second.x, link.second_yzx.x, turning.x, moment);
            let moment = around(link.second.y, link.second_yzx.y, turning.y, moment);
            let moment = around(link.second.z, link.second_yzx.z, turning.z, moment); // (5)
            wrenches[i] = Wrench {
                moment: moment.yzx(),
                force,
            };
        }
        if !external.is_empty() {
            for i in 1..=n {
                wrenches[i].moment = wrenches[i].moment - Quad::from_fused(external[i].moment);
                wrenches[i].force = wrenches[i].force - Quad::from_fused(external[i].force);
            }
        }

        // tips to base
        let nothing = Wrench {
            moment: Quad::zero(),
            force: Quad::zero(),
        };
        wrenches[0] = nothing;
        let mut through = wrenches[n];
        for i in (1..=n).rev() {
            let info = links[i].node;
            wrenches[i] = through;
            let (translation, translation_yzx) = match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    tau[info.v] = Fused(through.moment.z()); // (6)
                    (links[i].translation, links[i].translation_yzx)
                }
                JointKind::Prismatic => {
                    tau[info.v] = Fused(through.force.z());
                    let translation = translations[i];
                    (translation, translation.yzx())
                }
                kind => {
                    let (moment, force) = fused_pair(through.moment, through.force);
                    let pose = Pose::new(rotations[i].to_fused(), translations[i].to_fused());
                    let setting = model.setting(i, &self.angles);
                    with_joint!(kind, J => {
                        let joint = J::<Fused>::at(setting, &pose);
                        let range = info.v..info.v + J::<Fused>::NV;
                        joint.project(Force::new(moment, force), &mut tau[range]);
                    });
                    let translation = translations[i];
                    (translation, translation.yzx())
                }
            };
            let rotation = rotations[i];
            let force = rotation.times(through.force.spread());
            let arm = Quad::cross_of(translation, translation_yzx, force);
            let parent = &mut wrenches[info.parent];
            let sum = Wrench {
                moment: rotation.times_add(through.moment.spread(), arm + parent.moment),
                force: force + parent.force,
            }; // (7)
            if info.parent + 1 == i {
                through = sum;
            } else {
                *parent = sum;
                through = wrenches[i - 1];
            }
        }
        wrenches[0] = through; // body 1 hangs on the ground

        if tree.has_rotors {
            for k in 0..model.nv() {
                let rotor: Fused = model.dofs[k].armature.lift();
                tau[k] += rotor * vdot[k];
            }
        }
        if tree.has_passive_forces {
            for k in 0..model.nv() {
                tau[k] += passive::passive_force(model, q, v, k);
            }
        }
    }
}

/// a × b + c, all with their components still to be taken around once (`yzx`): sums of such products are taken around
/// together.
#[inline(always)]
pub(super) fn around(a: Quad, a_yzx: Quad, b: Quad, c: Quad) -> Quad {
    a.mul_add(b.yzx(), a_yzx.taken_from(b, c))
}
