"""Writers in processes and threads of their own, which acknowledge each message once its `add()` has returned.

Decides: how they are started, ended and waited for, always with a bound. Processes come from a server that has
imported everything, so that a new one costs no second.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from threading import Barrier
from typing import Any, Final, Self

from attrs import define, field

from chatmemory.stores import ChatMemoryStore
from tests.stores.programs import acknowledge

ANSWERS_WITHIN_SECONDS: Final = 120


def processes() -> BaseContext:
    """Return what makes processes that share nothing with this one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.stores.programs", "psycopg", "pymysql"])
    return context


def run_all(programs: list[tuple[Any, tuple[Any, ...]]]) -> None:
    """Run every function in a process of its own, and wait until each has ended well."""
    context = processes()
    running = [context.Process(target=target, args=args) for target, args in programs]  # type: ignore[attr-defined]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [0] * len(running) == [process.exitcode for process in running]


def _pipe() -> tuple[Connection, Connection]:
    ends: Any = multiprocessing.Pipe()  # on Windows they have a type of their own
    ours, theirs = ends
    return ours, theirs


@define
class Writer:
    """Somebody who adds to a conversation until told to stop.

    Attributes:
        name: What its messages begin with.
        acknowledged: Seq and text of each message whose `add()` returned.
        doubts: How many commits of it had an unknown outcome at first.
    """

    name: str
    _pipe: Connection
    acknowledged: list[tuple[int, str]] = field(factory=list, init=False)
    doubts: int = field(default=0, init=False)

    def wait_for(self, count: int) -> None:
        """Wait until `count` more messages are acknowledged."""
        wanted = len(self.acknowledged) + count
        while len(self.acknowledged) < wanted:
            assert self._pipe.poll(ANSWERS_WITHIN_SECONDS), f"{self.name} has acknowledged nothing for too long"
            assert self._hears(), f"{self.name} ended too early"

    def linger(self, seconds: float) -> None:
        """Wait a little, but not beyond the next acknowledgement."""
        self._pipe.poll(seconds)

    def catch_up(self) -> None:
        """Take what has been acknowledged meanwhile."""
        while self._pipe.poll() and self._hears():
            pass

    def _hears(self) -> bool:
        try:
            seq, text, self.doubts = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            return False
        self.acknowledged.append((seq, text))
        return True

    def _hear_out(self) -> None:
        while self._hears():
            pass
        self._pipe.close()


@define
class WriterProcess(Writer):
    """A writer in a process."""

    _process: BaseProcess

    @classmethod
    def start(cls, url: str, conversation_id: str, name: str) -> Self:
        """Let one begin."""
        ours, theirs = _pipe()
        arguments = (url, conversation_id, name, theirs)
        process = processes().Process(target=acknowledge, args=arguments)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        return cls(name, ours, process)

    def kill(self) -> None:
        """Kill it with -9, wherever it is, and take what it had acknowledged."""
        self._process.kill()
        self._process.join()
        self._hear_out()

    def stop(self) -> None:
        """Let it end after its present message; it must not have met an error."""
        self._pipe.send("stop")
        self._hear_out()
        self._process.join()
        assert 0 == self._process.exitcode


@define
class WriterThread(Writer):
    """A writer in a thread."""

    _done: Future[None]

    @classmethod
    def start(cls, url: str, conversation_id: str, name: str, pool: ThreadPoolExecutor) -> Self:
        """Let one begin."""
        ours, theirs = _pipe()
        return cls(name, ours, pool.submit(acknowledge, url, conversation_id, name, theirs))

    def stop(self) -> None:
        """Let it end after its present message; it must not have met an error."""
        self._pipe.send("stop")
        self._hear_out()
        self._done.result()


def open_connections(store: ChatMemoryStore, count: int) -> None:
    """Use a store from `count` threads at once, which leaves as many connections in its pool."""
    together = Barrier(count)

    def look(_: int) -> None:
        together.wait()
        for _ in range(20):
            store.load("c")

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(look, range(count)))
