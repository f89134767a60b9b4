"""Several messages at once, another list, no list, and no conversation any more."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory import (
    AssistantMessage,
    InvalidMessageError,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    WindowOverflowError,
    to_openai,
)
from chatmemory.stores import ChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api

CALL = AssistantMessage("c:5", tool_calls=[ToolCall("c1", "f")])
RESULT = ToolMessage("r:5", tool_call_id="c1")


def test_extend_is_one_change(api: Api, store: ChatMemoryStore) -> None:
    """All messages of an extend enter with one version, and the Change names the last one."""
    memory = api.message_window("c", max_messages=3, store=store)
    change = memory.extend([UserMessage("1"), AssistantMessage("2"), UserMessage("3"), AssistantMessage("4")])
    assert (1, 4) == (change.version, change.seq)
    assert [2, 3, 4] == [entry.seq for entry in change.added]
    assert [(1, "budget", 1, 1)] == [(gone.seq, gone.reason, gone.entered, gone.left) for gone in change.removed]
    assert not change.oversize
    assert 4 == len(memory.history())


def test_extend_is_the_adds_one_after_another(api: Api) -> None:
    """Whether messages come one by one or at once, the window is the same."""
    answers = [AssistantMessage("a:10"), UserMessage("v:10"), AssistantMessage("b:10")]
    messages = [UserMessage("u:10"), CALL, RESULT, *answers]
    one_by_one = api.token_window(max_tokens=35, counter=SizeCounter())
    at_once = api.token_window(max_tokens=35, counter=SizeCounter())
    for message in messages:
        one_by_one.add(message)
    at_once.extend(messages)
    assert [entry.seq for entry in one_by_one.window()] == [entry.seq for entry in at_once.window()]


def test_extend_takes_any_iterable(api: Api) -> None:
    """Tuples and generators are taken too, each read once."""
    memory = api.message_window(max_messages=9)
    memory.extend(UserMessage(str(number)) for number in range(3))
    memory.extend((AssistantMessage("a"),))
    memory.set(iter(memory.messages()[:2]))
    assert [UserMessage("0"), UserMessage("1")] == memory.messages()


@pytest.mark.parametrize("given", ["text", b"bytes", {"role": "user", "content": "x"}, UserMessage("u"), None, 5])
@pytest.mark.parametrize("method", ["extend", "set"])
def test_one_message_is_no_list(api: Api, method: str, given: Any) -> None:
    """A str, a dict or a single message instead of a list is refused, with the remedy."""
    memory = api.message_window(max_messages=9)
    with pytest.raises(InvalidMessageError, match=r"add\(\)") as caught:
        getattr(memory, method)(given)
    assert "messages" == caught.value.path
    assert [] == memory.history()


@pytest.mark.parametrize("method", ["extend", "set"])
def test_a_wrong_message_in_the_middle(api: Api, store: ChatMemoryStore, method: str) -> None:
    """One wrong message, and nothing of the list is there; the path names its index."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.add(UserMessage("u"))
    with pytest.raises(InvalidMessageError) as caught:
        getattr(memory, method)([AssistantMessage("a"), {"role": "user", "content": 3}, UserMessage("v")])
    assert "messages[1].content" == caught.value.path
    assert ([UserMessage("u")], 1) == (memory.messages(), memory.version)
    assert 1 == len(memory.history())


def test_an_overflow_in_the_middle(api: Api, store: ChatMemoryStore) -> None:
    """One message that does not fit, with "raise": nothing of the list is there, and the object goes on as before."""
    memory = api.token_window("c", max_tokens=30, counter=SizeCounter(), overflow="raise", store=store)
    memory.add(UserMessage("u:5"))
    with pytest.raises(WindowOverflowError):
        memory.extend([AssistantMessage("a:5"), UserMessage("v:60"), AssistantMessage("b:5")])
    assert ([UserMessage("u:5")], 1) == (memory.messages(), memory.version)
    memory.add(AssistantMessage("a:5"))
    assert [1, 2] == [entry.seq for entry in memory.history()]


def test_a_generator_that_raises(api: Api) -> None:
    """An error of the caller's generator comes out as it is, and nothing of the list is there."""

    def broken() -> Any:
        yield UserMessage("u")
        raise ZeroDivisionError

    memory = api.message_window(max_messages=9)
    with pytest.raises(ZeroDivisionError):
        memory.extend(broken())
    assert ([], 0) == (memory.messages(), memory.version)


