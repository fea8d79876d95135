//! Revolute joint: rotation about z.

use super::{Joint, Pivots, PivotsMut, Setting, inward, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, Vec3};
use std::marker::PhantomData;

#[derive(Clone, Copy)]
pub(crate) struct Revolute<S>(PhantomData<S>);

impl<S: Scalar> Joint<S> for Revolute<S> {
    const NV: usize = 1;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, _q: &[S]) -> Pose<S> {
        Pose::new(
            setting
                .placement
                .rotation
                .times_rotation_z(setting.sin[0], setting.cos[0]),
            setting.placement.translation,
        )
    }

    #[inline(always)]
    fn at(_setting: Setting<'_, S>, _parent_from_body: &Pose<S>) -> Self {
        Revolute(PhantomData)
    }

    #[inline(always)]
    fn plus(self, mut m: Motion<S>, v: &[S]) -> Motion<S> {
        m.angular.z += v[0];
        m
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        // ω × e_z θ̇
        let angular = Vec3::new(omega.y * v[0], -(omega.x * v[0]), S::zero());
        Motion::new(angular, Vec3::zero())
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        out[0] = f.moment.z;
    }

    #[inline(always)]
    fn column_in(self, _k: usize, rotation: Mat3<S>) -> Motion<S> {
        Motion::new(rotation.z, Vec3::zero())
    }

    #[inline(always)]
    fn column(self, _k: usize) -> Motion<S> {
        Motion::new(Vec3::new(S::zero(), S::zero(), S::one()), Vec3::zero())
    }

    #[inline(always)]
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        pivot!(
            inertia.eliminate_rotation_z(pivots.dofs[0].armature.lift()),
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
        m
    }
}
