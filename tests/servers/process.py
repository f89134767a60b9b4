"""A database server that a test starts, kills and starts again: what all kinds of them share.

Decides: where its data lies, who runs it, and how its end is waited for. A server does not run as root, and listens on
127.0.0.1 only.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from attrs import define, field

READY_WITHIN_SECONDS: Final = 60


class ServerError(Exception):
    """A server did not start; the message has the end of its log."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_user(user: str, command: Sequence[str | Path]) -> list[str]:
    """Return `command` as `user` runs it, where this process is root; otherwise as it is."""
    words = [str(word) for word in command]
    if os.geteuid() != 0:
        return words
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words]


def run(command: Sequence[str | Path], *, user: str) -> str:
    """Run `command` to its end, and return what it said.

    Raises:
        ServerError: It failed.
    """
    done = subprocess.run(as_user(user, command), capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise ServerError(f"{command[0]} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


@define(eq=False)
class Server(ABC):
    """A server on a port of its own, with a data folder of its own.

    Attributes:
        user: Whom it runs as, where this process is root.
        port: Where it listens.
        folder: Its data, sockets and logs.
    """

    user: str
    port: int = field(factory=free_port)
    folder: Path = field(init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        # pytest's own folders cannot be entered by other users, and a socket's path may have 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="cm.", dir="/tmp"))
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam(self.user).pw_uid, pwd.getpwnam(self.user).pw_gid)

    @property
    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """What starts it in the foreground."""

    @abstractmethod
    def create(self) -> None:
        """Make its data folder."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it takes connections."""

    @abstractmethod
    def new_database(self) -> str:
        """Make a database, and return its URL."""

    @abstractmethod
    def drop_database(self, url: str) -> None:
        """Remove a database that `new_database` made, whoever is still connected."""

    @property
    def log(self) -> Path:
        """Where it writes what it has to say."""
        return self.folder / "log"

    @property
    def pid(self) -> int:
        """The process that listens."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                as_user(self.user, self.command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServerError(f"{self.command[0]} does not answer: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill it as a power cut would, and wait until it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Let it end in order."""
        self._end(self.stop_signal)

    stop_signal: signal.Signals = signal.SIGTERM

    def freeze(self) -> None:
        """Stop all its processes in their tracks: connections stay open, and nobody answers."""
        self._tell(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._tell(signal.SIGCONT)

    def _tell(self, what: signal.Signals) -> None:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        for pid in (self.pid, *map(int, children)):
            with suppress(ProcessLookupError):  # a child that has ended by itself
                os.kill(pid, what)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(READY_WITHIN_SECONDS)
            self._process = None

    def __enter__(self) -> Self:
        self.create()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
