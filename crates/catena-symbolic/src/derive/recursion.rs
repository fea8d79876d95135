//! The recursions of the papers with the numbers of one robot: every quantity gets a name, and a formula in terms of earlier names.
//!
//! Newton–Euler for τ, composite bodies for I, articulated bodies for U and D, and the two substitutions for v̇ (Saha 1999, sections 4
//! and 5), about body origins in body axes. They are written here a second time, step by step, because a page needs intermediate
//! quantities that the library's own recursions do not expose; the tests compare the two.

use super::symbolic::symbolic;
use super::{Symbols, expect_usable};
use crate::generate::direction;
use crate::{Expr, Formula, rates, scope};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::error::{Error, ErrorKind, Result};
use catena::model::JointKind;
use catena::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, Sym3, Vec3};
use catena::{Base, Model, Scalar, StateView};
use std::collections::HashMap;

/// A name and its definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name, as `omega[2].x`.
    pub name: String,
    /// In names defined before, coordinates and symbols of the model.
    pub formula: Formula,
}

/// Quantities of one kind for one body.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which recursion it belongs to.
    pub part: Part,
    /// The body, from 1.
    pub body: usize,
    /// The quantities in order.
    pub definitions: Vec<Definition>,
}

/// The recursions of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// First moments and inertia tensors about the joints.
    Constants,
    /// Velocities and accelerations, base to tips.
    Motion,
    /// Loads and efforts, tips to base.
    Load,
    /// Composite bodies and the inertia matrix.
    Composite,
    /// Articulated bodies, the factors U and D.
    Articulated,
    /// Forward dynamics: efforts, tips to base.
    Reduction,
    /// Forward dynamics: accelerations, base to tips.
    Substitution,
}

/// The recursions of one model.
#[derive(Clone, Debug)]
pub struct Recursion {
    /// What is computed, in order.
    pub sections: Vec<Section>,
    /// The symbols of the model's numbers, with their values.
    pub values: Vec<(String, f64)>,
}

impl Recursion {
    /// Derives them. Springs, damping and friction are left out, rotor inertias are not.
    pub fn new(model: &Model, symbols: impl Into<Symbols>) -> Result<Self> {
        let symbols = symbols.into();
        expect_usable(model)?;
        let model = model.clone().without_passive_forces().swept(1e-14);
        scope(|| {
            let mut values = Vec::new();
            let symbolic = symbolic(&model, &symbols, &mut values);
            let mut notebook = Notebook::new(&model, symbolic);
            notebook.inverse();
            notebook.composite();
            notebook.articulated();
            notebook.forward();
            match notebook.too_long {
                Some(name) => Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "`{name}` of `{}` has too many terms to be read",
                        model.name()
                    ),
                )
                .hint("`catena generate` writes the model as a program")),
                None => Ok(Recursion {
                    sections: notebook.sections,
                    values,
                }),
            }
        })
    }

    /// The values of all names, given those of q, v, vdot, tau, bias and the model's symbols.
    pub fn evaluate(&self, symbol: impl Fn(&str) -> f64) -> HashMap<String, f64> {
        let mut known: HashMap<String, f64> = HashMap::new();
        for definition in self.sections.iter().flat_map(|s| &s.definitions) {
            let get = |name: &str| match known.get(name) {
                Some(value) => *value,
                None => symbol(name),
            };
            let value = definition.formula.evaluate(get);
            known.insert(definition.name.clone(), value);
        }
        known
    }

    /// The formula of a name.
    pub fn find(&self, name: &str) -> Option<&Formula> {
        let mut all = self.sections.iter().flat_map(|s| &s.definitions);
        all.find(|d| d.name == name).map(|d| &d.formula)
    }
}

const AXES: [&str; 3] = ["x", "y", "z"];
const PAIRS: [&str; 6] = ["xx", "yy", "zz", "xy", "xz", "yz"];

/// From a body to its parent: rotation about z, then a constant placement; or any pose.
struct Way {
    turn: Option<(Expr, Expr)>,
    placement: Pose<Expr>,
}

