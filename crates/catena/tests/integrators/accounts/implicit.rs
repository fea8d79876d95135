//! The implicit integrator.

use super::{Digest, compare, in_words, recorded};
use crate::implicit_problems;
use catena::elementary::{cos, sin};
use catena::integrate::Tolerances;
use catena::integrate::bdf::{Bdf, BdfOptions, DenseImplicit, Given, Implicit, Role};
use catena::{Error, ErrorKind, Result};

/// Tries everything that can be done with a run, and returns how it went.
fn account(
    what: &str,
    options: BdfOptions,
    absolute: Option<&[f64]>,
    problem: Box<dyn Implicit + '_>,
    (t, x, xdot): (f64, &[f64], &[f64]),
    ends: &[f64],
) -> String {
    let mut problem = recorded(problem);
    let mut found = Digest::new();
    let n = x.len();
    let new = || {
        let mut bdf = Bdf::new(n, options).unwrap();
        if let Some(absolute) = absolute {
            bdf.set_absolute_tolerances(absolute).unwrap();
        }
        bdf
    };
    let mut bdf = new();
    bdf.start(&mut problem, t, x, xdot).unwrap();
    found.words(&bdf.checkpoint());
    let mut ending = String::new();
    let (mut x, mut xdot) = (x.to_vec(), xdot.to_vec());
    for k in 0..400 {
        let Some(end) = ends.iter().find(|end| **end > bdf.time()) else {
            break;
        };
        let step = match bdf.step(&mut problem, *end) {
            Ok(step) => step,
            Err(error) => {
                ending = in_words(&error);
                found.words(&bdf.checkpoint());
                found.word(bdf.worst_component().map_or(99, |i| i as u64));
                break;
            }
        };
        found.step(&step);
        found.word(bdf.order() as u64);
        found.number(bdf.next_size());
        found.word(bdf.worst_component().map_or(99, |i| i as u64));
        found.numbers(bdf.x());
        found.numbers(bdf.xdot());
        found.words(&bdf.checkpoint());
        found.number(bdf.before(&mut x));
        found.numbers(&x);
        for part in [0.0, 0.13, 0.5, 0.97] {
            let t = step.t_old + part * step.size;
            bdf.interpolate(&mut problem, t, &mut x).unwrap();
            found.numbers(&x);
            bdf.interpolate_with_rate(&mut problem, t, &mut x, &mut xdot)
                .unwrap();
            found.numbers(&x);
            found.numbers(&xdot);
        }
        if k % 5 == 4 {
            let mut other = new();
            other.restore(&mut problem, &bdf.checkpoint()).unwrap();
            bdf = other;
        }
        if k % 23 == 22 {
            bdf.limit_next_size(0.5 * bdf.next_size());
        }
        if let (Some(event), true) = (step.events().first(), k % 2 == 0) {
            let t = event.time;
            bdf.interpolate_with_rate(&mut problem, t, &mut x, &mut xdot)
                .unwrap();
            let given = Given::Differential { scale: 1e-3 };
            bdf.make_consistent(&mut problem, t, &mut x, &mut xdot, given)
                .unwrap();
            bdf.start(&mut problem, t, &x, &xdot).unwrap();
            found.number(bdf.before(&mut x));
            found.numbers(&x);
            if k % 4 == 0 {
                bdf.limit_next_size(1e-3);
            }
            found.words(&bdf.checkpoint());
        }
    }
    format!(
        "{what}: {}, to {} s; asked {}, found {found}; {ending}",
        costs(&bdf),
        bdf.time(),
        problem.digest
    )
}

fn costs(bdf: &Bdf) -> String {
    let cost = bdf.statistics();
    format!(
        "{} steps, {} residuals, {} matrices, {} solutions, {} and {} failures",
        cost.steps,
        cost.residuals,
        cost.linearizations,
        cost.solves,
        cost.error_failures,
        cost.convergence_failures
    )
}

