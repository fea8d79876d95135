//! Checkpoints: the state of the integrator, as bits.

use super::integrator::Bdf;
use super::{BdfStatistics, Implicit, MAX_ORDER};
use crate::error::Result;
use crate::integrate::{Words, at_time};
use crate::state::check_length;

impl Bdf {
    /// Everything needed to resume bit for bit, including dense output of the last step: numbers as their bits.
    pub fn checkpoint(&self) -> Vec<u64> {
        let mut words = self.identity(self.watched.values.len()).to_vec();
        let s = &self.statistics;
        words.extend([
            s.steps,
            s.residuals,
            s.linearizations,
            s.solves,
            s.error_failures,
            s.convergence_failures,
            self.next_order as u64,
            self.used_order as u64,
            self.steady as u64,
            u64::from(self.starting),
            u64::from(self.fresh),
            u64::from(self.matrix.valid),
        ]);
        let scalars = [
            self.t_old,
            self.t,
            self.next_size,
            self.used_size,
            self.caution,
            self.last_leading,
            self.matrix.t,
            self.matrix.sigma,
        ];
        let [phi, spans] = self.history.numbers();
        let numbers = [
            &scalars[..],
            &self.absolute,
            &self.x,
            &self.xdot,
            phi,
            spans,
            &self.matrix.x,
            &self.matrix.xdot,
            &self.watched.values,
        ];
        words.extend(numbers.into_iter().flatten().map(|x| x.to_bits()));
        words
    }

    /// Returns to a checkpoint made by an integrator with the same dimension and settings; no [`start`](Self::start) is
    /// needed. The problem is linearized at the point stored in it. On an error this integrator must be started again.
    pub fn restore<P: Implicit + ?Sized>(
        &mut self,
        problem: &mut P,
        checkpoint: &[u64],
    ) -> Result<()> {
        check_length("unknowns of the problem", problem.dimension(), self.x.len())?;
        let mut words = Words::new(checkpoint);
        let events = checkpoint.get(2).map_or(0, |&count| count as usize);
        words.expect(&self.identity(events))?;
        if events != problem.event_count() {
            return Err(Words::foreign());
        }
        self.statistics = BdfStatistics {
            steps: words.count()?,
            residuals: words.count()?,
            linearizations: words.count()?,
            solves: words.count()?,
            error_failures: words.count()?,
            convergence_failures: words.count()?,
        };
        let order = words.word()? as usize;
        let used_order = words.word()? as usize;
        if !(1..=self.options.max_order).contains(&order) || used_order > MAX_ORDER {
            return Err(Words::foreign());
        }
        (self.next_order, self.used_order) = (order, used_order);
        self.steady = words.count()? as usize;
        self.starting = words.word()? != 0;
        self.fresh = words.word()? != 0;
        self.matrix.valid = words.word()? != 0;
        for number in [
            &mut self.t_old,
            &mut self.t,
            &mut self.next_size,
            &mut self.used_size,
            &mut self.caution,
            &mut self.last_leading,
            &mut self.matrix.t,
            &mut self.matrix.sigma,
        ] {
            *number = words.number()?;
        }
        self.watched.resize(events);
        let [phi, spans] = self.history.numbers_mut();
        for into in [
            &mut self.absolute[..],
            &mut self.x,
            &mut self.xdot,
            phi,
            spans,
            &mut self.matrix.x,
            &mut self.matrix.xdot,
            &mut self.watched.values,
        ] {
            words.numbers(into)?;
        }
        words.end()?;
        self.worst = None;
        self.learn_roles(problem);
        if self.matrix.valid {
            let m = &self.matrix;
            problem
                .linearize(m.t, &m.x, &m.xdot, m.sigma)
                .map_err(|error| at_time(&error, m.t))?;
        }
        Ok(())
    }

    /// Header of a checkpoint.
    fn identity(&self, events: usize) -> [u64; 13] {
        let o = &self.options;
        [
            u64::from_be_bytes(*b"catenaB1"),
            self.x.len() as u64,
            events as u64,
            o.tolerances.relative.to_bits(),
            o.tolerances.absolute.to_bits(),
            o.max_order as u64,
            o.max_step.to_bits(),
            o.min_step.to_bits(),
            o.initial_step.unwrap_or(0.0).to_bits(),
            u64::from(o.exclude_algebraic),
            o.newton_tolerance.to_bits(),
            o.newton_iterations as u64,
            o.event_parts as u64,
        ]
    }
}
