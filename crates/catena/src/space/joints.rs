//! Joints in a space, as the recursions need them.
//!
//! Joints about and along z, the most common ones, have separate implementations. All others are set up,
//! projected and eliminated in components, by their one definition in `model::joint`.

use super::{Eliminated, Space};
use crate::model::DofNumbers;
use crate::model::joint::{AnyJoint, JointKind, Pivots, PivotsMut, Setting, any};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Force, Motion, Pose, Vec3};
use std::marker::PhantomData;

/// Motion that a body passes to its children in inverse dynamics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyMotion<E: Space> {
    /// ω.
    pub omega: E::Spread,
    /// ω̇.
    pub alpha: E::Vector,
    /// a, of the body's origin.
    pub linear: E::Vector,
    /// Ω = ω̃̇ + ω̃ ω̃.
    pub turning: E::Matrix,
}

impl<E: Space> BodyMotion<E> {
    #[inline(always)]
    pub(crate) fn new([omega, alpha, linear]: [E::Vector; 3]) -> Self {
        let spread = E::spread(omega);
        BodyMotion {
            omega: spread,
            alpha,
            linear,
            turning: E::angular_rate(omega, spread, alpha),
        }
    }
}

/// A freedom and the motions around it, in the axes of the base about the origin of its body: sₖ, V⁻, V⁻ + V⁺, A⁻.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freedom<E: Space> {
    pub axis: E::Motion,
    pub before: E::Motion,
    pub around: E::Motion,
    pub rate: E::Motion,
}

impl<E: Space> Freedom<E> {
    #[inline(always)]
    pub fn none() -> Self {
        let none = E::motion(E::zero(), E::zero());
        Freedom {
            axis: none,
            before: none,
            around: none,
            rate: none,
        }
    }

    /// The only freedom of a joint: after it the body moves with `after`.
    #[inline(always)]
    fn only(axis: E::Motion, before: &E::Motion, after: &E::Motion, rate: &E::Motion) -> Self {
        Freedom {
            axis,
            before: *before,
            around: E::motion_sum(before, after),
            rate: *rate,
        }
    }
}

/// Results of the elimination of joints, by freedom.
pub(crate) struct Freed<'a, E: Space> {
    /// ψ, in the axes the joint eliminates in.
    pub psi: &'a mut [E::Wrench],
    /// 1/m̂.
    pub inverse: &'a mut [E::Number],
    /// τ̂/m̂, the acceleration with the parent held.
    pub freed: &'a mut [E::Number],
}

