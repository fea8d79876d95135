//! A P = Q R by Householder's reflections, with or without exchanges of columns.

use super::{Mat, add_scaled, tally};

/// Q as reflections 1 − β v vᵀ, R, and the column permutation of A.
pub(crate) struct Qr {
    /// v from its own row on, and β.
    reflections: Vec<(Vec<f64>, f64)>,
    /// The upper triangle, min(m, n) rows.
    r: Mat,
    rows: usize,
    order: Vec<usize>,
}

/// The norm of the rest of a column is recomputed when subtraction has left less than this fraction of its square.
const CANCELLED: f64 = 1e-6;

impl Mat {
    /// Its decomposition with the columns in their order.
    pub fn qr(&self) -> Qr {
        Qr::new(self.clone(), false)
    }

    /// Its decomposition, always choosing the column with the largest remainder: the diagonal of R decreases, and shows the rank.
    pub fn pivoted_qr(&self) -> Qr {
        Qr::new(self.clone(), true)
    }
}

/// Σ of the squares of a column, from a row on.
fn square(a: &Mat, row: usize, column: usize) -> f64 {
    (row..a.nrows())
        .map(|i| a[(i, column)] * a[(i, column)])
        .sum()
}

impl Qr {
    fn new(mut a: Mat, pivoted: bool) -> Self {
        let (m, n) = (a.nrows(), a.ncols());
        let steps = m.min(n);
        let mut order: Vec<usize> = (0..n).collect();
        let mut left: Vec<f64> = (0..n).map(|j| square(&a, 0, j)).collect();
        let mut known = left.clone();
        let mut reflections = Vec::with_capacity(steps);
        let mut across = vec![0.0; n];
        for k in 0..steps {
            if pivoted {
                let most = (k..n).reduce(|a, b| if left[b] > left[a] { b } else { a });
                let most = most.unwrap_or(k);
                if most != k {
                    for i in 0..m {
                        a.row_mut(i).swap(k, most);
                    }
                    order.swap(k, most);
                    left.swap(k, most);
                    known.swap(k, most);
                }
            }
            let mut v: Vec<f64> = (k..m).map(|i| a[(i, k)]).collect();
            let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let head = if v[0] > 0.0 { -norm } else { norm };
            // vᵀ v / 2 = norm (norm + |v₀|)
            let beta = match norm > 0.0 {
                true => 1.0 / (norm * (norm + v[0].abs())),
                false => 0.0,
            };
            v[0] -= head;
            across[k + 1..].fill(0.0);
            for (i, &v) in v.iter().enumerate() {
                add_scaled(&mut across[k + 1..], v, &a.row(k + i)[k + 1..]);
            }
            for (i, &v) in v.iter().enumerate() {
                add_scaled(&mut a.row_mut(k + i)[k + 1..], -beta * v, &across[k + 1..]);
            }
            a[(k, k)] = head;
            tally((m - k) * (2 * (n - k) + 1));
            for j in k + 1..n {
                left[j] -= a[(k, j)] * a[(k, j)];
                if left[j] <= CANCELLED * known[j] {
                    left[j] = square(&a, k + 1, j);
                    known[j] = left[j];
                }
            }
            reflections.push((v, beta));
        }
        let r = Mat::from_fn(steps, n, |i, j| if i <= j { a[(i, j)] } else { 0.0 });
        Qr {
            reflections,
            r,
            rows: m,
            order,
        }
    }

    /// R, min(m, n) × n.
    pub fn r(&self) -> &Mat {
        &self.r
    }

    /// The column of A at each place.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Number of diagonal entries above this fraction of the first.
    pub fn rank(&self, tolerance: f64) -> usize {
        let diagonal = |k: usize| self.r[(k, k)].abs();
        (0..self.r.nrows())
            .take_while(|&k| diagonal(k) > tolerance * diagonal(0))
            .count()
    }

    /// Q, m × m.
    pub fn q(&self) -> Mat {
        self.columns_of_q(self.rows)
    }

    /// The first min(m, n) columns of Q.
    pub fn thin_q(&self) -> Mat {
        self.columns_of_q(self.r.nrows())
    }

