"""Motion in time, controllers in Rust and in Python, interruptions."""

import _thread
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import catena


@pytest.fixture(scope="module")
def planar():
    return catena.model("planar3")


def test_run(planar, tmp_path):
    run = planar.simulate([0.1, 0.2, 0.3], duration=2.0, rtol=1e-10)
    assert run.t[0] == 0 and run.t[-1] == 2.0 and len(run) == 201
    assert run.q.shape == run.v.shape == run.tau.shape == run.a.shape == (201, 3)
    assert run.finished and run.compiled and run.audit.kept
    assert np.ptp(run.energy) < 1e-7
    assert np.allclose(run.a, planar.forward(run.q, run.v, run.tau), atol=1e-8)
    assert "energy balance" in repr(run) and "<table>" in run._repr_html_()
    assert run.audit["energy balance"].worst < 1e-8
    for name in ("run.csv", "run.parquet", "run.mcap"):
        run.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(catena.InputError, match="exists already"):
        run.save(tmp_path / "run.csv")
    run.save(tmp_path / "run.csv", overwrite=True)
    columns = run.to_dict()
    assert np.array_equal(columns["time"], run.t) and run.units["time"] == "s"
    assert run.svg(tmp_path / "run.svg").startswith("<svg")
    assert run.strip(4).startswith("<svg")


def test_methods_agree(planar):
    right = planar.simulate([0.1, 0.2, 0.3], duration=0.5, rtol=1e-12, method="verner9").q[-1]
    for method in ("dop853", "verner6", "tsit5", "dopri5", "bdf"):
        found = planar.simulate([0.1, 0.2, 0.3], duration=0.5, rtol=1e-9, method=method).q[-1]
        assert np.abs(found - right).max() < 1e-6, method
    for method, error in (("rk4", 1e-6), ("implicit-midpoint", 1e-3), ("semi-implicit-euler", 0.1)):
        found = planar.simulate([0.1, 0.2, 0.3], duration=0.5, method=method, step=1e-3).q[-1]
        assert np.abs(found - right).max() < error, method


def test_a_function_is_as_the_same_controller_in_rust(planar):
    target = np.array([0.4, 0.3, 0.2])
    built_in = planar.simulate(np.zeros(3), duration=1, control=catena.pd(target, stiffness=50, damping=9), rtol=1e-10)
    calls = []

    def control(t, q, v):
        calls.append(t)
        return 50 * (target - q) - 9 * v

    own = planar.simulate(np.zeros(3), duration=1, control=control, rtol=1e-10)
    assert np.abs(own.q - built_in.q).max() < 1e-8
    assert np.abs(own.tau - built_in.tau).max() < 1e-6
    assert own.audit.kept and len(calls) > 100


def test_each_joint_has_gains_of_its_own(planar):
    target, stiffness, damping = np.array([0.4, 0.3, 0.2]), np.array([60.0, 50.0, 20.0]), [9.0, 7.0, 3.0]
    built_in = planar.simulate(np.zeros(3), duration=1, control=catena.pd(target, stiffness=stiffness, damping=damping), rtol=1e-10)
    own = planar.simulate(np.zeros(3), duration=1, control=lambda t, q, v: stiffness * (target - q) - damping * v, rtol=1e-10)
    assert np.abs(own.q - built_in.q).max() < 1e-8
    assert built_in.metadata["drive"]["stiffness"] == [60.0, 50.0, 20.0]
    for wrong in ([1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, -2.0, 3.0], [1.0, np.nan, 3.0]):
        with pytest.raises(catena.Error):
            planar.simulate(np.zeros(3), duration=1, control=catena.computed_torque(target, stiffness=wrong))


