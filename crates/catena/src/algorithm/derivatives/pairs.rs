//! The entries of ∂τ/∂q, ∂τ/∂v and I, a product for every pair of freedoms: (4) and (5) of [`inverse`](super::inverse).
//!
//! Columns come in packs. Eight rows are processed per pack: the pack is loaded once for all of them, and few cache lines and
//! pages of the result are written at a time.

use crate::algorithm::inertia_matrix::entries::add_rotors;
use crate::algorithm::pack::{Pack, dot, record, spread, write};
use crate::algorithm::relations::{ROWS, Relation, Relations, row_of_block};
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::thresholds::MATRIX_IN_CACHE;

record! {
    /// Record of a freedom, about the origin of the tree's first body.
    PairRecord {
        /// s.
        axis: 6,
        /// M̃ s.
        momentum: 6,
        /// 2B̃ᵀ s, of which only the angular part is not zero.
        back: 3,
        /// Brackets of (4).
        by_q: 6,
        by_v: 6,
        /// Ψ̇, angular part.
        first: 3,
        /// Ψ̈.
        second: 6,
        /// Φ.
        both: 6,
    }
}

/// Which products form which entries.
#[derive(Clone, Debug)]
pub(crate) struct Pairs<M>(Relations<M>, usize);

impl<M: Scalar> Pairs<M> {
    pub fn new<S: Scalar, K: Pack<S, Many = M>, P>(model: &Model<P>) -> Self {
        Pairs(Relations::new::<S, K, P>(model, true), model.nv())
    }

    /// All entries by rows. Without `INERTIA` the last matrix is not written. Returns zero if all numbers are finite, NaN if any is
    /// not; springs, dampers and rotors are added after that.
    #[inline(always)]
    pub fn run<S: Scalar, K: Pack<S, Many = M>, P: Parameter<S>, const INERTIA: bool>(
        &self,
        model: &Model<P>,
        packs: &[PairRecord<M>],
        [dq, dv, inertia]: [&mut [S]; 3],
    ) -> M {
        let nv = model.nv();
        let mut bad = M::zero();
        for block in 0..nv.div_ceil(ROWS) {
            // a pack may write past the end of its row, into columns that come later
            for pack in (0..packs.len()).rev() {
                let last = (block * ROWS + ROWS - 1) * nv + (pack + 1) * K::WIDTH;
                let room = last <= dq.len();
                let out = [&mut *dq, &mut *dv, &mut *inertia];
                bad = if room {
                    self.meet::<S, K, INERTIA, true>(block, ROWS, pack, packs, out, bad)
                } else {
                    let rows = if block * ROWS + ROWS <= nv {
                        ROWS
                    } else {
                        nv % ROWS
                    };
                    self.meet::<S, K, INERTIA, false>(block, rows, pack, packs, out, bad)
                };
            }
        }
        self.passive::<S, P, INERTIA>(model, [dq, dv, inertia]);
        bad
    }

    /// Up to eight rows of one pack; `WHOLE` if there are eight, and the whole pack can be written.
    #[inline(always)]
    fn meet<S: Scalar, K: Pack<S, Many = M>, const INERTIA: bool, const WHOLE: bool>(
        &self,
        block: usize,
        rows: usize,
        pack: usize,
        packs: &[PairRecord<M>],
        [dq, dv, inertia]: [&mut [S]; 3],
        mut bad: M,
    ) -> M {
        let rows = if WHOLE { ROWS } else { rows };
        let nv = self.1;
        let own = &packs[pack];
        let at = block * ROWS * nv + pack * K::WIDTH;
        if nv > MATRIX_IN_CACHE {
            for r in 0..rows {
                let next = (at + r * nv).wrapping_sub(2 * K::WIDTH);
                K::prefetch(dq, next);
                K::prefetch(dv, next);
            }
        }
        let (dq, dv) = (&mut dq[at..], &mut dv[at..]);
        let inertia = if INERTIA { &mut inertia[at..] } else { &mut [] };
        match self.0.of_block(block, pack) {
            Relation::Beyond => {
                let own = Beyond::<M>::of::<INERTIA>(own);
                for r in 0..rows {
                    let entries = own.at::<S, K, INERTIA>(packs, block, r);
                    let out = [&mut *dq, &mut *dv, &mut *inertia];
                    bad = write_row::<S, K, INERTIA, WHOLE>(out, r * nv, entries, bad);
                }
            }
            Relation::Inwards => {
                let own = Inwards::<M>::of(own);
                for r in 0..rows {
                    let entries = own.at::<S, K, INERTIA>(packs, block, r);
                    let out = [&mut *dq, &mut *dv, &mut *inertia];
                    bad = write_row::<S, K, INERTIA, WHOLE>(out, r * nv, entries, bad);
                }
            }
            Relation::Apart => {
                for r in 0..rows {
                    let out = [&mut *dq, &mut *dv, &mut *inertia];
                    bad = write_row::<S, K, INERTIA, WHOLE>(out, r * nv, [M::zero(); 3], bad);
                }
            }
            Relation::Mixed(mixed) => {
                for r in 0..rows {
                    let relation = self.0.mixed[mixed][r];
                    let entries = self.any::<S, K, INERTIA>(relation, packs, block, r, own);
                    let out = [&mut *dq, &mut *dv, &mut *inertia];
                    bad = write_row::<S, K, INERTIA, WHOLE>(out, r * nv, entries, bad);
                }
            }
        }
        bad
    }

