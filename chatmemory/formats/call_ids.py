"""The ids that calls have on the wire.

Decides: a call keeps its own id; one without, or with an id that another call of its message has already, gets one made
of its name and arguments. So the id does not depend on what stands before, and stays when older messages leave; only
equal calls of one message are numbered. OpenAI refuses two results with one id in a row, but not in later messages.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from chatmemory.formats.unicode_text import encodable_text
from chatmemory.messages import ToolCall


def ids_of(calls: Sequence[ToolCall]) -> list[str]:
    """Return the ids of the calls of one message, no two of them equal."""
    kept = {encodable_text(call.id) for call in calls if call.id}
    taken, made = set[str](), Counter[str]()
    ids = []
    for call in calls:
        wire_id = encodable_text(call.id or "")
        if not wire_id or wire_id in taken:
            wire_id = _fresh(call, kept, made)
        taken.add(wire_id)
        ids.append(wire_id)
    return ids


def _fresh(call: ToolCall, kept: set[str], made: Counter[str]) -> str:
    stem = f"call_chatmemory_{_digest(call)}"
    while True:
        made[stem] += 1
        number = made[stem]
        fresh = stem if number == 1 else f"{stem}_{number}"
        if fresh not in kept:
            return fresh


def _digest(call: ToolCall) -> str:
    text = f"{call.name}\0{call.arguments}"
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
