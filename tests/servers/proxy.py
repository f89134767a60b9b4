"""A proxy between a store and its server that can hold back what the store sends, at a word in it.

Decides: where a transaction is stopped on its way, so that a test needs no luck to meet it there. Knows no protocol.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from threading import Event
from types import TracebackType
from typing import Final, Self

from attrs import define, field, frozen
from sqlalchemy import make_url

BOUND_SECONDS: Final = 30
COMMIT: Final = {"postgresql": b"COMMIT\0", "mariadb": b"\x03COMMIT"}
"""How each protocol says the word alone, and not within READ COMMITTED; psycopg says it so four times a connection."""


@frozen(eq=False)
class Hold:
    """What waits at a word.

    Attributes:
        word: The word.
        seen: Set once somebody sends it.
        go_on: Lets it through.
    """

    word: bytes
    seen: Event = field(factory=Event)
    go_on: Event = field(factory=Event)
    _clients: list[socket.socket] = field(factory=list, init=False)

    def reached(self) -> None:
        """Wait until somebody waits at the word."""
        assert self.seen.wait(BOUND_SECONDS), f"nobody has sent {self.word!r}"

    def cut(self) -> None:
        """Let the client lose its connection, while what it has sent still waits to go on to the server."""
        for client in self._clients:
            client.shutdown(socket.SHUT_RDWR)

    def meet(self, client: socket.socket) -> None:
        """Keep `client` waiting."""
        self._clients.append(client)
        self.seen.set()
        self.go_on.wait(BOUND_SECONDS)


@define(eq=False)
class Proxy:
    """Listens on a port of its own, and passes everything on to `port` and back."""

    port: int
    _listener: socket.socket = field(init=False)
    _hold: Hold | None = field(default=None, init=False)
    _sockets: list[socket.socket] = field(factory=list, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)

    def url(self, url: str) -> str:
        """Return the address of a database by way of this proxy."""
        through = make_url(url).set(port=self._listener.getsockname()[1])
        return through.render_as_string(hide_password=False)

    def hold(self, word: bytes) -> Hold:
        """Hold back the next thing sent that has `word` in it."""
        self._hold = Hold(word)
        return self._hold

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._run(self._listen)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._sockets):
            with suppress(OSError):  # it is closed already
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(BOUND_SECONDS)

    def _run(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        with suppress(OSError):  # the proxy is closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.port))
                self._sockets += [client, server]
                self._run(self._send, client, server)
                self._run(self._pass, server, client)

    def _send(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                self._wait_at(data, client)
                server.sendall(data)
        self._end(server)

    def _pass(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        self._end(client)

    def _wait_at(self, data: bytes, client: socket.socket) -> None:
        hold = self._hold
        if hold is not None and hold.word in data:
            self._hold = None
            hold.meet(client)

    def _end(self, peer: socket.socket) -> None:
        with suppress(OSError):  # it has ended too
            peer.shutdown(socket.SHUT_WR)
