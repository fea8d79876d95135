//! Constraints on a tree of bodies in addition to its joints.
//!
//! | rule | rows | condition |
//! |---|---|---|
//! | joint that closes a loop | 6 − freedoms | the relative pose of the two frames is one that the joint permits |
//! | distance | 1 | two points stay at a fixed distance |
//! | coupling | 1 | Σ cₖ qₖ = c₀: gears, mimicking joints |
//! | driver | 1 | qₖ = s(t): a motor whose motion is given |
//! | contact | 1 | a wheel's edge or a sphere touches a plane, a cylinder or a sphere |
//! | rolling | 1 + 2 | a contact without slipping: two nonholonomic rows (wheel on wheel: one) |
//! | knife edge | 1 | a point does not move across an edge: a nonholonomic row |
//! | velocity | 1 | Σ cₖ vₖ = c₀: a nonholonomic row |
//!
//! Nonholonomic rows constrain velocities and leave all positions reachable: no position satisfies or violates them.
//!
//! A weld is a joint of the kind fixed (6 rows), a point on a point a spherical one (3 rows). Constraints in Rust code are
//! [`UserConstraint`](crate::algorithm::constrained::UserConstraint)s, passed to the solver.

use super::{JointKind, JointSpec};
use crate::error::Place;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Pose, Vec3};
use std::sync::Arc;

/// A constraint as the user named it.
#[derive(Clone, Debug)]
pub struct ConstraintSpec {
    /// Name, unique among constraints and joints.
    pub name: String,
    /// Its condition.
    pub rule: RuleSpec,
    /// Where it was defined.
    pub place: Place,
}

/// The condition of a constraint, by the names of links and coordinates.
#[derive(Clone, Debug)]
pub enum RuleSpec {
    /// A joint that closes a loop. `parent` and `child` may both be any link or the ground; the joint carries nothing. Freedom
    /// data (rotors, springs, limits) are not accepted: there is no coordinate they could act on.
    Joint(Box<JointSpec>),
    /// A point of one link stays at a distance from a point of another.
    Distance {
        /// First link, or `world`.
        parent: String,
        /// Second link, or `world`.
        child: String,
        /// Point in the first link's frame, m.
        parent_point: Vec3<f64>,
        /// Point in the second link's frame, m.
        child_point: Vec3<f64>,
        /// The distance, m.
        length: f64,
    },
    /// Σ coefficient · coordinate = offset.
    Coupling {
        /// Names of coordinates (those of the freedoms) and their coefficients.
        terms: Vec<(String, f64)>,
        /// The right-hand side.
        offset: f64,
    },
    /// A coordinate follows a given motion.
    Driver {
        /// Name of the coordinate.
        coordinate: String,
        /// Its motion.
        law: Law,
    },
    /// A wheel or a sphere touches a surface, and may roll on it. It cannot lift off.
    Contact(Box<ContactSpec>),
    /// A point of a link does not move in one of the link's directions, as a skate does not move across its blade.
    KnifeEdge {
        /// The link relative to which the point cannot move across the edge, or `world`.
        parent: String,
        /// The link that carries the edge.
        child: String,
        /// The point, in the child's link frame, m.
        point: Vec3<f64>,
        /// The direction in which it cannot move, in the child's axes, of any length.
        across: Vec3<f64>,
    },
    /// Σ coefficient · velocity = rate.
    Velocity {
        /// Names of freedoms, including angular velocities of quaternions, and their coefficients.
        terms: Vec<(String, f64)>,
        /// The right-hand side.
        rate: f64,
    },
}

/// A surface to roll on. Radii are positive outside, negative where the body rolls inside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Surface<P = f64> {
    /// A plane.
    #[default]
    Plane,
    /// A sphere of this radius; a sphere rolls on it.
    Sphere(P),
    /// A cylinder, or a wheel, of this radius. A wheel on it has an axis parallel to its own.
    Cylinder(P),
}

impl<P: Copy> Surface<P> {
    pub(crate) fn map<T>(self, f: &impl Fn(P) -> T) -> Surface<T> {
        match self {
            Surface::Plane => Surface::Plane,
            Surface::Sphere(radius) => Surface::Sphere(f(radius)),
            Surface::Cylinder(radius) => Surface::Cylinder(f(radius)),
        }
    }
}

/// Rows of a contact: its height, and directions in which it does not slip. A wheel on a wheel may slide along the axes.
pub(crate) fn contact_rows<P>(surface: &Surface<P>, wheel: bool, rolls: bool) -> usize {
    match (surface, wheel, rolls) {
        (_, _, false) => 1,
        (Surface::Cylinder(_), true, true) => 2,
        (_, _, true) => 3,
    }
}

