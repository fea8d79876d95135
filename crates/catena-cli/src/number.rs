//! Numbers as they are typed (`0.5`, `90deg`, `-3*pi/4`) and as they are shown (six digits).

use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::state::needed_and_given;
use catena_io::angle;

/// A number as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Typed {
    /// Its value; radians for an angle.
    pub value: f64,
    /// Whether it was written as an angle, with `deg`, `rad` or `pi`.
    pub is_angle: bool,
}

/// Reads a finite number, or an angle such as `90deg`, `0.5rad`, `pi/2`, `-3*pi/4`, `2pi`.
pub fn parse(text: &str) -> Option<Typed> {
    let angle = angle::parse(text);
    let value = angle.or_else(|| text.trim().parse().ok())?;
    value.is_finite().then_some(Typed {
        value,
        is_angle: angle.is_some(),
    })
}

/// The error for text that is not a number.
pub fn not_a_number(what: &str, text: &str) -> Error {
    Error::new(
        ErrorKind::Input,
        format!("{what}: `{}` is not a number", text.trim()),
    )
    .hint("write 0.5, 1e-3, 90deg, pi/2 or -3*pi/4")
}

/// Reads a given number of plain numbers separated by commas.
pub fn vector<const N: usize>(what: &str, text: &str) -> Result<[f64; N]> {
    let parts: Vec<&str> = text.split(',').collect();
    let mut numbers = [0.0; N];
    if parts.len() != N {
        return Err(Error::new(
            ErrorKind::Input,
            format!("{what}: {}", needed_and_given(N, parts.len())),
        )
        .hint("separate them by commas, without spaces"));
    }
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = match parse(part) {
            Some(Typed {
                value,
                is_angle: false,
            }) => value,
            _ => return Err(not_a_number(what, part)),
        };
    }
    Ok(numbers)
}

/// A number with six significant digits, without trailing zeros.
pub fn six(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let size = x.abs();
    if !(1e-4..1e6).contains(&size) {
        return if x.is_finite() {
            scientific(x, 5)
        } else {
            x.to_string()
        };
    }
    let decimals = (5 - elementary::log10(size).floor() as i32).max(0) as usize;
    let text = format!("{x:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// A number of which only the magnitude matters, such as a residual: two digits.
pub fn rough(x: f64) -> String {
    match x == 0.0 {
        true => "0".into(),
        false => scientific(x, 1),
    }
}

/// The residual of a comparison, or that one of its sides has no result: NaN and infinity are no numbers to print.
pub fn residual(x: f64) -> String {
    match x.is_finite() {
        true => rough(x),
        false => "no result".into(),
    }
}

/// Scientific notation without trailing zeros.
fn scientific(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$e}");
    match text.split_once('e') {
        Some((digits, power)) if digits.contains('.') => {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{power}")
        }
        _ => text,
    }
}

/// Three or more numbers in brackets.
pub fn list(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|&x| six(x)).collect();
    format!("({})", numbers.join(", "))
}

/// A count and its noun: `1 body`, `3 bodies`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn typed_numbers() {
        let read = |text| parse(text).map(|typed| (typed.value, typed.is_angle));
        assert_eq!(read("-1.5e-3"), Some((-1.5e-3, false)));
        assert_eq!(read("180deg"), Some((PI, true)));
        assert_eq!(read(" -pi/4 "), Some((-PI / 4.0, true)));
        assert_eq!(read("3*pi/2"), Some((3.0 * PI / 2.0, true)));
        assert_eq!(read("0.25 rad"), Some((0.25, true)));
        for wrong in ["", "x", "nan", "inf", "pi*2", "deg", "1,2", "pi/0", "1 2"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn six_digits() {
        for (x, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (9.81, "9.81"),
            (13.3416, "13.3416"),
            (-1234.5678, "-1234.57"),
            (999999.7, "1000000"),
            (0.000123456789, "0.000123457"),
            (1e-17, "1e-17"),
            (-2.5e9, "-2.5e9"),
            (100000.0, "100000"),
        ] {
            assert_eq!(six(x), text);
        }
        assert_eq!(rough(3.14159e-15), "3.1e-15");
        assert_eq!(residual(3.14159e-15), "3.1e-15");
        assert_eq!(residual(f64::NAN), "no result");
        assert_eq!(residual(f64::INFINITY), "no result");
    }
}
