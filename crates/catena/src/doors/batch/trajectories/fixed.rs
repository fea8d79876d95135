//! Steps of one size, in lockstep: the methods of [`crate::integrate::Fixed`].
//!
//! W and D follow by the trapezoidal rule from powers at the ends of the steps. A record within a step is the end of a shorter step
//! from its beginning. For an audit some steps are repeated in halves:
//!
//! ```text
//! δ = (v₂ − v₁) 2ᵖ/(2ᵖ − 1),   a = (v₁ − v₀)/h                                                       (1)
//! ```
//!
//! with the velocities v₀ at the beginning, v₁ at the end, and v₂ at the end of two steps of half the size.

use super::super::lanes::non_finite;
use super::super::stages::Stages;
use super::{Failure, Piece, Runs, record};
use crate::error::{Error, ErrorKind};
use crate::integrate::{FixedMethod, Statistics, examined};
use crate::scalar::{Scalar, Task, Vector, Wide};

/// The motion in the lanes.
struct Even<V: Vector> {
    classical: bool,
    stages: Stages<V>,
    /// W and D, and their rates.
    integrals: [Wide<V>; 2],
    powers: [Wide<V>; 2],
    /// Σ δ a, Σ a² and Σ v² of each freedom, where an audit needs them.
    sums: Vec<[Wide<V>; 3]>,
    /// 2ᵖ/(2ᵖ − 1) of (1).
    order_factor: f64,
}

/// Computes the trajectories of a piece, register by register.
pub(super) fn run<V: Vector>(
    runs: &mut Runs<'_, V>,
    method: FixedMethod,
    step: f64,
    mut piece: Piece<'_>,
) -> Vec<Failure> {
    let power = 2f64.powi(method.order() as i32);
    let freedoms = match piece.phases.is_empty() {
        true => 0,
        false => runs.all.model.nv(),
    };
    let mut even = Even {
        sums: vec![[Wide::zero(); 3]; freedoms],
        order_factor: power / (power - 1.0),
        classical: method == FixedMethod::RungeKutta4,
        stages: Stages::new(runs.all.model),
        integrals: [Wide::zero(); 2],
        powers: [Wide::zero(); 2],
    };
    let mut failures = Vec::new();
    for first in (0..piece.count).step_by(V::LANES) {
        let used = V::LANES.min(piece.count - first);
        for lane in 0..V::LANES {
            // unused lanes repeat the last trajectory
            let trajectory = piece.first + first + lane.min(used - 1);
            let Stages { q, v, .. } = &mut even.stages;
            runs.place(lane, trajectory, &mut q[0], &mut v[0]);
        }
        let steps = even.follow(runs, step, &mut piece, first, used);
        let evaluations = steps * if even.classical { 4 } else { 1 };
        for lane in 0..used {
            piece.statistics[first + lane] = Statistics {
                steps,
                rejected: 0,
                evaluations,
            };
            let sums = even.sums.iter().flatten().map(|sum| sum.lane(lane));
            let own = piece.phases.iter_mut().skip((first + lane) * 3 * freedoms);
            own.zip(sums).for_each(|(into, sum)| *into = sum);
        }
        find_failures(runs, step, &piece, first, used, &mut failures);
    }
    failures
}

impl<V: Vector> Even<V> {
    /// Steps and records; returns the number of whole steps.
    fn follow(
        &mut self,
        runs: &mut Runs<'_, V>,
        size: f64,
        piece: &mut Piece<'_>,
        first: usize,
        used: usize,
    ) -> u64 {
        let times = runs.all.times;
        let mut next = 0;
        let mut note = |even: &Even<V>, next: &mut usize| {
            let parts = [&even.stages.q[0][..], &even.stages.v[0], &even.integrals];
            for lane in 0..used {
                record(piece, (first + lane) * times.len() + *next, lane, &parts);
            }
            *next += 1;
        };
        self.integrals = [Wide::zero(); 2];
        self.sums.fill([Wide::zero(); 3]);
        V::apart(Begin { even: self, runs });
        if times[0] == 0.0 {
            note(self, &mut next);
        }
        let mut steps = 0;
        while next < times.len() {
            let (t_old, t) = (steps as f64 * size, (steps + 1) as f64 * size);
            while next < times.len() && times[next] < t && !is_near(times[next], t) {
                let begin = self.motion();
                V::apart(Move {
                    even: self,
                    runs,
                    h: times[next] - t_old,
                });
                note(self, &mut next);
                self.go_back(begin);
            }
            // an audit counts the step in which the end lies, as single runs do
            if next == times.len() && self.sums.is_empty() {
                break;
            }
            steps += 1;
            self.step(runs, steps, size);
            if next < times.len() && is_near(times[next], t) {
                note(self, &mut next);
            }
        }
        steps
    }
}

/// Positions, velocities, W and D, and their rates.
type Motion<V> = (Vec<Wide<V>>, Vec<Wide<V>>, [[Wide<V>; 2]; 2]);

impl<V: Vector> Even<V> {
    fn motion(&self) -> Motion<V> {
        let stages = &self.stages;
        let integrals = [self.integrals, self.powers];
        (stages.q[0].clone(), stages.v[0].clone(), integrals)
    }

