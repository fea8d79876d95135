//! The half of the derivatives that goes from body to body: `algorithm::derivatives` with a vector per register.
//!
//! Names and equations are those of `inverse` and `forward` there. What is found for a freedom lies in memory as one record of
//! vectors (`records`); what is done to each freedom on its own is done pack by pack by the generic code.

use super::records::{
    AROUND, AXIS, BACK, BEFORE, CONVECTIVE, COUPLING, FIRST, FORCE, FORCES, FREE_FORCE, MOMENTS,
    MOMENTUM, OF_ACCELERATIONS, OF_EFFORTS, ORIGIN, PSI, RATE, ROTATIONAL, SECOND, TRANSLATIONAL,
    fill_of_accelerations, fill_of_efforts,
};
use crate::algorithm::Angles;
use crate::algorithm::derivatives::{pairs, sweeps};
use crate::algorithm::factorization::Factors;
use crate::arch::{
    Link, QuadPose, QuadWrench as Wrench, Registers, minus_outer, moved, turned_symmetric,
};
use crate::arch::{Quad, QuadMat, around, turning};
use crate::model::Model;
use crate::model::joint::{Joint, JointKind, with_joint};
use crate::scalar::{Fused, Vector, Wide};
use crate::space::Space;
use crate::spatial::{Force, Motion, Pose};
use crate::state::Base;

/// Velocity or acceleration of a body.
#[derive(Clone, Copy, Debug)]
struct Twist {
    angular: Quad,
    linear: Quad,
}

impl Twist {
    #[inline(always)]
    fn zero() -> Self {
        Twist {
            angular: Quad::zero(),
            linear: Quad::zero(),
        }
    }

    #[inline(always)]
    fn from_fused(m: Motion<Fused>) -> Self {
        Twist {
            angular: Quad::from_fused(m.angular),
            linear: Quad::from_fused(m.linear),
        }
    }

    /// With another, times a factor.
    #[inline(always)]
    fn plus(self, other: Twist, factor: Fused) -> Self {
        let factor = Quad::splat(factor.0);
        Twist {
            angular: other.angular.mul_add(factor, self.angular),
            linear: other.linear.mul_add(factor, self.linear),
        }
    }

    /// Of a point that is seen at `step`.
    #[inline(always)]
    fn at(self, step: Quad) -> Self {
        Twist {
            angular: self.angular,
            linear: self.linear + self.angular.cross(step),
        }
    }
}

/// One body, as the way out leaves it.
#[derive(Clone, Copy, Debug)]
struct Body {
    rotation: QuadMat,
    origin: Quad,
    step: Quad,
    velocity: Twist,
    rate: Twist,
}

/// Sums over rigid bodies.
#[derive(Clone, Copy, Debug)]
struct Sum {
    /// In all lanes.
    mass: Quad,
    first: Quad,
    second: QuadMat,
    convective: QuadMat,
    momentum: Quad,
    force: Wrench,
}

