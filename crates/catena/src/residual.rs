//! Comparison of two computations of the same numbers. NaN is never hidden.
//!
//! `f64::max` drops NaN: `0.0.max(NaN)` is 0, and a method that breaks down would seem to agree. Every comparison of two
//! methods, in the laws, in the program and in the tests, goes through these functions; they propagate NaN, and NaN is within no limit.

/// The larger of two magnitudes; NaN if either is NaN.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

/// The largest of all magnitudes, 0 if there are none; NaN if any is.
pub fn largest_of(sizes: impl IntoIterator<Item = f64>) -> f64 {
    sizes.into_iter().fold(0.0, larger)
}

/// The largest absolute value; NaN if any entry is.
pub fn largest(numbers: &[f64]) -> f64 {
    largest_of(numbers.iter().map(|x| x.abs()))
}

/// The largest difference of two lists; NaN if any entry is, infinite if their lengths differ.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    largest_of(a.iter().zip(b).map(|(a, b)| (a - b).abs()))
}

/// The largest difference of two lists, relative to `scale`; 0 where there is no difference at all.
pub fn relative(a: &[f64], b: &[f64], scale: f64) -> f64 {
    ratio(difference(a, b), scale)
}

/// A residual relative to `scale`; 0 for a zero residual, infinite for a nonzero one and a zero scale. Relative to a non-finite
/// scale every residual would look small: the result is NaN.
pub fn ratio(residual: f64, scale: f64) -> f64 {
    if !scale.is_finite() {
        f64::NAN
    } else if residual == 0.0 {
        0.0
    } else {
        residual / scale
    }
}

/// Is this residual within its limit? NaN is not, nor is anything within a NaN or infinite limit.
pub fn within(residual: f64, limit: f64) -> bool {
    residual <= limit && limit.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_a_number_is_not_hidden() {
        let nan = f64::NAN;
        assert!(larger(nan, 1.0).is_nan() && larger(1.0, nan).is_nan());
        assert!(largest(&[1.0, nan, 2.0]).is_nan());
        // neither first nor last, nor in either list
        for (a, b) in [
            ([nan, 1.0, 2.0], [0.0, 1.0, 2.0]),
            ([0.0, 1.0, 2.0], [0.0, nan, 2.0]),
            ([0.0, 1.0, nan], [0.0, 1.0, 2.0]),
        ] {
            assert!(difference(&a, &b).is_nan());
            assert!(!within(relative(&a, &b, 1.0), 1e300));
        }
        assert!(relative(&[1.0], &[1.0], nan).is_nan());
        assert!(ratio(1.0, f64::INFINITY).is_nan());
        assert!(!within(nan, 1.0) && !within(1.0, nan) && !within(1.0, f64::INFINITY));
        // equal infinities on both sides do not agree
        assert!(difference(&[f64::INFINITY], &[f64::INFINITY]).is_nan());
    }

    #[test]
    fn differences_are_relative_to_their_scale() {
        assert_eq!(relative(&[1.0, 2.0], &[1.0, 2.5], 2.0), 0.25);
        assert_eq!(relative(&[0.0], &[0.0], 0.0), 0.0);
        assert!(within(0.25, 0.25));
        assert_eq!(relative(&[1.0], &[0.0], 0.0), f64::INFINITY);
        assert_eq!(difference(&[1.0], &[1.0, 2.0]), f64::INFINITY);
    }
}
