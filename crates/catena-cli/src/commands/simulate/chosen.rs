//! The columns that `--record` adds to a run: motion of frames and of the mass centre.

use crate::{json, names};
use catena::error::{Error, ErrorKind, Result};
use catena::simulate::Sample;
use catena::spatial::Vec3;
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

/// Columns of the mass centre of all bodies, and the linear momentum.
const OF_CENTRE: [(&str, &str); 12] = [
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
];

/// Where a number comes from: a frame or the mass centre, and its rank there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Frame(usize, usize),
    Centre(usize),
}

/// The columns chosen.
#[derive(Clone, Debug, Default)]
pub struct Chosen(Vec<(Column, Source)>);

impl Chosen {
    /// The columns with these names, in which `*` stands for anything. Names of columns that every run has are accepted.
    pub fn new(model: &Model, common: &[Column], patterns: &[String]) -> Result<Self> {
        let mut known = Vec::new();
        for (index, frame) in model.tree().frames.iter().enumerate() {
            let columns = OF_FRAME.iter().enumerate();
            known.extend(columns.map(|(rank, (name, unit))| {
                let column = Column::new(format!("frame.{}.{name}", frame.name), *unit);
                (column, Source::Frame(index, rank))
            }));
        }
        let columns = OF_CENTRE.iter().enumerate();
        known.extend(
            columns.map(|(rank, (name, unit))| (Column::new(*name, *unit), Source::Centre(rank))),
        );
        for pattern in patterns {
            let mut names = common.iter().chain(known.iter().map(|(column, _)| column));
            if !names.any(|column| matches(pattern, &column.name)) {
                let all = || known.iter().map(|(column, _)| column.name.as_str());
                let hint = match names::nearest(pattern, all()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "columns are frame.NAME.x, …, centre.x, …, momentum.x, …; `catena info` lists the frames"
                        .into(),
                };
                let message = format!("--record: no column is called `{pattern}`");
                return Err(Error::new(ErrorKind::Input, message).hint(hint));
            }
        }
        known.retain(|(column, _)| patterns.iter().any(|p| matches(p, &column.name)));
        Ok(Chosen(known))
    }

    /// Names and units.
    pub fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        self.0.iter().map(|(column, _)| column.clone())
    }

    /// Appends the numbers of a sample.
    pub fn append(
        &self,
        dynamics: &mut Dynamics,
        sample: &Sample,
        row: &mut Vec<f64>,
    ) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let model = dynamics.model().clone();
        let kinematics = dynamics.kinematics(&sample.state, &sample.vdot)?;
        let mut centre = None;
        let mut frame: Option<(usize, Vec<f64>)> = None;
        for (_, source) in &self.0 {
            match *source {
                Source::Centre(rank) => {
                    let numbers = centre.get_or_insert_with(|| {
                        let mass = model.mass();
                        let mut sums = [Vec3::zero(); 3];
                        for body in model.bodies() {
                            let weight = model.moments(body).mass / mass;
                            for (sum, own) in
                                sums.iter_mut().zip(kinematics.mass_centre(&model, body))
                            {
                                *sum += own * weight;
                            }
                        }
                        let [_, velocity, _] = sums;
                        [sums[0], sums[1], sums[2], velocity * mass].map(Vec3::to_array)
                    });
                    row.push(numbers.as_flattened()[rank]);
                }
                Source::Frame(index, rank) => {
                    if frame.as_ref().is_none_or(|(of, _)| *of != index) {
                        let info = &model.tree().frames[index];
                        let pose = kinematics.frame_pose(info);
                        let mut numbers = pose.translation.to_array().to_vec();
                        numbers.extend(json::quaternion(pose.rotation));
                        numbers.extend(kinematics.frame_velocity(info).to_array());
                        numbers.extend(kinematics.frame_acceleration(info).to_array());
                        frame = Some((index, numbers));
                    }
                    row.extend(frame.as_ref().map(|(_, numbers)| numbers[rank]));
                }
            }
        }
        Ok(())
    }
}

/// Does a name fit a pattern in which `*` stands for anything?
fn matches(pattern: &str, name: &str) -> bool {
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
