//! Slender bodies keep every digit they were given: the inertia about a needle's own axis is a small difference of large numbers in
//! any form but the one it was given in.

use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::model::{Inertial, JointKind, JointSpec};
use catena::random::Random;
use catena::scalar::DoubleDouble;
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use catena::{Batch, Cpu, Dynamics, Model, ModelBuilder, State};

/// A needle along z of its link.
fn needle(ratio: f64, centre: Vec3<f64>) -> Inertial {
    Inertial {
        mass: 1.0,
        centre,
        tensor: Sym3::new(1.0, 1.0, ratio, 0.0, 0.0, 0.0),
    }
}

fn alone(inertial: Inertial, joint: JointSpec) -> Model {
    let mut builder = ModelBuilder::new("needle");
    builder.gravity = Vec3::zero();
    builder.link("needle", inertial).joint(joint);
    builder.build().expect("a needle has inertia")
}

/// The route that sums moments in the axes of the base: there the needle's own axis is one direction among others, and what is left
/// is right to the round-off of the largest moment, not of its own.
const IN_BASE_AXES: &str = "derivatives";

/// Wherever columns are turned into the axes of the base, length and angle of the axes are right to a few units of round-off.
const TURNED: f64 = 3e-15;

/// The inertia that turns the last freedom alone, by every route there is.
fn routes(model: &Model, state: &State) -> Vec<(&'static str, f64)> {
    let nv = model.nv();
    let mut found = Vec::new();
    for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
        let mut dynamics = Dynamics::with_cpu(model, cpu);
        let mut unit = vec![0.0; nv];
        unit[nv - 1] = 1.0;
        let tau = dynamics.inverse(state, &unit, &[]).unwrap()[nv - 1];
        found.push(("inverse", tau));
        let inertia = dynamics.inertia(state).unwrap()[(nv - 1, nv - 1)];
        found.push(("inertia", inertia));
        let upper = dynamics.inertia_upper(state).unwrap()[(nv - 1, nv - 1)];
        found.push(("upper inertia", upper));
        let of_tau = dynamics.inverse_derivatives(state, &unit, &[]).unwrap();
        found.push(("derivatives", of_tau.inertia[(nv - 1, nv - 1)]));
        dynamics.factorize(state).unwrap();
        let pivot = dynamics.factorization(state).unwrap().d()[nv - 1];
        found.push(("pivot", pivot));
        if nv == 1 {
            let a = dynamics.forward(state, &unit, &[]).unwrap()[0];
            found.push(("forward", 1.0 / a));
            found.push((
                "I⁻¹",
                1.0 / dynamics.inverse_inertia(state).unwrap()[(0, 0)],
            ));
        }
        let mut batch = Batch::with_cpu(model, cpu);
        let mut tau = vec![0.0; nv];
        batch.inverse(&state.q, &state.v, &unit, &mut tau).unwrap();
        found.push(("batch, inverse", tau[nv - 1]));
        let mut inertia = vec![0.0; nv * nv];
        batch.inertia(&state.q, &mut inertia).unwrap();
        found.push(("batch, inertia", inertia[nv * nv - 1]));
        batch.inertia_upper(&state.q, &mut inertia).unwrap();
        found.push(("batch, upper inertia", inertia[nv * nv - 1]));
    }
    found
}

fn assert_all(model: &Model, state: &State, right: f64, digits: f64, what: &str) {
    for (route, found) in routes(model, state) {
        let error = (found - right).abs() / right;
        let allowed = match route {
            IN_BASE_AXES => digits + 1e-14 / right,
            _ if route.contains("inertia") => digits.max(TURNED),
            _ => digits,
        };
        assert!(
            error <= allowed,
            "{what}, {route}: {found:e} instead of {right:e} ({error:.1e})"
        );
    }
}

