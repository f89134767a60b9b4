"""Eviction of the oldest: the mark (R7), the order (R4, R8), and what is refused on the way (R5)."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import floor
from typing import Literal

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from chatmemory.core.entries import EvictionUnit, Limit
from chatmemory.core.eviction import EvictTo, evict_oldest
from chatmemory.core.guards import Guards
from chatmemory.core.plan import Plan
from chatmemory.core.units import Size, Unit
from chatmemory.core.window import Window
from chatmemory.messages import UserMessage
from tests.conversations import marks
from tests.core.building import FIFO, shown, unlimited, window_of
from tests.core.test_window_properties import windows

NINETY_AND_ONE = " ".join(f"A{at}" for at in range(91))


def window_under(
    labels: str,
    *,
    tokens: int | None = None,
    messages: int | None = None,
    guards: Guards = FIFO,
    unit: EvictionUnit = "message",
    count_system: bool = True,
    overhead: int = 0,
) -> Window:
    """The window of these labels under one policy; without guards or overhead unless they are given."""
    policy = evolve(unlimited(), limit=Limit(tokens, messages), guards=guards, unit=unit)
    return window_of(labels, evolve(policy, count_system=count_system, overhead=overhead))


def after(window: Window, plan: Plan) -> str:
    """What is left once the plan is carried out."""
    return shown(window.without(plan.remove))


def refusals(plan: Plan) -> dict[int, tuple[str, ...]]:
    """Who was refused, and by what."""
    return {refusal.seq: refusal.guards for refusal in plan.refused}


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (window_under("U1 A1 U2", messages=3), "U1 A1 U2"),
        (window_under("U1 A1 U2", messages=2), "A1 U2"),
        (window_under("S U1 A1 U2", messages=2), "S U2"),
        (window_under("S U1 A1 U2", messages=2, count_system=False), "S A1 U2"),
        (window_under("U1:5 A1:5 U2:5", tokens=15), "U1 A1 U2"),
        (window_under("U1:5 A1:5 U2:5", tokens=14), "A1 U2"),
        (window_under("U1:5 A1:5 U2:5", tokens=17, overhead=3), "A1 U2"),
        (window_under("C(a) R1=a@1 U A", messages=3), "U A"),
        (window_under("C(a) U R1=a@1 A", messages=3), "U A"),
        (window_under("U:9 A1:1 A2:1", tokens=10, messages=1), "A2"),
        (window_under("U:9 A1:1 A2:1", tokens=1, messages=2), "A2"),
        (window_under("U:9 A1:1 A2:1", tokens=2, messages=3), "A1 A2"),
        (window_under("S:5", tokens=1), "S"),
    ],
)
def test_the_oldest_leave_until_it_fits(window: Window, expected: str) -> None:
    """Units leave from the oldest, whole, until every limit is kept, and never the system message."""
    assert expected == after(window, evict_oldest(window))


@pytest.mark.parametrize("labels", ["S:5", "S:5 U", "S:5 U A"])
def test_the_system_message_is_never_planned_to_leave(labels: str) -> None:
    """Under a limit that nothing fits everything leaves but the system message, which nobody refuses either (R2)."""
    plan = evict_oldest(window_under(labels, tokens=1))
    assert labels.split()[1:] == [name for unit in plan.remove for name in shown(unit.entries).split()]
    assert () == plan.refused


@pytest.mark.parametrize(
    ("window", "expected", "refused"),
    [
        (window_under("U1 A1 A2", messages=2, guards=Guards()), "U1 A2", {1: ("current_request",)}),
        (window_under("C(a) X1 X2", messages=2, guards=Guards()), "C X2", {1: ("pending_tool_call",)}),
        (
            window_under("U C1(a) R1=a@2 C2(b) X", messages=3, guards=Guards()),
            "U C2 X",
            {1: ("current_request",)},
        ),
        (
            window_under("U C(a,b) R1=a@2 X", messages=3, guards=Guards()),
            "U C R1",
            {1: ("current_request",), 2: ("pending_tool_call", "unseen_tool_result")},
        ),
        (window_under("A1 U A2", messages=2, guards=Guards()), "U A2", {}),
    ],
)
def test_guarded_units_are_passed_over_by_name(
    window: Window, expected: str, refused: dict[int, tuple[str, ...]]
) -> None:
    """Eviction goes around guarded units and names them, but only those that it came by."""
    plan = evict_oldest(window)
    assert expected == after(window, plan)
    assert refused == refusals(plan)


@pytest.mark.parametrize(
    ("labels", "limit", "guards", "expected", "refused"),
    [
        ("U1 A1 U2 A2", 3, FIFO, "U2 A2", {}),
        ("X A U1 A1", 3, FIFO, "U1 A1", {}),
        ("U1 A1 U2 A2 U3 A3", 3, FIFO, "U3 A3", {}),
        ("U1 A1 A2 A3", 3, FIFO, "U1 A2 A3", {}),
        ("U1 A1 A2 A3", 1, FIFO, "U1", {}),
        ("U1 A1", 0, FIFO, "", {}),
        ("A1 A2 A3", 2, FIFO, "A2 A3", {}),
        ("S U1 A1 U2 A2 A3", 3, FIFO, "S U2 A3", {}),
        ("U1 C(a) U2 A2 R=a@2", 4, Guards(), "U1 C R U2", {1: ("turn",), 2: ("unseen_tool_result",)}),
        ("U1 C(a) A1 U2 A2 R=a@2", 4, Guards(unseen_tool_result=False), "U2 A2", {}),
        ("U1 A1 A2", 2, Guards(), "U1 A2", {}),
    ],
)
def test_whole_turns_leave_first(
    labels: str, limit: int, guards: Guards, expected: str, refused: dict[int, tuple[str, ...]]
) -> None:
    """Earlier turns leave whole, or stay whole for a guarded unit; in the last its user message is the last to go."""
    window = window_under(labels, messages=limit, guards=guards, unit="turn")
    plan = evict_oldest(window)
    assert expected == after(window, plan)
    assert refused == refusals(plan)


def test_the_opening_request_stays_before_what_stays() -> None:
    """With whole turns the last user message is refused as ``turn`` while a unit behind it is held (R8)."""
    guards = Guards(current_request=False)
    window = window_under("U1 A1 C(a)", messages=1, guards=guards, unit="turn")
    plan = evict_oldest(window)
    assert "U1 C" == after(window, plan)
    assert {3: ("pending_tool_call",), 1: ("turn",)} == refusals(plan)


@pytest.mark.parametrize(
    ("evict_to", "main", "window", "expected"),
    [
        (None, "tokens", window_under(NINETY_AND_ONE, tokens=90), 90),
        (0.7, "tokens", window_under(NINETY_AND_ONE, tokens=90), 63),
        (0.29, "tokens", window_under(NINETY_AND_ONE, tokens=100), 29),
        (1.0, "tokens", window_under(NINETY_AND_ONE, tokens=90), 90),
        (1, "tokens", window_under(NINETY_AND_ONE, tokens=90), 1),
        (0.001, "tokens", window_under(NINETY_AND_ONE, tokens=90), 1),
        (25, "tokens", window_under(NINETY_AND_ONE, tokens=90), 25),
        (25, "tokens", window_under(NINETY_AND_ONE, tokens=90, overhead=3), 22),
        (90, "tokens", window_under(NINETY_AND_ONE, tokens=90), 90),
        (500, "tokens", window_under(NINETY_AND_ONE, tokens=90), 90),
        (500, "messages", window_under(NINETY_AND_ONE, messages=90), 90),
        (25, "messages", window_under(NINETY_AND_ONE, messages=90), 25),
        (25, "messages", window_under(NINETY_AND_ONE, messages=90, tokens=80), 25),
        (85, "messages", window_under(NINETY_AND_ONE, messages=90, tokens=80), 80),
        (25, "tokens", window_under(NINETY_AND_ONE, messages=20, tokens=80), 20),
        (0.5, "messages", window_under(NINETY_AND_ONE, messages=90, tokens=80), 40),
        (0.5, "tokens", window_under(f"S:60 {NINETY_AND_ONE}", tokens=100), 1 + 20),
        (0.001, "tokens", window_under(f"S:60 {NINETY_AND_ONE}", tokens=100), 1 + 1),
        (0.5, "tokens", window_under("S:40 A1:1 A2:0", tokens=40), 1 + 1),
        (0.5, "messages", window_under(f"S {NINETY_AND_ONE}", messages=11), 1 + 5),
        (0.5, "messages", window_under(f"S {NINETY_AND_ONE}", messages=11, count_system=False), 1 + 5),
        (5, "messages", window_under(f"S {NINETY_AND_ONE}", messages=11), 5),
        (5, "messages", window_under(f"S {NINETY_AND_ONE}", messages=11, count_system=False), 1 + 5),
    ],
)
def test_eviction_goes_down_to_the_mark(
    evict_to: EvictTo, main: Literal["tokens", "messages"], window: Window, expected: int
) -> None:
    """A share is one of the room beside the system message, rounded down, at least 1; an int is of the main limit."""
    assert expected == len(after(window, evict_oldest(window, evict_to, main=main)).split())


@pytest.mark.parametrize(("size", "expected"), [(50, "A4 U"), (51, "A2 A3 A4 U"), (61, "A3 A4 U")])
def test_where_what_must_stay_is_above_the_aim_the_limit_is_the_mark(size: int, expected: str) -> None:
    """The mark is an aim: guarded units alone above it leave no more to go than the limit asks for."""
    labels = f"A1:20 A2:20 A3:20 A4:0 U:{size}"
    window = window_under(labels, tokens=100, guards=Guards())
    assert expected == after(window, evict_oldest(window, 50))


def test_each_limit_has_its_own_mark() -> None:
    """Where what must stay is above the aim in one measure, the other is still gone down to."""
    window = window_under("A1 A2 A3 A4 A5 A6 U:60", tokens=65, messages=9, guards=Guards())
    assert "A5 A6 U" == after(window, evict_oldest(window, 0.4))


Measure = Literal["tokens", "messages"]
Eviction = tuple[Window, EvictTo, Measure]


def aim_of(window: Window, evict_to: EvictTo, main: str) -> Limit:
    """The mark in other words than the core's: per measure, the aim, or the limit where what must stay is above it."""
    must, system = window.staying(), window.system_size
    beside = {"tokens": system.tokens, "messages": window.count(system)}
    takes = {
        "tokens": must.tokens + (window.policy.overhead if must.messages else 0),
        "messages": window.count(must),
    }
    found = dict[str, int | None]()
    for measure, limit in (("tokens", window.limit.tokens), ("messages", window.limit.messages)):
        found[measure] = limit
        aim: int | None = None
        if limit is not None and isinstance(evict_to, float):
            share = floor(Fraction(repr(evict_to)) * (limit - beside[measure]))
            aim = min(limit, beside[measure] + max(1, share))
        elif limit is not None and isinstance(evict_to, int) and measure == main:
            aim = min(limit, evict_to)
        if aim is not None and takes[measure] <= aim:
            found[measure] = aim
    return Limit(found["tokens"], found["messages"])


