//! A simulation that runs while the page is open, over a WebSocket.
//!
//! The server sends the motion sixty times a second: a binary message with the time (64 bits) and the poses of all bodies (32 bits), and a
//! few times a second a text with energies. It receives JSON texts, one request each:
//!
//! | request | meaning |
//! |---|---|
//! | `{"run": true}` | continue, or stop |
//! | `{"step": 0.02}` | advance by this many seconds and stop |
//! | `{"speed": 0.5}` | seconds of motion per second |
//! | `{"gravity": [0, 0, -9.81]}` | m/s² |
//! | `{"viscous": 0.5, "dry": 0.1}` | friction in the joints in addition to the model's own, N·m·s/rad (or N·s/m) and N·m (or N) |
//! | `{"drive": "hold", "stiffness": 50, "damping": 5}` | `none`, `gravity` (compensate the weight), `brake` (damping only) or `hold` (spring and damper to the present position; joints with a quaternion, ball joints and floating bases, are left free) |
//! | `{"pull": {"body": 3, "point": [0, 0, 0.1], "to": [1, 0, 0], "stiffness": 40}}` | a spring from a point of a body to a point of the world; `null` lets go |
//! | `{"reset": true}` | back to the start |
//!
//! Every sixtieth of a second is a separate run of [`Simulation`], so that loops, friction and tolerances are treated as in any other.

use crate::motion;
use catena::error::{Error, ErrorKind, Result};
use catena::integrate::{Method, Tolerances};
use catena::model::JointKind;
use catena::simulate::{
    Controller, Gains, Inputs, Integrator, LineSpring, Simulation, SimulationOptions,
};
use catena::spatial::Vec3;
use catena::trajectory::{PointToPoint, Profile, Reference};
use catena::{Dynamics, Model, State};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

/// Time between pictures.
const PICTURE: Duration = Duration::from_micros(16_667);
/// Longest message of the page, bytes.
const MOST_BYTES: usize = 4096;
/// Messages of the page per second.
const MOST_MESSAGES: usize = 240;
/// A picture that takes longer stops the run.
const MOST_TIME: Duration = Duration::from_secs(2);
/// Relative tolerance: enough for viewing, not for publication.
const TOLERANCE: f64 = 1e-6;

/// Initial data of a live simulation.
#[derive(Clone, Debug)]
pub struct Start {
    /// The model.
    pub model: Model,
    /// Its state at time 0.
    pub state: State,
}

/// Answers the handshake and runs the simulation until the page is closed.
pub(crate) fn serve(mut stream: TcpStream, key: &str, start: &Start) -> io::Result<()> {
    let accept = derive_accept_key(key.as_bytes());
    stream.write_all(
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        )
        .as_bytes(),
    )?;
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MOST_BYTES))
        .max_frame_size(Some(MOST_BYTES));
    let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
    let mut run = Live::new(start);
    let ended = talk(&mut socket, &mut run);
    let _ = socket.close(None);
    let _ = socket.flush();
    match ended {
        Err(tungstenite::Error::Io(error)) => Err(error),
        _ => Ok(()),
    }
}

