//! Which modules of a crate use which: the tokens of its files, their `use` trees and paths, names followed through re-exports.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A module: the names from the crate's root down to it.
pub type Module = Vec<String>;

/// A path in the code of one module that leads to an item of another.
#[derive(Debug)]
pub struct Use {
    /// File below the root, and line.
    pub place: (String, usize),
    /// The module that uses.
    pub from: Module,
    /// The module that defines what is used, not one that only re-exports it.
    pub to: Module,
    /// Whether the path only gives the item another public name.
    pub is_export: bool,
}

/// A word, `::`, or another character.
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Without comments, strings, characters and lifetimes.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let length_to = |rest: &str, end: &str| rest.find(end).map_or(rest.len(), |k| k + end.len());
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let hashes = rest[1.min(word)..]
            .bytes()
            .take_while(|b| *b == b'#')
            .count();
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            length_to(rest, "*/")
        } else if matches!(&rest[..word], "r" | "br") && rest[word + hashes..].starts_with('"') {
            let open = word + hashes + 1;
            open + length_to(&rest[open..], &format!("\"{}", "#".repeat(hashes)))
        } else if c == '"' {
            let mut end = 1;
            while !rest[end..].starts_with('"') {
                end += if rest[end..].starts_with('\\') { 2 } else { 1 };
                while !rest.is_char_boundary(end) {
                    end += 1;
                }
            }
            end + 1
        } else if let Some(after) = rest.strip_prefix('\'') {
            let mut next = after.chars();
            match (next.next(), next.next()) {
                (Some('\\'), Some(_)) => 3 + after[2..].find('\'').unwrap_or(0) + 1,
                (Some(c), Some('\'')) => 2 + c.len_utf8(),
                _ => 1 + after.find(|c| !is_word(c)).unwrap_or(after.len()),
            }
        } else {
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => c.len_utf8(),
                _ => word,
            };
            if !c.is_whitespace() {
                let text = &rest[..length];
                found.push(Token { text, line });
            }
            length
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

/// What one module says.
#[derive(Default)]
struct Said {
    file: String,
    /// Names that it imports, with the paths they stand for.
    imports: HashMap<String, Name>,
    /// Paths in it, with their lines, and whether they are re-exports.
    paths: Vec<(Name, usize, bool)>,
}

/// Segments of a path as written, and how many inline modules enclose it.
#[derive(Clone)]
struct Name {
    segments: Vec<String>,
    inline: usize,
}

/// The modules of a crate.
pub struct Crate(BTreeMap<Module, Said>);

impl Crate {
    /// Reads all files from `lib.rs` on.
    pub fn read(root: &Path) -> Self {
        let mut all = Crate(BTreeMap::new());
        all.add(root, "lib.rs", Vec::new());
        all
    }

    fn add(&mut self, root: &Path, file: &str, module: Module) {
        let text = std::fs::read_to_string(root.join(file)).expect(file);
        let tokens = tokens(&text);
        let mut reader = Reader {
            tokens: &tokens,
            at: 0,
            said: Said::default(),
            children: Vec::new(),
        };
        reader.read(0);
        let Reader {
            mut said, children, ..
        } = reader;
        said.file = file.to_string();
        self.0.insert(module.clone(), said);
        for child in children {
            let path = [&module[..], &[child]].concat();
            let folder = path.join("/");
            let file = [format!("{folder}.rs"), format!("{folder}/mod.rs")]
                .into_iter()
                .find(|file| root.join(file).exists());
            self.add(root, &file.expect(&folder), path);
        }
    }

    /// The module in this file.
    pub fn module(&self, file: &str) -> Option<&Module> {
        let found = self.0.iter().find(|(_, said)| said.file == file);
        found.map(|(module, _)| module)
    }

