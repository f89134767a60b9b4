"""What a message does when it comes in: R2, R3, R5, R13, and the limit of each step (R1, R4, R7, R8)."""

from __future__ import annotations

import pytest
from attrs import evolve

from chatmemory.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from chatmemory.strategies import SlidingWindow, TokenBudget
from tests.core.building import FIFO, Life, left, message
from tests.core.lines import PENDING, REQUEST, ROOMY, UNSEEN, Line, lines, play


@lines(
    Line("exactly at the limit", TokenBudget(33), "U:10 A:10 A2:10", "U A A2"),
    Line("one above it", TokenBudget(33), "A:10 A2:10 A3:11", "A2 A3", {1: "budget"}),
    Line("tokens bind", SlidingWindow(9, max_tokens=33), "U1:10 A1:10 U2:20", "A1 U2", {1: "budget"}),
    Line("messages bind", SlidingWindow(3, max_tokens=99), "U1 A1 U2 A2", "A1 U2 A2", {1: "budget"}),
    Line("both bind", SlidingWindow(3, max_tokens=13), "U1:3 A1:3 U2:3 A2:5", "U2 A2", {1: "budget", 2: "budget"}),
    Line("system counted", SlidingWindow(3), "S U1 A1 U2", "S A1 U2", {2: "budget"}),
    Line("system not counted", SlidingWindow(3, count_system=False), "S U1 A1 U2", "S U1 A1 U2"),
    Line("system not counted, over", SlidingWindow(2, count_system=False), "S U1 A1 U2", "S A1 U2", {2: "budget"}),
)
def test_the_window_fits_every_limit(line: Line) -> None:
    """After each message the window is within tokens and messages, and as full as that allows (R1)."""
    play(line)


def test_the_reserve_is_taken_off_the_limit() -> None:
    """`reserve_tokens` leaves that much less room."""
    life = Life.under(TokenBudget(43), reserve_tokens=10)
    life.add_each("A1:10 A2:10 A3:11")
    assert "A2 A3" == life.shown


def test_without_a_token_limit_nothing_is_counted() -> None:
    """Entries and window have no tokens (R10)."""
    life = Life.under(SlidingWindow(2))
    change = life.add("U1 A1 U2")
    assert (None, None, [None, None]) == (change.tokens, life.window.tokens, [entry.tokens for entry in life.window])


@lines(
    Line("first", ROOMY, "S U", "S U"),
    Line("later", ROOMY, "U A S", "S U A"),
    Line("another", ROOMY, "S1 U S2", "S2 U", {1: "replaced"}),
    Line(
        "longer than there is room for",
        TokenBudget(33),
        "S1:5 U:10 A:10 A2:5 S2:11",
        "S2 U A2",
        {1: "replaced", 3: "budget"},
        {2: REQUEST},
    ),
    Line("never for the budget", SlidingWindow(1), "S U", "S", {2: "oversize"}),
    Line("nor without guards", SlidingWindow(2), "S U1 A1 A2 A3", "S A3", {4: "budget"}, guards=FIFO),
    Line(
        "beside a share that is too small",
        TokenBudget(30, evict_to=0.1),
        "S:20 U:3 A:3 A2:4",
        "S A A2",
        {2: "budget"},
        guards=FIFO,
    ),
)
def test_there_is_one_system_message_and_it_is_first(line: Line) -> None:
    """A system message stands first, takes the place of the one before, and never leaves for the budget (R2)."""
    play(line)


@pytest.mark.parametrize("again", [SystemMessage("S:5"), SystemMessage("S:5", role="developer")])
def test_the_same_system_text_changes_nothing(again: SystemMessage) -> None:
    """The text that is there already makes no entry and no version, in the developer's role neither (R2)."""
    life = Life.under(TokenBudget(40))
    life.add("S:5 U:5")
    change = life.add_messages([again])
    assert (False, 1, None, ()) == (bool(change), change.version, change.seq, change.written)
    assert (3, "S U") == (life.window.next_seq, life.shown)


def test_a_system_text_that_comes_back_is_a_new_entry() -> None:
    """Only the text that is there now is a repetition; one that was replaced before is added again."""
    life = Life.under(ROOMY)
    life.add_each("S1 S2 S1")
    assert ("S1", 3) == (life.shown, life.window[0].seq)


