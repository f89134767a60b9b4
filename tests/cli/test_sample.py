"""The sample ships: it is in the wheel, as it is in the tree."""

from __future__ import annotations

import zipfile
from pathlib import Path

from chatmemory.cli.reading import SAMPLE
from tests.test_packaging import build, copy_tree


def test_the_wheel_has_the_sample(tmp_path: Path) -> None:
    """A wheel holds the conversation that --sample replays."""
    wheel = build("wheel", copy_tree(tmp_path / "tree"), tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as archive:
        assert SAMPLE.read_bytes() == archive.read("chatmemory/cli/examples/parcel.json")
