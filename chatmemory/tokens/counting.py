"""How a message is counted: exactly, or not at all where a bound shows that it does not fit (R10).

Decides: when the bound is enough, the default counter, and what a counter may answer. Knows counters by their protocol.
"""

from __future__ import annotations

from chatmemory.core.admission import AtLeast, Counted
from chatmemory.errors import InvalidArgumentError
from chatmemory.messages import Message
from chatmemory.tokens.protocol import TokenCounter


def default_counter() -> TokenCounter:
    """Return ``TiktokenCounter("o200k_base")``.

    Raises:
        TokenizerUnavailableError: Its data cannot be had.
    """
    from chatmemory.tokens.tiktoken_counter import TiktokenCounter  # noqa: PLC0415 - tiktoken only where tokens count

    return TiktokenCounter("o200k_base")


def check_counter(counter: object) -> None:
    """Refuse what is no token counter.

    Raises:
        InvalidArgumentError: It is of another type, or a class.
    """
    if isinstance(counter, type) or not isinstance(counter, TokenCounter):
        kind = f"the class {counter.__name__}" if isinstance(counter, type) else f"of type {type(counter).__name__}"
        raise InvalidArgumentError("counter", f"is {kind}; give a TokenCounter such as TiktokenCounter()")


def count_message(counter: TokenCounter | None, message: Message, ceiling: int | None) -> Counted:
    """Return what `message` costs in tokens; None without a counter.

    Args:
        counter: Counts it.
        message: What is counted.
        ceiling: Where a lower bound is above it, the bound is returned and the message is not counted. None: always
            counted exactly.

    Raises:
        InvalidArgumentError: The counter gave something else than an int of 0 or more.
    """
    if counter is None:
        return None
    bound = getattr(counter, "at_least", None)
    if ceiling is not None and bound is not None:
        least = bound(message)
        if least > ceiling:
            return AtLeast(least)
    tokens: object = counter.count(message)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise InvalidArgumentError("counter", f"{counter.name!r} counted {tokens!r}; it must give an int of 0 or more")
    return tokens
