//! From named links and joints to a [`Model`].

use super::builder::ModelBuilder;
use super::constraint::{Closure, Constraint, ConstraintSpec, Coordinate, Rule, RuleSpec};
use super::force::Places;
use super::frame::FrameInfo;
use super::specs::{Inertial, JointSpec, WORLD, rounded, sharpened};
use super::tree::{BodyInfo, DofInfo, Node, Tree};
use super::{BodyNumbers, DofNumbers, JointKind, Model, check};
use crate::error::{Error, ErrorKind, Place, Result, Warning};
use crate::scalar::DoubleDouble;
use crate::spatial::{Mat3, Pose, RigidInertia, Sym3, Vec3};
use std::collections::HashMap;
use std::sync::Arc;

impl ModelBuilder {
    /// The model, after all checks that need no state of it: [`build`](Self::build) makes the others. Couplings are not eliminated yet.
    pub(crate) fn assembled(&self) -> Result<Model> {
        check::names(self)?;
        check::numbers(self)?;
        let order = check::tree_order(self)?;
        let mut making = Making::new(self);
        for &joint in &order {
            making.add(&self.joints[joint])?;
        }
        making.actuators(self)?;
        let constraints = making.constraints(self)?;
        let places = making.places();
        let forces = self.forces.iter().map(|spec| spec.resolve(&places));
        let forces = forces.collect::<Result<_>>()?;
        let mut model = making.finish(self)?;
        model.constraints = constraints;
        model.forces = forces;
        if model.body_count() == 0 {
            let warning = Warning {
                message: format!(
                    "nothing can move: model `{}` has no joint that is not fixed; `--free-base` lets it float",
                    self.name
                ),
                place: Place::default(),
            };
            if self.strict {
                return Err(Error::new(ErrorKind::Model, warning.message));
            }
            model.warn(warning);
        }
        Ok(model)
    }
}

/// The model under construction.
struct Making {
    /// Body and pose in it of every link placed so far.
    at: HashMap<String, (usize, Pose<f64>)>,
    /// Mass properties, with the parts of the tensors lost in rounding.
    inertials: HashMap<String, (Inertial, Sym3<f64>)>,
    tree: Tree,
    bodies: Vec<BodyNumbers<f64>>,
    /// Moments of every body, summed over its links and not rounded yet.
    moments: Vec<RigidInertia<DoubleDouble>>,
    dofs: Vec<DofNumbers<f64>>,
}

impl Making {
    fn new(builder: &ModelBuilder) -> Self {
        let ground = BodyInfo {
            name: WORLD.into(),
            merged: Vec::new(),
            joint: String::new(),
            kind: JointKind::Fixed,
            parent: 0,
            q: 0,
            v: 0,
            body_from_link: Pose::identity(),
            place: Place::default(),
        };
        let node = Node {
            kind: JointKind::Fixed,
            gathers: false,
            parent: 0,
            q: 0,
            v: 0,
            angle: 0,
        };
        let tree = Tree {
            name: builder.name.clone(),
            bodies: vec![ground],
            nodes: vec![node],
            dofs: Vec::new(),
            frames: vec![FrameInfo {
                name: WORLD.into(),
                body: 0,
                body_from_frame: Pose::identity(),
            }],
            actuators: Vec::new(),
            sensors: Vec::new(),
            assumptions: builder.assumptions.clone(),
            warnings: builder.warnings.clone(),
            start: Vec::new(),
            start_velocity: Vec::new(),
            nq: 0,
            nv: 0,
            angles: Vec::new(),
            has_passive_forces: false,
            has_rotors: false,
            is_chain: true,
        };
        Making {
            at: HashMap::from([(WORLD.into(), (0, Pose::identity()))]),
            inertials: builder
                .links
                .iter()
                .filter_map(|l| l.inertial.map(|i| (l.name.clone(), (i, l.tensor_rest))))
                .collect(),
            tree,
            bodies: vec![BodyNumbers {
                placement: Pose::identity(),
                inertia: RigidInertia::zero(),
                pitch: 0.0,
            }],
            moments: vec![RigidInertia::zero()],
            dofs: Vec::new(),
        }
    }

