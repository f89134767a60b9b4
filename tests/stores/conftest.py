"""What the tests of the SQLite store share: a path, and a caller's engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is; there is none yet."""
    return tmp_path / "chat.db"


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    """An engine that a caller made; nothing is checked out afterwards."""
    engine = create_engine(f"sqlite:///{path}")
    yield engine
    assert engine.pool.status().endswith("Current Checked out connections: 0")
    engine.dispose()
