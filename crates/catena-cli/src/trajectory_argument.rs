//! The motion `catena inverse` follows: from point to point, that of the paper, or read from a file, of joints or of a frame.

use crate::coordinates::Quantity;
use crate::situation::{Situation, find_frame};
use crate::{limits, names, number, state_argument, state_file};
use catena::error::{Error, ErrorKind, Result};
use catena::inverse_kinematics::{Goal, Instant, InverseKinematics, Search, Target};
use catena::residual::within;
use catena::spatial::{Mat3, Vec3};
use catena::trajectory::{PointToPoint, Profile};
use catena::{Model, State};
use clap::Args;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, PI};
use std::path::Path;

/// A motion.
#[derive(Args, Debug)]
pub struct TrajectoryArgument {
    /// cycloid, quintic, paper (of planar3 and stanford), or a CSV file with t, q, v and a
    #[arg(
        long,
        value_name = "KIND",
        conflicts_with_all = ["q", "v", "a", "state", "random"],
        help_heading = "Trajectory"
    )]
    trajectory: Option<String>,

    /// The file has the motion of this link or frame: t, x, y, z (m, world axes), and qw, qx, qy, qz where its orientation matters. The joints
    /// follow by inverse kinematics, near --from at the start
    #[arg(
        long,
        value_name = "FRAME",
        requires = "trajectory",
        help_heading = "Trajectory"
    )]
    frame: Option<String>,

    /// Positions at the start [default: neutral]
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        requires = "trajectory",
        help_heading = "Trajectory"
    )]
    from: Option<String>,

    /// Positions at the end
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        requires = "trajectory",
        help_heading = "Trajectory"
    )]
    to: Option<String>,

    /// Duration in s [default: 10]
    #[arg(
        long,
        value_name = "T",
        allow_negative_numbers = true,
        requires = "trajectory",
        help_heading = "Trajectory"
    )]
    duration: Option<f64>,

    /// Number of steps; there is one instant more [default: 100]
    #[arg(
        long,
        value_name = "N",
        requires = "trajectory",
        help_heading = "Trajectory"
    )]
    steps: Option<usize>,
}

/// Tolerance of inverse kinematics, and the error above which an instant counts as missed, m and rad: accelerations are
/// differences of positions.
const FOLLOWED: f64 = 1e-12;
const MISSED: f64 = 1e-9;

const KINDS: [&str; 3] = ["cycloid", "quintic", "paper"];

impl TrajectoryArgument {
    /// The instants of the motion, if requested.
    pub fn situations(&self, model: &Model) -> Result<Option<Vec<Situation>>> {
        let situations = self.instants(model)?;
        let states = situations.iter().flatten();
        state_argument::warn_outside(model, states.map(|situation| &situation.state));
        Ok(situations)
    }

    fn instants(&self, model: &Model) -> Result<Option<Vec<Situation>>> {
        let Some(kind) = &self.trajectory else {
            return Ok(None);
        };
        if let Some(frame) = &self.frame {
            return self.of_frame(model, frame, kind).map(Some);
        }
        let motion = match kind.as_str() {
            "cycloid" => self.point_to_point(model, Profile::Cycloid)?,
            "quintic" => self.point_to_point(model, Profile::Quintic)?,
            "paper" => self.paper(model)?,
            file if file.contains('.') => {
                self.refuse_options("a trajectory from a file", true)?;
                return state_file::read_trajectory(Path::new(file), model).map(Some);
            }
            other => {
                let error = Error::new(
                    ErrorKind::Input,
                    format!("--trajectory: there is no kind `{other}`"),
                );
                return Err(error.hint(match names::nearest(other, KINDS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "give cycloid, quintic, paper or a CSV file".to_string(),
                }));
            }
        };
        let steps = self.steps.unwrap_or(100);
        let instants = steps.saturating_add(1);
        limits::memory("instants", instants, model.nq() + 3 * model.nv())?;
        sampled(model, &motion, steps).map(Some)
    }

    fn point_to_point(&self, model: &Model, profile: Profile) -> Result<PointToPoint> {
        let read = |what: &str, text: &str| {
            state_argument::numbers_of(model, Quantity::Position, what, text)
        };
        refuse_quaternions(model)?;
        let Some(to) = &self.to else {
            return Err(Error::new(
                ErrorKind::Input,
                "--trajectory: the end of the motion is missing",
            )
            .hint("give --to, and --from where it does not start at zero"));
        };
        let from = match &self.from {
            Some(from) => read("--from", from)?,
            None => State::neutral(model).q,
        };
        let to = read("--to", to)?;
        PointToPoint::new(profile, &from, &to, self.duration.unwrap_or(10.0))
    }

    fn paper(&self, model: &Model) -> Result<PointToPoint> {
        if self.from.is_some() || self.to.is_some() || self.duration.is_some() {
            return Err(Error::new(
                ErrorKind::Input,
                "--trajectory paper: its ends and its duration are those of the paper",
            )
            .hint("leave out --from, --to and --duration, or use --trajectory cycloid"));
        }
        paper(model)
    }

