//! Members of an ensemble are the simulations of their own, to round-off in lanes and bit for bit where they run one by one; and their
//! bits depend on nothing but themselves.

use catena::integrate::{FixedMethod, Method, Tolerances};
use catena::model::{Actuator, Dof, Family, JointSpec, embedded};
use catena::native::FamilyCode;
use catena::simulate::{
    Controller, Ensemble, EnsembleRun, EventFunction, Inputs, Integrator, Law, Members, Sample,
    Simulation, SimulationOptions, Stop, advance_together,
};
use catena::spatial::{Sym3, Vec3};
use catena::trajectory::{PointToPoint, Profile};
use catena::{Cpu, ErrorKind, Feedback, Model, ModelBuilder, State};
use catena_symbolic::generate::CodeOptions;
use catena_symbolic::native::{NativeOptions, compile, compile_family};
use catena_testing::{assert_close, parallelogram};

/// Lanes and single runs round differently, in every operation. Over the half second of these runs no motion amplifies that by more than
/// a thousand.
const ALLOWED: f64 = 1e-12;

const PATHS: [Cpu; 3] = [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512];

fn fixed(method: FixedMethod, step: f64) -> SimulationOptions {
    SimulationOptions {
        integrator: Integrator::Fixed { method, step },
        duration: 0.5,
        interval: 0.125,
    }
}

fn adaptive(method: Method, tolerance: f64) -> SimulationOptions {
    limited(method, tolerance, f64::INFINITY)
}

fn limited(method: Method, tolerance: f64, max_step: f64) -> SimulationOptions {
    SimulationOptions {
        integrator: Integrator::Adaptive {
            method,
            tolerances: Tolerances {
                relative: tolerance,
                absolute: tolerance,
            },
            max_step,
        },
        duration: 0.5,
        interval: 0.125,
    }
}

/// Steps are the same for lanes and for single runs: fixed, or limited so that errors are well below the tolerance.
fn methods() -> Vec<SimulationOptions> {
    vec![
        fixed(FixedMethod::RungeKutta4, 2e-3), // records within steps
        fixed(FixedMethod::SemiImplicitEuler, 1e-3),
        limited(Method::Tsitouras5, 1e-2, 2e-3),
        limited(Method::Dop853, 1e-2, 4e-3),
        limited(Method::Verner9, 1e-2, 5e-3),
    ]
}

/// Steps are chosen by their errors. Where these are small differences of large numbers, as in the first steps, step sizes depend on
/// round-off: they differ between single runs on two kinds of processors, too, and solutions by errors of steps, which
/// the quick wrist of the Stanford arm amplifies by up to a hundred.
fn free_methods() -> Vec<(f64, SimulationOptions)> {
    [
        (Method::Tsitouras5, 1e-7),
        (Method::Dop853, 1e-8),
        (Method::Verner9, 1e-10),
    ]
    .map(|(method, tolerance)| (100.0 * tolerance, adaptive(method, tolerance)))
    .to_vec()
}

/// States and feedback of many members.
struct Many {
    q: Vec<f64>,
    v: Vec<f64>,
    parts: [Vec<f64>; 4],
}

impl Many {
    fn new(model: &Model, count: usize) -> Self {
        let states: Vec<State> = (0..count as u64).map(|k| State::random(model, k)).collect();
        let numbers = |scale: f64, shift: f64| -> Vec<f64> {
            let number = |k: usize| scale * (1.0 + (0.7 * k as f64 + shift).sin());
            (0..count * model.nv()).map(number).collect()
        };
        Many {
            q: states.iter().flat_map(|s| s.q.clone()).collect(),
            v: states.iter().flat_map(|s| s.v.clone()).collect(),
            parts: [
                numbers(0.02, 0.1),
                numbers(0.5, 1.2),
                numbers(0.1, 2.3),
                numbers(0.003, 3.4),
            ],
        }
    }

