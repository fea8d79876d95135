//! The n-body pendulum as implicit equations: Jacobian, four Newton schemes, cost, and accelerations against the tree.

use catena::algorithm::pendulum::{
    Blocks, Newton, Pendulum, Rod, Scheme, UNKNOWNS, Unknowns, consistent_rates, consistent_values,
    dependent_parameters, jacobian, jacobian_times, residual, step_cost,
};
use catena::random::Random;
use catena::scalar::{Dual, Scalar};
use catena::spatial::{Mat3, Sym3, Vec3};
use catena::{Dynamics, Matrix, State};
use catena_testing::draw::vector;

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
                newton.solve(&pendulum, &e, &mut step);
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

#[test]
fn accelerations_are_those_of_the_tree() {
    let mut random = Random::new(3);
    for n in [1, 2, 3, 8, 20] {
        let pendulum = random_pendulum(n, &mut random);
        let x = consistent(&pendulum, &mut random);
        let mut xdot = vec![0.0; x.len()];
        consistent_rates(&pendulum, &x, &mut xdot).expect("accelerations exist");
        // the implicit equations hold
        let mut dependent = vec![0; n];
        dependent_parameters(&x, &mut dependent);
        let mut e = vec![0.0; x.len()];
        residual(&pendulum, &dependent, &x, &xdot, &mut e);
        assert!(largest(e) < 1e-11, "residual");
        // and so does the recursion on the tree
        let model = pendulum.model().expect("the model is physical");
        let (mut q, mut v) = (vec![0.0; model.nq()], vec![0.0; model.nv()]);
        pendulum.state_of_values(&model, &x, &mut q, &mut v);
        let state = State::new(&model, &q, &v).expect("the state is usable");
        let mut dynamics = Dynamics::new(&model);
        let vdot = dynamics
            .forward(&state, &vec![0.0; model.nv()], &[])
            .expect("accelerations exist")
            .to_vec();
        let kinematics = dynamics.kinematics(&state, &vdot).expect("kinematics");
        for body in 0..n {
            let pose = kinematics.world_from_body[body + 1];
            let (twist, rate) = (
                kinematics.velocity[body + 1],
                kinematics.acceleration[body + 1],
            );
            let centre = pendulum.rod(body).r - pendulum.rod(body).a;
            let spin = twist.angular.cross(twist.angular.cross(centre));
            let own = rate.linear + rate.angular.cross(centre) + spin;
            let expected = pose.rotation * own;
            let found = Unknowns::of(&xdot, body).velocity;
            let off = (found - expected).norm() / (1.0 + expected.norm());
            assert!(off < 1e-11, "n {n}, body {body}: {found:?} {expected:?}");
            let position = pose.translation + pose.rotation * centre;
            assert!((position - Unknowns::of(&x, body).position).norm() < 1e-12 * n as f64);
        }
        // back to the unknowns by the other conversion
        let again = Pendulum::of_model(&model).expect("it is a pendulum");
        let values = again
            .values_of_state(&model, &state)
            .expect("the state is usable");
        for body in 0..n {
            let (a, b) = (Unknowns::of(&values, body), Unknowns::of(&x, body));
            assert!((a.velocity - b.velocity).norm() < 1e-12 * n as f64);
            assert!((a.position - b.position).norm() < 1e-12 * n as f64);
        }
    }
}

#[test]
fn linear_scheme_stays_right_for_long_pendulums() {
    let mut random = Random::new(4);
    for n in [1000, 10_000] {
        let pendulum = random_pendulum(n, &mut random);
        let at = iterate(&pendulum, &mut random, 1e-3);
        let e = residual_at(&pendulum, &at);
        let mut newton = Newton::new(Scheme::Linear, n);
        newton
            .factorize(&pendulum, &at.dependent, &at.x, &at.xdot, at.sigma)
            .expect("the system is regular");
        let mut step = vec![0.0; e.len()];
        newton.solve(&pendulum, &e, &mut step);
        let mut blocks = vec![Blocks::zero(); n];
        Blocks::fill(&pendulum, &at.x, &at.xdot, at.sigma, &mut blocks);
        let mut product = vec![0.0; e.len()];
        jacobian_times(
            &pendulum,
            &at.dependent,
            &blocks,
            at.sigma,
            &step,
            &mut product,
        );
        // each of the six sets relative to the largest of its own right-hand sides
        for set in [0..3, 3..6, 6..7, 7..8, 8..11, 11..14] {
            let of = |values: &[f64]| -> Vec<f64> {
                let bodies = values.chunks(UNKNOWNS);
                bodies.flat_map(|body| body[set.clone()].to_vec()).collect()
            };
            let (expected, found) = (of(&e), of(&product));
            let off = largest(expected.iter().zip(&found).map(|(a, b)| a - b));
            let size = largest(expected);
            println!("n {n}, set {set:?}: {:.1e}", off / size);
            assert!(off < 1e-9 * size, "n {n}, set {set:?}: {off} of {size}");
        }
    }
}

