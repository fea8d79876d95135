//! `catena factor MODEL`: I = U D Uᵀ, its pivots and their meaning.

use crate::commands::info::one_line;
use crate::coordinates::Quantity;
use crate::model_argument::ModelArgument;
use crate::number::{list, rough, six};
use crate::outcome::Outcome;
use crate::situation::{self, Situation};
use crate::state_argument::{EffortArgument, StateArgument, numbers_of};
use crate::table::{self, Table};
use crate::{json, limits, number, referee, words};
use catena::algorithm::factorization::{ClusterFactorization, EndEffector, Factorization};
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::model::JointKind;
use catena::residual::{larger, largest, largest_of, ratio, relative, within};
use catena::scalar::DoubleDouble;
use catena::spatial::{Motion, Vec3};
use catena::{Dynamics, Matrix, Model};
use clap::Args;
use serde_json::{Map, Value, json};

/// I must be U D Uᵀ, x solve I x = b, and double-double arithmetic give the same pivots, at least this well, or the exit code is 1.
const TOLERANCE: f64 = referee::ALLOWED;
/// For larger models dense matrices are not formed.
const LARGE: usize = 1000;
/// Larger matrices are printed only as JSON.
const WIDE: usize = 12;

/// Which model and state.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    effort: EffortArgument,

    /// Show U and I
    #[arg(long)]
    full: bool,

    /// Show I⁻¹
    #[arg(long)]
    inverse: bool,

    /// Solve I x = b for this b, in N·m and N
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    rhs: Option<String>,

    /// The papers' variables t_e of a point of the free base, in its link's axes
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    end_effector: Option<String>,
}

/// Results at one state.
struct Factored {
    situation: Situation,
    pivots: Vec<f64>,
    log_determinant: f64,
    spread: f64,
    /// Largest relative difference of a pivot from double-double arithmetic. The residual of U D Uᵀ = I does not show it: small pivots are lost in I.
    pivot_error: f64,
    /// I, U and |I − U D Uᵀ| / |I|, where the model is not too large.
    dense: Option<Dense>,
    inverse: Option<Matrix>,
    solution: Option<Solution>,
    /// Pᵀ M̂ P of the free base.
    base_block: Option<Matrix>,
    end_effector: Option<AtPoint>,
}

struct Dense {
    inertia: Matrix,
    u: Matrix,
    residual: f64,
}

struct Solution {
    rhs: Vec<f64>,
    x: Vec<f64>,
    /// |I x − b| / |b|.
    residual: Option<f64>,
    /// |I x − b| / (|I| |x| + |b|): the backward error.
    backward: Option<f64>,
}

struct AtPoint {
    inertia: Matrix,
    twist: Motion<f64>,
    twist_rate: Motion<f64>,
}

/// Factorizes the inertia matrix.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    let situations = arguments
        .state
        .situations(&model, None, arguments.effort.tau.as_ref())?;
    if model.nv() <= LARGE {
        limits::memory("states", situations.len(), 3 * model.nv() * model.nv())?;
    }
    let mut dynamics = Dynamics::new(&model);
    let factored = situations
        .into_iter()
        .map(|situation| factor(arguments, &mut dynamics, situation))
        .collect::<Result<Vec<Factored>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, arguments, &factored)),
        false => to_text(&model, arguments, &factored),
    });
    let products = factored.iter().filter_map(|one| one.dense.as_ref());
    let solutions = factored.iter().filter_map(|one| one.solution.as_ref());
    let pivots = largest_of(factored.iter().map(|one| one.pivot_error));
    for (what, worst) in [
        (
            "the pivots have lost digits, by double-double arithmetic",
            pivots,
        ),
        (
            "U D Uᵀ is not I",
            largest_of(products.map(|dense| dense.residual)),
        ),
        (
            "x does not solve I x = b",
            largest_of(solutions.filter_map(|solution| solution.backward)),
        ),
    ] {
        if !within(worst, TOLERANCE) {
            outcome.failures.push(format!(
                "{what}: relative difference {}, allowed {}",
                rough(worst),
                rough(TOLERANCE)
            ));
        }
    }
    Ok(outcome)
}

