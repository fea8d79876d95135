//! Checks that a constraint has valid numbers and does not repeat an earlier one.

use super::joints::joint_numbers;
use super::{finite_vector, model_error};
use crate::error::Result;
use crate::model::constraint::{Constraint, ConstraintSpec, ContactSpec, Rule, RuleSpec, Surface};
use crate::model::{JointKind, Law, Tree};
use crate::spatial::Vec3;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Checks that every number of a constraint is finite and valid.
pub(super) fn constraint_numbers(spec: &ConstraintSpec) -> Result<()> {
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

/// Checks that a direction of a constraint is nonzero.
fn direction(spec: &ConstraintSpec, what: &str, direction: Vec3<f64>) -> Result<()> {
    finite_vector(direction, &spec.place, || {
        format!("{what} of constraint `{}`", spec.name)
    })?;
    if direction.unit().is_some() {
        return Ok(());
    }
    let message = format!("constraint `{}`: {what} has zero length", spec.name);
    Err(model_error(&spec.place, message))
}

/// Checks that a surface has a radius and a body that rolls inside it is smaller; a wheel rolls on planes and on wheels with a parallel axis.
pub(super) fn surface(spec: &ConstraintSpec, contact: &ContactSpec) -> Result<()> {
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

/// Conditions of constraints, by kind, so that each new one is compared only with those of its kind.
#[derive(Default)]
pub(in crate::model) struct Said(HashMap<Content, (Arc<str>, Option<RightHandSide>)>);

/// Right-hand side of a constraint: its name, its unit and its value.
type RightHandSide = (&'static str, &'static str, f64);

/// Condition of a constraint, in numbers that can be compared exactly.
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
            // a rolling contact implies the contact without rolling
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
                if let Surface::Sphere(radius) | Surface::Cylinder(radius) = *surface {
                    numbers.push(bits(radius));
                }
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

/// The number of a constraint that is not part of its [`Content`].
fn right_hand_side(constraint: &Constraint) -> Option<RightHandSide> {
    match constraint.rule {
        Rule::Distance { length, .. } => Some(("length", " m", length)),
        Rule::Coupling { offset, .. } => Some(("offset", "", offset)),
        Rule::Velocity { rate, .. } => Some(("rate", "", rate)),
        Rule::Contact { radius, .. } => Some(("radius", " m", radius)),
        _ => None,
    }
}

/// Checks that a constraint, with bodies and coordinates by number, is valid and does not repeat an earlier one.
pub(in crate::model) fn constraint(tree: &Tree, new: &Constraint, said: &mut Said) -> Result<()> {
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
    let said_before = (said.0).insert(Content::of(new), (new.name.clone(), right_hand_side(new)));
    let Some((other, before)) = said_before else {
        return Ok(());
    };
    if let Rule::Driver { coordinate, .. } = &new.rule {
        return refuse(format!(
            "drivers `{other}` and `{}` both move `{}`",
            new.name, tree.dofs[coordinate.v].name
        ));
    }
    if let (Some((_, _, earlier)), Some((what, unit, later))) = (before, right_hand_side(new))
        && earlier != later
    {
        let message = format!(
            "constraints `{other}` and `{}` contradict each other: they differ in their {what}, {earlier}{unit} and {later}{unit}",
            new.name
        );
        let about = match &new.rule {
            Rule::Coupling { .. } => "its coordinates or coefficients",
            Rule::Velocity { .. } => "its freedoms or coefficients",
            _ => "its links or points",
        };
        let hint = format!("remove one of them, or correct {about}");
        return Err(model_error(&new.place, message).hint(hint));
    }
    let message = format!("constraints `{other}` and `{}` are the same", new.name);
    Err(model_error(&new.place, message).hint("remove one of them"))
}
