//! The wrenches M̃ₖPₖ on their way to the base, and the loops over them.
//!
//! All are in the base's axes, about the joint that is being visited: there the force of a column never changes, and a hop
//! to the next joint adds arm × force to its moment. The loops run over the freedoms of one subtree, which are numbered one
//! after another, so that several columns fit a register. A register that reaches beyond the subtree leaves the columns of
//! other branches alone; columns before the subtree have not been set yet, and may be computed with.

use crate::batch::transpose;
use crate::scalar::{Fused, Scalar, Vector, Wide};
use crate::spatial::{Force, Motion, Vec3};
use std::fmt::Debug;
use std::ops::Range;

/// Wrenches by freedom, and what composite bodies do to all those of a subtree.
pub(crate) trait Wrenches<S: Scalar>: Clone + Debug {
    /// Room for this many columns.
    fn new(freedoms: usize) -> Self;

    /// Column k from now on.
    fn set(&mut self, k: usize, wrench: Force<S>);

    /// Row entries of a freedom that turns and slides: row[k] = along · column k.
    fn project<const TURNS: bool, const SLIDES: bool>(
        &mut self,
        columns: Range<usize>,
        along: Motion<S>,
        row: &mut [S],
    );

    /// To the next joint: moment += arm × force.
    fn hop(&mut self, columns: Range<usize>, arm: Vec3<S>);

    /// Both for the commonest joint: row[k] = axis · moment, then moment += arm × force.
    fn turn_and_hop(&mut self, columns: Range<usize>, axis: Vec3<S>, arm: Vec3<S>, row: &mut [S]);

    /// Copies the part of these rows right of the diagonal to below the diagonal.
    fn mirror(matrix: &mut [S], freedoms: usize, rows: Range<usize>);
}

/// One column after another, in any scalar.
#[derive(Clone, Debug)]
pub struct Separate<S>(Vec<Force<S>>);

impl<S: Scalar> Wrenches<S> for Separate<S> {
    fn new(freedoms: usize) -> Self {
        Separate(vec![Force::zero(); freedoms])
    }

    #[inline(always)]
    fn set(&mut self, k: usize, wrench: Force<S>) {
        self.0[k] = wrench;
    }

    #[inline(always)]
    fn project<const TURNS: bool, const SLIDES: bool>(
        &mut self,
        columns: Range<usize>,
        along: Motion<S>,
        row: &mut [S],
    ) {
        for k in columns {
            let column = self.0[k];
            row[k] = match (TURNS, SLIDES) {
                (true, false) => along.angular.dot(column.moment),
                (false, true) => along.linear.dot(column.force),
                _ => column.dot(along),
            };
        }
    }

    #[inline(always)]
    fn hop(&mut self, columns: Range<usize>, arm: Vec3<S>) {
        for column in &mut self.0[columns] {
            column.moment = arm.cross_add(column.force, column.moment);
        }
    }

    #[inline(always)]
    fn turn_and_hop(&mut self, columns: Range<usize>, axis: Vec3<S>, arm: Vec3<S>, row: &mut [S]) {
        for k in columns {
            let column = &mut self.0[k];
            row[k] = axis.dot(column.moment);
            column.moment = arm.cross_add(column.force, column.moment);
        }
    }

    #[inline(always)]
    fn mirror(matrix: &mut [S], freedoms: usize, rows: Range<usize>) {
        copy_block(matrix, freedoms, rows.clone(), rows.start..freedoms);
    }
}

/// Mirrors the entries of a block that lie right of the diagonal.
#[inline(always)]
fn copy_block<S: Scalar>(
    matrix: &mut [S],
    freedoms: usize,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    for j in columns {
        for i in rows.start..rows.end.min(j) {
            matrix[j * freedoms + i] = matrix[i * freedoms + j];
        }
    }
}

/// Moments and forces of as many columns as a register has lanes.
type Block<V> = [Wide<V>; 6];

/// As many columns at a time as a register has lanes.
#[derive(Clone, Debug)]
pub(crate) struct InRegisters<V: Vector> {
    blocks: Vec<Block<V>>,
}

/// A one among zeros: a window of it is one in a chosen lane.
const ONE_AMONG_ZEROS: [f64; 16] = {
    let mut window = [0.0; 16];
    window[8] = 1.0;
    window
};

const LANE_NUMBERS: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// A vector, the same in all lanes.
#[inline(always)]
fn splat<V: Vector>(v: Vec3<Fused>) -> Vec3<Wide<V>> {
    Vec3::new(
        Wide(V::splat(v.x.0)),
        Wide(V::splat(v.y.0)),
        Wide(V::splat(v.z.0)),
    )
}

/// Writes the lanes of block b to their places in a row.
#[inline(always)]
fn store<V: Vector>(row: &mut [Fused], first: usize, entries: Wide<V>) {
    let room = &mut Fused::plain_mut(row)[first..];
    if room.len() >= V::LANES {
        entries.store(&mut room[..V::LANES]);
    } else {
        for (lane, entry) in room.iter_mut().enumerate() {
            *entry = entries.lane(lane);
        }
    }
}

/// The moments of a block, moved by `arm`; those of columns from `end` on stay as they were.
#[inline(always)]
fn moved<V: Vector>(block: &mut Block<V>, first: usize, end: usize, arm: Vec3<Wide<V>>) {
    let [nx, ny, nz, fx, fy, fz] = *block;
    let moment = Vec3::new(nx, ny, nz);
    let mut next = arm.cross_add(Vec3::new(fx, fy, fz), moment);
    if end < first + V::LANES {
        let inside = V::load(&LANE_NUMBERS[..V::LANES]).less(V::splat((end - first) as f64));
        next = Vec3::new(
            Wide::select(inside, next.x, nx),
            Wide::select(inside, next.y, ny),
            Wide::select(inside, next.z, nz),
        );
    }
    (block[0], block[1], block[2]) = (next.x, next.y, next.z);
}

