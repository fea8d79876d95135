//! The checks a model passes before any number is computed from it.

use super::builder::{JointSpec, LinkSpec, ModelBuilder, WORLD};
use super::constraint::{Constraint, ConstraintSpec, ContactSpec, Rule, RuleSpec, Surface};
use super::{JointKind, Law, Model, Tree};
use crate::algorithm::factorization::Factorization;
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::residual::{largest, within};
use crate::scalar::DoubleDouble;
use crate::spatial::{Mat3, Pose, Vec3};
use crate::state::State;
use crate::text::is_hidden;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

fn model_error(place: &Place, message: String) -> Error {
    Error::new(ErrorKind::Model, message).at(place.clone())
}

/// Names and assumptions are lines of text: they appear in messages, tables and comments of generated code.
fn texts(builder: &ModelBuilder) -> Result<()> {
    let nowhere = Place::default();
    let links = builder.links.iter().map(|l| (&l.place, "link", &l.name));
    let joints = builder.joints.iter().map(|j| (&j.place, "joint", &j.name));
    let frames = builder.frames.iter().map(|f| (&f.place, "frame", &f.name));
    let constraints = builder.constraints.iter();
    let constraints = constraints.map(|c| (&c.place, "constraint", &c.name));
    let actuators = builder.actuators.iter();
    let actuators = actuators.map(|a| (&a.place, "actuator", &a.name));
    let names = links.chain(joints).chain(frames);
    let forces = builder.forces.iter().map(|f| (&f.place, "force", &f.name));
    let sensors = builder
        .sensors
        .iter()
        .map(|s| (&s.place, "sensor", &s.name));
    let names = names.chain(constraints).chain(actuators);
    let names = names.chain(forces).chain(sensors);
    for (place, what, name) in std::iter::once((&nowhere, "model", &builder.name)).chain(names) {
        if let Some(c) = name.chars().find(|c| is_hidden(*c)) {
            let message = format!(
                "the name of {what} `{name}` has the control character U+{:04X}",
                u32::from(c)
            );
            return Err(model_error(place, message).hint(
                "a name is a line of printed characters: letters, digits, `_`, `-` and the like",
            ));
        }
    }
    for note in &builder.assumptions {
        if let Some(c) = note.chars().find(|c| is_hidden(*c)) {
            let message = format!(
                "the assumption `{note}` has the control character U+{:04X}",
                u32::from(c)
            );
            return Err(model_error(&nowhere, message).hint("an assumption is a line of text"));
        }
    }
    Ok(())
}

