//! A = L Lᵀ of a symmetric positive definite matrix.

use super::{Col, Mat, add_scaled, dot, tally};

/// The factor L, lower triangular.
pub(crate) struct Cholesky {
    l: Mat,
}

impl Mat {
    /// Its factor, from its lower triangle; none if a pivot is not positive.
    pub fn cholesky(&self) -> Option<Cholesky> {
        let n = self.nrows();
        let mut l = Mat::zeros(n, n);
        for i in 0..n {
            for j in 0..=i {
                let sum = self[(i, j)] - dot(&l.row(i)[..j], &l.row(j)[..j]);
                if j < i {
                    l[(i, j)] = sum / l[(j, j)];
                } else if sum > 0.0 {
                    l[(i, i)] = sum.sqrt();
                } else {
                    return None;
                }
            }
        }
        // Σ (j + 1) over the lower triangle
        tally(n * (n + 1) * (n + 2) / 6);
        Some(Cholesky { l })
    }
}

impl Cholesky {
    #[cfg(test)]
    pub fn l(&self) -> &Mat {
        &self.l
    }

    /// x of A x = b.
    pub fn solve(&self, b: Col) -> Col {
        self.upper_of_column(self.lower_of_column(b))
    }

    /// L⁻¹ B.
    pub fn lower_of(&self, b: &Mat) -> Mat {
        let mut x = b.clone();
        solve_lower(&self.l, &mut x);
        x
    }

    /// L⁻¹ b.
    pub fn lower_of_column(&self, b: Col) -> Col {
        in_place(b, |x| solve_lower(&self.l, x))
    }

    /// L⁻ᵀ B.
    pub fn upper_of(&self, b: &Mat) -> Mat {
        let mut x = b.clone();
        solve_lower_transposed(&self.l, &mut x);
        x
    }

    /// L⁻ᵀ b.
    pub fn upper_of_column(&self, b: Col) -> Col {
        in_place(b, |x| solve_lower_transposed(&self.l, x))
    }

    /// X of A X = B.
    pub fn solve_columns(&self, b: &Mat) -> Mat {
        let mut x = b.clone();
        solve_lower(&self.l, &mut x);
        solve_lower_transposed(&self.l, &mut x);
        x
    }

    /// The pivots, squares of the diagonal of L.
    pub fn pivots(&self) -> Vec<f64> {
        (0..self.l.nrows())
            .map(|k| self.l[(k, k)] * self.l[(k, k)])
            .collect()
    }
}

/// Applies a function to a column as a matrix.
pub(crate) fn in_place(b: Col, what: impl FnOnce(&mut Mat)) -> Col {
    let mut x = Mat {
        rows: b.nrows(),
        columns: 1,
        entries: b.0,
    };
    what(&mut x);
    Col(x.entries)
}

/// B ← L⁻¹ B for a lower triangular L.
pub(crate) fn solve_lower(l: &Mat, b: &mut Mat) {
    let n = b.nrows();
    for i in 0..n {
        for k in 0..i {
            let (above, own) = b.two_rows(k, i);
            add_scaled(own, -l[(i, k)], above);
        }
        let pivot = l[(i, i)];
        b.row_mut(i).iter_mut().for_each(|x| *x /= pivot);
    }
    tally(b.ncols() * n * (n + 1) / 2);
}

/// B ← L⁻ᵀ B for a lower triangular L.
pub(crate) fn solve_lower_transposed(l: &Mat, b: &mut Mat) {
    let n = b.nrows();
    for i in (0..n).rev() {
        let pivot = l[(i, i)];
        b.row_mut(i).iter_mut().for_each(|x| *x /= pivot);
        for k in 0..i {
            let (above, own) = b.two_rows(k, i);
            add_scaled(above, -l[(i, k)], own);
        }
    }
    tally(b.ncols() * n * (n + 1) / 2);
}

/// B ← R⁻¹ B for an upper triangular R.
pub(crate) fn solve_upper(r: &Mat, b: &mut Mat) {
    let n = b.nrows();
    for i in (0..n).rev() {
        let pivot = r[(i, i)];
        b.row_mut(i).iter_mut().for_each(|x| *x /= pivot);
        for k in 0..i {
            let (above, own) = b.two_rows(k, i);
            add_scaled(above, -r[(k, i)], own);
        }
    }
    tally(b.ncols() * n * (n + 1) / 2);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{largest_difference, random};
    use super::*;

    #[test]
    fn factors_and_solutions() {
        for n in [1, 2, 7, 30] {
            let half = random(n, n, n as u64);
            let mut a = &half * &half.transpose();
            a += &Mat::identity(n);
            let factor = a.cholesky().expect("definite");
            let l = factor.l();
            assert!(largest_difference(&(l * &l.transpose()), &a) < 1e-13 * n as f64);
            let x = random(n, 3, 5);
            assert!(largest_difference(&factor.solve_columns(&(&a * &x)), &x) < 1e-11);
            let one = factor.solve(&a * &x.col(0));
            assert!(
                one.iter()
                    .zip(x.col(0).iter())
                    .all(|(a, b)| (a - b).abs() < 1e-11)
            );
            let mut upper = &l.transpose() * &x;
            solve_upper(&l.transpose(), &mut upper);
            assert!(largest_difference(&upper, &x) < 1e-11);
        }
        assert!(Mat::from_fn(2, 2, |_, _| 1.0).cholesky().is_none());
        assert!(Mat::from_fn(1, 1, |_, _| f64::NAN).cholesky().is_none());
    }

    /// Each triangle against its own definition, columns one at a time and together, and nothing of size 0.
    #[test]
    fn triangles_are_solved() {
        for n in [0, 1, 2, 5] {
            let l = Mat::from_fn(n, n, |i, j| match j.cmp(&i) {
                std::cmp::Ordering::Less => 0.3 * (i + 2 * j) as f64 - 0.5,
                std::cmp::Ordering::Equal => 1.5 + i as f64,
                std::cmp::Ordering::Greater => 0.0,
            });
            let a = &l * &l.transpose();
            let factor = a.cholesky().expect("definite");
            assert!(largest_difference(factor.l(), &l) < 1e-13);
            for (pivot, k) in factor.pivots().into_iter().zip(0..) {
                assert!((pivot - (1.5 + f64::from(k)).powi(2)).abs() < 1e-12);
            }
            let x = random(n, 2, 9);
            let both = [
                (factor.lower_of(&(&l * &x)), &x),
                (factor.upper_of(&(&l.transpose() * &x)), &x),
                (factor.solve_columns(&(&a * &x)), &x),
            ];
            for (found, wanted) in both {
                assert!(largest_difference(&found, wanted) < 1e-13);
            }
            let one = |found: Col| {
                let wanted = x.col(0);
                let pairs = found.iter().zip(wanted.iter());
                pairs.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
            };
            assert!(one(factor.lower_of_column(&l * &x.col(0))) < 1e-13);
            assert!(one(factor.upper_of_column(&l.transpose() * &x.col(0))) < 1e-13);
            assert!(one(factor.solve(&a * &x.col(0))) < 1e-13);
        }
    }
}
