//! Generated programs and compiled code of models with couplings, against the library.

use catena::model::{ConstraintSpec, RuleSpec, embedded};
use catena::native::Kernel;
use catena::residual::{largest, relative};
use catena::{Base, Batch, Cpu, Dynamics, Model, State};
use catena_symbolic::Formula;
use catena_symbolic::derive::{Derivation, Keep, Notation, Style};
use catena_symbolic::generate::{self, Module, Question};
use catena_symbolic::native::{NativeOptions, compile};
use catena_testing::{entry, skipped_on_baseline};

/// Round-off of two orders of summation.
const SAME: f64 = 1e-11;

/// An arm whose fourth joint follows the second, and the sixth the third: ancestors and descendants, one cluster in another's way.
fn coupled_arm() -> Model {
    let mut builder = embedded::builder("chain-7").expect("embedded");
    let names: Vec<String> = builder.joints.iter().map(|j| j.name.clone()).collect();
    for (follower, source, ratio) in [(3, 1, -0.5), (5, 2, 2.0)] {
        let terms = vec![
            (names[follower].clone(), 1.0),
            (names[source].clone(), -ratio),
        ];
        builder.constraint(ConstraintSpec::new(
            &format!("gear{follower}"),
            RuleSpec::Coupling { terms, offset: 0.3 },
        ));
    }
    let model = builder.build().expect("sound");
    assert_eq!(model.nv(), 5);
    model
}

fn agree(what: &str, found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let apart = relative(found, wanted, largest(wanted).max(1e-3));
    assert!(apart < SAME, "{what}: {apart:.1e}");
}

/// Every function of a module: its own samples come from the library.
#[test]
fn programs_are_the_library() {
    let model = coupled_arm();
    for dust in [1e-14, 1e-9] {
        let options = generate::CodeOptions {
            dust,
            frame: model.tree().frames.last().expect("a frame").name.clone(),
            ..generate::CodeOptions::default()
        };
        let questions = Question::ALL.map(|(_, question)| question);
        let module = Module::new(&model, &questions, &options).expect("generated");
        assert_eq!(module.functions.len(), questions.len());
    }
    let mut dynamics = Dynamics::new(&model);
    let mut state = State::random(&model, 3);
    state.base = Base::fixed();
    let x = State::random(&model, 4).v;
    let known = dynamics
        .forward(&state, &x, &[])
        .expect("possible")
        .to_vec();
    let ways = generate::programs(&model, Question::Forward, &generate::CodeOptions::default());
    for (program, method) in ways.expect("traced") {
        let value = |name: &str| {
            let (array, index) = entry(name);
            match array {
                "q" => state.q[index],
                "v" => state.v[index],
                _ => x[index],
            }
        };
        agree(method, &program.evaluate(value), &known);
    }
}

/// Code for one state and for lanes takes independent coordinates.
#[test]
fn compiled_code_is_the_library() {
    if skipped_on_baseline(Cpu::best()) {
        return;
    }
    let model = coupled_arm();
    let options = NativeOptions {
        kernels: Kernel::ALL.to_vec(),
        ..NativeOptions::default()
    };
    let compiled = compile(&model, &options).expect("compiled");
    let (mut fast, mut general) = (Dynamics::with_compiled(&compiled), Dynamics::new(&model));
    let count = 19;
    let states: Vec<State> = (0..count).map(|k| State::random(&model, k)).collect();
    let inputs: Vec<Vec<f64>> = (0..count)
        .map(|k| State::random(&model, 50 + k).v)
        .collect();
    for (state, x) in states.iter().zip(&inputs) {
        let known = general.inverse(state, x, &[]).expect("possible").to_vec();
        agree("τ", fast.inverse(state, x, &[]).expect("possible"), &known);
        let known = general.joint_wrench(2).expect("known").to_array();
        agree(
            "wrench",
            &fast.joint_wrench(2).expect("known").to_array(),
            &known,
        );
        let known = general.forward(state, x, &[]).expect("possible").to_vec();
        agree("v̇", fast.forward(state, x, &[]).expect("possible"), &known);
        let [mut a, mut b] = [x.clone(), x.clone()];
        general.solve(&mut a).expect("factors");
        fast.solve(&mut b).expect("factors");
        agree("I⁻¹ x", &b, &a);
        let known = general.inertia(state).expect("finite").clone();
        let found = fast.inertia(state).expect("finite");
        agree("I", found.as_slice(), known.as_slice());
        let known = general
            .inverse_derivatives(state, x, &[])
            .expect("finite")
            .clone();
        let found = fast.inverse_derivatives(state, x, &[]).expect("finite");
        agree("∂τ/∂q", found.dq.as_slice(), known.dq.as_slice());
        let known = general
            .forward_derivatives(state, x, &[])
            .expect("finite")
            .clone();
        let found = fast.forward_derivatives(state, x, &[]).expect("finite");
        agree("∂v̇/∂q", found.dq.as_slice(), known.dq.as_slice());
    }
    let [q, v]: [Vec<f64>; 2] = [
        states.iter().flat_map(|s| s.q.clone()).collect(),
        states.iter().flat_map(|s| s.v.clone()).collect(),
    ];
    let x = inputs.concat();
    let (mut fast, mut general) = (Batch::with_compiled(&compiled), Batch::new(&model));
    let [mut a, mut b] = [vec![0.0; x.len()], vec![0.0; x.len()]];
    general.inverse(&q, &v, &x, &mut a).expect("possible");
    fast.inverse(&q, &v, &x, &mut b).expect("possible");
    agree("batch τ", &b, &a);
    general.forward(&q, &v, &x, &mut a).expect("possible");
    fast.forward(&q, &v, &x, &mut b).expect("possible");
    agree("batch v̇", &b, &a);
}

