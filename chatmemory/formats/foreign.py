"""What is no message in OpenAI's form: another provider's messages, and what surrounds a message in a response.

Decides: how they are recognised, and what the error says to do. They are refused and never kept as opaque parts,
because R3 could not see the calls inside. Hosted tools' items (``server_tool_use``) are no calls of the application.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from chatmemory.errors import InvalidMessageError

_ANTHROPIC: Final = "is in Anthropic's form, for which the converter from_anthropic is not there yet"
_GEMINI: Final = "is in Gemini's form, for which the converter from_gemini is not there yet"
_RESPONSES: Final = "is in the form of OpenAI's Responses API, for which the converter from_responses is not there yet"
_BEDROCK: Final = "is in the form of Bedrock's Converse API, for which there is no converter"
_LANGCHAIN: Final = "is in LangChain's form (langchain_core.messages.convert_to_openai_messages gives OpenAI's)"
_LLAMAINDEX: Final = "is in LlamaIndex's form, for which there is no converter"
_AI_SDK: Final = "is in the form of the Vercel AI SDK, for which there is no converter"
_REMEDY: Final = "; give it in the form of OpenAI's chat completions"

_PART_TYPES: Final = {
    "tool_use": _ANTHROPIC,
    "tool_result": _ANTHROPIC,
    "function_call": _RESPONSES,
    "function_call_output": _RESPONSES,
    "custom_tool_call": _RESPONSES,
    "custom_tool_call_output": _RESPONSES,
    "input_text": _RESPONSES,
    "input_image": _RESPONSES,
    "output_text": _RESPONSES,
    "tool_call": _LANGCHAIN,
    "tool-call": _AI_SDK,
    "tool-result": _AI_SDK,
}
_UNTYPED_PART_KEYS: Final = {
    "functionCall": _GEMINI,
    "functionResponse": _GEMINI,
    "function_call": _GEMINI,
    "function_response": _GEMINI,
    "toolUse": _BEDROCK,
    "toolResult": _BEDROCK,
}
_LANGCHAIN_TYPES: Final = frozenset({"ai", "human", "system", "tool", "function", "chat", "AIMessageChunk"})


def refuse_foreign_message(wire: Mapping[str, Any]) -> None:
    """Refuse what is no message in OpenAI's form though it is a dict.

    Raises:
        InvalidMessageError: Its text names the form, and what to give instead.
    """
    problem = _wrapping(wire) or _foreign_message(wire)
    if problem:
        raise InvalidMessageError("", problem)


def refuse_foreign_part(part: Mapping[str, Any], path: str) -> None:
    """Refuse a part that another provider's calls, results or text stand in.

    Raises:
        InvalidMessageError: With `path`; its text names the form.
    """
    kind = part.get("type")
    form = _PART_TYPES.get(kind) if isinstance(kind, str) else None
    if kind is None:
        form = next((form for key, form in _UNTYPED_PART_KEYS.items() if key in part), None)
    if form:
        raise InvalidMessageError(path, form + _REMEDY)


def _wrapping(wire: Mapping[str, Any]) -> str | None:
    if "role" in wire:
        return None
    if wire.get("object") == "chat.completion.chunk" or "delta" in wire:
        return "is a piece of a stream; put the pieces together and pass the whole message"
    if "choices" in wire:
        return "is a whole completion; pass .choices[0].message"
    if "message" in wire:
        return "is a choice of a completion; pass its .message"
    if "messages" in wire:
        return "is a whole conversation; pass the list under 'messages'"
    return None


def _foreign_message(wire: Mapping[str, Any]) -> str | None:
    form = _form_of(wire)
    return form + _REMEDY if form else None


def _form_of(wire: Mapping[str, Any]) -> str | None:
    kind = wire.get("type")
    if wire.get("role") == "model" or ("parts" in wire and "content" not in wire):
        return _GEMINI
    if "blocks" in wire and "content" not in wire:
        return _LLAMAINDEX
    if kind == "message" and "stop_reason" in wire:
        return _ANTHROPIC
    if "role" in wire:
        return None
    if isinstance(kind, str):
        return _LANGCHAIN if kind in _LANGCHAIN_TYPES else _RESPONSES
    return _RESPONSES if wire.get("object") == "response" else None
