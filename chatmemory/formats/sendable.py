"""Whether a wire message can be sent at all: as JSON, and as UTF-8.

Decides: what a client fails on before the provider sees anything. Walks any value without recursion and looks at
each container once, so that depth, cycles and shared parts cannot hurt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from chatmemory.formats.unicode_text import encodable_text, is_encodable
from chatmemory.formats.wire_fields import joined
from chatmemory.frozen_json import MAX_DEPTH, MAX_INTEGER_DIGITS


@frozen
class _Left:
    """Says that all inside a container was looked at."""

    container: int


def unsendable(wire: dict[Any, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the first value of `wire` that is not JSON and the first text that is not UTF-8, each as a problem."""
    reported: set[str] = set()
    for code, path, problem in _faults(wire):
        if code not in reported:
            reported.add(code)
            yield code, path, problem


def _faults(wire: dict[Any, Any]) -> Iterator[tuple[str, str, str]]:
    around: set[int] = set()  # the containers that hold what is looked at
    seen: set[int] = set()
    waiting: list[tuple[object, str, int]] = [(wire, "", 0)]
    while waiting:
        value, path, depth = waiting.pop()
        if isinstance(value, _Left):
            around.remove(value.container)
        elif not isinstance(value, dict | list | tuple):
            yield from _bad_scalar(value, path)
        elif id(value) in around:
            yield "not_json", path, "contains itself"
        elif depth > MAX_DEPTH:
            yield "not_json", path, f"is nested more than {MAX_DEPTH} levels deep"
        elif id(value) not in seen:
            seen.add(id(value))
            around.add(id(value))
            waiting.append((_Left(id(value)), "", 0))
            waiting.extend(_inner(value, path, depth + 1))
            yield from _bad_keys(value, path)


def _inner(value: Any, path: str, depth: int) -> Iterator[tuple[object, str, int]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield item, joined(path, encodable_text(key) if isinstance(key, str) else "?"), depth
    else:
        for at, item in enumerate(value):
            yield item, f"{path}[{at}]", depth


def _bad_keys(value: object, path: str) -> Iterator[tuple[str, str, str]]:
    for key in value if isinstance(value, dict) else ():
        if not isinstance(key, str):
            yield "not_json", path, f"has a key of type {type(key).__name__}"
        elif not is_encodable(key):
            yield "unencodable_text", path, "has a key with a lone surrogate"


def _bad_scalar(value: object, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, str):
        if not is_encodable(value):
            yield "unencodable_text", path, "has a lone surrogate"
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield "not_json", path, "is no finite number"
    elif isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_DIGITS * 3.32:
            yield "not_json", path, "has too many digits"
    elif value is not None:
        yield "not_json", path, f"is of type {type(value).__name__}"
