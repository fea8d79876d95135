//! Force elements as formulas.
//!
//! A formula has neither roots nor branches, so roots and branches of an element get names: the length ℓ of a spring, its tension F, the angle φ of
//! a torsion, and e for others. The wrenches, traced from [`act`], are formulas in these names; as efforts they are
//!
//! ```text
//! w = Σ Jᵀ (wrenches of the elements),   τ = I v̇ + C v + g + s − w
//! ```

use super::without_dry_friction;
use crate::calculus::reachable;
use crate::expr::with_graph;
use crate::formula::LONGEST;
use crate::graph::{Handle, Node};
use crate::math::Math;
use crate::{Expr, Formula, substitute};
use catena::algorithm::elements::{act, atan2, deflection_of, element_wrenches, generalized};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::model::{ForceLaw, GravityGradient};
use catena::residual::larger;
use catena::scalar::DoubleDouble;
use catena::spatial::Force;
use catena::{Base, Model, Scalar, State, StateView};
use std::collections::HashMap;

/// Definition of a name.
#[derive(Clone, Debug)]
pub enum Value {
    /// A formula.
    Sum(Formula),
    /// The square root of one.
    Root(Formula),
    /// The angle of a point, between −π and π.
    Angle {
        /// Its sine, times a positive factor.
        sine: Formula,
        /// Its cosine, times the same factor.
        cosine: Formula,
    },
    /// One of two.
    Choice {
        /// The smaller one where `yes` holds.
        left: Formula,
        /// The larger one.
        right: Formula,
        /// Where left < right.
        yes: Formula,
        /// Elsewhere.
        no: Formula,
    },
}

impl Value {
    /// Its value, given those of the symbols by name.
    pub fn evaluate<S: Scalar>(&self, symbol: impl Fn(&str) -> S) -> S {
        let of = |formula: &Formula| formula.evaluate(&symbol);
        match self {
            Value::Sum(formula) => of(formula),
            Value::Root(formula) => of(formula).sqrt(),
            Value::Angle { sine, cosine } => atan2(of(sine), of(cosine)),
            Value::Choice {
                left,
                right,
                yes,
                no,
            } => S::select(of(left).less(of(right)), of(yes), of(no)),
        }
    }

    /// The value as a Python expression for SymPy.
    pub fn sympy(&self, name: impl Fn(&str) -> String) -> String {
        let of = |formula: &Formula| formula.sympy(&name);
        match self {
            Value::Sum(formula) => of(formula),
            Value::Root(formula) => format!("sqrt({})", of(formula)),
            Value::Angle { sine, cosine } => format!("atan2({}, {})", of(sine), of(cosine)),
            Value::Choice {
                left,
                right,
                yes,
                no,
            } => format!(
                "Piecewise(({}, {} < {}), ({}, True))",
                of(yes),
                of(left),
                of(right),
                of(no)
            ),
        }
    }

    /// The terms of its sum, for reading.
    pub fn math(&self, name: &dyn Fn(&str) -> Math) -> Vec<(bool, Math)> {
        let of = |formula: &Formula| super::document::joined(&formula.math(name));
        let operator = Math::operator;
        let whole = match self {
            Value::Sum(formula) => return formula.math(name),
            Value::Root(formula) => Math::Root(Box::new(of(formula))),
            Value::Angle { sine, cosine } => Math::Row(vec![
                Math::Function("arg".into()),
                Math::Parentheses(Box::new(Math::Row(vec![
                    of(cosine),
                    operator(","),
                    of(sine),
                ]))),
            ]),
            Value::Choice {
                left,
                right,
                yes,
                no,
            } => {
                // [left < right] is 1 where that holds, or else 0
                let held = |a: &Formula, b: &Formula, relation: &str| {
                    Math::Row(vec![
                        operator("["),
                        of(a),
                        operator(relation),
                        of(b),
                        operator("]"),
                    ])
                };
                let factor = |formula: &Formula| match formula.term_count() {
                    1 => of(formula),
                    _ => Math::Parentheses(Box::new(of(formula))),
                };
                let mut terms = Vec::new();
                for (value, relation) in [(yes, "<"), (no, "\\ge")] {
                    if !value.is_zero() {
                        let parts = vec![factor(value), held(left, right, relation)];
                        terms.push((false, Math::Row(parts)));
                    }
                }
                return terms;
            }
        };
        vec![(false, whole)]
    }