impl Beyond for Sum {
    #[inline(always)]
    fn none() -> Self {
        Sum {
            mass: Quad::zero(),
            first: Quad::zero(),
            second: QuadMat::zero(),
            convective: QuadMat::zero(),
            momentum: Quad::zero(),
            force: no_wrench(),
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Sum {
            mass: self.mass + b.mass,
            first: self.first + b.first,
            second: self.second.plus(b.second),
            convective: self.convective.plus(b.convective),
            momentum: self.momentum + b.momentum,
            force: joined(self.force, b.force),
        }
    }

    #[inline(always)]
    fn shifted(self, d: &Quad) -> Self {
        let (s, h, k, p) = (self.second, self.first, self.convective, self.momentum);
        let first = d.mul_add(self.mass, h);
        let [x, y, z] = d.spread_from_memory();
        let moments = first.spread();
        // K + p dᵀ − (d·p) 1
        let turned = QuadMat {
            x: p.mul_add(x, k.x),
            y: p.mul_add(y, k.y),
            z: p.mul_add(z, k.z),
        };
        Sum {
            mass: self.mass,
            first,
            second: QuadMat {
                x: h.mul_add(x, d.mul_add(moments[0], s.x)),
                y: h.mul_add(y, d.mul_add(moments[1], s.y)),
                z: h.mul_add(z, d.mul_add(moments[2], s.z)),
            },
            convective: less_diagonal(turned, Quad::splat((*d * p).sum())),
            momentum: p,
            force: force_seen(self.force, *d),
        }
    }
}

impl Sum {
    /// A single body.
    #[inline(always)]
    fn of_body(link: &Link, body: &Body, load: Option<&Force<Fused>>) -> Self {
        let rotation = &body.rotation;
        let first = rotation.times(link.first.spread_from_memory());
        let second = turned_symmetric(link.second, rotation);
        let (omega, v) = (body.velocity.angular, body.velocity.linear);
        let omega_yzx = omega.yzx();
        let turning = turning(omega, omega.spread(), body.rate.angular);
        let of_origin = Quad::cross_of(omega, omega_yzx, v) + body.rate.linear;
        let h = first.spread();
        let moment = around(first, first.yzx(), of_origin, Quad::zero());
        let moment = around(second.x, second.x.yzx(), turning.x, moment);
        let moment = around(second.y, second.y.yzx(), turning.y, moment);
        let moment = around(second.z, second.z.yzx(), turning.z, moment);
        let mut force = Wrench {
            moment: moment.yzx(),
            force: turning.times_add(h, of_origin * link.mass),
        };
        if let Some(load) = load {
            let (m, f) = (Quad::from_fused(load.moment), Quad::from_fused(load.force));
            force.moment = force.moment - rotation.times(m.spread());
            force.force = force.force - rotation.times(f.spread());
        }
        // (3) of `inverse`: K = ω̃ Σ + v hᵀ − (h·v) 1
        let spun = QuadMat {
            x: v.mul_add(h[0], Quad::cross_of(omega, omega_yzx, second.x)),
            y: v.mul_add(h[1], Quad::cross_of(omega, omega_yzx, second.y)),
            z: v.mul_add(h[2], Quad::cross_of(omega, omega_yzx, second.z)),
        };
        Sum {
            mass: link.mass,
            first,
            second,
            convective: less_diagonal(spun, Quad::splat((first * v).sum())),
            momentum: v.mul_add(link.mass, Quad::cross_of(omega, omega_yzx, first)),
            force,
        }
    }
}

/// Sums over bodies whose joints are free; D = Bᵀ in the place of the coupling, as in `forward`.
#[derive(Clone, Copy, Debug)]
struct Free {
    rotational: QuadMat,
    coupling: QuadMat,
    translational: QuadMat,
    moments: QuadMat,
    forces: QuadMat,
    force: Wrench,
}

impl Beyond for Free {
    #[inline(always)]
    fn none() -> Self {
        let zero = QuadMat::zero();
        Free {
            rotational: zero,
            coupling: zero,
            translational: zero,
            moments: zero,
            forces: zero,
            force: no_wrench(),
        }
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Free {
            rotational: self.rotational.plus(b.rotational),
            coupling: self.coupling.plus(b.coupling),
            translational: self.translational.plus(b.translational),
            moments: self.moments.plus(b.moments),
            forces: self.forces.plus(b.forces),
            force: joined(self.force, b.force),
        }
    }

    #[inline(always)]
    fn shifted(self, d: &Quad) -> Self {
        let (m, f, d_yzx) = (self.moments, self.forces, d.yzx());
        let (rotational, coupling) =
            moved(self.rotational, self.coupling, self.translational, d, d_yzx);
        Free {
            rotational,
            coupling,
            translational: self.translational,
            moments: QuadMat {
                x: m.x + Quad::cross_of(*d, d_yzx, f.x),
                y: m.y + Quad::cross_of(*d, d_yzx, f.y),
                z: m.z + Quad::cross_of(*d, d_yzx, f.z),
            },
            forces: f,
            force: force_seen(self.force, *d),
        }
    }
}

impl Free {
    #[inline(always)]
    fn of(own: Sum, link: &Link) -> Self {
        let s = own.second;
        let k = own.convective;
        let minus_two = Quad::splat(-2.0);
        Free {
            rotational: QuadMat {
                x: Quad::zero().blend::<0b0001>(link.trace) - s.x,
                y: Quad::zero().blend::<0b0010>(link.trace) - s.y,
                z: Quad::zero().blend::<0b0100>(link.trace) - s.z,
            },
            coupling: QuadMat::skew(own.first, -1.0),
            translational: QuadMat {
                x: Quad::zero().blend::<0b0001>(own.mass),
                y: Quad::zero().blend::<0b0010>(own.mass),
                z: Quad::zero().blend::<0b0100>(own.mass),
            },
            moments: QuadMat {
                x: k.x * minus_two,
                y: k.y * minus_two,
                z: k.z * minus_two,
            },
            forces: QuadMat::skew(own.momentum, -2.0),
            force: own.force,
        }
    }

