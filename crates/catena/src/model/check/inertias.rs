//! Checks that the equations of motion can be solved with a link's mass and tensor; whether a rigid body can have them is a separate check.

use super::finite_vector;
use crate::error::{Error, ErrorKind, Result};
use crate::model::specs::LinkSpec;

pub(super) fn inertial(link: &LinkSpec) -> Result<()> {
    let Some(inertial) = link.inertial else {
        return Ok(());
    };
    let refuse =
        |message: String| Err(Error::new(ErrorKind::Physics, message).at(link.place.clone()));
    if !inertial.mass.is_finite() {
        return refuse(format!("mass of link `{}` is not finite", link.name));
    }
    if inertial.mass < 0.0 {
        return refuse(format!(
            "mass of link `{}` is negative ({} kg)",
            link.name, inertial.mass
        ));
    }
    if inertial.mass > 0.0 && !inertial.mass.is_normal() {
        return refuse(format!(
            "mass of link `{}` is {:e} kg: a subnormal number, which has lost digits",
            link.name, inertial.mass
        ));
    }
    finite_vector(inertial.centre, &link.place, || {
        format!("mass centre of link `{}`", link.name)
    })?;
    let tensor = inertial.tensor;
    if [
        tensor.xx, tensor.yy, tensor.zz, tensor.xy, tensor.xz, tensor.yz,
    ]
    .iter()
    .any(|x| !x.is_finite())
    {
        return refuse(format!("inertia of link `{}` is not finite", link.name));
    }
    Ok(())
}

/// What makes an inertia impossible for a rigid body, although its equations of motion can be solved: a negative principal
/// moment, inertia without mass, a broken triangle inequality (the largest principal moment is at most the sum of the others).
///
/// Tensors in files are rounded. The inequality has a relative tolerance of 1e-6, for tensors written with six digits; a rounded zero
/// may be negative: 1e-15 m² is a radius of gyration of 0.03 µm.
pub(in crate::model) fn unphysical_inertia(link: &LinkSpec) -> Option<String> {
    let inertial = link.inertial?;
    let (name, mass) = (&link.name, inertial.mass);
    let [small, middle, large] = eigenvalues(inertial.tensor);
    if small < -(1e-9 * large.abs()).max(1e-15 * mass) {
        return Some(format!(
            "inertia of link `{name}` is not positive: a principal moment is {small:.6e} kg·m²"
        ));
    }
    if mass == 0.0 && large > 0.0 {
        return Some(format!(
            "link `{name}` has inertia ({large:.3e} kg·m²) but no mass"
        ));
    }
    let sum = small + middle;
    (large > sum * (1.0 + 1e-6) + (1e-15 * mass).max(1e-300)).then(|| {
        let excess = if sum > 0.0 {
            format!(" by {}", percent(large / sum - 1.0))
        } else {
            String::new()
        };
        format!(
            "inertia of link `{name}` breaks the triangle inequality: its largest principal moment {large:.6e} kg·m² exceeds \
             the sum of the others {sum:.6e} kg·m²{excess}"
        )
    })
}

/// A fraction as per cent with two digits, large ones as a factor.
fn percent(fraction: f64) -> String {
    if fraction < 10.0 {
        format!("{:.2} %", 100.0 * fraction)
    } else {
        format!("a factor of {:.1e}", fraction + 1.0)
    }
}

/// Eigenvalues of a symmetric 3×3 matrix in ascending order, by Jacobi rotations.
fn eigenvalues(tensor: crate::spatial::Sym3<f64>) -> [f64; 3] {
    let mut a = tensor.full().rows();
    for _ in 0..30 {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        if off <= 1e-300 + 1e-18 * (a[0][0].abs() + a[1][1].abs() + a[2][2].abs()) {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let t = if theta == 0.0 { 1.0 } else { t };
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..3 {
                let (x, y) = (a[k][p], a[k][q]);
                a[k][p] = c * x - s * y;
                a[k][q] = s * x + c * y;
            }
            for k in 0..3 {
                let (x, y) = (a[p][k], a[q][k]);
                a[p][k] = c * x - s * y;
                a[q][k] = s * x + c * y;
            }
        }
    }
    let mut values = [a[0][0], a[1][1], a[2][2]];
    values.sort_by(f64::total_cmp);
    values
}
