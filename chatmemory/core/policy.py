"""What a memory demands of its window, as one value. Decides nothing; knows guards and limits."""

from __future__ import annotations

from attrs import frozen

from chatmemory.core.entries import EvictionUnit, Limit, OverflowPolicy
from chatmemory.core.guards import Guards


@frozen(kw_only=True)
class Policy:
    """What a memory demands of its window.

    Attributes:
        limit: What the window may hold.
        guards: Which guards hold.
        overflow: What happens to a message that does not fit beside what must stay (R6).
        unit: What leaves together: units, or whole turns (R8).
        count_system: Whether the system message counts against ``limit.messages``.
        counted: Whether tokens are counted (R10).
        overhead: Tokens that a request costs besides its messages.
    """

    limit: Limit
    guards: Guards = Guards()
    overflow: OverflowPolicy = "evict"
    unit: EvictionUnit = "message"
    count_system: bool = True
    counted: bool = True
    overhead: int = 0

    @property
    def ceiling(self) -> int | None:
        """The tokens above which a message cannot get in, so that its exact count is not needed; None: it is needed."""
        if self.limit.tokens is None or self.overflow == "keep":
            return None
        return self.limit.tokens - self.overhead
