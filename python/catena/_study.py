"""Studies: one model, many runs."""

from __future__ import annotations

import hashlib
import inspect
import os
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _catena
from .errors import InputError

Array = np.ndarray


class Results(NamedTuple):
    """Samples: their indices (N,), values of the parameters and measures by name, (N,) each (measures are NaN where a sample failed), reasons of failures."""

    sample: Array
    values: Dict[str, Array]
    measures: Dict[str, Array]
    failures: List[Optional[str]]


class Optimum(NamedTuple):
    """The best point of a search: values of the parameters, measures, whether the constraints are satisfied; `history` has every point tried,
    in the order of `catena optimize --json`."""

    values: Dict[str, float]
    measures: Dict[str, float]
    satisfies: bool
    end: str
    history: List[Dict[str, Any]]


class Sample(NamedTuple):
    """A sample of a study, the argument of measures in Python: the values of the parameters, and the columns of its run, by name; `columns["time"]` are the times."""

    values: Dict[str, float]
    columns: Dict[str, Array]


class _Measure:
    """A function of a sample, as the engine calls it."""

    def __init__(self, function: Callable[[Sample], float], parameters: List[str]) -> None:
        self._function, self._parameters = function, parameters

    def __call__(self, values: List[float], columns: List[str], rows: bytes) -> float:
        table = np.frombuffer(rows).reshape(-1, len(columns))
        named = {name: table[:, k] for k, name in enumerate(columns)}
        return float(self._function(Sample(dict(zip(self._parameters, values)), named)))


