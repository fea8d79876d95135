//! `catena space MODEL`: a free-floating robot in the variables of Saha's paper, and quantities that exist only for floating robots.
//!
//! v = (t_e; θ̇): t_e is the twist of a point E of the root link, θ̇ the rates of all other joints. With `--root` the root is any link, the
//! hand for instance. About the mass centres C_i, in world axes:
//!
//! ```text
//! I = [ I_e  I_em ; I_emᵀ  I_m ]        I_e = B_0eᵀ M̃_0 B_0e,   i_k = B_ieᵀ M̃_i p_k                         (5–7)
//! U = [ 1  α_e ; 0  U_m ]               α_ek = B_ieᵀ ψ_k,   α_ik = p_iᵀ B_kiᵀ ψ_k                           (13, 23)
//! D = diag(Î_e, m̂)                      Î_e = B_0eᵀ M̂_0 B_0e                                               (15, 28)
//! L = D Uᵀ = [ Î_e  0 ; Î_emᵀ  L̂_m ]    I = U D Uᵀ                                                         (12, 14)
//! ```
//!
//! Rotor inertias of the free joint, which the paper does not have, are added to I_e and Î_e.

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::{list, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Situation, find_frame};
use crate::state_argument::StateArgument;
use crate::{json, limits, number, table};
use catena::algorithm::factorization::EndEffector;
use catena::algorithm::natural_orthogonal_complement::Denoc;
use catena::error::{Error, ErrorKind, Result};
use catena::model::FrameInfo;
use catena::residual::{largest, relative};
use catena::spatial::{Force, Motion, Vec3};
use catena::{Base, Dynamics, Matrix, Model};
use clap::Args;
use serde_json::{Map, Value};

/// Larger matrices are printed only as JSON.
const WIDE: usize = 12;
/// Maximum number of freedoms: the matrices are dense.
const MOST_FREEDOMS: usize = 1000;
/// The identities must hold this well, relative to the largest entry, or the exit code is 1.
const ROUNDING: f64 = 1e-10;

/// Which robot and state.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,

    /// The point E of the root link, in its axes [default: its mass centre]
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    point: Option<String>,

    /// Frame of the generalized Jacobian and of the operational inertia [default: the last frame of the model]
    #[arg(long, value_name = "NAME")]
    frame: Option<String>,
}

/// The matrices in the paper's variables.
struct Blocks {
    /// I_e, 6 × 6.
    base: Matrix,
    /// I_em, 6 × n.
    coupling: Matrix,
    /// I_m, n × n.
    arm: Matrix,
    /// Î_e, 6 × 6.
    base_hat: Matrix,
    /// α_e, 6 × n.
    alpha: Matrix,
    /// Î_emᵀ, n × 6.
    coupling_hat: Matrix,
    /// L̂_m, n × n.
    lower: Matrix,
    /// m̂.
    pivots: Vec<f64>,
    /// U_m, n × n.
    upper: Matrix,
}

/// Results at one state.
struct Found {
    situation: Situation,
    /// E in the world, and its twist.
    point: Vec3<f64>,
    twist: Motion<f64>,
    blocks: Blocks,
    frame: FrameInfo,
    generalized_jacobian: Matrix,
    /// Λ; none in a singular posture, with the reason.
    operational: std::result::Result<Matrix, String>,
    /// A_G and the total mass.
    centroidal: Matrix,
    momentum: Vec<f64>,
    checks: Vec<(&'static str, f64)>,
}

/// Computes everything.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    let is_tree = model.couplings().is_none() && model.constraints().is_empty();
    if !model.tree().is_free_floating() || !is_tree {
        return Err(Error::new(
            ErrorKind::Input,
            format!("`{}` is not a tree that floats freely", model.name()),
        )
        .hint("try space-robot, or --free-base with a file; --open-loops leaves couplings and constraints open"));
    }
    limits::freedoms(&model, "space", MOST_FREEDOMS)?;
    let frame = match &arguments.frame {
        Some(name) => find_frame(&model, name)?.clone(),
        None => last_frame(&model)?,
    };
    let situations = arguments.state.situations(&model, None, None)?;
    limits::memory("states", situations.len(), 8 * model.nv() * model.nv())?;
    let mut dynamics = Dynamics::new(&model);
    let found = situations
        .into_iter()
        .map(|situation| find(arguments, &mut dynamics, &frame, situation))
        .collect::<Result<Vec<Found>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, &found)),
        false => to_text(&model, &found),
    });
    for (index, one) in found.iter().enumerate() {
        for (words, difference) in &one.checks {
            let wrong = format!("{words} does not hold");
            outcome.require(index, &wrong, *difference, ROUNDING);
        }
    }
    Ok(outcome)
}

