//! Elementary functions that have the same bits on every system and processor.
//!
//! The methods of `f64` call the mathematical library of the system. Its last bits differ from system to system, and on one system with
//! the instructions of the processor. These are computed by the pure Rust crate `libm`, from the operations that IEEE 754 rounds exactly.
//! A lint (`clippy.toml`) keeps the others out of code that determines a result.
//!
//! Sines and cosines of joint angles are not among them: [`Scalar::sin_cos`](crate::Scalar::sin_cos) has its own code for every kind
//! of number.

/// Sine and cosine of an angle in radians.
pub fn sin_cos(x: f64) -> (f64, f64) {
    libm::sincos(x)
}

/// Sine of an angle in radians.
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}

/// Cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// Tangent of an angle in radians.
pub fn tan(x: f64) -> f64 {
    libm::tan(x)
}

/// Are all numbers finite?
#[inline]
pub(crate) fn all_finite(x: &[f64]) -> bool {
    // 0·x is 0 for finite numbers and NaN otherwise; unlike a search it has no branch inside, and four sums do not wait for each other
    let mut sums = [0.0; 4];
    let (fours, rest) = x.as_chunks::<4>();
    for four in fours {
        for (sum, x) in sums.iter_mut().zip(four) {
            *sum += x * 0.0;
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += x * 0.0;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) == 0.0
}

/// The angle in [−π/2, π/2] with this sine.
pub fn asin(x: f64) -> f64 {
    libm::asin(x)
}

/// The angle in [0, π] with this cosine.
pub fn acos(x: f64) -> f64 {
    libm::acos(x)
}

/// The angle in [−π/2, π/2] with this tangent.
pub fn atan(x: f64) -> f64 {
    libm::atan(x)
}

/// The angle in (−π, π] of the point (x, y).
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// Hyperbolic sine.
pub fn sinh(x: f64) -> f64 {
    libm::sinh(x)
}

/// Hyperbolic cosine.
pub fn cosh(x: f64) -> f64 {
    libm::cosh(x)
}

/// Hyperbolic tangent.
pub fn tanh(x: f64) -> f64 {
    libm::tanh(x)
}

/// eˣ.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The logarithm to base 10.
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// x to the power y.
pub fn powf(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// √(x² + y²), without overflow on the way.
pub fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// The system's functions are an independent witness: both are within one or two units in the last place of the true value.
    #[test]
    fn functions_agree_with_those_of_the_system() {
        let close = |a: f64, b: f64, what: &str, x: f64| {
            let ulp = f64::EPSILON * b.abs().max(f64::MIN_POSITIVE);
            assert!((a - b).abs() <= 2.0 * ulp, "{what}({x}): {a} and {b}");
        };
        for k in -2000..2000 {
            let x = 0.0137 * f64::from(k) + 1e-5;
            close(sin(x), x.sin(), "sin", x);
            close(cos(x), x.cos(), "cos", x);
            assert_eq!(sin_cos(x), (sin(x), cos(x)));
            close(asin(x / 30.0), (x / 30.0).asin(), "asin", x);
            close(acos(x / 30.0), (x / 30.0).acos(), "acos", x);
            close(atan(x), x.atan(), "atan", x);
            close(tan(x), x.tan(), "tan", x);
            close(sinh(x), x.sinh(), "sinh", x);
            close(cosh(x), x.cosh(), "cosh", x);
            close(tanh(x), x.tanh(), "tanh", x);
            close(atan2(x, 1.7 - x), x.atan2(1.7 - x), "atan2", x);
            close(exp(x), x.exp(), "exp", x);
            close(ln(x.abs()), x.abs().ln(), "ln", x);
            close(
                powf(x.abs(), -0.2 / 7.0),
                x.abs().powf(-0.2 / 7.0),
                "powf",
                x,
            );
            close(hypot(x, 2.0), x.hypot(2.0), "hypot", x);
        }
        assert_eq!(atan2(0.0, -1.0), PI);
        assert_eq!(hypot(3e300, 4e300), 5e300);
        assert!(powf(f64::NAN, 0.5).is_nan() && exp(f64::NAN).is_nan());
    }
}
