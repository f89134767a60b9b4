"""The result that a converter gives to a call which never got one (R13).

Decides: its text, the same each time, so that it is recognised when it comes back and is left out. It is never stored
and stands outside the budget.
"""

from __future__ import annotations

from typing import Final

from chatmemory.messages import Message, ToolMessage

NO_RESULT: Final = (
    "[chatmemory:no-result] No result of this tool call was recorded: it was interrupted or is still running."
)


def is_no_result(message: Message) -> bool:
    """Whether `message` is such a result, come back from a provider's form."""
    return isinstance(message, ToolMessage) and message.text == NO_RESULT
