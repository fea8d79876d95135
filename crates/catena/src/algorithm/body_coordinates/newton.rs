//! The linear systems of Newton's method: A δ = r with A = ∂E/∂X + σ ∂E/∂Ẋ.
//!
//! With constraints of one kind, positions are eliminated first, δx = g + Γ δu, and the tree is solved for δu, δv, δw (six numbers per body):
//!
//! ```text
//! index 2   (1 − Z_i Γ) δu = (Tᵣ + Z_a Γ_a) δu_a + (P' + P_ε Γ_q) δv + r_ζ + Z_a g_a + Z_i g + P_ε g_q
//! index 3   δu = Γ⁻¹ (T̂ Γ_a δu_a + P̂ Γ_q δv + r_ξ + T̂ g_a + P̂ g_q − g)
//! ```
//!
//! Rows of cut joints are exact too, except that the effect of one body's motion on the load on the other is neglected; it
//! is of order λ/σ² relative to the inertia.
//!
//! With both kinds, the tree is solved for (δx, δu), (ε, δv), (δμ, δw): twelve numbers per body.

use super::assembly::{
    add_scaled, dot6, gamma_times, inverse_gamma_times, narrow, own_inverse, parameters, turn_back,
    wide,
};
use super::blocks::{self, BodyBlock, FreedomBlock, Gains, offset, rotation_of, six, untangled};
use super::cuts::{Cut, Side, Slopes};
use super::elimination::Elimination;
use super::residual::{BodyEquations, quaternion, vector};
use super::{Acting, Formulation, Layout, PARAMETERS, POSITION, TURNING, VELOCITY};
use crate::dense::Lu;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::spatial::{Force, Vec3};

/// The tree, with six or twelve numbers per body.
#[derive(Clone, Debug)]
enum Solver {
    Narrow(Elimination<6>),
    Wide(Elimination<12>),
}

/// What a row of a constraint acts on, with its coefficients.
#[derive(Clone, Debug)]
enum RowOn {
    /// Parent and child; W, and ∂ξ̇/∂x.
    Bodies([usize; 2], [[f64; 6]; 2], [[f64; 6]; 2]),
    /// Velocity coordinates and coefficients.
    Coordinates(Vec<(usize, f64)>),
}

/// A spring with a damper along the line between points of two bodies, which acts as an external wrench: the matrix contains the derivatives
/// of its tension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The bodies; 0 is the ground.
    pub bodies: [usize; 2],
    /// The points, in the bodies' frames.
    pub points: [Vec3<f64>; 2],
    /// Tension per unit of elongation, N/m.
    pub stiffness: f64,
    /// Tension per unit of elongation rate, N·s/m.
    pub damping: f64,
}

/// Forces that depend on the motion, in addition to the model's own springs and dampers: the matrix contains their derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Stiff<'a> {
    /// Stiffness of a controller per freedom.
    pub stiffness: &'a [f64],
    /// Damping of a controller per freedom.
    pub damping: &'a [f64],
    /// Springs between points.
    pub lines: &'a [Line],
    /// Whether the directions of the external forces are fixed in the world, instead of rotating with the bodies.
    pub forces_stay: bool,
}

impl<'a> Stiff<'a> {
    /// Nothing: `none` holds a zero per freedom.
    pub fn nothing(none: &'a [f64]) -> Self {
        Stiff {
            stiffness: none,
            damping: none,
            lines: &[],
            forces_stay: false,
        }
    }
}

/// The matrix of Newton's method for the equations in body coordinates.
#[derive(Clone, Debug)]
pub struct BodyNewton {
    layout: Layout,
    equations: BodyEquations<f64>,
    bodies: Vec<BodyBlock>,
    freedoms: Vec<FreedomBlock>,
    solver: Solver,
    /// The point at which it was prepared.
    x: Vec<f64>,
    sigma: f64,
    /// g of the bodies and of the freedoms.
    g: Vec<[f64; 6]>,
    g_joint: Vec<f64>,
    rows: Vec<RowOn>,
    /// Rows that are integrated; the others follow from these, and their multipliers are zero.
    active: Vec<usize>,
    /// Springs between points, with the gradients of length and of its rate along δx: the tension of each is an additional multiplier.
    lines: Vec<(Line, [[[f64; 6]; 2]; 2])>,
    schur: Lu,
    schur_rhs: Vec<f64>,
    lambda: Vec<f64>,
}

