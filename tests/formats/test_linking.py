"""Converters and memories link results to calls by the same rule (R3), though each does it in its own way."""

from __future__ import annotations

from hypothesis import given

from chatmemory import ChatMemory, Message, SlidingWindow, ToolMessage
from chatmemory.core.entries import Reason
from chatmemory.formats.linking import OpenCalls
from tests.conversations import conversations


def in_a_memory(conversation: list[Message]) -> list[int | Reason]:
    """For each result: the seq of the message whose call it answers, or why it did not get in."""
    memory = ChatMemory(strategy=SlidingWindow(10**6))
    memory.extend(conversation)
    entries = [entry for entry in memory.history() if isinstance(entry.message, ToolMessage)]
    return [entry.reason or entry.call_seq or 0 for entry in entries]


def in_a_converter(conversation: list[Message]) -> list[int | Reason]:
    """The same, as a converter sees it."""
    found: list[int | Reason] = []
    open_calls = OpenCalls()
    for seq, message in enumerate(conversation, 1):
        if isinstance(message, ToolMessage):
            place = open_calls.answered(message.tool_call_id)
            found.append(place[0] if place else open_calls.fault_of(message.tool_call_id))
        else:
            open_calls.made(seq, (call.id for call in message.tool_calls))
    return found


@given(conversation=conversations())
def test_results_find_the_same_calls(conversation: list[Message]) -> None:
    """Interleaved, repeated, late, unanswered and orphaned, with ids and without: both say the same of each result."""
    said = [message for message in conversation if message.role != "system"]
    assert in_a_converter(said) == in_a_memory(said)