    fn members(&self) -> Members<'_> {
        Members {
            q: &self.q,
            v: &self.v,
            feedback: Feedback {
                efforts: &self.parts[0],
                targets: &self.parts[1],
                stiffness: &self.parts[2],
                damping: &self.parts[3],
            },
            ..Members::default()
        }
    }

    /// Inputs of a member that runs on its own.
    fn inputs(&self, model: &Model, member: usize) -> Inputs {
        let nv = model.nv();
        let parts = self
            .parts
            .clone()
            .map(|part| part[member * nv..(member + 1) * nv].to_vec());
        let scalars: Vec<(usize, usize)> = model
            .bodies()
            .map(|i| &model.tree().bodies[i])
            .filter(|body| body.kind.quaternion().is_none())
            .flat_map(|body| (0..body.kind.nv()).map(|k| (body.v + k, body.q + k)))
            .collect();
        let [efforts, targets, stiffness, damping] = parts;
        let law = move |_: f64, q: &[f64], v: &[f64], tau: &mut [f64]| {
            tau.copy_from_slice(&efforts);
            for &(k, at) in &scalars {
                tau[k] += stiffness[k] * (targets[k] - q[at]) - damping[k] * v[k];
            }
        };
        Inputs {
            controller: Controller::Own(Law::function(law)),
            ..Inputs::default()
        }
    }
}

fn to_the_end(simulation: &mut Simulation) -> Vec<Sample> {
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).unwrap();
    }
    samples
}

fn assert_like_single(
    run: &EnsembleRun,
    model: &Model,
    many: &Many,
    member: usize,
    (allowed, options): (f64, &SimulationOptions),
    what: &str,
) {
    let (nq, nv) = (model.nq(), model.nv());
    let state = State::new(
        model,
        &many.q[member * nq..(member + 1) * nq],
        &many.v[member * nv..(member + 1) * nv],
    )
    .unwrap();
    let inputs = many.inputs(model, member);
    let mut single = Simulation::new(model, &state, inputs, Vec::new(), options.clone()).unwrap();
    let samples = to_the_end(&mut single);
    assert_eq!(run.times.len(), samples.len(), "{what}");
    for (k, sample) in samples.iter().enumerate() {
        assert_eq!(run.times[k], sample.time);
        assert_close(run.q(member, k), &sample.state.q, allowed, what);
        assert_close(run.v(member, k), &sample.state.v, allowed, what);
        let integrals = [sample.work, sample.dissipated];
        assert_close(&run.integrals(member, k), &integrals, allowed, what);
    }
    let audit = single.finish();
    let cost = run.statistics[member];
    if allowed == ALLOWED {
        let expected = (audit.steps, audit.rejected);
        assert_eq!((cost.steps, cost.rejected), expected, "{what}");
    } else {
        let apart = cost.steps.abs_diff(audit.steps);
        assert!(apart <= 3 + audit.steps / 10, "{what}: {apart}");
    }
}

#[test]
fn members_in_lanes_are_simulations_of_their_own() {
    for name in ["stanford", "pendulum-3", "floating-chain-3", "zoo"] {
        let mut builder = embedded::builder(name).unwrap();
        for dof in builder.joints.iter_mut().flat_map(|joint| &mut joint.dofs) {
            dof.friction = 0.0;
        }
        let model = builder.build().unwrap();
        let many = Many::new(&model, 11);
        let all = methods().into_iter().map(|options| (ALLOWED, options));
        for (allowed, options) in all.chain(free_methods()) {
            for cpu in PATHS {
                let ensemble = Ensemble::new(&model, options.clone())
                    .unwrap()
                    .with_cpu(cpu);
                let run = ensemble.run(&many.members()).unwrap();
                assert!(run.failures.is_empty(), "{:?}", run.failures);
                assert_eq!(run.one_by_one, None);
                for member in [0, 7, 10] {
                    let what = format!("{name} {:?} {cpu:?} member {member}", options.integrator);
                    assert_like_single(&run, &model, &many, member, (allowed, &options), &what);
                }
            }
        }
    }
}

fn in_all_joints(builder: &mut ModelBuilder, change: impl Fn(&mut Dof)) {
    for joint in &mut builder.joints {
        joint.dofs.resize(joint.kind.nv(), Dof::default());
        joint.dofs.iter_mut().for_each(&change);
    }
}

