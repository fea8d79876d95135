//! catena's own model format, read from the tree of values that TOML and JSON have in common.
//!
//! The format is described in docs/model-format.md.

mod constraint;
mod force;

use crate::access::{Item, Source, Table};
use crate::nearest::advice;
use crate::root::{Base, join_root};
use crate::tree::Node;
use crate::{ReadOptions, placement};
use catena::error::Result;
use catena::model::{
    ActuatorSpec, AxisPair, Dof, FrameSpec, Inertial, JointKind, JointSpec, LinkSpec, ModelBuilder,
    SensorRule, SensorSpec, dh, modified_dh,
};
use catena::spatial::{Mat3, Pose, Sym3, Vec3};

/// The value that `format` must have.
pub(crate) const FORMAT: &str = "catena/1";

const FILE_KEYS: &[&str] = &[
    "format",
    "name",
    "gravity",
    "angles",
    "base",
    "allow_unphysical",
    "assumptions",
    "link",
    "joint",
    "frame",
    "constraint",
    "actuator",
    "force",
    "sensor",
    "cut",
];
const LINK_KEYS: &[&str] = &["name", "mass", "centre", "r", "inertia"];
const JOINT_KEYS: &[&str] = &[
    "name",
    "type",
    "parent",
    "child",
    "axis",
    "axes",
    "pitch",
    "origin",
    "rotation",
    "child_origin",
    "child_rotation",
    "dh",
    "modified_dh",
    "armature",
    "damping",
    "friction",
    "stiffness",
    "rest",
    "limits",
    "restitution",
    "stop_stiffness",
    "stop_damping",
    "max_velocity",
    "max_effort",
    "start",
    "start_velocity",
];
/// The keys of freedoms.
const FREEDOM_KEYS: &[&str] = &[
    "armature",
    "damping",
    "friction",
    "stiffness",
    "rest",
    "limits",
    "restitution",
    "stop_stiffness",
    "stop_damping",
    "max_velocity",
    "max_effort",
];
const ACTUATOR_KEYS: &[&str] = &[
    "name",
    "joint",
    "gear",
    "rotor_inertia",
    "max_effort",
    "max_velocity",
    "lag",
];
const SENSOR_KEYS: &[&str] = &["name", "type", "frame", "joint"];
const FRAME_KEYS: &[&str] = &["name", "link", "origin", "rotation"];

/// Reads a model; `name` is used where the file gives none.
pub(crate) fn read(
    root: &Node,
    mut source: Source,
    name: &str,
    options: &ReadOptions,
) -> Result<ModelBuilder> {
    source.degrees = in_degrees(root, &source)?;
    let file = Table::new(&source, String::new(), root)?;
    let mut builder = ModelBuilder::new(name);
    if let Some(name) = file.get("name") {
        builder.name = name.text()?.into();
    }
    if let Some(gravity) = file.get("gravity") {
        builder.gravity = gravity.vector()?;
    }
    if let Some(allow) = file.get("allow_unphysical") {
        builder.allow_unphysical = allow.truth()?;
    }
    builder.strict = options.strict;
    if let Some(assumptions) = file.get("assumptions") {
        for assumption in assumptions.list()? {
            builder.assumptions.push(assumption.text()?.into());
        }
    }
    for table in tables(&file, "link")? {
        builder.links.push(link(&table)?);
    }
    let base = base(&file)?;
    let first_parent = match (base, builder.links.first()) {
        (Base::Free, Some(root)) => root.name.clone(),
        _ => "world".into(),
    };
    for table in tables(&file, "joint")? {
        let parent = builder.joints.last().map_or(&first_parent, |j| &j.child);
        let joint = joint(&table, parent)?;
        builder.joints.push(joint);
    }
    for table in tables(&file, "frame")? {
        builder.frames.push(frame(&table)?);
    }
    for table in tables(&file, "constraint")? {
        let constraint = constraint::read(&table)?;
        builder.constraints.push(constraint);
    }
    for table in tables(&file, "actuator")? {
        let actuator = actuator(&table, &builder)?;
        builder.actuators.push(actuator);
    }
    for table in tables(&file, "force")? {
        builder.forces.push(force::read(&table)?);
    }
    for table in tables(&file, "sensor")? {
        builder.sensors.push(sensor(&table)?);
    }
    if let Some(cut) = file.get("cut") {
        let names = match cut.text() {
            Ok("automatic") => Vec::new(),
            Ok(_) => return Err(cut.must_be("\"automatic\" or a list of joints")),
            Err(_) => cut.list()?,
        };
        let names = names
            .iter()
            .map(|name| name.text())
            .collect::<Result<Vec<&str>>>()?;
        builder
            .span(&names)
            .map_err(|error| source.error(file.line, error.message().to_string()))?;
    }
    join_root(&mut builder, options.base.map_or(base, Base::from))?;
    Ok(builder)
}

