//! Numbers that carry their derivatives.

use super::{Parameter, Scalar};
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A value and its derivatives in `N` directions.
///
/// The inner number can be any scalar: `Dual<f64, 6>` differentiates in six directions, `Dual<Dual<f64, 1>, 1>` gives
/// second derivatives, `Dual<Lanes<8>, 2>` differentiates eight states at once. Values are computed exactly as the
/// inner scalar alone would compute them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<T, const N: usize> {
    /// The number itself.
    pub value: T,
    /// Its derivative in each direction.
    pub derivative: [T; N],
}

impl<T: Scalar, const N: usize> Dual<T, N> {
    /// An independent variable: derivative one in its own direction, zero in the others.
    #[inline]
    pub fn variable(value: T, direction: usize) -> Self {
        let mut dual = Self::constant_value(value);
        dual.derivative[direction] = T::one();
        dual
    }

    /// A number that does not depend on the variables.
    #[inline]
    pub fn constant_value(value: T) -> Self {
        Dual {
            value,
            derivative: [T::zero(); N],
        }
    }

    /// A new value whose derivatives are those of `self` times `slope`: the chain rule.
    #[inline]
    fn chain(mut self, value: T, slope: T) -> Self {
        self.value = value;
        for derivative in &mut self.derivative {
            *derivative *= slope;
        }
        self
    }
}

impl<T: Scalar, const N: usize> Add for Dual<T, N> {
    type Output = Self;
    #[inline(never)]
    fn add(mut self, other: Self) -> Self {
        self.value += other.value;
        for i in 0..N {
            self.derivative[i] += other.derivative[i];
        }
        self
    }
}

impl<T: Scalar, const N: usize> Sub for Dual<T, N> {
    type Output = Self;
    #[inline(never)]
    fn sub(mut self, other: Self) -> Self {
        self.value -= other.value;
        for i in 0..N {
            self.derivative[i] -= other.derivative[i];
        }
        self
    }
}

impl<T: Scalar, const N: usize> Mul for Dual<T, N> {
    type Output = Self;
    #[inline(never)]
    fn mul(self, other: Self) -> Self {
        let mut product = Self::constant_value(self.value * other.value);
        for i in 0..N {
            let rest = self.value * other.derivative[i];
            product.derivative[i] = self.derivative[i].mul_add(other.value, rest);
        }
        product
    }
}

impl<T: Scalar, const N: usize> Div for Dual<T, N> {
    type Output = Self;
    #[inline(never)]
    fn div(self, other: Self) -> Self {
        let mut quotient = Self::constant_value(self.value / other.value);
        let reciprocal = other.value.recip();
        for i in 0..N {
            let change = self.derivative[i] - quotient.value * other.derivative[i];
            quotient.derivative[i] = change * reciprocal;
        }
        quotient
    }
}

impl<T: Scalar, const N: usize> Neg for Dual<T, N> {
    type Output = Self;
    #[inline(never)]
    fn neg(mut self) -> Self {
        self.value = -self.value;
        for derivative in &mut self.derivative {
            *derivative = -*derivative;
        }
        self
    }
}

impl<T: Scalar, const N: usize> AddAssign for Dual<T, N> {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<T: Scalar, const N: usize> SubAssign for Dual<T, N> {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<T: Scalar, const N: usize> MulAssign for Dual<T, N> {
    #[inline]
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

/// Comparisons use the values alone.
impl<T: Scalar, const N: usize> Scalar for Dual<T, N> {
    type Mask = T::Mask;

    #[inline(never)]
    fn constant(x: f64) -> Self {
        Self::constant_value(T::constant(x))
    }
    #[inline]
    fn less(self, other: Self) -> T::Mask {
        self.value.less(other.value)
    }
    #[inline(never)]
    fn select(mask: T::Mask, yes: Self, no: Self) -> Self {
        let mut chosen = Self::constant_value(T::select(mask, yes.value, no.value));
        for i in 0..N {
            chosen.derivative[i] = T::select(mask, yes.derivative[i], no.derivative[i]);
        }
        chosen
    }
    #[inline(never)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, T::constant(0.5) / root)
    }
    #[inline(never)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain(sin, cos), self.chain(cos, -sin))
    }
    #[inline(never)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        let mut sum = Self::constant_value(self.value.mul_add(factor.value, addend.value));
        for i in 0..N {
            let rest = self
                .value
                .mul_add(factor.derivative[i], addend.derivative[i]);
            sum.derivative[i] = self.derivative[i].mul_add(factor.value, rest);
        }
        sum
    }
}

impl<T: Scalar, const N: usize> Parameter<Dual<T, N>> for Dual<T, N> {
    #[inline]
    fn lift(self) -> Dual<T, N> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Lanes;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-14 * (1.0 + b.abs()), "{a} is not {b}");
    }

    #[test]
    fn sums_products_and_quotients() {
        let x = Dual::<f64, 2>::variable(3.0, 0);
        let y = Dual::<f64, 2>::variable(-2.0, 1);
        let f = x * x * y - x / y + Dual::constant(5.0);
        close(f.value, -18.0 + 1.5 + 5.0);
        close(f.derivative[0], -12.0 + 0.5);
        close(f.derivative[1], 9.0 + 0.75);
        let mut g = x;
        g += y;
        g -= -y;
        g *= x;
        assert_eq!(g, (x + y + y) * x);
        assert_eq!(x.mul_add(y, x), x * y + x);
        close(y.recip().derivative[1], -0.25);
    }

    #[test]
    fn roots_and_sines() {
        let x = Dual::<f64, 1>::variable(0.7, 0);
        let (sin, cos) = (x * x).sin_cos();
        close(sin.derivative[0], 1.4 * 0.49_f64.cos());
        close(cos.derivative[0], -1.4 * 0.49_f64.sin());
        close((x * x * x).sqrt().derivative[0], 1.5 * 0.7_f64.sqrt());
        let unit = sin * sin + cos * cos;
        close(unit.value, 1.0);
        close(unit.derivative[0], 0.0);
    }

    #[test]
    fn selection_takes_derivatives_along() {
        let x = Dual::<f64, 1>::variable(-4.0, 0);
        let size = Dual::select(x.less(Dual::zero()), -x, x);
        assert_eq!((size.value, size.derivative), (4.0, [-1.0]));
    }

    #[test]
    fn nested_duals_give_second_derivatives() {
        let x = Dual::<Dual<f64, 1>, 1>::variable(Dual::variable(0.4, 0), 0);
        let (sin, cos) = x.sin_cos();
        let f = sin * x / cos;
        let (tan, square) = (0.4_f64.tan(), 1.0 / 0.4_f64.cos().powi(2));
        close(f.value.value, 0.4 * tan);
        close(f.derivative[0].value, tan + 0.4 * square);
        close(f.value.derivative[0], f.derivative[0].value);
        close(
            f.derivative[0].derivative[0],
            2.0 * square * (1.0 + 0.4 * tan),
        );
        close(
            x.sqrt().derivative[0].derivative[0],
            -0.25 * 0.4_f64.powf(-1.5),
        );
    }

    #[test]
    fn duals_of_lanes_differentiate_every_lane() {
        let x = Dual::<Lanes<4>, 1>::variable(Lanes::from([0.1, 0.2, 0.3, 0.4]), 0);
        let (sin, _) = x.sin_cos();
        for i in 0..4 {
            close(sin.derivative[0].lane(i), x.value.lane(i).cos());
        }
    }
}
