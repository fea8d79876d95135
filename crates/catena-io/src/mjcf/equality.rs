//! `<equality>`: constraints, with the fixed tendons of `<tendon>` as sums of coordinates.
//!
//! MuJoCo enforces them by soft forces; here they hold exactly.

use super::attributes::Attributes;
use super::body::{Bodies, unused};
use super::joint::Kind;
use super::orientation::from_quaternion;
use super::{File, schema};
use catena::error::{ErrorKind, Result};
use catena::model::{ConstraintSpec, JointKind, JointSpec, ModelBuilder, RuleSpec};
use catena::spatial::{Pose, Vec3};
use std::collections::{BTreeMap, HashSet};

/// A weighted sum of coordinates, and its value with all joints at their reference.
#[derive(Clone, Default)]
struct Sum {
    terms: Vec<(String, f64)>,
    reference: f64,
}

/// Reads tendons and equalities.
pub(super) fn read(file: &mut File<'_>, bodies: &Bodies, builder: &mut ModelBuilder) -> Result<()> {
    let tendons = tendons(file, bodies)?;
    let mut taken: HashSet<String> = builder
        .joints
        .iter()
        .map(|joint| joint.name.clone())
        .collect();
    for element in file
        .root
        .all("equality")
        .flat_map(|section| section.children())
    {
        schema::check_equality(element, file.ignored.unknown())?;
        let equality = file.defaults.of(element, "equality", None)?;
        if !file.dynamics.equalities || equality.flag("active")? == Some(false) {
            file.notes.inactive += 1;
            continue;
        }
        let rule = match element.tag() {
            "connect" => connect(&equality, bodies)?,
            "weld" => weld(&equality, bodies)?,
            "joint" => {
                let sum = |key: &str| coordinate(&equality, bodies, key);
                let other = equality.text("joint2").map(|_| sum("joint2")).transpose()?;
                coupling(file, &equality, sum("joint1")?, other)?
            }
            "tendon" => {
                let sum = |key: &str| {
                    let name = equality.require(key)?;
                    tendons.get(name).cloned().ok_or_else(|| {
                        let what =
                            format!("{}: there is no fixed tendon `{name}`", element.describe());
                        element.error(ErrorKind::Model, what)
                    })
                };
                let (Some(one), other) = (
                    sum("tendon1")?,
                    equality.text("tendon2").map(|_| sum("tendon2")),
                ) else {
                    continue; // of a spatial tendon, left out before
                };
                match other.transpose()? {
                    Some(None) => continue,
                    Some(Some(other)) => coupling(file, &equality, one, Some(other))?,
                    None => coupling(file, &equality, one, None)?,
                }
            }
            "flex" | "flexvert" | "flexstrain" => {
                let what = format!(
                    "{} holds a deformable body, which is not supported",
                    element.describe()
                );
                file.ignored.or_refuse("flex", element, what)?;
                None
            }
            _ => {
                let known = ["connect", "weld", "joint", "tendon"];
                return Err(schema::unknown_element(element, &known));
            }
        };
        let Some(rule) = rule else { continue };
        let wish = match element.attribute("name") {
            Some(name) => name.into(),
            None => format!("{}_{}", element.tag(), builder.constraints.len() + 1),
        };
        file.notes.equalities += 1;
        builder.constraints.push(ConstraintSpec {
            name: unused(&wish, &mut taken),
            rule,
            place: element.place().clone(),
        });
    }
    Ok(())
}

/// A joint between two frames on bodies; none if both are on the same body.
fn closure(
    bodies: &Bodies,
    kind: JointKind,
    (one, one_from_joint): (usize, Pose<f64>),
    (other, other_from_joint): (usize, Pose<f64>),
) -> Option<RuleSpec> {
    if bodies.moving(one) == bodies.moving(other) {
        return None;
    }
    let [parent, child] = [one, other].map(|body| &bodies.all[body].name);
    // its name is that of the constraint
    Some(RuleSpec::Joint(Box::new(JointSpec {
        parent_from_joint: one_from_joint,
        joint_from_child: other_from_joint.inverse(),
        ..JointSpec::new("closure", kind, parent, child)
    })))
}

