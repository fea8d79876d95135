//! A model written in catena's own format.
//!
//! Numbers are written with enough digits to read the same number back.

use crate::schema::FORMAT;
use catena::model::{
    ActuatorSpec, AxisPair, ConstraintSpec, Dof, ForceAxes, ForceRule, ForceSpec, FrameSpec,
    GravityGradient, JointKind, JointSpec, Law, LinkSpec, ModelBuilder, RuleSpec, SensorRule,
    SensorSpec, Surface,
};
use catena::spatial::{Mat3, Pose, Sym3, Vec3};

/// A value as it is written.
enum Written {
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Written>),
    Table(Section),
}

/// Keys and values in their order.
type Section = Vec<(&'static str, Written)>;

/// The model as TOML.
pub(crate) fn to_toml(builder: &ModelBuilder) -> String {
    let mut text = String::new();
    for (key, value) in header(builder) {
        text += &format!("{key} = {}\n", inline(&value, Syntax::Toml));
    }
    for (kind, sections) in lists(builder) {
        for section in sections {
            text += &format!("\n[[{kind}]]\n");
            for (key, value) in section {
                text += &format!("{key} = {}\n", inline(&value, Syntax::Toml));
            }
        }
    }
    text
}

/// The model as JSON.
pub(crate) fn to_json(builder: &ModelBuilder) -> String {
    let key_value =
        |(key, value): &(&str, Written)| format!("\"{key}\": {}", inline(value, Syntax::Json));
    let mut parts: Vec<String> = header(builder).iter().map(key_value).collect();
    for (kind, sections) in lists(builder) {
        let objects: Vec<String> = sections
            .iter()
            .map(|section| {
                let pairs: Vec<String> = section.iter().map(key_value).collect();
                format!("    {{\n      {}\n    }}", pairs.join(",\n      "))
            })
            .collect();
        if !objects.is_empty() {
            parts.push(format!("\"{kind}\": [\n{}\n  ]", objects.join(",\n")));
        }
    }
    format!("{{\n  {}\n}}\n", parts.join(",\n  "))
}

fn header(builder: &ModelBuilder) -> Section {
    let mut header = vec![
        ("format", text(FORMAT)),
        ("name", text(&builder.name)),
        ("gravity", vector(builder.gravity)),
    ];
    if builder.allow_unphysical {
        header.push(("allow_unphysical", Written::Bool(true)));
    }
    if !builder.assumptions.is_empty() {
        let notes = builder.assumptions.iter().map(|note| text(note));
        header.push(("assumptions", Written::List(notes.collect())));
    }
    header
}

fn lists(builder: &ModelBuilder) -> [(&'static str, Vec<Section>); 7] {
    [
        ("link", builder.links.iter().map(link).collect()),
        ("joint", builder.joints.iter().map(joint).collect()),
        ("frame", builder.frames.iter().map(frame).collect()),
        (
            "constraint",
            builder.constraints.iter().map(constraint).collect(),
        ),
        ("actuator", builder.actuators.iter().map(actuator).collect()),
        ("force", builder.forces.iter().map(force).collect()),
        ("sensor", builder.sensors.iter().map(sensor).collect()),
    ]
}

fn link(link: &LinkSpec) -> Section {
    let mut section = vec![("name", text(&link.name))];
    if let Some(inertial) = link.inertial {
        section.push(("mass", Written::Number(inertial.mass)));
        if !same_bits(&inertial.centre.to_array(), &[0.0; 3]) {
            section.push(("centre", vector(inertial.centre)));
        }
        let Sym3 {
            xx,
            yy,
            zz,
            xy,
            xz,
            yz,
        } = inertial.tensor;
        if !same_bits(&[xy, xz, yz], &[0.0; 3]) {
            section.push(("inertia", numbers(&[xx, yy, zz, xy, xz, yz])));
        } else if !same_bits(&[xx, yy, zz], &[0.0; 3]) {
            section.push(("inertia", numbers(&[xx, yy, zz])));
        }
    }
    section
}

fn joint(joint: &JointSpec) -> Section {
    let mut section = vec![
        ("name", text(&joint.name)),
        ("type", text(joint.kind.name())),
        ("parent", text(&joint.parent)),
        ("child", text(&joint.child)),
    ];
    let AxisPair { first, second } = joint.axes;
    if joint.kind == JointKind::Universal {
        section.push(("axes", Written::List(vec![vector(first), vector(second)])));
    } else if joint.kind.has_axis() && !same_bits(&first.to_array(), &[0.0, 0.0, 1.0]) {
        section.push(("axis", vector(first)));
    }
    if joint.kind == JointKind::Helical {
        section.push(("pitch", Written::Number(joint.pitch)));
    }
    pose(&mut section, "origin", "rotation", joint.parent_from_joint);
    pose(
        &mut section,
        "child_origin",
        "child_rotation",
        joint.joint_from_child,
    );
    freedoms(&mut section, &joint.dofs);
    for (key, given) in [
        ("start", &joint.start),
        ("start_velocity", &joint.start_velocity),
    ] {
        match given[..] {
            [] => {}
            [one] => section.push((key, Written::Number(one))),
            _ => section.push((key, numbers(given))),
        }
    }
    section
}

fn frame(frame: &FrameSpec) -> Section {
    let mut section = vec![("name", text(&frame.name)), ("link", text(&frame.link))];
    pose(&mut section, "origin", "rotation", frame.link_from_frame);
    section
}

fn actuator(spec: &ActuatorSpec) -> Section {
    let mut section = vec![("name", text(&spec.name)), ("joint", text(&spec.joint))];
    let mut put = |key, value: Option<f64>, default: f64| {
        if let Some(value) = value.filter(|value| value.to_bits() != default.to_bits()) {
            section.push((key, Written::Number(value)));
        }
    };
    put("gear", Some(spec.gear), 1.0);
    put("rotor_inertia", Some(spec.rotor_inertia), 0.0);
    put("max_effort", spec.max_effort, f64::INFINITY);
    put("max_velocity", spec.max_velocity, f64::INFINITY);
    put("lag", Some(spec.lag), 0.0);
    section
}

fn sensor(spec: &SensorSpec) -> Section {
    let name = ("name", text(&spec.name));
    match &spec.rule {
        SensorRule::Imu { frame } => vec![name, ("type", text("imu")), ("frame", text(frame))],
        SensorRule::ForceTorque { joint, frame } => {
            let mut section = vec![name, ("type", text("force_torque")), ("joint", text(joint))];
            section.extend(frame.iter().map(|frame| ("frame", text(frame))));
            section
        }
    }
}

fn force(spec: &ForceSpec) -> Section {
    let number = Written::Number;
    let mut section = vec![("name", text(&spec.name)), ("type", text(spec.rule.kind()))];
    match &spec.rule {
        ForceRule::Spring {
            parent,
            child,
            parent_point,
            child_point,
            stiffness,
            damping,
            rest_length,
            tension_only,
        } => {
            section.extend([
                ("parent", text(parent)),
                ("child", text(child)),
                ("parent_point", vector(*parent_point)),
                ("child_point", vector(*child_point)),
                ("stiffness", number(*stiffness)),
                ("damping", number(*damping)),
                ("rest_length", number(*rest_length)),
            ]);
            if *tension_only {
                section.push(("tension_only", Written::Bool(true)));
            }
        }
        ForceRule::Torsion {
            parent,
            child,
            axis,
            stiffness,
            damping,
            rest,
        } => section.extend([
            ("parent", text(parent)),
            ("child", text(child)),
            ("axis", vector(*axis)),
            ("stiffness", number(*stiffness)),
            ("damping", number(*damping)),
            ("rest", number(*rest)),
        ]),
        ForceRule::Constant {
            link,
            point,
            force,
            torque,
            axes,
        } => section.extend([
            ("link", text(link)),
            ("point", vector(*point)),
            ("force", vector(*force)),
            ("torque", vector(*torque)),
            (
                "axes",
                text(match axes {
                    ForceAxes::World => "world",
                    ForceAxes::Link => "link",
                }),
            ),
        ]),
        ForceRule::Drag {
            link,
            point,
            linear,
            quadratic,
            flow,
        } => section.extend([
            ("link", text(link)),
            ("point", vector(*point)),
            ("linear", number(*linear)),
            ("quadratic", number(*quadratic)),
            ("flow", vector(*flow)),
        ]),
        ForceRule::GravityGradient(GravityGradient::Centre {
            mu,
            centre,
            uniform,
        }) => {
            section.extend([("mu", number(*mu)), ("centre", vector(*centre))]);
            if !uniform {
                section.push(("uniform", Written::Bool(false)));
            }
        }
        ForceRule::GravityGradient(GravityGradient::Orbit { rate, up, normal }) => {
            section.extend([
                ("rate", number(*rate)),
                ("up", vector(*up)),
                ("normal", vector(*normal)),
            ])
        }
    }
    section
}

fn constraint(spec: &ConstraintSpec) -> Section {
    let number = Written::Number;
    match &spec.rule {
        RuleSpec::Joint(rule) => {
            let mut section = joint(rule);
            section[0].1 = text(&spec.name);
            section
        }
        RuleSpec::Distance {
            parent,
            child,
            parent_point,
            child_point,
            length,
        } => vec![
            ("name", text(&spec.name)),
            ("type", text("distance")),
            ("parent", text(parent)),
            ("child", text(child)),
            ("parent_point", vector(*parent_point)),
            ("child_point", vector(*child_point)),
            ("length", number(*length)),
        ],
        RuleSpec::Coupling { terms, offset } => vec![
            ("name", text(&spec.name)),
            ("type", text("coupling")),
            ("coordinates", names(terms)),
            ("coefficients", factors(terms)),
            ("offset", number(*offset)),
        ],
        RuleSpec::Velocity { terms, rate } => vec![
            ("name", text(&spec.name)),
            ("type", text("velocity")),
            ("freedoms", names(terms)),
            ("coefficients", factors(terms)),
            ("rate", number(*rate)),
        ],
        RuleSpec::Contact(contact) => {
            let kind = match contact.rolls {
                true => "rolling",
                false => "contact",
            };
            let mut section = vec![
                ("name", text(&spec.name)),
                ("type", text(kind)),
                ("parent", text(&contact.parent)),
                ("child", text(&contact.child)),
                ("origin", vector(contact.origin)),
            ];
            section.extend(match contact.surface {
                Surface::Plane => vec![("normal", vector(contact.normal))],
                Surface::Sphere(radius) => vec![
                    ("normal", vector(contact.normal)),
                    ("parent_radius", number(radius)),
                ],
                Surface::Cylinder(radius) => vec![
                    ("parent_axis", vector(contact.normal)),
                    ("parent_radius", number(radius)),
                ],
            });
            section.push(("centre", vector(contact.centre)));
            if let Some(axis) = contact.axis {
                section.push(("axis", vector(axis)));
            }
            section.push(("radius", number(contact.radius)));
            section
        }
        RuleSpec::KnifeEdge {
            parent,
            child,
            point,
            across,
        } => vec![
            ("name", text(&spec.name)),
            ("type", text("knife_edge")),
            ("parent", text(parent)),
            ("child", text(child)),
            ("point", vector(*point)),
            ("across", vector(*across)),
        ],
        RuleSpec::Driver { coordinate, law } => vec![
            ("name", text(&spec.name)),
            ("type", text("driver")),
            ("coordinate", text(coordinate)),
            match law {
                Law::Polynomial(coefficients) => ("polynomial", numbers(coefficients)),
                &Law::Sine {
                    offset,
                    amplitude,
                    frequency,
                    phase,
                } => (
                    "sine",
                    Written::Table(vec![
                        ("offset", number(offset)),
                        ("amplitude", number(amplitude)),
                        ("frequency", number(frequency)),
                        ("phase", number(phase)),
                    ]),
                ),
                &Law::Cycloid {
                    start,
                    end,
                    duration,
                } => (
                    "cycloid",
                    Written::Table(vec![
                        ("start", number(start)),
                        ("end", number(end)),
                        ("duration", number(duration)),
                    ]),
                ),
            },
        ],
    }
}

fn names(terms: &[(String, f64)]) -> Written {
    Written::List(terms.iter().map(|(name, _)| text(name)).collect())
}

fn factors(terms: &[(String, f64)]) -> Written {
    let factors: Vec<f64> = terms.iter().map(|&(_, c)| c).collect();
    numbers(&factors)
}

/// Writes the parts of a pose that differ from the identity.
fn pose(section: &mut Section, origin: &'static str, rotation: &'static str, pose: Pose<f64>) {
    if !same_bits(&pose.translation.to_array(), &[0.0; 3]) {
        section.push((origin, vector(pose.translation)));
    }
    let rows = pose.rotation.rows();
    if !same_bits(rows.as_flattened(), Mat3::identity().rows().as_flattened()) {
        let rows = rows.iter().map(|row| numbers(row)).collect();
        section.push((
            rotation,
            Written::Table(vec![("matrix", Written::List(rows))]),
        ));
    }
}

/// Writes the keys of the freedoms that are not at their defaults in all of them.
fn freedoms(section: &mut Section, dofs: &[Dof]) {
    let mut put = |key, given: &dyn Fn(&Dof) -> bool, value: &dyn Fn(&Dof) -> Written| {
        if dofs.iter().any(given) {
            let mut values: Vec<Written> = dofs.iter().map(value).collect();
            let single = if values.len() == 1 {
                values.pop()
            } else {
                None
            };
            section.push((key, single.unwrap_or(Written::List(values))));
        }
    };
    for (key, field) in [
        ("armature", (|dof| dof.armature) as fn(&Dof) -> f64),
        ("damping", |dof| dof.damping),
        ("friction", |dof| dof.friction),
        ("stiffness", |dof| dof.stiffness),
        ("rest", |dof| dof.rest),
    ] {
        put(key, &|dof| field(dof).to_bits() != 0, &|dof| {
            Written::Number(field(dof))
        });
    }
    let or_none = |value: Option<f64>| value.map_or(text("none"), Written::Number);
    let pair = |(lower, upper)| numbers(&[lower, upper]);
    put("limits", &|dof| dof.limits.is_some(), &|dof| {
        dof.limits.map_or(text("none"), pair)
    });
    for (key, field) in [
        ("restitution", (|dof| dof.restitution) as fn(&Dof) -> f64),
        ("stop_stiffness", |dof| dof.stop_stiffness),
        ("stop_damping", |dof| dof.stop_damping),
    ] {
        put(key, &|dof| field(dof) != 0.0, &|dof| {
            Written::Number(field(dof))
        });
    }
    put("max_velocity", &|dof| dof.max_velocity.is_some(), &|dof| {
        or_none(dof.max_velocity)
    });
    put("max_effort", &|dof| dof.max_effort.is_some(), &|dof| {
        or_none(dof.max_effort)
    });
}

/// Equality that distinguishes 0 from −0.
fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.iter()
        .map(|x| x.to_bits())
        .eq(b.iter().map(|x| x.to_bits()))
}

fn text(text: &str) -> Written {
    Written::Text(text.into())
}

fn numbers(numbers: &[f64]) -> Written {
    Written::List(
        numbers
            .iter()
            .map(|&number| Written::Number(number))
            .collect(),
    )
}

fn vector(vector: Vec3<f64>) -> Written {
    numbers(&vector.to_array())
}

#[derive(Clone, Copy, PartialEq)]
enum Syntax {
    Toml,
    Json,
}

/// A value on one line.
fn inline(value: &Written, syntax: Syntax) -> String {
    match value {
        Written::Bool(truth) => truth.to_string(),
        Written::Number(number) => match syntax {
            // JSON has no literal for it; the reader accepts the string
            Syntax::Json if !number.is_finite() => format!("\"{number}\""),
            Syntax::Toml if number.is_nan() => "nan".into(),
            _ => format!("{number:?}"),
        },
        Written::Text(text) => quoted(text),
        Written::List(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(item, syntax)).collect();
            format!("[{}]", items.join(", "))
        }
        Written::Table(section) => {
            let pair = |(key, value): &(&str, Written)| match syntax {
                Syntax::Toml => format!("{key} = {}", inline(value, syntax)),
                Syntax::Json => format!("\"{key}\": {}", inline(value, syntax)),
            };
            let pairs: Vec<String> = section.iter().map(pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}

/// A string as TOML and JSON both write it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            // TOML wants DEL escaped too
            control if control.is_ascii_control() => {
                quoted += &format!("\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}