/// A rigid body about the origin of its frame.
#[derive(Clone, Copy)]
struct Rigid {
    mass: Expr,
    first: Vec3<Expr>,
    tensor: Sym3<Expr>,
}

struct Notebook<'a> {
    model: &'a Model,
    symbolic: Model<Expr>,
    sections: Vec<Section>,
    too_long: Option<String>,
    kinematics: Kinematics<Expr>,
    ways: Vec<Way>,
    rigid: Vec<Rigid>,
    v: Vec<Expr>,
    vdot: Vec<Expr>,
    /// ψ of every freedom, once they are known.
    psi: Vec<Force<Expr>>,
}

impl<'a> Notebook<'a> {
    fn new(model: &'a Model, symbolic: Model<Expr>) -> Self {
        let (nv, tree) = (model.nv(), model.tree());
        let q = Expr::symbols("q", model.nq());
        let rest = vec![Expr::zero(); nv];
        let base = Base::fixed();
        let mut kinematics = Kinematics::new(&symbolic);
        forward_kinematics(
            &symbolic,
            StateView {
                q: &q,
                v: &rest,
                base: &base,
            },
            &rest,
            &mut kinematics,
        );
        let mut home = Kinematics::new(&symbolic);
        let zero = vec![Expr::zero(); model.nq()];
        forward_kinematics(
            &symbolic,
            StateView {
                q: &zero,
                v: &rest,
                base: &base,
            },
            &rest,
            &mut home,
        );
        let way = |i: usize| match tree.bodies[i].kind {
            JointKind::Revolute | JointKind::Continuous => Way {
                turn: Some(q[tree.bodies[i].q].sin_cos()),
                placement: home.parent_from_body(i),
            },
            _ => Way {
                turn: None,
                placement: kinematics.parent_from_body(i),
            },
        };
        let nowhere = Way {
            turn: None,
            placement: Pose::identity(),
        };
        let ways = std::iter::once(nowhere)
            .chain((1..=model.body_count()).map(way))
            .collect();
        let mut notebook = Notebook {
            model,
            sections: Vec::new(),
            too_long: None,
            kinematics,
            ways,
            rigid: Vec::new(),
            v: Expr::symbols("v", nv),
            vdot: Expr::symbols("vdot", nv),
            psi: vec![Force::zero(); nv],
            symbolic,
        };
        notebook.constants();
        notebook
    }

    fn open(&mut self, part: Part, body: usize) {
        self.sections.push(Section {
            part,
            body,
            definitions: Vec::new(),
        });
    }

    /// Records a definition.
    fn write(&mut self, name: &str, value: Expr) -> Option<Formula> {
        let formula = Formula::of(&[value]).map(|mut list| list.remove(0));
        if formula.is_none() {
            self.too_long.get_or_insert(name.into());
        }
        formula
    }

    fn push(&mut self, name: &str, formula: Formula) {
        let section = self.sections.last_mut().expect("one is open");
        section.definitions.push(Definition {
            name: name.into(),
            formula,
        });
    }

    /// A result: it is always recorded.
    fn result(&mut self, name: &str, value: Expr) -> Expr {
        if let Some(formula) = self.write(name, value) {
            self.push(name, formula);
        }
        Expr::symbol(name)
    }

    /// An intermediate quantity: numbers and single symbols need no name.
    fn named(&mut self, name: &str, value: Expr) -> Expr {
        match self.write(name, value) {
            Some(formula) if formula.is_zero() => Expr::zero(),
            Some(formula) if formula.is_plain() => value,
            Some(formula) => {
                self.push(name, formula);
                Expr::symbol(name)
            }
            None => value,
        }
    }

    fn vector(&mut self, name: &str, value: Vec3<Expr>) -> Vec3<Expr> {
        let mut made = value.to_array();
        for (x, axis) in made.iter_mut().zip(AXES) {
            *x = self.named(&format!("{name}.{axis}"), *x);
        }
        Vec3::from_array(made)
    }

