"""A deadline for transactions whose server is silent: stopped, or behind a network that swallows what is sent.

Decides: nothing but when. psycopg waits for an answer without end, and no option of a socket fires while the other side
still acknowledges; so one thread of the process shuts the socket of a transaction that is overdue, and the driver then
raises the error of a lost connection. Knows sockets only.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_LOOKS_EVERY_SECONDS: Final = 0.25


class NoAnswerError(Exception):
    """A transaction was broken off at its deadline; the driver's error is the cause."""


class _Watch:
    """The thread that looks, and what it looks at. A child of a fork makes one of its own."""

    def __init__(self) -> None:
        self.due: dict[object, tuple[float, int]] = {}  # when, and a descriptor of our own for the socket
        self.passed: set[object] = set()
        self.guard = threading.Lock()
        self.wanted = threading.Event()
        self.thread: threading.Thread | None = None

    def wake(self) -> None:
        """Let the thread look, and start it before the first time."""
        with self.guard:
            if self.thread is None:
                self.thread = threading.Thread(target=self._look, name="chatmemory-deadlines", daemon=True)
                self.thread.start()
        self.wanted.set()

    def _look(self) -> None:
        while True:
            self.wanted.wait()
            time.sleep(_LOOKS_EVERY_SECONDS)
            self._shut_overdue(time.monotonic())
            self.wanted.clear()
            if self.due:
                self.wanted.set()

    def _shut_overdue(self, now: float) -> None:
        with self.guard:
            for ticket, (due, twin) in self.due.items():
                if due <= now and ticket not in self.passed:
                    self.passed.add(ticket)
                    _shut(twin)


def _shut(fileno: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(fileno)) as open_one:
        open_one.shutdown(socket.SHUT_RDWR)  # an OSError: the other side was faster


_watch = _Watch()


@contextmanager
def deadline(fileno: int, seconds: float, failures: tuple[type[Exception], ...]) -> Iterator[None]:
    """Shut the socket `fileno` where the block is not left within `seconds`, give or take a quarter.

    Raises:
        NoAnswerError: That was done, and one of `failures` came of it.
    """
    # The driver may close its descriptor inside the block, and the number may then be another socket's.
    watch, ticket, twin = _watch, object(), os.dup(fileno)
    with watch.guard:
        watch.due[ticket] = (time.monotonic() + seconds, twin)
    if not watch.wanted.is_set():
        watch.wake()
    try:
        yield
    except failures as error:
        if ticket in watch.passed:
            raise NoAnswerError from error
        raise
    finally:
        with watch.guard:
            del watch.due[ticket]
            watch.passed.discard(ticket)
        os.close(twin)


def _in_child() -> None:
    global _watch  # noqa: PLW0603 - threads do not outlive a fork, and a lock that is held stays held
    _watch = _Watch()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
