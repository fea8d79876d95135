//! ξ, J and b of every constraint.
//!
//! ```text
//! position       ξ(t, q) = 0
//! velocity       ξ̇ = J v + ∂ξ/∂t = 0
//! acceleration   ξ̈ = J v̇ + bias = 0,   b = −bias                        (Mufti 71, 72 on the tree)
//! stabilised     ξ̈ + α ξ̇ + β ξ = 0,    b = −bias − α ξ̇ − β ξ             (Mufti remark 4, corrected)
//! ```
//!
//! Nonholonomic rows (rolling, knife edges) begin at the second line: ξ̇ = J v − c, and their ξ stays zero.
//!
//! A row of a cut joint is a pair of opposite unit wrenches; its entry for a freedom is the power of that pair along the
//! freedom's twist. Only freedoms on the loop have entries: those of the path from each body to where the two paths meet.
//!
//! | symbol | in code | meaning |
//! |---|---|---|
//! | ξ, ξ̇, bias | `residual`, `rate`, `bias` | per row |
//! | J | `values`, by [`Block`] | rows of one constraint, entries of its own columns |
//! | (n; f) | `wrench` | load on the child per unit multiplier, world axes, at `point`; the parent gets the opposite |

use super::contact_rows::{Round, contact, knife_edge};
pub use super::joint_rows::Axes;
use super::joint_rows::{MovingFrame, Relative, Row};
use crate::algorithm::kinematics::Kinematics;
use crate::card::Card;
use crate::matrix::Matrix;
use crate::model::{Closure, JointKind, Model, Rule, Tree, contact_rows};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Force, Motion, Pose, Vec3};
use std::collections::BTreeSet;

/// Constraint rows.
pub const CARD: Card = Card {
    name: "Constraint rows",
    question: "Jacobian and bias of constraints",
    call: "Rows",
    file: "algorithm/constrained/rows.rs",
    order: "O(length of the loops)",
    source: "Mufti 1983, eqs. 42–49, 65–72, remarks 4 and 5, corrected",
};

/// Baumgarte's stabilisation ξ̈ + α ξ̇ + β ξ = 0; both zero for none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stabilisation {
    /// Damping of a violation, 1/s.
    pub alpha: f64,
    /// Stiffness of a violation, 1/s².
    pub beta: f64,
}

impl Stabilisation {
    /// Critical damping with a time constant: α = 2/T, β = 1/T².
    pub fn critical(time_constant: f64) -> Self {
        Stabilisation {
            alpha: 2.0 / time_constant,
            beta: 1.0 / (time_constant * time_constant),
        }
    }
}

/// The rows of one constraint.
#[derive(Clone, Debug)]
pub struct Block {
    /// First of its rows.
    pub first: usize,
    /// Number of its rows.
    pub rows: usize,
    /// Velocity coordinates in which it can have entries, ascending.
    pub columns: Vec<usize>,
    /// Where its entries start among the values.
    offset: usize,
    /// Bodies that have the columns' freedoms, and all their ancestors, ascending.
    pub support: Vec<usize>,
    /// Bodies of the loop: +1 on the child's side, −1 on the parent's, 0 for common ancestors.
    path: Vec<(usize, i8)>,
}

/// ξ, J and bias of all constraints of a model, in their order.
#[derive(Clone, Debug)]
pub struct Rows<S> {
    axes: Axes,
    blocks: Vec<Block>,
    values: Vec<S>,
    /// ξ per row.
    pub residual: Vec<S>,
    /// ξ̇ per row.
    pub rate: Vec<S>,
    /// ξ̈ at v̇ = 0, per row.
    pub bias: Vec<S>,
    /// Load on the child per unit multiplier, in world axes about the block's `point`; zero for rows of coordinates.
    pub wrench: Vec<Force<S>>,
    /// Origin of the child's frame in the world, or the contact point, per block.
    pub point: Vec<Vec3<S>>,
    /// Vector from the point where the opposite force acts on the parent to `point`: zero unless an open loop has rows in world axes.
    gap: Vec<Vec3<S>>,
}

