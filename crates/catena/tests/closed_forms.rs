//! Examples with a solution in closed form.

use catena::model::{Inertial, JointKind, JointSpec, embedded};
use catena::spatial::{Sym3, Vec3};
use catena::{Dynamics, ModelBuilder, State};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
}

/// (I + m l²) θ̈ = −m g l sin θ − d θ̇.
#[test]
fn physical_pendulum() {
    let (mass, l, moment, damping) = (2.0, 0.7, 0.3, 0.4);
    let mut builder = ModelBuilder::new("pendulum");
    builder.link(
        "bob",
        Inertial {
            mass,
            centre: Vec3::new(0.0, 0.0, -l),
            tensor: Sym3::new(0.2, moment, 0.2, 0.0, 0.0, 0.0),
        },
    );
    let mut joint = JointSpec::new("pivot", JointKind::Continuous, "world", "bob");
    joint.axes.first = Vec3::new(0.0, 1.0, 0.0);
    joint.dofs = vec![catena::model::Dof {
        damping,
        ..Default::default()
    }];
    builder.joint(joint);
    let model = builder.build().unwrap();
    let (theta, rate) = (0.6, 1.3);
    let state = State::new(&model, &[theta], &[rate]).unwrap();
    let vdot = Dynamics::new(&model).forward(&state, &[0.0], &[]).unwrap()[0];
    close(
        vdot,
        (-mass * 9.81 * l * f64::sin(theta) - damping * rate) / (moment + mass * l * l),
    );
}

/// The two-link planar arm as printed in every textbook: slender rods, gravity along −y.
#[test]
fn two_link_planar_arm() {
    let (m1, m2, l1, l2) = (1.3, 0.8, 0.5, 0.4);
    let rod = |mass: f64, length: f64| Inertial {
        mass,
        centre: Vec3::new(length / 2.0, 0.0, 0.0),
        tensor: Sym3::new(
            0.0,
            mass * length * length / 12.0,
            mass * length * length / 12.0,
            0.0,
            0.0,
            0.0,
        ),
    };
    let mut builder = ModelBuilder::new("2R");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    builder.link("one", rod(m1, l1)).link("two", rod(m2, l2));
    builder.joint(JointSpec::new("a", JointKind::Revolute, "world", "one"));
    let mut second = JointSpec::new("b", JointKind::Revolute, "one", "two");
    second.parent_from_joint.translation = Vec3::new(l1, 0.0, 0.0);
    builder.joint(second);
    let model = builder.build().unwrap();
    let (q, v, a) = ([0.4, -0.9], [1.5, -2.0], [0.3, 0.7]);
    let state = State::new(&model, &q, &v).unwrap();
    let tau = Dynamics::new(&model)
        .inverse(&state, &a, &[])
        .unwrap()
        .to_vec();

    let (c2, s2) = (f64::cos(q[1]), f64::sin(q[1]));
    let i22 = m2 * l2 * l2 / 3.0;
    let i12 = i22 + m2 * l1 * l2 * c2 / 2.0;
    let i11 = m1 * l1 * l1 / 3.0 + m2 * l1 * l1 + i22 + m2 * l1 * l2 * c2;
    let h = m2 * l1 * l2 * s2 / 2.0;
    let (c1, c12) = (f64::cos(q[0]), f64::cos(q[0] + q[1]));
    let g2 = m2 * 9.81 * l2 / 2.0 * c12;
    let g1 = (m1 / 2.0 + m2) * 9.81 * l1 * c1 + g2;
    close(
        tau[0],
        i11 * a[0] + i12 * a[1] - h * (2.0 * v[0] * v[1] + v[1] * v[1]) + g1,
    );
    close(tau[1], i12 * a[0] + i22 * a[1] + h * v[0] * v[0] + g2);
}

