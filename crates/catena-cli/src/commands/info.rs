//! `catena info MODEL`: the model as it was read.

use crate::coordinates::{Quantity, position_of_freedom};
use crate::model_argument::{Loaded, ModelArgument};
use crate::number::{counted, list, six};
use crate::outcome::Outcome;
use crate::table::Table;
use crate::{json, words};
use catena::error::Result;
use catena::model::couplings::Source;
use catena::model::{
    BodyInfo, Constraint, Dof, ForceAxes, ForceElement, ForceLaw, FrameInfo, GravityGradient, Rule,
    Tree,
};
use catena::spatial::Pose;
use catena::{Model, State};
use clap::Args;
use serde_json::{Value, json};

/// Deeper trees are drawn without indenting consecutive bodies of a chain.
const DEEP: usize = 12;
/// Larger matrices are not drawn.
const LARGE: usize = 32;

/// Which model.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,

    /// Show Mufti's incidence matrix S, path matrix T and regular labelling
    #[arg(long)]
    matrices: bool,
}

/// Shows the model.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    let loaded = arguments.model.load()?;
    Ok(Outcome::text(match as_json {
        true => json::text(&to_json(&loaded, arguments.matrices)),
        false => to_text(&loaded, arguments.matrices),
    }))
}

/// How the tree is attached to the ground.
pub fn base_kind(model: &Model) -> &'static str {
    match model.tree().is_free_floating() {
        true => "free",
        false => "fixed",
    }
}

/// The model in one line.
pub fn one_line(model: &Model) -> String {
    format!(
        "{}: {}, {}, {} base, {} kg, gravity {} m/s²",
        model.name(),
        counted(model.body_count(), "body", "bodies"),
        counted(model.nv(), "freedom", "freedoms"),
        base_kind(model),
        six(model.mass()),
        list(&model.gravity().to_array()),
    )
}

fn to_text(loaded: &Loaded, matrices: bool) -> String {
    let model = &loaded.model;
    let tree = model.tree();
    let mut text = format!(
        "{}\n\n{}\n{}\n{}",
        one_line(model),
        drawn_tree(model),
        freedoms(loaded),
        frames(tree),
    );
    text += &actuators(tree);
    text += &couplings(model);
    text += &constraints(model);
    text += &forces(model);
    if matrices {
        text += &graph_matrices(tree);
    }
    if !tree.warnings.is_empty() {
        text += "\nwarnings\n";
        for warning in &tree.warnings {
            let line = match warning.place.line {
                Some(line) => format!("{} (line {line})", warning.message),
                None => warning.message.clone(),
            };
            text += &format!("  - {}\n", words::wrapped(&line, 74, "    "));
        }
    }
    text += "\nassumptions\n";
    if tree.assumptions.is_empty() {
        text += "  none: everything was given\n";
    }
    for note in &tree.assumptions {
        text += &format!("  - {}\n", words::wrapped(note, 74, "    "));
    }
    text
}

fn drawn_tree(model: &Model) -> String {
    let tree = model.tree();
    let branches = Branches::of(tree);
    let order: Vec<(usize, String)> = branches.drawn();
    let body = |i: usize| &tree.bodies[i];
    let moving = |show: &dyn Fn(usize, &BodyInfo) -> String| -> Vec<String> {
        order
            .iter()
            .map(|&(i, _)| match i {
                0 => String::new(),
                _ => show(i, body(i)),
            })
            .collect()
    };
    let table = Table::new()
        .text(
            "body",
            order
                .iter()
                .map(|(i, prefix)| format!("{prefix}{}{}", body(*i).name, merged(body(*i)))),
        )
        .text("joint", moving(&|_, body| body.joint.clone()))
        .text("kind", moving(&|_, body| body.kind.name().into()))
        .text("freedoms", moving(&|i, _| ranks(model, tree.dof_range(i))))
        .numbers(
            "mass kg",
            order
                .iter()
                .map(|&(i, _)| (i != 0).then(|| model.inertial(i).mass)),
        );
    let footnote = match branches.is_deep {
        true => "  A body directly below another in the same column is its child.\n",
        false => "",
    };
    table.render() + footnote
}

