//! How many instructions does a call take? Counts repeat exactly, where times do not.
//!
//! `cargo bench -p catena --bench instructions` counts the instructions of every call and compares them with the table in
//! `instructions.toml`; `-- --update` writes the table anew. Counts belong to a compiler: under another than the table's they
//! are printed, and nothing is compared. The calls run on the AVX2 path; a processor without it has nothing to compare.
//!
//! The call runs in a child process which is stepped, instruction by instruction, between two signals (ptrace, so Linux on
//! x86-64 only). Valgrind would do, but version 3.19 does not know one encoding of `vmovq` that the compiler uses
//! (C5 79 D6, from register to register) and ends with an illegal instruction.

use catena::model::embedded;
use catena::{Batch, Cpu, Dynamics, State};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const CALLS: [&str; 10] = [
    "inverse",
    "forward",
    "inertia",
    "factorize",
    "inverse-derivatives",
    "forward-derivatives",
    "batch-inverse",
    "batch-forward",
    "batch-inertia",
    "batch-factorize",
];

const MODELS: [&str; 2] = ["chain-7", "chain-100"];

/// Derivatives of long chains take too long to step through.
fn is_short(call: &str, model: &str) -> bool {
    model == "chain-7" || !call.ends_with("derivatives")
}

/// Counts may grow by this part before it is a failure. They repeat exactly on one machine; another C library may copy
/// memory in other ways. A count that falls by more is printed, and fails nothing: the table is then due for an update.
const TOLERANCE: f64 = 0.01;

/// States of a batch: one register.
const STATES: usize = 4;

/// The call twice, the second time between two signals; what it needs is made the first time.
fn twice(call: &str, model: &str) {
    let model = embedded::model(model).expect("embedded");
    let (nv, state) = (model.nv(), State::random(&model, 1));
    let x = vec![0.5; nv];
    let many = |x: &[f64]| x.repeat(STATES);
    let (q, v, input) = (many(&state.q), many(&state.v), many(&x));
    let mut out = vec![0.0; STATES * if call == "batch-inertia" { nv * nv } else { nv }];
    let mut single = Dynamics::new(&model);
    let mut batch = Batch::new(&model);
    for marked in [false, true] {
        step::mark(marked);
        match call {
            "inverse" => drop(black_box(single.inverse(&state, &x, &[]))),
            "forward" => drop(black_box(single.forward(&state, &x, &[]))),
            "inertia" => drop(black_box(single.inertia(&state))),
            "factorize" => drop(black_box(single.factorize(&state))),
            "inverse-derivatives" => {
                drop(black_box(single.inverse_derivatives(&state, &x, &[])));
            }
            "forward-derivatives" => {
                drop(black_box(single.forward_derivatives(&state, &x, &[])));
            }
            "batch-inverse" => drop(black_box(batch.inverse(&q, &v, &input, &mut out))),
            "batch-forward" => drop(black_box(batch.forward(&q, &v, &input, &mut out))),
            "batch-inertia" => drop(black_box(batch.inertia(&q, &mut out))),
            _ => drop(black_box(batch.factorize(&q))),
        }
        step::mark(marked);
    }
}

