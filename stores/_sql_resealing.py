"""A walk over every stored text, which seals anew what is not sealed with the codec's present key.

Decides: the order (conversations by id, entries by seq), how much one transaction does, and where the walk goes on. The
conversation's own row is locked before a text is read, as every writer locks it, so nothing that is redacted or deleted
meanwhile comes back. What is said stays as it is, so no version is made. Knows no cipher and no connection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, Final

from attrs import define, field, frozen

from chatmemory.errors import CorruptedConversationError
from chatmemory.stores import _sql_statements as statements
from chatmemory.stores._sql_sealing import Seal
from chatmemory.stores._sql_statements import LARGEST, Row, Values
from chatmemory.stores._sql_transactions import Transaction

CONVERSATIONS_AT_ONCE: Final = 100
ROWS_AT_ONCE: Final = 100
"""What one transaction looks through, and what one writes."""

_Doing = Callable[[Callable[[Transaction], Any]], Any]


@frozen
class _Place:
    """How far a walk has come: the conversations before this one are done, and of this one the entries up to `seq`."""

    conversation_id: str = ""
    seq: int = 0


@frozen
class _Step:
    """What comes next: entries of one conversation, from `first_seq` to the place; seq 0 is its title and meta."""

    place: _Place
    first_seq: int | None = None


@define(eq=False)
class Resealing:
    """The walk of one store. Each call goes on where the last one ended; from the end it begins again."""

    _seal: Seal
    _place: _Place = field(factory=_Place, init=False)
    _lock: Any = field(factory=Lock, init=False)

    def run(self, read: _Doing, write: _Doing, limit: int) -> int:
        """Seal up to `limit` rows anew, and return how many.

        Args:
            read: Does something in a transaction that reads; returns None where there are no tables.
            write: Does something in a transaction that writes.
            limit: How many rows.

        Raises:
            CorruptedConversationError: A text cannot be opened; the walk stands still before it.
            StoreError: The codec or the database failed; the next call goes on from here.
        """
        done = 0
        with self._lock:
            while done < limit:
                room = min(ROWS_AT_ONCE, limit - done)
                step: _Step | None = read(partial(self._next, room=room))
                if step is None:
                    self._place = _Place()
                    break
                if step.first_seq is not None:
                    done += write(partial(self._reseal, step=step))
                self._place = step.place
        return done

    def _next(self, transaction: Transaction, room: int) -> _Step | None:
        here = self._place
        values: Values = {"p_from": here.conversation_id, "p_limit": CONVERSATIONS_AT_ONCE}
        page = transaction.rows(statements.READ_ABOUTS, values)
        for conversation_id, *about in page:
            after = here.seq if conversation_id == here.conversation_id else 0
            if self._seal.is_due(*about):
                return _Step(_Place(conversation_id, after), first_seq=0)
            seqs = self._due(transaction, conversation_id, after, room)
            if seqs:
                return _Step(_Place(conversation_id, seqs[-1]), seqs[0])
        if len(page) < CONVERSATIONS_AT_ONCE:
            return None
        return _Step(_Place(page[-1][0], LARGEST))

    def _due(self, transaction: Transaction, conversation_id: str, after: int, room: int) -> list[int]:
        values: Values = {"p_id": conversation_id, "p_after": after, "p_key": self._seal.key_id, "p_limit": room}
        return [seq for (seq,) in transaction.rows(statements.READ_DUE, values)]

    def _reseal(self, transaction: Transaction, step: _Step) -> int:
        conversation_id = step.place.conversation_id
        locked = transaction.rows(statements.LOCK_ABOUT, {"p_id": conversation_id})
        if not locked:  # deleted meanwhile
            return 0
        if step.first_seq == 0:
            return self._reseal_about(transaction, conversation_id, locked[0])
        return self._reseal_entries(transaction, step)

    def _reseal_about(self, transaction: Transaction, conversation_id: str, about: Row) -> int:
        if not self._seal.is_due(*about):
            return 0
        values = {"p_id": conversation_id, **self._anew(f"conversation {conversation_id!r}, its title and meta", about)}
        return transaction.run(statements.RESEAL_ABOUT, values)

    def _reseal_entries(self, transaction: Transaction, step: _Step) -> int:
        conversation_id = step.place.conversation_id
        asked: Values = {"p_id": conversation_id, "p_first": step.first_seq, "p_last": step.place.seq}
        rows = transaction.rows(statements.READ_TEXTS, asked | {"p_key": self._seal.key_id})
        anew = [
            {
                "p_id": conversation_id,
                "p_seq": seq,
                **self._anew(f"conversation {conversation_id!r}, entry {seq}", text),
            }
            for seq, *text in rows
        ]
        transaction.run_for_each(statements.RESEAL, anew)
        return len(anew)

    def _anew(self, what: str, row: Any) -> Values:
        try:
            text = self._seal.open(*row)
        except CorruptedConversationError as error:
            raise CorruptedConversationError(f"{what}: {error}") from error.__cause__
        plain, sealed, key_id = self._seal.close(text)
        return {"p_payload": plain, "p_sealed": sealed, "p_key": key_id}
