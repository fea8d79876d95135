//! From a body to its parent in elementary steps: a rotation in one plane, or a shift along one axis, at a time.
//!
//! With frames along common normals a revolute joint is Rz(θ), a shift d along z, Rx(α), a shift a along x. A rotation of a matrix takes four
//! products in its own plane instead of nine,
//!
//! ```text
//! t = cos (p − u) − sin (q + r)
//! [p q; r u]' = [u + t cos,  q + t sin;  r + t sin,  p − t cos]                              (1)
//! ```
//!
//! and three where the angle is a number. For angles up to 45° then
//!
//! ```text
//! y = sin cos (p − u) − sin² (q + r),   x = tan (y + q + r)
//! [p q; r u]' = [p − x,  q + y;  r + y,  u + x]                                              (2)
//! ```
//!
//! which keeps small entries next to large ones accurate; larger angles are rotated by a right angle first.

use crate::Expr;
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::model::JointKind;
use catena::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, RigidInertia, Sym3, Vec3};
use catena::{Base, Model, Scalar, StateView};

/// One step from a body to its parent.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// A rotation in the plane of the two axes after this one: 2 is about z, 0 about x.
    Turn { axis: usize, sin: Expr, cos: Expr },
    /// A constant rotation.
    Rotate(Mat3<Expr>),
    /// A change of origin.
    Shift(Vec3<Expr>),
}

fn plane(axis: usize) -> (usize, usize) {
    ((axis + 1) % 3, (axis + 2) % 3)
}

fn turn_vector(v: Vec3<Expr>, axis: usize, sin: Expr, cos: Expr) -> Vec3<Expr> {
    let (i, j) = plane(axis);
    let mut x = v.to_array();
    (x[i], x[j]) = (cos * x[i] - sin * x[j], sin * x[i] + cos * x[j]);
    Vec3::from_array(x)
}

/// Rows and columns rotated: (1) or (2) in the plane, two vectors outside it.
fn turn_matrix(m: Mat3<Expr>, axis: usize, sin: Expr, cos: Expr) -> Mat3<Expr> {
    let (i, j) = plane(axis);
    let mut x = m.rows();
    let block = [x[i][i], x[i][j], x[j][i], x[j][j]];
    let turned = match (sin.value(), cos.value()) {
        (Some(s), Some(c)) if c.abs() >= s.abs() => turn_little(block, s, c),
        (Some(s), Some(c)) => {
            let [p, q, r, u] = turn_little(block, -c, s);
            [u, -r, -q, p]
        }
        _ => {
            let [p, q, r, u] = block;
            // twice the sine serves all symmetric matrices
            let t = match q == r {
                true => cos * (p - u) - (sin + sin) * q,
                false => cos * (p - u) - sin * (q + r),
            };
            let (tc, ts) = (t * cos, t * sin);
            [u + tc, q + ts, r + ts, p - tc]
        }
    };
    [x[i][i], x[i][j], x[j][i], x[j][j]] = turned;
    let k = axis;
    (x[i][k], x[j][k]) = (cos * x[i][k] - sin * x[j][k], sin * x[i][k] + cos * x[j][k]);
    (x[k][i], x[k][j]) = (cos * x[k][i] - sin * x[k][j], sin * x[k][i] + cos * x[k][j]);
    Mat3::from_rows(x)
}

/// (2).
fn turn_little([p, q, r, u]: [Expr; 4], sin: f64, cos: f64) -> [Expr; 4] {
    let k = Expr::constant;
    let across = k(sin * cos) * (p - u);
    let (above, below) = match q == r {
        true => {
            let both = across + k(1.0 - 2.0 * sin * sin) * q;
            (both, both)
        }
        false => {
            let y = across - k(sin * sin) * (q + r);
            (q + y, r + y)
        }
    };
    let x = k(sin / cos) * (above + r);
    [p - x, above, below, u + x]
}

fn turn_symmetric(s: Sym3<Expr>, axis: usize, sin: Expr, cos: Expr) -> Sym3<Expr> {
    Sym3::from_upper(turn_matrix(s.full(), axis, sin, cos))
}

/// [`ArticulatedInertia::shifted`], along one axis with every length factored out: nothing remains to be collected later.
fn shift(m: ArticulatedInertia<Expr>, arm: Vec3<Expr>) -> ArticulatedInertia<Expr> {
    let arms = arm.to_array();
    let along: Vec<usize> = (0..3).filter(|&k| !arms[k].is_zero()).collect();
    let [k] = along[..] else {
        return m.shifted(arm);
    };
    let ((i, j), length) = (plane(k), arms[k]);
    let (mut a, b) = (m.rotational.full().rows(), m.coupling.rows());
    let (c, mut new) = (m.translational.full().rows(), b);
    for column in 0..3 {
        new[i][column] -= length * c[j][column];
        new[j][column] += length * c[i][column];
    }
    a[i][i] -= length * (b[i][j] + new[i][j]);
    a[j][j] += length * (b[j][i] + new[j][i]);
    for (x, y, sum) in [
        (i, j, new[i][i] - b[j][j]),
        (k, i, -b[k][j]),
        (k, j, b[k][i]),
    ] {
        a[x][y] += length * sum;
        a[y][x] = a[x][y];
    }
    ArticulatedInertia {
        rotational: Sym3::from_upper(Mat3::from_rows(a)),
        coupling: Mat3::from_rows(new),
        translational: m.translational,
    }
}