impl BodyNewton {
    /// A matrix for this model, with all rows of its constraints active.
    pub fn new(model: &Model, layout: Layout) -> Self {
        let tree = model.tree();
        let joints = tree.nodes[1..]
            .iter()
            .map(|node| (node.parent, node.v, node.kind.nv()));
        let solver = match layout.is_stabilised() {
            false => Solver::Narrow(Elimination::new(joints)),
            true => Solver::Wide(Elimination::new(joints)),
        };
        let mut newton = BodyNewton {
            layout,
            equations: BodyEquations::new(model, layout),
            bodies: vec![BodyBlock::zero(); layout.bodies + 1],
            freedoms: vec![FreedomBlock::zero(); layout.nv],
            solver,
            x: vec![0.0; layout.dimension()],
            sigma: 1.0,
            g: vec![[0.0; 6]; layout.bodies + 1],
            g_joint: vec![0.0; layout.nv],
            rows: vec![RowOn::Coordinates(Vec::new()); layout.rows],
            active: Vec::new(),
            lines: Vec::new(),
            schur: Lu::new(0),
            schur_rhs: Vec::new(),
            lambda: Vec::new(),
        };
        newton.activate((0..layout.rows).collect());
        newton
    }

    /// Which rows of the constraints are integrated.
    pub fn active(&self) -> &[usize] {
        &self.active
    }

    /// Sets the independent rows.
    pub(crate) fn activate(&mut self, active: Vec<usize>) {
        self.active = active;
        self.make_room();
    }

    fn make_room(&mut self) {
        let count = self.unknown_multipliers(self.active.len()) + self.lines.len();
        if self.schur_rhs.len() == count {
            return;
        }
        self.schur = Lu::new(count);
        self.schur_rhs = vec![0.0; count];
        self.lambda = vec![0.0; count];
    }

    fn unknown_multipliers(&self, rows: usize) -> usize {
        if self.layout.is_stabilised() {
            2 * rows
        } else {
            rows
        }
    }

    /// Chooses the independent rows at a state that satisfies the constraints; returns the number of dependent ones.
    pub fn choose_rows(
        &mut self,
        model: &Model,
        acting: &Acting<'_, f64>,
        x: &[f64],
        xdot: &[f64],
    ) -> Result<usize> {
        let m = self.layout.rows;
        if m == 0 {
            return Ok(0);
        }
        // with a short step the Schur complement is that of the inertia matrix, J I⁻¹ Jᵀ over σ
        self.activate(Vec::new());
        let none = vec![0.0; self.layout.nv];
        let stiff = Stiff {
            stiffness: &none,
            damping: &none,
            lines: &[],
            forces_stay: false,
        };
        let second = self.layout.is_stabilised();
        // pivots are compared with those of the mechanism with no freedom held
        let mut largest = 0.0f64;
        if acting.held.contains(&true) {
            let free = Acting {
                held: &[],
                ..*acting
            };
            self.linearize(model, &free, &stiff, x, xdot, 1e6)?;
            for k in 0..m {
                self.clear();
                self.add_column(k, second, 1.0);
                self.solve_tree();
                largest = largest.max(self.row_value(k, second).abs());
            }
        }
        self.linearize(model, acting, &stiff, x, xdot, 1e6)?;
        let mut s = vec![vec![0.0; m]; m];
        for k in 0..m {
            self.clear();
            self.add_column(k, second, 1.0);
            self.solve_tree();
            for (j, row) in s.iter_mut().enumerate() {
                row[k] = self.row_value(j, second);
            }
        }
        // elimination with the largest entry of the diagonal as the pivot
        let mut left: Vec<usize> = (0..m).collect();
        let mut active = Vec::new();
        let largest = (0..m).map(|k| s[k][k].abs()).fold(largest, f64::max);
        while let Some(place) = (0..left.len()).max_by(|&a, &b| {
            let (a, b) = (s[left[a]][left[a]].abs(), s[left[b]][left[b]].abs());
            a.total_cmp(&b)
        }) {
            let pivot = left[place];
            if s[pivot][pivot].abs() <= DEPENDENT * largest {
                break;
            }
            left.swap_remove(place);
            active.push(pivot);
            for &i in &left {
                let factor = s[i][pivot] / s[pivot][pivot];
                for &j in &left {
                    s[i][j] -= factor * s[pivot][j];
                }
            }
        }
        active.sort_unstable();
        let dependent = m - active.len();
        self.activate(active);
        Ok(dependent)
    }

