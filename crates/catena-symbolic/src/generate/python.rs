//! Python with the standard library only: to read, to check, and as a starting point for other tools.

use super::emit::{Dialect, body};
use super::{File, Function, Module};
use std::fmt::Write;

struct Python;

impl Dialect for Python {
    fn declare(&self, name: &str, value: &str) -> String {
        format!("{name} = {value}")
    }
    fn store(&self, entry: &str, value: &str) -> String {
        format!("{entry} = {value}")
    }
    fn fused(&self, a: &str, b: &str, c: &str) -> String {
        format!("{a} * {b} + {c}")
    }
    fn sqrt(&self, x: &str) -> String {
        format!("sqrt({x})")
    }
    fn select(&self, left: &str, right: &str, yes: &str, no: &str) -> String {
        format!("({yes} if {left} < {right} else {no})")
    }
    fn listed_sine(&self, k: usize) -> (String, String) {
        (format!("sine[{k}]"), format!("cosine[{k}]"))
    }
    fn sin_cos(&self, angle: &str, sine: &str, cosine: &str) -> Vec<String> {
        vec![format!("{sine}, {cosine} = sin({angle}), cos({angle})")]
    }
}

pub(super) fn files(module: &Module) -> Vec<File> {
    let name = &module.name;
    let mut text = format!("\"\"\"{}\n\"\"\"\n\n", docstring(&module.head().join("\n")));
    text.push_str("from math import cos, sin, sqrt  # noqa: F401\n");
    for function in &module.functions {
        text.push_str(&definition(module, function));
    }
    vec![
        File {
            name: format!("{name}.py"),
            text,
        },
        File {
            name: format!("test_{name}.py"),
            text: test(module),
        },
    ]
}

/// Text between three quotation marks.
fn docstring(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn definition(module: &Module, function: &Function) -> String {
    let body = body(function, &Python);
    let inputs: Vec<&str> = function.inputs.iter().map(|a| a.name).collect();
    let outputs: Vec<&str> = function.outputs.iter().map(|a| a.name).collect();
    let mut text = String::new();
    if let Some((rows, columns)) = module.places(function) {
        let name = function.question.name().to_uppercase();
        let _ = write!(
            text,
            "\n\n# row and column of each entry\n{name}_ROWS = {rows:?}\n{name}_COLUMNS = {columns:?}\n"
        );
    }
    let _ = write!(
        text,
        "\n\ndef {}({}):\n    \"\"\"{}\n\n",
        function.question.name(),
        inputs.join(", "),
        module.describe(function).join("\n    ")
    );
    for (way, arrays) in [("", &function.inputs), ("returns ", &function.outputs)] {
        for array in arrays {
            let _ = writeln!(
                text,
                "    {way}{}: {} numbers, {}",
                array.name,
                array.length,
                docstring(&array.meaning)
            );
        }
    }
    text.push_str("    \"\"\"\n");
    for array in &function.outputs {
        let _ = writeln!(text, "    {} = [0.0] * {}", array.name, array.length);
    }
    if !body.angles.is_empty() {
        let _ = writeln!(text, "    angle = [{}]", body.angles.join(", "));
        text.push_str("    sine, cosine = [sin(x) for x in angle], [cos(x) for x in angle]\n");
    }
    for line in &body.lines {
        let _ = writeln!(text, "    {line}");
    }
    let _ = writeln!(text, "    return {}", outputs.join(", "));
    text
}

fn test(module: &Module) -> String {
    let name = &module.name;
    let mut text = format!(
        "\"\"\"Calls every function of {name}.py and compares with numbers computed by catena: python3 test_{name}.py\"\"\"\n\nimport {name}\n\n\n"
    );
    text.push_str(TEST_PRELUDE);
    for function in &module.functions {
        let question = function.question.name();
        let _ = writeln!(text, "\n\ndef test_{question}():");
        for sample in &function.samples {
            let mut arguments = Vec::new();
            let mut at = 0;
            for array in &function.inputs {
                arguments.push(format!("{:?}", &sample.inputs[at..at + array.length]));
                at += array.length;
            }
            let call = format!("{name}.{question}({})", arguments.join(", "));
            let got = match function.outputs.len() {
                1 => call,
                _ => format!("sum({call}, [])"),
            };
            let limit = function.limit();
            let _ = writeln!(text, "    compare({got}, {:?}, {limit:e})", sample.outputs);
        }
    }
    text.push_str("\n\nif __name__ == \"__main__\":\n");
    for function in &module.functions {
        let _ = writeln!(text, "    test_{}()", function.question.name());
    }
    text.push_str("    print(\"ok\")\n");
    text
}

const TEST_PRELUDE: &str = r#"def compare(got, expected, limit):
    """Differences are relative to the largest number of the result."""
    largest = max(1e-3, max(abs(x) for x in expected))
    assert len(got) == len(expected)
    for k, (a, b) in enumerate(zip(got, expected)):
        assert abs(a - b) <= limit * largest, f"entry {k} is {a}, expected {b}"
"#;
