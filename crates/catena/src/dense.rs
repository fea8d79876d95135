//! Dense linear systems: LU factorization with partial pivoting, of any size and of 3×3 blocks, and Cholesky's of small definite systems.
//!
//! Pivoting compares numbers, so the scalars are those whose comparison is a plain `bool`: `f64`, `f32`,
//! [`Count`](crate::scalar::Count) and [`Dual`](crate::scalar::Dual) numbers of these.

use crate::matrix::Matrix;
use crate::scalar::Scalar;
use crate::spatial::{Mat3, Vec3};

/// |x|.
#[inline(always)]
fn magnitude<S: Scalar<Mask = bool>>(x: S) -> S {
    S::select(x.less(S::zero()), -x, x)
}

/// P A = L U of a square matrix.
#[derive(Clone, Debug)]
pub struct Lu<S = f64> {
    factors: Matrix<S>,
    /// Row of A that became row i.
    order: Vec<usize>,
    /// Weights of the rows of A in the choice of pivots; empty for none.
    scale: Vec<S>,
    scratch: Vec<S>,
}

impl<S: Scalar<Mask = bool>> Lu<S> {
    /// A workspace for n unknowns.
    pub fn new(n: usize) -> Self {
        Lu {
            factors: Matrix::zeros(n, n),
            order: (0..n).collect(),
            scale: Vec::with_capacity(n),
            scratch: vec![S::zero(); n],
        }
    }

    /// The matrix to be factorized, for writing.
    pub fn matrix_mut(&mut self) -> &mut Matrix<S> {
        &mut self.factors
    }

    /// Factorizes the matrix in [`Lu::matrix_mut`], in place. The error is the column without a usable pivot.
    pub fn factorize(&mut self) -> Result<(), usize> {
        self.scale.clear();
        self.eliminate()
    }

    /// Factorizes with rows weighted by their largest entries in the choice of pivots: for equations of different kinds and scales.
    pub fn factorize_scaled(&mut self) -> Result<(), usize> {
        let n = self.order.len();
        self.scale.clear();
        for row in self.factors.as_slice().chunks_exact(n.max(1)) {
            let mut largest = S::zero();
            for x in row {
                let size = magnitude(*x);
                largest = S::select(largest.less(size), size, largest);
            }
            let usable = S::zero().less(largest);
            self.scale
                .push(S::select(usable, largest, S::one()).recip());
        }
        self.eliminate()
    }

    /// Weighted magnitude of an entry in the choice of a pivot.
    fn weight(&self, row: usize, column: usize) -> S {
        let size = magnitude(self.factors[(row, column)]);
        match self.scale.get(self.order[row]) {
            Some(scale) => size * *scale,
            None => size,
        }
    }

    fn eliminate(&mut self) -> Result<(), usize> {
        let n = self.order.len();
        for (i, row) in self.order.iter_mut().enumerate() {
            *row = i;
        }
        for k in 0..n {
            let mut pivot = k;
            let mut largest = self.weight(k, k);
            for i in k + 1..n {
                let candidate = self.weight(i, k);
                if largest.less(candidate) {
                    (pivot, largest) = (i, candidate);
                }
            }
            if !S::zero().less(largest) {
                return Err(k);
            }
            let data = self.factors.as_mut_slice();
            if pivot != k {
                self.order.swap(pivot, k);
                let (upper, lower) = data.split_at_mut(pivot * n);
                upper[k * n..(k + 1) * n].swap_with_slice(&mut lower[..n]);
            }
            let (upper, lower) = data.split_at_mut((k + 1) * n);
            let pivot_row = &upper[k * n..];
            let reciprocal = pivot_row[k].recip();
            for row in lower.chunks_exact_mut(n) {
                let factor = row[k] * reciprocal;
                row[k] = factor;
                let minus = -factor;
                for (x, p) in row[k + 1..].iter_mut().zip(&pivot_row[k + 1..]) {
                    *x = minus.mul_add(*p, *x);
                }
            }
        }
        Ok(())
    }

    /// x = A⁻¹ b.
    pub fn solve(&mut self, b: &[S], x: &mut [S]) {
        self.forward(b);
        self.backward(x);
    }

    /// x ← A⁻¹ x.
    pub fn solve_in_place(&mut self, x: &mut [S]) {
        self.forward(x);
        self.backward(x);
    }