/// A free body obeys Euler's equations I ω̇ = −ω × I ω and falls with g.
#[test]
fn free_rigid_body() {
    let (ix, iy, iz) = (0.3, 0.5, 0.7);
    let mut builder = ModelBuilder::new("top");
    builder.link(
        "body",
        Inertial {
            mass: 1.5,
            centre: Vec3::zero(),
            tensor: Sym3::new(ix, iy, iz, 0.0, 0.0, 0.0),
        },
    );
    builder.joint(JointSpec::new("free", JointKind::Free, "world", "body"));
    let model = builder.build().unwrap();
    let mut state = State::random(&model, 4);
    let (x, y, z) = (0.9, -1.4, 2.2);
    state.v = vec![0.3, -0.2, 0.5, x, y, z];
    let vdot = Dynamics::new(&model)
        .forward(&state, &[0.0; 6], &[])
        .unwrap()
        .to_vec();
    for (a, b) in vdot.iter().zip([
        0.0,
        0.0,
        -9.81,
        (iy - iz) * y * z / ix,
        (iz - ix) * z * x / iy,
        (ix - iy) * x * y / iz,
    ]) {
        close(*a, b);
    }
}

/// A nut on a screw: (I + m p²) θ̈ = τ − m g p for a vertical screw of pitch p.
#[test]
fn nut_on_a_screw() {
    let mut builder = ModelBuilder::new("screw");
    builder.link(
        "nut",
        Inertial {
            mass: 0.4,
            centre: Vec3::zero(),
            tensor: Sym3::new(0.01, 0.01, 0.02, 0.0, 0.0, 0.0),
        },
    );
    let mut joint = JointSpec::new("thread", JointKind::Helical, "world", "nut");
    joint.pitch = 0.05;
    builder.joint(joint);
    let model = builder.build().unwrap();
    let state = State::new(&model, &[2.0], &[3.0]).unwrap();
    let vdot = Dynamics::new(&model).forward(&state, &[0.1], &[]).unwrap()[0];
    close(vdot, (0.1 - 0.4 * 9.81 * 0.05) / (0.02 + 0.4 * 0.05 * 0.05));
}

/// A planar arm feels no difference when its links are stacked at different heights along the axes.
#[test]
fn offsets_along_parallel_axes_do_not_matter() {
    let builder = embedded::builder("planar3").unwrap();
    let mut stacked = builder.clone();
    for (k, joint) in stacked.joints.iter_mut().enumerate() {
        joint.joint_from_child.translation.z += 0.3 * (k as f64 + 1.0);
    }
    let (flat, stacked) = (builder.build().unwrap(), stacked.build().unwrap());
    let state = State::random(&flat, 9);
    let a = Dynamics::new(&flat)
        .inverse(&state, &[0.3, -0.2, 0.9], &[])
        .unwrap()
        .to_vec();
    let b = Dynamics::new(&stacked)
        .inverse(&state, &[0.3, -0.2, 0.9], &[])
        .unwrap()
        .to_vec();
    for (x, y) in a.iter().zip(&b) {
        close(*x, *y);
    }
}

/// Mufti's matrices: S upper triangular with −1 on its diagonal, T S = 1, any tree.
#[test]
fn incidence_and_path_matrices() {
    for name in ["zoo", "random-30-4", "random-50-9"] {
        let model = embedded::model(name).unwrap();
        let (s, t) = (model.tree().incidence_matrix(), model.tree().path_matrix());
        let n = s.len();
        for i in 0..n {
            for j in 0..n {
                let product: i32 = (0..n)
                    .map(|k| i32::from(t[i][k]) * i32::from(s[k][j]))
                    .sum();
                assert_eq!(product, i32::from(i == j), "{name}");
                assert!(i <= j || s[i][j] == 0, "{name}");
            }
        }
        let labels = model.tree().regular_labelling();
        let mut sorted = labels.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=n).collect::<Vec<_>>());
        for body in model.bodies() {
            let parent = model.tree().parent(body);
            assert!(parent == 0 || labels[parent - 1] < labels[body - 1]);
        }
    }
}