    /// Its formula, if it is only a formula.
    pub fn formula(&self) -> Option<&Formula> {
        match self {
            Value::Sum(formula) => Some(formula),
            _ => None,
        }
    }
}

/// A quantity of an element and its definition.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// Its name, as `tension[1]`.
    pub name: String,
    /// Its definition, in names defined before, coordinates and symbols of the model.
    pub value: Value,
}

/// The force elements of a model in closed form.
#[derive(Clone, Debug)]
pub struct Elements {
    /// Lengths, tensions and angles of each element, in order; none where they have too many terms to read.
    pub quantities: Option<Vec<Vec<Quantity>>>,
    /// w, in these names.
    pub efforts: Option<Vec<Formula>>,
}

impl Elements {
    /// Largest difference between the efforts and the library's at random states, relative to the largest effort; none where they are too long.
    pub fn difference(&self, model: &Model, values: &[(String, f64)]) -> Option<f64> {
        type D = DoubleDouble;
        let (quantities, efforts) = (self.quantities.as_ref()?, self.efforts.as_ref()?);
        let model = &without_dry_friction(model);
        let mut worst = 0.0f64;
        for seed in [7, 8] {
            let mut state: State<D> = State::random(model, seed).lift();
            state.step(model, &vec![D::zero(); model.nv()]); // quaternions of length one in these digits
            let base = Base::fixed();
            let at = StateView {
                q: &state.q,
                v: &state.v,
                base: &base,
            };
            let mut kinematics = Kinematics::new(model);
            forward_kinematics(model, at, &vec![D::zero(); model.nv()], &mut kinematics);
            let mut wrenches = vec![Force::zero(); model.body_count() + 1];
            element_wrenches(model, &kinematics, &mut wrenches);
            let mut known = vec![D::zero(); model.nv()];
            generalized(model, &kinematics, &mut wrenches, &mut known);
            let mut named: Vec<(String, D)> = values
                .iter()
                .map(|(name, x)| (name.clone(), D::constant(*x)))
                .collect();
            for (array, list) in [("q", &state.q), ("v", &state.v)] {
                let names = (0..list.len()).map(|k| format!("{array}[{k}]"));
                named.extend(names.zip(list.iter().copied()));
            }
            fn find(named: &[(String, DoubleDouble)], name: &str) -> DoubleDouble {
                let found = named.iter().find(|(known, _)| known == name);
                found.map_or(DoubleDouble::constant(f64::NAN), |(_, x)| *x)
            }
            for quantity in quantities.iter().flatten() {
                let value = quantity.value.evaluate(|name: &str| find(&named, name));
                named.push((quantity.name.clone(), value));
            }
            let size = known
                .iter()
                .fold(f64::MIN_POSITIVE, |m, x| larger(m, x.value().abs()));
            for (formula, known) in efforts.iter().zip(&known) {
                let found = formula.evaluate(|name: &str| find(&named, name));
                worst = larger(worst, (found - *known).value().abs() / size);
            }
        }
        Some(worst)
    }
}

/// The efforts of the elements of a tree at q, v in the names of their quantities, and these quantities.
pub(super) fn efforts(symbolic: &Model<Expr>) -> (Option<Vec<Vec<Quantity>>>, Vec<Expr>) {
    let nv = symbolic.nv();
    let (q, v) = (Expr::symbols("q", symbolic.nq()), Expr::symbols("v", nv));
    let (still, base) = (vec![Expr::zero(); nv], Base::fixed());
    let state = StateView {
        q: &q,
        v: &v,
        base: &base,
    };
    let mut kinematics = Kinematics::new(symbolic);
    forward_kinematics(symbolic, state, &still, &mut kinematics);
    let mut wrenches = vec![Force::zero(); symbolic.body_count() + 1];
    let mut all = Some(Vec::new());
    for k in 0..symbolic.forces().len() {
        let found = element(symbolic, k, &kinematics, LONGEST, &mut wrenches);
        all = all.zip(found).map(|(mut all, found)| {
            all.push(found);
            all
        });
    }
    let mut efforts = still;
    generalized(symbolic, &kinematics, &mut wrenches, &mut efforts);
    (all, efforts)
}