def test_how_a_run_was_made_is_saved_with_it(planar, tmp_path):
    def stop(t, q, v):
        if t > 0.5:
            raise InterruptedError
        return np.zeros(3)

    whole = planar.simulate([0.1, 0.2, 0.3], duration=1)
    with pytest.raises(InterruptedError) as caught:
        planar.simulate([0.1, 0.2, 0.3], duration=1, control=stop)
    for name, run, finished in (("whole", whole, True), ("part", caught.value.run, False)):
        path = tmp_path / f"{name}.csv"
        run.save(path)
        lines = [line for line in path.read_text().splitlines() if line.startswith("#")]
        text = "\n".join(lines)
        for key in ("cpu", "accelerations", "functions", "finished", "made_in"):
            assert f'"{key}"' in text, key
        assert run.metadata["made_in"] == "Python" and run.metadata["finished"] is finished
        assert run.metadata["accelerations"] == ("compiled" if run.compiled else "general")
        assert run.metadata["cpu"] and run.metadata["functions"] and run.metadata["model"]
    slow = planar.simulate([0.1, 0.2, 0.3], duration=0.1, compile=False)
    assert slow.metadata["accelerations"] == "general"


def test_control_at_a_rate(planar):
    times = []

    def control(t, q, v):
        times.append(t)
        return 5 * (0.3 - q) - 0.2 * v

    run = planar.simulate(np.zeros(3), duration=1, control=control, rate=1000)
    assert np.allclose(times, np.arange(1001) / 1000) and len(run) == 101 and np.allclose(np.diff(run.t), 0.01)
    assert run.audit.kept
    smooth = planar.simulate(np.zeros(3), duration=1, control=lambda t, q, v: 5 * (0.3 - q) - 0.2 * v)
    assert np.abs(run.q - smooth.q).max() < 0.01
    # by hand: the same efforts held over each interval
    q, v, tau = np.zeros(3), np.zeros(3), None
    for k in range(100):
        tau = 5 * (0.3 - q) - 0.2 * v
        part = planar.simulate(q, v, duration=1e-3, interval=1e-3, control=tau, rtol=1e-11)
        q, v = part.q[-1], part.v[-1]
    assert np.abs(run.q[10] - q).max() < 1e-7
    # a sample at an instant of control has its new efforts
    assert np.allclose(run.tau[10], 5 * (0.3 - q) - 0.2 * v, atol=1e-6)
    finer = planar.simulate(np.zeros(3), duration=1, control=control, rate=100, step=1e-3, interval=0.1)
    assert len(finer) == 11
    # methods that choose their steps, steps that are no part of an interval, events and controllers of catena's own
    exact = planar.simulate(np.zeros(3), duration=1, control=control, rate=100, interval=0.1, method="dop853", rtol=1e-10)
    assert np.abs(exact.q - finer.q).max() < 1e-4 and exact.audit.kept
    uneven = planar.simulate(np.zeros(3), duration=1, control=control, rate=100, interval=0.1, method="rk4", step=0.0003)
    assert np.abs(uneven.q - exact.q).max() < 1e-6
    event = {"half way": catena.reaches(planar.freedoms[0], 0.15)}
    stopped = planar.simulate(np.zeros(3), duration=1, control=control, rate=100, events=event, stop="half way")
    assert stopped.events[0][0] == "half way" and stopped.t[-1] == stopped.events[0][1] < 1
    own = planar.simulate(np.zeros(3), duration=1, control=catena.pd([0.3] * 3, stiffness=5, damping=0.2), rate=100, interval=0.1, step=1e-3)
    assert np.abs(own.q - finer.q).max() < 1e-7 and own.metadata["drive"]["rate"] == 100
    with pytest.raises(ZeroDivisionError) as caught:
        planar.simulate(np.zeros(3), duration=1, control=lambda t, q, v: np.zeros(3) if t < 0.5 else 1 / 0, rate=1000)
    assert caught.value.run.t[-1] == pytest.approx(0.49)  # the sample at 0.5 s would have had its efforts


