"""Memories that write while servers fail, and the account afterwards: what was acknowledged, what is there.

Decides: what a writer adds (a message, or a whole tool exchange, in one commit), and what counts as lost, torn, doubled
or unknown. Knows no server.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count

from attrs import asdict, define, field, frozen

from chatmemory import (
    AssistantMessage,
    ChatMemory,
    Message,
    MessageWindowChatMemory,
    StoreError,
    ToolCall,
    ToolMessage,
    UserMessage,
    to_openai,
)
from chatmemory.core.entries import Change, Entry, Stamp
from chatmemory.formats import check
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore

MAX_MESSAGES = 12
PAUSE_SECONDS = 0.02
"""Between two commits of a writer, as between two messages of a chat, only shorter."""

_EVERYTHING = 1_000_000


class CountingStore(SqlChatMemoryStore):
    """A store that notes the commits whose outcome it did not know at first, however they ended."""

    def __init__(self, url: str, *, conflict_timeout_seconds: float = 30) -> None:
        super().__init__(url, conflict_timeout_seconds=conflict_timeout_seconds)
        self.unknown: set[str] = set()
        self.failed: Counter[str] = Counter()

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Commit, and note what went wrong."""
        try:
            return super().commit(conversation_id, change, expected)
        except StoreError as error:
            self.failed[type(error.__cause__).__name__] += 1
            if error.outcome_unknown:
                self.unknown.add(change.commit_id)
            raise


def messages_of(text: str) -> list[Message]:
    """Return what is added in one commit: a message, or every other time a tool exchange; all have this text."""
    question: Message = UserMessage(text)
    if _size(text) == 1:
        return [question]
    call = ToolCall(id=text, name="look", arguments="{}")
    answers = [AssistantMessage(text, tool_calls=(call,)), ToolMessage(text, tool_call_id=text), AssistantMessage(text)]
    return [question, *answers]


def _size(text: str) -> int:
    return 4 if int(text.rpartition(" ")[2]) % 2 else 1


@define(eq=False)
class Writer:
    """One memory, and what became of each of its commits."""

    name: str
    memory: ChatMemory
    acknowledged: list[str] = field(factory=list)
    errors: list[StoreError] = field(factory=list)
    longest_seconds: float = 0.0

    def write(self, number: int) -> None:
        """Make one commit."""
        text, started = f"{self.name} {number}", time.monotonic()
        try:
            self.memory.extend(messages_of(text))
        except StoreError as error:
            self.errors.append(error)
        else:
            self.acknowledged.append(text)
        self.longest_seconds = max(self.longest_seconds, time.monotonic() - started)


@define(eq=False)
class Crowd:
    """Writers, each in a thread of its own, until the block ends."""

    stores: Sequence[CountingStore]
    writers: Sequence[Writer]
    _progress: threading.Condition = field(factory=threading.Condition)
    _stopping: threading.Event = field(factory=threading.Event)

    def run(self, writer: Writer) -> None:
        """Let one writer write until all are stopped."""
        for number in count():
            writer.write(number)
            if self._stopping.wait(PAUSE_SECONDS):
                return
            with self._progress:
                self._progress.notify_all()

    def go_on(self, commits: int, *, within_seconds: float = 60) -> None:
        """Wait until each writer has had `commits` more acknowledged."""
        goals = [len(writer.acknowledged) + commits for writer in self.writers]

        def reached() -> bool:
            return all(len(writer.acknowledged) >= goal for writer, goal in zip(self.writers, goals, strict=True))

        with self._progress:
            assert self._progress.wait_for(reached, within_seconds), [writer.errors[-1:] for writer in self.writers]

    def stop(self) -> None:
        """Let each writer end its commit, and no more."""
        self._stopping.set()

    @property
    def acknowledged(self) -> list[str]:
        """Every text whose `extend` returned."""
        return [text for writer in self.writers for text in writer.acknowledged]

    @property
    def errors(self) -> list[StoreError]:
        """Every error that came out of a memory."""
        return [error for writer in self.writers for error in writer.errors]

    @property
    def unknown(self) -> int:
        """How many commits had an outcome that nobody knew at first."""
        return sum(len(store.unknown) for store in self.stores)

    @property
    def longest_seconds(self) -> float:
        """The longest that a writer waited for one commit."""
        return max(writer.longest_seconds for writer in self.writers)


@contextmanager
def writing(urls: Sequence[str], ids: Sequence[str], *, each: int, wait_seconds: float = 30) -> Iterator[Crowd]:
    """Let `each` memories write through every URL, to the conversations in turn, until the block ends."""
    with ExitStack() as stack:
        stores = [stack.enter_context(CountingStore(url, conflict_timeout_seconds=wait_seconds)) for url in urls]
        placed = [store for store in stores for _ in range(each)]
        crowd = Crowd(stores, [_writer(n, store, ids[n % len(ids)]) for n, store in enumerate(placed)])
        threads = [threading.Thread(target=crowd.run, args=(writer,)) for writer in crowd.writers]
        for thread in threads:
            thread.start()
        try:
            yield crowd
        finally:
            crowd.stop()
            for thread in threads:
                thread.join()


def _writer(number: int, store: ChatMemoryStore, conversation_id: str) -> Writer:
    return Writer(f"w{number}", MessageWindowChatMemory(conversation_id, max_messages=MAX_MESSAGES, store=store))


@frozen
class Account:
    """What is there of what was written.

    Attributes:
        lost: Acknowledged, and not there.
        torn: There in part.
        doubled: There more often than it was written.
        swapped: Writers whose commits are not in their own order.
        gaps: Conversations whose seqs or versions are not 1, 2, 3 …
        findings: What a provider would refuse in the windows.
    """

    lost: list[str] = field(factory=list)
    torn: list[str] = field(factory=list)
    doubled: list[str] = field(factory=list)
    swapped: list[str] = field(factory=list)
    gaps: list[str] = field(factory=list)
    findings: list[object] = field(factory=list)

    def __bool__(self) -> bool:
        return any(asdict(self, recurse=False).values())


def account(store: ChatMemoryStore, crowd: Crowd) -> Account:
    """Compare what `store` holds with what the writers were told."""
    result = Account()
    found: Counter[str] = Counter()
    for info in store.conversations():
        entries = history_of(store, info.id)
        found.update(entry.message.text for entry in entries)
        _check_conversation(store, info.id, entries, result)
    result.lost.extend(text for text in crowd.acknowledged if text not in found)
    result.torn.extend(text for text, times in found.items() if times < _size(text))
    result.doubled.extend(text for text, times in found.items() if times > _size(text))
    return result


def history_of(store: ChatMemoryStore, conversation_id: str) -> list[Entry]:
    """Return all that was ever added."""
    return store.history(conversation_id, limit=_EVERYTHING)


def _check_conversation(store: ChatMemoryStore, conversation_id: str, entries: list[Entry], result: Account) -> None:
    window = MessageWindowChatMemory(conversation_id, max_messages=MAX_MESSAGES, store=store).window()
    is_gapless = list(range(1, len(entries) + 1)) == [entry.seq for entry in entries]
    if not is_gapless or set(range(1, window.version + 1)) != {entry.entered for entry in entries}:
        result.gaps.append(conversation_id)
    result.findings.extend(check(to_openai(window)))
    last: dict[str, int] = {}
    for entry in entries:
        name, _, number = entry.message.text.rpartition(" ")
        if int(number) < last.get(name, 0):
            result.swapped.append(name)
        last[name] = int(number)
