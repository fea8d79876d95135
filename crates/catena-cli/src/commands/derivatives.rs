//! `catena derivatives MODEL`: how efforts or accelerations change with positions, velocities and efforts.

use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::rough;
use crate::outcome::Outcome;
use crate::residual::{larger, largest, relative};
use crate::situation::{self, Situation};
use crate::state_argument::{AccelerationArgument, EffortArgument, StateArgument};
use crate::{json, limits, table};
use catena::error::{Error, ErrorKind, Result};
use catena::spatial::Force;
use catena::{Dynamics, Matrix, Model};
use clap::Args;
use serde_json::{Value, json};

/// Matrices are not formed for more freedoms than this.
const LARGE: usize = 3000;
/// The check by differences costs O(n²): larger models go without.
const COMPARED: usize = 400;
/// Larger matrices are printed only as JSON.
const WIDE: usize = 12;
/// Length of the steps of the check.
const STEP: f64 = 1e-6;
/// Derivatives must agree with central differences at least this well, or the exit code is 1: the differences are good to
/// about 1e-9, less where accelerations are large.
const TOLERANCE: f64 = 1e-5;

/// Which model and states, and what is differentiated.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    acceleration: AccelerationArgument,
    #[command(flatten)]
    effort: EffortArgument,

    /// Differentiate the accelerations of forward dynamics under the efforts, instead of the efforts of inverse dynamics
    #[arg(long)]
    forward: bool,
}

/// The three matrices at one state.
struct Differentiated {
    situation: Situation,
    /// With respect to q, v, and to accelerations or efforts.
    matrices: [Matrix; 3],
    /// Relative difference to central differences, of the first two.
    compared: Option<f64>,
}

/// Computes the derivatives.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    if model.nv() > LARGE {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "derivatives are not formed for more than {LARGE} freedoms; `{}` has {}",
                model.name(),
                model.nv()
            ),
        ));
    }
    let situations = arguments.state.situations(
        &model,
        arguments.acceleration.a.as_ref(),
        arguments.effort.tau.as_ref(),
    )?;
    limits::memory("states", situations.len(), 3 * model.nv() * model.nv())?;
    let mut dynamics = Dynamics::new(&model);
    let found = situations
        .into_iter()
        .map(|situation| differentiate(&mut dynamics, arguments.forward, situation))
        .collect::<Result<Vec<Differentiated>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, arguments.forward, &found)),
        false => to_text(&model, arguments.forward, &found),
    });
    let worst = found
        .iter()
        .filter_map(|one| one.compared)
        .fold(0.0, larger);
    if worst.is_nan() || worst > TOLERANCE {
        outcome.failures.push(format!(
            "central differences disagree: relative difference {}, allowed {}",
            rough(worst),
            rough(TOLERANCE)
        ));
    }
    Ok(outcome)
}

fn differentiate(
    dynamics: &mut Dynamics,
    forward: bool,
    mut situation: Situation,
) -> Result<Differentiated> {
    let external = situation.external(dynamics)?;
    let state = &situation.state;
    let matrices = if forward {
        let found = dynamics.forward_derivatives(state, &situation.effort, &external)?;
        situation.acceleration.copy_from_slice(&found.vdot);
        [found.dq.clone(), found.dv.clone(), found.dtau.clone()]
    } else {
        let found = dynamics.inverse_derivatives(state, &situation.acceleration, &external)?;
        [found.dq.clone(), found.dv.clone(), found.inertia.clone()]
    };
    if !forward {
        situation.effort = dynamics
            .inverse(state, &situation.acceleration, &external)?
            .to_vec();
    }
    let compared = match dynamics.model().nv() <= COMPARED {
        true => Some(compare(
            dynamics, forward, &situation, &external, &matrices,
        )?),
        false => None,
    };
    Ok(Differentiated {
        situation,
        matrices,
        compared,
    })
}

