//! The kinds of joints and their coordinates.

use std::fmt;
use std::str::FromStr;

/// The kinds of joints.
///
/// | kind | positions | velocities |
/// |---|---|---|
/// | fixed | – | – |
/// | revolute, continuous | θ about the axis | θ̇ |
/// | prismatic | s along the axis | ṡ |
/// | helical | θ about the axis; s = pitch · θ | θ̇ |
/// | cylindrical | θ about, s along the axis | θ̇, ṡ |
/// | universal | θ₁ about the first axis (fixed in the parent), θ₂ about the second (fixed in the child) | θ̇₁, θ̇₂ |
/// | spherical | unit quaternion (w, x, y, z), child → joint frame | ω relative to the parent, child axes |
/// | planar | x, y in the plane, then θ about its normal | ẋ, ẏ, θ̇ |
/// | free | x, y, z of the child's origin, then its quaternion | ẋ, ẏ, ż in joint axes, then ω relative, child axes |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JointKind {
    /// No motion; the two links become one body.
    Fixed,
    /// Rotation about an axis.
    Revolute,
    /// Rotation about an axis without limits.
    Continuous,
    /// Translation along an axis.
    Prismatic,
    /// Screw motion.
    Helical,
    /// Independent rotation about and translation along one axis.
    Cylindrical,
    /// Rotations about two orthogonal axes, one fixed in each body.
    Universal,
    /// Any rotation about a point.
    Spherical,
    /// Two translations in a plane and the rotation about its normal.
    Planar,
    /// No constraint: six freedoms.
    Free,
}

impl JointKind {
    /// Every kind.
    pub const ALL: [JointKind; 10] = [
        JointKind::Fixed,
        JointKind::Revolute,
        JointKind::Continuous,
        JointKind::Prismatic,
        JointKind::Helical,
        JointKind::Cylindrical,
        JointKind::Universal,
        JointKind::Spherical,
        JointKind::Planar,
        JointKind::Free,
    ];

    /// The name used in model files.
    pub fn name(self) -> &'static str {
        match self {
            JointKind::Fixed => "fixed",
            JointKind::Revolute => "revolute",
            JointKind::Continuous => "continuous",
            JointKind::Prismatic => "prismatic",
            JointKind::Helical => "helical",
            JointKind::Cylindrical => "cylindrical",
            JointKind::Universal => "universal",
            JointKind::Spherical => "spherical",
            JointKind::Planar => "planar",
            JointKind::Free => "free",
        }
    }

    /// Number of velocity coordinates.
    #[inline(always)]
    pub fn nv(self) -> usize {
        match self {
            JointKind::Fixed => 0,
            JointKind::Revolute
            | JointKind::Continuous
            | JointKind::Prismatic
            | JointKind::Helical => 1,
            JointKind::Cylindrical | JointKind::Universal => 2,
            JointKind::Spherical | JointKind::Planar => 3,
            JointKind::Free => 6,
        }
    }

    /// Number of position coordinates.
    #[inline(always)]
    pub fn nq(self) -> usize {
        match self {
            JointKind::Spherical => 4,
            JointKind::Free => 7,
            other => other.nv(),
        }
    }

    /// Which of the position coordinates are angles.
    pub(crate) fn angles(self) -> &'static [usize] {
        match self {
            JointKind::Revolute
            | JointKind::Continuous
            | JointKind::Helical
            | JointKind::Cylindrical => &[0],
            JointKind::Universal => &[0, 1],
            JointKind::Planar => &[2],
            JointKind::Fixed | JointKind::Prismatic | JointKind::Spherical | JointKind::Free => &[],
        }
    }

    /// Index of the quaternion among the position coordinates, if there is one.
    pub fn quaternion(self) -> Option<usize> {
        match self {
            JointKind::Spherical => Some(0),
            JointKind::Free => Some(3),
            _ => None,
        }
    }

    /// Whether its coordinates keep their values when parent and child are exchanged.
    pub(crate) fn keeps_coordinates(self) -> bool {
        !matches!(
            self,
            JointKind::Spherical | JointKind::Planar | JointKind::Free
        )
    }

    /// The neutral position: coordinates zero, the quaternion at identity.
    pub fn neutral(self) -> Vec<f64> {
        let mut q = vec![0.0; self.nq()];
        if let Some(k) = self.quaternion() {
            q[k] = 1.0;
        }
        q
    }

    /// For each velocity coordinate: suffix of its name, and whether it is a rotation.
    pub fn freedoms(self) -> &'static [(&'static str, bool)] {
        match self {
            JointKind::Fixed => &[],
            JointKind::Revolute | JointKind::Continuous | JointKind::Helical => &[("", true)],
            JointKind::Prismatic => &[("", false)],
            JointKind::Cylindrical => &[(".angle", true), (".slide", false)],
            JointKind::Universal => &[(".1", true), (".2", true)],
            JointKind::Spherical => &[(".wx", true), (".wy", true), (".wz", true)],
            JointKind::Planar => &[(".x", false), (".y", false), (".angle", true)],
            JointKind::Free => &[
                (".x", false),
                (".y", false),
                (".z", false),
                (".wx", true),
                (".wy", true),
                (".wz", true),
            ],
        }
    }

    /// Whether the joint has an axis.
    pub fn has_axis(self) -> bool {
        !matches!(
            self,
            JointKind::Fixed | JointKind::Spherical | JointKind::Free
        )
    }
}

impl fmt::Display for JointKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for JointKind {
    type Err = ();
    fn from_str(name: &str) -> Result<Self, ()> {
        JointKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or(())
    }
}
