//! Hostile inputs, and requests beyond the limits: each is refused at once, and the message says what is refused and why.

mod common;

use catena::random::Random;
use catena_fuzz::mutator;
use common::{Folder, good, run, run_in};
use std::time::{Duration, Instant};

/// Names that would leave a comment, a string, a cell or an element where they are not escaped.
const NAMES: [&str; 6] = [
    "a */ int b = 1; /*",
    "x\"\"\" + exit(1) + \"\"\"",
    "back\\slash \\N{DASH} \\input{x}",
    "<script>alert(1)</script>",
    "p|q `r` $s$ *t* [u](v)",
    "%{ #! //",
];

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// A chain with one joint and one link for each name.
fn model_of_names() -> String {
    let (mut links, mut joints) = (Vec::new(), Vec::new());
    for name in NAMES {
        let (link, joint) = (
            quoted(&format!("link {name}")),
            quoted(&format!("joint {name}")),
        );
        links.push(format!(
            r#"{{"name": {link}, "mass": 1, "centre": [0.1, 0, 0], "inertia": [1, 1, 1]}}"#
        ));
        joints.push(format!(
            r#"{{"name": {joint}, "type": "revolute", "child": {link}, "origin": [0.2, 0, 0]}}"#
        ));
    }
    format!(
        r#"{{"format": "catena/1", "name": {}, "link": [{}], "joint": [{}]}}"#,
        quoted(NAMES[0]),
        links.join(", "),
        joints.join(", ")
    )
}

