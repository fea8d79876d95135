//! `catena report`, `view` and `render`: what they write and serve. How it looks in a browser is tested under `viewer/test`.

mod common;

use common::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reports stay below this without meshes.
const MOST_BYTES: usize = 3_000_000;

/// The scene inside a report.
fn scene(html: &str) -> Value {
    let data = html.split("id=\"scene\">").nth(1).expect("a scene");
    let data = data.split("</script>").next().expect("its end");
    serde_json::from_str(data).expect("JSON")
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).expect("the file is there")
}

fn simulated(folder: &Folder, model: &str, name: &str) {
    let command = format!("simulate {model} --audit report -o {name}");
    let run = folder.run(&command);
    assert_eq!(run.code, 0, "{command}: {}", run.stderr);
}

#[test]
fn reports_of_runs_of_every_format() {
    let folder = Folder::new("report");
    for (model, name, bodies) in [
        ("stanford --controller gravity --duration 0.5", "arm.csv", 6),
        ("space-robot --random 1 --duration 0.5", "robot.parquet", 7),
        (
            "four-bar-1 --q 70deg,-70deg,70deg --duration 0.5",
            "bars.mcap",
            3,
        ),
        (
            "planar3 --base shake:0.1,0,0,2 --duration 0.5",
            "base.csv",
            3,
        ),
    ] {
        simulated(&folder, model, name);
        let run = folder.run(&format!("report {name}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (stem, _) = name.split_once('.').expect("an extension");
        assert!(
            run.stderr.starts_with(&format!("wrote {stem}.html, ")),
            "{}",
            run.stderr
        );
        let html = folder.read(&format!("{stem}.html"));
        assert!(html.len() < MOST_BYTES);
        let scene = scene(&html);
        let subject = &scene["subjects"][0];
        assert_eq!(subject["name"], name);
        assert_eq!(
            subject["model"]["bodies"].as_array().map(Vec::len),
            Some(bodies + 1),
            "{name}"
        );
        let motion = &subject["motion"];
        assert_eq!(motion["rows"], 51, "{name}");
        assert_eq!(motion["frames"], 51, "{name}");
        assert!(subject["audit"]["laws"].is_array());
        assert!(
            subject["command"]
                .as_str()
                .is_some_and(|c| c.starts_with("catena simulate "))
        );
        let poses = motion["poses"].as_str().expect("poses").len();
        assert_eq!(
            poses,
            (51 * (bodies + 1) * 28usize).div_ceil(3) * 4,
            "{name}"
        );
        let columns = motion["columns"].as_array().expect("columns");
        let loops = columns.iter().any(|c| c["name"] == "error.loops");
        assert_eq!(loops, name == "bars.mcap");
    }
    // the motion of the base is in the poses: the ground of the scene is shaken
    let html = folder.read("base.html");
    assert!(
        scene(&html)["subjects"][0]["equations"].is_string(),
        "three freedoms have equations to read"
    );
}

/// Long runs and large models stay within the size, with fewer instants and columns, and say so.
#[test]
fn large_reports_stay_small() {
    let folder = Folder::new("report-size");
    simulated(
        &folder,
        "pendulum-40 --random 1 --duration 1 --interval 0.0025 --rtol 1e-5",
        "long.parquet",
    );
    let run = folder.run("report long.parquet --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.json()["bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes < MOST_BYTES as u64)
    );
    let scene = scene(&folder.read("long.html"));
    let motion = &scene["subjects"][0]["motion"];
    assert_eq!(motion["rows"], 401);
    assert!(
        motion["columns_left_out"].as_u64() > Some(0),
        "pendulum-40 has 520 columns"
    );
    let names: Vec<&str> = motion["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    assert!(names.contains(&"total") && names.contains(&"error.energy"));
}

#[test]
fn names_cannot_leave_the_scene() {
    let folder = Folder::new("report-names");
    let model = folder.run("convert planar3 --json").stdout;
    let hostile = "</script><script>alert(1)</script>";
    folder.write("hostile.json", &model.replace("link1", hostile));
    simulated(&folder, "hostile.json --duration 0.1", "hostile.csv");
    assert_eq!(folder.run("report hostile.csv").code, 0);
    let html = folder.read("hostile.html");
    assert!(!html.contains("<script>alert"));
    assert_eq!(
        scene(&html)["subjects"][0]["model"]["bodies"][1]["name"],
        hostile
    );
}

#[test]
fn unfinished_runs_are_shown_as_far_as_they_go() {
    let folder = Folder::new("report-unfinished");
    simulated(
        &folder,
        "stanford --controller gravity --duration 1",
        "arm.csv",
    );
    let text = folder.read("arm.csv");
    let end = text.find("# finished").expect("the end");
    folder.write("cut.csv", &text[..end]);
    let run = folder.run("report cut.csv");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("not finished"), "{}", run.stderr);
    assert!(scene(&folder.read("cut.html"))["subjects"][0]["audit"].is_null());
}

#[test]
fn several_runs_are_laid_over_each_other() {
    let folder = Folder::new("report-two");
    simulated(&folder, "planar3 --random 1 --duration 0.2", "one.csv");
    simulated(&folder, "planar3 --random 2 --duration 0.2", "two.csv");
    assert_eq!(folder.run("report one.csv two.csv -o both.html").code, 0);
    let scene = scene(&folder.read("both.html"));
    assert_eq!(scene["subjects"][1]["name"], "two.csv");
}

#[test]
fn mistakes_are_told() {
    let folder = Folder::new("report-mistakes");
    simulated(&folder, "planar3 --random 1 --duration 0.2", "run.csv");
    for (command, part) in [
        ("report none.csv", "none.csv"),
        ("report run.csv -o nowhere/report.html", "does not exist"),
        ("report run.csv -o run.csv", "would replace the file"),
        ("view run.csv --live --no-open", "--live needs a model"),
        (
            "view planar3 stanford --no-open",
            "only runs can be overlaid",
        ),
        (
            "view planar3 --live --q 1,2 --no-open",
            "3 numbers are needed, 2 were given",
        ),
        ("render run.csv -o run.bmp", ".png, .gif or .mp4"),
        ("render run.csv -o run.png --size 3x4", "is not a size"),
        ("render run.csv -o run.png --at 7", "from 0 to 0.2 s"),
        ("render run.csv -o run.gif --at 0.1", "--at is for pictures"),
        (
            "render run.csv -o run.gif --rate 0",
            "not a positive number",
        ),
        ("render run.csv -o run.gif --rate 1e6", "too long"),
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{command}: {}", run.stderr);
    }
}

#[test]
fn sticks_are_drawn_without_a_browser() {
    let folder = Folder::new("render");
    simulated(&folder, "pendulum-3 --random 1 --duration 1", "run.csv");
    let run = folder.run("render run.csv -o run.png --size 320x200 --with sticks --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json()["drawn_by"], "sticks");
    let png = bytes(&folder, "run.png");
    assert_eq!(&png[1..4], b"PNG");
    assert_eq!(
        (&png[16..20], &png[20..24]),
        (&320u32.to_be_bytes()[..], &200u32.to_be_bytes()[..])
    );
    let run = folder.run("render run.csv -o run.gif --size 160x100 --rate 10 --with sticks --json");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json()["pictures"], 11);
    assert_eq!(&bytes(&folder, "run.gif")[..6], b"GIF89a");
}

/// Without a browser ffmpeg makes the MP4: it gets every picture, its errors are reported, and so is its absence.
#[cfg(unix)]
#[test]
fn movies_by_ffmpeg() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("render-ffmpeg");
    simulated(&folder, "pendulum-3 --random 1 --duration 0.5", "run.csv");
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    let render = || {
        let run = Command::new(env!("CARGO_BIN_EXE_catena"))
            .args([
                "render", "run.csv", "-o", "run.mp4", "--size", "64x48", "--rate", "10",
            ])
            .current_dir(folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", tools.display()))
            .env("CATENA_BROWSER", "none")
            .output()
            .expect("the program");
        let told = String::from_utf8_lossy(&run.stderr).into_owned();
        (run.status.code(), told)
    };
    let ffmpeg = |lines: &str| {
        let path = tools.join("ffmpeg");
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("a script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("it may run");
    };
    ffmpeg("for last; do :; done\ncat > \"$last\"");
    let (code, told) = render();
    assert_eq!(code, Some(0), "{told}");
    let movie = bytes(&folder, "run.mp4");
    let pictures = movie.windows(4).filter(|four| *four == b"\x89PNG").count();
    assert_eq!(pictures, 6);
    // one that ends before it has read everything
    ffmpeg("echo 'no encoder' >&2; exit 1");
    let (code, told) = render();
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("ffmpeg cannot make the MP4: no encoder"),
        "{told}"
    );
    std::fs::remove_file(tools.join("ffmpeg")).expect("it was there");
    if Path::new("/usr/bin/ffmpeg").exists() {
        eprintln!("skipped: there is an ffmpeg");
        return;
    }
    let (code, told) = render();
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("MP4 needs a browser that encodes H.264, or ffmpeg"),
        "{told}"
    );
}

