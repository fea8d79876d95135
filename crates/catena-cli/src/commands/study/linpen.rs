//! `catena study linpen`: Chou's Table 1 and Figure 2 with our implementation, extended to longer pendulums.

use super::{Arguments, FORMAT, Found};
use crate::number::rough;
use catena::algorithm::pendulum::{
    Departures, ImplicitPendulum, Linear, Newton, Pendulum, Scheme, StepCost, consistent_rates,
    consistent_values, dependent_parameters, energies, residual, step_cost,
};
use catena::error::Result;
use catena::integrate::bdf::{Bdf, BdfOptions, BdfStatistics};
use catena::model::embedded;
use catena::random::Random;
use catena::residual::larger;
use catena::scalar::Operations;
use catena::spatial::Vec3;
use catena_plot::{Chart, Figure};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Bodies of the paper's Figure 2.
const FIGURE: std::ops::RangeInclusive<usize> = 1..=10;
/// Bodies of Table 1's rows.
const COUNTED: [usize; 5] = [1, 2, 5, 10, 20];
/// σ of the steps that are counted and timed, 1/s.
const SIGMA: f64 = 100.0;
/// Time spent on each point of a curve.
const PATIENCE: Duration = Duration::from_millis(200);
/// The paper's runs: 100 points 0.01 s apart, tolerance 1e-7.
const DURATION: f64 = 1.0;
const TOLERANCE: f64 = 1e-7;
/// Each run of Figure 2 is repeated for this long, and at least this many times: the fastest counts.
const RUNS: usize = 3;
/// Tolerance of the long pendulums.
const LONG_TOLERANCE: f64 = 1e-6;
/// Duration of the run that tests for drift, s.
const DRIFT: f64 = 100.0;

/// Counts, and unless only that is requested, measures and simulates.
pub fn find(arguments: &Arguments) -> Result<Found> {
    let costs = Costs::count()?;
    let mut found = Found {
        text: costs.markdown(),
        files: vec![("chou-table-1.md".into(), costs.markdown())],
        record: json!({ "format": FORMAT, "study": "linpen", "operations": costs.json() }),
    };
    if !arguments.count {
        let times = Times::measure(arguments.bodies())?;
        let motions = Motions::run(arguments.bodies())?;
        let page = times.markdown(&motions);
        let figure = times.figure(&motions).svg(800, 900);
        found.text.push('\n');
        found.text += &page;
        found.files.push(("chou-fig-2.md".into(), page));
        found.files.push(("chou-fig-2.svg".into(), figure));
        found.record["times"] = times.json();
        found.record["motions"] = motions.json();
    }
    Ok(found)
}

/// The embedded pendulum with n rods, at a state that is neither straight nor at rest.
fn subject(n: usize) -> Result<(Pendulum, Vec<f64>, Vec<f64>)> {
    let pendulum = Pendulum::of_model(&embedded::model(&format!("pendulum-{n}"))?)?;
    let mut random = Random::new(7);
    let (mut orientations, mut velocities) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let mut small = || random.uniform(-0.3, 0.3);
        orientations.push([1.0, small(), small(), small()]);
        velocities.push(Vec3::new(small(), small(), small()));
    }
    let x = consistent_values(&pendulum, &orientations, &velocities)?;
    let mut xdot = vec![0.0; x.len()];
    consistent_rates(&pendulum, &x, &mut xdot)?;
    Ok((pendulum, x, xdot))
}

/// Multiplications and divisions, additions and subtractions.
fn both(operations: Operations) -> (u64, u64) {
    (
        operations.multiplications + operations.divisions,
        operations.additions,
    )
}

/// Counted operations of every scheme.
struct Costs {
    rows: Vec<(usize, Vec<StepCost>)>,
    /// Per body and constant part, of the linear scheme's solution: multiplications, additions.
    linear: [(i64, i64); 2],
    /// Per body and constant part, of its blocks: multiplications, additions.
    blocks: [(i64, i64); 2],
}

impl Costs {
    fn count() -> Result<Self> {
        let cost = |n: usize, scheme: Scheme| -> Result<StepCost> {
            let (pendulum, x, xdot) = subject(n)?;
            step_cost(&pendulum, scheme, &x, &xdot, SIGMA)
        };
        let mut rows = Vec::new();
        for n in COUNTED {
            let costs = Scheme::ALL.map(|scheme| cost(n, scheme));
            rows.push((n, costs.into_iter().collect::<Result<Vec<_>>>()?));
        }
        let (near, far) = (cost(3, Scheme::Linear)?, cost(4, Scheme::Linear)?);
        let line = |near: Operations, far: Operations| {
            let ((m, a), (more_m, more_a)) = (both(near), both(far));
            [(m, more_m), (a, more_a)].map(|(near, far)| {
                let slope = far as i64 - near as i64;
                (slope, near as i64 - 3 * slope)
            })
        };
        Ok(Costs {
            rows,
            linear: line(near.solution, far.solution),
            blocks: line(near.jacobian, far.jacobian),
        })
    }

