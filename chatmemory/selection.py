"""The rules of the window for people who keep their own history: no memory, no store, nothing kept.

Decides: how a list becomes a window (as if its messages were added one after another), and that the caller's own
objects come back. Keeps the same rules as a memory, R1 to R8, by the same core.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar, overload

from attrs import frozen

from chatmemory.core.admission import admit, repeats_system
from chatmemory.core.draft import Draft
from chatmemory.core.entries import Change, Entry, Limit, OverflowPolicy, Refusal, Removal
from chatmemory.core.guards import Guards
from chatmemory.core.plan import WindowStrategy
from chatmemory.core.settings import Meter, Settings
from chatmemory.core.window import Window
from chatmemory.formats import check_list, is_no_result, parse_message
from chatmemory.messages import Message
from chatmemory.tokens import TokenCounter
from chatmemory.tokens.counting import check_counter, count_message, default_counter

MessageT = TypeVar("MessageT")
_NEVER: Final = datetime.fromtimestamp(0, UTC)


@frozen(repr=False)
class Selection(Generic[MessageT]):
    """What goes to the model, and what does not.

    Attributes:
        messages: The caller's own objects, in the order of the window: the system message first, results behind their
            calls.
        removed: What was left out, and why. A `seq` here is a position in the caller's list, counted from 1; versions
            are 0 and 1.
        refused: What the strategy wanted to leave out and may not.
        tokens: What a request with `messages` costs, or None where nothing was counted.
        limit: What the window may hold.
        over_budget: Whether it holds more, which only ``overflow="keep"`` allows.
    """

    messages: list[MessageT]
    removed: tuple[Removal, ...]
    refused: tuple[Refusal, ...]
    tokens: int | None
    limit: Limit
    over_budget: bool

    def __repr__(self) -> str:
        return f"<Selection of {len(self.messages)} messages, {self.tokens} tokens, {len(self.removed)} left out>"


@overload
def select_messages(
    messages: Window,
    strategy: WindowStrategy,
    *,
    max_tokens: int | None = None,
    counter: TokenCounter | None = None,
    guards: Guards = Guards(),
    overflow: OverflowPolicy = "evict",
    reserve_tokens: int = 0,
) -> Selection[Message]: ...
@overload
def select_messages(
    messages: Iterable[MessageT],
    strategy: WindowStrategy,
    *,
    max_tokens: int | None = None,
    counter: TokenCounter | None = None,
    guards: Guards = Guards(),
    overflow: OverflowPolicy = "evict",
    reserve_tokens: int = 0,
) -> Selection[MessageT]: ...
def select_messages(
    messages: Iterable[Any],
    strategy: WindowStrategy,
    *,
    max_tokens: int | None = None,
    counter: TokenCounter | None = None,
    guards: Guards = Guards(),
    overflow: OverflowPolicy = "evict",
    reserve_tokens: int = 0,
) -> Selection[Any]:
    """Select from `messages` what a memory would have in its window after adding them one after another.

    Args:
        messages: Messages, OpenAI-style dicts, SDK objects, or a `Window`. They are not changed.
        strategy: What leaves when the window is full.
        max_tokens: A token limit for a strategy that has none.
        counter: Counts tokens. None: ``TiktokenCounter("o200k_base")`` where there is a token limit.
        guards: What may not leave (R5).
        overflow: What happens to a message that does not fit beside what must stay (R6).
        reserve_tokens: Room kept free for what is not in `messages`.

    Raises:
        InvalidArgumentError: An argument is wrong, or there are two token limits.
        InvalidMessageError: A message cannot be accepted; the path begins with ``messages[i]``.
        WindowOverflowError: A message does not fit beside what must stay, and ``overflow="raise"``; or a system message
            is alone over the limit (but with ``keep``).
    """
    settings = Settings(
        strategy=strategy, guards=guards, overflow=overflow, reserve_tokens=reserve_tokens, max_tokens=max_tokens
    )
    if counter is not None:
        check_counter(counter)
    elif settings.token_limit is not None:
        counter = default_counter()
    given = list(check_list(messages))
    window, change = _filled(given, settings, counter)
    kept: list[Any] = [given[entry.seq - 1] for entry in window]
    return Selection(
        messages=[item.message if isinstance(item, Entry) else item for item in kept],
        removed=change.removed,
        refused=change.refused,
        tokens=window.tokens,
        limit=window.limit,
        over_budget=window.over_budget,
    )


def _filled(given: list[Any], settings: Settings, counter: TokenCounter | None) -> tuple[Window, Change]:
    meter = Meter(counter.name, counter.overhead) if counter else None
    policy = settings.policy(meter)
    draft = Draft(Window.empty(policy), _NEVER, meter.name if meter else None)
    for at, item in enumerate(given):
        message = item.message if isinstance(item, Entry) else parse_message(item, f"messages[{at}]")
        if repeats_system(draft.window, message) or is_no_result(message):
            draft.window = draft.window.passing(at + 1)
        else:
            admit(draft, settings.strategy, message, count_message(counter, message, policy.ceiling))
    return draft.finish("")
