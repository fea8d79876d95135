//! Numbers and poses as the page reads them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use catena::spatial::{Mat3, Pose};
use serde_json::{Value, json};

/// Little-endian 32-bit floats in base64.
pub fn f32s(values: impl IntoIterator<Item = f64>) -> String {
    let bytes: Vec<u8> = values
        .into_iter()
        .flat_map(|x| (x as f32).to_le_bytes())
        .collect();
    STANDARD.encode(bytes)
}

/// Little-endian 64-bit floats in base64.
pub fn f64s(values: impl IntoIterator<Item = f64>) -> String {
    let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
    STANDARD.encode(bytes)
}

/// Little-endian 32-bit integers in base64.
pub fn u32s(values: impl IntoIterator<Item = u32>) -> String {
    let bytes: Vec<u8> = values.into_iter().flat_map(u32::to_le_bytes).collect();
    STANDARD.encode(bytes)
}

/// The unit quaternion (w, x, y, z) of a rotation, w ≥ 0.
pub fn quaternion(rotation: Mat3<f64>) -> [f64; 4] {
    let p = rotation.to_quaternion();
    let sign = if p[0] < 0.0 { -1.0 } else { 1.0 };
    p.map(|x| sign * x)
}

/// Position and quaternion: x, y, z, qw, qx, qy, qz.
pub fn seven(pose: &Pose<f64>) -> [f64; 7] {
    let [x, y, z] = pose.translation.to_array();
    let [w, i, j, k] = quaternion(pose.rotation);
    [x, y, z, w, i, j, k]
}

/// A pose as an object with position `p` and quaternion `r`.
pub fn pose(pose: &Pose<f64>) -> Value {
    json!({ "p": pose.translation.to_array(), "r": quaternion(pose.rotation) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quaternions_turn_as_their_matrices() {
        for p in [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.5, -0.5, 0.5, 0.5],
            [0.1, 0.7, -0.1, 0.7],
            [0.0, 0.6, 0.0, -0.8],
        ] {
            let rotation = Mat3::from_quaternion(p);
            let again = Mat3::from_quaternion(quaternion(rotation));
            for (a, b) in rotation.rows().iter().zip(again.rows()) {
                for k in 0..3 {
                    assert!((a[k] - b[k]).abs() < 1e-15);
                }
            }
        }
    }

    #[test]
    fn bytes_are_little_endian() {
        assert_eq!(f32s([1.0]), "AACAPw==");
        assert_eq!(u32s([1, 2]), "AQAAAAIAAAA=");
    }
}