    fn markdown(&self) -> String {
        let mut text = String::from(
            "# Operations of a Newton step of the n-body pendulum\n\n\
             Made by `catena study linpen`. J ΔX = E is solved with the numbers of J given, as in Chou's Table 1; ours are counted by \
             running the solution in a scalar that counts. × are multiplications and divisions, + additions and subtractions.\n\n\
             | n | full × | paper | full + | paper | reduced × | paper | reduced + | paper | linear × | paper | linear + | paper |\n\
             |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for (n, costs) in &self.rows {
            let k = *n as i64;
            let (cube, square) = (k * k * k, k * k);
            let [full, reduced, linear] = [1, 2, 3].map(|at| both(costs[at].solution));
            let _ = writeln!(
                text,
                "| {n} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                full.0,
                915 * cube + 196 * square - 5 * k,
                full.1,
                915 * cube + 196 * square - 19 * k,
                reduced.0,
                33 * cube + 129 * square + 50 * k,
                reduced.1,
                25 * cube + 51 * square + 25 * k,
                linear.0,
                657 * k - 324,
                linear.1,
                15 * square + 574 * k - 321,
            );
        }
        let line = |(slope, rest): (i64, i64)| {
            if rest < 0 {
                format!("{slope} n − {}", -rest)
            } else {
                format!("{slope} n + {rest}")
            }
        };
        let _ = write!(
            text,
            "\nThe linear scheme takes **{}** multiplications and **{}** additions for any n (paper: 657 n − 324 and 15 n² + 574 n − 321). The \
             blocks it is given (3×3 ones of its own, not the paper's 3×4) take {} and {} more. The full system is counted as a dense one; `numerical-full` solves the same \
             system. Ours reduces with sums of masses instead of products of triangular matrices, hence fewer operations than the \
             paper's reduced scheme.\n\n\
             Everything a step takes, E and J included:\n\n\
             | n | scheme | E × | E + | J × | J + | solution × | solution + | without known zeros × | + |\n\
             |---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
            line(self.linear[0]),
            line(self.linear[1]),
            line(self.blocks[0]),
            line(self.blocks[1]),
        );
        for (n, costs) in &self.rows {
            for (scheme, cost) in Scheme::ALL.iter().zip(costs) {
                let (e, j) = (both(cost.residual), both(cost.jacobian));
                let (s, z) = (both(cost.solution), both(cost.sparse_solution));
                let _ = writeln!(
                    text,
                    "| {n} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                    scheme.name(),
                    e.0,
                    e.1,
                    j.0,
                    j.1,
                    s.0,
                    s.1,
                    z.0,
                    z.1
                );
            }
        }
        text
    }

    fn json(&self) -> Value {
        let pair = |operations| {
            let (products, sums) = both(operations);
            json!({ "multiplications": products, "additions": sums })
        };
        let rows = self.rows.iter().flat_map(|(n, costs)| {
            Scheme::ALL.iter().zip(costs).map(move |(scheme, cost)| {
                json!({
                    "bodies": n,
                    "scheme": scheme.name(),
                    "residual": pair(cost.residual),
                    "jacobian": pair(cost.jacobian),
                    "solution": pair(cost.solution),
                    "solution_without_known_zeros": pair(cost.sparse_solution),
                })
            })
        });
        rows.collect()
    }
}

/// Time of one step's parts: E, J with its factors, solution; s.
#[derive(Clone, Copy)]
struct Parts {
    bodies: usize,
    residual: f64,
    factors: f64,
    solution: f64,
}

impl Parts {
    /// The best of many.
    fn measure(n: usize, scheme: Scheme) -> Result<Self> {
        let (pendulum, x, xdot) = subject(n)?;
        let mut dependent = vec![0; n];
        dependent_parameters(&x, &mut dependent);
        let mut newton = Newton::new(scheme, n);
        let (mut e, mut correction) = (x.clone(), x.clone());
        let mut best = Parts {
            bodies: n,
            residual: f64::INFINITY,
            factors: f64::INFINITY,
            solution: f64::INFINITY,
        };
        let begin = Instant::now();
        let mut repetitions = 0;
        while repetitions < 5 || begin.elapsed() < PATIENCE {
            let start = Instant::now();
            residual(&pendulum, &dependent, &x, &xdot, &mut e);
            let evaluated = Instant::now();
            newton.factorize(&pendulum, &dependent, &x, &xdot, SIGMA)?;
            let factorized = Instant::now();
            newton.solve(&pendulum, &e, &mut correction);
            let solved = Instant::now();
            let seconds = |from: Instant, to: Instant| (to - from).as_secs_f64();
            best.residual = best.residual.min(seconds(start, evaluated));
            best.factors = best.factors.min(seconds(evaluated, factorized));
            best.solution = best.solution.min(seconds(factorized, solved));
            repetitions += 1;
        }
        Ok(best)
    }

