//! Free joint: six freedoms. Linear rates are along axes of the joint frame, ω relative to the parent in body axes.
//!
//! With R the rotation body → joint frame, linear quantities are in joint axes (multiplied by R) and angular ones
//! in body axes: there the freedoms are coordinate axes. The 6×6 block is that of the paper's free base.

use super::{Joint, Pivots, PivotsMut, Setting, inward, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Mat3;
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose, Vec3};

#[derive(Clone, Copy)]
pub(crate) struct Free<S> {
    /// Body axes → joint axes.
    rotation: Mat3<S>,
}

impl<S: Scalar> Joint<S> for Free<S> {
    const NV: usize = 6;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, q: &[S]) -> Pose<S> {
        let Pose {
            rotation,
            translation,
        } = setting.placement;
        Pose::new(
            rotation * Mat3::from_quaternion([q[3], q[4], q[5], q[6]]),
            rotation.times_add(Vec3::new(q[0], q[1], q[2]), translation),
        )
    }

    #[inline(always)]
    fn at(setting: Setting<'_, S>, parent_from_body: &Pose<S>) -> Self {
        Free {
            rotation: setting.placement.rotation.transpose() * parent_from_body.rotation,
        }
    }

    #[inline(always)]
    fn plus(self, m: Motion<S>, v: &[S]) -> Motion<S> {
        let linear = self.rotation.transpose_times(Vec3::new(v[0], v[1], v[2]));
        Motion::new(m.angular + Vec3::new(v[3], v[4], v[5]), m.linear + linear)
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        let linear = self.rotation.transpose_times(Vec3::new(v[0], v[1], v[2]));
        Motion::new(
            omega.cross(Vec3::new(v[3], v[4], v[5])),
            omega.cross(linear + linear),
        )
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        let force = self.rotation * f.force;
        out[..3].copy_from_slice(&force.to_array());
        out[3..].copy_from_slice(&f.moment.to_array());
    }

    #[inline(always)]
    fn column(self, k: usize) -> Motion<S> {
        if k < 3 {
            let axis = Vec3::from_array(self.rotation.rows()[k]);
            Motion::new(Vec3::zero(), axis)
        } else {
            let identity = Mat3::identity();
            Motion::new([identity.x, identity.y, identity.z][k - 3], Vec3::zero())
        }
    }

    #[inline(always)]
    fn column_rate(self, k: usize, v: &[S]) -> Motion<S> {
        if k < 3 {
            // fixed in the joint frame, it rotates with −ω relative to the body
            let axis = self.column(k).linear;
            Motion::new(Vec3::zero(), axis.cross(Vec3::new(v[3], v[4], v[5])))
        } else {
            Motion::zero()
        }
    }

    #[inline(always)]
    fn restore(self, psi: Force<S>) -> Force<S> {
        Force::new(psi.moment, self.rotation.transpose_times(psi.force))
    }

    #[inline(always)]
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        let mixed = ArticulatedInertia {
            rotational: inertia.rotational,
            coupling: inertia.coupling * self.rotation.transpose(),
            translational: inertia.translational.conjugate(self.rotation),
        };
        let m = pivot!(
            mixed.eliminate_rotation_z(pivots.dofs[5].armature.lift()),
            pivots,
            5
        )
        .renamed();
        let m = pivot!(
            m.eliminate_rotation_z(pivots.dofs[4].armature.lift()),
            pivots,
            4,
            renamed,
            renamed
        )
        .renamed();
        let m = pivot!(
            m.eliminate_rotation_z(pivots.dofs[3].armature.lift()),
            pivots,
            3,
            renamed
        )
        .renamed();
        let m = pivot!(
            m.eliminate_translation_z(pivots.dofs[2].armature.lift()),
            pivots,
            2
        )
        .renamed();
        let m = pivot!(
            m.eliminate_translation_z(pivots.dofs[1].armature.lift()),
            pivots,
            1,
            renamed,
            renamed
        )
        .renamed();
        let m = pivot!(
            m.eliminate_translation_z(pivots.dofs[0].armature.lift()),
            pivots,
            0,
            renamed
        )
        .renamed();
        ArticulatedInertia {
            rotational: m.rotational,
            coupling: m.coupling * self.rotation,
            translational: m.translational.conjugate(self.rotation.transpose()),
        }
    }

    #[inline(always)]
    fn inward<P: Parameter<S>>(
        self,
        z: Force<S>,
        tau: &[S],
        pivots: Pivots<'_, S, P>,
        freed: &mut [S],
    ) -> Force<S> {
        let mut z = Force::new(z.moment, self.rotation * z.force);
        inward!(z.moment.z, tau, pivots, freed, 5);
        inward!(z.moment.y, tau, pivots, freed, 4);
        inward!(z.moment.x, tau, pivots, freed, 3);
        inward!(z.force.z, tau, pivots, freed, 2);
        inward!(z.force.y, tau, pivots, freed, 1);
        inward!(z.force.x, tau, pivots, freed, 0);
        Force::new(z.moment, self.rotation.transpose_times(z.force))
    }

    #[inline(always)]
    fn outward<P: Parameter<S>>(
        self,
        m: Motion<S>,
        freed: &[S],
        pivots: Pivots<'_, S, P>,
        vdot: &mut [S],
    ) -> Motion<S> {
        let mut m = Motion::new(m.angular, self.rotation * m.linear);
        outward!(m.linear.x, freed, pivots, vdot, 0);
        outward!(m.linear.y, freed, pivots, vdot, 1);
        outward!(m.linear.z, freed, pivots, vdot, 2);
        outward!(m.angular.x, freed, pivots, vdot, 3);
        outward!(m.angular.y, freed, pivots, vdot, 4);
        outward!(m.angular.z, freed, pivots, vdot, 5);
        Motion::new(m.angular, self.rotation.transpose_times(m.linear))
    }
}
