//! Operational-space inertia: Λ⁻¹ = J I⁻¹ Jᵀ and Λ.
//!
//! Khatib (1987). I⁻¹ Jᵀ is one solve through the factorization for each row of J, O(n) each; the product with J follows.
//! Λ is the effective inertia at the frame. It exists only where the frame can be accelerated in every
//! direction of the task: [`operational_inertia`] scales rows so that units do not matter, and rejects singular tasks.

use super::{Factorization, SolveColumns};
use crate::card::Card;
use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::residual;
use crate::scalar::{Parameter, Scalar};

/// Operational-space inertia.
pub const CARD: Card = Card {
    name: "Operational-space inertia",
    question: "operational-space inertia",
    call: "operational_inverse, operational_inertia",
    file: "algorithm/factorization/operational.rs",
    order: "O(n) per row of the task",
    source: "Khatib 1987; through UDUᵀ",
};

/// Below this, the smallest eigenvalue of the scaled Λ⁻¹ (largest: about 1) counts as zero.
pub const SINGULAR: f64 = 1e-12;

/// Λ⁻¹ = J I⁻¹ Jᵀ of a task whose Jacobian is m × nv, and X = I⁻¹ Jᵀ (nv × m). `solver` must have been prepared.
pub fn operational_inverse<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    solver: &mut SolveColumns<S>,
    jacobian: &Matrix<S>,
) -> (Matrix<S>, Matrix<S>) {
    let mut x = jacobian.transpose();
    solver.solve(model, &mut x);
    let rows = jacobian.rows();
    let mut inverse = Matrix::zeros(rows, rows);
    for i in 0..rows {
        for j in 0..=i {
            let mut sum = S::zero();
            for (k, a) in jacobian.row(i).iter().enumerate() {
                sum = a.mul_add(x[(k, j)], sum);
            }
            inverse[(i, j)] = sum;
            inverse[(j, i)] = sum;
        }
    }
    (inverse, x)
}

/// Operational-space inertia of a frame or task.
#[derive(Clone, Debug)]
pub struct OperationalInertia {
    /// Λ⁻¹ = J I⁻¹ Jᵀ: the acceleration that a unit wrench gives.
    pub inverse: Matrix,
    /// Λ.
    pub inertia: Matrix,
    /// I⁻¹ Jᵀ Λ, nv × m: the dynamically consistent inverse of J.
    pub consistent_inverse: Matrix,
    /// Largest over smallest eigenvalue of Λ⁻¹ with its diagonal scaled to 1.
    pub condition: f64,
}

/// Λ of a task, or why there is none.
pub fn operational_inertia(
    model: &Model,
    factors: &Factorization<f64>,
    solver: &mut SolveColumns<f64>,
    jacobian: &Matrix,
) -> Result<OperationalInertia> {
    solver.prepare(model, factors);
    let (inverse, x) = operational_inverse(model, solver, jacobian);
    operational_inertia_of(inverse, x)
}

/// Λ of a task with this Λ⁻¹ = J I⁻¹ Jᵀ and x = I⁻¹ Jᵀ.
pub(crate) fn operational_inertia_of(inverse: Matrix, x: Matrix) -> Result<OperationalInertia> {
    let rows = inverse.rows();
    let largest = (0..rows).fold(0.0f64, |m, i| m.max(inverse[(i, i)]));
    let mut scale = vec![0.0; rows];
    for i in 0..rows {
        let own = inverse[(i, i)];
        if !(own.is_finite() && own > 1e-300 && own > largest * 1e-30) {
            return Err(refused(format!(
                "no effort accelerates the frame along direction {} of the task (1/inertia {own:.3e})",
                i + 1
            )));
        }
        scale[i] = 1.0 / own.sqrt();
    }
    let mut scaled = Matrix::zeros(rows, rows);
    for i in 0..rows {
        for j in 0..rows {
            scaled[(i, j)] = inverse[(i, j)] * scale[i] * scale[j];
        }
    }
    let (values, vectors) = eigen(scaled);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = residual::largest(&values);
    if most.is_nan() || least <= SINGULAR * most {
        return Err(refused(format!(
            "the frame cannot be accelerated in every direction of the task: with unit diagonal, the eigenvalues of J I⁻¹ Jᵀ \
             lie between {least:.3e} and {most:.3e}"
        )));
    }
    let mut inertia = Matrix::zeros(rows, rows);
    for i in 0..rows {
        for j in 0..rows {
            let mut sum = 0.0;
            for (k, value) in values.iter().enumerate() {
                sum += vectors[(i, k)] * vectors[(j, k)] / value;
            }
            inertia[(i, j)] = sum * scale[i] * scale[j];
        }
    }
    let consistent_inverse = x.product(&inertia);
    Ok(OperationalInertia {
        inverse,
        inertia,
        consistent_inverse,
        condition: most / least,
    })
}

