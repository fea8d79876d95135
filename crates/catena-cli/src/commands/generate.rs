//! `catena generate MODEL`: source code of a model's dynamics.

use crate::commands::derive::kept;
use crate::model_argument::ModelArgument;
use crate::outcome::Outcome;
use crate::{names, output};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::{larger, within};
use catena_symbolic::generate::{CodeOptions, Language, Module, Question};
use clap::Args;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// Which functions, in which language, and where to.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,

    /// Functions, with commas between them: inverse, forward, inertia, inertia_upper, factor, bias, gravity, jacobian,
    /// pose, energy, inverse_dq, inverse_dv, forward_dq, forward_dv, forward_dtau, or all
    #[arg(
        short,
        long,
        value_name = "NAMES",
        default_value = "inverse,forward,inertia"
    )]
    function: String,

    /// Language of the code: rust, c, python, matlab
    #[arg(short, long, value_name = "NAME", default_value = "c")]
    language: String,

    /// Folder to write to; created if it does not exist [default: nothing is written, the operations are counted]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Name of the files and prefix of the functions [default: the model's name]
    #[arg(long, value_name = "NAME")]
    prefix: Option<String>,

    /// Frame of `jacobian` and `pose` [default: the one frame besides those of links, or the last of a chain]
    #[arg(long, value_name = "FRAME")]
    frame: Option<String>,

    /// Numbers of the model that are passed to the functions in an array p instead of being written into the code, with commas between them:
    /// masses, lengths, inertias, gravity, rotors, passive (springs, damping, friction), rotations, or all
    #[arg(long, value_name = "NAMES", default_value = "")]
    parameters: String,

    /// Rotations and lengths of the model this close to 0 or ±1 are set to exactly that. A URDF that writes 1.5708 for
    /// π/2 needs 1e-5
    #[arg(long, value_name = "TOLERANCE", default_value = "1e-14")]
    snap: f64,

    /// Write a file with which CasADi loads `inverse` and `forward` as external functions with their Jacobians, and the derivatives these need (C)
    #[arg(long)]
    casadi: bool,
}

/// Generates the code.
pub fn run(arguments: &Arguments, json: bool) -> Result<Outcome> {
    let model = arguments.model.model()?;
    let mut questions = questions(&arguments.function)?;
    let language = choose("--language", &arguments.language, &Language::ALL)?;
    if arguments.casadi {
        if language != Language::C {
            return Err(Error::new(ErrorKind::Input, "--casadi: CasADi loads C")
                .hint("leave --language out, or give `c`"));
        }
        questions = Question::with_derivatives(&questions);
    }
    let options = CodeOptions {
        name: arguments.prefix.clone().unwrap_or_default(),
        dust: arguments.snap,
        frame: arguments.frame.clone().unwrap_or_default(),
        parameters: kept("--parameters", &arguments.parameters, true)?,
    };
    if let Some(folder) = &arguments.output {
        output::make_folder(folder)?;
    }
    let module = Module::new(&model, &questions, &options)?;
    let mut outcome = Outcome::text(if json {
        counts_as_json(&module)
    } else {
        counts_as_table(&module)
    });
    if let Some(frame) = module.frame.as_ref().filter(|frame| frame.body == 0) {
        outcome = outcome.note(format!(
            "note: frame `{}` is fixed to the ground: its Jacobian is zero and its pose does not change",
            frame.name
        ));
    }
    let moved = module.functions.iter().map(|f| f.snapping_error);
    let moved = moved.fold(0.0, larger);
    if !within(moved, 1e-12) {
        outcome = outcome.note(format!(
            "note: --snap moves results by up to {moved:.1e} of the largest number; the tests compare with the snapped model"
        ));
    }
    if let Some(folder) = &arguments.output {
        let mut files = module.source(language)?;
        if arguments.casadi {
            files.push(module.casadi()?);
        }
        for file in files {
            let path = folder.join(&file.name);
            output::write_file(&path, &file.text)?;
            outcome = outcome.note(format!("wrote {}", path.display()));
        }
    }
    Ok(outcome)
}

fn questions(text: &str) -> Result<Vec<Question>> {
    if text.trim() == "all" {
        return Ok(Question::ALL
            .iter()
            .map(|(_, question)| *question)
            .collect());
    }
    let mut questions = Vec::new();
    for name in text.split(',') {
        let question = choose("--function", name.trim(), &Question::ALL)?;
        if !questions.contains(&question) {
            questions.push(question);
        }
    }
    Ok(questions)
}

/// The item with this name.
fn choose<T: Copy>(option: &str, name: &str, all: &[(&'static str, T)]) -> Result<T> {
    if let Some((_, found)) = all.iter().find(|(known, _)| *known == name) {
        return Ok(*found);
    }
    let known = all.iter().map(|(known, _)| *known);
    let hint = match names::nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected one of: {}", known.collect::<Vec<_>>().join(", ")),
    };
    Err(Error::new(ErrorKind::Input, format!("{option}: `{name}` is not known")).hint(hint))
}

fn counts_as_table(module: &Module) -> String {
    let mut text = format!(
        "{:<14}{:>8}{:>8}{:>6}{:>6}{:>7}  traced from\n",
        "function", "mult.", "add.", "div.", "sqrt", "sincos"
    );
    for function in &module.functions {
        let count = function.operations();
        let _ = writeln!(
            text,
            "{:<14}{:>8}{:>8}{:>6}{:>6}{:>7}  {}",
            function.question.name(),
            count.multiplications,
            count.additions,
            count.divisions,
            count.square_roots,
            count.sines,
            function.method
        );
    }
    if let Some(frame) = &module.frame {
        let _ = writeln!(text, "frame of jacobian and pose: {}", frame.name);
    }
    text
}

fn counts_as_json(module: &Module) -> String {
    let functions: Vec<_> = module
        .functions
        .iter()
        .map(|function| {
            let count = function.operations();
            json!({
                "function": function.question.name(),
                "multiplications": count.multiplications,
                "additions": count.additions,
                "divisions": count.divisions,
                "square_roots": count.square_roots,
                "sines": count.sines,
                "method": function.method,
            })
        })
        .collect();
    let document = json!({
        "name": module.name,
        "frame": module.frame.as_ref().map(|frame| &frame.name),
        "functions": functions,
    });
    format!("{document:#}\n")
}
