"""Two PostgreSQL servers, one of which copies the other: a failover, and the way back.

Decides: that a commit waits for the standby as long as there is one (``synchronous_standby_names``). Knows no store.
"""

from __future__ import annotations

import time
from typing import Any, Final, Self

import psycopg
from attrs import define, field

from tests.servers.postgresql import PostgreSql
from tests.servers.process import READY_WITHIN_SECONDS, ServerError, run

_LINES: Final = ("wal_retrieve_retry_interval = 200ms", "wal_keep_size = 64MB")
"""In the file and not in the command, since pg_rewind starts the server in its own way."""

_IS_SYNCHRONOUS: Final = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


@define(eq=False)
class Node(PostgreSql):
    """One of the two servers.

    Attributes:
        name: How the other one calls it.
        source: Whom it copies, or None.
    """

    name: str = field(kw_only=True)
    source: Node | None = field(default=None, kw_only=True)

    @property
    def command(self) -> list[Any]:
        """What starts it in the foreground."""
        copied = [] if self.source is None else ["-c", f"primary_conninfo={self._source_of(self.source)}"]
        return [*super().command, *copied]

    def create(self) -> None:
        """Make its data folder, as a copy of the source's where it has one."""
        if self.source is None:
            super().create()
            run([self.bin / "pg_checksums", "--enable", "-D", self.data, "--no-sync"], user=self.user)  # for pg_rewind
            with (self.data / "postgresql.conf").open("a") as lines:
                lines.writelines(f"{line}\n" for line in _LINES)
            return
        options = ["-X", "stream", "-c", "fast", "-R", "--no-sync"]
        run([self.bin / "pg_basebackup", "-d", self._source_of(self.source), "-D", self.data, *options], user=self.user)

    def promote(self) -> None:
        """Let it write from now on."""
        self.execute("SELECT pg_promote()")
        self.source = None

    def follow(self, source: Node) -> None:
        """Give up what `source` does not have, and copy it; this server is down."""
        source.execute("CHECKPOINT")  # without it pg_rewind does not see that there is a new timeline
        server = f"{self._source_of(source)} dbname=postgres"
        run([self.bin / "pg_rewind", "-R", "-D", self.data, "--source-server", server], user=self.user)
        self.source = source

    def one(self, query: str) -> Any:
        """Return the one value that a query gives."""
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]

    def wait_for_copy(self, standby: Node) -> None:
        """Let commits wait for `standby`, and return once they do."""
        self.execute(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({standby.name})'", _RELOAD)
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self.one(_IS_SYNCHRONOUS):
            if time.monotonic() > deadline:
                raise ServerError(f"{standby.name} does not copy: {standby.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def _source_of(self, source: Node) -> str:
        return f"host=127.0.0.1 port={source.port} user=chat application_name={self.name}"


_RELOAD: Final = "SELECT pg_reload_conf()"


@define(eq=False)
class Pair:
    """A primary and its synchronous standby."""

    primary: Node = field(factory=lambda: Node(name="a"))
    standby: Node = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.standby = Node(name="b", source=self.primary)

    @property
    def url(self) -> str:
        """What clients are given: both servers, and that they want the one that writes."""
        hosts = "&".join(f"host=127.0.0.1:{node.port}" for node in sorted(self.nodes, key=lambda node: node.name))
        return f"postgresql://chat@/postgres?{hosts}&target_session_attrs=read-write"

    @property
    def nodes(self) -> tuple[Node, Node]:
        """Both servers, the primary first."""
        return self.primary, self.standby

    def fail_over(self) -> None:
        """Kill the primary, and promote the standby."""
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """Bring the server that was killed back as the standby of the other."""
        self.standby.follow(self.primary)
        self.standby.start()
        self.primary.wait_for_copy(self.standby)

    def __enter__(self) -> Self:
        self.primary.create()
        self.primary.start()
        self.standby.create()
        self.standby.start()
        self.primary.wait_for_copy(self.standby)
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.__exit__()
