//! Events: located to round-off, found once, none missed.

use super::systems::*;
use catena::Result;
use catena::integrate::{Fixed, FixedMethod, IntegratorOptions, Mechanical, Method, System};
use catena::residual::larger;
use std::f64::consts::{PI, TAU};

fn ulp(x: f64) -> f64 {
    x.abs().next_up() - x.abs()
}

#[test]
fn events_are_located_to_round_off() {
    for method in Method::ALL {
        let options = IntegratorOptions::with_tolerance(1e-13);
        // y = (sin t, cos t): zero at the beginning, which is not reported
        let mut run = begin(method, options, &mut Crossings, &[0.0, 1.0]).unwrap();
        let mut found: Vec<Vec<(f64, bool)>> = vec![Vec::new(); 3];
        let mut last = 0.0;
        while run.time() < 20.0 {
            let outcome = run.step(&mut Crossings, 20.0).unwrap();
            for event in outcome.events() {
                assert!(event.time > outcome.t_old && event.time <= outcome.t);
                assert!(event.time >= last, "{method}: events are ordered");
                last = event.time;
                found[event.index].push((event.time, event.rising));
            }
        }
        for (k, &(t, rising)) in found[0].iter().enumerate() {
            assert!((t - PI * (k + 1) as f64).abs() < 1e-12, "{method}: {t}");
            assert_eq!(rising, k % 2 == 1);
        }
        for (k, &(t, rising)) in found[2].iter().enumerate() {
            let exact = PI * (k + 1) as f64;
            assert!((t - exact).abs() <= 4.0 * ulp(t), "{method}: {t} {exact}");
            assert!(t.sin() == 0.0 || (t.sin() > 0.0) == rising);
        }
        assert_eq!((found[0].len(), found[2].len()), (6, 6), "{method}");
        // cos t = ½ at ±π/3 + 2πk
        let exact: Vec<f64> = (0..8)
            .map(|k| TAU * f64::from(k / 2) + if k % 2 == 0 { PI / 3.0 } else { TAU - PI / 3.0 })
            .filter(|&t| t < 20.0)
            .collect();
        assert_eq!(found[1].len(), exact.len(), "{method}: {found:?}");
        for ((t, _), exact) in found[1].iter().zip(&exact) {
            assert!((t - exact).abs() < 1e-12, "{method}: {t} {exact}");
        }
    }
}

#[test]
fn an_event_is_met_once_when_the_run_begins_anew_there() {
    for method in Method::ALL {
        let options = IntegratorOptions::with_tolerance(1e-10);
        let mut run = begin(method, options, &mut Crossings, &[1.0, 0.0]).unwrap();
        let mut times = Vec::new();
        let mut y = [0.0; 2];
        while run.time() < 12.0 {
            let outcome = run.step(&mut Crossings, 12.0).unwrap();
            if let Some(event) = outcome.events().iter().find(|event| event.index == 0) {
                times.push(event.time);
                run.interpolate(&mut Crossings, event.time, &mut y).unwrap();
                run.start(&mut Crossings, event.time, &y).unwrap();
            }
        }
        assert_eq!(times.len(), 4, "{method}: {times:?}");
        for (k, t) in times.iter().enumerate() {
            assert!((t - PI * (k as f64 + 0.5)).abs() < 1e-8, "{method}: {t}");
        }
    }
}

#[test]
fn two_crossings_in_one_step_are_seen() {
    struct Arc;
    impl System for Arc {
        fn dimension(&self) -> usize {
            1
        }
        fn derivative(&mut self, _t: f64, _y: &[f64], dy: &mut [f64]) -> Result<()> {
            dy[0] = 1.0;
            Ok(())
        }
        fn event_count(&self) -> usize {
            1
        }
        fn events(&mut self, _t: f64, y: &[f64], values: &mut [f64]) {
            values[0] = (y[0] - 0.3) * (y[0] - 0.7);
        }
    }
    let options = IntegratorOptions {
        initial_step: Some(1.0),
        ..IntegratorOptions::default()
    };
    let mut run = begin(Method::Tsitouras5, options, &mut Arc, &[0.0]).unwrap();
    let outcome = run.step(&mut Arc, 1.0).unwrap();
    let times: Vec<f64> = outcome.events().iter().map(|event| event.time).collect();
    assert_eq!(times.len(), 2);
    assert!(distance(&times, &[0.3, 0.7]) < 1e-15, "{times:?}");
}

/// A pendulum that reports where it passes 0.4 rad and its lowest point.
struct WatchedPendulum;

impl Mechanical for WatchedPendulum {
    fn position_count(&self) -> usize {
        1
    }

    fn velocity_count(&self) -> usize {
        1
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        Pendulum.acceleration(t, q, v, vdot)
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        Pendulum.step(q, delta);
    }

    fn watched_count(&self) -> usize {
        2
    }

