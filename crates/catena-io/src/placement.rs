//! Rotations in their usual notations.

use catena::model::dh;
use catena::spatial::{Mat3, Vec3};

/// Sine and cosine, exact at multiples of a right angle.
fn sin_cos(angle: f64) -> (f64, f64) {
    let turned_x = dh(0.0, 0.0, 0.0, angle).rotation.x;
    (turned_x.y, turned_x.x)
}

/// Roll, pitch, yaw: Rz(yaw) Ry(pitch) Rx(roll), angles in radians.
pub(crate) fn from_rpy([roll, pitch, yaw]: [f64; 3]) -> Mat3<f64> {
    let ((sr, cr), (sp, cp), (sy, cy)) = (sin_cos(roll), sin_cos(pitch), sin_cos(yaw));
    Mat3::from_rows([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [0.0 - sp, cp * sr, cp * cr],
    ])
}

/// Rotation by an angle about a unit vector.
pub(crate) fn from_axis_angle(axis: Vec3<f64>, angle: f64) -> Mat3<f64> {
    let (s, c) = sin_cos(angle);
    let t = 1.0 - c;
    let Vec3 { x, y, z } = axis;
    Mat3::from_rows([
        [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
        [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
        [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn right_angles_are_exact() {
        let quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(from_rpy([0.0, 0.0, FRAC_PI_2]).rows(), quarter);
        let z = Vec3::new(0.0, 0.0, 1.0);
        assert_eq!(from_axis_angle(z, FRAC_PI_2).rows(), quarter);
        let x_to_minus_z = from_rpy([0.0, FRAC_PI_2, 0.0]).x;
        assert_eq!(x_to_minus_z.to_array(), [0.0, 0.0, -1.0]);
    }

    #[test]
    fn roll_pitch_yaw_is_three_turns_about_fixed_axes() {
        let angles = [0.3, -0.7, 1.1];
        let [roll, pitch, yaw] = angles;
        let about = |x, y, z, angle| from_axis_angle(Vec3::new(x, y, z), angle);
        let turns =
            about(0.0, 0.0, 1.0, yaw) * about(0.0, 1.0, 0.0, pitch) * about(1.0, 0.0, 0.0, roll);
        let difference = from_rpy(angles) - turns;
        for row in difference.rows() {
            for entry in row {
                assert!(entry.abs() < 1e-15, "{difference:?}");
            }
        }
    }

    #[test]
    fn quaternions_turn_as_their_matrices() {
        for k in 0..200 {
            let k = f64::from(k);
            let rotation = from_rpy([0.31 * k, 0.17 * k - 3.0, 0.05 * k * k]);
            let again = Mat3::from_quaternion(rotation.to_quaternion());
            for entry in (again - rotation).rows().as_flattened() {
                assert!(entry.abs() < 1e-15, "{rotation:?}");
            }
        }
    }
}
