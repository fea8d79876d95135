//! Dense matrices of the equations, and refinement of their solutions.

use crate::equations::Equations;
use crate::linear::{Cholesky, Col, Mat, uncounted};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, largest, largest_of, ratio};

/// Singular values below this fraction of the largest count as zero.
pub(crate) const RANK_TOLERANCE: f64 = 1e-9;

/// Accelerations of all bodies and multipliers of all rows.
#[derive(Clone, Debug)]
pub(crate) struct Unknowns {
    pub x: Vec<f64>,
    pub lambda: Vec<f64>,
    /// Largest relative residual of the equations.
    pub residual: f64,
    /// The residual without the part that no motion can satisfy, because dependent rows are inconsistent.
    pub reachable: f64,
    /// Number of corrections.
    pub corrections: usize,
}

/// Results of a method besides the unknowns.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub unknowns: Unknowns,
    pub rank: Option<usize>,
    pub condition: f64,
    pub assumptions: Vec<String>,
    /// Whether another method had to take over.
    pub handed_over: bool,
}

/// How many of these singular values, the largest first, count.
pub(crate) fn rank_of(values: &[f64]) -> usize {
    let least = RANK_TOLERANCE * values.first().copied().unwrap_or(0.0);
    values.iter().take_while(|&&s| s > least).count()
}

pub(crate) fn column(values: &[f64]) -> Col {
    Col(values.to_vec())
}

/// H, one column per row of Hᵀ.
pub(crate) fn hinges(equations: &Equations) -> Mat {
    let mut h = Mat::zeros(equations.unknowns(), equations.rows.len());
    for (k, row) in equations.rows.iter().enumerate() {
        for (body, entries) in &row.entries {
            for (i, entry) in entries.iter().enumerate() {
                h[(6 * (body - 1) + i, k)] = *entry;
            }
        }
    }
    h
}

/// J.
pub(crate) fn inertia(equations: &Equations) -> Mat {
    let size = equations.unknowns();
    let mut j = Mat::zeros(size, size);
    let mut unit = vec![0.0; size];
    let mut image = vec![0.0; size];
    for k in 0..size {
        unit[k] = 1.0;
        uncounted(|| equations.inertia_times(&unit, &mut image));
        for i in 0..size {
            j[(i, k)] = image[i];
        }
        unit[k] = 0.0;
    }
    j
}

/// J = L Lᵀ. Where a body has no inertia about some axis, ρ H Hᵀ is added to J and ρ H b to u, which changes neither x nor λ.
pub(crate) struct Metric {
    pub hinges: Mat,
    pub factor: Cholesky,
    /// ρ, if it was needed.
    pub added: f64,
}

impl Metric {
    pub fn new(equations: &Equations) -> Result<Self> {
        let hinges = hinges(equations);
        let mut j = inertia(equations);
        let size = j.nrows();
        let largest = (0..size).fold(0.0f64, |m, k| m.max(j[(k, k)]));
        let sound = |factor: &Cholesky, j: &Mat| {
            let pivots = factor.pivots().into_iter().enumerate();
            pivots.fold(true, |sound, (k, pivot)| {
                sound && pivot > 1e-11 * j[(k, k)] && pivot > 1e-15 * largest
            })
        };
        if let Some(factor) = j.cholesky()
            && sound(&factor, &j)
        {
            return Ok(Metric {
                hinges,
                factor,
                added: 0.0,
            });
        }
        let added = largest;
        j += &(added * &(&hinges * &hinges.transpose()));
        match j.cholesky() {
            Some(factor) if sound(&factor, &j) => Ok(Metric {
                hinges,
                factor,
                added,
            }),
            _ => Err(Error::new(
                ErrorKind::Singular,
                "a freedom moves no inertia at this state: the accelerations of the bodies are not determined",
            )
            .hint("give the bodies it moves a mass, or the freedom a rotor")),
        }
    }

    /// u with the term that corresponds to the addition to J.
    pub fn force(&self, u: &[f64], b: &[f64]) -> Col {
        match self.added == 0.0 {
            true => column(u),
            false => column(u) + &(self.added * &(&self.hinges * &column(b))),
        }
    }