/// Stepping another process.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod step {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[allow(unsafe_code)]
    unsafe extern "C" {
        fn ptrace(request: i64, process: i32, address: usize, data: usize) -> i64;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn raise(signal: i32) -> i32;
    }

    const TRACE_ME: i64 = 0;
    const CONTINUE: i64 = 7;
    const STEP: i64 = 9;
    const MARKER: i32 = 10; // SIGUSR1

    /// Tells the one who counts that the call begins or ends here.
    pub fn mark(wanted: bool) {
        if wanted {
            // SAFETY: sends a signal to this process, which is stopped and continued by its parent.
            #[allow(unsafe_code)]
            unsafe {
                raise(MARKER);
            }
        }
    }

    /// Lets the process continue, and says by which signal it stopped; an error if it ended.
    fn go(process: i32, request: i64) -> Result<i32, String> {
        let mut status = 0;
        // SAFETY: the process is a stopped child of this one, traced by it; `status` is there to be written.
        #[allow(unsafe_code)]
        unsafe {
            if ptrace(request, process, 0, 0) < 0 || waitpid(process, &mut status, 0) != process {
                return Err("the process cannot be stepped".into());
            }
        }
        match status & 0xff == 0x7f {
            true => Ok(status >> 8 & 0xff),
            false => Err(format!("the process ended with status {status:#x}")),
        }
    }

    /// Instructions between the two marks of a program.
    pub fn count(command: &mut Command) -> Result<u64, String> {
        // SAFETY: between fork and exec only a system call is made.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(|| match ptrace(TRACE_ME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let child = command.spawn().map_err(|e| e.to_string())?;
        let process = child.id() as i32;
        let mut status = 0;
        // SAFETY: the child stops when its program begins; `status` is there to be written.
        #[allow(unsafe_code)]
        unsafe {
            waitpid(process, &mut status, 0);
        }
        while go(process, CONTINUE)? != MARKER {}
        let mut instructions = 0;
        while go(process, STEP)? != MARKER {
            instructions += 1;
        }
        // to its end
        while go(process, CONTINUE).is_ok() {}
        Ok(instructions)
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod step {
    pub fn mark(_wanted: bool) {}

    pub fn count(_command: &mut std::process::Command) -> Result<u64, String> {
        Err("instructions are counted on Linux and x86-64 only".into())
    }
}

/// Instructions of one call.
fn count(call: &str, model: &str) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command
        .args(["twice", call, model])
        .env("CATENA_CPU", "avx2");
    step::count(&mut command).map_err(|error| format!("{call} of {model}: {error}"))
}

fn compiler() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    match Command::new(rustc).arg("--version").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_string(),
        Err(_) => "unknown".into(),
    }
}

fn table() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.toml")
}

/// The compiler of the table and its counts.
fn read() -> (String, BTreeMap<String, u64>) {
    let text = std::fs::read_to_string(table()).unwrap_or_default();
    let (mut compiler, mut counts) = (String::new(), BTreeMap::new());
    for (key, value) in text.lines().filter_map(|line| line.split_once(" = ")) {
        match value.parse() {
            Ok(count) => drop(counts.insert(key.trim_matches('"').to_string(), count)),
            Err(_) if key == "compiler" => compiler = value.trim_matches('"').to_string(),
            Err(_) => {}
        }
    }
    (compiler, counts)
}

fn measure(update: bool) -> Result<bool, String> {
    let (compiler, (expected_compiler, expected)) = (compiler(), read());
    let comparable = compiler == expected_compiler;
    let mut text = format!(
        "# Instructions per call, in AVX2; a batch is of {STATES} states. Written by\n\
         # `cargo bench -p catena --bench instructions -- --update`.\n\
         compiler = \"{compiler}\"\n\n"
    );
    let (mut good, mut stale) = (true, false);
    for (call, model) in MODELS.into_iter().flat_map(|m| CALLS.map(|c| (c, m))) {
        if !is_short(call, model) {
            continue;
        }
        let name = format!("{call} {model}");
        let count = count(call, model)?;
        text += &format!("\"{name}\" = {count}\n");
        let change = expected
            .get(&name)
            .map(|&expected| count as f64 / expected as f64 - 1.0);
        let note = match change {
            Some(change) if change.abs() > TOLERANCE => {
                good &= change < 0.0;
                stale = true;
                format!("{:+.2}%", 100.0 * change)
            }
            Some(_) => String::new(),
            None => {
                (good, stale) = (false, true);
                "not in the table".into()
            }
        };
        println!("{name:<28} {count:>9} {note}");
    }
    if update {
        std::fs::write(table(), text).map_err(|e| e.to_string())?;
        return Ok(true);
    }
    if !comparable {
        println!("\nnot compared: the table is of `{expected_compiler}`, this is `{compiler}`");
        return Ok(true);
    }
    if stale {
        println!(
            "\ncounts have changed by more than {}%: if that is meant, run\n  \
             cargo bench -p catena --bench instructions -- --update",
            100.0 * TOLERANCE
        );
    }
    Ok(good)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, call, model] = &arguments[..]
        && what == "twice"
    {
        twice(call, model);
        return ExitCode::SUCCESS;
    }
    if Cpu::from_name("avx2").is_err() {
        println!("this processor has no AVX2: no instructions are counted");
        return ExitCode::SUCCESS;
    }
    if let Err(error) = count("inverse", "chain-7") {
        println!("no instructions are counted: {error}");
        return ExitCode::SUCCESS;
    }
    match measure(arguments.iter().any(|a| a == "--update")) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
