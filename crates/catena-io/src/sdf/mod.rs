//! SDFormat, the model files of Gazebo.
//!
//! The file and what it includes become one tree of elements ([`files`]). A first pass finds all frames with their names and places
//! them ([`frames`]); links ([`link`]) and joints ([`joint`]) are read next. Then the graph of joints becomes a tree with joints that
//! close loops ([`assembly`]).
//!
//! Features without effect on the dynamics are counted among the assumptions. Those with an effect that cannot be represented are
//! rejected, or with `--ignore NAME` left out and listed.

mod assembly;
mod files;
mod frames;
mod joint;
mod link;
mod notes;
mod schema;
mod values;
mod version;

use crate::ReadOptions;
use crate::element_tree::Node;
use crate::ignored::Ignored;
use crate::lines::Lines;
use catena::error::{ErrorKind, Result};
use catena::model::ModelBuilder;
use catena::spatial::Vec3;
use frames::{Frames, Kind, NewModel, WORLD};
use notes::Notes;
use values::{attribute, flag, is_set, only, pose};
use version::Version;

/// Features that may be left out on request, by name.
const IGNORABLE: &[(&str, &str)] = &[
    (
        "ball_dynamics",
        "damping, friction and springs of ball joints",
    ),
    (
        "fluid_added_mass",
        "mass of the fluid that moves with a link",
    ),
    ("kinematic", "that the motion of a link is given"),
    ("motor", "motors of joints in <physics><ode>"),
    (
        "plugin",
        "plugins that apply forces or couple joints by themselves",
    ),
    ("population", "<population>, which copies a model"),
    ("velocity_decay", "damping of the motion of links"),
    ("wind", "wind on links"),
];

/// Parts of the names of plugins that act on the bodies, or join them, without being commanded; letters alone.
const ACTING_PLUGINS: &[&str] = &[
    "addedmass",
    "aerodynamic",
    "buoyancy",
    "detachablejoint",
    "harness",
    "hydrodynamic",
    "liftdrag",
    "lighterthanair",
    "mimic",
    "spring",
    "windeffects",
    "windplugin",
];

/// Gravity of a world that does not specify it, m/s².
const WORLD_GRAVITY: f64 = 9.8;

/// Reads an SDF text; `name` is used where the file has none.
pub(crate) fn read(
    text: &str,
    lines: &Lines,
    name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    let ignored = Ignored::new(options, "SDF", IGNORABLE)?;
    let tree = files::read(text, lines)?;
    let root = tree.root();
    if root.tag() != "sdf" {
        let message = format!(
            "an SDF file starts with <sdf>, this one with <{}>",
            root.tag()
        );
        let error = root.error(ErrorKind::Unsupported, message);
        return Err(
            error.hint("models are read from SDF, URDF, MJCF, and catena's own TOML and JSON")
        );
    }
    let version = Version::of(root)?;
    let mut file = File {
        frames: Frames::new(root, version),
        ignored,
        notes: Notes::default(),
        links: Vec::new(),
        joints: Vec::new(),
    };
    file.check(root)?;
    let mut builder = ModelBuilder::new(name);
    builder.strict = options.strict;
    builder.allow_immobile = true;
    let world = only(root, "world")?;
    if let Some(world) = world {
        file.world(world, version, &mut builder)?;
    } else {
        let note = "the file has no <world>: gravity is 9.81 m/s² along −z";
        file.notes.more.push(note.into());
    }
    file.contents(root, WORLD)?;
    if file.links.is_empty() {
        let error = root.error(ErrorKind::Model, "the file has no links");
        return Err(error.hint("a model is <model> with a <link>, in <sdf> or in its <world>"));
    }
    file.frames.resolve()?;
    file.frames.choose_prefixes();
    let (mut links, mut joints) = (Vec::new(), Vec::new());
    for (frame, wind) in std::mem::take(&mut file.links) {
        let node = file.frames.all[frame].node;
        links.push(link::read(&mut file, node, frame, wind)?);
    }
    for frame in std::mem::take(&mut file.joints) {
        joints.push(joint::read(&mut file, frame)?);
    }
    let models = file.frames.models_in(WORLD);
    builder.name = match (&models[..], world.and_then(|world| world.attribute("name"))) {
        (&[only], _) => file.frames.all[only].name.clone(),
        (_, Some(name)) if !name.is_empty() => name.into(),
        _ => name.into(),
    };
    assembly::assemble(&mut file, &links, &joints, &mut builder, options.base)?;
    file.notes.write(&file.ignored, &mut builder);
    Ok(builder)
}

/// Data shared by all parts of the reader.
struct File<'t> {
    frames: Frames<'t>,
    ignored: Ignored,
    notes: Notes,
    /// Frames of links, and the wind settings of their models.
    links: Vec<(usize, Option<bool>)>,
    /// Frames of joints.
    joints: Vec<usize>,
}

impl<'t> File<'t> {
    /// Rejects unknown attributes and children.
    fn check(&mut self, node: Node<'_>) -> Result<()> {
        schema::check(node, self.ignored.unknown(), &mut self.notes)
    }