/// At most the 501 n multiplications and 465 n additions that the same elimination takes with the paper's 3×4 blocks given.
#[test]
fn linear_scheme_is_linear_in_every_operation() {
    let mut random = Random::new(5);
    let costs = [10, 20, 40].map(|n| {
        let pendulum = random_pendulum(n, &mut random);
        let at = iterate(&pendulum, &mut random, 1e-3);
        let cost = step_cost(&pendulum, Scheme::Linear, &at.x, &at.xdot, at.sigma);
        let cost = cost.expect("the system is regular");
        let (products, sums) = (
            cost.solution.multiplications + cost.solution.divisions,
            cost.solution.additions,
        );
        assert!(products <= 501 * n as u64 && sums <= 465 * n as u64);
        [cost.residual, cost.jacobian, cost.solution]
    });
    for stage in 0..3 {
        let counts = costs.map(|cost| cost[stage]);
        let products = counts.map(|c| c.multiplications + c.divisions);
        for counts in [products, counts.map(|c| c.additions)] {
            assert_eq!(2 * (counts[1] - counts[0]), counts[2] - counts[1]);
        }
    }
}

/// The count of a dense LU factorization is known: (2 m³ + …)/6 products of each kind for m unknowns.
#[test]
fn full_scheme_is_counted_as_a_dense_one() {
    let mut random = Random::new(6);
    let pendulum = random_pendulum(3, &mut random);
    let at = iterate(&pendulum, &mut random, 1e-3);
    let cost = step_cost(&pendulum, Scheme::ExactFull, &at.x, &at.xdot, at.sigma);
    let cost = cost.expect("the system is regular");
    let m = 3 * UNKNOWNS as u64;
    let updates = (m - 1) * m * (2 * m - 1) / 6;
    assert_eq!(cost.solution.additions, updates + m * (m - 1));
    // the same products, a quotient per entry of L, and m reciprocals and quotients more
    let products = cost.solution.multiplications + cost.solution.divisions;
    assert_eq!(products, updates + m * (m - 1) / 2 + m * (m - 1) + 2 * m);
    assert!(cost.sparse_solution.additions < cost.solution.additions / 3);
}

#[test]
fn wrong_pendulums_are_refused() {
    let rod = Rod {
        mass: 1.0,
        inertia: Sym3::new(1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
        a: Vec3::new(0.0, 0.0, 1.0),
        r: Vec3::new(0.0, 0.0, 0.5),
    };
    let refused = |rods: &[Rod]| {
        let error = Pendulum::new(Vec3::zero(), Vec3::zero(), rods).expect_err("it is wrong");
        error.message().to_string()
    };
    assert!(refused(&[]).contains("at least one body"));
    assert!(refused(&[rod, Rod { mass: 0.0, ..rod }]).contains("mass of body 2"));
    let flat = Sym3::new(1.0, 1.0, 0.0, 0.0, 0.0, 0.0);
    assert!(
        refused(&[Rod {
            inertia: flat,
            ..rod
        }])
        .contains("not positive definite")
    );
    let a = Vec3::new(f64::NAN, 0.0, 0.0);
    assert!(refused(&[Rod { a, ..rod }]).contains("finite"));
    for (name, what) in [("stanford", "is not spherical"), ("zoo", "not a pendulum")] {
        let model = catena::model::embedded::model(name).expect("embedded");
        let error = Pendulum::of_model(&model).expect_err("it is none");
        assert!(error.message().contains(what), "{error}");
    }
    assert!(Scheme::from_name("quick").is_err());
    for scheme in Scheme::ALL {
        assert_eq!(Scheme::from_name(scheme.name()).expect("a name"), scheme);
    }
}
