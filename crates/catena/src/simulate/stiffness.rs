//! Decay rates due to damping in the joints, which force explicit methods to take tiny steps.

use crate::Dynamics;
use crate::error::Result;
use crate::model::Model;
use crate::state::State;

/// A joint with strong damping on little inertia.
#[derive(Clone, Debug, PartialEq)]
pub struct FastDamping {
    /// The freedom, counted in the tree.
    pub freedom: usize,
    /// Its name.
    pub name: String,
    /// Inertia along it with everything beyond it free (m̂ of the factors), kg·m² or kg.
    pub inertia: f64,
    /// d / m̂, 1/s: a lower bound of the fastest decay, as 1/m̂ is one of the diagonal of I⁻¹.
    pub rate: f64,
}

impl FastDamping {
    /// Whether it is stiff for explicit methods in a run of this duration. They need about a sixth as many steps as there are
    /// decay times in the run: here more than a hundred thousand.
    pub fn is_stiff(&self, duration: f64) -> bool {
        self.rate * duration > 1e6
    }
}

/// The freedom with the fastest decay at a state of the tree; none without damping.
pub fn fastest_damping(model: &Model, state: &State) -> Result<Option<FastDamping>> {
    let tree = model.clone().open_tree();
    let factors = Dynamics::new(&tree).factorization(state)?;
    let rate = |k: usize| tree.dofs[k].damping * factors.inverse[k];
    let fastest = (0..tree.nv()).max_by(|&a, &b| rate(a).total_cmp(&rate(b)));
    Ok(fastest
        .filter(|&k| rate(k) > 0.0)
        .map(|freedom| FastDamping {
            freedom,
            name: tree.tree().dofs[freedom].name.clone(),
            inertia: factors.inverse[freedom].recip(),
            rate: rate(freedom),
        }))
}
