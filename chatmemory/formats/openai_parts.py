"""Content parts in the form of OpenAI's chat completions, read and written.

Decides: which wire type is which part. A type that is not modelled stays as it is (`OpaquePart`); one that is modelled
has to have its fields. A missing type is the one whose field is there. What a part holds besides is its `extra`, nested
fields under the wire key. https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from chatmemory.errors import InvalidMessageError
from chatmemory.formats.foreign import refuse_foreign_part
from chatmemory.formats.wire_fields import (
    frozen_rest,
    joined,
    object_field,
    optional_text_field,
    rest_of,
    text_field,
    with_extra,
)
from chatmemory.frozen_json import FrozenJson
from chatmemory.messages import (
    AudioPart,
    Content,
    ContentPart,
    FilePart,
    ImagePart,
    OpaquePart,
    ReasoningPart,
    TextPart,
)

Wire = Mapping[str, Any]


def read_content(value: Any) -> Content:
    """Return `value` as content of a message.

    Raises:
        InvalidMessageError: A part is wrong; the path begins with ``content[…]``. What is neither text nor a list is
            returned as it is: the message refuses it.
    """
    if not isinstance(value, list):
        return value  # type: ignore[no-any-return] # checked by the message, for its role
    return tuple(_read_part(part, f"content[{at}]") for at, part in enumerate(value))


def write_content(content: Content) -> str | list[dict[str, Any]] | None:
    """Return `content` in the wire form; no parts are an empty text."""
    if isinstance(content, tuple):
        return [_write_part(part) for part in content] or ""
    return content


def _read_part(part: Any, path: str) -> ContentPart:
    if isinstance(part, str):
        return TextPart(part)
    if isinstance(part, ContentPart):
        return part
    if not isinstance(part, dict):
        raise InvalidMessageError(path, f"is of type {type(part).__name__}; give a part such as {{'type': 'text', …}}")
    refuse_foreign_part(part, path)
    read = _READERS.get(_type_of(part, path))
    return read(part, path) if read else OpaquePart(FrozenJson.of(part, path))


def _type_of(part: Wire, path: str) -> str:
    if part.get("type") is not None:
        return text_field(part, "type", path)
    for key in ("text", "image_url", "input_audio", "file"):
        if key in part:
            return key
    raise InvalidMessageError(joined(path, "type"), "is missing; give the type of the part, such as 'text'")


def _read_text(part: Wire, path: str) -> ContentPart:
    return TextPart(text_field(part, "text", path), extra=frozen_rest(rest_of(part, ("type", "text")), path))


def _read_image(part: Wire, path: str) -> ContentPart:
    image = object_field(part, "image_url", path, example="an object such as {'url': 'https://…'}")
    inside = joined(path, "image_url")
    return ImagePart(
        text_field(image, "url", inside),
        detail=optional_text_field(image, "detail", inside),
        extra=_nested_rest(part, "image_url", image, ("url", "detail"), path),
    )


def _read_audio(part: Wire, path: str) -> ContentPart:
    audio = object_field(part, "input_audio", path, example="an object such as {'data': '…', 'format': 'wav'}")
    inside = joined(path, "input_audio")
    return AudioPart(
        text_field(audio, "data", inside),
        format=text_field(audio, "format", inside),
        extra=_nested_rest(part, "input_audio", audio, ("data", "format"), path),
    )


def _read_file(part: Wire, path: str) -> ContentPart:
    file = object_field(part, "file", path, example="an object such as {'file_id': '…'}")
    inside = joined(path, "file")
    return FilePart(
        file_id=optional_text_field(file, "file_id", inside),
        data=optional_text_field(file, "file_data", inside),
        filename=optional_text_field(file, "filename", inside),
        extra=_nested_rest(part, "file", file, ("file_id", "file_data", "filename"), path),
    )


def _read_reasoning(part: Wire, path: str) -> ContentPart:
    kind = part["type"]
    key = "thinking" if kind == "thinking" else "text"
    text, signature = part.get(key), part.get("signature")
    if not isinstance(text, str) or not isinstance(signature, str | None):
        return OpaquePart(FrozenJson.of(dict(part), path))
    extra = frozen_rest(rest_of(part, ("type", key, "signature")), path)
    return ReasoningPart(text, signature=signature, type=kind, extra=extra)


def _nested_rest(part: Wire, key: str, inner: Wire, modelled: tuple[str, ...], path: str) -> FrozenJson | None:
    rest = rest_of(part, ("type", key))
    if inner_rest := rest_of(inner, modelled):
        rest[key] = inner_rest
    return frozen_rest(rest, path)


_READERS: Final[dict[str, Callable[[Wire, str], ContentPart]]] = {
    "text": _read_text,
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
    "thinking": _read_reasoning,
    "reasoning": _read_reasoning,
}


def _write_part(part: ContentPart) -> dict[str, Any]:
    if isinstance(part, OpaquePart):
        return part.data
    return with_extra(_modelled(part), part.extra)


def _modelled(part: TextPart | ImagePart | AudioPart | FilePart | ReasoningPart) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ImagePart():
            return {"type": "image_url", "image_url": _present(url=part.url, detail=part.detail)}
        case AudioPart():
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}
        case FilePart():
            file = _present(file_id=part.file_id, file_data=part.data, filename=part.filename)
            return {"type": "file", "file": file}
        case ReasoningPart():
            key = "thinking" if part.type == "thinking" else "text"
            return {"type": part.type, key: part.text, **_present(signature=part.signature)}


def _present(**fields: str | None) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
