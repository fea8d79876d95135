//! Programs of forward dynamics for chains without right angles: long ones, and ones whose axes are nearly parallel.

use catena::model::{Inertial, JointKind, JointSpec};
use catena::random::Random;
use catena::residual::larger;
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_symbolic::Program;
use catena_symbolic::generate::{CodeOptions, Question, programs};
use catena_testing::entry;

/// A chain of revolute joints with full inertias. Axes are turned against each other by angles about `tilt`, or anyhow.
fn chain(n: usize, tilt: Option<f64>, seed: u64) -> Model {
    let mut builder = ModelBuilder::new("chain");
    let mut random = Random::new(seed);
    let mut parent = String::from("world");
    for k in 1..=n {
        let mut some = |low, high| random.uniform(low, high);
        let centre = Vec3::new(some(0.1, 0.2), some(0.1, 0.2), some(0.1, 0.2));
        let diagonal = [some(0.1, 0.11), some(0.1, 0.11), some(0.1, 0.11)];
        let products = [some(0.01, 0.02), some(0.01, 0.02), some(0.01, 0.02)];
        let [xx, yy, zz] = diagonal;
        let [xy, xz, yz] = products;
        let place = Vec3::new(some(0.2, 0.5), some(0.2, 0.5), some(0.2, 0.5));
        let (mass, share) = (some(0.5, 1.5), some(0.5, 1.5));
        let anyhow = Mat3::from_quaternion(random.quaternion());
        let turn = match tilt {
            Some(tilt) => {
                let (sin, cos) = (tilt * share).sin_cos();
                Mat3::rotation_z(0.6, 0.8) * Mat3::rotation_x(sin, cos)
            }
            None => anyhow,
        };
        let name = format!("link{k}");
        let tensor = Sym3::new(xx, yy, zz, xy, xz, yz);
        let inertial = Inertial {
            mass,
            centre,
            tensor,
        };
        builder.link(&name, inertial);
        let mut joint = JointSpec::new(&format!("joint{k}"), JointKind::Revolute, &parent, &name);
        joint.parent_from_joint = Pose::new(turn, place);
        builder.joint(joint);
        parent = name;
    }
    builder.build().expect("the chain is sound")
}

/// Largest difference of a program's accelerations from the library's, relative to the largest of them, at a few states.
fn difference(model: &Model, program: &Program) -> f64 {
    let mut worst = 0.0f64;
    let mut dynamics = Dynamics::new(model);
    for seed in 0..5 {
        let state = State::random(model, seed);
        let tau: Vec<f64> = (0..model.nv()).map(|k| (k as f64).sin()).collect();
        let expected = dynamics.forward(&state, &tau, &[]).expect("a state");
        let found = program.evaluate(|symbol| {
            let (array, index) = entry(symbol);
            match array {
                "q" => state.q[index],
                "v" => state.v[index],
                _ => tau[index],
            }
        });
        let size = expected.iter().fold(0.0, |m, x| larger(m, x.abs()));
        for (a, b) in found.iter().zip(expected) {
            worst = larger(worst, (a - b).abs() / size);
        }
    }
    worst
}

fn ways(model: &Model) -> Vec<(Program, &'static str)> {
    programs(model, Question::Forward, &CodeOptions::default()).expect("there are ways")
}

/// The common normal of nearly parallel axes is far away: at 1e-6 rad some hundred kilometres. Small numbers next to such lengths must not be
/// lost in rotations. Measured up to 2e-14.
#[test]
fn nearly_parallel_axes() {
    for tilt in [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
        let model = chain(6, Some(tilt), 7);
        for (program, method) in ways(&model) {
            let difference = difference(&model, &program);
            assert!(difference <= 1e-12, "{tilt}, {method}: {difference:e}");
        }
    }
}

/// Articulated bodies lose three digits of sixteen by thirty joints in frames along common normals, the elimination of the inertia matrix
/// somewhat more.
#[test]
fn long_chains() {
    for seed in 1..=3 {
        let model = chain(30, None, seed);
        for (program, method) in ways(&model) {
            let difference = difference(&model, &program);
            assert!(difference <= 5e-12, "{seed}, {method}: {difference:e}");
        }
    }
}
