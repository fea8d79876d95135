//! The attributes of MJCF elements. An unknown one is rejected: it may be a typo that changes the motion.

use super::tree::Node;
use crate::nearest::advice;
use catena::error::{ErrorKind, Result};

/// The elements of which attributes are read, and those attributes. An element not listed here has no effect on the dynamics.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("mujoco", "model"),
    (
        "compiler",
        "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict convexhull coordinate discardvisual \
         eulerseq exactmeshinertia fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough savecanonical \
         savecompiled saveinertial settotalmass strippath texturedir usethread",
    ),
    (
        "option",
        "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone density gravity impratio integrator iterations \
         jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance noslip_iterations noslip_tolerance o_friction \
         o_margin o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance viscosity wind",
    ),
    (
        "flag",
        "actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp filterparent frictionloss \
         fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd override passive refsafe sensor sensornoise sleep \
         speculative spring warmstart",
    ),
    (
        "body",
        "axisangle childclass euler fuse gravcomp mocap name pos quat simple sleep user xyaxes zaxis",
    ),
    ("worldbody", "name childclass pos quat"),
    (
        "frame",
        "axisangle childclass euler name pos quat xyaxes zaxis",
    ),
    ("replicate", "count euler offset sep"),
    (
        "inertial",
        "axisangle diaginertia euler fullinertia mass pos quat xyaxes zaxis",
    ),
    (
        "joint",
        "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group limited margin name \
         pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref springyield stiffness type \
         user",
    ),
    ("freejoint", "align group name"),
    (
        "geom",
        "adhesion axisangle castshadow class conaffinity condim contype density euler fitscale fluidcoef fluidshape friction fromto \
         gap group hfield margin mass material mesh name pos priority quat rgba shellinertia size solimp solmix solref surfacevel \
         type user xyaxes zaxis",
    ),
    (
        "site",
        "axisangle class euler fromto group material mesh name pos quat rgba size type user xyaxes zaxis",
    ),
    (
        "mesh",
        "builtin class content_type face file inertia material maxhullvert name normal params refpos refquat scale smoothnormal \
         texcoord vertex",
    ),
    (
        "fixed",
        "actuatorfrclimited actuatorfrcrange armature class damping frictionloss group limited margin name range solimpfriction \
         solimplimit solreffriction solreflimit springlength springyield stiffness user",
    ),
    (
        "tendon",
        "actuatorfrclimited actuatorfrcrange armature damping frictionloss group limited margin material range rgba \
         solimpfriction solimplimit solreffriction solreflimit springlength springyield stiffness user width",
    ),
    ("equality", "active class solimp solref"),
    (
        "connect",
        "active anchor body1 body2 class name site1 site2 solimp solref",
    ),
    (
        "weld",
        "active anchor body1 body2 class name relpose site1 site2 solimp solref torquescale",
    ),
];

/// Couplings of joints and tendons have elements with the same names as these, but different attributes.
const EQUALITY_OF_JOINTS: &str = "active class joint1 joint2 name polycoef solimp solref";
const EQUALITY_OF_TENDONS: &str = "active class name polycoef solimp solref tendon1 tendon2";
const JOINT_OF_TENDON: &str = "coef joint";

/// The kinds of actuators.
const ACTUATORS: &[&str] = &[
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "orientation",
    "pid",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "plugin",
];

/// Attributes that all kinds of actuators may have.
const ACTUATOR: &str = "actdim actearly actlimited actrange area armature bias biasprm biastype body class cogging controller \
     cranklength cranksite ctrllimited ctrlrange damping dampratio delay diameter dynprm dyntype ffrange force forcelimited forcerange \
     fpmax fvmax gain gainprm gaintype gear group imax inductance inheritrange input instance interp joint jointinparent ki kp kv \
     lengthrange lmax lmin lugre motorconst name nominal nsample plugin posrange range refsite resistance saturation scale site \
     slewmax slidersite tausmooth tendon thermal timeconst user velrange vmax";

/// Is this an actuator?
pub(super) fn is_actuator(tag: &str) -> bool {
    ACTUATORS.contains(&tag)
}

/// Rejects attributes that the element does not have.
pub(super) fn check(node: Node<'_>, ignore_unknown: bool) -> Result<()> {
    match ATTRIBUTES.iter().find(|(tag, _)| *tag == node.tag()) {
        Some((_, known)) => only(node, known, ignore_unknown),
        None => Ok(()),
    }
}

/// Rejects attributes that an element of `<default>` does not have.
pub(super) fn check_default(node: Node<'_>, ignore_unknown: bool) -> Result<()> {
    match is_actuator(node.tag()) {
        true => only(node, ACTUATOR, ignore_unknown),
        false => check(node, ignore_unknown),
    }
}

/// Rejects elements that `<actuator>` does not have, and attributes that they do not have.
pub(super) fn check_actuator(node: Node<'_>, ignore_unknown: bool) -> Result<()> {
    if is_actuator(node.tag()) {
        return only(node, ACTUATOR, ignore_unknown);
    }
    Err(unknown_element(node, ACTUATORS))
}

/// Rejects attributes that an element of `<equality>` does not have.
pub(super) fn check_equality(node: Node<'_>, ignore_unknown: bool) -> Result<()> {
    match node.tag() {
        "joint" => only(node, EQUALITY_OF_JOINTS, ignore_unknown),
        "tendon" => only(node, EQUALITY_OF_TENDONS, ignore_unknown),
        _ => check(node, ignore_unknown),
    }
}

/// Rejects attributes that a joint of a fixed tendon does not have.
pub(super) fn check_joint_of_tendon(node: Node<'_>, ignore_unknown: bool) -> Result<()> {
    only(node, JOINT_OF_TENDON, ignore_unknown)
}

fn only(node: Node<'_>, known: &str, ignore_unknown: bool) -> Result<()> {
    if ignore_unknown {
        return Ok(());
    }
    let known: Vec<&str> = known.split_whitespace().collect();
    let mut attributes = node.attributes().map(|(name, _)| name);
    let Some(name) = attributes.find(|name| !known.contains(name)) else {
        return Ok(());
    };
    let message = format!("{} has the unknown attribute `{name}`", node.describe());
    let error = node.error(ErrorKind::Unsupported, message);
    Err(error.hint(advice(name, &known)))
}

/// The error for an element that is not allowed here.
pub(super) fn unknown_element(node: Node<'_>, known: &[&str]) -> catena::error::Error {
    let message = format!("<{}> is not known here", node.tag());
    let error = node.error(ErrorKind::Unsupported, message);
    error.hint(advice(node.tag(), known))
}
