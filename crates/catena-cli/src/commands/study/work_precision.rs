//! `catena study work-precision`: the cost of accuracy, explicit and implicit, with loose and with stiff joints; and the cost per
//! body of a Newton iteration in body coordinates.

use super::{Arguments, FORMAT, Found};
use crate::number::rough;
use catena::algorithm::body_coordinates::{
    Acting, BodyEquations, BodyNewton, Formulation, Layout, Stiff,
};
use catena::algorithm::pendulum::Scheme;
use catena::error::{Error, ErrorKind, Result};
use catena::integrate::{Method, Tolerances};
use catena::model::{AxisPair, Dof, Inertial, JointKind, JointSpec, embedded};
use catena::residual::larger;
use catena::simulate::{Inputs, Integrator, NewtonMatrix, Sample, Simulation, SimulationOptions};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::state::Base;
use catena::{Model, ModelBuilder, State};
use catena_plot::{Chart, Figure};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Links of the chains, and how long each moves, s.
const LENGTHS: [(usize, f64); 3] = [(10, 1.0), (100, 0.5), (1000, 0.1)];
/// Damping of every joint, N·m·s/rad: none, and enough that the fastest motion decays within a tenth of a millisecond.
const DAMPING: [f64; 2] = [0.0, 2.0];
const TOLERANCES: [f64; 4] = [1e-4, 1e-6, 1e-8, 1e-10];
/// Tolerance of the reference.
const REFERENCE: f64 = 3e-12;
/// σ of the Newton steps that are timed, 1/s.
const SIGMA: f64 = 100.0;
/// Time spent on each of them.
const PATIENCE: Duration = Duration::from_millis(300);

/// A method by its name, and how to set it up.
type Contender = (&'static str, fn(Tolerances) -> Integrator);

/// The methods compared.
const METHODS: [Contender; 3] = [
    ("DOP853, joint coordinates", |tolerances| {
        Integrator::Adaptive {
            method: Method::Dop853,
            tolerances,
            max_step: f64::INFINITY,
        }
    }),
    ("BDF, joint coordinates", |tolerances| {
        implicit(tolerances, NewtonMatrix::Tree)
    }),
    ("BDF, body coordinates", |tolerances| {
        implicit(tolerances, NewtonMatrix::Bodies(Formulation::Index2))
    }),
];

/// Chou's linear scheme, for pendulums on spherical joints.
const CHOU: Contender = ("BDF, Chou's linear scheme", |tolerances| {
    implicit(tolerances, NewtonMatrix::Pendulum(Scheme::Linear))
});
/// Links of the pendulum, and how long it moves, s.
const PENDULUM: (usize, f64) = (10, 1.0);

fn implicit(tolerances: Tolerances, matrix: NewtonMatrix) -> Integrator {
    Integrator::Bdf {
        tolerances,
        max_step: f64::INFINITY,
        max_order: 5,
        matrix,
    }
}

/// Measures.
pub fn find(arguments: &Arguments) -> Result<Found> {
    let mut curves = Vec::new();
    for (links, duration) in LENGTHS {
        if links > arguments.bodies() {
            continue;
        }
        for damping in DAMPING {
            curves.push(Curves::measure(links, damping, duration)?);
        }
    }
    curves.push(Curves::of_pendulum()?);
    let iterations = Iterations::measure()?;
    let steps = Step::measure_all(arguments.bodies())?;
    let page = markdown(&curves, &iterations, &steps);
    Ok(Found {
        text: page.clone(),
        files: vec![
            ("work-precision.md".into(), page),
            ("work-precision.svg".into(), figure(&curves).svg(900, 1500)),
        ],
        record: json!({
            "format": FORMAT,
            "study": "work-precision",
            "curves": curves.iter().map(Curves::json).collect::<Vec<_>>(),
            "iterations": iterations.iter().map(Iterations::json).collect::<Vec<_>>(),
            "newton_steps": steps.iter().map(Step::json).collect::<Vec<_>>(),
        }),
    })
}

/// A chain of links of 0.1 m and 0.1 kg on revolute joints about x and y in turn.
fn chain(links: usize, damping: f64) -> Result<Model> {
    let mut builder = ModelBuilder::new("chain");
    let mut parent = "world".to_string();
    for k in 0..links {
        let name = format!("link{k}");
        builder.link(
            &name,
            Inertial {
                mass: 0.1,
                centre: Vec3::new(0.0, 0.0, -0.05),
                tensor: Sym3::new(8.5e-5, 8.5e-5, 2e-6, 0.0, 0.0, 0.0),
            },
        );
        let axes = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0)];
        builder.joint(JointSpec {
            parent_from_joint: Pose::shift(Vec3::new(0.0, 0.0, if k == 0 { 0.0 } else { -0.1 })),
            axes: AxisPair {
                first: axes[k % 2],
                ..AxisPair::default()
            },
            dofs: vec![Dof {
                damping,
                ..Dof::default()
            }],
            ..JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &name)
        });
        parent = name;
    }
    builder.build()
}

