"""The databases that benchmarks run on: an SQLite file, and a server of each kind that is installed.

Decides: how each tells a query's plan and how many bytes it takes. Servers are started as the tests start them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.sql import Executable

from tests.servers import mariadb, postgresql
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql

_SIZE_OF_TABLES: Final = (
    "SELECT sum(data_length + index_length) FROM information_schema.tables WHERE table_schema = database()"
)


@frozen
class Opened:
    """One database.

    Attributes:
        name: What it is called in tables.
        url: Its address.
    """

    name: str
    url: str

    def plan(self, connection: Connection, statement: Executable, values: Mapping[str, Any]) -> str:
        """Return in a few words how the database reads what `statement` asks for."""
        return _PLANS[make_url(self.url).get_backend_name()](connection, statement, values)

    def size(self, engine: Engine) -> int:
        """Return how many bytes the database takes."""
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            return _SIZES[make_url(self.url).get_backend_name()](connection)


def _plan_of_sqlite(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> str:
    compiled = statement.compile(dialect=connection.dialect)  # type: ignore[attr-defined]
    ordered = tuple(values[name] for name in compiled.positiontup)
    rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", ordered)
    return "; ".join(row.detail for row in rows)


def _plan_of_postgresql(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> str:
    compiled = statement.compile(dialect=connection.dialect)  # type: ignore[attr-defined]
    rows = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {compiled}", dict(values))
    plan = rows.scalar_one()[0]["Plan"]
    while "Index Name" not in plan and "Plans" in plan:
        plan = plan["Plans"][0]
    return f"{plan['Node Type']} using {plan.get('Index Name', 'no index')}, {plan['Actual Rows']:.0f} rows"


def _plan_of_mysql(connection: Connection, statement: Executable, values: Mapping[str, Any]) -> str:
    compiled = statement.compile(dialect=connection.dialect)  # type: ignore[attr-defined]
    row = connection.exec_driver_sql(f"EXPLAIN {compiled}", dict(values)).mappings().one()
    return f"{row['type']} using {row['key']}, about {row['rows']} rows"


def _size_of_sqlite(connection: Connection) -> int:
    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").close()
    pages, size = (connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size"))
    return int(pages * size)


def _size_of_postgresql(connection: Connection) -> int:
    connection.execute(text("CHECKPOINT"))
    return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def _size_of_mysql(connection: Connection) -> int:
    for table in ("conversations", "messages", "changes"):
        connection.exec_driver_sql(f"ANALYZE TABLE {table}").close()
    return int(connection.execute(text(_SIZE_OF_TABLES)).scalar_one())


_PLANS: Final[dict[str, Callable[[Connection, Executable, Mapping[str, Any]], str]]] = {
    "sqlite": _plan_of_sqlite,
    "postgresql": _plan_of_postgresql,
    "mysql": _plan_of_mysql,
    "mariadb": _plan_of_mysql,
}
_SIZES: Final[dict[str, Callable[[Connection], int]]] = {
    "sqlite": _size_of_sqlite,
    "postgresql": _size_of_postgresql,
    "mysql": _size_of_mysql,
    "mariadb": _size_of_mysql,
}


def databases(folder: Path) -> Iterator[Opened]:
    """Yield each database, empty; a server stops when the next one is asked for."""
    yield Opened("SQLite", f"sqlite:///{folder}/chat.db")
    if postgresql.binaries():
        with PostgreSql() as server:
            yield Opened("PostgreSQL", server.new_database())
    if mariadb.binary():
        with MariaDb() as other:
            yield Opened("MariaDB", other.new_database())