fn refused(why: String) -> Error {
    Error::new(ErrorKind::Singular, format!("there is no operational-space inertia: {why}")).hint(
        "move away from the singular posture, ask for fewer directions, or use J I⁻¹ Jᵀ (`operational_inverse`), which always exists",
    )
}

/// Eigenvalues and eigenvectors (columns) of a small symmetric matrix, by Jacobi's rotations.
fn eigen(mut a: Matrix) -> (Vec<f64>, Matrix) {
    let n = a.rows();
    let mut vectors = Matrix::identity(n);
    for _ in 0..60 {
        let mut off = 0.0f64;
        for i in 0..n {
            for j in 0..i {
                off = off.max(a[(i, j)].abs());
            }
        }
        if off.is_nan() || off < 1e-17 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[(p, q)] == 0.0 {
                    continue;
                }
                let theta = (a[(q, q)] - a[(p, p)]) / (2.0 * a[(p, q)]);
                let t = theta.signum() / (theta.abs() + elementary::hypot(theta, 1.0));
                let c = 1.0 / elementary::hypot(t, 1.0);
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[(k, p)], a[(k, q)]);
                    (a[(k, p)], a[(k, q)]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[(p, k)], a[(q, k)]);
                    (a[(p, k)], a[(q, k)]) = (c * x - s * y, s * x + c * y);
                }
                // written, not computed: otherwise round-off keeps the sweeps from ending
                (a[(p, q)], a[(q, p)]) = (0.0, 0.0);
                for k in 0..n {
                    let (x, y) = (vectors[(k, p)], vectors[(k, q)]);
                    (vectors[(k, p)], vectors[(k, q)]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    ((0..n).map(|k| a[(k, k)]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A V = V Λ and Vᵀ V = 1, in a few sweeps.
    #[test]
    fn eigenvectors_are_stretched_only() {
        let mut random = Random::new(5);
        for n in 1..=6 {
            for _ in 0..20 {
                let mut a = Matrix::zeros(n, n);
                for (i, j) in (0..n * n).map(|k| (k / n, k % n)).filter(|(i, j)| j <= i) {
                    let x = random.uniform(-1.0, 1.0);
                    (a[(i, j)], a[(j, i)]) = (x, x);
                }
                let (values, vectors) = eigen(a.clone());
                let (image, square) = (a.product(&vectors), vectors.transpose().product(&vectors));
                for (i, k) in (0..n * n).map(|k| (k / n, k % n)) {
                    let unit = f64::from(u8::from(i == k));
                    assert!((square[(i, k)] - unit).abs() < 1e-14, "{n}");
                    let stretched = values[k] * vectors[(i, k)];
                    assert!((image[(i, k)] - stretched).abs() < 1e-14, "{n}");
                }
            }
        }
    }

    /// Two directions with a correlation ρ, in any units: eigenvalues 1 ± ρ of the scaled matrix, and Λ is its inverse.
    #[test]
    fn the_condition_is_that_of_the_correlation() {
        for (rho, units) in [(0.0, [1.0, 1.0]), (0.5, [1.0, 1e3]), (-0.98, [1e-4, 7.0])] {
            let [a, b]: [f64; 2] = units;
            let mut inverse = Matrix::zeros(2, 2);
            (inverse[(0, 0)], inverse[(1, 1)]) = (a * a, b * b);
            (inverse[(0, 1)], inverse[(1, 0)]) = (rho * a * b, rho * a * b);
            let found = operational_inertia_of(inverse.clone(), Matrix::identity(2)).unwrap();
            let rho: f64 = rho;
            let expected = (1.0 + rho.abs()) / (1.0 - rho.abs());
            assert!((found.condition / expected - 1.0).abs() < 1e-13);
            let one = inverse.product(&found.inertia);
            for (i, k) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let unit = f64::from(u8::from(i == k));
                let size = units[i] / units[k];
                assert!(
                    (one[(i, k)] - unit).abs() < 1e-13 * size.max(1.0),
                    "{one:?}"
                );
            }
            assert_eq!(found.consistent_inverse, found.inertia);
        }
    }
}
