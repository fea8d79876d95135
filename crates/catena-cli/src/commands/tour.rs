//! `catena` without a command: the main job, shown on the Stanford arm.

use crate::commands::info::one_line;
use crate::number::{counted, residual, rough};
use crate::outcome::Outcome;
use crate::plot;
use crate::situation::Situation;
use crate::table::Table;
use crate::trajectory_argument::{paper, sampled};
use catena::error::Result;
use catena::laws::{self, LawResult};
use catena::model::embedded;
use catena::residual::{larger, largest, relative, within};
use catena::{Dynamics, Model};
use std::hint::black_box;
use std::time::Instant;

/// Steps of the motion; a curve of 60 braille cells has 120 dots.
const STEPS: usize = 120;
/// Random states of the checks.
const STATES: usize = 5;

/// Runs the tour.
pub fn run() -> Result<Outcome> {
    let model = embedded::model("stanford")?;
    let mut dynamics = Dynamics::new(&model);
    let mut motion = sampled(&model, &paper(&model)?, STEPS)?;
    for instant in &mut motion {
        instant.effort = dynamics
            .inverse(&instant.state, &instant.acceleration, &[])?
            .to_vec();
    }
    let mut text = format!(
        "catena {} · rigid multibody dynamics at linear cost\n\n\
         \x20   I(q) v̇ + C(q, v) v + g(q) = τ\n\n\
         {}\n\
         the Stanford arm of Saha (1999): five revolute joints; joint3 is prismatic\n",
        env!("CARGO_PKG_VERSION"),
        one_line(&model),
    );
    text += &inverse(&model, &motion);
    text += &factorization(&model, &mut dynamics, &motion)?;
    let mut failures = Vec::new();
    text += &forward(&mut dynamics, &motion, &mut failures)?;
    let (laws, broken) = checks(&model);
    text += &laws;
    failures.extend(broken);
    text += &times(&mut dynamics, &motion[STEPS / 2])?;
    text += NEXT;
    Ok(Outcome {
        text,
        failures,
        ..Outcome::default()
    })
}

const NEXT: &str = "
where to go next
  catena info stanford                   the model: tree, masses, assumptions
  catena inverse stanford --q 0,90deg,0.1,0,0,0
  catena factor space-robot --full       12 freedoms on a free base
  catena simulate planar3 --duration 2   free fall, with an audit at the end
  catena check pendulum-50               every law on 150 freedoms
  catena convert stanford -o arm.toml    a model file to start from
  catena --help
";

fn inverse(model: &Model, motion: &[Situation]) -> String {
    let shown: Vec<&Situation> = motion.iter().step_by(STEPS / 6).collect();
    let mut table = Table::new().written(
        "t\ns",
        shown
            .iter()
            .map(|at| format!("{:.2}", at.time.unwrap_or(0.0))),
    );
    for (k, dof) in model.tree().dofs.iter().enumerate() {
        // the wrist's efforts are a thousandth of the arm's
        let (factor, prefix) = if k < 3 { (1.0, "") } else { (1e3, "m") };
        table = table.written(
            &format!("{}\n{prefix}{}", dof.name, dof.force_unit),
            shown.iter().map(|at| fixed(at.effort[k] * factor)),
        );
    }
    let time: Vec<f64> = motion.iter().map(|at| at.time.unwrap_or(0.0)).collect();
    let curve: Vec<f64> = motion.iter().map(|at| at.effort[1]).collect();
    format!(
        "\nINVERSE DYNAMICS  efforts τ along the paper's cycloid, 10 s from rest to rest\n\n{}\n\
         \x20 torque of joint2: it carries the arm\n{}",
        table.render(),
        plot::curve(&time, &curve, (62, 6), ("s", "N·m"))
    )
}

/// Four decimals, without a minus sign before zero.
fn fixed(x: f64) -> String {
    let text = format!("{x:.4}");
    match text
        .trim_start_matches('-')
        .chars()
        .all(|c| c == '0' || c == '.')
    {
        true => "0.0000".into(),
        false => text,
    }
}