/// Names are there, unique, and refer to something.
pub(super) fn names(builder: &ModelBuilder) -> Result<()> {
    texts(builder)?;
    let mut links = HashMap::from([(
        WORLD,
        &Place {
            file: None,
            line: None,
        },
    )]);
    for link in &builder.links {
        if link.name.is_empty() {
            return Err(model_error(&link.place, "a link has no name".into()));
        }
        if link.name == WORLD {
            return Err(model_error(
                &link.place,
                "a link cannot be called `world`: that is the ground".into(),
            ));
        }
        if links.insert(&link.name, &link.place).is_some() {
            return Err(model_error(
                &link.place,
                format!("two links are called `{}`", link.name),
            ));
        }
    }
    let mut joints = HashMap::new();
    let mut carried: HashMap<&str, &JointSpec> = HashMap::new();
    for joint in &builder.joints {
        if joint.name.is_empty() {
            return Err(model_error(&joint.place, "a joint has no name".into()));
        }
        if joints.insert(&joint.name, ()).is_some() {
            return Err(model_error(
                &joint.place,
                format!("two joints are called `{}`", joint.name),
            ));
        }
        for (role, link) in [("parent", &joint.parent), ("child", &joint.child)] {
            if !links.contains_key(link.as_str()) {
                let error = model_error(
                    &joint.place,
                    format!(
                        "joint `{}`: there is no link `{link}` to be its {role}",
                        joint.name
                    ),
                );
                return Err(match closest(link, links.keys().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
        if joint.child == WORLD {
            return Err(model_error(
                &joint.place,
                format!("joint `{}` has the ground as its child", joint.name),
            )
            .hint("swap parent and child"));
        }
        if joint.child == joint.parent {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` joins link `{}` to itself",
                    joint.name, joint.child
                ),
            ));
        }
        if let Some(other) = carried.insert(&joint.child, joint) {
            return Err(model_error(
                &joint.place,
                format!(
                    "link `{}` is the child of two joints, `{}` and `{}`: the tree would have a loop",
                    joint.child, other.name, joint.name
                ),
            )
            .hint("keep one of the joints in the tree and close the loop by a constraint of the other's type"));
        }
        if !joint.dofs.is_empty() && joint.dofs.len() != joint.kind.nv() {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` has {} freedom(s), but data are given for {}",
                    joint.name,
                    joint.kind.nv(),
                    joint.dofs.len()
                ),
            ));
        }
    }
    for link in &builder.links {
        if !carried.contains_key(link.name.as_str()) {
            return Err(model_error(
                &link.place,
                format!(
                    "link `{}` is not joined to anything: no joint has it as its child",
                    link.name
                ),
            )
            .hint("join it to another link, or to `world` by a fixed or free joint"));
        }
    }
    if builder.links.is_empty() {
        return Err(Error::new(
            ErrorKind::Model,
            format!("model `{}` has no links", builder.name),
        )
        .hint("a model needs links, and joints that move them"));
    }
    let mut frames: HashMap<&str, ()> = links.keys().map(|&name| (name, ())).collect();
    for frame in &builder.frames {
        if frame.name.is_empty() {
            return Err(model_error(&frame.place, "a frame has no name".into()));
        }
        if !links.contains_key(frame.link.as_str()) {
            return Err(model_error(
                &frame.place,
                format!("frame `{}`: there is no link `{}`", frame.name, frame.link),
            ));
        }
        if frames.insert(&frame.name, ()).is_some() {
            return Err(model_error(
                &frame.place,
                format!(
                    "two frames (or a frame and a link) are called `{}`",
                    frame.name
                ),
            ));
        }
    }
    constraint_names(builder, &links)?;
    force_names(builder, &links)
}

/// Force elements have names of their own and refer to links.
fn force_names(builder: &ModelBuilder, links: &HashMap<&str, &Place>) -> Result<()> {
    let mut taken = HashSet::new();
    for spec in &builder.forces {
        if spec.name.is_empty() {
            return Err(model_error(&spec.place, "a force has no name".into()));
        }
        if !taken.insert(&spec.name) {
            return Err(model_error(
                &spec.place,
                format!("two forces are called `{}`", spec.name),
            ));
        }
        for link in spec.rule.links() {
            if !links.contains_key(link) {
                let error = model_error(
                    &spec.place,
                    format!("force `{}`: there is no link `{link}`", spec.name),
                );
                return Err(match closest(link, links.keys().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
    }
    Ok(())
}

/// Constraints have names of their own and refer to links.
fn constraint_names(builder: &ModelBuilder, links: &HashMap<&str, &Place>) -> Result<()> {
    let mut taken: HashMap<&str, &str> = HashMap::new();
    for joint in &builder.joints {
        taken.insert(&joint.name, "joint");
    }
    for spec in &builder.constraints {
        if spec.name.is_empty() {
            return Err(model_error(&spec.place, "a constraint has no name".into()));
        }
        if let Some(other) = taken.insert(&spec.name, "constraint") {
            let what = match other {
                "joint" => "a joint and a constraint are both",
                _ => "two constraints are",
            };
            return Err(model_error(
                &spec.place,
                format!("{what} called `{}`", spec.name),
            ));
        }
        let (parent, child) = match &spec.rule {
            RuleSpec::Joint(joint) => (&joint.parent, &joint.child),
            RuleSpec::Distance { parent, child, .. } => (parent, child),
            RuleSpec::Contact(contact) => (&contact.parent, &contact.child),
            RuleSpec::KnifeEdge { parent, child, .. } => (parent, child),
            RuleSpec::Coupling { .. } | RuleSpec::Driver { .. } | RuleSpec::Velocity { .. } => {
                continue;
            }
        };
        for link in [parent, child] {
            if !links.contains_key(link.as_str()) {
                let error = model_error(
                    &spec.place,
                    format!("constraint `{}`: there is no link `{link}`", spec.name),
                );
                return Err(match closest(link, links.keys().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
    }
    Ok(())
}

/// The error for a coordinate that does not exist.
pub(super) fn no_coordinate(tree: &Tree, spec: &ConstraintSpec, name: &str) -> Error {
    let message = format!(
        "constraint `{}`: there is no coordinate `{name}`",
        spec.name
    );
    let error = model_error(&spec.place, message);
    let known = || tree.dofs.iter().map(|dof| dof.name.as_str());
    let prefix = format!("{name}.");
    let own: Vec<&str> = known().filter(|dof| dof.starts_with(&prefix)).collect();
    if !own.is_empty() {
        return error.hint(format!("its coordinates are {}", own.join(", ")));
    }
    match closest(name, known()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("coordinates are called like their joints; fixed joints have none"),
    }
}

/// What constraints say, so that the next one is compared with those that say the same and not with all.
#[derive(Default)]
pub(super) struct Said(HashMap<Content, Arc<str>>);

/// What a constraint says, by numbers that can be compared exactly.
#[derive(PartialEq, Eq, Hash)]
enum Content {
    /// This coordinate moves as given.
    Driven(usize),
    /// A joint, a distance, a contact, an edge: type, bodies, and where on them.
    Joins(&'static str, [usize; 2], Vec<u64>),
    /// Coordinates and coefficients.
    Couples(Vec<(usize, u64)>),
    /// Velocities and coefficients.
    CouplesRates(Vec<(usize, u64)>),
}

impl Content {
    fn of(constraint: &Constraint) -> Self {
        // −0 is 0
        let bits = |x: f64| (x + 0.0).to_bits();
        if let Some(closure) = constraint.closure() {
            let poses = [closure.parent_from_joint, closure.child_from_joint];
            let numbers = poses.iter().flat_map(|pose| {
                let rotation = pose.rotation.rows().into_iter().flatten();
                rotation.chain(pose.translation.to_array())
            });
            // a contact that rolls says what one without rolling says, and more
            let kind = match constraint.kind() {
                "rolling" => "contact",
                kind => kind,
            };
            let bodies = [closure.parent, closure.child];
            let mut numbers: Vec<u64> = numbers.map(bits).collect();
            if let Rule::Contact { surface, wheel, .. } = &constraint.rule {
                let shape = match surface {
                    Surface::Plane => 0,
                    Surface::Sphere(_) => 1,
                    Surface::Cylinder(_) => 2,
                };
                numbers.extend([shape, u64::from(*wheel)]);
            }
            return Content::Joins(kind, bodies, numbers);
        }
        match &constraint.rule {
            Rule::Coupling { terms, .. } => {
                Content::Couples(terms.iter().map(|&(at, c)| (at.v, bits(c))).collect())
            }
            Rule::Velocity { terms, .. } => {
                Content::CouplesRates(terms.iter().map(|&(k, c)| (k, bits(c))).collect())
            }
            Rule::Driver { coordinate, .. } => Content::Driven(coordinate.v),
            _ => Content::Couples(Vec::new()),
        }
    }
}

/// A constraint, bodies and coordinates by number, is possible and says something that none before it says.
pub(super) fn constraint(tree: &Tree, new: &Constraint, said: &mut Said) -> Result<()> {
    let refuse = |message: String| Err(model_error(&new.place, message));
    if let Some([parent, child]) = new.bodies()
        && parent == child
    {
        let body = &tree.bodies[parent].name;
        return Err(model_error(
            &new.place,
            format!("constraint `{}` joins body `{body}` to itself", new.name),
        )
        .hint("links joined by fixed joints are one body"));
    }
    let terms: Option<(&str, Vec<(usize, f64)>)> = match &new.rule {
        Rule::Coupling { terms, .. } => {
            let terms = terms.iter().map(|&(coordinate, c)| (coordinate.v, c));
            Some(("coupling", terms.collect()))
        }
        Rule::Velocity { terms, .. } => Some(("constraint", terms.clone())),
        _ => None,
    };
    if let Some((what, terms)) = terms {
        if terms.is_empty() {
            return refuse(format!("{what} `{}` couples nothing", new.name));
        }
        let mut named = HashSet::new();
        for (freedom, c) in terms {
            let name = &tree.dofs[freedom].name;
            if c == 0.0 {
                return refuse(format!(
                    "{what} `{}`: the coefficient of `{name}` is 0",
                    new.name
                ));
            }
            if !named.insert(freedom) {
                return refuse(format!("{what} `{}` names `{name}` twice", new.name));
            }
        }
    }
    let Some(other) = said.0.insert(Content::of(new), new.name.clone()) else {
        return Ok(());
    };
    if let Rule::Driver { coordinate, .. } = &new.rule {
        return refuse(format!(
            "drivers `{other}` and `{}` both move `{}`",
            new.name, tree.dofs[coordinate.v].name
        ));
    }
    let message = format!("constraints `{other}` and `{}` are the same", new.name);
    Err(model_error(&new.place, message).hint("remove one of them"))
}

/// A direction of a constraint has a length.
fn direction(spec: &ConstraintSpec, what: &str, direction: Vec3<f64>) -> Result<()> {
    finite_vector(direction, &spec.place, || {
        format!("{what} of constraint `{}`", spec.name)
    })?;
    if direction.unit().is_some() {
        return Ok(());
    }
    let message = format!("constraint `{}`: {what} has no length", spec.name);
    Err(model_error(&spec.place, message))
}

/// A surface has a radius, and what rolls inside it is smaller; a wheel rolls on planes and on wheels with a parallel axis.
fn surface(spec: &ConstraintSpec, contact: &ContactSpec) -> Result<()> {
    let refuse = |message: String| {
        let message = format!("constraint `{}`: {message}", spec.name);
        Err(model_error(&spec.place, message))
    };
    let radius = match contact.surface {
        Surface::Plane => return Ok(()),
        Surface::Sphere(radius) | Surface::Cylinder(radius) => radius,
    };
    if !radius.is_finite() || radius == 0.0 {
        return refuse(format!(
            "the radius of the parent must be a length, negative for its inside, not {radius} m"
        ));
    }
    if radius < 0.0 && contact.radius >= -radius {
        return refuse(format!(
            "a radius of {} m does not fit into one of {} m",
            contact.radius, -radius
        ));
    }
    match (contact.surface, contact.axis) {
        (Surface::Sphere(_), Some(_)) => {
            refuse("a wheel on a sphere is not supported: leave out its axis for a sphere".into())
        }
        _ => Ok(()),
    }
}

/// Every number of a constraint is finite and possible.
fn constraint_numbers(spec: &ConstraintSpec) -> Result<()> {
    let finite = |x: f64, what: &str| {
        if x.is_finite() {
            return Ok(());
        }
        let message = format!("{what} of constraint `{}` is not finite", spec.name);
        Err(model_error(&spec.place, message))
    };
    match &spec.rule {
        RuleSpec::Joint(joint) => {
            if joint.kind == JointKind::Free {
                return Err(model_error(
                    &spec.place,
                    format!(
                        "constraint `{}`: a free joint constrains nothing",
                        spec.name
                    ),
                ));
            }
            if joint.dofs.iter().any(|dof| *dof != Default::default()) {
                return Err(model_error(
                    &spec.place,
                    format!(
                        "constraint `{}`: a joint that closes a loop carries no rotor, spring, friction or limits",
                        spec.name
                    ),
                )
                .hint("give them to joints of the tree; which joint closes the loop is your choice"));
            }
            joint_numbers(joint)
        }
        RuleSpec::Distance {
            parent_point,
            child_point,
            length,
            ..
        } => {
            for point in [parent_point, child_point] {
                finite_vector(*point, &spec.place, || {
                    format!("a point of constraint `{}`", spec.name)
                })?;
            }
            if !(length.is_finite() && *length > 0.0) {
                return Err(model_error(
                    &spec.place,
                    format!(
                        "constraint `{}`: a distance must be a positive length, not {length} m",
                        spec.name
                    ),
                )
                .hint("to hold one point on another, use a constraint of the type point"));
            }
            Ok(())
        }
        RuleSpec::Coupling { terms, offset } => {
            for (_, c) in terms {
                finite(*c, "a coefficient")?;
            }
            finite(*offset, "the offset")
        }
        RuleSpec::Driver { law, .. } => {
            if !law.is_finite() {
                return finite(f64::NAN, "the motion");
            }
            if let Law::Cycloid { duration, .. } = law
                && *duration <= 0.0
            {
                return Err(model_error(
                    &spec.place,
                    format!(
                        "constraint `{}`: its duration must be a positive time, not {duration} s",
                        spec.name
                    ),
                ));
            }
            Ok(())
        }
        RuleSpec::Contact(contact) => {
            let normal = match contact.surface {
                Surface::Cylinder(_) => "the axis of the parent",
                _ => "the normal",
            };
            direction(spec, normal, contact.normal)?;
            surface(spec, contact)?;
            if let Some(axis) = contact.axis {
                direction(spec, "the axis", axis)?;
            }
            for point in [contact.origin, contact.centre] {
                finite_vector(point, &spec.place, || {
                    format!("a point of constraint `{}`", spec.name)
                })?;
            }
            if !(contact.radius.is_finite() && contact.radius > 0.0) {
                return Err(model_error(
                    &spec.place,
                    format!(
                        "constraint `{}`: a radius must be a positive length, not {} m",
                        spec.name, contact.radius
                    ),
                ));
            }
            Ok(())
        }
        RuleSpec::KnifeEdge { point, across, .. } => {
            direction(spec, "the direction across the edge", *across)?;
            finite_vector(*point, &spec.place, || {
                format!("the point of constraint `{}`", spec.name)
            })
        }
        RuleSpec::Velocity { terms, rate } => {
            for (_, c) in terms {
                finite(*c, "a coefficient")?;
            }
            finite(*rate, "the rate")
        }
    }
}

/// The name most like a mistyped one.
fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|other| (distance(name, other), other))
        .filter(|&(d, _)| d <= 1 + name.chars().count() / 4)
        .min()
        .map(|(_, other)| other)
}

/// Number of letters to change, add or drop.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let change = before + usize::from(ca != cb);
            before = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}

/// Every number is finite and physically possible.
pub(super) fn numbers(builder: &ModelBuilder) -> Result<()> {
    finite_vector(builder.gravity, &Place::default(), || "gravity".into())?;
    for link in &builder.links {
        inertial(link)?;
        if builder.strict
            && let Some(message) = unphysical_inertia(link)
        {
            return Err(Error::new(ErrorKind::Physics, message)
                .at(link.place.clone())
                .hint("check units and axes of the tensor, or load it with a warning by leaving out `--strict`"));
        }
    }
    for joint in &builder.joints {
        joint_numbers(joint)?;
    }
    for frame in &builder.frames {
        pose(&frame.link_from_frame, &frame.place, || {
            format!("pose of frame `{}`", frame.name)
        })?;
    }
    for spec in &builder.constraints {
        constraint_numbers(spec)?;
    }
    Ok(())
}

fn finite_vector(v: Vec3<f64>, place: &Place, what: impl Fn() -> String) -> Result<()> {
    if v.to_array().iter().all(|x| x.is_finite()) {
        Ok(())
    } else {
        Err(model_error(place, format!("{} is not finite", what())))
    }
}

fn pose(pose: &Pose<f64>, place: &Place, what: impl Fn() -> String) -> Result<()> {
    finite_vector(pose.translation, place, &what)?;
    let r = pose.rotation;
    for column in [r.x, r.y, r.z] {
        finite_vector(column, place, &what)?;
    }
    let product = r.transpose() * r - Mat3::identity();
    let off = largest(product.rows().as_flattened());
    if !within(off, 1e-9) || r.x.cross(r.y).dot(r.z) < 0.0 {
        return Err(model_error(
            place,
            format!("{} has a rotation that is not a rotation matrix", what()),
        ));
    }
    Ok(())
}

fn inertial(link: &LinkSpec) -> Result<()> {
    let Some(inertial) = link.inertial else {
        return Ok(());
    };
    let refuse =
        |message: String| Err(Error::new(ErrorKind::Physics, message).at(link.place.clone()));
    if !inertial.mass.is_finite() {
        return refuse(format!("mass of link `{}` is not finite", link.name));
    }
    if inertial.mass < 0.0 {
        return refuse(format!(
            "mass of link `{}` is negative ({} kg)",
            link.name, inertial.mass
        ));
    }
    if inertial.mass > 0.0 && !inertial.mass.is_normal() {
        return refuse(format!(
            "mass of link `{}` is {:e} kg: so small a number has lost its digits, and 1 kg divided by it overflows",
            link.name, inertial.mass
        ));
    }
    finite_vector(inertial.centre, &link.place, || {
        format!("mass centre of link `{}`", link.name)
    })?;
    let tensor = inertial.tensor;
    if [
        tensor.xx, tensor.yy, tensor.zz, tensor.xy, tensor.xz, tensor.yz,
    ]
    .iter()
    .any(|x| !x.is_finite())
    {
        return refuse(format!("inertia of link `{}` is not finite", link.name));
    }
    Ok(())
}

/// What is wrong with an inertia that no rigid body can have, though its equations of motion can be solved: a negative principal
/// moment, inertia without mass, a broken triangle inequality (the largest principal moment is at most the sum of the others).
///
/// Tensors in files are rounded. The inequality has a relative tolerance of 1e-6, for tensors written with six digits; a rounded zero
/// may be negative: 1e-15 m² is a radius of gyration of 0.03 µm.
pub(super) fn unphysical_inertia(link: &LinkSpec) -> Option<String> {
    let inertial = link.inertial?;
    let (name, mass) = (&link.name, inertial.mass);
    let [small, middle, large] = eigenvalues(inertial.tensor);
    if small < -(1e-9 * large.abs()).max(1e-15 * mass) {
        return Some(format!(
            "inertia of link `{name}` is not positive: a principal moment is {small:.6e} kg·m²"
        ));
    }
    if mass == 0.0 && large > 0.0 {
        return Some(format!(
            "link `{name}` has inertia ({large:.3e} kg·m²) but no mass"
        ));
    }
    let sum = small + middle;
    (large > sum * (1.0 + 1e-6) + (1e-15 * mass).max(1e-300)).then(|| {
        let excess = if sum > 0.0 {
            format!(" by {}", percent(large / sum - 1.0))
        } else {
            String::new()
        };
        format!(
            "inertia of link `{name}` breaks the triangle inequality: its largest principal moment {large:.6e} kg·m² exceeds \
             the sum of the others {sum:.6e} kg·m²{excess}"
        )
    })
}

/// A fraction as per cent with two digits, large ones as a factor.
fn percent(fraction: f64) -> String {
    if fraction < 10.0 {
        format!("{:.2} %", 100.0 * fraction)
    } else {
        format!("a factor of {:.1e}", fraction + 1.0)
    }
}

/// Eigenvalues of a symmetric 3×3 matrix in ascending order, by Jacobi rotations.
pub(crate) fn eigenvalues(tensor: crate::spatial::Sym3<f64>) -> [f64; 3] {
    let mut a = tensor.full().rows();
    for _ in 0..30 {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        if off <= 1e-300 + 1e-18 * (a[0][0].abs() + a[1][1].abs() + a[2][2].abs()) {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let t = if theta == 0.0 { 1.0 } else { t };
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..3 {
                let (x, y) = (a[k][p], a[k][q]);
                a[k][p] = c * x - s * y;
                a[k][q] = s * x + c * y;
            }
            for k in 0..3 {
                let (x, y) = (a[p][k], a[q][k]);
                a[p][k] = c * x - s * y;
                a[q][k] = s * x + c * y;
            }
        }
    }
    let mut values = [a[0][0], a[1][1], a[2][2]];
    values.sort_by(f64::total_cmp);
    values
}

fn joint_numbers(joint: &JointSpec) -> Result<()> {
    let what = |part: &str| format!("{part} of joint `{}`", joint.name);
    pose(&joint.parent_from_joint, &joint.place, || what("placement"))?;
    pose(&joint.joint_from_child, &joint.place, || {
        what("child placement")
    })?;
    finite_vector(joint.axes.first, &joint.place, || what("axis"))?;
    finite_vector(joint.axes.second, &joint.place, || what("second axis"))?;
    if !joint.pitch.is_finite() {
        return Err(model_error(
            &joint.place,
            format!("{} is not finite", what("pitch")),
        ));
    }
    if joint.kind == JointKind::Helical && joint.pitch == 0.0 {
        return Err(model_error(
            &joint.place,
            format!("helical joint `{}` has pitch 0", joint.name),
        )
        .hint("give `pitch` in metres per radian, or make it revolute"));
    }
    for (name, given, needed) in [
        ("start", &joint.start, joint.kind.nq()),
        ("start_velocity", &joint.start_velocity, joint.kind.nv()),
    ] {
        if !given.is_empty() && given.len() != needed {
            return Err(model_error(
                &joint.place,
                format!(
                    "{}: {}",
                    what(name),
                    crate::state::needed_and_given(needed, given.len())
                ),
            ));
        }
        if given.iter().any(|x| !x.is_finite()) {
            return Err(model_error(
                &joint.place,
                format!("{} is not finite", what(name)),
            ));
        }
    }
    if let (Some(k), false) = (joint.kind.quaternion(), joint.start.is_empty()) {
        let length = joint.start[k..].iter().map(|x| x * x).sum::<f64>().sqrt();
        if !within((length - 1.0).abs(), 1e-9) {
            return Err(model_error(
                &joint.place,
                format!(
                    "{}: its quaternion has length {length}, not 1",
                    what("start")
                ),
            ));
        }
    }
    for dof in &joint.dofs {
        for (name, value) in [
            ("armature", dof.armature),
            ("damping", dof.damping),
            ("friction", dof.friction),
            ("stiffness", dof.stiffness),
            ("restitution", dof.restitution),
            ("stop_stiffness", dof.stop_stiffness),
            ("stop_damping", dof.stop_damping),
        ] {
            if !value.is_finite() || value < 0.0 {
                return Err(model_error(
                    &joint.place,
                    format!("{} must be a finite number ≥ 0, not {value}", what(name)),
                ));
            }
        }
        if dof.restitution > 1.0 {
            return Err(model_error(
                &joint.place,
                format!(
                    "{} must be at most 1, not {}",
                    what("restitution"),
                    dof.restitution
                ),
            ));
        }
        if dof.stop_damping > 0.0 && dof.stop_stiffness == 0.0 {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` has `stop_damping` but no `stop_stiffness`",
                    joint.name
                ),
            )
            .hint("a soft stop needs a stiffness; a rigid one has a `restitution` instead"));
        }
        if dof.restitution > 0.0 && dof.stop_stiffness > 0.0 {
            return Err(model_error(
                &joint.place,
                format!(
                    "joint `{}` has a `restitution` and a `stop_stiffness`",
                    joint.name
                ),
            )
            .hint("a stop is rigid, with a `restitution`, or soft, with `stop_stiffness` and `stop_damping`"));
        }
        if !dof.rest.is_finite() {
            return Err(model_error(
                &joint.place,
                format!("{} is not finite", what("rest position")),
            ));
        }
        if dof.stiffness != 0.0 && joint.kind.quaternion().is_some() {
            return Err(model_error(
                &joint.place,
                format!(
                    "a {} joint such as `{}` cannot carry a coordinate spring",
                    joint.kind, joint.name
                ),
            )
            .hint("springs act on joints whose positions are plain coordinates"));
        }
        if let Some((lower, upper)) = dof.limits
            && (lower > upper || lower.is_nan() || upper.is_nan())
        {
            return Err(model_error(
                &joint.place,
                format!(
                    "limits of joint `{}`: lower {lower} is above upper {upper}",
                    joint.name
                ),
            ));
        }
    }
    Ok(())
}

/// Joints in an order that visits parents before children and follows each branch to its end.
pub(super) fn tree_order(builder: &ModelBuilder) -> Result<Vec<usize>> {
    let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
    for (k, joint) in builder.joints.iter().enumerate() {
        children.entry(&joint.parent).or_default().push(k);
    }
    let mut order = Vec::with_capacity(builder.joints.len());
    let mut stack: Vec<usize> = children.get(WORLD).cloned().unwrap_or_default();
    stack.reverse();
    while let Some(joint) = stack.pop() {
        order.push(joint);
        if let Some(next) = children.get(builder.joints[joint].child.as_str()) {
            stack.extend(next.iter().rev());
        }
    }
    if order.len() < builder.joints.len() {
        let mut seen = vec![false; builder.joints.len()];
        order.iter().for_each(|&k| seen[k] = true);
        let lost = seen.iter().position(|&s| !s).unwrap_or(0);
        let joint = &builder.joints[lost];
        return Err(model_error(
            &joint.place,
            format!(
                "joint `{}` is part of a ring of joints that never reaches the ground",
                joint.name
            ),
        )
        .hint("join one of its links to `world`, and give every link one parent"));
    }
    Ok(order)
}

/// No freedom is without inertia: m̂ of every freedom is positive at some state.
///
/// Three random states are tried; a freedom whose m̂ stays below 1e-12 of the inertia around it in all of them has nothing
/// to resist its effort, unless [`sharp_pivots`] finds the little there is.
///
/// The error for a freedom that has none comes back as a value: a reader may turn it into a warning.
pub(super) fn mobility(model: &Model) -> Result<Option<Error>> {
    let mut factors = Factorization::new(model);
    let mut best = vec![0.0f64; model.nv()];
    for seed in STATES {
        let state = State::random(model, seed);
        factors.factorize(model, &state.q);
        for (best, pivot) in best.iter_mut().zip(factors.relative_pivots(model)) {
            *best = best.max(pivot);
        }
    }
    if best.iter().all(|&pivot| pivot >= 1e-12) {
        return Ok(None);
    }
    let known = sharp_pivots(model);
    // from the tips: a freedom without inertia spoils the pivots of all before it
    for (k, &pivot) in best.iter().enumerate().rev() {
        if pivot < 1e-12 && !known[k] {
            let dof = &model.tree().dofs[k];
            let body = &model.tree().bodies[dof.body];
            let carried = factors.articulated_inertia(dof.body);
            if !(carried.rotational.trace() + carried.translational.trace()).is_finite() {
                return Err(Error::new(
                    ErrorKind::Physics,
                    format!(
                        "inertia of body `{}` and what it carries overflows",
                        body.name
                    ),
                )
                .at(body.place.clone())
                .hint("masses and lengths are in kg and m"));
            }
            let error = Error::new(
                ErrorKind::Physics,
                format!(
                    "joint `{}` cannot be moved by finite forces: body `{}` and what it carries have no inertia along its freedom `{}`",
                    body.joint, body.name, dof.name
                ),
            )
            .at(body.place.clone())
            .hint(format!(
                "give `{}` mass and inertia, give the joint a rotor (`armature`), or make the joint fixed",
                body.name
            ));
            return Ok(Some(error));
        }
    }
    Ok(None)
}

/// A wheel on a wheel touches it in the plane of both only while their axes are parallel: the joints must keep them so, at every state.
pub(super) fn parallel_axes(model: &Model) -> Result<()> {
    for constraint in model.constraints() {
        let Rule::Contact {
            surface: Surface::Cylinder(_),
            between,
            wheel: true,
            ..
        } = &constraint.rule
        else {
            continue;
        };
        for seed in STATES {
            let state = State::random(model, seed).of_tree(model);
            let mut bodies = Kinematics::new(model);
            let still = vec![0.0; state.v.len()];
            forward_kinematics(model, state.view(), &still, &mut bodies);
            let axis = |body: usize, frame: &Pose<f64>| {
                bodies.world_from_body[body].rotation * frame.rotation.z
            };
            let track = axis(between.parent, &between.parent_from_joint);
            let wheel = axis(between.child, &between.child_from_joint);
            if !within(track.cross(wheel).norm(), 1e-9) {
                let message = format!(
                    "constraint `{}`: the joints let the wheel tilt against the axis of what it rolls on",
                    constraint.name
                );
                return Err(model_error(&constraint.place, message).hint(
                    "carry both by joints that keep their axes parallel, planar or revolute ones; or leave out the wheel's axis for a sphere",
                ));
            }
        }
    }
    Ok(())
}

/// Seeds of the states at which pivots and axes are examined.
const STATES: std::ops::RangeInclusive<u64> = 1..=3;

/// Which pivots are genuine inertia of the model, however small, and not round-off, at one of the states?
///
/// Such a pivot is the same, to three digits at least, in `f64` and in double-double arithmetic, and
/// also if every number of the model is changed in its last digit. It is more than 1e-26 of the inertia around it: a mass whose distance
/// from an axis is round-off leaves the square of that.
fn sharp_pivots(model: &Model) -> Vec<bool> {
    let models = [
        model.clone(),
        model.with_other_last_digits(1),
        model.with_other_last_digits(2),
    ];
    let mut known = vec![false; model.nv()];
    for seed in STATES {
        let state = State::random(model, seed);
        let mut plain = Factorization::new(model);
        plain.factorize(model, &state.q);
        let plain = plain.relative_pivots(model);
        let q: Vec<DoubleDouble> = state.q.iter().map(|&q| q.into()).collect();
        let sharp = models.each_ref().map(|model| {
            let mut factors = Factorization::<DoubleDouble>::new(model);
            factors.factorize(model, &q);
            factors.relative_pivots(model)
        });
        for (k, known) in known.iter_mut().enumerate() {
            let pivot = sharp[0][k].value();
            let same = |other: f64| (other - pivot).abs() < 1e-3 * pivot;
            *known |= pivot > 1e-26
                && same(plain[k])
                && sharp[1..].iter().all(|pivots| same(pivots[k].value()));
        }
    }
    known
}
