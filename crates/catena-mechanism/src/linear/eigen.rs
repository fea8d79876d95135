//! Eigenvalues and eigenvectors of any real matrix: Schur's triangle by the shifted QR algorithm in complex numbers.
//!
//! ```text
//! D⁻¹ A D        balanced: rows and columns of like size, D of powers of two
//! Q* … Q = H     upper Hessenberg, by Householder's reflections
//! Z* H Z = T     upper triangular: H − μ = G R,  H ← R G + μ,  μ the eigenvalue of the last 2×2 block nearest to its corner (Wilkinson)
//! T y = λ y      by substitution,  x = D Q Z y
//! ```
//!
//! A real matrix has pairs of conjugate eigenvalues; round-off of complex numbers is removed from them at the end.

use super::{Diverged, Mat};
use catena::elementary::hypot;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Eigenvalues and eigenvectors of length 1, real and imaginary parts. Conjugate pairs stand side by side, the positive one first.
pub(crate) struct Eigen {
    pub values: Vec<[f64; 2]>,
    /// One list per value.
    pub vectors: Vec<Vec<[f64; 2]>>,
}

/// Steps per eigenvalue; two or three are usual.
const STEPS: usize = 60;
/// Steps after which a different shift breaks a cycle.
const CYCLE: usize = 10;
/// Imaginary parts below this fraction of the matrix are round-off.
const REAL: f64 = 64.0 * f64::EPSILON;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    const ZERO: Self = Complex { re: 0.0, im: 0.0 };
    const ONE: Self = Complex { re: 1.0, im: 0.0 };

    fn abs(self) -> f64 {
        hypot(self.re, self.im)
    }

    fn conjugate(self) -> Self {
        Complex {
            im: -self.im,
            ..self
        }
    }

    fn scaled(self, factor: f64) -> Self {
        Complex {
            re: factor * self.re,
            im: factor * self.im,
        }
    }

    /// The root in the right half plane.
    fn sqrt(self) -> Self {
        let size = self.abs();
        if size == 0.0 {
            return Complex::ZERO;
        }
        let larger = ((size + self.re.abs()) / 2.0).sqrt();
        let smaller = self.im.abs() / (2.0 * larger);
        let (re, im) = match self.re >= 0.0 {
            true => (larger, smaller),
            false => (smaller, larger),
        };
        Complex {
            re,
            im: if self.im < 0.0 { -im } else { im },
        }
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Complex {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Neg for Complex {
    type Output = Self;

    fn neg(self) -> Self {
        Complex {
            re: -self.re,
            im: -self.im,
        }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl Div for Complex {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let size = other.abs();
        let unit = other.scaled(1.0 / size);
        (self * unit.conjugate()).scaled(1.0 / size)
    }
}

/// A square matrix of complex numbers, row by row.
struct Square {
    n: usize,
    entries: Vec<Complex>,
}

impl Square {
    fn of(a: &Mat) -> Self {
        Square {
            n: a.nrows(),
            entries: a
                .entries
                .iter()
                .map(|&re| Complex { re, im: 0.0 })
                .collect(),
        }
    }

    fn at(&self, i: usize, j: usize) -> Complex {
        self.entries[i * self.n + j]
    }

    fn at_mut(&mut self, i: usize, j: usize) -> &mut Complex {
        &mut self.entries[i * self.n + j]
    }

    /// Rows k and k + 1 ← G of them, from a column on.
    fn turn_rows(&mut self, k: usize, from: usize, turn: Turn) {
        for j in from..self.n {
            let (x, y) = (self.at(k, j), self.at(k + 1, j));
            *self.at_mut(k, j) = x.scaled(turn.c) + turn.s * y;
            *self.at_mut(k + 1, j) = y.scaled(turn.c) - turn.s.conjugate() * x;
        }
    }

    /// Columns k and k + 1 ← them times G*, down to but not including a row.
    fn turn_columns(&mut self, k: usize, to: usize, turn: Turn) {
        for i in 0..to {
            let (x, y) = (self.at(i, k), self.at(i, k + 1));
            *self.at_mut(i, k) = x.scaled(turn.c) + turn.s.conjugate() * y;
            *self.at_mut(i, k + 1) = y.scaled(turn.c) - turn.s * x;
        }
    }
}

/// G = [c s; −s* c], which maps (x, y) to (r, 0).
#[derive(Clone, Copy)]
struct Turn {
    c: f64,
    s: Complex,
}

impl Turn {
    fn of(x: Complex, y: Complex) -> Self {
        let length = hypot(x.abs(), y.abs());
        if length == 0.0 || y == Complex::ZERO {
            return Turn {
                c: 1.0,
                s: Complex::ZERO,
            };
        }
        let phase = match x.abs() > 0.0 {
            true => x.scaled(1.0 / x.abs()),
            false => Complex::ONE,
        };
        Turn {
            c: x.abs() / length,
            s: phase * y.conjugate().scaled(1.0 / length),
        }
    }
}

impl Mat {
    /// Its eigenvalues and eigenvectors.
    pub fn eigen(&self) -> Result<Eigen, Diverged> {
        if !self.entries.iter().all(|x| x.is_finite()) {
            return Err(Diverged);
        }
        let mut a = self.clone();
        let scale = balance(&mut a);
        let size = a.entries.iter().map(|x| x * x).sum::<f64>().sqrt();
        let q = hessenberg(&mut a);
        let (mut t, mut z) = (Square::of(&a), Square::of(&q));
        triangulate(&mut t, &mut z)?;
        let n = t.n;
        let mut values: Vec<Complex> = (0..n).map(|k| t.at(k, k)).collect();
        let mut vectors: Vec<Vec<Complex>> = (0..n)
            .map(|k| {
                let y = substituted(&t, k, size);
                let x = (0..n).map(|i| {
                    let terms = y.iter().enumerate().map(|(j, y)| z.at(i, j) * *y);
                    terms.fold(Complex::ZERO, Add::add).scaled(scale[i])
                });
                unit(x.collect())
            })
            .collect();
        let order = paired(&mut values, &mut vectors, REAL * size);
        let parts = |x: &Complex| [x.re, x.im];
        Ok(Eigen {
            values: order.iter().map(|&k| parts(&values[k])).collect(),
            vectors: order
                .iter()
                .map(|&k| vectors[k].iter().map(parts).collect())
                .collect(),
        })
    }
}

/// A ← D⁻¹ A D with rows and columns of like size; returns D.
fn balance(a: &mut Mat) -> Vec<f64> {
    let n = a.nrows();
    let mut scale = vec![1.0; n];
    // it terminates after a few rounds
    for _ in 0..20 {
        let mut changed = false;
        for i in 0..n {
            let others = || (0..n).filter(move |&j| j != i);
            let column: f64 = others().map(|j| a[(j, i)].abs()).sum();
            let row: f64 = others().map(|j| a[(i, j)].abs()).sum();
            if column == 0.0 || row == 0.0 {
                continue;
            }
            // the power of two next to √(row / column)
            let (mut factor, mut own) = (1.0, column);
            while own < row / 2.0 {
                (factor, own) = (2.0 * factor, 4.0 * own);
            }
            while own >= 2.0 * row {
                (factor, own) = (0.5 * factor, 0.25 * own);
            }
            let after = column * factor + row / factor;
            if factor != 1.0 && after < 0.95 * (column + row) {
                changed = true;
                scale[i] *= factor;
                for j in 0..n {
                    a[(i, j)] /= factor;
                    a[(j, i)] *= factor;
                }
            }
        }
        if !changed {
            break;
        }
    }
    scale
}

/// A ← Qᵀ A Q without entries below the first subdiagonal; returns Q.
fn hessenberg(a: &mut Mat) -> Mat {
    let n = a.nrows();
    let mut q = Mat::identity(n);
    for k in 0..n.saturating_sub(2) {
        let mut v: Vec<f64> = (k + 1..n).map(|i| a[(i, k)]).collect();
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let rest: f64 = v[1..].iter().map(|x| x.abs()).sum();
        if rest == 0.0 {
            continue;
        }
        let head = if v[0] > 0.0 { -norm } else { norm };
        let beta = 1.0 / (norm * (norm + v[0].abs()));
        v[0] -= head;
        for j in 0..n {
            let across: f64 = v
                .iter()
                .enumerate()
                .map(|(i, v)| v * a[(k + 1 + i, j)])
                .sum();
            for (i, v) in v.iter().enumerate() {
                a[(k + 1 + i, j)] -= beta * across * v;
            }
        }
        for matrix in [&mut *a, &mut q] {
            for i in 0..n {
                let across: f64 = v
                    .iter()
                    .enumerate()
                    .map(|(j, v)| v * matrix[(i, k + 1 + j)])
                    .sum();
                for (j, v) in v.iter().enumerate() {
                    matrix[(i, k + 1 + j)] -= beta * across * v;
                }
            }
        }
        a[(k + 1, k)] = head;
        for i in k + 2..n {
            a[(i, k)] = 0.0;
        }
    }
    q
}

/// H ← Z* H Z, upper triangular; Z is accumulated.
fn triangulate(h: &mut Square, z: &mut Square) -> Result<(), Diverged> {
    let n = h.n;
    let mut last = n.saturating_sub(1);
    let mut steps = 0;
    while last > 0 {
        // the block that ends here
        let small = |k: usize| {
            let beside = h.at(k - 1, k - 1).abs() + h.at(k, k).abs();
            h.at(k, k - 1).abs() <= f64::EPSILON * beside
        };
        let first = (1..=last).rev().find(|&k| small(k)).unwrap_or(0);
        if first > 0 {
            *h.at_mut(first, first - 1) = Complex::ZERO;
        }
        if first == last {
            (last, steps) = (last - 1, 0);
            continue;
        }
        steps += 1;
        if steps > STEPS {
            return Err(Diverged);
        }
        let shift = match steps % CYCLE {
            0 => {
                h.at(last, last)
                    + Complex {
                        re: h.at(last, last - 1).abs(),
                        im: 0.0,
                    }
            }
            _ => wilkinson(h, last),
        };
        for k in first..=last {
            *h.at_mut(k, k) = h.at(k, k) - shift;
        }
        let mut turns = Vec::with_capacity(last - first);
        for k in first..last {
            let turn = Turn::of(h.at(k, k), h.at(k + 1, k));
            h.turn_rows(k, k, turn);
            *h.at_mut(k + 1, k) = Complex::ZERO;
            turns.push(turn);
        }
        for (k, turn) in (first..).zip(turns) {
            h.turn_columns(k, (k + 2).min(last + 1), turn);
            z.turn_columns(k, n, turn);
        }
        for k in first..=last {
            *h.at_mut(k, k) = h.at(k, k) + shift;
        }
    }
    Ok(())
}

/// The eigenvalue of the last 2×2 block nearest to its corner.
fn wilkinson(h: &Square, last: usize) -> Complex {
    let [a, b] = [h.at(last - 1, last - 1), h.at(last - 1, last)];
    let [c, d] = [h.at(last, last - 1), h.at(last, last)];
    let half = (a - d).scaled(0.5);
    let root = (half * half + b * c).sqrt();
    let [one, other] = [half + root, half - root];
    let far = if one.abs() > other.abs() { one } else { other };
    match far == Complex::ZERO {
        true => d,
        // the product of both is −b c
        false => d - b * c / far,
    }
}

/// y with T y = T_kk y.
fn substituted(t: &Square, k: usize, size: f64) -> Vec<Complex> {
    let mut y = vec![Complex::ZERO; t.n];
    y[k] = Complex::ONE;
    let least = f64::EPSILON * size;
    for i in (0..k).rev() {
        let terms = (i + 1..=k).map(|j| t.at(i, j) * y[j]);
        let sum = terms.fold(Complex::ZERO, Add::add);
        let mut apart = t.at(k, k) - t.at(i, i);
        if apart.abs() < least {
            // equal eigenvalues: separated by the size of round-off
            apart = Complex { re: least, im: 0.0 };
        }
        y[i] = sum / apart;
    }
    y
}

fn unit(x: Vec<Complex>) -> Vec<Complex> {
    let largest = x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let x = x.into_iter().map(|x| x.scaled(1.0 / largest));
    let x: Vec<Complex> = x.collect();
    let norm = x
        .iter()
        .map(|x| x.re * x.re + x.im * x.im)
        .sum::<f64>()
        .sqrt();
    x.into_iter().map(|x| x.scaled(1.0 / norm)).collect()
}

/// Makes eigenvalues of a real matrix real or conjugate in pairs, with their vectors; returns an order in which pairs stand side by side.
fn paired(values: &mut [Complex], vectors: &mut [Vec<Complex>], round_off: f64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..values.len()).collect();
    left.sort_by(|&a, &b| values[b].im.abs().total_cmp(&values[a].im.abs()));
    let mut order = Vec::with_capacity(values.len());
    while !left.is_empty() {
        let one = left.remove(0);
        let mirrored = values[one].conjugate();
        let near = |&k: &usize| (values[k] - mirrored).abs();
        let nearest = (0..left.len()).min_by(|&a, &b| near(&left[a]).total_cmp(&near(&left[b])));
        let partner = nearest.filter(|&at| near(&left[at]) < values[one].im.abs());
        match partner {
            Some(at) if values[one].im.abs() > round_off => {
                let other = left.remove(at);
                let [first, second] = match values[one].im > 0.0 {
                    true => [one, other],
                    false => [other, one],
                };
                values[second] = values[first].conjugate();
                vectors[second] = vectors[first].iter().map(|x| x.conjugate()).collect();
                order.extend([first, second]);
            }
            _ => {
                values[one].im = 0.0;
                vectors[one] = real(&vectors[one]);
                order.push(one);
            }
        }
    }
    order
}

/// A vector turned so that its largest entry is real, without its imaginary part.
fn real(x: &[Complex]) -> Vec<Complex> {
    let largest = x
        .iter()
        .copied()
        .reduce(|a, b| if b.abs() > a.abs() { b } else { a });
    let largest = largest.unwrap_or(Complex::ONE);
    let turn = largest.conjugate().scaled(1.0 / largest.abs());
    let parts = x.iter().map(|&x| Complex {
        re: (x * turn).re,
        im: 0.0,
    });
    unit(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    /// Largest |A x − λ x| over all pairs.
    fn residual(a: &Mat, found: &Eigen) -> f64 {
        let n = a.nrows();
        let mut worst = 0.0f64;
        for (value, x) in found.values.iter().zip(&found.vectors) {
            for i in 0..n {
                let [mut re, mut im] = [0.0; 2];
                for j in 0..n {
                    re += a[(i, j)] * x[j][0];
                    im += a[(i, j)] * x[j][1];
                }
                re -= value[0] * x[i][0] - value[1] * x[i][1];
                im -= value[0] * x[i][1] + value[1] * x[i][0];
                worst = worst.max(hypot(re, im));
            }
        }
        worst
    }

    #[test]
    fn random_matrices() {
        for (n, seed) in [(1, 1), (2, 2), (3, 3), (8, 4), (30, 5), (61, 6)] {
            let a = random(n, n, seed);
            let found = a.eigen().expect("it converges");
            assert!(residual(&a, &found) < 1e-13 * n as f64, "{n}");
            let trace: f64 = (0..n).map(|k| a[(k, k)]).sum();
            let sum: f64 = found.values.iter().map(|x| x[0]).sum();
            assert!((trace - sum).abs() < 1e-13 * n as f64);
            // conjugates stand side by side
            let mut k = 0;
            while k < n {
                let [re, im] = found.values[k];
                if im != 0.0 {
                    assert_eq!(found.values[k + 1], [re, -im]);
                    k += 1;
                }
                k += 1;
            }
        }
    }

    /// (x − 1) … (x − 8), and x⁶ = 1.
    #[test]
    fn companion_matrices_have_the_roots() {
        let companion = |c: &[f64]| {
            let n = c.len();
            Mat::from_fn(n, n, |i, j| match j + 1 == n {
                true => -c[i],
                false => f64::from(u8::from(i == j + 1)),
            })
        };
        let mut c = vec![1.0];
        for root in 1..=8 {
            let mut next = vec![0.0; c.len() + 1];
            for (k, x) in c.iter().enumerate() {
                next[k + 1] += x;
                next[k] -= f64::from(root) * x;
            }
            c = next;
        }
        let a = companion(&c[..8]);
        let mut found: Vec<[f64; 2]> = a.eigen().expect("it converges").values;
        found.sort_by(|a, b| a[0].total_cmp(&b[0]));
        for (value, root) in found.iter().zip(1..) {
            assert!(
                (value[0] - f64::from(root)).abs() < 1e-8 && value[1] == 0.0,
                "{found:?}"
            );
        }
        let circle = companion(&[-1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let found = circle.eigen().expect("it converges");
        for [re, im] in &found.values {
            assert!((hypot(*re, *im) - 1.0).abs() < 1e-14);
        }
        assert!(residual(&circle, &found) < 1e-14);
    }

    /// Entries from 1e-6 to 1e6, as states of mixed units have them.
    #[test]
    fn badly_scaled_matrices() {
        let sizes = [1e-3, 1.0, 1e3, 10.0];
        let inner = random(4, 4, 7);
        let a = Mat::from_fn(4, 4, |i, j| inner[(i, j)] * sizes[i] / sizes[j]);
        let mut wanted = inner.eigen().expect("it converges").values;
        let mut found = a.eigen().expect("it converges").values;
        for list in [&mut wanted, &mut found] {
            list.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        }
        for (a, b) in found.iter().zip(&wanted) {
            assert!(
                hypot(a[0] - b[0], a[1] - b[1]) < 1e-13,
                "{found:?} {wanted:?}"
            );
        }
    }

    #[test]
    fn equal_and_missing_eigenvalues() {
        assert_eq!(
            Mat::zeros(3, 3).eigen().expect("it is triangular").values,
            [[0.0; 2]; 3]
        );
        let chain = Mat::from_fn(2, 2, |i, j| f64::from(u8::from(i == 0 && j == 1)));
        let found = chain.eigen().expect("it is triangular");
        assert_eq!(found.values, [[0.0; 2]; 2]);
        assert!(residual(&chain, &found) < 1e-15);
        assert!(Mat::zeros(0, 0).eigen().expect("nothing").values.is_empty());
        assert!(Mat::from_fn(2, 2, |_, _| f64::INFINITY).eigen().is_err());
    }
}
