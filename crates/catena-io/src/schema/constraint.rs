//! The tables `[[constraint]]`.

use super::{axes, joint_placement, pitch};
use crate::access::{Item, Table};
use crate::nearest::advice;
use catena::error::Result;
use catena::model::{ConstraintSpec, ContactSpec, JointKind, JointSpec, Law, RuleSpec, Surface};
use catena::spatial::Vec3;

/// Types that are not kinds of joints.
const OTHER_TYPES: &[&str] = &[
    "weld",
    "point",
    "distance",
    "coupling",
    "driver",
    "rolling",
    "contact",
    "knife_edge",
    "velocity",
];

const JOINT_KEYS: &[&str] = &[
    "name",
    "type",
    "parent",
    "child",
    "axis",
    "axes",
    "pitch",
    "origin",
    "rotation",
    "child_origin",
    "child_rotation",
];
const POINT_KEYS: &[&str] = &[
    "name",
    "type",
    "parent",
    "child",
    "parent_point",
    "child_point",
];
const DISTANCE_KEYS: &[&str] = &[
    "name",
    "type",
    "parent",
    "child",
    "parent_point",
    "child_point",
    "length",
];
const COUPLING_KEYS: &[&str] = &["name", "type", "coordinates", "coefficients", "offset"];
const DRIVER_KEYS: &[&str] = &[
    "name",
    "type",
    "coordinate",
    "polynomial",
    "sine",
    "cycloid",
];

const CONTACT_KEYS: &[&str] = &[
    "name",
    "type",
    "parent",
    "child",
    "origin",
    "normal",
    "parent_axis",
    "parent_radius",
    "centre",
    "axis",
    "radius",
];
const EDGE_KEYS: &[&str] = &["name", "type", "parent", "child", "point", "across"];
const VELOCITY_KEYS: &[&str] = &["name", "type", "freedoms", "coefficients", "rate"];

pub(super) fn read(table: &Table<'_>) -> Result<ConstraintSpec> {
    let kind = table.require("type")?;
    let word = kind.text()?;
    let rule = match word {
        "point" => {
            table.expect_keys(POINT_KEYS)?;
            let (parent, child) = ends(table)?;
            let name = table.require("name")?.text()?;
            let [a, b] = points(table)?;
            ConstraintSpec::point(name, parent, a, child, b).rule
        }
        "distance" => {
            table.expect_keys(DISTANCE_KEYS)?;
            let (parent, child) = ends(table)?;
            let [parent_point, child_point] = points(table)?;
            RuleSpec::Distance {
                parent: parent.into(),
                child: child.into(),
                parent_point,
                child_point,
                length: table.require("length")?.number()?,
            }
        }
        "coupling" => coupling(table)?,
        "driver" => driver(table)?,
        "rolling" => contact(table, true)?,
        "contact" => contact(table, false)?,
        "knife_edge" => {
            table.expect_keys(EDGE_KEYS)?;
            RuleSpec::KnifeEdge {
                parent: plane_owner(table)?,
                child: table.require("child")?.text()?.into(),
                point: optional_vector(table, "point", Vec3::zero())?,
                across: table.require("across")?.vector()?,
            }
        }
        "velocity" => {
            table.expect_keys(VELOCITY_KEYS)?;
            RuleSpec::Velocity {
                terms: terms(table, "freedoms")?,
                rate: table.get("rate").map_or(Ok(0.0), |item| item.number())?,
            }
        }
        "weld" => joint(table, JointKind::Fixed)?,
        _ => match word.parse::<JointKind>() {
            Ok(kind) => joint(table, kind)?,
            Err(()) => {
                let joints = JointKind::ALL.map(JointKind::name);
                let known = [&joints[..], OTHER_TYPES].concat();
                return Err(kind
                    .must_be("a type of constraint")
                    .hint(advice(word, &known)));
            }
        },
    };
    Ok(ConstraintSpec {
        name: table.require("name")?.text()?.into(),
        rule,
        place: table.source.place(table.line),
    })
}

fn ends<'a>(table: &Table<'a>) -> Result<(&'a str, &'a str)> {
    let parent = table.require("parent")?.text()?;
    Ok((parent, table.require("child")?.text()?))
}

/// The points on parent and child; the origin of the link where one is left out.
fn points(table: &Table<'_>) -> Result<[Vec3<f64>; 2]> {
    let point = |key: &str| optional_vector(table, key, Vec3::zero());
    Ok([point("parent_point")?, point("child_point")?])
}

fn optional_vector(table: &Table<'_>, key: &str, default: Vec3<f64>) -> Result<Vec3<f64>> {
    table.get(key).map_or(Ok(default), |item| item.vector())
}

/// The link with the surface, or to which a knife edge is related; the ground if left out.
fn plane_owner(table: &Table<'_>) -> Result<String> {
    let parent = table
        .get("parent")
        .map_or(Ok("world"), |item| item.text())?;
    Ok(parent.into())
}

