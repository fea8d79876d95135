//! Hinges, their indeterminate loads, and joints with more freedoms that would suffice.
//!
//! ```text
//! N          H N = 0: loads in all hinges without effect on the motion; those of the constraints have Jᵀ N = 0, the tree balances them
//! weaker     a joint that permits a twist cannot carry the loads R that do work on it: N ← N · null(Rᵀ N)
//! the same motion   if Rᵀ N has full rank, every removed row was a dependent one
//! ```

use super::Added;
use crate::equations::Equations;
use crate::linear::{Mat, Svd};
use catena::Model;
use catena::algorithm::constrained::Rows;
use catena::algorithm::kinematics::Kinematics;
use catena::model::{JointKind, Rule};
use catena::residual::{largest, largest_of};
use catena::spatial::{Force, Mat3, Vec3};
use std::ops::Range;

/// A joint of the tree or a constraint.
pub(super) struct Hinge {
    pub name: String,
    pub kind: &'static str,
    pub closes: bool,
    /// The body that a joint of the tree carries, or the constraint's number.
    pub index: usize,
    /// Kinds of joints that include its freedoms, and the twists they add.
    pub weaker: Vec<(JointKind, &'static [Added])>,
    /// Whether it may be left out.
    pub removable: bool,
    /// Whether it acts between bodies. Multipliers of others are efforts.
    pub joins: bool,
}

const BALL: &[Added] = &[Added::Turn(0), Added::Turn(1), Added::Turn(2)];

/// Kinds of joints with more freedoms, and which: rotations about and translations along the axes of the joint frame on the parent.
fn weaker(kind: JointKind) -> Vec<(JointKind, &'static [Added])> {
    use Added::{Slide, Turn};
    match kind {
        JointKind::Revolute | JointKind::Continuous => vec![
            (JointKind::Spherical, BALL),
            (JointKind::Cylindrical, &[Slide(2)]),
            (JointKind::Universal, &[Turn(0)]),
        ],
        JointKind::Prismatic => vec![(JointKind::Cylindrical, &[Turn(2)])],
        JointKind::Helical => vec![(JointKind::Cylindrical, &[Turn(2), Slide(2)])],
        JointKind::Universal => vec![(JointKind::Spherical, BALL)],
        JointKind::Fixed => vec![
            (JointKind::Spherical, BALL),
            (JointKind::Planar, &[Slide(0), Slide(1), Turn(2)]),
            (JointKind::Cylindrical, &[Turn(2), Slide(2)]),
            (JointKind::Universal, &[Turn(0), Turn(2)]),
            (JointKind::Revolute, &[Turn(2)]),
            (JointKind::Prismatic, &[Slide(2)]),
        ],
        _ => Vec::new(),
    }
}

/// All joints of the tree, then all constraints.
pub(super) fn hinges(model: &Model) -> Vec<Hinge> {
    let mut hinges = Vec::new();
    // coordinates that are referred to elsewhere must remain
    let mut needed = vec![false; model.nv()];
    for constraint in model.constraints() {
        match &constraint.rule {
            Rule::Coupling { terms, .. } => terms.iter().for_each(|(k, _)| needed[k.v] = true),
            Rule::Driver { coordinate, .. } => needed[coordinate.v] = true,
            Rule::Velocity { terms, .. } => terms.iter().for_each(|&(k, _)| needed[k] = true),
            _ => {}
        }
    }
    for body in model.bodies() {
        let info = &model.tree().bodies[body];
        let plain = (info.v..info.v + info.kind.nv()).all(|k| {
            let dof = model.dof(k);
            let passive = [dof.armature, dof.damping, dof.friction, dof.stiffness];
            !needed[k] && passive.iter().all(|x| *x == 0.0)
        });
        let kinds = weaker(info.kind).into_iter();
        hinges.push(Hinge {
            name: info.joint.clone(),
            kind: info.kind.name(),
            closes: false,
            index: body,
            weaker: kinds
                .filter(|(kind, _)| plain || *kind != JointKind::Spherical)
                .collect(),
            removable: false,
            joins: true,
        });
    }
    for (index, constraint) in model.constraints().iter().enumerate() {
        let joint = match &constraint.rule {
            Rule::Joint(closure) => Some(closure.kind),
            _ => None,
        };
        hinges.push(Hinge {
            name: constraint.name.to_string(),
            kind: constraint.kind(),
            closes: true,
            index,
            weaker: joint.map(weaker).unwrap_or_default(),
            removable: !matches!(constraint.rule, Rule::Driver { .. }),
            joins: constraint.bodies().is_some(),
        });
    }
    hinges
}

/// The hinges at one position.
pub(super) struct View {
    /// Rows of every hinge.
    pub range: Vec<Range<usize>>,
    /// Load on the child per unit of each row, world axes.
    pub wrench: Vec<Force<f64>>,
    /// Axes of every hinge's frame on the parent, in the world.
    axes: Vec<Mat3<f64>>,
    /// Loads without effect on the motion, one column each.
    pub null: Null,
}

impl View {
    /// Computes them from the constraint loads without effect on the motion, with those of the tree that balance them.
    pub fn new(
        model: &Model,
        hinges: &[Hinge],
        equations: &Equations,
        rows: &Rows<f64>,
        kinematics: &Kinematics<f64>,
        null: &[Vec<f64>],
    ) -> Self {
        let tree_rows = equations.first_constraint_row();
        let mut wrench = equations.wrench.clone();
        wrench.extend_from_slice(&rows.wrench);
        let mut view = View {
            range: Vec::new(),
            wrench,
            axes: Vec::new(),
            null: Null {
                columns: Vec::new(),
                tolerance: 0.0,
            },
        };
        for hinge in hinges {
            let (range, parent, placement) = if hinge.closes {
                let block = &rows.blocks()[hinge.index];
                let first = tree_rows + block.first;
                let constraint = &model.constraints()[hinge.index];
                let (parent, placement) = match (&constraint.rule, constraint.closure()) {
                    (Rule::Joint(_) | Rule::Contact { .. }, Some(closure)) => {
                        (closure.parent, closure.parent_from_joint.rotation)
                    }
                    _ => (0, Mat3::identity()),
                };
                (first..first + block.rows, parent, placement)
            } else {
                let first = &equations.tree_first;
                let parent = model.tree().parent(hinge.index);
                let placement = model.placement(hinge.index).rotation;
                (
                    first[hinge.index]..first[hinge.index + 1],
                    parent,
                    placement,
                )
            };
            view.range.push(range);
            let rotation = kinematics.world_from_body[parent].rotation;
            view.axes.push(rotation * placement);
        }
        for column in null {
            let mut needed = vec![0.0; equations.unknowns()];
            for (k, lambda) in column.iter().enumerate() {
                if *lambda != 0.0 {
                    equations.rows[tree_rows + k].add_to(-lambda, &mut needed);
                }
            }
            let mut all = crate::null_space::from_the_leaves(equations, model, kinematics, &needed);
            all.truncate(tree_rows);
            all.extend_from_slice(column);
            view.null.columns.push(all);
        }
        let columns = view.null.columns.iter();
        view.null.tolerance = 1e-8 * largest_of(columns.map(|column| largest(column)));
        view
    }

