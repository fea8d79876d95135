//! From links and joints of a file to a tree of bodies with joints that close loops.

use super::File;
use super::frames::{Kind, WORLD};
use super::joint::{Connection, Gearbox, Joint};
use super::link::Link;
use crate::BaseOption;
use crate::element_tree::Node;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{
    ActuatorSpec, AxisPair, ConstraintSpec, Dof, ForceAxes, ForceRule, ForceSpec, FrameSpec,
    JointKind, JointSpec, LinkSpec, ModelBuilder, RuleSpec,
};
use catena::spatial::{Pose, Vec3};
use std::collections::{HashMap, HashSet};

/// Axes of a gearbox are parallel to those of its joints up to this.
const PARALLEL: f64 = 1e-9;

/// Fills the model.
pub(super) fn assemble(
    file: &mut File<'_>,
    links: &[Link],
    joints: &[Joint],
    builder: &mut ModelBuilder,
    base: Option<BaseOption>,
) -> Result<()> {
    let name = |frame| file.frames.name(frame);
    for link in links {
        let mut spec = LinkSpec {
            name: name(link.frame),
            place: file.frames.all[link.frame].node.place().clone(),
            ..LinkSpec::default()
        };
        link.mass.put(&mut spec);
        builder.links.push(spec);
    }
    let mut taken: HashSet<String> = joints.iter().map(|joint| name(joint.frame)).collect();
    let used: Vec<&Joint> = in_motion(file, joints);
    let mut made: Vec<JointSpec> = Vec::new();
    for joint in &used {
        if !matches!(joint.connection, Connection::Gearbox(_)) {
            made.extend(specs(file, joint, builder)?);
        }
    }
    builder.joints = ground(file, links, &made, builder, &mut taken, base)?;
    builder.joints.extend(made);
    let cut: Vec<String> = used
        .iter()
        .filter(|joint| joint.must_be_cut)
        .map(|joint| file.frames.name(joint.frame))
        .collect();
    let reversed = span(file, builder, &cut)?;
    for joint in &used {
        couplings(file, joint, &used, builder, &reversed)?;
    }
    actuators(builder);
    frames(file, builder);
    lift(file, links, builder);
    Ok(())
}

/// The joints that are not inside a static model.
fn in_motion<'j>(file: &mut File<'_>, joints: &'j [Joint]) -> Vec<&'j Joint> {
    let (still, moving): (Vec<&Joint>, Vec<&Joint>) = joints.iter().partition(|joint| {
        let scope = file.frames.all[joint.frame].scope;
        file.frames.scopes[scope].is_static
    });
    for _ in still {
        file.notes.without_effect("<joint> of static models".into());
    }
    moving
}

/// The joint of one kind, or the two joints with a link between them, that represent a joint of the file.
fn specs(file: &File<'_>, joint: &Joint, builder: &mut ModelBuilder) -> Result<Vec<JointSpec>> {
    let frames = &file.frames;
    let node = frames.all[joint.frame].node;
    let name = frames.name(joint.frame);
    let (parent, child) = (frames.moving(joint.parent), frames.moving(joint.child));
    if child == WORLD {
        let message = format!("{}: its child is fixed to the world", node.describe());
        let error = node.error(ErrorKind::Model, message);
        return Err(error.hint("exchange parent and child"));
    }
    if parent == child {
        let message = format!(
            "{} joins link `{}` to itself",
            node.describe(),
            frames.name(child)
        );
        return Err(node.error(ErrorKind::Model, message));
    }
    let kind = match joint.connection {
        Connection::Joint(kind) => kind,
        Connection::TwoHinges | Connection::Gearbox(_) => JointKind::Revolute,
    };
    let whole = JointSpec {
        parent_from_joint: frames.between(parent, joint.frame),
        joint_from_child: frames.between(joint.frame, child),
        axes: joint.axes,
        pitch: joint.pitch,
        dofs: joint.dofs.clone(),
        start: joint.start.clone(),
        place: node.place().clone(),
        ..JointSpec::new(&name, kind, &frames.name(parent), &frames.name(child))
    };
    if !matches!(joint.connection, Connection::TwoHinges) {
        return Ok(vec![whole]);
    }
    if joint.must_be_cut {
        let message = format!(
            "{} cannot close a loop: its axes are not orthogonal",
            node.describe()
        );
        let error = node.error(ErrorKind::Unsupported, message);
        return Err(error.hint("let another joint of the loop close it"));
    }
    let between = format!("{name}.between");
    builder.links.push(LinkSpec {
        name: between.clone(),
        place: whole.place.clone(),
        ..LinkSpec::default()
    });
    let of = |k: usize, values: &[f64]| values.get(k..=k).map(<[f64]>::to_vec).unwrap_or_default();
    let dof = |k: usize| {
        joint
            .dofs
            .get(k..=k)
            .map(<[Dof]>::to_vec)
            .unwrap_or_default()
    };
    let first = JointSpec {
        name: format!("{name}.1"),
        child: between.clone(),
        joint_from_child: Pose::identity(),
        dofs: dof(0),
        start: of(0, &joint.start),
        ..whole.clone()
    };
    let second = JointSpec {
        name: format!("{name}.2"),
        parent: between,
        parent_from_joint: Pose::identity(),
        axes: AxisPair {
            first: joint.axes.second,
            ..AxisPair::default()
        },
        dofs: dof(1),
        start: of(1, &joint.start),
        ..whole
    };
    Ok(vec![first, second])
}

