//! Draws our versions of the papers' figures into docs/papers.
//!
//!     cargo run --release -p catena-plot --example paper_figures [-- DIRECTORY]

use catena::integrate::{Adaptive, IntegratorOptions, Method, System};
use catena::model::embedded;
use catena::residual::largest_of;
use catena::trajectory::{PointToPoint, Profile};
use catena::{Dynamics, Model, Result, State};
use catena_plot::{Chart, Figure, Layout, View, strip};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, PI};
use std::path::{Path, PathBuf};

/// Duration of the papers' motions, s.
const DURATION: f64 = 10.0;
/// Duration of the planar arm's fall, s: the motion is chaotic, and by 10 s a run at tolerance 1e-10 has no correct digit left.
const PLANAR_FALL: f64 = 5.0;
/// Duration of the Stanford arm's fall, s: the sliding joint 3 has no stop and soon leaves the scale.
const STANFORD_FALL: f64 = 1.0;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
    let directory = std::env::args_os()
        .nth(1)
        .map_or_else(default, PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    for (name, svg) in figures()? {
        std::fs::write(directory.join(&name), svg)?;
        println!("{name}");
    }
    Ok(())
}

fn figures() -> Result<Vec<(String, String)>> {
    let planar = embedded::model("planar3")?;
    let stanford = embedded::model("stanford")?;
    let equation_38 = PointToPoint::new(Profile::Cycloid, &[0.0; 3], &[PI; 3], DURATION)?;
    let equation_39 = PointToPoint::new(
        Profile::Cycloid,
        &[0.0, FRAC_PI_2, 0.0, 0.0, 0.0, 0.0],
        &[FRAC_PI_3, FRAC_PI_3, 0.1, FRAC_PI_3, FRAC_PI_3, FRAC_PI_3],
        DURATION,
    )?;
    let planar_fall = fall(&planar, &State::neutral(&planar), &clock(PLANAR_FALL, 500))?;
    let mut raised = State::neutral(&stanford);
    raised.q[1] = FRAC_PI_2;
    let stanford_fall = fall(&stanford, &raised, &clock(STANFORD_FALL, 400))?;
    let figures = [
        ("saha-1999-fig-5", figure_5(&planar, &equation_38)?),
        ("saha-1999-fig-6", figure_6(&planar_fall)),
        ("saha-1999-fig-8", figure_8(&stanford, &equation_39)?),
        ("saha-1999-fig-9", figure_9(&stanford_fall)),
        ("chou-fig-1", pendulum_strip()?),
        ("planar-arm-strip", planar_strip(&planar, &equation_38)?),
        (
            "stanford-arm-strip",
            stanford_strip(&stanford, &equation_39)?,
        ),
    ];
    Ok(figures
        .map(|(name, svg)| (format!("{name}.svg"), svg))
        .into())
}

/// Times, and the effort of every joint at them.
fn efforts(model: &Model, motion: &PointToPoint) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    let mut dynamics = Dynamics::new(model);
    let mut columns = vec![Vec::new(); model.nv()];
    let times = clock(DURATION, 400);
    for &time in &times {
        let sample = motion.at(time);
        let state = State::new(model, &sample.q, &sample.v)?;
        let tau = dynamics.inverse(&state, &sample.vdot, &[])?;
        columns
            .iter_mut()
            .zip(tau)
            .for_each(|(column, x)| column.push(*x));
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

/// Equal intervals from 0 to `end`.
fn clock(end: f64, intervals: u32) -> Vec<f64> {
    (0..=intervals)
        .map(|k| end * f64::from(k) / f64::from(intervals))
        .collect()
}

/// A model that moves by gravity alone: y = (q, v).
struct FreeFall {
    model: Model,
    dynamics: Dynamics,
    state: State,
    still: Vec<f64>,
}

impl FreeFall {
    fn new(model: &Model) -> Self {
        FreeFall {
            model: model.clone(),
            dynamics: Dynamics::new(model),
            state: State::neutral(model),
            still: vec![0.0; model.nv()],
        }
    }
}

impl System for FreeFall {
    fn dimension(&self) -> usize {
        self.model.nq() + self.model.nv()
    }

    fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        let (q, v) = y.split_at(self.model.nq());
        self.state.q.copy_from_slice(q);
        self.state.v.copy_from_slice(v);
        normalise(&self.model, &mut self.state.q);
        let vdot = self.dynamics.forward(&self.state, &self.still, &[])?;
        let (qdot, rest) = dy.split_at_mut(q.len());
        rest.copy_from_slice(vdot);
        for body in &self.model.tree().bodies[1..] {
            let plain = body.kind.quaternion().unwrap_or(body.kind.nv());
            qdot[body.q..body.q + plain].copy_from_slice(&v[body.v..body.v + plain]);
            if let Some(k) = body.kind.quaternion() {
                // ṗ = ½ p ∘ (0, ω)
                let (at, turn) = (body.q + k, &v[body.v + k..body.v + k + 3]);
                let [pw, px, py, pz] = [q[at], q[at + 1], q[at + 2], q[at + 3]];
                qdot[at] = -0.5 * (px * turn[0] + py * turn[1] + pz * turn[2]);
                qdot[at + 1] = 0.5 * (pw * turn[0] + py * turn[2] - pz * turn[1]);
                qdot[at + 2] = 0.5 * (pw * turn[1] + pz * turn[0] - px * turn[2]);
                qdot[at + 3] = 0.5 * (pw * turn[2] + px * turn[1] - py * turn[0]);
            }
        }
        Ok(())
    }

    fn project(&mut self, _t: f64, y: &mut [f64]) {
        normalise(&self.model, y);
    }
}