#[test]
fn the_spin_of_a_needle_keeps_its_digits() {
    for ratio in [1e-6, 1e-9, 1.234_567_890_123_456e-9, 1e-12, 3e-15, 1e-20] {
        // on its axis
        let spin = JointSpec::new("spin", JointKind::Revolute, "world", "needle");
        let model = alone(needle(ratio, Vec3::new(0.0, 0.0, 1.0)), spin.clone());
        let state = State::new(&model, &[0.4], &[0.0]).unwrap();
        assert_all(&model, &state, ratio, 4e-16, "along z");

        // along every coordinate axis, by the axis of the joint or by where the link is placed
        for (k, axis) in [
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0, 0.0, -1.0],
        ]
        .into_iter()
        .enumerate()
        {
            let axis: Vec3<f64> = Vec3::from_array(axis);
            let moments = [0, 1, 2].map(|k| {
                let own = axis.to_array()[k].abs();
                own * ratio + (1.0 - own)
            });
            let along = Inertial {
                mass: 1.0,
                centre: axis,
                tensor: Sym3::new(moments[0], moments[1], moments[2], 0.0, 0.0, 0.0),
            };
            let mut joint = spin.clone();
            joint.axes.first = axis;
            let model = alone(along, joint);
            let state = State::new(&model, &[0.4], &[0.0]).unwrap();
            assert_all(&model, &state, ratio, 4e-16, &format!("axis {k}"));
        }

        // the link's origin is off the axis, its mass centre on it: what one shift adds the other takes away
        let mut joint = spin.clone();
        joint.joint_from_child = Pose::shift(Vec3::new(-3.0, 0.25, 0.0));
        let model = alone(needle(ratio, Vec3::new(3.0, -0.25, 1.0)), joint);
        let state = State::new(&model, &[0.4], &[0.0]).unwrap();
        assert_all(&model, &state, ratio, 4e-16, "shifted");
    }
}

/// Two halves on one body, each with its own placement, are the whole.
#[test]
fn lumped_needles_keep_their_digits() {
    let ratio = 1e-11;
    let mut builder = ModelBuilder::new("two halves");
    builder.gravity = Vec3::zero();
    builder
        .link("first", needle(ratio, Vec3::new(0.0, 0.0, 1.0)))
        .link("second", needle(ratio, Vec3::new(2.0, 0.0, 0.5)));
    let mut fixed = JointSpec::new("fixed", JointKind::Fixed, "first", "second");
    fixed.parent_from_joint = Pose::new(
        Mat3::from_rows([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]),
        Vec3::new(2.0, 0.0, 0.0),
    );
    builder
        .joint(JointSpec::new(
            "spin",
            JointKind::Revolute,
            "world",
            "first",
        ))
        .joint(fixed);
    let model = builder.build().unwrap();
    let state = State::new(&model, &[0.4], &[0.0]).unwrap();
    assert_all(&model, &state, 2.0 * ratio, 4e-16, "lumped");
}

/// On an arm that holds it at any angle: I and τ of the spin are those of the needle, and accelerations those of
/// double-double arithmetic.
#[test]
fn a_needle_on_an_arm_keeps_its_digits() {
    let mut random = Random::new(5);
    for seed in 0..20 {
        let ratio = 10f64.powf(random.uniform(-12.0, -3.0));
        let mut builder = ModelBuilder::new("arm");
        let body = Inertial {
            mass: 2.0,
            centre: Vec3::new(0.1, 0.2, -0.1),
            tensor: Sym3::new(1.0, 1.5, 2.0, 0.1, 0.0, -0.2),
        };
        builder
            .link("upper", body)
            .link("lower", body)
            .link("needle", needle(ratio, Vec3::new(0.0, 0.0, 1.0)));
        let mut place = |name: &str, kind, parent: &str, child: &str| {
            let mut joint = JointSpec::new(name, kind, parent, child);
            let at = Vec3::from_array([(); 3].map(|()| random.uniform(-1.0, 1.0)));
            joint.parent_from_joint = Pose::new(Mat3::from_quaternion(random.quaternion()), at);
            joint
        };
        let joints = [
            place("shoulder", JointKind::Revolute, "world", "upper"),
            place("elbow", JointKind::Revolute, "upper", "lower"),
            place("spin", JointKind::Revolute, "lower", "needle"),
        ];
        for joint in joints {
            builder.joint(joint);
        }
        let model = builder.build().unwrap();
        let state = State::random(&model, seed);
        let mut still = state.clone();
        still.v.fill(0.0);
        let model = model.with_gravity([0.0; 3]);
        assert_all(&model, &still, ratio, 4e-16, &format!("arm {seed}"));

        let mut work = ForwardDynamics::<DoubleDouble>::new(&model);
        let sharp: State<DoubleDouble> = state.lift();
        let tau = [1.0, -2.0, ratio];
        let lifted = tau.map(DoubleDouble::from);
        let mut right = lifted;
        forward_dynamics(&model, sharp.view(), &lifted, &[], &mut work, &mut right);
        for cpu in [Cpu::Baseline, Cpu::best()] {
            let mut dynamics = Dynamics::with_cpu(&model, cpu);
            let found = dynamics.forward(&state, &tau, &[]).unwrap();
            for k in 0..3 {
                let scale = right.iter().fold(0.0f64, |m, a| m.max(a.value().abs()));
                let error = (found[k] - right[k].value()).abs() / scale;
                assert!(
                    error < 1e-12,
                    "arm {seed}, ratio {ratio:e}, {k}: {error:.1e}"
                );
            }
        }
    }
}

