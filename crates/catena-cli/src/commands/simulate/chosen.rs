//! The columns that `--record` adds to a run: motion of frames and of the mass centre, momentum, loads in joints and constraints,
//! actuators, force elements and sensors.

use crate::{json, names};
use catena::algorithm::constrained::{Axes, Rows};
use catena::error::{Error, ErrorKind, Result};
use catena::residual::largest;
use catena::simulate::Sample;
use catena::spatial::{Force, Vec3};
use catena::{Dynamics, Model};
use catena_io::run::Column;

/// Columns of a frame, world axes: pose, velocities and accelerations of its origin.
const OF_FRAME: [(&str, &str); 19] = [
    ("x", "m"),
    ("y", "m"),
    ("z", "m"),
    ("qw", ""),
    ("qx", ""),
    ("qy", ""),
    ("qz", ""),
    ("wx", "rad/s"),
    ("wy", "rad/s"),
    ("wz", "rad/s"),
    ("vx", "m/s"),
    ("vy", "m/s"),
    ("vz", "m/s"),
    ("alphax", "rad/s²"),
    ("alphay", "rad/s²"),
    ("alphaz", "rad/s²"),
    ("ax", "m/s²"),
    ("ay", "m/s²"),
    ("az", "m/s²"),
];

/// Columns of the mass centre of all bodies, of the momentum, and of the angular momentum about the mass centre.
const OF_CENTRE: [(&str, &str); 15] = [
    ("centre.x", "m"),
    ("centre.y", "m"),
    ("centre.z", "m"),
    ("centre.vx", "m/s"),
    ("centre.vy", "m/s"),
    ("centre.vz", "m/s"),
    ("centre.ax", "m/s²"),
    ("centre.ay", "m/s²"),
    ("centre.az", "m/s²"),
    ("momentum.x", "N·s"),
    ("momentum.y", "N·s"),
    ("momentum.z", "N·s"),
    ("angular_momentum.x", "N·m·s"),
    ("angular_momentum.y", "N·m·s"),
    ("angular_momentum.z", "N·m·s"),
];

/// A force and a torque about a point, world axes.
const OF_WRENCH: [(&str, &str); 6] = [
    ("fx", "N"),
    ("fy", "N"),
    ("fz", "N"),
    ("nx", "N·m"),
    ("ny", "N·m"),
    ("nz", "N·m"),
];

/// How far a constraint is violated: the largest of its rows, by positions and by velocities.
const OF_DRIFT: [(&str, &str); 2] = [("drift", "m, rad"), ("drift_rate", "m/s, rad/s")];

/// Owner of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    Frame(usize),
    Centre,
    /// The joint that carries this body.
    Joint(usize),
    Constraint(usize),
    Actuator(usize),
    Force(usize),
    Sensor(usize),
}

/// The columns chosen.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Each with its owner and its index there.
    columns: Vec<(Column, Owner, usize)>,
    /// The model with its constraints.
    model: Option<Model>,
}

/// Every column that can be chosen.
fn known(model: &Model) -> Vec<(Column, Owner, usize)> {
    let mut known = Vec::new();
    let mut add = |owner: Owner, prefix: &str, names: &[(&str, &str)]| {
        for (rank, (name, unit)) in names.iter().enumerate() {
            known.push((Column::new(format!("{prefix}{name}"), *unit), owner, rank));
        }
    };
    let tree = model.tree();
    for (index, frame) in tree.frames.iter().enumerate() {
        let prefix = format!("frame.{}.", frame.name);
        add(Owner::Frame(index), &prefix, &OF_FRAME);
    }
    add(Owner::Centre, "", &OF_CENTRE);
    for body in model.bodies() {
        let prefix = format!("joint.{}.", tree.bodies[body].joint);
        add(Owner::Joint(body), &prefix, &OF_WRENCH);
    }
    for (index, constraint) in model.constraints().iter().enumerate() {
        let prefix = format!("constraint.{}.", constraint.name);
        let mut names = match constraint.bodies() {
            Some(_) => OF_WRENCH.to_vec(),
            None => vec![("effort", "N, N·m")],
        };
        names.extend(OF_DRIFT);
        add(Owner::Constraint(index), &prefix, &names);
    }
    for (index, actuator) in model.actuators().iter().enumerate() {
        let dof = &tree.dofs[actuator.freedom];
        let prefix = format!("actuator.{}.", actuator.name);
        let names = [("effort", dof.force_unit), ("power", "W")];
        add(Owner::Actuator(index), &prefix, &names);
    }
    for (index, element) in model.forces().iter().enumerate() {
        let prefix = format!("force.{}.", element.name);
        let mut names = element.measures().to_vec();
        names.extend([("energy", "J"), ("dissipated", "W")]);
        add(Owner::Force(index), &prefix, &names);
    }
    for (index, sensor) in model.sensors().iter().enumerate() {
        let prefix = format!("sensor.{}.", sensor.name);
        add(Owner::Sensor(index), &prefix, &sensor.measures());
    }
    known
}

