//! The experiment of a study: the model with its values, a simulation or the result of another command, and the measures.

use super::computation::{COMMANDS, OTHERS};
use super::measure::{self, Measured};
use crate::commands::simulate::{Columns, RunArguments, Started, Trial, arithmetic};
use crate::coordinates::Quantity;
use crate::model_argument::Loaded;
use crate::number::counted;
use crate::{names, output, program};
use catena::error::{Error, ErrorKind, Result};
use catena::model::embedded;
use catena::native::{Compiled, Compiler, Kernel};
use catena::simulate::{Simulation, advance_together};
use catena::{Cpu, Model, State};
use catena_io::document::{advice, read_text};
use catena_io::files::Parcel;
use catena_study::{
    Experiment, Measure, ModelPointer, ModelText, Origin, Parameter, PathText, SettingValue, Study,
};
use catena_symbolic::native::{self, NativeOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Settings that name files.
const FILES: &[&str] = &["state", "efforts", "trajectory"];

/// Computes a measure from values of the parameters, the names of the columns of a run, and its numbers, row by row.
type Call = dyn Fn(&[f64], &[String], &[f64]) -> Result<f64> + Send + Sync;

/// A measure that is not a formula.
pub struct Function {
    /// Its name in the results.
    pub name: String,
    /// Its definition: a study is not resumed with a different one.
    pub text: String,
    /// The function: of values of the parameters, names of columns, and the run's numbers, row by row.
    pub call: Box<Call>,
}

/// Target of a parameter.
pub(super) enum Target {
    Model(ModelPointer),
    State(Quantity, PathText),
}

/// The command that studies run by default.
const SIMULATE: &str = "simulate";

/// The simulations of a study, or results of another command in their place.
pub struct Simulations {
    study: Study,
    /// For each parameter.
    targets: Vec<Vec<Target>>,
    /// None where the command has no model.
    model: Option<ModelText>,
    /// Columns of the result of another command; none for simulations.
    computed: Option<Vec<String>>,
    /// Options and model of all samples; none where settings vary.
    common: Option<(RunArguments, Loaded)>,
    /// Columns that the measures need.
    record: Vec<String>,
    /// The last measures of the study, which are not formulas.
    functions: Vec<Function>,
    /// Whether the model stays the same. Then machine code is generated for it once.
    is_same_model: bool,
    /// Whether samples may run in lanes. Then options are common to all, and no measure counts events, which lanes do not detect.
    lanes: bool,
    /// Samples that ran in lanes.
    ran_in_lanes: AtomicUsize,
    /// The columns of all runs, where they are the same.
    columns: OnceLock<Arc<Columns>>,
    /// The study file.
    path: PathBuf,
    /// Files that came with the study from another machine; those of the disk where there are none.
    files: Option<Arc<Parcel>>,
}

/// Does this text of a setting name a file? Some trajectories have built-in names.
fn is_file(key: &str, text: &str) -> bool {
    FILES.contains(&key) && (key != "trajectory" || text.contains('.'))
}

/// The options with the values of a sample, as they are typed.
pub(super) fn words(study: &Study, values: &[f64]) -> Vec<String> {
    // the problems of `benchmark` are not files
    let is_embedded = embedded::builder(&study.model).is_ok() || study.command == "benchmark";
    let mut words = vec![match is_embedded {
        true => study.model.clone(),
        false => study.file(&study.model).display().to_string(),
    }];
    for setting in &study.settings {
        match &setting.value {
            SettingValue::Truth(true) => words.push(format!("--{}", setting.key)),
            SettingValue::Truth(false) => {}
            SettingValue::Texts(_) => {
                for text in setting.texts(&study.parameters, values) {
                    let text = match is_file(&setting.key, &text) {
                        true => study.file(&text).display().to_string(),
                        false => text,
                    };
                    words.push(format!("--{}={text}", setting.key));
                }
            }
        }
    }
    words
}

/// Checks that every setting is an option of the command, with or without a value.
pub(super) fn expect_settings(study: &Study) -> Result<()> {
    let command = &study.command;
    let mut options = match command == SIMULATE {
        true => RunArguments::options(),
        false => program::options(command),
    };
    options.retain(|(name, _)| !OTHERS.contains(&name.as_str()));
    for setting in &study.settings {
        let refuse = |message: String, hint: String| {
            let error = Error::new(ErrorKind::Syntax, message).at(setting.place.clone());
            Err(error.hint(hint))
        };
        let Some((_, takes_value)) = options.iter().find(|(name, _)| *name == setting.key) else {
            let known: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
            let message = format!("`run.{}` is not a setting of a run", setting.key);
            return refuse(
                message,
                format!(
                    "{}; `catena {command} --help` explains them",
                    advice(&setting.key, &known)
                ),
            );
        };
        let is_truth = matches!(setting.value, SettingValue::Truth(_));
        if is_truth == *takes_value {
            let what = if *takes_value {
                "a value"
            } else {
                "true or false"
            };
            return refuse(
                format!("`run.{}` must be {what}", setting.key),
                format!("see `catena {command} --help`"),
            );
        }
    }
    Ok(())
}

/// An error of the settings, at the one that it names.
pub(super) fn in_run(study: &Study, error: Error) -> Error {
    if error.place().file.is_some() {
        return error;
    }
    let names = |key: &str| error.message().contains(&format!("--{key}"));
    let setting = study.settings.iter().find(|setting| names(&setting.key));
    let place = setting.map_or(&study.model_place, |setting| &setting.place);
    error.at(place.clone())
}

/// Code of the model of a study, which is generated once.
static CODE: Mutex<Option<(u64, Compiled)>> = Mutex::new(None);

/// Code of that model in lanes.
static LANES: Mutex<Option<(u64, Compiled)>> = Mutex::new(None);

fn kept_code(model: &Model) -> Result<Compiled> {
    kept(&CODE, model, catena_symbolic::native::for_simulation)
}

/// Forward dynamics of a model in lanes; none where it cannot be generated.
fn lanes_code(model: &Model) -> Result<Option<Compiled>> {
    let made = kept(&LANES, model, |model| {
        let options = NativeOptions {
            kernels: vec![Kernel::Forward],
            single: false,
            ..NativeOptions::default()
        };
        native::compile(model, &options)
    });
    match made {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
        made => made.map(Some),
    }
}

/// The code that is kept for a model, or new.
fn kept(
    place: &Mutex<Option<(u64, Compiled)>>,
    model: &Model,
    make: impl Fn(&Model) -> Result<Compiled>,
) -> Result<Compiled> {
    let mut kept = place.lock().unwrap_or_else(PoisonError::into_inner);
    let fingerprint = model.fingerprint();
    if let Some((_, code)) = kept.as_ref().filter(|(print, _)| *print == fingerprint) {
        return Ok(code.clone());
    }
    let code = make(model)?;
    *kept = Some((fingerprint, code.clone()));
    Ok(code)
}

impl Simulations {
    /// The simulations of a study file that has a design.
    pub fn open(path: &Path) -> Result<Self> {
        let study = Study::read(path)?;
        study.expect_design()?;
        let simulations = Simulations::new(study)?;
        Ok(Simulations {
            path: path.to_path_buf(),
            ..simulations
        })
    }

    /// The simulations of a study file that was sent with its files from another machine.
    pub(super) fn open_parcel(path: &Path, files: Parcel) -> Result<Self> {
        let files = Arc::new(files);
        let simulations = files.open(|| Simulations::open(path))?;
        Ok(Simulations {
            files: Some(files),
            ..simulations
        })
    }

    /// Adds measures that are not formulas, and columns that they need in addition to those of every run.
    pub fn with_functions(mut self, functions: Vec<Function>, record: &[String]) -> Result<Self> {
        let refuse = |message: String, hint: &str| {
            let error = Error::new(ErrorKind::Input, message);
            Err(error.hint(hint))
        };
        let known = self.with_files(|| self.known_columns())?;
        if let Some(name) = record.iter().find(|name| !known.contains(name)) {
            let message = format!("the run has no column `{name}`");
            let hint = match names::nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "docs/run-files.md lists columns".to_string(),
            };
            return refuse(message, &hint);
        }
        self.record.extend_from_slice(record);
        for function in functions {
            let study = &mut self.study;
            let taken = study.parameters.iter().map(|p| p.name.as_str());
            let taken = taken.chain(study.measures.iter().map(|m| m.name.as_str()));
            let is_taken = taken
                .chain(["", "sample", "failure"])
                .any(|taken| taken == function.name);
            if is_taken {
                let message = format!("a measure cannot be named `{}`", function.name);
                return refuse(message, "columns of the results have names of their own");
            }
            study.measures.push(Measure {
                name: function.name.clone(),
                unit: String::new(),
                formula: String::new(),
                place: study.model_place.clone(),
            });
            self.functions.push(function);
        }
        Ok(self)
    }

    /// Columns that the run of the first sample may have.
    fn known_columns(&self) -> Result<Vec<String>> {
        if let Some(columns) = &self.computed {
            return Ok(columns.clone());
        }
        let values = self.study.values(0);
        let arguments = RunArguments::read(&words(&self.study, &values))?;
        let nominal = arguments.load()?;
        let loaded = self.changed(nominal.clone(), &values).unwrap_or(nominal);
        arguments.columns(loaded)
    }

    /// Runs a function that reads the study's files.
    fn with_files<T>(&self, what: impl FnOnce() -> T) -> T {
        match &self.files {
            Some(files) => files.open(what),
            None => what(),
        }
    }

    /// The study file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The simulations of a study. Errors of the study are found here, by a first sample if necessary.
    pub fn new(study: Study) -> Result<Self> {
        if study.command != SIMULATE {
            if !COMMANDS.contains(&study.command.as_str()) {
                let known: Vec<&str> = [SIMULATE].iter().chain(COMMANDS).copied().collect();
                let message = format!("`{}` is not a command that studies can run", study.command);
                let place = study.command_place.clone().unwrap_or_default();
                let error = Error::new(ErrorKind::Syntax, message).at(place);
                return Err(error.hint(advice(&study.command, &known)));
            }
            return Simulations::of_command(study);
        }
        expect_settings(&study)?;
        let values = study.values(0);
        let first = words(&study, &values);
        let at_model = |error: Error| match error.place().file {
            None => error.at(study.model_place.clone()),
            Some(_) => error,
        };
        let arguments = RunArguments::read(&first).map_err(|error| in_run(&study, error))?;
        let loaded = arguments.load().map_err(at_model)?;
        let model = ModelText::new(&loaded.builder, &study.model)?;
        let mut targets = Vec::new();
        for parameter in &study.parameters {
            let target = |path: &PathText| target(&model, &loaded.model, path, parameter.relative);
            targets.push(
                parameter
                    .paths
                    .iter()
                    .map(target)
                    .collect::<Result<Vec<_>>>()?,
            );
        }
        let names = study.variables();
        let mut record = Vec::new();
        for measure in &study.measures {
            record.extend(measure::columns(measure, &names, None)?);
        }
        let is_same_model = !targets
            .iter()
            .flatten()
            .any(|target| matches!(target, Target::Model(_)));
        // varying settings give different options for each sample
        let varies = study.settings.iter().any(|setting| {
            matches!(&setting.value, SettingValue::Texts(texts) if texts.iter().any(|text| text.contains('{')))
        });
        let mut counts_events = false;
        for measure in &study.measures {
            counts_events |= measure::figures(measure, &names)?.contains(&"events");
        }
        let simulations = Simulations {
            lanes: !varies && !counts_events,
            ran_in_lanes: AtomicUsize::new(0),
            columns: OnceLock::new(),
            path: PathBuf::new(),
            files: None,
            functions: Vec::new(),
            targets,
            model: Some(model),
            computed: None,
            common: (!varies).then_some((arguments, loaded)),
            record,
            is_same_model: is_same_model && !varies,
            study,
        };
        simulations.try_first(&first, &values)?;
        Ok(simulations)
    }

    /// Sets up the first sample, without running it: mistakes of the study that all samples would repeat are reported at once.
    fn try_first(&self, words: &[String], values: &[f64]) -> Result<()> {
        let study = &self.study;
        let arguments = RunArguments::read(words)?;
        let nominal = arguments.load()?;
        // values that give no valid model are a failure of their sample
        let loaded = self.changed(nominal.clone(), values).unwrap_or(nominal);
        let columns = match arguments.columns(loaded) {
            Ok(columns) => columns,
            // a value of this sample may be wrong
            Err(_) if self.common.is_none() => return Ok(()),
            Err(error) => return Err(in_run(study, error)),
        };
        expect_measures(study, &columns)
    }

    /// Results of another command with these columns.
    pub(super) fn computed(
        study: Study,
        targets: Vec<Vec<Target>>,
        model: Option<ModelText>,
        columns: Vec<String>,
    ) -> Self {
        Simulations {
            study,
            targets,
            model,
            computed: Some(columns),
            common: None,
            record: Vec::new(),
            functions: Vec::new(),
            is_same_model: false,
            lanes: false,
            ran_in_lanes: AtomicUsize::new(0),
            columns: OnceLock::new(),
            path: PathBuf::new(),
            files: None,
        }
    }

    /// Target of each parameter.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Vec<Target>> {
        self.targets.iter()
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// Everything that determines the results.
    pub fn origin(&self) -> Result<Origin> {
        self.with_files(|| self.origin_of_files())
    }

    fn origin_of_files(&self) -> Result<Origin> {
        let study = &self.study;
        let mut entries = vec![
            ("study file".to_string(), study.text.clone()),
            (
                "model".to_string(),
                self.model
                    .as_ref()
                    .map_or_else(String::new, ModelText::text),
            ),
        ];
        let own = study.settings.iter().flat_map(|setting| {
            let texts = setting.texts(&[], &[]).into_iter();
            texts.filter(|text| is_file(&setting.key, text))
        });
        let files = study
            .files
            .iter()
            .cloned()
            .chain(own.map(|name| study.file(&name)));
        for path in files {
            let name = path.display().to_string();
            let text = read_text(&path, &name)?;
            let file = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            entries.push((format!("file {file}"), text));
        }
        let functions = self.functions.iter();
        let functions = functions.map(|own| (format!("measure {}", own.name), own.text.clone()));
        entries.extend(functions);
        let source = match self.is_same_model {
            true => "compiled",
            false => "general",
        };
        let kind = arithmetic(source).into_iter();
        entries.extend(kind.map(|(_, name, value)| (name.to_string(), value)));
        Ok(Origin { entries })
    }

    /// Sets up the run of a sample.
    pub(super) fn begin(&self, values: &[f64]) -> Result<Started> {
        let read;
        let loaded;
        let arguments = match &self.common {
            Some((arguments, common)) => {
                loaded = common.clone();
                arguments
            }
            None => {
                read = RunArguments::read(&words(&self.study, values))?;
                loaded = read.load()?;
                &read
            }
        };
        let loaded = self.changed(loaded, values)?;
        let compiler: Option<Compiler> = match self.is_same_model {
            true => arguments
                .compiler(&loaded.model)
                .map(|_| kept_code as Compiler),
            false => None,
        };
        let adjust = |model: &Model, state: &mut State| self.place(model, state, values);
        // where the model and the options are those of all samples, so are the columns
        let shared = self.is_same_model && self.common.is_some();
        let columns = self.columns.get().filter(|_| shared).cloned();
        let started = arguments.begin(loaded, adjust, &self.record, columns, compiler)?;
        if shared {
            self.columns.get_or_init(|| Arc::clone(&started.columns));
        }
        Ok(started)
    }

    /// Whether this measure is not a formula.
    pub(super) fn is_function(&self, measure: usize) -> bool {
        measure >= self.study.measures.len() - self.functions.len()
    }

    /// The measures of a run.
    pub(super) fn measures(&self, values: &[f64], measured: &Measured<'_>) -> Result<Vec<f64>> {
        let study = &self.study;
        let names = study.variables();
        let formulas = study.measures.len() - self.functions.len();
        let (formulas, others) = study.measures.split_at(formulas);
        let formulas = formulas
            .iter()
            .map(|measure| measure::value(measure, &names, values, measured));
        let others = others.iter().zip(&self.functions);
        let others = others.map(|(measure, function)| {
            (function.call)(values, measured.columns, measured.rows)
                .map_err(|error| measure::about(measure, &error))
        });
        formulas.chain(others).collect()
    }

    /// May the run of a sample be computed in lanes? That depends only on the sample, and so do its bits.
    fn in_lanes(&self, started: &Started) -> bool {
        let nominal = self.common.as_ref().map(|(_, loaded)| &loaded.model);
        self.lanes
            && nominal.is_some_and(|nominal| nominal.is_alike(started.simulation.model()))
            && started.simulation.obstacle_to_lanes().is_none()
    }

    fn measure_together(&self, values: &[Vec<f64>]) -> Vec<Result<Vec<f64>>> {
        if self.computed.is_some() {
            return values.iter().map(|values| self.compute(values)).collect();
        }
        let measures = |trial: Result<Trial>, values: &[f64]| {
            trial.and_then(|trial| self.measures(values, &Measured::of_trial(&trial)))
        };
        let mut measured: Vec<Option<Result<Vec<f64>>>> = vec![None; values.len()];
        let mut together: Vec<(usize, Started)> = Vec::new();
        for (k, values) in values.iter().enumerate() {
            match self.begin(values) {
                Err(error) => measured[k] = Some(Err(error)),
                Ok(started) if self.in_lanes(&started) => together.push((k, started)),
                Ok(started) => {
                    measured[k] = Some(measures(started.run(), values));
                }
            }
        }
        self.ran_in_lanes
            .fetch_add(together.len(), Ordering::Relaxed);
        for (k, trial) in self.run_together(together) {
            measured[k] = Some(measures(trial, &values[k]));
        }
        let missing = || Err(Error::new(ErrorKind::Input, "the sample was not computed"));
        measured
            .into_iter()
            .map(|found| found.unwrap_or_else(missing))
            .collect()
    }

    /// Runs samples in lanes; the threads are those of the study.
    fn run_together(&self, together: Vec<(usize, Started)>) -> Vec<(usize, Result<Trial>)> {
        let (places, started): (Vec<usize>, Vec<Started>) = together.into_iter().unzip();
        let (mut simulations, rest): (Vec<Simulation>, Vec<_>) =
            started.into_iter().map(Started::split).unzip();
        let mut samples = vec![Vec::new(); simulations.len()];
        let code = match self.is_same_model && simulations.iter().all(Simulation::is_compiled) {
            true => simulations.first().map(|run| lanes_code(run.model())),
            false => None,
        };
        let code = match code.transpose() {
            Ok(code) => code.flatten(),
            Err(error) => {
                return places
                    .into_iter()
                    .map(|k| (k, Err(error.clone())))
                    .collect();
            }
        };
        let done = match advance_together(&mut simulations, &mut samples, code.as_ref(), 1) {
            Ok(done) => done,
            Err(error) => vec![Err(error); places.len()],
        };
        let runs = simulations.into_iter().zip(rest).zip(samples);
        let trials = done.into_iter().zip(runs);
        let trials = trials.map(|(done, ((simulation, rest), samples))| {
            done.and_then(|()| rest.join(simulation).finish(&samples))
        });
        places.into_iter().zip(trials).collect()
    }

    /// Number of these computed samples that ran in lanes, in words; none where all ran one by one.
    pub fn lanes_used(&self, computed: usize) -> Option<String> {
        let lanes = match Cpu::detect() {
            Cpu::Baseline => return None,
            Cpu::Avx2 => 4,
            Cpu::Avx512 => 8,
        };
        match self.ran_in_lanes.load(Ordering::Relaxed) {
            0 => None,
            some if some < computed => {
                let all = counted(computed, "sample", "samples");
                Some(format!("{some} of {all} ran in lanes"))
            }
            _ => Some(format!("samples ran in lanes, {lanes} at a time")),
        }
    }

    /// The model with the values of a sample.
    fn changed(&self, loaded: Loaded, values: &[f64]) -> Result<Loaded> {
        let mut changes = Vec::new();
        for ((targets, parameter), value) in
            self.targets.iter().zip(&self.study.parameters).zip(values)
        {
            for target in targets {
                if let Target::Model(pointer) = target {
                    changes.push((pointer, parameter.relative, *value));
                }
            }
        }
        if changes.is_empty() {
            return Ok(loaded);
        }
        // where settings vary, the model may differ from that of the first sample
        let builder = match (&self.common, &self.model) {
            (Some(_), Some(model)) => model.with(&changes)?,
            _ => ModelText::new(&loaded.builder, &self.study.model)?.with(&changes)?,
        };
        let model = builder.build()?;
        let builder = Arc::new(builder);
        Ok(Loaded { builder, model })
    }

    /// Sets coordinates of the initial state.
    fn place(&self, model: &Model, state: &mut State, values: &[f64]) -> Result<()> {
        let (mut q, mut v) = (state.q.clone(), state.v.clone());
        for ((targets, parameter), value) in
            self.targets.iter().zip(&self.study.parameters).zip(values)
        {
            for target in targets {
                let Target::State(quantity, path) = target else {
                    continue;
                };
                let k = coordinate(model, *quantity, path)?;
                let number = match quantity {
                    Quantity::Position => &mut q[k],
                    _ => &mut v[k],
                };
                *number = match parameter.relative {
                    true => *number * value,
                    false => *value,
                };
            }
        }
        let base = state.base;
        *state = State::new(model, &q, &v)?;
        state.base = base;
        Ok(())
    }
}

