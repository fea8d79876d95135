//! The readers of catena as functions of bytes, and properties that must hold for any bytes: an input is rejected with a
//! message or accepted, without a panic; and an accepted input gives finite results or an error.
//!
//! Two kinds of tests call these [`TARGETS`]. The tests of this crate replay the kept inputs below `fuzz/corpus` and damage
//! good files at random, as part of the project's test command. `fuzz/run` lets a coverage-guided fuzzer (libFuzzer) search
//! for hours. Both damage inputs by the [`mutator`], which knows the structure of the files.

pub mod memory;
pub mod mutator;

use catena::error::Result;
use catena::model::{Model, embedded};
use catena::{Batch, Dynamics, State};
use catena_io::run::{Column, Header, RunWriter, read_run};
use catena_io::{
    ReadOptions, model_from_json, model_from_mjcf, model_from_sdf, model_from_toml, model_from_urdf,
};
use catena_study::Study;
use catena_view::scene::{Subject, scene};
use catena_view::visual;
use serde_json::json;
use std::path::{Path, PathBuf};

/// A function of bytes that must not panic.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, that of its folder below `fuzz/corpus`.
    pub name: &'static str,
    /// Good inputs, to be damaged.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Is the input text?
    pub is_text: bool,
    /// Reads the input and uses its contents. True if the reader accepted it.
    pub run: fn(&[u8]) -> bool,
}

/// Every target.
pub const TARGETS: [Target; 16] = [
    Target {
        name: "toml",
        seeds: toml_models,
        is_text: true,
        run: |input| model(input, "x.toml", model_from_toml),
    },
    Target {
        name: "json",
        seeds: || files("models", &["gripper.json"]),
        is_text: true,
        run: |input| model(input, "x.json", model_from_json),
    },
    Target {
        name: "urdf",
        seeds: || files("models", &["double_pendulum.urdf"]),
        is_text: true,
        run: |input| model(input, "x.urdf", model_from_urdf),
    },
    Target {
        name: "mjcf",
        seeds: || files("models", &["two_legs.xml"]),
        is_text: true,
        run: |input| model(input, "x.xml", model_from_mjcf),
    },
    Target {
        name: "sdf",
        seeds: || {
            let mut seeds = files("models", &["two_link_arm.sdf"]);
            seeds.extend(files("fuzz/corpus/sdf", &["many-rules"]));
            seeds
        },
        is_text: true,
        run: |input| model(input, "x.sdf", model_from_sdf),
    },
    Target {
        name: "study",
        seeds: study_files,
        is_text: true,
        run: study,
    },
    Target {
        name: "conformance",
        seeds: conformance_cases,
        is_text: true,
        run: conformance,
    },
    Target {
        name: "run_csv",
        seeds: || vec![run_file("csv")],
        is_text: true,
        run: |input| run(input, "csv"),
    },
    Target {
        name: "run_parquet",
        seeds: || vec![run_file("parquet")],
        is_text: false,
        run: |input| run(input, "parquet"),
    },
    Target {
        name: "run_mcap",
        seeds: || vec![run_file("mcap")],
        is_text: false,
        run: |input| run(input, "mcap"),
    },
    Target {
        name: "study_list",
        seeds: || files("fuzz/corpus/study_list", &["three-samples"]),
        is_text: true,
        run: study_list,
    },
    Target {
        name: "mesh_stl",
        seeds: || files("fuzz/corpus/mesh_stl", &["triangle"]),
        is_text: false,
        run: |input| mesh(input, "stl"),
    },
    Target {
        name: "mesh_obj",
        seeds: || files("fuzz/corpus/mesh_obj", &["square"]),
        is_text: true,
        run: |input| mesh(input, "obj"),
    },
    Target {
        name: "mesh_dae",
        seeds: || files("fuzz/corpus/mesh_dae", &["triangle"]),
        is_text: true,
        run: |input| mesh(input, "dae"),
    },
    Target {
        name: "mesh_gltf",
        seeds: || files("fuzz/corpus/mesh_gltf", &["triangle"]),
        is_text: true,
        run: |input| mesh(input, "gltf"),
    },
    Target {
        name: "states",
        seeds: states,
        is_text: false,
        run: state,
    },
];