/// Checks the keys and the format of a file; returns whether its angles are in degrees.
fn in_degrees(root: &Node, source: &Source) -> Result<bool> {
    let file = Table::new(source, String::new(), root)?;
    let Some(format) = file.get("format") else {
        let message = format!("`format` is missing: a catena model says `format = \"{FORMAT}\"`");
        return Err(source
            .error(file.line, message)
            .hint("add it as the first key of the file"));
    };
    if format.text()? != FORMAT {
        let error = format.must_be(&format!("\"{FORMAT}\""));
        return Err(error.hint(format!("this version reads the format {FORMAT} only")));
    }
    file.expect_keys(FILE_KEYS)?;
    let Some(angles) = file.get("angles") else {
        return Ok(false);
    };
    match angles.text()? {
        "rad" => Ok(false),
        "deg" => Ok(true),
        _ => Err(angles.must_be("\"rad\" or \"deg\"")),
    }
}

fn tables<'a>(file: &Table<'a>, kind: &str) -> Result<Vec<Table<'a>>> {
    file.get(kind)
        .map_or(Ok(Vec::new()), |list| list.tables(kind))
}

fn base(file: &Table<'_>) -> Result<Base> {
    let Some(item) = file.get("base") else {
        return Ok(Base::Fixed);
    };
    match item.text()? {
        "fixed" => Ok(Base::Fixed),
        "free" => Ok(Base::Free),
        "moving" => Ok(Base::Moving),
        _ => Err(item.must_be("\"fixed\", \"free\" or \"moving\"")),
    }
}

fn link(table: &Table<'_>) -> Result<LinkSpec> {
    table.expect_keys(LINK_KEYS)?;
    Ok(LinkSpec {
        name: table.require("name")?.text()?.into(),
        inertial: inertial(table)?,
        place: table.source.place(table.line),
        ..LinkSpec::default()
    })
}

fn inertial(table: &Table<'_>) -> Result<Option<Inertial>> {
    let centre = match (table.get("centre"), table.get("r")) {
        (Some(_), Some(r)) => {
            return Err(r
                .error("cannot be given together with `centre`")
                .hint("`r` leads from the mass centre to the link frame: centre = −r"));
        }
        (Some(centre), None) => Some(centre.vector()?),
        (None, Some(r)) => Some(negative(r.vector()?)),
        (None, None) => None,
    };
    let tensor = table.get("inertia").map(|item| tensor(&item)).transpose()?;
    let Some(mass) = table.get("mass") else {
        if centre.is_some() || tensor.is_some() {
            let missing = table.require("mass").map(|_| None);
            return missing.map_err(|error| error.hint("`centre`, `r` and `inertia` need a mass"));
        }
        return Ok(None);
    };
    Ok(Some(Inertial {
        mass: mass.number()?,
        centre: centre.unwrap_or_default(),
        tensor: tensor.unwrap_or_default(),
    }))
}

/// −v without negative zeros.
fn negative(v: Vec3<f64>) -> Vec3<f64> {
    v.map(|x| 0.0 - x)
}