/// The model with all masses and inertias times a factor, and this damping in all joints.
fn changed(name: &str, factor: f64, damping: f64) -> Model {
    let mut builder: ModelBuilder = embedded::builder(name).unwrap();
    for link in &mut builder.links {
        if let Some(inertial) = &mut link.inertial {
            inertial.mass *= factor;
            let t = inertial.tensor;
            let [xx, yy, zz, xy, xz, yz] = [t.xx, t.yy, t.zz, t.xy, t.xz, t.yz].map(|x| x * factor);
            inertial.tensor = Sym3::new(xx, yy, zz, xy, xz, yz);
        }
    }
    in_all_joints(&mut builder, |dof| dof.damping = damping);
    builder.build().unwrap()
}

#[test]
fn members_may_have_models_of_their_own() {
    let nominal = embedded::model("stanford").unwrap();
    let many = Many::new(&nominal, 11);
    let models: Vec<Model> = (0..11)
        .map(|k| changed("stanford", 1.0 + 0.1 * f64::from(k), 0.03 * f64::from(k)))
        .collect();
    for options in [methods().remove(0), methods().remove(3)] {
        for cpu in PATHS {
            let ensemble = Ensemble::new(&nominal, options.clone())
                .unwrap()
                .with_cpu(cpu);
            let members = Members {
                models: &models,
                ..many.members()
            };
            let run = ensemble.run(&members).unwrap();
            for member in [0, 3, 10] {
                let what = format!("{:?} {cpu:?} member {member}", options.integrator);
                assert_like_single(
                    &run,
                    &models[member],
                    &many,
                    member,
                    (ALLOWED, &options),
                    &what,
                );
            }
        }
    }
}

/// The model with another mass, mass centre and tensor of its last link, and other damping, rotor, spring and gravity.
fn loaded(name: &str, k: f64) -> Model {
    let mut builder: ModelBuilder = embedded::builder(name).unwrap();
    let inertial = builder.links.last_mut().unwrap().inertial.as_mut().unwrap();
    inertial.mass *= 1.0 + 0.1 * k;
    inertial.centre += Vec3::new(0.01 * k, -0.02 * k, 0.005 * k);
    let t = &mut inertial.tensor;
    (t.xx, t.yy, t.zz) = (1.1 * t.xx, (1.1 + 0.01 * k) * t.yy, 1.1 * t.zz);
    let scalar = |joint: &&mut JointSpec| joint.kind.nv() == 1;
    let joint = builder.joints.iter_mut().find(scalar).unwrap();
    joint.dofs.resize(1, Dof::default());
    let dof = &mut joint.dofs[0];
    dof.damping = 0.02 * k;
    dof.armature += 0.01 * k;
    (dof.stiffness, dof.rest) = (0.3 * k, 0.1 * k);
    builder.gravity.z -= 0.1 * k;
    builder.build().unwrap()
}

fn family_code(nominal: &Model, models: &[Model], cpu: Cpu) -> Option<FamilyCode> {
    let family = Family::new(nominal, models.iter(), CodeOptions::DUST).unwrap();
    assert!(family.parameter_count() > 10);
    match compile_family(family, models, cpu) {
        Ok(code) => Some(code),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert_eq!(cpu.min(Cpu::best()), Cpu::Baseline, "{error}");
            None
        }
    }
}

/// One code serves members whose masses, rotors, springs, damping and gravity differ: each is the simulation of its own model, and its bits
/// depend on nothing else.
#[test]
fn code_of_a_family_runs_members_with_models_of_their_own() {
    for name in ["stanford", "floating-chain-3", "chain-7"] {
        let nominal = embedded::model(name).unwrap();
        let count = 21;
        let many = Many::new(&nominal, count);
        let models: Vec<Model> = (0..count).map(|k| loaded(name, k as f64 / 4.0)).collect();
        for options in [methods().remove(0), methods().remove(3)] {
            for cpu in PATHS {
                let Some(code) = family_code(&nominal, &models, cpu) else {
                    continue;
                };
                let ensemble = Ensemble::new(&nominal, options.clone()).unwrap();
                let ensemble = ensemble.with_cpu(cpu).with_family_code(&code).unwrap();
                let members = Members {
                    models: &models,
                    ..many.members()
                };
                let run = ensemble.run(&members).unwrap();
                assert!(run.failures.is_empty() && run.one_by_one.is_none());
                for member in [0, 1, 9, 20] {
                    let what = format!("{name} {:?} {cpu:?} {member}", options.integrator);
                    let how = (ALLOWED, &options);
                    assert_like_single(&run, &models[member], &many, member, how, &what);
                }
                let order = [9, 20, 1];
                let some = picked(&many, &nominal, &order);
                let own: Vec<Model> = order.iter().map(|&k| models[k].clone()).collect();
                let members = Members {
                    models: &own,
                    ..some.members()
                };
                let again = ensemble.threads(2).run(&members).unwrap();
                for (at, &member) in order.iter().enumerate() {
                    assert_eq!(bits(&run, member), bits(&again, at), "{name}");
                }
            }
        }
    }
}

