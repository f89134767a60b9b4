"""chatmemory: one memory object per conversation, kept inside a token or message budget and durable across restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmemory.core.entries import About, Change, Entry, Limit, Refusal, Removal
from chatmemory.core.guards import Guards
from chatmemory.core.plan import Limits, Plan
from chatmemory.core.window import Window
from chatmemory.errors import (
    ChatMemoryError,
    ConflictError,
    CorruptedConversationError,
    IllegalPlanError,
    InvalidArgumentError,
    InvalidMessageError,
    NotInHistoryError,
    OwnershipError,
    StoreError,
    TokenizerUnavailableError,
    UnsupportedSchemaError,
    WindowOverflowError,
)
from chatmemory.formats import to_openai, to_openai_message
from chatmemory.memory import ChatMemory, MessageWindowChatMemory, TokenWindowChatMemory
from chatmemory.messages import (
    AssistantMessage,
    AudioPart,
    ContextMessage,
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from chatmemory.selection import Selection, select_messages
from chatmemory.strategies import SlidingWindow, TokenBudget, WindowStrategy
from chatmemory.tokens import ApproximateCounter, TokenCounter

if TYPE_CHECKING:
    from chatmemory.tokens import TiktokenCounter

__all__ = [
    "About",
    "ApproximateCounter",
    "AssistantMessage",
    "AudioPart",
    "Change",
    "ChatMemory",
    "ChatMemoryError",
    "ConflictError",
    "ContextMessage",
    "CorruptedConversationError",
    "Entry",
    "FilePart",
    "Guards",
    "IllegalPlanError",
    "ImagePart",
    "InvalidArgumentError",
    "InvalidMessageError",
    "Limit",
    "Limits",
    "Message",
    "MessageWindowChatMemory",
    "NotInHistoryError",
    "OpaquePart",
    "OwnershipError",
    "Plan",
    "ReasoningPart",
    "Refusal",
    "Removal",
    "Selection",
    "SlidingWindow",
    "StoreError",
    "SystemMessage",
    "TextPart",
    "TiktokenCounter",
    "TokenBudget",
    "TokenCounter",
    "TokenWindowChatMemory",
    "TokenizerUnavailableError",
    "ToolCall",
    "ToolMessage",
    "UnsupportedSchemaError",
    "UserMessage",
    "Window",
    "WindowOverflowError",
    "WindowStrategy",
    "select_messages",
    "to_openai",
    "to_openai_message",
]


def __getattr__(name: str) -> Any:
    if name == "TiktokenCounter":
        from chatmemory.tokens import TiktokenCounter  # noqa: PLC0415 - tiktoken only when asked for

        return TiktokenCounter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