/// A page of equations names what follows; SymPy gets G.
#[test]
fn derivations_tell_the_couplings() {
    let model = coupled_arm();
    let derivation = Derivation::new(
        &model,
        Keep::default(),
        Style::Recursive(Notation::Catena),
        false,
    );
    let derivation = derivation.expect("derived");
    let page = derivation.document().markdown();
    assert!(
        page.contains("Couplings") && page.contains("gear3"),
        "{page}"
    );
    let (rows, offset) = derivation.coupling_matrix().expect("coupled");
    assert_eq!(rows[3], [0.0, -0.5, 0.0, 0.0, 0.0]);
    assert_eq!((offset[3], offset[4]), (0.3, 0.0));
    assert!(derivation.sympy().contains("\nG = Matrix("));
}

/// In closed form the couplings are put in: entries of the inertia matrix, Coriolis matrix, gravity and efforts at a state are those
/// of the library in independent freedoms.
#[test]
fn derivations_put_the_couplings_in() {
    let mut builder = embedded::builder("planar3").expect("embedded");
    let names: Vec<String> = builder.joints.iter().map(|j| j.name.clone()).collect();
    let terms = vec![(names[1].clone(), 1.0), (names[0].clone(), -2.0)];
    let offset = 0.3;
    let rule = RuleSpec::Coupling { terms, offset };
    builder.constraint(ConstraintSpec::new("gear", rule));
    let model = builder.build().expect("sound");
    let derivation = Derivation::new(&model, Keep::default(), Style::Closed, false);
    let derivation = derivation.expect("derived");
    let it = derivation.independent.as_ref().expect("coupled");
    assert_eq!(it.freedoms, [0, 2]);
    let mut dynamics = Dynamics::new(&model);
    let state = State::random(&model, 5);
    let vdot = [0.7, -0.4];
    let at = |name: &str| {
        let (letter, index) = name.trim_end_matches(']').split_once('[')?;
        let own = it.freedoms.iter().position(|k| k.to_string() == index)?;
        match letter {
            "q" => Some(state.q[own]),
            "v" => Some(state.v[own]),
            "vdot" => Some(vdot[own]),
            _ => None,
        }
    };
    let values = |formulas: &Option<Vec<Formula>>| -> Vec<f64> {
        let formulas = formulas.as_ref().expect("short");
        let value =
            |f: &Formula| f.evaluate(|name| at(name).expect("a symbol of an independent freedom"));
        formulas.iter().map(value).collect()
    };
    let wanted = dynamics.inertia(&state).expect("finite").clone();
    agree("I", &values(&it.inertia), wanted.as_slice());
    let wanted = dynamics.coriolis(&state).expect("finite").clone();
    agree("C", &values(&it.coriolis), wanted.as_slice());
    let wanted = dynamics.gravity(&state).expect("finite").to_vec();
    agree("g", &values(&it.gravity), &wanted);
    let wanted = dynamics.inverse(&state, &vdot, &[]).expect("finite");
    agree("τ", &values(&it.effort), wanted);
    let page = derivation.document().markdown();
    assert!(page.contains("Independent freedoms"), "{page}");
    assert!(derivation.sympy().contains("I_independent = Matrix("));
}
