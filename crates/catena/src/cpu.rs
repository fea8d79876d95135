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

/// Functions compiled for AVX2 with the features its registers ask for.
#[cfg(target_arch = "x86_64")]
macro_rules! with_avx2 {
    ($($item:item)*) => {$(
        #[target_feature(
            enable = "avx2,bmi1,bmi2,cmpxchg16b,f16c,fma,fxsr,lzcnt,movbe,popcnt,xsave"
        )]
        $item
    )*};
}

/// Functions compiled for AVX-512 with the features its registers ask for.
#[cfg(target_arch = "x86_64")]
macro_rules! with_avx512 {
    ($($item:item)*) => {$(
        #[target_feature(
            enable = "adx,aes,avx512bitalg,avx512bw,avx512cd,avx512dq,avx512f,avx512ifma,avx512vbmi,avx512vbmi2,avx512vl,avx512vnni,avx512vpopcntdq,bmi1,bmi2,cmpxchg16b,fma,fxsr,gfni,lzcnt,movbe,pclmulqdq,popcnt,rdrand,rdseed,sha,vaes,vpclmulqdq,xsave,xsavec,xsaveopt,xsaves"
        )]
        $item
    )*};
}

#[cfg(target_arch = "x86_64")]
pub(crate) use {with_avx2, with_avx512};
