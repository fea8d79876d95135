//! Cylindrical joint: rotation about and translation along z, independent of each other.

use super::{Joint, Pivots, PivotsMut, Setting, inward, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Mat3;
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose, Vec3};
use std::marker::PhantomData;

#[derive(Clone, Copy)]
pub(crate) struct Cylindrical<S>(PhantomData<S>);

impl<S: Scalar> Joint<S> for Cylindrical<S> {
    const NV: usize = 2;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, q: &[S]) -> Pose<S> {
        let Pose {
            rotation,
            translation,
        } = setting.placement;
        Pose::new(
            rotation.times_rotation_z(setting.sin[0], setting.cos[0]),
            rotation.z.scale_add(q[1], translation),
        )
    }

    #[inline(always)]
    fn at(_setting: Setting<'_, S>, _parent_from_body: &Pose<S>) -> Self {
        Cylindrical(PhantomData)
    }

    #[inline(always)]
    fn plus(self, mut m: Motion<S>, v: &[S]) -> Motion<S> {
        m.angular.z += v[0];
        m.linear.z += v[1];
        m
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        let across = Vec3::new(omega.y, -omega.x, S::zero());
        Motion::new(across * v[0], across * (v[1] + v[1]))
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        out[0] = f.moment.z;
        out[1] = f.force.z;
    }

    #[inline(always)]
    fn column_in(self, k: usize, rotation: Mat3<S>) -> Motion<S> {
        match k {
            0 => Motion::new(rotation.z, Vec3::zero()),
            _ => Motion::new(Vec3::zero(), rotation.z),
        }
    }

    #[inline(always)]
    fn column(self, k: usize) -> Motion<S> {
        let z = Vec3::new(S::zero(), S::zero(), S::one());
        match k {
            0 => Motion::new(z, Vec3::zero()),
            _ => Motion::new(Vec3::zero(), z),
        }
    }

    #[inline(always)]
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        let slid = pivot!(
            inertia.eliminate_translation_z(pivots.dofs[1].armature.lift()),
            pivots,
            1
        );
        pivot!(
            slid.eliminate_rotation_z(pivots.dofs[0].armature.lift()),
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
        inward!(z.force.z, tau, pivots, freed, 1);
        inward!(z.moment.z, tau, pivots, freed, 0);
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
        outward!(m.linear.z, freed, pivots, vdot, 1);
        m
    }
}