impl<S: Scalar> Rows<S> {
    /// A workspace for the rows of this model.
    pub fn new<P>(model: &Model<P>, axes: Axes) -> Self {
        Rows::with_more(model, axes, &[], &[])
    }

    /// A workspace with an additional row for each of these freedoms, which prescribes the acceleration −bias; the caller sets the bias.
    pub fn driving<P>(model: &Model<P>, axes: Axes, freedoms: &[usize]) -> Self {
        Rows::with_more(model, axes, &[], freedoms)
    }

    /// A workspace with additional dense blocks of the given numbers of rows, filled by the caller, and a row for each
    /// held freedom: ξ, ξ̇ and bias of these stay zero.
    pub(crate) fn with_more<P>(
        model: &Model<P>,
        axes: Axes,
        more: &[usize],
        held: &[usize],
    ) -> Self {
        let tree = model.tree();
        let mut blocks: Vec<Block> = Vec::new();
        let (mut first, mut offset) = (0, 0);
        let mut push = |rows: usize, path: Vec<(usize, i8)>, mut columns: Vec<usize>| {
            columns.sort_unstable();
            let size = rows * columns.len();
            blocks.push(Block {
                support: support(tree, &columns),
                first,
                rows,
                columns,
                offset,
                path,
            });
            first += rows;
            offset += size;
        };
        for constraint in model.constraints() {
            match (&constraint.rule, constraint.closure()) {
                (rule, Some(closure)) => {
                    let below =
                        axes == Axes::World && matches!(rule, Rule::Joint(_)) && has_point(closure);
                    let path = loop_path(tree, closure, below);
                    let columns = path.iter().flat_map(|&(i, _)| tree.dof_range(i)).collect();
                    push(constraint.rows(), path, columns);
                }
                (Rule::Coupling { terms, .. }, _) => {
                    push(1, Vec::new(), terms.iter().map(|(k, _)| k.v).collect());
                }
                (Rule::Driver { coordinate, .. }, _) => push(1, Vec::new(), vec![coordinate.v]),
                (Rule::Velocity { terms, .. }, _) => {
                    push(1, Vec::new(), terms.iter().map(|&(k, _)| k).collect());
                }
                _ => {}
            }
        }
        for &rows in more {
            push(rows, Vec::new(), (0..model.nv()).collect());
        }
        for &k in held {
            push(1, Vec::new(), vec![k]);
        }
        let points = blocks.len();
        let mut values = vec![S::zero(); offset];
        values[offset - held.len()..].fill(S::one());
        Rows {
            axes,
            blocks,
            values,
            residual: vec![S::zero(); first],
            rate: vec![S::zero(); first],
            bias: vec![S::zero(); first],
            wrench: vec![Force::zero(); first],
            point: vec![Vec3::zero(); points],
            gap: vec![Vec3::zero(); points],
        }
    }

    /// These rows in another scalar.
    pub(crate) fn map<T: Scalar>(&self, to: impl Fn(S) -> T) -> Rows<T> {
        let list = |list: &[S]| list.iter().map(|x| to(*x)).collect();
        let force = |f: &Force<S>| Force::new(f.moment.map(&to), f.force.map(&to));
        Rows {
            axes: self.axes,
            blocks: self.blocks.clone(),
            values: list(&self.values),
            residual: list(&self.residual),
            rate: list(&self.rate),
            bias: list(&self.bias),
            wrench: self.wrench.iter().map(force).collect(),
            point: self.point.iter().map(|x| x.map(&to)).collect(),
            gap: self.gap.iter().map(|x| x.map(&to)).collect(),
        }
    }

    /// Number of rows m.
    pub fn count(&self) -> usize {
        self.residual.len()
    }

    /// The constraints, in the model's order; user constraints last.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Row k of a constraint: one entry for each of the block's columns.
    #[inline]
    pub fn row(&self, block: &Block, k: usize) -> &[S] {
        let width = block.columns.len();
        let start = block.offset + k * width;
        &self.values[start..start + width]
    }