fn talk(socket: &mut WebSocket<TcpStream>, run: &mut Live) -> tungstenite::Result<()> {
    let mut second = (Instant::now(), 0);
    let mut pictures = 0u64;
    let mut moved = true;
    loop {
        let begun = Instant::now();
        loop {
            match socket.read() {
                Ok(Message::Text(text)) => {
                    if second.0.elapsed() > Duration::from_secs(1) {
                        second = (Instant::now(), 0);
                    }
                    second.1 += 1;
                    if second.1 > MOST_MESSAGES {
                        return Ok(()); // a page that floods the socket is disconnected
                    }
                    moved = true;
                    if let Err(error) = run.wish(text.as_str()) {
                        let complaint = complaint(&error, run);
                        socket.send(Message::text(complaint.to_string()))?;
                    }
                }
                Ok(Message::Close(_)) => return Ok(()),
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if run.running || run.owed > 0.0 {
            moved = true;
            if let Err(error) = run.advance() {
                run.running = false;
                run.owed = 0.0;
                let complaint = complaint(&error, run);
                socket.send(Message::text(complaint.to_string()))?;
            }
        }
        if moved {
            socket.send(Message::binary(run.picture()))?;
            if pictures.is_multiple_of(6) || !run.running {
                socket.send(Message::text(run.numbers().to_string()))?;
            }
            pictures += 1;
            moved = false;
        }
        std::thread::sleep(PICTURE.saturating_sub(begun.elapsed()));
    }
}

/// The error, and whether the run continues.
fn complaint(error: &Error, run: &Live) -> Value {
    json!({ "error": error.message(), "running": run.running })
}

/// A spring that pulls a body.
#[derive(Clone, Debug)]
struct Pull {
    frame: usize,
    point: Vec3<f64>,
    to: Vec3<f64>,
    stiffness: f64,
}

/// The simulation.
struct Live {
    start: Start,
    model: Model,
    dynamics: Dynamics,
    state: State,
    time: f64,
    speed: f64,
    running: bool,
    /// Seconds of motion still to go when it does not run.
    owed: f64,
    controller: Controller,
    gravity: [f64; 3],
    /// Viscous and dry friction in addition to the model's own.
    friction: [f64; 2],
    /// Viscous friction of the brakes.
    brake: f64,
    pull: Option<Pull>,
    energies: [f64; 3],
}

impl Live {
    fn new(start: &Start) -> Self {
        Live {
            model: start.model.clone(),
            dynamics: Dynamics::new(&start.model),
            state: start.state.clone(),
            start: start.clone(),
            time: 0.0,
            speed: 1.0,
            running: false,
            owed: 0.0,
            controller: Controller::None,
            gravity: start.model.gravity().to_array(),
            friction: [0.0; 2],
            brake: 0.0,
            pull: None,
            energies: [0.0; 3],
        }
    }

    /// Handles a request of the page.
    fn wish(&mut self, text: &str) -> Result<()> {
        let bad = |what: &str| Error::new(ErrorKind::Input, what.to_string());
        let wish: Value = serde_json::from_str(text).map_err(|_| bad("a request must be JSON"))?;
        let number = |key: &str, low: f64, high: f64| match &wish[key] {
            Value::Null => Ok(None),
            value => match value.as_f64() {
                Some(x) if (low..=high).contains(&x) => Ok(Some(x)),
                _ => Err(bad(&format!(
                    "`{key}` must be a number from {low} to {high}"
                ))),
            },
        };
        if let Some(running) = wish["run"].as_bool() {
            self.running = running;
        }
        if let Some(step) = number("step", 0.0, 10.0)? {
            (self.running, self.owed) = (false, step);
        }
        if let Some(speed) = number("speed", 0.001, 100.0)? {
            self.speed = speed;
        }
        let world = (self.gravity, self.friction, self.brake);
        if !wish["gravity"].is_null() {
            self.gravity =
                vector(&wish["gravity"]).ok_or_else(|| bad("gravity is three numbers"))?;
        }
        for (own, key) in self.friction.iter_mut().zip(["viscous", "dry"]) {
            *own = number(key, 0.0, 1e6)?.unwrap_or(*own);
        }
        if let Some(drive) = wish["drive"].as_str() {
            let stiffness = number("stiffness", 0.0, 1e6)?.unwrap_or(50.0);
            let damping = number("damping", 0.0, 1e6)?.unwrap_or(5.0);
            self.controller = self.drive(drive, stiffness, damping)?;
            self.brake = if drive == "brake" { damping } else { 0.0 };
        }
        if world != (self.gravity, self.friction, self.brake) {
            self.change_world();
        }
        if wish.get("pull").is_some() {
            self.pull = match &wish["pull"] {
                Value::Null => None,
                pull => Some(self.pulled(pull)?),
            };
        }
        if wish["reset"] == true {
            self.state = self.start.state.clone();
            self.time = 0.0;
        }
        Ok(())
    }

    /// Sets gravity and friction. A floating base has no friction: nothing holds it.
    fn change_world(&mut self) {
        let tree = self.start.model.tree();
        let is_held = |k: usize| tree.bodies[tree.dofs[k].body].kind != JointKind::Free;
        let [viscous, dry] = self.friction;
        self.model = self
            .start
            .model
            .clone()
            .with_gravity(self.gravity)
            .with_friction(|k, [damping, friction]| match is_held(k) {
                true => [damping + viscous + self.brake, friction + dry],
                false => [damping, friction],
            });
        self.dynamics = Dynamics::new(&self.model);
    }

    fn drive(&self, name: &str, stiffness: f64, damping: f64) -> Result<Controller> {
        Ok(match name {
            "none" | "brake" => Controller::None,
            "gravity" => Controller::GravityCompensation,
            "hold" => {
                let positions = crate::scene::position_of_freedom(&self.model);
                let tree = self.model.tree();
                let has_position =
                    |k: &usize| tree.bodies[tree.dofs[*k].body].kind.quaternion().is_none();
                let here: Vec<f64> = (0..positions.len())
                    .filter(has_position)
                    .filter_map(|k| positions[k].map(|q| self.state.q[q]))
                    .collect();
                if here.is_empty() {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "ball joints and floating bases have no position to hold: use the brakes",
                    ));
                }
                let motion = PointToPoint::new(Profile::Cycloid, &here, &here, 1.0)?;
                Controller::ProportionalDerivative {
                    motion: Reference::PointToPoint(motion),
                    stiffness: Gains::Same(stiffness),
                    damping: Gains::Same(damping),
                }
            }
            other => {
                let message = format!("there is no drive `{other}`");
                return Err(
                    Error::new(ErrorKind::Input, message).hint("none, gravity, brake or hold")
                );
            }
        })
    }

    /// The spring of a request, at a frame of the body.
    fn pulled(&self, pull: &Value) -> Result<Pull> {
        let bad = || {
            Error::new(
                ErrorKind::Input,
                "a pull has a body, a point and a place `to`",
            )
        };
        let body = pull["body"].as_u64().ok_or_else(bad)? as usize;
        let frames = &self.model.tree().frames;
        let frame = frames
            .iter()
            .position(|f| f.body == body && body > 0)
            .ok_or_else(bad)?;
        let (point, to) = vector(&pull["point"])
            .zip(vector(&pull["to"]))
            .ok_or_else(bad)?;
        let stiffness = pull["stiffness"].as_f64().ok_or_else(bad)?;
        if !(0.0..=1e7).contains(&stiffness) {
            return Err(bad());
        }
        Ok(Pull {
            frame,
            point: frames[frame]
                .body_from_frame
                .inverse()
                .point(Vec3::from_array(point)),
            to: Vec3::from_array(to),
            stiffness,
        })
    }

    fn inputs(&self) -> Inputs {
        let springs = self.pull.iter().map(|pull| LineSpring {
            frames: [Some(pull.frame), None],
            points: [pull.point, pull.to],
            stiffness: pull.stiffness,
            // enough to damp the pulled body: as for the mass of the whole model
            damping: 0.5 * (pull.stiffness * self.model.mass()).sqrt(),
            free_length: 0.0,
        });
        Inputs {
            controller: self.controller.clone(),
            springs: springs.collect(),
            ..Inputs::default()
        }
    }

    /// Advances by one picture.
    fn advance(&mut self) -> Result<()> {
        let mut duration = PICTURE.as_secs_f64() * self.speed;
        if !self.running {
            duration = duration.min(self.owed);
            self.owed -= duration;
        }
        if duration < 1e-9 {
            self.owed = 0.0;
            return Ok(());
        }
        let options = SimulationOptions {
            integrator: Integrator::Adaptive {
                method: Method::Tsitouras5,
                tolerances: Tolerances {
                    relative: TOLERANCE,
                    absolute: 0.01 * TOLERANCE,
                },
                max_step: f64::INFINITY,
            },
            duration,
            interval: duration,
        };
        let mut run =
            Simulation::new(&self.model, &self.state, self.inputs(), Vec::new(), options)?;
        let begun = Instant::now();
        let mut samples = Vec::new();
        while !run.finished() {
            run.advance(&mut samples)?;
            if begun.elapsed() > MOST_TIME {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!(
                        "the motion is too fast to follow: {duration:.4} s took more than {MOST_TIME:?}"
                    ),
                ));
            }
        }
        if let Some(sample) = samples.pop() {
            let base = self.state.base;
            self.energies = sample.energies;
            self.state = sample.state;
            self.state.base = base;
        }
        self.time += duration;
        Ok(())
    }

    /// Time and poses as bytes.
    fn picture(&mut self) -> Vec<u8> {
        let mut numbers = Vec::new();
        let mut bytes = self.time.to_le_bytes().to_vec();
        if motion::poses(&mut self.dynamics, &self.state, &mut numbers).is_ok() {
            bytes.extend(numbers.iter().flat_map(|x| (*x as f32).to_le_bytes()));
        }
        bytes
    }

    fn numbers(&self) -> Value {
        let [kinetic, gravitational, elastic] = self.energies;
        json!({
            "time": self.time, "running": self.running,
            "kinetic": kinetic, "gravitational": gravitational, "elastic": elastic,
            "q": self.state.q,
        })
    }
}