/// Members that differ in what code does not take as an input are refused, and families of other lengths cannot be made.
#[test]
fn members_outside_of_a_family_are_refused() {
    let nominal = embedded::model("stanford").unwrap();
    let models: Vec<Model> = (0..3).map(|k| loaded("stanford", f64::from(k))).collect();
    let many = Many::new(&nominal, 3);
    if let Some(code) = family_code(&nominal, &models, Cpu::best()) {
        let ensemble = Ensemble::new(&nominal, methods().remove(0)).unwrap();
        let ensemble = ensemble.with_family_code(&code).unwrap();
        let heavier: Vec<Model> = (0..3).map(|_| changed("stanford", 2.0, 0.3)).collect();
        let members = Members {
            models: &heavier,
            ..many.members()
        };
        let error = ensemble.run(&members).unwrap_err();
        assert!(error.message().starts_with("member 0: "), "{error}");
        assert!(error.message().contains("do not vary"), "{error}");
        let other = Ensemble::new(&models[1], methods().remove(0)).unwrap();
        let error = other.with_family_code(&code).unwrap_err();
        assert!(error.message().contains("another model"), "{error}");
    }
    let mut longer = embedded::builder("stanford").unwrap();
    longer.joints[2].parent_from_joint.translation.x += 0.1;
    let longer = longer.build().unwrap();
    let refused = Family::new(&nominal, [&longer].into_iter(), CodeOptions::DUST);
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("lengths or directions"), "{error}");
}

fn bits(run: &EnsembleRun, member: usize) -> Vec<u64> {
    let per_member = run.records.len() / run.count();
    let own = &run.records[member * per_member..(member + 1) * per_member];
    own.iter().map(|x| x.to_bits()).collect()
}

/// Members `picked` of an ensemble, in this order.
fn picked(many: &Many, model: &Model, picked: &[usize]) -> Many {
    let pick = |x: &[f64], size: usize| -> Vec<f64> {
        let of = |&k: &usize| x[k * size..(k + 1) * size].to_vec();
        picked.iter().flat_map(of).collect()
    };
    Many {
        q: pick(&many.q, model.nq()),
        v: pick(&many.v, model.nv()),
        parts: many.parts.clone().map(|part| pick(&part, model.nv())),
    }
}

#[test]
fn the_bits_of_a_member_depend_on_nothing_else() {
    for name in ["stanford", "floating-chain-3"] {
        let model = embedded::model(name).unwrap();
        let mut many = Many::new(&model, 40);
        // a neighbour with an angle for which sines are computed differently, and one that is much faster
        let angle = model.nq() - 1;
        many.q[3 * model.nq() + angle] = 3e5;
        many.parts[2][3 * model.nv()..4 * model.nv()].fill(0.0);
        many.v[5 * model.nv()..6 * model.nv()].fill(30.0);
        let models: Vec<Model> = (0..40).map(|_| model.clone()).collect();
        let code = compile(&model, &NativeOptions::default()).ok();
        for options in methods() {
            for kind in ["general", "models", "code"] {
                let ensemble = Ensemble::new(&model, options.clone()).unwrap();
                let ensemble = match (kind, &code) {
                    ("code", Some(code)) => ensemble.with_code(code).unwrap(),
                    ("code", None) => continue,
                    _ => ensemble,
                };
                let run = |many: &Many, threads: usize| {
                    let models = match kind {
                        "models" => &models[..many.q.len() / model.nq()],
                        _ => &[],
                    };
                    let members = Members {
                        models,
                        ..many.members()
                    };
                    ensemble.clone().threads(threads).run(&members).unwrap()
                };
                let whole = run(&many, 1);
                assert!(whole.failures.is_empty(), "{:?}", whole.failures);
                let parallel = run(&many, 3);
                for member in 0..40 {
                    assert_eq!(
                        bits(&whole, member),
                        bits(&parallel, member),
                        "{name} {kind}"
                    );
                }
                for order in [vec![7], vec![20, 3, 7], vec![5, 39, 38, 3, 7, 1, 2, 0, 9]] {
                    let some = run(&picked(&many, &model, &order), 2);
                    for (at, &member) in order.iter().enumerate() {
                        let what = format!("{name} {kind} {:?} {order:?}", options.integrator);
                        assert_eq!(bits(&whole, member), bits(&some, at), "{what}");
                    }
                }
            }
        }
    }
}

