//! P K Pᵀ = L D Lᵀ of a sparse symmetric matrix, with an order of elimination that keeps the factors sparse.
//!
//! The unknown with the fewest neighbours is eliminated first, which makes its neighbours a clique (minimum degree). Rows of L follow the
//! elimination tree: row k has entries at the ancestors, up to k, of the unknowns that K joins to k.

use super::tally;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The structure of the factors, and the factors themselves.
pub(crate) struct SparseFactors {
    size: usize,
    /// The unknown eliminated as k-th.
    order: Vec<usize>,
    /// Entries above the diagonal of the permuted matrix, by columns: row, and index among the values of K.
    above: Vec<Vec<(usize, usize)>>,
    /// Indices of the diagonal among the values of K.
    diagonal: Vec<usize>,
    /// Columns of L without its diagonal of ones: start of each, rows, values.
    start: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
    d: Vec<f64>,
    /// Parent in the elimination tree, or the size.
    parent: Vec<usize>,
}

impl SparseFactors {
    /// The structure for matrices with entries at these places on and above the diagonal, (row, column) in any order, each once. All
    /// diagonal entries must be present.
    pub fn new(size: usize, places: &[(usize, usize)]) -> Self {
        let order = minimum_degree(size, places);
        let mut rank = vec![0; size];
        for (k, &unknown) in order.iter().enumerate() {
            rank[unknown] = k;
        }
        let mut above = vec![Vec::new(); size];
        let mut diagonal = vec![0; size];
        for (at, &(i, j)) in places.iter().enumerate() {
            let (row, column) = (rank[i].min(rank[j]), rank[i].max(rank[j]));
            match row == column {
                true => diagonal[row] = at,
                false => above[column].push((row, at)),
            }
        }
        let mut parent = vec![size; size];
        let mut counts = vec![0; size];
        let mut seen = vec![size; size];
        for k in 0..size {
            seen[k] = k;
            for &(row, _) in &above[k] {
                let mut i = row;
                while seen[i] != k {
                    if parent[i] == size {
                        parent[i] = k;
                    }
                    counts[i] += 1;
                    seen[i] = k;
                    i = parent[i];
                }
            }
        }
        let mut start = vec![0; size + 1];
        for k in 0..size {
            start[k + 1] = start[k] + counts[k];
        }
        SparseFactors {
            size,
            order,
            above,
            diagonal,
            rows: vec![0; start[size]],
            values: vec![0.0; start[size]],
            start,
            d: vec![0.0; size],
            parent,
        }
    }

    /// Factorizes the matrix with these values. A pivot without this sign, or smaller than `least`, is replaced by `instead` with that sign.
    pub fn factorize(&mut self, matrix: &[f64], signs: &[i8], least: f64, instead: f64) {
        let n = self.size;
        let mut sums = vec![0.0; n];
        let mut filled = vec![0; n];
        let mut seen = vec![n; n];
        let mut path = Vec::new();
        let mut pattern = Vec::new();
        let mut used = 0;
        for k in 0..n {
            // the entries of row k of L, ancestors after descendants
            pattern.clear();
            seen[k] = k;
            for &(row, at) in &self.above[k] {
                sums[row] += matrix[at];
                path.clear();
                let mut i = row;
                while seen[i] != k {
                    path.push(i);
                    seen[i] = k;
                    i = self.parent[i];
                }
                pattern.extend(path.drain(..).rev());
            }
            let mut pivot = matrix[self.diagonal[k]];
            for &i in pattern.iter().rev() {
                let sum = std::mem::take(&mut sums[i]);
                let first = self.start[i];
                let column = first..first + filled[i];
                for (&row, l) in self.rows[column.clone()].iter().zip(&self.values[column]) {
                    sums[row] -= l * sum;
                }
                let l = sum / self.d[i];
                pivot -= l * sum;
                self.rows[first + filled[i]] = k;
                self.values[first + filled[i]] = l;
                used += filled[i] + 2;
                filled[i] += 1;
            }
            let sign = f64::from(signs[self.order[k]]);
            self.d[k] = match pivot * sign > least {
                true => pivot,
                false => sign * instead,
            };
        }
        tally(used);
    }

