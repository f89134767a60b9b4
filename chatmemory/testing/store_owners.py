"""Part of the suite: owner, title and meta, the listing's filters, and content that is destroyed.

Decides: what a store shows to whom.
"""
# ruff: noqa: S101, PLR2004, SIM300 - tests assert, expect numbers, and have the expected value on the left

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from chatmemory.core.entries import About
from chatmemory.errors import InvalidArgumentError, NotInHistoryError
from chatmemory.frozen_json import FrozenJson
from chatmemory.messages import AssistantMessage, ToolCall, UserMessage
from chatmemory.stores.base import ChatMemoryStore
from chatmemory.testing import generators
from chatmemory.testing.changes import START, ConversationModel
from chatmemory.testing.store_entries import agree, numbered


def _ids(store: ChatMemoryStore, **asked: Any) -> list[str]:
    return [info.id for info in store.conversations(**asked)]


class KnowsOwners:
    """Whose a conversation is, and what it is called."""

    def test_what_is_known_of_a_conversation_is_kept(self, store: ChatMemoryStore) -> None:
        """Owner, title and meta come with the window and in the listing, as the last change that says them does."""
        model = ConversationModel()
        model.write(store, "c", UserMessage("u"), about=About("ann", "Parcel", FrozenJson.of({"plan": [1, None]})))
        model.write(store, "c", UserMessage("v"))
        agree(store, "c", model)
        assert [model.about] == [info.about for info in store.conversations()]
        model.write(store, "c", about=About("ann"))
        agree(store, "c", model)
        assert [About("ann")] == [info.about for info in store.conversations()]

    def test_a_description_can_be_the_first_change(self, store: ChatMemoryStore) -> None:
        """A conversation may be described before anything is said in it."""
        model = ConversationModel()
        model.write(store, "c", about=About(title="Parcel"))
        agree(store, "c", model)
        model.write(store, "c", UserMessage("u"))
        agree(store, "c", model)

    @pytest.mark.parametrize("text", generators.ODD_TEXTS)
    def test_every_title_survives(self, store: ChatMemoryStore, text: str) -> None:
        """Titles and meta survive code point by code point."""
        about = About(title=text[:255] or None, meta=FrozenJson.of({text[:255]: text[:255]}))
        ConversationModel().write(store, "c", UserMessage("u"), about=about)
        assert [about] == [info.about for info in store.conversations()]

    def test_a_foreign_conversation_is_as_one_that_is_not_there(self, store: ChatMemoryStore) -> None:
        """Whoever asks for an owner's gets of a foreign conversation what they get of none; deleting does nothing."""
        mine, nobodys = ConversationModel(), ConversationModel()
        mine.write(store, "mine", UserMessage("u"), about=About("ann"))
        nobodys.write(store, "nobody's", UserMessage("u"))
        for conversation_id in ("mine", "nobody's", "missing"):
            assert None is store.load(conversation_id, owner="bob")
            assert [] == store.history(conversation_id, owner="bob")
            assert [] == store.window_at(conversation_id, 0, owner="bob")
            with pytest.raises(NotInHistoryError):
                store.window_at(conversation_id, 1, owner="bob")
            assert not store.delete(conversation_id, owner="bob")
        agree(store, "mine", mine)
        agree(store, "nobody's", nobodys)

    def test_an_owner_sees_the_own(self, store: ChatMemoryStore) -> None:
        """The owner reads and deletes as anyone does who does not ask for an owner."""
        model = ConversationModel()
        model.write(store, "c", UserMessage("u"), about=About("ann"))
        assert model.snapshot == store.load("c", owner="ann")
        assert model.history == store.history("c", owner="ann")
        assert model.history == store.window_at("c", 1, owner="ann")
        assert store.delete("c", owner="ann")
        assert [] == store.conversations()

    def test_owners_are_exact(self, store: ChatMemoryStore) -> None:
        """Owners that differ in case, accents or trailing spaces are different owners."""
        owners = ("ann", "Ann", "ann ", "\u00e1nn", "ann%", "\U0001f600")
        for number, owner in enumerate(owners):
            ConversationModel().write(store, f"c{number}", UserMessage("u"), about=About(owner))
        for number, owner in enumerate(owners):
            assert [f"c{number}"] == _ids(store, owner=owner)

    @pytest.mark.parametrize("owner", ["", "x" * 256, "a\0b", "\ud83d", 7, True])
    def test_other_owners_are_refused(self, store: ChatMemoryStore, owner: Any) -> None:
        """What could not be an id is no owner either."""
        for ask in (
            lambda: store.load("c", owner=owner),
            lambda: store.history("c", owner=owner),
            lambda: store.window_at("c", 0, owner=owner),
            lambda: store.delete("c", owner=owner),
            lambda: store.conversations(owner=owner),
        ):
            with pytest.raises(InvalidArgumentError, match="owner"):
                ask()

    def test_the_listing_by_prefix(self, store: ChatMemoryStore) -> None:
        """A prefix lists the ids that begin with it, and no sign in it means anything else."""
        for conversation_id in ("a", "a%", "a_", "ab", "abc", "b", "A", "a\U0010ffff", "a\U0010ffffb", "a\ud7ff"):
            ConversationModel().write(store, conversation_id, UserMessage("u"))
        assert ["ab", "abc"] == _ids(store, prefix="ab")
        assert ["abc"] == _ids(store, prefix="ab", after="ab")
        assert ["a%"] == _ids(store, prefix="a%")
        assert ["a\ud7ff"] == _ids(store, prefix="a\ud7ff")
        assert ["a\U0010ffff", "a\U0010ffffb"] == _ids(store, prefix="a\U0010ffff")
        assert [] == _ids(store, prefix="\U0010ffff")
        assert 8 == len(_ids(store, prefix="a"))

    def test_the_listing_by_owner_and_time(self, store: ChatMemoryStore) -> None:
        """Filters hold together; a change at the very moment counts as since then."""
        for number, owner in enumerate(("ann", "bob", "ann", "ann")):
            at = START + timedelta(microseconds=number)
            ConversationModel().write(store, f"c{number}", UserMessage("u"), about=About(owner), at=at)
        assert ["c0", "c2", "c3"] == _ids(store, owner="ann")
        since = (START + timedelta(microseconds=2)).astimezone()
        assert ["c2", "c3"] == _ids(store, updated_since=since)
        assert ["c3"] == _ids(store, owner="ann", updated_since=since, after="c2", prefix="c")
        assert ["c2"] == _ids(store, owner="ann", updated_since=since, limit=1)

    @pytest.mark.parametrize("asked", [{"prefix": 7}, {"prefix": "a\0"}, {"updated_since": START.replace(tzinfo=None)}])
    def test_other_filters_are_refused(self, store: ChatMemoryStore, asked: dict[str, Any]) -> None:
        """A prefix that no id can have, and a time without a time zone, are refused by name."""
        with pytest.raises(InvalidArgumentError, match=next(iter(asked))):
            store.conversations(**asked)


class Redacts:
    """Content that is destroyed."""

    def test_what_is_redacted_is_gone_everywhere(self, store: ChatMemoryStore) -> None:
        """A redacted entry keeps its seq and its place; its old content is in no window and no history."""
        model = ConversationModel()
        calls = [ToolCall("1", "look", "{}")]
        model.write(store, "c", *numbered(3), AssistantMessage("secret", tool_calls=calls))
        model.write(store, "c", leaving={2: "budget"})
        model.write(store, "c", redacting={2: UserMessage("gone"), 4: AssistantMessage("gone", tool_calls=calls)})
        agree(store, "c", model)
        assert [None, 3, None, 3] == [entry.redacted for entry in store.history("c")]
        assert ["gone"] == [entry.message.text for entry in store.window_at("c", 1) if entry.seq == 2]

    def test_what_is_redacted_may_leave_later_or_at_once(self, store: ChatMemoryStore) -> None:
        """A redacted entry leaves as any other does, also in the same change."""
        model = ConversationModel()
        model.write(store, "c", *numbered(3))
        model.write(store, "c", redacting={1: UserMessage("gone"), 2: UserMessage("gone")}, leaving={1: "budget"})
        model.write(store, "c", leaving={2: "budget"})
        agree(store, "c", model)
