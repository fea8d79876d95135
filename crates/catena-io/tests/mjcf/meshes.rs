//! Meshes: the mass that they enclose, their files, and what is no mesh.

use crate::common::{built, near, read, refusal};
use catena_io::{ReadOptions, builder_from_mjcf};
use std::f64::consts::PI;

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

/// Invalid mesh files, each with its message.
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
