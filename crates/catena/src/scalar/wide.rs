//! SIMD scalars: one computation for many states at once.

use super::{Parameter, Scalar, Task, trig};
use crate::elementary;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A register of doubles, on which [`Wide`] is built.
///
/// `[f64; N]` is portable. On x86-64 there are also registers of AVX2 (four lanes) and AVX-512 (eight). Their values **must only be
/// created on a processor that has the instructions**, and this trait creates them (`splat`, `load`): they are private to `arch`, which
/// runs generic code with them only after detection. Debug builds check it.
pub trait Vector: Copy + Debug + 'static {
    /// Number of doubles in the register.
    const LANES: usize;

    /// One boolean per lane.
    type Mask: Copy;

    /// A number broadcast to all lanes.
    fn splat(x: f64) -> Self;
    /// The lanes from a slice of exactly [`LANES`](Self::LANES) numbers.
    fn load(lanes: &[f64]) -> Self;
    /// The lanes as numbers.
    fn lanes(&self) -> &[f64];
    /// The lanes as numbers, for writing.
    fn lanes_mut(&mut self) -> &mut [f64];
    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Product.
    fn mul(self, other: Self) -> Self;
    /// Quotient.
    fn div(self, other: Self) -> Self;
    /// Negative.
    fn neg(self) -> Self;
    /// `self` · `factor` + `addend`, fused if the register can.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self` < `other`, lane by lane.
    fn less(self, other: Self) -> Self::Mask;
    /// `yes` in the lanes where the mask holds, `no` in the others.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Whether the mask holds in every lane.
    fn all(mask: Self::Mask) -> bool;
    /// Interleaves the lanes of two registers: first halves, then second halves.
    fn zip(self, other: Self) -> (Self, Self);
    /// Sine and cosine of an angle, given those of an angle smaller by a number of quarter turns, which modulo four is
    /// in the last two bits of `quarters`.
    fn turn(quarters: Self, sin: Self, cos: Self) -> (Self, Self);

    /// Runs a task in a separate function, compiled for this register: [`Scalar::apart`].
    #[inline(never)]
    fn apart<T: Task>(task: T) -> T::Output {
        task.run()
    }

    /// The square of the first [`LANES`](Self::LANES) rows, each of as many numbers, transposed; there are at most eight.
    ///
    /// Zipping the first half of the rows with the second moves the last bit of a lane's number to the row's, so as many rounds
    /// as there are bits exchange the two.
    #[inline(always)]
    fn transposed(rows: [&[f64]; 8]) -> [Self; 8] {
        let mut square = [Self::splat(0.0); 8];
        for i in 0..Self::LANES {
            square[i] = Self::load(rows[i]);
        }
        let half = Self::LANES / 2;
        let mut round = 1;
        while round < Self::LANES {
            let before = square;
            for i in 0..half {
                (square[2 * i], square[2 * i + 1]) = before[i].zip(before[i + half]);
            }
            round *= 2;
        }
        square
    }
}

/// An array is a register on any processor. Its `mul_add` is not fused.
impl<const N: usize> Vector for [f64; N] {
    const LANES: usize = N;
    type Mask = [bool; N];

    #[inline]
    fn splat(x: f64) -> Self {
        [x; N]
    }
    #[inline]
    fn load(lanes: &[f64]) -> Self {
        lanes.try_into().expect("as many numbers as lanes")
    }
    #[inline]
    fn lanes(&self) -> &[f64] {
        self
    }
    #[inline]
    fn lanes_mut(&mut self) -> &mut [f64] {
        self
    }
    #[inline]
    fn add(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] += other[i];
        }
        self
    }
    #[inline]
    fn sub(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] -= other[i];
        }
        self
    }
    #[inline]
    fn mul(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] *= other[i];
        }
        self
    }
    #[inline]
    fn div(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] /= other[i];
        }
        self
    }
    #[inline]
    fn neg(mut self) -> Self {
        for i in 0..N {
            self[i] = -self[i];
        }
        self
    }
    #[inline]
    fn mul_add(mut self, factor: Self, addend: Self) -> Self {
        for i in 0..N {
            self[i] = self[i] * factor[i] + addend[i];
        }
        self
    }
    #[inline]
    fn sqrt(mut self) -> Self {
        for i in 0..N {
            self[i] = self[i].sqrt();
        }
        self
    }
    #[inline]
    fn less(self, other: Self) -> [bool; N] {
        let mut mask = [false; N];
        for i in 0..N {
            mask[i] = self[i] < other[i];
        }
        mask
    }
    #[inline]
    fn select(mask: [bool; N], mut yes: Self, no: Self) -> Self {
        for i in 0..N {
            yes[i] = if mask[i] { yes[i] } else { no[i] };
        }
        yes
    }
    #[inline]
    fn all(mask: [bool; N]) -> bool {
        let mut all = true;
        for lane in mask {
            all &= lane;
        }
        all
    }
    #[inline]
    fn zip(self, other: Self) -> (Self, Self) {
        let (mut low, mut high) = (self, other);
        for i in 0..N {
            let from = [self, other];
            low[i] = from[i % 2][i / 2];
            high[i] = from[(i + N) % 2][(i + N) / 2];
        }
        (low, high)
    }
    #[inline]
    fn turn(quarters: Self, mut sin: Self, mut cos: Self) -> (Self, Self) {
        for i in 0..N {
            (sin[i], cos[i]) = trig::turn(quarters[i], sin[i], cos[i]);
        }
        (sin, cos)
    }
}

