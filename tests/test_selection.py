"""`select_messages`: the caller's own objects, chosen as a memory would."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

from chatmemory import (
    AssistantMessage,
    Guards,
    InvalidArgumentError,
    InvalidMessageError,
    Limit,
    Message,
    MessageWindowChatMemory,
    SlidingWindow,
    SystemMessage,
    TokenBudget,
    ToolCall,
    ToolMessage,
    UserMessage,
    WindowOverflowError,
    select_messages,
)
from tests.conversations import SizeCounter, conversations, window_settings
from tests.real_memory import guards_of, open_memory, strategy_of
from tests.window_settings import WindowSettings

CALL: Final = AssistantMessage("c:10", tool_calls=[ToolCall("c1", "f")])
TALK: Final[list[Message]] = [
    SystemMessage("s:10"),
    UserMessage("u:10"),
    AssistantMessage("a:10"),
    UserMessage("v:10"),
    CALL,
    ToolMessage("r:10", tool_call_id="c1"),
]


def same_objects(expected: list[Any], found: list[Any]) -> bool:
    """Whether both lists hold the same objects, not only equal ones."""
    return list(map(id, expected)) == list(map(id, found))


def test_the_callers_own_objects_come_back() -> None:
    """Messages, dicts and SDK objects come back as the very objects that were given."""
    mine: list[Any] = [
        {"role": "system", "content": "s:10"},
        UserMessage("u:10"),
        ChatCompletionMessage(role="assistant", content="a:10"),
        {"role": "user", "content": "v:10"},
    ]
    selection = select_messages(mine, TokenBudget(33), counter=SizeCounter())
    assert same_objects([mine[0], mine[2], mine[3]], selection.messages)
    assert [(2, "budget", 1, 1, 10)] == [
        (gone.seq, gone.reason, gone.entered, gone.left, gone.tokens) for gone in selection.removed
    ]
    assert (33, Limit(tokens=33), False, ()) == (
        selection.tokens,
        selection.limit,
        selection.over_budget,
        selection.refused,
    )


def test_equal_messages_keep_their_places() -> None:
    """Of equal messages the newest stay: the objects tell them apart."""
    mine = [{"role": "user", "content": "ok"} for _ in range(4)]
    assert same_objects(mine[2:], select_messages(mine, SlidingWindow(2)).messages)


def test_a_result_that_came_late_stands_at_its_call() -> None:
    """R3: the selection is in the window's order, with results behind their call and the system message first."""
    mine = [UserMessage("u"), CALL, UserMessage("v"), ToolMessage("r", tool_call_id="c1"), SystemMessage("s")]
    expected = [mine[4], mine[0], mine[1], mine[3], mine[2]]
    assert same_objects(expected, select_messages(mine, SlidingWindow(9)).messages)


def test_a_repeated_system_message() -> None:
    """R2: of the same system message given again the first stays, of another text the newest; positions still count."""
    first, again, other = SystemMessage("s"), SystemMessage("s"), SystemMessage("t")
    mine = [first, UserMessage("u"), again, UserMessage("v")]
    assert same_objects([mine[0], mine[1], mine[3]], select_messages(mine, SlidingWindow(9)).messages)
    selection = select_messages([*mine, other], SlidingWindow(9))
    assert same_objects([other, mine[1], mine[3]], selection.messages)
    assert [(1, "replaced")] == [(gone.seq, gone.reason) for gone in selection.removed]


def test_a_window_is_taken() -> None:
    """A memory's window may be selected from; its messages come back, and the memory stays as it was."""
    memory = MessageWindowChatMemory(max_messages=9)
    memory.extend(TALK)
    window = memory.window()
    selection = select_messages(window, TokenBudget(43), counter=SizeCounter())
    assert [TALK[0], TALK[3], TALK[4], TALK[5]] == selection.messages
    assert all(isinstance(message, Message) for message in selection.messages)
    assert window.entries == memory.window().entries


def test_any_iterable_is_taken() -> None:
    """A generator is read once; nothing gives nothing."""
    selection = select_messages((UserMessage(str(number)) for number in range(5)), SlidingWindow(2))
    assert ["3", "4"] == [message.text for message in selection.messages]
    nothing: list[Message] = []
    empty = select_messages(nothing, TokenBudget(5), counter=SizeCounter())
    assert ([], (), 0, False) == (empty.messages, empty.removed, empty.tokens, empty.over_budget)


def test_a_token_limit_for_a_strategy_without_one() -> None:
    """`max_tokens` holds besides the strategy's own limit, with the reserve taken off."""
    selection = select_messages(TALK[:4], SlidingWindow(9), max_tokens=45, reserve_tokens=5, counter=SizeCounter())
    assert ([TALK[0], TALK[2], TALK[3]], Limit(40, 9)) == (selection.messages, selection.limit)


@pytest.mark.parametrize(
    ("strategy", "arguments", "field"),
    [
        (TokenBudget(50), {"max_tokens": 50}, "max_tokens"),
        (SlidingWindow(5, max_tokens=50), {"max_tokens": 40}, "max_tokens"),
        (SlidingWindow(5), {"max_tokens": 0}, "max_tokens"),
        (SlidingWindow(5), {"max_tokens": True}, "max_tokens"),
        (SlidingWindow(5), {"max_tokens": 10, "reserve_tokens": 10}, "reserve_tokens"),
        (SlidingWindow(5), {"reserve_tokens": 10}, "reserve_tokens"),
        (TokenBudget(50), {"reserve_tokens": -1}, "reserve_tokens"),
        (TokenBudget(50), {"overflow": "drop"}, "overflow"),
        (TokenBudget(50), {"guards": None}, "guards"),
        ("fixed", {}, "strategy"),
    ],
)
def test_a_wrong_argument(strategy: Any, arguments: dict[str, Any], field: str) -> None:
    """Two token limits, and every other wrong argument, are refused by name."""
    with pytest.raises(InvalidArgumentError) as caught:
        select_messages(TALK, strategy, counter=SizeCounter(), **arguments)
    assert field == caught.value.field