def test_controllers(planar):
    start = np.array([0.1, 0.2, 0.3])
    held = planar.simulate(start, duration=1, control=catena.gravity_compensation())
    assert np.abs(held.q - start).max() < 1e-8
    end = np.array([0.5, -0.2, 0.4])
    moved = planar.simulate(start, duration=2, control=catena.computed_torque(end, move_time=1.0, stiffness=400, damping=40))
    assert np.abs(moved.q[-1] - end).max() < 1e-5
    t = np.linspace(0, 2, 201)
    q = start + np.outer(np.sin(t), [0.1, 0.2, 0.3])
    v = np.outer(np.cos(t), [0.1, 0.2, 0.3])
    a = -np.outer(np.sin(t), [0.1, 0.2, 0.3])
    followed = planar.simulate(start, v[0], duration=2, control=catena.computed_torque(trajectory=(t, q, v, a)))
    assert np.abs(followed.q - q).max() < 1e-6
    constant = planar.simulate(start, duration=1, control=[0.1, 0.2, 0.3])
    assert np.allclose(constant.tau, [0.1, 0.2, 0.3])
    table = planar.simulate(start, duration=1, control=catena.table([0, 1], [[0, 0, 0], [1, 1, 1]]))
    assert np.allclose(table.tau, table.t[:, None])
    sine = planar.simulate(start, duration=1, control=catena.sine([1, 2, 3], [2.0, 2.0, 2.0]))
    assert np.allclose(sine.tau, np.outer(np.sin(2 * sine.t), [1, 2, 3]))


def test_wrenches_and_events():
    ball = catena.Model("ball", base="free").add_link("ball", mass=2.0, inertia=[0.1, 0.1, 0.1])
    start = np.array([0, 0, 1.0, 1, 0, 0, 0])
    run = ball.simulate(start, duration=1, wrenches={"ball": [0, 0, 0, 0, 0, 2 * 9.81]})
    assert np.abs(run.q[-1] - start).max() < 1e-9
    events = {"floor": catena.plane("ball", [0, 0, 1], 0.0), "half": lambda t, q, v: q[2] - 0.5}
    run = ball.simulate(start, duration=1, events=events)
    found = dict(run.events)
    assert found["floor"] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-9)
    assert found["half"] == pytest.approx(np.sqrt(1 / 9.81), abs=1e-9)
    assert run.t[-1] == 1.0
    run = ball.simulate(start, duration=1, events=events, stop="floor")
    # the last sample is the one at the event
    assert not run.finished and run.t[-1] == run.events[-1][1] == dict(run.events)["floor"] and len(run.events) == 2
    assert abs(run.q[-1, 2]) < 1e-12 and run.v[-1, 2] == pytest.approx(-np.sqrt(2 * 9.81)) and run.t[-2] < run.t[-1]
    assert run.audit.kept and abs(run.energy[-1] - run.energy[0]) < 1e-9
    slide = catena.Model("slide").add_link("block", mass=1.0, inertia=[1, 1, 1])
    slide.add_joint("rail", "prismatic", child="block", axis=[0, 0, 1], limits=[-1.0, 1.0])
    run = slide.simulate([0.5], duration=3, limits="stop", restitution={"rail": 0.5})
    fall = np.sqrt(2 * 1.5 / 9.81)
    strikes = [t for name, t in run.events if name == "rail strikes its lower limit"]
    assert np.allclose(strikes[:3], [fall, 2 * fall, 2.5 * fall], rtol=0, atol=1e-12)
    assert run.q.min() >= -1 - 1e-12 and run.audit.kept
    run = slide.simulate([0.5], duration=3, limits="stop", restitution=0.5, stop="rail strikes its lower limit")
    # after the impact
    assert run.t[-1] == run.events[-1][1] and run.q[-1, 0] == -1 and run.v[-1, 0] == pytest.approx(0.5 * np.sqrt(2 * 9.81 * 1.5))
    with pytest.raises(catena.InputError, match="above its upper limit"):
        slide.simulate([1.5], duration=1, limits="stop")
    with pytest.raises(catena.InputError, match="limits cannot be 'hold'"):
        slide.simulate([0.5], duration=1, limits="hold")
    with pytest.raises(catena.InputError, match="has no stiffness"):
        slide.simulate([0.5], duration=1, limits="soft")
    with pytest.raises(catena.InputError, match="restitution: no joint stopped by a rigid limit"):
        slide.simulate([0.5], duration=1, limits="report", restitution=0.5)
    run = slide.simulate([0.0], duration=1, limits=True, events={"low": catena.reaches("rail", -0.5)})
    assert [name for name, _ in run.events] == ["low", "rail reaches its lower limit"]


