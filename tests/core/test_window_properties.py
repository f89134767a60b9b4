"""The window's state, kept step by step, is the state worked out from its entries; and every unit can be found."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmemory import SlidingWindow
from chatmemory.core.entries import Entry
from chatmemory.core.units import Unit, result_key
from chatmemory.core.window import Window
from chatmemory.messages import Message, ToolMessage
from tests.conversations import conversations, size_of, window_settings
from tests.core.building import AT, Facts, Life, rebuilt, unlimited
from tests.real_memory import guards_of, strategy_of
from tests.window_settings import WindowSettings


def _entry(window: Window, message: Message) -> Entry | None:
    call = window.calls.nearest(result_key(message)) if isinstance(message, ToolMessage) else None
    if isinstance(message, ToolMessage) and call is None:
        return None
    return Entry(window.next_seq, message, size_of(message), "size", "message", None, call, AT, 1)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Any window that can come about: messages joined it, and any units left it on the way."""
    window = Window.empty(unlimited())
    steps_back = draw(st.sets(st.integers(0, 20), max_size=6))
    for at, message in enumerate(draw(conversations(max_parts=6))):
        entry = _entry(window, message)
        window = window.passing(window.next_seq) if entry is None else window.joined(entry)
        if at in steps_back:
            window = window.without(draw(some_units(window)))
    return window


@st.composite
def some_units(draw: st.DrawFn, window: Window) -> list[Unit]:
    """Up to three units of the window, in any order."""
    units = list(window.units())
    return draw(st.lists(st.sampled_from(units), max_size=3, unique_by=lambda unit: unit.seq)) if units else []


@given(windows())
def test_joining_and_leaving_keep_the_state(window: Window) -> None:
    """Size, landmarks, calls, fresh results and guards are those of a window that is built from the same entries."""
    assert Facts.of(rebuilt(window)) == Facts.of(window)
    assert rebuilt(window).held == window.settled(1, window.extent).held
    assert rebuilt(window).entries == window.entries


@given(windows(), st.data())
def test_leaving_is_being_rebuilt_without(window: Window, data: st.DataObject) -> None:
    """What is left when units leave is the window that was never given them."""
    gone = data.draw(some_units(window))
    away = {entry.seq for unit in gone for entry in unit.entries}
    smaller = window.without(gone)
    assert tuple(entry for entry in window if entry.seq not in away) == smaller.entries
    assert Facts.of(rebuilt(smaller)) == Facts.of(smaller)


@given(windows(), st.data())
def test_what_held_a_unit_still_does_after_others_left(window: Window, data: st.DataObject) -> None:
    """Within a step guards look once: who is held stays held, by the same names, whoever else leaves."""
    before = dict(window.held)
    gone = data.draw(some_units(window))
    places = {unit.place for unit in gone}
    expected = {place: names for place, names in before.items() if place not in places}
    assert expected == window.without(gone).held


@given(windows())
def test_every_unit_is_found_where_it_begins(window: Window) -> None:
    """Units stand by the seq of their first, results with the call that they answer; each is found by its place."""
    places = [unit.place for unit in window.units()]
    assert sorted(set(places)) == places
    at = window.head
    for unit in window.units():
        assert {unit.place} >= {entry.call_seq for entry in unit.entries[1:]}
        assert (at, unit) == (window.index_of(unit.place), window.unit_at(unit.place))
        at += len(unit.entries)
    assert len(window) == at


@given(windows(), st.integers(-1, 60))
def test_nothing_else_is_found(window: Window, place: int) -> None:
    """What begins no unit of the window is a LookupError."""
    if place not in {unit.place for unit in window.units()}:
        with pytest.raises(LookupError):
            window.index_of(place)


@given(windows())
def test_every_turn_is_found_from_each_of_its_units(window: Window) -> None:
    """Turns cover the window behind the system message, and each is the same from all of its units."""
    at, spans = window.head, []
    for unit in window.units():
        spans.append(window.turn_span(at))
        at += len(unit.entries)
    borders = [window.head, *(end for _, end in dict.fromkeys(spans))]
    assert list(dict.fromkeys(spans)) == list(pairwise(borders))


@given(window_settings(), st.lists(conversations(max_parts=3), max_size=4))
def test_the_state_is_kept_under_every_setting(settings: WindowSettings, lives: list[list[Message]]) -> None:
    """After each change of a life under any strategy, guards and limits, the state is that of the rebuilt window."""
    life = Life.under(
        strategy_of(settings), guards=guards_of(settings), overflow="keep", reserve_tokens=settings.reserve_tokens
    )
    for several in lives:
        life.add_messages(several)
        assert Facts.of(rebuilt(life.window)) == Facts.of(life.window)
        assert rebuilt(life.window).held == life.window.held


@given(st.lists(conversations(max_parts=3), max_size=4), st.integers(1, 8))
def test_the_state_is_kept_where_messages_do_not_fit(lives: list[list[Message]], limit: int) -> None:
    """Messages and whole exchanges that are given up leave no trace in the state of the window."""
    life = Life.under(SlidingWindow(limit))
    for several in lives:
        life.add_messages(several)
        assert Facts.of(rebuilt(life.window)) == Facts.of(life.window)
