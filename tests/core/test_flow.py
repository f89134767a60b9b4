"""Flows: what each operation asks for, and what is left behind when a request fails (R10, R11)."""

from __future__ import annotations

import pytest

from chatmemory.core import flow
from chatmemory.errors import NotInHistoryError, StoreError, WindowOverflowError
from tests.conversations import SizeCounter
from tests.core.building import left, messages, shown
from tests.core.driving import Writer, away, budget, last, resized, writer


class CounterFailedError(Exception):
    """A counter's own error."""


def state(one: Writer) -> tuple[object, ...]:
    """What a writer holds and what is stored, to compare before and after."""
    window = one.session.window
    return one.shown, window and window.version, one.session.epoch, one.stored, len(one.history)


def test_the_first_add_loads_once() -> None:
    """The first operation asks for the counter and the window once; the next ones read nothing."""
    one = writer(budget(40))
    one.add("U:10")
    assert ["Measure", "Load", "Count", "Commit"] == one.asked
    one.asked.clear()
    one.add("A:10")
    one.current()
    assert ["Count", "Commit"] == one.asked


def test_an_empty_window_is_a_window() -> None:
    """A conversation that has no message is loaded once, not before every operation."""
    one = writer(last(5))
    one.current()
    one.current()
    one.run(flow.resize(one.session, resized(one, max_messages=6), one.moment()))
    one.run(flow.clear(one.session, one.moment()))
    assert ["Measure", "Load"] == one.asked


def test_an_extend_is_one_commit() -> None:
    """Messages that are given together are counted one by one and committed once (R11)."""
    one = writer(budget(40))
    change = one.add("S:1 U:10 A:10")
    assert (1, 3, ["Commit"]) == (change.version, len(change.added), one.asked[-1:])
    assert 1 == one.asked.count("Commit")
    assert "S U A" == one.stored


def test_what_changes_nothing_is_not_committed() -> None:
    """The same system message, an empty extend and a resize that nothing leaves for are no versions (R2, R11)."""
    one = writer(budget(40))
    one.add("S:1 U:10")
    one.asked.clear()
    assert not one.add("S:1")
    assert not one.add_messages(())
    assert not one.run(flow.resize(one.session, resized(one, max_tokens=50), one.moment()))
    assert ([], 1) == (one.asked, one.current().version)


def test_each_message_is_counted_once() -> None:
    """Counts are stored and reused, in this session and by another one with the same counter (R10)."""
    one = writer(budget(40))
    one.add("U:10 A:10")
    one.add("U2:10 A2:10")
    assert 4 == one.counter.questions
    other = writer(budget(40), on=one, counter=SizeCounter())
    other.counter.locked = True
    assert (33, "A U2 A2") == (other.current().tokens, other.shown)


def test_a_system_message_that_is_there_is_not_counted() -> None:
    """What changes nothing costs no question to the counter either."""
    one = writer(budget(40))
    one.add("S:5 S:5 U:5 S:5")
    assert 2 == one.counter.questions


def test_another_counters_counts_are_counted_again() -> None:
    """Where the counter's name differs, the window is counted once when it is loaded, and limits use the new counts."""
    first = writer(budget(40), counter=SizeCounter("words"))
    first.add("U:10 A:10")
    other = writer(budget(40), on=first, counter=SizeCounter("letters"))
    window = other.current()
    assert (2, 23) == (other.counter.questions, window.tokens)
    assert ["letters", "letters"] == [entry.counter for entry in window]
    other.add("U2:1")
    assert 3 == other.counter.questions


def test_only_another_counters_counts_are_counted_again() -> None:
    """In a window that two counters wrote, each reader counts what the other one counted, and nothing else."""
    first = writer(budget(40), counter=SizeCounter("words"))
    first.add("U:10")
    writer(budget(40), on=first, counter=SizeCounter("letters")).add("A:10")
    third = writer(budget(40), on=first, counter=SizeCounter("letters"))
    assert (23, 1) == (third.current().tokens, third.counter.questions)


def test_a_window_that_was_never_counted_is_counted_for_a_limit() -> None:
    """A conversation of a message window is counted when a memory with a token limit opens it."""
    first = writer(last(5))
    first.add("U:10 A:10")
    other = writer(budget(40), on=first)
    assert (23, 2) == (other.current().tokens, other.counter.questions)


def test_nothing_is_counted_without_a_limit() -> None:
    """No question goes to a counter where no limit and no counter is set."""
    one = writer(last(5))
    one.counter.locked = True
    change = one.add("U:10")
    assert (None, None) == (change.tokens, change.written[0].counter)


@pytest.mark.parametrize("given", ["U2:1", "S:1 U2:1", "C(a):1 R=a:1"])
def test_a_counter_that_raises_changes_nothing(given: str) -> None:
    """An error in the middle of an extend leaves memory and store as they were, and the same call works later (R11)."""
    one = writer(budget(40))
    one.add("U:10")
    before = state(one)
    one.trouble("Count", *[None] * (len(given.split()) - 1), CounterFailedError())
    with pytest.raises(CounterFailedError):
        one.add(given)
    assert before == state(one)
    assert 2 == one.add(given).version


def test_a_counter_that_cannot_be_made_is_asked_for_again() -> None:
    """Where the meter fails, nothing is loaded or kept, and the next operation asks again."""
    one = writer(budget(40))
    one.trouble("Measure", CounterFailedError())
    with pytest.raises(CounterFailedError):
        one.add("U:1")
    assert "U" == shown(one.add("U:1").added)


