//! The columns of ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ, a pack at a time: the sweeps (2) to (4) of [`forward`](super::forward).
//!
//! All three kinds are computed together, which hides latency. Rows come in runs, along which the tree does not branch,
//! the reference point is constant, and all columns of the pack are treated alike; changes are made between runs, and
//! along a run everything is in registers.

use crate::algorithm::pack::{
    GROUP, Pack, between, dot, move_motion, move_wrench, put, record, row_in, spread,
};
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};
use crate::thresholds::ROWS_AHEAD;

record! {
    /// Record of a freedom, about the reference point of its group.
    SweepRecord {
        /// As a row: sₖ, −ψₖ, −βₖ and −1/m̂ₖ.
        axis: 6,
        minus_psi: 6,
        minus_back: 3,
        minus_inverse: 1,
        /// As a column: Ψ̈, Ψ̇ (angular part), Φ.
        second: 6,
        first: 3,
        both: 6,
        /// g for ∂q and for ∂v, and s ×* f̃.
        by_q: 6,
        by_v: 6,
        carried: 6,
        /// Origin of the body, from the origin of the tree's first body.
        origin: 3,
    }
}

/// Rows from `start` to before `end`, along a branch of the tree and within a group.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    /// Indices in `branches` of the parent's motion and of the run's own; [`NEIGHBOUR`]: held by the run before or after.
    from: usize,
    to: usize,
}

const NEIGHBOUR: usize = usize::MAX;

/// Relation of the rows of a run to the columns of a pack.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    /// All columns are beyond them.
    Inside,
    /// They are beyond all columns, or on other branches.
    Outside,
    /// They differ row by row: index of the first row in `mixed`.
    Mixed(usize),
}

/// A row with different relations to the columns of a pack: masks with ones where the relation holds, zeros elsewhere.
#[derive(Clone, Copy, Debug)]
struct Mixed<M> {
    /// The joint of this row or beyond.
    here: M,
    /// Beyond this very freedom.
    beyond: M,
    /// This freedom.
    own: M,
    /// The rotation of the column begins with this row.
    begins: M,
    /// The joint of the column ends with this row.
    ends: M,
}

/// w of the three kinds of columns, Ψ̇ and s of those that have been passed, and the group whose reference point they are about.
#[derive(Clone, Copy, Debug)]
struct SweptColumns<M> {
    motion: [[M; 6]; 3],
    turning: [[M; 3]; 2],
    group: usize,
}

/// Which rows belong to which columns, and a workspace.
#[derive(Clone, Debug)]
pub(crate) struct Sweeps<S: Scalar, K: Pack<S>> {
    runs: Vec<Run>,
    /// Relations of all runs, pack by pack.
    relations: Vec<Relation>,
    mixed: Vec<Mixed<K::Many>>,
    /// −ŷ/m̂ by rows.
    projected: Vec<[K::Many; 3]>,
    /// Motions of bodies where the tree branches; the first is the ground's.
    branches: Vec<SweptColumns<K::Many>>,
}

/// Ones in the lanes of the freedoms from `low` to before `high`.
fn lanes<S: Scalar, K: Pack<S>>(first: usize, low: usize, high: usize) -> K::Many {
    let mut many = K::Many::zero();
    for lane in 0..K::WIDTH {
        if (low..high).contains(&(first + lane)) {
            K::set(&mut many, lane, S::one());
        }
    }
    many
}

/// Runs of rows, and the number of places where the tree branches.
fn runs<P>(model: &Model<P>) -> (Vec<Run>, usize) {
    let (tree, nv) = (model.tree(), model.nv());
    // the last freedom between each body and the ground
    let mut carrier: Vec<Option<usize>> = vec![None; model.body_count() + 1];
    let mut from = vec![NEIGHBOUR; nv];
    let mut to = vec![NEIGHBOUR; nv];
    let mut branches = 1;
    for i in 1..=model.body_count() {
        let (range, before) = (tree.dof_range(i), carrier[tree.parent(i)]);
        carrier[i] = range.clone().last().or(before);
        if range.is_empty() || before.is_some_and(|row| row + 1 == range.start) {
            continue;
        }
        from[range.start] = match before {
            None => 0,
            Some(row) => {
                if to[row] == NEIGHBOUR {
                    to[row] = branches;
                    branches += 1;
                }
                to[row]
            }
        };
    }
    let mut runs: Vec<Run> = Vec::new();
    for row in 0..nv {
        match runs.last_mut() {
            Some(run) if row % GROUP != 0 && from[row] == NEIGHBOUR && run.to == NEIGHBOUR => {
                (run.end, run.to) = (row + 1, to[row]);
            }
            _ => runs.push(Run {
                start: row,
                end: row + 1,
                from: from[row],
                to: to[row],
            }),
        }
    }
    (runs, branches)
}

