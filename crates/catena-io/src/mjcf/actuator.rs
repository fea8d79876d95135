//! `<actuator>`: which joints are driven.
//!
//! An actuator here is an input: the effort at its joint, which is `gear` times the force of the actuator. The laws by which servos
//! compute that force from a set point are not part of the model; their gains are noted.

use super::attributes::Attributes;
use super::body::Bodies;
use super::joint::Kind;
use super::{File, schema};
use catena::error::{Result, Warning};
use catena::model::{ActuatorSpec, ModelBuilder};

/// Reads the actuators.
pub(super) fn read(file: &mut File<'_>, bodies: &Bodies, builder: &mut ModelBuilder) -> Result<()> {
    let mut left_out = LeftOut::default();
    let mut any = false;
    for element in file
        .root
        .all("actuator")
        .flat_map(|section| section.children())
    {
        schema::check_actuator(element, file.ignored.unknown())?;
        any = true;
        let actuator = file.defaults.of(element, "actuator", None)?;
        let refused = match element.tag() {
            "plugin" => Some(("plugin", "is a plugin")),
            "muscle" => Some(("muscle", "is a muscle")),
            "dcmotor" => Some(("dcmotor", "is a motor with electrical dynamics")),
            "cylinder" if acts_alone(&actuator)? => {
                Some(("cylinder", "is a cylinder with a force of its own (`bias`)"))
            }
            _ => None,
        };
        if let Some((name, why)) = refused {
            let what = format!(
                "actuator {} {why}, which is not supported",
                quoted(&actuator)
            );
            file.ignored.or_refuse(name, element, what)?;
            continue;
        }
        let key = ["joint", "jointinparent"]
            .into_iter()
            .find(|key| element.attribute(key).is_some());
        let Some(key) = key else {
            left_out.others.push(quoted(&actuator));
            continue;
        };
        let joint = bodies.joint(&actuator, key)?;
        let driven = matches!(
            element.tag(),
            "motor" | "general" | "position" | "velocity" | "intvelocity" | "pid"
        );
        let gear = actuator
            .list("gear")?
            .and_then(|gear| gear.first().copied())
            .unwrap_or(1.0);
        if gear == 0.0 || !matches!(joint.kind, Kind::Hinge | Kind::Slide) {
            left_out.others.push(quoted(&actuator));
            continue;
        }
        match element.tag() {
            "damper" => {
                left_out.dampers.push(quoted(&actuator));
                continue;
            }
            "cylinder" => {
                left_out.cylinders.push(quoted(&actuator));
                continue;
            }
            _ if !driven => {
                left_out.others.push(quoted(&actuator));
                continue;
            }
            _ => {}
        }
        let mut spec = ActuatorSpec::new(
            element.attribute("name").unwrap_or(&joint.name),
            &joint.name,
        );
        spec.place = element.place().clone();
        spec.gear = gear;
        spec.rotor_inertia = actuator.number_or("armature", 0.0)?;
        let law = Law::of(&actuator)?;
        spec.max_effort = largest_effort(file, &actuator, gear, &law)?;
        spec.lag = law.lag;
        if let Some(note) = law.note {
            file.notes
                .servos
                .push(format!("{} ({note})", quoted(&actuator)));
        }
        damping(file, &actuator, gear, &joint.name, builder)?;
        add(file, spec, builder);
    }
    if !file.dynamics.actuation && !builder.actuators.is_empty() {
        file.notes.more.push(
            "actuation is disabled in the file; the actuators are inputs here nevertheless".into(),
        );
    }
    for (names, why) in left_out.reasons() {
        if names.is_empty() {
            continue;
        }
        let s = if names.len() == 1 { "is" } else { "are" };
        builder.warnings.push(Warning {
            message: format!("{} {s} left out: {why}", counted("actuator", names)),
            place: file.root.place().clone(),
        });
    }
    if builder.actuators.is_empty() {
        let why = if any {
            "no actuator is left"
        } else {
            "the file has no actuators"
        };
        file.notes.more.push(format!(
            "{why}: every joint with plain coordinates is treated as actuated"
        ));
    }
    Ok(())
}

/// Actuators that are not inputs here. None of them acts without being driven.
#[derive(Default)]
struct LeftOut {
    dampers: Vec<String>,
    cylinders: Vec<String>,
    others: Vec<String>,
}