/// Energy is what work brought in and damping took out, in every member, as accurately as the method is.
#[test]
fn every_member_balances_its_energy() {
    let model = changed("stanford", 1.0, 0.1);
    let many = Many::new(&model, 20);
    let of = |options: SimulationOptions| {
        let run = Ensemble::new(&model, options)
            .unwrap()
            .run(&many.members())
            .unwrap();
        run.energy_errors.iter().fold(0.0f64, |m, e| m.max(e.abs()))
    };
    assert!(of(adaptive(Method::Dop853, 1e-10)) < 1e-8);
    assert!(of(adaptive(Method::Tsitouras5, 1e-10)) < 1e-8);
    // W and D by the trapezoidal rule: order two
    let [coarse, fine] = [2e-3, 1e-3].map(|step| of(fixed(FixedMethod::RungeKutta4, step)));
    // a thousandth of the 80 J that are exchanged
    assert!(
        coarse < 0.08 && (3.0..5.0).contains(&(coarse / fine)),
        "{coarse} {fine}"
    );
}

#[test]
fn what_lanes_cannot_do_runs_one_by_one() {
    let mut builder = embedded::builder("stanford").unwrap();
    in_all_joints(&mut builder, |dof| dof.friction = 0.2);
    let model = builder.build().unwrap();
    let many = Many::new(&model, 3);
    let options = adaptive(Method::Dop853, 1e-8);
    let ensemble = Ensemble::new(&model, options.clone()).unwrap().threads(2);
    let run = ensemble.run(&many.members()).unwrap();
    let reason = run.one_by_one.clone().expect("a reason");
    assert!(reason.ends_with("has dry friction"), "{reason}");
    let nobody = ensemble.run(&Members::default()).unwrap();
    assert_eq!((nobody.count(), nobody.times.len()), (0, run.times.len()));
    // frictionless members run alone, too, if one of all that will be run cannot be in a lane
    let plain = embedded::model("stanford").unwrap();
    let many_plain = Many::new(&plain, 3);
    let together = Ensemble::new(&plain, options.clone())
        .unwrap()
        .for_members(&Members {
            q: &many_plain.q[..2 * plain.nq()],
            v: &many_plain.v[..2 * plain.nv()],
            models: &[plain.clone(), model.clone()],
            ..Members::default()
        })
        .unwrap();
    let alone = together.run(&many_plain.members()).unwrap();
    assert_eq!(alone.one_by_one, Some(reason));
    for member in 0..3 {
        assert_like_single(
            &run,
            &model,
            &many,
            member,
            (ALLOWED, &options),
            "dry friction",
        );
    }
    let implicit = fixed(FixedMethod::ImplicitMidpoint, 1e-2);
    for (name, expected, options) in [
        ("four-bar-1", "loops", options),
        ("stanford", "implicit", implicit),
    ] {
        let model = embedded::model(name).unwrap();
        let state = match name {
            "stanford" => State::random(&model, 1),
            _ => parallelogram(&model, 0.7, 1.0),
        };
        let members = Members {
            q: &state.q,
            v: &state.v,
            ..Members::default()
        };
        let run = Ensemble::new(&model, options)
            .unwrap()
            .run(&members)
            .unwrap();
        let reason = run.one_by_one.clone().expect("a reason");
        assert!(reason.contains(expected), "{reason}");
        assert!(run.failures.is_empty(), "{:?}", run.failures);
    }
}

