//! Writing: to stdout, to stderr, and to files that appear only when complete.

use crate::number::counted;
use crate::state_file::whole;
use catena::error::{Error, ErrorKind, Result};
use catena::text::shown_lines;
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Writes to stdout. A closed pipe (`catena … | head`) is not an error. Control characters of names and files are
/// escaped: a terminal must not interpret them.
pub fn print(text: &str) -> Result<()> {
    let text = shown_lines(text);
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::new(
            ErrorKind::File,
            format!("stdout cannot be written: {error}"),
        )),
        _ => Ok(()),
    }
}

thread_local! {
    /// Whether messages of this thread are suppressed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function without messages, which would be repeated for every sample of a study.
pub fn quietly<T>(what: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let done = what();
    QUIET.set(before);
    done
}

/// Writes a message to stderr; errors are ignored.
pub fn complain(message: &str) {
    if QUIET.get() {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "{}", shown_lines(message));
}

/// The note about bytes at the end of a run that are not a complete block.
pub fn left_out(path: &Path, bytes: u64) -> String {
    format!(
        "note: left out {} at the end of {}: not a complete block",
        counted(bytes as usize, "byte", "bytes"),
        path.display()
    )
}

/// The files this process has read.
static INPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Clears them: the next command has its own inputs.
pub fn forget_inputs() {
    INPUTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
}

/// Records that a file is read: it will not be overwritten.
pub fn note_input(path: &Path) {
    if let Ok(path) = fs::canonicalize(path) {
        let mut inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
        if !inputs.contains(&path) {
            inputs.push(path);
        }
    }
}

/// Rejects writing to a file that the command has read.
pub fn refuse_input(path: &Path) -> Result<()> {
    let Ok(target) = fs::canonicalize(path) else {
        return Ok(());
    };
    let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    match inputs.contains(&target) {
        false => Ok(()),
        true => Err(Error::new(
            ErrorKind::Exists,
            "the output would replace the file that the command reads",
        )
        .at(whole(path))
        .hint("give another name after `-o`")),
    }
}

/// Writes a file: first to a temporary file in the same folder, which takes the name when it is complete.
pub fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    refuse_input(path)?;
    let cannot = |what: String| Error::new(ErrorKind::File, what).at(whole(path));
    // a symbolic link keeps its target
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if target.exists() && !target.is_file() {
        return Err(cannot("it already exists and is not a file".into())
            .hint("give the name of a file, or leave out `-o`"));
    }
    let failed = |error| cannot(format!("the file cannot be written: {}", reason(&error)));
    let (temporary, mut file) = temporary_file(&target).map_err(failed)?;
    let written = file
        .write_all(contents.as_ref())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, &target));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

/// Creates a folder, before anything is computed that will be written into it.
pub fn make_folder(folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        let message = format!("{} is not a folder", folder.display());
        return Err(Error::new(ErrorKind::File, message));
    }
    fs::create_dir_all(folder).map_err(|error| {
        let message = format!("{} cannot be made: {}", folder.display(), reason(&error));
        Error::new(ErrorKind::File, message)
    })
}

/// Checks that the folder of a file exists, before anything is computed that will be written into it.
pub fn expect_folder(path: &Path) -> Result<()> {
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            let message = format!("the folder {} does not exist", folder.display());
            Err(Error::new(ErrorKind::File, message).hint("create it first"))
        }
        _ => Ok(()),
    }
}

/// A file in the folder of the target, with a unique name.
fn temporary_file(target: &Path) -> io::Result<(PathBuf, File)> {
    for count in 0.. {
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}-{count}.part", std::process::id()));
        let path = target.with_file_name(name);
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (path, file)),
        }
    }
    unreachable!("there are more names than files")
}

/// The reason of an I/O error, in system-independent words where possible.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::StorageFull => "no space is left".into(),
        _ => error.to_string(),
    }
}
