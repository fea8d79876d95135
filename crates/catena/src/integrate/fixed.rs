//! Fixed-step integration on the manifold of the positions.
//!
//! Dense output within a step is a shorter step from its beginning: it has the method's own order, and events
//! are located on it. A step starts at the end of the previous one and ends at the next of the times t₀ + k h, so that a run
//! restarted in between continues with them.

use super::adaptive::StepOutcome;
use super::events::{Event, Step, Watched, noise, spacing};
use super::stages::{Memory, Motion, Workspace};
use super::{
    FixedMethod, Mechanical, Statistics, Words, at_time, implicit_midpoint, runge_kutta4,
    semi_implicit_euler,
};
use crate::error::{Error, ErrorKind, Result};
use crate::state::check_length;

/// Maximum number of parts of a step where every point within it costs a separate step.
const MOST_PARTS: usize = 64;

/// Number of steps that a step represents if it is examined, by its number from 1; none if it is not: the first hundred are, one in ten of
/// the next three hundred, and one in twenty of those that follow, at irregular intervals that do not resonate with the motion. Two halves cost as much
/// as two steps, so that this adds a tenth to the cost of a long run.
pub(crate) fn examined(step: u64) -> Option<f64> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let one_in = match step {
        0..=100 => return Some(1.0),
        101..=400 => 10.0,
        _ => 20.0,
    };
    ((step as f64 * GOLDEN).fract() < 1.0 / one_in).then_some(one_in)
}

/// A fixed-step integrator. It owns its buffers and does not allocate while it runs, except for the list of
/// events in a step that has some.
///
/// Steps end at t₀ + k h with the integer k, so that time does not drift.
#[derive(Clone, Debug)]
pub struct Fixed {
    method: FixedMethod,
    size: f64,
    t_start: f64,
    /// Steps from t₀ to the last of the times t₀ + k h that is not after the present one.
    grid: u64,
    t: f64,
    motion: Motion,
    work: Workspace,
    /// The beginning of the last step.
    t_old: f64,
    old: Motion,
    memory_old: Memory,
    /// Whether there is a last step.
    stepped: bool,
    /// The watched functions, with their values at the present time; none before the first step.
    watched: Watched,
    /// Their values at the end of a step.
    watched_next: Vec<f64>,
    /// A motion within the last step.
    point: Motion,
    statistics: Statistics,
}

