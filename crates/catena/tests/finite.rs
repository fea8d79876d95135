//! No entry point returns a non-finite number: whatever the state, the result is finite or an error.

use catena::closed_chain::{ClosedChain, Sharing};
use catena::integrate::FixedMethod;
use catena::model::{ConstraintSpec, RuleSpec, embedded};
use catena::native::Kernel;
use catena::spatial::{Force, Vec3};
use catena::{Batch, Cpu, Drive, Dynamics, ErrorKind, Matrix, Model, Result, State};
use std::path::Path;

/// Sizes of positions, velocities and of accelerations or efforts.
const SIZES: [f64; 6] = [1.0, 1e80, 1e150, 1e200, 1e300, 1.7e308];

fn flat(force: Force<f64>) -> Vec<f64> {
    force.to_array().to_vec()
}

fn all(parts: &[&Matrix]) -> Vec<f64> {
    parts.iter().flat_map(|m| m.as_slice()).copied().collect()
}

/// What was found, and how often there was an answer.
#[derive(Default)]
struct Sweep {
    answers: usize,
    refusals: usize,
}

impl Sweep {
    fn see(&mut self, what: &str, at: &str, found: Result<Vec<f64>>) {
        match found {
            Ok(numbers) => {
                self.answers += 1;
                let bad = numbers.iter().position(|x| !x.is_finite());
                assert_eq!(bad, None, "{what} {at}: {numbers:?}");
            }
            Err(error) => {
                self.refusals += 1;
                // states are sound: what cannot be answered is too large, or singular because of it
                let kinds = [
                    ErrorKind::Input,
                    ErrorKind::Singular,
                    ErrorKind::Integration,
                ];
                assert!(kinds.contains(&error.kind()), "{what} {at}: {error}");
            }
        }
    }
}

/// The state with its coordinates and velocities scaled; quaternions stay.
fn scaled(model: &Model, state: &State, [q, v]: [f64; 2]) -> State {
    let mut scaled = state.clone();
    let tree = model.tree();
    let mut is_plain = vec![true; tree.nq];
    for body in &tree.bodies[1..] {
        if let Some(first) = body.kind.quaternion() {
            is_plain[body.q + first..body.q + body.kind.nq()].fill(false);
        }
    }
    for (k, x) in scaled.q.iter_mut().enumerate() {
        let at = model.couplings().map_or(k, |c| c.positions()[k]);
        if is_plain[at] {
            *x *= q;
        }
    }
    for x in &mut scaled.v {
        *x *= v;
    }
    scaled
}

