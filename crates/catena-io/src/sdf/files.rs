//! A model file and the files it includes, as one tree: the root of an included file is a child of its `<include>`.

use super::version::Version;
use crate::document::read_text;
use crate::element_tree::Tree;
use crate::lines::Lines;
use crate::xml;
use catena::error::{Error, ErrorKind, Place, Result};
use std::path::{Path, PathBuf};

/// Most levels of elements within each other, included files counted in.
const MOST_LEVELS: usize = 200;
/// Most files that are included, one included twice counted twice.
const MOST_FILES: usize = 10_000;

/// Reads a text and what it includes.
pub(super) fn read(text: &str, lines: &Lines) -> Result<Tree> {
    let mut files = Files {
        tree: Tree::default(),
        open: vec![PathBuf::from(&*lines.file())],
        count: 0,
    };
    let document = xml::parse(text, lines, "SDF")?;
    files.copy(document.root_element(), None, lines, 1)?;
    Ok(files.tree)
}

struct Files {
    tree: Tree,
    /// The file that is read, behind those that include it.
    open: Vec<PathBuf>,
    count: usize,
}

impl Files {
    /// Copies an element with what is in it.
    fn copy(
        &mut self,
        node: roxmltree::Node<'_, '_>,
        parent: Option<usize>,
        lines: &Lines,
        level: usize,
    ) -> Result<()> {
        let place = lines.place(node.range().start);
        if level > MOST_LEVELS {
            let message = format!("elements are nested more than {MOST_LEVELS} levels deep");
            return Err(Error::new(ErrorKind::Unsupported, message).at(place));
        }
        let vocabulary = node.tag_name().namespace().unwrap_or_default();
        if vocabulary.contains("xacro") {
            let message = "macros of xacro are not expanded";
            let error = Error::new(ErrorKind::Unsupported, message).at(place);
            return Err(error.hint("expand them first: `xacro model.sdf.xacro > model.sdf`"));
        }
        let index = self.tree.push(node, parent.unwrap_or(0), lines);
        if let Some(parent) = parent {
            self.tree.adopt(parent, index);
        }
        for child in node.children().filter(roxmltree::Node::is_element) {
            self.copy(child, Some(index), lines, level + 1)?;
        }
        if node.tag_name().name() == "include" && holds_models(node) {
            self.include(node, index, place, level + 1)?;
        }
        Ok(())
    }

    /// Reads the file that `<include>` names.
    fn include(
        &mut self,
        node: roxmltree::Node<'_, '_>,
        index: usize,
        place: Place,
        level: usize,
    ) -> Result<()> {
        let uri = node
            .children()
            .find(|child| child.tag_name().name() == "uri")
            .and_then(|uri| uri.text())
            .unwrap_or_default()
            .trim();
        if uri.is_empty() {
            let message = "<include> has no <uri>";
            return Err(Error::new(ErrorKind::Syntax, message).at(place));
        }
        let path = self.find(uri, &place)?;
        let is_open = |open: &PathBuf| match (open.canonicalize(), path.canonicalize()) {
            (Ok(open), Ok(path)) => open == path,
            _ => *open == path,
        };
        if self.open.iter().any(is_open) {
            let message = format!("`{uri}` includes itself");
            return Err(Error::new(ErrorKind::Model, message).at(place));
        }
        self.count += 1;
        if self.count > MOST_FILES {
            let message = format!("more than {MOST_FILES} files are included");
            return Err(Error::new(ErrorKind::Unsupported, message).at(place));
        }
        let file_name = path.display().to_string();
        let text = read_text(&path, &file_name)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines = Lines::new(&file_name, text);
        let document = xml::parse(text, &lines, "SDF")?;
        let root = document.root_element();
        if root.tag_name().name() != "sdf" {
            let found = root.tag_name().name();
            let message = format!("an included file starts with <sdf>, `{uri}` with <{found}>");
            let error = Error::new(ErrorKind::Unsupported, message).at(place);
            return Err(error.hint("convert it first: `catena convert FILE -o FILE.sdf`"));
        }
        self.open.push(path);
        self.copy(root, Some(index), &lines, level)?;
        self.open.pop();
        Ok(())
    }

    /// The file of a URI. `model://NAME` and `package://NAME` are folders looked for beside the file and in the folders above it,
    /// and in the `models` of those.
    fn find(&self, uri: &str, place: &Place) -> Result<PathBuf> {
        let missing = |hint: String| {
            let message = format!("the included `{uri}` is not there");
            Error::new(ErrorKind::File, message)
                .at(place.clone())
                .hint(hint)
        };
        let file = self.open.last().map(PathBuf::as_path);
        let folder = match file.and_then(Path::parent) {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        if let Some((scheme @ ("model" | "package"), rest)) = uri.split_once("://") {
            let folder = folder.canonicalize().unwrap_or(folder);
            let found = folder.ancestors().find_map(|above| {
                let places = [above.join(rest), above.join("models").join(rest)];
                places.into_iter().find(|path| path.exists())
            });
            let found = found.ok_or_else(|| {
                let name = rest.split('/').next().unwrap_or(rest);
                missing(format!(
                    "{scheme}://{name} is a folder `{name}` or `models/{name}` beside the file or above it"
                ))
            })?;
            return in_folder(found, uri, place);
        }
        if let Some((scheme, _)) = uri
            .split_once("://")
            .filter(|(scheme, _)| *scheme != "file")
        {
            let message = format!("`{uri}` cannot be included: {scheme}:// is not read");
            return Err(Error::new(ErrorKind::Unsupported, message)
                .at(place.clone())
                .hint(
                    "download the model into a folder beside the file and name it by model://NAME",
                ));
        }
        let path = folder.join(uri.strip_prefix("file://").unwrap_or(uri));
        if !path.exists() {
            return Err(missing("the name is relative to the file".into()));
        }
        in_folder(path, uri, place)
    }
}

/// `<include>` of a world or a model; a plugin may have elements of any name.
fn holds_models(include: roxmltree::Node<'_, '_>) -> bool {
    let parent = include.parent_element().map(|parent| parent.tag_name());
    parent.is_some_and(|parent| ["world", "model", "sdf"].contains(&parent.name()))
}

/// The model file in a folder: the one of the highest version that is read of those in `model.config`, or `model.sdf`.
fn in_folder(path: PathBuf, uri: &str, place: &Place) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path);
    }
    let config = path.join("model.config");
    let mut found = path.join("model.sdf");
    if config.is_file() {
        let file_name = config.display().to_string();
        let text = read_text(&config, &file_name)?;
        let document = xml::parse(&text, &Lines::new(&file_name, &text), "model.config")?;
        let best = document
            .root_element()
            .children()
            .filter(|child| child.tag_name().name() == "sdf")
            .filter_map(|entry| {
                // an entry without a version is the last choice
                let version = match entry.attribute("version") {
                    Some(written) => Some(Version::parse(written).filter(|v| v.is_read())?),
                    None => None,
                };
                Some((version, entry.text()?.trim().to_owned()))
            })
            .max_by_key(|(version, _)| *version);
        if let Some((_, name)) = best {
            found = path.join(name);
        }
    }
    match found.is_file() {
        true => Ok(found),
        false => {
            let message = format!("the folder of `{uri}` has no model file");
            let error = Error::new(ErrorKind::File, message).at(place.clone());
            Err(error.hint(format!("expected {}", found.display())))
        }
    }
}
