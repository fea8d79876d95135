//! `catena forward` on a model with constraints: accelerations, multipliers and the loads in the joints that close loops.

use crate::commands::assemble::count_line;
use crate::commands::info::one_line;
use crate::commands::inverse::state_block;
use crate::formulation_argument::described;
use crate::number::{counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation};
use crate::table::Table;
use crate::{json, limits, referee};
use catena::closed_chain::{Accuracy, ClosedChain, DENSE_ROWS, Loads, Sharing};
use catena::error::Result;
use catena::random::Random;
use catena::residual::{larger, largest, largest_of, relative, within};
use catena::{Dynamics, Model, State};
use catena_mechanism::{Formulation, Mechanism};
use serde_json::{Value, json};

/// Singular values of the rows below this fraction of the largest are near a singular position, as for `catena doctor`.
const NEAR: f64 = 1e-3;
/// Number of positions near a state that are examined where rows are dependent.
const NEIGHBOURS: usize = 4;
/// Rows up to which formulations are computed that decompose all of them together, as for `catena compare`.
const FORMULATED: usize = 5000;
/// The laws must hold at least this well, or the exit code is 1.
const TOLERANCE: f64 = 1e-9;

struct Solved {
    situation: Situation,
    moved: Option<Moved>,
    loads: Loads,
    rank: usize,
    /// Minimum-norm multipliers at the constraints only.
    multipliers: Vec<f64>,
    /// Relative difference of the efforts of the motion from τ + Jᵀλ.
    returned: f64,
    /// Relative difference of J a from b.
    kept: f64,
    /// Errors of the accelerations.
    accuracy: Accuracy,
    route: String,
    singular: Singular,
}

/// How close to a singular position a state is.
#[derive(Clone, Copy)]
struct Singular {
    /// Independent rows here.
    rank: usize,
    /// Largest rank at other closed positions nearby.
    elsewhere: usize,
    /// Smallest singular value of the independent rows, divided by the largest; unknown where there are many rows.
    smallest: Option<f64>,
}

impl Singular {
    /// Examines the state and, if rows are dependent here, some positions near it, to see whether they are dependent everywhere.
    fn at(chain: &mut ClosedChain, time: f64, state: &State) -> Result<Self> {
        if is_large(chain) {
            let rank = chain.independent_rows(time, state)?;
            return Ok(Singular {
                rank,
                elsewhere: rank,
                smallest: None,
            });
        }
        let (rank, values) = chain.rank(time, state)?;
        let smallest = match rank.checked_sub(1) {
            Some(last) => values[last] / values[0],
            None => 1.0,
        };
        let smallest = Some(smallest);
        let mut elsewhere = rank;
        if rank < chain.row_count().min(state.v.len()) {
            let mut random = Random::new(1);
            for _ in 0..NEIGHBOURS {
                let mut guess = state.clone();
                guess.v.fill(0.0);
                let step: Vec<f64> = state.v.iter().map(|_| random.uniform(-0.3, 0.3)).collect();
                guess.step(chain.model(), &step);
                // drivers may leave no other position
                if let Ok(found) = chain.assemble_from(time, &guess, &[]) {
                    elsewhere = elsewhere.max(found.rows[1]);
                }
            }
        }
        Ok(Singular {
            rank,
            elsewhere,
            smallest,
        })
    }

    /// The remark, if there is one.
    fn remark(self, freedoms: usize) -> Option<String> {
        if self.rank < self.elsewhere {
            return Some(format!(
                "singular position: {} here, {} elsewhere. The mechanism can move on along more than one branch; \
                 these are the accelerations for the constraints at this position",
                counted(freedoms - self.rank, "freedom", "freedoms"),
                freedoms - self.elsewhere
            ));
        }
        let smallest = self.smallest.filter(|smallest| *smallest < NEAR)?;
        Some(format!(
            "near a singular position: the smallest singular value of the independent rows is {} of the largest, \
             and round-off is divided by it",
            rough(smallest)
        ))
    }
}

/// Are there so many rows that checks which decompose all of them together are left out?
fn is_large(chain: &ClosedChain) -> bool {
    chain.row_count() > DENSE_ROWS
}

