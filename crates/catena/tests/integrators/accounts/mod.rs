//! Exact accounts of runs: what was asked of a system, in which order, and every bit that was computed.
//!
//! A controller of steps, a search for events or a prediction may be changed in many ways that still give a right answer, with more steps or a
//! larger error than necessary. The files beside this one say how runs of every method went: their steps, rejections and evaluations, the time
//! reached, how they ended, and a digest of all arguments with which the system was called and of the checkpoints after every step. They are no
//! truth by themselves: the laws of the other tests decide what is right. They say that nothing has changed unnoticed. Whoever changes a
//! method on purpose sees here what it costs or saves, and writes them anew: `CATENA_UPDATE=1 cargo test -p catena --test integrators accounts`.
//!
//! The systems are made of operations that IEEE 754 rounds exactly, so that the bits are those of every system and processor.

mod checkpoints;
mod defaults;
mod fixed;
mod implicit;
mod variable;
mod watched;

use catena::Result;
use catena::integrate::bdf::{Implicit, Role};
use catena::integrate::{Event, Mechanical, StepOutcome, System};
pub use catena_testing::accounts::in_words;
use std::path::Path;

/// A hash of numbers in their order (Fowler, Noll and Vo, by words).
#[derive(Clone)]
pub struct Digest(u64);

impl Digest {
    pub fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub fn word(&mut self, word: u64) {
        // the sign of NaN is not defined
        let word = match f64::from_bits(word).is_nan() {
            true => f64::INFINITY.to_bits() + 1,
            false => word,
        };
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(23);
    }

    pub fn words(&mut self, words: &[u64]) {
        words.iter().for_each(|word| self.word(*word));
    }

    pub fn number(&mut self, x: f64) {
        self.word(x.to_bits());
    }

    pub fn numbers(&mut self, numbers: &[f64]) {
        numbers.iter().for_each(|x| self.number(*x));
    }

    pub fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.word(u64::from(byte)));
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.word(event.index as u64);
            self.number(event.time);
            self.word(u64::from(event.rising));
        }
    }

    pub fn step(&mut self, step: &StepOutcome) {
        self.numbers(&[step.t_old, step.t, step.size]);
        self.events(step.events());
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A system that records what it is asked.
pub struct Recorded<S: ?Sized> {
    pub digest: Digest,
    system: Box<S>,
}

pub fn recorded<S: ?Sized>(system: Box<S>) -> Recorded<S> {
    Recorded {
        digest: Digest::new(),
        system,
    }
}

impl<S: ?Sized> Recorded<S> {
    fn asked(&mut self, what: u64, numbers: &[&[f64]]) {
        self.digest.word(what);
        numbers.iter().for_each(|x| self.digest.numbers(x));
    }
}

impl<S: System + ?Sized> System for Recorded<S> {
    fn dimension(&self) -> usize {
        self.system.dimension()
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        self.asked(1, &[&[t], y]);
        self.system.derivative(t, y, dy)
    }

    fn project(&mut self, t: f64, y: &mut [f64]) {
        self.asked(2, &[&[t], y]);
        self.system.project(t, y);
    }

    fn integrals(&self) -> usize {
        self.system.integrals()
    }

    fn next_kink(&self, t: f64) -> f64 {
        self.system.next_kink(t)
    }

    fn event_count(&self) -> usize {
        self.system.event_count()
    }

    fn events(&mut self, t: f64, y: &[f64], values: &mut [f64]) {
        self.asked(3, &[&[t], y]);
        self.system.events(t, y, values);
    }

    fn sample_interval(&self) -> f64 {
        self.system.sample_interval()
    }
}

impl<S: Mechanical + ?Sized> Mechanical for Recorded<S> {
    fn position_count(&self) -> usize {
        self.system.position_count()
    }

    fn velocity_count(&self) -> usize {
        self.system.velocity_count()
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.asked(4, &[&[t], q, v]);
        self.system.acceleration(t, q, v, vdot)
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        self.asked(5, &[q, delta]);
        self.system.step(q, delta);
    }

    fn settle(&mut self, t: f64, q: &mut [f64], v: &mut [f64]) -> Result<()> {
        self.asked(6, &[&[t], q, v]);
        self.system.settle(t, q, v)
    }

    fn watched_count(&self) -> usize {
        self.system.watched_count()
    }

    fn watch(&mut self, t: f64, q: &[f64], v: &[f64], values: &mut [f64]) {
        self.asked(7, &[&[t], q, v]);
        self.system.watch(t, q, v, values);
    }

    fn sample_interval(&self) -> f64 {
        self.system.sample_interval()
    }
}

impl<P: Implicit + ?Sized> Implicit for Recorded<P> {
    fn dimension(&self) -> usize {
        self.system.dimension()
    }

    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        self.asked(8, &[&[t], x, xdot]);
        self.system.residual(t, x, xdot, out)
    }

    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        self.asked(9, &[&[t, sigma], x, xdot]);
        self.system.linearize(t, x, xdot, sigma)
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        self.asked(10, &[rhs]);
        self.system.solve(rhs)
    }

    fn role(&self, i: usize) -> Role {
        self.system.role(i)
    }

    fn tested(&self, i: usize) -> bool {
        self.system.tested(i)
    }

    fn name(&self, i: usize) -> String {
        self.system.name(i)
    }

    fn project(&mut self, t: f64, x: &mut [f64]) {
        self.asked(11, &[&[t], x]);
        self.system.project(t, x);
    }

    fn event_count(&self) -> usize {
        self.system.event_count()
    }

    fn events(&mut self, t: f64, x: &[f64], values: &mut [f64]) {
        self.asked(12, &[&[t], x]);
        self.system.events(t, x, values);
    }

    fn sample_interval(&self) -> f64 {
        self.system.sample_interval()
    }
}

/// Compares lines with those recorded in the file of this name.
pub fn compare(name: &str, lines: &[String]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integrators/accounts");
    catena_testing::accounts::compare(&folder.join(name), lines);
}
