//! Scenes: models and motions as the page draws them, `catena-scene/1`.
//!
//! A scene has subjects; each is a model, with the motion of a run or without. Poses are world poses of all bodies, the base first, as
//! seven 32-bit floats: x, y, z, qw, qx, qy, qz. Blocks of numbers are little-endian, in base64.

use crate::motion::{self, Budget};
use crate::visual::Visual;
use crate::{encode, engine, shape};
use catena::error::{Error, ErrorKind, Result};
use catena::model::{Constraint, JointKind, Rule};
use catena::spatial::Vec3;
use catena::{Dynamics, Model, State};
use catena_io::run::Run;
use serde_json::{Map, Value, json};

/// Larger matrices are not part of a scene; a served page requests them.
const LARGE: usize = 48;

/// The model of a run, as recorded in the run.
pub fn model_of_run(run: &Run) -> Result<Model> {
    let model = &run.header.metadata["model"];
    if !model.is_object() {
        return Err(Error::new(
            ErrorKind::Input,
            "the run does not contain its model; `catena simulate` writes runs that do",
        ));
    }
    let options = catena_io::ReadOptions::default();
    let builder =
        catena_io::builder_from_json(&model.to_string(), "the model of the run", &options)?;
    // a run has all coordinates of the tree
    builder.build().map(Model::with_couplings_as_constraints)
}

/// The state in a row of a run.
pub fn state_of_run(run: &Run, model: &Model, row: usize) -> Result<State> {
    motion::state_at(run, model, row)
}

/// A model with its motion, if known.
#[derive(Clone, Debug)]
pub struct Subject(Map<String, Value>);

impl Subject {
    /// A model at its neutral position, or the closed position nearest to it.
    pub fn of_model(name: &str, model: &Model) -> Self {
        let state = engine::rest(model);
        let mut subject = Subject::new(name, model, &state);
        subject.0.insert("state".into(), json!({ "q": state.q }));
        subject
    }

    /// A run: its animation and curves within the budget, its audit, and its origin.
    pub fn of_run(name: &str, run: &Run, model: &Model, budget: Budget) -> Result<Self> {
        if run.row_count() == 0 {
            return Err(Error::new(
                ErrorKind::Input,
                "the run holds no rows: it was stopped before its first block",
            )
            .hint("continue it with --resume"));
        }
        let state = motion::state_at(run, model, 0)?;
        let mut subject = Subject::new(name, model, &state);
        let budget = budget.beside(subject.0["model"].to_string().len());
        let motion = motion::to_json(run, model, budget)?;
        let metadata = &run.header.metadata;
        let words = metadata["command"].as_array().map(|words| {
            let words = words.iter().filter_map(Value::as_str).map(quoted);
            format!("catena {}", words.collect::<Vec<_>>().join(" "))
        });
        let facts: Map<String, Value> = [
            "program", "system", "cpu", "method", "rtol", "atol", "step", "seed", "duration",
            "interval", "closing",
        ]
        .into_iter()
        .filter(|key| !metadata[*key].is_null())
        .map(|key| (key.to_string(), metadata[key].clone()))
        .collect();
        subject.0.insert("motion".into(), motion);
        subject
            .0
            .insert("audit".into(), run.audit.clone().unwrap_or(Value::Null));
        subject
            .0
            .insert("command".into(), words.map_or(Value::Null, Value::from));
        subject.0.insert("facts".into(), Value::Object(facts));
        Ok(subject)
    }

    fn new(name: &str, model: &Model, state: &State) -> Self {
        let mut subject = Map::new();
        subject.insert("name".into(), name.into());
        subject.insert("model".into(), model_json(model));
        let mut poses = Vec::new();
        let mut dynamics = Dynamics::new(model);
        if motion::poses(&mut dynamics, state, &mut poses).is_ok() {
            subject.insert("poses".into(), encode::f32s(poses).into());
        }
        if model.nv() <= LARGE
            && let Ok(matrices) = engine::matrices(model, state)
        {
            subject.insert("matrices".into(), matrices);
        }
        subject.insert("findings".into(), engine::findings(model, state));
        Subject(subject)
    }

