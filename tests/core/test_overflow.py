"""What does not fit (R6): messages, system messages, smaller limits, and what only a lower bound is known of (R10)."""

from __future__ import annotations

import pytest
from attrs import evolve

from chatmemory.core.admission import AtLeast, Counted
from chatmemory.core.entries import Limit, OverflowPolicy, Removal
from chatmemory.core.plan import WindowStrategy
from chatmemory.errors import WindowOverflowError
from chatmemory.messages import Message
from chatmemory.strategies import SlidingWindow, TokenBudget
from tests.conversations import size_of
from tests.core.building import FIFO, Facts, Life, left
from tests.core.lines import PENDING, REQUEST, Line, lines, play


@lines(
    Line("a user message", TokenBudget(40), "S:10 U:10 A:10 U2:99", "S U A", {4: "oversize"}),
    Line("an answer", TokenBudget(40), "S:10 U:10 A:10 A2:99", "S U A", {4: "oversize"}),
    Line("a call", TokenBudget(40), "S:10 U:10 A:10 C(a):99", "S U A", {4: "oversize"}),
    Line("a context message", TokenBudget(40), "S:10 U:10 A:10 X:99", "S U A", {4: "oversize"}),
    Line(
        "a result, with its unit",
        TokenBudget(40),
        "U:5 A:5 C(a,b):5 R1=a:5 R2=b:30",
        "U A",
        {3: "oversize", 4: "oversize", 5: "oversize"},
    ),
    Line("messages", SlidingWindow(3), "S U C(a,b) R1=a", "S U", {3: "oversize", 4: "oversize"}),
    Line("the first of all", TokenBudget(2), "U:25", "", {1: "oversize"}),
    Line("beside a held call", TokenBudget(40), "U:10 C(a):10 X:18", "U C", {3: "oversize"}),
    Line(
        "keep: all that may leave leaves",
        TokenBudget(40),
        "S:10 U:10 A:10 U2:99",
        "S U2",
        {2: "budget", 3: "budget"},
        {4: REQUEST},
        overflow="keep",
    ),
    Line(
        "keep: what is held stays",
        TokenBudget(40),
        "U:10 C(a):10 X:1 X2:99",
        "U C X2",
        {3: "budget"},
        {1: REQUEST, 2: PENDING},
        overflow="keep",
    ),
)
def test_what_does_not_fit_leaves_alone(line: Line) -> None:
    """A message that does not fit beside what must stay leaves with its unit, and nothing else is lost (R6)."""
    play(line)


@pytest.mark.parametrize(
    ("adds", "oversize"), [("S:5 U:5", False), ("S:5 U:99", True), ("U:99 U2:5", True), ("R=a U:5", False)]
)
def test_the_change_says_that_a_message_was_oversize(adds: str, oversize: bool) -> None:  # noqa: FBT001 - a column
    """`oversize` is true where any message of the call did not get in for its size."""
    assert oversize == Life.under(TokenBudget(40)).add(adds).oversize


@pytest.mark.parametrize(
    ("strategy", "adds", "last", "expected"),
    [
        (TokenBudget(40), "S:10 U:10 A:10", "U2:100", (113, 40, "tokens")),
        (TokenBudget(40), "S:10 U:10", "C(a):18", (41, 40, "tokens")),
        (TokenBudget(40), "S:10 U:10 C(a):10", "R=a:8", (41, 40, "tokens")),
        (TokenBudget(40), "U:10 C(a):10", "S:18", (41, 40, "tokens")),
        (SlidingWindow(2), "S U", "C(a)", (3, 2, "messages")),
        (SlidingWindow(2, count_system=False), "S U C(a)", "R=a", (3, 2, "messages")),
        (SlidingWindow(3, max_tokens=40), "S:1 U:30", "C(a):30", (64, 40, "tokens")),
    ],
)
def test_raise_names_what_is_needed_and_changes_nothing(
    strategy: WindowStrategy, adds: str, last: str, expected: tuple[int, int, str]
) -> None:
    """Under ``raise`` what must stay and the message's unit are needed; window and seqs stay as they were (R6)."""
    life = Life.under(strategy, overflow="raise")
    life.add_each(adds)
    before, shown = (Facts.of(life.window), life.window.next_seq, life.window.version), life.shown
    with pytest.raises(WindowOverflowError) as caught:
        life.add(last)
    assert expected == (caught.value.needed, caught.value.allowed, caught.value.measure)
    assert (before, shown) == ((Facts.of(life.window), life.window.next_seq, life.window.version), life.shown)