fn factorization(model: &Model, dynamics: &mut Dynamics, motion: &[Situation]) -> Result<String> {
    let end = &motion[STEPS].state;
    let factors = dynamics.factorization(end)?;
    let inertia = dynamics.inertia(end)?;
    let dofs = &model.tree().dofs;
    let table = Table::new()
        .text("freedom", dofs.iter().map(|dof| dof.name.clone()))
        .numbers("m̂: outboard joints free", factors.d().into_iter().map(Some))
        .numbers(
            "I_kk: outboard joints locked",
            (0..dofs.len()).map(|k| Some(inertia[(k, k)])),
        )
        .text(
            "unit",
            dofs.iter().map(|dof| {
                if dof.force_unit == "N" {
                    "kg"
                } else {
                    "kg·m²"
                }
            }),
        );
    Ok(format!(
        "\nI = U D Uᵀ  at the end of the motion, in O(n), without forming I\n\n{}\n\
         \x20 m̂ is the inertia that the motor of a joint works against when the outboard\n\
         \x20 joints are free: the articulated-body inertia, projected onto the joint axis.\n",
        table.render()
    ))
}

fn forward(
    dynamics: &mut Dynamics,
    motion: &[Situation],
    failures: &mut Vec<String>,
) -> Result<String> {
    let mut worst = 0.0;
    let scale = motion
        .iter()
        .fold(0.0, |scale, at| larger(scale, largest(&at.acceleration)));
    for at in motion {
        let found = dynamics.forward(&at.state, &at.effort, &[])?;
        worst = larger(worst, relative(found, &at.acceleration, scale));
    }
    if !within(worst, 1e-9) {
        failures.push(format!(
            "forward dynamics does not give the accelerations back: relative difference {}, allowed {}",
            rough(worst),
            rough(1e-9)
        ));
    }
    Ok(format!(
        "\nFORWARD DYNAMICS  the efforts above give the accelerations back: at {} instants\n\
         \x20 the largest relative difference is {}\n",
        motion.len(),
        rough(worst)
    ))
}

/// The laws in short, and those that fail.
fn checks(model: &Model) -> (String, Vec<String>) {
    let laws = laws::run(model, STATES, 1);
    let worst = laws
        .iter()
        .max_by(|a, b| (a.residual / a.tolerance).total_cmp(&(b.residual / b.tolerance)));
    let failures: Vec<String> = laws
        .iter()
        .filter(|law| !law.holds())
        .map(|law| {
            format!(
                "{} ({}): residual {}",
                law.law,
                law.routes,
                residual(law.residual)
            )
        })
        .collect();
    let held = laws.iter().filter(|law| law.holds()).count();
    let worst = worst.map_or(String::new(), |law: &LawResult| {
        format!(
            "  closest to its limit: {}\n  ({}), residual {}, allowed {}\n",
            law.law,
            law.routes,
            residual(law.residual),
            rough(law.tolerance)
        )
    });
    let text = format!(
        "\nCHECKS  {held} of {} hold at {}\n{worst}",
        counted(laws.len(), "law", "laws"),
        counted(STATES, "random state", "random states"),
    );
    (text, failures)
}

fn times(dynamics: &mut Dynamics, at: &Situation) -> Result<String> {
    let inverse = fastest(|| {
        dynamics
            .inverse(black_box(&at.state), &at.acceleration, &[])
            .map(|tau| tau[0])
    })?;
    let forward = fastest(|| {
        dynamics
            .forward(black_box(&at.state), &at.effort, &[])
            .map(|vdot| vdot[0])
    })?;
    let path = format!("{:?}", dynamics.cpu()).to_lowercase();
    Ok(format!(
        "\nTIME  per evaluation, one core, {path} path: inverse {:.2} µs, forward {:.2} µs\n",
        inverse * 1e6,
        forward * 1e6
    ))
}

/// Seconds of one call: the best of some batches.
fn fastest(mut call: impl FnMut() -> Result<f64>) -> Result<f64> {
    const BATCHES: usize = 25;
    const CALLS: usize = 1000;
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call()?);
        }
        best = best.min(start.elapsed().as_secs_f64() / CALLS as f64);
    }
    Ok(best)
}
