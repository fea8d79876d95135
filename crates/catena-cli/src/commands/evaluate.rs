//! `catena evaluate MODEL`: everything the library computes at given states. Meant for `--json`, to compare engines.

use crate::commands::assemble::count_line;
use crate::commands::closed_derivatives::row_names;
use crate::commands::info::one_line;
use crate::commands::inverse::state_block;
use crate::model_argument::ModelArgument;
use crate::number::{list, rough, six};
use crate::outcome::Outcome;
use crate::situation::{self, Moved, Situation, find_frame};
use crate::state_argument::{AccelerationArgument, EffortArgument, StateArgument};
use crate::table::{self, Table};
use crate::{json, limits, referee};
use catena::algorithm::elements::Action;
use catena::algorithm::energy::MechanicalState;
use catena::closed_chain::{Accuracy, ClosedChain, Freedoms};
use catena::error::{Error, ErrorKind, Result};
use catena::model::{ForceElement, FrameInfo};
use catena::spatial::{Motion, Pose};
use catena::{Dynamics, Matrix, Model};
use clap::Args;
use serde_json::{Map, Value, json};

/// Larger matrices are printed only as JSON.
const WIDE: usize = 12;

/// For models with more degrees of freedom the matrices are too large.
const MOST_FREEDOMS: usize = 3000;

/// Which model and states.
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

    /// Only these frames, with their Jacobians [default: all frames, Jacobians of those at the tips]
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',')]
    frames: Vec<String>,
}

/// Results for a frame.
struct FrameValues {
    info: FrameInfo,
    pose: Pose<f64>,
    velocity: Motion<f64>,
    acceleration: Motion<f64>,
    bias: Motion<f64>,
    jacobian: Option<Matrix>,
}

/// Results at a state.
struct Evaluated {
    situation: Situation,
    frames: Vec<FrameValues>,
    inertia: Matrix,
    coriolis: Matrix,
    coriolis_v: Vec<f64>,
    gravity: Vec<f64>,
    inverse: Vec<f64>,
    forward: Vec<f64>,
    /// Error of these accelerations by double-double arithmetic.
    forward_error: Option<f64>,
    mechanical: MechanicalState<f64>,
    /// Actions of the force elements.
    forces: Vec<Action<f64>>,
    /// Results for the constraints of a closed chain. Everything else is that of its tree; `inverse` contains the efforts of the
    /// constraints.
    closed: Option<Closed>,
}

/// Results for the constraints.
struct Closed {
    moved: Option<Moved>,
    residual: Vec<f64>,
    rate: Vec<f64>,
    bias: Vec<f64>,
    jacobian: Matrix,
    multipliers: Vec<f64>,
    rank: usize,
    accuracy: Accuracy,
    freedoms: Freedoms,
    /// Zᵀ I Z.
    inertia: Matrix,
    /// Zᵀ τ of the tree's inverse dynamics: without the efforts of the constraints.
    inverse: Vec<f64>,
}

/// Computes everything.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    if model.nv() > MOST_FREEDOMS {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "`{}` has {} freedoms: its matrices would have {} numbers each",
                model.name(),
                model.nv(),
                model.nv() * model.nv()
            ),
        )
        .hint("`inverse` and `forward` take models of any size"));
    }
    let frames = wanted_frames(&model, &arguments.frames)?;
    let situations = arguments.state.situations(
        &model,
        arguments.acceleration.a.as_ref(),
        arguments.effort.tau.as_ref(),
    )?;
    let nv = model.nv();
    let jacobians = frames.iter().filter(|(_, shown)| *shown).count();
    let matrices = (2 * nv + model.constraint_rows() + 6 * jacobians) * nv;
    limits::memory("states", situations.len(), matrices)?;
    let mut chain = (!model.constraints().is_empty()).then(|| ClosedChain::new(&model));
    let mut dynamics = match &chain {
        Some(_) => Dynamics::new(&model.clone().open_tree()),
        None => Dynamics::new(&model),
    };
    let evaluated = situations
        .into_iter()
        .map(|situation| match &mut chain {
            Some(chain) => evaluate_closed(chain, &mut dynamics, &frames, situation),
            None => {
                let mut one = evaluate(&mut dynamics, &frames, situation)?;
                one.forward_error = Some(forward_error(&mut dynamics, &one)?);
                Ok(one)
            }
        })
        .collect::<Result<Vec<Evaluated>>>()?;
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&evaluated.iter().map(|one| to_json(&model, one)).collect()),
        false => to_text(&model, &evaluated),
    });
    for (index, one) in evaluated.iter().enumerate() {
        let wrong = "the accelerations have lost digits, by double-double arithmetic";
        let error = match &one.closed {
            Some(closed) => referee::closed_error(closed.accuracy),
            None => one.forward_error.unwrap_or(0.0),
        };
        outcome.require(index, wrong, error, referee::ALLOWED);
    }
    Ok(outcome)
}

