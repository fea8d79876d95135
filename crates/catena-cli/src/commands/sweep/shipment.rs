//! A study for another machine: its file, the files that it reads, and what must be the same there.

use super::experiment::{Function, Simulations};
use crate::output;
use catena::Cpu;
use catena::error::{Error, ErrorKind, Result};
use catena_io::files::{self, Parcel};
use catena_study::Origin;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const FORMAT: &str = "catena-shipment/1";
/// Origins up to this length appear in messages.
const SHORT: usize = 40;

/// A study with its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Shipment {
    study: PathBuf,
    files: Parcel,
    origin: Origin,
    cpu: String,
}

fn refuse(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Input, message)
}

/// The name of a file as text.
fn name(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        refuse(format!("the name of {} is not Unicode", path.display()))
            .hint("rename it: names are sent as text")
    })
}

impl Shipment {
    /// Reads all files of a study again, and keeps them.
    pub fn pack(simulations: &Simulations) -> Result<Self> {
        let path = simulations.path();
        let (read, files) =
            files::collected(|| output::quietly(|| Simulations::open(path)?.origin()));
        let (read, origin) = (read?, simulations.origin()?);
        // measures that are not formulas are not in the files
        let is_same = |entry| origin.entries.contains(entry);
        if !read.entries.iter().all(is_same) {
            return Err(refuse("a file of the study has changed while it was read")
                .hint("give the command again"));
        }
        for path in files.files.keys() {
            name(path)?;
        }
        Ok(Shipment {
            study: path.to_path_buf(),
            files,
            origin,
            cpu: format!("{:?}", Cpu::detect()).to_lowercase(),
        })
    }

    /// The shipment as bytes: a line of JSON, and the files one after another.
    pub fn to_bytes(&self) -> Vec<u8> {
        let files: Vec<Value> = (self.files.files.iter())
            .map(|(path, bytes)| json!([path.to_str(), bytes.len()]))
            .collect();
        let origin: Map<String, Value> = (self.origin.entries.iter())
            .map(|(name, text)| (name.clone(), text.as_str().into()))
            .collect();
        let head = json!({
            "format": FORMAT,
            "study": self.study.to_str(),
            "cpu": self.cpu,
            "files": files,
            "origin": origin,
        });
        let mut bytes = format!("{head}\n").into_bytes();
        for file in self.files.files.values() {
            bytes.extend_from_slice(file);
        }
        bytes
    }

    /// Reads the [bytes](Self::to_bytes) of a shipment; none if they are incomplete.
    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let head: Value = serde_json::from_slice(&bytes[..end]).ok()?;
        if head["format"].as_str()? != FORMAT {
            return None;
        }
        let mut rest = &bytes[end + 1..];
        let mut files = Parcel::default();
        for file in head["files"].as_array()? {
            let length = usize::try_from(file[1].as_u64()?).ok()?;
            let (own, others) = rest.split_at_checked(length)?;
            files.files.insert(file[0].as_str()?.into(), own.to_vec());
            rest = others;
        }
        let entries = head["origin"].as_object()?.iter();
        let entries = entries.map(|(name, text)| Some((name.clone(), text.as_str()?.to_string())));
        Some(Shipment {
            study: head["study"].as_str()?.into(),
            cpu: head["cpu"].as_str()?.into(),
            origin: Origin {
                entries: entries.collect::<Option<_>>()?,
            },
            files,
        })
        .filter(|_| rest.is_empty())
    }

    /// The simulations of a study that has come as [bytes](Self::to_bytes); an error if their bits would differ from those on the sending
    /// machine. Measures that are not formulas are passed separately.
    pub fn unpack(
        bytes: &[u8],
        functions: Vec<Function>,
        record: &[String],
    ) -> Result<Simulations> {
        let shipment = Shipment::read(bytes).ok_or_else(|| {
            refuse("the study was changed in transit")
                .hint("install the same version of catena on every node")
        })?;
        let simulations =
            output::quietly(|| Simulations::open_parcel(&shipment.study, shipment.files.clone()))?;
        let simulations = simulations.with_functions(functions, record)?;
        let own = simulations.origin()?;
        match shipment.origin.difference(&own) {
            None => Ok(simulations),
            Some((name, there, here)) => {
                let told = match there.len().max(here.len()) <= SHORT {
                    true => format!(": {here}, not {there}"),
                    false => String::new(),
                };
                Err(refuse(format!("a node has another {name}{told}")).hint(
                    "install the same version of catena on every node; CATENA_CPU=avx2 or CATENA_CPU=baseline chooses instructions that all processors have",
                ))
            }
        }
    }
}
