//! How fast is a simulation, and how wrong is it?
//!
//! `cargo bench -p catena --bench simulation` drops the Stanford arm and a chain of seven revolute joints from a tilted pose and
//! follows them with DOP853 at rtol 1e-8: once the integration alone, once a whole [`Simulation`] with a sample and a look of the
//! auditor every 0.01 s, both with code compiled for the model; and the integration with the general recursion. The code is made
//! before, and how long that took is printed. Times are the best of many runs on one core. A machine is noisy: compare numbers of one
//! run.
//!
//! `-- --json` prints the same for programs (`peers/run.sh simulation` asks so), `-- --model NAME` takes one of the models,
//! and `-- --rk4 STEPS` times the classical method with that many steps as well.

use catena::integrate::{self, Adaptive, Fixed, FixedMethod, Method, Tolerances};
use catena::model::embedded;
use catena::native::{Compiled, Compiler};
use catena::residual::largest_of;
use catena::simulate::{Drift, Inputs, Integrator, Simulation, SimulationOptions, TreeSystem};
use catena::{Cpu, Model, Result, State};
use catena_symbolic::native::for_simulation;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

/// Simulated time, s. A change of the second joint's start grows two hundredfold until then, not more: chaos has not set in.
const DURATION: f64 = 2.0;
const TOLERANCES: Tolerances = Tolerances {
    relative: 1e-8,
    absolute: 1e-10,
};
/// Time between samples of a whole simulation, s.
const INTERVAL: f64 = 0.01;
const RUNS: usize = 100;

/// Models and the poses they are let go from, at rest.
const FALLS: [(&str, &[f64]); 2] = [
    ("stanford", &[0.3, 2.0, 0.3, 0.4, -0.5, 0.6]),
    ("chain-7", &[0.1, 1.6, 0.2, -0.3, 0.4, 0.1, 0.2]),
];

/// Where a run ended and what it cost.
struct Run {
    q: Vec<f64>,
    v: Vec<f64>,
    evaluations: u64,
}

/// A run and its best time.
struct Timed {
    what: &'static str,
    run: Run,
    seconds: f64,
    error: f64,
}

/// A model about to fall.
struct Fall {
    name: &'static str,
    model: Model,
    start: State,
}

impl Fall {
    fn new(name: &'static str, q: &[f64]) -> Result<Self> {
        let model = embedded::model(name)?;
        let start = State::new(&model, q, &vec![0.0; model.nv()])?;
        Ok(Fall { name, model, start })
    }

    fn system(&self) -> Result<TreeSystem> {
        TreeSystem::new(&self.model, Inputs::default(), Vec::new())
    }

    fn split(&self, y: &[f64], evaluations: u64) -> Run {
        let (q, rest) = y.split_at(self.model.nq());
        Run {
            q: q.to_vec(),
            v: rest[..self.model.nv()].to_vec(),
            evaluations,
        }
    }

    /// From the start to the end, nothing recorded.
    fn integrate(
        &self,
        system: &mut TreeSystem,
        method: Method,
        tolerances: Tolerances,
    ) -> Result<Run> {
        let y = system.pack(&self.start);
        let options = integrate::IntegratorOptions {
            tolerances,
            ..integrate::IntegratorOptions::default()
        };
        let mut integrator = Adaptive::new(method, y.len(), options)?;
        integrator.start(system, 0.0, &y)?;
        while integrator.time() < DURATION {
            integrator.step(system, DURATION)?;
        }
        Ok(self.split(integrator.y(), integrator.statistics().evaluations))
    }

    /// A whole simulation, with an audited sample at every interval.
    fn simulate(&self, compiler: Compiler) -> Result<Run> {
        let options = SimulationOptions {
            integrator: Integrator::Adaptive {
                method: Method::Dop853,
                tolerances: TOLERANCES,
                max_step: f64::INFINITY,
            },
            duration: DURATION,
            interval: INTERVAL,
        };
        let mut simulation = Simulation::with_compiler(
            &self.model,
            &self.start,
            Inputs::default(),
            Vec::new(),
            options,
            Drift::default(),
            Some(compiler),
        )?;
        let mut samples = Vec::new();
        while !simulation.finished() {
            simulation.advance(&mut samples)?;
        }
        let audit = simulation.finish();
        let end = samples.pop().expect("a simulation has samples");
        Ok(Run {
            q: end.state.q,
            v: end.state.v,
            evaluations: audit.evaluations,
        })
    }

    /// The classical method.
    fn runge_kutta(&self, system: &mut TreeSystem, steps: u64) -> Result<Run> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let size = DURATION / steps as f64;
        let mut integrator = Fixed::new(FixedMethod::RungeKutta4, nq, nv, size)?;
        integrator.start(0.0, &self.start.q, &self.start.v)?;
        for _ in 0..steps {
            integrator.step(system)?;
        }
        Ok(Run {
            q: integrator.q().to_vec(),
            v: integrator.v().to_vec(),
            evaluations: integrator.statistics().evaluations,
        })
    }
}

