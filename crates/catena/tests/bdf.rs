//! The implicit integrator: its order, known answers, constraints, events, restarts, refusals.

mod implicit_problems;

use catena::integrate::Tolerances;
use catena::integrate::bdf::{
    Bdf, BdfOptions, BdfStatistics, DenseImplicit, Given, Implicit, MAX_ORDER, Role,
};
use catena::residual::larger;
use catena::{ErrorKind, Result};
use implicit_problems::Problem;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system allocator; counting touches only a thread-local cell.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: likewise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A nonlinear problem with an algebraic unknown; the solution is (sin t, cos t, sin t cos t).
fn circle() -> impl Implicit {
    DenseImplicit::new(3, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] - x[1];
        out[1] = rate[1] + x[0] + 3.0 * x[1] * (x[0] * x[0] + x[1] * x[1] - 1.0);
        out[2] = x[2] - x[0] * x[1];
        Ok(())
    })
    .with_role(2, Role::Algebraic { index: 1 })
    .with_names(&["sine", "cosine", "product"])
    .with_events(1, |_t, x, values| values[0] = x[0] - 0.25)
}

fn on_circle(t: f64) -> [f64; 3] {
    [t.sin(), t.cos(), t.sin() * t.cos()]
}

/// Tolerance so tight that Newton's method always converges to round-off.
fn exact_newton() -> BdfOptions {
    BdfOptions {
        newton_tolerance: 1e-4,
        newton_iterations: 10,
        ..BdfOptions::with_tolerance(1e-9)
    }
}

/// Largest error up to t = 2 with steps whose sizes alternate as 1 : ratio, order and past given.
fn error_to_two(order: usize, pairs: usize, ratio: f64) -> f64 {
    let short = 2.0 / (pairs as f64 * (1.0 + ratio));
    let sizes = [short, short * ratio];
    // the past has the same rhythm
    let mut times = vec![0.0];
    while times.len() <= order {
        let last = times[times.len() - 1];
        times.push(last - sizes[times.len() % 2]);
    }
    let points: Vec<[f64; 3]> = times.iter().map(|t| on_circle(*t)).collect();
    let points: Vec<&[f64]> = points.iter().map(|p| &p[..]).collect();
    let mut problem = circle();
    let mut bdf = Bdf::new(3, exact_newton()).unwrap();
    bdf.start_with_history(&mut problem, &times, &points, short)
        .unwrap();
    let mut worst: f64 = 0.0;
    for k in 0..2 * pairs {
        bdf.step_of(&mut problem, sizes[k % 2], order).unwrap();
        let exact = on_circle(bdf.time());
        for i in 0..3 {
            worst = larger(worst, (bdf.x()[i] - exact[i]).abs());
        }
    }
    assert!((bdf.time() - 2.0).abs() < 1e-12);
    worst
}

#[test]
fn halving_the_step_shows_the_order_on_even_and_uneven_grids() {
    for order in 1..=MAX_ORDER {
        for ratio in [1.0, 1.3] {
            let pairs = [160, 120, 80, 50, 40][order - 1];
            let (coarse, fine) = (
                error_to_two(order, pairs, ratio),
                error_to_two(order, 2 * pairs, ratio),
            );
            let observed = (coarse / fine).log2();
            // the next term of the error is of relative size h ≲ 0.05
            assert!(
                (observed - order as f64).abs() < 0.15,
                "order {order}, ratio {ratio}: observed {observed} ({coarse:e}, {fine:e})"
            );
        }
    }
}

