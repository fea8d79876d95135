//! The motion of a run: poses for the animation, columns for the plots, decimated to fit.

use crate::encode;
use catena::ClosedChain;
use catena::error::{Error, ErrorKind, Result};
use catena::residual::larger;
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Dynamics, Model, State};
use catena_io::run::{Column, Run};
use serde_json::{Value, json};
use std::borrow::Cow;

/// How much of a run the page receives, before base64 turns three bytes into four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of poses.
    pub poses: usize,
    /// Bytes of columns.
    pub columns: usize,
    /// Maximum number of points of a curve.
    pub points: usize,
}

impl Budget {
    /// For a file to share: under 3 MB with the page.
    pub const REPORT: Budget = Budget {
        poses: 720_000,
        columns: 400_000,
        points: 2000,
    };
    /// For a page on the same machine.
    pub const SERVED: Budget = Budget {
        poses: 24_000_000,
        columns: 12_000_000,
        points: 6000,
    };

    /// The budget of each of several runs.
    #[must_use]
    pub fn shared_by(self, runs: usize) -> Self {
        let runs = runs.max(1);
        Budget {
            poses: self.poses / runs,
            columns: self.columns / runs,
            ..self
        }
    }

    /// The budget left by a model that takes this many bytes of text. A model of a few bodies does not count.
    #[must_use]
    pub fn beside(self, model: usize) -> Self {
        const SMALL: usize = 100_000;
        let excess = model.saturating_sub(SMALL) * 3 / 4;
        Budget {
            poses: self
                .poses
                .saturating_sub(excess * 2 / 3)
                .max(self.poses / 4),
            columns: self
                .columns
                .saturating_sub(excess / 3)
                .max(self.columns / 4),
            ..self
        }
    }

    /// A curve with fewer points shows little.
    const FEWEST_POINTS: usize = 400;
    /// Bytes of the pose of a body.
    const POSE: usize = 7 * 4;

    fn frames(self, bodies: usize, rows: usize) -> usize {
        (self.poses / (Self::POSE * bodies.max(1)))
            .clamp(2, 20_000)
            .min(rows)
    }
}

/// Rows first…last, `count` of them, evenly by number.
fn evenly(rows: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |k| match count {
        1 => 0,
        _ => k * (rows - 1) / (count - 1),
    })
}

/// The state in a row of a run.
pub fn state_at(run: &Run, model: &Model, row: usize) -> Result<State> {
    let (nq, nv) = (model.nq(), model.nv());
    let numbers = run.row(row);
    if numbers.len() < 1 + nq + nv {
        return Err(Error::new(
            ErrorKind::Input,
            "the columns of the run are not those of its model",
        ));
    }
    let mut state = State::new(model, &numbers[1..1 + nq], &numbers[1 + nq..1 + nq + nv])?;
    let base = ["x", "y", "z", "qw", "qx", "qy", "qz"]
        .map(|name| run.column(&format!("base.{name}")).map(|c| c[row]));
    if let [
        Some(x),
        Some(y),
        Some(z),
        Some(w),
        Some(i),
        Some(j),
        Some(k),
    ] = base
    {
        state.base.pose = Pose::new(Mat3::from_quaternion([w, i, j, k]), Vec3::new(x, y, z));
    }
    Ok(state)
}

/// Appends the poses of all bodies, the base first, as seven numbers each.
pub fn poses(dynamics: &mut Dynamics, state: &State, out: &mut Vec<f64>) -> Result<()> {
    let still = vec![0.0; dynamics.model().nv()];
    let kinematics = dynamics.kinematics(state, &still)?;
    for pose in &kinematics.world_from_body {
        out.extend(encode::seven(pose));
    }
    Ok(())
}

/// The animation and the curves of a run that has rows.
pub(crate) fn to_json(run: &Run, model: &Model, budget: Budget) -> Result<Value> {
    let time = run.column("time").unwrap_or_default();
    let rows = time.len();
    let frames = budget.frames(model.body_count() + 1, rows);
    let mut dynamics = Dynamics::new(model);
    let mut chain = (!model.constraints().is_empty()).then(|| ClosedChain::new(model));
    let mut numbers = Vec::with_capacity(frames * 7 * (model.body_count() + 1));
    let mut coordinates = Vec::new();
    let mut gaps = Vec::new();
    for row in evenly(rows, frames) {
        let state = state_at(run, model, row)?;
        poses(&mut dynamics, &state, &mut numbers)?;
        coordinates.extend_from_slice(&state.q);
        if let Some(chain) = &mut chain {
            let residual = &chain.rows(time[row], &state)?.residual;
            gaps.push(residual.iter().fold(0.0, |m, x| larger(m, x.abs())));
        }
    }
    let thinning = Thinning::new(rows, budget.points);
    let curves = curves(run);
    let kept = (budget.columns / (4 * thinning.len().clamp(1, Budget::FEWEST_POINTS))).max(8);
    let points = (budget.columns / (4 * curves.len().min(kept).max(1))).min(budget.points);
    let thinning = Thinning::new(rows, points);
    let mut columns: Vec<Value> = curves
        .iter()
        .take(kept)
        .map(|(column, values)| curve(column, &thinning.values(values), "curve"))
        .collect();
    if chain.is_some() {
        let column = Column::new("error.loops", "m, rad");
        columns.push(curve(&column, &gaps, "frame"));
    }
    Ok(json!({
        "rows": rows,
        "finished": run.finished,
        "frames": frames,
        "frame_time": encode::f64s(evenly(rows, frames).map(|row| time[row])),
        "poses": encode::f32s(numbers),
        "coordinates": encode::f32s(coordinates),
        "curve_time": encode::f64s(thinning.times(time)),
        "columns": columns,
        "columns_left_out": curves.len().saturating_sub(kept),
    }))
}