fn merged(body: &BodyInfo) -> String {
    match &body.merged[..] {
        [] => String::new(),
        [one] => format!(" + {one}"),
        many => format!(" + {} more", many.len()),
    }
}

/// Freedoms counted from 1: `3` or `1–6`.
fn ranks(model: &Model, range: std::ops::Range<usize>) -> String {
    let range = match model.couplings() {
        None => range,
        Some(couplings) => {
            let place = |at: usize| couplings.freedoms().partition_point(|&k| k < at);
            place(range.start)..place(range.end)
        }
    };
    match range.len() {
        0 => "follows".into(),
        1 => format!("{}", range.end),
        _ => format!("{}–{}", range.start + 1, range.end),
    }
}

/// The children of every body, and how the tree is drawn.
struct Branches {
    children: Vec<Vec<usize>>,
    is_deep: bool,
}

impl Branches {
    fn of(tree: &Tree) -> Self {
        let mut children = vec![Vec::new(); tree.bodies.len()];
        for i in 1..tree.bodies.len() {
            children[tree.parent(i)].push(i);
        }
        Branches {
            children,
            is_deep: tree.depth() > DEEP,
        }
    }

    /// Bodies from the ground outwards, each with the prefix drawn before its name. No recursion: trees may be very deep.
    fn drawn(&self) -> Vec<(usize, String)> {
        let mut drawn = Vec::new();
        // body, its prefix, the prefix of its children
        let mut waiting = vec![(0, String::new(), String::new())];
        while let Some((body, before, below)) = waiting.pop() {
            drawn.push((body, before));
            let children = &self.children[body];
            let in_a_row = self.is_deep && children.len() == 1 && body != 0;
            for (rank, &child) in children.iter().enumerate().rev() {
                let is_last = rank + 1 == children.len();
                waiting.push(match (in_a_row, is_last) {
                    (true, _) => (child, below.clone(), below.clone()),
                    (_, true) => (child, format!("{below}└─ "), format!("{below}   ")),
                    (_, false) => (child, format!("{below}├─ "), format!("{below}│  ")),
                });
            }
        }
        drawn
    }
}

/// The constants of every freedom, as the builder has them.
fn constants(loaded: &Loaded) -> Vec<Dof> {
    let tree = loaded.model.tree();
    let by_name: std::collections::HashMap<&str, &[Dof]> = loaded
        .builder
        .joints
        .iter()
        .map(|joint| (joint.name.as_str(), joint.dofs.as_slice()))
        .collect();
    tree.dofs
        .iter()
        .enumerate()
        .map(|(k, dof)| {
            let body = &tree.bodies[dof.body];
            by_name
                .get(body.joint.as_str())
                .and_then(|dofs| dofs.get(k - body.v))
                .copied()
                .unwrap_or_default()
        })
        .collect()
}