fn run(problem: &Problem, tolerance: f64) -> (Vec<f64>, BdfStatistics) {
    let options = BdfOptions {
        tolerances: Tolerances {
            relative: tolerance,
            absolute: 0.0,
        },
        exclude_algebraic: problem.algebraic.iter().any(|&(_, index)| index > 1),
        ..BdfOptions::default()
    };
    let mut bdf = Bdf::new(problem.x.len(), options).unwrap();
    let absolute: Vec<f64> = problem.absolute.iter().map(|a| a * tolerance).collect();
    bdf.set_absolute_tolerances(&absolute).unwrap();
    let mut implicit = problem.implicit();
    bdf.start(&mut implicit, 0.0, &problem.x, &problem.xdot)
        .unwrap();
    while bdf.time() < problem.end {
        bdf.step(&mut implicit, problem.end)
            .unwrap_or_else(|e| panic!("{}: {e}", problem.name));
    }
    (bdf.x().to_vec(), bdf.statistics())
}

/// The errors allowed are ten times those measured, which are those of IDA (docs/peers/bdf.md).
#[test]
fn published_values_of_stiff_and_algebraic_problems_are_reached() {
    for (problem, tolerance, allowed) in [
        (implicit_problems::robertson(40.0), 1e-8, 1e-7),
        (implicit_problems::robertson(1e11), 1e-8, 4e-7),
        (implicit_problems::hires(), 1e-8, 1e-6),
        (implicit_problems::van_der_pol(), 1e-8, 2e-6),
        (implicit_problems::akzo_nobel(), 1e-8, 4e-7),
    ] {
        let (x, statistics) = run(&problem, tolerance);
        let error = problem.error(&x);
        assert!(error < allowed, "{}: {error:e}", problem.name);
        // stiffness does not show in the number of steps, and matrices are kept over many of them
        assert!(statistics.steps < 5_000, "{}: {statistics:?}", problem.name);
        assert!(
            statistics.linearizations * 5 < statistics.steps,
            "{}: {statistics:?}",
            problem.name
        );
    }
}

/// Steps, residuals and matrices of IDA at 1e-4, 1e-6, 1e-8 and 1e-10 (docs/peers/bdf.md). It has the same formulas and the same rules for size and order, but
/// not the same Newton iteration: a quarter more or less in a run, and a twentieth in the mean over all runs.
#[test]
fn steps_are_chosen_as_by_ida() {
    let (mut sum, mut runs) = ([0.0; 3], 0.0);
    for (problem, ida) in [
        (
            implicit_problems::robertson(40.0),
            [
                [131, 175, 35],
                [285, 399, 42],
                [425, 511, 54],
                [904, 1042, 70],
            ],
        ),
        (
            implicit_problems::robertson(1e11),
            [
                [687, 980, 87],
                [1194, 1559, 115],
                [2642, 3279, 157],
                [8625, 12524, 2329],
            ],
        ),
        (
            implicit_problems::hires(),
            [
                [274, 441, 39],
                [509, 802, 49],
                [945, 1263, 70],
                [2156, 2775, 79],
            ],
        ),
        (
            implicit_problems::van_der_pol(),
            [
                [760, 1259, 125],
                [1247, 2042, 129],
                [2986, 4134, 169],
                [6375, 8933, 245],
            ],
        ),
        (
            implicit_problems::akzo_nobel(),
            [
                [140, 217, 22],
                [275, 362, 31],
                [492, 589, 41],
                [887, 1065, 55],
            ],
        ),
    ] {
        for (tolerance, ida) in [1e-4, 1e-6, 1e-8, 1e-10].into_iter().zip(ida) {
            let (_, ours) = run(&problem, tolerance);
            let ours = [ours.steps, ours.residuals, ours.linearizations];
            for k in 0..3 {
                let ratio = ours[k] as f64 / f64::from(ida[k]);
                assert!(
                    (0.75..1.25).contains(&ratio),
                    "{}, {tolerance:e}: {ours:?}, IDA {ida:?}",
                    problem.name
                );
                sum[k] += ratio.ln();
            }
            runs += 1.0;
        }
    }
    for sum in sum {
        let mean = (sum / runs).exp();
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }
}