def test_closed_chain():
    bar = catena.model("four-bar-1")
    start = bar.assemble([1.2, -1.2, 1.2])
    run = bar.simulate(start.q, start.v, duration=1)
    assert run.audit.kept and np.ptp(run.energy) < 1e-5
    # Baumgarte's equations let violations decay, and pay for it with energy: the audit tells
    other = bar.simulate(start.q, start.v, duration=0.2, closing="baumgarte", rtol=1e-10)
    assert np.abs(other.q - run.q[: len(other)]).max() < 1e-4


def test_what_a_function_raises_is_raised(planar):
    def control(t, q, v):
        if t > 0.5:
            raise KeyError("no effort for this time")
        return np.zeros(3)

    with pytest.raises(KeyError, match="no effort for this time") as caught:
        planar.simulate([0.1, 0.2, 0.3], duration=2, control=control)
    names = [frame.name for frame in caught.traceback]
    assert "control" in names
    run = caught.value.run
    assert not run.finished and 0.1 < run.t[-1] <= 0.6 and len(run) > 5

    def event(t, q, v):
        if t > 0.5:
            raise RuntimeError("no event")
        return 1.0

    with pytest.raises(RuntimeError, match="no event") as caught:
        planar.simulate([0.1, 0.2, 0.3], duration=2, events={"e": event})
    assert not caught.value.run.finished


def test_what_a_function_returns_is_checked(planar):
    with pytest.raises(catena.ShapeError, match=r"the value returned by the control function has shape \(2,\), expected \(3,\)"):
        planar.simulate([0.1, 0.2, 0.3], control=lambda t, q, v: np.zeros(2))
    with pytest.raises(catena.InputError, match="the controller's effort for `joint1` is NaN"):
        planar.simulate([0.1, 0.2, 0.3], control=lambda t, q, v: np.full(3, np.nan))


def test_a_run_that_fails_keeps_what_it_has():
    # a tolerance that no step meets near a function with a jump
    model = catena.model("planar3")
    with pytest.raises(catena.Error) as caught:
        model.simulate(
            [0.1, 0.2, 0.3],
            duration=2,
            rtol=1e-13,
            atol=1e-15,
            control=lambda t, q, v: np.full(3, 1e9 if np.random.default_rng(int(t * 1e12) % 2**32).uniform() < 0.5 else -1e9),
        )
    assert caught.value.run is not None


def test_progress(planar):
    seen = []
    planar.simulate([0.1, 0.2, 0.3], duration=1, progress=lambda t, end: seen.append((t, end)))
    assert seen[-1][0] == pytest.approx(1.0) and seen[-1][1] == 1.0

    class Enough(Exception):
        pass

    def stop(t, end):
        raise Enough

    with pytest.raises(Enough) as caught:
        planar.simulate([0.1, 0.2, 0.3], duration=1000, progress=stop)
    assert caught.value.run.t[-1] < 1000


@pytest.mark.parametrize("how", [{}, {"control": lambda t, q, v: -v, "rate": 1000.0}])
def test_control_c_stops_a_simulation(planar, how):
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        planar.simulate([0.1, 0.2, 0.3], duration=1e5, interval=10.0, **how)
    assert time.monotonic() - begin < 5
    assert 0 < caught.value.run.t[-1] < 1e5


