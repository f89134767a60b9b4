"""Real conversations through every limit and both stores: ``python -m tests.sweep FOLDER [--json] [--every N]``.

Decides: what is checked, on `messages()` after every single message: a provider would accept it (the judge is
`tests.oracle`), the limit holds, a reopened memory is the same, both stores show the same windows. At the end of each
run: the history has every accepted message but repeated system messages, and a reason for each that is not in the
window. FOLDER holds ``*.jsonl``. The exit status is 1 where anything is wrong, or nothing was there.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from attrs import asdict, define, field, frozen

from chatmemory import (
    ChatMemory,
    InvalidMessageError,
    Message,
    SlidingWindow,
    SystemMessage,
    TiktokenCounter,
    TokenBudget,
    TokenCounter,
    Window,
    WindowOverflowError,
)
from chatmemory.cli.reading import Broken, Conversation, read
from chatmemory.formats import parse_message
from chatmemory.stores import ChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore
from tests.oracle import check_window

TOKEN_LIMITS: Final = (100, 300, 1000, 4000, 16000)
MESSAGE_LIMITS: Final = (1, 2, 5, 20)
REOPEN_EVERY: Final = 3
"""Messages between one opening of a stored conversation and the next."""

DONE: Final = ("conversations", "messages", "runs", "windows", "reopened")
FAULTS: Final = ("unreadable", "invalid", "over the limit", "wrong history", "reopened otherwise", "stores differ")
LEFT_OUT: Final = ("not accepted", "system left out")


@define
class Remembering:
    """A counter that counts equal messages once, however many memories ask."""

    counter: TiktokenCounter = field(factory=TiktokenCounter)
    known: dict[Message, int] = field(factory=dict)

    @property
    def name(self) -> str:
        """The counter's name."""
        return self.counter.name

    @property
    def overhead(self) -> int:
        """The counter's overhead."""
        return self.counter.overhead

    def count(self, message: Message) -> int:
        """Return what `message` costs."""
        if message not in self.known:
            self.known[message] = self.counter.count(message)
        return self.known[message]

    def at_least(self, message: Message) -> int:
        """Return the counter's bound, so that the way of a real memory is taken."""
        return self.counter.at_least(message)


@frozen
class Setting:
    """One limit."""

    measure: str
    limit: int

    def memory(self, conversation_id: str, store: ChatMemoryStore, counter: TokenCounter) -> ChatMemory:
        """Open a conversation under this limit; where messages are limited, nothing is counted."""
        if self.measure == "tokens":
            return ChatMemory(conversation_id, strategy=TokenBudget(self.limit), store=store, counter=counter)
        return ChatMemory(conversation_id, strategy=SlidingWindow(self.limit), store=store)

    def holds(self, window: Window) -> bool:
        """Whether `window` keeps to the limit, by its entries."""
        if self.measure == "messages":
            return len(window) <= self.limit
        return not window or sum(entry.tokens or 0 for entry in window) + window.policy.overhead <= self.limit

    def __str__(self) -> str:
        return f"{self.limit} {self.measure}"


SETTINGS: Final = (
    *(Setting("tokens", limit) for limit in TOKEN_LIMITS),
    *(Setting("messages", limit) for limit in MESSAGE_LIMITS),
)


@frozen
class Fact:
    """Something to be named: where, what, and what is said of it."""

    where: str
    what: str
    text: str


@define
class FileResult:
    """What a file came to: numbers by the names of `DONE`, `FAULTS` and `LEFT_OUT`, entries by reason, and facts."""

    name: str
    counts: Counter[str] = field(factory=Counter)
    reasons: Counter[str] = field(factory=Counter)
    facts: list[Fact] = field(factory=list)

    def note(self, where: str, what: str, text: str) -> None:
        """Count a fault, or a message that is left out, and name it."""
        self.counts[what] += 1
        self.facts.append(Fact(where, what, text))


