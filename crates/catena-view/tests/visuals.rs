//! Shapes and meshes of model files.

use catena_io::ReadOptions;
use catena_view::scene::{Subject, scene};
use catena_view::visual;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("catena-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, contents).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The visuals that the page gets of a model file, and the notes.
fn shown(path: &Path) -> (Vec<Value>, Vec<String>) {
    let model = catena_io::read_model(path, &ReadOptions::default()).expect("a model");
    let (visuals, notes) = visual::of_file(path, &model).expect("visuals");
    let subject = Subject::of_model("it", &model).with_visuals(&visuals);
    let scene = scene(vec![subject], &[]);
    let list = scene["subjects"][0]["visuals"].as_array();
    (list.cloned().unwrap_or_default(), notes)
}

/// A triangle as STL with binary numbers.
fn stl() -> Vec<u8> {
    let mut bytes = vec![0; 80];
    bytes.extend(1u32.to_le_bytes());
    for x in [
        0.0f32, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0,
    ] {
        bytes.extend(x.to_le_bytes());
    }
    bytes.extend([0, 0]);
    bytes
}

const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";

const DAE: &str = r##"<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="9">0 0 0 1 0 0 0 1 0</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
</COLLADA>"##;

/// Three corners in the address of the buffer, without indices.
fn gltf() -> String {
    let corners = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"; // (0, 0, 0), (1, 0, 0), (0, 1, 0)
    format!(
        r#"{{"asset": {{"version": "2.0"}}, "scenes": [{{"nodes": [0]}}], "nodes": [{{"mesh": 0}}],
        "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}}}]}}],
        "accessors": [{{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}}],
        "bufferViews": [{{"buffer": 0, "byteLength": 36}}],
        "buffers": [{{"byteLength": 36, "uri": "data:application/octet-stream;base64,{corners}"}}]}}"#
    )
}

fn urdf(visuals: &str) -> String {
    format!(
        r#"<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{visuals}</link>
        <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"#
    )
}

#[test]
fn urdf_shows_every_format_and_says_what_is_missing() {
    let folder = Folder::new("visuals");
    folder.write("a.stl", stl());
    folder.write("b.OBJ", OBJ);
    folder.write("c.dae", DAE);
    folder.write("d.gltf", gltf());
    folder.write("broken.stl", b"solid but nothing more");
    folder.write("e.step", b"ISO-10303-21;");
    let mesh = |name: &str| {
        format!(r#"<visual><geometry><mesh filename="{name}" scale="2 2 2"/></geometry></visual>"#)
    };
    let names = [
        "a.stl",
        "b.OBJ",
        "c.dae",
        "d.gltf",
        "missing.stl",
        "broken.stl",
        "e.step",
    ];
    let mut visuals: String = names.iter().map(|name| mesh(name)).collect();
    visuals += r#"<visual><geometry><capsule radius="0.1" length="0.5"/></geometry></visual>"#;
    visuals += r#"<visual><geometry><torus/></geometry></visual>"#;
    let path = folder.write("r.urdf", urdf(&visuals));
    let (shown, notes) = shown(&path);
    let faces: Vec<usize> = shown
        .iter()
        .filter_map(|v| v["geometry"]["mesh"]["faces"].as_str().map(str::len))
        .collect();
    // 12 bytes of a triangle are 16 letters; the square of the OBJ file has two
    assert_eq!(faces, [16, 32, 16, 16]);
    assert_eq!(
        shown[4]["geometry"]["capsule"],
        serde_json::json!([0.1, 0.5])
    );
    assert!(shown.iter().all(|visual| visual["body"] == 1));
    let told = |words: &str| notes.iter().any(|note| note.contains(words));
    assert!(told("missing.stl does not exist"), "{notes:?}");
    assert!(told("broken.stl is not shown"), "{notes:?}");
    assert!(told("only STL, OBJ, COLLADA and glTF"), "{notes:?}");
    assert!(told("<torus> is not understood"), "{notes:?}");
    assert_eq!(notes.len(), 4);
}

#[test]
fn mjcf_shows_its_geoms() {
    let folder = Folder::new("geoms");
    folder.write("wedge.obj", OBJ);
    let path = folder.write(
        "m.xml",
        r#"<mujoco><asset><mesh name="wedge" file="wedge.obj"/><mesh name="lost" file="lost.stl"/>
        <material name="red" rgba="1 0 0 0.5"/></asset>
        <worldbody><geom type="plane" size="1 1 1"/><geom type="box" size="1 2 3"/>
        <body name="arm" pos="0 0 1"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><joint name="j" axis="0 1 0" pos="0.5 0 0"/>
          <geom type="capsule" size="0.1" fromto="0 0 0 0 0 -0.6" material="red"/>
          <geom type="mesh" mesh="wedge" pos="0.1 0.2 0.3"/><geom type="mesh" mesh="lost"/>
          <geom type="ellipsoid" size="0.1 0.2 0.3" rgba="0 0 1 1"/><geom type="sphere" size="1" group="3"/>
        </body></worldbody></mujoco>"#,
    );
    let (shown, notes) = shown(&path);
    let bodies: Vec<u64> = shown.iter().filter_map(|v| v["body"].as_u64()).collect();
    assert_eq!(bodies, [0, 1, 1, 1], "planes and group 3 are not drawn");
    assert_eq!(
        shown[0]["geometry"]["box"],
        serde_json::json!([2.0, 4.0, 6.0])
    );
    assert_eq!(
        shown[1]["geometry"]["capsule"],
        serde_json::json!([0.1, 0.6])
    );
    assert_eq!(shown[1]["colour"], serde_json::json!([1.0, 0.0, 0.0, 0.5]));
    // the frame of the body is on its joint, half a metre along x and turned so that z is the axis
    let place: Vec<f64> = shown[2]["pose"]["p"]
        .as_array()
        .expect("a place")
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    let distance = place.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(
        (distance - (0.4f64.powi(2) + 0.04 + 0.09).sqrt()).abs() < 1e-12,
        "{place:?}"
    );
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("lost.stl"), "{notes:?}");
}

