"""R11: what fails leaves memory and store as they were, and says what failed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from chatmemory import (
    AssistantMessage,
    Change,
    ChatMemory,
    ConflictError,
    IllegalPlanError,
    Limit,
    Limits,
    Message,
    Plan,
    StoreError,
    TokenBudget,
    UserMessage,
    Window,
)
from chatmemory.core.session import Pause
from chatmemory.core.settings import Meter
from chatmemory.memory import _pause
from chatmemory.stores import ChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore
from chatmemory.tokens.counting import DEFAULT_METER, default_counter
from tests.conversations import SizeCounter
from tests.memory.conftest import Api, Place
from tests.memory.watched_store import WatchedStore

Operation = Callable[[ChatMemory], Change]
OPERATIONS: dict[str, Operation] = {
    "add": lambda memory: memory.add(UserMessage("v:5")),
    "extend": lambda memory: memory.extend([UserMessage("v:5"), AssistantMessage("b:5")]),
    "set": lambda memory: memory.set([UserMessage("v:5")]),
    "clear": lambda memory: memory.clear(),
    "resize": lambda memory: memory.resize(max_tokens=10),
}


def state_of(memory: ChatMemory) -> tuple[object, ...]:
    """Everything that an operation could have changed."""
    window = memory.window()
    return tuple(window), window.version, window.tokens, window.limit, memory.history()


@pytest.fixture
def watched(place: Place) -> WatchedStore:
    """A store that fails when it is told to, over a real one."""
    return WatchedStore(place.open())


@pytest.fixture
def memory(api: Api, watched: WatchedStore) -> ChatMemory:
    """A memory with two messages, kept in that store."""
    made = api.token_window("c", max_tokens=50, counter=SizeCounter(), store=watched)
    made.extend([UserMessage("u:5"), AssistantMessage("a:5")])
    return made


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_commit_that_fails(memory: ChatMemory, watched: WatchedStore, operation: Operation) -> None:
    """A store that refuses a commit: the error comes out, everything is as before, and the next try succeeds."""
    before = state_of(memory)
    watched.failing["commit"] = StoreError("the disk is full")
    with pytest.raises(StoreError, match="disk is full") as caught:
        operation(memory)
    assert not caught.value.outcome_unknown
    assert before == state_of(memory)
    watched.failing.clear()
    assert before == state_of(memory)
    assert tuple(memory.window()) == tuple(memory.refresh())
    assert operation(memory)
    assert 2 == memory.version


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_load_that_fails(api: Api, memory: ChatMemory, watched: WatchedStore, operation: Operation) -> None:
    """A store that cannot be read: the error comes out of the first operation, and the next one loads."""
    before = state_of(memory)
    fresh = api.token_window("c", max_tokens=50, counter=SizeCounter(), store=watched)
    watched.failing["load"] = StoreError("the server is away")
    for use in (operation, lambda one: one.messages(), lambda one: one.refresh(), lambda one: one.tokens):
        with pytest.raises(StoreError, match="server is away"):
            use(fresh)
    watched.failing.clear()
    assert before == state_of(fresh)
    assert 1 == watched.calls.count("commit")


def test_a_refresh_that_fails(memory: ChatMemory, watched: WatchedStore) -> None:
    """R11: after a refresh that failed, the window is as it was."""
    before = memory.messages()
    watched.failing["load"] = StoreError("the server is away")
    with pytest.raises(StoreError):
        memory.refresh()
    assert before == memory.messages()
    watched.failing.clear()
    assert before == memory.refresh().messages()


def test_a_delete_that_fails(memory: ChatMemory, watched: WatchedStore) -> None:
    """A store that does not delete: the conversation is still there."""
    before = state_of(memory)
    watched.failing["delete"] = StoreError("read only")
    with pytest.raises(StoreError):
        memory.delete()
    assert before == state_of(memory)


@pytest.mark.parametrize("name", ["history", "window_at"])
def test_a_look_back_that_fails(memory: ChatMemory, watched: WatchedStore, name: str) -> None:
    """A failing look at the history comes out, and the window is still there."""
    watched.failing[name] = StoreError("the server is away")
    with pytest.raises(StoreError):
        memory.history() if name == "history" else memory.window_at(1)
    assert 2 == len(memory.messages())


def test_an_error_of_another_kind(memory: ChatMemory, watched: WatchedStore) -> None:
    """Where a store raises what no store should, it comes out, and the memory asks the store what is there."""
    watched.failing_after["commit"] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        memory.add(UserMessage("v:5"))
    watched.failing_after.clear()
    assert ([1, 2, 3], 2) == ([entry.seq for entry in memory.window()], memory.version)


def test_an_unknown_outcome(memory: ChatMemory, watched: WatchedStore) -> None:
    """A commit that is stored though its answer was lost: the add tries again by its key, and is there once."""
    lost = [StoreError("connection lost", outcome_unknown=True)]

    class Once(dict[str, BaseException]):
        def __contains__(self, name: object) -> bool:
            return name == "commit" and bool(lost)

        def __getitem__(self, name: str) -> BaseException:
            return lost.pop()

    watched.failing_after = Once()
    change = memory.add(UserMessage("v:5"))
    assert (3, 2) == (change.seq, change.version)
    assert [1, 2, 3] == [entry.seq for entry in memory.history()]
    assert [1, 2, 3] == [entry.seq for entry in memory.refresh()]


@pytest.mark.parametrize("is_stored", [True, False])
def test_an_outcome_that_stays_unknown(api: Api, place: Place, *, is_stored: bool) -> None:
    """A store that went away in mid-commit and stays away says so; the same add again is there once, either way."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = api.token_window("c", max_tokens=50, counter=SizeCounter(), store=watched)
    memory.add(UserMessage("u:5"))
    where = watched.failing_after if is_stored else watched.failing
    where["commit"] = StoreError("connection lost", outcome_unknown=True)
    with pytest.raises(StoreError) as caught:
        memory.add(UserMessage("v:5"))
    assert caught.value.outcome_unknown
    where.clear()
    change = memory.add(UserMessage("v:5"))
    assert (2, 2) == (change.seq, change.version)
    assert ["u:5", "v:5"] == [message.text for message in memory.messages()]
    assert 2 == len(memory.history())


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_look_after_an_unknown_outcome(api: Api, place: Place, *, is_stored: bool) -> None:
    """After an unknown outcome, `messages` shows what the store has, and another message goes on from there."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = api.token_window("c", max_tokens=50, counter=SizeCounter(), store=watched)
    where = watched.failing_after if is_stored else watched.failing
    where["commit"] = StoreError("connection lost", outcome_unknown=True)
    with pytest.raises(StoreError):
        memory.add(UserMessage("u:5"))
    where.clear()
    assert int(is_stored) == len(memory.messages())
    memory.add(AssistantMessage("a:5"))
    assert ["u:5"] * is_stored + ["a:5"] == [message.text for message in memory.messages()]


def test_an_empty_extend_does_not_repeat_what_is_unknown(api: Api, place: Place) -> None:
    """A clear of unknown outcome that was not stored is not made good by an extend of nothing."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = api.message_window("c", max_messages=5, store=watched)
    memory.add(UserMessage("u"))
    watched.failing["commit"] = StoreError("connection lost", outcome_unknown=True)
    with pytest.raises(StoreError):
        memory.clear()
    watched.failing.clear()
    assert not memory.extend([])
    assert [UserMessage("u")] == memory.messages()


