//! The equations (1) to (5) themselves, in any scalar.

use super::cuts::Cut;
use super::{Layout, PARAMETERS, POSITION, TURNING, VELOCITY};
use crate::algorithm::passive;
use crate::model::Angles;
use crate::model::Model;
use crate::model::joint::{AnyJoint, any};
use crate::residual::larger;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{AngularRate, Force, Mat3, Motion, Pose, Vec3};
use crate::state::Base;

/// External influences at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Acting<'a, S> {
    /// Time, s.
    pub time: f64,
    /// Motion of the base.
    pub base: Base<f64>,
    /// Efforts in the joints, in addition to the passive ones of the model.
    pub efforts: &'a [S],
    /// Wrenches on the bodies 0…n in body axes about their origins, or none.
    pub external: &'a [Force<f64>],
    /// Freedoms that are held: v̇ = 0 instead of (3). Empty if none.
    pub held: &'a [bool],
}

impl<'a, S> Acting<'a, S> {
    /// Efforts only, on a base at rest.
    pub fn efforts(efforts: &'a [S]) -> Self {
        Acting {
            time: 0.0,
            base: Base::fixed(),
            efforts,
            external: &[],
            held: &[],
        }
    }
}

/// Workspace of the equations.
#[derive(Clone, Debug)]
pub struct BodyEquations<S> {
    layout: Layout,
    pub(super) angles: Angles<S>,
    /// q with quaternions of unit length.
    pub(super) q: Vec<S>,
    /// World from body; 0 is the base.
    pub(super) pose: Vec<Pose<S>>,
    /// ω in body axes, V in world axes.
    pub(super) velocity: Vec<Motion<S>>,
    /// Σ T_cᵀ w_c of the bodies beyond, with the multipliers of cut joints: moment in body axes, force in world axes.
    carried: Vec<Force<S>>,
    /// Σ T_cᵀ μ_c of the bodies beyond, with those of cut joints.
    corrected: Vec<Force<S>>,
    /// λ on the coordinates of the joints, and μ of those rows.
    efforts: Vec<S>,
    slips: Vec<S>,
    /// Rows of constraints that are integrated; the multipliers of the others are zero.
    active: Vec<bool>,
}

impl<S: Scalar> BodyEquations<S> {
    /// A workspace for this model.
    pub fn new(model: &Model, layout: Layout) -> Self {
        let n = layout.bodies + 1;
        BodyEquations {
            layout,
            angles: Angles::new(model.tree()),
            q: vec![S::zero(); layout.nq],
            pose: vec![Pose::identity(); n],
            velocity: vec![Motion::zero(); n],
            carried: vec![Force::zero(); n],
            corrected: vec![Force::zero(); n],
            efforts: vec![S::zero(); layout.nv],
            slips: vec![S::zero(); layout.nv],
            active: vec![true; layout.rows],
        }
    }

    /// Integrates these rows of the constraints only; the multipliers of the others are zero.
    pub fn activate(&mut self, rows: &[usize]) {
        self.active.fill(false);
        for &row in rows {
            self.active[row] = true;
        }
    }

    /// Poses and velocities of the bodies in x, and the joints' angles.
    pub(super) fn load(&mut self, model: &Model, base: &Base<f64>, x: &[S]) {
        let layout = self.layout;
        self.q.copy_from_slice(&x[..layout.nq]);
        for body in &model.tree().nodes[1..] {
            if let Some(k) = body.kind.quaternion() {
                let p = quaternion(&x[body.q + k..]);
                self.q[body.q + k..body.q + k + 4].copy_from_slice(&unit(p));
            }
        }
        self.angles.fill(model.tree(), &self.q);
        let rotation: Mat3<S> = base.pose.rotation.lift();
        self.pose[0] = base.pose.lift();
        self.velocity[0] = Motion::new(
            rotation.transpose_times(base.velocity.angular.lift()),
            base.velocity.linear.lift(),
        );
        for i in 1..=layout.bodies {
            let x = &x[layout.body(i)..];
            let rotation = Mat3::from_quaternion(unit(quaternion(&x[PARAMETERS..])));
            self.pose[i] = Pose::new(rotation, vector(&x[POSITION..]));
            self.velocity[i] = Motion::new(vector(&x[TURNING..]), vector(&x[VELOCITY..]));
        }
    }