impl<S: Scalar, K: Pack<S>> Sweeps<S, K> {
    pub fn new<P>(model: &Model<P>) -> Self {
        let tree = model.tree();
        let nv = model.nv();
        let end = tree.ends();
        let body: Vec<usize> = tree.dofs.iter().map(|dof| dof.body).collect();
        let range: Vec<_> = body.iter().map(|&i| tree.dof_range(i)).collect();
        let rotation = |k: usize| match tree.bodies[body[k]].kind.quaternion() {
            Some(first) if k >= range[k].start + first => range[k].start + first,
            _ => k,
        };
        let (runs, branches) = runs(model);
        let (mut relations, mut mixed) = (Vec::new(), Vec::new());
        for first in (0..nv).step_by(K::WIDTH) {
            let last = nv.min(first + K::WIDTH);
            for run in &runs {
                let mut rows = run.start..run.end;
                relations.push(
                    if rows.all(|k| range[k].end <= first && end[body[k]] >= last) {
                        Relation::Inside
                    } else if (run.start..run.end)
                        .all(|k| range[k].start >= last || end[body[k]] <= first)
                    {
                        Relation::Outside
                    } else {
                        Relation::Mixed(mixed.len())
                    },
                );
                if let Some(Relation::Mixed(_)) = relations.last() {
                    for row in run.start..run.end {
                        let (here, beyond) = (range[row].clone(), end[body[row]]);
                        let mut begins = K::Many::zero();
                        for k in first..last {
                            if rotation(k) == row {
                                K::set(&mut begins, k - first, S::one());
                            }
                        }
                        let ends = row + 1 == here.end;
                        mixed.push(Mixed {
                            here: lanes::<S, K>(first, here.start, beyond),
                            beyond: lanes::<S, K>(first, row + 1, beyond),
                            own: lanes::<S, K>(first, row, row + 1),
                            begins,
                            ends: lanes::<S, K>(first, here.start, if ends { here.end } else { 0 }),
                        });
                    }
                }
            }
        }
        let zero = K::Many::zero();
        let still = SweptColumns {
            motion: [[zero; 6]; 3],
            turning: [[zero; 3]; 2],
            group: 0,
        };
        Sweeps {
            runs,
            relations,
            mixed,
            projected: vec![[zero; 3]; nv],
            branches: vec![still; branches],
        }
    }