    /// Prepares the matrix at a point.
    pub fn linearize(
        &mut self,
        model: &Model,
        acting: &Acting<'_, f64>,
        stiff: &Stiff<'_>,
        x: &[f64],
        xdot: &[f64],
        sigma: f64,
    ) -> Result<()> {
        let layout = self.layout;
        self.x.copy_from_slice(x);
        self.sigma = sigma;
        self.equations.load(model, &acting.base, x);
        let gains = Gains {
            stiffness: stiff.stiffness,
            damping: stiff.damping,
            forces_stay: stiff.forces_stay,
        };
        self.lines.clear();
        for line in stiff.lines {
            self.lines.push((*line, self.pull_of(line)));
        }
        self.make_room();
        for i in 1..=layout.bodies {
            let info = model.tree().nodes[i];
            let range = info.v..info.v + info.kind.nv();
            let at = (x, xdot, sigma);
            let (above, own) = self.bodies.split_at_mut(i);
            let body = &mut own[0];
            let freedoms = &mut self.freedoms[range];
            let equations = &self.equations;
            blocks::fill(
                model, layout, equations, acting, &gains, at, i, body, freedoms,
            );
            for (row, more) in above[info.parent].along_x.iter_mut().zip(&body.on_parent) {
                for (a, b) in row.iter_mut().zip(more) {
                    *a += b;
                }
            }
        }
        if layout.rows > 0 {
            self.prepare_rows(model, acting);
        }
        for i in 1..=layout.bodies {
            match &mut self.solver {
                Solver::Narrow(tree) => {
                    narrow(tree, i, &self.bodies, &self.freedoms, layout, sigma);
                }
                Solver::Wide(tree) => wide(tree, i, &self.bodies, &self.freedoms, sigma),
            }
        }
        for (k, freedom) in self.freedoms.iter().enumerate() {
            let held = acting.held.get(k) == Some(&true);
            let law = if held { [0.0; 6] } else { freedom.p };
            match &mut self.solver {
                Solver::Narrow(tree) => tree.directions[k] = law,
                Solver::Wide(tree) => {
                    tree.directions[k] = law;
                    tree.free_directions[k] = freedom.p;
                }
            }
        }
        let done = match &mut self.solver {
            Solver::Narrow(tree) => tree.factorize(),
            Solver::Wide(tree) => tree.factorize(),
        };
        done.map_err(|k| {
            Error::new(
                ErrorKind::Singular,
                format!(
                    "the motion of `{}` has no inertia, spring or damper",
                    model.tree().dofs[k].name
                ),
            )
            .hint("give its body mass, or the joint a rotor inertia or damping")
        })?;
        if !self.schur_rhs.is_empty() {
            self.prepare_schur(model)?;
        }
        Ok(())
    }

