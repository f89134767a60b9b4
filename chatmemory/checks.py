"""Checks of arguments that many constructors share. Decides what a number must be; knows errors only."""

from __future__ import annotations

from chatmemory.errors import InvalidArgumentError


def check_count(name: str, value: object, *, least: int | None = 1) -> None:
    """Refuse what is no whole number, or less than `least`.

    Raises:
        InvalidArgumentError: Naming the argument and what to give.
    """
    wanted = "an int" if least is None else f"an int of {least} or more"
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgumentError(name, f"is of type {type(value).__name__}; give {wanted}")
    if least is not None and value < least:
        raise InvalidArgumentError(name, f"is {value}; give {wanted}")