    /// Entries of a block, row after row.
    pub(crate) fn entries(&self, block: usize) -> &[S] {
        let block = &self.blocks[block];
        &self.values[block.offset..block.offset + block.rows * block.columns.len()]
    }

    /// Entries of the last blocks, for the caller to fill.
    pub(crate) fn entries_mut(&mut self, block: usize) -> &mut [S] {
        let Block {
            rows,
            offset,
            ref columns,
            ..
        } = self.blocks[block];
        &mut self.values[offset..offset + rows * columns.len()]
    }

    /// J as a dense matrix.
    pub fn dense(&self, nv: usize) -> Matrix<S> {
        let mut dense = Matrix::zeros(self.count(), nv);
        for block in &self.blocks {
            for k in 0..block.rows {
                for (&column, &x) in block.columns.iter().zip(self.row(block, k)) {
                    dense[(block.first + k, column)] = x;
                }
            }
        }
        dense
    }

    /// out = J x.
    pub fn times(&self, x: &[S], out: &mut [S]) {
        for block in &self.blocks {
            for k in 0..block.rows {
                let mut sum = S::zero();
                for (&column, &entry) in block.columns.iter().zip(self.row(block, k)) {
                    sum = entry.mul_add(x[column], sum);
                }
                out[block.first + k] = sum;
            }
        }
    }

    /// out += Jᵀ λ.
    pub fn add_transpose_times(&self, lambda: &[S], out: &mut [S]) {
        for block in &self.blocks {
            for k in 0..block.rows {
                let factor = lambda[block.first + k];
                for (&column, &entry) in block.columns.iter().zip(self.row(block, k)) {
                    out[column] = entry.mul_add(factor, out[column]);
                }
            }
        }
    }

    /// Load on the child of a constraint under these multipliers, in world axes about the block's `point`.
    pub fn load(&self, block: usize, lambda: &[S]) -> Force<S> {
        let Block { first, rows, .. } = self.blocks[block];
        let mut load = Force::zero();
        for k in first..first + rows {
            load = load.add_scaled(self.wrench[k], lambda[k]);
        }
        load
    }

    /// Vector from the point where the opposite of a constraint's force acts on the parent to its `point`: zero unless an open
    /// loop has rows in world axes.
    pub fn gap(&self, block: usize) -> Vec3<S> {
        self.gap[block]
    }

    /// Adds the loads of the multipliers to wrenches on the bodies, which are in body axes about the bodies' origins. Rows of
    /// coordinates, which are not wrenches, do not appear here.
    pub fn add_wrenches<P>(
        &self,
        model: &Model<P>,
        kinematics: &Kinematics<S>,
        lambda: &[S],
        wrenches: &mut [Force<S>],
    ) {
        for (index, constraint) in model.constraints().iter().enumerate() {
            let Some([parent, child]) = constraint.bodies() else {
                continue;
            };
            let load = self.load(index, lambda);
            let moved = self.gap[index].cross_add(load.force, -load.moment);
            let opposite = Force::new(moved, -load.force);
            for (body, wrench) in [(child, load), (parent, opposite)] {
                let at = self.point[index] - kinematics.world_from_body[body].translation;
                let moment = at.cross_add(wrench.force, wrench.moment);
                let r = kinematics.world_from_body[body].rotation;
                wrenches[body] +=
                    Force::new(r.transpose_times(moment), r.transpose_times(wrench.force));
            }
        }
    }

    /// b of J v̇ = b, row by row.
    pub fn right_side(&self, stabilisation: Stabilisation, b: &mut [S]) {
        let (alpha, beta) = (
            S::constant(stabilisation.alpha),
            S::constant(stabilisation.beta),
        );
        for (k, b) in b.iter_mut().enumerate() {
            *b = -self.bias[k] - alpha * self.rate[k] - beta * self.residual[k];
        }
    }

