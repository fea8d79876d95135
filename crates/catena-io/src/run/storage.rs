//! Files: errors with the path in them, locks, and atomic replacement.

use catena::error::{Error, ErrorKind, Place, Result};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a process waits for another one that writes the same run. After a kill the system may take a moment to
/// release the lock.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(5);

/// An error about a file as a whole.
pub(super) fn file_error(kind: ErrorKind, path: &Path, message: impl Into<String>) -> Error {
    let place = Place {
        file: Some(path.display().to_string().into()),
        line: None,
    };
    Error::new(kind, message).at(place)
}

/// The error for a file that cannot be read.
pub(super) fn read_error(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => file_error(ErrorKind::Missing, path, "the run does not exist"),
        io::ErrorKind::IsADirectory => {
            file_error(ErrorKind::File, path, "this is a folder, not a run")
        }
        _ => file_error(
            ErrorKind::File,
            path,
            format!("the run cannot be read: {error}"),
        ),
    }
}

/// The error for a file that cannot be created.
pub(super) fn create_error(path: &Path, error: &io::Error) -> Error {
    let folder = folder_of(path);
    if error.kind() == io::ErrorKind::NotFound && !folder.is_dir() {
        let message = format!("the folder {} does not exist", folder.display());
        return file_error(ErrorKind::File, path, message).hint("create it first");
    }
    let message = format!("the run cannot be created: {error}");
    file_error(ErrorKind::File, path, message)
}

/// The error for a run that must not be resumed because it is complete.
pub(super) fn finished_error(path: &Path) -> Error {
    file_error(
        ErrorKind::Input,
        path,
        "the run is finished; there is nothing to resume",
    )
}

/// The error for a run that exists where a new one should be created.
pub(super) fn exists_error(path: &Path) -> Error {
    file_error(ErrorKind::Exists, path, "the run exists already")
        .hint("choose another name, resume it, or allow overwriting it")
}

/// The error for a run without a header.
pub(super) fn nothing_begun(path: &Path) -> Error {
    file_error(
        ErrorKind::Missing,
        path,
        "the run was stopped before its header was written",
    )
    .hint("there are no results; start the run again")
}

/// The error for a corrupt run.
pub(super) fn damaged(path: &Path, what: &str) -> Error {
    file_error(
        ErrorKind::Syntax,
        path,
        format!("the run is damaged: {what}"),
    )
}

/// The folder a file is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The path with a suffix: `run.csv` and `.new` give `run.csv.new`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens a file by name and locks it: the lock keeps two processes from writing one run. The system releases it when the
/// process ends, however it ends. Where files cannot be locked, nothing is checked.
///
/// Another process may replace or remove the file between opening and locking. A lock on a file that no longer has the
/// name protects nothing, so the name is checked again after locking, and the file reopened if it has changed. `open` returns `None` to be
/// called again.
pub(super) fn lock_at(
    run: &Path,
    name: &Path,
    open: impl Fn() -> Result<Option<File>>,
) -> Result<File> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(file) = open()? {
            let is_free = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            if is_free && bears(&file, name) {
                return Ok(file);
            }
        }
        if Instant::now() > end {
            return Err(
                file_error(ErrorKind::File, run, "another process is writing this run")
                    .hint("wait until it ends, or choose another name"),
            );
        }
        sleep(PAUSE);
    }
}

/// Whether an open file is the one of this name.
#[cfg(unix)]
pub(super) fn bears(file: &File, name: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let named = fs::metadata(name).map(identity);
    matches!((file.metadata().map(identity), named), (Ok(file), Ok(named)) if file == named)
}

/// Whether an open file is the one of this name: elsewhere open files are neither replaced nor removed.
#[cfg(not(unix))]
pub(super) fn bears(_: &File, name: &Path) -> bool {
    name.exists()
}

/// Whether a run is stored under this name: a process killed at its very beginning leaves an empty file.
pub(super) fn is_taken(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() || metadata.len() > 0)
}

/// Creates a file with a unique name, in the folder of this one.
fn fresh_file(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{count}.new", std::process::id()));
        let fresh = path.with_file_name(name);
        let mut options = OpenOptions::new();
        match options.read(true).write(true).create_new(true).open(&fresh) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (fresh, file)),
        }
    }
}

/// Gives a file another name, which must be free.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links.
        Err(_) if is_taken(to) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// The file of a run that is being written, locked.
pub(super) struct RunFile {
    /// Its path, with links resolved.
    path: PathBuf,
    file: File,
    /// The beginning of a run that does not have its name yet: an older run, whose file is locked, keeps the name until
    /// the first block.
    waiting: Option<Vec<u8>>,
}

