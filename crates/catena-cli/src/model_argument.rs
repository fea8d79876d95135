//! The model a command works on: a file or an embedded name, and what may be changed about it.

use crate::{names, number, output};
use catena::algorithm::kinematics::Rerooted;
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Dof, embedded};
use catena::spatial::Vec3;
use catena::{Model, ModelBuilder};
use catena_io::{BaseOption, ReadOptions};
use clap::Args;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// The model, and what may be changed about it.
#[derive(Args, Debug)]
pub struct ModelArgument {
    /// Model file (.toml, .json, .urdf, .sdf, .xml for MJCF) or embedded model (see `catena models`)
    #[arg(value_name = "MODEL")]
    name: String,

    #[command(flatten)]
    options: ModelOptions,
}

/// What may be changed about a model; the same for every command that takes one.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct ModelOptions {
    /// Gravity in m/s², world axes
    #[arg(
        long,
        value_name = "X,Y,Z",
        allow_hyphen_values = true,
        help_heading = "Model"
    )]
    gravity: Option<String>,

    /// Let the root link of the file float: six more freedoms
    #[arg(long, help_heading = "Model")]
    free_base: bool,

    /// Number a floating tree from this link: its free joint moves there, the joints between are reversed
    #[arg(long, value_name = "LINK", help_heading = "Model")]
    root: Option<String>,

    /// Reject inertias that no rigid body can have, instead of warning
    #[arg(long, help_heading = "Model")]
    strict: bool,

    /// Leave out unknown elements of a file that may affect the motion, such as a joint inside <gazebo> of a URDF
    #[arg(long, help_heading = "Model")]
    ignore_unknown: bool,

    /// Leave out these features of an MJCF or SDF file although they affect the dynamics (fluid, spatial, plugin, …)
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Model"
    )]
    ignore: Vec<String>,

    /// Ignore springs, damping and friction in the joints
    #[arg(long, help_heading = "Model")]
    no_passive: bool,

    /// Leave loops and couplings open: the tree alone, every joint free
    #[arg(long, help_heading = "Model")]
    open_loops: bool,

    /// Leave out force elements: springs, dampers and motors between links, forces on links
    #[arg(long, help_heading = "Model")]
    no_forces: bool,
}

/// A model with the links and joints it was built from.
#[derive(Clone)]
pub struct Loaded {
    /// The links and joints as they were named.
    pub builder: Arc<ModelBuilder>,
    /// The model.
    pub model: Model,
}

type Change = dyn Fn(Loaded) -> Result<Loaded>;

thread_local! {
    /// Change applied to every model that this thread loads.
    static CHANGE: RefCell<Option<Rc<Change>>> = const { RefCell::new(None) };
}

/// Restores the previous change, also after a panic.
struct Restored(Option<Rc<Change>>);

impl Drop for Restored {
    fn drop(&mut self) {
        CHANGE.set(self.0.take());
    }
}

/// Runs a function on this thread with this change applied to every model after it is loaded.
pub fn with_change<T>(
    change: impl Fn(Loaded) -> Result<Loaded> + 'static,
    what: impl FnOnce() -> T,
) -> T {
    let _restored = Restored(CHANGE.replace(Some(Rc::new(change))));
    what()
}

impl ModelOptions {
    /// The model of this name, with this change.
    pub fn of(&self, name: &str) -> ModelArgument {
        ModelArgument {
            name: name.into(),
            options: self.clone(),
        }
    }

    /// Rejects changes of the model where there is none.
    pub fn expect_none(&self, why: &str) -> Result<()> {
        match *self == ModelOptions::default() {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Input,
                format!("--gravity, --free-base and the like change a model, and {why}"),
            )),
        }
    }
}

