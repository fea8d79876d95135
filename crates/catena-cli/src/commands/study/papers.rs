//! `catena study papers`: every figure and table of docs/papers.

use super::{
    Arguments, FORMAT, Found, crossover, elimination, invertibility, linpen, mechanisms,
    space_robot,
};
use crate::commands::count;
use crate::number::rough;
use catena::error::Result;
use catena::integrate::{Method, Tolerances};
use catena::model::embedded;
use catena::residual::largest_of;
use catena::simulate::{Controller, Inputs, Integrator, Sample, Simulation, SimulationOptions};
use catena::trajectory::{PointToPoint, Profile};
use catena::{Dynamics, Model, State};
use catena_plot::{Chart, Figure, Layout, View, strip};
use serde_json::{Value, json};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, PI};

/// Duration of the papers' motions, s.
const DURATION: f64 = 10.0;
/// Duration of the planar arm's fall, s: the motion is chaotic, and by 10 s a run at tolerance 1e-10 has no correct digit left.
const PLANAR_FALL: f64 = 5.0;
/// Duration of the Stanford arm's fall, s: the sliding joint 3 has no stop and soon leaves the scale.
const STANFORD_FALL: f64 = 1.0;
/// Duration of the space robot's motion, s.
const DRIFT: f64 = 8.0;

/// Draws, counts, and measures unless only counts are requested.
pub fn find(arguments: &Arguments) -> Result<Found> {
    let mut drawn = Drawn::default();
    let mut files = figures(&mut drawn)?;
    files.extend(count::pages()?);
    let mut studies = Vec::new();
    for study in [
        linpen::find(arguments)?,
        invertibility::find()?,
        crossover::find(arguments)?,
        elimination::find(arguments)?,
        space_robot::find()?,
        mechanisms::find(arguments)?,
    ] {
        files.extend(study.files);
        studies.push(study.record);
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = String::from("figures and tables of the papers\n\n");
    for name in &names {
        text += &format!("  {name}\n");
    }
    text.push('\n');
    for fall in &drawn.falls {
        text += &format!("  {}\n", fall.sentence());
    }
    if arguments.output.is_none() {
        text += "\n  -o FOLDER writes them\n";
    }
    let record = json!({
        "format": FORMAT,
        "study": "papers",
        "files": names,
        "falls": drawn.falls.iter().map(Accuracy::json).collect::<Vec<_>>(),
        "studies": studies,
    });
    Ok(Found {
        text,
        files,
        record,
    })
}

/// Remarks about the simulated figures.
#[derive(Default)]
struct Drawn {
    falls: Vec<Accuracy>,
}

/// Accuracy of a simulated motion.
struct Accuracy {
    model: String,
    duration: f64,
    /// Change of the energy, J.
    drift: f64,
    /// Largest change of a coordinate by a finer tolerance.
    change: f64,
}

impl Accuracy {
    fn sentence(&self) -> String {
        format!(
            "{}, {} s: energy drift {} J; a tolerance of 1e-12 instead of 1e-10 changes positions by {}",
            self.model,
            self.duration,
            rough(self.drift),
            rough(self.change)
        )
    }

    fn json(&self) -> Value {
        json!({ "model": self.model, "duration": self.duration, "energy_drift": self.drift, "change": self.change })
    }
}

fn figures(drawn: &mut Drawn) -> Result<Vec<(String, String)>> {
    let planar = embedded::model("planar3")?;
    let stanford = embedded::model("stanford")?;
    let mirrored = embedded::model("stanford-d")?;
    let equation_38 = PointToPoint::new(Profile::Cycloid, &[0.0; 3], &[PI; 3], DURATION)?;
    let equation_39 = PointToPoint::new(
        Profile::Cycloid,
        &[0.0, FRAC_PI_2, 0.0, 0.0, 0.0, 0.0],
        &[FRAC_PI_3, FRAC_PI_3, 0.1, FRAC_PI_3, FRAC_PI_3, FRAC_PI_3],
        DURATION,
    )?;
    let mut raised = State::neutral(&stanford);
    raised.q[1] = FRAC_PI_2;
    let title = "Simulated joint angles and displacement of the Stanford arm";
    let planar_fall = drawn.fall(&planar, &State::neutral(&planar), PLANAR_FALL, 500)?;
    let stanford_fall = drawn.fall(&stanford, &raised, STANFORD_FALL, 400)?;
    let mirrored_fall = drawn.fall(&mirrored, &raised, STANFORD_FALL, 400)?;
    let figures = [
        ("saha-1999-fig-5", figure_5(&planar, &equation_38)?),
        ("saha-1999-fig-6", figure_6(&planar_fall)),
        ("saha-1999-fig-8", figure_8(&stanford, &equation_39)?),
        ("saha-1999-fig-9", figure_9(title, &stanford_fall)),
        (
            "saha-1999-fig-9-mirrored",
            figure_9(&format!("{title}, α₂ = +90°"), &mirrored_fall),
        ),
        ("chou-fig-1", drawn.pendulum_strip()?),
        ("planar-arm-strip", planar_strip(&planar, &equation_38)?),
        (
            "stanford-arm-strip",
            stanford_strip(&stanford, &equation_39)?,
        ),
        ("space-robot-strip", space_robot_strip()?),
    ];
    Ok(figures
        .map(|(name, svg)| (format!("{name}.svg"), svg))
        .into())
}

/// Times, and the effort of every joint at them.
fn efforts(model: &Model, motion: &PointToPoint) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    let mut dynamics = Dynamics::new(model);
    let mut columns = vec![Vec::new(); model.nv()];
    let times: Vec<f64> = (0..=400).map(|k| DURATION * f64::from(k) / 400.0).collect();
    for &time in &times {
        let sample = motion.at(time);
        let state = State::new(model, &sample.q, &sample.v)?;
        let tau = dynamics.inverse(&state, &sample.vdot, &[])?;
        for (column, x) in columns.iter_mut().zip(tau) {
            column.push(*x);
        }
    }
    Ok((times, columns))
}

