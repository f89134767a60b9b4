"""PostgreSQL for tests: durable settings, trust for everyone on 127.0.0.1."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Final

import psycopg
from attrs import define, field
from sqlalchemy import make_url

from tests.servers.process import Server, run

PACKAGE: Final = "postgresql"
_numbers: Final = count(1)


def binaries() -> Path | None:
    """Return the folder of the server's programs, or None where it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    initdb, postgres = shutil.which("initdb"), shutil.which("postgres")
    return Path(initdb).resolve().parent if initdb and postgres else None


@define(eq=False)
class PostgreSql(Server):
    """One PostgreSQL server.

    Attributes:
        settings: Lines for its configuration, such as ``max_connections=50``.
    """

    user: str = "postgres"
    settings: Sequence[str] = ()
    stop_signal: signal.Signals = signal.SIGINT
    bin: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        found = binaries()
        assert found is not None
        self.bin = found

    @property
    def data(self) -> Path:
        """Its data folder."""
        return self.folder / "data"

    @property
    def command(self) -> Sequence[str | Path]:
        """What starts it in the foreground."""
        fixed = ("listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}")
        options = [word for setting in (*fixed, *self.settings) for word in ("-c", setting)]
        return [self.bin / "postgres", "-D", self.data, "-p", str(self.port), *options]

    def create(self) -> None:
        """Make its data folder."""
        options = ["-U", "chat", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        run([self.bin / "initdb", "-D", self.data, *options], user=self.user)

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            psycopg.connect(self._conninfo("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements as its administrator, each in a transaction of its own."""
        with psycopg.connect(self._conninfo(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://chat@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make a database, and return its URL."""
        name = f"chat{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database that `new_database` made, whoever is still connected."""
        self.execute(f"DROP DATABASE {make_url(url).database} WITH (FORCE)")

    def _conninfo(self, database: str) -> str:
        return f"host=127.0.0.1 port={self.port} user=chat dbname={database}"
