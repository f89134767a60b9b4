"""The store over a back end that someone writes: each conversation is one text, read and written whole.

Decides: how a change becomes one `put` on the text that it was planned on, what an error of the back end means, and how
a lost change is noticed. Each call is tried once: who called tries again what is `transient`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from attrs import evolve, frozen

from chatmemory.core.entries import Change, Stamp
from chatmemory.errors import ConflictError, CorruptedConversationError, InvalidArgumentError, StoreError
from chatmemory.stores._conversation import Conversation, ids_on, shows
from chatmemory.stores._document_back_ends import Documents, Serialised, VersionedDocuments
from chatmemory.stores._document_json import decode_conversation, encode_conversation
from chatmemory.stores._document_keys import id_of, is_hash, key_of
from chatmemory.stores._whole import WholeConversationStore
from chatmemory.stores.base import (
    ConversationInfo,
    Page,
    Retain,
    check_conversation_id,
    check_owner,
    check_wait,
    utc_now,
)

_log = logging.getLogger("chatmemory")


class DocumentChatMemoryStore(WholeConversationStore):
    """Keeps each conversation as one JSON text in a back end of your own, `Documents` or `VersionedDocuments`.

    Every operation reads the whole text, and every change writes all of it again, so its cost grows with the history:
    15 milliseconds a change at 1,000 entries of 200 characters, 160 at 10,000, beside the back end's own time; a text
    takes 230 bytes an entry beside the message's own JSON. ``retain="window"`` bounds both by the window. A listing
    asks for all keys, and reads the texts that it shows, those that it must look into to filter by owner or time, and
    those of ids whose key would be longer than 200 characters. For long histories there is `SqlChatMemoryStore`.

    A text that this library did not write, or that was cut, is `CorruptedConversationError`; it is never taken for an
    empty conversation, and never overwritten. Redacting and deleting reach the back end's present text; what it keeps
    of former ones (versions of a bucket, a log) is its own.

    Args:
        documents: The back end. `close` leaves it as it is.
        clock: Gives the time that new entries carry; any time zone.
        conflict_timeout_seconds: How long an operation goes on after conflicts and errors that may pass.
        retain: ``"window"`` keeps nothing of entries that have left; `history` and `window_at` then know the newest
            window only.

    Raises:
        InvalidArgumentError: An argument is wrong.
    """

    def __init__(
        self,
        documents: Documents | VersionedDocuments,
        *,
        clock: Callable[[], datetime] = utc_now,
        conflict_timeout_seconds: float = 30,
        retain: Retain = "history",
    ) -> None:
        super().__init__(clock=clock, retain=retain)
        check_wait(conflict_timeout_seconds)
        self.conflict_timeout_seconds = conflict_timeout_seconds
        self._documents = _compared(documents)
        self._unchanged_after = documents.unchanged_after
        self._is_open = True

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Write the conversation with `change` in it, in place of the one without, and return its epoch.

        The epoch tells this state of the conversation, not only its life: so a writer whose change was overwritten
        (`Documents` says when) is refused, instead of building on what another one wrote.

        Raises:
            ConflictError: The conversation is not as `expected`, or another writer was faster.
            StoreError: With ``outcome_unknown=True`` where the back end failed in the middle.
        """
        check_conversation_id(conversation_id)
        held = self._get(conversation_id)
        conversation = Conversation.begun(change.at) if held is None else held.conversation
        planned_on = _stamp_within(conversation, expected)
        try:
            is_new = conversation.commit(change, planned_on, self._retain)
        except ConflictError:
            _tell_if_overwritten(conversation_id, conversation, expected)
            raise
        if is_new:
            self._put(conversation_id, conversation, None if held is None else held.revision)
        return _epoch_of(conversation)

    def delete(self, conversation_id: str, *, owner: str | None = None) -> bool:
        """Erase the document, and return whether there was one.

        Raises:
            StoreError: With ``transient=True`` where another writer changed the conversation meanwhile.
        """
        held = self._find(conversation_id, owner)
        if held is None:
            return False
        key = key_of(conversation_id)
        with self._asking("delete", conversation_id, writing=True):
            done = _bool(self._documents.delete(key, expected=held.revision), "delete")
        if not done:
            raise StoreError(
                f"conversation {conversation_id!r} was changed by another writer; delete it again", transient=True
            )
        return True

    def conversations(
        self,
        *,
        after: str = "",
        limit: int = 100,
        prefix: str = "",
        owner: str | None = None,
        updated_since: datetime | None = None,
    ) -> list[ConversationInfo]:
        """Return up to `limit` conversations whose id is greater than `after`, by id (by code points)."""
        page = Page(after, limit, prefix, owner, updated_since)
        found = list[ConversationInfo]()
        for conversation_id in sorted(set(ids_on(page, self._ids()))):
            held = self._get(conversation_id)
            if held is not None and shows(page, held.conversation):
                found.append(held.conversation.info(conversation_id))
                if len(found) == limit:
                    break
        return found

    def close(self) -> None:
        """End the use of the store; the back end stays as it is. Any later call but this one raises `StoreError`."""
        self._is_open = False

    @contextmanager
    def _reading(self, conversation_id: str, owner: str | None) -> Iterator[Conversation | None]:
        held = self._find(conversation_id, owner)
        yield None if held is None else evolve(held.conversation, epoch=_epoch_of(held.conversation))

    def _find(self, conversation_id: str, owner: str | None) -> _Held | None:
        check_conversation_id(conversation_id)
        check_owner(owner)
        held = self._get(conversation_id)
        return held if held is not None and held.conversation.is_of(owner) else None

    def _get(self, conversation_id: str) -> _Held | None:
        with self._asking("get", conversation_id):
            document = self._documents.get(key_of(conversation_id))
        if document is None:
            return None
        _, conversation = decode_conversation(conversation_id, document.text)
        return _Held(conversation, document.revision)

    def _put(self, conversation_id: str, conversation: Conversation, expected: object) -> None:
        key, text = key_of(conversation_id), encode_conversation(conversation_id, conversation)
        with self._asking("put", conversation_id, writing=True):
            done = _bool(self._documents.put(key, text, expected=expected), "put")
        if not done:
            raise ConflictError(f"conversation {conversation_id!r} was changed by another writer; load it again")

    def _ids(self) -> Iterator[str]:
        with self._asking("list", None):
            keys = list(self._documents.keys())
        for key in keys:
            conversation_id = self._id_inside(key) if is_hash(key) else id_of(key)
            if conversation_id is not None:
                yield conversation_id

    def _id_inside(self, key: str) -> str | None:
        with self._asking("get", None):
            document = self._documents.get(key)
        if document is None:
            return None
        conversation_id, _ = decode_conversation(None, document.text)
        if key_of(conversation_id) != key:
            raise CorruptedConversationError(
                f"conversation {conversation_id!r}: its document lies under the key of another one; put it back"
            )
        return conversation_id

    @contextmanager
    def _asking(self, what: str, conversation_id: str | None, *, writing: bool = False) -> Iterator[None]:
        if not self._is_open:
            raise StoreError("the store is closed; make a new one")
        try:
            yield
        except StoreError:
            raise
        except UnicodeDecodeError as error:
            raise CorruptedConversationError(
                f"{_named(conversation_id)}: byte {error.start} of a document is no {error.encoding}; "
                f"restore it from a backup"
            ) from error
        except Exception as error:
            raise StoreError(
                f"the back end could not {what} {_named(conversation_id)} ({type(error).__name__}); the cause says why",
                outcome_unknown=writing and not isinstance(error, self._unchanged_after),
            ) from error