fn last_frame(model: &Model) -> Result<FrameInfo> {
    let frames = model.tree().frames.iter().rev();
    let mut on_bodies = frames.filter(|frame| frame.body != 0);
    on_bodies.next().cloned().ok_or_else(|| {
        Error::new(
            ErrorKind::Model,
            format!("`{}` has no moving frame", model.name()),
        )
    })
}

/// B m: the twist of a point at `arm` from which the twist m is given, with the sign of the papers' c_ij.
fn carried(arm: Vec3<f64>, m: Motion<f64>) -> Motion<f64> {
    Motion::new(m.angular, arm.cross_add(m.angular, m.linear))
}

/// Bᵀ w.
fn carried_back(arm: Vec3<f64>, w: Force<f64>) -> Force<f64> {
    Force::new(w.moment - arm.cross(w.force), w.force)
}

impl Blocks {
    /// The matrices for E at this point of the world.
    fn new(denoc: &Denoc<f64>, point: Vec3<f64>) -> Self {
        let root = 1;
        let n = denoc.nv() - 6;
        let arm = |body: usize| point - denoc.mass_centre(body); // c_ie
        let at_base = |inertia: &dyn Fn(Motion<f64>) -> Force<f64>| {
            let mut block = Matrix::zeros(6, 6);
            for k in 0..6 {
                let mut unit = [0.0; 6];
                unit[k] = 1.0;
                let [a, b, c, d, e, f] = unit;
                let twist = Motion::new(Vec3::new(a, b, c), Vec3::new(d, e, f));
                let wrench = inertia(carried(arm(root), twist));
                let wrench = carried_back(arm(root), wrench).to_array();
                for (row, x) in wrench.into_iter().enumerate() {
                    block[(row, k)] = x;
                }
            }
            block
        };
        let mut blocks = Blocks {
            base: at_base(&|m| denoc.composite(root).times(m)), // (6)
            coupling: Matrix::zeros(6, n),
            arm: Matrix::zeros(n, n),
            base_hat: at_base(&|m| denoc.articulated_body(root).times(m)), // (28)
            alpha: Matrix::zeros(6, n),
            coupling_hat: Matrix::zeros(n, 6),
            lower: Matrix::zeros(n, n),
            pivots: denoc.pivots()[6..].to_vec(),
            upper: Matrix::zeros(n, n),
        };
        let (inertia, u) = (denoc.inertia(), denoc.u());
        for k in 0..n {
            let body = denoc.body_of(6 + k);
            let momentum = denoc.composite(body).times(denoc.column(6 + k));
            let column = carried_back(arm(body), momentum).to_array(); // (7)
            let alpha = carried_back(arm(body), denoc.psi(6 + k)).to_array(); // (23)
            for row in 0..6 {
                blocks.coupling[(row, k)] = column[row];
                blocks.alpha[(row, k)] = alpha[row];
                blocks.coupling_hat[(k, row)] = blocks.pivots[k] * alpha[row];
            }
            for l in 0..n {
                blocks.arm[(k, l)] = inertia[(6 + k, 6 + l)];
                blocks.upper[(k, l)] = u[(6 + k, 6 + l)];
                blocks.lower[(k, l)] = blocks.pivots[k] * u[(6 + l, 6 + k)]; // (12)
            }
        }
        blocks
    }

    /// I of all variables.
    fn inertia(&self) -> Matrix {
        assembled(
            &self.base,
            &self.coupling,
            &self.coupling.transpose(),
            &self.arm,
        )
    }

    /// U L with L = D Uᵀ.
    fn product(&self) -> Matrix {
        let n = self.arm.rows();
        let none = Matrix::zeros(n, 6);
        let u = assembled(&Matrix::identity(6), &self.alpha, &none, &self.upper);
        let l = assembled(
            &self.base_hat,
            &none.transpose(),
            &self.coupling_hat,
            &self.lower,
        );
        u.product(&l)
    }
}

