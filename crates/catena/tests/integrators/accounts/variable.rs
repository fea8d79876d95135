//! Variable steps.

use super::super::systems::*;
use super::{Digest, compare, in_words, recorded};
use catena::integrate::{Adaptive, IntegratorOptions, Method, System, Tolerances};
use catena::{Error, ErrorKind, Result};

/// Two bodies in the field of earth and moon, and two integrals along their motion; pushed for nine tenths of a second, and left alone for as long; no trial may
/// end outside of a circle, nor come to its edge.
#[derive(Clone)]
struct Moons {
    interval: f64,
}

fn attracted(y: &[f64], dy: &mut [f64]) {
    let earth = 1.0 - MOON;
    let (a, b) = (y[0] + MOON, y[0] - earth);
    let (d1, d2) = (a * a + y[1] * y[1], b * b + y[1] * y[1]);
    let (d1, d2) = (d1 * d1.sqrt(), d2 * d2.sqrt());
    dy[0] = y[2];
    dy[1] = y[3];
    dy[2] = y[0] + 2.0 * y[3] - earth * a / d1 - MOON * b / d2;
    dy[3] = y[1] - 2.0 * y[2] - earth * y[1] / d1 - MOON * y[1] / d2;
}

impl System for Moons {
    fn dimension(&self) -> usize {
        10
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        attracted(&y[..4], &mut dy[..4]);
        attracted(&y[4..8], &mut dy[4..8]);
        if (t / 0.9).floor() % 2.0 == 0.0 {
            dy[2] += 0.1;
        }
        let squared = y[0] * y[0] + y[1] * y[1];
        if squared > 9.0 {
            return Err(Error::new(ErrorKind::Input, "too far away").hint("come back"));
        }
        dy[8] = (4.0 - squared).sqrt() * 1e-3;
        dy[9] = y[2] * y[2] + 30.0 * y[5];
        Ok(())
    }

    fn integrals(&self) -> usize {
        2
    }

    fn next_kink(&self, t: f64) -> f64 {
        0.9 * ((t / 0.9).floor() + 1.0)
    }

    fn event_count(&self) -> usize {
        3
    }

    fn events(&mut self, t: f64, y: &[f64], values: &mut [f64]) {
        values[0] = y[0];
        values[1] = y[5] - 0.3;
        values[2] = (t - 0.7) * (t - 0.70001);
    }

    fn sample_interval(&self) -> f64 {
        self.interval
    }
}

const MOONS: [f64; 10] = [
    0.994,
    0.0,
    0.0,
    -2.001_585_106_379_082_5,
    0.5,
    0.1,
    0.0,
    0.9,
    0.0,
    0.0,
];

/// Tries everything that can be done with a run, and returns how it went.
fn account(
    what: &str,
    method: Method,
    options: IntegratorOptions,
    system: Box<dyn System>,
    (t, y): (f64, &[f64]),
    ends: &[f64],
) -> String {
    let mut system = recorded(system);
    let mut found = Digest::new();
    let mut run = Adaptive::new(method, y.len(), options).unwrap();
    let mut ending = String::new();
    if let Err(error) = run.start(&mut system, t, y) {
        ending = in_words(&error);
    }
    found.words(&run.checkpoint());
    let mut point = vec![0.0; y.len()];
    for k in 0..400 {
        if !ending.is_empty() {
            break;
        }
        let Some(end) = ends.iter().find(|end| **end > run.time()) else {
            break;
        };
        let step = match run.step(&mut system, *end) {
            Ok(step) => step,
            Err(error) => {
                ending = in_words(&error);
                found.words(&run.checkpoint());
                found.word(run.worst_component().map_or(99, |i| i as u64));
                break;
            }
        };
        found.step(&step);
        found.number(run.next_size());
        found.numbers(run.derivative());
        found.word(run.worst_component().map_or(99, |i| i as u64));
        found.words(&run.checkpoint());
        let (before, old) = run.before();
        found.number(before);
        found.numbers(old);
        if k % 3 != 2 {
            for part in [0.0, 0.13, 0.5, 0.97] {
                let t = step.t_old + part * step.size;
                if let Err(error) = run.interpolate(&mut system, t, &mut point) {
                    found.text(error.message());
                }
                found.numbers(&point);
            }
            found.words(&run.checkpoint());
        }
        if k % 5 == 4 {
            let mut other = Adaptive::new(method, y.len(), options).unwrap();
            other.restore(&run.checkpoint()).unwrap();
            run = other;
        }
        if k % 7 == 6 {
            run.limit_next_size(0.5 * run.next_size());
        }
        if let Some(event) = step.events().first() {
            if run
                .interpolate(&mut system, event.time, &mut point)
                .is_err()
            {
                continue;
            }
            found.numbers(&point);
            match k % 3 {
                0 => run.resume(&mut system, event.time, &point).unwrap(),
                1 => run.start(&mut system, event.time, &point).unwrap(),
                _ => {}
            }
        }
    }
    let cost = run.statistics();
    format!(
        "{what}, {method}: {} steps, {} rejected, {} evaluations, to {} s; asked {}, found {found}; {ending}",
        cost.steps,
        cost.rejected,
        cost.evaluations,
        run.time(),
        system.digest
    )
}

/// A rigid body that is watched.
struct Tumbling;

impl System for Tumbling {
    fn dimension(&self) -> usize {
        7
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        System::derivative(&mut BODY.clone(), t, y, dy)
    }

    fn project(&mut self, t: f64, y: &mut [f64]) {
        BODY.clone().project(t, y);
    }

    fn event_count(&self) -> usize {
        2
    }

