"""What a strategy is, and what it may ask for.

Decides: the shape of a strategy and of its plan, and which plans are legal (R2, R3, R5). An illegal plan raises and
changes nothing. Knows no particular strategy.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, get_args, runtime_checkable

from attrs import field, frozen

from chatmemory.checks import check_count
from chatmemory.core.entries import EvictionUnit, Refusal
from chatmemory.core.units import Unit
from chatmemory.core.window import Window
from chatmemory.errors import IllegalPlanError, InvalidArgumentError
from chatmemory.messages import SystemMessage

_UNITS: Final = get_args(EvictionUnit)


@frozen
class Limits:
    """What a strategy holds a window to, before the memory's reserve is taken off.

    Attributes:
        max_tokens: Tokens of a request, or None.
        max_messages: Messages, or None.
        count_system: Whether the system message counts against `max_messages`.
        unit: What the planner evicts together when it enforces the limit (R8).

    Raises:
        InvalidArgumentError: A value is out of range; the error names it.
    """

    max_tokens: int | None = None
    max_messages: int | None = None
    count_system: bool = field(default=True, kw_only=True)
    unit: EvictionUnit = field(default="message", kw_only=True)

    def __attrs_post_init__(self) -> None:
        for name in ("max_tokens", "max_messages"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if not isinstance(self.count_system, bool):
            raise InvalidArgumentError("count_system", f"is {self.count_system!r}; give True or False")
        if self.unit not in _UNITS:
            raise InvalidArgumentError("unit", f"is {self.unit!r}; give one of {', '.join(map(repr, _UNITS))}")


def _units(value: Any) -> tuple[Unit, ...]:
    if not isinstance(value, tuple | list) or not all(isinstance(unit, Unit) for unit in value):
        raise IllegalPlanError("R3", "remove is no tuple of units; take units from window.units()")
    return tuple(value)


def _refusals(value: Any) -> tuple[Refusal, ...]:
    if not isinstance(value, tuple | list) or not all(isinstance(refusal, Refusal) for refusal in value):
        raise IllegalPlanError("R5", "refused is no tuple of refusals; take them from window.plan_removal()")
    return tuple(value)


@frozen
class Plan:
    """What should leave a window.

    Attributes:
        remove: The units that should leave, in this order.
        refused: What the strategy wanted to remove and was told that it may not.

    Raises:
        IllegalPlanError: One of them holds something else.
    """

    remove: tuple[Unit, ...] = field(default=(), converter=_units)
    refused: tuple[Refusal, ...] = field(default=(), converter=_refusals)


@runtime_checkable
class WindowStrategy(Protocol):
    """Says what should leave a window. Frozen, stateless, pure; the same object may serve any number of memories."""

    @property
    def name(self) -> str:
        """Its name, such as ``fixed``."""
        ...

    @property
    def limits(self) -> Limits:
        """What it holds a window to."""
        ...

    @property
    def requires_llm(self) -> bool:
        """Whether it needs a summariser."""
        ...

    @property
    def overhead_tokens(self) -> int:
        """Tokens kept free for what it will insert."""
        ...

    def plan(self, window: Window) -> Plan | None:
        """Return what should leave `window`, which holds the message being added; None where it has nothing to say."""
        ...


def check(window: Window, plan: Plan) -> None:
    """Refuse a plan that breaks a rule.

    Raises:
        IllegalPlanError: It is no `Plan`; or it removes something that is no unit of the window, or one unit twice
            (R3), the system message (R2), a unit that a guard holds (R5), or a part of a turn that stays whole (R8).
    """
    if not isinstance(plan, Plan):
        raise IllegalPlanError("plan", f"the strategy gave a {type(plan).__name__}; give a Plan or None")
    seen = set[int]()
    for unit in plan.remove:
        if not _is_there(window, unit) or unit.place in seen:
            raise IllegalPlanError("R3", "it names something that is no unit once; take units from window.units()")
        seen.add(unit.place)
    for refusal in window.plan_removal(plan.remove)[1]:
        raise IllegalPlanError(*_broken(refusal))


def _broken(refusal: Refusal) -> tuple[str, str]:
    remedy = "ask window.plan_removal() what may leave"
    if refusal.guards == ("system",):
        return "R2", f"the system message never leaves for the budget; {remedy}"
    if refusal.guards == ("turn",):
        return "R8", f"entry {refusal.seq} leaves with its turn or behind the rest of it; {remedy}"
    return "R5", f"entry {refusal.seq} is held by {', '.join(refusal.guards)}; {remedy}"


def _is_there(window: Window, unit: Unit) -> bool:
    if not unit.entries:
        return False
    if isinstance(unit.message, SystemMessage):
        return unit.entries == window.entries[: window.head]
    try:
        return window.unit_at(unit.place) == unit
    except LookupError:
        return False
