//! Null space, or Lagrange and d'Alembert (eq. 40): the multipliers are eliminated.
//!
//! ```text
//! H P = (Q, Z) (R; 0),   Y = Q R⁻ᵀ …:    x = Y b + Z x',   Zᵀ J Z x' = Zᵀ (u − J Y b),   λ = Yᵀ (J x − u)
//! tree           Z = columns of body twists, freedom by freedom, along the paths of the graph              (40)
//!                x = x₀ + Z v̇,   Zᵀ J Z = I(q),   loads from the leaves to the root: f = T (J x − u)
//!                τ = Zᵀ (J x − u), u without efforts: inverse dynamics
//! ```
//!
//! J need not be regular, only Zᵀ J Z.

use crate::appendix::{rank_note, ratio_of_extremes};
use crate::dense::{RANK_TOLERANCE, Solved, column, hinges, inertia, refine};
use crate::equations::Equations;
use crate::linear::{Cholesky, Col, Mat, in_place, solve_lower};
use catena::Model;
use catena::algorithm::kinematics::Kinematics;
use catena::error::{Error, ErrorKind, Result};
use catena::spatial::{Force, Vec3};

fn no_inertia() -> Error {
    Error::new(
        ErrorKind::Singular,
        "a freedom moves no inertia at this state: Zᵀ J Z is singular",
    )
    .hint("give the bodies it moves a mass, or the freedom a rotor")
}

/// Zᵀ J Z = L Lᵀ, and the ratio of its pivots.
fn projected(j: &Mat, z: &Mat) -> Result<(Cholesky, f64)> {
    let reduced = &z.transpose() * &(j * z);
    let factor = reduced.cholesky().ok_or_else(no_inertia)?;
    let condition = ratio_of_extremes(&factor.pivots());
    Ok((factor, condition))
}

/// Z from a pivoted QR decomposition of H.
pub(crate) fn by_qr(equations: &Equations) -> Result<Solved> {
    let (h, j) = (hinges(equations), inertia(equations));
    let (size, rows) = (h.nrows(), h.ncols());
    let qr = h.pivoted_qr();
    let (r, order) = (qr.r(), qr.order());
    let rank = qr.rank(RANK_TOLERANCE);
    let q = qr.q();
    let z = q.subcols(rank, size - rank);
    let q = q.subcols(0, rank);
    let across_q = q.transpose();
    // Rᵀ of the independent columns
    let triangle = Mat::from_fn(rank, rank, |i, j| r[(j, i)]);
    // (R Pᵀ)ᵀ = W T for the minimum-norm λ
    let mut across = Mat::zeros(rows, rank);
    for i in 0..rank {
        for (k, &original) in order.iter().enumerate().skip(i) {
            across[(original, i)] = r[(i, k)];
        }
    }
    let second = across.qr();
    let (w, t) = (second.thin_q(), second.r().transpose());
    let (factor, condition) = projected(&j, &z)?;
    let across_z = z.transpose();
    let unknowns = refine(equations, 4, |u, right| {
        let y = Col::from_fn(rank, |i| right[order[i]]);
        let y = in_place(y, |y| solve_lower(&triangle, y));
        let particular = &q * &y;
        let free = factor.solve(&across_z * &(column(u) - &(&j * &particular)));
        let x = particular + &(&z * &free);
        let needed = &j * &x - &column(u);
        // H = Q Tᵀ Wᵀ
        let c = in_place(&across_q * &needed, |c| solve_lower(&t, c));
        (x.0, (&w * &c).0)
    });
    let mut assumptions = Vec::new();
    rank_note(rows, rank, &mut assumptions);
    Ok(Solved {
        unknowns,
        rank: Some(rank),
        condition,
        assumptions,
        handed_over: false,
    })
}

