//! The class `Model`: its source, its contents, and the workspaces cached for it.

use crate::array::{Array, array};
use crate::error::{guarded, raise, refuse};
use crate::mechanism::situation;
use crate::value::{from_python, to_python};
use catena::ClosedChain;
use catena::algorithm::kinematics::Rerooted;
use catena::error::{Error, Place, Result};
use catena::model::{FrameInfo, Model, embedded};
use catena::native::{Compiled, Kernel};
use catena::spatial::Vec3;
use catena::{Batch, Dynamics, ModelBuilder, State, thresholds};
use catena_io::{BaseOption, ReadOptions};
use catena_symbolic::native;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// Threads of batches; 0 is as many as there are processors.
pub static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Source of a model.
enum Source {
    /// What the reader of a file found, or an embedded model.
    Builder(Box<ModelBuilder>),
    /// A document in catena's own format that is being extended.
    Document(Value),
}

/// A model that has passed its checks, with everything cached for it.
// workspaces are large: they are boxed in these lists
#[allow(clippy::vec_box)]
pub struct Built {
    /// The model.
    pub model: Model,
    single: OnceLock<Option<Compiled>>,
    lanes: OnceLock<Option<Compiled>>,
    works: Mutex<Vec<Box<CallWork>>>,
    batches: Mutex<Vec<(usize, Box<Batch>)>>,
    chains: Mutex<Vec<Box<ClosedChain>>>,
    /// First coordinates of the quaternions.
    pub quaternions: Vec<usize>,
    whole: OnceLock<Arc<Built>>,
    /// The model as it is stored with runs.
    document: OnceLock<Arc<Value>>,
}

/// Workspace for one state.
pub struct CallWork {
    /// The algorithms.
    pub dynamics: Dynamics,
    /// The state.
    pub state: State,
    /// As many zeros as there are freedoms.
    pub zeros: Vec<f64>,
}

impl Built {
    /// A checked model, with nothing cached yet.
    pub fn new(model: Model) -> Self {
        Built {
            quaternions: model
                .bodies()
                .filter_map(|i| {
                    let body = &model.tree().bodies[i];
                    (body.kind.quaternion()).map(|k| position_place(&model, body.q + k))
                })
                .collect(),
            model,
            single: OnceLock::new(),
            lanes: OnceLock::new(),
            works: Mutex::default(),
            batches: Mutex::default(),
            chains: Mutex::default(),
            whole: OnceLock::new(),
            document: OnceLock::new(),
        }
    }

    /// [`guarded`]; where a shape would be right for all joints of the tree, the error says so.
    pub fn guarded<T>(
        self: &Arc<Self>,
        py: Python<'_>,
        function: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        guarded(py, function).map_err(|error| self.of_tree(py, error))
    }

    /// The error; if the number of coordinates is wrong, with a hint at those of coupled joints.
    #[cold]
    pub fn of_tree(self: &Arc<Self>, py: Python<'_>, error: PyErr) -> PyErr {
        if self.model.couplings().is_none() {
            return error;
        }
        let value = error.value(py);
        let is_shape = (value.get_type().name()).is_ok_and(|name| name == "ShapeError");
        let counts = is_shape || value.to_string().contains("numbers are needed");
        if counts && value.hasattr("hint").unwrap_or(false) {
            let whole = self.whole();
            let hint = format!(
                "`{}` has coupled joints: {} of {} positions and {} of {} velocities are independent, and calls take these; runs and their \
                 controls have all of them, and so has the model `open_tree()`",
                self.model.name(),
                self.model.nq(),
                whole.model.nq(),
                self.model.nv(),
                whole.model.nv(),
            );
            let _ = value.setattr("hint", hint);
        }
        error
    }

    /// The model with its couplings as constraints, for computations with multipliers: it has all coordinates of the tree.
    pub fn whole(self: &Arc<Self>) -> Arc<Built> {
        let made = || {
            let whole = self.model.clone().with_couplings_as_constraints();
            Arc::new(Built::new(whole))
        };
        match self.model.couplings() {
            None => Arc::clone(self),
            Some(_) => Arc::clone(self.whole.get_or_init(made)),
        }
    }