/// The two bodies of an equality; the second one may be the world.
fn pair(equality: &Attributes<'_>, bodies: &Bodies) -> Result<[usize; 2]> {
    let second = match equality.text("body2") {
        Some(_) => bodies.named(equality, "body2")?,
        None => 0,
    };
    Ok([bodies.named(equality, "body1")?, second])
}

/// A point of one body is on a point of another.
fn connect(equality: &Attributes<'_>, bodies: &Bodies) -> Result<Option<RuleSpec>> {
    if equality.text("site1").is_some() {
        let (one, other) = (
            bodies.site(equality, "site1")?,
            bodies.site(equality, "site2")?,
        );
        return Ok(closure(
            bodies,
            JointKind::Spherical,
            point(one),
            point(other),
        ));
    }
    let [one, other] = pair(equality, bodies)?;
    let anchor = equality.vector("anchor")?;
    let anchor = anchor.ok_or_else(|| equality.missing("anchor"))?;
    let world = bodies.all[one].world_from_body.point(anchor);
    let there = bodies.all[other].world_from_body.inverse().point(world);
    Ok(closure(
        bodies,
        JointKind::Spherical,
        (one, Pose::shift(anchor)),
        (other, Pose::shift(there)),
    ))
}

/// One body is fixed to another: in the relative pose of the file, or of `relpose`. With a `torquescale` of 0 no torque acts: only the anchors
/// stay together.
fn weld(equality: &Attributes<'_>, bodies: &Bodies) -> Result<Option<RuleSpec>> {
    let holds_points = equality.number("torquescale")? == Some(0.0);
    let closed = |one: (usize, Pose<f64>), other: (usize, Pose<f64>)| match holds_points {
        true => closure(bodies, JointKind::Spherical, point(one), point(other)),
        false => closure(bodies, JointKind::Fixed, one, other),
    };
    if equality.text("site1").is_some() {
        let one = bodies.site(equality, "site1")?;
        return Ok(closed(one, bodies.site(equality, "site2")?));
    }
    let [one, other] = pair(equality, bodies)?;
    let relative = equality.numbers("relpose")?.unwrap_or([0.0; 7]);
    let [x, y, z, quaternion @ ..] = relative;
    let anchor = Pose::shift(equality.vector("anchor")?.unwrap_or(Vec3::zero()));
    let one_from_joint = if quaternion == [0.0; 4] {
        let [a, b] = [one, other].map(|body| bodies.all[body].world_from_body);
        a.inverse() * b * anchor
    } else {
        let rotation = from_quaternion(quaternion);
        let rotation = rotation.ok_or_else(|| equality.error("relpose", "has no orientation"))?;
        Pose::new(rotation, Vec3::new(x, y, z))
    };
    Ok(closed((one, one_from_joint), (other, anchor)))
}

/// A pose without its orientation.
fn point((body, at): (usize, Pose<f64>)) -> (usize, Pose<f64>) {
    (body, Pose::shift(at.translation))
}

/// The coordinate of a joint.
fn coordinate(equality: &Attributes<'_>, bodies: &Bodies, key: &str) -> Result<Sum> {
    let joint = bodies.joint(equality, key)?;
    match joint.kind {
        Kind::Hinge | Kind::Slide => Ok(Sum {
            terms: vec![(joint.name.clone(), 1.0)],
            reference: joint.reference,
        }),
        Kind::Ball | Kind::Free => Err(equality.error(key, "must be a hinge or a slide")),
    }
}

