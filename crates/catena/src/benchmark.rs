//! The field's benchmark problems: model, initial state, and reference results.
//!
//! | problem | reference |
//! |---|---|
//! | pendulum | exact, elliptic functions (IFToMM A01) |
//! | four-bar-N | exact law φ̈ = −g [(N+1)/2+N]/[(N+1)/3+N] cos φ of the parallelogram (A02), integrated at 1e-13 |
//! | squeezer | published values at t = 0.03 s (A03, IVP test set) |
//! | governor | our own: its two degrees of freedom by hand (Lagrange), in SciPy's Radau at 1e-12 and 1e-13 |
//! | bricard, slider-crank, stewart | our own, by two integrators at 1e-11 and 1e-12 which agree to the digits given |

use crate::ClosedChain;
use crate::Dynamics;
use crate::elementary;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::{self, Adaptive, Method, System, Tolerances};
use crate::model::{Model, embedded};
use crate::residual::largest_of;
use crate::simulate::{Drift, Inputs, Integrator, Simulation, SimulationOptions};
use crate::spatial::Vec3;
use crate::state::State;
use std::f64::consts::FRAC_PI_2;

/// Names of the problems; N stands for a number.
pub const PROBLEMS: [&str; 7] = [
    "pendulum",
    "four-bar-N",
    "squeezer",
    "bricard",
    "governor",
    "slider-crank",
    "stewart",
];

/// A problem.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its name.
    pub name: String,
    /// The mechanism.
    pub model: Model,
    /// Its initial state, closed.
    pub start: State,
    /// Duration, s.
    pub duration: f64,
    /// The quantities compared at the end.
    pub quantities: Vec<Quantity>,
    /// Accuracy of the reference.
    pub reference_error: f64,
    /// Source of the reference.
    pub source: &'static str,
    /// Whether energy is conserved.
    pub conservative: bool,
}

/// A quantity compared at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What it is.
    pub name: String,
    /// Its index in the state.
    what: What,
    /// Its reference value.
    pub reference: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Position(usize),
    Velocity(usize),
    /// A coordinate of a point of a frame.
    Point(usize, [f64; 3], usize),
}

/// The result of a run of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The computed quantities.
    pub values: Vec<f64>,
    /// Largest difference from the reference, relative to 1 or to the reference where that is larger.
    pub error: f64,
    /// Error of the energy balance, relative to the energy exchanged.
    pub energy: f64,
    /// Drift of constraints at the levels of positions, velocities and accelerations.
    pub drift: [f64; 3],
    /// Accepted and rejected steps, evaluations.
    pub steps: [u64; 3],
}

fn freedom(model: &Model, name: &str) -> Result<usize> {
    let dofs = &model.tree().dofs;
    dofs.iter()
        .position(|dof| dof.name == name)
        .ok_or_else(|| Error::new(ErrorKind::Model, format!("there is no freedom `{name}`")))
}

fn frame(model: &Model, name: &str) -> Result<usize> {
    let frames = &model.tree().frames;
    frames
        .iter()
        .position(|frame| frame.name == name)
        .ok_or_else(|| Error::new(ErrorKind::Model, format!("there is no frame `{name}`")))
}

fn point(name: &str, frame: usize, at: [f64; 3], reference: [f64; 3]) -> Vec<Quantity> {
    ["x", "y", "z"]
        .iter()
        .enumerate()
        .map(|(k, axis)| Quantity {
            name: format!("{axis} of {name}"),
            what: What::Point(frame, at, k),
            reference: reference[k],
        })
        .collect()
}

/// The problem with this name.
pub fn problem(name: &str) -> Result<Problem> {
    if let Some(n) = name.strip_prefix("four-bar-") {
        return match n.parse::<usize>() {
            Ok(n) if (1..=100_000).contains(&n) => four_bar(n),
            _ => Err(Error::new(
                ErrorKind::Input,
                format!("`{name}`: `{n}` is not a number of loops from 1 to 100000"),
            )),
        };
    }
    match name {
        "pendulum" => pendulum(),
        "squeezer" => squeezer(),
        "bricard" => bricard(),
        "governor" => governor(),
        "slider-crank" => slider_crank(),
        "stewart" => stewart(),
        _ => Err(Error::new(
            ErrorKind::Input,
            format!("there is no benchmark problem `{name}`"),
        )
        .hint(format!("the problems are {}", PROBLEMS.join(", ")))),
    }
}