#[test]
fn pendulum_follows_the_elliptic_functions_at_index_1_and_2() {
    for problem in [
        implicit_problems::pendulum_index_1(),
        implicit_problems::pendulum_stabilised(),
    ] {
        let (x, _) = run(&problem, 1e-10);
        let error = problem.error(&x);
        assert!(error < 2e-6, "{}: {error:e}", problem.name);
    }
    // the stabilised form stays on the constraints to the accuracy of Newton's method, not of the steps
    let (x, _) = run(&implicit_problems::pendulum_stabilised(), 1e-6);
    let length = x[0].hypot(x[1]) - 1.0;
    let along = x[0] * x[2] + x[1] * x[3];
    assert!(
        length.abs() < 1e-8 && along.abs() < 1e-7,
        "{length:e} {along:e}"
    );
}

#[test]
fn car_axis_agrees_with_the_test_set_to_six_digits() {
    let problem = implicit_problems::car_axis();
    for relative in [1e-8, 1e-10] {
        let options = BdfOptions {
            tolerances: Tolerances {
                relative,
                absolute: 0.01 * relative,
            },
            exclude_algebraic: true,
            ..BdfOptions::default()
        };
        let mut bdf = Bdf::new(12, options).unwrap();
        let mut implicit = problem.implicit();
        bdf.start(&mut implicit, 0.0, &problem.x, &problem.xdot)
            .unwrap();
        while bdf.time() < problem.end {
            bdf.step(&mut implicit, problem.end).unwrap();
        }
        for (i, reference) in problem.reference.iter().enumerate() {
            // positions and velocities are of size 1, some of them near zero at the end: at 1e-8 six digits of that size, at
            // 1e-10 six digits of each
            let size = if relative == 1e-8 && i < 8 {
                1.0
            } else {
                reference.abs()
            };
            let error = (bdf.x()[i] - reference).abs() / size;
            assert!(error < 1e-6, "{relative:e}, unknown {i}: {error:e}");
        }
        // the additional multipliers are zero for the exact solution
        assert!(bdf.x()[10].abs() < 1e-6 && bdf.x()[11].abs() < 1e-6);
    }
}

#[test]
fn dense_output_is_continuous_and_as_exact_as_the_steps() {
    let mut problem = circle();
    let mut bdf = Bdf::new(3, BdfOptions::with_tolerance(1e-8)).unwrap();
    bdf.start(&mut problem, 0.0, &on_circle(0.0), &[1.0, 0.0, 1.0])
        .unwrap();
    let (mut x, mut rate) = ([0.0; 3], [0.0; 3]);
    let mut before = bdf.x().to_vec();
    while bdf.time() < 10.0 {
        let step = bdf.step(&mut problem, f64::INFINITY).unwrap();
        bdf.interpolate(&mut problem, step.t_old, &mut x).unwrap();
        let mut again = [0.0; 3];
        assert_eq!(bdf.before(&mut again), step.t_old);
        for i in 0..3 {
            assert!((x[i] - before[i]).abs() < 1e-14, "{i} at {}", step.t_old);
            assert!((again[i] - before[i]).abs() < 1e-14, "{i}: {again:?}");
        }
        for part in [0.25, 0.5, 0.75] {
            let t = step.t_old + part * step.size;
            bdf.interpolate_with_rate(&mut problem, t, &mut x, &mut rate)
                .unwrap();
            let exact = on_circle(t);
            for i in 0..3 {
                // a hundred local errors, as at the ends of the steps
                assert!((x[i] - exact[i]).abs() < 1e-6, "{i} at {t}");
            }
            assert!((rate[0] - t.cos()).abs() < 1e-4);
        }
        before.copy_from_slice(bdf.x());
    }
    assert!(bdf.interpolate(&mut problem, 0.0, &mut x).is_err());
}

