"""The last N messages. Decides when it is engaged, and how far down it goes (R7, R8)."""

from __future__ import annotations

from attrs import field, frozen

from chatmemory.checks import check_count
from chatmemory.core.entries import EvictionUnit
from chatmemory.core.eviction import EvictTo, evict_oldest
from chatmemory.core.plan import Limits, Plan
from chatmemory.core.settings import check_evict_to
from chatmemory.core.window import Window


@frozen
class SlidingWindow:
    """Keeps the last ``max_messages`` messages, and within ``max_tokens`` where that is given; the oldest leave first.

    Args:
        max_messages: How many messages the window may hold, the system message included.
        max_tokens: What a request may cost besides, in tokens. None: tokens are not limited.
        evict_to: How far eviction goes down once it starts: a share of each limit (a float in (0, 1]) or a number of
            messages. None: no further than the limits.
        unit: ``message``: units leave one by one. ``turn``: whole earlier turns leave first, so that the window opens
            with a user message.
        count_system: False leaves the system message out of ``max_messages``.

    Raises:
        InvalidArgumentError: A value is out of range; the error names the argument.
    """

    name = "sliding"
    requires_llm = False
    overhead_tokens = 0

    max_messages: int = 10
    max_tokens: int | None = field(default=None, kw_only=True)
    evict_to: EvictTo = field(default=None, kw_only=True)
    unit: EvictionUnit = field(default="message", kw_only=True)
    count_system: bool = field(default=True, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_count("max_messages", self.max_messages)
        check_evict_to(self.evict_to)
        _ = self.limits  # checks the others

    @property
    def limits(self) -> Limits:
        """The message limit, and the token limit where there is one."""
        return Limits(self.max_tokens, self.max_messages, count_system=self.count_system, unit=self.unit)

    def plan(self, window: Window) -> Plan | None:
        """Plan to evict the oldest where `window` has gone over a limit."""
        return evict_oldest(window, self.evict_to, main="messages") if window.evicting else None
