//! Unsupported features that change the dynamics: rejected, or left out on request.

use crate::ReadOptions;
use crate::element_tree::Node;
use crate::nearest::advice;
use catena::error::{Error, ErrorKind, Result};

/// Features that the user allows to be left out, and those that were.
pub(crate) struct Ignored {
    names: Vec<String>,
    ignore_unknown: bool,
    /// Ignored features and where they occur.
    pub(crate) left_out: Vec<String>,
}

impl Ignored {
    /// The user's choice among the features that can be left out of a file of this format.
    pub(crate) fn new(
        options: &ReadOptions,
        format: &str,
        ignorable: &[(&str, &str)],
    ) -> Result<Self> {
        let known: Vec<&str> = ignorable.iter().map(|(name, _)| *name).collect();
        let names = &options.ignore;
        if let Some(name) = names.iter().find(|name| !known.contains(&&name[..])) {
            let message =
                format!("`{name}` is not a feature of {format} files that can be ignored");
            return Err(Error::new(ErrorKind::Input, message).hint(advice(name, &known)));
        }
        Ok(Ignored {
            names: names.clone(),
            ignore_unknown: options.ignore_unknown,
            left_out: Vec::new(),
        })
    }

    /// Whether unknown elements and attributes are left out.
    pub(crate) fn unknown(&self) -> bool {
        self.ignore_unknown
    }

    /// Leaves a feature out if the user requested that; otherwise rejects the model.
    pub(crate) fn or_refuse(
        &mut self,
        name: &'static str,
        node: Node<'_>,
        what: String,
    ) -> Result<()> {
        if self.names.iter().any(|ignored| ignored == name) {
            self.left_out.push(format!("{what} ({})", node.place()));
            return Ok(());
        }
        let error = node.error(ErrorKind::Unsupported, what);
        Err(error.hint(format!("leave it out with `--ignore {name}`")))
    }
}
