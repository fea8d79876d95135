//! Restarts give the same bits.

use super::systems::*;
use catena::ErrorKind;
use catena::integrate::{Adaptive, Fixed, FixedMethod, IntegratorOptions, Method};
use catena::random::Random;

#[test]
fn a_run_continued_from_a_checkpoint_has_the_same_bits() {
    let mut random = Random::new(3);
    for method in Method::ALL {
        for _ in 0..5 {
            let options = IntegratorOptions::with_tolerance(1e-7);
            let mut whole = begin(method, options, &mut Crossings, &[0.2, 1.0]).unwrap();
            let stop = random.uniform(1.0, 20.0) as u64;
            let mut y = [0.0; 2];
            for _ in 0..stop {
                whole.step(&mut Crossings, 1e3).unwrap();
                if random.uniform(0.0, 1.0) < 0.5 {
                    let middle = whole.time() - 1e-3;
                    whole.interpolate(&mut Crossings, middle, &mut y).unwrap();
                }
            }
            let saved = whole.checkpoint();
            let mut other = Adaptive::new(method, 2, options).unwrap();
            other.restore(&saved).unwrap();
            assert_eq!(other.checkpoint(), saved);
            let middle = whole.time() - 2e-3;
            let mut again = [0.0; 2];
            whole.interpolate(&mut Crossings, middle, &mut y).unwrap();
            other
                .interpolate(&mut Crossings, middle, &mut again)
                .unwrap();
            assert_eq!(y.map(f64::to_bits), again.map(f64::to_bits));
            for _ in 0..20 {
                let a = whole.step(&mut Crossings, 1e3).unwrap();
                let b = other.step(&mut Crossings, 1e3).unwrap();
                assert_eq!(a, b);
                assert_eq!(whole.checkpoint(), other.checkpoint());
            }
        }
        let saved = Adaptive::new(method, 2, IntegratorOptions::default())
            .unwrap()
            .checkpoint();
        let mut foreign = Adaptive::new(method, 3, IntegratorOptions::default()).unwrap();
        assert_eq!(
            foreign.restore(&saved).unwrap_err().kind(),
            ErrorKind::Input
        );
        assert!(foreign.restore(&saved[..5]).is_err());
        assert!(foreign.restore(&[]).is_err());
    }
    for method in FixedMethod::ALL {
        let mut whole = fixed_run(
            method,
            &mut BODY.clone(),
            &BODY_START[..4],
            &BODY_START[4..],
            37,
            1.0,
        );
        let mut other = Fixed::new(method, 4, 3, 1.0 / 37.0).unwrap();
        other.restore(&whole.checkpoint()).unwrap();
        for _ in 0..50 {
            whole.step(&mut BODY.clone()).unwrap();
            other.step(&mut BODY.clone()).unwrap();
        }
        assert_eq!(whole.checkpoint(), other.checkpoint());
        assert!(
            Fixed::new(method, 4, 3, 0.1)
                .unwrap()
                .restore(&whole.checkpoint())
                .is_err()
        );
    }
}

/// Fixed steps keep their grid: after a restart within a step the next one ends where that step would have ended. A remainder of the order of
/// round-off is no step of its own.
#[test]
fn a_restart_within_a_step_keeps_the_grid() {
    for method in FixedMethod::ALL {
        let mut run = Fixed::new(method, 1, 1, 0.25).unwrap();
        run.start(1.0, &[0.3], &[0.0]).unwrap();
        run.step(&mut Pendulum).unwrap();
        let (q, v) = (run.q().to_vec(), run.v().to_vec());
        for (from, end) in [
            (1.0 + 0.01, 1.25),
            (1.25 - 1e-12, 1.25),
            (1.25f64.next_down(), 1.5),
            (1.25, 1.5),
        ] {
            let mut other = run.clone();
            other.restart(from, &q, &v).unwrap();
            let step = other.step(&mut Pendulum).unwrap();
            assert_eq!(
                (step.t_old, step.t, other.time()),
                (from, end, end),
                "{method}"
            );
            // as long as what was left: a run with steps of that size has the same bits
            let mut alone = Fixed::new(method, 1, 1, end - from).unwrap();
            alone.start(from, &q, &v).unwrap();
            alone.step(&mut Pendulum).unwrap();
            assert_eq!((alone.q(), alone.v()), (other.q(), other.v()), "{method}");
            // and the step after that is a whole one
            assert_eq!(other.step(&mut Pendulum).unwrap().t, end + 0.25, "{method}");
        }
    }
}
