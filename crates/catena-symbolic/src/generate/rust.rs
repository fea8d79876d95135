//! Rust, one module of functions over arrays, for `no_std` as well.

use super::emit::{Dialect, body};
use super::{Array, File, Function, Module};
use std::fmt::Write;

struct Rust;

impl Dialect for Rust {
    fn number(&self, x: f64) -> String {
        format!("T::of({x:?})")
    }
    fn declare(&self, name: &str, value: &str) -> String {
        format!("let {name} = {value};")
    }
    fn store(&self, entry: &str, value: &str) -> String {
        format!("{entry} = {value};")
    }
    fn clear(&self, array: &str, first: usize, last: usize) -> Option<String> {
        Some(format!("{array}[{first}..{last}].fill(T::of(0.0));"))
    }
    fn fused(&self, a: &str, b: &str, c: &str) -> String {
        format!("T::fused({a}, {b}, {c})")
    }
    fn sqrt(&self, x: &str) -> String {
        format!("T::square_root({x})")
    }
    fn select(&self, left: &str, right: &str, yes: &str, no: &str) -> String {
        format!("T::select_less({left}, {right}, {yes}, {no})")
    }
    fn listed_sine(&self, k: usize) -> (String, String) {
        (format!("sine[{k}]"), format!("cosine[{k}]"))
    }
    fn sin_cos(&self, angle: &str, sin: &str, cos: &str) -> Vec<String> {
        vec![format!("let ({sin}, {cos}) = T::sine_cosine({angle});")]
    }
}

