//! Universal joint: θ₁ about x, fixed in the parent, then θ₂ about z, fixed in the body.
//!
//! In body axes the first axis is (cos θ₂, −sin θ₂, 0). Rotated back by θ₂ about z it is the x axis: there the freedoms are
//! eliminated.

use super::{Joint, Pivots, PivotsMut, Setting, inward, outward, pivot};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Motion, Pose, Vec3};

#[derive(Clone, Copy)]
pub(crate) struct Universal<S> {
    sin: S,
    cos: S,
}

impl<S: Scalar> Universal<S> {
    #[inline(always)]
    fn first_axis(self) -> Vec3<S> {
        Vec3::new(self.cos, -self.sin, S::zero())
    }
}

impl<S: Scalar> Joint<S> for Universal<S> {
    const NV: usize = 2;

    #[inline(always)]
    fn pose(setting: Setting<'_, S>, _q: &[S]) -> Pose<S> {
        Pose::new(
            setting
                .placement
                .rotation
                .times_rotation_x(setting.sin[0], setting.cos[0])
                .times_rotation_z(setting.sin[1], setting.cos[1]),
            setting.placement.translation,
        )
    }

    #[inline(always)]
    fn at(setting: Setting<'_, S>, _parent_from_body: &Pose<S>) -> Self {
        Universal {
            sin: setting.sin[1],
            cos: setting.cos[1],
        }
    }

    #[inline(always)]
    fn plus(self, mut m: Motion<S>, v: &[S]) -> Motion<S> {
        m.angular.x = self.cos.mul_add(v[0], m.angular.x);
        m.angular.y = (-self.sin).mul_add(v[0], m.angular.y);
        m.angular.z += v[1];
        m
    }

    #[inline(always)]
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S> {
        let own = self.first_axis() * v[0];
        // the first axis rotates with −θ̇₂ about z relative to the body
        let turning = Vec3::new(own.y * v[1], -(own.x * v[1]), S::zero());
        let angular = omega.cross_add(Vec3::new(own.x, own.y, v[1]), turning);
        Motion::new(angular, Vec3::zero())
    }

    #[inline(always)]
    fn project(self, f: Force<S>, out: &mut [S]) {
        out[0] = self.cos.mul_add(f.moment.x, -(self.sin * f.moment.y));
        out[1] = f.moment.z;
    }

    #[inline(always)]
    fn column(self, k: usize) -> Motion<S> {
        let axis = match k {
            0 => self.first_axis(),
            _ => Vec3::new(S::zero(), S::zero(), S::one()),
        };
        Motion::new(axis, Vec3::zero())
    }

    #[inline(always)]
    fn column_rate(self, k: usize, v: &[S]) -> Motion<S> {
        match k {
            0 => Motion::new(
                Vec3::new(-(self.sin * v[1]), -(self.cos * v[1]), S::zero()),
                Vec3::zero(),
            ),
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
        let second = pivot!(
            turned.eliminate_rotation_z(pivots.dofs[1].armature.lift()),
            pivots,
            1
        );
        // renamed twice, x is called z
        let first = pivot!(
            second
                .renamed()
                .renamed()
                .eliminate_rotation_z(pivots.dofs[0].armature.lift()),
            pivots,
            0,
            renamed
        );
        first.renamed().turned_z(-self.sin, self.cos)
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
        inward!(z.moment.z, tau, pivots, freed, 1);
        inward!(z.moment.x, tau, pivots, freed, 0);
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
        outward!(m.angular.x, freed, pivots, vdot, 0);
        outward!(m.angular.z, freed, pivots, vdot, 1);
        m.turned_z(-self.sin, self.cos)
    }
}
