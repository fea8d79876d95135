//! The entries of I, as many columns at a time as a register has lanes.
//!
//! An entry is the projection of one freedom's wrench M̃ₖPₖ onto the direction of another on its path to the base (24), both in
//! the axes of the base and about a point near the latter: the origin of the first body in every group of eight freedoms.
//! Mirrored entries are the same sum of the same products, so the matrix is symmetric to the last bit.

use super::Part;
use crate::algorithm::pack::{
    GROUP, Pack, between, cross_add, dot, move_wrench, record, row_in, spread, write,
};
use crate::algorithm::relations::{ROWS, Relation, Relations, row_of_block};
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::thresholds::MATRIX_IN_CACHE;

record! {
    /// Record of a freedom, about the reference point of its group.
    EntryRecord {
        /// Pₖ.
        axis: 6,
        /// M̃ₖPₖ.
        moment: 3,
        force: 3,
        /// Origin of its body.
        origin: 3,
    }
}

impl<M: Scalar> EntryRecord<M> {
    #[inline(always)]
    fn wrench(&self) -> [M; 6] {
        let ([x, y, z], [u, v, w]) = (self.moment, self.force);
        [x, y, z, u, v, w]
    }
}

/// Which products form which entries.
#[derive(Clone, Debug)]
pub(crate) struct Entries<M>(Relations<M>, usize);

impl<M: Scalar> Entries<M> {
    pub fn new<S: Scalar, K: Pack<S, Many = M>, P>(model: &Model<P>) -> Self {
        Entries(Relations::new::<S, K, P>(model, false), model.nv())
    }

    /// Shifts directions and wrenches from the origins of their bodies to the reference points of their groups.
    #[inline(always)]
    pub fn refer<S: Scalar, K: Pack<S, Many = M>>(packs: &mut [EntryRecord<M>]) {
        for pack in (0..packs.len()).rev() {
            let group = pack * K::WIDTH / GROUP * GROUP;
            let (first, lane) = row_in::<S, K, _>(packs, group);
            let reference = spread::<S, K, 3>(&first.origin, lane);
            refer(&mut packs[pack], reference);
        }
    }

    /// The matrix by rows. Returns zero if all numbers are finite, NaN if any is not.
    #[inline(always)]
    pub fn run<S: Scalar, K: Pack<S, Many = M>, P: Parameter<S>>(
        &self,
        model: &Model<P>,
        packs: &[EntryRecord<M>],
        part: Part,
        inertia: &mut [S],
    ) -> M {
        let nv = model.nv();
        let mut bad = M::zero();
        for block in 0..nv.div_ceil(ROWS) {
            let first = match part {
                Part::Whole => 0,
                Part::Upper => block * ROWS / K::WIDTH,
            };
            // a pack may write past the end of its row, into columns that come later or are not wanted
            for pack in (first..packs.len()).rev() {
                let last = (block * ROWS + ROWS - 1) * nv + (pack + 1) * K::WIDTH;
                bad = if last <= inertia.len() {
                    self.meet::<S, K, true>(block, ROWS, pack, packs, inertia, bad)
                } else {
                    let rows = if block * ROWS + ROWS <= nv {
                        ROWS
                    } else {
                        nv % ROWS
                    };
                    self.meet::<S, K, false>(block, rows, pack, packs, inertia, bad)
                };
            }
        }
        add_rotors(model, inertia);
        bad
    }

    /// Up to eight rows of one pack; `WHOLE` if there are eight, and the whole pack can be written.
    #[inline(always)]
    fn meet<S: Scalar, K: Pack<S, Many = M>, const WHOLE: bool>(
        &self,
        block: usize,
        rows: usize,
        pack: usize,
        packs: &[EntryRecord<M>],
        inertia: &mut [S],
        mut bad: M,
    ) -> M {
        let rows = if WHOLE { ROWS } else { rows };
        let nv = self.1;
        let zero = M::zero();
        let column = pack * K::WIDTH;
        let at = block * ROWS * nv + column;
        if nv > MATRIX_IN_CACHE {
            let mut ahead = at.wrapping_sub(2 * K::WIDTH);
            for _ in 0..rows {
                K::prefetch(inertia, ahead);
                ahead = ahead.wrapping_add(nv);
            }
        }
        let out = &mut inertia[at..];
        let own = &packs[pack];
        let group = column / GROUP;
        let (axis, wrench) = (own.axis, own.wrench());
        match self.0.of_block(block, pack) {
            Relation::Beyond => {
                let wrench = moved::<S, K>(packs, group, block, wrench);
                for r in 0..rows {
                    let entries = beyond::<S, K>(packs, block, r, &wrench);
                    write::<S, K, WHOLE>(out, r * nv, entries);
                    bad = entries.mul_add(zero, bad);
                }
            }
            Relation::Inwards => {
                let moments = moments::<S, K>(packs, block, group);
                for r in 0..rows {
                    let entries = inwards::<S, K>(packs, block, r, &moments, &axis);
                    write::<S, K, WHOLE>(out, r * nv, entries);
                    bad = entries.mul_add(zero, bad);
                }
            }
            Relation::Apart => {
                for r in 0..rows {
                    write::<S, K, WHOLE>(out, r * nv, zero);
                }
            }
            Relation::Mixed(mixed) => {
                let wrench = moved::<S, K>(packs, group, block, wrench);
                let moments = moments::<S, K>(packs, block, group);
                let relations = &self.0.mixed[mixed];
                for r in 0..rows {
                    let entries = match relations[r] {
                        Relation::Beyond => beyond::<S, K>(packs, block, r, &wrench),
                        Relation::Inwards => inwards::<S, K>(packs, block, r, &moments, &axis),
                        Relation::Apart => zero,
                        Relation::Mixed(sides) => {
                            let sides = self.0.sides[sides];
                            let inner = inwards::<S, K>(packs, block, r, &moments, &axis);
                            let outer = beyond::<S, K>(packs, block, r, &wrench);
                            sides.choose(inner, outer)
                        }
                    };
                    write::<S, K, WHOLE>(out, r * nv, entries);
                    bad = entries.mul_add(zero, bad);
                }
            }
        }
        bad
    }
}