    /// Assigns actuators to their freedoms, and adds their rotors.
    fn actuators(&mut self, builder: &ModelBuilder) -> Result<()> {
        for spec in &builder.actuators {
            let actuator = spec.resolve(&self.tree, &self.tree.actuators)?;
            let rotor = actuator.gear * actuator.gear * actuator.rotor_inertia;
            self.dofs[actuator.freedom].armature += rotor;
            self.tree.has_rotors |= rotor != 0.0;
            self.tree.actuators.push(actuator);
        }
        Ok(())
    }

    fn note(&mut self, text: String) {
        self.tree.assumptions.push(text);
    }

    fn add(&mut self, joint: &JointSpec) -> Result<()> {
        let (parent, parent_body_from_link) = self.at[&joint.parent];
        let body_from_joint = parent_body_from_link * joint.parent_from_joint;
        let (body, body_from_child) = if joint.kind == JointKind::Fixed {
            let body_from_child = body_from_joint * joint.joint_from_child;
            self.merge(joint, parent);
            (parent, body_from_child)
        } else {
            let axes = self.joint_axes(joint)?;
            let body = self.moving_body(joint, parent, body_from_joint * axes);
            (body, axes.inverse() * joint.joint_from_child)
        };
        if body == parent && body == 0 {
            if self
                .inertials
                .get(&joint.child)
                .is_some_and(|(inertial, _)| inertial.mass > 0.0)
            {
                self.note(format!(
                    "mass of link `{}` has no effect and is not counted: it is fixed to the ground",
                    joint.child
                ));
            }
        } else if let Some((inertial, rest)) = self.inertials.get(&joint.child) {
            let there = Pose::new(
                sharpened(body_from_child.rotation),
                body_from_child.translation.lift(),
            );
            let moments = inertial.exact_moments_with(*rest).seen_from(there);
            self.moments[body] = self.moments[body] + moments;
        }
        if joint.kind != JointKind::Fixed {
            self.tree.bodies[body].body_from_link = body_from_child;
        }
        self.at.insert(joint.child.clone(), (body, body_from_child));
        self.tree.frames.push(FrameInfo {
            name: joint.child.clone(),
            body,
            body_from_frame: body_from_child,
        });
        Ok(())
    }

    fn merge(&mut self, joint: &JointSpec, into: usize) {
        self.tree.bodies[into].merged.push(joint.child.clone());
        let name = self.tree.bodies[into].name.clone();
        self.note(format!(
            "link `{}` is fixed to `{name}` (joint `{}`): one body",
            joint.child, joint.name
        ));
    }

    /// Rotation that takes z (for a universal joint: x and z) to the joint's axis (axes).
    fn joint_axes(&mut self, joint: &JointSpec) -> Result<Pose<f64>> {
        if !joint.kind.has_axis() {
            return Ok(Pose::identity());
        }
        let rotation = if joint.kind == JointKind::Universal {
            let first = self.unit(joint, joint.axes.first, "axis")?;
            let second = self.unit(joint, joint.axes.second, "second axis")?;
            let skewness = first.dot(second);
            if skewness.abs() > 1e-6 {
                return Err(Error::new(
                    ErrorKind::Model,
                    format!(
                        "universal joint `{}`: its axes are not orthogonal (cosine {skewness:.3e})",
                        joint.name
                    ),
                )
                .at(joint.place.clone())
                .hint("give two orthogonal axes; a skew pair is two revolute joints"));
            }
            let across = second.cross(first);
            let y = across * (1.0 / across.norm()); // orthogonal unit vectors: no overflow or underflow
            Mat3::from_columns(first, y, first.cross(y))
        } else {
            let axis = self.unit(joint, joint.axes.first, "axis")?;
            turn_z_to(axis)
        };
        Ok(Pose::new(rotation, Vec3::zero()))
    }