    fn prepare_rows(&mut self, model: &Model, acting: &Acting<'_, f64>) {
        let layout = self.layout;
        let mut first = 0;
        for constraint in model.constraints() {
            let (pose, velocity) = (&self.equations.pose, &self.equations.velocity);
            let cut = Cut::evaluate(
                constraint,
                acting.time,
                pose,
                velocity,
                &self.equations.q,
                &self.x[layout.nq..layout.nq + layout.nv],
            );
            let slopes = (constraint.closure())
                .map(|closure| Slopes::new(&constraint.rule, closure, pose, velocity));
            for k in 0..cut.count {
                self.rows[first + k] = match &cut.side {
                    Side::Bodies(bodies, wrenches) => {
                        let mut rate = [[0.0; 6]; 2];
                        if let Some(slopes) = &slopes {
                            rate = slopes.rate[k];
                            let lambda = self.x[layout.multipliers() + first + k];
                            for (&body, slope) in bodies.iter().zip(&slopes.wrench[k]) {
                                add_scaled(&mut self.bodies[body].along_x, slope, -lambda);
                            }
                        }
                        RowOn::Bodies(*bodies, wrenches[k].map(Force::to_array), rate)
                    }
                    Side::Coordinates(terms) => {
                        RowOn::Coordinates(terms.iter().map(|(at, c)| (at.v, *c)).collect())
                    }
                    Side::Coordinate(v) => RowOn::Coordinates(vec![(*v, 1.0)]),
                };
            }
            first += cut.count;
        }
    }

    /// Gradients of a spring's length l (which is also that of l̇ along δu) and of l̇ along δx of its bodies. With the points at R p, e
    /// along the line and u their relative velocity, l̇ = e·u changes with e by the part of u across the line over l, and with R (ω × p).
    fn pull_of(&self, line: &Line) -> [[[f64; 6]; 2]; 2] {
        let (mut at, mut moving) = ([Vec3::zero(); 2], [Vec3::zero(); 2]);
        for side in 0..2 {
            let (body, point) = (line.bodies[side], line.points[side]);
            let (pose, velocity) = (self.equations.pose[body], self.equations.velocity[body]);
            at[side] = pose.point(point);
            moving[side] = velocity.linear + pose.rotation * velocity.angular.cross(point);
        }
        let between = at[1] - at[0];
        let inverse = 1.0 / between.norm().max(f64::MIN_POSITIVE);
        let along = between * inverse;
        let relative = moving[1] - moving[0];
        let across = (relative - along * relative.dot(along)) * inverse;
        let mut gradients = [[[0.0; 6]; 2]; 2];
        for side in 0..2 {
            let (body, point) = (line.bodies[side], line.points[side]);
            let rotation = self.equations.pose[body].rotation;
            let sign = if side == 0 { -1.0 } else { 1.0 };
            let (force, turned) = (along * sign, across * sign);
            let own = rotation.transpose_times(force);
            let carried = self.equations.velocity[body].angular.cross(point);
            gradients[0][side] = six(point.cross(own), force);
            let moment = point.cross(rotation.transpose_times(turned)) + carried.cross(own);
            gradients[1][side] = six(moment, turned);
        }
        gradients
    }

    /// k δl + c δl̇ of a spring, from the solution of the tree, or from g alone with `of_offsets`.
    fn tension(&self, line: usize, of_offsets: bool) -> f64 {
        let (line, [pull, rate]) = &self.lines[line];
        let mut sum = 0.0;
        for side in 0..2 {
            let body = line.bodies[side];
            if body == 0 {
                continue;
            }
            let (moved, velocity) = match &self.solver {
                _ if of_offsets => (self.g[body], [0.0; 6]),
                Solver::Narrow(tree) => {
                    let y = tree.c[body];
                    (gamma_times(&self.bodies[body], self.sigma, &y), y)
                }
                Solver::Wide(tree) => {
                    let y = &tree.c[body];
                    (
                        six(vector(y), vector(&y[3..])),
                        six(vector(&y[6..]), vector(&y[9..])),
                    )
                }
            };
            sum += line.stiffness * dot6(&pull[side], &moved)
                + line.damping * (dot6(&pull[side], &velocity) + dot6(&rate[side], &moved));
        }
        sum
    }

