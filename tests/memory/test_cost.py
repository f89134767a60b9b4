"""What operations ask of the store and of the counter: no more than the rules need."""

from __future__ import annotations

import pytest

from chatmemory import AssistantMessage, ChatMemory, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from tests.conversations import SizeCounter
from tests.memory.conftest import Api, Place
from tests.memory.watched_store import WatchedStore

TALK = [
    SystemMessage("s:5"),
    UserMessage("u:5"),
    AssistantMessage("c:5", tool_calls=[ToolCall("c1", "f")]),
    ToolMessage("r:5", tool_call_id="c1"),
    AssistantMessage("a:5"),
    UserMessage("v:5"),
]


def test_an_add_is_one_commit(api: Api) -> None:
    """W16: each add and each extend is one commit; the window is loaded once, and `messages` reads nothing."""
    watched = WatchedStore()
    memory = api.message_window("c", max_messages=3, store=watched)
    for number in range(3):
        memory.add(UserMessage(str(number)))
    assert ["load", "commit", "commit", "commit"] == watched.calls
    watched.calls.clear()
    for _ in range(100):
        memory.messages()
    assert [] == watched.calls
    memory.extend(UserMessage(str(number)) for number in range(3))
    assert ["commit"] == watched.calls


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_same_system_message_is_no_commit(api: Api, role: str) -> None:
    """W5, R2: the same system text again writes nothing and is not counted, also as the first thing after a start."""
    watched, counter = WatchedStore(), SizeCounter()
    memory = api.token_window("c", max_tokens=50, store=watched, counter=counter)
    memory.extend(TALK[:2])
    memory.add({"role": role, "content": "s:5"})
    assert ["load", "commit"] == watched.calls
    counter.locked = True
    watched.calls.clear()
    restarted = api.token_window("c", max_tokens=50, store=watched, counter=counter)
    assert not restarted.add({"role": role, "content": "s:5"})
    assert ["load"] == watched.calls


def test_what_changes_nothing_is_no_commit(api: Api) -> None:
    """R11: an empty extend, a clear of nothing, the same list again, and a larger limit write nothing."""
    watched = WatchedStore()
    memory = api.message_window("c", max_messages=9, store=watched)
    memory.extend([])
    memory.clear()
    memory.set([])
    memory.resize(max_messages=10)
    memory.extend(TALK)
    memory.set(memory.messages())
    memory.resize(max_messages=6)
    assert ["load", "commit"] == watched.calls
    assert 1 == memory.version


def test_only_what_looks_back_reads(api: Api) -> None:
    """History and old windows are read through the store, and need no load of the window."""
    watched = WatchedStore()
    memory = api.message_window("c", max_messages=9, store=watched)
    memory.history()
    memory.window_at(0)
    assert ["history", "window_at"] == watched.calls


def test_each_message_is_counted_once(api: Api) -> None:
    """R10: however long messages live, and whatever is looked at, the counter is asked once for each."""
    counter = SizeCounter()
    memory = api.token_window("c", max_tokens=25, counter=counter)
    memory.extend(TALK)
    memory.set(memory.messages())
    memory.resize(max_tokens=20)
    memory.refresh()
    memory.clear()
    memory.history()
    memory.window_at(1)
    assert memory.tokens == 0
    assert len(TALK) == counter.questions


def test_a_retried_add_is_counted_once(api: Api) -> None:
    """R10: an add that met another writer is planned again, not counted again."""
    watched, counter = WatchedStore(), SizeCounter()
    mine = api.token_window("c", max_tokens=50, store=watched, counter=counter)
    other = api.token_window("c", max_tokens=50, store=watched, counter=SizeCounter())
    mine.window()
    other.add(UserMessage("u:5"))
    mine.add(UserMessage("v:5"))
    assert 1 == counter.questions
    assert ["load", "load", "commit", "commit", "load", "commit"] == watched.calls


