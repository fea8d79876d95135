//! The columns of ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ, a pack at a time: the sweeps (2) to (4) of [`forward`](super::forward).

use super::pack::{Pack, put};
use crate::model::Model;
use crate::scalar::{Parameter, Scalar};

/// Freedoms that share a reference point.
pub(crate) const GROUP: usize = 8;

/// What is kept of a freedom, about the reference point of its group: as a row sₖ, ψₖ, βₖ and 1/m̂ₖ, as a column the rest.
pub(crate) type Numbers<M> = [M; NUMBERS];
pub(crate) const NUMBERS: usize = 52;
pub(crate) const AXIS: usize = 0;
pub(crate) const PSI: usize = 6;
pub(crate) const BACK: usize = 12;
pub(crate) const INVERSE: usize = 15;
/// Ψ̈, Ψ̇ (angular part), Φ.
pub(crate) const SECOND: usize = 16;
pub(crate) const FIRST: usize = 22;
pub(crate) const BOTH: usize = 25;
/// g for ∂q and for ∂v, and s ×* f̃.
pub(crate) const BY_Q: usize = 31;
pub(crate) const BY_V: usize = 37;
pub(crate) const CARRIED: usize = 43;
/// Origin of the body, from the origin of the tree's first body.
pub(crate) const ORIGIN: usize = 49;

/// A row on the way from the columns of a pack to the base.
#[derive(Clone, Copy, Debug)]
struct Visit {
    row: usize,
    /// Which of `partial`, where not all columns are treated alike.
    partial: usize,
}

const ALL_ALIKE: usize = usize::MAX;

/// One where a column is meant, zero elsewhere.
#[derive(Clone, Copy, Debug)]
struct Partial<M> {
    /// The joint of this row or beyond.
    here: M,
    /// Beyond this very freedom.
    beyond: M,
    /// This freedom.
    own: M,
    /// The rotation of the column begins with this row.
    begins: M,
}

/// Columns whose joint ends with a row.
#[derive(Clone, Copy, Debug)]
struct Pass<M> {
    row: usize,
    columns: M,
}

/// Where a row takes the motion of its parent from, and who asks for its own later.
#[derive(Clone, Copy, Debug)]
struct Link {
    from: usize,
    to: usize,
}

/// From the row before; to nobody but the row after.
const NEIGHBOUR: usize = usize::MAX;

/// Motion of a body at which the tree branches, with the group whose reference point it is about.
#[derive(Clone, Copy, Debug)]
struct Branch<M> {
    motion: [[M; 6]; 3],
    turning: [[M; 3]; 2],
    group: usize,
}