    /// (1) of `forward`: takes out a freedom; what is left, and β m̂.
    #[inline(always)]
    fn without(self, axis: Twist, psi: Wrench, inverse: f64) -> (Self, Quad) {
        let pivot = Quad::splat(1.0 / inverse);
        let (m, f) = (psi.moment.spread(), psi.force.spread());
        let (a, l) = (axis.angular, axis.linear);
        let back = Quad::sums(
            a.mul_add(self.moments.x, l * self.forces.x),
            a.mul_add(self.moments.y, l * self.forces.y),
            a.mul_add(self.moments.z, l * self.forces.z),
        );
        let b = back.spread();
        let d = self.coupling;
        let rest = Free {
            rotational: minus_outer(self.rotational, psi.moment, m, pivot),
            coupling: QuadMat {
                x: (psi.force * m[0]).taken_from(pivot, d.x),
                y: (psi.force * m[1]).taken_from(pivot, d.y),
                z: (psi.force * m[2]).taken_from(pivot, d.z),
            },
            translational: minus_outer(self.translational, psi.force, f, pivot),
            moments: QuadMat {
                x: psi.moment.taken_from(b[0], self.moments.x),
                y: psi.moment.taken_from(b[1], self.moments.y),
                z: psi.moment.taken_from(b[2], self.moments.z),
            },
            forces: QuadMat {
                x: psi.force.taken_from(b[0], self.forces.x),
                y: psi.force.taken_from(b[1], self.forces.y),
                z: psi.force.taken_from(b[2], self.forces.z),
            },
            force: self.force,
        };
        (rest, back)
    }
}

#[inline(always)]
fn no_wrench() -> Wrench {
    Registers::wrench(Quad::zero(), Quad::zero())
}

#[inline(always)]
fn joined(a: Wrench, b: Wrench) -> Wrench {
    Registers::wrench(a.moment + b.moment, a.force + b.force)
}

/// m − x 1.
#[inline(always)]
fn less_diagonal(m: QuadMat, x: Quad) -> QuadMat {
    QuadMat {
        x: m.x - Quad::zero().blend::<0b0001>(x),
        y: m.y - Quad::zero().blend::<0b0010>(x),
        z: m.z - Quad::zero().blend::<0b0100>(x),
    }
}

/// The wrench about a point from which the present one is seen at `d`.
#[inline(always)]
fn force_seen(f: Wrench, d: Quad) -> Wrench {
    Wrench {
        moment: f.moment + d.cross(f.force),
        force: f.force,
    }
}

/// What adds up on the way back.
trait Beyond: Copy {
    fn none() -> Self;
    fn plus(self, b: Self) -> Self;
    /// About a point from which the present one is seen at `d`.
    fn shifted(self, d: &Quad) -> Self;
}

/// Nothing has been handed on yet.
#[inline(always)]
fn clear<B: Beyond>(links: &[Link], forks: &mut [B]) {
    for i in 1..links.len() {
        if links[i].node.gathers {
            forks[i] = B::none();
        }
    }
}

/// Hands on what the parent of body i gets to see; `next` is what body i − 1 starts with.
#[inline(always)]
fn hand_on<B: Beyond>(
    rest: B,
    i: usize,
    parent: usize,
    step: &Quad,
    forks: &mut [B],
    next: &mut B,
) {
    if parent == 0 {
        *next = B::none();
    } else if parent + 1 == i {
        *next = rest.shifted(step);
    } else {
        forks[parent] = forks[parent].plus(rest.shifted(step));
        *next = B::none();
    }
}

/// Workspace.
#[derive(Clone, Debug)]
pub(crate) struct QuadDerivatives {
    angles: Angles<Fused>,
    body: Vec<Body>,
    sums: Vec<Sum>,
    free: Vec<Free>,
    of_efforts: Vec<[Quad; OF_EFFORTS]>,
    of_accelerations: Vec<[Quad; OF_ACCELERATIONS]>,
}

impl QuadDerivatives {
    /// A workspace for this model.
    pub fn new(model: &Model) -> Self {
        let n = model.body_count() + 1;
        let (zero, one) = (Quad::zero(), Quad::splat(1.0));
        let body = Body {
            rotation: QuadMat {
                x: zero.blend::<0b0001>(one),
                y: zero.blend::<0b0010>(one),
                z: zero.blend::<0b0100>(one),
            },
            origin: zero,
            step: zero,
            velocity: Twist::zero(),
            rate: Twist::zero(),
        };
        // whole packs of any width
        let freedoms = model.nv().next_multiple_of(8);
        QuadDerivatives {
            angles: Registers::angles(model.tree()),
            body: vec![body; n],
            sums: vec![Sum::none(); n],
            free: vec![Free::none(); n],
            of_efforts: vec![[zero; OF_EFFORTS]; freedoms],
            of_accelerations: vec![[zero; OF_ACCELERATIONS]; freedoms],
        }
    }

