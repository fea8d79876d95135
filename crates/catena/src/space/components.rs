//! A vector as three numbers, of any scalar.

use super::{Constants, Eliminated, Space};
use crate::model::Angles;
use crate::model::joint::{Joint, Prismatic, Revolute, Setting};
use crate::model::{Model, Node, Tree};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{
    self, AngularRate, ArticulatedInertia, Force, Mat3, Motion, Pose, RigidInertia, Vec3,
};
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
    type Motion = Motion<S>;
    type Matrix = Mat3<S>;
    type Moments = RigidInertia<S>;
    type Articulated = ArticulatedInertia<S>;
    type Pose = Pose<S>;
    type Kept = Pose<S>;
    type Setting<'a> = Setting<'a, S>;
    type Inertia<'a> = RigidInertia<S>;

    const KEEPS_INERTIAS: bool = true;

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
    fn with_z(v: Vec3<S>, z: S) -> Vec3<S> {
        Vec3::new(v.x, v.y, z)
    }
    #[inline(always)]
    fn plus_z(v: Vec3<S>, z: S) -> Vec3<S> {
        Vec3::new(v.x, v.y, v.z + z)
    }
    #[inline(always)]
    fn cross_z(v: Vec3<S>, rate: S) -> Vec3<S> {
        Vec3::new(v.y * rate, -(v.x * rate), S::zero())
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
    fn scale_add(v: Vec3<S>, x: S, c: Vec3<S>) -> Vec3<S> {
        v.scale_add(x, c)
    }
    #[inline(always)]
    fn cross_plus(a: Vec3<S>, b: Vec3<S>, c: Vec3<S>) -> Vec3<S> {
        a.cross_add(b, c)
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
    fn add_scaled(f: &Force<S>, g: &Force<S>, x: S) -> Force<S> {
        f.add_scaled(*g, x)
    }

    #[inline(always)]
    fn motion(angular: Vec3<S>, linear: Vec3<S>) -> Motion<S> {
        Motion::new(angular, linear)
    }
    #[inline(always)]
    fn angular(m: &Motion<S>) -> Vec3<S> {
        m.angular
    }
    #[inline(always)]
    fn linear(m: &Motion<S>) -> Vec3<S> {
        m.linear
    }
    #[inline(always)]
    fn linear_at(m: &Motion<S>, r: Vec3<S>) -> Vec3<S> {
        m.angular.cross_add(r, m.linear)
    }

    #[inline(always)]
    fn times(m: &Mat3<S>, v: Vec3<S>) -> Vec3<S> {
        *m * v
    }
    #[inline(always)]
    fn times_plus(m: &Mat3<S>, v: Vec3<S>, c: Vec3<S>) -> Vec3<S> {
        m.times_add(v, c)
    }
    #[inline(always)]
    fn no_matrix() -> Mat3<S> {
        Mat3::zero()
    }
    #[inline(always)]
    fn matrix_sum(a: Mat3<S>, b: Mat3<S>) -> Mat3<S> {
        a + b
    }
    #[inline(always)]
    fn matrix_scaled(m: Mat3<S>, x: f64) -> Mat3<S> {
        m * S::constant(x)
    }
    #[inline(always)]
    fn skew_scaled(a: Vec3<S>, x: f64) -> Mat3<S> {
        Mat3::skew(a) * S::constant(x)
    }
    #[inline(always)]
    fn plus_cross_cross(m: Mat3<S>, a: &Vec3<S>, b: Vec3<S>) -> Mat3<S> {
        let along = -a.dot(b);
        Mat3 {
            x: b.scale_add(a.x, Vec3::new(m.x.x + along, m.x.y, m.x.z)),
            y: b.scale_add(a.y, Vec3::new(m.y.x, m.y.y + along, m.y.z)),
            z: b.scale_add(a.z, Vec3::new(m.z.x, m.z.y, m.z.z + along)),
        }
    }
    #[inline(always)]
    fn plus_cross_columns(m: Mat3<S>, a: Vec3<S>, n: &Mat3<S>) -> Mat3<S> {
        Mat3 {
            x: a.cross_add(n.x, m.x),
            y: a.cross_add(n.y, m.y),
            z: a.cross_add(n.z, m.z),
        }
    }
    #[inline(always)]
    fn minus_outer(m: Mat3<S>, a: Vec3<S>, b: Vec3<S>) -> Mat3<S> {
        Mat3 {
            x: a.scale_add(-b.x, m.x),
            y: a.scale_add(-b.y, m.y),
            z: a.scale_add(-b.z, m.z),
        }
    }
    #[inline(always)]
    fn transposes_times(m: &Mat3<S>, a: Vec3<S>, n: &Mat3<S>, b: Vec3<S>) -> Vec3<S> {
        m.transpose_times(a) + n.transpose_times(b)
    }
    #[inline(always)]
    fn column_z(m: &Mat3<S>) -> Vec3<S> {
        m.z
    }
    #[inline(always)]
    fn matrix_numbers(m: &Mat3<S>) -> Mat3<S> {
        *m
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
    fn rotation(kept: &Pose<S>) -> Mat3<S> {
        kept.rotation
    }
    #[inline(always)]
    fn times_rotation(m: &Mat3<S>, kept: &Pose<S>) -> Mat3<S> {
        *m * kept.rotation
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
    fn centripetal(pose: &Pose<S>, omega: Vec3<S>, _turned: Vec3<S>, r: Vec3<S>) -> Vec3<S> {
        pose.rotation.transpose_times(omega.cross(omega.cross(r)))
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
    fn arm_spread(setting: Setting<'_, S>) -> Vec3<S> {
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
    #[inline(always)]
    fn first(inertia: RigidInertia<S>) -> Vec3<S> {
        inertia.first
    }
    #[inline(always)]
    fn second_times(inertia: RigidInertia<S>, v: Vec3<S>) -> Vec3<S> {
        inertia.second * v
    }

    #[inline(always)]
    fn no_moments() -> RigidInertia<S> {
        RigidInertia::zero()
    }
    #[inline(always)]
    fn moments(inertia: RigidInertia<S>, axes: &Mat3<S>) -> RigidInertia<S> {
        inertia.turned(*axes)
    }
    #[inline(always)]
    fn own_moments(inertia: RigidInertia<S>) -> RigidInertia<S> {
        inertia
    }
    #[inline(always)]
    fn moments_numbers(moments: &RigidInertia<S>) -> RigidInertia<S> {
        *moments
    }
    #[inline(always)]
    fn add_moments(a: RigidInertia<S>, b: RigidInertia<S>) -> RigidInertia<S> {
        a + b
    }
    #[inline(always)]
    fn shifted(moments: RigidInertia<S>, arm: &Vec3<S>) -> RigidInertia<S> {
        moments.shifted(*arm)
    }
    #[inline(always)]
    fn moments_seen(moments: RigidInertia<S>, kept: &Pose<S>) -> RigidInertia<S> {
        moments.seen_from(*kept)
    }
    #[inline(always)]
    fn momentum_about_z(moments: &RigidInertia<S>) -> Force<S> {
        let (h, s) = (moments.first, moments.second);
        Force::new(
            Vec3::new(-s.xz, -s.yz, s.xx + s.yy),
            Vec3::new(-h.y, h.x, S::zero()),
        )
    }
    #[inline(always)]
    fn momentum_along_z(moments: &RigidInertia<S>) -> Force<S> {
        let h = moments.first;
        Force::new(
            Vec3::new(h.y, -h.x, S::zero()),
            Vec3::new(S::zero(), S::zero(), moments.mass),
        )
    }

    #[inline(always)]
    fn first_of(moments: &RigidInertia<S>) -> Vec3<S> {
        moments.first
    }
    #[inline(always)]
    fn second_spun(moments: &RigidInertia<S>, omega: Vec3<S>) -> Mat3<S> {
        moments.second.full().cross_columns(omega)
    }
    #[inline(always)]
    fn linear_momentum(moments: &RigidInertia<S>, omega: Vec3<S>, v: Vec3<S>) -> Vec3<S> {
        omega.cross_add(moments.first, v * moments.mass)
    }
    #[inline(always)]
    fn newton_euler(moments: &RigidInertia<S>, turning: &Mat3<S>, a: Vec3<S>) -> Force<S> {
        moments.newton_euler(AngularRate(*turning), a)
    }

    #[inline(always)]
    fn no_inertia() -> ArticulatedInertia<S> {
        ArticulatedInertia::zero()
    }
    #[inline(always)]
    fn rigid(inertia: RigidInertia<S>) -> ArticulatedInertia<S> {
        inertia.articulated()
    }
    #[inline(always)]
    fn rigid_of(moments: &RigidInertia<S>) -> ArticulatedInertia<S> {
        moments.articulated()
    }
    #[inline(always)]
    fn moved(inertia: ArticulatedInertia<S>, d: &Vec3<S>) -> ArticulatedInertia<S> {
        inertia.shifted(*d)
    }
    #[inline(always)]
    fn without(
        inertia: ArticulatedInertia<S>,
        psi: &Force<S>,
        inverse: S,
    ) -> ArticulatedInertia<S> {
        inertia.less_outer(*psi, *psi * inverse.recip())
    }
    #[inline(always)]
    fn articulated(inertia: ArticulatedInertia<S>) -> ArticulatedInertia<S> {
        inertia
    }
    #[inline(always)]
    fn articulated_numbers(inertia: ArticulatedInertia<S>) -> ArticulatedInertia<S> {
        inertia
    }
    #[inline(always)]
    fn joined(a: ArticulatedInertia<S>, b: ArticulatedInertia<S>) -> ArticulatedInertia<S> {
        a + b
    }
    #[inline(always)]
    fn inertia_times(inertia: &ArticulatedInertia<S>, m: &Motion<S>) -> Force<S> {
        inertia.times(*m)
    }
    #[inline(always)]
    fn seen(rest: ArticulatedInertia<S>, pose: &Pose<S>, _r: Vec3<S>) -> ArticulatedInertia<S> {
        rest.seen_from(*pose)
    }
    #[inline(always)]
    fn seen_with(
        rest: ArticulatedInertia<S>,
        pose: &Pose<S>,
        _r: Vec3<S>,
        parent: RigidInertia<S>,
    ) -> ArticulatedInertia<S> {
        parent.articulated() + rest.seen_from(*pose)
    }
    #[inline(always)]
    fn without_rotation_z(inertia: ArticulatedInertia<S>, rotor: S) -> Eliminated<Self> {
        let spatial::Eliminated { rest, psi, inverse } = inertia.eliminate_rotation_z(rotor);
        Eliminated { rest, psi, inverse }
    }
    #[inline(always)]
    fn without_translation_z(inertia: ArticulatedInertia<S>, rotor: S) -> Eliminated<Self> {
        let spatial::Eliminated { rest, psi, inverse } = inertia.eliminate_translation_z(rotor);
        Eliminated { rest, psi, inverse }
    }
    #[inline(always)]
    fn along(
        psi: &Force<S>,
        rate: &Motion<S>,
        _parent: &Motion<S>,
        _beta: &Motion<S>,
        _pose: &Pose<S>,
        _r: Vec3<S>,
    ) -> S {
        psi.dot(*rate)
    }

    #[inline(always)]
    fn psi_room<'a>(psi: &'a mut [Force<S>], _room: &'a mut [Force<S>; 6]) -> &'a mut [Force<S>] {
        psi
    }
    #[inline(always)]
    fn psi_written(_psi: &mut [Force<S>], _room: &[Force<S>; 6]) {}
    #[inline(always)]
    fn psi_numbers<'a>(psi: &'a [Force<S>], _room: &'a mut [Force<S>; 6]) -> &'a [Force<S>] {
        psi
    }
}
