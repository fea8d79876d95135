//! `<joint>`: kind, axes, friction, springs and limits.

use super::frames::Kind;
use super::values::{any_number, attribute, flag, number, number_or, only, text, vector};
use super::{File, schema};
use crate::element_tree::Node;
use crate::nearest::advice;
use catena::error::{ErrorKind, Result};
use catena::model::{AxisPair, Dof, JointKind};
use catena::spatial::Vec3;
use std::f64::consts::PI;

/// Limits of at least this size count as none.
const NO_LIMIT: f64 = 1e16;
/// Axes of universal joints closer to a right angle than this cosine are orthogonal, as for the model's builder.
const ORTHOGONAL: f64 = 1e-6;

/// Relative motion that it permits.
pub(super) enum Connection {
    /// As a joint of one kind.
    Joint(JointKind),
    /// Two successive rotations about axes that are not orthogonal.
    TwoHinges,
    /// The angles of two other joints are in a ratio.
    Gearbox(Gearbox),
}

/// Parent and child turn relative to a third body: angle of the child = −ratio · angle of the parent.
pub(super) struct Gearbox {
    pub(super) ratio: f64,
    /// The frame of the third body.
    pub(super) reference: usize,
}

/// A coordinate that follows another one: multiplier · leader + offset.
pub(super) struct Mimic {
    /// Which of the joint's own axes.
    pub(super) axis: usize,
    /// The frame of the joint that leads, and which of its axes.
    pub(super) leader: (usize, usize),
    pub(super) multiplier: f64,
    pub(super) offset: f64,
}

/// A joint.
pub(super) struct Joint {
    /// Its frame.
    pub(super) frame: usize,
    pub(super) connection: Connection,
    /// The frames it joins.
    pub(super) parent: usize,
    pub(super) child: usize,
    /// The axes in the frame of the joint.
    pub(super) axes: AxisPair,
    pub(super) pitch: f64,
    /// One for each axis; empty if none specifies anything.
    pub(super) dofs: Vec<Dof>,
    /// Positions to start from; empty for zero.
    pub(super) start: Vec<f64>,
    pub(super) mimics: Vec<Mimic>,
    /// Whether it closes a loop in any case.
    pub(super) must_be_cut: bool,
}

/// An axis of a joint, in the frame of the joint.
struct Axis {
    direction: Vec3<f64>,
    dof: Dof,
    start: f64,
    mimic: Option<Mimic>,
}

const TYPES: [&str; 9] = [
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "ball",
    "universal",
    "revolute2",
    "screw",
    "gearbox",
];

/// Reads a joint.
pub(super) fn read(file: &mut File<'_>, frame: usize) -> Result<Joint> {
    let node = file.frames.all[frame].node;
    file.check(node)?;
    let word = attribute(node, "type")?;
    let kind = match word {
        "fixed" => JointKind::Fixed,
        "revolute" => JointKind::Revolute,
        "continuous" => JointKind::Continuous,
        "prismatic" => JointKind::Prismatic,
        "ball" => JointKind::Spherical,
        "universal" | "revolute2" | "gearbox" => JointKind::Universal,
        "screw" => JointKind::Helical,
        _ => {
            let message = format!("{} has the unknown type `{word}`", node.describe());
            let error = node.error(ErrorKind::Syntax, message);
            return Err(error.hint(advice(word, &TYPES)));
        }
    };
    let (parent, child) = (
        file.frames.end(frame, "parent")?,
        file.frames.end(frame, "child")?,
    );
    let must_be_cut = physics(file, node)?;
    let mut joint = Joint {
        frame,
        connection: Connection::Joint(kind),
        parent,
        child,
        axes: AxisPair::default(),
        pitch: 0.0,
        dofs: Vec::new(),
        start: Vec::new(),
        mimics: Vec::new(),
        must_be_cut,
    };
    match kind {
        JointKind::Fixed | JointKind::Spherical => joint.without_axes(file, node)?,
        JointKind::Universal => joint.two_axes(file, node)?,
        _ => joint.one_axis(file, node)?,
    }
    match word {
        "screw" => joint.pitch = pitch(node)?,
        "gearbox" => joint.gearbox(file, node)?,
        _ => {}
    }
    Ok(joint)
}

impl Joint {
    /// Reads the axes that a file gives a fixed or ball joint, which has no coordinate along them.
    fn without_axes(&mut self, file: &mut File<'_>, node: Node<'_>) -> Result<()> {
        for tag in ["axis", "axis2"] {
            let Some(element) = only(node, tag)? else {
                continue;
            };
            let axis = axis(file, element, self.frame, 0)?;
            let dof = axis.dof;
            let acts = dof.damping != 0.0 || dof.friction != 0.0 || dof.stiffness != 0.0;
            let turns = matches!(self.connection, Connection::Joint(JointKind::Spherical));
            if acts && turns {
                let what = format!(
                    "<dynamics> of {}: SDFormat does not say how damping, friction and springs act in a ball joint",
                    node.describe()
                );
                file.ignored.or_refuse("ball_dynamics", element, what)?;
            }
            if axis.mimic.is_some() && turns {
                let message = format!("<mimic> of {}: a ball joint has no axis", node.describe());
                return Err(element.error(ErrorKind::Model, message));
            }
            let kind = if turns { "ball" } else { "fixed" };
            file.notes
                .without_effect(format!("<{tag}> of {kind} joints"));
        }
        Ok(())
    }

