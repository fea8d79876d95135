//! Double-double numbers: the unevaluated sum of two `f64`, with twice the digits.
//!
//! Error-free sums (Knuth 1969) and products (Dekker 1971), renormalised after every operation; relative errors are a few
//! 2⁻¹⁰⁴. Used where round-off of `f64` would be divided by something small.

use super::Scalar;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// high + low, |low| at most half a unit in the last place of high.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DoubleDouble {
    /// The number, rounded.
    pub high: f64,
    /// The rounding error.
    pub low: f64,
}

impl DoubleDouble {
    /// The number, rounded to an `f64`.
    pub fn value(self) -> f64 {
        self.high
    }

    /// a + b, exact.
    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let other = high - a;
        DoubleDouble {
            high,
            low: (a - (high - other)) + (b - other),
        }
    }

    /// a + b, exact, for |a| ≥ |b|.
    fn ordered_sum(a: f64, b: f64) -> Self {
        let high = a + b;
        DoubleDouble {
            high,
            low: b - (high - a),
        }
    }

    /// a b, exact unless it overflows.
    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        let ((a1, a2), (b1, b2)) = (halves(a), halves(b));
        DoubleDouble {
            high,
            low: ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2,
        }
    }

    #[inline(never)]
    fn plus(self, b: Self) -> Self {
        let s = DoubleDouble::sum(self.high, b.high);
        let t = DoubleDouble::sum(self.low, b.low);
        let u = DoubleDouble::ordered_sum(s.high, s.low + t.high);
        DoubleDouble::ordered_sum(u.high, u.low + t.low)
    }

    #[inline(never)]
    fn times(self, b: Self) -> Self {
        let p = DoubleDouble::product(self.high, b.high);
        DoubleDouble::ordered_sum(p.high, p.low + (self.high * b.low + self.low * b.high))
    }

    #[inline(never)]
    fn over(self, b: Self) -> Self {
        let first = self.high / b.high;
        let rest = self - b * first.into();
        let second = rest.high / b.high;
        let rest = rest - b * second.into();
        let third = rest.high / b.high;
        let sum = DoubleDouble::ordered_sum(first, second);
        sum + third.into()
    }
}

/// The upper and lower halves of the digits.
fn halves(a: f64) -> (f64, f64) {
    let t = 134_217_729.0 * a; // 2²⁷ + 1
    let upper = t - (t - a);
    (upper, a - upper)
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> Self {
        DoubleDouble { high, low: 0.0 }
    }
}

impl Add for DoubleDouble {
    type Output = Self;
    #[inline]
    fn add(self, b: Self) -> Self {
        self.plus(b)
    }
}

impl Sub for DoubleDouble {
    type Output = Self;
    #[inline]
    fn sub(self, b: Self) -> Self {
        self.plus(-b)
    }
}

impl Mul for DoubleDouble {
    type Output = Self;
    #[inline]
    fn mul(self, b: Self) -> Self {
        self.times(b)
    }
}

impl Div for DoubleDouble {
    type Output = Self;
    #[inline]
    fn div(self, b: Self) -> Self {
        self.over(b)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        DoubleDouble {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl AddAssign for DoubleDouble {
    #[inline]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl SubAssign for DoubleDouble {
    #[inline]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl MulAssign for DoubleDouble {
    #[inline]
    fn mul_assign(&mut self, b: Self) {
        *self = *self * b;
    }
}

/// π/2.
const QUARTER: DoubleDouble = DoubleDouble {
    high: std::f64::consts::FRAC_PI_2,
    low: 6.123_233_995_736_766e-17,
};

impl Scalar for DoubleDouble {
    type Mask = bool;

    #[inline]
    fn constant(x: f64) -> Self {
        x.into()
    }

    fn less(self, other: Self) -> bool {
        (self - other).high < 0.0
    }

    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    #[inline(never)]
    fn sqrt(self) -> Self {
        let root = self.high.sqrt();
        if root == 0.0 || !root.is_finite() {
            return root.into();
        }
        // one Newton step doubles the digits
        let rest = self - DoubleDouble::product(root, root);
        DoubleDouble::sum(root, rest.high / (2.0 * root))
    }

    #[inline(never)]
    fn sin_cos(self) -> (Self, Self) {
        if !self.high.is_finite() {
            return (f64::NAN.into(), f64::NAN.into());
        }
        let turns = (self.high / QUARTER.high).round();
        let x = self - QUARTER * turns.into();
        let squared = x * x;
        // |x| ≤ π/4: the terms after these are below 2⁻¹⁰⁶
        let [mut sin, mut cos] = [DoubleDouble::one(); 2];
        for k in (1..=14).rev() {
            let k = 2.0 * f64::from(k);
            sin = DoubleDouble::one() - squared * sin / (k * (k + 1.0)).into();
            cos = DoubleDouble::one() - squared * cos / (k * (k - 1.0)).into();
        }
        sin *= x;
        match turns.rem_euclid(4.0) as u8 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }
}
