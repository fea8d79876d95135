//! JSON for `--json`: exact numbers, one object per line where it fits, lists of numbers on one line.

use catena::Matrix;
use catena::spatial::{Mat3, Motion, Pose, Vec3};
use serde_json::{Map, Value, json};

/// A list of numbers; non-finite ones become null.
pub fn numbers(numbers: &[f64]) -> Value {
    numbers.iter().map(|&x| Value::from(x)).collect()
}

/// A matrix by rows.
pub fn matrix(matrix: &Matrix) -> Value {
    (0..matrix.rows()).map(|i| numbers(matrix.row(i))).collect()
}

/// A vector.
pub fn vector(vector: Vec3<f64>) -> Value {
    numbers(&vector.to_array())
}

/// A twist or its rate.
pub fn motion(motion: Motion<f64>) -> Value {
    json!({ "angular": vector(motion.angular), "linear": vector(motion.linear) })
}

/// Position and quaternion (w, x, y, z) of a pose.
pub fn pose(pose: Pose<f64>) -> Value {
    json!({
        "position": vector(pose.translation),
        "quaternion": numbers(&quaternion(pose.rotation)),
    })
}

/// The unit quaternion (w, x, y, z) of a rotation, w ≥ 0.
pub fn quaternion(rotation: Mat3<f64>) -> [f64; 4] {
    let p = rotation.to_quaternion();
    let sign = if p[0] < 0.0 { -1.0 } else { 1.0 };
    // + 0.0 turns -0 into 0
    p.map(|x| sign * x + 0.0)
}

/// FNV-1a hash over the bits of numbers: shows whether a file was changed before a run is resumed.
pub fn checksum<'a>(numbers: impl Iterator<Item = &'a f64>) -> String {
    let hash = numbers
        .flat_map(|x| x.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

/// The text of a value: objects with a key per line, lists without objects or lists in them on one line.
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text.push('\n');
    text
}

fn write(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(object) if !object.is_empty() => write_object(object, depth, text),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            text.push_str("[\n");
            for (index, item) in items.iter().enumerate() {
                indent(depth + 1, text);
                write(item, depth + 1, text);
                text.push_str(if index + 1 < items.len() { ",\n" } else { "\n" });
            }
            indent(depth, text);
            text.push(']');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                text.push_str(&item.to_string());
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

fn write_object(object: &Map<String, Value>, depth: usize, text: &mut String) {
    text.push_str("{\n");
    for (index, (key, value)) in object.iter().enumerate() {
        indent(depth + 1, text);
        text.push_str(&Value::from(key.as_str()).to_string());
        text.push_str(": ");
        write(value, depth + 1, text);
        text.push_str(if index + 1 < object.len() {
            ",\n"
        } else {
            "\n"
        });
    }
    indent(depth, text);
    text.push('}');
}

fn indent(depth: usize, text: &mut String) {
    text.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quaternions_of_rotations() {
        for p in [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.5, -0.5, 0.5, 0.5],
            [0.1, 0.7, -0.1, 0.7],
            [0.0, 0.6, 0.0, -0.8],
        ] {
            let found = quaternion(Mat3::from_quaternion(p));
            let sign: f64 = p
                .iter()
                .zip(found)
                .map(|(a, b)| a * b)
                .sum::<f64>()
                .signum();
            for (a, b) in p.iter().zip(found) {
                assert!((a - sign * b).abs() < 1e-15, "{p:?} {found:?}");
            }
        }
    }

    #[test]
    fn lists_of_numbers_stay_on_one_line() {
        let value = json!({ "a": [1.0, 2.5], "b": [[1.0], [2.0]], "c": [], "d": {} });
        let expected = "{\n  \"a\": [1.0, 2.5],\n  \"b\": [\n    [1.0],\n    [2.0]\n  ],\n  \"c\": [],\n  \"d\": {}\n}\n";
        assert_eq!(text(&value), expected);
    }
}
