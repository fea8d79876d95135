//! The equations of motion of all bodies and all hinges, for any kinds of joints.
//!
//! ```text
//! J = diag(Iᵢ, mᵢ E) + Σ rotor · a aᵀ        about mass centres, world axes
//! u = (nᵢ − ωᵢ × Iᵢ ωᵢ ; fᵢ + mᵢ g) + Σ a (τ − passive + rotor · a·x₀)
//! H : a column is a pair of opposite unit wrenches on the two bodies of a hinge             (C; L̃), (C Q)
//! b = Hᵀ x₀ for hinges of the tree,   Hᵀ x₀ − bias for the others                          (u₃, u₄ of 10, 49)
//! v̇ = aᵀ (x − x₀)
//! ```
//!
//! x₀ are the accelerations of the bodies at v̇ = 0, which satisfy every hinge of the tree: they contain the papers' centripetal terms
//! L̂ᵀ1 and Q̇ᵀCᵀω for every kind of joint, including prismatic ones, and the prescribed motion of the base (remark 3). Efforts and
//! rotors act along a, the dual of a freedom's direction.

use crate::linear::tally;
use catena::Model;
use catena::State;
use catena::algorithm::constrained::{Rows, Stabilisation};
use catena::algorithm::kinematics::Kinematics;
use catena::algorithm::passive::passive_force;
use catena::model::{JointKind, Rule};
use catena::residual::{larger, largest};
use catena::spatial::{Force, Mat3, Motion, Vec3};

/// Entries of one row of Hᵀ: moving bodies and six numbers for each, angular first. Bodies ascend and appear once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Bodies and entries.
    pub entries: Vec<(usize, [f64; 6])>,
}

impl Row {
    /// The row's product with the accelerations of all bodies (six numbers each, body 1 first).
    pub fn dot(&self, x: &[f64]) -> f64 {
        tally(6 * self.entries.len());
        let mut sum = 0.0;
        for (body, entries) in &self.entries {
            let x = &x[6 * (body - 1)..6 * body];
            for k in 0..6 {
                sum += entries[k] * x[k];
            }
        }
        sum
    }

    /// x += row · factor.
    pub fn add_to(&self, factor: f64, x: &mut [f64]) {
        tally(6 * self.entries.len());
        for (body, entries) in &self.entries {
            let x = &mut x[6 * (body - 1)..6 * body];
            for k in 0..6 {
                x[k] += entries[k] * factor;
            }
        }
    }

    /// Adds a wrench on a body, about its mass centre; on the ground it has no effect.
    fn add(&mut self, body: usize, wrench: Force<f64>) {
        if body == 0 {
            return;
        }
        let added = wrench.to_array();
        match self.entries.binary_search_by_key(&body, |entry| entry.0) {
            Ok(at) => {
                for k in 0..6 {
                    self.entries[at].1[k] += added[k];
                }
            }
            Err(at) => self.entries.insert(at, (body, added)),
        }
    }
}

/// J, H, u and b at one state.
#[derive(Clone, Debug, Default)]
pub struct Equations {
    /// Rows of Hᵀ: hinges of the tree by body, then the model's constraints in their order, then the freedoms that are driven.
    pub rows: Vec<Row>,
    /// First row of the hinge that carries a body; entry 0 is unused, the entry after the last body is the first row of the constraints.
    pub tree_first: Vec<usize>,
    /// b, row by row.
    pub right: Vec<f64>,
    /// u, six numbers for every body.
    pub force: Vec<f64>,
    /// Mass and inertia about the mass centre in world axes, of every body; entry 0 is unused.
    pub inertia: Vec<(f64, Mat3<f64>)>,
    /// Rotor inertia and the dual a of every freedom.
    pub freedoms: Vec<(f64, Row)>,
    /// Accelerations of the bodies at v̇ = 0, six numbers each.
    pub still: Vec<f64>,
    /// Mass centres in the world.
    pub centre: Vec<Vec3<f64>>,
    /// Wrench on the child of each row of the tree's hinges, world axes, at the hinge.
    pub wrench: Vec<Force<f64>>,
}

