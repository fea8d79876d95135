//! How the terms of a formula are collected and printed.

use super::{Term, Wave};
use crate::math::Math;

type Name<'a> = &'a dyn Fn(&str) -> Math;
/// Whether it is subtracted, and the absolute value of the term.
type Signed = (bool, Math);

/// Order of symbols in a product: masses, inertias, lengths, then the rest in their own order.
fn rank(symbol: &str) -> usize {
    let name = symbol.split('[').next().unwrap_or(symbol);
    match name {
        "m" => 0,
        "J" => 1,
        "g" => 2,
        "a" => 3,
        "c" => 4,
        "v" | "vdot" => 6,
        _ => 5,
    }
}

/// The sum of some terms.
pub(super) fn sum(mut terms: Vec<(Term, f64)>, name: Name<'_>) -> Vec<Signed> {
    let common = common(&terms);
    let below: Vec<(String, i32)> = common.iter().filter(|(_, k)| *k < 0).cloned().collect();
    if terms.len() > 1 && !below.is_empty() {
        take_out(&mut terms, &below);
        let above = joined(sum(terms, name));
        let below = product(1.0, &inverted(&below), None, None, name);
        return vec![(false, Math::Fraction(Box::new(above), Box::new(below)))];
    }
    let mut written = Vec::new();
    while !terms.is_empty() {
        let wave = terms[0].0.wave.clone();
        let (group, rest): (Vec<_>, Vec<_>) = terms.into_iter().partition(|(t, _)| t.wave == wave);
        terms = rest;
        written.extend(of_one_wave(group, &wave, name));
    }
    written
}

/// Terms that share their sine or cosine.
fn of_one_wave(mut group: Vec<(Term, f64)>, wave: &Wave, name: Name<'_>) -> Vec<Signed> {
    let mut shared = common(&group);
    shared.retain(|(_, k)| *k > 0);
    if group.len() > 1 && (!wave.angles.is_empty() || !shared.is_empty()) {
        return vec![gathered(group, wave, &shared, name)];
    }
    let mut written = Vec::new();
    while !group.is_empty() {
        let mass = |term: &Term| {
            let found = term.symbols.iter().find(|(s, k)| rank(s) <= 1 && *k > 0);
            found.map(|(s, _)| s.clone())
        };
        let first = mass(&group[0].0);
        let (own, rest): (Vec<_>, Vec<_>) = match first {
            None => (vec![group.remove(0)], group),
            Some(_) => group.into_iter().partition(|(t, _)| mass(t) == first),
        };
        group = rest;
        match own.len() {
            1 => {
                let (term, c) = &own[0];
                let wave = (!term.wave.angles.is_empty()).then_some(&term.wave);
                written.push((*c < 0.0, product(c.abs(), &term.symbols, wave, None, name)));
            }
            _ => {
                let mut shared = common(&own);
                shared.retain(|(_, k)| *k > 0);
                written.push(gathered(own, wave, &shared, name));
            }
        }
    }
    written
}

/// shared · (…) · sine or cosine.
fn gathered(
    mut group: Vec<(Term, f64)>,
    wave: &Wave,
    shared: &[(String, i32)],
    name: Name<'_>,
) -> Signed {
    take_out(&mut group, shared);
    for (term, _) in &mut group {
        term.wave = Wave::default();
    }
    let negative = group.iter().all(|(_, c)| *c < 0.0);
    let size = group[0].1.abs();
    let same = group.iter().all(|(_, c)| c.abs() == size);
    let factor = if same { size } else { 1.0 };
    for (_, c) in &mut group {
        *c /= if negative { -factor } else { factor };
    }
    let inner = Math::Parentheses(Box::new(joined(sum(group, name))));
    let wave = (!wave.angles.is_empty()).then_some(wave);
    (negative, product(factor, shared, wave, Some(inner), name))
}