/// A bow, released from rest.
fn bow(model: &Model) -> State {
    let mut state = State::neutral(model);
    let share = 1.0 / model.nv() as f64;
    for (k, q) in state.q.iter_mut().enumerate() {
        *q = share * if k % 2 == 0 { 2.0 } else { 0.7 };
    }
    state
}

/// A run to its end.
struct Run {
    tolerance: f64,
    /// Largest error of a coordinate at the end, rad.
    error: f64,
    seconds: f64,
    steps: u64,
    rejected: u64,
    evaluations: u64,
}

fn simulate(
    model: &Model,
    state: &State,
    duration: f64,
    integrator: Integrator,
) -> Result<(Sample, Run)> {
    let options = SimulationOptions {
        integrator,
        duration,
        interval: duration,
    };
    let begin = Instant::now();
    let mut simulation = Simulation::new(model, state, Inputs::default(), Vec::new(), options)?;
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples)?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let audit = simulation.finish();
    let last = samples
        .pop()
        .ok_or_else(|| Error::new(ErrorKind::Integration, "the run gave no samples"))?;
    let run = Run {
        tolerance: 0.0,
        error: 0.0,
        seconds,
        steps: audit.steps,
        rejected: audit.rejected,
        evaluations: audit.evaluations,
    };
    Ok((last, run))
}

fn tolerances(relative: f64) -> Tolerances {
    Tolerances {
        relative,
        absolute: 0.1 * relative,
    }
}

/// Runs of one chain by all methods.
struct Curves {
    links: usize,
    damping: f64,
    duration: f64,
    /// Whether links are on spherical joints, which Chou's scheme supports too, instead of pins.
    is_pendulum: bool,
    /// Per method.
    runs: Vec<(Contender, Vec<Run>)>,
}

impl Curves {
    fn measure(links: usize, damping: f64, duration: f64) -> Result<Self> {
        let model = chain(links, damping)?;
        let state = bow(&model);
        let runs = Curves::runs(&model, &state, (damping, duration), &METHODS)?;
        Ok(Curves {
            links,
            damping,
            duration,
            is_pendulum: false,
            runs,
        })
    }

    /// A pendulum on spherical joints, by Chou's linear scheme as well.
    fn of_pendulum() -> Result<Self> {
        let (links, duration) = PENDULUM;
        let model = embedded::model(&format!("pendulum-{links}"))?;
        let mut state = State::neutral(&model);
        let delta: Vec<f64> = (0..model.nv()).map(|k| [0.3, 0.2, 0.0][k % 3]).collect();
        state.step(&model, &delta);
        let methods = [&METHODS[..], &[CHOU]].concat();
        let runs = Curves::runs(&model, &state, (0.0, duration), &methods)?;
        Ok(Curves {
            links,
            damping: 0.0,
            duration,
            is_pendulum: true,
            runs,
        })
    }

    fn runs(
        model: &Model,
        state: &State,
        (damping, duration): (f64, f64),
        methods: &[Contender],
    ) -> Result<Vec<(Contender, Vec<Run>)>> {
        // without damping the explicit method of order 9 is as good as exact; with it the implicit one is
        let reference = if damping == 0.0 {
            Integrator::Adaptive {
                method: Method::Verner9,
                tolerances: tolerances(REFERENCE),
                max_step: f64::INFINITY,
            }
        } else {
            implicit(tolerances(REFERENCE), NewtonMatrix::Tree)
        };
        let (exact, _) = simulate(model, state, duration, reference)?;
        let mut runs = Vec::new();
        for &(name, integrator) in methods {
            let mut line = Vec::new();
            for tolerance in TOLERANCES {
                let again = || simulate(model, state, duration, integrator(tolerances(tolerance)));
                let begin = Instant::now();
                let (last, mut run) = again()?;
                while begin.elapsed() < PATIENCE {
                    run.seconds = run.seconds.min(again()?.1.seconds);
                }
                run.tolerance = tolerance;
                let change = exact.state.change_to(model, &last.state);
                run.error = change.iter().map(|x| x.abs()).fold(0.0, larger);
                line.push(run);
            }
            runs.push(((name, integrator), line));
        }
        Ok(runs)
    }

