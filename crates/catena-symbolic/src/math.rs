//! Mathematics to read: one tree, written as LaTeX or as MathML.

use std::fmt::Write;

/// A piece of mathematics.
#[derive(Clone, Debug, PartialEq)]
pub enum Math {
    /// A letter, Latin or the name of a Greek one.
    Letter(String),
    /// A number as it is printed.
    Number(String),
    /// An operator, relation or bracket, as LaTeX has it: `+`, `=`, `\\times`, …
    Operator(String),
    /// A function's name: sin, cos.
    Function(String),
    /// A sequence of parts.
    Row(Vec<Math>),
    /// With a subscript.
    Sub(Box<Math>, Box<Math>),
    /// With a superscript.
    Sup(Box<Math>, Box<Math>),
    /// With an accent above.
    Accent(Accent, Box<Math>),
    /// A fraction.
    Fraction(Box<Math>, Box<Math>),
    /// A square root.
    Root(Box<Math>),
    /// In parentheses.
    Parentheses(Box<Math>),
    /// A matrix, row after row.
    Matrix(Vec<Vec<Math>>),
}

/// An accent above a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accent {
    /// A dot: a rate.
    Dot,
    /// Two dots.
    TwoDots,
    /// A hat: articulated.
    Hat,
    /// A tilde: composite.
    Tilde,
    /// A bar: in the axes of the parent.
    Bar,
    /// A prime after the letter: reduced.
    Prime,
}