    /// E, except for the two integrals of powers, which are left to the caller.
    pub fn residual(
        &mut self,
        model: &Model,
        acting: &Acting<'_, S>,
        x: &[S],
        xdot: &[S],
        out: &mut [S],
    ) {
        let layout = self.layout;
        self.load(model, &acting.base, x);
        self.carried.fill(Force::zero());
        self.corrected.fill(Force::zero());
        self.efforts.fill(S::zero());
        self.slips.fill(S::zero());
        self.cut_rows(model, acting.time, x, out);
        let gravity: Vec3<S> = model.gravity().lift();
        let half = S::constant(0.5);
        for i in (1..=layout.bodies).rev() {
            let info = model.tree().nodes[i];
            let a = info.parent;
            let (at, load_at) = (layout.body(i), layout.load(i));
            let (pose, above) = (self.pose[i], self.pose[a]);
            let r = pose.rotation;
            let Motion {
                angular: omega,
                linear: velocity,
            } = self.velocity[i];
            let load = force(&x[load_at..]);
            let mut mu = Force::zero();
            if layout.is_stabilised() {
                mu = force(&x[layout.correction(i)..]);
            }
            // (1)
            let corrected = self.corrected[i];
            let turning = omega + mu.moment - corrected.moment;
            let moving = velocity + mu.force - corrected.force;
            set(
                &mut out[at + POSITION..],
                vector(&xdot[at + POSITION..]) - moving,
            );
            let turned = times_pure(quaternion(&x[at + PARAMETERS..]), turning);
            for (k, turned) in turned.into_iter().enumerate() {
                out[at + PARAMETERS + k] = xdot[at + PARAMETERS + k] - half * turned;
            }
            // (2)
            let acceleration = r.transpose_times(vector(&xdot[at + VELOCITY..]) - gravity);
            let rate = AngularRate::new(omega, vector(&xdot[at + TURNING..]));
            let mut wrench = model.inertia::<S>(i).newton_euler(rate, acceleration);
            if let Some(external) = acting.external.get(i) {
                wrench = wrench - Force::new(external.moment.lift(), external.force.lift());
            }
            let carried = self.carried[i];
            set(
                &mut out[at + VELOCITY..],
                r * wrench.force - load.force + carried.force,
            );
            set(
                &mut out[at + TURNING..],
                wrench.moment - load.moment + carried.moment,
            );
            let d = pose.translation - above.translation;
            self.carried[a] += to_parent(above.rotation, r, d, load);
            if layout.is_stabilised() {
                self.corrected[a] += to_parent(above.rotation, r, d, mu);
            }
            // (3), (4), (5)
            let setting = model.setting(i, &self.angles);
            let (omega_a, velocity_a) = (self.velocity[a].angular, self.velocity[a].linear);
            let (q, v) = (&x[info.q..], &x[layout.nq + info.v..]);
            let mut along = [S::zero(); 6];
            let mut slip = [S::zero(); 6];
            let joint_pose = any::pose(info.kind, setting, &self.q[info.q..]);
            let joint = AnyJoint {
                kind: info.kind,
                setting,
                pose: &joint_pose,
            };
            let nv = info.kind.nv();
            let own = Force::new(load.moment, r.transpose_times(load.force));
            joint.project(own, &mut along[..nv]);
            let own = Force::new(mu.moment, r.transpose_times(mu.force));
            joint.project(own, &mut slip[..nv]);
            let relative = joint.plus(Motion::zero(), v);
            for k in 0..info.kind.nv() {
                let freedom = info.v + k;
                let vdot = xdot[layout.nq + freedom];
                let armature: S = model.dofs[freedom].armature.lift();
                let resisted = passive::passive_force(
                    model,
                    &self.q,
                    &x[layout.nq..layout.nq + layout.nv],
                    freedom,
                );
                out[layout.nq + freedom] = if acting.held.get(freedom) == Some(&true) {
                    vdot
                } else {
                    along[k] + armature * vdot + resisted
                        - acting.efforts[freedom]
                        - self.efforts[freedom]
                };
                slip[k] = v[k] - slip[k] + self.slips[freedom];
            }
            let plain = info.kind.quaternion().unwrap_or(info.kind.nq());
            for k in 0..plain {
                out[info.q + k] = xdot[info.q + k] - slip[k];
            }
            if let Some(k) = info.kind.quaternion() {
                let turned = times_pure(quaternion(&q[k..]), vector(&slip[k..]));
                for (j, turned) in turned.into_iter().enumerate() {
                    out[info.q + k + j] = xdot[info.q + k + j] - half * turned;
                }
            }
            let wants_velocity = layout.formulation != super::Formulation::Index3;
            if wants_velocity {
                let turning = above.rotation * omega_a;
                let angular = omega - r.transpose_times(turning) - relative.angular;
                let linear = velocity - velocity_a - turning.cross(d) - r * relative.linear;
                set(&mut out[load_at..], angular);
                set(&mut out[load_at + 3..], linear);
            }
            let position_at = match layout.formulation {
                super::Formulation::Index3 => load_at,
                super::Formulation::Index2 => continue,
                super::Formulation::Stabilised => layout.correction(i),
            };
            let e = joint_pose.rotation.transpose() * (above.rotation.transpose() * r);
            set(&mut out[position_at..], half_vee(e));
            set(
                &mut out[position_at + 3..],
                d - above.rotation * joint_pose.translation,
            );
        }
    }