fn factor(
    arguments: &Arguments,
    dynamics: &mut Dynamics,
    situation: Situation,
) -> Result<Factored> {
    let model = dynamics.model().clone();
    let factors = Factors::of(dynamics, &situation)?;
    let pivots = factors.pivots();
    let is_large = model.nv() > LARGE;
    if is_large && (arguments.full || arguments.inverse) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "U, I and I⁻¹ are not formed for more than {LARGE} freedoms; `{}` has {}",
                model.name(),
                model.nv()
            ),
        )
        .hint("leave out --full and --inverse: pivots and --rhs cost O(n)"));
    }
    let dense = match is_large {
        true => None,
        false => Some(dense(&model, dynamics, &factors, &pivots, &situation)?),
    };
    let solution = match &arguments.rhs {
        None => None,
        Some(text) => {
            let rhs = numbers_of(&model, Quantity::Effort, "--rhs", text)?;
            let mut x = rhs.clone();
            dynamics.factorize(&situation.state)?;
            dynamics.solve(&mut x)?;
            let against = |scale: &dyn Fn(&Matrix) -> f64| {
                dense
                    .as_ref()
                    .map(|dense| relative(&dense.inertia.times(&x), &rhs, scale(&dense.inertia)))
            };
            let residual = against(&|_| largest(&rhs));
            let backward = against(&|inertia| {
                let mut sizes = inertia.clone();
                sizes.as_mut_slice().iter_mut().for_each(|x| *x = x.abs());
                let x: Vec<f64> = x.iter().map(|x| x.abs()).collect();
                largest(&sizes.times(&x)) + largest(&rhs)
            });
            Some(Solution {
                rhs,
                x,
                residual,
                backward,
            })
        }
    };
    let root = free_root(&model);
    let end_effector = match &arguments.end_effector {
        None => None,
        Some(text) => match &factors {
            Factors::Tree(factors) => Some(at_point(dynamics, factors, &situation, root, text)?),
            Factors::Clusters(_) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "--end-effector: the papers' t_e is that of a tree; `{}` has couplings",
                        model.name()
                    ),
                )
                .hint("--open-loops leaves the couplings open"));
            }
        },
    };
    let (low, high) = pivots
        .iter()
        .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), &x| {
            (low.min(x), high.max(x))
        });
    let exact = factors.exact_pivots(&model, &situation);
    let pivot_error = largest_of(pivots.iter().zip(&exact).map(|(&found, &right)| {
        let off = (DoubleDouble::from(found) - right).value().abs();
        ratio(off, right.value().abs())
    }));
    Ok(Factored {
        pivot_error,
        log_determinant: pivots.iter().map(|x| elementary::ln(*x)).sum(),
        spread: high / low,
        inverse: match arguments.inverse {
            true => Some(dynamics.inverse_inertia(&situation.state)?.clone()),
            false => None,
        },
        base_block: match (&factors, root) {
            (Factors::Tree(factors), Some(root)) => Some(factors.joint_block(&model, root)),
            _ => None,
        },
        situation,
        pivots,
        dense,
        solution,
        end_effector,
    })
}

/// The factors of a tree, or over clusters of coupled joints.
enum Factors {
    Tree(Box<Factorization<f64>>),
    Clusters(Box<ClusterFactorization<f64>>),
}

impl Factors {
    fn of(dynamics: &Dynamics, situation: &Situation) -> Result<Self> {
        let state = &situation.state;
        Ok(match dynamics.model().couplings() {
            None => Factors::Tree(Box::new(dynamics.factorization(state)?)),
            Some(_) => Factors::Clusters(Box::new(dynamics.cluster_factorization(state)?)),
        })
    }

    fn pivots(&self) -> Vec<f64> {
        match self {
            Factors::Tree(factors) => factors.d(),
            Factors::Clusters(factors) => factors.d(),
        }
    }

    /// The pivots in double-double arithmetic at the same numbers.
    fn exact_pivots(&self, model: &Model, situation: &Situation) -> Vec<DoubleDouble> {
        match model.couplings() {
            None => {
                let mut factors = Factorization::new(model);
                factors.factorize(model, &referee::lifted(&situation.state.q));
                factors.d()
            }
            Some(couplings) => {
                let tree = model.clone().open_tree();
                let mut factors = ClusterFactorization::new(&tree, couplings);
                let q = situation.state.lift().of_tree(model).q;
                factors.factorize(&tree, couplings, &q);
                factors.d()
            }
        }
    }

