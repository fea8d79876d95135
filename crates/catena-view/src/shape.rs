//! Shape of a body of which only the inertia is known.
//!
//! Mass, mass centre and inertia tensor determine the standard deviations σ of the mass along the three principal axes:
//! σᵢ² = (tr(I)/2 − Iᵢ)/m. The homogeneous ellipsoid of the same inertia has the semi-axes √5 σ, the homogeneous box the sides √12 σ.

use crate::encode::quaternion;
use catena::model::Inertial;
use catena::spatial::{Mat3, Sym3, Vec3};
use serde_json::{Value, json};

/// Mass centre `p`, principal axes `r` (quaternion, body axes) and standard deviations `spread` of the mass along them, m.
pub fn of(inertial: &Inertial) -> Value {
    if inertial.mass <= 0.0 {
        return Value::Null;
    }
    let (moments, axes) = principal(inertial.tensor);
    let half = 0.5 * moments.iter().sum::<f64>();
    let spread = moments.map(|moment| ((half - moment) / inertial.mass).max(0.0).sqrt());
    json!({
        "p": inertial.centre.to_array(),
        "r": quaternion(axes),
        "spread": spread,
        "moments": moments,
    })
}

/// Principal moments, and the right-handed principal axes as columns, by Jacobi's rotations.
fn principal(tensor: Sym3<f64>) -> ([f64; 3], Mat3<f64>) {
    let mut a = [
        [tensor.xx, tensor.xy, tensor.xz],
        [tensor.xy, tensor.yy, tensor.yz],
        [tensor.xz, tensor.yz, tensor.zz],
    ];
    let mut axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]; // rows are the axes
    const MOST_SWEEPS: usize = 30;
    for _ in 0..MOST_SWEEPS {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        let size = a[0][0].abs() + a[1][1].abs() + a[2][2].abs();
        if off <= 1e-15 * size {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for k in 0..3 {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                (axes[p][k], axes[q][k]) = (
                    c * axes[p][k] - s * axes[q][k],
                    s * axes[p][k] + c * axes[q][k],
                );
            }
        }
    }
    let [x, y, _] = axes.map(Vec3::from_array);
    let z = x.cross(y);
    let z = z * (1.0 / z.norm());
    ([a[0][0], a[1][1], a[2][2]], Mat3::from_columns(x, y, z))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box of sides 1, 2, 3 turned about a skew axis: its sides are recovered.
    #[test]
    fn a_turned_box_has_its_sides() {
        let sides = [1.0, 2.0, 3.0f64];
        let mass = 5.0;
        let square = sides.map(|x| x * x);
        let tensor = Sym3::new(
            mass * (square[1] + square[2]) / 12.0,
            mass * (square[0] + square[2]) / 12.0,
            mass * (square[0] + square[1]) / 12.0,
            0.0,
            0.0,
            0.0,
        );
        let turn = Mat3::from_quaternion([0.8, 0.36, -0.48, 0.0]);
        let inertial = Inertial {
            mass,
            centre: Vec3::new(0.1, 0.2, 0.3),
            tensor: tensor.conjugate(turn),
        };
        let shape = of(&inertial);
        let mut found: Vec<f64> = shape["spread"]
            .as_array()
            .expect("three numbers")
            .iter()
            .map(|x| 12f64.sqrt() * x.as_f64().expect("a number"))
            .collect();
        found.sort_by(f64::total_cmp);
        for (a, b) in found.iter().zip(sides) {
            assert!((a - b).abs() < 1e-12, "{found:?}");
        }
        let (moments, axes) = principal(inertial.tensor);
        let r = axes.rows();
        let full = inertial.tensor.full().rows();
        for i in 0..3 {
            for k in 0..3 {
                // I u = λ u for every principal axis
                let left: f64 = (0..3).map(|j| full[k][j] * r[j][i]).sum();
                assert!((left - moments[i] * r[k][i]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_body_without_mass_has_no_shape() {
        let inertial = Inertial {
            mass: 0.0,
            centre: Vec3::zero(),
            tensor: Sym3::zero(),
        };
        assert!(of(&inertial).is_null());
    }
}