#[test]
fn events_are_located_to_round_off_on_the_dense_output() {
    let mut problem = circle();
    let mut bdf = Bdf::new(3, BdfOptions::with_tolerance(1e-9)).unwrap();
    bdf.start(&mut problem, 0.0, &on_circle(0.0), &[1.0, 0.0, 1.0])
        .unwrap();
    let mut found = Vec::new();
    while bdf.time() < 20.0 {
        let step = bdf.step(&mut problem, 20.0).unwrap();
        for event in step.events() {
            let mut x = [0.0; 3];
            bdf.interpolate(&mut problem, event.time, &mut x).unwrap();
            assert!((x[0] - 0.25).abs() < 1e-14, "{x:?}");
            found.push((event.time, event.rising));
        }
    }
    let first = 0.25f64.asin();
    let turn = std::f64::consts::TAU;
    let mut expected = Vec::new();
    for k in 0..4 {
        expected.push((first + turn * f64::from(k), true));
        expected.push((turn / 2.0 - first + turn * f64::from(k), false));
    }
    expected.retain(|e| e.0 < 20.0);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            (found.0 - expected.0).abs() < 1e-6,
            "{found:?} {expected:?}"
        );
        assert_eq!(found.1, expected.1);
    }
}

/// A level that is passed just before a turning point, within a step: as many passages as a search by brute force sees on the dense
/// output.
#[test]
fn no_passage_within_a_step_is_missed() {
    for digits in [3, 4, 5, 6, 8] {
        let mut problem = DenseImplicit::new(2, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
            (out[0], out[1]) = (rate[0] - x[1], rate[1] + x[0]);
            Ok(())
        })
        .with_events(1, |_t, x, values| values[0] = x[0] - 0.97);
        let options = BdfOptions {
            max_order: 2,
            ..BdfOptions::with_tolerance(10f64.powi(-digits))
        };
        let mut bdf = Bdf::new(2, options).unwrap();
        bdf.start(&mut problem, 0.0, &[0.0, 1.0], &[1.0, 0.0])
            .unwrap();
        let (mut found, mut seen, mut is_beyond) = (0, 0, false);
        while bdf.time() < 20.0 {
            let step = bdf.step(&mut problem, 20.0).unwrap();
            found += step.events().len();
            for k in 1..=1000 {
                let part = step.size * f64::from(k) / 1000.0;
                let t = if k == 1000 { step.t } else { step.t_old + part };
                let mut x = [0.0; 2];
                bdf.interpolate(&mut problem, t, &mut x).unwrap();
                if (x[0] >= 0.97) != is_beyond {
                    (seen, is_beyond) = (seen + 1, !is_beyond);
                }
            }
        }
        assert_eq!(found, seen, "1e-{digits}");
        assert!(found >= 2, "1e-{digits}: {found}");
    }
}

#[test]
fn a_checkpoint_continues_to_the_same_bits() {
    let problem = implicit_problems::robertson(40.0);
    let mut whole = Bdf::new(3, BdfOptions::with_tolerance(1e-7)).unwrap();
    let mut implicit = problem.implicit();
    whole
        .start(&mut implicit, 0.0, &problem.x, &problem.xdot)
        .unwrap();
    let mut copies = vec![whole.checkpoint()];
    for _ in 0..120 {
        whole.step(&mut implicit, 40.0).unwrap();
        copies.push(whole.checkpoint());
    }
    for from in [0, 1, 2, 17, 60, 119] {
        let mut again = Bdf::new(3, *whole.options()).unwrap();
        // another problem object: nothing of the old one is needed
        let mut implicit = problem.implicit();
        again.restore(&mut implicit, &copies[from]).unwrap();
        for (k, copy) in copies.iter().enumerate().skip(from + 1) {
            again.step(&mut implicit, 40.0).unwrap();
            assert_eq!(&again.checkpoint(), copy, "from {from}, step {k}");
        }
    }
    let mut other = Bdf::new(3, BdfOptions::with_tolerance(1e-6)).unwrap();
    assert!(other.restore(&mut implicit, &copies[5]).is_err());
    let mut cut = copies[5].clone();
    cut.pop();
    let mut same = Bdf::new(3, BdfOptions::with_tolerance(1e-7)).unwrap();
    assert!(same.restore(&mut implicit, &cut).is_err());
}

