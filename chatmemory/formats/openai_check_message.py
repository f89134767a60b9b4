"""What OpenAI's chat completions would refuse in one wire message, whatever stands around it.

Decides: roles, names, content and parts by role, the form of tool calls, ids, and whether the message can be sent at
all (JSON, UTF-8). It takes anything and raises nothing.
https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from chatmemory.formats.findings import Finding
from chatmemory.formats.sendable import unsendable

Problem = tuple[str, str, str]
"""Code, path inside the message, and what is wrong."""

Wire = dict[Any, Any]

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_PARTS: Final = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "function": (),
}
_NAME = re.compile(r"[^\s<|\\/>]+")
_CALL_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def check_message(wire: object, index: int) -> Iterator[Finding]:
    """Yield what would be refused in `wire`, the message at `index`."""
    for code, path, problem in _problems(wire):
        yield Finding.at(code, index, path, problem)


def _problems(wire: object) -> Iterator[Problem]:
    if not isinstance(wire, dict):
        yield "not_an_object", "", f"is of type {type(wire).__name__}"
        return
    faults = list(unsendable(wire))
    yield from faults
    if any(code == "not_json" for code, _, _ in faults):
        return  # whatever stands there may not even compare
    role = wire.get("role")
    if not isinstance(role, str) or role not in ROLES:
        yield "wrong_role", "role", "is no role" if "role" in wire else "is missing"
        return
    yield from _name(wire, role)
    yield from _content(wire, role)
    yield from _calls(wire, role)
    if role == "tool":
        yield from _id(wire, "tool_call_id", "")


def _name(wire: Wire, role: str) -> Iterator[Problem]:
    name = wire.get("name")
    if name is None:
        if role == "function":
            yield "wrong_name", "name", "is missing in a function's result"
    elif not isinstance(name, str) or not _NAME.fullmatch(name):
        yield "wrong_name", "name", "is no name"


def _content(wire: Wire, role: str) -> Iterator[Problem]:
    content = wire.get("content")
    if content is None:
        if not _goes_without_content(wire, role):
            yield "missing_content", "content", "is None" if "content" in wire else "is missing"
    elif isinstance(content, list | tuple) and role != "function":
        if not content:
            yield "empty_content", "content", "has no part"
        for at, part in enumerate(content):
            yield from _part(part, f"content[{at}]", _PARTS[role])
    elif not isinstance(content, str):
        yield "wrong_content", "content", f"is of type {type(content).__name__}"


def _goes_without_content(wire: Wire, role: str) -> bool:
    if role == "assistant":
        return any(wire.get(key) for key in ("tool_calls", "function_call", "audio", "refusal"))
    return role == "function" and "content" in wire


def _part(part: object, path: str, allowed: tuple[str, ...]) -> Iterator[Problem]:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        yield "wrong_part", path, "is no object with a type"
    elif kind not in allowed:
        yield "unsupported_part", path, "has a type that this role does not take"
    elif not _PART_FORMS[kind](part):
        yield "wrong_part", path, "lacks a field of its type, or has it in another form"


def _has_text(*path: str) -> Callable[[Wire], bool]:
    def reads(part: Wire) -> bool:
        value: object = part
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return isinstance(value, str)

    return reads


def _is_audio(part: Wire) -> bool:
    return _has_text("input_audio", "data")(part) and _has_text("input_audio", "format")(part)


_PART_FORMS: Final[dict[str, Callable[[Wire], bool]]] = {
    "text": _has_text("text"),
    "image_url": _has_text("image_url", "url"),
    "input_audio": _is_audio,
    "file": lambda part: isinstance(part.get("file"), dict),
    "refusal": _has_text("refusal"),
}


def _calls(wire: Wire, role: str) -> Iterator[Problem]:
    legacy = wire.get("function_call")
    if legacy is not None:
        yield from _function(legacy, "function_call", "arguments")
    calls = wire.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, list | tuple) or role != "assistant":
        yield "wrong_tool_calls", "tool_calls", "is no list of an assistant's message"
    elif not calls:
        yield "empty_tool_calls", "tool_calls", "is empty"
    else:
        for at, call in enumerate(calls):
            yield from _call(call, f"tool_calls[{at}]")


def _call(call: object, path: str) -> Iterator[Problem]:
    kind = call.get("type") if isinstance(call, dict) else None
    if not isinstance(call, dict) or kind not in ("function", "custom"):
        yield "wrong_call", path, "is no object with type 'function' or 'custom'"
        return
    yield from _id(call, "id", f"{path}.")
    yield from _function(call.get(kind), f"{path}.{kind}", "input" if kind == "custom" else "arguments")


def _function(body: object, path: str, arguments: str) -> Iterator[Problem]:
    if not isinstance(body, dict):
        yield "wrong_call", path, "is no object"
        return
    name = body.get("name")
    if not isinstance(name, str) or not _CALL_NAME.fullmatch(name):
        yield "wrong_call_name", f"{path}.name", "is no name of a function"
    if not isinstance(body.get(arguments), str):
        yield "wrong_arguments", f"{path}.{arguments}", "is no text"


def _id(wire: Wire, key: str, prefix: str) -> Iterator[Problem]:
    wire_id = wire.get(key)
    if wire_id is None:
        yield "missing_id", f"{prefix}{key}", "is missing"
    elif not isinstance(wire_id, str):
        yield "wrong_id", f"{prefix}{key}", f"is of type {type(wire_id).__name__}"
    elif not wire_id:
        yield "empty_id", f"{prefix}{key}", "is empty"