/// Which rows belong to which columns, and a workspace.
#[derive(Clone, Debug)]
pub(crate) struct Sweeps<S: Scalar, K: Pack<S>> {
    /// Rows on the way to the base, tips first, and where those of each pack start.
    visits: Vec<Visit>,
    visit_start: Vec<usize>,
    partial: Vec<Partial<K::Many>>,
    passes: Vec<Pass<K::Many>>,
    pass_start: Vec<usize>,
    links: Vec<Link>,
    /// One past the last row of the joints of each pack.
    top: Vec<usize>,
    order: K::Many,
    projected: Vec<[K::Many; 3]>,
    branches: Vec<Branch<K::Many>>,
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

impl<S: Scalar, K: Pack<S>> Sweeps<S, K> {
    pub fn new<P>(model: &Model<P>) -> Self {
        let tree = model.tree();
        let (n, nv) = (model.body_count(), model.nv());
        // one past the last freedom beyond each body, and the last freedom between it and the ground
        let mut end = vec![0; n + 1];
        let mut carrier: Vec<Option<usize>> = vec![None; n + 1];
        for i in (1..=n).rev() {
            end[i] = end[i].max(tree.dof_range(i).end);
            end[tree.parent(i)] = end[tree.parent(i)].max(end[i]);
        }
        let mut links = vec![
            Link {
                from: NEIGHBOUR,
                to: NEIGHBOUR,
            };
            nv
        ];
        // the ground stands still
        let mut branches = 1;
        for i in 1..=n {
            let (range, before) = (tree.dof_range(i), carrier[tree.parent(i)]);
            carrier[i] = range.clone().last().or(before);
            if range.is_empty() || before.is_some_and(|row| row + 1 == range.start) {
                continue;
            }
            links[range.start].from = match before {
                None => 0,
                Some(row) => {
                    if links[row].to == NEIGHBOUR {
                        links[row].to = branches;
                        branches += 1;
                    }
                    links[row].to
                }
            };
        }
        let body: Vec<usize> = tree.dofs.iter().map(|dof| dof.body).collect();
        let range: Vec<_> = body.iter().map(|&i| tree.dof_range(i)).collect();
        let rotation = |k: usize| match tree.bodies[body[k]].kind.quaternion() {
            Some(first) if k >= range[k].start + first => range[k].start + first,
            _ => k,
        };
        let packs = nv.div_ceil(K::WIDTH);
        let (mut visits, mut visit_start) = (Vec::new(), vec![0]);
        let (mut partial, mut passes, mut pass_start) = (Vec::new(), Vec::new(), vec![0]);
        let mut top = Vec::new();
        for pack in 0..packs {
            let first = pack * K::WIDTH;
            let last = nv.min(first + K::WIDTH);
            top.push(range[last - 1].end);
            for row in (0..range[last - 1].end).rev() {
                let (here, beyond) = (range[row].start, end[body[row]]);
                if beyond <= first {
                    continue;
                }
                let alike = range[row].end <= first && beyond >= last;
                visits.push(Visit {
                    row,
                    partial: if alike { ALL_ALIKE } else { partial.len() },
                });
                if alike {
                    continue;
                }
                let mut begins = K::Many::zero();
                for k in first..last {
                    if rotation(k) == row {
                        K::set(&mut begins, k - first, S::one());
                    }
                }
                partial.push(Partial {
                    here: lanes::<S, K>(first, here, beyond),
                    beyond: lanes::<S, K>(first, row + 1, beyond),
                    own: lanes::<S, K>(first, row, row + 1),
                    begins,
                });
            }
            visit_start.push(visits.len());
            let mut k = first;
            while k < last {
                passes.push(Pass {
                    row: range[k].end - 1,
                    columns: lanes::<S, K>(first, range[k].start, range[k].end),
                });
                k = range[k].end;
            }
            pass_start.push(passes.len());
        }
        let mut order = K::Many::zero();
        for lane in 0..K::WIDTH {
            K::set(&mut order, lane, S::constant(lane as f64));
        }
        let zero = K::Many::zero();
        Sweeps {
            visits,
            visit_start,
            partial,
            passes,
            pass_start,
            links,
            top,
            order,
            projected: vec![[zero; 3]; nv],
            branches: vec![
                Branch {
                    motion: [[zero; 6]; 3],
                    turning: [[zero; 3]; 2],
                    group: 0,
                };
                branches
            ],
        }
    }

