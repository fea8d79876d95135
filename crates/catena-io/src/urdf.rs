//! URDF files.
//!
//! Two forms of joints that close loops are read beyond the standard, `<constraint>` and `<loop_joint>`; an empty one is unknown.
//! Elements without effect on the dynamics are listed among the model's assumptions. Unknown elements that may change the
//! motion are rejected, or listed on request.

mod joints;
mod unread;

use crate::lines::Lines;
use crate::root::{Base, join_root, roots};
use crate::xml::{self, XACRO_ADVICE, xacro};
use crate::{ReadOptions, placement};
use catena::error::{Error, ErrorKind, Place, Result};
use catena::model::{Inertial, LinkSpec, ModelBuilder};
use catena::spatial::{Mat3, Pose, Sym3, Vec3};
use roxmltree::Node;
use std::collections::HashSet;
pub(crate) use unread::acts;
use unread::{Notes, describe};

/// Limits of at least this size count as none, as in SDF: URDF requires an effort and a velocity in every `<limit>`.
pub(crate) const NO_LIMIT: f64 = 1e16;

/// Reads a URDF text; `name` is used where the robot has none.
pub(crate) fn read(
    text: &str,
    lines: &Lines,
    name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    let document = xml::parse(text, lines, "URDF")?;
    let mut reading = Reading {
        lines,
        ignore_unknown: options.ignore_unknown,
        builder: ModelBuilder::new(name),
        ground_is_a_link: false,
        notes: Notes::default(),
        mimics: Vec::new(),
    };
    reading.builder.strict = options.strict;
    reading.builder.allow_immobile = true;
    reading.robot(document.root_element())?;
    reading.finish(options)
}

struct Reading<'a> {
    lines: &'a Lines,
    ignore_unknown: bool,
    builder: ModelBuilder,
    /// Is there a link called `world`?
    ground_is_a_link: bool,
    notes: Notes,
    /// Joints that follow others.
    mimics: Vec<String>,
}