fn tree(sweep: &mut Sweep, model: &Model, cpu: Cpu, sizes: [f64; 3]) {
    let state = scaled(model, &State::random(model, 3), [sizes[0], sizes[1]]);
    let x: Vec<f64> = State::random(model, 4)
        .v
        .iter()
        .map(|x| x * sizes[2])
        .collect();
    let at = format!("of {} at {sizes:?} ({cpu:?})", model.name());
    let d = &mut Dynamics::with_cpu(model, cpu);
    let last = model.tree().frames.len() - 1;
    let frame = &model.tree().frames[last].clone();
    let wrench = Force::new(
        Vec3::new(1.0, -2.0, 3.0) * sizes[2],
        Vec3::new(0.5, 1.0, -1.0) * sizes[2],
    );
    let mut external = vec![Force::zero(); model.body_count() + 1];
    external[frame.body] = wrench;
    let vec = |x: &[f64]| x.to_vec();
    sweep.see("inverse", &at, d.inverse(&state, &x, &external).map(vec));
    for body in 0..=model.body_count() {
        sweep.see("joint_wrench", &at, d.joint_wrench(body).map(flat));
    }
    sweep.see("forward", &at, d.forward(&state, &x, &external).map(vec));
    let mut y = x.clone();
    sweep.see("solve", &at, d.solve(&mut y).map(|()| y));
    let found = d.forward(&state, &x, &external).map(vec);
    let found = found.unwrap_or_else(|_| vec![0.0; x.len()]);
    let error = d.accuracy(&state, &x, &external, &found);
    sweep.see("accuracy", &at, error.map(|error| vec![error]));
    let exact = d.forward_double_double(&state, &x, &external);
    let exact = exact.map(|list| list.iter().map(|a| a.value()).collect());
    sweep.see("forward_double_double", &at, exact);
    sweep.see("inertia", &at, d.inertia(&state).map(|m| all(&[m])));
    for kernel in [Kernel::Inverse, Kernel::Forward, Kernel::Inertia] {
        let found = d.kernel_results(kernel, &state, &x);
        sweep.see("kernel_results", &at, found);
    }
    let upper = d.inertia_upper(&state).map(|m| {
        let nv = m.rows();
        (0..nv).flat_map(|i| m.row(i)[i..].to_vec()).collect()
    });
    sweep.see("inertia_upper", &at, upper);
    sweep.see("factorize", &at, d.factorize(&state).map(|()| Vec::new()));
    let mut y = x.clone();
    sweep.see("solve", &at, d.solve(&mut y).map(|()| y));
    if model.couplings().is_none() {
        let factors = d.factorization(&state);
        sweep.see("factorization", &at, factors.map(|f| f.d()));
        let complement = d.denoc(&state);
        sweep.see("denoc", &at, complement.map(|n| all(&[&n.n()])));
    }
    let factors = d.cluster_factorization(&state);
    sweep.see("cluster_factorization", &at, factors.map(|f| f.d()));
    let actions = d.force_actions(&state).map(|list| {
        let numbers = list.iter().map(|a| [a.energy, a.work, a.dissipated]);
        numbers.flatten().collect()
    });
    sweep.see("force_actions", &at, actions);
    let efforts = d.force_efforts(&state).map(|list| list.concat());
    sweep.see("force_efforts", &at, efforts);
    let measured = d.measure(&state, &x, &[]).map(|list| list.concat());
    sweep.see("measure", &at, measured);
    sweep.see("gravity", &at, d.gravity(&state).map(vec));
    sweep.see("coriolis", &at, d.coriolis(&state).map(|m| all(&[m])));
    let kinematics = d.kinematics(&state, &x).map(|k| {
        let poses = k
            .world_from_body
            .iter()
            .flat_map(|p| p.translation.to_array());
        let motions = k.velocity.iter().chain(&k.acceleration);
        poses.chain(motions.flat_map(|m| m.to_array())).collect()
    });
    sweep.see("kinematics", &at, kinematics);
    sweep.see(
        "jacobian",
        &at,
        d.jacobian(&state, frame).map(|m| all(&[m])),
    );
    let rate = d.jacobian_rate_times_v(&state, frame);
    sweep.see(
        "jacobian_rate_times_v",
        &at,
        rate.map(|m| m.to_array().to_vec()),
    );
    let pose = d.frame_pose(&state, frame);
    sweep.see(
        "frame_pose",
        &at,
        pose.map(|p| p.translation.to_array().to_vec()),
    );
    let mechanical = d.mechanical_state(&state).map(|m| {
        let mut numbers = vec![m.kinetic, m.gravitational, m.elastic, m.mass];
        numbers.extend(m.momentum.to_array());
        numbers.extend(m.centre.to_array());
        numbers.extend(m.centre_velocity.to_array());
        numbers
    });
    sweep.see("mechanical_state", &at, mechanical);
    let point = Vec3::new(1.0, 2.0, -1.0) * sizes[0];
    let on_body = d.wrench_on(&state, frame.body, point, wrench);
    sweep.see("wrench_on", &at, on_body.map(flat));
    let of_tau = d.inverse_derivatives(&state, &x, &external);
    let of_tau = of_tau.map(|f| all(&[&f.dq, &f.dv, &f.inertia]));
    sweep.see("inverse_derivatives", &at, of_tau);
    let of_vdot = d.forward_derivatives(&state, &x, &external);
    let of_vdot = of_vdot.map(|f| [all(&[&f.dq, &f.dv, &f.dtau]), f.vdot.clone()].concat());
    sweep.see("forward_derivatives", &at, of_vdot);
    let inverse = d.inverse_inertia(&state).map(|m| all(&[m]));
    sweep.see("inverse_inertia", &at, inverse);
    sweep.see("regressor", &at, d.regressor(&state, &x).map(|m| all(&[m])));
    let own = d.body_jacobian(&state, frame.body).map(|m| all(&[m]));
    sweep.see("body_jacobian", &at, own);
    let operational = d.operational_inertia(&state, frame);
    let operational = operational.map(|f| all(&[&f.inverse, &f.inertia, &f.consistent_inverse]));
    sweep.see("operational_inertia", &at, operational);
    let centroidal = d.centroidal_momentum(&state).map(|c| {
        let mut numbers = all(&[&c.matrix, &c.rate]);
        numbers.extend(c.bias.to_array());
        numbers.extend(c.centre.to_array());
        let s = c.inertia;
        numbers.extend([c.mass, s.xx, s.yy, s.zz, s.xy, s.xz, s.yz]);
        numbers
    });
    sweep.see("centroidal_momentum", &at, centroidal);
    if model.tree().is_free_floating() {
        let generalized = d.generalized_jacobian(&state, frame);
        sweep.see("generalized_jacobian", &at, generalized.map(|m| all(&[m])));
    }
}

