//! Speed of generated C compared with the library. Both run on the same random states in one process each, best of many runs.
//!
//!     cargo run --release -p catena-symbolic --example speed -- chain-7 stanford
//!
//! The code is compiled by `cc -O3 -march=native`; the last columns are the same code for eight states at once.

use catena::model::embedded;
use catena::{Dynamics, Model, State};
use catena_symbolic::generate::{CodeOptions, Language, Module, Question};
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const STATES: usize = 64;
const QUESTIONS: [Question; 3] = [Question::Inverse, Question::Forward, Question::Inertia];

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        names = ["chain-7", "stanford", "space-robot"]
            .map(String::from)
            .to_vec();
    }
    println!("ns per state               inverse                forward                inertia");
    println!(
        "model          library  generated  x8 | library  generated  x8 | library  generated  x8"
    );
    for name in names {
        let model = match embedded::model(&name) {
            Ok(model) => model,
            Err(error) => {
                eprintln!("error: {error}");
                std::process::exit(2);
            }
        };
        let library = library_times(&model);
        let folder = std::env::temp_dir().join(format!("catena-speed-{}", std::process::id()));
        let generated = generated_times(&model, &folder);
        let _ = std::fs::remove_dir_all(&folder);
        let [one, eight] = generated.unwrap_or_else(|error| {
            eprintln!("error: {error}");
            std::process::exit(2);
        });
        let mut line = format!("{name:14}");
        for k in 0..3 {
            let (a, b, c) = (library[k], one[k], eight[k]);
            let _ = write!(line, "{a:8.0}{b:11.0}{c:6.1} |");
        }
        println!("{}", line.trim_end_matches('|'));
    }
}

/// Best time of a call in ns.
fn best(mut call: impl FnMut(usize)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        for k in 0..STATES {
            call(k);
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / STATES as f64);
    }
    best
}

fn library_times(model: &Model) -> [f64; 3] {
    let states: Vec<State> = (0..STATES)
        .map(|k| {
            let mut state = State::random(model, k as u64);
            state.base = catena::Base::fixed();
            state
        })
        .collect();
    let x = vec![0.3; model.nv()];
    let mut dynamics = Dynamics::new(model);
    [
        best(|k| {
            let _ = black_box(dynamics.inverse(&states[k], &x, &[]));
        }),
        best(|k| {
            let _ = black_box(dynamics.forward(&states[k], &x, &[]));
        }),
        best(|k| {
            let _ = black_box(dynamics.inertia(&states[k]));
        }),
    ]
}

fn generated_times(model: &Model, folder: &Path) -> Result<[[f64; 3]; 2], String> {
    let text = |error: std::io::Error| error.to_string();
    let module =
        Module::new(model, &QUESTIONS, &CodeOptions::default()).map_err(|e| e.to_string())?;
    std::fs::create_dir_all(folder).map_err(text)?;
    for file in module.source(Language::C).map_err(|e| e.to_string())? {
        std::fs::write(folder.join(file.name), file.text).map_err(text)?;
    }
    let (name, nq, nv) = (&module.name, model.nq(), model.nv());
    let harness = HARNESS
        .replace("MODEL", name)
        .replace("NQ", &nq.to_string())
        .replace("NV", &nv.to_string());
    std::fs::write(folder.join("harness.c"), harness).map_err(text)?;
    let mut times = [[0.0; 3]; 2];
    for (row, lanes) in ["-DONE", "-DCATENA_LANES=8"].into_iter().enumerate() {
        let flags = [
            "-O3",
            "-march=native",
            "-Wno-psabi",
            lanes,
            "-o",
            "run",
            "harness.c",
        ];
        let source = format!("{name}.c");
        let compiled = Command::new("cc")
            .args(flags)
            .arg(&source)
            .current_dir(folder)
            .output()
            .map_err(|error| format!("`cc` cannot be run: {error}"))?;
        if !compiled.status.success() {
            return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
        }
        let output = Command::new(folder.join("run")).output().map_err(text)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        for (k, word) in printed.split_whitespace().take(3).enumerate() {
            times[row][k] = word
                .parse()
                .map_err(|_| format!("`{word}` is not a time"))?;
        }
    }
    Ok(times)
}

const HARNESS: &str = r#"#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "MODEL.h"
#ifdef CATENA_LANES
#define LANES CATENA_LANES
#else
#define LANES 1
#endif
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
static catena_real q[64][NQ], v[64][NV], x[64][NV], out[64][NV], matrix[64][NV * NV];
static void fill(double *p, int count, int period) {
    for (int k = 0; k < count; k++) p[k] = 0.3 * (k % period) - 2.1;
}
int main(void) {
    fill((double *)q, 64 * NQ * LANES, 17);
    fill((double *)v, 64 * NV * LANES, 13);
    fill((double *)x, 64 * NV * LANES, 19);
    double best[3] = {1e9, 1e9, 1e9};
    for (int run = 0; run < 1000; run++) {
        double t[4];
        t[0] = now();
        for (int k = 0; k < 64; k++) CATENA_NAME(MODEL_inverse)(q[k], v[k], x[k], out[k]);
        t[1] = now();
        for (int k = 0; k < 64; k++) CATENA_NAME(MODEL_forward)(q[k], v[k], x[k], out[k]);
        t[2] = now();
        for (int k = 0; k < 64; k++) CATENA_NAME(MODEL_inertia)(q[k], matrix[k]);
        t[3] = now();
        for (int k = 0; k < 3; k++) if (t[k + 1] - t[k] < best[k]) best[k] = t[k + 1] - t[k];
    }
    for (int k = 0; k < 3; k++) printf("%.2f ", best[k] / 64 / LANES);
    return 0;
}
"#;