    fn total(&self) -> f64 {
        self.residual + self.factors + self.solution
    }

    fn json(&self, scheme: Scheme) -> Value {
        json!({
            "bodies": self.bodies,
            "scheme": scheme.name(),
            "residual_s": self.residual,
            "factors_s": self.factors,
            "solution_s": self.solution,
        })
    }
}

/// Times of single Newton steps.
struct Times {
    /// Results by scheme, for the bodies of the figure.
    short: Vec<Vec<Parts>>,
    /// The linear scheme's, for long pendulums.
    long: Vec<Parts>,
}

impl Times {
    fn measure(most: usize) -> Result<Self> {
        let mut short = Vec::new();
        for scheme in Scheme::ALL {
            let parts = FIGURE.map(|n| Parts::measure(n, scheme));
            short.push(parts.collect::<Result<Vec<_>>>()?);
        }
        let lengths = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000];
        let long = lengths.into_iter().filter(|n| *n <= most);
        let long = long.map(|n| Parts::measure(n, Scheme::Linear));
        Ok(Times {
            short,
            long: long.collect::<Result<Vec<_>>>()?,
        })
    }

    fn figure(&self, motions: &Motions) -> Figure {
        let bodies: Vec<f64> = FIGURE.map(|n| n as f64).collect();
        let mut calls = Chart::new(
            "Time per residual call of a whole run (Chou, Fig. 2)",
            "bodies",
            "time (µs)",
        )
        .log(false, true);
        let mut jacobians = Chart::new(
            "Time per Jacobian call of a whole run",
            "bodies",
            "time (µs)",
        )
        .log(false, true);
        let mut steps = Chart::new(
            "Time of one Newton step: E, J, its factors, solution",
            "bodies",
            "time (µs)",
        )
        .log(false, true);
        for (at, scheme) in Scheme::ALL.into_iter().enumerate() {
            let micro = self.short[at].iter().map(|parts| 1e6 * parts.total());
            steps = steps.marked_series(scheme.name(), bodies.clone(), micro.collect());
            let micro = motions.short[at].iter().map(|m| 1e6 * m.per_residual());
            calls = calls.marked_series(scheme.name(), bodies.clone(), micro.collect());
            let micro = motions.short[at].iter().map(|m| 1e6 * m.per_jacobian());
            jacobians = jacobians.marked_series(scheme.name(), bodies.clone(), micro.collect());
        }
        let long: Vec<f64> = self.long.iter().map(|parts| parts.bodies as f64).collect();
        let per_body = |time: fn(&Parts) -> f64| -> Vec<f64> {
            let long = self.long.iter();
            long.map(|p| 1e9 * time(p) / p.bodies as f64).collect()
        };
        let flat = Chart::new("Linear scheme: time per body", "bodies", "time (ns)")
            .log(true, false)
            .marked_series("whole step", long.clone(), per_body(Parts::total))
            .marked_series("J and its factors", long.clone(), per_body(|p| p.factors))
            .marked_series("solution", long.clone(), per_body(|p| p.solution))
            .marked_series("E", long, per_body(|p| p.residual));
        Figure {
            title: String::new(),
            charts: vec![calls, jacobians, steps, flat],
            columns: 1,
        }
    }

    fn markdown(&self, motions: &Motions) -> String {
        let mut text = String::from(
            "# Time of a Newton step of the n-body pendulum\n\n\
             Made by `catena study linpen`; times are of one core of the machine it ran on, each the best of many.\n\n\
             ![Times](chou-fig-2.svg)\n\n\
             ## One step: E, J, its factors and the solution, µs\n\n\
             | bodies | numerical-full | exact-full | reduced | linear |\n|---:|---:|---:|---:|---:|\n",
        );
        for (row, n) in FIGURE.enumerate() {
            let _ = write!(text, "| {n} ");
            for scheme in &self.short {
                let _ = write!(text, "| {:.1} ", 1e6 * scheme[row].total());
            }
            text += "|\n";
        }
        let _ = write!(
            text,
            "\n## The linear scheme on long pendulums, ns per body\n\n\
             It keeps {} bytes per body.",
            Linear::<f64>::bytes_per_body(),
        );
        if let Some(unevenness) = self.unevenness() {
            let _ = write!(
                text,
                " From 100 bodies on the whole step per body stays within {:.0} % of its value at 100.",
                100.0 * unevenness,
            );
        }
        text += "\n\n| bodies | E | J and factors | solution | whole step |\n|---:|---:|---:|---:|---:|\n";
        for parts in &self.long {
            let scale = 1e9 / parts.bodies as f64;
            let _ = writeln!(
                text,
                "| {} | {:.0} | {:.0} | {:.0} | {:.0} |",
                parts.bodies,
                scale * parts.residual,
                scale * parts.factors,
                scale * parts.solution,
                scale * parts.total()
            );
        }
        text + &motions.markdown()
    }

    /// Largest relative deviation of the time per body from that at 100 bodies; none if no longer pendulum was measured.
    fn unevenness(&self) -> Option<f64> {
        let per_body = |parts: &Parts| parts.total() / parts.bodies as f64;
        let reference = self.long.iter().find(|parts| parts.bodies == 100)?;
        let long = self.long.iter().filter(|parts| parts.bodies > 100);
        long.map(|parts| (per_body(parts) / per_body(reference) - 1.0).abs())
            .reduce(larger)
    }

    fn json(&self) -> Value {
        let short = Scheme::ALL.into_iter().zip(&self.short);
        let short = short.flat_map(|(scheme, all)| all.iter().map(move |p| p.json(scheme)));
        let long = self.long.iter().map(|p| p.json(Scheme::Linear));
        short.chain(long).collect()
    }
}