impl Chosen {
    /// The columns with these names, in which `*` stands for anything. Names of columns that every run has are accepted, and a kind
    /// alone stands for all of it: `forces` and `force` for `force.*`.
    /// `option` names them in messages.
    pub fn new(
        model: &Model,
        common: &[Column],
        option: &str,
        patterns: &[String],
    ) -> Result<Self> {
        let mut columns = known(model);
        let patterns: Vec<String> = patterns.iter().map(|p| whole_kind(p)).collect();
        for pattern in &patterns {
            let mut names = common
                .iter()
                .chain(columns.iter().map(|(column, ..)| column));
            if !names.any(|column| matches(pattern, &column.name)) {
                let all = || columns.iter().map(|(column, ..)| column.name.as_str());
                let hint = match names::nearest(pattern, all()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "columns are frame.NAME.x, centre.x, momentum.x, angular_momentum.x, joint.NAME.fx, constraint.NAME.fx, \
                             actuator.NAME.effort, force.NAME.tension, sensor.NAME.wx …; `catena info` lists the names"
                        .into(),
                };
                let message = format!("{option}: no column is called `{pattern}`");
                return Err(Error::new(ErrorKind::Input, message).hint(hint));
            }
        }
        columns.retain(|(column, ..)| patterns.iter().any(|p| matches(p, &column.name)));
        Ok(Chosen {
            columns,
            model: Some(model.clone()),
        })
    }

    /// Are any columns chosen?
    pub fn any(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Names and units.
    pub fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        self.columns.iter().map(|(column, ..)| column.clone())
    }

    /// Appends the numbers of a sample. `dynamics` is that of the tree with its loops open.
    pub fn append(
        &self,
        dynamics: &mut Dynamics,
        sample: &Sample,
        row: &mut Vec<f64>,
    ) -> Result<()> {
        let (Some(model), false) = (&self.model, self.columns.is_empty()) else {
            return Ok(());
        };
        let mut instant = Instant::new(model, dynamics, sample)?;
        let mut last: Option<(Owner, Vec<f64>)> = None;
        for (_, owner, rank) in &self.columns {
            let numbers = match last.take() {
                Some((of, numbers)) if of == *owner => numbers,
                _ => instant.numbers(*owner)?,
            };
            row.push(numbers[*rank]);
            last = Some((*owner, numbers));
        }
        Ok(())
    }
}

/// `forces` and `force` stand for `force.*`, and other kinds likewise.
fn whole_kind(pattern: &str) -> String {
    let kinds = [
        "frame",
        "centre",
        "momentum",
        "angular_momentum",
        "joint",
        "constraint",
        "actuator",
        "force",
        "sensor",
    ];
    let is_kind = |kind: &&&str| pattern == **kind || pattern.strip_suffix('s') == Some(**kind);
    match kinds.iter().find(is_kind) {
        Some(kind) => format!("{kind}.*"),
        None => pattern.into(),
    }
}

/// An instant of a run, for which numbers are requested.
struct Instant<'a> {
    model: &'a Model,
    dynamics: &'a mut Dynamics,
    sample: &'a Sample,
    /// Rows of the constraints, if any.
    rows: Option<Rows<f64>>,
    /// Wrenches on the bodies by inputs and constraints.
    wrenches: Vec<Force<f64>>,
    /// Whether inverse dynamics was computed under them.
    has_loads: bool,
    /// Sensor readings, once one was requested.
    measured: Option<Vec<[f64; 6]>>,
}

impl<'a> Instant<'a> {
    fn new(model: &'a Model, dynamics: &'a mut Dynamics, sample: &'a Sample) -> Result<Self> {
        let mut wrenches = sample.external.clone();
        let mut rows = None;
        if let Some(constrained) = &sample.constrained {
            let state = &sample.state;
            let still = vec![0.0; model.nv()];
            let kinematics = dynamics.kinematics(state, &still)?;
            let mut found = Rows::new(model, Axes::Parent);
            found.evaluate(model, sample.time, &state.q, &state.v, kinematics);
            wrenches.resize(model.body_count() + 1, Force::zero());
            found.add_wrenches(model, kinematics, &constrained.multipliers, &mut wrenches);
            rows = Some(found);
        }
        Ok(Instant {
            model,
            dynamics,
            sample,
            rows,
            wrenches,
            has_loads: false,
            measured: None,
        })
    }

