"""Agreement with Pinocchio's mimic joints, on the robots of example-robot-data that have some, as shipped, fixed and free."""

import pathlib
import re

import numpy as np
import pinocchio as pin
import pytest

import catena

FOLDER = pathlib.Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"

FILES = {
    "panda": "panda_description/urdf/panda.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
    "tiago_pro": "tiago_pro_description/robots/tiago_pro.urdf",
}
ROUNDING = 1e-10


def difference(ours, theirs):
    return np.abs(ours - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0))


def without_passive_forces(model):
    none = {joint.name: 0.0 for joint in model.joints}
    return model.replace(damping=none, friction=none, stiffness=none)


def read_there(text, base, mimic):
    arguments = (text, pin.JointModelFreeFlyer()) if base == "free" else (text,)
    there = pin.buildModelFromXML(*arguments, mimic=mimic)
    # Pinocchio's inverse dynamics has no passive forces, and its rotors are those of its own extension of URDF
    there.armature[:] = 0
    there.damping[:] = 0
    there.friction[:] = 0
    return there


def mimics(text):
    """Follower, source, ratio and offset of every mimic element."""
    for joint in re.findall(r"<joint\b.*?</joint>", text, flags=re.DOTALL):
        found = re.search(r"<mimic\b([^>]*)", joint)
        if found:
            name = re.search(r'\bname="([^"]*)"', joint).group(1)
            keys = dict(re.findall(r'(\w+)="([^"]*)"', found.group(1)))
            yield name, keys["joint"], float(keys.get("multiplier", 1)), float(keys.get("offset", 0))


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", FILES)
def test_mimic_joints(name, base):
    text = (FOLDER / FILES[name]).read_text(errors="ignore")
    model = without_passive_forces(catena.loads(text, "urdf", base=base, ignore_unknown=True))
    assert model.couplings and not model.constraints
    assert model.nv == model.open_tree().nv - len(model.couplings)
    rng = np.random.default_rng(7)
    count = 8
    q = np.array([model.random(k)[0] for k in range(count)])
    v, a = rng.uniform(-1, 1, (2, count, model.nv))
    tau, inertia = model.inverse(q, v, a), model.inertia(q)
    try:
        there = read_there(text, base, True)
    except ValueError:
        # Pinocchio wants a joint that mimics after the one it follows: its tree, and the map by hand
        return by_hand(text, base, model, q, v, a)
    assert there.nv == model.nv
    pair, data = catena.convert.Pinocchio(model, there), there.createData()
    pq, pv, pa = pair.q(q), pair.v(q, v), pair.a(q, v, a)
    theirs = np.array([pin.rnea(there, data, *row) for row in zip(pq, pv, pa)])
    assert difference(pair.tau(q, tau), theirs) < ROUNDING
    for k in range(count):
        matrix = pin.crba(there, data, pq[k])
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        columns = pair.v(np.repeat(q[k : k + 1], model.nv, axis=0), np.eye(model.nv))
        assert difference(inertia[k], columns @ matrix @ columns.T) < ROUNDING
        push = model.gravity(q[k]) + np.diag(inertia[k]) * a[k]
        bias = pin.rnea(there, data, pq[k], pv[k], np.zeros(there.nv))
        theirs = np.linalg.solve(matrix, pair.tau(q[k], push) - bias)
        assert difference(pair.a(q[k], v[k], model.forward(q[k], v[k], push)), theirs) < ROUNDING


def by_hand(text, base, model, q, v, a):
    """Against Pinocchio's tree without mimic joints, through q_tree = G q + c and τ = Gᵀ τ_tree."""
    there, tree = read_there(text, base, False), without_passive_forces(model.open_tree())
    pair, data = catena.convert.Pinocchio(tree, there), there.createData()
    matrix = np.zeros((tree.nv, model.nv))
    positions, offset = np.zeros((tree.nq, model.nq)), np.zeros(tree.nq)
    for row, freedom in enumerate(tree.freedoms):
        if freedom in model.freedoms:
            matrix[row, model.freedoms.index(freedom)] = 1
    for row, position in enumerate(tree.positions):
        if position in model.positions:
            positions[row, model.positions.index(position)] = 1
    for follower, source, ratio, constant in mimics(text):
        matrix[tree.freedoms.index(follower), model.freedoms.index(source)] = ratio
        positions[tree.positions.index(follower), model.positions.index(source)] = ratio
        offset[tree.positions.index(follower)] = constant
    full_q, full_v, full_a = q @ positions.T + offset, v @ matrix.T, a @ matrix.T
    pq, pv, pa = pair.q(full_q), pair.v(full_q, full_v), pair.a(full_q, full_v, full_a)
    theirs = np.array([pin.rnea(there, data, *row) for row in zip(pq, pv, pa)])
    assert difference(model.inverse(q, v, a), pair.tau_back(full_q, theirs) @ matrix) < ROUNDING
    for k in range(len(q)):
        full = pin.crba(there, data, pq[k])
        full = np.triu(full) + np.triu(full, 1).T
        columns = pair.v(np.repeat(full_q[k : k + 1], tree.nv, axis=0), np.eye(tree.nv))
        reduced = matrix.T @ (columns @ full @ columns.T) @ matrix
        assert difference(model.inertia(q[k]), reduced) < ROUNDING
        push = model.gravity(q[k]) + np.diag(reduced) * a[k]
        bias = pin.rnea(there, data, pq[k], pv[k], pair.a(full_q[k], full_v[k], np.zeros(tree.nv)))
        bias = pair.tau_back(full_q[k], bias) @ matrix
        assert difference(model.forward(q[k], v[k], push), np.linalg.solve(reduced, push - bias)) < ROUNDING


def test_names_and_refusals():
    text = (FOLDER / FILES["panda"]).read_text(errors="ignore")
    model = catena.loads(text, "urdf")
    assert model.nq == model.nv == 8 and len(model.freedoms) == len(model.positions) == 8
    assert model.couplings == ["panda_finger_joint2 = panda_finger_joint1"]
    assert "panda_finger_joint2" not in model.freedoms and "follows" in model.tree()
    q = model.neutral()
    factors = model.factor(q)
    product = factors.U @ np.diag(factors.D) @ factors.U.T
    assert difference(product, model.inertia(q)) < 1e-13
    b = np.arange(8.0)
    assert difference(model.inertia(q) @ factors.solve(b), b) < 1e-11
    with pytest.raises(catena.InputError, match="every independent freedom"):
        model.inverse(q, actuators=["panda_joint1"])
    # a run has all coordinates of the tree, and keeps the coupling
    run = model.simulate(q, duration=0.05, interval=0.01)
    assert run.q.shape == (6, 9) and run.audit.kept
    assert np.abs(run.q[:, 7] - run.q[:, 8]).max() < 1e-14
    assert "<svg" in run.strip(3) and "<svg" in model.figure(q)
