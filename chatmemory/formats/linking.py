"""Which result answers which call in a plain list (R3).

Decides: the link, by id and never by adjacency or tool name. A result belongs to the nearest earlier call with its id
that has none yet; the same id several times in one message is answered in order. A missing id and an empty one are the
same: such a result answers the oldest open call without id in the nearest message that has one. Constant cost a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal

from attrs import define, field

CallPlace = tuple[int, int]
"""A call: the number of its message, and its position among the calls of that message."""


@define
class OpenCalls:
    """The calls that were made so far, and which of them wait for a result."""

    _open: dict[str, list[deque[CallPlace]]] = field(factory=dict, init=False)

    def made(self, owner: int, ids: Iterable[str | None]) -> None:
        """Take in the calls of message `owner`."""
        fresh: dict[str, deque[CallPlace]] = {}
        for position, wire_id in enumerate(ids):
            fresh.setdefault(wire_id or "", deque()).append((owner, position))
        for key, places in fresh.items():
            self._open.setdefault(key, []).append(places)

    def answered(self, wire_id: str | None) -> CallPlace | None:
        """Return the call that a result with this id answers; it waits no longer. None where no call waits for it."""
        waiting = self._open.get(wire_id or "")
        if not waiting:
            return None
        place = waiting[-1].popleft()
        if not waiting[-1]:
            waiting.pop()
        return place

    def fault_of(self, wire_id: str | None) -> Literal["duplicate", "orphan"]:
        """Say what a result is that answers no waiting call."""
        return "duplicate" if (wire_id or "") in self._open else "orphan"