fn pendulum() -> Result<Problem> {
    let model = embedded::model("particle-pendulum")?;
    let what = [
        ("x", What::Position(0), -0.27508746257612),
        ("y", What::Position(1), -0.96141920509913),
        ("velocity in x", What::Velocity(0), 4.1755981009517),
        ("velocity in y", What::Velocity(1), -1.1947490545605),
    ];
    Ok(Problem {
        name: "pendulum".into(),
        start: State::start(&model),
        duration: 10.0,
        quantities: what
            .into_iter()
            .map(|(name, what, reference)| Quantity {
                name: name.into(),
                what,
                reference,
            })
            .collect(),
        reference_error: 1e-13,
        source: "elliptic functions",
        conservative: true,
        model,
    })
}

/// The law of the parallelogram.
struct Parallelogram {
    factor: f64,
}

impl System for Parallelogram {
    fn dimension(&self) -> usize {
        2
    }

    fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        (dy[0], dy[1]) = (y[1], self.factor * elementary::cos(y[0]));
        Ok(())
    }
}

fn four_bar(n: usize) -> Result<Problem> {
    let model = embedded::model(&format!("four-bar-{n}"))?;
    let duration = if n == 40 { 20.0 } else { 10.0 };
    let count = n as f64;
    let mut law = Parallelogram {
        factor: -9.81 * ((count + 1.0) / 2.0 + count) / ((count + 1.0) / 3.0 + count),
    };
    let options = integrate::IntegratorOptions::with_tolerance(1e-13);
    let mut engine = Adaptive::new(Method::Verner9, 2, options)?;
    engine.start(&mut law, 0.0, &[FRAC_PI_2, -1.0])?;
    while engine.time() < duration {
        engine.step(&mut law, duration)?;
    }
    let [phi, rate] = [engine.y()[0], engine.y()[1]];
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let q: Vec<f64> = (0..model.nv()).map(|k| sign(k) * FRAC_PI_2).collect();
    let v: Vec<f64> = (0..model.nv()).map(|k| -sign(k)).collect();
    let mut quantities = Vec::new();
    for k in [0, model.nv() - 1] {
        let name = &model.tree().dofs[k].name;
        quantities.push(Quantity {
            name: format!("angle of {name}"),
            what: What::Position(k),
            reference: phi,
        });
        quantities.push(Quantity {
            name: format!("rate of {name}"),
            what: What::Velocity(k),
            reference: rate,
        });
    }
    Ok(Problem {
        name: format!("four-bar-{n}"),
        start: State::new(&model, &q, &v)?,
        duration,
        quantities,
        reference_error: 1e-11,
        source: "exact law of the parallelogram",
        conservative: true,
        model,
    })
}

fn squeezer() -> Result<Problem> {
    let model = embedded::model("squeezer")?;
    let names = ["beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"];
    let end = [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    ];
    let mut quantities = Vec::new();
    for (k, name) in names.iter().enumerate() {
        let at = freedom(&model, name)?;
        quantities.push(Quantity {
            name: (*name).into(),
            what: What::Position(at),
            reference: end[k],
        });
    }
    Ok(Problem {
        name: "squeezer".into(),
        start: State::start(&model),
        duration: 0.03,
        quantities,
        reference_error: 1e-9,
        source: "IVP test set",
        conservative: false,
        model,
    })
}

fn bricard() -> Result<Problem> {
    let model = embedded::model("bricard")?;
    // P3 is the end of the third rod, which reaches from P2 along z
    let rod = frame(&model, "rod3")?;
    Ok(Problem {
        name: "bricard".into(),
        start: State::neutral(&model),
        duration: 10.0,
        quantities: point("P3", rod, [0.0, 0.0, 1.0], BRICARD),
        reference_error: 1e-9,
        source: "own, two integrators",
        conservative: true,
        model,
    })
}

fn governor() -> Result<Problem> {
    let model = embedded::model("governor")?;
    let slide = freedom(&model, "slide")?;
    Ok(Problem {
        name: "governor".into(),
        start: State::start(&model),
        duration: 10.0,
        quantities: vec![Quantity {
            name: "height of the slider".into(),
            what: What::Position(slide),
            reference: GOVERNOR,
        }],
        reference_error: 1e-10,
        source: "own, by hand and Radau",
        conservative: false,
        model,
    })
}

