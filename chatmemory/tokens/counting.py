"""How a message is counted: exactly, or not at all where a bound shows that it does not fit (R10).

Decides: when the bound is enough, the default counter, and what a counter may answer. Knows counters by their protocol.
"""

from __future__ import annotations

from typing import Final

from chatmemory.core.admission import AtLeast, Counted
from chatmemory.core.settings import Meter
from chatmemory.errors import InvalidArgumentError
from chatmemory.messages import Message
from chatmemory.tokens.protocol import TokenCounter

DEFAULT_METER: Final = Meter("tiktoken:o200k_base:1", 3)
"""Name and overhead of the default counter, known before it is made: looking at a window needs no tokenizer's file."""


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
    try:
        at_least = getattr(counter, "at_least", None)
        if ceiling is not None and at_least is not None:
            least = _checked(counter, "at_least", at_least(message))
            if least > ceiling:
                return AtLeast(least)
        return _checked(counter, "count", counter.count(message))
    except StopIteration as error:  # which means something else to whoever iterates
        raise RuntimeError(f"the counter {counter.name!r} raised StopIteration; nothing changed") from error
    except Exception as error:
        error.add_note(f"the counter {counter.name!r} failed on a {message.role} message; nothing changed")
        raise


def _checked(counter: TokenCounter, method: str, tokens: object) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        problem = f"{counter.name!r} gave {tokens!r} from {method}(); it must give an int of 0 or more"
        raise InvalidArgumentError("counter", problem)
    return tokens
