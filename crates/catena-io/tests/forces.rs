//! Force elements and sensors in model files, and the benchmark problems as plain files.

use catena::integrate::{Method, Tolerances};
use catena::model::{ForceAxes, ForceLaw, ForceRule, GravityGradient, SensorKind, embedded};
use catena::simulate::{Audit, Inputs, Integrator, Sample, Simulation, SimulationOptions};
use catena::spatial::Vec3;
use catena::{Dynamics, Model, State};
use catena_io::{ReadOptions, builder_from_json, builder_from_toml, read_model, to_json, to_toml};
use std::path::Path;

const ALL: &str = r#"
format = "catena/1"
angles = "deg"
[[link]]
name = "upper"
mass = 1
centre = [0, 0, -0.5]
inertia = [0.1, 0.1, 0.1]
[[link]]
name = "lower"
mass = 1
inertia = [0.1, 0.1, 0.1]
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
[[joint]]
name = "elbow"
type = "revolute"
child = "lower"
axis = [0, 1, 0]
origin = [0, 0, -1]
[[frame]]
name = "tool"
link = "lower"
origin = [0, 0, -0.4]
rotation = { rpy = [90, 0, 0] }
[[force]]
name = "coil"
type = "spring"
parent = "world"
child = "lower"
parent_point = [1, 0, 0]
child_point = [0, 0, -0.2]
stiffness = 100
damping = 2
rest_length = 0.3
tension_only = true
[[force]]
name = "clock"
type = "torsion"
parent = "upper"
child = "lower"
axis = [0, 2, 0]
stiffness = 5
rest = 45
[[force]]
name = "thruster"
type = "constant"
link = "lower"
point = [0, 0, -0.4]
force = [0, 0, 3]
axes = "link"
[[force]]
name = "air"
type = "drag"
link = "lower"
linear = 0.1
quadratic = 0.2
flow = [1, 0, 0]
[[force]]
name = "earth"
type = "gravity_gradient"
mu = 4e14
centre = [0, 0, -7e6]
uniform = false
[[force]]
name = "orbit"
type = "gravity_gradient"
rate = 1e-3
up = [0, 0, 1]
normal = [0, -1, 0]
[[sensor]]
name = "head"
type = "imu"
frame = "tool"
[[sensor]]
name = "wrist"
type = "force_torque"
joint = "elbow"
frame = "tool"
[[sensor]]
name = "shoulder"
type = "force_torque"
joint = "shoulder"
"#;

#[test]
fn tables_of_forces_and_sensors() {
    let builder = builder_from_toml(ALL, "arm.toml", &ReadOptions::default()).unwrap();
    for text in [to_toml(&builder), to_json(&builder)] {
        let again = match text.starts_with('{') {
            true => builder_from_json(&text, "again.json", &ReadOptions::default()).unwrap(),
            false => builder_from_toml(&text, "again.toml", &ReadOptions::default()).unwrap(),
        };
        let rules = |b: &catena::ModelBuilder| {
            let forces: Vec<ForceRule> = b.forces.iter().map(|f| f.rule.clone()).collect();
            let sensors: Vec<_> = b.sensors.iter().map(|s| s.rule.clone()).collect();
            (forces, sensors)
        };
        assert_eq!(rules(&again), rules(&builder));
    }
    let model = builder.build().unwrap();
    let [spring, torsion, thruster, air, earth, orbit] = model.forces() else {
        panic!("there are six");
    };
    let ForceLaw::Spring(spring) = spring.law else {
        panic!("{spring:?}");
    };
    assert_eq!((spring.stiffness, spring.damping), (100.0, 2.0));
    assert!(spring.tension_only && spring.ends[0].body == 0);
    let ForceLaw::Torsion(torsion) = torsion.law else {
        panic!("{torsion:?}");
    };
    assert!((torsion.rest - std::f64::consts::FRAC_PI_4).abs() < 1e-15);
    let ForceLaw::Constant(thruster) = thruster.law else {
        panic!("{thruster:?}");
    };
    assert_eq!(thruster.axes, ForceAxes::Link);
    assert!(matches!(air.law, ForceLaw::Drag(_)));
    assert!(matches!(
        earth.law,
        ForceLaw::GravityGradient(GravityGradient::Centre { uniform: false, .. })
    ));
    assert_eq!(orbit.kind(), "gravity_gradient");
    assert_eq!(model.sensors().len(), 3);
    assert_eq!(model.sensors()[1].kind, SensorKind::ForceTorque { body: 2 });
}

/// At rest an IMU feels the weight upwards, and a wrist what hangs on it, each in its own axes.
#[test]
fn sensors_at_rest() {
    let builder = builder_from_toml(ALL, "arm.toml", &ReadOptions::default()).unwrap();
    let model = builder.build().unwrap().without_forces();
    let state = State::neutral(&model);
    let found = Dynamics::new(&model)
        .measure(&state, &[0.0; 2], &[])
        .unwrap();
    let close = |a: &[f64; 6], b: [f64; 6]| {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-12, "{found:?}");
        }
    };
    // the tool's y is up
    close(&found[0], [0.0, 0.0, 0.0, 0.0, 9.81, 0.0]);
    close(&found[1], [0.0, 9.81, 0.0, 0.0, 0.0, 0.0]);
    close(&found[2], [0.0, 0.0, 2.0 * 9.81, 0.0, 0.0, 0.0]);
}

