//! Samples on a Ray cluster: a Python process communicates with the cluster, this one keeps the ledger.
//!
//! The process, `python3 -m catena._ray`, receives on stdin a line `{"address": …, "shipment": BYTES}` and the study, and replies `ready`; then a
//! line `{"missing": [[FIRST, END], …]}`. It replies repeatedly `samples BYTES` and lines of a journal, then `done {…}`; or
//! `error {…}`. It ends when its stdin does, and so with this process.

use super::experiment::Simulations;
use super::shipment::Shipment;
use crate::number::counted;
use catena::error::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

/// The interpreter that has the package, where it is not `python3`.
const PYTHON: &str = "CATENA_PYTHON";
const INSTALL: &str = "install catena and ray: `pip install . ray` in a clone of catena, or name an interpreter that has them: CATENA_PYTHON=…/bin/python";

/// Work done by a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    chunks: usize,
    workers: usize,
    nodes: usize,
    lost: usize,
}

impl Work {
    /// In words.
    pub fn in_words(self) -> String {
        let mut words = format!(
            "computed in {} by {} on {}",
            counted(self.chunks, "chunk", "chunks"),
            counted(self.workers, "worker", "workers"),
            counted(self.nodes, "node", "nodes"),
        );
        if self.lost > 0 {
            words += &format!(
                "; {} lost with a worker and repeated",
                counted(self.lost, "chunk was", "chunks were")
            );
        }
        words
    }
}

/// A process that communicates with a cluster; it ends when this is dropped.
pub struct Cluster {
    python: String,
    child: Child,
    stdin: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Its stderr: Ray logs much, and only the last lines before a failure are reported.
    said: Option<JoinHandle<String>>,
}

/// Replies of the process.
enum Answer {
    Ready,
    Samples(Vec<u8>),
    Done(Work),
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // it leaves the cluster cleanly when its stdin ends
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

fn refuse(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

impl Cluster {
    /// Starts the process, joins the cluster at this address, and sends the study.
    pub fn join(simulations: &Simulations, address: Option<&str>) -> Result<Self> {
        let shipment = Shipment::pack(simulations)?.to_bytes();
        let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".into());
        let started = Command::new(&python)
            .args(["-m", "catena._ray"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| {
            refuse(format!(
                "--engine ray: `{python}` cannot be started: {error}"
            ))
            .hint(format!(
                "a cluster is reached through the Python packages catena and ray: {INSTALL}"
            ))
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(mut stderr)) = pipes else {
            return Err(refuse("--engine ray: the process has no pipes"));
        };
        let said = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stderr.read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        let mut cluster = Cluster {
            python,
            child,
            stdin: Some(stdin),
            answers: BufReader::new(stdout),
            said: Some(said),
        };
        cluster.send(
            &json!({ "address": address, "shipment": shipment.len() }),
            &shipment,
        );
        match cluster.answer()? {
            Answer::Ready => Ok(cluster),
            _ => Err(cluster.ended()),
        }
    }

    /// Sends a line and bytes. A process that has ended cannot read them; the next reply says why.
    fn send(&mut self, head: &Value, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{head}")
                .and_then(|()| stdin.write_all(bytes))
                .and_then(|()| stdin.flush());
        }
    }

    /// Computes the samples of these indices; `take` receives them as they arrive, as lines of a journal.
    pub fn carry_out(
        mut self,
        missing: &[Range<usize>],
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Work> {
        let ranges = missing.iter().map(|range| [range.start, range.end]);
        self.send(&json!({ "missing": ranges.collect::<Vec<_>>() }), &[]);
        loop {
            match self.answer()? {
                Answer::Ready => {}
                Answer::Samples(lines) => take(&lines)?,
                Answer::Done(work) => return Ok(work),
            }
        }
    }

    fn answer(&mut self) -> Result<Answer> {
        let mut line = String::new();
        if !matches!(self.answers.read_line(&mut line), Ok(length) if length > 0) {
            return Err(self.ended());
        }
        let (word, rest) = line
            .trim_end()
            .split_once(' ')
            .unwrap_or((line.trim_end(), ""));
        match word {
            "ready" => Ok(Answer::Ready),
            "samples" => {
                let length: u64 = rest.parse().unwrap_or(0);
                let mut lines = Vec::new();
                let read = self.answers.by_ref().take(length).read_to_end(&mut lines);
                match read.is_ok_and(|read| read as u64 == length) {
                    true => Ok(Answer::Samples(lines)),
                    false => Err(self.ended()),
                }
            }
            "done" => Ok(Answer::Done(Work::read(rest))),
            "error" => Err(told_error(rest)),
            _ => Err(refuse(format!("--engine ray: the process says `{word}`"))),
        }
    }

    /// Why the process has ended without a message.
    fn ended(&mut self) -> Error {
        drop(self.stdin.take());
        let said = self.said.take().and_then(|said| said.join().ok());
        let said = said.unwrap_or_default();
        let lacks = |name: &str| said.contains(&format!("No module named {name}"));
        if lacks("catena") || lacks("'catena'") {
            let message = format!(
                "--engine ray: `{}` does not have the package catena",
                self.python
            );
            return refuse(message).hint(INSTALL);
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let message = format!(
            "--engine ray: the process that speaks with Ray has ended: {}",
            last.unwrap_or("it did not say why")
        );
        refuse(message).hint("give the command again with --resume: finished samples are kept")
    }
}

fn told_error(told: &str) -> Error {
    let told: Value = serde_json::from_str(told).unwrap_or_default();
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_string();
    let error = refuse(format!("--engine ray: {}", text("message")));
    match text("hint").as_str() {
        "" => error,
        hint => error.hint(hint),
    }
}

impl Work {
    fn read(told: &str) -> Self {
        let told: Value = serde_json::from_str(told).unwrap_or_default();
        let count = |key: &str| told[key].as_u64().unwrap_or(0) as usize;
        Work {
            chunks: count("chunks"),
            workers: count("workers"),
            nodes: count("nodes"),
            lost: count("lost"),
        }
    }
}