    fn events(&mut self, _t: f64, y: &[f64], values: &mut [f64]) {
        (values[0], values[1]) = (y[0], y[5] - 1.39);
    }
}

/// Runs that end as they should, and runs that cannot continue.
#[test]
fn variable_steps_are_as_recorded() {
    let mut lines = Vec::new();
    let precise = |relative: f64, absolute: f64| IntegratorOptions {
        tolerances: Tolerances { relative, absolute },
        ..IntegratorOptions::default()
    };
    for method in Method::ALL {
        let mut add = |what: &str, options, system: Box<dyn System>, start, ends: &[f64]| {
            lines.push(account(what, method, options, system, start, ends));
        };
        let ends = [0.4, 1.3, 1.35, 2.6];
        add(
            "moons",
            precise(1e-6, 1e-7),
            Box::new(Moons { interval: 0.25 }),
            (0.0, &MOONS),
            &ends,
        );
        let hasty = IntegratorOptions {
            initial_step: Some(2.0),
            event_parts: 3,
            ..precise(1e-9, 1e-10)
        };
        let anywhere = Moons {
            interval: f64::INFINITY,
        };
        add(
            "moons, hasty",
            hasty,
            Box::new(anywhere),
            (0.0, &MOONS),
            &ends,
        );
        let bounded = IntegratorOptions {
            max_step: 0.35,
            min_step: 1e-3,
            ..precise(1e-4, 1e-5)
        };
        add(
            "tumbling",
            bounded,
            Box::new(Tumbling),
            (-3.0, &BODY_START),
            &[-1.0, 5.0],
        );
        // of a component that stays zero nothing is known where no absolute error is allowed
        let at_rest = plain(3, |t: f64, y: &[f64], dy: &mut [f64]| {
            (dy[0], dy[1], dy[2]) = (y[2], 0.0, t - y[0]);
        });
        add(
            "relative",
            precise(1e-7, 0.0),
            Box::new(at_rest),
            (2.0, &[1.0, 0.0, 1.0]),
            &[20.0],
        );
        let leaves_zero = plain(2, |t: f64, y: &[f64], dy: &mut [f64]| {
            (dy[0], dy[1]) = (t * t * t * t * t * t * t * t * t * t * t, y[1]);
        });
        add(
            "from zero",
            precise(1e-7, 0.0),
            Box::new(leaves_zero),
            (0.5, &[0.0, 1.0]),
            &[20.0],
        );
        let constant = plain(2, |_t: f64, _y: &[f64], dy: &mut [f64]| dy.fill(0.0));
        add(
            "at rest",
            precise(1e-7, 1e-7),
            Box::new(constant),
            (0.5, &[0.0, 1.0]),
            &[1e3],
        );
        let quick = plain(1, |_t: f64, y: &[f64], dy: &mut [f64]| {
            dy[0] = -300.0 * y[0]
        });
        add(
            "stiff",
            precise(1e-5, 1e-5),
            Box::new(quick),
            (0.0, &[1.0]),
            &[0.3],
        );
        let infinite = plain(2, |_t: f64, y: &[f64], dy: &mut [f64]| {
            (dy[0], dy[1]) = (0.0, y[1] * y[1]);
        });
        add(
            "to infinity",
            precise(1e-5, 1e-5),
            Box::new(infinite),
            (0.0, &[1.0, 1.0]),
            &[2.0],
        );
        let least = IntegratorOptions {
            min_step: 1e-3,
            ..precise(1e-8, 1e-8)
        };
        let jumping = plain(2, |t: f64, _y: &[f64], dy: &mut [f64]| {
            (dy[0], dy[1]) = (1.0, if t < 0.71 { 0.0 } else { 1e9 });
        });
        add(
            "across a jump",
            least,
            Box::new(jumping),
            (0.0, &[1.0, 1.0]),
            &[2.0],
        );
        for value in [None, Some(f64::NAN)] {
            let broken = Broken { value };
            add(
                "broken",
                IntegratorOptions::default(),
                Box::new(broken),
                (0.0, &[0.0, 1.0]),
                &[3.0],
            );
            // at the very beginning
            let broken = Broken { value };
            add(
                "broken at first",
                IntegratorOptions::default(),
                Box::new(broken),
                (1.5, &[0.0, 1.0]),
                &[3.0],
            );
            // where the first size is tried
            let broken = Broken { value };
            add(
                "broken nearby",
                IntegratorOptions::default(),
                Box::new(broken),
                (1.0, &[0.0, 1.0]),
                &[3.0],
            );
        }
        let unwatchable = Unwatchable;
        add(
            "unwatchable",
            IntegratorOptions::default(),
            Box::new(unwatchable),
            (0.0, &[1.0]),
            &[3.0],
        );
    }
    compare("variable.txt", &lines);
}

/// Fails from t = 1 on.
struct Broken {
    value: Option<f64>,
}

impl System for Broken {
    fn dimension(&self) -> usize {
        2
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        (dy[0], dy[1]) = (1.0, -y[1]);
        if t > 1.0 {
            dy[1] = (self.value)
                .ok_or_else(|| Error::new(ErrorKind::Singular, "it is broken").hint("mend it"))?;
        }
        Ok(())
    }
}

/// Its event function ends.
struct Unwatchable;

impl System for Unwatchable {
    fn dimension(&self) -> usize {
        1
    }

    fn derivative(&mut self, _t: f64, _y: &[f64], dy: &mut [f64]) -> Result<()> {
        dy[0] = 1.0;
        Ok(())
    }

    fn event_count(&self) -> usize {
        2
    }

    fn events(&mut self, t: f64, _y: &[f64], values: &mut [f64]) {
        (values[0], values[1]) = (1.0, (0.5 - t).sqrt());
    }
}
