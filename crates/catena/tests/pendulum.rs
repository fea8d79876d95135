//! The n-body pendulum as implicit equations: Jacobian, four Newton schemes, cost, and accelerations against the tree.

use catena::Matrix;
use catena::algorithm::pendulum::{
    Blocks, Equations, Newton, Pendulum, Rod, Scheme, UNKNOWNS, Unknowns, consistent_rates,
    consistent_values, dependent_parameters, jacobian, jacobian_times, residual,
};
use catena::random::Random;
use catena::scalar::{Count, Dual, Scalar};
use catena::spatial::{Mat3, Sym3, Vec3};

fn vector(random: &mut Random, size: f64) -> Vec3<f64> {
    let mut number = || random.uniform(-size, size);
    Vec3::new(number(), number(), number())
}

/// Bodies with full tensors, joints and mass centres anywhere, gravity in any direction.
fn random_pendulum(n: usize, random: &mut Random) -> Pendulum {
    let mut rods = Vec::new();
    for _ in 0..n {
        let turn = Mat3::from_quaternion(random.quaternion());
        let moments = [(); 3].map(|()| random.uniform(0.02, 0.035));
        let [a, b, c] = moments;
        rods.push(Rod {
            mass: random.uniform(0.5, 1.5),
            inertia: Sym3::new(a, b, c, 0.0, 0.0, 0.0).conjugate(turn),
            a: Vec3::new(0.0, 0.0, 0.5) + vector(random, 0.1),
            r: Vec3::new(0.0, 0.0, 0.25) + vector(random, 0.1),
        });
    }
    let gravity = Vec3::new(0.0, 0.0, -9.81) + vector(random, 1.0);
    Pendulum::new(gravity, vector(random, 1.0), &rods).expect("the pendulum is physical")
}

fn consistent(pendulum: &Pendulum, random: &mut Random) -> Vec<f64> {
    let n = pendulum.bodies();
    let orientations: Vec<_> = (0..n).map(|_| random.quaternion()).collect();
    let velocities: Vec<_> = (0..n).map(|_| vector(random, 1.0)).collect();
    consistent_values(pendulum, &orientations, &velocities).expect("the state is usable")
}

/// Values and rates near consistent ones, but off every constraint, as Newton's iterates are.
struct Iterate {
    x: Vec<f64>,
    xdot: Vec<f64>,
    dependent: Vec<u8>,
    sigma: f64,
}

fn iterate(pendulum: &Pendulum, random: &mut Random, off: f64) -> Iterate {
    let mut x = consistent(pendulum, random);
    let mut xdot = vec![0.0; x.len()];
    consistent_rates(pendulum, &x, &mut xdot).expect("accelerations exist");
    for value in x.iter_mut().chain(&mut xdot) {
        *value += random.uniform(-off, off);
    }
    let mut dependent = vec![0; pendulum.bodies()];
    dependent_parameters(&x, &mut dependent);
    Iterate {
        x,
        xdot,
        dependent,
        sigma: random.uniform(50.0, 500.0),
    }
}

fn residual_at(pendulum: &Pendulum, at: &Iterate) -> Vec<f64> {
    let mut e = vec![0.0; at.x.len()];
    residual(pendulum, &at.dependent, &at.x, &at.xdot, &mut e);
    e
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |largest, x| {
        assert!(x.is_finite());
        f64::max(largest, x.abs())
    })
}

/// Largest difference of the corrections, each of the four kinds relative to its own largest.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let kinds = [0..3, 3..6, 6..10, 10..14];
    largest(kinds.map(|kind| {
        let pick = |x: &[f64]| -> Vec<f64> {
            let bodies = x.chunks(UNKNOWNS);
            bodies
                .flat_map(|body| body[kind.clone()].to_vec())
                .collect()
        };
        let (a, b) = (pick(a), pick(b));
        largest(a.iter().zip(&b).map(|(x, y)| x - y)) / largest(a)
    }))
}

#[test]
fn exact_jacobian_is_the_derivative() {
    let mut random = Random::new(1);
    for n in [1, 2, 5] {
        let pendulum = random_pendulum(n, &mut random);
        let at = iterate(&pendulum, &mut random, 0.3);
        let size = at.x.len();
        let mut blocks = vec![Blocks::zero(); n];
        Blocks::fill(&pendulum, &at.x, &at.xdot, at.sigma, &mut blocks);
        let mut exact = Matrix::zeros(size, size);
        jacobian(&pendulum, &at.dependent, &blocks, at.sigma, &mut exact);
        for column in 0..size {
            type D = Dual<f64, 1>;
            let lift = |values: &[f64], slope: f64| -> Vec<D> {
                let mut lifted: Vec<D> = values.iter().map(|x| D::constant(*x)).collect();
                lifted[column].derivative[0] = slope;
                lifted
            };
            let mut e = vec![D::zero(); size];
            let (x, xdot) = (lift(&at.x, 1.0), lift(&at.xdot, at.sigma));
            residual(&pendulum, &at.dependent, &x, &xdot, &mut e);
            for row in 0..size {
                let (found, expected) = (exact[(row, column)], e[row].derivative[0]);
                assert!(
                    (found - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
                    "n {n}, entry {row},{column}: {found} {expected}"
                );
            }
            let mut unit = vec![0.0; size];
            unit[column] = 1.0;
            let mut product = vec![0.0; size];
            jacobian_times(
                &pendulum,
                &at.dependent,
                &blocks,
                at.sigma,
                &unit,
                &mut product,
            );
            for row in 0..size {
                assert!((product[row] - exact[(row, column)]).abs() < 1e-12 * at.sigma);
            }
        }
    }
}

#[test]
fn four_schemes_take_the_same_step() {
    let mut random = Random::new(2);
    for n in [1, 2, 3, 7, 30] {
        for off in [1e-6, 0.1] {
            let pendulum = random_pendulum(n, &mut random);
            let at = iterate(&pendulum, &mut random, off);
            let e = residual_at(&pendulum, &at);
            let steps = Scheme::ALL.map(|scheme| {
                let mut newton = Newton::new(scheme, n);
                let mut step = vec![0.0; e.len()];
                newton
                    .factorize(&pendulum, &at.dependent, &at.x, &at.xdot, at.sigma)
                    .expect("the system is regular");
                newton.solve(&e, &mut step);
                step
            });
            for (scheme, step) in Scheme::ALL.iter().zip(&steps) {
                let off_by = difference(&steps[1], step);
                println!("n {n} off {off} {}: {off_by:.1e}", scheme.name());
                assert!(off_by < 1e-10, "n {n}, {}: {off_by}", scheme.name());
            }
        }
    }
}
