//! `catena derive`.

mod common;

use common::{Folder, good, run};
use std::process::Command;

#[test]
fn every_format() {
    let page = good("derive planar3 --symbols all --elimination").stdout;
    for part in [
        "# Equations of motion of planar3",
        "J_{3zz} + m_{3} c_{3x}^{2}",
        "L_{2} &= \\begin{bmatrix}",
        "holds identically",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let html = good("derive planar3 --format html").stdout;
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<mtable>"));
    assert!(!html.contains("http"), "the page loads nothing");
    let record = good("derive planar3 --symbols all --json").json();
    assert_eq!(record["proved"], true);
    assert_eq!(record["I"][2][2], "J3zz + c3x**(2)*m3");
    // larger ones are recursive
    let arm = good("derive stanford --elimination").stdout;
    assert!(arm.contains("verified in numbers") && arm.contains("composite of bodies 4, 5"));
    let record = good("derive space-robot --json").json();
    let steps = record["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step[0] == "Ihat6_6"));
}

#[test]
fn mistakes() {
    for (command, message) in [
        ("derive planar3 --symbols mases", "did you mean `masses`?"),
        ("derive planar3 --style open", "recursive"),
    ] {
        let run = run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stdout);
        assert!(run.stderr.contains(message), "{command}: {}", run.stderr);
    }
}

/// SymPy reads the modules, and their numbers are those of the recursions.
#[test]
fn sympy_reads_the_modules() {
    let found = Command::new("python3")
        .args(["-c", "import sympy"])
        .output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 has no SymPy");
        return;
    }
    let folder = Folder::new("derive-sympy");
    let modules = [
        ("closed", "derive planar3 --symbols all --elimination"),
        ("named", "derive planar3 --symbols all --style recursive"),
        ("arm", "derive stanford"),
    ];
    for (name, command) in modules {
        let text = good(&format!("{command} --format sympy")).stdout;
        std::fs::write(folder.path().join(format!("{name}.py")), text).expect("it can be written");
    }
    let script = r#"
import random
from sympy import simplify
import closed, named, arm
random.seed(3)
numbers = lambda m, n: {getattr(m, f"{a}{k}"): random.uniform(-1, 1) for a in ("q", "v", "vdot", "tau", "bias") for k in range(1, n + 1) if hasattr(m, f"{a}{k}")}
# closed form: tau = I vdot + C v + g, I = U D U^T, L_2 = D U^T
from sympy import Matrix, diag
v, vdot = (Matrix([getattr(closed, f"{a}{k}") for k in (1, 2, 3)]) for a in ("v", "vdot"))
at = {**numbers(closed, 3), **closed.values}
for _ in range(3):
    pivots = {getattr(closed, f"d{k}"): closed.d[k - 1] for k in (1, 2, 3)}
    # entries of d may hold later ones
    at.update({s: e.subs(pivots).subs(pivots).subs(at) for s, e in pivots.items()})
small = lambda m: max(abs(x) for x in m.subs(at).evalf()) < 1e-12
assert small(closed.I * vdot + closed.C * v + closed.g_q - closed.tau)
D = diag(*[getattr(closed, f"d{k}") for k in (1, 2, 3)])
assert small(closed.U * D * closed.U.T - closed.I)
assert small(closed.L_2 - D * closed.U.T)
# the recursion with the same numbers
known = named.evaluate({getattr(named, str(s)): x for s, x in at.items() if str(s)[:1] in "qv"} | {s: 0 for s in (named.bias1, named.bias2, named.bias3)})
for k in (1, 2, 3):
    assert abs(known[getattr(named, f"tau{k}")] - closed.tau[k - 1].subs(at)) < 1e-12
# forward dynamics of the efforts found gives the accelerations that went in, once the bias is there
state = numbers(arm, 6)
rest = {**state, **{getattr(arm, f"vdot{k}"): 0 for k in range(1, 7)}}
bias = arm.evaluate(rest)
state.update({getattr(arm, f"bias{k}"): bias[getattr(arm, f"tau{k}")] for k in range(1, 7)})
known = arm.evaluate(state)
for k in range(1, 7):
    s = getattr(arm, f"vdot{k}")
    assert abs(known[s] - state[s]) < 1e-10, (s, known[s], state[s])
print("ok")
"#;
    std::fs::write(folder.path().join("check.py"), script).expect("it can be written");
    let output = Command::new("python3")
        .args(["-B", "check.py"])
        .current_dir(folder.path())
        .output()
        .expect("python3 was found");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A TeX engine compiles the documents, where there is one.
#[test]
fn latex_compiles() {
    let found = Command::new("pdflatex").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no pdflatex");
        return;
    }
    let folder = Folder::new("derive-latex");
    for command in [
        "derive planar3 --symbols all --elimination",
        "derive stanford --elimination",
        "derive space-robot",
    ] {
        let text = good(&format!("{command} --format latex")).stdout;
        std::fs::write(folder.path().join("page.tex"), text).expect("it can be written");
        let output = Command::new("pdflatex")
            .args(["-interaction=nonstopmode", "-halt-on-error", "page.tex"])
            .current_dir(folder.path())
            .output()
            .expect("pdflatex was found");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}\n{said}");
    }
}
