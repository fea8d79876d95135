//! Numbers of a model by path: `link.hand.mass`, `joint.*.friction`, `joint.elbow.origin.z`, `gravity`.
//!
//! Paths are those of catena's own format (docs/model-format.md): the model is written in it, the number replaced, and the text read
//! again, so that every number the format knows can vary, and is checked as in a file.

use crate::study::PathText;
use catena::ModelBuilder;
use catena::error::{Error, ErrorKind, Result};
use catena_io::ReadOptions;
use catena_io::document::advice;
use serde_json::Value;

/// The lists of a model whose items have names.
const KINDS: &[&str] = &[
    "link",
    "joint",
    "frame",
    "constraint",
    "actuator",
    "force",
    "sensor",
];

/// Numbers in a model that a path refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointer {
    /// JSON pointers.
    targets: Vec<String>,
    /// Whether it is the length of a vector.
    is_length: bool,
}

/// A model in catena's own format, whose numbers may be changed.
#[derive(Clone, Debug)]
pub struct ModelText {
    tree: Value,
    name: String,
    options: ReadOptions,
}

impl ModelText {
    /// A model; the name appears in messages.
    pub fn new(builder: &ModelBuilder, name: &str) -> Result<Self> {
        let text = catena_io::to_json(builder);
        let tree = serde_json::from_str(&text).map_err(|error| {
            let message = format!("the model cannot be written as JSON: {error}");
            Error::new(ErrorKind::Model, message)
        })?;
        let options = ReadOptions {
            strict: builder.strict,
            ..ReadOptions::default()
        };
        Ok(ModelText {
            tree,
            name: name.into(),
            options,
        })
    }

    /// The model as text.
    pub fn text(&self) -> String {
        self.tree.to_string()
    }

    /// Whether a path refers to a model.
    pub fn is_path(path: &str) -> bool {
        let first = path.split('.').next().unwrap_or_default();
        first == "gravity" || KINDS.contains(&first)
    }

    /// Resolves a path; `relative` if the numbers will be multiplied.
    pub fn find(&self, path: &PathText, relative: bool) -> Result<Pointer> {
        self.targets(&path.text, relative)
            .map_err(|error| error.at(path.place.clone()))
    }