    /// All columns: ∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ by rows. Zero if all numbers are finite, not a number if any is not.
    #[inline(always)]
    pub fn run<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        packs: &[Numbers<K::Many>],
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
    fn inwards(&mut self, pack: usize, packs: &[Numbers<K::Many>]) {
        let own = &packs[pack];
        let mut g = [
            part::<_, 6>(own, BY_Q),
            part::<_, 6>(own, BY_V),
            [K::Many::zero(); 6],
        ];
        let home = pack * K::WIDTH / GROUP;
        let mut group = home;
        for visit in self.visit_start[pack]..self.visit_start[pack + 1] {
            let Visit { row, partial } = self.visits[visit];
            if row / GROUP != group {
                for wrench in &mut g {
                    move_wrench::<S, K>(packs, group, row / GROUP, wrench);
                }
                group = row / GROUP;
            }
            let axis = row_part::<S, K, 6>(packs, row, AXIS);
            let mut y = [dot(&axis, &g[0]), dot(&axis, &g[1]), dot(&axis, &g[2])];
            let psi = row_part::<S, K, 6>(packs, row, PSI);
            if partial == ALL_ALIKE {
                subtract(&mut g, &psi, &y);
            } else {
                let Partial {
                    here,
                    beyond,
                    own: this,
                    begins,
                } = self.partial[partial];
                y = [y[0] * here, y[1] * here, y[2] * beyond - this];
                subtract(&mut g, &psi, &y);
                let mut carried = part::<_, 6>(own, CARRIED);
                if group != home {
                    // a joint whose freedoms lie in two groups
                    move_wrench::<S, K>(packs, home, group, &mut carried);
                }
                for i in 0..6 {
                    g[0][i] = begins.mul_add(carried[i], g[0][i]);
                }
            }
            let [inverse] = row_part::<S, K, 1>(packs, row, INVERSE);
            self.projected[row] = [y[0] * inverse, y[1] * inverse, y[2] * inverse];
        }
    }

    /// (3) and (4): all rows of a pack of columns, those of ∂v̇/∂τ as far as the diagonal.
    #[inline(always)]
    fn outwards(
        &mut self,
        pack: usize,
        packs: &[Numbers<K::Many>],
        [dq, dv, dtau]: [&mut [S]; 3],
    ) -> K::Many {
        let nv = self.projected.len();
        let first = pack * K::WIDTH;
        let last = if first + K::WIDTH < nv { first + K::WIDTH } else { nv };
        let own = &packs[pack];
        let zero = K::Many::zero();
        let mut w = self.branches[0];
        let mut bad = zero;
        let mut visit = self.visit_start[pack + 1];
        let mut square = [zero; 8];
        // none of the columns is passed yet
        for row in 0..first {
            self.take(row, packs, &mut w, &mut bad);
            let psi = row_part::<S, K, 6>(packs, row, PSI);
            let mut x = [dot(&psi, &w.motion[0]), dot(&psi, &w.motion[1]), dot(&psi, &w.motion[2])];
            if self.visits[visit - 1].row == row {
                visit -= 1;
                let y = self.projected[row];
                x = [x[0] + y[0], x[1] + y[1], x[2] + y[2]];
            }
            let axis = row_part::<S, K, 6>(packs, row, AXIS);
            subtract(&mut w.motion, &axis, &x);
            self.keep(row, &w);
            let at = row * nv + first;
            put::<S, K>(dq, at, -x[0]);
            put::<S, K>(dv, at, -x[1]);
            exactly::<S, K>(dtau, at, last - first, -x[2]);
            square[row % K::WIDTH] = -x[2];
            if row % K::WIDTH + 1 == K::WIDTH {
                K::transpose(&mut square);
                for lane in 0..last - first {
                    put::<S, K>(dtau, (first + lane) * nv + row + 1 - K::WIDTH, square[lane]);
                }
            }
        }
        // some are
        let mut pass = self.pass_start[pack];
        for row in first..self.top[pack] {
            self.take(row, packs, &mut w, &mut bad);
            let psi = row_part::<S, K, 6>(packs, row, PSI);
            let back = row_part::<S, K, 3>(packs, row, BACK);
            let mut x = [
                dot_add(&psi, &w.motion[0], &back, &w.turning[0]),
                dot_add(&psi, &w.motion[1], &back, &w.turning[1]),
                dot(&psi, &w.motion[2]),
            ];
            if visit > self.visit_start[pack] && self.visits[visit - 1].row == row {
                visit -= 1;
                let y = self.projected[row];
                x = [x[0] + y[0], x[1] + y[1], x[2] + y[2]];
            }
            let axis = row_part::<S, K, 6>(packs, row, AXIS);
            subtract(&mut w.motion, &axis, &x);
            while pass < self.pass_start[pack + 1] && self.passes[pass].row == row {
                let columns = self.passes[pass].columns;
                let mut added = [part::<_, 6>(own, SECOND), part::<_, 6>(own, BOTH)];
                if w.group != first / GROUP {
                    for motion in &mut added {
                        move_motion::<S, K>(packs, first / GROUP, w.group, motion);
                    }
                }
                for i in 0..6 {
                    w.motion[0][i] = columns.mul_add(added[0][i], w.motion[0][i]);
                    w.motion[1][i] = columns.mul_add(added[1][i], w.motion[1][i]);
                }
                for i in 0..3 {
                    w.turning[0][i] = columns.mul_add(own[FIRST + i], w.turning[0][i]);
                    w.turning[1][i] = columns.mul_add(own[AXIS + i], w.turning[1][i]);
                }
                pass += 1;
            }
            self.keep(row, &w);
            let at = row * nv + first;
            put::<S, K>(dq, at, -x[0]);
            put::<S, K>(dv, at, -x[1]);
            if row < last {
                square[row - first] = -x[2];
            }
        }
        self.diagonal(square, first, last, dtau);
        for i in 0..6 {
            bad = w.motion[2][i].mul_add(zero, bad);
        }
        // all are, or lie on other branches
        for row in self.top[pack]..nv {
            self.take(row, packs, &mut w, &mut bad);
            let psi = row_part::<S, K, 6>(packs, row, PSI);
            let back = row_part::<S, K, 3>(packs, row, BACK);
            let x = [
                dot_add(&psi, &w.motion[0], &back, &w.turning[0]),
                dot_add(&psi, &w.motion[1], &back, &w.turning[1]),
            ];
            let axis = row_part::<S, K, 6>(packs, row, AXIS);
            for c in 0..2 {
                for i in 0..6 {
                    w.motion[c][i] = (-axis[i]).mul_add(x[c], w.motion[c][i]);
                }
            }
            self.keep(row, &w);
            let at = row * nv + first;
            put::<S, K>(dq, at, -x[0]);
            put::<S, K>(dv, at, -x[1]);
        }
        finite(&w, bad)
    }