@define
class Run:
    """One conversation under one limit in one store. `windows` is what it showed, step by step."""

    result: FileResult
    where: str
    setting: Setting
    reopen: Callable[[], ChatMemory]
    is_stored: bool
    memory: ChatMemory = field(init=False)
    system: SystemMessage | None = field(default=None, init=False)
    in_history: int = field(default=0, init=False)
    left_out: dict[int, str] = field(factory=dict, init=False)
    windows: list[tuple[int, ...]] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.memory = self.reopen()

    def add(self, number: int, index: int, message: Message) -> None:
        """Add one message and look at the window."""
        if self.is_stored and number % REOPEN_EVERY == 0:
            self.open_again()
        try:
            change = self.memory.add(message)
        except WindowOverflowError as error:
            self.leave_out(index, message, error)
            return
        self.result.reasons.update(removal.reason for removal in change.removed)
        self.expect(message)
        self.look(f"messages[{index}]")

    def open_again(self) -> None:
        """A memory that was opened again is the same as the one that was not."""
        before, self.memory = self.memory.window(), self.reopen()
        after = self.memory.window()
        self.result.counts["reopened"] += 1
        if _state(before) != _state(after):
            self.fault("reopened otherwise", f"{before} was {after} after opening")

    def leave_out(self, index: int, message: Message, error: WindowOverflowError) -> None:
        """Only a system message that is alone over the limit may be refused."""
        self.left_out[index] = f"needs {error.needed} {error.measure} or more"
        if not isinstance(message, SystemMessage):
            self.fault("wrong history", f"messages[{index}] was refused: {error}")

    def expect(self, message: Message) -> None:
        """The history grows by every message but a system message with the text of the one that is there."""
        if isinstance(message, SystemMessage):
            repeated = self.system is not None and self.system.text == message.text
            self.system = message
            self.in_history -= repeated
        self.in_history += 1

    def look(self, at: str) -> None:
        """The window is valid for a provider as it is, and within the limit."""
        self.result.counts["windows"] += 1
        window = self.memory.window()
        self.windows.append(tuple(entry.seq for entry in window))
        for problem in check_window(self.memory.messages()):
            self.fault("invalid", f"after {at}: {problem}")
        if not self.setting.holds(window):
            self.fault("over the limit", f"after {at}: {window}")

    def finish(self) -> None:
        """The history is whole, and says of each entry that left why."""
        history, shown = self.memory.history(limit=10**6), {entry.seq for entry in self.memory.window()}
        if len(history) != self.in_history:
            self.fault("wrong history", f"has {len(history)} entries, {self.in_history} were accepted")
        unexplained = [entry.seq for entry in history if (entry.reason is None) != (entry.seq in shown)]
        if unexplained:
            self.fault("wrong history", f"entries {unexplained} left without a reason, or stay with one")

    def fault(self, what: str, text: str) -> None:
        """Name what is wrong."""
        store = "SQLite" if self.is_stored else "in memory"
        self.result.note(self.where, what, f"{self.setting}, {store}: {text}")


@frozen
class Bench:
    """What all runs of one conversation share."""

    result: FileResult
    where: str
    messages: list[tuple[int, Message]]
    counter: TokenCounter

    def run_both(self, setting: Setting, stored: ChatMemoryStore) -> Mapping[int, str]:
        """Run in memory and in `stored`; return the messages that are left out, with the reason."""
        fleeting = self.run(setting, InMemoryChatMemoryStore(), is_stored=False)
        durable = self.run(setting, stored, is_stored=True)
        if fleeting.windows != durable.windows:
            durable.fault("stores differ", "the windows are not those of the memory that is not stored")
        return durable.left_out

    def run(self, setting: Setting, store: ChatMemoryStore, *, is_stored: bool) -> Run:
        """Add all messages to one memory, one by one."""

        def reopen() -> ChatMemory:
            return setting.memory(f"{self.where} {setting}", store, self.counter)

        run = Run(self.result, self.where, setting, reopen, is_stored)
        self.result.counts["runs"] += 1
        for number, (index, message) in enumerate(self.messages, start=1):
            run.add(number, index, message)
        run.finish()
        return run