def test_control_c_stops_a_batch():
    model = catena.model("chain-60")
    q = np.zeros((40_000, 60))
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        while True:
            model.coriolis(q, q)
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("how", [{"rtol": 1e-12}, {"control": lambda t, q, v: -v, "rate": 1000.0}])
def test_other_threads_run_meanwhile(planar, how):
    count = 0

    def tick():
        nonlocal count
        while not done.is_set():
            count += 1
            time.sleep(0.001)

    done = threading.Event()
    thread = threading.Thread(target=tick)
    thread.start()
    planar.simulate([0.1, 0.2, 0.3], duration=200, interval=1.0, **how)
    done.set()
    thread.join()
    assert count > 5


@pytest.mark.parametrize("how", [{}, {"rate": 100.0}])
def test_what_a_function_raises_at_the_start_has_an_empty_run(planar, how):
    def control(t, q, v):
        raise KeyError("not ready")

    with pytest.raises(KeyError, match="not ready") as caught:
        planar.simulate([0.1, 0.2, 0.3], control=control, **how)
    run = caught.value.run
    assert len(run) == 0 and run.q.shape == (0, 3) and not run.finished and run.events == []
    assert "0 samples up to nothing" in repr(run)


def test_choices_of_the_implicit_method():
    bar = catena.model("four-bar-1")
    start = bar.assemble([1.2, -1.2, 1.2])
    right = bar.simulate(start.q, start.v, duration=0.5, rtol=1e-10).q[-1]
    for newton in ("index-2", "index-3", "stabilised"):
        run = bar.simulate(start.q, start.v, duration=0.5, rtol=1e-8, method="bdf", coordinates="bodies", newton=newton)
        assert np.abs(run.q[-1] - right).max() < 1e-4, newton
        assert run.metadata["newton"] == newton and run.metadata["coordinates"] == "bodies"
    chain = catena.model("chain-7")
    q = np.full(7, 0.3)
    right = chain.simulate(q, duration=0.2, rtol=1e-11).q[-1]
    costs = {}
    for choices in ({"newton": "tree"}, {"newton": "dense"}, {"coordinates": "joints"}, {"max_order": 2}):
        run = chain.simulate(q, duration=0.2, rtol=1e-7, method="bdf", **choices)
        assert np.abs(run.q[-1] - right).max() < 1e-4, choices
        costs[str(choices)] = run.audit.steps
    # a lower order needs shorter steps
    assert costs["{'max_order': 2}"] > 2 * costs["{'newton': 'dense'}"]


def test_linpen():
    """Chou's pendulum: four ways to solve its implicit equations, beside joint coordinates."""
    pendulum = catena.model("pendulum-3")
    q, _ = pendulum.random(1)
    right = pendulum.simulate(q, duration=0.5, rtol=1e-11).q[-1]
    for newton in ("numerical-full", "exact-full", "reduced", "linear"):
        run = pendulum.simulate(q, duration=0.5, rtol=1e-8, method="bdf", newton=newton)
        same = np.minimum(np.abs(run.q[-1] - right).max(), np.abs(run.q[-1] + right).max())
        assert run.finished and same < 1e-4, newton
    with pytest.raises(catena.Error, match="weight only"):
        pendulum.simulate(q, duration=0.5, method="bdf", newton="linear", control=np.zeros(pendulum.nv))


def test_formulations_and_baumgarte():
    bar = catena.model("four-bar-1")
    start = bar.assemble([1.2, -1.2, 1.2])
    right = bar.simulate(start.q, start.v, duration=0.2, rtol=1e-10)
    run = bar.simulate(start.q, start.v, duration=0.2, rtol=1e-10, formulation="lagrangian")
    assert np.abs(run.q - right.q).max() < 1e-7 and run.metadata["formulation"] == "lagrangian"
    soft, hard = (
        bar.simulate(start.q, start.v, duration=0.2, rtol=1e-8, closing="baumgarte", alpha=alpha) for alpha in (1.0, 100.0)
    )
    assert not np.array_equal(soft.q, hard.q)
    assert np.abs(soft.q - right.q).max() < 1e-3 and np.abs(hard.q - right.q).max() < 1e-3
    both = bar.simulate(start.q, start.v, duration=0.2, rtol=1e-8, closing="baumgarte", alpha=100.0, beta=2500.0)
    assert np.array_equal(both.q, hard.q)


