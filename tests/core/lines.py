"""A life in one line: what is added under which settings, and how it ends."""

from __future__ import annotations

from typing import Final

import pytest
from attrs import field, frozen

from chatmemory.core.entries import OverflowPolicy
from chatmemory.core.guards import Guards
from chatmemory.core.plan import WindowStrategy
from chatmemory.strategies import SlidingWindow
from tests.core.building import Life, left, refused

ROOMY: Final = SlidingWindow(99)
REQUEST: Final = ("current_request",)
PENDING: Final = ("pending_tool_call",)
UNSEEN: Final = ("unseen_tool_result",)


@frozen
class Line:
    """A life, the window at its end, who left with its last message, and who was refused then."""

    name: str
    strategy: WindowStrategy
    adds: str
    window: str
    left: dict[int, str] = field(factory=dict)
    refused: dict[int, tuple[str, ...]] = field(factory=dict)
    guards: Guards = field(factory=Guards)
    overflow: OverflowPolicy = "evict"


def play(line: Line) -> None:
    """Live the life of a line, and compare its end."""
    life = Life.under(line.strategy, guards=line.guards, overflow=line.overflow)
    last = life.add_each(line.adds)[-1]
    assert line.window == life.shown
    assert line.left == left(last)
    assert line.refused == refused(last)


def lines(*given: Line) -> pytest.MarkDecorator:
    """Run a test with each of these lines."""
    return pytest.mark.parametrize("line", given, ids=[line.name for line in given])