/// Z from the paths of the graph of a tree.
fn along_paths(equations: &Equations, model: &Model, kinematics: &Kinematics<f64>) -> Result<Mat> {
    if !model.constraints().is_empty() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the null space from the graph is that of a tree; this model has constraints",
        )
        .hint("take the null space by QR, or cut loops"));
    }
    let tree = model.tree();
    let mut z = Mat::zeros(equations.unknowns(), model.nv());
    for body in model.bodies() {
        for joint in tree.path_to_ground(body) {
            let pose = kinematics.world_from_body[joint];
            for k in 0..tree.bodies[joint].kind.nv() {
                let twist = kinematics.joint_column(model, joint, k);
                let angular = pose.rotation * twist.angular;
                let lever = equations.centre[body] - pose.translation;
                let linear = angular.cross_add(lever, pose.rotation * twist.linear);
                for (i, entry) in angular
                    .to_array()
                    .into_iter()
                    .chain(linear.to_array())
                    .enumerate()
                {
                    z[(6 * (body - 1) + i, tree.bodies[joint].v + k)] = entry;
                }
            }
        }
    }
    Ok(z)
}

/// Efforts of a tree for given accelerations: τ = Zᵀ (J (x₀ + Z v̇) − u), with u without efforts.
pub(crate) fn efforts_by_graph(
    equations: &Equations,
    model: &Model,
    kinematics: &Kinematics<f64>,
    vdot: &[f64],
) -> Result<Vec<f64>> {
    let z = along_paths(equations, model, kinematics)?;
    let x = column(&equations.still) + &(&z * &column(vdot));
    let needed = &inertia(equations) * &x - &column(&equations.force);
    Ok((&z.transpose() * &needed).0)
}

/// Accelerations with Z from the graph of a tree.
pub(crate) fn by_graph(
    equations: &Equations,
    model: &Model,
    kinematics: &Kinematics<f64>,
) -> Result<Solved> {
    let z = along_paths(equations, model, kinematics)?;
    let j = inertia(equations);
    let (factor, condition) = projected(&j, &z)?;
    let across = z.transpose();
    let mut first = true;
    let unknowns = refine(equations, 3, |u, right| {
        // b = Hᵀ x₀ of a tree; residuals of it are round-off
        let particular = match std::mem::take(&mut first) {
            true => column(&equations.still),
            false => Col::zeros(u.len()),
        };
        let free = factor.solve(&across * &(column(u) - &(&j * &particular)));
        let x = particular + &(&z * &free);
        let needed = &j * &x - &column(u);
        let lambda = from_the_leaves(equations, model, kinematics, &needed.0);
        debug_assert_eq!(lambda.len(), right.len());
        (x.0, lambda)
    });
    Ok(Solved {
        unknowns,
        rank: Some(equations.rows.len()),
        condition,
        assumptions: vec!["Z from the paths of the tree".into()],
        handed_over: false,
    })
}

/// λ of the tree's hinges with H λ = needed: a hinge transmits the sum of the wrenches needed beyond it. Other rows are zero.
pub(crate) fn from_the_leaves(
    equations: &Equations,
    model: &Model,
    kinematics: &Kinematics<f64>,
    needed: &[f64],
) -> Vec<f64> {
    let n = model.body_count();
    let origin = |body: usize| kinematics.world_from_body[body].translation;
    let mut through = vec![Force::zero(); n + 1];
    let mut lambda = vec![0.0; equations.rows.len()];
    for body in (1..=n).rev() {
        let at = 6 * (body - 1);
        let moment = Vec3::new(needed[at], needed[at + 1], needed[at + 2]);
        let force = Vec3::new(needed[at + 3], needed[at + 4], needed[at + 5]);
        let lever = equations.centre[body] - origin(body);
        through[body] += Force::new(lever.cross_add(force, moment), force);
        let load = through[body];
        for k in equations.tree_first[body]..equations.tree_first[body + 1] {
            let own = equations.wrench[k];
            lambda[k] = own.moment.dot(load.moment) + own.force.dot(load.force);
        }
        let parent = model.tree().parent(body);
        if parent != 0 {
            // the part along the freedoms is round-off and stops here
            let held = equations.tree_load(body, &lambda);
            let lever = origin(body) - origin(parent);
            through[parent] += Force::new(lever.cross_add(held.force, held.moment), held.force);
        }
    }
    lambda
}