    fn unit(&mut self, joint: &JointSpec, axis: Vec3<f64>, what: &str) -> Result<Vec3<f64>> {
        let length = axis.norm();
        // NaN and infinite components were rejected before
        let Some(unit) = axis.unit().filter(|_| length >= 1e-12) else {
            return Err(Error::new(
                ErrorKind::Model,
                format!("joint `{}`: its {what} has zero length", joint.name),
            )
            .at(joint.place.clone())
            .hint("give a direction, for example [0, 0, 1]"));
        };
        if (length - 1.0).abs() > 1e-9 {
            self.note(format!(
                "{what} of joint `{}` was normalised (its length was {length})",
                joint.name
            ));
        }
        Ok(unit)
    }

    fn moving_body(&mut self, joint: &JointSpec, parent: usize, placement: Pose<f64>) -> usize {
        let body = self.bodies.len();
        let tree = &mut self.tree;
        tree.bodies.push(BodyInfo {
            name: joint.child.clone(),
            merged: Vec::new(),
            joint: joint.name.clone(),
            kind: joint.kind,
            parent,
            q: tree.nq,
            v: tree.nv,
            body_from_link: Pose::identity(),
            place: joint.place.clone(),
        });
        tree.is_chain &= parent + 1 == tree.nodes.len();
        tree.nodes.push(Node {
            kind: joint.kind,
            gathers: false,
            parent,
            q: tree.nq,
            v: tree.nv,
            angle: tree.angles.len(),
        });
        tree.angles
            .extend(joint.kind.angles().iter().map(|k| tree.nq + k));
        tree.start.extend(match &joint.start[..] {
            [] => joint.kind.neutral(),
            given => given.to_vec(),
        });
        tree.start_velocity.extend(match &joint.start_velocity[..] {
            [] => vec![0.0; joint.kind.nv()],
            given => given.to_vec(),
        });
        tree.nq += joint.kind.nq();
        tree.nv += joint.kind.nv();
        self.bodies.push(BodyNumbers {
            placement,
            inertia: RigidInertia::zero(),
            pitch: joint.pitch,
        });
        self.moments.push(RigidInertia::zero());
        for (k, &(suffix, rotation)) in joint.kind.freedoms().iter().enumerate() {
            let dof = joint.dofs.get(k).copied().unwrap_or_default();
            let (velocity_unit, force_unit) = if rotation {
                ("rad/s", "N·m")
            } else {
                ("m/s", "N")
            };
            tree.dofs.push(DofInfo {
                body,
                name: format!("{}{suffix}", joint.name),
                velocity_unit,
                force_unit,
                limits: dof.limits,
                restitution: dof.restitution,
                stop_stiffness: dof.stop_stiffness,
                stop_damping: dof.stop_damping,
                max_velocity: dof.max_velocity,
                max_effort: dof.max_effort,
            });
            tree.has_passive_forces |=
                dof.damping != 0.0 || dof.friction != 0.0 || dof.stiffness != 0.0;
            tree.has_rotors |= dof.armature != 0.0;
            self.dofs.push(DofNumbers {
                armature: dof.armature,
                damping: dof.damping,
                friction: dof.friction,
                stiffness: dof.stiffness,
                rest: dof.rest,
            });
        }
        body
    }

