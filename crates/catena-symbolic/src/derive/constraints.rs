//! The constraints of a closed chain as formulas.
//!
//! ```text
//! ξ(t, q) = 0,   J v̇ + γ = 0,   I v̇ + C v + g = τ + Jᵀ λ
//! ```

use super::formulas;
use crate::generate::Loops;
use crate::{Expr, Formula, scope};
use catena::algorithm::constrained::chosen_rows::RowsAt;
use catena::error::Result;
use catena::{Base, Model, Scalar, StateView};

/// Independent rows of the constraints. Parts that are too long to read are None.
#[derive(Clone, Debug)]
pub struct ConstraintRows {
    /// Names of the rows.
    pub names: Vec<String>,
    /// Names of rows implied by these (linearly dependent on them).
    pub others: Vec<String>,
    /// Remark on dead points, where the equations are not valid.
    pub note: Option<String>,
    /// ξ.
    pub residual: Option<Vec<Formula>>,
    /// J, row after row.
    pub jacobian: Option<Vec<Formula>>,
    /// Which of them, counted from 1, are nonholonomic.
    pub on_velocities: Vec<usize>,
    /// γ = ξ̈ at v̇ = 0.
    pub bias: Option<Vec<Formula>>,
}

impl ConstraintRows {
    /// Derives them; a tree has none. Lengths are numbers, the time of drivers is `t`.
    pub(super) fn new(model: &Model) -> Result<Option<Self>> {
        let Some(loops) = Loops::new(model)? else {
            return Ok(None);
        };
        let (mut names, mut others) = (Vec::new(), Vec::new());
        let mut on_velocities = Vec::new();
        let is_on_velocities: Vec<bool> = (model.constraints().iter())
            .flat_map(|c| (0..c.rows()).map(|k| k >= c.position_rows()))
            .collect();
        for (row, name) in loops.names().into_iter().enumerate() {
            if !loops.chosen.contains(&row) {
                others.push(name);
                continue;
            }
            names.push(name);
            if is_on_velocities[row] {
                on_velocities.push(names.len());
            }
        }
        let model = model.clone().swept(1e-14);
        Ok(Some(scope(|| {
            let (q, v) = (
                Expr::symbols("q", model.nq()),
                Expr::symbols("v", model.nv()),
            );
            let (symbolic, time) = (model.map(Expr::constant), Expr::symbol("t"));
            let state = StateView {
                q: &q,
                v: &v,
                base: &Base::fixed(),
            };
            let rows = RowsAt::new(&symbolic, &loops.chosen, time, state);
            let residual: Vec<Expr> = loops.chosen.iter().map(|&k| rows.all.residual[k]).collect();
            let bias: Vec<Expr> = rows.right.iter().map(|b| -*b).collect();
            ConstraintRows {
                names,
                others,
                note: loops.note(),
                on_velocities,
                residual: formulas(&residual),
                jacobian: formulas(rows.jacobian.as_slice()),
                bias: formulas(&bias),
            }
        })))
    }
}
