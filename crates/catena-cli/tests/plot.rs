//! `catena plot`: five pictures of any run, finished or not.

mod common;

use common::Folder;

const KINDS: [&str; 5] = ["coordinates", "efforts", "energies", "audit", "strip"];

#[test]
fn pictures_of_runs_of_every_format() {
    let folder = Folder::new("plot");
    for (model, name) in [
        ("stanford --controller gravity", "arm.csv"),
        ("space-robot --random 1", "robot.parquet"),
        ("pendulum-3 --random 1", "pendulum.mcap"),
    ] {
        let command = format!("simulate {model} --duration 0.5 -o {name}");
        assert_eq!(folder.run(&command).code, 0, "{command}");
        let run = folder.run(&format!("plot {name} --format svg"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.stdout, "");
        let (stem, _) = name.split_once('.').expect("an extension");
        let notes: String = KINDS
            .iter()
            .map(|kind| format!("wrote {stem}-{kind}.svg\n"))
            .collect();
        assert_eq!(run.stderr, notes);
    }
    let texts = |name: &str, parts: &[&str]| {
        let svg = folder.read(name);
        assert!(
            svg.starts_with("<svg") && svg.ends_with("</svg>\n"),
            "{name}"
        );
        for part in parts {
            assert!(svg.contains(part), "`{part}` is missing in {name}");
        }
    };
    texts(
        "arm-coordinates.svg",
        &[
            "Coordinates: stanford, dop853",
            "position (rad)",
            "position (m)",
            "velocity (rad/s)",
            "velocity (m/s)",
            "time (s)",
            "joint6",
        ],
    );
    texts(
        "arm-efforts.svg",
        &["Efforts: stanford", "effort (N·m)", "effort (N)"],
    );
    texts(
        "robot-coordinates.svg",
        &["component of a quaternion", "base.qw", "velocity (m/s)"],
    );
    texts("robot-energies.svg", &["energy (J)", "kinetic", "total"]);
    texts(
        "robot-audit.svg",
        &[
            "Energy − energy at the start",
            "error (J)",
            "error (N, N·m)",
            "error (N·s)",
            "error (N·m·s)",
            " relative, allowed 1e-5",
        ],
    );
    assert!(!folder.read("arm-audit.svg").contains("momentum"));
    texts(
        "pendulum-strip.svg",
        &["pendulum-3, dop853", "t = 0 s", "t = 0.5 s"],
    );
    // nothing dissipates, nothing is elastic: those lines are left out
    assert!(!folder.read("robot-energies.svg").contains(">elastic<"));
}

#[test]
fn columns_times_and_several_runs() {
    let folder = Folder::new("plot-chosen");
    for (name, q) in [("one.csv", "0.3"), ("two.csv", "0.6")] {
        let command = format!(
            "simulate planar3 --q {q},0,0 --duration 1 --interval 0.1 --record frame.*.x -o {name}"
        );
        assert_eq!(folder.run(&command).code, 0);
    }
    let run = folder
        .run("plot one.csv two.csv --columns q.*,frame.link3.x --from 0.25 --to 0.8 --format svg");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (0, "wrote one-columns.svg\n")
    );
    let svg = folder.read("one-columns.svg");
    for part in [
        "q.joint1 (one)",
        "q.joint3 (two)",
        "frame.link3.x (two)",
        ">rad<",
        ">m<",
        "and 1 more",
    ] {
        assert!(svg.contains(part), "`{part}` is missing");
    }
    assert!(!svg.contains("v.joint1"));
    let run = folder.run("plot one.csv --from 0.25 --format svg --json");
    assert_eq!(run.json()["rows"], 8);
    let strip = folder.read("one-strip.svg");
    assert!(strip.contains("t = 0.3 s") && !strip.contains("t = 0 s"));
    let run = folder.run("plot one.csv two.csv -o both --format svg");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(folder.read("both-energies.svg").contains("total (two)"));
    assert!(folder.read("both-audit.svg").contains("(one)"));
    // a name with an extension: one picture is that file, several have it as their format
    let run = folder.run("plot one.csv --columns q.* -o angles.SVG");
    assert_eq!((run.code, run.stderr.as_str()), (0, "wrote angles.SVG\n"));
    assert!(folder.read("angles.SVG").contains("q.joint1"));
    let run = folder.run("plot one.csv -o pictures.of.svg");
    let notes: String = KINDS
        .iter()
        .map(|kind| format!("wrote pictures.of-{kind}.svg\n"))
        .collect();
    assert_eq!((run.code, run.stderr.as_str()), (0, notes.as_str()));
    let run = folder.run("plot one.csv -o of.run2 --format svg --columns q.*");
    assert_eq!(run.stderr, "wrote of.run2-columns.svg\n");
    let run = folder.run("plot one.csv -o angles.svg --format both");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            2,
            "error: -o angles.svg: the name has another format than --format both\nhint: leave out --format, or the extension of the name\n"
        )
    );
    for (arguments, message) in [
        (
            "--columns q.joint7",
            "--columns: no column is called `q.joint7`",
        ),
        (
            "--from 3",
            "the run has no rows in that time: it goes from 0 to 1 s",
        ),
        ("--from nan", "--from: the time is not a number"),
        ("--view up", "--view"),
        ("--scale 0", "--scale: 0 is not a positive number"),
        ("--instants 0", "--instants"),
    ] {
        let run = folder.run(&format!("plot one.csv {arguments} --format svg"));
        assert_eq!(run.code, 2, "{arguments}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn strips_from_other_sides_and_of_moving_bases() {
    let folder = Folder::new("plot-strip");
    folder.run("simulate space-robot --random 1 --duration 0.4 --interval 0.1 -o robot.csv");
    let mut strips = Vec::new();
    for arguments in [
        "",
        "--view x",
        "--view 1,1,-0.5",
        "--scale 5",
        "--follow",
        "--instants 3",
    ] {
        let run = folder.run(&format!("plot robot.csv {arguments} --format svg"));
        assert_eq!(run.code, 0, "{arguments}: {}", run.stderr);
        let strip = folder.read("robot-strip.svg");
        assert!(!strips.contains(&strip), "{arguments} changes nothing");
        strips.push(strip);
    }
    assert_eq!(strips[5].matches("t = ").count(), 3);
    // a robot that drifts farther than its own size is followed without asking
    folder.run("simulate space-robot --random 1 --duration 4 --interval 1 -o far.csv");
    let [usual, followed] = ["", "--follow"].map(|arguments| {
        folder.run(&format!("plot far.csv {arguments} --format svg"));
        folder.read("far-strip.svg")
    });
    assert!(usual == followed);
    // joints that close loops are diamonds, springs dashed
    let command = "simulate four-bar-2 --q 1.2,-1.2,1.2,-1.2,1.2 --duration 0.2 -o bars.csv";
    assert_eq!(folder.run(command).code, 0);
    folder.run("plot bars.csv --format svg --instants 2");
    let strip = folder.read("bars-strip.svg");
    assert_eq!(strip.matches("fill=\"#1e1e1e\"").count(), 4);
    assert!(!strip.contains("stroke-dasharray"));
    folder.run("simulate governor --q slide=0.5,swing_a=0.5,swing_b=0.5 --duration 0.01 --interval 0.001 -o g.csv");
    folder.run("plot g.csv --format svg --instants 2");
    assert_eq!(
        folder
            .read("g-strip.svg")
            .matches("stroke-dasharray")
            .count(),
        4
    );
}

#[test]
fn names_and_json() {
    let folder = Folder::new("plot-names");
    folder.run("simulate planar3 --duration 0.1 -o run.csv");
    std::fs::create_dir(folder.path().join("pictures")).expect("a folder can be made");
    let run = folder.run("plot run.csv -o pictures/fall --format svg --json");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let value = run.json();
    assert_eq!(value["format"], "catena-plot/1");
    assert_eq!(value["model"], "planar3");
    assert_eq!(value["finished"], true);
    assert_eq!(value["rows"], 11);
    assert_eq!(value["time"], 0.1);
    let files: Vec<&str> = value["files"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_str)
        .collect();
    assert_eq!(files, KINDS.map(|kind| format!("pictures/fall-{kind}.svg")));
    assert!(files.iter().all(|name| folder.path().join(name).is_file()));
}

#[test]
fn an_unfinished_run_is_drawn_as_far_as_it_goes() {
    let folder = Folder::new("plot-unfinished");
    folder.write(
        "jump.csv",
        "t,tau1,tau2,tau3\n0,0,0,0\n1,0,0,0\n1.001,1e308,0,0\n",
    );
    for name in ["run.csv", "run.parquet", "run.mcap"] {
        let simulated = folder.run(&format!(
            "simulate planar3 --duration 2 --efforts jump.csv -o {name}"
        ));
        assert_eq!(simulated.code, 2);
        let run = folder.run(&format!("plot {name} --format svg"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stderr.ends_with(
                "wrote run-strip.svg\n\
                 the run is not finished: the pictures show its 101 rows, up to 1 s\n"
            ),
            "{}",
            run.stderr
        );
        assert!(
            folder
                .read("run-strip.svg")
                .contains("planar3, dop853 (unfinished)")
        );
    }
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("plot-mistakes");
    folder.write("states.csv", "t,q1\n0,1\n");
    folder.run("simulate planar3 --duration 0.1 -o run.csv");
    let other = folder.read("run.csv").replace("\"model\":{", "\"other\":{");
    folder.write("other.csv", &other);
    let text = folder.read("run.csv");
    let header: Vec<&str> = text.split_inclusive('\n').take(5).collect();
    folder.write("empty.csv", &header.concat());
    for (arguments, message) in [
        (
            "plot nosuch.csv",
            "error: the run does not exist\n  --> nosuch.csv\n",
        ),
        (
            "plot states.csv",
            "error: the file is not a run written by catena\n  --> states.csv\n",
        ),
        (
            "plot run.txt",
            "error: the format of the run cannot be determined from the file's name\n  --> run.txt\n\
             hint: runs are named .csv, .parquet or .mcap\n",
        ),
        (
            "plot other.csv",
            "error: the header of the run is cut off or changed\n  --> other.csv\n\
             hint: without it the rows cannot be read; repeat the run\n",
        ),
        (
            "plot empty.csv",
            "error: the run holds no rows: it was stopped before its first block\n  --> empty.csv\n\
             hint: continue it with --resume\n",
        ),
        (
            "plot run.csv -o nowhere/run",
            "error: the file cannot be written: there is no such folder\n  --> nowhere/run-coordinates.svg\n",
        ),
    ] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.stderr.as_str()), (2, message), "{arguments}");
    }
}

