"""Flows beside other writers and a store that goes away in mid-commit: nothing is lost or doubled (R11)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chatmemory.core import flow
from chatmemory.core.session import Flow
from chatmemory.errors import ConflictError, StoreError
from tests.core.building import left, messages, shown
from tests.core.driving import Lost, Writer, away, budget, last, writer


def names(one: Writer) -> list[str]:
    """What the history holds, in order."""
    return shown(one.history).split()


def two(max_messages: int = 9) -> tuple[Writer, Writer]:
    """Two writers of one conversation that both have seen its first message."""
    one = writer(last(max_messages))
    one.add("S")
    other = writer(last(max_messages), on=one)
    other.current()
    one.asked.clear()
    other.asked.clear()
    return one, other


def test_after_a_conflict_the_change_is_planned_anew() -> None:
    """The writer that came second waits, loads what the first added, and adds behind it."""
    one, other = two()
    one.add("U1")
    change = other.add("U2")
    assert ["Commit", "Pause", "Load", "Commit"] == other.asked
    assert (3, 3, "S U1 U2") == (change.version, change.seq, other.shown)
    assert (["S", "U1", "U2"], "S U1 U2") == (names(other), other.stored)


def test_a_change_is_planned_anew_as_often_as_others_commit_first() -> None:
    """Three conflicts in a row are three pauses and loads, and the message is there once."""
    one, other = two()
    other.trouble("Commit", *[lambda at=at: one.add(f"U{at}") for at in range(3)])
    other.add("A")
    assert ["Commit", "Pause", "Load"] * 3 + ["Commit"] == other.asked
    assert ["S", "U0", "U1", "U2", "A"] == names(other)


def test_nothing_is_counted_twice_for_a_conflict() -> None:
    """Messages keep the count that they got before the first try (R10)."""
    one = writer(budget(99))
    one.add("S:1")
    other = writer(budget(99), on=one)
    other.current()
    one.add("U1:1")
    other.add("U2:1 A2:1")
    assert (2, "S U1 U2 A2") == (other.counter.questions, other.stored)


def test_a_result_is_linked_anew_after_a_conflict() -> None:
    """What the other writer added decides: its call takes the result, its result makes this one a duplicate."""
    one, other = two()
    one.add("U C(a)")
    other.add("R1=a")
    assert {5: "duplicate"} == left(one.add("R2=a"))
    assert "S U C R1" == one.stored


def test_a_conflict_without_end_is_an_error_that_changes_nothing() -> None:
    """Where there is no time left, the conflict comes out, and nothing of the message is stored."""
    _, other = two()
    other.patience = 3
    other.trouble("Commit", *[ConflictError("others are faster; try again") for _ in range(4)])
    with pytest.raises(ConflictError):
        other.add("U2")
    assert ["S"] == names(other)
    other.add("U2")
    assert ["S", "U2"] == names(other)


def test_a_conversation_that_was_made_anew_is_another() -> None:
    """A writer that still has the old conversation, at the same version, is refused and loads the new one."""
    one, other = two()
    one.run(flow.delete(one.session))
    one.add("S9")
    other.add("U2")
    assert ["Commit", "Pause", "Load", "Commit"] == other.asked
    assert "S9 U2" == other.stored


def test_two_writers_may_make_a_conversation_at_once() -> None:
    """Both saw that there is none; the second finds the first one's and adds to it."""
    one = writer(last(9))
    other = writer(last(9), on=one)
    one.current()
    other.current()
    one.add("U1")
    other.add("U2")
    assert "U1 U2" == other.stored


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda one: flow.clear(one.session, one.moment()), ""),
        (lambda one: flow.replace(one.session, tuple(messages("S A9")), one.moment()), "S A9"),
    ],
)
def test_every_operation_is_planned_anew(operation: Callable[[Writer], Flow[object]], expected: str) -> None:
    """Set and clear see what another writer added before them."""
    one, other = two()
    one.add("U1")
    other.run(operation(other))
    assert (expected, expected) == (other.shown, other.stored)


