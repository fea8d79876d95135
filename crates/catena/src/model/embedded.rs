//! Models that need no file.

use super::{
    AxisPair, Dof, FrameSpec, Inertial, JointKind, JointSpec, Model, ModelBuilder,
    benchmark_models, closed_models, dh, rolling_models,
};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::random::Random;
use crate::spatial::{Mat3, Pose, Sym3, Vec3};
use std::f64::consts::FRAC_PI_2;

/// Name and description of every embedded model; N stands for a number.
pub const NAMES: &[(&str, &str)] = &[
    (
        "planar3",
        "planar arm with three revolute joints (Saha 1999, sec. 6.1)",
    ),
    (
        "stanford",
        "Stanford arm, five revolute joints and a prismatic one (Saha 1999, Table 3, corrected)",
    ),
    (
        "stanford-b",
        "the same, r_y of link 4 read as +0.1 m instead of −0.1 m",
    ),
    ("stanford-c", "the same, r_y of link 4 read as 0"),
    (
        "stanford-d",
        "the same, α₂ read as +90° instead of −90°: the mirror image",
    ),
    (
        "stanford-e",
        "the same, r_y of link 4 read as +0.1 m and α₂ as +90°",
    ),
    (
        "space-robot",
        "six revolute joints on a free base: 12 freedoms",
    ),
    (
        "zoo",
        "a branching tree with every kind of joint, rotors, friction and springs",
    ),
    (
        "pendulum-N",
        "N rods hanging from each other by spherical joints (Chou)",
    ),
    (
        "chain-N",
        "N equal links on revolute joints about z, y, x in turn",
    ),
    ("floating-chain-N", "the same chain on a free base"),
    ("spherical-chain-N", "the same links on spherical joints"),
    (
        "four-bar-N",
        "N four-bar linkages in a row, all hinges revolute: closed loops",
    ),
    (
        "bricard",
        "Bricard's mechanism: six revolute joints, one freedom, closed loop",
    ),
    (
        "slider-crank",
        "spatial slider-crank with spherical and universal joints: closed loop",
    ),
    (
        "particle-pendulum",
        "a particle at a fixed distance from a point, in a plane: a constraint",
    ),
    (
        "squeezer",
        "Andrews' squeezer: seven bodies in a plane, three closed loops",
    ),
    (
        "governor",
        "flyball governor: a shaft, a slider and two swinging rods",
    ),
    (
        "stewart",
        "Stewart platform: six legs, six freedoms, closed loops",
    ),
    (
        "rolling-disk",
        "a thin disk that rolls without slipping: a constraint on velocities",
    ),
    (
        "sleigh",
        "Chaplygin's sleigh on a knife edge: a constraint on velocities",
    ),
    (
        "bicycle",
        "Whipple's bicycle (Meijaard et al. 2007): two wheels that roll",
    ),
    (
        "random-N-SEED",
        "a random tree of N bodies, every kind of joint and base",
    ),
];

/// The embedded model with this name.
pub fn model(name: &str) -> Result<Model> {
    let mut model = builder(name)?.assembled()?;
    model.eliminate_couplings()?;
    Ok(model)
}

