//! Signals that ask the program to end: what was computed is kept, and the message says so. A second signal ends it at once.

use catena::error::{Error, ErrorKind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code of a command that a signal has ended, as shells have it for Control-C.
pub const EXIT_CODE: u8 = 130;

/// From now on Control-C, SIGTERM and SIGHUP are only noted: the command must look at [`asked`].
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

/// Has the program been asked to end?
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Why the command ends.
pub fn error() -> Error {
    Error::new(ErrorKind::Input, "a signal has ended the command")
}