@lines(
    Line("no call", ROOMY, "U R=a", "U", {2: "orphan"}),
    Line("another id", ROOMY, "C(a) R=b", "C", {2: "orphan"}),
    Line("another case", ROOMY, "C(a) R=A", "C", {2: "orphan"}),
    Line("no id for a call with one", ROOMY, "C(a) R=-", "C", {2: "orphan"}),
    Line("an id for a call without", ROOMY, "C(-) R=a", "C", {2: "orphan"}),
    Line("before its call", ROOMY, "R=a C(a)", "C"),
    Line("its call has left", SlidingWindow(2), "C(a) U A R=a", "U A", {4: "orphan"}),
    Line("its call left answered", SlidingWindow(2), "C(a) R1=a U A R2=a", "U A", {5: "orphan"}),
    Line("a second one", ROOMY, "C(a) R1=a R2=a", "C R1", {3: "duplicate"}),
    Line("a second one, late", ROOMY, "C(a) R1=a U A R2=a", "C R1 U A", {5: "duplicate"}),
    Line("a third for the same id twice", ROOMY, "C(a,a) R1=a R2=a R3=a", "C R1 R2", {4: "duplicate"}),
    Line("a third without id", ROOMY, "C(-,~) R1=~ R2=- R3=-", "C R1 R2", {4: "duplicate"}),
    Line("a second beside one that waits", ROOMY, "C(a,b) R1=a R2=a", "C R1", {3: "duplicate"}),
)
def test_a_result_without_a_waiting_call_does_not_enter(line: Line) -> None:
    """It is an orphan, or a duplicate where a call in the window has that result already; nothing leaves for it."""
    play(line)


def test_what_does_not_enter_makes_nothing_leave() -> None:
    """An orphan in a full window takes nobody's place, whatever its size (R3)."""
    life = Life.under(TokenBudget(33))
    life.add_each("U:10 A:10 A2:10")
    change = life.add("R=a:99")
    assert ({4: "orphan"}, "U A A2", 33) == (left(change), life.shown, change.tokens)
    assert (False, ()) == (change.oversize, change.refused)


@lines(
    Line("right behind", ROOMY, "U C(a) R=a A", "U C R A"),
    Line("into an earlier turn", ROOMY, "U1 C(a) U2 A2 R=a", "U1 C R U2 A2"),
    Line("across a system message", ROOMY, "S1 U C(a) S2 R=a", "S2 U C R"),
    Line("parallel, in the order of arrival", ROOMY, "C(a,b,c) R1=c A R2=a R3=b", "C R1 R2 R3 A"),
    Line("interleaved", ROOMY, "C1(a) C2(b) R1=b R2=a", "C1 R2 C2 R1"),
    Line("a reused id: the nearest call", ROOMY, "C1(a) C2(a) R1=a R2=a", "C1 R2 C2 R1"),
    Line("a reused id: the call that waits", ROOMY, "C1(a) C2(a) R1=a C3(b) R2=a", "C1 R2 C2 R1 C3"),
    Line("a reused id after its answer", ROOMY, "C1(a) R1=a C2(a) R2=a", "C1 R1 C2 R2"),
    Line("the same id twice in one message", ROOMY, "C(a,a) R1=a U R2=a", "C R1 R2 U"),
    Line("without ids", ROOMY, "U C(-,-) R1=- R2=~", "U C R1 R2"),
    Line("without ids: the nearest message that has one", ROOMY, "C1(-) C2(-,-) R1=- R2=- R3=-", "C1 R3 C2 R1 R2"),
    Line("an id beside none", ROOMY, "C1(-) C2(a) R1=- R2=a", "C1 R1 C2 R2"),
)
def test_a_result_stands_behind_its_call(line: Line) -> None:
    """It is linked by id to the nearest earlier call that waits, and stands there, whenever it arrives (R3)."""
    play(line)


def test_a_legacy_function_result_is_a_result() -> None:
    """A result in the ``function`` form, which has no id, answers the call without one."""
    life = Life.under(ROOMY)
    life.add("U C(-)")
    life.add_messages([ToolMessage("R:1", tool_call_id=None, role="function", name="look"), UserMessage("U2:1")])
    assert "U C R U2" == life.shown