/// Three principal moments, six entries, or a symmetric matrix.
fn tensor(item: &Item<'_>) -> Result<Sym3<f64>> {
    let forms = "3 principal moments, 6 numbers xx yy zz xy xz yz, or 3 rows of 3 numbers";
    if !item.is_list() {
        return Err(item.must_be(forms));
    }
    let list = item.list()?;
    match list.len() {
        3 if list[0].is_list() => {
            let rows = item.matrix()?;
            let largest = rows
                .as_flattened()
                .iter()
                .fold(0.0f64, |a, b| a.max(b.abs()));
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                if (rows[i][j] - rows[j][i]).abs() > 1e-9 * largest {
                    return Err(item.error(&format!(
                        "is not symmetric: entries ({}, {}) and ({}, {}) are {} and {}",
                        i + 1,
                        j + 1,
                        j + 1,
                        i + 1,
                        rows[i][j],
                        rows[j][i]
                    )));
                }
            }
            Ok(Sym3::from_upper(Mat3::from_rows(rows)))
        }
        3 => {
            let [xx, yy, zz] = item.numbers()?;
            Ok(Sym3::new(xx, yy, zz, 0.0, 0.0, 0.0))
        }
        6 => {
            let [xx, yy, zz, xy, xz, yz] = item.numbers()?;
            Ok(Sym3::new(xx, yy, zz, xy, xz, yz))
        }
        _ => Err(item.must_be(forms)),
    }
}

fn joint(table: &Table<'_>, parent_before: &str) -> Result<JointSpec> {
    table.expect_keys(JOINT_KEYS)?;
    let kind = kind(&table.require("type")?)?;
    let child = table.require("child")?.text()?;
    let parent = match table.get("parent") {
        Some(parent) => parent.text()?,
        None if parent_before == child => {
            let missing = table.require("parent").map(|_| parent_before);
            let hint =
                format!("without it the joint would be attached to `{child}`, its own child");
            missing.map_err(|error| error.hint(hint))?
        }
        None => parent_before,
    };
    let (parent_from_joint, joint_from_child) = joint_placement(table, kind)?;
    Ok(JointSpec {
        name: table.require("name")?.text()?.into(),
        kind,
        parent: parent.into(),
        child: child.into(),
        parent_from_joint,
        joint_from_child,
        axes: axes(table, kind)?,
        pitch: pitch(table, kind)?,
        dofs: dofs(table, kind)?,
        start: start(table, kind)?,
        start_velocity: start_velocity(table, kind)?,
        place: table.source.place(table.line),
    })
}

fn kind(item: &Item<'_>) -> Result<JointKind> {
    let word = item.text()?;
    word.parse().map_err(|()| {
        let known = JointKind::ALL.map(JointKind::name);
        item.must_be("a kind of joint").hint(advice(word, &known))
    })
}

