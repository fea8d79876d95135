//! The samples of a run: to the screen, and to a file that can be resumed.

use super::chosen::Chosen;
use super::origin::Origin;
use super::report::{Seen, Shown};
use crate::coordinates::Quantity;
use crate::json;
use crate::number::six;
use crate::output;
use crate::state_file::whole;
use catena::error::{Error, ErrorKind, Result};
use catena::simulate::{Sample, Simulation};
use catena::{Dynamics, Model, State};
use catena_io::run::{Column, RunWriter, read_run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Samples per block of a file.
const BLOCK: usize = 512;
/// A block is written at least this often, so that a kill loses little.
const BLOCK_TIME: Duration = Duration::from_secs(2);

/// Columns of a run in addition to those of every run.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Errors of the momentum.
    pub momentum: bool,
    /// Motion of the base.
    pub base: bool,
    /// Freedoms with enforced limits.
    pub stopped: Vec<usize>,
    /// Columns chosen by `--record`.
    pub chosen: Chosen,
}

impl Layout {
    /// Names and units of everything recorded.
    pub fn columns(&self, model: &Model) -> Vec<Column> {
        let mut columns = vec![Column::new("time", "s")];
        for quantity in Quantity::ALL {
            for coordinate in quantity.coordinates(model) {
                let name = format!("{}.{}", quantity.key(), coordinate.name);
                columns.push(Column::new(name, coordinate.unit));
            }
        }
        for name in ["kinetic", "gravitational", "elastic", "work", "dissipated"] {
            columns.push(Column::new(name, "J"));
        }
        let efforts = Quantity::Effort.coordinates(model);
        for k in rubbing(model) {
            let name = format!("friction.{}", efforts[k].name);
            columns.push(Column::new(name, efforts[k].unit));
        }
        for &k in &self.stopped {
            let name = format!("stop.{}", efforts[k].name);
            columns.push(Column::new(name, efforts[k].unit));
        }
        columns.push(Column::new("error.energy", "J"));
        columns.push(Column::new("error.effort", "N, N·m"));
        if self.momentum {
            columns.push(Column::new("error.momentum", "N·s"));
            columns.push(Column::new("error.angular_momentum", "N·m·s"));
        }
        if self.base {
            for (names, unit) in [
                (&["x", "y", "z"][..], "m"),
                (&["qw", "qx", "qy", "qz"], ""),
                (&["wx", "wy", "wz"], "rad/s"),
                (&["vx", "vy", "vz"], "m/s"),
                (&["alphax", "alphay", "alphaz"], "rad/s²"),
                (&["ax", "ay", "az"], "m/s²"),
            ] {
                let column = |name: &&str| Column::new(format!("base.{name}"), unit);
                columns.extend(names.iter().map(column));
            }
        }
        columns.extend(self.chosen.columns());
        columns
    }

    /// Appends the numbers of a sample, in the order of the columns. `dynamics` is that of the tree with its loops open.
    pub fn append_row(
        &self,
        dynamics: &mut Dynamics,
        sample: &Sample,
        rows: &mut Vec<f64>,
    ) -> Result<()> {
        self.append_common(dynamics.model(), sample, rows);
        self.chosen.append(dynamics, sample, rows)
    }

    /// Appends the numbers of a sample without the chosen ones.
    pub fn append_common(&self, model: &Model, sample: &Sample, rows: &mut Vec<f64>) {
        rows.push(sample.time);
        rows.extend_from_slice(&sample.state.q);
        rows.extend_from_slice(&sample.state.v);
        rows.extend_from_slice(&sample.vdot);
        rows.extend_from_slice(&sample.tau);
        rows.extend_from_slice(&sample.energies);
        rows.extend_from_slice(&[sample.work, sample.dissipated]);
        rows.extend(rubbing(model).map(|k| sample.friction[k]));
        rows.extend(self.stopped.iter().map(|&k| sample.stops[k]));
        rows.extend_from_slice(&[sample.errors.energy, sample.errors.effort]);
        if self.momentum {
            rows.extend(sample.errors.momentum.unwrap_or_default());
        }
        if self.base {
            let base = &sample.state.base;
            rows.extend(base.pose.translation.to_array());
            rows.extend(json::quaternion(base.pose.rotation));
            rows.extend(base.velocity.to_array());
            rows.extend(base.acceleration.to_array());
        }
    }
}

/// The freedoms with dry friction.
fn rubbing(model: &Model) -> impl Iterator<Item = usize> + '_ {
    (0..model.nv()).filter(|&k| model.dof(k).friction > 0.0)
}

/// A sample as far as the screen shows it, from a row of a run.
fn seen(model: &Model, row: &[f64]) -> Seen {
    let (nq, nv) = (model.nq(), model.nv());
    let end = 1 + nq + 3 * nv;
    let mut state = State::neutral(model);
    // unchanged: the quaternions are already normalised, and normalising again could change a bit
    state.q.copy_from_slice(&row[1..1 + nq]);
    state.v.copy_from_slice(&row[1 + nq..1 + nq + nv]);
    Seen {
        time: row[0],
        energy: row[end] + row[end + 1] + row[end + 2],
        state,
    }
}

/// Whether there is more than the initial sample, which alone does not justify replacing an older run.
fn has_moved(simulation: &Simulation) -> bool {
    simulation.sample_count() > 1
}

