"""One conversation ↔ one JSON text, whole: entries, changes, and what is known of it.

Decides: how the text is laid out, and what a text must be to be that conversation. A text that this library does not
write is an error, never an empty conversation and never repaired. Knows no back end.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from sys import intern
from typing import Any, Final, get_args

from chatmemory.codec import (
    about_of_fields,
    dump_stored,
    fields_of_about,
    fields_of_message,
    message_of_fields,
    parse_stored,
)
from chatmemory.core.entries import Entry, Extent, Kind, Reason
from chatmemory.errors import CorruptedConversationError, UnsupportedSchemaError
from chatmemory.stores._conversation import Conversation, Recorded

DOCUMENT_VERSION: Final = 1

_Fields = dict[str, Any]
_FORMAT: Final = "chatmemory conversation"
_OPTIONAL_NUMBERS: Final = ("tokens", "origin_seq", "call_seq", "left", "redacted")


def encode_conversation(conversation_id: str, conversation: Conversation) -> str:
    """Return the whole conversation as text, which is JSON and valid UTF-8."""
    changes = [_change_fields(version, kept) for version, kept in conversation.changes.items() if version]
    return dump_stored(
        {
            "format": _FORMAT,
            "v": DOCUMENT_VERSION,
            "id": conversation_id,
            "owner": conversation.about.owner,
            "about": fields_of_about(conversation.about),
            "epoch": conversation.epoch,
            "version": conversation.version,
            "created_at": _written(conversation.created_at),
            "updated_at": _written(conversation.updated_at),
            "size": len(conversation.entries),
            "entries": [_entry_fields(entry) for entry in conversation.entries],
            "changes": changes,
        }
    )


def decode_conversation(conversation_id: str | None, text: object) -> tuple[str, Conversation]:
    """Return the id and the conversation that `text` was made from.

    Args:
        conversation_id: Whose text it should be; None: anyone's.
        text: What the back end gave.

    Raises:
        CorruptedConversationError: It is no such text, or another conversation's.
        UnsupportedSchemaError: A newer version of this library wrote it.
    """
    where = "the document" if conversation_id is None else f"conversation {conversation_id!r}"
    try:
        return _read(conversation_id, text)
    except CorruptedConversationError as error:
        problem = str(error)
    except UnsupportedSchemaError as error:
        raise UnsupportedSchemaError(f"{where}: {error}") from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
        problem = "its document holds a value that this library does not write; restore it from a backup"
    raise CorruptedConversationError(f"{where}: {problem}")  # outside: the error above may quote the text


def _read(conversation_id: str | None, text: object) -> tuple[str, Conversation]:
    fields = parse_stored(_str(text))
    if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
        raise CorruptedConversationError("its document is not one that this library wrote; look what else writes there")
    if _int(fields["v"]) < 1:
        raise ValueError("the document has no version")
    if fields["v"] > DOCUMENT_VERSION:  # before anything else, which may be laid out otherwise
        raise UnsupportedSchemaError(
            f"its document has version {fields['v']}, this library reads up to {DOCUMENT_VERSION}; upgrade pychatmemory"
        )
    if conversation_id not in (None, fields["id"]):
        raise CorruptedConversationError("its document is another conversation's; put it back under its own key")
    return _str(fields["id"]), _checked(_conversation(fields), _int(fields["size"]))


def _conversation(fields: _Fields) -> Conversation:
    owner, about = fields["owner"], fields["about"]
    return Conversation(
        epoch=_str(fields["epoch"]),
        created_at=_time(fields["created_at"]),
        updated_at=_time(fields["updated_at"]),
        version=_int(fields["version"]),
        about=about_of_fields(owner if owner is None else _str(owner), {} if about is None else about),
        entries=[_entry(each) for each in fields["entries"]],
        changes=dict(_change(each) for each in fields["changes"]),
    )


def _checked(conversation: Conversation, size: int) -> Conversation:
    seqs = [entry.seq for entry in conversation.entries]
    end = conversation.changes[conversation.version].next_seq
    there = frozenset(seqs)
    if (
        len(seqs) != size
        or any(one >= other for one, other in pairwise([0, *seqs, end]))
        or not all(there.issuperset(kept.extent.kept_seqs) for kept in conversation.changes.values() if kept.next_seq)
    ):
        raise CorruptedConversationError("its document lacks entries, or has them twice; restore it from a backup")
    return conversation


def _entry_fields(entry: Entry) -> _Fields:
    fields: _Fields = {"seq": entry.seq, "at": _written(entry.added_at), "entered": entry.entered}
    optional = ("counter", "reason", *_OPTIONAL_NUMBERS)
    fields |= {name: value for name in optional if (value := getattr(entry, name)) is not None}
    if entry.kind != "message":
        fields["kind"] = entry.kind
    fields["message"] = fields_of_message(entry.message)
    return fields


def _entry(fields: _Fields) -> Entry:
    """Return an entry. Its fields are used up, so that one which this version does not write is noticed."""
    counter = fields.pop("counter", None)
    entry = Entry(
        seq=_int(fields.pop("seq")),
        message=message_of_fields(fields.pop("message")),
        counter=counter if counter is None else intern(_str(counter)),
        kind=_KINDS[fields.pop("kind", "message")],
        added_at=_time(fields.pop("at")),
        entered=_int(fields.pop("entered")),
        reason=_REASONS[fields.pop("reason", None)],
        **{name: _int(fields.pop(name)) if name in fields else None for name in _OPTIONAL_NUMBERS},
    )
    if fields:
        raise ValueError("the entry has a field that this version does not write")
    return entry


def _change_fields(version: int, kept: Recorded) -> _Fields:
    return {
        "version": version,
        "commit_id": kept.commit_id,
        "next_seq": kept.next_seq,
        "first_seq": kept.extent.first_seq,
        "kept_seqs": list(kept.extent.kept_seqs),
    }


def _change(fields: _Fields) -> tuple[int, Recorded]:
    kept_seqs = tuple(_int(seq) for seq in fields["kept_seqs"])
    extent = Extent(_int(fields["first_seq"]), kept_seqs)
    return _int(fields["version"]), Recorded(_str(fields["commit_id"]), _int(fields["next_seq"]), extent)


_KINDS: Final[dict[object, Kind]] = {kind: kind for kind in get_args(Kind)}
_REASONS: Final[dict[object, Reason | None]] = {None: None, **{reason: reason for reason in get_args(Reason)}}


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _time(value: object) -> datetime:
    time = datetime.fromisoformat(_str(value))
    if time.tzinfo is None:
        raise ValueError("the document holds a time without a time zone")
    return time.astimezone(UTC)


def _int(value: object) -> int:
    if type(value) is not int:
        raise TypeError("the document holds no int where one belongs")
    return value


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("the document holds no str where one belongs")
    return value