fn figure_5(model: &Model, motion: &PointToPoint) -> Result<String> {
    let (times, columns) = efforts(model, motion)?;
    let mut chart = Chart::new(
        "Torques for the three-degrees-of-freedom manipulator",
        "time (s)",
        "torque (N m)",
    );
    for (name, column) in ["τ₁", "τ₂", "τ₃"].into_iter().zip(columns) {
        chart = chart.series(name, times.clone(), column);
    }
    Ok(chart.svg(640, 420))
}

/// One chart for each joint of the Stanford arm, as in the paper.
fn by_joint(title: &str, times: &[f64], columns: Vec<Vec<f64>>, labels: [&str; 2]) -> String {
    let charts = columns
        .into_iter()
        .enumerate()
        .map(|(k, column)| {
            let letter = char::from(b'a' + k as u8);
            let label = labels[usize::from(k == 2)];
            Chart::new(format!("({letter}) Joint {}", k + 1), "time (s)", label).series(
                "",
                times.to_vec(),
                column,
            )
        })
        .collect();
    Figure {
        title: title.into(),
        charts,
        columns: 2,
    }
    .svg(860, 840)
}

fn figure_8(model: &Model, motion: &PointToPoint) -> Result<String> {
    let (times, columns) = efforts(model, motion)?;
    Ok(by_joint(
        "Torques and force for the Stanford arm",
        &times,
        columns,
        ["torque (N m)", "force (N)"],
    ))
}

/// States at equal intervals, and their labels.
fn instants(model: &Model, motion: &PointToPoint, n: u32) -> Result<(Vec<State>, Vec<String>)> {
    let times = (0..n).map(|k| DURATION * f64::from(k) / f64::from(n - 1));
    let states = times.clone().map(|time| {
        let sample = motion.at(time);
        State::new(model, &sample.q, &sample.v)
    });
    let labels = times.map(|time| format!("t = {time:.1} s")).collect();
    Ok((states.collect::<Result<_>>()?, labels))
}

fn planar_strip(model: &Model, motion: &PointToPoint) -> Result<String> {
    let (states, labels) = instants(model, motion, 11)?;
    let view = View {
        title: "Planar arm along eq. 38".into(),
        layout: Layout::Superposed,
        width: 640,
        height: 460,
        ..View::of(model, &states)?
    };
    strip(model, &states, &labels, &view)
}

fn stanford_strip(model: &Model, motion: &PointToPoint) -> Result<String> {
    let (states, labels) = instants(model, motion, 6)?;
    let view = View {
        title: "Stanford arm along eq. 39".into(),
        ..View::of(model, &states)?
    };
    strip(model, &states, &labels, &view)
}