    fn watch(&mut self, _t: f64, q: &[f64], _v: &[f64], values: &mut [f64]) {
        (values[0], values[1]) = (q[0] - 0.4, q[0]);
    }
}

/// Within a fixed step the motion is that of a shorter step: it passes through the ends of the step, events lie on it to
/// round-off, their times have the order of the method, and nothing of it changes the steps that follow.
#[test]
fn steps_of_one_size_have_events() {
    let times = |method: FixedMethod, size: f64| {
        let mut run = Fixed::new(method, 1, 1, size).unwrap();
        let mut undisturbed = run.clone();
        run.start(0.0, &[1.0], &[0.0]).unwrap();
        undisturbed.start(0.0, &[1.0], &[0.0]).unwrap();
        let mut times = Vec::new();
        while run.time() < 2.0 {
            let step = run.step(&mut WatchedPendulum).unwrap();
            undisturbed.step(&mut Pendulum).unwrap();
            assert_eq!((run.q(), run.v()), (undisturbed.q(), undisturbed.v()));
            let (mut q, mut v) = ([0.0], [0.0]);
            for event in step.events() {
                run.interpolate(&mut WatchedPendulum, event.time, &mut q, &mut v)
                    .unwrap();
                let value = q[0] - [0.4, 0.0][event.index];
                assert!(value.abs() < 1e-14, "{method}: {value}");
                assert!(event.time > step.t_old && event.time <= step.t);
                times.push((event.index, event.time));
            }
            for t in [step.t_old, step.t] {
                run.interpolate(&mut WatchedPendulum, t, &mut q, &mut v)
                    .unwrap();
            }
            assert_eq!(q, run.q());
        }
        times
    };
    let exact = times(FixedMethod::RungeKutta4, 2e-4);
    assert_eq!(exact.len(), 4, "{exact:?}");
    for (method, size) in [
        (FixedMethod::RungeKutta4, 0.04),
        (FixedMethod::ImplicitMidpoint, 0.02),
        (FixedMethod::SemiImplicitEuler, 0.002),
    ] {
        let error = |size: f64| {
            let found = times(method, size);
            assert_eq!(found.len(), exact.len(), "{method}");
            let pairs = found.iter().zip(&exact);
            pairs.map(|(a, b)| (a.1 - b.1).abs()).fold(0.0, larger)
        };
        let order = (error(size) / error(0.5 * size)).log2();
        assert!(
            (order - method.order() as f64).abs() < 0.5,
            "{method}: {order}"
        );
    }
}

/// Restarted at an event, fixed steps end where they would have ended, and a checkpoint in between gives the same bits.
#[test]
fn steps_of_one_size_go_on_from_an_event() {
    for method in FixedMethod::ALL {
        let mut run = Fixed::new(method, 1, 1, 0.01).unwrap();
        run.start(0.0, &[1.0], &[0.0]).unwrap();
        let event = loop {
            let step = run.step(&mut WatchedPendulum).unwrap();
            if let Some(event) = step.events().first() {
                break *event;
            }
        };
        let (mut q, mut v) = ([0.0], [0.0]);
        let end = run.time();
        run.interpolate(&mut WatchedPendulum, event.time, &mut q, &mut v)
            .unwrap();
        run.restart(event.time, &q, &v).unwrap();
        assert_eq!(run.time(), event.time);
        let mut other = Fixed::new(method, 1, 1, 0.01).unwrap();
        other.restore(&run.checkpoint()).unwrap();
        let step = run.step(&mut WatchedPendulum).unwrap();
        assert_eq!(run.time(), end);
        assert!(step.events().is_empty(), "met twice");
        other.step(&mut WatchedPendulum).unwrap();
        assert_eq!((run.q(), run.v()), (other.q(), other.v()));
        assert!(run.restart(end + 1.0, &q, &v).is_err());
        assert!(run.restart(0.0, &q, &v).is_err());
    }
}

/// An oscillator that passes a level of its position just before its turning points, and another by far.
struct Levels([f64; 2]);

impl System for Levels {
    fn dimension(&self) -> usize {
        2
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        oscillator(t, y, dy);
        Ok(())
    }

    fn event_count(&self) -> usize {
        2
    }

    fn events(&mut self, _t: f64, y: &[f64], values: &mut [f64]) {
        (values[0], values[1]) = (y[0] - self.0[0], y[0] - self.0[1]);
    }
}

impl Mechanical for Levels {
    fn position_count(&self) -> usize {
        1
    }

    fn velocity_count(&self) -> usize {
        1
    }

    fn acceleration(&mut self, _t: f64, q: &[f64], _v: &[f64], vdot: &mut [f64]) -> Result<()> {
        vdot[0] = -q[0];
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
    }

    fn watched_count(&self) -> usize {
        2
    }

    fn watch(&mut self, t: f64, q: &[f64], v: &[f64], values: &mut [f64]) {
        self.events(t, &[q[0], v[0]], values);
    }
}

