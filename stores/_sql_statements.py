"""Every statement of the SQL stores, built once at import and reused. Pure: no connection, no clock, no row.

Decides: what is read and written. Each statement names its conversation, but for listings. A window is a range of the
primary key and a few keys; `OR` over seqs never appears, since SQLite would scan for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final

from sqlalchemy import BigInteger, BindParameter, Delete, Update, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.sql import Executable

from chatmemory.core.entries import Change
from chatmemory.stores._sql_schema import changes, conversations, messages
from chatmemory.stores.base import Page

Row = tuple[Any, ...]
Values = dict[str, Any]

LARGEST: Final = 2**63 - 1
"""What a column of whole numbers holds."""

_KEYS_AT_ONCE: Final = 512

# Names of parameters are unlike those of columns, or an UPDATE would take them for values to set.
_c, _m, _h = conversations.c, messages.c, changes.c
_ID: Final[BindParameter[str]] = bindparam("p_id")
_VERSION: Final[BindParameter[int]] = bindparam("p_version")
_ENTRY: Final = (
    _m.seq, _m.kind, _m.origin_seq, _m.call_seq, _m.role, _m.payload, _m.sealed, _m.key_id, _m.tokens, _m.counter,
    _m.added_at, _m.added_version, _m.removed_version, _m.removed_reason, _m.redacted_version,
)  # fmt: skip
_OURS: Final = select(*_ENTRY).where(_m.conversation_id == _ID)
_WAS_IN: Final = (_m.added_version <= _VERSION, or_(_m.removed_version.is_(None), _m.removed_version > _VERSION))

_ABOUT: Final = (_c.owner, _c.about, _c.sealed, _c.key_id)
READ_CONVERSATION: Final = select(
    _c.epoch, _c.version, _c.next_seq, _c.first_seq, _c.kept_seqs, _c.size, *_ABOUT
).where(_c.id == _ID)
READ_OWNER: Final = select(_c.owner).where(_c.id == _ID)
READ_STATE: Final = select(_c.epoch, _c.version).where(_c.id == _ID)
# A change whose window is not kept lies nowhere: its `first_seq` is 0.
READ_CHANGE: Final = select(_h.first_seq, _h.last_seq, _h.kept_seqs).where(
    _h.conversation_id == _ID, _h.version == _VERSION, _h.first_seq > 0
)
READ_COMMIT_ID: Final = select(_h.commit_id).where(_h.conversation_id == _ID, _h.version == _VERSION)
READ_TAIL: Final = _OURS.where(_m.seq >= bindparam("p_first"), _m.removed_version.is_(None)).order_by(_m.seq)
READ_TAIL_AT: Final = _OURS.where(_m.seq >= bindparam("p_first"), _m.seq <= bindparam("p_last"), *_WAS_IN).order_by(
    _m.seq
)
READ_HISTORY: Final = _OURS.where(_m.seq > bindparam("p_after")).order_by(_m.seq).limit(bindparam("p_limit"))
READ_IDLE: Final = (
    select(_c.id).where(_c.updated_at < bindparam("p_before")).order_by(_c.id).limit(bindparam("p_limit"))
)

_IS_DUE: Final = func.coalesce(_m.key_id, "") != bindparam("p_key")  # not an OR, and no key is ""
READ_ABOUTS: Final = (
    select(_c.id, _c.about, _c.sealed, _c.key_id)
    .where(_c.id >= bindparam("p_from"))
    .order_by(_c.id)
    .limit(bindparam("p_limit"))
)
LOCK_ABOUT: Final = select(_c.about, _c.sealed, _c.key_id).where(_c.id == _ID).with_for_update()
READ_DUE: Final = (
    select(_m.seq)
    .where(_m.conversation_id == _ID, _m.seq > bindparam("p_after"), _IS_DUE)
    .order_by(_m.seq)
    .limit(bindparam("p_limit"))
)
READ_TEXTS: Final = select(_m.seq, _m.payload, _m.sealed, _m.key_id).where(
    _m.conversation_id == _ID, _m.seq >= bindparam("p_first"), _m.seq <= bindparam("p_last"), _IS_DUE
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
# Changes nothing but is written: a transaction that writes nothing is not waited for by PostgreSQL's standbys.
CONFIRM: Final = update(conversations).where(_c.id == _ID).values(version=_c.version)
DESCRIBE: Final = (
    update(conversations)
    .where(_c.id == _ID)
    .values(
        owner=bindparam("p_owner"), about=bindparam("p_about"), sealed=bindparam("p_sealed"), key_id=bindparam("p_key")
    )
)
ADD_ENTRY: Final = insert(messages)
ADD_CHANGE: Final = insert(changes)
REDACT: Final = (
    update(messages)
    .where(_m.conversation_id == _ID, _m.seq == bindparam("p_seq"))
    .values(
        payload=bindparam("p_payload"),
        sealed=bindparam("p_sealed"),
        key_id=bindparam("p_key"),
        tokens=bindparam("p_tokens"),
        counter=bindparam("p_counter"),
        redacted_version=_VERSION,
    )
)
_TEXT: Final[Values] = {"sealed": bindparam("p_sealed"), "key_id": bindparam("p_key")}
RESEAL: Final = (
    update(messages)
    .where(_m.conversation_id == _ID, _m.seq == bindparam("p_seq"))
    .values(payload=bindparam("p_payload"), **_TEXT)
)
RESEAL_ABOUT: Final = update(conversations).where(_c.id == _ID).values(about=bindparam("p_payload"), **_TEXT)
FORGET_CHANGES: Final = delete(changes).where(_h.conversation_id == _ID, _h.version <= bindparam("p_forgotten"))
FORGET_WINDOWS: Final = (
    update(changes).where(_h.conversation_id == _ID, _h.version < _VERSION, _h.first_seq > 0).values(first_seq=0)
)
ERASE: Final = delete(conversations).where(_c.id == _ID)
ERASE_OWNED: Final = ERASE.where(_c.owner == bindparam("p_owner"))
ERASE_IDLE: Final = ERASE.where(_c.updated_at < bindparam("p_before"))
"""The conversation's own row goes first: it tells whether there is one, and it is what every writer locks first."""