/// Shapes of every kind, in the file's own words, with colours and places; what has no size is reported.
#[test]
fn urdf_shapes() {
    let folder = Folder::new("shapes");
    std::fs::create_dir_all(folder.0.join("meshes")).expect("a folder");
    folder.write("meshes/a.stl", stl());
    let visual = |shape: &str| format!("<visual><geometry>{shape}</geometry></visual>");
    let mut visuals: String = [
        r#"<cylinder radius="0.1" length="2"/>"#,
        r#"<sphere radius="0.3"/>"#,
        r#"<mesh filename="package://robot/meshes/a.stl"/>"#,
        r#"<mesh filename="file://meshes/a.stl"/>"#,
        r#"<sphere radius="0"/>"#,
        r#"<box size="1 2"/>"#,
        "",
    ]
    .map(visual)
    .concat();
    visuals += r#"<visual><origin xyz="1 2 3"/><geometry><sphere radius="1"/></geometry><material name="own"><color rgba="2 0 -1 0.5"/></material></visual>"#;
    visuals += r#"<visual><origin xyz="1 2 3"/></visual>"#;
    let path = folder.write("r.urdf", urdf(&visuals));
    let (shown, notes) = shown(&path);
    assert_eq!(shown.len(), 5, "{notes:?}");
    assert_eq!(
        shown[0]["geometry"]["cylinder"],
        serde_json::json!([0.1, 2.0])
    );
    assert_eq!(shown[1]["geometry"]["sphere"], 0.3);
    assert_eq!(shown[2]["geometry"], shown[3]["geometry"]);
    assert_eq!(shown[4]["pose"]["p"], serde_json::json!([1.0, 2.0, 3.0]));
    assert_eq!(shown[4]["colour"], serde_json::json!([1.0, 0.0, 0.0, 0.5]));
    assert_eq!(
        notes,
        [
            "link `arm`: its <sphere> is not understood and not shown",
            "link `arm`: its <box> is not understood and not shown"
        ]
    );
}

