//! Contents of a URDF file that are not read: noted if harmless, rejected if they would act.

use super::joints::closes_loop;
use super::{Reading, elements, tag};
use crate::nearest::{advice, nearest};
use catena::error::{ErrorKind, Result};
use catena::model::JointKind;
use roxmltree::Node;
use std::collections::BTreeMap;

/// Omissions and assumptions, collected for a few lines of remarks.
#[derive(Default)]
pub(super) struct Notes {
    without_effect: BTreeMap<String, usize>,
    not_used: BTreeMap<String, usize>,
    /// Number, and line of the first.
    unknown: BTreeMap<String, (usize, usize)>,
    pub massless: Vec<String>,
    pub without_limit: Vec<String>,
    pub without_axis: Vec<String>,
}

impl Notes {
    fn unknown(&mut self, what: String, line: usize) {
        self.unknown.entry(what).or_insert((0, line)).0 += 1;
    }

    pub fn without_effect(&mut self, what: &str) {
        *self.without_effect.entry(what.into()).or_default() += 1;
    }

    pub fn lines(&self) -> Vec<String> {
        let counted = |counts: &BTreeMap<String, usize>| {
            let words: Vec<_> = counts
                .iter()
                .map(|(what, n)| format!("{n} {what}"))
                .collect();
            words.join(", ")
        };
        let names = |names: &[String]| {
            let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            quoted.join(", ")
        };
        let mut notes = Vec::new();
        if !self.without_effect.is_empty() {
            let what = counted(&self.without_effect);
            notes.push(format!("ignored: {what} (no effect on the dynamics)"));
        }
        if !self.not_used.is_empty() {
            let what = counted(&self.not_used);
            notes.push(format!(
                "ignored: {what} (rotors, friction or contact described there are not used)"
            ));
        }
        if !self.unknown.is_empty() {
            let what: Vec<_> = self
                .unknown
                .iter()
                .map(|(what, (n, line))| match n {
                    1 => format!("{what} on line {line}"),
                    _ => format!("{n} {what}, the first on line {line}"),
                })
                .collect();
            notes.push(format!("left out, unknown: {}", what.join("; ")));
        }
        if !self.massless.is_empty() {
            notes.push(format!("links without mass: {}", names(&self.massless)));
        }
        if !self.without_limit.is_empty() {
            notes.push(format!(
                "joints without <limit>, which URDF requires: {}; taken as unlimited",
                names(&self.without_limit)
            ));
        }
        if !self.without_axis.is_empty() {
            notes.push(format!(
                "joints without <axis>: {}; the axis is x, as URDF says",
                names(&self.without_axis)
            ));
        }
        notes
    }
}

/// Elements without effect on the dynamics.
const WITHOUT_EFFECT: &[&str] = &[
    "visual",
    "collision",
    "material",
    "sensor",
    "calibration",
    "safety_controller",
];

/// Elements for simulators and drivers, which may describe rotors, friction or contact.
const NOT_USED: &[&str] = &["transmission", "gazebo", "ros2_control"];

/// The elements that are read, each with its possible parents.
const READ: &[(&str, &[&str])] = &[
    ("robot", &[]),
    ("link", &["robot"]),
    ("joint", &["robot"]),
    ("inertial", &["link"]),
    ("mass", &["inertial"]),
    ("inertia", &["inertial"]),
    ("origin", &["inertial", "joint"]),
    ("parent", &["joint"]),
    ("child", &["joint"]),
    ("axis", &["joint"]),
    ("limit", &["joint"]),
    ("dynamics", &["joint"]),
    ("mimic", &["joint"]),
    ("parent_origin", &["constraint"]),
    ("parent_axis", &["constraint"]),
    ("child_origin", &["constraint"]),
    ("child_axis", &["constraint"]),
    ("link1", &["loop_joint"]),
    ("link2", &["loop_joint"]),
];