/// A joint at one state. All quantities are in the axes and at the origin of the carried body. Slices are those of the whole
/// model, `at` is the index of the joint's first coordinate or freedom: a slice of a slice would be bounds-checked twice.
pub(crate) trait JointIn<E: Space>: Copy {
    /// `parent_from_body` at these coordinates.
    fn pose(self, at: usize, setting: E::Setting<'_>, q: &[E::Number]) -> E::Pose;

    /// r of the pose, ready to be crossed with others.
    fn lever(self, setting: E::Setting<'_>, kept: &E::Kept) -> E::Lever;

    /// ω, ω̇ and a of the body from the motion of its parent.
    fn carry(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &BodyMotion<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3];

    /// Pᵀ f, into the joint's efforts.
    fn project(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        f: &E::Wrench,
        tau: &mut [E::Number],
    );

    /// The columns of P, in the axes to which `axes` rotates body axes.
    fn directions(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        axes: &E::Matrix,
        along: &mut [E::Motion],
    );

    /// M̃P, in the axes to which `axes` rotates body axes, from the moments, in body axes, of the body and everything beyond it.
    fn momenta(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        moments: &E::Moments,
        axes: &E::Matrix,
        momenta: &mut [E::Wrench],
    );

    /// Velocity and acceleration beyond the joint from those before it, through its freedoms one after another, all in the axes
    /// to which `axes` rotates body axes and about the body's origin. The three rates of a quaternion are one rotation.
    fn through(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        axes: &E::Matrix,
        before: [E::Motion; 2],
        rates: [&[E::Number]; 2],
        freedoms: &mut [Freedom<E>; 6],
    ) -> [E::Motion; 2];

    /// A wrench from the axes the joint eliminates in to body axes.
    fn restore(self, setting: E::Setting<'_>, kept: &E::Kept, psi: &E::Wrench) -> E::Wrench;

    /// ω of the body, and its twist rate when v̇ = 0 and the parent does not accelerate, from ω of the parent.
    fn bias(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        omega: E::Spread,
        v: &[E::Number],
    ) -> (E::Vector, E::Motion);

    /// Tips to base: eliminates the joint's freedoms from the articulated inertia of its body, and subtracts the part transmitted by
    /// the efforts from the bias wrench `z`. The component of z along a freedom is written, not summed: it is τ − J τ̂/m̂.
    fn eliminate<P: Parameter<E::Number>>(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        inertia: E::Articulated,
        z: &E::Wrench,
        effort: &[E::Number],
        dofs: &[DofNumbers<P>],
        out: Freed<'_, E>,
    ) -> (E::Articulated, E::Wrench);

    /// Base to tips: accelerations of the joint and twist rate of the body, from that of the parent and `beta`.
    fn outward<P: Parameter<E::Number>>(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &E::Motion,
        beta: &E::Motion,
        dofs: &[DofNumbers<P>],
        found: Freed<'_, E>,
        vdot: &mut [E::Number],
    ) -> E::Motion;
}

/// B ṫₚ + β: twist rate of a body whose joint does not accelerate; `r` is the translation of the pose.
#[inline(always)]
fn carried<E: Space>(
    pose: &E::Pose,
    r: E::Lever,
    parent: &E::Motion,
    beta: &E::Motion,
) -> E::Motion {
    let at_joint = E::linear_at(parent, r);
    E::motion(
        E::back_plus(pose, E::spread(E::angular(parent)), E::angular(beta)),
        E::back_plus(pose, E::spread(at_joint), E::linear(beta)),
    )
}

/// A wrench in the axes to which `axes` rotates its own.
#[inline(always)]
fn turned<E: Space>(axes: &E::Matrix, f: &E::Wrench) -> E::Wrench {
    E::wrench(
        E::times(axes, E::spread(E::moment(f))),
        E::times(axes, E::spread(E::force(f))),
    )
}

/// Revolute: rotation about z.
#[derive(Clone, Copy)]
pub(crate) struct Turning<E>(pub PhantomData<E>);

impl<E: Space> JointIn<E> for Turning<E> {
    #[inline(always)]
    fn pose(self, _at: usize, setting: E::Setting<'_>, _q: &[E::Number]) -> E::Pose {
        E::turned(setting)
    }

    #[inline(always)]
    fn lever(self, setting: E::Setting<'_>, _kept: &E::Kept) -> E::Lever {
        E::arm(setting)
    }

    #[inline(always)]
    fn carry(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &BodyMotion<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3] {
        let at_joint = E::times_arm_plus(&parent.turning, setting, parent.linear);
        let omega = E::back_plus_z(pose, parent.omega, v[at]);
        let rate = E::across_z(omega, v[at], vdot[at]);
        [
            omega,
            E::back_plus(pose, E::spread(parent.alpha), rate),
            E::back(pose, E::spread(at_joint)),
        ]
    }

    #[inline(always)]
    fn project(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        f: &E::Wrench,
        tau: &mut [E::Number],
    ) {
        tau[at] = E::z(E::moment(f));
    }

    #[inline(always)]
    fn directions(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        axes: &E::Matrix,
        along: &mut [E::Motion],
    ) {
        along[at] = E::motion(E::column_z(axes), E::zero());
    }

    #[inline(always)]
    fn momenta(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        moments: &E::Moments,
        axes: &E::Matrix,
        momenta: &mut [E::Wrench],
    ) {
        momenta[at] = turned::<E>(axes, &E::momentum_about_z(moments));
    }

    #[inline(always)]
    fn through(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        axes: &E::Matrix,
        [before, rate]: [E::Motion; 2],
        [v, vdot]: [&[E::Number]; 2],
        freedoms: &mut [Freedom<E>; 6],
    ) -> [E::Motion; 2] {
        let (axis, omega) = (E::column_z(axes), E::lever(E::angular(&before)));
        let sliding = E::cross(E::lever(E::linear(&before)), axis);
        let turning = E::scale_add(axis, vdot[at], E::angular(&rate));
        let after = E::motion(
            E::scale_add(axis, v[at], E::angular(&before)),
            E::linear(&before),
        );
        freedoms[0] = Freedom::only(E::motion(axis, E::zero()), &before, &after, &rate);
        let rate = E::motion(
            E::scale_add(E::cross(omega, axis), v[at], turning),
            E::scale_add(sliding, v[at], E::linear(&rate)),
        );
        [after, rate]
    }

    #[inline(always)]
    fn restore(self, _setting: E::Setting<'_>, _kept: &E::Kept, psi: &E::Wrench) -> E::Wrench {
        *psi
    }

    #[inline(always)]
    fn bias(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        omega: E::Spread,
        v: &[E::Number],
    ) -> (E::Vector, E::Motion) {
        let turned = E::back(pose, omega);
        let own = E::plus_z(turned, v[at]);
        let r = E::arm_spread(setting);
        let beta = E::motion(
            E::cross_z(own, v[at]),
            E::centripetal(pose, omega, turned, r),
        );
        (own, beta)
    }

    #[inline(always)]
    fn eliminate<P: Parameter<E::Number>>(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _pose: &E::Pose,
        inertia: E::Articulated,
        z: &E::Wrench,
        effort: &[E::Number],
        dofs: &[DofNumbers<P>],
        out: Freed<'_, E>,
    ) -> (E::Articulated, E::Wrench) {
        let (effort, rotor) = (effort[at], dofs[at].armature.lift());
        let Eliminated { rest, psi, inverse } = E::without_rotation_z(inertia, rotor);
        let left = effort - E::z(E::moment(z));
        let freed = left * inverse;
        let through = E::add_scaled(z, &psi, left);
        out.inverse[at] = inverse;
        out.freed[at] = freed;
        out.psi[at] = psi;
        let along = effort - rotor * freed;
        let moment = E::with_z(E::moment(&through), along);
        let through = E::wrench(moment, E::force(&through));
        (rest, through)
    }

    #[inline(always)]
    fn outward<P: Parameter<E::Number>>(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &E::Motion,
        beta: &E::Motion,
        _dofs: &[DofNumbers<P>],
        found: Freed<'_, E>,
        vdot: &mut [E::Number],
    ) -> E::Motion {
        let r = self.lever(setting, E::kept(pose));
        let rate = carried::<E>(pose, r, parent, beta);
        let along = E::along(&found.psi[at], &rate, parent, beta, pose, r);
        let acceleration = found.freed[at] - along;
        vdot[at] = acceleration;
        E::motion(E::plus_z(E::angular(&rate), acceleration), E::linear(&rate))
    }
}

/// Prismatic: translation along z.
#[derive(Clone, Copy)]
pub(crate) struct Sliding<E>(pub PhantomData<E>);

impl<E: Space> JointIn<E> for Sliding<E> {
    #[inline(always)]
    fn pose(self, at: usize, setting: E::Setting<'_>, q: &[E::Number]) -> E::Pose {
        E::slid(setting, q[at])
    }

    #[inline(always)]
    fn lever(self, _setting: E::Setting<'_>, kept: &E::Kept) -> E::Lever {
        E::lever(E::translation(kept))
    }

    #[inline(always)]
    fn carry(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &BodyMotion<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3] {
        let r = E::spread(E::translation(E::kept(pose)));
        let at_joint = E::times_plus(&parent.turning, r, parent.linear);
        let omega = E::back(pose, parent.omega);
        // Coriolis: 2 ω × e_z ṡ
        let rate = E::across_z(omega, v[at] + v[at], vdot[at]);
        [
            omega,
            E::back(pose, E::spread(parent.alpha)),
            E::back_plus(pose, E::spread(at_joint), rate),
        ]
    }

    #[inline(always)]
    fn project(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        f: &E::Wrench,
        tau: &mut [E::Number],
    ) {
        tau[at] = E::z(E::force(f));
    }

    #[inline(always)]
    fn directions(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        axes: &E::Matrix,
        along: &mut [E::Motion],
    ) {
        along[at] = E::motion(E::zero(), E::column_z(axes));
    }

    #[inline(always)]
    fn momenta(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        moments: &E::Moments,
        axes: &E::Matrix,
        momenta: &mut [E::Wrench],
    ) {
        momenta[at] = turned::<E>(axes, &E::momentum_along_z(moments));
    }

    #[inline(always)]
    fn through(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _kept: &E::Kept,
        axes: &E::Matrix,
        [before, rate]: [E::Motion; 2],
        [v, vdot]: [&[E::Number]; 2],
        freedoms: &mut [Freedom<E>; 6],
    ) -> [E::Motion; 2] {
        let (axis, omega) = (E::column_z(axes), E::lever(E::angular(&before)));
        let sliding = E::scale_add(axis, vdot[at], E::linear(&rate));
        let after = E::motion(
            E::angular(&before),
            E::scale_add(axis, v[at], E::linear(&before)),
        );
        freedoms[0] = Freedom::only(E::motion(E::zero(), axis), &before, &after, &rate);
        let rate = E::motion(
            E::angular(&rate),
            E::scale_add(E::cross(omega, axis), v[at], sliding),
        );
        [after, rate]
    }

    #[inline(always)]
    fn restore(self, _setting: E::Setting<'_>, _kept: &E::Kept, psi: &E::Wrench) -> E::Wrench {
        *psi
    }

    #[inline(always)]
    fn bias(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        pose: &E::Pose,
        omega: E::Spread,
        v: &[E::Number],
    ) -> (E::Vector, E::Motion) {
        let own = E::back(pose, omega);
        let r = E::spread(E::translation(E::kept(pose)));
        let coriolis = E::cross_z(own, v[at] + v[at]);
        let linear = E::centripetal(pose, omega, own, r) + coriolis;
        (own, E::motion(E::zero(), linear))
    }

    #[inline(always)]
    fn eliminate<P: Parameter<E::Number>>(
        self,
        at: usize,
        _setting: E::Setting<'_>,
        _pose: &E::Pose,
        inertia: E::Articulated,
        z: &E::Wrench,
        effort: &[E::Number],
        dofs: &[DofNumbers<P>],
        out: Freed<'_, E>,
    ) -> (E::Articulated, E::Wrench) {
        let (effort, rotor) = (effort[at], dofs[at].armature.lift());
        let Eliminated { rest, psi, inverse } = E::without_translation_z(inertia, rotor);
        let left = effort - E::z(E::force(z));
        let freed = left * inverse;
        let through = E::add_scaled(z, &psi, left);
        out.inverse[at] = inverse;
        out.freed[at] = freed;
        out.psi[at] = psi;
        let along = effort - rotor * freed;
        let force = E::with_z(E::force(&through), along);
        let through = E::wrench(E::moment(&through), force);
        (rest, through)
    }

    #[inline(always)]
    fn outward<P: Parameter<E::Number>>(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &E::Motion,
        beta: &E::Motion,
        _dofs: &[DofNumbers<P>],
        found: Freed<'_, E>,
        vdot: &mut [E::Number],
    ) -> E::Motion {
        let r = self.lever(setting, E::kept(pose));
        let rate = carried::<E>(pose, r, parent, beta);
        let along = E::along(&found.psi[at], &rate, parent, beta, pose, r);
        let acceleration = found.freed[at] - along;
        vdot[at] = acceleration;
        E::motion(E::angular(&rate), E::plus_z(E::linear(&rate), acceleration))
    }
}

/// Any other kind, in components.
#[derive(Clone, Copy)]
pub(crate) struct Other<E>(pub JointKind, pub PhantomData<E>);

impl<E: Space> Other<E> {
    /// The joint at a state, in numbers.
    #[inline(always)]
    fn at<'a>(
        self,
        setting: Setting<'a, E::Number>,
        pose: &'a Pose<E::Number>,
    ) -> AnyJoint<'a, E::Number> {
        AnyJoint {
            kind: self.0,
            setting,
            pose,
        }
    }
}

impl<E: Space> JointIn<E> for Other<E> {
    #[inline(always)]
    fn pose(self, at: usize, setting: E::Setting<'_>, q: &[E::Number]) -> E::Pose {
        let (kind, setting, q) = (self.0, E::setting(setting), &q[at..]);
        E::pose(E::Number::apart(any::PoseOf { kind, setting, q }))
    }