def test_actuators_limit_as_in_the_program(tmp_path):
    wheel = catena.Model("wheel").add_link("disc", mass=1.0, inertia=[0.2, 0.2, 0.4])
    wheel.add_joint("axle", "revolute", child="disc", axis=[0, 0, 1], max_effort=2.0)

    def push(t, q, v):
        return [5.0]

    held = wheel.simulate([0.0], duration=1, control=push)
    free = wheel.simulate([0.0], duration=1, control=push, unlimited=True)
    assert held.v[-1, 0] == pytest.approx(5.0) and held.tau.max() == 2.0 and held.metadata["drive"]["unlimited"] is False
    assert free.v[-1, 0] == pytest.approx(12.5) and free.metadata["drive"]["unlimited"] is True
    # efforts without a controller are what acts
    assert wheel.simulate([0.0], duration=1, control=np.array([5.0])).v[-1, 0] == pytest.approx(12.5)
    assert wheel.simulate([0.0], duration=1, control=catena.table([0, 1], [[5.0], [5.0]])).v[-1, 0] == pytest.approx(12.5)

    # the program's defaults, with the same controller
    file = tmp_path / "wheel.json"
    wheel.save(file)
    there = tmp_path / "there.csv"
    words = ["--controller", "pd", "--to", "3", "--kp", "30", "--kd", "1", "--move-time", "1e-9", "--duration", "1", "--interval", "0.1"]
    command = [sys.executable, "-m", "catena", "simulate", str(file), "--q", "0", *words, "-o", str(there)]
    subprocess.run(command, check=True, capture_output=True)
    rows = [line.split(",") for line in there.read_text().splitlines() if line and not line.startswith("#")]
    column = next(k for k, name in enumerate(rows[0]) if name.startswith("tau."))
    efforts = np.array([float(row[column]) for row in rows[1:]])
    here = wheel.simulate([0.0], duration=1, interval=0.1, control=catena.pd([3.0], stiffness=30, damping=1, move_time=1e-9))
    assert np.abs(here.tau[:, 0] - efforts).max() < 1e-9 and here.tau.max() == 2.0
    # members of an ensemble, too
    many = wheel.ensemble(np.zeros((2, 1)), duration=1, control=push)
    assert np.allclose(many.v[:, 0], held.v[-1, 0]) and "actuators" in many.one_by_one


def test_joints_without_an_actuator_are_passive():
    free = catena.model("space-robot")
    q, v = free.neutral(), np.zeros(free.nv)
    push = np.zeros(free.nv)
    push[0] = 1.0
    with pytest.raises(catena.InputError, match="no actuator") as refused:
        free.simulate(q, v, duration=0.1, control=lambda t, q, v: push)
    assert "unlimited=True" in refused.value.hint
    run = free.simulate(q, v, duration=0.1, control=lambda t, q, v: push, unlimited=True)
    assert run.v[-1, 0] > 0 and run.finished


def test_arrays_that_a_control_keeps_stay(planar):
    """The arrays of one call serve the next one, unless somebody has kept them, or changed what they are."""
    kept, parts, seen = [], [], set()

    def control(t, q, v):
        seen.add(id(q))
        if len(kept) < 5:
            kept.append(q)
            parts.append(v[1:])
        elif t > 0.5:
            q.shape = (3, 1)
            v.flags.writeable = False
        q[...] = 7.0
        return np.zeros(3)

    run = planar.simulate([0.1, 0.2, 0.3], duration=1, control=control, rate=100, interval=0.01)
    assert all(np.all(q == 7.0) for q in kept)
    assert np.array_equal(np.array(parts), run.v[:5, 1:])
    still = planar.simulate([0.1, 0.2, 0.3], duration=1, control=np.zeros(3), method="rk4", step=0.01, interval=0.01)
    assert np.array_equal(run.q, still.q)


