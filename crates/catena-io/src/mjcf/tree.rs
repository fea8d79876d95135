//! A model file and the files it includes, as one tree of elements.

use crate::document::read_text;
use crate::files;
use crate::lines::Lines;
use crate::xml;
use catena::error::{Error, ErrorKind, Place, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Most levels of elements within each other.
const MOST_LEVELS: usize = 20_000;

/// An element of a file.
struct Element {
    tag: String,
    attributes: Vec<(String, String)>,
    parent: usize,
    children: Vec<usize>,
    place: Place,
}

/// All elements; the first is the root.
pub(super) struct Tree {
    elements: Vec<Element>,
    /// Where the main file is: other files are named relative to it.
    folder: PathBuf,
    included: HashSet<PathBuf>,
}

/// One element of a tree.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    tree: &'t Tree,
    index: usize,
}

impl Tree {
    /// The tree of a text and of what it includes.
    pub(super) fn read(text: &str, lines: &Lines) -> Result<Tree> {
        let main = PathBuf::from(&*lines.file());
        let mut tree = Tree {
            elements: Vec::new(),
            folder: main.parent().map(Path::to_path_buf).unwrap_or_default(),
            included: HashSet::from([main]),
        };
        let document = xml::parse(text, lines, "MJCF")?;
        let root = document.root_element();
        tree.push(root, 0, lines);
        tree.graft(root, 0, lines, 1)?;
        Ok(tree)
    }

    /// The root element.
    pub(super) fn root(&self) -> Node<'_> {
        Node {
            tree: self,
            index: 0,
        }
    }

    /// The folder of the main file.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn push(&mut self, node: roxmltree::Node<'_, '_>, parent: usize, lines: &Lines) -> usize {
        let plain = node.attributes().filter(|a| a.namespace().is_none());
        self.elements.push(Element {
            tag: node.tag_name().name().into(),
            attributes: plain.map(|a| (a.name().into(), a.value().into())).collect(),
            parent,
            children: Vec::new(),
            place: lines.place(node.range().start),
        });
        self.elements.len() - 1
    }

    /// Copies what is inside `node` under the element `parent`, `level` levels down.
    fn graft(
        &mut self,
        node: roxmltree::Node<'_, '_>,
        parent: usize,
        lines: &Lines,
        level: usize,
    ) -> Result<()> {
        // without recursion: the nesting may be deep
        let first = node.first_element_child();
        let mut next = first.map(|child| (child, parent, level));
        let mut later = Vec::new();
        while let Some((child, parent, level)) = next.take().or_else(|| later.pop()) {
            if level > MOST_LEVELS {
                let message = format!("elements are nested more than {MOST_LEVELS} levels deep");
                let place = lines.place(child.range().start);
                return Err(Error::new(ErrorKind::Unsupported, message).at(place));
            }
            if let Some(sibling) = child.next_sibling_element() {
                later.push((sibling, parent, level));
            }
            if child.tag_name().name() == "include" {
                self.include(child, parent, lines, level)?;
            } else {
                let index = self.push(child, parent, lines);
                self.elements[parent].children.push(index);
                let first = child.first_element_child();
                next = first.map(|grandchild| (grandchild, index, level + 1));
            }
        }
        Ok(())
    }

    /// Puts the elements of another file in the place of `<include>`.
    fn include(
        &mut self,
        element: roxmltree::Node<'_, '_>,
        parent: usize,
        lines: &Lines,
        level: usize,
    ) -> Result<()> {
        let place = lines.place(element.range().start);
        let Some(file) = element.attribute("file") else {
            let message = "<include> has no attribute `file`";
            return Err(Error::new(ErrorKind::Syntax, message).at(place));
        };
        let beside_main = self.folder.join(file);
        let beside_this = Path::new(&*lines.file())
            .parent()
            .map(|folder| folder.join(file));
        let path = match beside_this {
            Some(path) if files::size(&beside_main).is_none() && files::size(&path).is_some() => {
                path
            }
            _ => beside_main,
        };
        if !self.included.insert(path.clone()) {
            let message = format!("`{file}` is included a second time");
            return Err(Error::new(ErrorKind::Model, message)
                .at(place)
                .hint("a file can be included once in a model"));
        }
        let file_name = path.display().to_string();
        if files::size(&path).is_none() {
            let message = format!("the included file `{file}` does not exist");
            return Err(Error::new(ErrorKind::File, message)
                .at(place)
                .hint("names of included files are relative to the main file"));
        }
        let text = read_text(&path, &file_name)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines = Lines::new(&file_name, text);
        let document = xml::parse(text, &lines, "MJCF")?;
        self.graft(document.root_element(), parent, &lines, level)
    }
}

impl<'t> Node<'t> {
    /// Name of the element.
    pub(super) fn tag(self) -> &'t str {
        &self.element().tag
    }

    /// Its children in their order.
    pub(super) fn children(self) -> impl DoubleEndedIterator<Item = Node<'t>> + use<'t> {
        let tree = self.tree;
        let children = self.element().children.iter();
        children.map(move |&index| Node { tree, index })
    }

    /// The children with this name.
    pub(super) fn all(self, tag: &'static str) -> impl DoubleEndedIterator<Item = Node<'t>> {
        self.children().filter(move |child| child.tag() == tag)
    }

    /// What an attribute is set to.
    pub(super) fn attribute(self, key: &str) -> Option<&'t str> {
        let mut attributes = self.attributes();
        attributes.find(|(name, _)| *name == key).map(|(_, v)| v)
    }

    /// Names and values of its attributes.
    pub(super) fn attributes(self) -> impl Iterator<Item = (&'t str, &'t str)> {
        let attributes = self.element().attributes.iter();
        attributes.map(|(name, value)| (&name[..], &value[..]))
    }

    /// File and line.
    pub(super) fn place(self) -> &'t Place {
        &self.element().place
    }

    /// "joint `elbow`", "<geom> of body `arm`".
    pub(super) fn describe(self) -> String {
        let tag = self.tag();
        if let Some(name) = self.attribute("name") {
            return format!("{tag} `{name}`");
        }
        let mut index = self.index;
        while index != 0 {
            index = self.tree.elements[index].parent;
            let owner = Node { index, ..self };
            if let Some(name) = owner.attribute("name").or(owner.attribute("class")) {
                return format!("<{tag}> of {} `{name}`", owner.tag());
            }
        }
        format!("<{tag}>")
    }

    /// An error about this element.
    pub(super) fn error(self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(self.place().clone())
    }

    fn element(self) -> &'t Element {
        &self.tree.elements[self.index]
    }
}
