"""Strategies as users write them, for the tests: each does one thing that a strategy may, or may not, do."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from chatmemory.core.plan import Limits, Plan
from chatmemory.core.units import Unit
from chatmemory.core.window import Window
from chatmemory.messages import AssistantMessage


@frozen
class Planning:
    """A strategy whose plan is a function, and which plans at every step."""

    planned: Callable[[Window], Plan | None]
    limits: Limits = field(factory=Limits)
    name: str = "planning"
    requires_llm: bool = False
    overhead_tokens: int = 0

    def plan(self, window: Window) -> Plan | None:
        """Return what the function gives."""
        return self.planned(window)


def never_engaged(window: Window) -> None:
    """Say nothing, whatever the window."""


def removing(*seqs: int) -> Callable[[Window], Plan | None]:
    """Ask for the units at these places without asking first what may leave, once all of them are there."""

    def plan(window: Window) -> Plan | None:
        units = {unit.place: unit for unit in window.units()}
        return Plan(tuple(units[seq] for seq in seqs)) if units.keys() >= set(seqs) else None

    return plan


def asking_for(wanted: Callable[[Unit], bool]) -> Callable[[Window], Plan]:
    """Ask for every unit that is wanted and may leave."""

    def plan(window: Window) -> Plan:
        return Plan(*window.plan_removal(unit for unit in window.units() if wanted(unit)))

    return plan


def is_chatter(unit: Unit) -> bool:
    """Whether a unit is an assistant message without calls."""
    return isinstance(unit.message, AssistantMessage) and not unit.message.tool_calls