    #[inline(always)]
    fn lever(self, _setting: E::Setting<'_>, kept: &E::Kept) -> E::Lever {
        E::lever(E::translation(kept))
    }

    #[inline(always)]
    fn carry(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &BodyMotion<E>,
        v: &[E::Number],
        vdot: &[E::Number],
    ) -> [E::Vector; 3] {
        let (v, vdot) = (&v[at..], &vdot[at..]);
        let kept = E::kept(pose);
        let r = E::spread(E::translation(kept));
        let at_joint = E::times_plus(&parent.turning, r, parent.linear);
        let omega = E::components(E::back(pose, parent.omega));
        let rate = Motion::new(
            E::components(E::back(pose, E::spread(parent.alpha))),
            E::components(E::back(pose, E::spread(at_joint))),
        );
        let kept = E::pose_numbers(kept);
        let any = self.at(E::setting(setting), &kept);
        let twist = Motion::new(omega, Vec3::zero());
        let (twist, rate) = E::Number::apart(any::Carry {
            any,
            twist,
            rate,
            v,
            vdot,
        });
        [
            E::vector(twist.angular),
            E::vector(rate.angular),
            E::vector(rate.linear),
        ]
    }

    #[inline(always)]
    fn project(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        f: &E::Wrench,
        tau: &mut [E::Number],
    ) {
        let kept = E::pose_numbers(kept);
        let any = self.at(E::setting(setting), &kept);
        let (f, out) = (E::wrench_numbers(f), &mut tau[at..at + self.0.nv()]);
        E::Number::apart(any::Project { any, f, out });
    }