fn normalise(model: &Model, q: &mut [f64]) {
    for body in &model.tree().bodies[1..] {
        if let Some(k) = body.kind.quaternion() {
            let p = &mut q[body.q + k..body.q + k + 4];
            let norm = p.iter().map(|x| x * x).sum::<f64>().sqrt();
            p.iter_mut().for_each(|x| *x /= norm);
        }
    }
}

/// A motion by gravity alone: times and states.
struct Fall {
    times: Vec<f64>,
    states: Vec<State>,
}

/// Records the fall at these times, to a tolerance of 1e-10, and prints how much a finer tolerance changes it.
fn fall(model: &Model, start: &State, times: &[f64]) -> Result<Fall> {
    let states = integrate(model, start, times, 1e-10)?;
    let finer = integrate(model, start, times, 1e-12)?;
    let change = largest_of(
        std::iter::zip(&states, &finer)
            .flat_map(|(a, b)| std::iter::zip(&a.q, &b.q))
            .map(|(a, b)| (a - b).abs()),
    );
    let mut dynamics = Dynamics::new(model);
    let mut energy = |state: &State| -> Result<f64> {
        let found = dynamics.mechanical_state(state)?;
        Ok(found.kinetic + found.gravitational)
    };
    let drift = energy(&states[states.len() - 1])? - energy(&states[0])?;
    println!(
        "{}, {:.1} s: energy drift {drift:.0e} J; a tolerance of 1e-12 changes positions by {change:.0e}",
        model.name(),
        times[times.len() - 1],
    );
    Ok(Fall {
        times: times.to_vec(),
        states,
    })
}

fn integrate(model: &Model, start: &State, times: &[f64], tolerance: f64) -> Result<Vec<State>> {
    let mut system = FreeFall::new(model);
    let n = system.dimension();
    let mut integrator = Adaptive::new(
        Method::Verner9,
        n,
        IntegratorOptions::with_tolerance(tolerance),
    )?;
    let mut y = [&start.q[..], &start.v].concat();
    integrator.start(&mut system, times[0], &y)?;
    let mut states = Vec::new();
    for &time in times {
        while integrator.time() < time {
            integrator.step(&mut system, times[times.len() - 1])?;
        }
        integrator.interpolate(&mut system, time, &mut y)?;
        states.push(State::new(model, &y[..model.nq()], &y[model.nq()..])?);
    }
    Ok(states)
}

impl Fall {
    /// One coordinate over time, in degrees if it is an angle.
    fn coordinate(&self, k: usize, angle: bool) -> Vec<f64> {
        let unit = if angle { 180.0 / PI } else { 1.0 };
        self.states.iter().map(|s| s.q[k] * unit).collect()
    }
}

fn figure_6(fall: &Fall) -> String {
    let mut chart = Chart::new(
        "Simulated joint angles of the planar manipulator",
        "time (s)",
        "angle (deg)",
    );
    for (k, name) in ["θ₁", "θ₂", "θ₃"].into_iter().enumerate() {
        chart = chart.series(name, fall.times.clone(), fall.coordinate(k, true));
    }
    chart.svg(640, 420)
}

fn figure_9(fall: &Fall) -> String {
    let columns = (0..6).map(|k| fall.coordinate(k, k != 2)).collect();
    by_joint(
        "Simulated joint angles and displacement of the Stanford arm",
        &fall.times,
        columns,
        ["angle (deg)", "displacement (m)"],
    )
}

/// Chou's Figure 1: ten positions of a three-body pendulum in perspective.
fn pendulum_strip() -> Result<String> {
    let model = embedded::model("pendulum-3")?;
    let mut start = State::neutral(&model);
    let turn = [1.1, 0.3, 0.0, 0.0, -0.6, 0.4, 0.3, -0.4, 0.2];
    start.step(&model, &turn);
    let fall = fall(&model, &start, &clock(1.8, 9))?;
    let labels: Vec<String> = fall.times.iter().map(|t| format!("t = {t:.1} s")).collect();
    let view = View {
        title: "Three-body pendulum in ten positions".into(),
        width: 900,
        height: 420,
        ..View::of(&model, &fall.states)?
    };
    strip(&model, &fall.states, &labels, &view)
}
