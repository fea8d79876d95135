//! The decoupled natural orthogonal complement: the identities of the papers on embedded models and random trees with every kind of
//! joint, on bases at rest, moving and free; against kinematics, composite bodies, UDUᵀ, the C matrix and dual numbers.

use catena::algorithm::natural_orthogonal_complement::{Denoc, mass_centres};
use catena::model::{Inertial, JointKind, JointSpec, LinkSpec, embedded};
use catena::residual::{largest, relative};
use catena::scalar::{Dual, Scalar};
use catena::spatial::{Mat3, Motion, Pose, Sym3, Vec3};
use catena::{Base, Dynamics, Matrix, Model, ModelBuilder, State};

/// Sums of at most sixty bodies about points a few metres apart.
const ROUNDING: f64 = 1e-12;
/// Where pivots divide, times the largest over the smallest of them.
const SOLVING: f64 = 1e-13;

fn moving_base() -> Base<f64> {
    let rotation = Mat3::from_quaternion([0.5, -0.5, 0.5, 0.5]) * Mat3::rotation_z(0.6, 0.8);
    Base {
        pose: Pose::new(rotation, Vec3::new(0.3, -0.2, 1.0)),
        velocity: Motion::new(Vec3::new(0.4, -0.7, 0.2), Vec3::new(1.0, 0.5, -0.8)),
        ..Base::fixed()
    }
}

/// Models with states, every other one on a moving base.
fn every_model(mut test: impl FnMut(&str, &Model, &State)) {
    let mut names: Vec<String> = [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "chain-7",
        "floating-chain-5",
        "spherical-chain-4",
    ]
    .map(String::from)
    .to_vec();
    names.extend((1..=60).map(|seed| format!("random-{}-{seed}", 1 + seed % 12)));
    names.push("random-40-7".into());
    for (index, name) in names.iter().enumerate() {
        let model = embedded::model(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut state = State::random(&model, index as u64 + 3);
        test(name, &model, &state);
        if index % 2 == 1 {
            state.base = moving_base();
            test(&format!("{name} on a moving base"), &model, &state);
        }
    }
}

fn denoc(model: &Model, state: &State) -> Denoc<f64> {
    let found = Dynamics::new(model).denoc(state);
    found.unwrap_or_else(|error| panic!("{}: {error}", model.name()))
}

fn assert_equal(name: &str, what: &str, a: &Matrix, b: &Matrix, allowed: f64) {
    assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()), "{name}");
    let size = largest(b.as_slice()).max(1e-3);
    let error = relative(a.as_slice(), b.as_slice(), size);
    assert!(error <= allowed, "{name}: {what}: {error:.1e}");
}

fn sum(a: &Matrix, b: &Matrix) -> Matrix {
    let mut c = a.clone();
    for (x, y) in c.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *x += y;
    }
    c
}

#[test]
fn the_complement_is_its_factors() {
    every_model(|name, model, state| {
        let it = denoc(model, state);
        let product = it.nl().product(&it.nd());
        assert_equal(name, "N = N_l N_d", &product, &it.n(), ROUNDING);
        let (n, nv) = (model.body_count(), model.nv());
        assert_eq!((it.nl().rows(), it.nl().columns()), (6 * n, 6 * n));
        assert_eq!((it.nd().rows(), it.nd().columns()), (6 * n, nv));
        // by freedoms: the rows of the last freedom of each joint are those of the body
        let by_freedoms = it.tl().product(&it.td());
        let mut rows = Matrix::zeros(6 * n, nv);
        for i in 1..=n {
            let last = it.freedoms(i).end - 1;
            for row in 0..6 {
                let from = by_freedoms.row(6 * last + row).to_vec();
                rows.row_mut(6 * (i - 1) + row).copy_from_slice(&from);
            }
        }
        assert_equal(name, "T_l T_d", &rows, &it.n(), ROUNDING);
    });
}

/// One freedom per joint: the 1995 paper's T_l and T_d are the 1999 paper's N_l and N_d.
#[test]
fn both_papers_have_the_same_factors_of_arms() {
    for name in ["planar3", "stanford", "chain-7"] {
        let model = embedded::model(name).unwrap();
        let it = denoc(&model, &State::random(&model, 5));
        assert_eq!(it.tl(), it.nl());
        assert_eq!(it.td(), it.nd());
    }
}

