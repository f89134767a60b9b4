"""The extent: a window is found in its history by a range and a few keys, however long the history is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmemory import SlidingWindow
from chatmemory.core.entries import Entry, Extent
from chatmemory.core.extent import DEAD_ALLOWED, follow
from tests.conversations import conversations
from tests.core.building import Life, entry


def _line(seqs: list[int]) -> tuple[Entry, ...]:
    return tuple(entry(seq, "A") for seq in seqs)


def covered(extent: Extent, seqs: list[int]) -> bool:
    """Whether range and keys together hold every one of `seqs`, and no seq is a key that the window does not hold."""
    kept = set(extent.kept_seqs)
    return all(seq >= extent.first_seq or seq in kept for seq in seqs) and kept <= set(seqs)


def dead_rows(extent: Extent, seqs: list[int], next_seq: int) -> int:
    """How many rows a load reads for nothing."""
    return next_seq - extent.first_seq - sum(seq >= extent.first_seq for seq in seqs)


def is_bounded(extent: Extent, seqs: list[int], next_seq: int) -> bool:
    """Whether a load reads no more for nothing than is allowed beside the window's own range."""
    live = sum(seq >= extent.first_seq for seq in seqs)
    return dead_rows(extent, seqs, next_seq) <= DEAD_ALLOWED + live // 4


@pytest.mark.parametrize(
    ("seqs", "next_seq", "expected"),
    [
        ([], 1, Extent()),
        ([1, 2, 3], 4, Extent()),
        ([65, 66, 67], 68, Extent()),
        ([1], 66, Extent()),
        ([1], 67, Extent(67, (1,))),
        ([], 65, Extent()),
        ([], 66, Extent(66)),
        ([1, 70, 71, 72], 73, Extent(70, (1,))),
        ([1, 2, 90, 91], 92, Extent(90, (1, 2))),
        ([1, 60, 90, 91], 92, Extent(60, (1,))),
    ],
)
def test_the_bound_moves_when_too_much_has_left(seqs: list[int], next_seq: int, expected: Extent) -> None:
    """Up to 64 dead rows and a quarter of the live ones are read; beyond, the oldest entries become keys."""
    assert expected == follow(Extent(), _line(seqs), set(), next_seq)


def test_what_left_is_no_key_any_more() -> None:
    """A kept seq that leaves is kept no longer, and the bound stays where it is."""
    assert Extent(90, (2,)) == follow(Extent(90, (1, 2)), _line([2, 90, 91]), {1}, 92)
    assert Extent(90, (1, 2)) == follow(Extent(90, (1, 2)), _line([1, 2, 90]), {91}, 92)


def test_an_extent_that_needs_no_change_is_the_same() -> None:
    """Nothing is made anew where nothing changed."""
    extent = Extent(90, (1,))
    assert extent is follow(extent, _line([1, 90, 91]), set(), 92)


def test_after_the_bound_moved_many_may_leave_before_it_moves_again() -> None:
    """A pass over the window is due once in at least half of what is allowed, not with every change."""
    extent, moves = Extent(), 0
    for seq in range(1, 1001):
        after = follow(extent, _line([1, *range(max(2, seq - 9), seq + 1)]), {max(1, seq - 10)}, seq + 1)
        moves += after.first_seq != extent.first_seq
        extent = after
    assert moves <= 1000 // (DEAD_ALLOWED // 2)
    assert (1,) == extent.kept_seqs


steps = st.lists(
    st.tuples(
        st.integers(0, 60), st.sets(st.integers(0, 40), max_size=20), st.sampled_from(["random", "oldest", "all"])
    ),
    max_size=25,
)


@given(steps)
def test_extents_cover_windows_and_little_else(given_steps: list[tuple[int, set[int], str]]) -> None:
    """Whatever comes and goes, the extent covers the window, its keys are live, and dead rows are bounded."""
    extent, seqs, next_seq = Extent(), list[int](), 1
    for coming, choice, way in given_steps:
        seqs += range(next_seq, next_seq + coming)
        next_seq += coming
        gone = _leaving(seqs, choice, way)
        seqs = [seq for seq in seqs if seq not in gone]
        extent = follow(extent, _line(seqs), gone, next_seq)
        assert covered(extent, seqs)
        assert is_bounded(extent, seqs, next_seq)


def _leaving(seqs: list[int], choice: set[int], way: str) -> set[int]:
    if way == "all":
        return set(seqs)
    if way == "oldest":
        return set(seqs[1 : 1 + 3 * len(choice)])
    return {seq for at, seq in enumerate(seqs) if at in choice}


@given(st.lists(conversations(max_parts=3), max_size=5), st.integers(1, 6))
def test_every_change_carries_an_extent_that_covers_its_window(lives: list[list[object]], limit: int) -> None:
    """What a store is told with each change finds the whole window again."""
    life = Life.under(SlidingWindow(limit))
    for several in lives:
        change = life.add_messages(several)  # type: ignore[arg-type] # messages, drawn as such
        seqs = [one.seq for one in life.window]
        assert change.extent == life.window.extent
        assert covered(change.extent, seqs)
        assert is_bounded(change.extent, seqs, change.next_seq)


def test_a_long_conversation_is_found_by_few_rows() -> None:
    """After 2,000 messages a window of five with its system message is a range of few rows and one key."""
    life = Life.under(SlidingWindow(5))
    life.add("S")
    for at in range(1000):
        life.add(f"U{at} A{at}")
    extent = life.window.extent
    assert (1,) == extent.kept_seqs
    assert life.window.next_seq - extent.first_seq <= DEAD_ALLOWED + 5


def test_the_history_may_grow_by_what_never_gets_in() -> None:
    """Orphans are dead rows too: a thousand of them leave the extent of a quiet window bounded."""
    life = Life.under(SlidingWindow(5))
    life.add("S U")
    for _ in range(200):
        life.add("R=a R=b R=a R=- R=~")
    assert "S U" == life.shown
    assert (1, 2) == life.window.extent.kept_seqs
    assert is_bounded(life.window.extent, [1, 2], life.window.next_seq)