    fn title(&self) -> String {
        let joints = match (self.is_pendulum, self.damping == 0.0) {
            (true, _) => "ball joints",
            (false, true) => "loose joints",
            (false, false) => "stiff dampers",
        };
        format!("{} links, {joints}, {} s", self.links, self.duration)
    }

    fn chart(&self) -> Chart {
        let mut chart =
            Chart::new(self.title(), "error at the end (rad)", "time (s)").log(true, true);
        for ((name, _), runs) in &self.runs {
            let errors = runs.iter().map(|run| run.error.max(1e-16)).collect();
            chart = chart.marked_series(*name, errors, runs.iter().map(|r| r.seconds).collect());
        }
        chart
    }

    fn json(&self) -> Value {
        let methods = self.runs.iter().map(|((name, _), runs)| {
            let runs: Vec<_> = runs
                .iter()
                .map(|run| {
                    json!({"rtol": run.tolerance, "error": run.error, "seconds": run.seconds, "steps": run.steps,
                        "rejected": run.rejected, "evaluations": run.evaluations})
                })
                .collect();
            json!({"method": name, "runs": runs})
        });
        json!({"links": self.links, "ball_joints": self.is_pendulum, "damping": self.damping, "duration": self.duration,
            "methods": methods.collect::<Vec<_>>()})
    }
}

/// Newton's method with and without the gyroscopic terms in its matrix.
struct Iterations {
    model: &'static str,
    matrix: &'static str,
    run: Run,
}

impl Iterations {
    fn measure() -> Result<Vec<Self>> {
        let matrices = [
            ("dense, all terms", NewtonMatrix::Dense),
            ("tree, no gyroscopic terms", NewtonMatrix::Tree),
            (
                "bodies, all terms",
                NewtonMatrix::Bodies(Formulation::Index2),
            ),
        ];
        let mut all = Vec::new();
        for name in ["chain-9", "floating-chain-30", "pendulum-10"] {
            let model = embedded::model(name)?;
            let mut state = State::random(&model, 3);
            state.v.iter_mut().for_each(|v| *v *= 3.0);
            for (matrix, newton) in matrices {
                let (_, run) = simulate(&model, &state, 0.5, implicit(tolerances(1e-6), newton))?;
                all.push(Iterations {
                    model: name,
                    matrix,
                    run,
                });
            }
        }
        Ok(all)
    }

    fn json(&self) -> Value {
        json!({"model": self.model, "matrix": self.matrix, "steps": self.run.steps, "rejected": self.run.rejected,
            "evaluations": self.run.evaluations, "seconds": self.run.seconds})
    }
}

/// Times of one Newton step in body coordinates, s.
struct Step {
    shape: &'static str,
    bodies: usize,
    formulation: Formulation,
    residual: f64,
    matrix: f64,
    solution: f64,
}

impl Step {
    fn measure_all(most: usize) -> Result<Vec<Self>> {
        let mut steps = Vec::new();
        for formulation in [Formulation::Index2, Formulation::Stabilised] {
            for shape in ["chain", "tree"] {
                for bodies in [100, 1000, 10_000, 100_000] {
                    if bodies <= most {
                        steps.push(Step::measure(shape, bodies, formulation)?);
                    }
                }
            }
        }
        Ok(steps)
    }

