"""Many simulations of one structure in one call."""

import subprocess
import sys

import numpy as np
import pytest

import catena


@pytest.fixture(scope="module")
def arm():
    return catena.model("stanford")


def starts(arm, count):
    return np.array([arm.random(k)[0] for k in range(count)]), np.array([arm.random(k)[1] for k in range(count)])


def test_members_are_simulations(arm):
    q, v = starts(arm, 20)
    step = dict(method="rk4", step=1e-3)
    run = arm.ensemble(q, v, duration=0.3, interval=0.1, tau=np.full(6, 0.01), **step)
    assert run.one_by_one is None and not run.failures and len(run) == 20
    assert run.t.tolist() == [0.0, 0.1, 0.2, 0.30000000000000004] or np.allclose(run.t, [0, 0.1, 0.2, 0.3])
    assert run.trajectory_q.shape == (20, 4, 6) and run.q.shape == run.v.shape == (20, 6)
    assert (run.steps == 300).all()
    for k in (0, 7, 19):
        single = arm.simulate(q[k], v[k], duration=0.3, interval=0.1, control=np.full(6, 0.01), **step)
        assert np.abs(run.trajectory_q[k] - single.q).max() < 1e-12
        assert np.abs(run.trajectory_v[k] - single.v).max() < 1e-11
        assert abs(run.work[k] - single.work[-1]) < 1e-12


def test_variable_steps_keep_the_energy(arm):
    q, v = starts(arm, 20)
    run = arm.ensemble(q, v, duration=0.5, rtol=1e-10, target=np.zeros(6), stiffness=np.full(6, 0.1), damping=np.full(6, 0.01))
    assert np.abs(run.energy_error).max() < 1e-6
    assert (run.evaluations > run.steps).all()


def test_the_bits_of_a_member_are_its_own(arm):
    q, v = starts(arm, 300)
    whole = arm.ensemble(q, v, duration=0.2)
    part = arm.ensemble(q[[250, 3]], v[[250, 3]], duration=0.2)
    assert (whole.q[[250, 3]] == part.q).all()
    before = catena.threads()
    try:
        catena.set_threads(1)
        assert (arm.ensemble(q, v, duration=0.2).q == whole.q).all()
    finally:
        catena.set_threads(before)


def test_models_of_their_own(arm):
    q, v = starts(arm, 9)
    hand = arm.bodies[-1]
    models = [arm.replace(mass={hand: 0.2 + 0.1 * k}) for k in range(9)]
    step = dict(method="rk4", step=1e-3)
    run = arm.ensemble(q, v, duration=0.2, models=models, **step)
    assert run.one_by_one is None
    for k in (0, 8):
        single = models[k].simulate(q[k], v[k], duration=0.2, interval=0.2, **step)
        assert np.abs(run.q[k] - single.q[-1]).max() < 1e-12


def test_friction_runs_one_by_one(arm):
    rough = arm.replace(friction={joint.name: 0.1 for joint in arm.joints})
    q, v = starts(arm, 3)
    run = rough.ensemble(q, v, duration=0.1)
    assert run.one_by_one is not None and "dry friction" in run.one_by_one
    assert "one by one" in repr(run)
    single = rough.simulate(q[1], v[1], duration=0.1, interval=0.1, compile=False)
    assert (run.q[1] == single.q[-1]).all()


def test_a_member_that_fails_is_named(arm):
    q, v = starts(arm, 5)
    v[2] = 1e160
    run = arm.ensemble(q, v, duration=0.1)
    assert list(run.failures) == [2] and np.isnan(run.q[2]).all()
    assert np.isfinite(np.delete(run.q, 2, axis=0)).all()