fn batch(sweep: &mut Sweep, model: &Model, cpu: Cpu, sizes: [f64; 3]) {
    let state = scaled(model, &State::random(model, 3), [sizes[0], sizes[1]]);
    let x: Vec<f64> = State::random(model, 4)
        .v
        .iter()
        .map(|x| x * sizes[2])
        .collect();
    let at = format!("of a batch of {} at {sizes:?} ({cpu:?})", model.name());
    let (q, v, nv) = (&state.q, &state.v, model.nv());
    let frame = &model.tree().frames[model.tree().frames.len() - 1].clone();
    let mut external = vec![Force::zero(); model.body_count() + 1];
    external[frame.body].force = Vec3::new(1.0, 2.0, 3.0) * sizes[2];
    let b = &mut Batch::with_cpu(model, cpu);
    let mut out = vec![0.0; nv];
    let done = b.inverse(q, v, &x, &mut out);
    sweep.see("inverse", &at, done.map(|()| out.clone()));
    let done = b.inverse_loaded(q, v, &x, &external, &mut out);
    sweep.see("inverse_loaded", &at, done.map(|()| out.clone()));
    let done = b.forward(q, v, &x, &mut out);
    sweep.see("forward", &at, done.map(|()| out.clone()));
    let done = b.forward_loaded(q, v, &x, &external, &mut out);
    sweep.see("forward_loaded", &at, done.map(|()| out.clone()));
    let mut square = vec![0.0; nv * nv];
    let done = b.inertia(q, &mut square);
    sweep.see("inertia", &at, done.map(|()| square.clone()));
    let done = b.inertia_upper(q, &mut square).map(|()| {
        (0..nv)
            .flat_map(|i| square[i * nv + i..(i + 1) * nv].to_vec())
            .collect()
    });
    sweep.see("inertia_upper", &at, done);
    sweep.see("factorize", &at, b.factorize(q).map(|()| Vec::new()));
    let mut y = x.clone();
    sweep.see("solve", &at, b.solve(&mut y).map(|()| y));
    let mut jacobian = vec![0.0; 6 * nv];
    let done = b.jacobians(q, frame, &mut jacobian);
    sweep.see("jacobians", &at, done.map(|()| jacobian));
    let mut poses = [catena::spatial::Pose::identity()];
    let done = b.frame_poses(q, frame, &mut poses);
    sweep.see(
        "frame_poses",
        &at,
        done.map(|()| poses[0].translation.to_array().to_vec()),
    );
    let mut derivatives = vec![0.0; 3 * nv * nv];
    let done = b.forward_derivatives(q, v, &x, &mut derivatives);
    sweep.see(
        "forward_derivatives",
        &at,
        done.map(|()| derivatives.clone()),
    );
    derivatives.truncate(2 * nv * nv);
    let done = b.inverse_derivatives(q, v, &x, &mut derivatives);
    sweep.see("inverse_derivatives", &at, done.map(|()| derivatives));
    let (mut q, mut v) = (q.clone(), v.clone());
    let drive = Drive::Efforts(&x);
    let done = b.advance(FixedMethod::RungeKutta4, 1e-3, 2, drive, &mut q, &mut v);
    sweep.see("advance", &at, done.map(|()| [q, v].concat()));
}