def test_a_moving_base(planar):
    """An arm whose base falls has no weight."""
    down = planar.gravity_vector
    fall = planar.simulate([0.1, 0.2, 0.3], duration=0.5, base="accelerate:" + ",".join(map(str, down)))
    assert np.abs(fall.q - [0.1, 0.2, 0.3]).max() < 1e-9 and fall.audit.kept
    shaken = planar.simulate([0.1, 0.2, 0.3], duration=0.5, base=["shake:0.05,0,0,2", "move:0,1,0"])
    assert shaken.audit.kept and "base" in shaken.metadata
    with pytest.raises(catena.InputError, match="no motion `hop`"):
        planar.simulate([0.1, 0.2, 0.3], base="hop:1,2,3")


def test_the_end_is_verified(planar):
    run = planar.simulate([0.1, 0.2, 0.3], duration=1, verify=1e-5)
    found = run.audit["state at the end, by a second run"]
    assert found.kept and 0 < found.worst < 1e-5
    rough = planar.simulate([0.1, 0.2, 0.3], duration=1, method="semi-implicit-euler", step=0.01, verify=1e-6)
    assert rough.audit["state at the end, by a second run"].kept is False and not rough.audit.kept


def test_tables_plots_and_a_bar(planar, capsys):
    run = planar.simulate([0.1, 0.2, 0.3], duration=0.5)
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    for table in (run.to_polars(), run.to_pandas()):
        assert table.shape == (len(run), len(run.units))
        assert np.array_equal(table["time"].to_numpy(), run.t)
    assert isinstance(run.to_polars(), polars.DataFrame) and isinstance(run.to_pandas(), pandas.DataFrame)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    figure = run.plot()
    assert [axis.get_title() for axis in figure.axes] == ["positions", "velocities", "efforts", "energies, J"]
    assert len(figure.axes[0].lines) == 3 and np.array_equal(figure.axes[0].lines[1].get_ydata(), run.q[:, 1])
    pytest.importorskip("tqdm")
    planar.simulate([0.1, 0.2, 0.3], duration=0.5, progress=True)
    assert "0.50/0.50 s" in capsys.readouterr().err