    /// Code of the model, unless the processor or the size of the model forbids it; then the general recursions answer.
    fn compiled(&self, lanes: bool) -> Option<&Compiled> {
        let made = || {
            // one state of a closed chain is computed by `ClosedChain`
            let is_closed = !self.model.constraints().is_empty();
            if self.model.nv() > thresholds::COMPILED || is_closed && !lanes {
                return None;
            }
            let options = native::NativeOptions {
                kernels: vec![
                    Kernel::Inverse,
                    Kernel::Forward,
                    Kernel::Inertia,
                    Kernel::InverseDerivatives,
                    Kernel::ForwardDerivatives,
                ],
                single: !lanes,
                lanes,
                ..native::NativeOptions::default()
            };
            native::compile(&self.model, &options).ok()
        };
        let cell = if lanes { &self.lanes } else { &self.single };
        cell.get_or_init(made).as_ref()
    }

    /// Code of the model in lanes, if there is any.
    pub fn lanes_code(&self) -> Option<&Compiled> {
        self.compiled(true)
    }

    /// A workspace for one state.
    pub fn work(&self) -> Box<CallWork> {
        if let Some(work) = locked(&self.works).pop() {
            return work;
        }
        let dynamics = match self.compiled(false) {
            Some(compiled) => Dynamics::with_compiled(compiled),
            None => Dynamics::new(&self.model),
        };
        Box::new(CallWork {
            dynamics,
            state: State::neutral(&self.model),
            zeros: vec![0.0; self.model.nv()],
        })
    }

    /// Keeps a workspace for the next call.
    pub fn keep(&self, work: Box<CallWork>) {
        locked(&self.works).push(work);
    }

    /// A workspace for many states, on as many threads as requested.
    pub fn batch(&self) -> (usize, Box<Batch>) {
        let threads = match THREADS.load(Ordering::Relaxed) {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        let mut kept = locked(&self.batches);
        if let Some(at) = kept.iter().position(|(n, _)| *n == threads) {
            return kept.swap_remove(at);
        }
        drop(kept);
        let batch = match self.compiled(true) {
            Some(compiled) => Batch::with_compiled(compiled),
            None => Batch::new(&self.model),
        };
        (threads, Box::new(batch.threads(threads)))
    }

    /// Keeps a workspace for the next call.
    pub fn keep_batch(&self, batch: (usize, Box<Batch>)) {
        locked(&self.batches).push(batch);
    }

    /// A workspace for closed chains.
    pub fn chain(&self) -> Box<ClosedChain> {
        let kept = locked(&self.chains).pop();
        kept.unwrap_or_else(|| Box::new(ClosedChain::new(&self.model)))
    }

    /// Keeps a workspace for the next call.
    pub fn keep_chain(&self, chain: Box<ClosedChain>) {
        locked(&self.chains).push(chain);
    }

    /// The frame of this name: a link or a frame of its own.
    pub fn frame(&self, py: Python<'_>, name: &str) -> PyResult<&FrameInfo> {
        let frames = &self.model.tree().frames;
        if let Some(frame) = frames.iter().find(|frame| frame.name == name) {
            return Ok(frame);
        }
        let known: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
        Err(refuse(
            py,
            &format!(
                "model `{}` has no link or frame called `{name}`",
                self.model.name()
            ),
            &format!("known are {}", listed(&known)),
        ))
    }

    /// Velocity coordinates of these freedoms, or of all those of a joint of that name.
    pub fn freedoms(&self, py: Python<'_>, names: &[String]) -> PyResult<Vec<usize>> {
        let tree = self.model.tree();
        let mut found = Vec::new();
        for name in names {
            if let Some(k) = tree.dofs.iter().position(|dof| dof.name == *name) {
                found.push(k);
            } else if let Some(body) = self.model.bodies().find(|&i| tree.bodies[i].joint == *name)
            {
                found.extend(tree.dof_range(body));
            } else {
                let known: Vec<&str> = tree.dofs.iter().map(|dof| dof.name.as_str()).collect();
                return Err(refuse(
                    py,
                    &format!(
                        "model `{}` has no joint or freedom called `{name}`",
                        self.model.name()
                    ),
                    &format!("known are {}", listed(&known)),
                ));
            }
        }
        Ok(found)
    }
}

/// The place of an independent position of the tree, or of the next one after it, among the model's positions.
pub fn position_place(model: &Model, of_tree: usize) -> usize {
    match model.couplings() {
        None => of_tree,
        Some(couplings) => couplings.positions().partition_point(|&k| k < of_tree),
    }
}

/// The place of an independent freedom of the tree, or of the next one after it, among the model's freedoms.
fn freedom_place(model: &Model, of_tree: usize) -> usize {
    match model.couplings() {
        None => of_tree,
        Some(couplings) => couplings.freedoms().partition_point(|&k| k < of_tree),
    }
}

/// A list that is not too long to read.
fn listed(names: &[&str]) -> String {
    match names.len() {
        0..=24 => names.join(", "),
        n => format!("{} … ({n} in all)", names[..24].join(", ")),
    }
}

/// A lock is never held while anything can fail.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A model of links and joints, with the algorithms that work on NumPy arrays alone.
///
/// `catena.Model(name)` is an empty model, to which links and joints are added; `catena.load` and `catena.model` make complete ones.
/// A model is checked when it is first used.
#[pyclass(name = "Model", module = "catena._catena", subclass, frozen)]
pub struct PyModel {
    source: Mutex<Source>,
    built: RwLock<Option<Arc<Built>>>,
}

impl PyModel {
    /// The model, checked.
    pub fn built(&self, py: Python<'_>) -> PyResult<Arc<Built>> {
        if let Some(built) = &*self.built.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(built));
        }
        guarded(py, || {
            let made = || -> Result<Arc<Built>> {
                let model = match &*locked(&self.source) {
                    Source::Builder(builder) => builder.build()?,
                    Source::Document(document) => read(document)?.build().map_err(nowhere)?,
                };
                Ok(Arc::new(Built::new(model)))
            };
            let built = made().map_err(|error| raise(py, &error))?;
            let mut kept = self.built.write().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(Arc::clone(&built));
            Ok(built)
        })
    }

    /// The model as it is stored with runs: written once.
    pub fn document(&self, py: Python<'_>, built: &Built) -> PyResult<Arc<Value>> {
        if let Some(document) = built.document.get() {
            return Ok(Arc::clone(document));
        }
        let made = Arc::new(serde_json::from_str(&self.to_json(py)?).unwrap_or_default());
        Ok(Arc::clone(built.document.get_or_init(|| made)))
    }

    /// The links and joints.
    fn builder(&self) -> Result<ModelBuilder> {
        match &*locked(&self.source) {
            Source::Builder(builder) => Ok(builder.as_ref().clone()),
            Source::Document(document) => read(document),
        }
    }

    fn become_(&self, source: Source, built: Option<Arc<Built>>) {
        *locked(&self.source) = source;
        *self.built.write().unwrap_or_else(PoisonError::into_inner) = built;
    }

    /// A copy of the model with edited numbers.
    pub fn edited(
        &self,
        py: Python<'_>,
        edit: impl FnOnce(&mut ModelBuilder) -> PyResult<()>,
    ) -> PyResult<Self> {
        let mut builder = self.builder().map_err(|error| raise(py, &error))?;
        edit(&mut builder)?;
        let model = builder.build().map_err(|error| raise(py, &error))?;
        Ok(PyModel {
            source: Mutex::new(Source::Builder(Box::new(builder))),
            built: RwLock::new(Some(Arc::new(Built::new(model)))),
        })
    }
}

