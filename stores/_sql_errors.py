"""Errors of drivers → errors of this library: what happened, where, and the remedy. No driver's text is parsed.

Decides: which result codes mean what, which of them are worth another try, and after which ones of a COMMIT nobody
knows whether it happened (R11). The driver's error becomes the cause of what is raised.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from chatmemory.errors import ConflictError, CorruptedConversationError, StoreError

FAILURES: Final = (SQLAlchemyError, UnicodeError, OverflowError)
"""What SQLAlchemy raises, and drivers where they cannot hold a value. The driver's own ``Error`` comes beside."""

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_SQLITE: Final[dict[int, str]] = {
    sqlite3.SQLITE_PERM: "may not be used by this user; change the permissions of the file and its folder",
    sqlite3.SQLITE_BUSY: "stayed locked by another program; let that one end its transaction, or wait longer "
    "(conflict_timeout_seconds)",
    sqlite3.SQLITE_LOCKED: "stayed locked by another connection of this program; end that one's transaction",
    sqlite3.SQLITE_READONLY: "is read-only; make the file and its folder writable, or give another path",
    sqlite3.SQLITE_IOERR: "could not be read or written by the operating system; check the disk",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore it from a backup",
    sqlite3.SQLITE_FULL: "has no room left; free some space on its disk",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; give the path of a file, not of a folder, in a folder that exists "
    "and that this user may write to",
    sqlite3.SQLITE_TOOBIG: "cannot hold a value of this size; shorten the message",
    sqlite3.SQLITE_NOTADB: "is no SQLite database; give another path",
}
_ROLLED_BACK: Final = _BUSY | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CONSTRAINT}
"""What SQLite says only of a COMMIT that did not happen."""


def is_busy(error: BaseException) -> bool:
    """Return whether another connection holds a lock, so that the same may succeed a little later."""
    return _sqlite_code(error) in _BUSY


def translate(error: Exception, where: str, *, committing: bool = False) -> StoreError:
    """Return the error to raise from `error`, which came out of the database at `where`.

    A failed COMMIT has an unknown outcome, but where the code says that it did not happen.
    """
    code = _sqlite_code(error)
    unknown = committing and code not in _ROLLED_BACK
    if code == sqlite3.SQLITE_CONSTRAINT:
        return CorruptedConversationError(
            f"{where} has a row already that this change is to add: the conversation's rows contradict each other; "
            f"nothing changed; restore them from a backup"
        )
    if _is_integrity_error(error):
        return ConflictError(f"{where}: another writer made the same row first; load the conversation again")
    if code in _SQLITE:
        return StoreError(f"{where} {_SQLITE[code]}; nothing changed", outcome_unknown=unknown)
    return StoreError(f"{where} {_other(error)}", outcome_unknown=unknown)


def _other(error: Exception) -> str:
    if isinstance(error, PoolTimeoutError):
        return "gave no connection in time; make the engine's pool larger; nothing changed"
    if isinstance(error, UnicodeError | OverflowError):
        return (
            f"cannot hold one of the values ({type(error).__name__}), such as a count beyond 64 bits; nothing changed"
        )
    return f"failed ({type(error).__name__}); the cause says why"


def _driver_error(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _sqlite_code(error: BaseException) -> int:
    # An extended code holds the plain one in its low byte: https://sqlite.org/rescode.html
    code = getattr(_driver_error(error), "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else 0


def _is_integrity_error(error: BaseException) -> bool:
    # PEP 249 gives the name, and each driver has a class of its own.
    return any(kind.__name__ == "IntegrityError" for kind in type(_driver_error(error)).__mro__)
