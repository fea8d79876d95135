//! A joint whose kind is known only at run time.
//!
//! Revolute and prismatic joints, the most common, are inlined into the calling recursion. The rarer kinds are compiled
//! once per scalar ([`Scalar::apart`]), not once per recursion.

use super::{Joint, JointKind, Pivots, PivotsMut, Setting, with_joint};
use crate::scalar::{Parameter, Scalar, Task};
use crate::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, RigidInertia, Vec3};

/// `parent_from_body` of a joint at these coordinates.
#[inline(always)]
pub(crate) fn pose<S: Scalar>(kind: JointKind, setting: Setting<'_, S>, q: &[S]) -> Pose<S> {
    match kind {
        JointKind::Revolute | JointKind::Continuous => super::Revolute::pose(setting, q),
        JointKind::Prismatic => super::Prismatic::pose(setting, q),
        _ => S::apart(PoseOf { kind, setting, q }),
    }
}

/// A joint at a state. All quantities are in the axes and at the origin of the carried body, and slices begin with the joint's
/// own numbers.
#[derive(Clone, Copy)]
pub(crate) struct AnyJoint<'a, S> {
    pub kind: JointKind,
    pub setting: Setting<'a, S>,
    /// `parent_from_body`.
    pub pose: &'a Pose<S>,
}

/// The method, inlined for the usual kinds, as a task for the others.
macro_rules! usual_or_task {
    ($any:ident, $joint:ident => $usual:expr, $task:expr) => {
        match $any.kind {
            JointKind::Revolute | JointKind::Continuous => {
                let $joint = <super::Revolute<S> as Joint<S>>::at($any.setting, $any.pose);
                $usual
            }
            JointKind::Prismatic => {
                let $joint = <super::Prismatic<S> as Joint<S>>::at($any.setting, $any.pose);
                $usual
            }
            _ => S::apart($task),
        }
    };
}

impl<S: Scalar> AnyJoint<'_, S> {
    /// m + P v, and m' + P v̇ + the bias due to ω of the parent in body axes.
    #[inline(always)]
    pub(crate) fn carry(
        self,
        twist: Motion<S>,
        rate: Motion<S>,
        v: &[S],
        vdot: &[S],
    ) -> (Motion<S>, Motion<S>) {
        usual_or_task!(self, joint => (
            joint.plus(twist, v),
            joint.plus(rate + joint.bias(twist.angular, v), vdot),
        ), Carry { any: self, twist, rate, v, vdot })
    }

    /// m + P v.
    #[inline(always)]
    pub(crate) fn plus(self, m: Motion<S>, v: &[S]) -> Motion<S> {
        usual_or_task!(self, joint => joint.plus(m, v), Plus { any: self, m, v })
    }

    /// Pᵀ f.
    #[inline(always)]
    pub(crate) fn project(self, f: Force<S>, out: &mut [S]) {
        usual_or_task!(self, joint => joint.project(f, out), Project { any: self, f, out })
    }

    /// The columns of P in the axes to which `axes` rotates body axes; those beyond the joint's freedoms are zero.
    #[inline(always)]
    pub(crate) fn columns_in(self, axes: Mat3<S>) -> [Motion<S>; 6] {
        usual_or_task!(self, joint => {
            let mut columns = [Motion::zero(); 6];
            columns[0] = joint.column_in(0, axes);
            columns
        }, ColumnsIn { any: self, axes })
    }

    /// Column k of P.
    #[inline(always)]
    pub(crate) fn column(self, k: usize) -> Motion<S> {
        usual_or_task!(self, joint => joint.column(k), Column { any: self, k })
    }

    /// Rate of change of column k of P in body axes.
    #[inline(always)]
    pub(crate) fn column_rate(self, k: usize, v: &[S]) -> Motion<S> {
        usual_or_task!(self, joint => joint.column_rate(k, v), ColumnRate { any: self, k, v })
    }

    /// A wrench from the axes the joint eliminates in to body axes.
    #[inline(always)]
    pub(crate) fn restore(self, psi: Force<S>) -> Force<S> {
        usual_or_task!(self, joint => joint.restore(psi), Restore { any: self, psi })
    }

    /// [`Joint::eliminate`].
    #[inline(always)]
    pub(crate) fn eliminate<P: Parameter<S>>(
        self,
        inertia: ArticulatedInertia<S>,
        pivots: PivotsMut<'_, S, P>,
    ) -> ArticulatedInertia<S> {
        usual_or_task!(self, joint => joint.eliminate(inertia, pivots), Eliminate { any: self, inertia, pivots })
    }

    /// [`Joint::inward`].
    #[inline(always)]
    pub(crate) fn inward<P: Parameter<S>>(
        self,
        z: Force<S>,
        tau: &[S],
        pivots: Pivots<'_, S, P>,
        freed: &mut [S],
    ) -> Force<S> {
        usual_or_task!(self, joint => joint.inward(z, tau, pivots, freed), Inward { any: self, z, tau, pivots, freed })
    }

    /// [`Joint::outward`].
    #[inline(always)]
    pub(crate) fn outward<P: Parameter<S>>(
        self,
        m: Motion<S>,
        freed: &[S],
        pivots: Pivots<'_, S, P>,
        vdot: &mut [S],
    ) -> Motion<S> {
        usual_or_task!(self, joint => joint.outward(m, freed, pivots, vdot), Outward { any: self, m, freed, pivots, vdot })
    }
}

