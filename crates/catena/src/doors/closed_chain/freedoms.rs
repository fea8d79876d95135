//! Which motions do the constraints allow?
//!
//! J v = 0 is solved for as many velocities as there are independent rows; the others are the mechanism's degrees of freedom:
//!
//! ```text
//! v = Z w,   J Z = 0,   Z has unit rows for the independent velocities w                                    (1)
//! Zᵀ I Z ẇ + Zᵀ (I γ + C v + g) = Zᵀ τ,   γ = v̇ at ẇ = 0                                  (Mufti 40)       (2)
//! Zᵀ τ = Zᵀ Y π                                            multipliers do no work along Z                   (3)
//! ```
//!
//! The elimination chooses its pivots among entries that are at least a tenth of the largest, the last velocity first: cranks, which come
//! first in a tree, stay independent where the position allows it.

use super::{ClosedChain, DENSE_ROWS, finite};
use crate::card::Card;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::state::State;

/// Freedoms of closed chains.
pub const CARD: Card = Card {
    name: "Freedoms of a mechanism",
    question: "independent velocities of closed chains, reduced inertia",
    call: "ClosedChain::freedoms",
    file: "doors/closed_chain/freedoms.rs",
    order: "O(n m²)",
    source: "Mufti 1983, eq. 40; Wehage & Haug 1982 (coordinate partitioning)",
};

/// A pivot is at least this fraction of the largest entry left.
const PIVOT: f64 = 0.1;

/// The degrees of freedom that the constraints leave at a state.
#[derive(Clone, Debug)]
pub struct Freedoms {
    /// The velocity coordinates w, ascending.
    pub independent: Vec<usize>,
    /// Z: velocities of all freedoms of the tree per unit of each independent one.
    pub basis: Matrix,
    /// Rows of the constraints that imply all others, ascending.
    pub rows: Vec<usize>,
}

impl Freedoms {
    /// Zᵀ A Z, the inertia matrix of the mechanism from that of the tree.
    pub fn congruence(&self, a: &Matrix) -> Matrix {
        self.basis.transpose().product(&a.product(&self.basis))
    }

    /// Zᵀ x: efforts of all joints, projected onto the independent freedoms.
    pub fn contract(&self, x: &[f64]) -> Vec<f64> {
        self.basis.transpose().times(x)
    }
}

impl ClosedChain {
    /// The freedoms at a state; its loops need not be closed.
    pub fn freedoms(&mut self, time: f64, state: &State) -> Result<Freedoms> {
        self.require_dense()?;
        let rank = match self.row_count() > DENSE_ROWS {
            true => self.independent_rows(time, state)?,
            false => self.rank(time, state)?.0,
        };
        let nv = self.model.nv();
        let jacobian = self.rows(time, state)?.dense(nv);
        let Some(found) = partition(jacobian, rank) else {
            return Err(Error::new(
                ErrorKind::Singular,
                "the independent velocities of the mechanism cannot be determined at this state",
            )
            .hint("the constraints nearly lose rank here: try a state nearby"));
        };
        finite("the freedoms of the mechanism", found.basis.as_slice())?;
        Ok(found)
    }
}

/// Gauss-Jordan elimination of `rank` velocities.
fn partition(mut j: Matrix, rank: usize) -> Option<Freedoms> {
    let (m, nv) = (j.rows(), j.columns());
    for row in 0..m {
        let size = j.row(row).iter().fold(0.0f64, |s, x| s.max(x.abs()));
        if size > 0.0 {
            j.row_mut(row).iter_mut().for_each(|x| *x /= size);
        }
    }
    // (row, column) of each pivot
    let mut pivots: Vec<(usize, usize)> = Vec::with_capacity(rank);
    let mut row_used = vec![false; m];
    let mut column_used = vec![false; nv];
    // the largest entry of each column in the rows that are left, and its row; an elimination changes it in the columns of its row alone
    let best = |j: &Matrix, row_used: &[bool], column: usize| {
        (0..m)
            .filter(|&row| !row_used[row])
            .map(|row| (j[(row, column)].abs(), row))
            .fold((0.0, 0), |best, x| if x.0 > best.0 { x } else { best })
    };
    let mut candidates: Vec<(f64, usize)> =
        (0..nv).map(|column| best(&j, &row_used, column)).collect();
    for _ in 0..rank {
        let left = |column: &usize| !column_used[*column];
        let sizes = (0..nv).filter(left).map(|column| candidates[column].0);
        let largest = sizes.fold(0.0f64, f64::max);
        let sound = |column: &usize| {
            let (size, _) = candidates[*column];
            size > 0.0 && size >= PIVOT * largest
        };
        let column = (0..nv).rev().filter(left).find(sound)?;
        let (_, row) = candidates[column];
        row_used[row] = true;
        column_used[column] = true;
        pivots.push((row, column));
        let pivot = j[(row, column)];
        j.row_mut(row).iter_mut().for_each(|x| *x /= pivot);
        let eliminated = j.row(row).to_vec();
        for other in (0..m).filter(|&other| other != row) {
            let factor = j[(other, column)];
            if factor != 0.0 {
                for (x, e) in j.row_mut(other).iter_mut().zip(&eliminated) {
                    *x -= factor * e;
                }
                j[(other, column)] = 0.0;
            }
        }
        for (column, _) in eliminated.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            candidates[column] = best(&j, &row_used, column);
        }
    }
    let independent: Vec<usize> = (0..nv).filter(|&k| !column_used[k]).collect();
    let mut basis = Matrix::zeros(nv, independent.len());
    for (k, &column) in independent.iter().enumerate() {
        basis[(column, k)] = 1.0;
        for &(row, dependent) in &pivots {
            basis[(dependent, k)] = -j[(row, column)];
        }
    }
    let rows = (0..m).filter(|&row| row_used[row]).collect();
    Some(Freedoms {
        independent,
        basis,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::embedded;

    /// A parallelogram: all three joints turn together, and the crank is the independent one.
    #[test]
    fn the_crank_of_a_four_bar_is_its_freedom() {
        let model = embedded::model("four-bar-1").expect("embedded");
        let mut chain = ClosedChain::new(&model);
        let state = State::new(&model, &[1.2, -1.2, 1.2], &[0.0; 3]).expect("three joints");
        let found = chain.freedoms(0.0, &state).expect("regular");
        assert_eq!(found.independent, [0]);
        assert_eq!(found.rows.len(), 2);
        for (k, z) in [1.0, -1.0, 1.0].into_iter().enumerate() {
            assert!((found.basis[(k, 0)] - z).abs() < 1e-14, "{k}");
        }
    }
}
