"""The memories: shells that do I/O and nothing else. Every rule is in the core; every operation is a flow.

Decides: who waits (one lock a memory, held for a whole operation, store and counter included), how a flow's requests
are answered, and how long a conflict is retried. Knows stores and counters by their protocols.
"""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from threading import RLock
from typing import Any, TypeVar

from chatmemory.checks import check_count
from chatmemory.core import flow
from chatmemory.core.admission import Counted
from chatmemory.core.entries import About, Change, Entry, EvictionUnit, OverflowPolicy
from chatmemory.core.eviction import EvictTo
from chatmemory.core.guards import Guards
from chatmemory.core.plan import WindowStrategy
from chatmemory.core.session import (
    Commit,
    Count,
    Delete,
    Flow,
    Load,
    Measure,
    Moment,
    Pause,
    ReadHistory,
    ReadWindow,
    Request,
    Session,
)
from chatmemory.core.settings import Meter, Settings
from chatmemory.core.window import Window
from chatmemory.errors import StoreError
from chatmemory.formats import check_list, from_openai, is_no_result, parse_message
from chatmemory.messages import Message, SystemMessage
from chatmemory.stores.base import ChatMemoryStore, check_conversation_id, check_owner, check_store
from chatmemory.stores.in_memory import InMemoryChatMemoryStore
from chatmemory.strategies import SlidingWindow, TokenBudget
from chatmemory.tokens import TokenCounter
from chatmemory.tokens.counting import DEFAULT_METER, check_counter, count_message, default_counter

_log = logging.getLogger("chatmemory")
_Result = TypeVar("_Result")

MessageInput = Message | Mapping[str, Any] | Any
"""What `add` takes: a message, an OpenAI-style dict, or an SDK object that has ``model_dump``."""


def _pause(request: Pause, deadline: float) -> None:
    # Full jitter, so that writers which met once do not meet again.
    seconds = random.uniform(0, 0.002 * 2 ** min(request.attempt, 7))  # noqa: S311 - spreads load, guards nothing
    if time.monotonic() + seconds > deadline:
        raise request.error
    time.sleep(seconds)


def _log_commit(conversation_id: str, commit: Commit) -> None:
    if not commit.change.removed:
        return
    oversize = sum(1 for removal in commit.change.removed if removal.reason == "oversize")
    if oversize:
        _log.warning("conversation %r: messages that left as oversize: %d", conversation_id, oversize)
    _log.debug(
        "conversation %r: messages %d -> %d, tokens %s -> %s",
        conversation_id,
        len(commit.before),
        len(commit.after),
        commit.before.tokens,
        commit.after.tokens,
    )


def _parsed(messages: Iterable[MessageInput]) -> tuple[Message, ...]:
    return tuple(from_openai(check_list(messages, for_one="add()")))