def last_group(window: Window, plan: Plan) -> tuple[Unit, ...]:
    """What left last: the last unit, or with whole turns all of an earlier turn."""
    last = plan.remove[-1]
    start = window.index_of(last.place)
    if window.policy.unit == "message" or start >= window.last_turn:
        return (last,)
    first, end = window.turn_span(start)
    return tuple(unit for unit in plan.remove if first <= window.index_of(unit.place) < end)


def size_without(window: Window, units: tuple[Unit, ...]) -> Size:
    """What is left when `units` have left."""
    size = window.size
    for unit in units:
        size = size.minus(unit.size)
    return size


guard_choices = st.sampled_from([Guards(), FIFO, Guards(current_request=False), Guards(unseen_tool_result=False)])
limits = st.builds(Limit, st.none() | st.integers(1, 300), st.none() | st.integers(1, 15))
policies = st.builds(
    lambda limit, guards, unit, count_system: evolve(
        unlimited(), limit=limit, guards=guards, unit=unit, count_system=count_system
    ),
    limits,
    guard_choices,
    st.sampled_from(["message", "turn"]),
    st.booleans(),
)


@st.composite
def evictions(draw: st.DrawFn) -> Eviction:
    """A window under any policy that its system message fits, and how far eviction shall go down in a limit it has."""
    window = evolve(draw(windows()), policy=draw(policies), held=None)
    if not window.fits(window.system_size):
        window = window.without(list(window.units())).cut_at(0)
    main: Measure = "messages" if window.limit.tokens is None else "tokens"
    if window.limit.messages is not None and draw(st.booleans()):
        main = "messages"
    return window, draw(marks(60)) if window.limit != Limit() else None, main


