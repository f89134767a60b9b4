"""What happens to open connections when the process forks, and who may use a connection that is the only one.

Decides: that a child never uses, closes or inherits a connection of its parent to a file or a server; and that threads
take turns where a pool has one connection for all. SQLite's locks belong to the process and its in-process bookkeeping
does not, so an inherited connection would make the child believe in locks that it does not have
(https://sqlite.org/howtocorrupt.html, section 2.6). A database in memory is copied with the process, as any object is.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import Engine, Pool, StaticPool

_pooled: Final[WeakSet[Engine]] = WeakSet()
_turns: Final[WeakKeyDictionary[Engine, Any]] = WeakKeyDictionary()
_guard: Final = threading.Lock()
_held: Final[list[Any]] = []
_inherited: Final[list[Pool]] = []


def follow(engine: Engine) -> AbstractContextManager[Any]:
    """Look after `engine` at forks, and return what to hold during each of its transactions."""
    with _guard:
        if isinstance(engine.pool, StaticPool):
            turn: AbstractContextManager[Any] = _turns.setdefault(engine, threading.RLock())
            return turn
        _pooled.add(engine)
        return nullcontext()


def _before() -> None:
    _guard.acquire()
    for turn in list(_turns.values()):
        turn.acquire()
        _held.append(turn)
    for engine in list(_pooled):
        if engine.dialect.name == "sqlite":
            engine.dispose()


def _in_parent() -> None:
    while _held:
        _held.pop().release()
    _guard.release()


def _in_child() -> None:
    for engine in list(_pooled):
        _inherited.append(engine.pool)  # kept, since a connection that is forgotten is closed
        engine.dispose(close=False)
    _in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