    /// Computes S = H A⁻¹ Hᵀ, column by column; a spring's row is δT + λ = 0, where λ = −δT acts like a multiplier.
    fn prepare_schur(&mut self, model: &Model) -> Result<()> {
        let m = self.active.len();
        let (rows, count) = (self.unknown_multipliers(m), self.schur_rhs.len());
        for column in 0..count {
            self.clear();
            self.add_multiplier(column, 1.0);
            self.solve_tree();
            for row in 0..count {
                let mut value = if row < rows {
                    self.row_value(self.active[row % m], self.is_second(row))
                } else {
                    self.tension(row - rows, false)
                };
                if row >= rows && row == column {
                    value += 1.0;
                }
                self.schur.matrix_mut()[(row, column)] = value;
            }
        }
        self.schur.factorize_scaled().map_err(|column| {
            let row = if m > 0 { self.active[column % m] } else { 0 };
            let mut first = 0;
            let name = model.constraints().iter().find(|c| {
                first += c.rows();
                row < first
            });
            Error::new(
                ErrorKind::Singular,
                format!(
                    "constraint `{}` depends on the others here",
                    name.map_or("", |c| &c.name)
                ),
            )
            .hint("the mechanism is at a singular position; an explicit method with projection may pass it")
        })
    }

    /// The first half of the multipliers of stabilised equations belongs to positions.
    fn is_second(&self, column: usize) -> bool {
        column >= self.active.len()
    }

    fn clear(&mut self) {
        match &mut self.solver {
            Solver::Narrow(tree) => {
                tree.r.fill([0.0; 6]);
                tree.c.fill([0.0; 6]);
                tree.rho.fill(0.0);
            }
            Solver::Wide(tree) => {
                tree.r.fill([0.0; 12]);
                tree.c.fill([0.0; 12]);
                tree.rho.fill(0.0);
            }
        }
    }

    fn solve_tree(&mut self) {
        match &mut self.solver {
            Solver::Narrow(tree) => tree.solve(),
            Solver::Wide(tree) => tree.solve(),
        }
    }

    /// Adds the column of a multiplier, or of a spring's tension.
    fn add_multiplier(&mut self, column: usize, scale: f64) {
        let m = self.active.len();
        let rows = self.unknown_multipliers(m);
        if column < rows {
            return self.add_column(self.active[column % m], self.is_second(column), scale);
        }
        let (line, [pull, _]) = &self.lines[column - rows];
        for (&body, pull) in line.bodies.iter().zip(pull) {
            let r: &mut [f64] = match &mut self.solver {
                Solver::Narrow(tree) => &mut tree.r[body],
                Solver::Wide(tree) => &mut tree.r[body][6..],
            };
            for (r, w) in r.iter_mut().zip(pull) {
                *r += scale * w;
            }
        }
    }

    /// Adds the column of a row's multiplier, scaled, to the right-hand sides of the tree.
    fn add_column(&mut self, row: usize, second: bool, scale: f64) {
        match (&mut self.solver, &self.rows[row]) {
            (Solver::Narrow(tree), RowOn::Bodies(bodies, wrenches, _)) => {
                for (&body, wrench) in bodies.iter().zip(wrenches) {
                    for (r, w) in tree.r[body].iter_mut().zip(wrench) {
                        *r += scale * w;
                    }
                }
            }
            (Solver::Wide(tree), RowOn::Bodies(bodies, wrenches, _)) => {
                let chunk = if second { 6 } else { 0 };
                for (&body, wrench) in bodies.iter().zip(wrenches) {
                    for (r, w) in tree.r[body][chunk..].iter_mut().zip(wrench) {
                        *r += scale * w;
                    }
                }
            }
            (Solver::Narrow(tree), RowOn::Coordinates(terms)) => {
                for &(k, c) in terms {
                    tree.rho[k] += scale * c;
                }
            }
            (Solver::Wide(tree), RowOn::Coordinates(terms)) => {
                for &(k, c) in terms {
                    let at = tree.place(k, second);
                    tree.rho[at] += scale * c;
                }
            }
        }
    }

