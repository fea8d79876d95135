//! `<body>`: the tree of bodies with their contents.

use super::attributes::Attributes;
use super::geom::Geoms;
use super::joint::Joint;
use super::mass::Mass;
use super::orientation::pose;
use super::tree::Node;
use super::{File, geom, joint, schema};
use crate::mjcf::compiler::FromGeoms;
use crate::nearest::nearest;
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::{Pose, Sym3, Vec3};
use std::collections::{HashMap, HashSet};

/// A body; the first of them is the world.
pub(super) struct Body {
    pub(super) name: String,
    pub(super) parent: usize,
    /// Pose in its parent, with all joints at their reference.
    pub(super) at: Pose<f64>,
    /// Pose in the world, with all joints at their reference.
    pub(super) world_from_body: Pose<f64>,
    pub(super) joints: Vec<Joint>,
    pub(super) mass: Option<Mass>,
    /// Part of its weight that is compensated.
    pub(super) gravcomp: f64,
    pub(super) sites: Vec<Site>,
    pub(super) place: Place,
}

/// A named frame on a body.
pub(super) struct Site {
    pub(super) name: String,
    pub(super) at: Pose<f64>,
    pub(super) place: Place,
}

/// The bodies of a file in the order of MuJoCo: each before those it carries, branch by branch.
pub(super) struct Bodies {
    pub(super) all: Vec<Body>,
    by_name: HashMap<String, usize>,
    sites: HashMap<String, (usize, usize)>,
}

impl Bodies {
    /// The body that an attribute names.
    pub(super) fn named(&self, attributes: &Attributes<'_>, key: &str) -> Result<usize> {
        let name = attributes.require(key)?;
        self.by_name.get(name).copied().ok_or_else(|| {
            let known = self.by_name.keys().map(|name| &name[..]);
            nobody(attributes, "body", name, known.collect())
        })
    }

    /// The site that an attribute names: its body and its pose on it.
    pub(super) fn site(
        &self,
        attributes: &Attributes<'_>,
        key: &str,
    ) -> Result<(usize, Pose<f64>)> {
        let name = attributes.require(key)?;
        let Some(&(body, k)) = self.sites.get(name) else {
            let known = self.sites.keys().map(|name| &name[..]);
            return Err(nobody(attributes, "site", name, known.collect()));
        };
        Ok((body, self.all[body].sites[k].at))
    }

    /// The joint that an attribute names.
    pub(super) fn joint(&self, attributes: &Attributes<'_>, key: &str) -> Result<&Joint> {
        let name = attributes.require(key)?;
        let mut joints = self.all.iter().flat_map(|body| &body.joints);
        let found = joints.clone().find(|joint| joint.name == name);
        found.ok_or_else(|| {
            let known = joints.by_ref().map(|joint| &joint.name[..]);
            nobody(attributes, "joint", name, known.collect())
        })
    }

    /// The body that moves with this one: the nearest one inwards that has joints, or the world.
    pub(super) fn moving(&self, mut body: usize) -> usize {
        while body != 0 && self.all[body].joints.is_empty() {
            body = self.all[body].parent;
        }
        body
    }
}

