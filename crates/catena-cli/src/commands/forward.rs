//! `catena forward MODEL`: the accelerations that given efforts produce, with two independent checks.

use crate::commands::closed_forward;
use crate::commands::info::one_line;
use crate::commands::inverse::state_block;
use crate::formulation_argument::FormulationArgument;
use crate::model_argument::ModelArgument;
use crate::number::rough;
use crate::outcome::Outcome;
use crate::situation::{self, Situation};
use crate::state_argument::{EffortArgument, StateArgument};
use crate::{json, referee};
use catena::algorithm::forward_dynamics::{WalkerOrin, forward_dynamics_walker_orin};
use catena::dense::Lu;
use catena::error::Result;
use catena::residual::{largest, largest_of, relative, within};
use catena::spatial::Force;
use catena::{Dynamics, Model, State, StateView};
use clap::Args;
use serde_json::{Value, json};

/// Inverse dynamics must return the efforts, and Walker and Orin's method must agree, at least this well. Where they do not, because
/// large forces cancel or the inertia matrix is ill-conditioned, double-double arithmetic decides: accelerations with a larger error
/// make the exit code 1.
const TOLERANCE: f64 = referee::ALLOWED;
/// Walker and Orin's method costs O(n³): for larger models double-double arithmetic replaces it, at O(n).
const LARGE: usize = 1000;

/// Which model and states.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    effort: EffortArgument,

    #[command(flatten)]
    formulation: FormulationArgument,
}

/// A situation with the accelerations found.
struct Solved {
    situation: Situation,
    /// Relative difference of the efforts that inverse dynamics returns.
    returned: f64,
    /// Relative difference from Walker and Orin's accelerations.
    twin: Option<f64>,
    /// Errors of the accelerations and of Walker and Orin's, by double-double arithmetic, where a check failed or was left out.
    sharp: Option<Sharp>,
}

/// Errors as of [`Dynamics::accuracy`]; none of Walker and Orin's where it was left out or has no result.
struct Sharp {
    own: f64,
    twin: Option<f64>,
}

/// Computes the accelerations.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    let situations = arguments
        .state
        .situations(&model, None, arguments.effort.tau.as_ref())?;
    if !model.constraints().is_empty() {
        let formulation = arguments.formulation.formulation()?;
        return closed_forward::run(&model, situations, formulation, as_json);
    }
    if model.couplings().is_some() && arguments.formulation.is_given() {
        let all = situations.iter().map(|one| one.of_tree(&model)).collect();
        let whole = model.with_couplings_as_constraints();
        return closed_forward::run(&whole, all, arguments.formulation.formulation()?, as_json);
    }
    if let Some(formulation) = arguments.formulation.formulation()? {
        return closed_forward::run(&model, situations, Some(formulation), as_json);
    }
    let mut dynamics = Dynamics::new(&model);
    let mut twin = (model.tree().nv <= LARGE).then(|| Twin::new(&model));
    let solved = situations
        .into_iter()
        .map(|situation| solve(&mut dynamics, &mut twin, situation))
        .collect::<Result<Vec<Solved>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, &solved)),
        false => to_text(&model, &solved),
    });
    let errors = solved.iter().filter_map(|one| one.sharp.as_ref());
    let worst = largest_of(errors.map(|sharp| sharp.own));
    if !within(worst, TOLERANCE) {
        outcome.failures.push(format!(
            "the accelerations are wrong: double-double arithmetic differs by {}, allowed {}",
            rough(worst),
            rough(TOLERANCE)
        ));
    }
    Ok(outcome)
}

fn solve(
    dynamics: &mut Dynamics,
    twin: &mut Option<Twin>,
    mut situation: Situation,
) -> Result<Solved> {
    let external = situation.external(dynamics)?;
    let state = &situation.state;
    situation.acceleration = dynamics
        .forward(state, &situation.effort, &external)?
        .to_vec();
    let nothing = vec![0.0; situation.effort.len()];
    let bias = largest(dynamics.inverse(state, &nothing, &external)?);
    let scale = bias.max(largest(&situation.effort));
    let back = dynamics.inverse(state, &situation.acceleration, &external)?;
    let returned = relative(back, &situation.effort, scale);
    let found = match twin {
        Some(twin) => Some(twin.accelerations(dynamics, &situation, &external)?),
        None => None,
    };
    let own = &situation.acceleration;
    let twin = found.as_ref().map(|a| relative(a, own, largest(own)));
    let agreed = within(returned, TOLERANCE) && twin.is_some_and(|apart| within(apart, TOLERANCE));
    let sharp = match agreed {
        true => None,
        false => {
            let mut error =
                |found: &[f64]| dynamics.accuracy(state, &situation.effort, &external, found);
            let found = found.filter(|a| a.iter().all(|x| x.is_finite()));
            Some(Sharp {
                own: error(own)?,
                twin: found.map(|a| error(&a)).transpose()?,
            })
        }
    };
    Ok(Solved {
        situation,
        returned,
        twin,
        sharp,
    })
}

