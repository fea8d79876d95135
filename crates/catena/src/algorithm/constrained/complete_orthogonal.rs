//! Complete orthogonal decomposition of a small dense matrix: rank, minimum-norm solutions, null space.
//!
//! ```text
//! B P = Q R          Householder, pivoted; rows of R below the threshold are dropped: rank r
//! (R Pᵀ)ᵀ = Z T      Householder; Z (m×r) orthonormal, T (r×r) upper triangular
//! BᵀB = Z T Tᵀ Zᵀ,   (BᵀB)⁺ = Z T⁻ᵀ T⁻¹ Zᵀ                                   (Mufti A-11, A-12 with S² → T Tᵀ)
//! ```
//!
//! λ = (BᵀB)⁺ c is the minimum-norm solution of BᵀB λ = c, if there is one; the component of c outside the range of Z is its distance
//! from consistency. The product BᵀB is never formed, so small singular values of B keep their digits.

use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// Singular values below this fraction of the largest count as zero.
pub const RANK_TOLERANCE: f64 = 1e-9;

/// The decomposition, with a workspace for matrices of one size.
#[derive(Clone, Debug)]
pub struct CompleteOrthogonal<S = f64> {
    height: usize,
    width: usize,
    rank: usize,
    /// B by columns, then reflections and R.
    b: Vec<S>,
    pivot: Vec<usize>,
    diagonal: Vec<S>,
    /// Norm of the largest column dropped as dependent.
    dropped: S,
    /// Rᵀ by columns of length `width`, then reflections and T.
    t: Vec<S>,
    t_diagonal: Vec<S>,
    y: Vec<S>,
}

impl<S: Scalar<Mask = bool> + PartialEq> CompleteOrthogonal<S> {
    /// A workspace for matrices with these numbers of rows and columns.
    pub fn new(height: usize, width: usize) -> Self {
        let most = height.min(width);
        CompleteOrthogonal {
            height,
            width,
            rank: 0,
            b: vec![S::zero(); height * width],
            pivot: (0..width).collect(),
            diagonal: vec![S::zero(); most],
            dropped: S::zero(),
            t: vec![S::zero(); width * most],
            t_diagonal: vec![S::zero(); most],
            y: vec![S::zero(); width],
        }
    }

    /// Decomposes Bᵀ, given by rows: row i of `transposed` is column i of B. The rank is at most `most`.
    pub fn decompose(&mut self, transposed: &Matrix<S>, tolerance: f64, most: usize) {
        let (height, width) = (self.height, self.width);
        self.b.copy_from_slice(transposed.as_slice());
        for (k, pivot) in self.pivot.iter_mut().enumerate() {
            *pivot = k;
        }
        self.rank = 0;
        self.dropped = S::zero();
        let mut first = S::zero();
        for j in 0..height.min(width) {
            let mut best = (j, S::constant(-1.0));
            for c in j..width {
                let length = norm(&self.b[c * height + j..(c + 1) * height]);
                if best.1.less(length) {
                    best = (c, length);
                }
            }
            if j == 0 {
                first = best.1;
            }
            // a NaN column is never chosen; NaN then appears through the right-hand side
            if j >= most || !(S::constant(tolerance) * first).less(best.1) {
                self.dropped = best.1;
                break;
            }
            if best.0 != j {
                self.pivot.swap(j, best.0);
                for k in 0..height {
                    self.b.swap(j * height + k, best.0 * height + k);
                }
            }
            let (head, tail) = self.b.split_at_mut((j + 1) * height);
            let reflection = &mut head[j * height + j..];
            self.diagonal[j] = reflect(reflection);
            for column in tail.chunks_exact_mut(height) {
                apply(reflection, &mut column[j..]);
            }
            self.rank += 1;
        }
        // Rᵀ, its rows in the original order of B's columns
        let rank = self.rank;
        for i in 0..rank {
            let column = &mut self.t[i * width..(i + 1) * width];
            column.fill(S::zero());
            column[self.pivot[i]] = self.diagonal[i];
            for c in i + 1..width {
                column[self.pivot[c]] = self.b[c * height + i];
            }
        }
        for j in 0..rank {
            let (head, tail) = self.t.split_at_mut((j + 1) * width);
            let reflection = &mut head[j * width + j..];
            self.t_diagonal[j] = reflect(reflection);
            for column in tail.chunks_exact_mut(width).take(rank - j - 1) {
                apply(reflection, &mut column[j..]);
            }
        }
    }

    /// Number of independent columns.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Which column was pivot k, and the norm of its remainder.
    pub fn pivot(&self, k: usize) -> (usize, S) {
        let d = self.diagonal[k];
        (self.pivot[k], S::select(d.less(S::zero()), -d, d))
    }

    /// Norm of the largest column that counts as dependent: approximately the distance of B from a matrix of this rank.
    pub fn dropped(&self) -> S {
        self.dropped
    }

    /// λ = (BᵀB)⁺ c in place; returns the distance of c from the range of BᵀB.
    pub fn solve(&mut self, c: &mut [S]) -> S {
        let (width, rank) = (self.width, self.rank);
        self.y.copy_from_slice(c);
        for j in 0..rank {
            apply(&self.t[j * width + j..(j + 1) * width], &mut self.y[j..]);
        }
        let outside = norm(&self.y[rank..]);
        for i in (0..rank).rev() {
            let mut sum = self.y[i];
            for j in i + 1..rank {
                sum -= self.t[j * width + i] * self.y[j];
            }
            self.y[i] = sum / self.t_diagonal[i];
        }
        for i in 0..rank {
            let mut sum = self.y[i];
            for j in 0..i {
                sum -= self.t[i * width + j] * self.y[j];
            }
            self.y[i] = sum / self.t_diagonal[i];
        }
        c.copy_from_slice(&self.y);
        c[rank..].fill(S::zero());
        self.back(c);
        outside
    }

