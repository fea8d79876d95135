//! `catena derivatives MODEL`: how efforts or accelerations change with positions, velocities and efforts.

use crate::commands::closed_derivatives;
use crate::commands::info::one_line;
use crate::model_argument::ModelArgument;
use crate::number::rough;
use crate::outcome::Outcome;
use crate::situation::{self, Situation};
use crate::state_argument::{AccelerationArgument, EffortArgument, StateArgument};
use crate::{json, limits, referee, table};
use catena::algorithm::coupled::CoupledDynamics;
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, largest, relative, within};
use catena::scalar::{Dual, Scalar};
use catena::spatial::Force;
use catena::{Dynamics, Matrix, Model, State};
use clap::Args;
use serde_json::{Value, json};

/// Matrices are not formed for more degrees of freedom than this.
const LARGE: usize = 3000;
/// The check by dual numbers costs O(n²), with a large factor: it is left out for larger models.
const COMPARED: usize = 400;
/// Directions per dual number.
const DIRECTIONS: usize = 4;
/// Larger matrices are printed only as JSON.
const WIDE: usize = 12;
/// Allowed difference of the two methods where no equations are solved, relative to the largest derivative: each
/// carries the round-off of the recursion.
const ROUNDING: f64 = 1e-10;
/// Where equations with the inertia matrix are solved, its condition number multiplies round-off; this much is allowed per unit of it.
const SOLVING: f64 = 1e-13;
/// However bad the condition, a larger difference is a disagreement.
const LARGEST: f64 = 1e-3;

type D = Dual<f64, DIRECTIONS>;

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

    /// Differentiate the accelerations of forward dynamics under the efforts, instead of the efforts of inverse dynamics. Closed chains
    /// have these only: they are given without this option, too
    #[arg(long)]
    forward: bool,
}

/// The three matrices at one state.
struct Differentiated {
    situation: Situation,
    /// With respect to q, v, and to accelerations or efforts.
    matrices: [Matrix; 3],
    /// Against dual numbers, the first two.
    compared: Option<Comparison>,
    /// Error of the accelerations of forward dynamics, by double-double arithmetic: their derivatives come from the same factors.
    forward_error: Option<f64>,
}

/// Comparison of two methods for the same matrices.
#[derive(Clone, Copy)]
struct Comparison {
    /// Their difference, relative to the largest entry.
    difference: f64,
    /// The allowed difference.
    allowed: f64,
}

impl Comparison {
    /// NaN is a disagreement.
    fn agrees(self) -> bool {
        self.difference <= self.allowed
    }
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
    if !model.constraints().is_empty() {
        return closed_derivatives::run(&model, situations, as_json);
    }
    let mut dynamics = Dynamics::new(&model);
    let found = situations
        .into_iter()
        .map(|situation| differentiate(&mut dynamics, arguments.forward, situation))
        .collect::<Result<Vec<Differentiated>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, arguments.forward, &found)),
        false => to_text(&model, arguments.forward, &found),
    });
    for (index, one) in found.iter().enumerate() {
        if let Some(compared) = one.compared {
            outcome.require(
                index,
                "dual numbers disagree",
                compared.difference,
                compared.allowed,
            );
        }
        if let Some(error) = one.forward_error {
            let wrong = "the accelerations have lost digits, by double-double arithmetic";
            outcome.require(index, wrong, error, referee::ALLOWED);
        }
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
    let forward_error = match forward {
        true => {
            let Situation {
                state,
                effort,
                acceleration,
                ..
            } = &situation;
            Some(dynamics.accuracy(state, effort, &external, acceleration)?)
        }
        false => None,
    };
    Ok(Differentiated {
        situation,
        matrices,
        compared,
        forward_error,
    })
}

/// The derivatives with respect to q and v in dual numbers, by the recursions of the dynamics itself.
fn compare(
    dynamics: &mut Dynamics,
    forward: bool,
    situation: &Situation,
    external: &[Force<f64>],
    matrices: &[Matrix; 3],
) -> Result<Comparison> {
    let mut difference = 0.0;
    for (of_q, matrix) in [(true, &matrices[0]), (false, &matrices[1])] {
        let dual = by_duals(dynamics.model(), forward, of_q, situation, external);
        let size = largest(matrix.as_slice()).max(1e-3);
        difference = larger(
            difference,
            relative(dual.as_slice(), matrix.as_slice(), size),
        );
    }
    let mut allowed = ROUNDING;
    if forward {
        let condition = condition(dynamics.inertia(&situation.state)?, &matrices[2]);
        allowed = (SOLVING * condition).clamp(ROUNDING, LARGEST);
    }
    Ok(Comparison {
        difference,
        allowed,
    })
}

