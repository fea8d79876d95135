//! Model files for [`catena`]: its own format in TOML and JSON, URDF, MJCF (MuJoCo's XML) and SDF (Gazebo's).
//!
//! Every reader fills a [`ModelBuilder`], whose `build` checks it and builds the [`Model`]. Errors say what is wrong,
//! in which file and line, and what to do. Omissions and assumptions of a reader are listed in the builder's `assumptions`.
//!
//! ```
//! let text = r#"
//! format = "catena/1"
//! [[link]]
//! name = "rod"
//! mass = 1.0
//! centre = [0.5, 0, 0]
//! [[joint]]
//! name = "hinge"
//! type = "revolute"
//! child = "rod"
//! axis = [0, 1, 0]
//! "#;
//! let model = catena_io::model_from_toml(text, "rod.toml", &catena_io::ReadOptions::default())?;
//! assert_eq!(model.nv(), 1);
//! # Ok::<(), catena::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod access;
pub mod angle;
pub mod arrays;
pub mod document;
pub mod drawing;
mod element_tree;
mod export;
pub mod files;
mod ignored;
mod json_tree;
mod lines;
mod mass;
mod mjcf;
mod nearest;
mod placement;
mod root;
pub mod run;
mod schema;
mod sdf;
mod shape;
mod toml_tree;
mod tree;
mod urdf;
mod xml;
mod xml_export;

use crate::access::Source;
use crate::document::{file_error, read_text};
use crate::lines::Lines;
use catena::error::{ErrorKind, Place, Result};
use catena::model::{Model, ModelBuilder};
use std::path::Path;

/// How a root link without a joint to the ground is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseOption {
    /// By a fixed joint.
    Fixed,
    /// By a free joint: six freedoms.
    Free,
}

/// Options of the file readers.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// How the root link is attached. A URDF file does not say (default: fixed); in an SDF file a link without a joint to the
    /// world is free; in catena's own format this overrides the key `base`.
    pub base: Option<BaseOption>,
    /// Reject inertias that no rigid body can have, which are otherwise read with a warning.
    pub strict: bool,
    /// Leave out unknown elements of a URDF file that may affect the motion, such as a joint inside `<gazebo>`, and list them among
    /// the assumptions; of an MJCF or SDF file, unknown elements and attributes. Otherwise they are rejected.
    pub ignore_unknown: bool,
    /// Features of an MJCF or SDF file to leave out and list among the assumptions although they change the dynamics, such as
    /// `fluid`, `spatial` or `wind`. Otherwise they are rejected, with the name to give here.
    pub ignore: Vec<String>,
}

/// The file formats.
#[derive(Clone, Copy)]
enum Format {
    Toml,
    Json,
    Urdf,
    Mjcf,
    Sdf,
}

/// Reads a model file and checks the model. The extension gives the format: `.toml`, `.json`, `.urdf`, `.mjcf`, `.sdf` or `.world`,
/// or `.xml` for URDF, MJCF and SDF.
pub fn read_model(path: &Path, options: &ReadOptions) -> Result<Model> {
    let file_name = path.display().to_string();
    build(&read_file(path, options)?, &file_name)
}

/// Reads a model file as [`read_model`] does, without checking the model.
pub fn read_file(path: &Path, options: &ReadOptions) -> Result<ModelBuilder> {
    let file_name = path.display().to_string();
    let text = read_text(path, &file_name)?;
    let format = format_of(path, &text, &file_name)?;
    read_builder(format, &text, &file_name, options)
}

/// Reads TOML in catena's own format. The file name appears in messages; its stem is the name of a model that gives none.
pub fn builder_from_toml(
    text: &str,
    file_name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    read_builder(Format::Toml, text, file_name, options)
}

/// Reads JSON in catena's own format; see [`builder_from_toml`].
pub fn builder_from_json(
    text: &str,
    file_name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    read_builder(Format::Json, text, file_name, options)
}

/// Reads URDF; see [`builder_from_toml`].
pub fn builder_from_urdf(
    text: &str,
    file_name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    read_builder(Format::Urdf, text, file_name, options)
}

/// Reads MJCF; see [`builder_from_toml`]. Files that it includes, and those of meshes, are found relative to the folder of
/// `file_name`.
pub fn builder_from_mjcf(
    text: &str,
    file_name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    read_builder(Format::Mjcf, text, file_name, options)
}

/// Reads SDF; see [`builder_from_toml`]. Files that it includes are found relative to the folder of `file_name`; `model://NAME` is a
/// folder there or in a folder above, or in the `models` of one.
pub fn builder_from_sdf(
    text: &str,
    file_name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    read_builder(Format::Sdf, text, file_name, options)
}

