//! Order of elimination of the multipliers of loops, and the blocks that each elimination changes.
//!
//! A constraint is *open* at a body if the joint that carries the body lies on its loop, and *closes* at the first body inboard of all its
//! joints. At that body all its rows are complete, and its multipliers can be eliminated. Constraints that are open at the same joint are
//! coupled; eliminating one couples all those it was coupled to. Of several that close at one body the one with the fewest
//! neighbours is eliminated first, so that the couplings of many loops in series on the same ground stay a chain.

use super::rows::Rows;
use crate::model::Tree;
use std::collections::BTreeSet;
use std::ops::Range;

/// No index: the ground stores no wrenches.
pub(super) const NOWHERE: usize = usize::MAX;

/// A constraint that is open at a body.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub block: usize,
    pub first: usize,
    pub rows: usize,
    /// Index of its first wrench at this body, if children have passed any, and at the parent.
    pub eta: usize,
    pub parent_eta: usize,
    /// Whether it is the first to pass one to the parent.
    pub first_there: bool,
    /// Index of its first τ̂/m̂ at this joint: rows × freedoms.
    pub freed: usize,
    /// Where the joint's entries start among the block's columns.
    pub column: usize,
}

/// Two constraints open at the same body, the one eliminated earlier first.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// Indices among the open constraints of the body.
    pub earlier: usize,
    pub later: usize,
    /// Their block of L.
    pub at: usize,
}

/// The elimination of one constraint.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub first: usize,
    pub rows: usize,
    /// Its wrenches at the body where it closes.
    pub eta: usize,
    /// Its own block of L.
    pub diagonal: usize,
    /// The constraints it is coupled to that are eliminated later.
    pub later: Range<usize>,
    /// Blocks of L that change, one for each pair of these.
    pub updates: usize,
}

/// A constraint that is coupled to one that is eliminated.
#[derive(Clone, Debug)]
pub(super) struct Later {
    pub first: usize,
    pub rows: usize,
    /// Its wrenches where the other closes.
    pub eta: usize,
    /// Their common block of L.
    pub at: usize,
}

/// Everything that depends only on the topology of the mechanism.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub open: Vec<Open>,
    /// Per body.
    pub open_at: Vec<Range<usize>>,
    pub pairs: Vec<Pair>,
    pub pairs_at: Vec<Range<usize>>,
    pub steps: Vec<Step>,
    pub closing_at: Vec<Range<usize>>,
    pub later: Vec<Later>,
    pub updates: Vec<usize>,
    pub eta: usize,
    pub freed: usize,
    pub matrix: usize,
    /// Largest number of rows of one constraint.
    pub widest: usize,
    /// Approximate number of multiplications of a factorization.
    pub cost: f64,
}