/// A member that cannot be followed is named with its reason, and its neighbours are as without it.
#[test]
fn a_member_that_fails_does_not_disturb_the_others() {
    let model = embedded::model("stanford").unwrap();
    let mut many = Many::new(&model, 9);
    let whole = |many: &Many, options: &SimulationOptions| {
        let ensemble = Ensemble::new(&model, options.clone()).unwrap();
        ensemble.run(&many.members()).unwrap()
    };
    for options in methods() {
        let good = whole(&many, &options);
        let kept = many.v.clone();
        many.v[4 * model.nv()..5 * model.nv()].fill(1e160);
        let run = whole(&many, &options);
        many.v = kept;
        let [failure] = &run.failures[..] else {
            panic!("{:?}: {:?}", options.integrator, run.failures);
        };
        assert_eq!(failure.state, 4);
        assert_eq!(failure.error.kind(), ErrorKind::Integration);
        assert!(run.energy_errors[4].is_nan());
        assert!(run.q(4, run.times.len() - 1)[0].is_nan());
        for member in [0, 3, 5, 8] {
            assert_eq!(bits(&good, member), bits(&run, member));
        }
    }
}

/// A sampled controller that remembers, behind actuators with a limit and a lag, against stops; another gain for each member.
fn sampled(model: &Model, member: usize) -> Inputs {
    let gain = 1.0 + member as f64;
    let law = move |_: f64, q: &[f64], v: &[f64], sum: &mut [f64], tau: &mut [f64]| {
        sum[0] += q[0];
        for k in 0..tau.len() {
            tau[k] = -gain * q[k] - 0.1 * v[k] - 0.01 * sum[0];
        }
    };
    let actuator = |k: usize| Actuator {
        name: format!("motor {k}"),
        freedom: k,
        coordinate: k,
        gear: 1.0,
        rotor_inertia: 0.0,
        max_effort: Some(3.0),
        max_velocity: None,
        lag: 0.01,
    };
    Inputs {
        controller: Controller::Own(Law::with_state(&[0.0], law)),
        actuators: Some((0..model.nv()).map(actuator).collect()),
        rate: Some(200.0),
        stops: Stop::all(model),
        ..Inputs::default()
    }
}

/// Stops, events, actuators and sampled controllers are those of single runs, bit for bit, on any number of threads.
#[test]
fn members_have_the_inputs_of_single_runs() {
    let mut builder = embedded::builder("planar3").unwrap();
    in_all_joints(&mut builder, |dof| {
        dof.limits = Some((-0.5, 0.4));
        dof.friction = 0.05;
    });
    let model = builder.build().unwrap();
    let events = [EventFunction::Position {
        coordinate: 0,
        value: 0.0,
        name: "passes the middle".into(),
    }];
    let inputs: Vec<Inputs> = (0..5).map(|k| sampled(&model, k)).collect();
    let options = fixed(FixedMethod::RungeKutta4, 1e-3);
    let ensemble = Ensemble::new(&model, options.clone()).unwrap();
    let (q, v) = ensemble.random_starts(&[0, 1, 2, 3, 4]);
    let members = Members {
        q: &q,
        v: &v,
        inputs: &inputs,
        events: &events,
        ..Members::default()
    };
    let run = ensemble.clone().threads(2).run(&members).unwrap();
    assert!(run.failures.is_empty(), "{:?}", run.failures);
    assert!(run.one_by_one.is_some());
    assert_eq!(run.records, ensemble.run(&members).unwrap().records);
    for (member, own) in inputs.iter().enumerate() {
        let state = State::random(&model, member as u64);
        let (own, looked) = (own.clone(), events.to_vec());
        let mut single = Simulation::new(&model, &state, own, looked, options.clone()).unwrap();
        let samples = to_the_end(&mut single);
        for (k, sample) in samples.iter().enumerate() {
            assert_eq!(run.q(member, k), sample.state.q);
            assert_eq!(run.v(member, k), sample.state.v);
            assert_eq!(run.integrals(member, k), [sample.work, sample.dissipated]);
        }
        assert_eq!(run.events[member], single.events());
        let energy = |sample: &Sample| sample.energies.iter().sum::<f64>();
        let last = &samples[samples.len() - 1];
        let error = energy(last) - energy(&samples[0]) - last.work + last.dissipated;
        assert_eq!(run.energy_errors[member], error);
    }
    let happened = |what: &str| {
        let mut all = run.events.iter().flatten();
        all.any(|event| event.name.contains(what))
    };
    assert!(happened("passes the middle") && happened("limit"));
}

