"""What goes wrong, as exceptions: what, where, and what to do.

Every exception of catena is an `Error`. Its text is what the program prints: the message, the place, a hint.
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

    `message` says what is wrong, `file` and `line` where (if known), `hint` what to do (if known). `row` is the number of the
    state that failed among many; `run` is what was computed of a simulation before it failed.
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
    """A model that cannot be read, does not fit together, or that no physical system can have."""


class InputError(Error, ValueError):
    """An argument that cannot be used."""


class ShapeError(InputError):
    """An array of the wrong shape: `argument` names it, `expected` and `given` are the shapes as text."""

    argument: str
    expected: str
    given: str


class NotFinite(InputError):
    """A number that is not finite: `argument`, `row` (for many states) and `column` tell which."""

    argument: str
    column: int


class SingularError(Error, ArithmeticError):
    """A joint that cannot be accelerated at this state, or a matrix that has no inverse."""


class IntegrationError(Error, RuntimeError):
    """A motion that cannot be followed further in time; `run` holds what was computed."""


class UnsupportedError(Error, NotImplementedError):
    """Something real that this version does not do."""


class InternalError(Error, RuntimeError):
    """A mistake in catena itself. Please report it."""
