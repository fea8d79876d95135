//! Names and units of positions, velocities, accelerations and efforts, in the order the library keeps them.

use catena::Model;

/// Description of a number of a state.
#[derive(Clone, Debug)]
pub struct Coordinate {
    /// Name: that of the freedom; for a quaternion the joint's with `.qw`, `.qx`, `.qy`, `.qz`.
    pub name: String,
    /// Unit; empty for a component of a quaternion.
    pub unit: &'static str,
    /// Whether it may be given as an angle.
    pub is_angle: bool,
}

/// The four lists of numbers a state consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Positions q.
    Position,
    /// Velocities v.
    Velocity,
    /// Accelerations v̇.
    Acceleration,
    /// Efforts τ.
    Effort,
}

impl Quantity {
    /// All quantities.
    pub const ALL: [Quantity; 4] = [
        Quantity::Position,
        Quantity::Velocity,
        Quantity::Acceleration,
        Quantity::Effort,
    ];

    /// The letter used for options, JSON keys and CSV columns.
    pub fn key(self) -> &'static str {
        match self {
            Quantity::Position => "q",
            Quantity::Velocity => "v",
            Quantity::Acceleration => "a",
            Quantity::Effort => "tau",
        }
    }

    /// The coordinates of a model.
    pub fn coordinates(self, model: &Model) -> Vec<Coordinate> {
        match self {
            Quantity::Position => positions(model),
            _ => freedoms(model, self),
        }
    }
}

fn freedoms(model: &Model, quantity: Quantity) -> Vec<Coordinate> {
    let unit = |turns: bool| match (quantity, turns) {
        (Quantity::Velocity, true) => "rad/s",
        (Quantity::Velocity, false) => "m/s",
        (Quantity::Acceleration, true) => "rad/s²",
        (Quantity::Acceleration, false) => "m/s²",
        (Quantity::Effort, true) => "N·m",
        (Quantity::Effort, false) => "N",
        (Quantity::Position, true) => "rad",
        (Quantity::Position, false) => "m",
    };
    model
        .freedoms()
        .into_iter()
        .map(|dof| {
            let turns = dof.force_unit == "N·m";
            Coordinate {
                name: dof.name.clone(),
                unit: unit(turns),
                is_angle: turns && quantity != Quantity::Effort,
            }
        })
        .collect()
}

fn positions(model: &Model) -> Vec<Coordinate> {
    if let Some(couplings) = model.couplings() {
        let all = positions(&model.clone().open_tree());
        let independent = couplings.positions().iter();
        return independent.map(|&k| all[k].clone()).collect();
    }
    let tree = model.tree();
    let plain = freedoms(model, Quantity::Position);
    let mut positions = Vec::with_capacity(model.nq());
    for body in &tree.bodies[1..] {
        // coordinates before a quaternion belong to the freedoms of the same index
        let count = body.kind.quaternion().unwrap_or(body.kind.nq());
        positions.extend_from_slice(&plain[body.v..body.v + count]);
        if body.kind.quaternion().is_some() {
            positions.extend(["qw", "qx", "qy", "qz"].map(|part| Coordinate {
                name: format!("{}.{part}", body.joint),
                unit: "",
                is_angle: false,
            }));
        }
    }
    positions
}

/// For every freedom its position coordinate; none where a quaternion takes its place.
pub fn position_of_freedom(model: &Model) -> Vec<Option<usize>> {
    if let Some(couplings) = model.couplings() {
        let all = position_of_freedom(&model.clone().open_tree());
        let independent = couplings.freedoms().iter();
        let place = |at: usize| position_place(model, at);
        return independent.map(|&k| all[k].map(place)).collect();
    }
    let tree = model.tree();
    let mut positions = Vec::with_capacity(model.nv());
    for body in &tree.bodies[1..] {
        let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
        positions.extend((0..body.kind.nv()).map(|k| (k < plain).then_some(body.q + k)));
    }
    positions
}

/// The index of an independent position, or of the next one after it, among the model's positions.
pub fn position_place(model: &Model, of_tree: usize) -> usize {
    match model.couplings() {
        None => of_tree,
        Some(couplings) => couplings.positions().partition_point(|&k| k < of_tree),
    }
}

/// For a typed name of a coordinate that follows others: how it follows, and what to give instead.
pub fn follower(model: &Model, name: &str) -> Option<(String, String)> {
    let couplings = model.couplings()?;
    let dofs = &model.tree().dofs;
    let follower =
        (couplings.followers().iter()).find(|follower| dofs[follower.coordinate.v].name == name)?;
    let sources: Vec<String> = (follower.terms.iter())
        .map(|(at, _)| format!("`{}`", model.freedom(at.v).name))
        .collect();
    let advice = match sources.is_empty() {
        true => "it is constant: leave it out".to_string(),
        false => format!("give {} instead", sources.join(" and ")),
    };
    let how = format!(
        "{} (coupling `{}`)",
        model.following(follower),
        follower.coupling
    );
    Some((how, format!("{advice}; --open-loops frees all joints")))
}