fn freedoms(loaded: &Loaded) -> String {
    let model = &loaded.model;
    let tree = model.tree();
    let dofs = constants(loaded);
    let positions = Quantity::Position;
    let units: Vec<&str> = tree
        .dofs
        .iter()
        .map(|dof| if dof.force_unit == "N" { "m" } else { "rad" })
        .collect();
    let mut table = Table::new()
        .written(
            "",
            (0..tree.dofs.len()).map(|k| match model.couplings() {
                None => (k + 1).to_string(),
                Some(couplings) => match couplings.sources()[k] {
                    Source::Independent(place) => (place + 1).to_string(),
                    Source::Follower(_) => "–".into(),
                },
            }),
        )
        .text("freedom", tree.dofs.iter().map(|dof| dof.name.clone()))
        .text("unit", units);
    // limits may be open on one side
    let limit = |x: f64| x.is_finite().then_some(x);
    if dofs.iter().any(|dof| dof.limits.is_some()) {
        table = table
            .numbers(
                "lower",
                dofs.iter()
                    .map(|dof| dof.limits.and_then(|(low, _)| limit(low))),
            )
            .numbers(
                "upper",
                dofs.iter()
                    .map(|dof| dof.limits.and_then(|(_, high)| limit(high))),
            );
    }
    if dofs.iter().any(|dof| dof.max_velocity.is_some()) {
        table = table.numbers(
            "max velocity",
            dofs.iter().map(|dof| dof.max_velocity.and_then(limit)),
        );
    }
    if dofs.iter().any(|dof| dof.max_effort.is_some()) {
        table = table.numbers(
            "max effort",
            dofs.iter().map(|dof| dof.max_effort.and_then(limit)),
        );
    }
    for (head, value) in [
        ("armature", (|dof| dof.armature) as fn(&Dof) -> f64),
        ("damping", |dof| dof.damping),
        ("friction", |dof| dof.friction),
        ("stiffness", |dof| dof.stiffness),
        ("rest", |dof| dof.rest),
    ] {
        if dofs.iter().any(|dof| value(dof) != 0.0) {
            table = table.numbers(
                head,
                dofs.iter()
                    .map(|dof| Some(value(dof)).filter(|x| *x != 0.0)),
            );
        }
    }
    // a row for every freedom of the tree
    let all = &model.clone().open_tree();
    let start: State = State::start(all);
    if start != State::neutral(all) {
        let places = position_of_freedom(all);
        let q = places.into_iter().map(|at| at.map(|k| start.q[k]));
        table = table.numbers("start", q);
        if start.v.iter().any(|v| *v != 0.0) {
            table = table.numbers("with speed", start.v.iter().map(|&v| Some(v)));
        }
    }
    let quaternions = match positions.coordinates(model).len() - model.nv() {
        0 => String::new(),
        n => format!(
            " There are {} position coordinates: {}.",
            model.nq(),
            match n {
                1 => "one orientation is a quaternion".to_string(),
                n => format!("{n} orientations are quaternions"),
            }
        ),
    };
    let footnote = format!(
        "Rotational freedoms: rad, rad/s, N·m, kg·m²; translational: m, m/s, N, kg.{quaternions}"
    );
    format!(
        "{}  {}\n",
        table.render(),
        words::wrapped(&footnote, 76, "  ")
    )
}

/// The actuators that the model names.
fn actuators(tree: &Tree) -> String {
    let all = || tree.actuators.iter();
    if tree.actuators.is_empty() {
        return String::new();
    }
    let table = Table::new()
        .text("actuator", all().map(|a| a.name.clone()))
        .text("drives", all().map(|a| tree.dofs[a.freedom].name.clone()))
        .numbers("gear", all().map(|a| Some(a.gear)))
        .numbers("rotor kg·m²", all().map(|a| Some(a.rotor_inertia)))
        .numbers("max effort", all().map(|a| a.max_effort))
        .numbers("max velocity", all().map(|a| a.max_velocity))
        .numbers("lag s", all().map(|a| Some(a.lag)));
    format!("\n{}", table.render())
}

/// Pose of a frame in the frame of the link that gave its body the name.
fn pose_in_link(tree: &Tree, frame: &FrameInfo) -> Pose<f64> {
    if frame.name == tree.bodies[frame.body].name {
        return Pose::identity();
    }
    tree.bodies[frame.body].body_from_link.inverse() * frame.body_from_frame
}

/// Every link has a frame of its name; here are those that differ from a body's own link frame.
fn frames(tree: &Tree) -> String {
    let others: Vec<&FrameInfo> = tree
        .frames
        .iter()
        .filter(|frame| frame.name != tree.bodies[frame.body].name)
        .collect();
    if others.is_empty() {
        return "  Every link has a frame of its name; there are no others.\n".into();
    }
    let component = |axis: usize| {
        others
            .iter()
            .map(move |frame| Some(pose_in_link(tree, frame).translation.to_array()[axis]))
    };
    let table = Table::new()
        .text("frame", others.iter().map(|frame| frame.name.clone()))
        .text(
            "on link",
            others
                .iter()
                .map(|frame| tree.bodies[frame.body].name.clone()),
        )
        .numbers("x m", component(0))
        .numbers("y m", component(1))
        .numbers("z m", component(2));
    format!(
        "{}  Every link has a frame of its name; these are the others.\n",
        table.render()
    )
}

