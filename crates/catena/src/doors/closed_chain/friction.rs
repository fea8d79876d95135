//! Which efforts of dry friction a closed chain at rest does not determine.
//!
//! Held freedoms and constraints act on the motion together. With A the accelerations of the freedoms that have friction under unit
//! efforts on them and the constraints, efforts with A λ = 0 change only the loads of the constraints: friction in
//! several joints of one loop can block the same motion, and how they share the load is indeterminate for rigid bodies.

use super::ClosedChain;
use crate::algorithm::constrained::complete_orthogonal::{CompleteOrthogonal, RANK_TOLERANCE};
use crate::error::Result;
use crate::state::State;

/// Freedoms whose friction blocks the same motions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFriction {
    /// The freedoms, by their velocity coordinates.
    pub freedoms: Vec<usize>,
    /// Number of independent motions they block, fewer than freedoms.
    pub motions: usize,
}

/// A pivot below this fraction of its row's magnitude counts as zero.
pub(crate) const DEPENDENT: f64 = 1e-9;

impl ClosedChain {
    /// Freedoms with dry friction whose holding efforts are not unique when all of them are at rest in a closed state.
    pub fn shared_friction(&mut self, time: f64, state: &State) -> Result<Vec<SharedFriction>> {
        let freedoms: Vec<usize> = (0..self.model.nv())
            .filter(|&k| self.model.dofs[k].friction > 0.0)
            .collect();
        let (n, nv) = (freedoms.len(), self.model.nv());
        if n == 0 {
            return Ok(Vec::new());
        }
        // dependence is determined by the constraints: E − J⁺J shows it as well as the mobility does
        let jacobian = self.rows(time, state)?.dense(nv);
        let mut decomposition = CompleteOrthogonal::new(nv, jacobian.rows());
        decomposition.decompose(&jacobian, RANK_TOLERANCE, usize::MAX);
        let mut matrix = vec![0.0; n * n];
        for (b, &k) in freedoms.iter().enumerate() {
            let mut y: Vec<f64> = (0..jacobian.rows()).map(|i| jacobian[(i, k)]).collect();
            decomposition.solve(&mut y);
            for (a, &l) in freedoms.iter().enumerate() {
                let back: f64 = y
                    .iter()
                    .enumerate()
                    .map(|(i, y)| jacobian[(i, l)] * y)
                    .sum();
                matrix[a * n + b] = f64::from(u8::from(a == b)) - back;
            }
        }
        clean(&mut matrix, &vec![1.0; n]);
        let groups = groups(&matrix, n).into_iter();
        Ok(groups
            .map(|(members, motions)| SharedFriction {
                freedoms: members.into_iter().map(|i| freedoms[i]).collect(),
                motions,
            })
            .collect())
    }

    /// Mobility of freedoms in the open tree: the scale of round-off of their mobility under
    /// constraints.
    pub(crate) fn open_mobility(&mut self, state: &State, freedoms: &[usize]) -> Result<Vec<f64>> {
        self.tree.factorize(state)?;
        let mut unit = vec![0.0; state.v.len()];
        let mut mobility = Vec::with_capacity(freedoms.len());
        for &k in freedoms {
            unit.fill(0.0);
            unit[k] = 1.0;
            self.tree.solve(&mut unit)?;
            mobility.push(unit[k]);
        }
        Ok(mobility)
    }
}

/// Makes a mobility symmetric to the last digit; a freedom whose mobility is negligible compared with that in `alone` is set to zero.
pub(crate) fn clean(matrix: &mut [f64], alone: &[f64]) {
    let n = alone.len();
    for a in 0..n {
        for b in 0..a {
            let mean = 0.5 * (matrix[a * n + b] + matrix[b * n + a]);
            matrix[a * n + b] = mean;
            matrix[b * n + a] = mean;
        }
    }
    for a in 0..n {
        if matrix[a * n + a] <= DEPENDENT * alone[a] {
            for b in 0..n {
                matrix[a * n + b] = 0.0;
                matrix[b * n + a] = 0.0;
            }
        }
    }
}

