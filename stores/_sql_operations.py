"""What one operation on one conversation reads and writes, in which order, inside a transaction that is given.

Decides: compare and swap first, on the conversation's own row, which is thereby locked; then what left, what came, and
the change. Keeps R9 (what leaves stays in the history) and R11 (a change is there whole or not at all, and once). Knows
no database and no connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from uuid import uuid4

from attrs import frozen

from chatmemory.core.entries import Change, Stamp
from chatmemory.errors import ConflictError, CorruptedConversationError
from chatmemory.stores import _sql_rows as rows
from chatmemory.stores import _sql_statements as statements
from chatmemory.stores._sql_sealing import Seal
from chatmemory.stores._sql_statements import LARGEST, Row, Values
from chatmemory.stores._sql_transactions import Transaction
from chatmemory.stores.base import COMMIT_IDS_KEPT, Retain


@frozen
class Commit:
    """One change on its way into the tables; everything that can fail without a database has been done.

    Attributes:
        conversation_id: The conversation.
        change: The change.
        expected: What it was planned on.
        entries: The rows of the entries that it writes.
        redactions: The values for the rows whose content it destroys.
        description: The values of owner, title and meta, where it says them anew.
        conversation: The conversation's row, where the change makes it.
        epoch: The conversation's epoch afterwards.
        retain: What is kept of entries that have left.
    """

    conversation_id: str
    change: Change
    expected: Stamp
    entries: Sequence[Values]
    redactions: Sequence[Values]
    description: Values | None
    conversation: Values | None
    epoch: str
    retain: Retain

    @classmethod
    def of(cls, conversation_id: str, change: Change, expected: Stamp, seal: Seal, retain: Retain) -> Commit:
        """Return the rows of `change`."""
        kept = [entry for entry in change.written if retain == "history" or entry.left is None]
        is_new, epoch = expected.epoch is None, expected.epoch or uuid4().hex
        about = change.about if not is_new else None
        return cls(
            conversation_id,
            change,
            expected,
            [rows.entry_values(conversation_id, entry, seal) for entry in kept],
            [rows.redact_values(conversation_id, entry, seal) for entry in change.redacted],
            rows.describe_values(conversation_id, about, seal) if about else None,
            rows.conversation_values(conversation_id, change, epoch, seal) if is_new else None,
            epoch,
            retain,
        )

    def write(self, transaction: Transaction) -> str:
        """Write the change, and return the conversation's epoch.

        Raises:
            ConflictError: The conversation is not as expected.
            CorruptedConversationError: Its rows are not those that the change was planned on.
        """
        if not self._advances(transaction):
            return self._settle(transaction)
        for values in self.redactions:
            self._hit(transaction.run(statements.REDACT, values), 1)
        self._remove(transaction)
        transaction.run_for_each(statements.ADD_ENTRY, self.entries)
        transaction.run(statements.ADD_CHANGE, rows.change_values(self.conversation_id, self.change))
        return self.epoch

    def _advances(self, transaction: Transaction) -> bool:
        """Compare and swap: True where the conversation was as expected, and is now the change's."""
        if self.conversation is None:
            values = rows.advance_values(self.conversation_id, self.change, self.epoch, self.expected.version)
            if transaction.run(statements.ADVANCE, values) != 1:
                return False
            if self.description is not None:
                transaction.run(statements.DESCRIBE, self.description)
            return True
        if transaction.rows(statements.READ_STATE, {"p_id": self.conversation_id}):
            return False
        transaction.run(statements.ADD_CONVERSATION, self.conversation)
        return True

    def _remove(self, transaction: Transaction) -> None:
        removing = statements.marking if self.retain == "history" else statements.dropping
        for statement, values, left in removing(self.conversation_id, self.change):
            self._hit(transaction.run(statement, values), left)
        if self.retain == "window":
            self._forget(transaction)

    def _forget(self, transaction: Transaction) -> None:
        ours: Values = {"p_id": self.conversation_id}
        transaction.run(statements.FORGET_CHANGES, ours | {"p_forgotten": self.change.version - COMMIT_IDS_KEPT})
        transaction.run(statements.FORGET_WINDOWS, ours | {"p_version": self.change.version})

    def _hit(self, found: int, expected: int) -> None:
        if found != expected:
            raise CorruptedConversationError(
                f"conversation {self.conversation_id!r}: entries that are to leave or to be redacted are not in the "
                f"stored conversation; nothing changed; restore its rows from a backup"
            )

    def _settle(self, transaction: Transaction) -> str:
        """Return the epoch where this very change is there already; otherwise another writer was faster."""
        values: Values = {"p_id": self.conversation_id, "p_version": self.change.version}
        for epoch, version in transaction.rows(statements.READ_STATE, {"p_id": self.conversation_id}):
            if transaction.rows(statements.READ_COMMIT_ID, values) == [(self.change.commit_id,)]:
                # It may be on this server alone, where a wait for a standby was broken off.
                transaction.run(statements.CONFIRM, {"p_id": self.conversation_id})
                return str(epoch)
            raise ConflictError(
                f"conversation {self.conversation_id!r} is at version {version}, and the change was planned on version "
                f"{self.expected.version} of it or of one that is deleted; load it and plan again"
            )
        raise ConflictError(f"conversation {self.conversation_id!r} was deleted meanwhile; load it and plan again")