/// The frames to show, and whether with their Jacobians.
fn wanted_frames(model: &Model, names: &[String]) -> Result<Vec<(FrameInfo, bool)>> {
    let tree = model.tree();
    if !names.is_empty() {
        return names
            .iter()
            .map(|name| find_frame(model, name).map(|frame| (frame.clone(), true)))
            .collect();
    }
    let mut is_tip = vec![true; tree.bodies.len()];
    for i in model.bodies() {
        is_tip[tree.parent(i)] = false;
    }
    Ok(tree
        .frames
        .iter()
        .map(|frame| (frame.clone(), is_tip[frame.body]))
        .collect())
}

fn evaluate(
    dynamics: &mut Dynamics,
    frames: &[(FrameInfo, bool)],
    situation: Situation,
) -> Result<Evaluated> {
    let external = situation.external(dynamics)?;
    let state = &situation.state;
    let mut values = Vec::with_capacity(frames.len());
    for (info, with_jacobian) in frames {
        let jacobian = match with_jacobian {
            true => Some(dynamics.jacobian(state, info)?.clone()),
            false => None,
        };
        let bias = dynamics.jacobian_rate_times_v(state, info)?;
        let kinematics = dynamics.kinematics(state, &situation.acceleration)?;
        values.push(FrameValues {
            pose: kinematics.frame_pose(info),
            velocity: kinematics.frame_velocity(info),
            acceleration: kinematics.frame_acceleration(info),
            info: info.clone(),
            bias,
            jacobian,
        });
    }
    for value in &values {
        let parts = [value.velocity, value.acceleration, value.bias];
        let numbers = parts.into_iter().flat_map(Motion::to_array);
        let mut numbers = numbers.chain(value.pose.translation.to_array());
        if numbers.any(|x| !x.is_finite()) {
            return Err(too_large(&format!(
                "the motion of frame `{}`",
                value.info.name
            )));
        }
    }
    let coriolis = dynamics.coriolis(state)?.clone();
    let coriolis_v = coriolis.times(&state.v);
    if coriolis_v.iter().any(|x| !x.is_finite()) {
        return Err(too_large("C v"));
    }
    Ok(Evaluated {
        frames: values,
        inertia: dynamics.inertia(state)?.clone(),
        coriolis_v,
        coriolis,
        gravity: dynamics.gravity(state)?.to_vec(),
        inverse: dynamics
            .inverse(state, &situation.acceleration, &external)?
            .to_vec(),
        forward: dynamics
            .forward(state, &situation.effort, &external)?
            .to_vec(),
        mechanical: dynamics.mechanical_state(state)?,
        forces: dynamics.force_actions(state)?,
        forward_error: None,
        closed: None,
        situation,
    })
}

fn forward_error(dynamics: &mut Dynamics, one: &Evaluated) -> Result<f64> {
    let external = one.situation.external(dynamics)?;
    let Situation { state, effort, .. } = &one.situation;
    referee::acceleration_error(dynamics, state, effort, &external)
}

