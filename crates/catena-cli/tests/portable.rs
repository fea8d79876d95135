//! With `--portable` the bits do not depend on the processor.

mod common;

use catena::Cpu;
use common::{Folder, run_with};

/// Commands with joints of many kinds, loops, dry friction, controllers, and functions of time.
const COMMANDS: [&str; 28] = [
    "--portable inverse stanford --trajectory paper --json",
    "--portable forward space-robot --random 5 --json",
    "--portable factor chain-20 --random 2 --json",
    "--portable derivatives stanford --random 2 --json",
    "--portable evaluate zoo --random 2 --json",
    "--portable forward bricard --json",
    "--portable simulate stanford --duration 0.5 --effort joint1=sin(3*t) -o out.csv",
    "--portable simulate chain-7 --duration 0.3 --method rk4 --step 0.01 -o out.csv",
    "--portable simulate pendulum-5 --duration 0.3 --method bdf -o out.csv",
    "--portable simulate bricard --duration 0.3 -o out.csv",
    "--portable simulate four-bar-1 --q 70deg,-70deg,70deg --duration 0.2 --formulation null-space -o out.csv",
    "--portable forward bricard --formulation svd --json",
    "--portable linearize bicycle --v frame_joint.x=5 --json",
    "--portable doctor bricard --json",
    "--portable sweep study.toml -o out.csv",
    "--portable optimize cobyla.toml --json",
    "--portable optimize slsqp.toml --json",
    "--portable info zoo --json",
    "--portable denoc stanford --random 2 --json",
    "--portable space space-robot --random 2 --json",
    "--portable barycentres space-robot --random 2 --json",
    "--portable ik planar3 --target tool:0.5,0.5,0 --json",
    "--portable assemble four-bar-1 --q 70deg,-60deg,70deg --json",
    "--portable regressor stanford --random 2 --json",
    "--portable generate stanford --language c -o out",
    "--portable generate bricard --language rust -o out",
    "--portable convert stanford -o out.urdf",
    "--portable convert zoo -o out.toml",
];

/// Samples of every distribution.
const STUDY: &str = r#"format = "catena-study/1"
model = "stanford"
[design]
kind = "sobol"
samples = 8
seed = 1
[[parameter]]
name = "a"
path = "q.joint1"
normal = [0, 1]
[[parameter]]
name = "b"
path = "link.link6.mass"
lognormal = [1, 0.3]
low = 0.5
[[parameter]]
name = "c"
path = "link.link5.mass"
loguniform = [0.1, 1]
[[parameter]]
name = "d"
path = "q.joint2"
triangular = [0.1, 0.5, 1]
[run]
duration = 0.2
[[measure]]
name = "end"
value = "last(q.joint1) + max(kinetic)"
"#;

/// A search by this method.
fn search(method: &str) -> String {
    format!(
        "format = \"catena-study/1\"\nmodel = \"stanford\"\n[[parameter]]\nname = \"a\"\npath = \"v.joint1\"\nuniform = [-2, 2]\n[[parameter]]\nname = \"b\"\n\
         path = \"link.link6.mass\"\nloguniform = [0.1, 1]\n[run]\nduration = 0.2\n[[measure]]\nname = \"off\"\nvalue = \"(last(q.joint1) - 0.1)^2 + b\"\n\
         [optimize]\nminimise = \"off\"\nmethod = \"{method}\"\nevaluations = 20\n"
    )
}

/// What a command writes, with these variables of the environment.
fn written(folder: &Folder, command: &str, environment: &[(&str, &str)]) -> String {
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let run = run_with(folder.path(), &arguments, environment);
    assert_eq!(run.code, 0, "{command}\n{}", run.stderr);
    let Some((_, name)) = command.split_once("-o ") else {
        return run.stdout;
    };
    let path = folder.path().join(name);
    if path.is_file() {
        let file = folder.read(name);
        std::fs::remove_file(path).expect("a file");
        return file;
    }
    let mut files: Vec<_> = std::fs::read_dir(&path)
        .expect("a folder of code")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    let texts: Vec<String> = files
        .iter()
        .map(|file| std::fs::read_to_string(file).expect("code"))
        .collect();
    assert!(!texts.is_empty(), "{command}");
    std::fs::remove_dir_all(path).expect("a folder");
    texts.concat()
}

/// What the message promises is tried above.
#[test]
fn every_portable_command_is_compared() {
    let folder = Folder::new("portable-list");
    let said = folder.run("--portable models").stderr;
    let (_, list) = said.split_once("it can be given to ").expect("a hint");
    let list = list.replace(" (without --plot and --engine)", "");
    let named: Vec<&str> = list
        .trim()
        .split(", ")
        .flat_map(|word| word.split(" and "))
        .collect();
    assert!(named.len() > 15, "{named:?}");
    let tried = |name: &str| {
        let begin = format!("--portable {name} ");
        COMMANDS.iter().any(|command| command.starts_with(&begin))
    };
    for name in named {
        assert!(tried(name), "{name} is promised and not compared");
    }
}

/// The wider paths of our own arithmetic, and the mathematical library of the system on an older processor.
#[test]
fn portable_results_have_the_same_bits_on_every_path() {
    let folder = Folder::new("portable");
    folder.write("study.toml", STUDY);
    for method in ["cobyla", "slsqp"] {
        folder.write(&format!("{method}.toml"), &search(method));
    }
    let older = (
        "GLIBC_TUNABLES",
        "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-FMA,-FMA_Usable",
    );
    for command in COMMANDS {
        let first = written(&folder, command, &[("CATENA_CPU", "baseline")]);
        let here = Cpu::detect();
        for path in ["avx2", "avx512"] {
            if Cpu::from_name(path).expect("a path") > here {
                println!("skipped: {command} on {path}, which this processor lacks");
                continue;
            }
            let again = written(&folder, command, &[("CATENA_CPU", path)]);
            assert!(first == again, "{command}: other bits on {path}");
        }
        let again = written(&folder, command, &[older]);
        assert!(first == again, "{command}: another processor, other bits");
    }
}

/// What the option is for: without it the paths differ, where there is more than one.
#[test]
fn without_the_option_wider_registers_give_other_bits() {
    if catena_testing::skipped_on_baseline(Cpu::detect()) {
        return;
    }
    let folder = Folder::new("not-portable");
    let command = "forward space-robot --random 5 --json";
    let narrow = written(&folder, command, &[("CATENA_CPU", "baseline")]);
    let wide = written(&folder, command, &[]);
    assert_ne!(narrow, wide);
}

#[test]
fn commands_without_that_promise_are_refused() {
    let folder = Folder::new("portable-refused");
    for command in [
        "compare four-bar-1 --portable",
        "check stanford --portable",
        "sweep study.toml --plot out.svg --portable",
        "--portable",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 2, "{command}\n{}", run.stdout);
        assert!(
            run.stderr.contains("same bits on every processor"),
            "{}",
            run.stderr
        );
    }
}