/// Computes the accelerations; states that are not closed are assembled first.
pub fn run(
    model: &Model,
    situations: Vec<Situation>,
    formulation: Option<Formulation>,
    as_json: bool,
) -> Result<Outcome> {
    if formulation.is_some_and(|formulation| formulation != Formulation::AlongTree) {
        limits::rows(model, "forward --formulation", 1, FORMULATED)?;
    }
    let mut chain = ClosedChain::new(model);
    let mut other = formulation.map(|formulation| (formulation, Mechanism::new(model)));
    let mut dynamics = Dynamics::new(&model.clone().open_tree());
    let solved = situations
        .into_iter()
        .map(|situation| solve(&mut chain, other.as_mut(), &mut dynamics, situation))
        .collect::<Result<Vec<Solved>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(model, &solved)),
        false => to_text(model, &solved),
    });
    let worst = solved.iter().fold(0.0, |worst, one| {
        larger(worst, larger(one.returned, one.kept))
    });
    if !within(worst, TOLERANCE) {
        outcome.failures.push(format!(
            "the motion does not satisfy its equations: relative difference {}, allowed {}",
            rough(worst),
            rough(TOLERANCE)
        ));
    }
    for (index, one) in solved.iter().enumerate() {
        let wrong = "the accelerations have lost digits, by double-double arithmetic";
        let error = referee::closed_error(one.accuracy);
        outcome.require(index, wrong, error, referee::ALLOWED);
    }
    Ok(outcome)
}

fn solve(
    chain: &mut ClosedChain,
    other: Option<&mut (Formulation, Mechanism)>,
    dynamics: &mut Dynamics,
    mut situation: Situation,
) -> Result<Solved> {
    let time = situation.time.unwrap_or(0.0);
    let moved = situation::close(chain, time, &mut situation)?;
    let external = situation.external(dynamics)?;
    let (state, tau) = (&situation.state, &situation.effort);
    let singular = Singular::at(chain, time, state)?;
    let motion = chain.forward(time, state, tau, &external)?;
    let (mut vdot, rank) = (motion.accelerations.to_vec(), motion.rank);
    let mut multipliers = motion.multipliers.to_vec();
    let sharing = match is_large(chain) {
        true => Sharing::Constraints,
        false => Sharing::AllJoints,
    };
    let mut loads = chain.loads(state, tau, &external, sharing)?;
    let mut route = chain.route_reason();
    if let Some((formulation, mechanism)) = other {
        let solution = mechanism.accelerations(*formulation, time, state, tau, &external)?;
        vdot = solution.accelerations;
        multipliers.clone_from(&solution.multipliers);
        loads.constraints = solution.constraints;
        loads.multipliers = solution.multipliers;
        let assumed = solution.assumptions.iter();
        let assumed: String = assumed.map(|text| format!("; {text}")).collect();
        route = format!("{}, as requested{assumed}", described(*formulation));
    }
    let rows = chain.rows(time, state)?;
    let mut efforts = tau.clone();
    rows.add_transpose_times(&multipliers, &mut efforts);
    let mut second = vec![0.0; rows.count()];
    rows.times(&vdot, &mut second);
    let b: Vec<f64> = rows.bias.iter().map(|bias| -bias).collect();
    // at equilibrium accelerations and efforts are round-off: of those of the open tree, and of the loads that the joints carry
    let open = dynamics.forward(state, tau, &external).map_or(0.0, largest);
    let kept = relative(&second, &b, largest_of([largest(&vdot), largest(&b), open]));
    let carried = largest_of(loads.tree.iter().map(|load| largest(&load.to_array())));
    let back = dynamics.inverse(state, &vdot, &external)?;
    let returned = relative(
        back,
        &efforts,
        largest_of([largest(back), largest(&efforts), carried]),
    );
    let accuracy = chain.accuracy(time, state, tau, &external, &vdot)?;
    situation.acceleration = vdot;
    Ok(Solved {
        accuracy,
        situation,
        moved,
        loads,
        rank,
        multipliers,
        returned,
        kept,
        route,
        singular,
    })
}