    /// Rows of cut joints and other constraints, and their loads.
    fn cut_rows(&mut self, model: &Model, time: f64, x: &[S], out: &mut [S]) {
        let layout = self.layout;
        let stabilised = layout.is_stabilised();
        let mut first = 0;
        for constraint in model.constraints() {
            let cut = Cut::evaluate(
                constraint,
                S::constant(time),
                &self.pose,
                &self.velocity,
                &self.q,
                &x[layout.nq..layout.nq + layout.nv],
            );
            for k in 0..cut.count {
                let at = layout.multipliers() + first + k;
                let lambda = x[at];
                if !self.active[first + k] {
                    out[at] = lambda;
                    if stabilised {
                        let at = layout.corrections() + first + k;
                        out[at] = x[at];
                    }
                    continue;
                }
                out[at] = match layout.formulation {
                    super::Formulation::Index3 => cut.residual[k],
                    _ => cut.rate[k],
                };
                cut.add_loads(k, lambda, &mut self.carried, &mut self.efforts);
                if stabilised {
                    let at = layout.corrections() + first + k;
                    out[at] = cut.residual[k];
                    cut.add_loads(k, x[at], &mut self.corrected, &mut self.slips);
                }
            }
            first += cut.count;
        }
    }
}

impl BodyEquations<f64> {
    /// Largest ξ (m, rad) and ζ (m/s, rad/s) of the joints of the tree at the unknowns last used.
    pub fn departures(&self, model: &Model, x: &[f64]) -> [f64; 2] {
        let layout = self.layout;
        let mut worst = [0.0f64; 2];
        for i in 1..=layout.bodies {
            let info = model.tree().nodes[i];
            let setting = model.setting(i, &self.angles);
            let v = &x[layout.nq + info.v..];
            let joint_pose = any::pose(info.kind, setting, &self.q[info.q..]);
            let joint = AnyJoint {
                kind: info.kind,
                setting,
                pose: &joint_pose,
            };
            let relative = joint.plus(Motion::zero(), v);
            let (pose, above) = (self.pose[i], self.pose[info.parent]);
            let expected = above * joint_pose;
            let e = expected.rotation.transpose() * pose.rotation;
            let d = pose.translation - above.translation;
            let turning = above.rotation * self.velocity[info.parent].angular;
            let angular = self.velocity[i].angular
                - pose.rotation.transpose_times(turning)
                - relative.angular;
            let linear = self.velocity[i].linear
                - self.velocity[info.parent].linear
                - turning.cross(d)
                - pose.rotation * relative.linear;
            let position = half_vee(e)
                .norm()
                .max((pose.translation - expected.translation).norm());
            worst[0] = larger(worst[0], position);
            worst[1] = larger(worst[1], angular.norm().max(linear.norm()));
        }
        worst
    }

    /// Writes poses and velocities of all bodies into x, from its q and v.
    pub fn place_bodies(&mut self, model: &Model, base: &Base<f64>, x: &mut [f64]) {
        let layout = self.layout;
        self.load(model, base, x);
        for i in 1..=layout.bodies {
            let info = model.tree().nodes[i];
            let setting = model.setting(i, &self.angles);
            let v = &x[layout.nq + info.v..];
            let joint_pose = any::pose(info.kind, setting, &self.q[info.q..]);
            let joint = AnyJoint {
                kind: info.kind,
                setting,
                pose: &joint_pose,
            };
            let relative = joint.plus(Motion::zero(), v);
            let above = self.pose[info.parent];
            let pose = above * joint_pose;
            let turning = above.rotation * self.velocity[info.parent].angular;
            let d = pose.translation - above.translation;
            self.pose[i] = pose;
            self.velocity[i] = Motion::new(
                pose.rotation.transpose_times(turning) + relative.angular,
                self.velocity[info.parent].linear
                    + turning.cross(d)
                    + pose.rotation * relative.linear,
            );
            let at = layout.body(i);
            set(&mut x[at + POSITION..], pose.translation);
            let old = quaternion(&x[at + PARAMETERS..]);
            let p = nearest_quaternion(pose.rotation, old);
            x[at + PARAMETERS..at + PARAMETERS + 4].copy_from_slice(&p);
            set(&mut x[at + VELOCITY..], self.velocity[i].linear);
            set(&mut x[at + TURNING..], self.velocity[i].angular);
        }
    }
}

