"""The suite finds each planted fault by the test that is named for it, and finds none in a right store."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatmemory.errors import ChatMemoryError
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore
from chatmemory.testing.store_conformance import StoreConformance
from tests.stores.faulty import CAUGHT_BY, Wrapper

Wrap = Callable[[ChatMemoryStore], ChatMemoryStore]
NAMES = [faulty.__name__ for faulty in CAUGHT_BY]
FOUND = (AssertionError, ChatMemoryError, pytest.fail.Exception)


class Suite(StoreConformance):
    """The suite on SQLite files; it is called here test by test, never collected."""

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a right store."""
        return SqlChatMemoryStore(f"sqlite:///{place}/chat.db")


def run(wrap: Wrap, place: Path, name: str, parameters: dict[str, Any]) -> None:
    """Run one test of the suite on a wrapped store; another store that it opens is a right one."""
    suite = Suite()
    test = getattr(suite, name)
    with suite.open_store(place) as right, suite.open_store(place) as other:
        if "reopen" in inspect.signature(test).parameters:
            parameters = {**parameters, "reopen": lambda: other}
        test(store=wrap(right), **parameters)


@pytest.mark.parametrize("faulty", CAUGHT_BY, ids=NAMES)
def test_a_faulty_store_is_caught(faulty: type[Wrapper], tmp_path: Path) -> None:
    """The named test fails on the store that has the fault."""
    name, parameters = CAUGHT_BY[faulty]
    with pytest.raises(FOUND):
        run(faulty, tmp_path, name, parameters)


@pytest.mark.parametrize(("name", "parameters"), CAUGHT_BY.values(), ids=NAMES)
@pytest.mark.parametrize("wrap", [Wrapper, lambda store: store], ids=["wrapped", "bare"])
def test_a_right_store_is_not(wrap: Wrap, name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    """The same test passes on a right store, so it is the fault that it finds."""
    run(wrap, tmp_path, name, parameters)


def test_every_fault_is_listed() -> None:
    """No faulty store is planted without a test that is to catch it."""
    assert set(Wrapper.__subclasses__()) == set(CAUGHT_BY)
