//! Sine and cosine, written once for every kind of floating-point number.
//!
//! The angle is reduced by the nearest multiple of π/2 to |r| ≤ π/4 (Cody and Waite: π/2 is held in three parts, the
//! first two short enough for their products with the multiple to be exact), two polynomials give the sine and cosine
//! of r, and the multiple modulo four selects between them and gives the sign. There are no branches, and the
//! same code serves one number, a fused number and a register of numbers.
//!
//! The error is less than one and a half units in the last place, near the zeros too.

use super::Scalar;
use crate::elementary;

/// Largest angle (radians, absolute value) for the reduction. Beyond it the functions of `elementary` are called.
pub(super) const LARGEST_ANGLE: f64 = 1e5;

/// π/2, in two parts of 37 bits and a remainder. A multiple up to 2¹⁶ times one of the short parts is exact.
const QUARTER_TURN: [f64; 3] = [
    1.5707963267923333,
    2.5633441515839558e-12,
    1.0562999066987428e-23,
];

/// 1.5 · 2⁵²: doubles this large are integers, so adding it rounds to the nearest integer, ties to even.
const ROUNDER: f64 = 6755399441055744.0;

/// sin r = r + r³ (S₀ + S₁ r² + …), minimax in relative error on |r| ≤ π/4, which stays below 2⁻⁵⁶.
const SINE: [f64; 6] = [
    -0.1666666666666663,
    0.008333333333322118,
    -0.00019841269829589002,
    2.7557313621224917e-06,
    -2.505074774057411e-08,
    1.5896228990898995e-10,
];

/// cos r = 1 − r²/2 + r⁴ (C₀ + C₁ r² + …), minimax in relative error on |r| ≤ π/4, which stays below 2⁻⁵⁹.
const COSINE: [f64; 6] = [
    0.041666666666666595,
    -0.0013888888888873056,
    2.480158728885166e-05,
    -2.7557314179277947e-07,
    2.087570083882413e-09,
    -1.1358536335640421e-11,
];

/// Sine and cosine of any number.
#[inline(always)]
pub(super) fn sin_cos(x: f64) -> (f64, f64) {
    if x.abs() <= LARGEST_ANGLE {
        let (quarters, sin, cos) = reduced(x);
        turn(quarters, sin, cos)
    } else {
        large(x)
    }
}

/// Sine and cosine of a large angle, kept out of the hot path.
#[cold]
#[inline(never)]
pub(super) fn large(x: f64) -> (f64, f64) {
    elementary::sin_cos(x)
}

/// The nearest multiple of π/2, with [`ROUNDER`] still added to it, and the sine and cosine of the remainder of `x`.
#[inline(always)]
pub(super) fn reduced<S: Scalar>(x: S) -> (S, S, S) {
    let per_quarter = S::constant(std::f64::consts::FRAC_2_PI);
    let quarters = x.mul_add(per_quarter, S::constant(ROUNDER));
    let multiple = quarters - S::constant(ROUNDER);
    let mut r = x;
    for part in QUARTER_TURN {
        r = multiple.mul_add(S::constant(-part), r);
    }
    let square = r * r;
    let sin = (r * square).mul_add(polynomial(&SINE, square), r);
    let cos = polynomial(&COSINE, square)
        .mul_add(square, S::constant(-0.5))
        .mul_add(square, S::constant(1.0));
    (quarters, sin, cos)
}

/// Sine and cosine of an angle, given those of an angle smaller by a number of quarter turns. The number modulo four
/// is in the last two bits of `quarters`; it is left in bits because the compiler would make branches of selections.
#[inline(always)]
pub(super) fn turn(quarters: f64, sin: f64, cos: f64) -> (f64, f64) {
    let quarters = quarters.to_bits();
    let (sin, cos) = (sin.to_bits(), cos.to_bits());
    let swap = (sin ^ cos) & (quarters & 1).wrapping_neg();
    let sin_sign = (quarters & 2) << 62;
    let cos_sign = (quarters.wrapping_add(1) & 2) << 62;
    (
        f64::from_bits(sin ^ swap ^ sin_sign),
        f64::from_bits(cos ^ swap ^ cos_sign),
    )
}