/// A wheel or a sphere on a surface.
#[derive(Clone, Debug)]
pub struct ContactSpec {
    /// The link with the surface, or `world`.
    pub parent: String,
    /// The link that is round.
    pub child: String,
    /// The surface.
    pub surface: Surface,
    /// A point of the plane, or the centre of the sphere or cylinder, in the parent's link frame, m.
    pub origin: Vec3<f64>,
    /// Normal of the plane, towards the round body; axis of the cylinder; for a sphere the direction opposite to which there is no contact. In
    /// the parent's axes, of any length.
    pub normal: Vec3<f64>,
    /// Centre of the wheel or sphere in the child's link frame, m.
    pub centre: Vec3<f64>,
    /// Axis of the wheel in the child's axes, of any length; `None` means a sphere.
    pub axis: Option<Vec3<f64>>,
    /// Radius of the wheel's edge or of the sphere, m.
    pub radius: f64,
    /// Whether it rolls without slipping. Otherwise it slides without friction.
    pub rolls: bool,
}

impl ContactSpec {
    /// A wheel with its centre at the child's origin that rolls on the ground z = 0.
    pub fn wheel(child: &str, axis: Vec3<f64>, radius: f64) -> Self {
        ContactSpec {
            axis: Some(axis),
            ..ContactSpec::sphere(child, radius)
        }
    }

    /// A sphere with its centre at the child's origin that rolls on the ground z = 0.
    pub fn sphere(child: &str, radius: f64) -> Self {
        ContactSpec {
            parent: super::specs::WORLD.into(),
            child: child.into(),
            surface: Surface::Plane,
            origin: Vec3::zero(),
            normal: Vec3::new(0.0, 0.0, 1.0),
            centre: Vec3::zero(),
            axis: None,
            radius,
            rolls: true,
        }
    }
}

impl ConstraintSpec {
    /// A joint that closes a loop, named like the joint.
    pub fn joint(joint: JointSpec) -> Self {
        ConstraintSpec {
            name: joint.name.clone(),
            place: joint.place.clone(),
            rule: RuleSpec::Joint(Box::new(joint)),
        }
    }

    /// A constraint with this rule.
    pub fn new(name: &str, rule: RuleSpec) -> Self {
        ConstraintSpec {
            name: name.into(),
            rule,
            place: Place::default(),
        }
    }

    /// A point of one link on a point of another.
    pub fn point(
        name: &str,
        parent: &str,
        parent_point: Vec3<f64>,
        child: &str,
        child_point: Vec3<f64>,
    ) -> Self {
        ConstraintSpec::joint(JointSpec {
            parent_from_joint: Pose::shift(parent_point),
            joint_from_child: Pose::shift(-child_point),
            ..JointSpec::new(name, JointKind::Spherical, parent, child)
        })
    }
}

/// A given motion s(t) of a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// c₀ + c₁ t + c₂ t² + …
    Polynomial(Vec<f64>),
    /// offset + amplitude · sin(frequency · t + phase).
    Sine {
        /// Middle of the motion.
        offset: f64,
        /// Half of its width.
        amplitude: f64,
        /// Angular frequency, rad/s.
        frequency: f64,
        /// Phase at t = 0, rad.
        phase: f64,
    },
    /// From rest to rest along a cycloid (Saha 1999, eq. 38), at rest before 0 and after `duration`.
    Cycloid {
        /// Position before.
        start: f64,
        /// Position afterwards.
        end: f64,
        /// Duration, s.
        duration: f64,
    },
}

impl Law {
    /// s, ṡ and s̈ at a time.
    pub fn at<S: Scalar>(&self, t: S) -> [S; 3] {
        match self {
            Law::Polynomial(coefficients) => {
                let [mut s, mut rate, mut half] = [S::zero(); 3]; // Horner, s̈/2 last
                for &c in coefficients.iter().rev() {
                    half = half.mul_add(t, rate);
                    rate = rate.mul_add(t, s);
                    s = s.mul_add(t, S::constant(c));
                }
                [s, rate, half + half]
            }
            &Law::Sine {
                offset,
                amplitude,
                frequency,
                phase,
            } => {
                let (sin, cos) = S::constant(frequency)
                    .mul_add(t, S::constant(phase))
                    .sin_cos();
                [
                    sin.mul_add(S::constant(amplitude), S::constant(offset)),
                    cos * S::constant(amplitude * frequency),
                    -(sin * S::constant(amplitude * frequency * frequency)),
                ]
            }
            &Law::Cycloid {
                start,
                end,
                duration,
            } => {
                let (delta, omega) = (end - start, std::f64::consts::TAU / duration);
                let (sin, cos) = (t * S::constant(omega)).sin_cos();
                let zero = S::zero();
                let mean = S::constant(delta / duration);
                let moving = [
                    mean.mul_add(t - sin * S::constant(1.0 / omega), S::constant(start)),
                    mean * (S::one() - cos),
                    mean * sin * S::constant(omega),
                ];
                let before = [S::constant(start), zero, zero];
                let after = [S::constant(end), zero, zero];
                let (early, late) = (t.less(zero), S::constant(duration).less(t));
                let mut law = moving;
                for k in 0..3 {
                    law[k] = S::select(early, before[k], S::select(late, after[k], moving[k]));
                }
                law
            }
        }
    }

