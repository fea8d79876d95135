//! Functions of Python as formulas: called once with symbols, then run as machine code.

use crate::array::{Array, Numbers, results, writable};
use crate::error::{guarded, raise, refuse};
use catena::Scalar;
use catena_symbolic::{Expr, Function, Trace, scope};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A symbolic number while a function is traced. `catena._trace` gives it operators.
#[pyclass(module = "catena._catena", frozen)]
pub struct Term {
    expr: Expr,
    trace: Arc<Mutex<Trace>>,
}

impl Term {
    /// Another term of this trace.
    fn with(&self, expr: Expr) -> Term {
        Term {
            expr,
            trace: Arc::clone(&self.trace),
        }
    }

    /// The expressions of some terms, as long as their trace lasts.
    fn usable<const N: usize>(py: Python<'_>, terms: [&Term; N]) -> PyResult<[Expr; N]> {
        match terms.iter().all(|term| term.expr.is_usable()) {
            true => Ok(terms.map(|term| term.expr)),
            false => Err(refuse(
                py,
                "a symbolic number of a traced function was used after tracing ended",
                "the function must not store its arguments: pass such a function itself to `simulate`, which then calls it",
            )),
        }
    }
}

#[pymethods]
impl Term {
    fn number(&self, py: Python<'_>, x: f64) -> PyResult<Term> {
        Term::usable(py, [self])?;
        Ok(self.with(Expr::constant(x)))
    }

    fn plus(&self, py: Python<'_>, other: &Term) -> PyResult<Term> {
        let [x, y] = Term::usable(py, [self, other])?;
        Ok(self.with(x + y))
    }

    fn minus(&self, py: Python<'_>, other: &Term) -> PyResult<Term> {
        let [x, y] = Term::usable(py, [self, other])?;
        Ok(self.with(x - y))
    }

    fn times(&self, py: Python<'_>, other: &Term) -> PyResult<Term> {
        let [x, y] = Term::usable(py, [self, other])?;
        Ok(self.with(x * y))
    }

    fn over(&self, py: Python<'_>, other: &Term) -> PyResult<Term> {
        let [x, y] = Term::usable(py, [self, other])?;
        Ok(self.with(x / y))
    }

    fn root(&self, py: Python<'_>) -> PyResult<Term> {
        let [x] = Term::usable(py, [self])?;
        Ok(self.with(x.sqrt()))
    }

    /// `yes` where this is less than `other`, else `no`.
    fn choose(&self, py: Python<'_>, other: &Term, yes: &Term, no: &Term) -> PyResult<Term> {
        let [left, right, yes, no] = Term::usable(py, [self, other, yes, no])?;
        Ok(self.with(Expr::select(left.less(right), yes, no)))
    }

    /// A function of one number or two, by its name in NumPy.
    #[pyo3(signature = (name, other = None))]
    fn call(&self, py: Python<'_>, name: &str, other: Option<&Term>) -> PyResult<Term> {
        let [x, y] = Term::usable(py, [self, other.unwrap_or(self)])?;
        let mut trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        match trace.call(name, x, other.map(|_| y)) {
            Some(expr) => Ok(self.with(expr)),
            None => Err(refuse(
                py,
                &format!("a traced function cannot use `{name}`"),
                "docs/python.md lists what it can use; or pass the function itself to `simulate`, which then calls it",
            )),
        }
    }
}

/// The machine code of a traced function.
#[pyclass(module = "catena._catena", frozen)]
pub struct TracedCode {
    pub function: Function,
    /// Its results as formulas.
    #[pyo3(get)]
    formulas: Vec<String>,
}

#[pymethods]
impl TracedCode {
    /// The results at an instant.
    fn at<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Array<'py>> {
        let [nq, nv, count] = self.function.sizes();
        let (q, v) = (Numbers::new(py, "q", q, nq)?, Numbers::new(py, "v", v, nv)?);
        if q.rows.is_some() || v.rows.is_some() {
            return Err(refuse(
                py,
                "a control is called at one state, not many",
                "loop over the rows",
            ));
        }
        let found = results(py, &[count], None, &[])?;
        let mut function = self.function.clone();
        function.evaluate(t, q.slice(), v.slice(), writable(&found));
        Ok(found)
    }
}

/// Calls a function of Python with symbols t, q and v; it gives a list of terms.
#[pyfunction]
pub fn trace(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    nq: usize,
    nv: usize,
) -> PyResult<TracedCode> {
    guarded(py, || {
        scope(|| {
            let begun = Trace::new(nq, nv);
            let (t, q, v) = begun.inputs();
            let trace = Arc::new(Mutex::new(begun));
            let term = |expr: Expr| Term {
                expr,
                trace: Arc::clone(&trace),
            };
            let list = |all: Vec<Expr>| all.into_iter().map(term).collect::<Vec<Term>>();
            let given = function.call1((term(t), list(q), list(v)))?;
            let given: Vec<PyRef<'_, Term>> = given.extract()?;
            let mut formulas = Vec::new();
            for term in &given {
                let [expr] = Term::usable(py, [term])?;
                formulas.push(expr);
            }
            let trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
            let function = trace
                .function(&formulas)
                .map_err(|error| raise(py, &error))?;
            Ok(TracedCode {
                function,
                formulas: formulas.iter().map(|&expr| trace.text(expr)).collect(),
            })
        })
    })
}