/// Without `--format`, pictures of both kinds; the runs here have everything that can be drawn: quaternions, dry friction, a base
/// that moves.
#[cfg(feature = "png")]
#[test]
fn pixels() {
    let folder = Folder::new("plot-png");
    for model in ["planar3", "zoo --random 1", "stanford --base turn:0,0,1"] {
        let command = format!("simulate {model} --duration 0.2 -o run.csv --overwrite");
        assert_eq!(folder.run(&command).code, 0);
        let run = folder.run("plot run.csv");
        assert_eq!(run.code, 0, "{model}: {}", run.stderr);
        for kind in KINDS {
            let bytes =
                std::fs::read(folder.path().join(format!("run-{kind}.png"))).expect("a picture");
            assert!(bytes.starts_with(b"\x89PNG\r\n"));
            assert!(bytes.len() > 3000, "{model}, {kind}: {}", bytes.len());
        }
    }
}

#[cfg(not(feature = "png"))]
#[test]
fn pixels_are_an_option() {
    let folder = Folder::new("plot-png");
    folder.run("simulate planar3 --duration 0.5 -o run.csv");
    let run = folder.run("plot run.csv --format png");
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: --format png: this catena was built without PNG\n\
         hint: build it with its default features, or give --format svg\n"
    );
    assert_eq!(folder.files(), ["run.csv"]);
}
