//! Prismatic joint: translation along z.

use super::{Joint, Pivots, PivotsMut, Setting, inward, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, Vec3};
use std::marker::PhantomData;

#[derive(Clone, Copy)]
pub(crate) struct Prismatic<S>(PhantomData<S>);

impl<S: Scalar> Joint<S> for Prismatic<S> {
    const NV: usize = 1;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, q: &[S]) -> Pose<S> {
        let Pose {
            rotation,
            translation,
        } = setting.placement;
        Pose::new(rotation, rotation.z.scale_add(q[0], translation))
    }

    #[inline(always)]
    fn at(_setting: Setting<'_, S>, _parent_from_body: &Pose<S>) -> Self {
        Prismatic(PhantomData)
    }

    #[inline(always)]
    fn plus(self, mut m: Motion<S>, v: &[S]) -> Motion<S> {
        m.linear.z += v[0];
        m
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        // Coriolis: 2 ω × e_z ṡ
        let twice = v[0] + v[0];
        let linear = Vec3::new(omega.y * twice, -(omega.x * twice), S::zero());
        Motion::new(Vec3::zero(), linear)
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        out[0] = f.force.z;
    }

    #[inline(always)]
    fn column_in(self, _k: usize, rotation: Mat3<S>) -> Motion<S> {
        Motion::new(Vec3::zero(), rotation.z)
    }

    #[inline(always)]
    fn column(self, _k: usize) -> Motion<S> {
        Motion::new(Vec3::zero(), Vec3::new(S::zero(), S::zero(), S::one()))
    }

    #[inline(always)]
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        pivot!(
            inertia.eliminate_translation_z(pivots.dofs[0].armature.lift()),
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
        inward!(z.force.z, tau, pivots, freed, 0);
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
        outward!(m.linear.z, freed, pivots, vdot, 0);
        m
    }
}
