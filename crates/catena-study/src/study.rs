//! The study file: what varies, what runs, what is measured. The format is described in docs/studies.md.

mod goal;
mod parameters;

use crate::csv_list;
use crate::design::{Design, MOST_DIMENSIONS, Points};
use crate::distribution::Spread;
use catena::error::{Error, ErrorKind, Place, Result};
use catena_io::document::{Item, Lines, Source, Table, advice, file_error, parse_toml, read_text};
pub use goal::{Goal, Limit, Search};
use parameters::{SPREADS, measure, parameter, placeholders, settings};
use std::path::{Path, PathBuf};

/// The value that `format` must have.
const FORMAT: &str = "catena-study/1";

const FILE_KEYS: &[&str] = &[
    "format",
    "name",
    "model",
    "design",
    "parameter",
    "run",
    "measure",
    "optimize",
    "constraint",
];

const DESIGN_KEYS: &[&str] = &["kind", "samples", "seed", "file"];

const DESIGNS: &[&str] = &[
    "grid",
    "list",
    "random",
    "latin-hypercube",
    "sobol",
    "saltelli",
];

/// Columns of the results that are neither parameters nor measures.
const OWN_COLUMNS: &[&str] = &["sample", "failure"];

/// Maximum number of samples of a study.
const MOST_SAMPLES: f64 = 1e8;

/// Maximum number of values of a `range`: a short file must not take much memory.
const MOST_VALUES: f64 = 1e4;

/// A path in the model or in its state, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct PathText {
    /// For example `link.hand.mass` or `q.elbow`.
    pub text: String,
    /// Location in the study file.
    pub place: Place,
}

/// What varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in the results, in formulas, and as `{name}` in the settings of the run.
    pub name: String,
    /// Unit; empty where none is given.
    pub unit: String,
    /// The paths it sets; empty if only settings and formulas use it.
    pub paths: Vec<PathText>,
    /// Whether it multiplies the existing number instead of replacing it.
    pub relative: bool,
    /// Its values.
    pub spread: Spread,
    /// Location in the study file.
    pub place: Place,
}

/// A value of a setting of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// An option without a value.
    Truth(bool),
    /// Strings, in which `{name}` stands for a parameter; one, or several for options that may be repeated.
    Texts(Vec<String>),
}

/// A setting of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The option, without the dashes in front.
    pub key: String,
    /// Its value.
    pub value: SettingValue,
    /// Location in the study file.
    pub place: Place,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Its name in the results.
    pub name: String,
    /// Unit; empty where none is given.
    pub unit: String,
    /// Its formula.
    pub formula: String,
    /// Location in the study file.
    pub place: Place,
}

/// A study.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// The model: an embedded name, or a file.
    pub model: String,
    /// Location of the model's name.
    pub model_place: Place,
    /// How samples are chosen; only the start for a study that only optimizes.
    pub design: Design,
    has_design: bool,
    /// What is optimized, if anything.
    pub goal: Option<Goal>,
    /// What varies.
    pub parameters: Vec<Parameter>,
    /// The command that a sample runs.
    pub command: String,
    /// Location of its name, if given.
    pub command_place: Option<Place>,
    /// The settings of the run, as options of the command.
    pub settings: Vec<Setting>,
    /// What is measured.
    pub measures: Vec<Measure>,
    /// The study file.
    pub text: String,
    /// The folder of the study file: other files are relative to it.
    pub folder: PathBuf,
    /// Files that the study names, in addition to itself and the model.
    pub files: Vec<PathBuf>,
    points: Option<Points>,
}

impl Study {
    /// Reads a study file.
    pub fn read(path: &Path) -> Result<Study> {
        let file_name = path.display().to_string();
        let is_toml = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
        if !is_toml && path.exists() {
            let message = "a study file is written in TOML";
            let error = file_error(ErrorKind::Unsupported, &file_name, message);
            return Err(error.hint("name it `.toml`; docs/studies.md describes the format"));
        }
        Study::parse(&read_text(path, &file_name)?, path)
    }