    /// A row applied to the solution of the tree: to positions or to velocities.
    fn row_value(&self, row: usize, second: bool) -> f64 {
        let by_position = self.layout.formulation == Formulation::Index3;
        let mut sum = 0.0;
        match (&self.solver, &self.rows[row]) {
            (Solver::Narrow(tree), RowOn::Bodies(bodies, wrenches, rates)) => {
                for side in 0..2 {
                    let body = bodies[side];
                    if body == 0 {
                        continue;
                    }
                    let moved = gamma_times(&self.bodies[body], self.sigma, &tree.c[body]);
                    sum += if by_position {
                        dot6(&wrenches[side], &moved)
                    } else {
                        dot6(&wrenches[side], &tree.c[body]) + dot6(&rates[side], &moved)
                    };
                }
            }
            (Solver::Wide(tree), RowOn::Bodies(bodies, wrenches, rates)) => {
                let chunk = if second { 6 } else { 0 };
                for side in 0..2 {
                    let body = bodies[side];
                    if body == 0 {
                        continue;
                    }
                    for (w, y) in wrenches[side].iter().zip(&tree.c[body][chunk..]) {
                        sum += w * y;
                    }
                    if second {
                        for (rate, y) in rates[side].iter().zip(&tree.c[body]) {
                            sum += rate * y;
                        }
                    }
                }
            }
            (Solver::Narrow(tree), RowOn::Coordinates(terms)) => {
                let scale = if by_position { 1.0 / self.sigma } else { 1.0 };
                for &(k, c) in terms {
                    sum += scale * c * tree.rho[k];
                }
            }
            (Solver::Wide(tree), RowOn::Coordinates(terms)) => {
                for &(k, c) in terms {
                    sum += c * tree.rho[tree.place(k, second)];
                }
            }
        }
        sum
    }

    /// A row applied to g, the part of the positions besides Γ δu.
    fn row_of_offsets(&self, row: usize) -> f64 {
        let by_position = self.layout.formulation == Formulation::Index3;
        match &self.rows[row] {
            RowOn::Bodies(bodies, wrenches, rates) => {
                let rows = if by_position { wrenches } else { rates };
                let mut sum = 0.0;
                for (&body, row) in bodies.iter().zip(rows) {
                    sum += dot6(row, &self.g[body]);
                }
                sum
            }
            RowOn::Coordinates(_) if !by_position => 0.0,
            RowOn::Coordinates(terms) => terms.iter().map(|&(k, c)| c * self.g_joint[k]).sum(),
        }
    }

    /// Overwrites the right-hand side with the solution. The two integrals are left to the caller.
    pub fn solve(&mut self, model: &Model, rhs: &mut [f64]) {
        let layout = self.layout;
        self.offsets(model, rhs);
        self.right_sides(model, rhs);
        self.solve_tree();
        let m = self.active.len();
        // for an inactive row E is the multiplier itself, and δλ the right-hand side
        let (rows, count) = (self.unknown_multipliers(m), self.schur_rhs.len());
        if count > 0 {
            for j in 0..count {
                if j >= rows {
                    let mut value = -self.tension(j - rows, false);
                    if !layout.is_stabilised() {
                        value -= self.tension(j - rows, true);
                    }
                    self.schur_rhs[j] = value;
                    continue;
                }
                let row = self.active[j % m];
                let second = self.is_second(j);
                let given = match (layout.is_stabilised(), second) {
                    (true, false) => rhs[layout.corrections() + row],
                    _ => rhs[layout.multipliers() + row],
                };
                let mut value = given - self.row_value(row, second);
                if !layout.is_stabilised() {
                    value -= self.row_of_offsets(row);
                }
                self.schur_rhs[j] = value;
            }
            let mut lambda = std::mem::take(&mut self.lambda);
            self.schur.solve(&self.schur_rhs, &mut lambda);
            self.clear();
            self.right_sides(model, rhs);
            for (j, lambda) in lambda.iter().enumerate() {
                self.add_multiplier(j, *lambda);
                if j >= rows {
                    continue;
                }
                let row = self.active[j % m];
                match (layout.is_stabilised(), self.is_second(j)) {
                    (true, false) => rhs[layout.corrections() + row] = *lambda,
                    _ => rhs[layout.multipliers() + row] = *lambda,
                }
            }
            self.lambda = lambda;
            self.solve_tree();
        }
        self.recover(model, rhs);
    }

