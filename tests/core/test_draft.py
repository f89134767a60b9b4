"""A draft: how the steps of one operation become one change (R9, R11)."""

from __future__ import annotations

from chatmemory.core.draft import Draft
from chatmemory.core.entries import Extent, Limit, Refusal, Removal
from chatmemory.strategies import SlidingWindow, TokenBudget
from tests.core.building import AT, FIFO, Life, left, message, window_of


def _draft() -> Draft:
    return Draft(window_of("S:1 U:2 A:4"), AT, "size")


def test_a_draft_that_nothing_entered_or_left_is_no_change() -> None:
    """The change is false, its version is the old one, and the window is as it was."""
    draft = _draft()
    draft.refuse([Refusal(2, ("current_request",))])
    window, change = draft.finish("key")
    assert (draft.window.entries, 1, 4) == (window.entries, window.version, window.next_seq)
    assert (False, 1, None, (), (), (), ()) == (
        bool(change),
        change.version,
        change.seq,
        change.added,
        change.removed,
        change.refused,
        change.written,
    )


def test_a_message_gets_the_next_seq_and_the_next_version() -> None:
    """An entry has the seq after the newest, the version that the change will make, and who counted it."""
    draft = _draft()
    entry = draft.enter(message("U9:8"), 8)
    assert (4, 2, 8, "size", None, None, AT) == (
        entry.seq,
        entry.entered,
        entry.tokens,
        entry.counter,
        entry.left,
        entry.call_seq,
        entry.added_at,
    )


def test_what_was_not_counted_names_no_counter() -> None:
    """An entry without tokens has no counter, so that nobody takes it for counted (R10)."""
    entry = _draft().enter(message("U9"), None)
    assert (None, None) == (entry.tokens, entry.counter)


def test_what_enters_stands_in_the_change() -> None:
    """Added and written hold the new entry; tokens, next seq and version are those afterwards."""
    draft = _draft()
    draft.window = draft.window.joined(draft.enter(message("U9:8"), 8))
    window, change = draft.finish("key")
    assert ([4], [4], 4) == ([e.seq for e in change.added], [e.seq for e in change.written], change.seq)
    assert (2, 18, 5, "key", AT) == (change.version, change.tokens, change.next_seq, change.commit_id, change.at)
    assert (2, 18, 0, False) == (window.version, window.tokens, window.arriving, window.evicting)
    assert (Limit(), Extent()) == (change.limit, change.extent)


def test_what_leaves_stands_in_the_change_with_its_life() -> None:
    """A removal tells seq, reason, both versions and tokens; nothing of it is written anew."""
    draft = _draft()
    unit = draft.window.unit_at(3)
    draft.leave(unit.entries, "budget")
    draft.window = draft.window.without([unit])
    window, change = draft.finish("key")
    assert ((Removal(3, "budget", 1, 2, 4),), ()) == (change.removed, change.written)
    assert (True, None, 2, 6) == (bool(change), change.seq, len(window), change.tokens)


def test_what_never_got_in_is_written_with_its_reason() -> None:
    """An entry that enters and leaves in one change is in the history, with one version for both (R9)."""
    draft = _draft()
    entry = draft.enter(message("R=a"), 1)
    draft.leave((entry,), "orphan")
    draft.window = draft.window.passing(entry.seq)
    window, change = draft.finish("key")
    assert [(4, 2, 2, "orphan")] == [(e.seq, e.entered, e.left, e.reason) for e in change.written]
    assert ((), {4: "orphan"}, 5) == (change.added, left(change), window.next_seq)


def test_a_refusal_is_told_once() -> None:
    """The same refusal of several steps of one operation stands in the change once."""
    draft = _draft()
    draft.window = draft.window.joined(draft.enter(message("A9"), 1))
    draft.refuse([Refusal(2, ("current_request",))])
    draft.refuse([Refusal(2, ("current_request",)), Refusal(3, ("turn",))])
    assert (Refusal(2, ("current_request",)), Refusal(3, ("turn",))) == draft.finish("key")[1].refused


def test_oversize_is_about_the_messages_of_this_change() -> None:
    """A change is oversize where one of its own messages did not get in, not where an older one was cut away."""
    life = Life.under(TokenBudget(40))
    life.add("U:20")
    assert life.add("U:38").oversize
    cut = life.add("S:30")
    assert {1: "oversize"} == left(cut)
    assert not cut.oversize


def test_a_message_that_came_and_went_in_one_extend_is_not_added() -> None:
    """`added` holds what is in the window afterwards; what left again on the way is among the removed."""
    change = Life.under(SlidingWindow(1), guards=FIFO).add("U1 U2 U3")
    assert ([3], [1, 2, 3]) == ([e.seq for e in change.added], [e.seq for e in change.written])
    assert ({1: "budget", 2: "budget"}, False) == (left(change), change.oversize)
    assert [(1, 1), (1, 1)] == [(removal.entered, removal.left) for removal in change.removed]


def test_one_operation_is_one_version() -> None:
    """However many messages an extend adds, it makes one version; each add makes its own (R11)."""
    life = Life.under(SlidingWindow(3))
    assert [1, 2] == [life.add("S U1 A1 U2").version, life.add("A2").version]


def test_each_message_has_a_place_in_the_history() -> None:
    """Every message but a repeated system message gets a seq, whether it gets in or not (R9)."""
    life = Life.under(TokenBudget(40))
    labels = "S:5 S:5 U:10 R=x C(a):5 R1=a:5 R2=a:5 U2:90 S:5 A:5"
    written = [entry for change in life.add_each(labels) for entry in change.written]
    assert [1, 2, 3, 4, 5, 6, 7, 8] == [entry.seq for entry in written]
    expected = [None, None, "orphan", None, None, "duplicate", "oversize", None]
    assert expected == [entry.reason for entry in written]


def test_a_change_shows_no_conversation_text() -> None:
    """Reprs of a change and of its entries give numbers only."""
    change = Life.under(TokenBudget(40)).add("U:38 A:3")
    assert "<Change to version 1: 1 added, 1 removed, 0 refused, 6 tokens>" == repr(change)
    assert "<Entry 1 user, 38 tokens, version 1, left at 1: oversize>" == repr(change.written[0])
