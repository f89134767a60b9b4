"""Real conversations, where a folder with them is named: `CHATMEMORY_TEST_DATA` holds `*.jsonl` with `messages`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from chatmemory.messages import UserMessage
from chatmemory.tokens import ApproximateCounter, TiktokenCounter

DATA = os.environ.get("CHATMEMORY_TEST_DATA")

pytestmark = pytest.mark.skipif(DATA is None, reason="CHATMEMORY_TEST_DATA names no folder")


def _texts() -> Iterator[str]:
    for path in sorted(Path(DATA or "").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for message in json.loads(line)["messages"]:
                if isinstance(message.get("content"), str) and len(message["content"]) > 40:
                    yield message["content"]


def test_bound_and_estimate_hold_on_real_texts() -> None:
    """The bound holds on each text; of the estimates 98 in 100 are within a factor of 2, the median within a tenth."""
    exact, rough = TiktokenCounter(), ApproximateCounter()
    ratios = []
    for message in map(UserMessage, _texts()):
        tokens = exact.count(message)
        assert exact.at_least(message) <= tokens
        ratios.append(rough.count(message) / tokens)
    assert 0.98 <= sum(0.5 <= ratio <= 2 for ratio in ratios) / len(ratios)
    assert 0.9 <= median(ratios) <= 1.1
