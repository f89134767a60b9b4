"""Real conversations, where a folder with them is named: `CHATMEMORY_TEST_DATA` holds ``*.jsonl`` with `messages`.

The whole of it, and a table: ``python -m tests.sweep FOLDER``.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from tests.sweep import faults_of, sweep, total_of

DATA = os.environ.get("CHATMEMORY_TEST_DATA")

pytestmark = pytest.mark.skipif(DATA is None, reason="CHATMEMORY_TEST_DATA names no folder")

EVERY = 5
"""One conversation in five: enough to meet every kind, and done in half a minute."""


def test_real_conversations(caplog: pytest.LogCaptureFixture) -> None:
    """Under every limit and in both stores each window is valid and fits, and the history is whole."""
    caplog.set_level(logging.CRITICAL, logger="chatmemory")
    total = total_of(sweep(Path(DATA or ""), every=EVERY))
    assert [] == faults_of(total)
    assert 0 < total.counts["windows"]
