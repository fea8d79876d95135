"""The results of a simulation: samples, events, the audit, files and plots."""

from __future__ import annotations

import html as _html
import os
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _catena
from ._convert import whole
from ._view import Viewer, port_number, program
from .errors import InputError


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for notebooks."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{_html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


class Finding(NamedTuple):
    """A law of mechanics: the largest relative error over the run, the error allowed, and when it was largest; `kept` is None where the law could not be checked."""

    law: str
    worst: Optional[float]
    allowed: float
    time: Optional[float]
    scale: float
    unit: str
    kept: Optional[bool]


class Audit:
    """The audit of a run: the laws, steps taken, work done.

    `kept` says whether every law was kept; `findings` lists the laws; `steps`, `rejected` and `evaluations` are the cost; `work` and
    `dissipated` are in J; `forces` has the energy of every force element at the start and at the end.
    `held` lists the joints that dry friction held, `stops` those that reached a stop: `impacts`, the energy lost in them (`lost`), `rests` and how long.
    """

    def __init__(self, record: Dict[str, Any]) -> None:
        self.findings: List[Finding] = [
            Finding(f["law"], f["worst"], f["allowed"], f["time"], f["scale"], f["unit"], f["kept"]) for f in record["laws"]
        ]
        self.steps: int = record["steps"]
        self.rejected: int = record["rejected"]
        self.evaluations: int = record["evaluations"]
        self.work: float = record["work"]
        self.dissipated: float = record["dissipated"]
        self.held: List[Dict[str, Any]] = record["held"]
        self.stops: List[Dict[str, Any]] = record["stops"]
        self.forces: List[Dict[str, Any]] = record.get("forces", [])

    @property
    def kept(self) -> bool:
        """True if every law was kept; False where no law was checked, as in a run that was cut off."""
        return bool(self.findings) and all(finding.kept is not False for finding in self.findings)

    def __getitem__(self, law: str) -> Finding:
        for finding in self.findings:
            if finding.law == law:
                return finding
        raise KeyError(f"there is no law `{law}`; known are {', '.join(finding.law for finding in self.findings)}")

    def _rows(self) -> List[Tuple[str, str, str, str]]:
        words = {True: "ok", False: "BROKEN", None: ""}
        return [
            (f.law, "–" if f.worst is None else f"{f.worst:.1e}", f"{f.allowed:.0e}", words[f.kept]) for f in self.findings
        ]

    def __repr__(self) -> str:
        lines = [f"{self.steps} steps, {self.rejected} rejected, {self.evaluations} evaluations of the dynamics"]
        lines += [f"  {law:40} {worst:>8} of {allowed:>5}  {kept}" for law, worst, allowed, kept in self._rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        table = html_table(("law", "worst, relative", "allowed", ""), self._rows())
        return f"{table}<p>{self.steps} steps, {self.rejected} rejected</p>"


class Run:
    """A run: t (S,), q (S, nq), v, a, tau, friction and stops (S, nv), energies (S, 3: kinetic, gravitational, elastic), work and
    dissipated (S,); `events` is a list of (name, time); `audit` says whether the laws of mechanics were kept. Runs can be pickled, and
    `catena.read_run` reads one from a file."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    friction: np.ndarray
    stops: np.ndarray
    energies: np.ndarray
    work: np.ndarray
    dissipated: np.ndarray

    def __init__(self, model: Any, data: Any) -> None:
        self.model = model
        self._data = data
        arrays = data.arrays()
        works = arrays.pop("works")
        self.__dict__.update(arrays)
        self.work, self.dissipated = works[:, 0], works[:, 1]
        record = data.audit
        self.events: List[Tuple[str, float]] = [(event["event"], event["time"]) for event in record["events"]]
        self.audit = Audit(record)
        self.finished: bool = data.finished
        self.compiled: bool = data.compiled

    def __reduce__(self) -> Any:
        with tempfile.TemporaryDirectory(prefix="catena-") as folder:
            name = os.path.join(folder, "run.parquet")
            self.save(name)
            with open(name, "rb") as file:
                return _unpickled, (type(self), self.model, file.read())

    def __len__(self) -> int:
        return len(self.t)

    @property
    def energy(self) -> np.ndarray:
        """The sum of the energies, (S,)."""
        return self.energies.sum(axis=1)

    def save(self, path: "str | os.PathLike[str]", *, overwrite: bool = False) -> None:
        """Writes the run as `.csv`, `.parquet` or `.mcap`, as `catena simulate` does; `catena plot` draws it."""
        self._data.save(os.fspath(path), overwrite)

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Writes the run as one self-contained HTML page: animation, curves, audit, model (`catena report`)."""
        with tempfile.TemporaryDirectory(prefix="catena-") as folder:
            file = os.path.join(folder, "run.parquet")
            self.save(file)
            program("report", file, "-o", os.fspath(path))

    def view(self, *others: "Run", browser: bool = True, port: int = 0) -> Viewer:
        """Shows the run in a browser, overlaid on `others` if there are any: motion, curves, audit. `port` 0 chooses a free port.

        The page is served to this computer only, until `close()` of the returned viewer or the end of Python.
        """
        foreign = next((other for other in others if not isinstance(other, Run)), None)
        if foreign is not None:
            raise InputError(f"a run can be overlaid on runs, not on {foreign!r}")
        port = port_number(port)
        folder = tempfile.mkdtemp(prefix="catena-")
        files = []
        for k, run in enumerate((self, *others)):
            files.append(os.path.join(folder, f"run{k + 1}.parquet"))
            run.save(files[-1])
        return Viewer([*files, "--port", str(port)], folder, browser)

    @property
    def metadata(self) -> Dict[str, Any]:
        """The settings of the run, as `save` stores them."""
        return self._data.metadata

    def to_dict(self) -> Dict[str, np.ndarray]:
        """Every column of the run file by name, (S,) each."""
        table = self._data.table()
        return {name: table[:, k] for k, (name, _) in enumerate(self._data.columns())}

    @property
    def units(self) -> Dict[str, str]:
        """Units of the columns."""
        return dict(self._data.columns())

    def to_polars(self) -> Any:
        """The run as a Polars data frame; Polars must be installed (`pip install polars`)."""
        try:
            import polars
        except ImportError:
            raise InputError("polars is not installed", hint="pip install polars, or use `run.to_dict()`") from None
        return polars.DataFrame(self.to_dict())

    def to_pandas(self) -> Any:
        """The run as a pandas data frame; pandas must be installed."""
        try:
            import pandas
        except ImportError:
            raise InputError("pandas is not installed", hint="pip install pandas, or use `run.to_dict()`") from None
        return pandas.DataFrame(self.to_dict())

    def svg(self, path: "str | os.PathLike[str] | None" = None, *, width: int = 1100, height: int = 760) -> str:
        """Positions, velocities, efforts and energies over time as SVG, written to `path` if one is given."""
        text = self._data.svg(whole("width", width, 200), whole("height", height, 200))
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def plot(self) -> Any:
        """Plots positions, velocities, efforts and energies with matplotlib, which must be installed, and returns the figure.

        `svg` needs no other package."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise InputError("matplotlib is not installed", hint="pip install matplotlib, or use `run.svg()`") from None
        figure, axes = pyplot.subplots(2, 2, sharex=True, figsize=(11, 7), layout="constrained")
        parts = (
            ("positions", self.q, self._data.positions),
            ("velocities", self.v, self._data.freedoms),
            ("efforts", self.tau, self._data.freedoms),
            ("energies, J", self.energies, ["kinetic", "gravitational", "elastic"]),
        )
        for axis, (title, numbers, names) in zip(axes.flat, parts):
            axis.plot(self.t, numbers, label=names)
            axis.set_title(title)
            if len(names) <= 12:
                axis.legend(fontsize="small")
        for axis in axes[1]:
            axis.set_xlabel("time, s")
        return figure

    def strip(self, count: int = 8) -> str:
        """Stick figures at equally spaced times as SVG."""
        rows = np.unique(np.linspace(0, len(self) - 1, whole("count", count, 1)).round().astype(int))
        # a run has all coordinates of the tree
        model = self.model.open_tree() if self.model.couplings else self.model
        return model.figure(self.q[rows], labels=[f"{t:.3g} s" for t in self.t[rows]])

    def __repr__(self) -> str:
        end = f"{self.t[-1]:.6g} s" if len(self) else "nothing"
        state = "" if self.finished else ", not finished"
        return f"<catena.Run of {self.model.name}: {len(self)} samples up to {end}{state}>\n{self.audit!r}"

    def _repr_html_(self) -> str:
        return self.audit._repr_html_() + self.svg(width=900, height=600)


def _unpickled(kind: type, model: Any, content: bytes) -> Run:
    with tempfile.TemporaryDirectory(prefix="catena-") as folder:
        name = os.path.join(folder, "run.parquet")
        with open(name, "wb") as file:
            file.write(content)
        return kind(model, _catena.read_run(name))
