//! Trees integrated implicitly: the same motion as by explicit methods, stiff joints at the pace of the motion, restart.

use catena::model::{Dof, Inertial, JointKind, JointSpec, embedded};
use catena::simulate::{Inputs, NewtonMatrix, Simulation, SimulationOptions};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Model, ModelBuilder, State};
use catena_testing::runs::{apart, bdf_with, explicit, free_run};

/// Errors of BDF add up over some hundred steps: 1e-5 at a tolerance of 1e-9 is generous, a wrong term would be of order 1.
#[test]
fn implicit_and_explicit_methods_agree_on_every_joint_with_both_matrices() {
    for name in [
        "zoo",
        "random-8-1",
        "random-8-2",
        "space-robot",
        "pendulum-4",
        "stanford",
    ] {
        let model = embedded::model(name).unwrap();
        let mut state = State::random(&model, 3);
        state.v.iter_mut().for_each(|v| *v *= 0.5);
        let (exact, _) = free_run(&model, &state, explicit(1e-12), 0.5);
        for matrix in [NewtonMatrix::Dense, NewtonMatrix::Tree] {
            let (found, audit) = free_run(&model, &state, bdf_with(1e-9, matrix), 0.5);
            let error = apart(&found, &exact);
            assert!(error < 1e-5, "{name}, {matrix:?}: {error:e}");
            assert_eq!(audit.breaches().count(), 0, "{name}, {matrix:?}: {audit:?}");
        }
    }
}

/// Links of 1 kg and 0.2 m on revolute joints about x and y in turn, with springs and dampers: a rod of `links` pieces.
fn rod(links: usize, stiffness: f64, damping: f64) -> Model {
    let mut builder = ModelBuilder::new("rod");
    builder.gravity = Vec3::new(0.0, 0.0, -9.81);
    let mut parent = "world".to_string();
    for k in 0..links {
        let name = format!("link{k}");
        builder.link(
            &name,
            Inertial {
                mass: 1.0,
                centre: Vec3::new(0.0, 0.0, 0.1),
                tensor: Sym3::new(0.01, 0.01, 0.001, 0.0, 0.0, 0.0),
            },
        );
        let mut joint = JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &name);
        joint.axes.first = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0)][k % 2];
        if k > 0 {
            joint.parent_from_joint = Pose::shift(Vec3::new(0.0, 0.0, 0.2));
        }
        joint.dofs = vec![Dof {
            stiffness,
            damping,
            ..Dof::default()
        }];
        builder.joint(joint);
        parent = name;
    }
    builder.build().unwrap()
}

fn leaning(model: &Model) -> State {
    let mut state = State::neutral(model);
    state.q[0] = 0.1;
    state.q[1] = 0.05;
    state
}

#[test]
fn stiff_joints_are_followed_at_the_pace_of_the_motion() {
    // the fastest mode decays in 10 µs, the slowest in seconds; an explicit method is held at the former
    let model = rod(8, 2e4, 2e3);
    let state = leaning(&model);
    let (exact, stiff) = free_run(&model, &state, explicit(1e-9), 0.2);
    for matrix in [NewtonMatrix::Dense, NewtonMatrix::Tree] {
        let (found, audit) = free_run(&model, &state, bdf_with(1e-8, matrix), 0.2);
        let error = apart(&found, &exact);
        assert!(error < 1e-6, "{matrix:?}: {error:e}");
        let (steps, many) = (audit.steps, stiff.steps);
        assert!(8 * steps < many, "{matrix:?}: {steps} of {many}");
        assert!(15 * audit.evaluations < stiff.evaluations, "{matrix:?}");
        // few rejections: Newton's method along the tree converges however stiff the joints are
        assert!(audit.rejected < 50, "{matrix:?}: {}", audit.rejected);
    }
}

#[test]
fn long_stiff_rods_are_solved_along_the_tree() {
    for links in [50, 200] {
        let model = rod(links, 1e6, 1e5);
        let state = leaning(&model);
        let (_, audit) = free_run(&model, &state, bdf_with(1e-6, NewtonMatrix::Tree), 1.0);
        assert_eq!(audit.breaches().count(), 0, "{audit:?}");
        assert!(audit.steps < 2_000, "{links}: {}", audit.steps);
    }
}

#[test]
fn a_run_goes_on_from_a_checkpoint_to_the_same_bits() {
    // dry friction stops and lets go on the way
    let model = embedded::model("random-8-2").unwrap();
    let state = State::random(&model, 3);
    for matrix in [NewtonMatrix::Dense, NewtonMatrix::Tree] {
        let options = SimulationOptions {
            integrator: bdf_with(1e-7, matrix),
            duration: 0.5,
            interval: 0.01,
        };
        let new = || {
            Simulation::new(
                &model,
                &state,
                Inputs::default(),
                Vec::new(),
                options.clone(),
            )
            .unwrap()
        };
        let mut whole = new();
        let mut samples = Vec::new();
        let mut checkpoints = Vec::new();
        while !whole.finished() {
            whole.advance(&mut samples).unwrap();
            checkpoints.push((whole.checkpoint(), samples.len()));
        }
        for part in [1, 10, checkpoints.len() / 2, checkpoints.len() - 2] {
            let (checkpoint, count) = &checkpoints[part];
            let mut again = new();
            again.restore(checkpoint).unwrap();
            let mut rest = Vec::new();
            while !again.finished() {
                again.advance(&mut rest).unwrap();
            }
            assert_eq!(rest, samples[*count..], "{matrix:?}, {part}");
            assert_eq!(again.checkpoint(), checkpoints[checkpoints.len() - 1].0);
        }
    }
}
