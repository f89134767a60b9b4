"""Text that can be encoded as UTF-8, as every request must be.

Decides: what goes out in the place of a surrogate. Python strings may hold lone halves of a UTF-16 pair; a client
crashes on them, in every request for as long as the message is in the window. Stored messages keep them (R12).
"""

from __future__ import annotations

import re
from typing import Any

SURROGATE = re.compile("[\ud800-\udfff]")
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def encodable_text(text: str) -> str:
    r"""Return `text` with two halves that form a pair joined to the character they mean, and lone ones as U+FFFD.

    Example:
        >>> encodable_text("lone \ud83d, apart \ud83d\ude00") == "lone \ufffd, apart \U0001f600"
        True
    """
    if is_encodable(text):
        return text
    return _HALVES.sub(_joined, text)


def is_encodable(text: str) -> bool:
    """Whether `text` has no surrogate."""
    return text.isascii() or SURROGATE.search(text) is None


def encodable(value: Any) -> Any:
    """Return a JSON value with every string in it, keys too, made encodable."""
    if isinstance(value, str):
        return encodable_text(value)
    if isinstance(value, dict):
        return {encodable_text(key): encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [encodable(item) for item in value]
    return value


def _joined(halves: re.Match[str]) -> str:
    text = halves[0]
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le") if len(text) == 2 else "\ufffd"  # noqa: PLR2004 - a pair