/// Samples that a thread computes together: enough that lanes whose run has ended find another.
const TOGETHER: usize = 64;

impl Experiment for Simulations {
    fn measure(&self, values: &[f64]) -> Result<Vec<f64>> {
        let mut found = self.measure_all(&[values.to_vec()]);
        found.remove(0)
    }

    fn measure_all(&self, values: &[Vec<f64>]) -> Vec<Result<Vec<f64>>> {
        self.with_files(|| output::quietly(|| self.measure_together(values)))
    }

    fn slopes(&self, values: &[f64], wanted: &[usize]) -> Result<Vec<Vec<f64>>> {
        if self.computed.is_some() {
            let message = format!("samples are results of `{}`", self.study.command);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.with_files(|| output::quietly(|| self.slopes_at(values, wanted)))
    }

    fn together(&self) -> usize {
        match self.lanes {
            true => TOGETHER,
            false => 1,
        }
    }
}

/// Rejects parameters that have names of columns, and measures of missing columns.
pub(super) fn expect_measures(study: &Study, columns: &[String]) -> Result<()> {
    let both = |parameter: &&Parameter| columns.contains(&parameter.name);
    if let Some(parameter) = study.parameters.iter().find(both) {
        let message = format!(
            "parameter `{}` has the name of a column of the run",
            parameter.name
        );
        let error = Error::new(ErrorKind::Syntax, message).at(parameter.place.clone());
        return Err(error.hint("choose another name: formulas could mean either"));
    }
    let names = study.variables();
    for measure in &study.measures {
        measure::columns(measure, &names, Some(columns))?;
    }
    Ok(())
}

/// The coordinate of the initial state that a path names.
fn coordinate(model: &Model, quantity: Quantity, path: &PathText) -> Result<usize> {
    let name = path.text.split_once('.').map_or("", |(_, name)| name);
    let known = quantity.coordinates(model);
    known
        .iter()
        .position(|known| known.name == name)
        .ok_or_else(|| {
            let key = quantity.key();
            let all = || known.iter().map(|known| known.name.as_str());
            let error = Error::new(
                ErrorKind::Syntax,
                format!("there is no coordinate `{key}.{name}`"),
            );
            error
                .at(path.place.clone())
                .hint(match names::nearest(name, all()) {
                    Some(near) => format!("did you mean `{key}.{near}`?"),
                    None => format!("the coordinates are {}", names::first_few(all())),
                })
        })
}

pub(super) fn target(
    text: &ModelText,
    model: &Model,
    path: &PathText,
    relative: bool,
) -> Result<Target> {
    let quantity = match path.text.split_once('.') {
        Some(("q", _)) => Quantity::Position,
        Some(("v", _)) => Quantity::Velocity,
        _ => return Ok(Target::Model(text.find(path, relative)?)),
    };
    coordinate(model, quantity, path)?;
    Ok(Target::State(quantity, path.clone()))
}
