"""`python -m tests.endurance writers|crashes|server-kills [--database NAME] [--times N]`: the drills at full length.

Prints a table of figures. A drill that finds anything lost, doubled, half there or out of order ends in its error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tests.endurance.drills import Figures, kill_server, kill_writers, many_writers
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql
from tests.servers.process import Server

Place = tuple[Server | None, str]
Drill = Callable[[Place, int], Figures]


@contextmanager
def _sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield None, f"sqlite:///{folder}/chat.db"


@contextmanager
def _postgresql() -> Iterator[Place]:
    with PostgreSql() as server:
        yield server, server.new_database()


@contextmanager
def _mariadb() -> Iterator[Place]:
    with MariaDb() as server:
        yield server, server.new_database()


def _kill_server(place: Place, times: int) -> Figures:
    server, url = place
    assert server is not None
    return kill_server(server, url, times=times)


DATABASES: Final = {"sqlite": _sqlite, "postgresql": _postgresql, "mariadb": _mariadb}
DRILLS: Final[dict[str, tuple[int, Drill]]] = {
    "writers": (500, lambda place, times: many_writers(place[1], writers=8, each=times, every=7)),
    "crashes": (200, lambda place, times: kill_writers(place[1], times=times)),
    "server-kills": (20, _kill_server),
}


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.endurance", description=__doc__)
    parser.add_argument("drill", choices=DRILLS)
    parser.add_argument("--database", choices=DATABASES, action="append", help="default: each")
    parser.add_argument("--times", type=int, help="adds of each writer (500), or kills (200; of a server 20)")
    asked = parser.parse_args()
    usual, drill = DRILLS[asked.drill]
    databases = asked.database or [name for name in DATABASES if (asked.drill, name) != ("server-kills", "sqlite")]
    if asked.drill == "server-kills" and "sqlite" in databases:
        parser.error("SQLite has no server")
    for number, name in enumerate(databases):
        began = time.monotonic()
        with DATABASES[name]() as place:
            figures = {"database": name, **drill(place, asked.times or usual)}
        figures["minutes in all"] = round((time.monotonic() - began) / 60, 1)
        if number == 0:
            _print(figures.keys())
            _print("---" for _ in figures)
        _print(figures.values())


def _print(cells: object) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")  # type: ignore[call-overload]
    sys.stdout.flush()


if __name__ == "__main__":
    main()
