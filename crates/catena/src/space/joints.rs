//! What the recursions ask of a joint in a space.
//!
//! Joints about and along z have forms of their own, since they are what machines are made of. All others are set up,
//! projected and eliminated in numbers, by their one definition in `model::joint`.

use super::Space;
use crate::model::joint::{Joint, JointKind, with_joint};
use crate::spatial::{Motion, Vec3};
use std::marker::PhantomData;

/// What a body hands on to its children in inverse dynamics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving<E: Space> {
    /// ω.
    pub omega: E::Spread,
    /// ω̇.
    pub alpha: E::Vector,
    /// a, of the body's origin.
    pub linear: E::Vector,
    /// Ω = ω̃̇ + ω̃ ω̃.
    pub turning: E::Matrix,
}

impl<E: Space> Moving<E> {
    #[inline(always)]
    pub(crate) fn new([omega, alpha, linear]: [E::Vector; 3]) -> Self {
        let spread = E::spread(omega);
        Moving {
            omega: spread,
            alpha,
            linear,
            turning: E::angular_rate(omega, spread, alpha),
        }
    }
}

/// A joint at one state. All quantities are in the axes and at the origin of the carried body.
pub(crate) trait JointIn<E: Space>: Copy {
    /// `parent_from_body` at these coordinates.
    fn pose(self, setting: E::Setting<'_>, q: &[E::Number]) -> E::Pose;

    /// r of the pose, ready to be crossed with others.
    fn lever(self, setting: E::Setting<'_>, kept: &E::Kept) -> E::Lever;

    /// ω, ω̇ and a of the body from the motion of its parent.
    fn carry(
        self,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &Moving<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3];

    /// Pᵀ f, into the joint's efforts.
    fn project(self, setting: E::Setting<'_>, kept: &E::Kept, f: &E::Wrench, tau: &mut [E::Number]);
}

/// Revolute: rotation about z.
#[derive(Clone, Copy)]
pub(crate) struct Turning<E>(pub PhantomData<E>);

impl<E: Space> JointIn<E> for Turning<E> {
    #[inline(always)]
    fn pose(self, setting: E::Setting<'_>, _q: &[E::Number]) -> E::Pose {
        E::turned(setting)
    }

    #[inline(always)]
    fn lever(self, setting: E::Setting<'_>, _kept: &E::Kept) -> E::Lever {
        E::arm(setting)
    }

    #[inline(always)]
    fn carry(
        self,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &Moving<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3] {
        let at_joint = E::times_arm_plus(&parent.turning, setting, parent.linear);
        let omega = E::back_plus_z(pose, parent.omega, v[0]);
        let rate = E::across_z(omega, v[0], vdot[0]);
        [
            omega,
            E::back_plus(pose, E::spread(parent.alpha), rate),
            E::back(pose, E::spread(at_joint)),
        ]
    }

    #[inline(always)]
    fn project(
        self,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        f: &E::Wrench,
        tau: &mut [E::Number],
    ) {
        tau[0] = E::z(E::moment(f));
    }
}

/// Prismatic: translation along z.
#[derive(Clone, Copy)]
pub(crate) struct Sliding<E>(pub PhantomData<E>);

impl<E: Space> JointIn<E> for Sliding<E> {
    #[inline(always)]
    fn pose(self, setting: E::Setting<'_>, q: &[E::Number]) -> E::Pose {
        E::slid(setting, q[0])
    }

    #[inline(always)]
    fn lever(self, _setting: E::Setting<'_>, kept: &E::Kept) -> E::Lever {
        E::lever(E::translation(kept))
    }

    #[inline(always)]
    fn carry(
        self,
        _setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &Moving<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3] {
        let r = E::spread(E::translation(E::kept(pose)));
        let at_joint = E::times_plus(&parent.turning, r, parent.linear);
        let omega = E::back(pose, parent.omega);
        // Coriolis: 2 ω × e_z ṡ
        let rate = E::across_z(omega, v[0] + v[0], vdot[0]);
        [
            omega,
            E::back(pose, E::spread(parent.alpha)),
            E::back_plus(pose, E::spread(at_joint), rate),
        ]
    }

    #[inline(always)]
    fn project(
        self,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        f: &E::Wrench,
        tau: &mut [E::Number],
    ) {
        tau[0] = E::z(E::force(f));
    }
}

/// Any other kind, in numbers.
#[derive(Clone, Copy)]
pub(crate) struct Other<E>(pub JointKind, pub PhantomData<E>);

impl<E: Space> JointIn<E> for Other<E> {
    #[inline(always)]
    fn pose(self, setting: E::Setting<'_>, q: &[E::Number]) -> E::Pose {
        let setting = E::setting(setting);
        E::pose(with_joint!(self.0, J => { J::<E::Number>::pose(setting, q) }))
    }

    #[inline(always)]
    fn lever(self, _setting: E::Setting<'_>, kept: &E::Kept) -> E::Lever {
        E::lever(E::translation(kept))
    }

    #[inline(always)]
    fn carry(
        self,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &Moving<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3] {
        let kept = E::kept(pose);
        let r = E::spread(E::translation(kept));
        let at_joint = E::times_plus(&parent.turning, r, parent.linear);
        let omega = E::components(E::back(pose, parent.omega));
        let rate = Motion::new(
            E::components(E::back(pose, E::spread(parent.alpha))),
            E::components(E::back(pose, E::spread(at_joint))),
        );
        let (setting, kept) = (E::setting(setting), E::pose_numbers(kept));
        let (twist, rate) = with_joint!(self.0, J => {
            let joint = J::<E::Number>::at(setting, &kept);
            let bias = joint.bias(omega, v);
            let twist = joint.plus(Motion::new(omega, Vec3::zero()), v);
            (twist, joint.plus(rate + bias, vdot))
        });
        [
            E::vector(twist.angular),
            E::vector(rate.angular),
            E::vector(rate.linear),
        ]
    }

    #[inline(always)]
    fn project(
        self,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        f: &E::Wrench,
        tau: &mut [E::Number],
    ) {
        let (setting, kept) = (E::setting(setting), E::pose_numbers(kept));
        with_joint!(self.0, J => {
            let joint = J::<E::Number>::at(setting, &kept);
            joint.project(E::wrench_numbers(f), &mut tau[..J::<E::Number>::NV]);
        });
    }
}

/// Runs the block with `$joint` being the joint of this kind in a space.
macro_rules! in_space {
    ($space:ty, $kind:expr, $joint:ident => $body:block) => {{
        use std::marker::PhantomData;
        use $crate::model::joint::JointKind;
        use $crate::space::{Other, Sliding, Turning};
        match $kind {
            JointKind::Revolute | JointKind::Continuous => {
                let $joint = Turning::<$space>(PhantomData);
                $body
            }
            JointKind::Prismatic => {
                let $joint = Sliding::<$space>(PhantomData);
                $body
            }
            kind => {
                let $joint = Other::<$space>(kind, PhantomData);
                $body
            }
        }
    }};
}

pub(crate) use in_space;
