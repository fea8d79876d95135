//! Whole files: those beside this one against MuJoCo, how a file is recognised, what it includes, how large it may be.

use crate::common::{BODY, folder, read, refusal, world};
use catena::residual::{largest, relative};
use catena::{Dynamics, State};
use catena_io::{ReadOptions, read_model};

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

/// XML files are distinguished by their first element, wherever the other's name may stand.
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

/// Thousands of nested bodies are read without running out of stack.
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
