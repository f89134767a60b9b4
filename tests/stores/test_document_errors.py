"""What a back end may do wrong, and what a text must be: errors say what it is, and nothing is overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import define, field

from chatmemory import MessageWindowChatMemory
from chatmemory.core.entries import About
from chatmemory.errors import CorruptedConversationError, StoreError, UnsupportedSchemaError
from chatmemory.messages import UserMessage
from chatmemory.stores import ChatMemoryStore, Document, DocumentChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import numbered
from tests.stores.documents import PlainTexts, VersionedTexts, json_files

Fields = dict[str, Any]

CALLS: tuple[Callable[[ChatMemoryStore], object], ...] = (
    lambda store: store.load("c"),
    lambda store: store.history("c"),
    lambda store: store.window_at("c", 1),
    lambda store: store.conversations(),
    lambda store: store.delete("c"),
    lambda store: ConversationModel().write(store, "c", UserMessage("u")),
)


def stored() -> PlainTexts:
    """Return texts with one conversation, of which one entry has left and two are kept far behind."""
    texts, model = PlainTexts(), ConversationModel()
    store = DocumentChatMemoryStore(texts)
    model.write(store, "c", *numbered(9, "secret"), about=About("ann", "Parcel"))
    model.write(store, "c", leaving=dict.fromkeys(range(3, 8), "budget"))
    return texts


def refused(texts: PlainTexts, error: type[StoreError]) -> None:
    """Check that every call raises, quotes nothing, and leaves the texts as they are."""
    before = dict(texts.texts)
    for call in CALLS:
        with pytest.raises(error) as caught:
            call(DocumentChatMemoryStore(texts))
        assert error is type(caught.value)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
    assert before == texts.texts


@pytest.mark.parametrize("text", ["", "{}", "null", "[]", "7", "{", '{"v":1}', "secret", '{"format":"secret","v":1}'])
def test_foreign_texts_are_refused(text: str) -> None:
    """What this library did not write is an error, never an empty conversation, and never overwritten."""
    refused(PlainTexts({"c-c": text}), CorruptedConversationError)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """A file that is not UTF-8 is unreadable, which is not absent, and is never overwritten."""
    file, store = tmp_path / "c-c.json", DocumentChatMemoryStore(json_files(tmp_path))
    file.write_bytes(b"secret \xff")
    for call in CALLS:
        with pytest.raises(CorruptedConversationError, match="byte 7") as caught:
            call(store)
        assert "secret" not in str(caught.value)
    assert b"secret \xff" == file.read_bytes()


def test_cut_texts_are_refused() -> None:
    """A text that was cut anywhere is an error."""
    (text,) = stored().texts.values()
    for end in range(0, len(text), 97):
        refused(PlainTexts({"c-c": text[:end]}), CorruptedConversationError)


def change(fields: Fields, *path: str | int, to: Any) -> None:
    """Put a value into the fields of a document."""
    *outer, last = path
    inner: Any = fields
    for step in outer:
        inner = inner[step]
    inner[last] = to


WRONG: dict[str, Callable[[Fields], object]] = {
    "an entry is gone": lambda fields: fields["entries"].pop(),
    "an entry is gone, and the number agrees": lambda fields: fields.update(size=8, entries=fields["entries"][1:]),
    "an entry is there twice": lambda fields: change(fields, "entries", 1, to=fields["entries"][0]),
    "entries changed places": lambda fields: fields["entries"].reverse(),
    "a seq to come": lambda fields: change(fields, "entries", 8, "seq", to=10),
    "the newest change is gone": lambda fields: fields["changes"].pop(),
    "a kept entry that is not there": lambda fields: change(fields, "changes", 0, "kept_seqs", to=[10]),
    "a seq that is no int": lambda fields: change(fields, "entries", 0, "seq", to=True),
    "a count that is no int": lambda fields: change(fields, "entries", 0, "tokens", to="7"),
    "an unknown kind": lambda fields: change(fields, "entries", 0, "kind", to="secret"),
    "an unknown reason": lambda fields: change(fields, "entries", 2, "reason", to="secret"),
    "an unknown field": lambda fields: change(fields, "entries", 0, "secret", to=1),
    "a counter that is no text": lambda fields: change(fields, "entries", 0, "counter", to=1),
    "a message that is none": lambda fields: change(fields, "entries", 0, "message", to="secret"),
    "a message's role": lambda fields: change(fields, "entries", 0, "message", "role", to="secret"),
    "no time": lambda fields: change(fields, "updated_at", to="secret"),
    "a time without a zone": lambda fields: change(fields, "entries", 0, "at", to="2031-07-08T23:59:59"),
    "no version": lambda fields: fields.pop("version"),
    "a version before the first": lambda fields: change(fields, "v", to=0),
    "an owner that is no text": lambda fields: change(fields, "owner", to=["secret"]),
    "a title that is no text": lambda fields: change(fields, "about", "title", to=["secret"]),
    "another conversation's id": lambda fields: change(fields, "id", to="d"),
    "a list for the entries": lambda fields: change(fields, "entries", to={"secret": 1}),
    "a list for an entry": lambda fields: change(fields, "entries", 0, to=["secret"]),
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_wrong_texts_are_refused(spoil: Callable[[Fields], object]) -> None:
    """A text with one wrong value is an error: nothing is repaired or left out."""
    texts = stored()
    fields = json.loads(texts.texts["c-c"])
    spoil(fields)
    texts.texts["c-c"] = json.dumps(fields)
    refused(texts, CorruptedConversationError)


def test_newer_texts_are_refused() -> None:
    """A text that a newer version of this library wrote says so, whatever else is in it."""
    texts = PlainTexts({"c-c": '{"format":"chatmemory conversation","v":2,"secret":1}'})
    refused(texts, UnsupportedSchemaError)
    with pytest.raises(UnsupportedSchemaError, match=r"'c'.*upgrade pychatmemory"):
        DocumentChatMemoryStore(texts).load("c")


@define
class FailingTexts(VersionedTexts):
    """Fails once at the named method, before or after it did its work."""

    unchanged_after: ClassVar[tuple[type[Exception], ...]] = (PermissionError,)
    failing: str = ""
    error: Exception = field(factory=RuntimeError)
    is_late: bool = False

    def get(self, key: str) -> Document | None:
        """Fail, or look it up."""
        self._fail("get")
        return super().get(key)

    def put(self, key: str, text: str, *, expected: Any) -> bool:
        """Fail, or compare and set, or both."""
        return self._failing("put", lambda: super(FailingTexts, self).put(key, text, expected=expected))

    def delete(self, key: str, *, expected: Any) -> bool:
        """Fail, or compare and drop, or both."""
        return self._failing("delete", lambda: super(FailingTexts, self).delete(key, expected=expected))

    def keys(self) -> list[str]:
        """Fail, or list them."""
        self._fail("keys")
        return list(super().keys())

    def _failing(self, method: str, work: Callable[[], bool]) -> bool:
        done = work() if self.is_late or self.failing != method else False
        self._fail(method)
        return done

    def _fail(self, method: str) -> None:
        if self.failing == method:
            self.failing = ""
            raise self.error


WRITING: dict[str, Callable[[ChatMemoryStore], object]] = {
    "put": lambda store: ConversationModel().write(store, "new", UserMessage("u")),
    "delete": lambda store: store.delete("c"),
}
READING: dict[str, Callable[[ChatMemoryStore], object]] = {
    "get": lambda store: store.load("c"),
    "keys": lambda store: store.conversations(),
}


@pytest.mark.parametrize(
    ("method", "error", "unknown"),
    [
        ("put", RuntimeError("secret"), True),
        ("put", PermissionError("secret"), False),
        ("delete", TimeoutError("secret"), True),
        ("delete", PermissionError("secret"), False),
        ("get", RuntimeError("secret"), False),
        ("keys", RuntimeError("secret"), False),
    ],
)
def test_an_error_of_the_back_end_is_a_store_error(method: str, error: Exception, *, unknown: bool) -> None:
    """The back end's error is the cause; after a write the outcome is unknown, unless the back end says otherwise."""
    texts = FailingTexts(error=error)
    store = DocumentChatMemoryStore(texts)
    ConversationModel().write(store, "c", UserMessage("u"))
    texts.failing = method
    with pytest.raises(StoreError, match=f"back end could not .*{type(error).__name__}") as caught:
        (WRITING | READING)[method](store)
    assert (error, unknown, False) == (caught.value.__cause__, caught.value.outcome_unknown, caught.value.transient)
    assert "secret" not in str(caught.value)