/// [A B; C D].
fn assembled(a: &Matrix, b: &Matrix, c: &Matrix, d: &Matrix) -> Matrix {
    let (m, n) = (a.rows(), d.rows());
    let mut whole = Matrix::zeros(m + n, m + n);
    for (block, row, column) in [(a, 0, 0), (b, 0, m), (c, m, 0), (d, m, m)] {
        for i in 0..block.rows() {
            for j in 0..block.columns() {
                whole[(row + i, column + j)] = block[(i, j)];
            }
        }
    }
    whole
}

fn find(
    arguments: &Arguments,
    dynamics: &mut Dynamics,
    frame: &FrameInfo,
    situation: Situation,
) -> Result<Found> {
    let state = &situation.state;
    if state.base != Base::fixed() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the variables t_e are those of a robot on a base at rest",
        )
        .hint("leave out the motion of the base in the state file"));
    }
    let model = dynamics.model().clone();
    let denoc = dynamics.denoc(state)?;
    let root = 1;
    let factors = dynamics.factorization(state)?;
    let info = &model.tree().bodies[root];
    let offset = match &arguments.point {
        Some(text) => {
            let point = Vec3::from_array(number::vector::<3>("--point", text)?);
            info.body_from_link.point(point)
        }
        None => model.inertial(root).centre,
    };
    let kinematics = dynamics.kinematics(state, &vec![0.0; model.nv()])?;
    let point = kinematics.world_from_body[root].point(offset);
    let mut blocks = Blocks::new(&denoc, point);
    let at = EndEffector::new(&model, &factors, root, offset).ok_or_else(|| {
        Error::new(
            ErrorKind::Input,
            format!("the base of `{}` is not free", model.name()),
        )
    })?;
    let mut rotors = Matrix::zeros(6, 6);
    for k in 0..6 {
        rotors[(k, k)] = model.dof(k).armature;
    }
    let rotors = at.about_point(&rotors);
    for block in [&mut blocks.base, &mut blocks.base_hat] {
        for (entry, rotor) in block.as_mut_slice().iter_mut().zip(rotors.as_slice()) {
            *entry += rotor;
        }
    }
    let twist = at.twist(&state.v[..6]);
    let differ = |a: &Matrix, b: &Matrix| {
        let size = largest(b.as_slice()).max(f64::MIN_POSITIVE);
        relative(a.as_slice(), b.as_slice(), size)
    };
    let whole = blocks.inertia();
    // the kinetic energy in both sets of variables
    let rates: Vec<f64> = twist
        .to_array()
        .into_iter()
        .chain(state.v[6..].to_vec())
        .collect();
    let energy = |matrix: &Matrix, v: &[f64]| -> f64 {
        let rows = (0..v.len()).map(|i| {
            let row = matrix.row(i).iter().zip(v);
            v[i] * row.map(|(a, b)| a * b).sum::<f64>()
        });
        0.5 * rows.sum::<f64>()
    };
    let own = energy(dynamics.inertia(state)?, &state.v);
    let checks = vec![
        ("I = U D Uᵀ, L = D Uᵀ", differ(&blocks.product(), &whole)),
        (
            "Î_e is that of the factorization in joint coordinates",
            differ(&blocks.base_hat, &at.inertia(&model, &factors)),
        ),
        (
            "½ vᵀ I v is the kinetic energy",
            (energy(&whole, &rates) - own).abs() / own.abs().max(f64::MIN_POSITIVE),
        ),
    ];
    let generalized_jacobian = dynamics.generalized_jacobian(state, frame)?.clone();
    let centroidal = dynamics.centroidal_momentum(state)?.matrix.clone();
    let momentum = (0..6).map(|i| {
        let row = centroidal.row(i).iter().zip(&state.v);
        row.map(|(a, b)| a * b).sum()
    });
    let momentum = momentum.collect();
    let operational = match dynamics.operational_inertia(state, frame) {
        Ok(found) => Ok(found.inertia),
        Err(error) if error.kind() == ErrorKind::Singular => Err(error.message().to_string()),
        Err(error) => return Err(error),
    };
    Ok(Found {
        point,
        twist,
        blocks,
        frame: frame.clone(),
        generalized_jacobian,
        operational,
        centroidal,
        momentum,
        checks,
        situation,
    })
}

const TWIST: [&str; 6] = ["ωx", "ωy", "ωz", "vx", "vy", "vz"];
const WRENCH: [&str; 6] = ["nx", "ny", "nz", "fx", "fy", "fz"];

