//! A vector in one AVX2 register: one state in `f64`.

use super::articulated::{QuadArticulated, Without};
use super::lanes::Avx2Register;
use super::links::Link;
use super::moments::QuadMoments;
use super::motions::{KeptPose, QuadMotion, QuadWrench};
use super::quad::{Quad, QuadMat, around, turning};
use crate::model::Angles;
use crate::model::joint::Setting;
use crate::model::{Model, Node, Tree};
use crate::scalar::{Fused, Scalar, Wide};
use crate::space::{Constants, Eliminated, Space};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Pose, RigidInertia, Sym3, Vec3};

/// Vectors in AVX2 registers. Recursions over them run only where [`crate::Dynamics`] has detected AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers;

/// The constants of a model: laid out for registers, and in numbers for the rarer joints.
#[derive(Clone, Copy)]
pub(crate) struct Links<'m> {
    pub model: &'m Model,
    pub links: &'m [Link],
}

/// The constants of one joint, and the sines and cosines of its angles.
#[derive(Clone, Copy)]
pub(crate) struct LinkSetting<'a> {
    link: &'a Link,
    angles: &'a Angles<Fused>,
    model: &'a Model,
    body: usize,
}

impl<'m> Links<'m> {
    /// `links` are those of the model.
    #[inline(always)]
    pub fn new(model: &'m Model, links: &'m [Link]) -> Self {
        // one per body: loops over bodies need no further bounds checks
        let links = &links[..=model.body_count()];
        Links { model, links }
    }
}

impl Constants<Registers> for Links<'_> {
    #[inline(always)]
    fn node(&self, i: usize) -> Node {
        self.links[i].node
    }

    #[inline(always)]
    fn setting<'a>(&'a self, i: usize, angles: &'a Angles<Fused>) -> LinkSetting<'a> {
        LinkSetting {
            link: &self.links[i],
            angles,
            model: self.model,
            body: i,
        }
    }

    #[inline(always)]
    fn inertia(&self, i: usize) -> &Link {
        &self.links[i]
    }
}

/// Pose of a body in its parent, with the rotation by columns and by rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuadPose {
    pub kept: KeptPose,
    pub rows: QuadMat,
}

impl QuadPose {
    /// Rotated about the joint's z by an angle.
    #[inline(always)]
    pub fn revolute(link: &Link, sin: Fused, cos: Fused) -> Self {
        let (s, c) = (Quad::splat(sin.0), Quad::splat(cos.0));
        let (x, y) = (link.columns.x, link.columns.y);
        let one = Quad::splat(1.0);
        let along = c.blend::<0b1100>(one); // (c, c, 1, 1)
        let across = s * Quad::new(1.0, -1.0, 0.0); // (s, −s, 0, 0)
        QuadPose {
            kept: KeptPose {
                rotation: QuadMat {
                    x: x.mul_add(c, y * s),
                    y: x.taken_from(s, y * c),
                    z: link.columns.z,
                },
                translation: link.translation,
            },
            rows: QuadMat {
                x: link.rows.x.mul_add(along, link.rows.x.swapped() * across),
                y: link.rows.y.mul_add(along, link.rows.y.swapped() * across),
                z: link.rows.z.mul_add(along, link.rows.z.swapped() * across),
            },
        }
    }

    /// Moved along the joint's z.
    #[inline(always)]
    pub fn prismatic(link: &Link, q: Fused) -> Self {
        let translation = link.columns.z.mul_add(Quad::splat(q.0), link.translation);
        QuadPose {
            kept: KeptPose {
                rotation: link.columns,
                translation,
            },
            rows: link.rows,
        }
    }

    /// Any pose.
    #[inline(always)]
    pub fn general(pose: Pose<Fused>) -> Self {
        QuadPose {
            kept: KeptPose {
                rotation: QuadMat::from_fused(pose.rotation),
                translation: Quad::from_fused(pose.translation),
            },
            rows: QuadMat::from_fused(pose.rotation.transpose()),
        }
    }
}

