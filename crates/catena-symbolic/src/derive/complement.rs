//! The decoupled natural orthogonal complement as formulas.

use super::formulas;
use crate::{Expr, Formula};
use catena::algorithm::natural_orthogonal_complement::Denoc;
use catena::spatial::Vec3;
use catena::{Base, Model, Scalar};

/// Matrices of more bodies than this have too many entries to read.
const DRAWN: usize = 4;

/// B_ij, p_k and the matrices made of them, about the mass centres, in world axes.
#[derive(Clone, Debug)]
pub struct Complement {
    /// Bodies i, j (from 1) with j on the path from i to the base, and c_ij = c_j − c_i, which defines B_ij.
    pub arms: Vec<([usize; 2], Vec<Formula>)>,
    /// p_k, six components for each freedom.
    pub columns: Vec<Formula>,
    /// N_l, 6n × 6n, row after row.
    pub nl: Vec<Formula>,
    /// N_d, 6n × nv, row after row.
    pub nd: Vec<Formula>,
}

impl Complement {
    /// Derives it from a model whose numbers are symbols, and the same model in numbers; none where it is too long to read.
    pub(super) fn new(model: &Model, symbolic: &Model<Expr>, q: &[Expr]) -> Option<Self> {
        let n = model.body_count();
        if n > DRAWN {
            return None;
        }
        let centre = |i: usize| match model.moments(i).mass == 0.0 {
            true => Vec3::zero(),
            false => {
                let moments = symbolic.moments(i);
                moments.first * moments.mass.recip()
            }
        };
        let centres: Vec<Vec3<Expr>> = (0..=n).map(centre).collect();
        let still = vec![Expr::zero(); model.nv()];
        let it = Denoc::new(symbolic, &centres, q, &still, &Base::fixed());
        let mut arms = Vec::new();
        for i in 1..=n {
            for j in (1..i).filter(|&j| it.carries(j, i)) {
                arms.push(([i, j], formulas(&it.arm(i, j).to_array())?));
            }
        }
        let columns: Vec<Expr> = (0..it.nv()).flat_map(|k| it.column(k).to_array()).collect();
        Some(Complement {
            arms,
            columns: formulas(&columns)?,
            nl: formulas(it.nl().as_slice())?,
            nd: formulas(it.nd().as_slice())?,
        })
    }
}