/// A point on the unit circle and the product of its coordinates, watched at samples; the product is not tested.
struct Circle<P>(P);

fn circle() -> Circle<impl Implicit> {
    let problem = DenseImplicit::new(3, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] - x[1];
        out[1] = rate[1] + x[0] + 3.0 * x[1] * (x[0] * x[0] + x[1] * x[1] - 1.0);
        out[2] = x[2] - x[0] * x[1];
        Ok(())
    })
    .with_jacobian(|_t, x, _rate, sigma, matrix| {
        matrix[(0, 0)] = sigma;
        matrix[(0, 1)] = -1.0;
        matrix[(1, 0)] = 1.0 + 6.0 * x[0] * x[1];
        matrix[(1, 1)] = sigma + 3.0 * (x[0] * x[0] + 3.0 * x[1] * x[1] - 1.0);
        matrix[(2, 0)] = -x[1];
        matrix[(2, 1)] = -x[0];
        matrix[(2, 2)] = 1.0;
        Ok(())
    })
    .with_role(2, Role::Algebraic { index: 1 })
    .with_projection(|_t, x| {
        let length = (x[0] * x[0] + x[1] * x[1]).sqrt();
        x[0] /= length;
        x[1] /= length;
    })
    .with_events(2, |_t, x, values| {
        (values[0], values[1]) = (x[0] - 0.97, x[2] + 0.25);
    });
    Circle(problem)
}

impl<P: Implicit> Implicit for Circle<P> {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        self.0.residual(t, x, xdot, out)
    }

    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        self.0.linearize(t, x, xdot, sigma)
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        self.0.solve(rhs)
    }

    fn role(&self, i: usize) -> Role {
        self.0.role(i)
    }

    fn tested(&self, i: usize) -> bool {
        i < 2
    }

    fn name(&self, i: usize) -> String {
        self.0.name(i)
    }

    fn project(&mut self, t: f64, x: &mut [f64]) {
        self.0.project(t, x);
    }

    fn event_count(&self) -> usize {
        self.0.event_count()
    }

    fn events(&mut self, t: f64, x: &[f64], values: &mut [f64]) {
        self.0.events(t, x, values);
    }

    fn sample_interval(&self) -> f64 {
        0.125
    }
}

fn with(relative: f64, absolute: f64) -> BdfOptions {
    BdfOptions {
        tolerances: Tolerances { relative, absolute },
        ..BdfOptions::default()
    }
}

/// The pendulum with the constraint on its position alone: index 3.
fn pendulum_index_3() -> impl Implicit {
    DenseImplicit::new(5, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
        out[0] = rate[0] - x[2];
        out[1] = rate[1] - x[3];
        out[2] = rate[2] + x[0] * x[4];
        out[3] = rate[3] + x[1] * x[4] + 9.81;
        out[4] = 0.5 * (x[0] * x[0] + x[1] * x[1] - 1.0);
        Ok(())
    })
    .with_role(2, Role::Algebraic { index: 2 })
    .with_role(3, Role::Algebraic { index: 2 })
    .with_role(4, Role::Algebraic { index: 3 })
}

