//! A run as a function: from options and a model to a table of numbers, without files or messages, for studies.

use super::{Arguments, Layout, Strictness, violated};
use crate::model_argument::Loaded;
use catena::error::{Error, ErrorKind, Result};
use catena::native::Compiler;
use catena::simulate::{Audit, Sample, Simulation};
use catena::{Dynamics, Model, State};
use clap::{CommandFactory, Parser};
use std::sync::Arc;

/// The options of `catena simulate`, on their own.
#[derive(Parser, Debug)]
#[command(name = "run", disable_help_flag = true)]
pub struct RunArguments {
    #[command(flatten)]
    arguments: Arguments,
}

/// The columns of a run. Runs of one model with the same options share them.
pub struct Columns {
    layout: Layout,
    names: Vec<String>,
}

impl Columns {
    fn new(layout: Layout, model: &Model) -> Self {
        let columns = layout.columns(model).into_iter();
        Columns {
            names: columns.map(|column| column.name).collect(),
            layout,
        }
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Results of a run.
pub struct Trial {
    /// Its columns.
    pub columns: Arc<Columns>,
    /// The numbers, row by row.
    pub rows: Vec<f64>,
    /// The audit.
    pub audit: Audit,
    /// Number of events.
    pub events: usize,
}

/// Options that have no meaning in a study.
const OTHERS: &[&str] = &[
    "output",
    "record",
    "loads",
    "overwrite",
    "resume",
    "verify",
    "json",
];

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
        let begun = self.arguments.begin(&mut loaded, &start, None)?;
        let layout = begun.layout(&loaded.model, "value", &every)?;
        Ok(Columns::new(layout, &loaded.model).names)
    }

    /// Sets up a run of a model, after `adjust` has changed the initial state. `record` chooses columns in addition to those of every
    /// run; `columns` are those of an earlier run of the same model, if there was one.
    pub fn begin(
        &self,
        mut loaded: Loaded,
        adjust: impl FnOnce(&Model, &mut State) -> Result<()>,
        record: &[String],
        columns: Option<Arc<Columns>>,
        compiler: Option<Compiler>,
    ) -> Result<Started> {
        let arguments = &self.arguments;
        let mut start = arguments.start(&loaded)?;
        adjust(&loaded.model, &mut start.state)?;
        let begun = arguments.begin(&mut loaded, &start, compiler)?;
        let columns = match columns {
            Some(columns) => columns,
            None => {
                let layout = begun.layout(&loaded.model, "value", record)?;
                Arc::new(Columns::new(layout, &loaded.model))
            }
        };
        Ok(Started {
            model: loaded.model,
            simulation: begun.simulation,
            columns,
            is_strict: arguments.audit == Strictness::Strict,
        })
    }
}

/// A run that is about to start.
pub struct Started {
    model: Model,
    /// The run.
    pub simulation: Simulation,
    /// The recorded columns.
    pub columns: Arc<Columns>,
    is_strict: bool,
}

/// The rest of a run without its simulation.
pub struct Rest {
    model: Model,
    columns: Arc<Columns>,
    is_strict: bool,
}

impl Rest {
    /// The run with its simulation.
    pub fn join(self, simulation: Simulation) -> Started {
        Started {
            model: self.model,
            simulation,
            columns: self.columns,
            is_strict: self.is_strict,
        }
    }

    /// The recorded columns.
    pub fn columns(&self) -> Arc<Columns> {
        Arc::clone(&self.columns)
    }

    /// The numbers of samples, row by row.
    pub fn rows(&self, samples: &[Sample]) -> Result<Vec<f64>> {
        let layout = &self.columns.layout;
        let tree = self.model.clone().open_tree();
        let mut rows = Vec::new();
        // a chosen column may need dynamics, others are in the sample
        let mut dynamics = layout.chosen.any().then(|| Dynamics::new(&tree));
        for sample in samples {
            match &mut dynamics {
                Some(dynamics) => layout.append_row(dynamics, sample, &mut rows)?,
                None => layout.append_common(&tree, sample, &mut rows),
            }
        }
        Ok(rows)
    }
}

impl Started {
    /// Takes the simulation out, to be run with others.
    pub fn split(self) -> (Simulation, Rest) {
        let rest = Rest {
            model: self.model,
            columns: self.columns,
            is_strict: self.is_strict,
        };
        (self.simulation, rest)
    }

    /// Runs to the end of its time. A run that fails, or violates a law of the audit, is an error.
    pub fn run(mut self) -> Result<Trial> {
        let mut samples = Vec::new();
        while !self.simulation.finished() {
            self.simulation.advance(&mut samples)?;
        }
        self.finish(&samples)
    }

    /// The table of a run that has ended with these samples.
    pub fn finish(self, samples: &[Sample]) -> Result<Trial> {
        let (simulation, rest) = self.split();
        let events = simulation.events().len();
        let audit = simulation.finish();
        if let (true, Some(breach)) = (rest.is_strict, audit.breaches().next()) {
            let message = format!("audit: {}", violated(breach));
            return Err(Error::new(ErrorKind::Input, message));
        }
        Ok(Trial {
            rows: rest.rows(samples)?,
            columns: rest.columns,
            audit,
            events,
        })
    }
}
