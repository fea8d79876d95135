//! Steps of one size, in lock-step: the methods of [`crate::integrate::Fixed`].
//!
//! W and D follow by the trapezoidal rule from powers at the ends of the steps. A record within a step is the end of a shorter step
//! from its beginning.

use super::super::advance::Stages;
use super::super::lanes::non_finite;
use super::{Failure, Piece, Runs, record};
use crate::error::{Error, ErrorKind};
use crate::integrate::{FixedMethod, Statistics};
use crate::scalar::{Scalar, Task, Vector, Wide};

/// The motion in the lanes.
struct Even<V: Vector> {
    classical: bool,
    stages: Stages<V>,
    /// W and D, and their rates.
    integrals: [Wide<V>; 2],
    powers: [Wide<V>; 2],
}

/// Computes the trajectories of a piece, a register of them after another.
pub(super) fn run<V: Vector>(
    runs: &mut Runs<'_, V>,
    method: FixedMethod,
    step: f64,
    mut piece: Piece<'_>,
) -> Vec<Failure> {
    let mut even = Even {
        classical: method == FixedMethod::RungeKutta4,
        stages: Stages::new(runs.all.model),
        integrals: [Wide::zero(); 2],
        powers: [Wide::zero(); 2],
    };
    let mut failures = Vec::new();
    for first in (0..piece.count).step_by(V::LANES) {
        let used = V::LANES.min(piece.count - first);
        for lane in 0..V::LANES {
            // lanes that are left over repeat the last trajectory
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
        V::apart(Begin { even: self, runs });
        if times[0] == 0.0 {
            note(self, &mut next);
        }
        let mut steps = 0;
        while next < times.len() {
            let (t_old, t) = (steps as f64 * size, (steps + 1) as f64 * size);
            while next < times.len() && times[next] < t && !is_near(times[next], t) {
                let (q, v) = (self.stages.q[0].clone(), self.stages.v[0].clone());
                let (integrals, powers) = (self.integrals, self.powers);
                V::apart(Move {
                    even: self,
                    runs,
                    h: times[next] - t_old,
                });
                note(self, &mut next);
                (self.stages.q[0], self.stages.v[0]) = (q, v);
                (self.integrals, self.powers) = (integrals, powers);
            }
            if next == times.len() {
                break;
            }
            V::apart(Move {
                even: self,
                runs,
                h: size,
            });
            steps += 1;
            if next < times.len() && is_near(times[next], t) {
                note(self, &mut next);
            }
        }
        steps
    }
}

/// The trajectories with a record that is not finite.
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