#[test]
fn steps_do_not_allocate() {
    let problem = implicit_problems::akzo_nobel();
    let mut implicit = problem.implicit();
    let mut bdf = Bdf::new(6, BdfOptions::with_tolerance(1e-8)).unwrap();
    let mut x = [0.0; 6];
    bdf.start(&mut implicit, 0.0, &problem.x, &problem.xdot)
        .unwrap();
    let before = ALLOCATIONS.with(Cell::get);
    while bdf.time() < 180.0 {
        let step = bdf.step(&mut implicit, 180.0).unwrap();
        bdf.interpolate(&mut implicit, 0.5 * (step.t_old + step.t), &mut x)
            .unwrap();
    }
    assert_eq!(ALLOCATIONS.with(Cell::get), before);
    assert!(bdf.statistics().error_failures > 0);
}

#[test]
fn consistent_values_are_found_from_the_differential_part() {
    // the pendulum of index 1 away from its start, with nothing known of force and accelerations
    let problem = implicit_problems::pendulum_index_1();
    let mut implicit = problem.implicit();
    let mut bdf = Bdf::new(5, BdfOptions::with_tolerance(1e-10)).unwrap();
    let mut x = [0.6, -0.8, 1.6, 1.2, 0.0];
    let mut xdot = [0.0; 5];
    bdf.make_consistent(
        &mut implicit,
        0.0,
        &mut x,
        &mut xdot,
        Given::Differential { scale: 1e-3 },
    )
    .unwrap();
    let force = 4.0 + 9.81 * 0.8;
    assert!((x[4] - force).abs() < 1e-9, "{}", x[4] - force);
    assert_eq!(x[..4], [0.6, -0.8, 1.6, 1.2]);
    for (found, expected) in xdot[..4]
        .iter()
        .zip([1.6, 1.2, -0.6 * force, 0.8 * force - 9.81])
    {
        assert!((found - expected).abs() < 1e-8, "{found} {expected}");
    }
    // a nonlinear one far off, and by its derivative: equilibrium of x + x³ = 10
    let mut cubic = DenseImplicit::new(1, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] + x[0] + x[0].powi(3) - 10.0;
        Ok(())
    });
    let mut bdf = Bdf::new(1, BdfOptions::with_tolerance(1e-10)).unwrap();
    let (mut x, mut xdot) = ([-30.0], [0.0]);
    bdf.make_consistent(&mut cubic, 0.0, &mut x, &mut xdot, Given::Derivatives)
        .unwrap();
    assert!((x[0] - 2.0).abs() < 1e-10, "{x:?}");
    // one equation jumps over zero, the others have a solution: the message names its unknown
    let mut impossible = DenseImplicit::new(3, |_t, x: &[f64], _rate: &[f64], out: &mut [f64]| {
        out[0] = x[0] - 1.0;
        out[1] = x[1] + 1f64.copysign(x[1]);
        out[2] = x[2] + 1.0;
        Ok(())
    });
    let mut bdf = Bdf::new(3, BdfOptions::with_tolerance(1e-10)).unwrap();
    let (mut x, mut xdot) = ([0.9, 0.5, -0.9], [0.0; 3]);
    let error = bdf
        .make_consistent(&mut impossible, 2.0, &mut x, &mut xdot, Given::Derivatives)
        .unwrap_err();
    let expected = "at t = 2 s: no consistent initial values found; unknown 1 changes most";
    assert_eq!(error.message(), expected);
    assert_eq!(x, [0.9, 0.5, -0.9]);
}