    fn u(&self, model: &Model) -> Matrix {
        match (self, model.couplings()) {
            (Factors::Tree(factors), _) => factors.u(model),
            (Factors::Clusters(factors), Some(couplings)) => {
                factors.u(&model.clone().open_tree(), couplings)
            }
            (Factors::Clusters(_), None) => Matrix::identity(model.nv()),
        }
    }
}

fn dense(
    model: &Model,
    dynamics: &mut Dynamics,
    factors: &Factors,
    pivots: &[f64],
    situation: &Situation,
) -> Result<Dense> {
    let inertia = dynamics.inertia(&situation.state)?.clone();
    let u = factors.u(model);
    let n = model.nv();
    // U D Uᵀ: the rows of U start at their diagonal, over clusters anywhere
    let is_triangular = matches!(factors, Factors::Tree(_));
    let mut difference = 0.0;
    for i in 0..n {
        for j in i..n {
            let from = if is_triangular { j } else { 0 };
            let product: f64 = (from..n).map(|k| u[(i, k)] * pivots[k] * u[(j, k)]).sum();
            difference = larger(difference, (product - inertia[(i, j)]).abs());
        }
    }
    let residual = ratio(difference, largest(inertia.as_slice()));
    Ok(Dense {
        inertia,
        u,
        residual,
    })
}

/// The body on a free joint to the ground, if the model floats.
fn free_root(model: &Model) -> Option<usize> {
    let tree = model.tree();
    model
        .bodies()
        .find(|&i| tree.parent(i) == 0 && tree.bodies[i].kind == JointKind::Free)
}

fn at_point(
    dynamics: &mut Dynamics,
    factors: &Factorization<f64>,
    situation: &Situation,
    root: Option<usize>,
    text: &str,
) -> Result<AtPoint> {
    let model = dynamics.model().clone();
    let point = Vec3::from_array(number::vector::<3>("--end-effector", text)?);
    let fixed = || {
        Error::new(
            ErrorKind::Input,
            format!("--end-effector: the base of `{}` is not free", model.name()),
        )
        .hint("the papers' t_e belongs to a point of a free base: try space-robot, or --free-base with a file")
    };
    let root = root.ok_or_else(fixed)?;
    let info = &model.tree().bodies[root];
    let offset = info.body_from_link.point(point);
    if situation.state.base != catena::Base::fixed() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "--end-effector: the variables t_e are those of a robot on a base at rest",
        )
        .hint("leave out the motion of the base in the state file"));
    }
    let at = EndEffector::new(&model, factors, root, offset).ok_or_else(fixed)?;
    let external = situation.external(dynamics)?;
    let vdot = dynamics.forward(&situation.state, &situation.effort, &external)?;
    let freedoms = model.tree().dof_range(root);
    let rates = &situation.state.v[freedoms.clone()];
    let found = AtPoint {
        inertia: at.inertia(&model, factors),
        twist: at.twist(rates),
        twist_rate: at.twist_rate(rates, &vdot[freedoms]),
    };
    let (twist, rate) = (found.twist.to_array(), found.twist_rate.to_array());
    let numbers = found.inertia.as_slice().iter().chain(&twist).chain(&rate);
    if numbers.into_iter().any(|x| !x.is_finite()) {
        return Err(Error::new(
            ErrorKind::Input,
            "--end-effector: inertia or motion of this point overflows",
        )
        .hint("the point, in m, or the velocities are too large for double precision"));
    }
    Ok(found)
}

/// Description of the inertia that the effort of every freedom accelerates.
fn meanings(model: &Model) -> Vec<String> {
    let tree = model.tree();
    let mut is_leaf = vec![true; tree.bodies.len()];
    for i in model.bodies() {
        is_leaf[tree.parent(i)] = false;
    }
    (0..model.nv())
        .map(|k| meaning(model, k, is_leaf[model.freedom(k).body]))
        .collect()
}