/// Joints to the ground: fixed ones of static models, and free ones (or fixed ones, if requested) of all links that no joint connects
/// to the ground.
fn ground(
    file: &File<'_>,
    links: &[Link],
    joints: &[JointSpec],
    builder: &mut ModelBuilder,
    taken: &mut HashSet<String>,
    base: Option<BaseOption>,
) -> Result<Vec<JointSpec>> {
    let frames = &file.frames;
    let to_world = |frame: usize, kind: JointKind, name: &str| JointSpec {
        place: frames.all[frame].node.place().clone(),
        ..JointSpec::new(name, kind, "world", &frames.name(frame))
    };
    let mut grounded = Vec::new();
    let mut islands = Islands::default();
    for joint in joints {
        islands.join(&joint.parent, &joint.child);
    }
    for link in links {
        let scope = frames.all[link.frame].scope;
        if frames.scopes[scope].is_static {
            let name = frames.name(link.frame);
            islands.join("world", &name);
            let joint = unused(&format!("{name}_fixed"), taken);
            grounded.push(JointSpec {
                parent_from_joint: frames.between(WORLD, link.frame),
                ..to_world(link.frame, JointKind::Fixed, &joint)
            });
        }
    }
    let ground = islands.of("world");
    let carried: HashSet<&str> = joints.iter().map(|joint| &joint.child[..]).collect();
    // of the connected links, the first that is not the child of any joint is the root, otherwise the first
    let mut roots: Vec<usize> = Vec::new();
    let mut reached = HashSet::from([ground]);
    for is_root in [true, false] {
        for link in links {
            let name = frames.name(link.frame);
            let island = islands.of(&name);
            let can_be = !is_root || !carried.contains(&name[..]);
            if can_be && reached.insert(island) {
                roots.push(link.frame);
            }
        }
    }
    if let (true, Some(BaseOption::Free), Some(joint)) = (
        roots.is_empty(),
        base,
        joints.iter().find(|joint| joint.parent == "world"),
    ) {
        let message = format!(
            "the base cannot be free: joint `{}` joins link `{}` to the ground",
            joint.name, joint.child
        );
        return Err(Error::new(ErrorKind::Model, message)
            .at(joint.place.clone())
            .hint("leave that joint out, or keep the base fixed"));
    }
    let many = roots.len() > 1;
    for root in roots {
        let link = frames.name(root);
        let name = match many {
            true => unused(&format!("{link}_joint"), taken),
            false => unused("root_joint", taken),
        };
        let at = frames.between(WORLD, root);
        let fixed = base == Some(BaseOption::Fixed);
        let kind = match fixed {
            true => JointKind::Fixed,
            false => JointKind::Free,
        };
        let mut joint = to_world(root, kind, &name);
        if fixed {
            joint.parent_from_joint = at;
        } else if at != Pose::identity() {
            joint.start = at.translation.to_array().to_vec();
            joint.start.extend(at.rotation.to_quaternion());
        }
        builder.assumptions.push(format!(
            "root link `{link}` is joined to the ground by a {kind} joint (`{name}` was added)"
        ));
        grounded.push(joint);
    }
    Ok(grounded)
}