/// The couplings that were eliminated, and which coordinates follow.
fn couplings(model: &Model) -> String {
    let Some(couplings) = model.couplings() else {
        return String::new();
    };
    let followers = couplings.followers();
    let table = Table::new()
        .text(
            "coupling",
            followers.iter().map(|one| one.coupling.to_string()),
        )
        .text(
            "eliminated",
            followers.iter().map(|one| model.following(one)),
        );
    let footnote = format!(
        "{} of the tree, {} of them independent: q, v and τ are those of the numbered freedoms. `--open-loops` leaves the couplings open.",
        counted(model.tree().nv, "freedom", "freedoms"),
        model.nv(),
    );
    format!(
        "\n{}  {}\n",
        table.render(),
        words::wrapped(&footnote, 76, "  ")
    )
}

/// The constraints that close loops and couple or drive coordinates.
fn constraints(model: &Model) -> String {
    let constraints = model.constraints();
    if constraints.is_empty() {
        return String::new();
    }
    let tree = model.tree();
    let list = |freedoms: &mut dyn Iterator<Item = usize>| {
        let names = freedoms.map(|k| tree.dofs[k].name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let named = |c: &Constraint| match (&c.rule, c.bodies()) {
        (_, Some([parent, child])) => {
            format!("{} – {}", tree.bodies[parent].name, tree.bodies[child].name)
        }
        (Rule::Coupling { terms, .. }, _) => list(&mut terms.iter().map(|(k, _)| k.v)),
        (Rule::Velocity { terms, .. }, _) => list(&mut terms.iter().map(|&(k, _)| k)),
        (Rule::Driver { coordinate, .. }, _) => tree.dofs[coordinate.v].name.clone(),
        _ => String::new(),
    };
    let table = Table::new()
        .text("constraint", constraints.iter().map(|c| c.name.to_string()))
        .text("type", constraints.iter().map(|c| c.kind()))
        .text("on", constraints.iter().map(named))
        .written("rows", constraints.iter().map(|c| c.rows().to_string()));
    let rows = model.constraint_rows();
    let on_velocities = match model.velocity_rows() {
        0 => String::new(),
        count => format!(
            " {} velocities only.",
            match count {
                1 => "1 of them constrains".into(),
                n => format!("{n} of them constrain"),
            }
        ),
    };
    let footnote = format!(
        "{} on {} of the tree.{on_velocities} Rows may be dependent: `catena assemble` finds a closed state and counts the freedoms left.",
        counted(rows, "row", "rows"),
        counted(model.nv(), "freedom", "freedoms"),
    );
    format!(
        "\n{}  {}\n",
        table.render(),
        words::wrapped(&footnote, 76, "  ")
    )
}

fn forces(model: &Model) -> String {
    let forces = model.forces();
    if forces.is_empty() {
        return String::new();
    }
    let table = Table::new()
        .text("force", forces.iter().map(|f| f.name.to_string()))
        .text("type", forces.iter().map(|f| f.kind()))
        .text("on", forces.iter().map(|f| acts_on(model, f).join(" – ")))
        .text("numbers", forces.iter().map(force_numbers));
    format!("\n{}", table.render())
}

/// Names of the bodies a force element acts on.
fn acts_on<'a>(model: &'a Model, element: &ForceElement) -> Vec<&'a str> {
    match element.bodies() {
        bodies if bodies.is_empty() => vec!["all bodies"],
        bodies => bodies
            .into_iter()
            .map(|body| model.tree().bodies[body].name.as_str())
            .collect(),
    }
}

