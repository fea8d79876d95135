//! XML support shared by the model readers: limits of the parser, and its errors with their lines.

use crate::lines::Lines;
use catena::error::{Error, ErrorKind, Place, Result};
use roxmltree::Document;

/// Maximum number of attributes of an element: the parser's time is quadratic in their number.
const MOST_ATTRIBUTES: usize = 1000;

/// Parses a text; `format` is what the file should be, for messages.
pub(crate) fn parse<'t>(text: &'t str, lines: &Lines, format: &str) -> Result<Document<'t>> {
    if let Some(at) = crowded_element(text) {
        let message = format!("an element has more than {MOST_ATTRIBUTES} attributes");
        let error = Error::new(ErrorKind::Unsupported, message).at(lines.place(at));
        return Err(error.hint(format!("no element of {format} has so many")));
    }
    Document::parse(text).map_err(|error| malformed(&error, text, lines, format))
}

/// The name of the first element, after declarations and comments.
pub(crate) fn root_tag(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<!") => ">",
            _ => break,
        };
        let after = rest.find(end)? + end.len();
        rest = rest[after..].trim_start();
    }
    let name = rest.strip_prefix('<')?;
    let length = name.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
    Some(&name[..length])
}

/// Start of the first element with more than [`MOST_ATTRIBUTES`].
fn crowded_element(text: &str) -> Option<usize> {
    let (mut start, mut count) = (0, 0);
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            // an element that is not closed ends where the next one starts
            (_, b'<') => (start, count, quote) = (at, 0, None),
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => count = 0,
            (None, b'=') => {
                count += 1;
                let is_element = !matches!(text.as_bytes().get(start + 1), Some(b'!' | b'?'));
                if count > MOST_ATTRIBUTES && is_element {
                    return Some(start);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parser's errors, with the line added where it gives none.
fn malformed(error: &roxmltree::Error, text: &str, lines: &Lines, format: &str) -> Error {
    use roxmltree::Error as Xml;
    let line = match error {
        Xml::NoRootNode | Xml::UnclosedRootNode | Xml::UnexpectedEndOfStream => lines.last(),
        Xml::DtdDetected => text.find("<!DOCTYPE").map_or(1, |at| lines.line(at)),
        other => other.pos().row as usize,
    };
    let place = Place::new(lines.file(), line);
    match error {
        Xml::UnknownNamespace(prefix, _) if prefix == "xacro" => xacro(place),
        Xml::DtdDetected => Error::new(
            ErrorKind::Unsupported,
            "document type declarations (<!DOCTYPE>) are not accepted",
        )
        .at(place)
        .hint(format!("remove the declaration; {format} needs none")),
        other => Error::new(ErrorKind::Syntax, format!("malformed XML: {other}")).at(place),
    }
}

/// Advice for macros that are not expanded.
pub(crate) const XACRO_ADVICE: &str = "expand the macros first: `xacro model.xacro > model.urdf`";

/// The error for a file whose macros are not expanded.
pub(crate) fn xacro(place: Place) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "this is a xacro file, not yet a URDF file",
    )
    .at(place)
    .hint(XACRO_ADVICE)
}