/// Reads a document built in Python, whose line numbers are meaningless.
fn read(document: &Value) -> Result<ModelBuilder> {
    catena_io::builder_from_json(&document.to_string(), "model", &ReadOptions::default())
        .map_err(nowhere)
}

fn nowhere(error: Error) -> Error {
    error.at(Place::default())
}

/// Reads a file; every error gives its location.
fn read_file(path: &Path, options: &ReadOptions) -> Result<(ModelBuilder, Model)> {
    let builder = catena_io::read_file(path, options)?;
    let model = catena_io::build(&builder, &path.display().to_string())?;
    Ok((builder, model))
}

/// How a root link is held.
fn base_option(py: Python<'_>, base: Option<&str>) -> PyResult<Option<BaseOption>> {
    match base {
        None => Ok(None),
        Some("fixed") => Ok(Some(BaseOption::Fixed)),
        Some("free") => Ok(Some(BaseOption::Free)),
        Some(other) => Err(refuse(
            py,
            &format!("base cannot be `{other}`"),
            "it is \"fixed\" or \"free\"",
        )),
    }
}

#[pymethods]
impl PyModel {
    #[new]
    #[pyo3(signature = (name = "model", *, gravity = None, base = None))]
    fn new(
        py: Python<'_>,
        name: &str,
        gravity: Option<&Bound<'_, PyAny>>,
        base: Option<&str>,
    ) -> PyResult<Self> {
        base_option(py, base)?;
        let mut document = json!({ "format": "catena/1", "name": name });
        if let Some(gravity) = gravity {
            document["gravity"] = from_python("gravity", gravity)?;
        }
        if let Some(base) = base {
            document["base"] = base.into();
        }
        Ok(PyModel {
            source: Mutex::new(Source::Document(document)),
            built: RwLock::new(None),
        })
    }

