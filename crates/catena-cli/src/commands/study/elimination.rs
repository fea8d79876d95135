//! `catena study elimination`: are accelerations by O(n) recursions smoother than those by O(n³) elimination, and does an adaptive
//! integrator notice?
//!
//! Saha (1999, introduction) says so, after Ascher, Pai and Cloutier (1997). Two things are measured. The noise of v̇ along a motion that
//! is given as a formula: its sixth differences over steps so short that those of the exact function vanish. And the steps, rejected steps and
//! evaluations of an adaptive method for a fall from rest.

use super::{Arguments, FORMAT, Found, markdown_table};
use crate::number::rough;
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::integrate::{Adaptive, IntegratorOptions, Method, Statistics, System};
use catena::model::{AxisPair, Inertial, JointKind, JointSpec, embedded};
use catena::residual::{larger, largest};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_plot::{Chart, Figure};
use catena_study::accelerations::{Accelerations, Scheme};
use serde_json::json;
use std::time::Instant;

const TOLERANCES: [f64; 3] = [1e-6, 1e-9, 1e-12];
/// Duration of a fall, s; of the chain with the heavy tip.
const DURATION: f64 = 1.0;
const HEAVY_DURATION: f64 = 0.1;
/// A fall that takes more evaluations is abandoned.
const PATIENCE: u64 = 500_000;
/// The noise affected the integrator if it took this fraction more evaluations.
const NOTICED: f64 = 0.5;
/// Instants at which the noise is measured, and the time between them, s.
const INSTANTS: usize = 200;
const APART: f64 = 1e-4;
/// Sixth differences, and the size of those of independent noise of size 1: the root of the sum of their squares, 924.
const DIFFERENCES: [f64; 7] = [1.0, -6.0, 15.0, -20.0, 15.0, -6.0, 1.0];
const GAIN: f64 = 30.397_368_307_141_33;

/// One model, one scheme.
struct Line {
    scheme: Scheme,
    /// Noise of v̇, relative to its largest entry.
    noise: f64,
    falls: Vec<Fall>,
}

struct Fall {
    tolerance: f64,
    /// Time at which it was abandoned, s.
    stopped: Option<f64>,
    statistics: Statistics,
    /// Change of the energy, relative to the largest kinetic energy.
    energy: f64,
    seconds: f64,
}

/// Measures.
pub fn find(arguments: &Arguments) -> Result<Found> {
    let models = [
        (embedded::model("planar3")?, DURATION),
        (embedded::model("stanford")?, DURATION),
        (embedded::model("chain-7")?, DURATION),
        (embedded::model("chain-30")?, DURATION),
        (heavy_tip(12)?, HEAVY_DURATION),
    ];
    let mut found = Vec::new();
    for (model, duration) in &models {
        let lines = Scheme::ALL.map(|scheme| Line::measure(model, scheme, *duration));
        found.push((model, lines.into_iter().collect::<Result<Vec<_>>>()?));
    }
    let page = page(&found, !arguments.count);
    let record = found.iter().flat_map(|(model, lines)| {
        lines.iter().map(|line| {
            let falls = line.falls.iter().map(|fall| {
                let mut record = json!({
                    "tolerance": fall.tolerance,
                    "stopped": fall.stopped,
                    "steps": fall.statistics.steps,
                    "rejected": fall.statistics.rejected,
                    "evaluations": fall.statistics.evaluations,
                    "energy": fall.energy,
                });
                if !arguments.count {
                    record["seconds"] = fall.seconds.into();
                }
                record
            });
            json!({
                "model": model.name(),
                "scheme": line.scheme.name(),
                "noise": line.noise,
                "falls": falls.collect::<Vec<_>>(),
            })
        })
    });
    let record = record.collect::<Vec<_>>();
    Ok(Found {
        text: page.clone(),
        files: vec![
            ("elimination.md".into(), page),
            ("elimination.svg".into(), figure(&found).svg(900, 420)),
        ],
        record: json!({ "format": FORMAT, "study": "elimination", "lines": record }),
    })
}

/// A chain whose links are four times as heavy as the ones before: an inertia matrix of large condition.
fn heavy_tip(links: usize) -> Result<Model> {
    let mut builder = ModelBuilder::new(&format!("heavy-tip-{links}"));
    let mut parent = "world".to_string();
    let mut mass = 1e-3;
    for k in 0..links {
        let name = format!("link{k}");
        builder.link(
            &name,
            Inertial {
                mass,
                centre: Vec3::new(0.0, 0.0, -0.05),
                tensor: Sym3::new(8.5e-4, 8.5e-4, 2e-5, 0.0, 0.0, 0.0).map(|x| mass * x),
            },
        );
        let axes = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0)];
        builder.joint(JointSpec {
            parent_from_joint: Pose::shift(Vec3::new(0.0, 0.0, if k == 0 { 0.0 } else { -0.1 })),
            axes: AxisPair {
                first: axes[k % 2],
                ..AxisPair::default()
            },
            ..JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &name)
        });
        mass *= 4.0;
        parent = name;
    }
    builder.build()
}