impl Equations {
    /// Number of unknown accelerations.
    pub fn unknowns(&self) -> usize {
        self.force.len()
    }

    /// Sets up the equations. `rows` and `kinematics` are those of the state, at v̇ = 0.
    pub fn assemble(
        &mut self,
        model: &Model,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        rows: &Rows<f64>,
        stabilisation: Stabilisation,
        kinematics: &Kinematics<f64>,
    ) {
        let n = model.body_count();
        self.rows.clear();
        self.right.clear();
        self.wrench.clear();
        self.freedoms.clear();
        self.tree_first.clear();
        self.tree_first.push(0);
        self.inertia.clear();
        self.inertia.push((0.0, Mat3::zero()));
        self.centre.clear();
        self.centre.push(kinematics.world_from_body[0].translation);
        self.force.clear();
        self.still.clear();
        for body in 1..=n {
            self.body(model, body, external, kinematics);
        }
        for body in 1..=n {
            self.tree_first.push(self.rows.len());
            self.hinge(model, body, kinematics);
        }
        self.tree_first.push(self.rows.len());
        for row in &self.rows {
            self.right.push(row.dot(&self.still)); // u₃, u₄
        }
        for (k, (rotor, row)) in self.freedoms.iter().enumerate() {
            let effort = tau[k] - passive_force(model, &state.q, &state.v, k);
            row.add_to(effort + rotor * row.dot(&self.still), &mut self.force);
        }
        self.constraints(model, rows, stabilisation);
    }

    fn body(
        &mut self,
        model: &Model,
        body: usize,
        external: &[Force<f64>],
        kinematics: &Kinematics<f64>,
    ) {
        let own = model.inertial(body);
        let pose = kinematics.world_from_body[body];
        let r = pose.rotation;
        let tensor = own.tensor.full().conjugate(r);
        let (v, a) = (kinematics.velocity[body], kinematics.acceleration[body]);
        let omega = r * v.angular;
        let centripetal = v.angular.cross(v.angular.cross(own.centre));
        let still = r * (a.angular.cross_add(own.centre, a.linear) + centripetal);
        let mut force = model.gravity() * own.mass;
        let mut torque = -omega.cross(tensor * omega); // −ĥ
        if let Some(load) = external.get(body) {
            force += r * load.force;
            torque += r * (load.moment - own.centre.cross(load.force));
        }
        self.force.extend(torque.to_array());
        self.force.extend(force.to_array());
        self.still.extend((r * a.angular).to_array());
        self.still.extend(still.to_array());
        self.inertia.push((own.mass, tensor));
        self.centre.push(pose.point(own.centre));
    }

    /// A wrench on the child at a point, its opposite on the parent.
    fn pair(&self, parent: usize, child: usize, point: Vec3<f64>, on_child: Force<f64>) -> Row {
        let mut row = Row::default();
        let about =
            |body: usize| (point - self.centre[body]).cross_add(on_child.force, on_child.moment);
        row.add(child, Force::new(about(child), on_child.force));
        row.add(parent, -Force::new(about(parent), on_child.force));
        row
    }

    /// Rows and freedoms of the hinge that carries a body.
    fn hinge(&mut self, model: &Model, body: usize, kinematics: &Kinematics<f64>) {
        let info = &model.tree().bodies[body];
        let pose = kinematics.world_from_body[body];
        let world = |x: Vec3<f64>| pose.rotation * x;
        let mut columns: Vec<[f64; 6]> = Vec::new();
        for k in 0..info.kind.nv() {
            let Motion { angular, linear } = kinematics.joint_column(model, body, k);
            columns.push(Motion::new(angular, linear).to_array());
            // a screw is driven by a torque about its axis; other freedoms are orthonormal and their own duals
            let force = match info.kind {
                JointKind::Helical => Vec3::zero(),
                _ => world(linear),
            };
            let dual = Force::new(world(angular), force);
            let row = self.pair(info.parent, body, pose.translation, dual);
            self.freedoms.push((model.dof(info.v + k).armature, row));
        }
        for [a, b, c, d, e, f] in complement(&columns) {
            let wrench = Force::new(world(Vec3::new(a, b, c)), world(Vec3::new(d, e, f)));
            self.rows
                .push(self.pair(info.parent, body, pose.translation, wrench));
            self.wrench.push(wrench);
        }
    }

