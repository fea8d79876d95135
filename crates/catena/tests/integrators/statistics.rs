//! What a run says it has cost is what the system was asked.

use super::systems::*;
use catena::Result;
use catena::integrate::{
    Adaptive, Fixed, FixedMethod, IntegratorOptions, Mechanical, Method, System, Tolerances,
};

/// Passes on what it is asked, and counts it.
struct Asked<S> {
    system: S,
    evaluations: u64,
    projections: u64,
    settled: Vec<f64>,
}

impl<S: System> System for Asked<S> {
    fn dimension(&self) -> usize {
        self.system.dimension()
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        self.evaluations += 1;
        self.system.derivative(t, y, dy)
    }

    fn project(&mut self, _t: f64, _y: &mut [f64]) {
        self.projections += 1;
    }
}

impl<S: Mechanical> Mechanical for Asked<S> {
    fn position_count(&self) -> usize {
        self.system.position_count()
    }

    fn velocity_count(&self) -> usize {
        self.system.velocity_count()
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.evaluations += 1;
        self.system.acceleration(t, q, v, vdot)
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        self.system.step(q, delta);
    }

    fn settle(&mut self, t: f64, _q: &mut [f64], _v: &mut [f64]) -> Result<()> {
        self.settled.push(t);
        Ok(())
    }
}

fn asked<S>(system: S) -> Asked<S> {
    Asked {
        system,
        evaluations: 0,
        projections: 0,
        settled: Vec::new(),
    }
}

/// Every trial step ends with a projection, so that those beyond the accepted steps are the rejected ones. Two passages of the moon, after a first
/// step that is far too long, make some of them necessary.
#[test]
fn variable_steps_count_what_they_ask() {
    for method in Method::ALL {
        let options = IntegratorOptions {
            initial_step: Some(1.0),
            ..IntegratorOptions::with_tolerance(1e-7)
        };
        let mut system = asked(plain(4, arenstorf));
        let mut run = begin(method, options, &mut system, &ARENSTORF_START).unwrap();
        let before = system.projections;
        let mut steps = 0;
        while run.time() < ARENSTORF_PERIOD {
            let (t, y) = (run.time(), run.y().to_vec());
            let (proposed, rejected) = (run.next_size(), run.statistics().rejected);
            let step = run.step(&mut system, ARENSTORF_PERIOD).unwrap();
            steps += 1;
            assert_eq!(run.before(), (t, &y[..]), "{method}");
            // the first trial has the proposed size; towards the end two equal steps, or what is left
            let left = ARENSTORF_PERIOD - t;
            let first = match left / proposed {
                whole if whole >= 2.0 => proposed,
                some if some > 1.0 => 0.5 * left,
                _ => left,
            };
            if run.statistics().rejected == rejected {
                assert!((step.size / first - 1.0).abs() < 1e-8, "{method}: {step:?}");
            }
        }
        let found = run.statistics();
        assert_eq!(found.steps, steps, "{method}");
        assert_eq!(found.evaluations, system.evaluations, "{method}");
        assert_eq!(
            found.rejected,
            system.projections - before - steps,
            "{method}"
        );
        assert!(found.rejected > 1, "{method}: {found:?}");
    }
}

/// Constraints are settled at the end of every step, at its time.
#[test]
fn steps_of_one_size_count_what_they_ask() {
    for method in FixedMethod::ALL {
        let mut system = asked(Pendulum);
        let mut run = Fixed::new(method, 1, 1, 0.125).unwrap();
        run.start(3.0, &[1.0], &[0.0]).unwrap();
        for _ in 0..20 {
            let (t, q, v) = (run.time(), run.q().to_vec(), run.v().to_vec());
            run.step(&mut system).unwrap();
            assert_eq!(run.before(), (t, &q[..], &v[..]), "{method}");
        }
        let found = run.statistics();
        assert_eq!((found.steps, found.rejected), (20, 0), "{method}");
        assert_eq!(found.evaluations, system.evaluations, "{method}");
        let ends: Vec<f64> = (1..=20).map(|k| 3.0 + 0.125 * f64::from(k)).collect();
        assert_eq!(system.settled, ends, "{method}");
    }
}

/// Hairer, Nørsett & Wanner 1993, sec. II.4, by hand for ẏ = (−y₁, 10 t) from (2, 0) at t = 0.5 with tolerances 10⁻³ relative and 10⁻⁴ absolute: d₀ and d₁
/// are root mean squares of y and f in units of the tolerance, d₂ that of the change of f over h₀.
#[test]
fn the_first_step_is_that_of_hairers_rule() {
    let options = IntegratorOptions {
        tolerances: Tolerances {
            relative: 1e-3,
            absolute: 1e-4,
        },
        ..IntegratorOptions::default()
    };
    let (rough, fine) = (1e-3 * 2.0 + 1e-4, 1e-4);
    let mean = |x: f64, y: f64| (0.5 * ((x / rough).powi(2) + (y / fine).powi(2))).sqrt();
    let (d0, d1) = (mean(2.0, 0.0), mean(-2.0, 5.0));
    let h0 = 0.01 * d0 / d1;
    let d2 = mean(2.0 * h0, 10.0 * h0) / h0;
    for method in Method::ALL {
        let expected = (100.0 * h0).min((0.01 / d1.max(d2)).powf(1.0 / method.order() as f64));
        let f = |t: f64, y: &[f64], dy: &mut [f64]| (dy[0], dy[1]) = (-y[0], 10.0 * t);
        let mut run = Adaptive::new(method, 2, options).unwrap();
        run.start(&mut plain(2, f), 0.5, &[2.0, 0.0]).unwrap();
        let found = run.next_size();
        assert!((found / expected - 1.0).abs() < 1e-12, "{method}: {found}");

        // at rest there is no time scale to be seen: a thousandth of the probe, but not below a microsecond
        let mut run = Adaptive::new(method, 1, options).unwrap();
        run.start(
            &mut plain(1, |_, _, dy: &mut [f64]| dy[0] = 0.0),
            0.0,
            &[1.0],
        )
        .unwrap();
        assert_eq!(run.next_size(), 1e-6, "{method}");
    }
}
