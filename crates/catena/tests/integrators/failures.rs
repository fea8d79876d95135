//! What cannot be integrated is an error that says why and when.

use super::systems::*;
use catena::integrate::{
    Adaptive, Fixed, FixedMethod, IntegratorOptions, Mechanical, Method, System, Tolerances,
};
use catena::{Error, ErrorKind, Result};

#[test]
fn a_motion_that_reaches_infinity_is_an_error_with_its_time() {
    for method in Method::ALL {
        // y = 1/(1 − t)
        let mut system = plain(2, |_t, y: &[f64], dy: &mut [f64]| {
            dy[0] = 0.0;
            dy[1] = y[1] * y[1];
        });
        let mut run = begin(
            method,
            IntegratorOptions::default(),
            &mut system,
            &[1.0, 1.0],
        )
        .unwrap();
        let error = loop {
            if let Err(error) = run.step(&mut system, 2.0) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Integration);
        assert!((run.time() - 1.0).abs() < 1e-6, "{method}: {}", run.time());
        assert_eq!(run.worst_component(), Some(1));
        assert!(run.y().iter().all(|x| x.is_finite()));
        assert!(error.message().contains("component 1"), "{error}");
        assert!(error.message().contains("at t = "), "{error}");
    }
}

/// Fails in a stated way from t = 1 on.
struct Breaks(Option<f64>);

impl System for Breaks {
    fn dimension(&self) -> usize {
        1
    }

    fn derivative(&mut self, t: f64, _y: &[f64], dy: &mut [f64]) -> Result<()> {
        if t > 1.0 {
            dy[0] = self.0.ok_or_else(|| {
                Error::new(ErrorKind::Singular, "joint `wrist` cannot move").hint("look at it")
            })?;
        } else {
            dy[0] = 1.0;
        }
        Ok(())
    }
}

#[test]
fn a_failing_derivative_is_approached_and_then_reported() {
    for method in Method::ALL {
        for value in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            let mut system = Breaks(value);
            let mut run = begin(method, IntegratorOptions::default(), &mut system, &[0.0]).unwrap();
            let error = loop {
                if let Err(error) = run.step(&mut system, 3.0) {
                    break error;
                }
            };
            assert!(run.time() > 1.0 - 1e-9, "{method}: {}", run.time());
            assert!((run.y()[0] - run.time()).abs() < 1e-12);
            assert!(error.message().contains("at t = "), "{error}");
            if value.is_none() {
                assert_eq!(error.kind(), ErrorKind::Singular);
                assert!(error.message().contains("wrist"), "{error}");
                assert!(error.advice().unwrap().contains("look at it"));
            } else {
                assert_eq!(error.kind(), ErrorKind::Integration);
            }
        }
    }
}

#[test]
fn senseless_settings_are_refused() {
    let refused = |options: IntegratorOptions| {
        assert!(
            Adaptive::new(Method::Dop853, 1, options).is_err(),
            "{options:?}"
        );
    };
    refused(IntegratorOptions::with_tolerance(0.0));
    refused(IntegratorOptions::with_tolerance(f64::NAN));
    for (relative, absolute) in [
        (-1e-6, 1e-6),
        (f64::INFINITY, 1e-6),
        (1e-6, -1e-6),
        (1e-6, f64::INFINITY),
        (0.0, 0.0),
    ] {
        refused(IntegratorOptions {
            tolerances: Tolerances { relative, absolute },
            ..IntegratorOptions::default()
        });
    }
    for (min_step, max_step) in [
        (0.0, 0.0),
        (0.0, f64::NAN),
        (0.1, 0.1),
        (-1.0, 1.0),
        (f64::INFINITY, f64::INFINITY),
    ] {
        refused(IntegratorOptions {
            min_step,
            max_step,
            ..IntegratorOptions::default()
        });
    }
    for first in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        refused(IntegratorOptions {
            initial_step: Some(first),
            ..IntegratorOptions::default()
        });
    }
    refused(IntegratorOptions {
        event_parts: 0,
        ..IntegratorOptions::default()
    });
    let mut system = plain(2, oscillator);
    let mut run = Adaptive::new(Method::Dop853, 2, IntegratorOptions::default()).unwrap();
    assert!(run.start(&mut system, 0.0, &[f64::NAN, 0.0]).is_err());
    assert!(run.start(&mut system, 0.0, &[0.0]).is_err());
    assert!(run.start(&mut system, f64::NAN, &[0.0, 1.0]).is_err());
    run.start(&mut system, 0.0, &[0.0, 1.0]).unwrap();
    assert!(run.step(&mut system, 0.0).is_err());
    assert!(run.step(&mut system, f64::NAN).is_err());
    assert!(Fixed::new(FixedMethod::RungeKutta4, 1, 1, 0.0).is_err());
    assert!(Fixed::new(FixedMethod::RungeKutta4, 1, 1, f64::NAN).is_err());
    assert!(
        "euler"
            .parse::<Method>()
            .unwrap_err()
            .advice()
            .unwrap()
            .contains("dop853")
    );
    for method in Method::ALL {
        assert_eq!(method.name().parse::<Method>().unwrap(), method);
    }
    for method in FixedMethod::ALL {
        assert_eq!(method.name().parse::<FixedMethod>().unwrap(), method);
    }
}