    /// The motion of the parent, about the reference point of this row.
    #[inline(always)]
    fn take(
        &self,
        row: usize,
        packs: &[Numbers<K::Many>],
        w: &mut Branch<K::Many>,
        bad: &mut K::Many,
    ) {
        let from = self.links[row].from;
        if from != NEIGHBOUR {
            *bad = finite(w, *bad);
            *w = self.branches[from];
        }
        if row / GROUP != w.group {
            for motion in &mut w.motion {
                move_motion::<S, K>(packs, w.group, row / GROUP, motion);
            }
            w.group = row / GROUP;
        }
    }

    /// Keeps the motion of a body for those who ask later.
    #[inline(always)]
    fn keep(&mut self, row: usize, w: &Branch<K::Many>) {
        let to = self.links[row].to;
        if to != NEIGHBOUR {
            self.branches[to] = *w;
        }
    }

    /// The square of ∂v̇/∂τ on the diagonal, by what is to the right of it.
    #[inline(always)]
    fn diagonal(&self, square: [K::Many; 8], first: usize, last: usize, dtau: &mut [S]) {
        let nv = self.projected.len();
        let mut turned = square;
        K::transpose(&mut turned);
        for row in 0..last - first {
            let mask = self.order.less(K::spread(S::constant(row as f64)));
            let entries = K::Many::select(mask, turned[row], square[row]);
            exactly::<S, K>(dtau, (first + row) * nv + first, last - first, entries);
        }
    }
}

/// Not a number where the motion is not finite: whatever is not stays in it.
#[inline(always)]
fn finite<M: Scalar>(w: &Branch<M>, mut bad: M) -> M {
    for c in 0..2 {
        for i in 0..6 {
            bad = w.motion[c][i].mul_add(M::zero(), bad);
        }
    }
    bad
}

/// Some numbers of a pack.
#[inline(always)]
fn part<M: Scalar, const C: usize>(numbers: &Numbers<M>, at: usize) -> [M; C] {
    let mut part = [M::zero(); C];
    part.copy_from_slice(&numbers[at..at + C]);
    part
}

/// Some numbers of a row, for all columns.
#[inline(always)]
fn row_part<S: Scalar, K: Pack<S>, const C: usize>(
    packs: &[Numbers<K::Many>],
    row: usize,
    at: usize,
) -> [K::Many; C] {
    let numbers = &packs[row / K::WIDTH];
    let mut part = [K::Many::zero(); C];
    for i in 0..C {
        part[i] = K::spread(K::lane(&numbers[at + i], row % K::WIDTH));
    }
    part
}

/// From the reference point of one group to where the other's is seen from it.
#[inline(always)]
fn between<S: Scalar, K: Pack<S>>(
    packs: &[Numbers<K::Many>],
    from: usize,
    to: usize,
) -> [K::Many; 3] {
    let old = row_part::<S, K, 3>(packs, from * GROUP, ORIGIN);
    let new = row_part::<S, K, 3>(packs, to * GROUP, ORIGIN);
    [old[0] - new[0], old[1] - new[1], old[2] - new[2]]
}

/// A wrench about the reference point of another group.
#[inline(always)]
fn move_wrench<S: Scalar, K: Pack<S>>(
    packs: &[Numbers<K::Many>],
    from: usize,
    to: usize,
    wrench: &mut [K::Many; 6],
) {
    let [_, _, _, x, y, z] = *wrench;
    cross_add(
        &mut wrench[..3],
        between::<S, K>(packs, from, to),
        [x, y, z],
    );
}

/// A motion about the reference point of another group.
#[inline(always)]
fn move_motion<S: Scalar, K: Pack<S>>(
    packs: &[Numbers<K::Many>],
    from: usize,
    to: usize,
    motion: &mut [K::Many; 6],
) {
    let [x, y, z, _, _, _] = *motion;
    cross_add(
        &mut motion[3..],
        between::<S, K>(packs, from, to),
        [x, y, z],
    );
}

/// c ← c + a × b.
#[inline(always)]
fn cross_add<M: Scalar>(c: &mut [M], a: [M; 3], b: [M; 3]) {
    c[0] = a[1].mul_add(b[2], (-a[2]).mul_add(b[1], c[0]));
    c[1] = a[2].mul_add(b[0], (-a[0]).mul_add(b[2], c[1]));
    c[2] = a[0].mul_add(b[1], (-a[1]).mul_add(b[0], c[2]));
}

/// In two sums that do not wait for one another.
#[inline(always)]
fn dot<M: Scalar>(a: &[M; 6], b: &[M; 6]) -> M {
    let one = a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]));
    let other = a[5].mul_add(b[5], a[4].mul_add(b[4], a[3] * b[3]));
    one + other
}

