//! Vectors of three and symmetric matrices, where the algorithms that the laws exercise do not use all of them.

use catena::spatial::{AngularRate, Force, Mat3, Motion, Pose, RigidInertia, Sym3, Vec3};

#[test]
fn a_symmetric_matrix_times_its_inverse_is_one() {
    let matrix = Sym3::new(2.0, 3.0, 4.0, 0.5, -0.25, 0.75);
    let inverse = matrix.inverse();
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for [x, y, z] in axes {
        let unit = Vec3::new(x, y, z);
        let back: Vec3<f64> = matrix * (inverse * unit);
        for (found, right) in back.to_array().into_iter().zip(unit.to_array()) {
            assert!((found - right).abs() < 1e-15, "{back:?}");
        }
    }
}

#[test]
fn subtraction_in_place_is_subtraction() {
    let (a, b) = (Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.25, 4.0, -8.0));
    let mut found = a;
    found -= b;
    assert_eq!(found.to_array(), (a - b).to_array());
    found += b;
    assert_eq!(found.to_array(), a.to_array());
}

/// Sums and differences undo each other, part by part; these numbers have no rounding.
#[test]
fn differences_undo_sums() {
    let (x, y) = (Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.25, 4.0, -8.0));
    let (u, w) = (Vec3::new(-3.0, 1.5, 2.0), Vec3::new(0.75, -0.5, 16.0));
    let (a, b) = (Force::new(x, y), Force::new(u, w));
    assert_eq!((a - b).to_array(), Force::new(x - u, y - w).to_array());
    assert_eq!((a - b + b).to_array(), a.to_array());
    let (a, b) = (Motion::new(x, y), Motion::new(u, w));
    assert_eq!((a - b).to_array(), Motion::new(x - u, y - w).to_array());
    assert_eq!((a - b + b).to_array(), a.to_array());
}

type Particle = (f64, Vec3<f64>);

/// Moment about the origin and sum of a vector of every particle, such as its momentum.
fn sum_of(particles: &[Particle], of: impl Fn(f64, Vec3<f64>) -> Vec3<f64>) -> Force<f64> {
    let mut sum = Force::zero();
    for &(m, at) in particles {
        let own = of(m, at);
        sum += Force::new(at.cross(own), own);
    }
    sum
}

fn assert_same(found: Force<f64>, right: Force<f64>) {
    for (a, b) in found.to_array().into_iter().zip(right.to_array()) {
        assert!((a - b).abs() < 1e-13, "{found:?}\n{right:?}");
    }
}

/// A rigid body is its particles: mass, mass centre and inertia tensor of five of them give momentum, energy and Newton–Euler's wrench of all of them, also in
/// another frame. The sums have terms of some 10 and a few roundings each: 1e-13.
#[test]
fn a_rigid_body_is_its_particles() {
    let particles: [Particle; 5] = [
        (1.0, Vec3::new(0.3, -0.2, 0.5)),
        (0.5, Vec3::new(1.0, 0.1, -0.4)),
        (2.0, Vec3::new(-0.7, 0.6, 0.2)),
        (0.25, Vec3::new(0.0, -1.5, 0.8)),
        (1.5, Vec3::new(0.4, 0.9, -1.1)),
    ];
    let mass: f64 = particles.iter().map(|(m, _)| m).sum();
    let centre = (particles.iter()).fold(Vec3::zero(), |sum, (m, at)| sum + *at * (m / mass));
    let mut tensor = Sym3::zero();
    for (m, at) in particles {
        let [x, y, z] = (at - centre).to_array();
        let about = Sym3::new(
            y * y + z * z,
            x * x + z * z,
            x * x + y * y,
            -x * y,
            -x * z,
            -y * z,
        );
        tensor = tensor.add_scaled(about, m);
    }
    let body = RigidInertia::from_centre(mass, centre, tensor);
    let turn = Mat3::rotation_z(0.6, 0.8) * Mat3::rotation_x(-0.28, 0.96);
    let pose = Pose::new(turn, Vec3::new(0.5, -1.0, 0.25));
    let moved = particles.map(|(m, at)| (m, pose.point(at)));
    let twist = Motion::new(Vec3::new(0.4, -1.2, 0.7), Vec3::new(1.5, 0.3, -0.8));
    let (omega, still) = (twist.angular, Vec3::zero());
    let (alpha, a) = (Vec3::new(-0.9, 0.2, 1.1), Vec3::new(0.6, -0.5, 2.0));
    for (body, particles) in [(body, particles), (body.seen_from(pose), moved)] {
        let momentum =
            |omega: Vec3<f64>, v: Vec3<f64>| sum_of(&particles, |m, at| (v + omega.cross(at)) * m);
        let right = momentum(omega, twist.linear);
        let operator = body.articulated();
        let rows = operator.to_matrix();
        let product: [f64; 6] =
            rows.map(|row| row.iter().zip(twist.to_array()).map(|(a, b)| a * b).sum());
        let [moment, force] = [0, 3].map(|k| Vec3::new(product[k], product[k + 1], product[k + 2]));
        assert_same(body.momentum(twist), right);
        assert_same(operator.times(twist), right);
        assert_same(Force::new(moment, force), right);
        assert_same(body.momentum_of_turning(omega), momentum(omega, still));
        assert_same(body.momentum_of_sliding(a), momentum(still, a));
        let wrench = |alpha: Vec3<f64>, a: Vec3<f64>| {
            let of = |at: Vec3<f64>| a + alpha.cross(at) + omega.cross(omega.cross(at));
            sum_of(&particles, |m, at| of(at) * m)
        };
        let rate = AngularRate::new(omega, alpha);
        assert_same(body.newton_euler(rate, a), wrench(alpha, a));
        assert_same(body.gyroscopic(omega), wrench(still, still));
        let energy: f64 = particles
            .iter()
            .map(|&(m, at)| {
                let speed = twist.linear + omega.cross(at);
                0.5 * m * speed.dot(speed)
            })
            .sum();
        assert!((0.5 * body.momentum(twist).dot(twist) - energy).abs() < 1e-13);
    }
}
