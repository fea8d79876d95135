//! `catena regressor MODEL`: efforts as a linear function of the bodies' inertias, τ = Y π.
//!
//! In a closed chain the efforts of all joints contain those of the constraints, which do no work along the motions v = Z w that these
//! allow: Zᵀ τ = Zᵀ Y π is the effect of the inertias on the independent freedoms.

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::rough;
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation};
use crate::state_argument::{AccelerationArgument, StateArgument};
use crate::table::Table;
use crate::{json, limits, table};
use catena::algorithm::inverse_dynamics::inertial_parameters;
use catena::algorithm::inverse_dynamics::regressor::PARAMETERS;
use catena::closed_chain::{ClosedChain, Freedoms};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, largest, relative};
use catena::{Dynamics, Matrix, Model};
use clap::Args;
use serde_json::{Value, json};

/// Y is not formed for more degrees of freedom than this.
const LARGE: usize = 1000;
/// Larger matrices are printed only as JSON.
const WIDE: usize = 6;
/// Y π must be the effort at least this well, or the exit code is 1.
const TOLERANCE: f64 = 1e-9;

/// Which model and states.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    acceleration: AccelerationArgument,
}

/// Y at one state.
struct Found {
    situation: Situation,
    /// Y, or Zᵀ Y of a closed chain.
    y: Matrix,
    /// For a closed chain: its freedoms, and how far assembly moved the state.
    closed: Option<(Freedoms, Option<Moved>)>,
    /// Difference of Y π and the efforts of inverse dynamics, relative to |Y| |π|.
    residual: f64,
}

/// Computes the regressor.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    if model.nv() > LARGE {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the regressor is not formed for more than {LARGE} freedoms; `{}` has {}",
                model.name(),
                model.nv()
            ),
        ));
    }
    let situations = arguments
        .state
        .situations(&model, arguments.acceleration.a.as_ref(), None)?;
    let each = PARAMETERS.len() * model.body_count() * model.nv();
    limits::memory("states", situations.len(), each)?;
    let parameters: Vec<f64> = inertial_parameters(&model);
    model.expect_no_gravity_gradient("the regressor")?;
    let mut chain = (!model.constraints().is_empty()).then(|| ClosedChain::new(&model));
    let tree = match &chain {
        Some(_) => model.clone().open_tree(),
        None => model.clone(),
    };
    let mut dynamics = Dynamics::new(&tree.without_passive_forces().without_forces());
    let found = situations
        .into_iter()
        .map(|situation| regress(&mut dynamics, chain.as_mut(), &parameters, situation))
        .collect::<Result<Vec<Found>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, &parameters, &found)),
        false => to_text(&model, &parameters, &found),
    });
    let worst = found
        .iter()
        .fold(0.0, |worst, one| larger(worst, one.residual));
    if worst.is_nan() || worst > TOLERANCE {
        outcome.failures.push(format!(
            "Y π is not the effort: relative difference {}, allowed {}",
            rough(worst),
            rough(TOLERANCE)
        ));
    }
    Ok(outcome)
}

fn regress(
    dynamics: &mut Dynamics,
    chain: Option<&mut ClosedChain>,
    parameters: &[f64],
    mut situation: Situation,
) -> Result<Found> {
    let mut closed = None;
    if let Some(chain) = chain {
        let time = situation.time.unwrap_or(0.0);
        let moved = situation::close(chain, time, &mut situation)?;
        situation.acceleration =
            chain.consistent_accelerations(time, &situation.state, &situation.acceleration)?;
        closed = Some((chain.freedoms(time, &situation.state)?, moved));
    }
    let mut y = dynamics
        .regressor(&situation.state, &situation.acceleration)?
        .clone();
    let mut known = dynamics
        .inverse(&situation.state, &situation.acceleration, &[])?
        .to_vec();
    let rotors = of_rotors(dynamics.model(), &situation);
    // |Y| |π| of all joints: their efforts, and their projection onto the independent freedoms, may be small differences
    let sizes: Vec<f64> = (0..y.rows())
        .map(|i| {
            let terms = y.row(i).iter().zip(parameters);
            rotors[i].abs() + terms.map(|(y, p)| (y * p).abs()).sum::<f64>()
        })
        .collect();
    for (tau, rotor) in known.iter_mut().zip(&rotors) {
        *tau -= rotor;
    }
    if let Some((freedoms, _)) = &closed {
        y = freedoms.basis.transpose().product(&y);
        known = freedoms.contract(&known);
    }
    let efforts = y.times(parameters);
    let residual = relative(&efforts, &known, largest(&sizes));
    situation.effort = efforts;
    Ok(Found {
        situation,
        y,
        closed,
        residual,
    })
}

