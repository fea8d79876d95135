//! Chooses registers at run time: the only place that gives a type of registers to code outside this folder, after detection.

use super::cpu::Cpu;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2Register, Avx512Register};
use crate::scalar::Vector;
use std::fmt::Debug;

/// A task for any kind of register.
pub(crate) trait ForRegister {
    type Output;
    fn run<V: Vector + Send + Sync>(self) -> Self::Output;
}

/// Runs a task for the registers of this path, or of the best below it that the processor has; without any, for a single lane: several
/// would only be unrolled loops.
pub(crate) fn in_registers<T: ForRegister>(cpu: Cpu, task: T) -> T::Output {
    match cpu.min(Cpu::best()) {
        #[cfg(target_arch = "x86_64")]
        Cpu::Avx512 => task.run::<Avx512Register>(),
        #[cfg(target_arch = "x86_64")]
        Cpu::Avx2 => task.run::<Avx2Register>(),
        _ => task.run::<[f64; 1]>(),
    }
}

/// A type for every kind of register.
pub(crate) trait PerRegister: Clone + Debug {
    type Of<V: Vector + Send + Sync>: Clone + Debug;
}

/// A task for values of those types.
pub(crate) trait Visitor<F: PerRegister> {
    type Output;
    fn visit<V: Vector + Send + Sync>(self, values: &mut Vec<F::Of<V>>) -> Self::Output;
}

/// Values for the registers that were detected when it was made.
#[derive(Clone, Debug)]
pub(crate) struct InRegisters<F: PerRegister>(Chosen<F>);

#[derive(Clone, Debug)]
enum Chosen<F: PerRegister> {
    One(Vec<F::Of<[f64; 1]>>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Vec<F::Of<Avx2Register>>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Vec<F::Of<Avx512Register>>),
}

impl<F: PerRegister> InRegisters<F> {
    /// No values yet, for the registers that [`in_registers`] chooses.
    pub fn new(cpu: Cpu) -> Self {
        InRegisters(match cpu.min(Cpu::best()) {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 => Chosen::Avx512(Vec::new()),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 => Chosen::Avx2(Vec::new()),
            _ => Chosen::One(Vec::new()),
        })
    }

    pub fn visit<T: Visitor<F>>(&mut self, task: T) -> T::Output {
        match &mut self.0 {
            Chosen::One(values) => task.visit(values),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(values) => task.visit(values),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(values) => task.visit(values),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match &self.0 {
            Chosen::One(values) => values.len(),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx2(values) => values.len(),
            #[cfg(target_arch = "x86_64")]
            Chosen::Avx512(values) => values.len(),
        }
    }
}
