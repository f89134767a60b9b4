"""What is taken as a list of messages. Decides: one message, a dict or a text in its place is a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from chatmemory.core.entries import Entry
from chatmemory.errors import InvalidMessageError
from chatmemory.messages import Message

_NO_LIST: Final = (str, bytes, Mapping, Message, Entry)


def check_list(messages: Any, *, for_one: str | None = None) -> Iterable[Any]:
    """Return `messages`, which may be any iterable of messages.

    Args:
        messages: What the caller gave.
        for_one: What takes a single message instead.

    Raises:
        InvalidMessageError: It is one message, or no iterable at all.
    """
    # SDK objects are iterable too: over their fields.
    if isinstance(messages, _NO_LIST) or hasattr(messages, "model_dump") or not isinstance(messages, Iterable):
        instead = f", or one message to {for_one}" if for_one else ""
        raise InvalidMessageError("messages", f"is of type {type(messages).__name__}; give a list of messages{instead}")
    return messages
