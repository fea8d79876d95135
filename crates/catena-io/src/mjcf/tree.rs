//! A model file and the files it includes, as one tree of elements.

use crate::document::read_text;
pub(super) use crate::element_tree::Node;
use crate::element_tree::Tree as Elements;
use crate::files;
use crate::lines::Lines;
use crate::xml;
use catena::error::{Error, ErrorKind, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Maximum number of levels of nested elements.
const MOST_LEVELS: usize = 20_000;

/// A model file with what it includes.
pub(super) struct Tree {
    elements: Elements,
    /// Folder of the main file: other files are relative to it.
    folder: PathBuf,
    included: HashSet<PathBuf>,
}

impl Tree {
    /// The elements of a text and of the files it includes.
    pub(super) fn read(text: &str, lines: &Lines) -> Result<Tree> {
        let main = PathBuf::from(&*lines.file());
        let mut tree = Tree {
            elements: Elements::default(),
            folder: main.parent().map(Path::to_path_buf).unwrap_or_default(),
            included: HashSet::from([main]),
        };
        let document = xml::parse(text, lines, "MJCF")?;
        let root = document.root_element();
        tree.elements.push(root, 0, lines);
        tree.graft(root, 0, lines, 1)?;
        Ok(tree)
    }

    /// The root element.
    pub(super) fn root(&self) -> Node<'_> {
        self.elements.root()
    }

    /// The folder of the main file.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Copies the contents of `node` under the element `parent`, `level` levels down.
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
                let index = self.elements.push(child, parent, lines);
                self.elements.adopt(parent, index);
                let first = child.first_element_child();
                next = first.map(|grandchild| (grandchild, index, level + 1));
            }
        }
        Ok(())
    }

    /// Replaces `<include>` with the elements of another file.
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
