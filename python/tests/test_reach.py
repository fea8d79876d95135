"""Inverse kinematics: what was reached is looked at by forward kinematics."""

import numpy as np
import pytest

import catena


@pytest.mark.parametrize("name", ["stanford", "chain-7", "space-robot", "zoo"])
def test_poses(name):
    model = catena.model(name)
    frame = model.frames[-1]
    for seed in range(5):
        q, v = model.random(seed)
        target = model.pose(q, frame)
        found = model.reach({frame: target}, model.step(q, 0.2 * v))
        assert found.converged and found.residual < 1e-9
        assert np.allclose(model.pose(found.q, frame), target, atol=1e-8)


def test_positions_of_several_frames_and_the_mass_centre():
    model = catena.model("floating-chain-6")
    q, v = model.random(1)
    first, last = model.bodies[2], model.bodies[-1]
    centre = model.momenta(q).centre
    wanted = {name: model.pose(q, name)[:3, 3] for name in (first, last)}
    found = model.reach(wanted, model.step(q, 0.1 * v), centre=centre)
    assert found.converged
    for name, position in wanted.items():
        assert np.allclose(model.pose(found.q, name)[:3, 3], position, atol=1e-8)
    assert np.allclose(model.momenta(found.q).centre, centre, atol=1e-8)


def test_limits_are_kept():
    rod = {"mass": 1.0, "centre": [0.5, 0, 0], "inertia": [0.1, 0.1, 0.1]}
    arm = catena.Model("arm").add_link("upper", **rod).add_link("lower", **rod)
    arm.add_joint("shoulder", "revolute", child="upper", axis=[0, 1, 0], limits=[-0.5, 0.5])
    arm.add_joint("elbow", "revolute", child="lower", axis=[0, 1, 0], origin=[1, 0, 0], limits=[0.0, 2.0])
    arm.add_frame("tip", "lower", origin=[1, 0, 0])
    inside = arm.pose([0.3, 0.7], "tip")[:3, 3]
    found = arm.reach({"tip": inside}, [0.0, 0.1])
    assert found.converged and np.allclose(found.q, [0.3, 0.7], atol=1e-7)
    outside = arm.pose([1.2, 0.7], "tip")[:3, 3]
    assert arm.reach({"tip": outside}, [0.0, 0.1], limits=False).converged
    found = arm.reach({"tip": outside}, [0.0, 0.1])
    assert not found.converged and found.residual > 0.01
    assert -0.5 <= found.q[0] <= 0.5 and 0.0 <= found.q[1] <= 2.0
    far = arm.reach({"tip": [5.0, 0.0, 0.0]}, [0.1, 0.1])
    assert not far.converged and far.residual == pytest.approx(3.0, abs=1e-3)


def test_half_a_turn():
    model = catena.Model("ball", base="free").add_link("ball", mass=1.0, inertia=[1, 1, 1])
    target = np.diag([-1.0, -1.0, 1.0, 1.0])
    found = model.reach({"ball": target})
    assert found.converged and np.allclose(model.pose(found.q, "ball"), target, atol=1e-8)


def test_closed_chain():
    bar = catena.model("four-bar-1")
    q = bar.assemble([1.2, -1.2, 1.2]).q
    frame = bar.bodies[1]
    target = bar.pose(bar.assemble([0.9, -0.9, 0.9]).q, frame)
    found = bar.reach({frame: target}, q)
    assert found.converged and np.allclose(bar.pose(found.q, frame), target, atol=1e-8)
    assert bar.assemble(found.q).iterations <= 1
    # a rod can be moved along, but not off its curve
    aside = bar.reach({frame: target[:3, 3] + [0, 0.1, 0]}, q)
    assert not aside.converged and bar.assemble(aside.q).iterations <= 1
    assert aside.residual == pytest.approx(0.1, rel=0.5)