pub(super) fn files(module: &Module) -> Vec<File> {
    let name = &module.name;
    let mut text = String::new();
    for line in module.head() {
        let line = format!("//! {line}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str(
        "//!\n//! Nothing but `core` is used: the file is a module for `no_std` programs as well.\n\n",
    );
    text.push_str("#![allow(dead_code, clippy::all, clippy::excessive_precision)]\n\n");
    text.push_str(PRELUDE);
    for function in &module.functions {
        text.push('\n');
        text.push_str(&definition(module, function));
    }
    vec![
        File {
            name: format!("{name}.rs"),
            text,
        },
        File {
            name: format!("{name}_test.rs"),
            text: test(module),
        },
    ]
}

fn definition(module: &Module, function: &Function) -> String {
    let body = body(function, &Rust);
    let mut text = String::new();
    if let Some((rows, columns)) = module.places(function) {
        let name = function.question.name();
        for (what, list) in [("rows", rows), ("columns", columns)] {
            let _ = writeln!(
                text,
                "/// The {what} of the entries that [`{name}`] writes.\npub const {}_{}: [u16; {}] = {list:?};\n",
                name.to_uppercase(),
                what.to_uppercase(),
                list.len()
            );
        }
    }
    for line in module.describe(function) {
        let line = format!("/// {line}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str("///\n");
    let arrays = function.inputs.iter().chain(&function.outputs);
    for array in arrays {
        let _ = writeln!(text, "/// * `{}`: {}", array.name, array.meaning);
    }
    let mut parameters = Vec::new();
    for Array { name, length, .. } in &function.inputs {
        parameters.push(format!("{name}: &[T; {length}]"));
    }
    for Array { name, length, .. } in &function.outputs {
        parameters.push(format!("{name}: &mut [T; {length}]"));
    }
    let unused: Vec<&str> = function.inputs.iter().map(|a| a.name).collect();
    let _ = writeln!(
        text,
        "pub fn {}<T: Number>({}) {{",
        function.question.name(),
        parameters.join(", ")
    );
    let _ = writeln!(text, "    let _ = ({},);", unused.join(", "));
    if !body.angles.is_empty() {
        let _ = writeln!(
            text,
            "    let (sine, cosine) = T::sines_cosines([{}]);",
            body.angles.join(", ")
        );
    }
    for line in &body.lines {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("}\n");
    text
}

fn numbers(list: &[f64]) -> String {
    let texts: Vec<String> = list.iter().map(|x| format!("{x:?}")).collect();
    texts.join(", ")
}

fn test(module: &Module) -> String {
    let name = &module.name;
    let mut text = format!(
        "//! Calls every function of `{name}.rs` and compares with numbers computed by catena.\n//!\n//!     rustc -O --edition 2021 --test {name}_test.rs && ./{name}_test\n\n#![allow(clippy::all, clippy::excessive_precision)]\n\n#[path = \"{name}.rs\"]\nmod {name};\n\n"
    );
    let _ = writeln!(text, "#[allow(unused_imports)]\nuse {name}::Lanes;\n");
    text.push_str(TEST_PRELUDE);
    for function in &module.functions {
        text.push_str(&test_of(name, function));
    }
    text
}

/// Functions with more operations are not tested in lanes: compilers take minutes for them.
const TESTED_IN_LANES: u64 = 1000;

/// The samples of a function, a test that calls it with one after another, and one that calls it once with all of them.
fn test_of(name: &str, function: &Function) -> String {
    let question = function.question.name();
    let upper = question.to_uppercase();
    let length = |arrays: &[Array]| arrays.iter().map(|a| a.length).sum::<usize>();
    let count = function.samples.len();
    let mut text = String::new();
    for (what, width) in [
        ("IN", length(&function.inputs)),
        ("OUT", length(&function.outputs)),
    ] {
        let _ = writeln!(
            text,
            "\nconst {upper}_{what}: [[f64; {width}]; {count}] = ["
        );
        for sample in &function.samples {
            let list = if what == "IN" {
                &sample.inputs
            } else {
                &sample.outputs
            };
            let _ = writeln!(text, "    [{}],", numbers(list));
        }
        text.push_str("];\n");
    }
    let ways = [
        (question.to_string(), "0.0", count, "one(&IN[k], AT)", "*x"),
        (
            format!("{question}_in_lanes"),
            "Lanes([0.0; COUNT])",
            1,
            "side_by_side(&IN, AT)",
            "x.0[lane]",
        ),
    ];
    let wide = function.operations().total() <= TESTED_IN_LANES;
    for (title, zero, calls, argument, entry) in ways.into_iter().take(1 + usize::from(wide)) {
        let fill = |text: &str| {
            let text = text.replace("COUNT", &count.to_string());
            text.replace("IN", &format!("{upper}_IN"))
        };
        let lanes = count / calls;
        let _ = writeln!(
            text,
            "\n#[test]\nfn {title}() {{\n    for k in 0..{calls} {{"
        );
        let mut arguments = Vec::new();
        let mut at = 0;
        for array in &function.inputs {
            arguments.push(format!(
                "&{}",
                fill(argument).replace("AT", &at.to_string())
            ));
            at += array.length;
        }
        for Array { name, length, .. } in &function.outputs {
            let _ = writeln!(text, "        let mut {name} = [{}; {length}];", fill(zero));
            arguments.push(format!("&mut {name}"));
        }
        let _ = writeln!(
            text,
            "        {name}::{question}({});",
            arguments.join(", ")
        );
        let outputs: Vec<String> = function
            .outputs
            .iter()
            .map(|a| format!("&{}[..]", a.name))
            .collect();
        let _ = write!(
            text,
            "        for lane in 0..{lanes} {{\n            let got: Vec<f64> = [{}].concat().iter().map(|x| {entry}).collect();\n            compare(&got, &{upper}_OUT[k + lane], {:e});\n        }}\n    }}\n}}\n",
            outputs.join(", "),
            function.limit()
        );
    }
    text
}

const PRELUDE: &str = include_str!("prelude.rs.txt");

const TEST_PRELUDE: &str = r#"/// Numbers `at` and following of a sample.
fn one<const N: usize>(sample: &[f64], at: usize) -> [f64; N] {
    sample[at..at + N].try_into().unwrap()
}

/// Those of all samples, a sample to a lane.
#[allow(dead_code)]
fn side_by_side<const N: usize, const W: usize, const L: usize>(samples: &[[f64; W]; L], at: usize) -> [Lanes<L>; N] {
    let mut numbers = [Lanes([0.0; L]); N];
    for k in 0..N {
        for lane in 0..L {
            numbers[k].0[lane] = samples[lane][at + k];
        }
    }
    numbers
}

/// Differences are relative to the largest number of the result.
fn compare(got: &[f64], expected: &[f64], limit: f64) {
    let largest = expected.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
    for (k, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= limit * largest, "entry {k} is {a}, expected {b}");
    }
}
"#;