    fn measure(shape: &'static str, bodies: usize, formulation: Formulation) -> Result<Self> {
        let model = match shape {
            "chain" => embedded::model(&format!("chain-{bodies}"))?,
            _ => embedded::model(&format!("random-{bodies}-1"))?,
        };
        let bodies = model.body_count();
        let layout = Layout::new(&model, formulation);
        let state = State::random(&model, 1);
        let mut x = vec![0.0; layout.dimension()];
        x[..layout.nq].copy_from_slice(&state.q);
        x[layout.nq..layout.nq + layout.nv].copy_from_slice(&state.v);
        let mut equations = BodyEquations::new(&model, layout);
        equations.place_bodies(&model, &Base::fixed(), &mut x);
        let xdot = vec![0.1; x.len()];
        let none = vec![0.0; layout.nv];
        let acting = Acting::efforts(&none);
        let stiff = Stiff::nothing(&none);
        let mut newton = BodyNewton::new(&model, layout);
        newton.linearize(&model, &acting, &stiff, &x, &xdot, SIGMA)?;
        let mut e = vec![0.0; x.len()];
        let mut delta = e.clone();
        let residual = best(|| equations.residual(&model, &acting, &x, &xdot, &mut e));
        let mut done = Ok(());
        let matrix = best(|| done = newton.linearize(&model, &acting, &stiff, &x, &xdot, SIGMA));
        done?;
        let solution = best(|| {
            delta.copy_from_slice(&e);
            newton.solve(&model, &mut delta);
        });
        Ok(Step {
            shape,
            bodies,
            formulation,
            residual,
            matrix,
            solution,
        })
    }

    fn json(&self) -> Value {
        json!({"shape": self.shape, "bodies": self.bodies, "formulation": self.formulation.name(),
            "residual": self.residual, "matrix": self.matrix, "solution": self.solution})
    }
}

/// The smallest of many times.
fn best(mut task: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut shortest = f64::INFINITY;
    while begin.elapsed() < PATIENCE {
        let start = Instant::now();
        task();
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    shortest
}

fn figure(curves: &[Curves]) -> Figure {
    Figure {
        title: "What accuracy costs".into(),
        charts: curves.iter().map(Curves::chart).collect(),
        columns: 2,
    }
}

fn markdown(curves: &[Curves], iterations: &[Iterations], steps: &[Step]) -> String {
    let mut text = String::from(
        "# What accuracy costs, explicit and implicit\n\n\
         Made by `catena study work-precision -o docs`; times are of one core of the machine it ran on, whole runs, the best of those that fit into 0.3 s.\n\n\
         Chains of links of 0.1 m and 0.1 kg on revolute joints about x and y in turn, released from a bow; without damping, and with 2 \
         N·m·s/rad in every joint, which limits the step of methods with a bounded stability region; and a pendulum of rods on ball joints, which Chou's linear \
         scheme takes, too. The error is that of the joint \
         coordinates at the end, against a run at 3e-12 (Verner 9 for loose joints, BDF for stiff ones).\n\n\
         ![Time against error](work-precision.svg)\n",
    );
    for curve in curves {
        let _ = write!(
            text,
            "\n## {}\n\n| method | rtol | error | time, s | steps | rejected | evaluations |\n|---|---:|---:|---:|---:|---:|---:|\n",
            curve.title()
        );
        for ((name, _), runs) in &curve.runs {
            for run in runs {
                let _ = writeln!(
                    text,
                    "| {name} | {:e} | {} | {:.4} | {} | {} | {} |",
                    run.tolerance,
                    rough(run.error),
                    run.seconds,
                    run.steps,
                    run.rejected,
                    run.evaluations
                );
            }
        }
    }
    text += "\n## Newton's method with and without gyroscopic terms\n\n\
             Fast motions (random states, velocities three times as large), 0.5 s at rtol 1e-6. `tree` solves joint coordinates along the tree \
             with springs, dampers and inertia; `dense` has all terms, from differences; `bodies` has all terms, along the tree.\n\n\
             | model | matrix | steps | rejected | evaluations per step | time, s |\n|---|---|---:|---:|---:|---:|\n";
    for line in iterations {
        let run = &line.run;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.2} | {:.4} |",
            line.model,
            line.matrix,
            run.steps,
            run.rejected,
            run.evaluations as f64 / run.steps as f64,
            run.seconds
        );
    }
    text += "\n## One Newton step in body coordinates, ns per body\n\n\
             Chains of revolute joints, and random trees with every kind of joint. The matrix is kept over many steps; an iteration is E and the \
             solution.\n\n\
             | formulation | shape | bodies | E | matrix | solution | iteration |\n|---|---|---:|---:|---:|---:|---:|\n";
    for step in steps {
        let scale = 1e9 / step.bodies as f64;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} |",
            step.formulation.name(),
            step.shape,
            step.bodies,
            scale * step.residual,
            scale * step.matrix,
            scale * step.solution,
            scale * (step.residual + step.solution)
        );
    }
    text
}
