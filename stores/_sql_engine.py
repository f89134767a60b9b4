"""URL → engine: which driver, which settings, and how a transaction begins.

Decides: names of databases, SQLite's pragmas and its lock for writing. Here, and only here, databases differ.
A caller's engine keeps its own settings. Knows no tables.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from attrs import frozen
from sqlalchemy import URL, Dialect, Engine, StaticPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from chatmemory.errors import InvalidArgumentError, StoreError

_FIELD: Final = "url_or_engine"
_DRIVERS: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_INSTALL: Final = {
    "postgresql+psycopg": "psycopg[binary]",
    "mysql+pymysql": "PyMySQL",
    "mariadb+pymysql": "PyMySQL",
}
_EXAMPLES: Final = "a URL such as sqlite:///chat.db, or a SQLAlchemy Engine"


@frozen
class Dialogue:
    """How a database is talked to: the first words of a transaction, and the questions for names."""

    begin_read: str
    begin_write: str
    table_names: str
    column_names: str  # with {table}


_TABLES: Final = "SELECT table_name FROM information_schema.tables WHERE table_schema = "
_COLUMNS: Final = "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' AND table_schema = "
_MYSQL: Final = Dialogue(
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    "START TRANSACTION",
    f"{_TABLES}DATABASE()",
    f"{_COLUMNS}DATABASE()",
)
_DIALOGUES: Final = {
    "sqlite": Dialogue(
        "BEGIN",
        "BEGIN IMMEDIATE",
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
        "SELECT name FROM pragma_table_info('{table}')",
    ),
    "postgresql": Dialogue(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "BEGIN",
        f"{_TABLES}current_schema()",
        f"{_COLUMNS}current_schema()",
    ),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}


def dialogue_of(engine: Engine) -> Dialogue:
    """Return how the engine's database is talked to."""
    return _DIALOGUES[engine.dialect.name]


def engine_for(url_or_engine: str | URL | Engine, *, wait_seconds: float) -> tuple[Engine, bool]:
    """Return an engine, and whether it was made here. Nothing is opened.

    Raises:
        InvalidArgumentError: It is no URL and no engine of a database that this library knows.
        StoreError: The database's driver is not installed.
    """
    if isinstance(url_or_engine, Engine):
        _check_dialect(url_or_engine.dialect)
        return url_or_engine, False
    url = _url(url_or_engine)
    return (_sqlite_engine(url, wait_seconds) if url.get_backend_name() == "sqlite" else _engine(url)), True


def _url(value: object) -> URL:
    if not isinstance(value, str | URL):
        raise InvalidArgumentError(_FIELD, f"is of type {type(value).__name__}; give {_EXAMPLES}")
    try:
        url = make_url(value)
    except (ArgumentError, ValueError):
        url = None
    if url is None:  # outside, since SQLAlchemy's error quotes the URL, password included
        raise InvalidArgumentError(_FIELD, f"is no URL; give {_EXAMPLES}")
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    if url.get_backend_name() not in _DIALOGUES:
        raise InvalidArgumentError(_FIELD, f"names {url.drivername!r}; use one of {', '.join(sorted(_DIALOGUES))}")
    return url


def _check_dialect(dialect: Dialect | type[Dialect]) -> None:
    if dialect.is_async:
        raise InvalidArgumentError(_FIELD, f"has the driver {dialect.driver!r}, which is for asyncio; give {_EXAMPLES}")
    if dialect.name not in _DIALOGUES:
        raise InvalidArgumentError(_FIELD, f"is for {dialect.name}; use one of {', '.join(sorted(_DIALOGUES))}")


def _create(url: URL, **settings: Any) -> Engine:
    try:
        _check_dialect(url.get_dialect())
        return create_engine(url, **settings)
    except NoSuchModuleError:
        problem = f"names {url.drivername!r}, which SQLAlchemy does not know; give {_EXAMPLES}"
    except ModuleNotFoundError as error:
        package = _INSTALL.get(url.drivername, error.name)
        raise StoreError(f"the driver of {url.drivername} is not installed; pip install '{package}'") from error
    raise InvalidArgumentError(_FIELD, problem)


def _engine(url: URL) -> Engine:
    return _create(url, isolation_level="AUTOCOMMIT")


def _sqlite_engine(url: URL, wait_seconds: float) -> Engine:
    driver = {"timeout": wait_seconds, "check_same_thread": False, "isolation_level": None}
    if _is_in_memory(url):
        return _create(url, connect_args=driver, poolclass=StaticPool)
    engine = _create(url, connect_args=driver, pool_timeout=wait_seconds)

    @event.listens_for(engine, "connect")
    def _connected(connection: sqlite3.Connection, _record: object) -> None:
        _set_pragmas(connection)

    return engine


def _is_in_memory(url: URL) -> bool:
    name = url.database or ""
    return (
        name in ("", ":memory:")
        or "mode=memory" in name
        or name.startswith("file::memory:")
        or url.query.get("mode") == "memory"
    )


def _set_pragmas(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("PRAGMA synchronous=FULL").close()
        connection.execute("PRAGMA secure_delete=ON").close()
        connection.execute("PRAGMA journal_mode=WAL").close()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:  # which can still be read, as it is
            connection.close()
            raise


def take_over(connection: Any, engine: Engine) -> bool:
    """Stop the driver from beginning transactions by itself; return whether `give_back` must undo that.

    Args:
        connection: The driver's own connection, just taken from the pool.
        engine: A caller's engine.
    """
    if engine.dialect.name != "sqlite":
        engine.dialect.set_isolation_level(connection, "AUTOCOMMIT")
        return True
    # Python's older way begins only where nothing is begun. The newer way is always inside a transaction.
    if getattr(connection, "autocommit", None) is not False:
        return False
    connection.autocommit = True
    return True


def give_back(connection: Any, engine: Engine) -> None:
    """Let the driver begin transactions again as its owner wants it."""
    if engine.dialect.name != "sqlite":
        engine.dialect.reset_isolation_level(connection)
    else:
        connection.autocommit = False