def sweep(folder: Path, *, every: int = 1) -> list[FileResult]:
    """Run the conversations of ``folder/*.jsonl``, or every n-th of each file."""
    counter = Remembering()
    with TemporaryDirectory() as scratch:
        url = f"sqlite:///{Path(scratch).as_posix()}/sweep.db"
        return [_sweep_file(path, url, counter, every) for path in sorted(folder.glob("*.jsonl"))]


def _sweep_file(path: Path, url: str, counter: TokenCounter, every: int) -> FileResult:
    result = FileResult(path.name)
    for found in islice(read(str(path)), 0, None, every):
        if isinstance(found, Broken):
            result.note(found.source, "unreadable", found.problem)
        else:
            _sweep_conversation(result, found, url, counter)
    return result


def _sweep_conversation(result: FileResult, conversation: Conversation, url: str, counter: TokenCounter) -> None:
    where = f"{result.name}{conversation.source.rpartition(result.name)[2]}"
    result.counts.update(conversations=1, messages=len(conversation.messages))
    bench = Bench(result, where, list(_accepted(result, where, conversation.messages)), counter)
    left_out: dict[int, list[str]] = {}
    with SqlChatMemoryStore(url) as stored:  # a new one each time: the file is opened again as well
        for setting in SETTINGS:
            for index, text in bench.run_both(setting, stored).items():
                left_out.setdefault(index, [text]).append(str(setting))
    for index, (text, *limits) in left_out.items():
        result.note(f"{where} messages[{index}]", "system left out", f"{text}; left out at {', '.join(limits)}")


def _accepted(result: FileResult, where: str, messages: Iterable[Any]) -> Iterator[tuple[int, Message]]:
    for index, message in enumerate(messages):
        try:
            yield index, parse_message(message, f"messages[{index}]")
        except InvalidMessageError as error:
            result.note(where, "not accepted", str(error))


def _state(window: Window) -> tuple[object, ...]:
    entries = tuple((entry.seq, entry.message, entry.tokens, entry.kind) for entry in window)
    return entries, window.version, window.tokens, window.limit


def total_of(results: Iterable[FileResult]) -> FileResult:
    """Return the sum over all files."""
    total = FileResult("total")
    for result in results:
        total.counts.update(result.counts)
        total.reasons.update(result.reasons)
        total.facts.extend(result.facts)
    return total


def faults_of(result: FileResult) -> list[Fact]:
    """Return what is wrong."""
    return [fact for fact in result.facts if fact.what in FAULTS]


def _markdown(results: Sequence[FileResult], total: FileResult) -> Iterator[str]:
    columns = (*DONE, *FAULTS, *LEFT_OUT)
    yield f"| file | {' | '.join(columns)} |"
    yield f"| --- |{' ---: |' * len(columns)}"
    for result in (*results, total):
        yield f"| {result.name} | {' | '.join(str(result.counts[name]) for name in columns)} |"
    yield ""
    yield "Entries that left, by reason: " + ", ".join(f"{name} {n}" for name, n in sorted(total.reasons.items()))
    for what in (*FAULTS, *LEFT_OUT):
        facts = [fact for fact in total.facts if fact.what == what]
        yield from ("", f"## {what}", "", *(f"- {fact.where}: {fact.text}" for fact in facts)) if facts else ()


def _as_json(results: Sequence[FileResult], total: FileResult) -> str:
    return json.dumps([asdict(result) for result in (*results, total)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="print JSON: one object a file, and the total")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run every n-th conversation of each file")
    given = parser.parse_args(arguments)
    logging.getLogger("chatmemory").addHandler(logging.NullHandler())
    results = sweep(given.folder, every=given.every)
    total = total_of(results)
    text = _as_json(results, total) if given.json else "\n".join(_markdown(results, total))
    sys.stdout.write(text + "\n")
    return int(bool(faults_of(total)) or not total.counts["conversations"])


if __name__ == "__main__":
    sys.exit(main())