/// A scalar of as many numbers as the register `V` has lanes.
///
/// A register of a particular processor must only be used on it: see [`Vector`]. It is only fast when everything from
/// the function that has the processor's features down to the arithmetic is `#[inline(always)]`. A closure cannot be,
/// nor can `array::from_fn` and `map`: one of them in between may leave a call per operation, twenty times slower.
/// Write loops over indices instead.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Wide<V: Vector>(pub V);

/// A scalar of `N` numbers, on any processor.
pub type Lanes<const N: usize> = Wide<[f64; N]>;

impl<V: Vector> Wide<V> {
    /// One number per lane; there must be exactly as many as lanes.
    #[inline(always)]
    pub fn from_lanes(lanes: &[f64]) -> Self {
        Wide(V::load(lanes))
    }

    /// The number in one lane.
    #[inline(always)]
    pub fn lane(self, index: usize) -> f64 {
        self.0.lanes()[index]
    }

    /// Writes the lanes to a slice of exactly as many numbers.
    #[inline(always)]
    pub fn store(self, lanes: &mut [f64]) {
        lanes.copy_from_slice(self.0.lanes());
    }
}

impl<const N: usize> From<[f64; N]> for Lanes<N> {
    #[inline(always)]
    fn from(lanes: [f64; N]) -> Self {
        Wide(lanes)
    }
}

impl<const N: usize> From<Lanes<N>> for [f64; N] {
    #[inline(always)]
    fn from(wide: Lanes<N>) -> Self {
        wide.0
    }
}

/// Equal in every lane.
impl<V: Vector> PartialEq for Wide<V> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.0.lanes() == other.0.lanes()
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $assign:ident $method_assign:ident;)*) => {$(
        impl<V: Vector> $trait for Wide<V> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Wide(self.0.$method(other.0))
            }
        }
        impl<V: Vector> $assign for Wide<V> {
            #[inline(always)]
            fn $method_assign(&mut self, other: Self) {
                self.0 = self.0.$method(other.0);
            }
        }
    )*};
}
operator! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
}

impl<V: Vector> Div for Wide<V> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Wide(self.0.div(other.0))
    }
}

impl<V: Vector> Neg for Wide<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Wide(self.0.neg())
    }
}

impl<V: Vector> Scalar for Wide<V> {
    type Mask = V::Mask;

    #[inline(always)]
    fn apart<T: Task>(task: T) -> T::Output {
        V::apart(task)
    }

    #[inline(always)]
    fn constant(x: f64) -> Self {
        Wide(V::splat(x))
    }
    #[inline(always)]
    fn less(self, other: Self) -> V::Mask {
        self.0.less(other.0)
    }
    #[inline(always)]
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        Wide(V::select(mask, yes.0, no.0))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Wide(self.0.sqrt())
    }
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let in_range =
            (self * self).less(Self::constant(trig::LARGEST_ANGLE * trig::LARGEST_ANGLE));
        if V::all(in_range) {
            sin_cos_in_range(self)
        } else {
            sin_cos_by_lane(self, in_range)
        }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Wide(self.0.mul_add(factor.0, addend.0))
    }
}

/// Sine and cosine of a register of angles none of which is larger than [`trig::LARGEST_ANGLE`].
#[inline(always)]
fn sin_cos_in_range<V: Vector>(x: Wide<V>) -> (Wide<V>, Wide<V>) {
    let (quarters, sin, cos) = trig::reduced(x);
    let (sin, cos) = V::turn(quarters.0, sin.0, cos.0);
    (Wide(sin), Wide(cos))
}

/// Sine and cosine where some angles are too large or non-finite: these lanes are computed separately, the others as in a register without
/// such neighbours, bit for bit.
#[cold]
#[inline(never)]
fn sin_cos_by_lane<V: Vector>(angles: Wide<V>, in_range: V::Mask) -> (Wide<V>, Wide<V>) {
    V::apart(ByLane { angles, in_range })
}

struct ByLane<V: Vector> {
    angles: Wide<V>,
    in_range: V::Mask,
}

impl<V: Vector> Task for ByLane<V> {
    type Output = (Wide<V>, Wide<V>);

