//! Mechanisms of the field's benchmark problems, in addition to those of `closed_models`.

use super::constraint::{ConstraintSpec, RuleSpec};
use super::{
    AxisPair, Dof, ForceAxes, ForceRule, ForceSpec, Inertial, JointKind, JointSpec, ModelBuilder,
};
use crate::elementary;
use crate::spatial::{Mat3, Pose, Sym3, Vec3};
use std::f64::consts::{PI, TAU};

fn diagonal([x, y, z]: [f64; 3]) -> Sym3<f64> {
    Sym3::new(x, y, z, 0.0, 0.0, 0.0)
}

fn flat(x: f64, y: f64) -> Pose<f64> {
    Pose::shift(Vec3::new(x, y, 0.0))
}

/// A point mass of 1 kg in a vertical plane, at a distance of 1 m from the origin (IFToMM A01): two sliders and a distance, so that
/// the length is a constraint.
pub(super) fn particle_pendulum() -> ModelBuilder {
    let mut builder = ModelBuilder::new("particle-pendulum");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let along = |x: f64, y: f64| AxisPair {
        first: Vec3::new(x, y, 0.0),
        ..AxisPair::default()
    };
    let nothing = Inertial {
        mass: 0.0,
        centre: Vec3::zero(),
        tensor: Sym3::zero(),
    };
    builder.link("carriage", nothing);
    builder.link(
        "particle",
        Inertial {
            mass: 1.0,
            ..nothing
        },
    );
    builder.joint(JointSpec {
        axes: along(1.0, 0.0),
        start: vec![-1.0],
        ..JointSpec::new("x", JointKind::Prismatic, "world", "carriage")
    });
    builder.joint(JointSpec {
        axes: along(0.0, 1.0),
        ..JointSpec::new("y", JointKind::Prismatic, "carriage", "particle")
    });
    builder.constraint(ConstraintSpec::new(
        "rod",
        RuleSpec::Distance {
            parent: "world".into(),
            child: "particle".into(),
            parent_point: Vec3::zero(),
            child_point: Vec3::zero(),
            length: 1.0,
        },
    ));
    builder
}

/// Name, mass, moment of inertia, mass centre, parent, position of the joint in it, name of the joint, its initial position.
type Member = (
    &'static str,
    f64,
    f64,
    [f64; 2],
    &'static str,
    Pose<f64>,
    &'static str,
    f64,
);