    fn go_back(&mut self, (q, v, integrals): Motion<V>) {
        (self.stages.q[0], self.stages.v[0]) = (q, v);
        [self.integrals, self.powers] = integrals;
    }

    /// The step of this number; first in two halves, where an audit examines it.
    fn step(&mut self, runs: &mut Runs<'_, V>, number: u64, h: f64) {
        let weight = examined(number).filter(|_| !self.sums.is_empty());
        let Some(weight) = weight else {
            V::apart(Move {
                even: self,
                runs,
                h,
            });
            return;
        };
        let begin = self.motion();
        let before = begin.1.clone();
        for _ in 0..2 {
            V::apart(Move {
                even: self,
                runs,
                h: 0.5 * h,
            });
        }
        let twice = self.stages.v[0].clone();
        self.go_back(begin);
        V::apart(Move {
            even: self,
            runs,
            h,
        });
        V::apart(Examine {
            even: self,
            before: &before,
            twice: &twice,
            h,
            weight,
        });
    }
}

/// Adds a step to the sums of an audit: (1).
struct Examine<'e, V: Vector> {
    even: &'e mut Even<V>,
    before: &'e [Wide<V>],
    twice: &'e [Wide<V>],
    h: f64,
    weight: f64,
}

impl<V: Vector> Task for Examine<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Even {
            stages,
            sums,
            order_factor,
            ..
        } = self.even;
        let (factor, per_time) = (Wide::constant(*order_factor), Wide::constant(1.0 / self.h));
        let weight = Wide::constant(self.weight);
        for k in 0..sums.len() {
            let after = stages.v[0][k];
            let error = (self.twice[k] - after) * factor;
            let acceleration = (after - self.before[k]) * per_time;
            let terms = [
                error * acceleration,
                acceleration * acceleration,
                after * after,
            ];
            for i in 0..3 {
                sums[k][i] = weight.mul_add(terms[i], sums[k][i]);
            }
        }
    }
}

/// The trajectories with a non-finite record.
fn find_failures<V: Vector>(
    runs: &Runs<'_, V>,
    step: f64,
    piece: &Piece<'_>,
    first: usize,
    used: usize,
    failures: &mut Vec<Failure>,
) {
    let times = runs.all.times;
    let width = runs.all.width();
    for lane in 0..used {
        let own = &piece.records[(first + lane) * times.len() * width..];
        let is_finite = |k: &usize| {
            own[k * width..(k + 1) * width]
                .iter()
                .all(|x| x.is_finite())
        };
        let good = (0..times.len()).take_while(is_finite).count();
        if good < times.len() {
            let error = Error::new(
                ErrorKind::Integration,
                format!(
                    "the motion cannot be followed to {} s in steps of {step} s",
                    times[good]
                ),
            )
            .hint("a joint loses its inertia on the way, or the step is too large for the motion");
            let (nq, nv) = (runs.all.model.nq(), runs.all.model.nv());
            let (q, v) = own[good.saturating_sub(1) * width..].split_at(nq);
            let trajectory = piece.first + first + lane;
            failures.push(runs.explain(trajectory, times[good], &q[..nq], &v[..nv], error));
        }
    }
}

/// Do two times differ by round-off only?
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 4.0 * f64::EPSILON * b.abs()
}

/// Powers at the start.
struct Begin<'e, 'a, V: Vector> {
    even: &'e mut Even<V>,
    runs: &'e mut Runs<'a, V>,
}

impl<V: Vector> Task for Begin<'_, '_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Begin { even, runs } = self;
        let (q, v) = (&even.stages.q[0], &even.stages.v[0]);
        runs.drive(q, v);
        even.powers = runs.powers(v);
    }
}

/// A step of this size; lanes in which it fails become NaN.
struct Move<'e, 'a, V: Vector> {
    even: &'e mut Even<V>,
    runs: &'e mut Runs<'a, V>,
    h: f64,
}

impl<V: Vector> Task for Move<'_, '_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Move { even, runs, h } = self;
        let model = runs.all.model;
        let mut bad = Wide::zero();
        let evaluations = if even.classical { 4 } else { 1 };
        for k in 0..evaluations {
            if k > 0 {
                even.stages.classical_stage(model, k, h);
            }
            let Stages { q, v, a, .. } = &mut even.stages;
            let (q, v) = if k == 0 {
                (&q[0], &v[0])
            } else {
                (&q[2], &v[3])
            };
            bad = runs.accelerate(q, v, &mut a[k], bad);
            bad = non_finite(&a[k], bad);
        }
        match even.classical {
            true => even.stages.classical_end(model, h),
            false => even.stages.euler_end(model, h),
        }
        let Stages { q, v, .. } = &mut even.stages;
        for k in 0..v[0].len() {
            v[0][k] += bad; // 0 or NaN
        }
        runs.drive(&q[0], &v[0]);
        let powers = runs.powers(&v[0]);
        let half = Wide::constant(0.5 * h);
        for k in 0..2 {
            let sum = even.powers[k] + powers[k];
            even.integrals[k] = half.mul_add(sum, even.integrals[k]);
        }
        even.powers = powers;
    }
}