    /// Reads gravity and the contents of the world.
    fn world(
        &mut self,
        world: Node<'t>,
        version: Version,
        builder: &mut ModelBuilder,
    ) -> Result<()> {
        self.check(world)?;
        let mut gravity = values::vector(world, "gravity")?;
        for physics in world.all("physics") {
            self.notes.without_effect("<physics>".into());
            let Some(own) = only(physics, "gravity")? else {
                continue;
            };
            if version.has_gravity_in_physics() {
                gravity = gravity.or(values::vector(physics, "gravity")?);
            } else if !self.ignored.unknown() {
                let message = "<gravity> in <physics> is not read";
                let error = own.error(ErrorKind::Unsupported, message);
                return Err(error.hint("from version 1.6 on it belongs in <world>"));
            }
        }
        builder.gravity = gravity.unwrap_or_else(|| {
            self.notes.more.push(format!(
                "the world has no <gravity>: it is {WORLD_GRAVITY} m/s² along −z, as SDFormat says"
            ));
            Vec3::new(0.0, 0.0, -WORLD_GRAVITY)
        });
        if let Some(state) = world.first("state") {
            let place = state.place();
            self.notes.more.push(format!(
                "<state> is not read ({place}): models start where their poses put them"
            ));
        }
        if let Some(population) = world.first("population") {
            let what = format!("{} is not supported", population.describe());
            self.ignored.or_refuse("population", population, what)?;
        }
        self.contents(world, WORLD)
    }

    /// Declares the contents of a world or a model.
    fn contents(&mut self, node: Node<'t>, scope: usize) -> Result<()> {
        let wind = match node.tag() {
            "model" => flag(node, "enable_wind")?,
            _ => None,
        };
        for child in node.children() {
            match child.tag() {
                "frame" => {
                    self.check(child)?;
                    let name = attribute(child, "name")?;
                    let placed = pose(child)?;
                    self.frames
                        .declare(Kind::Frame, name, scope, child, placed)?;
                }
                "link" => {
                    let name = attribute(child, "name")?;
                    let placed = pose(child)?;
                    let frame = self
                        .frames
                        .declare(Kind::Link, name, scope, child, placed)?;
                    self.links.push((frame, wind));
                }
                "joint" => {
                    let name = attribute(child, "name")?;
                    let placed = pose(child)?;
                    let frame = self
                        .frames
                        .declare(Kind::Joint, name, scope, child, placed)?;
                    self.joints.push(frame);
                }
                "model" => self.model(child, scope, None)?,
                "include" => self.include(child, scope)?,
                "plugin" => self.plugin(child)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Declares a model with its contents; settings of an enclosing `<include>` take precedence over its own.
    fn model(&mut self, node: Node<'t>, scope: usize, include: Option<Node<'t>>) -> Result<()> {
        self.check(node)?;
        let own_name = attribute(node, "name")?;
        let mut model = NewModel {
            name: own_name.into(),
            node,
            placed: pose(node)?,
            placement: node.attribute("placement_frame"),
            version: self.frames.scopes[scope].version,
            is_static: flag(node, "static")?.unwrap_or(false),
            is_merged: false,
        };
        if let Some(include) = include {
            let sdf = include.first("sdf").unwrap_or(include);
            model.version = Version::of(sdf)?;
            model.is_merged = is_set(include, "merge")?;
            if let Some(name) = only(include, "name")?.map(Node::text) {
                model.name = name.into();
            }
            model.is_static = flag(include, "static")?.unwrap_or(model.is_static);
            let placement = only(include, "placement_frame")?.map(Node::text);
            if only(include, "pose")?.is_some() {
                model.placed = pose(include)?;
            } else if placement.is_some() {
                let message = "<include> has a <placement_frame> but no <pose> to put it at";
                return Err(include.error(ErrorKind::Syntax, message));
            }
            model.placement = placement.or(model.placement);
        }
        model.placement = model.placement.filter(|name| !name.is_empty());
        if model.is_static {
            self.notes.still.push(model.name.clone());
        }
        let inner = self.frames.declare_model(model, scope)?;
        self.contents(node, inner)
    }

    /// Declares the model of another file.
    fn include(&mut self, node: Node<'t>, scope: usize) -> Result<()> {
        self.check(node)?;
        for plugin in node.all("plugin") {
            self.plugin(plugin)?;
        }
        let Some(sdf) = node.first("sdf") else {
            return Err(node.error(ErrorKind::Syntax, "<include> has no <uri>"));
        };
        self.check(sdf)?;
        if let Some(world) = sdf.first("world") {
            let message = "a world cannot be included";
            return Err(world.error(ErrorKind::Model, message).hint(format!(
                "it is included at {}; include its models",
                node.place()
            )));
        }
        let Some(model) = only(sdf, "model")? else {
            return Ok(()); // a light or an actor
        };
        self.model(model, scope, Some(node))
    }

    /// Rejects a plugin that acts on its own, and lists any other: plugins are code.
    fn plugin(&mut self, node: Node<'_>) -> Result<()> {
        let name = node.attribute("name").unwrap_or_default();
        let library = node.attribute("filename").unwrap_or_default();
        let letters = |words: &str| -> String {
            let letters = words.chars().filter(|letter| letter.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        let words = [letters(name), letters(library)];
        let is_named = |part: &&str| words.iter().any(|word| word.contains(*part));
        if ACTING_PLUGINS.iter().any(is_named) {
            let what = format!("plugin `{name}` ({library}) acts on the bodies and is not run");
            return self.ignored.or_refuse("plugin", node, what);
        }
        self.notes.plugins.push(match library.is_empty() {
            true => name.into(),
            false => library.into(),
        });
        Ok(())
    }
}
