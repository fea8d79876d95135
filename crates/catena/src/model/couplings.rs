//! Linear couplings of joint coordinates (`mimic`, gears), eliminated: some coordinates follow the others.
//!
//! ```text
//! couplings   Σ cₖ qₖ = c₀                             one row each
//! eliminated  q_tree = G q + c,   v_tree = G v          q, v: the independent coordinates                    (1)
//! forces      τ = Gᵀ τ_tree                             the power τᵀ v is the same                            (2)
//! matrices    I = Gᵀ I_tree G,   J = J_tree G,   ∂τ/∂q = Gᵀ (∂τ_tree/∂q) G                                   (3)
//! ```
//!
//! G is constant, so v̇_tree = G v̇ and nothing else appears. Its rows are unit vectors for independent freedoms and the terms of a
//! [`Follower`] for the others. Gaussian elimination, row by row, selects the dependent coordinates: of the coordinates left in a row,
//! one without an actuator; among these preferably the first, if the row is written as an equation for it (its coefficient is 1, as in
//! a `mimic`); otherwise the last in the order of the tree.
//!
//! **Clusters.** A coupling joins the bodies between its joints into one cluster, whose joint has the independent freedoms: its joints
//! cannot be eliminated one by one, but can be together. A cluster is attached to one body of another cluster, so the clusters form a
//! tree, and recursions over them are linear in their number (`factorization::clusters`).

use super::{Constraint, Coordinate, Rule, Tree};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::scalar::{Parameter, Scalar};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Coefficients below this fraction of the largest one of a row are not used as pivots, unless the row is written for them.
const SMALLEST_PIVOT: f64 = 1e-3;
/// Remainder of a cancelled coefficient, relative to its summands.
const CANCELLED: f64 = 1e-12;

/// The map from the independent coordinates to those of the tree.
#[derive(Clone, Debug)]
pub struct Couplings<P = f64> {
    /// Positions of the tree that are independent, in order.
    positions: Arc<[usize]>,
    /// Freedoms of the tree that are independent, in order.
    freedoms: Arc<[usize]>,
    /// For every freedom of the tree its row of G.
    sources: Arc<[Source]>,
    followers: Vec<Follower<P>>,
    clusters: Arc<[Cluster]>,
    constraints: Vec<Constraint<P>>,
}

/// Source of the motion of a freedom of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The freedom is this independent one.
    Independent(usize),
    /// The freedom is this [follower](Couplings::followers).
    Follower(usize),
}

/// A coordinate of the tree that follows independent ones: q = offset + Σ ratio · source.
#[derive(Clone, Debug)]
pub struct Follower<P = f64> {
    /// Its index among the coordinates of the tree.
    pub coordinate: Coordinate,
    /// The sources by their indices among the independent coordinates, and the ratios; none for a constant coordinate.
    pub terms: Vec<(Coordinate, P)>,
    /// Its value when its sources are zero.
    pub offset: P,
    /// The coupling with which it was eliminated.
    pub coupling: Arc<str>,
}

/// Bodies whose joints move together.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The bodies, parents first.
    pub bodies: Vec<usize>,
    /// The body to which they are attached; 0 is the ground.
    pub parent: usize,
    /// The independent freedoms of their joints, in order.
    pub freedoms: Vec<usize>,
    /// Whether any of their coordinates is coupled. Otherwise it is one body and its joint.
    pub is_coupled: bool,
}

/// A row of the elimination: coefficients by freedom of the tree, and the right-hand side.
#[derive(Clone, Debug)]
struct Row {
    terms: BTreeMap<usize, f64>,
    offset: f64,
}

/// A row solved for a coordinate: coordinate = offset + Σ terms.
struct Solved {
    freedom: usize,
    row: Row,
    coupling: Arc<str>,
}

impl Couplings<f64> {
    /// Eliminates the couplings of a tree; `constraints` are couplings only. Redundant couplings are returned by name.
    pub(super) fn eliminate(
        tree: &Tree,
        constraints: Vec<Constraint>,
    ) -> Result<(Self, Vec<Arc<str>>)> {
        let mut solved: Vec<Solved> = Vec::new();
        let mut solved_as: BTreeMap<usize, usize> = BTreeMap::new();
        let mut used_by: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut redundant = Vec::new();
        let mut is_actuated = vec![false; tree.nv];
        for actuator in &tree.actuators {
            is_actuated[actuator.freedom] = true;
        }
        for constraint in &constraints {
            let Rule::Coupling { terms, offset } = &constraint.rule else {
                continue;
            };
            let written_for = (terms[0].1 == 1.0).then_some(terms[0].0.v);
            let row = substituted(terms, *offset, &solved, &solved_as);
            let Some(pivot) = pivot(&row, written_for, &is_actuated) else {
                let size = size_of(terms, *offset, &solved, &solved_as);
                if row.offset.abs() <= CANCELLED * size {
                    redundant.push(Arc::clone(&constraint.name));
                    continue;
                }
                return Err(contradiction(tree, constraint, row.offset));
            };
            let row = solve_for(row, pivot);
            // rows already solved in terms of the pivot
            for index in used_by.remove(&pivot).unwrap_or_default() {
                let Some(ratio) = solved[index].row.terms.remove(&pivot) else {
                    continue;
                };
                let of = &mut solved[index].row;
                of.offset += ratio * row.offset;
                for (&k, &c) in &row.terms {
                    add(&mut of.terms, k, ratio * c);
                    used_by.entry(k).or_default().push(index);
                }
            }
            for &k in row.terms.keys() {
                used_by.entry(k).or_default().push(solved.len());
            }
            solved_as.insert(pivot, solved.len());
            solved.push(Solved {
                freedom: pivot,
                row,
                coupling: Arc::clone(&constraint.name),
            });
        }
        Ok((Couplings::new(tree, solved, constraints), redundant))
    }

