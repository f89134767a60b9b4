"""A counter that needs no files: right to the order in every script, from the bytes that text has in UTF-8.

Decides: what a character of each class costs on average in o200k_base. The formula is in `formula`. Keeps R10 by its
name, which changes with the formula and with the weights.
"""

from __future__ import annotations

import string
from typing import Final

from attrs import frozen

from chatmemory.messages import Message
from chatmemory.tokens.formula import FORMULA, PER_REQUEST, measure

WEIGHTS_VERSION: Final = 1
"""Part of the counter's name: whoever changes a weight raises it."""

_ASCII: Final[dict[str, int]] = {
    string.ascii_lowercase: 13,
    string.ascii_uppercase: 30,
    string.digits: 60,
    " ": 50,
    string.punctuation: 55,
}
"""Characters → hundredths of a token for each. The other ASCII characters are line ends, tabs and controls."""
_OTHER_ASCII: Final = 30

_LEAD_BYTES: Final[dict[int, int]] = {
    0xC2: 45,  # Latin with accents
    0xCC: 40,  # Greek, combining marks
    0xD0: 21,  # Cyrillic
    0xD4: 32,  # Armenian, Hebrew, Arabic
    0xE0: 27,  # India, Thai, Lao
    0xE1: 45,  # Vietnamese, Georgian, Ethiopic, Khmer
    0xE2: 100,  # dashes, quotation marks, symbols
    0xE3: 72,  # kana, Chinese and Japanese punctuation
    0xE4: 75,  # Chinese characters
    0xEA: 58,  # Hangul
    0xEE: 70,  # private use, full width forms
    0xF0: 150,  # emoji, rare Chinese characters
}
"""First byte of a character in UTF-8, from which on → hundredths of a token for each character."""

_CONTINUATION: Final = bytes(range(0x80, 0xC0))


def _weight(byte: int) -> int:
    if byte < 0x80:  # noqa: PLR2004 - ASCII
        return next((weight for characters, weight in _ASCII.items() if chr(byte) in characters), _OTHER_ASCII)
    return _LEAD_BYTES[max((lead for lead in _LEAD_BYTES if lead <= byte), default=0xC2)]


_WEIGHT_OF_BYTE: Final = bytes(map(_weight, range(256)))
_WEIGHTS: Final = sorted(set(_WEIGHT_OF_BYTE))


@frozen
class ApproximateCounter:
    """Estimates what OpenAI's o200k_base would count, without any file; everything but text is counted exactly.

    Ordinary text in the scripts that people write is off by a fifth at most, nearly always; code and logs by a third.
    Text that no tokenizer was made for (base64, long runs of one character) may be off by a factor of three or more:
    where a provider's limit is near, use `TiktokenCounter`, or a reserve. Takes a millisecond or two for a megabyte.

    Example:
        >>> from chatmemory.messages import UserMessage
        >>> ApproximateCounter().count(UserMessage("Where is my parcel?"))
        9
    """

    @property
    def name(self) -> str:
        """The versions of the formula and of the weights."""
        return f"approximate:{FORMULA}.{WEIGHTS_VERSION}"

    @property
    def overhead(self) -> int:
        """3: each request ends with the opening of the answer."""
        return PER_REQUEST

    def count(self, message: Message) -> int:
        """Return roughly what `message` costs, in tokens. Needs nothing and never fails."""
        texts, tokens = measure(message)
        return tokens + 1 + sum(map(estimate, texts))  # each role is one token


def estimate(text: str) -> int:
    """Return roughly how many tokens `text` has: each character at the weight of its class, rounded up.

    Example:
        >>> estimate("Hello, world"), estimate("你好,世界"), estimate("")
        (3, 4, 0)
    """
    weighed = text.encode(errors="replace").translate(_WEIGHT_OF_BYTE, _CONTINUATION)
    return -(-sum(weight * weighed.count(weight) for weight in _WEIGHTS) // 100)