impl Step {
    pub fn inertia(self, m: ArticulatedInertia<Expr>) -> ArticulatedInertia<Expr> {
        match self {
            Step::Turn { axis, sin, cos } => ArticulatedInertia {
                rotational: turn_symmetric(m.rotational, axis, sin, cos),
                coupling: turn_matrix(m.coupling, axis, sin, cos),
                translational: turn_symmetric(m.translational, axis, sin, cos),
            },
            Step::Rotate(rotation) => m.turned(rotation),
            Step::Shift(arm) => shift(m, arm),
        }
    }

    pub fn rigid(self, m: RigidInertia<Expr>) -> RigidInertia<Expr> {
        match self {
            Step::Turn { axis, sin, cos } => RigidInertia {
                mass: m.mass,
                first: turn_vector(m.first, axis, sin, cos),
                second: turn_symmetric(m.second, axis, sin, cos),
            },
            Step::Rotate(rotation) => m.turned(rotation),
            Step::Shift(arm) => m.shifted(arm),
        }
    }

    pub fn force(self, f: Force<Expr>) -> Force<Expr> {
        match self {
            Step::Turn { axis, sin, cos } => Force::new(
                turn_vector(f.moment, axis, sin, cos),
                turn_vector(f.force, axis, sin, cos),
            ),
            Step::Rotate(rotation) => Force::new(rotation * f.moment, rotation * f.force),
            Step::Shift(arm) => Force::new(f.moment + arm.cross(f.force), f.force),
        }
    }

    /// A vector, from the parent to the body: shifts do not affect it.
    pub fn vector_in(self, v: Vec3<Expr>) -> Vec3<Expr> {
        match self {
            Step::Turn { axis, sin, cos } => turn_vector(v, axis, -sin, cos),
            Step::Rotate(rotation) => rotation.transpose_times(v),
            Step::Shift(_) => v,
        }
    }

    /// A motion, from the parent to the body; shifts are for twists and their rates.
    pub fn motion_in(self, m: Motion<Expr>) -> Motion<Expr> {
        match self {
            Step::Shift(arm) => Motion::new(m.angular, m.linear + m.angular.cross(arm)),
            _ => Motion::new(self.vector_in(m.angular), self.vector_in(m.linear)),
        }
    }
}

/// The steps of a constant rotation and a translation, in the axes of the parent: along the common normal where there is one.
pub(super) fn placed(place: Pose<Expr>) -> Vec<Step> {
    let (r, t) = (place.rotation, place.translation);
    let about_x = [r.x.x, r.x.y, r.x.z].map(Expr::value) == [Some(1.0), Some(0.0), Some(0.0)];
    if !about_x {
        return vec![Step::Rotate(r), Step::Shift(t)];
    }
    let (sin, cos) = (r.y.z, r.y.y);
    let numbers = [sin, cos, t.y, t.z].map(Expr::value);
    let turn = Step::Turn { axis: 0, sin, cos };
    if let [Some(s), Some(c), Some(y), Some(z)] = numbers {
        // t = a e_x + R (0, 0, d)
        let d = c * z - s * y;
        let dust = 1e-14 * (y.abs() + z.abs());
        if (y + s * d).abs() <= dust && (z - c * d).abs() <= dust {
            let zero = Expr::zero();
            return vec![
                Step::Shift(Vec3::new(zero, zero, Expr::constant(d))),
                turn,
                Step::Shift(Vec3::new(t.x, zero, zero)),
            ];
        }
    }
    vec![turn, Step::Shift(t)]
}

/// A joint: its inner steps, and the steps to the parent.
pub(super) struct Way {
    pub inner: Vec<Step>,
    pub outer: Vec<Step>,
    /// Whether the joint's own motion is e_z q̇, about z, which the inner steps leave unchanged.
    pub turning: bool,
}

impl Way {
    /// A motion, from the parent to the body.
    pub fn motion_in(&self, mut motion: Motion<Expr>) -> Motion<Expr> {
        for step in self.steps().rev() {
            motion = step.motion_in(motion);
        }
        motion
    }

    /// All steps, from the body to the parent.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.inner.iter().chain(&self.outer)
    }
}

/// The steps of all bodies, the first of the base, and the kinematics of the model at rest.
pub(super) fn ways(model: &Model<Expr>, q: &[Expr]) -> (Vec<Way>, Kinematics<Expr>) {
    let (n, tree) = (model.body_count(), model.tree());
    let at_rest = |q: &[Expr]| {
        let (rest, base) = (vec![Expr::zero(); model.nv()], Base::fixed());
        let (v, mut kinematics) = (&rest[..], Kinematics::new(model));
        forward_kinematics(model, StateView { q, v, base: &base }, v, &mut kinematics);
        kinematics
    };
    let kinematics = at_rest(q);
    // where coordinates are zero, the pose of a revolute joint is its placement
    let home = at_rest(&vec![Expr::zero(); model.nq()]);
    let mut ways = vec![Way {
        inner: Vec::new(),
        outer: Vec::new(),
        turning: false,
    }];
    for i in 1..=n {
        let body = &tree.bodies[i];
        ways.push(match body.kind {
            JointKind::Revolute | JointKind::Continuous => {
                let (sin, cos) = q[body.q].sin_cos();
                Way {
                    inner: vec![Step::Turn { axis: 2, sin, cos }],
                    outer: placed(home.parent_from_body(i)),
                    turning: true,
                }
            }
            _ => {
                let pose = kinematics.parent_from_body(i);
                Way {
                    inner: Vec::new(),
                    outer: vec![Step::Rotate(pose.rotation), Step::Shift(pose.translation)],
                    turning: false,
                }
            }
        });
    }
    (ways, kinematics)
}
