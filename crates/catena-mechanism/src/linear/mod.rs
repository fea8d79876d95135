//! Linear algebra of mechanisms: dense matrices by rows with their decompositions, and the sparse factors of the Lagrangian matrix.
//!
//! Sums are formed in a fixed order, so that results have the same bits on every processor. Every kernel counts its multiplications and
//! divisions ([`multiplications`]).

mod cholesky;
mod eigen;
mod qr;
mod sparse;
mod svd;
mod symmetric;

pub(crate) use cholesky::{Cholesky, in_place, solve_lower, solve_upper};
pub(crate) use eigen::Eigen;
pub(crate) use qr::Qr;
pub(crate) use sparse::SparseFactors;
pub(crate) use svd::Svd;

use std::cell::Cell;
use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Sub};

thread_local! {
    static MULTIPLICATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Adds to this thread's multiplication count.
pub(crate) fn tally(count: usize) {
    MULTIPLICATIONS.set(MULTIPLICATIONS.get() + count as u64);
}

/// Multiplications and divisions of this thread so far, in the kernels here.
pub(crate) fn multiplications() -> u64 {
    MULTIPLICATIONS.get()
}

/// Runs a function without counting.
pub(crate) fn uncounted<T>(what: impl FnOnce() -> T) -> T {
    let before = MULTIPLICATIONS.get();
    let done = what();
    MULTIPLICATIONS.set(before);
    done
}

/// An iteration that did not converge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Diverged;

/// to += factor · from.
fn add_scaled(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// a · b, in four sums that can be formed side by side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a.zip(b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// (x, y) ← (c x − s y, s x + c y).
fn rotate(x: &mut [f64], y: &mut [f64], c: f64, s: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

/// A dense matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mat {
    rows: usize,
    columns: usize,
    entries: Vec<f64>,
}

impl Mat {
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Mat {
            rows,
            columns,
            entries: vec![0.0; rows * columns],
        }
    }

    pub fn identity(size: usize) -> Self {
        Mat::from_fn(size, size, |i, j| f64::from(u8::from(i == j)))
    }

    pub fn from_fn(rows: usize, columns: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let places = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        Mat {
            rows,
            columns,
            entries: places.map(|(i, j)| f(i, j)).collect(),
        }
    }

    pub fn nrows(&self) -> usize {
        self.rows
    }

    pub fn ncols(&self) -> usize {
        self.columns
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.columns..(i + 1) * self.columns]
    }

    fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.entries[i * self.columns..(i + 1) * self.columns]
    }

    /// Two different rows, the first of them above the second.
    fn two_rows(&mut self, i: usize, j: usize) -> (&mut [f64], &mut [f64]) {
        let width = self.columns;
        let (above, below) = self.entries.split_at_mut(j * width);
        (&mut above[i * width..(i + 1) * width], &mut below[..width])
    }

    pub fn col(&self, j: usize) -> Col {
        (0..self.rows).map(|i| self[(i, j)]).collect()
    }

    pub fn transpose(&self) -> Self {
        Mat::from_fn(self.columns, self.rows, |i, j| self[(j, i)])
    }

    /// A block of it: from this row and column on, of this size.
    pub fn submatrix(&self, row: usize, column: usize, rows: usize, columns: usize) -> Self {
        Mat::from_fn(rows, columns, |i, j| self[(row + i, column + j)])
    }

    /// Consecutive columns of it.
    pub fn subcols(&self, first: usize, count: usize) -> Self {
        self.submatrix(0, first, self.rows, count)
    }
}

impl Index<(usize, usize)> for Mat {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.entries[i * self.columns + j]
    }
}

impl IndexMut<(usize, usize)> for Mat {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.entries[i * self.columns + j]
    }
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Col(pub Vec<f64>);

impl Col {
    pub fn zeros(size: usize) -> Self {
        Col(vec![0.0; size])
    }

    pub fn from_fn(size: usize, f: impl Fn(usize) -> f64) -> Self {
        (0..size).map(f).collect()
    }

    pub fn nrows(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &f64> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.0.iter_mut()
    }
}

impl FromIterator<f64> for Col {
    fn from_iter<T: IntoIterator<Item = f64>>(from: T) -> Self {
        Col(from.into_iter().collect())
    }
}

impl Index<usize> for Col {
    type Output = f64;

    fn index(&self, i: usize) -> &f64 {
        &self.0[i]
    }
}

impl IndexMut<usize> for Col {
    fn index_mut(&mut self, i: usize) -> &mut f64 {
        &mut self.0[i]
    }
}

/// Zeros of the left factor cost nothing: matrices of hinges consist of them.
impl Mul for &Mat {
    type Output = Mat;

    fn mul(self, other: &Mat) -> Mat {
        debug_assert_eq!(self.columns, other.rows);
        let mut product = Mat::zeros(self.rows, other.columns);
        let mut used = 0;
        for i in 0..self.rows {
            for (k, &factor) in self.row(i).iter().enumerate() {
                if factor != 0.0 {
                    add_scaled(product.row_mut(i), factor, other.row(k));
                    used += 1;
                }
            }
        }
        tally(used * other.columns);
        product
    }
}