def test_conflicts_without_end(api: Api, place: Place) -> None:
    """Where others commit first again and again, the error is a conflict once the store's time is over."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = api.token_window("c", max_tokens=50, counter=SizeCounter(), store=watched)
    watched.failing["commit"] = ConflictError("another writer was first")
    with pytest.raises(ConflictError):
        memory.add(UserMessage("u:5"))
    assert 1 < watched.calls.count("commit")
    assert watched.calls.count("commit") == watched.calls.count("load")
    watched.failing.clear()
    assert ([], 0) == (memory.messages(), memory.version)


class FailingCounter(SizeCounter):
    """Fails on texts that hold the word."""

    def count(self, message: Message) -> int:
        """Return the size, or raise."""
        if "broken" in message.text:
            raise OSError("the tokenizer is away")
        return super().count(message)


@pytest.mark.parametrize("method", ["add", "extend", "set"])
def test_a_counter_that_fails(api: Api, place: Place, method: str) -> None:
    """An error of the counter comes out as it is; memory and store are as before."""
    memory = api.token_window("c", max_tokens=50, counter=FailingCounter(), store=place.open())
    memory.add(UserMessage("u:5"))
    before = state_of(memory)
    given = UserMessage("broken:5") if method == "add" else [UserMessage("v:5"), UserMessage("broken:5")]
    with pytest.raises(OSError, match="tokenizer is away"):
        getattr(memory, method)(given)
    assert before == state_of(memory)
    assert tuple(memory.window()) == tuple(memory.refresh())
    assert 2 == memory.add(UserMessage("v:5")).seq


class Greedy(TokenBudget):
    """Wants to remove a unit that a guard holds."""

    name = "greedy"

    def plan(self, window: Window) -> Plan | None:
        """Ask for everything."""
        return Plan(tuple(window.units()))

    @property
    def limits(self) -> Limits:
        """The token limit."""
        return Limits(max_tokens=self.max_tokens)


def test_an_illegal_plan(api: Api, place: Place) -> None:
    """A strategy that breaks a rule: the error names it, and nothing of the add is there."""
    memory = api.memory("c", strategy=Greedy(50), counter=SizeCounter(), store=place.open())
    with pytest.raises(IllegalPlanError) as caught:
        memory.add(UserMessage("u:5"))
    assert "R5" == caught.value.rule
    assert ([], 0, []) == (memory.messages(), memory.version, memory.history())
    assert Limit(tokens=50) == memory.window().limit


@pytest.mark.parametrize("make", [InMemoryChatMemoryStore, lambda: SqlChatMemoryStore("sqlite://")])
@pytest.mark.parametrize(
    "use",
    [
        lambda memory: memory.add(UserMessage("v")),
        lambda memory: memory.history(),
        lambda memory: memory.delete(),
        lambda memory: memory.window_at(1),
    ],
)
def test_a_closed_store(api: Api, make: Callable[[], ChatMemoryStore], use: Callable[[ChatMemory], object]) -> None:
    """A store that was closed is no store any more: each operation that needs it says so."""
    store = make()
    memory = api.message_window("c", max_messages=5, store=store)
    memory.add(UserMessage("u"))
    store.close()
    with pytest.raises(StoreError, match="closed"):
        use(memory)
    assert [UserMessage("u")] == memory.messages()


def test_a_commit_that_was_broken_off(api: Api) -> None:
    """Where an add is interrupted after its commit arrived, the same add again does not double it."""
    watched = WatchedStore()
    memory = api.message_window("c", max_messages=9, store=watched)
    memory.add(UserMessage("one"))
    watched.failing_after["commit"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        memory.add(UserMessage("two"))
    watched.failing_after.clear()
    memory.add(UserMessage("two"))
    assert ["one", "two"] == [message.text for message in memory.messages()]


def test_a_writer_may_wait_for_very_many_tries() -> None:
    """However often a store was asked, the next pause can be computed, and is short."""
    _pause(Pause(StoreError("away"), 5_000), time.monotonic() + 60)


@pytest.mark.usefixtures("rank_files")
def test_the_default_counter_is_what_its_meter_says() -> None:
    """Name and overhead that are known before the default counter is made are its own."""
    counter = default_counter()
    assert Meter(counter.name, counter.overhead) == DEFAULT_METER