/// a · b + c · d.
#[inline(always)]
fn dot_add<M: Scalar>(a: &[M; 6], b: &[M; 6], c: &[M; 3], d: &[M; 3]) -> M {
    let known = c[2].mul_add(d[2], c[1].mul_add(d[1], c[0] * d[0]));
    let one = a[2].mul_add(b[2], a[1].mul_add(b[1], a[0].mul_add(b[0], known)));
    let other = a[5].mul_add(b[5], a[4].mul_add(b[4], a[3] * b[3]));
    one + other
}

/// Every one of `to` less the same vector times its own factor.
#[inline(always)]
fn subtract<M: Scalar>(to: &mut [[M; 6]; 3], vector: &[M; 6], factors: &[M; 3]) {
    for c in 0..3 {
        let factor = -factors[c];
        for i in 0..6 {
            to[c][i] = factor.mul_add(vector[i], to[c][i]);
        }
    }
}

/// The first lanes of a pack, and nothing behind them.
#[inline(always)]
fn exactly<S: Scalar, K: Pack<S>>(out: &mut [S], at: usize, count: usize, many: K::Many) {
    if count == K::WIDTH {
        K::store(many, &mut out[at..at + K::WIDTH]);
    } else {
        for lane in 0..count {
            out[at + lane] = K::lane(&many, lane);
        }
    }
}
