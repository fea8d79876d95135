//! A progress line on the terminal: how many samples, how fast, how long still.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const REFRESH: Duration = Duration::from_millis(200);

/// The line; it is drawn on a terminal only and removed when this is dropped.
pub struct Progress {
    before: usize,
    done: usize,
    failed: usize,
    total: usize,
    began: Instant,
    next: Instant,
    is_terminal: bool,
}

impl Progress {
    /// So many of so many samples are there already.
    pub fn new(before: usize, total: usize) -> Self {
        let now = Instant::now();
        Progress {
            before,
            done: 0,
            failed: 0,
            total,
            began: now,
            next: now + REFRESH,
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Counts a sample.
    pub fn note(&mut self, failed: bool) {
        self.done += 1;
        self.failed += usize::from(failed);
        if !self.is_terminal || Instant::now() < self.next {
            return;
        }
        let rate = self.done as f64 / self.began.elapsed().as_secs_f64();
        let there = self.before + self.done;
        let left = (self.total - there) as f64 / rate;
        let _ = write!(
            std::io::stderr(),
            "\r{there} of {} samples, {} failed, {rate:.1} a second, {left:.0} s left \x1b[K",
            self.total,
            self.failed
        );
        self.next = Instant::now() + REFRESH;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