/// Number of sign changes of the two functions along values at many times.
fn changes(values: &[[f64; 2]]) -> [usize; 2] {
    [0, 1].map(|k| {
        let signs = values.windows(2);
        signs
            .filter(|pair| (pair[0][k] < 0.0) != (pair[1][k] < 0.0))
            .count()
    })
}

const LOOKS: usize = 2000;
/// Where every look costs a step.
const FEW: usize = 100;

/// However long the steps are, every passage of the computed motion is met: as many as a search by brute force sees on the dense
/// output, which at fine tolerances are those of the closed form. Watching costs no evaluation beyond those of the dense output.
#[test]
fn no_passage_within_a_step_is_missed() {
    for method in Method::ALL {
        for digits in 3..=12 {
            let options = IntegratorOptions::with_tolerance(10f64.powi(-digits));
            let mut system = Levels([0.9999, -0.3]);
            let mut run = begin(method, options, &mut system, &[0.0, 1.0]).unwrap();
            let mut times = [Vec::new(), Vec::new()];
            let mut seen = vec![[-0.9999, 0.3]];
            while run.time() < 20.0 {
                let step = run.step(&mut system, 20.0).unwrap();
                for event in step.events() {
                    times[event.index].push(event.time);
                }
                for k in 1..=LOOKS {
                    let part = step.size * k as f64 / LOOKS as f64;
                    let t = if k == LOOKS {
                        step.t
                    } else {
                        step.t_old + part
                    };
                    let (mut y, mut values) = ([0.0; 2], [0.0; 2]);
                    run.interpolate(&mut system, t, &mut y).unwrap();
                    System::events(&mut system, t, &y, &mut values);
                    seen.push(values);
                }
            }
            let found = [times[0].len(), times[1].len()];
            assert_eq!(found, changes(&seen), "{method}, 1e-{digits}");
            if digits >= 8 {
                let turn = (1.0f64 - 0.9999 * 0.9999).sqrt().asin();
                let exact: Vec<f64> = (0..3)
                    .flat_map(|k| [-turn, turn].map(|d| PI * (0.5 + 2.0 * f64::from(k)) + d))
                    .collect();
                assert_eq!(times[0].len(), 6, "{method}, 1e-{digits}: {times:?}");
                // the speed there is a seventieth of the largest
                let allowed = 2e4 * 10f64.powi(-digits);
                for (t, exact) in times[0].iter().zip(&exact) {
                    assert!(
                        (t - exact).abs() < allowed,
                        "{method}, 1e-{digits}: {t} {exact}"
                    );
                }
            }
        }
    }
}

/// Fixed steps miss no passage either; where none is near, watching costs no evaluation.
#[test]
fn no_passage_within_a_step_of_one_size_is_missed() {
    for method in FixedMethod::ALL {
        // with the longest ones it passes a level and comes back within a step
        for size in [0.01, 0.13, 0.7, 0.9, 1.1] {
            let mut system = Levels([0.97, -0.3]);
            let mut run = Fixed::new(method, 1, 1, size).unwrap();
            run.start(0.0, &[0.0], &[1.0]).unwrap();
            let mut found = [0, 0];
            let mut seen = vec![[-0.97, 0.3]];
            while run.time() < 20.0 {
                let step = run.step(&mut system).unwrap();
                for event in step.events() {
                    found[event.index] += 1;
                }
                for k in 1..=FEW {
                    let part = step.size * k as f64 / FEW as f64;
                    let t = if k == FEW { step.t } else { step.t_old + part };
                    let (mut q, mut v, mut values) = ([0.0], [0.0], [0.0; 2]);
                    run.interpolate(&mut system, t, &mut q, &mut v).unwrap();
                    system.watch(t, &q, &v, &mut values);
                    seen.push(values);
                }
            }
            assert_eq!(found, changes(&seen), "{method}, {size} s");
            assert!(found[0] >= 2, "{method}, {size} s: {found:?}");
        }
        let cost = |levels: [f64; 2]| {
            let mut system = Levels(levels);
            let mut run = Fixed::new(method, 1, 1, 0.1).unwrap();
            run.start(0.0, &[0.0], &[1.0]).unwrap();
            while run.time() < 20.0 {
                run.step(&mut system).unwrap();
            }
            run.statistics()
        };
        let mut alone = Fixed::new(method, 1, 1, 0.1).unwrap();
        alone.start(0.0, &[0.0], &[1.0]).unwrap();
        while alone.time() < 20.0 {
            alone.step(&mut Oscillator).unwrap();
        }
        assert_eq!(cost([3.0, -2.0]), alone.statistics(), "{method}");
    }
}

/// The oscillator, with nothing watched.
struct Oscillator;

impl Mechanical for Oscillator {
    fn position_count(&self) -> usize {
        1
    }

    fn velocity_count(&self) -> usize {
        1
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        Levels([0.0; 2]).acceleration(t, q, v, vdot)
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
    }
}
