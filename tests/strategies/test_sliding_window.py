"""SlidingWindow: the last N messages, and a token limit beside it (R1, R7, R8)."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory import InvalidArgumentError, Limits, SlidingWindow
from tests.core.building import FIFO, Life, left, window_of


def test_it_says_what_it_is() -> None:
    """Its name is ``sliding``; ten messages are its default; it needs no summariser and inserts nothing."""
    strategy = SlidingWindow()
    assert ("sliding", False, 0) == (strategy.name, strategy.requires_llm, strategy.overhead_tokens)
    assert Limits(max_messages=10) == strategy.limits
    assert Limits(50, 5, count_system=False, unit="turn") == (
        SlidingWindow(5, max_tokens=50, count_system=False, unit="turn").limits
    )


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"max_messages": 0}, "max_messages"),
        ({"max_messages": True}, "max_messages"),
        ({"max_messages": None}, "max_messages"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": False}, "max_tokens"),
        ({"evict_to": 0}, "evict_to"),
        ({"evict_to": float("nan")}, "evict_to"),
        ({"unit": None}, "unit"),
        ({"count_system": 1}, "count_system"),
        ({"count_system": None}, "count_system"),
    ],
)
def test_wrong_values_are_refused_where_it_is_made(arguments: dict[str, Any], field: str) -> None:
    """A wrong value never gets as far as a memory."""
    with pytest.raises(InvalidArgumentError) as caught:
        SlidingWindow(**arguments)
    assert field == caught.value.field


def test_it_has_nothing_to_say_below_the_limit() -> None:
    """It is engaged only where the message took the window above a limit."""
    assert SlidingWindow(2, evict_to=1).plan(window_of("U A")) is None


def test_a_number_is_of_messages() -> None:
    """An int `evict_to` is a number of messages, and leaves the token limit its own mark."""
    life = Life.under(SlidingWindow(4, max_tokens=100, evict_to=2), guards=FIFO)
    assert {1: "budget", 2: "budget", 3: "budget"} == left(life.add_each("A1 A2 A3 A4 A5")[-1])


def test_a_number_of_messages_is_gone_down_to_when_tokens_bind_too() -> None:
    """Whatever limit was passed, eviction goes down to the mark of each."""
    life = Life.under(SlidingWindow(9, max_tokens=33, evict_to=2), guards=FIFO)
    life.add_each("A1:5 A2:5 A3:5 A4:5 A5:5 A6:6")
    assert "A5 A6" == life.shown


def test_a_share_is_of_each_limit() -> None:
    """A float holds for tokens and messages alike."""
    life = Life.under(SlidingWindow(8, max_tokens=40, evict_to=0.5), guards=FIFO, overhead=0)
    life.add_each("A1:10 A2:10 A3:10 A4:10 A5:10")
    assert "A4 A5" == life.shown


def test_the_system_message_may_be_left_out_of_the_count() -> None:
    """``count_system=False`` keeps N messages beside the system message, and a window of one has room for a request."""
    life = Life.under(SlidingWindow(1, count_system=False))
    life.add_each("S U1 A1 U2")
    assert "S U2" == life.shown


def test_an_answer_in_a_window_of_one_takes_its_requests_place() -> None:
    """In the smallest window request and answer take turns."""
    life = Life.under(SlidingWindow(1))
    shown = [life.add(label) and life.shown for label in ("U1", "A1", "U2", "A2")]
    assert ["U1", "A1", "U2", "A2"] == shown