    #[inline(always)]
    fn run(self) -> (Wide<V>, Wide<V>) {
        let ByLane { angles, in_range } = self;
        let near = Wide::select(in_range, angles, Wide::zero());
        let inside = Wide::<V>::select(in_range, Wide::one(), Wide::zero());
        let (mut sin, mut cos) = sin_cos_in_range(near);
        for i in 0..V::LANES {
            if inside.lane(i) == 0.0 {
                (sin.0.lanes_mut()[i], cos.0.lanes_mut()[i]) = elementary::sin_cos(angles.lane(i));
            }
        }
        (sin, cos)
    }
}

impl<V: Vector> Parameter<Wide<V>> for Wide<V> {
    #[inline(always)]
    fn lift(self) -> Wide<V> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Fused;

    /// A computation that uses every operation.
    fn everything<S: Scalar>(x: S, y: S) -> S {
        let (sin, cos) = x.sin_cos();
        let mut sum = sin.mul_add(y, cos) / (x * x + S::one()).sqrt();
        sum += x * y;
        sum -= -y.recip();
        sum *= S::select(x.less(y), x, S::constant(0.5) - y);
        sum
    }

    /// A register gives in each lane the result of the scalar.
    fn same_as_scalar<V: Vector, S: Scalar>(number: impl Fn(S) -> f64) {
        let angles = [0.3, -2.0, 7.5, 1e4, -0.0, 3.0, 1e-9, 55.0];
        let far = [1e7, 0.3, -2.0, f64::INFINITY, 7.5, f64::NAN, 3.0, 55.0];
        let y = [1.0, 2.0, -3.0, 0.25, 5.0, 1e3, -7.0, 0.1];
        for x in [angles, far] {
            let (x, y) = (&x[..V::LANES], &y[..V::LANES]);
            let result = everything(Wide::<V>::from_lanes(x), Wide::from_lanes(y));
            for i in 0..V::LANES {
                let expected = number(everything(S::constant(x[i]), S::constant(y[i])));
                let error = (result.lane(i) - expected).abs();
                assert!(
                    error <= 1e-15 * expected.abs() || expected.is_nan() && result.lane(i).is_nan(),
                    "lane {i}: {} is not {expected}",
                    result.lane(i),
                );
            }
        }
    }

    #[test]
    fn arrays_compute_as_numbers_do() {
        same_as_scalar::<[f64; 1], f64>(|x| x);
        same_as_scalar::<[f64; 3], f64>(|x| x);
        same_as_scalar::<[f64; 8], f64>(|x| x);
    }

    #[test]
    fn registers_compute_as_fused_numbers_do() {
        fn check<V: Vector>() {
            same_as_scalar::<V, Fused>(|x| x.0);
        }
        crate::arch::in_registers_only!(check);
    }

    #[test]
    fn in_range_the_sine_is_that_of_the_scalar() {
        let angles: [f64; 8] = [0.3, -2.0, 7.5, 1e4, -0.0, 3.0, 1e-9, 55.0];
        let (sin, cos) = Lanes::from(angles).sin_cos();
        for i in 0..8 {
            assert_eq!((sin.lane(i), cos.lane(i)), Scalar::sin_cos(angles[i]));
        }
    }

    /// A neighbour that is out of range does not change a bit of the others.
    #[test]
    fn the_sine_of_a_lane_does_not_depend_on_its_neighbours() {
        fn check<V: Vector>() {
            let near = [0.3, -2.0, 7.5, 1e4, -0.1, 3.0, 1e-9, 55.0];
            let mut far = near;
            far[1] = 1e7;
            let (sin, cos) = Wide::<V>::from_lanes(&near[..V::LANES]).sin_cos();
            let (far_sin, far_cos) = Wide::<V>::from_lanes(&far[..V::LANES]).sin_cos();
            for i in (0..V::LANES).filter(|&i| i != 1) {
                assert_eq!(sin.lane(i).to_bits(), far_sin.lane(i).to_bits(), "lane {i}");
                assert_eq!(cos.lane(i).to_bits(), far_cos.lane(i).to_bits(), "lane {i}");
            }
            assert_eq!(far_sin.lane(1), elementary::sin(1e7));
        }
        crate::arch::in_every_register!(check);
    }

    #[test]
    fn lanes_go_in_and_out() {
        let wide = Lanes::from([1.0, 2.0, 3.0]);
        assert_eq!(wide, Lanes::from_lanes(&[1.0, 2.0, 3.0]));
        assert_eq!(<[f64; 3]>::from(wide + Lanes::one()), [2.0, 3.0, 4.0]);
        let mut stored = [0.0; 3];
        wide.store(&mut stored);
        assert_eq!(stored, [1.0, 2.0, 3.0]);
        assert_eq!(wide.lane(1), 2.0);
        let lifted: Lanes<3> = wide.lift();
        assert_eq!(lifted, wide);
    }
}
