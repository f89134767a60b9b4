"""The deadline of a silent connection: it shuts the socket that it was given, and nobody else's."""

from __future__ import annotations

import os
import socket

import pytest

from chatmemory.stores._sql_deadlines import NoAnswerError, deadline

BOUND_SECONDS = 30


def test_an_overdue_socket_is_shut() -> None:
    """Whoever waits for an answer on the socket gets an end, and the driver's error is told from others."""
    ours, theirs = socket.socketpair()
    ours.settimeout(BOUND_SECONDS)

    def wait() -> None:
        with deadline(ours.fileno(), 0, (ConnectionError,)):
            assert b"" == ours.recv(1)
            raise ConnectionResetError

    with ours, theirs, pytest.raises(NoAnswerError) as caught:
        wait()
    assert isinstance(caught.value.__cause__, ConnectionResetError)


def test_a_socket_in_time_is_left_alone() -> None:
    """A block that ends in time leaves the socket open, and an error of it is what it was."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(ConnectionResetError), deadline(ours.fileno(), BOUND_SECONDS, (ConnectionError,)):
            raise ConnectionResetError
        ours.sendall(b"x")
        assert b"x" == theirs.recv(1)


def test_a_number_that_is_used_anew_is_not_shut() -> None:
    """Where the driver closes its descriptor and another socket gets the number, the old socket is shut, not that."""
    ours, theirs = socket.socketpair()
    new, peer = socket.socketpair()
    theirs.settimeout(BOUND_SECONDS)
    with ours, theirs, new, peer, deadline(ours.fileno(), 0, ()):
        os.dup2(new.fileno(), ours.fileno())
        assert b"" == theirs.recv(1)
        new.sendall(b"x")
        assert b"x" == peer.recv(1)
