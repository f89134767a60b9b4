"""Is a list of messages fit for a chat completions endpoint? A judge that shares no code with the library's core.

The rules are the provider's: https://platform.openai.com/docs/guides/function-calling and the 400 texts of its
endpoint. A tool result directly follows the assistant message that made its call, or other results of that message;
each call has one result; at most one system (developer) message stands in the list, and it is the first. Calls
without a result are a finding of their own, because a memory may hold calls that still wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from chatmemory.messages import Message, ToolMessage

SYSTEM_ROLES = ("system", "developer")
RESULT_ROLES = ("tool", "function")


@frozen
class Fact:
    """All that validity depends on. An id that is missing or empty is None."""

    role: str
    call_ids: tuple[str | None, ...] = ()
    tool_call_id: str | None = None


@define
class _Calls:
    """The calls of one assistant message while its results are read."""

    at: int
    asked: tuple[str | None, ...]
    waiting: list[str | None] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.waiting = list(self.asked)


def check_window(messages: Iterable[Message | Mapping[str, Any] | Fact]) -> list[str]:
    """Return what a provider would refuse, but for calls without a result; ``[]`` where there is nothing."""
    return _read([_fact(message) for message in messages])[0]


def unanswered_calls(messages: Iterable[Message | Mapping[str, Any] | Fact]) -> list[str]:
    """Return the calls that have no result; a provider refuses them too, a memory may hold them."""
    return _read([_fact(message) for message in messages])[1]


def _read(facts: list[Fact]) -> tuple[list[str], list[str]]:
    problems = _misplaced_systems(facts)
    unanswered: list[str] = []
    open_calls: _Calls | None = None
    for at, fact in enumerate(facts):
        if fact.role in RESULT_ROLES:
            problems += _take_result(at, fact, open_calls)
            continue
        unanswered += _left_over(open_calls)
        open_calls = _Calls(at, fact.call_ids) if fact.call_ids else None
    return problems, unanswered + _left_over(open_calls)


def _misplaced_systems(facts: list[Fact]) -> list[str]:
    places = [at for at, fact in enumerate(facts) if fact.role in SYSTEM_ROLES]
    late = [f"message {at}: a system message that is not the first" for at in places if at > 0]
    return late + (["more than one system message"] if len(places) > 1 else [])


def _take_result(at: int, fact: Fact, calls: _Calls | None) -> list[str]:
    if calls is None:
        return [f"message {at}: a result that follows no assistant message with calls"]
    if fact.tool_call_id in calls.waiting:
        calls.waiting.remove(fact.tool_call_id)
        return []
    if fact.tool_call_id in calls.asked:
        return [f"message {at}: a second result for a call of message {calls.at}"]
    return [f"message {at}: a result for no call of message {calls.at}"]


def _left_over(calls: _Calls | None) -> list[str]:
    return [f"message {calls.at}: call {one!r} has no result" for one in calls.waiting] if calls else []


def _fact(message: Message | Mapping[str, Any] | Fact) -> Fact:
    if isinstance(message, Fact):
        return message
    if isinstance(message, Message):
        answers = (message.tool_call_id or None) if isinstance(message, ToolMessage) else None
        return Fact(message.role, tuple(call.id or None for call in message.tool_calls), answers)
    return Fact(message["role"], _wire_call_ids(message), message.get("tool_call_id") or None)


def _wire_call_ids(message: Mapping[str, Any]) -> tuple[str | None, ...]:
    ids = tuple(call.get("id") or None for call in message.get("tool_calls") or ())
    return (*ids, None) if message.get("function_call") else ids
