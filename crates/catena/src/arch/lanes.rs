//! The registers of x86-64 that hold a state in each lane.

use super::cpu::{Cpu, with_avx2, with_avx512};
use crate::scalar::{Task, Vector};
use std::arch::x86_64::*;

/// A register of one kind of processor as [`Vector`]: every operation is one of the processor's instructions.
///
/// The type is private to `arch`, which gives it to other code only as a type parameter and only after it has detected the instructions
/// (`choice.rs`): this makes every intrinsic below sound. Debug builds check it at construction.
macro_rules! vector {
    (
        $name:ident, $cpu:ident, $lanes:literal, $register:ident, $mask:ident, apart: $apart:ident,
        splat: $splat:ident, load: $load:ident, add: $add:ident, sub: $sub:ident, mul: $mul:ident, div: $div:ident,
        xor: $xor:ident, mul_add: $mul_add:ident, sqrt: $sqrt:ident,
        less: $less:expr, select: $select:ident, all: $all:literal, zip: $zip:ident, lanes_of: $lanes_of:ident,
        to_bits: $to_bits:ident, from_bits: $from_bits:ident, splat_bits: $splat_bits:ident, add_bits: $add_bits:ident,
        sub_bits: $sub_bits:ident, and_bits: $and_bits:ident, xor_bits: $xor_bits:ident, shift_bits: $shift_bits:ident
        $(, $own:item)?
    ) => {
        /// A register of one kind of processor, with a state in each lane.
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name($register);

        // SAFETY of every block: the processor has the instructions, by the contract above; what is loaded or viewed as numbers is
        // as long as the register.
        #[allow(unsafe_code, clippy::undocumented_unsafe_blocks)]
        impl Vector for $name {
            const LANES: usize = $lanes;
            type Mask = $mask;

            #[inline(always)]
            fn splat(x: f64) -> Self {
                debug_assert!(Cpu::best() >= Cpu::$cpu, "the processor lacks the instructions");
                $name(unsafe { $splat(x) })
            }
            #[inline(always)]
            fn load(lanes: &[f64]) -> Self {
                debug_assert!(Cpu::best() >= Cpu::$cpu, "the processor lacks the instructions");
                assert_eq!(lanes.len(), $lanes, "as many numbers as lanes");
                $name(unsafe { $load(lanes.as_ptr()) })
            }
            #[inline(always)]
            fn lanes(&self) -> &[f64] {
                unsafe { &*(&raw const self.0).cast::<[f64; $lanes]>() }
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [f64] {
                unsafe { &mut *(&raw mut self.0).cast::<[f64; $lanes]>() }
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $name(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                $name(unsafe { $sub(self.0, other.0) })
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                $name(unsafe { $mul(self.0, other.0) })
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                $name(unsafe { $div(self.0, other.0) })
            }
            #[inline(always)]
            fn neg(self) -> Self {
                $name(unsafe { $xor(self.0, $splat(-0.0)) })
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                $name(unsafe { $mul_add(self.0, factor.0, addend.0) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $name(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn less(self, other: Self) -> Self::Mask {
                unsafe { $less(self.0, other.0) }
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                $name(unsafe { $select(mask, yes.0, no.0) })
            }
            #[inline(always)]
            fn all(mask: Self::Mask) -> bool {
                unsafe { $lanes_of(mask) == $all }
            }
            #[inline(always)]
            fn zip(self, other: Self) -> (Self, Self) {
                let (low, high) = unsafe { $zip(self.0, other.0) };
                ($name(low), $name(high))
            }
            #[inline(always)]
            fn turn(quarters: Self, sin: Self, cos: Self) -> (Self, Self) {
                unsafe {
                    let (quarters, sin, cos) = ($to_bits(quarters.0), $to_bits(sin.0), $to_bits(cos.0));
                    let (one, two) = ($splat_bits(1), $splat_bits(2));
                    let odd = $sub_bits($splat_bits(0), $and_bits(quarters, one));
                    let swap = $and_bits($xor_bits(sin, cos), odd);
                    let sin_sign = $shift_bits::<62>($and_bits(quarters, two));
                    let cos_sign = $shift_bits::<62>($and_bits($add_bits(quarters, one), two));
                    (
                        $name($from_bits($xor_bits($xor_bits(sin, swap), sin_sign))),
                        $name($from_bits($xor_bits($xor_bits(cos, swap), cos_sign))),
                    )
                }
            }
            #[inline(always)]
            fn apart<T: Task>(task: T) -> T::Output {
                unsafe { $apart(task) }
            }
            $($own)?
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

vector!(
    Avx2Register, Avx2, 4, __m256d, __m256d, apart: avx2_apart,
    splat: _mm256_set1_pd, load: _mm256_loadu_pd,
    add: _mm256_add_pd, sub: _mm256_sub_pd, mul: _mm256_mul_pd, div: _mm256_div_pd,
    xor: _mm256_xor_pd, mul_add: _mm256_fmadd_pd, sqrt: _mm256_sqrt_pd,
    less: _mm256_cmp_pd::<_CMP_LT_OQ>,
    select: select4, all: 0b1111, zip: zip4, lanes_of: _mm256_movemask_pd,
    to_bits: _mm256_castpd_si256, from_bits: _mm256_castsi256_pd, splat_bits: _mm256_set1_epi64x, add_bits: _mm256_add_epi64,
    sub_bits: _mm256_sub_epi64, and_bits: _mm256_and_si256, xor_bits: _mm256_xor_si256, shift_bits: _mm256_slli_epi64
);
vector!(
    Avx512Register, Avx512, 8, __m512d, __mmask8, apart: avx512_apart,
    splat: _mm512_set1_pd, load: _mm512_loadu_pd,
    add: _mm512_add_pd, sub: _mm512_sub_pd, mul: _mm512_mul_pd, div: _mm512_div_pd,
    xor: _mm512_xor_pd, mul_add: _mm512_fmadd_pd, sqrt: _mm512_sqrt_pd,
    less: _mm512_cmp_pd_mask::<_CMP_LT_OQ>,
    select: select8, all: 0b1111_1111, zip: zip8, lanes_of: _cvtmask8_u32,
    to_bits: _mm512_castpd_si512, from_bits: _mm512_castsi512_pd, splat_bits: _mm512_set1_epi64, add_bits: _mm512_add_epi64,
    sub_bits: _mm512_sub_epi64, and_bits: _mm512_and_si512, xor_bits: _mm512_xor_si512, shift_bits: _mm512_slli_epi64,
    #[inline(always)]
    fn transposed(rows: [&[f64]; 8]) -> [Self; 8] {
        for row in rows {
            assert!(row.len() >= 8, "eight rows of eight");
        }
        // eight numbers at each
        unsafe { transposed(rows.map(<[f64]>::as_ptr)).map(Avx512Register) }
    }
);

/// `yes` in the lanes where the mask holds, `no` in the others.
///
/// # Safety
///
/// On a processor with AVX2.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn select4(mask: __m256d, yes: __m256d, no: __m256d) -> __m256d {
    // SAFETY: as promised.
    unsafe { _mm256_blendv_pd(no, yes, mask) }
}

/// `yes` in the lanes where the mask holds, `no` in the others.
///
/// # Safety
///
/// On a processor with AVX-512.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn select8(mask: __mmask8, yes: __m512d, no: __m512d) -> __m512d {
    // SAFETY: as promised.
    unsafe { _mm512_mask_blend_pd(mask, no, yes) }
}

/// The first halves of two registers interleaved, and the second.
///
/// # Safety
///
/// On a processor with AVX2.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn zip4(a: __m256d, b: __m256d) -> (__m256d, __m256d) {
    // SAFETY: as promised.
    unsafe {
        let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        (
            _mm256_permute2f128_pd::<0b0010_0000>(even, odd),
            _mm256_permute2f128_pd::<0b0011_0001>(even, odd),
        )
    }
}

/// The first halves of two registers interleaved, and the second.
///
/// # Safety
///
/// On a processor with AVX-512.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn zip8(a: __m512d, b: __m512d) -> (__m512d, __m512d) {
    // SAFETY: as promised.
    unsafe {
        let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
        let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
        (
            _mm512_permutex2var_pd(a, low, b),
            _mm512_permutex2var_pd(a, high, b),
        )
    }
}

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