/// A simulation by implicit integration.
struct Motion {
    bodies: usize,
    scheme: Scheme,
    duration: f64,
    tolerance: f64,
    seconds: f64,
    statistics: BdfStatistics,
    /// Largest constraint violations, in the first tenth and in the last tenth of the motion.
    begin: Departures,
    end: Departures,
    /// Change of the energy, relative to the largest kinetic energy.
    energy: f64,
}

impl Motion {
    fn run(n: usize, scheme: Scheme, duration: f64, tolerance: f64) -> Result<Self> {
        let (pendulum, x, xdot) = subject(n)?;
        let mut problem = ImplicitPendulum::new(&pendulum, scheme, &x);
        let mut bdf = Bdf::new(x.len(), BdfOptions::with_tolerance(tolerance))?;
        let (kinetic, potential) = energies(&pendulum, &x);
        let mut motion = Motion {
            bodies: n,
            scheme,
            duration,
            tolerance,
            seconds: 0.0,
            statistics: BdfStatistics::default(),
            begin: Departures::default(),
            end: Departures::default(),
            energy: 0.0,
        };
        let (initial, mut largest, mut change) = (kinetic + potential, kinetic, 0.0f64);
        bdf.start(&mut problem, 0.0, &x, &xdot)?;
        while bdf.time() < duration {
            let start = Instant::now();
            bdf.step(&mut problem, duration)?;
            motion.seconds += start.elapsed().as_secs_f64();
            let departures = Departures::of(&pendulum, bdf.x());
            if bdf.time() <= 0.1 * duration {
                motion.begin = motion.begin.max(departures);
            }
            if bdf.time() >= 0.9 * duration {
                motion.end = motion.end.max(departures);
            }
            let (kinetic, potential) = energies(&pendulum, bdf.x());
            largest = larger(largest, kinetic);
            change = larger(change, (kinetic + potential - initial).abs());
        }
        motion.statistics = bdf.statistics();
        motion.energy = change / largest;
        Ok(motion)
    }

    /// The fastest of several runs, which take the same steps.
    fn best(n: usize, scheme: Scheme, duration: f64, tolerance: f64) -> Result<Self> {
        let begin = Instant::now();
        let mut best = Motion::run(n, scheme, duration, tolerance)?;
        let mut runs = 1;
        while runs < RUNS || begin.elapsed() < PATIENCE {
            let seconds = Motion::run(n, scheme, duration, tolerance)?.seconds;
            best.seconds = best.seconds.min(seconds);
            runs += 1;
        }
        Ok(best)
    }

    fn per_residual(&self) -> f64 {
        self.seconds / self.statistics.residuals as f64
    }

    fn per_jacobian(&self) -> f64 {
        self.seconds / self.statistics.linearizations as f64
    }