    /// Files of all modules.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|said| &said.file[..])
    }

    /// Every path from one module to another.
    pub fn uses(&self) -> Vec<Use> {
        let mut found = Vec::new();
        for (from, said) in &self.0 {
            for (path, line, is_export) in &said.paths {
                if let Some(to) = self.resolve(from, path, 0)
                    && to != *from
                {
                    found.push(Use {
                        place: (said.file.clone(), *line),
                        from: from.clone(),
                        to,
                        is_export: *is_export,
                    });
                }
            }
        }
        found
    }

    /// The module that defines what a path in a module names; none for what belongs to another crate or is local.
    fn resolve(&self, module: &Module, path: &Name, depth: usize) -> Option<Module> {
        let first = path.segments.first()?;
        let mut at = module.clone();
        let rest = match &first[..] {
            "crate" => {
                at.clear();
                &path.segments[1..]
            }
            "self" => &path.segments[1..],
            "super" => {
                let up = path.segments.iter().take_while(|s| *s == "super").count();
                at.truncate(at.len().saturating_sub(up.saturating_sub(path.inline)));
                &path.segments[up..]
            }
            _ => {
                let child = [&at[..], &path.segments[..1]].concat();
                if !self.0.contains_key(&child) && !self.0[&at].imports.contains_key(first) {
                    return None;
                }
                &path.segments[..]
            }
        };
        self.descend(at, rest, depth)
    }

    fn descend(&self, mut at: Module, rest: &[String], depth: usize) -> Option<Module> {
        assert!(depth < 32, "re-exports in a circle: {at:?} {rest:?}");
        for (k, name) in rest.iter().enumerate() {
            let child = [&at[..], std::slice::from_ref(name)].concat();
            if self.0.contains_key(&child) {
                at = child;
                continue;
            }
            let Some(import) = self.0[&at].imports.get(name) else {
                break;
            };
            // an import of the same name as the path's first segment is one of another crate
            if import.segments.first() == Some(name) {
                return None;
            }
            let mut path = import.clone();
            path.segments.extend_from_slice(&rest[k + 1..]);
            return self.resolve(&at, &path, depth + 1);
        }
        Some(at)
    }
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    said: Said,
    children: Vec<String>,
}

impl<'a> Reader<'a> {
    fn text(&self, ahead: usize) -> &'a str {
        self.tokens
            .get(self.at + ahead)
            .map_or("", |token| token.text)
    }

    fn starts_with(&self, texts: &[&str]) -> bool {
        texts
            .iter()
            .enumerate()
            .all(|(k, text)| self.text(k) == *text)
    }

    /// To the end of the file, or of an inline module.
    fn read(&mut self, inline: usize) {
        let mut open = 0;
        while self.at < self.tokens.len() {
            let text = self.text(0);
            let is_word = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if self.starts_with(&["#", "[", "cfg", "(", "test", ")", "]"]) {
                self.skip_item();
            } else if text == "mod" && self.text(2) == ";" {
                self.children.push(self.text(1).to_string());
                self.at += 3;
            } else if text == "mod" && self.text(2) == "{" {
                self.at += 3;
                self.read(inline + 1);
            } else if text == "use" && self.text(1) != "<" {
                let is_export = self.at > 0 && matches!(self.tokens[self.at - 1].text, "pub" | ")");
                self.at += 1;
                self.tree(&[], inline, is_export);
            } else if self.starts_with(&["pub", "(", "in"]) {
                while self.text(0) != ")" {
                    self.at += 1;
                }
            } else if is_word && self.text(1) == "::" {
                self.path(inline);
            } else {
                open += usize::from(text == "{");
                self.at += 1;
                if text == "}" {
                    if open == 0 {
                        return;
                    }
                    open -= 1;
                }
            }
        }
    }

    /// Past an item with its attributes: to its `;`, or to the end of its braces.
    fn skip_item(&mut self) {
        let mut open = 0;
        loop {
            let text = self.text(0);
            self.at += 1;
            match text {
                "{" | "(" | "[" => open += 1,
                "}" | ")" | "]" => {
                    open -= 1;
                    if open == 0 && text == "}" {
                        return;
                    }
                }
                ";" if open == 0 => return,
                "" => return,
                _ => {}
            }
        }
    }

    /// A path in code.
    fn path(&mut self, inline: usize) {
        let line = self.tokens[self.at].line;
        let mut segments = vec![self.text(0).to_string()];
        self.at += 1;
        while self.text(0) == "::" {
            let next = self.text(1);
            if !next.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                break;
            }
            segments.push(next.to_string());
            self.at += 2;
        }
        self.said
            .paths
            .push((Name { segments, inline }, line, false));
    }

    /// A tree of `use` after a prefix, up to what ends it.
    fn tree(&mut self, prefix: &[String], inline: usize, is_export: bool) {
        let line = self.tokens[self.at].line;
        let mut segments = prefix.to_vec();
        loop {
            match self.text(0) {
                "{" => {
                    self.at += 1;
                    while self.text(0) != "}" {
                        self.tree(&segments, inline, is_export);
                        self.at += usize::from(self.text(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "::" => {}
                "self" if !segments.is_empty() => {}
                "*" => {
                    self.at += 1;
                    self.said
                        .paths
                        .push((Name { segments, inline }, line, is_export));
                    return;
                }
                word => segments.push(word.to_string()),
            }
            self.at += 1;
            if matches!(self.text(0), "," | ";" | "}" | "as") {
                break;
            }
        }
        let mut name = segments.last().cloned().unwrap_or_default();
        if self.text(0) == "as" {
            name = self.text(1).to_string();
            self.at += 2;
        }
        let path = Name { segments, inline };
        self.said.paths.push((path.clone(), line, is_export));
        self.said.imports.insert(name, path);
    }
}
