//! The recursions of the papers with the numbers of one robot: every quantity gets a name, and a formula in terms of earlier names.
//!
//! Newton–Euler for τ, composite bodies for I, articulated bodies for U and D, and the two substitutions for v̇ (Saha 1999, sections 4
//! and 5), about body origins in body axes. They are written here a second time, step by step, because a page needs intermediate
//! quantities that the library's own recursions do not expose; [`Recursion::difference`] compares the two. The recursions in the papers'
//! variables, about mass centres, are in `paper.rs`.

use super::elements::{self, Value};
use super::symbolic::{Central, Symbolic, symbolic};
use super::{Symbols, expect_usable, without_dry_friction};
use crate::generate::direction;
use crate::{Expr, Formula, rates, scope};
use catena::algorithm::factorization::Factorization;
use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::algorithm::passive::passive_force;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{ForceLaw, JointKind};
use catena::residual::larger;
use catena::scalar::DoubleDouble;
use catena::spatial::{ArticulatedInertia, Force, Mat3, Motion, Pose, Sym3, Vec3};
use catena::{Base, Matrix, Model, Scalar, State, StateView};
use std::collections::HashMap;

/// Variables in which the recursions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notation {
    /// The variables of this library: loads, accelerations and inertias about the joints.
    #[default]
    Catena,
    /// The variables of Saha's papers: B, p and M, twists and wrenches of the mass centres.
    Paper,
}

/// A name and its definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name, as `omega[2].x`.
    pub name: String,
    /// Its definition, in names defined before, coordinates and symbols of the model.
    pub value: Value,
}

/// Quantities of one kind for one body.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which recursion it belongs to.
    pub part: Part,
    /// The body, from 1.
    pub body: usize,
    /// The force element, from 0, if the quantities are those of one.
    pub element: Option<usize>,
    /// The quantities in order.
    pub definitions: Vec<Definition>,
}

/// The recursions of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// First moments and inertia tensors about the joints; in the papers' notation the constituents of B, p and M.
    Constants,
    /// Velocities and accelerations, base to tips.
    Motion,
    /// Force elements: poses of the bodies they act on, their quantities, their wrenches.
    Elements,
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
    /// The computed quantities, in order.
    pub sections: Vec<Section>,
    /// The symbols of the model's numbers, with their values.
    pub values: Vec<(String, f64)>,
    /// Variables in which they are written.
    pub notation: Notation,
}

