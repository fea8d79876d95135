//! `catena derive MODEL`: the equations of motion as formulas.

use crate::model_argument::ModelArgument;
use crate::outcome::Outcome;
use crate::{json, names, output};
use catena::Model;
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, within};
use catena_symbolic::derive::{Derivation, Keep, Notation, Style, Symbols};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// How formulas are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown with LaTeX mathematics.
    Markdown,
    /// A LaTeX document.
    Latex,
    /// A self-contained page for browsers, mathematics as MathML.
    Html,
    /// A Python module for SymPy.
    Sympy,
}

/// How the equations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StyleName {
    /// Every entry as one formula, as in textbooks.
    Closed,
    /// The recursions step by step, with names for intermediate quantities.
    Recursive,
}

/// Whose variables the recursions are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NotationName {
    /// Those of this library, about the joints.
    Catena,
    /// Those of Saha's papers, about the mass centres, with the numbers of their equations.
    Paper,
}

/// Up to this many freedoms the closed form is the default.
const SMALL: usize = 3;

/// Largest difference between I and U D Uᵀ, and between the steps and the library, relative to the largest entry, per ten freedoms: longer chains are
/// worse conditioned.
const ALLOWED: f64 = 1e-13;

/// Which model, what stays a symbol, and how to write.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,

    /// Numbers that stay symbols, with commas between them: masses, lengths, inertias, gravity, rotors, passive (springs and dampers) or all; single ones
    /// as LINK.mass, LINK.centre, LINK.inertia, JOINT.length, JOINT.rotor, JOINT.stiffness, JOINT.rest, JOINT.damping
    #[arg(short, long, value_name = "NAMES", default_value = "")]
    symbols: String,

    /// How the equations are written [default: closed up to three freedoms, recursive beyond]
    #[arg(long, value_name = "NAME")]
    style: Option<StyleName>,

    /// Whose variables recursions are written in; `paper` takes the recursive style
    #[arg(long, value_name = "NAME", default_value = "catena")]
    notation: NotationName,

    /// How formulas are written
    #[arg(short, long, value_name = "NAME", default_value = "markdown")]
    format: Format,

    /// Show the reverse Gaussian elimination step by step
    #[arg(long)]
    elimination: bool,

    /// File to write to [default: the page is printed]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Derives the equations.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    let style = match (arguments.style, arguments.notation) {
        (Some(StyleName::Closed), NotationName::Paper) => {
            let message = "--notation paper is for the recursions: the closed form has no steps";
            return Err(Error::new(ErrorKind::Input, message)
                .hint("leave --style out, or take --style recursive"));
        }
        (_, NotationName::Paper) => Style::Recursive(Notation::Paper),
        (Some(StyleName::Closed), _) => Style::Closed,
        (None, _) if model.nv() <= SMALL => Style::Closed,
        _ => Style::Recursive(Notation::Catena),
    };
    if let Some(path) = &arguments.output {
        output::expect_folder(path)?;
    }
    let symbols = symbols(&model, &arguments.symbols)?;
    let derivation = Derivation::new(&model, symbols, style, arguments.elimination)?;
    let text = match (as_json, arguments.format) {
        (true, _) => json::text(&record(&derivation)),
        (_, Format::Markdown) => derivation.document().markdown(),
        (_, Format::Latex) => derivation.document().latex(),
        (_, Format::Html) => derivation.document().html(),
        (_, Format::Sympy) => derivation.sympy(),
    };
    let mut outcome = match &arguments.output {
        None => Outcome::text(text),
        Some(path) => {
            output::write_file(path, &text)?;
            Outcome::default().note(format!("wrote {}", path.display()))
        }
    };
    let found = derivation.verification;
    let difference = larger(found.product, found.meaning);
    let allowed = ALLOWED * (model.nv() as f64 / 10.0).max(1.0);
    if found.proved == Some(false) || !within(difference, allowed) {
        let words = format!("I = U D Uᵀ does not hold: differences up to {difference:.1e}");
        outcome.failures.push(words);
    }
    if let Some(steps) = found.steps.filter(|steps| !within(*steps, allowed)) {
        let words =
            format!("the steps do not give the library's values: differences up to {steps:.1e}");
        outcome.failures.push(words);
    }
    Ok(outcome)
}

