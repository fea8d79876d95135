//! A floating tree renumbered from another of its bodies.
//!
//! A tree that floats has no preferred root. Saha's space robot is numbered from the body that carries the point E of t_e: for t_e to be
//! the twist of the hand, the hand is body #0 and the spacecraft the last body of the chain. The joints between the old root and the new
//! one have parent and child exchanged, and the free joint moves to the new root; bodies, joints and their motions stay the same.
//!
//! With T(q) the motion of a joint, child relative to parent, that of the exchanged joint is T(q')  = T(q)⁻¹:
//!
//! ```text
//! revolute, prismatic, helical, cylindrical   q' = q,  v' = v          about the opposite axis
//! universal                                   θ₁' = θ₂,  θ₂' = θ₁      about the opposite axes
//! spherical                                   R' = Rᵀ,  ω' = −R ω
//! free                                        x' = −Rᵀ x,  ẋ' = −Rᵀ ẋ − ω × x'
//! planar                                      as free, in the plane
//! ```
//!
//! Efforts have the same power: τ' = (∂v/∂v')ᵀ τ.

use super::{Kinematics, forward_kinematics};
use crate::algorithm::pendulum::quaternion_of;
use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Dof, ForceRule, FrameInfo, JointKind, JointSpec, Model, ModelBuilder, RuleSpec, SensorRule,
    reversed,
};
use crate::spatial::{Mat3, Pose, Vec3};
use crate::state::{Base, State, StateView};

/// A floating tree before and after another of its links became the root.
///
/// ```
/// use catena::algorithm::kinematics::Rerooted;
/// use catena::{Dynamics, State, model::embedded};
///
/// let robot = embedded::builder("space-robot")?;
/// let from_hand = Rerooted::new(&robot, "link6")?;
/// assert_eq!(from_hand.after().tree().bodies[1].name, "link6");
/// let state = State::random(from_hand.before(), 1);
/// let before = Dynamics::new(from_hand.before()).mechanical_state(&state)?.kinetic;
/// let after = Dynamics::new(from_hand.after()).mechanical_state(&from_hand.state(&state))?.kinetic;
/// assert!((after - before).abs() < 1e-12 * before);
/// # Ok::<(), catena::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rerooted {
    builder: ModelBuilder,
    exchanged: Vec<String>,
    before: Root,
    after: Root,
}

/// A model and the free joint of the tree in question.
#[derive(Clone, Debug)]
struct Root {
    model: Model,
    /// Name of the joint.
    joint: String,
    /// Its frame in the world at rest.
    world_from_joint: Pose<f64>,
    /// The body it carries, as a frame of the other model.
    seen: FrameInfo,
}

impl Rerooted {
    /// The tree that contains this link, with the link as its root. It must float: a free joint must join it to the ground.
    pub fn new(builder: &ModelBuilder, link: &str) -> Result<Self> {
        let before = builder.build()?;
        let (path, base) = path_to_base(builder, link)?;
        let free = &builder.joints[base];
        let mut made = builder.clone();
        let mut exchanged = Vec::new();
        for &joint in &path {
            let old = &builder.joints[joint];
            expect_no_data(old)?;
            made.joints[joint] = reversed(old);
            if old.kind != JointKind::Fixed {
                exchanged.push(old.name.clone());
            }
        }
        made.joints[base] = JointSpec {
            child: link.to_string(),
            joint_from_child: Pose::identity(),
            start: Vec::new(),
            start_velocity: Vec::new(),
            ..free.clone()
        };
        if !path.is_empty() {
            // afterwards the free joint has another child and other coordinates
            expect_no_data(free)?;
            expect_no_absolute_angles(builder, base)?;
            let turned: Vec<&JointSpec> = path
                .iter()
                .chain([&base])
                .map(|&joint| &builder.joints[joint])
                .collect();
            rename_coordinates(&mut made, &turned)?;
            expect_no_wrench_sensors(builder, &turned)?;
            made.assumptions.push(format!(
                "the tree is numbered from link `{link}`{}",
                match exchanged.is_empty() {
                    true => String::new(),
                    false => format!(": parent and child exchanged: {}", exchanged.join(", ")),
                }
            ));
        }
        let after = made.build()?;
        let mut rerooted = Rerooted {
            before: Root::new(&before, free, &after)?,
            after: Root::new(&after, &made.joints[base], &before)?,
            builder: made,
            exchanged,
        };
        rerooted.set_start()?;
        Ok(rerooted)
    }