def test_limits_of_a_closed_chain():
    document = catena.model("four-bar-1").to_toml()
    bar = catena.model("four-bar-1")
    frame, first = bar.bodies[1], bar.joints[0].name
    target = bar.pose(bar.assemble([0.9, -0.9, 0.9]).q, frame)
    assert f'name = "{first}"' in document
    limited = catena.loads(document.replace(f'name = "{first}"', f'name = "{first}"\nlimits = [1.0, 2.0]', 1), "toml")
    assert limited.joint(first).limits == [(1.0, 2.0)]
    found = limited.reach({frame: target}, [1.2, -1.2, 1.2])
    assert not found.converged and 1.0 - 1e-9 <= found.q[0] <= 2.0 + 1e-9 and found.q[0] < 1.01


@pytest.mark.parametrize("name", ["stanford", "space-robot"])
def test_motion_of_a_frame(name):
    model = catena.model(name)
    t = np.linspace(0, 1, 201)
    q0, v0 = model.random(2)
    # a motion of the joints, and the motion of the tip that belongs to it
    q = np.array([model.step(q0, 0.2 * np.sin(s) * v0) for s in t])
    frame = model.frames[-1]
    found = model.follow(t, {frame: model.pose(q, frame)}, q0, limits=False)
    assert found.converged and found.residual.max() < 1e-9 and np.array_equal(found.t, t)
    motion = model.kinematics(found.q, found.v, found.a)[frame]
    wanted = model.kinematics(q, 0.2 * np.cos(t)[:, None] * v0, -0.2 * np.sin(t)[:, None] * v0)[frame]
    assert np.allclose(motion.velocity, wanted.velocity, atol=1e-6)
    assert np.allclose(motion.acceleration, wanted.acceleration, atol=1e-3)
    if name == "stanford":
        # six joints for six coordinates: the joints move as they did, and need the same efforts
        assert np.allclose(found.q, q, atol=1e-8) and np.allclose(found.v, 0.2 * np.cos(t)[:, None] * v0, atol=1e-7)
        right = model.inverse(q, 0.2 * np.cos(t)[:, None] * v0, -0.2 * np.sin(t)[:, None] * v0)
        assert np.abs(model.inverse(found.q, found.v, found.a) - right).max() < 1e-4 * np.abs(right).max()


def test_motion_at_uneven_times_and_of_a_closed_chain():
    bar = catena.model("four-bar-1")
    frame = bar.bodies[1]
    t = np.linspace(0, 1, 81) ** 1.2
    angle = 1.2 + 0.3 * np.sin(t)
    q = np.stack([angle, -angle, angle], axis=1)
    found = bar.follow(t, {frame: bar.pose(q, frame)[:, :3, 3]}, q[0])
    assert found.converged and np.allclose(found.q, q, atol=1e-8)
    v = 0.3 * np.cos(t)
    assert np.allclose(found.v, np.stack([v, -v, v], axis=1), atol=1e-6)
    a = -0.3 * np.sin(t)
    assert np.allclose(found.a, np.stack([a, -a, a], axis=1), atol=1e-3)
    tau = bar.inverse(found.q[40], found.v[40], found.a[40], actuators=[bar.freedoms[0]])
    assert np.isfinite(tau).all()


def test_motion_out_of_reach():
    arm, t = catena.model("planar3"), np.linspace(0, 1, 5)
    found = arm.follow(t, {"tool": np.linspace([0.4, 0.2, 0.0], [9.0, 0, 0], 5)}, [0.1, 0.2, 0.3])
    assert not found.converged and found.residual[0] < 1e-9 < found.residual[-1]


def test_what_is_refused(arm):
    for targets, words in (
        ({}, "there is no target"),
        ({"claw": np.eye(4)}, "no link or frame called `claw`"),
        ({"tool": np.eye(3)}, r"has shape \(3, 3\)"),
        ({"tool": 2 * np.eye(4)}, "is not a rotation"),
        ({"tool": [0, 0, np.nan]}, r"the target of `tool` is nan at \[2\]"),
    ):
        with pytest.raises(catena.InputError, match=words):
            arm.reach(targets)