#[test]
fn implicit_steps_are_as_recorded() {
    let mut lines = Vec::new();
    for (problem, tolerance) in [
        (implicit_problems::robertson(40.0), 1e-4),
        (implicit_problems::robertson(40.0), 1e-7),
        (implicit_problems::robertson(1e11), 1e-5),
        (implicit_problems::hires(), 1e-6),
        (implicit_problems::van_der_pol(), 1e-4),
        (implicit_problems::pendulum_index_1(), 1e-5),
        (implicit_problems::pendulum_stabilised(), 1e-5),
    ] {
        for exclude_algebraic in [false, true] {
            let options = BdfOptions {
                exclude_algebraic,
                ..with(tolerance, 0.0)
            };
            let absolute: Vec<f64> = problem.absolute.iter().map(|a| a * tolerance).collect();
            let start = (0.0, &problem.x[..], &problem.xdot[..]);
            let ends = [0.011, 0.012, 0.5, problem.end];
            let implicit = Box::new(problem.implicit());
            let what = format!("{}, {tolerance:e}, {exclude_algebraic}", problem.name);
            lines.push(account(
                &what,
                options,
                Some(&absolute),
                implicit,
                start,
                &ends,
            ));
        }
    }
    let still = (0.0, &[-1.0, 0.0, 0.0, 0.0, 0.0][..]);
    let rates = [0.0, 0.0, 0.0, -9.81, 0.0];
    for exclude_algebraic in [false, true] {
        let options = BdfOptions {
            exclude_algebraic,
            ..with(1e-5, 1e-5)
        };
        let start = (still.0, still.1, &rates[..]);
        lines.push(account(
            &format!("index 3, {exclude_algebraic}"),
            options,
            None,
            Box::new(pendulum_index_3()),
            start,
            &[1.0],
        ));
    }
    let common = with(1e-6, 1e-7);
    for (what, options) in [
        ("circle", common),
        (
            "circle, at most order 2",
            BdfOptions {
                max_order: 2,
                ..common
            },
        ),
        (
            "circle, bounded steps",
            BdfOptions {
                max_step: 0.05,
                event_parts: 2,
                ..common
            },
        ),
        (
            "circle, hasty",
            BdfOptions {
                initial_step: Some(3.0),
                ..common
            },
        ),
        (
            "circle, few iterations",
            BdfOptions {
                newton_iterations: 2,
                newton_tolerance: 1e-3,
                ..common
            },
        ),
        (
            "circle, no small steps",
            BdfOptions {
                min_step: 2e-2,
                ..common
            },
        ),
        ("circle, relative", with(1e-4, 0.0)),
        ("circle, absolute", with(0.0, 1e-9)),
    ] {
        let start = (1.0, &[0.0, 1.0, 0.0][..], &[1.0, 0.0, 1.0][..]);
        lines.push(account(
            what,
            options,
            None,
            Box::new(circle()),
            start,
            &[9.0],
        ));
    }
    compare("implicit.txt", &lines);
}

type Residual = fn(f64, &[f64], &[f64], &mut [f64]) -> Result<()>;