    /// For derivatives of inverse dynamics.
    #[inline(always)]
    pub fn of_efforts(
        &mut self,
        model: &Model,
        links: &[Link],
        state: [&[Fused]; 3],
        base: &Base<Fused>,
        external: &[Force<Fused>],
    ) {
        let mut records = std::mem::take(&mut self.of_efforts);
        Registers::fill(&mut self.angles, model.tree(), state[0]);
        self.outward(model, links, None, state, base, &mut records);
        let n = model.body_count();
        clear(links, &mut self.sums);
        let mut next = Sum::none();
        for i in (1..=n).rev() {
            let (link, body) = (&links[i], &self.body[i]);
            let info = link.node;
            let mut sum = Sum::of_body(link, body, external.get(i)).plus(next);
            if info.gathers {
                sum = sum.plus(self.sums[i]);
            }
            for record in &mut records[info.v..info.v + info.kind.nv()] {
                record[FIRST] = sum.first.blend::<0b1000>(sum.mass);
                write_matrix(record, SECOND, sum.second);
                write_matrix(record, CONVECTIVE, sum.convective);
                record[MOMENTUM] = sum.momentum;
                record[FORCE] = sum.force.moment;
                record[FORCE + 1] = sum.force.force;
            }
            let (step, forks) = (&body.step, &mut self.sums);
            hand_on(sum, i, info.parent, step, forks, &mut next);
        }
        self.of_efforts = records;
    }

    /// For derivatives of forward dynamics, with its factors.
    #[inline(always)]
    pub fn of_accelerations(
        &mut self,
        model: &Model,
        links: &[Link],
        factors: &Factors<Registers>,
        state: [&[Fused]; 3],
        base: &Base<Fused>,
        external: &[Force<Fused>],
    ) {
        let mut records = std::mem::take(&mut self.of_accelerations);
        self.angles.fill_from(&factors.angles);
        self.outward(model, links, Some(factors), state, base, &mut records);
        let n = model.body_count();
        clear(links, &mut self.free);
        let mut several = [no_wrench(); 6];
        let mut next = Free::none();
        for i in (1..=n).rev() {
            let (link, body) = (&links[i], &self.body[i]);
            let info = link.node;
            let own = Sum::of_body(link, body, external.get(i));
            let mut whole = Free::of(own, link).plus(next);
            if info.gathers {
                whole = whole.plus(self.free[i]);
            }
            let mut rest = whole;
            let found = psi_of(factors, model, i, &mut several);
            for (k, psi) in found.iter().enumerate().rev() {
                let at = info.v + k;
                let psi = Wrench {
                    moment: body.rotation.times(psi.moment.spread_from_memory()),
                    force: body.rotation.times(psi.force.spread_from_memory()),
                };
                let inverse = factors.inverse[at].0;
                let record = &mut records[at];
                let axis = Twist {
                    angular: record[AXIS],
                    linear: record[AXIS + 1],
                };
                let (left, back) = rest.without(axis, psi, inverse);
                rest = left;
                write_matrix(record, ROTATIONAL, whole.rotational);
                write_matrix(record, COUPLING, whole.coupling);
                write_matrix(record, TRANSLATIONAL, whole.translational);
                write_matrix(record, MOMENTS, whole.moments);
                write_matrix(record, FORCES, whole.forces);
                record[FREE_FORCE] = whole.force.moment;
                record[FREE_FORCE + 1] = whole.force.force;
                record[PSI] = psi.moment;
                record[PSI + 1] = psi.force;
                record[BACK] = back.blend::<0b1000>(Quad::splat(inverse));
            }
            let (step, forks) = (&body.step, &mut self.free);
            hand_on(rest, i, info.parent, step, forks, &mut next);
        }
        self.of_accelerations = records;
    }