    /// g of bodies and joints.
    fn offsets(&mut self, model: &Model, rhs: &[f64]) {
        let (layout, sigma) = (self.layout, self.sigma);
        for i in 1..=layout.bodies {
            self.g[i] = offset(layout, &self.equations, (&self.x, sigma), rhs, i);
            let info = model.tree().nodes[i];
            let plain = info.kind.quaternion().unwrap_or(info.kind.nv());
            for k in 0..plain {
                self.g_joint[info.v + k] = rhs[info.q + k] / sigma;
            }
            if let Some(k) = info.kind.quaternion() {
                let turning = vector(&self.x[layout.nq + info.v + k..]);
                let change = untangled(sigma, turning, quaternion(&rhs[info.q + k..]));
                let p = quaternion(&self.x[info.q + k..]);
                let g = rotation_of(p, change).to_array();
                self.g_joint[info.v + k..info.v + k + 3].copy_from_slice(&g);
            }
        }
    }

    fn right_sides(&mut self, model: &Model, rhs: &[f64]) {
        let (layout, sigma) = (self.layout, self.sigma);
        for i in 1..=layout.bodies {
            let info = model.tree().nodes[i];
            let nv = info.kind.nv();
            let (at, load_at) = (layout.body(i), layout.load(i));
            let body = &self.bodies[i];
            let freedoms = &self.freedoms[info.v..info.v + nv];
            let (g, g_above) = (&self.g[i], &self.g[info.parent]);
            let g_joint = &self.g_joint[info.v..info.v + nv];
            let balance = six(vector(&rhs[at + TURNING..]), vector(&rhs[at + VELOCITY..]));
            match &mut self.solver {
                Solver::Narrow(tree) => {
                    let r = &mut tree.r[i];
                    for (k, r) in r.iter_mut().enumerate() {
                        *r = balance[k] - dot6(&body.along_x[k], g);
                    }
                    let mut given = [0.0; 6];
                    given.copy_from_slice(&rhs[load_at..load_at + 6]);
                    let c = match layout.formulation {
                        Formulation::Index3 => {
                            turn_back(body, &mut given);
                            for (k, given) in given.iter_mut().enumerate() {
                                *given += dot6(&body.t_hat[k], g_above) - g[k];
                                for (freedom, g) in freedoms.iter().zip(g_joint) {
                                    *given += freedom.p_hat[k] * g;
                                }
                            }
                            inverse_gamma_times(body, sigma, &given)
                        }
                        _ => {
                            for (k, given) in given.iter_mut().enumerate() {
                                *given +=
                                    dot6(&body.z_parent[k], g_above) + dot6(&body.z_own[k], g);
                                for (freedom, g) in freedoms.iter().zip(g_joint) {
                                    *given += freedom.p_epsilon[k] * g;
                                }
                            }
                            own_inverse(body, sigma).times(&given)
                        }
                    };
                    tree.c[i] = c;
                    for (k, freedom) in freedoms.iter().enumerate() {
                        let mut rho = rhs[layout.nq + info.v + k];
                        for m in 0..3 {
                            rho -= freedom.theta[m] * g[m];
                        }
                        for (factor, g) in freedom.epsilon.iter().zip(g_joint) {
                            rho -= factor * g;
                        }
                        tree.rho[info.v + k] = rho;
                    }
                }
                Solver::Wide(tree) => {
                    let kinematic = inverse_gamma_times(body, sigma, g);
                    tree.r[i][..6].copy_from_slice(&kinematic);
                    tree.r[i][6..].copy_from_slice(&balance);
                    let position_at = layout.correction(i);
                    let mut given = [0.0; 6];
                    given.copy_from_slice(&rhs[position_at..position_at + 6]);
                    turn_back(body, &mut given);
                    for k in 0..6 {
                        tree.c[i][k] = given[k];
                        tree.c[i][6 + k] = rhs[load_at + k] + dot6(&body.z_own[k], &given);
                    }
                    let first = 2 * info.v;
                    for (k, freedom) in freedoms.iter().enumerate() {
                        let mut rho = 0.0;
                        for (factor, g) in freedom.inverse.iter().zip(g_joint) {
                            rho += factor * g;
                        }
                        tree.rho[first + k] = rho;
                        tree.rho[first + nv + k] = rhs[layout.nq + info.v + k];
                    }
                }
            }
        }
        if let Solver::Narrow(tree) = &mut self.solver {
            for i in 1..=layout.bodies {
                let parent = model.tree().nodes[i].parent;
                for k in 0..3 {
                    tree.r[parent][k] -= dot6(&self.bodies[i].geometric[k], &self.g[i]);
                }
            }
        }
    }