/// The numbers named by `--symbols`: kinds, and single ones by a name with a dot.
fn symbols(model: &Model, text: &str) -> Result<Symbols> {
    let is_single = |name: &&str| name.contains('.');
    let list: Vec<&str> = text.split(',').map(str::trim).collect();
    let (single, kinds): (Vec<&str>, Vec<&str>) = list.into_iter().partition(is_single);
    let keep = kept("--symbols", &kinds.join(","), false)?;
    let known = Symbols::known(model);
    let mut symbols = Symbols::from(keep);
    for name in single {
        let found = known.iter().find(|(known, _)| known == name);
        let Some((_, own)) = found else {
            if Symbols::zero(model).iter().any(|zero| zero == name) {
                let message = format!("--symbols: `{name}` is zero, and has no symbol");
                return Err(Error::new(ErrorKind::Input, message)
                    .hint("give it a number in the model, any but zero; only lengths, centres and rotors may be zero"));
            }
            let names = || known.iter().map(|(known, _)| known.as_str());
            let hint = match names::nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("numbers that may be symbols: {}", names::first_few(names())),
            };
            return Err(Error::new(
                ErrorKind::Input,
                format!("--symbols: `{name}` is not known"),
            )
            .hint(hint));
        };
        symbols.single.extend(own.iter().cloned());
    }
    Ok(symbols)
}

/// The kinds of numbers named by an option; for generated code there are more of them.
pub fn kept(option: &str, text: &str, code: bool) -> Result<Keep> {
    let mut keep = Keep::default();
    let list = text.split(',').map(str::trim);
    for name in list.filter(|name| !name.is_empty()) {
        match name {
            "masses" => keep.masses = true,
            "lengths" => keep.lengths = true,
            "inertias" => keep.inertias = true,
            "gravity" => keep.gravity = true,
            "rotors" => keep.rotors = true,
            "passive" => keep.passive = true,
            "rotations" if code => keep.rotations = true,
            "all" if code => keep = Keep::EVERYTHING,
            "all" => keep = Keep::ALL,
            _ => {
                let mut known = vec![
                    "masses", "lengths", "inertias", "gravity", "rotors", "passive", "all",
                ];
                if code {
                    known.push("rotations");
                }
                let hint = match names::nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("expected one of: {}", known.join(", ")),
                };
                return Err(Error::new(
                    ErrorKind::Input,
                    format!("{option}: `{name}` is not known"),
                )
                .hint(hint));
            }
        }
    }
    Ok(keep)
}

/// Everything as SymPy reads it.
fn record(derivation: &Derivation) -> Value {
    let values: Map<String, Value> = derivation
        .python_values()
        .into_iter()
        .map(|(name, value)| (name, Value::from(value)))
        .collect();
    let mut record = json!({
        "format": "catena-derive/1",
        "model": derivation.name,
        "values": values,
        "proved": derivation.verification.proved,
        "difference": derivation.verification.difference(),
    });
    for (name, rows) in derivation.python_matrices() {
        record[name] = json!(rows);
    }
    if let Some((rows, offset)) = derivation.coupling_matrix() {
        record["couplings"] = json!({ "G": rows, "c": offset });
    }
    let independent = derivation.python_independent();
    if !independent.is_empty() {
        let entries = independent.into_iter();
        let entries = entries.map(|(name, rows)| (name.to_string(), json!(rows)));
        record["independent"] = Value::Object(entries.collect());
    }
    if let (Some(rows), Some(groups)) = (&derivation.constraints, derivation.python_constraints()) {
        record["constraints"] = json!({ "rows": rows.names, "left_out": rows.others });
        for (name, rows) in groups {
            record["constraints"][name] = json!(rows);
        }
    }
    if let Some(recursion) = &derivation.recursion {
        record["notation"] = json!(match recursion.notation {
            Notation::Catena => "catena",
            Notation::Paper => "paper",
        });
    }
    if let Some(quantities) = derivation.python_quantities() {
        record["quantities"] = json!(quantities);
    }
    if let Some(steps) = derivation.python_steps() {
        record["steps"] = json!(steps);
    }
    record
}
