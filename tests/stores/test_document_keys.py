"""Ids and keys: each id has a key of its own that is a safe name anywhere, and the listing finds the ids again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmemory.errors import CorruptedConversationError
from chatmemory.messages import UserMessage
from chatmemory.stores import DocumentChatMemoryStore
from chatmemory.stores._document_keys import id_of, is_hash, key_of
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_life import LOOKALIKES
from tests.stores.documents import PlainTexts

ids = st.sampled_from(LOOKALIKES) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=255
)


@given(conversation_id=ids)
def test_a_key_is_a_safe_name(conversation_id: str) -> None:
    """A key is short, without capitals, dots and separators, and begins with what no reserved name begins with."""
    assert re.fullmatch("c-[a-z0-9_-]{1,198}|h-[0-9a-f]{64}", key_of(conversation_id))


@given(conversation_id=ids)
def test_a_key_gives_its_id_back(conversation_id: str) -> None:
    """A key tells its id, unless it is a hash."""
    key = key_of(conversation_id)
    assert (None if is_hash(key) else conversation_id) == id_of(key)


@given(one=ids, other=ids)
def test_keys_are_as_different_as_ids(one: str, other: str) -> None:
    """Two ids have the same key only if they are the same."""
    assert (one == other) is (key_of(one) == key_of(other))


@given(key=st.text(max_size=30) | st.from_regex("c-[a-z0-9_-]*", fullmatch=True))
def test_what_is_no_key_has_no_id(key: str) -> None:
    """A name that no id has as its key is nobody's, whatever it looks like."""
    conversation_id = id_of(key)
    assert conversation_id is None or key_of(conversation_id) == key


def test_keys_are_for_ever() -> None:
    """Keys do not change from version to version: what is stored under them would be lost."""
    assert "c-user-42" == key_of("user-42")
    assert "c-_43_4f_4e" == key_of("CON")
    assert "c-_c3_a4_5f_2e_2e_2f" == key_of("\u00e4_../")
    assert f"c-{'x' * 198}" == key_of("x" * 198)
    assert "h-f18029ae3f973208860c668e7b0c042ef65cf2409d8532c0cfb1fb7de5a07f9e" == key_of("x" * 199)


def test_foreign_names_are_passed_over() -> None:
    """What else lies beside the documents is no conversation, and is not read."""
    texts = PlainTexts({"notes": "", "c-": "", "c-A": "", "c-_zz": "", "c-_ff": "", "h-1": "", "c-\ud83d": ""})
    store = DocumentChatMemoryStore(texts)
    ConversationModel().write(store, "c", UserMessage("u"))
    assert ["c"] == [info.id for info in store.conversations()]


def test_what_is_deleted_during_a_listing_is_left_out() -> None:
    """A document that is gone when the listing comes to it is in no listing."""

    class Late(PlainTexts):
        def keys(self) -> list[str]:
            return [*super().keys(), key_of("gone"), key_of("gone" * 60)]

    store = DocumentChatMemoryStore(Late())
    ConversationModel().write(store, "c", UserMessage("u"))
    assert ["c"] == [info.id for info in store.conversations()]


def test_a_long_id_is_inside_its_document() -> None:
    """A document that lies under the hash of another id is an error."""
    texts, long = PlainTexts(), "x" * 255
    store = DocumentChatMemoryStore(texts)
    ConversationModel().write(store, long, UserMessage("u"))
    assert [long] == [info.id for info in store.conversations()]
    texts.texts[key_of("y" * 255)] = texts.texts[key_of(long)]
    with pytest.raises(CorruptedConversationError, match="under the key of another"):
        store.conversations()
