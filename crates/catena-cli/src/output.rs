//! Writing: to stdout, to stderr, and to files that appear only when complete.

use catena::error::{Error, ErrorKind, Place, Result};
use catena::text::shown_lines;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes to stdout. A reader that has gone away (`catena … | head`) is no error. Control characters of names and files are
/// spelled out: a terminal must not obey them.
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

/// Writes a message to stderr, if anybody listens.
pub fn complain(message: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", shown_lines(message));
}

/// Writes a file: first to a temporary file in the same folder, which takes the name when it is complete.
pub fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let cannot = |what: String| {
        let place = Place {
            file: Some(path.display().to_string().into()),
            line: None,
        };
        Error::new(ErrorKind::File, what).at(place)
    };
    // a link keeps pointing where it points
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if target.exists() && !target.is_file() {
        return Err(cannot("it is there already and is not a file".into())
            .hint("give the name of a file, or leave out `-o`"));
    }
    let temporary = temporary_name(&target);
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(contents.as_ref())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, &target));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        cannot(format!("the file cannot be written: {}", reason(&error)))
    })
}

/// Makes a folder, before anything is computed that will be written into it.
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

/// The folder of a file must be there, before anything is computed that will be written into it.
pub fn expect_folder(path: &Path) -> Result<()> {
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            let message = format!("the folder {} does not exist", folder.display());
            Err(Error::new(ErrorKind::File, message).hint("make it first"))
        }
        _ => Ok(()),
    }
}

fn temporary_name(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    target.with_file_name(name)
}

/// What went wrong with a file, in words that do not depend on the system where that is possible.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::StorageFull => "no space is left".into(),
        _ => error.to_string(),
    }
}
