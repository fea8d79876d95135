//! Random vectors and wrenches.

use catena::Model;
use catena::random::Random;
use catena::spatial::{Force, Mat3, Motion, Pose, Vec3};

/// Numbers within ±`reach`.
pub fn numbers(random: &mut Random, count: usize, reach: f64) -> Vec<f64> {
    (0..count).map(|_| random.uniform(-reach, reach)).collect()
}

/// A vector with components within ±`reach`.
pub fn vector(random: &mut Random, reach: f64) -> Vec3<f64> {
    let mut next = || random.uniform(-reach, reach);
    Vec3::new(next(), next(), next())
}

/// A random pose; translation components in [−0.5, 0.5].
pub fn pose(random: &mut Random) -> Pose<f64> {
    Pose::new(
        Mat3::from_quaternion(random.quaternion()),
        vector(random, 0.5),
    )
}

/// A twist with components within ±1.
pub fn motion(random: &mut Random) -> Motion<f64> {
    Motion::new(vector(random, 1.0), vector(random, 1.0))
}

/// A wrench on every body 0…n of a model, with components within ±`reach`.
pub fn wrenches(random: &mut Random, model: &Model, reach: f64) -> Vec<Force<f64>> {
    (0..=model.body_count())
        .map(|_| Force::new(vector(random, reach), vector(random, reach)))
        .collect()
}