/// A curve over the times of the `curve`s or of the animation's `frame`s. Numbers beyond those of 32 bits keep 64.
fn curve(column: &Column, values: &[f64], over: &str) -> Value {
    let fits = values
        .iter()
        .all(|x| *x == 0.0 || (x.abs() < 1e38 && x.abs() > 1e-37));
    json!({
        "name": column.name,
        "unit": column.unit,
        "over": over,
        "bits": if fits { 32 } else { 64 },
        "values": if fits { encode::f32s(values.iter().copied()) } else { encode::f64s(values.iter().copied()) },
    })
}

/// The columns worth drawing, the most important first, with the total energy.
fn curves(run: &Run) -> Vec<(Column, Cow<'_, [f64]>)> {
    let names = ["kinetic", "gravitational", "elastic", "work", "dissipated"];
    let is_energy = |name: &str| names.contains(&name);
    let mut found: Vec<(usize, Column, Cow<'_, [f64]>)> = Vec::new();
    let mut total: Option<Vec<f64>> = None;
    for (column, values) in run.header.columns.iter().zip(&run.columns) {
        let name = column.name.as_str();
        let group = name.split('.').next().unwrap_or_default();
        let rank = match group {
            "time" => continue,
            _ if is_energy(name) => 0,
            "error" => 1,
            "q" => 2,
            "tau" => 3,
            "v" => 4,
            "friction" => 5,
            "a" => 6,
            _ => 7,
        };
        if ["kinetic", "gravitational", "elastic"].contains(&name) {
            match &mut total {
                None => total = Some(values.clone()),
                Some(total) => total.iter_mut().zip(values).for_each(|(t, x)| *t += x),
            }
        }
        // energies of kinds that the model does not have
        let is_dull = is_energy(name) && name != "kinetic" && values.iter().all(|x| *x == 0.0);
        if !is_dull {
            found.push((rank, column.clone(), Cow::Borrowed(values.as_slice())));
        }
    }
    if let Some(total) = total {
        found.push((0, Column::new("total", "J"), Cow::Owned(total)));
    }
    found.sort_by_key(|(rank, ..)| *rank);
    found
        .into_iter()
        .map(|(_, column, values)| (column, values))
        .collect()
}

/// Fewer points that still show every peak: the smallest and the largest value of each stretch of rows, in their order.
struct Thinning {
    rows: usize,
    /// Number of stretches; none if all rows are kept.
    stretches: Option<usize>,
}

impl Thinning {
    fn new(rows: usize, points: usize) -> Self {
        Thinning {
            rows,
            stretches: (rows > points.max(4)).then_some(points.max(4) / 2),
        }
    }

    fn len(&self) -> usize {
        self.stretches.map_or(self.rows, |n| 2 * n)
    }

    fn stretch(&self, k: usize, count: usize) -> std::ops::Range<usize> {
        k * self.rows / count..(k + 1) * self.rows / count
    }

    fn times(&self, time: &[f64]) -> Vec<f64> {
        let Some(count) = self.stretches else {
            return time.to_vec();
        };
        (0..count)
            .flat_map(|k| {
                let range = self.stretch(k, count);
                let last = range.end - 1;
                // the first and the last point of the whole are kept
                let first = time[range.start];
                let middle = time[range.start + range.len() / 2];
                if k + 1 == count {
                    [first, time[last]]
                } else {
                    [first, middle]
                }
            })
            .collect()
    }

    fn values(&self, values: &[f64]) -> Vec<f64> {
        let Some(count) = self.stretches else {
            return values.to_vec();
        };
        (0..count)
            .flat_map(|k| {
                let (mut low, mut high) =
                    (self.stretch(k, count).start, self.stretch(k, count).start);
                for row in self.stretch(k, count) {
                    if values[row] < values[low] {
                        low = row;
                    }
                    if values[row] > values[high] {
                        high = row;
                    }
                }
                [values[low.min(high)], values[low.max(high)]]
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One spike among a hundred thousand rows is still there, and times stay in order.
    #[test]
    fn thinning_keeps_peaks() {
        let rows = 100_003;
        let time: Vec<f64> = (0..rows).map(|k| 0.001 * k as f64).collect();
        let mut values = vec![0.0; rows];
        values[77_777] = 5.0;
        values[12_345] = -3.0;
        let thinning = Thinning::new(rows, 2000);
        let (thin_time, thin) = (thinning.times(&time), thinning.values(&values));
        assert_eq!((thin_time.len(), thin.len()), (2000, 2000));
        assert!(thin_time.is_sorted_by(|a, b| a < b));
        assert_eq!(thin_time[0], time[0]);
        assert_eq!(thin_time[1999], time[rows - 1]);
        let peak = thin.iter().position(|x| *x == 5.0).expect("the peak");
        assert!((thin_time[peak] - time[77_777]).abs() < 0.1);
        assert!(thin.contains(&-3.0));
    }

    #[test]
    fn short_runs_are_kept_whole() {
        let time = [0.0, 0.5, 1.0];
        let thinning = Thinning::new(3, 2000);
        assert_eq!(thinning.times(&time), time);
        assert_eq!(evenly(3, 3).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(evenly(1, 1).collect::<Vec<_>>(), [0]);
        assert_eq!(
            evenly(1001, 5).collect::<Vec<_>>(),
            [0, 250, 500, 750, 1000]
        );
    }
}
