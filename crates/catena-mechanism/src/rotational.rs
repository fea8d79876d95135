//! Rotations with constraint forces (eqs. 15, 16), for any joints, trees and loops.
//!
//! The accelerations of the mass centres are eliminated, r̈ = M⁻¹(u₁ + H_r λ); H_ω and H_r are the torque and the force rows of H:
//! (L̃, C Q) and (C, 0) for ball, universal and pin joints.
//!
//! ```text
//! [ I     −H_ω        ] [ ω̇ ]   [ u₂              ]
//! [ −H_ωᵀ −H_rᵀ M⁻¹ H_r ] [ λ ] = [ H_rᵀ M⁻¹ u₁ − b ]                                             (15, 49)
//!
//! M^(−1/2) H_r = V S (W₁, W₂)ᵀ,   A = W₁ S⁻² W₁ᵀ = (H_rᵀ M⁻¹ H_r)⁺,   λ = W₁ a + W₂ c
//! (I + H_ω A H_ωᵀ) ω̇ − (H_ω W₂) c = u₂ − H_ω A (H_rᵀ M⁻¹ u₁ − b)                                  (16)
//! (H_ω W₂)ᵀ ω̇ = W₂ᵀ b,     a = −S⁻² W₁ᵀ (H_rᵀ M⁻¹ u₁ − b + H_ωᵀ ω̇)
//! ```
//!
//! Loads W₂ accelerate no mass centre: torques, and forces around loops. A tree of ball joints has none, and (16) is the paper's. W is
//! orthogonal and a is unique, so that c of minimum norm gives λ of minimum norm. A rotor J is a separate row, a·x + μ/J = 0.

use crate::appendix::rank_note;
use crate::dense::{Solved, rank_of, refine};
use crate::equations::{Equations, Row};
use crate::linear::{Col, Mat};
use crate::saddle::Saddle;
use catena::Model;
use catena::error::{Error, ErrorKind, Result};

pub(crate) fn solve(equations: &Equations, model: &Model) -> Result<Solved> {
    let n = equations.inertia.len() - 1;
    let heaviest = equations.inertia.iter().fold(0.0f64, |m, (x, _)| m.max(*x));
    if let Some(body) = (1..=n).find(|&body| equations.inertia[body].0 <= 1e-12 * heaviest) {
        let name = &model.tree().bodies[body].name;
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("body `{name}` has no mass: its acceleration cannot be eliminated"),
        )
        .hint("give it a mass, or take another formulation"));
    }
    let rotors: Vec<&(f64, Row)> = equations.freedoms.iter().filter(|f| f.0 != 0.0).collect();
    let own = equations.rows.len();
    let rows = own + rotors.len();
    let mut turn = Mat::zeros(3 * n, rows); // H_ω
    let mut push = Mat::zeros(3 * n + rotors.len(), rows); // M^(−1/2) H_r, and J^(−1/2) of rotors
    let all = equations.rows.iter().chain(rotors.iter().map(|r| &r.1));
    for (k, row) in all.enumerate() {
        for (body, h) in &row.entries {
            let root = equations.inertia[*body].0.sqrt();
            for i in 0..3 {
                turn[(3 * (body - 1) + i, k)] = h[i];
                push[(3 * (body - 1) + i, k)] = h[3 + i] / root;
            }
        }
    }
    for (k, (rotor, _)) in rotors.iter().enumerate() {
        push[(3 * n + k, own + k)] = 1.0 / rotor.sqrt();
    }
    let mut inertia = Mat::zeros(3 * n, 3 * n);
    for body in 1..=n {
        let tensor = equations.inertia[body].1.rows();
        for i in 0..3 {
            for j in 0..3 {
                inertia[(3 * (body - 1) + i, 3 * (body - 1) + j)] = tensor[i][j];
            }
        }
    }
    let (values, v) = push.right_svd().map_err(|_| {
        Error::new(
            ErrorKind::Singular,
            "the singular values of the forces do not converge",
        )
        .hint("use the decomposition by QR")
    })?;
    let pushing = rank_of(&values);
    let w1 = v.subcols(0, pushing);
    let w2 = v.subcols(pushing, rows - pushing);
    let squares: Vec<f64> = values[..pushing].iter().map(|s| s * s).collect();
    let turned = &turn * &w1; // H_ω W₁
    let scaled = Mat::from_fn(3 * n, pushing, |i, k| turned[(i, k)] / values[k]);
    let mut reduced = inertia;
    reduced += &(&scaled * &scaled.transpose()); // (16)
    let saddle = Saddle::new(reduced, &turn * &w2)?;
    let [across_1, across_2, across_push, across_turn] =
        [&w1, &w2, &push, &turn].map(Mat::transpose);
    let unknowns = refine(equations, 6, |u, right| {
        let u2 = Col::from_fn(3 * n, |k| u[6 * (k / 3) + k % 3]);
        let pushed = Col::from_fn(push.nrows(), |k| match k < 3 * n {
            true => u[6 * (k / 3) + 3 + k % 3] / equations.inertia[1 + k / 3].0.sqrt(),
            false => 0.0,
        });
        let b = Col::from_fn(rows, |k| if k < own { right[k] } else { 0.0 });
        let e = &across_push * &pushed - &b; // H_rᵀ M⁻¹ u₁ − b
        let mut along = &across_1 * &e;
        for (x, s) in along.iter_mut().zip(&squares) {
            *x /= s;
        }
        let (turns, c) = saddle.solve(u2 - &(&turned * &along), &(&across_2 * &b));
        let mut a = &across_1 * &(e + &(&across_turn * &turns));
        for (x, s) in a.iter_mut().zip(&squares) {
            *x /= -s;
        }
        let lambda = &w1 * &a + &(&w2 * &c);
        let moved = pushed + &(&push * &lambda); // M^(1/2) r̈                                   (12)
        let mut x = vec![0.0; u.len()];
        for k in 0..3 * n {
            x[6 * (k / 3) + k % 3] = turns[k];
            x[6 * (k / 3) + 3 + k % 3] = moved[k] / equations.inertia[1 + k / 3].0.sqrt();
        }
        (x, lambda.0[..own].to_vec())
    });
    let rank = pushing + saddle.rank - rotors.len();
    let mut assumptions = Vec::new();
    saddle.note(&mut assumptions);
    rank_note(own, rank, &mut assumptions);
    Ok(Solved {
        unknowns,
        rank: Some(rank),
        condition: saddle.condition(),
        assumptions,
        handed_over: false,
    })
}
