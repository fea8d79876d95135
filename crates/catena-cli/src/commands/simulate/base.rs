//! The motion of the base, from the option `--base`.

use crate::{json, number, state_file};
use catena::error::{Error, ErrorKind, Result};
use catena::simulate::{AnalyticBase, BaseTable, PrescribedBase, Sinusoid};
use catena::spatial::Vec3;
use catena::state::needed_and_given;
use serde_json::{Value, json};
use std::path::Path;

const KINDS: &str = "write a file of poses (FILE.csv), or move:vx,vy,vz (m/s), accelerate:ax,ay,az (m/s²), \
                     turn:wx,wy,wz (rad/s), shake:dx,dy,dz,HZ (m) or swing:rx,ry,rz,HZ (rad)";

fn refusal(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Input, message)
}

/// The motion, and its description for the metadata of the run; null for a base at rest.
pub fn motion(parts: &[String]) -> Result<(PrescribedBase, Value)> {
    if parts.is_empty() {
        return Ok((PrescribedBase::fixed(), Value::Null));
    }
    let mut base = AnalyticBase::default();
    let mut axis: Option<Vec3<f64>> = None;
    for part in parts {
        let Some((kind, numbers)) = part.split_once(':') else {
            return match parts.len() {
                1 => table(part),
                _ => Err(refusal(format!(
                    "--base: `{part}` cannot be combined with another motion"
                ))
                .hint(KINDS)),
            };
        };
        let what = format!("--base {kind}");
        match kind {
            "move" => base.velocity += vector(number::vector::<3>(&what, numbers)?),
            "accelerate" => base.acceleration += vector(number::vector::<3>(&what, numbers)?),
            "shake" => {
                let [x, y, z, frequency] = number::vector::<4>(&what, numbers)?;
                base.shakes.push(Sinusoid {
                    amplitude: Vec3::new(x, y, z),
                    frequency: positive(&what, frequency)?,
                    phase: 0.0,
                });
            }
            "turn" => {
                let turn = vector(angles::<3>(&what, numbers)?);
                base.rate += along(&mut axis, turn)?;
            }
            "swing" => {
                let [x, y, z, frequency] = angles::<4>(&what, numbers)?;
                base.swings.push(Sinusoid {
                    amplitude: along(&mut axis, Vec3::new(x, y, z))?,
                    frequency: positive(&what, frequency)?,
                    phase: 0.0,
                });
            }
            _ => return Err(refusal(format!("--base: there is no motion `{kind}`")).hint(KINDS)),
        }
    }
    if let Some(axis) = axis {
        base.axis = axis;
    }
    Ok((
        PrescribedBase::new(base),
        json!({"kind": "analytic", "parts": parts}),
    ))
}

fn vector(numbers: [f64; 3]) -> Vec3<f64> {
    Vec3::from_array(numbers)
}

/// Numbers that may be angles, such as 90deg.
fn angles<const N: usize>(what: &str, text: &str) -> Result<[f64; N]> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() != N {
        return Err(
            refusal(format!("{what}: {}", needed_and_given(N, parts.len())))
                .hint("separate them by commas, without spaces"),
        );
    }
    let mut numbers = [0.0; N];
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = number::parse(part)
            .ok_or_else(|| number::not_a_number(what, part))?
            .value;
    }
    Ok(numbers)
}

fn positive(what: &str, frequency: f64) -> Result<f64> {
    match frequency > 0.0 {
        true => Ok(frequency),
        false => Err(refusal(format!(
            "{what}: the frequency must be positive, not {frequency} Hz"
        ))),
    }
}

/// The length of a vector along the axis; the first vector determines the axis.
fn along(axis: &mut Option<Vec3<f64>>, turn: Vec3<f64>) -> Result<f64> {
    let Some(unit) = turn.unit() else {
        return Err(refusal("--base: the axis of a rotation cannot be zero"));
    };
    let e = *axis.get_or_insert(unit);
    let component = turn.dot(e);
    match (turn - e * component).norm() <= 1e-12 * turn.norm() {
        true => Ok(component),
        false => Err(
            refusal("--base: all rotations of the base must have the same axis")
                .hint("give a motion about several axes as a file of poses"),
        ),
    }
}

fn table(name: &str) -> Result<(PrescribedBase, Value)> {
    let path = Path::new(name);
    let is_csv = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    if !is_csv {
        return Err(refusal(format!("--base: `{name}` is not a motion of the base")).hint(KINDS));
    }
    let rows = state_file::read_poses(path, "the base")?;
    let numbers = rows
        .poses
        .iter()
        .flat_map(|(position, quaternion)| position.iter().chain(quaternion));
    let description = json!({
        "kind": "table",
        "file": path.display().to_string(),
        "rows": rows.times.len(),
        "check": json::checksum(rows.times.iter().chain(numbers)),
    });
    let table = BaseTable::new(rows.times, &rows.poses)
        .map_err(|error| error.at(state_file::whole(path)))?;
    Ok((PrescribedBase::new(table), description))
}
