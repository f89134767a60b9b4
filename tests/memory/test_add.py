"""Adding: what is taken, what the Change says of it, and that nothing given is changed."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion_message_function_tool_call import ChatCompletionMessageFunctionToolCall, Function

from chatmemory import (
    AssistantMessage,
    Guards,
    InvalidMessageError,
    Limit,
    Message,
    Refusal,
    Removal,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from chatmemory.stores import ChatMemoryStore, InMemoryChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api

CALL = ChatCompletionMessageFunctionToolCall(
    id="c1", type="function", function=Function(name="find", arguments='{"n": 2}')
)
SAME: list[tuple[Any, Message]] = [
    ({"role": "system", "content": "s"}, SystemMessage("s")),
    ({"role": "developer", "content": "s"}, SystemMessage("s", role="developer")),
    ({"role": "user", "content": "u"}, UserMessage("u")),
    ({"role": "user", "content": [{"type": "text", "text": "u"}]}, UserMessage((TextPart("u"),))),
    ({"role": "assistant", "content": "a"}, AssistantMessage("a")),
    (
        ChatCompletionMessage(role="assistant", content=None, tool_calls=[CALL]),
        AssistantMessage(None, tool_calls=(ToolCall("c1", "find", '{"n": 2}'),)),
    ),
    (
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        AssistantMessage(None, tool_calls=(ToolCall("c1", "find", '{"n": 2}'),)),
    ),
    (UserMessage("u"), UserMessage("u")),
]


@pytest.mark.parametrize(("given", "expected"), SAME, ids=lambda value: type(value).__name__)
def test_what_is_taken(api: Api, store: ChatMemoryStore, given: Any, expected: Message) -> None:
    """Messages, OpenAI-style dicts, and SDK objects, alone or inside dicts, are the same messages."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.add(given)
    assert [expected] == memory.messages()


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("text", ""),
        (None, ""),
        (["a", "list"], ""),
        ({"content": "x"}, "role"),
        ({"role": "nobody", "content": "x"}, "role"),
        ({"role": "user", "content": None}, "content"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": 3}]}, "content[0].image_url"),
    ],
)
def test_what_is_refused(api: Api, given: Any, path: str) -> None:
    """What is no message is refused with its path, and neither window nor history has it."""
    memory = api.message_window("c", max_messages=9)
    memory.add(UserMessage("u"))
    with pytest.raises(InvalidMessageError) as caught:
        memory.add(given)
    assert path == caught.value.path
    assert [UserMessage("u")] == memory.messages()
    assert 1 == len(memory.history())


def test_a_change_says_what_entered(api: Api) -> None:
    """The Change of an add names the new version, entry, tokens and limit, and is true."""
    clock = datetime(2024, 5, 1, 10, tzinfo=UTC)
    store = InMemoryChatMemoryStore(clock=lambda: clock)
    memory = api.token_window("c", max_tokens=50, reserve_tokens=10, counter=SizeCounter(), store=store)
    change = memory.add(UserMessage("u:12"))
    assert change
    assert (1, 1, 15, Limit(tokens=40), False) == (
        change.version,
        change.seq,
        change.tokens,
        change.limit,
        change.oversize,
    )
    assert ((), ()) == (change.removed, change.refused)
    (entry,) = change.added
    assert (1, UserMessage("u:12"), 12, "message", None) == (
        entry.seq,
        entry.message,
        entry.tokens,
        entry.kind,
        entry.origin_seq,
    )
    assert clock == entry.added_at
    assert (1, None, None) == (entry.entered, entry.left, entry.reason)
    assert change.added == tuple(memory.window())


def test_a_change_says_what_left_and_what_was_refused(api: Api) -> None:
    """A removal has seq, reason, the versions of its life and its tokens; a refusal has the guards' names."""
    memory = api.token_window("c", max_tokens=33, counter=SizeCounter())
    memory.extend([UserMessage("u:10"), AssistantMessage("a:10")])
    memory.add(AssistantMessage("b:10"))
    change = memory.add(AssistantMessage("c:10"))
    assert (Removal(seq=2, reason="budget", entered=1, left=3, tokens=10),) == change.removed
    assert (Refusal(seq=1, guards=("current_request",)),) == change.refused
    assert [4] == [entry.seq for entry in change.added]


