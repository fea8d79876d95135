//! How symbols are written: `name[i].part` or `name[i,j].part` internally, letters with indices in print.

use crate::math::{Accent, Math};

/// The parts of a symbol.
pub(super) struct Parts<'a> {
    pub name: &'a str,
    pub indices: Vec<usize>,
    pub part: &'a str,
}

pub(super) fn parts(symbol: &str) -> Parts<'_> {
    let Some((name, rest)) = symbol.split_once('[') else {
        return Parts {
            name: symbol,
            indices: Vec::new(),
            part: "",
        };
    };
    let (inside, part) = rest.split_once(']').unwrap_or((rest, ""));
    Parts {
        name,
        indices: inside.split(',').filter_map(|k| k.parse().ok()).collect(),
        part: part.trim_start_matches('.'),
    }
}

/// Indices of these count freedoms, from 0 internally and from 1 in print; those of the others count bodies, from 1.
const FREEDOMS: [&str; 23] = [
    "p",
    "q",
    "v",
    "vdot",
    "tau",
    "d",
    "phi",
    "bias",
    "tauhat",
    "tautilde",
    "psihat",
    "alpha",
    "I",
    "Ihat",
    "l",
    "C",
    "gravity",
    "passive",
    "rotor",
    "stiffness",
    "rest",
    "damping",
    "load",
];

/// The indices as they are printed.
fn printed(parts: &Parts<'_>) -> Vec<usize> {
    let mut indices = parts.indices.clone();
    if matches!(parts.name, "N" | "F" | "psi") {
        // the wrench of a freedom at a body
        if let Some(freedom) = indices.first_mut() {
            *freedom += 1;
        }
    } else if FREEDOMS.contains(&parts.name) {
        indices.iter_mut().for_each(|k| *k += 1);
    }
    indices
}

/// Style of the letters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    /// Velocities are v, because they are not the rates of the positions.
    Velocities,
    /// Velocities are the rates of the positions.
    Rates,
    /// The letters of the papers: θ for positions.
    Paper,
}

/// Letter and accents of a name.
fn letter(name: &str, letters: Letters) -> Math {
    let one = Math::letter;
    if letters == Letters::Paper {
        match name {
            "q" => return one("theta"),
            "v" => return one("theta").accent(Accent::Dot),
            "vdot" => return one("theta").accent(Accent::TwoDots),
            "rest" => return one("theta").accent(Accent::Bar),
            "I" => return one("i"),
            _ => {}
        }
    }
    match (name, letters == Letters::Rates) {
        ("v", true) => one("q").accent(Accent::Dot),
        ("vdot", true) => one("q").accent(Accent::TwoDots),
        ("vdot", false) => one("v").accent(Accent::Dot),
        ("d", _) => one("m").accent(Accent::Hat),
        ("bias", _) => one("beta"),
        ("gravity", _) => one("g"),
        ("domega", _) => one("omega").accent(Accent::Dot),
        ("acc", _) => one("r").accent(Accent::TwoDots),
        ("tauhat", _) => one("tau").accent(Accent::Hat),
        ("psihat", _) => one("psi").accent(Accent::Hat),
        ("Ihat", _) => one("I").accent(Accent::Hat),
        ("mt", _) => one("m").accent(Accent::Tilde),
        ("ht", _) => one("h").accent(Accent::Tilde),
        ("At", _) => one("A").accent(Accent::Tilde),
        ("hb", _) => one("h").accent(Accent::Bar),
        ("Ab", _) => one("A").accent(Accent::Bar),
        ("Ah", _) => one("A").accent(Accent::Hat),
        ("Bh", _) => one("B").accent(Accent::Hat),
        ("Ch", _) => one("C").accent(Accent::Hat),
        ("Ar", _) => one("A").accent(Accent::Hat).accent(Accent::Prime),
        ("Br", _) => one("B").accent(Accent::Hat).accent(Accent::Prime),
        ("Cr", _) => one("C").accent(Accent::Hat).accent(Accent::Prime),
        ("Ap", _) => one("A").accent(Accent::Bar),
        ("Bp", _) => one("B").accent(Accent::Bar),
        ("Cp", _) => one("C").accent(Accent::Bar),
        ("htj", _) => one("h").accent(Accent::Tilde).accent(Accent::Prime),
        ("Atj", _) => one("A").accent(Accent::Tilde).accent(Accent::Prime),
        ("Aj", _) => one("A").accent(Accent::Prime),
        ("Bj", _) => one("B").accent(Accent::Prime),
        ("Cj", _) => one("C").accent(Accent::Prime),
        ("rotor", _) => one("rho"),
        ("stiffness", _) => one("k"),
        ("rest", _) => one("q").accent(Accent::Bar),
        ("damping", _) => one("b"),
        ("passive", _) => one("s"),
        ("lead", _) => one("d"),
        ("load", _) => one("w"),
        ("length", _) => one("ell"),
        ("rate", _) => one("ell").accent(Accent::Dot),
        ("tension", _) => one("F"),
        ("torque", _) => one("T"),
        ("deflection", _) => one("phi"),
        ("cdot", _) => one("c").accent(Accent::Dot),
        ("tautilde", _) => one("tau").accent(Accent::Tilde),
        ("etab", _) => one("eta").accent(Accent::Bar),
        ("mub", _) => one("mu").accent(Accent::Bar),
        (name, _) => one(name),
    }
}

/// A symbol in print.
pub(super) fn math(symbol: &str, letters: Letters) -> Math {
    let parts = parts(symbol);
    let letter = letter(parts.name, letters);
    let indices = printed(&parts);
    let mut subscript: Vec<Math> = Vec::new();
    for (k, index) in indices.iter().enumerate() {
        if k > 0 && indices.iter().any(|i| *i > 9) {
            subscript.push(Math::operator(","));
        }
        subscript.push(Math::number(index));
    }
    match parts.part {
        "" => {}
        // the angular part of a twist
        "wx" | "wy" | "wz" => {
            subscript.push(Math::letter("omega"));
            subscript.push(Math::letter(&parts.part[1..]));
        }
        part => subscript.push(Math::letter(part)),
    }
    match subscript.len() {
        0 => letter,
        1 => letter.with_index(subscript.remove(0)),
        _ => letter.with_index(Math::Row(subscript)),
    }
}

/// A symbol in Python.
pub(super) fn python(symbol: &str) -> String {
    let parts = parts(symbol);
    let mut text = parts.name.to_string();
    if text == "I" || text == "N" || text == "C" {
        // names of SymPy, or of the matrices
        text.push_str("_entry_");
    }
    let indices: Vec<String> = printed(&parts).iter().map(usize::to_string).collect();
    text += &indices.join("_");
    text += parts.part;
    text
}
