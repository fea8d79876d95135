//! A progress line on the terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Runs shorter than this show nothing.
const PATIENCE: Duration = Duration::from_millis(300);
const REFRESH: Duration = Duration::from_millis(100);
const CELLS: usize = 30;

/// The line; it is drawn on a terminal only and removed when this is dropped.
pub struct Progress {
    end: f64,
    from: f64,
    before: f64,
    began: Instant,
    next: Instant,
    is_terminal: bool,
    is_visible: bool,
}

impl Progress {
    /// A progress line from one simulated time to another.
    pub fn new(from: f64, end: f64) -> Self {
        let now = Instant::now();
        Progress {
            end,
            from,
            before: from,
            began: now,
            next: now + PATIENCE,
            is_terminal: std::io::stderr().is_terminal(),
            is_visible: false,
        }
    }

    /// Records the time reached.
    pub fn show(&mut self, time: f64) {
        let step = time - self.before;
        self.before = time;
        if !self.is_terminal || Instant::now() < self.next {
            return;
        }
        let share = ((time - self.from) / (self.end - self.from)).clamp(0.0, 1.0);
        let left = self.began.elapsed().as_secs_f64() * (1.0 - share) / share.max(1e-9);
        let bar = "█".repeat((share * CELLS as f64) as usize);
        let _ = write!(
            std::io::stderr(),
            "\r{bar:░<CELLS$} {time:.3} of {} s, step {step:.1e} s, {left:.0} s left \x1b[K",
            self.end
        );
        self.is_visible = true;
        self.next = Instant::now() + REFRESH;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_visible {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
