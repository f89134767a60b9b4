"""SDK objects as plain values.

Decides: how an object with `model_dump` is read, also inside dicts and lists: only with the fields that were set, as
JSON. Knows no SDK. The input is copied and never changed (R12); strings are shared with it.
"""

from __future__ import annotations

from typing import Any

from chatmemory.errors import InvalidMessageError
from chatmemory.frozen_json import MAX_DEPTH, path_to


def as_plain(value: Any, path: str = "", depth: int = 0) -> Any:
    """Return `value` with dicts, lists and SDK objects as fresh dicts and lists; everything else as it is.

    Raises:
        InvalidMessageError: It is nested more than 100 levels deep; a value that contains itself is.
    """
    if depth > MAX_DEPTH:
        raise InvalidMessageError(path, f"is nested more than {MAX_DEPTH} levels deep; flatten it")
    if isinstance(value, dict):
        return {key: as_plain(item, path_to(path, str(key)), depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    if callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
        return as_plain(_dumped(value, path), path, depth + 1)
    return str.__str__(value) if isinstance(value, str) else value  # of an enum, say


def _dumped(value: Any, path: str) -> Any:
    # A message that `client.chat.completions.parse` gave holds the caller's own model, about which pydantic warns.
    quiet = {"warnings": False} if hasattr(type(value), "__pydantic_serializer__") else {}
    try:
        dumped = value.model_dump(mode="json", exclude_unset=True, **quiet)
    except Exception as error:
        raise InvalidMessageError(
            path, f"cannot be dumped as JSON by its model_dump ({type(error).__name__}); give a dict"
        ) from error
    return _defaults(value) | dumped if isinstance(dumped, dict) else dumped


def _defaults(value: Any) -> dict[str, str]:
    """Return the role and the type where the class sets them: they count as unset, and decide what the object is."""
    found = {key: getattr(value, key, None) for key in ("role", "type")}
    return {key: text for key, text in found.items() if isinstance(text, str)}
