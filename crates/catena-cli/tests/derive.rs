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

/// Formulas are verified in more digits than double precision has: where inertias cancel, round-off is no reason to doubt them.
#[test]
fn formulas_with_cancelling_inertias_are_verified() {
    for model in [
        "pendulum-2",
        "pendulum-3",
        "pendulum-4",
        "pendulum-5",
        "space-robot --root link6",
    ] {
        good(&format!("derive {model}"));
    }
    // the steps of recursions too: in doubles they differed by 1.1e-13
    for notation in ["catena", "paper"] {
        let command = format!(
            "derive space-robot --root link6 --style recursive --notation {notation} --json"
        );
        let record = good(&command).json();
        let difference = record["difference"].as_f64().expect("a number");
        assert!(difference < 1e-14, "{notation}: {difference:e}");
    }
}

/// Formulas and counts have the force elements; they can be left out, and the output says so.
#[test]
fn force_elements_are_left_out_on_request() {
    for command in ["derive squeezer", "count squeezer", "count governor"] {
        let whole = run(command);
        assert_eq!(whole.code, 0, "{command}: {}", whole.stderr);
        assert!(whole.stdout.contains("spring"), "{}", whole.stdout);
        let taken = run(&format!("{command} --no-forces"));
        assert_eq!(taken.code, 0, "{}", taken.stderr);
        assert!(
            taken.stderr.contains("left out (--no-forces)"),
            "{}",
            taken.stderr
        );
        assert!(!taken.stdout.contains("orce element"), "{}", taken.stdout);
    }
}

/// A length that is zero in the model may be a symbol: the first joint of an arm stands at the origin.
#[test]
fn a_zero_length_may_be_a_symbol() {
    let record = good("derive planar3 --symbols link2.mass,joint1.length --json").json();
    for (name, value) in [("m2", 0.4), ("a1x", 0.0), ("a1y", 0.0), ("a1z", 0.0)] {
        assert_eq!(record["values"][name], value, "{}", record["values"]);
    }
    assert_eq!(record["proved"], true);
    let recursive = "derive planar3 --symbols joint1.length --style recursive --json";
    let difference = good(recursive).json()["difference"].as_f64();
    assert!(difference.expect("a number") < 1e-13);
}

/// Rows of parallelograms lose rank where they are folded flat; everywhere else they have the same independent rows.
#[test]
fn mechanisms_with_dead_points() {
    for model in ["four-bar-2", "four-bar-3"] {
        let page = good(&format!("derive {model}")).stdout;
        assert!(page.contains("dead points"), "{page}");
        let counted = run(&format!("count {model}"));
        assert_eq!(counted.code, 0, "{}", counted.stderr);
        assert!(counted.stderr.contains("dead points"), "{}", counted.stderr);
    }
}

/// The papers' own steps, in every format, for chains, trees, free bases and loops; every page is checked against the library.
#[test]
fn the_papers_notation() {
    let page = good("derive planar3 --notation paper --symbols all").stdout;
    for part in [
        "\\xi_{i} = B_{ij} \\xi_{j} + \\dot{B}_{ij} \\nu_{j}",
        "| 1999: 32 |",
        "\\tau_{3} &= c_{3x} \\gamma_{3fy} + \\gamma_{3nz}",
        "d_{2x} &= c_{2x}",
        "give the library's",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let latex = good("derive planar3 --notation paper --format latex").stdout;
    assert!(latex.contains("\\ddot{\\theta}_{1}"), "{latex}");
    let html = good("derive stanford --notation paper --format html").stdout;
    assert!(html.contains("<mi>ξ</mi>") && html.contains("<mi>Ω</mi>"));
    assert!(
        good("derive stanford --notation paper --format sympy")
            .stdout
            .contains("gamma6nz")
    );
    for model in [
        "stanford",
        "zoo",
        "space-robot",
        "random-7-3",
        "four-bar-1",
        "chain-12",
    ] {
        let record = good(&format!(
            "derive {model} --style recursive --notation paper --json"
        ))
        .json();
        assert_eq!(record["notation"], "paper");
        let difference = record["difference"].as_f64().expect("a number");
        assert!(difference < 1e-13, "{model}: {difference}");
        let steps = record["steps"].as_array().expect("steps");
        let has = |name: &str| steps.iter().any(|step| step[0] == name);
        assert!(has("tautilde1") && has("phi1"), "{model}");
        let free = ["space-robot", "zoo", "random-7-3"].contains(&model);
        assert_eq!(has("Ihat6_6"), free, "{model}");
    }
    assert_eq!(good("derive stanford --json").json()["notation"], "catena");
}

/// Springs and dampers of a file are part of the equations, as numbers and as symbols.
#[test]
fn springs_and_dampers_are_symbols() {
    let folder = Folder::new("derive-springs");
    let file = r#"
        format = "catena/1"
        name = "door"
        [[link]]
        name = "leaf"
        mass = 2
        centre = [0.4, 0, 0]
        inertia = [0.1, 0.1, 0.2]
        [[joint]]
        name = "hinge"
        type = "revolute"
        parent = "world"
        child = "leaf"
        damping = 0.3
        friction = 0.1
        stiffness = 1.5
        rest = 0.2
    "#;
    std::fs::write(folder.path().join("door.toml"), file).expect("it can be written");
    let page = |options: &str| {
        let run = folder.run(&format!("derive door.toml {options}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    };
    let numbers = page("");
    assert!(
        numbers.contains("s_{1} &= - 0.3 + \\frac{3}{2} q_{1} + 0.3 \\dot{q}_{1}"),
        "{numbers}"
    );
    for style in ["closed", "recursive", "recursive --notation paper"] {
        let symbols = page(&format!(
            "--style {style} --symbols hinge.damping,hinge.stiffness"
        ));
        assert!(
            symbols.contains("b_{1} \\dot{") && symbols.contains("k_{1}"),
            "{symbols}"
        );
    }
    let wrong = folder.run("derive door.toml --symbols hinge.dampin");
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("did you mean `hinge.damping`?"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn mistakes() {
    for (command, message) in [
        ("derive planar3 --symbols mases", "did you mean `masses`?"),
        (
            "derive planar3 --symbols joint1.damping",
            "`joint1.damping` is zero, and has no symbol",
        ),
        (
            "derive planar3 --symbols link2.masss",
            "did you mean `link2.mass`?",
        ),
        ("derive planar3 --style open", "recursive"),
        (
            "derive planar3 --notation mine",
            "[possible values: catena, paper]",
        ),
        (
            "derive planar3 --style closed --notation paper",
            "--notation paper is for the recursions",
        ),
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
        ("papers", "derive stanford --notation paper"),
    ];
    for (name, command) in modules {
        let text = good(&format!("{command} --format sympy")).stdout;
        std::fs::write(folder.path().join(format!("{name}.py")), text).expect("it can be written");
    }
    let script = r#"
import random
from sympy import simplify
import closed, named, arm, papers
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
# the papers' steps give the same numbers
given = {getattr(papers, str(s)): x for s, x in state.items() if hasattr(papers, str(s))}
theirs = papers.evaluate(given)
for k in range(1, 7):
    for name in (f"vdot{k}", f"tau{k}", f"d{k}", f"tauhat{k}"):
        a, b = known[getattr(arm, name)], theirs[getattr(papers, name)]
        assert abs(a - b) < 1e-10 * max(1, abs(a)), (name, a, b)
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