/// Eliminates a positive semidefinite matrix in place, with pivots relative to the magnitudes of their rows: returns the pivots in order,
/// and the dependent rows. Entry (p, i) is the coefficient of pivot p in row i, with later pivots eliminated.
fn eliminate(a: &mut [f64], n: usize) -> (Vec<usize>, Vec<usize>) {
    let size: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
    let mut pivots = Vec::new();
    let mut left: Vec<usize> = (0..n).collect();
    while !left.is_empty() {
        let ratio = |i: usize| match size[i] > 0.0 {
            true => a[i * n + i] / size[i],
            false => 0.0,
        };
        let mut best = 0;
        for k in 1..left.len() {
            if ratio(left[k]) > ratio(left[best]) {
                best = k;
            }
        }
        if ratio(left[best]) <= DEPENDENT {
            break;
        }
        let p = left.swap_remove(best);
        for &i in &left {
            let factor = a[i * n + p] / a[p * n + p];
            for &j in &left {
                a[i * n + j] -= factor * a[p * n + j];
            }
        }
        pivots.push(p);
    }
    (pivots, left)
}

/// Number of independent rows of a positive semidefinite matrix.
pub(crate) fn independent(matrix: &[f64], n: usize) -> usize {
    eliminate(&mut matrix.to_vec(), n).0.len()
}

/// A vector z ≠ 0 with A z = 0 up to the accuracy of [`independent`], where rows of a positive semidefinite matrix are dependent.
pub(crate) fn dependency(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut a = matrix.to_vec();
    let (pivots, dependent) = eliminate(&mut a, n);
    let i = *dependent.first()?;
    let mut z = vec![0.0; n];
    z[i] = 1.0;
    for (p, c) in coefficients(&a, n, &pivots, i) {
        z[p] = -c;
    }
    Some(z)
}

/// The c of row i = Σ c row p over the pivots p, from an elimination; the last pivot first.
fn coefficients(a: &[f64], n: usize, pivots: &[usize], i: usize) -> Vec<(usize, f64)> {
    let mut right: Vec<f64> = pivots.iter().map(|&p| a[p * n + i]).collect();
    let mut found = Vec::with_capacity(pivots.len());
    for k in (0..pivots.len()).rev() {
        let p = pivots[k];
        let c = right[k] / a[p * n + p];
        for (l, right) in right.iter_mut().enumerate().take(k) {
            *right -= c * a[pivots[l] * n + p];
        }
        found.push((p, c));
    }
    found
}

/// Sets of mutually dependent rows, with their ranks.
fn groups(matrix: &[f64], n: usize) -> Vec<(Vec<usize>, usize)> {
    let mut a = matrix.to_vec();
    let (pivots, dependent) = eliminate(&mut a, n);
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for &i in &dependent {
        let mut members = vec![i];
        for (p, c) in coefficients(&a, n, &pivots, i) {
            // relative to the magnitudes of both rows
            let natural = (matrix[i * n + i] / matrix[p * n + p]).sqrt();
            if c.abs() > 1e-6 * natural {
                members.push(p);
            }
        }
        let (mut touching, apart): (Vec<_>, Vec<_>) = std::mem::take(&mut sets)
            .into_iter()
            .partition(|set| set.iter().any(|k| members.contains(k)));
        touching.push(members);
        let mut merged: Vec<usize> = touching.into_iter().flatten().collect();
        merged.sort_unstable();
        merged.dedup();
        sets = apart;
        sets.push(merged);
    }
    sets.sort_unstable();
    sets.into_iter()
        .map(|set| {
            let rank = set.iter().filter(|k| pivots.contains(k)).count();
            (set, rank)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn product(b: &[f64], n: usize, rank: usize) -> Vec<f64> {
        let entry = |k: usize| -> f64 {
            (0..rank)
                .map(|r| b[(k / n) * rank + r] * b[(k % n) * rank + r])
                .sum()
        };
        (0..n * n).map(entry).collect()
    }

    #[test]
    fn independent_rows_are_counted() {
        let mut random = Random::new(5);
        for (n, rank) in [(1, 1), (4, 2), (6, 6), (7, 3), (3, 0)] {
            let b: Vec<f64> = (0..n * rank).map(|_| random.uniform(-1.0, 1.0)).collect();
            assert_eq!(independent(&product(&b, n, rank), n), rank);
        }
    }

    /// Rows 0, 2 and 5 move together, row 3 not at all, 1 and 4 alone.
    #[test]
    fn groups_are_told_apart() {
        let b = [
            1.0, 0.0, 0.0, //
            0.0, 1.0, 0.0, //
            -2.0, 0.0, 0.0, //
            0.0, 0.0, 0.0, //
            0.0, 0.5, 2.0, //
            0.3, 0.0, 0.0,
        ];
        let found = groups(&product(&b, 6, 3), 6);
        assert_eq!(found, [(vec![0, 2, 5], 1), (vec![3], 0)]);
    }
}