    /// x ← K⁻¹ x.
    pub fn solve(&self, x: &mut [f64]) {
        let mut y: Vec<f64> = self.order.iter().map(|&unknown| x[unknown]).collect();
        for k in 0..self.size {
            let column = self.start[k]..self.start[k + 1];
            for (&row, l) in self.rows[column.clone()].iter().zip(&self.values[column]) {
                y[row] -= l * y[k];
            }
        }
        for (y, d) in y.iter_mut().zip(&self.d) {
            *y /= d;
        }
        for k in (0..self.size).rev() {
            let column = self.start[k]..self.start[k + 1];
            for (&row, l) in self.rows[column.clone()].iter().zip(&self.values[column]) {
                y[k] -= l * y[row];
            }
        }
        for (&unknown, y) in self.order.iter().zip(y) {
            x[unknown] = y;
        }
        tally(2 * self.values.len() + self.size);
    }
}

/// An order of elimination: always an unknown with the fewest neighbours, the first of them.
fn minimum_degree(size: usize, places: &[(usize, usize)]) -> Vec<usize> {
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); size];
    for &(i, j) in places.iter().filter(|(i, j)| i != j) {
        neighbours[i].push(j);
        neighbours[j].push(i);
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    let mut queue: BinaryHeap<Reverse<(usize, usize)>> = (0..size)
        .map(|k| Reverse((neighbours[k].len(), k)))
        .collect();
    let mut done = vec![false; size];
    let mut order = Vec::with_capacity(size);
    let mut merged = Vec::new();
    while let Some(Reverse((degree, k))) = queue.pop() {
        // an outdated entry of an unknown whose degree has changed
        if done[k] || neighbours[k].len() != degree {
            continue;
        }
        done[k] = true;
        order.push(k);
        let clique = std::mem::take(&mut neighbours[k]);
        for &i in &clique {
            merge(&neighbours[i], &clique, &mut merged);
            merged.retain(|&j| j != i && j != k);
            if merged.len() != neighbours[i].len() {
                queue.push(Reverse((merged.len(), i)));
            }
            std::mem::swap(&mut neighbours[i], &mut merged);
        }
    }
    order
}

