//! `catena ik MODEL`: positions that bring frames to their targets.

use crate::commands::info::one_line;
use crate::commands::inverse::quaternion_lines;
use crate::coordinates::position_of_freedom;
use crate::model_argument::ModelArgument;
use crate::number::{self, counted, rough};
use crate::outcome::Outcome;
use crate::situation::{self, Situation, find_frame};
use crate::state_argument::StateArgument;
use crate::table::Table;
use crate::{json, limits};
use catena::Model;
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::inverse_kinematics::{Goal, InverseKinematics, Reached, Search, Target};
use catena::residual::largest_of;
use catena::spatial::{Mat3, Vec3};
use clap::Args;
use serde_json::{Value, json};

/// Which model, what is wanted, and where the search begins.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    #[command(flatten)]
    state: StateArgument,

    /// Target of a link or frame in the world: x,y,z in m, then nothing, roll,pitch,yaw (as in URDF) or a quaternion qw,qx,qy,qz; may
    /// be repeated
    #[arg(
        long,
        value_name = "FRAME:x,y,z[,…]",
        allow_hyphen_values = true,
        required_unless_present = "centre"
    )]
    target: Vec<String>,

    /// Target of the mass centre, in m
    #[arg(long, value_name = "x,y,z", allow_hyphen_values = true)]
    centre: Option<String>,

    /// Let joints go beyond their limits
    #[arg(long)]
    no_limits: bool,

    /// Largest allowed residual, in m and rad
    #[arg(long, value_name = "SIZE", default_value_t = 1e-9)]
    tolerance: f64,

    /// Maximum number of iterations
    #[arg(long, value_name = "N", default_value_t = 200)]
    iterations: u64,
}

/// Searches for the positions, from every given state.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    let goal = arguments.goal(&model)?;
    limits::count("--iterations", arguments.iterations, 1_000_000)?;
    let mut kinematics = InverseKinematics::new(&model);
    let mut found = Vec::new();
    for mut situation in arguments.state.situations(&model, None, None)? {
        let search = Search {
            limits: !arguments.no_limits,
            tolerance: arguments.tolerance,
            iterations: arguments.iterations as usize,
            time: situation.time.unwrap_or(0.0),
        };
        let reached = kinematics.reach(&goal, &situation.state, &search)?;
        situation.state = reached.state.clone();
        found.push((situation, reached));
    }
    let mut outcome = Outcome::text(match as_json {
        true => json::text(&to_json(&model, &goal, &found)),
        false => to_text(&model, &goal, &found),
    });
    let missed = found.iter().filter(|(_, reached)| !reached.converged);
    let count = missed.clone().count();
    if count > 0 {
        let worst = missed.map(|(_, reached)| reached.residual());
        outcome.failures.push(format!(
            "not reached from {}: up to {} m or rad are left, allowed {}; another start (--q, --random) may lead there",
            match found.len() {
                1 => "this start".to_string(),
                all => format!("{count} of {all} starts"),
            },
            rough(largest_of(worst)),
            rough(arguments.tolerance)
        ));
    }
    Ok(outcome)
}

impl Arguments {
    fn goal(&self, model: &Model) -> Result<Goal> {
        let targets = self.target.iter().map(|text| target(model, text));
        let centre = match &self.centre {
            Some(text) => Some(Vec3::from_array(number::vector::<3>("--centre", text)?)),
            None => None,
        };
        Ok(Goal {
            targets: targets.collect::<Result<Vec<Target>>>()?,
            centre,
        })
    }
}

/// Reads `FRAME:x,y,z`, with an orientation or without.
fn target(model: &Model, text: &str) -> Result<Target> {
    let how = "write --target FRAME:x,y,z, FRAME:x,y,z,roll,pitch,yaw or FRAME:x,y,z,qw,qx,qy,qz";
    let refuse = |message: String| Error::new(ErrorKind::Input, message).hint(how);
    let Some((name, list)) = text.rsplit_once(':') else {
        return Err(refuse(format!("--target: `{text}` names no frame")));
    };
    let frame = find_frame(model, name)?.clone();
    let mut numbers = Vec::new();
    for (k, part) in list.split(',').enumerate() {
        match number::parse(part) {
            // an angle where one is expected
            Some(typed) if k >= 3 || !typed.is_angle => numbers.push(typed.value),
            _ => return Err(number::not_a_number("--target", part)),
        }
    }
    let (position, rotation) = match numbers[..] {
        [x, y, z] => ([x, y, z], None),
        [x, y, z, roll, pitch, yaw] => ([x, y, z], Some(roll_pitch_yaw(roll, pitch, yaw))),
        [x, y, z, qw, qx, qy, qz] => {
            let p = [qw, qx, qy, qz];
            let length = p.iter().map(|x| x * x).sum::<f64>().sqrt();
            if (length - 1.0).abs() > 1e-3 {
                return Err(refuse(format!(
                    "--target: the quaternion of `{name}` has length {}, not 1",
                    number::six(length)
                )));
            }
            let rotation = Mat3::from_quaternion(p.map(|x| x / length));
            ([x, y, z], Some(rotation))
        }
        _ => {
            return Err(refuse(format!(
                "--target: `{name}` has {}, not 3, 6 or 7",
                counted(numbers.len(), "number", "numbers")
            )));
        }
    };
    Ok(Target {
        frame,
        position: Vec3::from_array(position),
        rotation,
    })
}