/// Reads TOML in catena's own format and checks the model.
pub fn model_from_toml(text: &str, file_name: &str, options: &ReadOptions) -> Result<Model> {
    build(&builder_from_toml(text, file_name, options)?, file_name)
}

/// Reads JSON in catena's own format and checks the model.
pub fn model_from_json(text: &str, file_name: &str, options: &ReadOptions) -> Result<Model> {
    build(&builder_from_json(text, file_name, options)?, file_name)
}

/// Reads URDF and checks the model.
pub fn model_from_urdf(text: &str, file_name: &str, options: &ReadOptions) -> Result<Model> {
    build(&builder_from_urdf(text, file_name, options)?, file_name)
}

/// Reads MJCF and checks the model.
pub fn model_from_mjcf(text: &str, file_name: &str, options: &ReadOptions) -> Result<Model> {
    build(&builder_from_mjcf(text, file_name, options)?, file_name)
}

/// Reads SDF and checks the model.
pub fn model_from_sdf(text: &str, file_name: &str, options: &ReadOptions) -> Result<Model> {
    build(&builder_from_sdf(text, file_name, options)?, file_name)
}

/// Writes a model as TOML in catena's own format. Reading it back gives the same model to the last bit.
pub fn to_toml(builder: &ModelBuilder) -> String {
    export::to_toml(builder)
}

/// Writes a model as JSON in catena's own format. Reading it back gives the same model to the last bit.
pub fn to_json(builder: &ModelBuilder) -> String {
    export::to_json(builder)
}

/// Writes a model as URDF, or says what URDF cannot express. Link frames are placed at their joints.
pub fn to_urdf(builder: &ModelBuilder) -> Result<String> {
    xml_export::to_urdf(builder)
}

/// Writes a model as MJCF, or says what MJCF cannot express. Link frames are placed at their joints.
pub fn to_mjcf(builder: &ModelBuilder) -> Result<String> {
    xml_export::to_mjcf(builder)
}

/// Writes a model as SDF, or says what SDF cannot express. Names that SDF does not allow are changed; the file says which.
pub fn to_sdf(builder: &ModelBuilder) -> Result<String> {
    xml_export::to_sdf(builder)
}

/// Checks a model; errors of the model as a whole refer to the file.
pub fn build(builder: &ModelBuilder, file_name: &str) -> Result<Model> {
    builder.build().map_err(|error| {
        if *error.place() != Place::default() {
            return error;
        }
        error.at(Place {
            file: Some(file_name.into()),
            line: None,
        })
    })
}

fn read_builder(
    format: Format,
    text: &str,
    file_name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(file_error(
            ErrorKind::Syntax,
            file_name,
            "the file is empty",
        ));
    }
    let stem = Path::new(file_name)
        .file_stem()
        .map(|stem| stem.to_string_lossy());
    let name = stem.as_deref().unwrap_or("model");
    let lines = Lines::new(file_name, text);
    let tree = match format {
        Format::Urdf => return urdf::read(text, &lines, name, options),
        Format::Mjcf => return mjcf::read(text, &lines, name, options),
        Format::Sdf => return sdf::read(text, &lines, name, options),
        Format::Toml => toml_tree::parse(text, &lines)?,
        Format::Json => json_tree::parse(text, &lines)?,
    };
    let source = Source {
        file: lines.file(),
        degrees: false,
    };
    schema::read(&tree, source, name, options)
}

fn format_of(path: &Path, text: &str, file_name: &str) -> Result<Format> {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("toml") => Ok(Format::Toml),
        Some("json") => Ok(Format::Json),
        Some("urdf") => Ok(Format::Urdf),
        Some("mjcf") => Ok(Format::Mjcf),
        Some("sdf" | "world") => Ok(Format::Sdf),
        Some("xml") => match xml::root_tag(text) {
            Some("robot") => Ok(Format::Urdf),
            Some("sdf") => Ok(Format::Sdf),
            Some("mujoco" | "mujocoinclude") | None => Ok(Format::Mjcf),
            Some(other) => Err(file_error(
                ErrorKind::Unsupported,
                file_name,
                format!("this XML file is not URDF, MJCF or SDF: it starts with <{other}>"),
            )
            .hint("URDF starts with <robot>, MJCF with <mujoco>, SDF with <sdf>")),
        },
        Some("xacro") => Err(file_error(
            ErrorKind::Unsupported,
            file_name,
            "xacro files are not read",
        )
        .hint("expand the macros first: `xacro model.xacro > model.urdf`")),
        _ => Err(file_error(
            ErrorKind::Unsupported,
            file_name,
            "the format of the file cannot be determined from its name",
        )
        .hint(
            "supported are .toml and .json (catena's own format), .urdf, .mjcf, .sdf, and .xml with URDF, MJCF or SDF in it",
        )),
    }
}

/// The Rust examples of the manual's first page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start.md")]
struct FirstPage;
