"""Rows ↔ entries: what stands in which column, and what a row must be to be an entry. Pure: no connection, no clock.

Decides: a row that this library does not write is an error, never left out and never repaired.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from sys import intern
from typing import Any, Final, get_args

from chatmemory.codec import decode_about, decode_message, encode_about, encode_message
from chatmemory.core.entries import About, Change, Entry, Extent, Kind, Reason, Snapshot
from chatmemory.errors import CorruptedConversationError
from chatmemory.frozen_json import dump_json
from chatmemory.messages import Message
from chatmemory.stores._sql_sealing import Seal
from chatmemory.stores._sql_statements import Row, Values
from chatmemory.stores.base import ConversationInfo

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
_KINDS: Final[dict[object, Kind]] = {kind: kind for kind in get_args(Kind)}
_REASONS: Final[dict[object, Reason | None]] = {None: None, **{reason: reason for reason in get_args(Reason)}}


def conversation_values(conversation_id: str, change: Change, epoch: str, seal: Seal) -> Values:
    """Return the row of a new conversation."""
    about = _about_columns(change.about or About(), seal)
    at = microseconds(change.at)
    return {
        "id": conversation_id,
        "epoch": epoch,
        "version": change.version,
        "next_seq": change.next_seq,
        "first_seq": change.extent.first_seq,
        "kept_seqs": dump_json(change.extent.kept_seqs),
        "size": _growth(change),
        "created_at": at,
        "updated_at": at,
        **about,
    }


def describe_values(conversation_id: str, about: About, seal: Seal) -> Values:
    """Return the values of `DESCRIBE`."""
    columns = _about_columns(about, seal)
    return {
        "p_id": conversation_id,
        "p_owner": columns["owner"],
        "p_about": columns["about"],
        "p_sealed": columns["sealed"],
        "p_key": columns["key_id"],
    }


def _about_columns(about: About, seal: Seal) -> Values:
    text = encode_about(about)
    plain, sealed, key_id = (None, None, None) if text is None else seal.close(text)
    return {"owner": about.owner, "about": plain, "sealed": sealed, "key_id": key_id}


def advance_values(conversation_id: str, change: Change, epoch: str, expected_version: int) -> Values:
    """Return the values of `ADVANCE`."""
    return {
        "p_id": conversation_id,
        "p_epoch": epoch,
        "p_expected": expected_version,
        "p_version": change.version,
        "p_next": change.next_seq,
        "p_first": change.extent.first_seq,
        "p_kept": dump_json(change.extent.kept_seqs),
        "p_growth": _growth(change),
        "p_at": microseconds(change.at),
    }


def _growth(change: Change) -> int:
    came = sum(entry.left is None for entry in change.written)
    return came - sum(removal.entered < change.version for removal in change.removed)


def change_values(conversation_id: str, change: Change) -> Values:
    """Return the row of a change."""
    return {
        "conversation_id": conversation_id,
        "version": change.version,
        "commit_id": change.commit_id,
        "at": microseconds(change.at),
        "first_seq": change.extent.first_seq,
        "last_seq": change.next_seq - 1,
        "kept_seqs": dump_json(change.extent.kept_seqs),
        "refusals": dump_json([[refusal.seq, refusal.guards] for refusal in change.refused]),
    }


def entry_values(conversation_id: str, entry: Entry, seal: Seal) -> Values:
    """Return the row of an entry."""
    plain, sealed, key_id = seal.close(encode_message(entry.message))
    return {
        "conversation_id": conversation_id,
        "seq": entry.seq,
        "kind": entry.kind,
        "origin_seq": entry.origin_seq,
        "call_seq": entry.call_seq,
        "role": entry.message.role,
        "payload": plain,
        "sealed": sealed,
        "key_id": key_id,
        "tokens": entry.tokens,
        "counter": entry.counter,
        "added_at": microseconds(entry.added_at),
        "added_version": entry.entered,
        "removed_version": entry.left,
        "removed_reason": entry.reason,
        "redacted_version": entry.redacted,
    }


def redact_values(conversation_id: str, entry: Entry, seal: Seal) -> Values:
    """Return the values of `REDACT`."""
    plain, sealed, key_id = seal.close(encode_message(entry.message))
    return {
        "p_id": conversation_id,
        "p_seq": entry.seq,
        "p_payload": plain,
        "p_sealed": sealed,
        "p_key": key_id,
        "p_tokens": entry.tokens,
        "p_counter": entry.counter,
        "p_version": entry.redacted,
    }


def entries_of(conversation_id: str, rows: Iterable[Row], seal: Seal) -> list[Entry]:
    """Return rows of `messages` as entries.

    Raises:
        CorruptedConversationError: A row is not what this library writes.
    """
    return [_entry_of(conversation_id, row, seal) for row in rows]


def _entry_of(conversation_id: str, row: Row, seal: Seal) -> Entry:
    (seq, kind, origin, call, role, plain, sealed, key_id, tokens, counter, at, entered, left, reason, redacted) = row
    try:
        _check_numbers(seq, at, entered)
        _check_numbers(*(number for number in (origin, call, tokens, left, redacted) if number is not None))
        name = counter if counter is None else intern(counter)
        message = _message_of(seal.open(plain, sealed, key_id), role)
        return Entry(
            seq,
            message,
            tokens,
            name,
            _KINDS[kind],
            origin,
            call,
            moment(at),
            entered,
            left,
            _REASONS[reason],
            redacted,
        )
    except CorruptedConversationError as error:
        problem, cause = str(error), error.__cause__
    except (ValueError, TypeError, LookupError, OverflowError):
        problem, cause = "the row holds a value that this library does not write; restore it from a backup", None
    raise CorruptedConversationError(f"conversation {conversation_id!r}, entry {seq!r}: {problem}") from cause


def _message_of(payload: str, role: str) -> Message:
    message = decode_message(payload)
    if message.role != role:
        raise ValueError("the row's role is not its message's")
    return message


def _check_numbers(*values: object) -> None:
    for value in values:
        if type(value) is not int:
            raise TypeError("the row holds no int where one belongs")


def snapshot_of(conversation_id: str, state: Row, rows: Sequence[Row], seal: Seal) -> Snapshot:
    """Return a row of `READ_CONVERSATION`, and the rows of its window, as what a memory loads.

    Raises:
        CorruptedConversationError: A row is not what this library writes, or is missing.
    """
    epoch, version, next_seq, first_seq, kept_seqs, size, *about = state
    extent = extent_of(conversation_id, first_seq, kept_seqs, version, next_seq)
    if len(rows) != size:
        raise CorruptedConversationError(
            f"conversation {conversation_id!r}: its window has {len(rows)} entries and should have {size}; "
            f"restore its rows from a backup"
        )
    entries = tuple(entries_of(conversation_id, rows, seal))
    return Snapshot(epoch, version, next_seq, extent, entries, _about_of(conversation_id, about, seal))


def extent_of(conversation_id: str, first_seq: Any, kept_seqs: Any, *numbers: Any) -> Extent:
    """Return where a window lies; `numbers` are the row's other whole numbers, which are checked as well.

    Raises:
        CorruptedConversationError: The row is not what this library writes.
    """
    try:
        kept = json.loads(kept_seqs)
        _check_numbers(first_seq, *numbers, *kept)
        return Extent(first_seq, tuple(kept))
    except (ValueError, TypeError, RecursionError):
        problem = "its version, or where its window lies, cannot be read; restore its row from a backup"
    raise CorruptedConversationError(f"conversation {conversation_id!r}: {problem}")


def info_of(row: Row, seal: Seal) -> ConversationInfo:
    """Return a row of a listing as it is shown.

    Raises:
        CorruptedConversationError: The row is not what this library writes.
    """
    conversation_id, version, next_seq, size, created, updated, *columns = row
    about = _about_of(conversation_id, columns, seal)
    try:
        _check_numbers(version, next_seq, size, created, updated)
        return ConversationInfo(conversation_id, version, about, size, next_seq - 1, moment(created), moment(updated))
    except (TypeError, OverflowError):
        problem = "its version, its counts or its times cannot be read; restore its row from a backup"
    raise CorruptedConversationError(f"conversation {conversation_id!r}: {problem}")


def _about_of(conversation_id: str, columns: Sequence[Any], seal: Seal) -> About:
    owner, plain, sealed, key_id = columns
    try:
        return decode_about(owner, None if plain is sealed is None else seal.open(plain, sealed, key_id))
    except CorruptedConversationError as error:
        raise CorruptedConversationError(f"conversation {conversation_id!r}, its title and meta: {error}") from error


def microseconds(at: datetime) -> int:
    """Return whole microseconds since 1970 in UTC: exact, and the same number on every database."""
    return (at - _EPOCH) // MICROSECOND


def moment(stored: int) -> datetime:
    """Return the time that `microseconds` made `stored` from."""
    return _EPOCH + timedelta(microseconds=stored)