impl Recursion {
    /// Derives them. Dry friction is left out; springs, dampers and rotor inertias are not.
    pub fn new(model: &Model, symbols: impl Into<Symbols>, notation: Notation) -> Result<Self> {
        let symbols = symbols.into();
        expect_usable(model)?;
        let model = without_dry_friction(model);
        scope(|| {
            let mut values = Vec::new();
            let symbolic = symbolic(&model, &symbols, &mut values);
            let mut notebook = Notebook::new(&model, symbolic);
            match notation {
                Notation::Catena => {
                    notebook.constants();
                    notebook.inverse();
                    notebook.composite();
                    notebook.articulated();
                    notebook.forward();
                }
                Notation::Paper => notebook.papers(),
            }
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
                    notation,
                }),
            }
        })
    }

    /// Largest difference between the results of the steps at random states and the library's own τ, I, U, D, each relative to its largest
    /// entry, and the residual of I v̇ = τ − bias, relative to the largest effort. Both with twice the digits of a double, so that a
    /// difference is due to the formulas and not to round-off.
    pub fn difference(&self, model: &Model) -> f64 {
        type D = DoubleDouble;
        let model = &without_dry_friction(model);
        let nv = model.nv();
        let base = Base::fixed();
        let mut worst = 0.0f64;
        let size_of = |x: &D| x.value().abs();
        for seed in [7, 8] {
            let mut state: State<D> = State::random(model, seed).lift();
            state.step(model, &vec![D::zero(); nv]); // quaternions of length one in these digits
            let (q, v) = (&state.q, &state.v);
            let vdot: Vec<D> = State::random(model, seed + 2).lift().v;
            let efforts = |vdot: &[D]| {
                let mut tau = vec![D::zero(); nv];
                let state = StateView { q, v, base: &base };
                let mut work = InverseDynamics::new(model);
                inverse_dynamics(model, state, vdot, &[], &mut work, &mut tau);
                tau
            };
            let (tau, bias) = (efforts(&vdot), efforts(&vec![D::zero(); nv]));
            let mut inertia: Matrix<D> = Matrix::zeros(nv, nv);
            let mut work = CompositeBodies::new(model);
            inertia_matrix(model, q, &mut work, inertia.as_mut_slice());
            let mut factors = Factorization::new(model);
            factors.factorize(model, q);
            let (u, d) = (factors.u(model), factors.d());
            let unknown = D::constant(f64::NAN); // used before it is defined: the difference is no number
            let found = self.evaluate(|name| match self.values.iter().find(|(n, _)| n == name) {
                Some((_, value)) => D::constant(*value),
                None => {
                    let (array, index) = name
                        .trim_end_matches(']')
                        .split_once('[')
                        .unwrap_or((name, ""));
                    let list = match array {
                        "q" => q,
                        "v" => v,
                        "vdot" => &vdot,
                        "bias" => &bias,
                        _ => return unknown,
                    };
                    index
                        .parse()
                        .ok()
                        .and_then(|k: usize| list.get(k).copied())
                        .unwrap_or(unknown)
                }
            });
            // zero where one freedom is not on the path of the other
            let entry = |name: String| found.get(&name).copied().unwrap_or(D::zero());
            let mut compare = |pairs: Vec<(D, D)>| {
                let size = pairs
                    .iter()
                    .fold(f64::MIN_POSITIVE, |m, (_, x)| m.max(size_of(x)));
                let far = pairs.iter().map(|(a, b)| size_of(&(*a - *b)));
                worst = larger(worst, far.fold(0.0, larger) / size);
            };
            let upper = || (0..nv).flat_map(|k| (0..=k).map(move |i| (i, k)));
            compare(
                (0..nv)
                    .map(|k| (entry(format!("tau[{k}]")), tau[k]))
                    .collect(),
            );
            compare((0..nv).map(|k| (entry(format!("d[{k}]")), d[k])).collect());
            compare(
                upper()
                    .map(|(i, k)| (entry(format!("I[{i},{k}]")), inertia[(i, k)]))
                    .collect(),
            );
            let alpha = |i: usize, k: usize| match i == k {
                true => D::one(),
                false => entry(format!("alpha[{i},{k}]")),
            };
            compare(upper().map(|(i, k)| (alpha(i, k), u[(i, k)])).collect());
            let (mut size, mut missed) = (f64::MIN_POSITIVE, 0.0);
            for i in 0..nv {
                let (mut sum, mut sizes) = (D::zero(), 0.0);
                for k in 0..nv {
                    sum += inertia[(i, k)] * (entry(format!("vdot[{k}]")) - vdot[k]);
                    sizes += size_of(&(inertia[(i, k)] * vdot[k]));
                }
                missed = larger(missed, size_of(&sum));
                size = size.max(sizes).max(size_of(&tau[i])).max(size_of(&bias[i]));
            }
            worst = larger(worst, missed / size);
        }
        worst
    }

    /// The values of all names, given those of q, v, vdot, tau, bias and the model's symbols.
    pub fn evaluate<S: Scalar>(&self, symbol: impl Fn(&str) -> S) -> HashMap<String, S> {
        let mut known: HashMap<String, S> = HashMap::new();
        for definition in self.sections.iter().flat_map(|s| &s.definitions) {
            let get = |name: &str| match known.get(name) {
                Some(value) => *value,
                None => symbol(name),
            };
            let value = definition.value.evaluate(get);
            known.insert(definition.name.clone(), value);
        }
        known
    }

    /// The formula of a name.
    pub fn find(&self, name: &str) -> Option<&Formula> {
        let mut all = self.sections.iter().flat_map(|s| &s.definitions);
        all.find(|d| d.name == name).and_then(|d| d.value.formula())
    }
}