/// Adds the wrenches of element k in the names of its quantities, and returns these; sums of more than `most` terms get names too. None where one
/// has too many terms.
pub(super) fn element(
    symbolic: &Model<Expr>,
    k: usize,
    kinematics: &Kinematics<Expr>,
    most: usize,
    wrenches: &mut [Force<Expr>],
) -> Option<Vec<Quantity>> {
    let element = &symbolic.forces()[k];
    let mut own = vec![Force::<Expr>::zero(); wrenches.len()];
    let action = act(element, symbolic, kinematics, &mut own);
    let mut roots: Vec<Expr> = own.iter().flat_map(|w| w.to_array()).collect();
    let mut quantities = Vec::new();
    let named = |letter: &str| format!("{letter}[{}]", k + 1);
    let mut preferred: Vec<(Expr, String)> = Vec::new();
    match &element.law {
        ForceLaw::Spring(_) => {
            let [tension, length, rate] = action.measures;
            preferred.push((length, named("length")));
            preferred.push((rate, named("rate")));
            preferred.push((tension, named("tension")));
        }
        ForceLaw::Torsion(torsion) => {
            let [torque, angle, _] = action.measures;
            // its arc tangent is a series with branches: the angle is named by its sine and cosine
            let deflection = angle - Expr::constant(torsion.rest);
            let [sine, cosine] = deflection_of(torsion, kinematics);
            let name = named("deflection");
            let symbol = Expr::symbol(&name);
            let mut list = roots.clone();
            list.push(torque);
            let mut list = substitute(&list, &[(deflection, symbol)]);
            preferred.push((list.pop()?, named("torque")));
            roots = list;
            let mut of = Formula::of(&[sine, cosine])?;
            let cosine = of.pop()?;
            quantities.push(Quantity {
                name,
                value: Value::Angle {
                    sine: of.pop()?,
                    cosine,
                },
            });
        }
        _ => {}
    }
    let roots = name_parts(k, &roots, &preferred, most, &mut quantities)?;
    for (wrench, six) in wrenches.iter_mut().zip(roots.chunks(6)) {
        let vector = |at: usize| catena::spatial::Vec3::new(six[at], six[at + 1], six[at + 2]);
        *wrench += Force::new(vector(0), vector(3));
    }
    Some(quantities)
}

