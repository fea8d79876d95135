//! Which instructions the arithmetic may use.

use crate::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether only [`Cpu::Baseline`] may be detected. A single flag without other data: relaxed memory ordering suffices.
static ONLY_BASELINE: AtomicBool = AtomicBool::new(false);

/// One list of features per path, for both detection and compilation: `detected!` queries the processor, `with!` compiles functions.
#[cfg(target_arch = "x86_64")]
macro_rules! path {
    ($dollar:tt $detected:ident, $with:ident, $($feature:tt)*) => {
        macro_rules! $detected {
            () => { $(std::arch::is_x86_feature_detected!($feature))&&* };
        }
        macro_rules! $with {
            ($dollar($dollar item:item)*) => {$dollar(
                #[target_feature($(enable = $feature),*)]
                $dollar item
            )*};
        }
    };
}

#[cfg(target_arch = "x86_64")]
path!($ avx2_detected, with_avx2, "avx2" "bmi1" "bmi2" "fma" "lzcnt" "movbe" "popcnt");
#[cfg(target_arch = "x86_64")]
path!($ avx512_detected, with_avx512,
    "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512vl" "avx512vpopcntdq"
    "avx2" "bmi1" "bmi2" "fma" "lzcnt" "movbe" "popcnt");

/// An instruction set. A plain build contains all of them and chooses at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cpu {
    /// The instructions that every processor of the architecture has.
    Baseline,
    /// AVX2 with fused multiply-add: four lanes.
    Avx2,
    /// AVX-512 (as of Ice Lake): eight lanes.
    Avx512,
}

impl Cpu {
    /// The best this processor has, or what the environment variable `CATENA_CPU` (`baseline`, `avx2`, `avx512`) selects.
    ///
    /// A value that [`wanted`](Self::wanted) rejects is ignored: a library cannot refuse to be loaded. Programs call
    /// [`wanted`](Self::wanted) when they start.
    pub fn detect() -> Self {
        Cpu::wanted().unwrap_or_else(|_| Cpu::best())
    }

    /// The path that `CATENA_CPU` selects, or the best; an error where it is none of the three, or not available on this processor.
    ///
    /// After [`only_baseline`](Self::only_baseline) it is always [`Cpu::Baseline`].
    pub fn wanted() -> Result<Self> {
        if ONLY_BASELINE.load(Ordering::Relaxed) {
            return Ok(Cpu::Baseline);
        }
        let Some(value) = std::env::var_os("CATENA_CPU") else {
            return Ok(Cpu::best());
        };
        Cpu::from_name(&value.to_string_lossy())
    }

    /// From now on this process detects only [`Cpu::Baseline`]: results then have the same bits on every processor of the
    /// architecture. Existing workspaces keep their path, and `with_cpu` still gives the requested path.
    pub fn only_baseline() {
        ONLY_BASELINE.store(true, Ordering::Relaxed);
    }

    /// The path with this name, if it exists and the processor has it.
    pub fn from_name(name: &str) -> Result<Self> {
        let wanted = match name {
            "baseline" => Cpu::Baseline,
            "avx2" => Cpu::Avx2,
            "avx512" => Cpu::Avx512,
            _ => {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("CATENA_CPU is `{name}`, which is not an instruction set"),
                )
                .hint("use baseline, avx2 or avx512, or unset it"));
            }
        };
        if wanted <= Cpu::best() {
            return Ok(wanted);
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("CATENA_CPU is `{name}`, which this processor does not have"),
        )
        .hint("unset it to use the best available"))
    }

    /// The best this processor has.
    #[cfg(target_arch = "x86_64")]
    pub fn best() -> Self {
        if avx512_detected!() {
            Cpu::Avx512
        } else if avx2_detected!() {
            Cpu::Avx2
        } else {
            Cpu::Baseline
        }
    }

    /// The best this processor has.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn best() -> Self {
        Cpu::Baseline
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::single_component_path_imports)]
// gives the macros a path, which they lack
pub(crate) use {with_avx2, with_avx512};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_instructions_are_refused() {
        let error = Cpu::from_name("avx1024").unwrap_err();
        assert_eq!(
            error.to_string(),
            "CATENA_CPU is `avx1024`, which is not an instruction set\nhint: use baseline, avx2 or avx512, or unset it"
        );
        assert_eq!(Cpu::from_name("baseline").unwrap(), Cpu::Baseline);
        for (name, cpu) in [("avx2", Cpu::Avx2), ("avx512", Cpu::Avx512)] {
            assert_eq!(Cpu::from_name(name).is_ok(), Cpu::best() >= cpu);
        }
    }
}
