"""Ids of conversations ↔ keys of documents.

Decides: which key an id has. A key is 3 to 200 characters of ``a-z 0-9 - _``, begins with ``c-`` or ``h-``, and is
another one for every id: so it is a safe name on every file system (also where case does not count, and where ``con``
and ``..`` mean something else), in every bucket and in every URL.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

_LONGEST: Final = 200
_UNSAFE: Final = re.compile(rb"[^a-z0-9-]")
_QUOTED: Final = re.compile(rb"_([0-9a-f]{2})")
_HASHED: Final = re.compile(r"h-[0-9a-f]{64}")


def key_of(conversation_id: str) -> str:
    """Return the key of an id: the id quoted, or a hash of it where that would be longer than 200 characters.

    Example:
        >>> key_of("user-42"), key_of("../A b")
        ('c-user-42', 'c-_2e_2e_2f_41_20b')
    """
    given = conversation_id.encode()
    quoted = _UNSAFE.sub(lambda found: b"_%02x" % ord(found[0]), given)
    key = f"c-{quoted.decode()}"
    return key if len(key) <= _LONGEST else f"h-{sha256(given).hexdigest()}"


def id_of(key: str) -> str | None:
    """Return the id whose key this is; None where it is a hash, or no key of ours.

    Example:
        >>> id_of("c-_2e_2e_2f_41_20b"), id_of("notes")
        ('../A b', None)
    """
    try:
        conversation_id = _QUOTED.sub(lambda found: bytes.fromhex(found[1].decode()), key[2:].encode()).decode()
    except UnicodeError:
        return None
    return conversation_id if conversation_id and key_of(conversation_id) == key else None


def is_hash(key: str) -> bool:
    """Whether the key hides its id, so that only the document tells it."""
    return _HASHED.fullmatch(key) is not None
