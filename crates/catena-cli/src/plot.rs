//! A curve drawn with braille dots, for the terminal.

use crate::number;
use std::cmp::Ordering;

/// Dots of a braille cell, by row and column, as bits of its code point.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws y over x in a box of this many cells; the axes show their ends, with the units `unit_x` and `unit_y`. Non-finite numbers leave
/// gaps, and a line below says how many there are.
pub fn curve(x: &[f64], y: &[f64], size: (usize, usize), units: (&str, &str)) -> String {
    let (width, height) = size;
    let (left, right) = range(x);
    let (low, high) = range(y);
    let mut cells = vec![vec![0u32; width]; height];
    let column = |x: f64| ((x - left) / (right - left) * (2 * width - 1) as f64).round() as usize;
    let row = |y: f64| ((high - y) / (high - low) * (4 * height - 1) as f64).round() as usize;
    for (k, (&x0, &y0)) in x.iter().zip(y).enumerate() {
        let (x1, y1) = match k + 1 < x.len() {
            true => (x[k + 1], y[k + 1]),
            false => (x0, y0),
        };
        if ![x0, y0, x1, y1].iter().all(|number| number.is_finite()) {
            continue;
        }
        // dense enough that neighbouring points touch
        let points = column(x0)
            .abs_diff(column(x1))
            .max(row(y0).abs_diff(row(y1)))
            .max(1);
        for point in 0..=points {
            let s = point as f64 / points as f64;
            let (c, r) = (column(x0 + s * (x1 - x0)), row(y0 + s * (y1 - y0)));
            cells[r / 4][c / 2] |= DOTS[r % 4][c % 2];
        }
    }
    let labels = [number::six(high), number::six(low)];
    let margin = labels
        .iter()
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0)
        .max(units.1.chars().count());
    let mut text = format!("  {:>margin$}\n", units.1);
    for (index, cells) in cells.iter().enumerate() {
        let label = match index {
            0 => &labels[0],
            _ if index + 1 == height => &labels[1],
            _ => "",
        };
        let dots: String = cells
            .iter()
            .map(|&bits| char::from_u32(0x2800 + bits).unwrap_or(' '))
            .collect();
        text += &format!("  {label:>margin$} ┤{dots}\n");
    }
    let ends = (
        number::six(left),
        format!("{} {}", number::six(right), units.0),
    );
    text += &format!("  {:>margin$} └{}\n", "", "─".repeat(width));
    let gap = (width + 1).saturating_sub(ends.0.chars().count() + ends.1.chars().count());
    text += &format!(
        "  {:>margin$} {}{}{}\n",
        "",
        ends.0,
        " ".repeat(gap),
        ends.1
    );
    let pairs = x.iter().zip(y);
    match pairs
        .filter(|(x, y)| !(x.is_finite() && y.is_finite()))
        .count()
    {
        0 => text,
        count => text + &format!("  {count} of {} points are not finite\n", x.len()),
    }
}

/// Smallest and largest finite number, a little apart where they are equal; around 0 if there is none.
fn range(numbers: &[f64]) -> (f64, f64) {
    let finite = || numbers.iter().copied().filter(|x| x.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    match low.partial_cmp(&high) {
        Some(Ordering::Less) => (low, high),
        Some(Ordering::Equal) => (low - 0.5, low + 0.5),
        _ => (-0.5, 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gap and a line that says so; neither a dot at zero nor a range without the number.
    #[test]
    fn what_is_not_finite_is_said() {
        let x = [0.0, 1.0, 2.0, 3.0];
        let whole = curve(&x, &[0.0, 1.0, 0.0, 1.0], (4, 1), ("s", "m"));
        assert!(!whole.contains("not finite"));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let text = curve(&x, &[0.0, bad, 0.0, 1.0], (4, 1), ("s", "m"));
            assert!(text.contains("1 of 4 points are not finite"), "{text}");
            assert_ne!(text.lines().nth(1), whole.lines().nth(1));
            let none = curve(&x, &[bad; 4], (4, 1), ("s", "m"));
            assert!(none.contains("4 of 4 points are not finite"), "{none}");
        }
    }

    #[test]
    fn a_straight_line() {
        let text = curve(&[0.0, 1.0], &[0.0, 1.0], (2, 1), ("s", "m"));
        assert_eq!(
            text,
            "  m\n  1 ┤⡠⠊\n    └──\n    0 1 s\n".replace("0 1 s", "01 s")
        );
    }
}