/// A vector, and its components permuted cyclically.
#[derive(Clone, Copy)]
pub(crate) struct QuadLever {
    v: Quad,
    yzx: Quad,
}

/// Cross products whose components are still to be permuted.
#[derive(Clone, Copy)]
pub(crate) struct QuadCrosses(Quad);

#[inline(always)]
fn eliminated(without: Without) -> Eliminated<Registers> {
    Eliminated {
        rest: without.rest,
        psi: without.psi,
        inverse: Fused(without.inverse),
    }
}

impl Space for Registers {
    type Number = Fused;
    type Vector = Quad;
    type Spread = [Quad; 3];
    type Lever = QuadLever;
    type Crosses = QuadCrosses;
    type Wrench = QuadWrench;
    type Motion = QuadMotion;
    type Matrix = QuadMat;
    type Moments = QuadMoments;
    type Articulated = QuadArticulated;
    type Pose = QuadPose;
    type Kept = KeptPose;
    type Setting<'a> = LinkSetting<'a>;
    type Inertia<'a> = &'a Link;

    const KEEPS_INERTIAS: bool = false;

    /// Storage for whole registers of four angles.
    fn angles(tree: &Tree) -> Angles<Fused> {
        let zero = vec![Fused(0.0); tree.angles.len().next_multiple_of(4)];
        Angles {
            angle: zero.clone(),
            sin: zero.clone(),
            cos: zero,
        }
    }
    /// Four angles at a time.
    #[inline(always)]
    fn fill(angles: &mut Angles<Fused>, tree: &Tree, q: &[Fused]) {
        for (angle, &k) in angles.angle.iter_mut().zip(&tree.angles) {
            *angle = q[k];
        }
        let sines = Fused::plain_mut(&mut angles.sin).chunks_exact_mut(4);
        let cosines = Fused::plain_mut(&mut angles.cos).chunks_exact_mut(4);
        let angles = Fused::plain(&angles.angle).chunks_exact(4);
        for ((angle, sin_out), cos_out) in angles.zip(sines).zip(cosines) {
            let (sin, cos) = Wide::<Avx2Register>::from_lanes(angle).sin_cos();
            sin.store(sin_out);
            cos.store(cos_out);
        }
    }

    #[inline(always)]
    fn zero() -> Quad {
        Quad::zero()
    }
    #[inline(always)]
    fn vector(v: Vec3<Fused>) -> Quad {
        Quad::from_fused(v)
    }
    #[inline(always)]
    fn components(v: Quad) -> Vec3<Fused> {
        v.to_fused()
    }
    #[inline(always)]
    fn spread(v: Quad) -> [Quad; 3] {
        v.spread()
    }
    #[inline(always)]
    fn z(v: Quad) -> Fused {
        Fused(v.z())
    }
    #[inline(always)]
    fn with_z(v: Quad, z: Fused) -> Quad {
        v.blend::<0b0100>(Quad::splat(z.0))
    }
    #[inline(always)]
    fn plus_z(v: Quad, z: Fused) -> Quad {
        v + along_z(z)
    }
    #[inline(always)]
    fn cross_z(v: Quad, rate: Fused) -> Quad {
        // (y, −x, 0) rate
        v.swapped() * (Quad::splat(rate.0) * Quad::new(1.0, -1.0, 0.0))
    }
    #[inline(always)]
    fn across_z(v: Quad, rate: Fused, along: Fused) -> Quad {
        Self::cross_z(v, rate) + along_z(along)
    }

    #[inline(always)]
    fn lever(v: Quad) -> QuadLever {
        QuadLever { v, yzx: v.yzx() }
    }
    #[inline(always)]
    fn scale_add(v: Quad, x: Fused, c: Quad) -> Quad {
        v.mul_add(Quad::splat(x.0), c)
    }
    #[inline(always)]
    fn cross_plus(a: QuadLever, b: Quad, c: Quad) -> Quad {
        Quad::cross_of(a.v, a.yzx, b) + c
    }
    #[inline(always)]
    fn cross(a: QuadLever, b: Quad) -> Quad {
        Quad::cross_of(a.v, a.yzx, b)
    }
    #[inline(always)]
    fn settle(sum: QuadCrosses) -> Quad {
        sum.0.yzx()
    }

