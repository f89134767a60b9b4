"""What is left of a message whose content is destroyed.

Decides: the new text stands for everything that was said or called; the role, and the ids and names by which calls and
results find each other (R3), stay. Knows messages only.
"""

from __future__ import annotations

from chatmemory.errors import InvalidArgumentError
from chatmemory.messages import (
    AssistantMessage,
    ContextMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)


def redacted(message: Message, text: object) -> Message:
    """Return the message that takes the place of `message` and says `text`.

    Raises:
        InvalidArgumentError: `text` is no str.
    """
    if not isinstance(text, str):
        raise InvalidArgumentError("text", f"is of type {type(text).__name__}; give a str")
    if isinstance(message, SystemMessage):
        return SystemMessage(text, role=message.role)
    if isinstance(message, AssistantMessage):
        return AssistantMessage(text, tool_calls=[_bare(call) for call in message.tool_calls])
    if isinstance(message, ToolMessage):
        name = message.name if message.role == "function" else None
        return ToolMessage(text, tool_call_id=message.tool_call_id, name=name, role=message.role)
    return ContextMessage(text) if isinstance(message, ContextMessage) else UserMessage(text)


def _bare(call: ToolCall) -> ToolCall:
    return ToolCall(call.id, call.name, "{}", type=call.type)
