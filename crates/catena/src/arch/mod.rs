//! Processor-specific code for single states: detection of instruction sets, and vectors held in registers.

mod cpu;

#[cfg(target_arch = "x86_64")]
mod articulated;
#[cfg(target_arch = "x86_64")]
mod columns;
#[cfg(target_arch = "x86_64")]
mod links;
#[cfg(target_arch = "x86_64")]
mod moments;
#[cfg(target_arch = "x86_64")]
mod quad;
#[cfg(target_arch = "x86_64")]
mod records;
#[cfg(target_arch = "x86_64")]
mod registers;

pub use cpu::Cpu;
#[cfg(target_arch = "x86_64")]
pub(crate) use {
    columns::{Columns, SMALL},
    cpu::{with_avx2, with_avx512},
    links::Link,
    records::QuadDerivatives,
    registers::{Links, Registers},
};
