//! `catena plot RUN`: plots of a run, or of several on top of each other.

use crate::commands::simulate::matches;
use crate::number::{self, counted, rough, six};
use crate::outcome::Outcome;
use crate::{json, limits, names, output};
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
    /// Runs written by `catena simulate -o`: .csv, .parquet or .mcap, finished or not; the charts of several are drawn on top of
    /// each other
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    /// Draw these columns instead, by name with wildcards: q.*, frame.tool.x; may be repeated
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// Begin at this time, s
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    from: Option<f64>,

    /// End at this time, s
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    to: Option<f64>,

    /// Prefix of the names of the pictures [default: the run's name without extension]. If it ends in .svg or .png, it also
    /// sets the format; with --columns it is the name of the picture
    #[arg(short, long, value_name = "PREFIX")]
    output: Option<PathBuf>,

    /// Formats of the pictures: svg, png or both [default: that of the name given with -o, else both]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,

    /// Look at the strip along this direction: x, -x, y, -y, z, -z, or three numbers, world axes
    #[arg(
        long,
        value_name = "DIRECTION",
        allow_hyphen_values = true,
        help_heading = "Strip"
    )]
    view: Option<String>,

    /// Pixels per metre of the strip [default: as large as fits]
    #[arg(
        long,
        value_name = "PIXELS",
        allow_negative_numbers = true,
        help_heading = "Strip"
    )]
    scale: Option<f64>,

    /// Instants in the strip
    #[arg(long, value_name = "N", default_value_t = INSTANTS, help_heading = "Strip")]
    instants: usize,

    /// Keep the base, or the root of a floating robot, in the middle of the strip
    #[arg(long, help_heading = "Strip")]
    follow: bool,
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
    let (named, format) = arguments.name_and_format()?;
    if format == Format::Png && !cfg!(feature = "png") {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "PNG: this catena was built without it",
        )
        .hint("build it with its default features, or give --format svg or a name with .svg"));
    }
    limits::count("--instants", arguments.instants as u64, 1000)?;
    if let Some(scale) = arguments.scale {
        limits::positive("--scale", scale)?;
    }
    let mut runs = Vec::new();
    for path in &arguments.runs {
        output::note_input(path);
        runs.push(
            arguments
                .cut(read_run(path)?)
                .map_err(|e| e.at(place(path)))?,
        );
    }
    let mut subjects = Vec::new();
    for (path, run) in arguments.runs.iter().zip(&runs) {
        let mut subject = Subject::of(run).map_err(|e| e.at(place(path)))?;
        if runs.len() > 1 {
            let stem = path.file_stem().unwrap_or_default();
            subject.suffix = format!(" ({})", stem.to_string_lossy());
        }
        subjects.push(subject);
    }
    let (path, run) = (&arguments.runs[0], &runs[0]);
    let here = |error: Error| error.at(place(path));
    let Some((subject, others)) = subjects.split_first() else {
        return Ok(Outcome::default()); // a run is required
    };
    let prefix = match (&arguments.output, named) {
        (Some(name), true) => name.with_extension(""),
        (Some(prefix), false) => prefix.clone(),
        (None, _) => path.with_extension(""),
    };
    let all = Pictures { subject, others };
    let mut pictures = match arguments.columns.is_empty() {
        true => vec![
            ("coordinates", all.coordinates()),
            ("efforts", all.efforts()),
            ("energies", all.energies()),
            ("audit", all.audit()),
            ("strip", subject.strip(arguments).map_err(here)?),
        ],
        false => vec![("columns", all.chosen(&arguments.columns).map_err(here)?)],
    };
    if let (true, Some(loads)) = (arguments.columns.is_empty(), all.loads()) {
        pictures.push(("loads", loads));
    }
    let mut written = Vec::new();
    for (kind, svg) in &pictures {
        let mut write = |extension: &str, bytes: &[u8]| {
            let path = match &arguments.output {
                Some(name) if named && pictures.len() == 1 => name.clone(),
                _ => with_suffix(&prefix, &format!("-{kind}.{extension}")),
            };
            output::write_file(&path, bytes)?;
            written.push(path.display().to_string());
            Ok::<(), Error>(())
        };
        if format != Format::Png {
            write("svg", svg.as_bytes())?;
        }
        #[cfg(feature = "png")]
        if format != Format::Svg {
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
    for ((path, run), subject) in arguments.runs.iter().zip(&runs).zip(&subjects) {
        if run.dropped > 0 {
            outcome = outcome.note(output::left_out(path, run.dropped));
        }
        if !run.finished {
            let which = match &subject.suffix[..] {
                "" => "the run".into(),
                _ => path.display().to_string(),
            };
            outcome = outcome.note(format!(
                "{which} is not finished: the pictures show its {}, up to {} s",
                counted(run.row_count(), "row", "rows"),
                six(subject.end())
            ));
        }
    }
    Ok(outcome)
}

impl Arguments {
    /// Whether `-o` names a file, and the format of the pictures.
    fn name_and_format(&self) -> Result<(bool, Format)> {
        let extension = self.output.as_deref().and_then(Path::extension);
        let of_name = match extension.map(|end| end.to_string_lossy().to_lowercase()) {
            Some(end) if end == "svg" => Some(Format::Svg),
            Some(end) if end == "png" => Some(Format::Png),
            _ => None,
        };
        match (of_name, self.format) {
            (Some(of_name), Some(format)) if of_name != format => {
                let name = self.output.as_deref().unwrap_or(Path::new(""));
                let message = format!(
                    "-o {}: the name has another format than --format {}",
                    name.display(),
                    format
                        .to_possible_value()
                        .map_or(String::new(), |v| v.get_name().to_string())
                );
                let hint = "leave out --format, or the extension of the name";
                Err(Error::new(ErrorKind::Input, message).hint(hint))
            }
            (Some(of_name), _) => Ok((true, of_name)),
            (None, format) => Ok((false, format.unwrap_or(Format::Both))),
        }
    }

    /// The rows of a run within the requested time.
    fn cut(&self, mut run: Run) -> Result<Run> {
        for (option, time) in [("--from", self.from), ("--to", self.to)] {
            if time.is_some_and(f64::is_nan) {
                let message = format!("{option}: the time is not a number");
                return Err(Error::new(ErrorKind::Input, message));
            }
        }
        if self.from.is_none() && self.to.is_none() {
            return Ok(run);
        }
        let (from, to) = (
            self.from.unwrap_or(f64::NEG_INFINITY),
            self.to.unwrap_or(f64::INFINITY),
        );
        let Some(time) = run.column("time") else {
            return Ok(run); // refused later
        };
        let kept: Vec<bool> = time.iter().map(|t| (from..=to).contains(t)).collect();
        if let (Some(first), Some(last), false) = (time.first(), time.last(), kept.contains(&true))
        {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the run has no rows in that time: it goes from {} to {} s",
                    six(*first),
                    six(*last)
                ),
            )
            .hint("check --from and --to"));
        }
        for column in &mut run.columns {
            let mut rows = kept.iter();
            column.retain(|_| rows.next() == Some(&true));
        }
        Ok(run)
    }

    /// The direction of `--view`, and its up direction.
    fn direction(&self) -> Result<Option<[[f64; 3]; 2]>> {
        let Some(text) = &self.view else {
            return Ok(None);
        };
        let direction = match text.as_str() {
            "x" => [1.0, 0.0, 0.0],
            "-x" => [-1.0, 0.0, 0.0],
            "y" => [0.0, 1.0, 0.0],
            "-y" => [0.0, -1.0, 0.0],
            "z" => [0.0, 0.0, 1.0],
            "-z" => [0.0, 0.0, -1.0],
            _ => number::vector::<3>("--view", text)?,
        };
        let vertical = direction[0] == 0.0 && direction[1] == 0.0;
        let up = if vertical {
            [0.0, 1.0, 0.0]
        } else {
            [0.0, 0.0, 1.0]
        };
        Ok(Some([direction, up]))
    }
}