@pytest.mark.parametrize("overflow", ["evict", "raise"])
def test_a_system_message_that_is_alone_over_the_limit_raises(overflow: OverflowPolicy) -> None:
    """No conversation could run under it, so nothing changes, under every policy but ``keep`` (R6)."""
    life = Life.under(TokenBudget(40), overflow=overflow)
    life.add("S1:5 U:10")
    with pytest.raises(WindowOverflowError) as caught:
        life.add("S2:38")
    assert (41, 40, "S1 U") == (caught.value.needed, caught.value.allowed, life.shown)


@lines(
    Line("system", TokenBudget(40), "S:50", "S", overflow="keep"),
    Line(
        "another system",
        TokenBudget(40),
        "S:5 U:10 A:5 S2:50",
        "S2 U",
        {1: "replaced", 3: "budget"},
        {2: REQUEST},
        overflow="keep",
    ),
)
def test_keep_keeps_a_system_message_over_budget(line: Line) -> None:
    """Under ``keep`` it stays, and all that may leave leaves."""
    play(line)


@lines(
    Line("the request", TokenBudget(40), "S1:10 U:27 S2:11", "S2", {1: "replaced", 2: "oversize"}),
    Line("the exchange before the request", TokenBudget(60), "U:10 C(a):20 S:30", "S U", {2: "oversize"}),
    Line("the older exchange first", TokenBudget(60), "U:10 C1(a):10 C2(b):10 S:30", "S U C2", {2: "oversize"}),
    Line(
        "exchanges, then the request",
        TokenBudget(60),
        "U:10 C1(a):10 C2(b):10 S:50",
        "S",
        {2: "oversize", 3: "oversize", 1: "oversize"},
    ),
    Line(
        "exchanges with their results",
        TokenBudget(60),
        "U:10 C(a):10 R=a:10 S:30",
        "S U",
        {2: "oversize", 3: "oversize"},
    ),
    Line(
        "then the oldest for the budget", TokenBudget(60), "A:10 U:10 C(a):10 S:40", "S U", {3: "oversize", 1: "budget"}
    ),
    Line("only the budget where that is enough", TokenBudget(60), "A:10 U:10 C(a):10 S:30", "S U C", {1: "budget"}),
)
def test_a_system_message_makes_guarded_units_leave(line: Line) -> None:
    """It comes in, and what is held and no longer fits leaves: exchanges, the oldest first, the request last (R6)."""
    play(line)


def test_with_whole_turns_a_held_exchange_keeps_its_turn_until_it_goes() -> None:
    """An exchange of an earlier turn that is oversize lets its turn go with the budget."""
    life = Life.under(TokenBudget(60, unit="turn"))
    life.add_each("U1:10 C(a):5 U2:5 A2:5 R=a:5")
    change = life.add("S:40")
    assert {2: "oversize", 5: "oversize", 1: "budget"} == left(change)
    assert "S U2 A2" == life.shown


def test_a_turn_that_stays_whole_stays_so_after_the_last_turn_has_left() -> None:
    """Turns are those of the window that is planned, also where it stays above the limit (R8)."""
    life = Life.under(SlidingWindow(9, unit="turn"), guards=FIFO, overflow="keep")
    life.add_each("C1(a) C2(a) U")
    life.window = evolve(life.window, policy=evolve(life.window.policy, limit=Limit(messages=1)))
    assert {3: "budget"} == left(life.add("R=a"))
    assert "C1 C2 R" == life.shown


@pytest.mark.parametrize(
    ("adds", "limit", "window", "gone"),
    [
        ("S:10 U:10 A:10", 33, "S U A", {}),
        ("S:10 U:10 A:10", 32, "S U", {3: "budget"}),
        ("S:10 U:10 C(a):10 R=a:20", 35, "S U", {3: "oversize", 4: "oversize"}),
        ("S:10 U:10 C(a):10 R=a:20", 22, "S", {3: "oversize", 4: "oversize", 2: "oversize"}),
        ("U1:10 A1:10 U2:10", 20, "U2", {1: "budget", 2: "budget"}),
        ("U:10", 5, "", {1: "oversize"}),
    ],
)
def test_a_smaller_limit_cuts_at_once(adds: str, limit: int, window: str, gone: dict[int, str]) -> None:
    """What no longer fits leaves: held units as oversize, the others from the oldest for the budget (R6)."""
    life = Life.under(TokenBudget(100))
    life.add_each(adds)
    change = life.resize(max_tokens=limit)
    assert (window, gone, bool(gone)) == (life.shown, left(change), bool(change))
    assert (limit, False) == (life.window.limit.tokens, life.window.over_budget)


