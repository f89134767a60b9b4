"""A real memory for the neutral settings of the model and the tables."""

from __future__ import annotations

from chatmemory import ChatMemory, Guards, SlidingWindow, TokenBudget
from chatmemory.stores import ChatMemoryStore
from chatmemory.tokens.protocol import TokenCounter
from tests.conversations import SizeCounter
from tests.window_settings import WindowSettings


def strategy_of(settings: WindowSettings) -> TokenBudget | SlidingWindow:
    """Return the strategy that `settings` describe."""
    if settings.kind == "tokens":
        assert settings.max_tokens is not None
        return TokenBudget(settings.max_tokens, evict_to=settings.evict_to, unit=settings.unit)
    assert settings.max_messages is not None
    return SlidingWindow(
        settings.max_messages,
        max_tokens=settings.max_tokens,
        evict_to=settings.evict_to,
        unit=settings.unit,
        count_system=settings.count_system,
    )


def guards_of(settings: WindowSettings) -> Guards:
    """Return the guards that `settings` switch on."""
    return Guards(
        current_request="current_request" in settings.guards,
        pending_tool_call="pending_tool_call" in settings.guards,
        unseen_tool_result="unseen_tool_result" in settings.guards,
    )


def open_memory(
    conversation_id: str | None,
    settings: WindowSettings,
    *,
    store: ChatMemoryStore | None = None,
    counter: TokenCounter | None = None,
) -> ChatMemory:
    """Return a memory under `settings`; a counter is given to it only where they count.

    Args:
        conversation_id: None: a new conversation.
        settings: Decide everything that is about the window.
        store: None: one of its own.
        counter: None: one that reads the number in the text.
    """
    counter = counter or SizeCounter(overhead=settings.overhead)
    return ChatMemory(
        conversation_id,
        strategy=strategy_of(settings),
        store=store,
        counter=counter if settings.counted else None,
        guards=guards_of(settings),
        overflow=settings.overflow,
        reserve_tokens=settings.reserve_tokens,
    )
