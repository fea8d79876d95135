//! The origin of a run: everything that can change a bit of it.

use super::drive::Drive;
use super::record::Layout;
use super::{Arguments, Closing, stops_description};
use crate::model_argument::Loaded;
use crate::situation::{self, Situation};
use crate::{json, program, state_file};
use catena::Cpu;
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};
use catena::simulate::{Integrator, SimulationOptions};
use catena_io::run::{Column, Header};
use serde_json::{Map, Value};
use std::path::Path;

/// One item of the origin of a run.
struct Entry {
    /// Its key in the metadata.
    key: &'static str,
    /// Its name in messages.
    name: &'static str,
    value: Value,
}

/// Everything that can change a bit of a run. This list is recorded in the run file and compared when the run is
/// resumed: an item added to it is recorded and compared.
pub struct Origin {
    entries: Vec<Entry>,
    columns: Vec<Column>,
}

/// Key of the instruction set.
const CPU: &str = "cpu";
/// Key of the command, which is recorded but not compared: different command lines can give the same run.
const COMMAND: &str = "command";

impl Arguments {
    /// Everything that can change a bit of the run.
    pub fn origin(
        &self,
        loaded: &Loaded,
        start: &Situation,
        options: &SimulationOptions,
        method: &str,
        drive: &Drive,
        events: &[String],
        layout: &Layout,
        source: &str,
    ) -> Result<Origin> {
        let model = catena_io::to_json(&loaded.builder);
        let model: Value = serde_json::from_str(&model).map_err(|error| {
            Error::new(
                ErrorKind::Model,
                format!("the model is not valid JSON: {error}"),
            )
        })?;
        let (rtol, atol, step) = match options.integrator {
            Integrator::Adaptive {
                tolerances,
                max_step,
                ..
            }
            | Integrator::Bdf {
                tolerances,
                max_step,
                ..
            } => (
                Some(tolerances.relative),
                Some(tolerances.absolute),
                Some(max_step).filter(|step| step.is_finite()),
            ),
            Integrator::Fixed { step, .. } => (None, None, Some(step)),
        };
        let mut start = situation::to_json(start);
        let wrenches = start.remove("wrenches").unwrap_or_default();
        let start: Map<String, Value> = ["q", "v", "base"]
            .map(|key| (key.to_string(), start.remove(key).unwrap_or_default()))
            .into_iter()
            .collect();
        let mut entries = Vec::new();
        let mut note = |key, name, value| entries.push(Entry { key, name, value });
        for (key, name, value) in arithmetic(source) {
            note(key, name, value.into());
        }
        note("model_name", "model", loaded.model.name().into());
        note("start", "start", start.into());
        note("seed", "seed", self.state.seed().into());
        note("drive", "drive", drive.description.clone());
        note("base", "motion of the base", drive.base.clone());
        note("wrenches", "wrench", wrenches);
        note("events", "list of events", events.into());
        let stops = stops_description(&loaded.model, &drive.inputs.stops);
        note("stops", "set of stops", stops);
        note("duration", "duration", options.duration.into());
        note("interval", "interval", options.interval.into());
        note("method", "method", method.into());
        let coordinates = self.coordinates.as_deref();
        note("coordinates", "choice of coordinates", coordinates.into());
        let newton = self.newton.as_deref();
        note("newton", "matrix of Newton's method", newton.into());
        let closing = match self.closing {
            Closing::Projection => "projection",
            Closing::Baumgarte => "baumgarte",
        };
        note("closing", "way to keep loops closed", closing.into());
        note("alpha", "α of Baumgarte's equations", self.alpha.into());
        note("beta", "β of Baumgarte's equations", self.beta.into());
        note("rtol", "relative tolerance", rtol.into());
        note("atol", "absolute tolerance", atol.into());
        note("step", "step", step.into());
        note("model", "model", model);
        Ok(Origin {
            entries,
            columns: layout.columns(&loaded.model),
        })
    }
}

/// Key in the metadata, name in messages and value of everything that determines how numbers are computed, whatever the run.
pub fn arithmetic(source: &str) -> [(&'static str, &'static str, String); 5] {
    let version = concat!("catena ", env!("CARGO_PKG_VERSION"));
    [
        ("program", "version of catena", version.into()),
        ("system", "system", system()),
        ("functions", "mathematical library", functions()),
        (CPU, "set of instructions", cpu()),
        ("accelerations", "source of accelerations", source.into()),
    ]
}

/// Processor architecture and operating system.
fn system() -> String {
    format!("{} {}", std::env::consts::ARCH, std::env::consts::OS)
}

/// The instructions that the arithmetic uses.
fn cpu() -> String {
    format!("{:?}", Cpu::detect()).to_lowercase()
}

/// A checksum of some values of the elementary functions, whose last bits may change with the version of their library.
fn functions() -> String {
    let values: Vec<f64> = (1..=64)
        .map(|k| 0.37 * f64::from(k))
        .flat_map(|x| {
            let power = elementary::powf(x, -0.2 / 7.0);
            let (sin, cos) = elementary::sin_cos(x);
            let (exp, ln) = (elementary::exp(x), elementary::ln(x));
            [power, exp, ln, sin, cos, elementary::atan2(x, power)]
        })
        .collect();
    json::checksum(values.iter())
}

impl Origin {
    /// The header of the run.
    pub fn header(&self) -> Header {
        let entries = self.entries.iter();
        let mut metadata: Map<String, Value> = entries
            .map(|entry| (entry.key.to_string(), entry.value.clone()))
            .collect();
        let command = program::arguments()
            .iter()
            .map(|word| word.to_string_lossy())
            .filter(|word| word != "--resume" && word != "--overwrite");
        metadata.insert(COMMAND.into(), command.collect());
        Header {
            columns: self.columns.clone(),
            metadata: metadata.into(),
        }
    }

    /// Rejects settings other than those a run was started with: it cannot be resumed with them.
    pub fn refuse_another(&self, path: &Path, old: &Header) -> Result<()> {
        let differs = |entry: &&Entry| {
            // As texts, so that 0 and -0 differ.
            let [old, new] = [&old.metadata[entry.key], &entry.value].map(Value::to_string);
            old != new
        };
        let different: Vec<&Entry> = self.entries.iter().filter(differs).collect();
        let mut names: Vec<&str> = Vec::new();
        for entry in &different {
            if !names.contains(&entry.name) {
                names.push(entry.name);
            }
        }
        if names.is_empty() && old.columns != self.columns {
            names.push("list of columns");
        }
        if names.is_empty() {
            return Ok(());
        }
        let words: Vec<&str> = old.metadata[COMMAND]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut hint = format!(
            "give the same command again, with --resume; it was `catena {}`",
            words.join(" ")
        );
        let cpu = different.iter().find(|entry| entry.key == CPU);
        if let Some(was) = cpu.and_then(|_| old.metadata[CPU].as_str()) {
            hint += &format!(" with CATENA_CPU={was}");
        }
        Err(Error::new(
            ErrorKind::Input,
            format!("the run was made with another {}", names.join(", ")),
        )
        .at(state_file::whole(path))
        .hint(hint))
    }
}