def read_window(transaction: Transaction, conversation_id: str) -> tuple[Row, list[Row]] | None:
    """Return the conversation's row and those of its window, or None."""
    for state in transaction.rows(statements.READ_CONVERSATION, {"p_id": conversation_id}):
        extent = rows.extent_of(conversation_id, *state[3:5])
        kept = [transaction.rows(*read) for read in statements.reading_keys(conversation_id, extent.kept_seqs)]
        tail = transaction.rows(statements.READ_TAIL, {"p_id": conversation_id, "p_first": extent.first_seq})
        return state, list(chain(*kept, tail))
    return None


def read_window_at(transaction: Transaction, conversation_id: str, version: int) -> list[Row] | None:
    """Return the rows of the window at `version`, or None where there is no such version."""
    if version > LARGEST or version < 1:
        return None
    values: Values = {"p_id": conversation_id, "p_version": version}
    for first_seq, last_seq, kept_seqs in transaction.rows(statements.READ_CHANGE, values):
        extent = rows.extent_of(conversation_id, first_seq, kept_seqs, last_seq)
        reads = statements.reading_keys_at(conversation_id, extent.kept_seqs, version)
        kept = [transaction.rows(*read) for read in reads]
        tail = transaction.rows(statements.READ_TAIL_AT, values | {"p_first": first_seq, "p_last": last_seq})
        return list(chain(*kept, tail))
    return None


def is_of(transaction: Transaction, conversation_id: str, owner: str | None) -> bool:
    """Whether the conversation may be shown to who asks for `owner`'s."""
    if owner is None:
        return True
    return transaction.rows(statements.READ_OWNER, {"p_id": conversation_id}) == [(owner,)]


def erase(transaction: Transaction, conversation_id: str, owner: str | None) -> bool:
    """Erase every row of the conversation, where it is `owner`'s; return whether there was one."""
    values: Values = {"p_id": conversation_id}
    if owner is None:
        found = transaction.run(statements.ERASE, values)
    else:
        found = transaction.run(statements.ERASE_OWNED, values | {"p_owner": owner})
    return _erase_rest(transaction, conversation_id, found)


def erase_idle(transaction: Transaction, conversation_id: str, before: int) -> bool:
    """Erase every row of the conversation, where nobody has changed it since `before`; return whether that was so."""
    found = transaction.run(statements.ERASE_IDLE, {"p_id": conversation_id, "p_before": before})
    return _erase_rest(transaction, conversation_id, found)


def _erase_rest(transaction: Transaction, conversation_id: str, found: int) -> bool:
    if found:
        for statement in statements.ERASE_REST:
            transaction.run(statement, {"p_id": conversation_id})
    return found > 0