    #[inline(always)]
    fn directions(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        axes: &E::Matrix,
        along: &mut [E::Motion],
    ) {
        let kept = E::pose_numbers(kept);
        let any = self.at(E::setting(setting), &kept);
        let axes = E::matrix_numbers(axes);
        let columns = E::Number::apart(any::ColumnsIn { any, axes });
        for k in 0..self.0.nv() {
            along[at + k] = E::motion_of(columns[k]);
        }
    }

    #[inline(always)]
    fn momenta(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        moments: &E::Moments,
        axes: &E::Matrix,
        momenta: &mut [E::Wrench],
    ) {
        let kept = E::pose_numbers(kept);
        let any = self.at(E::setting(setting), &kept);
        let moments = E::moments_numbers(moments);
        let found = E::Number::apart(any::Momenta {
            any,
            kind: self.0,
            moments,
        });
        for k in 0..self.0.nv() {
            momenta[at + k] = turned::<E>(axes, &E::wrench_of(found[k]));
        }
    }

    #[inline(always)]
    fn through(
        self,
        at: usize,
        setting: E::Setting<'_>,
        kept: &E::Kept,
        axes: &E::Matrix,
        [mut velocity, mut rate]: [E::Motion; 2],
        [v, vdot]: [&[E::Number]; 2],
        freedoms: &mut [Freedom<E>; 6],
    ) -> [E::Motion; 2] {
        let (v, vdot) = (&v[at..], &vdot[at..]);
        let mut along = [velocity; 6];
        self.directions(0, setting, kept, axes, &mut along);
        let nv = self.0.nv();
        let one_rotation = match self.0.quaternion() {
            Some(first) => first,
            None => usize::MAX,
        };
        let (mut held, mut held_rate) = (velocity, rate);
        for k in 0..nv {
            let axis = along[k];
            if k <= one_rotation {
                (held, held_rate) = (velocity, rate);
            }
            let first = E::motion_cross(&held, &axis);
            velocity = E::motion_add_scaled(&velocity, &axis, v[k]);
            rate = E::motion_add_scaled(&rate, &axis, vdot[k]);
            rate = E::motion_add_scaled(&rate, &first, v[k]);
            freedoms[k] = Freedom::only(axis, &held, &velocity, &held_rate);
        }
        for k in one_rotation..nv {
            // all axes of one rotation rotate with the body
            freedoms[k].around = E::motion_sum(&held, &velocity);
        }
        [velocity, rate]
    }