/// The links and joints of the embedded model with this name.
pub fn builder(name: &str) -> Result<ModelBuilder> {
    let number = |prefix: &str| name.strip_prefix(prefix).map(|text| count(name, text));
    match name {
        "planar3" => return Ok(planar3()),
        "stanford" => return Ok(stanford(name, -0.1, -FRAC_PI_2)),
        "stanford-b" => return Ok(stanford(name, 0.1, -FRAC_PI_2)),
        "stanford-c" => return Ok(stanford(name, 0.0, -FRAC_PI_2)),
        "stanford-d" => return Ok(stanford(name, -0.1, FRAC_PI_2)),
        "stanford-e" => return Ok(stanford(name, 0.1, FRAC_PI_2)),
        "space-robot" => return Ok(space_robot()),
        "zoo" => return Ok(zoo()),
        "bricard" => return Ok(closed_models::bricard()),
        "slider-crank" => return Ok(closed_models::slider_crank()),
        "particle-pendulum" => return Ok(benchmark_models::particle_pendulum()),
        "squeezer" => return Ok(benchmark_models::squeezer()),
        "governor" => return Ok(benchmark_models::governor()),
        "stewart" => return Ok(benchmark_models::stewart()),
        "rolling-disk" => return Ok(rolling_models::disk()),
        "sleigh" => return Ok(rolling_models::sleigh()),
        "bicycle" => return Ok(rolling_models::bicycle()),
        _ => {}
    }
    if let Some(n) = number("four-bar-") {
        return Ok(closed_models::four_bar(n?));
    }
    if let Some(n) = number("pendulum-") {
        return Ok(pendulum(n?));
    }
    if let Some(n) = number("floating-chain-") {
        return Ok(chain(n?, JointKind::Revolute, true));
    }
    if let Some(n) = number("spherical-chain-") {
        return Ok(chain(n?, JointKind::Spherical, false));
    }
    if let Some(n) = number("chain-") {
        return Ok(chain(n?, JointKind::Revolute, false));
    }
    if let Some(rest) = name.strip_prefix("random-")
        && let Some((n, seed)) = rest.split_once('-')
    {
        return Ok(random_tree(count(name, n)?, count(name, seed)? as u64));
    }
    Err(Error::new(
        ErrorKind::Model,
        format!("there is no embedded model `{name}`"),
    )
    .hint(format!(
        "the embedded models are {}",
        NAMES
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    )))
}

fn count(name: &str, text: &str) -> Result<usize> {
    match text.parse::<usize>() {
        Ok(n) if (1..=1_000_000).contains(&n) => Ok(n),
        _ => Err(Error::new(
            ErrorKind::Model,
            format!("`{name}`: `{text}` is not a number from 1 to 1000000"),
        )),
    }
}

/// A joint of a DH chain in Saha's convention: about or along z of the parent's frame, then to the link's own frame.
fn dh_joint(
    index: usize,
    kind: JointKind,
    parent: &str,
    [a, b, alpha, theta]: [f64; 4],
) -> JointSpec {
    JointSpec {
        joint_from_child: dh(a, b, alpha, theta),
        ..JointSpec::new(
            &format!("joint{index}"),
            kind,
            parent,
            &format!("link{index}"),
        )
    }
}

/// Kind, DH parameters (a, b, α, θ), mass, r (from the mass centre to the link frame), principal moments.
type DhLink = (JointKind, [f64; 4], f64, [f64; 3], [f64; 3]);

/// A chain of links given by DH parameters.
fn dh_chain(builder: &mut ModelBuilder, first_parent: &str, links: &[DhLink]) {
    let mut parent = first_parent.to_string();
    for (k, &(kind, parameters, mass, r, [xx, yy, zz])) in links.iter().enumerate() {
        let inertial = Inertial {
            mass,
            centre: -Vec3::from_array(r),
            tensor: Sym3::new(xx, yy, zz, 0.0, 0.0, 0.0),
        };
        let name = format!("link{}", k + 1);
        builder.link(&name, inertial);
        builder.joint(dh_joint(k + 1, kind, &parent, parameters));
        parent = name;
    }
    builder.frames.push(FrameSpec {
        name: "tool".into(),
        link: parent,
        link_from_frame: Pose::identity(),
        place: Place::default(),
    });
}

fn planar3() -> ModelBuilder {
    let mut builder = ModelBuilder::new("planar3");
    builder.gravity = Vec3::new(0.0, -9.81, 0.0);
    let rod = |mass: f64, length: f64| {
        let moment = mass * length * length / 12.0;
        (
            JointKind::Revolute,
            [length, 0.0, 0.0, 0.0],
            mass,
            [length / 2.0, 0.0, 0.0],
            [0.0, moment, moment],
        )
    };
    dh_chain(
        &mut builder,
        "world",
        &[rod(0.5, 0.3), rod(0.4, 0.25), rod(0.3, 0.22)],
    );
    builder.assumptions.push(
        "lengths and masses are ours: the paper's are not all printed; links are slender rods"
            .into(),
    );
    builder
}