/// A space robot that drifts and turns as its arm unfolds: constant efforts in two joints, no external forces.
fn space_robot_strip() -> Result<String> {
    let model = embedded::model("space-robot")?;
    let mut start = State::neutral(&model);
    start.v[0] = 0.4;
    start.v[2] = 0.2;
    let mut tau = vec![0.0; model.nv()];
    (tau[7], tau[8]) = (0.6, -0.25);
    let inputs = Inputs {
        controller: Controller::Constant(tau),
        ..Inputs::default()
    };
    let samples = simulated(&model, &start, inputs, DRIFT, 5, 1e-9)?;
    strip_of(&model, &samples, "Space robot, followed as it drifts")
}

fn strip_of(model: &Model, samples: &[Sample], title: &str) -> Result<String> {
    let states: Vec<State> = samples.iter().map(|sample| sample.state.clone()).collect();
    let labels: Vec<String> = samples
        .iter()
        .map(|sample| format!("t = {:.1} s", sample.time))
        .collect();
    let view = View {
        title: title.into(),
        width: 900,
        height: 420,
        ..View::of(model, &states)?
    };
    strip(model, &states, &labels, &view)
}

/// Samples of a motion at equal intervals, by Verner's 9(8) pair.
fn simulated(
    model: &Model,
    start: &State,
    inputs: Inputs,
    duration: f64,
    intervals: u32,
    tolerance: f64,
) -> Result<Vec<Sample>> {
    let options = SimulationOptions {
        integrator: Integrator::Adaptive {
            method: Method::Verner9,
            tolerances: Tolerances {
                relative: tolerance,
                absolute: tolerance,
            },
            max_step: f64::INFINITY,
        },
        duration,
        interval: duration / f64::from(intervals),
    };
    let mut simulation = Simulation::new(model, start, inputs, Vec::new(), options)?;
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples)?;
    }
    Ok(samples)
}

impl Drawn {
    /// Records a motion by gravity alone to a tolerance of 1e-10, and how much a finer tolerance changes it.
    fn fall(
        &mut self,
        model: &Model,
        start: &State,
        duration: f64,
        intervals: u32,
    ) -> Result<Vec<Sample>> {
        let run = |tolerance| {
            let inputs = Inputs::default();
            simulated(model, start, inputs, duration, intervals, tolerance)
        };
        let (samples, finer) = (run(1e-10)?, run(1e-12)?);
        let pairs = std::iter::zip(&samples, &finer);
        let entries = pairs.flat_map(|(a, b)| std::iter::zip(&a.state.q, &b.state.q));
        let energy = |sample: Option<&Sample>| sample.map_or(0.0, |s| s.energies.iter().sum());
        self.falls.push(Accuracy {
            model: model.name().into(),
            duration,
            drift: energy(samples.last()) - energy(samples.first()),
            change: largest_of(entries.map(|(a, b)| (a - b).abs())),
        });
        Ok(samples)
    }

    /// Chou's Figure 1: ten positions of a three-body pendulum in perspective.
    fn pendulum_strip(&mut self) -> Result<String> {
        let model = embedded::model("pendulum-3")?;
        let mut start = State::neutral(&model);
        let turn = [1.1, 0.3, 0.0, 0.0, -0.6, 0.4, 0.3, -0.4, 0.2];
        start.step(&model, &turn);
        let samples = self.fall(&model, &start, 1.8, 9)?;
        strip_of(&model, &samples, "Three-body pendulum in ten positions")
    }
}

/// Times, and one coordinate at them, in degrees if it is an angle.
fn coordinate(fall: &[Sample], k: usize, angle: bool) -> Vec<f64> {
    let unit = if angle { 180.0 / PI } else { 1.0 };
    fall.iter().map(|sample| sample.state.q[k] * unit).collect()
}

fn times(fall: &[Sample]) -> Vec<f64> {
    fall.iter().map(|sample| sample.time).collect()
}

fn figure_6(fall: &[Sample]) -> String {
    let mut chart = Chart::new(
        "Simulated joint angles of the planar manipulator",
        "time (s)",
        "angle (deg)",
    );
    for (k, name) in ["θ₁", "θ₂", "θ₃"].into_iter().enumerate() {
        chart = chart.series(name, times(fall), coordinate(fall, k, true));
    }
    chart.svg(640, 420)
}

fn figure_9(title: &str, fall: &[Sample]) -> String {
    let columns = (0..6).map(|k| coordinate(fall, k, k != 2)).collect();
    by_joint(
        title,
        &times(fall),
        columns,
        ["angle (deg)", "displacement (m)"],
    )
}
