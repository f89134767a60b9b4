"""What someone writes to keep conversations elsewhere: `get`, `put`, `delete` and `keys` of whole texts.

Decides: what a back end promises, and how compare-and-swap is emulated for one that cannot compare. Knows nothing of
conversations.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, ClassVar, Final

from attrs import field, frozen, validators

_locks: Final = [RLock() for _ in range(64)]


def _renew() -> None:
    _locks[:] = [RLock() for _ in _locks]  # a thread that the child does not have may have held the old ones


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@frozen(repr=False)
class Document:
    """One conversation as text, and what the back end needs to know this state of it again.

    Attributes:
        text: What was put.
        revision: The back end's own: an ETag, a version number. It is never looked at, only given back to `put`.
    """

    text: str = field(validator=validators.instance_of(str))
    revision: Any


class _BackEnd(ABC):
    """What both kinds of back end share.

    Attributes:
        unchanged_after: Errors of `put` and `delete` after which the document is as it was before. After any other
            error nobody knows, and memories ask again until they do. A `StoreError` that the back end raises goes
            through as it is: raise one with ``transient=True`` where the same call may succeed in a moment.
    """

    unchanged_after: ClassVar[tuple[type[Exception], ...]] = ()

    @abstractmethod
    def keys(self) -> Iterable[str]:
        """Return the key of every document, in any order. Names that are no keys of conversations are passed over."""


class Documents(_BackEnd):
    """A back end that cannot compare: subclass it, and give it to `DocumentChatMemoryStore`.

    Keys are safe names: 3 to 200 characters of ``a-z 0-9 - _``. Texts are valid UTF-8. What `put` and `delete` did must
    be seen by the next `get`, and whoever reads meanwhile must see the old text or the new one, whole.

    Compare-and-swap is emulated: the store reads, compares and writes inside `locked`. That lock holds for all threads
    of this process, whichever objects they use. **Between processes it does not**, unless the subclass brings a lock
    that does: two processes that write to one conversation at the same moment may both succeed, and then the change of
    one is lost. The process that lost it learns of it when it writes again: a warning is logged to ``chatmemory``, and
    the memory loads what is there. Where processes share conversations, override `locked`, or use `VersionedDocuments`.
    """

    @abstractmethod
    def get(self, key: str) -> str | None:
        """Return the text, or None where there is no such document."""

    @abstractmethod
    def put(self, key: str, text: str) -> None:
        """Write the text, whole or not at all, in place of the one that was there."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Erase the document; it may be gone already."""

    def locked(self, key: str) -> AbstractContextManager[object]:
        """Return what to hold while the document is compared and written; nobody else may hold it at the same time."""
        return _locks[hash(key) % len(_locks)]


class VersionedDocuments(_BackEnd):
    """A back end that compares and swaps by itself: subclass it, and give it to `DocumentChatMemoryStore`.

    Redis (WATCH), S3 (If-Match), DynamoDB (a condition), a table with a version column: nothing is lost, however many
    processes and machines write. Keys and texts are as for `Documents`.
    """

    @abstractmethod
    def get(self, key: str) -> Document | None:
        """Return the text with its revision, or None where there is no such document."""

    @abstractmethod
    def put(self, key: str, text: str, *, expected: Any) -> bool:
        """Write the text and return True; or, where the document is another by now, return False and change nothing.

        Comparing and writing must be one step.

        Args:
            key: The document's key.
            text: What is written in place of what was there.
            expected: The revision that `get` gave; None: there must be no such document. A document that was deleted
                and made again has another revision than before.
        """

    @abstractmethod
    def delete(self, key: str, *, expected: Any) -> bool:
        """Erase the document and return True; or, where its revision is not `expected`, return False and do nothing."""


@frozen
class Serialised(VersionedDocuments):
    """Documents that are compared under their lock. A text is its own revision."""

    documents: Documents

    def get(self, key: str) -> Document | None:
        """Return the text."""
        text = self.documents.get(key)
        return None if text is None else Document(text, text)

    def put(self, key: str, text: str, *, expected: Any) -> bool:
        """Compare and write."""
        with self.documents.locked(key):
            if self.documents.get(key) != expected:
                return False
            self.documents.put(key, text)
            return True

    def delete(self, key: str, *, expected: Any) -> bool:
        """Compare and erase."""
        with self.documents.locked(key):
            if self.documents.get(key) != expected:
                return False
            self.documents.delete(key)
            return True

    def keys(self) -> Iterable[str]:
        """Return them all."""
        return self.documents.keys()