/// The efforts that accelerate the rotors.
fn of_rotors(model: &Model, situation: &Situation) -> Vec<f64> {
    let mut all = situation.of_tree(model).acceleration;
    for (k, x) in all.iter_mut().enumerate() {
        *x *= model.dof(k).armature;
    }
    let Some(couplings) = model.couplings() else {
        return all;
    };
    let mut own = vec![0.0; model.nv()];
    couplings.contract(&all, &mut own);
    own
}

fn to_text(model: &Model, parameters: &[f64], found: &[Found]) -> String {
    let letter = match model.constraints().is_empty() {
        true => "Y",
        false => "Zᵀ Y",
    };
    let equation = match model.constraints().is_empty() {
        true => "τ = Y π, the efforts of the bodies' inertias",
        false => "Zᵀ τ = Zᵀ Y π, the efforts of the bodies' inertias on the independent freedoms",
    };
    let elements = match model.forces().is_empty() {
        true => "",
        false => ", force elements",
    };
    let mut text = format!(
        "regressor: {equation} (rotors{elements}, passive and external forces left out)\n{}\n",
        one_line(model)
    );
    let tree = model.tree();
    let mut inertias = Table::new().text("π of", tree.bodies[1..].iter().map(|b| b.name.clone()));
    for (k, name) in PARAMETERS.iter().enumerate() {
        let column = (0..model.body_count()).map(|i| Some(parameters[10 * i + k]));
        inertias = inertias.numbers(name, column);
    }
    text += &format!("\n{}", inertias.render());
    let heads: Vec<String> = PARAMETERS.map(String::from).to_vec();
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        let names = row_names(model, one);
        if names.len() > WIDE {
            text += &format!(
                "\n{letter}: {}×{}, see it with --json\n",
                one.y.rows(),
                one.y.columns()
            );
        } else {
            for (body, info) in tree.bodies[1..].iter().enumerate() {
                text += &format!(
                    "\n{letter} of `{}`\n{}",
                    info.name,
                    table::matrix(&names, &heads, |i, j| one.y[(i, 10 * body + j)])
                );
            }
        }
        if let Some((_, Some(moved))) = one.closed {
            text += &format!("\n  {}\n", moved.sentence());
        }
        text += &format!(
            "\n  check: {letter} π is the effort of inverse dynamics, relative difference {}\n",
            rough(one.residual)
        );
    }
    text
}

/// The freedoms that the rows belong to.
fn row_names(model: &Model, one: &Found) -> Vec<String> {
    let all = model.freedoms();
    match &one.closed {
        None => all.iter().map(|dof| dof.name.clone()).collect(),
        Some((freedoms, _)) => {
            let independent = freedoms.independent.iter();
            independent.map(|&k| all[k].name.clone()).collect()
        }
    }
}

fn to_json(model: &Model, parameters: &[f64], found: &[Found]) -> Value {
    let states: Value = found
        .iter()
        .map(|one| {
            let mut state = situation::to_json(&one.situation);
            state.insert("a".into(), json::numbers(&one.situation.acceleration));
            state.insert("Y".into(), json::matrix(&one.y));
            state.insert("Y_pi".into(), json::numbers(&one.situation.effort));
            let mut checks = json!({ "inverse_dynamics": one.residual });
            if let Some((freedoms, moved)) = &one.closed {
                state.insert("freedoms".into(), json!(row_names(model, one)));
                state.insert("Z".into(), json::matrix(&freedoms.basis));
                checks["assembly_moved"] = json!(moved.map(Moved::to_json));
            }
            state.insert("checks".into(), checks);
            Value::Object(state)
        })
        .collect();
    let bodies: Value = (1..=model.body_count())
        .map(|i| Value::from(model.tree().bodies[i].name.as_str()))
        .collect();
    json!({
        "format": "catena-regressor/1",
        "model": model.name(),
        "bodies": bodies,
        "parameters": PARAMETERS,
        "pi": json::numbers(parameters),
        "states": states,
    })
}
