"""Conversations for the properties of formats: valid wire lists, and lists of messages with every oddity of ids.

Decides: what Hypothesis draws. `wire_conversations` are what a provider accepts as it is; `message_lists` are what a
memory may hold: calls that still wait, ids that are missing, empty or used again, late results, lone surrogates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from chatmemory.messages import (
    AssistantMessage,
    ContextMessage,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)

Wire = dict[str, Any]

plain_texts = st.text(max_size=12)
any_texts = st.text(st.characters(exclude_categories=()), max_size=12)
surrogates = st.text(st.sampled_from("\ud83d\ude00\ud800a\x00é"), max_size=6)
call_names = st.from_regex(r"[a-zA-Z0-9_-]{1,8}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | plain_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_texts, inner, max_size=3),
    max_leaves=6,
)
unknown_fields = st.dictionaries(
    st.sampled_from(["timestamp", "reasoning_content", "x_vendor", "cache_control"]),
    json_values.filter(lambda value: value is not None),
    max_size=2,
)


@st.composite
def text_parts(draw: st.DrawFn) -> Wire:
    """A text part, perhaps with a field that is not modelled."""
    return {"type": "text", "text": draw(plain_texts), **draw(unknown_fields)}


@st.composite
def media_parts(draw: st.DrawFn) -> Wire:
    """A part that only user messages take."""
    kind = draw(st.sampled_from(["image_url", "input_audio", "file"]))
    body = {
        "image_url": {"url": draw(plain_texts), "detail": "low"},
        "input_audio": {"data": draw(plain_texts), "format": "wav"},
        "file": {"file_data": draw(plain_texts), "filename": "a.pdf"},
    }[kind]
    return {"type": kind, kind: {**body, **draw(unknown_fields)}, **draw(unknown_fields)}


@st.composite
def calls(draw: st.DrawFn, wire_id: str) -> Wire:
    """A call of a function or of a custom tool."""
    if draw(st.booleans()):
        body = {"name": draw(call_names), "arguments": draw(plain_texts), **draw(unknown_fields)}
        return {"id": wire_id, "type": "function", "function": body, **draw(unknown_fields)}
    return {"id": wire_id, "type": "custom", "custom": {"name": draw(call_names), "input": draw(plain_texts)}}


@st.composite
def exchanges(draw: st.DrawFn) -> list[Wire]:
    """An assistant message that calls, and the results in any order."""
    if draw(st.integers(0, 4)) == 0:
        name = draw(call_names)
        legacy = {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": "{}"}}
        return [legacy, {"role": "function", "name": name, "content": draw(plain_texts)}]
    ids = draw(st.lists(st.sampled_from(["c1", "c2", "c3", "c4"]), min_size=1, max_size=3, unique=True))
    content = draw(st.none() | plain_texts)
    head = {"role": "assistant", "content": content, "tool_calls": [draw(calls(wire_id)) for wire_id in ids]}
    contents = plain_texts | st.lists(text_parts(), min_size=1, max_size=2)
    results = [{"role": "tool", "tool_call_id": wire_id, "content": draw(contents)} for wire_id in ids]
    return [head, *draw(st.permutations(results))]


@st.composite
def single_messages(draw: st.DrawFn) -> list[Wire]:
    """One message that is no tool exchange."""
    role = draw(st.sampled_from(["system", "developer", "user", "assistant"]))
    if role == "assistant" and draw(st.booleans()):
        return [{"role": role, "content": None, "refusal": draw(plain_texts.filter(bool))}]
    parts = text_parts() | media_parts() if role == "user" else text_parts()
    content = draw(plain_texts | st.lists(parts, min_size=1, max_size=3))
    return [{"role": role, "content": content, **draw(unknown_fields)}]


wire_conversations = st.lists(single_messages() | exchanges(), min_size=1, max_size=6).map(
    lambda groups: [wire for group in groups for wire in group]
)


@st.composite
def message_lists(draw: st.DrawFn, *, texts: st.SearchStrategy[str] = any_texts) -> list[Message]:
    """Messages as a memory may hold them: every result has its call, somewhere before it."""
    messages: list[Message] = []
    waiting = Counter[str]()
    for _ in range(draw(st.integers(1, 8))):
        open_keys = sorted(key for key, count in waiting.items() if count)
        answers = draw(st.booleans())
        if open_keys and answers:
            key = draw(st.sampled_from(open_keys))
            waiting[key] -= 1
            messages.append(_result(draw, key, texts))
        elif draw(st.booleans()):
            made = _calls(draw, texts)
            waiting.update(call.id or "" for call in made)
            messages.append(AssistantMessage(draw(st.none() | texts), tool_calls=tuple(made)))
        else:
            messages.append(_plain(draw, texts))
    return messages


def _calls(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> list[ToolCall]:
    ids = st.sampled_from([None, "", "a", "b", "\ud800", "\udfff", "a" * 40])
    kinds = st.sampled_from(["function", "custom", "function_call"])
    one = st.builds(ToolCall, ids, call_names, texts, type=kinds)
    return draw(st.lists(one, min_size=1, max_size=4))


def _result(draw: st.DrawFn, key: str, texts: st.SearchStrategy[str]) -> ToolMessage:
    content = draw(st.none() | texts | texts.map(lambda text: (TextPart(text),)))
    wire_id = key or draw(st.sampled_from([None, ""]))
    return ToolMessage(content, tool_call_id=wire_id, role=draw(st.sampled_from(["tool", "function"])))


def _plain(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> Message:
    made: Sequence[st.SearchStrategy[Message]] = [
        st.builds(SystemMessage, texts, role=st.sampled_from(["system", "developer"])),
        st.builds(UserMessage, texts | texts.map(lambda text: (TextPart(text), TextPart(text)))),
        st.builds(AssistantMessage, st.none() | texts | st.just(())),
        st.builds(ContextMessage, texts),
    ]
    return draw(st.one_of(made))
