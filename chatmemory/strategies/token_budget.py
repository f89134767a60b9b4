"""The newest messages that fit a token budget. Decides when it is engaged, and how far down it goes (R7, R8)."""

from __future__ import annotations

from attrs import field, frozen

from chatmemory.checks import check_count
from chatmemory.core.entries import EvictionUnit
from chatmemory.core.eviction import EvictTo, evict_oldest
from chatmemory.core.plan import Limits, Plan
from chatmemory.core.settings import check_evict_to
from chatmemory.core.window import Window


@frozen
class TokenBudget:
    """Keeps the newest messages whose tokens fit ``max_tokens``; the oldest leave first.

    Args:
        max_tokens: What a request may cost, in tokens, the counter's overhead included.
        evict_to: How far eviction goes down once it starts: a share of the limit (a float in (0, 1]) or a number of
            tokens. With 0.7 the head of the prompt stays the same for many turns, which is what a provider's prompt
            cache needs. None: no further than the limit.
        unit: ``message``: units leave one by one. ``turn``: whole earlier turns leave first, so that the window opens
            with a user message.

    Raises:
        InvalidArgumentError: A value is out of range; the error names the argument.
    """

    name = "fixed"
    requires_llm = False
    overhead_tokens = 0

    max_tokens: int
    evict_to: EvictTo = field(default=None, kw_only=True)
    unit: EvictionUnit = field(default="message", kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_count("max_tokens", self.max_tokens)
        check_evict_to(self.evict_to)
        _ = self.limits  # checks the others

    @property
    def limits(self) -> Limits:
        """The token limit."""
        return Limits(max_tokens=self.max_tokens, unit=self.unit)

    def plan(self, window: Window) -> Plan | None:
        """Plan to evict the oldest where `window` has gone over its limit."""
        return evict_oldest(window, self.evict_to, main="tokens") if window.evicting else None