fn meaning(model: &Model, k: usize, is_leaf: bool) -> String {
    let tree = model.tree();
    let dof = model.freedom(k);
    let body = &tree.bodies[dof.body];
    let what = match (dof.force_unit, body.kind) {
        ("N", _) => "mass along its axis",
        (_, JointKind::Helical) => "inertia of the screw motion",
        _ => "inertia about its axis",
    };
    if let Some(couplings) = model.couplings() {
        let leads = (couplings.followers().iter()).any(|one| {
            let mut sources = one.terms.iter();
            sources.any(|(at, _)| at.v == k)
        });
        return match leads {
            true => format!("{what} and what follows it, outboard joints free"),
            false => format!("{what}, outboard joints free"),
        };
    }
    let is_last = k + 1 == body.v + body.kind.nv();
    let free = match is_leaf && is_last {
        true => "",
        false => ", outboard joints free",
    };
    format!("{what}{free}")
}

fn pivot_unit(force_unit: &str) -> &'static str {
    match force_unit {
        "N" => "kg",
        _ => "kg·m²",
    }
}

fn to_text(model: &Model, arguments: &Arguments, factored: &[Factored]) -> String {
    let mut text = format!(
        "I(q) = U D Uᵀ without forming I, in O(n)\n{}\n",
        one_line(model)
    );
    for (index, one) in factored.iter().enumerate() {
        if factored.len() > 1 {
            text += &format!("\nstate {} of {}", index + 1, factored.len());
        }
        text += &format!("\n{}", pivot_table(model, one));
        text += &format!(
            "\n  ln det I = {}, largest/smallest pivot = {}\n",
            six(one.log_determinant),
            six(one.spread)
        );
        match &one.dense {
            Some(dense) => {
                text += &format!("  check: |I − U D Uᵀ| / |I| = {}\n", rough(dense.residual));
            }
            None => {
                text +=
                    &format!("  check: left out: I is not formed for more than {LARGE} freedoms\n")
            }
        }
        if !within(one.pivot_error, TOLERANCE) {
            text += &format!(
                "  check: double-double arithmetic differs by {} from the pivots, allowed {}\n  \
                 The inertia matrix is ill-conditioned: double precision loses digits of the pivots, of I⁻¹ and of solutions.\n",
                number::residual(one.pivot_error),
                rough(TOLERANCE)
            );
        }
        text += &matrices_text(model, arguments, one);
    }
    if !model.constraints().is_empty() {
        text += "\n  these are the factors of the tree: the loops of the model are open\n";
    }
    text
}

fn pivot_table(model: &Model, one: &Factored) -> String {
    let dofs = model.freedoms();
    let mut table = Table::new()
        .text("freedom", dofs.iter().map(|dof| dof.name.clone()))
        .numbers("D: m̂", one.pivots.iter().map(|&x| Some(x)));
    if let Some(dense) = &one.dense {
        table = table.numbers("I_kk", (0..dofs.len()).map(|k| Some(dense.inertia[(k, k)])));
    }
    let mut text = table
        .text("unit", dofs.iter().map(|dof| pivot_unit(dof.force_unit)))
        .prose("m̂ is the", meanings(model))
        .wrapped(96)
        .render();
    text += "  ";
    text += &words::wrapped(
        "m̂ is the inertia that the effort works against when the outboard joints (and later freedoms of its own joint) \
         are free; I_kk when they are locked.",
        76,
        "  ",
    );
    text.push('\n');
    text
}