    /// An axis of a hinge's frame, in the world.
    pub fn axis(&self, hinge: usize, k: usize) -> Vec3<f64> {
        [self.axes[hinge].x, self.axes[hinge].y, self.axes[hinge].z][k]
    }

    /// Combinations of a hinge's rows that do work on the twists a weaker joint adds, and which that joint therefore lacks.
    pub fn lost(&self, hinge: usize, added: &[Added]) -> Mat {
        let range = self.range[hinge].clone();
        let powers = Mat::from_fn(range.len(), added.len(), |row, column| {
            let wrench = self.wrench[range.start + row];
            match added[column] {
                Added::Turn(k) => wrench.moment.dot(self.axis(hinge, k)),
                Added::Slide(k) => wrench.force.dot(self.axis(hinge, k)),
            }
        });
        let qr = powers.pivoted_qr();
        let r = qr.r();
        let rank = (0..r.nrows())
            .take_while(|&k| r[(k, k)].abs() > 1e-9)
            .count();
        qr.thin_q().subcols(0, rank)
    }

    /// All rows of a hinge.
    pub fn whole(&self, hinge: usize) -> Mat {
        let rows = self.range[hinge].len();
        Mat::identity(rows)
    }

    /// Directions in world axes of the indeterminate forces and torques in a hinge.
    pub fn undetermined(&self, hinge: usize) -> [Vec<Vec3<f64>>; 2] {
        let range = self.range[hinge].clone();
        let directions = |part: fn(&Force<f64>) -> Vec3<f64>| {
            let of_rows = Mat::from_fn(range.len(), 3, |k, i| {
                part(&self.wrench[range.start + k]).to_array()[i]
            });
            let (_, seen) = self.null.seen(range.clone(), &of_rows);
            let Ok(Svd { u, values, .. }) = seen.svd() else {
                return Vec::new();
            };
            (0..values.len())
                .filter(|&k| values[k] > self.null.tolerance)
                .map(|k| Vec3::new(u[(0, k)], u[(1, k)], u[(2, k)]))
                .collect()
        };
        [directions(|w| w.force), directions(|w| w.moment)]
    }
}

/// Loads in all hinges without effect on the motion.
#[derive(Clone)]
pub(super) struct Null {
    pub columns: Vec<Vec<f64>>,
    /// Entries below this are round-off.
    pub tolerance: f64,
}

impl Null {
    /// Rᵀ N without its zero columns, and which they are; R has a row for each of the range.
    pub fn seen(&self, range: Range<usize>, directions: &Mat) -> (Vec<usize>, Mat) {
        let mut active = Vec::new();
        let mut values = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let own = &column[range.clone()];
            if own.iter().all(|x| *x == 0.0) {
                continue;
            }
            let mut some = false;
            for k in 0..directions.ncols() {
                let mut sum = 0.0;
                for (i, x) in own.iter().enumerate() {
                    sum += directions[(i, k)] * x;
                }
                some |= sum.abs() > 1e-6 * self.tolerance;
                values.push(sum);
            }
            if some {
                active.push(index);
            } else {
                values.truncate(values.len() - directions.ncols());
            }
        }
        let height = directions.ncols();
        let seen = Mat::from_fn(height, active.len(), |i, j| values[j * height + i]);
        (active, seen)
    }

