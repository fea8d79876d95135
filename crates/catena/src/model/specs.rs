//! Links, joints and frames as the user named them.

use super::JointKind;
use crate::elementary;
use crate::error::Place;
use crate::scalar::{DoubleDouble, Parameter};
use crate::spatial::{Mat3, Pose, RigidInertia, Sym3, Vec3};

/// Mass, mass centre and inertia of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inertial {
    /// Mass, kg.
    pub mass: f64,
    /// Mass centre in the link frame, m.
    pub centre: Vec3<f64>,
    /// Inertia tensor about the mass centre, in axes of the link frame, kg·m².
    ///
    /// A slender body keeps all digits of its smallest moment only if the axes of the link are along its own: written in other axes,
    /// that moment is a difference of larger entries, and the digits lost in rounding them cannot be recovered from the input.
    /// [`LinkSpec::set_turned`] takes a tensor in its own axes.
    pub tensor: Sym3<f64>,
}

impl Inertial {
    /// The moments about the origin of the link frame.
    pub fn moments(&self) -> RigidInertia<f64> {
        rounded(self.exact_moments())
    }

    /// The moments in double-double, before rounding. Second moments of a slender body are small differences of large moments of
    /// inertia, and a shift of the origin to a joint may cancel a shift to the link's origin: `f64` would lose the
    /// remaining digits.
    fn exact_moments(&self) -> RigidInertia<DoubleDouble> {
        self.exact_moments_with(Sym3::zero())
    }

    /// The moments in double-double, with `tensor_rest`, the part of the tensor lost in rounding.
    pub(super) fn exact_moments_with(&self, tensor_rest: Sym3<f64>) -> RigidInertia<DoubleDouble> {
        let tensor = self.tensor.lift() + tensor_rest.lift();
        RigidInertia::from_centre(self.mass.lift(), self.centre.lift(), tensor)
    }

    /// Mass properties from moments about the origin of the frame. A body without mass has its centre at the origin.
    pub fn from_moments(moments: RigidInertia<f64>) -> Self {
        let mass = moments.mass;
        let centre = if mass > 0.0 {
            moments.first * (1.0 / mass)
        } else {
            Vec3::zero()
        };
        let central = moments.second.add_scaled(Sym3::outer(centre), -mass);
        Inertial {
            mass,
            centre,
            tensor: central.trace_minus(),
        }
    }
}

/// A rotation whose columns are orthogonal unit vectors to twice the digits: R (3 − RᵀR)/2, with R from plain numbers.
pub(super) fn sharpened(rotation: Mat3<f64>) -> Mat3<DoubleDouble> {
    let r: Mat3<DoubleDouble> = rotation.lift();
    let half = DoubleDouble::from(0.5);
    let off = Mat3::identity() - r.transpose() * r;
    r + r * off * half
}

/// Moments rounded to plain numbers, each to its own last digit.
pub(super) fn rounded(moments: RigidInertia<DoubleDouble>) -> RigidInertia<f64> {
    RigidInertia {
        mass: moments.mass.value(),
        first: moments.first.map(DoubleDouble::value),
        second: moments.second.map(DoubleDouble::value),
    }
}

/// A link as the user named it.
#[derive(Clone, Debug, Default)]
pub struct LinkSpec {
    /// Name; `world` is reserved for the ground.
    pub name: String,
    /// Mass properties; none means a link without mass.
    pub inertial: Option<Inertial>,
    /// The part of the inertia tensor lost in rounding when it was rotated into the axes of the link; zero if it was given in them.
    pub tensor_rest: Sym3<f64>,
    /// Where it was defined.
    pub place: Place,
}

impl LinkSpec {
    /// Sets mass properties whose tensor is in its own axes; `axes` rotates them into those of the link. No digit is lost, not even
    /// for a slender body, whose smallest moment is a small difference of numbers in any other axes.
    pub fn set_turned(&mut self, inertial: Inertial, axes: Mat3<f64>) {
        let exact = inertial.tensor.lift().conjugate(sharpened(axes));
        let tensor = exact.map(DoubleDouble::value);
        self.inertial = Some(Inertial { tensor, ..inertial });
        self.tensor_rest = (exact - tensor.lift()).map(DoubleDouble::value);
    }
}

/// The axis of a joint, or the two axes of a universal joint, in the joint frame at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisPair {
    /// Axis of rotation or translation; normal of a planar joint; first axis (fixed in the parent) of a universal joint.
    pub first: Vec3<f64>,
    /// Second axis (fixed in the child) of a universal joint; ignored by other joints.
    pub second: Vec3<f64>,
}

impl Default for AxisPair {
    /// z; for a universal joint give both.
    fn default() -> Self {
        AxisPair {
            first: Vec3::new(0.0, 0.0, 1.0),
            second: Vec3::new(0.0, 1.0, 0.0),
        }
    }
}

