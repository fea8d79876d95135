//! The checked entry points refuse what they cannot compute, with the reason; nothing panics.

use catena::algorithm::pendulum::{Pendulum, Rod};
use catena::integrate::{Fixed, FixedMethod};
use catena::model::{Inertial, JointKind, JointSpec, embedded};
use catena::simulate::BaseTable;
use catena::spatial::{Force, Sym3, Vec3};
use catena::{Batch, Drive, Dynamics, ModelBuilder, State, laws};

fn message<T>(result: catena::Result<T>) -> String {
    result
        .err()
        .map(|e| e.message().to_string())
        .unwrap_or_default()
}

#[test]
fn solving_needs_a_factorization() {
    let model = embedded::model("planar3").unwrap();
    let mut dynamics = Dynamics::new(&model);
    let mut x = [1.0, 2.0, 3.0];
    assert_eq!(
        message(dynamics.solve(&mut x)),
        "there is no factorization to solve with"
    );
    dynamics.factorize(&State::neutral(&model)).unwrap();
    dynamics.solve(&mut x).unwrap();
}

#[test]
fn the_base_must_move_as_a_body_can() {
    let model = embedded::model("planar3").unwrap();
    let mut dynamics = Dynamics::new(&model);
    let mut state = State::neutral(&model);
    state.base.velocity.angular.x = f64::NAN;
    assert_eq!(
        message(dynamics.coriolis(&state)),
        "the motion of the base is not finite"
    );
    assert_eq!(
        message(dynamics.inverse(&state, &[0.0; 3], &[])),
        "the motion of the base is not finite"
    );
    let mut state = State::neutral(&model);
    state.base.pose.rotation = state.base.pose.rotation * 2.0;
    assert_eq!(
        message(dynamics.inverse(&state, &[0.0; 3], &[])),
        "the orientation of the base is not a rotation matrix"
    );
}

#[test]
fn states_and_forces_must_be_finite_and_fit() {
    let model = embedded::model("planar3").unwrap();
    let mut dynamics = Dynamics::new(&model);
    let mut state = State::neutral(&model);
    assert_eq!(
        message(dynamics.inverse(&state, &[0.0; 2], &[])),
        "accelerations: 3 numbers are needed, 2 were given"
    );
    assert_eq!(
        message(dynamics.forward(&state, &[0.0, f64::INFINITY, 0.0], &[])),
        "efforts: entry of `joint2` is inf"
    );
    let push = vec![Force::zero(); 2];
    assert_eq!(
        message(dynamics.forward(&state, &[0.0; 3], &push)),
        "external wrenches (one per body, the ground included): 4 numbers are needed, 2 were given"
    );
    assert_eq!(
        message(dynamics.wrench_on(&state, 99, Vec3::zero(), Force::zero())),
        "there is no body 99: model `planar3` has 3"
    );
    state.v[1] = 1e200;
    assert_eq!(
        message(dynamics.mechanical_state(&state)),
        "the motion of body `link3` overflows"
    );
    state.q[0] = f64::NAN;
    assert_eq!(
        message(dynamics.inertia(&state)),
        "position 1 of joint `joint1` is NaN"
    );
    let other = embedded::model("chain-9").unwrap();
    let frame = other.tree().frames.last().unwrap();
    let at_rest = State::neutral(&model);
    assert_eq!(
        message(dynamics.jacobian(&at_rest, frame)),
        "there is no body 9: model `planar3` has 3"
    );
}

#[test]
fn quaternions_must_be_of_unit_length() {
    let model = embedded::model("pendulum-1").unwrap();
    let mut state = State::neutral(&model);
    state.q[0] = 2.0;
    assert_eq!(
        message(Dynamics::new(&model).inverse(&state, &[0.0; 3], &[])),
        "quaternion of joint `ball1` has length 2.000000000, not 1"
    );
    assert_eq!(
        message(Batch::new(&model).inverse(&state.q, &state.v, &[0.0; 3], &mut [0.0; 3])),
        "state 0 of the batch: quaternion of joint `ball1` has length 2.000000000, not 1"
    );
    assert_eq!(
        message(State::new(&model, &[2.0, 0.0, 0.0, 0.0], &[0.0; 3])),
        "quaternion of joint `ball1` has length 2.000000, not 1"
    );
}

/// A gripper of grams and millimetres obeys the laws like any other mechanism, axes next to −z included.
#[test]
fn small_mechanisms_keep_the_laws() {
    let mut builder = ModelBuilder::new("micro");
    let link = |mass: f64| Inertial {
        mass,
        centre: Vec3::new(0.0015, 0.0, 0.0),
        tensor: Sym3::new(1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0),
    };
    builder.link("a", link(1e-3)).link("b", link(5e-4));
    let mut first = JointSpec::new("j1", JointKind::Revolute, "world", "a");
    first.axes.first = Vec3::new(2e-6, 1e-6, -1.0);
    let mut second = JointSpec::new("j2", JointKind::Revolute, "a", "b");
    second.axes.first = Vec3::new(0.0, 1.0, 0.0);
    second.parent_from_joint.translation = Vec3::new(0.003, 0.0, 0.0);
    builder.joint(first).joint(second);
    for result in laws::run(&builder.build().unwrap(), 20, 1) {
        assert!(result.holds(), "{result:?}");
    }
}

