//! Double-double numbers.

use catena::scalar::{DoubleDouble, Scalar};

/// Identities that `f64` satisfies to 2⁻⁵³ only.
#[test]
fn twice_the_digits() {
    let number = |high: f64| DoubleDouble::from(high) / 7.0.into();
    for k in 1..200 {
        let a = number(0.37 * f64::from(k) - 30.0);
        let b = number(1.0 + f64::from(k * k));
        let size = a.high.abs().max(1e-3);
        assert!((a * b / b - a).high.abs() < 1e-31 * size);
        assert!(((a + b) - b - a).high.abs() < 1e-31 * (b.high + size));
        let root = b.sqrt();
        assert!((root * root - b).high.abs() < 1e-31 * b.high);
        let (sin, cos) = a.sin_cos();
        assert!((sin * sin + cos * cos - DoubleDouble::one()).high.abs() < 1e-30);
        // the lower half of an angle of up to 8 moves them by up to 4.4e-16
        assert!((sin.high - a.high.sin()).abs() < 1e-15);
        assert!((cos.high - a.high.cos()).abs() < 1e-15);
        let (double_sin, double_cos) = (a + a).sin_cos();
        let two = DoubleDouble::constant(2.0);
        assert!((double_sin - two * sin * cos).high.abs() < 1e-30);
        assert!((double_cos - cos * cos + sin * sin).high.abs() < 1e-30);
    }
    // π to 32 digits: its sine is zero to them
    let pi = DoubleDouble {
        high: std::f64::consts::PI,
        low: 1.2246467991473532e-16,
    };
    assert!(pi.sin_cos().0.high.abs() < 1e-31);
}