fn constraint_table(model: &Model, one: &Solved) -> Table {
    let constraints = model.constraints();
    let size = |part: fn(&catena::spatial::Force<f64>) -> f64| -> Vec<Option<f64>> {
        constraints
            .iter()
            .zip(&one.loads.constraints)
            .map(|(constraint, load)| constraint.bodies().map(|_| part(load)))
            .collect()
    };
    let mut first = 0;
    let efforts: Vec<Option<f64>> = constraints
        .iter()
        .map(|constraint| {
            let at = first;
            first += constraint.rows();
            constraint
                .bodies()
                .is_none()
                .then(|| one.loads.multipliers[at])
        })
        .collect();
    let mut table = Table::new()
        .text("constraint", constraints.iter().map(|c| c.name.to_string()))
        .text("type", constraints.iter().map(|c| c.kind()))
        .written("rows", constraints.iter().map(|c| c.rows().to_string()));
    if constraints.iter().any(|c| c.bodies().is_some()) {
        table = table
            .numbers("force N", size(|load| load.force.norm()))
            .numbers("torque N·m", size(|load| load.moment.norm()));
    }
    if efforts.iter().any(Option::is_some) {
        table = table.numbers("multiplier", efforts);
    }
    table
}

fn to_text(model: &Model, solved: &[Solved]) -> String {
    let of = match model.constraints().is_empty() {
        true => "a tree",
        false => "a closed chain",
    };
    let mut text = format!(
        "forward dynamics of {of}: the accelerations a that the efforts τ produce\n{}\n",
        one_line(model)
    );
    for (index, one) in solved.iter().enumerate() {
        text += &state_block(model, &one.situation, index, solved.len());
        text.push('\n');
        if !model.constraints().is_empty() {
            text += &constraint_table(model, one).render();
            let counts = [model.constraint_rows(), one.rank];
            text += &format!("  {}\n", count_line(counts, model.nv() - one.rank));
        }
        text += &format!("  Route: {}.\n", one.route);
        if one.rank < model.constraint_rows() {
            text += match one.singular.smallest {
                Some(_) => {
                    "  The motion does not determine the loads: these have minimum norm over all joints.\n"
                }
                None => {
                    "  The motion does not determine the loads: these have minimum norm at each constraint that closes a loop.\n"
                }
            };
        }
        if one.singular.smallest.is_none() {
            text += &format!(
                "  Left out because they cost O(n m²) (more than {DENSE_ROWS} rows): singular values, the ranks nearby and loads of minimum norm over all joints.\n"
            );
        }
        if let Some(remark) = one.singular.remark(model.nv()) {
            text += &format!("  Remark: {remark}.\n");
        }
        if let Some(moved) = one.moved {
            text += &format!("  {}\n", moved.sentence());
        }
        text.push('\n');
        let mut returned = "efforts";
        if !model.constraints().is_empty() {
            text += &format!(
                "  check: the accelerations obey the constraints, relative difference {}\n",
                rough(one.kept)
            );
            returned = "efforts and multipliers";
        }
        text += &format!(
            "  check: inverse dynamics returns {returned}, relative difference {}\n",
            rough(one.returned)
        );
        text += &referee::closed_words(one.accuracy);
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
            let loads: Value = model
                .constraints()
                .iter()
                .zip(&one.loads.constraints)
                .map(|(constraint, load)| {
                    json!({
                        "constraint": *constraint.name,
                        "force": json::vector(load.force),
                        "torque": json::vector(load.moment),
                    })
                })
                .collect();
            state.insert(
                "checks".into(),
                json!({
                    "assembly_moved": one.moved.map(Moved::to_json),
                    "rows": model.constraint_rows(),
                    "rank": one.rank,
                    "rank_elsewhere": one.singular.elsewhere,
                    "smallest_singular_value": one.singular.smallest,
                    "singular": one.singular.rank < one.singular.elsewhere,
                    "route": one.route,
                    "multipliers": json::numbers(&one.multipliers),
                    "shared_multipliers": json::numbers(&one.loads.multipliers),
                    "loads": loads,
                    "constraints_kept": one.kept,
                    "inverse_returns_tau": one.returned,
                    "twice_the_digits": one.accuracy.arithmetic,
                    "twice_the_digits_closed": one.accuracy.closing,
                    "violation": one.accuracy.violation,
                    "ignored_row": one.accuracy.ignored,
                }),
            );
            Value::Object(state)
        })
        .collect();
    json!({ "format": "catena-forward/1", "model": model.name(), "states": states })
}