    /// Can all these directions be removed without losing any load that affects the motion?
    pub fn can_lose(&self, range: Range<usize>, directions: &Mat) -> bool {
        let (active, seen) = self.seen(range, directions);
        if active.len() < directions.ncols() {
            return false;
        }
        let qr = seen.transpose().pivoted_qr();
        let r = qr.r();
        (0..directions.ncols()).all(|k| r[(k, k)].abs() > self.tolerance)
    }

    /// Removes them: the remaining loads have no entries there.
    pub fn lose(&mut self, range: Range<usize>, directions: &Mat) {
        let (active, seen) = self.seen(range, directions);
        let q = seen.transpose().qr().q();
        let (lost, height) = (directions.ncols(), self.columns[active[0]].len());
        let mut left = Vec::new();
        for j in lost..active.len() {
            let mut column = vec![0.0; height];
            for (k, &old) in active.iter().enumerate() {
                let factor = q[(k, j)];
                if factor != 0.0 {
                    for (to, from) in column.iter_mut().zip(&self.columns[old]) {
                        *to += factor * from;
                    }
                }
            }
            left.push(column);
        }
        for (k, &old) in active.iter().enumerate().rev() {
            match left.get_mut(k) {
                Some(column) => self.columns[old] = std::mem::take(column),
                None => drop(self.columns.swap_remove(old)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::{ConstraintSpec, Dof, Law, RuleSpec, embedded};

    /// Which kinds may replace a joint: a spherical joint has a quaternion, so a coordinate that is referred to, or on which something acts, must
    /// stay.
    #[test]
    fn coordinates_that_are_needed_stay() {
        let of = |dof: Dof, rule: Option<RuleSpec>| {
            let mut builder = embedded::builder("four-bar-1").expect("embedded");
            builder.joints[0].dofs = vec![dof];
            assert_eq!(builder.joints[0].name, "foot0");
            if let Some(rule) = rule {
                builder.constraint(ConstraintSpec::new("further", rule));
            }
            let model = builder
                .build()
                .expect("sound")
                .with_couplings_as_constraints();
            hinges(&model)
        };
        let kinds = |hinge: &Hinge| -> Vec<JointKind> {
            hinge.weaker.iter().map(|(kind, _)| *kind).collect()
        };
        let all = [
            JointKind::Spherical,
            JointKind::Cylindrical,
            JointKind::Universal,
        ];
        let plain = of(Dof::default(), None);
        assert_eq!(plain.len(), 4);
        for hinge in &plain {
            assert_eq!(kinds(hinge), all);
            assert_eq!((hinge.removable, hinge.joins), (hinge.closes, true));
        }
        let with = |change: fn(&mut Dof)| {
            let mut dof = Dof::default();
            change(&mut dof);
            of(dof, None)
        };
        for found in [
            with(|dof| dof.armature = 0.1),
            with(|dof| dof.damping = 0.1),
            with(|dof| dof.friction = 0.1),
            with(|dof| dof.stiffness = 0.1),
        ] {
            assert_eq!(kinds(&found[0]), all[1..]);
            assert_eq!(kinds(&found[1]), all);
        }
        let coordinate = || String::from("foot0");
        for (rule, removable) in [
            (
                RuleSpec::Driver {
                    coordinate: coordinate(),
                    law: Law::Polynomial(vec![1.2]),
                },
                false,
            ),
            (
                RuleSpec::Coupling {
                    terms: vec![(coordinate(), 1.0)],
                    offset: 0.5,
                },
                true,
            ),
            (
                RuleSpec::Velocity {
                    terms: vec![(coordinate(), 1.0)],
                    rate: 0.5,
                },
                true,
            ),
        ] {
            let found = of(Dof::default(), Some(rule));
            assert_eq!(kinds(&found[0]), all[1..]);
            assert!(found[1..4].iter().all(|hinge| kinds(hinge) == all));
            let last = &found[4];
            assert_eq!(
                (last.removable, last.joins, last.closes),
                (removable, false, true)
            );
            assert!(last.weaker.is_empty() && last.index == 1);
        }
    }

    /// Loads e₁ + e₂, e₂ and e₃ in four rows: their entries in rows 1 and 2 can be removed; row 4 has none.
    #[test]
    fn loads_without_effect_are_lost() {
        let null = Null {
            columns: vec![
                vec![1.0, 1.0, 0.0, 0.0],
                vec![0.0, 1.0, 0.0, 0.0],
                vec![0.0, 0.0, 1.0, 0.0],
            ],
            tolerance: 1e-8,
        };
        let unit =
            |height: usize, k: usize| Mat::from_fn(height, 1, |i, _| f64::from(u8::from(i == k)));
        let (active, seen) = null.seen(0..2, &unit(2, 0));
        assert_eq!(active, [0]);
        assert_eq!((seen.nrows(), seen.ncols(), seen[(0, 0)]), (1, 1, 1.0));
        let (active, seen) = null.seen(0..2, &Mat::identity(2));
        assert_eq!(active, [0, 1]);
        assert_eq!(
            seen,
            Mat::from_fn(2, 2, |i, j| f64::from(u8::from(j == 0 || i == 1)))
        );
        assert!(null.can_lose(0..2, &Mat::identity(2)));
        assert!(null.can_lose(2..3, &unit(1, 0)));
        assert!(!null.can_lose(3..4, &unit(1, 0)) && !null.can_lose(2..4, &Mat::identity(2)));
        // two equal directions
        assert!(!null.can_lose(0..2, &Mat::from_fn(2, 2, |_, _| 1.0)));
        let mut left = null.clone();
        left.lose(0..2, &Mat::from_fn(2, 1, |i, _| [0.6, 0.8][i]));
        assert_eq!(left.columns.len(), 2);
        for column in &left.columns {
            assert!((0.6 * column[0] + 0.8 * column[1]).abs() < 1e-15);
            assert_eq!(column[3], 0.0);
            assert!(largest(column) > 0.1);
        }
        left.lose(0..2, &unit(2, 0));
        assert_eq!(left.columns.len(), 1);
        let rest = &left.columns[0];
        assert!(rest[0].abs() < 1e-15 && rest[1].abs() < 1e-15 && rest[2].abs() > 0.99);
    }

    /// An entry just above the tolerance is a load, one just below it is round-off; a millionth of the tolerance counts as zero.
    #[test]
    fn loads_have_a_tolerance() {
        let with = |size: f64| Null {
            columns: vec![vec![size, 1.0]],
            tolerance: 1e-3,
        };
        let one = Mat::identity(1);
        let lost = [1.1e-3, 0.9e-3, 1e-3].map(|size| with(size).can_lose(0..1, &one));
        assert_eq!(lost, [true, false, false]);
        let seen = [1.1e-9, 0.9e-9, -1.1e-9].map(|size| with(size).seen(0..1, &one).0.len());
        assert_eq!(seen, [1, 0, 1]);
    }
}