    /// Becomes the model of a file.
    #[pyo3(signature = (path, base, strict, ignore_unknown, ignore))]
    fn _read(
        &self,
        py: Python<'_>,
        path: &str,
        base: Option<&str>,
        strict: bool,
        ignore_unknown: bool,
        ignore: Vec<String>,
    ) -> PyResult<()> {
        let options = ReadOptions {
            base: base_option(py, base)?,
            strict,
            ignore_unknown,
            ignore,
        };
        guarded(py, || {
            let (builder, model) =
                read_file(Path::new(path), &options).map_err(|error| raise(py, &error))?;
            self.become_(
                Source::Builder(Box::new(builder)),
                Some(Arc::new(Built::new(model))),
            );
            Ok(())
        })
    }

    /// Becomes the model of a text in `toml`, `json`, `urdf`, `mjcf` or `sdf`.
    #[pyo3(signature = (text, format, base, strict, ignore_unknown, ignore))]
    fn _read_text(
        &self,
        py: Python<'_>,
        text: &str,
        format: &str,
        base: Option<&str>,
        strict: bool,
        ignore_unknown: bool,
        ignore: Vec<String>,
    ) -> PyResult<()> {
        let options = ReadOptions {
            base: base_option(py, base)?,
            strict,
            ignore_unknown,
            ignore,
        };
        guarded(py, || {
            let made = match format {
                "toml" => catena_io::builder_from_toml(text, "text.toml", &options),
                "json" => catena_io::builder_from_json(text, "text.json", &options),
                "urdf" => catena_io::builder_from_urdf(text, "text.urdf", &options),
                "mjcf" => catena_io::builder_from_mjcf(text, "text.xml", &options),
                "sdf" => catena_io::builder_from_sdf(text, "text.sdf", &options),
                other => {
                    return Err(refuse(
                        py,
                        &format!("format cannot be `{other}`"),
                        "it is \"toml\", \"json\", \"urdf\", \"mjcf\" or \"sdf\"",
                    ));
                }
            };
            let builder = made.map_err(|error| raise(py, &error))?;
            let model = builder.build().map_err(|error| raise(py, &error))?;
            self.become_(
                Source::Builder(Box::new(builder)),
                Some(Arc::new(Built::new(model))),
            );
            Ok(())
        })
    }

    /// Becomes an embedded model.
    fn _embed(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        guarded(py, || {
            let builder = embedded::builder(name).map_err(|error| raise(py, &error))?;
            let model = builder.build().map_err(|error| raise(py, &error))?;
            self.become_(
                Source::Builder(Box::new(builder)),
                Some(Arc::new(Built::new(model))),
            );
            Ok(())
        })
    }