/// Central differences along every freedom, of q and of v.
fn compare(
    dynamics: &mut Dynamics,
    forward: bool,
    situation: &Situation,
    external: &[Force<f64>],
    matrices: &[Matrix; 3],
) -> Result<f64> {
    let model = dynamics.model().clone();
    let nv = model.nv();
    let mut worst = 0.0;
    for (of_q, matrix) in [(true, &matrices[0]), (false, &matrices[1])] {
        let mut difference = Matrix::zeros(nv, nv);
        for k in 0..nv {
            for sign in [1.0, -1.0] {
                let mut state = situation.state.clone();
                let mut delta = vec![0.0; nv];
                delta[k] = sign * STEP;
                match of_q {
                    true => state.step(&model, &delta),
                    false => state.v[k] += delta[k],
                }
                let value = match forward {
                    true => dynamics.forward(&state, &situation.effort, external)?,
                    false => dynamics.inverse(&state, &situation.acceleration, external)?,
                };
                for i in 0..nv {
                    difference[(i, k)] += sign * value[i] / (2.0 * STEP);
                }
            }
        }
        // friction jumps where a joint turns round: nothing to compare there
        for k in (0..nv).filter(|&k| situation.state.v[k].abs() <= STEP && !of_q) {
            if model.dof(k).friction != 0.0 {
                for i in 0..nv {
                    difference[(i, k)] = matrix[(i, k)];
                }
            }
        }
        let size = largest(matrix.as_slice()).max(1e-3);
        worst = larger(
            worst,
            relative(difference.as_slice(), matrix.as_slice(), size),
        );
    }
    Ok(worst)
}

fn titles(forward: bool) -> [&'static str; 3] {
    match forward {
        true => [
            "∂v̇/∂q (rad/s² or m/s² per rad or m)",
            "∂v̇/∂v (rad/s² or m/s² per rad/s or m/s)",
            "∂v̇/∂τ = I⁻¹ (rad/s² or m/s² per N·m or N)",
        ],
        false => [
            "∂τ/∂q (N·m or N per rad or m)",
            "∂τ/∂v (N·m or N per rad/s or m/s)",
            "∂τ/∂v̇ = I (N·m or N per rad/s² or m/s²)",
        ],
    }
}

fn to_text(model: &Model, forward: bool, found: &[Differentiated]) -> String {
    let what = match forward {
        true => "forward dynamics: row, the acceleration; column, the freedom",
        false => "inverse dynamics: row, the effort; column, the freedom",
    };
    let mut text = format!("derivatives of {what}\n{}\n", one_line(model));
    let names: Vec<String> = model
        .tree()
        .dofs
        .iter()
        .map(|dof| dof.name.clone())
        .collect();
    for (index, one) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstate {} of {}\n", index + 1, found.len());
        }
        for (title, matrix) in titles(forward).iter().zip(&one.matrices) {
            text += &match matrix.rows() > WIDE {
                true => format!("\n{title}: {0}×{0}, see it with --json\n", matrix.rows()),
                false => format!(
                    "\n{title}\n{}",
                    table::matrix(&names, &names, |i, j| matrix[(i, j)])
                ),
            };
        }
        text += &match one.compared {
            Some(compared) => format!(
                "\n  check: central differences agree, relative difference {}\n",
                rough(compared)
            ),
            None => {
                format!("\n  check: central differences left out (more than {COMPARED} freedoms)\n")
            }
        };
    }
    text
}

fn to_json(model: &Model, forward: bool, found: &[Differentiated]) -> Value {
    let states: Value = found
        .iter()
        .map(|one| {
            let mut state = situation::to_json(&one.situation);
            let mut put = |key: &str, value: Value| state.insert(key.into(), value);
            put("a", json::numbers(&one.situation.acceleration));
            put("tau", json::numbers(&one.situation.effort));
            let keys = match forward {
                true => ["a_q", "a_v", "a_tau"],
                false => ["tau_q", "tau_v", "tau_a"],
            };
            for (key, matrix) in keys.into_iter().zip(&one.matrices) {
                put(key, json::matrix(matrix));
            }
            put("checks", json!({ "central_differences": one.compared }));
            Value::Object(state)
        })
        .collect();
    json!({
        "format": "catena-derivatives/1",
        "model": model.name(),
        "of": if forward { "forward" } else { "inverse" },
        "states": states,
    })
}