    /// Adds the shapes that a model file shows.
    #[must_use]
    pub fn with_visuals(mut self, visuals: &[Visual]) -> Self {
        if !visuals.is_empty() {
            let list: Value = visuals.iter().map(Visual::to_json).collect();
            self.0.insert("visuals".into(), list);
        }
        self
    }

    /// Adds the equations of motion as a separate page.
    #[must_use]
    pub fn with_equations(mut self, equations: &str) -> Self {
        self.0.insert("equations".into(), equations.into());
        self
    }
}

/// A scene of subjects; `abilities` are what the page may request from its server.
pub fn scene(subjects: Vec<Subject>, abilities: &[&str]) -> Value {
    json!({
        "format": "catena-scene/1",
        "version": env!("CARGO_PKG_VERSION"),
        "abilities": abilities,
        "subjects": subjects.into_iter().map(|s| Value::Object(s.0)).collect::<Value>(),
    })
}

/// A word of a command as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+%@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Where a body's part ends, in its own frame: at the joints it carries, or at the farthest frame.
fn reaches(model: &Model) -> Vec<Vec<Vec3<f64>>> {
    let tree = model.tree();
    let mut reaches = vec![Vec::new(); model.body_count() + 1];
    for body in model.bodies() {
        if tree.bodies[body].kind != JointKind::Free {
            let at = model.placement(body).translation;
            if at.norm() > 0.0 {
                reaches[tree.bodies[body].parent].push(at);
            }
        }
    }
    for constraint in model.constraints() {
        if let Rule::Joint(closure)
        | Rule::Distance {
            between: closure, ..
        } = &constraint.rule
        {
            for (body, point) in [
                (closure.parent, closure.parent_from_joint.translation),
                (closure.child, closure.child_from_joint.translation),
            ] {
                if point.norm() > 0.0 {
                    reaches[body].push(point);
                }
            }
        }
    }
    for body in model.bodies() {
        if reaches[body].is_empty() {
            let ends = tree.frames.iter().filter(|f| f.body == body);
            let ends = ends.map(|f| f.body_from_frame.translation);
            reaches[body].extend(
                ends.chain([model.inertial(body).centre])
                    .filter(|p| p.norm() > 0.0)
                    .max_by(|a, b| a.norm().total_cmp(&b.norm())),
            );
        }
    }
    reaches
}

/// Axes of the joint that carries a body, in the body's own frame.
fn axes(kind: JointKind) -> Vec<[f64; 3]> {
    const X: [f64; 3] = [1.0, 0.0, 0.0];
    const Z: [f64; 3] = [0.0, 0.0, 1.0];
    match kind {
        JointKind::Fixed | JointKind::Spherical | JointKind::Free => vec![],
        // the first axis of a universal joint is fixed in the parent: the page draws it there
        JointKind::Universal => vec![X, Z],
        _ => vec![Z],
    }
}