    /// Recovers all unknowns from the solution of the tree.
    fn recover(&mut self, model: &Model, rhs: &mut [f64]) {
        let (layout, sigma) = (self.layout, self.sigma);
        for i in 1..=layout.bodies {
            let info = model.tree().nodes[i];
            let nv = info.kind.nv();
            let (at, load_at) = (layout.body(i), layout.load(i));
            let body = &self.bodies[i];
            // velocities in the kinematic equations
            let (turning, position, u, load);
            let mut rates = [0.0; 6];
            match &self.solver {
                Solver::Narrow(tree) => {
                    u = tree.c[i];
                    load = tree.r[i];
                    turning = vector(&u);
                    position = (vector(&rhs[at + POSITION..]) + vector(&u[3..])) * (1.0 / sigma);
                    rates[..nv].copy_from_slice(&tree.rho[info.v..info.v + nv]);
                    rhs[layout.nq + info.v..layout.nq + info.v + nv].copy_from_slice(&rates[..nv]);
                    for k in 0..info.kind.quaternion().unwrap_or(nv) {
                        rhs[info.q + k] = (rhs[info.q + k] + rates[k]) / sigma;
                    }
                }
                Solver::Wide(tree) => {
                    let y = &tree.c[i];
                    let change = vector(y) - vector(&self.g[i]);
                    turning = body.inverse * change;
                    position = vector(&y[3..]);
                    u = six(vector(&y[6..]), vector(&y[9..]));
                    let l = &tree.r[i];
                    load = six(vector(&l[6..]), vector(&l[9..]));
                    let correction = layout.correction(i);
                    rhs[correction..correction + 6].copy_from_slice(&l[..6]);
                    let s = &tree.rho[2 * info.v..2 * (info.v + nv)];
                    for k in 0..nv {
                        let freedom = &self.freedoms[info.v + k];
                        for j in 0..nv {
                            rates[k] += freedom.inverse[j] * (s[j] - self.g_joint[info.v + j]);
                        }
                    }
                    rhs[layout.nq + info.v..layout.nq + info.v + nv].copy_from_slice(&s[nv..]);
                    let plain = info.kind.quaternion().unwrap_or(nv);
                    rhs[info.q..info.q + plain].copy_from_slice(&s[..plain]);
                }
            }
            if let Some(k) = info.kind.quaternion() {
                let own = vector(&self.x[layout.nq + info.v + k..]);
                let p = quaternion(&self.x[info.q + k..]);
                let change = parameters(sigma, own, p, &rhs[info.q + k..], vector(&rates[k..]));
                rhs[info.q + k..info.q + k + 4].copy_from_slice(&change);
            }
            let p = quaternion(&self.x[at + PARAMETERS..]);
            let omega = vector(&self.x[at + TURNING..]);
            let change = parameters(sigma, omega, p, &rhs[at + PARAMETERS..], turning);
            rhs[at + PARAMETERS..at + PARAMETERS + 4].copy_from_slice(&change);
            rhs[at + POSITION..at + POSITION + 3].copy_from_slice(&position.to_array());
            rhs[at + TURNING..at + TURNING + 3].copy_from_slice(&u[..3]);
            rhs[at + VELOCITY..at + VELOCITY + 3].copy_from_slice(&u[3..]);
            rhs[load_at..load_at + 6].copy_from_slice(&load);
        }
    }
}

/// A row whose pivot is below this fraction of the largest is dependent.
const DEPENDENT: f64 = 1e-9;
