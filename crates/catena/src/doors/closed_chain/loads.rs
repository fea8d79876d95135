//! The loads in all joints of a closed chain, those of the tree and those that were cut.
//!
//! Where rows are dependent the loads are indeterminate: any λ + N z with Jᵀ N = 0 gives the same motion. The paper's
//! choice (Mufti A-12) is the minimum-norm vector of all hinge forces (N, at the hinge points) and constraint torques (N·m). Through the
//! tree every load depends linearly on λ, so z solves a small, well-conditioned problem:
//!
//! ```text
//! c + G z = tree loads under λ + N z       columns of G: inverse dynamics at rest without gravity
//! (E + GᵀG) z = −Gᵀ c                      (λ is already orthogonal to N)
//! ```

use super::ClosedChain;
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::passive::passive_force;
use crate::dense::cholesky_solve;
use crate::matrix::Matrix;
use crate::model::JointKind;
use crate::spatial::{Force, Motion};
use crate::state::{Base, State};

/// How dependent rows share a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Minimum norm of the loads in all joints, of the tree and cut ones: it does not depend on which joints were cut.
    #[default]
    AllJoints,
    /// Minimum norm of the multipliers at the constraints alone.
    Constraints,
}

/// Loads in the joints; motors, springs and friction are not part of them.
#[derive(Clone, Debug)]
pub struct Loads {
    /// Wrench of the parent on a body through its joint, in world axes about the body's origin; entry 0 is unused.
    pub tree: Vec<Force<f64>>,
    /// Wrench of a constraint on its child, in world axes about the origin of its frame on the child; zero for couplings, drivers
    /// and user-defined constraints, whose multipliers are efforts.
    pub constraints: Vec<Force<f64>>,
    /// λ, one per row.
    pub multipliers: Vec<f64>,
    /// Length of the vector of all loads: √(Σ tree + Σ λ²).
    pub norm: f64,
}

pub(super) fn loads(
    chain: &mut ClosedChain,
    state: &State,
    tau: &[f64],
    external: &[Force<f64>],
    sharing: Sharing,
) -> Loads {
    let n = chain.model.body_count();
    let mut lambda = chain.work.lambda.clone();
    let mut wrenches = vec![Force::zero(); n + 1];
    if !external.is_empty() {
        wrenches.copy_from_slice(external);
    }
    let mut through = Through::new(chain, state);
    let mut tree = through.moving(chain, state, tau, &lambda, wrenches);
    if sharing == Sharing::AllJoints {
        let free = lambda.len() - chain.work.decomposition.rank();
        let mut null = Matrix::zeros(free, lambda.len());
        let mut influence: Vec<Vec<Force<f64>>> = Vec::new();
        for k in 0..free {
            chain.work.decomposition.null_vector(k, null.row_mut(k));
            influence.push(through.resting(chain, null.row(k)));
        }
        let mut normal = Matrix::identity(free);
        let mut z = vec![0.0; free];
        for i in 0..free {
            for j in 0..free {
                normal[(i, j)] += inner(&influence[i], &influence[j]);
            }
            // multipliers found along the tree are shortest in each constraint, not in all together
            let own: f64 = null.row(i).iter().zip(&lambda).map(|(n, l)| n * l).sum();
            z[i] = -inner(&influence[i], &tree) - own;
        }
        cholesky_solve(normal.as_mut_slice(), &mut z);
        for (k, &z) in z.iter().enumerate() {
            for (lambda, null) in lambda.iter_mut().zip(null.row(k)) {
                *lambda += null * z;
            }
            for (load, own) in tree.iter_mut().zip(&influence[k]) {
                *load = load.add_scaled(*own, z);
            }
        }
    }
    let squared = inner(&tree, &tree) + lambda.iter().map(|x| x * x).sum::<f64>();
    let own = chain.model.constraints().len();
    Loads {
        constraints: (0..chain.work.rows.blocks().len())
            .map(|block| match block < own {
                true => chain.work.rows.load(block, &lambda),
                false => Force::zero(),
            })
            .collect(),
        tree,
        multipliers: lambda,
        norm: squared.sqrt(),
    }
}

/// Sum of products of forces and moments.
fn inner(a: &[Force<f64>], b: &[Force<f64>]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| a.moment.dot(b.moment) + a.force.dot(b.force))
        .sum()
}

