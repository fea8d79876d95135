//! Implicit integration in redundant coordinates of the bodies: its matrix, its motion, its loops.

use catena::algorithm::body_coordinates::{
    Acting, BodyEquations, BodyNewton, Formulation, Layout, Stiff,
};
use catena::benchmark;
use catena::model::{AxisPair, ConstraintSpec, Dof, Inertial, JointKind, JointSpec, embedded};
use catena::random::Random;
use catena::residual::larger;
use catena::scalar::Dual;
use catena::simulate::{Inputs, Integrator, NewtonMatrix, Simulation, SimulationOptions};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::state::Base;
use catena::{Model, ModelBuilder, State};
use catena_testing::runs::{apart, bdf_with, explicit, free_run};

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
    let acting = Acting::efforts(&none);
    let stiff = Stiff::nothing(&none);
    let mut newton = BodyNewton::new(model, layout);
    newton
        .linearize(model, &acting, &stiff, &x, &xdot, sigma)
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
        &Acting::efforts(&zero),
        &moved,
        &rates,
        &mut out,
    );
    // the largest term of a row is at most of this size
    let size = delta.iter().fold(0.0, |m, d| larger(m, d.abs())) * sigma.max(1.0);
    let mut worst: f64 = 0.0;
    for (out, r) in out.iter().zip(&r) {
        worst = larger(worst, (out.derivative[0] - r).abs() / size.max(1.0));
    }
    worst
}

#[test]
fn the_matrix_is_that_of_dual_numbers() {
    for name in ["pendulum-3", "zoo", "random-8-1", "random-30-2", "chain-9"] {
        let model = embedded::model(name).unwrap();
        for formulation in Formulation::ALL {
            for sigma in [3.0, 1e3] {
                let found = defect(&model, formulation, sigma, 4);
                assert!(found < 1e-12, "{name}, {formulation:?}, {sigma}: {found:e}");
            }
        }
    }
}

/// Errors of BDF add up over some hundred steps: 1e-6 at a tolerance of 1e-9 is generous, a wrong term would be of order 1.
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
        let (exact, _) = free_run(&model, &state, explicit(1e-12), 0.5);
        for formulation in Formulation::ALL {
            let matrix = NewtonMatrix::Bodies(formulation);
            let (found, audit) = free_run(&model, &state, bdf_with(1e-9, matrix), 0.5);
            let error = apart(&found, &exact);
            println!(
                "{name} {formulation:?}: error {error:.1e}, {} steps, {} rejected, {} evaluations",
                audit.steps, audit.rejected, audit.evaluations
            );
            // velocities of index 3 are derivatives of positions and larger in error by 1/h
            let allowed = match formulation {
                Formulation::Index3 => 1e-3,
                _ => 1e-6,
            };
            assert!(error < allowed, "{name}, {formulation:?}: {error:e}");
            if formulation != Formulation::Index3 {
                assert_eq!(
                    audit.breaches().count(),
                    0,
                    "{name}, {formulation:?}: {audit:?}"
                );
            }
        }
    }
}

fn four_bar(n: usize, phi: f64, rate: f64) -> (Model, State) {
    let model = embedded::model(&format!("four-bar-{n}")).unwrap();
    let mut state = State::neutral(&model);
    for body in model.bodies() {
        let info = &model.tree().bodies[body];
        let sign = if info.name.starts_with("upright") {
            1.0
        } else {
            -1.0
        };
        state.q[info.q] = sign * phi;
        state.v[info.v] = sign * rate;
    }
    (model, state)
}

/// Rows of cut joints in the matrix: exact but for how one body's motion changes the load on the other, which is of order λ/σ².
#[test]
fn loops_move_as_with_explicit_methods() {
    let bricard = embedded::model("bricard").unwrap();
    let rest = State::neutral(&bricard);
    let cases = [
        ("four-bar-1", four_bar(1, 1.3, -1.0), 0.4),
        ("four-bar-3", four_bar(3, 1.3, -1.0), 0.4),
        ("bricard", (bricard, rest), 1.0),
    ];
    for (name, (model, state), duration) in cases {
        let (exact, _) = free_run(&model, &state, explicit(1e-11), duration);
        for formulation in Formulation::ALL {
            let (found, audit) = free_run(
                &model,
                &state,
                bdf_with(1e-8, NewtonMatrix::Bodies(formulation)),
                duration,
            );
            let error = apart(&found, &exact);
            println!(
                "{name} {formulation:?}: error {error:.1e}, {} steps, {} rejected, {} evaluations",
                audit.steps, audit.rejected, audit.evaluations,
            );
            // velocities of index 3 are derivatives of positions and larger in error by 1/h
            let allowed = match formulation {
                Formulation::Index3 => 2e-4,
                _ => 2e-6,
            };
            assert!(error < allowed, "{name}, {formulation:?}: {error:e}");
            assert!(audit.rejected < audit.steps / 5, "{name}, {formulation:?}");
            if formulation != Formulation::Index3 {
                assert_eq!(
                    audit.breaches().count(),
                    0,
                    "{name}, {formulation:?}: {audit:?}"
                );
            }
        }
    }
}

