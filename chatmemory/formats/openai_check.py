"""What OpenAI's chat completions would refuse in a raw list of messages.

Decides: how results and calls have to stand to each other (R3); `openai_check_message` looks at each message alone.
Fields that the API does not know are no finding, since compatible servers define their own, nor is the length of ids,
for which the API has had several limits. Legacy ``function`` results are held to the same rules. It takes anything,
raises nothing, and its time grows with the input alone. https://platform.openai.com/docs/guides/function-calling
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, field

from chatmemory.errors import InvalidArgumentError
from chatmemory.formats.findings import Finding
from chatmemory.formats.linking import OpenCalls
from chatmemory.formats.openai_check_message import check_message


def check(wire_messages: object, provider: str = "openai") -> list[Finding]:
    """Say what `provider` would refuse in a list of wire messages, as they would be sent.

    Args:
        wire_messages: Dicts in the provider's form. Whatever else it is, is a finding and no error.
        provider: ``"openai"``; others are not there yet.

    Returns:
        Findings by index, those about the whole list first; ``[]`` where there is nothing to refuse.

    Raises:
        InvalidArgumentError: There are no rules for `provider`.

    Example:
        >>> [finding.code for finding in check([{"role": "tool", "tool_call_id": "c1", "content": "sunny"}])]
        ['orphan_result']
    """
    if provider != "openai":
        raise InvalidArgumentError("provider", "is none of those with rules; give 'openai'")
    if not isinstance(wire_messages, list | tuple):
        return [Finding.at("not_a_list", None, "", f"is of type {type(wire_messages).__name__}")]
    if not wire_messages:
        return [Finding.at("empty_list", None, "", "holds no message")]
    found = [finding for at, wire in enumerate(wire_messages) for finding in check_message(wire, at)]
    found.extend(_Pairs(wire_messages).findings())
    return sorted(found, key=lambda finding: -1 if finding.index is None else finding.index)


@define
class _Pairs:
    """The calls and results of one list, read once from its beginning."""

    messages: Sequence[object]
    open_calls: OpenCalls = field(factory=OpenCalls, init=False)
    unanswered: dict[int, int] = field(factory=dict, init=False)
    followed: int | None = field(default=None, init=False)
    """The message whose results may stand here."""

    def findings(self) -> Iterator[Finding]:
        for at, wire in enumerate(self.messages):
            fields = wire if isinstance(wire, dict) else {}
            match fields.get("role"):
                case str("tool" | "function"):
                    yield from self._result(at, fields.get("tool_call_id"))
                case str("assistant"):
                    yield from self._calls(at, _call_ids(fields))
                case _:
                    self.followed = at
        for at, count in self.unanswered.items():
            if count:
                yield Finding.at("pending_call", at, "", f"has {count} of its calls without a result")

    def _calls(self, at: int, ids: list[str | None]) -> Iterator[Finding]:
        self.followed = at
        self.open_calls.made(at, ids)
        self.unanswered[at] = len(ids)
        named = [wire_id for wire_id in ids if wire_id]
        if len(set(named)) < len(named):
            yield Finding.at("duplicate_id", at, "tool_calls", "use one id for several calls")

    def _result(self, at: int, wire_id: object) -> Iterator[Finding]:
        key = wire_id if isinstance(wire_id, str) else None
        place = self.open_calls.answered(key)
        if place is None:
            yield self._unlinked(at, key)
            return
        self.unanswered[place[0]] -= 1
        if place[0] != self.followed:
            yield Finding.at("misplaced_result", at, "", "does not stand directly behind its call")

    def _unlinked(self, at: int, key: str | None) -> Finding:
        if self.open_calls.fault_of(key) == "duplicate":
            return Finding.at("duplicate_result", at, "tool_call_id", "answers a call that has its result already")
        return Finding.at("orphan_result", at, "tool_call_id", "answers no call that stands before it")


def _call_ids(wire: dict[Any, Any]) -> list[str | None]:
    """Return the ids of a message's calls; None for one that is missing or no text."""
    calls = wire.get("tool_calls")
    ids = [_call_id(call) for call in calls] if isinstance(calls, list | tuple) else []
    match wire.get("function_call"):
        case {"name": str(name)} if name:
            ids.append(None)
    return ids


def _call_id(call: object) -> str | None:
    wire_id = call.get("id") if isinstance(call, dict) else None
    return wire_id if isinstance(wire_id, str) else None
