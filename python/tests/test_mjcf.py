"""MJCF files give MuJoCo's dynamics, and files written here are read by MuJoCo."""

import numpy as np
import pytest

import catena

mujoco = pytest.importorskip("mujoco")

FILES = ["shapes", "joints", "compiler", "classes", "meshes", "springdamper", "copies"]
ALLOWED = 1e-9


def path_of(root, name):
    if name == "two_legs":
        return root / "models" / "two_legs.xml"
    return root / "crates" / "catena-io" / "tests" / "mjcf" / f"{name}.xml"


def without_constraints(there):
    """MuJoCo's model without contacts, limits, equalities and actuators; friction is switched off if the file says so."""
    off = mujoco.mjtDisableBit
    if there.opt.disableflags & int(off.mjDSBL_FRICTIONLOSS):
        there.dof_frictionloss[:] = 0
    there.opt.disableflags |= int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_ACTUATION)
    return there


def compare(model, there):
    assert (model.nq, model.nv) == (there.nq, there.nv)
    rng = np.random.default_rng(5)
    data = mujoco.MjData(there)
    for seed in range(5):
        q, v = model.random(seed)
        tau = rng.uniform(-1, 1, model.nv)
        data.qpos[:], data.qvel[:] = q, v
        friction = there.dof_frictionloss * np.sign(v)
        data.qfrc_applied[:] = tau - friction
        mujoco.mj_forward(there, data)
        inertia = np.zeros((there.nv, there.nv))
        mujoco.mj_fullM(there, data, inertia)
        bias = data.qfrc_bias - data.qfrc_passive + friction
        for ours, theirs in [
            (model.inertia(q), inertia),
            (model.inverse(q, v, np.zeros(model.nv)), bias),
            (model.forward(q, v, tau), data.qacc),
        ]:
            assert np.abs(ours - theirs).max() <= ALLOWED * np.abs(theirs).max()


@pytest.mark.parametrize("name", FILES + ["two_legs"])
def test_agrees_with_mujoco(root, name):
    path = path_of(root, name)
    there = without_constraints(mujoco.MjModel.from_xml_path(str(path)))
    compare(catena.load(path).open_tree(), there)


@pytest.mark.parametrize("name", FILES + ["two_legs"])
def test_mujoco_reads_what_is_written(root, name):
    model = catena.load(path_of(root, name))
    there = without_constraints(mujoco.MjModel.from_xml_string(model.to_mjcf()))
    compare(model.open_tree(), there)


def test_reference_position_is_where_states_start(root):
    path = path_of(root, "joints")
    there = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(there)
    mujoco.mj_forward(there, data)
    model = catena.load(path)
    place = model.pose(there.qpos0, "knee")
    expected = data.site("knee").xpos
    assert np.abs(np.asarray(place)[:3, 3] - expected).max() < 1e-14


def test_what_is_not_supported_is_ignored_on_request(tmp_path):
    text = '<mujoco><option density="1.2"/><worldbody><body><joint/><geom size="0.1"/></body></worldbody></mujoco>'
    with pytest.raises(catena.Error, match="fluid"):
        catena.loads(text, "mjcf")
    model = catena.loads(text, "mjcf", ignore=["fluid"])
    assert any(note.startswith("left out on request") for note in model.assumptions)
    assert catena.loads(text, "mjcf", ignore="fluid").nv == 1
    with pytest.raises(catena.InputError, match="ignore"):
        catena.loads(text, "mjcf", ignore=3)
    model.save(tmp_path / "ball.xml")
    assert catena.load(tmp_path / "ball.xml").nv == 1
    with pytest.raises(catena.Error, match="URDF cannot express"):
        catena.model("zoo").save(tmp_path / "zoo.urdf")