/// Inputs that are linear feedback run in lanes; one for all serves every member.
#[test]
fn inputs_run_in_lanes_where_they_can() {
    let model = embedded::model("stanford").unwrap();
    let held = [0.3, 0.2, 0.1, 0.0, -0.1, 0.4];
    let options = fixed(FixedMethod::RungeKutta4, 2e-3);
    let ensemble = Ensemble::new(&model, options.clone()).unwrap();
    let (q, v) = ensemble.random_starts(&[5, 6, 7]);
    let hold = Controller::ProportionalDerivative {
        motion: PointToPoint::new(Profile::Cycloid, &held, &held, 1.0)
            .unwrap()
            .into(),
        stiffness: 0.5.into(),
        damping: 0.01.into(),
    };
    for controller in [Controller::Constant(vec![0.1; 6]), hold] {
        let inputs = [Inputs {
            controller,
            ..Inputs::default()
        }];
        let members = Members {
            q: &q,
            v: &v,
            inputs: &inputs,
            ..Members::default()
        };
        let run = ensemble.run(&members).unwrap();
        assert_eq!(run.one_by_one, None);
        for member in 0..3 {
            let state = State::random(&model, 5 + member as u64);
            let own = inputs[0].clone();
            let mut single =
                Simulation::new(&model, &state, own, Vec::new(), options.clone()).unwrap();
            for (k, sample) in to_the_end(&mut single).iter().enumerate() {
                assert_close(run.q(member, k), &sample.state.q, ALLOWED, "inputs");
                assert_close(run.v(member, k), &sample.state.v, ALLOWED, "inputs");
            }
        }
        // which part a member runs in decides nothing
        let with_events = Members {
            events: &[EventFunction::Position {
                coordinate: 0,
                value: 0.0,
                name: "zero".into(),
            }],
            ..members
        };
        let alone = ensemble.clone().for_members(&with_events).unwrap();
        let reason = alone.run(&members).unwrap().one_by_one;
        assert_eq!(reason.as_deref(), Some("events are looked for"));
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let model = embedded::model("stanford").unwrap();
    let ensemble = Ensemble::new(&model, methods().remove(0)).unwrap();
    let many = Many::new(&model, 3);
    let refusal = |members: Members<'_>| ensemble.run(&members).unwrap_err().to_string();
    let constant = |size: usize| Inputs {
        controller: Controller::Constant(vec![0.0; size]),
        ..Inputs::default()
    };
    let plain = Members {
        feedback: Feedback::default(),
        ..many.members()
    };
    let both = Members {
        inputs: &[constant(6)],
        ..many.members()
    };
    assert!(refusal(both).starts_with("members have feedback and inputs"));
    let two = Members {
        inputs: &[constant(6), constant(6)],
        ..plain
    };
    assert_eq!(
        refusal(two),
        "inputs of the members: 3 numbers are needed, 2 were given"
    );
    let short = Members {
        inputs: &[constant(6), constant(6), constant(5)],
        ..plain
    };
    assert!(refusal(short).starts_with("member 2: constant efforts"));
}

#[test]
fn members_that_do_not_fit_are_refused() {
    let model = embedded::model("stanford").unwrap();
    let ensemble = Ensemble::new(&model, methods().remove(0)).unwrap();
    let many = Many::new(&model, 2);
    let refusal = |members: Members<'_>| ensemble.run(&members).unwrap_err().to_string();
    let short = Members {
        v: &many.v[1..],
        ..many.members()
    };
    assert_eq!(
        refusal(short),
        "velocities of the members: 12 numbers are needed, 11 were given"
    );
    let mut bad = many.q.clone();
    bad[7] = f64::NAN;
    let not_finite = Members {
        q: &bad,
        ..many.members()
    };
    assert!(refusal(not_finite).starts_with("member 1: position 1 of joint"));
    let other = [model.clone(), embedded::model("chain-6").unwrap()];
    let unlike = Members {
        models: &other,
        ..many.members()
    };
    assert!(refusal(unlike).starts_with("member 1: its model has other bodies or joints"));
    let mut feedback = many.members().feedback;
    feedback.stiffness = &bad;
    let not_finite = Members {
        feedback,
        ..many.members()
    };
    assert_eq!(
        refusal(not_finite),
        "member 1: stiffness are not finite numbers"
    );
    let mut options = methods().remove(0);
    options.duration = -1.0;
    for wrong in [
        options,
        adaptive(Method::Dop853, -1.0),
        adaptive(Method::Dop853, 0.0),
        adaptive(Method::Dop853, f64::NAN),
        limited(Method::Dop853, 1e-8, -1.0),
        fixed(FixedMethod::RungeKutta4, f64::NAN),
    ] {
        let error = Ensemble::new(&model, wrong.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{wrong:?}");
    }
}

/// Simulations that advance together have the samples and the audit of those that run on their own.
#[test]
fn simulations_advance_together() {
    let nominal = embedded::model("stanford").unwrap();
    let held = [0.3, 0.2, 0.1, 0.0, -0.1, 0.4];
    let hold = Controller::ProportionalDerivative {
        motion: PointToPoint::new(Profile::Cycloid, &held, &held, 1.0)
            .unwrap()
            .into(),
        stiffness: 0.5.into(),
        damping: 0.01.into(),
    };
    let constant = Controller::Constant(vec![0.1; 6]);
    let mut phases = 0;
    for options in methods().into_iter().take(4) {
        for controller in [Controller::None, constant.clone(), hold.clone()] {
            let begin = |k: u64| {
                let model = changed("stanford", 1.0 + 0.1 * k as f64, 0.01 * k as f64);
                let state = State::random(&model, k);
                let inputs = Inputs {
                    controller: controller.clone(),
                    ..Inputs::default()
                };
                Simulation::new(&model, &state, inputs, Vec::new(), options.clone()).unwrap()
            };
            let mut together: Vec<Simulation> = (0..5).map(begin).collect();
            assert_eq!(together[0].obstacle_to_lanes(), None);
            let mut samples = vec![Vec::new(); 5];
            let done = advance_together(&mut together, &mut samples, None, 2).unwrap();
            assert!(done.iter().all(Result::is_ok), "{done:?}");
            for (k, simulation) in together.into_iter().enumerate() {
                let mut alone = begin(k as u64);
                let expected = to_the_end(&mut alone);
                assert!(simulation.finished());
                assert_eq!(samples[k].len(), expected.len());
                for (a, b) in samples[k].iter().zip(&expected) {
                    assert_eq!(a.time, b.time);
                    assert_close(&a.state.q, &b.state.q, ALLOWED, "q");
                    assert_close(&a.tau, &b.tau, ALLOWED, "tau");
                    assert_close(&a.energies, &b.energies, ALLOWED, "energies");
                }
                let (audit, expected) = (simulation.finish(), alone.finish());
                let breaches = expected.breaches().count();
                assert_eq!(audit.breaches().count(), breaches, "{audit:?}");
                assert_eq!(audit.steps, expected.steps);
                assert_eq!(audit.findings.len(), expected.findings.len());
                for (a, b) in audit.findings.iter().zip(&expected.findings) {
                    assert_eq!((a.name, a.seen), (b.name, b.seen));
                    // the phase of fixed steps is no round-off, and known to all its digits
                    if a.name.contains("phase") {
                        let apart = (a.worst - b.worst).abs();
                        assert!(
                            apart < 1e-6 * b.worst + 1e-13,
                            "{} and {}",
                            a.worst,
                            b.worst
                        );
                        phases += 1;
                    }
                }
            }
        }
    }
    let state = State::random(&nominal, 1);
    assert_eq!(phases, 2 * 3 * 5, "fixed steps are audited");
    let options = methods().remove(2);
    let sine = Inputs {
        controller: Controller::Sine {
            amplitude: vec![1.0; 6],
            frequency: vec![2.0; 6],
        },
        ..Inputs::default()
    };
    let mut driven = [Simulation::new(&nominal, &state, sine, Vec::new(), options).unwrap()];
    let error = advance_together(&mut driven, &mut [Vec::new()], None, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.message().contains("neither constant nor linear"),
        "{error}"
    );
}
