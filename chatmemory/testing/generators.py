"""Hypothesis strategies: any text, any JSON, any message.

Decides: which odd values come up often (surrogates alone, in pairs held apart, next to real characters; NUL;
backslashes before what looks like an escape). Knows no store.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

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
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)

ODD_TEXTS: Final = (
    "",
    " ",
    "\0",
    "\ud83d",
    "\ude00",
    "\ud83d\ude00",
    "\ude00\ud83d",
    "\ud83d😀\ude00",
    "😀",
    "\\",
    "\\\\",
    "\\ud83d",
    "\\\\ud83d\\ude00",
    "\\\ud83d",
    "\\u0000",
    '"}',
    "e\u0301\u202eabc\u202c\ufeff\u2028",
    "\x7f\x80\uffff",
)
"""Texts that were lost or changed by some store, somewhere."""

texts: Final[st.SearchStrategy[str]] = st.lists(
    st.sampled_from(ODD_TEXTS) | st.text(st.characters(exclude_categories=()), max_size=20), max_size=5
).map("".join)
"""Any str, code points of surrogates included."""

json_values: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(2**63) - 1, 2**64, -0.0, 1.0, 1e300])
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects: Final[st.SearchStrategy[dict[str, Any]]] = st.dictionaries(texts, json_values, max_size=3)

_maybe_text: Final = st.none() | texts
_maybe_extra: Final = st.none() | json_objects

parts: Final[st.SearchStrategy[ContentPart]] = st.one_of(
    st.builds(TextPart, texts, extra=_maybe_extra),
    st.builds(ImagePart, texts, detail=_maybe_text, extra=_maybe_extra),
    st.builds(AudioPart, texts, format=texts, extra=_maybe_extra),
    st.builds(FilePart, file_id=_maybe_text, data=_maybe_text, filename=_maybe_text, extra=_maybe_extra),
    st.builds(
        ReasoningPart,
        texts,
        signature=_maybe_text,
        type=st.sampled_from(["thinking", "reasoning"]),
        extra=_maybe_extra,
    ),
    st.builds(OpaquePart, json_objects),
)
tool_calls: Final[st.SearchStrategy[ToolCall]] = st.builds(
    ToolCall,
    _maybe_text,
    texts,
    texts,
    type=st.sampled_from(["function", "custom", "function_call"]),
    extra=_maybe_extra,
)

_content: Final = texts | st.lists(parts, max_size=3)
_maybe_content: Final = st.none() | _content
_common: Final[dict[str, st.SearchStrategy[Any]]] = {"name": _maybe_text, "extra": _maybe_extra}

messages: Final[st.SearchStrategy[Message]] = st.one_of(
    st.builds(UserMessage, _content, **_common),
    st.builds(SystemMessage, _content, role=st.sampled_from(["system", "developer"]), **_common),
    st.builds(
        AssistantMessage,
        _maybe_content,
        tool_calls=st.lists(tool_calls, max_size=3),
        refusal=_maybe_text,
        **_common,
    ),
    st.builds(
        ToolMessage,
        _maybe_content,
        tool_call_id=_maybe_text,
        is_error=st.booleans(),
        role=st.sampled_from(["tool", "function"]),
        **_common,
    ),
    st.builds(ContextMessage, _content, **_common),
)
"""Any message of this library's model."""