def test_a_smaller_limit_that_the_system_message_is_over_raises() -> None:
    """A limit below the system message is refused, and the limit stays as it was."""
    life = Life.under(TokenBudget(100))
    life.add_each("S:50 U:10")
    with pytest.raises(WindowOverflowError):
        life.resize(max_tokens=52)
    assert (100, "S U") == (life.window.limit.tokens, life.shown)


def test_under_raise_a_smaller_limit_never_cuts_what_is_held() -> None:
    """With ``raise`` a resize below what must stay raises, and one above it evicts."""
    life = Life.under(TokenBudget(100), overflow="raise")
    life.add_each("A:10 U:10 C(a):10")
    with pytest.raises(WindowOverflowError) as caught:
        life.resize(max_tokens=22)
    assert (23, 22, "A U C") == (caught.value.needed, caught.value.allowed, life.shown)
    assert {1: "budget"} == left(life.resize(max_tokens=23))


def test_under_keep_a_smaller_limit_evicts_what_may_leave() -> None:
    """With ``keep`` what is held stays over budget."""
    life = Life.under(TokenBudget(100), overflow="keep")
    life.add_each("A:10 U:10 C(a):10")
    assert {1: "budget"} == left(life.resize(max_tokens=20))
    assert ("U C", True) == (life.shown, life.window.over_budget)


def bounded(one: Message) -> Counted:
    """Count as stated, but give only a bound for what states more than 50."""
    return AtLeast(51) if size_of(one) > 50 else size_of(one)


@pytest.mark.parametrize("last", ["U2:99", "A2:99", "C2(a):99", "X:99"])
def test_a_bound_is_enough_to_leave_a_message_out(last: str) -> None:
    """A message that a lower bound shows to be too long is oversize and has no token count (R6, R10)."""
    life = Life.under(TokenBudget(40), count=bounded)
    life.add_each("S:10 U:10 A:10")
    change = life.add(last)
    assert ("S U A", 33, True) == (life.shown, change.tokens, change.oversize)
    assert (Removal(4, "oversize", 4, 4, None),) == change.removed


def test_a_bound_leaves_a_result_out_with_its_unit() -> None:
    """A result that is too long takes call and earlier results with it, and the guards of the rest stay."""
    life = Life.under(TokenBudget(40), count=bounded)
    life.add_each("U:10 C(a,b):5 R1=a:5")
    assert {2: "oversize", 3: "oversize", 4: "oversize"} == left(life.add("R2=b:99"))
    assert ("U", {1: REQUEST}) == (life.shown, dict(life.window.held))


@pytest.mark.parametrize(("last", "needed"), [("U2:99", 64), ("C(a):99", 74), ("S2:99", 54)])
def test_an_error_names_the_bound_where_the_count_was_not_needed(last: str, needed: int) -> None:
    """`needed` is what must stay with the bound in the message's place."""
    life = Life.under(TokenBudget(40), count=bounded, overflow="raise")
    life.add_each("S:10 U:10 A:10")
    with pytest.raises(WindowOverflowError) as caught:
        life.add(last)
    assert (needed, 40) == (caught.value.needed, caught.value.allowed)


def test_an_orphan_needs_no_count() -> None:
    """A result that does not enter is kept as it is, also where only a bound is known."""
    life = Life.under(TokenBudget(40), count=bounded)
    assert (Removal(1, "orphan", 1, 1, None),) == life.add("R=a:99").removed


def test_an_overflow_error_tells_facts_and_no_text() -> None:
    """The error carries what is needed, what is allowed and the measure, and says what to do."""
    error = WindowOverflowError("the user message", needed=113, allowed=40, measure="tokens")
    assert (113, 40, "tokens") == (error.needed, error.allowed, error.measure)
    assert "113 tokens are needed beside what must stay, 40 are allowed; shorten it" in str(error)
