//! Models with the same motions and fewer numbers: body frames along common normals, inertias regrouped, round-off set to zero.
//!
//! A body on a joint about or along z may have its frame rotated about z and shifted along z: both commute with the joint.
//! [`Model::reduced`] uses this to place x on the common normal of the joint's axis and the next one (Khalil and
//! Kleinfinger's modified DH frames): the placement of a joint then is Tx(a) Rx(α) Rz(θ) Tz(d), and the angle θ is absorbed into the
//! coordinate. The last body of a chain has no next axis: for dynamics its origin is on the common normal with the previous axis, and its
//! mass centre is in the xz plane.
//!
//! Part of a body's inertia moves with its parent, whatever the joint does. It is added to the parent
//! (Gautier and Khalil's base parameters, in second moments):
//!
//! ```text
//! revolute                        a mass distributed along the axis:  m, h_z, Σ_zz
//! prismatic                       every second moment: it rotates with the parent
//! helical, cylindrical, planar    Σ_zz
//! spherical, universal            a mass at the centre:  m
//! ```
//!
//! Force elements are not included: callers reject a model that has any ([`Model::expect_no_forces`]), or evaluate them
//! in the original frames. Inertia that reaches the ground is dropped. Efforts, accelerations and the inertia matrix
//! are unchanged; the single bodies are no longer physical (a chain of revolute joints has no masses at all), so that
//! energies, momenta and joint reactions must be computed from the original model.

use super::{BodyNumbers, JointKind, Model, Tree};
use crate::elementary;
use crate::scalar::Scalar;
use crate::spatial::{Mat3, Pose, RigidInertia, Sym3, Vec3};
use std::sync::Arc;

/// A model with the same motions as another one and fewer numbers.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The model, for coordinates q + `offset`.
    pub model: Model,
    /// Offsets to add to the positions of the original model.
    pub offset: Vec<f64>,
}

/// Whether the joint motion commutes with rotations about z and shifts along z.
fn is_axial(kind: JointKind) -> bool {
    matches!(
        kind,
        JointKind::Revolute
            | JointKind::Continuous
            | JointKind::Prismatic
            | JointKind::Helical
            | JointKind::Cylindrical
    )
}

/// One angle about z.
fn is_hinge(kind: JointKind) -> bool {
    matches!(kind, JointKind::Revolute | JointKind::Continuous)
}

/// Whether the first coordinate is an angle about z on which nothing else depends.
fn is_turning(kind: JointKind) -> bool {
    matches!(
        kind,
        JointKind::Revolute | JointKind::Continuous | JointKind::Cylindrical
    )
}

impl Model {
    /// Frames along common normals only: kinematics, Jacobians, energies and reactions are those of the model.
    ///
    /// `dust` is the tolerance of [`Model::swept`], which is done last.
    pub fn in_common_normal_frames(&self, dust: f64) -> Reduced {
        let (mut reduced, _) = self.aligned(false);
        reduced.model = reduced.model.swept(dust);
        reduced
    }

    /// Frames along common normals, and inertias regrouped: for inverse and forward dynamics, the inertia matrix and its factors,
    /// on a base that does not rotate.
    ///
    /// `dust` is the tolerance of [`Model::swept`], which is done between the two and at the end.
    pub fn reduced(&self, dust: f64) -> Reduced {
        let (mut reduced, _) = self.swept_frames(dust);
        reduced.model = reduced.model.regrouped().swept(dust);
        reduced
    }

    /// Frames along common normals, before inertias are regrouped, and the new body frames from the old ones.
    pub(super) fn swept_frames(&self, dust: f64) -> (Reduced, Vec<Pose<f64>>) {
        let (mut reduced, shift) = self.aligned(true);
        reduced.model = reduced.model.swept(dust);
        (reduced, shift)
    }