/// The zoo with couplings of joints that slide and turn.
fn coupled_zoo() -> Model {
    let mut builder = embedded::builder("zoo").unwrap();
    let tree = builder.build().unwrap();
    let plain: Vec<String> = (tree.tree().dofs.iter())
        .filter(|dof| tree.tree().bodies[dof.body].kind.quaternion().is_none())
        .map(|dof| dof.name.clone())
        .collect();
    for (k, pair) in plain.chunks_exact(2).take(3).enumerate() {
        let terms = vec![(pair[0].clone(), 1.0), (pair[1].clone(), -1.5)];
        let rule = RuleSpec::Coupling { terms, offset: 0.1 };
        builder.constraint(ConstraintSpec::new(&format!("coupling{k}"), rule));
    }
    let model = builder.build().unwrap();
    assert!(model.couplings().is_some());
    model
}

/// All entry points for trees, on all paths; the sweep sees results and refusals.
#[test]
fn doors_of_trees_return_finite_numbers_only() {
    let mut sweep = Sweep::default();
    for name in ["stanford", "space-robot", "zoo", "coupled"] {
        let model = match name {
            "coupled" => coupled_zoo(),
            name => embedded::model(name).unwrap(),
        };
        let heavy = model.clone().with_gravity([0.0, 1e300, -1e300]);
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            for size in SIZES {
                for sizes in [
                    [1.0, 1.0, size],
                    [1.0, size, 1.0],
                    [size, 1.0, 1.0],
                    [size; 3],
                ] {
                    tree(&mut sweep, &model, cpu, sizes);
                    batch(&mut sweep, &model, cpu, sizes);
                }
            }
            tree(&mut sweep, &heavy, cpu, [1.0; 3]);
            batch(&mut sweep, &heavy, cpu, [1.0; 3]);
        }
    }
    assert!(sweep.answers > 2000 && sweep.refusals > 2000);
}

#[test]
fn doors_of_closed_chains_return_finite_numbers_only() {
    let mut sweep = Sweep::default();
    let light = embedded::model("four-bar-1").unwrap();
    for gravity in [9.81, 1e155, 1e300, 1.7e308] {
        let model = light.clone().with_gravity([0.0, -gravity, 0.0]);
        for size in SIZES {
            for [v, tau] in [[size, 1.0], [1.0, size], [size, size]] {
                let at = format!("at v {v:e}, τ {tau:e}, gravity {gravity:e}");
                let state = State {
                    q: vec![1.2, -1.2, 1.2],
                    v: vec![v, -v, v],
                    base: catena::Base::fixed(),
                };
                let tau = [tau, -0.5 * tau, 0.1 * tau];
                let chain = &mut ClosedChain::new(&model);
                let rows = chain.rows(0.0, &state).map(|rows| {
                    let parts = [&rows.residual[..], &rows.rate, &rows.bias];
                    [parts.concat(), rows.dense(3).as_slice().to_vec()].concat()
                });
                sweep.see("rows", &at, rows);
                sweep.see(
                    "rank",
                    &at,
                    chain.rank(0.0, &state).map(|(_, values)| values),
                );
                let motion = chain.forward(0.0, &state, &tau, &[]);
                let motion = motion.map(|m| [m.accelerations, m.multipliers].concat());
                let solved = motion.is_ok();
                sweep.see("forward", &at, motion);
                if solved {
                    for sharing in [Sharing::AllJoints, Sharing::Constraints] {
                        let loads = chain.loads(&state, &tau, &[], sharing).map(|loads| {
                            let forces = loads.tree.iter().chain(&loads.constraints);
                            let mut numbers: Vec<f64> = forces.flat_map(|f| f.to_array()).collect();
                            numbers.extend(&loads.multipliers);
                            numbers.push(loads.norm);
                            numbers
                        });
                        sweep.see("loads", &at, loads);
                    }
                    sweep.see("violations", &at, Ok(chain.violations().to_vec()));
                }
                let vdot = chain.consistent_accelerations(0.0, &state, &tau);
                sweep.see("consistent_accelerations", &at, vdot);
                let efforts = chain.inverse(0.0, &state, &tau, &[], &[0]);
                let efforts = efforts.map(|e| [e.efforts, e.multipliers].concat());
                sweep.see("inverse", &at, efforts);
                let of_motion = chain.derivatives(0.0, &state, &tau, &[]).map(|d| {
                    let parts = d.accelerations.iter().chain(&d.multipliers);
                    parts.flat_map(|m| m.as_slice()).copied().collect()
                });
                sweep.see("derivatives", &at, of_motion);
                let assembled = chain.assemble(0.0, &state, &[]);
                let assembled = assembled.map(|a| [a.state.q, a.state.v].concat());
                sweep.see("assemble", &at, assembled);
                let mut near = state.clone();
                let projected = chain.project(0.0, &mut near);
                sweep.see(
                    "project",
                    &at,
                    projected.map(|()| [near.q, near.v].concat()),
                );
            }
        }
    }
    assert!(sweep.answers > 100 && sweep.refusals > 100);
}

