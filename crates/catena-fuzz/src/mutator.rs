//! Damage to texts and files that takes some account of their structure: tokens, lines, elements, numbers, lengths.

use catena::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Longer than any damaged input may take, on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// Inputs per reader: `usual`, or as many as `CATENA_MUTATIONS` says.
pub fn inputs(usual: u64) -> u64 {
    match std::env::var("CATENA_MUTATIONS") {
        Ok(text) => text.parse().expect("CATENA_MUTATIONS is a number"),
        Err(_) => usual,
    }
}

/// Runs a reader on a damaged input: it may reject it, but neither panic nor take long. `save` keeps the input that failed.
pub fn survive<T>(what: &str, seed: u64, input: &[u8], reader: impl FnOnce() -> T) -> T {
    let before = Instant::now();
    let keep = |why: &str| -> String {
        let path = std::env::temp_dir().join(format!("catena-damaged-{what}-{seed}"));
        let _ = std::fs::write(&path, input);
        format!("{what}, input {seed}: {why}; it is in {}", path.display())
    };
    let result = catch_unwind(AssertUnwindSafe(reader));
    let took = before.elapsed();
    assert!(took < LONG, "{}", keep(&format!("it took {took:?}")));
    match result {
        Ok(result) => result,
        Err(_) => panic!("{}", keep("the reader panicked")),
    }
}

const NUMBERS: [&str; 24] = [
    "nan",
    "inf",
    "-inf",
    "NaN",
    "1e400",
    "-1e400",
    "-0",
    "0",
    "1e308",
    "-1e308",
    "1e-320",
    "1e200",
    "1e155",
    "1e-200",
    "-1",
    "18446744073709551616",
    "1e9",
    "0.1e",
    "1_0",
    "0x10",
    "1,5",
    "+1",
    "1e-9",
    "",
];

const STRANGE: [&str; 20] = [
    "\u{0}",
    "\n",
    "\r\n",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{feff}",
    "\"",
    "'",
    "<",
    ">",
    "/>",
    "&#10;",
    "&amp;",
    "[",
    "]",
    "{",
    "}",
    "#",
    "=",
    "é",
];

/// A text with one to four kinds of damage.
pub fn text(original: &str, random: &mut Random) -> String {
    let mut text = original.to_string();
    for _ in 0..1 + random.below(4) {
        text = damaged_text(&text, random);
    }
    text
}

fn damaged_text(text: &str, random: &mut Random) -> String {
    let tokens = tokens(text);
    if tokens.is_empty() {
        return text.into();
    }
    let replaced = |at: (usize, usize), by: &str| format!("{}{by}{}", &text[..at.0], &text[at.1..]);
    let token = tokens[random.below(tokens.len())];
    match random.below(12) {
        // numbers
        0..=3 => {
            let is_number = |t: &&(usize, usize)| text[t.0..t.1].parse::<f64>().is_ok();
            let numbers: Vec<_> = tokens.iter().filter(is_number).collect();
            match numbers.is_empty() {
                true => replaced(token, NUMBERS[random.below(NUMBERS.len())]),
                false => replaced(
                    *numbers[random.below(numbers.len())],
                    NUMBERS[random.below(NUMBERS.len())],
                ),
            }
        }
        // a token by another, or two swapped
        4 => {
            let other = tokens[random.below(tokens.len())];
            replaced(token, &text[other.0..other.1])
        }
        5 => {
            let other = tokens[random.below(tokens.len())];
            let (first, second) = (token.min(other), token.max(other));
            if first.1 > second.0 {
                return text.into();
            }
            format!(
                "{}{}{}{}{}",
                &text[..first.0],
                &text[second.0..second.1],
                &text[first.1..second.0],
                &text[first.0..first.1],
                &text[second.1..]
            )
        }
        6 => replaced((token.0, token.0), STRANGE[random.below(STRANGE.len())]),
        7 => replaced(token, ""),
        // lines and elements, repeated or removed
        8 => pieces(text, '\n', random),
        9 => pieces(text, '<', random),
        10 => pieces(text, ',', random),
        // the end is missing, or a byte is changed
        _ => {
            let at = token.0;
            match random.below(4) {
                0 => text[..at].into(),
                _ => {
                    let byte = (32 + random.below(95)) as u8 as char;
                    replaced((at, at + 1), &byte.to_string())
                }
            }
        }
    }
}

/// Takes out, repeats or swaps pieces between separators.
fn pieces(text: &str, separator: char, random: &mut Random) -> String {
    let mut pieces: Vec<&str> = text.split_inclusive(separator).collect();
    let from = random.below(pieces.len());
    let to = (from + 1 + random.below(6)).min(pieces.len());
    match random.below(3) {
        0 => drop(pieces.drain(from..to)),
        1 => {
            let copy = pieces[from..to].to_vec();
            let at = random.below(pieces.len());
            pieces.splice(at..at, copy);
        }
        _ => pieces.swap(from, to - 1),
    }
    pieces.concat()
}

/// Runs of letters, digits, points and signs (ASCII), as ranges of bytes.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, byte) in text.bytes().chain(std::iter::once(b' ')).enumerate() {
        match (start, is_part(byte)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                tokens.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    tokens
}

/// Bytes with one to three kinds of damage: bits, lengths, ranges, the end.
pub fn bytes(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..1 + random.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let count = (1 + random.below(64)).min(bytes.len() - at);
        match random.below(9) {
            0..=2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes[at] = [0, 0xff, 0x7f, 0x80][random.below(4)],
            4 => {
                let huge = [u64::MAX, u64::from(u32::MAX), 1 << 31, 1 << 62, 0][random.below(5)];
                let width = [4, 8][random.below(2)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&huge.to_le_bytes()[..width]);
            }
            5 => drop(bytes.drain(at..at + count)),
            6 => {
                let copy = bytes[at..at + count].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            7 => bytes[at..at + count].fill(0),
            _ => bytes.truncate(at),
        }
    }
    bytes
}