    /// All columns: ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ by rows. Returns zero if all numbers are finite, NaN if any is not; springs and dampers
    /// are added after that.
    #[inline(always)]
    pub fn run<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        packs: &[SweepRecord<K::Many>],
        [dq, dv, dtau]: [&mut [S]; 3],
    ) -> K::Many {
        let mut bad = K::Many::zero();
        // a pack may write past the end of its row, into columns that come later
        for pack in (0..packs.len()).rev() {
            self.inwards(pack, packs);
            bad += self.outwards(pack, packs, [&mut *dq, &mut *dv, &mut *dtau]);
        }
        let (tree, nv) = (model.tree(), model.nv());
        if tree.has_passive_forces {
            for k in 0..nv {
                for j in 0..nv {
                    let inverse = dtau[k * nv + j];
                    if tree.nodes[tree.dofs[j].body].kind.quaternion().is_none() {
                        dq[k * nv + j] -= model.dofs[j].stiffness.lift() * inverse;
                    }
                    dv[k * nv + j] -= model.dofs[j].damping.lift() * inverse;
                }
            }
        }
        bad
    }

    /// (2): ŷ/m̂ of all rows between the columns of a pack and the base.
    #[inline(always)]
    fn inwards(&mut self, pack: usize, packs: &[SweepRecord<K::Many>]) {
        let own = &packs[pack];
        let mut g = [own.by_q, own.by_v, [K::Many::zero(); 6]];
        let home = pack * K::WIDTH / GROUP;
        let mut about = home;
        let mut run = self.runs.len();
        while run > 0 {
            run -= 1;
            let relation = self.relations[pack * self.runs.len() + run];
            if relation == Relation::Outside {
                continue;
            }
            let Run { start, end, .. } = self.runs[run];
            let group = start / GROUP;
            if group != about {
                let d = shift::<S, K>(packs, about, group);
                for wrench in &mut g {
                    move_wrench(wrench, d);
                }
                about = group;
            }
            if let Relation::Mixed(first) = relation {
                let mut carried = own.carried;
                if home != group {
                    // a joint whose freedoms are in two groups
                    let d = shift::<S, K>(packs, home, group);
                    move_wrench(&mut carried, d);
                }
                for row in (start..end).rev() {
                    let m = self.mixed[first + row - start];
                    let (record, lane) = row_in::<S, K, _>(packs, row);
                    let axis = spread::<S, K, 6>(&record.axis, lane);
                    let y = [dot(&axis, &g[0]), dot(&axis, &g[1]), dot(&axis, &g[2])];
                    let y = [y[0] * m.here, y[1] * m.here, y[2] * m.beyond - m.own];
                    self.project(packs, row, y, &mut g);
                    for i in 0..6 {
                        g[0][i] = m.begins.mul_add(carried[i], g[0][i]);
                    }
                }
            } else {
                for row in (start..end).rev() {
                    let (record, lane) = row_in::<S, K, _>(packs, row);
                    let axis = spread::<S, K, 6>(&record.axis, lane);
                    let y = [dot(&axis, &g[0]), dot(&axis, &g[1]), dot(&axis, &g[2])];
                    self.project(packs, row, y, &mut g);
                }
            }
        }
    }

    #[inline(always)]
    fn project(
        &mut self,
        packs: &[SweepRecord<K::Many>],
        row: usize,
        y: [K::Many; 3],
        g: &mut [[K::Many; 6]; 3],
    ) {
        let (record, lane) = row_in::<S, K, _>(packs, row);
        let minus_psi = spread::<S, K, 6>(&record.minus_psi, lane);
        add_to_all(g, &minus_psi, &y);
        let [factor] = spread::<S, K, 1>(&record.minus_inverse, lane);
        self.projected[row] = [y[0] * factor, y[1] * factor, y[2] * factor];
    }

    /// (3) and (4): all rows of a pack of columns.
    #[inline(always)]
    fn outwards(
        &mut self,
        pack: usize,
        packs: &[SweepRecord<K::Many>],
        [dq, dv, dtau]: [&mut [S]; 3],
    ) -> K::Many {
        let nv = self.projected.len();
        let zero = K::Many::zero();
        let column = pack * K::WIDTH;
        let mut w = self.branches[0];
        let mut bad = zero;
        for run in 0..self.runs.len() {
            let relation = self.relations[pack * self.runs.len() + run];
            let Run {
                start,
                end,
                from,
                to,
            } = self.runs[run];
            if from != NEIGHBOUR {
                bad = finite(&w, bad);
                w = self.branches[from];
            }
            if start / GROUP != w.group {
                let d = shift::<S, K>(packs, w.group, start / GROUP);
                for motion in &mut w.motion {
                    move_motion(motion, d);
                }
                w.group = start / GROUP;
            }
            let mut motion = w.motion;
            match relation {
                Relation::Inside => {
                    for row in start..end {
                        let (record, lane) = row_in::<S, K, _>(packs, row);
                        let minus_psi = spread::<S, K, 6>(&record.minus_psi, lane);
                        let x = self.projected[row];
                        let x = [
                            dot_add(&minus_psi, &motion[0], x[0]),
                            dot_add(&minus_psi, &motion[1], x[1]),
                            dot_add(&minus_psi, &motion[2], x[2]),
                        ];
                        let axis = spread::<S, K, 6>(&record.axis, lane);
                        add_to_all(&mut motion, &axis, &x);
                        let out = [&mut *dq, &mut *dv, &mut *dtau];
                        write_row::<S, K>(out, row, nv, column, x);
                    }
                }
                Relation::Outside => {
                    for row in start..end {
                        let (record, lane) = row_in::<S, K, _>(packs, row);
                        let minus_psi = spread::<S, K, 6>(&record.minus_psi, lane);
                        let back = spread::<S, K, 3>(&record.minus_back, lane);
                        let x = [
                            dot_add(&minus_psi, &motion[0], dot_three(&back, &w.turning[0])),
                            dot_add(&minus_psi, &motion[1], dot_three(&back, &w.turning[1])),
                            dot(&minus_psi, &motion[2]),
                        ];
                        let axis = spread::<S, K, 6>(&record.axis, lane);
                        add_to_all(&mut motion, &axis, &x);
                        let out = [&mut *dq, &mut *dv, &mut *dtau];
                        write_row::<S, K>(out, row, nv, column, x);
                    }
                }
                Relation::Mixed(first) => {
                    let added = passing::<S, K>(packs, pack, start / GROUP);
                    for row in start..end {
                        let (record, lane) = row_in::<S, K, _>(packs, row);
                        let minus_psi = spread::<S, K, 6>(&record.minus_psi, lane);
                        let back = spread::<S, K, 3>(&record.minus_back, lane);
                        let x = self.projected[row];
                        let x = [
                            dot_add(&minus_psi, &motion[0], x[0]) + dot_three(&back, &w.turning[0]),
                            dot_add(&minus_psi, &motion[1], x[1]) + dot_three(&back, &w.turning[1]),
                            dot_add(&minus_psi, &motion[2], x[2]),
                        ];
                        let axis = spread::<S, K, 6>(&record.axis, lane);
                        add_to_all(&mut motion, &axis, &x);
                        let ends = self.mixed[first + row - start].ends;
                        for i in 0..6 {
                            motion[0][i] = ends.mul_add(added[0][i], motion[0][i]);
                            motion[1][i] = ends.mul_add(added[1][i], motion[1][i]);
                        }
                        let own = &packs[pack];
                        for i in 0..3 {
                            w.turning[0][i] = ends.mul_add(own.first[i], w.turning[0][i]);
                            w.turning[1][i] = ends.mul_add(own.axis[i], w.turning[1][i]);
                        }
                        let out = [&mut *dq, &mut *dv, &mut *dtau];
                        write_row::<S, K>(out, row, nv, column, x);
                    }
                }
            }
            w.motion = motion;
            if to != NEIGHBOUR {
                self.branches[to] = w;
            }
        }
        finite(&w, bad)
    }
}