    fn one_axis(&mut self, file: &mut File<'_>, node: Node<'_>) -> Result<()> {
        let Some(element) = only(node, "axis")? else {
            let message = format!("{} has no <axis>", node.describe());
            let error = node.error(ErrorKind::Syntax, message);
            return Err(error.hint("give its direction: <axis><xyz>0 0 1</xyz></axis>"));
        };
        if node.first("axis2").is_some() {
            file.notes
                .without_effect("<axis2> of joints with one axis".into());
        }
        let axis = axis(file, element, self.frame, 0)?;
        self.axes.first = axis.direction;
        self.take(vec![axis]);
        if matches!(self.connection, Connection::Joint(JointKind::Continuous)) {
            self.dofs.iter_mut().for_each(|dof| dof.limits = None);
        }
        Ok(())
    }

    fn two_axes(&mut self, file: &mut File<'_>, node: Node<'_>) -> Result<()> {
        let mut axes = Vec::new();
        for (k, tag) in ["axis", "axis2"].into_iter().enumerate() {
            let Some(element) = only(node, tag)? else {
                let message = format!("{} has no <{tag}>", node.describe());
                return Err(node.error(ErrorKind::Syntax, message));
            };
            axes.push(axis(file, element, self.frame, k)?);
        }
        let unit = |axis: Vec3<f64>| axis * (1.0 / axis.norm());
        let [first, second] = [unit(axes[0].direction), unit(axes[1].direction)];
        self.axes = AxisPair { first, second };
        if first.dot(second).abs() > ORTHOGONAL {
            self.connection = Connection::TwoHinges;
        }
        self.take(axes);
        Ok(())
    }

    /// Freedom data of the axes.
    fn take(&mut self, axes: Vec<Axis>) {
        if axes.iter().any(|axis| axis.dof != Dof::default()) {
            self.dofs = axes.iter().map(|axis| axis.dof).collect();
        }
        if axes.iter().any(|axis| axis.start != 0.0) {
            self.start = axes.iter().map(|axis| axis.start).collect();
        }
        self.mimics = axes.into_iter().filter_map(|axis| axis.mimic).collect();
    }

    fn gearbox(&mut self, file: &File<'_>, node: Node<'_>) -> Result<()> {
        let name = text(node, "gearbox_reference_body")?;
        let scope = file.frames.all[self.frame].scope;
        let reference = match name {
            "world" => super::frames::WORLD,
            _ => file
                .frames
                .find(scope, name, node, "to be its reference body")?,
        };
        if !self.dofs.is_empty() || !self.mimics.is_empty() {
            let message = format!("{} has <dynamics>, <limit> or <mimic>", node.describe());
            let error = node.error(ErrorKind::Unsupported, message);
            return Err(error.hint("give them to the joints that it couples"));
        }
        self.connection = Connection::Gearbox(Gearbox {
            ratio: number_or(node, "gearbox_ratio", 1.0)?,
            reference,
        });
        Ok(())
    }
}

/// Advance of a screw in metres per radian. `thread_pitch`, the older element, is in radians per metre, positive for a left-handed
/// thread; `screw_thread_pitch` in metres per revolution, positive for a right-handed one.
fn pitch(node: Node<'_>) -> Result<f64> {
    if let Some(pitch) = number(node, "screw_thread_pitch")? {
        return Ok(pitch / (2.0 * PI));
    }
    match number(node, "thread_pitch")? {
        Some(pitch) if (1.0 / pitch).is_finite() => Ok(-1.0 / pitch),
        Some(_) => {
            let message = format!(
                "<thread_pitch> of {} is zero: it would not turn",
                node.describe()
            );
            let error = node.error(ErrorKind::Model, message);
            Err(error
                .hint("it is in radians per metre; <screw_thread_pitch> is in metres per turn"))
        }
        None => {
            let message = format!("{} has no <screw_thread_pitch>", node.describe());
            let error = node.error(ErrorKind::Syntax, message);
            Err(error.hint("give its advance in metres per turn"))
        }
    }
}

/// Settings of a joint for the engines of Gazebo. Returns whether it closes a loop.
fn physics(file: &mut File<'_>, node: Node<'_>) -> Result<bool> {
    let Some(physics) = only(node, "physics")? else {
        return Ok(false);
    };
    if let Some(ode) = only(physics, "ode")? {
        let motor = [
            number_or(ode, "max_force", 0.0)?,
            number_or(ode, "velocity", 0.0)?,
        ];
        if motor.iter().all(|number| *number != 0.0) {
            let what = format!(
                "{} is driven by ODE's <max_force> and <velocity>, which is not supported",
                node.describe()
            );
            file.ignored.or_refuse("motor", ode, what)?;
        }
    }
    if physics.children().any(|engine| engine.tag() != "simbody") {
        file.notes.without_effect("<physics> of joints".into());
    }
    match only(physics, "simbody")? {
        Some(simbody) => Ok(flag(simbody, "must_be_loop_joint")? == Some(true)),
        None => Ok(false),
    }
}

