"""What content costs that is not text: images, sound, files, and data inside parts that nobody modelled.

Decides: prices in tokens. Images follow OpenAI's published rule for gpt-4o; the other prices are our own rough
assumptions, each with its reason, and base64 is never counted as text. Knows parts, no tokenizer and no message.
"""

from __future__ import annotations

from typing import Final

from chatmemory.messages import AudioPart, FilePart, ImagePart
from chatmemory.tokens.image_size import Size, image_size

IMAGE_BASE: Final = 85
"""An image with low detail, and what every other image costs besides its tiles."""
IMAGE_TILE: Final = 170
IMAGE_TILE_PIXELS: Final = 512
IMAGE_LONGEST_SIDE: Final = 2_048
IMAGE_SHORTEST_SIDE: Final = 768
IMAGE_UNKNOWN_HIGH: Final = IMAGE_BASE + 4 * IMAGE_TILE
"""High detail, size unknown: as 1024 x 1024 pixels, OpenAI's own example."""
IMAGE_UNKNOWN: Final = IMAGE_BASE + IMAGE_TILE
"""Detail left to the provider, size unknown: one tile, between the price of low and that of high detail."""

AUDIO_PER_SECOND: Final = 10
AUDIO_BYTES_PER_SECOND: Final = {"wav": 48_000, "pcm16": 48_000, "flac": 32_000, "opus": 4_000, "ogg": 8_000}
"""Usual rates: speech of 24,000 16-bit samples a second, half of it after flac."""
AUDIO_BYTES_PER_SECOND_OTHERWISE: Final = 16_000
"""mp3, aac and the rest at 128 kbit/s."""

FILE_PAGE: Final = 1_500
"""A page of a PDF: OpenAI shows the model its text and its picture (some 500 tokens, and 6 tiles)."""
FILE_PAGE_BYTES: Final = 50_000
FILE_TEXT_BYTES_PER_TOKEN: Final = 4


def image_tokens(part: ImagePart) -> int:
    """Return what an image costs by its `detail`.

    ``low`` is flat. ``high`` counts tiles after the image was scaled down into 2048 x 2048 and then to 768 on its
    shortest side. Everything else (``auto``, None, a provider's own word) counts as ``high`` where the size can be read
    from a ``data:`` URL, and `IMAGE_UNKNOWN` where it cannot. Other models price tiles otherwise: keep a reserve.
    Source: https://platform.openai.com/docs/guides/images-vision#calculating-costs.

    Example:
        >>> image_tokens(ImagePart("https://example.org/a.png", detail="low"))
        85
    """
    if part.detail == "low":
        return IMAGE_BASE
    size = image_size(part.url)
    if size is not None:
        return IMAGE_BASE + IMAGE_TILE * tiles(size)
    return IMAGE_UNKNOWN_HIGH if part.detail == "high" else IMAGE_UNKNOWN


def tiles(size: Size) -> int:
    """Return how many tiles of 512 x 512 pixels cover an image of `size` pixels with high detail.

    Example:
        >>> tiles((1024, 1024)), tiles((2048, 4096)), tiles((1, 1))
        (4, 6, 1)
    """
    width, height = _shrunk(size, max(size), IMAGE_LONGEST_SIDE)
    width, height = _shrunk((width, height), min(width, height), IMAGE_SHORTEST_SIDE)
    return _started(width, IMAGE_TILE_PIXELS) * _started(height, IMAGE_TILE_PIXELS)


def _shrunk(size: Size, side: int, limit: int) -> Size:
    if side <= limit:
        return size
    return max(1, size[0] * limit // side), max(1, size[1] * limit // side)


def audio_tokens(part: AudioPart) -> int:
    """Return roughly what sound costs: 10 tokens a second, as OpenAI prices a user's audio, of at least one second.

    The seconds are the bytes over the format's usual rate; a header is not read.
    Source: https://platform.openai.com/docs/guides/realtime-costs (1 token for 100 ms).

    Example:
        >>> audio_tokens(AudioPart("AAAA" * 160_000, format="wav"))
        100
    """
    rate = AUDIO_BYTES_PER_SECOND.get(part.format.lower(), AUDIO_BYTES_PER_SECOND_OTHERWISE)
    return max(AUDIO_PER_SECOND, _started(_decoded_bytes(part.data) * AUDIO_PER_SECOND, rate))


def file_tokens(part: FilePart) -> int:
    """Return roughly what a file costs: its text at 4 bytes a token, or its pages at 50,000 bytes a page.

    A file that is known by id only counts as one page: nobody here can look into it.

    Example:
        >>> file_tokens(FilePart(file_id="file-1")), file_tokens(FilePart(data="data:text/csv;base64," + "AAAA" * 400))
        (1500, 304)
    """
    size = _decoded_bytes(part.data or "")
    if part.data is not None and part.data.startswith("data:text/"):
        return _started(size, FILE_TEXT_BYTES_PER_TOKEN)
    return FILE_PAGE * max(1, _started(size, FILE_PAGE_BYTES))


def _decoded_bytes(base64: str) -> int:
    return len(base64) * 3 // 4


def _started(amount: int, step: int) -> int:
    return -(-amount // step)
