//! Spherical joint: any rotation about the origin; rates are ω relative to the parent in body axes.

use super::{Joint, Pivots, PivotsMut, Setting, inward, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Mat3;
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose, Vec3};
use std::marker::PhantomData;

#[derive(Clone, Copy)]
pub(crate) struct Spherical<S>(PhantomData<S>);

impl<S: Scalar> Joint<S> for Spherical<S> {
    const NV: usize = 3;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, q: &[S]) -> Pose<S> {
        Pose::new(
            setting.placement.rotation * Mat3::from_quaternion([q[0], q[1], q[2], q[3]]),
            setting.placement.translation,
        )
    }

    #[inline(always)]
    fn at(_setting: Setting<'_, S>, _parent_from_body: &Pose<S>) -> Self {
        Spherical(PhantomData)
    }

    #[inline(always)]
    fn plus(self, mut m: Motion<S>, v: &[S]) -> Motion<S> {
        m.angular += Vec3::new(v[0], v[1], v[2]);
        m
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        Motion::new(omega.cross(Vec3::new(v[0], v[1], v[2])), Vec3::zero())
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        out[0] = f.moment.x;
        out[1] = f.moment.y;
        out[2] = f.moment.z;
    }

    #[inline(always)]
    fn column_in(self, k: usize, rotation: Mat3<S>) -> Motion<S> {
        Motion::new([rotation.x, rotation.y, rotation.z][k], Vec3::zero())
    }

    #[inline(always)]
    fn column(self, k: usize) -> Motion<S> {
        let identity = Mat3::identity();
        Motion::new([identity.x, identity.y, identity.z][k], Vec3::zero())
    }

    #[inline(always)]
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        let z_out = pivot!(
            inertia.eliminate_rotation_z(pivots.dofs[2].armature.lift()),
            pivots,
            2
        );
        // renamed once, y is called z; renamed twice, x is; three times restores
        let y_out = pivot!(
            z_out
                .renamed()
                .eliminate_rotation_z(pivots.dofs[1].armature.lift()),
            pivots,
            1,
            renamed,
            renamed
        );
        let x_out = pivot!(
            y_out
                .renamed()
                .eliminate_rotation_z(pivots.dofs[0].armature.lift()),
            pivots,
            0,
            renamed
        );
        x_out.renamed()
    }

    #[inline(always)]
    fn inward<P: Parameter<S>>(
        self,
        mut z: Force<S>,
        tau: &[S],
        pivots: Pivots<'_, S, P>,
        freed: &mut [S],
    ) -> Force<S> {
        inward!(z.moment.z, tau, pivots, freed, 2);
        inward!(z.moment.y, tau, pivots, freed, 1);
        inward!(z.moment.x, tau, pivots, freed, 0);
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
        outward!(m.angular.x, freed, pivots, vdot, 0);
        outward!(m.angular.y, freed, pivots, vdot, 1);
        outward!(m.angular.z, freed, pivots, vdot, 2);
        m
    }
}