/// The task of [`pose`].
pub(crate) struct PoseOf<'a, S> {
    pub kind: JointKind,
    pub setting: Setting<'a, S>,
    pub q: &'a [S],
}

impl<S: Scalar> Task for PoseOf<'_, S> {
    type Output = Pose<S>;
    #[inline(always)]
    fn run(self) -> Pose<S> {
        with_joint!(self.kind, J => { J::<S>::pose(self.setting, self.q) })
    }
}

/// A task on a joint at a state: the joint's numbers, and the work.
macro_rules! task {
    ($name:ident[$($generics:tt)*][$($names:tt)*] { $($field:ident: $type:ty,)* } $joint:ident => $output:ty, $body:expr) => {
        /// Work on an [`AnyJoint`].
        pub(crate) struct $name<'a, S, $($generics)*> {
            pub any: AnyJoint<'a, S>,
            $(pub $field: $type,)*
        }

        impl<S: Scalar, $($generics)*> Task for $name<'_, S, $($names)*> {
            type Output = $output;
            #[inline(always)]
            fn run(self) -> $output {
                let $name { any, $($field),* } = self;
                with_joint!(any.kind, J => {
                    let $joint = J::<S>::at(any.setting, any.pose);
                    $body
                })
            }
        }
    };
}

task!(Carry[][] { twist: Motion<S>, rate: Motion<S>, v: &'a [S], vdot: &'a [S], } joint => (Motion<S>, Motion<S>), (
    joint.plus(twist, v),
    joint.plus(rate + joint.bias(twist.angular, v), vdot),
));
task!(Plus[][] { m: Motion<S>, v: &'a [S], } joint => Motion<S>, joint.plus(m, v));
task!(Bias[][] { omega: Vec3<S>, v: &'a [S], } joint => (Vec3<S>, Motion<S>), (
    joint.plus(Motion::new(omega, Vec3::zero()), v).angular,
    joint.bias(omega, v),
));
task!(Project[][] { f: Force<S>, out: &'a mut [S], } joint => (), joint.project(f, out));
task!(ColumnsIn[][] { axes: Mat3<S>, } joint => [Motion<S>; 6], {
    let mut columns = [Motion::zero(); 6];
    for k in 0..J::<S>::NV {
        columns[k] = joint.column_in(k, axes);
    }
    columns
});
task!(Momenta[][] { kind: JointKind, moments: RigidInertia<S>, } joint => [Force<S>; 6], {
    let mut momenta = [Force::zero(); 6];
    for (k, &(_, turns)) in kind.freedoms().iter().enumerate() {
        let column = joint.column(k);
        momenta[k] = match (turns, kind) {
            (_, JointKind::Helical) => moments.momentum(column),
            (true, _) => moments.momentum_of_turning(column.angular),
            (false, _) => moments.momentum_of_sliding(column.linear),
        };
    }
    momenta
});
task!(Column[][] { k: usize, } joint => Motion<S>, joint.column(k));
task!(ColumnRate[][] { k: usize, v: &'a [S], } joint => Motion<S>, joint.column_rate(k, v));
task!(Restore[][] { psi: Force<S>, } joint => Force<S>, joint.restore(psi));
task!(Eliminate[P: Parameter<S>][P] { inertia: ArticulatedInertia<S>, pivots: PivotsMut<'a, S, P>, }
    joint => ArticulatedInertia<S>, joint.eliminate(inertia, pivots));
task!(Inward[P: Parameter<S>][P] { z: Force<S>, tau: &'a [S], pivots: Pivots<'a, S, P>, freed: &'a mut [S], }
    joint => Force<S>, joint.inward(z, tau, pivots, freed));
task!(Outward[P: Parameter<S>][P] { m: Motion<S>, freed: &'a [S], pivots: Pivots<'a, S, P>, vdot: &'a mut [S], }
    joint => Motion<S>, joint.outward(m, freed, pivots, vdot));
task!(EliminateAndPass[P: Parameter<S>][P] {
    inertia: ArticulatedInertia<S>, z: Force<S>, effort: &'a [S], pivots: PivotsMut<'a, S, P>, freed: &'a mut [S],
} joint => (ArticulatedInertia<S>, Force<S>), {
    let nv = J::<S>::NV;
    let PivotsMut { psi, inverse, dofs } = pivots;
    let (psi, inverse, dofs) = (&mut psi[..nv], &mut inverse[..nv], &dofs[..nv]);
    let rest = joint.eliminate(inertia, PivotsMut { psi: &mut *psi, inverse: &mut *inverse, dofs });
    let pivots = Pivots { psi, inverse, dofs };
    (rest, joint.inward(z, &effort[..nv], pivots, &mut freed[..nv]))
});
