//! Operations of one Newton step, counted by running it, for comparison with the paper's Table 1.

use super::blocks::{Blocks, jacobian};
use super::linear::Linear;
use super::reduced::Reduced;
use super::{Pendulum, Scheme, UNKNOWNS, dependent_parameters, residual};
use crate::dense::Lu;
use crate::error::{Error, ErrorKind, Result};
use crate::scalar::{Count, Operations, Scalar};

/// Operations of one Newton step, stage by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// E(X, Ẋ).
    pub residual: Operations,
    /// The entries of the Jacobian: its blocks, and the full matrix where the scheme needs it.
    pub jacobian: Operations,
    /// J ΔX = E with these numbers given: what Table 1 counts.
    pub solution: Operations,
    /// Operations of the solution without products with known zeros; differs for the full systems only.
    pub sparse_solution: Operations,
}

/// Counts one Newton step at X, Ẋ.
///
/// A dense system of 14n unknowns is counted as a dense one: the zeros of J are charged, as Table 1 does.
/// `numerical-full` differs from `exact-full` in the residuals needed to find J.
pub fn step_cost(
    pendulum: &Pendulum,
    scheme: Scheme,
    x: &[f64],
    xdot: &[f64],
    sigma: f64,
) -> Result<StepCost> {
    let n = pendulum.bodies();
    let mut dependent = vec![0; n];
    dependent_parameters(x, &mut dependent);
    let constants = pendulum.map(Count::variable);
    let variables = |values: &[f64]| values.iter().copied().map(Count::variable).collect();
    let (x, xdot): (Vec<Count>, Vec<Count>) = (variables(x), variables(xdot));
    let sigma = Count::variable(sigma);
    let mut e = vec![Count::zero(); n * UNKNOWNS];
    let mut correction = e.clone();
    let ((), residual_cost) =
        Count::measure(|| residual(&constants, &dependent, &x, &xdot, &mut e));
    // a residual that is known to vanish is still counted
    for value in &mut e {
        *value = Count::variable(value.value());
    }
    let singular =
        |_: usize| Error::new(ErrorKind::Singular, "Newton's system has no usable pivot");
    let (jacobian_cost, solution, sparse_solution) = match scheme {
        Scheme::NumericalFull | Scheme::ExactFull => {
            let mut blocks = vec![Blocks::zero(); n];
            let mut sparse = Lu::<Count>::new(n * UNKNOWNS);
            let ((), mut found) = Count::measure(|| {
                Blocks::fill(&constants, &x, &xdot, sigma, &mut blocks);
                jacobian(&constants, &dependent, &blocks, sigma, sparse.matrix_mut());
            });
            if scheme == Scheme::NumericalFull {
                // two residuals and a difference per column, two numbers changed and restored
                let columns = (n * UNKNOWNS) as u64;
                found = Operations::default();
                for _ in 0..2 * columns {
                    found = found + residual_cost;
                }
                found.additions += columns * (columns + 4);
                found.multiplications += columns * columns;
            }
            let mut dense = sparse.clone();
            for entry in dense.matrix_mut().as_mut_slice() {
                *entry = Count::variable(entry.value());
            }
            let mut run = |lu: &mut Lu<Count>| {
                let (done, cost) = Count::measure(|| {
                    lu.factorize()?;
                    lu.solve(&e, &mut correction);
                    Ok(())
                });
                done.map(|()| cost)
            };
            let dense = run(&mut dense).map_err(singular)?;
            (found, dense, run(&mut sparse).map_err(singular)?)
        }
        Scheme::Reduced => {
            let mut reduced = Reduced::new(n);
            let ((), found) = Count::measure(|| reduced.linearize(&constants, &x, &xdot, sigma));
            let (done, cost) = Count::measure(|| {
                reduced.factorize(&constants, &dependent)?;
                reduced.solve(&dependent, &e, &mut correction);
                Ok(())
            });
            done.map_err(singular)?;
            (found, cost, cost)
        }
        Scheme::Linear => {
            let mut linear = Linear::new(n);
            let ((), found) =
                Count::measure(|| linear.only_linearize(&constants, &dependent, &x, &xdot, sigma));
            let (done, cost) = Count::measure(|| {
                linear.factorize(&constants, &dependent, &x, &xdot, sigma)?;
                linear.solve(&constants, &dependent, &e, &mut correction);
                Ok(())
            });
            done.map_err(singular)?;
            (found, cost - found, cost - found)
        }
    };
    Ok(StepCost {
        residual: residual_cost,
        jacobian: jacobian_cost,
        solution,
        sparse_solution,
    })
}
