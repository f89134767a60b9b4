"""Conversations that stress the rules of a window, as Hypothesis strategies, and a counter with exact numbers.

A message's size is the number behind the colon in its text: ``"u17:12"`` costs 12 tokens. Ids of calls come from a
small pool, so that calls repeat, interleave, run in parallel, wait, and results come late, twice or for nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from attrs import define, field, frozen
from hypothesis import strategies as st

from chatmemory.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from tests.window_settings import ALL_GUARDS, WindowSettings

OVERHEAD: Final = 3
ID_POOL: Final = ("a", "b", "c", "A", "", None)


def size_of(message: Message) -> int:
    """The number behind the colon in the message's text."""
    return int(message.text.rpartition(":")[2])


@define
class SizeCounter:
    """Counts by `size_of`, and counts how often it was asked. While `locked`, a question is a failure of the test."""

    name: str = "size"
    overhead: int = OVERHEAD
    questions: int = field(default=0, init=False)
    locked: bool = field(default=False, init=False)

    def count(self, message: Message) -> int:
        """Return the message's size."""
        if self.locked:
            raise AssertionError("a stored count was not reused")
        self.questions += 1
        return size_of(message)


sizes: Final = st.one_of(st.integers(0, 12), st.integers(0, 60))
call_ids: Final = st.sampled_from(ID_POOL)


def _text(letter: str, size: int) -> str:
    return f"{letter}:{size}"


def user_messages() -> st.SearchStrategy[Message]:
    """User messages; equal ones are frequent."""
    return sizes.map(lambda size: UserMessage(_text("u", size)))


def system_messages() -> st.SearchStrategy[Message]:
    """System and developer messages, often with the text of another one."""
    roles = st.sampled_from(("system", "developer"))
    few = st.one_of(st.sampled_from((2, 5)), sizes)
    return st.builds(lambda size, role: SystemMessage(_text("s", size), role=role), few, roles)


def answers() -> st.SearchStrategy[Message]:
    """Assistant messages without calls."""
    return sizes.map(lambda size: AssistantMessage(_text("a", size)))


def calls() -> st.SearchStrategy[Message]:
    """Assistant messages with one to three calls, now and then with the same id twice, or without one."""
    tool_calls = st.lists(call_ids.map(lambda one: ToolCall(one, "look")), min_size=1, max_size=3)
    return st.builds(lambda size, made: AssistantMessage(_text("c", size), tool_calls=made), sizes, tool_calls)


def results(ids: st.SearchStrategy[str | None] = call_ids) -> st.SearchStrategy[Message]:
    """Tool results for any of `ids`, whether a call waits for it or not."""
    return st.builds(lambda size, one: ToolMessage(_text("r", size), tool_call_id=one), sizes, ids)


def messages() -> st.SearchStrategy[Message]:
    """Any message; calls and results are frequent, system messages rare."""
    return st.one_of(user_messages(), answers(), calls(), results(), results(), calls(), user_messages(), any_message)


any_message: Final = st.one_of(system_messages(), answers())


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """An assistant message with calls and its results in any order, perhaps not all, perhaps with others between."""
    call = draw(calls())
    waiting = draw(st.permutations(call.tool_calls))[: draw(st.integers(0, len(call.tool_calls)))]
    found: list[Message] = [call]
    for one in waiting:
        found += draw(st.lists(messages(), max_size=1)) if draw(st.booleans()) else []
        found.append(draw(results(st.just(one.id))))
    return found


@st.composite
def conversations(draw: st.DrawFn, max_parts: int = 8) -> list[Message]:
    """Requests, exchanges, answers and strays, one after another."""
    single = messages().map(lambda message: [message])
    parts = draw(st.lists(st.one_of(single, exchanges(), exchanges()), max_size=max_parts))
    return [message for part in parts for message in part]


def marks(main_limit: int) -> st.SearchStrategy[float | int | None]:
    """Every kind of `evict_to`: none, a share, a number below, at and above the limit."""
    shares = st.one_of(st.sampled_from((0.1, 0.5, 0.7, 1.0)), st.floats(0.01, 1.0))
    return st.one_of(st.none(), shares, st.integers(1, main_limit + 5))


@st.composite
def window_settings(draw: st.DrawFn, *, counted: bool | None = None) -> WindowSettings:
    """Every kind of window, with limits so small that most messages make something leave."""
    kinds = ("messages",) if counted is False else ("tokens", "messages")
    kind: Literal["tokens", "messages"] = draw(st.sampled_from(kinds))
    with_tokens = kind == "tokens" or (counted is not False and draw(st.booleans()))
    max_tokens = draw(st.integers(2, 90)) if with_tokens else None
    max_messages = draw(st.integers(1, 8)) if kind == "messages" else None
    main_limit = max_tokens if kind == "tokens" else max_messages
    return WindowSettings(
        kind,
        max_tokens=max_tokens,
        max_messages=max_messages,
        evict_to=draw(marks(main_limit or 1)),
        unit=draw(st.sampled_from(("message", "turn"))),
        count_system=draw(st.booleans()) if kind == "messages" else True,
        guards=draw(guard_sets()),
        overflow=draw(st.sampled_from(("evict", "evict", "raise", "keep"))),
        reserve_tokens=draw(st.integers(0, min(10, max_tokens - 1))) if max_tokens else 0,
        counted=with_tokens or (draw(st.booleans()) if counted is None else counted),
    )


def guard_sets() -> st.SearchStrategy[frozenset[str]]:
    """All guards, none, and anything between."""
    return st.one_of(st.just(ALL_GUARDS), st.frozensets(st.sampled_from(sorted(ALL_GUARDS))))


@frozen
class Operation:
    """One operation on a memory: the name of a method and what it is given."""

    name: Literal["extend", "set", "clear", "resize", "reopen"]
    messages: tuple[Message, ...] = ()
    keep: int = 0
    limits: dict[str, int] = field(factory=dict)
    settings: WindowSettings | None = None

    def replacement(self, window: Sequence[Message]) -> list[Message]:
        """For ``set``: the first `keep` messages of the window, then the given ones."""
        return [*window[: self.keep], *self.messages]


def new_limits(settings: WindowSettings) -> st.SearchStrategy[dict[str, int]]:
    """Arguments for ``resize`` that `settings` allow: any of the limits that they have, and the reserve."""
    choices: dict[str, st.SearchStrategy[int]] = {}
    if settings.max_tokens is not None:
        choices |= {"max_tokens": st.integers(11, 120), "reserve_tokens": st.integers(0, 1)}
    if settings.max_messages is not None:
        choices["max_messages"] = st.integers(1, 9)
    return st.fixed_dictionaries({}, optional=choices)


def operations(settings: WindowSettings) -> st.SearchStrategy[list[Operation]]:
    """A life of one conversation under `settings`, by single messages, bursts, and everything else."""
    tuples = conversations(max_parts=3).map(tuple)
    adds = st.builds(Operation, st.just("extend"), messages=st.one_of(messages().map(lambda one: (one,)), tuples))
    others: list[st.SearchStrategy[Any]] = [
        st.builds(Operation, st.just("set"), messages=tuples, keep=st.integers(0, 6)),
        st.just(Operation("clear")),
        st.builds(Operation, st.just("resize"), limits=new_limits(settings)),
        st.builds(Operation, st.just("reopen"), settings=st.one_of(st.none(), window_settings())),
    ]
    return st.lists(st.one_of(adds, adds, adds, adds, *others), max_size=25)
