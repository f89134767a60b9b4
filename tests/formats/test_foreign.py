"""Other providers' forms, and what surrounds a message in a response, are refused with a text that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory.errors import InvalidMessageError
from chatmemory.formats import from_openai, parse_message


@pytest.mark.parametrize(
    ("words", "path", "wire"),
    [
        (
            "from_anthropic",
            ".content[0]",
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f"}]},
        ),
        ("from_anthropic", ".content[0]", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}),
        ("from_anthropic", "", {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}),
        ("from_gemini", "", {"role": "model", "parts": [{"text": "hi"}]}),
        ("from_gemini", "", {"role": "user", "parts": [{"text": "hi"}]}),
        ("from_gemini", ".content[0]", {"role": "assistant", "content": [{"functionCall": {"name": "f"}}]}),
        ("from_gemini", ".content[0]", {"role": "user", "content": [{"function_response": {"name": "f"}}]}),
        ("from_responses", "", {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}),
        ("from_responses", "", {"type": "function_call_output", "call_id": "c", "output": "r"}),
        ("from_responses", "", {"type": "message", "content": "hi"}),
        ("from_responses", "", {"type": "reasoning", "summary": []}),
        ("from_responses", "", {"object": "response", "output": []}),
        ("from_responses", ".content[0]", {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
        (
            "from_responses",
            ".content[0]",
            {"role": "assistant", "content": [{"type": "function_call", "call_id": "c"}]},
        ),
        ("Bedrock", ".content[0]", {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t"}}]}),
        ("LangChain", "", {"type": "ai", "data": {"content": "hi"}}),
        ("LangChain", ".content[0]", {"role": "assistant", "content": [{"type": "tool_call", "id": "t"}]}),
        ("LlamaIndex", "", {"role": "assistant", "blocks": [], "additional_kwargs": {}}),
        ("Vercel", ".content[0]", {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "t"}]}),
    ],
)
def test_another_form_is_named(words: str, path: str, wire: dict[str, Any]) -> None:
    """A message in another form is never kept as something opaque, since R3 could not see its calls."""
    with pytest.raises(InvalidMessageError, match=words) as caught:
        from_openai([wire])
    assert f"messages[0]{path}" == caught.value.path
    assert "chat completions" in caught.value.problem


@pytest.mark.parametrize(
    ("words", "wire"),
    [
        (r"pass \.choices\[0\]\.message", {"object": "chat.completion", "choices": []}),
        (r"pass its \.message", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}),
        ("put the pieces together", {"object": "chat.completion.chunk", "choices": []}),
        ("put the pieces together", {"index": 0, "delta": {"content": "a"}}),
        ("pass the list under 'messages'", {"id": 1, "messages": []}),
    ],
)
def test_what_surrounds_a_message(words: str, wire: dict[str, Any]) -> None:
    """The error for a whole completion, a choice or a piece of a stream says what to pass instead."""
    with pytest.raises(InvalidMessageError, match=words):
        parse_message(wire)


def test_a_message_that_has_a_type_is_a_message() -> None:
    """A message with a role and text is read, whatever other fields it has."""
    assert "hi" == parse_message({"type": "message", "role": "user", "content": "hi"}).text
    assert "hi" == parse_message({"role": "user", "content": "hi", "parts": [{"type": "text"}]}).text
