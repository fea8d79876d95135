"""Rigid multibody dynamics at linear cost: every algorithm is one call, for one state or for ten thousand.

>>> arm = catena.model("stanford")                     # or catena.load("arm.urdf")
>>> q, v = arm.random(1)
>>> tau = arm.inverse(q, v, np.zeros(arm.nv))          # q (nq,) or (N, nq)
>>> bool(np.abs(arm.forward(q, v, tau)).max() < 1e-9)
True

Units are SI and radians; angular parts come first in twists and wrenches; quaternions are (w, x, y, z).
"""

import sys as _sys

if "free-threading build" in _sys.version:
    raise ImportError(
        "catena does not support free-threaded builds of Python (without the global interpreter lock); use a standard build, python3.14 instead of python3.14t"
    )

from . import convert, errors
from ._catena import __version__, set_threads, threads
from ._control import Control, computed_torque, gravity_compensation, pd, plane, reaches, sine, table, with_sensors
from ._ensemble import Ensemble
from ._model import (
    Accuracy,
    Assembled,
    Centroidal,
    Complement,
    Diagnosis,
    Energies,
    Equations,
    Factorization,
    ForwardDerivatives,
    FrameMotion,
    InverseDerivatives,
    Joint,
    Kinematics,
    Law,
    Laws,
    Linearisation,
    Loads,
    Model,
    Momenta,
    Rerooted,
    SteadyMotion,
    load,
    loads,
    model,
    models,
    read_run,
    verify,
)
from ._reach import Followed, Reached
from ._run import Audit, Finding, Run
from ._study import Optimum, Results, Sample, Study, optimize, sweep
from ._trace import Traced, traced
from ._view import Viewer
from .errors import (
    Error,
    InputError,
    IntegrationError,
    InternalError,
    ModelError,
    NotFinite,
    ShapeError,
    SingularError,
    UnsupportedError,
)
