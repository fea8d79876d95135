//! Prefetches.

/// Prefetches a cache line for writing.
#[inline(always)]
pub(crate) fn prefetch(to: &[f64], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        let line = to.as_ptr().wrapping_add(at);
        // SAFETY: a prefetch may have any address.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_ET0>(line.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (to, at);
}