/// Names everything that has no formula (roots, choices, sums in denominators), the preferred parts, and sums of more than `most` terms. None
/// where something has more terms than formulas may have.
fn name_parts(
    k: usize,
    roots: &[Expr],
    preferred: &[(Expr, String)],
    most: usize,
    quantities: &mut Vec<Quantity>,
) -> Option<Vec<Expr>> {
    let handles: Vec<Handle> = roots.iter().map(|root| root.handle()).collect();
    let mut names: Vec<(Expr, Expr)> = Vec::new();
    let mut known: HashMap<usize, Formula> = HashMap::new();
    let mut others = 0;
    for node in with_graph(|graph| reachable(graph, &handles)) {
        let whole = Expr::from_handle(Handle::new(node, false));
        let kind = with_graph(|graph| graph.nodes[node]);
        let of = |x: Handle| match x.negative() {
            true => known[&x.node()].scaled(-1.0),
            false => known[&x.node()].clone(),
        };
        let mut other = || {
            others += 1;
            format!("e[{},{others}]", k + 1)
        };
        if let Node::Recip(a) = kind
            && of(a).term_count() > 1
        {
            // a quotient by a sum: the sum gets the name
            let (name, value) = (other(), Value::Sum(of(a)));
            names.push((Expr::from_handle(a), Expr::symbol(&name)));
            let divisor = Formula::symbol(&name, 1);
            known.insert(
                a.node(),
                divisor.scaled(if a.negative() { -1.0 } else { 1.0 }),
            );
            known.insert(node, Formula::symbol(&name, -1));
            quantities.push(Quantity { name, value });
            continue;
        }
        let value = match kind {
            Node::Sqrt(a) => Value::Root(of(a)),
            Node::Select {
                left,
                right,
                yes,
                no,
            } => Value::Choice {
                left: of(left),
                right: of(right),
                yes: of(yes),
                no: of(no),
            },
            _ => Value::Sum(with_graph(|graph| Formula::of_node(graph, node, &of))?),
        };
        let wanted = preferred.iter().find_map(|(part, name)| match *part {
            part if part == whole => Some((1.0, name.clone())),
            part if part == -whole => Some((-1.0, name.clone())),
            _ => None,
        });
        let (sign, name) = match (&value, wanted) {
            (Value::Sum(formula), wanted) => {
                if formula.term_count() > LONGEST {
                    return None;
                }
                match wanted {
                    // a quantity of one symbol needs no name
                    Some(found) if !formula.is_plain() => found,
                    _ if formula.term_count() > most => (1.0, other()),
                    _ => {
                        known.insert(node, formula.clone());
                        continue;
                    }
                }
            }
            // a root or a choice is itself
            (_, Some((_, name))) => (1.0, name),
            (_, None) => (1.0, other()),
        };
        let value = match value {
            Value::Sum(formula) => Value::Sum(formula.scaled(sign)),
            value => value,
        };
        let symbol = Expr::symbol(&name);
        names.push((whole, if sign < 0.0 { -symbol } else { symbol }));
        known.insert(node, Formula::symbol(&name, 1).scaled(sign));
        quantities.push(Quantity { name, value });
    }
    Some(substitute(roots, &names))
}

/// Do the forces of an element depend on velocities?
pub(super) fn reads_velocities(law: &ForceLaw) -> bool {
    match law {
        ForceLaw::Spring(spring) => spring.damping != 0.0,
        ForceLaw::Torsion(torsion) => torsion.damping != 0.0,
        ForceLaw::Drag(_) | ForceLaw::GravityGradient(GravityGradient::Orbit { .. }) => true,
        ForceLaw::Constant(_) | ForceLaw::GravityGradient(GravityGradient::Centre { .. }) => false,
    }
}

/// The law of an element in words, with its numbers.
pub(super) fn law(law: &ForceLaw) -> String {
    use crate::formula::rounded;
    match law {
        ForceLaw::Spring(spring) if spring.is_ideal() => format!(
            "pulls its ends together with $k$ times their distance, $k$ = {} N/m",
            rounded(spring.stiffness)
        ),
        ForceLaw::Spring(spring) => format!(
            "tension $F = k (\\ell - \\ell_0) + b \\dot{{\\ell}}$ between its ends, $k$ = {} N/m, $\\ell_0$ = {} m, $b$ = {} N s/m{}",
            rounded(spring.stiffness),
            rounded(spring.rest_length),
            rounded(spring.damping),
            match spring.tension_only {
                true => "; it does not push",
                false => "",
            }
        ),
        ForceLaw::Torsion(torsion) => format!(
            "torque $T = k \\phi + b \\dot{{\\phi}}$ against the deflection $\\phi$ from {} rad, $k$ = {} N m/rad, $b$ = {} N m s/rad",
            rounded(torsion.rest),
            rounded(torsion.stiffness),
            rounded(torsion.damping)
        ),
        ForceLaw::Constant(_) => "constant force and torque".into(),
        ForceLaw::Drag(drag) => format!(
            "force $-(b + c |u|) u$ against the velocity $u$ relative to the flow, $b$ = {} N s/m, $c$ = {} N s²/m²",
            rounded(drag.linear),
            rounded(drag.quadratic)
        ),
        ForceLaw::GravityGradient(GravityGradient::Centre { mu, .. }) => {
            format!("attraction of a centre, $\\mu$ = {} m³/s²", rounded(*mu))
        }
        ForceLaw::GravityGradient(GravityGradient::Orbit { rate, .. }) => format!(
            "gravity gradient and apparent forces in axes that turn with an orbit, {} rad/s",
            rounded(*rate)
        ),
    }
}
