//! Joints: one file per kind, all behind one small trait.
//!
//! A body's frame has its origin on the joint that carries it, and its z axis along the axis of a one-freedom joint. A
//! joint then moves along coordinate axes, so that ψ is a column of the articulated inertia and m̂ one entry of it. A joint
//! with several freedoms is eliminated inside its own 6×6, last freedom first: the factors are those of its 2×2, 3×3 or
//! 6×6 block, and no massless helper body ever appears.
//!
//! Algorithms choose the joint's type once per body and pass (`with_joint!`); everything below is inlined arithmetic.

pub(crate) mod any;
mod cylindrical;
mod free;
mod helical;
mod kind;
mod planar;
mod prismatic;
mod revolute;
mod spherical;
mod universal;

pub(crate) use any::AnyJoint;
pub(crate) use cylindrical::Cylindrical;
pub(crate) use free::Free;
pub(crate) use helical::Helical;
pub use kind::JointKind;
pub(crate) use planar::Planar;
pub(crate) use prismatic::Prismatic;
pub(crate) use revolute::Revolute;
pub(crate) use spherical::Spherical;
pub(crate) use universal::Universal;

use super::DofNumbers;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, Vec3};
use std::ops::Range;

/// The data from which a joint is set up: constants of the model, and sine and cosine of its angles.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a, S> {
    pub placement: Pose<S>,
    pub pitch: S,
    pub sin: &'a [S],
    pub cos: &'a [S],
}

/// ψ and 1/m̂ of a joint's freedoms, with their constants (of which the rotor inertia is used).
#[derive(Clone, Copy)]
pub(crate) struct Pivots<'a, S, P> {
    pub psi: &'a [Force<S>],
    pub inverse: &'a [S],
    pub dofs: &'a [DofNumbers<P>],
}

impl<'a, S, P> Pivots<'a, S, P> {
    /// ψ, 1/m̂ and constants of a range of freedoms.
    #[inline(always)]
    pub fn of(
        range: Range<usize>,
        psi: &'a [Force<S>],
        inverse: &'a [S],
        dofs: &'a [DofNumbers<P>],
    ) -> Self {
        Pivots {
            psi: &psi[range.clone()],
            inverse: &inverse[range.clone()],
            dofs: &dofs[range],
        }
    }
}

/// ψ, inverse pivots and numbers of the freedoms of a joint, being written.
pub(crate) struct PivotsMut<'a, S, P> {
    pub psi: &'a mut [Force<S>],
    pub inverse: &'a mut [S],
    pub dofs: &'a [DofNumbers<P>],
}

/// A joint at one state, as algorithms need it. All quantities are in the axes and at the origin of the carried body.
pub(crate) trait Joint<S: Scalar>: Copy {
    /// Number of freedoms.
    const NV: usize;