/// Symbols common to all terms, with the common exponents.
fn common(terms: &[(Term, f64)]) -> Vec<(String, i32)> {
    let Some(((first, _), others)) = terms.split_first() else {
        return Vec::new();
    };
    let mut shared = first.symbols.clone();
    for (term, _) in others {
        shared = shared
            .into_iter()
            .filter_map(|(symbol, k)| {
                let (_, l) = term.symbols.iter().find(|(s, _)| *s == symbol)?;
                match (k > 0, *l > 0) {
                    (true, true) => Some((symbol, k.min(*l))),
                    (false, false) => Some((symbol, k.max(*l))),
                    _ => None,
                }
            })
            .collect();
    }
    shared
}

fn take_out(terms: &mut [(Term, f64)], shared: &[(String, i32)]) {
    for (term, _) in terms {
        term.symbols = super::merged(&term.symbols, shared, -1);
    }
}

fn inverted(symbols: &[(String, i32)]) -> Vec<(String, i32)> {
    symbols.iter().map(|(s, k)| (s.clone(), -k)).collect()
}

/// A product of a positive number, symbols, a sum and a sine or cosine.
fn product(
    c: f64,
    symbols: &[(String, i32)],
    wave: Option<&Wave>,
    inner: Option<Math>,
    name: Name<'_>,
) -> Math {
    let (mut above, mut below) = (Vec::new(), Vec::new());
    let mut sorted = symbols.to_vec();
    sorted.sort_by(|a, b| (rank(&a.0), &a.0).cmp(&(rank(&b.0), &b.0)));
    for (symbol, exponent) in &sorted {
        let power = match exponent.abs() {
            1 => name(symbol),
            power => name(symbol).with_power(Math::number(power)),
        };
        match *exponent > 0 {
            true => above.push(power),
            false => below.push(power),
        }
    }
    above.extend(inner);
    if let Some(wave) = wave {
        above.push(Math::Function(if wave.sine { "sin" } else { "cos" }.into()));
        let angle = angle(wave, name);
        above.push(match angle {
            Math::Row(_) => Math::Parentheses(Box::new(angle)),
            single => single,
        });
    }
    if let Some(c) = coefficient(c, above.is_empty()) {
        above.insert(0, c);
    }
    match below.is_empty() {
        true => row(above),
        false => Math::Fraction(Box::new(row(above)), Box::new(row(below))),
    }
}

fn row(mut parts: Vec<Math>) -> Math {
    match parts.len() {
        1 => parts.remove(0),
        _ => Math::Row(parts),
    }
}

/// Terms with their signs between them; 0 for none.
pub(super) fn joined(terms: Vec<Signed>) -> Math {
    let mut parts = Vec::new();
    for (k, (negative, size)) in terms.into_iter().enumerate() {
        match (k, negative) {
            (0, false) => {}
            (_, true) => parts.push(Math::operator("-")),
            (_, false) => parts.push(Math::operator("+")),
        }
        parts.push(size);
    }
    match parts.is_empty() {
        true => Math::number(0),
        false => row(parts),
    }
}

fn angle(wave: &Wave, name: Name<'_>) -> Math {
    let terms = wave.angles.iter().map(|(symbol, multiple)| {
        let size = match multiple.abs() {
            1 => name(symbol),
            k => Math::Row(vec![Math::number(k), name(symbol)]),
        };
        (*multiple < 0, size)
    });
    joined(terms.collect())
}

/// A number with twelve digits.
pub(crate) fn rounded(x: f64) -> String {
    let rounded: f64 = format!("{x:.11e}").parse().unwrap_or(x);
    match rounded == 0.0 || (1e-4..1e6).contains(&rounded.abs()) {
        true => format!("{rounded}"),
        false => format!("{rounded:e}"),
    }
}

/// A positive number with twelve digits, small ratios as such; nothing for 1 unless it stands alone.
fn coefficient(c: f64, alone: bool) -> Option<Math> {
    if c == 1.0 && !alone {
        return None;
    }
    for denominator in [2.0, 3.0, 4.0, 8.0] {
        let numerator: f64 = c * denominator;
        if c.fract() != 0.0 && numerator.fract() == 0.0 && numerator < 10.0 {
            return Some(Math::Fraction(
                Box::new(Math::number(numerator)),
                Box::new(Math::number(denominator)),
            ));
        }
    }
    Some(Math::Number(rounded(c)))
}
