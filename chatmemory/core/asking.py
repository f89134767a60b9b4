"""How a flow asks the store: what is asked again, and what an unknown outcome means.

Decides: after an error that may pass (a deadlock, a busy file, a server that restarts) it asks again after a pause,
until the driver has no time left; once a commit may be stored, only an answer to the same commit_id tells whether it is
(R11). Knows no store, no clock and no window.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count as numbers
from typing import Any

from chatmemory.core.entries import Change
from chatmemory.core.session import Commit, Flow, Pause, Request, Session
from chatmemory.errors import ConflictError, StoreError
from chatmemory.messages import Message


def _nothing() -> None: ...


def ask(request: Request, *, unknown: bool = False, on_unknown: Callable[[], None] = _nothing) -> Flow[Any]:
    """Return the store's answer to `request`, asking again while that may help.

    Args:
        request: What is asked. Asking it twice must do no more than asking it once.
        unknown: Whether it may have been carried out already.
        on_unknown: Called whenever that is so.
    """
    for attempt in numbers():
        try:
            return (yield request)
        except ConflictError:
            raise
        except StoreError as error:
            unknown = unknown or error.outcome_unknown
            if unknown:
                on_unknown()
            elif not error.transient:
                raise
            yield Pause(_as_unknown(error) if unknown else error, attempt)
    raise AssertionError("unreachable: the tries have no end but the driver's")


def commit(session: Session, request: Commit) -> Flow[str]:
    """Return the epoch once the store has committed `request`.

    Raises:
        ConflictError: It is not stored, and never will be: another writer was faster.
    """
    try:
        epoch: str = yield from ask(
            request, unknown=session.doubt is request, on_unknown=lambda: session.broken_off(request)
        )
    except ConflictError:
        _answered(session, request)
        raise
    _answered(session, request)
    return epoch


def find_out(session: Session, messages: tuple[Message, ...]) -> Flow[Change | None]:
    """Return the change that added `messages` already, where nobody knew yet whether it is stored; otherwise None."""
    # A repeated call after an unknown outcome is the same commit again: taken once by its key, never doubled.
    doubt = session.doubt
    if doubt is None or doubt.adding != messages:
        return None
    try:
        session.epoch = yield from commit(session, doubt)
    except ConflictError:
        return None
    session.forget()
    return doubt.change


def _answered(session: Session, request: Commit) -> None:
    if session.doubt is request:
        session.doubt = None


def _as_unknown(error: StoreError) -> StoreError:
    if error.outcome_unknown:
        return error
    unknown = StoreError(f"{error}; whether the change is there is unknown", outcome_unknown=True)
    unknown.__cause__ = error
    return unknown
