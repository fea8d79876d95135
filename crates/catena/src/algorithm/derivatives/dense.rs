//! ∂v̇ = −I⁻¹ ∂τ with I⁻¹ as a matrix: for models of moderate size, whose matrices stay in the nearest cache.
//!
//! The recursion of [`columns`](crate::algorithm::factorization::columns) costs O(n²) for all columns together, these loops O(n³);
//! but they are the plainest there are, with a register full of columns in every step, and up to some dozens of freedoms they win.

use super::pack::Pack;
use crate::scalar::Scalar;

/// Freedoms up to which they do.
pub(crate) const MOST: usize = 24;

/// Matrices of n rows, each in as many packs as it takes, and what the loops need besides.
#[derive(Clone, Debug)]
pub(crate) struct Dense<S: Scalar, K: Pack<S>> {
    n: usize,
    packs: usize,
    inverse: Vec<K::Many>,
    right: Vec<K::Many>,
    product: Vec<K::Many>,
    factors: Vec<S>,
    /// One in one column of a pack, and the complement.
    unit: Vec<[K::Many; 2]>,
}

impl<S: Scalar, K: Pack<S>> Dense<S, K> {
    pub fn new(n: usize) -> Self {
        let packs = n.div_ceil(K::WIDTH);
        let room = || vec![K::Many::zero(); n * packs];
        let unit = |lane: usize| {
            let mut pair = [K::Many::zero(), K::spread(S::one())];
            K::set(&mut pair[0], lane, S::one());
            K::set(&mut pair[1], lane, S::zero());
            pair
        };
        Dense {
            n,
            packs,
            inverse: room(),
            right: room(),
            product: room(),
            factors: vec![S::zero(); n],
            unit: (0..K::WIDTH).map(unit).collect(),
        }
    }

    /// From ∂τ/∂q, ∂τ/∂v and I to ∂v̇/∂q, ∂v̇/∂v and I⁻¹, by rows.
    #[inline(always)]
    pub fn solve(&mut self, of_tau: [&[S]; 3], of_vdot: [&mut [S]; 3]) {
        let [dq_tau, dv_tau, inertia] = of_tau;
        let [dq, dv, dtau] = of_vdot;
        pack::<S, K>(self.n, inertia, &mut self.inverse);
        self.invert();
        unpack::<S, K>(self.n, &self.inverse, dtau);
        // one loop for both, so that the blocks are compiled once
        for (from, to) in [(dq_tau, dq), (dv_tau, dv)] {
            pack::<S, K>(self.n, from, &mut self.right);
            self.minus_product();
            unpack::<S, K>(self.n, &self.product, to);
        }
    }

    /// Inverts the symmetric positive definite matrix in place, freedom by freedom from the last to the first (Gauss and Jordan).
    #[inline(always)]
    fn invert(&mut self) {
        for k in (0..self.n).rev() {
            let (own, lane) = (k / K::WIDTH, k % K::WIDTH);
            for i in 0..self.n {
                self.factors[i] = -K::lane(&self.inverse[i * self.packs + own], lane);
            }
            let pivot = (-self.factors[k]).recip();
            let mut first = 0;
            while first < self.packs {
                match self.packs - first {
                    1 => self.eliminate::<1>(k, pivot, first),
                    2 => self.eliminate::<2>(k, pivot, first),
                    3 => self.eliminate::<3>(k, pivot, first),
                    _ => self.eliminate::<4>(k, pivot, first),
                }
                first += 4;
            }
        }
    }

    /// Freedom k, in `P` packs of columns: its row over the pivot, with the inverse of the pivot in place k, and that row's multiples
    /// from all others, which have zero in place k before.
    #[inline(always)]
    fn eliminate<const P: usize>(&mut self, k: usize, pivot: S, first: usize) {
        let (own, lane) = (k / K::WIDTH, k % K::WIDTH);
        let [unit, rest] = self.unit[lane];
        let mut keep = [K::spread(S::one()); P];
        let mut row = keep;
        for p in 0..P {
            row[p] = self.inverse[k * self.packs + first + p] * K::spread(pivot);
            if first + p == own {
                keep[p] = rest;
                row[p] = row[p].mul_add(rest, unit * K::spread(pivot));
            }
        }
        for i in 0..self.n {
            let factor = K::spread(self.factors[i]);
            let at = i * self.packs + first;
            let others = &mut self.inverse[at..at + P];
            for p in 0..P {
                others[p] = row[p].mul_add(factor, others[p] * keep[p]);
            }
        }
        self.inverse[k * self.packs + first..k * self.packs + first + P].copy_from_slice(&row);
    }