    /// New frames, with the angles they add to the coordinates, and new body frames from old ones. With `ground`, frames on the ground are rotated so
    /// that gravity is in the xz plane of a first joint, and joints on the ground are moved to its origin.
    fn aligned(&self, ground: bool) -> (Reduced, Vec<Pose<f64>>) {
        let n = self.body_count();
        let tree = &self.tree;
        // the child whose joint axis decides: the one that carries the most bodies
        let mut carried = vec![1usize; n + 1];
        let mut heir = vec![0usize; n + 1];
        for i in (1..=n).rev() {
            let parent = tree.parent(i);
            carried[parent] += carried[i];
            if heir[parent] == 0 || carried[i] >= carried[heir[parent]] {
                heir[parent] = i;
            }
        }
        // old body frame from new body frame, tips first: a shift along parallel axes is passed on towards the base
        let mut shift = vec![Pose::<f64>::identity(); n + 1];
        for i in (1..=n).rev() {
            if is_axial(tree.nodes[i].kind) && heir[i] != 0 {
                let child = heir[i];
                let placement = self.bodies[child].placement * shift[child];
                shift[i] = along_common_normal(placement, is_axial(tree.nodes[child].kind));
            } else if ground && heir[i] == 0 && is_hinge(tree.nodes[i].kind) {
                let parent = tree.nodes[i].parent;
                let has_axis = parent != 0 && is_axial(tree.nodes[parent].kind);
                shift[i] = at_tip(self.bodies[i].placement, has_axis, self.bodies[i].inertia);
            }
        }
        let mut model = self.clone().without_forces();
        let mut offset = vec![0.0; self.nq()];
        for i in 1..=n {
            let node = tree.nodes[i];
            let moved = shift[node.parent].inverse() * self.bodies[i].placement * shift[i];
            let mut placement = moved;
            if is_turning(node.kind) {
                // R = A Rz(θ), A without a rotation about z
                let mut a = without_turn(moved.rotation);
                if ground && node.parent == 0 {
                    let g = a.transpose_times(self.gravity);
                    if elementary::hypot(g.x, g.y) > 1e-12 * g.norm() {
                        a = a.times_rotation_z(
                            g.y / elementary::hypot(g.x, g.y),
                            g.x / elementary::hypot(g.x, g.y),
                        );
                    }
                }
                let turn = a.transpose() * moved.rotation;
                let angle = elementary::atan2(turn.x.y, turn.x.x);
                placement.rotation = a;
                offset[node.q] = angle;
                model.dofs[node.v].rest += angle;
            }
            if ground && node.parent == 0 {
                placement.translation = Vec3::zero();
            }
            let numbers = &mut model.bodies[i];
            numbers.placement = placement;
            numbers.inertia = numbers.inertia.seen_from(shift[i].inverse());
        }
        let tree = Arc::make_mut(&mut model.tree);
        for i in 1..=n {
            tree.bodies[i].body_from_link = shift[i].inverse() * tree.bodies[i].body_from_link;
        }
        let sensors = tree.sensors.iter_mut().map(|sensor| &mut sensor.frame);
        for frame in tree.frames.iter_mut().chain(sensors) {
            frame.body_from_frame = shift[frame.body].inverse() * frame.body_from_frame;
        }
        let shift = shift.iter().map(|shift| shift.inverse()).collect();
        (Reduced { model, offset }, shift)
    }

    /// Sets numbers that differ from 0, 1 or −1 by round-off to exactly that.
    ///
    /// Entries of rotations within `dust` of 0, ±1 become 0, ±1; lengths below `dust` times the sum of all lengths become 0.
    /// Masses, first and second moments below `dust` (1e-14 at most) times the largest of their kind become 0: light links may be intended.
    #[must_use]
    pub fn swept(mut self, dust: f64) -> Self {
        let length: f64 = self.bodies[1..]
            .iter()
            .map(|b| b.placement.translation.norm())
            .sum();
        let largest = |part: fn(&RigidInertia<f64>) -> f64| {
            let sizes = self.bodies[1..].iter().map(|b| part(&b.inertia));
            sizes.fold(0.0, f64::max)
        };
        let mass = largest(|m| m.mass.abs());
        let first = largest(|m| m.first.norm()).max(mass * length * 1e-3);
        let second = largest(|m| {
            let s = m.second;
            s.xx.abs().max(s.yy.abs()).max(s.zz.abs())
        });
        let below = |x: f64, limit: f64| if x.abs() <= limit { 0.0 } else { x };
        let swept = |x: f64, scale: f64| below(x, dust.min(1e-14) * scale);
        let unit = |x: f64| {
            if (x - x.round()).abs() <= dust {
                x.round() + 0.0
            } else {
                x
            }
        };
        for body in &mut self.bodies {
            let Pose {
                rotation: r,
                translation: t,
            } = body.placement;
            body.placement = Pose::new(
                Mat3::from_columns(r.x.map(unit), r.y.map(unit), r.z.map(unit)),
                t.map(|x| below(x, dust * length)),
            );
            let m = &mut body.inertia;
            m.mass = swept(m.mass, mass);
            m.first = m.first.map(|x| swept(x, first));
            let s = m.second;
            m.second = Sym3::new(
                swept(s.xx, second),
                swept(s.yy, second),
                swept(s.zz, second),
                swept(s.xy, second),
                swept(s.xz, second),
                swept(s.yz, second),
            );
        }
        self
    }
}

impl<S: Scalar> Model<S> {
    /// Inertias regrouped towards the ground (see the top of this file); the frames are unchanged.
    #[must_use]
    pub fn regrouped(mut self) -> Self {
        regroup(&self.tree, &mut self.bodies);
        self
    }
}

