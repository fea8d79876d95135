//! What machine code compiled for a model needs from the processor: how it is called, and the sines that it is given.

#[cfg(target_arch = "x86_64")]
use super::cpu::{Cpu, with_avx2};
use crate::scalar::{Fused, Scalar};

/// The code: frame, constants, q, v, input, output.
#[cfg(target_arch = "x86_64")]
pub(crate) type Entry =
    unsafe extern "sysv64" fn(*mut f64, *const f64, *const f64, *const f64, *const f64, *mut f64);

/// The code: frame, constants, q, v, input, output.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Entry =
    unsafe extern "C" fn(*mut f64, *const f64, *const f64, *const f64, *const f64, *mut f64);

/// Computes sines and cosines of many angles, in registers where they were detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sines {
    #[cfg(target_arch = "x86_64")]
    in_avx2: bool,
}

impl Sines {
    pub fn detect() -> Self {
        Sines {
            #[cfg(target_arch = "x86_64")]
            in_avx2: Cpu::best() >= Cpu::Avx2,
        }
    }

    pub fn run(self, angles: &[Fused], sin: &mut [Fused], cos: &mut [Fused]) {
        #[cfg(target_arch = "x86_64")]
        if self.in_avx2 {
            // SAFETY: `detect` found AVX2 and FMA.
            #[allow(unsafe_code)]
            unsafe {
                in_avx2(angles, sin, cos);
            }
            return;
        }
        Fused::sin_cos_all(angles, sin, cos);
    }
}

#[cfg(target_arch = "x86_64")]
with_avx2! {
    fn in_avx2(angles: &[Fused], sin: &mut [Fused], cos: &mut [Fused]) {
        Fused::sin_cos_all(angles, sin, cos);
    }
}
