"""Control functions as machine code."""

import math
import pickle

import numpy as np
import pytest

import catena

TARGET = np.array([0.3, 0.2, 0.1])
K = np.array([[40.0, 1.0, 0.0], [2.0, 30.0, 0.0], [0.0, -1.0, 20.0]])


def law(t, q, v):
    error = TARGET * np.sin(2 * t) - q
    tau = np.clip(0.05 * K @ error - 0.05 * v, -0.5, 0.5)
    tau[0] = np.where((q[0] > 0.1) & (v[1] <= 0.5), tau[0] - 0.01 * np.tanh(v[0]), tau[0] + 0.01 * np.arctan2(q[1], 2.0))
    return tau + 0.01 * np.sqrt(1 + np.sum(v**2)) * np.abs(q) + 0.01 * np.maximum(q, 0) - 1e-5 * np.sign(v)


@pytest.fixture
def arm():
    return catena.model("planar3")


@pytest.mark.parametrize("rate", [None, 1000])
def test_a_run_is_that_of_the_function(arm, rate):
    how = dict(duration=1.0, rate=rate, method="rk4", step=1e-3)
    called = arm.simulate([0.4, -0.2, 0.1], control=law, **how)
    traced = arm.simulate([0.4, -0.2, 0.1], control=catena.traced(law, arm), **how)
    assert np.abs(called.q - traced.q).max() < 1e-11
    assert np.abs(called.tau - traced.tau).max() < 1e-9
    assert np.abs(called.tau).max() > 0.1 and traced.audit.kept


def test_it_can_be_called_and_read(arm):
    control = catena.traced(lambda t, q, v: 2 * np.sin(t) - q, arm)
    q = np.array([0.1, 0.2, 0.3])
    assert np.abs(control(0.5, q, q) - (2 * np.sin(0.5) - q)).max() < 1e-15
    assert "sin(t)" in control.formulas[0] and "q[0]" in control.formulas[0]


def test_members_of_an_ensemble(arm):
    q = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, -0.2]])
    together = arm.ensemble(q, duration=0.5, control=catena.traced(law, arm), rate=100)
    for row, end in zip(q, together.q):
        alone = arm.simulate(row, duration=0.5, control=law, rate=100)
        assert np.abs(alone.q[-1] - end).max() < 1e-10


def test_the_end_is_verified(arm):
    run = arm.simulate([0.1, 0.2, 0.3], duration=0.5, control=catena.traced(law, arm), rate=1000, verify=1e-4)
    assert run.audit.kept


def test_pickles_are_traced_again(arm):
    control = pickle.loads(pickle.dumps(catena.traced(law, arm)))
    q = np.array([0.3, -0.2, 0.1])
    assert np.abs(control(0.3, q, q) - law(0.3, q, q)).max() < 1e-12
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(catena.traced(lambda t, q, v: -q, arm))


class Remembers:
    def __init__(self):
        self.sum = 0.0

    def __call__(self, t, q, v):
        self.sum = self.sum + 0.1 * q[0]
        return -q - self.sum


def stored(t, q, v):
    tau = np.zeros(3)
    tau[0] = q[0]
    return tau


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda t, q, v: -q if q[0] > 0 else q, "np.where"),
        (lambda t, q, v: q * max(q[0], 0.0), "np.maximum"),
        (lambda t, q, v: q * math.sin(q[0]), "np.sin"),
        (stored, "np.zeros_like"),
        (lambda t, q, v: q[:2], "(2,), expected (3,)"),
        (lambda t, q, v: ["a", "b", "c"], "contains str"),
        (lambda t, q, v: None, "expected (3,)"),
        (lambda t, q, v: q * np.random.random(), "two results"),
        (Remembers(), "must not store its arguments"),
        (lambda t, q, v: np.i0(q), "trace"),
        (lambda t, q, v: np.spacing(q), "np.spacing"),
        (3.0, "takes a function"),
    ],
)
def test_what_is_refused(arm, function, words):
    with pytest.raises(catena.InputError) as caught:
        catena.traced(function, arm)
    assert words in f"{caught.value} {caught.value.hint}"


def test_another_model_is_refused(arm):
    control = catena.traced(law, arm)
    with pytest.raises(catena.Error, match="positions, velocities and efforts"):
        catena.model("stanford").simulate(np.zeros(6), duration=0.1, control=control)