/// Parts of names of elements and attributes that concern the motion: one whose name contains any of them is not silently ignored.
const ACTS: &[&str] = &[
    "actuator",
    "armature",
    "axis",
    "bushing",
    "cable",
    "constraint",
    "coupl",
    "damp",
    "dynamic",
    "equality",
    "force",
    "friction",
    "gear",
    "gravity",
    "inerti",
    "joint",
    "kinematic",
    "loop",
    "mass",
    "mimic",
    "motor",
    "pitch",
    "pulley",
    "rotor",
    "screw",
    "spring",
    "stiff",
    "tendon",
    "torque",
    "weld",
    "wrench",
];

/// The hint for an unknown element.
const LEAVE_OUT: &str = "write the model in catena's own format, which has loops, gears, springs and rotors, or leave it out with `--ignore-unknown`";

impl Reading<'_> {
    /// Counts an element that is left out; rejects one that may change the motion.
    pub(super) fn note_element(&mut self, element: Node<'_, '_>) -> Result<()> {
        let written = format!("<{}>", element.tag_name().name());
        if WITHOUT_EFFECT.contains(&tag(element)) {
            self.no_loop_inside(element)?;
            self.notes.without_effect(&written);
        } else if NOT_USED.contains(&tag(element)) {
            self.no_loop_inside(element)?;
            *self.notes.not_used.entry(written).or_default() += 1;
        } else {
            let uri = element.tag_name().namespace().unwrap_or_default();
            let written = match element.lookup_prefix(uri) {
                Some(prefix) => format!("<{prefix}:{}>", element.tag_name().name()),
                None => written,
            };
            if !self.ignore_unknown {
                self.expect_harmless(element, &written)?;
            }
            self.no_loop_inside(element)?;
            self.notes.unknown(written, self.line(element));
        }
        Ok(())
    }

    /// Rejects an element that is in the wrong place, looks mistyped or concerns the motion.
    fn expect_harmless(&self, element: Node<'_, '_>, written: &str) -> Result<()> {
        let name = element.tag_name().name();
        let holder = element.parent_element();
        let within = holder.map_or(String::new(), |holder| format!(" in {}", describe(holder)));
        let refused = |what: String, hint: String| {
            Err(self.error(ErrorKind::Unsupported, element, what).hint(hint))
        };
        if let Some((_, holders)) = READ.iter().find(|(read, _)| *read == tag(element)) {
            if says_nothing(element) {
                return Ok(());
            }
            let places: Vec<String> = holders.iter().map(|h| format!("<{h}>")).collect();
            return refused(
                format!("{written}{within} is out of place"),
                match places.is_empty() {
                    true => "a file has one <robot>".into(),
                    false => format!("it belongs in {}", places.join(" or ")),
                },
            );
        }
        let siblings: Vec<&str> = READ
            .iter()
            .filter(|(_, holders)| holder.is_some_and(|h| holders.contains(&h.tag_name().name())))
            .map(|(read, _)| *read)
            .collect();
        let slip = match tag(element) {
            "" => None, // of another vocabulary
            _ => nearest(&name.to_lowercase(), &siblings),
        };
        if let Some(near) = slip {
            return refused(
                format!("{written}{within} is not known"),
                format!("did you mean <{near}>? Leave it out with `--ignore-unknown`"),
            );
        }
        if acts(name) && !says_nothing(element) {
            return refused(
                format!("{written}{within} is unknown and may change the motion"),
                LEAVE_OUT.into(),
            );
        }
        Ok(())
    }

    /// Rejects joints that close loops: those that a simulator adds, and those of other vocabularies within an element that is not read.
    fn no_loop_inside(&self, element: Node<'_, '_>) -> Result<()> {
        if self.ignore_unknown {
            return Ok(());
        }
        let inside = || element.descendants().filter(|node| *node != element);
        let adds_joint = |node: &Node<'_, '_>| {
            let has = |name| elements(*node).any(|part| part.tag_name().name() == name);
            node.tag_name().name() == "joint" && has("parent") && has("child")
        };
        let holder = element.tag_name().name();
        let (found, message) = if let Some(joint) = inside().find(adds_joint) {
            let message =
                format!("<{holder}> adds a joint, which is not read: a loop would stay open");
            (joint, message)
        } else if let Some(found) = inside().find(|node| closes_loop(*node)) {
            let message = format!(
                "<{}> in <{holder}> is not read: a loop would stay open",
                found.tag_name().name()
            );
            (found, message)
        } else {
            return Ok(());
        };
        let error = self.error(ErrorKind::Unsupported, found, message);
        Err(error.hint(LEAVE_OUT))
    }

    /// Counts attributes that are left out; rejects those that may change the motion.
    pub(super) fn note_attributes(&mut self, element: Node<'_, '_>, known: &[&str]) -> Result<()> {
        let owner = element.tag_name().name();
        for attribute in element.attributes() {
            let name = attribute.name();
            if attribute.namespace().is_none() && known.contains(&name) {
                continue;
            }
            // limits are stored, not enforced
            if acts(name) && owner != "limit" && !self.ignore_unknown {
                let message = format!(
                    "attribute `{name}` of {} is unknown and may change the motion",
                    describe(element)
                );
                let error = self.error(ErrorKind::Unsupported, element, message);
                return Err(error.hint(LEAVE_OUT));
            }
            let what = format!("attribute `{name}` of <{owner}>");
            self.notes.unknown(what, self.line(element));
        }
        Ok(())
    }

    /// Rejects attributes that could change the meaning of the known ones.
    /// Attributes that vendors add (Panda's `<dynamics D= K=>`) are not part of URDF: they are listed. One that looks like
    /// a mistyped known one, or names a spring or a rotor, would change the dynamics and is rejected.
    pub(super) fn known_or_foreign_attributes(
        &mut self,
        element: Node<'_, '_>,
        known: &[&str],
    ) -> Result<()> {
        for attribute in element.attributes() {
            let name = attribute.name();
            if known.contains(&name) {
                continue;
            }
            let acts = ["stiff", "spring", "armature", "inertia", "rest"];
            let lower = name.to_lowercase();
            if nearest(name, known).is_some() || acts.iter().any(|word| lower.contains(word)) {
                return self.only_attributes(element, known);
            }
            let what = format!("attribute `{name}` of <{}>", element.tag_name().name());
            self.notes.unknown(what, self.line(element));
        }
        Ok(())
    }

    pub(super) fn only_attributes(&self, element: Node<'_, '_>, known: &[&str]) -> Result<()> {
        let unknown = element
            .attributes()
            .find(|a| a.namespace().is_some() || !known.contains(&a.name()));
        let Some(attribute) = unknown else {
            return Ok(());
        };
        let message = format!(
            "{} has the unknown attribute `{}`",
            describe(element),
            attribute.name()
        );
        Err(self
            .error(ErrorKind::Unsupported, element, message)
            .hint(advice(attribute.name(), known)))
    }
}

