//! The n-body pendulum integrated by its implicit equations: against known motions, and against the recursion on the tree.

use catena::algorithm::pendulum::{
    Departures, ImplicitPendulum, Pendulum, Rod, Scheme, Unknowns, consistent_rates,
    consistent_values, energies,
};
use catena::integrate::bdf::{Bdf, BdfOptions};
use catena::integrate::{Adaptive, IntegratorOptions, Method, System, Tolerances};
use catena::model::embedded;
use catena::residual::larger;
use catena::simulate::{self, Inputs, Integrator, NewtonMatrix, Simulation, TreeSystem};
use catena::spatial::{Sym3, Vec3};
use catena::{Model, State};
use serde_json::Value;
use std::path::Path;

fn case(name: &str) -> Value {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let text = std::fs::read_to_string(cases.join(format!("{name}.json"))).expect("the case");
    serde_json::from_str(&text).expect("the case is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn numbers<const N: usize>(value: &Value) -> [f64; N] {
    let mut all = [0.0; N];
    for (k, x) in all.iter_mut().enumerate() {
        *x = number(&value[k]);
    }
    all
}

fn vector(value: &Value) -> Vec3<f64> {
    Vec3::from_array(numbers(value))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn pendulum(model: &Value) -> Pendulum {
    let rods = list(&model["mass"]).iter().enumerate().map(|(k, mass)| {
        let [[xx, xy, xz], [_, yy, yz], [_, _, zz]] =
            [0, 1, 2].map(|row| numbers::<3>(&model["inertia"][k][row]));
        Rod {
            mass: number(mass),
            inertia: Sym3::new(xx, yy, zz, xy, xz, yz),
            a: vector(&model["a"][k]),
            r: vector(&model["r"][k]),
        }
    });
    let rods: Vec<Rod> = rods.collect();
    Pendulum::new(vector(&model["gravity"]), vector(&model["pivot"]), &rods).expect("physical")
}

/// Follows a known motion; the largest error of R, V, p, s over the samples, and of energy and constraints over all steps.
fn follow(case: &Value, scheme: Scheme, tolerance: f64) -> ([f64; 4], f64, Departures) {
    let pendulum = pendulum(&case["model"]);
    let orientations: Vec<_> = list(&case["p0"]).iter().map(numbers::<4>).collect();
    let velocities: Vec<_> = list(&case["w0_body"]).iter().map(vector).collect();
    let x = consistent_values(&pendulum, &orientations, &velocities).expect("usable");
    let mut xdot = vec![0.0; x.len()];
    consistent_rates(&pendulum, &x, &mut xdot).expect("accelerations");
    let mut problem = ImplicitPendulum::new(&pendulum, scheme, &x);
    let mut bdf = Bdf::new(x.len(), BdfOptions::with_tolerance(tolerance)).expect("options");
    bdf.start(&mut problem, 0.0, &x, &xdot).expect("a start");
    let (kinetic, potential) = energies(&pendulum, &x);
    let (initial, mut largest, mut change) = (kinetic + potential, kinetic, 0.0f64);
    let mut departures = Departures::default();
    let mut errors = [0.0f64; 4];
    for sample in list(&case["samples"]) {
        let time = number(&sample["t"]);
        while bdf.time() < time {
            bdf.step(&mut problem, time).expect("a step");
            departures = departures.max(Departures::of(&pendulum, bdf.x()));
            let (kinetic, potential) = energies(&pendulum, bdf.x());
            largest = larger(largest, kinetic);
            change = larger(change, (kinetic + potential - initial).abs());
        }
        for body in 0..pendulum.bodies() {
            let own = Unknowns::of(bdf.x(), body);
            let (p, s) = (
                numbers::<4>(&sample["p"][body]),
                numbers::<4>(&sample["s"][body]),
            );
            let same = own
                .parameters
                .iter()
                .zip(&p)
                .map(|(a, b)| a * b)
                .sum::<f64>();
            let far = |found: [f64; 4], expected: [f64; 4]| {
                let both = found.iter().zip(&expected);
                both.map(|(a, b)| (same.signum() * a - b).abs())
                    .fold(0.0, larger)
            };
            let found = [
                (own.position - vector(&sample["R"][body])).norm(),
                (own.velocity - vector(&sample["V"][body])).norm(),
                far(own.parameters, p),
                far(own.rates, s),
            ];
            for (error, found) in errors.iter_mut().zip(found) {
                *error = larger(*error, found);
            }
        }
    }
    (errors, change / largest, departures)
}

/// A tolerance of 1e-9 per step leaves some hundred times as much after a second and some thousand steps, in rates more than
/// in positions; the constraints, which Newton's method satisfies in every step anew, stay at the tolerance. The energy is
/// relative to the largest kinetic energy.
#[test]
fn known_motions_are_met() {
    for (name, schemes) in [
        ("pendulum3", &Scheme::ALL[..]),
        ("pendulum10", &Scheme::ALL[3..]),
    ] {
        let case = case(name);
        for scheme in schemes {
            let (errors, energy, departures) = follow(&case, *scheme, 1e-9);
            println!(
                "{name} {}: {errors:?} {energy:.1e} {departures:?}",
                scheme.name()
            );
            let [position, velocity, parameters, rates] = errors;
            assert!(position < 2e-7 && parameters < 5e-7, "{name}: {errors:?}");
            assert!(velocity < 2e-6 && rates < 2e-6, "{name}: {errors:?}");
            assert!(energy < 5e-7, "{name}: {energy}");
            assert!(
                departures.gap < 1e-8 && departures.length < 1e-8,
                "{departures:?}"
            );
            assert!(
                departures.gap_rate < 1e-7 && departures.length_rate < 1e-7,
                "{departures:?}"
            );
        }
    }
}

#[test]
fn error_follows_the_tolerance() {
    let case = case("pendulum3");
    let coarse = follow(&case, Scheme::Linear, 1e-6).0;
    let fine = follow(&case, Scheme::Linear, 1e-9).0;
    for (coarse, fine) in coarse.iter().zip(fine) {
        assert!(fine < coarse / 20.0, "{coarse} {fine}");
    }
}

fn recursion(model: &Model, start: &State, time: f64) -> State {
    let mut system = TreeSystem::new(model, Inputs::default(), Vec::new()).expect("a system");
    let options = IntegratorOptions {
        tolerances: Tolerances {
            relative: 1e-12,
            absolute: 1e-13,
        },
        ..IntegratorOptions::default()
    };
    let mut engine = Adaptive::new(Method::Dop853, system.dimension(), options).expect("options");
    let packed = system.pack(start);
    engine.start(&mut system, 0.0, &packed).expect("a start");
    while engine.time() < time {
        engine.step(&mut system, time).expect("a step");
    }
    system.unpack(time, engine.y())
}

/// The rods as a tree, integrated by an explicit method in relative coordinates: only the model is shared.
#[test]
fn motion_is_that_of_the_tree() {
    let model = embedded::model("pendulum-5").expect("embedded");
    let start = State::random(&model, 3);
    let pendulum = Pendulum::of_model(&model).expect("a pendulum");
    let x = pendulum.values_of_state(&model, &start).expect("usable");
    let mut xdot = vec![0.0; x.len()];
    consistent_rates(&pendulum, &x, &mut xdot).expect("accelerations");
    let mut problem = ImplicitPendulum::new(&pendulum, Scheme::Linear, &x);
    let mut bdf = Bdf::new(x.len(), BdfOptions::with_tolerance(1e-9)).expect("options");
    bdf.start(&mut problem, 0.0, &x, &xdot).expect("a start");
    let time = 0.5;
    while bdf.time() < time {
        bdf.step(&mut problem, time).expect("a step");
    }
    let reached = recursion(&model, &start, time);
    let expected = pendulum.values_of_state(&model, &reached).expect("usable");
    for body in 0..pendulum.bodies() {
        let (a, b) = (Unknowns::of(bdf.x(), body), Unknowns::of(&expected, body));
        let off = (a.position - b.position).norm();
        assert!(off < 1e-6, "body {body}: {off}");
        let off = (a.velocity - b.velocity).norm();
        assert!(off < 1e-5, "body {body}: {off}");
    }
}

/// Runs of the simulator: joint coordinates by an explicit method, and the implicit equations by each scheme; with a restart
/// from a checkpoint that continues to the same bits.
#[test]
fn simulator_takes_every_scheme() {
    let model = embedded::model("pendulum-4").expect("embedded");
    let start = State::random(&model, 5);
    let run = |integrator: Integrator| {
        let options = simulate::SimulationOptions {
            integrator,
            duration: 0.4,
            interval: 0.1,
        };
        Simulation::new(&model, &start, Inputs::default(), Vec::new(), options)
    };
    let finish = |mut simulation: Simulation| {
        let mut samples = Vec::new();
        while !simulation.finished() {
            simulation.advance(&mut samples).expect("a step");
        }
        let last = samples.pop().expect("samples");
        (last.state, simulation.finish())
    };
    let tolerances = Tolerances {
        relative: 1e-9,
        absolute: 1e-10,
    };
    let explicit = run(Integrator::Adaptive {
        method: Method::Dop853,
        tolerances,
        max_step: f64::INFINITY,
    });
    let (expected, _) = finish(explicit.expect("a run"));
    for scheme in Scheme::ALL {
        let implicit = || {
            run(Integrator::Bdf {
                tolerances,
                max_step: f64::INFINITY,
                max_order: 5,
                matrix: NewtonMatrix::Pendulum(scheme),
            })
            .expect("a run")
        };
        let (reached, audit) = finish(implicit());
        let far = |a: &[f64], b: &[f64]| {
            let both = a.iter().zip(b);
            both.map(|(a, b)| (a - b).abs()).fold(0.0, larger)
        };
        assert!(far(&reached.q, &expected.q) < 1e-6, "{}", scheme.name());
        assert!(far(&reached.v, &expected.v) < 1e-5, "{}", scheme.name());
        assert_eq!(audit.breaches().count(), 0, "{}: {audit:?}", scheme.name());
        let mut first = implicit();
        let mut samples = Vec::new();
        while first.time() < 0.2 {
            first.advance(&mut samples).expect("a step");
        }
        let checkpoint = first.checkpoint();
        let mut second = implicit();
        second.restore(&checkpoint).expect("its own checkpoint");
        let (again, _) = finish(second);
        assert_eq!(again.q, reached.q, "{}", scheme.name());
        assert_eq!(again.v, reached.v, "{}", scheme.name());
    }
}
