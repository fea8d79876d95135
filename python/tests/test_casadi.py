"""Generated C as external functions of CasADi: values and Jacobians."""

import shutil
import subprocess

import numpy as np
import pytest

import catena
from catena._manifold import increments

casadi = pytest.importorskip("casadi")

compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def library(model, folder, **options):
    """The model's functions as a library for CasADi."""
    model.generate("c", folder=folder, name="robot", casadi=True, **options)
    command = ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", "robot.so", "robot.c", "robot_casadi.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "robot.so")


@compiler
@pytest.mark.parametrize("name", ["stanford", "space-robot", "zoo"])
def test_values_and_jacobians(name, tmp_path):
    model = catena.model(name)
    path = library(model, tmp_path, functions=["inverse", "forward"])
    for question, derivatives in (("inverse", model.inverse_derivatives), ("forward", model.forward_derivatives)):
        function = casadi.external(f"robot_casadi_{question}", path)
        assert function.size1_in(0) == model.nq and function.size1_out(0) == model.nv
        q, v, x = (casadi.MX.sym(key, n) for key, n in (("q", model.nq), ("v", model.nv), ("x", model.nv)))
        result = function(q, v, x)
        blocks = casadi.Function("blocks", [q, v, x], [casadi.jacobian(result, by) for by in (q, v, x)])
        for seed in range(5):
            numbers = *model.random(seed), np.random.default_rng(seed).uniform(-1, 1, model.nv)
            right = getattr(model, question)(*numbers)
            found = np.array(function(*numbers)).ravel()
            assert np.abs(found - right).max() < 1e-12 * max(1.0, np.abs(right).max())
            by_q, by_v, by_x = derivatives(*numbers)
            for ours, theirs in zip((by_q @ increments(model, numbers[0]), by_v, by_x), blocks(*numbers)):
                assert np.abs(np.array(theirs) - ours).max() < 1e-9 * max(1.0, np.abs(ours).max())


@compiler
def test_the_jacobian_is_that_of_the_function(tmp_path):
    # a quaternion of any length: the function scales it, and the Jacobian is that of the function so made
    model = catena.model("space-robot")
    function = casadi.external("robot_casadi_inverse", library(model, tmp_path, functions=["inverse"]))
    q = casadi.MX.sym("q", model.nq)
    (start, v), x = model.random(1), np.ones(model.nv)
    start[3:7] *= 1.3
    jacobian = np.array(casadi.Function("j", [q], [casadi.jacobian(function(q, v, x), q)])(start))
    for k in range(model.nq):
        step = 1e-6 * np.eye(model.nq)[k]
        change = np.array(function(start + step, v, x) - function(start - step, v, x)).ravel() / 2e-6
        assert np.abs(jacobian[:, k] - change).max() < 1e-6 * max(1.0, np.abs(change).max())
    assert np.allclose(jacobian[:, 3:7] @ start[3:7], 0, atol=1e-9)


@compiler
def test_a_minimum_found_by_casadi(tmp_path):
    # the posture of least holding efforts, by IPOPT with the Jacobian above
    model = catena.model("planar3")
    function = casadi.external("robot_casadi_inverse", library(model, tmp_path, functions=["inverse"]))
    q = casadi.MX.sym("q", 3)
    effort = function(q, np.zeros(3), np.zeros(3))
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.hessian_approximation": "limited-memory"}
    solver = casadi.nlpsol("solver", "ipopt", {"x": q, "f": casadi.sumsqr(effort)}, options)
    found = np.array(solver(x0=[0.3, 0.2, 0.1])["x"]).ravel()
    assert np.abs(model.gravity(found)).max() < 1e-3


def test_what_is_refused(arm):
    for options, words in (
        ({"language": "rust"}, "CasADi loads C"),
        ({"functions": ["energy"]}, "no function for CasADi"),
        ({"parameters": "masses"}, "no parameters"),
    ):
        with pytest.raises(catena.Error, match=words):
            arm.generate(casadi=True, **options)
