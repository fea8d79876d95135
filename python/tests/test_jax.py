"""Functions for JAX, looked at by its own checker of gradients."""

import numpy as np
import pytest

import catena

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

import catena.jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402


@pytest.fixture(params=["stanford", "space-robot", "spherical-chain-2"])
def model(request):
    return catena.model(request.param)


def test_values(model):
    q, v = model.random(1)
    x = np.linspace(-1, 1, model.nv)
    assert np.allclose(catena.jax.inverse(model)(q, v, x), model.inverse(q, v, x))
    assert np.allclose(jax.jit(catena.jax.forward(model))(q, v, x), model.forward(q, v, x))


def test_gradients(model):
    q, v = model.random(2)
    x = np.linspace(-1, 1, model.nv)
    for function in (catena.jax.inverse(model), catena.jax.forward(model)):
        scale = float(jnp.abs(function(q, v, x)).max())
        check_grads(lambda q, v, x: function(q, v, x) / scale, (q, v, x), order=1, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


def test_batches(model):
    states = [model.random(k) for k in range(7)]
    q, v = (np.array(part) for part in zip(*states))
    x = np.ones_like(v)
    function = catena.jax.forward(model)
    assert np.allclose(jax.vmap(function)(q, v, x), model.forward(q, v, x))
    by_v = jax.vmap(jax.jacrev(function, argnums=1))(q, v, x)
    assert np.allclose(by_v, model.forward_derivatives(q, v, x).v, atol=1e-7)


def test_a_step_and_its_gradient(model):
    q, v = model.random(3)
    tau = np.zeros(model.nv)
    move = catena.jax.step(model, 1e-3)
    q1, v1 = move(q, v, tau)
    assert np.allclose(v1, v + 1e-3 * model.forward(q, v, tau))
    assert np.allclose(q1, model.step(q, 1e-3 * np.asarray(v1)), atol=1e-14)

    def cost(tau):
        state = (jnp.asarray(q), jnp.asarray(v))
        for _ in range(5):
            state = move(*state, tau)
        return jnp.sum(state[1] ** 2)

    check_grads(cost, (tau,), order=1, modes=("rev",), atol=1e-6, rtol=1e-5)


def test_wrong_shapes_are_told_before_jax_calls(arm):
    forward, q = catena.jax.forward(arm), np.zeros(6)
    with pytest.raises(catena.ShapeError, match=r"q has shape \(5,\), expected \(6,\): one state\nhint: `jax.vmap`"):
        forward(q[:5], q, q)
    with pytest.raises(catena.ShapeError, match=r"v has shape \(3, 6\), expected \(6,\)"):
        jax.jit(forward)(q, np.zeros((3, 6)), q)