fn matrices_text(model: &Model, arguments: &Arguments, one: &Factored) -> String {
    let names: Vec<String> = model
        .freedoms()
        .into_iter()
        .map(|dof| dof.name.clone())
        .collect();
    let square = |title: &str, matrix: &Matrix| match matrix.rows() > WIDE {
        true => format!("\n{title}: {0}×{0}, see it with --json\n", matrix.rows()),
        false => format!(
            "\n{title}\n{}",
            table::matrix(&names, &names, |i, j| matrix[(i, j)])
        ),
    };
    let mut text = String::new();
    if let (true, Some(dense)) = (arguments.full, &one.dense) {
        let title = match model.couplings() {
            None => "U, unit upper triangular",
            Some(_) => {
                "U, unit triangular in the order of elimination: clusters of coupled joints from the tips"
            }
        };
        text += &square(title, &dense.u);
        text += &square(
            "I, composite bodies (N·m or N per rad/s² or m/s²)",
            &dense.inertia,
        );
    }
    if let Some(inverse) = &one.inverse {
        text += &square("I⁻¹ (rad/s² or m/s² per N·m or N)", inverse);
    }
    if let Some(solution) = &one.solution {
        let units = Quantity::Acceleration.coordinates(model);
        let table = Table::new()
            .text("freedom", names.clone())
            .numbers("b", solution.rhs.iter().map(|&x| Some(x)))
            .text("in", model.freedoms().into_iter().map(|dof| dof.force_unit))
            .numbers("x", solution.x.iter().map(|&x| Some(x)))
            .text("in", units.iter().map(|c| c.unit));
        text += &format!("\nI x = b\n{}", table.render());
        if let Some(residual) = solution.residual {
            text += &format!("\n  check: |I x − b| / |b| = {}\n", rough(residual));
        }
    }
    let axes = |letters: [&str; 6]| letters.map(String::from).to_vec();
    if let (Some(block), None) = (&one.base_block, &one.end_effector) {
        let rates = axes(["ẋ", "ẏ", "ż", "ωx", "ωy", "ωz"]);
        text += &format!(
            "\n6×6 block of the free base, the whole robot with its joints free (kg, kg·m, kg·m²)\n{}",
            table::matrix(&rates, &rates, |i, j| block[(i, j)])
        );
    }
    if let Some(at) = &one.end_effector {
        let rates = axes(["ωx", "ωy", "ωz", "vx", "vy", "vz"]);
        text += &format!(
            "\nÎ_e, the block of t_e = (ω; v_E), world axes (kg·m², kg·m, kg)\n{}",
            table::matrix(&rates, &rates, |i, j| at.inertia[(i, j)])
        );
        text += &format!(
            "\n  t_e   ω   = {} rad/s\n        v_E = {} m/s\n",
            list(&at.twist.angular.to_array()),
            list(&at.twist.linear.to_array())
        );
        text += &format!(
            "  ṫ_e   ω̇   = {} rad/s²\n        v̇_E = {} m/s²\n",
            list(&at.twist_rate.angular.to_array()),
            list(&at.twist_rate.linear.to_array())
        );
    }
    text
}

fn to_json(model: &Model, arguments: &Arguments, factored: &[Factored]) -> Value {
    let freedoms: Value = model
        .freedoms()
        .into_iter()
        .zip(meanings(model))
        .map(|(dof, meaning)| {
            json!({
                "name": dof.name,
                "pivot_unit": pivot_unit(dof.force_unit),
                "pivot_meaning": meaning,
            })
        })
        .collect();
    let states: Value = factored
        .iter()
        .map(|one| state_json(arguments, one))
        .collect();
    json!({
        "format": "catena-factor/1",
        "model": model.name(),
        "freedoms": freedoms,
        "states": states,
    })
}

fn state_json(arguments: &Arguments, one: &Factored) -> Value {
    let mut object: Map<String, Value> = situation::to_json(&one.situation);
    let mut put = |key: &str, value: Value| object.insert(key.into(), value);
    put("D", json::numbers(&one.pivots));
    put("log_determinant", one.log_determinant.into());
    put("pivot_spread", one.spread.into());
    put("pivot_error", json!(one.pivot_error));
    if let Some(dense) = &one.dense {
        if arguments.full {
            put("U", json::matrix(&dense.u));
            put("I", json::matrix(&dense.inertia));
        }
        put("residual", dense.residual.into());
    }
    if let Some(inverse) = &one.inverse {
        put("I_inverse", json::matrix(inverse));
    }
    if let Some(solution) = &one.solution {
        put("rhs", json::numbers(&solution.rhs));
        put("solution", json::numbers(&solution.x));
        put("solution_residual", solution.residual.into());
    }
    if let Some(block) = &one.base_block {
        put("base_block", json::matrix(block));
    }
    if let Some(at) = &one.end_effector {
        put(
            "end_effector",
            json!({
                "inertia": json::matrix(&at.inertia),
                "tau": json::numbers(&one.situation.effort),
                "twist": json::motion(at.twist),
                "twist_rate": json::motion(at.twist_rate),
            }),
        );
    }
    Value::Object(object)
}