/// Reads `<axis>` or `<axis2>`.
fn axis(file: &mut File<'_>, element: Node<'_>, frame: usize, own: usize) -> Result<Axis> {
    file.check(element)?;
    let scope = file.frames.all[frame].scope;
    let mut direction = Vec3::new(0.0, 0.0, 1.0);
    let mut expressed_in = frame;
    if let Some(xyz) = only(element, "xyz")? {
        schema::check(xyz, file.ignored.unknown(), &mut file.notes)?;
        direction = vector(element, "xyz")?.unwrap_or(direction);
        let length = direction.norm();
        if !(length.is_finite() && length > 1e-12) {
            return Err(super::values::error(xyz, "has no direction"));
        }
        if let Some(name) = xyz
            .attribute("expressed_in")
            .filter(|name| !name.is_empty())
        {
            expressed_in = file.frames.find(scope, name, xyz, "to express it in")?;
        }
    }
    let in_model = flag(element, "use_parent_model_frame")?;
    let version = file.frames.scopes[scope].version;
    if in_model.unwrap_or(version.has_axes_of_the_model()) {
        expressed_in = file.frames.scopes[scope].frame;
    }
    if expressed_in != frame {
        direction = file.frames.between(frame, expressed_in).rotation * direction;
    }
    Ok(Axis {
        direction,
        dof: freedom(file, element)?,
        start: number_or(element, "initial_position", 0.0)?,
        mimic: mimic(file, element, scope, own)?,
    })
}

/// `<dynamics>` and `<limit>` of an axis.
fn freedom(file: &mut File<'_>, axis: Node<'_>) -> Result<Dof> {
    let mut dof = Dof::default();
    if let Some(dynamics) = only(axis, "dynamics")? {
        file.check(dynamics)?;
        dof.damping = number_or(dynamics, "damping", 0.0)?;
        dof.friction = number_or(dynamics, "friction", 0.0)?;
        dof.stiffness = number_or(dynamics, "spring_stiffness", 0.0)?;
        if dof.stiffness != 0.0 {
            dof.rest = number_or(dynamics, "spring_reference", 0.0)?;
        }
    }
    if let Some(limit) = only(axis, "limit")? {
        file.check(limit)?;
        let bound = |tag, none: f64| {
            let number = any_number(limit, tag)?.unwrap_or(none);
            Ok(if number.abs() >= NO_LIMIT {
                none
            } else {
                number
            })
        };
        let (lower, upper) = (
            bound("lower", f64::NEG_INFINITY)?,
            bound("upper", f64::INFINITY)?,
        );
        if lower > upper {
            let message = format!("{}: <lower> is above <upper>", limit.describe());
            return Err(limit.error(ErrorKind::Model, message));
        }
        if lower.is_finite() || upper.is_finite() {
            dof.limits = Some((lower, upper));
        }
        // a negative number is no limit
        let most = |tag| {
            let number = any_number(limit, tag)?;
            Ok(number.filter(|most| *most >= 0.0 && *most < NO_LIMIT))
        };
        dof.max_effort = most("effort")?;
        dof.max_velocity = most("velocity")?;
        let soft = [
            any_number(limit, "stiffness")?,
            any_number(limit, "dissipation")?,
        ];
        if soft.iter().any(Option::is_some) {
            file.notes.soft_stops += 1;
        }
    }
    Ok(dof)
}

/// `<mimic>` of an axis: follower = multiplier · (leader − reference) + offset.
fn mimic(file: &mut File<'_>, axis: Node<'_>, scope: usize, own: usize) -> Result<Option<Mimic>> {
    let Some(mimic) = only(axis, "mimic")? else {
        return Ok(None);
    };
    file.check(mimic)?;
    let name = attribute(mimic, "joint")?;
    let leader = file.frames.find(scope, name, mimic, "to follow")?;
    if file.frames.all[leader].kind != Kind::Joint {
        let message = format!("{}: `{name}` is not a joint", mimic.describe());
        return Err(mimic.error(ErrorKind::Model, message));
    }
    let of = match mimic.attribute("axis").unwrap_or("axis") {
        "axis" | "" => 0,
        "axis2" => 1,
        other => {
            let message = format!("`axis` of {} is not known: \"{other}\"", mimic.describe());
            let error = mimic.error(ErrorKind::Syntax, message);
            return Err(error.hint(advice(other, &["axis", "axis2"])));
        }
    };
    let multiplier = number_or(mimic, "multiplier", 1.0)?;
    let reference = number_or(mimic, "reference", 0.0)?;
    let offset = number_or(mimic, "offset", 0.0)?;
    Ok(Some(Mimic {
        axis: own,
        leader: (leader, of),
        multiplier,
        offset: offset - multiplier * reference,
    }))
}