impl Line {
    fn measure(model: &Model, scheme: Scheme, duration: f64) -> Result<Self> {
        let falls = TOLERANCES.map(|tolerance| Fall::run(model, scheme, tolerance, duration));
        Ok(Line {
            scheme,
            noise: noise(model, scheme)?,
            falls: falls.into_iter().collect::<Result<Vec<_>>>()?,
        })
    }
}

/// Noise of v̇ along q_k = 0.5 sin(t + k) without efforts, relative to its largest entry.
fn noise(model: &Model, scheme: Scheme) -> Result<f64> {
    let n = model.nv();
    let mut accelerations = Accelerations::new(model);
    let (tau, mut vdot) = (vec![0.0; n], vec![0.0; n]);
    let mut window: Vec<Vec<f64>> = Vec::new();
    let (mut worst, mut size) = (0.0f64, 0.0f64);
    for instant in 0..INSTANTS + 6 {
        let t = APART * instant as f64;
        let q: Vec<f64> = (0..n)
            .map(|k| 0.5 * elementary::sin(t + k as f64))
            .collect();
        let v: Vec<f64> = (0..n)
            .map(|k| 0.5 * elementary::cos(t + k as f64))
            .collect();
        let state = State::new(model, &q, &v)?;
        accelerations.find(scheme, &state, &tau, &mut vdot)?;
        size = larger(size, largest(&vdot));
        window.push(vdot.clone());
        if let [.., a, b, c, d, e, f, g] = &window[..] {
            for k in 0..n {
                let values = [a[k], b[k], c[k], d[k], e[k], f[k], g[k]];
                let sum: f64 = values.iter().zip(DIFFERENCES).map(|(x, w)| w * x).sum();
                worst = larger(worst, sum.abs() / GAIN);
            }
        }
    }
    Ok(worst / size)
}

/// A chain that falls: y = (q, v), all coordinates plain.
struct Falling<'a> {
    model: &'a Model,
    scheme: Scheme,
    accelerations: Accelerations,
    tau: Vec<f64>,
}

impl System for Falling<'_> {
    fn dimension(&self) -> usize {
        2 * self.model.nv()
    }

    fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        let n = self.model.nv();
        let state = State::new(self.model, &y[..n], &y[n..])?;
        dy[..n].copy_from_slice(&y[n..]);
        self.accelerations
            .find(self.scheme, &state, &self.tau, &mut dy[n..])
    }
}

impl Fall {
    fn run(model: &Model, scheme: Scheme, tolerance: f64, duration: f64) -> Result<Self> {
        let n = model.nv();
        if model.nq() != n {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the falls are of models with plain coordinates",
            ));
        }
        let mut system = Falling {
            model,
            scheme,
            accelerations: Accelerations::new(model),
            tau: vec![0.0; n],
        };
        let mut dynamics = Dynamics::new(model);
        let mut energies = |y: &[f64]| -> Result<(f64, f64)> {
            let found = dynamics.mechanical_state(&State::new(model, &y[..n], &y[n..])?)?;
            Ok((found.kinetic, found.kinetic + found.gravitational))
        };
        let mut y = vec![0.3; n];
        y.resize(2 * n, 0.0);
        let initial = energies(&y)?.1;
        let mut integrator = Adaptive::new(
            Method::Dop853,
            2 * n,
            IntegratorOptions::with_tolerance(tolerance),
        )?;
        let (mut kinetic, mut change, mut seconds) = (0.0f64, 0.0f64, 0.0);
        integrator.start(&mut system, 0.0, &y)?;
        let is_endless = |integrator: &Adaptive| integrator.statistics().evaluations > PATIENCE;
        while integrator.time() < duration && !is_endless(&integrator) {
            let begin = Instant::now();
            integrator.step(&mut system, duration)?;
            seconds += begin.elapsed().as_secs_f64();
            let (now, sum) = energies(integrator.y())?;
            kinetic = larger(kinetic, now);
            change = larger(change, (sum - initial).abs());
        }
        Ok(Fall {
            tolerance,
            stopped: (integrator.time() < duration).then(|| integrator.time()),
            statistics: integrator.statistics(),
            energy: change / kinetic,
            seconds,
        })
    }
}

