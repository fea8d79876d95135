//! Records of what came out, line by line, in files that the tests can write anew.

use catena::Error;
use std::path::Path;

/// An error in full.
pub fn in_words(error: &Error) -> String {
    let advice = error.advice().map_or(String::new(), |a| format!(" [{a}]"));
    format!("{:?}: {}{advice}", error.kind(), error.message())
}

/// Compares lines with those recorded in a file; with `CATENA_UPDATE` in the environment, writes them.
pub fn compare(path: &Path, lines: &[String]) {
    let name = path.display();
    if std::env::var_os("CATENA_UPDATE").is_some() {
        std::fs::write(path, lines.join("\n") + "\n").expect("the record can be written");
    }
    let recorded = std::fs::read_to_string(path).expect("the record can be read");
    let recorded: Vec<&str> = recorded.lines().collect();
    for (line, expected) in lines.iter().zip(&recorded) {
        assert_eq!(line, expected, "{name}");
    }
    assert_eq!(lines.len(), recorded.len(), "{name}");
}
