"""`describe` and `about`: title and meta, which are stored as any change is."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory import InvalidArgumentError, StoreError, UserMessage
from chatmemory.core.about import MAX_META_LENGTH, MAX_TITLE_LENGTH
from chatmemory.stores import ChatMemoryStore
from tests.memory.conftest import Api, Place
from tests.memory.watched_store import WatchedStore

ODD = "caf\u00e9 \U0001f600 \ud83d \0 \u2028 \\u0041"


def test_title_and_meta(api: Api, place: Place) -> None:
    """Each is kept until another one is given; the window stays, and a version is made."""
    memory = api.message_window("c", max_messages=9, store=place.open())
    memory.add(UserMessage("u"))
    before = tuple(memory.window())
    change = memory.describe(title="Parcel", meta={"plan": [1, None, 2.5]})
    assert (True, 2, (), ()) == (bool(change), change.version, change.added, change.removed)
    memory.describe(title="Lost parcel")
    memory.describe(meta={"plan": "b"})
    again = api.message_window("c", max_messages=9, store=place.open())
    about = memory.about()
    for one in (memory, again):
        assert about == one.about()
        assert (None, "Lost parcel", {"plan": "b"}) == (about.owner, about.title, about.meta)
        assert (before, 4) == (tuple(one.window()), one.version)
    (info,) = place.open().conversations()
    assert (about, 4, 1) == (info.about, info.version, info.history_size)


def test_nothing_is_said_of_a_new_conversation(api: Api, store: ChatMemoryStore) -> None:
    """Before anything is described there is no title and an empty meta, and asking writes nothing."""
    memory = api.message_window("c", max_messages=9, store=store)
    about = memory.about()
    assert (None, None, {}) == (about.owner, about.title, about.meta)
    assert [] == store.conversations()


def test_a_description_comes_first(api: Api, store: ChatMemoryStore) -> None:
    """A conversation may have a title before anything is said in it."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.describe(title="Parcel")
    assert (1, 2) == (memory.add(UserMessage("u")).seq, memory.version)
    assert [("Parcel", 1)] == [(info.about.title, info.history_size) for info in store.conversations()]


def test_empty_ones_take_away(api: Api, store: ChatMemoryStore) -> None:
    """An empty title and an empty meta are none."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.describe(title="Parcel", meta={"plan": 1})
    memory.describe(title="", meta={})
    assert (None, {}) == (memory.about().title, memory.about().meta)
    assert memory.about() == store.conversations()[0].about


@pytest.mark.parametrize("said", [{}, {"title": "Parcel"}, {"meta": {"b": 2, "a": 1}}, {"title": None, "meta": None}])
def test_the_same_again_changes_nothing(api: Api, store: ChatMemoryStore, said: dict[str, Any]) -> None:
    """What is so already is no version and no commit, whatever the order of keys."""
    watched = WatchedStore(store)
    memory = api.message_window("c", max_messages=9, store=watched)
    memory.describe(title="Parcel", meta={"a": 1, "b": 2})
    assert not memory.describe(**said)
    assert (1, 1) == (memory.version, watched.calls.count("commit"))


def test_what_is_given_out_is_a_copy(api: Api, store: ChatMemoryStore) -> None:
    """Neither the dict that was given nor the one that is given out is the stored one."""
    memory, meta = api.message_window("c", max_messages=9, store=store), {"tags": ["a"]}
    memory.describe(meta=meta)
    meta["tags"].append("b")
    memory.about().meta["tags"].append("c")
    assert {"tags": ["a"]} == memory.about().meta


def test_every_text_survives(api: Api, place: Place) -> None:
    """Titles and meta come back code point by code point, up to their limits."""
    memory = api.message_window("c", max_messages=9, store=place.open())
    title, text = (ODD * 30)[:MAX_TITLE_LENGTH], "x" * (MAX_META_LENGTH - len('{"k":""}'))
    memory.describe(title=title, meta={"k": text})
    memory.describe(meta={ODD: ODD, "k": [{}]})
    about = api.message_window("c", max_messages=9, store=place.open()).about()
    assert (title, {ODD: ODD, "k": [{}]}) == (about.title, about.meta)


@pytest.mark.parametrize("title", [7, True, b"t", ["t"], "x" * (MAX_TITLE_LENGTH + 1)])
def test_other_titles(api: Api, store: ChatMemoryStore, title: Any) -> None:
    """A title is a str of up to 255 characters; where it is not, nothing changed."""
    memory = api.message_window("c", max_messages=9, store=store)
    with pytest.raises(InvalidArgumentError, match="title"):
        memory.describe(title=title, meta={"a": 1})
    assert [] == store.conversations()


@pytest.mark.parametrize(
    "meta",
    [7, "text", ["a"], {"a": object()}, {"a": float("nan")}, {7: "a"}, {"a": {1, 2}}, {"a": "x" * MAX_META_LENGTH}],
    ids=str,
)
def test_other_metas(api: Api, store: ChatMemoryStore, meta: Any) -> None:
    """Meta is a small JSON object; where it is not, the error says where, and nothing changed."""
    memory = api.message_window("c", max_messages=9, store=store)
    with pytest.raises(InvalidArgumentError, match="meta"):
        memory.describe(title="Parcel", meta=meta)
    assert (None, []) == (memory.about().title, store.conversations())


def test_an_error_does_not_quote_meta(api: Api, store: ChatMemoryStore) -> None:
    """What was given may be private: an error names the key and the kind, never the value."""
    memory = api.message_window("c", max_messages=9, store=store)
    with pytest.raises(InvalidArgumentError, match=r"meta\.a") as caught:
        memory.describe(meta={"a": {"b": "the treasure", "c": object()}})
    assert "treasure" not in str(caught.value)


def test_another_writer(api: Api, place: Place) -> None:
    """Two that describe and add at once lose nothing: each goes on from what the other wrote."""
    one = api.message_window("c", max_messages=9, store=place.open())
    two = api.message_window("c", max_messages=9, store=place.open())
    one.describe(title="Parcel", meta={"plan": 1})
    two.add(UserMessage("u"))
    one.describe(meta={"plan": 2})
    two.describe(title="Lost parcel")
    one.add(UserMessage("v"))
    for memory in (one, two):
        memory.refresh()
        assert ("Lost parcel", {"plan": 2}) == (memory.about().title, memory.about().meta)
        assert ["u", "v"] == [message.text for message in memory.messages()]


def test_after_a_delete(api: Api, store: ChatMemoryStore) -> None:
    """A deleted conversation takes its title along."""
    memory = api.message_window("c", max_messages=9, store=store)
    memory.describe(title="Parcel")
    memory.delete()
    assert memory.about().title is None
    memory.add(UserMessage("u"))
    assert [None] == [info.about.title for info in store.conversations()]


@pytest.mark.parametrize("is_stored", [True, False])
def test_an_unknown_outcome(api: Api, place: Place, *, is_stored: bool) -> None:
    """After an unknown outcome `about` shows what the store has, and the same call again is safe."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = api.message_window("c", max_messages=9, store=watched)
    memory.add(UserMessage("u"))
    where = watched.failing_after if is_stored else watched.failing
    where["commit"] = StoreError("connection lost", outcome_unknown=True)
    with pytest.raises(StoreError) as caught:
        memory.describe(title="Parcel")
    assert caught.value.outcome_unknown
    where.clear()
    assert ("Parcel" if is_stored else None) == memory.about().title
    assert is_stored is not bool(memory.describe(title="Parcel"))
    assert ("Parcel", 2) == (memory.about().title, memory.version)
