"""Guards (R5): units that no strategy may remove.

Decides: which guards there are, and which units each holds; one table says it all. "Later" is by place, and only what
is in the window counts. What the guards measure by is kept up to date as messages come in, and never searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Self

from attrs import asdict, frozen

from chatmemory.core.units import Unit
from chatmemory.errors import InvalidArgumentError
from chatmemory.messages import AssistantMessage, Message, UserMessage


@frozen
class Landmarks:
    """What guards measure by: places in a window; 0 where it has none.

    Attributes:
        user: The last user message.
        answer: The last assistant message without calls.
        assistant: The last assistant message, with calls or without.
        pending: The units whose calls still wait, and that neither a user message nor an answer has passed by.
        unseen: The units with results that neither a user nor an assistant message has followed.
    """

    user: int = 0
    answer: int = 0
    assistant: int = 0
    pending: tuple[int, ...] = ()
    unseen: tuple[int, ...] = ()

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Self:
        """The landmarks of a whole window."""
        user = answer = assistant = 0
        exchanges = list[Unit]()
        for unit in units:
            if isinstance(unit.message, UserMessage):
                user = max(user, unit.place)
            elif isinstance(unit.message, AssistantMessage):
                assistant = max(assistant, unit.place)
                if unit.message.tool_calls:
                    exchanges.append(unit)
                else:
                    answer = max(answer, unit.place)
        moved_on, seen = max(user, answer), max(user, assistant)
        pending = tuple(unit.place for unit in exchanges if unit.waits and unit.place > moved_on)
        return cls(user, answer, assistant, pending, tuple(u.place for u in exchanges if u.newest_result > seen))

    def after(self, place: int, message: Message) -> Landmarks:
        """The landmarks once `message`, which is no result, stands at `place` behind all others."""
        if isinstance(message, UserMessage):
            return Landmarks(place, self.answer, self.assistant)
        if not isinstance(message, AssistantMessage):
            return self
        if message.tool_calls:
            return Landmarks(self.user, self.answer, place, (*self.pending, place))
        return Landmarks(self.user, place, place)

    def after_result(self, call: int, *, waits: bool) -> Landmarks:
        """The landmarks once the unit at `call` has a new result; `waits` says whether it still lacks one."""
        pending = self.pending if waits else _minus(self.pending, (call,))
        unseen = self.unseen if call in self.unseen else (*self.unseen, call)
        return Landmarks(self.user, self.answer, self.assistant, pending, unseen)

    def without(self, places: Collection[int]) -> Landmarks | None:
        """The landmarks once the units at `places` have left; None where that cannot be told without the window."""
        if self.user in places or self.answer in places or self.assistant in places:
            return None
        if not self.pending and not self.unseen:
            return self
        pending, unseen = _minus(self.pending, places), _minus(self.unseen, places)
        return Landmarks(self.user, self.answer, self.assistant, pending, unseen)


def _minus(places: tuple[int, ...], gone: Collection[int]) -> tuple[int, ...]:
    return tuple(place for place in places if place not in gone)


_TABLE: Final[Mapping[str, Callable[[Landmarks], Iterable[int]]]] = {
    "current_request": lambda marks: (marks.user,) if marks.user else (),
    "pending_tool_call": lambda marks: marks.pending,
    "unseen_tool_result": lambda marks: marks.unseen,
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

    def holding(self, marks: Landmarks) -> dict[int, tuple[str, ...]]:
        """Return the places of the units that guards hold, each with the guards' names."""
        held = dict[int, tuple[str, ...]]()
        for name, places in _TABLE.items():
            if getattr(self, name):
                held |= {place: (*held.get(place, ()), name) for place in places(marks)}
        return held
