//! `catena plot RUN`: plots of a run.

use crate::number::{counted, rough, six};
use crate::outcome::Outcome;
use crate::{json, output};
use catena::error::{Error, ErrorKind, Place, Result};
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Model, State};
use catena_io::run::{Run, read_run};
use catena_plot::{Chart, Figure, View, strip};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Width of the charts and height of each, in pixels.
const WIDTH: u32 = 800;
const HEIGHT: u32 = 300;
/// Instants in a strip.
const INSTANTS: usize = 8;
/// Pixels of a PNG per pixel of the picture.
#[cfg(feature = "png")]
const SCALE: f32 = 2.0;

/// Which run, and where the pictures go.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Run written by `catena simulate -o`: .csv, .parquet or .mcap, finished or not
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Beginning of the names of the pictures [default: the run's name without extension]
    #[arg(short, long, value_name = "PREFIX")]
    output: Option<PathBuf>,

    /// Formats of the pictures: svg, png or both
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "both")]
    format: Format,
}

/// Formats of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines and text.
    Svg,
    /// Pixels.
    Png,
    /// One file of each.
    Both,
}

/// Draws the pictures.
pub fn run(arguments: &Arguments, as_json: bool) -> Result<Outcome> {
    if arguments.format == Format::Png && !cfg!(feature = "png") {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "--format png: this catena was built without PNG",
        )
        .hint("build it with its default features, or give --format svg"));
    }
    let path = &arguments.run;
    output::note_input(path);
    let run = read_run(path)?;
    let here = |error: Error| error.at(place(path));
    let subject = Subject::of(&run).map_err(here)?;
    let prefix = match &arguments.output {
        Some(prefix) => prefix.clone(),
        None => path.with_extension(""),
    };
    let pictures = [
        ("coordinates", subject.coordinates()),
        ("efforts", subject.efforts()),
        ("energies", subject.energies()),
        ("audit", subject.audit()),
        ("strip", subject.strip().map_err(here)?),
    ];
    let mut written = Vec::new();
    for (kind, svg) in &pictures {
        let mut write = |extension: &str, bytes: &[u8]| {
            let path = with_suffix(&prefix, &format!("-{kind}.{extension}"));
            output::write_file(&path, bytes)?;
            written.push(path.display().to_string());
            Ok::<(), Error>(())
        };
        if arguments.format != Format::Png {
            write("svg", svg.as_bytes())?;
        }
        #[cfg(feature = "png")]
        if arguments.format != Format::Svg {
            write("png", &catena_plot::png(svg, SCALE)?)?;
        }
    }
    let mut outcome = Outcome::default();
    if as_json {
        outcome.text = json::text(&json!({
            "format": "catena-plot/1",
            "model": subject.model.name(),
            "finished": run.finished,
            "rows": run.row_count(),
            "time": subject.end(),
            "files": written,
        }));
    } else {
        for name in &written {
            outcome = outcome.note(format!("wrote {name}"));
        }
    }
    if run.dropped > 0 {
        outcome = outcome.note(output::left_out(path, run.dropped));
    }
    if !run.finished {
        outcome = outcome.note(format!(
            "the run is not finished: the pictures show its {}, up to {} s",
            counted(run.row_count(), "row", "rows"),
            six(subject.end())
        ));
    }
    Ok(outcome)
}

/// A run with its model.
struct Subject<'a> {
    run: &'a Run,
    model: Model,
    title: String,
    time: &'a [f64],
}

impl<'a> Subject<'a> {
    fn of(run: &'a Run) -> Result<Self> {
        let metadata = &run.header.metadata;
        if !metadata["model"].is_object() {
            return Err(Error::new(
                ErrorKind::Input,
                "the run does not contain its model; `catena simulate` writes runs that do",
            ));
        }
        let time = match run.column("time") {
            Some(time) if !time.is_empty() => time,
            _ => {
                return Err(Error::new(
                    ErrorKind::Input,
                    "the run holds no rows: it was stopped before its first block",
                )
                .hint("continue it with --resume"));
            }
        };
        let text = metadata["model"].to_string();
        let options = catena_io::Options::default();
        let builder = catena_io::builder_from_json(&text, "the model of the run", &options)?;
        // a run has all coordinates of the tree
        let model = builder.build()?.with_couplings_as_constraints();
        let unfinished = if run.finished { "" } else { " (unfinished)" };
        let method = metadata["method"].as_str().unwrap_or("unknown method");
        let title = format!("{}, {method}{unfinished}", model.name());
        Ok(Subject {
            run,
            model,
            title,
            time,
        })
    }

    fn end(&self) -> f64 {
        self.time.last().copied().unwrap_or(0.0)
    }

    /// The columns of a quantity, one chart for each unit.
    fn charts(&self, key: &str, what: &str, without_unit: &str) -> Vec<Chart> {
        let mut charts: Vec<(&str, Chart)> = Vec::new();
        for (column, values) in self.run.header.columns.iter().zip(&self.run.columns) {
            let Some(name) = column
                .name
                .strip_prefix(key)
                .and_then(|rest| rest.strip_prefix('.'))
            else {
                continue;
            };
            let unit = column.unit.as_str();
            let index = match charts.iter().position(|(of, _)| *of == unit) {
                Some(index) => index,
                None => {
                    let label = match unit {
                        "" => without_unit.to_string(),
                        unit => format!("{what} ({unit})"),
                    };
                    charts.push((unit, Chart::new("", "time (s)", label)));
                    charts.len() - 1
                }
            };
            let chart = std::mem::take(&mut charts[index].1);
            charts[index].1 = chart.series(name, self.time.to_vec(), values.clone());
        }
        charts.into_iter().map(|(_, chart)| chart).collect()
    }

