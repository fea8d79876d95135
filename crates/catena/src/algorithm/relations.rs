//! Relations of freedoms in the tree, for matrices that have a row and a column for every freedom.
//!
//! Columns come in packs. Eight rows are processed per pack: the pack is loaded once for all of them, and few cache lines and
//! pages of the result are written at a time.

use super::pack::Pack;
use crate::model::Model;
use crate::scalar::Scalar;

/// Rows processed per pack.
pub(crate) const ROWS: usize = 8;

/// Relation of columns to a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Relation {
    /// All beyond it.
    Beyond,
    /// All on the path to the base, or in one rotation with it, or the row's own freedom.
    Inwards,
    /// All on other branches.
    Apart,
    /// Mixed: index into `sides`, or into `mixed` for several rows.
    Mixed(usize),
}

/// Mask: one where a column has that relation, zero elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<M> {
    inwards: M,
    beyond: M,
}

impl<M: Scalar> Sides<M> {
    /// Selects for every column the value of its relation, or zero.
    #[inline(always)]
    pub fn choose(&self, inwards: M, beyond: M) -> M {
        let zero = M::zero();
        let inner = M::select(zero.less(self.inwards), inwards, zero);
        M::select(zero.less(self.beyond), beyond, inner)
    }
}

/// Relations of the columns of every pack to every row.
#[derive(Clone, Debug)]
pub(crate) struct Relations<M> {
    packs: usize,
    /// Relations of every eight rows to every pack.
    blocks: Vec<Relation>,
    pub mixed: Vec<[Relation; ROWS]>,
    pub sides: Vec<Sides<M>>,
}

impl<M: Scalar> Relations<M> {
    /// With `rotations`, the freedoms of one rotation all count as on one another's path to the base; otherwise their order decides.
    pub fn new<S: Scalar, K: Pack<S, Many = M>, P>(model: &Model<P>, rotations: bool) -> Self {
        let tree = model.tree();
        let nv = model.nv();
        let beyond = tree.ends();
        let end: Vec<usize> = tree.dofs.iter().map(|dof| beyond[dof.body]).collect();
        // one past the last freedom of the same rotation
        let stage: Vec<usize> = (0..nv)
            .map(|k| {
                let (range, kind) = (tree.dof_range(tree.dofs[k].body), tree.dofs[k].body);
                match tree.bodies[kind].kind.quaternion() {
                    Some(first) if rotations && k >= range.start + first => range.end,
                    _ => k + 1,
                }
            })
            .collect();
        let inwards = |row: usize, column: usize| column < stage[row] && row < end[column];
        let beyond = |row: usize, column: usize| column >= stage[row] && column < end[row];
        let mut found = Relations {
            packs: nv.div_ceil(K::WIDTH),
            blocks: Vec::new(),
            mixed: Vec::new(),
            sides: Vec::new(),
        };
        for block in (0..nv).step_by(ROWS) {
            for first in (0..nv).step_by(K::WIDTH) {
                let columns = first..nv.min(first + K::WIDTH);
                let mut relations = [Relation::Apart; ROWS];
                let rows = ROWS.min(nv - block);
                for r in 0..rows {
                    let row = block + r;
                    relations[r] = if columns.clone().all(|j| inwards(row, j)) {
                        Relation::Inwards
                    } else if columns.clone().all(|j| beyond(row, j)) {
                        Relation::Beyond
                    } else if columns.clone().any(|j| inwards(row, j) || beyond(row, j)) {
                        let mut sides = Sides {
                            inwards: M::zero(),
                            beyond: M::zero(),
                        };
                        for j in columns.clone() {
                            if inwards(row, j) {
                                K::set(&mut sides.inwards, j - first, S::one());
                            } else if beyond(row, j) {
                                K::set(&mut sides.beyond, j - first, S::one());
                            }
                        }
                        found.sides.push(sides);
                        Relation::Mixed(found.sides.len() - 1)
                    } else {
                        Relation::Apart
                    };
                }
                let same = relations[..rows].iter().all(|r| *r == relations[0]);
                found.blocks.push(match relations[0] {
                    Relation::Mixed(_) => Relation::Mixed(found.mixed.len()),
                    relation if same => relation,
                    _ => Relation::Mixed(found.mixed.len()),
                });
                if let Some(Relation::Mixed(_)) = found.blocks.last() {
                    found.mixed.push(relations);
                }
            }
        }
        found
    }

    /// Relation of a block of rows to a pack.
    #[inline(always)]
    pub fn of_block(&self, block: usize, pack: usize) -> Relation {
        self.blocks[block * self.packs + pack]
    }
}

/// The pack that row r of a block is in, and its lane there.
#[inline(always)]
pub(crate) fn row_of_block<S: Scalar, K: Pack<S>, R>(
    packs: &[R],
    block: usize,
    r: usize,
) -> (&R, usize) {
    (
        &packs[block * (ROWS / K::WIDTH) + r / K::WIDTH],
        r % K::WIDTH,
    )
}