    /// Are all its numbers finite?
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Law::Polynomial(coefficients) => coefficients.iter().all(|c| c.is_finite()),
            Law::Sine {
                offset,
                amplitude,
                frequency,
                phase,
            } => [offset, amplitude, frequency, phase]
                .iter()
                .all(|x| x.is_finite()),
            Law::Cycloid {
                start,
                end,
                duration,
            } => [start, end, duration].iter().all(|x| x.is_finite()),
        }
    }
}

/// A constraint of a checked model: bodies and coordinates by number.
#[derive(Clone, Debug)]
pub struct Constraint<P = f64> {
    /// Its name.
    pub name: Arc<str>,
    /// Its condition.
    pub rule: Rule<P>,
    /// Where it was defined.
    pub place: Place,
}

/// The condition of a constraint.
#[derive(Clone, Debug)]
pub enum Rule<P = f64> {
    /// The relative pose of two frames is one that a joint permits.
    Joint(Closure<P>),
    /// Two points are at a fixed distance.
    Distance {
        /// The points: translations of the frames; their rotations are not used.
        between: Closure<P>,
        /// The distance.
        length: P,
    },
    /// Σ coefficient · coordinate = offset.
    Coupling {
        /// The coordinates and their coefficients.
        terms: Vec<(Coordinate, P)>,
        /// The right-hand side.
        offset: P,
    },
    /// A coordinate follows a given motion.
    Driver {
        /// The coordinate.
        coordinate: Coordinate,
        /// Its motion.
        law: Law,
    },
    /// A wheel or a sphere touches a surface.
    Contact {
        /// The surface.
        surface: Surface<P>,
        /// Frames of the surface (z is the normal or the axis) and of the round body (origin at its centre, z along the wheel's axis).
        between: Closure<P>,
        /// Whether it is a wheel. Otherwise it is a sphere.
        wheel: bool,
        /// Its radius.
        radius: P,
        /// Does it roll without slipping?
        rolls: bool,
    },
    /// A point does not move across an edge.
    KnifeEdge {
        /// The frame on the child has its origin at the point and its z axis across the edge; the parent's is the body frame.
        between: Closure<P>,
    },
    /// Σ coefficient · velocity = rate.
    Velocity {
        /// Velocity coordinates and their coefficients.
        terms: Vec<(usize, P)>,
        /// The right-hand side.
        rate: P,
    },
}

/// A scalar coordinate: its indices among positions and velocities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Index into q.
    pub q: usize,
    /// Index into v.
    pub v: usize,
}

/// Two frames on two bodies that a cut joint joins: the frame on the child moves with the joint.
#[derive(Clone, Copy, Debug)]
pub struct Closure<P = f64> {
    /// Kind of the joint.
    pub kind: JointKind,
    /// Body that carries the joint frame; 0 is the ground.
    pub parent: usize,
    /// The other body; 0 is the ground.
    pub child: usize,
    /// Joint frame in the parent's body frame: z is the axis (universal: x the first axis; planar: z the normal).
    pub parent_from_joint: Pose<P>,
    /// Moved joint frame in the child's body frame: z is the axis (universal: the second axis).
    pub child_from_joint: Pose<P>,
    /// Advance per radian of a helical joint, m/rad.
    pub pitch: P,
}

impl<P> Constraint<P> {
    /// Number of scalar conditions.
    pub fn rows(&self) -> usize {
        match &self.rule {
            Rule::Joint(closure) => 6 - closure.kind.nv(),
            Rule::Contact {
                surface,
                wheel,
                rolls,
                ..
            } => contact_rows(surface, *wheel, *rolls),
            _ => 1,
        }
    }

    /// Number of its holonomic rows. They come first; the others are nonholonomic.
    pub fn position_rows(&self) -> usize {
        match &self.rule {
            Rule::Contact { .. } => 1,
            Rule::KnifeEdge { .. } | Rule::Velocity { .. } => 0,
            _ => self.rows(),
        }
    }

