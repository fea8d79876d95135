"""Functions for PyTorch: values, gradients by its own checker, batches. Its wheel is large: run where it is installed."""

import numpy as np
import pytest

import catena

torch = pytest.importorskip("torch", reason="torch is not installed")
catena_torch = pytest.importorskip("catena.torch")


@pytest.fixture(params=["stanford", "space-robot"])
def model(request):
    return catena.model(request.param)


def tensors(model, states):
    q, v = states(model, 3)
    x = np.random.default_rng(1).uniform(-1, 1, v.shape)
    return q, v, x, tuple(torch.tensor(array, requires_grad=True) for array in (q, v, x))


def close(found, right):
    """Equal up to the scaling of quaternions to length one."""
    return np.abs(found.detach().numpy() - right).max() < 1e-13 * np.abs(right).max()


@pytest.mark.parametrize("name", ["inverse", "forward"])
def test_values_and_gradients(model, states, name):
    q, v, x, inputs = tensors(model, states)
    function = getattr(catena_torch, name)(model)
    assert close(function(*inputs), getattr(model, name)(q, v, x))
    one = tuple(tensor[0].detach().requires_grad_() for tensor in inputs)
    assert torch.autograd.gradcheck(function, one, eps=1e-6, atol=1e-4, rtol=1e-5, check_forward_ad=True)
    assert torch.autograd.gradcheck(function, inputs, eps=1e-6, atol=1e-4, rtol=1e-5)


def test_derivatives_are_the_analytic_ones(model, states):
    q, v, x, inputs = tensors(model, states)
    by_v = torch.autograd.functional.jacobian(lambda v: catena_torch.forward(model)(inputs[0][0], v, inputs[2][0]), inputs[1][0])
    assert close(by_v, model.forward_derivatives(q[0], v[0], x[0]).v)


def test_vmap_and_broadcasting(model, states):
    q, v, x, (tq, tv, tx) = tensors(model, states)
    function = catena_torch.inverse(model)
    rows = torch.func.vmap(function)(tq, tv, tx)
    assert close(rows, model.inverse(q, v, x))
    jacobians = torch.func.vmap(torch.func.jacrev(function, argnums=2), in_dims=(0, None, 0))(tq, tv[0], tx)
    assert np.allclose(jacobians.detach().numpy(), model.inertia(q), atol=1e-12)
    forward_mode = torch.func.vmap(torch.func.jacfwd(function, argnums=1))(tq, tv, tx)
    assert np.allclose(forward_mode.detach().numpy(), model.inverse_derivatives(q, v, x).v, atol=1e-12)
    assert function(tq, tv[0], tx[:, None, :]).shape == (3, 3, model.nv)
    single = function(tq.float(), tv.float(), tx.float())
    assert single.dtype == torch.float32 and torch.allclose(single.double(), rows, rtol=1e-4, atol=1e-3)


def test_a_step_and_its_gradient(model):
    q, v = (torch.tensor(array) for array in model.random(3))
    tau = torch.zeros(model.nv, dtype=torch.float64, requires_grad=True)
    move = catena_torch.step(model, 1e-3)
    q1, v1 = (x.detach().numpy() for x in move(q, v, tau))
    assert np.allclose(v1, v.numpy() + 1e-3 * model.forward(q.numpy(), v.numpy(), np.zeros(model.nv)))
    assert np.allclose(q1, model.step(q.numpy(), 1e-3 * v1), atol=1e-14)

    def cost(tau):
        state = (q, v)
        for _ in range(5):
            state = move(*state, tau)
        return (state[1] ** 2).sum() + (state[0] ** 2).sum()

    assert torch.autograd.gradcheck(cost, (tau,), atol=1e-6, rtol=1e-5)


def test_what_is_refused(model):
    with pytest.raises(ValueError, match="q has shape"):
        catena_torch.inverse(model)(torch.zeros(2), torch.zeros(model.nv), torch.zeros(model.nv))
