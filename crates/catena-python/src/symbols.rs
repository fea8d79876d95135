//! Equations to read, generated code, operation counts, pictures.

use crate::array::Numbers;
use crate::call::Call;
use crate::error::{raise, refuse};
use crate::model::PyModel;
use catena::{Model, State};
use catena_plot::{Layout, View, strip};
use catena_symbolic::derive::{Derivation, Keep, Notation, Style, Symbols};
use catena_symbolic::generate::{CodeOptions, Language, Module, Question};
use pyo3::prelude::*;

/// Maximum number of degrees of freedom for which the closed form is the default.
const SMALL: usize = 3;

/// The kinds of numbers that stay symbols.
fn kept(py: Python<'_>, names: &[String], code: bool) -> PyResult<Keep> {
    let mut keep = Keep::default();
    for name in names {
        match name.as_str() {
            "masses" => keep.masses = true,
            "lengths" => keep.lengths = true,
            "inertias" => keep.inertias = true,
            "gravity" => keep.gravity = true,
            "rotors" => keep.rotors = true,
            "passive" => keep.passive = true,
            "rotations" if code => keep.rotations = true,
            "all" if code => keep = Keep::EVERYTHING,
            "all" => keep = Keep::ALL,
            other => {
                let more = if code { ", rotations" } else { "" };
                return Err(refuse(
                    py,
                    &format!("there are no symbols called `{other}`"),
                    &format!(
                        "known are masses, lengths, inertias, gravity, rotors, passive, all{more}"
                    ),
                ));
            }
        }
    }
    Ok(keep)
}

/// The kinds of numbers that stay symbols, and single ones, whose names have a dot.
fn symbols(py: Python<'_>, model: &Model, names: Vec<String>) -> PyResult<Symbols> {
    let (single, kinds): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| name.contains('.'));
    let mut symbols = Symbols::from(kept(py, &kinds, false)?);
    let known = Symbols::known(model);
    for name in single {
        let Some((_, own)) = known.iter().find(|(known, _)| *known == name) else {
            let all: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let message = match Symbols::zero(model).contains(&name) {
                true => format!("`{name}` is zero and has no symbol"),
                false => format!("there is no number called `{name}`"),
            };
            let hint = format!("numbers that may be symbols: {}", all.join(", "));
            return Err(refuse(py, &message, &hint));
        };
        symbols.single.extend(own.iter().cloned());
    }
    Ok(symbols)
}

