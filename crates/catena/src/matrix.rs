//! A dense matrix for results: inertia matrices, Jacobians, factors.

use crate::scalar::Scalar;
use std::ops::{Index, IndexMut};

/// A dense matrix, stored by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<S = f64> {
    rows: usize,
    columns: usize,
    data: Vec<S>,
}

impl<S: Scalar> Matrix<S> {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Matrix {
            rows,
            columns,
            data: vec![S::zero(); rows * columns],
        }
    }

    /// The identity.
    pub fn identity(n: usize) -> Self {
        let mut m = Matrix::zeros(n, n);
        for k in 0..n {
            m[(k, k)] = S::one();
        }
        m
    }

    /// Number of rows.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &[S] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// One row, for writing.
    #[inline(always)]
    pub fn row_mut(&mut self, i: usize) -> &mut [S] {
        &mut self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[S] {
        &self.data
    }

    /// All entries, row after row, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [S] {
        &mut self.data
    }

    /// Sets every entry to zero.
    #[inline(always)]
    pub fn clear(&mut self) {
        for x in &mut self.data {
            *x = S::zero();
        }
    }

    /// `self` · x.
    pub fn times(&self, x: &[S]) -> Vec<S> {
        assert_eq!(x.len(), self.columns, "vector length and columns differ");
        let mut y = vec![S::zero(); self.rows];
        for i in 0..self.rows {
            for (a, b) in self.row(i).iter().zip(x) {
                y[i] = a.mul_add(*b, y[i]);
            }
        }
        y
    }

    /// `self` · b.
    pub fn product(&self, b: &Matrix<S>) -> Matrix<S> {
        assert_eq!(b.rows, self.columns, "sizes do not fit");
        let mut c = Matrix::zeros(self.rows, b.columns);
        for i in 0..self.rows {
            for k in 0..self.columns {
                let a = self[(i, k)];
                for j in 0..b.columns {
                    c[(i, j)] = a.mul_add(b[(k, j)], c[(i, j)]);
                }
            }
        }
        c
    }

    /// The transposed matrix.
    pub fn transpose(&self) -> Matrix<S> {
        let mut t = Matrix::zeros(self.columns, self.rows);
        for i in 0..self.rows {
            for j in 0..self.columns {
                t[(j, i)] = self[(i, j)];
            }
        }
        t
    }
}

impl<S> Index<(usize, usize)> for Matrix<S> {
    type Output = S;
    #[inline(always)]
    fn index(&self, (i, j): (usize, usize)) -> &S {
        &self.data[i * self.columns + j]
    }
}

impl<S> IndexMut<(usize, usize)> for Matrix<S> {
    #[inline(always)]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut S {
        &mut self.data[i * self.columns + j]
    }
}