/// The error for an unknown name.
fn nobody(attributes: &Attributes<'_>, what: &str, name: &str, known: Vec<&str>) -> Error {
    let message = format!(
        "{}: there is no {what} `{name}`",
        attributes.node.describe()
    );
    let error = attributes.node.error(ErrorKind::Model, message);
    match nearest(name, &known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// A body still to be read.
struct Waiting<'t> {
    node: Node<'t>,
    parent: usize,
    at: Pose<f64>,
    class: Option<&'t str>,
    suffix: String,
}

/// Maximum number of copies that the `<replicate>`s of a file may create: a short file must not take much memory.
const MOST_COPIES: usize = 100_000;

/// Reads the tree of bodies.
pub(super) fn read(file: &mut File<'_>) -> Result<Bodies> {
    let world = Body {
        name: "world".into(),
        parent: 0,
        at: Pose::identity(),
        world_from_body: Pose::identity(),
        joints: Vec::new(),
        mass: None,
        gravcomp: 0.0,
        sites: Vec::new(),
        place: Place::default(),
    };
    let mut bodies = Bodies {
        all: vec![world],
        by_name: HashMap::from([("world".into(), 0)]),
        sites: HashMap::new(),
    };
    let mut geoms = Geoms::new(file)?;
    let mut waiting = Vec::new();
    for section in file.root.all("worldbody") {
        schema::check(section, file.ignored.unknown())?;
        let class = section.attribute("childclass");
        let inside = contents(file, section, class, (0, ""), &mut bodies, &mut geoms)?;
        waiting.splice(0..0, inside.into_iter().rev());
    }
    while let Some(Waiting {
        node,
        parent,
        at,
        class,
        suffix,
    }) = waiting.pop()
    {
        schema::check(node, file.ignored.unknown())?;
        let attributes = Attributes::own(node);
        let at = at * pose(&attributes, file.compiler)?;
        let index = bodies.all.len();
        let name = copied(node, &suffix);
        bodies.all.push(Body {
            name: name.clone(),
            parent,
            at,
            world_from_body: bodies.all[parent].world_from_body * at,
            joints: Vec::new(),
            mass: None,
            gravcomp: attributes.number_or("gravcomp", 0.0)?,
            sites: Vec::new(),
            place: node.place().clone(),
        });
        if !name.is_empty() && bodies.by_name.insert(name.clone(), index).is_some() {
            let message = format!("two bodies are called `{name}`");
            return Err(node.error(ErrorKind::Model, message));
        }
        let class = node.attribute("childclass").or(class);
        let of = (index, &suffix[..]);
        let inside = contents(file, node, class, of, &mut bodies, &mut geoms)?;
        waiting.extend(inside.into_iter().rev());
        if attributes.flag("mocap")? == Some(true) {
            file.notes.mocap.push(name);
        }
    }
    name_all(&mut bodies);
    total_mass(file, &mut bodies);
    Ok(bodies)
}

/// The name of an element in a copy; empty where it has none.
fn copied(node: Node<'_>, suffix: &str) -> String {
    match node.attribute("name") {
        Some(name) if !name.is_empty() => format!("{name}{suffix}"),
        _ => String::new(),
    }
}

/// The copies that `<replicate>` creates: the pose of each, and the suffix of its names. As in MuJoCo (4.0, measured), copy k is rotated by
/// `euler` times k, and its position is the sum of `offset` in the frames of the copies before it.
fn copies(file: &mut File<'_>, node: Node<'_>) -> Result<Vec<(Pose<f64>, String)>> {
    let replicate = Attributes::own(node);
    let count = replicate
        .number("count")?
        .ok_or_else(|| replicate.missing("count"))?;
    if count < 0.0 || count.fract() != 0.0 {
        return Err(replicate.error("count", "must be a whole number"));
    }
    let children = node.children().count().max(1);
    if count * children as f64 > (MOST_COPIES - file.copies) as f64 {
        let what = format!("makes more than {MOST_COPIES} copies");
        return Err(replicate.error("count", &what));
    }
    let count = count as usize;
    file.copies += count * children;
    let offset = replicate.vector("offset")?.unwrap_or(Vec3::zero());
    let euler = replicate.numbers("euler")?.unwrap_or([0.0; 3]);
    let (sep, digits) = (replicate.text("sep").unwrap_or(""), count.to_string().len());
    let mut place = Vec3::zero();
    let copies = (0..count).map(|k| {
        let turned = file.compiler.euler(euler.map(|angle| angle * k as f64));
        let at = Pose::new(turned, place);
        place = at.point(offset);
        (at, format!("{sep}{k:0digits$}"))
    });
    Ok(copies.collect())
}

/// Reads the contents of a body, through the frames around it; returns the bodies in it.
fn contents<'t>(
    file: &mut File<'t>,
    body: Node<'t>,
    class: Option<&'t str>,
    (index, suffix): (usize, &str),
    bodies: &mut Bodies,
    geoms: &mut Geoms<'t>,
) -> Result<Vec<Waiting<'t>>> {
    let mut inside = Vec::new();
    let mut parts: Vec<Mass> = Vec::new();
    let mut inertial = None;
    let mut stack: Vec<_> = body
        .children()
        .rev()
        .map(|child| (child, Pose::identity(), class, suffix.to_string()))
        .collect();
    while let Some((node, at, class, suffix)) = stack.pop() {
        schema::check(node, file.ignored.unknown())?;
        match node.tag() {
            "frame" => {
                let at = at * pose(&Attributes::own(node), file.compiler)?;
                let class = node.attribute("childclass").or(class);
                let inside = node.children().rev();
                stack.extend(inside.map(|child| (child, at, class, suffix.clone())));
            }
            "replicate" => {
                for (copy, own) in copies(file, node)?.into_iter().rev() {
                    let inside = node.children().rev();
                    let suffix = format!("{own}{suffix}");
                    stack.extend(inside.map(|child| (child, at * copy, class, suffix.clone())));
                }
            }
            "body" => inside.push(Waiting {
                node,
                parent: index,
                at,
                class,
                suffix,
            }),
            "joint" | "freejoint" if index == 0 => {
                let message = format!("{} is in the world, which does not move", node.describe());
                return Err(node.error(ErrorKind::Model, message));
            }
            "joint" | "freejoint" => {
                let mut read = joint::read(file, node, at, class, bodies.all[index].parent)?;
                read.name = copied(node, &suffix);
                bodies.all[index].joints.push(read);
            }
            "inertial" if !file.masses => {}
            "inertial" if inertial.is_some() => {
                let message = format!("body `{}` has two <inertial>", bodies.all[index].name);
                return Err(node.error(ErrorKind::Syntax, message));
            }
            "inertial" => inertial = Some(read_inertial(file, node)?),
            "geom" => {
                file.notes.geoms += 1;
                let attributes = file.defaults.of(node, "geom", class)?;
                // bodies fixed to the world need no mass; meshes are read only where they count
                if index != 0
                    && file.masses
                    && (file.compiler.from_geoms == FromGeoms::Always || !has_inertial(body))
                {
                    parts.extend(geom::mass(file, &attributes, at, geoms)?);
                }
                file.geoms.push((index, at, attributes));
            }
            "site" => {
                let attributes = file.defaults.of(node, "site", class)?;
                let name = copied(node, &suffix);
                if !name.is_empty() {
                    let at = at * geom::placement(&attributes, file.compiler)?.0;
                    let sites = &mut bodies.all[index].sites;
                    bodies.sites.insert(name.clone(), (index, sites.len()));
                    sites.push(Site {
                        name,
                        at,
                        place: node.place().clone(),
                    });
                }
            }
            "camera" | "light" => file.notes.without_effect(node.tag()),
            "composite" | "attach" => {
                let name = match node.tag() {
                    "composite" => "composite",
                    _ => "attach",
                };
                let what = format!("<{name}> is not supported");
                file.ignored.or_refuse(name, node, what)?;
            }
            "flexcomp" => {
                let what = "<flexcomp> makes a deformable body, which is not supported";
                file.ignored.or_refuse("flex", node, what.into())?;
            }
            "plugin" => {
                let what = format!(
                    "<plugin> of body `{}` is not supported",
                    bodies.all[index].name
                );
                file.ignored.or_refuse("plugin", node, what)?;
            }
            tag if file.ignored.unknown() => file.notes.without_effect(tag),
            _ => {
                let known = [
                    "body",
                    "frame",
                    "inertial",
                    "joint",
                    "freejoint",
                    "geom",
                    "site",
                    "camera",
                    "light",
                ];
                return Err(schema::unknown_element(node, &known));
            }
        }
    }
    let own = &mut bodies.all[index];
    expect_possible(body, own)?;
    if index != 0 {
        own.mass = match file.compiler.from_geoms {
            FromGeoms::Never => inertial,
            FromGeoms::Always => Mass::sum(&parts),
            FromGeoms::Auto => inertial.or_else(|| Mass::sum(&parts)),
        };
        bound(file, own);
    }
    Ok(inside)
}

