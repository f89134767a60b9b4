"""What messages cost in tokens: the protocol, a counter that is exact for OpenAI's models, and one that needs no files.

Decides: nothing. `import chatmemory.tokens` does not import tiktoken; the first look at `TiktokenCounter` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmemory.tokens.approximate import ApproximateCounter
from chatmemory.tokens.protocol import TokenCounter

if TYPE_CHECKING:
    from chatmemory.tokens.tiktoken_counter import TiktokenCounter

__all__ = ["ApproximateCounter", "TiktokenCounter", "TokenCounter"]


def __getattr__(name: str) -> type[TiktokenCounter]:
    if name == "TiktokenCounter":
        from chatmemory.tokens.tiktoken_counter import TiktokenCounter  # noqa: PLC0415 - tiktoken only when asked for

        return TiktokenCounter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
