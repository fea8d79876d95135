//! Trees of heavy and light bodies: the limits of the laws are those that the model's own conditioning allows.

use catena::laws::{self, Verdict};
use catena::model::{Inertial, JointKind, JointSpec};
use catena::random::Random;
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use catena::{Model, ModelBuilder};

/// A tree whose masses differ by up to 10^decades, with bodies of the size of 1 m.
fn uneven(bodies: usize, decades: f64, seed: u64) -> Model {
    let mut random = Random::new(seed);
    let mut builder = ModelBuilder::new("uneven");
    for i in 0..bodies {
        let mass = 10f64.powf(random.uniform(-0.5 * decades, 0.5 * decades));
        let mut vector =
            |size: f64| Vec3::from_array([(); 3].map(|()| random.uniform(-size, size)));
        let (centre, at) = (vector(0.3), vector(0.5));
        let name = format!("b{i}");
        builder.link(
            &name,
            Inertial {
                mass,
                centre,
                tensor: Sym3::new(
                    0.02 * mass,
                    0.03 * mass,
                    0.04 * mass,
                    0.001 * mass,
                    -0.002 * mass,
                    0.003 * mass,
                ),
            },
        );
        let parent = match random.below(3) {
            _ if i == 0 => "world".to_string(),
            0 => format!("b{}", random.below(i)),
            _ => format!("b{}", i - 1),
        };
        let kind = match random.below(6) {
            0 => JointKind::Spherical,
            1 => JointKind::Prismatic,
            2 => JointKind::Universal,
            _ => JointKind::Revolute,
        };
        let mut joint = JointSpec::new(&format!("j{i}"), kind, &parent, &name);
        joint.parent_from_joint = Pose::new(Mat3::from_quaternion(random.quaternion()), at);
        builder.joint(joint);
    }
    builder.build().expect("every body has inertia")
}

#[test]
fn no_law_fails_whatever_the_mass_ratio() {
    let mut failures = Vec::new();
    // of 4000 such trees some fifty lose more than 1e-13 of the efforts; these are among them
    let lossy = [115, 154, 197, 334, 387, 407, 490, 522, 535, 719, 839];
    for seed in (0..40u64).chain(lossy) {
        let decades = [4.0, 8.0, 10.0, 10.0][seed as usize % 4];
        let model = uneven(3 + seed as usize % 30, decades, seed);
        for law in laws::run(&model, 2, seed) {
            if law.verdict() == Verdict::Fails {
                failures.push(format!(
                    "seed {seed}, 10^{decades}: {} ({}): {:.1e}, allowed {:.1e}",
                    law.law, law.routes, law.residual, law.tolerance
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