fn has_inertial(body: Node<'_>) -> bool {
    body.all("inertial").next().is_some()
}

/// Applies `boundmass`, `boundinertia` and `balanceinertia`.
fn bound(file: &File<'_>, body: &mut Body) {
    let compiler = file.compiler;
    if compiler.boundmass > 0.0 || compiler.boundinertia > 0.0 {
        let none = Mass {
            mass: 0.0,
            at: Pose::identity(),
            tensor: Sym3::zero(),
        };
        let mass = body.mass.unwrap_or(none);
        body.mass = Some(mass.bounded(compiler.boundmass, compiler.boundinertia));
    }
    if compiler.balanceinertia {
        body.mass = body.mass.map(Mass::balanced);
    }
}

/// Checks MuJoCo's own conditions on the joints of a body.
fn expect_possible(node: Node<'_>, body: &Body) -> Result<()> {
    let is_free = |joint: &Joint| joint.kind == joint::Kind::Free;
    if body.joints.iter().any(is_free) && body.joints.len() > 1 {
        let message = format!("body `{}` has a free joint and others", body.name);
        return Err(node
            .error(ErrorKind::Model, message)
            .hint("a free joint must be the only joint of its body"));
    }
    Ok(())
}

/// `<inertial>`: mass, mass centre and inertia.
fn read_inertial(file: &File<'_>, node: Node<'_>) -> Result<Mass> {
    let inertial = Attributes::own(node);
    let mass = inertial
        .number("mass")?
        .ok_or_else(|| inertial.missing("mass"))?;
    inertial.require("pos")?;
    let at = pose(&inertial, file.compiler)?;
    let tensor = match (
        inertial.vector("diaginertia")?,
        inertial.numbers("fullinertia")?,
    ) {
        (Some(_), Some(_)) => {
            return Err(inertial.error("fullinertia", "is given together with `diaginertia`"));
        }
        (Some(moments), None) => Sym3::new(moments.x, moments.y, moments.z, 0.0, 0.0, 0.0),
        (None, Some([xx, yy, zz, xy, xz, yz])) => Sym3::new(xx, yy, zz, xy, xz, yz),
        (None, None) => return Err(inertial.missing("diaginertia")),
    };
    Ok(Mass { mass, at, tensor })
}