class ChatMemory:
    """The memory of one conversation: `add` a message, take the window for the next model call with `messages`.

    Several threads may use one memory; operations happen in the order in which they get its lock. Two objects for one
    id, in one process or in two, are two writers of one conversation: nothing is lost or doubled, and each sees the
    other's messages with its own next operation that writes, or with `refresh`.

    Args:
        id: Names the conversation in the store. None: a new random one.
        strategy: What leaves when the window is full, such as ``TokenBudget(8_000)``.
        store: Where the conversation is kept. None: in this object only.
        owner: Whose conversation it is, such as a user's id. Written with the first change; a conversation that is
            stored as another's, or as nobody's, is then refused. None: nobody's if it is new, and no question asked.
        counter: Counts tokens. None: ``TiktokenCounter("o200k_base")`` where there is a token limit, otherwise nothing
            is counted. It is made by the first operation that needs it.
        guards: What may not leave (R5).
        overflow: What happens to a message that does not fit beside what must stay (R6): ``evict`` lets the message
            leave, ``raise`` raises `WindowOverflowError`, ``keep`` keeps it over budget.
        reserve_tokens: Room kept free for what the memory does not hold: tool schemas, the answer.

    Raises:
        InvalidArgumentError: An argument is wrong; the error names it and the remedy. Nothing was read or written.
    """

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - the field's word, and a keyword of every caller
        *,
        strategy: WindowStrategy,
        store: ChatMemoryStore | None = None,
        owner: str | None = None,
        counter: TokenCounter | None = None,
        guards: Guards = Guards(),
        overflow: OverflowPolicy = "evict",
        reserve_tokens: int = 0,
    ) -> None:
        if id is not None:
            check_conversation_id(id, field="id")
        self._id = uuid.uuid4().hex if id is None else id
        check_owner(owner)
        if store is not None:
            check_store(store)
        if counter is not None:
            check_counter(counter)
        self._store: ChatMemoryStore = InMemoryChatMemoryStore() if store is None else store
        self._counter = counter
        settings = Settings(strategy=strategy, guards=guards, overflow=overflow, reserve_tokens=reserve_tokens)
        self._session = Session(settings, owner)
        self._lock = RLock()
        self._answers: dict[type, Callable[[Any], Any]] = {
            Count: self._count,
            Commit: self._commit,
            Measure: self._measure,
            Load: lambda _: self._store.load(self._id),
            Delete: lambda asked: self._store.delete(self._id, owner=asked.owner),
            ReadHistory: lambda page: self._store.history(
                self._id, after=page.after, limit=page.limit, owner=page.owner
            ),
            ReadWindow: lambda asked: self._store.window_at(self._id, asked.version, owner=asked.owner),
        }

    @property
    def id(self) -> str:
        """Names the conversation in the store."""
        return self._id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id!r}>"

    def add(self, message: MessageInput) -> Change:
        """Add a message, and evict at once to the limit; the change is stored when this returns.

        Args:
            message: A `Message`, an OpenAI-style dict, or an SDK object with ``model_dump``, such as the ``message`` of
                a chat completion. It is not changed.

        Returns:
            What entered, left and was refused. False where nothing changed: the same system message again.

        Raises:
            InvalidMessageError: The message cannot be accepted; its path says where.
            WindowOverflowError: It does not fit beside what must stay, and ``overflow="raise"``; or it is a system
                message that is alone over the limit (but with ``keep``).
            IllegalPlanError: The strategy's plan breaks a rule.
            TokenizerUnavailableError: The default counter's data cannot be had.
            StoreError: The store failed; nothing changed, but where ``outcome_unknown`` says so. Adding the same
                message again is then safe: it is not doubled, until something else is added.
            OwnershipError: As for `window`.
        """
        parsed = parse_message(message)
        return self._extend(() if is_no_result(parsed) else (parsed,))  # R13

    def extend(self, messages: Iterable[MessageInput]) -> Change:
        """Add messages one after another, as one change: if one raises, nothing of it stays.

        Raises:
            InvalidMessageError: One cannot be accepted; the path begins with ``messages[i]``.
            WindowOverflowError: As for `add`.
            IllegalPlanError: As for `add`.
            TokenizerUnavailableError: As for `add`.
            StoreError: As for `add`.
        """
        return self._extend(_parsed(messages))

    def set(self, messages: Iterable[MessageInput]) -> Change:
        """Make the window hold `messages`: the longest common prefix stays, the rest leaves, the others are added.

        Raises:
            InvalidMessageError: One cannot be accepted; the path begins with ``messages[i]``.
            WindowOverflowError: As for `add`.
            IllegalPlanError: As for `add`.
            TokenizerUnavailableError: As for `add`.
            StoreError: As for `add`.
        """
        parsed = _parsed(messages)
        return self._changed(lambda moment: flow.replace(self._session, parsed, moment))

    def clear(self) -> Change:
        """Empty the window, system message included; the history stays.

        Raises:
            StoreError: As for `add`.
        """
        return self._changed(lambda moment: flow.clear(self._session, moment))

    def resize(
        self, *, max_tokens: int | None = None, max_messages: int | None = None, reserve_tokens: int | None = None
    ) -> Change:
        """Change limits of this object; None leaves one as it is. What no longer fits leaves at once.

        Raises:
            InvalidArgumentError: The strategy does not have that limit, or the value is wrong.
            WindowOverflowError: What must stay is over the new limit, and ``overflow="raise"``; or the system message
                is alone over it (but with ``keep``). The limit is then as it was.
            StoreError: The store failed; the limit is then as it was.
        """
        with self._lock:
            settings = self._session.settings.resized(
                max_tokens=max_tokens, max_messages=max_messages, reserve_tokens=reserve_tokens
            )
            return self._changed(lambda moment: flow.resize(self._session, settings, moment))

    def redact(self, seq: int, text: str = "[redacted]") -> Change:
        """Destroy what message `seq` says, in the window and in the history; `text` is there instead.

        The role stays, and the ids and names by which tool calls and results find each other. The entry is marked
        (``entry.redacted``). Other objects for this conversation show the old text until they load again.

        Raises:
            NotInHistoryError: The conversation has no such entry.
            InvalidArgumentError: `seq` is no positive int, or `text` is no str.
            WindowOverflowError: The text does not fit beside what must stay, and ``overflow="raise"``.
            StoreError: As for `add`.
            OwnershipError: As for `window`.
        """
        check_count("seq", seq)
        return self._changed(lambda moment: flow.redact(self._session, seq, text, moment))

    def describe(self, *, title: str | None = None, meta: Mapping[str, Any] | None = None) -> Change:
        """Give the conversation a title, and a small JSON object of the application's own, for listings.

        Args:
            title: Up to 255 characters; ``""``: none. None leaves it as it is.
            meta: Up to 8,192 characters of JSON, in place of the former one. None leaves it as it is.

        Raises:
            InvalidArgumentError: The title or meta is wrong.
            StoreError: As for `add`.
            OwnershipError: As for `window`.
        """
        return self._changed(lambda moment: flow.describe(self._session, title, meta, moment))

    def about(self) -> About:
        """Return owner, title and meta, as of this object's last operation that loaded or wrote.

        Raises:
            StoreError: As for `window`.
            OwnershipError: As for `window`.
        """
        return self._run(flow.about(self._session, self._moment()))

    def refresh(self) -> Window:
        """Load the window again, with what other writers added, and return it.

        Raises:
            StoreError: The store failed; the window is as before.
            WindowOverflowError: As for `window`.
        """
        return self._run(flow.refresh(self._session, self._moment()))

    def delete(self) -> bool:
        """Erase the conversation from the store, history included; the memory is then an empty new one.

        Returns:
            Whether there was anything.

        Raises:
            StoreError: The store failed.
        """
        return self._run(flow.delete(self._session))

    def messages(self) -> list[Message]:
        """Return the messages for the next model call, in a new list, as of this object's last operation.

        Raises:
            StoreError: The window is not loaded yet, and the store failed.
            WindowOverflowError: As for `window`.
        """
        return self.window().messages()

    def window(self) -> Window:
        """Return the window: an immutable sequence of entries, with version, tokens and limit.

        Raises:
            StoreError: The window is not loaded yet, and the store failed.
            WindowOverflowError: A stored system message is alone over the limit (but with ``keep``); `resize` or
                `clear` is the remedy.
            OwnershipError: The stored conversation is not `owner`'s.
        """
        with self._lock:
            window = self._session.window
            return self._run(flow.current(self._session, self._moment())) if window is None else window

    def history(self, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return up to `limit` entries with ``seq > after``, in the window or not, with when and why they left.

        Raises:
            InvalidArgumentError: `after` is negative, or `limit` is no positive int.
            StoreError: The store failed.
        """
        return self._run(flow.history(self._session, after, limit))

    def window_at(self, version: int) -> Window:
        """Return the window as `messages` showed it at `version`.

        Raises:
            NotInHistoryError: The conversation has no such version.
            InvalidArgumentError: `version` is no int.
            StoreError: The store failed.
        """
        return self._run(flow.window_at(self._session, version))

    @property
    def tokens(self) -> int | None:
        """Shortcut for ``window().tokens``."""
        return self.window().tokens

    @property
    def system(self) -> SystemMessage | None:
        """Shortcut for ``window().system``."""
        return self.window().system

    @property
    def version(self) -> int:
        """Shortcut for ``window().version``."""
        return self.window().version

    @property
    def over_budget(self) -> bool:
        """Shortcut for ``window().over_budget``."""
        return self.window().over_budget

    def _extend(self, messages: tuple[Message, ...]) -> Change:
        return self._changed(lambda moment: flow.extend(self._session, messages, moment))

    def _changed(self, operation: Callable[[Moment], Flow[Change]]) -> Change:
        with self._lock:
            return self._run(operation(self._moment()))

    def _moment(self) -> Moment:
        return Moment(self._store.now(), uuid.uuid4().hex)

    def _run(self, operation: Flow[_Result]) -> _Result:
        with self._lock:
            deadline = time.monotonic() + self._store.conflict_timeout_seconds
            request: Request | None = None
            go_on: Callable[[], Request] = partial(next, operation)
            try:
                while True:
                    try:
                        request = go_on()
                    except StopIteration as done:
                        result: _Result = done.value
                        return result
                    try:
                        go_on = partial(operation.send, self._answer(request, deadline))
                    except StoreError as error:
                        go_on = partial(operation.throw, error)
            except StoreError:
                raise
            except BaseException:
                self._session.broken_off(request)
                raise

    def _answer(self, request: Request, deadline: float) -> Any:
        if isinstance(request, Pause):
            return _pause(request, deadline)
        try:
            return self._answers[type(request)](request)
        except StopIteration as error:  # which means something else to whoever iterates
            raise RuntimeError(f"{type(request).__name__} raised StopIteration in the store or the counter") from error

    def _count(self, request: Count) -> Counted:
        if self._counter is None:
            self._counter = default_counter()
        return count_message(self._counter, request.message, request.ceiling)

    def _commit(self, request: Commit) -> str:
        epoch = self._store.commit(self._id, request.change, request.expected)
        _log_commit(self._id, request)
        return epoch

    def _measure(self, request: Measure) -> Meter | None:
        if self._counter is None:
            return DEFAULT_METER if request.needed else None
        return Meter(self._counter.name, self._counter.overhead)


class TokenWindowChatMemory(ChatMemory):
    """A `ChatMemory` that keeps the newest messages within ``max_tokens``; see `TokenBudget` and `ChatMemory`."""

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - as in ChatMemory
        *,
        max_tokens: int,
        evict_to: EvictTo = None,
        unit: EvictionUnit = "message",
        store: ChatMemoryStore | None = None,
        owner: str | None = None,
        counter: TokenCounter | None = None,
        guards: Guards = Guards(),
        overflow: OverflowPolicy = "evict",
        reserve_tokens: int = 0,
    ) -> None:
        super().__init__(
            id,
            strategy=TokenBudget(max_tokens, evict_to=evict_to, unit=unit),
            store=store,
            owner=owner,
            counter=counter,
            guards=guards,
            overflow=overflow,
            reserve_tokens=reserve_tokens,
        )


class MessageWindowChatMemory(ChatMemory):
    """A `ChatMemory` that keeps the last ``max_messages`` messages; see `SlidingWindow` and `ChatMemory`."""

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - as in ChatMemory
        *,
        max_messages: int,
        max_tokens: int | None = None,
        evict_to: EvictTo = None,
        unit: EvictionUnit = "message",
        store: ChatMemoryStore | None = None,
        owner: str | None = None,
        counter: TokenCounter | None = None,
        guards: Guards = Guards(),
        overflow: OverflowPolicy = "evict",
        reserve_tokens: int = 0,
    ) -> None:
        super().__init__(
            id,
            strategy=SlidingWindow(max_messages, max_tokens=max_tokens, evict_to=evict_to, unit=unit),
            store=store,
            owner=owner,
            counter=counter,
            guards=guards,
            overflow=overflow,
            reserve_tokens=reserve_tokens,
        )
