"""How large an image is, from the first bytes of its ``data:`` URL.

Decides: which formats are known (PNG, JPEG, GIF, WebP), by their bytes and not by the declared type. Knows no tokens,
decodes no picture, fetches no URL: what cannot be read from the header is None, never an error.
"""

from __future__ import annotations

import binascii
import struct
from typing import Final

Size = tuple[int, int]
"""Width and height in pixels."""

_LONGEST_PREFIX: Final = 256
_SHORT_HEADER: Final = 64
"""Characters of base64 that hold the size in PNG, GIF and WebP."""
_LONG_HEADER: Final = 400_000
"""Characters of base64 in which a JPEG's size is looked for: behind its EXIF data, thumbnail and colour profile."""
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xD9)})
_JPEG_SCAN: Final = 0xDA


def image_size(url: str) -> Size | None:
    """Return the size in pixels of the image that a ``data:`` URL holds, or None where it cannot be read.

    Example:
        >>> image_size("data:image/gif;base64,R0lGODlhAQACAAAAACw=")
        (1, 2)
        >>> image_size("https://example.org/a.png") is None
        True
    """
    comma = url.find(",", 0, _LONGEST_PREFIX)
    if comma < 0 or not url.startswith("data:") or not url[:comma].endswith(";base64"):
        return None
    size = _read(url, comma + 1)
    return size if size is not None and min(size) > 0 else None


def _read(url: str, start: int) -> Size | None:
    head = _decode(url[start : start + _SHORT_HEADER])
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return _pair(">II", head[16:24])
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _pair("<HH", head[6:10])
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head)
    if head.startswith(b"\xff\xd8\xff"):
        return _jpeg(_decode(url[start : start + _LONG_HEADER]))
    return None


def _decode(encoded: str) -> bytes:
    try:
        return binascii.a2b_base64(encoded[: len(encoded) // 4 * 4])
    except ValueError:
        return b""


def _pair(form: str, data: bytes) -> Size | None:
    if len(data) < struct.calcsize(form):
        return None
    width, height = struct.unpack(form, data)
    return width, height


def _webp(head: bytes) -> Size | None:
    """Lossy, lossless and extended: https://developers.google.com/speed/webp/docs/riff_container."""
    if len(head) < 30:  # noqa: PLR2004 - where the longest of the three headers ends
        return None
    if head[12:16] == b"VP8 ":
        return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None


def _jpeg(data: bytes) -> Size | None:
    """Walk the segments up to the frame header (ITU-T T.81, annex B)."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 - every marker begins so
        marker = data[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        if marker == _JPEG_SCAN:
            return None
        at += _segment_length(marker, data[at + 2 : at + 4])
    return None


def _segment_length(marker: int, length: bytes) -> int:
    if marker == 0xFF:  # noqa: PLR2004 - a fill byte in front of a marker
        return 1
    return 2 if marker in _JPEG_WITHOUT_LENGTH else 2 + int.from_bytes(length, "big")