/// A wheel, which has an axis, or a sphere; on a plane, on a cylinder, which has an axis, or on a sphere.
fn contact(table: &Table<'_>, rolls: bool) -> Result<RuleSpec> {
    table.expect_keys(CONTACT_KEYS)?;
    let child = table.require("child")?.text()?;
    let round = ContactSpec::sphere(child, table.require("radius")?.number()?);
    let (surface, normal) = match (table.get("parent_radius"), table.get("parent_axis")) {
        (None, None) => (Surface::Plane, "normal"),
        (Some(radius), None) => (Surface::Sphere(radius.number()?), "normal"),
        (Some(radius), Some(_)) => (Surface::Cylinder(radius.number()?), "parent_axis"),
        (None, Some(axis)) => {
            return Err(axis
                .error("is the axis of a cylinder or wheel without a radius")
                .hint("give its radius, `parent_radius`"));
        }
    };
    if let (Surface::Cylinder(_), Some(given)) = (surface, table.get("normal")) {
        return Err(given.error("is for planes and spheres: a cylinder has `parent_axis`"));
    }
    Ok(RuleSpec::Contact(Box::new(ContactSpec {
        parent: plane_owner(table)?,
        surface,
        origin: optional_vector(table, "origin", round.origin)?,
        normal: optional_vector(table, normal, round.normal)?,
        centre: optional_vector(table, "centre", round.centre)?,
        axis: match table.get("axis") {
            Some(axis) => Some(axis.vector()?),
            None => None,
        },
        rolls,
        ..round
    })))
}

fn joint(table: &Table<'_>, kind: JointKind) -> Result<RuleSpec> {
    table.expect_keys(JOINT_KEYS)?;
    let (parent, child) = ends(table)?;
    let name = table.require("name")?.text()?;
    let (parent_from_joint, joint_from_child) = joint_placement(table, kind)?;
    Ok(RuleSpec::Joint(Box::new(JointSpec {
        parent_from_joint,
        joint_from_child,
        axes: axes(table, kind)?,
        pitch: pitch(table, kind)?,
        place: table.source.place(table.line),
        ..JointSpec::new(name, kind, parent, child)
    })))
}

fn coupling(table: &Table<'_>) -> Result<RuleSpec> {
    table.expect_keys(COUPLING_KEYS)?;
    let terms = terms(table, "coordinates")?;
    let offset = table.get("offset").map_or(Ok(0.0), |item| item.number())?;
    Ok(RuleSpec::Coupling { terms, offset })
}

/// Names and as many coefficients.
fn terms(table: &Table<'_>, key: &str) -> Result<Vec<(String, f64)>> {
    let names = table.require(key)?.list()?;
    let coefficients = table.require("coefficients")?;
    let factors = coefficients.list()?;
    if factors.len() != names.len() {
        return Err(coefficients.error(&format!(
            "has {} numbers for {} {key}",
            factors.len(),
            names.len()
        )));
    }
    let pairs = names.iter().zip(&factors);
    pairs
        .map(|(name, factor)| Ok((name.text()?.into(), factor.number()?)))
        .collect()
}

fn driver(table: &Table<'_>) -> Result<RuleSpec> {
    table.expect_keys(DRIVER_KEYS)?;
    let coordinate = table.require("coordinate")?.text()?.into();
    let given = ["polynomial", "sine", "cycloid"].map(|key| table.get(key));
    let law = match given {
        [Some(polynomial), None, None] => {
            let coefficients = polynomial.list()?;
            let numbers: Result<Vec<f64>> = coefficients.iter().map(Item::number).collect();
            Law::Polynomial(numbers?)
        }
        [None, Some(sine), None] => {
            let sine = sine.table("a table such as { amplitude = 0.3, frequency = 2 }")?;
            sine.expect_keys(&["offset", "amplitude", "frequency", "phase"])?;
            let optional = |key: &str| sine.get(key).map_or(Ok(0.0), |item| item.number());
            Law::Sine {
                offset: optional("offset")?,
                amplitude: sine.require("amplitude")?.number()?,
                frequency: sine.require("frequency")?.number()?,
                phase: optional("phase")?,
            }
        }
        [None, None, Some(cycloid)] => {
            let cycloid = cycloid.table("a table such as { start = 0, end = 1, duration = 2 }")?;
            cycloid.expect_keys(&["start", "end", "duration"])?;
            let number = |key: &str| cycloid.require(key)?.number();
            Law::Cycloid {
                start: number("start")?,
                end: number("end")?,
                duration: number("duration")?,
            }
        }
        _ => {
            let message = format!(
                "{}: its motion must be given in exactly one way",
                table.owner
            );
            return Err(table
                .source
                .error(table.line, message)
                .hint("by `polynomial`, `sine` or `cycloid`"));
        }
    };
    Ok(RuleSpec::Driver { coordinate, law })
}