def test_a_counter_that_is_none() -> None:
    """What is no counter is refused by name, as a memory refuses it."""
    wrong: Any = len
    with pytest.raises(InvalidArgumentError) as caught:
        select_messages(TALK, TokenBudget(50), counter=wrong)
    assert "counter" == caught.value.field


def test_one_message_is_no_list() -> None:
    """A single message or dict, or a str, is refused."""
    single: list[Any] = [{"role": "user", "content": "u"}, UserMessage("u"), "text", None]
    for one in single:
        with pytest.raises(InvalidMessageError):
            select_messages(one, SlidingWindow(2))


def test_a_wrong_message() -> None:
    """A message that cannot be accepted is named by its index."""
    with pytest.raises(InvalidMessageError) as caught:
        select_messages([UserMessage("u"), {"role": "nobody", "content": "x"}], SlidingWindow(2))
    assert "messages[1].role" == caught.value.path


def test_overflow() -> None:
    """R6: each policy does with a message that does not fit what a memory does."""
    mine = [SystemMessage("s:10"), UserMessage("u:10"), UserMessage("v:100")]
    evicted = select_messages(mine, TokenBudget(40), counter=SizeCounter())
    assert same_objects(mine[:2], evicted.messages)
    assert [(3, "oversize")] == [(gone.seq, gone.reason) for gone in evicted.removed]
    kept = select_messages(mine, TokenBudget(40), counter=SizeCounter(), overflow="keep")
    assert same_objects([mine[0], mine[2]], kept.messages)
    assert (113, True) == (kept.tokens, kept.over_budget)
    with pytest.raises(WindowOverflowError) as caught:
        select_messages(mine, TokenBudget(40), counter=SizeCounter(), overflow="raise")
    assert (113, 40) == (caught.value.needed, caught.value.allowed)


def test_guards() -> None:
    """R5: guards hold here too, and are named where they refuse; without them the oldest leave."""
    mine = [UserMessage("u"), CALL, ToolMessage("r", tool_call_id="c1")]
    guarded = select_messages([*mine, AssistantMessage("a")], SlidingWindow(3))
    assert ["u", "a"] == [message.text for message in guarded.messages]
    assert [(1, ("current_request",))] == [(one.seq, one.guards) for one in guarded.refused]
    plain = select_messages([*mine, AssistantMessage("a")], SlidingWindow(3), guards=Guards.none())
    assert ["c:10", "r", "a"] == [message.text for message in plain.messages]


def test_each_message_is_counted_once() -> None:
    """R10: one pass, one question for each message."""
    counter = SizeCounter()
    select_messages(TALK, TokenBudget(40), counter=counter)
    assert len(TALK) == counter.questions


def test_inputs_are_not_changed() -> None:
    """R12: the list, its dicts and what is nested in them are afterwards what they were."""
    mine: list[Any] = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "new", "x": [1, {"y": 2}]}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]
    before = copy.deepcopy(mine)
    select_messages(mine, SlidingWindow(2))
    assert before == mine


@given(data=st.data(), settings=window_settings(), messages=conversations())
def test_it_is_what_a_memory_shows(data: st.DataObject, settings: WindowSettings, messages: list[Message]) -> None:
    """For any conversation under any settings, the selection is the window of a memory that added the same list."""
    memory = open_memory(None, settings)
    arguments: dict[str, Any] = {
        "counter": SizeCounter() if settings.counted else None,
        "guards": guards_of(settings),
        "overflow": settings.overflow,
        "reserve_tokens": settings.reserve_tokens,
    }
    strategy: Any = strategy_of(settings)
    if isinstance(strategy, SlidingWindow) and settings.max_tokens and data.draw(st.booleans()):
        strategy, arguments["max_tokens"] = evolve(strategy, max_tokens=None), settings.max_tokens
    try:
        change = memory.extend(messages)
    except WindowOverflowError as refused:
        with pytest.raises(WindowOverflowError, match=re.escape(str(refused))):
            select_messages(messages, strategy, **arguments)
        return
    selection = select_messages(messages, strategy, **arguments)
    window = memory.window()
    assert window.messages() == selection.messages
    assert {id(message) for message in selection.messages} <= {id(message) for message in messages}
    assert (window.tokens, window.limit, window.over_budget) == (
        selection.tokens,
        selection.limit,
        selection.over_budget,
    )
    assert [gone.reason for gone in change.removed] == [gone.reason for gone in selection.removed]
    assert [one.guards for one in change.refused] == [one.guards for one in selection.refused]


def test_nothing_is_loaded_for_messages_alone() -> None:
    """A message window is selected without a tokenizer and without a database library."""
    program = (
        "import sys; from chatmemory import SlidingWindow, select_messages\n"
        "select_messages([{'role': 'user', 'content': 'u'}] * 3, SlidingWindow(2))\n"
        "assert not {'tiktoken', 'sqlalchemy'} & set(sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (0, "") == (ran.returncode, ran.stderr)