    /// What the entries of derivatives of inverse dynamics need, pack by pack.
    #[inline(always)]
    pub fn fill_of_efforts<V: Vector>(&self, packs: &mut [pairs::Numbers<Wide<V>>]) {
        fill_of_efforts(&self.of_efforts, packs);
    }

    /// The same for the sweeps of derivatives of forward dynamics.
    #[inline(always)]
    pub fn fill_of_accelerations<V: Vector>(&self, packs: &mut [sweeps::Numbers<Wide<V>>]) {
        fill_of_accelerations(&self.of_accelerations, packs);
    }

    /// Base to tips: rotations, velocities, accelerations, and the motions around every freedom.
    #[inline(always)]
    fn outward<const N: usize>(
        &mut self,
        model: &Model,
        links: &[Link],
        factors: Option<&Factors<Registers>>,
        [q, v, vdot]: [&[Fused]; 3],
        base: &Base<Fused>,
        records: &mut [[Quad; N]],
    ) {
        let to_base = base.pose.rotation;
        let lift = base.acceleration.linear - model.gravity.lift();
        self.body[0].velocity = Twist {
            angular: Quad::from_fused(to_base.transpose_times(base.velocity.angular)),
            linear: Quad::zero(),
        };
        self.body[0].rate = Twist {
            angular: Quad::from_fused(to_base.transpose_times(base.acceleration.angular)),
            linear: Quad::from_fused(to_base.transpose_times(lift)),
        };
        for i in 1..=model.body_count() {
            let link = &links[i];
            let info = link.node;
            let parent = &self.body[info.parent];
            let (turn, translation) = match (factors, info.kind) {
                (Some(factors), _) => {
                    let placed = &factors.pose[i].kept;
                    (placed.rotation, placed.translation)
                }
                (None, JointKind::Revolute | JointKind::Continuous) => {
                    let (sin, cos) = (self.angles.sin[info.angle], self.angles.cos[info.angle]);
                    let pose = QuadPose::revolute(link, sin, cos);
                    (pose.kept.rotation, pose.kept.translation)
                }
                (None, JointKind::Prismatic) => {
                    let pose = QuadPose::prismatic(link, q[info.q]);
                    (pose.kept.rotation, pose.kept.translation)
                }
                (None, kind) => {
                    let setting = model.setting(i, &self.angles);
                    let pose = with_joint!(kind, J => { J::<Fused>::pose(setting, &q[info.q..]) });
                    (
                        QuadMat::from_fused(pose.rotation),
                        Quad::from_fused(pose.translation),
                    )
                }
            };
            let step = parent.rotation.times(translation.spread());
            let rotation = QuadMat {
                x: parent.rotation.times(turn.x.spread()),
                y: parent.rotation.times(turn.y.spread()),
                z: parent.rotation.times(turn.z.spread()),
            };
            let origin = if info.parent == 0 {
                Quad::zero()
            } else {
                parent.origin + step
            };
            let before = parent.velocity.at(step);
            let rate_before = parent.rate.at(step);
            let axis = rotation.z;
            let (velocity, rate) = match info.kind {
                JointKind::Revolute | JointKind::Continuous => {
                    let (v, vdot) = (Quad::splat(v[info.v].0), Quad::splat(vdot[info.v].0));
                    let velocity = Twist {
                        angular: axis.mul_add(v, before.angular),
                        linear: before.linear,
                    };
                    let rate = Twist {
                        angular: before
                            .angular
                            .cross(axis)
                            .mul_add(v, axis.mul_add(vdot, rate_before.angular)),
                        linear: before.linear.cross(axis).mul_add(v, rate_before.linear),
                    };
                    let axis = Twist {
                        angular: axis,
                        linear: Quad::zero(),
                    };
                    write_freedom(
                        &mut records[info.v],
                        origin,
                        axis,
                        before,
                        velocity,
                        rate_before,
                    );
                    (velocity, rate)
                }
                JointKind::Prismatic => {
                    let (v, vdot) = (Quad::splat(v[info.v].0), Quad::splat(vdot[info.v].0));
                    let velocity = Twist {
                        angular: before.angular,
                        linear: axis.mul_add(v, before.linear),
                    };
                    let rate = Twist {
                        angular: rate_before.angular,
                        linear: before
                            .angular
                            .cross(axis)
                            .mul_add(v, axis.mul_add(vdot, rate_before.linear)),
                    };
                    let axis = Twist {
                        angular: Quad::zero(),
                        linear: axis,
                    };
                    write_freedom(
                        &mut records[info.v],
                        origin,
                        axis,
                        before,
                        velocity,
                        rate_before,
                    );
                    (velocity, rate)
                }
                kind => {
                    let setting = model.setting(i, &self.angles);
                    let pose = Pose::new(turn.to_fused(), translation.to_fused());
                    let mut columns = [Motion::zero(); 6];
                    with_joint!(kind, J => {
                        let joint = J::<Fused>::at(setting, &pose);
                        for k in 0..J::<Fused>::NV {
                            columns[k] = joint.column(k);
                        }
                    });
                    let range = info.v..info.v + kind.nv();
                    let rates = [&v[range.clone()], &vdot[range.clone()]];
                    let records = &mut records[range];
                    let moving = [before, rate_before];
                    through(&columns, kind, &rotation, moving, rates, origin, records)
                }
            };
            self.body[i] = Body {
                rotation,
                origin,
                step,
                velocity,
                rate,
            };
        }
    }
}

/// ψ of the freedoms of a body in body axes; there is room for several.
#[inline(always)]
fn psi_of<'a>(
    factors: &'a Factors<Registers>,
    model: &Model,
    body: usize,
    several: &'a mut [Wrench; 6],
) -> &'a [Wrench] {
    let node = model.tree().nodes[body];
    let psi = &factors.psi[node.v..node.v + node.kind.nv()];
    match node.kind {
        JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic => psi,
        kind => {
            let pose = Registers::pose_numbers(&factors.pose[body].kept);
            let setting = model.setting(body, &factors.angles);
            with_joint!(kind, J => {
                let joint = J::<Fused>::at(setting, &pose);
                for k in 0..J::<Fused>::NV {
                    let numbers = joint.restore(Registers::wrench_numbers(&psi[k]));
                    several[k] = Registers::wrench_of(numbers);
                }
            });
            &several[..psi.len()]
        }
    }
}

