"""A connection for changing the schema, which one process of all has at a time.

Decides: that such a change is one transaction on SQLite and PostgreSQL, while MariaDB and MySQL commit after each of
its statements and get a lock by name. The connection is SQLAlchemy's, as Alembic wants it, and works with any engine:
like every transaction here it is begun and ended by statements, whatever the driver would do by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine, text

from chatmemory.errors import StoreError
from chatmemory.stores._sql_engine import MYSQL_LOCK, POSTGRESQL_LOCK, give_back, take_over
from chatmemory.stores._sql_errors import FAILURES
from chatmemory.stores._sql_forks import follow
from chatmemory.stores._sql_transactions import Database

_TABLE_SECONDS: Final = 30
_TAKE: Final = text(f"SELECT GET_LOCK({MYSQL_LOCK}, :seconds)")
_RELEASE: Final = text(f"SELECT RELEASE_LOCK({MYSQL_LOCK})")


@contextmanager
def alone(database: Database) -> Iterator[Connection]:
    """Give a connection while no other process has one from here; what is done on it is committed at the end.

    Raises:
        StoreError: Another process kept it for longer than the database's ``wait_seconds``.
    """
    engine = database.engine
    locked = _LOCKED[engine.dialect.name]
    with follow(engine), _connected(engine) as connection, locked(connection, database.wait_seconds):
        yield connection


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        is_taken_over = engine.dialect.name == "sqlite" and take_over(driver, engine)
        try:
            yield connection
        except BaseException as error:
            _undo(connection, driver, error)
            raise
        finally:
            if is_taken_over:
                give_back(driver, engine)


def _undo(connection: Connection, driver: Any, error: BaseException) -> None:
    try:
        if getattr(driver, "in_transaction", True):
            connection.exec_driver_sql("ROLLBACK")
    except FAILURES as failure:
        connection.invalidate(failure)
        error.add_note(f"ROLLBACK failed too: {type(failure).__name__}")


@contextmanager
def _on_sqlite(connection: Connection, seconds: float) -> Iterator[None]:
    before = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {math.ceil(seconds * 1000)}")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield
        connection.exec_driver_sql("COMMIT")
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {before}")


@contextmanager
def _on_postgresql(connection: Connection, seconds: float) -> Iterator[None]:
    connection.execution_options(isolation_level="AUTOCOMMIT")  # of the driver: it says no BEGIN of its own
    connection.exec_driver_sql("BEGIN ISOLATION LEVEL READ COMMITTED")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {math.ceil(seconds * 1000)}")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({POSTGRESQL_LOCK})")
    # Whoever waits for a table makes everyone else wait for it too.
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {math.ceil(min(seconds, _TABLE_SECONDS) * 1000)}")
    yield
    connection.exec_driver_sql("COMMIT")


@contextmanager
def _on_mysql(connection: Connection, seconds: float) -> Iterator[None]:
    connection.execution_options(isolation_level="AUTOCOMMIT")
    if connection.execute(_TAKE, {"seconds": math.ceil(seconds)}).scalar() != 1:
        raise StoreError("another process has been changing the schema for too long; try again", transient=True)
    try:
        yield
    finally:
        connection.execute(_RELEASE)


_LOCKED: Final = {"sqlite": _on_sqlite, "postgresql": _on_postgresql, "mysql": _on_mysql, "mariadb": _on_mysql}