fn page(found: &[(&Model, Vec<Line>)], timed: bool) -> String {
    let mut text = format!(
        "# O(n) recursions and O(n³) elimination inside an adaptive integrator\n\n\
         Made by `catena study elimination`. Saha (1999) expects that accelerations by O(n) recursions are smoother functions of time, so that an \
         integrator takes fewer steps. Noise is that of v̇ along a motion given as a formula, by sixth differences over {APART} s, relative to the largest \
         acceleration. Falls last {DURATION} s ({HEAVY_DURATION} s of `heavy-tip-12`), from rest, by DOP853 (8th order, steps of variable size); the energy's change is relative to the largest kinetic \
         energy. `heavy-tip-12` has links four times as heavy as the ones before, which makes the condition of I large.\n\n\
         ![Noise and evaluations](elimination.svg)\n\n",
    );
    let mut head = vec![
        "model",
        "scheme",
        "noise",
        "tolerance",
        "steps",
        "rejected",
        "evaluations",
        "energy",
    ];
    if timed {
        head.push("ms");
    }
    let mut rows = Vec::new();
    for (model, lines) in found {
        for line in lines {
            for fall in &line.falls {
                let mut row = vec![
                    model.name().to_string(),
                    line.scheme.name().to_string(),
                    rough(line.noise),
                    format!("{:e}", fall.tolerance),
                    fall.statistics.steps.to_string(),
                    fall.statistics.rejected.to_string(),
                    match fall.stopped {
                        None => fall.statistics.evaluations.to_string(),
                        Some(time) => format!("given up at {time:.3} s"),
                    },
                    rough(fall.energy),
                ];
                if timed {
                    row.push(format!("{:.2}", 1e3 * fall.seconds));
                }
                rows.push(row);
            }
        }
    }
    text += &markdown_table(&head, &rows);
    text + &verdict(found)
}

/// The claim against the numbers.
fn verdict(found: &[(&Model, Vec<Line>)]) -> String {
    let mut noisiest = (1.0f64, String::new());
    let (mut alike, mut apart) = (0.0f64, Vec::new());
    for (model, lines) in found {
        let [_, factors, cubic] = &lines[..] else {
            continue;
        };
        let ratio = cubic.noise / factors.noise;
        if ratio > noisiest.0 {
            noisiest = (ratio, model.name().to_string());
        }
        for (a, b) in factors.falls.iter().zip(&cubic.falls) {
            let (few, many) = (a.statistics.evaluations, b.statistics.evaluations);
            let share = many as f64 / few as f64 - 1.0;
            if share < NOTICED {
                alike = larger(alike, share.abs());
            } else {
                apart.push(format!(
                    "{} at a tolerance of {:e}: {}{many} evaluations by elimination, {few} by U D Uᵀ",
                    model.name(),
                    b.tolerance,
                    if b.stopped.is_some() { "more than " } else { "" }
                ));
            }
        }
    }
    let noise = match noisiest.1.is_empty() {
        true => "Elimination is not noisier on any of these models.".into(),
        false => format!(
            "Elimination is up to {:.0} times as noisy as U D Uᵀ ({}).",
            noisiest.0, noisiest.1
        ),
    };
    let alike = 100.0 * alike;
    match apart.is_empty() {
        true => format!(
            "\n{noise} This does not affect the integrator at these tolerances: evaluations differ by {alike:.0} % at most.\n"
        ),
        false => format!(
            "\n{noise} Where the tolerance is well above the noise it does not affect the integrator: evaluations differ by {alike:.0} % at most. Where it \
             comes down to the noise, the claim holds: {}.\n",
            apart.join("; ")
        ),
    }
}

fn figure(found: &[(&Model, Vec<Line>)]) -> Figure {
    let at: Vec<f64> = (1..=found.len()).map(|k| k as f64).collect();
    let names: Vec<&str> = found.iter().map(|(model, _)| model.name()).collect();
    let label = format!("model: {}", names.join(", "));
    let mut noise = Chart::new("noise of v̇, relative", &label, "noise").log(false, true);
    let mut work = Chart::new("evaluations at 1e-12", &label, "evaluations");
    for (k, scheme) in Scheme::ALL.into_iter().enumerate() {
        let of = |number: fn(&Line) -> f64| -> Vec<f64> {
            found.iter().map(|(_, lines)| number(&lines[k])).collect()
        };
        let evaluations = |line: &Line| {
            let last = line.falls.last();
            last.map_or(0.0, |fall| fall.statistics.evaluations as f64)
        };
        // a logarithmic chart has no zero
        let floor = |line: &Line| line.noise.max(1e-18);
        noise = noise.marked_series(scheme.name(), at.clone(), of(floor));
        work = work.marked_series(scheme.name(), at.clone(), of(evaluations));
    }
    Figure {
        title: "O(n) recursions and O(n³) elimination".into(),
        charts: vec![noise, work],
        columns: 2,
    }
}
