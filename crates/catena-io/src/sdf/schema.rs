//! The elements and attributes of SDFormat that concern models. An unknown one is rejected: it may be a typo that changes the
//! motion.

use super::notes::Notes;
use crate::element_tree::Node;
use crate::nearest::{advice, nearest};
use crate::urdf::acts;
use catena::error::{ErrorKind, Result};

/// Allowed attributes and children of an element.
struct Known {
    tag: &'static str,
    attributes: &'static str,
    /// Children that are read.
    read: &'static str,
    /// Children without effect on the dynamics.
    without_effect: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        tag: "sdf",
        attributes: "version",
        read: "world model",
        without_effect: "light actor",
    },
    Known {
        tag: "world",
        attributes: "name namespace",
        read: "gravity physics frame joint model include plugin population wind",
        without_effect: "audio magnetic_field atmosphere gui scene light actor road spherical_coordinates state",
    },
    Known {
        tag: "model",
        attributes: "name namespace canonical_link placement_frame",
        read: "static pose frame link joint model include plugin enable_wind",
        without_effect: "self_collide allow_auto_disable gripper model_state",
    },
    Known {
        tag: "include",
        attributes: "merge",
        read: "uri name static pose placement_frame plugin sdf",
        without_effect: "model_state",
    },
    Known {
        tag: "link",
        attributes: "name",
        read: "pose inertial gravity kinematic velocity_decay enable_wind collision",
        without_effect: "visual sensor projector audio_sink audio_source battery light particle_emitter self_collide \
                         must_be_base_link",
    },
    Known {
        tag: "inertial",
        attributes: "auto",
        read: "mass pose inertia density fluid_added_mass auto_inertia_params",
        without_effect: "",
    },
    Known {
        tag: "inertia",
        attributes: "",
        read: "ixx ixy ixz iyy iyz izz",
        without_effect: "",
    },
    Known {
        tag: "frame",
        attributes: "name attached_to",
        read: "pose",
        without_effect: "",
    },
    Known {
        tag: "joint",
        attributes: "name type",
        read: "parent child pose axis axis2 thread_pitch screw_thread_pitch gearbox_ratio gearbox_reference_body physics",
        without_effect: "sensor",
    },
    Known {
        tag: "axis",
        attributes: "",
        read: "xyz dynamics limit mimic use_parent_model_frame initial_position",
        without_effect: "",
    },
    Known {
        tag: "axis2",
        attributes: "",
        read: "xyz dynamics limit mimic use_parent_model_frame initial_position",
        without_effect: "",
    },
    Known {
        tag: "xyz",
        attributes: "expressed_in",
        read: "",
        without_effect: "",
    },
    Known {
        tag: "dynamics",
        attributes: "",
        read: "damping friction spring_reference spring_stiffness",
        without_effect: "",
    },
    Known {
        tag: "limit",
        attributes: "",
        read: "lower upper effort velocity stiffness dissipation",
        without_effect: "",
    },
    Known {
        tag: "mimic",
        attributes: "joint axis",
        read: "multiplier offset reference",
        without_effect: "",
    },
    Known {
        tag: "velocity_decay",
        attributes: "",
        read: "linear angular",
        without_effect: "",
    },
    Known {
        tag: "pose",
        attributes: "relative_to frame degrees rotation_format",
        read: "",
        without_effect: "",
    },
];

/// The hint for items that may change the motion.
const LEAVE_OUT: &str = "leave it out with `--ignore-unknown`";

/// Checks the attributes and children of an element; children without effect are counted, unknown ones are rejected or noted.
pub(super) fn check(node: Node<'_>, ignore_unknown: bool, notes: &mut Notes) -> Result<()> {
    let Some(known) = KNOWN.iter().find(|known| known.tag == node.tag()) else {
        return Ok(());
    };
    let attributes: Vec<&str> = known.attributes.split_whitespace().collect();
    for (name, _) in node.attributes() {
        if attributes.contains(&name) {
            continue;
        }
        if ignore_unknown {
            notes.unknown(format!("attribute `{name}` of <{}>", node.tag()), node);
            continue;
        }
        let message = format!("{} has the unknown attribute `{name}`", node.describe());
        let error = node.error(ErrorKind::Unsupported, message);
        return Err(error.hint(match attributes.is_empty() {
            true => LEAVE_OUT.into(),
            false => format!(
                "{} Otherwise {LEAVE_OUT}",
                sentence(&advice(name, &attributes))
            ),
        }));
    }
    let read: Vec<&str> = known.read.split_whitespace().collect();
    let without_effect: Vec<&str> = known.without_effect.split_whitespace().collect();
    for child in node.children() {
        let tag = child.tag();
        if read.contains(&tag) {
            if tag == "pose" {
                check(child, ignore_unknown, notes)?;
            }
        } else if without_effect.contains(&tag) {
            notes.without_effect(format!("<{tag}>"));
        } else {
            unknown_child(node, child, &read, ignore_unknown, notes)?;
        }
    }
    Ok(())
}

/// The text with a full stop, unless it ends with a question mark.
fn sentence(text: &str) -> String {
    match text.ends_with('?') {
        true => text.into(),
        false => format!("{text}."),
    }
}

/// Rejects an unknown element; one of another vocabulary, such as `<drake:joint>`, only if it concerns the motion.
fn unknown_child(
    node: Node<'_>,
    child: Node<'_>,
    read: &[&str],
    ignore_unknown: bool,
    notes: &mut Notes,
) -> Result<()> {
    let tag = child.tag();
    let foreign = tag.split_once(':').map(|(_, name)| name);
    if ignore_unknown || foreign.is_some_and(|name| !acts(name)) {
        notes.unknown(format!("<{tag}>"), child);
        return Ok(());
    }
    let within = node.describe();
    if foreign.is_some() {
        let message = format!("<{tag}> in {within} is unknown and may change the motion");
        return Err(child.error(ErrorKind::Unsupported, message).hint(LEAVE_OUT));
    }
    let message = format!("<{tag}> in {within} is not known");
    let hint = match nearest(tag, read) {
        Some(near) => format!("did you mean <{near}>? Otherwise {LEAVE_OUT}"),
        None => LEAVE_OUT.into(),
    };
    Err(child.error(ErrorKind::Unsupported, message).hint(hint))
}