def test_a_store_error_of_the_back_end_goes_through() -> None:
    """What the back end raises as `StoreError` is raised as it is."""
    error = StoreError("the bucket is busy", transient=True)
    with pytest.raises(StoreError) as caught:
        DocumentChatMemoryStore(FailingTexts(failing="get", error=error)).load("c")
    assert error is caught.value


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("error", [RuntimeError(), StoreError("busy", transient=True)])
def test_an_add_in_doubt_is_there_once(error: Exception, *, is_late: bool) -> None:
    """Where `put` fails before or after it wrote, the memory finds out, and the message is there once."""
    if is_late and isinstance(error, StoreError):
        error = StoreError("busy", outcome_unknown=True)
    store = DocumentChatMemoryStore(FailingTexts(failing="put", error=error, is_late=is_late))
    memory = MessageWindowChatMemory("c", max_messages=9, store=store)
    memory.add(UserMessage("once"))
    assert ["once"] == [entry.message.text for entry in store.history("c")]


@pytest.mark.parametrize("text", [b"bytes", 7])
def test_a_text_that_is_none_is_named(text: Any) -> None:
    """A back end that gives something else than str is told so."""
    with pytest.raises(StoreError, match="back end could not get conversation 'c'") as caught:
        DocumentChatMemoryStore(PlainTexts({"c-c": text})).load("c")
    assert isinstance(caught.value.__cause__, TypeError)


class Silent(VersionedTexts):
    """Forgets to say whether it wrote."""

    def put(self, key: str, text: str, *, expected: Any) -> Any:
        """Return nothing."""
        super().put(key, text, expected=expected)

    def delete(self, key: str, *, expected: Any) -> Any:
        """Return nothing."""
        super().delete(key, expected=expected)


def test_an_answer_that_is_none_is_named() -> None:
    """A back end whose `put` or `delete` gives no bool is told so: it would be taken for a conflict without end."""
    texts = Silent()
    store = DocumentChatMemoryStore(texts)
    with pytest.raises(StoreError, match="put gave NoneType"):
        ConversationModel().write(store, "c", UserMessage("u"))
    with pytest.raises(StoreError, match="delete gave NoneType"):
        store.delete("c")


def test_a_document_shows_no_text() -> None:
    """The repr of a document tells nothing of the conversation."""
    assert "secret" not in repr(Document("secret", "secret"))
