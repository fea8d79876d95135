//! Generated code is compiled and run: its own test compares it with the library to 1e-12 of the largest number.

use catena::model::{
    ConstraintSpec, Inertial, JointKind, JointSpec, Law, RuleSpec, dh, embedded, modified_dh,
};
use catena::spatial::{Pose, Sym3, Vec3};
use catena::{Model, ModelBuilder};
use catena_symbolic::derive::Keep;
use catena_symbolic::generate::{CodeOptions, Function, Language, Module, Question};
use catena_testing::elements::loaded;
use catena_testing::entry;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("catena-generated-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Robots of many shapes: arms as in factories, planar, with a slide, free base, long, every joint, spherical, free and branching.
const ROBOTS: [&str; 11] = [
    "ur5-like",
    "panda-like",
    "planar3",
    "stanford",
    "space-robot",
    "chain-7",
    "zoo",
    "pendulum-3",
    "floating-chain-6",
    "random-5-3",
    "random-6-8",
];

fn main_questions() -> Vec<Question> {
    use Question::*;
    vec![
        Inverse,
        Forward,
        Inertia,
        InertiaUpper,
        Factor,
        Bias,
        Gravity,
        Jacobian,
        Pose,
        Energy,
    ]
}

/// Six axes with two parallel pairs: the frames of a UR5 (standard DH: a, b, α), its masses, tensors of rods.
const UR5: [[f64; 4]; 6] = [
    [0.0, 0.089159, 90.0, 3.7],
    [-0.425, 0.0, 0.0, 8.393],
    [-0.39225, 0.0, 0.0, 2.33],
    [0.0, 0.10915, 90.0, 1.219],
    [0.0, 0.09465, -90.0, 1.219],
    [0.0, 0.0823, 0.0, 0.1879],
];
/// Seven axes at right angles with offsets: the frames of a Panda (modified DH: a, α, d), masses like its own.
const PANDA: [[f64; 4]; 7] = [
    [0.0, 0.0, 0.333, 4.97],
    [0.0, -90.0, 0.0, 0.65],
    [0.0, 90.0, 0.316, 3.23],
    [0.0825, 90.0, 0.0, 3.59],
    [-0.0825, -90.0, 0.384, 1.23],
    [0.0, 90.0, 0.0, 1.67],
    [0.088, 90.0, 0.107, 0.74],
];

/// An arm of revolute joints: where each stands in the frame before, and its link.
fn arm(name: &str, links: &[(Pose<f64>, Inertial)]) -> Model {
    let mut builder = ModelBuilder::new(name);
    let mut parent = "world".to_string();
    for (k, (place, inertial)) in links.iter().enumerate() {
        let link = format!("link{}", k + 1);
        builder.link(&link, *inertial);
        let joint = format!("joint{}", k + 1);
        let mut joint = JointSpec::new(&joint, JointKind::Revolute, &parent, &link);
        joint.parent_from_joint = *place;
        builder.joint(joint);
        parent = link;
    }
    builder.build().expect("the arm is sound")
}

fn ur5_like() -> Model {
    let mut links = Vec::new();
    let mut place = Pose::identity();
    for [a, b, alpha, mass] in UR5 {
        let (length, centre) = (a.abs() + b, Vec3::new(0.5 * a, 0.02, 0.5 * b));
        let (thin, long) = (0.002 * mass, mass * length * length / 12.0 + 0.002 * mass);
        let tensor = match a == 0.0 {
            true => Sym3::new(long, long, thin, 0.0, 0.0, 0.0),
            false => Sym3::new(thin, long, long, 0.0, 0.0, 0.0),
        };
        let inertial = Inertial {
            mass,
            centre,
            tensor,
        };
        links.push((place, inertial));
        place = dh(a, b, f64::to_radians(alpha), 0.0);
    }
    arm("ur5-like", &links)
}

fn panda_like() -> Model {
    let link = |k: usize, [a, alpha, d, mass]: [f64; 4]| {
        let x = k as f64;
        // every entry of every tensor is there
        let inertial = Inertial {
            mass,
            centre: Vec3::new(0.01 + 0.003 * x, -0.03 + 0.01 * x, 0.04 - 0.015 * x),
            tensor: Sym3::new(
                0.02 + 0.001 * x,
                0.018,
                0.015 + 0.002 * x,
                0.001,
                -0.002,
                0.0015 - 0.0002 * x,
            ),
        };
        (modified_dh(a, f64::to_radians(alpha), d, 0.0), inertial)
    };
    let links: Vec<_> = (0..7).map(|k| link(k, PANDA[k])).collect();
    arm("panda-like", &links)
}

fn model(name: &str) -> Model {
    match name {
        "ur5-like" => return ur5_like(),
        "panda-like" => return panda_like(),
        "tilted" => {
            // on a slope: gravity is along no axis
            let mut builder = embedded::builder("planar3").expect("the model is embedded");
            builder.name = "tilted".into();
            builder.gravity = Vec3::new(2.0, 0.0, -9.0);
            return builder.build().expect("the model is sound");
        }
        "driven" => {
            // a parallelogram whose crank swings to and fro
            let mut builder = embedded::builder("four-bar-1").expect("the model is embedded");
            builder.name = "driven".into();
            let law = Law::Sine {
                offset: 1.0,
                amplitude: 0.2,
                frequency: 3.0,
                phase: 0.1,
            };
            let coordinate = "foot0".into();
            let motor = RuleSpec::Driver { coordinate, law };
            builder.constraint(ConstraintSpec::new("motor", motor));
            return builder.build().expect("the model is sound");
        }
        _ => {}
    }
    let builder: ModelBuilder = embedded::builder(name).expect("the model is embedded");
    builder.build().expect("the model is sound")
}

fn module(name: &str, questions: &[Question]) -> Module {
    let model = model(name);
    let last = model.tree().frames.last().expect("there is a frame");
    let options = CodeOptions {
        frame: last.name.clone(),
        ..CodeOptions::default()
    };
    Module::new(&model, questions, &options).expect("code can be generated")
}

fn write(folder: &Path, module: &Module, language: Language) {
    for file in module.source(language).expect("it can be written") {
        std::fs::write(folder.join(file.name), file.text).expect("a file can be written");
    }
}

/// Runs a program in the folder; what it printed, if it failed.
fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let path = match folder.join(program) {
        path if path.exists() => path,
        _ => PathBuf::from(program),
    };
    let output = Command::new(&path)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| {
            panic!("`{program}` is needed to test generated code and cannot be run: {error}")
        });
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let first: Vec<&str> = text.lines().take(30).collect();
    assert!(
        output.status.success(),
        "{program} {arguments:?}\n{}",
        first.join("\n")
    );
}

