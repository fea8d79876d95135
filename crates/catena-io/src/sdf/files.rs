//! A model file and the files it includes, as one tree: the root of an included file is a child of its `<include>`.

use super::version::Version;
use crate::document::{file_error, read_text};
use crate::element_tree::Tree;
use crate::lines::Lines;
use crate::xml;
use catena::error::{Error, ErrorKind, Place, Result};
use std::path::{Component, Path, PathBuf};

/// Maximum number of levels of nested elements, including included files.
const MOST_LEVELS: usize = 200;
/// Maximum number of included files; one that is included twice counts twice.
const MOST_FILES: usize = 10_000;

/// Reads a text and the files it includes.
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
    /// The file being read, after those that include it.
    open: Vec<PathBuf>,
    count: usize,
}

impl Files {
    /// Copies an element with its contents.
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

    /// The file of a URI. `model://NAME` and `package://NAME` are folders searched for next to the file and in the folders above
    /// it, and in the `models` of those.
    fn find(&self, uri: &str, place: &Place) -> Result<PathBuf> {
        let file = self.open.last().map(PathBuf::as_path);
        let folder = file.and_then(Path::parent).unwrap_or(Path::new(""));
        let (places, hint) = match uri.split_once("://") {
            Some((scheme @ ("model" | "package"), rest)) => {
                let name = rest.split('/').next().unwrap_or(rest);
                let places = above(folder)
                    .into_iter()
                    .flat_map(|above| [above.join(rest), above.join("models").join(rest)]);
                let hint = format!(
                    "{scheme}://{name} is a folder `{name}` or `models/{name}` beside the file or above it, with a model.config or model.sdf"
                );
                (places.collect(), hint)
            }
            Some((scheme, _)) if scheme != "file" => {
                let message = format!("`{uri}` cannot be included: {scheme}:// is not read");
                let error = Error::new(ErrorKind::Unsupported, message).at(place.clone());
                return Err(error.hint(
                    "download the model into a folder beside the file and name it by model://NAME",
                ));
            }
            _ => {
                let path = folder.join(uri.strip_prefix("file://").unwrap_or(uri));
                (vec![path], "the name is relative to the file".into())
            }
        };
        for path in places {
            if let Some(found) = model_file(path)? {
                return Ok(found);
            }
        }
        let message = format!("the included `{uri}` does not exist");
        let error = Error::new(ErrorKind::File, message).at(place.clone());
        Err(error.hint(hint))
    }
}

/// A folder and those above it; for a relative path its own components, then those of the current folder.
fn above(folder: &Path) -> Vec<PathBuf> {
    let climbs = folder.components().any(|part| part == Component::ParentDir);
    if let (true, Ok(whole)) = (climbs, folder.canonicalize()) {
        return whole.ancestors().map(Path::to_path_buf).collect();
    }
    let mut folders: Vec<PathBuf> = folder.ancestors().map(Path::to_path_buf).collect();
    if let (true, Ok(current)) = (folder.is_relative(), std::env::current_dir()) {
        folders.extend(current.ancestors().skip(1).map(Path::to_path_buf));
    }
    folders
}

/// Whether this `<include>` is that of a world or a model; a plugin may have elements of any name.
fn holds_models(include: roxmltree::Node<'_, '_>) -> bool {
    let parent = include.parent_element().map(|parent| parent.tag_name());
    parent.is_some_and(|parent| ["world", "model", "sdf"].contains(&parent.name()))
}

/// The file itself, or the model file in a folder: the one of the highest version that is read of those in `model.config`, or
/// `model.sdf`.
fn model_file(path: PathBuf) -> Result<Option<PathBuf>> {
    let (config, model) = (path.join("model.config"), path.join("model.sdf"));
    if is_file(&path) {
        return Ok(Some(path));
    }
    if !is_file(&config) {
        return Ok(is_file(&model).then_some(model));
    }
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
    let found = best.map_or(model, |(_, name)| path.join(name));
    match is_file(&found) {
        true => Ok(Some(found)),
        false => {
            let message = format!(
                "it names the model file {}, which is not there",
                found.display()
            );
            Err(file_error(ErrorKind::File, &file_name, message))
        }
    }
}

fn is_file(path: &Path) -> bool {
    crate::files::size(path).is_some()
}