    fn symmetric(&mut self, name: &str, s: Sym3<Expr>) -> Sym3<Expr> {
        let mut made = [s.xx, s.yy, s.zz, s.xy, s.xz, s.yz];
        for (x, pair) in made.iter_mut().zip(PAIRS) {
            *x = self.named(&format!("{name}.{pair}"), *x);
        }
        let [xx, yy, zz, xy, xz, yz] = made;
        Sym3::new(xx, yy, zz, xy, xz, yz)
    }

    fn matrix(&mut self, name: &str, m: Mat3<Expr>) -> Mat3<Expr> {
        let mut rows = m.rows();
        for (row, first) in rows.iter_mut().zip(AXES) {
            for (x, second) in row.iter_mut().zip(AXES) {
                *x = self.named(&format!("{name}.{first}{second}"), *x);
            }
        }
        Mat3::from_rows(rows)
    }

    fn wrench(&mut self, names: [&str; 2], index: &str, f: Force<Expr>) -> Force<Expr> {
        Force::new(
            self.vector(&format!("{}[{index}]", names[0]), f.moment),
            self.vector(&format!("{}[{index}]", names[1]), f.force),
        )
    }

    /// ψ̂, ψ, η: six components under one letter.
    fn screw(&mut self, name: &str, f: Force<Expr>) -> Force<Expr> {
        let mut parts = f.to_array();
        for (x, part) in parts.iter_mut().zip(["nx", "ny", "nz", "fx", "fy", "fz"]) {
            *x = self.named(&format!("{name}.{part}"), *x);
        }
        let [a, b, c, d, e, f] = parts;
        Force::new(Vec3::new(a, b, c), Vec3::new(d, e, f))
    }

    fn operator(
        &mut self,
        letters: [&str; 3],
        index: &str,
        m: ArticulatedInertia<Expr>,
    ) -> ArticulatedInertia<Expr> {
        ArticulatedInertia {
            rotational: self.symmetric(&format!("{}[{index}]", letters[0]), m.rotational),
            coupling: self.matrix(&format!("{}[{index}]", letters[1]), m.coupling),
            translational: self.symmetric(&format!("{}[{index}]", letters[2]), m.translational),
        }
    }

    fn columns(&self, body: usize) -> Vec<Motion<Expr>> {
        let range = self.model.tree().dof_range(body);
        (0..range.len())
            .map(|k| self.kinematics.joint_column(&self.symbolic, body, k))
            .collect()
    }

    fn constants(&mut self) {
        self.rigid.push(Rigid {
            mass: Expr::zero(),
            first: Vec3::zero(),
            tensor: Sym3::zero(),
        });
        for i in 1..=self.model.body_count() {
            self.open(Part::Constants, i);
            let moments = self.symbolic.moments(i);
            let rigid = Rigid {
                mass: moments.mass,
                first: self.vector(&format!("h[{i}]"), moments.first),
                tensor: self.symmetric(&format!("A[{i}]"), moments.tensor()),
            };
            self.rigid.push(rigid);
        }
    }

    /// A vector of the parent in the axes of the body.
    fn inward(&self, body: usize, x: Vec3<Expr>) -> Vec3<Expr> {
        let way = &self.ways[body];
        let placed = way.placement.rotation.transpose_times(x);
        match way.turn {
            Some((sin, cos)) => placed.turned_z(-sin, cos),
            None => placed,
        }
    }

    /// A vector of the body in the axes of the parent.
    fn outward(&self, body: usize, x: Vec3<Expr>) -> Vec3<Expr> {
        let way = &self.ways[body];
        let turned = match way.turn {
            Some((sin, cos)) => x.turned_z(sin, cos),
            None => x,
        };
        way.placement.rotation * turned
    }

    fn force_out(&self, body: usize, f: Force<Expr>) -> Force<Expr> {
        let (moment, force) = (self.outward(body, f.moment), self.outward(body, f.force));
        let arm = self.ways[body].placement.translation;
        Force::new(moment + arm.cross(force), force)
    }

