//! Frames: of the world, of models, links and joints, and `<frame>` itself.
//!
//! Every frame has a pose relative to another one, which places it, and is attached to another one, with which it moves. Names are
//! looked up in the scope of a model, those of nested models as `model::name`.
//!
//! | frame | relative to, by default | attached to |
//! |---|---|---|
//! | model | the frame of the model or world around it | its canonical link; the world if it is static |
//! | link | the frame of its model | itself |
//! | joint | its child | its child |
//! | frame | what it is attached to | the frame of its model, by default |
//!
//! The pose of a model with a placement frame is that of the placement frame.

use super::values::Placed;
use super::version::Version;
use crate::element_tree::Node;
use crate::nearest::nearest;
use catena::error::{Error, ErrorKind, Result};
use catena::spatial::Pose;
use std::collections::HashMap;

/// The item to which a frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    World,
    Model,
    Link,
    Joint,
    Frame,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::World => "world",
            Kind::Model => "model",
            Kind::Link => "link",
            Kind::Joint => "joint",
            Kind::Frame => "frame",
        }
    }
}

/// A frame.
pub(super) struct Frame<'t> {
    pub(super) kind: Kind,
    /// Name within its scope.
    pub(super) name: String,
    /// The scope in which it is declared and its references are looked up.
    pub(super) scope: usize,
    pub(super) node: Node<'t>,
    /// For a model: the scope of its contents.
    pub(super) inner: Option<usize>,
    placed: Placed<'t>,
    /// The frame its pose is relative to.
    base: usize,
    /// Its pose in that frame.
    pose: Pose<f64>,
    /// The frame it is attached to; once all are known, the link or world at the end of that chain.
    attached: usize,
    /// Number of poses from the world to it.
    depth: usize,
}

/// The frames that can be named in a model, or in the world.
pub(super) struct Scope<'t> {
    /// The frame of the model or world.
    pub(super) frame: usize,
    pub(super) version: Version,
    /// Whether nothing in it moves.
    pub(super) is_static: bool,
    /// Prefix of the names in it, for the whole model.
    prefix: String,
    /// The scope in which its names are: another one for a model that is merged into it.
    names_in: usize,
    names: HashMap<String, usize>,
    canonical: Option<&'t str>,
    placement: Option<&'t str>,
    /// The first link, otherwise the first model in it.
    first: Option<usize>,
}

/// A model that is about to be declared.
pub(super) struct NewModel<'t> {
    pub(super) name: String,
    pub(super) node: Node<'t>,
    pub(super) placed: Placed<'t>,
    pub(super) placement: Option<&'t str>,
    pub(super) version: Version,
    pub(super) is_static: bool,
    /// Its contents belong to the model around it.
    pub(super) is_merged: bool,
}

/// All frames of a file; the first is that of the world.
pub(super) struct Frames<'t> {
    pub(super) all: Vec<Frame<'t>>,
    pub(super) scopes: Vec<Scope<'t>>,
}

/// The frame of the world, and its scope.
pub(super) const WORLD: usize = 0;

impl<'t> Frames<'t> {
    /// The frames of an empty world.
    pub(super) fn new(root: Node<'t>, version: Version) -> Self {
        let nowhere = Placed {
            pose: Pose::identity(),
            relative_to: None,
        };
        Frames {
            all: vec![Frame {
                kind: Kind::World,
                name: "world".into(),
                scope: WORLD,
                node: root,
                inner: Some(WORLD),
                placed: nowhere,
                base: WORLD,
                pose: Pose::identity(),
                attached: WORLD,
                depth: 0,
            }],
            scopes: vec![Scope {
                frame: WORLD,
                version,
                is_static: false,
                prefix: String::new(),
                names_in: WORLD,
                names: HashMap::new(),
                canonical: None,
                placement: None,
                first: None,
            }],
        }
    }

