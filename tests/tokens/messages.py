"""Arbitrary messages, with everything in them that is hard to count."""

from __future__ import annotations

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

_any_character = st.characters(exclude_categories=())
_odd = st.sampled_from(["<|endoftext|>", "<|im_start|>", "\ud83d", "\ude00", "\ud83d\ude00", "\0", "\ufeff", "👩🏽‍💻"])
_runs = st.builds(
    lambda character, times: character * times, _any_character | st.sampled_from(" -=\na"), st.integers(0, 3_000)
)


def texts() -> st.SearchStrategy[str]:
    """Return text with surrogates, special tokens and long runs."""
    return st.lists(st.text(_any_character, max_size=40) | _odd | _runs, max_size=4).map("".join)


def parts() -> st.SearchStrategy[ContentPart]:
    """Return parts of every kind."""
    return st.one_of(
        texts().map(TextPart),
        texts().map(ReasoningPart),
        st.builds(ImagePart, texts(), detail=st.sampled_from([None, "low", "high", "auto"])),
        st.builds(AudioPart, texts(), format=st.sampled_from(["wav", "mp3", ""])),
        st.builds(FilePart, data=st.none() | texts(), filename=st.none() | texts()),
        st.dictionaries(texts(), texts() | st.integers() | st.none(), max_size=3).map(OpaquePart),
    )


def messages() -> st.SearchStrategy[Message]:
    """Return messages of every role."""
    content = texts() | st.lists(parts(), max_size=3)
    name = st.none() | texts()
    calls = st.lists(st.builds(ToolCall, st.none() | texts(), texts(), texts()), max_size=3)
    return st.one_of(
        st.builds(UserMessage, content, name=name),
        st.builds(SystemMessage, content, name=name, role=st.sampled_from(["system", "developer"])),
        st.builds(ContextMessage, content),
        st.builds(AssistantMessage, st.none() | content, tool_calls=calls, refusal=st.none() | texts()),
        st.builds(ToolMessage, st.none() | content, tool_call_id=st.none(), role=st.sampled_from(["tool", "function"])),
    )
