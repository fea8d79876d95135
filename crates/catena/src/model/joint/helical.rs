//! Helical joint: rotation about z that advances along z by the pitch per radian.

use super::{Joint, Pivots, PivotsMut, Setting, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Mat3;
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose, Vec3};

#[derive(Clone, Copy)]
pub(crate) struct Helical<S> {
    pitch: S,
}

impl<S: Scalar> Joint<S> for Helical<S> {
    const NV: usize = 1;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, q: &[S]) -> Pose<S> {
        let Pose {
            rotation,
            translation,
        } = setting.placement;
        Pose::new(
            rotation.times_rotation_z(setting.sin[0], setting.cos[0]),
            rotation.z.scale_add(setting.pitch * q[0], translation),
        )
    }

    #[inline(always)]
    fn at(setting: Setting<'_, S>, _parent_from_body: &Pose<S>) -> Self {
        Helical {
            pitch: setting.pitch,
        }
    }

    #[inline(always)]
    fn plus(self, mut m: Motion<S>, v: &[S]) -> Motion<S> {
        m.angular.z += v[0];
        m.linear.z = self.pitch.mul_add(v[0], m.linear.z);
        m
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        let across = Vec3::new(omega.y * v[0], -(omega.x * v[0]), S::zero());
        Motion::new(across, across * (self.pitch + self.pitch))
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        out[0] = self.pitch.mul_add(f.force.z, f.moment.z);
    }

    #[inline(always)]
    fn column_in(self, _k: usize, rotation: Mat3<S>) -> Motion<S> {
        Motion::new(rotation.z, rotation.z * self.pitch)
    }

    #[inline(always)]
    fn column(self, _k: usize) -> Motion<S> {
        let o = S::zero();
        Motion::new(Vec3::new(o, o, S::one()), Vec3::new(o, o, self.pitch))
    }

    #[inline(always)]
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        pivot!(
            inertia.eliminate_screw_z(self.pitch, pivots.dofs[0].armature.lift()),
            pivots,
            0
        )
    }

    #[inline(always)]
    fn inward<P: Parameter<S>>(
        self,
        mut z: Force<S>,
        tau: &[S],
        pivots: Pivots<'_, S, P>,
        freed: &mut [S],
    ) -> Force<S> {
        // pᵀ z is written, not summed: moment = (τ − J τ̂/m̂) − pitch · force.
        let rest = tau[0] - self.pitch.mul_add(z.force.z, z.moment.z);
        z = z.add_scaled(pivots.psi[0], rest);
        freed[0] = rest * pivots.inverse[0];
        z.moment.z = tau[0] - pivots.dofs[0].armature.lift() * freed[0] - self.pitch * z.force.z;
        z
    }

    #[inline(always)]
    fn outward<P: Parameter<S>>(
        self,
        mut m: Motion<S>,
        freed: &[S],
        pivots: Pivots<'_, S, P>,
        vdot: &mut [S],
    ) -> Motion<S> {
        outward!(m.angular.z, freed, pivots, vdot, 0);
        m.linear.z = self.pitch.mul_add(vdot[0], m.linear.z);
        m
    }
}
