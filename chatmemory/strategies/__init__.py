"""Strategies: what should leave a window. Each is frozen, stateless and pure."""

from __future__ import annotations

from chatmemory.core.plan import WindowStrategy
from chatmemory.strategies.sliding_window import SlidingWindow
from chatmemory.strategies.token_budget import TokenBudget

__all__ = ["SlidingWindow", "TokenBudget", "WindowStrategy"]