/// Greek letters by name.
const GREEK: [(&str, &str); 16] = [
    ("alpha", "α"),
    ("omega", "ω"),
    ("Omega", "Ω"),
    ("theta", "θ"),
    ("psi", "ψ"),
    ("rho", "ρ"),
    ("tau", "τ"),
    ("eta", "η"),
    ("mu", "μ"),
    ("phi", "φ"),
    ("nu", "ν"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("lambda", "λ"),
    ("xi", "ξ"),
    ("ell", "ℓ"),
];

impl Math {
    /// A number.
    pub fn number(text: impl ToString) -> Self {
        Math::Number(text.to_string())
    }

    /// A letter, Latin or the name of a Greek one.
    pub fn letter(name: &str) -> Self {
        Math::Letter(name.into())
    }

    /// An operator.
    pub fn operator(name: &str) -> Self {
        Math::Operator(name.into())
    }

    /// Reads the LaTeX this module writes: letters, numbers, operators, accents, sub- and superscripts, fractions.
    pub fn parse(latex: &str) -> Self {
        let mut rest: Vec<char> = latex.chars().rev().collect();
        Parser { rest: &mut rest }.row()
    }

    /// Approximate width in characters.
    pub fn width(&self) -> usize {
        match self {
            Math::Letter(name) if GREEK.iter().any(|(greek, _)| *greek == name.as_str()) => 1,
            Math::Letter(name) | Math::Function(name) | Math::Number(name) => name.len(),
            Math::Operator(_) => 3,
            Math::Row(parts) => parts.iter().map(Math::width).sum(),
            Math::Sub(a, b) | Math::Sup(a, b) => a.width() + b.width().div_ceil(2),
            Math::Accent(_, a) => a.width(),
            Math::Fraction(a, b) => a.width().max(b.width()),
            Math::Parentheses(a) | Math::Root(a) => a.width() + 2,
            Math::Matrix(rows) => {
                let widths = rows
                    .iter()
                    .map(|row| row.iter().map(|c| c.width() + 2).sum());
                widths.max().unwrap_or(0)
            }
        }
    }

    /// With a subscript.
    #[must_use]
    pub fn with_index(self, index: Math) -> Self {
        Math::Sub(Box::new(self), Box::new(index))
    }

    /// With a superscript.
    #[must_use]
    pub fn with_power(self, power: Math) -> Self {
        Math::Sup(Box::new(self), Box::new(power))
    }

    /// With an accent.
    #[must_use]
    pub fn accent(self, accent: Accent) -> Self {
        Math::Accent(accent, Box::new(self))
    }

    /// As LaTeX for math mode, with amsmath.
    pub fn latex(&self) -> String {
        let mut text = String::new();
        self.write_latex(&mut text);
        text
    }

    fn write_latex(&self, text: &mut String) {
        match self {
            Math::Letter(name) => {
                if GREEK.iter().any(|(greek, _)| *greek == name.as_str()) {
                    text.push('\\');
                }
                text.push_str(name);
            }
            Math::Number(number) => match number.split_once('e') {
                Some((digits, power)) => {
                    let _ = write!(text, "{digits} \\cdot 10^{{{power}}}");
                }
                None => text.push_str(number),
            },
            Math::Operator(operator) => text.push_str(operator),
            Math::Function(name) => {
                let _ = write!(text, "\\{name}");
            }
            Math::Row(parts) => {
                let mut tight = true;
                for part in parts {
                    let closes =
                        matches!(part, Math::Operator(o) if [")", ",", ";"].contains(&o.as_str()));
                    if !tight && !closes {
                        text.push(' ');
                    }
                    part.write_latex(text);
                    tight = matches!(part, Math::Operator(o) if o == "(");
                }
            }
            Math::Sub(base, index) => {
                base.write_latex(text);
                let _ = write!(text, "_{{{}}}", index.tight());
            }
            Math::Sup(base, power) => {
                match **base {
                    Math::Accent(..) => {
                        let _ = write!(text, "{{{}}}", base.latex());
                    }
                    Math::Sub(ref inner, _) if matches!(**inner, Math::Accent(..)) => {
                        let _ = write!(text, "{{{}}}", base.latex());
                    }
                    _ => base.write_latex(text),
                }
                let _ = write!(text, "^{{{}}}", power.latex());
            }
            Math::Accent(accent, base) => {
                let name = match accent {
                    Accent::Dot => "dot",
                    Accent::TwoDots => "ddot",
                    Accent::Hat => "hat",
                    Accent::Tilde => "tilde",
                    Accent::Bar => "bar",
                    Accent::Prime => {
                        base.write_latex(text);
                        text.push('\'');
                        return;
                    }
                };
                let _ = write!(text, "\\{name}{{{}}}", base.latex());
            }
            Math::Fraction(above, below) => {
                let _ = write!(text, "\\frac{{{}}}{{{}}}", above.latex(), below.latex());
            }
            Math::Root(inner) => {
                let _ = write!(text, "\\sqrt{{{}}}", inner.latex());
            }
            Math::Parentheses(inner) => {
                let _ = write!(text, "\\left({}\\right)", inner.latex());
            }
            Math::Matrix(rows) => {
                text.push_str("\\begin{bmatrix}\n");
                for row in rows {
                    let cells: Vec<String> = row.iter().map(Math::latex).collect();
                    let _ = writeln!(text, "{} \\\\", cells.join(" & "));
                }
                text.push_str("\\end{bmatrix}");
            }
        }
    }

    /// An index: digits and Latin letters side by side without spaces.
    fn tight(&self) -> String {
        let simple = |part: &Math| match part {
            Math::Number(_) => true,
            Math::Letter(name) => GREEK.iter().all(|(greek, _)| *greek != name.as_str()),
            Math::Operator(sign) => sign == ",",
            _ => false,
        };
        match self {
            Math::Row(parts) if parts.iter().all(simple) => parts.iter().map(Math::latex).collect(),
            _ => self.latex(),
        }
    }

    /// As MathML, for use inside a `math` element.
    pub fn mathml(&self) -> String {
        let mut text = String::new();
        self.write_mathml(&mut text);
        text
    }

    fn write_mathml(&self, text: &mut String) {
        match self {
            Math::Letter(name) => {
                let greek = GREEK.iter().find(|(greek, _)| *greek == name.as_str());
                let _ = write!(
                    text,
                    "<mi>{}</mi>",
                    greek.map_or(name.as_str(), |(_, sign)| sign)
                );
            }
            Math::Number(number) => match number.split_once('e') {
                Some((digits, power)) => {
                    let _ = write!(
                        text,
                        "<mn>{digits}</mn><mo>·</mo><msup><mn>10</mn><mn>{power}</mn></msup>"
                    );
                }
                None => {
                    let _ = write!(text, "<mn>{number}</mn>");
                }
            },
            Math::Operator(operator) => {
                let sign = match operator.as_str() {
                    "-" => "−",
                    "\\," => "\u{2009}",
                    "\\ldots" => "…",
                    "\\times" => "×",
                    "\\sum" => "∑",
                    "\\ge" => "≥",
                    "\\le" => "≤",
                    "<" => "&lt;",
                    other => other,
                };
                let _ = write!(text, "<mo>{sign}</mo>");
            }
            Math::Function(name) => {
                let _ = write!(
                    text,
                    "<mspace width=\"0.17em\"/><mi>{name}</mi><mspace width=\"0.17em\"/>"
                );
            }
            Math::Row(parts) => {
                text.push_str("<mrow>");
                for part in parts {
                    part.write_mathml(text);
                }
                text.push_str("</mrow>");
            }
            Math::Sub(base, index) => Self::pair("msub", base, index, text),
            Math::Sup(base, power) => match &**base {
                Math::Sub(inner, index) => {
                    text.push_str("<msubsup>");
                    for part in [inner, index, power] {
                        part.write_mathml(text);
                    }
                    text.push_str("</msubsup>");
                }
                _ => Self::pair("msup", base, power, text),
            },
            Math::Accent(accent, base) => {
                let sign = match accent {
                    Accent::Dot => "˙",
                    Accent::TwoDots => "¨",
                    Accent::Hat => "^",
                    Accent::Tilde => "~",
                    Accent::Bar => "¯",
                    Accent::Prime => {
                        text.push_str("<msup>");
                        base.write_mathml(text);
                        text.push_str("<mo>′</mo></msup>");
                        return;
                    }
                };
                text.push_str("<mover accent=\"true\">");
                base.write_mathml(text);
                let _ = write!(text, "<mo stretchy=\"false\">{sign}</mo></mover>");
            }
            Math::Fraction(above, below) => Self::pair("mfrac", above, below, text),
            Math::Root(inner) => {
                text.push_str("<msqrt>");
                inner.write_mathml(text);
                text.push_str("</msqrt>");
            }
            Math::Parentheses(inner) => {
                text.push_str("<mrow><mo>(</mo>");
                inner.write_mathml(text);
                text.push_str("<mo>)</mo></mrow>");
            }
            Math::Matrix(rows) => {
                text.push_str("<mrow><mo>[</mo><mtable>");
                for row in rows {
                    text.push_str("<mtr>");
                    for cell in row {
                        text.push_str("<mtd>");
                        cell.write_mathml(text);
                        text.push_str("</mtd>");
                    }
                    text.push_str("</mtr>");
                }
                text.push_str("</mtable><mo>]</mo></mrow>");
            }
        }
    }

    fn pair(element: &str, first: &Math, second: &Math, text: &mut String) {
        let _ = write!(text, "<{element}>");
        first.write_mathml(text);
        second.write_mathml(text);
        let _ = write!(text, "</{element}>");
    }
}

/// Reads from the end of a reversed list.
struct Parser<'a> {
    rest: &'a mut Vec<char>,
}