    /// Adds an entry to a list of the document: a link, joint, frame or constraint.
    fn _add(&self, py: Python<'_>, list: &str, entry: &Bound<'_, PyDict>) -> PyResult<()> {
        let entry = from_python(list, entry.as_any())?;
        let mut source = locked(&self.source);
        if let Source::Builder(builder) = &*source {
            let text = catena_io::to_json(builder);
            let document = serde_json::from_str(&text).map_err(|error| {
                refuse(py, &format!("the model cannot be written: {error}"), "")
            })?;
            *source = Source::Document(document);
        }
        if let Source::Document(document) = &mut *source {
            if document[list].is_null() {
                document[list] = json!([]);
            }
            if let Some(entries) = document[list].as_array_mut() {
                entries.push(entry);
            }
        }
        drop(source);
        *self.built.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// The model in catena's own format as JSON; reading it back gives the same model to the last bit.
    pub fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, || {
            let builder = self.builder().map_err(|error| raise(py, &error))?;
            Ok(catena_io::to_json(&builder))
        })
    }

    /// The model as URDF, if URDF can express it.
    fn to_urdf(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, || {
            let builder = self.builder().map_err(|error| raise(py, &error))?;
            catena_io::to_urdf(&builder).map_err(|error| raise(py, &error))
        })
    }

    /// The model as MJCF, if MJCF can express it.
    fn to_mjcf(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, || {
            let builder = self.builder().map_err(|error| raise(py, &error))?;
            catena_io::to_mjcf(&builder).map_err(|error| raise(py, &error))
        })
    }

    /// The model as SDF, if SDF can express it.
    fn to_sdf(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, || {
            let builder = self.builder().map_err(|error| raise(py, &error))?;
            catena_io::to_sdf(&builder).map_err(|error| raise(py, &error))
        })
    }

    /// The model in catena's own format as TOML; reading it back gives the same model to the last bit.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, || {
            let builder = self.builder().map_err(|error| raise(py, &error))?;
            Ok(catena_io::to_toml(&builder))
        })
    }

    /// Checks the model now instead of at its first use, and returns it.
    fn build(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().built(slf.py())?;
        Ok(slf)
    }

    /// What a pickle keeps: text that gives the same model to the last bit, or the document of one that is not complete yet.
    fn _state(&self, py: Python<'_>) -> PyResult<String> {
        if let Source::Document(document) = &*locked(&self.source) {
            return Ok(document.to_string());
        }
        self.to_json(py)
    }

    /// From what a pickle has kept.
    fn _restore(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        let document = serde_json::from_str(text)
            .map_err(|error| refuse(py, &format!("this is not a pickled model: {error}"), ""))?;
        self.become_(Source::Document(document), None);
        Ok(())
    }

    /// Becomes a copy of another model with other masses, centres, inertias, gravity, springs …
    #[pyo3(signature = (other, mass, centre, inertia, gravity, joints))]
    fn _replace(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyModel>,
        mass: Vec<(String, f64)>,
        centre: Vec<(String, [f64; 3])>,
        inertia: Vec<(String, [f64; 6])>,
        gravity: Option<[f64; 3]>,
        joints: Vec<(String, String, f64)>,
    ) -> PyResult<()> {
        guarded(py, || {
            let made = other.get().edited(py, |builder| {
                if let Some(gravity) = gravity {
                    builder.gravity = Vec3::from_array(gravity);
                }
                for (name, mass) in &mass {
                    inertial(py, builder, name)?.mass = *mass;
                }
                for (name, centre) in &centre {
                    inertial(py, builder, name)?.centre = Vec3::from_array(*centre);
                }
                for (name, [xx, yy, zz, xy, xz, yz]) in inertia {
                    inertial(py, builder, &name)?.tensor =
                        catena::spatial::Sym3::new(xx, yy, zz, xy, xz, yz);
                }
                for (key, name, value) in &joints {
                    set_freedoms(py, builder, key, name, *value)?;
                }
                Ok(())
            })?;
            let built = made
                .built
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            let source = made
                .source
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            self.become_(source, built);
            Ok(())
        })
    }

    /// Becomes another model numbered from this link; q and v of the other one go out in the new coordinates.
    #[pyo3(signature = (other, link, q, v))]
    fn _reroot<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyModel>,
        link: &str,
        q: Option<&Bound<'py, PyAny>>,
        v: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<(Array<'py>, Array<'py>)>> {
        let built = other.get().built(py)?;
        guarded(py, || {
            let builder = other.get().builder().map_err(|error| raise(py, &error))?;
            let rerooted = Rerooted::new(&builder, link)
                .map_err(|error| crate::error::raise_as(py, "InputError", &error))?;
            let state = match q {
                None => None,
                Some(q) => Some(situation(py, &built, q, v, None, None)?.state),
            };
            let source = Source::Builder(Box::new(rerooted.builder().clone()));
            self.become_(source, Some(Arc::new(Built::new(rerooted.after().clone()))));
            let moved = state.map(|state| rerooted.state(&state));
            moved
                .map(|state| Ok((array(py, &state.q)?, array(py, &state.v)?)))
                .transpose()
        })
    }

    /// The name of the model.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.built(py)?.model.name().to_string())
    }

    /// Number of position coordinates.
    #[getter]
    fn nq(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.built(py)?.model.nq())
    }

    /// Number of velocity coordinates, the independent freedoms.
    #[getter]
    fn nv(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.built(py)?.model.nv())
    }

    /// Gravity in m/s², world axes.
    #[getter(gravity_vector)]
    fn gravity_vector(&self, py: Python<'_>) -> PyResult<[f64; 3]> {
        Ok(self.built(py)?.model.gravity().to_array())
    }

    /// Names of the frames: every link and every additional frame; the first is `world`.
    #[getter]
    fn frames(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let built = self.built(py)?;
        Ok(built
            .model
            .tree()
            .frames
            .iter()
            .map(|frame| frame.name.clone())
            .collect())
    }

    /// Names of the freedoms, in the order of velocities and efforts.
    #[getter]
    fn freedoms(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let built = self.built(py)?;
        let freedoms = built.model.freedoms();
        Ok(freedoms.iter().map(|dof| dof.name.clone()).collect())
    }

    /// Names of the moving bodies, parents before children.
    #[getter]
    fn bodies(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let built = self.built(py)?;
        let tree = built.model.tree();
        Ok(tree.bodies[1..]
            .iter()
            .map(|body| body.name.clone())
            .collect())
    }

    /// What was assumed, merged or ignored when the model was read.
    #[getter]
    fn assumptions(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.built(py)?.model.tree().assumptions.clone())
    }

    /// Warnings about the model.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let built = self.built(py)?;
        Ok(built
            .model
            .tree()
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect())
    }

    /// The couplings of joint coordinates that were eliminated: `finger2 = 0.5 + 2 finger1`.
    #[getter]
    fn couplings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let built = self.built(py)?;
        let followers = (built.model.couplings()).map_or(&[][..], |c| c.followers());
        let words = |follower| built.model.following(follower);
        Ok(followers.iter().map(words).collect())
    }

    /// Names of the constraints in addition to the joints: loops, drivers, and couplings that are not eliminated.
    #[getter]
    fn constraints(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let built = self.built(py)?;
        Ok(built
            .model
            .constraints()
            .iter()
            .map(|c| c.name.to_string())
            .collect())
    }

    /// Total mass of the moving bodies, kg.
    #[getter]
    fn mass(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.built(py)?.model.mass())
    }

    /// Every joint that moves: a list of dictionaries.
    fn _joints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let built = self.built(py)?;
        let (model, tree) = (&built.model, built.model.tree());
        let list = PyList::empty(py);
        for i in model.bodies() {
            let body = &tree.bodies[i];
            let limits: Vec<Value> = tree
                .dof_range(i)
                .map(|k| json!(tree.dofs[k].limits))
                .collect();
            let speeds: Vec<Value> = tree
                .dof_range(i)
                .map(|k| json!(tree.dofs[k].max_velocity))
                .collect();
            let efforts: Vec<Value> = tree
                .dof_range(i)
                .map(|k| json!(tree.dofs[k].max_effort))
                .collect();
            let inertia = model.inertial(i);
            let (q, v) = (tree.q_range(i), tree.dof_range(i));
            let entry = json!({
                "name": body.joint,
                "kind": body.kind.name(),
                "parent": tree.bodies[body.parent].name,
                "child": body.name,
                "merged": body.merged,
                "q": [position_place(model, q.start), position_place(model, q.end)],
                "v": [freedom_place(model, v.start), freedom_place(model, v.end)],
                "limits": limits,
                "max_velocity": speeds,
                "max_effort": efforts,
                "mass": inertia.mass,
            });
            list.append(to_python(py, &entry)?)?;
        }
        Ok(list)
    }
}

