"""The store that lives as long as its object. Decides nothing: it keeps what it is given, and answers as any store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from heapq import nsmallest
from threading import Lock

from chatmemory.core.entries import Change, Stamp
from chatmemory.errors import StoreError
from chatmemory.stores._conversation import Conversation, ids_on, shows
from chatmemory.stores._whole import WholeConversationStore
from chatmemory.stores.base import ConversationInfo, Page, Retain, check_conversation_id, check_owner, utc_now


class InMemoryChatMemoryStore(WholeConversationStore):
    """Keeps conversations in this process, each with its whole history, about 300 bytes an entry beside its text.

    Args:
        clock: Gives the time that new entries carry; any time zone.
        retain: ``"window"`` keeps nothing of entries that have left, so that a long conversation takes no more room
            than its window; `history` and `window_at` then know the newest window only.
    """

    conflict_timeout_seconds: float = 30

    def __init__(self, *, clock: Callable[[], datetime] = utc_now, retain: Retain = "history") -> None:
        super().__init__(clock=clock, retain=retain)
        self._conversations: dict[str, Conversation] | None = {}
        self._lock = Lock()

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Keep `change`, and return the conversation's epoch.

        Raises:
            ConflictError: The conversation is not as `expected`.
        """
        with self._lock:
            conversation = self._find(conversation_id, None) or Conversation.begun(change.at)
            conversation.commit(change, expected, self._retain)
            self._open()[conversation_id] = conversation
            return conversation.epoch

    def delete(self, conversation_id: str, *, owner: str | None = None) -> bool:
        """Forget the conversation, and return whether there was one."""
        with self._lock:
            if self._find(conversation_id, owner) is None:
                return False
            del self._open()[conversation_id]
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
        """Return up to `limit` conversations whose id is greater than `after`, by id."""
        page = Page(after, limit, prefix, owner, updated_since)
        with self._lock:
            kept = self._open()
            ids = nsmallest(limit, (each for each in ids_on(page, kept) if shows(page, kept[each])))
            return [kept[each].info(each) for each in ids]

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._conversations = None

    @contextmanager
    def _reading(self, conversation_id: str, owner: str | None) -> Iterator[Conversation | None]:
        with self._lock:
            yield self._find(conversation_id, owner)

    def _open(self) -> dict[str, Conversation]:
        if self._conversations is None:
            raise StoreError("the store is closed; make a new one")
        return self._conversations

    def _find(self, conversation_id: str, owner: str | None) -> Conversation | None:
        check_conversation_id(conversation_id)
        check_owner(owner)
        found = self._open().get(conversation_id)
        return found if found is not None and found.is_of(owner) else None
