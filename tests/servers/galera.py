"""Three MariaDB servers that are one database: Galera.

Decides: that a node counts as ready once it has all that the others have. Time-outs are short, so that a dead node is
given up after a second. Knows no store.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

import pymysql
from attrs import define, field

from tests.servers.mariadb import MariaDb
from tests.servers.process import free_port

PACKAGE: Final = "galera-4"
_PLACES: Final = ("/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera")
_FIXED: Final = (
    "--binlog-format=ROW",
    "--innodb-autoinc-lock-mode=2",
    "--innodb-flush-log-at-trx-commit=2",
    "--wsrep-on=ON",
    "--wsrep-cluster-name=chat",
    "--wsrep-node-address=127.0.0.1",
    "--wsrep-sst-method=rsync",
)
_PROVIDER: Final = {
    "base_host": "127.0.0.1",
    "gcache.size": "32M",
    "evs.keepalive_period": "PT0.2S",
    "evs.inactive_check_period": "PT0.2S",
    "evs.suspect_timeout": "PT1S",
    "evs.inactive_timeout": "PT3S",
}
_READY: Final = {"wsrep_ready": "ON", "wsrep_local_state_comment": "Synced"}
_numbers: Final = count(1)


def library() -> Path | None:
    """Return Galera's library, or None where it is not installed."""
    found = (Path(place) / "libgalera_smm.so" for place in _PLACES)
    return next((path for path in found if path.exists()), None)


@define(eq=False)
class GaleraNode(MariaDb):
    """One of the servers.

    Attributes:
        group_port: Where the other nodes reach it.
        peers: The group's ports, its own among them.
        begins: Whether it begins a cluster when it is started, in place of joining the others.
    """

    group_port: int = field(factory=free_port)
    peers: Sequence[int] = field(default=(), init=False)
    begins: bool = field(default=False, init=False)
    _copy_port: int = field(factory=free_port, init=False)
    _catch_up_port: int = field(factory=free_port, init=False)

    @property
    def command(self) -> list[Any]:
        """What starts it in the foreground."""
        catch_up = f"127.0.0.1:{self._catch_up_port}"
        provider = _PROVIDER | {
            "base_port": str(self.group_port),
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self.group_port}",
            "ist.recv_addr": catch_up,
            "ist.recv_bind": catch_up,
        }
        return [
            *super().command,
            *_FIXED,
            f"--wsrep-provider={library()}",
            f"--wsrep-provider-options={';'.join(f'{name}={value}' for name, value in provider.items())}",
            f"--wsrep-cluster-address=gcomm://{','.join(f'127.0.0.1:{port}' for port in self.peers)}",
            f"--wsrep-node-name=n{self.group_port}",
            f"--wsrep-node-incoming-address=127.0.0.1:{self.port}",
            f"--wsrep-sst-receive-address=127.0.0.1:{self._copy_port}",
            *(["--wsrep-new-cluster"] if self.begins else []),
        ]

    def answers(self) -> bool:
        """Whether it takes connections, and has all that the others have."""
        return super().answers() and self.status().items() >= _READY.items()

    def status(self) -> dict[str, str]:
        """Return what it says of its cluster; nothing where it does not answer yet."""
        try:
            connection = self.connect()
        except pymysql.OperationalError:
            return {}
        try:
            with connection.cursor() as cursor:
                cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep%'")
                return dict(cursor.fetchall())
        finally:
            connection.close()


@define(eq=False)
class Galera:
    """A cluster of three."""

    nodes: Sequence[GaleraNode] = field(factory=lambda: [GaleraNode() for _ in range(3)])

    def new_database(self) -> list[str]:
        """Make a database, and return its URL on each node."""
        name = f"chat{next(_numbers)}"
        self.nodes[0].execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        # With `wsrep_sync_wait` a node reads only once it has all that was committed before.
        return [f"{node.url(name)}?init_command=SET SESSION wsrep_sync_wait=1" for node in self.nodes]

    def __enter__(self) -> Self:
        for node in self.nodes:
            node.peers = [each.group_port for each in self.nodes]
        first, *others = self.nodes
        with ThreadPoolExecutor() as threads:
            list(threads.map(GaleraNode.create, self.nodes))
            first.begins = True
            first.start()
            first.begins = False
            list(threads.map(GaleraNode.start, others))
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.__exit__()


def lost_races(nodes: Sequence[GaleraNode]) -> int:
    """Return how many transactions on `nodes` have lost against another node's since these were started."""
    names = ("wsrep_local_cert_failures", "wsrep_local_bf_aborts")
    return sum(int(node.status()[name]) for node in nodes for name in names)