def test_nothing_is_counted_again_after_a_restart(api: Api, place: Place) -> None:
    """R10: stored counts are reused while the counter's name is the same: a counter that raises is not asked."""
    memory = api.token_window("c", max_tokens=25, counter=SizeCounter(), store=place.open())
    memory.extend(TALK)
    tokens = memory.tokens
    place.close()
    locked = SizeCounter()
    locked.locked = True
    again = api.token_window("c", max_tokens=25, counter=locked, store=place.open())
    assert tokens == again.tokens
    assert [entry.tokens for entry in memory.window()] == [entry.tokens for entry in again.window()]
    again.clear()
    assert not again.resize(max_tokens=24)


class DoubleCounter(SizeCounter):
    """Counts twice what the text states."""

    def count(self, message: Message) -> int:
        """Return twice the message's size."""
        return 2 * super().count(message)


def counts_of(memory: ChatMemory) -> list[tuple[int | None, str | None]]:
    """What each entry of the window costs, and who says so."""
    return [(entry.tokens, entry.counter) for entry in memory.window()]


def test_another_counter_counts_again(api: Api, place: Place) -> None:
    """R10: counts of another name are not this counter's: the window, not the history, is counted again, and cut."""
    api.token_window("c", max_tokens=25, counter=SizeCounter(), store=place.open()).extend(TALK)
    place.close()
    counter = DoubleCounter(name="double")
    memory = api.token_window("c", max_tokens=35, counter=counter, store=place.open())
    assert [(10, "double")] * 3 == counts_of(memory)
    assert 33 == memory.tokens
    assert 4 >= counter.questions
    memory.add(AssistantMessage("b:5"))
    assert [(10, "double")] * 3 == counts_of(memory)


def test_a_counter_for_what_was_not_counted(api: Api, place: Place) -> None:
    """R10: a window that was kept without counting is counted by the first token window that opens it."""
    plain = api.message_window("c", max_messages=9, store=place.open())
    plain.extend(TALK)
    assert [(None, None)] * 6 == counts_of(plain)
    place.close()
    counted = api.token_window("c", max_tokens=99, counter=SizeCounter(), store=place.open())
    assert [(5, "size")] * 6 == counts_of(counted)
    assert 33 == counted.tokens
    place.close()
    assert api.message_window("c", max_messages=9, store=place.open()).tokens is None


def test_an_old_window_is_counted_by_the_counter_that_asks(api: Api, place: Place) -> None:
    """The tokens of `window_at` are those of the memory's own counter, not a sum of another's or of nothing."""
    api.message_window("c", max_messages=9, store=place.open()).extend(TALK)
    place.close()
    counted = api.token_window("c", max_tokens=99, counter=SizeCounter(), store=place.open())
    assert counted.tokens == counted.window_at(1).tokens


class BoundedCounter(SizeCounter):
    """Knows a lower bound too, and counts how often it was asked for."""

    def at_least(self, message: Message) -> int:
        """Return half of the size."""
        return int(message.text.rpartition(":")[2]) // 2


def test_a_bound_saves_a_count(api: Api) -> None:
    """R10: what a lower bound shows to be oversize is not counted, and its tokens are not known."""
    counter = BoundedCounter()
    memory = api.token_window("c", max_tokens=20, counter=counter)
    change = memory.add(UserMessage("u:100"))
    assert change.oversize
    assert [None] == [removal.tokens for removal in change.removed]
    assert [None] == [entry.tokens for entry in memory.history()]
    assert 0 == counter.questions
    assert [30] == [removal.tokens for removal in memory.add(UserMessage("u:30")).removed]
    assert 1 == counter.questions


def test_a_bound_is_not_enough_for_keep(api: Api) -> None:
    """With "keep" an oversize message stays, so that it is counted exactly."""
    memory = api.token_window("c", max_tokens=20, counter=BoundedCounter(), overflow="keep")
    assert 103 == memory.add(UserMessage("u:100")).tokens
