"""What tests of memories share: how memories are made and called, and where they keep conversations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from attrs import define, field, frozen

from chatmemory import ChatMemory, MessageWindowChatMemory, TokenWindowChatMemory
from chatmemory.stores import ChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore


@frozen
class Api:
    """The memories under test. Tests make them by these names only, so that one text serves every kind of them."""

    memory: type[ChatMemory] = ChatMemory
    token_window: type[TokenWindowChatMemory] = TokenWindowChatMemory
    message_window: type[MessageWindowChatMemory] = MessageWindowChatMemory


APIS = {"sync": Api()}


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    """Every way of calling a memory."""
    return APIS[request.param]


@define
class Place:
    """Where conversations are kept, in memory or in a file, and can be opened again from."""

    path: Path | None
    _kept: InMemoryChatMemoryStore = field(factory=InMemoryChatMemoryStore, init=False)
    _opened: ExitStack = field(factory=ExitStack, init=False)

    def open(self) -> ChatMemoryStore:
        """Return a store with what was stored here: a new one for a file, the same one in memory."""
        if self.path is None:
            return self._kept
        return self._opened.enter_context(SqlChatMemoryStore(f"sqlite:///{self.path}"))

    def close(self) -> None:
        """Close every store that was opened here on a file; one in memory lives on."""
        self._opened.close()


@pytest.fixture(params=["in memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Each kind of place."""
    here = Place(tmp_path / "chat.db" if request.param == "sqlite" else None)
    yield here
    here.close()


@pytest.fixture
def store(place: Place) -> ChatMemoryStore:
    """An empty store of each kind."""
    return place.open()


@pytest.fixture
def rank_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tokenizer's data come out of the `offline` extra, into a folder of the test."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "ranks"))