    /// The links and joints, numbered from the new root.
    pub fn builder(&self) -> &ModelBuilder {
        &self.builder
    }

    /// The model numbered from the old root.
    pub fn before(&self) -> &Model {
        &self.before.model
    }

    /// The model numbered from the new root.
    pub fn after(&self) -> &Model {
        &self.after.model
    }

    /// Joints whose parent and child were exchanged, from the new root to the old one.
    pub fn exchanged(&self) -> &[String] {
        &self.exchanged
    }

    /// A state, expressed in coordinates of the model numbered from the new root.
    pub fn state(&self, state: &State) -> State {
        self.transferred(&self.before, &self.after, state)
    }

    /// Efforts in coordinates of the model numbered from the new root: they have the same power in every motion.
    pub fn efforts(&self, state: &State, tau: &[f64]) -> Vec<f64> {
        let mut unit = self.state(state);
        let mut efforts = Vec::new();
        for k in 0..unit.v.len() {
            unit.v.fill(0.0);
            unit.v[k] = 1.0;
            let rates = self.transferred(&self.after, &self.before, &unit).v;
            efforts.push(rates.iter().zip(tau).map(|(v, tau)| v * tau).sum());
        }
        efforts
    }

    /// Converts the initial state to the new root.
    fn set_start(&mut self) -> Result<()> {
        let start = State::start(&self.before.model);
        let start = self.state(&start).of_tree(&self.after.model);
        let tree = self.after.model.tree();
        for joint in &mut self.builder.joints {
            let is_new = joint.name == self.after.joint
                || self.exchanged.contains(&joint.name) && !joint.kind.keeps_coordinates();
            if let Some(body) = tree.bodies.iter().position(|body| body.joint == joint.name)
                && is_new
            {
                joint.start = start.q[tree.q_range(body)].to_vec();
                joint.start_velocity = start.v[tree.dof_range(body)].to_vec();
            }
        }
        self.after.model = self.builder.build()?;
        Ok(())
    }

    fn transferred(&self, from: &Root, to: &Root, state: &State) -> State {
        let full = state.of_tree(&from.model);
        let (source, target) = (from.model.tree(), to.model.tree());
        let (mut q, mut v) = (vec![0.0; target.nq], vec![0.0; target.nv]);
        for (i, body) in target.bodies.iter().enumerate().skip(1) {
            let (to_q, to_v) = (target.q_range(i), target.dof_range(i));
            if body.joint == to.joint {
                let (position, rates) = to.of_root(from, &full);
                q[to_q].copy_from_slice(&position);
                v[to_v].copy_from_slice(&rates);
                continue;
            }
            // the two models have the same joints
            let Some(k) = source.bodies.iter().position(|b| b.joint == body.joint) else {
                continue;
            };
            let mut position = full.q[source.q_range(k)].to_vec();
            let mut rates = full.v[source.dof_range(k)].to_vec();
            if self.exchanged.contains(&body.joint) {
                exchange(body.kind, &mut position, &mut rates);
            }
            q[to_q].copy_from_slice(&position);
            v[to_v].copy_from_slice(&rates);
        }
        let couplings = to.model.couplings();
        let pick = |places: &[usize], all: &[f64]| places.iter().map(|&k| all[k]).collect();
        State {
            q: couplings.map_or(q.clone(), |c| pick(c.positions(), &q)),
            v: couplings.map_or(v.clone(), |c| pick(c.freedoms(), &v)),
            base: state.base,
        }
    }
}

impl Root {
    fn new(model: &Model, joint: &JointSpec, other: &Model) -> Result<Self> {
        let link = other.tree().frame(&joint.child).ok_or_else(|| {
            Error::new(
                ErrorKind::Model,
                format!("link `{}` is not in both trees", joint.child),
            )
        })?;
        Ok(Root {
            model: model.clone(),
            joint: joint.name.clone(),
            world_from_joint: joint.parent_from_joint,
            seen: FrameInfo {
                name: link.name.clone(),
                body: link.body,
                body_from_frame: link.body_from_frame * joint.joint_from_child.inverse(),
            },
        })
    }