/// Sums of force elements with more terms than this get names.
const NAMED: usize = 12;

const AXES: [&str; 3] = ["x", "y", "z"];
const PAIRS: [&str; 6] = ["xx", "yy", "zz", "xy", "xz", "yz"];

/// From a body to its parent: rotation about z, then a constant placement; or any pose.
pub(super) struct Way {
    pub turn: Option<(Expr, Expr)>,
    pub placement: Pose<Expr>,
}

/// A rigid body about a point of it: the joint here, the mass centre in the papers.
#[derive(Clone, Copy)]
pub(super) struct Rigid {
    pub mass: Expr,
    pub first: Vec3<Expr>,
    pub tensor: Sym3<Expr>,
}

impl Rigid {
    /// The body about another point, from which the present one is at `arm`: J + 2 (r·h) 1 − r hᵀ − h rᵀ + m (r·r 1 − r rᵀ).
    pub fn shifted(self, arm: Vec3<Expr>) -> Self {
        let Rigid {
            mass,
            first,
            tensor,
        } = self;
        let two = Expr::constant(2.0);
        let isotropic = arm.dot(first) * two + mass * arm.dot(arm);
        let dyads = Sym3::from_upper(Mat3 {
            x: arm * first.x + first * arm.x + arm * (mass * arm.x),
            y: arm * first.y + first * arm.y + arm * (mass * arm.y),
            z: arm * first.z + first * arm.z + arm * (mass * arm.z),
        });
        Rigid {
            mass,
            first: first + arm * mass,
            tensor: tensor + Sym3::isotropic(isotropic) - dyads,
        }
    }

    /// The wrench that it needs for a unit of an acceleration.
    pub fn times(self, m: Motion<Expr>) -> Force<Expr> {
        Force::new(
            self.tensor * m.angular + self.first.cross(m.linear),
            m.linear * self.mass + m.angular.cross(self.first),
        )
    }

    pub fn articulated(self) -> ArticulatedInertia<Expr> {
        ArticulatedInertia {
            rotational: self.tensor,
            coupling: Mat3::skew(self.first),
            translational: Sym3::isotropic(self.mass),
        }
    }
}

pub(super) struct Notebook<'a> {
    pub model: &'a Model,
    pub symbolic: Model<Expr>,
    pub rotors: Vec<Expr>,
    /// The bodies about their mass centres.
    pub central: Vec<Central>,
    pub sections: Vec<Section>,
    pub too_long: Option<String>,
    pub kinematics: Kinematics<Expr>,
    pub ways: Vec<Way>,
    pub rigid: Vec<Rigid>,
    pub v: Vec<Expr>,
    pub vdot: Vec<Expr>,
    /// ψ of every freedom, once they are known.
    pub psi: Vec<Force<Expr>>,
}

impl<'a> Notebook<'a> {
    fn new(model: &'a Model, symbolic: Symbolic) -> Self {
        let Symbolic {
            model: symbolic,
            rotors,
            bodies: central,
        } = symbolic;
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
        Notebook {
            model,
            rotors,
            central,
            sections: Vec::new(),
            too_long: None,
            kinematics,
            ways,
            rigid: Vec::new(),
            v: Expr::symbols("v", nv),
            vdot: Expr::symbols("vdot", nv),
            psi: vec![Force::zero(); nv],
            symbolic,
        }
    }

    pub(super) fn open(&mut self, part: Part, body: usize) {
        self.sections.push(Section {
            part,
            body,
            element: None,
            definitions: Vec::new(),
        });
    }

    /// Records a definition.
    pub(super) fn write(&mut self, name: &str, value: Expr) -> Option<Formula> {
        let formula = Formula::of(&[value]).map(|mut list| list.remove(0));
        if formula.is_none() {
            self.too_long.get_or_insert(name.into());
        }
        formula
    }