/// Sets of connected links.
#[derive(Default)]
struct Islands {
    index: HashMap<String, usize>,
    parent: Vec<usize>,
}

impl Islands {
    fn of(&mut self, name: &str) -> usize {
        let mut at = match self.index.get(name) {
            Some(&index) => index,
            None => {
                let index = self.parent.len();
                self.index.insert(name.into(), index);
                self.parent.push(index);
                index
            }
        };
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, one: &str, other: &str) {
        let (one, other) = (self.of(one), self.of(other));
        self.parent[one] = other;
    }
}

fn unused(wish: &str, taken: &mut HashSet<String>) -> String {
    let mut name = String::from(wish);
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{wish}_{number}");
        number += 1;
    }
    name
}

/// Whether this freedom has a force of its own.
fn acts(dof: &Dof) -> bool {
    dof.damping != 0.0 || dof.friction != 0.0 || dof.stiffness != 0.0
}

/// Chooses the joints that carry links, unless every link is already carried by exactly one; the others close loops. Returns the names
/// of those whose parent and child were exchanged.
fn span(
    file: &mut File<'_>,
    builder: &mut ModelBuilder,
    cut: &[String],
) -> Result<HashSet<String>> {
    let mut carried: HashMap<&str, usize> = HashMap::new();
    for joint in &builder.joints {
        *carried.entry(&joint.child).or_default() += 1;
    }
    let once = |link: &LinkSpec| carried.get(&link.name[..]) == Some(&1);
    if cut.is_empty() && builder.links.iter().all(once) {
        return Ok(HashSet::new());
    }
    if !cut.is_empty() && cut_marked(builder, cut) {
        return without_forces(file, builder).map(|()| HashSet::new());
    }
    // limits alone are no reason to keep a joint in the tree
    let mut limits: HashMap<String, Vec<Dof>> = HashMap::new();
    for joint in &mut builder.joints {
        if !joint.dofs.iter().any(acts) {
            limits.insert(joint.name.clone(), std::mem::take(&mut joint.dofs));
        }
    }
    let cut: Vec<&str> = cut.iter().map(|name| &name[..]).collect();
    let chosen = builder.span(&cut)?;
    let reversed: HashSet<String> = chosen.reversed.into_iter().collect();
    for joint in &mut builder.joints {
        if let Some(mut dofs) = limits.remove(&joint.name) {
            if joint.kind == JointKind::Universal && reversed.contains(&joint.name) {
                dofs.reverse();
            }
            joint.dofs = dofs;
        }
    }
    // the remaining ones close loops
    for constraint in &mut builder.constraints {
        if let RuleSpec::Joint(joint) = &mut constraint.rule
            && let Some(dofs) = limits.remove(&joint.name)
        {
            joint.dofs = dofs;
        }
    }
    without_forces(file, builder)?;
    Ok(reversed)
}

/// Makes the joints that the file marks close loops, if the others carry every link once.
fn cut_marked(builder: &mut ModelBuilder, cut: &[String]) -> bool {
    let is_marked = |joint: &JointSpec| cut.contains(&joint.name);
    let rest = builder.joints.iter().filter(|joint| !is_marked(joint));
    let mut carried: HashSet<&str> = HashSet::new();
    if !rest
        .map(|joint| &joint.child[..])
        .all(|child| carried.insert(child))
        || carried.len() != builder.links.len()
    {
        return false;
    }
    let (marked, tree): (Vec<_>, Vec<_>) = std::mem::take(&mut builder.joints)
        .into_iter()
        .partition(is_marked);
    builder.assumptions.push(format!(
        "joints that close loops were cut: {}",
        cut.join(", ")
    ));
    builder.joints = tree;
    builder
        .constraints
        .extend(marked.into_iter().map(ConstraintSpec::joint));
    true
}

