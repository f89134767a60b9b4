"""Errors of drivers → errors of this library: what happened, where, and the remedy. No driver's text is parsed.

Decides: which result codes mean what, which of them may pass (`transient`), and after which ones of a COMMIT nobody
knows whether it happened (R11). The driver's error becomes the cause of what is raised.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from attrs import frozen
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from chatmemory.errors import ConflictError, CorruptedConversationError, StoreError
from chatmemory.stores._sql_deadlines import NoAnswerError


class TooLargeError(Exception):
    """A statement is larger than what the server reads."""


FAILURES: Final = (SQLAlchemyError, NoAnswerError, TooLargeError, UnicodeError, OverflowError)
"""What SQLAlchemy and deadlines raise, and drivers of a value they cannot hold. The driver's ``Error`` comes beside."""

Code = int | str
"""SQLite's result code, PostgreSQL's SQLSTATE, or MariaDB's and MySQL's error number."""


@frozen
class Meaning:
    """What a code means.

    Attributes:
        text: What happened and the remedy.
        transient: Whether the same may succeed in a moment.
        undone: Whether the database says it only of a transaction that is not there, also where it says so at COMMIT.
        lost: Whether the connection is of no use any more.
    """

    text: str
    transient: bool = False
    undone: bool = True
    lost: bool = False


def _passing(text: str) -> Meaning:
    return Meaning(text, transient=True)


_LOST: Final = Meaning("has closed the connection, or cannot be reached", transient=True, undone=False, lost=True)
_SILENT: Final = Meaning(
    "did not answer in time: it is silent, or another transaction keeps a lock; let that one end, and try again",
    transient=True,
    undone=False,
    lost=True,
)
_DEADLOCK: Final = _passing("had a deadlock with another writer; try again")
_RACE: Final = _passing("let another writer go first; try again")
_LOCKED: Final = _passing("kept a row locked for too long; let the other transaction end, and try again")
_CROWDED: Final = _passing("takes no more connections; make the pools of its clients smaller, or its own limit larger")
_FULL: Final = Meaning("has no room left; free some space on its disk")
_READ_ONLY: Final = Meaning("is read-only; use the primary, or make it writable", lost=True)
_FORBIDDEN: Final = Meaning("does not let this user do that; grant the right to read, write and create tables")
_REFUSED: Final = Meaning("does not let this user in; check name, password and the server's rules")
_UNKNOWN: Final = Meaning("has no database of this name; create it first")
_TOO_LARGE: Final = Meaning("cannot hold a value of this size; shorten the message, or raise the server's limit")
_SLOW: Final = _passing("broke off a statement that took too long; try again, or allow it more time")
_ALONE: Final = "has lost its cluster: this node may not write; wait until it has joined again, or use another"
_NO_QUORUM: Final = Meaning(_ALONE, transient=True, lost=True)
_POOLED: Final = Meaning(
    "is behind a pooler that keeps no prepared statements; make the engine with "
    'connect_args={"prepare_threshold": None}'
)

_SQLITE: Final[dict[Code, Meaning]] = {
    sqlite3.SQLITE_PERM: Meaning("may not be used by this user; change the permissions of the file and its folder"),
    sqlite3.SQLITE_BUSY: _passing(
        "stayed locked by another program; let that one end its transaction, or wait longer (conflict_timeout_seconds)"
    ),
    sqlite3.SQLITE_LOCKED: _passing("stayed locked by another connection of this program; end that one's transaction"),
    sqlite3.SQLITE_READONLY: Meaning("is read-only; make the file and its folder writable, or give another path"),
    sqlite3.SQLITE_IOERR: Meaning("could not be read or written by the operating system; check the disk", undone=False),
    sqlite3.SQLITE_CORRUPT: Meaning("is damaged; restore it from a backup", undone=False),
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CANTOPEN: Meaning(
        "cannot be opened; give the path of a file, not of a folder, in a folder that exists and that this user may "
        "write to",
        undone=False,
    ),
    sqlite3.SQLITE_TOOBIG: Meaning("cannot hold a value of this size; shorten the message"),
    sqlite3.SQLITE_NOTADB: Meaning("is no SQLite database; give another path"),
}
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL: Final[dict[Code, Meaning]] = {
    "40P01": _DEADLOCK,
    "40001": _RACE,
    "55P03": _LOCKED,
    "57014": _SLOW,
    "53300": _CROWDED,
    "53100": _FULL,
    "53200": _passing("has no memory left; try again"),
    "25006": _READ_ONLY,
    "42501": _FORBIDDEN,
    "28000": _REFUSED,
    "28P01": _REFUSED,
    "3D000": _UNKNOWN,
    "54000": _TOO_LARGE,
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": _LOST,
    "57P05": _LOST,
    "25P03": _LOST,
    "25P04": _LOST,
    "08000": _LOST,
    "08001": _LOST,
    "08003": _LOST,
    "08004": _LOST,
    "08006": _LOST,
    "08007": _LOST,
    "08P01": _LOST,  # what PgBouncer ends a connection with
    "26000": _POOLED,
    "42P05": _POOLED,
}
# https://mariadb.com/kb/en/mariadb-error-code-reference/; 2000 and above come from the client.
_MYSQL: Final[dict[Code, Meaning]] = {
    1213: _DEADLOCK,
    1020: _RACE,
    1412: _RACE,
    1205: _LOCKED,
    1969: _SLOW,
    3024: _SLOW,
    1040: _CROWDED,
    1203: _CROWDED,
    1226: _CROWDED,
    1021: _FULL,
    1114: _FULL,
    1290: _READ_ONLY,
    1792: _READ_ONLY,
    1836: _READ_ONLY,
    1044: _FORBIDDEN,
    1142: _FORBIDDEN,
    1045: _REFUSED,
    1049: _UNKNOWN,
    1153: _TOO_LARGE,
    1301: _TOO_LARGE,
    1406: _TOO_LARGE,
    1047: _NO_QUORUM,
    1180: Meaning(_ALONE, transient=True, undone=False, lost=True),  # it may have been sent to the others
    1053: _LOST,
    1077: _LOST,
    1927: _LOST,
    2002: _LOST,
    2003: _LOST,
    2006: _LOST,
    2013: _LOST,
    2014: _LOST,
    2055: _LOST,
}
_MEANINGS: Final = {"sqlite": _SQLITE, "postgresql": _POSTGRESQL, "mysql": _MYSQL, "mariadb": _MYSQL}
_CONNECTION_ERRORS: Final = ("OperationalError", "InterfaceError")


