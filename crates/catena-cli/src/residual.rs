//! How far two routes to the same numbers are apart. What is not a number is never hidden.

/// The larger of two sizes; NaN if either is.
pub fn larger(a: f64, b: f64) -> f64 {
    match a.is_nan() || b.is_nan() {
        true => f64::NAN,
        false => a.max(b),
    }
}

/// The largest entry in size.
pub fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |size, x| larger(size, x.abs()))
}

/// The largest difference of two lists, relative to `scale`; 0 where there is no difference at all.
pub fn relative(a: &[f64], b: &[f64], scale: f64) -> f64 {
    let difference = a
        .iter()
        .zip(b)
        .fold(0.0, |size, (a, b)| larger(size, (a - b).abs()));
    match difference == 0.0 {
        true => 0.0,
        false => difference / scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_a_number_is_not_hidden() {
        assert!(largest(&[1.0, f64::NAN, 2.0]).is_nan());
        assert!(relative(&[1.0, f64::NAN], &[1.0, 2.0], 1.0).is_nan());
        assert_eq!(relative(&[1.0, 2.0], &[1.0, 2.5], 2.0), 0.25);
        assert_eq!(relative(&[0.0], &[0.0], 0.0), 0.0);
    }
}