impl Plan {
    pub fn new<S: crate::Scalar>(tree: &Tree, rows: &Rows<S>) -> Plan {
        let n = tree.bodies.len();
        let blocks = rows.blocks();
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut closing: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (c, block) in blocks.iter().enumerate() {
            let mut bodies: Vec<usize> = block.columns.iter().map(|&k| tree.dofs[k].body).collect();
            bodies.dedup();
            closing[close(tree, c, &bodies, &mut open)].push(c);
        }
        let mut neighbours: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); blocks.len()];
        for list in &open {
            for &a in list {
                neighbours[a].extend(list.iter().copied().filter(|&b| b != a));
            }
        }
        // by bodies from the tips, by neighbours at each
        let mut order = Vec::with_capacity(blocks.len());
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
        let mut closing_at = vec![0..0; n];
        for body in (0..n).rev() {
            let start = order.len();
            let mut waiting: BTreeSet<(usize, usize)> = closing[body]
                .iter()
                .map(|&c| (neighbours[c].len(), c))
                .collect();
            while let Some((_, c)) = waiting.pop_first() {
                order.push(c);
                let around: Vec<usize> = std::mem::take(&mut neighbours[c]).into_iter().collect();
                for &d in &around {
                    let before = neighbours[d].len();
                    neighbours[d].remove(&c);
                    neighbours[d].extend(around.iter().copied().filter(|&e| e != d));
                    if waiting.remove(&(before, d)) {
                        waiting.insert((neighbours[d].len(), d));
                    }
                }
                after[c] = around;
            }
            closing_at[body] = start..order.len();
        }
        let mut position = vec![0; blocks.len()];
        for (k, &c) in order.iter().enumerate() {
            position[c] = k;
        }
        let mut plan = Plan {
            closing_at,
            widest: blocks.iter().map(|b| b.rows).max().unwrap_or(0),
            ..Plan::default()
        };
        plan.place(blocks.len(), &order, &position, after, rows);
        plan.bodies(tree, rows, open, &position, &order);
        plan
    }

    /// Blocks of L, and what each elimination changes. Wrenches are assigned later.
    fn place<S: crate::Scalar>(
        &mut self,
        count: usize,
        order: &[usize],
        position: &[usize],
        mut after: Vec<Vec<usize>>,
        rows: &Rows<S>,
    ) {
        let blocks = rows.blocks();
        let mut steps = Vec::with_capacity(count);
        for &c in order {
            let block = &blocks[c];
            let start = self.later.len();
            let diagonal = self.matrix;
            self.matrix += block.rows * block.rows;
            after[c].sort_unstable_by_key(|&d| position[d]);
            for &d in &after[c] {
                self.later.push(Later {
                    first: d, // the block for now
                    rows: blocks[d].rows,
                    eta: NOWHERE,
                    at: self.matrix,
                });
                self.matrix += block.rows * blocks[d].rows;
            }
            steps.push(Step {
                first: block.first,
                rows: block.rows,
                eta: NOWHERE,
                diagonal,
                later: start..self.later.len(),
                updates: 0,
            });
        }
        for k in 0..steps.len() {
            steps[k].updates = self.updates.len();
            let width: usize = self.later[steps[k].later.clone()]
                .iter()
                .map(|d| d.rows)
                .sum();
            let m = steps[k].rows as f64;
            self.cost += m * m * m + m * m * width as f64 + 0.5 * m * (width * width) as f64;
            for i in steps[k].later.clone() {
                let d = position[self.later[i].first];
                for j in i..steps[k].later.end {
                    let e = self.later[j].first;
                    let at = if i == j {
                        steps[d].diagonal
                    } else {
                        let among = &self.later[steps[d].later.clone()];
                        let found = among.binary_search_by_key(&position[e], |x| position[x.first]);
                        // eliminating one couples all those it was coupled to, so the block exists
                        found.map_or(NOWHERE, |x| among[x].at)
                    };
                    self.updates.push(at);
                }
            }
        }
        self.steps = steps;
    }

    /// The constraints open at every body, and where their wrenches are stored.
    fn bodies<S: crate::Scalar>(
        &mut self,
        tree: &Tree,
        rows: &Rows<S>,
        mut open: Vec<Vec<usize>>,
        position: &[usize],
        order: &[usize],
    ) {
        let n = tree.bodies.len();
        let blocks = rows.blocks();
        // a body holds wrenches of the constraints open at its children: constraint, place, last of these children
        let mut present: Vec<Vec<(usize, usize, usize)>> = vec![Vec::new(); n];
        for body in 1..n {
            open[body].sort_unstable_by_key(|&c| position[c]);
            let parent = tree.parent(body);
            if parent != 0 {
                present[parent].extend(open[body].iter().map(|&c| (c, 0, body)));
            }
        }
        for list in &mut present {
            // the last child of each comes first
            list.sort_unstable_by_key(|&(c, _, child)| (c, std::cmp::Reverse(child)));
            list.dedup_by_key(|x| x.0);
            for (c, at, _) in list.iter_mut() {
                *at = self.eta;
                self.eta += blocks[*c].rows;
            }
        }
        let place = |body: usize, c: usize| -> (usize, usize) {
            match present[body].binary_search_by_key(&c, |x| x.0) {
                Ok(k) => (present[body][k].1, present[body][k].2),
                Err(_) => (NOWHERE, NOWHERE),
            }
        };
        let eta = |body: usize, c: usize| place(body, c).0;
        self.open_at.push(0..0);
        self.pairs_at.push(0..0);
        for body in 1..n {
            let range = tree.dof_range(body);
            let nv = range.len();
            let (start, first_pair) = (self.open.len(), self.pairs.len());
            for &c in &open[body] {
                let block = &blocks[c];
                let (parent_eta, last) = place(tree.parent(body), c);
                self.open.push(Open {
                    block: c,
                    first: block.first,
                    rows: block.rows,
                    eta: eta(body, c),
                    parent_eta,
                    first_there: last == body,
                    freed: self.freed,
                    column: block.columns.partition_point(|&k| k < range.start),
                });
                self.freed += block.rows * nv;
            }
            for (i, &c) in open[body].iter().enumerate() {
                let step = &self.steps[position[c]];
                for (j, &d) in open[body].iter().enumerate().skip(i) {
                    let at = if i == j {
                        step.diagonal
                    } else {
                        let among = &self.later[step.later.clone()];
                        let found = among.binary_search_by_key(&position[d], |x| position[x.first]);
                        found.map_or(NOWHERE, |x| among[x].at)
                    };
                    self.pairs.push(Pair {
                        earlier: i,
                        later: j,
                        at,
                    });
                }
            }
            self.open_at.push(start..self.open.len());
            self.pairs_at.push(first_pair..self.pairs.len());
            let width: usize = open[body].iter().map(|&c| blocks[c].rows).sum();
            self.cost += (60 * width + nv * width * width / 2 + 300) as f64;
        }
        for body in 0..n {
            for k in self.closing_at[body].clone() {
                self.steps[k].eta = eta(body, order[k]);
                for later in &mut self.later[self.steps[k].later.clone()] {
                    later.eta = eta(body, later.first);
                }
            }
        }
        for later in &mut self.later {
            later.first = blocks[later.first].first;
        }
    }
}

/// Marks a constraint as open from its bodies to the first body inboard of all their joints; returns that body.
fn close(tree: &Tree, c: usize, bodies: &[usize], open: &mut [Vec<usize>]) -> usize {
    let mut front: BTreeSet<usize> = bodies.iter().copied().collect();
    while let Some(body) = front.pop_last() {
        // only one is left, and no joint of the constraint carries it: all paths have met here
        if body == 0 || (front.is_empty() && bodies.binary_search(&body).is_err()) {
            return body;
        }
        open[body].push(c);
        front.insert(tree.parent(body));
    }
    0
}