/// Needles one behind the other on one axis, held at any angle: turning joint k turns all from there on. More freedoms than are done
/// column by column, in single states and in batches.
#[test]
fn needles_in_a_row_keep_their_digits() {
    let mut random = Random::new(11);
    for (seed, count) in [(0, 2), (1, 5), (2, 16), (3, 24)] {
        let mut builder = ModelBuilder::new("row");
        builder.gravity = Vec3::zero();
        let ratios: Vec<f64> = (0..count)
            .map(|_| 10f64.powf(random.uniform(-14.0, -9.0)))
            .collect();
        let mut parent = "world".to_string();
        for (k, &ratio) in ratios.iter().enumerate() {
            let name = format!("needle{k}");
            builder.link(&name, needle(ratio, Vec3::new(0.0, 0.0, 1.0)));
            let joint = format!("spin{k}");
            let mut joint = JointSpec::new(&joint, JointKind::Revolute, &parent, &name);
            let turn = match k {
                0 => Mat3::from_quaternion(random.quaternion()),
                _ => Mat3::identity(),
            };
            joint.parent_from_joint = Pose::new(turn, Vec3::new(0.0, 0.0, 2.0));
            builder.joint(joint);
            parent = name;
        }
        let model = builder.build().unwrap();
        let mut state = State::random(&model, seed);
        state.v.fill(0.0);
        let last = ratios[count - 1];
        assert_all(&model, &state, last, 4e-16, &format!("row of {count}"));
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            let whole = Dynamics::with_cpu(&model, cpu)
                .inertia(&state)
                .unwrap()
                .clone();
            let mut batch = vec![0.0; count * count];
            Batch::with_cpu(&model, cpu)
                .inertia(&state.q, &mut batch)
                .unwrap();
            for i in 0..count {
                for j in 0..count {
                    let right: f64 = ratios[i.max(j)..].iter().sum();
                    for found in [whole[(i, j)], batch[i * count + j]] {
                        let error = (found - right).abs() / right;
                        assert!(error < 1e-14, "{count} {cpu:?} ({i}, {j}): {error:.1e}");
                    }
                }
            }
        }
    }
}

/// On joints with several freedoms, whose directions are axes of the needle.
#[test]
fn free_needles_keep_their_digits() {
    for kind in [
        JointKind::Spherical,
        JointKind::Free,
        JointKind::Cylindrical,
    ] {
        for ratio in [1e-9, 1e-12, 3e-17] {
            let joint = JointSpec::new("free", kind, "world", "needle");
            let model = alone(needle(ratio, Vec3::new(0.0, 0.0, 1.0)), joint);
            let spin = (0..model.nv())
                .rfind(|&k| kind.freedoms()[k].1)
                .expect("it turns");
            let state = State::random(&model, 3);
            for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
                let single = Dynamics::with_cpu(&model, cpu).inertia(&state).unwrap()[(spin, spin)];
                let nv = model.nv();
                let mut batch = vec![0.0; nv * nv];
                Batch::with_cpu(&model, cpu)
                    .inertia(&state.q, &mut batch)
                    .unwrap();
                for found in [single, batch[spin * nv + spin]] {
                    let error = (found - ratio).abs() / ratio;
                    assert!(error < TURNED, "{kind:?} {ratio:e} {cpu:?}: {error:.1e}");
                }
            }
        }
    }
}

/// A mass on the axis of its joint has no inertia about it, however the frames are turned.
#[test]
fn a_body_without_inertia_is_still_refused() {
    let mut random = Random::new(8);
    for seed in 0..200 {
        let turn = Mat3::from_quaternion(random.quaternion());
        let size = 10f64.powf(random.uniform(-3.0, 3.0));
        let mut joint = JointSpec::new("spin", JointKind::Revolute, "world", "bead");
        let mut builder = ModelBuilder::new("bead");
        if seed % 2 == 0 {
            joint.axes.first = turn.x;
            builder.link(
                "bead",
                Inertial {
                    mass: 1.0,
                    centre: turn.x * size,
                    tensor: Sym3::zero(),
                },
            );
        } else {
            joint.kind = JointKind::Spherical;
            builder.link(
                "bead",
                Inertial {
                    mass: 1.0,
                    centre: turn.x * size,
                    tensor: Sym3::zero(),
                },
            );
        }
        builder.joint(joint);
        let error = builder.build().expect_err("nothing resists the spin");
        assert!(error.to_string().contains("no inertia"), "{seed}: {error}");
    }
}