    #[inline(always)]
    fn wrench(moment: Quad, force: Quad) -> QuadWrench {
        QuadWrench { moment, force }
    }
    #[inline(always)]
    fn moment(f: &QuadWrench) -> Quad {
        f.moment
    }
    #[inline(always)]
    fn force(f: &QuadWrench) -> Quad {
        f.force
    }

    #[inline(always)]
    fn add_scaled(f: &QuadWrench, g: &QuadWrench, x: Fused) -> QuadWrench {
        let x = Quad::splat(x.0);
        QuadWrench {
            moment: g.moment.mul_add(x, f.moment),
            force: g.force.mul_add(x, f.force),
        }
    }

    #[inline(always)]
    fn motion(angular: Quad, linear: Quad) -> QuadMotion {
        QuadMotion { angular, linear }
    }
    #[inline(always)]
    fn angular(m: &QuadMotion) -> Quad {
        m.angular
    }
    #[inline(always)]
    fn linear(m: &QuadMotion) -> Quad {
        m.linear
    }
    #[inline(always)]
    fn linear_at(m: &QuadMotion, r: QuadLever) -> Quad {
        m.linear - Quad::cross_of(r.v, r.yzx, m.angular)
    }

    #[inline(always)]
    fn times(m: &QuadMat, v: [Quad; 3]) -> Quad {
        m.times(v)
    }
    #[inline(always)]
    fn times_plus(m: &QuadMat, v: [Quad; 3], c: Quad) -> Quad {
        m.times(v) + c
    }
    #[inline(always)]
    fn no_matrix() -> QuadMat {
        QuadMat::zero()
    }
    #[inline(always)]
    fn matrix_sum(a: QuadMat, b: QuadMat) -> QuadMat {
        a.plus(b)
    }
    #[inline(always)]
    fn matrix_scaled(m: QuadMat, x: f64) -> QuadMat {
        let x = Quad::splat(x);
        QuadMat {
            x: m.x * x,
            y: m.y * x,
            z: m.z * x,
        }
    }
    #[inline(always)]
    fn skew_scaled(a: Quad, x: f64) -> QuadMat {
        QuadMat::skew(a, x)
    }
    #[inline(always)]
    fn plus_cross_cross(m: QuadMat, a: &Quad, b: Quad) -> QuadMat {
        let [x, y, z] = a.spread_from_memory();
        let along = Quad::splat((*a * b).sum());
        QuadMat {
            x: b.mul_add(x, m.x) - Quad::zero().blend::<0b0001>(along),
            y: b.mul_add(y, m.y) - Quad::zero().blend::<0b0010>(along),
            z: b.mul_add(z, m.z) - Quad::zero().blend::<0b0100>(along),
        }
    }
    #[inline(always)]
    fn plus_cross_columns(m: QuadMat, a: QuadLever, n: &QuadMat) -> QuadMat {
        QuadMat {
            x: m.x + Quad::cross_of(a.v, a.yzx, n.x),
            y: m.y + Quad::cross_of(a.v, a.yzx, n.y),
            z: m.z + Quad::cross_of(a.v, a.yzx, n.z),
        }
    }
    #[inline(always)]
    fn minus_outer(m: QuadMat, a: Quad, b: [Quad; 3]) -> QuadMat {
        QuadMat {
            x: a.taken_from(b[0], m.x),
            y: a.taken_from(b[1], m.y),
            z: a.taken_from(b[2], m.z),
        }
    }
    #[inline(always)]
    fn transposes_times(m: &QuadMat, a: Quad, n: &QuadMat, b: Quad) -> Quad {
        Quad::sums(
            a.mul_add(m.x, b * n.x),
            a.mul_add(m.y, b * n.y),
            a.mul_add(m.z, b * n.z),
        )
    }
    #[inline(always)]
    fn column_z(m: &QuadMat) -> Quad {
        m.z
    }
    #[inline(always)]
    fn matrix_numbers(m: &QuadMat) -> Mat3<Fused> {
        m.to_fused()
    }
    #[inline(always)]
    fn angular_rate(omega: Quad, spread: [Quad; 3], alpha: Quad) -> QuadMat {
        turning(omega, spread, alpha)
    }

