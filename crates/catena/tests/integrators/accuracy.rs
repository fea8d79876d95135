//! Accuracy on smooth problems and over long runs.

use super::systems::*;
use catena::Result;
use catena::integrate::{Fixed, FixedMethod, IntegratorOptions, Mechanical, Method, System};

#[test]
fn every_method_reaches_round_off_on_smooth_problems() {
    for method in Method::ALL {
        let options = IntegratorOptions::with_tolerance(1e-14);
        let end = 2.0;
        let run = solve(method, options, &mut plain(2, oscillator), &[1.0, 0.0], end).unwrap();
        let oscillator_error = distance(run.y(), &[end.cos(), -end.sin()]);
        let run = solve(method, options, &mut plain(1, growth), &[1.0], end).unwrap();
        let growth_error = (run.y()[0] - end.sin().exp()).abs();
        let run = solve(
            method,
            options,
            &mut plain(4, kepler),
            &kepler_exact(0.0),
            end,
        )
        .unwrap();
        let orbit_error = distance(run.y(), &kepler_exact(end));
        println!("{method}: floors {oscillator_error:.1e} {growth_error:.1e} {orbit_error:.1e}");
        assert!(oscillator_error < 1e-13, "{method}: {oscillator_error}");
        assert!(growth_error < 1e-13, "{method}: {growth_error}");
        assert!(orbit_error < 1e-13, "{method}: {orbit_error}");
    }
}

#[test]
fn the_arenstorf_orbit_closes() {
    for method in Method::ALL {
        let run = solve(
            method,
            IntegratorOptions::with_tolerance(1e-13),
            &mut plain(4, arenstorf),
            &ARENSTORF_START,
            ARENSTORF_PERIOD,
        )
        .unwrap();
        let gap = distance(&run.y()[..2], &ARENSTORF_START[..2]);
        println!("{method}: Arenstorf gap {gap:.1e}, {:?}", run.statistics());
        assert!(gap < 1e-6, "{method}: {gap}");
    }
}

/// Numbers of SciPy 1.17.1: `solve_ivp(f, (0, T), y0, method="DOP853", rtol=1e-12, atol=1e-13)`; its `RK45` at the same
/// tolerances agrees with them to the digits tested.
#[test]
fn results_are_those_of_scipy() {
    let lorenz = |_t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = 10.0 * (y[1] - y[0]);
        dy[1] = y[0] * (28.0 - y[2]) - y[1];
        dy[2] = y[0] * y[1] - 8.0 / 3.0 * y[2];
    };
    let van_der_pol = |_t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = y[1];
        dy[1] = 2.0 * (1.0 - y[0] * y[0]) * y[1] - y[0];
    };
    for method in Method::ALL {
        let options = IntegratorOptions::with_tolerance(1e-13);
        let run = solve(method, options, &mut plain(3, lorenz), &[1.0; 3], 2.0).unwrap();
        let scipy = [-8.173499932237998, -9.562023686796717, 24.620702049672495];
        assert!(distance(run.y(), &scipy) < 2e-10, "{method}: {:?}", run.y());
        let run = solve(
            method,
            options,
            &mut plain(2, van_der_pol),
            &[2.0, 0.0],
            10.0,
        )
        .unwrap();
        let scipy = [0.841553652196352, -1.0890478568259154];
        assert!(distance(run.y(), &scipy) < 5e-12, "{method}: {:?}", run.y());
        let run = solve(
            method,
            options,
            &mut plain(4, arenstorf),
            &ARENSTORF_START,
            8.0,
        )
        .unwrap();
        let scipy = [
            -1.1745535072768243,
            -0.2759450770204743,
            -0.25317074997009614,
            0.44737674786144654,
        ];
        assert!(distance(run.y(), &scipy) < 1e-10, "{method}: {:?}", run.y());
    }
}

