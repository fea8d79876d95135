//! Singular values and vectors: Jacobi's rotations on the rows of R of a pivoted QR decomposition (Drmač and Veselić).
//!
//! ```text
//! A P = Q R,   G R = S Vᵀ with orthogonal rows,   A = (Q Gᵀ) S (P V)ᵀ
//! ```
//!
//! Small rows are as orthogonal as others: small singular values are found to high relative accuracy, as far as A determines them.

use super::{Diverged, Mat, dot, rotate, tally};

/// A = U S Vᵀ, U and V whole, the values in descending order.
pub(crate) struct Svd {
    pub u: Mat,
    pub values: Vec<f64>,
    pub v: Mat,
}

/// Rows whose cosine is below this are orthogonal.
const ORTHOGONAL: f64 = 1e-15;
/// Rounds of rotations until all rows must be orthogonal; usually fewer than ten are needed.
const ROUNDS: usize = 60;
/// Rows shorter than this fraction of the longest have no direction.
const NOTHING: f64 = 1e-150;

impl Mat {
    /// Its singular values and vectors.
    pub fn svd(&self) -> Result<Svd, Diverged> {
        if self.nrows() < self.ncols() {
            let Svd { u, values, v } = self.transpose().svd()?;
            return Ok(Svd { u: v, values, v: u });
        }
        let (qr, turned) = self.turned_rows(true)?;
        let n = self.ncols();
        let v = turned.right_vectors(qr.order());
        // Q Gᵀ, and the columns of Q beyond R
        let q = qr.q();
        let thin = &q.subcols(0, n) * &turned.by.transpose();
        let u = Mat::from_fn(q.nrows(), q.nrows(), |i, j| match j < n {
            true => thin[(i, turned.places[j])],
            false => q[(i, j)],
        });
        Ok(Svd {
            u,
            values: turned.values,
            v,
        })
    }

    /// Its singular values and V.
    pub fn right_svd(&self) -> Result<(Vec<f64>, Mat), Diverged> {
        if self.nrows() < self.ncols() {
            let Svd { values, v, .. } = self.svd()?;
            return Ok((values, v));
        }
        let (qr, turned) = self.turned_rows(false)?;
        let v = turned.right_vectors(qr.order());
        Ok((turned.values, v))
    }

    /// Its singular values.
    pub fn singular_values(&self) -> Result<Vec<f64>, Diverged> {
        match self.nrows() < self.ncols() {
            true => self.transpose().singular_values(),
            false => Ok(self.turned_rows(false)?.1.values),
        }
    }

    /// R of a pivoted QR decomposition with its rows made orthogonal.
    fn turned_rows(&self, with_left: bool) -> Result<(super::Qr, Turned), Diverged> {
        let n = self.ncols();
        let qr = self.pivoted_qr();
        let mut rows = qr.r().clone();
        let mut by = Mat::identity(if with_left { n } else { 0 });
        for _ in 0..ROUNDS {
            let mut turned = 0;
            let mut squares: Vec<f64> = (0..n).map(|i| dot(rows.row(i), rows.row(i))).collect();
            for p in 0..n {
                for q in p + 1..n {
                    let across = dot(rows.row(p), rows.row(q));
                    if across.is_nan() {
                        return Err(Diverged);
                    }
                    if across.abs() <= ORTHOGONAL * (squares[p] * squares[q]).sqrt() {
                        continue;
                    }
                    turned += 1;
                    let half = (squares[q] - squares[p]) / (2.0 * across);
                    let tangent = half.signum() / (half.abs() + (1.0 + half * half).sqrt());
                    let c = 1.0 / (1.0 + tangent * tangent).sqrt();
                    let s = c * tangent;
                    let (first, second) = rows.two_rows(p, q);
                    rotate(first, second, c, s);
                    (squares[p], squares[q]) = (dot(first, first), dot(second, second));
                    if with_left {
                        let (first, second) = by.two_rows(p, q);
                        rotate(first, second, c, s);
                    }
                }
            }
            tally(
                n * n * n.saturating_sub(1) / 2
                    + turned * (6 * n + if with_left { 4 * n } else { 0 }),
            );
            if turned == 0 {
                return Ok((qr, Turned::new(rows, by)));
            }
        }
        Err(Diverged)
    }
}

/// Orthogonal rows.
struct Turned {
    rows: Mat,
    /// The rotations, if requested.
    by: Mat,
    /// Their lengths in descending order, and which rows have them.
    values: Vec<f64>,
    places: Vec<usize>,
}

impl Turned {
    fn new(rows: Mat, by: Mat) -> Self {
        let length = |i: usize| dot(rows.row(i), rows.row(i)).sqrt();
        let lengths: Vec<f64> = (0..rows.nrows()).map(length).collect();
        let mut places: Vec<usize> = (0..rows.nrows()).collect();
        places.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
        Turned {
            values: places.iter().map(|&i| lengths[i]).collect(),
            places,
            rows,
            by,
        }
    }