/// Joint frame in the parent's link frame, and the child's link frame in the moved joint frame.
fn joint_placement(table: &Table<'_>, kind: JointKind) -> Result<(Pose<f64>, Pose<f64>)> {
    let parameters = match (table.get("dh"), table.get("modified_dh")) {
        (Some(item), _) => Some((item, "dh")),
        (None, Some(item)) => Some((item, "modified_dh")),
        (None, None) => None,
    };
    let Some((item, convention)) = parameters else {
        return Ok((
            pose(table, "origin", "rotation")?,
            pose(table, "child_origin", "child_rotation")?,
        ));
    };
    let others: Vec<&str> = [
        "modified_dh",
        "origin",
        "rotation",
        "child_origin",
        "child_rotation",
        "axis",
        "axes",
    ]
    .into_iter()
    .filter(|&key| key != convention)
    .collect();
    if let Some((line, other)) = table.first_of(&others) {
        let message = format!(
            "{}: `{convention}` and `{other}` exclude each other",
            table.owner
        );
        return Err(table.source.error(line, message).hint(
            "these parameters fix the axis (z) and both frames; \
             to shift or turn the first joint, fix a link without mass to its parent",
        ));
    }
    use JointKind::{Continuous, Cylindrical, Fixed, Helical, Prismatic, Revolute};
    if !matches!(
        kind,
        Fixed | Revolute | Continuous | Prismatic | Helical | Cylindrical
    ) {
        return Err(item
            .error(&format!("cannot place a {kind} joint"))
            .hint("use `origin` and `rotation`"));
    }
    if convention == "dh" {
        let table = item.table("a table such as { a = 0.3, b = 0, alpha = 0, theta = 0 }")?;
        table.expect_keys(&["a", "b", "alpha", "theta"])?;
        let (a, b) = (length(&table, "a")?, length(&table, "b")?);
        let (alpha, theta) = (angle(&table, "alpha")?, angle(&table, "theta")?);
        Ok((Pose::identity(), dh(a, b, alpha, theta)))
    } else {
        let table = item.table("a table such as { a = 0.3, alpha = 0, d = 0, theta = 0 }")?;
        table.expect_keys(&["a", "alpha", "d", "theta"])?;
        let (a, d) = (length(&table, "a")?, length(&table, "d")?);
        let (alpha, theta) = (angle(&table, "alpha")?, angle(&table, "theta")?);
        let before_joint = modified_dh(a, alpha, 0.0, 0.0);
        let after_joint = modified_dh(0.0, 0.0, d, theta);
        Ok((before_joint, after_joint))
    }
}

fn length(table: &Table<'_>, key: &str) -> Result<f64> {
    table.get(key).map_or(Ok(0.0), |item| item.number())
}

fn angle(table: &Table<'_>, key: &str) -> Result<f64> {
    table.get(key).map_or(Ok(0.0), |item| item.angle())
}

fn pose(table: &Table<'_>, origin: &str, rotation: &str) -> Result<Pose<f64>> {
    let translation = match table.get(origin) {
        Some(origin) => origin.vector()?,
        None => Vec3::zero(),
    };
    let rotation = match table.get(rotation) {
        Some(item) => rotation_matrix(&item)?,
        None => Mat3::identity(),
    };
    Ok(Pose::new(rotation, translation))
}