    /// Newton–Euler.
    fn inverse(&mut self) {
        let n = self.model.body_count();
        let tree = self.model.tree().clone();
        let still = Vec3::<Expr>::zero();
        let gravity = self.symbolic.gravity();
        // gravity as an acceleration of the ground by −g
        let mut motion = vec![[still, still, -gravity]];
        for i in 1..=n {
            self.open(Part::Motion, i);
            let [omega, alpha, acceleration] = motion[tree.parent(i)];
            let arm = self.ways[i].placement.translation;
            let point = acceleration + alpha.cross(arm) + omega.cross(omega.cross(arm));
            let (omega_in, alpha_in, point) = (
                self.inward(i, omega),
                self.inward(i, alpha),
                self.inward(i, point),
            );
            let range = tree.dof_range(i);
            let columns = self.columns(i);
            // the joint's own motion: P v, and P v̇ + Ṗ v with Ṗ in the axes of the body
            let q: Vec<Expr> = Expr::symbols("q", self.model.nq());
            let mut seeds: Vec<(Expr, Expr)> = Vec::new();
            for (k, l) in range.clone().enumerate() {
                for (at, from) in direction(tree.bodies[i].kind, k) {
                    let rate = match from {
                        None => self.v[l],
                        Some((from, half)) => {
                            q[tree.bodies[i].q + from] * Expr::constant(half) * self.v[l]
                        }
                    };
                    let place = q[tree.bodies[i].q + at];
                    match seeds.iter_mut().find(|(known, _)| *known == place) {
                        Some((_, sum)) => *sum += rate,
                        None => seeds.push((place, rate)),
                    }
                }
            }
            let (mut own, mut rate) = (Motion::zero(), Motion::zero());
            for (column, l) in columns.iter().zip(range) {
                own = own + *column * self.v[l];
                let changing = rates(&column.to_array(), &seeds);
                let changing = Motion::new(
                    Vec3::new(changing[0], changing[1], changing[2]),
                    Vec3::new(changing[3], changing[4], changing[5]),
                );
                rate = rate + *column * self.vdot[l] + changing * self.v[l];
            }
            let two = Expr::constant(2.0);
            let omega = self.vector(&format!("omega[{i}]"), omega_in + own.angular);
            let alpha = alpha_in + rate.angular + omega.cross(own.angular);
            let alpha = self.vector(&format!("domega[{i}]"), alpha);
            let acceleration = point
                + rate.linear
                + omega_in.cross(own.linear) * two
                + own.angular.cross(own.linear);
            let acceleration = self.vector(&format!("acc[{i}]"), acceleration);
            motion.push([omega, alpha, acceleration]);
        }
        let mut load = vec![Force::<Expr>::zero(); n + 1];
        for i in (1..=n).rev() {
            self.open(Part::Load, i);
            let Rigid {
                mass,
                first,
                tensor,
            } = self.rigid[i];
            let [omega, alpha, acceleration] = motion[i];
            let force = acceleration * mass + alpha.cross(first) + omega.cross(omega.cross(first));
            let moment = first.cross(acceleration) + tensor * alpha + omega.cross(tensor * omega);
            let total = Force::new(moment, force) + load[i];
            let total = self.wrench(["n", "f"], &i.to_string(), total);
            for (column, l) in self.columns(i).into_iter().zip(tree.dof_range(i)) {
                let rotor = Expr::constant(self.model.dof(l).armature) * self.vdot[l];
                self.result(&format!("tau[{l}]"), total.dot(column) + rotor);
            }
            let parent = tree.parent(i);
            if parent != 0 {
                load[parent] += self.force_out(i, total);
            }
        }
    }

