//! The readers of catena as functions of bytes, and properties that must hold for any bytes: an input is rejected with a
//! message or accepted, without a panic; and an accepted input gives finite results or an error.
//!
//! Two kinds of tests call these [`TARGETS`]. The tests of this crate replay the kept inputs below `fuzz/corpus` and damage
//! good files at random, as part of the project's test command. `fuzz/run` lets a coverage-guided fuzzer (libFuzzer) search
//! for hours. Both damage inputs by the [`mutator`], which knows the structure of the files.

pub mod memory;
pub mod mutator;

use catena::algorithm::pendulum::Scheme;
use catena::error::Result;
use catena::integrate::{FixedMethod, Method, Tolerances};
use catena::model::{Model, embedded};
use catena::simulate::{
    Controller, Inputs, Integrator, Law, NewtonMatrix, Simulation, SimulationOptions, Stop,
};
use catena::{Batch, Dynamics, State};
use catena_io::run::{Column, Header, RunWriter, read_run};
use catena_io::{
    ReadOptions, model_from_json, model_from_mjcf, model_from_sdf, model_from_toml, model_from_urdf,
};
use catena_study::{Ledger, Mode, Origin, Sample, Study, lines_of};
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
pub const TARGETS: [Target; 25] = [
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
        name: "mjcf_stl",
        seeds: || files("fuzz/corpus/mjcf_stl", &["tetrahedron"]),
        is_text: false,
        run: |input| mjcf_mesh(input, "stl"),
    },
    Target {
        name: "mjcf_obj",
        seeds: || files("fuzz/corpus/mjcf_obj", &["pyramid"]),
        is_text: true,
        run: |input| mjcf_mesh(input, "obj"),
    },
    Target {
        name: "mjcf_msh",
        seeds: || files("fuzz/corpus/mjcf_msh", &["tetrahedron"]),
        is_text: false,
        run: |input| mjcf_mesh(input, "msh"),
    },
    Target {
        name: "state_json",
        seeds: || files("fuzz/corpus/state_json", &["two-states"]),
        is_text: true,
        run: |input| answer(input, "x.json", "inverse planar3 --state FILE --json"),
    },
    Target {
        name: "state_csv",
        seeds: || files("fuzz/corpus/state_csv", &["three-states"]),
        is_text: true,
        run: |input| answer(input, "x.csv", "inverse planar3 --state FILE --json"),
    },
    Target {
        name: "trajectory_csv",
        seeds: || files("fuzz/corpus/trajectory_csv", &["three-instants"]),
        is_text: true,
        run: |input| answer(input, "x.csv", "inverse planar3 --trajectory FILE --json"),
    },
    Target {
        name: "journal",
        seeds: || vec![journal_file()],
        is_text: true,
        run: journal,
    },
    Target {
        name: "study_lines",
        seeds: || vec![lines_of(&journal_study().1).into_bytes()],
        is_text: true,
        run: study_lines,
    },
    Target {
        name: "checkpoint",
        seeds: checkpoints,
        is_text: false,
        run: checkpoint,
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

/// Any numbers as state and input of an arm, of an arm on a free base, and of spherical joints: single and in a batch.
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

/// The inertia of a body of an MJCF model comes from this mesh.
fn mjcf_mesh(input: &[u8], format: &str) -> bool {
    let folder = scratch("mjcf");
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    std::fs::write(folder.join(format!("x.{format}")), input)
        .expect("a temporary file can be written");
    let mut accepted = false;
    for how in ["legacy", "exact", "shell"] {
        let text = format!(
            r#"<mujoco><asset><mesh name="m" file="x.{format}" inertia="{how}"/></asset><worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"#
        );
        let file = folder.join("model.xml");
        accepted |= model(
            text.as_bytes(),
            &file.display().to_string(),
            model_from_mjcf,
        );
    }
    let _ = std::fs::remove_dir_all(folder);
    accepted
}

/// What a command answers whose `FILE` is this input: a message, or states with finite numbers. Where a check is not possible, its number is missing.
fn answer(input: &[u8], name: &str, command: &str) -> bool {
    let path = scratch(name);
    std::fs::write(&path, input).expect("a temporary file can be written");
    let words: Vec<String> = command
        .split(' ')
        .map(|word| match word {
            "FILE" => path.display().to_string(),
            word => word.to_string(),
        })
        .collect();
    let found = catena_cli::answer(&words);
    let _ = std::fs::remove_file(path);
    match found {
        Ok(text) => {
            let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            for state in value["states"].as_array().expect("states") {
                for key in ["q", "v", "a", "tau"] {
                    let numbers = state[key].as_array().expect("numbers");
                    // JSON writes null where a number is not finite
                    assert!(numbers.iter().all(|x| x.is_f64()), "{key}: {text}");
                }
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            false
        }
    }
}

/// A study of six samples, and what was found for four of them: one failed.
fn journal_study() -> (Study, Vec<Sample>) {
    const STUDY: &str = r#"
        format = "catena-study/1"
        model = "planar3"
        design = { kind = "grid" }
        parameter = [
            { name = "speed", path = "v.joint1", values = [0.1, 0.25, 4] },
            { name = "turn", path = "q.joint1", values = [-1, 1e-3] },
        ]
        run = { duration = 1 }
        measure = [{ name = "end", value = "last(kinetic)" }, { name = "most", value = "max(kinetic)" }]"#;
    let study = Study::parse(STUDY, Path::new("study.toml")).expect("a study");
    let sample = |index: usize| Sample {
        index,
        values: study.values(index),
        measures: match index {
            2 => Err("the step has become \"too\" small\nat 0.5 s".into()),
            _ => Ok(vec![1.0 / (index as f64 + 3.0), 1e-12]),
        },
    };
    let samples = [1, 0, 2, 5].map(sample).into();
    (study, samples)
}

fn journal_origin() -> Origin {
    Origin {
        entries: vec![("model".into(), "planar3".into())],
    }
}

/// Where a study keeps what it has found so far.
fn journal_file() -> Vec<u8> {
    let (study, samples) = journal_study();
    let folder = scratch("ledger");
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let results = folder.join("results.csv");
    let mut ledger = Ledger::open(&study, journal_origin(), Some(&results), Mode::New)
        .expect("a study can be begun");
    ledger.take(&study, samples).expect("samples of the study");
    drop(ledger);
    let bytes = std::fs::read(folder.join("results.csv.journal")).expect("a journal");
    let _ = std::fs::remove_dir_all(folder);
    bytes
}

/// The lines with the checksums that they should have: damage gets past them.
fn with_checksums(input: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(input);
    let lines = text.split_inclusive('\n').map(|line| {
        let (body, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |body| (body, "\n"));
        let body = body.split_once(' ').map_or(body, |(_, rest)| rest);
        format!("{:08x} {body}{end}", crc32fast::hash(body.as_bytes()))
    });
    lines.collect::<String>().into_bytes()
}

/// A study is resumed from a journal, as it is and with checksums put right; what is missing and what is there add up.
fn journal(input: &[u8]) -> bool {
    let (study, _) = journal_study();
    let folder = scratch("ledger");
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let results = folder.join("results.csv");
    let mut accepted = false;
    for bytes in [input.to_vec(), with_checksums(input)] {
        std::fs::write(folder.join("results.csv.journal"), bytes)
            .expect("a temporary file can be written");
        match Ledger::open(&study, journal_origin(), Some(&results), Mode::Resume) {
            Ok(ledger) => {
                let missing: usize = ledger.missing().iter().map(ExactSizeIterator::len).sum();
                assert!(missing <= study.sample_count());
                assert!(ledger.before() >= study.sample_count() - missing);
                if missing == 0 {
                    let carried = ledger.finish(&study).expect("results of a complete study");
                    assert_eq!(carried.samples.len(), study.sample_count());
                }
                accepted = true;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty(), "an error says what is wrong");
            }
        }
    }
    let _ = std::fs::remove_dir_all(folder);
    accepted
}

/// Samples that arrive from another machine.
fn study_lines(input: &[u8]) -> bool {
    let (study, _) = journal_study();
    let mut accepted = false;
    for bytes in [input.to_vec(), with_checksums(input)] {
        let mut ledger = Ledger::open(&study, journal_origin(), None, Mode::New)
            .expect("a study without a file");
        match ledger.take_lines(&study, &bytes) {
            Ok(samples) => {
                assert!(samples.len() <= study.sample_count());
                accepted |= !samples.is_empty();
            }
            Err(error) => {
                assert!(!error.to_string().is_empty(), "an error says what is wrong");
            }
        }
    }
    accepted
}

/// Runs of every kind of integrator: of a tree with friction, stops and a sampled controller, of a pendulum, and of closed chains.
fn runs() -> Vec<Simulation> {
    let tolerances = Tolerances {
        relative: 1e-6,
        absolute: 1e-8,
    };
    let explicit = Integrator::Adaptive {
        method: Method::Dop853,
        tolerances,
        max_step: f64::INFINITY,
    };
    let implicit = |matrix| Integrator::Bdf {
        tolerances,
        max_step: f64::INFINITY,
        max_order: 5,
        matrix,
    };
    let fixed = Integrator::Fixed {
        method: FixedMethod::RungeKutta4,
        step: 0.002,
    };
    let names = [
        ("zoo", explicit),
        ("zoo", implicit(NewtonMatrix::Automatic)),
        ("zoo", fixed),
        (
            "pendulum-3",
            implicit(NewtonMatrix::Pendulum(Scheme::Linear)),
        ),
        ("bricard", explicit),
        ("squeezer", implicit(NewtonMatrix::Automatic)),
    ];
    let make = |(name, integrator): (&str, Integrator)| {
        let model = embedded::model(name).expect("an embedded model");
        let model = model.with_gravity([0.0, 0.0, -9.81]);
        let inputs = match name {
            "zoo" => Inputs {
                controller: Controller::Own(Law::with_state(&[0.0], |_, _, v, state, tau| {
                    state[0] += 0.01;
                    for (tau, v) in tau.iter_mut().zip(v) {
                        *tau = state[0] - 0.5 * v;
                    }
                })),
                rate: Some(100.0),
                stops: Stop::all(&model),
                ..Inputs::default()
            },
            _ => Inputs::default(),
        };
        let options = SimulationOptions {
            integrator,
            duration: 0.4,
            interval: 0.02,
        };
        Simulation::new(&model, &State::start(&model), inputs, Vec::new(), options).expect("a run")
    };
    names.into_iter().map(make).collect()
}

/// Which run, and the words of its checkpoint after a few steps.
fn checkpoints() -> Vec<Vec<u8>> {
    let seed = |(k, mut run): (usize, Simulation)| {
        for _ in 0..7 {
            run.advance(&mut Vec::new()).expect("a step");
        }
        let words = std::iter::once(k as u64).chain(run.checkpoint());
        words.flat_map(u64::to_le_bytes).collect()
    };
    runs().into_iter().enumerate().map(seed).collect()
}

/// A run continues from a checkpoint for a few steps: its samples are finite, and no more than the run has.
fn checkpoint(input: &[u8]) -> bool {
    let mut words = input
        .chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
    let Some(which) = words.next() else {
        return false;
    };
    let words: Vec<u64> = words.collect();
    let mut runs = runs();
    let count = runs.len();
    let mut run = runs.swap_remove(which as usize % count);
    if let Err(error) = run.restore(&words) {
        assert!(!error.to_string().is_empty(), "an error says what is wrong");
        return false;
    }
    let mut samples = Vec::new();
    for _ in 0..20 {
        if run.advance(&mut samples).is_err() {
            break;
        }
    }
    assert!(samples.len() <= 21, "{} samples", samples.len());
    for sample in &samples {
        finite(&sample.state.q);
        finite(&sample.state.v);
    }
    true
}
