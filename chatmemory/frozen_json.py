"""JSON that nobody can change: what providers send and this library does not model.

Decides: which Python values are JSON, and how they are held. The value is kept as JSON text, so that it
is immutable, hashable and small, keeps its order of keys, and every look at it is a fresh copy. Strings
survive code point by code point: no character is escaped that would not come back as the same one.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

from attrs import field, frozen

from chatmemory.errors import InvalidMessageError

MAX_DEPTH: Final = 100
_LONGEST_NAME: Final = 40
MAX_INTEGER_DIGITS: Final = 4_300
"""What Python itself reads back from text by default (``sys.int_info.default_max_str_digits``)."""


dump_json: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""Returns a value as compact JSON text; every code point stays as it is."""


def _canonical(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True)


@frozen(repr=False)
class FrozenJson:
    """One JSON value, held as text. Equal where the values are equal, whatever the order of keys."""

    text: str = field(eq=_canonical)

    @classmethod
    def of(cls, value: Any, path: str = "") -> FrozenJson:
        """Freeze `value`.

        Raises:
            InvalidMessageError: Something in it is not JSON (a UUID, a NaN, a key that is not a str), or it is
                nested more than 100 levels deep. The error's path says where.
        """
        check_json(value, path)
        return cls(dump_json(value))

    def thaw(self) -> Any:
        """Return a fresh copy of the value."""
        return json.loads(self.text)

    def __repr__(self) -> str:
        return f"<FrozenJson of {len(self.text)} characters>"


def check_json(value: Any, path: str) -> None:
    """Refuse what JSON cannot hold, without recursion, so that depth cannot hurt.

    Raises:
        InvalidMessageError: With the path of the first value that is not JSON.
    """
    open_values: list[tuple[Any, str, int]] = [(value, path, 0)]
    while open_values:
        item, where, depth = open_values.pop()
        if depth > MAX_DEPTH:
            raise InvalidMessageError(where, f"is nested more than {MAX_DEPTH} levels deep; flatten it")
        if isinstance(item, dict):
            for key, inner in item.items():
                if not isinstance(key, str):
                    raise InvalidMessageError(where, f"has a key of type {type(key).__name__}; JSON keys are str")
                open_values.append((inner, path_to(where, key), depth + 1))
        elif isinstance(item, list | tuple):
            open_values.extend((inner, f"{where}[{at}]", depth + 1) for at, inner in enumerate(item))
        else:
            _check_scalar(item, where)


def path_to(where: str, key: str) -> str:
    """Return the path of `key` inside `where`. A long key is cut short: keys are anybody's text."""
    name = key if len(key) <= _LONGEST_NAME else f"{key[:_LONGEST_NAME]}…"
    return f"{where}.{name}" if where else name


def _check_scalar(item: Any, where: str) -> None:
    if item is None or isinstance(item, str | bool):
        return
    if isinstance(item, float):
        if not math.isfinite(item):
            raise InvalidMessageError(where, f"is {item}, which JSON does not have; use a finite number or None")
    elif isinstance(item, int):
        if item.bit_length() > MAX_INTEGER_DIGITS * 3.32:
            raise InvalidMessageError(where, f"has more than {MAX_INTEGER_DIGITS} digits; send it as a str")
    else:
        raise InvalidMessageError(
            where, f"is a {type(item).__name__}, which is not JSON; convert it first, say with str(...)"
        )
