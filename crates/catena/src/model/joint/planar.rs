//! Planar joint: translations x and y along axes of the joint frame, rotation θ about z.
//!
//! The translations are along axes fixed in the parent: in body axes (cos θ, −sin θ, 0) and (sin θ, cos θ, 0). Rotated back
//! by θ they are x and y: there the freedoms are eliminated.

use super::{Joint, Pivots, PivotsMut, Setting, inward, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose, Vec3};

#[derive(Clone, Copy)]
pub(crate) struct Planar<S> {
    sin: S,
    cos: S,
}

impl<S: Scalar> Planar<S> {
    #[inline(always)]
    fn velocity(self, v: &[S]) -> Vec3<S> {
        Vec3::new(
            self.cos.mul_add(v[0], self.sin * v[1]),
            self.cos.mul_add(v[1], -(self.sin * v[0])),
            S::zero(),
        )
    }
}

impl<S: Scalar> Joint<S> for Planar<S> {
    const NV: usize = 3;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, q: &[S]) -> Pose<S> {
        let Pose {
            rotation,
            translation,
        } = setting.placement;
        Pose::new(
            rotation.times_rotation_z(setting.sin[0], setting.cos[0]),
            rotation
                .x
                .scale_add(q[0], rotation.y.scale_add(q[1], translation)),
        )
    }

    #[inline(always)]
    fn at(setting: Setting<'_, S>, _parent_from_body: &Pose<S>) -> Self {
        Planar {
            sin: setting.sin[0],
            cos: setting.cos[0],
        }
    }

    #[inline(always)]
    fn plus(self, mut m: Motion<S>, v: &[S]) -> Motion<S> {
        let velocity = self.velocity(v);
        m.linear.x += velocity.x;
        m.linear.y += velocity.y;
        m.angular.z += v[2];
        m
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        let velocity = self.velocity(v);
        Motion::new(
            Vec3::new(omega.y * v[2], -(omega.x * v[2]), S::zero()),
            omega.cross(velocity + velocity),
        )
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        out[0] = self.cos.mul_add(f.force.x, -(self.sin * f.force.y));
        out[1] = self.sin.mul_add(f.force.x, self.cos * f.force.y);
        out[2] = f.moment.z;
    }

    #[inline(always)]
    fn column(self, k: usize) -> Motion<S> {
        let o = S::zero();
        match k {
            0 => Motion::new(Vec3::zero(), Vec3::new(self.cos, -self.sin, o)),
            1 => Motion::new(Vec3::zero(), Vec3::new(self.sin, self.cos, o)),
            _ => Motion::new(Vec3::new(o, o, S::one()), Vec3::zero()),
        }
    }

    #[inline(always)]
    fn column_rate(self, k: usize, v: &[S]) -> Motion<S> {
        let (sin, cos, o) = (self.sin * v[2], self.cos * v[2], S::zero());
        match k {
            0 => Motion::new(Vec3::zero(), Vec3::new(-sin, -cos, o)),
            1 => Motion::new(Vec3::zero(), Vec3::new(cos, -sin, o)),
            _ => Motion::zero(),
        }
    }

    #[inline(always)]
    fn restore(self, psi: Force<S>) -> Force<S> {
        psi.turned_z(-self.sin, self.cos)
    }

    #[inline(always)]
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        let turned = inertia.turned_z(self.sin, self.cos);
        let angle = pivot!(
            turned.eliminate_rotation_z(pivots.dofs[2].armature.lift()),
            pivots,
            2
        );
        // renamed once, y is called z; renamed twice, x is; three times restores
        let y_out = pivot!(
            angle
                .renamed()
                .eliminate_translation_z(pivots.dofs[1].armature.lift()),
            pivots,
            1,
            renamed,
            renamed
        );
        let x_out = pivot!(
            y_out
                .renamed()
                .eliminate_translation_z(pivots.dofs[0].armature.lift()),
            pivots,
            0,
            renamed
        );
        x_out.renamed().turned_z(-self.sin, self.cos)
    }

    #[inline(always)]
    fn inward<P: Parameter<S>>(
        self,
        z: Force<S>,
        tau: &[S],
        pivots: Pivots<'_, S, P>,
        freed: &mut [S],
    ) -> Force<S> {
        let mut z = z.turned_z(self.sin, self.cos);
        inward!(z.moment.z, tau, pivots, freed, 2);
        inward!(z.force.y, tau, pivots, freed, 1);
        inward!(z.force.x, tau, pivots, freed, 0);
        z.turned_z(-self.sin, self.cos)
    }

    #[inline(always)]
    fn outward<P: Parameter<S>>(
        self,
        m: Motion<S>,
        freed: &[S],
        pivots: Pivots<'_, S, P>,
        vdot: &mut [S],
    ) -> Motion<S> {
        let mut m = m.turned_z(self.sin, self.cos);
        outward!(m.linear.x, freed, pivots, vdot, 0);
        outward!(m.linear.y, freed, pivots, vdot, 1);
        outward!(m.angular.z, freed, pivots, vdot, 2);
        m.turned_z(-self.sin, self.cos)
    }
}
