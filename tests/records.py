"""What a conversation of the slow model consists of, and the questions that the rules ask about a window.

Each answer is worked out from the list of records again, by seq and call id only: units and their order (R3), turns,
calls that wait, guards (R5). Knows messages, and nothing of the library's core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define

from chatmemory.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage


@define
class Record:
    """One message of a conversation. `call` is the seq of the message whose call it answers."""

    seq: int
    message: Message
    tokens: int | None
    entered: int
    call: int | None = None
    left: int | None = None
    reason: str | None = None
    redacted: int | None = None

    @property
    def head(self) -> int:
        """The first seq of the unit that it belongs to."""
        return self.call or self.seq

    @property
    def role(self) -> str:
        """``system`` for a developer message too, ``tool`` for a function's result too."""
        return {"developer": "system", "function": "tool"}.get(self.message.role, self.message.role)


def in_order(records: Iterable[Record]) -> list[Record]:
    """R2, R3: the system message, then by the first seq of the unit, results behind their call as they came."""
    return sorted(records, key=lambda record: (record.role != "system", record.head, record.seq))


def heads(window: Sequence[Record]) -> list[int]:
    """The first seq of each unit, oldest first; the system message is no unit that could leave."""
    return list(dict.fromkeys(record.head for record in in_order(window) if record.role != "system"))


def turns(window: Sequence[Record]) -> list[list[int]]:
    """The heads of the units of each turn. A unit is in the turn in which it begins."""
    users = {record.seq for record in window if record.role == "user"}
    found: list[list[int]] = []
    for head in heads(window):
        if head in users or not found:
            found.append([])
        found[-1].append(head)
    return found


def open_ids(window: Sequence[Record], caller: Record) -> list[str | None]:
    """The ids of the calls of `caller` that still wait for a result; None for each call without id."""
    waiting = [call.id or None for call in caller.message.tool_calls]
    for record in window:
        if record.call == caller.seq and isinstance(record.message, ToolMessage):
            waiting.remove(record.message.tool_call_id or None)
    return waiting


def request_of(window: Sequence[Record]) -> int | None:
    """The last user message."""
    return max((record.seq for record in window if record.role == "user"), default=None)


def is_plain_answer(message: Message) -> bool:
    """An assistant message without calls."""
    return isinstance(message, AssistantMessage) and not message.tool_calls


def blank(message: Message, text: str) -> Message:
    """What is left of a message that is redacted: role, and what links calls and results (R3)."""
    if isinstance(message, AssistantMessage):
        return AssistantMessage(text, tool_calls=[ToolCall(call.id, call.name, "{}") for call in message.tool_calls])
    if isinstance(message, ToolMessage):
        return ToolMessage(text, tool_call_id=message.tool_call_id)
    return SystemMessage(text, role=message.role) if isinstance(message, SystemMessage) else UserMessage(text)


def _is_request(window: Sequence[Record], head: int) -> bool:
    return head == request_of(window)


def _is_pending(window: Sequence[Record], head: int) -> bool:
    caller = next(record for record in window if record.seq == head)
    moved_on = any(later.role == "user" or is_plain_answer(later.message) for later in window if later.seq > caller.seq)
    return bool(open_ids(window, caller)) and not moved_on


def _is_unseen(window: Sequence[Record], head: int) -> bool:
    last_read = max((record.seq for record in window if record.role in ("assistant", "user")), default=0)
    return any(record.call == head and record.seq > last_read for record in window)


def guards_of(window: Sequence[Record], switched_on: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """R5: for each unit that has any, the names of its guards."""
    on = {name: holds for name, holds in _GUARDS.items() if name in switched_on}
    found = {head: tuple(name for name, holds in on.items() if holds(window, head)) for head in heads(window)}
    return {head: names for head, names in found.items() if names}


_GUARDS = {"current_request": _is_request, "pending_tool_call": _is_pending, "unseen_tool_result": _is_unseen}
