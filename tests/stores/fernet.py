"""A codec as README shows it, and conversations that are sealed with it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from attrs import define
from cryptography.fernet import Fernet

from chatmemory.messages import AssistantMessage, ToolCall, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.stores._sql_sealing import PayloadCodec

KEYS: Final = {name: Fernet.generate_key() for name in ("2030", "2031", "2032")}
SECRETS: Final = ("the treasure", "lies under", "an old oak", "on the hill")
"""What is said in a message, called in a tool, written in a title and in meta."""


class FernetCodec:
    """Seals with the last of its keys, opens with any."""

    def __init__(self, *names: str) -> None:
        self.fernets = {name: Fernet(KEYS[name]) for name in names}
        self.key_id = names[-1]

    def encode(self, data: bytes) -> bytes:
        """Return `data` sealed."""
        return self.fernets[self.key_id].encrypt(data)

    def decode(self, data: bytes, key_id: str) -> bytes:
        """Return what was sealed."""
        return self.fernets[key_id].decrypt(data)


@define
class Files:
    """The files of an SQLite database."""

    path: Path

    def open(self, codec: PayloadCodec | None = None) -> SqlChatMemoryStore:
        """Return a store on them."""
        return SqlChatMemoryStore(f"sqlite:///{self.path}", codec=codec)

    def found(self, *texts: str) -> list[str]:
        """Return which of `texts` stand in the database or in its write-ahead log, as they are or as JSON."""
        raw = b"".join(file.read_bytes() for file in self.path.parent.glob(f"{self.path.name}*"))
        assert raw.startswith(b"SQLite format 3\0")
        return [text for text in texts if text.encode() in raw]


def secret_messages() -> list[UserMessage | AssistantMessage]:
    """Messages that say the first two of `SECRETS`."""
    call = ToolCall("c1", "look", f'{{"at":"{SECRETS[1]}"}}')
    return [UserMessage(SECRETS[0]), AssistantMessage(None, tool_calls=[call])]