/// A run with its model.
struct Subject<'a> {
    run: &'a Run,
    model: Model,
    title: String,
    time: &'a [f64],
    /// Suffix of names in legends, where there are several runs.
    suffix: String,
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
        let options = catena_io::ReadOptions::default();
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
            suffix: String::new(),
        })
    }

    fn end(&self) -> f64 {
        self.time.last().copied().unwrap_or(0.0)
    }

    fn column(&self, name: &str) -> Vec<f64> {
        let values = self.run.column(name).map(<[f64]>::to_vec);
        values.unwrap_or_else(|| vec![0.0; self.time.len()])
    }

    /// The audit of a law, if there is one.
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
    fn strip(&self, arguments: &Arguments) -> Result<String> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let rows = self.time.len();
        let count = rows.min(arguments.instants);
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
        let usual = View::of(&self.model, &states)?;
        let mut view = View {
            title: self.title.clone(),
            scale: arguments.scale,
            follow: arguments.follow || usual.follow,
            ..usual
        };
        if let Some([direction, up]) = arguments.direction()? {
            (view.direction, view.up) = (direction, up);
        }
        strip(&self.model, &states, &labels, &view)
    }
}

/// The charts of a run, with those of others on top.
struct Pictures<'a> {
    subject: &'a Subject<'a>,
    others: &'a [Subject<'a>],
}

