//! States in files: JSON (one state or many) and CSV (a state per row). docs/cli.md describes both.

mod base;
mod csv;
mod json;

pub use base::PoseRows;

use crate::output;
use crate::situation::Situation;
use catena::Model;
use catena::error::{Error, ErrorKind, Place, Result};
use catena_io::files;
use catena_io::run::read_csv_text;
use std::path::Path;

/// Reads the states of a file; its extension gives the format.
pub fn read(path: &Path, model: &Model) -> Result<Vec<Situation>> {
    let text = text_of(path)?;
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    let situations = match extension.as_deref() {
        Some("json") => json::read(&text, path, model)?,
        Some("csv") => csv::read(&text, path, model)?,
        _ => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the format of the states cannot be determined from the file's name",
            )
            .at(whole(path))
            .hint("supported are .json and .csv"));
        }
    };
    some(situations, path)
}

/// Reads a trajectory: a CSV file with time, positions, velocities and accelerations.
pub fn read_trajectory(path: &Path, model: &Model) -> Result<Vec<Situation>> {
    some(csv::read_trajectory(&text_of(path)?, path, model)?, path)
}

/// Reads efforts over time: a CSV file with time and efforts.
pub fn read_efforts(path: &Path, model: &Model) -> Result<Vec<Situation>> {
    some(csv::read_efforts(&text_of(path)?, path, model)?, path)
}

/// Reads the motion `of` a base or a frame: a CSV file with time, positions and quaternions.
pub fn read_poses(path: &Path, of: &str) -> Result<PoseRows> {
    base::read(&text_of(path)?, path, of)
}

fn some(situations: Vec<Situation>, path: &Path) -> Result<Vec<Situation>> {
    match situations.is_empty() {
        true => Err(Error::new(ErrorKind::Input, "the file has no states").at(whole(path))),
        false => Ok(situations),
    }
}

fn text_of(path: &Path) -> Result<String> {
    output::note_input(path);
    let refuse = |what: String| Error::new(ErrorKind::File, what).at(whole(path));
    let bytes = files::read(path).map_err(|error| {
        refuse(match error.kind() {
            std::io::ErrorKind::NotFound => "the file does not exist".to_string(),
            _ => format!("the file cannot be read: {}", output::reason(&error)),
        })
    })?;
    let text =
        String::from_utf8(bytes).map_err(|_| refuse("the file is not UTF-8 text".to_string()))?;
    // a run in a parcel is already truncated after its last complete block
    if !csv::is_run(&text) || files::are_carried() {
        return Ok(text);
    }
    let (text, dropped) = read_csv_text(path)?;
    files::note(path, text.as_bytes());
    if dropped > 0 {
        output::complain(&output::left_out(path, dropped));
    }
    Ok(text)
}

/// The file as a whole, as the place of an error.
pub fn whole(path: &Path) -> Place {
    Place {
        file: Some(path.display().to_string().into()),
        line: None,
    }
}

/// A line of the file.
fn line(path: &Path, line: usize) -> Place {
    Place::new(path.display().to_string(), line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::model::embedded;
    use catena::random::Random;
    use catena_fuzz::mutator::{self, inputs, survive};

    type Reader = fn(&str, &Path, &Model) -> Result<Vec<Situation>>;

    fn finite(situation: &Situation) -> bool {
        let Situation {
            state,
            acceleration,
            effort,
            ..
        } = situation;
        let parts = [&state.q, &state.v, acceleration, effort];
        parts.into_iter().flatten().all(|x| x.is_finite())
    }

    /// Mutated files of states, trajectories, efforts and motions of the base are read or rejected, and the numbers read are finite.
    #[test]
    fn mutated_files() {
        let model = embedded::model("planar3").expect("an embedded model");
        let rows = "t,q.joint1,q.joint2,q.joint3,v.joint1,v.joint2,v.joint3,a.joint1,a.joint2,a.joint3\n\
                    0,0.1,0.2,0.3,0,0,0,1,1,1\n0.5,0.2,0.3,0.4,0.1,0.1,0.1,1,1,1\n1,0.3,0.4,0.5,0.2,0.2,0.2,1,1,1\n";
        let efforts = "t,tau.joint1,tau.joint2,tau.joint3\n0,1,2,3\n1,2,3,4\n2,3,4,5\n";
        let states = r#"[{"q": [0.1, "45deg", 0.3], "v": [1, 0, 0], "a": [1, 2, 3], "tau": [1, 2, 3]},
            {"t": 0.5, "q": [1, 2, 3], "v": [0, 0, 0], "base": {"position": [0, 0, 1], "quaternion": [1, 0, 0, 0]},
             "wrenches": [{"frame": "tool", "moment": [0, 0, 0], "force": [0, -5, 0]}]}]"#;
        let readers: [(&str, &str, Reader); 4] = [
            ("states.csv", rows, csv::read),
            ("trajectory.csv", rows, csv::read_trajectory),
            ("efforts.csv", efforts, csv::read_efforts),
            ("states.json", states, json::read),
        ];
        for (name, original, read) in readers {
            let good = read(original, Path::new(name), &model);
            assert!(good.is_ok(), "{name}: {good:?}", good = good.err());
            for seed in 0..inputs(100) {
                let damaged = mutator::text(original, &mut Random::new(seed));
                survive(name, seed, damaged.as_bytes(), || {
                    if let Ok(found) = read(&damaged, Path::new(name), &model) {
                        assert!(found.iter().all(finite));
                    }
                });
            }
        }
        let base = "t,x,y,z,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n1,1,0,0,1,0,0,0\n2,2,0,0,1,0,0,0\n";
        for seed in 0..inputs(100) {
            let damaged = mutator::text(base, &mut Random::new(seed));
            survive("base.csv", seed, damaged.as_bytes(), || {
                let _ = base::read(&damaged, Path::new("base.csv"), "a base");
            });
        }
    }
}
