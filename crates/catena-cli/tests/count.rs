//! `catena count`.

mod common;

use common::Folder;
use serde_json::Value;

/// The page in the documentation is what the command writes, and its numbers are those of the JSON.
#[test]
fn the_tables_are_those_of_the_documentation() {
    let folder = Folder::new("count");
    let run = folder.run("count --json -o .");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers/");
    for name in ["saha-tables-1-2.md", "saha-tables-1-2.svg"] {
        let known = std::fs::read_to_string(format!("{papers}{name}")).expect("the page");
        assert!(
            folder.read(name) == known,
            "{name} has changed: `catena count -o docs/papers` writes it anew"
        );
    }
    let record: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(record["format"], "catena-count/1");
    // Walker and Orin at n = 6: the formula, not the misprint
    assert_eq!(record["table_2"][2]["additions"][5], 475);
    let ours = record["catena"].as_array().expect("a list");
    let counts = |algorithm: &str, way: &str, n: usize| {
        let line = ours
            .iter()
            .find(|line| line["algorithm"] == algorithm && line["way"] == way)
            .expect("the line");
        ["multiplications", "additions"].map(|key| line[key][n - 1].as_i64().expect("a number"))
    };
    let inverse = "inverse dynamics, Newton–Euler";
    let forward = "forward dynamics, articulated bodies";
    for n in 1..=30 {
        let [m, _] = counts(inverse, "any frames", n);
        assert!(m <= 120 * n as i64 - 44);
        assert!(n < 2 || m > counts(inverse, "any frames", n - 1)[0]);
        // no more than the paper's own counts, multiplications and additions each
        for way in ["DH frames", "DH, regrouped", "program"] {
            let [m, a] = counts(inverse, way, n);
            assert!(
                m <= 120 * n as i64 - 44 && a <= 97 * n as i64 - 55,
                "{way}, n = {n}"
            );
        }
        for way in ["program", "program, right angles"] {
            let [m, a] = counts(forward, way, n);
            let less = m <= 201 * n as i64 - 335 && a <= 193 * n as i64 - 361;
            assert!(n < 3 || less, "{way}, n = {n}");
        }
    }
}

#[test]
fn exact_numbers() {
    let folder = Folder::new("count-json");
    // the same programs as those of `generate`
    let one: Value =
        serde_json::from_str(&folder.run("count stanford --json").stdout).expect("JSON");
    let generated: Value =
        serde_json::from_str(&folder.run("generate stanford --json").stdout).expect("JSON");
    let program = &one["algorithms"][0]["program"];
    assert_eq!(program[0], generated["functions"][0]["multiplications"]);
    assert_eq!(program[1], generated["functions"][0]["additions"]);
    // a closed chain has accelerations to count
    let closed = folder.run("count bricard --json");
    assert_eq!(closed.code, 0, "{}", closed.stderr);
}

/// Force elements are counted as the library runs them, and in the program that `generate` writes.
#[test]
fn force_elements_are_counted() {
    use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
    use catena::scalar::Count;
    use catena::{Base, Scalar, State, StateView};
    use catena_symbolic::generate::{CodeOptions, Module, Question};
    let folder = Folder::new("count-forces");
    for name in ["squeezer", "governor"] {
        let whole = folder.run(&format!("count {name} --json")).json();
        let model = catena::model::embedded::model(name).expect("embedded");
        assert_eq!(
            whole["forces"]["elements"].as_array().map(Vec::len),
            Some(2)
        );
        let row = |of: &Value, k: usize, way: &str| {
            let pair = &of["algorithms"][k][way];
            [0, 1].map(|at: usize| pair[at].as_u64().expect("a count"))
        };
        // the recursion: run here once more, in numbers that count
        let tree = model.clone().open_tree();
        let state = State::random(&tree, 5);
        let count =
            |list: &[f64]| -> Vec<Count> { list.iter().map(|x| Count::variable(*x)).collect() };
        let (q, v, vdot) = (count(&state.q), count(&state.v), count(&state.v));
        let (base, mut tau) = (Base::fixed(), vec![Count::zero(); tree.nv()]);
        let at = StateView {
            q: &q,
            v: &v,
            base: &base,
        };
        let mut work = InverseDynamics::new(&tree);
        let ((), operations) =
            Count::measure(|| inverse_dynamics(&tree, at, &vdot, &[], &mut work, &mut tau));
        let products = operations.multiplications + operations.divisions;
        assert_eq!(
            row(&whole, 0, "recursion"),
            [products, operations.additions],
            "{name}"
        );
        // the program: that of the code
        let module = Module::new(&tree, &[Question::Inverse], &CodeOptions::default());
        let operations = module.expect("code").functions[0].operations();
        let products = operations.multiplications + operations.divisions;
        assert_eq!(
            row(&whole, 0, "program"),
            [products, operations.additions],
            "{name}"
        );
        // in reduced frames what they take is that of the model without them, and their efforts
        let bare = folder
            .run(&format!("count {name} --json --no-forces"))
            .json();
        let added = &whole["forces"]["as_efforts"];
        for at in 0..2 {
            let sum = row(&bare, 0, "reduced")[at] + added[at].as_u64().expect("a count");
            assert_eq!(row(&whole, 0, "reduced")[at], sum, "{name}");
        }
    }
}