/// The tree at a closed state with accelerations that keep it closed, and the results for the constraints.
fn evaluate_closed(
    chain: &mut ClosedChain,
    dynamics: &mut Dynamics,
    frames: &[(FrameInfo, bool)],
    mut situation: Situation,
) -> Result<Evaluated> {
    let time = situation.time.unwrap_or(0.0);
    let moved = situation::close(chain, time, &mut situation)?;
    situation.acceleration =
        chain.consistent_accelerations(time, &situation.state, &situation.acceleration)?;
    let mut one = evaluate(dynamics, frames, situation)?;
    let (state, tau) = (&one.situation.state, &one.situation.effort);
    let external = one.situation.external(dynamics)?;
    let freedoms = chain.freedoms(time, state)?;
    let motion = chain.forward(time, state, tau, &external)?;
    one.forward = motion.accelerations.to_vec();
    let (multipliers, rank) = (motion.multipliers.to_vec(), motion.rank);
    let accuracy = chain.accuracy(time, state, tau, &external, &one.forward)?;
    one.forward_error = Some(accuracy.arithmetic);
    let rows = chain.rows(time, state)?;
    one.closed = Some(Closed {
        moved,
        accuracy,
        residual: rows.residual.clone(),
        rate: rows.rate.clone(),
        bias: rows.bias.clone(),
        jacobian: rows.dense(state.v.len()),
        multipliers,
        rank,
        inertia: freedoms.congruence(&one.inertia),
        inverse: freedoms.contract(&one.inverse),
        freedoms,
    });
    Ok(one)
}

fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::Input, format!("{what} overflows at this state"))
        .hint("positions, velocities or accelerations are too large for double precision")
}

fn to_json(model: &Model, one: &Evaluated) -> Value {
    let mut object: Map<String, Value> = Map::new();
    object.insert("format".into(), "catena-evaluate/1".into());
    object.insert("model".into(), model.name().into());
    object.extend(situation::to_json(&one.situation));
    let mut put = |key: &str, value: Value| object.insert(key.into(), value);
    put("a", json::numbers(&one.situation.acceleration));
    put("tau", json::numbers(&one.situation.effort));
    put("inverse_tau", json::numbers(&one.inverse));
    put("forward_a", json::numbers(&one.forward));
    put("forward_a_error", json!(one.forward_error));
    put("gravity", json::numbers(&one.gravity));
    put("coriolis_v", json::numbers(&one.coriolis_v));
    put("inertia", json::matrix(&one.inertia));
    put("coriolis", json::matrix(&one.coriolis));
    let mechanical = &one.mechanical;
    put("kinetic_energy", mechanical.kinetic.into());
    put("gravitational_energy", mechanical.gravitational.into());
    put("elastic_energy", mechanical.elastic.into());
    put(
        "potential_energy",
        (mechanical.gravitational + mechanical.elastic).into(),
    );
    put(
        "momentum",
        json!({
            "angular": json::vector(mechanical.momentum.moment),
            "linear": json::vector(mechanical.momentum.force),
        }),
    );
    put("mass", mechanical.mass.into());
    put("centre_of_mass", json::vector(mechanical.centre));
    put(
        "centre_of_mass_velocity",
        json::vector(mechanical.centre_velocity),
    );
    put(
        "frames",
        one.frames
            .iter()
            .map(|frame| frame_json(model, frame))
            .collect(),
    );
    if !one.forces.is_empty() {
        let force = |(element, action): (&ForceElement, &Action<f64>)| {
            let mut value = json!({
                "name": &*element.name,
                "type": element.kind(),
                "energy": action.energy,
                "work": action.work,
                "dissipated": action.dissipated,
            });
            for ((name, _), number) in element.measures().iter().zip(action.measures) {
                value[*name] = number.into();
            }
            value
        };
        let all = model.forces().iter().zip(&one.forces);
        put("forces", all.map(force).collect());
    }
    if let Some(closed) = &one.closed {
        put("assembly_moved", json!(closed.moved.map(Moved::to_json)));
        put("forward_a_error_closed", json!(closed.accuracy.closing));
        put("violation", json!(closed.accuracy.violation));
        put("ignored_row", json!(closed.accuracy.ignored));
        put("multipliers", json::numbers(&closed.multipliers));
        put(
            "constraints",
            json!({
                "rows": row_names(model),
                "rank": closed.rank,
                "residual": json::numbers(&closed.residual),
                "rate": json::numbers(&closed.rate),
                "bias": json::numbers(&closed.bias),
                "jacobian": json::matrix(&closed.jacobian),
            }),
        );
        put(
            "freedoms",
            json!({
                "independent": independent_names(model, closed),
                "Z": json::matrix(&closed.freedoms.basis),
                "inertia": json::matrix(&closed.inertia),
                "inverse_tau": json::numbers(&closed.inverse),
            }),
        );
    }
    Value::Object(object)
}

