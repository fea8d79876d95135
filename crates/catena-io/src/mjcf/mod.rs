//! MJCF, the model files of MuJoCo.
//!
//! The file and what it includes become one tree of elements ([`tree`]); an element has its own attributes and those of its default
//! class ([`defaults`], [`attributes`]). Bodies with their joints and mass come next ([`body`], [`joint`], [`geom`],
//! [`mesh`]), then the elements that refer to them: tendons and equalities as constraints ([`equality`]), actuators ([`actuator`]).
//!
//! Features without effect on the dynamics are counted among the assumptions. Those with an effect that cannot be represented are
//! rejected, or with `--ignore NAME` left out and listed.

mod actuator;
mod attributes;
mod body;
mod compiler;
mod defaults;
mod drawing;
mod equality;
mod geom;
mod joint;
mod links;
mod mesh;
mod notes;
mod orientation;
mod schema;
mod springs;
mod tree;

use crate::ReadOptions;
use crate::drawing::Drawing;
use crate::ignored::Ignored;
use crate::lines::Lines;
use crate::{mass, shape};
use attributes::Attributes;
use body::Bodies;
use catena::error::{ErrorKind, Result};
use catena::model::ModelBuilder;
use catena::spatial::Pose;
use compiler::{Compiler, Dynamics};
use defaults::Defaults;
use notes::Notes;
use tree::{Node, Tree};

/// Features that may be left out on request, by name.
const IGNORABLE: &[(&str, &str)] = &[
    ("attach", "<attach>, which adds another model"),
    ("composite", "<composite>, which makes many bodies"),
    ("cylinder", "<cylinder>, which acts without being driven"),
    (
        "damping",
        "damping that is not proportional to the velocity",
    ),
    ("dcmotor", "<dcmotor>, which acts without being driven"),
    ("flex", "deformable bodies"),
    ("fluid", "density and viscosity of the medium"),
    ("muscle", "<muscle>, which acts without being driven"),
    ("plugin", "plugins"),
    ("polycoef", "couplings of joints that are not linear"),
    ("spatial", "tendons through sites"),
    (
        "stiffness",
        "springs of ball and free joints, and springs that are not linear",
    ),
    (
        "tendon",
        "stiffness, damping, friction and inertia of fixed tendons",
    ),
];

/// Reads an MJCF text; `name` is used where the model has none.
pub(crate) fn read(
    text: &str,
    lines: &Lines,
    name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    with_bodies(text, lines, options, true, |mut file, mut bodies| {
        if let Some(base) = options.base {
            links::set_base(&mut bodies, base)?;
        }
        let mut builder = ModelBuilder::new(file.root.attribute("model").unwrap_or(name));
        builder.gravity = file.dynamics.gravity;
        builder.strict = options.strict;
        builder.allow_immobile = true;
        links::emit(&bodies, &mut builder);
        equality::read(&mut file, &bodies, &mut builder)?;
        actuator::read(&mut file, &bodies, &mut builder)?;
        springs::automatic(&bodies, &mut builder)?;
        file.notes.write(&file.ignored, file.dynamics, &mut builder);
        Ok(builder)
    })
}

/// The shapes that an MJCF text shows, whatever else is in it.
pub(crate) fn drawing(text: &str, lines: &Lines) -> Result<Drawing> {
    let options = ReadOptions {
        ignore: IGNORABLE.iter().map(|(name, _)| (*name).into()).collect(),
        ignore_unknown: true,
        ..ReadOptions::default()
    };
    with_bodies(text, lines, &options, false, |file, bodies| {
        drawing::read(&file, &bodies)
    })
}

/// Reads an MJCF text up to its bodies, and continues with a function of them.
fn with_bodies<T>(
    text: &str,
    lines: &Lines,
    options: &ReadOptions,
    masses: bool,
    go_on: impl FnOnce(File<'_>, Bodies) -> Result<T>,
) -> Result<T> {
    let mut ignored = Ignored::new(options, "MJCF", IGNORABLE)?;
    let tree = Tree::read(text, lines)?;
    let root = tree.root();
    if root.tag() != "mujoco" {
        let message = format!(
            "an MJCF file starts with <mujoco>, this one with <{}>",
            root.tag()
        );
        let hint = match root.tag() {
            "mujocoinclude" => "this is a part of a model, for other files to include",
            _ => "models are read from MJCF, URDF, and catena's own TOML and JSON",
        };
        return Err(root.error(ErrorKind::Unsupported, message).hint(hint));
    }
    schema::check(root, ignored.unknown())?;
    let compiler = Compiler::read(root, ignored.unknown())?;
    let dynamics = Dynamics::read(root, &mut ignored)?;
    let defaults = Defaults::read(root, ignored.unknown())?;
    let mut notes = Notes::default();
    sections(root, &mut ignored, &mut notes)?;

    let mut file = File {
        tree: &tree,
        root,
        compiler: &compiler,
        dynamics: &dynamics,
        defaults: &defaults,
        geoms: Vec::new(),
        masses,
        copies: 0,
        ignored,
        notes,
    };
    let bodies = body::read(&mut file)?;
    go_on(file, bodies)
}

/// Data shared by all parts of the reader.
struct File<'t> {
    tree: &'t Tree,
    root: Node<'t>,
    compiler: &'t Compiler,
    dynamics: &'t Dynamics,
    defaults: &'t Defaults,
    /// All geoms: on which body, in which frame of it.
    geoms: Vec<(usize, Pose<f64>, Attributes<'t>)>,
    /// Whether masses are needed. A drawing does not need them, nor their checks.
    masses: bool,
    /// Number of copies so far.
    copies: usize,
    ignored: Ignored,
    notes: Notes,
}

/// Checks the sections of the file: those that are read, those without effect, those that are rejected.
fn sections(root: Node<'_>, ignored: &mut Ignored, notes: &mut Notes) -> Result<()> {
    const READ: &[&str] = &[
        "compiler",
        "option",
        "default",
        "worldbody",
        "tendon",
        "equality",
        "actuator",
    ];
    const WITHOUT_EFFECT: &[&str] = &[
        "size",
        "statistic",
        "visual",
        "custom",
        "sensor",
        "keyframe",
    ];
    for section in root.children() {
        match section.tag() {
            tag if READ.contains(&tag) => {}
            tag if WITHOUT_EFFECT.contains(&tag) => notes.without_effect(tag),
            "contact" => notes.contacts = true,
            "asset" => {
                for part in section.children() {
                    match part.tag() {
                        "mesh" => schema::check(part, ignored.unknown())?,
                        "texture" | "material" | "skin" | "hfield" => {
                            notes.without_effect(part.tag())
                        }
                        "model" => {}
                        _ => {
                            let known = ["mesh", "texture", "material", "skin", "hfield", "model"];
                            return Err(schema::unknown_element(part, &known));
                        }
                    }
                }
            }
            "deformable" => {
                for part in section.children() {
                    match part.tag() {
                        "skin" => notes.without_effect("skin"),
                        _ => {
                            let what = format!(
                                "<{}> is a deformable body, which is not supported",
                                part.tag()
                            );
                            ignored.or_refuse("flex", part, what)?;
                        }
                    }
                }
            }
            // declares items used by other elements
            "extension" => {}
            _ if ignored.unknown() => notes.without_effect(section.tag()),
            _ => {
                let known: Vec<&str> = READ.iter().chain(WITHOUT_EFFECT).copied().collect();
                return Err(schema::unknown_element(section, &known));
            }
        }
    }
    Ok(())
}