    fn figure(&self, what: &str, charts: Vec<Chart>) -> String {
        let height = 40 + HEIGHT * charts.len().max(1) as u32;
        Figure {
            title: format!("{what}: {}", self.title),
            charts,
            columns: 1,
        }
        .svg(WIDTH, height)
    }

    fn coordinates(&self) -> String {
        let mut charts = self.charts("q", "position", "component of a quaternion");
        charts.extend(self.charts("v", "velocity", ""));
        self.figure("Coordinates", charts)
    }

    fn efforts(&self) -> String {
        let mut charts = self.charts("tau", "effort", "");
        charts.extend(self.charts("friction", "dry friction", ""));
        self.figure("Efforts", charts)
    }

    fn column(&self, name: &str) -> Vec<f64> {
        let values = self.run.column(name).map(<[f64]>::to_vec);
        values.unwrap_or_else(|| vec![0.0; self.time.len()])
    }

    /// The energies, work and losses.
    fn energies(&self) -> String {
        let [kinetic, gravitational, elastic, work, dissipated] =
            ["kinetic", "gravitational", "elastic", "work", "dissipated"].map(|k| self.column(k));
        let total: Vec<f64> = (0..self.time.len())
            .map(|k| kinetic[k] + gravitational[k] + elastic[k])
            .collect();
        let mut energies = Chart::new("", "time (s)", "energy (J)");
        for (name, values, is_needed) in [
            ("kinetic", kinetic, true),
            ("gravitational", gravitational, false),
            ("elastic", elastic, false),
            ("total", total, true),
            ("work of the inputs", work, false),
            ("dissipated", dissipated, false),
        ] {
            if is_needed || values.iter().any(|x| *x != 0.0) {
                energies = energies.series(name, self.time.to_vec(), values);
            }
        }
        self.figure("Energies", vec![energies])
    }

    /// Errors of every sample in the laws of mechanics.
    fn audit(&self) -> String {
        let mut charts = Vec::new();
        for (column, law, title) in [
            (
                "error.energy",
                "energy balance",
                "Energy − energy at the start − work + dissipated",
            ),
            (
                "error.effort",
                "inverse dynamics of the motion",
                "Largest difference of an effort from the inverse dynamics of the motion",
            ),
            (
                "error.momentum",
                "linear momentum",
                "Change of the linear momentum that gravity does not explain",
            ),
            (
                "error.angular_momentum",
                "angular momentum about the mass centre",
                "Change of the angular momentum about the mass centre",
            ),
        ] {
            let found = self.run.header.columns.iter().find(|c| c.name == column);
            let Some(found) = found else {
                continue;
            };
            let title = format!("{title}{}", self.finding(law));
            let label = format!("error ({})", found.unit);
            let chart = Chart::new(title, "time (s)", label);
            charts.push(chart.series("", self.time.to_vec(), self.column(column)));
        }
        self.figure("Audit", charts)
    }

    /// What the audit says of a law, where there is one.
    fn finding(&self, name: &str) -> String {
        let laws = self
            .run
            .audit
            .as_ref()
            .and_then(|audit| audit["laws"].as_array());
        let law = laws.and_then(|laws| laws.iter().find(|law| law["law"] == name));
        match law.map(|law| (law["worst"].as_f64(), law["allowed"].as_f64())) {
            Some((Some(worst), Some(allowed))) => {
                format!("; {} relative, allowed {}", rough(worst), rough(allowed))
            }
            _ => String::new(),
        }
    }

    /// Pose of the base in a row.
    fn base(&self, row: usize) -> Pose<f64> {
        let columns = ["x", "y", "z", "qw", "qx", "qy", "qz"]
            .map(|name| self.run.column(&format!("base.{name}")).map(|c| c[row]));
        match columns {
            [
                Some(x),
                Some(y),
                Some(z),
                Some(w),
                Some(i),
                Some(j),
                Some(k),
            ] => Pose::new(Mat3::from_quaternion([w, i, j, k]), Vec3::new(x, y, z)),
            _ => Pose::identity(),
        }
    }

    /// The mechanism at some instants.
    fn strip(&self) -> Result<String> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let rows = self.time.len();
        let count = rows.min(INSTANTS);
        let mut states = Vec::with_capacity(count);
        let mut labels = Vec::with_capacity(count);
        for k in 0..count {
            let row = self.run.row(k * (rows - 1) / (count - 1).max(1));
            if row.len() < 1 + nq + nv {
                return Err(Error::new(
                    ErrorKind::Input,
                    "the columns of the run are not those of its model",
                ));
            }
            let mut state = State::new(&self.model, &row[1..1 + nq], &row[1 + nq..1 + nq + nv])?;
            state.base.pose = self.base(k * (rows - 1) / (count - 1).max(1));
            states.push(state);
            labels.push(format!("t = {} s", six(row[0])));
        }
        let view = View {
            title: self.title.clone(),
            ..View::of(&self.model, &states)?
        };
        strip(&self.model, &states, &labels, &view)
    }
}

fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(suffix);
    PathBuf::from(name)
}

fn place(path: &Path) -> Place {
    Place {
        file: Some(path.display().to_string().into()),
        line: None,
    }
}