    /// One row of one pack, for any relation of the two.
    #[inline(always)]
    fn any<S: Scalar, K: Pack<S, Many = M>, const INERTIA: bool>(
        &self,
        relation: Relation,
        packs: &[PairRecord<M>],
        block: usize,
        r: usize,
        own: &PairRecord<M>,
    ) -> [M; 3] {
        match relation {
            Relation::Beyond => {
                Beyond::<M>::of::<INERTIA>(own).at::<S, K, INERTIA>(packs, block, r)
            }
            Relation::Inwards => Inwards::<M>::of(own).at::<S, K, INERTIA>(packs, block, r),
            Relation::Apart => [M::zero(); 3],
            Relation::Mixed(sides) => {
                let sides = self.0.sides[sides];
                let inner = Inwards::<M>::of(own).at::<S, K, INERTIA>(packs, block, r);
                let mut entries =
                    Beyond::<M>::of::<INERTIA>(own).at::<S, K, INERTIA>(packs, block, r);
                for i in 0..3 {
                    entries[i] = sides.choose(inner[i], entries[i]);
                }
                entries
            }
        }
    }

    /// Springs, dampers and rotors, on the diagonals.
    #[inline(always)]
    fn passive<S: Scalar, P: Parameter<S>, const INERTIA: bool>(
        &self,
        model: &Model<P>,
        [dq, dv, inertia]: [&mut [S]; 3],
    ) {
        let (tree, nv) = (model.tree(), model.nv());
        if tree.has_passive_forces {
            for k in 0..nv {
                if tree.nodes[tree.dofs[k].body].kind.quaternion().is_none() {
                    dq[k * nv + k] += model.dofs[k].stiffness.lift();
                }
                dv[k * nv + k] += model.dofs[k].damping.lift();
            }
        }
        if INERTIA {
            add_rotors(model, inertia);
        }
    }
}

/// (4): the factors of a pack of columns, in registers for all rows on the path from it to the base.
#[derive(Clone, Copy)]
struct Beyond<M> {
    by_q: [M; 6],
    by_v: [M; 6],
    momentum: [M; 6],
}

impl<M: Scalar> Beyond<M> {
    #[inline(always)]
    fn of<const INERTIA: bool>(own: &PairRecord<M>) -> Self {
        Beyond {
            by_q: own.by_q,
            by_v: own.by_v,
            momentum: if INERTIA {
                own.momentum
            } else {
                [M::zero(); 6]
            },
        }
    }

    #[inline(always)]
    fn at<S: Scalar, K: Pack<S, Many = M>, const INERTIA: bool>(
        &self,
        packs: &[PairRecord<M>],
        block: usize,
        r: usize,
    ) -> [M; 3] {
        let (row, lane) = row_of_block::<S, K, _>(packs, block, r);
        let axis = spread::<S, K, 6>(&row.axis, lane);
        [
            dot(&axis, &self.by_q),
            dot(&axis, &self.by_v),
            if INERTIA {
                dot(&axis, &self.momentum)
            } else {
                M::zero()
            },
        ]
    }
}

/// (5): the factors of a pack of columns for all rows beyond it.
#[derive(Clone, Copy)]
struct Inwards<M> {
    first: [M; 3],
    second: [M; 6],
    both: [M; 6],
    axis: [M; 6],
}

impl<M: Scalar> Inwards<M> {
    #[inline(always)]
    fn of(own: &PairRecord<M>) -> Self {
        Inwards {
            first: own.first,
            second: own.second,
            both: own.both,
            axis: own.axis,
        }
    }

    #[inline(always)]
    fn at<S: Scalar, K: Pack<S, Many = M>, const INERTIA: bool>(
        &self,
        packs: &[PairRecord<M>],
        block: usize,
        r: usize,
    ) -> [M; 3] {
        let (row, lane) = row_of_block::<S, K, _>(packs, block, r);
        let momentum = spread::<S, K, 6>(&row.momentum, lane);
        let [x, y, z] = spread::<S, K, 3>(&row.back, lane);
        let (first, axis) = (&self.first, &self.axis);
        let q = z.mul_add(first[2], y.mul_add(first[1], x * first[0]));
        let v = z.mul_add(axis[2], y.mul_add(axis[1], x * axis[0]));
        [
            q + dot(&momentum, &self.second),
            v + dot(&momentum, &self.both),
            if INERTIA {
                dot(&momentum, axis)
            } else {
                M::zero()
            },
        ]
    }
}

/// A row of a pack, into all matrices.
#[inline(always)]
fn write_row<S: Scalar, K: Pack<S>, const INERTIA: bool, const ROOM: bool>(
    [dq, dv, inertia]: [&mut [S]; 3],
    at: usize,
    entries: [K::Many; 3],
    bad: K::Many,
) -> K::Many {
    write::<S, K, ROOM>(dq, at, entries[0]);
    write::<S, K, ROOM>(dv, at, entries[1]);
    if INERTIA {
        write::<S, K, ROOM>(inertia, at, entries[2]);
    }
    let mut sum = entries[0] + entries[1];
    if INERTIA {
        sum += entries[2];
    }
    sum.mul_add(K::Many::zero(), bad)
}