#[test]
fn a_projection_keeps_the_manifold_and_costs_no_order() {
    // a plane rotation, kept on the unit circle
    let mut problem = DenseImplicit::new(2, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] + x[1];
        out[1] = rate[1] - x[0];
        Ok(())
    })
    .with_projection(|_t, x| {
        let length = x[0].hypot(x[1]);
        x.iter_mut().for_each(|x| *x /= length);
    });
    let mut errors = Vec::new();
    for tolerance in [1e-7, 1e-10] {
        let mut bdf = Bdf::new(2, BdfOptions::with_tolerance(tolerance)).unwrap();
        bdf.start(&mut problem, 0.0, &[1.0, 0.0], &[0.0, 1.0])
            .unwrap();
        while bdf.time() < 20.0 {
            bdf.step(&mut problem, 20.0).unwrap();
            assert!((bdf.x()[0].hypot(bdf.x()[1]) - 1.0).abs() < 4e-16);
        }
        errors.push((bdf.x()[0] - 20f64.cos()).hypot(bdf.x()[1] - 20f64.sin()));
    }
    assert!(errors[0] < 2e-5 && errors[1] < 2e-8, "{errors:?}");
}

#[test]
fn index_3_runs_when_its_multiplier_is_declared() {
    // the pendulum with the constraint itself; errors of the multiplier are scaled by h², then left out
    for exclude_algebraic in [false, true] {
        let mut problem = DenseImplicit::new(5, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
            out[0] = rate[0] - x[2];
            out[1] = rate[1] - x[3];
            out[2] = rate[2] + x[0] * x[4];
            out[3] = rate[3] + x[1] * x[4] + 9.81;
            out[4] = 0.5 * (x[0] * x[0] + x[1] * x[1] - 1.0);
            Ok(())
        })
        .with_role(2, Role::Algebraic { index: 2 })
        .with_role(3, Role::Algebraic { index: 2 })
        .with_role(4, Role::Algebraic { index: 3 });
        let options = BdfOptions {
            exclude_algebraic,
            ..BdfOptions::with_tolerance(1e-6)
        };
        let mut bdf = Bdf::new(5, options).unwrap();
        bdf.start(
            &mut problem,
            0.0,
            &[-1.0, 0.0, 0.0, 0.0, 0.0],
            &[0.0, 0.0, 0.0, -9.81, 0.0],
        )
        .unwrap();
        while bdf.time() < 1.0 {
            bdf.step(&mut problem, 1.0).unwrap();
        }
        let (x, y) = (0.986_291_751_131_88, -0.165_010_853_125_54);
        let error = (bdf.x()[0] - x).hypot(bdf.x()[1] - y);
        assert!(error < 1e-3, "{exclude_algebraic}: {error:e}");
    }
}

/// k + 1 points of the past allow a step of order k and no more; the step after it may be of order k + 1.
#[test]
fn a_past_allows_the_order_of_its_polynomial() {
    for k in 1..=MAX_ORDER {
        let times: Vec<f64> = (0..=k).map(|j| -0.01 * j as f64).collect();
        let points: Vec<[f64; 3]> = times.iter().map(|t| on_circle(*t)).collect();
        let points: Vec<&[f64]> = points.iter().map(|p| &p[..]).collect();
        let mut problem = circle();
        let mut bdf = Bdf::new(3, exact_newton()).unwrap();
        bdf.start_with_history(&mut problem, &times, &points, 0.01)
            .unwrap();
        let mut highest = k;
        for _ in 0..3 {
            let error = bdf.step_of(&mut problem, 0.01, highest + 1).unwrap_err();
            let expected = format!(
                "a step of order {} is not possible here; the highest is {highest}",
                highest + 1
            );
            assert_eq!(error.message(), expected);
            bdf.step_of(&mut problem, 0.01, highest).unwrap();
            assert_eq!(bdf.order(), highest);
            highest = (highest + 1).min(MAX_ORDER);
        }
    }
}

/// Passes on what it is asked, and counts it; has no names for its unknowns.
struct Asked<P> {
    problem: P,
    residuals: u64,
    linearizations: u64,
    solves: u64,
}

