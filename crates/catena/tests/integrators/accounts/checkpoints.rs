//! Checkpoints that are damaged, and settings that make no sense: what is refused, and in which words.

use super::super::systems::*;
use super::{Digest, compare, in_words, recorded};
use crate::implicit_problems;
use catena::integrate::bdf::{Bdf, BdfOptions, DenseImplicit};
use catena::integrate::{Adaptive, Fixed, FixedMethod, IntegratorOptions, Method, Tolerances};
use catena::{Error, Result};

/// Another word at every place, and every other length; which of them are refused, and what the others lead to.
fn damaged(
    what: &str,
    saved: &[u64],
    mut restored: impl FnMut(&[u64]) -> Result<Vec<u64>>,
) -> String {
    let mut found = Digest::new();
    let (mut refused, mut tried) = (0, 0);
    let mut words = String::new();
    let mut attempt = |checkpoint: &[u64]| {
        tried += 1;
        match restored(checkpoint) {
            Ok(again) => found.words(&again),
            Err(error) => {
                refused += 1;
                found.word(tried);
                found.text(error.message());
                words = in_words(&error);
            }
        }
    };
    assert!(!saved.is_empty());
    for k in 0..saved.len() {
        let mut copy = saved.to_vec();
        for word in [
            0,
            1,
            2,
            6,
            saved[k].wrapping_add(1),
            (1 << 53) - 1,
            1 << 53,
            1e3f64.to_bits(),
            f64::NAN.to_bits(),
            u64::MAX,
        ] {
            copy[k] = word;
            attempt(&copy);
        }
        attempt(&saved[..k]);
    }
    let mut longer = saved.to_vec();
    attempt(&longer);
    longer.push(0);
    attempt(&longer);
    format!("{what}: {refused} of {tried} refused, digest {found}; the last one: {words}")
}

#[test]
fn damaged_checkpoints_are_refused_as_recorded() {
    let mut lines = Vec::new();
    for method in Method::ALL {
        let options = IntegratorOptions::with_tolerance(1e-7);
        let mut run = Adaptive::new(method, 2, options).unwrap();
        let mut restored = |saved: &[u64]| {
            run.restore(saved)?;
            Ok(run.checkpoint())
        };
        let whole = begin(method, options, &mut Crossings, &[0.25, 1.0]).unwrap();
        let saved = whole.checkpoint();
        lines.push(damaged(
            &format!("{method} at first"),
            &saved,
            &mut restored,
        ));
        // with numbers that are those of every system
        let mut whole = whole.clone();
        whole
            .start(&mut plain(2, oscillator), 0.0, &[0.25, 1.0])
            .unwrap();
        for _ in 0..3 {
            whole.step(&mut plain(2, oscillator), 1e3).unwrap();
        }
        let saved = whole.checkpoint();
        lines.push(damaged(&method.to_string(), &saved, &mut restored));
    }
    for method in FixedMethod::ALL {
        let mut run = Fixed::new(method, 2, 2, 0.25).unwrap();
        let mut whole = run.clone();
        whole.start(1.0, &[0.5, 1.0], &[0.25, 3.0]).unwrap();
        for steps in [0, 5] {
            for _ in 0..steps {
                whole.step(&mut Free).unwrap();
            }
            let saved = whole.checkpoint();
            lines.push(damaged(
                &format!("{method} after {steps}"),
                &saved,
                |saved| {
                    run.restore(saved)?;
                    Ok(run.checkpoint())
                },
            ));
        }
    }
    let problem = implicit_problems::robertson(40.0);
    let mut implicit = recorded(Box::new(problem.implicit()));
    let options = BdfOptions {
        max_order: 4,
        ..BdfOptions::with_tolerance(1e-5)
    };
    let mut bdf = Bdf::new(3, options).unwrap();
    let mut whole = bdf.clone();
    whole
        .start(&mut implicit, 0.0, &problem.x, &problem.xdot)
        .unwrap();
    for steps in [0, 30] {
        for _ in 0..steps {
            whole.step(&mut implicit, 40.0).unwrap();
        }
        let saved = whole.checkpoint();
        lines.push(damaged(
            &format!("implicit after {steps}"),
            &saved,
            |saved| {
                bdf.restore(&mut implicit, saved)?;
                Ok(bdf.checkpoint())
            },
        ));
    }
    lines.push(format!("asked {}", implicit.digest));
    compare("checkpoints.txt", &lines);
}

/// Two masses without forces.
struct Free;

impl catena::integrate::Mechanical for Free {
    fn position_count(&self) -> usize {
        2
    }

    fn velocity_count(&self) -> usize {
        2
    }

    fn acceleration(&mut self, _t: f64, _q: &[f64], _v: &[f64], vdot: &mut [f64]) -> Result<()> {
        vdot.fill(0.5);
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
        q[1] += delta[1];
    }
}

/// Ends that are asked of a step from 0.5.
const ENDS: [f64; 5] = [0.0, 0.5, f64::NAN, f64::NEG_INFINITY, f64::INFINITY];

