"""From OpenAI's chat completions form to messages.

Decides: what a wire message means. Fields that are not modelled are kept (`extra`); wrong ones raise an error with the
path. An input is never mutated (R12); converters' own results are left out (R13). Knows no window: linking is R3's.
https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from chatmemory.errors import InvalidMessageError
from chatmemory.formats.context_text import unfence
from chatmemory.formats.foreign import refuse_foreign_message
from chatmemory.formats.listing import check_list
from chatmemory.formats.no_result import is_no_result
from chatmemory.formats.openai_calls import read_calls
from chatmemory.formats.openai_parts import read_content
from chatmemory.formats.sdk_objects import as_plain
from chatmemory.formats.wire_fields import frozen_rest, rest_of
from chatmemory.messages import (
    AssistantMessage,
    ContextMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

Wire = Mapping[str, Any]

_COMMON: Final = ("role", "content", "name")


def from_openai(messages: Iterable[object]) -> list[Message]:
    """Read a list in the form of OpenAI's chat completions.

    Each item may be a dict, an SDK object, or a message, which is taken as it is. Results that `to_openai` made for
    calls without one are left out (R13). Nothing is linked or reordered: that is the memory's to do (R3).

    Raises:
        InvalidMessageError: An item is no message in this form; the path begins with ``messages[…]``.

    Example:
        >>> from_openai([{"role": "user", "content": "Where is my parcel?"}])[0].text
        'Where is my parcel?'
    """
    parsed = (parse_message(value, f"messages[{at}]") for at, value in enumerate(check_list(messages)))
    return [message for message in parsed if not is_no_result(message)]


def parse_message(value: object, path: str = "") -> Message:
    """Read one message: a `Message` (returned as it is), an OpenAI-style dict, or an SDK object with `model_dump`.

    Args:
        value: The message. A dict may hold SDK objects.
        path: Where it stands in the caller's input; it comes first in the path of an error.

    Raises:
        InvalidMessageError: It is no message in OpenAI's form. The path says which field, and the text what to give.

    Example:
        >>> parse_message({"role": "user", "content": "hi", "name": "ada"})
        <UserMessage 2 characters>
    """
    if isinstance(value, Message):
        return value
    try:
        return _read(as_plain(value))
    except InvalidMessageError as error:
        if not path:
            raise
        raise error.under(path) from error


def _read(wire: Any) -> Message:
    if not isinstance(wire, dict):
        raise InvalidMessageError(
            "", f"is of type {type(wire).__name__}; give a message, a dict in OpenAI's form, or an SDK's message"
        )
    refuse_foreign_message(wire)
    role = wire.get("role")
    read = _READERS.get(role) if isinstance(role, str) else None
    if read is None:
        fault = "is none of" if "role" in wire else "is missing; give one of"
        raise InvalidMessageError("role", f"{fault} {', '.join(_READERS)}")
    return read(wire)


def _read_system(wire: Wire) -> Message:
    _refuse_calls(wire)
    extra = frozen_rest(rest_of(wire, _COMMON), "")
    context = unfence(wire.get("content")) if wire["role"] == "system" else None
    if context is not None:
        return ContextMessage(context, name=wire.get("name"), extra=extra)
    return SystemMessage(read_content(wire.get("content")), role=wire["role"], name=wire.get("name"), extra=extra)


def _read_user(wire: Wire) -> Message:
    _refuse_calls(wire)
    extra = frozen_rest(rest_of(wire, _COMMON), "")
    return UserMessage(read_content(wire.get("content")), name=wire.get("name"), extra=extra)


def _read_assistant(wire: Wire) -> Message:
    calls, unread = read_calls(wire)
    rest = rest_of(wire, (*_COMMON, "refusal", "tool_calls", "function_call"))
    return AssistantMessage(
        read_content(wire.get("content")),
        name=wire.get("name"),
        refusal=wire.get("refusal"),
        tool_calls=calls,
        extra=frozen_rest(rest | unread, ""),
    )


def _read_tool(wire: Wire) -> Message:
    _refuse_calls(wire)
    is_error = wire.get("is_error")
    return ToolMessage(
        read_content(wire.get("content")),
        tool_call_id=wire.get("tool_call_id"),
        name=wire.get("name"),
        is_error=False if is_error is None else is_error,
        role=wire["role"],
        extra=frozen_rest(rest_of(wire, (*_COMMON, "tool_call_id", "is_error")), ""),
    )


def _refuse_calls(wire: Wire) -> None:
    for key in ("tool_calls", "function_call"):
        if wire.get(key):
            raise InvalidMessageError(
                key, "stands in a message that is not the assistant's; only its messages call tools"
            )


_READERS: Final[dict[str, Callable[[Wire], Message]]] = {
    "system": _read_system,
    "developer": _read_system,
    "user": _read_user,
    "assistant": _read_assistant,
    "tool": _read_tool,
    "function": _read_tool,
}
