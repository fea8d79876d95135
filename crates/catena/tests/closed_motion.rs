//! Closed chains in time: exact laws, benchmark mechanisms, and what the audit says about their constraints.

use catena::ClosedChain;
use catena::algorithm::constrained::Stabilisation;
use catena::error::Result;
use catena::integrate::{Adaptive, FixedMethod, IntegratorOptions, Method, System, Tolerances};
use catena::model::{ConstraintSpec, Law, RuleSpec, embedded};
use catena::residual::difference;
use catena::simulate::{
    self, Controller, Drift, Inputs, Integrator, NewtonMatrix, Simulation, TreeSystem,
};
use catena::{Model, State};
use catena_testing::parallelogram;
use std::f64::consts::FRAC_PI_2;

/// φ̈ = −g [(N+1)/2 + N]/[(N+1)/3 + N] cos φ, the law of N four-bars on the parallelogram branch.
struct Parallelogram {
    factor: f64,
}

impl Parallelogram {
    fn new(n: f64) -> Self {
        Parallelogram {
            factor: -9.81 * ((n + 1.0) / 2.0 + n) / ((n + 1.0) / 3.0 + n),
        }
    }
}

impl System for Parallelogram {
    fn dimension(&self) -> usize {
        2
    }

    fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        (dy[0], dy[1]) = (y[1], self.factor * y[0].cos());
        Ok(())
    }
}

fn follow<S: System>(system: &mut S, y: &[f64], end: f64, tolerance: f64) -> Result<Adaptive> {
    let mut engine = Adaptive::new(
        Method::Verner9,
        y.len(),
        IntegratorOptions::with_tolerance(tolerance),
    )?;
    engine.start(system, 0.0, y)?;
    while engine.time() < end {
        engine.step(system, end)?;
    }
    Ok(engine)
}

/// Through the positions in which all rods are level and the rank drops from 2N to N: every upright keeps the exact angle, at tight
/// tolerances and for few loops and many. There round-off of `f64` is divided by the cube of the vanishing singular value, so
/// such positions are passed in double-double arithmetic.
#[test]
fn four_bars_follow_their_law() {
    for (n, end, tolerance, allowed) in [
        (1usize, 10.0, 1e-12, 1e-9),
        (1, 10.0, 1e-9, 1e-6),
        (2, 10.0, 1e-12, 1e-9),
        (2, 10.0, 1e-10, 1e-7),
        (7, 3.0, 1e-11, 1e-9),
        (40, 2.0, 1e-10, 1e-8),
    ] {
        let model = embedded::model(&format!("four-bar-{n}")).expect("embedded");
        let start = parallelogram(&model, FRAC_PI_2, -1.0);
        let exact = follow(
            &mut Parallelogram::new(n as f64),
            &[FRAC_PI_2, -1.0],
            end,
            1e-13,
        )
        .expect("smooth");
        let mut system = TreeSystem::new(&model, Inputs::default(), Vec::new()).expect("sound");
        let y = system.pack(&start);
        let engine = follow(&mut system, &y, end, tolerance).expect("it moves on");
        let [phi, rate] = [exact.y()[0], exact.y()[1]];
        let state = system.unpack(end, engine.y());
        let mut worst = 0.0f64;
        for k in 0..model.nv() {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            worst = worst
                .max((state.q[k] - sign * phi).abs())
                .max((state.v[k] - sign * rate).abs());
        }
        println!(
            "n {n} at {tolerance:.0e}: {worst:.1e} {:?}",
            engine.statistics()
        );
        assert!(worst < allowed, "n {n} at {tolerance:.0e}: {worst:.1e}");
    }
}

