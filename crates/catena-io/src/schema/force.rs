//! Force elements: springs, dampers, loads, fields.

use crate::access::{Item, Table};
use crate::nearest::advice;
use catena::error::Result;
use catena::model::{ForceAxes, ForceRule, ForceSpec, GravityGradient};
use catena::spatial::Vec3;

const TYPES: &[&str] = &["spring", "torsion", "constant", "drag", "gravity_gradient"];

const SPRING_KEYS: &[&str] = &[
    "name",
    "type",
    "parent",
    "child",
    "parent_point",
    "child_point",
    "stiffness",
    "damping",
    "rest_length",
    "tension_only",
];
const TORSION_KEYS: &[&str] = &[
    "name",
    "type",
    "parent",
    "child",
    "axis",
    "stiffness",
    "damping",
    "rest",
];
const CONSTANT_KEYS: &[&str] = &["name", "type", "link", "point", "force", "torque", "axes"];
const DRAG_KEYS: &[&str] = &[
    "name",
    "type",
    "link",
    "point",
    "linear",
    "quadratic",
    "flow",
];
const GRADIENT_KEYS: &[&str] = &[
    "name", "type", "mu", "centre", "uniform", "rate", "up", "normal",
];

/// Reads one.
pub(super) fn read(table: &Table<'_>) -> Result<ForceSpec> {
    let kind = table.require("type")?;
    let rule = match kind.text()? {
        "spring" => spring(table)?,
        "torsion" => torsion(table)?,
        "constant" => constant(table)?,
        "drag" => drag(table)?,
        "gravity_gradient" => ForceRule::GravityGradient(gradient(table)?),
        word => {
            let error = kind.must_be("a type of force");
            return Err(error.hint(advice(word, TYPES)));
        }
    };
    Ok(ForceSpec {
        name: table.require("name")?.text()?.into(),
        rule,
        place: table.source.place(table.line),
    })
}

fn number(table: &Table<'_>, key: &str) -> Result<f64> {
    table.get(key).map_or(Ok(0.0), |item| item.number())
}

fn vector(table: &Table<'_>, key: &str) -> Result<Vec3<f64>> {
    table
        .get(key)
        .map_or(Ok(Vec3::zero()), |item| item.vector())
}

fn text(table: &Table<'_>, key: &str) -> Result<String> {
    table.require(key)?.text().map(String::from)
}

/// Checks that at least one of two keys gives the strength of the element.
fn expect_one_of(table: &Table<'_>, keys: [&str; 2]) -> Result<()> {
    if table.first_of(&keys).is_some() {
        return Ok(());
    }
    let message = format!("{}: give `{}`, `{}` or both", table.owner, keys[0], keys[1]);
    Err(table.source.error(table.line, message))
}

fn spring(table: &Table<'_>) -> Result<ForceRule> {
    table.expect_keys(SPRING_KEYS)?;
    expect_one_of(table, ["stiffness", "damping"])?;
    let stiffness = number(table, "stiffness")?;
    let rest_length = match (table.get("rest_length"), stiffness == 0.0) {
        (Some(item), _) => item.number()?,
        (None, true) => 0.0,
        (None, false) => table
            .require("rest_length")
            .and_then(|item| item.number())
            .map_err(|error| error.hint("0 is a spring that pulls its ends together"))?,
    };
    Ok(ForceRule::Spring {
        parent: text(table, "parent")?,
        child: text(table, "child")?,
        parent_point: vector(table, "parent_point")?,
        child_point: vector(table, "child_point")?,
        stiffness,
        damping: number(table, "damping")?,
        rest_length,
        tension_only: table
            .get("tension_only")
            .map_or(Ok(false), |item| item.truth())?,
    })
}

fn torsion(table: &Table<'_>) -> Result<ForceRule> {
    table.expect_keys(TORSION_KEYS)?;
    expect_one_of(table, ["stiffness", "damping"])?;
    Ok(ForceRule::Torsion {
        parent: text(table, "parent")?,
        child: text(table, "child")?,
        axis: match table.get("axis") {
            Some(axis) => axis.vector()?,
            None => Vec3::new(0.0, 0.0, 1.0),
        },
        stiffness: number(table, "stiffness")?,
        damping: number(table, "damping")?,
        rest: table.get("rest").map_or(Ok(0.0), |item| item.angle())?,
    })
}

fn constant(table: &Table<'_>) -> Result<ForceRule> {
    table.expect_keys(CONSTANT_KEYS)?;
    expect_one_of(table, ["force", "torque"])?;
    let axes = match table.get("axes") {
        None => ForceAxes::World,
        Some(item) => match item.text()? {
            "world" => ForceAxes::World,
            "link" => ForceAxes::Link,
            _ => return Err(item.must_be("\"world\" or \"link\"")),
        },
    };
    Ok(ForceRule::Constant {
        link: text(table, "link")?,
        point: vector(table, "point")?,
        force: vector(table, "force")?,
        torque: vector(table, "torque")?,
        axes,
    })
}

fn drag(table: &Table<'_>) -> Result<ForceRule> {
    table.expect_keys(DRAG_KEYS)?;
    expect_one_of(table, ["linear", "quadratic"])?;
    Ok(ForceRule::Drag {
        link: text(table, "link")?,
        point: vector(table, "point")?,
        linear: number(table, "linear")?,
        quadratic: number(table, "quadratic")?,
        flow: vector(table, "flow")?,
    })
}

fn gradient(table: &Table<'_>) -> Result<GravityGradient> {
    table.expect_keys(GRADIENT_KEYS)?;
    let both = |item: Item<'_>, other: &str| {
        Err(item
            .error(&format!("cannot be given together with `{other}`"))
            .hint("either `mu` and `centre`, or `rate` with `up` and `normal`"))
    };
    match (table.get("mu"), table.get("rate")) {
        (Some(_), Some(rate)) => both(rate, "mu"),
        (None, Some(rate)) => {
            if let Some((_, key)) = table.first_of(&["centre", "uniform"]) {
                return both(rate, key);
            }
            Ok(GravityGradient::Orbit {
                rate: rate.number()?,
                up: table.require("up")?.vector()?,
                normal: table.require("normal")?.vector()?,
            })
        }
        (Some(mu), None) => {
            if let Some((_, key)) = table.first_of(&["up", "normal"]) {
                return both(mu, key);
            }
            Ok(GravityGradient::Centre {
                mu: mu.number()?,
                centre: table.require("centre")?.vector()?,
                uniform: table.get("uniform").map_or(Ok(true), |item| item.truth())?,
            })
        }
        (None, None) => {
            let message = format!(
                "{}: its field must be given by `mu` and `centre`, or by `rate`, `up` and `normal`",
                table.owner
            );
            Err(table.source.error(table.line, message))
        }
    }
}