    /// Evaluates every constraint of the model. `kinematics` must be that of (q, v) with v̇ = 0; other blocks are left unchanged.
    pub fn evaluate<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        time: S,
        q: &[S],
        v: &[S],
        kinematics: &Kinematics<S>,
    ) {
        for (index, constraint) in model.constraints().iter().enumerate() {
            if let Some(closure) = constraint.closure() {
                self.between(model, index, &constraint.rule, closure, kinematics);
                continue;
            }
            match &constraint.rule {
                Rule::Coupling { terms, offset } => {
                    let Block {
                        first, offset: at, ..
                    } = self.blocks[index];
                    let (mut residual, mut rate) = (-offset.lift(), S::zero());
                    for &(coordinate, c) in terms {
                        let c: S = c.lift();
                        residual = c.mul_add(q[coordinate.q], residual);
                        rate = c.mul_add(v[coordinate.v], rate);
                        let columns = &self.blocks[index].columns;
                        if let Ok(k) = columns.binary_search(&coordinate.v) {
                            self.values[at + k] = c;
                        }
                    }
                    self.residual[first] = residual;
                    self.rate[first] = rate;
                    self.bias[first] = S::zero();
                }
                Rule::Driver { coordinate, law } => {
                    let Block { first, offset, .. } = self.blocks[index];
                    let [s, s_rate, s_second] = law.at(time);
                    self.values[offset] = S::one();
                    self.residual[first] = q[coordinate.q] - s;
                    self.rate[first] = v[coordinate.v] - s_rate;
                    self.bias[first] = -s_second;
                }
                Rule::Velocity { terms, rate } => {
                    let Block { first, offset, .. } = self.blocks[index];
                    let mut sum = -rate.lift();
                    for &(freedom, c) in terms {
                        let c: S = c.lift();
                        sum = c.mul_add(v[freedom], sum);
                        let columns = &self.blocks[index].columns;
                        if let Ok(k) = columns.binary_search(&freedom) {
                            self.values[offset + k] = c;
                        }
                    }
                    self.rate[first] = sum;
                }
                _ => {}
            }
        }
    }

    /// Rows of a constraint that joins bodies.
    fn between<P: Parameter<S>>(
        &mut self,
        model: &Model<P>,
        index: usize,
        rule: &Rule<P>,
        closure: &Closure<P>,
        kinematics: &Kinematics<S>,
    ) {
        let tree = model.tree();
        let [parent_from_joint, child_from_joint] = closure.frames();
        let a = moving_frame(kinematics, closure.parent, parent_from_joint);
        let b = moving_frame(kinematics, closure.child, child_from_joint);
        let (rows, count, at) = rows_between(rule, closure, &a, &b, self.axes);
        self.point[index] = at;
        if self.axes == Axes::World && matches!(rule, Rule::Joint(_)) && has_point(closure) {
            self.gap[index] = at - a.pose.translation;
        }
        let block = &self.blocks[index];
        let (first, offset, width) = (block.first, block.offset, block.columns.len());
        for (k, row) in rows[..count].iter().enumerate() {
            self.residual[first + k] = row.residual;
            self.rate[first + k] = row.rate;
            self.bias[first + k] = row.bias;
            self.wrench[first + k] = row.on_child;
        }
        for &(body, side) in &block.path {
            let info = tree.nodes[body];
            let pose = kinematics.world_from_body[body];
            let column = block.columns.partition_point(|&c| c < info.v);
            let joint = model.joint_at(body, &kinematics.angles, &kinematics.pose[body]);
            for j in 0..info.kind.nv() {
                let own = joint.column(j);
                let angular = pose.rotation * own.angular;
                let linear = angular.cross_add(at - pose.translation, pose.rotation * own.linear);
                let twist = Motion::new(angular, linear);
                for (k, row) in rows[..count].iter().enumerate() {
                    let wrench = match side {
                        1 => row.on_child,
                        -1 => row.on_parent,
                        _ => row.on_child + row.on_parent,
                    };
                    self.values[offset + k * width + column + j] = wrench.dot(twist);
                }
            }
        }
    }
}