    #[inline(always)]
    fn pose(pose: Pose<Fused>) -> QuadPose {
        QuadPose::general(pose)
    }
    #[inline(always)]
    fn turned(setting: LinkSetting<'_>) -> QuadPose {
        let LinkSetting { link, angles, .. } = setting;
        let k = link.node.angle;
        QuadPose::revolute(link, angles.sin[k], angles.cos[k])
    }
    #[inline(always)]
    fn slid(setting: LinkSetting<'_>, q: Fused) -> QuadPose {
        QuadPose::prismatic(setting.link, q)
    }
    #[inline(always)]
    fn kept(pose: &QuadPose) -> &KeptPose {
        &pose.kept
    }
    #[inline(always)]
    fn pose_numbers(kept: &KeptPose) -> Pose<Fused> {
        Pose::new(kept.rotation.to_fused(), kept.translation.to_fused())
    }
    #[inline(always)]
    fn translation(kept: &KeptPose) -> Quad {
        kept.translation
    }
    #[inline(always)]
    fn rotation(kept: &KeptPose) -> QuadMat {
        kept.rotation
    }
    #[inline(always)]
    fn times_rotation(m: &QuadMat, kept: &KeptPose) -> QuadMat {
        let r = &kept.rotation;
        QuadMat {
            x: m.times(r.x.spread()),
            y: m.times(r.y.spread()),
            z: m.times(r.z.spread()),
        }
    }
    #[inline(always)]
    fn back(pose: &QuadPose, v: [Quad; 3]) -> Quad {
        pose.rows.times(v)
    }
    #[inline(always)]
    fn back_plus(pose: &QuadPose, v: [Quad; 3], c: Quad) -> Quad {
        pose.rows.times_add(v, c)
    }
    #[inline(always)]
    fn back_plus_z(pose: &QuadPose, v: [Quad; 3], z: Fused) -> Quad {
        pose.rows.times_add(v, along_z(z))
    }
    #[inline(always)]
    fn turn(kept: &KeptPose, v: [Quad; 3]) -> Quad {
        kept.rotation.times(v)
    }
    #[inline(always)]
    fn turn_plus(kept: &KeptPose, v: [Quad; 3], c: Quad) -> Quad {
        kept.rotation.times_add(v, c)
    }

    #[inline(always)]
    fn centripetal(pose: &QuadPose, _omega: [Quad; 3], turned: Quad, r: [Quad; 3]) -> Quad {
        let turned_yzx = turned.yzx();
        let velocity = Quad::cross_of(turned, turned_yzx, pose.rows.times(r));
        Quad::cross_of(turned, turned_yzx, velocity)
    }

