//! Effects of events on a run: mode changes of friction, impacts, contact with stops; and their records.

use super::Simulation;
use crate::error::Result;
use crate::model::DofInfo;
use crate::simulate::audit::{Held, Stopped};
use crate::simulate::dry_friction::{Standing, Touch};
use crate::simulate::engine::Engine;
use crate::simulate::impact::Impact;
use crate::simulate::tree_system::{Change, Overrun, TreeSystem};

/// An event that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// Name of the event function, or the action that dry friction or a stop began.
    pub name: String,
    /// When, s.
    pub time: f64,
}

/// How often and for how long something lasted.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    times: u64,
    duration: f64,
    /// Since when, if it is still lasting.
    since: Option<f64>,
}

impl Tally {
    fn begin(&mut self, t: f64) {
        self.times += 1;
        self.since = Some(t);
    }

    fn end(&mut self, t: f64) {
        self.duration += self.since.take().map_or(0.0, |since| t - since);
    }

    fn total(&self, now: f64) -> f64 {
        self.duration + self.since.map_or(0.0, |since| now - since)
    }

    fn to_words(self) -> [u64; 3] {
        let since = self.since.unwrap_or(f64::NAN);
        [self.times, self.duration.to_bits(), since.to_bits()]
    }

    fn from_words(words: [u64; 3]) -> Self {
        let since = f64::from_bits(words[2]);
        Tally {
            times: words[0],
            duration: f64::from_bits(words[1]),
            since: (!since.is_nan()).then_some(since),
        }
    }
}

/// Record of the action of friction and stops on a freedom.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    held: Tally,
    rested: Tally,
    impacts: u64,
    hardest: f64,
    lost: f64,
}

/// Words of a [`Record`] in a checkpoint.
pub(super) const RECORD: usize = 9;

impl Record {
    /// Records at the start: of each freedom with dry friction or a rigid stop, then of each side of a soft stop.
    pub fn at_start(system: &TreeSystem) -> Vec<Self> {
        let mut records = Vec::new();
        for standing in system.standings() {
            let mut record = Record::default();
            match standing {
                Standing::Moves => {}
                Standing::Held => record.held.begin(0.0),
                Standing::Rests(_) => record.rested.begin(0.0),
            }
            records.push(record);
        }
        for touched in system.cushions_touched() {
            let mut record = Record::default();
            if touched {
                record.rested.begin(0.0);
            }
            records.push(record);
        }
        records
    }

    pub fn to_words(self) -> [u64; RECORD] {
        let ([a, b, c], [d, e, f]) = (self.held.to_words(), self.rested.to_words());
        let (hardest, lost) = (self.hardest.to_bits(), self.lost.to_bits());
        [a, b, c, d, e, f, self.impacts, hardest, lost]
    }

    pub fn from_words(words: &[u64]) -> Option<Self> {
        let [a, b, c, d, e, f, impacts, hardest, lost] = *words else {
            return None;
        };
        Some(Record {
            held: Tally::from_words([a, b, c]),
            rested: Tally::from_words([d, e, f]),
            impacts,
            hardest: f64::from_bits(hardest),
            lost: f64::from_bits(lost),
        })
    }

    fn stopped(&self, dof: &DofInfo, is_soft: bool, now: f64) -> Option<Stopped> {
        (self.impacts > 0 || self.rested.times > 0).then(|| Stopped {
            name: dof.name.clone(),
            unit: dof.velocity_unit,
            is_soft,
            impacts: self.impacts,
            hardest: self.hardest,
            lost: self.lost,
            rests: self.rested.times,
            duration: self.rested.total(now),
        })
    }
}

/// Kinds of events of a freedom with dry friction or a stop, in the order of their numbers.
pub(super) const KINDS: [&str; 10] = [
    "is held by dry friction",
    "slips",
    "strikes its lower limit",
    "strikes its upper limit",
    "rests against its lower limit",
    "rests against its upper limit",
    "leaves its lower limit",
    "leaves its upper limit",
    "touches its lower limit",
    "touches its upper limit",
];
const HELD: usize = 0;
const SLIPS: usize = 1;
pub(super) const STRIKES: usize = 2;
const RESTS: usize = 4;
const LEAVES: usize = 6;
const TOUCHES: usize = 8;

/// The number of a kind for a limit; those of upper limits follow those of lower ones.
fn at_limit(kind: usize, touch: Touch) -> usize {
    kind + usize::from(touch == Touch::Upper)
}