def test_what_is_wrong_is_refused(arm):
    q, v = starts(arm, 4)
    with pytest.raises(catena.ShapeError):
        arm.ensemble(q[:, :5])
    with pytest.raises(catena.ShapeError):
        arm.ensemble(q, v[:3])
    q[1, 2] = np.nan
    with pytest.raises(catena.NotFinite) as refused:
        arm.ensemble(q, v)
    assert (refused.value.argument, refused.value.row, refused.value.column) == ("q", 1, 2)
    q, v = starts(arm, 4)
    with pytest.raises(catena.InputError, match="no method"):
        arm.ensemble(q, v, method="euler")
    with pytest.raises(catena.InputError, match="positive"):
        arm.ensemble(q, v, duration=-1.0)
    with pytest.raises(catena.InputError, match="4 rows and 3 models"):
        arm.ensemble(q, v, models=[arm] * 3)
    with pytest.raises(catena.InputError, match="other bodies or joints"):
        arm.ensemble(q, v, models=[arm, arm, arm, catena.model("chain-6")])


def test_members_have_controls_stops_and_events_of_single_runs(arm):
    limited = catena.Model("slider", gravity=[0, 0, -9.81]).add_link("cart", mass=1.0, inertia=[0.1, 0.1, 0.1])
    limited.add_joint("rail", "prismatic", child="cart", axis=[0, 0, 1], limits=(-0.5, 0.5))
    middle = {"middle": catena.reaches("rail", 0.0)}
    controls = [catena.pd([0.2 * k], stiffness=20.0, damping=1.0) for k in range(4)]
    how = dict(duration=0.5, interval=0.1, rate=100.0, limits="stop", events=middle)
    run = limited.ensemble(seeds=range(4), control=controls, **how)
    assert run.one_by_one is not None and not run.failures
    for k in range(4):
        single = limited.simulate(*limited.random(k), control=controls[k], compile=False, **how)
        assert (run.trajectory_q[k] == single.q).all() and (run.trajectory_v[k] == single.v).all()
        assert run.events[k] == single.events
    assert any(name == "middle" for events in run.events for name, _ in events)


def test_constant_controls_run_in_lanes(arm):
    q, v = starts(arm, 3)
    step = dict(method="rk4", step=1e-3, duration=0.1)
    assert arm.ensemble(q, v, control=np.full(6, 0.01), **step).one_by_one is None
    held = arm.ensemble(q, v, control=lambda t, q, v: -v, **step)
    single = arm.simulate(q[2], v[2], interval=0.1, control=lambda t, q, v: -v, compile=False, **step)
    assert held.one_by_one is not None and (held.q[2] == single.q[-1]).all()


def test_what_drives_members_is_checked(arm):
    q, v = starts(arm, 3)
    with pytest.raises(catena.InputError, match="3 members and 2 controls"):
        arm.ensemble(q, v, control=[np.zeros(6), np.zeros(6)])
    with pytest.raises(catena.InputError, match="feedback and inputs"):
        arm.ensemble(q, v, control=np.zeros(6), tau=np.zeros(6))
    with pytest.raises(catena.InputError, match="exclude each other"):
        arm.ensemble(q, seeds=[1, 2, 3])
    with pytest.raises(catena.InputError, match="q or seeds"):
        arm.ensemble()
    with pytest.raises(ZeroDivisionError):
        arm.ensemble(q, v, control=lambda t, q, v: 1 / 0)


@pytest.mark.parametrize(
    "how",
    [
        "duration=1e6",
        "duration=1e4, method='bdf'",
        "duration=1e6, control=lambda t, q, v: -v, rate=1000.0",
        "duration=1e6, events={'up': lambda t, q, v: q[0] - 9.0}",
    ],
)
def test_control_c_stops_an_ensemble(how):
    """Few members that take minutes: in lanes, one by one, with functions of Python."""
    program = f"""
import os, signal, threading, time
import catena
planar = catena.model("planar3")
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    planar.ensemble([[0.1, 0.2, 0.3]] * 2, {how})
    print("done")
except KeyboardInterrupt:
    print("stopped", time.monotonic() - begin < 10, flush=True)
os._exit(0)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert found.stdout.strip() == "stopped True", found.stderr