    #[inline(always)]
    fn setting<'a: 'a>(setting: LinkSetting<'a>) -> Setting<'a, Fused> {
        setting.model.setting(setting.body, setting.angles)
    }
    #[inline(always)]
    fn arm(setting: LinkSetting<'_>) -> QuadLever {
        QuadLever {
            v: setting.link.translation,
            yzx: setting.link.translation_yzx,
        }
    }
    #[inline(always)]
    fn arm_spread(setting: LinkSetting<'_>) -> [Quad; 3] {
        setting.link.translation.spread_from_memory()
    }
    #[inline(always)]
    fn times_arm_plus(m: &QuadMat, setting: LinkSetting<'_>, c: Quad) -> Quad {
        m.times(setting.link.translation.spread_from_memory()) + c
    }

    #[inline(always)]
    fn mass_times(inertia: &Link, a: Quad) -> Quad {
        a * inertia.mass
    }
    #[inline(always)]
    fn times_first_plus(m: &QuadMat, inertia: &Link, c: Quad) -> Quad {
        m.times_add(inertia.first.spread_from_memory(), c)
    }
    #[inline(always)]
    fn first_cross(inertia: &Link, a: Quad) -> QuadCrosses {
        QuadCrosses(around(inertia.first, inertia.first_yzx, a, Quad::zero()))
    }
    #[inline(always)]
    fn second_crosses_plus(inertia: &Link, m: &QuadMat, c: QuadCrosses) -> QuadCrosses {
        let (s, s_yzx) = (&inertia.second, &inertia.second_yzx);
        let sum = around(s.x, s_yzx.x, m.x, c.0);
        let sum = around(s.y, s_yzx.y, m.y, sum);
        QuadCrosses(around(s.z, s_yzx.z, m.z, sum))
    }
    #[inline(always)]
    fn first(inertia: &Link) -> Quad {
        inertia.first
    }
    #[inline(always)]
    fn second_times(inertia: &Link, v: [Quad; 3]) -> Quad {
        inertia.second.times(v)
    }

    #[inline(always)]
    fn no_moments() -> QuadMoments {
        QuadMoments::zero()
    }
    #[inline(always)]
    fn moments(inertia: &Link, axes: &QuadMat) -> QuadMoments {
        QuadMoments::of(inertia, axes)
    }
    #[inline(always)]
    fn own_moments(inertia: &Link) -> QuadMoments {
        QuadMoments {
            mass: inertia.mass,
            first: inertia.first,
            second: inertia.second,
        }
    }
    #[inline(always)]
    fn moments_numbers(moments: &QuadMoments) -> RigidInertia<Fused> {
        RigidInertia {
            mass: Fused(moments.mass.z()),
            first: moments.first.to_fused(),
            second: Sym3::from_upper(moments.second.to_fused()),
        }
    }
    #[inline(always)]
    fn add_moments(a: QuadMoments, b: QuadMoments) -> QuadMoments {
        a.plus(b)
    }
    #[inline(always)]
    fn shifted(moments: QuadMoments, arm: &Quad) -> QuadMoments {
        moments.shifted(arm)
    }
    #[inline(always)]
    fn moments_seen(moments: QuadMoments, kept: &KeptPose) -> QuadMoments {
        moments.turned(&kept.rotation).shifted(&kept.translation)
    }
    #[inline(always)]
    fn momentum_about_z(moments: &QuadMoments) -> QuadWrench {
        moments.about_z()
    }
    #[inline(always)]
    fn momentum_along_z(moments: &QuadMoments) -> QuadWrench {
        QuadWrench {
            moment: Self::cross_z(moments.first, Fused(1.0)),
            force: Quad::zero().blend::<0b0100>(moments.mass),
        }
    }

    #[inline(always)]
    fn first_of(moments: &QuadMoments) -> Quad {
        moments.first
    }
    #[inline(always)]
    fn second_spun(moments: &QuadMoments, omega: QuadLever) -> QuadMat {
        let s = &moments.second;
        QuadMat {
            x: Quad::cross_of(omega.v, omega.yzx, s.x),
            y: Quad::cross_of(omega.v, omega.yzx, s.y),
            z: Quad::cross_of(omega.v, omega.yzx, s.z),
        }
    }
    #[inline(always)]
    fn linear_momentum(moments: &QuadMoments, omega: QuadLever, v: Quad) -> Quad {
        v.mul_add(
            moments.mass,
            Quad::cross_of(omega.v, omega.yzx, moments.first),
        )
    }
    #[inline(always)]
    fn newton_euler(moments: &QuadMoments, turning: &QuadMat, a: Quad) -> QuadWrench {
        let (h, s) = (moments.first, &moments.second);
        let moment = around(h, h.yzx(), a, Quad::zero());
        let moment = around(s.x, s.x.yzx(), turning.x, moment);
        let moment = around(s.y, s.y.yzx(), turning.y, moment);
        let moment = around(s.z, s.z.yzx(), turning.z, moment);
        QuadWrench {
            moment: moment.yzx(),
            force: turning.times_add(h.spread(), a * moments.mass),
        }
    }

    #[inline(always)]
    fn no_inertia() -> QuadArticulated {
        QuadArticulated::zero()
    }
    #[inline(always)]
    fn rigid(inertia: &Link) -> QuadArticulated {
        QuadArticulated::rigid(inertia)
    }
    #[inline(always)]
    fn rigid_of(moments: &QuadMoments) -> QuadArticulated {
        QuadArticulated::of(moments)
    }
    #[inline(always)]
    fn moved(inertia: QuadArticulated, d: &Quad) -> QuadArticulated {
        inertia.moved(d)
    }
    #[inline(always)]
    fn without(inertia: QuadArticulated, psi: &QuadWrench, inverse: Fused) -> QuadArticulated {
        inertia.without(psi, 1.0 / inverse.0)
    }
    #[inline(always)]
    fn articulated(inertia: ArticulatedInertia<Fused>) -> QuadArticulated {
        QuadArticulated::from_fused(inertia)
    }
    #[inline(always)]
    fn articulated_numbers(inertia: QuadArticulated) -> ArticulatedInertia<Fused> {
        inertia.to_fused()
    }
    #[inline(always)]
    fn joined(a: QuadArticulated, b: QuadArticulated) -> QuadArticulated {
        a.plus(b)
    }
    #[inline(always)]
    fn inertia_times(inertia: &QuadArticulated, m: &QuadMotion) -> QuadWrench {
        inertia.times(m)
    }
    #[inline(always)]
    fn seen(rest: QuadArticulated, pose: &QuadPose, r: QuadLever) -> QuadArticulated {
        rest.seen(&pose.kept, r.yzx)
    }
    #[inline(always)]
    fn seen_with(
        rest: QuadArticulated,
        pose: &QuadPose,
        r: QuadLever,
        parent: &Link,
    ) -> QuadArticulated {
        rest.seen_with(&pose.kept, r.yzx, parent)
    }
    #[inline(always)]
    fn without_rotation_z(inertia: QuadArticulated, rotor: Fused) -> Eliminated<Self> {
        eliminated(inertia.eliminate_rotation_z(rotor.0))
    }
    #[inline(always)]
    fn without_translation_z(inertia: QuadArticulated, rotor: Fused) -> Eliminated<Self> {
        eliminated(inertia.eliminate_translation_z(rotor.0))
    }
    /// As (Bᵀψ)ᵀ ṫₚ + ψᵀβ: only one product depends on the parent.
    #[inline(always)]
    fn along(
        psi: &QuadWrench,
        _rate: &QuadMotion,
        parent: &QuadMotion,
        beta: &QuadMotion,
        pose: &QuadPose,
        r: QuadLever,
    ) -> Fused {
        let rotation = &pose.kept.rotation;
        let force = rotation.times(psi.force.spread_from_memory());
        let moment =
            rotation.times(psi.moment.spread_from_memory()) + Quad::cross_of(r.v, r.yzx, force);
        let own = psi.moment.mul_add(beta.angular, psi.force * beta.linear);
        let along = moment.mul_add(parent.angular, force.mul_add(parent.linear, own));
        Fused(along.sum())
    }

    #[inline(always)]
    fn psi_room<'a>(
        _psi: &'a mut [QuadWrench],
        room: &'a mut [Force<Fused>; 6],
    ) -> &'a mut [Force<Fused>] {
        room
    }
    #[inline(always)]
    fn psi_written(psi: &mut [QuadWrench], room: &[Force<Fused>; 6]) {
        for (psi, numbers) in psi.iter_mut().zip(room) {
            *psi = Self::wrench_of(*numbers);
        }
    }
    #[inline(always)]
    fn psi_numbers<'a>(
        psi: &'a [QuadWrench],
        room: &'a mut [Force<Fused>; 6],
    ) -> &'a [Force<Fused>] {
        for (numbers, psi) in room.iter_mut().zip(psi) {
            *numbers = Self::wrench_numbers(psi);
        }
        room
    }
}

/// (0, 0, x, 0).
#[inline(always)]
fn along_z(x: Fused) -> Quad {
    Quad::zero().blend::<0b0100>(Quad::splat(x.0))
}