    fn forward(&mut self, b: &[S]) {
        let n = self.order.len();
        let y = &mut self.scratch;
        for i in 0..n {
            let row = self.factors.row(i);
            let mut sum = b[self.order[i]];
            for (l, y) in row[..i].iter().zip(&*y) {
                sum = (-*l).mul_add(*y, sum);
            }
            y[i] = sum;
        }
    }

    fn backward(&self, x: &mut [S]) {
        for i in (0..self.order.len()).rev() {
            let row = self.factors.row(i);
            let mut sum = self.scratch[i];
            for (u, x) in row[i + 1..].iter().zip(&x[i + 1..]) {
                sum = (-*u).mul_add(*x, sum);
            }
            x[i] = sum / row[i];
        }
    }
}

/// P A = L U of a 3×3 matrix.
#[derive(Clone, Copy, Debug)]
pub struct Lu3<S> {
    /// l₂₁, l₃₁, l₃₂.
    lower: [S; 3],
    /// u₁₂, u₁₃, u₂₃.
    upper: [S; 3],
    /// 1/u₁₁, 1/u₂₂, 1/u₃₃.
    pivots: [S; 3],
    order: [u8; 3],
}

impl<S: Scalar<Mask = bool>> Lu3<S> {
    /// The identity's factors.
    pub fn identity() -> Self {
        Lu3 {
            lower: [S::zero(); 3],
            upper: [S::zero(); 3],
            pivots: [S::one(); 3],
            order: [0, 1, 2],
        }
    }

    /// The factors; none if a pivot is zero or NaN.
    #[inline(always)]
    pub fn new(matrix: Mat3<S>) -> Option<Self> {
        let mut a = matrix.rows();
        let mut order = [0, 1, 2];
        for i in 1..3 {
            if magnitude(a[0][0]).less(magnitude(a[i][0])) {
                a.swap(0, i);
                order.swap(0, i);
            }
        }
        let p0 = a[0][0].recip();
        let (mut l1, mut l2) = (a[1][0] * p0, a[2][0] * p0);
        for j in 1..3 {
            a[1][j] = (-l1).mul_add(a[0][j], a[1][j]);
            a[2][j] = (-l2).mul_add(a[0][j], a[2][j]);
        }
        if magnitude(a[1][1]).less(magnitude(a[2][1])) {
            a.swap(1, 2);
            order.swap(1, 2);
            (l1, l2) = (l2, l1);
        }
        let p1 = a[1][1].recip();
        let l3 = a[2][1] * p1;
        let last = (-l3).mul_add(a[1][2], a[2][2]);
        let usable = S::zero().less(magnitude(a[0][0]))
            && S::zero().less(magnitude(a[1][1]))
            && S::zero().less(magnitude(last));
        usable.then(|| Lu3 {
            lower: [l1, l2, l3],
            upper: [a[0][1], a[0][2], a[1][2]],
            pivots: [p0, p1, last.recip()],
            order,
        })
    }

    /// A⁻¹ b.
    #[inline(always)]
    pub fn solve(&self, b: Vec3<S>) -> Vec3<S> {
        let b = b.to_array();
        let [i, j, k] = self.order;
        let y0 = b[i as usize];
        let y1 = (-self.lower[0]).mul_add(y0, b[j as usize]);
        let y2 = (-self.lower[1]).mul_add(y0, (-self.lower[2]).mul_add(y1, b[k as usize]));
        let x2 = y2 * self.pivots[2];
        let x1 = (-self.upper[2]).mul_add(x2, y1) * self.pivots[1];
        let x0 = (-self.upper[0]).mul_add(x1, (-self.upper[1]).mul_add(x2, y0)) * self.pivots[0];
        Vec3::new(x0, x1, x2)
    }

    /// The row bᵀ A⁻¹.
    #[inline(always)]
    pub fn solve_row(&self, b: Vec3<S>) -> Vec3<S> {
        let y0 = b.x * self.pivots[0];
        let y1 = (-self.upper[0]).mul_add(y0, b.y) * self.pivots[1];
        let y2 = (-self.upper[1]).mul_add(y0, (-self.upper[2]).mul_add(y1, b.z)) * self.pivots[2];
        let x1 = (-self.lower[2]).mul_add(y2, y1);
        let x0 = (-self.lower[0]).mul_add(x1, (-self.lower[1]).mul_add(y2, y0));
        let mut x = [S::zero(); 3];
        let [i, j, k] = self.order;
        x[i as usize] = x0;
        x[j as usize] = x1;
        x[k as usize] = y2;
        Vec3::from_array(x)
    }