/// Shifts a record to a reference point from the origins of the bodies.
#[inline(always)]
pub(crate) fn refer<M: Scalar>(record: &mut EntryRecord<M>, reference: [M; 3]) {
    let d = between(record.origin, reference);
    let [x, y, z, ..] = record.axis;
    cross_add(&mut record.axis[3..], d, [x, y, z]);
    cross_add(&mut record.moment, d, record.force);
}

/// A wrench about the reference point of another group.
#[inline(always)]
fn moved<S: Scalar, K: Pack<S>>(
    packs: &[EntryRecord<K::Many>],
    from: usize,
    to: usize,
    mut wrench: [K::Many; 6],
) -> [K::Many; 6] {
    if from != to {
        let (old, old_lane) = row_in::<S, K, _>(packs, from * GROUP);
        let (new, new_lane) = row_in::<S, K, _>(packs, to * GROUP);
        let d = between(
            spread::<S, K, 3>(&old.origin, old_lane),
            spread::<S, K, 3>(&new.origin, new_lane),
        );
        move_wrench(&mut wrench, d);
    }
    wrench
}

/// Moments of the wrenches of a block of rows about the reference point of another group, in packs.
#[inline(always)]
fn moments<S: Scalar, K: Pack<S>>(
    packs: &[EntryRecord<K::Many>],
    block: usize,
    group: usize,
) -> [[K::Many; 3]; ROWS] {
    let mut rows = [[K::Many::zero(); 3]; ROWS];
    let first = block * ROWS / K::WIDTH;
    for k in 0..ROWS / K::WIDTH {
        if first + k < packs.len() {
            let wrench = moved::<S, K>(packs, block, group, packs[first + k].wrench());
            rows[k] = [wrench[0], wrench[1], wrench[2]];
        }
    }
    rows
}

/// Entries of a row of a block at columns beyond it, whose wrenches are about the row's reference point.
#[inline(always)]
fn beyond<S: Scalar, K: Pack<S>>(
    packs: &[EntryRecord<K::Many>],
    block: usize,
    r: usize,
    wrench: &[K::Many; 6],
) -> K::Many {
    let (row, lane) = row_of_block::<S, K, _>(packs, block, r);
    dot(&spread::<S, K, 6>(&row.axis, lane), wrench)
}

/// Entries of a row of a block at columns on the path to the base; its moment is about their reference point.
#[inline(always)]
fn inwards<S: Scalar, K: Pack<S>>(
    packs: &[EntryRecord<K::Many>],
    block: usize,
    r: usize,
    moments: &[[K::Many; 3]; ROWS],
    axis: &[K::Many; 6],
) -> K::Many {
    let (row, lane) = row_of_block::<S, K, _>(packs, block, r);
    let [fx, fy, fz] = spread::<S, K, 3>(&row.force, lane);
    let (moment, lane) = row_of_block::<S, K, _>(moments, 0, r);
    let [mx, my, mz] = spread::<S, K, 3>(moment, lane);
    dot(&[mx, my, mz, fx, fy, fz], axis)
}

/// Rotor inertias, on the diagonal.
#[inline(always)]
pub(crate) fn add_rotors<S: Scalar, P: Parameter<S>>(model: &Model<P>, inertia: &mut [S]) {
    if model.tree().has_rotors {
        for k in 0..model.nv() {
            inertia[k * model.nv() + k] += model.dofs[k].armature.lift();
        }
    }
}