/// The item of this name.
fn chosen<T: Copy>(
    py: Python<'_>,
    what: &str,
    name: &str,
    all: &[(&'static str, T)],
) -> PyResult<T> {
    match all.iter().find(|(known, _)| *known == name) {
        Some((_, found)) => Ok(*found),
        None => {
            let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            Err(refuse(
                py,
                &format!("there is no {what} `{name}`"),
                &format!("known are {}", known.join(", ")),
            ))
        }
    }
}

#[pymethods]
impl PyModel {
    /// The equations of motion as text.
    #[pyo3(signature = (format, symbols, style, notation, elimination))]
    fn _derive(
        &self,
        py: Python<'_>,
        format: &str,
        symbols: Vec<String>,
        style: Option<&str>,
        notation: &str,
        elimination: bool,
    ) -> PyResult<String> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let names = [("catena", Notation::Catena), ("paper", Notation::Paper)];
            let notation = chosen(py, "notation", notation, &names)?;
            let style = match style {
                Some("closed") if notation == Notation::Paper => {
                    return Err(refuse(
                        py,
                        "the papers' notation is for recursions: the closed form has no steps",
                        "leave `style` out, or choose \"recursive\"",
                    ));
                }
                Some("closed") => Style::Closed,
                None if built.model.nv() <= SMALL && notation == Notation::Catena => Style::Closed,
                None | Some("recursive") => Style::Recursive(notation),
                Some(other) => {
                    return Err(refuse(
                        py,
                        &format!("there is no style `{other}`"),
                        "it is \"closed\" or \"recursive\"",
                    ));
                }
            };
            let write: fn(&Derivation) -> String = match format {
                "markdown" => |d| d.document().markdown(),
                "latex" => |d| d.document().latex(),
                "html" => |d| d.document().html(),
                "sympy" => |d| d.sympy(),
                other => {
                    return Err(refuse(
                        py,
                        &format!("there is no format `{other}`"),
                        "known are markdown, latex, html, sympy",
                    ));
                }
            };
            let symbols = self::symbols(py, &built.model, symbols)?;
            let derived = || Derivation::new(&built.model, symbols, style, elimination);
            py.detach(|| derived().map(|d| write(&d)))
                .map_err(|error| raise(py, &error))
        })
    }

    /// Source code: names and texts of the files.
    #[pyo3(signature = (language, functions, name, frame, parameters, snap, casadi))]
    fn _generate(
        &self,
        py: Python<'_>,
        language: &str,
        functions: Vec<String>,
        name: &str,
        frame: &str,
        parameters: Vec<String>,
        snap: f64,
        casadi: bool,
    ) -> PyResult<Vec<(String, String)>> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let language = chosen(py, "language", language, &Language::ALL)?;
            let questions: PyResult<Vec<Question>> = functions
                .iter()
                .map(|f| chosen(py, "function", f, &Question::ALL))
                .collect();
            let mut questions = questions?;
            if casadi {
                if language != Language::C {
                    return Err(refuse(py, "CasADi loads C", "leave `language` out"));
                }
                questions = Question::with_derivatives(&questions);
            }
            let options = CodeOptions {
                name: name.into(),
                dust: snap,
                frame: frame.into(),
                parameters: kept(py, &parameters, true)?,
            };
            let make = || {
                let module = Module::new(&built.model, &questions, &options)?;
                let mut files = module.source(language)?;
                if casadi {
                    files.push(module.casadi()?);
                }
                Ok(files)
            };
            let files = py
                .detach(make)
                .map_err(|error: catena::Error| raise(py, &error))?;
            Ok(files
                .into_iter()
                .map(|file| (file.name, file.text))
                .collect())
        })
    }

    /// Operations of the simplified programs: name, multiplications, additions.
    fn _count(&self, py: Python<'_>, functions: Vec<String>) -> PyResult<Vec<(String, u64, u64)>> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let questions: PyResult<Vec<Question>> = functions
                .iter()
                .map(|f| chosen(py, "function", f, &Question::ALL))
                .collect();
            let questions = questions?;
            let module = py
                .detach(|| Module::new(&built.model, &questions, &CodeOptions::default()))
                .map_err(|error| raise(py, &error))?;
            Ok(module
                .functions
                .iter()
                .map(|f| {
                    let operations = f.operations();
                    let name = f.question.name().to_string();
                    (name, operations.multiplications, operations.additions)
                })
                .collect())
        })
    }

    /// Stick figures of these positions as SVG.
    #[pyo3(signature = (q, labels, side_by_side))]
    fn _figure<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        labels: Vec<String>,
        side_by_side: bool,
    ) -> PyResult<String> {
        let built = self.built(py)?;
        built.guarded(py, || {
            let (nq, nv) = (built.model.nq(), built.model.nv());
            let q = Numbers::new(py, "q", q, nq)?;
            let call = Call::new(py, &built, vec![&q])?;
            let numbers = q.all(call.states.unwrap_or(1));
            let make = || -> catena::Result<String> {
                let zeros = vec![0.0; nv];
                let states: catena::Result<Vec<State>> = numbers
                    .chunks_exact(nq.max(1))
                    .map(|q| State::new(&built.model, q, &zeros))
                    .collect();
                let states: Vec<State> = (states?.iter())
                    .map(|state| state.of_tree(&built.model))
                    .collect();
                let whole = built.whole();
                let mut view = View::of(&whole.model, &states)?;
                if !side_by_side {
                    view.layout = Layout::Superposed;
                }
                strip(&whole.model, &states, &labels, &view)
            };
            make().map_err(|error| call.explained(&error, 0))
        })
    }
}