fn force_numbers(element: &ForceElement) -> String {
    let vector = |v: catena::spatial::Vec3<f64>| list(&v.to_array());
    match &element.law {
        ForceLaw::Spring(s) => format!(
            "{} N/m, {} N·s/m, {} m{}",
            six(s.stiffness),
            six(s.damping),
            six(s.rest_length),
            if s.tension_only { ", tension only" } else { "" }
        ),
        ForceLaw::Torsion(t) => format!(
            "{} N·m/rad, {} N·m·s/rad, {} rad",
            six(t.stiffness),
            six(t.damping),
            six(t.rest)
        ),
        ForceLaw::Constant(c) => format!(
            "{} N, {} N·m, {} axes",
            vector(c.force),
            vector(c.torque),
            match c.axes {
                ForceAxes::World => "world",
                ForceAxes::Link => "body",
            }
        ),
        ForceLaw::Drag(d) => format!("{} N·s/m, {} N·s²/m²", six(d.linear), six(d.quadratic)),
        ForceLaw::GravityGradient(GravityGradient::Centre { mu, centre, .. }) => {
            format!("{} m³/s² at {} m", six(*mu), vector(*centre))
        }
        ForceLaw::GravityGradient(GravityGradient::Orbit { rate, .. }) => {
            format!("{} rad/s", six(*rate))
        }
    }
}

fn graph_matrices(tree: &Tree) -> String {
    let n = tree.bodies.len() - 1;
    let mut text = String::from("\nregular labelling (Mufti): leaves get the highest numbers\n");
    let labels = tree.regular_labelling();
    text += &Table::new()
        .text(
            "body",
            tree.bodies[1..].iter().map(|body| body.name.clone()),
        )
        .written("here", (1..=n).map(|i| i.to_string()))
        .written("label", labels.iter().map(ToString::to_string))
        .render();
    if n > LARGE {
        return text + &format!("\n  S and T are {n}×{n}: see them with --json\n");
    }
    for (title, matrix) in [
        (
            "S, incidence: +1 where joint j leaves body i, −1 where it enters",
            tree.incidence_matrix(),
        ),
        (
            "T = S⁻¹, paths: −1 where joint i is on the path from the ground to body j",
            tree.path_matrix(),
        ),
    ] {
        text += &format!("\n{title}\n");
        for row in matrix {
            let cells: Vec<String> = row
                .iter()
                .map(|&x| match x {
                    0 => "  ·".to_string(),
                    x => format!("{x:+3}"),
                })
                .collect();
            text += &format!("  {}\n", cells.concat());
        }
    }
    text
}