    /// −A B, in blocks of rows and packs that fill the registers.
    #[inline(always)]
    fn minus_product(&mut self) {
        let mut first = 0;
        while first < self.packs {
            let mut row = 0;
            let wide = match self.packs - first {
                1 => 1,
                2 | 4 => 2,
                _ => 3,
            };
            while row + 4 <= self.n {
                match wide {
                    1 => self.block::<4, 1>(row, first),
                    2 => self.block::<4, 2>(row, first),
                    _ => self.block::<4, 3>(row, first),
                }
                row += 4;
            }
            while row < self.n {
                match wide {
                    1 => self.block::<1, 1>(row, first),
                    2 => self.block::<1, 2>(row, first),
                    _ => self.block::<1, 3>(row, first),
                }
                row += 1;
            }
            first += wide;
        }
    }

    #[inline(always)]
    fn block<const R: usize, const P: usize>(&mut self, row: usize, first: usize) {
        let mut sums = [[K::Many::zero(); P]; R];
        for k in 0..self.n {
            let (own, lane) = (k / K::WIDTH, k % K::WIDTH);
            let right = &self.right[k * self.packs + first..k * self.packs + first + P];
            for i in 0..R {
                let factor = K::lane(&self.inverse[(row + i) * self.packs + own], lane);
                for p in 0..P {
                    sums[i][p] = right[p].mul_add(K::spread(-factor), sums[i][p]);
                }
            }
        }
        for i in 0..R {
            let at = (row + i) * self.packs + first;
            self.product[at..at + P].copy_from_slice(&sums[i]);
        }
    }
}

/// Rows of n numbers into packs, filled up with zeros.
#[inline(always)]
fn pack<S: Scalar, K: Pack<S>>(n: usize, from: &[S], into: &mut [K::Many]) {
    let (whole, packs) = (n / K::WIDTH, n.div_ceil(K::WIDTH));
    for i in 0..n {
        let row = &from[i * n..(i + 1) * n];
        for p in 0..whole {
            into[i * packs + p] = K::load(&row[p * K::WIDTH..]);
        }
        if whole < packs {
            let mut last = [S::zero(); 8];
            last[..n - whole * K::WIDTH].copy_from_slice(&row[whole * K::WIDTH..]);
            into[i * packs + whole] = K::load(&last);
        }
    }
}

/// The way back.
#[inline(always)]
fn unpack<S: Scalar, K: Pack<S>>(n: usize, from: &[K::Many], into: &mut [S]) {
    let (whole, packs) = (n / K::WIDTH, n.div_ceil(K::WIDTH));
    for i in 0..n {
        let row = &mut into[i * n..(i + 1) * n];
        for p in 0..whole {
            K::store(from[i * packs + p], &mut row[p * K::WIDTH..]);
        }
        for k in whole * K::WIDTH..n {
            row[k] = K::lane(&from[i * packs + whole], k - whole * K::WIDTH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::One;
    use super::*;
    use crate::random::Random;

    /// A⁻¹ A = 1 and −A⁻¹ B by its definition; condition numbers are of the order of n.
    #[test]
    fn inverse_and_products() {
        for n in 1..=MOST {
            let mut random = Random::new(n as u64);
            let mut numbers =
                || -> Vec<f64> { (0..n * n).map(|_| random.uniform(-1.0, 1.0)).collect() };
            let (root, b) = (numbers(), numbers());
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..n {
                    let products = (0..n).map(|k| root[i * n + k] * root[j * n + k]);
                    a[i * n + j] = products.sum::<f64>();
                }
                a[i * n + i] += 1.0;
            }
            let [mut one, mut x, mut inverse] = [(); 3].map(|()| vec![0.0; n * n]);
            let mut dense = Dense::<f64, One>::new(n);
            dense.solve([&a, &b, &a], [&mut one, &mut x, &mut inverse]);
            for i in 0..n {
                for j in 0..n {
                    let wanted = if i == j { -1.0 } else { 0.0 };
                    let allowed = 1e-13 * n as f64;
                    assert!((one[i * n + j] - wanted).abs() < allowed, "{n} {i} {j}");
                    let wanted: f64 = (0..n).map(|k| -inverse[i * n + k] * b[k * n + j]).sum();
                    assert!((x[i * n + j] - wanted).abs() < allowed, "{n} {i} {j}");
                }
            }
        }
    }
}