/// Energy to 1e-8 and drift to 1e-10 through the singular positions.
#[test]
fn four_bars_keep_energy_and_stay_closed() {
    for n in [1usize, 2] {
        let model = embedded::model(&format!("four-bar-{n}")).expect("embedded");
        let start = parallelogram(&model, FRAC_PI_2, -1.0);
        let (audit, _) = run(&model, &start, 10.0, 1e-12);
        let worst = |name: &str| {
            let found = audit.findings.iter().find(|f| f.name == name);
            found.expect("audited").worst
        };
        assert!(worst("energy balance") < 1e-8);
        assert!(worst("constraints, positions") < 1e-10);
        assert!(worst("constraints, velocities") < 1e-10);
    }
}

fn run(model: &Model, start: &State, duration: f64, tolerance: f64) -> (simulate::Audit, State) {
    let options = simulate::SimulationOptions {
        duration,
        interval: duration / 50.0,
        integrator: Integrator::Adaptive {
            method: Method::Verner9,
            tolerances: Tolerances {
                relative: tolerance,
                absolute: tolerance,
            },
            max_step: f64::INFINITY,
        },
    };
    let mut simulation =
        Simulation::new(model, start, Inputs::default(), Vec::new(), options).expect("sound");
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).expect("it moves on");
    }
    let last = samples.pop().expect("samples").state;
    let audit = simulation.finish();
    for finding in &audit.findings {
        println!(
            "{}: {:.1e} (allowed {:.0e})",
            finding.name, finding.worst, finding.allowed
        );
    }
    assert_eq!(audit.breaches().count(), 0, "{:?}", audit.findings);
    (audit, last)
}