#[test]
fn c_agrees_with_the_library() {
    let folder = Folder::new("c");
    for name in ROBOTS {
        let module = module(name, &main_questions());
        write(&folder.0, &module, Language::C);
        let file = &module.name;
        let (source, test) = (format!("{file}.c"), format!("{file}_test.c"));
        let flags = [
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", "run", &source, &test,
        ];
        run(&folder.0, "cc", &flags);
        run(&folder.0, "run", &[]);
    }
}

#[test]
fn rust_agrees_with_the_library() {
    let folder = Folder::new("rust");
    for name in ROBOTS {
        // rustc takes long over long functions: the large robots answer the main questions only
        let all = main_questions();
        let few = if model(name).nv() > 7 { 3 } else { all.len() };
        let module = module(name, &all[..few]);
        write(&folder.0, &module, Language::Rust);
        let test = format!("{}_test.rs", module.name);
        let flags = [
            "--edition",
            "2021",
            "--test",
            "-Dwarnings",
            "-o",
            "run",
            &test,
        ];
        run(&folder.0, "rustc", &flags);
        run(&folder.0, "run", &[]);
    }
}

/// With the instructions of this machine: fused multiply-adds, where it has them.
#[test]
fn native_code_agrees_with_the_library() {
    let folder = Folder::new("native");
    for name in ["chain-7", "random-3-5"] {
        let module = module(name, &main_questions()[..3]);
        write(&folder.0, &module, Language::C);
        write(&folder.0, &module, Language::Rust);
        let file = &module.name;
        let (source, test) = (format!("{file}.c"), format!("{file}_test.c"));
        let flags = ["-O3", "-march=native", "-o", "run", &source, &test];
        run(&folder.0, "cc", &flags);
        run(&folder.0, "run", &[]);
        let test = format!("{file}_test.rs");
        let edition = ["--edition", "2021", "--test", "-Dwarnings"];
        // where lanes become vectors
        let flags = ["-Copt-level=3", "-Ctarget-cpu=native", "-o", "run", &test];
        run(&folder.0, "rustc", &[&edition[..], &flags[..]].concat());
        run(&folder.0, "run", &[]);
    }
}