/// one − its reference = c₀ + c₁ (other − its reference).
fn coupling(
    file: &mut File<'_>,
    equality: &Attributes<'_>,
    one: Sum,
    other: Option<Sum>,
) -> Result<Option<RuleSpec>> {
    let mut polynomial = equality.list("polycoef")?.unwrap_or(vec![0.0, 1.0]);
    polynomial.resize(polynomial.len().max(5), 0.0);
    if other.is_some() && polynomial[2..].iter().any(|higher| *higher != 0.0) {
        let what = format!("`polycoef` of {} is not linear", equality.node.describe());
        file.ignored.or_refuse("polycoef", equality.node, what)?;
        return Ok(None);
    }
    let mut offset = one.reference + polynomial[0];
    let mut terms: BTreeMap<String, f64> = BTreeMap::new();
    let mut order = Vec::new();
    let other = other.unwrap_or_default();
    offset -= polynomial[1] * other.reference;
    let others = other
        .terms
        .into_iter()
        .map(|(name, c)| (name, -polynomial[1] * c));
    for (name, c) in one.terms.into_iter().chain(others) {
        if !terms.contains_key(&name) {
            order.push(name.clone());
        }
        *terms.entry(name).or_default() += c;
    }
    let terms: Vec<(String, f64)> = order
        .into_iter()
        .map(|name| {
            let c = terms[&name];
            (name, c)
        })
        .filter(|(_, c)| *c != 0.0)
        .collect();
    Ok(Some(RuleSpec::Coupling { terms, offset }))
}

/// The fixed tendons by name; none for a spatial tendon that is left out.
fn tendons(file: &mut File<'_>, bodies: &Bodies) -> Result<BTreeMap<String, Option<Sum>>> {
    let mut tendons = BTreeMap::new();
    for element in file
        .root
        .all("tendon")
        .flat_map(|section| section.children())
    {
        schema::check(element, file.ignored.unknown())?;
        let tendon = file.defaults.of(element, "tendon", None)?;
        let name = element.attribute("name").unwrap_or_default();
        match element.tag() {
            "fixed" => {
                let sum = fixed(file, &tendon, bodies)?;
                tendons.insert(name.into(), Some(sum));
            }
            "spatial" => {
                let what = format!(
                    "{} is a spatial tendon, which is not supported",
                    element.describe()
                );
                file.ignored.or_refuse("spatial", element, what)?;
                tendons.insert(name.into(), None);
            }
            _ => return Err(schema::unknown_element(element, &["fixed", "spatial"])),
        }
    }
    Ok(tendons)
}

fn fixed(file: &mut File<'_>, tendon: &Attributes<'_>, bodies: &Bodies) -> Result<Sum> {
    let mut sum = Sum::default();
    for part in tendon.node.children() {
        if part.tag() != "joint" {
            return Err(schema::unknown_element(part, &["joint"]));
        }
        schema::check_joint_of_tendon(part, file.ignored.unknown())?;
        let part = Attributes::own(part);
        let own = coordinate(&part, bodies, "joint")?;
        let coefficient = part.number("coef")?.ok_or_else(|| part.missing("coef"))?;
        sum.reference += coefficient * own.reference;
        sum.terms
            .extend(own.terms.into_iter().map(|(name, _)| (name, coefficient)));
    }
    for key in ["stiffness", "damping", "frictionloss", "armature"] {
        let acts = match key {
            "stiffness" => file.dynamics.springs,
            "damping" => file.dynamics.dampers,
            "frictionloss" => file.dynamics.friction,
            _ => true,
        };
        let numbers = tendon.list(key)?.unwrap_or_default();
        if acts && numbers.iter().any(|number| *number != 0.0) {
            let what = format!("`{key}` of {} is not supported", tendon.node.describe());
            file.ignored.or_refuse("tendon", tendon.node, what)?;
        }
    }
    if tendon.limited("limited", "range", file.compiler.autolimits)? && file.dynamics.limits {
        file.notes.tendon_limits.push(tendon.node.describe());
    }
    Ok(sum)
}