    pub(super) fn push(&mut self, name: &str, formula: Formula) {
        let section = self.sections.last_mut().expect("one is open");
        section.definitions.push(Definition {
            name: name.into(),
            value: Value::Sum(formula),
        });
    }

    /// A result: it is always recorded.
    pub(super) fn result(&mut self, name: &str, value: Expr) -> Expr {
        if let Some(formula) = self.write(name, value) {
            self.push(name, formula);
        }
        Expr::symbol(name)
    }

    /// An intermediate quantity: numbers and single symbols need no name.
    pub(super) fn named(&mut self, name: &str, value: Expr) -> Expr {
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

    pub(super) fn vector(&mut self, name: &str, value: Vec3<Expr>) -> Vec3<Expr> {
        let mut made = value.to_array();
        for (x, axis) in made.iter_mut().zip(AXES) {
            *x = self.named(&format!("{name}.{axis}"), *x);
        }
        Vec3::from_array(made)
    }

    pub(super) fn symmetric(&mut self, name: &str, s: Sym3<Expr>) -> Sym3<Expr> {
        let mut made = [s.xx, s.yy, s.zz, s.xy, s.xz, s.yz];
        for (x, pair) in made.iter_mut().zip(PAIRS) {
            *x = self.named(&format!("{name}.{pair}"), *x);
        }
        let [xx, yy, zz, xy, xz, yz] = made;
        Sym3::new(xx, yy, zz, xy, xz, yz)
    }

    pub(super) fn matrix(&mut self, name: &str, m: Mat3<Expr>) -> Mat3<Expr> {
        let mut rows = m.rows();
        for (row, first) in rows.iter_mut().zip(AXES) {
            for (x, second) in row.iter_mut().zip(AXES) {
                *x = self.named(&format!("{name}.{first}{second}"), *x);
            }
        }
        Mat3::from_rows(rows)
    }

    pub(super) fn wrench(&mut self, names: [&str; 2], index: &str, f: Force<Expr>) -> Force<Expr> {
        Force::new(
            self.vector(&format!("{}[{index}]", names[0]), f.moment),
            self.vector(&format!("{}[{index}]", names[1]), f.force),
        )
    }

    /// ψ̂, ψ, η: six components under one letter.
    pub(super) fn screw(&mut self, name: &str, f: Force<Expr>) -> Force<Expr> {
        let mut parts = f.to_array();
        for (x, part) in parts.iter_mut().zip(["nx", "ny", "nz", "fx", "fy", "fz"]) {
            *x = self.named(&format!("{name}.{part}"), *x);
        }
        let [a, b, c, d, e, f] = parts;
        Force::new(Vec3::new(a, b, c), Vec3::new(d, e, f))
    }

    pub(super) fn operator(
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

    pub(super) fn columns(&self, body: usize) -> Vec<Motion<Expr>> {
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
    pub(super) fn inward(&self, body: usize, x: Vec3<Expr>) -> Vec3<Expr> {
        let way = &self.ways[body];
        let placed = way.placement.rotation.transpose_times(x);
        match way.turn {
            Some((sin, cos)) => placed.turned_z(-sin, cos),
            None => placed,
        }
    }

    /// A vector of the body in the axes of the parent.
    pub(super) fn outward(&self, body: usize, x: Vec3<Expr>) -> Vec3<Expr> {
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

    /// The rates of the positions of a body's joint.
    pub(super) fn position_rates(&self, body: usize) -> Vec<(Expr, Expr)> {
        let tree = self.model.tree();
        let q: Vec<Expr> = Expr::symbols("q", self.model.nq());
        let mut seeds: Vec<(Expr, Expr)> = Vec::new();
        let info = &tree.bodies[body];
        for (k, l) in tree.dof_range(body).enumerate() {
            for (at, from) in direction(info.kind, k) {
                let rate = match from {
                    None => self.v[l],
                    Some((from, half)) => q[info.q + from] * Expr::constant(half) * self.v[l],
                };
                let place = q[info.q + at];
                match seeds.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, sum)) => *sum += rate,
                    None => seeds.push((place, rate)),
                }
            }
        }
        seeds
    }

    /// Rate of change of a column relative to its body.
    pub(super) fn change(column: Motion<Expr>, seeds: &[(Expr, Expr)]) -> Motion<Expr> {
        let changing = rates(&column.to_array(), seeds);
        Motion::new(
            Vec3::new(changing[0], changing[1], changing[2]),
            Vec3::new(changing[3], changing[4], changing[5]),
        )
    }

    /// Loads on a freedom's effort besides the bodies: its rotor, its spring, its damper.
    pub(super) fn at_joint(&self, l: usize) -> Expr {
        let q = Expr::symbols("q", self.model.nq());
        self.rotors[l] * self.vdot[l] + passive_force(&self.symbolic, &q, &self.v, l)
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
            let seeds = self.position_rates(i);
            let (mut own, mut rate) = (Motion::zero(), Motion::zero());
            for (column, l) in columns.iter().zip(range) {
                own = own + *column * self.v[l];
                let changing = Self::change(*column, &seeds);
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
        let mut load = self.elements(|notebook, i, before| {
            // the velocity of the origin, from that of the origin before
            let parent = tree.parent(i);
            let [carried, own] = [motion[parent][0], motion[i][0]];
            let arm = notebook.ways[i].placement.translation;
            let mut linear = notebook.inward(i, before.linear + carried.cross(arm));
            for (column, l) in notebook.columns(i).into_iter().zip(tree.dof_range(i)) {
                linear += column.linear * notebook.v[l];
            }
            let linear = notebook.vector(&format!("u[{i}]"), linear);
            Motion::new(own, linear)
        });
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
                let more = self.at_joint(l);
                self.result(&format!("tau[{l}]"), total.dot(column) + more);
            }
            let parent = tree.parent(i);
            if parent != 0 {
                load[parent] += self.force_out(i, total);
            }
        }
    }