impl Simulation {
    /// Events so far, in order: those of the event functions, of dry friction and of stops.
    pub fn events(&self) -> Vec<Happened> {
        let names = self.event_names();
        let happened = self.happened.iter().map(|&(index, time)| Happened {
            name: names[index].clone(),
            time,
        });
        happened.collect()
    }

    /// Names of all events that a run may have: those of the event functions, then those of freedoms with dry friction or stops.
    pub(super) fn event_names(&self) -> Vec<String> {
        let own = self.system.event_functions().iter();
        let own = own.map(|event| event.name().to_string());
        let cushions = self.system.cushion_dofs().map(|(dof, _)| dof);
        let dofs = self.system.friction_dofs().chain(cushions);
        let kinds = dofs.flat_map(|dof| KINDS.map(|kind| format!("{} {kind}", dof.name)));
        own.chain(kinds).collect()
    }

    /// The freedoms that dry friction has held so far.
    pub(super) fn held(&self, now: f64) -> Vec<Held> {
        let rigid = self.system.friction_dofs().zip(&self.records);
        rigid
            .filter(|(_, record)| record.held.times > 0)
            .map(|(dof, record)| Held {
                name: dof.name.clone(),
                times: record.held.times,
                duration: record.held.total(now),
            })
            .collect()
    }

    /// The actions of stops so far.
    pub(super) fn stopped(&self, now: f64) -> Vec<Stopped> {
        let rigid = self.system.friction_dofs().map(|dof| (dof, false));
        let soft = self.system.cushion_dofs().map(|(dof, _)| (dof, true));
        let mut stops: Vec<Stopped> = Vec::new();
        for ((dof, is_soft), record) in rigid.chain(soft).zip(&self.records) {
            let Some(more) = record.stopped(dof, is_soft, now) else {
                continue;
            };
            // both sides of a soft stop are one entry
            match stops.iter_mut().find(|stop| stop.name == more.name) {
                Some(stop) => stop.add(&more),
                None => stops.push(more),
            }
        }
        stops
    }

    /// Chooses the modes of dry friction anew at a time within the last step, and continues from there.
    pub(super) fn change_friction(&mut self, t: f64, stopped: Option<usize>) -> Result<()> {
        let mut y = std::mem::take(&mut self.y);
        let mut go = || {
            self.engine.interpolate(&mut self.system, t, &mut y)?;
            let changes = self.system.choose_modes(t, &mut y, stopped)?;
            match changes.is_empty() {
                // a slipping freedom has reversed
                true => self.engine.resume(&mut self.system, t, &y)?,
                false => {
                    let longest = f64::INFINITY;
                    self.engine.restart(&mut self.system, t, &y, longest)?;
                }
            }
            Ok(changes)
        };
        let changes = go();
        self.y = y;
        self.note_changes(t, changes?);
        Ok(())
    }

    /// The time within the last step at which the limit itself was reached, for an event beyond its slack.
    pub(super) fn time_at_limit(&mut self, event: f64) -> Result<f64> {
        let mut y = std::mem::take(&mut self.y);
        let mut go = || {
            let earliest = self.engine.before(&mut y);
            let mut t = event;
            for _ in 0..3 {
                self.engine.interpolate(&mut self.system, t, &mut y)?;
                t = (t - self.system.overdue(&y)).max(earliest);
            }
            Ok(t)
        };
        let found = go();
        self.y = y;
        found
    }

    /// Applies the impacts of freedoms that reach their limits at a time within the last step, and continues from there.
    pub(super) fn strike(&mut self, t: f64) -> Result<()> {
        let mut y = std::mem::take(&mut self.y);
        let mut go = || {
            self.engine.interpolate(&mut self.system, t, &mut y)?;
            let done = self.system.strike(t, &mut y)?;
            let longest = f64::INFINITY;
            self.engine.restart(&mut self.system, t, &y, longest)?;
            Ok(done)
        };
        let done = go();
        self.y = y;
        let (impacts, changes) = done?;
        self.note_impacts(t, &impacts);
        self.note_changes(t, changes);
        Ok(())
    }

