"""What a token counter is. Decides the protocol; knows messages and no tokenizer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from chatmemory.messages import Message


@runtime_checkable
class TokenCounter(Protocol):
    """Counts what messages cost.

    A counter may also have ``at_least(message: Message) -> int``: a cheap lower bound, never above ``count(message)``,
    which shows that a huge message does not fit without counting it.
    """

    @property
    def name(self) -> str:
        """Names the way of counting. Stored counts are reused while the name is the same (R10)."""
        ...

    @property
    def overhead(self) -> int:
        """Tokens that a request costs besides its messages."""
        ...

    def count(self, message: Message) -> int:
        """Return what `message` costs in tokens, 0 or more. The same message always gives the same count."""
        ...