/// Does this name concern the motion?
pub(crate) fn acts(name: &str) -> bool {
    let lower = name.to_lowercase();
    ACTS.iter().any(|word| lower.contains(word))
}

/// Some elements only state defaults: gravity acts, the link is not driven, the origin is that of the link.
fn says_nothing(element: Node<'_, '_>) -> bool {
    let text = element.text().unwrap_or_default().trim();
    match element.tag_name().name() {
        "gravity" => ["1", "true"].contains(&text),
        "kinematic" => ["0", "false"].contains(&text),
        "origin" => element.attributes().all(|attribute| {
            let mut numbers = attribute.value().split_whitespace();
            numbers.all(|number| number.parse() == Ok(0.0))
        }),
        _ => false,
    }
}

/// "<mass> of link `arm`", "joint `elbow`".
pub(super) fn describe(element: Node<'_, '_>) -> String {
    let tag = element.tag_name().name();
    let name = |node: Node<'_, '_>| {
        let kind = node.tag_name().name();
        let name = node.attribute("name")?;
        ["link", "joint"]
            .contains(&kind)
            .then(|| format!("{kind} `{name}`"))
    };
    if let Some(own) = name(element) {
        return own;
    }
    match element.ancestors().skip(1).find_map(name) {
        Some(owner) => format!("<{tag}> of {owner}"),
        None => format!("<{tag}>"),
    }
}

/// The kind's name in URDF.
pub(super) fn urdf_name(kind: JointKind) -> &'static str {
    match kind {
        JointKind::Free => "floating",
        other => other.name(),
    }
}