#[test]
fn the_complement_gives_the_twists_of_the_mass_centres() {
    every_model(|name, model, state| {
        let it = denoc(model, state);
        let mut twists = it.n().times(&state.v);
        let mut dynamics = Dynamics::new(model);
        let still = State {
            v: vec![0.0; model.nv()],
            ..state.clone()
        };
        let zero = vec![0.0; model.nv()];
        let carried = dynamics.kinematics(&still, &zero).unwrap().clone();
        let moving = dynamics.kinematics(state, &zero).unwrap();
        let mut expected = Vec::new();
        for i in model.bodies() {
            let twist = |kinematics: &catena::algorithm::kinematics::Kinematics<f64>| {
                let omega = kinematics.velocity[i].angular;
                let omega = kinematics.world_from_body[i].rotation * omega;
                Motion::new(omega, kinematics.mass_centre(model, i)[1]).to_array()
            };
            expected.extend(twist(moving));
            for (x, of_base) in twists[6 * (i - 1)..].iter_mut().zip(twist(&carried)) {
                *x += of_base;
            }
            let centre = moving.mass_centre(model, i)[0];
            let off = (it.mass_centre(i) - centre).norm();
            assert!(
                off <= ROUNDING * centre.norm().max(1.0),
                "{name}: c {off:.1e}"
            );
        }
        let error = relative(&twists, &expected, largest(&expected));
        assert!(error <= ROUNDING, "{name}: t = N v: {error:.1e}");
    });
}

/// (1999: 13) p = (e; e × d) with d from the joint to the mass centre.
#[test]
fn columns_of_revolute_joints_are_those_of_the_papers() {
    let model = embedded::model("planar3").unwrap();
    let state = State::random(&model, 2);
    let it = denoc(&model, &state);
    let mut dynamics = Dynamics::new(&model);
    let kinematics = dynamics.kinematics(&state, &[0.0; 3]).unwrap();
    for i in 1..=3 {
        let pose = kinematics.world_from_body[i];
        let e = pose.rotation.z;
        let d = it.mass_centre(i) - pose.translation;
        let p = it.column(i - 1);
        assert!((p.angular - e).norm() < 1e-15);
        assert!((p.linear - e.cross(d)).norm() < 1e-15);
    }
}

/// (14) B_ij B_jk = B_ik, B_ij⁻¹ = B_ji, whatever the bodies.
#[test]
fn transfers_are_a_group() {
    let model = embedded::model("zoo").unwrap();
    let it = denoc(&model, &State::random(&model, 8));
    let n = model.body_count();
    let matrix = |i, j| {
        let mut m = Matrix::zeros(6, 6);
        for (row, entries) in it.transfer(i, j).into_iter().enumerate() {
            m.row_mut(row).copy_from_slice(&entries);
        }
        m
    };
    for (i, j, k) in [(n, 1, 2), (2, n, 1), (1, 2, 2)] {
        let product = matrix(i, j).product(&matrix(j, k));
        assert_equal("zoo", "B_ij B_jk", &product, &matrix(i, k), 1e-15);
        let back = matrix(i, j).product(&matrix(j, i));
        assert_equal("zoo", "B_ij B_ji", &back, &Matrix::identity(6), 1e-15);
    }
}

/// (20, 21, 23): I = Nᵀ M N, and the blocks of N_lᵀ M N_l are M̃_i B_ij.
#[test]
fn inertia_matrix_and_composite_bodies() {
    every_model(|name, model, state| {
        let it = denoc(model, state);
        let mut dynamics = Dynamics::new(model);
        let inertia = dynamics.inertia(state).unwrap();
        assert_equal(name, "I = Nᵀ M N", &it.inertia(), inertia, ROUNDING);
        let composite = it.nl().transpose().product(&it.mass().product(&it.nl()));
        let mut expected = Matrix::zeros(composite.rows(), composite.columns());
        for i in model.bodies() {
            let own = it.composite(i).to_matrix();
            for j in (1..=i).filter(|&j| it.carries(j, i)) {
                let transfer = it.transfer(i, j);
                for row in 0..6 {
                    for column in 0..6 {
                        let x = (0..6).map(|k| own[row][k] * transfer[k][column]).sum();
                        expected[(6 * (i - 1) + row, 6 * (j - 1) + column)] = x;
                        expected[(6 * (j - 1) + column, 6 * (i - 1) + row)] = x;
                    }
                }
            }
        }
        assert_equal(name, "M̃ = N_lᵀ M N_l", &composite, &expected, ROUNDING);
    });
}

/// (1995: 22a, b): U and D in closed form are the factors, and M̂, ψ those of the recursion about the joints.
#[test]
fn factors_in_closed_form() {
    every_model(|name, model, state| {
        let it = denoc(model, state);
        let mut dynamics = Dynamics::new(model);
        let factors = dynamics.factorization(state).unwrap();
        let d = factors.d();
        let spread = largest(&d) / d.iter().fold(f64::INFINITY, |a, &b| a.min(b));
        let allowed = (SOLVING * spread).max(ROUNDING);
        assert_equal(name, "U", &it.u(), &factors.u(model), allowed);
        for (k, (a, b)) in it.pivots().iter().zip(&d).enumerate() {
            assert!(
                (a - b).abs() <= allowed * b,
                "{name}: m̂ of {k}: {a} and {b}"
            );
        }
        // U D Uᵀ of the closed forms alone
        let mut scaled = it.u();
        for row in 0..model.nv() {
            for column in 0..model.nv() {
                scaled[(row, column)] *= it.pivots()[column];
            }
        }
        let product = scaled.product(&it.u().transpose());
        let inertia = dynamics.inertia(state).unwrap();
        assert_equal(name, "U D Uᵀ", &product, inertia, allowed);
        let kinematics = dynamics.kinematics(state, &vec![0.0; model.nv()]).unwrap();
        for i in model.bodies() {
            let rotation = kinematics.world_from_body[i].rotation;
            let expected = factors.about_mass_centre(model, i).turned(rotation);
            let (a, b) = (it.articulated_body(i).to_matrix(), expected.to_matrix());
            let (a, b) = (a.as_flattened(), b.as_flattened());
            let error = relative(a, b, largest(b));
            assert!(error <= 100.0 * allowed, "{name}: M̂ of {i}: {error:.1e}");
        }
        for k in 0..model.nv() {
            let (hat, p) = (it.psi_hat(k), it.column(k));
            let direct = it.articulated(k).times(p);
            assert_eq!(hat, direct);
            let one = it.psi(k).dot(p) + it.rotors()[k] / it.pivots()[k];
            assert!((one - 1.0).abs() <= allowed, "{name}: ψᵀ p {one}");
        }
    });
}

