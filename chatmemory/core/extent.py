"""Where a window lies in its history, so that a store reads it without walking the history.

Decides: `first_seq` and `kept_seqs`. A load reads the range from `first_seq` on, and the kept seqs by key. The range
may hold some entries that have left: up to 64 and a quarter of the window. Beyond, the oldest are kept by key instead,
so that a load costs the same however long the history is. Moving the bound costs a pass over the window, and is due
only after that many entries have left: amortised, a step or two an add.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from chatmemory.core.entries import Entry, Extent

DEAD_ALLOWED: Final = 64


def follow(extent: Extent, entries: tuple[Entry, ...], gone: AbstractSet[int], next_seq: int) -> Extent:
    """Return the extent of a window of `entries`, once the seqs in `gone` have left it."""
    kept = extent.kept_seqs
    if gone and kept:
        kept = tuple(seq for seq in kept if seq not in gone)
    live = len(entries) - len(kept)
    dead = next_seq - extent.first_seq - live
    if dead > _allowed(live):
        return _cut(sorted(entry.seq for entry in entries), next_seq)
    return extent if kept == extent.kept_seqs else Extent(extent.first_seq, kept)


def _allowed(live: int) -> int:
    return DEAD_ALLOWED + live // 4


def _cut(seqs: list[int], next_seq: int) -> Extent:
    # Half of what is allowed, so that many more must leave before the next pass.
    for index, seq in enumerate(seqs):
        live = len(seqs) - index
        if next_seq - seq - live <= _allowed(live) // 2:
            return Extent(seq, tuple(seqs[:index]))
    return Extent(next_seq, tuple(seqs))