/// Drops the limits and rejects the forces of joints that close loops: these have no coordinates.
fn without_forces(file: &mut File<'_>, builder: &mut ModelBuilder) -> Result<()> {
    for constraint in &mut builder.constraints {
        let RuleSpec::Joint(joint) = &mut constraint.rule else {
            continue;
        };
        if joint.dofs.iter().any(acts) {
            let message = format!(
                "joint `{}` closes a loop and has damping, friction or a spring, for which it has no coordinate",
                joint.name
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .at(joint.place.clone())
                .hint("let another joint of the loop close it: <physics><simbody><must_be_loop_joint>true"));
        }
        let dofs = std::mem::take(&mut joint.dofs);
        if dofs.iter().any(|dof| dof.limits.is_some()) {
            file.notes.cut_limits.push(joint.name.clone());
        }
    }
    Ok(())
}

/// Adds the constraints between coordinates: of `<mimic>`, and of a gearbox.
fn couplings(
    file: &File<'_>,
    joint: &Joint,
    all: &[&Joint],
    builder: &mut ModelBuilder,
    reversed: &HashSet<String>,
) -> Result<()> {
    let name = file.frames.name(joint.frame);
    let node = file.frames.all[joint.frame].node;
    let push = |builder: &mut ModelBuilder, name: String, terms, offset| {
        builder.constraints.push(ConstraintSpec {
            name,
            rule: RuleSpec::Coupling { terms, offset },
            place: node.place().clone(),
        });
    };
    if let Connection::Gearbox(gearbox) = &joint.connection {
        let terms = gear_terms(file, joint, gearbox, all, builder, node)?;
        push(builder, name, terms, 0.0);
        return Ok(());
    }
    for mimic in &joint.mimics {
        let (leader, of) = mimic.leader;
        let Some(leader) = all.iter().find(|other| other.frame == leader) else {
            let message = format!("{} follows a joint that does not move", node.describe());
            return Err(node.error(ErrorKind::Model, message));
        };
        let own = coordinate(file, joint, mimic.axis, builder, reversed)?;
        let mut terms = vec![(own.clone(), 1.0)];
        if mimic.multiplier != 0.0 {
            let other = coordinate(file, leader, of, builder, reversed)?;
            terms.push((other, -mimic.multiplier));
        }
        push(builder, format!("{own}_mimic"), terms, mimic.offset);
    }
    Ok(())
}

/// Coordinates that follow others have no actuator of their own.
fn actuators(builder: &mut ModelBuilder) {
    let followers: HashSet<&str> = builder
        .constraints
        .iter()
        .filter_map(|constraint| match &constraint.rule {
            RuleSpec::Coupling { terms, .. } => terms.first().map(|(follower, _)| &follower[..]),
            _ => None,
        })
        .collect();
    if followers.is_empty() {
        return; // all joints have one
    }
    let plain = |joint: &&JointSpec| joint.kind.quaternion().is_none();
    let coordinates = builder.joints.iter().filter(plain).flat_map(|joint| {
        let freedoms = joint.kind.freedoms().iter();
        freedoms.map(|(suffix, _)| format!("{}{suffix}", joint.name))
    });
    builder.actuators = coordinates
        .filter(|name| !followers.contains(&name[..]))
        .map(|name| ActuatorSpec::new(&name, &name))
        .collect();
}

/// Name of the coordinate of one of the axes of a joint.
fn coordinate(
    file: &File<'_>,
    joint: &Joint,
    axis: usize,
    builder: &ModelBuilder,
    reversed: &HashSet<String>,
) -> Result<String> {
    let name = file.frames.name(joint.frame);
    let node = file.frames.all[joint.frame].node;
    let axes = match joint.connection {
        Connection::Joint(JointKind::Fixed | JointKind::Spherical) | Connection::Gearbox(_) => 0,
        Connection::Joint(JointKind::Universal) | Connection::TwoHinges => 2,
        Connection::Joint(_) => 1,
    };
    if axis >= axes {
        let what = if axis == 0 { "axis" } else { "second axis" };
        let message = format!("{} has no {what} that can be coupled", node.describe());
        return Err(node.error(ErrorKind::Model, message));
    }
    let exchanged = usize::from(axes == 2 && reversed.contains(&name));
    let coordinate = match axes {
        1 => name.clone(),
        _ => format!("{name}.{}", 1 + (axis ^ exchanged)),
    };
    let in_tree = |spec: &JointSpec| spec.name == name || spec.name == coordinate;
    if !builder.joints.iter().any(in_tree) {
        let message = format!(
            "{} closes a loop and has no coordinate that can be coupled",
            node.describe()
        );
        return Err(node.error(ErrorKind::Unsupported, message).hint(
            "let another joint of the loop close it: <physics><simbody><must_be_loop_joint>true",
        ));
    }
    Ok(coordinate)
}

