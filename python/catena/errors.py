"""The exceptions of catena: the cause, the location and a fix.

Every exception of catena is an `Error`. Its text is what the program prints: the message, the location, a hint.
"""

from __future__ import annotations

from typing import Any, Optional

__all__ = [
    "Error",
    "ModelError",
    "InputError",
    "ShapeError",
    "NotFinite",
    "SingularError",
    "IntegrationError",
    "UnsupportedError",
    "InternalError",
]


class Error(Exception):
    """Any error of catena.

    `message` says what is wrong, `file` and `line` where (if known), `hint` what to do (if known). `row` is the index of the
    state that failed among many; `run` holds the samples of a simulation up to its failure.
    """

    message: str
    file: Optional[str] = None
    line: Optional[int] = None
    hint: Optional[str] = None
    row: Optional[int] = None
    run: Any = None

    def __init__(self, message: str, **attributes: Any) -> None:
        super().__init__(message)
        self.message = message
        for name, value in attributes.items():
            if value is not None:
                setattr(self, name, value)

    def __str__(self) -> str:
        text = self.message
        if self.file is not None or self.line is not None:
            place = [str(part) for part in (self.file, self.line) if part is not None]
            text += "\n  --> " + ":".join(place)
        if self.hint:
            text += f"\nhint: {self.hint}"
        return text

    def __reduce__(self):
        return _made_again, (type(self), self.message, dict(self.__dict__))


def _made_again(kind, message, attributes):
    error = kind(message)
    error.__dict__.update(attributes)
    return error


class ModelError(Error, ValueError):
    """A model that cannot be read, is inconsistent, or is not physical."""


class InputError(Error, ValueError):
    """An argument that cannot be used."""


class ShapeError(InputError):
    """An array of the wrong shape: `argument` names it, `expected` and `given` are the shapes as text."""

    argument: str
    expected: str
    given: str


class NotFinite(InputError):
    """A non-finite number: `argument`, `row` (for many states) and `column` say which."""

    argument: str
    column: int


class SingularError(Error, ArithmeticError):
    """A joint whose acceleration is not determined at this state, or a singular matrix."""


class IntegrationError(Error, RuntimeError):
    """A simulation that cannot continue; `run` holds the samples so far."""


class UnsupportedError(Error, NotImplementedError):
    """A valid request that this version does not support."""


class InternalError(Error, RuntimeError):
    """A mistake in catena itself. Please report it."""