/// Rotor inertia, passive forces and limits of one freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dof {
    /// Rotor inertia reflected to the joint, kg·m² (or kg): adds to the freedom's own inertia.
    pub armature: f64,
    /// Viscous friction, N·m·s/rad (or N·s/m).
    pub damping: f64,
    /// Coulomb friction, N·m (or N): friction · sign(v).
    pub friction: f64,
    /// Stiffness of a spring, N·m/rad (or N/m).
    pub stiffness: f64,
    /// Position at which the spring is relaxed.
    pub rest: f64,
    /// Lower and upper position limit. A simulation reports when it is passed, or enforces it: see
    /// [`Stop`](crate::simulate::Stop).
    pub limits: Option<(f64, f64)>,
    /// For an enforced limit: ratio of the speeds after and before an impact, 0 to 1.
    pub restitution: f64,
    /// For a soft limit: effort per unit of position beyond it, N·m/rad (or N/m); 0: it is rigid.
    pub stop_stiffness: f64,
    /// For a soft limit: effort per unit of velocity beyond it, N·m·s/rad (or N·s/m).
    pub stop_damping: f64,
    /// Largest speed; not enforced, a simulation reports when it is exceeded.
    pub max_velocity: Option<f64>,
    /// Largest effort of the joint's actuator.
    pub max_effort: Option<f64>,
}

/// A joint as the user named it.
#[derive(Clone, Debug)]
pub struct JointSpec {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: JointKind,
    /// Name of the parent link, or `world`.
    pub parent: String,
    /// Name of the child link.
    pub child: String,
    /// Joint frame in the parent's link frame.
    pub parent_from_joint: Pose<f64>,
    /// Child's link frame in the moved joint frame (identity in URDF).
    pub joint_from_child: Pose<f64>,
    /// Axis or axes, in the joint frame at rest.
    pub axes: AxisPair,
    /// Advance per radian of a helical joint, m/rad.
    pub pitch: f64,
    /// One entry per freedom, or none at all for a joint without rotor, passive forces and limits.
    pub dofs: Vec<Dof>,
    /// Initial position of the model, all coordinates of the joint; empty for the neutral one.
    pub start: Vec<f64>,
    /// Initial velocity of the model; empty for rest.
    pub start_velocity: Vec<f64>,
    /// Where it was defined.
    pub place: Place,
}

impl JointSpec {
    /// A joint at the parent's origin, about or along z, without rotor, friction or limits.
    pub fn new(name: &str, kind: JointKind, parent: &str, child: &str) -> Self {
        JointSpec {
            name: name.into(),
            kind,
            parent: parent.into(),
            child: child.into(),
            parent_from_joint: Pose::identity(),
            joint_from_child: Pose::identity(),
            axes: AxisPair::default(),
            pitch: 0.0,
            dofs: Vec::new(),
            start: Vec::new(),
            start_velocity: Vec::new(),
            place: Place::default(),
        }
    }
}

/// An additional frame on a link.
#[derive(Clone, Debug)]
pub struct FrameSpec {
    /// Name.
    pub name: String,
    /// Link it is fixed in, or `world`.
    pub link: String,
    /// Pose in the link frame.
    pub link_from_frame: Pose<f64>,
    /// Where it was defined.
    pub place: Place,
}

/// Pose of frame i+1 in frame i by Denavit–Hartenberg parameters as Saha uses them (classical, distal):
/// Rot_z(θ) Trans_z(b) Trans_x(a) Rot_x(α).
pub fn dh(a: f64, b: f64, alpha: f64, theta: f64) -> Pose<f64> {
    let (st, ct) = exact_sin_cos(theta);
    let (sa, ca) = exact_sin_cos(alpha);
    Pose::new(
        Mat3::rotation_z(st, ct).times_rotation_x(sa, ca),
        Vec3::new(a * ct, a * st, b),
    )
}

/// Pose of frame i in frame i−1 by modified (Craig's, proximal) parameters: Rot_x(α) Trans_x(a) Rot_z(θ) Trans_z(d).
pub fn modified_dh(a: f64, alpha: f64, d: f64, theta: f64) -> Pose<f64> {
    let (st, ct) = exact_sin_cos(theta);
    let (sa, ca) = exact_sin_cos(alpha);
    Pose::new(
        Mat3::rotation_x(sa, ca).times_rotation_z(st, ct),
        Vec3::new(a, -d * sa, d * ca),
    )
}

/// Sine and cosine with exact zeros and ones at multiples of a right angle.
pub(crate) fn exact_sin_cos(angle: f64) -> (f64, f64) {
    let quarter = angle / std::f64::consts::FRAC_PI_2;
    // beyond a million quarter turns a double no longer distinguishes a right angle from its neighbours
    if quarter.abs() < 1e6 && (quarter - quarter.round()).abs() < 1e-15 * quarter.abs().max(1.0) {
        match quarter.round().rem_euclid(4.0) as i64 {
            0 => (0.0, 1.0),
            1 => (1.0, 0.0),
            2 => (0.0, -1.0),
            _ => (-1.0, 0.0),
        }
    } else {
        elementary::sin_cos(angle)
    }
}

/// Name of the ground in model files.
pub(crate) const WORLD: &str = "world";
