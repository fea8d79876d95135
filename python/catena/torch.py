"""Dynamics as functions that PyTorch differentiates (`pip install torch`).

Derivatives are catena's analytic ones, in forward and reverse mode. All arguments may have leading dimensions, which are broadcast and become rows
of one call; so do those of `torch.func.vmap`. Numbers are float64 inside; results have the type and the device of q.

For quaternions, the derivatives along rotations of the joint are converted to derivatives by the four numbers; the derivative along a change
of the quaternion's length is zero.
"""

from __future__ import annotations

from typing import Any, Callable, Tuple

import numpy as np
import torch

from ._manifold import increments, plain, quaternions, unit
from ._model import Model

__all__ = ["inverse", "forward", "step"]

Tensor = torch.Tensor
Function = Callable[[Tensor, Tensor, Tensor], Tensor]


def _rows(call: Callable[..., Any], tensors: Tuple[Tensor, ...]) -> Any:
    """Calls with arrays whose leading dimensions are rows, and gives tensors of the same leading dimensions."""
    like, lead = tensors[0], tensors[0].shape[:-1]
    arrays = (x.detach().to("cpu", torch.float64).numpy().reshape((-1, x.shape[-1])) for x in tensors)

    def tensor(array: np.ndarray) -> Tensor:
        array = np.ascontiguousarray(array.reshape(tuple(lead) + array.shape[1:]))
        return torch.from_numpy(array).to(like.device, like.dtype)

    found = call(*arrays)
    return tuple(map(tensor, found)) if isinstance(found, tuple) else tensor(found)


def _first(info: Any, in_dims: Tuple[Any, ...], inputs: Tuple[Tensor, ...]) -> Tuple[Tensor, ...]:
    """The inputs of `vmap` with its dimension before all others."""
    size = (info.batch_size,)
    pairs = zip(inputs, in_dims)
    return tuple(x.expand(size + x.shape) if dim is None else x.movedim(dim, 0) for x, dim in pairs)


def _differentiable(model: Model, value: Callable[..., Any], derivatives: Callable[..., Any]) -> Function:
    def by_numbers(q: np.ndarray, v: np.ndarray, x: np.ndarray) -> Tuple[np.ndarray, ...]:
        by_q, by_v, by_x = derivatives(unit(model, q), v, x)
        return by_q @ increments(model, q), by_v, by_x

    class Derivatives(torch.autograd.Function):
        @staticmethod
        def forward(q: Tensor, v: Tensor, x: Tensor) -> Any:
            return _rows(by_numbers, (q, v, x))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            raise NotImplementedError("catena.torch has first derivatives, not second ones")

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            raise NotImplementedError("catena.torch has first derivatives, not second ones")

        @staticmethod
        def vmap(info: Any, in_dims: Any, *inputs: Tensor) -> Any:
            return Derivatives.apply(*_first(info, in_dims, inputs)), (0, 0, 0)

    class Dynamics(torch.autograd.Function):
        @staticmethod
        def forward(q: Tensor, v: Tensor, x: Tensor) -> Tensor:
            return _rows(lambda q, v, x: value(unit(model, q), v, x), (q, v, x))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, cotangent: Tensor) -> Any:
            by = Derivatives.apply(*ctx.saved_tensors)
            return tuple(torch.einsum("...ij,...i->...j", d, cotangent) for d in by)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            by = Derivatives.apply(*ctx.saved_tensors)
            parts = [torch.einsum("...ij,...j->...i", d, t) for d, t in zip(by, tangents) if t is not None]
            return sum(parts[1:], parts[0])

        @staticmethod
        def vmap(info: Any, in_dims: Any, *inputs: Tensor) -> Any:
            return Dynamics.apply(*_first(info, in_dims, inputs)), 0

    def call(q: Tensor, v: Tensor, x: Tensor) -> Tensor:
        for name, tensor, width in (("q", q, model.nq), ("v", v, model.nv), ("the third argument", x, model.nv)):
            if tensor.ndim == 0 or tensor.shape[-1] != width:
                raise ValueError(f"{name} has shape {tuple(tensor.shape)}, expected (…, {width})")
        lead = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], x.shape[:-1])
        return Dynamics.apply(*(t.to(q).expand(lead + t.shape[-1:]) for t in (q, v, x)))

    return call


def inverse(model: Model) -> Function:
    """The function (q, v, a) → τ, of tensors (…, nq), (…, nv), (…, nv).

    SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    body's.
    """
    return _differentiable(model, model.inverse, model.inverse_derivatives)


def forward(model: Model) -> Function:
    """The function (q, v, τ) → v̇, of tensors (…, nq), (…, nv), (…, nv).

    SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    body's.
    """
    return _differentiable(model, model.forward, model.forward_derivatives)


def _turned(p: Tensor, delta: Tensor) -> Tensor:
    """p ∘ exp(δ/2), of length one."""
    h = 0.5 * delta
    squared = (h * h).sum(-1, keepdim=True)
    small = squared < 1e-8
    length = torch.sqrt(torch.where(small, torch.ones_like(squared), squared))
    sinc = torch.where(small, 1 - squared / 6, torch.sin(length) / length)
    w = torch.where(small, 1 - squared / 2, torch.cos(length))
    x, y, z = (h * sinc).split(1, -1)
    pw, px, py, pz = p.split(1, -1)
    turned = torch.cat(
        [
            pw * w - px * x - py * y - pz * z,
            pw * x + px * w + py * z - pz * y,
            pw * y - px * z + py * w + pz * x,
            pw * z + px * y - py * x + pz * w,
        ],
        -1,
    )
    return turned / turned.norm(dim=-1, keepdim=True)


def _moved(model: Model, q: Tensor, delta: Tensor) -> Tensor:
    """q ⊕ δ."""
    parts = [(at, q[..., at : at + n] + delta[..., to : to + n]) for at, to, n in plain(model)]
    parts += [(at, _turned(q[..., at : at + 4], delta[..., to : to + 3])) for at, to in quaternions(model)]
    return torch.cat([part for _, part in sorted(parts, key=lambda pair: pair[0])], -1)


def step(model: Model, h: float) -> Callable[[Tensor, Tensor, Tensor], Tuple[Tensor, Tensor]]:
    """The function (q, v, τ) → (q, v) of one step of h s: v first, then q with the new v (semi-implicit Euler).

    SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
    body's.
    """
    accelerations = forward(model)

    def move(q: Tensor, v: Tensor, tau: Tensor) -> Tuple[Tensor, Tensor]:
        v = v + h * accelerations(q, v, tau)
        return _moved(model, q, h * v), v

    return move
