"""What a codec does to stored text, with Fernet from `cryptography`: nothing plain on disk, and errors that say why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import define
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from chatmemory import MessageWindowChatMemory
from chatmemory.errors import CorruptedConversationError, InvalidArgumentError, StoreError
from chatmemory.messages import UserMessage
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore
from chatmemory.testing.store_conformance import StoreConformance
from tests.stores.fernet import KEYS, SECRETS, FernetCodec, Files, secret_messages
from tests.stores.files import sql


class TestSealedFile(StoreConformance):
    """SQLite in a file, with every text sealed."""

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a store with a codec on one file."""
        return SqlChatMemoryStore(f"sqlite:///{place}/chat.db", codec=FernetCodec("2031"))


@pytest.fixture
def files(path: Path) -> Files:
    """Where the database is; there is none yet."""
    return Files(path)


def written(store: SqlChatMemoryStore) -> MessageWindowChatMemory:
    """Write one conversation that holds every secret."""
    memory = MessageWindowChatMemory("c", max_messages=9, store=store)
    memory.extend(secret_messages())
    memory.describe(title=SECRETS[2], meta={"where": SECRETS[3]})
    return memory


LOOKS: dict[str, Callable[[SqlChatMemoryStore], object]] = {
    "load": lambda store: store.load("c"),
    "history": lambda store: store.history("c"),
    "window_at": lambda store: store.window_at("c", 1),
    "conversations": lambda store: store.conversations(),
}


def test_nothing_plain_is_on_disk(files: Files) -> None:
    """Neither a message's text nor a call's arguments, a title or meta stand in the file or in its log."""
    with files.open(FernetCodec("2031")) as store:
        before = written(store).history()
        assert [] == files.found(*SECRETS)
    assert [] == files.found(*SECRETS)
    with files.open(FernetCodec("2031")) as store:
        assert before == store.history("c")
        assert SECRETS[2] == store.conversations()[0].about.title
    rows = sql(files.path, "SELECT payload, key_id FROM messages UNION ALL SELECT about, key_id FROM conversations")
    assert [(None, "2031")] * 3 == rows


def test_without_a_codec_it_would_be_there(files: Files) -> None:
    """The look into the files finds what is not sealed, so that the test above is not empty."""
    with files.open() as store:
        written(store)
        assert list(SECRETS) == files.found(*SECRETS)


def test_old_rows_are_readable_after_a_rotation(files: Files) -> None:
    """Each row is opened with the key that its id names; new rows are sealed with the new key."""
    with files.open(FernetCodec("2030")) as store:
        written(store)
    with files.open(FernetCodec("2030", "2031")) as store:
        memory = MessageWindowChatMemory("c", max_messages=9, store=store)
        memory.add(UserMessage("later"))
        assert [SECRETS[0], "", "later"] == [message.text for message in memory.messages()]
    assert [("2030",), ("2030",), ("2031",)] == sql(files.path, "SELECT key_id FROM messages ORDER BY seq")


def test_a_store_that_begins_to_seal(files: Files) -> None:
    """Plain rows of before are read as they are; new ones are sealed."""
    with files.open() as store:
        written(store)
    with files.open(FernetCodec("2031")) as store:
        MessageWindowChatMemory("c", max_messages=9, store=store).add(UserMessage("later"))
        assert [SECRETS[0], "", "later"] == [entry.message.text for entry in store.history("c")]
    assert [(None,), (None,), ("2031",)] == sql(files.path, "SELECT key_id FROM messages ORDER BY seq")


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("codec", [None, FernetCodec("2032")], ids=["no codec", "another key"])
def test_a_key_that_is_missing(files: Files, codec: Any, look: Callable[[SqlChatMemoryStore], object]) -> None:
    """What cannot be opened is an error that names conversation and key, and never an empty conversation."""
    with files.open(FernetCodec("2031")) as store:
        written(store)
    with files.open(codec) as store:
        with pytest.raises(CorruptedConversationError, match=r"'c'.*key '2031'"):
            look(store)
        with pytest.raises(CorruptedConversationError, match="2031"):
            MessageWindowChatMemory("c", max_messages=9, store=store).add(UserMessage("lost"))
    assert [(2,)] == sql(files.path, "SELECT count(*) FROM messages")


def test_a_wrong_key_of_the_right_name(files: Files) -> None:
    """Bytes that another key sealed are not opened; the codec's own error is the cause."""
    with files.open(FernetCodec("2031")) as store:
        written(store)
    wrong = FernetCodec("2031")
    wrong.fernets["2031"] = Fernet(Fernet.generate_key())
    with files.open(wrong) as store, pytest.raises(CorruptedConversationError, match="2031") as caught:
        store.load("c")
    assert isinstance(caught.value.__cause__, InvalidToken)


