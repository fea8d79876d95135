//! A progress line on the terminal: number of samples, rate, time left.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const REFRESH: Duration = Duration::from_millis(200);

/// The line; it is drawn on a terminal only and removed when this is dropped.
pub struct Progress {
    done: usize,
    failed: usize,
    total: usize,
    began: Instant,
    next: Instant,
    is_terminal: bool,
}

impl Progress {
    /// A progress line for this many samples.
    pub fn new(total: usize) -> Self {
        let now = Instant::now();
        Progress {
            done: 0,
            failed: 0,
            total,
            began: now,
            next: now + REFRESH,
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Counts a sample, given the number that existed before.
    pub fn note(&mut self, before: usize, failed: bool) {
        self.done += 1;
        self.failed += usize::from(failed);
        if !self.is_terminal || Instant::now() < self.next {
            return;
        }
        let rate = self.done as f64 / self.began.elapsed().as_secs_f64();
        let there = before + self.done;
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