    /// Reads the text of a study file; other files are relative to its folder.
    pub fn parse(text: &str, path: &Path) -> Result<Study> {
        let file_name = path.display().to_string();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = Lines::new(&file_name, text);
        let tree = parse_toml(text, &lines)?;
        let source = Source {
            file: lines.file(),
            degrees: false,
        };
        let file = Table::new(&source, String::new(), &tree)?;
        expect_format(&file)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let model = file.require("model")?;
        let mut study = Study {
            name: match file.get("name") {
                Some(name) => name.text()?.into(),
                None => stem(path),
            },
            model: model.text()?.into(),
            model_place: source.place(model.line()),
            design: Design::Grid,
            has_design: file.get("design").is_some(),
            goal: None,
            parameters: tables(&file, "parameter")?
                .iter()
                .map(parameter)
                .collect::<Result<_>>()?,
            command: "simulate".into(),
            command_place: None,
            settings: match file.get("run") {
                Some(run) => settings(&run.table("a table of settings")?)?,
                None => Vec::new(),
            },
            measures: tables(&file, "measure")?
                .iter()
                .map(measure)
                .collect::<Result<_>>()?,
            text: text.into(),
            folder,
            files: Vec::new(),
            points: None,
        };
        study.take_command()?;
        study.expect_names()?;
        study.expect_placeholders()?;
        study.take_goal(&file)?;
        match &study.goal {
            Some(goal) if !study.has_design => {
                let start = study.parameters.iter().zip(&goal.start);
                let start = start.filter_map(|(parameter, u)| parameter.spread.quantile(*u));
                study.design = Design::List(vec![start.collect()]);
            }
            _ => {
                let table = file.require("design")?.table("a table")?;
                study.take_design(&table)?;
            }
        }
        Ok(study)
    }

    /// Takes the command to run out of the settings, among which it is given.
    fn take_command(&mut self) -> Result<()> {
        let Some(at) = self.settings.iter().position(|s| s.key == "command") else {
            return Ok(());
        };
        let setting = self.settings.remove(at);
        let name = match setting.value {
            SettingValue::Texts(texts) if texts.len() == 1 => texts.concat(),
            _ => {
                let message = "`run.command` must be the name of a command";
                return Err(Error::new(ErrorKind::Syntax, message).at(setting.place));
            }
        };
        self.command = name;
        self.command_place = Some(setting.place);
        Ok(())
    }

    /// Rejects a study that does not say how samples are chosen.
    pub fn expect_design(&self) -> Result<()> {
        let hint = "say how samples are chosen, or search an optimum: `catena optimize`";
        match self.has_design {
            true => Ok(()),
            false => Err(self.missing("design", hint)),
        }
    }

    fn missing(&self, table: &str, hint: &str) -> Error {
        let place = Place {
            line: None,
            ..self.model_place.clone()
        };
        let message = format!("the study has no [{table}]");
        Error::new(ErrorKind::Syntax, message).at(place).hint(hint)
    }

    /// A file that the study names.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The number of samples.
    pub fn sample_count(&self) -> usize {
        match &self.design {
            Design::Grid => self.level_counts().product(),
            Design::List(rows) => rows.len(),
            Design::Random { samples, .. }
            | Design::LatinHypercube { samples, .. }
            | Design::Sobol { samples, .. } => *samples,
            Design::Saltelli { base, .. } => base * (self.parameters.len() + 2),
        }
    }

    /// The values of the parameters in a sample; the index must be below [`Study::sample_count`].
    pub fn values(&self, index: usize) -> Vec<f64> {
        let units = match (&self.design, &self.points) {
            (Design::List(rows), _) => return rows[index].clone(),
            (Design::Saltelli { .. }, Some(points)) => {
                // A, B, then A with one column after another from B
                let count = self.parameters.len();
                let (point, which) = (index / (count + 2), index % (count + 2));
                let both = points.at(point);
                let (a, b) = both.split_at(count);
                let from_b = |k: usize| which == 1 || which == k + 2;
                (0..count)
                    .map(|k| if from_b(k) { b[k] } else { a[k] })
                    .collect()
            }
            (_, Some(points)) => points.at(index),
            (_, None) => return self.grid(index),
        };
        let pairs = self.parameters.iter().zip(units);
        pairs
            .filter_map(|(parameter, u)| parameter.spread.quantile(u))
            .collect()
    }

    /// Number of values of each parameter in a grid.
    fn level_counts(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.parameters.iter().map(|own| own.spread.level_count())
    }