    fn targets(&self, path: &str, relative: bool) -> Result<Pointer> {
        let refuse =
            |message: String, hint: String| Error::new(ErrorKind::Syntax, message).hint(hint);
        let (kind, rest) = path.split_once('.').unwrap_or((path, ""));
        if kind == "gravity" {
            let is_length = rest.is_empty();
            let target = match is_length {
                true => "/gravity".to_string(),
                false => component(&self.tree, "/gravity".into(), path, rest)?,
            };
            return Ok(Pointer {
                targets: vec![target],
                is_length: is_length && !relative,
            });
        }
        if !KINDS.contains(&kind) {
            let hint = format!("{}; or gravity, q.NAME, v.NAME", advice(kind, KINDS));
            return Err(refuse(format!("`{path}`: a model has no `{kind}`"), hint));
        }
        let items = self.tree[kind].as_array().map_or(&[][..], Vec::as_slice);
        let names: Vec<&str> = items
            .iter()
            .filter_map(|item| item["name"].as_str())
            .collect();
        let after = |name: &str| rest.strip_prefix(name)?.strip_prefix('.');
        let (chosen, key) = if let Some(key) = after("*") {
            ((0..items.len()).collect(), key)
        } else {
            // names may contain dots: the longest match counts
            let fits = (0..names.len()).filter(|&k| after(names[k]).is_some());
            let Some(best) = fits.max_by_key(|&k| names[k].len()) else {
                let name = rest.rsplit_once('.').map_or(rest, |(name, _)| name);
                let message = match names.contains(&rest) {
                    true => format!("`{path}` names a {kind}, but none of its numbers"),
                    false => format!("`{path}`: there is no {kind} `{name}`"),
                };
                let hint = match names.contains(&rest) {
                    true => format!("write {path}.KEY with a key of docs/model-format.md"),
                    false => advice(name, &names),
                };
                return Err(refuse(message, hint));
            };
            (vec![best], after(names[best]).unwrap_or_default())
        };
        let (key, part) = key
            .split_once('.')
            .map_or((key, None), |(key, part)| (key, Some(part)));
        let mut targets = Vec::new();
        for k in chosen {
            let item = &items[k];
            let pointer = format!("/{kind}/{k}/{key}");
            match (item.get(key), part) {
                (Some(_), Some(part)) => targets.push(component(&self.tree, pointer, path, part)?),
                (Some(there), None) if there.is_number() || relative && there.is_array() => {
                    targets.push(pointer)
                }
                (Some(_), None) => {
                    let hint = format!("name one of them: {path}.x or {path}.0");
                    return Err(refuse(format!("`{path}` is not one number"), hint));
                }
                // an item of `*` that has no such number stays without one if it would be multiplied
                (None, _) if relative && rest.starts_with("*.") => {}
                (None, _) if relative => {
                    let hint = "leave out `relative`, or give the model a value".to_string();
                    return Err(refuse(
                        format!("`{path}` has no value that could be multiplied"),
                        hint,
                    ));
                }
                (None, _) => match self.expect_key(&pointer, path) {
                    Ok(()) => targets.push(pointer),
                    // `*` means the items that can have it: for example, not a fixed joint
                    Err(error) if rest.starts_with("*.") && has_no_meaning(&error) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        match targets.is_empty() {
            true => {
                let hint = format!("no {kind} of `{}` has this number", self.name);
                Err(refuse(
                    format!("`{path}` does not exist in the model"),
                    hint,
                ))
            }
            false => Ok(Pointer {
                targets,
                is_length: false,
            }),
        }
    }

    /// Checks that a number absent from the model is one that the format has.
    fn expect_key(&self, pointer: &str, path: &str) -> Result<()> {
        let mut tree = self.tree.clone();
        put(&mut tree, pointer, |_| Some(1.0));
        let read = catena_io::builder_from_json(&tree.to_string(), &self.name, &self.options);
        match read {
            Err(error) if error.message().starts_with("unknown key") || has_no_meaning(&error) => {
                let message = format!("`{path}`: {}", error.message());
                let hint = error
                    .advice()
                    .unwrap_or("docs/model-format.md lists the keys");
                Err(Error::new(ErrorKind::Syntax, message).hint(hint))
            }
            _ => Ok(()),
        }
    }

    /// The model with these numbers. Each comes with its destinations, and whether it multiplies the existing numbers.
    pub fn with(&self, changes: &[(&Pointer, bool, f64)]) -> Result<ModelBuilder> {
        let mut tree = self.tree.clone();
        for (pointer, relative, value) in changes {
            if pointer.is_length {
                scale_gravity(&mut tree, *value)?;
                continue;
            }
            for target in &pointer.targets {
                put(&mut tree, target, |old| match relative {
                    true => old.map(|old| old * value),
                    false => Some(*value),
                });
            }
        }
        catena_io::builder_from_json(&tree.to_string(), &self.name, &self.options)
    }
}

/// Does the reader reject a key because of the kind of its owner?
fn has_no_meaning(error: &Error) -> bool {
    error.message().contains("has no meaning")
}

/// The pointer to a component of a list of numbers.
fn component(tree: &Value, pointer: String, path: &str, part: &str) -> Result<String> {
    const NAMES: [&[&str]; 3] = [&["x", "xx", "lower"], &["y", "yy", "upper"], &["z", "zz"]];
    const ROWS: [(&str, &str); 6] = [
        ("xx", "0/0"),
        ("yy", "1/1"),
        ("zz", "2/2"),
        ("xy", "0/1"),
        ("xz", "0/2"),
        ("yz", "1/2"),
    ];
    let place = match part.parse::<usize>() {
        Ok(index) => Some(index.to_string()),
        Err(_) => {
            let index = NAMES.iter().position(|names| names.contains(&part));
            let entry = ROWS.iter().find(|(name, _)| *name == part);
            let is_matrix = tree
                .pointer(&format!("{pointer}/0"))
                .is_some_and(Value::is_array);
            match is_matrix {
                true => entry.map(|(_, place)| place.to_string()),
                false => index.map(|index| index.to_string()),
            }
        }
    };
    let found = place.map(|place| format!("{pointer}/{place}"));
    found
        .filter(|found| tree.pointer(found).is_some_and(Value::is_number))
        .ok_or_else(|| {
            let message = format!("`{path}`: there is no component `{part}`");
            Error::new(ErrorKind::Syntax, message)
                .hint("components are x, y, z (or 0, 1, 2); xx, yy, zz of an inertia; lower and upper of limits")
        })
}

/// Replaces a number, or all numbers of a list. The pointer refers to an existing value, or to a key that its object does not have yet.
fn put(tree: &mut Value, pointer: &str, new: impl Fn(Option<f64>) -> Option<f64> + Copy) {
    fn numbers(value: &mut Value, new: impl Fn(Option<f64>) -> Option<f64> + Copy) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|item| numbers(item, new)),
            other => {
                if let Some(number) = new(other.as_f64()) {
                    *other = number.into();
                }
            }
        }
    }
    // the inertia is symmetric: the entry on the other side of the diagonal is the same
    if let Some(matrix) = pointer.find("/inertia/") {
        let (owner, entry) = pointer.split_at(matrix + "/inertia/".len());
        if let Some((row, column)) = entry.split_once('/').filter(|(row, column)| row != column) {
            let mirrored = format!("{owner}{column}/{row}");
            if let Some(value) = tree.pointer_mut(&mirrored) {
                numbers(value, new);
            }
        }
    }
    if let Some(value) = tree.pointer_mut(pointer) {
        numbers(value, new);
    } else if let Some((owner, key)) = pointer.rsplit_once('/')
        && let Some(Value::Object(object)) = tree.pointer_mut(owner)
        && let Some(number) = new(None)
    {
        object.insert(key.into(), number.into());
    }
}