/// Wrenches through the joints of the tree.
struct Through {
    work: InverseDynamics<f64>,
    at_rest: State,
    weightless: crate::Model,
    needed: Vec<f64>,
    still: Vec<f64>,
}

impl Through {
    fn new(chain: &ClosedChain, state: &State) -> Self {
        let nv = chain.model.nv();
        Through {
            work: InverseDynamics::new(&chain.model),
            at_rest: State {
                v: vec![0.0; nv],
                base: Base {
                    pose: state.base.pose,
                    ..Base::fixed()
                },
                ..state.clone()
            },
            weightless: chain.model.clone().with_gravity([0.0; 3]).without_forces(),
            needed: vec![0.0; nv],
            still: vec![0.0; nv],
        }
    }

    /// Constraint loads in the joints of the tree at the accelerations found.
    fn moving(
        &mut self,
        chain: &ClosedChain,
        state: &State,
        tau: &[f64],
        lambda: &[f64],
        mut wrenches: Vec<Force<f64>>,
    ) -> Vec<Force<f64>> {
        let (model, work) = (&chain.model, &chain.work);
        work.rows
            .add_wrenches(model, &work.kinematics, lambda, &mut wrenches);
        inverse_dynamics(
            model,
            state.view(),
            &work.vdot,
            &wrenches,
            &mut self.work,
            &mut self.needed,
        );
        let mut efforts = coordinate_efforts(chain, lambda);
        for (k, effort) in efforts.iter_mut().enumerate() {
            let lost =
                model.dof(k).armature * work.vdot[k] + passive_force(model, &state.q, &state.v, k);
            *effort += tau[k] - lost;
        }
        self.constraint_part(chain, &efforts)
    }

    /// Constraint loads in the joints of the tree due to multipliers alone, everything at rest.
    fn resting(&mut self, chain: &ClosedChain, lambda: &[f64]) -> Vec<Force<f64>> {
        let mut wrenches = vec![Force::zero(); chain.model.body_count() + 1];
        chain
            .work
            .rows
            .add_wrenches(&chain.model, &chain.work.kinematics, lambda, &mut wrenches);
        inverse_dynamics(
            &self.weightless,
            self.at_rest.view(),
            &self.still,
            &wrenches,
            &mut self.work,
            &mut self.needed,
        );
        let efforts = coordinate_efforts(chain, lambda);
        self.constraint_part(chain, &efforts)
    }

    /// The wrench through each joint minus the load of its freedoms on the child, in world axes about the body's origin.
    ///
    /// The freedoms move along orthonormal directions, so the effort e of each is the force e along (or the torque e about) its
    /// direction. A helical joint is driven by a torque about its axis.
    fn constraint_part(&self, chain: &ClosedChain, efforts: &[f64]) -> Vec<Force<f64>> {
        let (model, kinematics) = (&chain.model, &chain.work.kinematics);
        let mut loads = vec![Force::zero(); model.body_count() + 1];
        for body in model.bodies() {
            let info = model.tree().nodes[body];
            let joint = model.joint_at(body, &kinematics.angles, &kinematics.pose[body]);
            let mut load = self.work.joint_wrench(body);
            for k in 0..info.kind.nv() {
                let Motion { angular, linear } = joint.column(k);
                let effort = efforts[info.v + k];
                load.moment -= angular * effort;
                if info.kind != JointKind::Helical {
                    load.force -= linear * effort;
                }
            }
            let r = kinematics.world_from_body[body].rotation;
            loads[body] = Force::new(r * load.moment, r * load.force);
        }
        loads
    }
}

/// Efforts of couplings, drivers and user-defined constraints on the freedoms.
fn coordinate_efforts(chain: &ClosedChain, lambda: &[f64]) -> Vec<f64> {
    let rows = &chain.work.rows;
    let mut efforts = vec![0.0; chain.model.nv()];
    for (index, block) in rows.blocks().iter().enumerate() {
        let joins_bodies = chain
            .model
            .constraints()
            .get(index)
            .is_some_and(|c| c.bodies().is_some());
        if joins_bodies {
            continue;
        }
        for k in 0..block.rows {
            for (&column, &entry) in block.columns.iter().zip(rows.row(block, k)) {
                efforts[column] += entry * lambda[block.first + k];
            }
        }
    }
    efforts
}