/// Andrews' squeezer (IFToMM A03, Hairer & Wanner VII.7): seven bodies in a plane, three loops at one point. Coordinates are β, Θ, γ, δ,
/// Φ, ε, Ω. A spring pulls the third body, a motor turns the first one.
pub(super) fn squeezer() -> ModelBuilder {
    let mut builder = ModelBuilder::new("squeezer");
    builder.gravity = Vec3::zero();
    let (d, da, e, ea) = (0.028, 0.0115, 0.02, 0.01421);
    let (rr, ra, ss, sa, sb) = (0.007, 0.00092, 0.035, 0.01874, 0.01043);
    let (ta, tb, u, ua, ub) = (0.02308, 0.00916, 0.04, 0.01228, 0.00449);
    let (zf, zt, fa) = (0.02, 0.04, 0.01421);
    let [a, b] = [flat(-0.06934, -0.00227), flat(-0.03635, 0.03273)];
    let bodies: [Member; 7] = [
        (
            "K1",
            0.04325,
            2.194e-6,
            [ra, 0.0],
            "world",
            flat(0.0, 0.0),
            "beta",
            -0.061_713_890_014_276_45,
        ),
        (
            "K2",
            0.00365,
            4.410e-7,
            [-da, 0.0],
            "K1",
            flat(rr, 0.0),
            "theta",
            0.0,
        ),
        (
            "K3",
            0.02373,
            5.255e-6,
            [sb, -sa],
            "world",
            b,
            "gamma",
            0.455_279_819_163_070_4,
        ),
        (
            "K5",
            0.07050,
            1.169e-5,
            [ta, tb],
            "world",
            a,
            "delta",
            0.487_364_979_543_842_55,
        ),
        (
            "K4",
            0.00706,
            5.667e-7,
            [0.0, -(e - ea)],
            "K5",
            flat(zt, 0.0),
            "phi",
            0.222_668_390_165_885_9,
        ),
        (
            "K7",
            0.05498,
            1.912e-5,
            [-ub, -ua],
            "world",
            a,
            "epsilon",
            1.230_547_444_549_821_2,
        ),
        (
            "K6",
            0.00706,
            5.667e-7,
            [zf - fa, 0.0],
            "K7",
            flat(0.0, -u),
            "omega",
            -0.222_668_390_165_885_9,
        ),
    ];
    for (name, mass, inertia, [x, y], parent, at, joint, start) in bodies {
        builder.link(
            name,
            Inertial {
                mass,
                centre: Vec3::new(x, y, 0.0),
                tensor: diagonal([inertia; 3]),
            },
        );
        builder.joint(JointSpec {
            parent_from_joint: at,
            start: vec![start],
            ..JointSpec::new(joint, JointKind::Revolute, parent, name)
        });
    }
    for (name, child, end) in [
        ("E3", "K3", flat(0.0, ss)),
        ("E4", "K4", flat(0.0, e)),
        ("E6", "K6", flat(-zf, 0.0)),
    ] {
        builder.constraint(ConstraintSpec::joint(JointSpec {
            parent_from_joint: flat(-d, 0.0),
            joint_from_child: end,
            ..JointSpec::new(name, JointKind::Revolute, "K2", child)
        }));
    }
    builder.force(ForceSpec::new(
        "spring",
        ForceRule::Spring {
            parent: "world".into(),
            child: "K3".into(),
            parent_point: Vec3::new(0.014, 0.072, 0.0),
            child_point: Vec3::new(0.02, -0.018, 0.0),
            stiffness: 4530.0,
            damping: 0.0,
            rest_length: 0.07785,
            tension_only: false,
        },
    ));
    builder.force(ForceSpec::new(
        "motor",
        ForceRule::Constant {
            link: "K1".into(),
            point: Vec3::zero(),
            force: Vec3::zero(),
            torque: Vec3::new(0.0, 0.0, 0.033),
            axes: ForceAxes::World,
        },
    ));
    builder
}

/// The flyball governor (IFToMM A05): a shaft about z, a slider on it, two rods hinged to its top with 5 kg at their ends, springs and
/// dampers between slider and rods. Rods are 30° below the horizontal and the slider half way up at the start, so that the
/// springs have their free length.
pub(super) fn governor() -> ModelBuilder {
    let mut builder = ModelBuilder::new("governor");
    let density = 3000.0;
    let bar = density * 1.0 * 0.01 * 0.01;
    let (across, about) = (bar * (1.0 + 1e-4) / 12.0, bar * 2e-4 / 12.0);
    builder.link(
        "shaft",
        Inertial {
            mass: bar,
            centre: Vec3::new(0.0, 0.0, 0.5),
            tensor: diagonal([across, across, about]),
        },
    );
    let cube = density * 0.001;
    builder.link(
        "slider",
        Inertial {
            mass: cube,
            centre: Vec3::zero(),
            tensor: diagonal([cube * 0.02 / 12.0; 3]),
        },
    );
    // a bar along x with a point mass at its end
    let ball = 5.0;
    let mass = bar + ball;
    let centre = (0.5 * bar + ball) / mass;
    let spread = bar * (centre - 0.5) * (centre - 0.5) + ball * (1.0 - centre) * (1.0 - centre);
    let rod = Inertial {
        mass,
        centre: Vec3::new(centre, 0.0, 0.0),
        tensor: diagonal([about, across + spread, across + spread]),
    };
    builder.link("rod_a", rod);
    builder.link("rod_b", rod);
    builder.joint(JointSpec {
        start_velocity: vec![TAU],
        ..JointSpec::new("spin", JointKind::Revolute, "world", "shaft")
    });
    builder.joint(JointSpec {
        start: vec![0.5],
        ..JointSpec::new("slide", JointKind::Prismatic, "shaft", "slider")
    });
    let top = Vec3::new(0.0, 0.0, 1.0);
    let turned = Mat3::from_rows([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]);
    for (name, rotation) in [("a", Mat3::identity()), ("b", turned)] {
        builder.joint(JointSpec {
            parent_from_joint: Pose::new(rotation, top),
            start: vec![PI / 6.0],
            axes: AxisPair {
                first: Vec3::new(0.0, 1.0, 0.0),
                ..AxisPair::default()
            },
            ..JointSpec::new(
                &format!("swing_{name}"),
                JointKind::Revolute,
                "shaft",
                &format!("rod_{name}"),
            )
        });
    }
    for name in ["a", "b"] {
        builder.force(ForceSpec::new(
            &format!("spring_{name}"),
            ForceRule::Spring {
                parent: "slider".into(),
                child: format!("rod_{name}"),
                parent_point: Vec3::zero(),
                child_point: Vec3::new(0.5, 0.0, 0.0),
                stiffness: 8e5,
                damping: 4e4,
                rest_length: 0.5,
                tension_only: false,
            },
        ));
    }
    builder
}

