"""Errors that may pass: the operation is tried again for as long as the store says, and nothing is doubled (R11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from attrs import define, field

from chatmemory import ChatMemory, ConflictError, StoreError, UserMessage
from tests.memory.conftest import Api, Place
from tests.memory.watched_store import WatchedStore

BUSY = StoreError("the server restarts", transient=True)
LOST = StoreError("connection lost", outcome_unknown=True)


@define(slots=False)
class Stumbling(WatchedStore):
    """Raises what stands in `stumbles`, in turn; an error of unknown outcome once the store has done what was asked."""

    stumbles: dict[str, list[StoreError]] = field(factory=dict, init=False)

    @contextmanager
    def _asked(self, name: str) -> Iterator[None]:
        errors = self.stumbles.get(name)
        error = errors.pop(0) if errors else None
        with super()._asked(name):
            if error is not None and not error.outcome_unknown:
                raise error
            yield
            if error is not None:
                raise error


Operation = Callable[[ChatMemory], object]
OPERATIONS: dict[str, tuple[str, Operation]] = {
    "add": ("commit", lambda memory: memory.add(UserMessage("v"))),
    "extend": ("commit", lambda memory: memory.extend([UserMessage("v"), UserMessage("w")])),
    "set": ("commit", lambda memory: memory.set([UserMessage("v")])),
    "clear": ("commit", lambda memory: memory.clear()),
    "resize": ("commit", lambda memory: memory.resize(max_messages=1)),
    "redact": ("commit", lambda memory: memory.redact(1, "gone")),
    "describe": ("commit", lambda memory: memory.describe(title="Parcel")),
    "refresh": ("load", lambda memory: memory.refresh().version),
    "history": ("history", lambda memory: [entry.seq for entry in memory.history()]),
    "window_at": ("window_at", lambda memory: [entry.seq for entry in memory.window_at(1)]),
    "delete": ("delete", lambda memory: memory.delete()),
}
each_operation = pytest.mark.parametrize(("asked", "operation"), OPERATIONS.values(), ids=OPERATIONS)


@pytest.fixture
def stumbling(place: Place) -> Stumbling:
    """A store that stumbles when it is told to."""
    return Stumbling(place.open())


def opened(api: Api, store: WatchedStore, conversation_id: str = "c") -> ChatMemory:
    """A memory with two messages in that store."""
    memory = api.message_window(conversation_id, max_messages=9, store=store)
    memory.extend([UserMessage("u 1"), UserMessage("u 2")])
    store.calls.clear()
    return memory


def state_of(memory: ChatMemory) -> tuple[object, ...]:
    """Everything that is shown of the conversation."""
    window, history = memory.window(), memory.history()
    entries = [[(e.seq, e.message, e.left, e.reason, e.redacted) for e in shown] for shown in (window, history)]
    return entries, window.version, memory.about()


@pytest.mark.parametrize("times", [1, 4])
@each_operation
def test_it_is_tried_again(api: Api, stumbling: Stumbling, asked: str, operation: Operation, times: int) -> None:
    """After so many failures and one success the result is that of an undisturbed operation."""
    calm, memory = opened(api, stumbling, "calm"), opened(api, stumbling)
    expected = operation(calm)
    stumbling.calls.clear()
    stumbling.stumbles[asked] = [BUSY] * times
    answer = operation(memory)
    assert times + 1 == stumbling.calls.count(asked)
    assert [asked] * (times + 1) == stumbling.calls
    if isinstance(expected, bool | int | list):
        assert expected == answer
    assert state_of(calm) == state_of(memory)


@each_operation
def test_the_first_load_is_tried_again(api: Api, stumbling: Stumbling, asked: str, operation: Operation) -> None:
    """Also where the conversation has to be loaded first."""
    opened(api, stumbling)
    memory = api.message_window("c", max_messages=9, store=stumbling)
    stumbling.stumbles["load"] = [BUSY] * 3
    operation(memory)
    assert stumbling.calls.count("load") in ((0,) if asked in ("history", "window_at", "delete") else (4,))


@pytest.mark.parametrize("place", ["in memory"], indirect=True)
@each_operation
def test_no_time_is_left(api: Api, place: Place, asked: str, operation: Operation) -> None:
    """Where it does not pass in time the error comes out as it is, nothing changed, and the next try succeeds."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.02)
    memory = opened(api, watched)
    before = state_of(memory)
    watched.failing[asked] = BUSY
    with pytest.raises(StoreError) as caught:
        operation(memory)
    assert caught.value is BUSY
    watched.failing.clear()
    assert before == state_of(memory)
    assert operation(memory) is not False


@each_operation
def test_what_does_not_pass_is_not_tried_again(
    api: Api, stumbling: Stumbling, asked: str, operation: Operation
) -> None:
    """An error that is not transient comes out at once."""
    memory = opened(api, stumbling)
    stumbling.failing[asked] = StoreError("the disk is full")
    with pytest.raises(StoreError, match="disk is full"):
        operation(memory)
    assert 1 == stumbling.calls.count(asked)


def test_a_transient_error_beside_a_conflict(api: Api, stumbling: Stumbling) -> None:
    """Between conflicts and failures in any order, the message is there once."""
    memory = opened(api, stumbling)
    stumbling.stumbles["commit"] = [BUSY, ConflictError("another was first"), BUSY, BUSY]
    stumbling.stumbles["load"] = [BUSY]
    assert 3 == memory.add(UserMessage("v")).seq
    assert ["u 1", "u 2", "v"] == [entry.message.text for entry in memory.history()]


def test_a_transient_error_after_an_unknown_outcome(api: Api, stumbling: Stumbling) -> None:
    """A commit that is stored, whose answer was lost, and then a server that restarts: it is there once."""
    memory = opened(api, stumbling)
    stumbling.stumbles["commit"] = [LOST, BUSY, BUSY]
    assert (3, 2) == (memory.add(UserMessage("v")).seq, memory.version)
    assert 4 == stumbling.calls.count("commit")
    assert ["u 1", "u 2", "v"] == [entry.message.text for entry in memory.history()]


class Restarting(WatchedStore):
    """Stores a commit, loses its answer, and answers nothing more to commits but that it restarts."""

    is_away = False

    @contextmanager
    def _asked(self, name: str) -> Iterator[None]:
        if self.is_away and name == "commit":
            raise BUSY
        with super()._asked(name):
            yield


@pytest.mark.parametrize("is_stored", [True, False])
def test_what_is_unknown_stays_unknown(api: Api, place: Place, *, is_stored: bool) -> None:
    """Transient errors after a lost answer do not make the outcome known: the error says so, and the add is safe."""
    store = Restarting(place.open(), conflict_timeout_seconds=0.05)
    memory = opened(api, store)
    if is_stored:
        store.failing_after["commit"] = LOST
    else:
        store.failing["commit"] = LOST
    store.conflict_timeout_seconds = 0
    with pytest.raises(StoreError) as first:
        memory.add(UserMessage("v"))
    store.failing.clear()
    store.failing_after.clear()
    store.is_away = True
    with pytest.raises(StoreError, match="unknown") as again:
        memory.add(UserMessage("v"))
    assert (True, True) == (first.value.outcome_unknown, again.value.outcome_unknown)
    assert BUSY is again.value.__cause__
    store.is_away, store.conflict_timeout_seconds = False, 30
    assert 3 == memory.add(UserMessage("v")).seq
    assert ["u 1", "u 2", "v"] == [entry.message.text for entry in memory.history()]