    /// The combination of this index, the last parameter changing fastest.
    fn grid(&self, mut index: usize) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::new();
        for parameter in self.parameters.iter().rev() {
            values.extend(parameter.spread.level_around(index));
            index /= parameter.spread.level_count().max(1);
        }
        values.reverse();
        values
    }

    /// Names of the parameters in formulas, in their order; empty where values are texts, which formulas cannot use.
    pub fn variables(&self) -> Vec<&str> {
        let parameters = self.parameters.iter();
        parameters
            .map(|parameter| match &parameter.spread {
                Spread::Words(_) => "",
                _ => parameter.name.as_str(),
            })
            .collect()
    }

    /// Checks that names are words and each has one meaning.
    fn expect_names(&self) -> Result<()> {
        let parameters = self
            .parameters
            .iter()
            .map(|p| (&p.name, &p.place, "parameter"));
        let measures = self.measures.iter().map(|m| (&m.name, &m.place, "measure"));
        let mut seen: Vec<&String> = Vec::new();
        for (name, place, kind) in parameters.chain(measures) {
            let refuse = |message: String| Error::new(ErrorKind::Syntax, message).at(place.clone());
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            if !name.chars().all(is_word) || !name.starts_with(|c: char| c.is_alphabetic()) {
                let error = refuse(format!("the name of {kind} `{name}` must be one word"));
                return Err(error.hint("letters, digits and `_`, and a letter first"));
            }
            if OWN_COLUMNS.contains(&name.as_str()) || matches!(name.as_str(), "t" | "pi") {
                let error = refuse(format!("no {kind} can be called `{name}`"));
                return Err(error.hint("the results and formulas use that name themselves"));
            }
            if seen.contains(&name) {
                return Err(refuse(format!(
                    "`{name}` is the name of two columns of the results"
                )));
            }
            seen.push(name);
        }
        if self.measures.is_empty() {
            let place = Place {
                line: None,
                ..self.model_place.clone()
            };
            let error = Error::new(
                ErrorKind::Syntax,
                "nothing is measured: there is no [[measure]]",
            );
            return Err(error
                .at(place)
                .hint("for example: name = \"peak\", value = \"max(abs(tau.elbow))\""));
        }
        Ok(())
    }

    /// Checks that every `{name}` of a setting is a parameter and every parameter has an effect.
    fn expect_placeholders(&self) -> Result<()> {
        let names: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
        let mut used: Vec<&str> = Vec::new();
        for setting in &self.settings {
            let SettingValue::Texts(texts) = &setting.value else {
                continue;
            };
            for name in texts.iter().flat_map(|text| placeholders(text)) {
                if !names.contains(&name) {
                    let message =
                        format!("`{{{name}}}` in `run.{}` is not a parameter", setting.key);
                    let error = Error::new(ErrorKind::Syntax, message).at(setting.place.clone());
                    return Err(error.hint(advice(name, &names)));
                }
                used.push(name);
            }
        }
        let idle = |p: &&Parameter| p.paths.is_empty() && !used.contains(&p.name.as_str());
        match self.parameters.iter().find(idle) {
            None => Ok(()),
            Some(parameter) => {
                let name = &parameter.name;
                let message = format!("parameter `{name}` changes nothing");
                let error = Error::new(ErrorKind::Syntax, message).at(parameter.place.clone());
                Err(error.hint(format!(
                    "give it a `path` such as \"link.hand.mass\" or \"q.elbow\", or write {{{name}}} in a setting of [run]"
                )))
            }
        }
    }

    fn take_design(&mut self, table: &Table<'_>) -> Result<()> {
        table.expect_keys(DESIGN_KEYS)?;
        let kind = table.require("kind")?;
        let name = kind.text()?;
        if !DESIGNS.contains(&name) {
            let error = kind.must_be("a design");
            return Err(error.hint(advice(name, DESIGNS)));
        }
        let allowed: &[&str] = match name {
            "grid" => &["kind"],
            "list" => &["kind", "file"],
            _ => &["kind", "samples", "seed"],
        };
        table.expect_keys(allowed)?;
        let count = self.parameters.len();
        let place = |line| table.source.place(line);
        if count == 0 {
            let error = table
                .source
                .error(table.line, "nothing varies: there is no [[parameter]]");
            return Err(error.hint("name what varies, its path and its values"));
        }
        let wrong = |parameter: &Parameter, what: &str, hint: &str| {
            let message = format!("parameter `{}` {what}", parameter.name);
            let error = Error::new(ErrorKind::Syntax, message).at(parameter.place.clone());
            Err(error.hint(hint))
        };
        for parameter in &self.parameters {
            let is_values = parameter.spread.level_count() > 0;
            match (name, &parameter.spread) {
                ("list", Spread::Listed) => {}
                ("list", _) => {
                    return wrong(
                        parameter,
                        "has values of its own",
                        "in a list they are those of the column of its name",
                    );
                }
                (_, Spread::Listed) => {
                    let hint = format!("give one of: {}", SPREADS.join(", "));
                    return wrong(parameter, "has no values", &hint);
                }
                ("grid", _) if !is_values => {
                    return wrong(
                        parameter,
                        "has no values for a grid",
                        "give values = [1, 2, 5] or range = [LOW, HIGH, COUNT]",
                    );
                }
                _ => {}
            }
        }
        self.design = match name {
            "grid" => {
                let product: f64 = self.level_counts().map(|count| count as f64).product();
                if product > MOST_SAMPLES {
                    let message =
                        format!("the grid has {product:.1e} samples, more than {MOST_SAMPLES:.0e}");
                    let error = table.source.error(table.line, message);
                    return Err(error.hint("choose fewer values, or the design \"sobol\""));
                }
                Design::Grid
            }
            "list" => {
                let file = table.require("file")?;
                let path = self.file(file.text()?);
                let names: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
                let rows = csv_list::read(&path, &names)?;
                self.files.push(path);
                Design::List(rows)
            }
            _ => {
                let samples = whole(&table.require("samples")?, 1.0, MOST_SAMPLES)? as usize;
                let Some(seed) = table.get("seed") else {
                    let error = table.source.error(table.line, "`design.seed` is missing");
                    return Err(error.hint("add `seed = 1`: a seed always gives the same samples"));
                };
                let seed = whole(&seed, 0.0, 9e15)? as u64;
                match name {
                    "random" => Design::Random { samples, seed },
                    "latin-hypercube" => Design::LatinHypercube { samples, seed },
                    "sobol" => Design::Sobol { samples, seed },
                    _ => Design::Saltelli {
                        base: samples,
                        seed,
                    },
                }
            }
        };
        let dimensions = match self.design {
            Design::Saltelli { .. } => 2 * count,
            _ => count,
        };
        if matches!(self.design, Design::Sobol { .. } | Design::Saltelli { .. })
            && dimensions > MOST_DIMENSIONS
        {
            let message = format!(
                "a {name} design has at most {MOST_DIMENSIONS} dimensions, not {dimensions}"
            );
            let error = Error::new(ErrorKind::Syntax, message).at(place(table.line));
            return Err(error.hint("choose \"latin-hypercube\""));
        }
        self.points = match self.design {
            Design::Grid | Design::List(_) => None,
            Design::Random { seed, .. } => Some(Points::random(count, seed)),
            Design::LatinHypercube { samples, seed } => {
                Some(Points::latin_hypercube(samples, count, seed))
            }
            Design::Sobol { seed, .. } | Design::Saltelli { seed, .. } => {
                Some(Points::sobol(dimensions, seed))
            }
        };
        Ok(())
    }
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Checks that the keys of the file are known and its format is ours.
fn expect_format(file: &Table<'_>) -> Result<()> {
    let Some(format) = file.get("format") else {
        let message = format!("`format` is missing: a study says `format = \"{FORMAT}\"`");
        let error = file.source.error(file.line, message);
        return Err(error.hint("add it as the first key of the file"));
    };
    if format.text()? != FORMAT {
        let error = format.must_be(&format!("\"{FORMAT}\""));
        return Err(error.hint(format!("this version reads the format {FORMAT} only")));
    }
    file.expect_keys(FILE_KEYS)
}

fn tables<'a>(file: &Table<'a>, kind: &str) -> Result<Vec<Table<'a>>> {
    file.get(kind)
        .map_or(Ok(Vec::new()), |list| list.tables(kind))
}

/// A whole number in a range.
fn whole(item: &Item<'_>, least: f64, most: f64) -> Result<f64> {
    let number = item.number()?;
    match number.fract() == 0.0 && (least..=most).contains(&number) {
        true => Ok(number),
        false => Err(item.must_be(&format!("a whole number from {least} to {most:.0e}"))),
    }
}

fn text_or_empty(table: &Table<'_>, key: &str) -> Result<String> {
    table
        .get(key)
        .map_or(Ok(String::new()), |item| item.text().map(str::to_string))
}
