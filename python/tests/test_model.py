"""Where models come from, what they are made of, and copies of them."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import catena


def pendulum(**keys):
    return (
        catena.Model("pendulum", **keys)
        .add_link("rod", mass=1.0, centre=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
        .add_joint("hinge", "revolute", child="rod", axis=[0, 1, 0], damping=0.1)
        .add_frame("tip", "rod", origin=[0, 0, -1])
    )


def four_bar():
    steel = {"mass": 1.0, "centre": [0.5, 0, 0], "inertia": [0.01, 0.1, 0.1]}
    return (
        catena.Model("bars")
        .add_link("crank", **steel)
        .add_link("rod", **steel)
        .add_link("rocker", **steel)
        .add_joint("a", "revolute", child="crank", axis=[0, 1, 0])
        .add_joint("b", "revolute", child="rod", axis=[0, 1, 0], origin=[1, 0, 0])
        .add_joint("c", "revolute", child="rocker", axis=[0, 1, 0], origin=[1, 0, 0])
        .close_loop("d", "revolute", parent="world", child="rocker", axis=[0, 1, 0], origin=[1, 0, 0], child_origin=[-1, 0, 0])
    )


def test_files(root):
    for name in ("stanford.toml", "gripper.json", "double_pendulum.urdf", "space_robot.toml"):
        model = catena.load(root / "models" / name)
        assert model.nv > 0 and model.name
    stanford = catena.load(root / "models" / "stanford.toml")
    q, v = stanford.random(1)
    assert np.allclose(stanford.inverse(q, v), catena.model("stanford").inverse(q, v), rtol=1e-12)
    heavy = "<inertial><mass value='5'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    text = (root / "models" / "double_pendulum.urdf").read_text()
    text = text.replace('<link name="ceiling"/>', f'<link name="ceiling">{heavy}</link>')
    assert catena.loads(text, "urdf", base="free").nv == catena.loads(text, "urdf").nv + 6


def test_texts(root):
    text = (root / "models" / "double_pendulum.urdf").read_text()
    assert catena.loads(text, "urdf").nv == catena.load(root / "models" / "double_pendulum.urdf").nv
    stanford = catena.model("stanford")
    for model in (catena.loads(stanford.to_toml(), "toml"), catena.loads(stanford.to_json(), "json")):
        q, v = stanford.random(2)
        assert np.array_equal(model.inverse(q, v), stanford.inverse(q, v))


def test_embedded_models():
    assert "stanford" in catena.models()
    assert catena.model("chain-12").nv == 12


def test_builder():
    model = pendulum()
    assert (model.nq, model.nv, model.freedoms) == (1, 1, ["hinge"])
    assert model.frames == ["world", "rod", "tip"]
    assert model.gravity([np.pi / 2])[0] == pytest.approx(9.81 * 0.5)
    assert model.pose([0.0], "tip")[2, 3] == pytest.approx(-1.0)
    assert pendulum(gravity=[0, 0, 0]).gravity([1.0])[0] == 0.0
    joint = model.joint("hinge")
    assert (joint.kind, joint.parent, joint.child, joint.q, joint.v) == ("revolute", "world", "rod", slice(0, 1), slice(0, 1))
    free = catena.Model("box", base="free").add_link("box", mass=2.0, inertia=[1, 1, 1])
    assert (free.nq, free.nv) == (7, 6)


def test_a_model_grows_after_it_was_used():
    model = pendulum()
    assert model.nv == 1
    model.add_link("second", mass=1.0, inertia=[0.1, 0.1, 0.1])
    model.add_joint("elbow", "revolute", parent="rod", child="second", origin=[0, 0, -1], axis=[0, 1, 0])
    assert model.nv == 2
    stanford = catena.model("stanford")
    last = stanford.bodies[-1]
    assert "camera" in stanford.add_frame("camera", last, origin=[0, 0, 0.1]).frames


def test_builder_with_a_loop():
    bars = four_bar()
    assert bars.constraints == ["d"]
    closed = bars.assemble([2.0, -0.9, -1.1], hold=["a"])
    assert closed.freedoms == 1 and closed.residuals[0] < 1e-10
    assert closed.q[0] == pytest.approx(2.0)


def test_replace(arm):
    hand = arm.bodies[-1]
    heavy = arm.replace(mass={hand: 2.0}, gravity=[0, 0, -1.62])
    assert heavy.gravity_vector == [0, 0, -1.62]
    assert heavy.mass - arm.mass == pytest.approx(2.0 - next(j["mass"] for j in arm._joints() if j["child"] == hand))
    q, v = arm.random(1)
    assert not np.allclose(heavy.inverse(q, v), arm.inverse(q, v))
    damped = arm.replace(damping={arm.joints[0].name: 3.0})
    assert damped.inverse(q, v)[0] - arm.inverse(q, v)[0] == pytest.approx(3.0 * v[0])
    again = heavy.replace(mass={hand: next(j["mass"] for j in arm._joints() if j["child"] == hand)}, gravity=arm.gravity_vector)
    assert np.array_equal(again.inverse(q, v), arm.inverse(q, v))
    tensor = arm.replace(inertia={hand: np.diag([1.0, 1.0, 1.0])}, centre={hand: [0, 0, 0.3]})
    assert np.allclose(tensor.inertia(q), tensor.replace(inertia={hand: [1, 1, 1]}).inertia(q))


@pytest.mark.parametrize("way", ["pickle", "copy", "deepcopy"])
@pytest.mark.parametrize("name", ["stanford", "space-robot", "four-bar-1", "random-9-4"])
def test_copies_are_the_same_to_the_last_bit(name, way):
    model = catena.model(name)
    other = {"pickle": lambda m: pickle.loads(pickle.dumps(m)), "copy": copy.copy, "deepcopy": copy.deepcopy}[way](model)
    q, v = model.random(1)
    assert type(other) is catena.Model
    assert other.name == model.name and other.frames == model.frames
    assert np.array_equal(other.inertia(q), model.inertia(q))
    assert np.array_equal(other.kinematics(q, v).accelerations, model.kinematics(q, v).accelerations)


def test_a_pickle_of_an_unfinished_model():
    model = pickle.loads(pickle.dumps(catena.Model("part").add_link("rod", mass=1.0, inertia=[1, 1, 1])))
    assert model.add_joint("hinge", "revolute", child="rod").nv == 1


def test_pool_of_processes(arm):
    from concurrent.futures import ProcessPoolExecutor
    import multiprocessing

    q, _ = arm.random(1)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert np.array_equal(pool.submit(arm.gravity, q).result(), arm.gravity(q))


def test_save(arm, tmp_path):
    q, v = arm.random(1)
    for name in ("arm.toml", "arm.json"):
        arm.save(tmp_path / name)
        assert np.array_equal(catena.load(tmp_path / name).inverse(q, v), arm.inverse(q, v))


def test_text_and_pictures(arm):
    text = repr(arm)
    assert text.splitlines()[0].startswith("stanford: 6 bodies, 6 freedoms")
    assert all(body in text for body in arm.bodies)
    assert arm._repr_html_().count("<svg") == 1
    assert repr(catena.Model()).startswith("<catena.Model, incomplete")
    assert len(repr(catena.model("chain-1000")).splitlines()) == 59
    assert len(catena.model("chain-1000").tree().splitlines()) == 1002
    assert arm.figure(np.array([arm.neutral()] * 3)).startswith("<svg")


def test_derive_generate_count_check(arm, tmp_path):
    planar = catena.model("planar3")
    assert "$" in planar.derive(symbols="all")
    assert planar.derive("latex").startswith("\\documentclass")
    assert "sympy" in planar.derive("sympy", symbols=["masses", "gravity"])
    files = arm.generate("c", functions=["inverse"], folder=tmp_path)
    assert files and all((tmp_path / name).read_text() == text for name, text in files.items())
    m, a = arm.count(["inverse"])["inverse"]
    assert 0 < a < m < 1000
    laws = arm.check(2)
    assert laws.hold and len(laws) > 10


def test_generated_python_agrees(arm):
    files = arm.generate("python", functions=["forward"], name="stanford")
    space = {}
    exec(next(text for name, text in files.items() if name == "stanford.py"), space)
    q, v = arm.random(4)
    tau = np.linspace(-1, 1, 6)
    found = space["forward"](q.tolist(), v.tolist(), tau.tolist())
    assert np.allclose(found, arm.forward(q, v, tau), rtol=1e-9, atol=1e-9)


def test_conformance(arm, tmp_path):
    path = tmp_path / "case.json"
    path.write_text(arm.conformance_case("own", states=2))
    report = catena.verify(path)
    assert report["passed"] and report["samples"] >= 2
    path.write_text(arm.conformance_case("own", states=2).replace("9.81", "9.80", 1))
    assert not catena.verify(path)["passed"]


def test_doctor_and_formulations():
    bar = catena.model("four-bar-1")
    found = bar.doctor([1.2, -1.2, 1.2])
    assert found.freedoms == 1 and found.redundant == 3
    assert "dependent" in str(found)
    q = bar.assemble([1.2, -1.2, 1.2]).q
    ways = ["lagrangian", "cut-loops", "svd", "null-space"]
    found = [bar.solve(q, formulation=way).accelerations for way in ways]
    for other in found:
        assert np.allclose(other, bar.forward(q), atol=1e-9)
    loads = bar.loads(q)
    assert np.allclose(loads.accelerations, bar.forward(q))
    assert set(loads.constraints) == set(bar.constraints)
    other = bar.solve(q, formulation="lagrangian")
    for name, load in loads.constraints.items():
        assert np.allclose(other.constraints[name], load, atol=1e-8)


def test_closed_chains_have_both_dynamics():
    bar = catena.model("four-bar-1")
    q = bar.assemble([1.2, -1.2, 1.2]).q
    motor = [bar.freedoms[0]]
    a = bar.forward(q)
    tau = bar.inverse(q, a=a, actuators=motor)
    assert np.allclose(tau, 0, atol=1e-9)
    tau = np.array([1.0, 0, 0])
    assert np.allclose(bar.inverse(q, a=bar.forward(q, tau=tau), actuators=motor), tau, atol=1e-9)
    assert bar.forward(np.array([q, q])).shape == (2, 3)
    d = bar.forward_derivatives(q, tau=tau)
    more = bar.forward(q, tau=tau + 1e-3 * np.eye(3)[0]) - bar.forward(q, tau=tau)
    assert np.allclose(d.tau[:, 0], more / 1e-3, atol=1e-9)
    along, step = np.array([1.0, -1.0, 1.0]), 1e-4
    moved = (bar.forward(q + step * along) - bar.forward(q - step * along)) / (2 * step)
    assert np.allclose(bar.forward_derivatives(q).q @ along, moved, atol=1e-6)
    assert bar.forward_derivatives(np.array([q, q])).v.shape == (2, 3, 3)
    assert any("multipliers" in text for text in bar.generate(language="c", functions=["forward"]).values())
    assert bar.open_tree().inverse(q).shape == (3,)


def test_results_in_notebooks():
    bar = catena.model("four-bar-1")
    assert "rows that depend on others" in bar.doctor([1.2, -1.2, 1.2])._repr_html_()
    planar = catena.model("planar3")
    laws = planar.check(1)
    assert laws._repr_html_().count("<tr>") == 1 + len(laws)
    one, many = planar.factor(np.zeros(3)), planar.factor(np.zeros((5, 3)))
    assert one._repr_html_().count("<tr>") == 4 and "5 states" in many._repr_html_()
    falls = planar.ensemble(np.zeros((4, 3)), duration=0.1)
    assert "Ensemble of 4 runs" in falls._repr_html_() and "energy_error" in falls._repr_html_()
    text = planar.derive("latex")
    shown = text._repr_latex_()
    assert shown.count("$$") == 2 * text.count("begin{align*}") > 0 and "documentclass" not in shown
    assert planar.derive()._repr_latex_() is None


def test_other_roots(space_robot):
    q, v = space_robot.random(2)
    new = space_robot.rerooted("link6", q, v)
    assert new.model.bodies[0] == "link6" and new.model.nv == space_robot.nv
    for frame in ("spacecraft", "link3", "tool"):
        assert np.allclose(new.model.pose(new.q, frame), space_robot.pose(q, frame), atol=1e-12)
    assert np.isclose(new.model.energies(new.q, new.v).kinetic, space_robot.energies(q, v).kinetic, rtol=1e-12)
    alone = space_robot.rerooted("link6")
    assert alone.q is None and alone.v is None
    with pytest.raises(catena.InputError):
        catena.model("planar3").rerooted("link3")


def test_floating_robots_in_the_papers_variables(space_robot):
    q, v = space_robot.random(2)
    found = space_robot.space(q, v, frame="tool")
    twist = np.concatenate([found["twist"]["angular"], found["twist"]["linear"]])
    rates = v[6:]
    kinetic = 0.5 * (twist @ found["I_e"] @ twist + 2 * twist @ found["I_em"] @ rates + rates @ found["I_m"] @ rates)
    assert np.isclose(kinetic, space_robot.energies(q, v).kinetic, rtol=1e-12)
    at = space_robot.barycentres(q)
    assert at["barycentres"].shape == (7, 3) and at["mass"] == pytest.approx(space_robot.mass)
    with pytest.raises(catena.InputError, match="float"):
        catena.model("planar3").space(np.zeros(3))
    with pytest.raises(catena.NotFinite) as caught:
        space_robot.space(np.where(np.arange(13) == 8, np.nan, q))
    assert (caught.value.argument, caught.value.column) == ("q", 8)


def test_formulations_side_by_side():
    bar = catena.model("four-bar-1")
    start = bar.assemble([1.2, -1.2, 1.2])
    found = bar.compare(start.q, start.v, np.array([1.0, 0.0, 0.0]))
    right = bar.forward(start.q, start.v, [1.0, 0.0, 0.0])
    assert found.pop("tree-null-space")["refused"].startswith("the null space from the graph is that of a tree")
    assert len(found) > 5
    for name, one in found.items():
        assert np.allclose(one["a"], right, atol=1e-9), name
    driven = {"actuators": [bar.freedoms[0]]}
    efforts = bar.inverse(start.q, start.v, right, **driven)
    assert np.allclose(bar.inverse(start.q, start.v, right, formulation="lagrangian", **driven), efforts, atol=1e-7)
    arm = catena.model("planar3")
    q, v = arm.random(1)
    assert np.allclose(arm.inverse(np.array([q, q]), v, v, formulation="lagrangian"), arm.inverse(q, v, v), atol=1e-7)


def test_python_without_the_global_lock_is_refused():
    program = "import sys; sys.version = '3.14.0 free-threading build (main)'; import catena"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 1 and "ImportError: catena does not support" in found.stderr
