"""Message ↔ stored text: compact JSON of this library's own model, with the payload's version in front.

Decides: how a message is written down, and what a stored text must be to be a message. Every str comes back code point
by code point, every number as it was, every key in its place. Text of each released version stays readable
(tests/stores/payloads). What cannot be read raises; it is never repaired, left out or quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from chatmemory.core.entries import About
from chatmemory.errors import CorruptedConversationError, InvalidMessageError
from chatmemory.frozen_json import FrozenJson, dump_json
from chatmemory.messages import (
    AssistantMessage,
    AudioPart,
    ContentPart,
    ContextMessage,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    ReasoningPart,
    SystemMessage,
    SystemRole,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolRole,
    UserMessage,
)

PAYLOAD_VERSION: Final = 1

_Fields = dict[str, Any]

_read_value: Final = json.JSONDecoder().raw_decode
_PLAIN: Final[tuple[tuple[str, Callable[[str], Message]], ...]] = tuple(
    (f'{{"v":{PAYLOAD_VERSION},"role":"{make.role}","content":"', make) for make in (UserMessage, AssistantMessage)
)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# A pair of backslashes is one backslash of text, so it is consumed first: what follows it is no escape.
_ESCAPE: Final = re.compile(r"\\\\|\\u(d[89a-f][0-9a-f]{2})")


def encode_message(message: Message) -> str:
    r"""Return `message` as stored text, which is always valid UTF-8.

    Real characters stand as they are, so an escaped surrogate always means a code point of its own.

    Example:
        >>> encode_message(UserMessage("Where is my parcel?"))
        '{"v":1,"role":"user","content":"Where is my parcel?"}'
        >>> encode_message(UserMessage("\ud83d\ude00"))
        '{"v":1,"role":"user","content":"\\ud83d\\ude00"}'
    """
    return dump_stored(fields_of_message(message))


def fields_of_message(message: Message) -> dict[str, Any]:
    """Return what `encode_message` writes, for a text that holds it among other things."""
    fields: _Fields = {"v": PAYLOAD_VERSION, "role": message.role}
    content = message.content
    if content is not None:
        fields["content"] = content if isinstance(content, str) else [_encode_part(part) for part in content]
    _put(fields, "name", message.name)
    _put_kind(fields, message)
    if extra := message.extra:
        fields["extra"] = extra
    return fields


def encode_about(about: About) -> str | None:
    """Return title and meta as stored text; None where there is neither."""
    fields = fields_of_about(about)
    return None if fields is None else dump_stored(fields)


def fields_of_about(about: About) -> dict[str, Any] | None:
    """Return what `encode_about` writes, for a text that holds it among other things."""
    fields: _Fields = {"v": PAYLOAD_VERSION}
    _put(fields, "title", about.title)
    if meta := about.meta:
        fields["meta"] = meta
    return fields if len(fields) > 1 else None


def decode_about(owner: str | None, text: str | None) -> About:
    """Return what `encode_about` was given, and the owner with it.

    Raises:
        CorruptedConversationError: The text is not what this library writes.
    """
    return about_of_fields(owner, {} if text is None else parse_stored(text))


def about_of_fields(owner: str | None, value: object) -> About:
    """Return what `fields_of_about` was given, out of a text that was read, and the owner with it.

    Raises:
        CorruptedConversationError: The value is not what this library writes.
    """
    fields = _object(value, "the text")
    title, meta = fields.get("title"), fields.get("meta", {})
    if not isinstance(title, str | None) or not isinstance(meta, dict):
        raise CorruptedConversationError("the text holds a value that this library does not write")
    return About(owner, title, FrozenJson(dump_json(meta)))


def decode_message(text: str) -> Message:
    """Return the message that `text` was made from.

    Raises:
        CorruptedConversationError: The text is no payload, or one of a newer version; the error says what is wrong.
    """
    plain = _decode_plain(text)
    return plain if plain is not None else message_of_fields(parse_stored(text))


def _decode_plain(text: str) -> Message | None:
    """Read what most messages are, a role and a str, in a third of the time; None where it is something else."""
    for opening, make in _PLAIN:
        if text.startswith(opening) and "\\ud" not in text:
            try:
                content, end = _read_value(text, len(opening) - 1)
            except ValueError:
                return None
            return make(content) if text[end:] == "}" else None
    return None


def message_of_fields(value: object) -> Message:
    """Return what `fields_of_message` was given, out of a text that was read; the value is used up.

    Raises:
        CorruptedConversationError: The value is not what this library writes, or of a newer version.
    """
    fields = _object(value, "the payload")
    version, role = fields.pop("v", None), fields.pop("role", None)
    if type(version) is not int or version < 1:
        raise CorruptedConversationError("the payload has no version; restore it from a backup")
    if version > PAYLOAD_VERSION:
        raise CorruptedConversationError(
            f"the payload has version {version}, this library reads up to {PAYLOAD_VERSION}; upgrade pychatmemory"
        )
    decode = _DECODERS.get(role) if isinstance(role, str) else None
    if decode is None:
        raise CorruptedConversationError("the payload's role is not one that this version writes")
    message: Message = _build(decode, fields, "the payload")
    return message


def dump_stored(value: object) -> str:
    """Return a JSON value as text that is valid UTF-8 and that `parse_stored` reads code point by code point."""
    text = dump_json(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text


def _release_surrogates(text: str) -> str:
    # json.loads would join two escapes to one character; raw code points it leaves alone.
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[0], text)


def parse_stored(text: str) -> object:
    """Return the JSON value that `dump_stored` wrote.

    Raises:
        CorruptedConversationError: The text is not JSON.
    """
    try:
        return json.loads(_release_surrogates(text) if "\\ud" in text else text)
    except (ValueError, TypeError, RecursionError):
        problem = "the payload is not JSON; restore it from a backup"
    raise CorruptedConversationError(problem)  # outside, since the parser's error would quote the text


def _put(fields: _Fields, name: str, value: object) -> None:
    if value is not None:
        fields[name] = value


def _put_kind(fields: _Fields, message: Message) -> None:
    if isinstance(message, AssistantMessage):
        if message.tool_calls:
            fields["tool_calls"] = [_encode_call(call) for call in message.tool_calls]
        _put(fields, "refusal", message.refusal)
    elif isinstance(message, ToolMessage):
        _put(fields, "tool_call_id", message.tool_call_id)
        if message.is_error:
            fields["is_error"] = True


def _encode_call(call: ToolCall) -> _Fields:
    fields: _Fields = {"id": call.id, "name": call.name, "arguments": call.arguments}
    if call.type != "function":
        fields["type"] = call.type
    if extra := call.extra:
        fields["extra"] = extra
    return fields


def _encode_part(part: ContentPart) -> _Fields:
    if isinstance(part, OpaquePart):
        return {"part": "opaque", "data": part.data}
    name, fields = _PART_FIELDS[type(part)]
    encoded: _Fields = {"part": name}
    for field in fields:
        _put(encoded, field, getattr(part, field))
    if extra := part.extra:
        encoded["extra"] = extra
    return encoded


_PART_FIELDS: Final[dict[type, tuple[str, tuple[str, ...]]]] = {
    TextPart: ("text", ("text",)),
    ImagePart: ("image", ("url", "detail")),
    AudioPart: ("audio", ("data", "format")),
    FilePart: ("file", ("file_id", "data", "filename")),
    ReasoningPart: ("reasoning", ("type", "text", "signature")),
}
_PARTS: Final[dict[str, Callable[..., ContentPart]]] = {
    "opaque": OpaquePart,
    **{name: part for part, (name, _) in _PART_FIELDS.items()},
}


def _build(make: Callable[..., Any], fields: _Fields, where: str) -> Any:
    """Make a value of the model. Its own validation is what a stored value must pass."""
    try:
        return make(**fields)
    except InvalidMessageError:
        problem = f"{where} holds a value that no message has; restore it from a backup"
    except (TypeError, ValueError):
        problem = f"{where} lacks a field or has one that this version does not write; restore it from a backup"
    raise CorruptedConversationError(problem)  # outside, since the constructor's error may quote a name


def _object(value: object, where: str) -> _Fields:
    if not isinstance(value, dict):
        raise CorruptedConversationError(f"{where} is not an object; restore it from a backup")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise CorruptedConversationError(f"{where} is not a list; restore it from a backup")
    return value


def _decode_content(value: object) -> str | list[ContentPart] | None:
    if value is None or isinstance(value, str):
        return value
    return [_decode_part(item, f"content[{at}]") for at, item in enumerate(_list(value, "content"))]


def _decode_part(value: object, where: str) -> ContentPart:
    fields = _object(value, where)
    name = fields.pop("part", None)
    make = _PARTS.get(name) if isinstance(name, str) else None
    if make is None:
        raise CorruptedConversationError(f"{where} is a part that this version does not write")
    part: ContentPart = _build(make, fields, where)
    return part


def _decode_call(value: object, where: str) -> ToolCall:
    call: ToolCall = _build(ToolCall, _object(value, where), where)
    return call


def _system(role: SystemRole) -> Callable[..., Message]:
    def make(*, content: object = None, **rest: Any) -> Message:
        return SystemMessage(_decode_content(content), role=role, **rest)

    return make


def _user(*, content: object = None, **rest: Any) -> Message:
    return UserMessage(_decode_content(content), **rest)


def _context(*, content: object = None, **rest: Any) -> Message:
    return ContextMessage(_decode_content(content), **rest)


def _assistant(*, content: object = None, tool_calls: object = (), **rest: Any) -> Message:
    calls = _list(tool_calls, "tool_calls") if tool_calls != () else []
    decoded = tuple(_decode_call(call, f"tool_calls[{at}]") for at, call in enumerate(calls))
    return AssistantMessage(_decode_content(content), tool_calls=decoded, **rest)


def _tool(role: ToolRole) -> Callable[..., Message]:
    def make(*, content: object = None, tool_call_id: Any = None, **rest: Any) -> Message:
        return ToolMessage(_decode_content(content), tool_call_id=tool_call_id, role=role, **rest)

    return make


_DECODERS: Final[dict[str, Callable[..., Message]]] = {
    "system": _system("system"),
    "developer": _system("developer"),
    "user": _user,
    "assistant": _assistant,
    "context": _context,
    "tool": _tool("tool"),
    "function": _tool("function"),
}
