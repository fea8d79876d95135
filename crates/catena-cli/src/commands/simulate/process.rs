//! A controller in another process, which communicates by JSON lines: a request on its stdin, a reply on its stdout.
//!
//! The protocol is described in docs/tutorials/own-controller.md.

use catena::error::{Error, ErrorKind, Result};
use catena::model::Sensor;
use catena::simulate::{Control, Sensors};
use catena::{Model, State};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest reply, in bytes.
const LONGEST: u64 = 1 << 24;

/// How long a process may take to end after its stdin is closed.
const FAREWELL: Duration = Duration::from_millis(500);

/// The controller. Copies share the process; the state it returns belongs to each copy.
#[derive(Clone)]
pub struct Process {
    running: Arc<Mutex<Running>>,
    /// Names and indices of the freedoms it drives.
    driven: Vec<(String, usize)>,
    /// The model's sensors, which the greeting names.
    sensors: Vec<Sensor>,
    /// State returned by the process, sent back with the next request.
    state: Option<Vec<f64>>,
    has_answered: bool,
}

struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<std::io::Result<String>>,
    timeout: Duration,
}

fn refusal(message: impl Into<String>) -> Error {
    Error::new(
        ErrorKind::Input,
        format!("--controller-command: {}", message.into()),
    )
}

impl Process {
    /// Starts the process and greets it.
    pub fn start(
        command: &str,
        model: &Model,
        driven: Vec<(String, usize)>,
        rate: f64,
        timeout: f64,
    ) -> Result<Self> {
        let words = words(command)?;
        let Some((program, arguments)) = words.split_first() else {
            return Err(refusal("there is no command"));
        };
        let started = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| {
            refusal(format!("`{program}` cannot be started: {error}"))
                .hint("the words are the program and its arguments; no shell is involved")
        })?;
        let (send, answers) = channel();
        let mut out = BufReader::new(child.stdout.take().ok_or_else(|| refusal("no stdout"))?);
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                let read = out.by_ref().take(LONGEST).read_until(b'\n', &mut line);
                let is_end = matches!(read, Ok(0) | Err(_));
                let answer = read.map(|_| String::from_utf8_lossy(&line).into_owned());
                if is_end || send.send(answer).is_err() {
                    return;
                }
            }
        });
        let process = Process {
            running: Arc::new(Mutex::new(Running {
                stdin: child.stdin.take(),
                child,
                answers,
                timeout: Duration::from_secs_f64(timeout),
            })),
            driven,
            sensors: model.sensors().to_vec(),
            state: None,
            has_answered: false,
        };
        let tree = model.tree();
        let positions = crate::coordinates::Quantity::Position.coordinates(model);
        let actuators = model.actuators();
        let limits = process.driven.iter().map(|(_, k)| {
            let own = actuators.iter().find(|actuator| actuator.freedom == *k);
            own.and_then(|actuator| actuator.max_effort)
        });
        let measures = |sensor: &Sensor| sensor.measures().map(|(name, _)| name);
        let sensors: Map<String, Value> = process
            .sensors
            .iter()
            .map(|sensor| (sensor.name.clone(), json!(measures(sensor))))
            .collect();
        let mut hello = json!({
            "format": "catena-control/1",
            "model": model.name(),
            "rate": rate,
            "q": positions.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
            "v": tree.dofs.iter().map(|dof| dof.name.as_str()).collect::<Vec<_>>(),
            "tau": process.driven.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            "max_effort": limits.collect::<Vec<_>>(),
        });
        if !sensors.is_empty() {
            hello["sensors"] = sensors.into();
        }
        process.lock().send(&hello, 0.0)?;
        Ok(process)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sensor readings: by sensor, then by quantity.
fn by_name(sensors: &[Sensor], measured: &[[f64; 6]]) -> Value {
    let pairs = sensors.iter().zip(measured);
    let all = pairs.map(|(sensor, numbers)| {
        let names = sensor.measures().map(|(name, _)| name.to_string());
        let own: Map<String, Value> = names.into_iter().zip(numbers.map(Value::from)).collect();
        (sensor.name.clone(), own.into())
    });
    Value::Object(all.collect())
}