impl BodyEquations<f64> {
    /// Wrenches of the multipliers in x on the bodies 0…n, in body axes about their origins.
    pub fn multiplier_wrenches(
        &mut self,
        model: &Model,
        (time, base): (f64, &Base<f64>),
        x: &[f64],
    ) -> Vec<Force<f64>> {
        let layout = self.layout;
        self.load(model, base, x);
        let mut wrenches = vec![Force::zero(); layout.bodies + 1];
        let v = &x[layout.nq..layout.nq + layout.nv];
        let mut at = layout.multipliers();
        for constraint in model.constraints() {
            let cut = Cut::evaluate(constraint, time, &self.pose, &self.velocity, &self.q, v);
            for k in 0..cut.count {
                cut.add_loads(k, -x[at + k], &mut wrenches, &mut self.efforts);
            }
            at += cut.count;
        }
        for (wrench, pose) in wrenches.iter_mut().zip(&self.pose) {
            wrench.force = pose.rotation.transpose_times(wrench.force);
        }
        wrenches
    }

    /// The largest violation |ξ| of the model's constraints at the unknowns last used, and its row.
    pub fn worst_row(&self, model: &Model, time: f64, x: &[f64]) -> (usize, f64) {
        let layout = self.layout;
        let v = &x[layout.nq..layout.nq + layout.nv];
        let (mut worst, mut first) = ((0, 0.0f64), 0);
        for constraint in model.constraints() {
            let cut = Cut::evaluate(constraint, time, &self.pose, &self.velocity, &self.q, v);
            for k in 0..cut.count {
                if cut.residual[k].abs() > worst.1 {
                    worst = (first + k, cut.residual[k].abs());
                }
            }
            first += cut.count;
        }
        worst
    }
}

/// The quaternion of a rotation, with the sign that is closer to a given one.
fn nearest_quaternion(rotation: Mat3<f64>, other: [f64; 4]) -> [f64; 4] {
    let p = crate::algorithm::pendulum::quaternion_of(rotation);
    let dot: f64 = p.iter().zip(&other).map(|(a, b)| a * b).sum();
    if dot < 0.0 { p.map(|x| -x) } else { p }
}

/// ½ vee(E − Eᵀ): sin of the angle times the axis of rotation.
#[inline(always)]
pub(super) fn half_vee<S: Scalar>(e: Mat3<S>) -> Vec3<S> {
    let half = S::constant(0.5);
    Vec3::new(e.y.z - e.z.y, e.z.x - e.x.z, e.x.y - e.y.x) * half
}

/// Tᵀ w: a load on a child as seen by its parent; moments in the bodies' axes, forces in world axes.
#[inline(always)]
fn to_parent<S: Scalar>(above: Mat3<S>, r: Mat3<S>, d: Vec3<S>, w: Force<S>) -> Force<S> {
    let moment = d.cross_add(w.force, r * w.moment);
    Force::new(above.transpose_times(moment), w.force)
}

#[inline(always)]
pub(super) fn vector<S: Scalar>(x: &[S]) -> Vec3<S> {
    Vec3::new(x[0], x[1], x[2])
}

#[inline(always)]
pub(super) fn force<S: Scalar>(x: &[S]) -> Force<S> {
    Force::new(vector(x), vector(&x[3..]))
}

#[inline(always)]
pub(super) fn quaternion<S: Scalar>(x: &[S]) -> [S; 4] {
    [x[0], x[1], x[2], x[3]]
}

#[inline(always)]
pub(super) fn set<S: Scalar>(x: &mut [S], v: Vec3<S>) {
    x[..3].copy_from_slice(&v.to_array());
}

#[inline(always)]
fn unit<S: Scalar>(p: [S; 4]) -> [S; 4] {
    let squared = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
    let scale = squared.sqrt().recip();
    [p[0] * scale, p[1] * scale, p[2] * scale, p[3] * scale]
}

/// p ∘ (0, w).
#[inline(always)]
pub(super) fn times_pure<S: Scalar>(p: [S; 4], w: Vec3<S>) -> [S; 4] {
    [
        -(p[1] * w.x) - p[2] * w.y - p[3] * w.z,
        p[0] * w.x + p[2] * w.z - p[3] * w.y,
        p[0] * w.y - p[1] * w.z + p[3] * w.x,
        p[0] * w.z + p[1] * w.y - p[2] * w.x,
    ]
}