def test_equal_messages_are_distinct() -> None:
    """Three equal messages are three entries, and the oldest of them leaves (R4)."""
    life = Life.under(SlidingWindow(2))
    changes = [life.add("U") for _ in range(3)]
    assert [2, 3] == [entry.seq for entry in life.window]
    assert {1: "budget"} == left(changes[-1])


@lines(
    Line("the request", SlidingWindow(3), "U A1 A2 A3", "U A2 A3", {2: "budget"}, {1: REQUEST}),
    Line("a call that waits", SlidingWindow(3), "U C(a) X X2", "U C X2", {3: "budget"}, {1: REQUEST, 2: PENDING}),
    Line("results not seen", SlidingWindow(4), "U C(a) R=a X X2", "U C R X2", {4: "budget"}, {1: REQUEST, 2: UNSEEN}),
    Line("results seen", SlidingWindow(4), "U C(a) R=a A A2", "U A A2", {2: "budget", 3: "budget"}, {1: REQUEST}),
    Line("only as far as needed", SlidingWindow(2), "A1 U A2", "U A2", {1: "budget"}),
    Line("no guards", SlidingWindow(2), "U C(a) R=a", "C R", {1: "budget"}, guards=FIFO),
    Line("a call that is passed by", SlidingWindow(3), "U C(a) A1 A2", "U A1 A2", {2: "budget"}, {1: REQUEST}),
    Line(
        "a late result is held", SlidingWindow(4), "C(a) U A X R=a", "C R U X", {3: "budget"}, {1: UNSEEN, 2: REQUEST}
    ),
)
def test_guards_hold_what_they_name(line: Line) -> None:
    """Guarded units are refused by name, and the oldest others leave instead (R5)."""
    play(line)


@lines(
    Line("alone", TokenBudget(100), "S:10 U:50 A:45", "S A", {2: "budget"}),
    Line("exactly beside the rest", TokenBudget(100), "S:10 U:50 A:37", "S U A"),
    Line("then the oldest", TokenBudget(80), "U1:20 A1:10 U2:40 A2:50", "A1 A2", {3: "budget", 1: "budget"}),
    Line("not to a call", TokenBudget(100), "S:10 U:50 C(a):45", "S U", {3: "oversize"}),
    Line("not to a result", TokenBudget(100), "U:50 C(a):5 R=a:45", "U", {2: "oversize", 3: "oversize"}),
    Line("not to a user message", TokenBudget(100), "U1:50 U2:45", "U1 U2"),
    Line("not where it would not help", TokenBudget(100), "S:10 U:50 A:88", "S U", {3: "oversize"}),
    Line("where that is just enough", TokenBudget(100), "S:10 U:50 A:87", "S A", {2: "budget"}),
    Line("not whole turns", evolve(TokenBudget(100), unit="turn"), "U:60 A:45", "U", {2: "oversize"}),
    Line("keep", TokenBudget(100), "U:60 A:45", "A", {1: "budget"}, overflow="keep"),
    Line("raise", TokenBudget(100), "U:60 A:45", "A", {1: "budget"}, overflow="raise"),
    Line("a call that it abandons is no part of the rest", TokenBudget(100), "U:50 C(a):40 A:55", "C A", {1: "budget"}),
)
def test_only_the_answer_takes_the_place_of_its_request(line: Line) -> None:
    """Where the answer fits beside the rest but not beside its request, the request leaves first (R5)."""
    play(line)


def test_a_number_above_the_limit_counts_as_the_limit_after_a_resize_too() -> None:
    """An `evict_to` of 25 tokens is no mark above a limit of 20 (R7)."""
    life = Life.under(TokenBudget(40, evict_to=25))
    life.add_each("U1:5 A1:5 U2:5")
    assert {1: "budget"} == left(life.resize(max_tokens=16))
    assert "A1 U2" == life.shown


