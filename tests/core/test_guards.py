"""Guards (R5): which unit each of them holds, and until when."""

from __future__ import annotations

import pytest
from attrs import evolve

from chatmemory import SlidingWindow, TokenBudget
from chatmemory.core.guards import Guards, Landmarks
from chatmemory.core.units import units_of
from chatmemory.core.window import Window
from chatmemory.errors import InvalidArgumentError
from tests.core.building import Facts, Life, entries, left, rebuilt, unlimited, window_of

REQUEST, PENDING, UNSEEN = "current_request", "pending_tool_call", "unseen_tool_result"
Held = dict[int, tuple[str, ...]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("", {}),
        ("A", {}),
        ("U", {1: (REQUEST,)}),
        ("U1 U2", {2: (REQUEST,)}),
        ("U A", {1: (REQUEST,)}),
        ("S U", {2: (REQUEST,)}),
        ("X", {}),
    ],
)
def test_the_last_user_message_is_the_current_request(labels: str, expected: Held) -> None:
    """The last user message in the window is held, answered or not."""
    assert expected == window_of(labels).held


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("C(a)", {1: (PENDING,)}),
        ("C1(a) C2(b)", {1: (PENDING,), 2: (PENDING,)}),
        ("C(a) X", {1: (PENDING,)}),
        ("C(a) A", {}),
        ("C(a) U", {2: (REQUEST,)}),
        ("C1(a) A C2(b)", {3: (PENDING,)}),
    ],
)
def test_a_call_is_held_until_the_conversation_moves_on(labels: str, expected: Held) -> None:
    """A waiting call is held until a later user message or a later assistant message without calls."""
    assert expected == window_of(labels).held


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("C(a) R=a@1", {1: (UNSEEN,)}),
        ("C(a,b) R=a@1", {1: (PENDING, UNSEEN)}),
        ("C(a) R=a@1 X", {1: (UNSEEN,)}),
        ("C(a) R=a@1 A", {}),
        ("C1(a) R=a@1 C2(b)", {3: (PENDING,)}),
        ("C(a) R=a@1 U", {3: (REQUEST,)}),
        ("C(a) U A R=a@1", {1: (UNSEEN,), 2: (REQUEST,)}),
        ("C(a,b) R1=a@1 A R2=b@1", {1: (UNSEEN,)}),
        ("C1(a) C2(b) R1=a@1", {1: (UNSEEN,), 2: (PENDING,)}),
    ],
)
def test_results_are_held_until_the_model_saw_them(labels: str, expected: Held) -> None:
    """Results are held until a later assistant or user message; later is by seq, also where they stand further up."""
    assert expected == window_of(labels).held


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        (Guards(), {1: (REQUEST,), 2: (PENDING, UNSEEN)}),
        (Guards(current_request=False), {2: (PENDING, UNSEEN)}),
        (Guards(pending_tool_call=False), {1: (REQUEST,), 2: (UNSEEN,)}),
        (Guards(unseen_tool_result=False), {1: (REQUEST,), 2: (PENDING,)}),
        (Guards.none(), {}),
    ],
)
def test_each_guard_can_be_switched_off(guards: Guards, expected: Held) -> None:
    """A guard that is off holds nothing, and the others hold what they held."""
    assert expected == window_of("U C(a,b) R=a@2", evolve(unlimited(), guards=guards)).held


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_a_guard_is_on_or_off(value: object) -> None:
    """Anything but True and False is refused, by the guard's name."""
    with pytest.raises(InvalidArgumentError, match="current_request"):
        Guards(current_request=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", ["U A C(a) R=a@3 X", "C(a) U1 R=a@1 U2", "S A1 A2 C(a)", "U C(a,b) R=a@2", ""])
def test_landmarks_follow_each_message(labels: str) -> None:
    """Message by message the landmarks come to what the whole window gives."""
    window = Window.empty(unlimited())
    for one in sorted(entries(labels), key=lambda entry: entry.seq):
        window = window.joined(one)
        assert Facts.of(rebuilt(window)) == Facts.of(window)


def test_landmarks_are_the_newest_by_place() -> None:
    """The newest user message, answer and assistant message, and what nothing has passed by since."""
    marks = Landmarks.of(units_of(entries("U1 A1 C1(a) U2 C2(b)")))
    assert Landmarks(user=4, answer=2, assistant=5, pending=(5,)) == marks


def test_guards_look_once_at_a_step() -> None:
    """A call that was abandoned when the message came stays so, though what abandoned it leaves in the same step."""
    life = Life.under(TokenBudget(60))
    life.add_each("S1:5 U1:10 C(a):10 U2:30")
    assert {1: "replaced", 4: "oversize", 2: "budget"} == left(life.add("S2:40"))
    assert "S2 C" == life.shown


@pytest.mark.parametrize("last", ["U2:50", "A:50"])
def test_what_did_not_get_in_does_not_count(last: str) -> None:
    """A message that is oversize abandons no call and takes no guard from the request before it."""
    life = Life.under(TokenBudget(30))
    life.add_each(f"U1:5 C(a):5 {last}")
    assert {1: (REQUEST,), 2: (PENDING,)} == life.window.held


def test_the_arriving_message_stays_without_a_guard_too() -> None:
    """Without guards the oldest leave, but never the message that is being added."""
    life = Life.under(SlidingWindow(1), guards=Guards.none())
    life.add_each("U1 A1 U2")
    assert "U2" == life.shown
    assert {} == life.window.held


def test_what_left_is_measured_by_no_more() -> None:
    """An exchange that leaves as oversize is no later assistant message for the results before it."""
    life = Life.under(TokenBudget(60))
    life.add_each("U:5 C1(a):5 R1=a@2:5 C2(b):5 R2=b@4:60")
    assert "U C1 R1" == life.shown
    assert {1: (REQUEST,), 2: (UNSEEN,)} == life.window.held
