//! Runs the implicit problems of the tests at several tolerances and prints what they cost and how exact they are, one line per
//! run: `problem, relative tolerance, steps, residuals, linearizations, error failures, convergence failures, error`.
//!
//! `peers/bdf_witness.py` compares it with IDA.

#[path = "../tests/implicit_problems/mod.rs"]
mod implicit_problems;

use catena::integrate::Tolerances;
use catena::integrate::bdf::{Bdf, BdfOptions};

fn main() -> catena::Result<()> {
    for problem in implicit_problems::all() {
        for relative in [1e-4, 1e-6, 1e-8, 1e-10] {
            let options = BdfOptions {
                tolerances: Tolerances {
                    relative,
                    absolute: 0.0,
                },
                exclude_algebraic: problem.algebraic.iter().any(|&(_, index)| index > 1),
                ..BdfOptions::default()
            };
            let mut bdf = Bdf::new(problem.x.len(), options)?;
            let absolute: Vec<f64> = problem.absolute.iter().map(|a| a * relative).collect();
            bdf.set_absolute_tolerances(&absolute)?;
            let mut implicit = problem.implicit();
            bdf.start(&mut implicit, 0.0, &problem.x, &problem.xdot)?;
            while bdf.time() < problem.end {
                bdf.step(&mut implicit, problem.end)?;
            }
            let s = bdf.statistics();
            println!(
                "{};{relative:e};{};{};{};{};{};{:.3e}",
                problem.name,
                s.steps,
                s.residuals,
                s.linearizations,
                s.error_failures,
                s.convergence_failures,
                problem.error(bdf.x())
            );
        }
    }
    Ok(())
}
