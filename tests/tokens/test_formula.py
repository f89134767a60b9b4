"""Which texts of a message are counted, and what it costs besides them."""

from __future__ import annotations

import pytest

from chatmemory.messages import (
    AssistantMessage,
    AudioPart,
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
from chatmemory.tokens.formula import measure

CALL = ToolCall("call_1", "add", '{"a": 1}')


@pytest.mark.parametrize(
    ("texts", "tokens", "message"),
    [
        (["a"], 3, UserMessage("a")),
        (["a"], 3, ContextMessage("a")),
        (["a"], 3, SystemMessage("a", role="developer")),
        (["a", "ann"], 4, SystemMessage("a", name="ann")),
        ([], 3, AssistantMessage()),
        ([], 3, UserMessage([])),
        (["a", "b"], 3, UserMessage([TextPart("a"), TextPart("b")])),
        (["why", "a"], 3, AssistantMessage([ReasoningPart("why", signature="c2lnbmVk"), TextPart("a")])),
        (["no"], 3, AssistantMessage(refusal="no")),
        (["add", '{"a": 1}'], 7, AssistantMessage(tool_calls=(CALL,))),
        (["add", '{"a": 1}', "add", '{"a": 1}'], 11, AssistantMessage(tool_calls=(CALL, CALL))),
        (["add", ""], 7, AssistantMessage(tool_calls=(ToolCall(None, "add", type="function_call"),))),
        (["a", "why"], 3, AssistantMessage("a", extra={"reasoning_content": "why", "reasoning": None, "id": "m1"})),
        (["42", "add"], 4, ToolMessage("42", tool_call_id="call_1", name="add")),
        (["a"], 3 + 85, UserMessage([TextPart("a"), ImagePart("https://example.org/a.png", detail="low")])),
        ([], 3 + 10, UserMessage([AudioPart("AAAA", format="mp3")])),
        (["a.pdf"], 3 + 1500, UserMessage([FilePart(file_id="file-1", filename="a.pdf")])),
        ([""], 3 + 1500, UserMessage([FilePart(file_id="file-1")])),
        (['{"type":"clip","x":1}'], 3, UserMessage([OpaquePart({"type": "clip", "x": 1})])),
        (['{"type":"clip","data":""}'], 3 + 255, UserMessage([OpaquePart({"type": "clip", "data": "A" * 9000})])),
    ],
)
def test_measure(texts: list[str], tokens: int, message: Message) -> None:
    """What a model reads is text or has a price; ids, signatures and other extra fields are neither."""
    assert (texts, tokens) == measure(message)


def test_shorter_data_in_an_unknown_part_is_text() -> None:
    """Only a run of at least 256 characters of base64 is taken for data."""
    assert (['{"id":"' + "a" * 255 + '"}'], 3) == measure(UserMessage([OpaquePart({"id": "a" * 255})]))
