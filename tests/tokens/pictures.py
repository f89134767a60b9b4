"""Images as ``data:`` URLs that consist of little more than their headers."""

from __future__ import annotations

import base64
import struct


def data_url(content: bytes, kind: str = "png") -> str:
    """Return `content` as a ``data:`` URL."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def png(width: int, height: int) -> str:
    """Return a PNG that ends after its header."""
    header = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    return data_url(b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", len(header), b"IHDR") + header + bytes(40))


def gif(width: int, height: int) -> str:
    """Return a GIF that ends after its screen descriptor."""
    return data_url(b"GIF89a" + struct.pack("<HH3B", width, height, 0, 0, 0) + b";", "gif")


def jpeg(width: int, height: int, *, metadata: int = 0, frame: int = 0xC0) -> str:
    """Return a JPEG with `metadata` bytes in segments, and a fill byte, in front of its frame header."""
    segments = b""
    while metadata:
        size = min(metadata, 65_533)
        segments += b"\xff\xe1" + struct.pack(">H", size + 2) + bytes(size)
        metadata -= size
    start = b"\xff" + bytes([0xFF, frame]) + struct.pack(">HBHHB", 17, 8, height, width, 3)
    return data_url(b"\xff\xd8" + segments + start + bytes(20), "jpeg")


def webp(width: int, height: int, kind: bytes) -> str:
    """Return a WebP of the lossy (``VP8 ``), lossless (``VP8L``) or extended (``VP8X``) kind."""
    if kind == b"VP8 ":
        chunk = bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height)
    elif kind == b"VP8L":
        chunk = b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14)
    else:
        chunk = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBP" + kind + struct.pack("<I", len(chunk)) + chunk + bytes(16)
    return data_url(b"RIFF" + struct.pack("<I", len(body)) + body, "webp")