#[test]
fn quaternions_stay_unit_over_a_hundred_thousand_steps() {
    for method in [Method::DormandPrince5, Method::Verner9] {
        let mut system = BODY;
        let options = IntegratorOptions {
            max_step: 0.01,
            ..IntegratorOptions::with_tolerance(1e-10)
        };
        let mut run = begin(method, options, &mut system, &BODY_START).unwrap();
        let energy = BODY.energy(&BODY_START[4..]);
        let mut y = [0.0; 7];
        for k in 0..100_000 {
            run.step(&mut system, f64::INFINITY).unwrap();
            assert!((norm(&run.y()[..4]) - 1.0).abs() < 1e-14);
            if k % 100 == 0 {
                let middle = run.time() - 0.003;
                run.interpolate(&mut system, middle, &mut y).unwrap();
                assert!((norm(&y[..4]) - 1.0).abs() < 1e-14);
            }
        }
        let drift = BODY.energy(&run.y()[4..]) / energy - 1.0;
        println!("{method}: energy drift {drift:.1e} at t = {} s", run.time());
        assert!(drift.abs() < 1e-9, "{method}: {drift}");
    }
}

/// Greatest energy error in the first and in the last tenth of a run.
fn energy_errors(method: FixedMethod, step: f64, steps: u32) -> (f64, f64) {
    let (q, v) = ([1.2], [0.3]);
    let mut run = Fixed::new(method, 1, 1, step).unwrap();
    run.start(0.0, &q, &v).unwrap();
    let energy = Pendulum::energy(&q, &v);
    let (mut first, mut last) = (0f64, 0f64);
    for k in 0..steps {
        run.step(&mut Pendulum).unwrap();
        let error = (Pendulum::energy(run.q(), run.v()) - energy).abs() / 9.81;
        if k < steps / 10 {
            first = first.max(error);
        }
        if k >= steps - steps / 10 {
            last = last.max(error);
        }
    }
    (first, last)
}

#[test]
fn energy_error_stays_bounded_over_a_million_steps() {
    let step = 0.01;
    let (first, last) = energy_errors(FixedMethod::ImplicitMidpoint, step, 1_000_000);
    println!("implicit midpoint: {first:.4e} first, {last:.4e} last tenth");
    assert!(first < step * step);
    assert!((last / first - 1.0).abs() < 1e-3, "{first} {last}");
    let (half, _) = energy_errors(FixedMethod::ImplicitMidpoint, step / 2.0, 10_000);
    assert!(
        ((first / half).log2() - 2.0).abs() < 0.1,
        "not of order h²: {first} {half}"
    );

    let (first, last) = energy_errors(FixedMethod::SemiImplicitEuler, step, 1_000_000);
    println!("semi-implicit Euler: {first:.4e} first, {last:.4e} last tenth");
    assert!(first < 2.0 * step);
    assert!((last / first - 1.0).abs() < 1e-3, "{first} {last}");
}

#[test]
fn midpoint_keeps_the_rigid_body() {
    let mut system = BODY;
    let run = fixed_run(
        FixedMethod::ImplicitMidpoint,
        &mut system,
        &BODY_START[..4],
        &BODY_START[4..],
        100_000,
        1000.0,
    );
    // the midpoint rule keeps quadratic invariants: the energy of Euler's equations is one
    let drift = BODY.energy(run.v()) / BODY.energy(&BODY_START[4..]) - 1.0;
    println!(
        "implicit midpoint: energy drift {drift:.1e}, {:.2} evaluations per step",
        run.statistics().evaluations as f64 / 1e5
    );
    assert!(drift.abs() < 1e-11, "{drift}");
    assert!((norm(run.q()) - 1.0).abs() < 1e-15);
    assert!(run.statistics().evaluations < 1_000_000);
}

/// Iterations end relative to the motion, however small it is: a pendulum at 2⁻²⁰ rad is linear to 1e-12, and the midpoint rule keeps the energy of what is
/// linear.
#[test]
fn midpoint_keeps_the_energy_of_small_motions() {
    let start = 2f64.powi(-20);
    let energy = |q: f64, v: f64| v * v + 9.81 * q * q;
    let run = fixed_run(
        FixedMethod::ImplicitMidpoint,
        &mut Pendulum,
        &[start],
        &[0.0],
        1000,
        10.0,
    );
    let drift = energy(run.q()[0], run.v()[0]) / energy(start, 0.0) - 1.0;
    assert!(drift.abs() < 1e-10, "{drift}");
}

/// A stiff linear spring, on which a plain iteration of the midpoint rule diverges.
struct StiffSpring;

impl Mechanical for StiffSpring {
    fn position_count(&self) -> usize {
        1
    }

    fn velocity_count(&self) -> usize {
        1
    }

