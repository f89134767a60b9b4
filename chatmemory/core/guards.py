"""Guards (R5): units that no strategy may remove.

Decides: which guards there are, and when each holds a unit; one table says it all. "Later" is by place, and only what
is in the window counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Self

from attrs import asdict, frozen

from chatmemory.core.entries import Entry
from chatmemory.core.units import Unit
from chatmemory.errors import InvalidArgumentError
from chatmemory.messages import AssistantMessage, Message, UserMessage


@frozen
class Landmarks:
    """The places of the newest messages that guards measure by; 0 where the window has none.

    Attributes:
        user: The last user message.
        answer: The last assistant message without calls.
        assistant: The last assistant message, with calls or without.
    """

    user: int = 0
    answer: int = 0
    assistant: int = 0

    def after(self, place: int, message: Message) -> Landmarks:
        """The landmarks once `message` stands at `place`."""
        if isinstance(message, UserMessage):
            return Landmarks(max(place, self.user), self.answer, self.assistant)
        if not isinstance(message, AssistantMessage):
            return self
        answer = self.answer if message.tool_calls else max(place, self.answer)
        return Landmarks(self.user, answer, max(place, self.assistant))

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Self:
        """The landmarks of a whole window."""
        user = answer = assistant = 0
        for entry in entries:
            if isinstance(entry.message, UserMessage):
                user = max(user, entry.place)
            elif isinstance(entry.message, AssistantMessage):
                assistant = max(assistant, entry.place)
                answer = answer if entry.message.tool_calls else max(answer, entry.place)
        return cls(user, answer, assistant)

    @property
    def moved_on(self) -> int:
        """Calls that stand before this place are abandoned when they still wait."""
        return max(self.user, self.answer)

    @property
    def seen(self) -> int:
        """Results that stand before this place were seen by the model, or passed by."""
        return max(self.user, self.assistant)


def _current_request(unit: Unit, marks: Landmarks) -> bool:
    return unit.place == marks.user


def _pending_tool_call(unit: Unit, marks: Landmarks) -> bool:
    return unit.place > marks.moved_on and unit.waits


def _unseen_tool_result(unit: Unit, marks: Landmarks) -> bool:
    return unit.newest_result > marks.seen


_TABLE: Final[Mapping[str, Callable[[Unit, Landmarks], bool]]] = {
    "current_request": _current_request,
    "pending_tool_call": _pending_tool_call,
    "unseen_tool_result": _unseen_tool_result,
}


@frozen(kw_only=True)
class Guards:
    """Which guards hold. They bind every strategy; a unit that one holds is refused by its name.

    Attributes:
        current_request: The last user message stays; only its answer may take its place.
        pending_tool_call: A call whose result is missing stays until the conversation moves on.
        unseen_tool_result: Results stay until a later assistant or user message has followed them.
    """

    current_request: bool = True
    pending_tool_call: bool = True
    unseen_tool_result: bool = True

    def __attrs_post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, bool):
                raise InvalidArgumentError(name, f"is {value!r}; give True or False")

    @classmethod
    def none(cls) -> Self:
        """No guard: eviction is strictly first in, first out."""
        return cls(current_request=False, pending_tool_call=False, unseen_tool_result=False)

    def holding(self, unit: Unit, marks: Landmarks) -> tuple[str, ...]:
        """Return the names of the guards that hold `unit`."""
        return tuple(name for name, holds in _TABLE.items() if getattr(self, name) and holds(unit, marks))
