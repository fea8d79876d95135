//! MATLAB and GNU Octave: one file per function.

use super::emit::{Dialect, body};
use super::{File, Function, Module};
use std::fmt::Write;

struct Matlab;

impl Dialect for Matlab {
    fn entry(&self, array: &str, index: usize) -> String {
        format!("{array}({})", index + 1)
    }
    fn declare(&self, name: &str, value: &str) -> String {
        format!("{name} = {value};")
    }
    fn store(&self, entry: &str, value: &str) -> String {
        format!("{entry} = {value};")
    }
    fn fused(&self, a: &str, b: &str, c: &str) -> String {
        format!("{a} * {b} + {c}")
    }
    fn sqrt(&self, x: &str) -> String {
        format!("sqrt({x})")
    }
    fn select(&self, left: &str, right: &str, yes: &str, no: &str) -> String {
        format!("({left} < {right}) * ({yes}) + ~({left} < {right}) * ({no})")
    }
    fn listed_sine(&self, k: usize) -> (String, String) {
        (format!("sine({})", k + 1), format!("cosine({})", k + 1))
    }
    fn sin_cos(&self, angle: &str, sine: &str, cosine: &str) -> Vec<String> {
        vec![format!("{sine} = sin({angle}); {cosine} = cos({angle});")]
    }
}

pub(super) fn files(module: &Module) -> Vec<File> {
    let mut files: Vec<File> = module
        .functions
        .iter()
        .map(|function| File {
            name: format!("{}_{}.m", module.name, function.question.name()),
            text: definition(module, function),
        })
        .collect();
    files.push(File {
        name: format!("{}_test.m", module.name),
        text: test(module),
    });
    files
}

fn list(names: &[super::Array]) -> String {
    let names: Vec<&str> = names.iter().map(|a| a.name).collect();
    names.join(", ")
}

fn definition(module: &Module, function: &Function) -> String {
    let body = body(function, &Matlab);
    let mut text = format!(
        "function [{}] = {}_{}({})\n",
        list(&function.outputs),
        module.name,
        function.question.name(),
        list(&function.inputs)
    );
    let mut lines = module.describe(function);
    lines.push(String::new());
    for (way, arrays) in [("in ", &function.inputs), ("out", &function.outputs)] {
        for array in arrays {
            lines.push(format!(
                "{way} {} ({} numbers): {}",
                array.name, array.length, array.meaning
            ));
        }
    }
    lines.push("Indices below count from 0, arrays from 1.".into());
    lines.push(String::new());
    lines.extend(module.head());
    for line in lines {
        let line = format!("% {line}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if let Some((rows, columns)) = module.places(function) {
        // in lines that can be copied
        let _ = writeln!(
            text,
            "% Row and column of each entry, for sparse(rows, columns, {}):",
            function.outputs[0].name
        );
        for (what, list) in [("rows", rows), ("columns", columns)] {
            let list: Vec<usize> = list.iter().map(|x| x + 1).collect();
            let _ = writeln!(text, "% {what} = {list:?};");
        }
    }
    for array in &function.outputs {
        let _ = writeln!(text, "{} = zeros({}, 1);", array.name, array.length);
    }
    if !body.angles.is_empty() {
        let _ = writeln!(text, "angle = [{}];", body.angles.join("; "));
        text.push_str("sine = sin(angle); cosine = cos(angle);\n");
    }
    for line in &body.lines {
        let _ = writeln!(text, "{line}");
    }
    text.push_str("end\n");
    text
}

fn test(module: &Module) -> String {
    let name = &module.name;
    let mut text = format!(
        "function {name}_test()\n% Calls every function and compares with numbers computed by catena.\n"
    );
    for function in &module.functions {
        for sample in &function.samples {
            let mut arguments = Vec::new();
            let mut at = 0;
            for array in &function.inputs {
                arguments.push(format!("{:?}", &sample.inputs[at..at + array.length]));
                at += array.length;
            }
            let _ = writeln!(
                text,
                "[{}] = {name}_{}({});",
                list(&function.outputs),
                function.question.name(),
                arguments.join(", ")
            );
            let outputs: Vec<&str> = function.outputs.iter().map(|a| a.name).collect();
            let _ = writeln!(
                text,
                "compare('{}', [{}], {:?}', {:e});",
                function.question.name(),
                outputs.join("; "),
                sample.outputs,
                function.limit()
            );
        }
    }
    text.push_str("disp('ok');\nend\n\nfunction compare(what, got, expected, limit)\n% Differences are relative to the largest number of the result.\nassert(all(abs(got - expected) <= limit * max(1e-3, max(abs(expected)))), what);\nend\n");
    text
}