/// Gives names to bodies without one, different from all others.
fn name_all(bodies: &mut Bodies) {
    let mut taken: HashSet<String> = bodies.all.iter().map(|body| body.name.clone()).collect();
    for (index, body) in bodies.all.iter_mut().enumerate() {
        if body.name.is_empty() {
            body.name = unused(&format!("body_{index}"), &mut taken);
        }
    }
    let joints = bodies.all.iter().flat_map(|body| &body.joints);
    let mut taken: HashSet<String> = joints.map(|joint| joint.name.clone()).collect();
    for body in &mut bodies.all {
        for joint in &mut body.joints {
            if joint.name.is_empty() {
                joint.name = unused(&format!("{}_joint", body.name), &mut taken);
            }
        }
    }
}

/// A name that is not taken: this one, or with a number.
pub(super) fn unused(wish: &str, taken: &mut HashSet<String>) -> String {
    let mut name = String::from(wish);
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{wish}_{number}");
        number += 1;
    }
    name
}

/// `settotalmass`: scales all masses.
fn total_mass(file: &mut File<'_>, bodies: &mut Bodies) {
    let Some(wanted) = file.compiler.settotalmass else {
        return;
    };
    let masses = bodies.all.iter().filter_map(|body| body.mass);
    let sum: f64 = masses.map(|mass| mass.mass).sum();
    if sum <= 0.0 {
        return;
    }
    let factor = wanted / sum;
    for body in &mut bodies.all {
        body.mass = body.mass.map(|mass| mass.scaled(factor));
    }
    let note = format!("all masses are multiplied by {factor}: settotalmass is {wanted} kg");
    file.notes.more.push(note);
}