impl ModelArgument {
    /// Reads and builds the model.
    pub fn load(&self) -> Result<Loaded> {
        let is_file = is_file_name(&self.name);
        let mut builder = match is_file {
            true => self.builder_from_file(Path::new(&self.name))?,
            false => self.embedded_builder()?,
        };
        if let Some(text) = &self.options.gravity {
            builder.gravity = Vec3::from_array(number::vector::<3>("--gravity", text)?);
        }
        if self.options.no_passive {
            remove_passive_forces(&mut builder);
        }
        if self.options.open_loops && !builder.constraints.is_empty() {
            let open = format!(
                "{} left open (--open-loops)",
                number::counted(
                    builder.constraints.len(),
                    "constraint is",
                    "constraints are"
                )
            );
            output::complain(&format!("note: {open}"));
            builder.assumptions.push(open);
            builder.constraints.clear();
        }
        if self.options.no_forces && !builder.forces.is_empty() {
            let left_out = format!(
                "{} left out (--no-forces)",
                number::counted(
                    builder.forces.len(),
                    "force element is",
                    "force elements are"
                )
            );
            output::complain(&format!("note: {left_out}"));
            builder.assumptions.push(left_out);
            builder.forces.clear();
        }
        if let Some(root) = &self.options.root {
            builder = Rerooted::new(&builder, root)?.builder().clone();
        }
        let model = match is_file {
            true => catena_io::build(&builder, &self.name)?,
            false => builder.build()?,
        };
        warn(&model);
        let builder = Arc::new(builder);
        let loaded = Loaded { builder, model };
        match CHANGE.with_borrow(Clone::clone) {
            Some(change) => change(loaded),
            None => Ok(loaded),
        }
    }

    /// The model alone.
    pub fn model(&self) -> Result<Model> {
        self.load().map(|loaded| loaded.model)
    }

    /// The model with its couplings as constraints, for computations with multipliers: every joint has its coordinates.
    pub fn whole_model(&self) -> Result<Model> {
        self.model().map(Model::with_couplings_as_constraints)
    }

    fn builder_from_file(&self, path: &Path) -> Result<ModelBuilder> {
        let options = ReadOptions {
            base: self.options.free_base.then_some(BaseOption::Free),
            strict: self.options.strict,
            ignore_unknown: self.options.ignore_unknown,
            ignore: self.options.ignore.clone(),
        };
        output::note_input(path);
        catena_io::read_file(path, &options).map_err(|error| match path.exists() {
            true => error,
            false => missing_file(path, error),
        })
    }

    fn embedded_builder(&self) -> Result<ModelBuilder> {
        let mut builder = embedded::builder(&self.name).map_err(|error| {
            // an error without advice is about the number in a known name
            match error.advice() {
                Some(_) => error.hint(name_hint(&self.name)),
                None => error,
            }
        })?;
        builder.strict = self.options.strict;
        if self.options.free_base && !builder.build()?.tree().is_free_floating() {
            return Err(Error::new(
                ErrorKind::Model,
                format!(
                    "the base of the embedded model `{}` cannot be freed: its joints join it to the ground",
                    self.name
                ),
            )
            .hint("`space-robot` and `floating-chain-N` have a free base; --free-base is for model files"));
        }
        Ok(builder)
    }
}

/// Prints the first few warnings about a model, and how many more there are.
fn warn(model: &Model) {
    const SHOWN: usize = 3;
    let warnings = &model.tree().warnings;
    for warning in warnings.iter().take(SHOWN) {
        output::complain(&format!("warning: {warning}"));
    }
    if warnings.len() > SHOWN {
        output::complain(&format!(
            "warning: {} more like these; `catena info` lists all",
            warnings.len() - SHOWN
        ));
    }
}

/// What to do about an unknown name.
fn name_hint(name: &str) -> String {
    match names::nearest(name, embedded::NAMES.iter().map(|(name, _)| *name)) {
        Some(near) => format!("did you mean `{near}`? `catena models` lists them all"),
        None => {
            "`catena models` lists the embedded models; a file needs its extension (.toml, .json, .urdf, .sdf, .xml)".into()
        }
    }
}

/// Embedded names have no folder and no extension.
fn is_file_name(name: &str) -> bool {
    name.contains(['/', '\\', '.'])
}

/// Adds a suggestion to an error about a missing file.
fn missing_file(path: &Path, error: Error) -> Error {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if embedded::builder(&stem).is_ok() {
        return error.hint(format!("`{stem}` without extension is an embedded model"));
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let neighbours: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match names::nearest(&name, neighbours.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

fn remove_passive_forces(builder: &mut ModelBuilder) {
    for dof in builder.joints.iter_mut().flat_map(|joint| &mut joint.dofs) {
        *dof = Dof {
            damping: 0.0,
            friction: 0.0,
            stiffness: 0.0,
            rest: 0.0,
            ..*dof
        };
    }
    builder
        .assumptions
        .push("springs, damping and friction are ignored (--no-passive)".into());
}