/// The Stanford arm with its two illegible numbers: r_y of link 4 and α₂.
fn stanford(name: &str, height: f64, alpha: f64) -> ModelBuilder {
    use JointKind::{Prismatic, Revolute};
    let mut builder = ModelBuilder::new(name);
    let quarter = FRAC_PI_2;
    dh_chain(
        &mut builder,
        "world",
        &[
            (
                Revolute,
                [0.0, 0.2, -quarter, 0.0],
                9.0,
                [0.0, -0.1, 0.0],
                [0.01, 0.02, 0.01],
            ),
            (
                Revolute,
                [0.0, 0.1, alpha, 0.0],
                6.0,
                [0.0, 0.0, 0.0],
                [0.05, 0.06, 0.01],
            ),
            (
                Prismatic,
                [0.0, 0.0, 0.0, 0.0],
                4.0,
                [0.0, 0.0, 0.0],
                [0.4, 0.4, 0.01],
            ),
            (
                Revolute,
                [0.0, 0.6, quarter, 0.0],
                1.0,
                [0.0, height, 0.0],
                [0.001, 0.001, 0.0005],
            ),
            (
                Revolute,
                [0.0, 0.0, -quarter, 0.0],
                0.6,
                [0.0, 0.0, 0.0],
                [0.0005, 0.0005, 0.0002],
            ),
            (
                Revolute,
                [0.0, 0.0, 0.0, 0.0],
                0.5,
                [0.0, 0.0, 0.0],
                [0.003, 0.001, 0.002],
            ),
        ],
    );
    builder.assumptions.extend([
        format!(
            "r_y of link 4 is damaged in Table 3 (\"1\" for a link of 0.6 m): {} is used",
            match height {
                0.0 => "0",
                height if height < 0.0 => "−0.1 m",
                _ => "+0.1 m",
            }
        ),
        format!(
            "the sign of α₂ is illegible in Table 3: {}90° is used",
            if alpha < 0.0 { "−" } else { "+" }
        ),
        "gravity is not printed: 9.81 m/s² along −z of frame 1 is used".to_string(),
        "the inertia of link 6 (3, 1, 2 g·m²) is that of a plate: it meets the triangle inequality with equality".to_string(),
    ]);
    builder
}

fn space_robot() -> ModelBuilder {
    use JointKind::Revolute;
    let mut builder = ModelBuilder::new("space-robot");
    builder.gravity = Vec3::zero();
    builder.link(
        "spacecraft",
        Inertial {
            mass: 120.0,
            centre: Vec3::zero(),
            tensor: Sym3::new(22.0, 25.0, 18.0, 0.8, -0.5, 0.6),
        },
    );
    builder.joint(JointSpec::new(
        "base",
        JointKind::Free,
        "world",
        "spacecraft",
    ));
    let quarter = FRAC_PI_2;
    dh_chain(
        &mut builder,
        "spacecraft",
        &[
            (
                Revolute,
                [0.0, 0.25, quarter, 0.0],
                6.0,
                [0.0, 0.1, 0.02],
                [0.06, 0.03, 0.06],
            ),
            (
                Revolute,
                [0.7, 0.0, 0.0, 0.0],
                8.0,
                [0.35, 0.0, 0.01],
                [0.02, 0.36, 0.36],
            ),
            (
                Revolute,
                [0.05, 0.1, -quarter, 0.0],
                5.0,
                [0.01, 0.03, -0.02],
                [0.02, 0.025, 0.018],
            ),
            (
                Revolute,
                [0.0, 0.6, quarter, 0.0],
                4.0,
                [0.0, 0.28, 0.0],
                [0.12, 0.01, 0.12],
            ),
            (
                Revolute,
                [0.0, 0.0, -quarter, 0.0],
                2.0,
                [0.0, 0.01, -0.03],
                [0.006, 0.005, 0.004],
            ),
            (
                Revolute,
                [0.0, 0.15, 0.0, 0.0],
                1.5,
                [0.005, 0.0, 0.06],
                [0.004, 0.004, 0.002],
            ),
        ],
    );
    // the arm's first joint frame on the spacecraft
    let length = (0.9f64 * 0.9 + 0.1 * 0.1 + 0.2 * 0.2 + 0.35 * 0.35).sqrt();
    let mount = Pose::new(
        Mat3::from_quaternion([0.9 / length, 0.1 / length, -0.2 / length, 0.35 / length]),
        Vec3::new(0.5, 0.1, 0.4),
    );
    builder.joints[1].parent_from_joint = mount;
    builder
}