/// Bricard's mechanism: five dependent rows of rank four; energy and all levels of the constraints are kept for 10 s.
#[test]
fn bricard_moves_with_one_freedom() {
    let model = embedded::model("bricard").expect("embedded");
    let start = State::neutral(&model);
    let mut chain = ClosedChain::new(&model);
    let (rank, values) = chain.rank(0.0, &start).expect("finite");
    assert_eq!((rank, values.len(), chain.row_count()), (4, 4, 5));
    let (audit, last) = run(&model, &start, 10.0, 1e-10);
    let worst = |name: &str| {
        let found = audit.findings.iter().find(|f| f.name == name);
        found.expect("audited").worst
    };
    assert!(worst("energy balance") < 1e-8);
    assert!(worst("constraints, positions") < 1e-11);
    assert!(worst("constraints, velocities") < 1e-10);
    // a second run, a hundred times sharper, ends in the same place
    let (_, sharper) = run(&model, &start, 10.0, 1e-12);
    for (a, b) in last.q.iter().zip(&sharper.q) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

/// The spatial slider-crank: its published velocities at the start, and its energy over 5 s.
#[test]
fn slider_crank_starts_as_published() {
    let model = embedded::model("slider-crank").expect("embedded");
    let mut chain = ClosedChain::new(&model);
    // crank up at 6 rad/s; the rod from (0, 0.1, 0.2) to the slider at (0.2, 0, 0)
    let mut guess = State::neutral(&model);
    let tree = model.tree();
    let slide = tree.bodies[tree.body("slider").expect("there")].q;
    guess.q[slide] = 0.2;
    guess.v[0] = 6.0;
    let found = chain.assemble(0.0, &guess, &[0]).expect("it closes");
    assert_eq!(found.freedoms, 1);
    let state = found.state;
    assert!((state.q[slide] - 0.2).abs() < 1e-12, "{}", state.q[slide]);
    let slide = tree.bodies[tree.body("slider").expect("there")].v;
    assert!((state.v[slide] - 0.24).abs() < 1e-12, "{}", state.v[slide]);
    let rod = tree.frame("rod").expect("there").clone();
    let kinematics = chain.tree().kinematics(&state, &[0.0; 5]).expect("finite");
    let spin = kinematics.frame_velocity(&rod).angular;
    for (a, b) in spin.to_array().into_iter().zip([1.92, -0.96, 0.48]) {
        assert!((a - b).abs() < 1e-12, "{spin:?}");
    }
    run(&model, &state, 5.0, 1e-10);
}

/// A motor turns the crank as prescribed, does the work that the energies need, and Baumgarte's equations give the same motion.
#[test]
fn drivers_do_their_work() {
    let mut builder = embedded::builder("four-bar-1").expect("embedded");
    let law = Law::Sine {
        offset: 1.2,
        amplitude: 0.5,
        frequency: 2.0,
        phase: 0.0,
    };
    builder.constraint(ConstraintSpec::new(
        "motor",
        RuleSpec::Driver {
            coordinate: "foot0".into(),
            law: law.clone(),
        },
    ));
    let model = builder.build().expect("sound");
    let start = parallelogram(&model, 1.2, 1.0);
    let (audit, last) = run(&model, &start, 3.0, 1e-10);
    let [phi, rate, _] = law.at(3.0);
    assert!((last.q[0] - phi).abs() < 1e-12 && (last.v[2] - rate).abs() < 1e-11);
    assert!(audit.work.abs() > 0.1, "{}", audit.work);
    let drift = Drift::Stabilise(Stabilisation::critical(0.02));
    let mut system =
        TreeSystem::with_constraints(&model, Inputs::default(), Vec::new(), Vec::new(), drift)
            .expect("sound");
    let y = system.pack(&start);
    let engine = follow(&mut system, &y, 3.0, 1e-10).expect("it moves on");
    for (a, b) in engine.y()[..3].iter().zip(&last.q) {
        assert!((a - b).abs() < 1e-7, "{a} {b}");
    }
}

#[test]
fn runs_that_cannot_start_say_why() {
    let model = embedded::model("four-bar-1").expect("embedded");
    let open = State::new(&model, &[1.0, -1.0, 1.1], &[0.0; 3]).expect("finite");
    let options = simulate::SimulationOptions::default();
    let error = Simulation::new(
        &model,
        &open,
        Inputs::default(),
        Vec::new(),
        options.clone(),
    )
    .err()
    .expect("open");
    assert!(
        error.message().contains("constraint `loop0` is open by"),
        "{error}"
    );
}

/// Fixed steps: projected ones are closed to round-off, Baumgarte's drift by what their order allows, and both converge to the
/// exact law with the order of the method.
#[test]
fn steps_of_one_size_stay_closed() {
    let model = embedded::model("four-bar-1").expect("embedded");
    let start = parallelogram(&model, FRAC_PI_2, -1.0);
    let end = 0.4; // before the singular position
    let exact =
        follow(&mut Parallelogram::new(1.0), &[FRAC_PI_2, -1.0], end, 1e-13).expect("smooth");
    for (method, order) in [
        (FixedMethod::RungeKutta4, 4),
        (FixedMethod::SemiImplicitEuler, 1),
        (FixedMethod::ImplicitMidpoint, 2),
    ] {
        for baumgarte in [false, true] {
            let mut errors = Vec::new();
            for step in [0.01, 0.005] {
                let drift = match baumgarte {
                    true => Drift::baumgarte(Some(step)),
                    false => Drift::Project,
                };
                let options = simulate::SimulationOptions {
                    integrator: Integrator::Fixed { method, step },
                    duration: end,
                    interval: 0.1,
                };
                let mut simulation = Simulation::with_closing(
                    &model,
                    &start,
                    Inputs::default(),
                    Vec::new(),
                    options,
                    drift,
                )
                .expect("sound");
                let mut samples = Vec::new();
                while !simulation.finished() {
                    simulation.advance(&mut samples).expect("it moves on");
                }
                let last = samples.pop().expect("samples").state;
                errors.push((last.q[0] - exact.y()[0]).abs());
                let audit = simulation.finish();
                let position = audit
                    .findings
                    .iter()
                    .find(|f| f.name == "constraints, positions")
                    .expect("audited")
                    .worst;
                if !baumgarte {
                    assert!(position < 1e-13, "{method:?}: {position:.1e}");
                } else {
                    assert!(position < 1e-2, "{method:?}: {position:.1e}");
                }
            }
            println!("{method:?} baumgarte {baumgarte}: {errors:?}");
            let ratio = errors[0] / errors[1];
            assert!(
                ratio > 0.6 * f64::from(1 << order),
                "{method:?} baumgarte {baumgarte}: {errors:?}"
            );
        }
    }
}

/// From positions at which no step closes the loops to first order, and with some coordinates held there.
#[test]
fn assembly_leaves_dead_points() {
    for (name, held) in [
        ("stewart", &[][..]),
        ("stewart", &[2]),
        ("particle-pendulum", &[]),
        ("particle-pendulum", &[0]),
    ] {
        let model = embedded::model(name).expect("embedded");
        let mut chain = ClosedChain::new(&model);
        let neutral: State = State::neutral(&model);
        assert!(chain.assemble_from(0.0, &neutral, held).is_err(), "{name}");
        let found = chain.assemble(0.0, &neutral, held).expect("closable");
        chain
            .require_closed(0.0, &found.state)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for &k in held {
            assert_eq!(found.state.q[k], neutral.q[k], "{name}");
        }
        let again = chain.assemble(0.0, &neutral, held).expect("closable");
        assert_eq!(found.state, again.state, "{name}: the same each time");
    }
}

/// States as printed to six digits: the run starts from the projected state, in its first sample as in the integrator and the controller.
#[test]
fn rounded_states_pass_the_audit() {
    let cases: [(&str, &[f64], &[f64]); 2] = [
        (
            "four-bar-1",
            &[1.2217, -1.221701, 1.2217],
            &[1.0, -1.0, 1.0],
        ),
        (
            "slider-crank",
            &[
                1.86122, 0.951692, -0.256457, -0.0439354, -0.163041, 0.282892,
            ],
            &[0.0; 5],
        ),
    ];
    for (name, q, v) in cases {
        let model = embedded::model(name).expect("embedded");
        let printed = State::new(&model, q, v).expect("finite");
        let mut closed = printed.clone();
        let mut chain = ClosedChain::new(&model);
        chain.project(0.0, &mut closed).expect("nearly closed");
        let fixed = |method| Integrator::Fixed {
            method,
            step: 0.001,
        };
        let integrators = [
            simulate::SimulationOptions::default().integrator,
            fixed(FixedMethod::RungeKutta4),
            fixed(FixedMethod::ImplicitMidpoint),
            Integrator::Bdf {
                tolerances: Tolerances {
                    relative: 1e-8,
                    absolute: 1e-10,
                },
                max_step: f64::INFINITY,
                max_order: 5,
                matrix: NewtonMatrix::Automatic,
            },
        ];
        for (integrator, rate) in integrators.into_iter().zip([None, Some(50.0), None, None]) {
            let options = simulate::SimulationOptions {
                integrator,
                duration: 0.1,
                interval: 0.1,
            };
            let inputs = Inputs {
                controller: match rate {
                    Some(_) => Controller::GravityCompensation,
                    None => Controller::None,
                },
                rate,
                ..Inputs::default()
            };
            let mut simulation =
                Simulation::new(&model, &printed, inputs, Vec::new(), options).expect("closed");
            assert!(simulation.start_moved()[0] > 1e-8, "{name}");
            assert!(
                difference(&simulation.state().q, &closed.q) < 1e-13,
                "{name}"
            );
            let mut samples = Vec::new();
            while !simulation.finished() {
                simulation.advance(&mut samples).expect("it moves on");
            }
            assert!(difference(&samples[0].state.q, &closed.q) < 1e-13, "{name}");
            assert!(difference(&samples[0].state.v, &closed.v) < 1e-12, "{name}");
            let audit = simulation.finish();
            let breach = audit.breaches().next();
            assert!(breach.is_none(), "{name}, {integrator:?}: {breach:?}");
        }
    }
}