    /// `parent_from_body` at these coordinates.
    fn pose(setting: Setting<'_, S>, q: &[S]) -> Pose<S>;

    /// The joint at a state whose pose is already known.
    fn at(setting: Setting<'_, S>, parent_from_body: &Pose<S>) -> Self;

    /// m + P v: the body's twist (or twist rate) from that of the parent.
    fn plus(self, m: Motion<S>, v: &[S]) -> Motion<S>;

    /// Twist rate at v̇ = 0 due to the parent's angular velocity `omega` and the joint rates: Coriolis terms and
    /// the change of P. The centripetal acceleration of the joint in the parent is not included.
    fn bias(self, omega: Vec3<S>, v: &[S]) -> Motion<S>;

    /// Pᵀ f.
    fn project(self, f: Force<S>, out: &mut [S]);

    /// Column k of P.
    fn column(self, k: usize) -> Motion<S>;

    /// Column k of P in the axes to which `axes` rotates body axes.
    #[inline(always)]
    fn column_in(self, k: usize, axes: Mat3<S>) -> Motion<S> {
        let column = self.column(k);
        Motion::new(axes * column.angular, axes * column.linear)
    }

    /// Rate of change of column k of P in body axes.
    #[inline(always)]
    fn column_rate(self, _k: usize, _v: &[S]) -> Motion<S> {
        Motion::zero()
    }

    /// Eliminates the joint's freedoms from the articulated inertia of its body.
    fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S>;

    /// A wrench from the axes the joint eliminates in to body axes.
    #[inline(always)]
    fn restore(self, psi: Force<S>) -> Force<S> {
        psi
    }

    /// Inward pass: the bias wrench `z` of the body, minus the part transmitted by the efforts `tau`. Writes
    /// `freed`, which is τ̂/m̂, the acceleration of each freedom with the parent fixed.
    fn inward<P: Parameter<S>>(
        self,
        z: Force<S>,
        tau: &[S],
        pivots: Pivots<'_, S, P>,
        freed: &mut [S],
    ) -> Force<S>;

    /// Outward pass: accelerations of the joint from the twist rate `m` that the body would have without them; returns the
    /// twist rate with them.
    fn outward<P: Parameter<S>>(
        self,
        m: Motion<S>,
        freed: &[S],
        pivots: Pivots<'_, S, P>,
        vdot: &mut [S],
    ) -> Motion<S>;
}

/// One freedom of [`Joint::eliminate`]: stores ψ and 1/m̂. `renamed` and `renamed renamed` transform ψ back to body
/// axes. (Macros, not closures: those would not be inlined into code compiled for a wider instruction set.)
macro_rules! pivot {
    ($eliminated:expr, $pivots:ident, $k:expr $(, $restore:ident)*) => {{
        let eliminated = $eliminated;
        $pivots.psi[$k] = eliminated.psi$(.$restore())*;
        $pivots.inverse[$k] = eliminated.inverse;
        eliminated.rest
    }};
}

/// One freedom of [`Joint::inward`]; the component along p is written, not summed: it is τ − J τ̂/m̂.
macro_rules! inward {
    ($z:ident . $part:ident . $axis:ident, $tau:ident, $pivots:ident, $freed:ident, $k:expr) => {{
        let rest = $tau[$k] - $z.$part.$axis;
        $z = $z.add_scaled($pivots.psi[$k], rest);
        $freed[$k] = rest * $pivots.inverse[$k];
        $z.$part.$axis = $tau[$k] - $pivots.dofs[$k].armature.lift() * $freed[$k];
    }};
}

/// One freedom of [`Joint::outward`].
macro_rules! outward {
    ($m:ident . $part:ident . $axis:ident, $freed:ident, $pivots:ident, $vdot:ident, $k:expr) => {{
        $vdot[$k] = $freed[$k] - $pivots.psi[$k].dot($m);
        $m.$part.$axis += $vdot[$k];
    }};
}

/// Runs the block with `$joint` naming the joint type of this kind.
macro_rules! with_joint {
    ($kind:expr, $joint:ident => $body:block) => {{
        use $crate::model::joint;
        use $crate::model::joint::JointKind;
        match $kind {
            JointKind::Revolute | JointKind::Continuous => {
                type $joint<S> = joint::Revolute<S>;
                $body
            }
            JointKind::Prismatic => {
                type $joint<S> = joint::Prismatic<S>;
                $body
            }
            JointKind::Helical => {
                type $joint<S> = joint::Helical<S>;
                $body
            }
            JointKind::Cylindrical => {
                type $joint<S> = joint::Cylindrical<S>;
                $body
            }
            JointKind::Universal => {
                type $joint<S> = joint::Universal<S>;
                $body
            }
            JointKind::Spherical => {
                type $joint<S> = joint::Spherical<S>;
                $body
            }
            JointKind::Planar => {
                type $joint<S> = joint::Planar<S>;
                $body
            }
            JointKind::Free => {
                type $joint<S> = joint::Free<S>;
                $body
            }
            JointKind::Fixed => unreachable!("fixed joints are merged when the model is built"),
        }
    }};
}

pub(crate) use {inward, outward, pivot, with_joint};
