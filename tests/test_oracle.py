"""The oracle itself: lists that an endpoint takes, and one list for each thing that it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chatmemory.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from tests.oracle import Fact, check_window, unanswered_calls

SYSTEM, USER, ANSWER = Fact("system"), Fact("user"), Fact("assistant")


def _call(*ids: str | None) -> Fact:
    return Fact("assistant", ids)


def _result(call_id: str | None) -> Fact:
    return Fact("tool", tool_call_id=call_id)


@pytest.mark.parametrize(
    "facts",
    [
        [],
        [SYSTEM, USER, ANSWER],
        [USER, _call("a", "b"), _result("b"), _result("a"), ANSWER],
        [_call("a"), _result("a"), _call("a"), _result("a")],
        [_call("a", "a"), _result("a"), _result("a")],
        [_call(None, "a"), _result("a"), _result(None)],
    ],
)
def test_accepts_what_is_valid(facts: list[Fact]) -> None:
    """Results in any order behind their call, ids used again in a later message, and no id on both sides are valid."""
    assert [] == check_window(facts)
    assert [] == unanswered_calls(facts)


@pytest.mark.parametrize(
    ("facts", "where"),
    [
        ([_result("a")], "message 0"),
        ([USER, SYSTEM], "message 1"),
        ([SYSTEM, Fact("developer"), USER], "message 1"),
        ([_call("a"), USER, _result("a")], "message 2"),
        ([_call("a"), _result("b")], "message 1"),
        ([_call("a"), _result("A")], "message 1"),
        ([_call("a"), _result(None)], "message 1"),
        ([_call("a"), _result("a"), _result("a")], "message 2"),
        ([_call("a"), _result("a"), _call("b"), _result("a")], "message 3"),
        ([ANSWER, _result("a")], "message 1"),
    ],
)
def test_finds_what_is_refused(facts: list[Fact], where: str) -> None:
    """A result away from its call, for no call, or for the second time, and a misplaced system message are found."""
    assert where == check_window(facts)[0].partition(":")[0]


@pytest.mark.parametrize(
    ("facts", "missing"),
    [([_call("a")], 1), ([_call("a", "b", "a"), _result("a"), USER], 2), ([USER, _call("a"), _call("b")], 2)],
)
def test_names_calls_without_result_apart(facts: list[Fact], missing: int) -> None:
    """A call without result is no problem of the window, and is reported one by one."""
    assert [] == check_window(facts)
    assert missing == len(unanswered_calls(facts))


def test_reads_messages_and_wire_dicts_alike() -> None:
    """The same conversation as the library's messages and as a provider's dicts gives the same findings."""
    messages: list[Message] = [
        SystemMessage("s", role="developer"),
        UserMessage("u"),
        AssistantMessage(tool_calls=(ToolCall("a", "look"), ToolCall("", "look"))),
        ToolMessage("r", tool_call_id=None),
        ToolMessage("r", tool_call_id="x"),
    ]
    wire: list[Mapping[str, Any]] = [
        {"role": "developer", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "tool_calls": [{"id": "a"}], "function_call": {"name": "look", "arguments": ""}},
        {"role": "function", "content": "r"},
        {"role": "tool", "content": "r", "tool_call_id": "x"},
    ]
    assert ["message 4: a result for no call of message 2"] == check_window(messages)
    assert ["message 4: a result for no call of message 2"] == check_window(wire)
    assert ["message 2: call 'a' has no result"] == unanswered_calls(messages)
    assert ["message 2: call 'a' has no result"] == unanswered_calls(wire)