def test_control_c_stops_what_looks_at_no_state():
    """The doctor, laws, linear equations: what is left of the computation ends with the process."""
    program = """
import os, signal, threading, time
import numpy as np, catena
bar, chain = catena.model("four-bar-1"), catena.model("chain-60")
t = np.linspace(0, 1, 100_000)
arm = catena.model("stanford")
q = np.array([0.1, 1.2, 0.5, 0.3, 0.4, 0.5]) + 0.1 * np.sin(t)[:, None]
poses = arm.pose(q, "tool")
rows, long = np.random.default_rng(1).uniform(-1, 1, (20_000, 60)), catena.model("chain-300")
factors = chain.factor(rows)
for call in (
    lambda: chain.check(100_000),
    lambda: bar.doctor([1.2, -1.2, 1.2], samples=10_000_000),
    lambda: arm.follow(t, {"tool": poses}, q[0]),
    lambda: [chain.factor(rows) for _ in range(100)],
    lambda: [factors.solve(rows) for _ in range(10_000)],
    lambda: long.reach({long.frames[-1]: [1e3, 0.0, 0.0]}, iterations=10_000_000),
):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        call()
        print("done")
    except KeyboardInterrupt:
        print("stopped", time.monotonic() - begin < 5, flush=True)
os._exit(0)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert found.stdout.splitlines() == ["stopped True"] * 6, found.stderr


def test_runs_are_read_and_pickled(planar, tmp_path):
    """Read back from every format and from a pickle: the same numbers, audit, metadata and files, to the last bit."""
    fingers = catena.Model("fingers", gravity=[0, 0, 0])
    for k, name in enumerate("ab"):
        fingers.add_link(name, mass=1.0, inertia=[0.1, 0.1, 0.1])
        fingers.add_joint(f"turn_{name}", "revolute", child=name, parent="world", axis=[0, 0, 1], origin=[k, 0, 0], friction=0.01 * k, limits=[-1, 1])
    fingers.close_loop("follow", "coupling", coordinates=["turn_a", "turn_b"], coefficients=[1, -2])
    runs = [
        planar.simulate([0.3, 0.1, 0.2], duration=0.3, control=[0.1, 0, 0.2], record=["frame.*.x"]),
        fingers.simulate([0.2], [1.0], duration=2, limits="stop"),
        planar.simulate([0.3, 0, 0], duration=1, events={"down": catena.reaches(planar.freedoms[0], 0.1)}, stop="down"),
        catena.Model("ball", base="free").add_link("ball", mass=2.0, inertia=[0.1, 0.1, 0.1]).simulate([0, 0, 1, 1, 0, 0, 0], duration=0.1),
    ]
    for run in runs:
        copies = [pickle.loads(pickle.dumps(run)), copy.deepcopy(run)]
        for name in ("run.csv", "run.parquet", "run.mcap"):
            run.save(tmp_path / name, overwrite=True)
            copies.append(catena.read_run(tmp_path / name))
        for again in copies:
            for key in ("t", "q", "v", "a", "tau", "friction", "stops", "energies", "work", "dissipated"):
                one, other = getattr(run, key), getattr(again, key)
                assert one.shape == other.shape and (one == other).all(), key
            assert again.events == run.events and again.audit.findings == run.audit.findings
            assert again.metadata == run.metadata and again.units == run.units
            assert (again.finished, again.compiled, again.model.name) == (run.finished, run.compiled, run.model.name)
            assert (again.model.nq, again.model.joints) == (run.model.nq, run.model.joints)
            assert again.svg() == run.svg() and "<svg" in again.strip()
            again.save(tmp_path / "again.parquet", overwrite=True)
            assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "run.parquet").read_bytes()
    # a run that was stopped in the middle of a block
    text = (tmp_path / "run.csv").read_text()
    (tmp_path / "part.csv").write_text(text[: text.index("# finished")] + "#1,2")
    with pytest.warns(UserWarning, match="the last 4 bytes were left out"):
        part = catena.read_run(tmp_path / "part.csv")
    assert not part.finished and len(part) == len(run) and part.audit.findings == []
    assert not part.audit.kept
    part.save(tmp_path / "part.parquet")
    saved = catena.read_run(tmp_path / "part.parquet")
    assert not saved.finished and len(saved) == len(part) and not saved.audit.kept
    again = pickle.loads(pickle.dumps(part))
    assert not again.finished and (again.q == part.q).all()
    # a run that a function ended before its first sample
    with pytest.raises(ZeroDivisionError) as caught:
        planar.simulate([0.3, 0, 0], duration=1, control=lambda t, q, v: 1 / 0)
    empty = caught.value.run  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(empty))
    assert len(again) == len(empty) == 0 and again.q.shape == empty.q.shape and not (again.finished or again.audit.kept)
    for name, message in (("none.csv", "none.csv"), ("run.txt", "the format of the run cannot be determined")):
        with pytest.raises(catena.Error, match=message):
            catena.read_run(tmp_path / name)
    # of the program
    answer = subprocess.run([sys.executable, "-m", "catena", "simulate", "four-bar-1", "--duration", "0.1", "-o", "bars.csv"], cwd=tmp_path)
    assert answer.returncode == 0
    bars = catena.read_run(tmp_path / "bars.csv")
    assert bars.finished and bars.audit.kept and bars.q.shape == (11, 3) and bars.model.constraints