    fn columns_of_q(&self, count: usize) -> Mat {
        let mut q = Mat::from_fn(self.rows, count, |i, j| f64::from(u8::from(i == j)));
        let mut across = vec![0.0; count];
        for (k, (v, beta)) in self.reflections.iter().enumerate().rev() {
            across.fill(0.0);
            for (i, &v) in v.iter().enumerate() {
                add_scaled(&mut across[k..], v, &q.row(k + i)[k..]);
            }
            for (i, &v) in v.iter().enumerate() {
                add_scaled(&mut q.row_mut(k + i)[k..], -beta * v, &across[k..]);
            }
            tally(v.len() * (2 * (count - k) + 1));
        }
        q
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{is_orthonormal, largest_difference, random};
    use super::*;

    #[test]
    fn decompositions_give_the_matrix_back() {
        for (m, n) in [(1, 1), (5, 3), (3, 5), (20, 20), (40, 25)] {
            let a = random(m, n, (m + n) as u64);
            for qr in [a.qr(), a.pivoted_qr()] {
                let permuted = Mat::from_fn(m, n, |i, j| a[(i, qr.order()[j])]);
                assert!(largest_difference(&(&qr.thin_q() * qr.r()), &permuted) < 1e-13);
                assert!(is_orthonormal(&qr.q()) && is_orthonormal(&qr.thin_q()));
            }
        }
    }

    #[test]
    fn the_diagonal_shows_the_rank() {
        let a = &random(30, 7, 1) * &random(7, 20, 2);
        let qr = a.pivoted_qr();
        assert_eq!(qr.rank(1e-10), 7);
        let diagonal: Vec<f64> = (0..20).map(|k| qr.r()[(k, k)].abs()).collect();
        assert!(
            diagonal
                .windows(2)
                .all(|pair| pair[1] <= pair[0] * (1.0 + 1e-10))
        );
        assert_eq!(Mat::zeros(4, 3).pivoted_qr().rank(1e-9), 0);
        assert_eq!(Mat::zeros(0, 3).pivoted_qr().rank(1e-9), 0);
    }

    /// A pivot is at least as long as what is left of every later column, whatever their lengths: of random matrices, of ones with columns that
    /// nearly depend on others, and of ones whose columns differ by many orders of magnitude.
    #[test]
    fn pivots_are_the_longest_remainders() {
        for seed in 1..=30 {
            let (m, n) = (1 + seed as usize % 7, 1 + seed as usize % 11);
            let inner = random(m, n, seed);
            let spread = Mat::from_fn(m, n, |i, j| {
                inner[(i, j)] * 10f64.powi([0, -5, 3, 1, -2][j % 5])
            });
            let near = Mat::from_fn(m, n, |i, j| inner[(i, 0)] + 1e-7 * inner[(i, j)]);
            for a in [inner, spread, near] {
                let qr = a.pivoted_qr();
                let r = qr.r();
                let mut order = qr.order().to_vec();
                order.sort_unstable();
                assert!(order.into_iter().eq(0..n));
                for k in 0..m.min(n) {
                    let pivot = r[(k, k)] * r[(k, k)];
                    for j in k + 1..n {
                        let rest: f64 = (k..m.min(j + 1).min(r.nrows()))
                            .map(|i| r[(i, j)] * r[(i, j)])
                            .sum();
                        // remainders that were subtracted are known to a millionth of what they began with
                        assert!(rest <= pivot * (1.0 + 1e-8), "{seed}: {rest} {pivot}");
                    }
                }
                let permuted = Mat::from_fn(m, n, |i, j| a[(i, qr.order()[j])]);
                let size = permuted.entries.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                let apart = largest_difference(&(&qr.thin_q() * r), &permuted);
                assert!(apart < 1e-14 * size * 10.0);
            }
        }
    }

    /// Of columns of equal length the first one is taken; the diagonal of R has the sign that avoids cancellation.
    #[test]
    fn ties_and_signs() {
        let qr = Mat::identity(4).pivoted_qr();
        assert_eq!(qr.order(), [0, 1, 2, 3]);
        let column = |x: f64, y: f64| {
            let a = Mat::from_fn(2, 1, |i, _| [x, y][i]);
            a.qr().r()[(0, 0)]
        };
        assert_eq!(
            [column(3.0, 4.0), column(-3.0, 4.0), column(0.0, 2.0)],
            [-5.0, 5.0, 2.0]
        );
        // nothing to reflect
        let zero = Mat::zeros(3, 2).qr();
        assert_eq!(zero.q(), Mat::identity(3));
        assert_eq!(zero.r(), &Mat::zeros(2, 2));
    }

    /// Diagonal entries of 8, 4, 2 and 0: those above a fraction of the first count.
    #[test]
    fn rank_is_relative_to_the_first_pivot() {
        let a = Mat::from_fn(
            4,
            4,
            |i, j| if i == j { [2.0, 8.0, 0.0, 4.0][i] } else { 0.0 },
        );
        let qr = a.pivoted_qr();
        assert_eq!(qr.order()[..3], [1, 3, 0]);
        let ranks = [0.0, 0.2, 0.25, 0.3, 0.5, 0.9, 1.0].map(|tolerance| qr.rank(tolerance));
        assert_eq!(ranks, [3, 3, 2, 2, 1, 1, 0]);
    }
}