fn frame_json(model: &Model, frame: &FrameValues) -> Value {
    let mut value = json!({
        "name": frame.info.name,
        "body": model.tree().bodies[frame.info.body].name,
        "position": json::vector(frame.pose.translation),
        "quaternion": json::numbers(&json::quaternion(frame.pose.rotation)),
        "velocity": json::motion(frame.velocity),
        "acceleration": json::motion(frame.acceleration),
        "acceleration_bias": json::motion(frame.bias),
    });
    if let Some(jacobian) = &frame.jacobian {
        value["jacobian"] = json::matrix(jacobian);
    }
    value
}

fn to_text(model: &Model, evaluated: &[Evaluated]) -> String {
    let mut text = format!("everything at a state\n{}\n", one_line(model));
    for (index, one) in evaluated.iter().enumerate() {
        text += &state_block(model, &one.situation, index, evaluated.len());
        text += &format!(
            "\n{}\n{}{}{}",
            efforts(model, one),
            frame_table(one),
            force_table(model, one),
            matrices(model, one),
        );
        if let Some(closed) = &one.closed {
            text += &closed_text(model, closed);
        }
        let mechanical = &one.mechanical;
        text += &format!(
            "\n  kinetic energy {} J\n  potential energy {} J (gravity {}, springs {})\n",
            six(mechanical.kinetic),
            six(mechanical.gravitational + mechanical.elastic),
            six(mechanical.gravitational),
            six(mechanical.elastic)
        );
        text += &format!(
            "  momentum {} N·s\n  angular momentum about the origin {} N·m·s\n",
            list(&mechanical.momentum.force.to_array()),
            list(&mechanical.momentum.moment.to_array())
        );
        text += &format!(
            "  centre of mass {} m\n  its velocity {} m/s\n",
            list(&mechanical.centre.to_array()),
            list(&mechanical.centre_velocity.to_array())
        );
        if let Some(closed) = &one.closed {
            text += &referee::closed_words(closed.accuracy);
        } else if let Some(error) = one.forward_error {
            text += &format!(
                "  check: double-double arithmetic differs by {} from the accelerations, allowed {}\n",
                rough(error),
                rough(referee::ALLOWED)
            );
        }
    }
    text + "\n  Jacobians, J̇ v and exact numbers: --json\n"
}

fn independent_names(model: &Model, closed: &Closed) -> Vec<String> {
    let all = model.freedoms();
    let independent = closed.freedoms.independent.iter();
    independent.map(|&k| all[k].name.clone()).collect()
}

