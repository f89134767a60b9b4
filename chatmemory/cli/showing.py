"""A stored window, read through the store, and each entry as one line of plain text.

Decides: what a message looks like on a line. Control characters never reach the terminal. Nothing here is written: the
memory that reads keeps what is over its limit, which is the one way of opening that cuts nothing (R6).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from chatmemory import (
    ChatMemory,
    Entry,
    Message,
    NotInHistoryError,
    SlidingWindow,
    StoreError,
    TextPart,
    ToolMessage,
    Window,
    to_openai_message,
)
from chatmemory.stores import ChatMemoryStore

_LONGEST_LINE: Final = 500
_NAMED_IDS: Final = 5


def stored_window(store: ChatMemoryStore, conversation_id: str) -> Window:
    """Read the window of `conversation_id`, in the order of `messages()`.

    Raises:
        NotInHistoryError: The store has no such conversation.
        StoreError: It cannot be read.
    """
    window = ChatMemory(conversation_id, strategy=SlidingWindow(1), store=store, overflow="keep").window()
    if window.version == 0:
        known = [plain(repr(info.id)) for info in store.conversations(limit=_NAMED_IDS)]
        there = f"its first are {', '.join(known)}" if known else "it has none"
        raise NotInHistoryError(f"the database has no conversation {plain(repr(conversation_id))}; {there}")
    return window


def check_is_there(url: str) -> None:
    """Refuse the URL of an SQLite file that does not exist, which opening would make.

    Raises:
        StoreError: There is no such file.
    """
    driver, _, rest = url.partition(":///")
    path = rest.partition("?")[0]
    if not driver.startswith("sqlite") or not path or path.startswith((":", "file:")):
        return
    if not any(Path(one).exists() for one in (path, unquote(path))):
        raise StoreError(f"there is no file {plain(path)!r}; give the URL that the conversation was stored under")


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return what machines get of an entry; the message is in OpenAI's form."""
    message = to_openai_message(entry.message)
    return {"seq": entry.seq, "kind": entry.kind, "tokens": entry.tokens, "message": message}


def line_of(message: Message) -> str:
    """Return `message` on one line: its text, or what stands for it, then the calls.

    Example:
        >>> from chatmemory import AssistantMessage, ToolCall
        >>> line_of(AssistantMessage("One moment.", tool_calls=[ToolCall("c1", "track", '{"order": 7}')]))
        'One moment. → track({"order": 7}) [c1]'
    """
    calls = [f"→ {call.name}({call.arguments[:_LONGEST_LINE]}) [{call.id or ''}]" for call in message.tool_calls]
    answered = [f"[{message.tool_call_id or ''}]"] if isinstance(message, ToolMessage) else []
    return plain(" ".join([*answered, *_pieces(message), *calls]))


def plain(text: str) -> str:
    r"""Return the beginning of `text` without line breaks, and with control characters spelled out.

    Example:
        >>> plain("a\n b \x1b[2J")
        'a b \\x1b[2J'
    """
    line = " ".join(text[:_LONGEST_LINE].split())
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)


def _pieces(message: Message) -> list[str]:
    if message.content is None or isinstance(message.content, str):
        return [message.content[:_LONGEST_LINE]] if message.content else []
    return [part.text if isinstance(part, TextPart) else f"<{type(part).__name__}>" for part in message.content]
