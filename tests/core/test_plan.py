"""Plans: what a strategy may ask for (R2, R3, R5), and that the limit holds whatever it asks for (R1)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve

from chatmemory.core.entries import Limit
from chatmemory.core.plan import Limits, Plan, WindowStrategy, check
from chatmemory.core.units import Unit
from chatmemory.core.window import Window
from chatmemory.errors import IllegalPlanError
from chatmemory.strategies import SlidingWindow, TokenBudget
from tests.core.building import FIFO, Facts, Life, entry, left, refused, unlimited, window_of
from tests.core.strategies import Planning, asking_for, is_chatter, never_engaged, removing

LABELS = "S U1 C(a) R=a@3 A1 U2"


def _whole(seq: int) -> Callable[[Window], Unit]:
    return lambda window: window.unit_at(seq)


def _slice(start: int, end: int) -> Callable[[Window], Unit]:
    return lambda window: Unit(window[start:end])


def _unknown(_: Window) -> Unit:
    return Unit((entry(99, "A"),))


def _other_text(_: Window) -> Unit:
    return Unit((entry(5, "A9"),))


def _without_entries(_: Window) -> Unit:
    return Unit(())


def refused_by_rule(rule: str, *units: Callable[[Window], Unit]) -> str:
    """Check a plan for these units of a window, and return the error's text."""
    window = window_of(LABELS)
    with pytest.raises(IllegalPlanError) as caught:
        check(window, Plan(tuple(unit(window) for unit in units)))
    assert rule == caught.value.rule
    return str(caught.value)


def test_the_system_message_in_a_plan_is_illegal() -> None:
    """The system message never leaves for the budget: R2."""
    assert "system message" in refused_by_rule("R2", _slice(0, 1))


def test_a_guarded_unit_in_a_plan_is_illegal() -> None:
    """What a guard holds is no strategy's to remove: R5, with the guard's name."""
    assert "entry 6 is held by current_request" in refused_by_rule("R5", _whole(6))


@pytest.mark.parametrize(
    "units",
    [
        pytest.param((_unknown,), id="not in the window"),
        pytest.param((_other_text,), id="another entry of that seq"),
        pytest.param((_slice(2, 3),), id="a call without its result"),
        pytest.param((_slice(3, 4),), id="a result without its call"),
        pytest.param((_slice(2, 5),), id="more than a unit"),
        pytest.param((_slice(1, 3),), id="two messages"),
        pytest.param((_whole(5), _whole(5)), id="the same unit twice"),
        pytest.param((_whole(2), _whole(5), _whole(2)), id="the same unit again"),
        pytest.param((_whole(2), _unknown), id="a good one and an unknown one"),
    ],
)
def test_what_is_no_unit_of_the_window_is_illegal(units: tuple[Callable[[Window], Unit], ...]) -> None:
    """A plan names whole units of the window, each once: R3."""
    assert "window.units()" in refused_by_rule("R3", *units)


def test_a_unit_without_entries_is_illegal() -> None:
    """A unit that holds nothing is no unit of the window either: R3."""
    refused_by_rule("R3", _without_entries)


def test_a_plan_of_units_that_may_leave_is_legal() -> None:
    """Any units that nothing holds may be asked for, in any order, oldest or not."""
    window = window_of(LABELS)
    check(window, Plan((window.unit_at(5), window.unit_at(3))))
    check(window, Plan())


@pytest.mark.parametrize(
    ("planned", "rule"),
    [
        pytest.param(lambda window: Plan((Unit(window[:1]),)), "R2", id="system"),
        pytest.param(removing(2), "R5", id="guarded"),
        pytest.param(lambda _: Plan((Unit((entry(99, "A"),)),)), "R3", id="unknown"),
        pytest.param(lambda window: Plan((Unit(window[2:3]),)), "R3", id="half"),
        pytest.param(removing(3, 3), "R3", id="twice"),
    ],
)
def test_an_illegal_plan_changes_nothing(planned: Callable[[Window], Plan | None], rule: str) -> None:
    """The add raises; window, seqs and version are as before, and the next add goes on from there."""
    strategy = Planning(lambda window: planned(window) if len(window) == 5 else None)
    life = Life.under(strategy)
    life.add_each("S U C(a) R=a")
    before, entries = Facts.of(life.window), life.window.entries
    with pytest.raises(IllegalPlanError) as caught:
        life.add("A")
    assert rule == caught.value.rule
    assert (entries, before, 4, 5) == (
        life.window.entries,
        Facts.of(life.window),
        life.window.version,
        life.window.next_seq,
    )


