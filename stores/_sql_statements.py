"""Every statement of the SQL stores, built once at import, and rows ↔ entries. Pure: no connection, no clock.

Decides: what is read and written, and what a row must be to be an entry. Each statement names its conversation. A
window is a range of the primary key and a few keys; `OR` over seqs never appears, since SQLite would scan for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from sys import intern
from typing import Any, Final, get_args

from sqlalchemy import BigInteger, BindParameter, bindparam, delete, insert, or_, select, update
from sqlalchemy.sql import Executable

from chatmemory.codec import decode_message, encode_message
from chatmemory.core.entries import Change, Entry, Extent, Kind, Reason, Snapshot
from chatmemory.errors import CorruptedConversationError
from chatmemory.frozen_json import dump_json
from chatmemory.messages import Message
from chatmemory.stores._sql_schema import changes, conversations, messages
from chatmemory.stores.base import ConversationInfo

Row = tuple[Any, ...]
Values = dict[str, Any]

LARGEST: Final = 2**63 - 1
"""What a column of whole numbers holds."""

_KEYS_AT_ONCE: Final = 512
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_KINDS: Final[dict[object, Kind]] = {kind: kind for kind in get_args(Kind)}
_REASONS: Final[dict[object, Reason | None]] = {None: None, **{reason: reason for reason in get_args(Reason)}}

# Names of parameters are unlike those of columns, or an UPDATE would take them for values to set.
_c, _m, _h = conversations.c, messages.c, changes.c
_ID: Final[BindParameter[str]] = bindparam("p_id")
_VERSION: Final[BindParameter[int]] = bindparam("p_version")
_ENTRY: Final = (
    _m.seq, _m.kind, _m.origin_seq, _m.call_seq, _m.role, _m.payload, _m.tokens, _m.counter,
    _m.added_at, _m.added_version, _m.removed_version, _m.removed_reason,
)  # fmt: skip
_OURS: Final = select(*_ENTRY).where(_m.conversation_id == _ID)
_WAS_IN: Final = (_m.added_version <= _VERSION, or_(_m.removed_version.is_(None), _m.removed_version > _VERSION))

READ_CONVERSATION: Final = select(_c.epoch, _c.version, _c.next_seq, _c.first_seq, _c.kept_seqs, _c.size).where(
    _c.id == _ID
)
READ_STATE: Final = select(_c.epoch, _c.version).where(_c.id == _ID)
READ_CHANGE: Final = select(_h.first_seq, _h.last_seq, _h.kept_seqs).where(
    _h.conversation_id == _ID, _h.version == _VERSION
)
READ_COMMIT_ID: Final = select(_h.commit_id).where(_h.conversation_id == _ID, _h.version == _VERSION)
READ_TAIL: Final = _OURS.where(_m.seq >= bindparam("p_first"), _m.removed_version.is_(None)).order_by(_m.seq)
READ_TAIL_AT: Final = _OURS.where(_m.seq >= bindparam("p_first"), _m.seq <= bindparam("p_last"), *_WAS_IN).order_by(
    _m.seq
)
READ_HISTORY: Final = _OURS.where(_m.seq > bindparam("p_after")).order_by(_m.seq).limit(bindparam("p_limit"))
LIST_CONVERSATIONS: Final = (
    select(_c.id, _c.version, _c.created_at, _c.updated_at)
    .where(_c.id > bindparam("p_after"))
    .order_by(_c.id)
    .limit(bindparam("p_limit"))
)

ADD_CONVERSATION: Final = insert(conversations)
ADVANCE: Final = (
    update(conversations)
    .where(_c.id == _ID, _c.epoch == bindparam("p_epoch"), _c.version == bindparam("p_expected"))
    .values(
        version=_VERSION,
        next_seq=bindparam("p_next"),
        first_seq=bindparam("p_first"),
        kept_seqs=bindparam("p_kept"),
        size=_c.size + bindparam("p_growth", type_=BigInteger),
        updated_at=bindparam("p_at"),
    )
)
ADD_ENTRY: Final = insert(messages)
ADD_CHANGE: Final = insert(changes)
ERASE: Final = tuple(
    delete(table).where(column == _ID)
    for table, column in ((messages, _m.conversation_id), (changes, _h.conversation_id), (conversations, _c.id))
)
"""The conversation's own row comes last: how many rows that erased tells whether there was one."""

_MARK: Final = (
    update(messages)
    .where(_m.conversation_id == _ID, _m.removed_version.is_(None))
    .values(removed_version=_VERSION, removed_reason=bindparam("p_reason"))
)
_MARK_RANGE: Final = _MARK.where(_m.seq >= bindparam("p_first"), _m.seq <= bindparam("p_last"))


@cache
def _keys(size: int) -> Any:
    return _m.seq.in_([bindparam(f"p_seq{at}") for at in range(size)])


@cache
def _read_keys(size: int) -> Executable:
    return _OURS.where(_keys(size), _m.removed_version.is_(None)).order_by(_m.seq)


@cache
def _read_keys_at(size: int) -> Executable:
    return _OURS.where(_keys(size), *_WAS_IN).order_by(_m.seq)


@cache
def _mark_keys(size: int) -> Executable:
    return _MARK.where(_keys(size))


