//! A batch gives what single calls give, on every path, for any number of states.

use catena::model::embedded;
use catena::{Batch, Cpu, Dynamics, State};

#[test]
fn batches_agree_with_single_calls() {
    for name in ["stanford", "zoo", "pendulum-6", "random-20-8"] {
        let model = embedded::model(name).unwrap();
        let nv = model.nv();
        let states: Vec<State> = (0..19).map(|k| State::random(&model, k)).collect();
        let input: Vec<f64> = (0..19 * nv).map(|k| (k as f64 * 0.7).sin()).collect();
        let mut dynamics = Dynamics::with_cpu(&model, Cpu::Baseline);
        for cpu in [Cpu::Baseline, Cpu::Avx2, Cpu::Avx512] {
            for count in [1, 4, 8, 13, 19] {
                let q: Vec<f64> = states[..count].iter().flat_map(|s| s.q.clone()).collect();
                let v: Vec<f64> = states[..count].iter().flat_map(|s| s.v.clone()).collect();
                let mut tau = vec![f64::NAN; count * nv];
                let mut vdot = tau.clone();
                let mut batch = Batch::with_cpu(&model, cpu);
                batch
                    .inverse(&q, &v, &input[..count * nv], &mut tau)
                    .unwrap();
                batch
                    .forward(&q, &v, &input[..count * nv], &mut vdot)
                    .unwrap();
                for (k, state) in states[..count].iter().enumerate() {
                    let range = k * nv..(k + 1) * nv;
                    let single = dynamics.inverse(state, &input[range.clone()], &[]).unwrap();
                    assert_close(&tau[range.clone()], single, name);
                    let single = dynamics.forward(state, &input[range.clone()], &[]).unwrap();
                    assert_close(&vdot[range], single, name);
                }
            }
        }
    }
}

fn assert_close(a: &[f64], b: &[f64], what: &str) {
    let size = b.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    for (a, b) in a.iter().zip(b) {
        // the pendulum's condition number takes three of the sixteen digits
        assert!((a - b).abs() <= 1e-10 * size, "{what}: {a} and {b}");
    }
}

#[test]
fn wrong_lengths_and_numbers_are_refused() {
    let model = embedded::model("chain-3").unwrap();
    let mut batch = Batch::new(&model);
    let mut out = vec![0.0; 6];
    let error = batch
        .inverse(&[0.0; 5], &[0.0; 6], &[0.0; 6], &mut out)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "positions of a batch: 6 numbers are needed, 5 were given"
    );
    let error = batch
        .inverse(
            &[0.0; 6],
            &[0.0, 0.0, 0.0, 0.0, f64::NAN, 0.0],
            &[0.0; 6],
            &mut out,
        )
        .unwrap_err();
    assert!(
        error.to_string().starts_with("state 1 of the batch: "),
        "{error}"
    );
}
