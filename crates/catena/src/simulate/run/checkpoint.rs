//! The state of a run as words, from which it resumes bit for bit.

use super::Simulation;
use super::happenings::{KINDS, RECORD, Record};
use crate::error::{Error, ErrorKind, Result};
use crate::simulate::control::ActuatorUse;
use crate::simulate::options::Integrator;

/// Instead of the time at which an event ended the run.
const NOT_ENDED: u64 = u64::MAX;

impl Simulation {
    /// Everything needed to resume bit for bit, including the audit.
    pub fn checkpoint(&self) -> Vec<u64> {
        let mut words = vec![
            self.samples,
            self.happened.len() as u64,
            self.records.len() as u64,
            self.ended.map_or(NOT_ENDED, f64::to_bits),
        ];
        for &(index, time) in &self.happened {
            words.extend([index as u64, time.to_bits()]);
        }
        words.extend(self.records.iter().flat_map(|record| record.to_words()));
        words.extend(self.system.modes_checkpoint());
        words.extend(self.system.rank_checkpoint());
        words.extend([self.stretch.0, self.stretch.1.to_bits()]);
        words.extend(self.uses.iter().flat_map(ActuatorUse::checkpoint));
        words.extend(self.system.control_checkpoint());
        words.extend(self.auditor.checkpoint());
        words.extend(self.engine.checkpoint());
        words
    }

    /// Returns to a checkpoint of a run with the same model, inputs and options. On an error this simulation must be set up
    /// again.
    pub fn restore(&mut self, checkpoint: &[u64]) -> Result<()> {
        let foreign = || {
            Error::new(
                ErrorKind::Input,
                "the checkpoint does not belong to this run",
            )
        };
        let [samples, count, records, ended, rest @ ..] = checkpoint else {
            return Err(foreign());
        };
        let ended = (*ended != NOT_ENDED).then(|| f64::from_bits(*ended));
        let (count, records) = (*count as usize, *records as usize);
        if records != self.records.len() || count > rest.len() / 2 {
            return Err(foreign());
        }
        let (happened, rest) = rest.split_at(2 * count);
        let kinds = self.system.event_functions().len() + KINDS.len() * records;
        let happened: Vec<(usize, f64)> = happened
            .chunks_exact(2)
            .map(|pair| (pair[0] as usize, f64::from_bits(pair[1])))
            .collect();
        if happened.iter().any(|&(index, _)| index >= kinds) {
            return Err(foreign());
        }
        let (words, rest) = rest
            .split_at_checked(RECORD * records)
            .ok_or_else(foreign)?;
        for (words, record) in words.chunks_exact(RECORD).zip(&mut self.records) {
            *record = Record::from_words(words).ok_or_else(foreign)?;
        }
        let rest = self.system.restore_modes(rest).ok_or_else(foreign)?;
        let (&count, rest) = rest.split_first().ok_or_else(foreign)?;
        let (ranks, rest) = usize::try_from(count)
            .ok()
            .and_then(|count| rest.split_at_checked(count))
            .ok_or_else(foreign)?;
        if rest.len() < 2 {
            return Err(foreign());
        }
        self.stretch = (rest[0], f64::from_bits(rest[1]));
        let (uses, rest) = rest[2..]
            .split_at_checked(8 * self.uses.len())
            .ok_or_else(foreign)?;
        for (used, words) in self.uses.iter_mut().zip(uses.chunks_exact(8)) {
            used.restore(words);
        }
        let rest = self.system.restore_control(rest)?;
        let rest = self.auditor.restore(rest).ok_or_else(foreign)?;
        self.engine.restore(&mut self.system, rest)?;
        let now = self.engine.time();
        // steps of equal size may go beyond the end
        let beyond = match self.options.integrator {
            Integrator::Fixed { step, .. } => step,
            _ => 0.0,
        };
        let statistics = self.engine.statistics();
        let is_possible = now >= 0.0
            && now - beyond <= self.options.duration
            && self.stretch.0 <= statistics.steps + statistics.rejected
            && ended.is_none_or(|t| (0.0..=now).contains(&t))
            && *samples <= self.last_sample + 1;
        if !is_possible {
            return Err(foreign());
        }
        let mut y = std::mem::take(&mut self.y);
        let done = self
            .engine
            .interpolate(&mut self.system, now, &mut y)
            .and_then(|()| self.system.restore_holding(now, &y, Some(ranks)))
            .and_then(|()| match ended {
                Some(t) => self.engine.interpolate(&mut self.system, t, &mut y),
                None => Ok(()),
            });
        self.y = y;
        done?;
        self.ended = ended;
        self.samples = *samples;
        self.happened = happened;
        Ok(())
    }
}
