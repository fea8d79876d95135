//! The registers of x86-64 that hold a state in each lane.

use super::cpu::{with_avx2, with_avx512};
use crate::scalar::{Task, Vector};
use fearless_simd::{
    Avx2, Avx512, Bytes, Level, Select, SimdBase, SimdFloat, SimdInto, SimdMask, f64x4, f64x8,
    mask64x4, mask64x8, u64x4, u64x8,
};
use std::arch::x86_64::{
    __m512d, _mm256_loadu_pd, _mm512_castpd256_pd512, _mm512_insertf64x4, _mm512_permutex2var_pd,
    _mm512_setr_epi64, _mm512_setzero_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
};

macro_rules! vector {
    ($name:ident, $register:ident, $mask:ident, $bits:ident, $token:ident, $proof:ident, $apart:ident, $lanes:literal $(, $own:item)?) => {
        /// A register of one kind of processor. Private to the crate: only code that the dispatcher runs on such a
        /// processor may make one.
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name($register<$token>);

        impl Vector for $name {
            const LANES: usize = $lanes;
            type Mask = $mask<$token>;

            #[inline(always)]
            fn splat(x: f64) -> Self {
                $name(SimdBase::splat($proof(), x))
            }
            #[inline(always)]
            fn load(lanes: &[f64]) -> Self {
                $name(SimdBase::from_slice($proof(), lanes))
            }
            #[inline(always)]
            fn lanes(&self) -> &[f64] {
                self.0.as_slice()
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [f64] {
                self.0.as_mut_slice()
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $name(self.0 + other.0)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                $name(self.0 - other.0)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                $name(self.0 * other.0)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                $name(self.0 / other.0)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                $name(-self.0)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                $name(SimdFloat::mul_add(self.0, factor.0, addend.0))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $name(SimdFloat::sqrt(self.0))
            }
            #[inline(always)]
            fn less(self, other: Self) -> Self::Mask {
                self.0.simd_lt(other.0)
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                $name(Select::select(mask, yes.0, no.0))
            }
            #[inline(always)]
            fn all(mask: Self::Mask) -> bool {
                mask.all_true()
            }
            #[inline(always)]
            fn zip(self, other: Self) -> (Self, Self) {
                (
                    $name(self.0.zip_low(other.0)),
                    $name(self.0.zip_high(other.0)),
                )
            }
            #[inline(always)]
            fn turn(quarters: Self, sin: Self, cos: Self) -> (Self, Self) {
                let quarters: $bits<$token> = quarters.0.bitcast();
                let sin: $bits<$token> = sin.0.bitcast();
                let cos: $bits<$token> = cos.0.bitcast();
                let odd = $bits::splat($proof(), 0) - (quarters & 1);
                let swap = (sin ^ cos) & odd;
                let sin_sign = (quarters & 2) << 62;
                let cos_sign = ((quarters + 1) & 2) << 62;
                (
                    $name((sin ^ swap ^ sin_sign).bitcast()),
                    $name((cos ^ swap ^ cos_sign).bitcast()),
                )
            }
            #[inline(always)]
            fn apart<T: Task>(task: T) -> T::Output {
                // SAFETY: the contract of `Vector`: asked only by code which the dispatcher runs on such a processor.
                #[allow(unsafe_code)]
                unsafe {
                    $apart(task)
                }
            }
            $($own)?
        }
    };
}

macro_rules! proof {
    ($name:ident, $token:ident, $found:ident) => {
        /// The proof, which `fearless_simd` asks for, that the processor has the instructions.
        #[inline(always)]
        fn $name() -> $token {
            debug_assert!(
                Level::new().$found().is_some(),
                "the processor lacks the instructions"
            );
            #[allow(unsafe_code)]
            const {
                // SAFETY: the contract of `Vector`: values of these registers are only made by code which the
                // dispatcher runs on such a processor.
                unsafe { $token::assume_supported() }
            }
        }
    };
}

with_avx2! {
    #[inline(never)]
    fn avx2_apart<T: Task>(task: T) -> T::Output {
        task.run()
    }
}

with_avx512! {
    #[inline(never)]
    fn avx512_apart<T: Task>(task: T) -> T::Output {
        task.run()
    }
}

proof!(avx2, Avx2, as_avx2);
proof!(avx512, Avx512, as_avx512);
vector!(
    Avx2Register,
    f64x4,
    mask64x4,
    u64x4,
    Avx2,
    avx2,
    avx2_apart,
    4
);
vector!(
    Avx512Register,
    f64x8,
    mask64x8,
    u64x8,
    Avx512,
    avx512,
    avx512_apart,
    8,
    #[inline(always)]
    fn transposed(rows: [&[f64]; 8]) -> [Self; 8] {
        for row in rows {
            assert!(row.len() >= 8, "eight rows of eight");
        }
        let rows = [
            rows[0].as_ptr(),
            rows[1].as_ptr(),
            rows[2].as_ptr(),
            rows[3].as_ptr(),
            rows[4].as_ptr(),
            rows[5].as_ptr(),
            rows[6].as_ptr(),
            rows[7].as_ptr(),
        ];
        // SAFETY: there are eight numbers at each, and the contract of `Vector`.
        #[allow(unsafe_code)]
        let square = unsafe { transposed(rows) };
        let mut transposed = [<Self as Vector>::splat(0.0); 8];
        for i in 0..8 {
            transposed[i] = Avx512Register(SimdInto::simd_into(square[i], avx512()));
        }
        transposed
    }
);

/// Halves of rows are combined on loading, which leaves two rounds of shuffles instead of three.
///
/// # Safety
///
/// Eight numbers at every row, on a processor with AVX-512.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn transposed(rows: [*const f64; 8]) -> [__m512d; 8] {
    // SAFETY: as promised.
    unsafe {
        let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        let mut square = [_mm512_setzero_pd(); 8];
        for side in 0..2 {
            let mut halves = [_mm512_setzero_pd(); 4];
            for i in 0..4 {
                let first = _mm256_loadu_pd(rows[i].add(4 * side));
                let second = _mm256_loadu_pd(rows[i + 4].add(4 * side));
                halves[i] = _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(first), second);
            }
            let low = _mm512_unpacklo_pd(halves[0], halves[1]);
            let high = _mm512_unpackhi_pd(halves[0], halves[1]);
            let next_low = _mm512_unpacklo_pd(halves[2], halves[3]);
            let next_high = _mm512_unpackhi_pd(halves[2], halves[3]);
            square[4 * side] = _mm512_permutex2var_pd(low, even, next_low);
            square[4 * side + 1] = _mm512_permutex2var_pd(high, even, next_high);
            square[4 * side + 2] = _mm512_permutex2var_pd(low, odd, next_low);
            square[4 * side + 3] = _mm512_permutex2var_pd(high, odd, next_high);
        }
        square
    }
}