/// The mass properties of a link, to be changed.
fn inertial<'a>(
    py: Python<'_>,
    builder: &'a mut ModelBuilder,
    name: &str,
) -> PyResult<&'a mut catena::model::Inertial> {
    let known: Vec<String> = builder.links.iter().map(|link| link.name.clone()).collect();
    match builder.links.iter_mut().find(|link| link.name == name) {
        Some(link) => Ok(link.inertial.get_or_insert_default()),
        None => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Err(refuse(
                py,
                &format!("model `{}` has no link called `{name}`", builder.name),
                &format!("known are {}", listed(&known)),
            ))
        }
    }
}

/// Sets a number of all freedoms of a joint.
fn set_freedoms(
    py: Python<'_>,
    builder: &mut ModelBuilder,
    key: &str,
    name: &str,
    value: f64,
) -> PyResult<()> {
    let known: Vec<String> = builder
        .joints
        .iter()
        .map(|joint| joint.name.clone())
        .collect();
    let Some(joint) = builder.joints.iter_mut().find(|joint| joint.name == name) else {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return Err(refuse(
            py,
            &format!("model `{}` has no joint called `{name}`", builder.name),
            &format!("known are {}", listed(&known)),
        ));
    };
    joint.dofs.resize_with(joint.kind.nv(), Default::default);
    for dof in &mut joint.dofs {
        match key {
            "armature" => dof.armature = value,
            "damping" => dof.damping = value,
            "friction" => dof.friction = value,
            "stiffness" => dof.stiffness = value,
            _ => dof.rest = value,
        }
    }
    Ok(())
}