def test_another_owner_learns_nothing_from_a_key(files: Files) -> None:
    """A foreign conversation is as one that is not there, also for a store that could not open it."""
    with files.open(FernetCodec("2031")) as store:
        MessageWindowChatMemory("c", max_messages=9, store=store, owner="ann").add(UserMessage("u"))
    with files.open(FernetCodec("2032")) as store:
        assert store.load("c", owner="bob") is None
        assert [] == store.history("c", owner="bob")
        assert [] == store.conversations(owner="bob")
        with pytest.raises(CorruptedConversationError):
            store.load("c", owner="ann")


def test_a_codec_of_several_keys_in_one(files: Files) -> None:
    """A `MultiFernet` finds its key itself; its codec needs one name only."""

    class Multi:
        key_id = "any"

        def __init__(self) -> None:
            self.fernet = MultiFernet([Fernet(KEYS["2032"]), Fernet(KEYS["2031"])])

        def encode(self, data: bytes) -> bytes:
            return self.fernet.encrypt(data)

        def decode(self, data: bytes, key_id: str) -> bytes:
            assert key_id == "any"
            return self.fernet.decrypt(data)

    with files.open(Multi()) as store:
        before = written(store).messages()
    with files.open(Multi()) as store:
        assert before == [entry.message for entry in store.history("c")]


@define
class Odd:
    """A codec that gives what it is told to give, or raises it."""

    encoded: Any = b"sealed"
    decoded: Any = b"{}"
    key_id: Any = "odd"

    def encode(self, data: bytes) -> Any:  # noqa: ARG002 - the protocol's
        """Give or raise."""
        return self._give(self.encoded)

    def decode(self, data: bytes, key_id: str) -> Any:  # noqa: ARG002 - the protocol's
        """Give or raise."""
        return self._give(self.decoded)

    def _give(self, value: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value


@pytest.mark.parametrize("encoded", [OSError("the vault is away"), 5, "text", None, [1, 2]], ids=repr)
@pytest.mark.parametrize("change", ["add", "describe", "redact"])
def test_a_codec_that_cannot_encode(files: Files, encoded: Any, change: str) -> None:
    """Where a codec fails, or gives no bytes, nothing has changed and the error says what failed."""
    with files.open() as store:
        before = written(store).history()
    with files.open(Odd(encoded)) as store:
        memory = MessageWindowChatMemory("c", max_messages=9, store=store)
        with pytest.raises(StoreError, match="codec could not encode") as caught:
            {
                "add": lambda: memory.add(UserMessage("u")),
                "describe": lambda: memory.describe(title="t"),
                "redact": lambda: memory.redact(1),
            }[change]()
        assert not isinstance(caught.value, CorruptedConversationError)
        assert (2, before) == (memory.version, memory.history())


@pytest.mark.parametrize("decoded", [OSError("the vault is away"), 5, "text", None, b"\xff", b"no JSON"], ids=repr)
def test_a_codec_that_cannot_decode(files: Files, decoded: Any) -> None:
    """What a codec gives in the place of a message is an error, and never a message."""
    codec: Any = Odd()
    with files.open(codec) as store:
        MessageWindowChatMemory("c", max_messages=9, store=store).add(UserMessage("u"))
        codec.decoded = decoded
        with pytest.raises(CorruptedConversationError, match="conversation 'c', entry 1"):
            store.load("c")


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_every_kind(files: Files, kind: Callable[[bytes], Any]) -> None:
    """A codec may give any kind of bytes."""

    class Kind:
        key_id = "k"

        def encode(self, data: bytes) -> Any:
            return kind(data[::-1])

        def decode(self, data: bytes, key_id: str) -> Any:
            assert key_id == "k"
            return kind(data[::-1])

    with files.open(Kind()) as store:
        before = written(store).messages()
        assert before == [entry.message for entry in store.history("c")]


@pytest.mark.parametrize(
    "codec", [object(), Fernet(KEYS["2031"]), FernetCodec, "2031"], ids=lambda codec: str(type(codec))
)
def test_what_is_no_codec(codec: Any) -> None:
    """Only what has a key's name, and can encode and decode, is taken."""
    with pytest.raises(InvalidArgumentError, match="codec"):
        SqlChatMemoryStore("sqlite://", codec=codec)


@pytest.mark.parametrize("key_id", ["", "k" * 65, "a\nb", "a\0b", 7, None])
def test_names_of_keys(files: Files, key_id: Any) -> None:
    """A key's name is a printable text of up to 64 characters, at construction and whenever it is used."""
    with pytest.raises(InvalidArgumentError, match="key_id"):
        SqlChatMemoryStore("sqlite://", codec=Odd(key_id=key_id))
    codec: Any = Odd()
    with files.open(codec) as store:
        codec.key_id = key_id
        with pytest.raises(StoreError, match="codec could not encode"):
            MessageWindowChatMemory("c", max_messages=9, store=store).add(UserMessage("u"))
        assert [] == store.conversations()
