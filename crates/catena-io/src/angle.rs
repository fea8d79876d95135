//! Angles written with their unit.

use std::f64::consts::PI;

/// Radians of an angle such as `90deg`, `0.5rad`, `pi/2`, `-3*pi/4` or `2pi`; none if it is not one, or has no unit.
pub fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(degrees) = text.strip_suffix("deg").or(text.strip_suffix('°')) {
        return number(degrees).map(f64::to_radians);
    }
    let (text, unit_given) = match text.strip_suffix("rad") {
        Some(rest) => (rest.trim(), true),
        None => (text, false),
    };
    match text.split_once("pi") {
        Some((before, after)) => multiple_of_pi(before.trim(), after.trim()),
        None if unit_given => number(text),
        None => None,
    }
}

fn multiple_of_pi(before: &str, after: &str) -> Option<f64> {
    let factor = match before {
        "" | "+" => 1.0,
        "-" => -1.0,
        written => number(written.strip_suffix('*').unwrap_or(written))?,
    };
    let divisor = match after.strip_prefix('/') {
        Some(written) => number(written)?,
        None if after.is_empty() => 1.0,
        None => return None,
    };
    Some(factor * PI / divisor).filter(|angle| angle.is_finite())
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|x: &f64| x.is_finite())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

    #[test]
    fn angles_with_units() {
        for (text, radians) in [
            ("90deg", FRAC_PI_2),
            ("-45 deg", -FRAC_PI_4),
            ("180°", PI),
            ("0.5rad", 0.5),
            ("pi", PI),
            (" pi/2 ", FRAC_PI_2),
            ("-pi/4", -FRAC_PI_4),
            ("3*pi/4", 3.0 * FRAC_PI_4),
            ("2pi", 2.0 * PI),
            ("-0.5 * pi rad", -FRAC_PI_2),
        ] {
            assert_eq!(parse(text), Some(radians), "{text}");
        }
    }

    #[test]
    fn not_angles() {
        for text in [
            "", "90", "deg", "pi/0", "pi pi", "pideg", "1..2rad", "nanrad", "infdeg", "pi*2",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
