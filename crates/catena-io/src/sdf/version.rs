//! Versions of the format and what changed with them.

use crate::element_tree::Node;
use catena::error::{ErrorKind, Result};

/// A version, 1.7 as (1, 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32);

const OLDEST: Version = Version(1, 4);
const NEWEST: Version = Version(1, 12);

impl Version {
    /// Parses a version such as `1.7`.
    pub(super) fn parse(written: &str) -> Option<Version> {
        let (major, minor) = written.trim().split_once('.')?;
        Some(Version(major.parse().ok()?, minor.parse().ok()?))
    }

    /// Is it one whose rules are known?
    pub(super) fn is_read(self) -> bool {
        (OLDEST..=NEWEST).contains(&self)
    }

    /// The version of a file, from its root.
    pub(super) fn of(root: Node<'_>) -> Result<Version> {
        let Some(written) = root.attribute("version") else {
            let error = root.error(ErrorKind::Syntax, "<sdf> has no attribute `version`");
            return Err(error.hint("the rules for poses depend on it: <sdf version=\"1.7\">"));
        };
        match Version::parse(written) {
            Some(version) if version.is_read() => Ok(version),
            _ => {
                let message = format!("SDF of version `{written}` is not read");
                let error = root.error(ErrorKind::Unsupported, message);
                Err(error.hint("versions 1.4 to 1.12 are; `gz sdf -p FILE` converts older ones"))
            }
        }
    }

    /// Axes of joints are given in the model frame.
    pub(super) fn has_axes_of_the_model(self) -> bool {
        self < Version(1, 5)
    }

    /// Gravity is a part of `<physics>`.
    pub(super) fn has_gravity_in_physics(self) -> bool {
        self < Version(1, 6)
    }

    /// Everything in a model has a unique name, and any of them may be referred to.
    pub(super) fn has_frames(self) -> bool {
        self >= Version(1, 7)
    }
}