    pub fn note(&self, assumptions: &mut Vec<String>) {
        if self.added != 0.0 {
            assumptions.push(
                "some body has no inertia about an axis of its own: J was replaced by J + ρ H Hᵀ, which has the same solution"
                    .into(),
            );
        }
    }
}

/// Solves with `solve(u, b)`, then with the residuals as right-hand sides, until they no longer decrease.
pub(crate) fn refine(
    equations: &Equations,
    most: usize,
    solve: impl FnMut(&[f64], &[f64]) -> (Vec<f64>, Vec<f64>),
) -> Unknowns {
    refine_for(equations, &equations.force, &equations.right, most, solve).0
}

/// Refinement with multipliers damped by ε. Its corrections accumulate the part of b that no motion can satisfy (round-off of positions
/// and velocities, divided by ε) in loads of the null space.
///
/// The minimum-norm loads with the same effect, H λ' = H λ, are found with the same factors and b = 0. There every correction is
/// −Hᵀ x/ε, so that their sum is Hᵀ w: without a null-space component.
pub(crate) fn refine_damped(
    equations: &Equations,
    most: usize,
    epsilon: f64,
    mut solve: impl FnMut(&[f64], &[f64]) -> (Vec<f64>, Vec<f64>),
) -> Unknowns {
    let mut found = refine(equations, most, &mut solve);
    let (size, rows) = (equations.unknowns(), equations.rows.len());
    let none = vec![0.0; rows];
    let mut against = vec![0.0; size];
    for (row, lambda) in equations.rows.iter().zip(&found.lambda) {
        row.add_to(-lambda, &mut against);
    }
    let (scale, mut last) = (largest(&against), f64::INFINITY);
    let mut shortest = vec![0.0; rows];
    for _ in 0..12 {
        // as long as it improves, down to round-off
        let left = largest(&against);
        if left.is_nan() || left <= 4e-16 * scale || left > 0.5 * last {
            break;
        }
        last = left;
        let (pass, sum) = refine_for(equations, &against, &none, most, &mut solve);
        found.corrections += 1 + pass.corrections;
        for (row, lambda) in equations.rows.iter().zip(&mut shortest) {
            let more = -row.dot(&sum) / epsilon;
            *lambda += more;
            row.add_to(more, &mut against);
        }
    }
    found.lambda = shortest;
    let (mut newton, mut hinges) = (vec![0.0; size], vec![0.0; rows]);
    let (x, lambda) = (&found.x, &found.lambda);
    found.residual = equations_residual(equations, x, lambda, &mut newton, &mut hinges);
    // s = b − Hᵀ x with H s = 0 cannot be reduced: H s is the measure
    let mut seen = vec![0.0; size];
    let mut longest = 0.0f64;
    for (row, s) in equations.rows.iter().zip(&hinges) {
        row.add_to(*s, &mut seen);
        let entries = row.entries.iter().map(|(_, h)| largest(h));
        longest = larger(longest, largest_of(entries));
    }
    let free = equations.free_acceleration(&equations.force);
    let motion = largest_of([largest(x), largest(&equations.right), free]) * longest;
    equations.inertia_times(x, &mut against);
    let force = largest_of([&against, &equations.force, lambda].map(|x| largest(x)));
    found.reachable = larger(
        ratio(largest(&newton), force),
        ratio(largest(&seen), motion),
    );
    found
}

/// Solves J x − H λ = u, Hᵀ x = b; also returns the sum of x after each correction.
fn refine_for(
    equations: &Equations,
    u: &[f64],
    b: &[f64],
    most: usize,
    mut solve: impl FnMut(&[f64], &[f64]) -> (Vec<f64>, Vec<f64>),
) -> (Unknowns, Vec<f64>) {
    let (size, rows) = (equations.unknowns(), equations.rows.len());
    let mut best = Unknowns {
        x: vec![0.0; size],
        lambda: vec![0.0; rows],
        residual: f64::INFINITY,
        reachable: f64::INFINITY,
        corrections: 0,
    };
    let (mut x, mut lambda) = (best.x.clone(), best.lambda.clone());
    let (mut newton, mut hinges) = (u.to_vec(), b.to_vec());
    let (mut sum, mut best_sum) = (vec![0.0; size], vec![0.0; size]);
    let mut slow = 0;
    for count in 0..=most {
        let (dx, dlambda) = solve(&newton, &hinges);
        for ((x, d), sum) in x.iter_mut().zip(&dx).zip(&mut sum) {
            *x += d;
            *sum += *x;
        }
        for (l, d) in lambda.iter_mut().zip(&dlambda) {
            *l += d;
        }
        let residual = residual_of(equations, u, b, &x, &lambda, &mut newton, &mut hinges);
        let better = residual < best.residual;
        slow = if residual < 0.7 * best.residual {
            0
        } else {
            slow + 1
        };
        let enough = residual <= 4e-16 || slow == 2 || residual.is_nan();
        if better {
            best = Unknowns {
                x: x.clone(),
                lambda: lambda.clone(),
                residual,
                reachable: residual,
                corrections: count,
            };
            best_sum.clone_from(&sum);
        }
        if enough {
            break;
        }
    }
    (best, best_sum)
}