    fn finish(mut self, builder: &ModelBuilder) -> Result<Model> {
        for frame in &builder.frames {
            let (body, body_from_link) = self.at[&frame.link];
            self.tree.frames.push(FrameInfo {
                name: frame.name.clone(),
                body,
                body_from_frame: body_from_link * frame.link_from_frame,
            });
        }
        for spec in &builder.sensors {
            let sensor = spec.resolve(&self.tree, &self.tree.sensors)?;
            self.tree.sensors.push(sensor);
        }
        for body in 1..self.tree.nodes.len() {
            let parent = self.tree.nodes[body].parent;
            if parent + 1 != body {
                self.tree.nodes[parent].gathers = true;
            }
        }
        let as_read = builder
            .joints
            .iter()
            .filter(|j| j.kind != JointKind::Fixed)
            .map(|j| &j.name);
        let as_numbered = self.tree.bodies[1..].iter().map(|b| &b.joint);
        if !as_read.eq(as_numbered) {
            let first: Vec<&str> = self.tree.bodies[1..]
                .iter()
                .take(12)
                .map(|b| b.joint.as_str())
                .collect();
            let more = if self.tree.bodies.len() > 13 {
                ", …"
            } else {
                ""
            };
            self.note(format!(
                "coordinates follow the tree branch by branch, not the order of the file: {}{more}",
                first.join(", ")
            ));
        }
        for link in &builder.links {
            match check::unphysical_inertia(link) {
                None => {}
                Some(message) if builder.allow_unphysical => {
                    self.note(format!("accepted on request: {message}"));
                }
                Some(message) => self.tree.warnings.push(Warning {
                    message,
                    place: link.place.clone(),
                }),
            }
        }
        for (body, moments) in self.bodies.iter_mut().zip(&self.moments) {
            body.inertia = rounded(*moments);
        }
        Ok(Model {
            tree: Arc::new(self.tree),
            bodies: self.bodies,
            dofs: self.dofs,
            gravity: builder.gravity,
            constraints: Vec::new(),
            couplings: None,
            forces: Vec::new(),
        })
    }

    /// Where the links are in the zero position.
    fn places(&self) -> Places<'_> {
        let mut rotations = vec![Mat3::identity(); self.bodies.len()];
        for body in 1..self.bodies.len() {
            let parent = self.tree.nodes[body].parent;
            rotations[body] = rotations[parent] * self.bodies[body].placement.rotation;
        }
        Places {
            links: &self.at,
            rotations,
        }
    }

    /// The constraints, with names resolved to numbers.
    fn constraints(&mut self, builder: &ModelBuilder) -> Result<Vec<Constraint>> {
        let mut constraints: Vec<Constraint> = Vec::new();
        let mut said = check::Said::default();
        for spec in &builder.constraints {
            let rule = match &spec.rule {
                RuleSpec::Joint(joint) => {
                    let axes = self.joint_axes(joint)?;
                    Rule::Joint(self.closure(
                        (joint.kind, joint.pitch),
                        (&joint.parent, joint.parent_from_joint * axes),
                        (&joint.child, joint.joint_from_child.inverse() * axes),
                    ))
                }
                RuleSpec::Distance {
                    parent,
                    child,
                    parent_point,
                    child_point,
                    length,
                } => Rule::Distance {
                    between: self.closure(
                        (JointKind::Free, 0.0),
                        (parent, Pose::shift(*parent_point)),
                        (child, Pose::shift(*child_point)),
                    ),
                    length: *length,
                },
                RuleSpec::Coupling { terms, offset } => Rule::Coupling {
                    terms: terms
                        .iter()
                        .map(|(name, c)| Ok((self.coordinate(spec, name)?, *c)))
                        .collect::<Result<_>>()?,
                    offset: *offset,
                },
                RuleSpec::Driver { coordinate, law } => Rule::Driver {
                    coordinate: self.coordinate(spec, coordinate)?,
                    law: law.clone(),
                },
                RuleSpec::Contact(contact) => Rule::Contact {
                    surface: contact.surface,
                    between: self.closure(
                        (JointKind::Free, 0.0),
                        (&contact.parent, frame(contact.origin, contact.normal)),
                        (
                            &contact.child,
                            frame(contact.centre, contact.axis.unwrap_or(UP)),
                        ),
                    ),
                    wheel: contact.axis.is_some(),
                    radius: contact.radius,
                    rolls: contact.rolls,
                },
                RuleSpec::KnifeEdge {
                    parent,
                    child,
                    point,
                    across,
                } => Rule::KnifeEdge {
                    between: self.closure(
                        (JointKind::Free, 0.0),
                        (parent, Pose::identity()),
                        (child, frame(*point, *across)),
                    ),
                },
                RuleSpec::Velocity { terms, rate } => Rule::Velocity {
                    terms: terms
                        .iter()
                        .map(|(name, c)| Ok((self.freedom(spec, name)?, *c)))
                        .collect::<Result<_>>()?,
                    rate: *rate,
                },
            };
            let constraint = Constraint {
                name: spec.name.as_str().into(),
                rule,
                place: spec.place.clone(),
            };
            check::constraint(&self.tree, &constraint, &mut said)?;
            constraints.push(constraint);
        }
        Ok(constraints)
    }

    fn closure(
        &self,
        (kind, pitch): (JointKind, f64),
        (parent, parent_link_from_joint): (&str, Pose<f64>),
        (child, child_link_from_joint): (&str, Pose<f64>),
    ) -> Closure {
        let (parent, parent_from_link) = self.at[parent];
        let (child, child_from_link) = self.at[child];
        Closure {
            kind,
            parent,
            child,
            parent_from_joint: parent_from_link * parent_link_from_joint,
            child_from_joint: child_from_link * child_link_from_joint,
            pitch,
        }
    }

    /// The freedom with this name.
    fn freedom(&self, spec: &ConstraintSpec, name: &str) -> Result<usize> {
        let found = self.tree.dofs.iter().position(|dof| dof.name == name);
        found.ok_or_else(|| check::no_coordinate(&self.tree, spec, name))
    }

    /// The scalar coordinate (not part of a quaternion) with this name.
    fn coordinate(&self, spec: &ConstraintSpec, name: &str) -> Result<Coordinate> {
        let tree = &self.tree;
        let v = self.freedom(spec, name)?;
        let body = &tree.bodies[tree.dofs[v].body];
        let k = v - body.v;
        if body.kind.quaternion().is_some_and(|first| k >= first) {
            return Err(Error::new(
                ErrorKind::Model,
                format!(
                    "constraint `{}`: `{name}` is a turning rate of a {} joint, whose position is a quaternion, not a coordinate",
                    spec.name, body.kind
                ),
            )
            .at(spec.place.clone())
            .hint("couple or drive coordinates that are angles or lengths"));
        }
        Ok(Coordinate { q: body.q + k, v })
    }
}