/// Ends of leg k of the Stewart platform: on the base, and on the platform in its own frame.
fn stewart_ends(k: usize) -> [Vec3<f64>; 2] {
    let third = (k / 2) as f64 * 120.0;
    let (base, top) = match k % 2 {
        0 => (third + 10.0, third + 50.0),
        _ => (third + 110.0, third + 70.0),
    };
    let on = |radius: f64, degrees: f64| {
        let (sin, cos) = elementary::sin_cos(degrees.to_radians());
        Vec3::new(radius * cos, radius * sin, 0.0)
    };
    [on(1.0, base), on(0.6, top)]
}

/// A Stewart platform: six legs of a cylinder (4 kg) on a universal joint, a rod (2 kg) that slides in it on a spring of 4 kN/m, and a
/// spherical joint to a plate of 20 kg; anchors on circles of 1 m and 0.6 m. The plate hangs on a free joint, the spherical
/// joints close the loops: the tree has 24 degrees of freedom, 18 rows are independent, and 6 degrees of freedom remain. Initially the
/// plate is shifted and tilted.
pub(super) fn stewart() -> ModelBuilder {
    let mut builder = ModelBuilder::new("stewart");
    builder.link(
        "plate",
        Inertial {
            mass: 20.0,
            centre: Vec3::zero(),
            tensor: diagonal([1.8, 1.8, 3.6]),
        },
    );
    let place = Vec3::new(0.05, -0.03, 0.92);
    let quaternion = [0.98f64, 0.1, -0.08, 0.15];
    let length = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
    let quaternion = quaternion.map(|x| x / length);
    let turned = Mat3::from_quaternion(quaternion);
    builder.joint(JointSpec {
        start: [&place.to_array()[..], &quaternion].concat(),
        ..JointSpec::new("plate", JointKind::Free, "world", "plate")
    });
    for k in 0..6 {
        let [on_base, on_plate] = stewart_ends(k);
        let leg = place + turned * on_plate - on_base;
        let length = leg.norm();
        let along = leg * (1.0 / length);
        let (cylinder, rod) = (format!("cylinder{k}"), format!("rod{k}"));
        builder.link(
            &cylinder,
            Inertial {
                mass: 4.0,
                centre: Vec3::new(0.0, 0.0, 0.3),
                tensor: diagonal([0.12, 0.12, 0.004]),
            },
        );
        builder.link(
            &rod,
            Inertial {
                mass: 2.0,
                centre: Vec3::new(0.0, 0.0, -0.3),
                tensor: diagonal([0.06, 0.06, 0.001]),
            },
        );
        builder.joint(JointSpec {
            parent_from_joint: Pose::shift(on_base),
            axes: AxisPair {
                first: Vec3::new(1.0, 0.0, 0.0),
                second: Vec3::new(0.0, 1.0, 0.0),
            },
            start: vec![
                elementary::atan2(-along.y, along.z),
                elementary::asin(along.x),
            ],
            ..JointSpec::new(
                &format!("foot{k}"),
                JointKind::Universal,
                "world",
                &cylinder,
            )
        });
        builder.joint(JointSpec {
            dofs: vec![Dof {
                stiffness: 4000.0,
                rest: 1.12,
                ..Dof::default()
            }],
            start: vec![length],
            ..JointSpec::new(&format!("leg{k}"), JointKind::Prismatic, &cylinder, &rod)
        });
        builder.constraint(ConstraintSpec::point(
            &format!("ball{k}"),
            &rod,
            Vec3::zero(),
            "plate",
            on_plate,
        ));
    }
    builder
}