def test_a_store_that_is_away_at_load_changes_nothing() -> None:
    """The error comes out as it is, and the next operation loads (R11)."""
    one = writer(budget(40))
    one.trouble("Load", away())
    with pytest.raises(StoreError, match="away"):
        one.add("U:1")
    assert one.session.window is None
    assert ("U", 1) == (shown(one.add("U:1").added), len(one.history))


def test_a_store_that_refuses_a_commit_changes_nothing() -> None:
    """The session is as it was, without another load, and the same call works later (R11)."""
    one = writer(budget(40))
    one.add("U:10")
    before = state(one)
    one.trouble("Commit", away())
    with pytest.raises(StoreError) as caught:
        one.add("A:10")
    assert (False, before) == (caught.value.outcome_unknown, state(one))
    one.asked.clear()
    assert 2 == one.add("A:10").version
    assert ["Count", "Commit"] == one.asked


def test_an_error_of_the_window_changes_nothing() -> None:
    """A message that raises is given up with all of its extend, and nothing is committed."""
    one = writer(budget(40, overflow="raise"))
    one.add("U:10")
    before = state(one)
    with pytest.raises(WindowOverflowError):
        one.add("A:5 C(a):40")
    assert before == state(one)


def test_set_keeps_the_common_prefix() -> None:
    """Entries of the longest common prefix stay, the rest leaves as ``set``, the others are added and counted."""
    one = writer(budget(99))
    one.add("S:1 U1:1 A1:1 U2:1")
    change = one.run(flow.replace(one.session, tuple(messages("S:1 U1:1 A9:1")), one.moment()))
    assert ({3: "set", 4: "set"}, [5], 2) == (left(change), [e.seq for e in change.added], change.version)
    assert ("S U1 A9", 5) == (one.stored, one.counter.questions)


def test_set_to_what_is_there_changes_nothing() -> None:
    """The messages of the window, a late result in its place among them, given back make no version (R11)."""
    one = writer(last(9))
    one.add("S U1 C(a) U2 R=a")
    window = one.current()
    assert not one.run(flow.replace(one.session, tuple(window.messages()), one.moment()))
    assert 1 == one.current().version


def test_set_inside_an_exchange_lets_its_call_wait_again() -> None:
    """A result that is set anew is a new entry behind the call that stayed."""
    one = writer(last(9))
    one.add("U C(a,b) R1=a R2=b A")
    change = one.run(flow.replace(one.session, tuple(messages("U C(a,b) R1=a R3=b")), one.moment()))
    assert ({4: "set", 5: "set"}, "U C R1 R3") == (left(change), one.shown)


def test_set_to_nothing_empties_the_window() -> None:
    """An empty list lets everything leave, the system message too."""
    one = writer(last(9))
    one.add("S U")
    assert {1: "set", 2: "set"} == left(one.run(flow.replace(one.session, (), one.moment())))
    assert ("", 2) == (one.shown, len(one.history))


def test_clear_empties_the_window_and_keeps_the_history() -> None:
    """Every entry leaves as ``cleared``, a second time there is nothing to change, and seqs go on."""
    one = writer(last(9))
    one.add("S U A")
    assert dict.fromkeys((1, 2, 3), "cleared") == left(one.run(flow.clear(one.session, one.moment())))
    assert not one.run(flow.clear(one.session, one.moment()))
    assert (2, 3) == (one.current().version, len(one.history))
    assert 4 == one.add("S").seq


def test_delete_makes_an_empty_new_conversation() -> None:
    """After a delete the history is gone, versions and seqs begin anew, and the epoch is another."""
    one = writer(last(9))
    one.add("S U A")
    epoch = one.session.epoch
    assert one.run(flow.delete(one.session))
    assert not one.run(flow.delete(one.session))
    assert ("", 0, []) == (shown(one.current()), one.current().version, one.history)
    change = one.add("U9")
    assert (1, 1) == (change.version, change.seq)
    assert epoch != one.session.epoch


def test_a_delete_that_fails_changes_nothing() -> None:
    """Where the store is away, the session goes on with what it had."""
    one = writer(last(9))
    one.add("U")
    one.trouble("Delete", away())
    with pytest.raises(StoreError):
        one.run(flow.delete(one.session))
    assert ("U", "U") == (one.shown, one.stored)


def test_the_window_of_each_version_can_be_read() -> None:
    """`window_at` gives the window as it was, under today's limit; an unknown version is an error."""
    one = writer(last(3))
    shown_then = list[str]()
    for label in ("S", "U1", "C(a)", "R=a", "A", "S2"):
        one.add(label)
        shown_then.append(one.shown)
    read = [shown(one.run(flow.window_at(one.session, version))) for version in range(1, 7)]
    assert shown_then == read
    assert 0 == len(one.run(flow.window_at(one.session, 0)))
    with pytest.raises(NotInHistoryError):
        one.run(flow.window_at(one.session, 7))


def test_the_history_is_read_in_pages() -> None:
    """Entries come by seq, in the window or not, from a seq on and no more than asked for."""
    one = writer(last(1))
    one.add("U1 U2 U3")
    assert [2, 3] == [entry.seq for entry in one.run(flow.history(one.session, 1, 5))]
    assert [(1, 1, "budget")] == [(e.seq, e.left, e.reason) for e in one.run(flow.history(one.session, 0, 1))]
