//! How SDF files are read: poses by hand for every rule, what becomes of joints, and what is refused.
//!
//! `peers/sdf_table.py` compares the files in `sdf/` with the parser of Drake.

use catena::model::{Dof, ForceRule, JointKind, JointSpec, RuleSpec};
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Dynamics, Model, ModelBuilder, State};
use catena_io::{BaseOption, ReadOptions, builder_from_sdf, model_from_sdf, read_file, read_model};
use std::f64::consts::PI;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdf")
}

fn versioned(version: &str, inside: &str) -> String {
    format!("<sdf version=\"{version}\">\n<model name=\"m\">{inside}</model>\n</sdf>")
}

fn model(inside: &str) -> String {
    versioned("1.9", inside)
}

fn read(text: &str) -> ModelBuilder {
    builder_from_sdf(text, "x.sdf", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn built(text: &str) -> Model {
    model_from_sdf(text, "x.sdf", &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(text: &str) -> String {
    let read = model_from_sdf(text, "x.sdf", &ReadOptions::default());
    read.err()
        .unwrap_or_else(|| panic!("accepted: {text}"))
        .to_string()
}

fn ignoring(text: &str, names: &[&str]) -> ModelBuilder {
    let options = ReadOptions {
        ignore: names.iter().map(|name| (*name).into()).collect(),
        ..ReadOptions::default()
    };
    builder_from_sdf(text, "x.sdf", &options).unwrap_or_else(|error| panic!("{error}"))
}

fn joint<'b>(builder: &'b ModelBuilder, name: &str) -> &'b JointSpec {
    let found = builder.joints.iter().find(|joint| joint.name == name);
    found.unwrap_or_else(|| panic!("no joint {name}: {:?}", builder.joints))
}

/// Where a link or frame is in the world: free links where they start, all other joints at zero.
fn place(builder: &ModelBuilder, name: &str) -> Pose<f64> {
    if name == "world" {
        return Pose::identity();
    }
    if let Some(frame) = builder.frames.iter().find(|frame| frame.name == name) {
        return place(builder, &frame.link) * frame.link_from_frame;
    }
    let carrier = builder.joints.iter().find(|joint| joint.child == name);
    let joint = carrier.unwrap_or_else(|| panic!("nothing carries {name}"));
    let start = match joint.start[..] {
        [x, y, z, w, i, j, k] => Pose::new(Mat3::from_quaternion([w, i, j, k]), Vec3::new(x, y, z)),
        _ => Pose::identity(),
    };
    place(builder, &joint.parent) * joint.parent_from_joint * start * joint.joint_from_child
}

#[track_caller]
fn at(builder: &ModelBuilder, name: &str, position: [f64; 3]) {
    let found = place(builder, name).translation;
    near(&found.to_array(), &position);
}

/// Where the x axis of a link or frame points.
#[track_caller]
fn points(builder: &ModelBuilder, name: &str, x: [f64; 3]) {
    near(&place(builder, name).rotation.x.to_array(), &x);
}

#[track_caller]
fn near(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-14 * y.abs().max(1.0), "{a:?} {b:?}");
    }
}

/// A joint between two links, with this inside.
fn hinged(inside: &str) -> String {
    model(&format!(
        "<link name=\"a\"/><link name=\"b\"/><joint name=\"w\" type=\"fixed\"><parent>world</parent><child>a</child></joint>\
         <joint name=\"j\" {inside}<parent>a</parent><child>b</child></joint>"
    ))
}

#[test]
fn a_link_is_in_its_model_and_a_model_in_the_world() {
    let builder = read(&model(
        "<pose>1 0 0 0 0 1.5707963267948966</pose><link name=\"a\"><pose>0 2 0 0 0 0</pose></link>",
    ));
    at(&builder, "a", [-1.0, 0.0, 0.0]);
    points(&builder, "a", [0.0, 1.0, 0.0]);
    // the free joint starts there
    assert_eq!(builder.joints[0].kind, JointKind::Free);
    near(
        &builder.joints[0].start,
        &[-1.0, 0.0, 0.0, 0.5_f64.sqrt(), 0.0, 0.0, 0.5_f64.sqrt()],
    );
}

