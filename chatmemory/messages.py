"""What a message is: immutable values, validated where they are made and nowhere later.

Decides: the roles, the parts of content, tool calls, and what each may hold. Everything that a provider sends and
that is not modelled here is kept as frozen JSON in `extra`, or as an `OpaquePart`. Knows no provider's form, no
tokens and no window. Keeps R12: messages compare by value, hash, pickle and deep-copy, and nobody can change them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from attrs import field, frozen

from chatmemory.errors import InvalidMessageError
from chatmemory.frozen_json import FrozenJson

SystemRole = Literal["system", "developer"]
ToolRole = Literal["tool", "function"]
Extra = Mapping[str, Any]

_NOTHING = FrozenJson("{}")


def _freeze_extra(value: Extra | FrozenJson | None) -> FrozenJson:
    if value is None:
        return _NOTHING
    if isinstance(value, FrozenJson):
        return value
    if not isinstance(value, Mapping):
        raise InvalidMessageError("extra", f"is a {type(value).__name__}; give a dict of JSON values or None")
    return FrozenJson.of(dict(value), "extra") if value else _NOTHING


def _freeze_data(value: Extra | FrozenJson) -> FrozenJson:
    if isinstance(value, FrozenJson):
        return value
    if not isinstance(value, Mapping):
        raise InvalidMessageError("data", f"is a {type(value).__name__}; give a dict of JSON values")
    return FrozenJson.of(dict(value), "data")


def _text(_instance: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidMessageError(attribute.alias, f"is {_kind_of(value)}; give a str")


def _optional_text(_instance: Any, attribute: Any, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidMessageError(attribute.alias, f"is {_kind_of(value)}; give a str or None")


def _kind_of(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


@frozen(repr=False)
class Part:
    """One part of a message's content. The concrete parts are below; `extra` holds what they do not model."""

    _extra: FrozenJson = field(default=None, converter=_freeze_extra, kw_only=True, alias="extra")

    @property
    def extra(self) -> dict[str, Any]:
        """The provider's fields that are not modelled, as a fresh copy."""
        return dict(self._extra.thaw()) if self._extra is not _NOTHING else {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@frozen(repr=False)
class TextPart(Part):
    """Text. Wire type ``text``."""

    text: str = field(validator=_text)


@frozen(repr=False)
class ImagePart(Part):
    """An image, by URL or as a ``data:`` URL. Wire type ``image_url``.

    `detail` (``low``, ``high``, ``auto`` or what the provider defines) decides what the image costs in tokens.
    """

    url: str = field(validator=_text)
    detail: str | None = field(default=None, validator=_optional_text, kw_only=True)


@frozen(repr=False)
class AudioPart(Part):
    """Sound, as base64 `data` in a `format` such as ``wav``. Wire type ``input_audio``."""

    data: str = field(validator=_text)
    format: str = field(validator=_text, kw_only=True)


@frozen(repr=False)
class FilePart(Part):
    """A file, by the provider's `file_id` or as `data` (base64 or a ``data:`` URL). Wire type ``file``."""

    file_id: str | None = field(default=None, validator=_optional_text, kw_only=True)
    data: str | None = field(default=None, validator=_optional_text, kw_only=True)
    filename: str | None = field(default=None, validator=_optional_text, kw_only=True)


@frozen(repr=False)
class ReasoningPart(Part):
    """Reasoning that a model showed, with the `signature` that its provider checks, if any.

    `type` is the wire type: ``thinking`` (text under ``thinking``) or ``reasoning`` (text under ``text``).
    """

    text: str = field(validator=_text)
    signature: str | None = field(default=None, validator=_optional_text, kw_only=True)
    type: Literal["thinking", "reasoning"] = field(default="reasoning", kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.type not in ("thinking", "reasoning"):
            raise InvalidMessageError(
                "type", "is neither 'thinking' nor 'reasoning'; use an OpaquePart for other parts"
            )


@frozen(repr=False)
class OpaquePart:
    """A part that this library does not model: the provider's own dict, kept untouched."""

    _data: FrozenJson = field(converter=_freeze_data, alias="data")

    @property
    def data(self) -> dict[str, Any]:
        """The provider's dict, as a fresh copy."""
        return dict(self._data.thaw())

    def __repr__(self) -> str:
        return "<OpaquePart>"


ContentPart = TextPart | ImagePart | AudioPart | FilePart | ReasoningPart | OpaquePart
Content = str | tuple[ContentPart, ...] | None


def _freeze_content(value: str | Sequence[ContentPart | str] | None) -> Content:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        raise InvalidMessageError("content", f"is {_kind_of(value)}; give a str, a list of parts, or None")
    return tuple(_part(part, at) for at, part in enumerate(value))


def _part(part: object, at: int) -> ContentPart:
    if isinstance(part, str):
        return TextPart(part)
    if isinstance(part, ContentPart):
        return part
    raise InvalidMessageError(
        f"content[{at}]", f"is {_kind_of(part)}; give a part such as TextPart, or a whole message as a dict"
    )


def _freeze_calls(value: Sequence[ToolCall] | None) -> tuple[ToolCall, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InvalidMessageError("tool_calls", f"is {_kind_of(value)}; give a list of ToolCall")
    return tuple(_call(call, at) for at, call in enumerate(value))


def _call(call: object, at: int) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    raise InvalidMessageError(f"tool_calls[{at}]", f"is {_kind_of(call)}; give a ToolCall")


def _present(_instance: Any, _attribute: Any, value: Any) -> None:
    if value is None:
        raise InvalidMessageError("content", "is None, which only an assistant or a tool message may have; give a str")


@frozen(repr=False)
class ToolCall:
    """A model's request to call a tool.

    Attributes:
        id: What the result will name as ``tool_call_id``. None or ``""`` where the provider gave none.
        name: The tool's name.
        arguments: Raw text as the model wrote it, often but not always JSON.
        type: The wire type: ``function``, ``custom`` (free text as input), or ``function_call`` for the
            legacy form that stands alone in its message and has no id.
    """

    id: str | None = field(validator=_optional_text)
    name: str = field(validator=_text)
    arguments: str = field(default="", validator=_text)
    type: Literal["function", "custom", "function_call"] = field(default="function", kw_only=True)
    _extra: FrozenJson = field(default=None, converter=_freeze_extra, kw_only=True, alias="extra")

    def __attrs_post_init__(self) -> None:
        if self.type not in ("function", "custom", "function_call"):
            raise InvalidMessageError("type", "is none of 'function', 'custom', 'function_call'; use one of these")

    @property
    def extra(self) -> dict[str, Any]:
        """The provider's fields that are not modelled, as a fresh copy."""
        return dict(self._extra.thaw()) if self._extra is not _NOTHING else {}

    def parse(self) -> dict[str, Any]:
        """Return the arguments as a dict.

        Raises:
            InvalidMessageError: They are not a JSON object; a model may write anything. Tell it, as the tool's result.
        """
        try:
            parsed = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):  # outside, since the parser's error would quote the text
            raise InvalidMessageError("arguments", f"of a call to {self.name!r} are no JSON object")
        return parsed

    def __repr__(self) -> str:
        return f"<ToolCall {self.id!r} {self.name!r}>"


@frozen(repr=False)
class Message:
    """One immutable chat message; use the five concrete classes.

    Attributes:
        content: Text, a tuple of parts, or None where a provider gave none.
        name: The participant's (or the tool's) name, if any.
    """

    role: ClassVar[str]
    content: Content = field(converter=_freeze_content)
    name: str | None = field(default=None, validator=_optional_text, kw_only=True)
    _extra: FrozenJson = field(default=None, converter=_freeze_extra, kw_only=True, alias="extra")

    def __attrs_pre_init__(self) -> None:
        if type(self) is Message:
            raise InvalidMessageError("", "is of the class that all share; make one of the five concrete ones")

    @property
    def text(self) -> str:
        """The text of `content`, text parts joined without a separator; ``""`` where there is none."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content or () if isinstance(part, TextPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that this message makes; empty but in an assistant message."""
        return ()

    @property
    def extra(self) -> dict[str, Any]:
        """The provider's fields that are not modelled, as a fresh copy."""
        return dict(self._extra.thaw()) if self._extra is not _NOTHING else {}

    def __repr__(self) -> str:
        size = len(self.content) if self.content is not None else "no"
        return f"<{type(self).__name__} {size} {'characters' if isinstance(self.content, str) else 'parts'}>"


@frozen(repr=False)
class SystemMessage(Message):
    """What the developer tells the model; `role` is ``system`` or ``developer``. A window holds at most one (R2)."""

    content: Content = field(converter=_freeze_content, validator=_present)
    role: SystemRole = field(default="system", kw_only=True)  # type: ignore[misc] # a field where others have a constant

    def __attrs_post_init__(self) -> None:
        if self.role not in ("system", "developer"):
            raise InvalidMessageError("role", "is neither 'system' nor 'developer'; use one of these")


@frozen(repr=False)
class UserMessage(Message):
    """What the user says."""

    role: ClassVar[Literal["user"]] = "user"
    content: Content = field(converter=_freeze_content, validator=_present)


@frozen(repr=False)
class AssistantMessage(Message):
    """What the model says: text and/or tool calls, or a refusal. Reasoning stands in `content` as `ReasoningPart`."""

    role: ClassVar[Literal["assistant"]] = "assistant"
    content: Content = field(default=None, converter=_freeze_content)
    tool_calls: tuple[ToolCall, ...] = field(default=(), converter=_freeze_calls, kw_only=True)
    refusal: str | None = field(default=None, validator=_optional_text, kw_only=True)


@frozen(repr=False)
class ToolMessage(Message):
    """A tool's result. `role` is ``tool``, or ``function`` in the legacy form.

    `tool_call_id` may be None or ``""`` where the provider gave none: such a result answers a call without id (R3).
    """

    content: Content = field(converter=_freeze_content)
    tool_call_id: str | None = field(validator=_optional_text, kw_only=True)
    is_error: bool = field(default=False, kw_only=True)
    role: ToolRole = field(default="tool", kw_only=True)  # type: ignore[misc] # a field where others have a constant

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.is_error, bool):
            raise InvalidMessageError("is_error", f"is {_kind_of(self.is_error)}; give a bool")
        if self.role not in ("tool", "function"):
            raise InvalidMessageError("role", "is neither 'tool' nor 'function'; use one of these")


@frozen(repr=False)
class ContextMessage(Message):
    """What the application tells about the conversation: a summary, a notice. No system message (R2), no turn."""

    role: ClassVar[Literal["context"]] = "context"
    content: Content = field(converter=_freeze_content, validator=_present)
