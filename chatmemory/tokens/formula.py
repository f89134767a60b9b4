"""The formula that both counters share: which texts of a message are tokens, and what it costs besides them.

Decides: OpenAI's published rules (3 a message, role and content, 1 and the name; 3 a request), and what is our own
choice where nothing is published: tool calls, reasoning, refusals, parts that are not modelled. Knows no tokenizer.
Sources: https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken, and those named below. Keeps R10:
whoever changes a number here raises `FORMULA`, or stored counts of another formula would be reused.
"""

from __future__ import annotations

import re
from typing import Final

from chatmemory.frozen_json import dump_json
from chatmemory.messages import (
    AssistantMessage,
    AudioPart,
    ContentPart,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    ReasoningPart,
    TextPart,
)
from chatmemory.tokens.media import IMAGE_UNKNOWN, audio_tokens, file_tokens, image_tokens

FORMULA: Final = 1
"""Version of the formula; part of each counter's name."""

PER_REQUEST: Final = 3
PER_MESSAGE: Final = 3
PER_NAME: Final = 1
PER_CALL: Final = 4
"""Not published. What a reported prompt leaves for a call besides its name and arguments (40 tokens in all):
https://community.openai.com/t/strange-token-cost-calculation-for-tool-calls/538914."""

WIRE_ROLES: Final = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "function",
    "context": "system",
}
"""The role that a provider is sent for each role that a message can have."""

_BLOB: Final = re.compile(r"[A-Za-z0-9+/=_-]{256,}")
_REASONING_KEYS: Final = ("reasoning_content", "reasoning")


def measure(message: Message) -> tuple[list[str], int]:
    """Return the texts of `message` that are to be counted, and the tokens that depend on no tokenizer.

    The role is in neither: counters know its tokens beforehand. Counted as text: content, name, refusal, reasoning,
    and each call's name and arguments. Not counted, as no model reads them: ids of calls, signatures, and `extra`
    but for reasoning that a provider put there.

    Example:
        >>> from chatmemory.messages import ToolCall, UserMessage
        >>> measure(UserMessage("Hello", name="ann"))
        (['Hello', 'ann'], 4)
        >>> measure(AssistantMessage(tool_calls=(ToolCall("c1", "add", '{"a": 1}'),)))
        (['add', '{"a": 1}'], 7)
    """
    texts: list[str] = []
    tokens = PER_MESSAGE
    if isinstance(message.content, str):
        texts.append(message.content)
    else:
        tokens += sum(_part(part, texts) for part in message.content or ())
    if message.name is not None:
        texts.append(message.name)
        tokens += PER_NAME
    if isinstance(message, AssistantMessage):
        tokens += _answer(message, texts)
    return texts, tokens


def _answer(message: AssistantMessage, texts: list[str]) -> int:
    if message.refusal:
        texts.append(message.refusal)
    for call in message.tool_calls:
        texts += (call.name, call.arguments)
    extra = message.extra
    texts += (extra[key] for key in _REASONING_KEYS if isinstance(extra.get(key), str))
    return PER_CALL * len(message.tool_calls)


def _part(part: ContentPart, texts: list[str]) -> int:
    match part:
        case TextPart() | ReasoningPart():
            texts.append(part.text)
            return 0
        case ImagePart():
            return image_tokens(part)
        case AudioPart():
            return audio_tokens(part)
        case FilePart():
            texts.append(part.filename or "")
            return file_tokens(part)
        case OpaquePart():
            return _opaque(part, texts)


def _opaque(part: OpaquePart, texts: list[str]) -> int:
    """Count an unknown part as its JSON text, and each long run of base64 in it as an image of unknown size."""
    text, blobs = _BLOB.subn("", dump_json(part.data))
    texts.append(text)
    return IMAGE_UNKNOWN * blobs