fn pendulum(n: usize) -> ModelBuilder {
    let mut builder = ModelBuilder::new(&format!("pendulum-{n}"));
    let (mass, length, radius) = (1.0, 1.0, 0.05);
    let across = mass * (3.0 * radius * radius + length * length) / 12.0;
    let along = mass * radius * radius / 2.0;
    let rod = Inertial {
        mass,
        centre: Vec3::new(0.0, 0.0, -length / 2.0),
        tensor: Sym3::new(across, across, along, 0.0, 0.0, 0.0),
    };
    let mut parent = "world".to_string();
    for k in 1..=n {
        let name = format!("rod{k}");
        builder.link(&name, rod);
        let mut joint = JointSpec::new(&format!("ball{k}"), JointKind::Spherical, &parent, &name);
        if k > 1 {
            joint.parent_from_joint = Pose::shift(Vec3::new(0.0, 0.0, -length));
        }
        builder.joint(joint);
        parent = name;
    }
    builder
}

fn chain(n: usize, kind: JointKind, floating: bool) -> ModelBuilder {
    let prefix = match (kind, floating) {
        (JointKind::Spherical, _) => "spherical-",
        (_, true) => "floating-",
        _ => "",
    };
    let name = format!("{prefix}chain-{n}");
    let mut builder = ModelBuilder::new(&name);
    let link = Inertial {
        mass: 1.0,
        centre: Vec3::new(0.0, 0.0, 0.1),
        tensor: Sym3::new(0.01, 0.02, 0.015, 0.0, 0.0, 0.0),
    };
    let mut parent = "world".to_string();
    if floating {
        builder.link("base", link);
        builder.joint(JointSpec::new("free", JointKind::Free, "world", "base"));
        parent = "base".to_string();
    }
    let axes = [
        Vec3::new(0.0, 0.0, 1.0),
        Vec3::new(0.0, 1.0, 0.0),
        Vec3::new(1.0, 0.0, 0.0),
    ];
    for k in 1..=n {
        let name = format!("link{k}");
        builder.link(&name, link);
        let mut joint = JointSpec::new(&format!("joint{k}"), kind, &parent, &name);
        joint.axes.first = axes[(k - 1) % 3];
        if k > 1 || floating {
            joint.parent_from_joint = Pose::shift(Vec3::new(0.0, 0.0, 0.2));
        }
        builder.joint(joint);
        parent = name;
    }
    builder
}

/// A branching tree with every kind of joint, with rotors, friction and springs in some joints.
fn zoo() -> ModelBuilder {
    let mut builder = ModelBuilder::new("zoo");
    let mut random = Random::new(2026);
    let plan = [
        (JointKind::Free, "world"),
        (JointKind::Revolute, "free"),
        (JointKind::Prismatic, "revolute"),
        (JointKind::Universal, "revolute"),
        (JointKind::Spherical, "universal"),
        (JointKind::Helical, "free"),
        (JointKind::Cylindrical, "helical"),
        (JointKind::Planar, "helical"),
        (JointKind::Continuous, "planar"),
        (JointKind::Fixed, "continuous"),
    ];
    for (kind, parent) in plan {
        builder.link(kind.name(), random_inertial(&mut random));
        let mut joint = random_joint(
            &mut random,
            kind,
            &format!("{kind}-joint"),
            parent,
            kind.name(),
        );
        if kind == JointKind::Revolute {
            joint.dofs = vec![Dof {
                armature: 0.02,
                damping: 0.1,
                friction: 0.05,
                limits: Some((-2.0, 2.0)),
                ..Dof::default()
            }];
        }
        if kind == JointKind::Prismatic {
            joint.dofs = vec![Dof {
                stiffness: 40.0,
                rest: 0.1,
                ..Dof::default()
            }];
        }
        if kind == JointKind::Universal {
            joint.dofs = vec![
                Dof {
                    armature: 0.01,
                    stiffness: 3.0,
                    ..Dof::default()
                };
                2
            ];
        }
        builder.joint(joint);
    }
    builder.frames.push(FrameSpec {
        name: "tool".into(),
        link: "fixed".into(),
        link_from_frame: Pose::shift(Vec3::new(0.1, 0.0, 0.2)),
        place: Place::default(),
    });
    builder
}

