//! A curve drawn with braille dots, for the terminal.

use crate::number;

/// Dots of a braille cell, by row and column, as bits of its code point.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws y over x in a box of a given number of cells; the axes are labelled at their ends with the given units.
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
    text + &format!(
        "  {:>margin$} {}{}{}\n",
        "",
        ends.0,
        " ".repeat(gap),
        ends.1
    )
}

/// Smallest and largest number, a little apart where they are equal.
fn range(numbers: &[f64]) -> (f64, f64) {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match high > low {
        true => (low, high),
        false => (low - 0.5, low + 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line() {
        let text = curve(&[0.0, 1.0], &[0.0, 1.0], (2, 1), ("s", "m"));
        assert_eq!(
            text,
            "  m\n  1 ┤⡠⠊\n    └──\n    0 1 s\n".replace("0 1 s", "01 s")
        );
    }
}