impl<P: Implicit> Implicit for Asked<P> {
    fn dimension(&self) -> usize {
        self.problem.dimension()
    }

    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        self.residuals += 1;
        self.problem.residual(t, x, xdot, out)
    }

    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        self.linearizations += 1;
        self.problem.linearize(t, x, xdot, sigma)
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        self.solves += 1;
        self.problem.solve(rhs)
    }
}

fn asked<P: Implicit>(problem: P) -> Asked<P> {
    Asked {
        problem,
        residuals: 0,
        linearizations: 0,
        solves: 0,
    }
}

/// What a run says it has cost is what the problem was asked, and a step that could not be made is a failure more.
#[test]
fn statistics_are_what_the_problem_was_asked() {
    let problem = implicit_problems::van_der_pol();
    let mut implicit = asked(problem.implicit());
    let mut bdf = Bdf::new(2, BdfOptions::with_tolerance(1e-5)).unwrap();
    bdf.start(&mut implicit, 0.0, &problem.x, &problem.xdot)
        .unwrap();
    let mut steps = 0;
    while bdf.time() < problem.end {
        bdf.step(&mut implicit, problem.end).unwrap();
        steps += 1;
    }
    let found = bdf.statistics();
    assert_eq!(found.steps, steps);
    assert_eq!(found.residuals, implicit.residuals);
    assert_eq!(found.linearizations, implicit.linearizations);
    assert_eq!(found.solves, implicit.solves);
    // a matrix is kept for several steps, and not every step is accepted
    assert!(found.linearizations < steps, "{found:?}");
    assert!(found.error_failures > 0, "{found:?}");

    // e^x = −ẋ² has no solution
    let mut impossible = asked(DenseImplicit::new(
        2,
        |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
            out[0] = rate[0];
            out[1] = x[1].exp() + rate[1] * rate[1];
            Ok(())
        },
    ));
    let mut bdf = Bdf::new(2, BdfOptions::with_tolerance(1e-5)).unwrap();
    bdf.start(&mut impossible, 0.0, &[1.0, 0.0], &[0.0, 0.1])
        .unwrap();
    for tries in 1..=3 {
        let error = bdf.step_of(&mut impossible, 0.1, 1).unwrap_err();
        assert_eq!(bdf.statistics().convergence_failures, tries);
        assert_eq!(bdf.worst_component(), Some(1));
        assert!(
            error.message().contains("unknown 1 changes most"),
            "{error}"
        );
    }
    assert_eq!(bdf.statistics().steps, 0);
}