    #[inline(always)]
    fn restore(self, setting: E::Setting<'_>, kept: &E::Kept, psi: &E::Wrench) -> E::Wrench {
        let kept = E::pose_numbers(kept);
        let any = self.at(E::setting(setting), &kept);
        let psi = E::wrench_numbers(psi);
        E::wrench_of(E::Number::apart(any::Restore { any, psi }))
    }

    #[inline(always)]
    fn bias(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        omega: E::Spread,
        v: &[E::Number],
    ) -> (E::Vector, E::Motion) {
        let v = &v[at..];
        let kept = E::kept(pose);
        let turned = E::back(pose, omega);
        let r = E::spread(E::translation(kept));
        let centripetal = E::centripetal(pose, omega, turned, r);
        let omega = E::components(turned);
        let kept = E::pose_numbers(kept);
        let any = self.at(E::setting(setting), &kept);
        let (omega, bias) = E::Number::apart(any::Bias { any, omega, v });
        let linear = E::vector(bias.linear) + centripetal;
        (E::vector(omega), E::motion(E::vector(bias.angular), linear))
    }

    #[inline(always)]
    fn eliminate<P: Parameter<E::Number>>(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        inertia: E::Articulated,
        z: &E::Wrench,
        effort: &[E::Number],
        dofs: &[DofNumbers<P>],
        out: Freed<'_, E>,
    ) -> (E::Articulated, E::Wrench) {
        let (inertia, z) = (E::articulated_numbers(inertia), E::wrench_numbers(z));
        let kept = E::pose_numbers(E::kept(pose));
        let any = self.at(E::setting(setting), &kept);
        let mut room = [Force::zero(); 6];
        let range = at..at + self.0.nv();
        let psi = E::psi_room(&mut out.psi[range.clone()], &mut room);
        let (inverse, freed) = (
            &mut out.inverse[range.clone()],
            &mut out.freed[range.clone()],
        );
        let (effort, dofs) = (&effort[range.clone()], &dofs[range.clone()]);
        let eliminate = any::EliminateAndPass {
            any,
            inertia,
            z,
            effort,
            pivots: PivotsMut { psi, inverse, dofs },
            freed,
        };
        let (rest, through) = E::Number::apart(eliminate);
        E::psi_written(&mut out.psi[range], &room);
        (E::articulated(rest), E::wrench_of(through))
    }