#[test]
fn the_order_of_coordinates_is_told() {
    let mut builder = ModelBuilder::new("order");
    let link = Inertial {
        mass: 1.0,
        centre: Vec3::new(0.1, 0.0, 0.0),
        tensor: Sym3::new(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
    };
    for name in ["base", "left", "right", "left-tip"] {
        builder.link(name, link);
    }
    for (name, parent, child) in [
        ("b", "world", "base"),
        ("l", "base", "left"),
        ("r", "base", "right"),
        ("t", "left", "left-tip"),
    ] {
        builder.joint(JointSpec::new(name, JointKind::Revolute, parent, child));
    }
    let model = builder.build().unwrap();
    assert!(
        model.tree().assumptions.contains(
            &"coordinates follow the tree branch by branch, not the order of the file: b, l, t, r"
                .to_string()
        ),
        "{:?}",
        model.tree().assumptions
    );
}

#[test]
fn pendulums_must_be_physical() {
    let rod = Rod {
        mass: 1.0,
        inertia: Sym3::new(0.1, 0.1, 0.01, 0.0, 0.0, 0.0),
        a: Vec3::new(0.0, 0.0, 1.0),
        r: Vec3::new(0.0, 0.0, 0.5),
    };
    let down = Vec3::new(0.0, 0.0, -9.81);
    let with = |change: &dyn Fn(&mut Rod)| {
        let mut second = rod;
        change(&mut second);
        message(Pendulum::new(down, Vec3::zero(), &[rod, second]))
    };
    assert_eq!(with(&|_| {}), "");
    assert_eq!(
        with(&|rod| rod.mass = 0.0),
        "mass of body 2 of the pendulum is 0 kg, it must be positive"
    );
    assert_eq!(
        with(&|rod| rod.a.x = f64::NAN),
        "vectors of body 2 of the pendulum must be finite"
    );
    let indefinite = "inertia tensor of body 2 of the pendulum is not positive definite";
    assert_eq!(with(&|rod| rod.inertia.xx = -0.1), indefinite);
    assert_eq!(with(&|rod| rod.inertia.xy = 0.2), indefinite);
    assert_eq!(with(&|rod| rod.inertia.yz = 0.05), indefinite);
    let up = Vec3::new(0.0, 0.0, f64::INFINITY);
    assert_eq!(
        message(Pendulum::new(up, Vec3::zero(), &[rod])),
        "gravity and pivot of a pendulum must be finite"
    );
}

#[test]
fn tables_of_the_base_must_be_motions() {
    let still = ([0.0; 3], [1.0, 0.0, 0.0, 0.0]);
    let table = |times: &[f64], poses: &[([f64; 3], [f64; 4])]| {
        message(BaseTable::new(times.to_vec(), poses))
    };
    assert_eq!(table(&[0.0, 1.0], &[still; 2]), "");
    assert_eq!(
        table(&[0.0], &[still]),
        "a motion of the base needs at least two rows, one per time: 1 times, 1 poses"
    );
    assert_eq!(
        table(&[0.0, 1.0, 1.0], &[still; 3]),
        "times of the base must increase: 1 s is followed by 1 s"
    );
    assert_eq!(
        table(&[0.5, 1.0], &[still; 2]),
        "the motion of the base begins at 0.5 s"
    );
    let far = ([0.0, f64::INFINITY, 0.0], still.1);
    assert_eq!(
        table(&[0.0, 1.0], &[still, far]),
        "the pose of the base at 1 s is not finite"
    );
    let long = (still.0, [1.1, 0.0, 0.0, 0.0]);
    assert_eq!(
        table(&[0.0, 1.0], &[still, long]),
        "the quaternion of the base at 1 s has length 1.100000, not 1"
    );
}

#[test]
fn steps_must_go_forward() {
    let model = embedded::model("planar3").unwrap();
    let mut batch = Batch::new(&model);
    let (mut q, mut v) = ([0.1; 3], [0.0; 3]);
    for step in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
        let told = format!("the step of the integrator cannot be {step} s");
        let method = FixedMethod::RungeKutta4;
        assert_eq!(message(Fixed::new(method, 3, 3, step)), told);
        let drive = Drive::Efforts(&[0.0; 3]);
        let advanced = batch.advance(method, step, 1, drive, &mut q, &mut v);
        assert_eq!(message(advanced), told);
    }
    let drive = Drive::Efforts(&[0.0; 3]);
    let method = FixedMethod::ImplicitMidpoint;
    assert_eq!(
        message(batch.advance(method, 1e-3, 1, drive, &mut q, &mut v)),
        "the implicit midpoint rule does not run in lanes"
    );
    let hold = Drive::Hold {
        targets: &[0.0; 3],
        stiffness: f64::NAN,
        damping: 1.0,
    };
    let method = FixedMethod::RungeKutta4;
    assert_eq!(
        message(batch.advance(method, 1e-3, 1, hold, &mut q, &mut v)),
        "stiffness and damping must be finite numbers"
    );
    assert_eq!((q, v), ([0.1; 3], [0.0; 3]), "refused steps change nothing");
}

/// `embedded::model` leaves out the checks at random states: embedded models pass them all.
#[test]
fn embedded_models_pass_every_check() {
    for (name, _) in embedded::NAMES {
        let name = name.replace("SEED", "7").replace('N', "4");
        let built = embedded::builder(&name).unwrap().build().unwrap();
        let model = embedded::model(&name).unwrap();
        assert_eq!(built.tree().warnings, model.tree().warnings, "{name}");
    }
}
