"""Control functions written in Python that run as machine code: traced once with symbols and compared with the function, which no run calls."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import numpy as np

from . import _catena
from ._control import Control
from .errors import Error, InputError

_USE = "use np.where(condition, yes, no), np.minimum, np.maximum or np.clip; or pass the function itself to `simulate`, which then calls it"
_STATES = 8
_APART = 1e-9


class _Number:
    """A symbolic number: what a traced function computes with."""

    __slots__ = ("term",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Any) -> None:
        self.term = term

    def _as(self, x: Any) -> Any:
        if isinstance(x, _Number):
            return x.term
        if isinstance(x, _Condition):
            return x.number().term
        return self.term.number(float(x))

    def __add__(self, x: Any) -> Any:
        return _Number(self.term.plus(self._as(x)))

    def __radd__(self, x: Any) -> Any:
        return _Number(self._as(x).plus(self.term))

    def __sub__(self, x: Any) -> Any:
        return _Number(self.term.minus(self._as(x)))

    def __rsub__(self, x: Any) -> Any:
        return _Number(self._as(x).minus(self.term))

    def __mul__(self, x: Any) -> Any:
        return _Number(self.term.times(self._as(x)))

    def __rmul__(self, x: Any) -> Any:
        return _Number(self._as(x).times(self.term))

    def __truediv__(self, x: Any) -> Any:
        return _Number(self.term.over(self._as(x)))

    def __rtruediv__(self, x: Any) -> Any:
        return _Number(self._as(x).over(self.term))

    def __neg__(self) -> Any:
        return 0.0 - self

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _where(self < 0.0, -self, self)

    def __pow__(self, x: Any) -> Any:
        if not isinstance(x, _Number):
            if float(x) == 0.5:
                return self.sqrt()
            if float(x).is_integer() and abs(x) <= 64:
                found, base = self * 0.0 + 1.0, self
                for bit in reversed(bin(int(abs(x)))[2:]):
                    found = found * base if bit == "1" else found
                    base = base * base
                return found if x >= 0 else 1.0 / found
        return _Number(self.term.call("power", self._as(x)))

    def __rpow__(self, x: Any) -> Any:
        return _Number(self._as(x).call("power", self.term))

    def sqrt(self) -> Any:
        return _Number(self.term.root())

    def __lt__(self, x: Any) -> Any:
        return _Condition(self, _Number(self._as(x)))

    def __gt__(self, x: Any) -> Any:
        return _Condition(_Number(self._as(x)), self)

    def __le__(self, x: Any) -> Any:
        # equal, or less: NaN is neither
        return (self < x) | (~(self > x) & (self - x < 1.0))

    def __ge__(self, x: Any) -> Any:
        return _Number(self._as(x)) <= self

    def __eq__(self, x: Any) -> Any:
        return (self <= x) & (self >= x)

    def __ne__(self, x: Any) -> Any:
        return ~(self == x)

    def __bool__(self) -> bool:
        raise InputError("the function branches on a number that is not known when it is traced", hint=_USE)

    def __float__(self) -> float:
        raise InputError(
            "the function needs the value of a number that is not known when it is traced",
            hint="use np.sin instead of math.sin, and np.zeros_like(q) instead of np.zeros(n) for arrays of results; " + _USE,
        )

    __int__ = __index__ = __round__ = __floor__ = __float__  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return _function(function, arguments, options)


def _scalar(operator: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that leaves arrays to NumPy, which calls it for every entry."""

    def apply(self: Any, x: Any) -> Any:
        return NotImplemented if isinstance(x, np.ndarray) else operator(self, x)

    return apply


for _name in ("add", "sub", "mul", "truediv", "pow", "radd", "rsub", "rmul", "rtruediv", "rpow", "lt", "gt", "le", "ge", "eq", "ne"):
    setattr(_Number, f"__{_name}__", _scalar(getattr(_Number, f"__{_name}__")))


class _Condition:
    """left < right."""

    __slots__ = ("left", "right")

    def __init__(self, left: _Number, right: _Number) -> None:
        self.left, self.right = left, right

    def number(self) -> _Number:
        """1 where it holds, else 0."""
        return _where(self, 1.0, 0.0)

    def _of(self, x: Any) -> _Number:
        return x.number() if isinstance(x, _Condition) else self.number() * 0.0 + float(bool(x))

    def __and__(self, x: Any) -> "_Condition":
        return self.number() * self._of(x) > 0.5

    def __or__(self, x: Any) -> "_Condition":
        return self.number() + self._of(x) > 0.5

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "_Condition":
        return self.number() < 0.5

    def __bool__(self) -> bool:
        raise InputError("the function branches on a comparison that is not known when it is traced", hint=_USE)

    __array_ufunc__ = _Number.__array_ufunc__
    __array_function__ = _Number.__array_function__