/// Sets the magnitude of gravity, keeping its direction.
fn scale_gravity(tree: &mut Value, magnitude: f64) -> Result<()> {
    let old = tree["gravity"].as_array().into_iter().flatten();
    let length = old
        .filter_map(Value::as_f64)
        .map(|x| x * x)
        .sum::<f64>()
        .sqrt();
    if length == 0.0 {
        let message = "gravity is zero and has no direction to vary along";
        return Err(Error::new(ErrorKind::Model, message).hint("vary gravity.z"));
    }
    put(tree, "/gravity", |old| {
        old.map(|x| x * (magnitude / length))
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::error::Place;
    use catena::model::embedded;

    fn stanford() -> ModelText {
        let builder = embedded::builder("stanford").expect("embedded");
        ModelText::new(&builder, "stanford").expect("a model")
    }

    fn path(text: &str) -> PathText {
        PathText {
            text: text.into(),
            place: Place::new("study.toml", 3),
        }
    }

    #[test]
    fn numbers_are_found_and_changed() {
        let model = stanford();
        let find = |text, relative| model.find(&path(text), relative).expect(text);
        let mass = find("link.link6.mass", false);
        let centre = find("link.link4.centre.y", false);
        let damping = find("joint.*.damping", false);
        let inertia = find("link.link1.inertia", true);
        let gravity = find("gravity", false);
        let builder = model
            .with(&[
                (&mass, false, 1.25),
                (&centre, false, -0.5),
                (&damping, false, 0.75),
                (&inertia, true, 2.0),
                (&gravity, false, 1.62),
            ])
            .expect("a model");
        let link = |k: usize| builder.links[k].inertial.expect("a mass");
        assert_eq!(link(5).mass, 1.25);
        assert_eq!(link(3).centre.to_array(), [0.0, -0.5, 0.0]);
        assert!(
            builder
                .joints
                .iter()
                .all(|joint| joint.dofs[0].damping == 0.75)
        );
        assert_eq!(link(0).tensor.xx, 0.02);
        assert!((builder.gravity.to_array()[2] + 1.62).abs() < 1e-15);
        // and nothing else
        assert_eq!(link(1).mass, 6.0);
    }

    /// `*` skips items that cannot have the number; by name they are an error.
    #[test]
    fn fixed_joints_have_no_friction() {
        let text = r#"{"format": "catena/1", "link": [{"name": "a"}, {"name": "b", "mass": 1}], "joint": [
            {"name": "weld", "type": "fixed", "child": "a"}, {"name": "hinge", "type": "revolute", "child": "b"}]}"#;
        let builder = catena_io::builder_from_json(text, "b.json", &ReadOptions::default());
        let model = ModelText::new(&builder.expect("a model"), "b").expect("a model");
        let all = model.find(&path("joint.*.friction"), false).expect("one");
        assert_eq!(all.targets.len(), 1);
        let error = model
            .find(&path("joint.weld.friction"), false)
            .expect_err("fixed");
        assert!(error.message().contains("has no meaning"), "{error}");
    }

    #[test]
    fn mistakes() {
        let model = stanford();
        for (text, relative, message, hint) in [
            (
                "lnk.a.mass",
                false,
                "`lnk.a.mass`: a model has no `lnk`",
                "did you mean `link`?",
            ),
            (
                "link.link7.mass",
                false,
                "there is no link `link7`",
                "did you mean `link",
            ),
            (
                "link.link1",
                false,
                "names a link, but none of its numbers",
                "link.link1.KEY",
            ),
            (
                "joint.joint1.dampnig",
                false,
                "unknown key `dampnig`",
                "did you mean `damping`?",
            ),
            (
                "link.link1.centre",
                false,
                "is not one number",
                "link.link1.centre.x",
            ),
            ("link.link1.centre.w", false, "no component `w`", "x, y, z"),
            (
                "joint.joint1.damping",
                true,
                "no value that could be multiplied",
                "relative",
            ),
        ] {
            let error = model.find(&path(text), relative).expect_err(text);
            assert!(error.message().contains(message), "{error}");
            assert!(error.advice().unwrap_or_default().contains(hint), "{error}");
            assert_eq!(error.place().line, Some(3));
        }
    }
}
