//! Elements of one or more XML files as one tree, each with its location.

use crate::lines::Lines;
use catena::error::{Error, ErrorKind, Place};

/// An element of a file.
struct Element {
    tag: String,
    attributes: Vec<(String, String)>,
    text: String,
    parent: usize,
    children: Vec<usize>,
    place: Place,
}

/// All elements; the first is the root.
#[derive(Default)]
pub(crate) struct Tree {
    elements: Vec<Element>,
}

/// One element of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Node<'t> {
    tree: &'t Tree,
    index: usize,
}

impl Tree {
    /// The root element.
    pub(crate) fn root(&self) -> Node<'_> {
        Node {
            tree: self,
            index: 0,
        }
    }

    /// Adds a copy of an element, without its children, that is the root or will be in `parent`. An element with a prefix keeps it in
    /// its name; attributes with one are left out: they belong to another vocabulary.
    pub(crate) fn push(
        &mut self,
        node: roxmltree::Node<'_, '_>,
        parent: usize,
        lines: &Lines,
    ) -> usize {
        let name = node.tag_name();
        let prefix = name.namespace().and_then(|uri| node.lookup_prefix(uri));
        let plain = node.attributes().filter(|a| a.namespace().is_none());
        self.elements.push(Element {
            tag: match prefix {
                Some(prefix) if !prefix.is_empty() => format!("{prefix}:{}", name.name()),
                _ => name.name().into(),
            },
            attributes: plain.map(|a| (a.name().into(), a.value().into())).collect(),
            text: node.text().unwrap_or_default().trim().into(),
            parent,
            children: Vec::new(),
            place: lines.place(node.range().start),
        });
        self.elements.len() - 1
    }

    /// Appends an element to another.
    pub(crate) fn adopt(&mut self, parent: usize, child: usize) {
        self.elements[parent].children.push(child);
    }
}

impl<'t> Node<'t> {
    /// Name of the element.
    pub(crate) fn tag(self) -> &'t str {
        &self.element().tag
    }

    /// Its text up to its first child, without the space around it.
    pub(crate) fn text(self) -> &'t str {
        &self.element().text
    }

    /// Its children in their order.
    pub(crate) fn children(self) -> impl DoubleEndedIterator<Item = Node<'t>> + use<'t> {
        let tree = self.tree;
        let children = self.element().children.iter();
        children.map(move |&index| Node { tree, index })
    }

    /// The children with this name.
    pub(crate) fn all(self, tag: &'static str) -> impl DoubleEndedIterator<Item = Node<'t>> {
        self.children().filter(move |child| child.tag() == tag)
    }

    /// The first child with this name.
    pub(crate) fn first(self, tag: &'static str) -> Option<Node<'t>> {
        self.all(tag).next()
    }

    /// The value of an attribute.
    pub(crate) fn attribute(self, key: &str) -> Option<&'t str> {
        let mut attributes = self.attributes();
        attributes.find(|(name, _)| *name == key).map(|(_, v)| v)
    }

    /// Names and values of its attributes.
    pub(crate) fn attributes(self) -> impl Iterator<Item = (&'t str, &'t str)> {
        let attributes = self.element().attributes.iter();
        attributes.map(|(name, value)| (&name[..], &value[..]))
    }

    /// File and line.
    pub(crate) fn place(self) -> &'t Place {
        &self.element().place
    }

    /// "joint `elbow`", "<geom> of body `arm`".
    pub(crate) fn describe(self) -> String {
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
    pub(crate) fn error(self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(self.place().clone())
    }

    fn element(self) -> &'t Element {
        &self.tree.elements[self.index]
    }
}