/// The rotation by roll about x, then pitch about y, then yaw about z, all fixed axes.
fn roll_pitch_yaw(roll: f64, pitch: f64, yaw: f64) -> Mat3<f64> {
    let (s, c) = elementary::sin_cos(pitch);
    let about_y = Mat3::from_rows([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]);
    let (sin_yaw, cos_yaw) = elementary::sin_cos(yaw);
    let (sin_roll, cos_roll) = elementary::sin_cos(roll);
    Mat3::rotation_z(sin_yaw, cos_yaw) * about_y * Mat3::rotation_x(sin_roll, cos_roll)
}

/// Remaining error of a target.
struct Left<'a> {
    /// The frame; `None` means the mass centre.
    frame: Option<&'a str>,
    /// m.
    position: f64,
    /// rad, where an orientation is given.
    rotation: Option<f64>,
}

fn left<'a>(goal: &'a Goal, reached: &Reached) -> Vec<Left<'a>> {
    let norm = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut rest = &reached.left[..];
    let mut take = || {
        let (three, others) = rest.split_at(3);
        rest = others;
        norm(three)
    };
    let mut list = Vec::new();
    for target in &goal.targets {
        let rotation = target.rotation.map(|_| take());
        list.push(Left {
            frame: Some(&target.frame.name),
            position: take(),
            rotation,
        });
    }
    if goal.centre.is_some() {
        list.push(Left {
            frame: None,
            position: take(),
            rotation: None,
        });
    }
    list
}

fn to_text(model: &Model, goal: &Goal, found: &[(Situation, Reached)]) -> String {
    let mut text = format!(
        "inverse kinematics: joint positions that bring frames to their targets\n{}\n",
        one_line(model)
    );
    let dofs = model.freedoms();
    for (index, (situation, reached)) in found.iter().enumerate() {
        if found.len() > 1 {
            text += &format!("\nstart {} of {}", index + 1, found.len());
        }
        let q: Vec<Option<f64>> = position_of_freedom(model)
            .into_iter()
            .map(|position| position.map(|k| situation.state.q[k]))
            .collect();
        let limit = |pick: fn((f64, f64)) -> f64| dofs.iter().map(move |dof| dof.limits.map(pick));
        let unit = |speed: &'static str| if speed == "rad/s" { "rad" } else { "m" };
        let mut table = Table::new()
            .text("freedom", dofs.iter().map(|dof| dof.name.clone()))
            .numbers("q", q)
            .text("in", dofs.iter().map(|dof| unit(dof.velocity_unit)));
        if dofs.iter().any(|dof| dof.limits.is_some()) {
            table = table
                .numbers("lower", limit(|(low, _)| low))
                .numbers("upper", limit(|(_, high)| high));
        }
        text += &format!("\n{}", table.render());
        text += &quaternion_lines(model, situation);
        let steps = counted(reached.iterations, "iteration", "iterations");
        text += &match reached.converged {
            true => format!("\n  reached after {steps}\n"),
            false => format!("\n  NOT reached after {steps}\n"),
        };
        for left in left(goal, reached) {
            let name = left.frame.unwrap_or("mass centre");
            text += &format!("  {name}: {} m", rough(left.position));
            if let Some(rotation) = left.rotation {
                text += &format!(", {} rad", rough(rotation));
            }
            text += " left\n";
        }
    }
    text
}

fn to_json(model: &Model, goal: &Goal, found: &[(Situation, Reached)]) -> Value {
    let states: Value = found
        .iter()
        .map(|(situation, reached)| {
            let mut state = situation::to_json(situation);
            let targets: Value = left(goal, reached)
                .iter()
                .map(|left| {
                    json!({
                        "frame": left.frame,
                        "position_left": left.position,
                        "rotation_left": left.rotation,
                    })
                })
                .collect();
            state.insert(
                "checks".into(),
                json!({
                    "reached": reached.converged,
                    "residual": reached.residual(),
                    "iterations": reached.iterations,
                    "targets": targets,
                }),
            );
            Value::Object(state)
        })
        .collect();
    json!({ "format": "catena-ik/1", "model": model.name(), "states": states })
}
