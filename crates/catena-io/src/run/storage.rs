//! Files: errors with the path in them, locks, and replacement in one step.

use catena::error::{Error, ErrorKind, Place, Result};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// An error about a file as a whole.
pub(super) fn file_error(kind: ErrorKind, path: &Path, message: impl Into<String>) -> Error {
    let place = Place {
        file: Some(path.display().to_string().into()),
        line: None,
    };
    Error::new(kind, message).at(place)
}

/// A file that cannot be read.
pub(super) fn read_error(path: &Path, error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "the run does not exist".to_string(),
        io::ErrorKind::IsADirectory => "this is a folder, not a run".to_string(),
        _ => format!("the run cannot be read: {error}"),
    };
    file_error(ErrorKind::File, path, message)
}

/// A file that cannot be made.
pub(super) fn create_error(path: &Path, error: &io::Error) -> Error {
    let folder = folder_of(path);
    if error.kind() == io::ErrorKind::NotFound && !folder.is_dir() {
        let message = format!("the folder {} does not exist", folder.display());
        return file_error(ErrorKind::File, path, message).hint("make it first");
    }
    let message = format!("the run cannot be created: {error}");
    file_error(ErrorKind::File, path, message)
}

/// A run that must not be resumed because it is complete.
pub(super) fn finished_error(path: &Path) -> Error {
    file_error(
        ErrorKind::Input,
        path,
        "the run is finished; there is nothing to resume",
    )
}

/// A run that is in the way of a new one.
pub(super) fn exists_error(path: &Path) -> Error {
    file_error(ErrorKind::File, path, "the run exists already")
        .hint("choose another name, resume it, or allow overwriting it")
}

/// The folder a file is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The path with more at its end: `run.csv` and `.new` give `run.csv.new`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Takes the lock that keeps two processes from writing one run. The system releases it when the process ends, however
/// it ends, which after a kill may take a moment. Where files cannot be locked, nothing is checked.
pub(super) fn lock(file: &File, path: &Path) -> Result<()> {
    for _ in 0..50 {
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)),
        }
    }
    Err(file_error(
        ErrorKind::File,
        path,
        "another process is writing this run",
    ))
}

/// Opens an unfinished run to go on with it, locked.
pub(super) fn open_to_resume(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| read_error(path, &error))?;
    lock(&file, path)?;
    Ok(file)
}

/// Makes a file that has its first bytes from the moment it exists, and locks it.
pub(super) fn create_with(path: &Path, bytes: &[u8], overwrite: bool) -> Result<File> {
    match File::open(path) {
        Ok(_) if !overwrite => return Err(exists_error(path)),
        Ok(old) => lock(&old, path)?,
        Err(_) => {}
    }
    let fresh = with_suffix(path, ".new");
    let make = || {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&fresh)?;
        file.write_all(bytes)?;
        Ok(file)
    };
    let file = make().map_err(|error| {
        // Nothing of value is in it; the error that counts is the first one.
        let _ = fs::remove_file(&fresh);
        create_error(path, &error)
    })?;
    lock(&file, path)?;
    fs::rename(&fresh, path).map_err(|error| {
        let _ = fs::remove_file(&fresh);
        create_error(path, &error)
    })?;
    Ok(file)
}

/// Writes bytes at a place of a file.
pub(super) fn write_at(file: &mut File, place: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(place))?;
    file.write_all(bytes)
}

/// Waits until the storage device has a file and its name.
pub(super) fn synchronize(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    synchronize_names(path);
    Ok(())
}

/// Asks the storage device to keep the names in the folder of this file. Not every system can; the data are safe already.
pub(super) fn synchronize_names(path: &Path) {
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
}
