//! A vector as three numbers, of any scalar.

use super::{Constants, Space};
use crate::algorithm::Angles;
use crate::model::joint::{Joint, Prismatic, Revolute, Setting};
use crate::model::{Model, Node, Tree};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{AngularRate, Force, Mat3, Pose, RigidInertia, Vec3};
use std::marker::PhantomData;

/// Vectors of three numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Components<S>(PhantomData<S>);

impl<S: Scalar, P: Parameter<S>> Constants<Components<S>> for Model<P> {
    #[inline(always)]
    fn node(&self, i: usize) -> Node {
        self.tree().nodes[i]
    }

    #[inline(always)]
    fn setting<'a>(&'a self, i: usize, angles: &'a Angles<S>) -> Setting<'a, S> {
        Model::setting(self, i, angles)
    }

    #[inline(always)]
    fn inertia(&self, i: usize) -> RigidInertia<S> {
        Model::inertia(self, i)
    }
}

impl<S: Scalar> Space for Components<S> {
    type Number = S;
    type Vector = Vec3<S>;
    type Spread = Vec3<S>;
    type Lever = Vec3<S>;
    type Crosses = Vec3<S>;
    type Wrench = Force<S>;
    type Matrix = Mat3<S>;
    type Pose = Pose<S>;
    type Kept = Pose<S>;
    type Setting<'a> = Setting<'a, S>;
    type Inertia<'a> = RigidInertia<S>;

    fn angles(tree: &Tree) -> Angles<S> {
        Angles::new(tree)
    }
    #[inline(always)]
    fn fill(angles: &mut Angles<S>, tree: &Tree, q: &[S]) {
        angles.fill(tree, q);
    }

    #[inline(always)]
    fn zero() -> Vec3<S> {
        Vec3::zero()
    }
    #[inline(always)]
    fn vector(v: Vec3<S>) -> Vec3<S> {
        v
    }
    #[inline(always)]
    fn components(v: Vec3<S>) -> Vec3<S> {
        v
    }
    #[inline(always)]
    fn spread(v: Vec3<S>) -> Vec3<S> {
        v
    }
    #[inline(always)]
    fn z(v: Vec3<S>) -> S {
        v.z
    }
    #[inline(always)]
    fn across_z(v: Vec3<S>, rate: S, along: S) -> Vec3<S> {
        Vec3::new(v.y * rate, -(v.x * rate), along)
    }

    #[inline(always)]
    fn lever(v: Vec3<S>) -> Vec3<S> {
        v
    }
    #[inline(always)]
    fn cross(a: Vec3<S>, b: Vec3<S>) -> Vec3<S> {
        a.cross(b)
    }
    #[inline(always)]
    fn settle(sum: Vec3<S>) -> Vec3<S> {
        sum
    }

    #[inline(always)]
    fn wrench(moment: Vec3<S>, force: Vec3<S>) -> Force<S> {
        Force::new(moment, force)
    }
    #[inline(always)]
    fn moment(f: &Force<S>) -> Vec3<S> {
        f.moment
    }
    #[inline(always)]
    fn force(f: &Force<S>) -> Vec3<S> {
        f.force
    }

    #[inline(always)]
    fn times_plus(m: &Mat3<S>, v: Vec3<S>, c: Vec3<S>) -> Vec3<S> {
        m.times_add(v, c)
    }
    #[inline(always)]
    fn angular_rate(omega: Vec3<S>, _spread: Vec3<S>, alpha: Vec3<S>) -> Mat3<S> {
        AngularRate::new(omega, alpha).0
    }

    #[inline(always)]
    fn pose(pose: Pose<S>) -> Pose<S> {
        pose
    }
    #[inline(always)]
    fn turned(setting: Setting<'_, S>) -> Pose<S> {
        Revolute::pose(setting, &[])
    }
    #[inline(always)]
    fn slid(setting: Setting<'_, S>, q: S) -> Pose<S> {
        Prismatic::pose(setting, &[q])
    }
    #[inline(always)]
    fn kept(pose: &Pose<S>) -> &Pose<S> {
        pose
    }
    #[inline(always)]
    fn pose_numbers(kept: &Pose<S>) -> Pose<S> {
        *kept
    }
    #[inline(always)]
    fn translation(kept: &Pose<S>) -> Vec3<S> {
        kept.translation
    }
    #[inline(always)]
    fn back(pose: &Pose<S>, v: Vec3<S>) -> Vec3<S> {
        pose.rotation.transpose_times(v)
    }
    #[inline(always)]
    fn back_plus(pose: &Pose<S>, v: Vec3<S>, c: Vec3<S>) -> Vec3<S> {
        pose.rotation.transpose_times(v) + c
    }
    #[inline(always)]
    fn back_plus_z(pose: &Pose<S>, v: Vec3<S>, z: S) -> Vec3<S> {
        let mut turned = pose.rotation.transpose_times(v);
        turned.z += z;
        turned
    }
    #[inline(always)]
    fn turn(kept: &Pose<S>, v: Vec3<S>) -> Vec3<S> {
        kept.rotation * v
    }
    #[inline(always)]
    fn turn_plus(kept: &Pose<S>, v: Vec3<S>, c: Vec3<S>) -> Vec3<S> {
        kept.rotation.times_add(v, c)
    }

    #[inline(always)]
    fn setting<'a: 'a>(setting: Setting<'a, S>) -> Setting<'a, S> {
        setting
    }
    #[inline(always)]
    fn arm(setting: Setting<'_, S>) -> Vec3<S> {
        setting.placement.translation
    }
    #[inline(always)]
    fn times_arm_plus(m: &Mat3<S>, setting: Setting<'_, S>, c: Vec3<S>) -> Vec3<S> {
        m.times_add(setting.placement.translation, c)
    }

    #[inline(always)]
    fn mass_times(inertia: RigidInertia<S>, a: Vec3<S>) -> Vec3<S> {
        a * inertia.mass
    }
    #[inline(always)]
    fn times_first_plus(m: &Mat3<S>, inertia: RigidInertia<S>, c: Vec3<S>) -> Vec3<S> {
        m.times_add(inertia.first, c)
    }
    #[inline(always)]
    fn first_cross(inertia: RigidInertia<S>, a: Vec3<S>) -> Vec3<S> {
        inertia.first.cross(a)
    }
    #[inline(always)]
    fn second_crosses_plus(inertia: RigidInertia<S>, m: &Mat3<S>, c: Vec3<S>) -> Vec3<S> {
        let (s, row) = (inertia.second.full(), m.transpose());
        Vec3::new(
            row.z.dot_add(s.y, c.x) - row.y.dot(s.z),
            row.x.dot_add(s.z, c.y) - row.z.dot(s.x),
            row.y.dot_add(s.x, c.z) - row.x.dot(s.y),
        )
    }
}