/// Ψ̈ and Φ of a pack about the reference point of a group.
#[inline(always)]
fn passing<S: Scalar, K: Pack<S>>(
    packs: &[SweepRecord<K::Many>],
    pack: usize,
    group: usize,
) -> [[K::Many; 6]; 2] {
    let own = &packs[pack];
    let mut added = [own.second, own.both];
    let home = pack * K::WIDTH / GROUP;
    if home != group {
        let d = shift::<S, K>(packs, home, group);
        for motion in &mut added {
            move_motion(motion, d);
        }
    }
    added
}

/// Shift of positions from the reference point of one group to the other's.
#[inline(always)]
fn shift<S: Scalar, K: Pack<S>>(
    packs: &[SweepRecord<K::Many>],
    from: usize,
    to: usize,
) -> [K::Many; 3] {
    let (old, old_lane) = row_in::<S, K, _>(packs, from * GROUP);
    let (new, new_lane) = row_in::<S, K, _>(packs, to * GROUP);
    between(
        spread::<S, K, 3>(&old.origin, old_lane),
        spread::<S, K, 3>(&new.origin, new_lane),
    )
}

/// NaN where a motion is non-finite.
#[inline(always)]
fn finite<M: Scalar>(w: &SweptColumns<M>, mut bad: M) -> M {
    for kind in 0..3 {
        for i in 0..6 {
            bad = w.motion[kind][i].mul_add(M::zero(), bad);
        }
    }
    bad
}

#[inline(always)]
fn dot_three<M: Scalar>(a: &[M; 3], b: &[M; 3]) -> M {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// a · b + c.
#[inline(always)]
fn dot_add<M: Scalar>(a: &[M; 6], b: &[M; 6], c: M) -> M {
    let one = a[2].mul_add(b[2], a[1].mul_add(b[1], a[0].mul_add(b[0], c)));
    let other = a[5].mul_add(b[5], a[4].mul_add(b[4], a[3] * b[3]));
    one + other
}

/// Adds a vector times its own factor to each of `to`.
#[inline(always)]
fn add_to_all<M: Scalar>(to: &mut [[M; 6]; 3], vector: &[M; 6], factors: &[M; 3]) {
    for c in 0..3 {
        for i in 0..6 {
            to[c][i] = factors[c].mul_add(vector[i], to[c][i]);
        }
    }
}

/// A row of a pack of columns, of all three matrices; a later row is prefetched.
#[inline(always)]
fn write_row<S: Scalar, K: Pack<S>>(
    [dq, dv, dtau]: [&mut [S]; 3],
    row: usize,
    nv: usize,
    column: usize,
    x: [K::Many; 3],
) {
    let at = row * nv + column;
    put::<S, K>(dq, at, x[0]);
    put::<S, K>(dv, at, x[1]);
    put::<S, K>(dtau, at, x[2]);
    let next = at + ROWS_AHEAD * nv;
    K::prefetch(dq, next);
    K::prefetch(dv, next);
    K::prefetch(dtau, next);
}