    #[inline(always)]
    fn outward<P: Parameter<E::Number>>(
        self,
        at: usize,
        setting: E::Setting<'_>,
        pose: &E::Pose,
        parent: &E::Motion,
        beta: &E::Motion,
        dofs: &[DofNumbers<P>],
        found: Freed<'_, E>,
        vdot: &mut [E::Number],
    ) -> E::Motion {
        let r = self.lever(setting, E::kept(pose));
        let rate = E::motion_numbers(&carried::<E>(pose, r, parent, beta));
        let kept = E::pose_numbers(E::kept(pose));
        let any = self.at(E::setting(setting), &kept);
        let mut room = [Force::zero(); 6];
        let range = at..at + self.0.nv();
        let psi = E::psi_numbers(&found.psi[range.clone()], &mut room);
        let (inverse, freed) = (&found.inverse[range.clone()], &found.freed[range.clone()]);
        let (dofs, vdot) = (&dofs[range.clone()], &mut vdot[range]);
        let pivots = Pivots { psi, inverse, dofs };
        E::motion_of(E::Number::apart(any::Outward {
            any,
            m: rate,
            freed,
            pivots,
            vdot,
        }))
    }
}

/// Runs the block with `$joint` being the joint of this kind in a space.
macro_rules! in_space {
    ($space:ty, $kind:expr, $joint:ident => $body:block) => {{
        use std::marker::PhantomData;
        use $crate::model::joint::JointKind;
        use $crate::space::{Other, Sliding, Turning};
        match $kind {
            JointKind::Revolute | JointKind::Continuous => {
                let $joint = Turning::<$space>(PhantomData);
                $body
            }
            JointKind::Prismatic => {
                let $joint = Sliding::<$space>(PhantomData);
                $body
            }
            kind => {
                let $joint = Other::<$space>(kind, PhantomData);
                $body
            }
        }
    }};
}

pub(crate) use in_space;
