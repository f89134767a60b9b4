"""The window: its order (R3), what it takes (R1), what must stay in it (R5, R8), and what may leave."""

from __future__ import annotations

from typing import Literal

import pytest
from attrs import evolve

from chatmemory.core.entries import Limit, Refusal
from chatmemory.core.guards import Guards
from chatmemory.core.units import Size, Unit
from chatmemory.core.window import Window
from tests.core.building import FIFO, Facts, entry, messages, rebuilt, shown, shown_units, unlimited, window_of


def joined(labels: str) -> Window:
    """The window into which these came one by one, each result at the call that it names."""
    window = Window.empty(unlimited())
    for seq, label in enumerate(labels.split(), start=1):
        window = window.joined(entry(seq, label))
    return window


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("U A", "U A"),
        ("U S A", "S U A"),
        ("S1 U S2", "S2 U"),
        ("U1 C(a) U2 A R=a@2", "U1 C R U2 A"),
        ("C(a,b) U R2=b@1 R1=a@1", "C R2 R1 U"),
        ("C1(a) C2(a) R1=a@2 R2=a@1", "C1 R2 C2 R1"),
        ("X U X1", "X U X1"),
    ],
)
def test_each_message_has_its_place(labels: str, expected: str) -> None:
    """System first, results directly behind their call in the order of arrival, all others last."""
    window = joined(labels)
    assert expected == shown(window)
    assert Facts.of(rebuilt(window)) == Facts.of(window)
    assert window.entries == rebuilt(window).entries


def test_the_order_of_a_store_does_not_matter() -> None:
    """A loaded window is ordered by the first seq of the unit, whatever the order in which rows came."""
    assert "S U1 C R1 R2 U2" == shown(rebuilt(window_of("U1 C(a,b) U2 S R1=a@2 R2=b@2")))


@pytest.mark.parametrize(
    ("labels", "tokens", "expected"),
    [("", 0, 0), ("U:10", 10, 13), ("S:1 U:10 A:7", 18, 21)],
)
def test_tokens_are_the_sum_and_the_overhead_of_a_request(labels: str, tokens: int, expected: int) -> None:
    """Tokens are the sum plus the overhead; an empty window has none."""
    window = window_of(labels)
    assert (tokens, expected) == (window.size.tokens, window.tokens)


def test_where_nothing_is_counted_there_are_no_tokens() -> None:
    """Without a counter `tokens` is None, also of an empty window."""
    policy = evolve(unlimited(), counted=False)
    assert window_of("U:10", policy).tokens is None
    assert Window.empty(policy).tokens is None


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (Limit(), False),
        (Limit(tokens=33), False),
        (Limit(tokens=32), True),
        (Limit(messages=3), False),
        (Limit(messages=2), True),
        (Limit(33, 3), False),
        (Limit(32, 3), True),
        (Limit(33, 2), True),
    ],
)
def test_a_window_fits_up_to_each_limit(limit: Limit, expected: bool) -> None:  # noqa: FBT001 - a table's column
    """Exactly at a limit it fits; one more, in either measure, is over budget."""
    assert expected == window_of("S:10 U:10 A:10", evolve(unlimited(), limit=limit)).over_budget


@pytest.mark.parametrize(
    ("labels", "count_system", "expected"), [("S U A", True, 3), ("S U A", False, 2), ("U A", False, 2)]
)
def test_the_system_message_counts_unless_left_out(labels: str, count_system: bool, expected: int) -> None:  # noqa: FBT001
    """``count_system=False`` leaves the system message out of the messages, where there is one."""
    window = window_of(labels, evolve(unlimited(), count_system=count_system))
    assert expected == window.count(window.size)


def test_nothing_costs_nothing() -> None:
    """An empty window fits a limit that the overhead alone is above."""
    policy = evolve(unlimited(), limit=Limit(tokens=2))
    assert not Window.empty(policy).over_budget
    assert window_of("U:0", policy).over_budget


def test_a_window_is_a_sequence_of_entries() -> None:
    """It has a length, indexes, slices and iteration, and gives its messages in a new list each time."""
    window = window_of("S U A")
    assert (3, 2) == (len(window), window[1].seq)
    assert [1, 2] == [one.seq for one in window[:2]]
    assert messages("S U A") == window.messages()
    assert window.messages() is not window.messages()


def test_its_repr_quotes_no_conversation() -> None:
    """A repr gives counts only."""
    assert "<Window of 2 entries, 13 tokens, version 1>" == repr(window_of("U1:5 A1:5"))


def test_the_system_message_is_found_first_or_not_at_all() -> None:
    """`system` and its entry are None without one; `head` is how many entries belong to no unit."""
    with_one, without = window_of("U S:7"), window_of("U")
    assert (messages("S:7")[0], 2, 1) == (with_one.system, with_one[0].seq, with_one.head)
    assert (None, None, 0) == (without.system, without.system_entry, without.head)
    assert (Size(7, 1), Size(0, 0)) == (with_one.system_size, without.system_size)


@pytest.mark.parametrize(
    ("labels", "place", "expected"), [("S U C(a) R=a@3 A", 3, 2), ("S U C(a) R=a@3 A", 5, 4), ("U", 1, 0)]
)
def test_a_unit_is_found_by_its_place(labels: str, place: int, expected: int) -> None:
    """The index of a unit is found by the seq of its first entry."""
    assert expected == window_of(labels).index_of(place)