    /// Coordinates and rates of this root's free joint in a state of another model with the same links.
    fn of_root(&self, from: &Root, full: &State) -> ([f64; 7], [f64; 6]) {
        let mut work = Kinematics::new(&from.model);
        let still = vec![0.0; full.v.len()];
        // joint coordinates are relative to the ground, whatever its motion
        let view = StateView {
            q: &full.q,
            v: &full.v,
            base: &Base::fixed(),
        };
        forward_kinematics(&from.model, view, &still, &mut work);
        let pose = work.frame_pose(&self.seen);
        let velocity = work.frame_velocity(&self.seen);
        let placed = self.world_from_joint.inverse() * pose;
        let x = placed.translation;
        let [w, i, j, k] = quaternion_of(placed.rotation);
        let linear = self
            .world_from_joint
            .rotation
            .transpose_times(velocity.linear);
        let omega = pose.rotation.transpose_times(velocity.angular);
        (
            [x.x, x.y, x.z, w, i, j, k],
            [linear.x, linear.y, linear.z, omega.x, omega.y, omega.z],
        )
    }
}

/// Coordinates and rates of a joint with parent and child exchanged.
fn exchange(kind: JointKind, q: &mut [f64], v: &mut [f64]) {
    match kind {
        JointKind::Universal => {
            q.reverse();
            v.reverse();
        }
        JointKind::Spherical => {
            let rotation = Mat3::from_quaternion([q[0], q[1], q[2], q[3]]);
            let omega = -(rotation * Vec3::new(v[0], v[1], v[2]));
            for x in &mut q[1..] {
                *x = -*x;
            }
            v.copy_from_slice(&omega.to_array());
        }
        JointKind::Planar => {
            let (sin, cos) = elementary::sin_cos(q[2]);
            // −Rᵀ
            let back = |x: f64, y: f64| (-(cos * x + sin * y), sin * x - cos * y);
            let (x, y) = back(q[0], q[1]);
            let (vx, vy) = back(v[0], v[1]);
            q.copy_from_slice(&[x, y, -q[2]]);
            v.copy_from_slice(&[vx + v[2] * y, vy - v[2] * x, -v[2]]);
        }
        JointKind::Free => {
            let rotation = Mat3::from_quaternion([q[3], q[4], q[5], q[6]]);
            let omega = Vec3::new(v[3], v[4], v[5]);
            let x = -rotation.transpose_times(Vec3::new(q[0], q[1], q[2]));
            let rate = -rotation.transpose_times(Vec3::new(v[0], v[1], v[2])) - omega.cross(x);
            q[..3].copy_from_slice(&x.to_array());
            for x in &mut q[4..] {
                *x = -*x;
            }
            v[..3].copy_from_slice(&rate.to_array());
            v[3..].copy_from_slice(&(-(rotation * omega)).to_array());
        }
        JointKind::Fixed
        | JointKind::Revolute
        | JointKind::Continuous
        | JointKind::Prismatic
        | JointKind::Helical
        | JointKind::Cylindrical => {}
    }
}

/// The joints from a link up to, but not including, the free joint of its tree, and the free joint.
fn path_to_base(builder: &ModelBuilder, link: &str) -> Result<(Vec<usize>, usize)> {
    if !builder.links.iter().any(|known| known.name == link) {
        let names: Vec<&str> = builder.links.iter().map(|l| l.name.as_str()).collect();
        let shown = names
            .iter()
            .take(12)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        let more = if names.len() > 12 { ", …" } else { "" };
        return Err(Error::new(
            ErrorKind::Model,
            format!("there is no link `{link}` to number the tree from"),
        )
        .hint(format!("the links are {shown}{more}")));
    }
    let mut path = Vec::new();
    let mut at = link;
    // the builder has passed `build`: every link is the child of one joint, and there are no cycles
    while let Some(joint) = builder.joints.iter().position(|joint| joint.child == at) {
        at = &builder.joints[joint].parent;
        path.push(joint);
    }
    match path.pop() {
        Some(base) if builder.joints[base].kind == JointKind::Free => Ok((path, base)),
        Some(base) => Err(Error::new(
            ErrorKind::Model,
            format!(
                "the tree cannot be numbered from link `{link}`: {} joint `{}` joins it to the ground",
                builder.joints[base].kind, builder.joints[base].name
            ),
        )
        .hint("only a tree on a free joint has no preferred root; `--free-base` lets that of a file float")),
        None => Err(Error::new(
            ErrorKind::Model,
            format!("no joint carries link `{link}`"),
        )),
    }
}

