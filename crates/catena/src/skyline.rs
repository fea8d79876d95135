//! Symmetric positive matrices inside an envelope: row i has entries from `first[i]` to the diagonal.
//!
//! Coordinates and constraints of mechanisms follow the tree, so that products of neighbouring loops stay near the diagonal: a
//! chain of loops costs O(its length).

/// A symmetric matrix by the lower rows of its envelope; after [`factorize`](Self::factorize) its Cholesky factor.
#[derive(Clone, Debug)]
pub struct Skyline {
    first: Vec<usize>,
    rows: Vec<Vec<f64>>,
}

impl Skyline {
    /// A zero matrix with this envelope.
    pub fn new(first: Vec<usize>) -> Self {
        let rows = first
            .iter()
            .enumerate()
            .map(|(i, &first)| vec![0.0; i + 1 - first])
            .collect();
        Skyline { first, rows }
    }

    /// Numbers inside an envelope with these first columns.
    pub fn numbers(first: &[usize]) -> f64 {
        let rows = first.iter().enumerate();
        rows.map(|(i, &first)| (i + 1 - first) as f64).sum()
    }

    /// Approximate number of multiplications of its factorization.
    pub fn work(&self) -> f64 {
        self.rows
            .iter()
            .map(|row| (row.len() * row.len()) as f64)
            .sum()
    }

    /// Adds to entry (i, j), j ≤ i, which must be inside the envelope.
    pub fn add(&mut self, i: usize, j: usize, value: f64) {
        let first = self.first[i];
        self.rows[i][j - first] += value;
    }

    /// Adds to every entry of the diagonal.
    pub fn shift(&mut self, value: f64) {
        for row in &mut self.rows {
            if let Some(last) = row.last_mut() {
                *last += value;
            }
        }
    }

    /// First column of a row's envelope.
    pub fn first(&self, i: usize) -> usize {
        self.first[i]
    }

    /// Largest entry of the diagonal.
    pub fn largest(&self) -> f64 {
        let diagonal = self.rows.iter().filter_map(|row| row.last());
        diagonal.fold(0.0f64, |m, x| m.max(*x))
    }

    /// A = L Lᵀ in place. False as soon as a pivot is below this fraction of its diagonal entry.
    pub fn factorize(&mut self, threshold: f64) -> bool {
        for i in 0..self.rows.len() {
            let (above, rest) = self.rows.split_at_mut(i);
            let (own, start) = (&mut rest[0], self.first[i]);
            let diagonal = own[i - start];
            for j in start..i {
                let from = start.max(self.first[j]);
                let other = &above[j];
                let mut sum = own[j - start];
                for k in from..j {
                    sum -= own[k - start] * other[k - self.first[j]];
                }
                own[j - start] = sum / other[j - self.first[j]];
            }
            let mut pivot = diagonal;
            for x in &own[..i - start] {
                pivot -= x * x;
            }
            if pivot.is_nan() || pivot <= threshold * diagonal || pivot <= 0.0 {
                return false;
            }
            own[i - start] = pivot.sqrt();
        }
        true
    }

    /// L Lᵀ x = b in place.
    pub fn solve(&self, x: &mut [f64]) {
        for i in 0..self.rows.len() {
            let start = self.first[i];
            let mut sum = x[i];
            for k in start..i {
                sum -= self.rows[i][k - start] * x[k];
            }
            x[i] = sum / self.rows[i][i - start];
        }
        for i in (0..self.rows.len()).rev() {
            let start = self.first[i];
            x[i] /= self.rows[i][i - start];
            for k in start..i {
                x[k] -= self.rows[i][k - start] * x[i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Skyline;

    /// No entry of a positive matrix exceeds the largest of its diagonal, which grows with the matrix and by what is added to the diagonal.
    #[test]
    fn the_diagonal_has_the_largest_entry() {
        for scale in [1e-9, 1.0, 1e6] {
            // Bᵀ B with columns that are not orthogonal
            let columns = [[3.0, 0.1, 0.2], [2.0, 4.0, -1.0], [0.5, -3.0, 1.0]];
            let mut matrix = Skyline::new(vec![0; 3]);
            let mut largest = 0.0f64;
            for i in 0..3 {
                for j in 0..=i {
                    let product: f64 = (0..3).map(|k| columns[i][k] * columns[j][k]).sum();
                    matrix.add(i, j, scale * product);
                    largest = largest.max(scale * product.abs());
                }
            }
            assert_eq!(matrix.largest(), largest);
            matrix.shift(scale);
            assert_eq!(matrix.largest(), largest + scale);
        }
    }

    /// A banded matrix times a vector; solving recovers the vector.
    #[test]
    fn factors_solve() {
        let n = 12;
        let first: Vec<usize> = (0..n).map(|i: usize| i.saturating_sub(i % 4)).collect();
        let mut matrix = Skyline::new(first.clone());
        let mut dense = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in first[i]..=i {
                let value = if i == j {
                    5.0 + i as f64
                } else {
                    1.0 / (1 + i + j) as f64
                };
                matrix.add(i, j, value);
                (dense[i][j], dense[j][i]) = (value, value);
            }
        }
        let x: Vec<f64> = (0..n).map(|k| (k as f64).sin()).collect();
        let mut b: Vec<f64> = dense
            .iter()
            .map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum())
            .collect();
        assert!(matrix.factorize(1e-8));
        matrix.solve(&mut b);
        for (b, x) in b.iter().zip(&x) {
            assert!((b - x).abs() < 1e-14);
        }
    }
}
