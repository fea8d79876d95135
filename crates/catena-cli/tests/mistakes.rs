//! Wrong invocations: each with its exact message, exit code 2, and nothing on stdout.

mod common;

use common::Folder;

/// Arguments and the exact text on stderr.
const MISTAKES: &[(&str, &str)] = &[
    (
        "info stanfrod",
        "error: there is no embedded model `stanfrod`\n\
         hint: did you mean `stanford`? `catena models` lists them all\n",
    ),
    (
        "info robot",
        "error: there is no embedded model `robot`\n\
         hint: `catena models` lists the embedded models; a file needs its extension (.toml, .json, .urdf, .sdf, .xml)\n",
    ),
    (
        "info pendulum-0",
        "error: `pendulum-0`: `0` is not a number from 1 to 1000000\n",
    ),
    (
        "info nosuch.toml",
        "error: the file does not exist\n  --> nosuch.toml\n",
    ),
    (
        "info modle.toml",
        "error: the file does not exist\n  --> modle.toml\nhint: did you mean `model.toml`?\n",
    ),
    (
        "info stanford.toml",
        "error: the file does not exist\n  --> stanford.toml\nhint: `stanford` without extension is an embedded model\n",
    ),
    (
        "info stanford --free-base",
        "error: the base of the embedded model `stanford` cannot be freed: its joints join it to the ground\n\
         hint: `space-robot` and `floating-chain-N` have a free base; --free-base is for model files\n",
    ),
    (
        "info stanford --gravity 1,2",
        "error: --gravity: 3 numbers are needed, 2 were given\nhint: separate them by commas, without spaces\n",
    ),
    (
        "info stanford --gravity 0,0,nan",
        "error: --gravity: `nan` is not a number\nhint: write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4\n",
    ),
    (
        "generate four-bar-1 -f forward_dq",
        "error: code for the closed chain `four-bar-1` has no derivatives by q and v: 3 of its 5 constraint rows depend on others, and the derivatives are unique only along closed motions\n\
         hint: `catena derivatives` gives those of the library; or write constraints without redundant rows\n",
    ),
    (
        "assemble planar3",
        "error: model `planar3` has no constraints: every state of a tree is assembled\n",
    ),
    (
        "assemble four-bar-1 --hold foot7",
        "error: --hold: `four-bar-1` has no freedom `foot7`\nhint: did you mean `foot0`?\n",
    ),
    (
        "assemble four-bar-1 --q 1,-0.3,-1 --hold foot0,foot1",
        "error: constraint `loop0` cannot be closed from this guess: 9.576e-1 m or rad are left after 30 iterations\n\
         hint: 32 other guesses about it lead to none either: hold fewer coordinates, or check the lengths of the loop\n",
    ),
    (
        "inverse planar3 --q 1,2",
        "error: --q: 3 numbers are needed, 2 were given\n\
         hint: in this order: joint1 (rad), joint2 (rad), joint3 (rad)\n",
    ),
    (
        "inverse planar3 --q 1,2,",
        "error: --q: `` is not a number\nhint: write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4\n",
    ),
    (
        "inverse planar3 --v 1,2,1e999",
        "error: --v: `1e999` is not a number\nhint: write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4\n",
    ),
    (
        "inverse stanford --q 0,0,5deg,0,0,0",
        "error: --q: `5deg` is an angle, but `joint3` is in m\n",
    ),
    (
        "inverse pendulum-1 --q pi,0,0,0",
        "error: --q: `pi` is an angle, but `ball1.qw` is a component of a quaternion\n",
    ),
    (
        "inverse pendulum-1 --q 1,1,0,0",
        "error: quaternion of joint `ball1` has length 1.414214, not 1\n\
         hint: give (w, x, y, z) of unit length; identity is 1, 0, 0, 0\n",
    ),
    (
        "forward planar3 --tau 1,deg,2",
        "error: --tau: `deg` is not a number\nhint: write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4\n",
    ),
    (
        "inverse stanford --wrench tol:0,0,0,0,0,1",
        "error: `stanford` has no frame `tol`\nhint: did you mean `tool`?\n",
    ),
    (
        "inverse stanford --wrench 0,0,0,0,0,1",
        "error: --wrench: `0,0,0,0,0,1` names no frame\n\
         hint: write --wrench FRAME:nx,ny,nz,fx,fy,fz (N·m and N, world axes)\n",
    ),
    (
        "inverse stanford --wrench world:0,0,0,0,0,1",
        "error: a wrench on frame `world` does nothing: it is fixed to the ground\n",
    ),
    (
        "inverse stanford --trajectory cyclod",
        "error: --trajectory: there is no kind `cyclod`\nhint: did you mean `cycloid`?\n",
    ),
    (
        "inverse stanford --trajectory cycloid",
        "error: --trajectory: the end of the motion is missing\n\
         hint: give --to, and --from where it does not start at zero\n",
    ),
    (
        "inverse planar3 --trajectory cycloid --to 1,1,1 --duration -3",
        "error: duration of the trajectory must be a positive time, not -3 s\n",
    ),
    (
        "inverse planar3 --trajectory cycloid --to 1,1,1 --steps 0",
        "error: --steps: 0 is not a number from 1 to 10000000\n",
    ),
    (
        "inverse zoo --trajectory paper",
        "error: --trajectory paper: the paper has no motion of `zoo`\n\
         hint: it has one of `planar3` and one of `stanford`\n",
    ),
    (
        "inverse pendulum-1 --trajectory quintic --to 1,0,0,0",
        "error: --trajectory: the orientation of spherical joint `ball1` does not move along a line\n\
         hint: give the motion as a CSV file of t, q, v and a\n",
    ),
    (
        "inverse planar3 --trajectory paper --plot elbow",
        "error: --plot: `planar3` has no freedom `elbow`\nhint: the freedoms are joint1, joint2, joint3\n",
    ),
    (
        "inverse planar3 --trajectory states.csv --steps 3",
        "error: a trajectory from a file takes no --steps\n",
    ),
    (
        "inverse planar3 --trajectory states.csv",
        "error: a trajectory needs columns for q, v and a; there are none for v\n  --> states.csv:1\n\
         hint: name them q1, …, v1, …, a1, … or q:JOINT, v:JOINT, a:JOINT; time is t\n",
    ),
    (
        "inverse stanford --state states.csv",
        "error: some columns of q are missing: joint4, joint5, joint6\n  --> states.csv:1\n\
         hint: give all of them, or none for zeros\n",
    ),
    (
        "inverse planar3 --state words.csv",
        "error: column `q2`: `two` is not a number\n  --> words.csv:3\n\
         hint: write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4\n",
    ),
    (
        "inverse planar3 --state ragged.csv",
        "error: the header has 3 columns, this row has 2\n  --> ragged.csv:2\n",
    ),
    (
        "inverse planar3 --state twice.csv",
        "error: columns `q1` and `joint1` are the same quantity\n  --> twice.csv:1\n",
    ),
    (
        "inverse planar3 --state units.csv",
        "error: column `q1` is in rad, not in `mm`\n  --> units.csv:1\n",
    ),
    (
        "inverse planar3 --state empty.csv",
        "error: the file has no states\n  --> empty.csv\n",
    ),
    (
        "inverse planar3 --state stranger.csv",
        "error: there is no column `jiont1`\n  --> stranger.csv:1\nhint: did you mean `joint1`?\n",
    ),
    (
        "inverse planar3 --state broken.json",
        "error: not JSON: trailing comma\n  --> broken.json:2\n",
    ),
    (
        "inverse planar3 --state key.json",
        "error: state 2: a state has an unknown key `qd`\n  --> key.json\nhint: did you mean `q`?\n",
    ),
    (
        "inverse planar3 --state short.json",
        "error: `q`: 3 numbers are needed, 1 given\n  --> short.json\nhint: in this order: joint1, joint2, joint3\n",
    ),
    (
        "inverse planar3 --state words.txt",
        "error: the format of the states cannot be determined from the file's name\n  --> words.txt\n\
         hint: supported are .json and .csv\n",
    ),
    (
        "inverse planar3 --state nosuch.json",
        "error: the file does not exist\n  --> nosuch.json\n",
    ),
    (
        "factor stanford --end-effector 0,0,0",
        "error: --end-effector: the base of `stanford` is not free\n\
         hint: the papers' t_e belongs to a point of a free base: try space-robot, or --free-base with a file\n",
    ),
    (
        "factor chain-1001 --full",
        "error: U, I and I⁻¹ are not formed for more than 1000 freedoms; `chain-1001` has 1001\n\
         hint: leave out --full and --inverse: pivots and --rhs cost O(n)\n",
    ),
    (
        "evaluate stanford --frames tool,tip",
        "error: `stanford` has no frame `tip`\n\
         hint: the frames are world, link1, link2, link3, link4, link5, link6, tool\n",
    ),
    (
        "check stanford --states 0",
        "error: --states: 0 is not a number from 1 to 1000000\n",
    ),
    (
        "verify nosuch.json",
        "error: the file does not exist\n  --> nosuch.json\n",
    ),
    (
        "convert stanford -o arm.usd",
        "error: models are written as .toml, .json, .urdf, .sdf or .xml (MJCF)\n  --> arm.usd\n",
    ),
    (
        "convert stanford -o nowhere/arm.toml",
        "error: the file cannot be written: there is no such folder\n  --> nowhere/arm.toml\n",
    ),
    (
        "convert stanford -o folder.toml",
        "error: it already exists and is not a file\n  --> folder.toml\n\
         hint: give the name of a file, or leave out `-o`\n",
    ),
    (
        "man inverze",
        "error: there is no command `inverze`\nhint: did you mean `inverse`?\n",
    ),
    (
        "--json",
        "error: --json needs a command\n\
         hint: for example `catena inverse stanford --trajectory paper --json`\n",
    ),
    (
        "inverse stanford --q 0,0,0,0,0,0 --random 3",
        "error: the argument '--q <LIST>' cannot be used with '--random <SEED>'\n\n\
         Usage: catena inverse --q <LIST> <MODEL>\n\nFor more information, try '--help'.\n",
    ),
    (
        "info",
        "error: the following required arguments were not provided:\n  <MODEL>\n\n\
         Usage: catena info <MODEL>\n\nFor more information, try '--help'.\n",
    ),
    (
        "evaluat stanford",
        "error: unrecognized subcommand 'evaluat'\n\n  tip: a similar subcommand exists: 'evaluate'\n\n\
         Usage: catena [OPTIONS] [COMMAND]\n\nFor more information, try '--help'.\n",
    ),
];

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("mistakes");
    folder.write("states.csv", "t,q1,q2,q3\n0,1,2,3\n");
    folder.write("words.csv", "q1,q2,q3\n1,2,3\n1,two,3\n");
    folder.write("ragged.csv", "q1,q2,q3\n1,2\n");
    folder.write("twice.csv", "q1,joint1,q2,q3\n1,1,2,3\n");
    folder.write("units.csv", "q1 [mm],q2,q3\n1,2,3\n");
    folder.write("empty.csv", "q1,q2,q3\n");
    folder.write("stranger.csv", "jiont1,q2,q3\n1,2,3\n");
    folder.write("broken.json", "{\"q\": [1, 2,\n]}");
    folder.write("key.json", "[{}, {\"qd\": [1, 2, 3]}]");
    folder.write("short.json", "{\"q\": [1]}");
    folder.write("words.txt", "q = 1");
    folder.write("model.toml", "");
    std::fs::create_dir(folder.path().join("folder.toml")).expect("a folder can be made");
    let mut wrong = String::new();
    for (arguments, message) in MISTAKES {
        let run = folder.run(arguments);
        if run.code != 2 || !run.stdout.is_empty() || run.stderr != *message {
            wrong += &format!(
                "catena {arguments}\n  exit code {}, stdout {:?}\n{}\n  expected\n{message}\n",
                run.code, run.stdout, run.stderr
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let leftovers: Vec<String> = folder
        .files()
        .into_iter()
        .filter(|name| name.ends_with(".part"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

#[test]
fn an_unsupported_case_is_refused_and_the_others_are_still_compared() {
    let folder = Folder::new("refused");
    folder.write(
        "unknown.json",
        "{\"format\": \"catena-case/1\", \"id\": \"s\",\n \"kind\": \"multibody_redundent\"}",
    );
    folder.run("export-case planar3 -o good.json");
    let run = folder.run("verify unknown.json good.json");
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: kind `multibody_redundent` is not known\n  --> unknown.json:2\nhint: did you mean `multibody_redundant`?\n"
    );
    assert!(
        run.stdout
            .contains("1 of 2 cases passed, 0 off, 1 not usable"),
        "{}",
        run.stdout
    );
}