#[test]
fn refusals_say_when_what_and_why() {
    let options = BdfOptions::with_tolerance(1e-8);
    // x reaches infinity at t = 1
    let mut problem = DenseImplicit::new(1, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] - x[0] * x[0];
        Ok(())
    })
    .with_names(&["height"]);
    let mut bdf = Bdf::new(1, options).unwrap();
    bdf.start(&mut problem, 0.0, &[1.0], &[1.0]).unwrap();
    let error = loop {
        if let Err(error) = bdf.step(&mut problem, 2.0) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::Integration);
    assert!(error.message().contains("`height`"), "{error}");
    assert!((bdf.time() - 1.0).abs() < 1e-3, "{error}");

    // steps that lead nowhere, and orders that the history does not allow
    bdf.start(&mut problem, 0.5, &[1.0], &[1.0]).unwrap();
    for size in [0.0, -0.1, f64::INFINITY, f64::NAN] {
        let error = bdf.step_of(&mut problem, size, 1).unwrap_err();
        let expected = format!("cannot take a step of {size} s from t = 0.5 s");
        assert_eq!(error.message(), expected);
    }
    for order in [0, 2] {
        let error = bdf.step_of(&mut problem, 0.1, order).unwrap_err();
        let expected = format!("a step of order {order} is not possible here; the highest is 1");
        assert_eq!(error.message(), expected);
    }

    // an equation that occurs twice
    let mut problem = DenseImplicit::new(2, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] + x[0];
        out[1] = rate[0] + x[0];
        Ok(())
    });
    let mut bdf = Bdf::new(2, options).unwrap();
    bdf.start(&mut problem, 0.0, &[1.0, 0.0], &[-1.0, 0.0])
        .unwrap();
    let error = bdf.step(&mut problem, 1.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Singular);
    assert!(error.message().contains("unknown 1"), "{error}");

    // equations that end at t = 0.5
    let mut problem = DenseImplicit::new(1, |t: f64, _x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] - 0.1 * (0.5 - t).sqrt();
        Ok(())
    });
    let mut bdf = Bdf::new(1, options).unwrap();
    bdf.start(&mut problem, 0.0, &[1.0], &[0.1 * 0.5f64.sqrt()])
        .unwrap();
    let error = loop {
        if let Err(error) = bdf.step(&mut problem, 2.0) {
            break error;
        }
    };
    assert!(
        error.message().contains("equation 0 is not finite"),
        "{error}"
    );
    assert!((bdf.time() - 0.5).abs() < 1e-6, "{error}");

    // a constraint that is not satisfied at the start, with an algebraic unknown that cannot jump
    let problem = implicit_problems::pendulum_stabilised();
    let mut implicit = problem.implicit();
    let mut bdf = Bdf::new(6, options).unwrap();
    bdf.start(
        &mut implicit,
        0.0,
        &[-1.1, 0.0, 0.0, 1.0, 0.0, 0.0],
        &[0.0; 6],
    )
    .unwrap();
    let mut steps = 0;
    let error = loop {
        match bdf.step(&mut implicit, 1.0) {
            Ok(_) => steps += 1,
            Err(error) => break error,
        }
        assert!(steps < 10_000 && bdf.time() < 1.0);
    };
    assert!(
        error.advice().is_some_and(|a| a.contains("consistent")),
        "{error}"
    );

    // an absolute tolerance may be zero where there is a relative one
    let relative = |relative: f64| BdfOptions {
        tolerances: Tolerances {
            relative,
            absolute: 1e-8,
        },
        ..options
    };
    let mut both = Bdf::new(2, relative(1e-8)).unwrap();
    assert!(both.set_absolute_tolerances(&[0.0, 1e-8]).is_ok());
    let mut alone = Bdf::new(2, relative(0.0)).unwrap();
    assert!(alone.set_absolute_tolerances(&[1e-3, 1e-8]).is_ok());
    for (relative, wrong) in [
        (0.0, 0.0),
        (1e-8, -1e-8),
        (1e-8, f64::NAN),
        (1e-8, f64::INFINITY),
    ] {
        let bdf = if relative == 0.0 {
            &mut alone
        } else {
            &mut both
        };
        let error = bdf.set_absolute_tolerances(&[1e-8, wrong]).unwrap_err();
        let expected = format!("the absolute tolerance of unknown 1 cannot be {wrong}");
        assert_eq!(error.message(), expected);
    }

    for options in [
        BdfOptions {
            max_order: 6,
            ..options
        },
        BdfOptions {
            max_order: 0,
            ..options
        },
        BdfOptions {
            newton_tolerance: 0.0,
            ..options
        },
    ] {
        assert_eq!(Bdf::new(1, options).unwrap_err().kind(), ErrorKind::Input);
    }
    assert!(
        bdf.start(&mut implicit, 0.0, &[f64::NAN; 6], &[0.0; 6])
            .is_err()
    );
    let mut fine = Bdf::new(6, BdfOptions::with_tolerance(1e-17)).unwrap();
    fine.start(&mut implicit, 0.0, &problem.x, &problem.xdot)
        .unwrap();
    let error = fine.step(&mut implicit, 1.0).unwrap_err();
    assert!(error.message().contains("below the resolution"), "{error}");
}