fn to_json(loaded: &Loaded, matrices: bool) -> Value {
    let model = &loaded.model;
    let tree = model.tree();
    let bodies: Value = model.bodies().map(|i| body_json(model, i)).collect();
    let open = |x: f64| Value::from(x);
    let freedoms: Value = tree
        .dofs
        .iter()
        .enumerate()
        .zip(constants(loaded))
        .map(|((k, dof), constants)| {
            json!({
                "name": dof.name,
                "independent": model.couplings().is_none_or(|c| c.is_independent(k)),
                "body": tree.bodies[dof.body].name,
                "velocity_unit": dof.velocity_unit,
                "effort_unit": dof.force_unit,
                "limits": dof.limits.map(|(low, high)| [open(low), open(high)]),
                "max_velocity": dof.max_velocity,
                "max_effort": dof.max_effort,
                "armature": constants.armature,
                "damping": constants.damping,
                "friction": constants.friction,
                "stiffness": constants.stiffness,
                "restitution": dof.restitution,
                "stop_stiffness": dof.stop_stiffness,
                "stop_damping": dof.stop_damping,
                "rest": constants.rest,
            })
        })
        .collect();
    let positions: Value = Quantity::Position
        .coordinates(model)
        .into_iter()
        .map(|c| json!({ "name": c.name, "unit": c.unit }))
        .collect();
    let frames: Value = tree
        .frames
        .iter()
        .map(|frame| {
            let mut value = json!({ "name": frame.name, "body": tree.bodies[frame.body].name });
            value["pose_in_link"] = json::pose(pose_in_link(tree, frame));
            value
        })
        .collect();
    let mut value = json!({
        "format": "catena-info/1",
        "model": model.name(),
        "base": base_kind(model),
        "mass": model.mass(),
        "gravity": json::vector(model.gravity()),
        "nq": model.nq(),
        "nv": model.nv(),
        "bodies": bodies,
        "freedoms": freedoms,
        "positions": positions,
        "start": { "q": json::numbers(&tree.start), "v": json::numbers(&tree.start_velocity) },
        "frames": frames,
        "assumptions": tree.assumptions,
        "warnings": tree.warnings.iter().map(|warning| json!({
            "message": warning.message,
            "line": warning.place.line,
        })).collect::<Vec<_>>(),
    });
    if !model.forces().is_empty() {
        let one = |element: &ForceElement| {
            json!({
                "name": &*element.name,
                "type": element.kind(),
                "on": acts_on(model, element),
            })
        };
        value["forces"] = model.forces().iter().map(one).collect();
    }
    if !tree.actuators.is_empty() {
        let one = |a: &catena::model::Actuator| {
            json!({
                "name": a.name,
                "freedom": tree.dofs[a.freedom].name,
                "gear": a.gear,
                "rotor_inertia": a.rotor_inertia,
                "max_effort": a.max_effort,
                "max_velocity": a.max_velocity,
                "lag": a.lag,
            })
        };
        value["actuators"] = tree.actuators.iter().map(one).collect();
    }
    if let Some(couplings) = model.couplings() {
        let one = |follower: &catena::model::Follower| {
            let sources: Value = (follower.terms.iter())
                .map(|(at, ratio)| json!({ "freedom": model.freedom(at.v).name, "ratio": ratio }))
                .collect();
            json!({
                "name": *follower.coupling,
                "follower": tree.dofs[follower.coordinate.v].name,
                "sources": sources,
                "offset": follower.offset,
            })
        };
        value["couplings"] = couplings.followers().iter().map(one).collect();
    }
    if !model.constraints().is_empty() {
        let name = |body: usize| tree.bodies[body].name.as_str();
        value["constraints"] = model
            .constraints()
            .iter()
            .map(|c| {
                json!({
                    "name": *c.name,
                    "type": c.kind(),
                    "rows": c.rows(),
                    "bodies": c.bodies().map(|bodies| bodies.map(name)),
                })
            })
            .collect();
    }
    if matrices {
        value["incidence_matrix"] = json!(tree.incidence_matrix());
        value["path_matrix"] = json!(tree.path_matrix());
        if !model.constraints().is_empty() {
            value["cut_incidence_matrix"] = json!(model.cut_incidence_matrix());
        }
        value["regular_labelling"] = json!(tree.regular_labelling());
    }
    value
}

fn body_json(model: &Model, i: usize) -> Value {
    let tree = model.tree();
    let body = &tree.bodies[i];
    let inertial = model.inertial(i);
    // given in the link's frame, as in model files
    let rotation = body.body_from_link.rotation;
    let link_from_body = body.body_from_link.inverse();
    let tensor = inertial
        .tensor
        .conjugate(rotation.transpose())
        .full()
        .rows();
    let place = body.place.to_string();
    // of the independent coordinates; a joint that follows others has none
    let (mut q, mut v) = (tree.q_range(i), tree.dof_range(i));
    if let Some(couplings) = model.couplings() {
        let among = |list: &[usize], range: std::ops::Range<usize>| {
            let place = |at: usize| list.partition_point(|&k| k < at);
            place(range.start)..place(range.end)
        };
        (q, v) = (
            among(couplings.positions(), q),
            among(couplings.freedoms(), v),
        );
    }
    json!({
        "number": i,
        "name": body.name,
        "merged": body.merged,
        "parent": tree.bodies[body.parent].name,
        "parent_number": body.parent,
        "joint": body.joint,
        "kind": body.kind.name(),
        "first_q": (!q.is_empty()).then_some(q.start),
        "first_v": (!v.is_empty()).then_some(v.start),
        "nq": q.len(),
        "nv": v.len(),
        "mass": inertial.mass,
        "centre": json::vector(link_from_body.point(inertial.centre)),
        "inertia": tensor.iter().map(|row| json::numbers(row)).collect::<Value>(),
        "place": match place.is_empty() {
            true => Value::Null,
            false => place.into(),
        },
    })
}
