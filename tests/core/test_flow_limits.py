"""Flows and limits: opening a conversation under another limit, and resizing (R6)."""

from __future__ import annotations

import pytest

from chatmemory.core import flow
from chatmemory.core.entries import Limit
from chatmemory.errors import StoreError, WindowOverflowError
from tests.core.building import left, shown
from tests.core.driving import away, budget, last, resized, writer


def test_a_stored_window_above_the_limit_is_cut_in_a_change_of_its_own() -> None:
    """The first operation cuts and commits before it does its own work (R6)."""
    writer(last(9)).add("U1")
    first = writer(last(9))
    first.add("U1 A1 U2 A2")
    other = writer(last(2), on=first)
    change = other.add("U3")
    assert ["Measure", "Load", "Commit", "Commit"] == other.asked
    opened, added = (commit.change for commit in other.commits)
    assert ({1: "budget", 2: "budget"}, 2, ()) == (left(opened), opened.version, opened.written)
    assert ({3: "budget"}, 3, change) == (left(added), added.version, added)
    assert opened.commit_id != added.commit_id
    assert ("A2 U3", "A2 U3") == (other.shown, other.stored)


def test_looking_at_a_window_above_the_limit_cuts_it() -> None:
    """The cut is the first operation's, also where that only looks."""
    first = writer(last(9))
    first.add("U1 A1 U2 A2")
    other = writer(last(3), on=first)
    assert ("U2 A2", 2) == (shown(other.current())[3:], other.current().version)
    assert "A1 U2 A2" == other.stored


def test_opening_cuts_what_is_held_under_raise_too() -> None:
    """A smaller limit at opening cuts as ``evict`` does, held units as oversize (R6)."""
    first = writer(last(9))
    first.add("U C(a,b) R=a")
    other = writer(last(2, overflow="raise"), on=first)
    assert "U" == shown(other.current())
    assert {2: "oversize", 3: "oversize"} == left(other.commits[0].change)


def test_opening_under_keep_cuts_nothing() -> None:
    """With ``keep`` a stored window stays over budget until something is added."""
    first = writer(last(9))
    first.add("U1 A1 U2 A2")
    other = writer(last(2, overflow="keep"), on=first)
    assert ("U1 A1 U2 A2", []) == (shown(other.current()), other.commits)
    assert other.current().over_budget
    other.add("U3")
    assert "A2 U3" == other.shown


@pytest.mark.parametrize("overflow", ["evict", "raise"])
def test_a_stored_system_message_over_the_limit_raises_at_opening(overflow: str) -> None:
    """Nothing is written, and every operation raises until the limit is raised (R6)."""
    first = writer(budget(100))
    first.add("S:50 U:5")
    other = writer(budget(40, overflow=overflow), on=first)
    for _ in range(2):
        with pytest.raises(WindowOverflowError):
            other.current()
    assert ([], "S U") == (other.commits, other.stored)
    other.run(flow.resize(other.session, resized(other, max_tokens=60), other.moment()))
    assert "S U" == shown(other.current())


def test_a_larger_limit_needs_no_commit() -> None:
    """A resize upwards changes the limit of this session and nothing else."""
    one = writer(last(2))
    one.add("U1 A1 U2")
    one.asked.clear()
    change = one.run(flow.resize(one.session, resized(one, max_messages=3), one.moment()))
    assert (False, [], Limit(messages=3)) == (bool(change), one.asked, one.current().limit)
    one.add("A2")
    assert "A1 U2 A2" == one.shown


def test_a_smaller_limit_is_committed_at_once() -> None:
    """A resize downwards evicts in a change of its own."""
    one = writer(last(4))
    one.add("U1 A1 U2 A2")
    change = one.run(flow.resize(one.session, resized(one, max_messages=2), one.moment()))
    assert ({1: "budget", 2: "budget"}, 2) == (left(change), change.version)
    assert ("U2 A2", "U2 A2") == (one.shown, one.stored)


def test_a_resize_does_not_cut_to_the_limit_that_is_given_up() -> None:
    """A stored window that is above the old limit and within the new one loses nothing."""
    first = writer(last(9))
    first.add("U1 A1 U2 A2")
    other = writer(last(2), on=first)
    other.run(flow.resize(other.session, resized(other, max_messages=4), other.moment()))
    assert "U1 A1 U2 A2" == other.shown


@pytest.mark.parametrize("request_name", ["Load", "Commit"])
def test_a_resize_that_fails_leaves_the_limit_as_it_was(request_name: str) -> None:
    """Limit, window and store are as before (R11)."""
    first = writer(last(9))
    first.add("U1 A1 U2 A2")
    other = writer(last(4), on=first)
    other.trouble(request_name, away())
    with pytest.raises(StoreError):
        other.run(flow.resize(other.session, resized(other, max_messages=2), other.moment()))
    assert Limit(messages=4) == other.current().limit
    assert "U1 A1 U2 A2" == other.stored


def test_a_resize_that_raises_leaves_the_limit_as_it_was() -> None:
    """Where what must stay does not fit the new limit under ``raise``, the old one stands."""
    one = writer(last(9, overflow="raise"))
    one.add("U C(a)")
    with pytest.raises(WindowOverflowError):
        one.run(flow.resize(one.session, resized(one, max_messages=1), one.moment()))
    assert (Limit(messages=9), "U C") == (one.current().limit, one.shown)