impl LeftOut {
    /// Their names, and why.
    fn reasons(&self) -> [(&[String], &'static str); 3] {
        [
            (
                &self.others,
                "only joints with one freedom are driven here, by an effort",
            ),
            (
                &self.dampers,
                "the input of a damper is a damping, here it would be an effort",
            ),
            (
                &self.cylinders,
                "the input of a cylinder is a pressure, here it would be an effort",
            ),
        ]
    }
}

/// Does a cylinder exert a force at zero pressure?
fn acts_alone(cylinder: &Attributes<'_>) -> Result<bool> {
    let bias = cylinder.list("bias")?.unwrap_or_default();
    Ok(bias.iter().any(|part| *part != 0.0))
}

/// "actuator `a`", "3 actuators (`a`, `b`, `c`)".
fn counted(what: &str, names: &[String]) -> String {
    match names {
        [one] => format!("{what} {one}"),
        many => format!("{} {what}s ({})", many.len(), some(many)),
    }
}

/// The first few of many names.
pub(super) fn some(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let more = if names.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}

fn quoted(actuator: &Attributes<'_>) -> String {
    let node = actuator.node;
    let target = [
        "joint",
        "jointinparent",
        "tendon",
        "site",
        "body",
        "slidersite",
    ];
    match node.attribute("name") {
        Some(name) => format!("`{name}`"),
        None => {
            let on = target
                .iter()
                .find_map(|key| node.attribute(key))
                .unwrap_or_default();
            format!("on `{on}`")
        }
    }
}

/// Several actuators on a joint are one input there.
fn add(file: &mut File<'_>, spec: ActuatorSpec, builder: &mut ModelBuilder) {
    let mut others = builder.actuators.iter_mut();
    let Some(other) = others.find(|other| other.joint == spec.joint) else {
        builder.actuators.push(spec);
        return;
    };
    let rotors =
        other.gear * other.gear * other.rotor_inertia + spec.gear * spec.gear * spec.rotor_inertia;
    other.rotor_inertia = rotors / (other.gear * other.gear);
    other.max_effort = match (other.max_effort, spec.max_effort) {
        (Some(one), Some(more)) => Some(one + more),
        _ => None,
    };
    let note = format!(
        "actuators `{}` and `{}` both drive `{}`: they are one input",
        other.name, spec.name, spec.joint
    );
    file.notes.more.push(note);
}

/// Adds the damping of the rotor to the joint, times the square of the gear.
fn damping(
    file: &mut File<'_>,
    actuator: &Attributes<'_>,
    gear: f64,
    joint: &str,
    builder: &mut ModelBuilder,
) -> Result<()> {
    let Some(list) = actuator.list("damping")? else {
        return Ok(());
    };
    if list.iter().skip(1).any(|higher| *higher != 0.0) {
        let what = format!(
            "`damping` of actuator {} has terms that are not linear",
            quoted(actuator)
        );
        file.ignored.or_refuse("damping", actuator.node, what)?;
    }
    let damping = list.first().copied().unwrap_or(0.0);
    if damping == 0.0 || !file.dynamics.dampers {
        return Ok(());
    }
    if let Some(spec) = builder.joints.iter_mut().find(|spec| spec.name == joint) {
        if spec.dofs.is_empty() {
            spec.dofs = vec![catena::model::Dof::default()];
        }
        spec.dofs[0].damping += gear * gear * damping;
    }
    Ok(())
}

/// How an actuator produces its force.
struct Law {
    /// Force per control, for those whose force is proportional to it.
    gain: Option<f64>,
    lag: f64,
    note: Option<String>,
}

impl Law {
    fn of(actuator: &Attributes<'_>) -> Result<Law> {
        let first = |key: &str| -> Result<Option<f64>> {
            Ok(actuator.list(key)?.and_then(|list| list.first().copied()))
        };
        let servo = |note: String| Law {
            gain: None,
            lag: 0.0,
            note: Some(note),
        };
        let gain = first("gainprm")?;
        Ok(match actuator.node.tag() {
            "motor" => Law {
                gain: Some(1.0),
                lag: 0.0,
                note: None,
            },
            "general" => {
                let bias = actuator.list("biasprm")?.unwrap_or_default();
                let has_bias = actuator.text("biastype").is_some_and(|kind| kind != "none");
                let other_gain = actuator
                    .text("gaintype")
                    .is_some_and(|kind| kind != "fixed");
                let dynamics = actuator.text("dyntype").unwrap_or("none");
                let is_filter = matches!(dynamics, "filter" | "filterexact");
                if (has_bias && bias.iter().any(|b| *b != 0.0))
                    || other_gain
                    || !(is_filter || dynamics == "none")
                {
                    servo(format!(
                        "gain {}, bias {bias:?}, dynamics {dynamics}",
                        gain.unwrap_or(1.0)
                    ))
                } else {
                    let lag = if is_filter {
                        first("dynprm")?.unwrap_or(1.0)
                    } else {
                        0.0
                    };
                    Law {
                        gain: Some(gain.unwrap_or(1.0)),
                        lag: lag.max(0.0),
                        note: None,
                    }
                }
            }
            "velocity" => servo(format!(
                "velocity servo, kv {}",
                first("kv")?.or(gain).unwrap_or(1.0)
            )),
            tag => {
                let kp = first("kp")?.or(gain).unwrap_or(1.0);
                let kv = first("kv")?.unwrap_or(0.0);
                servo(format!("{tag} servo, kp {kp}, kv {kv}"))
            }
        })
    }
}

/// The largest effort at the joint that the ranges of control and force permit.
fn largest_effort(
    file: &File<'_>,
    actuator: &Attributes<'_>,
    gear: f64,
    law: &Law,
) -> Result<Option<f64>> {
    let autolimits = file.compiler.autolimits;
    let largest = |limited: &str, range: &str| -> Result<Option<f64>> {
        if !actuator.limited(limited, range, autolimits)? {
            return Ok(None);
        }
        let bounds = actuator.numbers::<2>(range)?;
        Ok(bounds.map(|[lower, upper]| f64::max(lower.abs(), upper.abs())))
    };
    let mut force = largest("forcelimited", "forcerange")?;
    if let (Some(gain), Some(control)) = (law.gain, largest("ctrllimited", "ctrlrange")?) {
        let driven = (gain * control).abs();
        force = Some(force.map_or(driven, |force| force.min(driven)));
    }
    Ok(force
        .map(|force| force * gear.abs())
        .filter(|effort| *effort > 0.0))
}
