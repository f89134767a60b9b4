"""Fields of wire objects: read with an error that names the path, written without what is null.

Decides: what a missing or wrong field says, what counts as unmodelled (`extra`), and how `extra` is given back beside
the modelled fields: nothing in it replaces one of those, and nulls stay behind.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from chatmemory.errors import InvalidMessageError
from chatmemory.frozen_json import FrozenJson


def joined(path: str, key: str) -> str:
    """Return the path of `key` inside the object at `path`."""
    return f"{path}.{key}" if path else key


def text_field(wire: Mapping[str, Any], key: str, path: str) -> str:
    """Return a field that has to be text."""
    value = wire.get(key)
    if not isinstance(value, str):
        raise InvalidMessageError(joined(path, key), f"{_fault(wire, key)}; give a str")
    return value


def optional_text_field(wire: Mapping[str, Any], key: str, path: str) -> str | None:
    """Return a field that is text or null or missing."""
    return None if wire.get(key) is None else text_field(wire, key, path)


def object_field(wire: Mapping[str, Any], key: str, path: str, *, example: str) -> dict[str, Any]:
    """Return a field that has to be an object; `example` shows in the error what to give."""
    value = wire.get(key)
    if not isinstance(value, dict):
        raise InvalidMessageError(joined(path, key), f"{_fault(wire, key)}; give {example}")
    return value


def _fault(wire: Mapping[str, Any], key: str) -> str:
    if key not in wire:
        return "is missing"
    return "is None" if wire[key] is None else f"is of type {type(wire[key]).__name__}"


def rest_of(wire: Mapping[str, Any], modelled: Container[str]) -> dict[str, Any]:
    """Return the fields that are not modelled."""
    return {key: value for key, value in wire.items() if key not in modelled}


def frozen_rest(rest: Mapping[str, Any], path: str) -> FrozenJson | None:
    """Freeze fields that are not modelled; None where there are none."""
    return FrozenJson.of(dict(rest), path) if rest else None


def with_extra(modelled: dict[str, Any], extra: Mapping[str, Any], *, withheld: Container[str] = ()) -> dict[str, Any]:
    """Return `modelled` with `extra` behind it, without nulls and `withheld` keys; objects in both are merged."""
    fields = {key: _merged(value, extra.get(key)) for key, value in modelled.items()}
    given_back = rest_of(extra, withheld)
    return fields | {key: value for key, value in given_back.items() if key not in fields and value is not None}


def _merged(value: Any, more: Any) -> Any:
    return with_extra(value, more) if isinstance(value, dict) and isinstance(more, dict) else value
