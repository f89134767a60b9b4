"""The suite that every store passes, ours and other people's: subclass it, and say how a store is opened.

Decides: what the tests are given. The tests themselves stand in the `store_…` files beside, by what they are about.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import pytest

from chatmemory.stores.base import ChatMemoryStore
from chatmemory.testing.store_commits import CommitsWhole, TakesManyWriters
from chatmemory.testing.store_entries import KeepsEntries, KeepsHistory
from chatmemory.testing.store_life import KeepsConversationsApart, OpensAndCloses
from chatmemory.testing.store_owners import KnowsOwners, Redacts


class StoreConformance(
    KeepsEntries,
    KeepsHistory,
    CommitsWhole,
    TakesManyWriters,
    KeepsConversationsApart,
    KnowsOwners,
    Redacts,
    OpensAndCloses,
    ABC,
):
    """The suite. A subclass whose name begins with ``Test`` is what pytest collects.

    Attributes:
        data_outlives_store: False for a store that keeps its data itself: tests that open the data a second time are
            then skipped.

    Example:
        >>> class TestMyStore(StoreConformance):
        ...     def open_store(self, place):
        ...         return MyStore(place / "chat.db")
    """

    data_outlives_store: ClassVar[bool] = True

    @abstractmethod
    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a new store object on the data at `place`, an empty folder of this test's own at first.

        A store that does not keep files may take `place` for a name: the same place is the same data.
        """

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[ChatMemoryStore]:
        """A store on empty data."""
        with self.open_store(tmp_path) as store:
            yield store

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Callable[[], ChatMemoryStore]]:
        """Opens one more store on the data of `store`."""
        if not self.data_outlives_store:
            pytest.skip("the store keeps its data itself, so it cannot be opened a second time")
        with ExitStack() as opened:
            yield lambda: opened.enter_context(self.open_store(tmp_path))
