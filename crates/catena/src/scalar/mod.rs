//! The numbers an algorithm can run in.
//!
//! The recursions on trees are generic over [`Scalar`]. The scalar determines what a run computes:
//!
//! | scalar | result of a run |
//! |---|---|
//! | `f64`, `f32` | numbers |
//! | [`Fused`] | numbers, with fused multiply-add (chosen by run-time dispatch) |
//! | [`Lanes<N>`](Lanes), [`Wide`] | N states at once |
//! | [`DoubleDouble`] | double-double numbers, with twice the digits |
//! | [`Dual<T, N>`](Dual) | values and their derivatives in N directions |
//! | [`Count`] | the number of additions, multiplications, divisions, square roots and sines |
//!
//! Laws of every scalar:
//! * there is no ordering: a branch on a *value* cannot be traced, vectorised or counted. Branch on structure
//!   (joint kind, tree shape, sizes) and use [`Scalar::less`] with [`Scalar::select`] for values;
//! * `constant(x)` is exact; `zero()` and `one()` are structural: [`Count`] does not charge products with them;
//! * `a.mul_add(b, c)` is `a * b + c`, fused only in those scalars that say so.

mod count;
mod double_double;
mod dual;
mod float;
mod trig;
mod wide;

pub use count::{Count, Operations};
pub use double_double::DoubleDouble;
pub use dual::Dual;
pub use float::Fused;
pub use wide::{Lanes, Vector, Wide};

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number, or a type that can represent one.
pub trait Scalar:
    Copy
    + Debug
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// Result of a comparison: `bool`, a lane mask, a formula.
    type Mask: Copy;

    /// The number `x`, known when the program was written or the model was built.
    fn constant(x: f64) -> Self;

    /// `self` < `other`.
    fn less(self, other: Self) -> Self::Mask;

    /// `yes` where the mask holds, `no` elsewhere. Both are computed.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// Square root.
    fn sqrt(self) -> Self;

    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);

    /// Sine and cosine of many angles; a scalar that can do several at once overrides it.
    #[inline(always)]
    fn sin_cos_all(angles: &[Self], sin: &mut [Self], cos: &mut [Self]) {
        for ((angle, s), c) in angles.iter().zip(sin).zip(cos) {
            (*s, *c) = angle.sin_cos();
        }
    }

    /// `self` · `factor` + `addend`.
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        self * factor + addend
    }

    /// Structural zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::constant(0.0)
    }

    /// Structural one.
    #[inline(always)]
    fn one() -> Self {
        Self::constant(1.0)
    }

    /// Reciprocal.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::one() / self
    }

    /// Runs a task in a separate function, compiled for the instructions of this scalar: for long code needed in many places.
    #[inline(never)]
    fn apart<T: Task>(task: T) -> T::Output {
        task.run()
    }
}

/// Work that is compiled once per scalar instead of being inlined into every caller: see [`Scalar::apart`].
pub trait Task {
    /// Its result.
    type Output;

    /// Runs it; `#[inline(always)]`, so that it is compiled for the instructions of the scalar.
    fn run(self) -> Self::Output;
}

/// A model's number, usable by a computation in `S`.
///
/// Models usually hold `f64`, whatever scalar the computation runs in: the constants of a robot are the same in every
/// lane and have no derivatives. A model may also hold `S` itself, when masses or lengths are differentiated or kept as symbols.
pub trait Parameter<S>: Copy {
    /// The parameter as a number of the computation.
    fn lift(self) -> S;
}

impl<S: Scalar> Parameter<S> for f64 {
    #[inline(always)]
    fn lift(self) -> S {
        S::constant(self)
    }
}