    /// Contribution of force elements to the loads of the bodies: minus their wrenches, in body axes about the origins. `velocity` gives that
    /// of a body, of its origin and in its axes, from that of the body before.
    pub(super) fn elements(
        &mut self,
        velocity: impl Fn(&mut Self, usize, Motion<Expr>) -> Motion<Expr>,
    ) -> Vec<Force<Expr>> {
        let (n, tree) = (self.model.body_count(), self.model.tree().clone());
        let mut load = vec![Force::<Expr>::zero(); n + 1];
        if self.symbolic.forces().is_empty() {
            return load;
        }
        // bodies that elements act on, and those before them
        let mut acted_on = vec![false; n + 1];
        for element in self.symbolic.forces() {
            let bodies: Vec<usize> = match &element.law {
                ForceLaw::Spring(spring) => spring.ends.iter().map(|end| end.body).collect(),
                ForceLaw::Torsion(torsion) => torsion.bodies.to_vec(),
                ForceLaw::Constant(constant) => vec![constant.at.body],
                ForceLaw::Drag(drag) => vec![drag.at.body],
                ForceLaw::GravityGradient(_) => (1..=n).collect(),
            };
            for body in bodies {
                acted_on[body] = true;
            }
        }
        let acts: Vec<usize> = (1..=n).filter(|&i| acted_on[i]).collect();
        for i in (1..=n).rev().filter(|&i| i != 0) {
            if acted_on[i] {
                acted_on[tree.parent(i)] = true;
            }
        }
        let mut laws = self.symbolic.forces().iter().map(|element| &element.law);
        let moving = laws.any(elements::reads_velocities);
        let mut kinematics = Kinematics::new(&self.symbolic);
        for i in (1..=n).filter(|&i| acted_on[i]) {
            self.open(Part::Elements, i);
            let parent = tree.parent(i);
            let before = kinematics.world_from_body[parent];
            let way = &self.ways[i];
            let mut rotation = before.rotation * way.placement.rotation;
            let origin = before.rotation * way.placement.translation + before.translation;
            if let Some((sin, cos)) = way.turn {
                rotation = rotation.times_rotation_z(sin, cos);
            }
            kinematics.world_from_body[i] = Pose::new(
                self.matrix(&format!("R[{i}]"), rotation),
                self.vector(&format!("o[{i}]"), origin),
            );
            if moving {
                let before = kinematics.velocity[parent];
                kinematics.velocity[i] = velocity(self, i, before);
            }
        }
        let mut wrenches = vec![Force::<Expr>::zero(); n + 1];
        for k in 0..self.symbolic.forces().len() {
            self.open(Part::Elements, 0);
            let section = self.sections.last_mut().expect("one is open");
            section.element = Some(k);
            match elements::element(&self.symbolic, k, &kinematics, NAMED, &mut wrenches) {
                Some(quantities) => {
                    let made = quantities.into_iter().map(|quantity| Definition {
                        name: quantity.name,
                        value: quantity.value,
                    });
                    section.definitions.extend(made);
                }
                None => {
                    let name = self.symbolic.forces()[k].name.to_string();
                    self.too_long.get_or_insert(name);
                }
            }
        }
        for i in acts {
            self.open(Part::Elements, i);
            let named = self.screw(&format!("w[{i}]"), wrenches[i]);
            load[i] = Force::zero() - named;
        }
        load
    }