@frozen
class _Held:
    """A conversation as it was read, and the revision of its document."""

    conversation: Conversation
    revision: object


def _epoch_of(conversation: Conversation) -> str:
    return f"{conversation.epoch}.{conversation.changes[conversation.version].commit_id}"


def _stamp_within(conversation: Conversation, expected: Stamp) -> Stamp:
    """Return `expected` as the conversation itself says it, where it is of this state."""
    if conversation.version and expected.epoch == _epoch_of(conversation):
        return evolve(expected, epoch=conversation.epoch)
    return expected


def _tell_if_overwritten(conversation_id: str, conversation: Conversation, expected: Stamp) -> None:
    life, _, commit_id = (expected.epoch or "").partition(".")
    known = {kept.commit_id for kept in conversation.changes.values()}
    if life == conversation.epoch and commit_id not in known and expected.version >= min(conversation.changes):
        _log.warning(
            "conversation %r: version %d was overwritten by another process, and what it added is lost; "
            "give its back end a lock that all processes share, or use VersionedDocuments",
            conversation_id,
            expected.version,
        )


def _named(conversation_id: str | None) -> str:
    return "the documents" if conversation_id is None else f"conversation {conversation_id!r}"


def _compared(documents: object) -> VersionedDocuments:
    if isinstance(documents, VersionedDocuments):
        return documents
    if isinstance(documents, Documents):
        return Serialised(documents)
    kind = documents.__name__ if isinstance(documents, type) else type(documents).__name__
    raise InvalidArgumentError("documents", f"is {kind}; give an object of a subclass of Documents, VersionedDocuments")


def _bool(answer: object, method: str) -> bool:
    if not isinstance(answer, bool):
        raise StoreError(f"the back end's {method} gave {type(answer).__name__}; it must return True or False")
    return answer