ERASE_REST: Final = (
    delete(messages).where(_m.conversation_id == _ID),
    delete(changes).where(_h.conversation_id == _ID),
)

_MARK: Final = (
    update(messages)
    .where(_m.conversation_id == _ID, _m.removed_version.is_(None))
    .values(removed_version=_VERSION, removed_reason=bindparam("p_reason"))
)
_DROP: Final = delete(messages).where(_m.conversation_id == _ID, _m.removed_version.is_(None))


@cache
def _in_range(statement: Update | Delete) -> Executable:
    return statement.where(_m.seq >= bindparam("p_first"), _m.seq <= bindparam("p_last"))


@cache
def _of_keys(statement: Update | Delete, size: int) -> Executable:
    return statement.where(_keys(size))


@cache
def _keys(size: int) -> Any:
    return _m.seq.in_([bindparam(f"p_seq{at}") for at in range(size)])


@cache
def _read_keys(size: int) -> Executable:
    return _OURS.where(_keys(size), _m.removed_version.is_(None)).order_by(_m.seq)


@cache
def _read_keys_at(size: int) -> Executable:
    return _OURS.where(_keys(size), *_WAS_IN).order_by(_m.seq)


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
        values: Values = {"p_id": conversation_id, "p_version": change.version, "p_reason": reason}
        yield from _hitting(_MARK, values, [seq for _, seq in group])


def dropping(conversation_id: str, change: Change) -> Iterator[tuple[Executable, Values, int]]:
    """Yield the statements that erase what left, and how many rows each must find."""
    left = sorted(removal.seq for removal in change.removed if removal.entered < change.version)
    if left:
        yield from _hitting(_DROP, {"p_id": conversation_id}, left)


def _hitting(
    statement: Update | Delete, values: Values, seqs: Sequence[int]
) -> Iterator[tuple[Executable, Values, int]]:
    if seqs[-1] - seqs[0] == len(seqs) - 1:
        yield _in_range(statement), values | {"p_first": seqs[0], "p_last": seqs[-1]}, len(seqs)
        return
    for size, keys in _key_values(seqs):
        yield _of_keys(statement, size), values | keys, len(set(keys.values()))


def listing(page: Page, since: int | None) -> tuple[Executable, Values]:
    """Return the statement that reads one page of conversations; `since` is ``page.updated_since`` as stored."""
    end = _behind(page.prefix)
    values: Values = {
        "p_after": page.after,
        "p_from": page.prefix,
        "p_end": end,
        "p_owner": page.owner,
        "p_since": since,
        "p_limit": min(page.limit, LARGEST),
    }
    asked = tuple(name for name in ("p_end", "p_owner", "p_since") if values[name] is not None)
    statement = _listing(asked)
    return statement, {name: values[name] for name in ("p_after", "p_from", "p_limit", *asked)}


@cache
def _listing(asked: tuple[str, ...]) -> Executable:
    wanted = {
        "p_end": _c.id < bindparam("p_end"),
        "p_owner": _c.owner == bindparam("p_owner"),
        "p_since": _c.updated_at >= bindparam("p_since"),
    }
    return (
        select(_c.id, _c.version, _c.next_seq, _c.size, _c.created_at, _c.updated_at, *_ABOUT)
        .where(_c.id > bindparam("p_after"), _c.id >= bindparam("p_from"), *(wanted[name] for name in asked))
        .order_by(_c.id)
        .limit(bindparam("p_limit"))
    )


def _behind(prefix: str) -> str | None:
    """Return the least text, by code points, that is greater than all that begin with `prefix`; None: there is none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    behind = chr(ord(stem[-1]) + 1)
    return stem[:-1] + ("\ue000" if behind == "\ud800" else behind)  # no id holds a surrogate