#[inline(always)]
fn write_twist<const N: usize>(record: &mut [Quad; N], at: usize, twist: Twist) {
    record[at] = twist.angular;
    record[at + 1] = twist.linear;
}

#[inline(always)]
fn write_matrix<const N: usize>(record: &mut [Quad; N], at: usize, m: QuadMat) {
    record[at] = m.x;
    record[at + 1] = m.y;
    record[at + 2] = m.z;
}

/// A joint's only freedom.
#[inline(always)]
fn write_freedom<const N: usize>(
    record: &mut [Quad; N],
    origin: Quad,
    axis: Twist,
    before: Twist,
    after: Twist,
    rate: Twist,
) {
    write_twist(record, AXIS, axis);
    write_twist(record, BEFORE, before);
    write_twist(record, AROUND, before.plus(after, Fused(1.0)));
    write_twist(record, RATE, rate);
    record[ORIGIN] = origin;
}

/// Through the freedoms of a joint, one after another: the motion beyond the last. Columns are in body axes.
#[inline(always)]
fn through<const N: usize>(
    columns: &[Motion<Fused>; 6],
    kind: JointKind,
    rotation: &QuadMat,
    [mut velocity, mut rate]: [Twist; 2],
    [v, vdot]: [&[Fused]; 2],
    origin: Quad,
    records: &mut [[Quad; N]],
) -> (Twist, Twist) {
    let one_rotation = kind.quaternion().unwrap_or(usize::MAX);
    let (mut held, mut held_rate) = (velocity, rate);
    for k in 0..records.len() {
        let column = Twist::from_fused(columns[k]);
        let axis = Twist {
            angular: rotation.times(column.angular.spread()),
            linear: rotation.times(column.linear.spread()),
        };
        if k <= one_rotation {
            (held, held_rate) = (velocity, rate);
        }
        let first = Twist {
            angular: held.angular.cross(axis.angular),
            linear: held.angular.cross(axis.linear) + held.linear.cross(axis.angular),
        };
        velocity = velocity.plus(axis, v[k]);
        rate = rate.plus(axis, vdot[k]).plus(first, v[k]);
        write_freedom(&mut records[k], origin, axis, held, velocity, held_rate);
    }
    for k in one_rotation..records.len() {
        // all axes of one rotation turn with the body
        write_twist(&mut records[k], AROUND, held.plus(velocity, Fused(1.0)));
    }
    (velocity, rate)
}
