//! Words wrapped into lines.

/// Breaks a text into lines of at most `width` characters, the second and later ones indented.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines += "\n";
            lines += indent;
            used = indent.chars().count();
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines += word;
        used += length;
    }
    lines
}
