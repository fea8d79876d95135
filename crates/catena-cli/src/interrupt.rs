//! Signals that ask the program to end: the results so far are kept, and the message says so. A second signal ends it at once.

use catena::error::{Error, ErrorKind};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Exit code of a command ended by SIGHUP, the end of its terminal. As in shells: 128 and the number of the signal.
pub const HUNG_UP: u8 = 129;
/// Exit code of a command ended by SIGINT, Control-C.
pub const INTERRUPTED: u8 = 130;
/// Exit code of a command ended by SIGTERM.
pub const TERMINATED: u8 = 143;

/// What the handlers of signals write.
#[derive(Default)]
struct Asked {
    has_come: Arc<AtomicBool>,
    exit_code: Arc<AtomicUsize>,
}

static ASKED: LazyLock<Asked> = LazyLock::new(|| {
    let asked = Asked::default();
    #[cfg(unix)]
    let hang_up = (!outlives_terminal()).then_some((signal_hook::consts::SIGHUP, HUNG_UP));
    #[cfg(not(unix))]
    let hang_up = None;
    for (signal, code) in [(SIGINT, INTERRUPTED), (SIGTERM, TERMINATED)]
        .into_iter()
        .chain(hang_up)
    {
        // in this order: only a second signal finds that one has come.
        // Where the system refuses a handler, the signal ends the process as it did before.
        let _ =
            flag::register_conditional_shutdown(signal, code.into(), Arc::clone(&asked.has_come));
        let _ = flag::register_usize(signal, Arc::clone(&asked.exit_code), code.into());
        let _ = flag::register(signal, Arc::clone(&asked.has_come));
    }
    asked
});

/// Was the program started so that SIGHUP does not end it, as by `nohup`? Linux reports it; elsewhere it is assumed not.
#[cfg(unix)]
fn outlives_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (signal_hook::consts::SIGHUP - 1) != 0)
}

/// From now on Control-C, SIGTERM and SIGHUP are only recorded: the command must check [`asked`]. A SIGHUP that is ignored (`nohup`)
/// stays so.
pub fn watch() {
    LazyLock::force(&ASKED);
}

/// From now on a write beyond the limit of file sizes (`ulimit -f`) is an error that the command reports, as on a full disk. By default the system
/// kills the process with SIGXFSZ.
pub fn survive_size_limit() {
    #[cfg(unix)]
    {
        let limit = signal_hook::consts::SIGXFSZ;
        // where the system refuses a handler, the signal ends the process as it did before
        let _ = flag::register(limit, Arc::default());
    }
}

/// Has the program been asked to end?
pub fn asked() -> bool {
    exit_code().is_some()
}

/// The exit code if the program has been asked to end. A command that does not [`watch`] is ended by the system.
pub fn exit_code() -> Option<u8> {
    let asked = LazyLock::get(&ASKED)?;
    let has_come = asked.has_come.load(Ordering::Acquire);
    has_come.then(|| asked.exit_code.load(Ordering::Relaxed) as u8)
}

/// Why the command ends.
pub fn error() -> Error {
    Error::new(ErrorKind::Input, "a signal has ended the command")
}
