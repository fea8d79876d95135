//! Implicit integration in redundant coordinates of the bodies: its matrix, its motion, its loops.

use catena::algorithm::body_coordinates::{
    Acting, BodyEquations, BodyNewton, Formulation, Layout,
};
use catena::integrate::{Method, Tolerances};
use catena::model::embedded;
use catena::random::Random;
use catena::scalar::Dual;
use catena::simulate::{Audit, Inputs, Integrator, NewtonMatrix, Options, Sample, Simulation};
use catena::state::Base;
use catena::{Model, State};

fn bdf(rtol: f64, matrix: NewtonMatrix) -> Integrator {
    Integrator::Bdf {
        tolerances: Tolerances {
            relative: rtol,
            absolute: 0.01 * rtol,
        },
        max_step: f64::INFINITY,
        max_order: 5,
        matrix,
    }
}

fn explicit(rtol: f64) -> Integrator {
    Integrator::Adaptive {
        method: Method::Dop853,
        tolerances: Tolerances {
            relative: rtol,
            absolute: 0.01 * rtol,
        },
        max_step: f64::INFINITY,
    }
}

fn run(
    model: &Model,
    state: &State,
    integrator: Integrator,
    duration: f64,
) -> (Vec<Sample>, Audit) {
    let options = Options {
        integrator,
        duration,
        interval: duration / 20.0,
    };
    let mut simulation =
        Simulation::new(model, state, Inputs::default(), Vec::new(), options).unwrap();
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).unwrap();
    }
    (samples, simulation.finish())
}

/// Largest difference of coordinates and velocities over a run, relative to the largest of their kind.
fn difference(a: &[Sample], b: &[Sample]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut worst: f64 = 0.0;
    for (a, b) in a.iter().zip(b) {
        for (a, b) in [(&a.state.q, &b.state.q), (&a.state.v, &b.state.v)] {
            let size = b.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            for (a, b) in a.iter().zip(b) {
                worst = worst.max((a - b).abs() / size);
            }
        }
    }
    worst
}

/// ‖A δ − r‖ over the sizes of what is summed, row by row, where δ comes from the elimination along the tree for a random r, and A δ
/// from dual numbers run through the equations.
fn defect(model: &Model, formulation: Formulation, sigma: f64, seed: u64) -> f64 {
    let layout = Layout::new(model, formulation);
    let state = State::random(model, seed);
    let mut random = Random::new(seed);
    let n = layout.dimension();
    let mut x = vec![0.0; n];
    x[..layout.nq].copy_from_slice(&state.q);
    x[layout.nq..layout.nq + layout.nv].copy_from_slice(&state.v);
    let mut equations = BodyEquations::<f64>::new(model, layout);
    equations.place_bodies(model, &Base::fixed(), &mut x);
    let loads = layout.load(1)..layout.load(layout.bodies + 1);
    for (i, x) in x.iter_mut().enumerate().take(loads.end) {
        // joints slightly open, quaternions not of unit length; loads of any size
        let size = if loads.contains(&i) { 5.0 } else { 1e-2 };
        *x += random.uniform(-size, size);
    }
    let xdot: Vec<f64> = (0..n).map(|_| random.uniform(-2.0, 2.0)).collect();
    let none = vec![0.0; layout.nv];
    let acting = Acting {
        time: 0.0,
        base: Base::fixed(),
        efforts: &none,
        external: &[],
        held: &[],
    };
    let mut newton = BodyNewton::new(model, layout);
    newton
        .linearize(model, &acting, [&none, &none], &x, &xdot, sigma)
        .unwrap();
    let mut r: Vec<f64> = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
    r[layout.integrals()] = 0.0;
    r[layout.integrals() + 1] = 0.0;
    let mut delta = r.clone();
    newton.solve(model, &mut delta);
    delta[layout.integrals()] = 0.0;
    delta[layout.integrals() + 1] = 0.0;
    let dual = |value: f64, derivative: f64| Dual::<f64, 1> {
        value,
        derivative: [derivative],
    };
    let moved: Vec<_> = x.iter().zip(&delta).map(|(x, d)| dual(*x, *d)).collect();
    let rates: Vec<_> = xdot
        .iter()
        .zip(&delta)
        .map(|(x, d)| dual(*x, sigma * d))
        .collect();
    let mut out = vec![dual(0.0, 0.0); n];
    let zero = vec![dual(0.0, 0.0); layout.nv];
    BodyEquations::<Dual<f64, 1>>::new(model, layout).residual(
        model,
        &Acting {
            time: 0.0,
            base: Base::fixed(),
            efforts: &zero,
            external: &[],
            held: &[],
        },
        &moved,
        &rates,
        &mut out,
    );
    // the largest term of a row is at most of this size
    let size = delta.iter().fold(0.0, |m: f64, d| m.max(d.abs())) * sigma.max(1.0);
    let mut worst: f64 = 0.0;
    for (out, r) in out.iter().zip(&r) {
        worst = worst.max((out.derivative[0] - r).abs() / size.max(1.0));
    }
    worst
}

fn without_dry_friction(name: &str) -> Model {
    embedded::model(name).unwrap()
}

#[test]
fn the_matrix_is_that_of_dual_numbers() {
    for name in ["pendulum-3", "zoo", "random-8-1", "random-30-2", "chain-9"] {
        let model = without_dry_friction(name);
        for formulation in Formulation::ALL {
            for sigma in [3.0, 1e3] {
                let found = defect(&model, formulation, sigma, 4);
                assert!(found < 1e-12, "{name}, {formulation:?}, {sigma}: {found:e}");
            }
        }
    }
}

/// Errors of BDF add up over some hundred steps: 1e-5 at a tolerance of 1e-9 is generous, a wrong term would be of order 1.
#[test]
fn body_coordinates_move_as_joint_coordinates_do() {
    for name in [
        "pendulum-4",
        "zoo",
        "random-8-1",
        "random-8-2",
        "space-robot",
        "stanford",
    ] {
        let model = embedded::model(name).unwrap();
        let mut state = State::random(&model, 3);
        state.v.iter_mut().for_each(|v| *v *= 0.5);
        let (exact, _) = run(&model, &state, explicit(1e-12), 0.5);
        for formulation in Formulation::ALL {
            let (found, audit) = run(
                &model,
                &state,
                bdf(1e-9, NewtonMatrix::Bodies(formulation)),
                0.5,
            );
            let error = difference(&found, &exact);
            println!(
                "{name} {formulation:?}: error {error:.1e}, {} steps, {} rejected, {} evaluations",
                audit.steps, audit.rejected, audit.evaluations
            );
            assert!(error < 1e-5, "{name}, {formulation:?}: {error:e}");
            assert_eq!(audit.breaches().count(), 0, "{name}, {formulation:?}: {audit:?}");
        }
    }
}