    /// The couplings of a tree whose positions are q + offset instead of q, in other frames of its bodies.
    #[must_use]
    pub fn shifted(&self, offset: &[f64]) -> Self {
        let mut shifted = self.clone();
        for follower in &mut shifted.followers {
            follower.offset += offset[follower.coordinate.q];
            for (at, ratio) in &follower.terms {
                follower.offset -= ratio * offset[self.positions[at.q]];
            }
        }
        for constraint in &mut shifted.constraints {
            if let Rule::Coupling { terms, offset: sum } = &mut constraint.rule {
                *sum += terms.iter().map(|(at, c)| c * offset[at.q]).sum::<f64>();
            }
        }
        shifted
    }

    fn new(tree: &Tree, mut solved: Vec<Solved>, constraints: Vec<Constraint>) -> Self {
        solved.sort_by_key(|one| one.freedom);
        let position = |freedom: usize| {
            let body = &tree.bodies[tree.dofs[freedom].body];
            body.q + (freedom - body.v)
        };
        let mut sources = vec![Source::Independent(0); tree.nv];
        let mut follows = vec![false; tree.nq];
        for (index, one) in solved.iter().enumerate() {
            sources[one.freedom] = Source::Follower(index);
            follows[position(one.freedom)] = true;
        }
        let mut freedoms = Vec::new();
        for (k, source) in sources.iter_mut().enumerate() {
            if let Source::Independent(place) = source {
                *place = freedoms.len();
                freedoms.push(k);
            }
        }
        let positions: Vec<usize> = (0..tree.nq).filter(|&k| !follows[k]).collect();
        let independent = |freedom: usize| {
            let place = |list: &[usize], at: usize| list.partition_point(|&k| k < at);
            Coordinate {
                q: place(&positions, position(freedom)),
                v: place(&freedoms, freedom),
            }
        };
        let followers: Vec<Follower> = solved
            .iter()
            .map(|one| Follower {
                coordinate: Coordinate {
                    q: position(one.freedom),
                    v: one.freedom,
                },
                terms: (one.row.terms.iter())
                    .map(|(&k, &c)| (independent(k), c))
                    .collect(),
                offset: one.row.offset,
                coupling: Arc::clone(&one.coupling),
            })
            .collect();
        let clusters = clusters(tree, &freedoms, &sources, &followers);
        Couplings {
            positions: positions.into(),
            freedoms: freedoms.into(),
            sources: sources.into(),
            followers,
            clusters: clusters.into(),
            constraints,
        }
    }
}

/// A coupling in terms of the coordinates that are still independent.
fn substituted(
    terms: &[(Coordinate, f64)],
    offset: f64,
    solved: &[Solved],
    solved_as: &BTreeMap<usize, usize>,
) -> Row {
    let mut row = Row {
        terms: BTreeMap::new(),
        offset,
    };
    for &(at, c) in terms {
        match solved_as.get(&at.v) {
            None => add(&mut row.terms, at.v, c),
            Some(&index) => {
                let of = &solved[index].row;
                row.offset -= c * of.offset;
                for (&k, &ratio) in &of.terms {
                    add(&mut row.terms, k, c * ratio);
                }
            }
        }
    }
    row
}

/// The summands of the right-hand side of a substituted coupling.
fn size_of(
    terms: &[(Coordinate, f64)],
    offset: f64,
    solved: &[Solved],
    solved_as: &BTreeMap<usize, usize>,
) -> f64 {
    let of = |at: &Coordinate| solved_as.get(&at.v).map(|&index| solved[index].row.offset);
    let parts = terms
        .iter()
        .map(|(at, c)| (c * of(at).unwrap_or(0.0)).abs());
    offset.abs() + parts.sum::<f64>()
}

