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
    use super::super::tests::{is_orthonormal, largest_difference, random};
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

    fn complex(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    fn draws(count: usize, seed: u64) -> Vec<Complex> {
        let numbers = random(count, 2, seed);
        (0..count)
            .map(|k| complex(numbers[(k, 0)], numbers[(k, 1)]))
            .collect()
    }

    fn close(a: Complex, b: Complex) -> bool {
        (a - b).abs() < 1e-14
    }

    fn squared(n: usize, entry: impl Fn(usize, usize) -> Complex) -> Square {
        let places = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        Square {
            n,
            entries: places.map(|(i, j)| entry(i, j)).collect(),
        }
    }

    fn product(a: &Square, b: &Square) -> Square {
        squared(a.n, |i, j| {
            let terms = (0..a.n).map(|k| a.at(i, k) * b.at(k, j));
            terms.fold(Complex::ZERO, Add::add)
        })
    }

    fn adjoint(a: &Square) -> Square {
        squared(a.n, |i, j| a.at(j, i).conjugate())
    }

    fn apart(a: &Square, b: &Square) -> f64 {
        let pairs = a.entries.iter().zip(&b.entries);
        pairs.fold(0.0, |m: f64, (a, b)| m.max((*a - *b).abs()))
    }

    #[test]
    fn complex_numbers() {
        let (a, b) = (complex(3.0, 4.0), complex(1.0, -2.0));
        assert_eq!(a.abs(), 5.0);
        assert_eq!(a.conjugate(), complex(3.0, -4.0));
        assert_eq!(a.scaled(-2.0), complex(-6.0, -8.0));
        assert_eq!(a + b, complex(4.0, 2.0));
        assert_eq!(a - b, complex(2.0, 6.0));
        assert_eq!(a * b, complex(11.0, -2.0));
        assert!(close(a / b, complex(-1.0, 2.0)));
        // roots in the right half plane, on the axes and in every quadrant
        for (square, root) in [
            (complex(4.0, 0.0), complex(2.0, 0.0)),
            (complex(-4.0, 0.0), complex(0.0, 2.0)),
            (complex(0.0, 2.0), complex(1.0, 1.0)),
            (complex(0.0, -2.0), complex(1.0, -1.0)),
            (complex(3.0, 4.0), complex(2.0, 1.0)),
            (complex(3.0, -4.0), complex(2.0, -1.0)),
            (complex(-3.0, 4.0), complex(1.0, 2.0)),
            (complex(-3.0, -4.0), complex(1.0, -2.0)),
            (Complex::ZERO, Complex::ZERO),
        ] {
            assert!(close(square.sqrt(), root), "{square:?}");
        }
    }

    /// A rotation G is unitary and gives (r, 0), whatever vanishes; applied to rows and columns it is multiplication by G and G*.
    #[test]
    fn turns() {
        let some = draws(6, 9);
        for (x, y) in [
            (some[0], some[1]),
            (some[2], Complex::ZERO),
            (Complex::ZERO, some[3]),
            (Complex::ZERO, Complex::ZERO),
        ] {
            let turn = Turn::of(x, y);
            let size = hypot(x.abs(), y.abs());
            assert!((turn.c * turn.c + turn.s.abs() * turn.s.abs() - 1.0).abs() < 1e-15);
            let (first, second) = (
                x.scaled(turn.c) + turn.s * y,
                y.scaled(turn.c) - turn.s.conjugate() * x,
            );
            assert!((first.abs() - size).abs() < 1e-15 && second.abs() < 1e-15);
        }
        let n = 4;
        let numbers = draws(n * n, 11);
        let a = squared(n, |i, j| numbers[i * n + j]);
        let turn = Turn::of(some[4], some[5]);
        let g = squared(n, |i, j| match (i, j) {
            (1, 1) | (2, 2) => complex(turn.c, 0.0),
            (1, 2) => turn.s,
            (2, 1) => -turn.s.conjugate(),
            _ => complex(f64::from(u8::from(i == j)), 0.0),
        });
        let mut rows = squared(n, |i, j| a.at(i, j));
        rows.turn_rows(1, 1, turn);
        let whole = product(&g, &a);
        let wanted = squared(n, |i, j| if j < 1 { a.at(i, j) } else { whole.at(i, j) });
        assert!(apart(&rows, &wanted) < 1e-15);
        let mut columns = squared(n, |i, j| a.at(i, j));
        columns.turn_columns(1, 3, turn);
        let whole = product(&a, &adjoint(&g));
        let wanted = squared(n, |i, j| if i < 3 { whole.at(i, j) } else { a.at(i, j) });
        assert!(apart(&columns, &wanted) < 1e-15);
    }

    /// D⁻¹ A D by powers of two, after which no row and column differ by much.
    #[test]
    fn rows_and_columns_are_balanced() {
        for n in [2, 3, 6] {
            let sizes = |k: usize| 10f64.powi([4, -3, 0, 2, -6, 1][k]);
            let inner = random(n, n, 20 + n as u64);
            let a = Mat::from_fn(n, n, |i, j| inner[(i, j)] * sizes(i) / sizes(j));
            let mut balanced = a.clone();
            let scale = balance(&mut balanced);
            assert!(scale.iter().all(|d| d.log2().fract() == 0.0), "{scale:?}");
            let wanted = Mat::from_fn(n, n, |i, j| a[(i, j)] / scale[i] * scale[j]);
            assert_eq!(balanced, wanted);
            for i in 0..n {
                let others = || (0..n).filter(move |&j| j != i);
                let column: f64 = others().map(|j| balanced[(j, i)].abs()).sum();
                let row: f64 = others().map(|j| balanced[(i, j)].abs()).sum();
                assert!((0.25..4.0).contains(&(column / row)), "{column} {row}");
            }
        }
        // a column four times as large as its row is halved, a row twice as large stays; a triangular matrix cannot be balanced
        let pair = |above: f64, below: f64| {
            let mut a = Mat::from_fn(2, 2, |i, j| match (i, j) {
                (0, 1) => above,
                (1, 0) => below,
                _ => 7.0,
            });
            (balance(&mut a), a)
        };
        let (scale, a) = pair(1.0, 16.0);
        assert_eq!((scale, a[(0, 1)], a[(1, 0)]), (vec![0.25, 1.0], 4.0, 4.0));
        let (scale, a) = pair(16.0, 1.0);
        assert_eq!((scale, a[(0, 1)], a[(1, 0)]), (vec![4.0, 1.0], 4.0, 4.0));
        assert_eq!((a[(0, 0)], a[(1, 1)]), (7.0, 7.0));
        for (above, below) in [(2.0, 1.0), (1.0, 1.5), (1e9, 0.0), (0.0, 1e9)] {
            assert_eq!(pair(above, below).0, [1.0; 2], "{above} {below}");
        }
    }

    /// Qᵀ A Q = H with an orthogonal Q and nothing below the subdiagonal, also where a column needs no reflection.
    #[test]
    fn hessenberg_matrices_are_similar() {
        for n in [0, 1, 2, 3, 4, 9] {
            let dense = random(n, n, 30 + n as u64);
            let gaps = Mat::from_fn(n, n, |i, j| match i > 1 && j == 0 {
                true => 0.0,
                false => dense[(i, j)],
            });
            for a in [dense, gaps] {
                let mut h = a.clone();
                let q = hessenberg(&mut h);
                assert!(is_orthonormal(&q));
                let turned = &q.transpose() * &(&a * &q);
                assert!(largest_difference(&turned, &h) < 1e-14 * (1 + n) as f64);
                for i in 0..n {
                    for j in 0..i.saturating_sub(1) {
                        assert_eq!(h[(i, j)], 0.0);
                    }
                }
            }
        }
    }

    /// Z* H Z = T is triangular with a unitary Z; eigenvectors of T by substitution.
    #[test]
    fn triangles_are_similar() {
        for n in [0, 1, 2, 3, 5, 12] {
            let mut a = random(n, n, 40 + n as u64);
            hessenberg(&mut a);
            let h = Square::of(&a);
            let (mut t, mut z) = (Square::of(&a), Square::of(&Mat::identity(n)));
            triangulate(&mut t, &mut z).expect("it converges");
            let one = Square::of(&Mat::identity(n));
            assert!(apart(&product(&adjoint(&z), &z), &one) < 1e-13);
            let turned = product(&adjoint(&z), &product(&h, &z));
            assert!(apart(&turned, &t) < 1e-13);
            for i in 0..n {
                assert!((0..i).all(|j| t.at(i, j).abs() < 1e-15));
                let y = substituted(&t, i, 1.0);
                assert_eq!(y[i], Complex::ONE);
                assert!(y[i + 1..].iter().all(|y| *y == Complex::ZERO));
                for k in 0..n {
                    let terms = (0..n).map(|j| t.at(k, j) * y[j]);
                    let image = terms.fold(Complex::ZERO, Add::add);
                    assert!((image - t.at(i, i) * y[k]).abs() < 1e-12);
                }
            }
        }
        // failure to converge is reported
        let mut h = Square::of(&Mat::from_fn(2, 2, |_, _| 1.0));
        *h.at_mut(0, 0) = complex(f64::NAN, 0.0);
        let mut z = Square::of(&Mat::identity(2));
        assert_eq!(triangulate(&mut h, &mut z), Err(Diverged));
    }

    /// Equal eigenvalues on the diagonal are separated by ε times the size.
    #[test]
    fn equal_eigenvalues_are_separated_by_round_off() {
        let t = Square::of(&Mat::from_fn(2, 2, |i, j| [[3.0, 2.0], [0.0, 3.0]][i][j]));
        let y = substituted(&t, 1, 4.0);
        assert_eq!(y[0], complex(2.0 / (4.0 * f64::EPSILON), 0.0));
        let t = Square::of(&Mat::from_fn(2, 2, |i, j| [[3.0, 2.0], [0.0, 5.0]][i][j]));
        assert_eq!(substituted(&t, 1, 4.0)[0], complex(1.0, 0.0));
    }

    /// Of the eigenvalues of the last block, the one nearest to its corner.
    #[test]
    fn shifts_are_eigenvalues_of_the_corner() {
        let numbers = draws(60, 50);
        for four in numbers.chunks_exact(4) {
            let [a, b, c, d] = [four[0], four[1], four[2], four[3]];
            // the block at the end of a larger matrix
            let h = squared(3, |i, j| match (i, j) {
                (1, 1) => a,
                (1, 2) => b,
                (2, 1) => c,
                (2, 2) => d,
                _ => complex(9.0, 9.0),
            });
            let found = wilkinson(&h, 2);
            let of = |x: Complex| (a - x) * (d - x) - b * c;
            assert!(of(found).abs() < 1e-14);
            let other = a + d - found;
            assert!((found - d).abs() <= (other - d).abs() + 1e-14);
        }
        let zero = squared(2, |i, j| {
            complex(f64::from(u8::from((i, j) == (1, 0))), 0.0)
        });
        assert_eq!(wilkinson(&zero, 1), Complex::ZERO);
    }

    #[test]
    fn vectors_have_length_one_and_real_ones_no_imaginary_part() {
        let x = unit(vec![complex(0.0, 3e200), complex(-4e200, 0.0)]);
        assert!(close(x[0], complex(0.0, 0.6)) && close(x[1], complex(-0.8, 0.0)));
        // a real vector times a phase
        let phase = complex(0.6, 0.8);
        let x: Vec<Complex> = [1.0, -2.0, 2.0]
            .iter()
            .map(|&x| phase.scaled(5.0 * x))
            .collect();
        let found = real(&x);
        let sign = found[0].re.signum();
        for (found, wanted) in found.iter().zip([1.0, -2.0, 2.0]) {
            assert!(close(*found, complex(sign * wanted / 3.0, 0.0)));
            assert_eq!(found.im, 0.0);
        }
        // the first of the largest entries becomes positive
        assert!(found[1].re > 0.0);
    }

    /// Conjugates up to round-off become exact, nearest to nearest; imaginary parts of unpaired values, or at the level of round-off, vanish.
    #[test]
    fn conjugates_are_paired() {
        let mut values = [
            complex(1.0, -2.0 + 1e-15),
            complex(5.0, 1e-15),
            complex(1.0, 1.0),
            complex(1.0 + 1e-15, 2.0),
            complex(1.0, -1.0 - 1e-15),
            complex(5.0, -1e-15),
        ];
        let mut vectors: Vec<Vec<Complex>> = (0..6)
            .map(|k| vec![complex(0.6, 0.1 * f64::from(k)), complex(0.0, 0.8)])
            .collect();
        let order = paired(&mut values, &mut vectors, 1e-14);
        let sorted: Vec<Complex> = order.iter().map(|&k| values[k]).collect();
        assert_eq!(sorted[0], complex(1.0 + 1e-15, 2.0));
        assert_eq!(sorted[2], complex(1.0, 1.0));
        for pair in [0, 2] {
            assert_eq!(sorted[pair + 1], sorted[pair].conjugate());
            let [one, other] = [order[pair], order[pair + 1]];
            for (x, y) in vectors[one].iter().zip(&vectors[other]) {
                assert_eq!(*y, x.conjugate());
            }
        }
        assert_eq!(&order[..4], [3, 0, 2, 4]);
        assert_eq!(sorted[4..], [complex(5.0, 0.0); 2]);
        for &k in &order[4..] {
            assert!(vectors[k].iter().all(|x| x.im == 0.0));
        }
        // alone with its imaginary part
        let mut values = [complex(2.0, 0.5)];
        let mut vectors = vec![vec![complex(0.0, 1.0)]];
        assert_eq!(paired(&mut values, &mut vectors, 1e-14), [0]);
        assert_eq!(
            (values[0], vectors[0][0]),
            (complex(2.0, 0.0), Complex::ONE)
        );
    }

    /// Eigenvectors of the balanced matrix are scaled back, and of length 1.
    #[test]
    fn vectors_of_badly_scaled_matrices() {
        let sizes = [1e-4, 1.0, 1e4];
        let inner = random(3, 3, 8);
        let a = Mat::from_fn(3, 3, |i, j| inner[(i, j)] * sizes[i] / sizes[j]);
        let found = a.eigen().expect("it converges");
        for (value, x) in found.values.iter().zip(&found.vectors) {
            let square: f64 = x.iter().map(|x| x[0] * x[0] + x[1] * x[1]).sum();
            assert!((square - 1.0).abs() < 1e-14);
            for i in 0..3 {
                let [mut re, mut im, mut size] = [0.0f64; 3];
                for j in 0..3 {
                    re += a[(i, j)] * x[j][0];
                    im += a[(i, j)] * x[j][1];
                    size += (a[(i, j)] * hypot(x[j][0], x[j][1])).abs();
                }
                re -= value[0] * x[i][0] - value[1] * x[i][1];
                im -= value[0] * x[i][1] + value[1] * x[i][0];
                // row by row, relative to its own terms
                assert!(hypot(re, im) < 1e-12 * size, "{i}");
            }
        }
    }

    /// A defective eigenvalue of a Jordan chain: its one eigenvector, to the accuracy of round-off.
    #[test]
    fn chains_have_one_direction() {
        let a = Mat::from_fn(3, 3, |i, j| match j {
            _ if i == j => 2.0,
            _ if j == i + 1 => 1.0,
            _ => 0.0,
        });
        let found = a.eigen().expect("it is triangular");
        assert_eq!(found.values, [[2.0, 0.0]; 3]);
        for x in &found.vectors {
            assert!((x[0][0].abs() - 1.0).abs() < 1e-14 && x[0][1] == 0.0);
        }
        assert!(residual(&a, &found) < 1e-14);
    }

    /// Units do not matter: a matrix times a power of two has the same vectors, bit for bit.
    #[test]
    fn powers_of_two_change_nothing_else() {
        let a = random(7, 7, 77);
        let found = a.eigen().expect("it converges");
        for power in [-90, 90] {
            let factor = 2f64.powi(power);
            let scaled = (factor * &a).eigen().expect("it converges");
            assert_eq!(scaled.vectors, found.vectors);
            for (a, b) in scaled.values.iter().zip(&found.values) {
                assert_eq!(*a, b.map(|x| factor * x));
            }
        }
    }
}
