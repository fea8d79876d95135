//! Models at the edge of what can move: without freedoms, with freedoms without inertia, with damping too fast for explicit methods.

mod common;

use common::Folder;

/// A body without joints, as files of drones have it.
const DRONE: &str = r#"<robot name="drone"><link name="body"><inertial><origin xyz="0 0 0.1"/><mass value="1.5"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.02"/></inertial></link></robot>"#;

#[test]
fn every_command_says_something_about_nothing_that_moves() {
    let folder = Folder::new("immobile");
    folder.write("drone.urdf", DRONE);
    for command in [
        "info drone.urdf",
        "inverse drone.urdf --random 1",
        "forward drone.urdf --random 1",
        "evaluate drone.urdf --random 1",
        "derivatives drone.urdf",
        "derivatives drone.urdf --forward",
        "factor drone.urdf --full --inverse",
        "regressor drone.urdf --random 1",
        "check drone.urdf --states 2",
        "count drone.urdf",
        "simulate drone.urdf --duration 0.1",
        "simulate drone.urdf --duration 0.1 --method bdf",
        "simulate drone.urdf --duration 0.1 --method rk4 -o run.csv",
        "compare drone.urdf --random 1",
        "convert drone.urdf -o drone.toml",
        "denoc drone.urdf",
        "doctor drone.urdf",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 0, "{command}: {}{}", run.stdout, run.stderr);
        assert!(
            run.stderr.contains("warning: nothing can move"),
            "{command}: {}",
            run.stderr
        );
        assert!(!run.stdout.contains("NaN"), "{command}: {}", run.stdout);
    }
    for command in ["generate", "derive", "linearize"] {
        let run = folder.run(&format!("{command} drone.urdf"));
        assert_eq!(run.code, 2, "{command}: {}", run.stderr);
        assert!(
            run.stderr.contains("`drone` has no freedoms"),
            "{}",
            run.stderr
        );
    }
    let strict = folder.run("info drone.urdf --strict");
    assert_eq!(strict.code, 2);
    assert!(strict.stderr.contains("nothing can move"));
}

#[test]
fn a_free_base_is_for_every_command() {
    let folder = Folder::new("free-base");
    folder.write("drone.urdf", DRONE);
    for command in ["count", "check", "simulate --duration 0.1", "factor"] {
        let run = folder.run(&format!("{command} drone.urdf --free-base"));
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
        assert!(!run.stderr.contains("nothing can move"));
    }
    let run = folder.run("count --free-base");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("none is given"), "{}", run.stderr);
}

/// A head as a point mass on a joint through it, with damping.
const HEAD: &str = r#"
format = "catena/1"
name = "head"
[[link]]
name = "skull"
mass = 1.3
inertia = [1e-11, 1e-11, 1e-11]
[[joint]]
name = "yaw"
type = "revolute"
child = "skull"
axis = [0, 0, 1]
damping = 1.0
"#;

#[test]
fn stiff_damping_takes_the_implicit_method() {
    let folder = Folder::new("stiff");
    folder.write("head.toml", HEAD);
    let run = folder.run("simulate head.toml --v 0.5 --duration 1 -o run.csv");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("the damping of `yaw` has a time constant of 1e-11 s")
            && run.stderr.contains("bdf"),
        "{}",
        run.stderr
    );
    let run = folder.run("simulate head.toml --v 0.5 --duration 1 --method dop853");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("the damping of `yaw` has a time constant of 1.0e-11 s"),
        "{}",
        run.stderr
    );
}

/// A finger without inertia, as Romeo has it.
#[test]
fn check_names_the_freedom_without_inertia() {
    let folder = Folder::new("no-inertia");
    folder.write(
        "finger.urdf",
        r#"<robot name="finger"><link name="palm"/><link name="tip"/>
<joint name="bend" type="continuous"><parent link="palm"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>"#,
    );
    let run = folder.run("check finger.urdf --states 1");
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains("joint `bend` cannot be accelerated"),
        "{}",
        run.stderr
    );
}
