//! Draws the error of every integrator against its cost into docs/peers/work-precision.svg.
//!
//!     cargo run --release -p catena-plot --example work_precision [-- FILE.svg]
//!
//! Three mechanisms fall from a tilted pose. The error is that of the last state against Verner's method at tolerance 1e-14; the
//! cost is the number of evaluations of forward dynamics.

use catena::integrate::{Adaptive, Fixed, FixedMethod, IntegratorOptions, Method};
use catena::model::embedded;
use catena::residual::largest_of;
use catena::simulate::{Inputs, TreeSystem};
use catena::{Model, Result, State};
use catena_plot::{Chart, Figure};
use std::path::{Path, PathBuf};

/// Simulated time, s.
const DURATION: f64 = 2.0;
/// Steps of the fixed methods: powers of two with these exponents.
const HALVINGS: std::ops::RangeInclusive<u32> = 6..=17;
/// Tolerances of the others: powers of ten with these exponents.
const DIGITS: std::ops::RangeInclusive<i32> = 3..=13;
const MOST_EVALUATIONS: u64 = 100_000;
/// Larger errors are not drawn: such a run is no solution.
const WORST_ERROR: f64 = 1.0;

struct Fall {
    model: Model,
    start: State,
}

/// Where a run ended, and its evaluations.
struct End {
    q: Vec<f64>,
    v: Vec<f64>,
    evaluations: u64,
}

impl Fall {
    fn new(name: &str, q: &[f64]) -> Result<Self> {
        let model = embedded::model(name)?;
        let start = State::new(&model, q, &vec![0.0; model.nv()])?;
        Ok(Fall { model, start })
    }

    fn system(&self) -> Result<TreeSystem> {
        TreeSystem::new(&self.model, Inputs::default(), Vec::new())
    }

    fn adaptive(&self, method: Method, tolerance: f64) -> Result<End> {
        let mut system = self.system()?;
        let y = system.pack(&self.start);
        let mut integrator = Adaptive::new(
            method,
            y.len(),
            IntegratorOptions::with_tolerance(tolerance),
        )?;
        integrator.start(&mut system, 0.0, &y)?;
        while integrator.time() < DURATION {
            integrator.step(&mut system, DURATION)?;
        }
        let (nq, nv) = (self.model.nq(), self.model.nv());
        Ok(End {
            q: integrator.y()[..nq].to_vec(),
            v: integrator.y()[nq..nq + nv].to_vec(),
            evaluations: integrator.statistics().evaluations,
        })
    }

    fn fixed(&self, method: FixedMethod, steps: u64) -> Result<End> {
        let mut system = self.system()?;
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let mut integrator = Fixed::new(method, nq, nv, DURATION / steps as f64)?;
        integrator.start(0.0, &self.start.q, &self.start.v)?;
        for _ in 0..steps {
            integrator.step(&mut system)?;
        }
        Ok(End {
            q: integrator.q().to_vec(),
            v: integrator.v().to_vec(),
            evaluations: integrator.statistics().evaluations,
        })
    }

    /// Evaluations and errors of every method.
    fn chart(&self, title: &str) -> Result<Chart> {
        let exact = self.adaptive(Method::Verner9, 1e-14)?;
        let mut chart = Chart::new(title, "evaluations", "error after 2 s").log(true, true);
        for method in Method::ALL {
            let runs = DIGITS.map(|digits| self.adaptive(method, 10f64.powi(-digits)));
            chart = with_line(chart, method.name(), runs, &exact);
        }
        for method in FixedMethod::ALL {
            let runs = HALVINGS.map(|halvings| self.fixed(method, 1 << halvings));
            chart = with_line(chart, method.name(), runs, &exact);
        }
        chart.x_range = Some((100.0, MOST_EVALUATIONS as f64));
        chart.y_range = Some((1e-14, WORST_ERROR));
        Ok(chart)
    }
}

/// Adds the completed runs; a step too long for an implicit method fails.
fn with_line(
    chart: Chart,
    name: &str,
    runs: impl Iterator<Item = Result<End>>,
    exact: &End,
) -> Chart {
    let (evaluations, errors) = runs
        .filter_map(Result::ok)
        .map(|run| (run.evaluations, error(&run, exact)))
        .filter(|&(evaluations, error)| evaluations <= MOST_EVALUATIONS && error <= WORST_ERROR)
        .map(|(evaluations, error)| (evaluations as f64, error))
        .unzip();
    chart.marked_series(name, evaluations, errors)
}

/// The largest difference of a position or velocity, relative to it where it is larger than 1 (rad, m, rad/s, m/s).
fn error(run: &End, exact: &End) -> f64 {
    let ours = run.q.iter().chain(&run.v);
    let theirs = exact.q.iter().chain(&exact.v);
    largest_of(
        ours.zip(theirs)
            .map(|(a, b)| (a - b).abs() / b.abs().max(1.0)),
    )
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let default =
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/peers/work-precision.svg");
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(default, PathBuf::from);
    let (half, tilted) = (std::f64::consts::FRAC_1_SQRT_2, 0.6f64);
    let rods = [
        [half, half, 0.0, 0.0],
        [tilted.cos(), 0.0, tilted.sin(), 0.0],
        [tilted.cos(), 0.0, 0.0, tilted.sin()],
    ];
    let falls = [
        (
            "Stanford arm",
            Fall::new("stanford", &[0.3, 2.0, 0.3, 0.4, -0.5, 0.6])?,
        ),
        (
            "Chain of seven revolute joints",
            Fall::new("chain-7", &[0.1, 1.6, 0.2, -0.3, 0.4, 0.1, 0.2])?,
        ),
        (
            "Three rods on spherical joints",
            Fall::new("pendulum-3", &rods.concat())?,
        ),
    ];
    let charts = falls
        .iter()
        .map(|(title, fall)| fall.chart(title))
        .collect::<Result<Vec<_>>>()?;
    for chart in &charts {
        println!("{}", chart.title);
        for line in &chart.series {
            let points = line.x.iter().zip(&line.y);
            let points: Vec<String> = points.map(|(x, y)| format!("{x}: {y:.1e}")).collect();
            println!("  {:<20} {}", line.name, points.join(", "));
        }
    }
    let figure = Figure {
        title: "Error against work".to_string(),
        charts,
        columns: 3,
    };
    std::fs::write(&path, figure.svg(1260, 520))?;
    Ok(())
}