/// Rows of a constraint between two frames, their number, and the point about which their wrenches are.
pub(crate) fn rows_between<S: Scalar, P: Parameter<S>>(
    rule: &Rule<P>,
    closure: &Closure<P>,
    a: &MovingFrame<S>,
    b: &MovingFrame<S>,
    axes: Axes,
) -> ([Row<S>; 6], usize, Vec3<S>) {
    let mut rows = [Row::zero(); 6];
    let centre = b.pose.translation;
    match rule {
        Rule::Distance { length, .. } => {
            rows[0] = Relative::new(a, b).distance(length.lift());
            (rows, 1, centre)
        }
        &Rule::Contact {
            surface,
            wheel,
            radius,
            rolls,
            ..
        } => {
            let round = match wheel {
                true => Round::Wheel(radius.lift()),
                false => Round::Sphere(radius.lift()),
            };
            let (found, at) = contact(a, b, surface.map(&|x: P| x.lift()), round);
            rows[..3].copy_from_slice(&found);
            (rows, contact_rows(&surface, wheel, rolls), at)
        }
        Rule::KnifeEdge { .. } => {
            rows[0] = knife_edge(a, b);
            (rows, 1, centre)
        }
        _ => {
            let relative = Relative::new(a, b);
            let count = relative.joint(closure.kind, closure.pitch.lift(), axes, &mut rows);
            (rows, count, centre)
        }
    }
}

/// The bodies whose freedoms these are, and all their ancestors.
fn support(tree: &Tree, columns: &[usize]) -> Vec<usize> {
    // a set of the bodies found: marks on all bodies would cost O(n) per loop, and there may be as many loops as bodies
    let mut on = BTreeSet::new();
    for &k in columns {
        for body in tree.path_to_ground(tree.dofs[k].body) {
            if !on.insert(body) {
                break;
            }
        }
    }
    on.into_iter().filter(|&body| body > 0).collect()
}

/// Does the joint have the three rows of a point on a point?
fn has_point<P>(closure: &Closure<P>) -> bool {
    matches!(
        closure.kind,
        JointKind::Revolute
            | JointKind::Continuous
            | JointKind::Universal
            | JointKind::Spherical
            | JointKind::Fixed
    )
}

/// The bodies on the loop; also the common ancestors, if requested.
fn loop_path<P>(tree: &Tree, closure: &Closure<P>, below: bool) -> Vec<(usize, i8)> {
    let parents: Vec<usize> = tree.path_to_ground(closure.parent).collect();
    let children: Vec<usize> = tree.path_to_ground(closure.child).collect();
    let shared = parents
        .iter()
        .rev()
        .zip(children.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let own = |path: &[usize], side: i8| -> Vec<(usize, i8)> {
        path[..path.len() - shared]
            .iter()
            .map(|&i| (i, side))
            .collect()
    };
    let mut path = own(&children, 1);
    path.extend(own(&parents, -1));
    if below {
        path.extend(parents[parents.len() - shared..].iter().map(|&i| (i, 0)));
    }
    path.sort_unstable();
    path
}

/// A frame fixed in a body, in world axes.
fn moving_frame<S: Scalar>(
    kinematics: &Kinematics<S>,
    body: usize,
    body_from_frame: Pose<S>,
) -> MovingFrame<S> {
    let pose = kinematics.world_from_body[body];
    let (v, a) = (kinematics.velocity[body], kinematics.acceleration[body]);
    let at = body_from_frame.translation;
    let turning = v.angular.cross(at);
    MovingFrame {
        pose: pose * body_from_frame,
        omega: pose.rotation * v.angular,
        velocity: pose.rotation * (v.linear + turning),
        omega_rate: pose.rotation * a.angular,
        acceleration: pose.rotation
            * (a.angular.cross_add(at, a.linear) + v.angular.cross(turning)),
    }
}
