//! Processor-specific code for single states: detection of instruction sets, and vectors held in registers.

mod cpu;

#[cfg(target_arch = "x86_64")]
mod articulated;
#[cfg(target_arch = "x86_64")]
mod columns;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod links;
#[cfg(target_arch = "x86_64")]
mod moments;
#[cfg(target_arch = "x86_64")]
mod motions;
#[cfg(target_arch = "x86_64")]
mod quad;
#[cfg(target_arch = "x86_64")]
mod records;
#[cfg(target_arch = "x86_64")]
mod registers;

pub use cpu::Cpu;
#[cfg(target_arch = "x86_64")]
pub(crate) use {
    columns::Columns,
    cpu::{with_avx2, with_avx512},
    lanes::{Avx2Register, Avx512Register},
    links::Link,
    records::QuadDerivatives,
    registers::{Links, Registers},
};

/// A check, in arrays and in every register that this processor has and `CATENA_CPU` allows.
#[cfg(test)]
macro_rules! in_every_register {
    ($check:ident) => {
        $check::<[f64; 4]>();
        $check::<[f64; 8]>();
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
pub(crate) use in_every_register;

/// Whether there are these instructions; if not, the test that asks says that it skips them.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) fn has_or_skips(wanted: Cpu) -> bool {
    let has = Cpu::detect() >= wanted;
    if !has {
        let test = std::thread::current();
        let name = test.name().unwrap_or("a test");
        eprintln!(
            "skipped: {name} in registers of {wanted:?}, which this processor has not or `CATENA_CPU` excludes"
        );
    }
    has
}