#[test]
fn poses_are_relative_to_what_they_name() {
    let builder = read(&model(
        r#"<pose>0 0 10 0 0 0</pose>
        <link name="a"><pose>1 0 0 0 0 1.5707963267948966</pose></link>
        <link name="b"><pose relative_to="a">1 0 0 0 0 0</pose></link>
        <link name="c"><pose relative_to="j">0 0 1 0 0 0</pose></link>
        <link name="d"><pose relative_to="f">1 0 0 0 0 0</pose></link>
        <link name="e"><pose relative_to="__model__">0 5 0 0 0 0</pose></link>
        <link name="i"><pose relative_to="b"/></link>
        <frame name="f"><pose>0 0 3 0 0 3.141592653589793</pose></frame>
        <frame name="g" attached_to="a"><pose>1 0 0 0 0 0</pose></frame>
        <frame name="h" attached_to="a"><pose relative_to="f">1 0 0 0 0 0</pose></frame>
        <joint name="j" type="fixed"><parent>a</parent><child>c</child><pose relative_to="b">0 1 0 0 0 0</pose></joint>"#,
    ));
    at(&builder, "a", [1.0, 0.0, 10.0]);
    at(&builder, "b", [1.0, 1.0, 10.0]);
    at(&builder, "c", [0.0, 1.0, 11.0]);
    at(&builder, "f", [0.0, 0.0, 13.0]);
    at(&builder, "d", [-1.0, 0.0, 13.0]);
    at(&builder, "e", [0.0, 5.0, 10.0]);
    at(&builder, "g", [1.0, 1.0, 10.0]);
    at(&builder, "h", [-1.0, 0.0, 13.0]);
    at(&builder, "i", [1.0, 1.0, 10.0]);
    let on = |name: &str| {
        let frame = builder.frames.iter().find(|frame| frame.name == name);
        frame.expect("a frame").link.clone()
    };
    // a frame of the model moves with the canonical link, the first one
    assert_eq!(
        [on("f"), on("g"), on("h")],
        ["a", "a", "a"].map(String::from)
    );
}

#[test]
fn orientations_in_degrees_and_as_quaternions() {
    for pose in [
        "<pose degrees=\"true\">0 0 0 0 0 90</pose>",
        "<pose rotation_format=\"quat_xyzw\">0 0 0 0 0 3 3</pose>",
        "<pose rotation_format=\"euler_rpy\">0 0 0 0 0 1.5707963267948966</pose>",
        "<pose>\n 0 0 0\n 0 0 1.5707963267948966\n</pose>",
    ] {
        let builder = read(&model(&format!("<link name=\"a\">{pose}</link>")));
        points(&builder, "a", [0.0, 1.0, 0.0]);
    }
    // roll, pitch, yaw about fixed axes: x is turned by pitch, then yaw
    let builder = read(&model(
        "<link name=\"a\"><pose degrees=\"1\">0 0 0 90 90 90</pose></link>",
    ));
    points(&builder, "a", [0.0, 0.0, -1.0]);
}

#[test]
fn a_joint_is_in_its_child() {
    let text = r#"<link name="a"/>
        <link name="b"><pose>2 0 0 0 0 1.5707963267948966</pose></link>
        <frame name="f" attached_to="b"><pose>0 0 1 0 0 0</pose></frame>
        <joint name="j" type="revolute"><parent>a</parent><child>CHILD</child><pose>-1 0 0 0 0 0</pose>
          <axis><xyz>1 0 0</xyz></axis></joint>"#;
    let builder = read(&model(&text.replace("CHILD", "b")));
    let found = joint(&builder, "j");
    near(
        &found.parent_from_joint.translation.to_array(),
        &[2.0, -1.0, 0.0],
    );
    near(
        &found.joint_from_child.translation.to_array(),
        &[1.0, 0.0, 0.0],
    );
    assert_eq!(found.axes.first.to_array(), [1.0, 0.0, 0.0]);
    // in the frame that is named as its child, and moving the link of that
    let builder = read(&model(&text.replace("CHILD", "f")));
    let found = joint(&builder, "j");
    assert_eq!(found.child, "b");
    near(
        &found.parent_from_joint.translation.to_array(),
        &[2.0, -1.0, 1.0],
    );
    at(&builder, "b", [2.0, 0.0, 0.0]);
}

#[test]
fn axes_are_expressed_where_they_say_and_as_the_version_says() {
    let text = |axis: &str| {
        format!(
            r#"<pose>0 0 0 0 0 1.5707963267948966</pose>
            <link name="a"><pose>0 0 0 0 0 1.5707963267948966</pose></link>
            <link name="b"><pose>0 0 0 0 0 3.141592653589793</pose></link>
            <joint name="j" type="revolute"><parent>a</parent><child>b</child><pose>0 0 0 1.5707963267948966 0 0</pose>{axis}</joint>"#
        )
    };
    // the joint frame is the model frame turned by half a turn about z, then by a quarter about x
    for (version, axis, expected) in [
        ("1.7", "<axis><xyz>1 2 3</xyz></axis>", [1.0, 2.0, 3.0]),
        (
            "1.7",
            "<axis><xyz expressed_in=\"__model__\">0 1 0</xyz></axis>",
            [0.0, 0.0, 1.0],
        ),
        (
            "1.12",
            "<axis><xyz expressed_in=\"a\">1 0 0</xyz></axis>",
            [0.0, 0.0, 1.0],
        ),
        ("1.6", "<axis><xyz>0 1 0</xyz></axis>", [0.0, 1.0, 0.0]),
        (
            "1.6",
            "<axis><xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>",
            [0.0, 0.0, 1.0],
        ),
        (
            "1.5",
            "<axis><xyz>0 1 0</xyz><use_parent_model_frame>false</use_parent_model_frame></axis>",
            [0.0, 1.0, 0.0],
        ),
        // before 1.5 all axes are in the model
        ("1.4", "<axis><xyz>0 1 0</xyz></axis>", [0.0, 0.0, 1.0]),
        // and z where nothing is said
        ("1.9", "<axis/>", [0.0, 0.0, 1.0]),
    ] {
        let builder = read(&versioned(version, &text(axis)));
        near(&joint(&builder, "j").axes.first.to_array(), &expected);
    }
}