/// Adds to a coefficient; one that cancels is left out.
fn add(terms: &mut BTreeMap<usize, f64>, k: usize, c: f64) {
    let old = terms.get(&k).copied().unwrap_or(0.0);
    let sum = old + c;
    if sum.abs() <= CANCELLED * old.abs().max(c.abs()) {
        terms.remove(&k);
    } else {
        terms.insert(k, sum);
    }
}

/// The coordinate of a row that follows the others; none where nothing is left of the row.
fn pivot(row: &Row, written_for: Option<usize>, is_actuated: &[bool]) -> Option<usize> {
    let largest = row.terms.values().fold(0.0, |m: f64, c| m.max(c.abs()));
    let fits =
        |&(&k, c): &(&usize, &f64)| written_for == Some(k) || c.abs() >= SMALLEST_PIVOT * largest;
    (row.terms.iter().filter(fits))
        .map(|(&k, _)| k)
        .max_by_key(|&k| (!is_actuated[k], written_for == Some(k), k))
}

/// The row as an equation for one of its coordinates.
fn solve_for(mut row: Row, pivot: usize) -> Row {
    let c = row.terms.remove(&pivot).unwrap_or(1.0);
    row.terms.values_mut().for_each(|other| *other /= -c);
    row.offset /= c;
    row
}

fn contradiction(tree: &Tree, constraint: &Constraint, by: f64) -> Error {
    let names: Vec<&str> = match &constraint.rule {
        Rule::Coupling { terms, .. } => (terms.iter())
            .map(|(at, _)| tree.dofs[at.v].name.as_str())
            .collect(),
        _ => Vec::new(),
    };
    Error::new(
        ErrorKind::Model,
        format!(
            "coupling `{}` contradicts those before it: its coordinates ({}) depend on each other already, and its right-hand side differs by {by}",
            constraint.name,
            names.join(", ")
        ),
    )
    .at(constraint.place.clone())
    .hint("remove it, or give it the offset that follows from the others")
}

/// The clusters of a tree, parents before children.
fn clusters(
    tree: &Tree,
    freedoms: &[usize],
    sources: &[Source],
    followers: &[Follower],
) -> Vec<Cluster> {
    let count = tree.bodies.len();
    let mut joined: Vec<usize> = (0..count).collect(); // a forest of sets, each named by its first body
    let mut is_coupled = vec![false; count];
    for follower in followers {
        let own = tree.dofs[follower.coordinate.v].body;
        is_coupled[own] = true;
        for (at, _) in &follower.terms {
            let other = tree.dofs[freedoms[at.v]].body;
            is_coupled[other] = true;
            join_path(tree, &mut joined, own, other);
        }
    }
    let mut index = vec![usize::MAX; count];
    let mut clusters: Vec<Cluster> = Vec::new();
    for body in 1..count {
        let first = set_of(&mut joined, body);
        if index[first] == usize::MAX {
            index[first] = clusters.len();
            clusters.push(Cluster {
                bodies: Vec::new(),
                parent: tree.parent(body),
                freedoms: Vec::new(),
                is_coupled: false,
            });
        }
        let cluster = &mut clusters[index[first]];
        cluster.bodies.push(body);
        cluster.is_coupled |= is_coupled[body];
        cluster
            .freedoms
            .extend(tree.dof_range(body).filter_map(|k| match sources[k] {
                Source::Independent(place) => Some(place),
                Source::Follower(_) => None,
            }));
    }
    clusters
}

/// The name of the set of a body.
fn set_of(joined: &mut [usize], body: usize) -> usize {
    let mut at = body;
    while joined[at] != at {
        joined[at] = joined[joined[at]];
        at = joined[at];
    }
    at
}

/// Joins the sets of all bodies whose joints lie between two bodies, including their own joints.
fn join_path(tree: &Tree, joined: &mut [usize], a: usize, b: usize) {
    let mut join = |x: usize, y: usize| {
        let (x, y) = (set_of(joined, x), set_of(joined, y));
        joined[x.max(y)] = x.min(y);
    };
    join(a, b);
    let (mut x, mut y) = (a, b);
    while x != y {
        // parents have lower numbers: the body with the higher number is not an ancestor of the other
        let higher = if x > y { &mut x } else { &mut y };
        let parent = tree.parent(*higher);
        join(a, *higher);
        *higher = parent;
    }
}

impl<P> Couplings<P> {
    /// Number of independent positions.
    pub fn nq(&self) -> usize {
        self.positions.len()
    }

    /// Number of independent freedoms.
    pub fn nv(&self) -> usize {
        self.freedoms.len()
    }

    /// For every independent position its index in the tree's q.
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// For every independent freedom its index in the tree's v.
    pub fn freedoms(&self) -> &[usize] {
        &self.freedoms
    }

    /// For every freedom of the tree, the source of its motion.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Is this freedom of the tree independent?
    #[inline(always)]
    pub fn is_independent(&self, freedom: usize) -> bool {
        matches!(self.sources[freedom], Source::Independent(_))
    }