def _key_values(seqs: Sequence[int]) -> Iterator[tuple[int, Values]]:
    """Yield sizes and values of lists of keys, in four sizes so that few statements exist; the last key fills them."""
    for start in range(0, len(seqs), _KEYS_AT_ONCE):
        part = seqs[start : start + _KEYS_AT_ONCE]
        size = next(size for size in (1, 8, 64, _KEYS_AT_ONCE) if size >= len(part))
        yield size, {f"p_seq{at}": part[min(at, len(part) - 1)] for at in range(size)}


def reading_keys(conversation_id: str, seqs: Sequence[int]) -> Iterator[tuple[Executable, Values]]:
    """Yield the statements that read the entries with these seqs that are in the window."""
    for size, keys in _key_values(seqs):
        yield _read_keys(size), {"p_id": conversation_id, **keys}


def reading_keys_at(conversation_id: str, seqs: Sequence[int], version: int) -> Iterator[tuple[Executable, Values]]:
    """Yield the statements that read the entries with these seqs that were in the window at `version`."""
    for size, keys in _key_values(seqs):
        yield _read_keys_at(size), {"p_id": conversation_id, "p_version": version, **keys}


def marking(conversation_id: str, change: Change) -> Iterator[tuple[Executable, Values, int]]:
    """Yield the statements that mark what left, and how many rows each must find: one a reason, however many leave."""
    left = sorted((removal.reason, removal.seq) for removal in change.removed if removal.entered < change.version)
    for reason, group in groupby(left, key=lambda pair: pair[0]):
        seqs = [seq for _, seq in group]
        values: Values = {"p_id": conversation_id, "p_version": change.version, "p_reason": reason}
        if seqs[-1] - seqs[0] == len(seqs) - 1:
            yield _MARK_RANGE, values | {"p_first": seqs[0], "p_last": seqs[-1]}, len(seqs)
        else:
            for size, keys in _key_values(seqs):
                yield _mark_keys(size), values | keys, len(set(keys.values()))


def conversation_values(conversation_id: str, change: Change, epoch: str) -> Values:
    """Return the row of a new conversation."""
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
    }


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


def entry_values(conversation_id: str, entry: Entry) -> Values:
    """Return the row of an entry."""
    return {
        "conversation_id": conversation_id,
        "seq": entry.seq,
        "kind": entry.kind,
        "origin_seq": entry.origin_seq,
        "call_seq": entry.call_seq,
        "role": entry.message.role,
        "payload": encode_message(entry.message),
        "tokens": entry.tokens,
        "counter": entry.counter,
        "added_at": microseconds(entry.added_at),
        "added_version": entry.entered,
        "removed_version": entry.left,
        "removed_reason": entry.reason,
    }


def entries_of(conversation_id: str, rows: Iterable[Row]) -> list[Entry]:
    """Return rows of `messages` as entries.

    Raises:
        CorruptedConversationError: A row is not what this library writes.
    """
    return [_entry_of(conversation_id, row) for row in rows]


def _entry_of(conversation_id: str, row: Row) -> Entry:
    seq, kind, origin, call, role, payload, tokens, counter, at, entered, left, reason = row
    try:
        _check_numbers(seq, at, entered)
        _check_numbers(*(number for number in (origin, call, tokens, left) if number is not None))
        name = counter if counter is None else intern(counter)
        message = _message_of(payload, role)
        return Entry(
            seq, message, tokens, name, _KINDS[kind], origin, call, moment(at), entered, left, _REASONS[reason]
        )
    except CorruptedConversationError as error:
        problem = str(error)
    except (ValueError, TypeError, LookupError, OverflowError):
        problem = "the row holds a value that this library does not write; restore it from a backup"
    raise CorruptedConversationError(f"conversation {conversation_id!r}, entry {seq!r}: {problem}")


def _message_of(payload: str, role: str) -> Message:
    message = decode_message(payload)
    if message.role != role:
        raise ValueError("the row's role is not its message's")
    return message


def _check_numbers(*values: object) -> None:
    for value in values:
        if type(value) is not int:
            raise TypeError("the row holds no int where one belongs")


def snapshot_of(conversation_id: str, state: Row, rows: Sequence[Row]) -> Snapshot:
    """Return a row of `READ_CONVERSATION`, and the rows of its window, as what a memory loads.

    Raises:
        CorruptedConversationError: A row is not what this library writes, or is missing.
    """
    epoch, version, next_seq, first_seq, kept_seqs, size = state
    extent = extent_of(conversation_id, first_seq, kept_seqs, version, next_seq)
    if len(rows) != size:
        raise CorruptedConversationError(
            f"conversation {conversation_id!r}: its window has {len(rows)} entries and should have {size}; "
            f"restore its rows from a backup"
        )
    return Snapshot(epoch, version, next_seq, extent, tuple(entries_of(conversation_id, rows)))


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


def info_of(row: Row) -> ConversationInfo:
    """Return a row of `LIST_CONVERSATIONS` as it is shown.

    Raises:
        CorruptedConversationError: The row is not what this library writes.
    """
    conversation_id, version, created, updated = row
    try:
        _check_numbers(version, created, updated)
        return ConversationInfo(conversation_id, version, moment(created), moment(updated))
    except (TypeError, OverflowError):
        problem = "its version or its times cannot be read; restore its row from a backup"
    raise CorruptedConversationError(f"conversation {conversation_id!r}: {problem}")


def microseconds(at: datetime) -> int:
    """Return whole microseconds since 1970 in UTC: exact, and the same number on every database."""
    return (at - _EPOCH) // _MICROSECOND


def moment(stored: int) -> datetime:
    """Return the time that `microseconds` made `stored` from."""
    return _EPOCH + timedelta(microseconds=stored)
