"""Stores that tell what they were asked, and stores that fail when they are told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

from tests.stores.passing import PassingStore


@define
class WatchedStore(PassingStore):
    """Passes everything on to a real store, and notes each call. The operations in `failing` raise the error instead.

    Attributes:
        calls: The names of the operations that were asked for, but for `now`, which reads and writes nothing.
        failing: What each operation raises before it reaches the store, by name.
        failing_after: What each operation raises once the store has done it, by name.
    """

    calls: list[str] = field(factory=list, init=False)
    failing: dict[str, Exception] = field(factory=dict, init=False)
    failing_after: dict[str, BaseException] = field(factory=dict, init=False)

    @contextmanager
    def _asked(self, name: str) -> Iterator[None]:
        self.calls.append(name)
        if name in self.failing:
            raise self.failing[name]
        yield
        if name in self.failing_after:
            raise self.failing_after[name]