    /// J' = R J Rᵀ, then about the parent's origin; named after the rotation.
    fn rigid_out(&mut self, body: usize, own: Rigid) -> Rigid {
        let way = &self.ways[body];
        let mut tensor = own.tensor;
        if let Some((sin, cos)) = way.turn {
            tensor = tensor.turned_z(sin, cos);
        }
        let tensor = tensor.conjugate(way.placement.rotation);
        let arm = way.placement.translation;
        let first = self.outward(body, own.first);
        let first = self.vector(&format!("hb[{body}]"), first);
        let tensor = self.symmetric(&format!("Ab[{body}]"), tensor);
        // parallel axes: J + 2 (r·h) 1 − r hᵀ − h rᵀ + m (r·r 1 − r rᵀ)
        let two = Expr::constant(2.0);
        let isotropic = arm.dot(first) * two + own.mass * arm.dot(arm);
        let dyads = Sym3::from_upper(Mat3 {
            x: arm * first.x + first * arm.x + arm * (own.mass * arm.x),
            y: arm * first.y + first * arm.y + arm * (own.mass * arm.y),
            z: arm * first.z + first * arm.z + arm * (own.mass * arm.z),
        });
        Rigid {
            mass: own.mass,
            first: first + arm * own.mass,
            tensor: tensor + Sym3::isotropic(isotropic) - dyads,
        }
    }

    /// Composite bodies.
    fn composite(&mut self) {
        let n = self.model.body_count();
        let tree = self.model.tree().clone();
        let mut composite = self.rigid.clone();
        for i in (1..=n).rev() {
            self.open(Part::Composite, i);
            let sum = composite[i];
            let own = match (1..=n).any(|c| tree.parent(c) == i) {
                true => Rigid {
                    mass: self.named(&format!("mt[{i}]"), sum.mass),
                    first: self.vector(&format!("ht[{i}]"), sum.first),
                    tensor: self.symmetric(&format!("At[{i}]"), sum.tensor),
                },
                false => sum,
            };
            for (column, l) in self.columns(i).into_iter().zip(tree.dof_range(i)) {
                let mut wrench = Force::new(
                    own.tensor * column.angular + own.first.cross(column.linear),
                    column.linear * own.mass + column.angular.cross(own.first),
                );
                let mut j = i;
                loop {
                    wrench = self.wrench(["N", "F"], &format!("{l},{j}"), wrench);
                    for (at, m) in self.columns(j).into_iter().zip(tree.dof_range(j)) {
                        if m <= l {
                            let mut entry = wrench.dot(at);
                            if m == l {
                                entry += Expr::constant(self.model.dof(l).armature);
                            }
                            self.result(&format!("I[{m},{l}]"), entry);
                        }
                    }
                    if tree.parent(j) == 0 {
                        break;
                    }
                    wrench = self.force_out(j, wrench);
                    j = tree.parent(j);
                }
            }
            let parent = tree.parent(i);
            if parent != 0 {
                let out = self.rigid_out(i, own);
                let to = &mut composite[parent];
                to.mass += out.mass;
                to.first += out.first;
                to.tensor = to.tensor + out.tensor;
            }
        }
    }

