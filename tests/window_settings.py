"""The settings of a memory in a neutral form, for the slow model, the tables of cases and the real memory alike."""

from __future__ import annotations

from typing import Final, Literal

from attrs import frozen

ALL_GUARDS: Final = frozenset({"current_request", "pending_tool_call", "unseen_tool_result"})
NO_GUARDS: Final[frozenset[str]] = frozenset()


@frozen
class WindowSettings:
    """What decides how a window is kept.

    Attributes:
        kind: ``tokens`` is a `TokenBudget`, ``messages`` a `SlidingWindow`.
        max_tokens: Required for ``tokens``, optional for ``messages``.
        max_messages: Only for ``messages``.
        count_system: Whether `max_messages` counts the system message; only for ``messages``.
        counted: Whether there is a token counter; without one every token count is None.
        overhead: Tokens that the counter charges once per request.
    """

    kind: Literal["tokens", "messages"]
    max_tokens: int | None = None
    max_messages: int | None = None
    evict_to: float | int | None = None
    unit: Literal["message", "turn"] = "message"
    count_system: bool = True
    guards: frozenset[str] = ALL_GUARDS
    overflow: Literal["evict", "raise", "keep"] = "evict"
    reserve_tokens: int = 0
    counted: bool = True
    overhead: int = 3

    @property
    def limits(self) -> dict[str, int]:
        """What the window may hold, by measure; a measure without a limit is absent."""
        tokens = None if self.max_tokens is None else self.max_tokens - self.reserve_tokens
        both = {"tokens": tokens, "messages": self.max_messages}
        return {measure: limit for measure, limit in both.items() if limit is not None}


def token_settings(max_tokens: int, *, evict_to: float | int | None = None) -> WindowSettings:
    """A token budget with all guards on."""
    return WindowSettings("tokens", max_tokens=max_tokens, evict_to=evict_to)


def message_settings(max_messages: int, *, unit: Literal["message", "turn"] = "message") -> WindowSettings:
    """A window of the last messages with all guards on, and no token limit."""
    return WindowSettings("messages", max_messages=max_messages, unit=unit)