    /// B A⁻¹.
    #[inline(always)]
    pub fn solve_rows(&self, b: Mat3<S>) -> Mat3<S> {
        let rows = b.transpose();
        Mat3 {
            x: self.solve_row(rows.x),
            y: self.solve_row(rows.y),
            z: self.solve_row(rows.z),
        }
        .transpose()
    }
}

/// A x = b by Cholesky's factors, in place; A is symmetric, positive definite and by rows, and becomes its factor.
pub(crate) fn cholesky_solve(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    for j in 0..n {
        for i in j..n {
            let mut sum = a[i * n + j];
            for k in 0..j {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = if i == j {
                sum.sqrt()
            } else {
                sum / a[j * n + j]
            };
        }
    }
    for i in 0..n {
        for k in 0..i {
            b[i] -= a[i * n + k] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            b[i] -= a[k * n + i] * b[k];
        }
        b[i] /= a[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn factors_solve_what_they_factorize() {
        let mut random = Random::new(1);
        for n in 1..12 {
            let mut lu = Lu::new(n);
            for x in lu.matrix_mut().as_mut_slice() {
                *x = random.uniform(-1.0, 1.0);
            }
            let matrix = lu.matrix_mut().clone();
            let x: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
            lu.factorize().expect("random matrices are regular");
            let mut solved = vec![0.0; n];
            lu.solve(&matrix.times(&x), &mut solved);
            for (a, b) in x.iter().zip(&solved) {
                assert!((a - b).abs() < 1e-11, "{n}: {a} {b}");
            }
        }
    }

    #[test]
    fn blocks_solve_columns_and_rows() {
        let mut random = Random::new(2);
        for _ in 0..100 {
            let mut number = || random.uniform(-1.0, 1.0);
            let matrix = Mat3::from_rows([(); 3].map(|()| [(); 3].map(|()| number())));
            let x = Vec3::new(number(), number(), number());
            let lu = Lu3::new(matrix).expect("random matrices are regular");
            assert!((lu.solve(matrix * x) - x).norm() < 1e-10);
            assert!((lu.solve_row(matrix.transpose_times(x)) - x).norm() < 1e-10);
            let product = lu.solve_rows(matrix);
            assert!((product * x - x).norm() < 1e-10);
        }
    }

    #[test]
    fn singular_matrices_are_told() {
        let mut lu = Lu::<f64>::new(2);
        lu.matrix_mut()
            .as_mut_slice()
            .copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        assert_eq!(lu.factorize(), Err(1));
        assert!(Lu3::new(Mat3::<f64>::skew(Vec3::new(1.0, 2.0, 3.0))).is_none());
        assert!(Lu3::new(Mat3::<f64>::identity() * f64::NAN).is_none());
    }

    #[test]
    fn factors_solve_a_badly_scaled_system() {
        // a Hilbert-like matrix with rows scaled by powers of ten and a zero in the corner
        let n = 6;
        let entry = |i: usize, j: usize| {
            let a = if (i, j) == (0, 0) {
                0.0
            } else {
                1.0 / (1 + i + 2 * j) as f64
            };
            a * 10f64.powi(3 * i as i32 - 8)
        };
        let mut lu = Lu::<f64>::new(n);
        let x: Vec<f64> = (0..n).map(|i| 1.0 - 0.3 * i as f64).collect();
        let mut rhs = vec![0.0; n];
        for i in 0..n {
            for j in 0..n {
                lu.matrix_mut()[(i, j)] = entry(i, j);
                rhs[i] += entry(i, j) * x[j];
            }
        }
        lu.factorize_scaled().unwrap();
        lu.solve_in_place(&mut rhs);
        for (a, b) in rhs.iter().zip(&x) {
            assert!((a - b).abs() < 1e-9, "{rhs:?}"); // condition about 1e6 after scaling
        }
    }

    #[test]
    fn a_dependent_column_is_named() {
        let mut lu = Lu::<f64>::new(3);
        for i in 0..3 {
            for j in 0..3 {
                lu.matrix_mut()[(i, j)] = if j == 2 { 0.0 } else { (i * i + j) as f64 };
            }
        }
        assert_eq!(lu.factorize_scaled(), Err(2));
    }
}