/// (25) by the matrices and (28, 29) by the recursion give the C of composite bodies.
#[test]
fn convective_terms() {
    every_model(|name, model, state| {
        let it = denoc(model, state);
        let mut dynamics = Dynamics::new(model);
        let expected = dynamics.coriolis(state).unwrap();
        let (n, rate) = (it.n(), it.n_rate());
        let inner = sum(&it.mass().product(&rate), &it.mass_rate().product(&n));
        let definition = n.transpose().product(&inner);
        assert_equal(name, "(25)", &definition, expected, ROUNDING);
        assert_equal(name, "(29)", &it.coriolis(), expected, ROUNDING);
    });
}

/// Ṅ is the derivative of N along the motion: dual numbers, of the positions alone.
#[test]
fn rates_are_derivatives() {
    type D = Dual<f64, 1>;
    every_model(|name, model, state| {
        let mut moved: State<D> = state.lift();
        let time = D::variable(0.0, 0);
        let delta: Vec<D> = moved.v.iter().map(|v| *v * time).collect();
        moved.step(model, &delta);
        // the pose of the base moves with its twist
        let velocity = moved.base.velocity;
        let turning = Mat3::skew(velocity.angular * time);
        let pose = &mut moved.base.pose;
        pose.rotation = pose.rotation + turning * pose.rotation;
        pose.translation += velocity.linear * time;
        let still = vec![D::zero(); model.nv()];
        let centres = mass_centres(model);
        let dual = Denoc::new(model, &centres, &moved.q, &still, &moved.base).n();
        let it = denoc(model, state);
        let mut derivative = Matrix::zeros(dual.rows(), dual.columns());
        for (x, d) in derivative.as_mut_slice().iter_mut().zip(dual.as_slice()) {
            *x = d.derivative[0];
        }
        assert_equal(name, "Ṅ", &it.n_rate(), &derivative, ROUNDING);
    });
}

/// A link without mass between two joints: the arm is that of a universal joint, and the reference point the joint's origin.
#[test]
fn bodies_without_mass() {
    let rod = Inertial {
        mass: 2.0,
        centre: Vec3::new(0.1, 0.3, 0.0),
        tensor: Sym3::new(0.2, 0.1, 0.25, 0.01, 0.0, 0.02),
    };
    let mut builder = ModelBuilder::new("gimbal");
    builder.links.push(LinkSpec {
        name: "ring".into(),
        ..LinkSpec::default()
    });
    builder.link("rod", rod);
    let mut first = JointSpec::new("first", JointKind::Revolute, "world", "ring");
    first.axes.first = Vec3::new(1.0, 0.0, 0.0);
    let mut second = JointSpec::new("second", JointKind::Revolute, "ring", "rod");
    second.parent_from_joint = Pose::shift(Vec3::new(0.0, 0.0, 0.4));
    builder.joint(first).joint(second);
    let model = builder.build().unwrap();
    let state = State::random(&model, 4);
    let it = denoc(&model, &state);
    let mut dynamics = Dynamics::new(&model);
    let inertia = dynamics.inertia(&state).unwrap();
    assert_equal("gimbal", "I", &it.inertia(), inertia, ROUNDING);
    let u = dynamics.factorization(&state).unwrap().u(&model);
    assert_equal("gimbal", "U", &it.u(), &u, ROUNDING);
    assert_equal(
        "gimbal",
        "C",
        &it.coriolis(),
        dynamics.coriolis(&state).unwrap(),
        ROUNDING,
    );
    assert_eq!(it.mass_centre(1), Vec3::zero());
}

#[test]
fn what_is_not_a_state_is_refused() {
    let model = embedded::model("planar3").unwrap();
    let mut state = State::random(&model, 1);
    let dynamics = Dynamics::new(&model);
    state.q[1] = f64::NAN;
    assert!(dynamics.denoc(&state).is_err());
    state.q.pop();
    assert!(dynamics.denoc(&state).is_err());
}