const UP: Vec3<f64> = Vec3 {
    x: 0.0,
    y: 0.0,
    z: 1.0,
};

/// A frame with its origin here and z along a direction, which was checked.
fn frame(origin: Vec3<f64>, direction: Vec3<f64>) -> Pose<f64> {
    let rotation = match direction.unit() {
        Some(direction) => turn_z_to(direction),
        None => Mat3::identity(),
    };
    Pose::new(rotation, origin)
}

/// A rotation that takes z to this unit vector: the smallest one for axes in the upper half space; for the lower half a half turn
/// about x comes first, so that no digits cancel in 1 + z.
fn turn_z_to(axis: Vec3<f64>) -> Mat3<f64> {
    if axis.z < 0.0 {
        let up = turn_z_to(-axis);
        return Mat3::from_columns(up.x, -up.y, -up.z);
    }
    let (x, y, z) = (axis.x, axis.y, axis.z);
    let k = 1.0 / (1.0 + z);
    Mat3::from_rows([
        [1.0 - x * x * k, -x * y * k, x],
        [-x * y * k, 1.0 - y * y * k, y],
        [-x, -y, z],
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Axes close to −z once lost half their digits.
    #[test]
    fn axes_become_rotations_in_every_direction() {
        let mut random = Random::new(3);
        for k in 0..2000 {
            let tilt = 10f64.powf(random.uniform(-12.0, 0.2));
            let turn = random.uniform(0.0, 6.3);
            let sign = if k % 2 == 0 { -1.0 } else { 1.0 };
            let axis = Vec3::new(tilt * turn.cos(), tilt * turn.sin(), sign);
            let axis = axis * (1.0 / axis.norm());
            let r = turn_z_to(axis);
            let error = r.transpose() * r - Mat3::identity();
            for column in [error.x, error.y, error.z, r.z - axis] {
                assert!(column.norm() < 1e-15, "{axis:?}");
            }
            assert!(r.x.cross(r.y).dot(r.z) > 0.0);
        }
    }
}
