//! The reference motion of forward dynamics: the motion of the bodies at accelerations that are known in advance.
//!
//! v̇ is sought as v̇° + δ. The loads of the motion at v̇° are those of Newton–Euler (Saha 1999, section 4), with gravity as an acceleration of
//! the base; δ then follows from the inertia alone. v̇° is arbitrary: for a revolute joint it is chosen so that its body has no angular
//! acceleration about the joint's axis, so that ω̇° has two components and Ψ = ω̇~ + ω~ω~ one entry less.
//!
//! ```text
//! ω̇°ᵢ = Rᵀ ω̇°ⱼ + ωᵢ × e q̇ + e v̇°                                                          (1)
//! r̈°ᵢ = Rᵀ (r̈°ⱼ + Ψⱼ a) + d Ψᵢ e                 a across, d along the axis                (2)
//! f°  = m r̈° + Ψ h,   n° = h × r̈° + vee(Ψ Σ)      of first and second moments h, Σ         (3)
//! ```

use super::steps::{Step, Way};
use crate::{Expr, rates};
use catena::algorithm::kinematics::Kinematics;
use catena::spatial::{Force, Mat3, Motion, RigidInertia, Vec3};
use catena::{Model, Scalar};

/// Products of components of the angular velocity, shared by all uses.
#[derive(Clone, Copy)]
struct Spin {
    squares: [Expr; 3],
    xy: Expr,
    acceleration: Vec3<Expr>,
    /// Ψ.
    psi: Mat3<Expr>,
}

impl Spin {
    fn new(omega: Vec3<Expr>, acceleration: Vec3<Expr>) -> Self {
        let Vec3 { x, y, z } = omega;
        let (xx, yy, zz) = (x * x, y * y, z * z);
        let (xy, xz, yz) = (x * y, x * z, y * z);
        let w = acceleration;
        Spin {
            squares: [xx, yy, zz],
            xy,
            acceleration,
            psi: Mat3::from_rows([
                [-(yy + zz), xy - w.z, xz + w.y],
                [xy + w.z, -(xx + zz), yz - w.x],
                [xz - w.y, yz + w.x, -(xx + yy)],
            ]),
        }
    }

    /// (3), of a body whose origin accelerates by r̈°.
    fn load(self, body: RigidInertia<Expr>, linear: Vec3<Expr>) -> Force<Expr> {
        let (p, s) = (self.psi.rows(), body.second);
        let [xx, yy, zz] = self.squares;
        // differences of the diagonal of Ψ are differences of squares
        let turning = Vec3::new(
            p[2][0] * s.xy + p[2][1] * s.yy + (zz - yy) * s.yz - p[1][0] * s.xz - p[1][2] * s.zz,
            (xx - zz) * s.xz + p[0][1] * s.yz + p[0][2] * s.zz - p[2][0] * s.xx - p[2][1] * s.xy,
            self.xy * (s.xx - s.yy)
                + self.acceleration.z * (s.xx + s.yy)
                + (yy - xx) * s.xy
                + p[1][2] * s.xz
                - p[0][2] * s.yz,
        );
        Force::new(
            turning + body.first.cross(linear),
            self.psi * body.first + linear * body.mass,
        )
    }
}

/// The reference motion of a tree.
pub(super) struct Reference {
    /// v̇°.
    pub vdot: Vec<Expr>,
    /// Wrench that moves each body with the reference motion.
    pub load: Vec<Force<Expr>>,
}

impl Reference {
    pub fn new(
        model: &Model<Expr>,
        kinematics: &Kinematics<Expr>,
        ways: &[Way],
        q: &[Expr],
        v: &[Expr],
    ) -> Self {
        let (n, tree) = (model.body_count(), model.tree());
        let still = Spin::new(Vec3::zero(), Vec3::zero());
        let mut vdot = vec![Expr::zero(); model.nv()];
        let mut load = vec![Force::zero(); n + 1];
        let mut omega = vec![Vec3::<Expr>::zero(); n + 1];
        let mut spin = vec![still; n + 1];
        let mut linear = vec![-model.gravity(); n + 1];
        for i in 1..=n {
            let (way, parent) = (&ways[i], tree.parent(i));
            let range = tree.dof_range(i);
            let (mut carried, mut rate) = (omega[parent], spin[parent].acceleration);
            let mut origin = linear[parent];
            // a shift along the axis is done in the body frame, whose Ψ is needed anyway
            let mut along = None;
            for (k, step) in way.outer.iter().enumerate().rev() {
                match *step {
                    Step::Shift(arm) if k == 0 && way.turning && across(arm) == [true; 2] => {
                        along = Some(arm);
                    }
                    Step::Shift(arm) => origin += spin[parent].psi * arm,
                    _ => {
                        carried = step.vector_in(carried);
                        rate = step.vector_in(rate);
                        origin = step.vector_in(origin);
                    }
                }
            }
            if way.turning {
                let l = range.start;
                // ω × e q̇ is the same before and after the rotation about e
                let bent = Vec3::new(carried.y * v[l], -(carried.x * v[l]), Expr::zero());
                vdot[l] = -rate.z;
                rate = Vec3::new(rate.x, rate.y, Expr::zero()) + bent;
                for step in way.inner.iter().rev() {
                    carried = step.vector_in(carried);
                    rate = step.vector_in(rate);
                    origin = step.vector_in(origin);
                }
                omega[i] = carried + Vec3::new(Expr::zero(), Expr::zero(), v[l]);
            } else {
                let seeds = seeds(model, q, v, i);
                let (mut own, mut change) = (Motion::zero(), Motion::zero());
                for (k, l) in range.enumerate() {
                    let column = kinematics.joint_column(model, i, k);
                    own = own + column * v[l];
                    let changing = rates(&column.to_array(), &seeds);
                    let changing = Motion::new(
                        Vec3::new(changing[0], changing[1], changing[2]),
                        Vec3::new(changing[3], changing[4], changing[5]),
                    );
                    change = change + changing * v[l];
                }
                omega[i] = carried + own.angular;
                rate += change.angular + omega[i].cross(own.angular);
                let two = Expr::constant(2.0);
                origin +=
                    change.linear + carried.cross(own.linear) * two + own.angular.cross(own.linear);
            }
            spin[i] = Spin::new(omega[i], rate);
            if let Some(arm) = along {
                origin += spin[i].psi * arm;
            }
            linear[i] = origin;
            load[i] = spin[i].load(model.moments(i), origin);
        }
        Reference { vdot, load }
    }
}

/// Which of the components across z are zero?
fn across(arm: Vec3<Expr>) -> [bool; 2] {
    [arm.x.is_zero(), arm.y.is_zero()]
}

/// Rates of the positions of a joint, from its velocities.
fn seeds(model: &Model<Expr>, q: &[Expr], v: &[Expr], body: usize) -> Vec<(Expr, Expr)> {
    let info = &model.tree().bodies[body];
    let mut seeds: Vec<(Expr, Expr)> = Vec::new();
    for k in 0..info.kind.nv() {
        for (at, from) in super::direction(info.kind, k) {
            let rate = match from {
                None => v[info.v + k],
                Some((from, half)) => q[info.q + from] * Expr::constant(half) * v[info.v + k],
            };
            let place = q[info.q + at];
            match seeds.iter_mut().find(|(known, _)| *known == place) {
                Some((_, sum)) => *sum += rate,
                None => seeds.push((place, rate)),
            }
        }
    }
    seeds
}
