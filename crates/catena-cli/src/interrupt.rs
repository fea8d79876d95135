//! Signals that ask the program to end: the results so far are kept, and the message says so. A second signal ends it at once.

use catena::error::{Error, ErrorKind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code of a command ended by a signal, as shells use for Control-C.
pub const EXIT_CODE: u8 = 130;

/// From now on Control-C, SIGTERM and SIGHUP are only recorded: the command must check [`asked`].
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let noted = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE.into());
            }
        });
        // where the system refuses a handler, signals end the process as they did before
        drop(noted);
    });
}

/// From now on a write beyond the limit of file sizes (`ulimit -f`) is an error that the command reports, as on a full disk. By default the system
/// kills the process with SIGXFSZ.
pub fn survive_size_limit() {
    #[cfg(unix)]
    {
        let limit = signal_hook::consts::SIGXFSZ;
        // where the system refuses a handler, the signal ends the process as it did before
        let _ = signal_hook::flag::register(limit, std::sync::Arc::default());
    }
}

/// Has the program been asked to end?
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Why the command ends.
pub fn error() -> Error {
    Error::new(ErrorKind::Input, "a signal has ended the command")
}
