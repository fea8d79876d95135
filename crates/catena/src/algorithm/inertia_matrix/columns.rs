//! The entries of I for one state, as many columns at a time as a register has lanes.
//!
//! The wrenches M̃ₖPₖ of the columns of a block walk down to the base, in the base's axes, about the joint that is being visited:
//! there the force of a column never changes, an entry is its projection on the joint's direction, and a hop to the next joint adds
//! arm × force to its moment. On the way they stay in registers. Entries come out as rows of the block; a square of them is turned
//! over and written to the other side of the diagonal at once.
//!
//! Freedoms of a subtree are numbered one after another. Where a joint moves only some columns of a block, the others are left alone.
//! Rows are taken in strips, so that the lines and pages written to are few at a time.

use crate::batch::transpose;
use crate::scalar::{Fused, Scalar, Vector, Wide};
use crate::spatial::{Force, Motion, Vec3};

/// Rows of a strip.
const STRIP: usize = 64;

/// What a freedom does to the wrenches that come by.
#[derive(Clone, Copy, Debug)]
struct Row {
    along: Motion<Fused>,
    /// To the next joint; zero if the next freedom is on the same one.
    arm: Vec3<Fused>,
    /// One past the last freedom of the subtree it moves.
    end: usize,
}

/// Moments and forces of the columns of a block.
type Block<V> = [Wide<V>; 6];

/// Workspace.
#[derive(Clone, Debug)]
pub(crate) struct Columns<V: Vector> {
    rows: Vec<Row>,
    blocks: Vec<Block<V>>,
    /// The least `end` of as many neighbouring rows as there are lanes.
    least_end: Vec<usize>,
    /// Do all joints turn, and nothing else?
    turning: bool,
}

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

impl<V: Vector> Columns<V> {
    /// For freedoms whose subtrees end there.
    pub fn new(ends: &[usize], turning: bool) -> Self {
        let lanes = V::LANES;
        Columns {
            rows: ends
                .iter()
                .map(|&end| Row {
                    along: Motion::zero(),
                    arm: Vec3::zero(),
                    end,
                })
                .collect(),
            blocks: vec![[Wide::zero(); 6]; ends.len().div_ceil(lanes)],
            least_end: ends
                .chunks(lanes)
                .map(|ends| ends.iter().copied().min().unwrap_or(0))
                .collect(),
            turning,
        }
    }

    /// Direction and wrench of freedom k, and the arm that follows it.
    #[inline(always)]
    pub fn set(&mut self, k: usize, along: Motion<Fused>, arm: Vec3<Fused>, wrench: Force<Fused>) {
        (self.rows[k].along, self.rows[k].arm) = (along, arm);
        let (block, lane) = (&mut self.blocks[k / V::LANES], k % V::LANES);
        let (n, f) = (wrench.moment, wrench.force);
        for (part, number) in [n.x, n.y, n.z, f.x, f.y, f.z].iter().enumerate() {
            block[part].0.lanes_mut()[lane] = number.0;
        }
    }

    /// The whole matrix, both triangles, without rotors. Entries between branches must be zero before.
    #[inline(always)]
    pub fn fill(&mut self, inertia: &mut [Fused]) {
        if self.turning {
            self.fill_with::<false>(Fused::plain_mut(inertia));
        } else {
            self.fill_with::<true>(Fused::plain_mut(inertia));
        }
    }

    #[inline(always)]
    fn fill_with<const SLIDES: bool>(&mut self, inertia: &mut [f64]) {
        let (freedoms, lanes) = (self.rows.len(), V::LANES);
        let mut strip = freedoms.next_multiple_of(STRIP);
        while strip > 0 {
            let below = strip;
            strip -= STRIP;
            for b in strip / lanes..self.blocks.len() {
                let column = b * lanes;
                let mut block = self.blocks[b];
                let mut row = below.min(column + lanes).min(freedoms);
                let full = (column + lanes).min(freedoms);
                while row > strip {
                    let whole = row <= column && row.is_multiple_of(lanes);
                    if whole && self.least_end[row / lanes - 1] >= full {
                        row -= lanes;
                        self.square::<SLIDES>(row, column, &mut block, inertia);
                    } else {
                        row -= 1;
                        if self.rows[row].end > column {
                            self.part::<SLIDES>(row, column, &mut block, inertia);
                        }
                    }
                }
                self.blocks[b] = block;
            }
        }
    }

    /// As many rows as lanes, all of which move all columns of the block.
    #[inline(always)]
    fn square<const SLIDES: bool>(
        &self,
        first: usize,
        column: usize,
        block: &mut Block<V>,
        inertia: &mut [f64],
    ) {
        let (freedoms, lanes) = (self.rows.len(), V::LANES);
        let rows = &self.rows[first..first + lanes];
        let force = Vec3::new(block[3], block[4], block[5]);
        let mut moment = Vec3::new(block[0], block[1], block[2]);
        let mut square = [Wide::zero(); 8];
        for i in (0..lanes).rev() {
            let mut entries = splat::<V>(rows[i].along.angular).dot(moment); // (24)
            if SLIDES {
                entries += splat::<V>(rows[i].along.linear).dot(force);
            }
            square[i] = entries;
            moment = splat::<V>(rows[i].arm).cross_add(force, moment);
        }
        (block[0], block[1], block[2]) = (moment.x, moment.y, moment.z);
        if column + lanes <= freedoms {
            for i in 0..lanes {
                let at = (first + i) * freedoms + column;
                square[i].store(&mut inertia[at..at + lanes]);
            }
        } else {
            for i in 0..lanes {
                let at = (first + i) * freedoms;
                let room = &mut inertia[at + column..at + freedoms];
                let count = room.len();
                room.copy_from_slice(&square[i].0.lanes()[..count]);
            }
        }
        transpose(&mut square);
        for j in 0..lanes.min(freedoms - column) {
            let at = (column + j) * freedoms + first;
            square[j].store(&mut inertia[at..at + lanes]);
        }
    }

    /// A row that moves some columns of the block.
    #[inline(always)]
    fn part<const SLIDES: bool>(
        &self,
        row: usize,
        column: usize,
        block: &mut Block<V>,
        inertia: &mut [f64],
    ) {
        let freedoms = self.rows.len();
        let Row { along, arm, end } = self.rows[row];
        let (from, to) = (row.max(column), end.min(column + V::LANES));
        let force = Vec3::new(block[3], block[4], block[5]);
        let moment = Vec3::new(block[0], block[1], block[2]);
        let mut entries = splat::<V>(along.angular).dot(moment); // (24)
        if SLIDES {
            entries += splat::<V>(along.linear).dot(force);
        }
        let moved = splat::<V>(arm).cross_add(force, moment);
        let lane = V::load(&LANE_NUMBERS[..V::LANES]);
        let up_to = lane.less(V::splat((to - column) as f64));
        let before = lane.less(V::splat((from - column) as f64));
        let (new, old) = ([moved.x, moved.y, moved.z], [moment.x, moment.y, moment.z]);
        for part in 0..3 {
            let inside = Wide::select(up_to, new[part], old[part]);
            block[part] = Wide::select(before, old[part], inside);
        }
        let entries = entries.0;
        for k in from..to {
            let entry = entries.lanes()[k - column];
            inertia[row * freedoms + k] = entry;
            inertia[k * freedoms + row] = entry;
        }
    }
}