    /// Articulated bodies: U and D.
    fn articulated(&mut self) {
        let n = self.model.body_count();
        let tree = self.model.tree().clone();
        let mut inertia: Vec<ArticulatedInertia<Expr>> = self
            .rigid
            .iter()
            .map(|rigid| ArticulatedInertia {
                rotational: rigid.tensor,
                coupling: Mat3::skew(rigid.first),
                translational: Sym3::isotropic(rigid.mass),
            })
            .collect();
        for i in (1..=n).rev() {
            self.open(Part::Articulated, i);
            let mut own = self.operator(["Ah", "Bh", "Ch"], &i.to_string(), inertia[i]);
            let (columns, range) = (self.columns(i), tree.dof_range(i));
            let several = range.len() > 1;
            let last = tree.parent(i) == 0;
            if tree.is_free_floating() && i == 1 {
                // Î_e: the base with all joints free of effort, before its own freedoms are eliminated
                for l in range.clone() {
                    let wrench = own.times(columns[l]);
                    for m in range.clone().take(l + 1) {
                        let rotor = match m == l {
                            true => Expr::constant(self.model.dof(l).armature),
                            false => Expr::zero(),
                        };
                        self.result(&format!("Ihat[{m},{l}]"), wrench.dot(columns[m]) + rotor);
                    }
                }
            }
            for l in range.clone().rev() {
                let column = columns[l - range.start];
                let hat = own.times(column);
                let hat = self.screw(&format!("psihat[{l}]"), hat);
                let rotor = Expr::constant(self.model.dof(l).armature);
                let pivot = self.result(&format!("d[{l}]"), hat.dot(column) + rotor);
                let mut psi = self.screw(&format!("psi[{l}]"), hat * pivot.recip());
                self.psi[l] = psi;
                if !last || l > range.start {
                    let index = match several {
                        true => format!("{i},{}", l + 1),
                        false => i.to_string(),
                    };
                    own = self.operator(["Ar", "Br", "Cr"], &index, own.minus_outer(hat, psi));
                }
                let mut j = i;
                loop {
                    for (at, m) in self.columns(j).into_iter().zip(tree.dof_range(j)) {
                        if m < l {
                            self.result(&format!("alpha[{m},{l}]"), psi.dot(at));
                        }
                    }
                    if tree.parent(j) == 0 {
                        break;
                    }
                    psi = self.force_out(j, psi);
                    j = tree.parent(j);
                    psi = self.screw(&format!("psi[{l},{j}]"), psi);
                }
            }
            if !last {
                let way = &self.ways[i];
                let mut turned = own;
                if let Some((sin, cos)) = way.turn {
                    turned = turned.turned_z(sin, cos);
                }
                let turned = turned.turned(way.placement.rotation);
                let arm = way.placement.translation;
                let turned = self.operator(["Ap", "Bp", "Cp"], &i.to_string(), turned);
                let parent = tree.parent(i);
                inertia[parent] = inertia[parent] + turned.shifted(arm);
            }
        }
    }

    /// The two substitutions: φ = τ − bias, then v̇.
    fn forward(&mut self) {
        let n = self.model.body_count();
        let (nv, tree) = (self.model.nv(), self.model.tree().clone());
        let symbols = |name: &str| Expr::symbols(name, nv);
        let (tau, bias, d) = (symbols("tau"), symbols("bias"), symbols("d"));
        let psi = self.psi.clone();
        let mut eta = vec![Force::<Expr>::zero(); n + 1];
        let mut freed = symbols("tauhat");
        for i in (1..=n).rev() {
            self.open(Part::Reduction, i);
            let (columns, range) = (self.columns(i), tree.dof_range(i));
            let mut own = self.screw(&format!("eta[{i}]"), eta[i]);
            for l in range.clone().rev() {
                let value = tau[l] - bias[l] - own.dot(columns[l - range.start]);
                freed[l] = self.result(&format!("tauhat[{l}]"), value);
                own += psi[l] * freed[l];
            }
            let parent = tree.parent(i);
            if parent != 0 {
                eta[parent] += self.force_out(i, own);
            }
        }
        let mut mu = vec![Motion::<Expr>::zero(); n + 1];
        for i in 1..=n {
            self.open(Part::Substitution, i);
            let (columns, range) = (self.columns(i), tree.dof_range(i));
            let before = mu[tree.parent(i)];
            let arm = self.ways[i].placement.translation;
            let mut own = Motion::new(
                self.inward(i, before.angular),
                self.inward(i, before.linear + before.angular.cross(arm)),
            );
            for l in range.clone() {
                let carried = psi[l].dot(own);
                let value = freed[l] / d[l] - carried;
                // the name of the result, not of the input of the inverse
                self.result(&format!("vdot[{l}]"), value);
                own = own + columns[l - range.start] * self.vdot[l];
            }
            let has_children = (i + 1..=n).any(|c| tree.parent(c) == i);
            if has_children {
                mu[i] = Motion::new(
                    self.vector(&format!("mu[{i}]"), own.angular),
                    self.vector(&format!("nu[{i}]"), own.linear),
                );
            }
        }
    }
}
