"""MariaDB for tests: durable settings, one user with a password on 127.0.0.1."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import pymysql
from attrs import define
from sqlalchemy import make_url

from tests.servers.process import Server, run

PACKAGE: Final = "mariadb-server"
_numbers: Final = count(1)


def binary() -> str | None:
    """Return the server's program, or None where it is not installed."""
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/bin")


@define(eq=False)
class MariaDb(Server):
    """One MariaDB server.

    Attributes:
        settings: Options for it, such as ``--max-connections=50``.
    """

    user: str = "mysql"
    settings: Sequence[str] = ()

    @property
    def data(self) -> Path:
        """Its data folder."""
        return self.folder / "data"

    @property
    def address(self) -> Path:
        """Where its administrator connects."""
        return self.folder / "socket"

    @property
    def command(self) -> Sequence[str | Path]:
        """What starts it in the foreground."""
        return [
            binary() or "mariadbd",
            "--no-defaults",
            f"--datadir={self.data}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--socket={self.address}",
            f"--pid-file={self.folder / 'pid'}",
            f"--tmpdir={self.folder}",
            "--innodb-buffer-pool-size=128M",
            *self.settings,
        ]

    def create(self) -> None:
        """Make its data folder."""
        # In one folder for all, a server that starts removes temporary tables of another.
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", f"--tmpdir={self.folder}"]
        run(["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", *options], user=self.user)

    def answers(self) -> bool:
        """Whether it takes connections."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.address)) == 0  # it listens once it is ready

    def connect(self) -> Any:
        """Return a connection of its administrator."""
        return pymysql.connect(unix_socket=str(self.address), user="root", autocommit=True, connect_timeout=2)

    def start(self) -> None:
        """Start it, and see to the user."""
        super().start()
        self.execute(
            "CREATE USER IF NOT EXISTS chat@'127.0.0.1' IDENTIFIED BY 'chat'", "GRANT ALL ON *.* TO chat@'127.0.0.1'"
        )

    def execute(self, *statements: str) -> None:
        """Run statements as its administrator."""
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        finally:
            connection.close()

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"mariadb://chat:chat@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make a database, and return its URL."""
        name = f"chat{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database that `new_database` made, whoever is still connected."""
        self.execute(f"DROP DATABASE {make_url(url).database}")