    /// Rows of the model's constraints.
    fn constraints(&mut self, model: &Model, rows: &Rows<f64>, stabilisation: Stabilisation) {
        let mut b = vec![0.0; rows.count()];
        rows.right_side(stabilisation, &mut b);
        for (index, (constraint, block)) in
            model.constraints().iter().zip(rows.blocks()).enumerate()
        {
            for k in block.first..block.first + block.rows {
                let row = match (&constraint.rule, constraint.bodies()) {
                    (_, Some([parent, child])) => {
                        let load = rows.wrench[k];
                        let mut row = self.pair(parent, child, rows.point[index], load);
                        // on an open loop in world axes the load acts at another point of the parent
                        let lever = rows.gap(index).cross(load.force);
                        row.add(parent, Force::new(lever, Vec3::zero()));
                        row
                    }
                    (Rule::Coupling { terms, .. }, _) => {
                        self.sum_of_freedoms(terms.iter().map(|&(at, c)| (at.v, c)))
                    }
                    (Rule::Velocity { terms, .. }, _) => {
                        self.sum_of_freedoms(terms.iter().copied())
                    }
                    (Rule::Driver { coordinate, .. }, _) => self.freedoms[coordinate.v].1.clone(),
                    _ => Row::default(),
                };
                self.right.push(row.dot(&self.still) + b[k]);
                self.rows.push(row);
            }
        }
        // rows of the freedoms that are driven
        for block in rows.blocks().iter().skip(model.constraints().len()) {
            let row = self.sum_of_freedoms(block.columns.iter().map(|&k| (k, 1.0)));
            self.right.push(row.dot(&self.still) + b[block.first]);
            self.rows.push(row);
        }
    }

    /// Σ c aₖ over freedoms k.
    fn sum_of_freedoms(&self, terms: impl Iterator<Item = (usize, f64)>) -> Row {
        let mut row = Row::default();
        for (freedom, c) in terms {
            for (body, entries) in &self.freedoms[freedom].1.entries {
                let [p, q, r, x, y, z] = *entries;
                let own = Force::new(Vec3::new(p, q, r), Vec3::new(x, y, z));
                row.add(*body, own * c);
            }
        }
        row
    }

    /// out = J x.
    pub fn inertia_times(&self, x: &[f64], out: &mut [f64]) {
        tally(12 * (self.inertia.len() - 1));
        for body in 1..self.inertia.len() {
            let at = 6 * (body - 1);
            let (mass, tensor) = self.inertia[body];
            let turned = tensor * Vec3::new(x[at], x[at + 1], x[at + 2]);
            out[at..at + 3].copy_from_slice(&turned.to_array());
            for k in at + 3..at + 6 {
                out[k] = mass * x[k];
            }
        }
        for (rotor, row) in &self.freedoms {
            if *rotor != 0.0 {
                row.add_to(rotor * row.dot(x), out);
            }
        }
    }

    /// The largest acceleration of a mass centre under the forces u only, without hinges: m/s².
    pub fn free_acceleration(&self, u: &[f64]) -> f64 {
        let bodies = self.inertia.iter().skip(1).zip(u.chunks_exact(6));
        let of_body = bodies.map(|((mass, _), u)| match *mass > 0.0 {
            true => largest(&u[3..]) / mass,
            false => 0.0,
        });
        of_body.fold(0.0, larger)
    }