impl RunFile {
    /// A file with this beginning and end. Where a run is overwritten, it stays as it is until [`RunFile::begin`].
    pub(super) fn create(path: &Path, head: Vec<u8>, end: &[u8], overwrite: bool) -> Result<Self> {
        let failed = |error| create_error(path, &error);
        let open = || {
            if !overwrite && is_taken(path) {
                return Err(exists_error(path));
            }
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false);
            options.open(path).map(Some).map_err(failed)
        };
        let file = lock_at(path, path, open)?;
        let is_empty = file.metadata().map_err(failed)?.len() == 0;
        if !is_empty && !overwrite {
            return Err(exists_error(path));
        }
        let mut run = RunFile {
            path: fs::canonicalize(path).map_err(failed)?,
            file,
            waiting: Some(head),
        };
        if is_empty {
            run.begin(end).map_err(|error| {
                // It is empty; the first error is the one that counts.
                let _ = fs::remove_file(&run.path);
                failed(error)
            })?;
        }
        Ok(run)
    }

    /// Opens an unfinished run to continue it.
    pub(super) fn resume(path: &Path) -> Result<Self> {
        let failed = |error| read_error(path, &error);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true);
        let file = lock_at(path, path, || options.open(path).map(Some).map_err(failed))?;
        Ok(RunFile {
            path: fs::canonicalize(path).map_err(failed)?,
            file,
            waiting: None,
        })
    }

    /// Whether the run has not taken its name.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Takes the name, atomically, with the beginning of the run and the given bytes in the file. Does nothing for a run that has
    /// its name already.
    pub(super) fn begin(&mut self, rest: &[u8]) -> io::Result<()> {
        let Some(head) = &self.waiting else {
            return Ok(());
        };
        let (fresh, mut file) = fresh_file(&self.path)?;
        // No other process uses the file. Where files cannot be locked, nothing is checked.
        let _ = file.try_lock();
        file.write_all(head)
            .and_then(|()| file.write_all(rest))
            .and_then(|()| fs::rename(&fresh, &self.path))
            .inspect_err(|_| {
                let _ = fs::remove_file(&fresh);
            })?;
        self.file = file;
        self.waiting = None;
        Ok(())
    }

    /// Writes bytes at a place.
    pub(super) fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(bytes)
    }

    /// Truncates the file.
    pub(super) fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    /// The file itself, to be read.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Waits until the storage device has the file and its name.
    pub(super) fn synchronize(&self) -> io::Result<()> {
        self.file.sync_all()?;
        synchronize_names(&self.path);
        Ok(())
    }

    /// An error if the open file no longer has its name: it was removed, moved or replaced. Its contents are written again
    /// first, so that the run is not lost.
    pub(super) fn require_name(&mut self, is_finished: bool) -> io::Result<()> {
        if self.is_waiting() || bears(&self.file, &self.path) {
            return Ok(());
        }
        let outcome = match self.rescue() {
            Ok(path) => Outcome::Rescued { path, is_finished },
            Err(error) => Outcome::Gone(error),
        };
        let what = "the file".to_string();
        Err(Lost { what, outcome }.into())
    }

    /// Copies the open file to its name, or, where that is taken, to another name in the same folder, or, where the folder is gone,
    /// to the folder of temporary files. The copy is then the file of the run.
    fn rescue(&mut self) -> io::Result<PathBuf> {
        let (fresh, mut copy) = match fresh_file(&self.path) {
            Err(_) => {
                let name = self.path.file_name().unwrap_or_default();
                fresh_file(&std::env::temp_dir().join(name))?
            }
            made => made?,
        };
        // No other process uses the file. Where files cannot be locked, nothing is checked.
        let _ = copy.try_lock();
        let copied = self
            .file
            .rewind()
            .and_then(|()| io::copy(&mut self.file, &mut copy))
            .and_then(|_| copy.sync_all())
            .and_then(|()| self.take_free_name(&fresh))
            .inspect_err(|_| {
                let _ = fs::remove_file(&fresh);
            })?;
        (self.file, self.path) = (copy, copied.clone());
        Ok(copied)
    }

    /// Gives a file the name of the run, or the first free one of `run.rescued.csv`, `run.rescued-2.csv`, … in its folder.
    fn take_free_name(&self, fresh: &Path) -> io::Result<PathBuf> {
        let part = |text: Option<&std::ffi::OsStr>| text.unwrap_or_default().to_os_string();
        for attempt in 0.. {
            let mut name = part(self.path.file_stem());
            match attempt {
                0 => {}
                1 => name.push(".rescued"),
                _ => name.push(format!(".rescued-{attempt}")),
            }
            name.push(".");
            name.push(part(self.path.extension()));
            let name = fresh.with_file_name(name);
            match rename_to_free(fresh, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map(|()| name),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// The error for files that were removed, moved or replaced while the run was being written.
#[derive(Debug)]
pub(super) struct Lost {
    /// The missing files.
    pub(super) what: String,
    /// The fate of the rows that were in it, and what to do.
    pub(super) outcome: Outcome,
}

/// Fate of rows whose file is gone.
#[derive(Debug)]
pub(super) enum Outcome {
    /// They were written again, to this file; to its end, if the run was finished.
    Rescued { path: PathBuf, is_finished: bool },
    /// They are gone if the files were removed, and not if they were moved.
    Away,
    /// They could not be written again.
    Gone(io::Error),
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = &self.what;
        write!(
            f,
            "{what} was removed, moved or replaced while the run was being written"
        )
    }
}

impl std::error::Error for Lost {}

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> Self {
        io::Error::other(lost)
    }
}

/// The content of a file between two positions. The end is that of the file when it was opened: bytes that another process has
/// added since are not read.
pub(super) fn tail(mut file: &File, path: &Path, from: u64, to: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| file.take(to.saturating_sub(from)).read_to_end(&mut bytes))
        .map_err(|error| read_error(path, &error))?;
    Ok(bytes)
}

/// Number of occurrences of a pattern in bytes.
pub(super) fn occurrences(bytes: &[u8], pattern: &[u8]) -> usize {
    let places = bytes.windows(pattern.len());
    places.filter(|part| *part == pattern).count()
}

/// Has the storage device write the names in the folder of this file. Not every system can; the data are already safe.
pub(super) fn synchronize_names(path: &Path) {
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
}
