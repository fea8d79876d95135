"""The results of many simulations of one structure."""

from __future__ import annotations

import html as _html
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._run import html_table


class Ensemble:
    """The results of `Model.ensemble`: final states, states over time, cost.

    `q` (N, nq) and `v` (N, nv) are the final states; `trajectory_q` (N, T, nq), `trajectory_v` (N, T, nv) those at the times `t` (T,).
    `work` and `dissipated` (N,) are in J, `energy_error` (N,) is the error of the energy balance, in J. `steps`, `rejected` and
    `evaluations` (N,) count the steps taken, the steps rejected and the evaluations of the dynamics. `events` has a list of (name, time) for
    each member. `failures` maps the indices of failed members to the reasons; their results are NaN.
    `one_by_one` says why the members did not run in SIMD lanes; None if they did.
    """

    def __init__(self, record: Dict[str, Any]) -> None:
        self.t: np.ndarray = record["t"]
        self.trajectory_q: np.ndarray = record["q"]
        self.trajectory_v: np.ndarray = record["v"]
        self.q: np.ndarray = record["q"][:, -1]
        self.v: np.ndarray = record["v"][:, -1]
        self.work: np.ndarray = record["works"][:, -1, 0]
        self.dissipated: np.ndarray = record["works"][:, -1, 1]
        self.energy_error: np.ndarray = record["energy_errors"]
        self.steps, self.rejected, self.evaluations = record["costs"].T.astype(int)
        self.events: List[List[Tuple[str, float]]] = record["events"]
        self.failures: Dict[int, str] = record["failures"]
        self.one_by_one: Optional[str] = record["one_by_one"]

    def __len__(self) -> int:
        return len(self.q)

    def _repr_html_(self) -> str:
        def range_of(x: np.ndarray) -> Tuple[str, str]:
            good = x[np.isfinite(x)]
            return (f"{good.min():.3g}", f"{good.max():.3g}") if good.size else ("–", "–")

        names = ("work", "dissipated", "energy_error", "steps", "rejected")
        rows = [(name, *range_of(np.asarray(getattr(self, name), dtype=float))) for name in names]
        return f"<p>{_html.escape(repr(self)[1:-1])}</p>" + html_table(("", "least", "most"), rows)

    def __repr__(self) -> str:
        how = "in lanes" if self.one_by_one is None else f"one by one, since {self.one_by_one}"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<Ensemble of {len(self)} runs of {self.t[-1]:g} s {how}{failed}>"