fn to_text(model: &Model, found: &[Found]) -> String {
    let tree = model.tree();
    let mut text = format!(
        "a floating robot in v = (t_e; θ̇): twist of a point E of `{}`, and joint rates\n{}\n",
        tree.bodies[1].name,
        one_line(model)
    );
    let twists = TWIST.map(String::from);
    let wrenches = WRENCH.map(String::from);
    let joints: Vec<String> = tree.dofs[6..].iter().map(|dof| dof.name.clone()).collect();
    let all: Vec<String> = tree.dofs.iter().map(|dof| dof.name.clone()).collect();
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        text += &format!(
            "\n  E at {} m, twist (ω; v) {}\n",
            list(&one.point.to_array()),
            list(&one.twist.to_array())
        );
        let mut block = |title: &str, rows: &[String], columns: &[String], matrix: &Matrix| {
            if rows.len() > WIDE || columns.len() > WIDE {
                text += &format!(
                    "\n{title} is {}×{}: see it with --json\n",
                    rows.len(),
                    columns.len()
                );
            } else if !rows.is_empty() && !columns.is_empty() {
                text += &format!(
                    "\n{title}\n{}",
                    table::matrix(rows, columns, |i, j| matrix[(i, j)])
                );
            }
        };
        let b = &one.blocks;
        block(
            "I_e, all joints locked (kg·m², kg·m, kg)",
            &wrenches,
            &twists,
            &b.base,
        );
        block("I_em", &wrenches, &joints, &b.coupling);
        block("I_m", &joints, &joints, &b.arm);
        block("Î_e, all joints free", &wrenches, &twists, &b.base_hat);
        block("α_ek", &wrenches, &joints, &b.alpha);
        block("Î_emᵀ, lower left of L", &joints, &twists, &b.coupling_hat);
        block("L̂_m, lower right of L", &joints, &joints, &b.lower);
        block(
            &format!(
                "J* of {}: its twist per joint rate at zero momentum",
                one.frame.name
            ),
            &twists,
            &joints,
            &one.generalized_jacobian,
        );
        block(
            "A_G, centroidal momentum (about the mass centre)",
            &wrenches,
            &all,
            &one.centroidal,
        );
        match &one.operational {
            Ok(lambda) => block(
                &format!("Λ of {}, operational inertia", one.frame.name),
                &wrenches,
                &twists,
                lambda,
            ),
            Err(why) => text += &format!("\n{why}\n"),
        }
        text.push('\n');
        for (words, difference) in &one.checks {
            text += &format!("  check: {words}, to {}\n", rough(*difference));
        }
    }
    text
}

fn to_json(model: &Model, found: &[Found]) -> Value {
    let tree = model.tree();
    let states: Value = found
        .iter()
        .map(|one| {
            let mut state: Map<String, Value> = situation::to_json(&one.situation);
            let b = &one.blocks;
            state.insert("point".into(), json::vector(one.point));
            state.insert("twist".into(), json::motion(one.twist));
            for (name, matrix) in [
                ("I_e", &b.base),
                ("I_em", &b.coupling),
                ("I_m", &b.arm),
                ("I_e_hat", &b.base_hat),
                ("alpha_e", &b.alpha),
                ("U_m", &b.upper),
                ("I_em_hat_transposed", &b.coupling_hat),
                ("L_m_hat", &b.lower),
                ("generalized_jacobian", &one.generalized_jacobian),
                ("centroidal", &one.centroidal),
            ] {
                state.insert(name.into(), json::matrix(matrix));
            }
            state.insert("pivots".into(), json::numbers(&b.pivots));
            state.insert("momentum".into(), json::numbers(&one.momentum));
            state.insert(
                "operational_inertia".into(),
                match &one.operational {
                    Ok(lambda) => json::matrix(lambda),
                    Err(_) => Value::Null,
                },
            );
            let checks = one.checks.iter();
            let checks: Map<String, Value> = checks
                .map(|(words, difference)| (words.to_string(), (*difference).into()))
                .collect();
            state.insert("checks".into(), Value::Object(checks));
            Value::Object(state)
        })
        .collect();
    serde_json::json!({
        "format": "catena-space/1",
        "model": model.name(),
        "root": tree.bodies[1].name,
        "frame": found.first().map(|one| one.frame.name.clone()),
        "freedoms": tree.dofs[6..].iter().map(|dof| dof.name.clone()).collect::<Vec<_>>(),
        "states": states,
    })
}