/// Runs that cannot continue, and in which words they say so.
#[test]
fn implicit_runs_end_as_recorded() {
    let mut lines = Vec::new();
    let cases: [(&str, Residual, f64); 9] = [
        (
            "to infinity",
            |_t, x, rate, out| {
                out[0] = rate[0] - x[0] * x[0];
                out[1] = rate[1] - x[1];
                Ok(())
            },
            0.0,
        ),
        (
            "no number after half a second",
            |t, x, rate, out| {
                out[0] = rate[0] + x[0];
                out[1] = rate[1] - 0.1 * (0.5 - t).sqrt();
                Ok(())
            },
            0.0,
        ),
        (
            "broken after half a second",
            |t, x, rate, out| {
                out[0] = rate[0] + x[0];
                out[1] = rate[1] - x[1];
                match t > 0.5 {
                    true => Err(Error::new(ErrorKind::Physics, "it broke").hint("mend it")),
                    false => Ok(()),
                }
            },
            0.0,
        ),
        (
            "broken without advice",
            |t, x, rate, out| {
                out[0] = rate[0] + x[0];
                out[1] = rate[1] - x[1];
                match t > 0.0 {
                    true => Err(Error::new(ErrorKind::Physics, "it broke")),
                    false => Ok(()),
                }
            },
            0.0,
        ),
        (
            "an equation twice",
            |_t, x, rate, out| {
                out[0] = rate[0] + x[0];
                out[1] = rate[0] + x[0];
                Ok(())
            },
            0.0,
        ),
        (
            "no solution from the beginning",
            |_t, x, rate, out| {
                out[0] = rate[0];
                out[1] = 1.0 + x[1] * x[1] + rate[1] * rate[1];
                Ok(())
            },
            0.0,
        ),
        (
            "no solution after half a second",
            |t, x, rate, out| {
                out[0] = rate[0] - x[0];
                out[1] = match t < 0.5 {
                    true => rate[1] + x[1],
                    false => 1.0 + x[1] * x[1],
                };
                Ok(())
            },
            0.0,
        ),
        (
            "a jump",
            |t, x, rate, out| {
                out[0] = rate[0] - x[0];
                out[1] = x[1] - if t < 0.5 { 1.0 } else { 2.0 };
                Ok(())
            },
            0.0,
        ),
        (
            "a steep rise, and no small steps",
            |t, x, rate, out| {
                out[0] = rate[0] - x[0];
                out[1] = rate[1] - if t < 0.5 { 0.0 } else { 1e4 };
                Ok(())
            },
            1e-2,
        ),
    ];
    for (what, residual, min_step) in cases {
        for role in [Role::Differential, Role::Algebraic { index: 1 }] {
            let problem = DenseImplicit::new(2, residual)
                .with_role(1, role)
                .with_names(&["height"]);
            let options = BdfOptions {
                min_step,
                ..with(1e-6, 1e-6)
            };
            let start = (0.0, &[1.0, 1.0][..], &[1.0, -0.1][..]);
            lines.push(account(
                &format!("{what}, {role:?}"),
                options,
                None,
                Box::new(problem),
                start,
                &[3.0],
            ));
        }
    }
    for (relative, absolute) in [(1e-17, 0.0), (1e-17, 1e-16), (0.0, 1e-17)] {
        let decay = DenseImplicit::new(1, |_t, x: &[f64], rate: &[f64], out: &mut [f64]| {
            out[0] = rate[0] + x[0];
            Ok(())
        });
        lines.push(account(
            &format!("too fine, {relative} {absolute}"),
            with(relative, absolute),
            None,
            Box::new(decay),
            (0.0, &[3.0], &[-3.0]),
            &[1.0],
        ));
    }
    compare("implicit_endings.txt", &lines);
}

/// Steps of given size and order with a past of exact points.
#[test]
fn steps_from_a_past_are_as_recorded() {
    let mut lines = Vec::new();
    let on_circle = |t: f64| [sin(t), cos(t), sin(t) * cos(t)];
    for order in 1..=5 {
        let mut times = vec![0.0];
        for k in 0..order {
            times.push(times[k] - 0.03 - 0.01 * (k % 3) as f64);
        }
        let points: Vec<[f64; 3]> = times.iter().map(|t| on_circle(*t)).collect();
        let points: Vec<&[f64]> = points.iter().map(|point| &point[..]).collect();
        for limit in [3, 5] {
            let options = BdfOptions {
                max_order: limit,
                ..with(1e-6, 1e-6)
            };
            let mut problem = recorded(Box::new(circle()));
            let mut bdf = Bdf::new(3, options).unwrap();
            let mut found = Digest::new();
            bdf.start_with_history(&mut problem, &times, &points, 0.02)
                .unwrap();
            found.words(&bdf.checkpoint());
            let mut x = [0.0; 3];
            found.number(bdf.before(&mut x));
            found.numbers(&x);
            let mut said = Vec::new();
            for k in 0..12 {
                let size = [0.03, 0.04, 0.04, 0.2, 0.01][k % 5];
                match bdf.step_of(&mut problem, size, 1 + (order + k) % 6) {
                    Ok(step) => found.step(&step),
                    Err(error) => said.push(in_words(&error)),
                }
                found.words(&bdf.checkpoint());
                found.word(bdf.worst_component().map_or(99, |i| i as u64));
            }
            for _ in 0..10 {
                let step = bdf.step(&mut problem, 10.0).unwrap();
                found.step(&step);
                found.words(&bdf.checkpoint());
            }
            lines.push(format!(
                "order {order}, at most {limit}: {}; asked {}, found {found}; {}",
                costs(&bdf),
                problem.digest,
                said.join("; ")
            ));
        }
    }
    compare("implicit_pasts.txt", &lines);
}