#[test]
fn the_smallest_step_is_no_obstacle_where_it_suffices() {
    for method in Method::ALL {
        // far from time zero, where Hairer's first step may be below the spacing of numbers
        let mut system: Box<dyn System> = Box::new(plain(2, oscillator));
        let mut run = Adaptive::new(method, 2, IntegratorOptions::default()).unwrap();
        run.start(system.as_mut(), 1e10, &[0.0, 1.0]).unwrap();
        while run.time() < 1e10 + 1.0 {
            run.step(system.as_mut(), 1e10 + 1.0).unwrap();
        }
        assert!((run.y()[0] - 1f64.sin()).abs() < 1e-5, "{method}");

        let options = IntegratorOptions {
            min_step: 1e-3,
            ..IntegratorOptions::with_tolerance(1e-5)
        };
        let run = solve(method, options, &mut plain(2, oscillator), &[0.0, 1.0], 1.0).unwrap();
        assert!((run.y()[0] - 1f64.sin()).abs() < 1e-4, "{method}");
        let options = IntegratorOptions {
            min_step: 0.5,
            ..IntegratorOptions::with_tolerance(1e-14)
        };
        let error = solve(
            method,
            options,
            &mut plain(4, kepler),
            &kepler_exact(0.0),
            9.0,
        );
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Integration);
    }
}

#[test]
fn an_implicit_step_that_does_not_converge_is_an_error() {
    struct Stiff;
    impl Mechanical for Stiff {
        fn position_count(&self) -> usize {
            1
        }
        fn velocity_count(&self) -> usize {
            1
        }
        fn acceleration(&mut self, _t: f64, q: &[f64], _v: &[f64], a: &mut [f64]) -> Result<()> {
            a[0] = if q[0] > 0.0 { -1e9 } else { 1e9 };
            Ok(())
        }
        fn step(&mut self, q: &mut [f64], delta: &[f64]) {
            q[0] += delta[0];
        }
    }
    let mut run = Fixed::new(FixedMethod::ImplicitMidpoint, 1, 1, 0.1).unwrap();
    run.start(5.0, &[1.0], &[0.0]).unwrap();
    let error = run.step(&mut Stiff).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Integration);
    assert!(error.message().contains("at t = 5 s"), "{error}");
    assert_eq!(
        (run.q(), run.v(), run.time()),
        (&[1.0][..], &[0.0][..], 5.0)
    );
}

/// Impossible between t = 1 and the moment it is mended.
struct Mended(bool);

impl System for Mended {
    fn dimension(&self) -> usize {
        1
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        dy[0] = match t > 1.0 && !self.0 {
            true => f64::NAN,
            false => -y[0],
        };
        Ok(())
    }
}

/// After a step that could not be made, the integrator is as before it: time, solution and the size it would have tried. Tried again
/// it fails in the same words; once the system is mended it continues with steps of the old size.
#[test]
fn a_step_that_failed_leaves_no_trace() {
    let mut system = Mended(false);
    let mut run = begin(
        Method::Tsitouras5,
        IntegratorOptions::with_tolerance(1e-9),
        &mut system,
        &[1.0],
    )
    .unwrap();
    let (first, size) = loop {
        let size = run.next_size();
        if let Err(error) = run.step(&mut system, 3.0) {
            break (error, size);
        }
    };
    assert_eq!(run.next_size(), size);
    let second = run.step(&mut system, 3.0).unwrap_err();
    assert_eq!(first.to_string(), second.to_string());
    system.0 = true;
    let taken = run.statistics().steps;
    while run.time() < 3.0 {
        run.step(&mut system, 3.0).unwrap();
    }
    assert!((run.y()[0] - (-3.0f64).exp()).abs() < 1e-8);
    assert!(
        run.statistics().steps - taken < 60,
        "{:?}",
        run.statistics()
    );
}