#[test]
fn a_line_break_in_a_joint_does_not_reach_generated_code() {
    let folder = Folder::new("evil");
    let urdf = r#"<robot name="arm"><link name="base"/>
  <link name="l1"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder&#10;system('touch PWNED'); %" type="continuous"><parent link="base"/><child link="l1"/></joint>
</robot>"#;
    folder.write("evil.urdf", urdf);
    for command in [
        "info",
        "generate -o code --language matlab",
        "derive",
        "convert",
        "simulate",
    ] {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let run = folder.run(&format!("{name} evil.urdf {rest}"));
        assert_eq!(run.code, 2, "{command}\n{}", run.stdout);
        assert!(
            run.stderr.contains("control character U+000A"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("--> evil.urdf:3"), "{}", run.stderr);
        assert!(!run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
    }
}

#[test]
fn names_stay_in_their_comments_strings_and_cells() {
    let folder = Folder::new("names");
    folder.write("names.json", &model_of_names());
    for language in ["c", "rust", "python", "matlab"] {
        let made = folder.run(&format!(
            "generate names.json --prefix arm --function inverse,jacobian --language {language} -o {language}"
        ));
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
    let c = folder.read("c/arm.c");
    let (comment, _) = c.split_once("\n */").expect("a comment");
    assert!(
        !comment.contains("*/") && !comment[2..].contains("/*"),
        "{comment}"
    );
    for (file, mark) in [("rust/arm.rs", "//"), ("matlab/arm_inverse.m", "%")] {
        let text = folder.read(file);
        let lines = text
            .lines()
            .filter(|line| NAMES.iter().any(|name| line.contains(name)));
        let mut count = 0;
        for line in lines {
            assert!(line.starts_with(mark), "{file}: {line}");
            count += 1;
        }
        assert!(count >= NAMES.len(), "{file}: {count}");
    }
    // Python must read its module, and every name must be in the docstring as it was given
    let script = "import ast, sys; print(ast.get_docstring(ast.parse(open(sys.argv[1]).read())))";
    let python = std::process::Command::new("python3")
        .args(["-W", "error", "-c", script, "python/arm.py"])
        .current_dir(folder.path())
        .output()
        .expect("python3 can be started");
    assert!(
        python.status.success(),
        "{}",
        String::from_utf8_lossy(&python.stderr)
    );
    let docstring = String::from_utf8_lossy(&python.stdout).into_owned();
    for name in NAMES {
        assert!(docstring.contains(name), "{name} in {docstring}");
    }
    let page = |format: &str| {
        let derived = folder.run(&format!(
            "derive names.json --elimination --format {format}"
        ));
        assert_eq!(derived.code, 0, "{}", derived.stderr);
        derived.stdout
    };
    let html = page("html");
    assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"));
    let markdown = page("markdown");
    assert!(
        markdown.contains("\\<script\\>")
            && markdown.contains("p\\|q \\`r\\` \\$s\\$ \\*t\\* \\[u\\](v)")
    );
    let latex = page("latex");
    assert!(latex.contains("\\textbackslash{}input\\{x\\}") && !latex.contains("\\input{x}"));
    let sympy = page("sympy");
    let (docstring, _) = sympy[3..].split_once("\"\"\"").expect("a docstring");
    assert!(docstring.ends_with(".\n"), "{docstring}");
    // a model comes back as it was
    let converted = folder.run("convert names.json -o names.toml");
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    assert_eq!(folder.run("convert names.toml -o again.json").code, 0);
    let names = |text: &str| {
        let model: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let joints = model["joint"].as_array().expect("joints").clone();
        joints
            .iter()
            .map(|joint| joint["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&folder.read("again.json")),
        names(&folder.read("names.json"))
    );
    // runs of it are read back, and drawn as XML
    for format in ["csv", "parquet", "mcap"] {
        let made = folder.run(&format!(
            "simulate names.json --duration 0.02 -o run.{format}"
        ));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let drawn = folder.run(&format!("plot run.{format} --format svg -o {format}"));
        assert_eq!(drawn.code, 0, "{}", drawn.stderr);
        let svg = folder.read(&format!("{format}-coordinates.svg"));
        assert!(!svg.contains("<script>"), "{format}");
    }
}

/// Names that are words of a language, or modules it needs, are not names of files.
#[test]
fn reserved_words_get_a_prefix() {
    let folder = Folder::new("reserved");
    assert_eq!(
        folder
            .run("generate planar3 --prefix math --language python -o .")
            .code,
        0
    );
    assert_eq!(
        folder
            .run("generate planar3 --prefix fn --language rust -o .")
            .code,
        0
    );
    let files = folder.files();
    assert!(files.contains(&"robot_math.py".to_string()), "{files:?}");
    assert!(files.contains(&"robot_fn.rs".to_string()), "{files:?}");
}

/// Each of these would take days, or more memory than there is.
#[test]
fn what_cannot_be_done_is_refused_at_once() {
    for (command, what) in [
        ("derive chain-100000", "equations are derived for up to"),
        (
            "generate chain-100000",
            "straight-line code is written for up to",
        ),
        ("count chain-100000", "`count` takes models with up to"),
        (
            "export-case chain-100000",
            "`export-case` takes models with up to",
        ),
        (
            "compare chain-100000 --random 1",
            "`compare` takes models with up to",
        ),
        (
            "compare four-bar-1 --q 1,-1,1 --sizes 1000000000",
            "`compare` takes mechanisms with up to",
        ),
        (
            "compare chain-2 --sizes 1000000000",
            "at most 5000 are compared",
        ),
        (
            "doctor four-bar-5000",
            "`doctor` takes mechanisms with up to",
        ),
        (
            "doctor four-bar-1 --positions 1000000000",
            "--positions: 1000000000 is not a number from 1 to 10000",
        ),
        (
            "check planar3 --states 18446744073709551615",
            "--states: 18446744073709551615 is not a number from 1 to 1000000",
        ),
        (
            "check planar3 --states 0",
            "--states: 0 is not a number from 1",
        ),
        (
            "export-case planar3 --states 18446744073709551615",
            "is not a number from 1 to 10000",
        ),
        (
            "benchmark --loops 1000000000",
            "--loops: 1000000000 is not a number from 1 to 10000",
        ),
        (
            "simulate planar3 --interval 1e-300",
            "at most 1e8 are taken",
        ),
        (
            "simulate planar3 --duration 1e6 --interval 1e-9",
            "1.0e15 samples; at most 1e8 are taken",
        ),
        ("simulate planar3 --duration 1e300", "at most 1e8 are taken"),
        (
            "simulate planar3 --method rk4 --step 1e-300",
            "at most 1e12 are taken",
        ),
        (
            "inverse planar3 --random 1 --states 1000000000",
            "--states: 1000000000 is not a number",
        ),
        (
            "inverse chain-100000 --random 1 --states 1000000",
            "do not fit into memory",
        ),
        (
            "evaluate chain-3000 --random 1 --states 1000",
            "do not fit into memory",
        ),
        (
            "derivatives chain-3000 --random 1 --states 1000",
            "do not fit into memory",
        ),
        (
            "inverse planar3 --trajectory cycloid --to 1,1,1 --steps 18446744073709551615",
            "do not fit into memory",
        ),
    ] {
        let before = Instant::now();
        let run = run(command);
        assert_eq!(run.code, 2, "{command}\n{}", run.stderr);
        assert!(run.stderr.contains(what), "{command}\n{}", run.stderr);
        assert!(before.elapsed() < Duration::from_secs(20), "{command}");
    }
}

#[test]
fn folders_are_made_before_anything_is_computed() {
    let folder = Folder::new("folders");
    folder.write("taken", "");
    for command in [
        "count -o taken",
        "study linpen -o taken",
        "study work-precision -o taken",
        "generate planar3 -o taken",
    ] {
        let before = Instant::now();
        let run = folder.run(command);
        assert_eq!(run.code, 2, "{command}");
        assert_eq!(run.stderr, "error: taken is not a folder\n", "{command}");
        assert!(before.elapsed() < Duration::from_secs(5), "{command}");
    }
    let run = folder.run("derive planar3 -o nowhere/page.md");
    assert!(
        run.stderr.contains("the folder nowhere does not exist"),
        "{}",
        run.stderr
    );
    let made = folder.run("count -o new/tables");
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(
        folder
            .path()
            .join("new/tables/saha-tables-1-2.md")
            .is_file()
    );
}

#[test]
fn methods_are_known_in_capitals() {
    let small = good("simulate planar3 --duration 0.1 --method rk4").stdout;
    let capital = good("simulate planar3 --duration 0.1 --method RK4").stdout;
    assert_eq!(small, capital);
    assert_eq!(
        run("benchmark pendulum --method Verner9 --rtol 1e-6").code,
        0
    );
}

#[test]
fn defaults_and_counts_are_written_as_people_write_them() {
    let help = run("generate --help").stdout;
    assert!(help.contains("[default: 1e-14]"), "{help}");
    assert!(run("simulate --help").stdout.contains("[default: 1e-8]"));
    assert!(run("benchmark --help").stdout.contains("[default: 1e-12]"));
    let one = run("info planar3 --gravity 1").stderr;
    assert!(one.contains("3 numbers are needed, 1 was given"), "{one}");
    let route = good("forward particle-pendulum --q 1,0").stdout;
    assert!(!route.contains("all 1 rows"), "{route}");
}

/// The frame of a Jacobian is named, and asked for where the model does not say which.
#[test]
fn the_frame_of_a_jacobian_is_told() {
    let told = good("generate stanford --function jacobian").stdout;
    assert!(told.contains("frame of jacobian and pose: tool"), "{told}");
    assert!(!good("generate stanford").stdout.contains("frame of"));
    let json = good("generate stanford --function pose --json").json();
    assert_eq!(json["frame"], "tool");
    // an arm whose file ends with a link on the ground, as UR5's does
    let folder = Folder::new("frames");
    let body = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><origin xyz=\"0.1 0 0\"/>\
             <inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>"
        )
    };
    let joint = |name: &str, kind: &str, parent: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"{parent}\"/><child link=\"{child}\"/>\
             <origin xyz=\"0.5 0 0\"/><axis xyz=\"0 0 1\"/></joint>"
        )
    };
    let arm = format!(
        "<link name=\"root\"/>{}{}<link name=\"tool0\"/><link name=\"base\"/>{}{}{}{}",
        body("upper"),
        body("wrist"),
        joint("j1", "continuous", "root", "upper"),
        joint("j2", "continuous", "upper", "wrist"),
        joint("flange", "fixed", "wrist", "tool0"),
        joint("stand", "fixed", "root", "base"),
    );
    folder.write("arm.urdf", &format!("<robot name=\"arm\">{arm}</robot>"));
    let told = folder.run("generate arm.urdf --function jacobian");
    assert!(
        told.stdout.contains("frame of jacobian and pose: tool0"),
        "{}",
        told.stdout
    );
    let still = folder.run("generate arm.urdf --function jacobian --frame base");
    assert!(
        still
            .stderr
            .contains("`base` is fixed to the ground: its Jacobian is zero"),
        "{}",
        still.stderr
    );
    // two ends
    let branch = format!(
        "{}{}",
        body("other"),
        joint("j3", "continuous", "root", "other")
    );
    folder.write(
        "two.urdf",
        &format!("<robot name=\"two\">{arm}{branch}</robot>"),
    );
    let asked = folder.run("generate two.urdf --function jacobian");
    assert_eq!(asked.code, 2);
    assert!(
        asked
            .stderr
            .contains("Jacobian and pose of which frame? `two` has 2 ends"),
        "{}",
        asked.stderr
    );
    assert!(asked.stderr.contains("wrist, tool0"), "{}", asked.stderr);
    assert_eq!(
        folder
            .run("generate two.urdf --function jacobian --frame other")
            .code,
        0
    );
}

#[test]
fn benchmark_models_have_their_forces() {
    for (model, what) in [
        ("squeezer", "4530 N/m"),
        ("squeezer", "(0, 0, 0.033) N·m"),
        ("governor", "800000 N/m, 40000 N·s/m, 0.5 m"),
    ] {
        let shown = good(&format!("info {model}")).stdout;
        assert!(shown.contains(what), "{shown}");
    }
}

/// What the program may say of a damaged input: results, of finite numbers, or an error with its reason.
fn expect_answer(folder: &Folder, arguments: &[&str], input: &str) {
    let run = run_in(folder.path(), arguments);
    let said = format!("{input}\n--- exit code {}\n{}", run.code, run.stderr);
    assert!([0, 1, 2].contains(&run.code), "{said}");
    assert!(run.code == 0 || run.stderr.starts_with("error: "), "{said}");
    for word in ["NaN", "inf,", "inf]"] {
        assert!(!run.stdout.contains(word), "{said}\n{}", run.stdout);
    }
}

#[test]
fn damaged_state_files_are_read_or_refused() {
    let folder = Folder::new("damaged-states");
    let good = [
        (
            "state.json",
            r#"{"q": [0.1, -0.2, 3e-1], "v": [1, 0, -2.5], "tau": [1, 0, 0]}"#,
        ),
        (
            "states.csv",
            "t,q:joint1,q:joint2 [deg],q:joint3\n0,0.1,20,-0.3\n0.5,1,2e1,\"0.25\"\n",
        ),
    ];
    for (name, text) in good {
        folder.write(name, text);
        let run = run_in(folder.path(), &["evaluate", "planar3", "--state", name]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        for seed in 0..80 {
            let damaged = mutator::text(text, &mut Random::new(seed));
            folder.write(name, &damaged);
            let arguments = ["evaluate", "planar3", "--json", "--state", name];
            expect_answer(&folder, &arguments, &damaged);
        }
    }
}

#[test]
fn damaged_formulas_are_compiled_or_refused() {
    let folder = Folder::new("damaged-formulas");
    let formula = "2*sin(3*t)-0.5*v.joint1+max(q.joint2,-1e-3)/(1+abs(t)^2)";
    for seed in 0..80 {
        let damaged = mutator::text(formula, &mut Random::new(seed));
        // the system passes no zero in an argument
        let effort = format!("--effort=joint1={}", damaged.replace('\0', " "));
        let arguments = ["simulate", "planar3", "--json", "--duration=0.02", &effort];
        expect_answer(&folder, &arguments, &damaged);
        folder.write(
            "study.toml",
            &format!(
                "format = \"catena-study/1\"\nmodel = \"planar3\"\n[design]\nkind = \"random\"\nsamples = 2\nseed = 1\n\
                 [[parameter]]\nname = \"g\"\npath = \"gravity\"\nuniform = [9, 10]\n[run]\nduration = 0.02\n\
                 [[measure]]\nname = \"m\"\nvalue = {:?}\n",
                damaged.replace("q.joint2", "mean(q.joint2)").replace("v.joint1", "last(v.joint1)")
            ),
        );
        expect_answer(&folder, &["sweep", "study.toml"], &damaged);
    }
}
