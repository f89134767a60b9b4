"""What a codec does to stored text: bytes that only its keys open, with the key's name beside.

Decides: which of a row's three columns hold a text, which rows are due to be sealed anew, and that a text that cannot
be opened is an error and never left out. Knows no cipher: a codec is the application's own.
"""

from __future__ import annotations

from typing import Final, Protocol, runtime_checkable

from attrs import frozen

from chatmemory.errors import CorruptedConversationError, InvalidArgumentError, StoreError

MAX_KEY_ID_LENGTH: Final = 64

Sealed = tuple[str | None, bytes | None, str | None]
"""A text as a row holds it: plain, or the codec's bytes and the name of their key."""


@runtime_checkable
class PayloadCodec(Protocol):
    """Turns stored text into bytes that only it can read, and back: encryption at rest.

    All methods may be called from several threads at once.
    """

    @property
    def key_id(self) -> str:
        """Names the key that `encode` uses now, in up to 64 printable characters. It is stored beside the bytes."""
        ...

    def encode(self, data: bytes) -> bytes:
        """Return `data` sealed with the key that `key_id` names."""
        ...

    def decode(self, data: bytes, key_id: str) -> bytes:
        """Return what `encode` was given when `key_id` was its key; raise any error where that key is not known."""
        ...


@frozen
class Seal:
    """Writes and reads texts by a codec, or plainly where there is none."""

    codec: PayloadCodec | None = None

    def __attrs_post_init__(self) -> None:
        if self.codec is None:
            return
        if isinstance(self.codec, type) or not isinstance(self.codec, PayloadCodec):
            raise InvalidArgumentError("codec", "has no key_id, encode and decode; give a PayloadCodec")
        _check_key_id(self.codec.key_id)

    @property
    def key_id(self) -> str | None:
        """The name of the key that is used now; None: texts are written plainly."""
        return None if self.codec is None else self.codec.key_id

    def is_due(self, plain: str | None, sealed: bytes | None, key_id: str | None) -> bool:
        """Whether a row holds a text that is not sealed with the key that is used now."""
        return (plain is not None or sealed is not None) and key_id != self.key_id

    def close(self, text: str) -> Sealed:
        """Return `text` as a row is to hold it.

        Raises:
            StoreError: The codec failed.
        """
        if self.codec is None:
            return text, None, None
        try:
            sealed, key_id = _bytes(self.codec.encode(text.encode())), self.codec.key_id
            _check_key_id(key_id)
        except Exception as error:
            raise StoreError(f"the codec could not encode ({type(error).__name__}); nothing changed") from error
        return None, sealed, key_id

    def open(self, plain: str | None, sealed: bytes | None, key_id: str | None) -> str:
        """Return the text that a row holds.

        Raises:
            CorruptedConversationError: It is sealed, and there is no codec, or the codec cannot open it.
        """
        if sealed is None and plain is not None:
            return plain
        if sealed is None or key_id is None:
            raise CorruptedConversationError("the row holds no text; restore it from a backup")
        if self.codec is None:
            raise CorruptedConversationError(f"the row is sealed with key {key_id!r}; open the store with its codec")
        try:
            return _bytes(self.codec.decode(bytes(sealed), key_id)).decode()
        except Exception as error:
            raise CorruptedConversationError(
                f"the codec cannot open what key {key_id!r} sealed ({type(error).__name__}); give it that key"
            ) from error


def _bytes(value: object) -> bytes:
    # bytes(5) would be five zeros.
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"the codec gave a {type(value).__name__}, which is no bytes")
    return bytes(value)


def _check_key_id(key_id: object) -> None:
    if not isinstance(key_id, str) or not 1 <= len(key_id) <= MAX_KEY_ID_LENGTH or not key_id.isprintable():
        raise InvalidArgumentError("codec.key_id", f"is no printable str of 1 to {MAX_KEY_ID_LENGTH} characters")