    fn acceleration(&mut self, _t: f64, q: &[f64], _v: &[f64], vdot: &mut [f64]) -> Result<()> {
        vdot[0] = -900.0 * q[0];
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
    }
}

/// A linear motion of 2⁻³⁰ or 2³⁰ times the size takes as many iterations, and every bit of it is scaled.
#[test]
fn midpoint_iterates_independently_of_the_scale() {
    let motion = |scale: f64| {
        let mut run = Fixed::new(FixedMethod::ImplicitMidpoint, 1, 1, 0.1).unwrap();
        run.start(0.0, &[scale], &[0.3 * scale]).unwrap();
        for _ in 0..50 {
            run.step(&mut StiffSpring).unwrap();
        }
        let evaluations = run.statistics().evaluations;
        (run.q()[0] / scale, run.v()[0] / scale, evaluations)
    };
    let unscaled = motion(1.0);
    assert!(unscaled.2 < 50 * 6, "{} evaluations", unscaled.2);
    for exponent in [-30, 30] {
        assert_eq!(motion(2f64.powi(exponent)), unscaled, "2^{exponent}");
    }
}

/// The oscillator with this many integrals that stay zero, and one that is hard.
struct Accompanied {
    zeros: usize,
    hard: bool,
}

impl System for Accompanied {
    fn dimension(&self) -> usize {
        3 + self.zeros
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        dy.fill(0.0);
        oscillator(t, y, dy);
        dy[2] = if self.hard { (40.0 * t).sin() } else { 0.0 };
        Ok(())
    }

    fn integrals(&self) -> usize {
        1 + self.zeros
    }
}

/// Integrals that are easy do not loosen the steps of the motion, and hard ones are followed to the tolerance.
#[test]
fn integrals_are_measured_apart() {
    for method in Method::ALL {
        let options = IntegratorOptions::with_tolerance(1e-8);
        let alone = solve(method, options, &mut plain(2, oscillator), &[1.0, 0.0], 5.0).unwrap();
        let with = |zeros: usize, hard: bool| {
            let mut start = vec![0.0; 3 + zeros];
            start[0] = 1.0;
            solve(
                method,
                options,
                &mut Accompanied { zeros, hard },
                &start,
                5.0,
            )
            .unwrap()
        };
        for zeros in [0, 50] {
            let run = with(zeros, false);
            assert_eq!(&run.y()[..2], alone.y(), "{method}");
            assert_eq!(run.statistics(), alone.statistics(), "{method}");
        }
        let run = with(0, true);
        assert!(
            run.statistics().steps > 2 * alone.statistics().steps,
            "{method}"
        );
        let exact = (1.0 - 200f64.cos()) / 40.0;
        assert!(
            (run.y()[2] - exact).abs() < 1e-6,
            "{method}: {}",
            run.y()[2] - exact
        );
    }
}

/// Springs about places far from the origin, almost at rest: round-off of the positions is larger than what the accelerations change, and an implicit step
/// ends there.
#[test]
fn far_from_the_origin_round_off_ends_an_iteration() {
    struct Far(f64);
    impl Mechanical for Far {
        fn position_count(&self) -> usize {
            2
        }
        fn velocity_count(&self) -> usize {
            2
        }
        fn acceleration(&mut self, _t: f64, q: &[f64], _v: &[f64], a: &mut [f64]) -> Result<()> {
            let (x, y) = (q[0] - self.0, q[1] - self.0);
            (a[0], a[1]) = (30.0 * y - 70.0 * x, 30.0 * x - 90.0 * y);
            Ok(())
        }
        fn step(&mut self, q: &mut [f64], delta: &[f64]) {
            q[0] += delta[0];
            q[1] += delta[1];
        }
    }
    for far in [1e3, 1e6, 1e9, 1e12] {
        let near = 1e3 * f64::EPSILON * far;
        let mut run = Fixed::new(FixedMethod::ImplicitMidpoint, 2, 2, 0.05).unwrap();
        run.start(0.0, &[far + near, far - 0.3 * near], &[0.0; 2])
            .unwrap();
        for _ in 0..200 {
            run.step(&mut Far(far))
                .unwrap_or_else(|error| panic!("{far:e}: {error}"));
        }
        assert!(
            (run.q()[0] - far).abs() < 3.0 * near,
            "{far:e}: {:?}",
            run.q()
        );
    }
}