    /// The frames that it joins, if it joins bodies.
    pub fn closure(&self) -> Option<&Closure<P>> {
        match &self.rule {
            Rule::Joint(closure) => Some(closure),
            Rule::Distance { between, .. }
            | Rule::Contact { between, .. }
            | Rule::KnifeEdge { between } => Some(between),
            Rule::Coupling { .. } | Rule::Driver { .. } | Rule::Velocity { .. } => None,
        }
    }

    /// The bodies it joins, parent and child, if it joins bodies.
    pub fn bodies(&self) -> Option<[usize; 2]> {
        self.closure()
            .map(|closure| [closure.parent, closure.child])
    }

    /// Its type: the kind of the joint, `weld`, `point`, `distance`, `coupling`, `driver`, `contact`, `rolling`, `knife_edge` or `velocity`.
    pub fn kind(&self) -> &'static str {
        match &self.rule {
            Rule::Joint(closure) => match closure.kind {
                JointKind::Fixed => "weld",
                kind => kind.name(),
            },
            Rule::Distance { .. } => "distance",
            Rule::Coupling { .. } => "coupling",
            Rule::Driver { .. } => "driver",
            Rule::Contact { rolls: false, .. } => "contact",
            Rule::Contact { rolls: true, .. } => "rolling",
            Rule::KnifeEdge { .. } => "knife_edge",
            Rule::Velocity { .. } => "velocity",
        }
    }
}

impl<P: Copy> Closure<P> {
    /// The two frames in the scalar of the computation.
    pub(crate) fn frames<S: Scalar>(&self) -> [Pose<S>; 2]
    where
        P: Parameter<S>,
    {
        [self.parent_from_joint.lift(), self.child_from_joint.lift()]
    }

    pub(super) fn map<T: Copy>(&self, f: &impl Fn(P) -> T) -> Closure<T> {
        Closure {
            kind: self.kind,
            parent: self.parent,
            child: self.child,
            parent_from_joint: map_pose(self.parent_from_joint, f),
            child_from_joint: map_pose(self.child_from_joint, f),
            pitch: f(self.pitch),
        }
    }
}

impl<P: Copy> Constraint<P> {
    pub(super) fn map<T: Copy>(&self, f: &impl Fn(P) -> T) -> Constraint<T> {
        Constraint {
            name: Arc::clone(&self.name),
            place: self.place.clone(),
            rule: match &self.rule {
                Rule::Joint(closure) => Rule::Joint(closure.map(f)),
                Rule::Distance { between, length } => Rule::Distance {
                    between: between.map(f),
                    length: f(*length),
                },
                Rule::Coupling { terms, offset } => Rule::Coupling {
                    terms: terms.iter().map(|&(k, c)| (k, f(c))).collect(),
                    offset: f(*offset),
                },
                Rule::Driver { coordinate, law } => Rule::Driver {
                    coordinate: *coordinate,
                    law: law.clone(),
                },
                Rule::Contact {
                    surface,
                    between,
                    wheel,
                    radius,
                    rolls,
                } => Rule::Contact {
                    surface: surface.map(f),
                    between: between.map(f),
                    wheel: *wheel,
                    radius: f(*radius),
                    rolls: *rolls,
                },
                Rule::KnifeEdge { between } => Rule::KnifeEdge {
                    between: between.map(f),
                },
                Rule::Velocity { terms, rate } => Rule::Velocity {
                    terms: terms.iter().map(|&(k, c)| (k, f(c))).collect(),
                    rate: f(*rate),
                },
            },
        }
    }
}

/// A pose with every number mapped.
pub(super) fn map_pose<P: Copy, T: Copy>(pose: Pose<P>, f: &impl Fn(P) -> T) -> Pose<T> {
    let vec = |v: Vec3<P>| v.map(f);
    let r = pose.rotation;
    Pose::new(
        crate::spatial::Mat3::from_columns(vec(r.x), vec(r.y), vec(r.z)),
        vec(pose.translation),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Dual;

    /// Rates of prescribed motions are their derivatives, by dual numbers, before, during and after the motion.
    #[test]
    fn laws_and_their_rates() {
        let laws = [
            Law::Polynomial(vec![0.3, -1.1, 0.7, 0.2]),
            Law::Sine {
                offset: 0.4,
                amplitude: 1.3,
                frequency: 2.1,
                phase: 0.6,
            },
            Law::Cycloid {
                start: 0.2,
                end: -1.4,
                duration: 1.7,
            },
        ];
        for law in &laws {
            for t in [-0.4, 0.3, 1.1, 2.5] {
                let [s, rate, second] = law.at(Dual::<f64, 1>::variable(t, 0));
                assert!((s.derivative[0] - rate.value).abs() < 1e-14);
                assert!((rate.derivative[0] - second.value).abs() < 1e-13);
            }
        }
        assert_eq!(laws[2].at(9.0f64), [-1.4, 0.0, 0.0]);
    }
}
