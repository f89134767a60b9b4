"""Fixtures: the servers of a test run, each started when the first test asks for it; and databases on them.

Decides: what happens where a server is not installed. The tests are then skipped, and the end of the run says so; where
CHATMEMORY_REQUIRE_SERVERS is set they fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.servers import galera, mariadb, postgresql
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql

INSTALLED: Final[dict[str, tuple[Callable[[], object], str]]] = {
    "PostgreSQL": (postgresql.binaries, postgresql.PACKAGE),
    "MariaDB": (mariadb.binary, mariadb.PACKAGE),
    "Galera": (galera.library, galera.PACKAGE),
}
_not_tested: Final[set[str]] = set()


def need(name: str) -> None:
    """Skip the test where the server called `name` is not installed."""
    find, package = INSTALLED[name]
    if find() is not None:
        return
    reason = f"{name} is not installed; Debian's package is {package}"
    if os.environ.get("CHATMEMORY_REQUIRE_SERVERS"):
        pytest.fail(reason)
    _not_tested.add(reason)
    pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say plainly which back ends were not run."""
    for reason in sorted(_not_tested):
        terminalreporter.write_line(f"Not tested: {reason}", yellow=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSql]:
    """A PostgreSQL server for the whole run; no test kills it."""
    need("PostgreSQL")
    with PostgreSql(settings=("max_connections=200",)) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDb]:
    """A MariaDB server for the whole run; no test kills it."""
    need("MariaDB")
    with MariaDb(settings=("--max-connections=200",)) as server:
        yield server


@pytest.fixture
def postgresql_url(postgresql_server: PostgreSql) -> Iterator[str]:
    """An empty PostgreSQL database."""
    url = postgresql_server.new_database()
    yield url
    postgresql_server.drop_database(url)


@pytest.fixture
def mariadb_url(mariadb_server: MariaDb) -> Iterator[str]:
    """An empty MariaDB database."""
    url = mariadb_server.new_database()
    yield url
    mariadb_server.drop_database(url)


@pytest.fixture(
    params=["sqlite", *(pytest.param(each, marks=pytest.mark.server) for each in ("postgresql", "mariadb"))]
)
def database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An empty database of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('database')}/chat.db"
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url