def test_a_plan_is_illegal_in_the_middle_of_several() -> None:
    """Of an extend whose last message makes the strategy plan something illegal, nothing stays (R11)."""
    life = Life.under(Planning(removing(3)))
    with pytest.raises(IllegalPlanError):
        life.add("U1 A1 U2")
    assert (0, 0) == (len(life.window), life.window.version)


@pytest.mark.parametrize(
    ("limits", "labels", "expected"),
    [
        (Limits(max_messages=2), "U1 A1 U2 A2", "U2 A2"),
        (Limits(max_tokens=13), "U1:5 A1:5 U2:5", "A1 U2"),
        (Limits(max_messages=2, count_system=False), "S U1 A1 U2", "S A1 U2"),
        (Limits(max_messages=3, unit="turn"), "U1 A1 U2 A2", "U2 A2"),
    ],
)
def test_the_planner_enforces_the_limit_for_a_strategy_that_says_nothing(
    limits: Limits, labels: str, expected: str
) -> None:
    """Where a strategy returns None over the limit, the oldest leave all the same (R1)."""
    life = Life.under(Planning(never_engaged, limits))
    life.add_each(labels)
    assert expected == life.shown


def test_the_planner_enforces_the_limit_after_a_plan_that_is_too_small() -> None:
    """What the strategy asks for leaves, and then the oldest, as far as is needed."""
    life = Life.under(Planning(removing(3), Limits(max_messages=3)), guards=FIFO)
    life.add_each("U1 A1")
    assert {1: "budget", 3: "budget"} == left(life.add("A2 A3 A4"))
    assert "A1 A3 A4" == life.shown


def test_a_strategy_may_ask_for_more_than_the_limit_asks_for() -> None:
    """Units leave below the limit too, where the strategy asks and no guard holds them."""
    life = Life.under(Planning(asking_for(lambda unit: is_chatter(unit) and unit.message.text != "A2:1")))
    life.add_each("U1 A1 C(a) R=a A2")
    assert "U1 C R A2" == life.shown


def test_a_strategy_that_asks_first_is_told_and_the_change_says_so() -> None:
    """Refusals that the strategy was given stand in the change, by the guards' names."""
    life = Life.under(Planning(asking_for(lambda _: True)))
    life.add("U")
    change = life.add("C(a,b) R=a")
    assert {1: ("current_request",), 2: ("pending_tool_call", "unseen_tool_result")} == refused(change)
    assert "U C R" == life.shown


def test_a_strategy_sees_the_message_that_is_being_added() -> None:
    """The window that is planned on holds the new message, behind its call where it is a result."""
    seen = list[str]()
    life = Life.under(Planning(lambda window: seen.append(" ".join(m.text for m in window.messages()))))
    life.add_each("U C(a) A R=a")
    assert "U:1 C:1 R:1 A:1" == seen[-1]


def test_a_strategy_knows_whether_the_limit_was_passed_in_this_step() -> None:
    """`evicting` is set while the message takes the window above its limit, and not in the next step."""
    seen = list[bool]()
    life = Life.under(Planning(lambda window: seen.append(window.evicting), Limits(max_messages=2)), guards=FIFO)
    life.add_each("U1 A1 U2 S U3")
    assert [False, False, True, True, True] == seen
    life.resize(max_tokens=None)
    assert not life.window.evicting


def test_both_kinds_of_strategy_keep_the_protocol() -> None:
    """Built-in strategies and a plain class with the right attributes are strategies."""
    assert isinstance(TokenBudget(10), WindowStrategy)
    assert isinstance(SlidingWindow(10), WindowStrategy)
    assert isinstance(Planning(never_engaged), WindowStrategy)
    assert not isinstance(object(), WindowStrategy)


def test_the_arriving_unit_is_held_by_nobody_in_a_plan() -> None:
    """Without guards a strategy may ask even for what is just arriving; it leaves with the reason ``budget``."""
    policy = evolve(unlimited(), guards=FIFO, limit=Limit(messages=9))
    window = window_of("U", policy).joined(entry(2, "A"))
    check(window, Plan((window.unit_at(2),)))
    life = Life.under(Planning(asking_for(is_chatter)), guards=FIFO)
    life.add("U")
    assert {2: "budget"} == left(life.add("A"))
    assert "U" == life.shown