impl<V: Vector> Wrenches<Fused> for InRegisters<V> {
    fn new(freedoms: usize) -> Self {
        InRegisters {
            blocks: vec![[Wide::zero(); 6]; freedoms.div_ceil(V::LANES)],
        }
    }

    #[inline(always)]
    fn set(&mut self, k: usize, wrench: Force<Fused>) {
        // by whole registers: a lane written on its own would have to reach the cache before the register can be read
        let (block, lane) = (&mut self.blocks[k / V::LANES], k % V::LANES);
        let window = V::load(&ONE_AMONG_ZEROS[8 - lane..8 - lane + V::LANES]);
        let here = V::splat(0.5).less(window);
        let (n, f) = (splat(wrench.moment), splat(wrench.force));
        *block = [
            Wide::select(here, n.x, block[0]),
            Wide::select(here, n.y, block[1]),
            Wide::select(here, n.z, block[2]),
            Wide::select(here, f.x, block[3]),
            Wide::select(here, f.y, block[4]),
            Wide::select(here, f.z, block[5]),
        ];
    }

    #[inline(always)]
    fn project<const TURNS: bool, const SLIDES: bool>(
        &mut self,
        columns: Range<usize>,
        along: Motion<Fused>,
        row: &mut [Fused],
    ) {
        let (angular, linear) = (splat::<V>(along.angular), splat::<V>(along.linear));
        for b in columns.start / V::LANES..columns.end.div_ceil(V::LANES) {
            let [nx, ny, nz, fx, fy, fz] = self.blocks[b];
            let (n, f) = (Vec3::new(nx, ny, nz), Vec3::new(fx, fy, fz));
            let entries = match (TURNS, SLIDES) {
                (true, false) => angular.dot(n),
                (false, true) => linear.dot(f),
                _ => angular.dot(n) + linear.dot(f),
            };
            store(row, b * V::LANES, entries);
        }
    }

    #[inline(always)]
    fn hop(&mut self, columns: Range<usize>, arm: Vec3<Fused>) {
        let arm = splat(arm);
        for b in columns.start / V::LANES..columns.end.div_ceil(V::LANES) {
            moved(&mut self.blocks[b], b * V::LANES, columns.end, arm);
        }
    }

    #[inline(always)]
    fn turn_and_hop(
        &mut self,
        columns: Range<usize>,
        axis: Vec3<Fused>,
        arm: Vec3<Fused>,
        row: &mut [Fused],
    ) {
        let (axis, arm) = (splat::<V>(axis), splat(arm));
        for b in columns.start / V::LANES..columns.end.div_ceil(V::LANES) {
            let [nx, ny, nz, ..] = self.blocks[b];
            store(row, b * V::LANES, axis.dot(Vec3::new(nx, ny, nz)));
            moved(&mut self.blocks[b], b * V::LANES, columns.end, arm);
        }
    }

    #[inline(always)]
    fn mirror(matrix: &mut [Fused], freedoms: usize, rows: Range<usize>) {
        let lanes = V::LANES;
        let mut column = rows.start;
        while column + lanes <= freedoms {
            for first in (rows.start..rows.end.min(column)).step_by(lanes) {
                mirror_square::<V>(matrix, freedoms, first, column);
            }
            if column < rows.end {
                copy_block(
                    matrix,
                    freedoms,
                    column..column + lanes,
                    column..column + lanes,
                );
            }
            column += lanes;
        }
        // columns that do not fill a register: the last register's worth, part of it once more
        let mut first = rows.start;
        while column < freedoms && first < rows.end {
            if first + 2 * lanes <= freedoms {
                mirror_square::<V>(matrix, freedoms, first, freedoms - lanes);
            } else {
                copy_block(matrix, freedoms, first..first + lanes, column..freedoms);
            }
            first += lanes;
        }
    }
}

/// Copies a square of entries to the other side of the diagonal.
#[inline(always)]
fn mirror_square<V: Vector>(matrix: &mut [Fused], freedoms: usize, row: usize, column: usize) {
    let matrix = Fused::plain_mut(matrix);
    let mut square = [V::splat(0.0); 8];
    for i in 0..V::LANES {
        let at = (row + i) * freedoms + column;
        square[i] = V::load(&matrix[at..at + V::LANES]);
    }
    transpose(&mut square);
    for i in 0..V::LANES {
        let at = (column + i) * freedoms + row;
        Wide(square[i]).store(&mut matrix[at..at + V::LANES]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zips_transpose() {
        fn check<V: Vector>() {
            let mut square = [V::splat(0.0); 8];
            for i in 0..V::LANES {
                for j in 0..V::LANES {
                    square[i].lanes_mut()[j] = (10 * i + j) as f64;
                }
            }
            transpose(&mut square);
            for i in 0..V::LANES {
                for j in 0..V::LANES {
                    assert_eq!(square[i].lanes()[j], (10 * j + i) as f64);
                }
            }
        }
        check::<[f64; 2]>();
        check::<[f64; 4]>();
        check::<[f64; 8]>();
        #[cfg(target_arch = "x86_64")]
        {
            use crate::Cpu;
            use crate::scalar::{Avx2Register, Avx512Register};
            if Cpu::best() >= Cpu::Avx2 {
                check::<Avx2Register>();
            }
            if Cpu::best() >= Cpu::Avx512 {
                check::<Avx512Register>();
            }
        }
    }
}
