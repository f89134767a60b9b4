"""Settings: what a memory may be told, and the policy that follows."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory.checks import check_count
from chatmemory.core.entries import Limit
from chatmemory.core.guards import Guards
from chatmemory.core.plan import Limits
from chatmemory.core.settings import Meter, Settings, check_evict_to
from chatmemory.errors import InvalidArgumentError
from chatmemory.strategies import SlidingWindow, TokenBudget
from tests.core.strategies import Planning, never_engaged


@pytest.mark.parametrize("value", [0, -1, True, False, 1.0, "5", None, float("nan")])
def test_a_limit_is_a_whole_number_of_at_least_one(value: object) -> None:
    """Zero, negatives, bools, floats and NaN are refused by the argument's name, with what to give."""
    with pytest.raises(InvalidArgumentError, match=r"^max_tokens is .*; give an int") as caught:
        check_count("max_tokens", value)
    assert "max_tokens" == caught.value.field


@pytest.mark.parametrize(
    "value", [0, -1, 0.0, -0.5, 1.0001, 2.0, float("nan"), float("inf"), True, False, "0.7", (0.7,)]
)
def test_a_mark_is_a_share_or_a_number(value: object) -> None:
    """A share outside (0, 1], a number below one, and anything else is refused."""
    with pytest.raises(InvalidArgumentError, match=r"^evict_to is .*; .*give"):
        check_evict_to(value)


@pytest.mark.parametrize("value", [None, 0.0001, 0.7, 1.0, 1, 10**9])
def test_good_marks_are_taken(value: object) -> None:
    """None, a share in (0, 1] and a number of at least one are marks."""
    check_evict_to(value)


@pytest.mark.parametrize("value", ["turns", "", None, 1])
def test_a_unit_of_eviction_is_one_of_two(value: object) -> None:
    """Anything but ``message`` and ``turn`` is refused, and both are named."""
    with pytest.raises(InvalidArgumentError, match="'message', 'turn'"):
        Limits(unit=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"strategy": 8000}, "strategy"),
        ({"strategy": TokenBudget}, "strategy"),
        ({"guards": None}, "guards"),
        ({"guards": {"current_request": True}}, "guards"),
        ({"overflow": "drop"}, "overflow"),
        ({"overflow": None}, "overflow"),
        ({"reserve_tokens": -1}, "reserve_tokens"),
        ({"reserve_tokens": True}, "reserve_tokens"),
        ({"reserve_tokens": 1.5}, "reserve_tokens"),
        ({"reserve_tokens": 100}, "reserve_tokens"),
        ({"reserve_tokens": 101}, "reserve_tokens"),
        ({"max_tokens": 50}, "max_tokens"),
        ({"strategy": SlidingWindow(5), "max_tokens": 0}, "max_tokens"),
        ({"strategy": SlidingWindow(5), "reserve_tokens": 1}, "reserve_tokens"),
        ({"strategy": SlidingWindow(5), "max_tokens": 10, "reserve_tokens": 10}, "reserve_tokens"),
    ],
)
def test_wrong_settings_are_refused_by_name(wrong: dict[str, Any], field: str) -> None:
    """Each wrong argument gives an error that names it, also where two of them do not go together."""
    with pytest.raises(InvalidArgumentError) as caught:
        Settings(**{"strategy": TokenBudget(100), **wrong})
    assert field == caught.value.field
    assert ";" in str(caught.value) or "given twice" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        (Settings(strategy=TokenBudget(100)), Limit(100, None)),
        (Settings(strategy=TokenBudget(100), reserve_tokens=99), Limit(1, None)),
        (Settings(strategy=SlidingWindow(5)), Limit(None, 5)),
        (Settings(strategy=SlidingWindow(5, max_tokens=50), reserve_tokens=10), Limit(40, 5)),
        (Settings(strategy=SlidingWindow(5), max_tokens=50, reserve_tokens=10), Limit(40, 5)),
        (Settings(strategy=Planning(never_engaged)), Limit(None, None)),
        (Settings(strategy=Planning(never_engaged), max_tokens=50), Limit(50, None)),
    ],
)
def test_the_limit_is_the_strategys_less_the_reserve(settings: Settings, limit: Limit) -> None:
    """The strategy's limits hold, or the one that is given for a strategy without; the reserve is taken off tokens."""
    assert limit == settings.policy(Meter("size", 3)).limit


def test_a_policy_takes_everything_that_it_is_told() -> None:
    """Guards, overflow, unit, what counts, and the counter's overhead come from settings and meter."""
    strategy = SlidingWindow(5, unit="turn", count_system=False)
    policy = Settings(strategy=strategy, guards=Guards.none(), overflow="keep").policy(Meter("size", 7))
    assert (Guards.none(), "keep", "turn", False) == (
        policy.guards,
        policy.overflow,
        policy.unit,
        policy.count_system,
    )
    assert (True, 7) == (policy.counted, policy.overhead)


def test_without_a_meter_nothing_is_counted() -> None:
    """A memory without a counter counts no tokens and no overhead (R10)."""
    policy = Settings(strategy=SlidingWindow(5)).policy(None)
    assert (False, 0) == (policy.counted, policy.overhead)


def test_a_resize_changes_what_it_is_given() -> None:
    """None leaves a limit as it is; the rest of the strategy, such as its mark, stays."""
    settings = Settings(strategy=SlidingWindow(5, max_tokens=50, evict_to=3), reserve_tokens=10)
    resized = settings.resized(max_tokens=None, max_messages=7, reserve_tokens=None)
    assert SlidingWindow(7, max_tokens=50, evict_to=3) == resized.strategy
    assert 10 == resized.reserve_tokens
    assert 0 == settings.resized(max_tokens=20, max_messages=None, reserve_tokens=0).reserve_tokens
    assert settings == settings.resized(max_tokens=None, max_messages=None, reserve_tokens=None)


@pytest.mark.parametrize(
    ("strategy", "limits", "field"),
    [
        (TokenBudget(100), {"max_messages": 5}, "max_messages"),
        (SlidingWindow(5), {"max_tokens": 50}, "max_tokens"),
        (SlidingWindow(5), {"reserve_tokens": 5}, "reserve_tokens"),
        (TokenBudget(100), {"reserve_tokens": 100}, "reserve_tokens"),
        (TokenBudget(100), {"max_tokens": 0}, "max_tokens"),
        (TokenBudget(100), {"max_tokens": True}, "max_tokens"),
        (Planning(never_engaged, Limits(max_messages=5)), {"max_messages": 7}, "max_messages"),
    ],
)
def test_a_limit_that_the_strategy_does_not_have_cannot_be_resized(
    strategy: Any, limits: dict[str, int], field: str
) -> None:
    """A resize names a limit that is there, with a value that it could have been made with."""
    wanted: dict[str, int | None] = {"max_tokens": None, "max_messages": None, "reserve_tokens": None, **limits}
    with pytest.raises(InvalidArgumentError) as caught:
        Settings(strategy=strategy).resized(**wanted)
    assert field == caught.value.field


def test_a_resize_keeps_room_beside_the_reserve() -> None:
    """A limit that the reserve leaves nothing of is refused, though each alone would be right."""
    settings = Settings(strategy=TokenBudget(100), reserve_tokens=40)
    with pytest.raises(InvalidArgumentError, match="reserve_tokens"):
        settings.resized(max_tokens=40, max_messages=None, reserve_tokens=None)
    assert 41 == settings.resized(max_tokens=41, max_messages=None, reserve_tokens=None).token_limit