/// Constraints, and the equations of the remaining freedoms.
fn closed_text(model: &Model, closed: &Closed) -> String {
    let some = |list: &[f64]| list.iter().map(|&x| Some(x)).collect::<Vec<_>>();
    let rows = Table::new()
        .text("constraint row", row_names(model))
        .numbers("ξ", some(&closed.residual))
        .numbers("ξ̇", some(&closed.rate))
        .numbers("ξ̈ at a = 0", some(&closed.bias))
        .numbers("λ", some(&closed.multipliers));
    let counts = [model.constraint_rows(), closed.rank];
    let mut text = format!(
        "\n{}  {}\n",
        rows.render(),
        count_line(counts, model.nv() - closed.rank)
    );
    let own = independent_names(model, closed);
    if own.is_empty() {
        text += "\nThe constraints leave no freedom.\n";
    } else if model.nv() > WIDE {
        text += &format!(
            "\nJ, Z and Zᵀ I Z of {} freedoms: see them with --json\n",
            own.len()
        );
    } else {
        let names: Vec<String> = model
            .freedoms()
            .iter()
            .map(|dof| dof.name.clone())
            .collect();
        let (basis, inertia) = (&closed.freedoms.basis, &closed.inertia);
        text += &format!(
            "\nZ: velocities of all joints per unit of each independent one\n{}",
            table::matrix(&names, &own, |i, j| basis[(i, j)])
        );
        text += &format!(
            "\nZᵀ I Z: inertia of the mechanism\n{}",
            table::matrix(&own, &own, |i, j| inertia[(i, j)])
        );
    }
    text += "\n  I, C, gravity and τ for a are those of the tree with its loops open: that τ contains the efforts Jᵀ λ of the constraints.\n";
    if let Some(moved) = closed.moved {
        text += &format!("  {}\n", moved.sentence());
    }
    text
}

fn efforts(model: &Model, one: &Evaluated) -> String {
    let dofs = model.freedoms();
    let some = |list: &[f64]| list.iter().map(|&x| Some(x)).collect::<Vec<_>>();
    Table::new()
        .text("freedom", dofs.iter().map(|dof| dof.name.clone()))
        .numbers("τ for a", some(&one.inverse))
        .numbers("C v", some(&one.coriolis_v))
        .numbers("gravity", some(&one.gravity))
        .text("in", dofs.iter().map(|dof| dof.force_unit))
        .numbers("a from τ", some(&one.forward))
        .text(
            "in",
            dofs.iter().map(|dof| {
                if dof.force_unit == "N" {
                    "m/s²"
                } else {
                    "rad/s²"
                }
            }),
        )
        .render()
}

fn frame_table(one: &Evaluated) -> String {
    let position = |axis: usize| {
        one.frames
            .iter()
            .map(move |frame| Some(frame.pose.translation.to_array()[axis]))
    };
    let speed = |axis: usize| {
        one.frames
            .iter()
            .map(move |frame| Some(frame.velocity.linear.to_array()[axis]))
    };
    Table::new()
        .text(
            "frame",
            one.frames.iter().map(|frame| frame.info.name.clone()),
        )
        .numbers("x m", position(0))
        .numbers("y m", position(1))
        .numbers("z m", position(2))
        .numbers("ẋ m/s", speed(0))
        .numbers("ẏ m/s", speed(1))
        .numbers("ż m/s", speed(2))
        .render()
}

fn force_table(model: &Model, one: &Evaluated) -> String {
    if one.forces.is_empty() {
        return String::new();
    }
    let all = || model.forces().iter().zip(&one.forces);
    let measured = all().map(|(element, action)| {
        let numbers = element.measures().into_iter().zip(action.measures);
        let numbers = numbers.map(|((name, unit), x)| format!("{name} {} {unit}", six(x)));
        numbers.collect::<Vec<_>>().join(", ")
    });
    let table = Table::new()
        .text("force", all().map(|(element, _)| element.name.to_string()))
        .text("type", all().map(|(element, _)| element.kind()))
        .text("does", measured)
        .numbers("energy J", all().map(|(_, action)| Some(action.energy)));
    format!("\n{}", table.render())
}

fn matrices(model: &Model, one: &Evaluated) -> String {
    if model.nv() > WIDE {
        return format!("\nI and C are {0}×{0}: see them with --json\n", model.nv());
    }
    let names: Vec<String> = model
        .freedoms()
        .into_iter()
        .map(|dof| dof.name.clone())
        .collect();
    format!(
        "\nI\n{}\nC\n{}",
        table::matrix(&names, &names, |i, j| one.inertia[(i, j)]),
        table::matrix(&names, &names, |i, j| one.coriolis[(i, j)])
    )
}
