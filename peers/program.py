"""The `catena` program, called from Python."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path


class Refused(Exception):
    """The program ended with an error; the text is its message."""


@dataclass(frozen=True)
class Joint:
    """A moving joint: name, kind, and where its coordinates start."""

    name: str
    kind: str
    q: int
    v: int


class Program:
    """Runs `catena`: the program named by the environment variable CATENA, or the release build of this repository."""

    def __init__(self):
        root = Path(__file__).resolve().parent.parent
        target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
        self.path = Path(os.environ.get("CATENA", target / "release" / "catena"))
        if not self.path.is_file():
            raise Refused(f"error: there is no program {self.path}\nhint: use peers/run.sh, which builds it")

    def version(self):
        return self._run("--version").strip()

    def info(self, model, *flags):
        """What the program says about a model."""
        return json.loads(self._run("info", model, "--json", *flags))

    def joints(self, model, *flags):
        """The moving joints of a model."""
        answer = self.info(model, *flags)
        return [Joint(body["joint"], body["kind"], body["first_q"], body["first_v"]) for body in answer["bodies"]]

    def evaluate(self, model, states, *flags):
        """Every quantity at every state."""
        return self._at_states("evaluate", model, states, *flags)

    def derivatives(self, model, states, *flags):
        """Derivatives of efforts, or with `--forward` of accelerations, at every state."""
        return self._at_states("derivatives", model, states, *flags)["states"]

    def forward(self, model, states):
        """Accelerations at every state."""
        return [answer["a"] for answer in self._at_states("forward", model, states)["states"]]

    def inverse(self, model, states):
        """Efforts at every state."""
        return [answer["tau"] for answer in self._at_states("inverse", model, states)["states"]]

    def _at_states(self, command, model, states, *flags):
        # As strings, which a state file may hold too: their digits go to a parser that is exact to the last bit.
        written = [{key: [repr(float(x)) for x in values] for key, values in state.items()} for state in states]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(written, file)
            file.flush()
            answer = json.loads(self._run(command, model, "--state", file.name, "--json", *flags))
        given = [list(state["v"]) for state in states]
        if [one["v"] for one in (answer if isinstance(answer, list) else answer["states"])] != given:
            raise Refused(f"error: `catena {command}` did not use the numbers it was given")
        return answer

    def _run(self, *arguments):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(done.stderr.strip() or f"error: `{arguments[0]}` ended with code {done.returncode}")
        return done.stdout
