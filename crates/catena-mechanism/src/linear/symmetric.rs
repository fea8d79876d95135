//! Eigenvalues and eigenvectors of a symmetric matrix by Jacobi's rotations.

use super::{Diverged, Mat, rotate, tally};

/// A = W Λ Wᵀ; the values in ascending order.
pub(crate) struct SymmetricEigen {
    pub values: Vec<f64>,
    pub w: Mat,
}

/// Rounds of rotations until the matrix must be diagonal; usually fewer than ten are needed.
const ROUNDS: usize = 60;

impl Mat {
    /// Its eigenvalues and eigenvectors, if it is symmetric.
    pub fn symmetric_eigen(&self) -> Result<SymmetricEigen, Diverged> {
        let n = self.nrows();
        let mut a = self.clone();
        let mut turned_rows = Mat::identity(n); // Wᵀ
        let size = a.entries.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !size.is_finite() {
            return Err(Diverged);
        }
        for _ in 0..ROUNDS {
            let mut turned = 0;
            for p in 0..n {
                for q in p + 1..n {
                    let across = a[(p, q)];
                    // below round-off of its diagonal entries, or of the whole matrix
                    let own = (a[(p, p)] * a[(q, q)]).abs().sqrt();
                    if across.abs() <= f64::EPSILON * own.max(1e-3 * size) {
                        continue;
                    }
                    turned += 1;
                    let half = (a[(q, q)] - a[(p, p)]) / (2.0 * across);
                    let tangent = half.signum() / (half.abs() + (1.0 + half * half).sqrt());
                    let c = 1.0 / (1.0 + tangent * tangent).sqrt();
                    let s = c * tangent;
                    let (first, second) = a.two_rows(p, q);
                    rotate(first, second, c, s);
                    for i in 0..n {
                        let (x, y) = (a[(i, p)], a[(i, q)]);
                        (a[(i, p)], a[(i, q)]) = (c * x - s * y, s * x + c * y);
                    }
                    (a[(p, q)], a[(q, p)]) = (0.0, 0.0);
                    let (first, second) = turned_rows.two_rows(p, q);
                    rotate(first, second, c, s);
                }
            }
            tally(turned * 12 * n);
            if turned == 0 {
                let mut places: Vec<usize> = (0..n).collect();
                places.sort_by(|&i, &j| a[(i, i)].total_cmp(&a[(j, j)]));
                return Ok(SymmetricEigen {
                    values: places.iter().map(|&k| a[(k, k)]).collect(),
                    w: Mat::from_fn(n, n, |i, j| turned_rows[(places[j], i)]),
                });
            }
        }
        Err(Diverged)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{is_orthonormal, largest_difference, random};
    use super::*;

    #[test]
    fn symmetric_matrices() {
        for n in [1, 2, 5, 24] {
            let half = random(n, n, n as u64);
            let mut a = half.clone();
            a += &half.transpose();
            let found = a.symmetric_eigen().expect("it converges");
            assert!(is_orthonormal(&found.w));
            let diagonal = Mat::from_fn(n, n, |i, j| if i == j { found.values[i] } else { 0.0 });
            let back = &(&found.w * &diagonal) * &found.w.transpose();
            assert!(largest_difference(&back, &a) < 1e-13);
            assert!(found.values.windows(2).all(|pair| pair[0] <= pair[1]));
        }
        let zero = Mat::zeros(3, 3).symmetric_eigen().expect("it is diagonal");
        assert_eq!(zero.values, [0.0; 3]);
        assert!(
            Mat::from_fn(2, 2, |_, _| f64::NAN)
                .symmetric_eigen()
                .is_err()
        );
    }

    /// A string of equal masses and springs: λₖ = 4 sin²(k π / 2 (n + 1)).
    #[test]
    fn a_string_of_springs() {
        let n = 12;
        let a = Mat::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        let found = a.symmetric_eigen().expect("it converges");
        for (k, value) in found.values.iter().enumerate() {
            let half = (k + 1) as f64 * std::f64::consts::PI / (2 * (n + 1)) as f64;
            assert!((value - 4.0 * half.sin().powi(2)).abs() < 1e-14);
        }
    }

    /// Units do not matter: a power of two scales the values and nothing else, bit for bit.
    #[test]
    fn powers_of_two_change_nothing_else() {
        let half = random(6, 6, 8);
        let mut a = half.clone();
        a += &half.transpose();
        let found = a.symmetric_eigen().expect("it converges");
        for power in [-90, 90] {
            let factor = 2f64.powi(power);
            let scaled = (factor * &a).symmetric_eigen().expect("it converges");
            assert_eq!(scaled.w, found.w);
            let values: Vec<f64> = found.values.iter().map(|x| factor * x).collect();
            assert_eq!(scaled.values, values);
        }
    }

    /// [1 h; h 4 h²]: the small value is 3 h² to many digits, however small h is.
    #[test]
    fn small_values_beside_large_ones() {
        for h in [1e-3f64, 1e-5, 1e-7] {
            let a = Mat::from_fn(2, 2, |i, j| [[1.0, h], [h, 4.0 * h * h]][i][j]);
            let found = a.symmetric_eigen().expect("it converges");
            // λ₁ λ₂ = 3 h², λ₁ + λ₂ = 1 + 4 h²
            let large = found.values[1];
            assert!((large - (1.0 + h * h)).abs() < 1e-15 + 4.0 * h.powi(4));
            let small = 3.0 * h * h / large;
            assert!((found.values[0] - small).abs() < 1e-12 * small, "{h}");
        }
    }
}