/// Skeel's condition number ‖|I⁻¹| |I|‖∞, which depends little on the choice of units.
fn condition(inertia: &Matrix, inverse: &Matrix) -> f64 {
    let rows = |matrix: &Matrix, x: &[f64]| -> Vec<f64> {
        (0..matrix.rows())
            .map(|i| (0..x.len()).map(|j| matrix[(i, j)].abs() * x[j]).sum())
            .collect()
    };
    let ones = vec![1.0; inertia.rows()];
    largest(&rows(inverse, &rows(inertia, &ones)))
}

fn by_duals(
    model: &Model,
    forward: bool,
    of_q: bool,
    situation: &Situation,
    external: &[Force<f64>],
) -> Matrix {
    let nv = model.nv();
    let lift = |numbers: &[f64]| numbers.iter().map(|&x| D::constant(x)).collect::<Vec<D>>();
    let external: Vec<Force<D>> = external
        .iter()
        .map(|f| Force::new(f.moment.map(D::constant), f.force.map(D::constant)))
        .collect();
    let given = match forward {
        true => lift(&situation.effort),
        false => lift(&situation.acceleration),
    };
    let tree = model.clone().open_tree();
    let mut coupled = model
        .couplings()
        .map(|c| (c, CoupledDynamics::new(&tree, c)));
    let mut accelerations = ForwardDynamics::new(&tree);
    let mut efforts = InverseDynamics::new(&tree);
    let mut found = vec![D::constant(0.0); nv];
    let mut matrix = Matrix::zeros(nv, nv);
    for first in (0..nv).step_by(DIRECTIONS) {
        let columns = DIRECTIONS.min(nv - first);
        let mut state: State<D> = situation.state.lift();
        let mut delta = vec![D::constant(0.0); nv];
        for direction in 0..columns {
            delta[first + direction] = D::variable(0.0, direction);
        }
        match of_q {
            true => state.step(model, &delta),
            false => state.v.iter_mut().zip(&delta).for_each(|(v, d)| *v += *d),
        }
        match (forward, &mut coupled) {
            (true, Some((couplings, work))) => {
                work.forward(
                    &tree,
                    couplings,
                    state.view(),
                    &given,
                    &external,
                    &mut found,
                );
            }
            (false, Some((couplings, work))) => {
                work.inverse(
                    &tree,
                    couplings,
                    state.view(),
                    &given,
                    &external,
                    &mut found,
                );
            }
            (true, None) => forward_dynamics(
                model,
                state.view(),
                &given,
                &external,
                &mut accelerations,
                &mut found,
            ),
            (false, None) => inverse_dynamics(
                model,
                state.view(),
                &given,
                &external,
                &mut efforts,
                &mut found,
            ),
        }
        for (i, x) in found.iter().enumerate() {
            for direction in 0..columns {
                matrix[(i, first + direction)] = x.derivative[direction];
            }
        }
    }
    matrix
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
        .freedoms()
        .into_iter()
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
                "\n  check: dual numbers {}, relative difference {}, allowed {}\n",
                match compared.agrees() {
                    true => "agree",
                    false => "DISAGREE",
                },
                rough(compared.difference),
                rough(compared.allowed)
            ),
            None => {
                format!("\n  check: dual numbers left out (more than {COMPARED} freedoms)\n")
            }
        };
        if let Some(error) = one.forward_error
            && !within(error, referee::ALLOWED)
        {
            text += &format!(
                "  check: double-double arithmetic differs by {} from the accelerations, allowed {}\n  {}\n",
                rough(error),
                rough(referee::ALLOWED),
                referee::LOST
            );
        }
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
            put(
                "checks",
                json!({
                    "dual_numbers": one.compared.map(|compared| compared.difference),
                    "allowed": one.compared.map(|compared| compared.allowed),
                    "twice_the_digits": one.forward_error,
                }),
            );
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