    fn numbers(&mut self, owner: Owner) -> Result<Vec<f64>> {
        let sample = self.sample;
        let (state, vdot) = (&sample.state, &sample.vdot);
        Ok(match owner {
            Owner::Frame(index) => {
                let info = &self.model.tree().frames[index];
                let kinematics = self.dynamics.kinematics(state, vdot)?;
                let pose = kinematics.frame_pose(info);
                let mut numbers = pose.translation.to_array().to_vec();
                numbers.extend(json::quaternion(pose.rotation));
                numbers.extend(kinematics.frame_velocity(info).to_array());
                numbers.extend(kinematics.frame_acceleration(info).to_array());
                numbers
            }
            Owner::Centre => self.centre()?,
            Owner::Joint(body) => {
                if !self.has_loads {
                    self.dynamics.inverse(state, vdot, &self.wrenches)?;
                    self.has_loads = true;
                }
                let wrench = self.dynamics.joint_wrench(body)?;
                let kinematics = self.dynamics.kinematics(state, vdot)?;
                let r = kinematics.world_from_body[body].rotation;
                let (force, torque) = (r * wrench.force, r * wrench.moment);
                [force.to_array(), torque.to_array()].concat()
            }
            Owner::Constraint(index) => self.constraint(index),
            Owner::Actuator(index) => {
                let freedom = self.model.actuators()[index].freedom;
                vec![sample.tau[freedom], sample.tau[freedom] * state.v[freedom]]
            }
            Owner::Force(index) => {
                let action = self.dynamics.force_actions(state)?[index];
                let mut numbers = action.measures.to_vec();
                numbers.extend([action.energy, action.dissipated]);
                numbers
            }
            Owner::Sensor(index) => {
                if self.measured.is_none() {
                    self.measured = Some(self.dynamics.measure(state, vdot, &self.wrenches)?);
                }
                let measured = self.measured.iter().flatten().nth(index);
                measured.map(|numbers| numbers.to_vec()).unwrap_or_default()
            }
        })
    }

    fn centre(&mut self) -> Result<Vec<f64>> {
        let (state, vdot) = (&self.sample.state, &self.sample.vdot);
        let mechanical = self.dynamics.mechanical_state(state)?;
        let kinematics = self.dynamics.kinematics(state, vdot)?;
        let mass = self.model.mass();
        let mut sums = [Vec3::zero(); 3];
        for body in self.model.bodies() {
            let weight = self.model.moments(body).mass / mass;
            let own = kinematics.mass_centre(self.model, body);
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum += own * weight;
            }
        }
        let [centre, velocity, acceleration] = sums;
        let linear = velocity * mass;
        let angular = mechanical.momentum.moment - centre.cross(mechanical.momentum.force);
        let all = [centre, velocity, acceleration, linear, angular];
        Ok(all.map(Vec3::to_array).concat())
    }

    fn constraint(&self, index: usize) -> Vec<f64> {
        let (Some(rows), Some(constrained)) = (&self.rows, &self.sample.constrained) else {
            return vec![0.0; 8];
        };
        let block = &rows.blocks()[index];
        let own = block.first..block.first + block.rows;
        let mut numbers = match self.model.constraints()[index].bodies() {
            Some(_) => {
                let load = rows.load(index, &constrained.multipliers);
                [load.force.to_array(), load.moment.to_array()].concat()
            }
            None => vec![constrained.multipliers[block.first]],
        };
        numbers.push(largest(&rows.residual[own.clone()]));
        numbers.push(largest(&rows.rate[own]));
        numbers
    }
}

/// Does a name match a pattern in which `*` stands for anything?
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(before) else {
        return false;
    };
    let mut ends = rest.char_indices().map(|(k, _)| k).chain([rest.len()]);
    ends.any(|k| matches(after, &rest[k..]))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn wildcards() {
        for (pattern, name, wanted) in [
            ("frame.tool.x", "frame.tool.x", true),
            ("frame.tool.x", "frame.tool.xy", false),
            ("frame.*.x", "frame.a.b.x", true),
            ("*", "", true),
            ("centre.*", "centre.vx", true),
            ("*.v*", "centre.vx", true),
            ("*.v*z", "centre.vx", false),
            ("frame.ä*", "frame.äö.x", true),
        ] {
            assert_eq!(matches(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