#[test]
fn nested_models_have_scopes() {
    let builder = read(&model(
        r#"<link name="a"><pose>1 0 0 0 0 0</pose></link>
        <model name="n"><pose relative_to="a">0 1 0 0 0 1.5707963267948966</pose>
          <link name="a"><pose>1 0 0 0 0 0</pose></link>
          <model name="k" canonical_link="c"><link name="b"/><link name="c"><pose>0 0 1 0 0 0</pose></link>
            <frame name="f"/></model>
        </model>
        <joint name="j" type="fixed"><parent>a</parent><child>n::k::c</child></joint>
        <joint name="i" type="fixed"><parent>a</parent><child>n</child></joint>
        <joint name="h" type="fixed"><parent>n::k::__model__</parent><child>n::k::b</child></joint>
        <frame name="g" attached_to="n::a"><pose relative_to="n::k">0 0 0 0 0 0</pose></frame>"#,
    ));
    at(&builder, "a", [1.0, 0.0, 0.0]);
    at(&builder, "n::a", [1.0, 2.0, 0.0]);
    at(&builder, "n::k::c", [1.0, 1.0, 1.0]);
    at(&builder, "g", [1.0, 1.0, 0.0]);
    // a model moves with its canonical link
    assert_eq!(joint(&builder, "i").child, "n::a");
    assert_eq!(joint(&builder, "h").parent, "n::k::c");
    let names: Vec<&str> = builder.links.iter().map(|link| &link.name[..]).collect();
    assert_eq!(names, ["a", "n::a", "n::k::b", "n::k::c"]);
}

#[test]
fn a_placement_frame_is_put_where_the_model_is() {
    let builder = read(
        r#"<sdf version="1.8"><model name="m" placement_frame="f"><pose>0 0 5 0 0 1.5707963267948966</pose>
        <link name="a"><pose>1 0 0 0 0 0</pose></link>
        <frame name="f" attached_to="a"><pose>0 0 1 0 0 0</pose></frame></model></sdf>"#,
    );
    at(&builder, "f", [0.0, 0.0, 5.0]);
    points(&builder, "f", [0.0, 1.0, 0.0]);
    at(&builder, "a", [0.0, 0.0, 4.0]);
}