/// Times outside a step, at its ends and in its middle, and none.
fn around(begin: f64, end: f64) -> [f64; 6] {
    [
        begin.next_down(),
        begin,
        0.5 * (begin + end),
        end,
        end.next_up(),
        f64::NAN,
    ]
}

/// Settings and calls that make no sense, in addition to those that do.
#[test]
fn senseless_calls_are_refused_as_recorded() {
    let mut lines = Vec::new();
    let mut add = |what: String, outcome: std::result::Result<(), Error>| {
        let words = outcome.map_or_else(|error| in_words(&error), |()| "accepted".to_string());
        lines.push(format!("{what}: {words}"));
    };
    let strange = [
        -1.0,
        0.0,
        1e-9,
        0.5,
        1.0,
        1.0f64.next_up(),
        1e9,
        f64::INFINITY,
        f64::NAN,
    ];
    for a in strange {
        for b in strange {
            let tolerances = Tolerances {
                relative: a,
                absolute: b,
            };
            let options = IntegratorOptions {
                tolerances,
                ..IntegratorOptions::default()
            };
            add(
                format!("{tolerances:?}"),
                Adaptive::new(Method::Dop853, 1, options).map(drop),
            );
            let options = IntegratorOptions {
                min_step: a,
                max_step: b,
                ..IntegratorOptions::default()
            };
            add(
                format!("steps from {a} to {b}"),
                Adaptive::new(Method::Dop853, 1, options).map(drop),
            );
            let options = BdfOptions {
                newton_tolerance: a,
                initial_step: Some(b),
                ..BdfOptions::default()
            };
            add(
                format!("Newton's tolerance {a}, first step {b}"),
                Bdf::new(1, options).map(drop),
            );
        }
        for method in FixedMethod::ALL {
            add(
                format!("{method}, {a}"),
                Fixed::new(method, 1, 1, a).map(drop),
            );
        }
    }
    for count in 0..8 {
        for (what, options) in [
            (
                "order",
                BdfOptions {
                    max_order: count,
                    ..BdfOptions::default()
                },
            ),
            (
                "iterations",
                BdfOptions {
                    newton_iterations: count,
                    ..BdfOptions::default()
                },
            ),
            (
                "parts",
                BdfOptions {
                    event_parts: count,
                    ..BdfOptions::default()
                },
            ),
        ] {
            add(format!("{what} {count}"), Bdf::new(1, options).map(drop));
        }
    }
    for name in ["dopri5", "rk4", "euler", "verner9 "] {
        add(name.to_string(), name.parse::<Method>().map(drop));
        add(name.to_string(), name.parse::<FixedMethod>().map(drop));
    }

    let mut system = plain(2, oscillator);
    let mut run = Adaptive::new(Method::Verner6, 2, IntegratorOptions::default()).unwrap();
    for (t, y) in [
        (0.0, &[f64::NAN, 0.0][..]),
        (0.0, &[0.0, f64::INFINITY]),
        (0.0, &[0.0]),
        (0.0, &[0.0; 3]),
        (f64::NAN, &[0.0, 1.0]),
        (f64::INFINITY, &[0.0, 1.0]),
        (0.5, &[0.0, 1.0]),
    ] {
        add(format!("{t} {y:?}"), run.start(&mut system, t, y));
    }
    let mut y = [0.0; 2];
    add(
        "before a step".to_string(),
        run.interpolate(&mut system, 0.4, &mut y),
    );
    for end in ENDS {
        let outcome = run.step(&mut system, end).map(drop);
        add(format!("to {end}"), outcome);
    }
    let (begin, end) = (run.before().0, run.time());
    for t in around(begin, end) {
        let outcome = run.interpolate(&mut system, t, &mut y);
        add(format!("at {t}"), outcome);
    }
    add(
        "a short point".to_string(),
        run.interpolate(&mut system, end, &mut [0.0]),
    );
    add(
        "another system".to_string(),
        run.start(&mut plain(3, oscillator), 0.0, &[0.0; 3]),
    );
    add(
        "other events".to_string(),
        run.step(&mut Crossings, 9.0).map(drop),
    );

    let mut run = Fixed::new(FixedMethod::RungeKutta4, 2, 2, 0.25).unwrap();
    for (t, q, v) in [
        (0.0, &[f64::NAN, 0.0][..], &[0.0; 2][..]),
        (0.0, &[0.0; 2], &[0.0, f64::INFINITY]),
        (0.0, &[0.0], &[0.0; 2]),
        (0.0, &[0.0; 2], &[0.0]),
        (f64::NAN, &[0.0; 2], &[0.0; 2]),
        (0.5, &[0.0; 2], &[1.0, 2.0]),
    ] {
        add(format!("{t} {q:?} {v:?}"), run.start(t, q, v));
    }
    let (mut q, mut v) = ([0.0; 2], [0.0; 2]);
    add(
        "within no step".to_string(),
        run.interpolate(&mut Free, 0.4, &mut q, &mut v),
    );
    add(
        "no step in halves".to_string(),
        run.in_halves(&mut Free, &mut v),
    );
    add("a step".to_string(), run.step(&mut Free).map(drop));
    for t in [
        0.5f64.next_down(),
        0.5,
        0.6,
        0.75,
        0.75f64.next_up(),
        f64::NAN,
    ] {
        let outcome = run.interpolate(&mut Free, t, &mut q, &mut v);
        add(format!("at {t}"), outcome);
        let outcome = run.clone().restart(t, &[0.0; 2], &[0.0; 2]);
        add(format!("from {t}"), outcome);
    }
    add(
        "short positions".to_string(),
        run.interpolate(&mut Free, 0.75, &mut [0.0], &mut v),
    );
    add(
        "short velocities".to_string(),
        run.interpolate(&mut Free, 0.75, &mut q, &mut [0.0]),
    );
    add(
        "short halves".to_string(),
        run.in_halves(&mut Free, &mut [0.0]),
    );
    add(
        "another system".to_string(),
        run.step(&mut BODY.clone()).map(drop),
    );

    let mut decay = DenseImplicit::new(2, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        (out[0], out[1]) = (rate[0] + x[0], rate[1] + x[1]);
        Ok(())
    });
    let mut three = DenseImplicit::new(3, |_t, x: &[f64], _rate: &[f64], out: &mut [f64]| {
        out.copy_from_slice(x);
        Ok(())
    });
    let mut bdf = Bdf::new(2, BdfOptions::default()).unwrap();
    for (t, x, xdot) in [
        (0.0, &[f64::NAN, 0.0][..], &[0.0; 2][..]),
        (0.0, &[0.0; 2], &[0.0, f64::INFINITY]),
        (0.0, &[0.0], &[0.0; 2]),
        (0.0, &[0.0; 2], &[0.0]),
        (f64::NAN, &[0.0; 2], &[0.0; 2]),
        (0.5, &[1.0, 2.0], &[-1.0, -2.0]),
    ] {
        add(
            format!("{t} {x:?} {xdot:?}"),
            bdf.start(&mut decay, t, x, xdot),
        );
    }
    add(
        "another problem".to_string(),
        bdf.start(&mut three, 0.0, &[0.0; 3], &[0.0; 3]),
    );
    let (mut x, mut xdot) = ([0.0; 2], [0.0; 2]);
    add(
        "within no step".to_string(),
        bdf.interpolate(&mut decay, 0.4, &mut x),
    );
    for end in ENDS {
        let outcome = bdf.step(&mut decay, end).map(drop);
        add(format!("to {end}"), outcome);
    }
    for order in 0..7 {
        let outcome = bdf.clone().step_of(&mut decay, 0.1, order).map(drop);
        add(format!("of order {order}"), outcome);
    }
    for size in strange {
        let outcome = bdf.clone().step_of(&mut decay, size, 1).map(drop);
        add(format!("of {size} s"), outcome);
    }
    let (begin, end) = (bdf.before(&mut x), bdf.time());
    for t in around(begin, end) {
        let outcome = bdf.interpolate(&mut decay, t, &mut x);
        add(format!("at {t}"), outcome);
    }
    add(
        "a short point".to_string(),
        bdf.interpolate(&mut decay, end, &mut [0.0]),
    );
    add(
        "a short rate".to_string(),
        bdf.interpolate_with_rate(&mut decay, end, &mut x, &mut [0.0]),
    );
    add(
        "the end".to_string(),
        bdf.interpolate_with_rate(&mut decay, end, &mut x, &mut xdot),
    );
    add(
        "another problem's step".to_string(),
        bdf.step(&mut three, 9.0).map(drop),
    );
    for absolute in [&[1.0][..], &[0.0, 1.0], &[1.0, -1.0], &[1.0, f64::NAN]] {
        add(
            format!("absolute tolerances {absolute:?}"),
            bdf.set_absolute_tolerances(absolute),
        );
    }
    let point = [1.0, 2.0];
    let never = [f64::NAN, 2.0];
    for (times, size) in [
        (&[0.0, -0.1][..], 0.1),
        (&[0.0][..], 0.1),
        (&[0.0, -0.1, -0.2, -0.3, -0.4, -0.5], 0.1),
        (&[0.0, -0.1, -0.2, -0.3, -0.4, -0.5, -0.6], 0.1),
        (&[0.0, 0.1], 0.1),
        (&[0.0, 0.0], 0.1),
        (&[f64::NAN, 0.0], 0.1),
        (&[0.0, -0.1], 0.0),
        (&[0.0, -0.1], f64::INFINITY),
        (&[0.0, -0.1], f64::NAN),
    ] {
        let points = vec![&point[..]; times.len()];
        add(
            format!("a past of {times:?}, {size} s"),
            bdf.start_with_history(&mut decay, times, &points, size),
        );
    }
    for points in [
        vec![&point[..]; 3],
        vec![&point[..], &point[..1]],
        vec![&point[..], &never[..]],
    ] {
        add(
            format!("a past of {points:?}"),
            bdf.start_with_history(&mut decay, &[0.0, -0.1], &points, 0.1),
        );
    }
    compare("refusals.txt", &lines);
}
