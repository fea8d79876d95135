//! `catena barycentres MODEL`: the augmented bodies of a floating tree, their barycentres, D and K (Mufti, eqs. 26–38).

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::{rough, six};
use crate::outcome::Outcome;
use crate::situation::{self, Situation};
use crate::state_argument::StateArgument;
use crate::table::{self, Table};
use crate::{json, limits};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, largest_of, ratio};
use catena::spatial::{Mat3, Vec3};
use catena::{Dynamics, Matrix, Model};
use catena_mechanism::AugmentedBodies;
use clap::Args;
use serde_json::{Map, Value};

/// For models with more bodies D and K are printed only as JSON.
const MOST_SHOWN: usize = 4;
/// Maximum number of freedoms: D and K are dense.
const MOST_FREEDOMS: usize = 500;
/// The identities must hold this well, or the exit code is 1.
const ROUNDING: f64 = 1e-10;

/// Which model and states.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
}

struct Found {
    situation: Situation,
    bodies: AugmentedBodies,
    k: Matrix,
    checks: Vec<(&'static str, f64)>,
}

/// Finds the augmented bodies.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    if !model.constraints().is_empty() || model.couplings().is_some() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "`{}` has constraints: augmented bodies are those of a tree",
                model.name()
            ),
        )
        .hint("--open-loops takes the tree alone"));
    }
    limits::freedoms(&model, "barycentres", MOST_FREEDOMS)?;
    let situations = arguments.state.situations(&model, None, None)?;
    let n = model.body_count();
    limits::memory("states", situations.len(), 24 * n * n)?;
    let mut dynamics = Dynamics::new(&model);
    let found = situations
        .into_iter()
        .map(|situation| find(&mut dynamics, situation))
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

fn find(dynamics: &mut Dynamics, situation: Situation) -> Result<Found> {
    let model = dynamics.model().clone();
    let n = model.body_count();
    let still = vec![0.0; model.nv()];
    let vdot = dynamics.forward(&situation.state, &still, &[])?.to_vec();
    let kinematics = dynamics.kinematics(&situation.state, &vdot)?.clone();
    let bodies = AugmentedBodies::new(&model, &kinematics)?;
    let mut k = Matrix::zeros(3 * n, 3 * n);
    // of all bodies; also of positions in the world, whose differences are d
    let reach = largest_of((1..=n).flat_map(|i| {
        let bodies = &bodies;
        let own = (1..=n).map(move |l| bodies.d(i, l).norm());
        own.chain([bodies.barycentre(i).norm()])
    }));
    let (mut moment, mut apart, mut size) = (0.0f64, 0.0f64, 0.0f64);
    for i in 1..=n {
        let sum = (1..=n).fold(Vec3::zero(), |sum, l| {
            sum + bodies.d(i, l) * model.inertial(l).mass
        });
        moment = larger(moment, ratio(sum.norm(), bodies.mass() * reach));
        for j in 1..=n {
            let block = bodies.k(i, j).rows();
            let product = bodies.k_by_product(&model, &kinematics, i, j).rows();
            for a in 0..3 {
                for b in 0..3 {
                    k[(3 * (i - 1) + a, 3 * (j - 1) + b)] = block[a][b];
                    apart = larger(apart, (block[a][b] - product[a][b]).abs());
                    size = larger(size, block[a][b].abs());
                }
            }
        }
    }
    // 1ᵀ (K ω̇ − ū₂): torques in hinges cancel (55)
    let outside = |i: usize, v: Vec3<f64>| kinematics.world_from_body[i].rotation * v;
    let w: Vec<Vec3<f64>> = (0..=n)
        .map(|i| outside(i, kinematics.velocity[i].angular))
        .collect();
    let rate: Vec<Vec3<f64>> = (0..=n)
        .map(|i| outside(i, kinematics.acceleration[i].angular))
        .collect();
    let weights: Vec<Vec3<f64>> = (0..=n)
        .map(|i| match i {
            0 => Vec3::zero(),
            i => model.gravity() * model.inertial(i).mass,
        })
        .collect();
    let none = vec![Vec3::zero(); n + 1];
    let (mut sum, mut scale) = (Vec3::zero(), 0.0);
    for i in 1..=n {
        let left = (1..=n).fold(Vec3::zero(), |sum, j| sum + bodies.k(i, j) * rate[j]);
        let right = bodies.right_side(i, &w, &weights, &none);
        sum += left - right;
        for j in 1..=n {
            let turning = rate[j].norm() + w[j].dot(w[j]);
            scale += norm(bodies.k(i, j)) * turning + reach * weights[j].norm();
        }
    }
    let is_pulled = !model.forces().is_empty();
    let mut checks = vec![
        ("Σ m_k d_ik = 0", moment),
        (
            "K_ij = m d̃_ij d̃_ji is I + D̃ M D̃ᵀ",
            apart / size.max(f64::MIN_POSITIVE),
        ),
    ];
    if !is_pulled {
        checks.push((
            "1ᵀ K ω̇ = 1ᵀ ū₂ with ω̇ of forward dynamics",
            ratio(sum.norm(), scale),
        ));
    }
    Ok(Found {
        situation,
        bodies,
        k,
        checks,
    })
}

