//! How MJCF files are read: numbers by closed forms, what becomes of joints, equalities and actuators, and what is refused.
//!
//! `python/tests/test_mjcf.py` compares the files in `mjcf/` with MuJoCo.

use catena::model::{JointKind, RuleSpec};
use catena::residual::{largest, relative};
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_io::drawing::Outline;
use catena_io::{BaseOption, ReadOptions, builder_from_mjcf, model_from_mjcf, read_model};
use std::f64::consts::PI;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mjcf")
}

fn world(inside: &str) -> String {
    format!("<mujoco>\n<worldbody>{inside}</worldbody>\n</mujoco>")
}

fn read(text: &str) -> ModelBuilder {
    builder_from_mjcf(text, "x.xml", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn built(text: &str) -> Model {
    model_from_mjcf(text, "x.xml", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    let read = model_from_mjcf(text, "x.xml", &ReadOptions::default());
    read.err()
        .unwrap_or_else(|| panic!("accepted: {text}"))
        .to_string()
}

fn ignoring(text: &str, names: &[&str]) -> ModelBuilder {
    let options = ReadOptions {
        ignore: names.iter().map(|name| (*name).into()).collect(),
        ..ReadOptions::default()
    };
    builder_from_mjcf(text, "x.xml", &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Mass, mass centre and moments of the only link of a body with these geoms.
fn mass_of(geoms: &str) -> (f64, [f64; 3], [f64; 3]) {
    let builder = read(&world(&format!("<body><joint/>{geoms}</body>")));
    let inertial = builder.links[0].inertial.expect("it has mass");
    let tensor = inertial.tensor;
    (
        inertial.mass,
        inertial.centre.to_array(),
        [tensor.xx, tensor.yy, tensor.zz],
    )
}

fn near(a: &[f64], b: &[f64]) {
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-13 * y.abs().max(1e-2), "{a:?} {b:?}");
    }
}

#[test]
fn geoms_have_the_mass_of_their_shapes() {
    let (mass, _, moments) = mass_of(r#"<geom size="0.2" density="500"/>"#);
    let expected = 500.0 * 4.0 / 3.0 * PI * 0.008;
    near(&[mass], &[expected]);
    near(&moments, &[0.4 * expected * 0.04; 3]);

    let (mass, centre, [x, y, z]) =
        mass_of(r#"<geom type="box" size="0.1 0.2 0.3" pos="1 2 3" mass="6"/>"#);
    near(&[mass, x, y, z], &[6.0, 2.0 * 0.13, 2.0 * 0.1, 2.0 * 0.05]);
    assert_eq!(centre, [1.0, 2.0, 3.0]);

    // along x: the axis of the cylinder is turned
    let (mass, centre, [x, y, z]) =
        mass_of(r#"<geom type="cylinder" fromto="0 0 0 0.6 0 0" size="0.1" mass="2"/>"#);
    let across = 2.0 * (3.0 * 0.01 + 0.36) / 12.0;
    near(&[mass, x, y, z], &[2.0, 2.0 * 0.005, across, across]);
    near(&centre, &[0.3, 0.0, 0.0]);
}

/// Two spheres: the parallel axis theorem. A third one is in a group that does not count, a fourth has no mass.
/// A shape needs all its sizes, and none of them may be zero or negative.
#[test]
fn sizes_are_checked() {
    for (kind, good) in [
        ("sphere", "0.1"),
        ("capsule", "0.1 0.2"),
        ("cylinder", "0.1 0.2"),
        ("box", "0.1 0.2 0.3"),
        ("ellipsoid", "0.1 0.2 0.3"),
    ] {
        let with = |size: &str| {
            world(&format!(
                "<body><joint/><geom type=\"{kind}\" {size}/></body>"
            ))
        };
        read(&with(&format!("size=\"{good}\"")));
        let error = refusal(&with(""));
        assert!(
            error.starts_with("<geom> has no attribute `size`"),
            "{error}"
        );
        let words: Vec<&str> = good.split(' ').collect();
        for k in 0..words.len() {
            for wrong in ["0", "-0.1"] {
                let mut sizes = words.clone();
                sizes[k] = wrong;
                let error = refusal(&with(&format!("size=\"{}\"", sizes.join(" "))));
                assert!(error.contains("must be positive"), "{kind}: {error}");
            }
        }
        if words.len() > 1 {
            let few = words[1..].join(" ");
            let error = refusal(&with(&format!("size=\"{few}\"")));
            assert!(error.contains("has too few numbers"), "{kind}: {error}");
        }
    }
}

/// Each of the bounds acts alone, on every body, also on one without mass of its own.
#[test]
fn masses_are_bounded_from_below() {
    let of = |bounds: &str| {
        let builder = read(&format!(
            r#"<mujoco><compiler {bounds}/><worldbody><body><joint/><inertial pos="0 0 0" mass="2" diaginertia="0.3 0.4 0.5"/>
            <body><joint axis="0 1 0"/></body></body></worldbody></mujoco>"#
        ));
        let numbers = builder.links.iter().map(|link| {
            let own = link.inertial.unwrap_or_default();
            [own.mass, own.tensor.xx, own.tensor.yy, own.tensor.zz]
        });
        numbers.collect::<Vec<_>>()
    };
    let heavy = [2.0, 0.3, 0.4, 0.5];
    let sorted = |mut numbers: [f64; 4]| {
        numbers[1..].sort_by(f64::total_cmp);
        numbers
    };
    let masses = of("boundmass=\"0.1\"");
    assert_eq!((masses[0], masses[1]), (heavy, [0.1, 0.0, 0.0, 0.0]));
    let moments = of("boundinertia=\"0.4\"");
    near(&sorted(moments[0]), &[2.0, 0.4, 0.4, 0.5]);
    near(&moments[1], &[0.0, 0.4, 0.4, 0.4]);
    let both = of("boundmass=\"3\" boundinertia=\"0.1\"");
    near(&both[0], &[3.0, 0.3, 0.4, 0.5]);
    near(&both[1], &[3.0, 0.1, 0.1, 0.1]);
}

/// A body without joints stands where it is put; cameras and lights change nothing.
#[test]
fn bodies_without_joints_are_fixed_in_place() {
    let builder = read(&world(
        r#"<camera/><light/><body name="a"><joint name="j" axis="0 1 0"/><geom size="0.1"/><camera/><light/>
        <body name="b" pos="0.3 0 0.2" euler="0 0 90"><geom size="0.1" pos="0.1 0 0"/></body></body>"#,
    ));
    let joint = builder.joints.iter().find(|joint| joint.child == "b");
    let joint = joint.expect("it is there");
    assert_eq!((joint.kind, &joint.parent[..]), (JointKind::Fixed, "a"));
    near(
        &joint.parent_from_joint.translation.to_array(),
        &[0.3, 0.0, 0.2],
    );
    let ball = 4.0 / 3.0 * PI * 1e-3 * 1000.0;
    let model = builder.build().expect("a model");
    let mut dynamics = Dynamics::new(&model);
    let inertia = dynamics.inertia(&State::neutral(&model)).expect("finite");
    // two balls, one of them at (0.3, 0.1, 0.2)
    near(
        &[inertia[(0, 0)]],
        &[ball * (2.0 * 0.4 * 1e-2 + 0.09 + 0.04)],
    );
}

/// Bodies and joints without names get some that no other has, whatever others are called.
#[test]
fn made_up_names_are_free() {
    let builder = read(&world(
        r#"<body name="body_2"><joint name="body_3_joint"/><geom size="0.1"/>
        <body><joint/><geom size="0.1"/><body name="body_2_2"><joint/><geom size="0.1"/><body><joint/><geom size="0.1"/></body></body></body></body>"#,
    ));
    let names: Vec<&str> = builder.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(names, ["body_2", "body_2_3", "body_2_2", "body_4"]);
    let mut joints: Vec<&str> = builder.joints.iter().map(|joint| &joint.name[..]).collect();
    joints.sort_unstable();
    joints.dedup();
    assert_eq!(joints.len(), 4);
    builder.build().expect("all names differ");
}

/// Attributes of defaults are those of their elements, and checked like them; joints of tendons have others.
#[test]
fn defaults_are_checked() {
    let with = |joint: &str| {
        format!(
            "<mujoco><default><joint {joint}/></default><worldbody><body><joint/><geom size=\"0.1\"/></body></worldbody></mujoco>"
        )
    };
    assert_eq!(read(&with("damping=\"2\"")).joints[0].dofs[0].damping, 2.0);
    let error = refusal(&with("dampin=\"2\""));
    assert!(error.contains("unknown attribute `dampin`"), "{error}");
    assert!(error.contains("did you mean `damping`?"), "{error}");
    let error = refusal(&format!(
        "<mujoco>{TWO}<tendon><fixed name=\"t\"><joint joint=\"ja\" coeff=\"1\"/></fixed></tendon></mujoco>"
    ));
    assert!(error.contains("unknown attribute `coeff`"), "{error}");
}

/// A rotation by a quaternion of no length is none.
#[test]
fn quaternions_have_a_length() {
    let body = |quat: &str| {
        world(&format!(
            "<body quat=\"{quat}\"><joint/><geom size=\"0.1\"/></body>"
        ))
    };
    for wrong in ["0 0 0 0", "0 1e-17 0 0", "1e200 0 0 1e200"] {
        let error = refusal(&body(wrong));
        assert!(error.contains("`quat`"), "{wrong}: {error}");
    }
    let joint = &read(&body("0 0 0 20")).joints[0];
    let x = joint.parent_from_joint.rotation.x.to_array();
    near(&x, &[-1.0, 0.0, 0.0]);
}

#[test]
fn geoms_of_a_body_add_up() {
    let text = r#"<mujoco><compiler inertiagrouprange="0 1"/><worldbody><body><joint/>
        <geom size="0.1" mass="1" pos="1 0 0"/><geom size="0.1" mass="3" pos="-1 0 0" group="1"/>
        <geom size="5" group="2"/><geom size="5" mass="0"/></body></worldbody></mujoco>"#;
    let inertial = read(text).links[0].inertial.expect("it has mass");
    assert_eq!(inertial.mass, 4.0);
    near(&inertial.centre.to_array(), &[-0.5, 0.0, 0.0]);
    let own = 4.0 * 0.4 * 0.01;
    let moments = [inertial.tensor.xx, inertial.tensor.yy];
    near(&moments, &[own, own + 1.0 * 2.25 + 3.0 * 0.25]);
}

/// A tetrahedron with three edges along the axes.
#[test]
fn meshes_enclose_their_mass() {
    let text = r#"<mujoco><asset><mesh name="m" vertex="0 0 0  2 0 0  0 2 0  0 0 2" face="0 2 1  0 1 3  0 3 2  1 2 3"/></asset>
        <worldbody><body><joint/><geom type="mesh" mesh="m" density="6"/></body></worldbody></mujoco>"#;
    let inertial = read(text).links[0].inertial.expect("it has mass");
    near(&[inertial.mass], &[6.0 * 8.0 / 6.0]);
    near(&inertial.centre.to_array(), &[0.5; 3]);
    // ∫x² = 2⁵/60, ∫xy = 2⁵/120 about the corner
    let second = 6.0 * 32.0 / 60.0 - inertial.mass * 0.25;
    let product = 6.0 * 32.0 / 120.0 - inertial.mass * 0.25;
    let tensor = inertial.tensor;
    near(&[tensor.xx, tensor.yy, tensor.zz], &[2.0 * second; 3]);
    near(&[tensor.xy, tensor.xz, tensor.yz], &[-product; 3]);
}

/// The faces of a tetrahedron with three edges of length 2 along the axes: their area has the mass, at the mean of their middles by area.
#[test]
fn meshes_may_have_their_mass_in_the_surface() {
    let text = r#"<mujoco><asset><mesh name="m" inertia="shell" vertex="0 0 0  2 0 0  0 2 0  0 0 2" face="0 2 1  0 1 3  0 3 2  1 2 3"/></asset>
        <worldbody><body><joint/><geom type="mesh" mesh="m" density="6"/></body></worldbody></mujoco>"#;
    let inertial = read(text).links[0].inertial.expect("it has mass");
    // three right-angled faces and an equilateral one of side 2 √2
    let slanted = 2.0 * 3f64.sqrt();
    let area = 3.0 * 2.0 + slanted;
    near(&[inertial.mass], &[6.0 * area]);
    let centre = (2.0 * (2.0 * 2.0 / 3.0) + slanted * 2.0 / 3.0) / area;
    near(&inertial.centre.to_array(), &[centre; 3]);
    // ∫x² of a triangle is a twelfth of its area times Σ x² + (Σ x)²: two faces have one corner at x = 2, the slanted one, too
    let squares = (2.0 + 2.0 + slanted) / 12.0 * (4.0 + 4.0);
    // ∫xy: Σ xy + Σ x Σ y is 4 for the face in that plane and for the slanted one
    let products = (2.0 + slanted) / 12.0 * 4.0;
    let (second, product) = (
        6.0 * squares - inertial.mass * centre * centre,
        6.0 * products - inertial.mass * centre * centre,
    );
    let tensor = inertial.tensor;
    near(&[tensor.xx, tensor.yy, tensor.zz], &[2.0 * second; 3]);
    near(&[tensor.xy, tensor.xz, tensor.yz], &[-product; 3]);
}

/// Faces name vertices by whole numbers from zero on.
#[test]
fn faces_name_vertices() {
    for wrong in ["-1", "4", "0.5", "1e30"] {
        let text = format!(
            r#"<mujoco><asset><mesh name="m" vertex="0 0 0  2 0 0  0 2 0  0 0 2" face="0 2 1  0 1 3  0 3 2  1 2 {wrong}"/></asset>
            <worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"#
        );
        let error = refusal(&text);
        assert!(
            error.contains("refers to vertices that do not exist"),
            "{wrong}: {error}"
        );
    }
}

/// A file in MuJoCo's own format has the mass of the same vertices and faces in the model file; normals and texture coordinates in between are passed over.
#[test]
fn meshes_in_the_format_of_mujoco() {
    let path = std::env::temp_dir().join(format!("catena-own-{}.msh", std::process::id()));
    let mut bytes: Vec<u8> = [4i32, 2, 3, 4]
        .into_iter()
        .flat_map(i32::to_le_bytes)
        .collect();
    let vertices = [
        [0f32, 0.0, 0.0],
        [2.0, 0.0, 0.0],
        [0.0, 3.0, 0.0],
        [0.0, 0.0, 1.0],
    ];
    bytes.extend(vertices.into_iter().flatten().flat_map(f32::to_le_bytes));
    bytes.extend([7f32; 2 * 3 + 3 * 2].into_iter().flat_map(f32::to_le_bytes));
    let faces = [[0i32, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    bytes.extend(faces.into_iter().flatten().flat_map(i32::to_le_bytes));
    std::fs::write(&path, bytes).expect("it can be written");
    let of = |mesh: &str| {
        let builder = read(&format!(
            "<mujoco><asset><mesh name=\"m\" {mesh}/></asset><worldbody><body><joint/><geom type=\"mesh\" mesh=\"m\" density=\"6\"/></body>\
             </worldbody></mujoco>"
        ));
        builder.links[0].inertial.expect("it has mass")
    };
    let read = of(&format!("file=\"{}\"", path.display()));
    std::fs::remove_file(&path).expect("it was there");
    near(&[read.mass], &[6.0]);
    near(&read.centre.to_array(), &[0.5, 0.75, 0.25]);
    let inline = r#"vertex="0 0 0  2 0 0  0 3 0  0 0 1" face="0 2 1  0 1 3  0 3 2  1 2 3""#;
    assert_eq!(read.tensor, of(inline).tensor);
}

/// Each axis has its own scale; one that is negative mirrors the mesh, which encloses as much.
#[test]
fn meshes_are_scaled_along_each_axis() {
    let text = |scale: &str| {
        format!(
            r#"<mujoco><asset><mesh name="m" scale="{scale}" vertex="0 0 0  2 0 0  0 2 0  0 0 2" face="0 2 1  0 1 3  0 3 2  1 2 3"/></asset>
            <worldbody><body><joint/><geom type="mesh" mesh="m" density="6"/></body></worldbody></mujoco>"#
        )
    };
    for (scale, factors) in [
        ("2 1 1", [2.0, 1.0, 1.0]),
        ("1 2 1", [1.0, 2.0, 1.0]),
        ("1 1 2", [1.0, 1.0, 2.0]),
        ("0.5 -2 4", [0.5, -2.0, 4.0]),
    ] {
        let inertial = read(&text(scale)).links[0].inertial.expect("it has mass");
        let volume: f64 = factors.iter().product();
        near(&[inertial.mass], &[8.0 * volume.abs()]);
        near(
            &inertial.centre.to_array(),
            &factors.map(|factor| 0.5 * factor),
        );
    }
}

#[test]
fn every_file_is_read() {
    for (name, nv) in [
        ("shapes", 4),
        ("joints", 15),
        ("compiler", 4),
        ("classes", 4),
        ("meshes", 5),
        ("springdamper", 9),
    ] {
        let path = folder().join(format!("{name}.xml"));
        let model =
            read_model(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.nv(), nv, "{name}");
        assert_eq!(model.name(), name);
    }
}

/// Inverse and forward dynamics are those of MuJoCo 4.0 at random states, as `mjcf/record.py` has written them. Both compute in double precision with
/// the same numbers of the files: 1e-9 of the largest entry allows for accelerations of light bodies.
#[test]
fn dynamics_are_those_of_mujoco() {
    let text = std::fs::read_to_string(folder().join("mujoco.txt")).expect("the record");
    let lines: Vec<(&str, &str, Vec<f64>)> = text
        .lines()
        .map(|line| {
            let (file, rest) = line.split_once(' ').expect("a file");
            let (what, rest) = rest.split_once(' ').expect("a quantity");
            let numbers = rest.split(' ').map(|word| word.parse().expect("a number"));
            (file, what, numbers.collect())
        })
        .collect();
    for state in lines.chunks(5) {
        let file = state[0].0;
        let of = |name: &str| -> &[f64] {
            let found = state.iter().find(|(.., what, _)| *what == name);
            &found.expect("recorded").2
        };
        let path = match file {
            "two_legs" => folder().join("../../../../models/two_legs.xml"),
            _ => folder().join(format!("{file}.xml")),
        };
        let model = read_model(&path, &ReadOptions::default()).expect("a model");
        let model = model.open_tree();
        let mut dynamics = Dynamics::new(&model);
        let at = State::new(&model, of("q"), of("v")).expect("finite");
        let still = vec![0.0; model.nv()];
        let bias = dynamics.inverse(&at, &still, &[]).expect("finite").to_vec();
        let acceleration = dynamics.forward(&at, of("tau"), &[]).expect("finite");
        for (ours, theirs) in [(&bias[..], of("bias")), (acceleration, of("acceleration"))] {
            let apart = relative(ours, theirs, largest(theirs));
            assert!(apart <= 1e-9, "{file}: {apart}\n{ours:?}\n{theirs:?}");
        }
    }
    assert_eq!(lines.len(), 8 * 2 * 5);
}

/// Joints of one body act in their order, each where the ones before have left the body.
#[test]
fn several_joints_of_a_body_are_a_chain() {
    let builder = read(&world(
        r#"<body name="hand" pos="0 0 1">
        <joint name="a" type="slide" axis="2 0 0"/><joint name="b" axis="0 1 0" pos="0 0 0.5"/>
        <geom size="0.1"/></body>"#,
    ));
    let links: Vec<&str> = builder.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(links, ["hand.a", "hand"]);
    let lines: Vec<String> = (builder.links.iter().map(|link| &link.place))
        .chain(builder.joints.iter().map(|joint| &joint.place))
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines, ["x.xml:3", "x.xml:2", "x.xml:3", "x.xml:3"]);
    assert!(builder.links[0].inertial.is_none());
    let [a, b] = &builder.joints[..] else {
        panic!("two joints");
    };
    assert_eq!(
        (&a.parent[..], &a.child[..], &b.parent[..], &b.child[..]),
        ("world", "hand.a", "hand.a", "hand")
    );
    assert_eq!(a.axes.first.to_array(), [1.0, 0.0, 0.0]);
    // turned by a right angle about y at half a metre above the body: x = 0.3 − 0.5, z = 1 + 0.5
    let model = builder.build().expect("a model");
    let state = State::new(&model, &[0.3, PI / 2.0], &[0.0; 2]).expect("a state");
    let mut dynamics = Dynamics::new(&model);
    let frame = model
        .tree()
        .frames
        .iter()
        .find(|frame| frame.name == "hand")
        .expect("its frame")
        .clone();
    let kinematics = dynamics.kinematics(&state, &[0.0; 2]).expect("kinematics");
    near(
        &kinematics.frame_pose(&frame).translation.to_array(),
        &[-0.2, 0.0, 1.5],
    );
}

/// At its reference a joint leaves the body where the file has it.
#[test]
fn references_shift_coordinates() {
    let model = built(&world(
        r#"<body name="one" pos="0 0 1"><joint name="turn" axis="0 0 1" ref="90"/><geom size="0.1"/>
           <body name="two" pos="1 0 0"><joint name="push" type="slide" axis="1 0 0" ref="0.25"/><geom size="0.1"/></body></body>"#,
    ));
    let mut dynamics = Dynamics::new(&model);
    let frame = model
        .tree()
        .frames
        .iter()
        .find(|frame| frame.name == "two")
        .expect("its frame")
        .clone();
    for (q, expected) in [
        ([PI / 2.0, 0.25], [1.0, 0.0, 1.0]),
        ([PI, 0.5], [0.0, 1.25, 1.0]),
    ] {
        let state = State::new(&model, &q, &[0.0; 2]).expect("a state");
        let kinematics = dynamics.kinematics(&state, &[0.0; 2]).expect("kinematics");
        near(
            &kinematics.frame_pose(&frame).translation.to_array(),
            &expected,
        );
    }
}

#[test]
fn settings_of_joints() {
    let builder = read(&world(
        r#"<body><joint name="j" range="-90 45" stiffness="2" springref="30" damping="0.1" frictionloss="0.2" armature="0.3"
            actuatorfrcrange="-5 5"/><geom size="0.1"/></body>"#,
    ));
    let joint = &builder.joints[0];
    let dof = joint.dofs[0];
    assert_eq!(joint.kind, JointKind::Revolute);
    assert_eq!(
        (dof.stiffness, dof.damping, dof.friction, dof.armature),
        (2.0, 0.1, 0.2, 0.3)
    );
    near(&[dof.rest], &[PI / 6.0]);
    let (lower, upper) = dof.limits.expect("limits");
    near(&[lower, upper], &[-PI / 2.0, PI / 4.0]);
    assert_eq!(dof.max_effort, Some(5.0));
}

/// What `<flag>` switches off is not there.
#[test]
fn flags_switch_off() {
    let joint = r#"<body><joint range="-1 1" stiffness="2" damping="1" frictionloss="3"/><geom size="0.1"/></body>"#;
    let off = |flag: &str| {
        let text = format!(
            "<mujoco><option><flag {flag}=\"disable\"/></option><worldbody>{joint}</worldbody></mujoco>"
        );
        let builder = read(&text);
        let dof = builder.joints[0].dofs.first().copied().unwrap_or_default();
        (
            builder.gravity.z,
            dof.stiffness,
            dof.damping,
            dof.friction,
            dof.limits.is_some(),
        )
    };
    assert_eq!(off("gravity"), (0.0, 2.0, 1.0, 3.0, true));
    assert_eq!(off("spring"), (-9.81, 0.0, 1.0, 3.0, true));
    assert_eq!(off("damper"), (-9.81, 2.0, 0.0, 3.0, true));
    assert_eq!(off("frictionloss"), (-9.81, 2.0, 1.0, 0.0, true));
    assert_eq!(off("limit"), (-9.81, 2.0, 1.0, 3.0, false));
    assert_eq!(off("constraint"), (-9.81, 2.0, 1.0, 0.0, false));
}

const TWO: &str = r#"<worldbody>
  <body name="a" pos="1 0 0"><joint name="ja" ref="10"/><geom size="0.1"/><site name="sa" pos="0 0 0.2"/></body>
  <body name="b" pos="0 2 0" euler="0 0 90"><joint name="jb"/><joint name="jc" axis="1 0 0"/><geom size="0.1"/><site name="sb" pos="0.1 0 0"/></body>
</worldbody>"#;

fn rule(equality: &str) -> RuleSpec {
    let text = format!(
        "<mujoco>{TWO}<tendon><fixed name=\"sum\"><joint joint=\"jb\" coef=\"2\"/><joint joint=\"ja\" coef=\"3\"/></fixed></tendon>\
         <equality>{equality}</equality></mujoco>"
    );
    let builder = read(&text);
    assert_eq!(builder.constraints.len(), 1);
    builder.build().unwrap_or_else(|error| panic!("{error}"));
    builder.constraints[0].rule.clone()
}

#[test]
fn equalities_of_bodies() {
    let RuleSpec::Joint(point) = rule(r#"<connect body1="a" body2="b" anchor="0 0 1"/>"#) else {
        panic!("a point");
    };
    assert_eq!(
        (point.kind, &point.parent[..], &point.child[..]),
        (JointKind::Spherical, "a", "b")
    );
    assert_eq!(
        point.parent_from_joint.translation.to_array(),
        [0.0, 0.0, 1.0]
    );
    // the point (1, 0, 1) of the world, seen from b
    near(
        &point.joint_from_child.inverse().translation.to_array(),
        &[-2.0, -1.0, 1.0],
    );

    let RuleSpec::Joint(weld) = rule(r#"<weld body1="a"/>"#) else {
        panic!("a weld");
    };
    assert_eq!((weld.kind, &weld.child[..]), (JointKind::Fixed, "world"));
    near(
        &weld.parent_from_joint.translation.to_array(),
        &[-1.0, 0.0, 0.0],
    );

    let RuleSpec::Joint(weld) =
        rule(r#"<weld body1="a" body2="b" relpose="1 2 3 1 0 0 0" anchor="0.1 0 0"/>"#)
    else {
        panic!("a weld");
    };
    assert_eq!(
        weld.parent_from_joint.translation.to_array(),
        [1.0, 2.0, 3.0]
    );
    assert_eq!(
        weld.joint_from_child.translation.to_array(),
        [-0.1, 0.0, 0.0]
    );

    let RuleSpec::Joint(point) = rule(r#"<connect site1="sa" site2="sb"/>"#) else {
        panic!("a point");
    };
    assert_eq!(
        point.parent_from_joint.translation.to_array(),
        [0.0, 0.0, 0.2]
    );
    near(
        &point.joint_from_child.translation.to_array(),
        &[-0.1, 0.0, 0.0],
    );
}

#[test]
fn equalities_of_coordinates() {
    let ten = 10.0f64.to_radians();
    let coupling = |equality: &str| match rule(equality) {
        RuleSpec::Coupling { terms, offset } => (terms, offset),
        other => panic!("{other:?}"),
    };
    let term = |name: &str, c: f64| (String::from(name), c);
    let (terms, offset) = coupling(r#"<joint joint1="jb" joint2="ja" polycoef="0.5 2 0 0 0"/>"#);
    assert_eq!(terms, [term("jb", 1.0), term("ja", -2.0)]);
    near(&[offset], &[0.5 - 2.0 * ten]);
    let (terms, offset) = coupling(r#"<joint joint1="ja" polycoef="0.25 1 0 0 0"/>"#);
    assert_eq!(terms, [term("ja", 1.0)]);
    near(&[offset], &[0.25 + ten]);
    let (terms, offset) = coupling(r#"<tendon tendon1="sum" polycoef="0.1 0 0 0 0"/>"#);
    assert_eq!(terms, [term("jb", 2.0), term("ja", 3.0)]);
    near(&[offset], &[0.1 + 3.0 * ten]);
}

#[test]
fn actuators_are_inputs_within_their_ranges() {
    let path = folder().join("joints.xml");
    let model = read_model(&path, &ReadOptions::default()).expect("a model");
    let actuators = model.actuators();
    let found: Vec<_> = actuators
        .iter()
        .map(|a| (&a.name[..], a.gear, a.max_effort, a.lag))
        .collect();
    assert_eq!(
        found,
        [
            ("hip", 20.0, Some(20.0), 0.0),
            ("hip_y", -3.0, Some(15.0), 0.0),
            ("elbow", 1.0, Some(10.0), 0.0),
            ("rail", 1.0, Some(6.0), 0.05),
        ]
    );
    let notes = &model.tree().assumptions;
    assert!(
        notes
            .iter()
            .any(|note| note.contains("`elbow` (position servo, kp 50, kv 0)")),
        "{notes:?}"
    );
}

/// A general actuator with a bias, another kind of gain or dynamics of its own is an effort that the note explains; any one of them is enough.
#[test]
fn general_actuators_that_are_no_motors_are_noted() {
    let notes = |attributes: &str| {
        let text = format!(
            "<mujoco>{TWO}<actuator><general name=\"g\" joint=\"ja\" {attributes}/></actuator></mujoco>"
        );
        let model = built(&text);
        let notes = model.tree().assumptions.iter();
        notes.filter(|note| note.contains("`g` (gain")).count()
    };
    for motor in [
        "",
        "gainprm=\"3\"",
        "biastype=\"none\" biasprm=\"0 -2 0\"",
        "biastype=\"affine\" biasprm=\"0 0 0\"",
        "dyntype=\"filter\" dynprm=\"0.1\"",
    ] {
        assert_eq!(notes(motor), 0, "{motor}");
    }
    for other in [
        "biastype=\"affine\" biasprm=\"0 -2 0\"",
        "gaintype=\"affine\" gainprm=\"1 2 3\"",
        "dyntype=\"integrator\"",
    ] {
        assert_eq!(notes(other), 1, "{other}");
    }
}

/// Several drives of a joint are one: their rotors resist together, each by the square of its own gear, and their efforts add up if all are bounded.
#[test]
fn drives_of_a_joint_act_together() {
    let drive = |second: &str| {
        let builder = read(&format!(
            "<mujoco>{TWO}<actuator><motor name=\"m\" joint=\"ja\" gear=\"3\" armature=\"0.2\" ctrlrange=\"-2 2\"/>\
             <motor name=\"n\" joint=\"ja\" gear=\"5\" armature=\"0.4\" {second}/></actuator></mujoco>"
        ));
        assert_eq!(builder.actuators.len(), 1);
        builder.actuators[0].clone()
    };
    let both = drive("ctrlrange=\"-1 1\"");
    let felt = both.gear * both.gear * both.rotor_inertia;
    near(&[felt], &[9.0 * 0.2 + 25.0 * 0.4]);
    assert_eq!(both.max_effort, Some(3.0 * 2.0 + 5.0 * 1.0));
    assert_eq!(drive("").max_effort, None);
}

/// A pendulum that its weight pulls, and a slide with a load: inertia, time constant and damping ratio give spring and damper, whatever else acts.
#[test]
fn springs_from_time_constants() {
    let (time, ratio) = (0.1f64, 0.7f64);
    let of = |joint: &str| {
        let builder = read(&world(&format!(
            r#"<body><joint {joint} springdamper="{time} {ratio}"/>
               <inertial pos="0.5 0 0" mass="2" diaginertia="0.3 0.4 0.5"/></body>"#
        )));
        builder.joints[0].dofs[0]
    };
    for (joint, inertia) in [
        (r#"axis="0 1 0""#, 0.4 + 2.0 * 0.25),
        (r#"axis="0 0 1""#, 0.5 + 2.0 * 0.25),
        (r#"type="slide" axis="0 0 1""#, 2.0),
    ] {
        let dof = of(joint);
        let expected = [2.0 * inertia / time, inertia / (time * ratio).powi(2)];
        near(&[dof.damping, dof.stiffness], &expected);
    }
    // a pair that is not positive asks for nothing
    for pair in ["0.1 0", "0 0.7", "-0.1 0.7", "0.1 -1"] {
        let builder = read(&world(&format!(
            "<body><joint damping=\"2\" springdamper=\"{pair}\"/><geom size=\"0.1\"/></body>"
        )));
        let dof = builder.joints[0].dofs[0];
        assert_eq!((dof.damping, dof.stiffness), (2.0, 0.0), "{pair}");
    }
}

/// Damping of a rotor is felt at the joint by the square of the gear, beside the joint's own; a flag switches both off.
#[test]
fn damping_of_drives_acts_on_joints() {
    let damping = |flags: &str, joint: &str, second: &str| {
        let builder = read(&format!(
            r#"<mujoco>{flags}<worldbody><body><joint name="j" {joint}/><geom size="0.1"/></body></worldbody>
            <actuator><motor joint="j" gear="3" damping="0.5 0"/>{second}</actuator></mujoco>"#
        ));
        builder.joints[0]
            .dofs
            .first()
            .map_or(0.0, |dof| dof.damping)
    };
    near(&[damping("", "", "")], &[4.5]);
    near(&[damping("", "damping=\"0.25\"", "")], &[4.75]);
    let second = "<motor name=\"m\" joint=\"j\" gear=\"-2\" damping=\"0.1\"/>";
    near(&[damping("", "", second)], &[4.9]);
    let off = "<option><flag damper=\"disable\"/></option>";
    assert_eq!(damping(off, "damping=\"0.25\"", ""), 0.0);
}

/// Drives that have no place in a model are told in every command.
#[test]
fn actuators_without_a_joint_are_warned_about() {
    let text = format!(
        "<mujoco>{TWO}<actuator><motor name=\"m\" joint=\"ja\"/><motor name=\"n\" site=\"sa\"/></actuator></mujoco>"
    );
    let builder = read(&text);
    assert_eq!(builder.actuators.len(), 1);
    assert_eq!(
        builder.warnings[0].message,
        "actuator `n` is left out: only joints with one freedom are driven here, by an effort"
    );
    let text = r#"<mujoco><worldbody><body><joint name="ball" type="ball"/><geom size="0.1"/>
        <body><joint name="hinge"/><geom size="0.1"/></body></body></worldbody>
        <actuator><motor name="x" joint="ball"/><motor name="y" joint="hinge" gear="0"/><motor name="z" joint="hinge"/>
        <adhesion name="w" joint="hinge"/></actuator></mujoco>"#;
    let builder = read(text);
    let names: Vec<&str> = builder.actuators.iter().map(|a| &a.name[..]).collect();
    assert_eq!(names, ["z"]);
    assert_eq!(
        builder.warnings[0].message,
        "3 actuators (`x`, `y`, `w`) are left out: only joints with one freedom are driven here, by an effort"
    );
}

/// Copies stand where MuJoCo 4.0 has them, each turned by another multiple of `euler`, and have its names; those of a copy in a copy are added first.
#[test]
fn copies_are_made() {
    let text = r#"<mujoco><worldbody><body name="base" pos="1 0 0"><joint name="jb"/><geom size=".1"/>
        <replicate count="11" offset="0.1 0 0.05" euler="0 20 30" sep="-">
          <body name="l" pos="0 0.3 0"><joint name="j" axis="0 1 0"/><geom size=".05" pos="0.1 0 0"/><site name="s"/>
            <replicate count="2" offset="0 1 0"><body name="in"><joint name="k"/><geom size="0.02"/></body></replicate>
          </body>
          <geom size="0.01" pos="0 0 0.5"/>
        </replicate></body></worldbody></mujoco>"#;
    let builder = read(text);
    let names: Vec<&str> = builder.links.iter().map(|link| &link.name[..]).collect();
    let first = ["base", "l-00", "in0-00", "in1-00", "l-01", "in0-01"];
    assert_eq!((&names[..6], names.len()), (&first[..], 34));
    let joints: Vec<&str> = builder.joints.iter().map(|joint| &joint.name[..]).collect();
    assert_eq!(
        &joints[..6],
        ["jb", "j-00", "k0-00", "k1-00", "j-01", "k0-01"]
    );
    assert!(builder.frames.iter().any(|frame| frame.name == "s-10"));
    let place = |name: &str| {
        let joint = builder.joints.iter().find(|joint| joint.name == name);
        joint.expect(name).parent_from_joint
    };
    for (name, wanted) in [
        ("j-01", [-0.04095389, 0.25980762, 0.10130302]),
        ("j-02", [-0.00054341, 0.2, 0.23436594]),
        ("j-03", [0.11892238, 0.13660254, 0.33333528]),
        ("k1-07", [0.0, 1.0, 0.0]),
    ] {
        for (found, wanted) in place(name).translation.to_array().iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-8, "{name}: {:?}", place(name));
        }
    }
    for (wrong, told) in [
        ("", "has no attribute `count`"),
        (
            "count=\"1.5\"",
            "`count` of <replicate> must be a whole number",
        ),
        (
            "count=\"-1\"",
            "`count` of <replicate> must be a whole number",
        ),
        ("count=\"1000000000\"", "makes more than 100000 copies"),
        ("count=\"2\" pos=\"0 0 0\"", "unknown attribute `pos`"),
    ] {
        let body = "<body name=\"l\"><joint/><geom size=\"0.1\"/></body>";
        let found = refusal(&world(&format!("<replicate {wrong}>{body}</replicate>")));
        assert!(found.contains(told), "{wrong}: {found}");
    }
    // no copy is a copy less; what has no name gets none from being copied
    let links = |inside: &str| -> Vec<String> {
        let builder = read(&world(&format!(
            "<body name=\"a\"><joint/><geom size=\"0.1\"/>{inside}</body>"
        )));
        builder.links.into_iter().map(|link| link.name).collect()
    };
    let copied = |count: u32, name: &str| {
        links(&format!(
            "<replicate count=\"{count}\"><body {name}><joint/><geom size=\"0.1\"/></body></replicate>"
        ))
    };
    assert_eq!(copied(0, ""), ["a"]);
    assert_eq!(copied(1, "name=\"b\""), ["a", "b0"]);
    assert_eq!(copied(2, "name=\"\""), copied(2, ""));
    // the bound is one for the whole file
    let many = "<replicate count=\"60000\"/>";
    let found = refusal(&world(&format!("{many}{many}")));
    assert!(found.contains("makes more than 100000 copies"), "{found}");
    let many = "<replicate count=\"20000\"><site/><site/><site/></replicate>";
    let found = refusal(&world(&format!("{many}{many}")));
    assert!(found.contains("makes more than 100000 copies"), "{found}");
}

/// Dampers and cylinders are driven by something else than efforts; a cylinder with a force of its own acts without being driven.
#[test]
fn dampers_and_cylinders_are_no_inputs() {
    let of = |inside: &str| format!("<mujoco>{TWO}<actuator>{inside}</actuator></mujoco>");
    let text = of(
        "<damper name=\"d\" joint=\"ja\" kv=\"2\" ctrlrange=\"0 1\"/>\
         <cylinder name=\"c\" joint=\"ja\" area=\"0.1\"/>",
    );
    let builder = read(&text);
    assert!(builder.actuators.is_empty());
    let told: Vec<&str> = builder.warnings.iter().map(|w| &w.message[..]).collect();
    assert_eq!(
        told,
        [
            "actuator `d` is left out: the input of a damper is a damping, here it would be an effort",
            "actuator `c` is left out: the input of a cylinder is a pressure, here it would be an effort",
        ]
    );
    let idle = read(&of("<cylinder name=\"c\" joint=\"ja\" bias=\"0 0 0\"/>"));
    assert!(idle.actuators.is_empty() && idle.warnings.len() == 1);
    let pushes = of("<cylinder name=\"c\" joint=\"ja\" bias=\"1 0 0\"/>");
    let refused = refusal(&pushes);
    assert!(
        refused.contains("actuator `c` is a cylinder with a force of its own (`bias`)"),
        "{refused}"
    );
    let left_out = ignoring(&pushes, &["cylinder"]).assumptions.join("\n");
    assert!(
        left_out.contains("left out on request: actuator `c`"),
        "{left_out}"
    );
}

/// A weld whose torque is scaled to nothing holds points together, at its anchor.
#[test]
fn welds_without_torque_hold_points() {
    let of = |weld: &str| {
        let text = format!("<mujoco>{TWO}<equality>{weld}</equality></mujoco>");
        let mut constraints = read(&text).constraints;
        match constraints.pop().expect("a constraint").rule {
            RuleSpec::Joint(joint) => *joint,
            other => panic!("{other:?}"),
        }
    };
    let (weld, connect) = (
        of("<weld body1=\"a\" body2=\"b\" anchor=\"0.1 0.2 0.3\" torquescale=\"0\"/>"),
        of("<connect body1=\"b\" body2=\"a\" anchor=\"0.1 0.2 0.3\"/>"),
    );
    assert_eq!(weld.kind, catena::model::JointKind::Spherical);
    let point = weld.joint_from_child.inverse().translation - connect.parent_from_joint.translation;
    let other = weld.parent_from_joint.translation - connect.joint_from_child.inverse().translation;
    assert!(point.norm() < 1e-15 && other.norm() < 1e-15);
    let full = of("<weld body1=\"a\" body2=\"b\" torquescale=\"0.5\"/>");
    assert_eq!(full.kind, catena::model::JointKind::Fixed);
}

#[test]
fn what_cannot_be_represented_is_refused_by_name_or_left_out() {
    let body = r#"<worldbody><body name="a"><joint/><geom size="0.1"/><site name="s"/></body></worldbody>"#;
    for (name, text) in [
        (
            "fluid",
            format!("<mujoco><option density=\"1.2\"/>{body}</mujoco>"),
        ),
        (
            "fluid",
            format!("<mujoco><option viscosity=\"0.1\"/>{body}</mujoco>"),
        ),
        (
            "spatial",
            format!(
                "<mujoco>{body}<tendon><spatial><site site=\"s\"/></spatial></tendon></mujoco>"
            ),
        ),
        (
            "flex",
            format!("<mujoco>{body}<deformable><flex/></deformable></mujoco>"),
        ),
        (
            "plugin",
            world("<body><joint/><geom size=\"0.1\"/><plugin plugin=\"p\"/></body>"),
        ),
        (
            "composite",
            world("<body><joint/><geom size=\"0.1\"/><composite/></body>"),
        ),
        (
            "attach",
            world("<body><joint/><geom size=\"0.1\"/><attach/></body>"),
        ),
        (
            "stiffness",
            world("<body><joint type=\"ball\" stiffness=\"1\"/><geom size=\"0.1\"/></body>"),
        ),
        (
            "damping",
            world("<body><joint damping=\"1 0.5\"/><geom size=\"0.1\"/></body>"),
        ),
        (
            "polycoef",
            format!(
                "<mujoco>{TWO}<equality><joint joint1=\"ja\" joint2=\"jb\" polycoef=\"0 1 1 0 0\"/></equality></mujoco>"
            ),
        ),
        (
            "tendon",
            format!(
                "<mujoco>{TWO}<tendon><fixed stiffness=\"1\"><joint joint=\"ja\" coef=\"1\"/></fixed></tendon></mujoco>"
            ),
        ),
        (
            "muscle",
            format!("<mujoco>{TWO}<actuator><muscle joint=\"ja\"/></actuator></mujoco>"),
        ),
    ] {
        let error = refusal(&text);
        assert!(error.contains("x.xml:"), "{error}");
        assert!(error.contains(&format!("`--ignore {name}`")), "{error}");
        let builder = ignoring(&text, &[name]);
        let told = builder
            .assumptions
            .iter()
            .any(|note| note.starts_with("left out on request: "));
        assert!(told, "{name}: {:?}", builder.assumptions);
        builder
            .build()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn names_to_ignore_are_checked() {
    let options = ReadOptions {
        ignore: vec!["fluids".into()],
        ..ReadOptions::default()
    };
    let text = world("<body><joint/><geom size=\"0.1\"/></body>");
    let error = model_from_mjcf(&text, "x.xml", &options).expect_err("a mistyped name");
    assert_eq!(
        error.to_string(),
        "`fluids` is not a feature of MJCF files that can be ignored\nhint: did you mean `fluid`?"
    );
}

/// A body whose weight is compensated stays where it is put.
#[test]
fn gravity_compensation() {
    let text = world(
        r#"<body gravcomp="1"><joint/><geom size="0.1" pos="0.3 0 0"/>
           <body pos="0.5 0 0" gravcomp="0.25"><joint axis="0 1 0"/><geom size="0.1" mass="2" pos="0.5 0 0"/></body></body>"#,
    );
    let model = built(&text);
    let state = State::new(&model, &[0.4, 0.0], &[0.0; 2]).expect("a state");
    let mut dynamics = Dynamics::new(&model);
    let tau = dynamics.inverse(&state, &[0.0; 2], &[]).expect("efforts");
    near(tau, &[0.0, -0.75 * 2.0 * 9.81 * 0.5]);
}

/// States begin at MuJoCo's reference position.
#[test]
fn the_state_to_start_from() {
    let model = built(&world(
        r#"<body pos="1 2 3" euler="0 0 90"><freejoint/><geom size="0.1"/><body><joint ref="90"/><joint axis="1 0 0"/><geom size="0.1"/></body></body>"#,
    ));
    let half = 0.5f64.sqrt();
    near(
        &model.tree().start,
        &[1.0, 2.0, 3.0, half, 0.0, 0.0, half, PI / 2.0, 0.0],
    );
}

#[test]
fn the_base_on_request() {
    let read_with = |text: &str, base| {
        let options = ReadOptions {
            base: Some(base),
            ..ReadOptions::default()
        };
        model_from_mjcf(text, "x.xml", &options)
    };
    let fixed = world(
        "<body name=\"a\" pos=\"0 0 1\"><geom size=\"0.1\"/><body><joint/><geom size=\"0.1\"/></body></body>",
    );
    let free = world(
        "<body name=\"a\"><freejoint/><geom size=\"0.1\"/><body><joint/><geom size=\"0.1\"/></body></body>",
    );
    let hinged = world("<body name=\"a\"><joint name=\"h\"/><geom size=\"0.1\"/></body>");
    for text in [&fixed, &free] {
        assert_eq!(read_with(text, BaseOption::Free).expect("a model").nv(), 7);
        assert_eq!(read_with(text, BaseOption::Fixed).expect("a model").nv(), 1);
    }
    assert_eq!(
        read_with(&hinged, BaseOption::Fixed).expect("a model").nv(),
        1
    );
    let error = read_with(&hinged, BaseOption::Free)
        .expect_err("it is hinged")
        .to_string();
    assert!(
        error.starts_with("the base cannot be free: joint `h` joins body `a` to the ground"),
        "{error}"
    );
}

/// Thousands of bodies within each other are read without running out of stack.
#[test]
fn long_chains_are_read() {
    let count = 3000;
    let body = "<body pos=\"0 0 -0.1\"><joint axis=\"0 1 0\"/><geom size=\"0.04\"/>";
    let text = world(&format!(
        "{}{}",
        body.repeat(count),
        "</body>".repeat(count)
    ));
    assert_eq!(read(&text).joints.len(), count);
}

/// A mesh that nobody needs is not looked for.
#[test]
fn meshes_are_read_only_where_they_count() {
    let text = |inertial: &str| {
        format!(
            "<mujoco><asset><mesh name=\"m\" file=\"no_such.stl\"/></asset><worldbody><body><joint/>{inertial}\
             <geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>"
        )
    };
    built(&text(
        "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>",
    ));
    assert!(refusal(&text("")).contains("the file `no_such.stl` does not exist"));
}

/// Without `strippath` the folders in the name of a mesh count, with it only its last part does.
#[test]
fn paths_of_meshes_can_be_stripped() {
    let text = |strip: &str| {
        format!(
            "<mujoco><compiler {strip}/><asset><mesh name=\"m\" file=\"elsewhere/no_such.stl\"/></asset><worldbody><body><joint/>\
             <geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>"
        )
    };
    let missing = |file: &str| format!("the file `{file}` does not exist");
    for (strip, file) in [
        ("", "elsewhere/no_such.stl"),
        ("strippath=\"false\"", "elsewhere/no_such.stl"),
        ("strippath=\"true\"", "no_such.stl"),
    ] {
        let told = refusal(&text(strip));
        assert!(told.contains(&missing(file)), "{strip}: {told}");
    }
}

/// Shapes touch nothing here, which is noted with their number.
#[test]
fn geoms_that_could_touch_are_noted() {
    let notes = |geoms: &str| {
        let model = built(&world(&format!(
            "<body><joint/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>{geoms}</body>"
        )));
        let notes = model.tree().assumptions.iter();
        notes
            .filter(|note| note.starts_with("contacts are not modelled"))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(notes("").is_empty());
    assert_eq!(
        notes("<geom size=\"0.1\"/><geom size=\"0.2\"/>"),
        ["contacts are not modelled: 2 <geom> contribute mass at most"]
    );
}

/// XML files are told apart by their first element, wherever the other's name may stand.
#[test]
fn the_first_element_decides() {
    let path = std::env::temp_dir().join(format!("catena-mjcf-{}.xml", std::process::id()));
    let urdf = "<?xml version=\"1.0\"?><!-- <mujoco> --><robot name=\"r\"><mujoco/><link name=\"a\"/><link name=\"b\"><inertial><mass \
                value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link><joint name=\"j\" \
                type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/></joint></robot>";
    for text in [
        urdf.into(),
        world("<body><joint/><geom size=\"0.1\"/></body>"),
    ] {
        std::fs::write(&path, text).expect("it can be written");
        let model =
            read_model(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.nv(), 1);
    }
    std::fs::remove_file(&path).expect("it was there");
}

/// A file whose name says what it is need not say it again.
#[test]
fn the_extension_decides() {
    let path = std::env::temp_dir().join(format!("catena-extension-{}.MJCF", std::process::id()));
    std::fs::write(&path, world("<body><joint/><geom size=\"0.1\"/></body>"))
        .expect("it can be written");
    let model = read_model(&path, &ReadOptions::default());
    std::fs::remove_file(&path).expect("it was there");
    assert_eq!(model.unwrap_or_else(|error| panic!("{error}")).nv(), 1);
}

/// A section that nobody knows is a mistake, or left out on request and counted.
#[test]
fn unknown_sections() {
    let text = "<mujoco><sensors/><worldbody><body><joint/><geom size=\"0.1\"/></body></worldbody></mujoco>";
    let error = refusal(text);
    assert!(error.contains("did you mean `sensor`?"), "{error}");
    let options = ReadOptions {
        ignore_unknown: true,
        ..ReadOptions::default()
    };
    let builder = builder_from_mjcf(text, "x.xml", &options).expect("left out");
    let notes = builder.assumptions.join("\n");
    assert!(notes.contains("<sensors>"), "{notes}");
}

/// Geoms are drawn where MuJoCo has them: the numbers are those of `geom_xpos` of MuJoCo 4.0 for `shapes.xml`.
#[test]
fn geoms_are_drawn_where_they_are() {
    let path = folder().join("shapes.xml");
    let drawing = catena_io::drawing::of_mjcf(&path).expect("a drawing");
    assert_eq!((drawing.shapes.len(), drawing.notes.len()), (12, 0));
    let model = read_model(&path, &ReadOptions::default()).expect("a model");
    let state = State::start(&model);
    let mut dynamics = Dynamics::new(&model);
    let still = vec![0.0; model.nv()];
    let world = dynamics
        .kinematics(&state, &still)
        .expect("poses")
        .world_from_body
        .clone();
    let places: Vec<[f64; 3]> = drawing
        .shapes
        .iter()
        .map(|shape| {
            let link = shape.link.as_deref().expect("a link");
            let frame = model.tree().frame(link).expect("a frame");
            let pose = world[frame.body] * frame.body_from_frame * shape.link_from_shape;
            pose.translation.to_array()
        })
        .collect();
    let expected = [
        (1, [0.070447979334, 0.283838664359, 1.045801271085]),
        (4, [0.709064487129, 0.354608623837, 1.059158144406]),
        (6, [0.658471663852, 0.322083265724, 1.390979676795]),
        (11, [0.794514802959, 0.430806986175, 1.122332292826]),
    ];
    for (k, wanted) in expected {
        for (found, wanted) in places[k].iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-9, "geom {k}: {:?}", places[k]);
        }
    }
}

/// Meshes, colours of geoms and of their materials, and what is not to be seen.
#[test]
fn meshes_and_colours_are_drawn() {
    let path = std::env::temp_dir().join(format!("catena-colours-{}.xml", std::process::id()));
    let text = r#"<mujoco><asset><material name="red" rgba="1 0 0 2"/>
        <mesh name="m" vertex="0 0 0  1 0 0  0 1.5 0  0 0 0.7" face="0 2 1  0 1 3  0 3 2  1 2 3"/></asset>
        <worldbody><geom type="plane" size="1 1 1"/><body name="a"><joint/>
        <geom type="mesh" mesh="m" material="red"/><geom size="0.1" rgba="0 0.5 1 1"/><geom size="0.1" material="lost"/>
        <geom size="0.1" rgba="1 1 1 0"/><geom size="0.1" group="3"/><geom type="capsule" size="0.1 0.2"/>
        <geom type="box" size="1 2 3"/><geom size="0.1" group="2"/><geom type="mesh" mesh="lost"/><geom type="hfield" hfield="h"/></body></worldbody></mujoco>"#;
    std::fs::write(&path, text).expect("a temporary file");
    let drawing = catena_io::drawing::of_mjcf(&path).expect("a drawing");
    let _ = std::fs::remove_file(&path);
    let found: Vec<_> = drawing.shapes.iter().map(|shape| shape.colour).collect();
    let (red, blue) = (Some([1.0, 0.0, 0.0, 1.0]), Some([0.0, 0.5, 1.0, 1.0]));
    assert_eq!(found, [red, blue, None, None, None, None]);
    assert!(
        drawing
            .shapes
            .iter()
            .all(|shape| shape.link.as_deref() == Some("a"))
    );
    let Outline::Mesh { vertices, faces } = &drawing.shapes[0].outline else {
        panic!("{:?}", drawing.shapes[0]);
    };
    assert_eq!(vertices[2], [0.0, 1.5, 0.0]);
    assert_eq!(faces[3], [1, 2, 3]);
    let capsule = Outline::Capsule {
        radius: 0.1,
        half: 0.2,
    };
    assert_eq!(drawing.shapes[3].outline, capsule);
    assert_eq!(drawing.shapes[4].outline, Outline::Box([1.0, 2.0, 3.0]));
    assert_eq!(drawing.notes.len(), 2);
    for (note, told) in drawing.notes.iter().zip([
        "there is no mesh `lost`",
        "`type` of <geom> of body `a` is not drawn",
    ]) {
        assert!(note.contains(told), "{:?}", drawing.notes);
    }
}

/// A drawing needs no dynamics: what a model is refused for is shown all the same.
#[test]
fn what_cannot_move_is_drawn() {
    let path = std::env::temp_dir().join(format!("catena-drawn-{}.xml", std::process::id()));
    let text = world(
        "<body><joint damping=\"1 2\"/><inertial/><inertial/><geom size=\"0.1\"/><plugin plugin=\"cable\"/><unknown/></body>",
    );
    std::fs::write(&path, &text).expect("a temporary file");
    let drawing = catena_io::drawing::of_mjcf(&path);
    let _ = std::fs::remove_file(&path);
    assert_eq!(drawing.expect("a drawing").shapes.len(), 1);
    assert!(refusal(&text).contains("damping"), "{}", refusal(&text));
}

/// Of the objects in an OBJ file the first one with faces counts, whether the lines before it name it or not; its faces may be counted back from the last vertex.
#[test]
fn the_first_object_of_a_file_counts() {
    let path = std::env::temp_dir().join(format!("catena-objects-{}.obj", std::process::id()));
    let corners = |size: f64| format!("v 0 0 0\nv {size} 0 0\nv 0 {size} 0\nv 0 0 {size}\n");
    let first = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    let second = "f -4 -2 -3\nf -4 -3 -1\nf -4 -1 -2\nf -3 -2 -1\n";
    let mass = |text: String| {
        std::fs::write(&path, text).expect("it can be written");
        let builder = read(&format!(
            "<mujoco><asset><mesh name=\"m\" file=\"{}\"/></asset><worldbody><body><joint/>\
             <geom type=\"mesh\" mesh=\"m\" density=\"6\"/></body></worldbody></mujoco>",
            path.display()
        ));
        builder.links[0].inertial.expect("it has mass").mass
    };
    let (small, large) = (corners(1.0), corners(2.0));
    for mark in ["o", "g"] {
        near(
            &[mass(format!("{small}{first}{mark} b\n{large}{second}"))],
            &[1.0],
        );
        near(
            &[mass(format!("{mark} a\n{small}{mark} b\n{large}{second}"))],
            &[8.0],
        );
    }
    std::fs::remove_file(&path).expect("it was there");
}

/// Files of meshes that are none, each with what is said about it.
#[test]
fn files_that_are_no_meshes() {
    let folder = std::env::temp_dir().join(format!("catena-meshes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let counts = |counts: [i32; 4]| -> Vec<u8> {
        let numbers = counts.into_iter().flat_map(i32::to_le_bytes);
        numbers.collect()
    };
    let mut far = vec![0; 84];
    far[80] = 1;
    far.extend([0; 12]);
    far.extend(f32::INFINITY.to_le_bytes());
    far.extend([0; 34]);
    let mut unknown = counts([1, 0, 0, 1]);
    unknown.extend([0; 12]);
    unknown.extend([0, 1, 0].into_iter().flat_map(i32::to_le_bytes));
    let mut points = counts([1, 0, 0, 0]);
    points.extend([0; 12]);
    let files: [(&str, Vec<u8>, &str); 13] = [
        ("short.stl", vec![0; 10], "this is not a binary STL file"),
        ("empty.stl", vec![0; 84], "this is not a binary STL file"),
        ("far.stl", far, "a vertex is not finite"),
        ("short.msh", vec![1; 3], "this is not an MSH file"),
        (
            "negative.msh",
            counts([-1, 0, 0, 0]),
            "this is not an MSH file",
        ),
        ("cut.msh", counts([1, 0, 0, 1]), "this is not an MSH file"),
        ("points.msh", points, "it has no faces"),
        (
            "unknown.msh",
            unknown,
            "a face refers to a vertex that does not exist",
        ),
        (
            "word.obj",
            b"v 1 2 x".into(),
            "a vertex is not three numbers",
        ),
        ("points.obj", b"v 1 2 3".into(), "it has no faces"),
        (
            "pair.obj",
            b"v 1 2 3\nf 1 1".into(),
            "a face has fewer than three vertices",
        ),
        (
            "face.obj",
            b"v 1 2 3\nf a b c".into(),
            "a face is not a list of vertices",
        ),
        (
            "beyond.obj",
            b"v 1 2 3\nf 1 2 3".into(),
            "a face refers to a vertex that does not exist",
        ),
    ];
    let of = |name: &str| {
        let text = format!(
            "<mujoco><compiler meshdir=\"{}\"/><asset><mesh name=\"m\" file=\"{name}\"/></asset><worldbody><body><joint/>\
             <geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>",
            folder.display()
        );
        refusal(&text)
    };
    for (name, bytes, told) in &files {
        std::fs::write(folder.join(name), bytes).expect("a temporary file");
        let found = of(name);
        assert!(
            found.starts_with(told) && found.contains(name),
            "{name}: {found}"
        );
    }
    std::fs::write(folder.join("mesh.ply"), "ply").expect("a temporary file");
    let found = of("mesh.ply");
    assert!(
        found.starts_with("mesh `m`: meshes are read from .obj, .stl and .msh files"),
        "{found}"
    );
    let found = of("missing.stl");
    assert!(found.contains("missing.stl` does not exist"), "{found}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// What MuJoCo does with a model and catena does not is said among the assumptions.
#[test]
fn what_is_different_is_noted() {
    let builder = read(
        r#"<mujoco>
        <compiler settotalmass="4" alignfree="true"/>
        <option integrator="RK4"><flag actuation="disable"/></option>
        <worldbody>
          <body name="target" mocap="true"><geom size="0.1"/></body>
          <body name="loose"><freejoint/><geom size="0.1"/></body>
          <body name="a"><joint name="ja" range="-1 1" limited="true" frictionloss="0.1"/><geom size="0.1"/>
            <body name="b"><joint name="jb"/><geom size="0.1"/>
              <body name="c"><joint name="wrist" type="ball" range="0 1" limited="true"/><geom size="0.1"/></body>
            </body>
          </body>
        </worldbody>
        <tendon><fixed name="string" limited="true" range="0 1"><joint joint="ja" coef="1"/></fixed></tendon>
        <equality><joint joint1="ja" joint2="jb" active="false"/></equality>
        <actuator><motor name="one" joint="ja"/><motor name="two" joint="ja"/></actuator>
        </mujoco>"#,
    );
    let lines = builder.assumptions.join("\n");
    for said in [
        "all masses are multiplied by ",
        "settotalmass is 4 kg",
        "actuators `one` and `two` both drive `ja`: they are one input",
        "actuation is disabled in the file; the actuators are inputs here nevertheless",
        "MuJoCo treats joint limits (1), dry friction of joints (1) as soft constraints",
        "ignored: integrator of <option> (MuJoCo's numerical method)",
        "1 equality constraints are not active and left out",
        "bodies that MuJoCo's user moves (mocap) are at rest: `target`",
        "limits of ball joints are not kept: joint `wrist`",
        "limits of tendons are not kept: ",
        "free bodies keep the frame of the file (alignfree is not applied)",
    ] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
    let mass: f64 = builder
        .links
        .iter()
        .filter_map(|link| Some(link.inertial?.mass))
        .sum();
    near(&[mass], &[4.0]);
}

fn notes_of(text: &str) -> Vec<String> {
    read(text).assumptions
}

const BODY: &str = "<worldbody><body><joint name=\"j\"/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/></body></worldbody>";

/// A model of which everything is represented has one note, that it has no actuators.
#[test]
fn nothing_is_noted_without_need() {
    let undriven =
        "the file has no actuators: every joint with plain coordinates is treated as actuated";
    let model = |inside: &str| format!("<mujoco>{inside}{BODY}</mujoco>");
    assert_eq!(notes_of(&model("")), [undriven]);
    let with = |note: &str| [note.to_string(), undriven.into()];
    // declarations, and models that are attached elsewhere, need no note
    assert_eq!(
        notes_of(&model("<extension/><asset><model/></asset>")),
        [undriven]
    );
    assert_eq!(
        notes_of(&model("<contact><exclude/></contact>")),
        with("contacts are not modelled: 0 <geom> contribute mass at most")
    );
    assert_eq!(
        notes_of(&model(
            "<size/><statistic/><visual/><custom/><sensor/><keyframe/><sensor/>"
        )),
        with(
            "ignored: 1 <custom>, 1 <keyframe>, 2 <sensor>, 1 <size>, 1 <statistic>, 1 <visual> (no effect on the dynamics)"
        )
    );
    assert_eq!(
        notes_of(&model(
            "<asset><texture/><material/><material/><skin/><hfield/></asset><deformable><skin/></deformable>"
        )),
        with(
            "ignored: 1 <hfield>, 2 <material>, 2 <skin>, 1 <texture> (no effect on the dynamics)"
        )
    );
    let error = refusal(&model("<asset><sound/></asset>"));
    assert!(error.starts_with("<sound> is not known here"), "{error}");
    // driven, and nothing switched off
    let motor = format!("<mujoco>{BODY}<actuator><motor joint=\"j\"/></actuator></mujoco>");
    assert_eq!(notes_of(&motor), Vec::<String>::new());
    let off = "<option><flag actuation=\"disable\"/></option>";
    assert_eq!(notes_of(&model(off)), [undriven]);
}

/// Equalities are counted, those that are switched off, too.
#[test]
fn equalities_are_counted() {
    let notes = |inside: &str| {
        let text =
            format!("<mujoco>{TWO}{inside}<actuator><motor joint=\"ja\"/></actuator></mujoco>");
        notes_of(&text).join("\n")
    };
    let three = "<equality><connect body1=\"a\" anchor=\"0 0 1\"/><weld body1=\"b\"/><joint joint1=\"ja\" active=\"false\"/></equality>";
    let found = notes(three);
    assert!(
        found.contains("MuJoCo treats equality constraints (2) as soft constraints"),
        "{found}"
    );
    assert!(
        found.contains("1 equality constraints are not active and left out"),
        "{found}"
    );
    let off = "<option><flag equality=\"disable\"/></option>";
    let found = notes(&format!("{off}{three}"));
    assert!(!found.contains("softly"), "{found}");
    assert!(
        found.contains("3 equality constraints are not active and left out"),
        "{found}"
    );
}

/// Attributes that an actuator, an equality or a joint of a tendon does not have.
#[test]
fn attributes_of_other_sections_are_checked() {
    for (inside, told) in [
        (
            "<actuator><motor joint=\"ja\" gearr=\"2\"/></actuator>",
            "<motor> has the unknown attribute `gearr`",
        ),
        (
            "<actuator><engine joint=\"ja\"/></actuator>",
            "<engine> is not known here",
        ),
        (
            "<equality><joint joint1=\"ja\" anchor=\"0 0 0\"/></equality>",
            "<joint> has the unknown attribute `anchor`",
        ),
        (
            "<equality><tendon tendon1=\"t\" joint1=\"ja\"/></equality>",
            "<tendon> has the unknown attribute `joint1`",
        ),
        (
            "<equality><weld body1=\"a\" polycoef=\"0\"/></equality>",
            "<weld> has the unknown attribute `polycoef`",
        ),
    ] {
        let error = refusal(&format!("<mujoco>\n{TWO}\n{inside}</mujoco>"));
        assert!(error.contains(told), "{inside}: {error}");
        assert!(error.contains("x.xml:6"), "{error}");
    }
}

#[test]
fn numbers_are_finite() {
    for (number, told) in [
        ("inf", "`mass` of <geom> must be finite: \"inf\""),
        ("nan", "`mass` of <geom> must be finite: \"nan\""),
        ("1e999", "`mass` of <geom> must be finite: \"1e999\""),
        ("one", "`mass` of <geom> is not a list of numbers: \"one\""),
        ("1 2", "`mass` of <geom> must have 1 number, not 2: \"1 2\""),
        ("-1", "`mass` of <geom> is negative: \"-1\""),
    ] {
        let error = refusal(&world(&format!(
            "<body><joint/><geom size=\"0.1\" mass=\"{number}\"/></body>"
        )));
        assert!(error.starts_with(told), "{error}");
    }
}

/// Ends of a capsule anywhere: its middle, its length and its direction.
#[test]
fn ends_of_geoms() {
    let (mass, centre, moments) =
        mass_of(r#"<geom type="cylinder" fromto="1 2 3 1 2.6 3" size="0.1" mass="2"/>"#);
    let across = 2.0 * (3.0 * 0.01 + 0.36) / 12.0;
    near(&[mass], &[2.0]);
    near(&centre, &[1.0, 2.3, 3.0]);
    near(&moments, &[across, 2.0 * 0.005, across]);
    let error = refusal(&world(
        r#"<body><joint/><geom type="capsule" fromto="1 2 3 1 2 3" size="0.1"/></body>"#,
    ));
    assert!(
        error.starts_with("`fromto` of <geom> has zero length"),
        "{error}"
    );
}

/// Planes and height fields have no mass, nor do shapes of no volume, whatever mass they are given.
#[test]
fn what_has_no_volume_has_no_mass() {
    let ball = "<geom size=\"0.1\" mass=\"2\"/>";
    for other in [
        "<geom type=\"plane\" size=\"1 1 1\" pos=\"3 0 0\"/>",
        "<geom type=\"plane\" size=\"1 1 1\" pos=\"3 0 0\" mass=\"5\"/>",
        "<geom type=\"hfield\" hfield=\"h\" pos=\"3 0 0\"/>",
        "<geom size=\"1e-6\" pos=\"3 0 0\" mass=\"5\"/>",
    ] {
        let (mass, centre, moments) = mass_of(&format!("{ball}{other}"));
        assert_eq!((mass, centre), (2.0, [0.0; 3]), "{other}");
        near(&moments, &[2.0 * 0.4 * 0.01; 3]);
    }
    // a body of nothing has no inertial at all
    let builder = read(&world(
        "<body><joint/><body><joint/><geom size=\"0.1\"/></body></body>",
    ));
    assert!(builder.links[0].inertial.is_none());
}

/// Frames of free bodies are noted where they would be aligned.
#[test]
fn aligned_frames_of_free_bodies_are_noted() {
    let told = |joint: &str| {
        let text = world(&format!("<body>{joint}<geom size=\"0.1\"/></body>"));
        let notes = notes_of(&text);
        notes.iter().any(|note| note.contains("alignfree"))
    };
    assert!(told("<freejoint align=\"true\"/>"));
    assert!(!told("<freejoint align=\"false\"/>"));
    assert!(!told("<freejoint/>"));
    assert!(!told("<joint type=\"free\"/>"));
}

/// Limits of balls are noted where they would hold; free joints have none.
#[test]
fn limits_of_balls_are_noted() {
    let told = |option: &str, joint: &str| {
        let notes = notes_of(&format!(
            "<mujoco>{option}<worldbody><body><joint {joint}/><geom size=\"0.1\"/></body></worldbody></mujoco>"
        ));
        notes
            .iter()
            .any(|note| note.contains("limits of ball joints"))
    };
    let off = "<option><flag limit=\"disable\"/></option>";
    assert!(told("", "type=\"ball\" range=\"0 1\""));
    assert!(!told("", "type=\"ball\""));
    assert!(!told("", "type=\"ball\" range=\"0 1\" limited=\"false\""));
    assert!(!told("", "type=\"free\" limited=\"true\""));
    assert!(!told(off, "type=\"ball\" range=\"0 1\""));
}

/// Bounds of the effort at a joint, on either side; a hinge without limits turns on and on.
#[test]
fn largest_efforts_of_joints() {
    let joint = |attributes: &str| {
        let builder = read(&world(&format!(
            "<body><joint {attributes}/><geom size=\"0.1\"/></body>"
        )));
        let dof = builder.joints[0].dofs.first().copied();
        (builder.joints[0].kind, dof.and_then(|dof| dof.max_effort))
    };
    assert_eq!(joint("armature=\"1\""), (JointKind::Continuous, None));
    assert_eq!(joint("range=\"-1 1\""), (JointKind::Revolute, None));
    for (range, largest) in [
        ("-5 2", Some(5.0)),
        ("-2 5", Some(5.0)),
        ("1 3", Some(3.0)),
        ("0 0", None),
    ] {
        let found = joint(&format!("actuatorfrcrange=\"{range}\""));
        assert_eq!(found, (JointKind::Continuous, largest), "{range}");
    }
    let driven = |attributes: &str| {
        let builder = read(&format!(
            "<mujoco>{TWO}<actuator><motor joint=\"ja\" {attributes}/></actuator></mujoco>"
        ));
        builder.actuators[0].max_effort
    };
    assert_eq!(driven("ctrlrange=\"-3 2\" gear=\"-2\""), Some(6.0));
    assert_eq!(driven("ctrlrange=\"-3 2\" forcerange=\"-1 2\""), Some(2.0));
    assert_eq!(driven("ctrlrange=\"0 0\""), None);
}

/// A total mass that is not positive asks for nothing.
#[test]
fn total_masses() {
    let total = |wanted: &str| {
        let builder = read(&format!(
            "<mujoco><compiler settotalmass=\"{wanted}\"/>{BODY}</mujoco>"
        ));
        builder.links[0].inertial.expect("it has mass").mass
    };
    assert_eq!([total("4"), total("0"), total("-1")], [4.0, 1.0, 1.0]);
}

/// The offset and the factors of a coupling of two sums.
#[test]
fn couplings_of_tendons() {
    let RuleSpec::Coupling { terms, offset } = ({
        let builder = read(&format!(
            "<mujoco>{TWO}<tendon><fixed name=\"s\"><joint joint=\"jb\" coef=\"2\"/></fixed><fixed name=\"t\"><joint joint=\"ja\" coef=\"4\"/>\
             <joint joint=\"jc\" coef=\"5\"/></fixed></tendon><equality><tendon tendon1=\"s\" tendon2=\"t\" polycoef=\"0.5 3 0 0 0\"/></equality></mujoco>"
        ));
        builder.constraints[0].rule.clone()
    }) else {
        panic!("a coupling");
    };
    let expected = [("jb", 2.0), ("ja", -12.0), ("jc", -15.0)];
    let expected = expected.map(|(name, c)| (String::from(name), c));
    assert_eq!(terms, expected);
    near(&[offset], &[0.5 - 12.0 * 10.0f64.to_radians()]);
}

/// What acts along a tendon is refused, unless it is switched off; its inertia always is.
#[test]
fn tendons_that_act() {
    let text = |flag: &str, attribute: &str| {
        format!(
            "<mujoco><option><flag {flag}/></option>{TWO}<tendon><fixed name=\"t\" {attribute}><joint joint=\"ja\" coef=\"1\"/></fixed></tendon></mujoco>"
        )
    };
    for (key, flag) in [
        ("stiffness", "spring"),
        ("damping", "damper"),
        ("frictionloss", "frictionloss"),
        ("armature", "spring"),
    ] {
        let attribute = format!("{key}=\"2\"");
        let error = refusal(&text("", &attribute));
        let told = format!("`{key}` of fixed `t` is not supported");
        assert!(error.contains(&told), "{error}");
        let off = text(&format!("{flag}=\"disable\""), &attribute);
        match key {
            "armature" => assert!(refusal(&off).contains(&told)),
            _ => assert_eq!(read(&off).joints.len(), 3),
        }
        read(&text("", &format!("{key}=\"0\"")));
    }
    let limits = |flag: &str, attribute: &str| {
        let notes = notes_of(&text(flag, attribute));
        notes.iter().any(|note| note.contains("limits of tendons"))
    };
    assert!(limits("", "range=\"0 1\""));
    assert!(!limits("", ""));
    assert!(!limits("limit=\"disable\"", "range=\"0 1\""));
}

/// Names of many are cut short after six.
#[test]
fn long_lists_of_names() {
    let told = |count: usize| {
        let motors: String = (0..count)
            .map(|k| format!("<motor name=\"m{k}\" site=\"sa\"/>"))
            .collect();
        let text = format!("<mujoco>{TWO}<actuator>{motors}</actuator></mujoco>");
        read(&text).warnings[0].message.clone()
    };
    let six = "(`m0`, `m1`, `m2`, `m3`, `m4`, `m5`";
    assert!(told(6).starts_with(&format!("6 actuators {six}) are left out")));
    assert!(told(7).starts_with(&format!("7 actuators {six}, …) are left out")));
}

/// Plugins drive nothing that is known here, and are refused.
#[test]
fn plugins_that_drive_are_refused() {
    let text = format!(
        "<mujoco>{TWO}<actuator><plugin name=\"p\" joint=\"ja\" plugin=\"x\"/></actuator></mujoco>"
    );
    let error = refusal(&text);
    assert!(
        error.contains("actuator `p` is a plugin, which is not supported"),
        "{error}"
    );
    assert!(error.contains("`--ignore plugin`"), "{error}");
    assert!(ignoring(&text, &["plugin"]).actuators.is_empty());
}

/// As many copies as there may be, and elements as deep as they may be; one more is refused.
#[test]
fn as_much_as_is_allowed() {
    read(&world("<replicate count=\"100000\"/>"));
    let error = refusal(&world("<replicate count=\"100001\"/>"));
    assert!(error.contains("makes more than 100000 copies"), "{error}");
    let nested = |levels: usize| {
        let inside = "<x>".repeat(levels - 1) + &"</x>".repeat(levels - 1);
        format!("<mujoco><custom>{inside}</custom>{BODY}</mujoco>")
    };
    read(&nested(20_000));
    for levels in [20_001, 20_002] {
        let error = refusal(&nested(levels));
        assert!(
            error.starts_with("elements are nested more than 20000 levels deep"),
            "{error}"
        );
    }
}

/// Faces of four vertices are cut along the shorter diagonal, along the second one if they are equal; of more, into a fan. Vertices are
/// counted from one, and the last one is the number of them.
#[test]
fn faces_of_files_are_cut() {
    let path = std::env::temp_dir().join(format!("catena-faces-{}.obj", std::process::id()));
    let told = |text: &str| {
        std::fs::write(&path, text).expect("it can be written");
        let text = format!(
            "<mujoco><asset><mesh name=\"m\" inertia=\"exact\" file=\"{}\"/></asset><worldbody><body><joint/>\
             <geom type=\"mesh\" mesh=\"m\" density=\"6\"/></body></worldbody></mujoco>",
            path.display()
        );
        let read = builder_from_mjcf(&text, "x.xml", &ReadOptions::default());
        read.map(|builder| builder.links[0].inertial.expect("it has mass").mass)
            .map_err(|error| error.to_string())
    };
    // a pyramid on a bent square: 1 and 3 are the ends of one diagonal, raised by h, 2 and 4 those of the other one
    let pyramid = |wide: f64, h: f64| {
        let corners = format!(
            "v {wide} 0 {h}\nv 0 1 0\nv {} 0 {h}\nv 0 -1 0\nv 0 0 3\n",
            -wide
        );
        told(&format!(
            "{corners}f 1 4 3 2\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
        ))
        .expect("a solid")
    };
    // six volumes: cut from 1 to 3 the tip is 3 − h above the cut, whose halves end at z = 0; from 2 to 4 it is 3 above, and the ends at h
    let along_first = |wide: f64, h: f64| 2.0 * (2.0 * wide * (3.0 - h));
    let along_second = |wide: f64, _: f64| 2.0 * (2.0 * wide * 3.0);
    near(&[pyramid(0.5, 1.0)], &[along_first(0.5, 1.0)]);
    near(&[pyramid(2.0, 1.0)], &[along_second(2.0, 1.0)]);
    near(&[pyramid(1.0, 1.0)], &[along_second(1.0, 1.0)]);
    near(&[pyramid(0.75, 0.5)], &[along_first(0.75, 0.5)]);
    // a pyramid on a pentagon
    let five: String = (0..5)
        .map(|k| {
            let angle = 2.0 * PI * f64::from(k) / 5.0;
            format!("v {} {} 0\n", angle.cos(), angle.sin())
        })
        .collect();
    let mass = told(&format!(
        "{five}v 0 0 3\nf 5 4 3 2 1\nf 1 2 6\nf 2 3 6\nf 3 4 6\nf 4 5 6\nf 5 1 6\n"
    ));
    let area = 2.5 * (2.0 * PI / 5.0).sin();
    let off = (mass.expect("a solid") - 6.0 * area) / (6.0 * area);
    // vertices are rounded to single precision
    assert!(off.abs() < 1e-6, "{off}");
    let three = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for face in ["f 1 2 4", "f 0 1 2", "f -4 -2 -1"] {
        let error = told(&format!("{three}{face}")).expect_err("no vertex");
        assert!(
            error.starts_with("a face refers to a vertex that does not exist"),
            "{face}: {error}"
        );
    }
    let _ = std::fs::remove_file(&path);
}

/// Two tetrahedra, one of them inside out: volumes cancel up to round-off, and there is no mass centre.
#[test]
fn volumes_that_cancel() {
    let half = |first: usize, dx: f64, flipped: bool| {
        // exact in single precision, wherever they are
        let corners = [
            [0.125, 0.25, 0.375],
            [0.875, 0.25, 0.3125],
            [0.1875, 0.9375, 0.375],
            [0.125, 0.28125, 1.125],
        ];
        let vertices: String = corners
            .iter()
            .map(|[x, y, z]| format!("{} {y} {z} ", x + dx))
            .collect();
        let faces: String = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
            .iter()
            .map(|[a, b, c]| match flipped {
                true => format!("{} {} {} ", first + a, first + c, first + b),
                false => format!("{} {} {} ", first + a, first + b, first + c),
            })
            .collect();
        (vertices, faces)
    };
    for dx in [0.75, 1.3125, 3.0, 5.375] {
        let ((a, one), (b, other)) = (half(0, 0.0, false), half(4, dx, true));
        let error = refusal(&format!(
            "<mujoco><asset><mesh name=\"m\" inertia=\"exact\" vertex=\"{a}{b}\" face=\"{one}{other}\"/></asset>\
             <worldbody><body><joint/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>"
        ));
        assert!(error.starts_with("mesh `m` encloses no volume"), "{error}");
    }
}

/// A mesh of more than a gigabyte is not read: a file with nothing in it takes no place.
#[test]
fn meshes_have_a_largest_size() {
    let path = std::env::temp_dir().join(format!("catena-large-{}.stl", std::process::id()));
    let file = std::fs::File::create(&path).expect("it can be written");
    file.set_len((1 << 30) + 1).expect("without content");
    let error = refusal(&format!(
        "<mujoco><asset><mesh name=\"m\" file=\"{}\"/></asset><worldbody><body><joint/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>",
        path.display()
    ));
    let _ = std::fs::remove_file(&path);
    assert!(error.starts_with("the mesh is larger than 1 GB"), "{error}");
}

/// An included file is looked for beside the main file, then beside the file that includes it.
#[test]
fn included_files_are_beside_the_main_file_or_the_including_one() {
    let folder = std::env::temp_dir().join(format!("catena-include-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("parts")).expect("a temporary folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a temporary file");
    };
    let part = |name: &str| {
        format!(
            "<mujocoinclude><body name=\"{name}\"><joint/><geom size=\"0.1\"/></body></mujocoinclude>"
        )
    };
    write("main.xml", &world("<include file=\"parts/outer.xml\"/>"));
    write(
        "parts/outer.xml",
        "<mujocoinclude><include file=\"inner.xml\"/></mujocoinclude>",
    );
    let name = || {
        let model = read_model(&folder.join("main.xml"), &ReadOptions::default());
        model
            .map(|model| model.tree().bodies[1].name.clone())
            .map_err(|error| error.to_string())
    };
    let missing = name().expect_err("it is nowhere");
    assert!(
        missing.starts_with("the included file `inner.xml` does not exist"),
        "{missing}"
    );
    assert!(missing.contains("outer.xml:1"), "{missing}");
    write("parts/inner.xml", &part("beside_this"));
    assert_eq!(name(), Ok("beside_this".into()));
    write("inner.xml", &part("beside_main"));
    assert_eq!(name(), Ok("beside_main".into()));
    std::fs::remove_file(folder.join("parts/inner.xml")).expect("it was there");
    assert_eq!(name(), Ok("beside_main".into()));
    let _ = std::fs::remove_dir_all(&folder);
}