/// One of roll-pitch-yaw, quaternion, axis and angle, matrix.
fn rotation_matrix(item: &Item<'_>) -> Result<Mat3<f64>> {
    let forms = "one of { rpy = [..] }, { quaternion = [w, x, y, z] }, \
                 { axis = [..], angle = .. }, { matrix = [[..], [..], [..]] }";
    let table = item.table(forms)?;
    table.expect_keys(&["rpy", "quaternion", "axis", "angle", "matrix"])?;
    let given = ["rpy", "quaternion", "axis", "angle", "matrix"].map(|key| table.get(key));
    match given {
        [Some(rpy), None, None, None, None] => {
            let items: [Item<'_>; 3] = rpy.list_of("a list of 3 angles")?;
            let [roll, pitch, yaw] = &items;
            let angles = [roll.angle()?, pitch.angle()?, yaw.angle()?];
            Ok(placement::from_rpy(angles))
        }
        [None, Some(quaternion), None, None, None] => from_quaternion(&quaternion),
        [None, None, Some(axis), Some(angle), None] => {
            let direction = axis.vector()?;
            let unit = direction.unit().filter(|_| direction.norm() >= 1e-12);
            let unit = unit.ok_or_else(|| axis.error("has zero length"))?;
            Ok(placement::from_axis_angle(unit, angle.angle()?))
        }
        [None, None, None, None, Some(matrix)] => matrix.matrix().map(Mat3::from_rows),
        _ => Err(item.error("must be given in exactly one way").hint(forms)),
    }
}

/// Quaternions rounded to three digits are accepted and normalised; anything farther from unit length is a mistake.
fn from_quaternion(item: &Item<'_>) -> Result<Mat3<f64>> {
    let components: [f64; 4] = item.numbers()?;
    let length = components.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() > 1e-3 {
        return Err(item
            .error(&format!("has length {length}: a rotation has length 1"))
            .hint("the order is [w, x, y, z]"));
    }
    Ok(Mat3::from_quaternion(components.map(|x| x / length)))
}

fn axes(table: &Table<'_>, kind: JointKind) -> Result<AxisPair> {
    let mut pair = AxisPair::default();
    if kind == JointKind::Universal {
        let both = "write axes = [[1, 0, 0], [0, 1, 0]]";
        if let Some(axis) = table.get("axis") {
            let error = axis.error("is not enough: a universal joint has two axes");
            return Err(error.hint(both));
        }
        let axes = table.require("axes").map_err(|error| error.hint(both))?;
        let items: [Item<'_>; 2] = axes.list_of("2 lists of 3 numbers")?;
        let [first, second] = &items;
        pair.first = first.vector()?;
        pair.second = second.vector()?;
        return Ok(pair);
    }
    if let Some(axes) = table.get("axes") {
        return Err(axes.error(&format!("is for universal joints; this one is {kind}")));
    }
    if let Some(axis) = table.get("axis") {
        if !kind.has_axis() {
            return Err(axis.error(&format!("has no meaning: a {kind} joint has no axis")));
        }
        pair.first = axis.vector()?;
    }
    Ok(pair)
}

fn pitch(table: &Table<'_>, kind: JointKind) -> Result<f64> {
    match (kind, table.get("pitch")) {
        (JointKind::Helical, Some(pitch)) => pitch.number(),
        (JointKind::Helical, None) => table.require("pitch").and_then(|item| item.number()),
        (_, Some(pitch)) => Err(pitch.error(&format!("is for helical joints; this one is {kind}"))),
        (_, None) => Ok(0.0),
    }
}

/// For each freedom, whether its coordinate is an angle.
fn rotations(kind: JointKind) -> &'static [bool] {
    match kind {
        JointKind::Fixed => &[],
        JointKind::Revolute | JointKind::Continuous | JointKind::Helical => &[true],
        JointKind::Prismatic => &[false],
        JointKind::Cylindrical => &[true, false],
        JointKind::Universal => &[true, true],
        JointKind::Spherical => &[true, true, true],
        JointKind::Planar => &[false, false, true],
        JointKind::Free => &[false, false, false, true, true, true],
    }
}

fn dofs(table: &Table<'_>, kind: JointKind) -> Result<Vec<Dof>> {
    let Some((line, key)) = table.first_of(FREEDOM_KEYS) else {
        return Ok(Vec::new());
    };
    if kind == JointKind::Fixed {
        let message = format!("{}: `{key}` has no meaning for a fixed joint", table.owner);
        return Err(table.source.error(line, message));
    }
    let rotations = rotations(kind);
    let mut dofs = vec![Dof::default(); rotations.len()];
    for (key, field) in [
        (
            "armature",
            (|dof| &mut dof.armature) as fn(&mut Dof) -> &mut f64,
        ),
        ("damping", |dof| &mut dof.damping),
        ("friction", |dof| &mut dof.friction),
        ("stiffness", |dof| &mut dof.stiffness),
        ("restitution", |dof| &mut dof.restitution),
        ("stop_stiffness", |dof| &mut dof.stop_stiffness),
        ("stop_damping", |dof| &mut dof.stop_damping),
    ] {
        if let Some(item) = table.get(key) {
            for (dof, item) in dofs.iter_mut().zip(per_freedom(&item, rotations.len())?) {
                *field(dof) = item.number()?;
            }
        }
    }
    if let Some(item) = table.get("rest") {
        let items = per_freedom(&item, rotations.len())?;
        for ((dof, item), &is_angle) in dofs.iter_mut().zip(items).zip(rotations) {
            dof.rest = item.coordinate(is_angle)?;
        }
    }
    if let Some(item) = table.get("limits") {
        let items = limits_per_freedom(&item, rotations.len())?;
        for ((dof, item), &is_angle) in dofs.iter_mut().zip(items).zip(rotations) {
            dof.limits = limits(&item, is_angle)?;
        }
    }
    if let Some(item) = table.get("max_velocity") {
        let items = per_freedom(&item, rotations.len())?;
        for ((dof, item), &is_angle) in dofs.iter_mut().zip(items).zip(rotations) {
            dof.max_velocity = unless_none(&item, |item| item.coordinate(is_angle))?;
        }
    }
    if let Some(item) = table.get("max_effort") {
        for (dof, item) in dofs.iter_mut().zip(per_freedom(&item, rotations.len())?) {
            dof.max_effort = unless_none(&item, Item::number)?;
        }
    }
    Ok(dofs)
}

/// Initial position: a number for each coordinate, quaternions as [w, x, y, z].
fn start(table: &Table<'_>, kind: JointKind) -> Result<Vec<f64>> {
    let Some(item) = table.get("start") else {
        return Ok(Vec::new());
    };
    let Some(plain) = kind.quaternion() else {
        return coordinates(&item, rotations(kind));
    };
    let items = item.list()?;
    if items.len() != plain + 4 {
        let forms = match plain {
            0 => "a quaternion [w, x, y, z]",
            _ => "a list [x, y, z, qw, qx, qy, qz]",
        };
        return Err(item.must_be(forms));
    }
    let mut numbers = items
        .iter()
        .map(Item::number)
        .collect::<Result<Vec<f64>>>()?;
    let length = numbers[plain..].iter().map(|x| x * x).sum::<f64>().sqrt();
    if !(length - 1.0).abs().le(&1e-3) {
        return Err(item
            .error(&format!(
                "has a quaternion of length {length}: a rotation has length 1"
            ))
            .hint("the order is w, x, y, z"));
    }
    // quaternions of unit length to round-off keep their bits
    if (length - 1.0).abs() > 1e-14 {
        for x in &mut numbers[plain..] {
            *x /= length;
        }
    }
    Ok(numbers)
}

/// Initial velocity: a number for each freedom.
fn start_velocity(table: &Table<'_>, kind: JointKind) -> Result<Vec<f64>> {
    match table.get("start_velocity") {
        Some(item) => coordinates(&item, rotations(kind)),
        None => Ok(Vec::new()),
    }
}

/// A number for each freedom, angles in the file's unit; a single one need not be in a list.
fn coordinates(item: &Item<'_>, rotations: &[bool]) -> Result<Vec<f64>> {
    let items = match item.is_list() {
        true => item.list()?,
        false => vec![item.clone()],
    };
    if items.len() != rotations.len() {
        return Err(match rotations.len() {
            0 => item.error("has no meaning for a fixed joint"),
            1 => item.must_be("one number"),
            n => item.must_be(&format!("a list of {n} numbers")),
        });
    }
    let pairs = items.iter().zip(rotations);
    pairs
        .map(|(item, &is_angle)| item.coordinate(is_angle))
        .collect()
}

/// One item per freedom: a list of them, or one for all.
fn per_freedom<'a>(item: &Item<'a>, freedoms: usize) -> Result<Vec<Item<'a>>> {
    if !item.is_list() {
        return Ok(vec![item.clone(); freedoms]);
    }
    let items = item.list()?;
    if items.len() != freedoms {
        return Err(item.must_be(&one_or_list(freedoms, "number")));
    }
    Ok(items)
}