/// The Frobenius norm.
fn norm(m: Mat3<f64>) -> f64 {
    let squares = m.rows().into_iter().flatten().map(|x| x * x);
    squares.sum::<f64>().sqrt()
}

fn to_text(model: &Model, found: &[Found]) -> String {
    let names: Vec<String> = model
        .bodies()
        .map(|i| model.tree().bodies[i].name.clone())
        .collect();
    let n = names.len();
    let mut text = format!(
        "augmented bodies: each with the masses of all others at its hinges, world axes\n{}\n",
        one_line(model)
    );
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        let bodies = &one.bodies;
        let column = |which: usize, vector: &dyn Fn(usize) -> Vec3<f64>| -> Vec<Option<f64>> {
            (1..=n).map(|i| Some(vector(i).to_array()[which])).collect()
        };
        let mut centres = Table::new().text("body i", names.clone());
        for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
            centres = centres.numbers(
                &format!("barycentre {letter} m"),
                column(axis, &|i| bodies.barycentre(i)),
            );
        }
        for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
            centres = centres.numbers(
                &format!("d_ii {letter} m"),
                column(axis, &|i| bodies.d(i, i)),
            );
        }
        text += &format!("\n{}", centres.render());
        text += &format!("\n  mass of each: {} kg\n", six(bodies.mass()));
        if n > MOST_SHOWN {
            text += &format!(
                "\nD has {n}×{n} vectors, K is {0}×{0}: see them with --json\n",
                3 * n
            );
        } else {
            let labels: Vec<String> = (names.iter())
                .flat_map(|name| ["x", "y", "z"].map(|axis| format!("{name} {axis}")))
                .collect();
            text += &format!(
                "\nD: from the barycentre of body i (rows) to its hinge towards body k (columns), m\n{}",
                table::matrix(&labels, &names, |row, k| {
                    bodies.d(row / 3 + 1, k + 1).to_array()[row % 3]
                })
            );
            text += &format!(
                "\nK (kg·m²)\n{}",
                table::matrix(&labels, &labels, |i, j| one.k[(i, j)])
            );
        }
        text.push('\n');
        for (words, difference) in &one.checks {
            text += &format!("  check: {words}, to {}\n", rough(*difference));
        }
    }
    text
}

fn to_json(model: &Model, found: &[Found]) -> Value {
    let n = model.body_count();
    let states: Value = found
        .iter()
        .map(|one| {
            let bodies = &one.bodies;
            let mut state: Map<String, Value> = situation::to_json(&one.situation);
            let centres = (1..=n).map(|i| json::vector(bodies.barycentre(i)));
            state.insert("barycentres".into(), centres.collect());
            let rows = (1..=n)
                .map(|i| -> Value { (1..=n).map(|k| json::vector(bodies.d(i, k))).collect() });
            state.insert("D".into(), rows.collect());
            state.insert("K".into(), json::matrix(&one.k));
            let checks = one.checks.iter();
            let checks: Map<String, Value> = checks
                .map(|(words, difference)| (words.to_string(), (*difference).into()))
                .collect();
            state.insert("checks".into(), Value::Object(checks));
            Value::Object(state)
        })
        .collect();
    serde_json::json!({
        "format": "catena-barycentres/1",
        "model": model.name(),
        "mass": model.mass(),
        "bodies": model.bodies().map(|i| model.tree().bodies[i].name.clone()).collect::<Vec<_>>(),
        "states": states,
    })
}
