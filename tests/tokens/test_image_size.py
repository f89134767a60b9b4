"""How large an image is, by the first bytes of its ``data:`` URL."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmemory.tokens.image_size import image_size
from tests.tokens.pictures import data_url, gif, jpeg, png, webp


@pytest.mark.parametrize(
    "url",
    [
        png(640, 480),
        gif(640, 480),
        jpeg(640, 480),
        jpeg(640, 480, metadata=150_000),
        jpeg(640, 480, frame=0xC2),
        webp(640, 480, b"VP8 "),
        webp(640, 480, b"VP8L"),
        webp(640, 480, b"VP8X"),
        png(640, 480).replace("image/png", "image/jpeg"),
        png(640, 480).replace("image/png", "image/png;charset=utf-8"),
    ],
)
def test_size_is_read_from_the_header(url: str) -> None:
    """Each known format gives its size, whatever type the URL declares."""
    assert (640, 480) == image_size(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.png",
        "data:image/png;base64,",
        "data:image/png;base64," + "A" * 4000,
        "data:image/png,rawtext",
        "data:image/png;base64,é" + "A" * 100,
        png(640, 480)[:50],
        gif(0, 480),
        jpeg(640, 480, metadata=400_000),
        data_url(b"\xff\xd8\xff\xda" + bytes(100), "jpeg"),
        data_url(b"\xff\xd8\xff\xd8" + bytes(100), "jpeg"),
        data_url(b"RIFF\x10\x00\x00\x00WEBPALPH" + bytes(40), "webp"),
        data_url(b"RIFF\x10\x00\x00\x00WEBPVP8 ", "webp"),
        "",
    ],
)
def test_what_cannot_be_read_has_no_size(url: str) -> None:
    """No header, a damaged one, or one too far away: None and no error."""
    assert image_size(url) is None


@given(
    st.sampled_from([png(9, 9), gif(9, 9), jpeg(9, 9), webp(9, 9, b"VP8L")]), st.binary(max_size=60), st.integers(2, 30)
)
def test_damage_never_raises(url: str, noise: bytes, kept: int) -> None:
    """Whatever follows a known beginning, the outcome is a size above zero or None."""
    prefix, _, encoded = url.partition(",")
    size = image_size(f"{prefix},{base64.b64encode(base64.b64decode(encoded)[:kept] + noise).decode()}")
    assert size is None or min(size) > 0
