//! Poses, velocities and accelerations of all bodies.
//!
//! ```text
//! Xᵢ = Xₚ · Xᵢ(q)                                   pose in the world               (1)
//! tᵢ = B tₚ + Pᵢ v                                  velocity, body axes             (2)
//! ṫᵢ = B ṫₚ + Pᵢ v̇ + bias + ωₚ × (ωₚ × r)          ω̇ and acceleration of the origin (3)
//! ```

use crate::card::Card;
use crate::model::Angles;
use crate::model::joint::{AnyJoint, any};
use crate::model::{FrameInfo, Model};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Motion, Pose, Vec3};
use crate::state::{Base, StateView};

/// Forward kinematics.
pub const CARD: Card = Card {
    name: "Forward kinematics",
    question: "poses, velocities, accelerations",
    call: "forward_kinematics",
    file: "algorithm/kinematics/forward.rs",
    order: "O(n)",
    source: "Saha 1999, eqs. 11–17",
};

/// Workspace and result of [`forward_kinematics`]; index 0 is the base.
#[derive(Clone, Debug)]
pub struct Kinematics<S> {
    pub(crate) angles: Angles<S>,
    pub(crate) pose: Vec<Pose<S>>,
    /// Pose of each body in the world.
    pub world_from_body: Vec<Pose<S>>,
    /// Angular velocity and velocity of the origin of each body, in its own axes.
    pub velocity: Vec<Motion<S>>,
    /// Angular acceleration and acceleration of the origin of each body, in its own axes.
    pub acceleration: Vec<Motion<S>>,
}

impl<S: Scalar> Kinematics<S> {
    /// A workspace for this model.
    pub fn new<P>(model: &Model<P>) -> Self {
        let n = model.body_count() + 1;
        Kinematics {
            angles: Angles::new(model.tree()),
            pose: vec![Pose::identity(); n],
            world_from_body: vec![Pose::identity(); n],
            velocity: vec![Motion::zero(); n],
            acceleration: vec![Motion::zero(); n],
        }
    }

    /// Pose of a body in its parent.
    pub fn parent_from_body(&self, body: usize) -> Pose<S> {
        self.pose[body]
    }

    /// Column k of P of the joint that carries a body: the twist of the body per unit of its velocity k, in body axes.
    pub fn joint_column<P: Parameter<S>>(
        &self,
        model: &Model<P>,
        body: usize,
        k: usize,
    ) -> Motion<S> {
        let joint = model.joint_at(body, &self.angles, &self.pose[body]);
        joint.column(k)
    }

    /// Pose of a frame in the world.
    pub fn frame_pose(&self, frame: &FrameInfo) -> Pose<S> {
        self.world_from_body[frame.body] * frame.body_from_frame.lift()
    }

    /// Angular velocity of a frame and velocity of its origin, in world axes.
    pub fn frame_velocity(&self, frame: &FrameInfo) -> Motion<S> {
        let r = self.world_from_body[frame.body].rotation;
        let at: Vec3<S> = frame.body_from_frame.translation.lift();
        let v = self.velocity[frame.body];
        Motion::new(r * v.angular, r * v.angular.cross_add(at, v.linear))
    }

    /// Angular acceleration of a frame and acceleration of its origin, in world axes. With v̇ = 0 this is J̇ v.
    pub fn frame_acceleration(&self, frame: &FrameInfo) -> Motion<S> {
        let r = self.world_from_body[frame.body].rotation;
        let at: Vec3<S> = frame.body_from_frame.translation.lift();
        let (v, a) = (self.velocity[frame.body], self.acceleration[frame.body]);
        let centripetal = v.angular.cross(v.angular.cross(at));
        Motion::new(
            r * a.angular,
            r * (a.angular.cross_add(at, a.linear) + centripetal),
        )
    }