/// The target of that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str, names: &[&str]) -> Vec<Vec<u8>> {
    names
        .iter()
        .map(|name| {
            let path = root().join(folder).join(name);
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

/// Trees, a free base, and mechanisms with loops, drivers, couplings and distances.
fn toml_models() -> Vec<Vec<u8>> {
    let mut models = files("models", &["space_robot.toml", "planar3.toml"]);
    for name in ["four-bar-2", "slider-crank", "stewart", "particle-pendulum"] {
        let builder = embedded::builder(name).expect("an embedded model");
        models.push(catena_io::to_toml(&builder).into_bytes());
    }
    models
}

/// A study with every distribution, and a search.
fn study_files() -> Vec<Vec<u8>> {
    files("fuzz/corpus/study", &["every-distribution", "search"])
}

/// Cases that are computed in milliseconds; motions take longer.
fn conformance_cases() -> Vec<Vec<u8>> {
    let folder = root().join("crates/catena-conformance/tests/cases");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).expect("a file that was listed"))
        .collect()
}

/// A run of two blocks and an end.
fn run_file(format: &str) -> Vec<u8> {
    const COLUMNS: [(&str, &str); 4] = [
        ("time", "s"),
        ("q.shoulder", "rad"),
        ("q.elbow, left #2", "rad"),
        ("ratio \"r\"", ""),
    ];
    let path = scratch(&format!("seed.{format}"));
    let header = Header {
        columns: COLUMNS.map(|(name, unit)| Column::new(name, unit)).into(),
        metadata: json!({ "model": "arm\nof # two", "rtol": 1e-12, "seed": 7 }),
    };
    let mut writer = RunWriter::create(&path, &header, true).expect("a run can be written");
    for block in 0..2u32 {
        let rows: Vec<f64> = (0..5 * COLUMNS.len())
            .map(|k| 0.25 * k as f64 + 100.0 * f64::from(block))
            .collect();
        writer.block(&rows, &[1, 2, block.into()]).expect("a block");
    }
    writer
        .finish(&json!({ "energy drift": 3.0e-13 }))
        .expect("an end");
    let bytes = std::fs::read(&path).expect("the run that was written");
    let _ = std::fs::remove_file(path);
    bytes
}

/// Coordinates, velocities and inputs that lie far apart, and NaN.
fn states() -> Vec<Vec<u8>> {
    let numbers = |numbers: &[f64]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    vec![
        numbers(&[0.1, -0.7, 2.0, 1e-300, 1e300, -0.0, 3.5, 1.0, 0.25]),
        numbers(&[
            f64::NAN,
            f64::INFINITY,
            1.0,
            -1.0,
            f64::MAX,
            f64::MIN_POSITIVE,
        ]),
    ]
}

/// A file of this process and thread.
fn scratch(name: &str) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    std::env::temp_dir().join(format!(
        "catena-fuzz-{}-{thread}-{name}",
        std::process::id()
    ))
}

type Reader = fn(&str, &str, &ReadOptions) -> Result<Model>;

fn model(input: &[u8], name: &str, read: Reader) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    match read(text, name, &ReadOptions::default()) {
        Ok(model) => {
            expect_finite(&model);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            false
        }
    }
}

fn finite(numbers: &[f64]) {
    assert!(
        numbers.iter().all(|x| x.is_finite()),
        "not finite: {numbers:?}"
    );
}

/// Efforts, accelerations and inertias of an accepted model are finite, or rejected.
fn expect_finite(model: &Model) {
    let model = model.clone().open_tree();
    let mut dynamics = Dynamics::new(&model);
    for seed in 0..2 {
        let state = State::random(&model, seed);
        ask(&mut dynamics, &state, &vec![1.0; model.nv()]);
    }
}

/// Computes every quantity at one state.
fn ask(dynamics: &mut Dynamics, state: &State, input: &[f64]) {
    if let Ok(tau) = dynamics.inverse(state, input, &[]) {
        finite(tau);
    }
    if let Ok(vdot) = dynamics.forward(state, input, &[]) {
        finite(vdot);
    }
    if let Ok(inertia) = dynamics.inertia(state) {
        finite(inertia.as_slice());
    }
}