/// The module stands alone without the standard library.
#[test]
fn rust_without_the_standard_library() {
    let folder = Folder::new("no-std");
    let module = module("stanford", &main_questions());
    write(&folder.0, &module, Language::Rust);
    let crate_text = "#![no_std]\n#[path = \"stanford.rs\"]\npub mod stanford;\n";
    std::fs::write(folder.0.join("lib.rs"), crate_text).expect("a file can be written");
    let flags = [
        "--edition",
        "2021",
        "--crate-type",
        "rlib",
        "-Dwarnings",
        "lib.rs",
    ];
    run(&folder.0, "rustc", &flags);
}

#[test]
fn python_agrees_with_the_library() {
    let folder = Folder::new("python");
    for name in ["stanford", "zoo"] {
        let module = module(name, &main_questions());
        write(&folder.0, &module, Language::Python);
        run(&folder.0, "python3", &[&format!("test_{}.py", module.name)]);
    }
}

/// MATLAB files, run by GNU Octave where it is installed: all functions, slides, free and spherical joints, springs, friction.
#[test]
fn matlab_agrees_with_the_library() {
    let found = ["octave-cli", "octave"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(octave) = found else {
        eprintln!("skipped: there is no octave");
        return;
    };
    let folder = Folder::new("matlab");
    for name in ["stanford", "planar3", "zoo", "random-5-3"] {
        let all = Question::ALL.map(|(_, question)| question);
        let few = if model(name).nv() > 7 { 10 } else { all.len() };
        let module = module(name, &all[..few]);
        write(&folder.0, &module, Language::Matlab);
        let call = format!("{}_test", module.name);
        let quiet = ["--quiet", "--no-history", "--no-init-file", "--eval", &call];
        run(&folder.0, octave, &quiet);
    }
}

/// The tables of rows and columns say where the entries of the triangle belong; everything else of the matrix is zero.
#[test]
fn the_triangle_is_that_of_the_matrix() {
    let folder = Folder::new("triangle");
    for name in ["zoo", "random-7-2", "floating-chain-24"] {
        let module = module(name, &[Question::Inertia, Question::InertiaUpper]);
        write(&folder.0, &module, Language::Python);
        let (nq, nv) = (model(name).nq(), model(name).nv());
        let text = format!(
            "import {file} as m\nq = [0.3 + 0.1 * k for k in range({nq})]\nmatrix, filled = m.inertia(q), [0.0] * {nv} ** 2\n\
             for i, j, x in zip(m.INERTIA_UPPER_ROWS, m.INERTIA_UPPER_COLUMNS, m.inertia_upper(q), strict=True):\n    \
             filled[i * {nv} + j] = filled[j * {nv} + i] = x\n\
             assert max(abs(a - b) for a, b in zip(matrix, filled)) <= 1e-12 * max(matrix)\n",
            file = module.name
        );
        std::fs::write(folder.0.join("compare.py"), text).expect("a file can be written");
        run(&folder.0, "python3", &["-B", "compare.py"]);
    }
}

/// Derivatives of the graph against dual numbers in the library.
#[test]
fn derivatives_agree_with_dual_numbers() {
    use Question::*;
    let questions = [
        InverseByPosition,
        InverseByVelocity,
        ForwardByPosition,
        ForwardByVelocity,
        ForwardByEffort,
    ];
    let folder = Folder::new("derivatives");
    for name in ["stanford", "chain-4", "pendulum-2", "random-3-5"] {
        let module = module(name, &questions);
        write(&folder.0, &module, Language::C);
        let file = &module.name;
        let (source, test) = (format!("{file}.c"), format!("{file}_test.c"));
        run(&folder.0, "cc", &["-O1", "-o", "run", &source, &test]);
        run(&folder.0, "run", &[]);
    }
}

/// 1.5708 for a right angle: snapped on request, the change reported, and tested against the snapped model.
#[test]
fn snapping_is_told() {
    use catena::spatial::Mat3;
    let mut builder = ModelBuilder::new("rounded");
    let mut parent = "world".to_string();
    for k in 0..4 {
        let name = format!("link{k}");
        let link = Inertial {
            mass: 1.0 + k as f64,
            centre: Vec3::new(0.1, -0.02, 0.05),
            tensor: Sym3::new(0.02, 0.03, 0.025, 0.001, 0.002, -0.001),
        };
        builder.link(&name, link);
        let mut joint = JointSpec::new(&format!("j{k}"), JointKind::Revolute, &parent, &name);
        // π/2 to five digits
        let (sin, cos) = (15708.0f64 / 1e4).sin_cos();
        joint.parent_from_joint = Pose::new(Mat3::rotation_x(sin, cos), Vec3::new(0.3, 0.0, 0.1));
        builder.joint(joint);
        parent = name;
    }
    let model = builder.build().expect("the arm is sound");
    let questions = [Question::Inverse, Question::Forward, Question::Jacobian];
    let plain =
        Module::new(&model, &questions, &CodeOptions::default()).expect("it can be generated");
    let options = CodeOptions {
        dust: 1e-5,
        ..CodeOptions::default()
    };
    let snapped = Module::new(&model, &questions, &options).expect("it can be generated");
    for (a, b) in plain.functions.iter().zip(&snapped.functions) {
        assert_eq!(a.snapping_error, 0.0);
        // 3.7e-6 rad at each joint
        assert!(
            (1e-8..1e-3).contains(&b.snapping_error),
            "{}",
            b.snapping_error
        );
        let (before, after) = (a.operations().total(), b.operations().total());
        assert!(after < before, "{after} operations, {before} before");
    }
    let folder = Folder::new("snapped");
    for module in [plain, snapped] {
        write(&folder.0, &module, Language::Python);
        run(&folder.0, "python3", &["-B", "test_rounded.py"]);
    }
}

/// Several states at once give what single calls give.
#[test]
fn lanes_agree_with_single_states() {
    let folder = Folder::new("lanes");
    let module = module("stanford", &[Question::Inverse, Question::Forward]);
    write(&folder.0, &module, Language::C);
    let text = r#"#define CATENA_LANES 4
#include "stanford.h"
#include <stdio.h>
void stanford_inverse(const double *q, const double *v, const double *vdot, double *tau);
void stanford_forward(const double *q, const double *v, const double *tau, double *vdot);
int main(void) {
    catena_real q[6], v[6], x[6], wide[6], wide_forward[6];
    for (int k = 0; k < 6; k++) for (int lane = 0; lane < 4; lane++) {
        q[k][lane] = 0.3 * k - 0.7 * lane; v[k][lane] = 0.1 * lane + 0.2 * k; x[k][lane] = 1.0 - 0.3 * lane;
    }
    stanford_inverse_lanes(q, v, x, wide);
    stanford_forward_lanes(q, v, x, wide_forward);
    double worst = 0.0;
    for (int lane = 0; lane < 4; lane++) {
        double a[6], b[6], c[6], t[6], f[6];
        for (int k = 0; k < 6; k++) { a[k] = q[k][lane]; b[k] = v[k][lane]; c[k] = x[k][lane]; }
        stanford_inverse(a, b, c, t);
        stanford_forward(a, b, c, f);
        for (int k = 0; k < 6; k++) {
            const double d = t[k] - wide[k][lane], e = (f[k] - wide_forward[k][lane]) * 1e-3;
            if (d > worst || -d > worst) worst = d < 0 ? -d : d;
            if (e > worst || -e > worst) worst = e < 0 ? -e : e;
        }
    }
    printf("%g\n", worst);
    return !(worst < 1e-12);
}
"#;
    std::fs::write(folder.0.join("main.c"), text).expect("a file can be written");
    run(
        &folder.0,
        "cc",
        &["-O1", "-c", "-o", "single.o", "stanford.c"],
    );
    let wide = [
        "-O1",
        "-Wno-psabi",
        "-DCATENA_LANES=4",
        "-c",
        "-o",
        "wide.o",
        "stanford.c",
    ];
    run(&folder.0, "cc", &wide);
    run(
        &folder.0,
        "cc",
        &[
            "-O1",
            "-Wno-psabi",
            "-o",
            "run",
            "main.c",
            "single.o",
            "wide.o",
        ],
    );
    run(&folder.0, "run", &[]);
}

/// Every kind of number passed in: with the model's own values and with others, against the library with the same.
#[test]
fn parameters_are_passed_in() {
    let folder = Folder::new("parameters");
    let only_masses = Keep {
        masses: true,
        ..Keep::default()
    };
    let joints = Keep {
        rotors: true,
        passive: true,
        ..Keep::default()
    };
    let mut kinds: Vec<String> = Vec::new();
    for (name, parameters) in [
        ("planar3", Keep::ALL),
        ("tilted", Keep::EVERYTHING),
        ("stanford", Keep::EVERYTHING),
        ("ur5-like", Keep::EVERYTHING),
        ("panda-like", only_masses),
        ("random-4-3", Keep::EVERYTHING),
        ("random-5-3", joints),
        ("random-3-5", Keep::EVERYTHING),
    ] {
        let model = model(name);
        let last = model.tree().frames.last().expect("there is a frame");
        let options = CodeOptions {
            parameters,
            frame: last.name.clone(),
            ..CodeOptions::default()
        };
        let module = Module::new(&model, &main_questions(), &options).expect("it can be generated");
        assert!(module.parameters.len() >= 3);
        let names = module.parameters.iter().map(|(name, _)| name);
        let slopes = names.clone().filter(|name| name.starts_with("g."));
        assert!(name != "tilted" || slopes.count() == 2);
        kinds.extend(names.map(|name| name.split(['[', '.']).next().unwrap_or("").to_string()));
        write(&folder.0, &module, Language::C);
        write(&folder.0, &module, Language::Rust);
        let file = &module.name;
        let (source, test) = (format!("{file}.c"), format!("{file}_test.c"));
        let flags = [
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", "run", &source, &test,
        ];
        run(&folder.0, "cc", &flags);
        run(&folder.0, "run", &[]);
        let test = format!("{file}_test.rs");
        let flags = ["--edition", "2021", "--test", "-Dwarnings", "-o", "run"];
        run(&folder.0, "rustc", &[&flags[..], &[&test]].concat());
        run(&folder.0, "run", &[]);
        if name == "planar3" {
            write(&folder.0, &module, Language::Python);
            run(&folder.0, "python3", &["-B", &format!("test_{file}.py")]);
        }
    }
    let of_joints = ["rotor", "damping", "friction", "stiffness", "rest"];
    for kind in ["m", "a", "c", "J", "g", "angle"]
        .into_iter()
        .chain(of_joints)
    {
        assert!(kinds.iter().any(|k| k == kind), "no {kind} was tested");
    }
}

/// Every variant of forward dynamics, not only the cheapest, gives the library's accelerations.
#[test]
fn every_way_to_the_accelerations() {
    use catena::{Base, Dynamics, State};
    use catena_symbolic::generate::programs;
    let more = [
        "random-7-1",
        "random-7-2",
        "random-7-4",
        "chain-2",
        "chain-12",
    ];
    for name in ROBOTS.into_iter().chain(more) {
        let model = model(name);
        let ways =
            programs(&model, Question::Forward, &CodeOptions::default()).expect("there are ways");
        assert!(ways.len() >= 2, "{name}");
        let mut state = State::random(&model, 11);
        state.base = Base::fixed();
        let tau: Vec<f64> = (0..model.nv()).map(|k| 1.0 - 0.3 * k as f64).collect();
        let mut dynamics = Dynamics::new(&model);
        let expected = dynamics
            .forward(&state, &tau, &[])
            .expect("a state")
            .to_vec();
        let size = expected.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        for (program, method) in ways {
            let found = program.evaluate(|symbol| {
                let (array, index) = entry(symbol);
                match array {
                    "q" => state.q[index],
                    "v" => state.v[index],
                    _ => tau[index],
                }
            });
            for (a, b) in found.iter().zip(&expected) {
                // other orders of the same sums, divided by small pivots
                assert!(
                    (a - b).abs() <= 1e-10 * size,
                    "{name}, {method}: {a} and {b}"
                );
            }
        }
    }
}

/// Accelerations of closed chains in C and Python, with dependent rows (the parallelogram) and without; derivatives where these are unique.
#[test]
fn closed_chains_agree_with_the_library() {
    use Question::*;
    let folder = Folder::new("closed");
    let slopes = [ForwardByPosition, ForwardByVelocity];
    for (name, more) in [
        ("four-bar-1", false),
        ("four-bar-2", false),
        ("four-bar-3", false),
        ("slider-crank", true),
        ("stewart", false),
        ("bicycle", false),
        ("driven", false),
    ] {
        let mut questions = vec![Inverse, Forward, Inertia];
        if more {
            questions.push(ForwardByEffort);
            questions.extend(slopes);
        }
        let module = module(name, &questions);
        assert!(module.loops.is_some());
        let takes_time = |f: &Function| f.inputs.iter().any(|input| input.name == "time");
        let forward = module.functions.iter().find(|f| f.question == Forward);
        assert_eq!(forward.map(takes_time), Some(name == "driven"));
        write(&folder.0, &module, Language::C);
        let file = &module.name;
        let (source, test) = (format!("{file}.c"), format!("{file}_test.c"));
        let flags = [
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", "run", &source, &test, "-lm",
        ];
        run(&folder.0, "cc", &flags);
        run(&folder.0, "run", &[]);
        write(&folder.0, &module, Language::Python);
        run(&folder.0, "python3", &[&format!("test_{}.py", module.name)]);
    }
    let four_bar = model("four-bar-1");
    let error = Module::new(&four_bar, &slopes, &CodeOptions::default()).expect_err("redundant");
    assert!(error.message().contains("3 of its 5"), "{error}");
}

/// Assembled code is given no time: a model with drivers is refused.
#[test]
fn drivers_have_no_assembled_code() {
    let options = catena_symbolic::native::NativeOptions::default();
    let Err(error) = catena_symbolic::native::compile(&model("driven"), &options) else {
        panic!("there is code for drivers");
    };
    let message = error.message();
    // or there is no code at all on this processor
    assert!(
        message.contains("drivers of `driven`") || message.contains("AVX2"),
        "{error}"
    );
}

/// Every variant of the accelerations of a hundred random closed mechanisms is right to 1e-9.
#[test]
fn code_of_random_closed_chains() {
    use catena::ClosedChain;
    use catena::random::Random;
    use catena_symbolic::generate::programs;
    let (mut seen, mut worst) = (0, 0.0f64);
    for seed in 1..2000u64 {
        let size = 4 + seed as usize % 3;
        let (builder, mut state) =
            catena_testing::random_closed(size, 1 + seed as usize % 2, seed).expect("possible");
        let model = builder.build().expect("sound");
        let mut chain = ClosedChain::new(&model);
        let (rank, values) = chain.rank(0.0, &state).expect("finite");
        let sound = values.last().is_some_and(|s| s / values[0] > 1e-3);
        if rank < chain.row_count() || rank >= model.nv() || !sound {
            continue;
        }
        if chain.project(0.0, &mut state).is_err() {
            continue;
        }
        // some of these mechanisms close in one position only
        let Ok(ways) = programs(&model, Question::Forward, &CodeOptions::default()) else {
            continue;
        };
        let mut random = Random::new(seed);
        let tau: Vec<f64> = (0..model.nv()).map(|_| random.uniform(-3.0, 3.0)).collect();
        let Ok(motion) = chain.forward(0.0, &state, &tau, &[]) else {
            continue;
        };
        let expected = [motion.accelerations, motion.multipliers].concat();
        let scale = expected.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        assert!(ways.len() >= 3, "seed {seed}");
        for (program, method) in ways {
            let found = program.evaluate(|symbol| {
                let (array, index) = entry(symbol);
                match array {
                    "q" => state.q[index],
                    "v" => state.v[index],
                    "tau" => tau[index],
                    _ => 0.0, // time
                }
            });
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                let error = (a - b).abs() / scale;
                assert!(error < 1e-9, "seed {seed}, {method}: {a} and {b}");
                worst = worst.max(error);
            }
        }
        seen += 1;
        if seen == 100 {
            break;
        }
    }
    println!("{seen} mechanisms, worst {worst:.1e}");
    assert_eq!(seen, 100);
}