/// In free fall an IMU feels nothing, and in axes that turn with an orbit a gyroscope feels the orbit.
#[test]
fn sensors_in_orbit() {
    let text = r#"
format = "catena/1"
gravity = [0, 0, 0]
base = "free"
[[link]]
name = "hub"
mass = 10
inertia = [2, 3, 4]
[[link]]
name = "arm"
mass = 1
centre = [0.5, 0, 0]
inertia = [0.1, 0.1, 0.1]
[[joint]]
name = "root"
type = "free"
parent = "world"
child = "hub"
[[joint]]
name = "hinge"
type = "revolute"
parent = "hub"
child = "arm"
[[force]]
name = "orbit"
type = "gravity_gradient"
rate = 0.2
up = [1, 0, 0]
normal = [0, 0, 1]
[[sensor]]
name = "imu"
type = "imu"
frame = "hub"
"#;
    let text = text.replace("base = \"free\"\n", "");
    let builder = builder_from_toml(&text, "orbiter.toml", &ReadOptions::default()).unwrap();
    let mut alone = builder.clone();
    alone.links.truncate(1);
    alone.joints.truncate(1);
    let model = alone.build().unwrap();
    let mut state = State::neutral(&model);
    state.q[0] = 0.4;
    state.v.copy_from_slice(&[0.1, -0.3, 0.2, 0.0, 0.0, 0.0]);
    let mut dynamics = Dynamics::new(&model);
    let vdot = dynamics.forward(&state, &[0.0; 6], &[]).unwrap().to_vec();
    assert!(vdot[0].abs() > 1e-3);
    let found = dynamics.measure(&state, &vdot, &[]).unwrap();
    for (a, b) in found[0].iter().zip([0.0, 0.0, 0.2, 0.0, 0.0, 0.0]) {
        assert!((a - b).abs() < 1e-14, "{found:?}");
    }
}

fn example(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../models")
        .join(name);
    read_model(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn run(model: &Model, start: &State, duration: f64, tolerance: f64) -> (Vec<Sample>, Audit) {
    let options = SimulationOptions {
        integrator: Integrator::Adaptive {
            method: Method::Verner9,
            tolerances: Tolerances {
                relative: tolerance,
                absolute: 0.01 * tolerance,
            },
            max_step: f64::INFINITY,
        },
        duration,
        interval: duration,
    };
    let mut simulation =
        Simulation::new(model, start, Inputs::default(), Vec::new(), options).unwrap();
    let mut samples = Vec::new();
    while !simulation.finished() {
        simulation.advance(&mut samples).unwrap();
    }
    (samples, simulation.finish())
}

fn state(model: &Model, values: &[(&str, f64)]) -> State {
    let mut state = State::neutral(model);
    for (name, q) in values {
        let dofs = &model.tree().dofs;
        let k = dofs.iter().position(|dof| dof.name == *name).unwrap();
        state.q[k] = *q;
    }
    state
}

/// The files are the embedded models, to the last bit where the embedded ones compute no rotation.
#[test]
fn files_of_benchmark_problems_are_the_embedded_models() {
    for (file, name) in [("squeezer.toml", "squeezer"), ("governor.toml", "governor")] {
        let (read, built) = (example(file), embedded::model(name).unwrap());
        let (start, wanted): (State, State) = (State::start(&read), State::start(&built));
        assert_eq!((start.q, start.v), (wanted.q, wanted.v));
        let mut one = Dynamics::new(&read.clone().open_tree());
        let mut two = Dynamics::new(&built.clone().open_tree());
        for seed in 0..10 {
            let state = State::random(&read, seed);
            let zero = vec![0.0; read.nv()];
            let a = one.forward(&state, &zero, &[]).unwrap();
            let b = two.forward(&state, &zero, &[]).unwrap();
            let size = b.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            for (a, b) in a.iter().zip(b) {
                assert!((a - b).abs() < 1e-12 * size, "{file}: {a} {b}");
            }
        }
    }
}

/// Andrews' squeezer from its file: the published values at 30 ms.
#[test]
fn squeezer_file() {
    let model = example("squeezer.toml");
    let start = State::start(&model);
    let (samples, audit) = run(&model, &start, 0.03, 1e-12);
    let end = state(
        &model,
        &[
            ("beta", 15.81077119629904),
            ("theta", -15.75637105984298),
            ("gamma", 0.04082224013073101),
            ("phi", -0.5347301163226948),
            ("delta", 0.5244099658805304),
            ("omega", 0.5347301163226948),
            ("epsilon", 1.048080741042263),
        ],
    );
    let last = samples.last().unwrap();
    for (a, b) in last.state.q.iter().zip(&end.q) {
        assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
    }
    assert!(audit.breaches().next().is_none(), "{audit:?}");
    assert_eq!(audit.elements[0].name, "spring");
    assert!(audit.work > 0.1, "the motor works");
}

/// The car axis from its file: the published values of the test set at 3 s.
#[test]
fn car_axis_file() {
    let model = example("car_axis.toml");
    let start = State::start(&model);
    let (samples, audit) = run(&model, &start, 3.0, 1e-11);
    let last = samples.last().unwrap();
    let mut dynamics = Dynamics::new(&model.clone().open_tree());
    let mut place = |name: &str| {
        let frame = model.tree().frame(name).unwrap();
        dynamics.frame_pose(&last.state, frame).unwrap().translation
    };
    for (found, wanted) in [
        (
            place("left"),
            Vec3::new(4.934_557_842_754_028e-2, 0.496_989_460_230_171_15, 0.0),
        ),
        (
            place("right"),
            Vec3::new(1.041_742_524_885_421_5, 0.373_911_027_265_361_26, 0.0),
        ),
    ] {
        let error = (found - wanted).norm();
        assert!(error < 1e-9, "{found:?} {error:e}");
    }
    assert!(audit.breaches().next().is_none(), "{audit:?}");
}