/// A random tree: the parents, joints, axes, placements, masses, rotors and passive forces are all drawn from the seed.
pub fn random_tree(n: usize, seed: u64) -> ModelBuilder {
    let mut random = Random::new(seed);
    let mut builder = ModelBuilder::new(&format!("random-{n}-{seed}"));
    builder.gravity = random_vector(&mut random, 10.0);
    let free_base = random.below(2) == 0;
    let with_rotors = random.below(2) == 0;
    let with_passive_forces = random.below(2) == 0;
    let straightness = random.uniform(0.0, 1.0);
    for k in 1..=n {
        let parent = if k == 1 || (!free_base && random.below(20) == 0) {
            "world".to_string()
        } else if random.uniform(0.0, 1.0) < straightness {
            format!("body{}", k - 1)
        } else {
            format!("body{}", 1 + random.below(k - 1))
        };
        let kind = if k == 1 && free_base {
            JointKind::Free
        } else {
            // a free joint inside a tree is allowed and appears occasionally
            JointKind::ALL[random.below(JointKind::ALL.len())]
        };
        // the first joint must move, or the model might have no moving joint at all
        let kind = if k == 1 && kind == JointKind::Fixed {
            JointKind::Revolute
        } else {
            kind
        };
        let child = format!("body{k}");
        builder.link(&child, random_inertial(&mut random));
        let mut joint = random_joint(&mut random, kind, &format!("joint{k}"), &parent, &child);
        if kind != JointKind::Fixed && (with_rotors || with_passive_forces) {
            joint.dofs = (0..kind.nv())
                .map(|_| random_dof(&mut random, kind, with_rotors, with_passive_forces))
                .collect();
        }
        builder.joint(joint);
    }
    builder
}

fn random_dof(random: &mut Random, kind: JointKind, rotor: bool, passive: bool) -> Dof {
    let mut dof = Dof::default();
    if rotor {
        dof.armature = random.uniform(0.0, 0.1);
    }
    if passive {
        dof.damping = random.uniform(0.0, 1.0);
        dof.friction = random.uniform(0.0, 0.5);
        if kind.quaternion().is_none() {
            dof.stiffness = random.uniform(0.0, 10.0);
            dof.rest = random.uniform(-1.0, 1.0);
        }
    }
    dof
}

fn random_vector(random: &mut Random, reach: f64) -> Vec3<f64> {
    Vec3::new(
        random.uniform(-reach, reach),
        random.uniform(-reach, reach),
        random.uniform(-reach, reach),
    )
}

fn random_pose(random: &mut Random) -> Pose<f64> {
    Pose::new(
        Mat3::from_quaternion(random.quaternion()),
        random_vector(random, 0.5),
    )
}

/// A random body: its second moments are those of three random lengths, so the triangle inequality holds.
fn random_inertial(random: &mut Random) -> Inertial {
    let mass = random.uniform(0.2, 3.0);
    let lengths = [(); 3].map(|()| random.uniform(0.05, 0.4));
    let [x, y, z] = lengths.map(|l| mass * l * l / 3.0);
    let principal = Sym3::new(y + z, x + z, x + y, 0.0, 0.0, 0.0);
    Inertial {
        mass,
        centre: random_vector(random, 0.3),
        tensor: principal.conjugate(Mat3::from_quaternion(random.quaternion())),
    }
}

fn random_joint(
    random: &mut Random,
    kind: JointKind,
    name: &str,
    parent: &str,
    child: &str,
) -> JointSpec {
    let axes = Mat3::from_quaternion(random.quaternion());
    JointSpec {
        parent_from_joint: random_pose(random),
        joint_from_child: random_pose(random),
        axes: AxisPair {
            first: axes.x,
            second: axes.z,
        },
        pitch: if kind == JointKind::Helical {
            random.uniform(0.05, 0.3)
        } else {
            0.0
        },
        ..JointSpec::new(name, kind, parent, child)
    }
}
