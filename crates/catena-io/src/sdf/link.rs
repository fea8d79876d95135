//! `<link>`: mass, and whether gravity acts.

use super::values::{self, flag, is_set, number, number_or, only, pose};
use super::{File, schema};
use crate::element_tree::Node;
use crate::mass::Mass;
use crate::shape::Shape;
use catena::error::{ErrorKind, Result};
use catena::spatial::{Pose, Sym3};

/// A link.
pub(super) struct Link {
    /// Its frame.
    pub(super) frame: usize,
    pub(super) mass: Mass,
    /// Whether gravity acts on it.
    pub(super) gravity: bool,
}

/// Reads a link; `wind` is the wind setting of its model.
pub(super) fn read(
    file: &mut File<'_>,
    node: Node<'_>,
    frame: usize,
    wind: Option<bool>,
) -> Result<Link> {
    file.check(node)?;
    file.notes.collisions += node.all("collision").count();
    let inertial = only(node, "inertial")?;
    let mass = match inertial {
        Some(inertial) => read_inertial(file, node, inertial)?,
        None => {
            file.notes
                .without_inertial
                .push(file.frames.all[frame].name.clone());
            default_mass()
        }
    };
    if flag(node, "kinematic")? == Some(true) {
        let what = format!(
            "{} is kinematic: its motion is given and it does not react to forces, which is not supported",
            node.describe()
        );
        file.ignored.or_refuse("kinematic", node, what)?;
    }
    if let Some(decay) = only(node, "velocity_decay")? {
        schema::check(decay, file.ignored.unknown(), &mut file.notes)?;
        let rates = [
            number_or(decay, "linear", 0.0)?,
            number_or(decay, "angular", 0.0)?,
        ];
        if rates != [0.0; 2] {
            let what = format!("{} is not supported", decay.describe());
            file.ignored.or_refuse("velocity_decay", decay, what)?;
        }
    }
    if flag(node, "enable_wind")?.or(wind) == Some(true) {
        let what = format!("wind on {} is not supported", node.describe());
        file.ignored.or_refuse("wind", node, what)?;
    }
    Ok(Link {
        frame,
        mass,
        gravity: flag(node, "gravity")?.unwrap_or(true),
    })
}

/// Mass properties of a link without `<inertial>`: the defaults of SDFormat.
fn default_mass() -> Mass {
    Mass {
        mass: 1.0,
        at: Pose::identity(),
        tensor: Sym3::new(1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    }
}

fn read_inertial(file: &mut File<'_>, link: Node<'_>, inertial: Node<'_>) -> Result<Mass> {
    file.check(inertial)?;
    if let Some(added) = only(inertial, "fluid_added_mass")? {
        let mut acts = false;
        for entry in added.children() {
            let [number] = values::numbers(entry)?;
            acts |= number != 0.0;
        }
        if acts {
            let what = format!("{} is not supported", added.describe());
            file.ignored.or_refuse("fluid_added_mass", added, what)?;
        }
    }
    if is_set(inertial, "auto")? {
        return from_collisions(link, inertial);
    }
    let placed = pose(inertial)?;
    if let Some(name) = placed.relative_to {
        let message = format!(
            "<pose> of {} is relative to `{name}`, but can only be in the frame of the link",
            inertial.describe()
        );
        return Err(inertial.error(ErrorKind::Syntax, message));
    }
    let mut mass = default_mass();
    mass.at = placed.pose;
    mass.mass = number_or(inertial, "mass", 1.0)?;
    if let Some(inertia) = only(inertial, "inertia")? {
        file.check(inertia)?;
        let moment = |key| number_or(inertia, key, 1.0);
        let product = |key| number_or(inertia, key, 0.0);
        mass.tensor = Sym3::new(
            moment("ixx")?,
            moment("iyy")?,
            moment("izz")?,
            product("ixy")?,
            product("ixz")?,
            product("iyz")?,
        );
    }
    Ok(mass)
}

/// `auto`: the mass of the collision shapes, filled with their density, or so that the link has the mass that is given.
fn from_collisions(link: Node<'_>, inertial: Node<'_>) -> Result<Mass> {
    for tag in ["pose", "inertia"] {
        if inertial.first(tag).is_some() {
            let message = format!("{} has a <{tag}> beside `auto`", inertial.describe());
            let error = inertial.error(ErrorKind::Model, message);
            return Err(error.hint("it would not be used: leave it out, or set `auto` to false"));
        }
    }
    let density = number_or(inertial, "density", 1000.0)?;
    let mut parts = Vec::new();
    for collision in link.all("collision") {
        let placed = pose(collision)?;
        if placed.relative_to.is_some() {
            let message = format!(
                "{}: mass of a collision that is relative to another frame is not computed",
                collision.describe()
            );
            let error = collision.error(ErrorKind::Unsupported, message);
            return Err(error.hint("give its pose in the frame of the link"));
        }
        let shape = shape(collision)?;
        let density = number_or(collision, "density", density)?;
        let own = density * shape.volume();
        let [xx, yy, zz] = shape.solid().map(|moment| own * moment);
        parts.push(Mass {
            mass: own,
            at: placed.pose,
            tensor: Sym3::new(xx, yy, zz, 0.0, 0.0, 0.0),
        });
    }
    let Some(sum) = Mass::sum(&parts) else {
        let message = format!(
            "the inertia of {} cannot be computed: it has no <collision>",
            link.describe()
        );
        return Err(inertial.error(ErrorKind::Model, message));
    };
    Ok(match number(inertial, "mass")? {
        Some(mass) => sum.scaled(mass / sum.mass),
        None => sum,
    })
}

/// The shape of a collision, if its mass can be computed.
fn shape(collision: Node<'_>) -> Result<Shape> {
    let geometry = only(collision, "geometry")?.and_then(|geometry| geometry.children().next());
    let Some(shape) = geometry else {
        let message = format!("{} has no shape", collision.describe());
        return Err(collision.error(ErrorKind::Syntax, message));
    };
    let size = |tag: &'static str| match number(shape, tag)? {
        Some(size) if size > 0.0 => Ok(size),
        _ => {
            let message = format!("{} has no positive <{tag}>", shape.describe());
            Err(shape.error(ErrorKind::Syntax, message))
        }
    };
    let sizes = |tag: &'static str| match values::vector(shape, tag)? {
        Some(sizes) if sizes.to_array().iter().all(|size| *size > 0.0) => Ok(sizes.to_array()),
        _ => {
            let message = format!("{} has no three positive <{tag}>", shape.describe());
            Err(shape.error(ErrorKind::Syntax, message))
        }
    };
    Ok(match shape.tag() {
        "sphere" => Shape::Sphere {
            radius: size("radius")?,
        },
        "cylinder" => Shape::Cylinder {
            radius: size("radius")?,
            half: 0.5 * size("length")?,
        },
        "capsule" => Shape::Capsule {
            radius: size("radius")?,
            half: 0.5 * size("length")?,
        },
        "ellipsoid" => Shape::Ellipsoid {
            semi: sizes("radii")?,
        },
        "box" => Shape::Box {
            half: sizes("size")?.map(|size| 0.5 * size),
        },
        other => {
            let message = format!(
                "{}: the mass of <{other}> is not computed",
                collision.describe()
            );
            let error = collision.error(ErrorKind::Unsupported, message);
            return Err(error.hint("give mass and inertia in <inertial> without `auto`"));
        }
    })
}
