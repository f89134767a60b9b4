"""One conversation through one memory, message by message, and what is worth knowing afterwards.

Decides: what a report counts. Messages that the memory does not accept are named with the reason, and the rest goes on
without them. After each message the window is checked as it stands, without the repairs of `to_openai`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from attrs import define, field, frozen

from chatmemory import (
    ApproximateCounter,
    ChatMemory,
    Guards,
    InvalidMessageError,
    SlidingWindow,
    TokenBudget,
    TokenCounter,
    Window,
    WindowOverflowError,
    to_openai_message,
)
from chatmemory.cli.arguments import Replay
from chatmemory.cli.reading import Conversation
from chatmemory.formats import check, from_openai
from chatmemory.stores import ChatMemoryStore

PENDING: Final = "pending_call"


@frozen
class NotAccepted:
    """A message that did not come in: its index in the file, and why."""

    index: int
    reason: str


@frozen(kw_only=True)
class Report:
    """What became of one conversation.

    Attributes:
        id: The conversation's id.
        source: File and line.
        given: Messages in the file. What `to_openai` wrote for missing results is left out (R13), and not counted.
        window: The window after the last message.
        evicted: Reason → entries that left for it, or did not get in.
        refused: Guard → how often it kept a unit that the strategy wanted to remove.
        not_accepted: Messages that the memory did not take.
        findings: Code of `chatmemory.formats.check` → messages for which it was found, in whichever window. Calls that
            wait for a result are permitted (R13): ``pending_call`` counts those of the last window only.
    """

    id: str
    source: str
    given: int
    window: Window
    evicted: dict[str, int]
    refused: dict[str, int]
    not_accepted: tuple[NotAccepted, ...]
    findings: dict[str, int]


class Budget:
    """Opens the memories of one replay: all have the same limit, and one counter.

    Raises:
        InvalidArgumentError: A limit is wrong.
        TokenizerUnavailableError: Tokens are limited, and tiktoken's file cannot be had.
    """

    def __init__(self, options: Replay) -> None:
        self._options = options
        self._strategy = _strategy(options)
        self._counter = _counter(options)

    def open(self, conversation_id: str, store: ChatMemoryStore | None) -> ChatMemory:
        """Return a memory for one conversation; without a store it is kept in this process only.

        Raises:
            InvalidArgumentError: Its id cannot be one.
        """
        return ChatMemory(
            conversation_id,
            strategy=self._strategy,
            store=store,
            counter=self._counter,
            guards=Guards() if self._options.guarded else Guards.none(),
            overflow=self._options.overflow,
        )


def replay(conversation: Conversation, memory: ChatMemory, *, step: Callable[[], None]) -> Report:
    """Add the messages of `conversation` to an empty `memory`, one by one.

    Args:
        conversation: What a file holds.
        memory: Where the messages go.
        step: Called after each message.
    """
    tally = _Tally(memory)
    for index, message in enumerate(conversation.messages):
        tally.take(index, message)
        step()
    return tally.report(conversation)


@define
class _Tally:
    memory: ChatMemory
    given: int = 0
    evicted: Counter[str] = field(factory=Counter)
    refused: Counter[str] = field(factory=Counter)
    not_accepted: list[NotAccepted] = field(factory=list)
    findings: set[tuple[str, int | None]] = field(factory=set)
    wire: dict[int, dict[str, Any]] = field(factory=dict)

    def take(self, index: int, message: object) -> None:
        try:
            parsed = from_openai([message])
            self.given += len(parsed)
            for one in parsed:
                self.add(one)
        except InvalidMessageError as error:
            self.given += 1
            self.not_accepted.append(NotAccepted(index, _at(index, error)))
        except WindowOverflowError as error:
            self.not_accepted.append(NotAccepted(index, f"messages[{index}]: {error}"))

    def add(self, message: object) -> None:
        change = self.memory.add(message)
        self.evicted.update(removal.reason for removal in change.removed)
        self.refused.update(guard for refusal in change.refused for guard in refusal.guards)
        self.look_at(self.memory.window())

    def look_at(self, window: Window) -> None:
        self.wire = {entry.seq: self.wire.get(entry.seq) or to_openai_message(entry.message) for entry in window}
        self.findings = {one for one in self.findings if one[0] != PENDING}
        for finding in check(list(self.wire.values())):
            self.findings.add((finding.code, None if finding.index is None else window[finding.index].seq))

    def report(self, conversation: Conversation) -> Report:
        return Report(
            id=conversation.id,
            source=conversation.source,
            given=self.given,
            window=self.memory.window(),
            evicted=_by_name(self.evicted),
            refused=_by_name(self.refused),
            not_accepted=tuple(self.not_accepted),
            findings=_by_name(Counter(code for code, _ in self.findings)),
        )


def _by_name(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _at(index: int, error: InvalidMessageError) -> str:
    # Each message was read as a list of its own, in which it is the first.
    return str(InvalidMessageError(error.path.replace("messages[0]", f"messages[{index}]", 1), error.problem))


def _strategy(options: Replay) -> TokenBudget | SlidingWindow:
    if options.max_messages is not None:
        return SlidingWindow(
            options.max_messages, max_tokens=options.max_tokens, evict_to=options.evict_to, unit=options.unit
        )
    return TokenBudget(options.max_tokens or 0, evict_to=options.evict_to, unit=options.unit)


def _counter(options: Replay) -> TokenCounter | None:
    if options.approximate:
        return ApproximateCounter()
    if options.max_tokens is None:
        return None
    from chatmemory import TiktokenCounter  # noqa: PLC0415 - tiktoken only where tokens count

    return TiktokenCounter()