/// As [`per_freedom`], for pairs: a list of two plain values is one pair for all freedoms.
fn limits_per_freedom<'a>(item: &Item<'a>, freedoms: usize) -> Result<Vec<Item<'a>>> {
    let is_pair = match item.is_list() {
        true => item
            .list()?
            .iter()
            .all(|inner| !inner.is_list() && !inner.is_none()),
        false => true,
    };
    if is_pair {
        return Ok(vec![item.clone(); freedoms]);
    }
    let items = item.list()?;
    if items.len() != freedoms {
        return Err(item.must_be(&one_or_list(freedoms, "pair [lower, upper]")));
    }
    Ok(items)
}

fn one_or_list(freedoms: usize, what: &str) -> String {
    if freedoms == 1 {
        format!("one {what} (the joint has one freedom)")
    } else {
        format!("one {what} or a list of {freedoms}, one for each freedom")
    }
}

fn limits(item: &Item<'_>, is_angle: bool) -> Result<Option<(f64, f64)>> {
    unless_none(item, |item| {
        let items: [Item<'_>; 2] = item.list_of("a pair [lower, upper]")?;
        let [lower, upper] = &items;
        Ok((lower.bound(is_angle)?, upper.bound(is_angle)?))
    })
}

/// None where the file says "none".
fn unless_none<'a, T>(item: &Item<'a>, read: impl Fn(&Item<'a>) -> Result<T>) -> Result<Option<T>> {
    if item.is_none() {
        Ok(None)
    } else {
        read(item).map(Some)
    }
}

fn frame(table: &Table<'_>) -> Result<FrameSpec> {
    table.expect_keys(FRAME_KEYS)?;
    Ok(FrameSpec {
        name: table.require("name")?.text()?.into(),
        link: table.require("link")?.text()?.into(),
        link_from_frame: pose(table, "origin", "rotation")?,
        place: table.source.place(table.line),
    })
}

fn sensor(table: &Table<'_>) -> Result<SensorSpec> {
    table.expect_keys(SENSOR_KEYS)?;
    let kind = table.require("type")?;
    let frame = table
        .get("frame")
        .map(|item| item.text().map(String::from))
        .transpose()?;
    let rule = match kind.text()? {
        "imu" => {
            if let Some(joint) = table.get("joint") {
                return Err(joint.error("is for force-torque sensors; this one is an imu"));
            }
            table.require("frame")?;
            SensorRule::Imu {
                frame: frame.unwrap_or_default(),
            }
        }
        "force_torque" => SensorRule::ForceTorque {
            joint: table.require("joint")?.text()?.into(),
            frame,
        },
        word => {
            let error = kind.must_be("a type of sensor");
            return Err(error.hint(advice(word, &["imu", "force_torque"])));
        }
    };
    Ok(SensorSpec {
        name: table.require("name")?.text()?.into(),
        rule,
        place: table.source.place(table.line),
    })
}

fn actuator(table: &Table<'_>, builder: &ModelBuilder) -> Result<ActuatorSpec> {
    table.expect_keys(ACTUATOR_KEYS)?;
    let joint = table.require("joint")?.text()?;
    let name = match table.get("name") {
        Some(name) => name.text()?,
        None => joint,
    };
    let mut spec = ActuatorSpec::new(name, joint);
    if let Some(gear) = table.get("gear") {
        spec.gear = gear.number()?;
    }
    if let Some(inertia) = table.get("rotor_inertia") {
        spec.rotor_inertia = inertia.number()?;
    }
    if let Some(effort) = table.get("max_effort") {
        spec.max_effort = Some(effort.number()?);
    }
    if let Some(velocity) = table.get("max_velocity") {
        spec.max_velocity = Some(velocity.coordinate(turns(builder, joint))?);
    }
    if let Some(lag) = table.get("lag") {
        spec.lag = lag.number()?;
    }
    spec.place = table.source.place(table.line);
    Ok(spec)
}

/// Is the coordinate of this freedom an angle? A name that is not known is reported when the model is built.
fn turns(builder: &ModelBuilder, freedom: &str) -> bool {
    let of = |joint: &JointSpec| {
        let suffix = freedom.strip_prefix(&joint.name[..])?;
        let freedoms = joint.kind.freedoms().iter();
        let mut found = freedoms.filter(|(own, _)| *own == suffix);
        found.next().map(|(_, rotation)| *rotation)
    };
    builder.joints.iter().find_map(of).unwrap_or(true)
}