#[test]
fn mjcf_shapes_and_strangers() {
    let folder = Folder::new("mjcf-shapes");
    let bodies = |names: [&str; 2]| {
        names.map(|name| format!(r#"<body name="{name}"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><joint name="of-{name}" axis="0 0 1"/>
            <geom type="cylinder" size="0.1 0.5"/><geom type="sphere" size="0.2"/></body>"#)).concat()
    };
    let file = |names| format!("<mujoco><worldbody>{}</worldbody></mujoco>", bodies(names));
    let path = folder.write("m.xml", file(["arm", "leg"]));
    let (visuals, notes) = shown(&path);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(visuals.len(), 4);
    assert_eq!(
        visuals[0]["geometry"]["cylinder"],
        serde_json::json!([0.1, 1.0])
    );
    assert_eq!(visuals[1]["geometry"]["sphere"], 0.2);
    let model = catena_io::read_model(&path, &ReadOptions::default()).expect("a model");
    let other = folder.write("other.xml", file(["wing", "tail"]));
    let (visuals, notes) = visual::of_file(&other, &model).expect("visuals");
    assert!(visuals.is_empty());
    assert!(
        notes[0].starts_with("2 links of ") && notes[0].ends_with("such as `tail`"),
        "{notes:?}"
    );
}

/// A file of shapes that is no XML, or is not there, is an error and no empty picture.
#[test]
fn files_without_shapes_are_errors() {
    let folder = Folder::new("no-shapes");
    let path = folder.write("r.urdf", urdf(""));
    let model = catena_io::read_model(&path, &ReadOptions::default()).expect("a model");
    let broken = folder.write("broken.urdf", "<robot>");
    let error = visual::of_file(&broken, &model).expect_err("no end");
    assert!(
        error.message().starts_with("not well-formed XML: "),
        "{error}"
    );
    let error = visual::of_file(&folder.0.join("none.urdf"), &model).expect_err("not there");
    assert!(
        error.message().starts_with("the file cannot be read: "),
        "{error}"
    );
}

/// Meshes that would fill the memory, or that lead nowhere, are refused with the reason.
#[test]
fn meshes_without_sense_are_refused() {
    let folder = Folder::new("senseless");
    let huge = std::fs::File::create(folder.0.join("huge.stl")).expect("a file");
    huge.set_len((64 << 20) + 1).expect("a hole is cheap");
    folder.write("corner.gltf", gltf().replace("AACAPw", "AACAfw"));
    folder.write(
        "points.gltf",
        gltf().replace("\"attributes\"", "\"mode\": 0, \"attributes\""),
    );
    folder.write("loose.dae", DAE.replace("<p>0 1 2", "<p>0 1 3"));
    let mesh =
        |name: &str| format!(r#"<visual><geometry><mesh filename="{name}"/></geometry></visual>"#);
    // the same file twice is read, and told, once
    let names = [
        "huge.stl",
        "corner.gltf",
        "points.gltf",
        "loose.dae",
        "loose.dae",
    ];
    let path = folder.write("r.urdf", urdf(&names.map(mesh).concat()));
    let (shown, notes) = shown(&path);
    assert!(shown.is_empty(), "{shown:?}");
    for (note, words) in notes.iter().zip([
        "it is larger than 67108864 bytes",
        "a vertex is not finite",
        "it has no triangles",
        "a triangle refers to a vertex that does not exist",
    ]) {
        assert!(note.ends_with(words), "{note}");
    }
    assert_eq!(notes.len(), 4, "{notes:?}");
}

/// Binary files that begin like text, and files of another robot.
#[test]
fn binary_files_with_a_title_are_read_and_strangers_are_told() {
    let folder = Folder::new("titles");
    let mut titled = stl();
    titled[..10].copy_from_slice(b"solid foot");
    folder.write("foot.stl", titled);
    let mesh = r#"<visual><geometry><mesh filename="foot.stl"/></geometry></visual>"#;
    let path = folder.write("r.urdf", urdf(mesh));
    let (visuals, notes) = shown(&path);
    assert_eq!((visuals.len(), notes.len()), (1, 0), "{notes:?}");
    let model = catena_io::read_model(&path, &ReadOptions::default()).expect("a model");
    let other = folder.write("other.urdf", urdf(mesh).replace("\"arm\"", "\"leg\""));
    let (visuals, notes) = visual::of_file(&other, &model).expect("visuals");
    assert!(visuals.is_empty());
    assert!(
        notes[0].contains("link `leg`") && notes[0].contains("not in the model"),
        "{notes:?}"
    );
}

/// Whatever the bytes of a mesh are, they are shown or refused with a reason.
#[test]
fn damaged_meshes_are_refused() {
    let folder = Folder::new("damaged");
    let files = [
        ("x.stl", stl()),
        ("x.obj", OBJ.into()),
        ("x.dae", DAE.into()),
        ("x.gltf", gltf().into_bytes()),
    ];
    let mut random = catena::random::Random::new(1);
    for (name, good) in files {
        let path = folder.write(
            "r.urdf",
            urdf(&format!(
                r#"<visual><geometry><mesh filename="{name}"/></geometry></visual>"#
            )),
        );
        let model = catena_io::read_model(&path, &ReadOptions::default()).expect("a model");
        for _ in 0..150 {
            let mut bytes = good.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes.truncate(at + 1),
                    _ => drop(bytes.remove(at)),
                }
                if bytes.is_empty() {
                    bytes.push(b' ');
                }
            }
            folder.write(name, &bytes);
            let (shown, notes) = visual::of_file(&path, &model).expect("a good URDF file");
            assert_eq!(shown.len().min(1) + notes.len(), 1, "{notes:?}");
        }
    }
}
