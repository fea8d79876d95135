//! A run as a function: from options and a model to a table of numbers, without files or messages. Studies are made of them.

use super::{Arguments, Strictness};
use crate::model_argument::Loaded;
use crate::number::{rough, six};
use catena::error::{Error, ErrorKind, Result};
use catena::native::Compiler;
use catena::simulate::Audit;
use catena::{Dynamics, Model, State};
use clap::{CommandFactory, Parser};

/// The options of `catena simulate`, on their own.
#[derive(Parser, Debug)]
#[command(name = "run", disable_help_flag = true)]
pub struct RunArguments {
    #[command(flatten)]
    arguments: Arguments,
}

/// What a run gave.
pub struct Trial {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The numbers, row by row.
    pub rows: Vec<f64>,
    /// The audit.
    pub audit: Audit,
    /// Number of events.
    pub events: usize,
}

/// Options that have no meaning in a study.
const OTHERS: &[&str] = &["output", "record", "overwrite", "resume", "verify", "json"];

impl RunArguments {
    /// The names of the options, without dashes in front, and whether each takes a value.
    pub fn options() -> Vec<(String, bool)> {
        let command = RunArguments::command();
        let options = command.get_arguments().filter_map(|option| {
            let name = option.get_long()?.to_string();
            Some((name, option.get_action().takes_values()))
        });
        options
            .filter(|(name, _)| !OTHERS.contains(&name.as_str()))
            .collect()
    }

    /// Reads options as they are typed, the model first.
    pub fn read(words: &[String]) -> Result<Self> {
        let words = std::iter::once("run").chain(words.iter().map(String::as_str));
        RunArguments::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let message = first.strip_prefix("error: ").unwrap_or(first);
            Error::new(ErrorKind::Input, message)
        })
    }

    /// Reads the model.
    pub fn load(&self) -> Result<Loaded> {
        self.arguments.model.load()
    }

    /// The compiler of code for the model, if wanted and possible.
    pub fn compiler(&self, model: &Model) -> Option<Compiler> {
        self.arguments.compiler(model)
    }

    /// The names of all columns that a run of the model can have.
    pub fn columns(&self, mut loaded: Loaded) -> Result<Vec<String>> {
        let start = self.arguments.start(&loaded)?;
        let every = ["*".to_string()];
        let begun = self
            .arguments
            .begin(&mut loaded, &start, "value", &every, None)?;
        let columns = begun.layout.columns(&loaded.model).into_iter();
        Ok(columns.map(|column| column.name).collect())
    }

    /// Runs a model to the end of its time, after `adjust` has changed the initial state. A run that fails, or breaks a law of the audit, is an
    /// error. `record` chooses columns beside those that every run has.
    pub fn run(
        &self,
        mut loaded: Loaded,
        adjust: impl FnOnce(&Model, &mut State) -> Result<()>,
        record: &[String],
        compiler: Option<Compiler>,
    ) -> Result<Trial> {
        let arguments = &self.arguments;
        let mut start = arguments.start(&loaded)?;
        adjust(&loaded.model, &mut start.state)?;
        let mut begun = arguments.begin(&mut loaded, &start, "value", record, compiler)?;
        let (simulation, layout) = (&mut begun.simulation, &begun.layout);
        let mut samples = Vec::new();
        while !simulation.finished() {
            simulation.advance(&mut samples)?;
        }
        let events = simulation.events().len();
        let audit = begun.simulation.finish();
        if let (Strictness::Strict, Some(breach)) = (arguments.audit, audit.breaches().next()) {
            let message = format!(
                "audit: {} is off by {} at {} s, allowed {}",
                breach.name,
                rough(breach.worst),
                six(breach.time),
                rough(breach.allowed)
            );
            return Err(Error::new(ErrorKind::Input, message));
        }
        let mut dynamics = Dynamics::new(&loaded.model.clone().open_tree());
        let mut rows = Vec::new();
        for sample in &samples {
            layout.append_row(&mut dynamics, sample, &mut rows)?;
        }
        let columns = layout.columns(&loaded.model).into_iter();
        Ok(Trial {
            columns: columns.map(|column| column.name).collect(),
            rows,
            audit,
            events,
        })
    }
}