/// Thirty freedoms stay below a megabyte of source for the three main functions.
#[test]
fn large_robots_stay_small() {
    // the largest random tree with no more than thirty: every kind of joint, nothing at right angles
    let random = (1..30).rev().map(|n| format!("random-{n}-2"));
    let largest = random.into_iter().find(|name| model(name).nv() <= 30);
    let largest = largest.expect("small ones are there");
    assert!(model(&largest).nv() >= 27);
    for name in ["floating-chain-24", &largest] {
        let module = module(name, &main_questions()[..3]);
        for language in [Language::C, Language::Rust] {
            let files = module.source(language).expect("it can be written");
            let size = files[..files.len() - 1]
                .iter()
                .map(|f| f.text.len())
                .sum::<usize>();
            assert!(size < 1_000_000, "{name}: {size} bytes");
        }
    }
}

/// Models with force elements: arms, every joint, numbers passed in, the benchmark problems with loops. Derivatives are those of the two
/// arms: their expressions are long.
#[test]
fn force_elements_are_in_the_code() {
    use Question::*;
    let folder = Folder::new("elements");
    let main = vec![Inverse, Forward, Bias, Gravity, Energy];
    let slopes = vec![InverseByPosition, InverseByVelocity, ForwardByPosition];
    let numbers = Keep::default();
    for (model, questions, parameters) in [
        (model("squeezer"), main.clone(), numbers),
        (model("governor"), main.clone(), numbers),
        (loaded("zoo", 1), vec![Inverse, Forward, Energy], numbers),
        (loaded("pendulum-2", 2), slopes, numbers),
        (loaded("stanford", 3), main.clone(), numbers),
        (loaded("planar3", 5), main, Keep::EVERYTHING),
    ] {
        assert!(!model.forces().is_empty());
        let options = CodeOptions {
            parameters,
            ..CodeOptions::default()
        };
        let module = Module::new(&model, &questions, &options).expect("code can be generated");
        for function in &module.functions {
            let limit = function.limit();
            assert!(limit < 1e-9, "{}: {limit:e}", function.question.name());
        }
        write(&folder.0, &module, Language::C);
        let file = &module.name;
        let (source, test) = (format!("{file}.c"), format!("{file}_test.c"));
        let flags = [
            "-std=c99", "-Wall", "-Wextra", "-Werror", "-O0", "-o", "run", &source, &test, "-lm",
        ];
        run(&folder.0, "cc", &flags);
        run(&folder.0, "run", &[]);
        if model.nv() < 8 {
            write(&folder.0, &module, Language::Python);
            run(&folder.0, "python3", &[&format!("test_{file}.py")]);
        }
    }
}

/// Elements are attached to frames that snapping would move.
#[test]
fn numbers_of_loaded_models_are_not_snapped() {
    let options = CodeOptions {
        dust: 1e-6,
        ..CodeOptions::default()
    };
    let refused = Module::new(&model("squeezer"), &[Question::Forward], &options);
    let error = refused.expect_err("frames move");
    assert!(error.message().contains("not snapped"), "{error}");
}