impl Pictures<'_> {
    fn subjects(&self) -> impl Iterator<Item = &Subject<'_>> {
        std::iter::once(self.subject).chain(self.others)
    }

    /// Columns selected by `name`, under the names it returns, one chart for each unit, labelled by `label`.
    fn charts(
        &self,
        name: impl Fn(&str) -> Option<String>,
        label: impl Fn(&str) -> String,
    ) -> Vec<Chart> {
        let mut charts: Vec<(&str, Chart)> = Vec::new();
        for subject in self.subjects() {
            let run = subject.run;
            for (column, values) in run.header.columns.iter().zip(&run.columns) {
                let Some(name) = name(&column.name) else {
                    continue;
                };
                let unit = column.unit.as_str();
                let index = match charts.iter().position(|(of, _)| *of == unit) {
                    Some(index) => index,
                    None => {
                        charts.push((unit, Chart::new("", "time (s)", label(unit))));
                        charts.len() - 1
                    }
                };
                let chart = std::mem::take(&mut charts[index].1);
                let name = format!("{name}{}", subject.suffix);
                charts[index].1 = chart.series(name, subject.time.to_vec(), values.clone());
            }
        }
        charts.into_iter().map(|(_, chart)| chart).collect()
    }

    /// The columns of a quantity.
    fn quantity(&self, key: &str, what: &str, without_unit: &str) -> Vec<Chart> {
        let name = |column: &str| {
            let rest = column.strip_prefix(key)?.strip_prefix('.')?;
            Some(rest.to_string())
        };
        self.charts(name, |unit| match unit {
            "" => without_unit.to_string(),
            unit => format!("{what} ({unit})"),
        })
    }

    fn figure(&self, what: &str, charts: Vec<Chart>) -> String {
        let height = 40 + HEIGHT * charts.len().max(1) as u32;
        let title = match self.others.len() {
            0 => self.subject.title.clone(),
            others => format!("{} and {others} more", self.subject.title),
        };
        Figure {
            title: format!("{what}: {title}"),
            charts,
            columns: 1,
        }
        .svg(WIDTH, height)
    }

    fn coordinates(&self) -> String {
        let mut charts = self.quantity("q", "position", "component of a quaternion");
        charts.extend(self.quantity("v", "velocity", ""));
        self.figure("Coordinates", charts)
    }

    fn efforts(&self) -> String {
        let mut charts = self.quantity("tau", "effort", "");
        charts.extend(self.quantity("friction", "dry friction", ""));
        self.figure("Efforts", charts)
    }

    /// Magnitudes of forces and moments in joints and constraints, where a run has them.
    fn loads(&self) -> Option<String> {
        let mut charts = Vec::new();
        for (letter, label) in [("f", "force (N)"), ("n", "moment (N·m)")] {
            let mut chart = Chart::new("", "time (s)", label);
            for subject in self.subjects() {
                let columns = subject.run.header.columns.iter();
                let ending = format!(".{letter}x");
                for prefix in columns.filter_map(|c| c.name.strip_suffix(&ending)) {
                    let kind = prefix.split_once('.').map_or("", |(kind, _)| kind);
                    let part = |axis: &str| subject.run.column(&format!("{prefix}.{letter}{axis}"));
                    let (true, Some(x), Some(y), Some(z)) = (
                        ["joint", "constraint"].contains(&kind),
                        part("x"),
                        part("y"),
                        part("z"),
                    ) else {
                        continue;
                    };
                    let length = |k: usize| Vec3::new(x[k], y[k], z[k]).norm();
                    let lengths = (0..x.len()).map(length).collect();
                    let name = format!("{prefix}{}", subject.suffix);
                    chart = chart.series(name, subject.time.to_vec(), lengths);
                }
            }
            if !chart.series.is_empty() {
                charts.push(chart);
            }
        }
        let effort = |column: &str| {
            let name = column.strip_suffix(".effort")?;
            name.starts_with("constraint.").then(|| name.to_string())
        };
        charts.extend(self.charts(effort, |unit| format!("effort ({unit})")));
        (!charts.is_empty()).then(|| self.figure("Loads", charts))
    }

    /// Columns chosen by name.
    fn chosen(&self, patterns: &[String]) -> Result<String> {
        for pattern in patterns {
            let mut all = self.subjects().flat_map(|s| &s.run.header.columns);
            if all.all(|column| !matches(pattern, &column.name)) {
                let columns = &self.subject.run.header.columns;
                let near = names::nearest(pattern, columns.iter().map(|c| c.name.as_str()));
                let message = format!("--columns: no column is called `{pattern}`");
                let error = Error::new(ErrorKind::Input, message);
                return Err(match near {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint("names have a quantity and a freedom, as in q.shoulder or frame.tool.x; `*` stands for anything"),
                });
            }
        }
        let name = |column: &str| {
            let is_chosen = column != "time" && patterns.iter().any(|p| matches(p, column));
            is_chosen.then(|| column.to_string())
        };
        let charts = self.charts(name, |unit| match unit {
            "" => "number".into(),
            unit => unit.to_string(),
        });
        Ok(self.figure("Columns", charts))
    }

    /// The energies, work and losses.
    fn energies(&self) -> String {
        let mut energies = Chart::new("", "time (s)", "energy (J)");
        for subject in self.subjects() {
            let [kinetic, gravitational, elastic, work, dissipated] =
                ["kinetic", "gravitational", "elastic", "work", "dissipated"]
                    .map(|k| subject.column(k));
            let total: Vec<f64> = (0..subject.time.len())
                .map(|k| kinetic[k] + gravitational[k] + elastic[k])
                .collect();
            for (name, values, is_needed) in [
                ("kinetic", kinetic, true),
                ("gravitational", gravitational, false),
                ("elastic", elastic, false),
                ("total", total, true),
                ("work of the inputs", work, false),
                ("dissipated", dissipated, false),
            ] {
                if is_needed || values.iter().any(|x| *x != 0.0) {
                    let name = format!("{name}{}", subject.suffix);
                    energies = energies.series(name, subject.time.to_vec(), values);
                }
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
            let columns = &self.subject.run.header.columns;
            let Some(found) = columns.iter().find(|c| c.name == column) else {
                continue;
            };
            let title = match self.others.len() {
                0 => format!("{title}{}", self.subject.finding(law)),
                _ => title.into(),
            };
            let label = format!("error ({})", found.unit);
            let mut chart = Chart::new(title, "time (s)", label);
            for subject in self.subjects() {
                let name = subject.suffix.trim();
                chart = chart.series(name, subject.time.to_vec(), subject.column(column));
            }
            charts.push(chart);
        }
        self.figure("Audit", charts)
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