fn slider_crank() -> Result<Problem> {
    let model = embedded::model("slider-crank")?;
    let tree = model.tree();
    let slide = freedom(&model, "slide")?;
    let at = tree.bodies[tree.dofs[slide].body].q;
    let mut guess = State::start(&model);
    guess.v[freedom(&model, "crank_pin")?] = 6.0;
    let start = ClosedChain::new(&model).assemble(0.0, &guess, &[0])?.state;
    Ok(Problem {
        name: "slider-crank".into(),
        start,
        duration: 5.0,
        quantities: vec![Quantity {
            name: "x of the slider".into(),
            what: What::Position(at),
            reference: SLIDER_CRANK,
        }],
        reference_error: 1e-9,
        source: "own, two integrators",
        conservative: true,
        model,
    })
}

fn stewart() -> Result<Problem> {
    let model = embedded::model("stewart")?;
    // the model's initial state: a plate that is shifted and tilted, at rest
    let guess = State::start(&model);
    let held: Vec<usize> = (0..6).collect();
    let start = ClosedChain::new(&model).assemble(0.0, &guess, &held)?.state;
    let plate = frame(&model, "plate")?;
    Ok(Problem {
        name: "stewart".into(),
        start,
        duration: 5.0,
        quantities: point("the plate's edge", plate, [0.6, 0.0, 0.0], STEWART),
        reference_error: 1e-9,
        source: "own, two integrators",
        conservative: true,
        model,
    })
}

/// P3 after 10 s.
const BRICARD: [f64; 3] = [0.9999999638063, -1.0002690126961, 0.9997309511199];
/// The slider's height after 10 s.
const GOVERNOR: f64 = 0.587455298197;
/// The slider's place after 5 s.
const SLIDER_CRANK: f64 = 0.24071957373;
/// A point of the plate after 5 s.
const STEWART: [f64; 3] = [0.6373028173736, -0.1450846037439, 1.0128452334735];

impl Problem {
    /// The quantities at a state.
    pub fn measure(&self, state: &State) -> Result<Vec<f64>> {
        let mut dynamics = Dynamics::new(&self.model.clone().open_tree());
        let still = vec![0.0; self.model.nv()];
        let kinematics = dynamics.kinematics(state, &still)?;
        Ok(self
            .quantities
            .iter()
            .map(|quantity| match quantity.what {
                What::Position(k) => state.q[k],
                What::Velocity(k) => state.v[k],
                What::Point(frame, at, k) => {
                    let pose = kinematics.frame_pose(&self.model.tree().frames[frame]);
                    pose.point(Vec3::from_array(at)).to_array()[k]
                }
            })
            .collect())
    }

    /// Runs it at a relative tolerance; the absolute one is a hundredth of it.
    pub fn run(&self, method: Method, tolerance: f64, drift: Drift) -> Result<Report> {
        let options = SimulationOptions {
            integrator: Integrator::Adaptive {
                method,
                tolerances: Tolerances {
                    relative: tolerance,
                    absolute: 0.01 * tolerance,
                },
                max_step: f64::INFINITY,
            },
            duration: self.duration,
            interval: self.duration / 100.0,
        };
        let mut simulation = Simulation::with_closing(
            &self.model,
            &self.start,
            Inputs::default(),
            Vec::new(),
            options,
            drift,
        )?;
        let mut samples = Vec::new();
        let mut last = self.start.clone();
        while !simulation.finished() {
            simulation.advance(&mut samples)?;
            if let Some(sample) = samples.pop() {
                last = sample.state;
            }
            samples.clear();
        }
        let values = self.measure(&last)?;
        let error = largest_of(
            values
                .iter()
                .zip(&self.quantities)
                .map(|(value, quantity)| {
                    let scale = quantity.reference.abs().max(1.0);
                    (value - quantity.reference).abs() / scale
                }),
        );
        let audit = simulation.finish();
        let worst = |name: &str| {
            let found = audit.findings.iter().find(|f| f.name == name);
            found.map_or(0.0, |f| f.worst)
        };
        Ok(Report {
            values,
            error,
            energy: worst("energy balance"),
            drift: [
                "constraints, positions",
                "constraints, velocities",
                "constraints, accelerations",
            ]
            .map(worst),
            steps: [audit.steps, audit.rejected, audit.evaluations],
        })
    }
}