/// Value of a polynomial of degree five, in pairs for a short dependency chain.
#[inline(always)]
fn polynomial<S: Scalar>(coefficients: &[f64; 6], x: S) -> S {
    let pair = [
        pair(coefficients, 0, x),
        pair(coefficients, 2, x),
        pair(coefficients, 4, x),
    ];
    let square = x * x;
    pair[2].mul_add(square, pair[1]).mul_add(square, pair[0])
}

/// The linear polynomial of two neighbouring coefficients.
#[inline(always)]
fn pair<S: Scalar>(coefficients: &[f64; 6], first: usize, x: S) -> S {
    S::constant(coefficients[first + 1]).mul_add(x, S::constant(coefficients[first]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Fused;
    use std::f64::consts::FRAC_PI_2;

    /// Angles of all magnitudes, then multiples of π/2 and of π/4 and their neighbours.
    fn angles() -> impl Iterator<Item = f64> {
        let golden = 0.6180339887498949;
        let spread = (0..400_000).map(move |i| {
            let size = LARGEST_ANGLE.powf((f64::from(i) / 400_000.0).sqrt() * 1.5 - 0.5);
            size * ((f64::from(i) * golden).fract() * 2.0 - 1.0)
        });
        let multiples = (-120_000..=120_000).flat_map(|i| {
            let x = f64::from(i) * FRAC_PI_2 / 2.0;
            [x, x.next_up(), x.next_down()]
        });
        spread.chain(multiples)
    }

    fn check(x: f64, (sin, cos): (f64, f64)) {
        let (expected_sin, expected_cos) = x.sin_cos();
        let error = (sin - expected_sin).abs().max((cos - expected_cos).abs());
        assert!(error <= 2.3e-16, "error {error:e} at {x:e}");
        // Near a zero of either, the error stays small compared to the result.
        let error = (sin / expected_sin - 1.0).abs();
        assert!(x == 0.0 || error <= 5e-16, "sine at {x:e}: {error:e}");
        let error = (cos / expected_cos - 1.0).abs();
        assert!(error <= 5e-16, "cosine at {x:e}: {error:e}");
    }

    #[test]
    fn agrees_with_the_standard_library() {
        angles().for_each(|x| check(x, sin_cos(x)));
    }

    #[test]
    fn fused_agrees_with_the_standard_library() {
        for x in angles() {
            let (sin, cos) = Fused(x).sin_cos();
            check(x, (sin.0, cos.0));
        }
    }

    #[test]
    fn all_at_once_is_the_same_as_one_by_one() {
        let mut angles: Vec<f64> = (0..45).map(|i| f64::from(i * i) - 300.0).collect();
        angles[12] = 1e9;
        angles[40] = f64::NAN;
        for count in 0..angles.len() {
            let angles = Fused::slice(&angles[..count]);
            let mut sin = vec![Fused(0.0); count];
            let mut cos = vec![Fused(0.0); count];
            Fused::sin_cos_all(angles, &mut sin, &mut cos);
            for i in 0..count {
                let (s, c) = angles[i].sin_cos();
                // A block with a large angle is computed number by number as a whole.
                for (all, one) in [(sin[i].0, s.0), (cos[i].0, c.0)] {
                    assert!((all - one).abs() <= 3e-16 || all.is_nan() && one.is_nan());
                }
            }
        }
    }

    #[test]
    fn symmetric_and_exact_at_zero() {
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
        assert_eq!(Fused(0.0).sin_cos(), (Fused(0.0), Fused(1.0)));
        for x in angles().step_by(7) {
            let (sin, cos) = sin_cos(x);
            assert_eq!(sin_cos(-x), (-sin, cos));
        }
    }

    #[test]
    fn large_angles_go_to_the_library() {
        for x in [1.1e5, -1e12, f64::MAX] {
            assert_eq!(sin_cos(x), elementary::sin_cos(x));
        }
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let (sin, cos) = sin_cos(x);
            assert!(sin.is_nan() && cos.is_nan());
        }
    }
}
