//! Plain floating-point numbers, and `f64` with fused multiply-add.

use super::{Scalar, Task, trig};
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

impl Scalar for f64 {
    type Mask = bool;

    #[inline(always)]
    fn constant(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        trig::sin_cos(self)
    }
}

impl Scalar for f32 {
    type Mask = bool;

    #[inline(always)]
    fn constant(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        f32::sin_cos(self)
    }
}

/// `f64` whose [`mul_add`](Scalar::mul_add) is fused.
///
/// Only worth using inside a function compiled for a processor that has the instruction: elsewhere the fused product
/// is a call into the C library, a hundred times slower. The dispatcher of [`crate::Dynamics`] ensures that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct Fused(pub f64);

impl Fused {
    /// Reinterprets a slice of numbers as fused scalars.
    #[inline(always)]
    pub fn slice(numbers: &[f64]) -> &[Fused] {
        // SAFETY: `Fused` is `repr(transparent)` over `f64`: same size, alignment and validity.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len())
        }
    }

    /// Reinterprets a slice of fused scalars as `f64`.
    #[inline(always)]
    pub fn plain(numbers: &[Fused]) -> &[f64] {
        // SAFETY: `Fused` is `repr(transparent)` over `f64`: same size, alignment and validity.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len())
        }
    }

    /// Reinterprets a mutable slice of fused scalars as `f64`.
    #[inline(always)]
    pub fn plain_mut(numbers: &mut [Fused]) -> &mut [f64] {
        // SAFETY: `Fused` is `repr(transparent)` over `f64`: same size, alignment and validity.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len())
        }
    }

    /// Reinterprets a mutable slice of numbers as fused scalars.
    #[inline(always)]
    pub fn slice_mut(numbers: &mut [f64]) -> &mut [Fused] {
        // SAFETY: `Fused` is `repr(transparent)` over `f64`: same size, alignment and validity.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len())
        }
    }
}

macro_rules! fused_operator {
    ($($trait:ident $method:ident $assign:ident $method_assign:ident $op:tt;)*) => {$(
        impl $trait for Fused {
            type Output = Fused;
            #[inline(always)]
            fn $method(self, other: Fused) -> Fused {
                Fused(self.0 $op other.0)
            }
        }
        impl $assign for Fused {
            #[inline(always)]
            fn $method_assign(&mut self, other: Fused) {
                self.0 = self.0 $op other.0;
            }
        }
    )*};
}
fused_operator! {
    Add add AddAssign add_assign +;
    Sub sub SubAssign sub_assign -;
    Mul mul MulAssign mul_assign *;
}

impl Div for Fused {
    type Output = Fused;
    #[inline(always)]
    fn div(self, other: Fused) -> Fused {
        Fused(self.0 / other.0)
    }
}

impl Neg for Fused {
    type Output = Fused;
    #[inline(always)]
    fn neg(self) -> Fused {
        Fused(-self.0)
    }
}

impl Scalar for Fused {
    type Mask = bool;

    /// Inlined: a separate function would not be compiled with the caller's instruction.
    #[inline(always)]
    fn apart<T: Task>(task: T) -> T::Output {
        task.run()
    }

    #[inline(always)]
    fn constant(x: f64) -> Self {
        Fused(x)
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self.0 < other.0
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Fused(self.0.sqrt())
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        sin_cos_fused(self)
    }
    #[inline(always)]
    fn sin_cos_all(angles: &[Self], sin: &mut [Self], cos: &mut [Self]) {
        sin_cos_all_fused(angles, sin, cos);
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Fused(self.0.mul_add(factor.0, addend.0))
    }
}

/// Sine and cosine of any number, with fused multiply-add.
#[inline(always)]
fn sin_cos_fused(x: Fused) -> (Fused, Fused) {
    if x.0.abs() <= trig::LARGEST_ANGLE {
        sin_cos_fused_in_range(x)
    } else {
        let (sin, cos) = trig::large(x.0);
        (Fused(sin), Fused(cos))
    }
}

/// Sine and cosine of many numbers, in blocks that the compiler turns into vector instructions.
#[inline(always)]
fn sin_cos_all_fused(angles: &[Fused], sin: &mut [Fused], cos: &mut [Fused]) {
    let count = angles.len().min(sin.len()).min(cos.len());
    let (angles, sin, cos) = (&angles[..count], &mut sin[..count], &mut cos[..count]);
    if count >= 8 {
        in_blocks::<8>(angles, sin, cos);
    } else if count >= 4 {
        in_blocks::<4>(angles, sin, cos);
    } else {
        for i in 0..count {
            (sin[i], cos[i]) = sin_cos_fused(angles[i]);
        }
    }
}

/// Sine and cosine of at least `N` numbers, `N` at a time. The last block overlaps the one before it.
#[inline(always)]
fn in_blocks<const N: usize>(angles: &[Fused], sin: &mut [Fused], cos: &mut [Fused]) {
    for start in (0..angles.len()).step_by(N) {
        let start = start.min(angles.len() - N);
        let mut block = [Fused(0.0); N];
        block.copy_from_slice(&angles[start..start + N]);
        let (mut block_sin, mut block_cos) = (block, block);
        let mut in_range = true;
        for i in 0..N {
            in_range &= block[i].0.abs() <= trig::LARGEST_ANGLE;
            (block_sin[i], block_cos[i]) = sin_cos_fused_in_range(block[i]);
        }
        sin[start..start + N].copy_from_slice(&block_sin);
        cos[start..start + N].copy_from_slice(&block_cos);
        if !in_range {
            for i in start..start + N {
                let (s, c) = trig::large(angles[i].0);
                (sin[i], cos[i]) = (Fused(s), Fused(c));
            }
        }
    }
}

/// Sine and cosine of an angle no larger than [`trig::LARGEST_ANGLE`], with fused multiply-add.
#[inline(always)]
fn sin_cos_fused_in_range(x: Fused) -> (Fused, Fused) {
    let (quarters, sin, cos) = trig::reduced(x);
    let (sin, cos) = trig::turn(quarters.0, sin.0, cos.0);
    (Fused(sin), Fused(cos))
}
