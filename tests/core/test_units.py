"""Units (R3): where they begin and end, and which calls wait."""

from __future__ import annotations

import pytest

from chatmemory.core.units import Calls, Size, Unit, id_key, result_key, size_of, units_of
from tests.core.building import entries, message, shown_units, window_of

Waiting = dict[str, tuple[int, ...]]


def _units(labels: str) -> list[Unit]:
    return list(units_of(entries(labels)))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("", ""),
        ("U A", "U | A"),
        ("U C(a,b) R1=a@2 R2=b@2 A", "U | C R1 R2 | A"),
        ("U1 C(a,b) R2=b@2 U2 R1=a@2", "U1 | C R2 R1 | U2"),
        ("C1(a) C2(a) R1=a@2 R2=a@1", "C1 R2 | C2 R1"),
        ("C(a,b) U R=b@1", "C R | U"),
        ("U X A", "U | X | A"),
    ],
)
def test_a_unit_is_a_message_or_a_call_with_its_results(labels: str, expected: str) -> None:
    """A unit is one message, or a call message and all its results, however far from it they came."""
    assert expected == shown_units(_units(labels))


def test_the_system_message_is_no_unit() -> None:
    """The units of a window leave the system message out."""
    assert "U | A" == shown_units(window_of("U S A").units())


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("U", False),
        ("A", False),
        ("C(a)", True),
        ("C(a) R=a@1", False),
        ("C(a,b) R=b@1", True),
        ("C(a,a) R1=a@1", True),
        ("C(a,a) R1=a@1 R2=a@1", False),
        ("C(-,-) R1=-@1", True),
    ],
)
def test_a_unit_waits_while_a_result_is_missing(labels: str, expected: bool) -> None:  # noqa: FBT001 - a table's column
    """A unit waits as long as it has fewer results than calls."""
    assert expected == _units(labels)[0].waits


def test_a_unit_is_named_by_its_first_entry() -> None:
    """Seq and place of a unit are its call's; its newest result is found whatever the order of arrival."""
    unit = _units("U C(a,b) A R2=b@2 R1=a@2")[1]
    assert (2, 2, 5) == (unit.seq, unit.place, unit.newest_result)
    assert 0 == _units("U")[0].newest_result


def test_the_size_of_a_unit_is_that_of_all_its_entries() -> None:
    """Tokens and messages are summed over call and results."""
    unit = _units("C(a,b):5 R1=a@1:7 R2=b@1:11")[0]
    assert (Size(23, 3), 23) == (unit.size, unit.tokens)
    assert Size(0, 0) == size_of(())


def test_a_missing_id_and_an_empty_one_are_the_same() -> None:
    """Calls and results without id meet; all other ids are compared exactly."""
    assert id_key(None) == id_key("")
    assert id_key("a") != id_key("A")
    assert result_key(message("R=-")) == result_key(message("R=~"))
    assert "" == result_key(message("U"))


@pytest.mark.parametrize(
    ("labels", "waiting", "answered"),
    [
        ("U A", {}, {}),
        ("C(a)", {"a": (1,)}, {}),
        ("C(a) R=a@1", {}, {"a": 1}),
        ("C(a,b) R=b@1", {"a": (1,)}, {"b": 1}),
        ("C1(a) C2(a)", {"a": (1, 2)}, {}),
        ("C1(a) C2(a) R=a@2", {"a": (1,)}, {"a": 1}),
        ("C(a,a)", {"a": (1, 1)}, {}),
        ("C(a,a) R=a@1", {"a": (1,)}, {"a": 1}),
        ("C1(-) C2(~)", {"": (1, 2)}, {}),
        ("C1(a) R1=a@1 C2(a) R2=a@3", {}, {"a": 2}),
    ],
)
def test_calls_know_who_waits_and_who_is_answered(labels: str, waiting: Waiting, answered: dict[str, int]) -> None:
    """Per id, the units that wait once for each waiting call, and the number of results."""
    assert Calls(waiting, answered) == Calls.of(_units(labels))


@pytest.mark.parametrize(
    ("labels", "key", "expected"),
    [
        ("C1(a) C2(a)", "a", 2),
        ("C1(a) C2(a) R=a@2", "a", 1),
        ("C1(a) C2(b)", "a", 1),
        ("C1(a) R=a@1", "a", None),
        ("C1(-) C2(~) U", "", 2),
        ("C1(a)", "A", None),
        ("", "a", None),
    ],
)
def test_the_nearest_waiting_call_is_the_newest_with_that_id(labels: str, key: str, expected: int | None) -> None:
    """A result belongs to the nearest earlier call that has its id and no result yet."""
    assert expected == Calls.of(_units(labels)).nearest(key)


def test_an_answer_goes_to_the_nearest_call() -> None:
    """One answer takes one waiting call of the nearest unit, and leaves the others waiting."""
    calls = Calls.of(_units("C1(a) C2(a,a)"))
    assert Calls({"a": (1, 2)}, {"a": 1}) == calls.answer("a")
    assert Calls({}, {"a": 3}) == calls.answer("a").answer("a").answer("a")


def test_a_call_message_makes_all_its_calls_wait() -> None:
    """Calls of a new message stand behind those that wait already."""
    calls = Calls.none().made(3, message("C(a,b,a)").tool_calls)
    assert Calls({"a": (3, 3), "b": (3,)}, {}) == calls
    assert Calls({"a": (3, 3), "b": (3, 7)}, {}) == calls.made(7, message("C(b)").tool_calls)


@pytest.mark.parametrize("gone", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_what_leaves_neither_waits_nor_answers(gone: tuple[int, ...]) -> None:
    """Calls without some units are the calls of the others."""
    units = _units("C1(a,b) C2(a,a) C3(-) R1=a@2 R2=-@3 R3=b@1")
    stay = [unit for at, unit in enumerate(units) if at not in gone]
    assert Calls.of(stay) == Calls.of(units).without(units[at] for at in gone)