/// Walker and Orin's method: the inertia matrix, and dense factors of it.
enum Twin {
    Tree(Box<WalkerOrin<f64>>),
    /// The matrix of the independent freedoms.
    Coupled,
}

impl Twin {
    fn new(model: &Model) -> Self {
        match model.couplings() {
            None => Twin::Tree(Box::new(WalkerOrin::new(model))),
            Some(_) => Twin::Coupled,
        }
    }

    fn accelerations(
        &mut self,
        dynamics: &mut Dynamics,
        situation: &Situation,
        external: &[Force<f64>],
    ) -> Result<Vec<f64>> {
        let nv = dynamics.model().nv();
        let (state, tau) = (&situation.state, &situation.effort);
        let mut found = vec![0.0; nv];
        match self {
            Twin::Tree(work) => {
                let (model, State { q, v, base }) = (dynamics.model(), state);
                forward_dynamics_walker_orin(
                    model,
                    StateView { q, v, base },
                    tau,
                    external,
                    work,
                    &mut found,
                );
            }
            Twin::Coupled => {
                let bias = dynamics.inverse(state, &found, external)?;
                let rest: Vec<f64> = tau.iter().zip(bias).map(|(tau, b)| tau - b).collect();
                let mut factors = Lu::new(nv);
                let inertia = dynamics.inertia(state)?.as_slice();
                factors.matrix_mut().as_mut_slice().copy_from_slice(inertia);
                match factors.factorize() {
                    Ok(()) => factors.solve(&rest, &mut found),
                    Err(_) => found.fill(f64::NAN),
                }
            }
        }
        Ok(found)
    }
}

/// The result of a comparison.
fn verdict(apart: f64, [yes, no]: [&str; 2]) -> String {
    let word = if within(apart, TOLERANCE) { yes } else { no };
    format!(
        "{word}, relative difference {}, allowed {}\n",
        rough(apart),
        rough(TOLERANCE)
    )
}

fn to_text(model: &Model, solved: &[Solved]) -> String {
    let mut text = format!(
        "forward dynamics: the accelerations a that the efforts τ produce, in O(n)\n{}\n",
        one_line(model)
    );
    for (index, one) in solved.iter().enumerate() {
        text += &state_block(model, &one.situation, index, solved.len());
        let words = ["returns the efforts", "does not return the efforts"];
        text += "\n  check: inverse dynamics ";
        text += &verdict(one.returned, words);
        text += &match one.twin {
            Some(twin) => format!(
                "  check: Walker–Orin (composite bodies, {}) {}",
                match model.couplings() {
                    None => "Cholesky",
                    Some(_) => "Gᵀ I G, elimination",
                },
                match twin.is_finite() {
                    true => verdict(twin, ["agrees", "disagrees"]),
                    false => {
                        "has no result: pivots of the inertia matrix are lost in double precision\n"
                            .into()
                    }
                }
            ),
            None => format!(
                "  check: Walker–Orin left out: it costs O(n³) (more than {LARGE} freedoms)\n"
            ),
        };
        if let Some(sharp) = &one.sharp {
            text += &format!(
                "  check: double-double arithmetic differs by {} from the accelerations above, allowed {}",
                rough(sharp.own),
                rough(TOLERANCE)
            );
            if let Some(twin) = sharp.twin {
                text += &format!("; by {} from Walker–Orin's", rough(twin));
            }
            text += "\n";
            let checks = [Some(one.returned), one.twin, Some(sharp.own)];
            if !checks.iter().flatten().all(|off| within(*off, TOLERANCE)) {
                text += &format!("  {}\n", referee::LOST);
            }
        }
    }
    text
}

fn to_json(model: &Model, solved: &[Solved]) -> Value {
    let states: Value = solved
        .iter()
        .map(|one| {
            let mut state = situation::to_json(&one.situation);
            state.insert("a".into(), json::numbers(&one.situation.acceleration));
            state.insert("tau".into(), json::numbers(&one.situation.effort));
            state.insert(
                "checks".into(),
                json!({
                    "inverse_returns_tau": one.returned,
                    "walker_orin": one.twin,
                    "allowed": TOLERANCE,
                    "twice_the_digits": one.sharp.as_ref().map(|sharp| sharp.own),
                    "twice_the_digits_walker_orin": one.sharp.as_ref().and_then(|sharp| sharp.twin),
                }),
            );
            Value::Object(state)
        })
        .collect();
    json!({ "format": "catena-forward/1", "model": model.name(), "states": states })
}