def test_set_keeps_the_common_prefix(api: Api, store: ChatMemoryStore) -> None:
    """Entries of the longest common prefix stay as they are; the rest leaves as `set`, the others are new."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.extend([SystemMessage("s"), UserMessage("1"), AssistantMessage("2"), UserMessage("3")])
    change = memory.set([SystemMessage("s"), UserMessage("1"), UserMessage("3")])
    assert [(3, "set"), (4, "set")] == [(gone.seq, gone.reason) for gone in change.removed]
    assert [1, 2, 5] == [entry.seq for entry in memory.window()]
    assert [None, None, "set", "set", None] == [entry.reason for entry in memory.history()]


def test_set_to_the_same_list(api: Api) -> None:
    """The window's own messages as the new list change nothing."""
    memory = api.message_window(max_messages=9)
    memory.extend([SystemMessage("s"), UserMessage("1"), CALL, RESULT])
    assert not memory.set(memory.messages())
    assert 1 == memory.version


def test_set_cuts_a_call_from_its_result(api: Api) -> None:
    """R3: where the prefix ends between call and result, the call waits again and takes a new result."""
    memory = api.message_window(max_messages=9)
    memory.extend([UserMessage("1"), CALL, RESULT])
    memory.set([UserMessage("1"), CALL])
    memory.add(ToolMessage("other", tool_call_id="c1"))
    assert [UserMessage("1"), CALL, ToolMessage("other", tool_call_id="c1")] == memory.messages()


def test_set_cuts_to_the_limit(api: Api) -> None:
    """A longer list than the window holds is cut as adds would be."""
    memory = api.message_window(max_messages=2)
    memory.set([UserMessage("1"), AssistantMessage("2"), UserMessage("3")])
    assert [AssistantMessage("2"), UserMessage("3")] == memory.messages()


def test_set_to_nothing(api: Api) -> None:
    """An empty list empties the window, system message included."""
    memory = api.message_window(max_messages=9)
    memory.extend([SystemMessage("s"), UserMessage("1")])
    assert ["set", "set"] == [gone.reason for gone in memory.set([]).removed]
    assert [] == memory.messages()


def test_the_list_stays_the_callers(api: Api) -> None:
    """W13, R12: the list given to `set` is untouched, and what its owner appends later is not in the memory."""
    memory = api.message_window(max_messages=3)
    mine: list[Message] = [UserMessage("1"), AssistantMessage("2")]
    memory.set(mine)
    assert [UserMessage("1"), AssistantMessage("2")] == mine
    mine.append(UserMessage("3"))
    assert [UserMessage("1"), AssistantMessage("2")] == memory.messages()
    memory.extend(mine)
    mine.clear()
    assert 3 == len(memory.messages())


def test_clear(api: Api, store: ChatMemoryStore) -> None:
    """The window is empty, system message included; the history stays, and seqs go on."""
    memory = api.token_window("c", max_tokens=90, counter=SizeCounter(), store=store)
    memory.extend([SystemMessage("s:5"), UserMessage("u:5")])
    change = memory.clear()
    assert [(1, "cleared"), (2, "cleared")] == [(gone.seq, gone.reason) for gone in change.removed]
    assert (2, None, 0) == (change.version, change.seq, change.tokens)
    assert ([], None, 0) == (memory.messages(), memory.system, memory.tokens)
    assert 2 == len(memory.history())
    assert not memory.clear()
    assert 3 == memory.add(UserMessage("v:5")).seq


def test_delete(api: Api, store: ChatMemoryStore) -> None:
    """Everything is erased; the object is an empty new conversation that begins at 1, with another epoch."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.extend([SystemMessage("s"), UserMessage("u")])
    before = store.load("c")
    assert memory.delete()
    assert ([], 0, []) == (memory.messages(), memory.version, memory.history())
    assert store.load("c") is None
    assert not memory.delete()
    change = memory.add(UserMessage("v"))
    assert (1, 1) == (change.version, change.seq)
    after = store.load("c")
    assert before is not None
    assert after is not None
    assert before.epoch != after.epoch


def test_another_object_notices_a_delete(api: Api, store: ChatMemoryStore) -> None:
    """An object that knew the deleted conversation writes into the new one, and its old messages do not come back."""
    mine, other = (api.message_window("c", max_messages=9, store=store) for _ in range(2))
    mine.add(UserMessage("old"))
    other.refresh()
    mine.delete()
    mine.add(UserMessage("new"))
    other.add(AssistantMessage("answer"))
    assert [UserMessage("new"), AssistantMessage("answer")] == other.messages()
    assert 2 == len(mine.history())


def test_a_stand_in_for_a_missing_result_is_left_out(api: Api) -> None:
    """R13: what a converter made up for a call without result is no result when it comes back."""
    memory = api.message_window(max_messages=9)
    memory.extend([UserMessage("u"), AssistantMessage(tool_calls=[ToolCall("c", "look")])])
    sent = to_openai(memory.window())
    assert 3 == len(sent)
    assert not memory.set(sent)
    assert not memory.add(sent[2])
    assert sent == to_openai(memory.window())
