//! Rows of cut joints and of other constraints, on the bodies and joint coordinates themselves.
//!
//! ξ, ξ̇ and the pair of opposite wrenches of each row are those of `constrained/joint_rows.rs`, evaluated at the poses and
//! velocities that the unknowns give the two bodies. Couplings and drivers act on coordinates of joints.

use crate::algorithm::constrained::{Axes, MovingFrame, rows_between};
use crate::model::{Closure, Constraint, Rule};
use crate::scalar::{Dual, Parameter, Scalar};
use crate::spatial::{Force, Mat3, Motion, Pose, Vec3};

/// What a row acts on.
pub(super) enum Side<'a, S> {
    /// On the parent and the child: moments in the body's axes about its origin, forces in world axes.
    Bodies([usize; 2], [[Force<S>; 2]; 6]),
    /// On velocity coordinates, with these coefficients.
    Coordinates(&'a [(crate::model::Coordinate, f64)]),
    /// On one velocity coordinate.
    Coordinate(usize),
}

/// One constraint at an instant.
pub(super) struct Cut<'a, S> {
    pub count: usize,
    /// ξ and ξ̇.
    pub residual: [S; 6],
    pub rate: [S; 6],
    pub side: Side<'a, S>,
}

impl<'a, S: Scalar> Cut<'a, S> {
    /// Rows at these poses and velocities (ω in body axes, V in world axes) of all bodies, and these coordinates.
    pub fn evaluate(
        constraint: &'a Constraint<f64>,
        time: S,
        pose: &[Pose<S>],
        velocity: &[Motion<S>],
        q: &[S],
        v: &[S],
    ) -> Self {
        let mut residual = [S::zero(); 6];
        let mut rate = [S::zero(); 6];
        if let Some(closure) = constraint.closure() {
            let (a, b) = (closure.parent, closure.child);
            let poses = [pose[a], pose[b]];
            return Cut::between(&constraint.rule, closure, poses, [velocity[a], velocity[b]]);
        }
        let (count, side) = match &constraint.rule {
            Rule::Coupling { terms, offset } => {
                residual[0] = -Parameter::<S>::lift(*offset);
                for &(coordinate, c) in terms {
                    let c: S = c.lift();
                    residual[0] += c * q[coordinate.q];
                    rate[0] += c * v[coordinate.v];
                }
                (1, Side::Coordinates(terms))
            }
            Rule::Driver { coordinate, law } => {
                let [s, s_rate, _] = law.at(time);
                residual[0] = q[coordinate.q] - s;
                rate[0] = v[coordinate.v] - s_rate;
                (1, Side::Coordinate(coordinate.v))
            }
            // nonholonomic rows are rejected earlier
            _ => (0, Side::Coordinate(0)),
        };
        Cut {
            count,
            residual,
            rate,
            side,
        }
    }

    /// Rows of a cut joint from poses and velocities of parent and child.
    pub fn between(
        rule: &Rule<f64>,
        closure: &Closure<f64>,
        pose: [Pose<S>; 2],
        velocity: [Motion<S>; 2],
    ) -> Self {
        let bodies = [closure.parent, closure.child];
        let [on_parent, on_child] = closure.frames();
        let a = frame(pose[0], velocity[0], on_parent);
        let b = frame(pose[1], velocity[1], on_child);
        let (rows, count, point) = rows_between(rule, closure, &a, &b, Axes::Parent);
        let mut cut = Cut {
            count,
            residual: [S::zero(); 6],
            rate: [S::zero(); 6],
            side: Side::Coordinate(0),
        };
        let mut wrenches = [[Force::zero(); 2]; 6];
        for (k, row) in rows[..count].iter().enumerate() {
            cut.residual[k] = row.residual;
            cut.rate[k] = row.rate;
            let world = [row.on_parent, row.on_child];
            for side in 0..2 {
                let own = pose[side];
                let at = point - own.translation;
                let moment = at.cross_add(world[side].force, world[side].moment);
                wrenches[k][side] =
                    Force::new(own.rotation.transpose_times(moment), world[side].force);
            }
        }
        cut.side = Side::Bodies(bodies, wrenches);
        cut
    }

    /// Adds −W λ of row k to the loads of the bodies, or c λ to the coordinates.
    pub fn add_loads(&self, k: usize, lambda: S, carried: &mut [Force<S>], efforts: &mut [S]) {
        match &self.side {
            Side::Bodies(bodies, wrenches) => {
                for side in 0..2 {
                    carried[bodies[side]] += wrenches[k][side] * -lambda;
                }
            }
            Side::Coordinates(terms) => {
                for &(coordinate, c) in *terms {
                    efforts[coordinate.v] += Parameter::<S>::lift(c) * lambda;
                }
            }
            Side::Coordinate(v) => efforts[*v] += lambda,
        }
    }
}

/// A frame on a body, from the unknowns.
fn frame<S: Scalar>(pose: Pose<S>, velocity: Motion<S>, on: Pose<S>) -> MovingFrame<S> {
    let omega = pose.rotation * velocity.angular;
    let arm = pose.rotation * on.translation;
    MovingFrame {
        pose: pose * on,
        omega,
        velocity: omega.cross_add(arm, velocity.linear),
        omega_rate: Vec3::zero(),
        acceleration: Vec3::zero(),
    }
}

/// Derivatives of the rows of a cut joint along δx = (δθ, δr) of parent and child.
pub(super) struct Slopes {
    /// ∂ξ̇/∂x per row and side.
    pub rate: [[[f64; 6]; 2]; 6],
    /// ∂W/∂x per row: of the wrench on a body along the same body's changes.
    pub wrench: [[[[f64; 6]; 6]; 2]; 6],
}

impl Slopes {
    /// Computes the derivatives by dual numbers with twelve directions.
    pub fn new(
        rule: &Rule<f64>,
        closure: &Closure<f64>,
        pose: &[Pose<f64>],
        velocity: &[Motion<f64>],
    ) -> Self {
        let bodies = [closure.parent, closure.child];
        let mut poses = [Pose::identity(); 2];
        let mut velocities = [Motion::zero(); 2];
        for side in 0..2 {
            poses[side] = moved(pose[bodies[side]], 6 * side);
            let Motion { angular, linear } = velocity[bodies[side]];
            velocities[side] = Motion::new(angular.lift(), linear.lift());
        }
        let cut = Cut::<Direction>::between(rule, closure, poses, velocities);
        let mut slopes = Slopes {
            rate: [[[0.0; 6]; 2]; 6],
            wrench: [[[[0.0; 6]; 6]; 2]; 6],
        };
        let Side::Bodies(_, wrenches) = &cut.side else {
            return slopes;
        };
        for k in 0..cut.count {
            for side in 0..2 {
                let own = 6 * side..6 * side + 6;
                slopes.rate[k][side].copy_from_slice(&cut.rate[k].derivative[own.clone()]);
                for (row, entry) in slopes.wrench[k][side]
                    .iter_mut()
                    .zip(wrenches[k][side].to_array())
                {
                    row.copy_from_slice(&entry.derivative[own.clone()]);
                }
            }
        }
        slopes
    }
}

type Direction = Dual<f64, 12>;

/// A pose with R [δθ]ₓ and δr as directions.
fn moved(pose: Pose<f64>, first: usize) -> Pose<Direction> {
    let along = |k: usize| Direction::variable(0.0, first + k);
    let turn = Mat3::identity() + Mat3::skew(Vec3::new(along(0), along(1), along(2)));
    let shift = Vec3::new(along(3), along(4), along(5));
    let still: Pose<Direction> = pose.lift();
    Pose::new(still.rotation * turn, still.translation + shift)
}
