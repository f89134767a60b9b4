"""URL → engine: which driver, which settings, and how a transaction begins.

Decides: names of databases, SQLite's pragmas and its lock for writing. Here, and only here, databases differ.
A caller's engine keeps its own settings. Knows no tables.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from typing import Any, Final

from attrs import evolve, frozen
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
    "postgresql+psycopg": "pychatmemory[postgresql]",
    "mysql+pymysql": "pychatmemory[mysql]",
    "mariadb+pymysql": "pychatmemory[mysql]",
}
_URLS: Final = "one such as sqlite:///chat.db"
_EXAMPLES: Final = "a URL such as sqlite:///chat.db, or a SQLAlchemy Engine"


@frozen
class Dialogue:
    """How a database is talked to.

    Attributes:
        begin_read: What begins a transaction that reads one unchanging state.
        begin_look: What begins a transaction that reads the schema, which others may be making.
        begin_write: What begins a transaction that writes; nothing where the driver's first statement does it.
        table_names: Asks for the names of the tables and views that are there.
        column_names: Asks for those of the columns of ``{table}``.
        lock_schema: Waits until no other process changes the schema.
        unlock_schema: Lets the next one; nothing where the transaction's end does it.
        largest_packet: Asks how many bytes a statement may have, where the server hangs up on larger ones.
    """

    begin_read: tuple[str, ...]
    begin_look: tuple[str, ...]
    begin_write: tuple[str, ...]
    table_names: str
    column_names: str
    lock_schema: str | None = None
    unlock_schema: str | None = None
    largest_packet: str | None = None


_TABLES: Final = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
_COLUMNS: Final = (
    "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' AND table_schema = DATABASE()"
)
# Not PostgreSQL's information_schema: it hides what the user may not read, which is not the same as absent.
_RELATIONS: Final = (
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace{more} "
    "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
)
_ATTRIBUTES: Final = " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
POSTGRESQL_LOCK: Final = 0x63686174_6D656D
MYSQL_LOCK: Final = "CONCAT('chatmemory ', MD5(DATABASE()))"  # the server has one space of names for all databases
# READ COMMITTED, since REPEATABLE READ locks the gaps beside a conversation too, where others write theirs.
_MYSQL: Final = Dialogue(
    begin_read=(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    begin_look=(),
    begin_write=(),
    table_names=_TABLES,
    column_names=_COLUMNS,
    lock_schema=f"SELECT GET_LOCK({MYSQL_LOCK}, 10)",
    unlock_schema=f"SELECT RELEASE_LOCK({MYSQL_LOCK})",
    largest_packet="SELECT @@max_allowed_packet",
)
_DIALOGUES: Final = {
    "sqlite": Dialogue(
        begin_read=("BEGIN",),
        begin_look=("BEGIN",),
        begin_write=("BEGIN IMMEDIATE",),
        table_names="SELECT name FROM sqlite_master WHERE type IN ('table', 'view')",
        column_names="SELECT name FROM pragma_table_info('{table}')",
    ),
    "postgresql": Dialogue(
        begin_read=("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",),
        begin_look=("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",),
        begin_write=("BEGIN ISOLATION LEVEL READ COMMITTED",),
        table_names=f"SELECT c.relname {_RELATIONS.format(more='')}",
        column_names=f"SELECT a.attname {_RELATIONS.format(more=_ATTRIBUTES)} AND c.relname = '{{table}}'",
        lock_schema=f"SELECT pg_advisory_xact_lock({POSTGRESQL_LOCK})",
    ),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
_LEVELS: Final = {"postgresql": "AUTOCOMMIT", "mysql": "READ COMMITTED", "mariadb": "READ COMMITTED"}
"""SQLAlchemy's isolation levels under which our first and last words are all that begins and ends a transaction."""

# The level is that of one transaction: a caller's session keeps its own, and whether it commits by itself.
_MYSQL_LENT: Final = evolve(_MYSQL, begin_write=("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"))
_LENT: Final = _DIALOGUES | {"mysql": _MYSQL_LENT, "mariadb": _MYSQL_LENT}


