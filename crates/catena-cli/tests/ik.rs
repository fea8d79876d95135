//! `catena ik`, motions of a frame, and functions for CasADi.

mod common;

use common::{Folder, assert_close, good, numbers, run};

#[test]
fn a_pose_is_reached_and_evaluate_agrees() {
    let folder = Folder::new("ik");
    let found = folder.run(
        "ik stanford --target tool:0.4,0.2,0.5,0.5,0.5,0.5,0.5 --q 0,1,0.4,0.1,0.1,0.1 --no-limits --json",
    );
    assert_eq!(found.code, 0, "{}", found.stderr);
    let value = found.json();
    assert_eq!(value["format"], "catena-ik/1");
    let checks = &value["states"][0]["checks"];
    assert_eq!(checks["reached"], true);
    assert_eq!(checks["targets"][0]["frame"], "tool");
    folder.write("state.json", &found.stdout);
    let evaluated = folder.run("evaluate stanford --state state.json --json");
    assert_eq!(evaluated.code, 0, "{}", evaluated.stderr);
    let frames = &evaluated.json()[0]["frames"];
    let pose = frames
        .as_array()
        .and_then(|frames| frames.iter().find(|frame| frame["name"] == "tool"))
        .expect("the tool");
    assert_close(&numbers(&pose["position"]), &[0.4, 0.2, 0.5], 1e-8);
    let quaternion = numbers(&pose["quaternion"]);
    let sign = quaternion[0].signum();
    let quaternion: Vec<f64> = quaternion.iter().map(|x| x * sign).collect();
    assert_close(&quaternion, &[0.5; 4], 1e-8);
}

#[test]
fn roll_pitch_yaw_is_that_of_urdf() {
    // yaw by 90°, pitch by 90°: x goes to −z, y to −x, z to y
    let by_angles = good("ik floating-chain-6 --target link1:0,0,0,0,90deg,90deg --json").json();
    let h = 0.5;
    let by_quaternion = good(&format!(
        "ik floating-chain-6 --target link1:0,0,0,{h},-{h},{h},{h} --json"
    ))
    .json();
    let q = |value: &serde_json::Value| numbers(&value["states"][0]["q"]);
    assert_close(&q(&by_angles), &q(&by_quaternion), 1e-8);
}

#[test]
fn several_frames_the_centre_and_several_starts() {
    let run = good(
        "ik floating-chain-6 --target link6:0.5,0.2,0.1 --target link2:0.1,0,0.1 --centre 0.2,0,0 --random 1 --states 3 --json",
    );
    let value = run.json();
    for state in value["states"].as_array().expect("states") {
        let targets = state["checks"]["targets"].as_array().expect("targets");
        assert_eq!(targets.len(), 3);
        assert!(targets[2]["frame"].is_null());
        for target in targets {
            assert!(target["position_left"].as_f64().is_some_and(|x| x < 1e-8));
        }
    }
}

#[test]
fn what_is_not_reached_is_a_failure() {
    let missed = run("ik planar3 --target tool:9,0,0 --q 0.1,0.2,0.3");
    assert_eq!(missed.code, 1);
    assert!(missed.stdout.contains("NOT reached"), "{}", missed.stdout);
    assert!(
        missed.stderr.contains("not reached from this start"),
        "{}",
        missed.stderr
    );
    // the corner of a parallelogram at 1 rad
    let (y, x) = 1.0f64.sin_cos();
    let closed = good(&format!(
        "ik four-bar-1 --target level0:{x},{y},0 --q 1.2,-1.2,1.2"
    ));
    assert!(closed.stdout.contains("reached after"), "{}", closed.stdout);
}

#[test]
fn mistakes() {
    for (arguments, words) in [
        ("ik stanford", "--target"),
        ("ik stanford --target tool", "names no frame"),
        ("ik stanford --target tol:0,0,0", "did you mean `tool`?"),
        (
            "ik stanford --target tool:0,0",
            "has 2 numbers, not 3, 6 or 7",
        ),
        ("ik stanford --target tool:0,0,x", "`x` is not a number"),
        (
            "ik stanford --target tool:5deg,0,0",
            "`5deg` is not a number",
        ),
        (
            "ik stanford --target tool:0,0,0,2,0,0,0",
            "has length 2, not 1",
        ),
        ("ik stanford --centre 0,0", "--centre"),
        (
            "ik stanford --target tool:0,0,0 --tolerance 0",
            "must be positive",
        ),
        (
            "inverse stanford --trajectory cycloid --frame tool",
            "is read from a file",
        ),
        (
            "generate stanford --casadi --language rust",
            "CasADi loads C",
        ),
    ] {
        let run = run(arguments);
        assert_eq!(run.code, 2, "{arguments}");
        assert!(run.stderr.contains(words), "{arguments}: {}", run.stderr);
    }
}

#[test]
fn the_motion_of_a_frame() {
    let folder = Folder::new("hand");
    let mut rows = String::from("t,x,y,z\n");
    for k in 0..=50 {
        let t = 0.02 * f64::from(k);
        rows += &format!("{t},0.5,{},0\n", 0.3 + 0.1 * t.sin());
    }
    folder.write("hand.csv", &rows);
    let found = folder
        .run("inverse planar3 --trajectory hand.csv --frame tool --from 0,45deg,45deg --json");
    assert_eq!(found.code, 0, "{}", found.stderr);
    let value = found.json();
    let states = value["states"].as_array().expect("states");
    assert_eq!(states.len(), 51);
    folder.write("states.json", &found.stdout);
    let evaluated = folder
        .run("evaluate planar3 --state states.json --json")
        .json();
    for (k, state) in evaluated.as_array().expect("states").iter().enumerate() {
        let t = 0.02 * k as f64;
        let frames = state["frames"].as_array().expect("frames");
        let tool = frames
            .iter()
            .find(|frame| frame["name"] == "tool")
            .expect("the tool");
        let velocity = numbers(&tool["velocity"]["linear"]);
        assert_close(&velocity, &[0.0, 0.1 * t.cos(), 0.0], 1e-5);
    }
    let far = rows.replace(",0.5,", ",9.5,");
    folder.write("far.csv", &far);
    let missed = folder.run("inverse planar3 --trajectory far.csv --frame tool");
    assert_eq!(missed.code, 2);
    assert!(
        missed.stderr.contains("does not get where the file has it"),
        "{}",
        missed.stderr
    );
}

#[test]
fn the_file_for_casadi_comes_with_the_derivatives() {
    let folder = Folder::new("casadi");
    let run = folder.run("generate planar3 --function inverse --casadi -o code");
    assert_eq!(run.code, 0, "{}", run.stderr);
    for function in ["inverse_dq", "inverse_dv", "inertia"] {
        assert!(run.stdout.contains(function), "{}", run.stdout);
    }
    let text = folder.read("code/planar3_casadi.c");
    assert!(text.contains("jac_planar3_casadi_inverse_sparsity_out"));
    assert!(!text.contains("planar3_casadi_forward"));
}