@given(evictions())
def test_no_more_leaves_than_is_needed(case: Eviction) -> None:
    """The last unit (or turn) that left, put back, would be above the mark that eviction went to (R4)."""
    window, evict_to, main = case
    plan = evict_oldest(window, evict_to, main=main)
    if plan.remove:
        last = last_group(window, plan)
        before = size_without(window, tuple(unit for unit in plan.remove if unit not in last))
        assert not window.fits(before, aim_of(window, evict_to, main))


@given(evictions())
def test_it_comes_down_to_the_mark_or_to_what_must_stay(
    case: Eviction,
) -> None:
    """Afterwards the window is within the mark, wherever what must stay is within the limit (R1, R7)."""
    window, evict_to, main = case
    size = size_without(window, evict_oldest(window, evict_to, main=main).remove)
    if window.fits(window.staying()):
        assert window.fits(size, aim_of(window, evict_to, main))
    else:
        assert size_without(window, tuple(window.units())).messages <= size.messages


@given(evictions())
def test_the_oldest_leave_around_what_must_stay(case: Eviction) -> None:
    """No held unit leaves, and what is older than one that left is held, or its turn is, or it opens the last turn."""
    window, evict_to, main = case
    plan = evict_oldest(window, evict_to, main=main)
    gone = {unit.place for unit in plan.remove}
    assert gone.isdisjoint(window.held)
    for refusal in plan.refused:
        assert refusal.seq not in gone
        assert window.held.get(refusal.seq, ("turn",)) == refusal.guards
    older = [unit for unit in window.units() if gone and unit.place < max(gone) and unit.place not in gone]
    for unit in older:
        start, end = window.turn_span(window.index_of(unit.place))
        turn_is_held = any(start <= window.index_of(place) < end for place in window.held)
        opens = isinstance(unit.message, UserMessage) and unit.place == window.marks.user
        whole = window.policy.unit == "turn"
        assert unit.place in window.held or (whole and (turn_is_held or opens))


@given(evictions())
def test_once_a_turn_left_the_window_opens_with_a_request(
    case: Eviction,
) -> None:
    """With whole turns a window that held a user message opens with one, unless it opens as it did before (R8)."""
    window, evict_to, main = case
    plan = evict_oldest(window, evict_to, main=main)
    if window.policy.unit == "turn" and window.marks.user:
        for opening in islice(window.without(plan.remove).units(), 1):
            assert isinstance(opening.message, UserMessage) or opening == next(window.units())