    /// Column k of an orthonormal basis of the null space of B, 0 ≤ k < columns − rank.
    pub fn null_vector(&self, k: usize, out: &mut [S]) {
        out.fill(S::zero());
        out[self.rank + k] = S::one();
        self.back(out);
    }

    /// Q x of the second factorization.
    fn back(&self, x: &mut [S]) {
        let width = self.width;
        for j in (0..self.rank).rev() {
            apply(&self.t[j * width + j..(j + 1) * width], &mut x[j..]);
        }
    }
}

impl CompleteOrthogonal {
    /// The nonzero singular values of B, largest first, by one-sided Jacobi rotations of T.
    pub fn singular_values(&self) -> Vec<f64> {
        let rank = self.rank;
        let mut columns: Vec<Vec<f64>> = (0..rank)
            .map(|j| {
                let mut column = vec![0.0; rank];
                column[..j].copy_from_slice(&self.t[j * self.width..j * self.width + j]);
                column[j] = self.t_diagonal[j];
                column
            })
            .collect();
        for _ in 0..60 {
            let mut worst = 0.0f64;
            for p in 0..rank {
                for q in p + 1..rank {
                    let (left, right) = columns.split_at_mut(q);
                    let (x, y) = (&mut left[p], &mut right[0]);
                    let (a, b, c) = (dot(x, x), dot(y, y), dot(x, y));
                    if c.abs() <= 1e-16 * (a * b).sqrt() {
                        continue;
                    }
                    worst = worst.max(c.abs() / (a * b).sqrt());
                    let zeta = (b - a) / (2.0 * c);
                    let t = if zeta >= 0.0 { 1.0 } else { -1.0 }
                        / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                    let cos = 1.0 / (1.0 + t * t).sqrt();
                    let sin = cos * t;
                    for (x, y) in x.iter_mut().zip(y.iter_mut()) {
                        (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
                    }
                }
            }
            if worst < 1e-15 {
                break;
            }
        }
        let mut values: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    }
}

fn dot<S: Scalar>(x: &[S], y: &[S]) -> S {
    let mut sum = S::zero();
    for (x, y) in x.iter().zip(y) {
        sum += *x * *y;
    }
    sum
}

pub(crate) fn norm<S: Scalar>(x: &[S]) -> S {
    dot(x, x).sqrt()
}

/// √2 minus its rounded value: zero in `f64`, and the second half of the digits in double-double arithmetic.
const REST_OF_SQRT_2: f64 = -9.667_293_313_452_913e-17;

/// Replaces x by the vector u of the reflection E − u uᵀ, |u|² = 2, that takes x to a multiple of its first axis; returns that
/// multiple. A zero vector gives the identity.
fn reflect<S: Scalar<Mask = bool> + PartialEq>(x: &mut [S]) -> S {
    let length = norm(x);
    if length == S::zero() {
        return S::zero();
    }
    let image = S::select(S::zero().less(x[0]), -length, length);
    x[0] -= image;
    // |x − image e₁|² = 2 (length² + |x₀| length)
    let root = S::constant(std::f64::consts::SQRT_2) + S::constant(REST_OF_SQRT_2);
    let scale = root / norm(x);
    x.iter_mut().for_each(|x| *x *= scale);
    image
}

fn apply<S: Scalar>(reflection: &[S], x: &mut [S]) {
    let product = dot(reflection, x);
    for (x, u) in x.iter_mut().zip(reflection) {
        *x -= product * *u;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A product of factors of known rank: rank, minimum norm, null space, consistency and singular values.
    #[test]
    fn ranks_solutions_and_null_spaces() {
        let mut random = Random::new(5);
        for (height, width, rank) in [
            (6, 4, 4),
            (6, 5, 3),
            (4, 7, 4),
            (5, 9, 2),
            (3, 3, 0),
            (8, 8, 7),
        ] {
            let mut left = Matrix::zeros(width, rank);
            let mut right = Matrix::zeros(rank, height);
            for x in left.as_mut_slice().iter_mut().chain(right.as_mut_slice()) {
                *x = random.uniform(-1.0, 1.0);
            }
            let transposed = left.product(&right);
            let mut d = CompleteOrthogonal::new(height, width);
            d.decompose(&transposed, RANK_TOLERANCE, usize::MAX);
            assert_eq!(d.rank(), rank, "{height}×{width}");
            // c = BᵀB x has a solution no longer than x
            let x: Vec<f64> = (0..width).map(|_| random.uniform(-1.0, 1.0)).collect();
            let b = transposed.transpose();
            let c = transposed.times(&b.times(&x));
            let mut lambda = c.clone();
            let outside = d.solve(&mut lambda);
            assert!(outside < 1e-14);
            for (a, b) in transposed.times(&b.times(&lambda)).iter().zip(&c) {
                assert!((a - b).abs() < 1e-12, "{height}×{width}");
            }
            assert!(norm(&lambda) <= norm(&x) * (1.0 + 1e-12));
            let mut null = vec![0.0; width];
            for k in 0..width - rank {
                d.null_vector(k, &mut null);
                assert!((norm(&null) - 1.0).abs() < 1e-14);
                assert!(norm(&b.times(&null)) < 1e-13);
                assert!(dot(&null, &lambda).abs() < 1e-12 * (1.0 + norm(&lambda)));
            }
            let sum: f64 = d.singular_values().iter().map(|s| s * s).sum();
            let frobenius = norm(transposed.as_slice());
            assert!((sum - frobenius * frobenius).abs() < 1e-13 * (1.0 + sum));
        }
    }
}