    /// Adds the frame of a link, joint or `<frame>`.
    pub(super) fn declare(
        &mut self,
        kind: Kind,
        name: &str,
        scope: usize,
        node: Node<'t>,
        placed: Placed<'t>,
    ) -> Result<usize> {
        let index = self.all.len();
        let names_in = self.scopes[scope].names_in;
        let version = self.scopes[scope].version;
        self.expect_free(name, kind, names_in, node, version)?;
        let taken = self.scopes[names_in].names.get(name);
        // before frames could be named, only links were referred to
        let hides = taken.is_none_or(|&old| self.all[old].kind != Kind::Link);
        if hides {
            self.scopes[names_in].names.insert(name.into(), index);
        }
        if kind == Kind::Link {
            let first = self.scopes[scope].first;
            if first.is_none_or(|first| self.all[first].kind != Kind::Link) {
                self.scopes[scope].first = Some(index);
            }
        }
        self.all.push(Frame {
            kind,
            name: name.into(),
            scope,
            node,
            inner: None,
            placed,
            base: WORLD,
            pose: placed.pose,
            attached: index,
            depth: 0,
        });
        Ok(index)
    }

    /// Adds the frame of a model and its scope, which is returned.
    pub(super) fn declare_model(&mut self, model: NewModel<'t>, scope: usize) -> Result<usize> {
        let name = match model.is_merged {
            true => format!("_merged__{}__model__", model.name),
            false => model.name.clone(),
        };
        let index = self.declare(Kind::Model, &name, scope, model.node, model.placed)?;
        let inner = self.scopes.len();
        self.all[index].inner = Some(inner);
        self.scopes.push(Scope {
            frame: index,
            version: model.version,
            is_static: model.is_static || self.scopes[scope].is_static,
            prefix: String::new(),
            names_in: match model.is_merged {
                true => self.scopes[scope].names_in,
                false => inner,
            },
            names: HashMap::new(),
            canonical: model
                .node
                .attribute("canonical_link")
                .filter(|name| !name.is_empty()),
            placement: model.placement,
            first: None,
        });
        let first = &mut self.scopes[scope].first;
        if first.is_none() {
            *first = Some(index);
        }
        Ok(inner)
    }

    /// Checks that a name is free: names are unique from version 1.7 on; before, items of different kinds could share one.
    fn expect_free(
        &self,
        name: &str,
        kind: Kind,
        scope: usize,
        node: Node<'_>,
        version: Version,
    ) -> Result<()> {
        let reserved = name == "world" || name.starts_with("__") && name.ends_with("__");
        if reserved {
            let message = format!("a {} cannot be called `{name}`", kind.name());
            let error = node.error(ErrorKind::Model, message);
            return Err(error.hint("`world` and names between two `__` are those of the format"));
        }
        let Some(&old) = self.scopes[scope].names.get(name) else {
            return Ok(());
        };
        let old = &self.all[old];
        if old.kind != kind && !version.has_frames() {
            return Ok(());
        }
        let message = match old.kind == kind {
            true => format!("two {}s are called `{name}`", kind.name()),
            false => format!(
                "a {} and a {} are called `{name}`",
                old.kind.name(),
                kind.name()
            ),
        };
        let error = node.error(ErrorKind::Model, message);
        Err(error.hint(format!(
            "the other one is at {}; links, joints, frames and models in a model have different names",
            old.node.place()
        )))
    }