    /// Mass centre of a body in the world, its velocity and acceleration, in world axes.
    pub fn mass_centre<P: Parameter<S>>(&self, model: &Model<P>, body: usize) -> [Vec3<S>; 3] {
        let inertia = model.inertia::<S>(body);
        let c = inertia.first * inertia.mass.recip();
        let pose = self.world_from_body[body];
        let (v, a) = (self.velocity[body], self.acceleration[body]);
        let centripetal = v.angular.cross(v.angular.cross(c));
        [
            pose.point(c),
            pose.rotation * v.angular.cross_add(c, v.linear),
            pose.rotation * (a.angular.cross_add(c, a.linear) + centripetal),
        ]
    }
}

impl Kinematics<f64> {
    /// The first body whose pose, velocity or acceleration is non-finite.
    pub(crate) fn overflowing_body(&self) -> Option<usize> {
        let of_body = |i: usize| {
            let Pose {
                rotation: r,
                translation,
            } = self.world_from_body[i];
            let (v, a) = (self.velocity[i], self.acceleration[i]);
            // 0·x is 0 for finite numbers and NaN otherwise
            let nothing = [
                r.x,
                r.y,
                r.z,
                translation,
                v.angular,
                v.linear,
                a.angular,
                a.linear,
            ]
            .into_iter()
            .fold(Vec3::zero(), |sum, part| part.scale_add(0.0, sum));
            nothing.dot(nothing)
        };
        let bodies = 0..self.world_from_body.len();
        if bodies.clone().map(of_body).sum::<f64>() == 0.0 {
            return None;
        }
        bodies.clone().find(|&i| of_body(i).is_nan())
    }
}

/// Poses, velocities and accelerations at (q, v, v̇).
pub fn forward_kinematics<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    state: StateView<'_, S>,
    vdot: &[S],
    work: &mut Kinematics<S>,
) {
    let StateView { q, v, base } = state;
    let tree = model.tree();
    work.angles.fill(tree, q);
    let r = base.pose.rotation;
    work.world_from_body[0] = base.pose;
    work.velocity[0] = Motion::new(
        r.transpose_times(base.velocity.angular),
        r.transpose_times(base.velocity.linear),
    );
    work.acceleration[0] = Motion::new(
        r.transpose_times(base.acceleration.angular),
        r.transpose_times(base.acceleration.linear),
    );
    for i in 1..=model.body_count() {
        let info = tree.nodes[i];
        let parent = info.parent;
        let setting = model.setting(i, &work.angles);
        let pose = any::pose(info.kind, setting, &q[info.q..]);
        let turning = work.velocity[parent].angular;
        let carried = pose.motion_into(work.velocity[parent]);
        let centripetal = turning.cross(turning.cross(pose.translation));
        let mut rate = pose.motion_into(work.acceleration[parent]);
        rate.linear += pose.rotation.transpose_times(centripetal);
        work.pose[i] = pose;
        work.world_from_body[i] = work.world_from_body[parent] * pose; // (1)
        let joint = AnyJoint {
            kind: info.kind,
            setting,
            pose: &pose,
        };
        (work.velocity[i], work.acceleration[i]) =
            joint.carry(carried, rate, &v[info.v..], &vdot[info.v..]); // (2, 3)
    }
}

/// (1) only, where no velocities are needed; inlined into the caller so that it is compiled for the caller's instruction
/// set.
#[inline(always)]
pub(crate) fn poses_kernel<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    q: &[S],
    base: &Base<S>,
    work: &mut Kinematics<S>,
) {
    let tree = model.tree();
    work.angles.fill(tree, q);
    work.world_from_body[0] = base.pose;
    for i in 1..=model.body_count() {
        let info = tree.nodes[i];
        let setting = model.setting(i, &work.angles);
        let pose = any::pose(info.kind, setting, &q[info.q..]);
        work.pose[i] = pose;
        work.world_from_body[i] = work.world_from_body[info.parent] * pose; // (1)
    }
}
