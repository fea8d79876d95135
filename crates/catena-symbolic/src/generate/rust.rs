//! Rust, one module of functions over arrays, for `no_std` as well.

use super::emit::{Dialect, body};
use super::{Array, File, Function, Module};
use crate::graph::Node;
use std::fmt::Write;

struct Rust;

impl Dialect for Rust {
    fn declare(&self, name: &str, value: &str) -> String {
        format!("let {name} = {value};")
    }
    fn store(&self, entry: &str, value: &str) -> String {
        format!("{entry} = {value};")
    }
    fn clear(&self, array: &str, first: usize, last: usize) -> Option<String> {
        Some(format!("{array}[{first}..{last}].fill(0.0);"))
    }
    fn fused(&self, a: &str, b: &str, c: &str) -> String {
        format!("fused({a}, {b}, {c})")
    }
    fn sqrt(&self, x: &str) -> String {
        format!("square_root({x})")
    }
    fn select(&self, left: &str, right: &str, yes: &str, no: &str) -> String {
        format!("if {left} < {right} {{ {yes} }} else {{ {no} }}")
    }
    fn listed_sine(&self, k: usize) -> (String, String) {
        (format!("sine[{k}]"), format!("cosine[{k}]"))
    }
    fn sin_cos(&self, angle: &str, sin: &str, cos: &str) -> Vec<String> {
        vec![format!("let ({sin}, {cos}) = sine_cosine({angle});")]
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
    text.push_str("#![allow(clippy::all, clippy::excessive_precision)]\n\n");
    text.push_str(PRELUDE);
    let mut operations = module.functions.iter().flat_map(|f| &f.program.operations);
    if operations.any(|node| matches!(node, Node::Sqrt(_))) {
        text.push_str(SQUARE_ROOT);
    }
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
                "/// The {what} of the entries that [`{name}`] writes.\n#[allow(dead_code)]\npub const {}_{}: [u16; {}] = {list:?};\n",
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
        parameters.push(format!("{name}: &[f64; {length}]"));
    }
    for Array { name, length, .. } in &function.outputs {
        parameters.push(format!("{name}: &mut [f64; {length}]"));
    }
    let unused: Vec<&str> = function.inputs.iter().map(|a| a.name).collect();
    let _ = writeln!(
        text,
        "pub fn {}({}) {{",
        function.question.name(),
        parameters.join(", ")
    );
    let _ = writeln!(text, "    let _ = ({},);", unused.join(", "));
    if !body.angles.is_empty() {
        let _ = writeln!(
            text,
            "    let (sine, cosine) = sines_cosines([{}]);",
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
    text.push_str(TEST_PRELUDE);
    for function in &module.functions {
        let question = function.question.name();
        let _ = writeln!(text, "\n#[test]\nfn {question}() {{");
        for sample in &function.samples {
            let mut arguments = Vec::new();
            let mut at = 0;
            for array in &function.inputs {
                arguments.push(format!(
                    "&[{}]",
                    numbers(&sample.inputs[at..at + array.length])
                ));
                at += array.length;
            }
            text.push_str("    {\n");
            for array in &function.outputs {
                let _ = writeln!(
                    text,
                    "        let mut {} = [0.0; {}];",
                    array.name, array.length
                );
                arguments.push(format!("&mut {}", array.name));
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
            let _ = writeln!(
                text,
                "        compare(&[{}].concat(), &[{}]);\n    }}",
                outputs.join(", "),
                numbers(&sample.outputs)
            );
        }
        text.push_str("}\n");
    }
    text
}

const PRELUDE: &str = r#"/// a b + c: fused where the processor the code is compiled for does it at once, two operations elsewhere.
#[inline(always)]
#[allow(dead_code)]
fn fused(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(all(target_arch = "x86_64", target_feature = "fma"))]
    {
        use core::arch::x86_64::{_mm_cvtsd_f64, _mm_fmadd_sd, _mm_set_sd};
        // SAFETY: the code is compiled for processors with this instruction only.
        #[allow(unused_unsafe)]
        unsafe {
            _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c)))
        }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "fma")))]
    {
        a * b + c
    }
}

/// Sine and cosine within 1.5 units in the last place for angles up to 1e5, without branches: the nearest multiple of π/2 is
/// taken off in three parts, polynomials give both, the multiple modulo four says which is which.
#[inline(always)]
#[allow(dead_code)]
fn sine_cosine(x: f64) -> (f64, f64) {
    const ROUNDER: f64 = 6755399441055744.0;
    let quarters = x * 0.6366197723675814 + ROUNDER;
    let multiple = quarters - ROUNDER;
    let r = x - multiple * 1.5707963267923333;
    let r = r - multiple * 2.5633441515839558e-12;
    let r = r - multiple * 1.0562999066987428e-23;
    let z = r * r;
    let w = z * z;
    let p = (-0.1666666666666663 + z * 0.008333333333322118)
        + w * ((-0.00019841269829589002 + z * 2.7557313621224917e-06)
            + w * (-2.505074774057411e-08 + z * 1.5896228990898995e-10));
    let c = (0.041666666666666595 + z * -0.0013888888888873056)
        + w * ((2.480158728885166e-05 + z * -2.7557314179277947e-07)
            + w * (2.087570083882413e-09 + z * -1.1358536335640421e-11));
    let n = quarters.to_bits();
    let s = (r + r * z * p).to_bits();
    let t = (1.0 + z * (-0.5 + z * c)).to_bits();
    let swap = (s ^ t) & (n & 1).wrapping_neg();
    (
        f64::from_bits(s ^ swap ^ ((n & 2) << 62)),
        f64::from_bits(t ^ swap ^ ((n.wrapping_add(1) & 2) << 62)),
    )
}

/// Sines and cosines of all angles, in blocks of four that compilers turn into vector instructions.
#[inline(always)]
#[allow(dead_code)]
fn sines_cosines<const N: usize>(angle: [f64; N]) -> ([f64; N], [f64; N]) {
    let (mut sine, mut cosine) = ([0.0; N], [0.0; N]);
    let mut first = 0;
    while first < N {
        let count = if N - first < 4 { N - first } else { 4 };
        let (mut x, mut s, mut c) = ([0.0; 4], [0.0; 4], [0.0; 4]);
        x[..count].copy_from_slice(&angle[first..first + count]);
        for k in 0..4 {
            (s[k], c[k]) = sine_cosine(x[k]);
        }
        sine[first..first + count].copy_from_slice(&s[..count]);
        cosine[first..first + count].copy_from_slice(&c[..count]);
        first += 4;
    }
    (sine, cosine)
}
"#;

const SQUARE_ROOT: &str = r#"
/// √x by Newton's iteration from a guess in the bits: `core` has no square root.
#[inline(always)]
#[allow(dead_code)]
fn square_root(x: f64) -> f64 {
    if x == 0.0 || !(x > 0.0) || x == f64::INFINITY {
        return if x >= 0.0 { x } else { f64::NAN };
    }
    let mut y = f64::from_bits((x.to_bits() >> 1) + 0x1ff8_0000_0000_0000);
    for _ in 0..5 {
        y = 0.5 * (y + x / y);
    }
    y
}
"#;

const TEST_PRELUDE: &str = r#"/// Differences are relative to the largest number of the result.
fn compare(got: &[f64], expected: &[f64]) {
    let largest = expected.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
    for (k, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-12 * largest, "entry {k} is {a}, catena says {b}");
    }
}
"#;