impl Fixed {
    /// An integrator for systems with these numbers of positions and velocities, and this step in s.
    pub fn new(method: FixedMethod, nq: usize, nv: usize, step: f64) -> Result<Self> {
        if !(step.is_finite() && step > 0.0) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the step of the integrator cannot be {step} s"),
            ));
        }
        let motion = Motion {
            q: vec![0.0; nq],
            v: vec![0.0; nv],
        };
        Ok(Fixed {
            method,
            size: step,
            t_start: 0.0,
            grid: 0,
            t: 0.0,
            old: motion.clone(),
            point: motion.clone(),
            motion,
            work: Workspace::new(nq, nv),
            t_old: 0.0,
            memory_old: Memory::new(nv),
            stepped: false,
            watched: Watched::default(),
            watched_next: Vec::new(),
            statistics: Statistics::default(),
        })
    }

    /// Starts at this time and motion.
    pub fn start(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<()> {
        self.place(t, q, v)?;
        self.t_start = t;
        self.grid = 0;
        self.statistics = Statistics::default();
        Ok(())
    }

    /// Restarts from this time, within the last step, with this motion: after an event. The ends of the steps are
    /// unchanged, and statistics are not reset.
    pub fn restart(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<()> {
        if !(t >= self.t_old && t <= self.t) {
            return Err(self.not_within(t));
        }
        let grid = match t == self.t {
            true => self.grid,
            false => self.grid.saturating_sub(1),
        };
        self.place(t, q, v)?;
        self.grid = grid;
        Ok(())
    }

    fn place(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<()> {
        check_length("positions q", q.len(), self.motion.q.len())?;
        check_length("velocities v", v.len(), self.motion.v.len())?;
        if !(t.is_finite() && q.iter().chain(v).all(|x| x.is_finite())) {
            return Err(Error::new(
                ErrorKind::Input,
                "the initial time, positions and velocities must be finite numbers",
            ));
        }
        self.t = t;
        self.motion.q.copy_from_slice(q);
        self.motion.v.copy_from_slice(v);
        self.work.memory.clear();
        self.watched.values.clear();
        self.stepped = false;
        Ok(())
    }

    fn not_within(&self, t: f64) -> Error {
        Error::new(
            ErrorKind::Input,
            format!(
                "t = {t} s is not within the last step, from {} s to {} s",
                self.t_old, self.t
            ),
        )
    }

    /// One step. On an error the motion is that at the step's beginning.
    ///
    /// Changes of sign of the watched functions are located within it. A motion of constant acceleration between its ends,
    /// which costs no evaluation, shows whether a function may come near zero; where none does, only the end is examined.
    pub fn step<S: Mechanical + ?Sized>(&mut self, system: &mut S) -> Result<StepOutcome> {
        check_length(
            "positions of the system",
            system.position_count(),
            self.motion.q.len(),
        )?;
        check_length(
            "velocities of the system",
            system.velocity_count(),
            self.motion.v.len(),
        )?;
        let count = system.watched_count();
        if self.watched.values.len() != count {
            self.watched.resize(count);
            self.watched_next.resize(count, 0.0);
            let values = &mut self.watched.values;
            system.watch(self.t, &self.motion.q, &self.motion.v, values);
        }
        // a remainder of the order of round-off is not a separate step
        let mut grid = self.grid + 1;
        if self.grid_time(grid) - self.t <= 4.0 * spacing(self.t) {
            grid += 1;
        }
        let (t_old, t) = (self.t, self.grid_time(grid));
        let is_whole = t_old == self.grid_time(self.grid) && grid == self.grid + 1;
        let h = if is_whole { self.size } else { t - t_old };
        self.old.q.copy_from_slice(&self.motion.q);
        self.old.v.copy_from_slice(&self.motion.v);
        if self.method == FixedMethod::ImplicitMidpoint {
            self.memory_old.copy_from(&self.work.memory);
        }
        if let Err(error) = self.move_on(system, t_old, h) {
            self.motion.q.copy_from_slice(&self.old.q);
            self.motion.v.copy_from_slice(&self.old.v);
            self.work.memory.copy_from(&self.memory_old);
            return Err(error);
        }
        self.statistics.steps += 1;
        self.grid = grid;
        self.t_old = t_old;
        self.t = t;
        self.stepped = true;
        let events = match count {
            0 => Vec::new(),
            _ => self.find_events(system)?,
        };
        Ok(StepOutcome::new(t_old, t, events))
    }

    fn grid_time(&self, k: u64) -> f64 {
        self.t_start + k as f64 * self.size
    }

    /// Advances `motion` by a step of this size.
    fn move_on<S: Mechanical + ?Sized>(&mut self, system: &mut S, t: f64, h: f64) -> Result<()> {
        let (motion, work) = (&mut self.motion, &mut self.work);
        work.evaluations = 0;
        let outcome = match self.method {
            FixedMethod::RungeKutta4 => runge_kutta4::step(system, t, h, motion, work),
            FixedMethod::SemiImplicitEuler => semi_implicit_euler::step(system, t, h, motion, work),
            FixedMethod::ImplicitMidpoint => implicit_midpoint::step(system, t, h, motion, work),
        };
        self.statistics.evaluations += work.evaluations;
        let outcome = outcome.and_then(|()| system.settle(t + h, &mut motion.q, &mut motion.v));
        outcome.map_err(|error| at_time(&error, t))
    }

    fn find_events<S: Mechanical + ?Sized>(&mut self, system: &mut S) -> Result<Vec<Event>> {
        let mut watched = std::mem::take(&mut self.watched);
        let mut after = std::mem::take(&mut self.watched_next);
        let mut point = std::mem::take(&mut self.point);
        system.watch(self.t, &self.motion.q, &self.motion.v, &mut after);
        let noise = noise(&[&self.motion.q, &self.motion.v]);
        let found = watched
            .is_clear((self.t_old, self.t), noise, &after, |t, values| {
                self.guess(system, t, &mut point);
                system.watch(t, &point.q, &point.v, values);
                Ok(())
            })
            .and_then(|is_clear| {
                let step = Step {
                    begin: self.t_old,
                    end: self.t,
                    parts: usize::from(!is_clear),
                    most: MOST_PARTS,
                    interval: system.sample_interval(),
                    noise,
                };
                watched.find(step, |t, values| {
                    if t == self.t {
                        values.copy_from_slice(&after);
                        return Ok(());
                    }
                    self.interpolate(system, t, &mut point.q, &mut point.v)?;
                    system.watch(t, &point.q, &point.v, values);
                    Ok(())
                })
            });
        (self.watched, self.watched_next, self.point) = (watched, after, point);
        found
    }

    /// The motion within the last step if the acceleration were constant.
    fn guess<S: Mechanical + ?Sized>(&mut self, system: &mut S, t: f64, point: &mut Motion) {
        let h = t - self.t_old;
        let part = h / (self.t - self.t_old);
        let delta = &mut self.work.delta;
        for (i, delta) in delta.iter_mut().enumerate() {
            let (old, new) = (self.old.v[i], self.motion.v[i]);
            point.v[i] = old + part * (new - old);
            *delta = 0.5 * h * (old + point.v[i]);
        }
        point.q.copy_from_slice(&self.old.q);
        system.step(&mut point.q, delta);
    }

    /// The motion at a time within the last step: that of a shorter step from its beginning.
    pub fn interpolate<S: Mechanical + ?Sized>(
        &mut self,
        system: &mut S,
        t: f64,
        q: &mut [f64],
        v: &mut [f64],
    ) -> Result<()> {
        check_length("interpolated positions q", q.len(), self.motion.q.len())?;
        check_length("interpolated velocities v", v.len(), self.motion.v.len())?;
        if t == self.t {
            q.copy_from_slice(&self.motion.q);
            v.copy_from_slice(&self.motion.v);
            return Ok(());
        }
        if !(self.stepped && (self.t_old..self.t).contains(&t)) {
            return Err(self.not_within(t));
        }
        if t == self.t_old {
            q.copy_from_slice(&self.old.q);
            v.copy_from_slice(&self.old.v);
            return Ok(());
        }
        // the buffers are swapped, so that nothing is lost and nothing allocated
        std::mem::swap(&mut self.motion, &mut self.old);
        std::mem::swap(&mut self.work.memory, &mut self.memory_old);
        q.copy_from_slice(&self.motion.q);
        v.copy_from_slice(&self.motion.v);
        self.work.aside.copy_from(&self.work.memory);
        let outcome = self.move_on(system, self.t_old, t - self.t_old);
        for (given, own) in [(q, &mut self.motion.q), (v, &mut self.motion.v)] {
            given.swap_with_slice(own);
        }
        let Workspace { memory, aside, .. } = &mut self.work;
        memory.copy_from(aside);
        std::mem::swap(&mut self.motion, &mut self.old);
        std::mem::swap(&mut self.work.memory, &mut self.memory_old);
        outcome
    }

    /// Computes the velocities at the end of the last step if it were taken in two halves: an estimate of the error of a step. Its cost is not
    /// counted.
    pub fn in_halves<S: Mechanical + ?Sized>(
        &mut self,
        system: &mut S,
        v: &mut [f64],
    ) -> Result<()> {
        check_length("velocities v", v.len(), self.motion.v.len())?;
        if !self.stepped {
            return Err(self.not_within(self.t));
        }
        let statistics = self.statistics;
        std::mem::swap(&mut self.motion, &mut self.point);
        self.motion.q.copy_from_slice(&self.old.q);
        self.motion.v.copy_from_slice(&self.old.v);
        let Workspace { memory, aside, .. } = &mut self.work;
        aside.copy_from(memory);
        memory.copy_from(&self.memory_old);
        let (t, half) = (self.t_old, 0.5 * (self.t - self.t_old));
        let outcome = self
            .move_on(system, t, half)
            .and_then(|()| self.move_on(system, t + half, half));
        v.copy_from_slice(&self.motion.v);
        std::mem::swap(&mut self.motion, &mut self.point);
        let Workspace { memory, aside, .. } = &mut self.work;
        memory.copy_from(aside);
        self.statistics = statistics;
        outcome
    }

    /// The method.
    pub fn method(&self) -> FixedMethod {
        self.method
    }

    /// Size of a step, s.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Time reached, s.
    pub fn time(&self) -> f64 {
        self.t
    }

    /// Positions there.
    pub fn q(&self) -> &[f64] {
        &self.motion.q
    }

    /// Velocities there.
    pub fn v(&self) -> &[f64] {
        &self.motion.v
    }

    /// Time, positions and velocities at the beginning of the last step.
    pub fn before(&self) -> (f64, &[f64], &[f64]) {
        (self.t_old, &self.old.q, &self.old.v)
    }

    /// Cost so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Everything needed to resume bit for bit, including the last step: numbers as their bits.
    pub fn checkpoint(&self) -> Vec<u64> {
        let mut words = self.identity().to_vec();
        words.extend([
            self.statistics.steps,
            self.statistics.rejected,
            self.statistics.evaluations,
            self.grid,
            self.work.memory.steps,
            self.memory_old.steps,
            u64::from(self.stepped),
        ]);
        let (memory, before) = (&self.work.memory, &self.memory_old);
        let numbers = [
            &[self.t_start, self.t, self.t_old][..],
            &self.motion.q,
            &self.motion.v,
            &memory.last,
            &memory.before,
            &self.old.q,
            &self.old.v,
            &before.last,
            &before.before,
        ];
        words.extend(numbers.into_iter().flatten().map(|x| x.to_bits()));
        words
    }

    /// Returns to a checkpoint made by an integrator with the same method, sizes and step; no [`start`](Self::start) is
    /// needed. On an error this integrator must be started again.
    pub fn restore(&mut self, checkpoint: &[u64]) -> Result<()> {
        let mut words = Words::new(checkpoint);
        words.expect(&self.identity())?;
        self.statistics = Statistics {
            steps: words.count()?,
            rejected: words.count()?,
            evaluations: words.count()?,
        };
        self.grid = words.count()?;
        self.work.memory.steps = words.count()?;
        self.memory_old.steps = words.count()?;
        self.stepped = words.word()? != 0;
        self.t_start = words.number()?;
        self.t = words.number()?;
        self.t_old = words.number()?;
        for into in [
            &mut self.motion.q,
            &mut self.motion.v,
            &mut self.work.memory.last,
            &mut self.work.memory.before,
            &mut self.old.q,
            &mut self.old.v,
            &mut self.memory_old.last,
            &mut self.memory_old.before,
        ] {
            words.numbers(into)?;
        }
        // the functions have the same values at the same point
        self.watched.values.clear();
        words.end()?;
        // a step ends at the next time of the grid: were that far away, it would never end
        let numbers = [&self.motion.q, &self.motion.v, &self.old.q, &self.old.v];
        let are_finite = numbers.into_iter().flatten().all(|x| x.is_finite());
        let is_near = (self.t - self.grid_time(self.grid)).abs() <= 2.0 * self.size
            && (self.t - self.t_old).abs() <= 2.0 * self.size;
        match are_finite && (is_near || !self.stepped && self.grid == 0 && self.t == self.t_start) {
            true => Ok(()),
            false => Err(Words::foreign()),
        }
    }

    fn identity(&self) -> [u64; 5] {
        [
            u64::from_be_bytes(*b"catenaF2"),
            self.method as u64,
            self.motion.q.len() as u64,
            self.motion.v.len() as u64,
            self.size.to_bits(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights of examined steps represent all steps: each of the first hundred itself, one in ten and one in twenty later, spread evenly.
    #[test]
    fn examined_steps_stand_for_all() {
        assert!((1..=100).all(|step| examined(step) == Some(1.0)));
        let next: Vec<f64> = (101..=400).filter_map(examined).collect();
        assert!((29..=31).contains(&next.len()) && next.iter().all(|weight| *weight == 10.0));
        for first in [401, 1_000, 123_456] {
            let steps = first..first + 5_000;
            let weight: f64 = steps.clone().filter_map(examined).sum();
            assert!((weight - 5_000.0).abs() < 100.0, "{weight}");
            let seen: Vec<u64> = steps.filter(|step| examined(*step).is_some()).collect();
            let gaps = seen.windows(2).map(|pair| pair[1] - pair[0]);
            let (least, most) = gaps.fold((u64::MAX, 0), |(a, b), gap| (a.min(gap), b.max(gap)));
            assert!(least >= 13 && most <= 34 && least < most, "{least} {most}");
        }
    }
}