    /// The coordinates that follow, in the order of the tree.
    pub fn followers(&self) -> &[Follower<P>] {
        &self.followers
    }

    /// The clusters, parents before children.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The couplings as given.
    pub fn constraints(&self) -> &[Constraint<P>] {
        &self.constraints
    }

    /// The independent positions among those of the tree.
    pub fn independent_positions<S: Copy>(&self, tree: &[S], out: &mut [S]) {
        for (x, &k) in out.iter_mut().zip(&*self.positions) {
            *x = tree[k];
        }
    }

    /// The independent velocities or accelerations among those of the tree.
    pub fn independent_rates<S: Copy>(&self, tree: &[S], out: &mut [S]) {
        for (x, &k) in out.iter_mut().zip(&*self.freedoms) {
            *x = tree[k];
        }
    }
}

impl<P: Copy> Couplings<P> {
    /// Maps every number: to dual numbers, to symbols.
    pub fn map<T: Copy>(&self, f: &impl Fn(P) -> T) -> Couplings<T> {
        Couplings {
            positions: Arc::clone(&self.positions),
            freedoms: Arc::clone(&self.freedoms),
            sources: Arc::clone(&self.sources),
            followers: (self.followers.iter())
                .map(|one| Follower {
                    coordinate: one.coordinate,
                    terms: one.terms.iter().map(|&(at, c)| (at, f(c))).collect(),
                    offset: f(one.offset),
                    coupling: Arc::clone(&one.coupling),
                })
                .collect(),
            clusters: Arc::clone(&self.clusters),
            constraints: self.constraints.iter().map(|c| c.map(f)).collect(),
        }
    }

    /// q_tree = G q + c.
    #[inline(always)]
    pub fn expand_positions<S: Scalar>(&self, q: &[S], tree: &mut [S])
    where
        P: Parameter<S>,
    {
        for (&k, &x) in self.positions.iter().zip(q) {
            tree[k] = x;
        }
        for one in &self.followers {
            let mut x: S = one.offset.lift();
            for &(at, ratio) in &one.terms {
                x = ratio.lift().mul_add(q[at.q], x);
            }
            tree[one.coordinate.q] = x;
        }
    }

    /// v_tree = G v; accelerations and increments of positions likewise.
    #[inline(always)]
    pub fn expand_rates<S: Scalar>(&self, v: &[S], tree: &mut [S])
    where
        P: Parameter<S>,
    {
        for (&k, &x) in self.freedoms.iter().zip(v) {
            tree[k] = x;
        }
        for one in &self.followers {
            let mut x = S::zero();
            for &(at, ratio) in &one.terms {
                x = ratio.lift().mul_add(v[at.v], x);
            }
            tree[one.coordinate.v] = x;
        }
    }

    /// τ = Gᵀ τ_tree.
    #[inline(always)]
    pub fn contract<S: Scalar>(&self, tree: &[S], tau: &mut [S])
    where
        P: Parameter<S>,
    {
        for (x, &k) in tau.iter_mut().zip(&*self.freedoms) {
            *x = tree[k];
        }
        for one in &self.followers {
            for &(at, ratio) in &one.terms {
                tau[at.v] = ratio.lift().mul_add(tree[one.coordinate.v], tau[at.v]);
            }
        }
    }

    /// A G for a matrix with a column for each freedom of the tree.
    pub fn contract_columns<S: Scalar>(&self, tree: &Matrix<S>, out: &mut Matrix<S>)
    where
        P: Parameter<S>,
    {
        for i in 0..tree.rows() {
            self.contract(tree.row(i), out.row_mut(i));
        }
    }

    /// Gᵀ A for a matrix with a row for each freedom of the tree.
    pub fn contract_rows<S: Scalar>(&self, tree: &Matrix<S>, out: &mut Matrix<S>)
    where
        P: Parameter<S>,
    {
        for (r, &k) in self.freedoms.iter().enumerate() {
            out.row_mut(r).copy_from_slice(tree.row(k));
        }
        for one in &self.followers {
            for &(at, ratio) in &one.terms {
                let row = tree.row(one.coordinate.v);
                for (x, &y) in out.row_mut(at.v).iter_mut().zip(row) {
                    *x = ratio.lift().mul_add(y, *x);
                }
            }
        }
    }

    /// Gᵀ A G.
    pub fn congruence<S: Scalar>(&self, tree: &Matrix<S>) -> Matrix<S>
    where
        P: Parameter<S>,
    {
        let mut columns = Matrix::zeros(tree.rows(), self.nv());
        self.contract_columns(tree, &mut columns);
        let mut out = Matrix::zeros(self.nv(), self.nv());
        self.contract_rows(&columns, &mut out);
        out
    }
}