def meaning_of(error: BaseException, database: str) -> Meaning | None:
    """Return what `error` means, which came out of a `database` of this kind; None where it has no code known here."""
    if isinstance(error, NoAnswerError):
        return _SILENT
    if isinstance(error, TooLargeError):
        return _TOO_LARGE
    driver_error = _driver_error(error)
    found = _MEANINGS[database].get(_code(driver_error, database))
    if found is None and _is_disconnect(error, driver_error, database):
        return _LOST
    return found


def translate(error: Exception, where: str, database: str, *, committing: bool = False) -> StoreError:
    """Return the error to raise from `error`, which came out of the database at `where`.

    A failed COMMIT has an unknown outcome, but where the code says that it did not happen.
    """
    if _code(_driver_error(error), database) == sqlite3.SQLITE_CONSTRAINT:
        return CorruptedConversationError(
            f"{where} has a row already that this change is to add: the conversation's rows contradict each other; "
            f"nothing changed; restore them from a backup"
        )
    if _is_integrity_error(error):
        return ConflictError(f"{where}: another writer made the same row first; load the conversation again")
    meaning = meaning_of(error, database) or Meaning(_other(error), undone=False)
    unknown = committing and not meaning.undone
    ending = "" if unknown else "; nothing changed"
    return StoreError(f"{where} {meaning.text}{ending}", outcome_unknown=unknown, transient=meaning.transient)


def is_transient(error: BaseException, database: str) -> bool:
    """Return whether the same may succeed in a moment."""
    found = meaning_of(error, database)
    return found is not None and found.transient


def is_lost(error: BaseException, database: str) -> bool:
    """Return whether the connection that `error` came out of is of no use any more."""
    found = meaning_of(error, database)
    return found is not None and found.lost


def _other(error: Exception) -> str:
    if isinstance(error, PoolTimeoutError):
        return "gave no connection in time; make the engine's pool larger"
    if isinstance(error, UnicodeError | OverflowError):
        return f"cannot hold one of the values ({type(error).__name__}), such as a count beyond 64 bits"
    return f"failed ({type(error).__name__}); the cause says why"


def _driver_error(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _code(error: BaseException, database: str) -> Code:
    if database == "sqlite":
        # An extended code holds the plain one in its low byte: https://sqlite.org/rescode.html
        code = getattr(error, "sqlite_errorcode", None)
        return code & 0xFF if isinstance(code, int) else 0
    if database == "postgresql":
        return str(getattr(error, "sqlstate", None) or "")
    number = getattr(error, "errno", None) or next(iter(error.args), 0)
    return number if isinstance(number, int) and number > 0 else 0


def _is_disconnect(error: BaseException, driver_error: BaseException, database: str) -> bool:
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if isinstance(driver_error, OSError):
        return True
    # psycopg has no code for a server that is gone, and PyMySQL says (0, '') of a connection that is closed.
    has_code = bool(_code(driver_error, database))
    return database != "sqlite" and not has_code and _is_a(driver_error, *_CONNECTION_ERRORS)


def _is_integrity_error(error: BaseException) -> bool:
    return _is_a(_driver_error(error), "IntegrityError")


def _is_a(error: BaseException, *names: str) -> bool:
    # PEP 249 gives the names, and each driver has classes of its own.
    return any(kind.__name__ in names for kind in type(error).__mro__)