impl Reading<'_> {
    fn robot(&mut self, robot: Node<'_, '_>) -> Result<()> {
        if robot.tag_name().name() != "robot" {
            let found = robot.tag_name().name();
            let message = format!("a URDF file starts with <robot>, this one with <{found}>");
            let error = self.error(ErrorKind::Unsupported, robot, message);
            return Err(
                error.hint("models are read from URDF, and from catena's own TOML and JSON")
            );
        }
        let is_xacro = |node: &Node<'_, '_>| {
            node.tag_name()
                .namespace()
                .is_some_and(|uri| uri.contains("xacro"))
        };
        if let Some(macro_call) = robot.descendants().find(is_xacro) {
            return Err(xacro(self.place(macro_call)));
        }
        match robot.attribute("name") {
            Some(name) => self.builder.name = name.into(),
            None => self.builder.assumptions.push(format!(
                "the robot has no name; it is called `{}` after the file",
                self.builder.name
            )),
        }
        self.note_attributes(robot, &["name", "version"])?;
        for element in elements(robot) {
            match tag(element) {
                "link" => self.link(element)?,
                "joint" => self.joint(element)?,
                "transmission" => self.transmission(element)?,
                "constraint" if elements(element).next().is_some() => self.constraint(element)?,
                "loop_joint" if elements(element).next().is_some() => self.loop_joint(element)?,
                _ => self.note_element(element)?,
            }
        }
        if self.builder.links.is_empty() && !self.ground_is_a_link {
            return Err(self.error(ErrorKind::Model, robot, "the robot has no links"));
        }
        Ok(())
    }

    fn link(&mut self, element: Node<'_, '_>) -> Result<()> {
        let name = self.attribute(element, "name")?;
        self.note_attributes(element, &["name"])?;
        let mut link = LinkSpec {
            name: name.into(),
            place: self.place(element),
            ..LinkSpec::default()
        };
        for part in elements(element) {
            match tag(part) {
                "inertial" if link.inertial.is_none() => {
                    let (inertial, axes) = self.inertial(part, name)?;
                    link.set_turned(inertial, axes);
                }
                "inertial" => return Err(self.twice(part, element)),
                _ => self.note_element(part)?,
            }
        }
        if name == "world" && !self.ground_is_a_link {
            self.ground_is_a_link = true;
            if link.inertial.is_some() {
                self.builder
                    .assumptions
                    .push("mass of link `world` has no effect: it is the ground".into());
            }
            return Ok(());
        }
        if link.inertial.is_none_or(|inertial| inertial.mass == 0.0) {
            self.notes.massless.push(name.into());
        }
        self.builder.links.push(link);
        Ok(())
    }

    /// Mass properties, with the tensor in its own axes, and those axes.
    fn inertial(&mut self, element: Node<'_, '_>, link: &str) -> Result<(Inertial, Mat3<f64>)> {
        let [origin, mass, inertia] = self.parts(element, ["origin", "mass", "inertia"])?;
        self.note_attributes(element, &[])?;
        let link_from_centre = self.origin(origin)?;
        let missing = |what: &str| {
            let message = format!("<inertial> of link `{link}` has no <{what}>");
            self.error(ErrorKind::Syntax, element, message)
                .hint("leave <inertial> out for a link without mass")
        };
        let mass = mass.ok_or_else(|| missing("mass"))?;
        let inertia = inertia.ok_or_else(|| missing("inertia"))?;
        self.only_attributes(mass, &["value"])?;
        let entries = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"];
        self.only_attributes(inertia, &entries)?;
        let mut tensor = [0.0; 6];
        for (entry, key) in tensor.iter_mut().zip(entries) {
            *entry = self.number(inertia, key)?;
        }
        let [xx, yy, zz, xy, xz, yz] = tensor;
        let inertial = Inertial {
            mass: self.number(mass, "value")?,
            centre: link_from_centre.translation,
            tensor: Sym3::new(xx, yy, zz, xy, xz, yz),
        };
        Ok((inertial, link_from_centre.rotation))
    }

    /// The pose of an <origin>, the identity where there is none.
    fn origin(&self, origin: Option<Node<'_, '_>>) -> Result<Pose<f64>> {
        let Some(origin) = origin else {
            return Ok(Pose::identity());
        };
        self.only_attributes(origin, &["xyz", "rpy"])?;
        self.pose(origin)
    }

    /// The pose of the attributes `xyz` and `rpy`.
    fn pose(&self, origin: Node<'_, '_>) -> Result<Pose<f64>> {
        let three_or_zero = |key| match origin.attribute(key) {
            Some(_) => self.three(origin, key),
            None => Ok([0.0; 3]),
        };
        let translation = Vec3::from_array(three_or_zero("xyz")?);
        let rotation = match three_or_zero("rpy")? {
            [0.0, 0.0, 0.0] => Mat3::identity(),
            angles => placement::from_rpy(angles),
        };
        Ok(Pose::new(rotation, translation))
    }

    /// Connects the root to the ground and lists omissions.
    fn finish(mut self, options: &ReadOptions) -> Result<ModelBuilder> {
        let base = options.base.map_or(Base::Fixed, Base::from);
        self.actuators();
        let notes = self.notes.lines();
        self.builder.assumptions.extend(notes);
        if !options.strict {
            self.leave_out_mimics_of_nothing();
        }
        self.one_root()?;
        join_root(&mut self.builder, base)?;
        Ok(self.builder)
    }

    /// Rejects more than one root; a missing root, unknown and repeated names are reported by the builder.
    fn one_root(&self) -> Result<()> {
        let mut known: HashSet<&str> = self.builder.links.iter().map(|l| &l.name[..]).collect();
        if self.ground_is_a_link {
            known.insert("world");
        }
        for joint in &self.builder.joints {
            if joint.parent == "world" && !self.ground_is_a_link {
                let message = format!(
                    "joint `{}`: there is no link `world` to be its parent",
                    joint.name
                );
                return Err(Error::new(ErrorKind::Model, message)
                    .at(joint.place.clone())
                    .hint("add <link name=\"world\"/>"));
            }
            if !known.contains(&joint.parent[..]) || !known.contains(&joint.child[..]) {
                return Ok(());
            }
        }
        let mut all: Vec<(&str, Place)> = roots(&self.builder)
            .into_iter()
            .map(|link| (&link.name[..], link.place.clone()))
            .collect();
        let grounded = self.builder.joints.iter().any(|j| j.child == "world");
        if self.ground_is_a_link && !grounded {
            all.insert(0, ("world", Place::default()));
        }
        if let [(first, _), (second, place), ..] = &all[..] {
            let message = format!("the robot has two root links, `{first}` and `{second}`");
            return Err(Error::new(ErrorKind::Model, message)
                .at(place.clone())
                .hint("every link but one must be the child of a joint"));
        }
        Ok(())
    }

    /// The children with these names, each at most once; others are noted.
    fn parts<'n, 'i, const N: usize>(
        &mut self,
        element: Node<'n, 'i>,
        names: [&str; N],
    ) -> Result<[Option<Node<'n, 'i>>; N]> {
        let mut parts = [None; N];
        for part in elements(element) {
            match names.iter().position(|name| tag(part) == *name) {
                Some(index) if parts[index].is_none() => parts[index] = Some(part),
                Some(_) => return Err(self.twice(part, element)),
                None => self.note_element(part)?,
            }
        }
        Ok(parts)
    }

    fn twice(&self, part: Node<'_, '_>, whole: Node<'_, '_>) -> Error {
        let message = format!(
            "{} has more than one <{}>",
            describe(whole),
            part.tag_name().name()
        );
        self.error(ErrorKind::Syntax, part, message)
    }

    fn attribute<'n>(&self, element: Node<'n, '_>, key: &str) -> Result<&'n str> {
        element.attribute(key).ok_or_else(|| {
            let message = format!("{} has no attribute `{key}`", describe(element));
            self.error(ErrorKind::Syntax, element, message)
        })
    }

    fn number(&self, element: Node<'_, '_>, key: &str) -> Result<f64> {
        let written = self.attribute(element, key)?;
        self.parse(element, key, written)
    }

    fn number_or(&self, element: Node<'_, '_>, key: &str, otherwise: f64) -> Result<f64> {
        match element.attribute(key) {
            Some(written) => self.parse(element, key, written),
            None => Ok(otherwise),
        }
    }

    fn three(&self, element: Node<'_, '_>, key: &str) -> Result<[f64; 3]> {
        let written = self.attribute(element, key)?;
        let words: Vec<&str> = written.split_whitespace().collect();
        let [x, y, z] = words[..] else {
            let message = format!(
                "{} must have 3 numbers in `{key}`, not {}: \"{written}\"",
                describe(element),
                words.len()
            );
            return Err(self.error(ErrorKind::Syntax, element, message));
        };
        Ok([
            self.parse(element, key, x)?,
            self.parse(element, key, y)?,
            self.parse(element, key, z)?,
        ])
    }

    fn parse(&self, element: Node<'_, '_>, key: &str, written: &str) -> Result<f64> {
        match written.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            found => {
                let expected = if found.is_ok() {
                    "a finite number"
                } else {
                    "a number"
                };
                let message = format!(
                    "`{key}` of {} must be {expected}, not \"{written}\"",
                    describe(element)
                );
                let error = self.error(ErrorKind::Syntax, element, message);
                let is_macro = written.contains("${") || written.contains("$(");
                Err(if is_macro {
                    error.hint(XACRO_ADVICE)
                } else {
                    error
                })
            }
        }
    }

    fn line(&self, element: Node<'_, '_>) -> usize {
        self.lines.line(element.range().start)
    }

    fn place(&self, element: Node<'_, '_>) -> Place {
        self.lines.place(element.range().start)
    }

    fn error(&self, kind: ErrorKind, element: Node<'_, '_>, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(self.place(element))
    }
}

fn elements<'n, 'i>(parent: Node<'n, 'i>) -> impl Iterator<Item = Node<'n, 'i>> {
    parent.children().filter(Node::is_element)
}

/// The element's name; empty for elements of another vocabulary, such as <drake:joint>.
fn tag<'n>(element: Node<'n, '_>) -> &'n str {
    let inherited = element
        .parent_element()
        .and_then(|parent| parent.tag_name().namespace());
    if element.tag_name().namespace() == inherited {
        element.tag_name().name()
    } else {
        ""
    }
}