def test_a_resize_is_planned_anew() -> None:
    """A resize that evicts sees what another writer added before it."""
    one, other = two()
    other.add("A")
    one.add("U1")
    smaller = other.settings.resized(max_tokens=None, max_messages=1, reserve_tokens=None)
    change = other.run(flow.resize(other.session, smaller, other.moment()))
    assert ({2: "budget", 3: "oversize"}, "S", "S") == (left(change), other.shown, other.stored)


def test_a_window_that_is_too_long_again_is_cut_again() -> None:
    """Where another writer with a larger limit commits between opening and add, the window is cut anew."""
    one = writer(last(9))
    one.add("U1 A1 U2 A2")
    other = writer(last(2), on=one)
    other.trouble("Commit", None, lambda: one.add("U3"))
    other.add("A3")
    assert ("U3 A3", "U3 A3") == (other.shown, other.stored)


def test_a_commit_whose_answer_is_lost_is_asked_for_again() -> None:
    """The same commit with the same key goes to the store again, which took it already: it is there once."""
    one = writer(last(9))
    one.add("U")
    one.trouble("Commit", Lost(away(unknown=True)))
    change = one.add("A")
    assert ["Commit", "Pause", "Commit"] == one.asked[-3:]
    assert one.commits[-2] == one.commits[-1]
    assert (2, ["U", "A"], "U A") == (change.version, names(one), one.shown)
    one.asked.clear()
    one.add("U2")
    assert ["Commit"] == one.asked


def test_a_commit_that_never_arrived_is_asked_for_again() -> None:
    """The store takes the repeated commit as the first one."""
    one = writer(last(9))
    one.add("U")
    one.trouble("Commit", away(unknown=True), away())
    one.add("A")
    assert ["Commit", "Pause", "Commit", "Pause", "Commit"] == one.asked[-5:]
    assert ["U", "A"] == names(one)


def test_a_commit_that_never_arrived_may_meet_another_writers() -> None:
    """The repeated commit conflicts, which tells that it was never stored: it is planned anew, and is there once."""
    one, other = two()
    other.trouble("Commit", away(unknown=True), lambda: one.add("U1"))
    other.add("U2")
    assert ["Commit", "Pause", "Commit", "Pause", "Load", "Commit"] == other.asked
    assert ["S", "U1", "U2"] == names(other)


def test_a_commit_that_arrived_before_another_writers_is_found() -> None:
    """The answer was lost, another writer went on, and the store still knows the key."""
    one, other = two()
    other.trouble("Commit", Lost(away(unknown=True)), lambda: one.add("U1"))
    other.add("U2")
    assert ["S", "U2", "U1"] == names(other)
    other.add("A2")
    assert ["S", "U2", "U1", "A2"] == names(other)
    assert "S U2 U1 A2" == other.shown


def stays_away(arrived: bool) -> Writer:  # noqa: FBT001 - a table's column
    """A writer whose store went away in mid-commit and stayed away."""
    one = writer(budget(99))
    one.add("S:1 U:1")
    one.patience = 2
    first: Lost | StoreError = Lost(away(unknown=True)) if arrived else away(unknown=True)
    one.trouble("Commit", first, away(), away())
    with pytest.raises(StoreError) as caught:
        one.add("A:1 U2:1")
    assert caught.value.outcome_unknown
    return one


both = pytest.mark.parametrize("arrived", [True, False])


@both
def test_the_same_add_later_is_not_doubled(arrived: bool) -> None:  # noqa: FBT001 - a table's column
    """An add that is repeated after an unknown outcome is the same commit again, taken once."""
    one = stays_away(arrived)
    change = one.add("A:1 U2:1")
    assert (2, 4) == (change.version, change.seq)
    assert one.commits[-1].change.commit_id == one.commits[-2].change.commit_id
    assert (["S", "U", "A", "U2"], "S U A U2") == (names(one), one.stored)
    assert "S U A U2" == shown(one.current())
    one.add("A3:1")
    assert ["S", "U", "A", "U2", "A3"] == names(one)