def _source(function: Callable[[Sample], float]) -> str:
    """What identifies a function: its source text, or its code where there is no text."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        if code is None:
            return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        return hashlib.sha256(repr((code.co_code, code.co_consts, code.co_names)).encode()).hexdigest()


class Study:
    """A study file: what varies, what runs, what is measured (docs/studies.md).

    A sample is a function of its index alone, so that any process can compute any sample: `study.run(range(0, 100))`.

    `measures` adds functions of a `Sample` to the measures of the file; `record` names columns that they need in addition to those of every run.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        measures: Optional[Mapping[str, Callable[[Sample], float]]] = None,
        record: Iterable[str] = (),
    ) -> None:
        self._path, self._functions, self._record = os.fspath(path), dict(measures or {}), list(record)
        if not all(callable(function) for function in self._functions.values()):
            raise InputError("a measure is not a function", hint="give functions of a sample, by name")
        self._data = _catena.StudyData(self._path, [], [])
        if self._functions or self._record:
            self._data = _catena.StudyData(self._path, self._measures(), self._record)

    def _measures(self) -> List[Tuple[str, str, _Measure]]:
        parameters = [name for name, _ in self._data.parameters]
        return [(name, _source(own), _Measure(own, parameters)) for name, own in self._functions.items()]

    def __reduce__(self) -> Any:
        return (Study, (self._path, self._functions, self._record))

    def __repr__(self) -> str:
        return f"<Study {self.name}: {len(self)} samples of {', '.join(self.parameters)}>"

    def __len__(self) -> int:
        """The number of samples."""
        return self._data.count

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._data.name

    @property
    def parameters(self) -> Dict[str, str]:
        """The units of the parameters, by name."""
        return dict(self._data.parameters)

    @property
    def measures(self) -> Dict[str, str]:
        """The units of the measures, by name."""
        return dict(self._data.measures)

    def values(self, samples: Optional[Iterable[int]] = None) -> Dict[str, Array]:
        """The values of the parameters, by name: of all samples unless indices are given."""
        return self._named(self._data.values(self._indices(samples)))

    def run(self, samples: Optional[Iterable[int]] = None, threads: int = 0) -> Results:
        """Computes samples: all of them unless indices are given. With `threads=0` there are as many threads as processors."""
        return self._results(self._data.run(self._indices(samples), _threads(threads)))

    def sweep(
        self,
        output: Union[str, "os.PathLike[str]"],
        *,
        resume: bool = False,
        overwrite: bool = False,
        threads: int = 0,
        engine: str = "threads",
        address: Optional[str] = None,
    ) -> Results:
        """Computes all samples and writes them to a file, .parquet or .csv, as `catena sweep` does.

        `engine="ray"` computes them on a Ray cluster: the one this process has joined (`ray.init`), else the one at
        `address`, else one that Ray finds or starts. The file is the same.
        """
        if resume and overwrite:
            raise InputError("resume and overwrite exclude each other", hint="choose one of them")
        mode = "resume" if resume else "overwrite" if overwrite else "new"
        if engine == "ray":
            if threads:
                raise InputError("threads cannot be combined with engine \"ray\"", hint="a cluster uses all its processors")
            return self._on_cluster(os.fspath(output), mode, address)
        if engine != "threads":
            raise InputError(f"there is no engine {engine!r}", hint='use "threads" or "ray"')
        if address is not None:
            raise InputError("address needs engine \"ray\"", hint='give engine="ray" too')
        return self._results(self._data.sweep(os.fspath(output), mode, _threads(threads)))

    def _on_cluster(self, output: str, mode: str, address: Optional[str]) -> Results:
        from ._ray import Cluster

        with Cluster(address) as cluster:
            shipment = self._data.pack()
            ledger = self._data.begin(output, mode)
            cluster.carry_out(shipment, ledger.missing, ledger.take, self._measures(), self._record)
        return self._results(ledger.finish())

    def _indices(self, samples: Optional[Iterable[int]]) -> List[int]:
        indices = [int(k) for k in (range(len(self)) if samples is None else samples)]
        if any(k < 0 for k in indices):
            raise InputError("samples are counted from 0", hint=f"the study has samples 0 to {len(self) - 1}")
        return indices

    def _named(self, rows: List[List[float]]) -> Dict[str, Array]:
        """Values by the names of the parameters; text where the values are text."""
        values = np.array(rows).reshape(-1, len(self.parameters))
        columns = {}
        for k, (name, words) in enumerate(zip(self.parameters, self._data.words)):
            columns[name] = np.array(words)[values[:, k].astype(int)] if words else values[:, k]
        return columns

    def _results(self, rows: List[Any]) -> Results:
        missing = [np.nan] * len(self.measures)
        measures = np.array([missing if row[2] is None else row[2] for row in rows]).reshape(-1, len(self.measures))
        return Results(
            np.array([row[0] for row in rows], dtype=int),
            self._named([row[1] for row in rows]),
            {name: measures[:, k] for k, name in enumerate(self.measures)},
            [row[3] for row in rows],
        )


def _threads(threads: int) -> int:
    if not 0 <= threads <= 1024:
        raise InputError(f"threads must be from 0 to 1024, not {threads}", hint="0 uses all processors")
    return threads


def sweep(
    study: Union[str, "os.PathLike[str]"],
    output: Union[str, "os.PathLike[str]"],
    *,
    resume: bool = False,
    overwrite: bool = False,
    threads: int = 0,
    engine: str = "threads",
    address: Optional[str] = None,
) -> Results:
    """Computes all samples of a study file and writes the results, .parquet or .csv; on a cluster with `engine="ray"`."""
    return Study(study).sweep(
        output, resume=resume, overwrite=overwrite, threads=threads, engine=engine, address=address
    )


def optimize(study: Union[str, "os.PathLike[str]"]) -> Optimum:
    """Finds the parameter values that optimize a measure of a study file with [optimize], as `catena optimize` does.

    If no point satisfies the constraints, `satisfies` is False and the result is the point that violates them least.
    """
    found = _catena.optimize(os.fspath(study))
    best = found["history"][found["best"]]
    return Optimum(best["parameters"], best.get("measures", {}), bool(best.get("satisfies", False)), found["end"], found["history"])