/// The union of two ascending lists.
fn merge(a: &[usize], b: &[usize], into: &mut Vec<usize>) {
    into.clear();
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        into.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    into.extend(&a[i..]);
    into.extend(&b[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::random::Random;

    /// Random quasi-definite matrices, half of the signs negative.
    #[test]
    fn solutions_of_random_matrices() {
        for seed in 1..=20 {
            let mut random = Random::new(seed);
            let size = 2 + random.below(40);
            let sign = |k: usize| if k.is_multiple_of(2) { 1 } else { -1 };
            let mut places: Vec<(usize, usize)> = (0..size).map(|k| (k, k)).collect();
            let mut values: Vec<f64> = (0..size).map(|k| 3.0 * f64::from(sign(k))).collect();
            for i in 0..size {
                for j in i + 1..size {
                    // between unknowns of unlike sign, which leaves the factors their signs
                    if (i + j) % 2 == 1 && random.below(6) == 0 {
                        places.push((i, j));
                        values.push(random.uniform(-1.0, 1.0));
                    }
                }
            }
            let signs: Vec<i8> = (0..size).map(sign).collect();
            let mut factors = SparseFactors::new(size, &places);
            factors.factorize(&values, &signs, 1e-12, 1.0);
            let wanted: Vec<f64> = (0..size).map(|_| random.uniform(-1.0, 1.0)).collect();
            let mut x = vec![0.0; size];
            for (&(i, j), value) in places.iter().zip(&values) {
                x[i] += value * wanted[j];
                if i != j {
                    x[j] += value * wanted[i];
                }
            }
            factors.solve(&mut x);
            for (x, wanted) in x.iter().zip(&wanted) {
                assert!((x - wanted).abs() < 1e-12, "{seed}");
            }
        }
    }

    /// A pivot that is too small, or has the wrong sign, is replaced by a number with the right one.
    #[test]
    fn small_pivots_are_replaced() {
        let places: Vec<(usize, usize)> = (0..6).map(|k| (k, k)).collect();
        let mut factors = SparseFactors::new(6, &places);
        let values = [2.0, 0.5, -3.0, -2.0, -0.5, 3.0];
        factors.factorize(&values, &[1, 1, 1, -1, -1, -1], 1.0, 4.0);
        let mut x = [8.0; 6];
        factors.solve(&mut x);
        assert_eq!(x, [4.0, 2.0, 2.0, -4.0, -2.0, -2.0]);
    }

    /// An arrow: eliminating its tip first would fill the whole matrix.
    #[test]
    fn the_order_keeps_factors_sparse() {
        let size = 50;
        let mut places: Vec<(usize, usize)> = (0..size).map(|k| (k, k)).collect();
        places.extend((1..size).map(|k| (0, k)));
        let factors = SparseFactors::new(size, &places);
        assert_eq!(factors.rows.len(), size - 1);
    }

    /// L D Lᵀ of [2 1 0; 1 4 2; 0 2 5] by hand, and its multiplications: two entries of L, each with a division and a product for its pivot, and the
    /// products of a solution.
    #[test]
    fn factors_and_their_multiplications() {
        let places = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)];
        let mut factors = SparseFactors::new(3, &places);
        assert_eq!(factors.order, [0, 1, 2]);
        let before = super::super::multiplications();
        factors.factorize(&[2.0, 1.0, 4.0, 2.0, 5.0], &[1; 3], 1e-9, 1.0);
        assert_eq!(super::super::multiplications() - before, 4);
        assert_eq!(factors.values, [0.5, 2.0 / 3.5]);
        assert_eq!(factors.rows, [1, 2]);
        assert_eq!(factors.d, [2.0, 3.5, 5.0 - 4.0 / 3.5]);
        let before = super::super::multiplications();
        let mut x = [4.0, 15.0, 19.0];
        factors.solve(&mut x);
        assert_eq!(super::super::multiplications() - before, 2 * 2 + 3);
        for (x, wanted) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((x - wanted).abs() < 1e-14);
        }
        // of a full matrix: k − 1 products for the k-th entry of a row before its division and its product
        let all = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
        let mut full = SparseFactors::new(3, &all);
        let before = super::super::multiplications();
        full.factorize(&[2.0, 1.0, 1.0, 4.0, 2.0, 5.0], &[1; 3], 1e-9, 1.0);
        assert_eq!(super::super::multiplications() - before, 2 + 2 + 3);
    }

    /// A pivot equal to the threshold is replaced; a larger one is kept.
    #[test]
    fn pivots_at_the_limit() {
        let places = [(0, 0), (1, 1)];
        let mut factors = SparseFactors::new(2, &places);
        factors.factorize(&[1.0, 1.5], &[1, 1], 1.0, 8.0);
        assert_eq!(factors.d, [8.0, 1.5]);
    }

    /// Minimum degree first, neighbours of an eliminated unknown joined: a ring of six with a chain attached. Unions of lists hold each entry once.
    #[test]
    fn orders_of_elimination() {
        let mut places: Vec<(usize, usize)> = (0..8).map(|k| (k, k)).collect();
        places.extend([
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 5),
            (0, 5),
            (5, 6),
            (6, 7),
        ]);
        assert_eq!(minimum_degree(8, &places), [7, 6, 0, 1, 2, 3, 4, 5]);
        // a star, its middle last but one: then it has one neighbour as the other
        let star: Vec<(usize, usize)> = (1..5).map(|k| (0, k)).collect();
        assert_eq!(minimum_degree(5, &star), [1, 2, 3, 0, 4]);
        let mut found = vec![9];
        for (a, b, union) in [
            (vec![], vec![], vec![]),
            (vec![1, 3], vec![], vec![1, 3]),
            (vec![], vec![2], vec![2]),
            (vec![1, 3, 5], vec![2, 3, 7, 8], vec![1, 2, 3, 5, 7, 8]),
            (vec![4, 6], vec![1, 4], vec![1, 4, 6]),
        ] {
            merge(&a, &b, &mut found);
            assert_eq!(found, union);
        }
    }
}