/// A new entry point must be added here.
#[test]
fn the_sweep_knows_every_door() {
    let test = include_str!("finite.rs");
    let doors = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/doors");
    let mut files = vec![
        doors.join("dynamics.rs"),
        doors.join("batch.rs"),
        doors.join("batch/derivatives.rs"),
    ];
    let folder = std::fs::read_dir(doors.join("dynamics")).expect("a folder");
    files.extend(folder.map(|entry| entry.expect("a file").path()));
    assert!(files.len() > 8, "only {} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text");
        for part in text.split("\n    pub fn ").skip(1) {
            let (name, rest) = part.split_once('(').expect("a function");
            let signature = rest
                .split_once('{')
                .map_or(rest, |(signature, _)| signature);
            let takes_itself = signature.trim_start().starts_with("&mut self")
                || signature.trim_start().starts_with("&self");
            let is_door = takes_itself && signature.contains("-> Result<") && name != "set_base";
            if is_door {
                let called = [format!("d.{name}("), format!("b.{name}(")];
                let known = called.iter().any(|call| test.contains(call.as_str()));
                assert!(known, "{}: `{name}` is not in the sweep", file.display());
            }
        }
    }
}

/// Overflow is not called a lack of inertia.
#[test]
fn overflow_is_called_overflow() {
    let model = embedded::model("stanford").unwrap();
    let mut state = State::neutral(&model);
    state.q[2] = 1e200; // the joint that slides
    for cpu in [Cpu::Baseline, Cpu::Avx2] {
        let mut dynamics = Dynamics::with_cpu(&model, cpu);
        let error = dynamics.factorize(&state).expect_err("it is too far");
        assert!(error.to_string().contains("overflows"), "{error}");
        assert!(!error.to_string().contains("no inertia"), "{error}");
        let error = dynamics.factorization(&state).expect_err("it is too far");
        assert!(error.to_string().contains("overflows"), "{error}");
    }
}

/// The factors of a call that failed are not used, nor those of the call before it.
#[test]
fn a_failed_call_leaves_no_factors() {
    let model = embedded::model("planar3").unwrap();
    let good = State::random(&model, 1);
    let mut fast = good.clone();
    fast.v.fill(1e200);
    let nothing = [0.0; 3];
    for cpu in [Cpu::Baseline, Cpu::Avx2] {
        let mut dynamics = Dynamics::with_cpu(&model, cpu);
        dynamics.forward(&good, &nothing, &[]).unwrap();
        dynamics.solve(&mut [1.0; 3]).unwrap();
        for failing in [
            &fast,
            &State {
                q: vec![f64::NAN; 3],
                ..good.clone()
            },
        ] {
            dynamics.forward(&good, &nothing, &[]).unwrap();
            dynamics
                .forward(failing, &nothing, &[])
                .expect_err("too fast");
            dynamics.solve(&mut [1.0; 3]).expect_err("there are none");
            dynamics.forward(&good, &nothing, &[]).unwrap();
            dynamics
                .forward_derivatives(failing, &nothing, &[])
                .expect_err("too fast");
            dynamics.solve(&mut [1.0; 3]).expect_err("there are none");
        }
        dynamics.forward(&good, &nothing, &[]).unwrap();
        dynamics
            .forward(&good, &[f64::NAN; 3], &[])
            .expect_err("no effort");
        dynamics.solve(&mut [1.0; 3]).expect_err("there are none");
    }
}