/// The shapes of a URDF file go to the page, meshes from where they are.
#[test]
fn shapes_of_urdf_files() {
    let folder = Folder::new("visuals");
    let link = |name: &str, geometry: &str| {
        format!(
            r#"<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
            <visual><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><geometry>{geometry}</geometry><material name="red"/></visual></link>"#
        )
    };
    let urdf = format!(
        r#"<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>{}{}{}
        <joint name="a" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
        <joint name="b" type="continuous"><parent link="arm"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>"#,
        link("base", r#"<box size="1 2 3"/>"#),
        link(
            "arm",
            r#"<mesh filename="package://robot/tetra.obj" scale="2 2 2"/>"#
        ),
        link("tip", r#"<mesh filename="missing.stl"/>"#),
    );
    folder.write("robot.urdf", &urdf);
    folder.write(
        "tetra.obj",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n",
    );
    simulated(&folder, "robot.urdf --duration 0.1", "run.csv");
    let run = folder.run("report run.csv --visuals robot.urdf");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("link `tip`: the mesh missing.stl does not exist"),
        "{}",
        run.stderr
    );
    let scene = scene(&folder.read("run.html"));
    let visuals = scene["subjects"][0]["visuals"].as_array().expect("shapes");
    assert_eq!(visuals.len(), 2);
    assert_eq!(
        visuals[0]["geometry"]["box"],
        serde_json::json!([1.0, 2.0, 3.0])
    );
    assert_eq!(
        visuals[0]["colour"],
        serde_json::json!([1.0, 0.0, 0.0, 1.0])
    );
    let mesh = &visuals[1]["geometry"]["mesh"];
    assert_eq!(
        mesh["faces"].as_str().map(str::len),
        Some(64),
        "four triangles of three 32-bit numbers"
    );
    assert_eq!(mesh["scale"][0], 2.0);
}

/// The program serves its page on loopback, to itself only.
#[test]
fn the_page_is_served_on_loopback() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_catena"))
        .args(["view", "planar3", "--no-open"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout"))
        .read_line(&mut line)
        .expect("a line");
    let address = line
        .strip_prefix("http://")
        .and_then(|l| l.split('/').next())
        .expect("an address")
        .to_string();
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    let ask = |host: &str| {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        write!(stream, "GET /scene.json HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("a question");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(ask(&address).contains("catena-scene/1"));
    assert!(ask("evil.example").starts_with("HTTP/1.1 403"));
    child.kill().expect("the end");
    child.wait().expect("the end");
}