    /// The frame with this name in a scope. The world has no name in a model: `of` says what the frame is for.
    pub(super) fn find(&self, scope: usize, name: &str, node: Node<'_>, of: &str) -> Result<usize> {
        if let Some(found) = self.look_up(scope, name) {
            return Ok(found);
        }
        let message = format!("{}: there is no frame `{name}` {of}", node.describe());
        let error = node.error(ErrorKind::Model, message);
        if name == "world" {
            return Err(error.hint(
                "the world has a name outside of models, and as the parent of joints; `__model__` is the frame of the model",
            ));
        }
        let names = &self.scopes[self.scopes[scope].names_in].names;
        let mut known: Vec<&str> = names.keys().map(|name| &name[..]).collect();
        known.sort_unstable();
        Err(match nearest(name, &known) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(
                "links, joints, frames and models of the same model can be named, those of a nested model as `model::name`",
            ),
        })
    }

    fn look_up(&self, scope: usize, name: &str) -> Option<usize> {
        let (mut scope, mut name) = (scope, name);
        loop {
            let here = &self.scopes[scope];
            if name == "__model__" && scope != WORLD {
                return Some(here.frame);
            }
            if name == "world" && scope == WORLD {
                return Some(WORLD);
            }
            if let Some(&found) = self.scopes[here.names_in].names.get(name) {
                return Some(found);
            }
            let (model, rest) = name.split_once("::")?;
            let model = *self.scopes[here.names_in].names.get(model)?;
            (scope, name) = (self.all[model].inner?, rest);
        }
    }

    /// Finds what all frames are attached and relative to, and places them.
    pub(super) fn resolve(&mut self) -> Result<()> {
        for index in 1..self.all.len() {
            let attached = self.attached_to(index)?;
            self.all[index].attached = attached;
        }
        for index in 1..self.all.len() {
            let base = self.relative_to(index)?;
            self.all[index].base = base;
        }
        self.follow_attachments()?;
        self.depths()?;
        // inner models first
        for index in (1..self.all.len()).rev() {
            self.place_model(index)?;
        }
        Ok(())
    }

    fn attached_to(&self, index: usize) -> Result<usize> {
        let Frame {
            kind, scope, node, ..
        } = self.all[index];
        match kind {
            Kind::World | Kind::Link => Ok(index),
            Kind::Joint => self.end(index, "child"),
            Kind::Frame => match node.attribute("attached_to").filter(|to| !to.is_empty()) {
                Some(name) => self.find(scope, name, node, "to be attached to"),
                None => Ok(self.scopes[scope].frame),
            },
            Kind::Model => {
                let Some(inner) = self.all[index].inner else {
                    return Ok(WORLD);
                };
                let model = &self.scopes[inner];
                match (model.is_static, model.canonical) {
                    (true, _) => Ok(WORLD),
                    (false, Some(name)) => self.find(inner, name, node, "to be its canonical link"),
                    (false, None) => model.first.ok_or_else(|| {
                        let message = format!("model `{}` has no link", self.all[index].name);
                        node.error(ErrorKind::Model, message)
                            .hint("a model has a link, or a model with one, or is static")
                    }),
                }
            }
        }
    }

    /// The frame that is parent or child of a joint.
    pub(super) fn end(&self, joint: usize, role: &'static str) -> Result<usize> {
        let Frame { scope, node, .. } = self.all[joint];
        let name = super::values::text(node, role)?;
        if name == "world" {
            if role == "parent" {
                return Ok(WORLD);
            }
            let message = format!("{} has the world as its child", node.describe());
            let error = node.error(ErrorKind::Model, message);
            return Err(error.hint("exchange parent and child"));
        }
        self.find(scope, name, node, &format!("to be its {role}"))
    }

    fn relative_to(&self, index: usize) -> Result<usize> {
        let Frame {
            kind,
            scope,
            node,
            placed,
            attached,
            ..
        } = self.all[index];
        if let Some(name) = placed.relative_to {
            return self.find(scope, name, node, "for its pose to be relative to");
        }
        Ok(match kind {
            Kind::World => WORLD,
            Kind::Model | Kind::Link => self.scopes[scope].frame,
            Kind::Joint | Kind::Frame => attached,
        })
    }

    /// Attaches every frame to the link or world with which it moves; rejects frames that are attached to themselves.
    fn follow_attachments(&mut self) -> Result<()> {
        for index in 1..self.all.len() {
            let mut path = Vec::new();
            let mut at = index;
            while self.all[at].attached != at {
                path.push(at);
                at = self.all[at].attached;
                if path.len() > self.all.len() {
                    return Err(self.circle(index, "attached to"));
                }
            }
            for frame in path {
                self.all[frame].attached = at;
            }
        }
        Ok(())
    }

    /// Counts the poses from the world to every frame; rejects frames that are relative to themselves.
    fn depths(&mut self) -> Result<()> {
        for index in 1..self.all.len() {
            let mut path = vec![index];
            let mut at = index;
            // depth 0 is that of the world, and of frames not seen yet
            while self.all[at].depth == 0 && at != WORLD {
                at = self.all[at].base;
                path.push(at);
                if path.len() > self.all.len() + 1 {
                    return Err(self.circle(index, "relative to"));
                }
            }
            let mut depth = self.all[at].depth;
            for &frame in path.iter().rev().skip(1) {
                depth += 1;
                self.all[frame].depth = depth;
            }
        }
        Ok(())
    }

    fn circle(&self, index: usize, how: &str) -> Error {
        let frame = &self.all[index];
        let message = format!("{} `{}` is {how} itself", frame.kind.name(), frame.name);
        let error = frame.node.error(ErrorKind::Model, message);
        error.hint("follow its `relative_to` and `attached_to` from frame to frame")
    }

    /// Makes the pose of a model that of its placement frame.
    fn place_model(&mut self, index: usize) -> Result<()> {
        let Frame { node, inner, .. } = self.all[index];
        let Some((inner, name)) =
            inner.and_then(|inner| Some((inner, self.scopes[inner].placement?)))
        else {
            return Ok(());
        };
        let placement = self.find(inner, name, node, "to be its placement frame")?;
        let mut model_from_placement = Pose::identity();
        let mut at = placement;
        while at != index {
            if at == WORLD {
                let message = format!("placement frame `{name}` is not placed in its model");
                return Err(node.error(ErrorKind::Model, message));
            }
            model_from_placement = self.all[at].pose * model_from_placement;
            at = self.all[at].base;
        }
        let frame = &mut self.all[index];
        frame.pose = frame.placed.pose * model_from_placement.inverse();
        Ok(())
    }

    /// Pose of one frame in another.
    pub(super) fn between(&self, one: usize, other: usize) -> Pose<f64> {
        // up from both to the frame that they have in common
        let (mut from_one, mut from_other) = (Pose::identity(), Pose::identity());
        let (mut i, mut j) = (one, other);
        while i != j {
            if self.all[i].depth >= self.all[j].depth {
                from_one = self.all[i].pose * from_one;
                i = self.all[i].base;
            } else {
                from_other = self.all[j].pose * from_other;
                j = self.all[j].base;
            }
        }
        from_one.inverse() * from_other
    }

    /// The link, or the world, with which a frame moves.
    pub(super) fn moving(&self, index: usize) -> usize {
        self.all[index].attached
    }

    /// The models that are directly in a scope.
    pub(super) fn models_in(&self, scope: usize) -> Vec<usize> {
        let own = |index: &usize| {
            let frame = &self.all[*index];
            frame.kind == Kind::Model && frame.scope == scope
        };
        (1..self.all.len()).filter(own).collect()
    }

    /// Chooses the prefix of names: the names of the enclosing models, except that of the only model, or of the only one that moves.
    pub(super) fn choose_prefixes(&mut self) {
        let models = self.models_in(WORLD);
        let moves = |index: &&usize| {
            let inner = self.all[**index].inner;
            inner.is_some_and(|inner| !self.scopes[inner].is_static)
        };
        let moving: Vec<&usize> = models.iter().filter(moves).collect();
        let only = match (&models[..], &moving[..]) {
            (&[only], _) | (_, &[&only]) => Some(only),
            _ => None,
        };
        // a scope comes after the one around it
        for scope in 1..self.scopes.len() {
            let model = &self.all[self.scopes[scope].frame];
            let around = &self.scopes[model.scope].prefix;
            let is_merged = self.scopes[scope].names_in != scope;
            let prefix = match is_merged || only == Some(self.scopes[scope].frame) {
                true => around.clone(),
                false => format!("{around}{}::", model.name),
            };
            self.scopes[scope].prefix = prefix;
        }
    }

    /// The name of a frame in the whole model.
    pub(super) fn name(&self, index: usize) -> String {
        let frame = &self.all[index];
        format!("{}{}", self.scopes[frame.scope].prefix, frame.name)
    }
}