fn conformance(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    catena_conformance::verify_text(text, "case.json").is_ok()
}

/// The values of the samples of an accepted study are finite, the last ones too.
fn study(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    match Study::parse(text, Path::new("study.toml")) {
        Ok(study) => {
            let count = study.sample_count();
            for index in (0..count.min(8)).chain(count.saturating_sub(8)..count) {
                finite(&study.values(index));
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            false
        }
    }
}

/// A list of samples and a study that uses it.
fn study_list(input: &[u8]) -> bool {
    const STUDY: &str = r#"
        format = "catena-study/1"
        model = "planar3"
        design = { kind = "list", file = "list.csv" }
        parameter = [{ name = "speed", path = "v.joint1" }, { name = "turn", path = "q.joint1" }]
        run = { duration = 1 }
        measure = [{ name = "end", value = "last(kinetic)" }]"#;
    let folder = scratch("list");
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    std::fs::write(folder.join("list.csv"), input).expect("a temporary file can be written");
    let found = Study::parse(STUDY, &folder.join("study.toml"));
    let _ = std::fs::remove_dir_all(folder);
    match found {
        Ok(study) => {
            (0..study.sample_count()).for_each(|index| finite(&study.values(index)));
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            false
        }
    }
}

/// A mesh on the only link of a robot, as far as the page that shows it.
fn mesh(input: &[u8], format: &str) -> bool {
    let folder = scratch("mesh");
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    std::fs::write(folder.join(format!("x.{format}")), input)
        .expect("a temporary file can be written");
    let robot = folder.join("robot.urdf");
    let text = format!(
        r#"<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <visual><geometry><mesh filename="x.{format}"/></geometry></visual></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>"#
    );
    std::fs::write(&robot, text).expect("a temporary file can be written");
    let model = catena_io::read_model(&robot, &ReadOptions::default()).expect("a model");
    let (visuals, _) = visual::of_file(&robot, &model).expect("a mesh that fails is left out");
    let _ = std::fs::remove_dir_all(folder);
    let subject = Subject::of_model("it", &model).with_visuals(&visuals);
    let shown = scene(vec![subject], &[]);
    let is_shown = shown["subjects"][0]["visuals"].is_array();
    assert_eq!(is_shown, !visuals.is_empty());
    !visuals.is_empty()
}

fn run(input: &[u8], format: &str) -> bool {
    let path = scratch(&format!("input.{format}"));
    std::fs::write(&path, input).expect("a temporary file can be written");
    let found = read_run(&path);
    if let Ok(run) = &found {
        for k in 0..run.row_count() {
            finite(&run.row(k));
        }
    }
    let _ = RunWriter::resume(&path);
    let _ = std::fs::remove_file(path);
    found.is_ok()
}

/// Any numbers as state and input of an arm, of an arm on a free base, and of ball joints: single and in a batch.
fn state(input: &[u8]) -> bool {
    let numbers: Vec<f64> = input
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
        .collect();
    if numbers.is_empty() {
        return false;
    }
    let mut accepted = false;
    for name in ["stanford", "space-robot", "spherical-chain-3"] {
        let model = embedded::model(name).expect("an embedded model");
        let (nq, nv) = (model.nq(), model.nv());
        let mut next = numbers.iter().copied().cycle();
        let mut take = |count: usize| -> Vec<f64> { next.by_ref().take(count).collect() };
        let (q, v, x) = (take(nq), take(nv), take(nv));
        let mut batch = Batch::new(&model);
        let mut out = vec![0.0; nv];
        for question in [Batch::inverse, Batch::forward] {
            if question(&mut batch, &q, &v, &x, &mut out).is_ok() {
                finite(&out);
                accepted = true;
            }
        }
        let mut given = State::neutral(&model);
        (given.q, given.v) = (q, v);
        ask(&mut Dynamics::new(&model), &given, &x);
    }
    accepted
}