/// The angles of parent and child relative to the reference body as terms: child + ratio · parent = 0.
fn gear_terms(
    file: &File<'_>,
    joint: &Joint,
    gearbox: &Gearbox,
    all: &[&Joint],
    builder: &ModelBuilder,
    node: Node<'_>,
) -> Result<Vec<(String, f64)>> {
    let frames = &file.frames;
    let reference = frames.moving(gearbox.reference);
    let mut terms = Vec::new();
    for (end, axis, factor) in [
        (joint.child, joint.axes.second, 1.0),
        (joint.parent, joint.axes.first, gearbox.ratio),
    ] {
        let body = frames.moving(end);
        let mut found = None;
        for other in all {
            let turns = matches!(
                other.connection,
                Connection::Joint(JointKind::Revolute | JointKind::Continuous)
            );
            let ends = (frames.moving(other.parent), frames.moving(other.child));
            // the angle is that of the body relative to the reference
            let sense = match ends {
                _ if !turns => continue,
                ends if ends == (reference, body) => 1.0,
                ends if ends == (body, reference) => -1.0,
                _ => continue,
            };
            let turned = frames.between(joint.frame, other.frame).rotation;
            let own = turned * other.axes.first;
            let cosine = own.dot(axis) / (own.norm() * axis.norm());
            found = Some((*other, sense * cosine.signum(), cosine.abs()));
        }
        let Some((other, sign, cosine)) = found else {
            let message = format!(
                "{}: no revolute joint joins its reference body and link `{}`",
                node.describe(),
                frames.name(body)
            );
            let error = node.error(ErrorKind::Unsupported, message);
            return Err(error.hint("a gearbox couples the angles of two such joints"));
        };
        if 1.0 - cosine > PARALLEL {
            let message = format!(
                "{}: its axis is not that of joint `{}`",
                node.describe(),
                frames.name(other.frame)
            );
            return Err(node.error(ErrorKind::Unsupported, message));
        }
        let name = frames.name(other.frame);
        if !builder.joints.iter().any(|spec| spec.name == name) {
            let message = format!(
                "{}: joint `{name}` closes a loop and has no angle that can be coupled",
                node.describe()
            );
            return Err(node.error(ErrorKind::Unsupported, message).hint(
                "let another joint of the loop close it: <physics><simbody><must_be_loop_joint>true",
            ));
        }
        terms.push((name, sign * factor));
    }
    Ok(terms)
}

/// `<frame>` on the links they are attached to.
fn frames(file: &File<'_>, builder: &mut ModelBuilder) {
    for (index, frame) in file.frames.all.iter().enumerate() {
        if frame.kind != Kind::Frame {
            continue;
        }
        let link = file.frames.moving(index);
        builder.frames.push(FrameSpec {
            name: file.frames.name(index),
            link: file.frames.name(link),
            link_from_frame: file.frames.between(link, index),
            place: frame.node.place().clone(),
        });
    }
}

/// Adds a constant force at the mass centre of every link without gravity, against its weight.
fn lift(file: &File<'_>, links: &[Link], builder: &mut ModelBuilder) {
    let mut still: HashSet<String> = HashSet::from(["world".into()]);
    // until no more links are found to be fixed to the ground
    loop {
        let before = still.len();
        for joint in &builder.joints {
            if joint.kind == JointKind::Fixed && still.contains(&joint.parent) {
                still.insert(joint.child.clone());
            }
        }
        if still.len() == before {
            break;
        }
    }
    for link in links {
        let name = file.frames.name(link.frame);
        let force = builder.gravity * -link.mass.mass;
        if link.gravity || force == Vec3::zero() || still.contains(&name) {
            continue;
        }
        builder.forces.push(ForceSpec {
            name: format!("{name}_gravcomp"),
            rule: ForceRule::Constant {
                link: name,
                point: link.mass.at.translation,
                force,
                torque: Vec3::zero(),
                axes: ForceAxes::World,
            },
            place: file.frames.all[link.frame].node.place().clone(),
        });
    }
}