impl Parser<'_> {
    fn row(&mut self) -> Math {
        let mut parts: Vec<Math> = Vec::new();
        while let Some(&next) = self.rest.last() {
            match next {
                '}' => break,
                ' ' => {
                    self.rest.pop();
                }
                '_' | '^' => {
                    self.rest.pop();
                    let script = self.argument();
                    let base = parts.pop().unwrap_or(Math::Row(Vec::new()));
                    parts.push(match next {
                        '_' => base.with_index(script),
                        _ => base.with_power(script),
                    });
                }
                '\'' => {
                    self.rest.pop();
                    let base = parts.pop().unwrap_or(Math::Row(Vec::new()));
                    parts.push(base.accent(Accent::Prime));
                }
                _ => {
                    let atom = self.atom();
                    parts.push(atom);
                }
            }
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => Math::Row(parts),
        }
    }

    /// The content of braces, or one atom.
    fn argument(&mut self) -> Math {
        if self.rest.last() == Some(&'{') {
            self.rest.pop();
            let inner = self.row();
            self.rest.pop();
            inner
        } else {
            self.atom()
        }
    }

    fn word(&mut self, accept: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(&c) = self.rest.last().filter(|c| accept(**c)) {
            self.rest.pop();
            word.push(c);
        }
        word
    }

    fn atom(&mut self) -> Math {
        let Some(first) = self.rest.pop() else {
            return Math::Row(Vec::new());
        };
        match first {
            '{' => {
                let inner = self.row();
                self.rest.pop();
                inner
            }
            '\\' => {
                let name = self.word(|c| c.is_ascii_alphabetic());
                let accent = match name.as_str() {
                    "dot" => Some(Accent::Dot),
                    "ddot" => Some(Accent::TwoDots),
                    "hat" => Some(Accent::Hat),
                    "tilde" => Some(Accent::Tilde),
                    "bar" => Some(Accent::Bar),
                    _ => None,
                };
                if let Some(accent) = accent {
                    return self.argument().accent(accent);
                }
                match name.as_str() {
                    "frac" => {
                        let above = self.argument();
                        Math::Fraction(Box::new(above), Box::new(self.argument()))
                    }
                    "sin" | "cos" => Math::Function(name),
                    _ if GREEK.iter().any(|(greek, _)| *greek == name) => Math::Letter(name),
                    _ => Math::Operator(format!("\\{name}")),
                }
            }
            c if c.is_ascii_alphabetic() => Math::Letter(c.to_string()),
            c if c.is_ascii_digit() => {
                let rest = self.word(|c| c.is_ascii_digit() || c == '.');
                Math::Number(format!("{c}{rest}"))
            }
            c => Math::Operator(c.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        for text in [
            "\\hat{m}_{k} = p_{k}^{T} \\hat{M}_{k} p_{k}",
            "\\frac{a + b}{c}",
            "\\ddot{q}_{1} \\sin q_{2}",
        ] {
            let once = Math::parse(text).latex();
            assert_eq!(Math::parse(&once).latex(), once);
            let squeezed = |t: &str| t.replace(' ', "");
            assert_eq!(squeezed(&once), squeezed(text));
        }
        assert!(
            Math::parse("\\hat{m}_{k}")
                .mathml()
                .starts_with("<msub><mover")
        );
    }
}