#[test]
fn included_models() {
    let builder = read_file(&folder().join("world.sdf"), &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(builder.name, "lab");
    assert_eq!(builder.gravity.to_array(), [0.0, 0.0, -2.0]);
    at(&builder, "left::base", [1.0, 0.0, 1.0]);
    points(&builder, "left::base", [0.0, 1.0, 0.0]);
    at(&builder, "left::rod", [1.0, 0.0, 3.0]);
    // tip at 3.5 in the model, the included box 0.25 above: its own pose is not used
    at(&builder, "left::box::body", [0.0, 0.0, 3.75]);
    // the tip of the other is on the shelf
    at(&builder, "right::tip", [5.0, 0.0, 10.0]);
    at(&builder, "right::base", [5.0, 0.0, 7.5]);
    near(
        &joint(&builder, "left::hinge").axes.first.to_array(),
        &[1.0, 0.0, 0.0],
    );
    // what is static is fixed; its joints do nothing
    assert_eq!(joint(&builder, "old::b_fixed").kind, JointKind::Fixed);
    points(&builder, "old::b", [0.0, 1.0, 0.0]);
    let model = builder.build().expect("a model");
    assert_eq!(model.nv(), 14);
}

/// Files that include each other endlessly are distinguished from those that end: three that include the next one thirty times each are too many.
#[test]
fn included_files_are_counted() {
    let folder = std::env::temp_dir().join(format!("catena-included-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let write = |name: &str, inside: String| {
        let text = model(&format!("<link name=\"a\"/>{inside}"));
        std::fs::write(folder.join(name), text).expect("a temporary file");
    };
    let includes = |name: &str, count: usize| -> String {
        let include = |k| format!("<include><uri>{name}</uri><name>n{k}</name></include>");
        (0..count).map(include).collect()
    };
    write("last.sdf", String::new());
    write("third.sdf", includes("last.sdf", 30));
    write("second.sdf", includes("third.sdf", 30));
    write("first.sdf", includes("second.sdf", 30));
    let read = |name: &str| read_file(&folder.join(name), &ReadOptions::default());
    assert_eq!(read("third.sdf").expect("a model").links.len(), 31);
    let error = read("first.sdf").expect_err("too many").to_string();
    std::fs::remove_dir_all(&folder).expect("it was there");
    assert!(error.contains("files are included"), "{error}");
}

#[test]
fn merged_models_are_part_of_the_one_around() {
    let builder = read_file(&folder().join("merged.sdf"), &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    at(&builder, "cart", [2.0, 0.0, 0.0]);
    at(&builder, "base", [2.0, 0.0, 1.5]);
    at(&builder, "box::body", [2.0, 1.0, 4.25]);
    assert_eq!(builder.build().expect("a model").nv(), 7);
}

#[test]
fn an_old_file_by_itself() {
    let path = folder().join("models/old/model.sdf");
    let builder = read_file(&path, &ReadOptions::default()).expect("a model");
    // the axis is that of the model: in the joint, which is turned with its child, −y
    near(
        &joint(&builder, "hinge").axes.first.to_array(),
        &[0.0, -1.0, 0.0],
    );
    // a link and a joint could share a name
    let pair = "<link name=\"a\"/><link name=\"b\"/><joint name=\"a\" type=\"fixed\"><parent>a</parent><child>b</child></joint>";
    let builder = read(&versioned("1.6", pair));
    assert_eq!(joint(&builder, "a").parent, "a");
}

#[test]
fn files_beside_the_file() {
    let builder = read_file(&folder().join("relative.sdf"), &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    at(&builder, "one::body", [7.0, 8.0, 7.0]);
    at(&builder, "two::body", [0.0, 1.0, 2.0]);
}

#[test]
fn mass_is_turned_with_its_pose() {
    let builder = read(&model(
        r#"<link name="a"><inertial><mass>2</mass><pose>1 2 3 0 0 1.5707963267948966</pose>
        <inertia><ixx>4</ixx><iyy>5</iyy><izz>6</izz><ixy>0.1</ixy><ixz>0.2</ixz><iyz>0.3</iyz></inertia></inertial></link>
        <link name="b"><inertial><mass>3</mass></inertial></link><link name="c"/>"#,
    ));
    let mass = |k: usize| {
        let inertial = builder.links[k].inertial.expect("mass");
        let t = inertial.tensor;
        (
            inertial.mass,
            inertial.centre.to_array(),
            [t.xx, t.yy, t.zz, t.xy, t.xz, t.yz],
        )
    };
    let (own, centre, tensor) = mass(0);
    assert_eq!((own, centre), (2.0, [1.0, 2.0, 3.0]));
    near(&tensor, &[5.0, 4.0, 6.0, -0.1, -0.3, 0.2]);
    // what is not said is 1
    assert_eq!(mass(1), (3.0, [0.0; 3], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]));
    assert_eq!(mass(2).0, 1.0);
    let said = |line: &String| line.contains("without <inertial>") && line.contains("`c`");
    assert!(builder.assumptions.iter().any(said));
}

#[test]
fn mass_of_shapes() {
    let link = |inertial: &str| {
        let shapes = r#"<collision name="c"><pose>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry></collision>"#;
        let builder = read(&model(&format!(
            "<link name=\"a\">{inertial}{shapes}</link>"
        )));
        let inertial = builder.links[0].inertial.expect("mass");
        let t = inertial.tensor;
        [inertial.mass, inertial.centre.z, t.xx, t.yy, t.zz]
    };
    near(
        &link("<inertial auto=\"true\"/>"),
        &[6000.0, 1.0, 6500.0, 5000.0, 2500.0],
    );
    near(
        &link("<inertial auto=\"true\"><density>10</density></inertial>"),
        &[60.0, 1.0, 65.0, 50.0, 25.0],
    );
    near(
        &link("<inertial auto=\"true\"><mass>3</mass></inertial>"),
        &[3.0, 1.0, 3.25, 2.5, 1.25],
    );
}

#[test]
fn gravity_of_the_world() {
    let gravity = |world: &str, version: &str| {
        let text = format!(
            "<sdf version=\"{version}\"><world name=\"w\">{world}<model name=\"m\"><link name=\"a\"/></model></world></sdf>"
        );
        read(&text).gravity.to_array()
    };
    assert_eq!(gravity("", "1.7"), [0.0, 0.0, -9.8]);
    assert_eq!(gravity("<gravity>1 2 3</gravity>", "1.7"), [1.0, 2.0, 3.0]);
    let physics = "<physics type=\"ode\"><gravity>0 0 -1</gravity></physics>";
    assert_eq!(gravity(physics, "1.5"), [0.0, 0.0, -1.0]);
    assert_eq!(
        read(&model("<link name=\"a\"/>")).gravity.to_array(),
        [0.0, 0.0, -9.81]
    );
}

#[test]
fn a_link_without_gravity_does_not_fall() {
    let fall = |inside: &str| {
        let model = built(&model(&format!(
            "<link name=\"a\">{inside}<inertial><pose>0 0.3 0 0 0 0</pose><mass>2</mass></inertial></link>"
        )));
        let state = State::neutral(&model);
        Dynamics::new(&model)
            .forward(&state, &[0.0; 6], &[])
            .expect("accelerations")
            .to_vec()
    };
    near(&fall(""), &[0.0, 0.0, -9.81, 0.0, 0.0, 0.0]);
    near(&fall("<gravity>false</gravity>"), &[0.0; 6]);
}

#[test]
fn kinds_of_joints() {
    let axis = "<axis><xyz>0 0 2</xyz></axis>";
    for (word, kind) in [
        ("fixed", JointKind::Fixed),
        ("revolute", JointKind::Revolute),
        ("continuous", JointKind::Continuous),
        ("prismatic", JointKind::Prismatic),
        ("ball", JointKind::Spherical),
    ] {
        let builder = read(&hinged(&format!("type=\"{word}\">{axis}")));
        assert_eq!(joint(&builder, "j").kind, kind);
    }
    for word in ["universal", "revolute2"] {
        let two = "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>1 0 0</xyz></axis2>";
        let builder = read(&hinged(&format!("type=\"{word}\">{two}")));
        let found = joint(&builder, "j");
        assert_eq!(found.kind, JointKind::Universal);
        assert_eq!(found.axes.second.to_array(), [1.0, 0.0, 0.0]);
    }
}

/// Axes that are not orthogonal are two hinges, with the same names of coordinates.
#[test]
fn two_hinges_in_a_row() {
    let two = "<axis><xyz>0 0 1</xyz><dynamics><damping>2</damping></dynamics></axis>\
               <axis2><xyz>1 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis2>";
    let builder = read(&hinged(&format!("type=\"revolute2\">{two}")));
    let [first, second] = ["j.1", "j.2"].map(|name| joint(&builder, name));
    assert_eq!((&first.parent[..], &second.child[..]), ("a", "b"));
    assert_eq!(first.child, second.parent);
    assert_eq!(first.dofs[0].damping, 2.0);
    assert_eq!(second.dofs[0].limits, Some((-1.0, 1.0)));
    near(
        &second.axes.first.to_array(),
        &[0.5_f64.sqrt(), 0.0, 0.5_f64.sqrt()],
    );
    let model = builder.build().expect("a model");
    let names: Vec<String> = model
        .tree()
        .dofs
        .iter()
        .map(|dof| dof.name.clone())
        .collect();
    assert_eq!(names, ["j.1", "j.2"]);
}

/// `thread_pitch` is in radians per metre, positive for a left-handed thread; its successor in metres per turn of a right-handed one.
#[test]
fn pitch_of_screws() {
    let axis = "<axis><xyz>0 0 1</xyz></axis>";
    let pitch = |element: &str| {
        let builder = read(&hinged(&format!("type=\"screw\">{axis}{element}")));
        joint(&builder, "j").pitch
    };
    near(
        &[pitch("<screw_thread_pitch>0.5</screw_thread_pitch>")],
        &[0.5 / (2.0 * PI)],
    );
    near(&[pitch("<thread_pitch>8</thread_pitch>")], &[-0.125]);
    near(
        &[pitch(
            "<thread_pitch>8</thread_pitch><screw_thread_pitch>-1</screw_thread_pitch>",
        )],
        &[-0.5 / PI],
    );
    // no advance at all, and one that no number holds
    for pitch in ["0", "-0", "1e-310"] {
        let text = format!("type=\"screw\">{axis}<thread_pitch>{pitch}</thread_pitch>");
        let error = refusal(&hinged(&text));
        assert!(error.contains("it would not turn"), "{pitch}: {error}");
    }
}

#[test]
fn springs_friction_and_limits() {
    let builder = read(&hinged(
        "type=\"revolute\"><axis><xyz>0 0 1</xyz><dynamics><damping>1</damping><friction>2</friction>\
         <spring_stiffness>3</spring_stiffness><spring_reference>4</spring_reference></dynamics>\
         <limit><lower>-1e16</lower><upper>2</upper><effort>-1</effort><velocity>7</velocity></limit></axis>",
    ));
    let expected = Dof {
        damping: 1.0,
        friction: 2.0,
        stiffness: 3.0,
        rest: 4.0,
        limits: Some((f64::NEG_INFINITY, 2.0)),
        max_effort: None,
        max_velocity: Some(7.0),
        ..Dof::default()
    };
    assert_eq!(joint(&builder, "j").dofs, [expected]);
    for none in [
        "<lower>-1e16</lower><upper>1e+16</upper>",
        "<upper>inf</upper>",
    ] {
        let text = format!("type=\"revolute\"><axis><limit>{none}</limit></axis>");
        assert!(joint(&read(&hinged(&text)), "j").dofs.is_empty());
    }
}

#[test]
fn mimics() {
    let text = model(
        r#"<link name="a"/><link name="b"/><link name="c"/>
        <joint name="w" type="fixed"><parent>world</parent><child>a</child></joint>
        <joint name="u" type="universal"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
        <joint name="f" type="revolute"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz>
          <mimic joint="u" axis="axis2"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic></axis></joint>"#,
    );
    let builder = read(&text);
    let [constraint] = &builder.constraints[..] else {
        panic!("{:?}", builder.constraints);
    };
    let RuleSpec::Coupling { terms, offset } = &constraint.rule else {
        panic!("{constraint:?}");
    };
    // f = 2 (u − 0.1) + 0.5
    assert_eq!(*terms, [("f".into(), 1.0), ("u.2".into(), -2.0)]);
    near(&[*offset], &[0.3]);
    // what follows has no actuator of its own
    let actuators: Vec<&str> = builder.actuators.iter().map(|a| &a.joint[..]).collect();
    assert_eq!(actuators, ["u.1", "u.2"]);
    assert_eq!(built(&text).nv(), 2);
}

/// Sun and planet on a carrier: external teeth turn against each other, and the sense of the joints and their axes does not matter.
#[test]
fn gearboxes() {
    for (second, axis, sign) in [
        (
            "<parent>carrier</parent><child>planet</child>",
            "0 0 1",
            1.0,
        ),
        (
            "<parent>carrier</parent><child>planet</child>",
            "0 0 -1",
            -1.0,
        ),
        (
            "<parent>planet</parent><child>carrier</child>",
            "0 0 -1",
            1.0,
        ),
    ] {
        let text = model(&format!(
            r#"<link name="carrier"/><link name="sun"/><link name="planet"/>
            <joint name="s" type="revolute"><parent>carrier</parent><child>sun</child><axis><xyz>0 0 1</xyz></axis></joint>
            <joint name="p" type="revolute">{second}<axis><xyz>{axis}</xyz></axis></joint>
            <joint name="g" type="gearbox"><parent>sun</parent><child>planet</child><gearbox_ratio>3</gearbox_ratio>
              <gearbox_reference_body>carrier</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>"#
        ));
        let builder = read(&text);
        let RuleSpec::Coupling { terms, offset } = &builder.constraints[0].rule else {
            panic!("{:?}", builder.constraints);
        };
        assert_eq!(builder.constraints[0].name, "g");
        // planet = −3 sun
        assert_eq!(*terms, [("p".into(), sign), ("s".into(), 3.0)]);
        assert_eq!(*offset, 0.0);
    }
}

/// Four bars: one of the joints closes the loop, that of the file's choice if it has one.
#[test]
fn loops_are_closed_by_joints_of_their_names() {
    let text = |mark: &str| {
        let bar = |name: &str, x: f64, z: f64| {
            format!("<link name=\"{name}\"><pose>{x} 0 {z} 0 0 0</pose></link>")
        };
        let pin = |name: &str, parent: &str, child: &str, inside: &str| {
            format!(
                "<joint name=\"{name}\" type=\"revolute\"><parent>{parent}</parent><child>{child}</child><axis><xyz>0 1 0</xyz></axis>{inside}</joint>"
            )
        };
        model(
            &[
                bar("crank", 0.0, 0.0),
                bar("coupler", 0.0, 1.0),
                bar("rocker", 2.0, 1.0),
                pin("A", "world", "crank", ""),
                pin("B", "crank", "coupler", ""),
                pin("C", "coupler", "rocker", ""),
                "<joint name=\"D\" type=\"revolute\"><parent>world</parent><child>rocker</child>\
                 <pose>0 0 -1 0 0 0</pose><axis><xyz>0 1 0</xyz></axis>"
                    .into(),
                mark.into(),
                "</joint>".into(),
            ]
            .concat(),
        )
    };
    let cut = "<physics><simbody><must_be_loop_joint>true</must_be_loop_joint></simbody></physics>";
    for (mark, expected) in [("", "C"), (cut, "D")] {
        let builder = read(&text(mark));
        assert_eq!(builder.constraints.len(), 1);
        assert_eq!(builder.constraints[0].name, expected);
        let model = builder.build().expect("a model");
        assert_eq!((model.nv(), model.constraints().len()), (3, 1));
    }
}

#[test]
fn friction_of_a_joint_keeps_it_in_the_tree() {
    for force in ["damping", "friction", "spring_stiffness"] {
        let pin = |name: &str, size: f64| {
            format!(
                "<joint name=\"{name}\" type=\"revolute\"><parent>world</parent><child>a</child>\
                 <axis><xyz>0 1 0</xyz><dynamics><{force}>{size}</{force}></dynamics><limit><lower>-1</lower></limit></axis></joint>"
            )
        };
        let two =
            |x: f64, y: f64| model(&format!("<link name=\"a\"/>{}{}", pin("x", x), pin("y", y)));
        let builder = read(&two(0.0, 1.0));
        assert_eq!(builder.joints[0].name, "y", "{force}");
        assert_eq!(builder.constraints[0].name, "x", "{force}");
        let lost = |line: &String| {
            line.contains("limits of joints that close loops") && line.contains("`x`")
        };
        assert!(builder.assumptions.iter().any(lost));
        let error = refusal(&two(1.0, 1.0));
        assert!(error.contains("closes a loop and has damping"), "{error}");
    }
}

/// A joint that leads from a carried link to its carrier is turned around; its coordinate keeps its value.
#[test]
fn joints_against_the_tree_are_turned_around() {
    let builder = read(&model(
        r#"<link name="a"/><link name="b"><pose>1 0 0 0 0 0</pose></link>
        <joint name="w" type="fixed"><parent>world</parent><child>a</child></joint>
        <joint name="j" type="prismatic"><parent>b</parent><child>a</child><axis><xyz>1 0 0</xyz></axis></joint>"#,
    ));
    let found = joint(&builder, "j");
    assert_eq!((&found.parent[..], &found.child[..]), ("a", "b"));
    assert_eq!(found.axes.first.to_array(), [-1.0, 0.0, 0.0]);
    at(&builder, "b", [1.0, 0.0, 0.0]);
}

#[test]
fn several_models_have_their_names_before_those_of_links() {
    let text = |more: &str| {
        format!(
            "<sdf version=\"1.7\"><world name=\"w\"><model name=\"one\"><link name=\"a\"/></model>\
             <model name=\"two\">{more}<link name=\"a\"/><frame name=\"f\"/></model></world></sdf>"
        )
    };
    let builder = read(&text(""));
    let names = |builder: &ModelBuilder| -> Vec<String> {
        builder.links.iter().map(|link| link.name.clone()).collect()
    };
    assert_eq!(names(&builder), ["one::a", "two::a"]);
    assert_eq!(builder.frames[0].name, "two::f");
    let kinds: Vec<_> = builder
        .joints
        .iter()
        .map(|j| (&j.name[..], j.kind))
        .collect();
    let free = JointKind::Free;
    assert_eq!(kinds, [("one::a_joint", free), ("two::a_joint", free)]);
    // the only one that moves needs none
    let builder = read(&text("<static>true</static>"));
    assert_eq!(names(&builder), ["a", "two::a"]);
    assert_eq!(built(&text("<static>true</static>")).nv(), 6);
}

#[test]
fn the_base_is_what_is_asked_for() {
    let with = |text: &str, base| {
        let options = ReadOptions {
            base: Some(base),
            ..ReadOptions::default()
        };
        builder_from_sdf(text, "x.sdf", &options)
    };
    let floating = model("<link name=\"a\"><pose>1 0 0 0 0 0</pose></link>");
    let fixed = with(&floating, BaseOption::Fixed).expect("a model");
    assert_eq!(fixed.joints[0].kind, JointKind::Fixed);
    at(&fixed, "a", [1.0, 0.0, 0.0]);
    assert!(with(&floating, BaseOption::Free).is_ok());
    let grounded = hinged("type=\"fixed\">");
    let error = with(&grounded, BaseOption::Free)
        .expect_err("grounded")
        .to_string();
    assert!(
        error.contains("joint `w` joins link `a` to the ground"),
        "{error}"
    );
}

#[test]
fn the_same_arm_as_urdf() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../models")
            .join(name);
        read_model(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    let (one, other) = (read("two_link_arm.urdf"), read("two_link_arm.sdf"));
    let (mut here, mut there) = (Dynamics::new(&one), Dynamics::new(&other));
    for seed in 0..5 {
        let state = State::random(&one, seed);
        let a = here
            .forward(&state, &[0.3, -0.2], &[])
            .expect("accelerations");
        let b = there
            .forward(&state, &[0.3, -0.2], &[])
            .expect("accelerations");
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{a} {b}");
        }
    }
    let limits = |model: &Model| -> Vec<_> {
        let dofs = model.tree().dofs.iter();
        dofs.map(|dof| {
            (
                dof.name.clone(),
                dof.limits,
                dof.max_effort,
                dof.max_velocity,
            )
        })
        .collect()
    };
    assert_eq!(limits(&one), limits(&other));
}

#[test]
fn what_acts_and_is_not_supported_is_refused_by_name() {
    let link = |inside: &str| model(&format!("<link name=\"a\">{inside}</link>"));
    for (text, name, said) in [
        (
            link("<inertial><fluid_added_mass><xx>1</xx></fluid_added_mass></inertial>"),
            "fluid_added_mass",
            "<fluid_added_mass> of link `a`",
        ),
        (link("<kinematic>true</kinematic>"), "kinematic", "link `a` is kinematic"),
        (link("<enable_wind>1</enable_wind>"), "wind", "wind on link `a`"),
        (
            link("<velocity_decay><linear>0.1</linear></velocity_decay>"),
            "velocity_decay",
            "<velocity_decay> of link `a`",
        ),
        (
            model("<link name=\"a\"/><plugin name=\"gz::sim::systems::Buoyancy\" filename=\"gz-sim-buoyancy-system\"/>"),
            "plugin",
            "plugin `gz::sim::systems::Buoyancy`",
        ),
        (
            model("<link name=\"a\"/><plugin name=\"wing\" filename=\"gz-sim-lift-drag-system\"/>"),
            "plugin",
            "plugin `wing`",
        ),
        (
            hinged("type=\"ball\"><axis><xyz>0 0 1</xyz><dynamics><damping>1</damping></dynamics></axis>"),
            "ball_dynamics",
            "<dynamics> of joint `j`",
        ),
        (
            hinged("type=\"revolute\"><axis/><physics><ode><max_force>1</max_force><velocity>1</velocity></ode></physics>"),
            "motor",
            "joint `j` is driven",
        ),
        (
            "<sdf version=\"1.7\"><world name=\"w\"><population name=\"p\"/><model name=\"m\"><link name=\"a\"/></model></world></sdf>".into(),
            "population",
            "population `p`",
        ),
    ] {
        let error = refusal(&text);
        assert!(error.starts_with(said), "{error}");
        assert!(error.contains(&format!("--ignore {name}")), "{error}");
        let builder = ignoring(&text, &[name]);
        let line = builder.assumptions.iter().find(|line| line.contains("left out on request"));
        assert!(line.is_some_and(|line| line.contains(said) && line.contains("x.sdf:")), "{line:?}");
    }
    // zeros are nothing
    read(&link(
        "<inertial><fluid_added_mass><xx>0</xx></fluid_added_mass></inertial><kinematic>0</kinematic>",
    ));
    let options = ReadOptions {
        ignore: vec!["winds".into()],
        ..ReadOptions::default()
    };
    let error = builder_from_sdf(&link(""), "x.sdf", &options)
        .expect_err("unknown")
        .to_string();
    assert!(error.contains("did you mean `wind`?"), "{error}");
}

#[test]
fn what_does_not_act_is_counted() {
    let builder = read(&model(
        r#"<self_collide>true</self_collide><plugin name="drive" filename="libdrive.so"><wheel>x</wheel></plugin><plugin name="m" filename="gz-sim-magnetometer-system"/>
        <link name="a"><visual name="v"><geometry/></visual><visual name="w"/><collision name="c"/><sensor name="s" type="imu"/></link>"#,
    ));
    let lines = builder.assumptions.join("\n");
    for said in [
        "1 <self_collide>",
        "2 <visual>",
        "1 <sensor>",
        "contacts are not modelled: 1 <collision>",
        "plugins are not run, their commands are not applied: `libdrive.so`, `gz-sim-magnetometer-system`",
        "root link `a` is joined to the ground by a free joint (`root_joint` was added)",
    ] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
}

/// Elements of other vocabularies are listed, unless they concern the motion.
#[test]
fn foreign_elements() {
    let text = |element: &str| {
        format!(
            "<sdf version=\"1.7\" xmlns:drake=\"drake.mit.edu\"><model name=\"m\"><link name=\"a\"/>{element}</model></sdf>"
        )
    };
    let builder = read(&text("<drake:diagonal/>"));
    let line = "left out, unknown: <drake:diagonal> (x.sdf:1)";
    assert!(builder.assumptions.iter().any(|own| own == line));
    let error = refusal(&text("<drake:joint name=\"j\" type=\"planar\"/>"));
    assert!(
        error.contains("<drake:joint> in model `m` is unknown and may change the motion"),
        "{error}"
    );
}

#[test]
fn lifted_links_keep_their_weight_in_the_force() {
    let builder = read(&model("<link name=\"a\"><gravity>0</gravity></link>"));
    let ForceRule::Constant { force, .. } = &builder.forces[0].rule else {
        panic!("{:?}", builder.forces);
    };
    assert_eq!(force.to_array(), [0.0, 0.0, 9.81]);
}

/// What SDFormat's defaults and Gazebo's engines make of a file is listed among the assumptions.
#[test]
fn what_is_assumed_is_noted() {
    let joint = |name: &str, child: &str, more: &str| {
        format!(
            "<joint name=\"{name}\" type=\"revolute\"><parent>a</parent><child>{child}</child>\
             <axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper>{more}</limit></axis></joint>"
        )
    };
    let builder = read(&model(&format!(
        "<link name=\"a\"/><link name=\"b\"/>{}{}",
        joint(
            "j",
            "b",
            "<stiffness>1e8</stiffness><dissipation>1</dissipation>"
        ),
        joint("k", "b", ""),
    )));
    let lines = builder.assumptions.join("\n");
    for said in [
        "links without <inertial> have 1 kg and 1 kg·m² about every axis, as SDFormat says: `a`, `b`",
        "<stiffness> and <dissipation> of 1 joint limits are not used: stops are rigid here",
        "joints that close loops were cut: ",
        "limits of joints that close loops are not kept: ",
    ] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
    let world = "<world name=\"w\"><model name=\"m\"><static>true</static><link name=\"floor\"/></model>\
                 <model name=\"n\"><link name=\"a\"/></model><state world_name=\"w\"/></world>";
    let text = format!("<sdf version=\"1.9\">{world}</sdf>");
    let lines = read(&text).assumptions.join("\n");
    for said in [
        "the world has no <gravity>: it is ",
        "<state> is not read ",
        "models that do not move (<static>): ",
    ] {
        assert!(lines.contains(said), "{said}: {lines}");
    }
}
