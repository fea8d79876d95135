//! Orientations in their five notations, and poses.

use super::attributes::Attributes;
use super::compiler::Compiler;
use crate::placement::from_axis_angle;
use catena::elementary;
use catena::error::Result;
use catena::spatial::{Mat3, Pose, Vec3};

/// `pos` and the orientation of an element.
pub(super) fn pose(attributes: &Attributes<'_>, compiler: &Compiler) -> Result<Pose<f64>> {
    let translation = attributes.vector("pos")?.unwrap_or(Vec3::zero());
    Ok(Pose::new(rotation(attributes, compiler)?, translation))
}

/// One of `quat`, `axisangle`, `xyaxes`, `zaxis` and `euler`; the identity where none is given. The others, which a class may
/// have set, take precedence over a quaternion.
pub(super) fn rotation(attributes: &Attributes<'_>, compiler: &Compiler) -> Result<Mat3<f64>> {
    let no_length = |key: &str| attributes.error(key, "has zero length");
    let own = |key: &&str| attributes.node.attribute(key).is_some();
    let forms = ["quat", "axisangle", "xyaxes", "zaxis", "euler"];
    let mut given = forms.iter().filter(|key| own(key));
    if let (Some(_), Some(second)) = (given.next(), given.next()) {
        return Err(attributes.error(second, "is a second orientation"));
    }
    if let Some([x, y, z, angle]) = attributes.numbers("axisangle")? {
        let axis = Vec3::new(x, y, z).unit();
        let axis = axis.ok_or_else(|| no_length("axisangle"))?;
        return Ok(from_axis_angle(axis, compiler.angle(angle)));
    }
    if let Some([a, b, c, d, e, f]) = attributes.numbers("xyaxes")? {
        let x = Vec3::new(a, b, c).unit();
        let x = x.ok_or_else(|| no_length("xyaxes"))?;
        let y = Vec3::new(d, e, f);
        let y = (y - x * x.dot(y))
            .unit()
            .ok_or_else(|| attributes.error("xyaxes", "has two axes along the same line"))?;
        return Ok(Mat3::from_columns(x, y, x.cross(y)));
    }
    if let Some(z) = attributes.vector("zaxis")? {
        return turn_z_to(z).ok_or_else(|| no_length("zaxis"));
    }
    if let Some(angles) = attributes.numbers("euler")? {
        return Ok(compiler.euler(angles));
    }
    match attributes.numbers("quat")? {
        Some(quaternion) => from_quaternion(quaternion).ok_or_else(|| no_length("quat")),
        None => Ok(Mat3::identity()),
    }
}

/// The rotation of a quaternion of any nonzero length.
pub(super) fn from_quaternion(quaternion: [f64; 4]) -> Option<Mat3<f64>> {
    let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
    let unit = quaternion.map(|x| x / length);
    (length > 1e-15 && length.is_finite()).then(|| Mat3::from_quaternion(unit))
}

/// The smallest rotation that takes z to this direction.
pub(super) fn turn_z_to(direction: Vec3<f64>) -> Option<Mat3<f64>> {
    let direction = direction.unit()?;
    let z = Vec3::new(0.0, 0.0, 1.0);
    let axis = z.cross(direction);
    let angle = elementary::atan2(axis.norm(), direction.z);
    // along z, or against it: about x
    let axis = axis.unit().filter(|_| axis.norm() > 1e-15);
    Some(from_axis_angle(
        axis.unwrap_or(Vec3::new(1.0, 0.0, 0.0)),
        angle,
    ))
}