    /// J' = R J Rᵀ with names, then about a point of the parent, from which the present one is at `arm`.
    pub(super) fn rigid_out(&mut self, body: usize, own: Rigid, arm: Vec3<Expr>) -> Rigid {
        let way = &self.ways[body];
        let mut tensor = own.tensor;
        if let Some((sin, cos)) = way.turn {
            tensor = tensor.turned_z(sin, cos);
        }
        let tensor = tensor.conjugate(way.placement.rotation);
        let first = self.outward(body, own.first);
        let first = self.vector(&format!("hb[{body}]"), first);
        let tensor = self.symmetric(&format!("Ab[{body}]"), tensor);
        let turned = Rigid {
            mass: own.mass,
            first,
            tensor,
        };
        turned.shifted(arm)
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
                let mut wrench = own.times(column);
                let mut j = i;
                loop {
                    wrench = self.wrench(["N", "F"], &format!("{l},{j}"), wrench);
                    for (at, m) in self.columns(j).into_iter().zip(tree.dof_range(j)) {
                        if m <= l {
                            let mut entry = wrench.dot(at);
                            if m == l {
                                entry += self.rotors[l];
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
                let out = self.rigid_out(i, own, self.ways[i].placement.translation);
                let to = &mut composite[parent];
                to.mass += out.mass;
                to.first += out.first;
                to.tensor = to.tensor + out.tensor;
            }
        }
    }

    /// R M Rᵀ with names, then about a point of the parent, from which the present one is at `arm`.
    pub(super) fn operator_out(
        &mut self,
        body: usize,
        own: ArticulatedInertia<Expr>,
        arm: Vec3<Expr>,
    ) -> ArticulatedInertia<Expr> {
        let way = &self.ways[body];
        let turned = match way.turn {
            Some((sin, cos)) => own.turned_z(sin, cos),
            None => own,
        };
        let turned = turned.turned(way.placement.rotation);
        let turned = self.operator(["Ap", "Bp", "Cp"], &body.to_string(), turned);
        turned.shifted(arm)
    }

    /// Articulated bodies: U and D.
    fn articulated(&mut self) {
        let n = self.model.body_count();
        let tree = self.model.tree().clone();
        let mut inertia: Vec<ArticulatedInertia<Expr>> =
            self.rigid.iter().map(|rigid| rigid.articulated()).collect();
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
                            true => self.rotors[l],
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
                let pivot = hat.dot(column) + self.rotors[l];
                let pivot = self.result(&format!("d[{l}]"), pivot);
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
                let arm = self.ways[i].placement.translation;
                let parent = tree.parent(i);
                inertia[parent] = inertia[parent] + self.operator_out(i, own, arm);
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