    /// Changes the mode of a soft stop at a time within the last step, and continues from there.
    pub(super) fn change_cushion(&mut self, t: f64, index: usize, which: usize) -> Result<()> {
        let mut y = std::mem::take(&mut self.y);
        let mut go = || {
            self.engine.interpolate(&mut self.system, t, &mut y)?;
            let touches = self.system.change_cushion(index, which, &y);
            let changes = self.system.choose_modes(t, &mut y, None)?;
            let longest = f64::INFINITY;
            self.engine.restart(&mut self.system, t, &y, longest)?;
            Ok((touches, changes))
        };
        let done = go();
        self.y = y;
        let ([touches, touched], changes) = done?;
        let speed = self.system.cushion_speed(index, &self.y);
        let side = match self.system.cushion_dofs().nth(index) {
            Some((_, true)) => Touch::Lower,
            _ => Touch::Upper,
        };
        let index = self.system.standings().len() + index;
        let record = &mut self.records[index];
        match (touched, touches) {
            _ if t > self.options.duration => {}
            (false, true) => {
                record.rested.begin(t);
                record.impacts += 1;
                record.hardest = record.hardest.max(speed);
                self.note(t, index, at_limit(TOUCHES, side));
            }
            (true, false) => {
                record.rested.end(t);
                self.note(t, index, at_limit(LEAVES, side));
            }
            _ => {}
        }
        self.note_changes(t, changes);
        Ok(())
    }

    /// A freedom that was released with zero velocity and has come back within the step: the step is repeated, shorter; if it becomes
    /// too short, the freedom is still held. One that was at its limit and is beyond it strikes it at the beginning of the step.
    pub(super) fn mend(&mut self, t: f64, size: f64) -> Result<bool> {
        if !self.system.can_overrun() {
            return Ok(false);
        }
        let mut y = std::mem::take(&mut self.y);
        let mut go = || {
            self.engine.interpolate(&mut self.system, t, &mut y)?;
            let Some(overrun) = self.system.overrun(&y) else {
                return Ok(None);
            };
            let from = self.engine.before(&mut y);
            let Overrun::Turned(index) = overrun else {
                let (impacts, changes) = self.system.strike(from, &mut y)?;
                self.engine
                    .restart(&mut self.system, from, &y, 0.125 * size)?;
                return Ok(Some((from, impacts, changes)));
            };
            let before = self.system.standings();
            let is_short = size < 1e-9 * self.options.duration;
            let forced = is_short || matches!(self.engine, Engine::Fixed(_));
            if forced {
                self.system.force_hold(from, index, &mut y)?;
            }
            self.engine
                .restart(&mut self.system, from, &y, 0.125 * size)?;
            Ok(Some((from, Vec::new(), self.system.changes_since(&before))))
        };
        let mended = go();
        self.y = y;
        let Some((from, impacts, changes)) = mended? else {
            return Ok(false);
        };
        self.note_impacts(from, &impacts);
        self.note_changes(from, changes);
        Ok(true)
    }

    /// Records an event of a kind for a freedom.
    fn note(&mut self, t: f64, index: usize, kind: usize) {
        let own = self.system.event_functions().len();
        self.happened.push((own + KINDS.len() * index + kind, t));
    }

    fn note_impacts(&mut self, t: f64, impacts: &[Impact]) {
        // the last of fixed steps may go beyond the end
        if t > self.options.duration {
            return;
        }
        for impact in impacts {
            let record = &mut self.records[impact.index];
            record.impacts += 1;
            record.hardest = record.hardest.max(impact.speed);
            record.lost += impact.lost;
            self.note(t, impact.index, at_limit(STRIKES, impact.touch));
        }
    }

    pub(super) fn note_changes(&mut self, t: f64, changes: Vec<Change>) {
        if t > self.options.duration {
            return;
        }
        for Change {
            index,
            before,
            after,
        } in changes
        {
            let record = &mut self.records[index];
            match before {
                Standing::Moves => {}
                Standing::Held => record.held.end(t),
                Standing::Rests(_) => record.rested.end(t),
            }
            match after {
                Standing::Moves => {}
                Standing::Held => record.held.begin(t),
                Standing::Rests(_) => record.rested.begin(t),
            }
            match (before, after) {
                (Standing::Rests(touch), _) => self.note(t, index, at_limit(LEAVES, touch)),
                (Standing::Held, Standing::Moves) => self.note(t, index, SLIPS),
                _ => {}
            }
            match after {
                Standing::Moves => {}
                Standing::Held => self.note(t, index, HELD),
                Standing::Rests(touch) => self.note(t, index, at_limit(RESTS, touch)),
            }
        }
    }
}
