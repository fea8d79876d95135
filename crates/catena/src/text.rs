//! Escaping of external text, before it is shown or written into another file.

/// Would this character break the line, move the cursor or change the text direction? These are control characters,
/// separators of lines and paragraphs, and marks of direction.
pub fn is_hidden(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || c == '\u{feff}'
}

/// The text on one line: hidden characters are written as in Rust, `\n` or `\u{1b}`.
pub fn shown(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => written.extend(c.escape_default()),
            false => written.push(c),
        }
    }
    written
}

/// Lines of text: hidden characters other than line breaks and tabs are written as in Rust.
pub fn shown_lines(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) && c != '\n' && c != '\t' {
            true => written.extend(c.escape_default()),
            false => written.push(c),
        }
    }
    written
}

/// "3 numbers are needed, 1 was given".
pub fn needed_and_given(needed: usize, given: usize) -> String {
    format!(
        "{needed} {} needed, {given} {} given",
        if needed == 1 {
            "number is"
        } else {
            "numbers are"
        },
        if given == 1 { "was" } else { "were" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_spelled_out() {
        assert_eq!(shown("a\nb\u{1b}[2J é"), "a\\nb\\u{1b}[2J é");
        assert_eq!(shown("\u{202e}\u{9b}\u{2028}"), "\\u{202e}\\u{9b}\\u{2028}");
        assert_eq!(shown_lines("a\n\tb\r"), "a\n\tb\\r");
    }
}
