//! With `--portable` the bits do not depend on the processor.

mod common;

use catena::Cpu;
use common::{Folder, run_with};

/// Commands with joints of many kinds, loops, dry friction, controllers, and functions of time.
const COMMANDS: [&str; 14] = [
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
];

/// What a command writes, with these variables of the environment.
fn written(folder: &Folder, command: &str, environment: &[(&str, &str)]) -> String {
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let run = run_with(folder.path(), &arguments, environment);
    assert_eq!(run.code, 0, "{command}\n{}", run.stderr);
    match command.contains("simulate") {
        true => {
            let file = folder.read("out.csv");
            std::fs::remove_file(folder.path().join("out.csv")).expect("a file");
            file
        }
        false => run.stdout,
    }
}

/// The wider paths of our own arithmetic, and the mathematical library of the system on an older processor.
#[test]
fn portable_results_have_the_same_bits_on_every_path() {
    let folder = Folder::new("portable");
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