/// Rejects rotors, springs, friction and limits along coordinates that an exchanged joint of several freedoms no longer has.
fn expect_no_data(joint: &JointSpec) -> Result<()> {
    let has_data = joint.dofs.iter().any(|dof| *dof != Dof::default());
    if joint.kind.keeps_coordinates() || !has_data {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "{} joint `{}` has rotors, springs, friction or limits along coordinates that it does not have when the tree is numbered from another link",
            joint.kind, joint.name
        ),
    )
    .at(joint.place.clone())
    .hint("choose a root on this side of the joint, or leave out its freedom data"))
}

/// A torsion spring measures its angle from the pose of its links at zero coordinates: between a link of this tree and anything outside it,
/// that depends on the root.
fn expect_no_absolute_angles(builder: &ModelBuilder, base: usize) -> Result<()> {
    let is_in_tree = |link: &str| {
        let mut at = link;
        let mut last = None;
        while let Some(joint) = builder.joints.iter().position(|joint| joint.child == at) {
            at = &builder.joints[joint].parent;
            last = Some(joint);
        }
        last == Some(base)
    };
    for force in &builder.forces {
        if let ForceRule::Torsion { parent, child, .. } = &force.rule
            && is_in_tree(parent) != is_in_tree(child)
        {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "torsion spring `{}` between `{parent}` and `{child}` has its zero where the free joint has it: it would change with the root",
                    force.name
                ),
            )
            .at(force.place.clone())
            .hint("leave the root where it is, or leave out the spring"));
        }
    }
    Ok(())
}

/// A sensor of a joint's wrench measures the wrench of the parent on the child: it changes sign where they are exchanged.
fn expect_no_wrench_sensors(builder: &ModelBuilder, exchanged: &[&JointSpec]) -> Result<()> {
    for sensor in &builder.sensors {
        if let SensorRule::ForceTorque { joint, .. } = &sensor.rule
            && exchanged.iter().any(|one| one.name == *joint)
        {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "sensor `{}` measures the wrench from parent to child of joint `{joint}`, which have other roles when the tree is numbered from another link",
                    sensor.name
                ),
            )
            .at(sensor.place.clone())
            .hint("choose a root on this side of the joint, or leave out the sensor"));
        }
    }
    Ok(())
}

/// Renames coordinates of exchanged joints in constraints and actuators.
fn rename_coordinates(builder: &mut ModelBuilder, exchanged: &[&JointSpec]) -> Result<()> {
    let renamed = |name: &mut String| -> Result<()> {
        for joint in exchanged {
            let Some(suffix) = name.strip_prefix(joint.name.as_str()) else {
                continue;
            };
            let other = match (joint.kind, suffix) {
                (JointKind::Universal, ".1") => ".2",
                (JointKind::Universal, ".2") => ".1",
                (kind, suffix) if !kind.keeps_coordinates() && suffix.starts_with('.') => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!(
                            "coordinate `{name}` is driven, coupled or actuated, and {kind} joint `{}` does not have it when the tree is numbered from another link",
                            joint.name
                        ),
                    ));
                }
                _ => continue,
            };
            *name = format!("{}{other}", joint.name);
            return Ok(());
        }
        Ok(())
    };
    for constraint in &mut builder.constraints {
        match &mut constraint.rule {
            RuleSpec::Coupling { terms, .. } | RuleSpec::Velocity { terms, .. } => {
                for (name, _) in terms {
                    renamed(name)?;
                }
            }
            RuleSpec::Driver { coordinate, .. } => renamed(coordinate)?,
            // these name links, whose frames do not change
            RuleSpec::Joint(_)
            | RuleSpec::Distance { .. }
            | RuleSpec::Contact(_)
            | RuleSpec::KnifeEdge { .. } => {}
        }
    }
    for actuator in &mut builder.actuators {
        renamed(&mut actuator.joint)?;
    }
    Ok(())
}
