"""Dynamics as functions that JAX differentiates, batches and compiles (`pip install jax`).

Derivatives are catena's analytic ones, in forward and reverse mode; `jax.vmap` becomes rows of one call. Numbers are float64 inside; enable
64 bits in JAX (`jax.config.update("jax_enable_x64", True)`), or results are rounded to float32.

For quaternions, the derivatives along rotations of the joint are converted to derivatives by the four numbers; the derivative along a change
of the quaternion's length is zero.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Tuple

import jax
import jax.numpy as jnp
import numpy as np

from ._manifold import increments, plain, quaternions, unit
from ._model import Model
from .errors import ShapeError

__all__ = ["inverse", "forward", "step"]

Function = Callable[[Any, Any, Any], Any]


def _rows(call: Callable[..., Any], arrays: Tuple[Any, ...]) -> Any:
    """Calls with every leading dimension in rows."""
    arrays = tuple(np.asarray(x, dtype=np.float64) for x in arrays)
    lead = arrays[0].shape[:-1]
    found = call(*(x.reshape((-1, x.shape[-1])) for x in arrays))
    return jax.tree_util.tree_map(lambda x: x.reshape(lead + x.shape[1:]), found)


def _differentiable(model: Model, value: Callable[..., Any], derivatives: Callable[..., Any]) -> Function:
    nq, nv = model.nq, model.nv

    def call(q: Any, v: Any, x: Any) -> Any:
        shape = jax.ShapeDtypeStruct((nv,), q.dtype)
        ask = lambda *arrays: np.asarray(_rows(lambda q, v, x: value(unit(model, q), v, x), arrays), dtype=q.dtype)
        return jax.pure_callback(ask, shape, q, v, x, vmap_method="broadcast_all")

    def all_derivatives(q: Any, v: Any, x: Any) -> Any:
        shapes = tuple(jax.ShapeDtypeStruct((nv, n), q.dtype) for n in (nq, nv, nv))

        def ask(*arrays: Any) -> Any:
            def rows(q: np.ndarray, v: np.ndarray, x: np.ndarray) -> Any:
                d = derivatives(unit(model, q), v, x)
                return d[0] @ increments(model, q), d[1], d[2]

            return tuple(np.asarray(d, dtype=q.dtype) for d in _rows(rows, arrays))

        return jax.pure_callback(ask, shapes, q, v, x, vmap_method="broadcast_all")

    function = jax.custom_jvp(call)

    @function.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        by = all_derivatives(*primals)
        return function(*primals), sum(d @ t for d, t in zip(by, tangents))

    def checked(q: Any, v: Any, x: Any) -> Any:
        q = jnp.asarray(q)
        dtype = jnp.result_type(q, float)
        arguments = q.astype(dtype), jnp.asarray(v, dtype), jnp.asarray(x, dtype)
        for name, array, width in zip(("q", "v", "the third argument"), arguments, (nq, nv, nv)):
            if array.shape != (width,):
                expected, given = f"({width},)", str(array.shape)
                message = f"{name} has shape {given}, expected {expected}: one state"
                raise ShapeError(message, argument=name, expected=expected, given=given, hint="`jax.vmap` makes a function of many")
        return function(*arguments)

    return checked


def inverse(model: Model) -> Function:
    """The function (q, v, a) → τ of one state; batches by `jax.vmap`.

    SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    body's.
    """
    return _differentiable(model, model.inverse, model.inverse_derivatives)


def forward(model: Model) -> Function:
    """The function (q, v, τ) → v̇ of one state; batches by `jax.vmap`.

    SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    body's.
    """
    return _differentiable(model, model.forward, model.forward_derivatives)


def _moved(model: Model, q: Any, delta: Any) -> Any:
    """q ⊕ δ in JAX."""
    out = q
    for at, to, count in plain(model):
        out = out.at[at : at + count].add(delta[to : to + count])
    for at, to in quaternions(model):
        p, h = q[at : at + 4], 0.5 * delta[to : to + 3]
        squared = h @ h
        small = squared < 1e-8
        length = jnp.sqrt(jnp.where(small, 1.0, squared))
        sinc = jnp.where(small, 1 - squared / 6, jnp.sin(length) / length)
        w = jnp.where(small, 1 - squared / 2, jnp.cos(length))
        x, y, z = h * sinc
        pw, px, py, pz = p
        turned = jnp.stack(
            [
                pw * w - px * x - py * y - pz * z,
                pw * x + px * w + py * z - pz * y,
                pw * y - px * z + py * w + pz * x,
                pw * z + px * y - py * x + pz * w,
            ]
        )
        out = out.at[at : at + 4].set(turned / jnp.linalg.norm(turned))
    return out


def step(model: Model, h: float) -> Callable[[Any, Any, Any], Tuple[Any, Any]]:
    """The function (q, v, τ) → (q, v) of one step of h s: v first, then q with the new v (semi-implicit Euler).

    SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    body's.
    """
    accelerations = forward(model)

    @partial(jax.jit)
    def move(q: Any, v: Any, tau: Any) -> Tuple[Any, Any]:
        v = v + h * accelerations(q, v, tau)
        return _moved(model, q, h * v), v

    return move
