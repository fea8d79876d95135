//! Sources of files: the disk, or a [`Parcel`] that another machine has sent.
//!
//! Every reader of this crate goes through this module. [`collected`] records which files a function reads; [`Parcel::open`] runs the same
//! function where these files do not exist.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files with their contents, by the names under which they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parcel {
    /// Names and contents.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

#[derive(Default)]
enum Source {
    #[default]
    Disk,
    /// The disk; files read are recorded.
    Noted(Parcel),
    Parcel(Arc<Parcel>),
}

thread_local! {
    static SOURCE: RefCell<Source> = RefCell::default();
}

/// Restores the thread's previous source, also after a panic.
struct Restored(Option<Source>);

impl Drop for Restored {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            SOURCE.replace(before);
        }
    }
}

/// The contents of a file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let carried = SOURCE.with_borrow(|source| match source {
        Source::Parcel(parcel) => Some(parcel.files.get(path).cloned()),
        _ => None,
    });
    if let Some(carried) = carried {
        return carried.ok_or_else(|| io::ErrorKind::NotFound.into());
    }
    let bytes = std::fs::read(path)?;
    note(path, &bytes);
    Ok(bytes)
}

/// The size of a file; none if there is no such file.
pub fn size(path: &Path) -> Option<u64> {
    SOURCE.with_borrow(|source| match source {
        Source::Parcel(parcel) => parcel.files.get(path).map(|bytes| bytes.len() as u64),
        _ => {
            let about = path.metadata().ok()?;
            about.is_file().then_some(about.len())
        }
    })
}

/// Whether files currently come from a parcel.
pub fn are_carried() -> bool {
    SOURCE.with_borrow(|source| matches!(source, Source::Parcel(_)))
}

/// Records the contents of a file, where that is wanted and not done by [`read`]; the last record counts.
pub fn note(path: &Path, bytes: &[u8]) {
    SOURCE.with_borrow_mut(|source| {
        if let Source::Noted(parcel) = source {
            parcel.files.insert(path.into(), bytes.into());
        }
    });
}

/// Runs a function on this thread, and records which files it reads.
pub fn collected<T>(what: impl FnOnce() -> T) -> (T, Parcel) {
    let before = SOURCE.replace(Source::Noted(Parcel::default()));
    let mut restored = Restored(Some(before));
    let done = what();
    let before = restored.0.take().unwrap_or_default();
    let parcel = match SOURCE.replace(before) {
        Source::Noted(parcel) => parcel,
        _ => Parcel::default(),
    };
    (done, parcel)
}

impl Parcel {
    /// Runs a function on this thread that reads files from the parcel only.
    pub fn open<T>(self: &Arc<Self>, what: impl FnOnce() -> T) -> T {
        let before = SOURCE.replace(Source::Parcel(Arc::clone(self)));
        let _restored = Restored(Some(before));
        what()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_file};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const MAIN: &str = r#"<mujoco><include file="parts/arm.xml"/></mujoco>"#;
    const ARM: &str = r#"<mujocoinclude><asset><mesh name="rod" file="rod.obj"/></asset>
<worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/><geom type="mesh" mesh="rod"/></body></worldbody></mujocoinclude>"#;
    const ROD: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

    /// A model of three files is read again after they are gone.
    #[test]
    fn a_model_travels_with_its_files() {
        let folder = std::env::temp_dir().join(format!("catena-parcel-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("parts")).expect("a folder");
        for (name, text) in [("main.xml", MAIN), ("parts/arm.xml", ARM), ("rod.obj", ROD)] {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        let path = folder.join("main.xml");
        let read = || read_file(&path, &ReadOptions::default());
        let (model, parcel) = collected(read);
        let model = model.expect("a model");
        std::fs::remove_dir_all(&folder).expect("it was there");
        assert_eq!(parcel.files.len(), 3, "{:?}", parcel.files.keys());
        assert!(read().is_err());
        let parcel = Arc::new(parcel);
        let again = parcel.open(|| {
            assert!(are_carried());
            read().expect("the same model")
        });
        assert_eq!(crate::to_json(&model), crate::to_json(&again));
        // files that are not in the parcel do not exist, and the disk is restored afterwards
        assert!(
            parcel
                .open(|| super::read(Path::new("Cargo.toml")))
                .is_err()
        );
        assert!(super::read(Path::new("Cargo.toml")).is_ok());
        let _ = catch_unwind(AssertUnwindSafe(|| parcel.open(|| panic!("inside"))));
        assert!(!are_carried());
    }
}