@lines(
    Line("starts above the limit", TokenBudget(40, evict_to=25), "U1:10 A1:10 U2:10", "U1 A1 U2"),
    Line(
        "down to the mark", TokenBudget(40, evict_to=25), "U1:10 A1:10 U2:10 A2:10", "U2 A2", {1: "budget", 2: "budget"}
    ),
    Line(
        "the arriving message is no aim's victim",
        TokenBudget(40, evict_to=5),
        "U1:10 A1:10 U2:20",
        "A1 U2",
        {1: "budget"},
    ),
    Line(
        "a share of messages",
        SlidingWindow(10, evict_to=0.5),
        "A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11",
        "A7 A8 A9 A10 A11",
        dict.fromkeys(range(1, 7), "budget"),
    ),
    Line(
        "goes on where the request gave way",
        TokenBudget(100, evict_to=0.5),
        "U1:20 A1:10 U2:60 A2:45",
        "A2",
        {3: "budget", 1: "budget", 2: "budget"},
    ),
)
def test_eviction_starts_above_the_limit_and_goes_down_to_the_mark(line: Line) -> None:
    """High water is the limit, low water the mark; eviction that began goes on to it (R7)."""
    play(line)


def test_between_two_evictions_the_head_stays_the_same() -> None:
    """With a low mark the window's first entry changes seldom, which prompt caches need (R7)."""
    life = Life.under(TokenBudget(103, evict_to=0.5))
    heads = [life.add(f"A{at}:10") and life.window[0].seq for at in range(40)]
    assert 8 > len(set(heads))


@lines(
    Line("whole", SlidingWindow(3, unit="turn"), "U1 A1 U2 A2", "U2 A2", {1: "budget", 2: "budget"}),
    Line(
        "what stands before the first request",
        SlidingWindow(3, unit="turn"),
        "S X A U",
        "S U",
        {2: "budget", 3: "budget"},
    ),
    Line("inside the last turn", SlidingWindow(3, unit="turn"), "U A1 A2 A3", "U A2 A3", {2: "budget"}),
    Line("no guard", SlidingWindow(2, unit="turn"), "U A1 A2 A3", "U A3", {3: "budget"}, guards=FIFO),
    Line(
        "exchanges",
        SlidingWindow(4, unit="turn"),
        "U C1(a) R1=a C2(a) R2=a",
        "U C2 R2",
        {2: "budget", 3: "budget"},
    ),
    Line("only messages without a request", SlidingWindow(2, unit="turn"), "A1 A2 A3", "A2 A3", {1: "budget"}),
    Line(
        "a held unit keeps its turn",
        SlidingWindow(4, unit="turn"),
        "U1 C(a) U2 A2 R=a",
        "U1 C R U2",
        {4: "budget"},
        {1: ("turn",), 2: UNSEEN},
    ),
    Line(
        "keep, no guard: the request before its rest",
        TokenBudget(23, unit="turn"),
        "U:10 A1:10 A2:15",
        "U A2",
        {2: "budget"},
        {1: ("turn",)},
        guards=FIFO,
        overflow="keep",
    ),
    Line(
        "no guard: not even for its answer",
        TokenBudget(23, unit="turn"),
        "U:10 A1:10 A2:15",
        "U A1",
        {3: "oversize"},
        guards=FIFO,
    ),
)
def test_whole_turns_leave_first(line: Line) -> None:
    """With ``unit="turn"`` earlier turns leave whole, and the window opens with a user message (R8)."""
    play(line)


def test_a_call_that_nobody_answered_stays_as_it_is() -> None:
    """It waits, is abandoned when the user moves on, takes no synthetic result, and still takes a late one (R13)."""
    life = Life.under(SlidingWindow(6))
    life.add_each("U1 C(a,b) R1=a U2 A2")
    assert "U1 C R1 U2 A2" == life.shown
    assert {"b": (2,)} == life.window.calls.waiting
    life.add("R2=b")
    assert "U1 C R1 R2 U2 A2" == life.shown


def test_inputs_are_never_changed() -> None:
    """The list that was given is as it was, and the window holds the very messages (R12)."""
    given: list[Message] = [message("S"), message("U"), AssistantMessage("A:1")]
    copy = list(given)
    life = Life.under(SlidingWindow(2))
    life.add_messages(given)
    assert copy == given
    assert given[2] is life.window.messages()[1]