def dialogue_of(engine: Engine, *, is_owned: bool) -> Dialogue:
    """Return how the engine's database is talked to, by whom made the engine or to whom it is lent."""
    return (_DIALOGUES if is_owned else _LENT)[engine.dialect.name]


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
    return (_sqlite_engine if url.get_backend_name() == "sqlite" else _server_engine)(url, wait_seconds), True


def _url(value: object) -> URL:
    if not isinstance(value, str | URL):
        raise InvalidArgumentError(_FIELD, f"is of type {type(value).__name__}; give {_EXAMPLES}")
    try:
        url = make_url(value)
    except (ArgumentError, ValueError):
        url = None
    if url is None:  # outside, since SQLAlchemy's error quotes the URL, password included
        raise InvalidArgumentError(_FIELD, f"is no URL; give {_URLS}")
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
        problem = f"names {url.drivername!r}, which SQLAlchemy does not know; give {_URLS}"
    except ModuleNotFoundError as error:
        package = _INSTALL.get(url.drivername, error.name)
        raise StoreError(f"the driver of {url.drivername} is not installed; pip install '{package}'") from error
    raise InvalidArgumentError(_FIELD, problem)


def _server_engine(url: URL, wait_seconds: float) -> Engine:
    settings = _TIME_OUTS.get(url.drivername, lambda _: {})(wait_seconds)
    asked = {name: value for name, value in settings.items() if name not in url.query}
    engine = _create(
        url,
        isolation_level=_LEVELS[url.get_backend_name()],
        connect_args=asked,
        pool_timeout=wait_seconds,
        pool_reset_on_return=None,  # every transaction is ended here, so the pool need not ask for that once more
    )
    if engine.dialect.name != "postgresql":
        _bound_locks(engine, math.ceil(wait_seconds))
    return engine


def _bound_locks(engine: Engine, seconds: int) -> None:
    # Not PyMySQL's `init_command`, which may be the user's.
    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"SET innodb_lock_wait_timeout = {seconds}")


def _connect_seconds(wait_seconds: float) -> int:
    return max(2, min(10, math.ceil(wait_seconds)))


def _psycopg_time_outs(wait_seconds: float) -> dict[str, Any]:
    # Between them they notice a cut network while sending and while waiting, in about five seconds; a server that is
    # silent but acknowledges needs `_sql_deadlines`.
    return {
        "connect_timeout": _connect_seconds(wait_seconds),
        "keepalives_idle": 2,
        "keepalives_interval": 1,
        "keepalives_count": 3,
        "tcp_user_timeout": 5_000,
    }


def _pymysql_time_outs(wait_seconds: float) -> dict[str, Any]:
    seconds = math.ceil(wait_seconds)
    return {
        "connect_timeout": _connect_seconds(wait_seconds),
        "read_timeout": seconds + 1,  # the server's word on a lock comes first
        "write_timeout": seconds + 1,
    }


_TIME_OUTS: Final = {
    "postgresql+psycopg": _psycopg_time_outs,
    "mysql+pymysql": _pymysql_time_outs,
    "mariadb+pymysql": _pymysql_time_outs,
}


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
        # A read-only file can be read as it is; a busy one is being opened by another process, in the same way.
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY):
            connection.close()
            raise


def take_over(connection: Any, engine: Engine) -> bool:
    """Stop the driver from beginning transactions by itself; return whether `give_back` must undo that.

    Args:
        connection: The driver's own connection, just taken from the pool.
        engine: A caller's engine.
    """
    if engine.dialect.name == "postgresql":  # psycopg says no BEGIN of its own then; nothing is sent for this
        engine.dialect.set_isolation_level(connection, "AUTOCOMMIT")
        return True
    if engine.dialect.name != "sqlite":
        return False
    # Python's older way begins only where nothing is begun. The newer way is always inside a transaction.
    if getattr(connection, "autocommit", None) is not False:
        return False
    connection.autocommit = True
    return True


def give_back(connection: Any, engine: Engine) -> None:
    """Let the driver begin transactions again as its owner wants it."""
    if engine.dialect.name == "postgresql":
        engine.dialect.reset_isolation_level(connection)
    else:
        connection.autocommit = False
