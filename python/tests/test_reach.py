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
    frame = bar.bodies[-1]
    target = bar.pose(bar.assemble([0.9, -0.9, 0.9]).q, bar.bodies[1])[:3, 3]
    found = bar.reach({bar.bodies[1]: target}, q, tolerance=1e-8)
    assert found.converged and bar.assemble(found.q).iterations <= 1 and frame


def test_what_is_refused(arm):
    for targets, words in (
        ({}, "nothing is wanted"),
        ({"claw": np.eye(4)}, "no link or frame called `claw`"),
        ({"tool": np.eye(3)}, r"has shape \(3, 3\)"),
        ({"tool": 2 * np.eye(4)}, "has no rotation"),
        ({"tool": [0, 0, np.nan]}, "not finite"),
    ):
        with pytest.raises(catena.InputError, match=words):
            arm.reach(targets)