impl Mul<&Col> for &Mat {
    type Output = Col;

    fn mul(self, other: &Col) -> Col {
        debug_assert_eq!(self.columns, other.nrows());
        tally(self.entries.len());
        (0..self.rows).map(|i| dot(self.row(i), &other.0)).collect()
    }
}

impl Mul<&Mat> for f64 {
    type Output = Mat;

    fn mul(self, other: &Mat) -> Mat {
        tally(other.entries.len());
        Mat {
            entries: other.entries.iter().map(|x| self * x).collect(),
            ..*other
        }
    }
}

impl Mul<&Col> for f64 {
    type Output = Col;

    fn mul(self, other: &Col) -> Col {
        tally(other.nrows());
        other.iter().map(|x| self * x).collect()
    }
}

impl AddAssign<&Mat> for Mat {
    fn add_assign(&mut self, other: &Mat) {
        debug_assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        add_scaled(&mut self.entries, 1.0, &other.entries);
    }
}

impl Add<&Col> for Col {
    type Output = Col;

    fn add(mut self, other: &Col) -> Col {
        add_scaled(&mut self.0, 1.0, &other.0);
        self
    }
}

impl Sub<&Col> for Col {
    type Output = Col;

    fn sub(mut self, other: &Col) -> Col {
        add_scaled(&mut self.0, -1.0, &other.0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::random::Random;

    /// A matrix of random numbers.
    pub fn random(rows: usize, columns: usize, seed: u64) -> Mat {
        let mut random = Random::new(seed);
        let mut matrix = Mat::zeros(rows, columns);
        for x in &mut matrix.entries {
            *x = random.uniform(-1.0, 1.0);
        }
        matrix
    }

    pub fn largest_difference(a: &Mat, b: &Mat) -> f64 {
        assert_eq!((a.rows, a.columns), (b.rows, b.columns));
        let pairs = a.entries.iter().zip(&b.entries);
        pairs.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
    }

    /// Does it have orthonormal columns?
    pub fn is_orthonormal(q: &Mat) -> bool {
        largest_difference(&(&q.transpose() * q), &Mat::identity(q.ncols())) < 1e-13
    }

    /// An independent library finds the same singular values and eigenvalues.
    #[test]
    fn another_library_agrees() {
        for (n, seed) in [(5, 1), (20, 2), (41, 3)] {
            let a = random(n, n, seed);
            let other = faer::Mat::from_fn(n, n, |i, j| a[(i, j)]);
            let wanted = other.singular_values().expect("it converges");
            let found = a.singular_values().expect("it converges");
            for (a, b) in found.iter().zip(&wanted) {
                assert!((a - b).abs() < 1e-13 * n as f64, "{a} {b}");
            }
            let sorted = |mut list: Vec<[f64; 2]>| {
                list.sort_by(|a, b| (a[0] + 1e-9 * a[1]).total_cmp(&(b[0] + 1e-9 * b[1])));
                list
            };
            let wanted = other.eigenvalues().expect("it converges");
            let wanted = sorted(wanted.iter().map(|x| [x.re, x.im]).collect());
            let found = sorted(a.eigen().expect("it converges").values);
            for (a, b) in found.iter().zip(&wanted) {
                assert!(
                    (a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-11,
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn products_count_their_multiplications() {
        let (a, b) = (random(4, 3, 1), random(3, 5, 2));
        let before = multiplications();
        let product = &a * &b;
        assert_eq!(multiplications() - before, 4 * 3 * 5);
        for j in 0..5 {
            let column = &a * &b.col(j);
            for i in 0..4 {
                assert!((column[i] - product[(i, j)]).abs() < 1e-15);
            }
        }
    }

    /// Multiplications and divisions of each kernel, by hand.
    #[test]
    fn kernels_count_their_multiplications() {
        fn counted<T>(what: impl FnOnce() -> T) -> (u64, T) {
            let before = multiplications();
            let made = what();
            (multiplications() - before, made)
        }
        let (a, tall, columns) = (random(5, 5, 1), random(5, 3, 2), random(5, 2, 3));
        let mut definite = &a * &a.transpose();
        definite += &Mat::identity(5);
        assert_eq!(counted(|| &a * &columns.col(0)).0, 25);
        assert_eq!(counted(|| 2.0 * &tall).0, 15);
        assert_eq!(counted(|| 2.0 * &columns.col(0)).0, 5);
        // zeros of the left factor cost nothing
        assert_eq!(counted(|| &Mat::identity(5) * &tall).0, 15);
        // 1 + 2 + … of each row
        let (count, factor) = counted(|| definite.cholesky().expect("definite"));
        assert_eq!(count, 1 + 3 + 6 + 10 + 15);
        assert_eq!(counted(|| factor.lower_of(&columns)).0, 2 * 15);
        assert_eq!(counted(|| factor.upper_of(&tall)).0, 3 * 15);
        let mut right = columns.clone();
        let upper = factor.l().transpose();
        assert_eq!(counted(|| solve_upper(&upper, &mut right)).0, 2 * 15);
        // a reflection of height h: its norm, and for each column it acts on h products for the projection and h for the update
        let (count, qr) = counted(|| tall.qr());
        assert_eq!(count, 5 * (1 + 2 * 3) + 4 * (1 + 2 * 2) + 3 * (1 + 2));
        let of_q = |width: u64| {
            5 * (1 + 2 * width) + 4 * (1 + 2 * (width - 1)) + 3 * (1 + 2 * (width - 2))
        };
        assert_eq!(counted(|| qr.q()).0, of_q(5));
        assert_eq!(counted(|| qr.thin_q()).0, of_q(3));
        // orthogonal rows: their decomposition, and a round of three products
        let diagonal = Mat::from_fn(3, 3, |i, j| if i == j { 3.0 - i as f64 } else { 0.0 });
        let of_qr = 3 * 7 + 2 * 5 + 3;
        let (count, values) = counted(|| diagonal.singular_values());
        assert_eq!((count, values), (of_qr + 3 * 3, Ok(vec![3.0, 2.0, 1.0])));
        let three = Mat::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 1.0 });
        assert_eq!(counted(|| three.symmetric_eigen().is_ok()), (12 * 2, true));
        assert_eq!(counted(|| uncounted(|| &a * &tall)).0, 0);
    }

    /// Of a matrix of two rows: products of rows, rotations of R, and of U where requested.
    #[test]
    fn rotations_count_their_multiplications() {
        let counted = |what: &dyn Fn(&Mat)| {
            let a = Mat::from_fn(2, 2, |i, j| [[2.0, 1.0], [0.0, 1.0]][i][j]);
            let before = multiplications();
            what(&a);
            multiplications() - before
        };
        let qr = counted(&|a| {
            a.pivoted_qr();
        });
        assert_eq!(qr, 2 * 5 + 3);
        let values = counted(&|a| assert!(a.singular_values().is_ok()));
        // a round of one product of two, and one rotation of 12; the last round finds nothing to rotate
        assert_eq!((values - qr) % 2, 0);
        let rotations = (values - qr - 2) / 14;
        assert_eq!(values - qr, 2 + 14 * rotations);
        let whole = counted(&|a| assert!(a.svd().is_ok()));
        let products = 2 * (2 * 2 * 2) + 3 + 10 + 8;
        assert!(whole > values + 8 * rotations && whole <= values + 8 * rotations + products);
    }

    /// Products, sums and parts against their definitions; of no rows or columns, too.
    #[test]
    fn arithmetic() {
        for (m, n, p) in [
            (0, 0, 0),
            (1, 1, 1),
            (3, 0, 2),
            (2, 5, 4),
            (6, 3, 1),
            (9, 9, 9),
        ] {
            let (a, b) = (random(m, n, 1), random(n, p, 2));
            let entry = |i, j| (0..n).map(|k| a[(i, k)] * b[(k, j)]).sum();
            assert!(largest_difference(&(&a * &b), &Mat::from_fn(m, p, entry)) < 1e-14);
            for j in 0..p {
                for (i, x) in (&a * &b.col(j)).iter().enumerate() {
                    assert!((x - entry(i, j)).abs() < 1e-14);
                }
            }
            assert_eq!((a.transpose().nrows(), a.transpose().ncols()), (n, m));
            assert_eq!(a.transpose().transpose(), a);
            let mut twice = a.clone();
            twice += &a;
            assert_eq!(twice, 2.0 * &a);
        }
        let a = Mat::from_fn(4, 3, |i, j| (10 * i + j) as f64);
        assert_eq!(a.row(2), [20.0, 21.0, 22.0]);
        assert_eq!(a.col(1), Col(vec![1.0, 11.0, 21.0, 31.0]));
        assert_eq!(
            a.subcols(1, 2),
            Mat::from_fn(4, 2, |i, j| (10 * i + j + 1) as f64)
        );
        let block = a.submatrix(1, 2, 2, 1);
        assert_eq!(block, Mat::from_fn(2, 1, |i, _| (10 * (i + 1) + 2) as f64));
        let (x, y) = (Col(vec![1.0, 2.0]), Col(vec![3.0, 5.0]));
        assert_eq!(x.clone() + &y, Col(vec![4.0, 7.0]));
        assert_eq!(x.clone() - &y, Col(vec![-2.0, -3.0]));
        assert_eq!(2.0 * &x, Col(vec![2.0, 4.0]));
        // seven products, the last three in addition to the four sums
        let numbers: Vec<f64> = (1..=7).map(f64::from).collect();
        assert_eq!(dot(&numbers, &numbers), 140.0);
        let (mut x, mut y) = ([1.0, 2.0], [3.0, 4.0]);
        rotate(&mut x, &mut y, 0.6, 0.8);
        let wanted = [[0.6 - 2.4, 1.2 - 3.2], [0.8 + 1.8, 1.6 + 2.4]];
        for (found, wanted) in x.iter().chain(&y).zip(wanted.iter().flatten()) {
            assert!((found - wanted).abs() < 1e-15);
        }
    }
}