    /// Residuals u + H λ − J x and b − Hᵀ x.
    pub fn residuals(
        &self,
        u: &[f64],
        b: &[f64],
        x: &[f64],
        lambda: &[f64],
        newton: &mut [f64],
        hinges: &mut [f64],
    ) {
        self.inertia_times(x, newton);
        for (r, u) in newton.iter_mut().zip(u) {
            *r = u - *r;
        }
        for (k, row) in self.rows.iter().enumerate() {
            row.add_to(lambda[k], newton);
            hinges[k] = b[k] - row.dot(x);
        }
    }

    /// v̇ = aᵀ (x − x₀).
    pub fn joint_accelerations(&self, x: &[f64]) -> Vec<f64> {
        let away: Vec<f64> = x.iter().zip(&self.still).map(|(x, y)| x - y).collect();
        self.freedoms.iter().map(|(_, a)| a.dot(&away)).collect()
    }

    /// Load on a body through the hinge that carries it, in world axes about the body's origin.
    pub fn tree_load(&self, body: usize, lambda: &[f64]) -> Force<f64> {
        let mut load = Force::zero();
        for k in self.tree_first[body]..self.tree_first[body + 1] {
            load = load.add_scaled(self.wrench[k], lambda[k]);
        }
        load
    }

    /// λ of the tree's hinges that carry these loads (world axes about the bodies' origins; entry 0 is unused).
    pub fn tree_multipliers(&self, loads: &[Force<f64>]) -> Vec<f64> {
        let mut lambda = Vec::with_capacity(self.wrench.len());
        for (body, load) in loads.iter().enumerate().skip(1) {
            for own in &self.wrench[self.tree_first[body]..self.tree_first[body + 1]] {
                lambda.push(own.moment.dot(load.moment) + own.force.dot(load.force));
            }
        }
        lambda
    }

    /// First row of the model's constraints.
    pub fn first_constraint_row(&self) -> usize {
        self.wrench.len()
    }
}

/// An orthonormal basis of the orthogonal complement of these columns, by Gram-Schmidt on the six axes, the largest remainder first.
fn complement(columns: &[[f64; 6]]) -> Vec<[f64; 6]> {
    let mut basis: Vec<[f64; 6]> = Vec::with_capacity(6);
    let dot = |a: &[f64; 6], b: &[f64; 6]| (0..6).map(|k| a[k] * b[k]).sum::<f64>();
    let reduce = |x: &mut [f64; 6], basis: &[[f64; 6]]| {
        for _ in 0..2 {
            for b in basis {
                let along = dot(x, b);
                for k in 0..6 {
                    x[k] -= along * b[k];
                }
            }
        }
        dot(x, x).sqrt()
    };
    for column in columns {
        let mut x = *column;
        let length = reduce(&mut x, &basis);
        if length > 0.0 {
            basis.push(x.map(|e| e / length));
        }
    }
    let own = basis.len();
    while basis.len() < 6 {
        let mut best = ([0.0; 6], 0.0);
        for axis in 0..6 {
            let mut x = [0.0; 6];
            x[axis] = 1.0;
            let length = reduce(&mut x, &basis);
            if length > best.1 + 1e-3 {
                best = (x, length);
            }
        }
        basis.push(best.0.map(|e| e / best.1));
    }
    basis.split_off(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complements_are_orthonormal() {
        let screw = [0.0, 0.0, 1.0, 0.0, 0.0, 0.3];
        let skew = [0.6, 0.8, 0.0, 0.0, 0.0, 0.0];
        let none = [0.0; 6];
        for (columns, own) in [
            (vec![], 0),
            (vec![screw], 1),
            (vec![skew], 1),
            (vec![skew, screw], 2),
            (vec![skew, none], 1),
        ] {
            let basis = complement(&columns);
            assert_eq!(basis.len(), 6 - own);
            for (i, a) in basis.iter().enumerate() {
                for (j, b) in basis.iter().enumerate() {
                    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    assert!((product - f64::from(i == j)).abs() < 1e-15);
                }
                for c in &columns {
                    let product: f64 = a.iter().zip(c).map(|(a, b)| a * b).sum();
                    assert!(product.abs() < 1e-15);
                }
            }
        }
    }
}