/// Twenty links in a ring, closed by a cut joint, held at one point and let swing: the last joint stays closed.
#[test]
fn a_closed_chain_of_twenty_links_is_held_for_a_minute() {
    let links = 20;
    let mut builder = ModelBuilder::new("ring");
    let side = 0.1;
    let turn = std::f64::consts::TAU / links as f64;
    let mut parent = "world".to_string();
    for k in 0..links {
        let name = format!("link{k}");
        builder.link(
            &name,
            Inertial {
                mass: 0.1,
                centre: Vec3::new(0.5 * side, 0.0, 0.0),
                tensor: Sym3::new(1e-5, 1e-4, 1e-4, 0.0, 0.0, 0.0),
            },
        );
        builder.joint(JointSpec {
            parent_from_joint: Pose::shift(Vec3::new(if k == 0 { 0.0 } else { side }, 0.0, 0.0)),
            axes: AxisPair {
                first: Vec3::new(0.0, 1.0, 0.0),
                ..AxisPair::default()
            },
            dofs: vec![Dof {
                damping: 1e-3,
                ..Dof::default()
            }],
            ..JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &name)
        });
        parent = name;
    }
    builder.constraint(ConstraintSpec::point(
        "closing",
        "world",
        Vec3::zero(),
        &parent,
        Vec3::new(side, 0.0, 0.0),
    ));
    let model = builder.build().unwrap();
    let mut state = State::neutral(&model);
    for (k, q) in state.q.iter_mut().enumerate() {
        *q = if k == 0 { 0.3 } else { turn };
    }
    let (samples, audit) = free_run(
        &model,
        &state,
        bdf_with(1e-6, NewtonMatrix::Bodies(Formulation::Index2)),
        60.0,
    );
    assert_eq!(audit.breaches().count(), 0, "{audit:?}");
    assert_eq!(samples.len(), 21);
}

/// The field's stiff problems at a relative tolerance of 1e-8, in six digits at least: the governor's springs and dampers are part of
/// the matrix, or its steps would be those of an explicit method. References are published, derived by hand, or those of two explicit
/// integrators. The slider-crank turns five times and the
/// Stewart platform swings without damping, so that errors add up: 1e-10 for six digits there.
#[test]
fn benchmark_problems_have_six_digits() {
    for (name, tolerance) in [
        ("governor", 1e-8),
        ("squeezer", 1e-8),
        ("slider-crank", 1e-10),
        ("stewart", 1e-10),
    ] {
        let problem = benchmark::problem(name).unwrap();
        let end = |integrator: Integrator| {
            let options = SimulationOptions {
                integrator,
                duration: problem.duration,
                interval: problem.duration,
            };
            let mut simulation = Simulation::new(
                &problem.model,
                &problem.start,
                Inputs::default(),
                Vec::new(),
                options,
            )
            .unwrap();
            let mut samples = Vec::new();
            while !simulation.finished() {
                simulation.advance(&mut samples).unwrap();
            }
            let values = problem.measure(&samples[1].state).unwrap();
            (values, simulation.finish())
        };
        let references: Vec<f64> = problem.quantities.iter().map(|q| q.reference).collect();
        for formulation in [Formulation::Index2, Formulation::Stabilised] {
            let (values, audit) = end(bdf_with(tolerance, NewtonMatrix::Bodies(formulation)));
            let mut worst: f64 = 0.0;
            for (value, reference) in values.iter().zip(&references) {
                worst = larger(worst, (value - reference).abs() / reference.abs());
            }
            println!(
                "{name} {formulation:?}: {worst:.1e}, {} steps, {} rejected, {} evaluations",
                audit.steps, audit.rejected, audit.evaluations
            );
            assert!(worst < 1e-6, "{name}, {formulation:?}: {worst:e}");
            if name == "governor" {
                let (_, bound) = end(explicit(tolerance));
                let (ours, theirs) = (audit.evaluations, bound.evaluations);
                assert!(4 * ours < theirs, "{ours} of {theirs}");
            }
        }
    }
}
