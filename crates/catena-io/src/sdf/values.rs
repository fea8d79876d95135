//! Texts of elements as numbers, flags and poses.

use crate::element_tree::Node;
use crate::nearest::advice;
use crate::placement::from_rpy;
use catena::error::{Error, ErrorKind, Result};
use catena::spatial::{Mat3, Pose, Vec3};

/// The error in the text of an element.
pub(super) fn error(node: Node<'_>, what: &str) -> Error {
    let message = format!("{} {what}: \"{}\"", node.describe(), node.text());
    node.error(ErrorKind::Syntax, message)
}

/// The only child of this name, if there is one.
pub(super) fn only<'t>(node: Node<'t>, tag: &'static str) -> Result<Option<Node<'t>>> {
    let mut all = node.all(tag);
    let first = all.next();
    match all.next() {
        None => Ok(first),
        Some(second) => {
            let message = format!("{} has more than one <{tag}>", node.describe());
            Err(second.error(ErrorKind::Syntax, message))
        }
    }
}

/// The text of a required child.
pub(super) fn text<'t>(node: Node<'t>, tag: &'static str) -> Result<&'t str> {
    let child = only(node, tag)?;
    let text = child.map(Node::text).unwrap_or_default();
    if text.is_empty() {
        let message = format!("{} has no <{tag}>", node.describe());
        return Err(node.error(ErrorKind::Syntax, message));
    }
    Ok(text)
}

/// A required attribute.
pub(super) fn attribute<'t>(node: Node<'t>, key: &str) -> Result<&'t str> {
    match node.attribute(key) {
        Some(value) if !value.is_empty() => Ok(value),
        _ => {
            let message = format!("{} has no attribute `{key}`", node.describe());
            Err(node.error(ErrorKind::Syntax, message))
        }
    }
}

/// The text as a number; `inf` is one.
fn number_of(node: Node<'_>) -> Result<f64> {
    match node.text().parse::<f64>() {
        Ok(number) if !number.is_nan() => Ok(number),
        _ => Err(error(node, "must be a number")),
    }
}

/// The number of a child, which may be infinite, if the child is present.
pub(super) fn any_number(node: Node<'_>, tag: &'static str) -> Result<Option<f64>> {
    only(node, tag)?.map(number_of).transpose()
}

/// The number of a child, if present.
pub(super) fn number(node: Node<'_>, tag: &'static str) -> Result<Option<f64>> {
    let Some(child) = only(node, tag)? else {
        return Ok(None);
    };
    let number = number_of(child)?;
    match number.is_finite() {
        true => Ok(Some(number)),
        false => Err(error(child, "must be finite")),
    }
}

/// The number of a child, or its default.
pub(super) fn number_or(node: Node<'_>, tag: &'static str, otherwise: f64) -> Result<f64> {
    Ok(number(node, tag)?.unwrap_or(otherwise))
}

/// Any number of numbers in the text.
fn list(node: Node<'_>) -> Result<Vec<f64>> {
    let words = node.text().split_whitespace();
    let numbers = words.map(|word| match word.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err(error(node, "must be finite")),
        Err(_) => Err(error(node, "is not a list of numbers")),
    });
    numbers.collect()
}

/// A given number of numbers.
pub(super) fn numbers<const N: usize>(node: Node<'_>) -> Result<[f64; N]> {
    let list = list(node)?;
    <[f64; N]>::try_from(&list[..])
        .map_err(|_| error(node, &format!("must have {N} numbers, not {}", list.len())))
}

/// The three numbers of a child, if the child is present.
pub(super) fn vector(node: Node<'_>, tag: &'static str) -> Result<Option<Vec3<f64>>> {
    let child = only(node, tag)?;
    child
        .map(|child| Ok(Vec3::from_array(numbers(child)?)))
        .transpose()
}

/// Is this word a yes or a no?
fn truth(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// `true` or `false` in a child, if the child is present and not empty.
pub(super) fn flag(node: Node<'_>, tag: &'static str) -> Result<Option<bool>> {
    let Some(child) = only(node, tag)?.filter(|child| !child.text().is_empty()) else {
        return Ok(None);
    };
    let truth = truth(child.text());
    truth
        .map(Some)
        .ok_or_else(|| error(child, "must be true or false"))
}

/// An attribute that is `true`.
pub(super) fn is_set(node: Node<'_>, key: &str) -> Result<bool> {
    let written = node.attribute(key).unwrap_or_default();
    match written.is_empty() {
        true => Ok(false),
        false => truth(written).ok_or_else(|| {
            let what = format!(
                "`{key}` of {} must be true or false: \"{written}\"",
                node.describe()
            );
            node.error(ErrorKind::Syntax, what)
        }),
    }
}

/// A `<pose>`: its numbers, and the frame they are relative to.
#[derive(Clone, Copy)]
pub(super) struct Placed<'t> {
    pub(super) pose: Pose<f64>,
    /// Name of a frame; if absent, the default for the element applies.
    pub(super) relative_to: Option<&'t str>,
}

/// The `<pose>` of an element, the identity where it has none.
pub(super) fn pose(node: Node<'_>) -> Result<Placed<'_>> {
    let Some(pose) = only(node, "pose")? else {
        return Ok(Placed {
            pose: Pose::identity(),
            relative_to: None,
        });
    };
    // the attribute was called `frame` in versions 1.5 and 1.6
    let relative_to = pose.attribute("relative_to").or(pose.attribute("frame"));
    let format = pose.attribute("rotation_format").unwrap_or("euler_rpy");
    let degrees = is_set(pose, "degrees")?;
    let written = pose.text();
    let pose = match format {
        _ if written.is_empty() => Pose::identity(),
        "euler_rpy" => {
            let [x, y, z, mut angles @ ..] = numbers::<6>(pose)?;
            if degrees {
                angles = angles.map(f64::to_radians);
            }
            let rotation = match angles {
                [0.0, 0.0, 0.0] => Mat3::identity(),
                angles => from_rpy(angles),
            };
            Pose::new(rotation, Vec3::new(x, y, z))
        }
        "quat_xyzw" => {
            if degrees {
                let message = format!("{}: a quaternion has no degrees", pose.describe());
                return Err(pose.error(ErrorKind::Syntax, message));
            }
            let [x, y, z, i, j, k, w] = numbers(pose)?;
            let size = [w, i, j, k].iter().map(|x| x * x).sum::<f64>().sqrt();
            if !(size.is_finite() && size > 1e-12) {
                return Err(error(pose, "has no orientation"));
            }
            let unit = [w, i, j, k].map(|x| x / size);
            Pose::new(Mat3::from_quaternion(unit), Vec3::new(x, y, z))
        }
        _ => {
            let message = format!(
                "`rotation_format` of {} is not known: \"{format}\"",
                pose.describe()
            );
            let error = pose.error(ErrorKind::Syntax, message);
            return Err(error.hint(advice(format, &["euler_rpy", "quat_xyzw"])));
        }
    };
    Ok(Placed {
        pose,
        relative_to: relative_to.filter(|name| !name.is_empty()),
    })
}