/// Largest residual of the equations, relative to their largest terms; the residuals themselves are left in the last two.
pub(crate) fn equations_residual(
    equations: &Equations,
    x: &[f64],
    lambda: &[f64],
    newton: &mut [f64],
    hinges: &mut [f64],
) -> f64 {
    let (u, b) = (&equations.force, &equations.right);
    residual_of(equations, u, b, x, lambda, newton, hinges)
}

fn residual_of(
    equations: &Equations,
    u: &[f64],
    b: &[f64],
    x: &[f64],
    lambda: &[f64],
    newton: &mut [f64],
    hinges: &mut [f64],
) -> f64 {
    equations.inertia_times(x, newton);
    let force = largest_of([&*newton, u, lambda].map(largest));
    // at equilibrium all accelerations are round-off of those that the forces would cause without hinges
    let motion = largest_of([largest(x), largest(b), equations.free_acceleration(u)]);
    equations.residuals(u, b, x, lambda, newton, hinges);
    larger(
        ratio(largest(newton), force),
        ratio(largest(hinges), motion),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::spatial::Mat3;

    /// One body of 2 kg under 4 N: NaN accelerations do not leave a small residual.
    #[test]
    fn what_is_not_a_number_is_no_solution() {
        let equations = Equations {
            inertia: vec![(0.0, Mat3::zero()), (2.0, Mat3::identity())],
            force: vec![0.0, 0.0, 0.0, 4.0, 0.0, 0.0],
            ..Equations::default()
        };
        let residual = |x: [f64; 6]| {
            let (mut newton, mut hinges) = ([0.0; 6], []);
            equations_residual(&equations, &x, &[], &mut newton, &mut hinges)
        };
        assert_eq!(residual([0.0, 0.0, 0.0, 2.0, 0.0, 0.0]), 0.0);
        assert!(residual([0.0, 0.0, 0.0, 2.5, 0.0, 0.0]) > 0.1);
        for k in 0..6 {
            let mut x = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0];
            x[k] = f64::NAN;
            assert!(residual(x).is_nan(), "{k}");
        }
    }

    /// A singular value counts if it is above 10⁻⁹ of the largest; those of nothing, or of nothing but zeros, are none.
    #[test]
    fn singular_values_count_relative_to_the_largest() {
        let exact = RANK_TOLERANCE * 64.0;
        assert_eq!(rank_of(&[64.0, 1.0, 1.001 * exact, exact, 0.0]), 3);
        assert_eq!(rank_of(&[64.0, exact, exact]), 1);
        assert_eq!(rank_of(&[1e-30, 1e-31, 1e-40]), 2);
        assert_eq!((rank_of(&[]), rank_of(&[0.0; 3])), (0, 0));
    }

    /// A solver that yields NaN reports it.
    #[test]
    fn a_solver_without_numbers_leaves_no_residual_within_any_limit() {
        let equations = Equations {
            inertia: vec![(0.0, Mat3::zero()), (2.0, Mat3::identity())],
            force: vec![0.0, 0.0, 0.0, 4.0, 0.0, 0.0],
            ..Equations::default()
        };
        let none = |_: &[f64], _: &[f64]| (vec![f64::NAN; 6], Vec::new());
        let (found, sum) = refine_for(&equations, &equations.force, &[], 3, none);
        assert_eq!(found.residual, f64::INFINITY);
        assert_eq!(sum.len(), 6);
    }

    /// A solver that leaves a fraction of the error each time: corrections continue while each leaves less than 0.7 of it, and end after two in turn
    /// that do not; the best solution is kept, with the sum of the solutions up to it.
    #[test]
    fn corrections_go_on_while_they_help() {
        let equations = Equations {
            inertia: vec![(0.0, Mat3::zero()), (2.0, Mat3::identity())],
            force: vec![0.0, 0.0, 0.0, 4.0, 0.0, 0.0],
            ..Equations::default()
        };
        let with = |share: f64, most: usize| {
            let solve = |u: &[f64], _: &[f64]| {
                let x = u.iter().map(|u| (1.0 - share) * u / 2.0);
                (x.collect(), Vec::new())
            };
            let (found, sum) = refine_for(&equations, &equations.force, &[], most, solve);
            (found, sum[3])
        };
        for (share, most, corrections) in [
            (0.0, 9, 0),
            (0.5, 3, 3),
            (0.5, 0, 0),
            (0.8, 9, 2),
            (0.6, 5, 5),
            (1.0, 9, 0),
        ] {
            let (found, sum) = with(share, most);
            assert_eq!(found.corrections, corrections, "{share}");
            let left = share.powi(corrections as i32 + 1);
            assert!((found.x[3] - 2.0 * (1.0 - left)).abs() < 1e-14, "{share}");
            assert_eq!(found.residual, found.reachable);
            // the sum of the solutions 2 (1 − sᵏ)
            let steps = (1..=corrections as i32 + 1).map(|k| 2.0 * (1.0 - share.powi(k)));
            assert!((sum - steps.sum::<f64>()).abs() < 1e-13, "{share}: {sum}");
        }
        // round-off is enough: no correction follows
        assert_eq!(with(3e-16, 9).0.corrections, 0);
        assert_eq!(with(1e-9, 9).0.corrections, 1);
    }

    /// Free accelerations are forces divided by masses, the largest of them; torques and bodies without mass do not count.
    #[test]
    fn free_accelerations() {
        let equations = Equations {
            inertia: [0.0, 2.0, 0.0, 0.5]
                .map(|mass| (mass, Mat3::identity()))
                .to_vec(),
            ..Equations::default()
        };
        let mut u = [0.0; 18];
        assert_eq!(equations.free_acceleration(&u), 0.0);
        (u[1], u[3], u[10], u[17]) = (90.0, -8.0, 70.0, 1.0);
        assert_eq!(equations.free_acceleration(&u), 4.0);
        u[17] = -3.0;
        assert_eq!(equations.free_acceleration(&u), 6.0);
    }

    /// A body of 2 kg that a row holds against 4 N: damping of the row is corrected away, and every solution but the first one counts as a
    /// correction.
    #[test]
    fn damped_rows_are_corrected() {
        let mut held = [0.0; 6];
        held[3] = 1.0;
        let equations = Equations {
            inertia: vec![(0.0, Mat3::zero()), (2.0, Mat3::identity())],
            force: vec![0.0, 0.0, 0.0, 4.0, 6.0, 0.0],
            rows: vec![crate::equations::Row {
                entries: vec![(1, held)],
            }],
            right: vec![0.0],
            ..Equations::default()
        };
        let epsilon = 1e-7;
        let mut solutions = 0;
        let found = refine_damped(&equations, 9, epsilon, |u, b| {
            solutions += 1;
            // J x − h λ = u, hᵀ x + ε λ = b
            let lambda = (b[0] - u[3] / 2.0) / (0.5 + epsilon);
            let mut x: Vec<f64> = u.iter().map(|u| u / 2.0).collect();
            x[..3].copy_from_slice(&u[..3]);
            x[3] += lambda / 2.0;
            (x, vec![lambda])
        });
        assert!(solutions > 2, "{solutions}");
        assert_eq!(found.corrections + 1, solutions);
        assert!(found.x[3].abs() < 1e-15 && (found.x[4] - 3.0).abs() < 1e-15);
        assert!((found.lambda[0] + 4.0).abs() < 1e-14, "{:?}", found.lambda);
        assert!(found.residual < 1e-15 && found.reachable < 1e-15);
    }
}