impl Control for Process {
    fn efforts(
        &mut self,
        t: f64,
        state: &State,
        sensors: &mut Sensors<'_>,
        tau: &mut [f64],
    ) -> Result<()> {
        let mut request = json!({ "t": t, "q": state.q, "v": state.v, "state": self.state });
        if !self.sensors.is_empty() {
            request["sensors"] = by_name(&self.sensors, sensors.all()?);
        }
        let answer = {
            let mut running = self.lock();
            running.send(&request, t)?;
            running.receive(t)?
        };
        let shown: String = answer.trim_end().chars().take(60).collect();
        let wrong = |what: String| {
            refusal(format!("at {t} s the process answered `{shown}`: {what}"))
                .hint("the answer to {\"t\": …, \"q\": […], \"v\": […]} is a line {\"tau\": […]}")
        };
        let value: Value = serde_json::from_str(&answer)
            .map_err(|error| wrong(format!("that is not JSON ({error})")))?;
        let list = |key: &str| value.get(key).and_then(Value::as_array);
        let Some(efforts) = list("tau") else {
            return Err(wrong("there is no list `tau`".into()));
        };
        if efforts.len() != self.driven.len() {
            return Err(wrong(catena::state::needed_and_given(
                self.driven.len(),
                efforts.len(),
            )));
        }
        for ((name, k), effort) in self.driven.iter().zip(efforts) {
            let Some(effort) = effort.as_f64() else {
                return Err(wrong(format!("the effort for `{name}` is not a number")));
            };
            tau[*k] = effort;
        }
        let numbers =
            |list: &Vec<Value>| list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>();
        self.state = match value.get("state") {
            None | Some(Value::Null) => None,
            Some(Value::Array(list)) => match numbers(list) {
                Some(numbers) => Some(numbers),
                None => return Err(wrong("its `state` is not a list of numbers".into())),
            },
            Some(_) => return Err(wrong("its `state` is not a list of numbers".into())),
        };
        self.has_answered = true;
        Ok(())
    }

    fn save(&self) -> Option<Vec<f64>> {
        match self.has_answered {
            true => self.state.clone(),
            // no state yet
            false => Some(Vec::new()),
        }
    }

    fn restore(&mut self, saved: &[f64]) -> Result<()> {
        self.state = Some(saved.to_vec());
        self.has_answered = true;
        Ok(())
    }
}

impl Running {
    fn send(&mut self, request: &Value, t: f64) -> Result<()> {
        let line = format!("{request}\n");
        let sent = match &mut self.stdin {
            Some(stdin) => stdin
                .write_all(line.as_bytes())
                .and_then(|()| stdin.flush()),
            None => return Err(refusal(format!("at {t} s the process has exited"))),
        };
        sent.map_err(|_| self.gone(t))
    }

    fn receive(&mut self, t: f64) -> Result<String> {
        match self.answers.recv_timeout(self.timeout) {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(error)) => Err(refusal(format!(
                "at {t} s the answer of the process cannot be read: {error}"
            ))),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone(t)),
            Err(RecvTimeoutError::Timeout) => {
                self.stdin = None;
                let _ = self.child.kill();
                Err(refusal(format!(
                    "at {t} s the process did not answer within {} s",
                    self.timeout.as_secs_f64()
                ))
                .hint("it must print a line for every request and flush it; --controller-timeout gives it longer"))
            }
        }
    }

    /// The process has closed its end.
    fn gone(&mut self, t: f64) -> Error {
        self.stdin = None;
        let status = self.wait(FAREWELL);
        let how = status.map_or("closed its output".into(), |status| {
            format!("ended ({status})")
        });
        refusal(format!("at {t} s the process has {how}"))
            .hint("its messages on stderr, if any, are above")
    }

    /// Waits until the process ends, for some time.
    fn wait(&mut self, time: Duration) -> Option<std::process::ExitStatus> {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if start.elapsed() < time => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                _ => return None,
            }
        }
    }
}

impl Drop for Running {
    /// A process should end when its stdin closes; one that does not is killed.
    fn drop(&mut self) {
        self.stdin = None;
        if self.wait(FAREWELL).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The words of a command: separated by spaces, those with spaces in quotes.
fn words(command: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(refusal(format!("the quote {open} is not closed")));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_of_commands() {
        let split = |text| words(text).expect(text);
        assert_eq!(split("python3 my.py  -v"), ["python3", "my.py", "-v"]);
        assert_eq!(
            split("awk '{print \"a\"}' \"b c\"d ''"),
            ["awk", "{print \"a\"}", "b cd", ""]
        );
        assert!(split(" ").is_empty());
        assert!(words("a 'b").is_err());
    }
}
