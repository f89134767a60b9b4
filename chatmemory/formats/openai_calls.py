"""Tool calls in the form of OpenAI's chat completions, read and written.

Decides: the three wire forms, ``function`` (also where the type is missing), ``custom``, and the legacy
``function_call``, which has no id. A type that is not known but has a ``function`` is read as one and given back with
its own name. Arguments are text and never parsed. https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chatmemory.errors import InvalidMessageError
from chatmemory.formats.wire_fields import (
    frozen_rest,
    joined,
    object_field,
    optional_text_field,
    rest_of,
    text_field,
    with_extra,
)
from chatmemory.messages import ToolCall

Wire = Mapping[str, Any]

RESPONSE_ONLY: Final = ("index",)
"""Fields of a call that come in a response and that a request does not take."""

_RESPONSE_ONLY_INSIDE: Final = ("parsed_arguments",)
_EXAMPLE: Final = "an object such as {'name': '…', 'arguments': '{}'}"


def read_calls(wire: Wire) -> tuple[tuple[ToolCall, ...], dict[str, Any]]:
    """Return the calls of an assistant message, and the fields of calls that hold none (a blank ``function_call``).

    Raises:
        InvalidMessageError: A call is wrong, or both forms are used at once.
    """
    calls = _read_tool_calls(wire.get("tool_calls"))
    legacy = wire.get("function_call")
    if legacy is None:
        return calls, {}
    body = object_field(wire, "function_call", "", example=_EXAMPLE)
    if not body.get("name") and not body.get("arguments"):
        return calls, {"function_call": body}  # some servers send a blank one with every message
    if calls:
        raise InvalidMessageError("function_call", "stands beside tool_calls; give one of them")
    return (_read_legacy(body),), {}


def _read_tool_calls(value: Any) -> tuple[ToolCall, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidMessageError("tool_calls", f"is of type {type(value).__name__}; give a list of calls, or None")
    return tuple(_read_call(call, f"tool_calls[{at}]") for at, call in enumerate(value))


def _read_call(call: Any, path: str) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, dict):
        raise InvalidMessageError(path, f"is of type {type(call).__name__}; give an object with id, type and function")
    kind = optional_text_field(call, "type", path) or "function"
    if kind == "custom":
        return _read_custom(call, path)
    body = object_field(call, "function", path, example=_EXAMPLE)
    inside = joined(path, "function")
    rest = _call_rest(call, "function", rest_of(body, ("name", "arguments")))
    if kind != "function":
        rest["type"] = kind
    return ToolCall(
        optional_text_field(call, "id", path),
        text_field(body, "name", inside),
        _arguments(body, inside),
        extra=frozen_rest(rest, path),
    )


def _read_custom(call: Wire, path: str) -> ToolCall:
    body = object_field(call, "custom", path, example="an object such as {'name': '…', 'input': '…'}")
    inside = joined(path, "custom")
    return ToolCall(
        optional_text_field(call, "id", path),
        text_field(body, "name", inside),
        text_field(body, "input", inside),
        type="custom",
        extra=frozen_rest(_call_rest(call, "custom", rest_of(body, ("name", "input"))), path),
    )


def _read_legacy(body: Wire) -> ToolCall:
    rest = frozen_rest(rest_of(body, ("name", "arguments")), "function_call")
    name, arguments = text_field(body, "name", "function_call"), _arguments(body, "function_call")
    return ToolCall(None, name, arguments, type="function_call", extra=rest)


def _arguments(body: Wire, path: str) -> str:
    arguments = body.get("arguments")
    if isinstance(arguments, dict | list):
        raise InvalidMessageError(joined(path, "arguments"), "is an object; give its JSON text, as json.dumps makes it")
    return "" if arguments is None else text_field(body, "arguments", path)


def _call_rest(call: Wire, key: str, inside: dict[str, Any]) -> dict[str, Any]:
    rest = rest_of(call, ("id", "type", key))
    if inside:
        rest[key] = inside
    return rest


def is_legacy(calls: Sequence[ToolCall]) -> bool:
    """Whether these calls of one message are written as ``function_call``: there is one, and it came so."""
    return len(calls) == 1 and calls[0].type == "function_call"


def write_calls(calls: Sequence[ToolCall], ids: Sequence[str | None]) -> dict[str, Any]:
    """Return the fields that the calls of one message are on the wire; none where there are no calls."""
    if not calls:
        return {}
    if is_legacy(calls):
        return {"function_call": with_extra(_function(calls[0]), calls[0].extra, withheld=_RESPONSE_ONLY_INSIDE)}
    return {"tool_calls": [_write_call(call, wire_id) for call, wire_id in zip(calls, ids, strict=True)]}


def _write_call(call: ToolCall, wire_id: str | None) -> dict[str, Any]:
    modelled: dict[str, Any] = {} if wire_id is None else {"id": wire_id}
    extra = call.extra
    if call.type == "custom":
        modelled |= {"type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    else:
        modelled |= {"type": extra.get("type") or "function", "function": _function(call)}
        extra["function"] = rest_of(_object(extra.get("function")), _RESPONSE_ONLY_INSIDE)
    return with_extra(modelled, extra, withheld=("id", *RESPONSE_ONLY))


def _function(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