    fn row(&self) -> String {
        let BdfStatistics {
            steps,
            residuals,
            linearizations,
            ..
        } = self.statistics;
        let (begin, end) = (self.begin, self.end);
        let two = |a: f64, b: f64| format!("{} / {}", rough(a), rough(b));
        format!(
            "| {} | {} | {:e} | {steps} | {residuals} | {linearizations} | {:.3} | {} | {} | {} | {} | {} |\n",
            self.bodies,
            self.duration,
            self.tolerance,
            self.seconds,
            rough(self.energy),
            two(begin.gap, end.gap),
            two(begin.gap_rate, end.gap_rate),
            two(begin.length, end.length),
            two(begin.length_rate, end.length_rate),
        )
    }

    fn json(&self) -> Value {
        let departures = |d: Departures| json!({ "gap": d.gap, "gap_rate": d.gap_rate, "length": d.length, "length_rate": d.length_rate });
        json!({
            "bodies": self.bodies,
            "scheme": self.scheme.name(),
            "duration": self.duration,
            "tolerance": self.tolerance,
            "seconds": self.seconds,
            "steps": self.statistics.steps,
            "residuals": self.statistics.residuals,
            "linearizations": self.statistics.linearizations,
            "energy": self.energy,
            "first_tenth": departures(self.begin),
            "last_tenth": departures(self.end),
        })
    }
}

/// The paper's runs, and longer ones.
struct Motions {
    /// Results by scheme, for the bodies of the figure.
    short: Vec<Vec<Motion>>,
    /// The linear scheme's.
    long: Vec<Motion>,
}

impl Motions {
    fn run(most: usize) -> Result<Self> {
        let mut short = Vec::new();
        for scheme in Scheme::ALL {
            let motions = FIGURE.map(|n| Motion::best(n, scheme, DURATION, TOLERANCE));
            short.push(motions.collect::<Result<Vec<_>>>()?);
        }
        let mut long = vec![Motion::run(3, Scheme::Linear, DRIFT, TOLERANCE)?];
        for n in [100, 1000, 10_000, 100_000] {
            if n <= most {
                long.push(Motion::run(n, Scheme::Linear, DURATION, LONG_TOLERANCE)?);
            }
        }
        Ok(Motions { short, long })
    }

    fn markdown(&self) -> String {
        let head = || {
            let names: Vec<&str> = Scheme::ALL.iter().map(|scheme| scheme.name()).collect();
            format!(
                "| bodies | {} |\n|---:|---:|---:|---:|---:|\n",
                names.join(" | ")
            )
        };
        let mut text = format!(
            "\n## Whole runs\n\n\
             Backward differentiation formulas, {DURATION} s, relative and absolute tolerance {TOLERANCE:e}, as in the paper; the best of all runs that fit into {} s, at least {RUNS}. The \
             matrix is kept over several steps, so most calls do not compute it. All schemes solve the same equations; round-off decides how often the matrix is recomputed.\n",
            PATIENCE.as_secs_f64()
        );
        for (title, time) in [
            (
                "Time per residual call, µs",
                Motion::per_residual as fn(&Motion) -> f64,
            ),
            ("Time per Jacobian call, µs", Motion::per_jacobian),
        ] {
            let _ = write!(text, "\n### {title}\n\n{}", head());
            for (row, n) in FIGURE.enumerate() {
                let _ = write!(text, "| {n} ");
                for scheme in &self.short {
                    let _ = write!(text, "| {:.2} ", 1e6 * time(&scheme[row]));
                }
                text += "|\n";
            }
        }
        let _ = write!(text, "\n### Residual calls / Jacobian calls\n\n{}", head());
        for (row, n) in FIGURE.enumerate() {
            let _ = write!(text, "| {n} ");
            for scheme in &self.short {
                let BdfStatistics {
                    residuals,
                    linearizations,
                    ..
                } = scheme[row].statistics;
                let _ = write!(text, "| {residuals} / {linearizations} ");
            }
            text += "|\n";
        }
        text += "\n## Longer runs with the linear scheme\n\n\
             Departures from the constraints are the largest of all bodies, in the first tenth and in the last tenth of the run: they are \
             the error of Newton's method (its norm is a mean over all unknowns). Positions do not drift apart, since positions and \
             velocities both satisfy their constraints; the remaining error of velocities scales with the speed of the motion. The energy's change \
             is relative to the largest kinetic energy.\n\n\
             | bodies | s | tolerance | steps | residuals | Jacobians | time, s | energy | joint gap, m | its rate, m/s | p·p − 1 | p·s, 1/s |\n\
             |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
        for motion in &self.long {
            text += &motion.row();
        }
        text
    }

    fn json(&self) -> Value {
        let all = self.short.iter().flatten().chain(&self.long);
        all.map(Motion::json).collect()
    }
}
