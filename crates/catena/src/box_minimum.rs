//! Minimum of ½ xᵀA x + bᵀx over a box, A positive semidefinite.
//!
//! ```text
//! g = A x + b,    lower < x < upper and g = 0,   or x = lower and g ≥ 0,   or x = upper and g ≤ 0      (1)
//! ```
//!
//! This is the dual of Gauss's principle: x are forces, A is the mobility of their directions, b the
//! accelerations without them, g those with them. A force between limits is dry friction; one without limits is a bilateral
//! constraint; one that only pushes has one limit.
//!
//! A x and g are the same for all solutions. x is not unique where A is singular: several forces can hold the same motion. The
//! proximal point method (Rockafellar 1976) makes each of its problems definite,
//!
//! ```text
//! xₖ₊₁ = least of ½ xᵀA x + bᵀx + ½ ε (x − xₖ)ᵀD (x − xₖ),    x₀ = 0,   D = diag A                     (2)
//! ```
//!
//! and its limit solves the singular one: after one step to a relative error of ε, and up to that error it is the solution
//! with the least xᵀD x. A definite problem is solved by exchanging all components that violate (1) at once, and one at a time,
//! the last first, if that does not terminate (Júdice & Pires 1994).

use crate::dense::cholesky_solve;

/// A box and a quadratic function in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoxProblem<'a> {
    /// A, row by row.
    pub matrix: &'a [f64],
    /// b.
    pub linear: &'a [f64],
    /// Limits of x, which may be infinite; lower ≤ upper.
    pub lower: &'a [f64],
    pub upper: &'a [f64],
}

/// Where a component of x is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Inside,
    Lower,
    Upper,
}

/// A solution of (1).
#[derive(Clone, Debug)]
pub(crate) struct BoxMinimum {
    pub x: Vec<f64>,
    /// g.
    pub gradient: Vec<f64>,
    pub places: Vec<Place>,
}

/// ε of (2).
const PROXIMITY: f64 = 1e-8;

/// (1) is satisfied to this fraction of its terms, or to the next where round-off allows no more.
const DONE: f64 = 1e-14;
const GOOD: f64 = 1e-10;

/// Where x exceeds the scale given by b by this factor, it diverges.
const RUNAWAY: f64 = 1e12;

/// Maximum number of steps of (2).
const MOST_STEPS: usize = 60;