/// Consistent values, and where there are none.
#[test]
fn consistent_values_are_sought_as_recorded() {
    let mut lines = Vec::new();
    let mut add = |what: &str,
                   options: BdfOptions,
                   problem: Box<dyn Implicit + '_>,
                   (x, xdot): (&[f64], &[f64]),
                   given: Given| {
        let mut problem = recorded(problem);
        let mut bdf = Bdf::new(problem.dimension(), options).unwrap();
        let (mut x, mut xdot) = (x.to_vec(), xdot.to_vec());
        let ending = match bdf.make_consistent(&mut problem, 2.0, &mut x, &mut xdot, given) {
            Ok(()) => "found".to_string(),
            Err(error) => in_words(&error),
        };
        let mut found = Digest::new();
        found.numbers(&x);
        found.numbers(&xdot);
        found.words(&bdf.checkpoint());
        lines.push(format!(
            "{what}, {given:?}: {}; asked {}, found {found}; {ending}",
            costs(&bdf),
            problem.digest
        ));
    };
    let tight = with(1e-10, 1e-10);
    for scale in [1e-3, 1.0, 1e3, 0.0, -1.0, f64::INFINITY, f64::NAN] {
        let given = Given::Differential { scale };
        let pendulum = implicit_problems::pendulum_index_1();
        let x = [0.6, -0.8, 1.6, 1.2, 0.0];
        add(
            "pendulum",
            tight,
            Box::new(pendulum.implicit()),
            (&x, &[0.0; 5]),
            given,
        );
        let stabilised = implicit_problems::pendulum_stabilised();
        add(
            "pendulum of index 2",
            with(1e-6, 1e-6),
            Box::new(stabilised.implicit()),
            (&[0.6, -0.8, 1.6, 1.2, 0.0, 0.0], &[0.0; 6]),
            given,
        );
    }
    let cases: [(&str, Residual); 6] = [
        ("cubic", |_t, x, rate, out| {
            out[0] = rate[0] + x[0] + x[0] * x[0] * x[0] - 10.0;
            out[1] = rate[1] + 2.0 * x[1] - x[0];
            Ok(())
        }),
        ("over a jump", |_t, x, rate, out| {
            out[0] = rate[0] + x[0] - 1.0;
            out[1] = x[1] + 1f64.copysign(x[1]);
            Ok(())
        }),
        ("no number", |_t, x, rate, out| {
            out[0] = rate[0] + x[0];
            out[1] = rate[1] + (x[1] - 1e3).sqrt();
            Ok(())
        }),
        ("a root with an end", |_t, x, rate, out| {
            out[0] = rate[0] + x[0];
            out[1] = rate[1] + x[1].sqrt() - 0.01;
            Ok(())
        }),
        ("broken", |_t, _x, _rate, _out| {
            Err(Error::new(ErrorKind::Physics, "it broke").hint("mend it"))
        }),
        ("broken without advice", |_t, _x, _rate, _out| {
            Err(Error::new(ErrorKind::Physics, "it broke"))
        }),
    ];
    for (what, residual) in cases {
        for given in [Given::Derivatives, Given::Differential { scale: 1e-2 }] {
            for start in [[-30.0, 0.5], [0.3, 20.0], [2.0, 1.0]] {
                for options in [tight, with(1e-3, 1e-3)] {
                    let problem =
                        DenseImplicit::new(2, residual).with_role(1, Role::Algebraic { index: 1 });
                    add(
                        &format!("{what} from {start:?}"),
                        options,
                        Box::new(problem),
                        (&start, &[0.0; 2]),
                        given,
                    );
                }
            }
        }
    }
    compare("implicit_consistent.txt", &lines);
}