@both
def test_the_same_add_may_be_repeated_while_the_store_is_away(arrived: bool) -> None:  # noqa: FBT001 - a column
    """However often it is tried before the store comes back, it is not doubled."""
    one = stays_away(arrived)
    one.patience = 0
    for _ in range(2):
        one.trouble("Commit", away())
        with pytest.raises(StoreError) as caught:
            one.add("A:1 U2:1")
        assert caught.value.outcome_unknown
    one.add("A:1 U2:1")
    assert ["S", "U", "A", "U2"] == names(one)


@both
def test_the_same_add_may_be_repeated_when_others_went_on(arrived: bool) -> None:  # noqa: FBT001 - a column
    """Another writer's messages in between make no difference to it."""
    one = stays_away(arrived)
    writer(budget(99), on=one).add("X:1")
    one.add("A:1 U2:1")
    assert sorted(["S", "U", "A", "U2", "X"]) == sorted(names(one))
    assert sorted(["S", "U", "A", "U2", "X"]) == sorted(shown(one.current()).split())


@both
def test_another_add_instead_sees_what_is_stored(arrived: bool) -> None:  # noqa: FBT001 - a column
    """The window is loaded again, so that the next message stands behind whatever is there."""
    one = stays_away(arrived)
    one.asked.clear()
    one.add("A9:1")
    assert ["Load", "Count", "Commit"] == one.asked
    assert ["S", "U", *(["A", "U2"] if arrived else []), "A9"] == names(one)
    assert one.stored == one.shown


@both
def test_looking_after_an_unknown_outcome_shows_what_is_stored(arrived: bool) -> None:  # noqa: FBT001 - a column
    """Reading loads and does not forget: the same add after it is still not doubled."""
    one = stays_away(arrived)
    assert ("S U A U2" if arrived else "S U") == shown(one.current())
    one.add("A:1 U2:1")
    assert ["S", "U", "A", "U2"] == names(one)


def test_a_cut_at_opening_does_not_forget_what_is_in_doubt() -> None:
    """Where looking has to cut first, in a commit of its own, the same add after it is still not doubled."""
    one = writer(last(3))
    one.add("S U")
    one.patience = 0
    one.trouble("Commit", Lost(away(unknown=True)))
    with pytest.raises(StoreError):
        one.add("A")
    writer(last(9), on=one).add("X1 X2")
    assert "S U X2" == shown(one.current())
    one.add("A")
    assert ["S", "U", "A", "X1", "X2"] == names(one)


@both
def test_a_repeated_extend_is_known_by_what_was_given(arrived: bool) -> None:  # noqa: FBT001 - a column
    """A system message in it that was there already does not hide that it is the same extend."""
    one = writer(last(9))
    one.add("S U")
    one.patience = 0
    one.trouble("Commit", Lost(away(unknown=True)) if arrived else away(unknown=True))
    with pytest.raises(StoreError):
        one.add("S A")
    one.add("S A")
    assert ["S", "U", "A"] == names(one)


@both
def test_after_a_clear_the_same_message_is_a_new_one(arrived: bool) -> None:  # noqa: FBT001 - a column
    """What was in doubt is over once another change is made: the same text after it is added again."""
    one = stays_away(arrived)
    one.run(flow.clear(one.session, one.moment()))
    one.add("A:1 U2:1")
    assert "A U2" == one.stored


@both
def test_after_a_delete_the_same_message_is_a_new_one(arrived: bool) -> None:  # noqa: FBT001 - a column
    """A deleted conversation takes the message as its first."""
    one = stays_away(arrived)
    one.run(flow.delete(one.session))
    one.add("A:1 U2:1")
    assert (["A", "U2"], "A U2") == (names(one), one.stored)


def test_a_driver_that_breaks_off_lets_the_next_operation_load() -> None:
    """After `forget` the session has no window, and the next operation asks the store."""
    one, _ = two()
    one.session.forget()
    one.add("U")
    assert ["Load", "Commit"] == one.asked
