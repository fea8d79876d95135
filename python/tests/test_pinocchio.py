"""Agreement with Pinocchio in the same process, on every robot of example-robot-data, fixed and free."""

import pathlib
import re

import numpy as np
import pinocchio as pin
import pytest

import catena

FOLDER = pathlib.Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
FILES = sorted(FOLDER.rglob("*.urdf"))

# Robots that catena refuses to read, by file and base, with a part of its message: a base that is to float but is fixed to the
# ground, and a file without links. Everything else is read.
REFUSED = {
    ("TwoDofs", "free"): "joint `ground_fixed` joins link `ground` to the ground",
    ("ur3", "fixed"): "the robot has no links",
    ("ur3", "free"): "the robot has no links",
    ("ur10_joint_limited_robot", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("ur10_robot", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("ur3_gripper", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("ur3_joint_limited_robot", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("ur3_robot", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("ur5_gripper", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("ur5_joint_limited_robot", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("ur5_robot", "free"): "joint `world_joint` joins link `base_link` to the ground",
    ("xarm7", "free"): "joint `world_joint` joins link `link_base` to the ground",
    ("z1", "free"): "joint `base_static_joint` joins link `link00` to the ground",
}


def test_the_robots_are_there():
    assert len(FILES) >= 69, "example-robot-data is missing: python/test installs it"
    assert {stem for stem, _ in REFUSED} <= {path.stem for path in FILES}


def both(path, base):
    """The robot read by both: without mimic joints, which Pinocchio ignores, and without passive forces, which it does not compute."""
    text = re.sub(r"<mimic\b[^>]*?(/>|>.*?</mimic>)", "", path.read_text(errors="ignore"), flags=re.DOTALL)
    model = catena.loads(text, "urdf", base=base, ignore_unknown=True)
    none = {joint.name: 0.0 for joint in model.joints}
    model = model.replace(damping=none, friction=none, stiffness=none)
    if base == "free":
        there = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    else:
        there = pin.buildModelFromXML(text)
    # the rotors that Pinocchio reads are those of its own extension of URDF
    there.armature[:] = 0
    there.damping[:] = 0
    there.friction[:] = 0
    return model, there


def difference(ours, theirs):
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    return np.abs(ours - theirs).max(initial=0.0) / scale


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_robot(path, base):
    reason = REFUSED.get((path.stem, base))
    if reason is not None:
        with pytest.raises(catena.ModelError, match=re.escape(reason)) as caught:
            both(path, base)
        # nothing is refused without a reason that names the file's fault
        assert caught.value.hint or caught.value.line
        return
    model, there = both(path, base)
    assert model.nv == there.nv
    if model.nv == 0:
        # a body without joints on the ground
        assert any("nothing can move" in warning for warning in model.warnings)
        return
    data, pair = there.createData(), catena.convert.Pinocchio(model, there)
    rng = np.random.default_rng(20)
    count = 8
    q = np.array([model.random(k)[0] for k in range(count)])
    v, a = rng.uniform(-1, 1, (2, count, model.nv))
    pq, pv, pa = pair.q(q), pair.v(q, v), pair.a(q, v, a)
    assert difference(pair.q(pair.q_back(pq)), pq) < 1e-12
    assert difference(pair.v_back(q, pv), v) < 1e-12 and difference(pair.a_back(q, v, pa), a) < 1e-12

    tau = model.inverse(q, v, a)
    theirs = np.array([pin.rnea(there, data, *row) for row in zip(pq, pv, pa)])
    assert difference(pair.tau(q, tau), theirs) < 1e-9

    if any("no inertia along" in warning for warning in model.warnings):
        # a finger without inertia, as shipped: its accelerations are refused by name
        with pytest.raises(catena.Error, match="no inertia along"):
            model.forward(q[0], v[0], tau[0])
    else:
        # efforts that hold the robot and a little more in proportion to the inertia each joint sees
        push = model.gravity(q) + np.diagonal(model.inertia(q), axis1=1, axis2=2) * a
        vdot = model.forward(q, v, push)
        ptau = pair.tau(q, push)
        theirs = np.array([pin.aba(there, data, *row) for row in zip(pq, pv, ptau)])
        ours = pair.a(q, v, vdot)
        # fingers of grams on arms of tons: both engines are held to what inverse dynamics of their answer leaves
        assert difference(model.inverse(q, v, pair.a_back(q, v, theirs)), push) < 1e-9
        assert difference(model.inverse(q, v, vdot), push) < 1e-9
        if np.linalg.cond(model.inertia(q[0])) < 1e7:
            assert difference(ours, theirs) < 1e-9

    axes, first = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, [3, 4, 5, 0, 1, 2]
    motion = model.kinematics(q, v, a)
    names = [f.name for f in there.frames if f.type == pin.FrameType.BODY and f.name in motion]
    assert names
    for k in range(2):
        pin.forwardKinematics(there, data, pq[k], pv[k], pa[k])
        pin.updateFramePlacements(there, data)
        for name in names:
            frame = there.getFrameId(name, pin.FrameType.BODY)
            assert difference(motion[name].pose[k], data.oMf[frame].homogeneous) < 1e-9
            velocity = pin.getFrameVelocity(there, data, frame, axes).vector[first]
            assert difference(motion[name].velocity[k], velocity) < 1e-9
            acceleration = pin.getFrameClassicalAcceleration(there, data, frame, axes).vector[first]
            assert difference(motion[name].acceleration[k], acceleration) < 1e-9
        theirs = pin.computeKineticEnergy(there, data, pq[k], pv[k])
        assert difference(model.energies(q[k], v[k]).kinetic, theirs) < 1e-9
        if base == "fixed":
            inertia = pin.crba(there, data, pq[k])
            inertia = np.triu(inertia) + np.triu(inertia, 1).T
            order = pair.v(q[k], np.arange(model.nv, dtype=float)).astype(int)
            assert difference(model.inertia(q[k])[np.ix_(order, order)], inertia) < 1e-9


def test_wrong_lengths_are_errors():
    model = catena.Model("arm").add_link("rod", mass=1.0, inertia=[0.1] * 3)
    model.add_joint("hinge", "revolute", child="rod", axis=[0, 0, 1], limits=[-1.0, 1.0], max_velocity=1.0, max_effort=1.0)
    there = pin.buildModelFromXML(model.to_urdf())
    pair = catena.convert.Pinocchio(model, there)
    assert pair.q([[0.1], [0.2]]).shape == (2, 1)
    for call in (pair.q, pair.q_back, lambda x: pair.v([0.1], x), lambda x: pair.v_back([0.1], x), lambda x: pair.a_back([0.1], [0.2], x)):
        with pytest.raises(catena.ShapeError, match=r"has shape \(2,\), expected \(…, 1\)"):
            call([0.1, 0.2])


def test_urdf_without_limits_is_read():
    """urdfdom requires an effort and a velocity in every limit, and a limit in every prismatic joint."""
    model = catena.Model("slides", gravity=[0, 0, -9.81])
    for name, kind, keys in (("slide", "prismatic", {}), ("turn", "revolute", {"limits": [-1, 1]}), ("spin", "continuous", {"max_effort": 3.0})):
        model.add_link(name, mass=1.0, inertia=[0.1, 0.1, 0.1])
        model.add_joint(f"{name}_joint", kind, child=name, axis=[0, 0, 1], **keys)
    text = model.to_urdf()
    there = pin.buildModelFromXML(text)
    assert there.nv == 3 and there.effortLimit.tolist() == [1e16, 1e16, 3.0] and there.velocityLimit.tolist() == [1e16] * 3
    again = catena.loads(text, "urdf")
    for old, new in zip(model.joints, again.joints):
        assert (old.kind, old.limits, old.max_velocity, old.max_effort) == (new.kind, new.limits, new.max_velocity, new.max_effort)