def test_a_change_of_a_message_that_does_not_fit(api: Api) -> None:
    """An oversize message is a true Change that adds nothing, and its removal was never in a window."""
    memory = api.token_window("c", max_tokens=20, counter=SizeCounter())
    memory.add(UserMessage("u:10"))
    change = memory.add(UserMessage("v:50"))
    assert change
    assert change.oversize
    assert (2, 2, ()) == (change.version, change.seq, change.added)
    assert (Removal(seq=2, reason="oversize", entered=2, left=2, tokens=50),) == change.removed
    assert [UserMessage("u:10")] == memory.messages()


def test_a_change_of_nothing(api: Api, store: ChatMemoryStore) -> None:
    """Where nothing changed, the Change is false, has no seq, and the version stays."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.add(SystemMessage("s"))
    for change in (memory.add(SystemMessage("s")), memory.extend([]), memory.set([SystemMessage("s")])):
        assert not change
        assert (1, None, (), ()) == (change.version, change.seq, change.added, change.removed)
    assert 1 == memory.version
    assert 1 == len(memory.history())


def test_the_same_system_text_as_developer(api: Api) -> None:
    """R2: the text alone says whether a system message is the same."""
    memory = api.message_window("c", max_messages=9)
    memory.add(SystemMessage("s"))
    assert not memory.add(SystemMessage("s", role="developer"))


def test_an_orphan_and_a_duplicate(api: Api, store: ChatMemoryStore) -> None:
    """R3, R9: a result without a call, or a second one, is in the history only, with its reason."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.add(AssistantMessage(None, tool_calls=[ToolCall("c1", "f")]))
    memory.add(ToolMessage("r", tool_call_id="c1"))
    assert ["duplicate"] == [removal.reason for removal in memory.add(ToolMessage("r", tool_call_id="c1")).removed]
    change = memory.add(ToolMessage("r", tool_call_id="c2"))
    assert ["orphan"] == [removal.reason for removal in change.removed]
    assert not change.oversize
    assert 4 == change.seq
    assert [None, None, "duplicate", "orphan"] == [entry.reason for entry in memory.history()]
    assert [1, 2] == [entry.seq for entry in memory.window()]


def test_equal_messages_are_distinct(api: Api, store: ChatMemoryStore) -> None:
    """W15, R4: the same message object added three times is three entries."""
    memory, message = api.message_window("c", max_messages=9, store=store), UserMessage("ok")
    for _ in range(3):
        memory.add(message)
    assert [1, 2, 3] == [entry.seq for entry in memory.window()]


def test_what_is_given_is_not_changed(api: Api) -> None:
    """R12: dicts, SDK objects and nested lists are after an add what they were before."""
    reply = ChatCompletionMessage(role="assistant", content=None, tool_calls=[CALL])
    given: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "new", "x": [1, {"y": 2}]}], "z": {"k": 1}},
        reply,
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "r"}]},
    ]
    before = copy.deepcopy(given)
    memory = api.message_window("c", max_messages=2, guards=Guards.none())
    memory.extend(given)
    memory.set(given)
    assert before == given


def test_what_is_given_may_change_later(api: Api, store: ChatMemoryStore) -> None:
    """R12: a caller who goes on changing a dict, its nested lists or an SDK object does not reach the memory."""
    part = {"type": "new", "x": [1]}
    user: dict[str, Any] = {"role": "user", "content": [part], "extra_field": {"k": [1]}}
    reply = ChatCompletionMessage(role="assistant", content="a")
    memory = api.message_window("c", max_messages=9, store=store)
    memory.extend([user, reply])
    before = memory.messages()
    part["x"] = [2]
    user["content"].append({"type": "text", "text": "more"})
    user["extra_field"]["k"].append(2)
    reply.content = "b"
    assert before == memory.messages()
    memory.refresh()
    assert before == memory.messages()
    assert {"extra_field": {"k": [1]}} == memory.messages()[0].extra