fn model_json(model: &Model) -> Value {
    let tree = model.tree();
    let reaches = reaches(model);
    let bodies: Value = (0..=model.body_count())
        .map(|body| {
            let info = &tree.bodies[body];
            let mut entry = json!({
                "name": if body == 0 { "ground" } else { info.name.as_str() },
                "reaches": reaches[body].iter().map(|p| p.to_array()).collect::<Vec<_>>(),
            });
            if body > 0 {
                let inertial = model.inertial(body);
                entry["merged"] = info.merged.clone().into();
                entry["joint"] = info.joint.clone().into();
                entry["kind"] = info.kind.name().into();
                entry["parent"] = info.parent.into();
                entry["q"] = json!([info.q, info.q + info.kind.nq()]);
                entry["v"] = json!([info.v, info.v + info.kind.nv()]);
                entry["placement"] = encode::pose(&model.placement(body));
                entry["axes"] = json!(axes(info.kind));
                entry["mass"] = inertial.mass.into();
                let t = inertial.tensor;
                entry["inertia"] = json!([t.xx, t.yy, t.zz, t.xy, t.xz, t.yz]);
                entry["shape"] = shape::of(&inertial);
            }
            entry
        })
        .collect();
    let positions = position_of_freedom(model);
    let freedoms: Value = tree
        .dofs
        .iter()
        .enumerate()
        .map(|(k, dof)| {
            let numbers = model.dof(k);
            json!({
                "name": dof.name, "body": dof.body, "q": positions[k],
                "turns": dof.force_unit == "N·m",
                "unit": if dof.force_unit == "N·m" { "rad" } else { "m" },
                "force_unit": dof.force_unit,
                "limits": dof.limits.map(|(low, high)| [low, high]),
                "max_effort": dof.max_effort,
                "armature": numbers.armature, "damping": numbers.damping,
                "friction": numbers.friction, "stiffness": numbers.stiffness,
            })
        })
        .collect();
    let links = |name: &str| tree.bodies[1..].iter().any(|b| b.name == name);
    let frames: Value = tree
        .frames
        .iter()
        .map(|frame| {
            json!({
                "name": frame.name, "body": frame.body, "pose": encode::pose(&frame.body_from_frame),
                "is_link": links(&frame.name),
            })
        })
        .collect();
    json!({
        "name": model.name(),
        "gravity": model.gravity().to_array(),
        "mass": model.mass(),
        "nq": model.nq(),
        "nv": model.nv(),
        "base": if tree.is_free_floating() { "free" } else { "fixed" },
        "bodies": bodies,
        "freedoms": freedoms,
        "frames": frames,
        "constraints": model.constraints().iter().map(constraint).collect::<Value>(),
        "assumptions": tree.assumptions,
        "warnings": tree.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn constraint(constraint: &Constraint) -> Value {
    let mut entry = json!({
        "name": &*constraint.name,
        "kind": constraint.kind(),
        "rows": constraint.rows(),
    });
    if let Rule::Joint(closure)
    | Rule::Distance {
        between: closure, ..
    } = &constraint.rule
    {
        entry["bodies"] = json!([closure.parent, closure.child]);
        entry["poses"] = json!([
            encode::pose(&closure.parent_from_joint),
            encode::pose(&closure.child_from_joint)
        ]);
    }
    entry
}

/// For every freedom its position coordinate; none where a quaternion takes its place.
pub(crate) fn position_of_freedom(model: &Model) -> Vec<Option<usize>> {
    let mut positions = Vec::with_capacity(model.nv());
    for body in &model.tree().bodies[1..] {
        let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
        positions.extend((0..body.kind.nv()).map(|k| (k < plain).then_some(body.q + k)));
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::embedded;

    #[test]
    fn words_of_a_command_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("--q"), "--q");
        assert_eq!(quoted("my run.csv"), "'my run.csv'");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted(""), "''");
    }

    /// Every embedded model becomes a scene with a pose for every body.
    #[test]
    fn scenes_of_all_kinds_of_models() {
        for name in [
            "planar3",
            "stanford",
            "space-robot",
            "zoo",
            "pendulum-5",
            "four-bar-2",
            "stewart",
            "governor",
        ] {
            let model = embedded::model(name).expect("an embedded model");
            let scene = scene(vec![Subject::of_model(name, &model)], &[]);
            let subject = &scene["subjects"][0];
            let bodies = subject["model"]["bodies"].as_array().expect("bodies");
            assert_eq!(bodies.len(), model.body_count() + 1, "{name}");
            let poses = subject["poses"].as_str().expect("poses").len();
            assert_eq!(poses, (28 * bodies.len()).div_ceil(3) * 4, "{name}");
            assert!(bodies[1..].iter().all(|b| b["parent"].is_u64()));
        }
    }
}
