//! A state with everything that acts on it: the input of the commands.

use crate::number::rough;
use crate::{json, names};
use catena::ClosedChain;
use catena::error::{Error, ErrorKind, Result};
use catena::random::Random;
use catena::residual::{difference, within};
use catena::spatial::{Force, Vec3};
use catena::{Base, Dynamics, Model, State};
use serde_json::{Map, Value, json};

/// Changes of positions up to this, m or rad, are round-off.
const UNMOVED: f64 = 1e-14;

/// A wrench on a frame: world axes, the force at the frame's origin.
#[derive(Clone, Debug)]
pub struct Wrench {
    /// Name of the frame.
    pub frame: String,
    /// Moment, N·m.
    pub moment: [f64; 3],
    /// Force, N.
    pub force: [f64; 3],
}

/// A state, the given accelerations and efforts, and external wrenches.
#[derive(Clone, Debug)]
pub struct Situation {
    /// Time, where it has one.
    pub time: Option<f64>,
    /// Positions, velocities, motion of the base.
    pub state: State,
    /// Accelerations v̇.
    pub acceleration: Vec<f64>,
    /// Efforts τ.
    pub effort: Vec<f64>,
    /// External wrenches.
    pub wrenches: Vec<Wrench>,
    /// Freedoms whose velocities were given by name. With nonholonomic rows, assembly keeps these, and the others follow.
    pub named: Vec<usize>,
}

impl Situation {
    /// The model's initial state, with nothing acting.
    pub fn start(model: &Model) -> Self {
        Situation {
            time: None,
            state: State::start(model),
            acceleration: vec![0.0; model.nv()],
            effort: vec![0.0; model.nv()],
            wrenches: Vec::new(),
            named: Vec::new(),
        }
    }

    /// A random state, with accelerations and efforts in ±1.
    pub fn random(model: &Model, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x61_7461_7561);
        let mut list = || (0..model.nv()).map(|_| random.uniform(-1.0, 1.0)).collect();
        Situation {
            state: State::random(model, seed),
            acceleration: list(),
            effort: list(),
            ..Situation::start(model)
        }
    }

    /// The situation in all coordinates of the tree, where some follow others by couplings: efforts act on the independent ones.
    pub fn of_tree(&self, model: &Model) -> Situation {
        let Some(couplings) = model.couplings() else {
            return self.clone();
        };
        let mut all = Situation {
            state: self.state.of_tree(model),
            acceleration: vec![0.0; model.tree().nv],
            effort: vec![0.0; model.tree().nv],
            ..self.clone()
        };
        couplings.expand_rates(&self.acceleration, &mut all.acceleration);
        for (&k, &tau) in couplings.freedoms().iter().zip(&self.effort) {
            all.effort[k] = tau;
        }
        all
    }

    /// The wrenches as the library takes them: one per body, or none at all.
    pub fn external(&self, dynamics: &mut Dynamics) -> Result<Vec<Force<f64>>> {
        if self.wrenches.is_empty() {
            return Ok(Vec::new());
        }
        let model = dynamics.model().clone();
        let mut external = vec![Force::zero(); model.body_count() + 1];
        for wrench in &self.wrenches {
            let frame = find_frame(&model, &wrench.frame)?;
            if frame.body == 0 {
                return Err(Error::new(
                    ErrorKind::Input,
                    format!(
                        "a wrench on frame `{}` does nothing: it is fixed to the ground",
                        frame.name
                    ),
                ));
            }
            let point = dynamics.frame_pose(&self.state, frame)?.translation;
            let force = Force::new(
                Vec3::from_array(wrench.moment),
                Vec3::from_array(wrench.force),
            );
            external[frame.body] += dynamics.wrench_on(&self.state, frame.body, point, force)?;
        }
        Ok(external)
    }
}

/// By how much assembly moved a state: the largest changes of a position and of a velocity.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// m or rad; components of quaternions unscaled.
    pub positions: f64,
    /// m/s or rad/s.
    pub velocities: f64,
}

impl Moved {
    /// The largest changes from one state to the other.
    pub fn between(from: &State, to: &State) -> Self {
        Moved {
            positions: difference(&from.q, &to.q),
            velocities: difference(&from.v, &to.v),
        }
    }

    /// In words.
    pub fn words(self) -> String {
        format!(
            "positions by up to {} m or rad, velocities by up to {} m/s or rad/s",
            rough(self.positions),
            rough(self.velocities)
        )
    }

    /// For JSON.
    pub fn to_json(self) -> Value {
        json!({ "positions": self.positions, "velocities": self.velocities })
    }

    /// The remark about a state that was not closed.
    pub fn sentence(self) -> String {
        if within(self.positions, UNMOVED) {
            return format!(
                "The given velocities slip or open loops; projection changed them by up to {} m/s or rad/s.",
                rough(self.velocities)
            );
        }
        format!(
            "The given state does not close the loops; assembly moved {}.",
            self.words()
        )
    }
}

/// The rule for states of closed chains: one that satisfies the constraints is used unchanged, any other is a guess and is
/// assembled. The change is returned, and every command shows it.
pub fn close(
    chain: &mut ClosedChain,
    time: f64,
    situation: &mut Situation,
) -> Result<Option<Moved>> {
    let state = &mut situation.state;
    match chain.require_closed(time, state) {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == ErrorKind::Input => {
            let held = match chain.velocity_row_count() {
                0 => &[][..],
                _ => &situation.named,
            };
            let assembled = chain.assemble(time, state, held)?.state;
            let moved = Moved::between(state, &assembled);
            *state = assembled;
            Ok(Some(moved))
        }
        Err(error) => Err(error),
    }
}

/// The frame with this name.
pub fn find_frame<'a>(model: &'a Model, name: &str) -> Result<&'a catena::model::FrameInfo> {
    let tree = model.tree();
    tree.frame(name).ok_or_else(|| {
        let known = || tree.frames.iter().map(|frame| frame.name.as_str());
        let hint = match names::nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the frames are {}", names::first_few(known())),
        };
        Error::new(
            ErrorKind::Input,
            format!("`{}` has no frame `{name}`", model.name()),
        )
        .hint(hint)
    })
}

/// The state as in a state file: time, positions, velocities, motion of the base and wrenches, where there are any.
pub fn to_json(situation: &Situation) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |key: &str, value| object.insert(key.into(), value);
    if let Some(time) = situation.time {
        put("t", time.into());
    }
    put("q", json::numbers(&situation.state.q));
    put("v", json::numbers(&situation.state.v));
    let base = situation.state.base;
    if base != Base::fixed() {
        let mut value = json::pose(base.pose);
        value["angular_velocity"] = json::vector(base.velocity.angular);
        value["linear_velocity"] = json::vector(base.velocity.linear);
        value["angular_acceleration"] = json::vector(base.acceleration.angular);
        value["linear_acceleration"] = json::vector(base.acceleration.linear);
        put("base", value);
    }
    if !situation.wrenches.is_empty() {
        let wrenches = situation.wrenches.iter().map(|wrench| {
            json!({
                "frame": wrench.frame,
                "moment": json::numbers(&wrench.moment),
                "force": json::numbers(&wrench.force),
            })
        });
        put("wrenches", wrenches.collect());
    }
    object
}
