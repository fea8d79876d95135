//! Everything that depends on the processor: detection of instruction sets, vectors held in registers, registers of lanes, prefetches.
//!
//! The types of registers are private to this folder, and their operations are sound only where the processor has the instructions.
//! Others get them in two ways: as workspaces that [`OneState`], [`InertiaMatrix`] and [`Derivatives`] make only after detection, and as
//! the type parameter of [`in_registers`] and [`InRegisters`], which detect, too. On other architectures than x86-64 there are none
//! (`absent.rs`), and no code outside this folder depends on that.

mod choice;
mod code;
mod cpu;
mod memory;

#[cfg(not(target_arch = "x86_64"))]
mod absent;
#[cfg(target_arch = "x86_64")]
mod articulated;
#[cfg(target_arch = "x86_64")]
mod columns;
#[cfg(target_arch = "x86_64")]
mod derivatives;
#[cfg(target_arch = "x86_64")]
mod inertia;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod links;
#[cfg(target_arch = "x86_64")]
mod moments;
#[cfg(target_arch = "x86_64")]
mod motions;
#[cfg(target_arch = "x86_64")]
mod one_state;
#[cfg(target_arch = "x86_64")]
mod quad;
#[cfg(target_arch = "x86_64")]
mod records;
#[cfg(target_arch = "x86_64")]
mod registers;

pub(crate) use choice::{ForRegister, InRegisters, PerRegister, Visitor, in_registers};
pub(crate) use code::{Entry, Sines};
pub use cpu::Cpu;
pub(crate) use memory::prefetch;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use absent::{Derivatives, InertiaMatrix, OneState};
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use lanes::{Avx2Register, Avx512Register};
#[cfg(target_arch = "x86_64")]
pub(crate) use {derivatives::Derivatives, inertia::InertiaMatrix, one_state::OneState};

/// Derivatives of which dynamics?
#[derive(Clone, Copy)]
pub(crate) enum Of {
    Inverse,
    /// With the factors of forward dynamics.
    Forward,
}

/// A check in every register that this processor has and `CATENA_CPU` allows; the test says which it skips.
#[cfg(test)]
macro_rules! in_registers_only {
    ($check:ident) => {
        #[cfg(target_arch = "x86_64")]
        {
            use $crate::arch::{Avx2Register, Avx512Register, Cpu, has_or_skips};
            if has_or_skips(Cpu::Avx2) {
                $check::<Avx2Register>();
            }
            if has_or_skips(Cpu::Avx512) {
                $check::<Avx512Register>();
            }
        }
    };
}
#[cfg(test)]
pub(crate) use in_registers_only;

/// `in_registers_only`, and the check in arrays.
#[cfg(test)]
macro_rules! in_every_register {
    ($check:ident) => {
        $check::<[f64; 4]>();
        $check::<[f64; 8]>();
        $crate::arch::in_registers_only!($check);
    };
}
#[cfg(test)]
pub(crate) use in_every_register;

/// Whether these instructions are available; if not, the calling test reports that it skips them.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) fn has_or_skips(wanted: Cpu) -> bool {
    let has = Cpu::detect() >= wanted;
    if !has {
        let test = std::thread::current();
        let name = test.name().unwrap_or("a test");
        eprintln!(
            "skipped: {name} in registers of {wanted:?}, which this processor lacks or `CATENA_CPU` disables"
        );
    }
    has
}
