"""What images, sound, files and unknown parts cost."""

from __future__ import annotations

import pytest

from chatmemory.messages import AudioPart, FilePart, ImagePart
from chatmemory.tokens.media import audio_tokens, file_tokens, image_tokens
from tests.tokens.pictures import jpeg, png

LINK = "https://example.org/a.png"


@pytest.mark.parametrize(
    ("tokens", "part"),
    [
        (85, ImagePart(LINK, detail="low")),
        (85, ImagePart(png(4096, 8192), detail="low")),  # published example
        (765, ImagePart(png(1024, 1024), detail="high")),  # published example: 768 x 768, 4 tiles
        (1105, ImagePart(png(2048, 4096), detail="high")),  # published example: 768 x 1536, 6 tiles
        (255, ImagePart(png(512, 512), detail="high")),  # one tile
        (425, ImagePart(png(513, 512), detail="high")),  # one pixel more: two tiles
        (255, ImagePart(png(1, 1), detail="auto")),  # never enlarged
        (765, ImagePart(jpeg(1024, 1024))),  # no detail given, size known: as high
        (1105, ImagePart(png(1366, 768), detail="original")),  # a provider's own word: 3 x 2 tiles
        (765, ImagePart(LINK, detail="high")),  # size unknown: as 1024 x 1024
        (255, ImagePart(LINK)),  # neither known
        (255, ImagePart("data:image/png;base64," + "A" * 4000, detail="auto")),  # never its base64
        (765, ImagePart(png(2**32 - 1, 1), detail="high")),  # 2048 x 1: 4 tiles
    ],
)
def test_image_costs_by_its_detail(tokens: int, part: ImagePart) -> None:
    """Low detail is flat; otherwise tiles are counted where the size can be read."""
    assert tokens == image_tokens(part)


@pytest.mark.parametrize(
    ("tokens", "part"),
    [
        (10, AudioPart("", format="wav")),  # at least one second
        (10, AudioPart("A" * 4_000, format="mp3")),  # 3,000 bytes, 0.2 seconds
        (100, AudioPart("A" * 640_000, format="WAV")),  # 480,000 bytes at 48,000 a second
        (300, AudioPart("A" * 640_000, format="mp3")),  # at 16,000 a second
        (1200, AudioPart("A" * 640_000, format="opus")),  # at 4,000 a second
    ],
)
def test_audio_costs_by_its_seconds(tokens: int, part: AudioPart) -> None:
    """Ten tokens for each second that the bytes make at the format's usual rate."""
    assert tokens == audio_tokens(part)


@pytest.mark.parametrize(
    ("tokens", "part"),
    [
        (1_500, FilePart(file_id="file-1")),
        (1_500, FilePart(data="A" * 4_000)),
        (1_500, FilePart(data="")),
        (3_000, FilePart(data="data:application/pdf;base64," + "A" * 80_000)),  # 60,021 bytes: two pages
        (751, FilePart(data="data:text/plain;base64," + "A" * 3_980)),  # 3,002 bytes
    ],
)
def test_file_costs_by_its_size(tokens: int, part: FilePart) -> None:
    """Pages of 50,000 bytes, or text of 4 bytes a token; an id alone is one page."""
    assert tokens == file_tokens(part)