    /// The joint motion that moves a frame as given in the file.
    fn of_frame(&self, model: &Model, frame: &str, file: &str) -> Result<Vec<Situation>> {
        let refuse = |message: String| Error::new(ErrorKind::Input, message);
        if KINDS.contains(&file) {
            return Err(refuse(format!(
                "--frame: the motion of `{frame}` is read from a file, not `{file}`"
            ))
            .hint("give --trajectory FILE.csv with the columns t, x, y, z, qw, qx, qy, qz"));
        }
        self.refuse_options("the motion of a frame", false)?;
        let frame = find_frame(model, frame)?;
        let path = Path::new(file);
        let rows = state_file::read_poses(path, "a frame")?;
        let [has_positions, has_rotations] = rows.given;
        if !has_positions {
            return Err(refuse("a motion of a frame needs columns x, y, z".into())
                .at(state_file::whole(path)));
        }
        limits::memory("instants", rows.times.len(), model.nq() + 3 * model.nv())?;
        let goal = |(position, [w, x, y, z]): &([f64; 3], [f64; 4]), time: f64| {
            let length = (w * w + x * x + y * y + z * z).sqrt();
            if (length - 1.0).abs() > 1e-3 {
                return Err(refuse(format!(
                    "the quaternion at {time} s has length {}, not 1",
                    number::six(length)
                ))
                .at(state_file::whole(path)));
            }
            let p = [w, x, y, z].map(|x| x / length);
            let target = Target {
                frame: frame.clone(),
                position: Vec3::from_array(*position),
                rotation: has_rotations.then(|| Mat3::from_quaternion(p)),
            };
            Ok(Goal {
                targets: vec![target],
                centre: None,
            })
        };
        let goals = rows.poses.iter().zip(&rows.times);
        let goals = goals.map(|(pose, &time)| goal(pose, time));
        let goals = goals.collect::<Result<Vec<Goal>>>()?;
        let mut start = State::neutral(model);
        if let Some(from) = &self.from {
            let q = state_argument::numbers_of(model, Quantity::Position, "--from", from)?;
            start = State::new(model, &q, &start.v)?;
        }
        let search = Search {
            tolerance: FOLLOWED,
            ..Search::default()
        };
        let mut kinematics = InverseKinematics::new(model);
        let motion = kinematics.follow(&rows.times, &goals, &start, &search)?;
        if let Some(missed) = motion
            .iter()
            .find(|instant| !within(instant.residual, MISSED))
        {
            return Err(refuse(format!(
                "frame `{}` does not get where the file has it at {} s: {} m or rad are left",
                frame.name,
                number::six(missed.time),
                number::rough(missed.residual)
            ))
            .at(state_file::whole(path))
            .hint("it may be out of reach, beyond the limits of joints, or reached from another --from"));
        }
        let situation = |instant: Instant| Situation {
            time: Some(instant.time),
            state: instant.state,
            acceleration: instant.accelerations,
            ..Situation::start(model)
        };
        Ok(motion.into_iter().map(situation).collect())
    }

    fn refuse_options(&self, what: &str, from_too: bool) -> Result<()> {
        let given = [
            ("--from", from_too && self.from.is_some()),
            ("--to", self.to.is_some()),
            ("--duration", self.duration.is_some()),
            ("--steps", self.steps.is_some()),
        ];
        match given.into_iter().find(|&(_, given)| given) {
            None => Ok(()),
            Some((option, _)) => Err(Error::new(
                ErrorKind::Input,
                format!("{what} takes no {option}"),
            )),
        }
    }
}

/// The motion of the examples in Saha (1999), section 6.
pub fn paper(model: &Model) -> Result<PointToPoint> {
    let (from, to) = match model.name() {
        "planar3" => (vec![0.0; 3], vec![PI; 3]),
        "stanford" => (
            vec![0.0, FRAC_PI_2, 0.0, 0.0, 0.0, 0.0],
            vec![FRAC_PI_3, FRAC_PI_3, 0.1, FRAC_PI_3, FRAC_PI_3, FRAC_PI_3],
        ),
        other => {
            return Err(Error::new(
                ErrorKind::Input,
                format!("--trajectory paper: the paper has no motion of `{other}`"),
            )
            .hint("it has one of `planar3` and one of `stanford`"));
        }
    };
    if from.len() != model.nq() {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "--trajectory paper: this `{}` has {} coordinates, the paper's has {}",
                model.name(),
                model.nq(),
                from.len()
            ),
        ));
    }
    PointToPoint::new(Profile::Cycloid, &from, &to, 10.0)
}

/// The instants 0, T/N, …, T of a motion.
pub fn sampled(model: &Model, motion: &PointToPoint, steps: usize) -> Result<Vec<Situation>> {
    if steps == 0 || steps > 10_000_000 {
        return Err(Error::new(
            ErrorKind::Input,
            format!("--steps: {steps} is not a number from 1 to 10000000"),
        ));
    }
    (0..=steps)
        .map(|k| {
            let sample = motion.at(motion.duration() * k as f64 / steps as f64);
            Ok(Situation {
                time: Some(sample.time),
                state: State::new(model, &sample.q, &sample.v)?,
                acceleration: sample.vdot,
                ..Situation::start(model)
            })
        })
        .collect()
}

fn refuse_quaternions(model: &Model) -> Result<()> {
    match model.tree().bodies[1..]
        .iter()
        .find(|body| body.kind.quaternion().is_some())
    {
        None => Ok(()),
        Some(body) => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "--trajectory: the orientation of {} joint `{}` does not move along a line",
                body.kind, body.joint
            ),
        )
        .hint("give the motion as a CSV file of t, q, v and a")),
    }
}
