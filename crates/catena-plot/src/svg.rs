//! Writing SVG: numbers are always finite, text is always valid XML; widths of texts.

use std::fmt::Write;

/// Advance widths of ASCII 32…126 in hundredths of the font size. They are DejaVu Sans', one of the widest sans-serif fonts
/// in use: text that fits with it fits with Helvetica.
const ASCII_WIDTHS: [u8; 95] = [
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75,
    79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35,
    63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
];

/// Width of a text in pixels at this font size.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let hundredths: f64 = text
        .chars()
        .map(|c| match c {
            ' '..='~' => f64::from(ASCII_WIDTHS[c as usize - 32]),
            '\u{300}'..='\u{36f}' => 0.0, // combining marks
            '²' | '³' | '¹' | '·' | '\u{2070}'..='\u{2079}' | '\u{2080}'..='\u{2089}' => 40.0,
            '⁻' | '₋' => 53.0,
            '−' | '×' | 'ω' => 84.0,
            c if (c as u32) < 0x2e80 => 66.0,
            _ => 100.0, // Chinese, Japanese, Korean, pictures
        })
        .sum();
    hundredths * size / 100.0
}

/// The text, shortened with an ellipsis if it is wider than `room`.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_string();
    }
    let mut short: String = text.to_string();
    while short.pop().is_some() {
        let candidate = format!("{}…", short.trim_end());
        if text_width(&candidate, size) <= room {
            return candidate;
        }
    }
    String::new()
}

/// A coordinate: two decimals, no trailing zeros, never NaN or infinite.
pub(crate) fn number(x: f64) -> String {
    debug_assert!(x.is_finite(), "a coordinate of the picture is {x}");
    let x = if x.is_finite() { x } else { 0.0 };
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_string()
    } else {
        text.to_string()
    }
}

/// The text as XML character data: special characters escaped, characters that XML forbids replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Which part of a text is at its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG picture being written. Coordinates are pixels, y downward.
#[derive(Debug)]
pub(crate) struct Canvas {
    text: String,
}

impl Canvas {
    /// A white canvas; `label` is what a screen reader says.
    pub fn new(width: f64, height: f64, label: &str) -> Self {
        let (w, h) = (number(width), number(height));
        let mut canvas = Canvas {
            text: String::with_capacity(1 << 14),
        };
        canvas.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"sans-serif\" role=\"img\">\n<title>{}</title>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n",
            escape(label)
        ));
        canvas
    }

    /// The finished picture.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // writing to a String cannot fail
        let _ = self.text.write_fmt(arguments);
    }

    /// Begins a region outside which nothing is drawn; coordinates stay those of the canvas.
    pub fn begin_clip(&mut self, [x, y, w, h]: [f64; 4]) {
        let [x, y, w, h] = [x, y, w, h].map(number);
        self.put(format_args!(
            "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\">\n"
        ));
    }

    /// Ends the region.
    pub fn end_clip(&mut self) {
        self.text.push_str("</svg>\n");
    }

    /// A straight line; `style` holds further attributes.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], style: &str) {
        let [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]].map(number);
        self.put(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>\n"
        ));
    }

    /// A rectangle.
    pub fn rect(&mut self, [x, y, w, h]: [f64; 4], style: &str) {
        let [x, y, w, h] = [x, y, w, h].map(number);
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" {style}/>\n"
        ));
    }

    /// A disc.
    pub fn circle(&mut self, [x, y]: [f64; 2], r: f64, style: &str) {
        let [x, y, r] = [x, y, r].map(number);
        self.put(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" {style}/>\n"
        ));
    }

    /// A line through points.
    pub fn polyline(&mut self, points: &[[f64; 2]], style: &str) {
        self.points("polyline", points, style);
    }

    /// A closed area.
    pub fn polygon(&mut self, points: &[[f64; 2]], style: &str) {
        self.points("polygon", points, style);
    }

    fn points(&mut self, tag: &str, points: &[[f64; 2]], style: &str) {
        let _ = write!(self.text, "<{tag} points=\"");
        for (k, [x, y]) in points.iter().enumerate() {
            let gap = if k == 0 { "" } else { " " };
            let _ = write!(self.text, "{gap}{},{}", number(*x), number(*y));
        }
        let _ = writeln!(self.text, "\" {style}/>");
    }

    /// A text with its baseline at y.
    pub fn write(&mut self, [x, y]: [f64; 2], text: &str, size: f64, anchor: Anchor, style: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let [x, y, size] = [x, y, size].map(number);
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor} {style}>{}</text>\n",
            escape(text)
        ));
    }

    /// A text that reads upward, centred at a point.
    pub fn write_upward(&mut self, [x, y]: [f64; 2], text: &str, size: f64, style: &str) {
        let style = format!(
            "transform=\"rotate(-90 {} {})\" {style}",
            number(x),
            number(y)
        );
        self.write([x, y], text, size, Anchor::Middle, &style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(-12.345), "-12.35");
        assert_eq!(number(100.0), "100");
    }

    #[test]
    fn long_texts_are_shortened() {
        let text = "a rather long name of a joint";
        let short = fit(text, 12.0, 80.0);
        assert!(short.ends_with('…') && text_width(&short, 12.0) <= 80.0);
        assert_eq!(fit("short", 12.0, 80.0), "short");
        assert_eq!(fit("anything", 12.0, 3.0), "");
    }
}
