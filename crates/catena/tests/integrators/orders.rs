//! Errors fall with the order of the method.

use super::systems::*;
use catena::integrate::{FixedMethod, IntegratorOptions, Method};

#[test]
fn errors_fall_with_the_order_of_the_method_when_steps_are_halved() {
    for method in Method::ALL {
        // fine enough for the leading term of the error to rule, coarse enough for round-off not to
        let steps: i32 = match method.order() {
            5 | 6 => 128,
            8 => 48,
            _ => 24,
        };
        let error = |steps: i32| {
            let end = 5.0;
            let options = even_steps(end / f64::from(steps));
            let mut system = plain(4, kepler);
            let mut run = begin(method, options, &mut system, &kepler_exact(0.0)).unwrap();
            let mut orbit = 0f64;
            while run.time() < end {
                run.step(&mut system, end).unwrap();
                orbit = orbit.max(distance(run.y(), &kepler_exact(run.time())));
            }
            assert_eq!(run.statistics().steps, steps as u64);
            let run = solve(method, options, &mut plain(1, growth), &[1.0], end).unwrap();
            (orbit, (run.y()[0] - end.sin().exp()).abs())
        };
        let (coarse, fine) = (error(steps), error(2 * steps));
        let orbit = (coarse.0 / fine.0).log2();
        println!(
            "{method}: order {orbit:.2} on Kepler ({:.1e} → {:.1e}); in time {:.1e} → {:.1e}",
            coarse.0, fine.0, coarse.1, fine.1
        );
        let above = orbit - method.order() as f64;
        assert!(above > -0.35 && above < 0.75, "{method}: {orbit}");
        assert!(fine.1 < coarse.1 || fine.1 < 1e-13, "{method} in time");
    }
}

#[test]
fn dense_output_has_its_order() {
    for method in Method::ALL {
        let order = method.tableau().dense_order as f64 + 1.0;
        // error within the first step, from the exact beginning: h^(order + 1)
        let error = |size: f64| {
            let mut system = plain(4, kepler);
            let mut run = begin(method, even_steps(size), &mut system, &kepler_exact(0.0)).unwrap();
            run.step(&mut system, 10.0).unwrap();
            let mut y = [0.0; 4];
            (1..20).fold(0.0, |worst: f64, k| {
                let t = size * f64::from(k) / 20.0;
                run.interpolate(&mut system, t, &mut y).unwrap();
                worst.max(distance(&y, &kepler_exact(t)))
            })
        };
        let size = if order > 7.5 { 0.3 } else { 0.1 };
        let (coarse, fine) = (error(size), error(size / 2.0));
        let measured = (coarse / fine).log2();
        println!("{method}: error of dense output h^{measured:.2} ({coarse:.1e} → {fine:.1e})");
        assert!((measured - order).abs() < 0.6, "{method}: {measured}");
    }
}

#[test]
fn dense_output_joins_with_its_derivative() {
    for method in Method::ALL {
        let mut system = plain(4, kepler);
        let mut run = begin(
            method,
            IntegratorOptions::with_tolerance(1e-9),
            &mut system,
            &kepler_exact(0.0),
        )
        .unwrap();
        let mut y = [0.0; 4];
        for _ in 0..5 {
            run.step(&mut system, 10.0).unwrap();
            let delta = 1e-6;
            run.interpolate(&mut system, run.time() - delta, &mut y)
                .unwrap();
            for (k, slope) in run.derivative().iter().enumerate() {
                let found = (run.y()[k] - y[k]) / delta;
                assert!(
                    (found - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{method}"
                );
            }
            run.interpolate(&mut system, run.time(), &mut y).unwrap();
            assert_eq!(y, run.y());
            assert!(
                run.interpolate(&mut system, run.time() + 1e-9, &mut y)
                    .is_err()
            );
        }
    }
}

#[test]
fn fixed_methods_have_their_order_on_the_manifold() {
    let end = 3.0;
    let mut system = TorsionBody(BODY);
    let exact = solve(
        Method::Verner9,
        IntegratorOptions::with_tolerance(1e-14),
        &mut system,
        &BODY_START,
        end,
    )
    .unwrap();
    for method in FixedMethod::ALL {
        let mut error = |steps| {
            let run = fixed_run(
                method,
                &mut system,
                &BODY_START[..4],
                &BODY_START[4..],
                steps,
                end,
            );
            assert!((run.time() - end).abs() < 1e-14);
            assert!((norm(run.q()) - 1.0).abs() < 1e-15);
            let y: Vec<f64> = run.q().iter().chain(run.v()).copied().collect();
            distance(&y, exact.y())
        };
        let (coarse, fine) = (error(200), error(400));
        let order = (coarse / fine).log2();
        println!("{method}: order {order:.2} ({coarse:.1e} → {fine:.1e})");
        assert!(
            (order - method.order() as f64).abs() < 0.15,
            "{method}: {order}"
        );
    }
}