class _Symbols(np.ndarray):
    """An array of symbolic numbers."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:  # type: ignore[override]
        return _ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function is np.where:
            return _function(function, arguments, options)
        return super().__array_function__(function, types, arguments, options)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    if not isinstance(condition, _Condition):
        return yes if condition else no
    left = condition.left
    return _Number(left.term.choose(condition.right.term, left._as(yes), left._as(no)))


def _least(x: Any, y: Any) -> Any:
    # NaN stays NaN
    return _where(x < y, x, _where(y < x, y, 0.5 * x + 0.5 * y))


def _most(x: Any, y: Any) -> Any:
    return _where(y < x, x, _where(x < y, y, 0.5 * x + 0.5 * y))


def _sign(x: Any) -> Any:
    return _where(x < 0.0, -1.0, _where(x > 0.0, 1.0, x))


def _calls(name: str, ufunc: Any) -> Callable[..., Any]:
    def call(x: Any, y: Any = None) -> Any:
        if isinstance(x, _Number):
            return _Number(x.term.call(name) if y is None else x.term.call(name, x._as(y)))
        if isinstance(y, _Number):
            return _Number(y._as(x).call(name, y.term))
        return ufunc(x) if y is None else ufunc(x, y)

    return call


_ONE = ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "log", "floor", "ceil")
_TWO = ("arctan2", "hypot")
_TABLE: Dict[str, Any] = {
    **{name: (_calls(name, getattr(np, name)), 1) for name in _ONE},
    **{name: (_calls(name, getattr(np, name)), 2) for name in _TWO},
    "sqrt": (lambda x: x.sqrt() if isinstance(x, _Number) else np.sqrt(x), 1),
    "square": (lambda x: x * x, 1),
    "absolute": (abs, 1),
    "fabs": (abs, 1),
    "sign": (_sign, 1),
    "minimum": (_least, 2),
    "maximum": (_most, 2),
    "clip": (lambda x, low, high: _least(_most(x, low), high), 3),
    "less": (lambda x, y: x < y, 2),
    "greater": (lambda x, y: x > y, 2),
    "less_equal": (lambda x, y: x <= y, 2),
    "greater_equal": (lambda x, y: x >= y, 2),
    "equal": (lambda x, y: x == y, 2),
    "not_equal": (lambda x, y: x != y, 2),
    "logical_and": (lambda x, y: x & y, 2),
    "logical_or": (lambda x, y: x | y, 2),
    "logical_not": (lambda x: ~x if isinstance(x, _Condition) else not x, 1),
    "degrees": (lambda x: x * (180 / np.pi), 1),
    "rad2deg": (lambda x: x * (180 / np.pi), 1),
    "radians": (lambda x: x * (np.pi / 180), 1),
    "deg2rad": (lambda x: x * (np.pi / 180), 1),
}
# these work on objects through Python's operators
_PLAIN = {"add", "subtract", "multiply", "divide", "true_divide", "negative", "positive", "power", "float_power", "matmul", "reciprocal"}
_PLAIN |= {"bitwise_and", "bitwise_or", "invert", "vecdot", "matvec", "vecmat"}


def _plain(x: Any) -> Any:
    """A plain array of objects."""
    if isinstance(x, (_Number, _Condition)):
        box = np.empty((), dtype=object)
        box[()] = x
        return box
    return np.asarray(x, dtype=object) if isinstance(x, (np.ndarray, list, tuple)) else x


def _own(x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.dtype == object:
        return x.view(_Symbols) if x.ndim else x[()]
    return x


def _ufunc(ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
    name = ufunc.__name__
    out = options.pop("out", None)
    if out is not None:
        if any(place is not None and place.dtype != object for place in out):
            raise InputError(
                "an array of floats cannot hold symbolic numbers",
                hint="use np.zeros_like(q) instead of np.zeros(n), or x = x + y instead of x += y",
            )
        options["out"] = tuple(np.asarray(place) for place in out)
    given = [_plain(x) for x in inputs]
    if name in _TABLE:
        function, count = _TABLE[name]
        made = np.frompyfunc(function, count, 1)
        found = getattr(made, method)(*given, **options)
    elif name in _PLAIN:
        if name in ("power", "float_power"):
            ufunc = np.frompyfunc(lambda x, y: x**y, 2, 1)
        elif name == "reciprocal":
            ufunc = np.frompyfunc(lambda x: 1.0 / x, 1, 1)
        found = getattr(ufunc, method)(*given, **options)
    else:
        raise InputError(
            f"a traced function cannot use np.{name}",
            hint="docs/python.md lists what it can use; or pass the function itself to `simulate`, which then calls it",
        )
    return out[0] if out is not None and out[0] is not None else _own(found)


def _function(function: Any, arguments: Any, options: Any) -> Any:
    if function is np.where:
        return _own(np.frompyfunc(_where, 3, 1)(*[_plain(x) for x in arguments]))

    def boxed(x: Any) -> Any:
        if isinstance(x, (_Number, _Condition)):
            return _plain(x).view(_Symbols)
        return type(x)(boxed(each) for each in x) if type(x) in (list, tuple) else x

    return _own(function(*[boxed(x) for x in arguments], **{key: boxed(x) for key, x in options.items()}))


class Traced(Control):
    """A control function as machine code, made by `catena.traced`. `formulas` are its efforts as text; it can be called like the function."""

    def __init__(self, function: Callable[..., Any], model: Any, code: Any) -> None:
        super().__init__(kind="traced")
        self.function, self.model, self.code = function, model, code

    @property
    def formulas(self) -> List[str]:
        """The efforts as formulas of t, q and v."""
        return self.code.formulas

    def __call__(self, t: float, q: Any, v: Any) -> np.ndarray:
        return self.code.at(float(t), q, v)

    def __reduce__(self) -> Any:
        return traced, (self.function, self.model)


def _efforts(given: Any, nv: int) -> List[Any]:
    try:
        found = np.asarray(given, dtype=object)
    except ValueError:
        found = None
    if found is None or found.shape != (nv,):
        shape = "rows of different lengths" if found is None else f"the shape {found.shape}"
        raise InputError(f"the value returned by the control function has {shape}, expected ({nv},)")
    for x in found:
        if isinstance(x, (bool, np.bool_)) or not isinstance(x, (_Number, int, float, np.integer, np.floating)):
            raise InputError(f"the value returned by the control function contains {type(x).__name__}, not real numbers")
    return list(found)


def traced(function: Callable[..., Any], model: Any) -> Traced:
    """A control function (t, q, v) → efforts (nv,) compiled to machine code: the function is called now, with symbols, and never during a run.

    It can use arithmetic, `@` with constant matrices, np.where, np.minimum, np.maximum, np.clip, np.abs, np.sign, np.sqrt, trigonometric and
    hyperbolic functions, np.exp, np.log, np.floor, np.ceil, np.arctan2, np.hypot and sums. The values of outside variables are
    constants from then on. The result is compared with the function at random states. A function that keeps state, draws random numbers or reads
    a clock is rejected, and so is one that branches on a value. Unpickling traces the function again.

    >>> arm = catena.model("planar3")
    >>> def control(t, q, v):
    ...     return np.clip(10 * (0.3 * np.sin(t) - q) - v, -20, 20)
    >>> run = arm.simulate([0, 0, 0], duration=1, control=catena.traced(control, arm), rate=1000)
    >>> called = arm.simulate([0, 0, 0], duration=1, control=control, rate=1000)
    >>> bool(np.abs(run.q - called.q).max() < 1e-12)
    True
    """
    if not callable(function):
        raise InputError("traced takes a function (t, q, v)", hint="other controls need no tracing")
    # a run has all coordinates of the tree
    tree = model.open_tree()
    nq, nv = tree.nq, tree.nv
    rng = np.random.default_rng(0)
    states = [(float(rng.uniform(0, 10)), *tree.random(k)) for k in range(_STATES)]

    def asked() -> np.ndarray:
        return np.array([[float(x) for x in _efforts(function(t, q.copy(), v.copy()), nv)] for t, q, v in states])

    def body(t: Any, q: Any, v: Any) -> List[Any]:
        made = []
        for terms in (q, v):
            array = np.empty(len(terms), dtype=object)
            array[:] = [_Number(term) for term in terms]
            made.append(array.view(_Symbols))
        found = _efforts(function(_Number(t), *made), nv)
        return [x.term if isinstance(x, _Number) else t.number(float(x)) for x in found]

    before = asked()
    try:
        code = _catena.trace(body, nq, nv)
    except (TypeError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise InputError(f"the function cannot be traced: {error}", hint="docs/python.md lists what it can use; or pass the function itself to `simulate`, which then calls it") from error
    after = asked()
    if not np.array_equal(before, after, equal_nan=True):
        raise InputError(
            "the function gives two results at one time and state: it keeps state, reads a clock or draws random numbers",
            hint="such a function cannot be traced: pass the function itself to `simulate`, which then calls it",
        )
    for (t, q, v), wanted in zip(states, after):
        apart = np.abs(code.at(t, q, v) - wanted).max(initial=0.0)
        if not apart <= _APART * max(1.0, np.abs(wanted).max(initial=0.0)):
            raise InputError(
                f"the traced function differs from the function by {apart:.1e} at t = {t:.3g} s",
                hint="it does something that tracing cannot see, or has no finite value there; pass the function itself to `simulate`",
            )
    return Traced(function, model, code)