/// Inertias of the bodies of a tree regrouped towards the ground.
pub(super) fn regroup<S: Scalar>(tree: &Tree, bodies: &mut [BodyNumbers<S>]) {
    for i in (1..bodies.len()).rev() {
        let node = tree.nodes[i];
        let own = bodies[i].inertia;
        let (h, s) = (own.first, own.second);
        let zero = S::zero();
        let only_zz = Sym3::new(zero, zero, s.zz, zero, zero, zero);
        let mut given = RigidInertia::zero();
        match node.kind {
            JointKind::Revolute | JointKind::Continuous => {
                given.mass = own.mass;
                given.first = Vec3::new(zero, zero, h.z);
                given.second = only_zz;
            }
            JointKind::Prismatic => given.second = s,
            JointKind::Helical | JointKind::Cylindrical | JointKind::Planar => {
                given.second = only_zz;
            }
            JointKind::Spherical | JointKind::Universal => given.mass = own.mass,
            JointKind::Free | JointKind::Fixed => continue,
        }
        let kept = &mut bodies[i].inertia;
        kept.mass -= given.mass;
        kept.first -= given.first;
        kept.second = kept.second - given.second;
        if node.parent != 0 {
            let seen = given.seen_from(bodies[i].placement);
            let parent = &mut bodies[node.parent].inertia;
            *parent = *parent + seen;
        }
    }
}

/// The rotation about and shift along z that place x on the common normal of z and the joint at `child`, and the origin at its foot.
fn along_common_normal(child: Pose<f64>, has_axis: bool) -> Pose<f64> {
    let (p, u) = (child.translation, child.rotation.z);
    let sine = elementary::hypot(u.x, u.y);
    let reach = p.norm();
    let (x, y, foot) = if has_axis && sine > 1e-9 {
        // z × u, and the point of z nearest to the line p + s u
        let (x, y) = (-u.y / sine, u.x / sine);
        let along = (p.x * u.x + p.y * u.y) / (sine * sine);
        let a = p.x * x + p.y * y;
        let flip = if a < -1e-12 * reach { -1.0 } else { 1.0 };
        (x * flip, y * flip, p.z - along * u.z)
    } else {
        // parallel axes, or a joint without an axis: x towards its origin, at its height
        let across = elementary::hypot(p.x, p.y);
        if across <= 1e-12 * reach || across == 0.0 {
            (1.0, 0.0, p.z)
        } else {
            (p.x / across, p.y / across, p.z)
        }
    };
    Pose::new(Mat3::rotation_z(y, x), Vec3::new(0.0, 0.0, foot))
}

/// The rotation about and shift along z of a body at the end of a chain: to the foot of the common normal with the z axis of the frame
/// in which `placement` is given, if that belongs to a joint, and x towards the mass centre. If that is on the axis, a product of inertia
/// is made to vanish instead.
fn at_tip(placement: Pose<f64>, has_axis: bool, inertia: RigidInertia<f64>) -> Pose<f64> {
    let (p, u) = (placement.translation, placement.rotation.z);
    let sine = elementary::hypot(u.x, u.y);
    let foot = match has_axis && sine > 1e-9 {
        true => -(p.x * u.x + p.y * u.y) / (sine * sine),
        false => 0.0,
    };
    let (h, s) = (inertia.first, inertia.second);
    let across = elementary::hypot(h.x, h.y);
    let turn = if across > 1e-12 * h.norm() {
        Mat3::rotation_z(h.y / across, h.x / across)
    } else if s.xy.abs() > 1e-12 * (s.xx.abs() + s.yy.abs()) {
        let (sin, cos) = elementary::sin_cos(0.5 * elementary::atan2(2.0 * s.xy, s.xx - s.yy));
        Mat3::rotation_z(sin, cos)
    } else {
        Mat3::identity()
    };
    Pose::new(turn, Vec3::new(0.0, 0.0, foot))
}

/// Rz(ψ) Rx(α) with the z axis of `r`, x in the xy plane: a rotation without its last factor Rz.
fn without_turn(r: Mat3<f64>) -> Mat3<f64> {
    let u = r.z;
    let sine = elementary::hypot(u.x, u.y);
    if sine <= 1e-13 {
        return match u.z > 0.0 {
            true => Mat3::identity(),
            false => Mat3::rotation_x(0.0, -1.0),
        };
    }
    // x along ± z × u, the sign nearer to +x; α is the angle from z to u about x
    let sign = if u.y <= 0.0 { 1.0 } else { -1.0 };
    let (x, y) = (-u.y / sine * sign, u.x / sine * sign);
    Mat3::rotation_z(y, x).times_rotation_x(sine * sign, u.z)
}