impl BoxProblem<'_> {
    /// The solution of (1) where A is positive definite, without a tolerance: whether a component within round-off of its limit
    /// is at the limit is decided by its last digits.
    pub fn solve_definite(&self) -> Option<BoxMinimum> {
        let n = self.linear.len();
        let mut places = vec![Place::Inside; n];
        let x = self.definite(self.matrix, self.linear, &mut places);
        let mut found = BoxMinimum {
            x,
            gradient: vec![0.0; n],
            places,
        };
        let worst = self.violation(&mut found)?;
        worst.is_finite().then_some(found)
    }

    /// A solution of (1), if the numbers are finite and it exists: a box without limits may have none.
    pub fn solve(&self) -> Option<BoxMinimum> {
        let n = self.linear.len();
        let mut weights: Vec<f64> = (0..n).map(|k| PROXIMITY * self.matrix[k * n + k]).collect();
        let largest = weights.iter().fold(0.0f64, |m, w| m.max(*w));
        // a row of zeros: any positive weight sends its component in the direction of −b
        let least = match largest > 0.0 {
            true => 1e-16 * largest,
            false => 1.0,
        };
        weights.iter_mut().for_each(|w| *w = w.max(least));
        let mut definite = self.matrix.to_vec();
        for k in 0..n {
            definite[k * n + k] += weights[k];
        }
        let mut linear = self.linear.to_vec();
        let mut best = BoxMinimum {
            x: vec![0.0; n],
            gradient: vec![0.0; n],
            places: vec![Place::Inside; n],
        };
        let mut before = f64::INFINITY;
        for _ in 0..MOST_STEPS {
            for k in 0..n {
                linear[k] = self.linear[k] - weights[k] * best.x[k];
            }
            best.x = self.definite(&definite, &linear, &mut best.places);
            let worst = self.violation(&mut best)?;
            if worst <= DONE || (worst <= GOOD && worst > 0.5 * before) {
                return Some(best);
            }
            before = worst;
        }
        None
    }

    /// Violation of (1), relative to the terms of g, which is written. None where x diverges.
    fn violation(&self, found: &mut BoxMinimum) -> Option<f64> {
        let n = self.linear.len();
        let mut worst = 0.0f64;
        for k in 0..n {
            let row = &self.matrix[k * n..(k + 1) * n];
            let x = found.x[k];
            let g = self.linear[k] + dot(row, &found.x);
            let terms = row.iter().zip(&found.x).map(|(a, x)| (a * x).abs());
            let size = self.linear[k].abs() + terms.sum::<f64>();
            found.gradient[k] = g;
            let is_open = (self.upper[k] - self.lower[k]).is_infinite();
            let asked = self.linear[k].abs().max(row[k]);
            if !g.is_finite() || (is_open && size > RUNAWAY * asked) {
                return None;
            }
            let mut broken = 0.0f64;
            if x > self.lower[k] {
                broken = broken.max(g);
            }
            if x < self.upper[k] {
                broken = broken.max(-g);
            }
            if broken > 0.0 {
                worst = worst.max(broken / size);
            }
        }
        Some(worst)
    }

    /// The solution of the definite problem in this box; `places` are an initial guess and are updated.
    fn definite(&self, matrix: &[f64], linear: &[f64], places: &mut [Place]) -> Vec<f64> {
        let n = linear.len();
        let mut x = vec![0.0; n];
        // after this many simultaneous exchanges, one at a time
        let patience = 10 + n;
        for round in 0..patience + 40 * n + 100 {
            for k in 0..n {
                x[k] = match places[k] {
                    Place::Inside => 0.0,
                    Place::Lower => self.lower[k],
                    Place::Upper => self.upper[k],
                };
            }
            let inside: Vec<usize> = (0..n).filter(|&k| places[k] == Place::Inside).collect();
            let m = inside.len();
            let mut block = vec![0.0; m * m];
            let mut right = vec![0.0; m];
            for (i, &k) in inside.iter().enumerate() {
                right[i] = -linear[k] - dot(&matrix[k * n..(k + 1) * n], &x);
                for (j, &l) in inside.iter().enumerate() {
                    block[i * m + j] = matrix[k * n + l];
                }
            }
            cholesky_solve(&mut block, &mut right);
            for (&k, value) in inside.iter().zip(right) {
                x[k] = value;
            }
            let mut last = None;
            let mut next = places.to_vec();
            for k in 0..n {
                let row = &matrix[k * n..(k + 1) * n];
                let slope = linear[k] + dot(row, &x);
                // round-off of a sum that vanishes
                let noise = 1e-15
                    * (linear[k].abs()
                        + row.iter().zip(&x).map(|(a, x)| (a * x).abs()).sum::<f64>());
                next[k] = match places[k] {
                    Place::Inside if x[k] > self.upper[k] => Place::Upper,
                    Place::Inside if x[k] < self.lower[k] => Place::Lower,
                    Place::Lower if slope < -noise && self.lower[k] < self.upper[k] => {
                        Place::Inside
                    }
                    Place::Upper if slope > noise && self.lower[k] < self.upper[k] => Place::Inside,
                    place => place,
                };
                if next[k] != places[k] {
                    last = Some(k);
                }
            }
            let Some(last) = last else {
                return x;
            };
            match round < patience {
                true => places.copy_from_slice(&next),
                false => places[last] = next[last],
            }
        }
        // only round-off can cause cycling: components outside go to their limits
        for (k, x) in x.iter_mut().enumerate() {
            *x = x.clamp(self.lower[k], self.upper[k]);
        }
        x
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A = Bᵀ B of this rank, its rows scaled by up to 10^±spread.
    fn semidefinite(random: &mut Random, n: usize, rank: usize, spread: f64) -> Vec<f64> {
        let b: Vec<f64> = (0..n * rank).map(|_| random.uniform(-1.0, 1.0)).collect();
        let scale: Vec<f64> = (0..n)
            .map(|_| 10f64.powf(random.uniform(-spread, spread)))
            .collect();
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                matrix[i * n + j] = scale[i]
                    * scale[j]
                    * dot(&b[i * rank..(i + 1) * rank], &b[j * rank..(j + 1) * rank]);
            }
        }
        matrix
    }

    fn check(problem: &BoxProblem<'_>, found: &BoxMinimum, what: &str) {
        let n = problem.linear.len();
        for k in 0..n {
            let (x, g) = (found.x[k], found.gradient[k]);
            let row = &problem.matrix[k * n..(k + 1) * n];
            let size = row
                .iter()
                .zip(&found.x)
                .map(|(a, x)| (a * x).abs())
                .sum::<f64>()
                + problem.linear[k].abs();
            let noise = 1e-11 * size;
            assert!(
                x >= problem.lower[k] && x <= problem.upper[k],
                "{what}: {x}"
            );
            if x > problem.lower[k] {
                assert!(g <= noise, "{what}: {k}: {x} {g:e} of {size:e}");
            }
            if x < problem.upper[k] {
                assert!(g >= -noise, "{what}: {k}: {x} {g:e} of {size:e}");
            }
        }
    }

    /// (1) holds on random problems of every rank, with scales far apart, with components that are fixed, that have one limit, and
    /// that have none.
    #[test]
    fn the_conditions_hold() {
        let mut random = Random::new(7);
        for trial in 0..4000 {
            let n = 1 + trial % 12;
            let rank = 1 + random.below(n);
            let spread = [0.0, 1.0, 2.0][trial % 3];
            let matrix = semidefinite(&mut random, n, rank, spread);
            // accelerations that forces could cause; with limits on all sides others too
            let bounded = trial % 2 == 0;
            let forces: Vec<f64> = (0..n).map(|_| random.uniform(-2.0, 2.0)).collect();
            let linear: Vec<f64> = (0..n)
                .map(|k| match bounded && trial % 4 == 0 {
                    true => random.uniform(-1.0, 1.0),
                    false => dot(&matrix[k * n..(k + 1) * n], &forces),
                })
                .collect();
            let mut lower: Vec<f64> = (0..n).map(|_| -random.uniform(0.0, 2.0)).collect();
            let mut upper: Vec<f64> = (0..n).map(|_| random.uniform(0.0, 2.0)).collect();
            if !bounded {
                lower[0] = f64::NEG_INFINITY;
                upper[0] = f64::INFINITY;
                upper[n - 1] = f64::INFINITY;
            }
            let problem = BoxProblem {
                matrix: &matrix,
                linear: &linear,
                lower: &lower,
                upper: &upper,
            };
            let found = problem.solve().expect("there is a least value");
            check(&problem, &found, &format!("{trial}: n {n} rank {rank}"));
            if rank < n {
                continue;
            }
            let mut shifted = matrix.clone();
            (0..n).for_each(|k| shifted[k * n + k] *= 1.01);
            let problem = BoxProblem {
                matrix: &shifted,
                ..problem
            };
            let found = problem.solve_definite().expect("there is a least value");
            check(&problem, &found, &format!("{trial}: n {n} definite"));
        }
    }

    /// Two equal directions share a load evenly, as long as neither is at its limit.
    #[test]
    fn equal_directions_share() {
        let matrix = [2.0; 4];
        for (load, level, expected) in [(1.5, 1.0, [0.75, 0.75]), (1.5, 0.6, [0.6, 0.9])] {
            let problem = BoxProblem {
                matrix: &matrix,
                linear: &[-2.0 * load; 2],
                lower: &[-level, -1.0],
                upper: &[level, 1.0],
            };
            let found = problem.solve().expect("bounded");
            for (x, expected) in found.x.iter().zip(expected) {
                assert!((x - expected).abs() < 1e-7, "{:?}", found.x);
            }
            assert!((found.x[0] + found.x[1] - load).abs() < 1e-14);
        }
    }

    /// A row of zeros goes to the limit against b, or stays; without a limit on that side there is no minimum.
    #[test]
    fn rows_of_zeros() {
        let problem = |lower, upper| {
            BoxProblem {
                matrix: &[0.0, 0.0, 0.0, 1.0],
                linear: &[3.0, -0.5],
                lower,
                upper,
            }
            .solve()
        };
        let found = problem(&[-2.0, -1.0], &[2.0, 1.0]).expect("bounded");
        assert_eq!(found.x[0], -2.0);
        assert!((found.x[1] - 0.5).abs() < 1e-14);
        assert!(problem(&[f64::NEG_INFINITY, -1.0], &[2.0, 1.0]).is_none());
    }
}
