"""What is known of a conversation beside its messages: title and meta.

Decides: what they may be, and how one description follows another. Knows no message and no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve

from chatmemory.core.entries import About
from chatmemory.errors import InvalidArgumentError, InvalidMessageError
from chatmemory.frozen_json import FrozenJson

MAX_TITLE_LENGTH: Final = 255
MAX_META_LENGTH: Final = 8_192
"""Characters of the JSON text: a listing of 100 conversations stays below a megabyte."""


def described(about: About, title: str | None, meta: Mapping[str, Any] | None) -> About:
    """Return `about` with another title and meta; None leaves one as it is, ``""`` and ``{}`` empty it.

    Raises:
        InvalidArgumentError: The title is no str or longer than 255 characters; or meta is no JSON object, or longer
            than 8,192 characters.
    """
    if title is not None:
        about = evolve(about, title=_checked_title(title))
    return about if meta is None else evolve(about, meta=_frozen_meta(meta))


def _checked_title(title: object) -> str | None:
    if not isinstance(title, str):
        raise InvalidArgumentError("title", f"is of type {type(title).__name__}; give a str")
    if len(title) > MAX_TITLE_LENGTH:
        raise InvalidArgumentError("title", f"has {len(title)} characters; give at most {MAX_TITLE_LENGTH}")
    return title or None


def _frozen_meta(meta: object) -> FrozenJson:
    if not isinstance(meta, Mapping):
        raise InvalidArgumentError("meta", f"is of type {type(meta).__name__}; give a dict of JSON values")
    try:
        frozen = FrozenJson.of(dict(meta))
    except InvalidMessageError as error:
        raise InvalidArgumentError(f"meta.{error.path}" if error.path else "meta", error.problem) from error
    if len(frozen.text) > MAX_META_LENGTH:
        raise InvalidArgumentError(
            "meta", f"is {len(frozen.text)} characters of JSON; give at most {MAX_META_LENGTH}, and a reference to more"
        )
    return frozen
