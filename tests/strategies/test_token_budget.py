"""TokenBudget: the newest messages that fit (R7, R8)."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from chatmemory import InvalidArgumentError, Limits, TokenBudget
from chatmemory.core.entries import Limit
from tests.core.building import FIFO, Life, left, unlimited, window_of


def test_it_says_what_it_is() -> None:
    """Its name is ``fixed``; it has a token limit, needs no summariser and inserts nothing."""
    strategy = TokenBudget(100, unit="turn")
    assert ("fixed", False, 0) == (strategy.name, strategy.requires_llm, strategy.overhead_tokens)
    assert Limits(max_tokens=100, unit="turn") == strategy.limits


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": 8e3}, "max_tokens"),
        ({"max_tokens": float("nan")}, "max_tokens"),
        ({"max_tokens": 9, "evict_to": 0.0}, "evict_to"),
        ({"max_tokens": 9, "evict_to": 1.5}, "evict_to"),
        ({"max_tokens": 9, "evict_to": False}, "evict_to"),
        ({"max_tokens": 9, "unit": "pair"}, "unit"),
    ],
)
def test_wrong_values_are_refused_where_it_is_made(arguments: dict[str, Any], field: str) -> None:
    """A wrong value never gets as far as a memory."""
    with pytest.raises(InvalidArgumentError) as caught:
        TokenBudget(**arguments)
    assert field == caught.value.field


def test_it_has_nothing_to_say_below_the_limit() -> None:
    """It is engaged only where the message took the window above its limit."""
    assert TokenBudget(100, evict_to=1).plan(window_of("U:10 A:10")) is None


def test_a_number_is_of_tokens() -> None:
    """An int `evict_to` is a number of tokens."""
    life = Life.under(TokenBudget(40, evict_to=25), guards=FIFO)
    assert {1: "budget", 2: "budget"} == left(life.add_each("A1:10 A2:10 A3:10 A4:10")[-1])


def test_one_strategy_serves_many_memories() -> None:
    """It keeps no state: two conversations in turn are as each alone, and equal strategies are equal."""
    strategy = TokenBudget(23)
    one, other = Life.under(strategy), Life.under(strategy)
    one.add("U1:10 A1:10")
    other.add("U9:20")
    one.add("U2:10")
    assert ("A1 U2", "U9") == (one.shown, other.shown)
    assert strategy == TokenBudget(23)
    assert strategy == pickle.loads(pickle.dumps(strategy))  # noqa: S301 - made here


def test_the_mark_stands_also_under_a_limit_that_the_memory_made_smaller() -> None:
    """A share is of the memory's limit, the reserve taken off, not of the strategy's own number."""
    life = Life.under(TokenBudget(100, evict_to=0.5), reserve_tokens=60, guards=FIFO, overhead=0)
    life.add_each("A1:10 A2:10 A3:10 A4:10 A5:10")
    assert ("A4 A5", Limit(40)) == (life.shown, life.window.limit)


def test_a_plan_is_a_pure_function_of_the_window() -> None:
    """Planning twice on one window gives the same plan, and the window is as it was."""
    window = window_of("U1:50 A1:50 U2:50", unlimited()).overflowing()
    strategy = TokenBudget(100)
    assert strategy.plan(window) == strategy.plan(window)
    assert 3 == len(window)