    /// V in the order of the columns of A; rows without a direction are replaced by a completion.
    fn right_vectors(&self, order: &[usize]) -> Mat {
        let n = order.len();
        let least = NOTHING * self.values.first().copied().unwrap_or(0.0);
        let known = self.values.iter().take_while(|&&s| s > least).count();
        let mut v = Mat::zeros(n, n);
        for k in 0..known {
            for (j, &to) in order.iter().enumerate() {
                v[(to, k)] = self.rows[(self.places[k], j)] / self.values[k];
            }
        }
        if known < n {
            let q = v.subcols(0, known).qr().q();
            for i in 0..n {
                for k in known..n {
                    v[(i, k)] = q[(i, k)];
                }
            }
        }
        v
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{is_orthonormal, largest_difference, random};
    use super::*;

    fn product(svd: &Svd) -> Mat {
        let (m, n) = (svd.u.nrows(), svd.v.nrows());
        let s = Mat::from_fn(m, n, |i, j| if i == j { svd.values[i] } else { 0.0 });
        &(&svd.u * &s) * &svd.v.transpose()
    }

    #[test]
    fn decompositions_give_the_matrix_back() {
        for (m, n) in [(1, 1), (6, 4), (4, 6), (25, 25), (40, 10)] {
            let a = random(m, n, (m * n) as u64);
            let svd = a.svd().expect("it converges");
            assert!(is_orthonormal(&svd.u) && is_orthonormal(&svd.v));
            assert!(largest_difference(&product(&svd), &a) < 1e-13);
            assert!(svd.values.windows(2).all(|pair| pair[1] <= pair[0]));
            let (values, v) = a.right_svd().expect("it converges");
            assert!(is_orthonormal(&v));
            let alone = a.singular_values().expect("it converges");
            for (k, value) in values.iter().enumerate() {
                assert!((value - svd.values[k]).abs() < 1e-14);
                assert!((value - alone[k]).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn dependent_columns_have_a_null_space() {
        let a = &random(12, 3, 1) * &random(3, 8, 2);
        let svd = a.svd().expect("it converges");
        assert!(svd.values[2] > 0.1 && svd.values[3] < 1e-14);
        assert!(is_orthonormal(&svd.u) && is_orthonormal(&svd.v));
        let null = &a * &svd.v.subcols(3, 5);
        assert!(largest_difference(&null, &Mat::zeros(12, 5)) < 1e-14);
        let zero = Mat::zeros(3, 4).svd().expect("it converges");
        assert_eq!(zero.values, [0.0; 3]);
        assert!(is_orthonormal(&zero.u) && is_orthonormal(&zero.v));
    }

    /// Columns of very different size: every value to high relative accuracy.
    #[test]
    fn small_values_are_accurate() {
        let sizes = [1.0, 1e-5, 1e-10, 1e-15];
        let q = random(9, 4, 3).qr().thin_q();
        let a = Mat::from_fn(9, 4, |i, j| q[(i, j)] * sizes[j]);
        let values = a.singular_values().expect("it converges");
        for (value, size) in values.iter().zip(sizes) {
            assert!((value - size).abs() < 1e-14 * size, "{value} {size}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert!(Mat::from_fn(3, 3, |_, _| f64::NAN).svd().is_err());
    }

    /// Empty matrices, and single rows and columns.
    #[test]
    fn thin_matrices() {
        for (m, n) in [(0, 0), (0, 3), (3, 0), (1, 4), (4, 1)] {
            let a = random(m, n, 4);
            let svd = a.svd().expect("it converges");
            assert_eq!((svd.u.nrows(), svd.v.nrows()), (m, n));
            assert_eq!(svd.values.len(), m.min(n));
            assert!(is_orthonormal(&svd.u) && is_orthonormal(&svd.v));
            assert!(largest_difference(&product(&svd), &a) < 1e-15);
            assert_eq!(a.singular_values().expect("it converges"), svd.values);
            let (values, v) = a.right_svd().expect("it converges");
            assert_eq!(values, svd.values);
            assert!(is_orthonormal(&v) && v.nrows() == n);
        }
    }

    /// The right vectors alone: the lengths of A v are the singular values, and the remaining vectors span the null space.
    #[test]
    fn right_vectors() {
        for (m, n) in [(7, 4), (4, 7), (5, 5)] {
            let a = &random(m, 3, 5) * &random(3, n, 6);
            let (values, v) = a.right_svd().expect("it converges");
            assert!(is_orthonormal(&v));
            let images = &a * &v;
            for (j, value) in values.iter().enumerate() {
                let length = images.col(j).iter().map(|x| x * x).sum::<f64>().sqrt();
                assert!((length - value).abs() < 1e-14);
            }
            let null = images.subcols(3, n - 3);
            assert!(largest_difference(&null, &Mat::zeros(m, n - 3)) < 1e-14);
        }
    }

    /// [3 0; 4 5] has the singular values √45 and √5.
    #[test]
    fn a_closed_form() {
        let a = Mat::from_fn(2, 2, |i, j| [[3.0, 0.0], [4.0, 5.0]][i][j]);
        let svd = a.svd().expect("it converges");
        for (value, square) in svd.values.iter().zip([45.0f64, 5.0]) {
            assert!((value - square.sqrt()).abs() < 1e-15 * 8.0);
        }
        // v = (1, 1)/√2, (1, −1)/√2
        assert!((svd.v[(0, 0)] - svd.v[(1, 0)]).abs() < 1e-15);
        assert!((svd.v[(0, 1)] + svd.v[(1, 1)]).abs() < 1e-15);
    }

    /// Units do not matter: a power of two scales the values and nothing else, bit for bit.
    #[test]
    fn powers_of_two_change_nothing_else() {
        let a = random(6, 5, 8);
        let svd = a.svd().expect("it converges");
        for power in [-90, 90] {
            let factor = 2f64.powi(power);
            let scaled = (factor * &a).svd().expect("it converges");
            assert_eq!((&scaled.u, &scaled.v), (&svd.u, &svd.v));
            let values: Vec<f64> = svd.values.iter().map(|x| factor * x).collect();
            assert_eq!(scaled.values, values);
        }
    }
}