/// Best of many.
fn best(
    what: &'static str,
    reference: &Run,
    mut work: impl FnMut() -> Result<Run>,
) -> Result<Timed> {
    let mut seconds = f64::INFINITY;
    let mut last = None;
    for _ in 0..RUNS {
        let start = Instant::now();
        let run = black_box(work()?);
        seconds = seconds.min(start.elapsed().as_secs_f64());
        last = Some(run);
    }
    let run = last.expect("at least one run");
    Ok(Timed {
        what,
        seconds,
        error: error(&run, reference),
        run,
    })
}

/// The largest difference of a position or velocity, relative to it where it is larger than 1 (rad, m, rad/s, m/s).
fn error(run: &Run, reference: &Run) -> f64 {
    let ours = run.q.iter().chain(&run.v);
    let theirs = reference.q.iter().chain(&reference.v);
    largest_of(
        ours.zip(theirs)
            .map(|(a, b)| (a - b).abs() / b.abs().max(1.0)),
    )
}

fn print_table(timed: &[Timed]) {
    for t in timed {
        println!(
            "  {:<12} {:>9.1} µs {:>7} evaluations {:>8.0} simulated s/s   error {:.1e}",
            t.what,
            t.seconds * 1e6,
            t.run.evaluations,
            DURATION / t.seconds,
            t.error
        );
    }
}

fn json(
    fall: &Fall,
    acceleration: &[f64],
    reference: &Run,
    made_in: f64,
    timed: &[Timed],
) -> String {
    let runs: Vec<String> = timed
        .iter()
        .map(|t| {
            format!(
                "{:?}: {{\"seconds\": {:?}, \"evaluations\": {}, \"error\": {:?}}}",
                t.what, t.seconds, t.run.evaluations, t.error
            )
        })
        .collect();
    format!(
        "{{\"version\": {:?}, \"model\": {:?}, \"duration\": {DURATION:?}, \"relative\": {:?}, \"absolute\": {:?}, \
         \"interval\": {INTERVAL:?}, \"made_in\": {made_in:?}, \"q\": {:?}, \"v\": {:?}, \"acceleration\": {acceleration:?}, \
         \"reference\": {{\"q\": {:?}, \"v\": {:?}}}, \"runs\": {{{}}}}}",
        env!("CARGO_PKG_VERSION"),
        fall.name,
        TOLERANCES.relative,
        TOLERANCES.absolute,
        fall.start.q,
        fall.start.v,
        reference.q,
        reference.v,
        runs.join(", ")
    )
}

/// The code of the model at hand, made once: what is timed is the run.
static READY: Mutex<Option<Compiled>> = Mutex::new(None);

fn ready(_: &Model) -> Result<Compiled> {
    let ready = READY.lock().expect("nobody panicked");
    Ok(ready.clone().expect("the code is made first"))
}

/// What the command line asks for.
#[derive(Default)]
struct Wishes {
    json: bool,
    model: Option<String>,
    rk4: Option<u64>,
}

impl Wishes {
    fn read() -> std::result::Result<Self, String> {
        let mut wishes = Wishes::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => {} // cargo adds it
                "--json" => wishes.json = true,
                "--model" => wishes.model = words.next(),
                "--rk4" => {
                    let steps = words.next().and_then(|n| n.parse().ok());
                    wishes.rk4 = Some(
                        steps
                            .filter(|n| *n > 0)
                            .ok_or("--rk4 needs a number of steps")?,
                    );
                }
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
        match &wishes.model {
            Some(name) if !FALLS.iter().any(|(known, _)| known == name) => {
                Err(format!("no model of this bench is called `{name}`"))
            }
            _ => Ok(wishes),
        }
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let wishes = Wishes::read()?;
    if !wishes.json {
        println!("processor path: {:?}", Cpu::detect());
        println!(
            "{DURATION} s of free fall, DOP853, rtol {:e}, atol {:e}; best of {RUNS} runs",
            TOLERANCES.relative, TOLERANCES.absolute
        );
    }
    for (name, q) in FALLS {
        if wishes.model.as_ref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let fall = Fall::new(name, q)?;
        let mut system = fall.system()?;
        let acceleration = system.response(0.0, &fall.start)?.vdot;
        let exact = Tolerances {
            relative: 1e-13,
            absolute: 1e-13,
        };
        let reference = fall.integrate(&mut system, Method::Verner9, exact)?;
        let mut compiled = fall.system()?;
        let code = for_simulation(compiled.dynamics().model())?;
        let made_in = code.time().as_secs_f64();
        *READY.lock().expect("nobody panicked") = Some(code);
        compiled.compile(ready)?;
        let mut timed = vec![
            best("integration", &reference, || {
                fall.integrate(&mut compiled, Method::Dop853, TOLERANCES)
            })?,
            best("simulation", &reference, || fall.simulate(ready))?,
            best("general", &reference, || {
                fall.integrate(&mut system, Method::Dop853, TOLERANCES)
            })?,
        ];
        if let Some(steps) = wishes.rk4 {
            timed.push(best("rk4", &reference, || {
                fall.runge_kutta(&mut compiled, steps)
            })?);
        }
        if wishes.json {
            println!(
                "{}",
                json(&fall, &acceleration, &reference, made_in, &timed)
            );
        } else {
            println!("\n{name}, code made in {:.1} ms", made_in * 1e3);
            print_table(&timed);
        }
    }
    Ok(())
}