@pytest.mark.parametrize(("labels", "place"), [("S U C(a) R=a@3", 4), ("S U", 1), ("S U", 3), ("", 1), ("U", 0)])
def test_what_begins_no_unit_is_not_found(labels: str, place: int) -> None:
    """A result, the system message and an unknown seq begin no unit."""
    with pytest.raises(LookupError):
        window_of(labels).index_of(place)


@pytest.mark.parametrize(
    ("labels", "index", "expected"),
    [
        ("S X A U1 A1 U2 A2", 1, "X A"),
        ("S X A U1 A1 U2 A2", 2, "X A"),
        ("S X A U1 A1 U2 A2", 4, "U1 A1"),
        ("S X A U1 A1 U2 A2", 5, "U2 A2"),
        ("U1 C(a) U2 R=a@2", 1, "U1 C R"),
    ],
)
def test_a_turn_goes_from_a_user_message_to_the_next(labels: str, index: int, expected: str) -> None:
    """A turn is a user message and what follows it; what stands before the first one is a turn too."""
    window = window_of(labels)
    start, end = window.turn_span(index)
    assert expected == shown(window[start:end])


@pytest.mark.parametrize(
    ("unit", "labels", "expected"),
    [
        ("message", "S:1 U1:2 A1:4 U2:8 A2:16", Size(9, 2)),
        ("message", "S:1 U1:2 C(a):4 R=a@3:8", Size(15, 4)),
        ("message", "U1:1 C(a):2 U2:4 A2:8 R=a@2:16", Size(22, 3)),
        ("turn", "U1:1 C(a):2 U2:4 A2:8 R=a@2:16", Size(23, 4)),
        ("turn", "A1:1 C(a):2 U2:4 R=a@2:8", Size(15, 4)),
        ("turn", "A1:1 C(a):2 R=a@2:4", Size(6, 2)),
    ],
)
def test_what_must_stay(unit: Literal["message", "turn"], labels: str, expected: Size) -> None:
    """The system message and guarded units stay; with whole turns, an earlier turn of a guarded unit as a whole."""
    assert expected == window_of(labels, evolve(unlimited(), unit=unit)).staying()


def test_without_guards_the_opening_request_still_stays_for_what_follows() -> None:
    """With whole turns a unit of the last turn keeps the turn's user message, though no guard holds that (R8)."""
    policy = evolve(unlimited(), unit="turn", guards=Guards(current_request=False))
    assert Size(3, 2) == window_of("U:1 C(a):2 X:4", policy).staying()


def test_the_arriving_unit_must_stay() -> None:
    """The message being added is among what must stay, with its whole unit, and with no guard's name."""
    window = Window.empty(evolve(unlimited(), guards=FIFO))
    for seq, label in enumerate(("A1:1", "C(a):2", "R=a@2:4"), start=1):
        window = window.joined(entry(seq, label))
    assert (Size(6, 2), {2: ()}) == (window.staying(), window.held)
    assert (Size(0, 0), {}) == (window.settled(2, window.extent).staying(), window.settled(2, window.extent).held)


def test_a_strategy_is_told_by_name_what_may_not_leave() -> None:
    """`plan_removal` refuses the system message and guarded units by name, and allows the others."""
    window = window_of("S U1 A1 U2 C(a,b) R=a@5")
    wanted = [*window.units()]
    allowed, refused = window.plan_removal(wanted)
    assert "U1 | A1" == shown_units(allowed)
    expected = (Refusal(4, ("current_request",)), Refusal(5, ("pending_tool_call", "unseen_tool_result")))
    assert expected == refused


def test_the_system_message_is_refused_by_its_own_name() -> None:
    """A strategy that makes a unit of the system message is told ``system``, with all guards off too (R2)."""
    window = window_of("S U", evolve(unlimited(), guards=FIFO))
    assert ((), (Refusal(1, ("system",)),)) == window.plan_removal([Unit(window[:1])])


def test_what_leaves_takes_its_share_of_everything() -> None:
    """Without some units a window is the window of the others."""
    window = window_of("S U1 C(a,b) R=a@3 A1 U2 C2(a) R2=a@7")
    units = list(window.units())
    smaller = window.without([units[1], units[4]])
    assert "S U1 A1 U2" == shown(smaller)
    assert Facts.of(rebuilt(smaller)) == Facts.of(smaller)
    assert window is window.without([])


def test_when_the_request_leaves_the_one_before_takes_its_place() -> None:
    """Landmarks are those of what is left: guards look at the window."""
    window = window_of("U1 C(a) R=a@2 U2")
    smaller = window.without([window.unit_at(4)]).settled(2, window.extent)
    assert {1: ("current_request",), 2: ("unseen_tool_result",)} == smaller.held


def test_a_window_cut_inside_a_unit_waits_again() -> None:
    """A call that lost results by a cut waits for them again."""
    smaller = window_of("U C(a,b) R1=a@2 R2=b@2 A").cut_at(3)
    assert "U C R1" == shown(smaller)
    assert {"b": (2,)} == smaller.calls.waiting


def test_a_message_that_passes_by_takes_its_seq() -> None:
    """What does not come in leaves the window as it is, but for the next seq."""
    window = window_of("U A")
    assert (4, window.entries) == (window.passing(3).next_seq, window.passing(3).entries)


def test_the_ceiling_is_what_a_message_may_cost_at_all() -> None:
    """The ceiling is the limit less the overhead; there is none without a limit, or where nothing is refused."""
    policy = evolve(unlimited(), limit=Limit(tokens=40))
    assert 37 == policy.ceiling
    assert evolve(policy, overflow="keep").ceiling is None
    assert unlimited().ceiling is None