/// Takes the samples of a run.
pub struct Recorder {
    writer: Option<RunWriter>,
    path: PathBuf,
    pending: Vec<Sample>,
    last_block: Instant,
    layout: Layout,
    /// Dynamics of the tree with its loops open.
    dynamics: Dynamics,
    /// Samples shown on the screen.
    pub shown: Shown,
    /// The first and the last of them.
    pub ends: Option<[Sample; 2]>,
}

impl Recorder {
    /// A recorder for a run that is not written to a file.
    pub fn new(model: &Model, duration: f64, layout: Layout) -> Self {
        Recorder {
            writer: None,
            path: PathBuf::new(),
            pending: Vec::new(),
            last_block: Instant::now(),
            layout,
            dynamics: Dynamics::new(&model.clone().open_tree()),
            shown: Shown::new(duration),
            ends: None,
        }
    }

    /// Writes to a new file.
    pub fn create(&mut self, path: &Path, origin: &Origin, overwrite: bool) -> Result<()> {
        output::refuse_input(path)?;
        let writer = RunWriter::create(path, &origin.header(), overwrite).map_err(|error| {
            match error.kind() {
                ErrorKind::Exists => {
                    error.hint("choose another name, or give --resume or --overwrite")
                }
                _ => error,
            }
        })?;
        self.writer = Some(writer);
        self.path = path.to_path_buf();
        Ok(())
    }

    /// Continues a file, and the simulation with it.
    pub fn resume(
        &mut self,
        path: &Path,
        origin: &Origin,
        simulation: &mut Simulation,
    ) -> Result<()> {
        output::refuse_input(path)?;
        let (writer, old, checkpoint) =
            RunWriter::resume(path).map_err(|error| match error.kind() {
                ErrorKind::Missing => error.hint("leave out --resume to start it"),
                _ => error,
            })?;
        origin.refuse_another(path, &old)?;
        // without a block there is no checkpoint: the run starts from the beginning
        if !checkpoint.is_empty() {
            let run = read_run(path)?;
            simulation
                .restore(&checkpoint)
                .map_err(|error| error.at(whole(path)))?;
            if run.row_count() as u64 != simulation.sample_count() {
                return Err(Error::new(
                    ErrorKind::Input,
                    "the checkpoint of the run is not that of its last row",
                )
                .at(whole(path)));
            }
            for k in 0..run.row_count() {
                self.shown.note(seen(simulation.model(), &run.row(k)));
            }
        }
        if writer.dropped() > 0 {
            let note = output::left_out(path, writer.dropped());
            output::complain(&format!("{note}; it is computed again"));
        }
        self.writer = Some(writer);
        self.path = path.to_path_buf();
        Ok(())
    }

    /// The first sample, once there is one.
    pub fn first(&self) -> Option<&Sample> {
        match &self.ends {
            Some([first, _]) => Some(first),
            None => self.pending.first(),
        }
    }

    /// Advances the simulation by a step.
    pub fn advance(&mut self, simulation: &mut Simulation) -> Result<()> {
        let moved = simulation.advance(&mut self.pending);
        let late = self.last_block.elapsed() > BLOCK_TIME;
        let is_due = has_moved(simulation) && (late || self.pending.len() >= BLOCK);
        if moved.is_err() || simulation.finished() || is_due {
            self.flush(simulation)?;
        }
        moved.map_err(|error| self.kept(error))
    }

    fn flush(&mut self, simulation: &Simulation) -> Result<()> {
        self.last_block = Instant::now();
        if self.pending.is_empty() {
            return Ok(());
        }
        if let (Some(writer), true) = (&mut self.writer, has_moved(simulation)) {
            let mut rows = Vec::new();
            for sample in &self.pending {
                self.layout
                    .append_row(&mut self.dynamics, sample, &mut rows)?;
            }
            writer.block(&rows, &simulation.checkpoint())?;
        }
        if let [first, .., last] | [first @ last] = &self.pending[..] {
            let first = match self.ends.take() {
                Some([first, _]) => first,
                None => first.clone(),
            };
            self.ends = Some([first, last.clone()]);
        }
        for sample in self.pending.drain(..) {
            self.shown.note(Seen {
                time: sample.time,
                energy: sample.energies.iter().sum(),
                state: sample.state,
            });
        }
        Ok(())
    }

    /// Writes the remaining samples before the run ends unfinished for this reason, and adds the contents of the file to the error.
    pub fn stop(&mut self, simulation: &Simulation, reason: Error) -> Error {
        if let Err(error) = self.flush(simulation) {
            return error;
        }
        let reason = match self.writer {
            Some(_) => reason.hint("the same command with `--resume` goes on"),
            None => reason,
        };
        self.kept(reason)
    }

    /// Ends the file.
    pub fn finish(&mut self, audit: &Value) -> Result<()> {
        self.writer
            .take()
            .map_or(Ok(()), |writer| writer.finish(audit))
    }

    /// Adds to an error what the file nevertheless contains.
    pub fn kept(&self, error: Error) -> Error {
        let Some((writer, time)) = self.writer.as_ref().and_then(|w| Some((w, w.last_time()?)))
        else {
            return error;
        };
        let kept = format!(
            "{} keeps {} rows, up to time {} s",
            self.path.display(),
            writer.row_count(),
            six(time)
        );
        match error.advice().map(str::to_string) {
            Some(advice) => error.hint(format!("{advice}; {kept}")),
            None => error.hint(kept),
        }
    }
}
