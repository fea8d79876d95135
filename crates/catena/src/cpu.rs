//! Which instructions the arithmetic may use.

/// A set of instructions. A plain build carries all of them and chooses at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cpu {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2 with fused multiply-add: four lanes.
    Avx2,
    /// AVX-512 (as of Ice Lake): eight lanes.
    Avx512,
}

impl Cpu {
    /// The best this processor has, or less where the environment variable `CATENA_CPU` (`baseline`, `avx2`, `avx512`) says so.
    pub fn detect() -> Self {
        let wanted = match std::env::var("CATENA_CPU").as_deref() {
            Ok("baseline") => Cpu::Baseline,
            Ok("avx2") => Cpu::Avx2,
            _ => Cpu::Avx512,
        };
        wanted.min(Cpu::best())
    }

    /// The best this processor has.
    #[cfg(target_arch = "x86_64")]
    pub fn best() -> Self {
        let level = fearless_simd::Level::new();
        if level.as_avx512().is_some() {
            Cpu::Avx512
        } else if level.as_avx2().is_some() {
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
