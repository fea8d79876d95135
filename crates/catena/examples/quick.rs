//! Scratch.
use catena::model::embedded;
use catena::*;
fn main() {
    for name in [
        "planar3",
        "stanford",
        "space-robot",
        "zoo",
        "pendulum-3",
        "chain-7",
        "random-30-1",
        "random-60-2",
        "random-60-3",
        "pendulum-50",
        "pendulum-300",
        "pendulum-1000",
    ] {
        let model = embedded::model(name).unwrap();
        let s = State::random(&model, 7);
        let mut d = Dynamics::new(&model);
        let tau: Vec<f64> = (0..model.nv())
            .map(|k| ((k * 7919) % 13) as f64 - 6.0)
            .collect();
        let vdot = d.forward(&s, &tau, &[]).unwrap().to_vec();
        let back = d.inverse(&s, &vdot, &[]).unwrap();
        let err = back
            .iter()
            .zip(&tau)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        let scale = vdot.iter().map(|a| a.abs()).fold(0.0, f64::max);
        println!(
            "{name} nv {} residual {err:.2e}  max vdot {scale:.2e}",
            model.nv()
        );
    }
    for name in [
        "chain-7",
        "chain-100",
        "chain-1000",
        "chain-10000",
        "pendulum-10",
        "pendulum-100",
    ] {
        let model = embedded::model(name).unwrap();
        let s = State::random(&model, 7);
        for cpu in [Cpu::Baseline, Cpu::Avx2] {
            let mut d = Dynamics::with_cpu(&model, cpu);
            let tau = vec![1.0; model.nv()];
            let (mut bi, mut bf, mut bm) = (f64::MAX, f64::MAX, f64::MAX);
            let reps = 20000 / model.nv() + 1;
            for _ in 0..60 {
                let t = std::time::Instant::now();
                for _ in 0..reps {
                    std::hint::black_box(d.inverse(std::hint::black_box(&s), &tau, &[]).unwrap());
                }
                bi = bi.min(t.elapsed().as_secs_f64() / reps as f64);
                let t = std::time::Instant::now();
                for _ in 0..reps {
                    std::hint::black_box(d.forward(std::hint::black_box(&s), &tau, &[]).unwrap());
                }
                bf = bf.min(t.elapsed().as_secs_f64() / reps as f64);
                if model.nv() < 200 {
                    let t = std::time::Instant::now();
                    for _ in 0..reps {
                        std::hint::black_box(d.inertia(std::hint::black_box(&s)).unwrap());
                    }
                    bm = bm.min(t.elapsed().as_secs_f64() / reps as f64);
                }
            }
            println!(
                "{name} {cpu:?}: inverse {:.1} ns, forward {:.1} ns, inertia {:.1}; per body {:.1} {:.1}",
                bi * 1e9,
                bf * 1e9,
                bm * 1e9,
                bi * 1e9 / model.body_count() as f64,
                bf * 1e9 / model.body_count() as f64
            );
        }
    }
}