fn vector(value: &Value) -> Option<[f64; 3]> {
    let list: Option<Vec<f64>> = value.as_array()?.iter().map(Value::as_f64).collect();
    list?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::embedded;

    fn pendulum() -> Live {
        let model = embedded::model("planar3").expect("an embedded model");
        let state = State::neutral(&model);
        Live::new(&Start { model, state })
    }

    /// Without friction and efforts the energy is conserved from picture to picture.
    #[test]
    fn energy_is_kept_over_many_pictures() {
        let mut run = pendulum();
        run.wish(r#"{"run": true}"#).expect("a wish");
        run.wish(r#"{"gravity": [0, -9.81, 0]}"#).expect("a wish");
        run.advance().expect("a picture");
        let first: f64 = run.energies.iter().sum();
        for _ in 0..60 {
            run.advance().expect("a picture");
        }
        let last: f64 = run.energies.iter().sum();
        assert!(run.energies[0] > 0.1, "it moves");
        assert!(
            (last - first).abs() < 1e-3 * run.energies[0],
            "{first} {last}"
        );
        assert!((run.time - 61.0 * PICTURE.as_secs_f64()).abs() < 1e-9);
    }

    #[test]
    fn a_body_follows_what_pulls_it() {
        let mut run = pendulum();
        run.wish(r#"{"run": true, "gravity": [0, 0, 0]}"#)
            .expect("a wish");
        let tip = |run: &mut Live| {
            let bytes = run.picture();
            let float = |k: usize| {
                f32::from_le_bytes(bytes[8 + 4 * k..12 + 4 * k].try_into().expect("four bytes"))
            };
            [float(7 * 3), float(7 * 3 + 1)]
        };
        let before = tip(&mut run);
        run.wish(r#"{"pull": {"body": 3, "point": [0, 0, 0], "to": [0, 1, 0], "stiffness": 50}}"#)
            .expect("a wish");
        for _ in 0..30 {
            run.advance().expect("a picture");
        }
        let after = tip(&mut run);
        assert!(after[1] > before[1] + 0.05, "{before:?} {after:?}");
    }

    /// Motors work with every kind of joint, or say why not.
    #[test]
    fn motors_with_ball_joints_and_a_floating_base() {
        let of = |name: &str| {
            let model = embedded::model(name).expect("an embedded model");
            let state = State::random(&model, 1);
            Live::new(&Start { model, state })
        };
        let mut balls = of("pendulum-3");
        let refusal = balls.wish(r#"{"drive": "hold"}"#).expect_err("no position");
        assert!(refusal.message().contains("use the brakes"), "{refusal}");
        balls
            .wish(r#"{"run": true, "gravity": [0, 0, 0], "drive": "brake", "damping": 5}"#)
            .expect("a wish");
        balls.advance().expect("a picture");
        let first = balls.energies[0];
        for _ in 0..30 {
            balls.advance().expect("a picture");
        }
        assert!(
            balls.energies[0] < 0.5 * first,
            "{first} {:?}",
            balls.energies
        );
        let mut robot = of("space-robot");
        for drive in ["hold", "gravity", "brake", "none"] {
            robot
                .wish(&format!(r#"{{"run": true, "drive": "{drive}"}}"#))
                .expect("a wish");
            robot.advance().expect("a picture");
        }
    }

    /// Brakes dissipate energy, and change nothing else.
    #[test]
    fn brakes_bring_it_to_rest() {
        let mut run = pendulum();
        run.state.v.fill(1.0);
        run.wish(r#"{"run": true, "gravity": [0, 0, 0], "drive": "brake", "damping": 5}"#)
            .expect("a wish");
        run.advance().expect("a picture");
        let first = run.energies[0];
        for _ in 0..60 {
            run.advance().expect("a picture");
        }
        assert!(run.energies[0] < 0.2 * first, "{first} {:?}", run.energies);
    }

    /// Viscous friction dissipates energy; dry friction that is stronger than gravity holds bodies at rest.
    #[test]
    fn friction_can_be_changed_while_it_runs() {
        let mut run = pendulum();
        run.state.v.fill(1.0);
        run.wish(r#"{"run": true, "gravity": [0, 0, 0], "viscous": 2}"#)
            .expect("a wish");
        run.advance().expect("a picture");
        let first = run.energies[0];
        for _ in 0..60 {
            run.advance().expect("a picture");
        }
        assert!(run.energies[0] < 0.5 * first, "{first} {:?}", run.energies);
        run.wish(r#"{"reset": true, "gravity": [0, -9.81, 0], "viscous": 0, "dry": 1000}"#)
            .expect("a wish");
        let rest = pendulum().state;
        run.state = rest.clone();
        for _ in 0..5 {
            run.advance().expect("a picture");
        }
        assert_eq!(run.state.q, rest.q);
        run.wish(r#"{"dry": 0}"#).expect("a wish");
        run.advance().expect("a picture");
        assert_ne!(run.state.q, rest.q);
    }

    #[test]
    fn wishes_that_make_no_sense_are_told() {
        let mut run = pendulum();
        for wish in [
            "",
            r#"{"speed": 1e9}"#,
            r#"{"step": -1}"#,
            r#"{"gravity": [1, 2]}"#,
            r#"{"viscous": -1}"#,
            r#"{"dry": "much"}"#,
            r#"{"drive": "fly"}"#,
            r#"{"pull": {"body": 99, "point": [0,0,0], "to": [0,0,0], "stiffness": 1}}"#,
            r#"{"pull": {"body": 1, "point": [0,0,0], "to": [0,0,0], "stiffness": -1}}"#,
        ] {
            assert!(run.wish(wish).is_err(), "{wish}");
        }
        run.wish(r#"{"step": 0.05}"#).expect("a wish");
        for _ in 0..10 {
            run.advance().expect("a picture");
        }
        assert!((run.time - 0.05).abs() < 1e-9, "{}", run.time);
    }
}
